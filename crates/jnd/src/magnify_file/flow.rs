//! Frames through a card: reading, upload, kernels, download and writing overlap.

use std::collections::VecDeque;

use jnd_magnify::cuda::Session;
use jnd_video::{
    DEFAULT_DEPTH, Error, Frame, FrameSink, FrameSource, PumpOptions, Pumped, ReadAhead, StreamInfo,
    WriteBehind,
};

use crate::Result;

/// The way from a session to a writer.
struct Flow<'a> {
    session: &'a mut Session,
    writer: Box<WriteBehind>,
    /// Times of the frames that the session has.
    times: VecDeque<i64>,
    /// A frame to fill, when the session had none to fill it with.
    empty: Option<Frame>,
    written: u64,
    /// Called with every frame written.
    tick: &'a mut dyn FnMut(),
}

impl Flow<'_> {
    /// Writes the next finished frame; false when none is finished, or none is left after a flush.
    fn take(&mut self) -> Result<bool> {
        let mut out = match self.empty.take() {
            Some(out) => out,
            None => self.writer.empty()?,
        };
        if !self.session.take(&mut out.view_mut())? {
            self.empty = Some(out);
            return Ok(false);
        }
        // As many times as frames: one is kept with every frame fed.
        out.timestamp = self.times.pop_front().unwrap_or_default();
        self.writer.push(out)?;
        self.written += 1;
        (self.tick)();
        Ok(true)
    }

    /// Gives the session a frame, of which `feed` knows where it is.
    fn feed(&mut self, time: i64, feed: impl FnOnce(&mut Session) -> jnd_magnify::Result<()>) -> Result<()> {
        while self.session.is_full() {
            self.take()?;
        }
        feed(self.session)?;
        self.times.push_back(time);
        // What is finished already goes on without waiting for anything.
        while self.session.pending() > 0 && self.take()? {}
        Ok(())
    }

    /// Waits for every frame that the session has.
    fn drain(&mut self) -> Result<()> {
        self.session.flush()?;
        while self.session.pending() > 0 {
            self.take()?;
        }
        Ok(())
    }
}

/// Sends every frame of `source` through `session` to `sink`, as [`jnd_video::pump`] does on the processor. The card gets
/// as many frames at once as are there: whole chunks of a file, single frames of a live picture, which come out before
/// the next one goes in.
pub(super) fn stream(
    source: Box<dyn FrameSource>,
    sink: Box<dyn FrameSink>,
    out: &StreamInfo,
    options: &PumpOptions,
    session: &mut Session,
    tick: &mut dyn FnMut(),
) -> Result<Pumped> {
    let mut frame = source.new_frame()?;
    let depth = options.depth.unwrap_or(DEFAULT_DEPTH);
    let mut reader = ReadAhead::new(source, depth, options.stop.clone())?;
    let writer = Box::new(WriteBehind::new(sink, out, depth, options.stop.clone())?);
    let mut flow = Flow { session, writer, times: VecDeque::new(), empty: None, written: 0, tick };
    let truncated = loop {
        if !reader.is_ready() {
            flow.drain()?;
        }
        match reader.read(&mut frame) {
            Ok(true) => {}
            Ok(false) => break None,
            Err(e @ Error::Truncated { frames: 1.., .. }) => break Some(e),
            Err(e) => return Err(e.into()),
        }
        flow.feed(frame.timestamp, |session| session.feed(&frame.view()))?;
    };
    flow.drain()?;
    let (mut notes, warnings) = (reader.notes(), reader.warnings());
    notes.extend(flow.writer.notes());
    flow.writer.finish()?;
    Ok(Pumped { frames: flow.written, truncated, notes, warnings })
}

