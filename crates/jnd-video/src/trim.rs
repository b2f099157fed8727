//! A part of a stream, cut by time.

use crate::{Error, Frame, FrameSource, Result, StreamInfo};

/// The frames of a source from `start` to before `end`, with timestamps counted from `start`.
pub(crate) struct Trimmed {
    source: Box<dyn FrameSource>,
    info: StreamInfo,
    name: String,
    first: i64,
    end: i64,
    delivered: u64,
    hint: Option<u64>,
}

impl Trimmed {
    pub(crate) fn new(
        source: Box<dyn FrameSource>,
        name: String,
        start: Option<f64>,
        end: Option<f64>,
    ) -> Self {
        let mut info = source.info().clone();
        // The first tick at or after the time; a hair is allowed so that 0.1 s is tick 3 of 30, not 4.
        let ticks = |s: f64| (s / info.time_base.as_f64() - 1e-6).ceil() as i64;
        let first = start.map_or(0, ticks);
        let end = end.map_or(i64::MAX, ticks);
        let ticks_a_frame = info.rate.inverse().as_f64() / info.time_base.as_f64();
        let part = |n: u64| {
            let skipped = (first as f64 / ticks_a_frame - 1e-6).ceil() as u64;
            let last = if end == i64::MAX { n } else { (end as f64 / ticks_a_frame - 1e-6).ceil() as u64 };
            last.min(n).saturating_sub(skipped)
        };
        let hint = source.frames_hint().map(part);
        // Only where ticks are frames does the arithmetic above count for certain.
        info.frames = info.frames.filter(|_| info.time_base == info.rate.inverse()).map(part);
        Self { source, info, name, first, end, delivered: 0, hint }
    }
}

impl FrameSource for Trimmed {
    fn info(&self) -> &StreamInfo {
        &self.info
    }

    fn read(&mut self, frame: &mut Frame) -> Result<bool> {
        loop {
            if !self.source.read(frame)? || frame.timestamp >= self.end {
                if self.delivered == 0 {
                    return Err(Error::NoFrames {
                        path: format!("{} (in the part between start and end)", self.name),
                    });
                }
                return Ok(false);
            }
            if frame.timestamp >= self.first {
                frame.timestamp -= self.first;
                self.delivered += 1;
                return Ok(true);
            }
        }
    }

    fn is_coded(&self) -> bool {
        self.source.is_coded()
    }

    fn decoder(&self) -> String {
        self.source.decoder()
    }

    fn frames_hint(&self) -> Option<u64> {
        self.hint
    }

    fn notes(&self) -> Vec<String> {
        self.source.notes()
    }

    fn warnings(&self) -> Vec<String> {
        self.source.warnings()
    }
}
