//! Comma-separated values.

use std::fmt::Write;

use super::{Precision, Row};

pub(super) fn head(names: &[&str]) -> String {
    let mut s = String::from("Frame,");
    for name in names {
        s.push_str(name);
        s.push(',');
    }
    s.push('\n');
    s
}

pub(super) fn frame(row: Row<'_>, precision: Precision) -> String {
    let mut s = format!("{},", row.frame);
    for (_, value) in row.scores {
        let _ = write!(s, "{},", precision.format(value));
    }
    s.push('\n');
    s
}
