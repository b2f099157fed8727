//! XML.

use std::fmt::Write;

use super::{Precision, ReportInfo, Row};
use crate::pooling::Pooled;

pub(super) fn head(info: &ReportInfo<'_>) -> String {
    format!(
        "<VMAF version=\"{}\">\n  <params qualityWidth=\"{}\" qualityHeight=\"{}\" />\n  <fyi fps=\"{:.2}\" />\n  <frames>\n",
        info.version,
        info.width,
        info.height,
        info.fps.unwrap_or(0.0)
    )
}

pub(super) fn frame(row: Row<'_>, precision: Precision) -> String {
    let mut s = format!("    <frame frameNum=\"{}\" ", row.frame);
    for (name, value) in row.scores {
        let _ = write!(s, "{name}=\"{}\" ", precision.format(value));
    }
    s.push_str("/>\n");
    s
}

pub(super) fn tail(pooled: &[(&str, Option<Pooled>)], precision: Precision) -> String {
    let mut s = String::from("  </frames>\n  <pooled_metrics>\n");
    for (name, pooled) in pooled {
        let _ = write!(s, "    <metric name=\"{name}\" ");
        if let Some(p) = pooled {
            for (key, v) in
                [("min", p.min), ("max", p.max), ("mean", p.mean), ("harmonic_mean", p.harmonic_mean)]
            {
                let _ = write!(s, "{key}=\"{}\" ", precision.format(v));
            }
        }
        s.push_str("/>\n");
    }
    s.push_str("  </pooled_metrics>\n  <aggregate_metrics />\n</VMAF>\n");
    s
}
