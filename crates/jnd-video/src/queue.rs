//! Reading and writing on threads of their own, so that they overlap with the work between them.
//!
//! A fixed set of frames goes round: the reading thread fills them, the caller empties them, and the same on the
//! writing side. Nothing is allocated once they are made, and a slow side holds the fast one up.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::{Error, Frame, FrameSink, FrameSource, Result, StreamInfo};

/// How often a waiting thread looks whether it should stop.
pub(crate) const POLL: Duration = Duration::from_millis(50);

/// How long a writing thread has to remove its partial output before nobody waits any longer.
pub(crate) const GRACE: Duration = Duration::from_millis(800);

/// Frames in flight on each side unless told otherwise: enough that bursts of a codec hold nothing up.
pub const DEFAULT_DEPTH: usize = 4;

pub(crate) fn lost(what: &str) -> Error {
    Error::io(what, std::io::Error::other("the thread ended early"))
}

/// Waits for a message, looking at `stop` now and then.
fn wait<T>(rx: &Receiver<T>, stop: &Option<Arc<AtomicBool>>, what: &str) -> Result<T> {
    loop {
        if stop.as_ref().is_some_and(|s| s.load(Ordering::Relaxed)) {
            return Err(Error::Interrupted);
        }
        match rx.recv_timeout(POLL) {
            Ok(v) => return Ok(v),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err(lost(what)),
        }
    }
}

/// What the source can say about itself only while it is on the reading thread.
struct Said {
    decoder: String,
    notes: Vec<String>,
    warnings: Vec<String>,
}

impl Said {
    fn of(source: &dyn FrameSource) -> Self {
        Self { decoder: source.decoder(), notes: source.notes(), warnings: source.warnings() }
    }
}

/// A source that is read ahead by a thread. It is a source itself; [`ReadAhead::read`] swaps buffers, it copies nothing.
pub struct ReadAhead {
    info: StreamInfo,
    hint: Option<u64>,
    coded: bool,
    said: Arc<Mutex<Said>>,
    filled: Receiver<Result<Option<Frame>>>,
    empties: Sender<Frame>,
    stop: Option<Arc<AtomicBool>>,
    /// What [`ReadAhead::is_ready`] found and the next read gives.
    next: Option<Result<Option<Frame>>>,
    done: bool,
}

impl ReadAhead {
    /// Starts reading with `depth` frames in flight (at least 1). Where `stop` is given, setting it makes
    /// [`ReadAhead::read`] return [`Error::Interrupted`] soon, even while the input is silent.
    ///
    /// # Errors
    /// A thread that cannot be started.
    pub fn new(source: Box<dyn FrameSource>, depth: usize, stop: Option<Arc<AtomicBool>>) -> Result<Self> {
        let depth = depth.max(1);
        let info = source.info().clone();
        let (hint, coded) = (source.frames_hint(), source.is_coded());
        let said = Arc::new(Mutex::new(Said::of(source.as_ref())));
        let (fill, filled) = sync_channel(depth + 1);
        let (empties, empty) = channel();
        for _ in 0..depth {
            let _ = empties.send(source.new_frame()?);
        }
        let shared = said.clone();
        std::thread::Builder::new()
            .name("jnd-read".into())
            .spawn(move || read_thread(source, &empty, &fill, &shared))
            .map_err(|e| Error::io("reading thread", e))?;
        Ok(Self { info, hint, coded, said, filled, empties, stop, next: None, done: false })
    }

    /// Whether the next read gives its answer, be it a frame, the end or an error, without waiting for the source.
    pub fn is_ready(&mut self) -> bool {
        if self.next.is_none() && !self.done {
            self.next = self.filled.try_recv().ok();
        }
        self.next.is_some() || self.done
    }
}

fn read_thread(
    mut source: Box<dyn FrameSource>,
    empty: &Receiver<Frame>,
    fill: &SyncSender<Result<Option<Frame>>>,
    said: &Mutex<Said>,
) {
    while let Ok(mut frame) = empty.recv() {
        let message = source.read(&mut frame).map(|more| more.then_some(frame));
        let last = !matches!(message, Ok(Some(_)));
        if last {
            *said.lock().unwrap_or_else(|e| e.into_inner()) = Said::of(source.as_ref());
        }
        if fill.send(message).is_err() || last {
            return;
        }
    }
}

impl FrameSource for ReadAhead {
    fn info(&self) -> &StreamInfo {
        &self.info
    }

    fn read(&mut self, frame: &mut Frame) -> Result<bool> {
        crate::sink::check_frame(&self.info, frame)?;
        if self.done {
            return Ok(false);
        }
        let next = match self.next.take() {
            Some(next) => next,
            None => wait(&self.filled, &self.stop, "reading thread")?,
        };
        match next {
            Ok(Some(mut full)) => {
                std::mem::swap(frame, &mut full);
                // The thread may be gone already after its last frame; the buffer is then simply dropped.
                let _ = self.empties.send(full);
                Ok(true)
            }
            Ok(None) => {
                self.done = true;
                Ok(false)
            }
            Err(e) => {
                self.done = true;
                Err(e)
            }
        }
    }

    fn is_coded(&self) -> bool {
        self.coded
    }

    fn decoder(&self) -> String {
        self.said.lock().unwrap_or_else(|e| e.into_inner()).decoder.clone()
    }

    fn frames_hint(&self) -> Option<u64> {
        self.hint
    }

    fn notes(&self) -> Vec<String> {
        self.said.lock().unwrap_or_else(|e| e.into_inner()).notes.clone()
    }

    fn warnings(&self) -> Vec<String> {
        self.said.lock().unwrap_or_else(|e| e.into_inner()).warnings.clone()
    }
}