/// The second pass of a session that kept the frames of the first one, whose times are `times`: nothing is read again.
pub(super) fn replay(
    times: &[i64],
    sink: Box<dyn FrameSink>,
    out: &StreamInfo,
    options: &PumpOptions,
    session: &mut Session,
    tick: &mut dyn FnMut(),
) -> Result<Pumped> {
    let depth = options.depth.unwrap_or(DEFAULT_DEPTH);
    let writer = Box::new(WriteBehind::new(sink, out, depth, options.stop.clone())?);
    let mut flow = Flow { session, writer, times: VecDeque::new(), empty: None, written: 0, tick };
    for &time in times {
        flow.feed(time, Session::feed_kept)?;
    }
    flow.drain()?;
    let notes = flow.writer.notes();
    flow.writer.finish()?;
    Ok(Pumped { frames: flow.written, truncated: None, notes, warnings: Vec::new() })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::sync::{Arc, Mutex};

    use super::*;
    use jnd_magnify::cuda::Options;
    use jnd_magnify::{Filter, Magnifier, Plan, Settings, Source};
    use jnd_video::{Layout, PixelFormat, Rate};

    const FRAMES: usize = 23;

    fn info() -> StreamInfo {
        let format = PixelFormat::new(Layout::Yuv420, 8).unwrap();
        StreamInfo::new(format, 18, 13, Rate::new(25, 1).unwrap()).unwrap()
    }

    /// Times of a variable rate.
    fn time(i: usize) -> i64 {
        (40 * i + i * i) as i64
    }

    fn frame(i: usize) -> Frame {
        let mut frame = Frame::new(info().format, info().width, info().height).unwrap();
        for (k, b) in frame.bytes_mut().iter_mut().enumerate() {
            *b = (60 + k % 90 + (i * (3 + k % 5)) % 40) as u8;
        }
        frame.timestamp = time(i);
        frame
    }

    enum End {
        Whole,
        Cut,
        Broken,
    }

    struct Made {
        next: usize,
        end: End,
        /// Give a frame only when all before it have been written.
        live: Option<Arc<AtomicUsize>>,
        info: StreamInfo,
    }

    impl FrameSource for Made {
        fn info(&self) -> &StreamInfo {
            &self.info
        }
        fn read(&mut self, out: &mut Frame) -> jnd_video::Result<bool> {
            if self.next == FRAMES {
                let (path, detail) = ("made".into(), "cut".into());
                return match self.end {
                    End::Whole => Ok(false),
                    End::Cut => Err(Error::Truncated { path, frames: FRAMES as u64, detail }),
                    End::Broken => Err(Error::Interrupted),
                };
            }
            if let Some(written) = &self.live {
                let start = std::time::Instant::now();
                while written.load(Ordering::SeqCst) < self.next {
                    assert!(start.elapsed().as_secs() < 20, "frame {} was kept back", self.next - 1);
                    std::thread::yield_now();
                }
            }
            *out = frame(self.next);
            self.next += 1;
            Ok(true)
        }
        fn decoder(&self) -> String {
            "made".into()
        }
    }

    #[derive(Clone, Default)]
    struct Kept {
        frames: Arc<Mutex<Vec<Frame>>>,
        written: Arc<AtomicUsize>,
        finished: Arc<AtomicBool>,
    }

    impl FrameSink for Kept {
        fn write(&mut self, frame: &Frame) -> jnd_video::Result<()> {
            self.frames.lock().unwrap().push(frame.clone());
            self.written.fetch_add(1, Ordering::SeqCst);
            Ok(())
        }
        fn finish(self: Box<Self>) -> jnd_video::Result<()> {
            self.finished.store(true, Ordering::SeqCst);
            Ok(())
        }
        fn encoder(&self) -> String {
            "kept".into()
        }
    }

    fn plan(ideal: bool) -> Plan {
        let filter =
            if ideal { Filter::Ideal { low: 1.0, high: 5.0 } } else { Filter::Iir { r1: 0.4, r2: 0.05 } };
        let source = Source { frames: Some(FRAMES as u64), ..Source::from(&info()) };
        Plan::new(&Settings { filter, alpha: 25.0, ..Settings::default() }, &source).unwrap()
    }

    fn session(ideal: bool, chunk: usize, keep: bool) -> Session {
        let options = Options { chunk, keep, threads: 1, ..Options::default() };
        let mut session = Session::with_context(&plan(ideal), &jnd_cuda_shim::context(), &options).unwrap();
        if ideal {
            (0..FRAMES).for_each(|i| session.feed(&frame(i).view()).unwrap());
            session.begin_render().unwrap();
        }
        session
    }

    fn expected(ideal: bool) -> Vec<Frame> {
        let mut m = Magnifier::new(plan(ideal), &jnd_magnify::Options::default()).unwrap();
        if ideal {
            (0..FRAMES).for_each(|i| m.observe(&frame(i).view()).unwrap());
            m.begin_render().unwrap();
        }
        let push = |i| {
            let (frame, mut out) = (frame(i), frame(i));
            m.push(&frame.view(), &mut out.view_mut()).unwrap();
            assert!(i < 3 || out.bytes() != frame.bytes(), "nothing is magnified");
            out
        };
        (0..FRAMES).map(push).collect()
    }

    fn run(session: &mut Session, end: End, live: bool) -> (Result<Pumped>, Kept, u64) {
        let kept = Kept::default();
        let live = live.then(|| kept.written.clone());
        let source = Box::new(Made { next: 0, end, live, info: info() });
        let mut ticks = 0;
        let options = PumpOptions::default();
        let pumped = stream(source, Box::new(kept.clone()), &info(), &options, session, &mut || ticks += 1);
        (pumped, kept, ticks)
    }

    fn same(kept: &Kept, want: &[Frame]) {
        let frames = kept.frames.lock().unwrap();
        assert_eq!(frames.len(), want.len());
        for (i, (a, b)) in frames.iter().zip(want).enumerate() {
            assert_eq!(a.timestamp, time(i));
            assert!(a.bytes() == b.bytes(), "frame {i}");
        }
    }

    #[test]
    fn frames_keep_order_times_and_bytes() {
        for ideal in [false, true] {
            let want = expected(ideal);
            for chunk in [1, 3, 4, 64] {
                let mut session = session(ideal, chunk, false);
                let (pumped, kept, ticks) = run(&mut session, End::Whole, false);
                let pumped = pumped.unwrap();
                assert!(pumped.frames == FRAMES as u64 && pumped.truncated.is_none());
                assert!(ticks == pumped.frames && kept.finished.load(Ordering::SeqCst));
                same(&kept, &want);
            }
        }
    }

    #[test]
    fn a_live_picture_is_not_held_up_for_a_chunk() {
        let (pumped, kept, _) = run(&mut session(false, 16, false), End::Whole, true);
        assert_eq!(pumped.unwrap().frames, FRAMES as u64);
        same(&kept, &expected(false));
    }

    #[test]
    fn kept_frames_are_not_read_again() {
        for chunk in [1, 5, 64] {
            let mut session = session(true, chunk, true);
            assert!(session.keeps_frames());
            let times: Vec<i64> = (0..FRAMES).map(time).collect();
            let (kept, options) = (Kept::default(), PumpOptions::default());
            let pumped = replay(&times, Box::new(kept.clone()), &info(), &options, &mut session, &mut || {});
            assert_eq!(pumped.unwrap().frames, FRAMES as u64);
            same(&kept, &expected(true));
        }
    }

    #[test]
    fn a_cut_is_completed_and_an_error_is_not() {
        let (pumped, kept, _) = run(&mut session(false, 4, false), End::Cut, false);
        assert!(matches!(pumped.unwrap().truncated, Some(Error::Truncated { .. })));
        assert!(kept.finished.load(Ordering::SeqCst));
        same(&kept, &expected(false));
        let (pumped, kept, _) = run(&mut session(false, 4, false), End::Broken, false);
        assert!(pumped.unwrap_err().is_interrupted());
        assert!(!kept.finished.load(Ordering::SeqCst));
    }
}
