//! `jnd presets`: what can be asked for by name.

use std::io::Write;

use jnd::Band;
use jnd::magnify::{Filter, PRESETS, Pipeline};

use crate::exit::{DONE, Failure};

/// Prints the presets.
pub(crate) fn run() -> Result<u8, Failure> {
    let mut text = String::new();
    for preset in &PRESETS {
        let s = &preset.settings;
        let filter = match s.filter {
            Filter::Iir { r1, r2 } => format!("--filter iir --r1 {r1} --r2 {r2}"),
            Filter::Butterworth { low, high } | Filter::Ideal { low, high } => {
                format!("--filter {} --band {}", s.filter.name(), written(Band { low, high }))
            }
        };
        let space = match s.pipeline {
            Pipeline::Motion => format!("--lambda-c {} --exaggeration {}", s.lambda_c, s.exaggeration),
            Pipeline::Color => format!("--level {}", s.level),
        };
        text.push_str(&format!(
            "{:<10} {}\n{:<10} {filter} --alpha {} {space} --chroma {}\n",
            preset.name, preset.description, "", s.alpha, s.chroma
        ));
    }
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(DONE)
}

/// A band as `--band` takes it, in the unit in which its numbers are round.
fn written(band: Band) -> String {
    let (low, high) = band.bpm();
    if band.low.fract() == 0.0 || low.round() != low {
        format!("{}-{}Hz", band.low, band.high)
    } else {
        format!("{low}-{high}bpm")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_can_be_typed() {
        for preset in &PRESETS {
            if let Filter::Butterworth { low, high } | Filter::Ideal { low, high } = preset.settings.filter {
                assert_eq!(written(Band { low, high }).parse::<Band>().unwrap(), Band { low, high });
            }
        }
    }
}
