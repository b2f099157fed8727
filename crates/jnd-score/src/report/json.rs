//! JSON.

use std::fmt::Write;

use super::{Precision, ReportInfo, Row};
use crate::pooling::Pooled;

/// A number, or null for what JSON cannot hold.
fn number(v: f64, precision: Precision) -> String {
    if v.is_finite() { precision.format(v) } else { "null".into() }
}

pub(super) fn head(info: &ReportInfo<'_>) -> String {
    let fps = match info.fps {
        Some(fps) if fps.is_finite() => format!("{fps:.2}"),
        _ => "null".into(),
    };
    format!("{{\n  \"version\": \"{}\",\n  \"fps\": {fps},\n  \"frames\": [", info.version)
}

pub(super) fn frame(row: Row<'_>, precision: Precision) -> String {
    let comma = if row.first { "" } else { "," };
    let mut s = format!("{comma}\n    {{\n      \"frameNum\": {},\n      \"metrics\": {{\n", row.frame);
    for (i, (name, value)) in row.scores.enumerate() {
        let comma = if i == 0 { "" } else { ",\n" };
        let _ = write!(s, "{comma}        \"{name}\": {}", number(value, precision));
    }
    s.push_str("\n      }\n    }");
    s
}

pub(super) fn tail(pooled: &[(&str, Option<Pooled>)], frames: bool, precision: Precision) -> String {
    let mut s = String::from(if frames { "\n  ],\n" } else { "],\n" });
    s.push_str("  \"pooled_metrics\": {");
    for (i, (name, pooled)) in pooled.iter().enumerate() {
        let comma = if i == 0 { "" } else { "," };
        let _ = write!(s, "{comma}\n    \"{name}\": {{\n");
        if let Some(p) = pooled {
            let n = |v| number(v, precision);
            let _ = write!(
                s,
                "      \"min\": {},\n      \"max\": {},\n      \"mean\": {},\n      \"harmonic_mean\": {}\n",
                n(p.min),
                n(p.max),
                n(p.mean),
                n(p.harmonic_mean)
            );
        }
        s.push_str("    }");
    }
    s.push_str("\n  },\n  \"aggregate_metrics\": {\n  }\n}\n");
    s
}
