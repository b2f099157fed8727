//! Reports in the shapes of the `vmaf` command: JSON, XML, CSV, SUB.
//!
//! The frames per second stand before the frames, but are known only at the end. So the frames go to a spool (a
//! temporary file, or memory) as soon as their scores are final, and the report is put together at the end: memory does
//! not grow with the clip.

mod csv;
mod json;
mod sub;
mod xml;

use std::collections::VecDeque;
use std::io::{Read, Seek, SeekFrom, Write};

use crate::Result;
use crate::engine::Engine;
use crate::number::{format_fixed, format_legacy};
use crate::pooling::{Pool, Pooled};

/// Shape of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReportFormat {
    /// XML.
    #[default]
    Xml,
    /// JSON.
    Json,
    /// Comma-separated values; without pooled values.
    Csv,
    /// MicroDVD subtitles; without pooled values.
    Sub,
}

/// How scores are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Precision {
    /// As the reference: 6 decimals, 16 where they would say nothing.
    #[default]
    Legacy,
    /// The shortest decimal that gives the same double again.
    Max,
    /// So many decimals.
    Decimals(u8),
}

impl Precision {
    /// Most decimals.
    pub const MAX_DECIMALS: u8 = 30;

    /// A score as it is printed.
    pub fn format(self, v: f64) -> String {
        match self {
            _ if !v.is_finite() => crate::number::format_g(v),
            Self::Legacy => format_legacy(v),
            Self::Max => v.to_string(),
            Self::Decimals(n) => format_fixed(v, usize::from(n.min(Self::MAX_DECIMALS))),
        }
    }
}

/// What a report says besides the scores.
#[derive(Debug, Clone, PartialEq)]
pub struct ReportInfo<'a> {
    /// Version of the program.
    pub version: &'a str,
    /// Width of the clips.
    pub width: usize,
    /// Height of the clips.
    pub height: usize,
    /// Pairs of frames a second.
    pub fps: Option<f64>,
}

/// A frame of a report.
struct Row<'a> {
    frame: u64,
    /// Whether it is the first in the report.
    first: bool,
    /// Names and values in report order; a score that was never given is left out.
    scores: &'a mut dyn Iterator<Item = (&'a str, f64)>,
}

/// Rows whose scores are not all final yet.
#[derive(Debug)]
struct Pending {
    frame: u64,
    values: Vec<Option<f64>>,
    missing: usize,
}

/// Collects scores, writes frames to a spool as they become complete, and pools.
#[derive(Debug)]
pub struct Report<S> {
    format: ReportFormat,
    precision: Precision,
    spool: S,
    names: Vec<String>,
    order: Vec<usize>,
    pools: Vec<Pool>,
    pending: VecDeque<Pending>,
    written: u64,
}

impl<S: Read + Write + Seek> Report<S> {
    /// A report of what `scorer` gives, spooled to an empty `spool`.
    pub fn new(format: ReportFormat, precision: Precision, scorer: &dyn Engine, spool: S) -> Self {
        Self {
            format,
            precision,
            spool,
            names: scorer.metrics().to_vec(),
            order: Vec::new(),
            pools: vec![Pool::default(); scorer.metrics().len()],
            pending: VecDeque::new(),
            written: 0,
        }
    }

    /// Takes every score that is final out of `scorer`. Call it after each push and after finish.
    ///
    /// # Errors
    /// [`crate::Error::Report`] when the spool cannot be written.
    pub fn take(&mut self, scorer: &mut dyn Engine) -> Result<()> {
        let metrics = self.names.len();
        while let Some(score) = scorer.next_score() {
            if !scorer.is_reported(score.frame) {
                continue;
            }
            self.pools[score.metric].push(score.value);
            let at = self.pending.iter().position(|p| p.frame == score.frame).unwrap_or_else(|| {
                self.pending.push_back(Pending {
                    frame: score.frame,
                    values: vec![None; metrics],
                    missing: metrics,
                });
                self.pending.len() - 1
            });
            self.pending[at].values[score.metric] = Some(score.value);
            self.pending[at].missing -= 1;
        }
        // The first frame is complete only once it is known whether there is a second one, wherever that matters for
        // the order.
        while self.pending.front().is_some_and(|p| p.missing == 0) {
            if self.order.is_empty() {
                self.order = scorer.report_order();
            }
            if let Some(row) = self.pending.pop_front() {
                self.write(&row)?;
            }
        }
        Ok(())
    }

    fn write(&mut self, row: &Pending) -> Result<()> {
        let names = &self.names;
        let mut scores = self.order.iter().filter_map(|&m| row.values[m].map(|v| (names[m].as_str(), v)));
        let row = Row { frame: row.frame, first: self.written == 0, scores: &mut scores };
        let text = match self.format {
            ReportFormat::Xml => xml::frame(row, self.precision),
            ReportFormat::Json => json::frame(row, self.precision),
            ReportFormat::Csv => csv::frame(row, self.precision),
            ReportFormat::Sub => sub::frame(row, self.precision),
        };
        self.spool.write_all(text.as_bytes())?;
        self.written += 1;
        Ok(())
    }

    /// Frames written to the spool.
    pub fn frames(&self) -> u64 {
        self.written
    }

    /// Pooled values of every metric, in report order.
    pub fn pooled(&self) -> Vec<(&str, Option<Pooled>)> {
        self.order.iter().map(|&m| (self.names[m].as_str(), self.pools[m].get())).collect()
    }

    /// Writes the report.
    ///
    /// # Errors
    /// [`crate::Error::Report`].
    pub fn finish(mut self, info: &ReportInfo<'_>, out: &mut dyn Write) -> Result<()> {
        let names: Vec<&str> = self.order.iter().map(|&m| self.names[m].as_str()).collect();
        let (head, tail) = match self.format {
            ReportFormat::Xml => (xml::head(info), xml::tail(&self.pooled(), self.precision)),
            ReportFormat::Json => {
                (json::head(info), json::tail(&self.pooled(), self.written > 0, self.precision))
            }
            ReportFormat::Csv => (csv::head(&names), String::new()),
            ReportFormat::Sub => (String::new(), String::new()),
        };
        out.write_all(head.as_bytes())?;
        self.spool.flush()?;
        self.spool.seek(SeekFrom::Start(0))?;
        std::io::copy(&mut self.spool, out)?;
        out.write_all(tail.as_bytes())?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn precisions() {
        assert_eq!(Precision::Legacy.format(0.1), "0.100000");
        assert_eq!(Precision::Max.format(0.1), "0.1");
        assert_eq!(Precision::Max.format(1e-7), "0.0000001");
        assert_eq!(Precision::Max.format(3.0), "3");
        assert_eq!(Precision::Decimals(2).format(0.125), "0.12");
        assert_eq!(Precision::Max.format(f64::NAN), "nan");
    }
}
