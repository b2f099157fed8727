//! Pooled scores as a table, for people.

use std::io::Write;

use jnd::score::Pooled;
use jnd::score::report::Precision;

use crate::exit::Failure;

/// Prints pooled scores to standard output, a metric a line.
pub(crate) fn print(pooled: &[(String, Option<Pooled>)], precision: Precision) -> Result<(), Failure> {
    let mut rows = vec![["metric", "min", "max", "mean", "harmonic mean"].map(str::to_owned)];
    for (name, pooled) in pooled {
        if let Some(p) = pooled {
            let [min, max, mean, harmonic] =
                [p.min, p.max, p.mean, p.harmonic_mean].map(|v| precision.format(v));
            rows.push([name.clone(), min, max, mean, harmonic]);
        }
    }
    let least = [0, 12, 12, 12, 14];
    let width: [usize; 5] =
        std::array::from_fn(|i| rows.iter().map(|r| r[i].len()).fold(least[i], usize::max));
    let mut out = std::io::stdout().lock();
    for [name, values @ ..] in &rows {
        write!(out, "{name:0$}", width[0])?;
        for (value, width) in values.iter().zip(&width[1..]) {
            write!(out, " {value:>width$}")?;
        }
        writeln!(out)?;
    }
    out.flush()?;
    Ok(())
}
