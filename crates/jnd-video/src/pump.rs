//! From a reader through a step of work to a writer, all at the same time.
//!
//! Reading, the step and writing are each done for one frame at a time and in order, but whose thread does the step is
//! left open. Where there are processors for it, it has a thread of its own. On two processors a third thread would only
//! take turns with one of the other two, while the other waits at a full or an empty queue: there the step is done by
//! the reading thread when all its frames are full, and by the writing thread when it has nothing to write. Whichever
//! side is slow, the other does the step. Who has begun goes on as long as there are frames, because codecs and steps each
//! fill the caches with what is theirs, and the fewer the changes from one to the other, the less often that is lost.
//!
//! A fixed set of frames goes round. Nothing is allocated once they are made, and a slow side holds the fast one up.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::queue::{GRACE, POLL, lost};
use crate::{ChromaRounding, DEFAULT_DEPTH, Error, Frame, FrameSink, FrameSource, Result, StreamInfo};

/// Most frames in flight on each side where they are small.
const SMALL_DEPTH: usize = 12;

/// Bytes on each side that small frames may take to be more than [`DEFAULT_DEPTH`].
const SMALL_BYTES: usize = 10 << 20;

/// Frames in flight on each side where they are large. One is filled while the other is used; a codec takes so long for
/// one of these that more would only take memory.
const LARGE_DEPTH: usize = 2;

/// Bytes from which a frame is large.
const LARGE: usize = 4 << 20;

/// Processors from which a step has a thread of its own: one for each of the three.
const PROCESSORS: usize = 3;

/// How [`pump`] works.
#[derive(Debug, Clone, Default)]
pub struct PumpOptions {
    /// Frames in flight on each side, the one at work included, at least 2; `None` for [`DEFAULT_DEPTH`], or fewer where
    /// frames are large and up to three times as many where they are small.
    pub depth: Option<usize>,
    /// Whether the step has a thread of its own; `None` where there are three processors or more.
    pub step_thread: Option<bool>,
    /// Set it to end the run with [`Error::Interrupted`]. Where a sink takes long to finish, the output may still be
    /// completed by its thread after that.
    pub stop: Option<Arc<AtomicBool>>,
}

impl PumpOptions {
    /// Frames in flight on each side for frames of this stream, the one at work included.
    pub fn depth_for(&self, info: &StreamInfo) -> usize {
        let bytes = info.format.frame_bytes(info.width, info.height, ChromaRounding::Ceil);
        let own = match bytes {
            LARGE.. => LARGE_DEPTH,
            n => (SMALL_BYTES / n.max(1)).clamp(DEFAULT_DEPTH, SMALL_DEPTH),
        };
        self.depth.unwrap_or(own).max(2)
    }

    fn has_step_thread(&self) -> bool {
        let enough = || std::thread::available_parallelism().is_ok_and(|n| n.get() >= PROCESSORS);
        self.step_thread.unwrap_or_else(enough)
    }
}

/// How a [`pump`] run ended.
#[derive(Debug)]
pub struct Pumped {
    /// Frames read and written.
    pub frames: u64,
    /// The cut, where the input was cut off; the output holds every whole frame before it.
    pub truncated: Option<Error>,
    /// What source and sink had to say.
    pub notes: Vec<String>,
    /// What went wrong without ending the run; see [`FrameSource::warnings`].
    pub warnings: Vec<String>,
}

/// Where all frames are, and how far the run is.
struct State<E> {
    /// Frames to read into. The last one used is the next, because the cache may still hold it.
    blank: Vec<Frame>,
    /// Frames read.
    read: VecDeque<Frame>,
    /// Frames for the step to fill.
    empty: Vec<Frame>,
    /// Frames to write.
    made: VecDeque<Frame>,
    /// The step is being done.
    stepping: bool,
    /// Nothing more will be read.
    ended: bool,
    truncated: Option<Error>,
    notes: Vec<String>,
    warnings: Vec<String>,
    /// Frames that the step has made.
    frames: u64,
    /// The first error; everybody leaves.
    failed: Option<E>,
    /// Everybody leaves, because of an error or because the error has been fetched.
    over: bool,
    /// The output is complete.
    finished: bool,
    /// The writing thread is there, and with it an output that may not be complete.
    writing: bool,
    /// Threads that wait for a change.
    waiting: usize,
}

impl<E> State<E> {
    fn fail(&mut self, e: impl Into<E>) {
        self.over = true;
        self.failed.get_or_insert_with(|| e.into());
    }
}

/// What the threads share.
struct Line<F, E> {
    state: Mutex<State<E>>,
    /// Something has changed for one of the threads.
    changed: Condvar,
    /// Something has changed for the caller: the first frame, the end.
    news: Condvar,
    step: Mutex<F>,
    /// Reader and writer do the step.
    shared_step: bool,
}

