//! MicroDVD subtitles, which show the scores over the playing clip.

use std::fmt::Write;

use super::{Precision, Row};

pub(super) fn frame(row: Row<'_>, precision: Precision) -> String {
    let mut s = format!("{{{}}}{{{}}}frame: {}|", row.frame, row.frame + 1, row.frame);
    for (name, value) in row.scores {
        let _ = write!(s, "{name}: {}|", precision.format(value));
    }
    s.push('\n');
    s
}
