//! A source without its last frames.

use std::collections::VecDeque;

use jnd_video::{Error, Frame, FrameSource, Result, StreamInfo};

/// Frames that the published implementation of the method leaves out at the end of a clip.
pub const MIT_DROPS: usize = 10;

/// All frames of a source but the last `count`; all of them where there are no more than that.
pub(super) struct DropLast {
    source: Box<dyn FrameSource>,
    info: StreamInfo,
    count: usize,
    held: VecDeque<Frame>,
    spare: Vec<Frame>,
    /// Whether more than `count` frames have been seen.
    long: bool,
    /// How the source ended.
    end: Option<Option<Error>>,
    delivered: u64,
}

impl DropLast {
    pub(super) fn new(source: Box<dyn FrameSource>, count: usize) -> Self {
        let mut info = source.info().clone();
        info.frames = info.frames.map(|n| kept(n, count));
        Self {
            source,
            info,
            count,
            held: VecDeque::new(),
            spare: Vec::new(),
            long: false,
            end: None,
            delivered: 0,
        }
    }
}

/// How many of `frames` are left when the last `count` are dropped.
fn kept(frames: u64, count: usize) -> u64 {
    if frames > count as u64 { frames - count as u64 } else { frames }
}

impl FrameSource for DropLast {
    fn info(&self) -> &StreamInfo {
        &self.info
    }

    fn read(&mut self, frame: &mut Frame) -> Result<bool> {
        while self.end.is_none() && self.held.len() <= self.count {
            let mut next = match self.spare.pop() {
                Some(f) => f,
                None => self.source.new_frame()?,
            };
            match self.source.read(&mut next) {
                Ok(true) => self.held.push_back(next),
                Ok(false) => self.end = Some(None),
                Err(e @ Error::Truncated { .. }) => self.end = Some(Some(e)),
                Err(e) => return Err(e),
            }
            self.long |= self.held.len() > self.count;
        }
        if self.end.is_some() && self.long && self.held.len() <= self.count {
            self.held.clear();
        }
        if let Some(mut next) = self.held.pop_front() {
            std::mem::swap(frame, &mut next);
            self.spare.push(next);
            self.delivered += 1;
            return Ok(true);
        }
        match self.end.as_mut().and_then(Option::take) {
            Some(Error::Truncated { path, detail, .. }) => {
                Err(Error::Truncated { path, frames: self.delivered, detail })
            }
            Some(e) => Err(e),
            None => Ok(false),
        }
    }

    fn is_coded(&self) -> bool {
        self.source.is_coded()
    }

    fn decoder(&self) -> String {
        self.source.decoder()
    }

    fn frames_hint(&self) -> Option<u64> {
        self.source.frames_hint().map(|n| kept(n, self.count))
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = self.source.notes();
        // Known when everything has been read.
        if self.end.is_some() && self.held.is_empty() {
            notes.push(if self.long {
                format!("the last {} frames of the clip were left out, as asked", self.count)
            } else {
                format!("no frame was left out at the end: the clip has no more than {} frames", self.count)
            });
        }
        notes
    }

    fn warnings(&self) -> Vec<String> {
        self.source.warnings()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jnd_video::{Layout, PixelFormat, Rate};

    struct Counted(StreamInfo, i64, i64);

    impl FrameSource for Counted {
        fn info(&self) -> &StreamInfo {
            &self.0
        }
        fn read(&mut self, frame: &mut Frame) -> Result<bool> {
            frame.timestamp = self.1;
            self.1 += 1;
            Ok(self.1 <= self.2)
        }
        fn decoder(&self) -> String {
            String::new()
        }
    }

    #[test]
    fn the_last_ones_go_when_there_are_more() {
        let format = PixelFormat::new(Layout::Gray, 8).unwrap();
        for (n, want) in [(0, 0), (1, 1), (3, 3), (4, 1), (20, 17)] {
            let mut info = StreamInfo::new(format, 1, 1, Rate::new(25, 1).unwrap()).unwrap();
            info.frames = Some(n);
            let mut source = DropLast::new(Box::new(Counted(info, 0, n as i64)), 3);
            assert_eq!((source.info().frames, source.frames_hint()), (Some(want), Some(want)));
            let mut frame = source.new_frame().unwrap();
            let mut seen = Vec::new();
            while source.read(&mut frame).unwrap() {
                seen.push(frame.timestamp as u64);
            }
            assert_eq!(seen, (0..want).collect::<Vec<_>>());
            assert!(!source.read(&mut frame).unwrap());
            let note = if n > 3 { "the last 3 frames" } else { "no frame was left out" };
            assert!(source.notes()[0].starts_with(note), "{n}");
        }
    }
}
