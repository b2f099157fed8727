//! The streaming scorer: frames in, final scores out.

use std::collections::VecDeque;
use std::sync::Arc;

use jnd_video::simd::Level;
use jnd_video::{
    ChromaRounding, Frame, FrameRef, Layout, Packing, PixelFormat, Planes, PlanesMut, StreamInfo,
};

use crate::board::Board;
use crate::job::{Job, Pair, PlaneSizes};
use crate::options::Feature;
use crate::workers::{Shared, Task, Workers};
use crate::{Error, Result};

/// Size and format of both clips.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Geometry {
    /// Pixel format.
    pub format: PixelFormat,
    /// Width in pixels.
    pub width: usize,
    /// Height in pixels.
    pub height: usize,
}

impl std::fmt::Display for Geometry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}x{} {}", self.width, self.height, self.format)
    }
}

impl Geometry {
    /// Of a stream.
    pub fn of_stream(info: &StreamInfo) -> Self {
        Self { format: info.format, width: info.width, height: info.height }
    }

    fn of(frame: &FrameRef<'_>) -> Self {
        Self { format: frame.format(), width: frame.width(), height: frame.height() }
    }

    /// The planar format with samples in the low bits that frames are held in.
    pub(crate) fn planar(&self) -> Result<PixelFormat> {
        let layout = match self.format.layout() {
            Layout::Nv12 => Layout::Yuv420,
            l @ (Layout::Gray | Layout::Yuv420 | Layout::Yuv422 | Layout::Yuv444) => l,
            l => return Err(Error::Rgb(l)),
        };
        if !matches!(self.format.depth(), 8 | 10 | 12 | 16) {
            return Err(Error::Depth(self.format.depth()));
        }
        Ok(PixelFormat::new(layout, self.format.depth())?)
    }

    /// Checks a frame of a clip of this geometry. Layouts that are held as the same planes may change from frame to frame.
    pub(crate) fn check(
        &self,
        frame: &FrameRef<'_>,
        index: u64,
        side: &'static str,
        finished: bool,
    ) -> Result<()> {
        if finished {
            return Err(Error::Finished);
        }
        let got = Self::of(frame);
        let same_size = (got.width, got.height) == (self.width, self.height);
        if !same_size || got.planar().ok() != self.planar().ok() {
            let (got, want) = (got.to_string(), self.to_string());
            return Err(Error::FrameMismatch { frame: index, side, got, want });
        }
        Ok(())
    }

    /// Sizes of the scored planes: chroma is rounded down.
    pub(crate) fn planes(&self) -> PlaneSizes {
        let chroma = if self.format.has_chroma() {
            let p = self.format.plane_size(1, self.width, self.height, ChromaRounding::Floor);
            (p.width, p.height)
        } else {
            (0, 0)
        };
        PlaneSizes { luma: (self.width, self.height), chroma }
    }
}

/// How to score, apart from what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScorerOptions {
    /// Threads that compute, the calling one counted; scores do not depend on it.
    pub threads: usize,
    /// Report frames whose index is a multiple of this; features that look at one frame alone skip the others.
    pub subsample: u64,
    /// Instructions to use; scores do not depend on it.
    pub level: Level,
}

impl Default for ScorerOptions {
    fn default() -> Self {
        Self { threads: 1, subsample: 1, level: Level::get() }
    }
}

/// Scores pairs of frames.
///
/// Frames go in with [`Scorer::push`] or, without a copy, [`Scorer::push_owned`]; scores come out of
/// [`next_score`](crate::Engine::next_score), for each metric in the order of frames. Memory depends on the frame size and the number of
/// threads, never on the length of the clip, as long as scores are taken out.
#[derive(Debug)]
pub struct Scorer {
    pub(crate) board: Board,
    /// Frames before the current one that some job needs: 0 to 2.
    reach: usize,
    workers: Workers,
    /// Pairs that running or coming tasks need, oldest first; the last one is frame `pushed - 1`.
    window: VecDeque<Arc<Pair>>,
    /// Frames no longer needed, to be filled again.
    spare: Vec<(Frame, Frame)>,
    /// Frames whose outcomes have gone through the extractors.
    scored: u64,
    finished: bool,
}