impl<F, E> Line<F, E>
where
    F: FnMut(&Frame, &mut Frame) -> std::result::Result<(), E>,
    E: From<Error>,
{
    fn lock(&self) -> MutexGuard<'_, State<E>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells those who wait that something has changed.
    fn tell(&self, state: &State<E>) {
        if state.waiting > 0 {
            self.changed.notify_all();
        }
        if state.over || state.finished || state.frames == 1 {
            self.news.notify_all();
        }
    }

    fn wait<'a>(&self, mut state: MutexGuard<'a, State<E>>) -> MutexGuard<'a, State<E>> {
        state.waiting += 1;
        let mut state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        state.waiting -= 1;
        state
    }

    /// Everybody leaves. Waits for the partial output to be removed, but not for a writer stuck in a full pipe.
    fn give_up<'a>(&self, mut state: MutexGuard<'a, State<E>>) -> MutexGuard<'a, State<E>> {
        state.over = true;
        self.tell(&state);
        let end = Instant::now() + GRACE;
        while state.writing && Instant::now() < end {
            state = self.news.wait_timeout(state, POLL).unwrap_or_else(PoisonError::into_inner).0;
        }
        state
    }

    /// Does the step for the next frames, if that is the thread's business, there are any, frames to fill, and nobody else
    /// is at it; else waits for a change.
    fn step_or_wait<'a>(
        &'a self,
        mut state: MutexGuard<'a, State<E>>,
        steps: bool,
    ) -> MutexGuard<'a, State<E>> {
        if !steps || state.stepping || state.read.is_empty() || state.empty.is_empty() {
            return self.wait(state);
        }
        while !(state.over || state.read.is_empty() || state.empty.is_empty()) {
            let (Some(frame), Some(mut out)) = (state.read.pop_front(), state.empty.pop()) else { break };
            state.stepping = true;
            drop(state);
            out.timestamp = frame.timestamp;
            let result = (self.step.lock().unwrap_or_else(PoisonError::into_inner))(&frame, &mut out);
            state = self.lock();
            state.stepping = false;
            state.blank.push(frame);
            match result {
                Ok(()) => {
                    state.made.push_back(out);
                    state.frames += 1;
                }
                Err(e) => state.fail(e),
            }
            self.tell(&state);
        }
        state
    }

    /// The reading thread.
    fn read(&self, mut source: Box<dyn FrameSource>) {
        let mut state = self.lock();
        while !state.over {
            let blank = if state.ended { None } else { state.blank.pop() };
            if let Some(mut frame) = blank {
                drop(state);
                let more = source.read(&mut frame);
                // Asked before anybody is told of the end: should it panic, the output is not completed.
                let said = (!matches!(more, Ok(true))).then(|| (source.notes(), source.warnings()));
                state = self.lock();
                match more {
                    Ok(true) => state.read.push_back(frame),
                    Ok(false) => state.ended = true,
                    Err(e @ Error::Truncated { frames: 1.., .. }) => {
                        (state.ended, state.truncated) = (true, Some(e));
                    }
                    Err(e) => state.fail(e),
                }
                if let Some(said) = said {
                    (state.notes, state.warnings) = said;
                }
                self.tell(&state);
                continue;
            }
            if state.ended && (state.read.is_empty() || !self.shared_step) {
                return;
            }
            state = self.step_or_wait(state, self.shared_step);
        }
    }

    /// The thread of the step, where it has one.
    fn step(&self) {
        let mut state = self.lock();
        while !(state.over || state.ended && state.read.is_empty()) {
            state = self.step_or_wait(state, true);
        }
    }

    /// The writing thread. A sink that is dropped before it has finished removes its output.
    fn write(&self, mut sink: Box<dyn FrameSink>) {
        let mut state = self.lock();
        while !state.over {
            if let Some(frame) = state.made.pop_front() {
                drop(state);
                let result = sink.write(&frame);
                state = self.lock();
                state.empty.push(frame);
                if let Err(e) = result {
                    state.fail(e);
                }
                self.tell(&state);
                continue;
            }
            if state.ended && state.read.is_empty() && !state.stepping {
                state.notes.extend(sink.notes());
                drop(state);
                let result = sink.finish();
                state = self.lock();
                match result {
                    Ok(()) => state.finished = true,
                    Err(e) => state.fail(e),
                }
                return self.tell(&state);
            }
            state = self.step_or_wait(state, self.shared_step);
        }
        drop(state);
        drop(sink);
    }
}

/// Runs on a thread: says when it has left, also where it panics.
fn leave<F, E>(line: &Line<F, E>, writer: bool, what: &str, work: impl FnOnce())
where
    F: FnMut(&Frame, &mut Frame) -> std::result::Result<(), E>,
    E: From<Error>,
{
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
    let mut state = line.lock();
    state.writing &= !writer;
    if result.is_err() {
        state.fail(lost(what));
    }
    line.tell(&state);
}