/// What the writing thread is told.
enum Job {
    Frame(Frame),
    Finish,
}

/// A sink that is written to by a thread.
pub struct WriteBehind {
    info: StreamInfo,
    encoder: String,
    coded: bool,
    notes: Arc<Mutex<Vec<String>>>,
    jobs: Option<Sender<Job>>,
    empties: Receiver<Frame>,
    outcome: Receiver<Result<()>>,
    stop: Option<Arc<AtomicBool>>,
    /// Tells the thread that what is still queued need not be written.
    given_up: Arc<AtomicBool>,
}

impl WriteBehind {
    /// Starts writing frames of `info` with `depth` frames in flight (at least 1); `stop` as for [`ReadAhead::new`].
    ///
    /// # Errors
    /// A thread that cannot be started.
    pub fn new(
        sink: Box<dyn FrameSink>,
        info: &StreamInfo,
        depth: usize,
        stop: Option<Arc<AtomicBool>>,
    ) -> Result<Self> {
        let (jobs, todo) = channel();
        let (give, empties) = channel();
        let (report, outcome) = channel();
        for _ in 0..depth.max(1) {
            let _ = give.send(Frame::new(info.format, info.width, info.height)?);
        }
        let (encoder, coded) = (sink.encoder(), sink.is_coded());
        let notes = Arc::new(Mutex::new(sink.notes()));
        let shared = notes.clone();
        let given_up = Arc::new(AtomicBool::new(false));
        let watched = given_up.clone();
        std::thread::Builder::new()
            .name("jnd-write".into())
            .spawn(move || {
                let result = write_thread(sink, &todo, give, &shared, &watched);
                let _ = report.send(result);
            })
            .map_err(|e| Error::io("writing thread", e))?;
        Ok(Self {
            info: info.clone(),
            encoder,
            coded,
            notes,
            jobs: Some(jobs),
            empties,
            outcome,
            stop,
            given_up,
        })
    }

    /// A frame to fill, once one is free.
    ///
    /// # Errors
    /// The error that stopped the writing thread, or [`Error::Interrupted`].
    pub fn empty(&mut self) -> Result<Frame> {
        match wait(&self.empties, &self.stop, "writing thread") {
            Err(Error::Interrupted) => Err(Error::Interrupted),
            // The thread drops its end before it reports why it ended.
            Err(_) => Err(self.failure()),
            frame => frame,
        }
    }

    /// Queues a frame for writing.
    ///
    /// # Errors
    /// The error that stopped the writing thread, or a frame of another stream.
    pub fn push(&mut self, frame: Frame) -> Result<()> {
        crate::sink::check_frame(&self.info, &frame)?;
        match &self.jobs {
            Some(jobs) if jobs.send(Job::Frame(frame)).is_ok() => Ok(()),
            _ => Err(self.failure()),
        }
    }

    fn failure(&self) -> Error {
        match self.outcome.recv_timeout(GRACE) {
            Ok(Err(e)) => e,
            _ => lost("writing thread"),
        }
    }
}

fn write_thread(
    mut sink: Box<dyn FrameSink>,
    todo: &Receiver<Job>,
    give: Sender<Frame>,
    notes: &Mutex<Vec<String>>,
    given_up: &AtomicBool,
) -> Result<()> {
    while let Ok(job) = todo.recv() {
        if given_up.load(Ordering::Relaxed) {
            break;
        }
        match job {
            Job::Frame(frame) => {
                sink.write(&frame)?;
                let _ = give.send(frame);
            }
            Job::Finish => {
                *notes.lock().unwrap_or_else(|e| e.into_inner()) = sink.notes();
                return sink.finish();
            }
        }
    }
    // Given up: the sink removes what it has written.
    Ok(())
}

impl FrameSink for WriteBehind {
    /// Copies the frame; [`WriteBehind::empty`] and [`WriteBehind::push`] do without.
    fn write(&mut self, frame: &Frame) -> Result<()> {
        crate::sink::check_frame(&self.info, frame)?;
        let mut own = self.empty()?;
        own.bytes_mut().copy_from_slice(frame.bytes());
        own.timestamp = frame.timestamp;
        self.push(own)
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        let sent = self.jobs.take().is_some_and(|jobs| jobs.send(Job::Finish).is_ok());
        if !sent {
            return Err(self.failure());
        }
        wait(&self.outcome, &self.stop, "writing thread")?
    }

    fn is_coded(&self) -> bool {
        self.coded
    }

    fn encoder(&self) -> String {
        self.encoder.clone()
    }

    fn notes(&self) -> Vec<String> {
        self.notes.lock().unwrap_or_else(|e| e.into_inner()).clone()
    }
}

impl Drop for WriteBehind {
    fn drop(&mut self) {
        self.given_up.store(true, Ordering::Relaxed);
        if self.jobs.take().is_some() {
            // Wait for the thread to remove the partial output, but not for a writer stuck in a full pipe.
            let _ = self.outcome.recv_timeout(GRACE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pump::tests::{counted, info};

    #[test]
    fn readiness_loses_nothing() {
        let mut reader = ReadAhead::new(counted(20, false), 2, None).unwrap();
        let mut frame = Frame::new(info().format, 4, 2).unwrap();
        for i in 0..20 {
            // Every other frame is waited for by asking, the rest by reading.
            while i % 2 == 0 && !reader.is_ready() {
                std::thread::yield_now();
            }
            assert!(reader.read(&mut frame).unwrap());
            assert_eq!((frame.timestamp, frame.bytes()[7]), (i, i as u8));
        }
        while !reader.is_ready() {
            std::thread::yield_now();
        }
        assert!(!reader.read(&mut frame).unwrap());
        assert!(reader.is_ready() && !reader.read(&mut frame).unwrap());
    }
}