impl Scorer {
    /// A scorer of `features` for clips of one geometry.
    ///
    /// # Errors
    /// No or repeated features, options out of range, geometry that a feature cannot score, threads that cannot be
    /// started.
    pub fn new(features: &[Feature], geometry: Geometry, options: ScorerOptions) -> Result<Self> {
        let (board, jobs) = Board::new(features, geometry, options.subsample)?;
        let reach = jobs.iter().map(Job::reach).max().unwrap_or(0);
        let shared = Shared { jobs, sizes: geometry.planes(), level: options.level };
        Ok(Self {
            board,
            reach,
            workers: Workers::new(shared, options.threads)?,
            window: VecDeque::new(),
            spare: Vec::new(),
            scored: 0,
            finished: false,
        })
    }

    /// Scores a pair; the frames are copied.
    ///
    /// # Errors
    /// A frame of another size or format; a scorer that is finished.
    pub fn push(&mut self, reference: FrameRef<'_>, distorted: FrameRef<'_>) -> Result<()> {
        self.board.geometry().check(&reference, self.board.frames(), "reference", self.finished)?;
        self.board.geometry().check(&distorted, self.board.frames(), "distorted", self.finished)?;
        let (mut r, mut d) = self.take_frames()?;
        copy_frame(&reference, &mut r);
        copy_frame(&distorted, &mut d);
        self.enqueue(r, d)
    }

    /// Scores a pair without copying it, if its format is planar with samples in the low bits. Frames to fill come from
    /// [`Scorer::take_frames`].
    ///
    /// # Errors
    /// As [`Scorer::push`].
    pub fn push_owned(&mut self, reference: Frame, distorted: Frame) -> Result<()> {
        if reference.format() != self.board.held_format() || distorted.format() != self.board.held_format() {
            return self.push(reference.view(), distorted.view());
        }
        self.board.geometry().check(&reference.view(), self.board.frames(), "reference", self.finished)?;
        self.board.geometry().check(&distorted.view(), self.board.frames(), "distorted", self.finished)?;
        self.enqueue(reference, distorted)
    }

    /// A pair of frames of the held format: ones pushed earlier that are no longer needed, or new ones.
    ///
    /// # Errors
    /// [`jnd_video::Error::BadSize`], never for a scorer that could be made.
    pub fn take_frames(&mut self) -> Result<(Frame, Frame)> {
        if let Some(frames) = self.spare.pop() {
            return Ok(frames);
        }
        let (w, h) = (self.board.geometry().width, self.board.geometry().height);
        Ok((Frame::new(self.board.held_format(), w, h)?, Frame::new(self.board.held_format(), w, h)?))
    }

    /// Ends the clip: after this [`next_score`](crate::Engine::next_score) gives everything left.
    ///
    /// # Errors
    /// [`Error::Worker`].
    pub fn finish(&mut self) -> Result<()> {
        if self.finished {
            return Ok(());
        }
        self.finished = true;
        self.workers.finish();
        self.collect()?;
        self.board.finish();
        Ok(())
    }

    fn enqueue(&mut self, reference: Frame, distorted: Frame) -> Result<()> {
        let pair = Arc::new(Pair { reference, distorted });
        let n = self.window.len();
        let earlier =
            [1, 2].map(|k| n.checked_sub(k).filter(|_| k <= self.reach).map(|i| Arc::clone(&self.window[i])));
        self.window.push_back(Arc::clone(&pair));
        let frame = self.board.frames();
        self.board.count();
        let reported = self.board.is_reported(frame);
        let wanted =
            self.workers.shared().jobs.iter().map(|j| reported || !matches!(j, Job::Chroma { .. })).collect();
        self.workers.push(Task { frame, pair, earlier, wanted });
        self.collect()?;
        // One thread that is slow with the oldest pair must not let the others run ahead without end.
        while self.board.frames() - self.scored > self.workers.limit() {
            self.workers.wait_for(self.scored);
            self.collect()?;
        }
        Ok(())
    }