/// Sends every frame of `source` through `step` (input, output) to `sink`, which takes frames of `out`; reading, the
/// step and writing overlap, on threads other than the caller's; `step` may be called on one and then on another. The output
/// frame comes with the input's timestamp. `tick` is called on the caller's thread, once for every frame, when the frame is
/// made or soon after.
///
/// # Errors
/// The first error of source, step or sink; the output is then removed. A cut input is no error here: the output is
/// completed and [`Pumped::truncated`] says so.
pub fn pump<E: From<Error> + Send + 'static>(
    source: Box<dyn FrameSource>,
    sink: Box<dyn FrameSink>,
    out: &StreamInfo,
    options: &PumpOptions,
    step: impl FnMut(&Frame, &mut Frame) -> std::result::Result<(), E> + Send + 'static,
    tick: &mut dyn FnMut(),
) -> std::result::Result<Pumped, E> {
    let depth = options.depth_for(source.info());
    let blank = (0..depth).map(|_| source.new_frame()).collect::<Result<Vec<_>>>()?;
    let empty = (0..options.depth_for(out)).map(|_| Frame::new(out.format, out.width, out.height));
    let empty = empty.collect::<Result<Vec<_>>>()?;
    let state = State {
        read: VecDeque::with_capacity(blank.len()),
        blank,
        made: VecDeque::with_capacity(empty.len()),
        empty,
        stepping: false,
        ended: false,
        truncated: None,
        notes: Vec::new(),
        warnings: Vec::new(),
        frames: 0,
        failed: None,
        over: false,
        finished: false,
        writing: false,
        waiting: 0,
    };
    let line = Arc::new(Line {
        state: Mutex::new(state),
        changed: Condvar::new(),
        news: Condvar::new(),
        step: Mutex::new(step),
        shared_step: !options.has_step_thread(),
    });
    let caller = Caller(&line);
    start(&line, source, sink)?;
    let result = watch(&line, options.stop.as_deref(), tick);
    std::mem::forget(caller);
    result
}

/// The caller's part. Where it ends early, because a thread did not start or the caller's function panicked, so do the
/// threads, and the output is removed.
struct Caller<'a, F, E>(&'a Line<F, E>)
where
    F: FnMut(&Frame, &mut Frame) -> std::result::Result<(), E>,
    E: From<Error>;

impl<F, E> Drop for Caller<'_, F, E>
where
    F: FnMut(&Frame, &mut Frame) -> std::result::Result<(), E>,
    E: From<Error>,
{
    fn drop(&mut self) {
        drop(self.0.give_up(self.0.lock()));
    }
}

/// Starts the threads.
fn start<F, E>(line: &Arc<Line<F, E>>, source: Box<dyn FrameSource>, sink: Box<dyn FrameSink>) -> Result<()>
where
    F: FnMut(&Frame, &mut Frame) -> std::result::Result<(), E> + Send + 'static,
    E: From<Error> + Send + 'static,
{
    let spawn = |name: &str, what: &'static str, work: Box<dyn FnOnce() + Send>| {
        let started = std::thread::Builder::new().name(name.into()).spawn(work);
        started.map(drop).map_err(|e| Error::io(what, e))
    };
    let its = line.clone();
    let write = move || leave(&its, true, "writing thread", || its.write(sink));
    line.lock().writing = true;
    spawn("jnd-write", "writing thread", Box::new(write)).inspect_err(|_| line.lock().writing = false)?;
    if !line.shared_step {
        let its = line.clone();
        let step = move || leave(&its, false, "thread between reader and writer", || its.step());
        spawn("jnd-step", "thread between reader and writer", Box::new(step))?;
    }
    let its = line.clone();
    let read = move || leave(&its, false, "reading thread", || its.read(source));
    spawn("jnd-read", "reading thread", Box::new(read))
}

/// Waits for the end on the caller's thread.
fn watch<F, E>(
    line: &Line<F, E>,
    stop: Option<&AtomicBool>,
    tick: &mut dyn FnMut(),
) -> std::result::Result<Pumped, E>
where
    F: FnMut(&Frame, &mut Frame) -> std::result::Result<(), E>,
    E: From<Error>,
{
    let mut ticked = 0;
    let mut state = line.lock();
    loop {
        if stop.is_some_and(|s| s.load(Ordering::Relaxed)) && !state.finished {
            state.fail(Error::Interrupted);
            line.tell(&state);
        }
        if let Some(e) = state.failed.take() {
            state = line.give_up(state);
            // An interruption that came too late is none.
            if !state.finished {
                return Err(e);
            }
        }
        let frames = state.frames;
        if ticked < frames {
            drop(state);
            (ticked..frames).for_each(|_| tick());
            ticked = frames;
            state = line.lock();
        } else if state.finished {
            return Ok(Pumped {
                frames,
                truncated: state.truncated.take(),
                notes: std::mem::take(&mut state.notes),
                warnings: std::mem::take(&mut state.warnings),
            });
        } else {
            state = line.news.wait_timeout(state, POLL).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
