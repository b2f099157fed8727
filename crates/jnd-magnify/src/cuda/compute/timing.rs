//! Streams of a chunk's chains, and the device time of its stages.

use jnd_cuda::{Event, Stream};

use super::Compute;
use crate::Result;
use crate::cuda::Stage;

/// Device time of each stage.
pub(super) struct Timing {
    events: Vec<Event>,
    used: usize,
    marks: Vec<(Stage, usize, usize)>,
}

impl Compute {
    /// Measures the stages of the chunks to come.
    pub(crate) fn time_stages(&mut self, on: bool) {
        self.timing = on.then(|| Timing { events: Vec::new(), used: 0, marks: Vec::new() });
    }

    /// Milliseconds of each stage since the last call; the streams used are done.
    pub(crate) fn stage_times(&mut self) -> Result<Vec<(Stage, f64)>> {
        let Some(t) = &mut self.timing else { return Ok(Vec::new()) };
        let mut sums: Vec<(Stage, f64)> = Vec::new();
        for &(stage, a, b) in &t.marks {
            let ms = t.events[b].elapsed_ms(&t.events[a])?;
            match sums.iter_mut().find(|s| s.0 == stage) {
                Some(s) => s.1 += ms,
                None => sums.push((stage, ms)),
            }
        }
        t.marks.clear();
        t.used = 0;
        Ok(sums)
    }

    pub(super) fn mark(&mut self, stream: &Stream) -> Result<usize> {
        let Some(t) = &mut self.timing else { return Ok(0) };
        if t.used == t.events.len() {
            t.events.push(Event::timed(&self.context)?);
        }
        stream.record(&t.events[t.used])?;
        t.used += 1;
        Ok(t.used - 1)
    }

    pub(super) fn stage(&mut self, stream: &Stream, stage: Stage, since: &mut usize) -> Result<()> {
        if self.timing.is_some() {
            let now = self.mark(stream)?;
            if let Some(t) = &mut self.timing {
                t.marks.push((stage, *since, now));
            }
            *since = now;
        }
        Ok(())
    }

    /// Begins a chunk's work on all chains: the side streams wait for the caller's.
    pub(super) fn fork(&self, stream: &Stream) -> Result<()> {
        if self.timing.is_none() && !self.sides.is_empty() {
            stream.record(&self.fork)?;
            self.sides.iter().try_for_each(|s| s.0.wait(&self.fork))?;
        }
        Ok(())
    }

    /// The stream of a chain: the caller's where stages are timed one by one.
    pub(super) fn side<'a>(&'a self, stream: &'a Stream, c: usize) -> &'a Stream {
        if c == 0 || self.timing.is_some() { stream } else { &self.sides[c - 1].0 }
    }

    /// Ends a chunk's work: the caller's stream waits for the others.
    pub(super) fn join(&self, stream: &Stream) -> Result<()> {
        if self.timing.is_none() {
            for (side, done) in &self.sides {
                side.record(done)?;
                stream.wait(done)?;
            }
        }
        Ok(())
    }
}