    /// Passes on whatever has been computed, in the order of frames, and sorts out frames no longer needed.
    fn collect(&mut self) -> Result<()> {
        while self.scored < self.board.frames() {
            let Some(outcomes) = self.workers.take(self.scored)? else { break };
            let frame = self.scored;
            self.scored += 1;
            self.board.take(frame, &outcomes);
        }
        // The oldest pair in the window is frame `pushed - len`; a pair serves the frames up to `reach` after it. Few
        // pairs in rotation also means that they stay in the caches.
        while self.board.frames() - self.window.len() as u64 + (self.reach as u64) < self.scored {
            let Some(pair) = self.window.pop_front() else { break };
            // A worker gives up its share before it reports, so this is the last one.
            if let Ok(pair) = Arc::try_unwrap(pair) {
                self.spare.push((pair.reference, pair.distorted));
            }
        }
        Ok(())
    }
}

/// Copies a frame into one of the held format: chroma planes split, samples moved to the low bits.
fn copy_frame(from: &FrameRef<'_>, to: &mut Frame) {
    let interleaved = from.format().layout() == Layout::Nv12;
    let shift = if from.format().packing() == Packing::High { from.format().shift() } else { 0 };
    let mut to = to.view_mut();
    match (from.planes(), to.planes_mut()) {
        (Planes::U8(from), PlanesMut::U8(to)) => copy_planes(from, to, interleaved, |v| v),
        (Planes::U16(from), PlanesMut::U16(to)) => copy_planes(from, to, interleaved, |v| v >> shift),
        // The format was checked, and with it the width of a sample.
        _ => {}
    }
}

fn copy_planes<T: Copy>(
    from: &[jnd_video::Plane<'_, T>; 3],
    to: &mut [jnd_video::PlaneMut<'_, T>; 3],
    interleaved: bool,
    convert: impl Fn(T) -> T,
) {
    let copy = |from: &[T], to: &mut [T]| {
        for (t, &f) in to.iter_mut().zip(from) {
            *t = convert(f);
        }
    };
    for (i, to) in to.iter_mut().enumerate() {
        for y in 0..to.height() {
            let row = to.row_mut(y);
            if interleaved && i > 0 {
                for (t, f) in row.iter_mut().zip(from[1].row(y).iter().skip(i - 1).step_by(2)) {
                    *t = convert(*f);
                }
            } else {
                copy(from[i].row(y), row);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Engine;

    /// However fast pairs come, no more are held than threads can be at work on.
    #[test]
    fn frames_held_stay_few() {
        let geometry =
            Geometry { format: PixelFormat::new(Layout::Yuv420, 8).unwrap(), width: 64, height: 48 };
        let features =
            ["motion=motion_five_frame_window=true", "float_motion"].map(|f| Feature::parse(f).unwrap());
        for threads in [1, 2, 5] {
            let options = ScorerOptions { threads, ..Default::default() };
            let mut scorer = Scorer::new(&features, geometry, options).unwrap();
            let mut most = 0;
            for _ in 0..3000 {
                let (r, d) = scorer.take_frames().unwrap();
                scorer.push_owned(r, d).unwrap();
                most = most.max(scorer.window.len() + scorer.spare.len());
                while scorer.next_score().is_some() {}
            }
            scorer.finish().unwrap();
            // At work, waiting, needed by the next two, and outcomes kept until an earlier frame's are there.
            assert!(most <= 4 * threads + 4, "{threads} threads held {most} pairs");
        }
    }
}
