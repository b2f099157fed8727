//! Threads that compute frames.
//!
//! A task is one pair of frames with every job on it. The thread that pushes frames helps when enough tasks wait, so
//! that the number of frames held stays bounded however fast they arrive.

use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use jnd_video::simd::Level;

use crate::job::{Job, Outcome, Pair, PlaneSizes, Scratch};
use crate::{Error, Result};

/// Most threads that may be asked for.
pub const MAX_THREADS: usize = 1024;

/// One pair to compute.
#[derive(Debug)]
pub(crate) struct Task {
    pub(crate) frame: u64,
    pub(crate) pair: Arc<Pair>,
    pub(crate) earlier: [Option<Arc<Pair>>; 2],
    /// Which jobs to run; the others give nothing.
    pub(crate) wanted: Vec<bool>,
}

/// What does not change from task to task.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) jobs: Vec<Job>,
    pub(crate) sizes: PlaneSizes,
    pub(crate) level: Level,
}

impl Shared {
    fn run(&self, task: Task, scratch: &mut Scratch) -> Vec<Outcome> {
        let earlier = [task.earlier[0].as_deref(), task.earlier[1].as_deref()];
        let run = |(job, wanted): (&Job, &bool)| {
            if *wanted {
                job.run(self.level, self.sizes, &task.pair, earlier, scratch)
            } else {
                Outcome::Nothing
            }
        };
        self.jobs.iter().zip(&task.wanted).map(run).collect()
    }
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Task>,
    /// Outcomes by frame; nothing where the computation failed.
    done: BTreeMap<u64, Option<Vec<Outcome>>>,
    running: usize,
    closed: bool,
}

#[derive(Debug)]
struct Queue {
    shared: Shared,
    state: Mutex<State>,
    /// Signalled when a task is added or the queue is closed.
    work: Condvar,
    /// Signalled when a task is done.
    result: Condvar,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is consistent between any two statements that could panic, so a poisoned lock is still good.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a task outside the lock.
    fn run(&self, task: Task, scratch: &mut Scratch) {
        let frame = task.frame;
        let _ieee = jnd_video::fpu::Ieee::enter();
        let outcome = catch_unwind(AssertUnwindSafe(|| self.shared.run(task, scratch))).ok();
        let mut state = self.lock();
        state.done.insert(frame, outcome);
        state.running -= 1;
        drop(state);
        self.result.notify_all();
    }

    fn worker(&self) {
        let mut scratch = Scratch::default();
        loop {
            let task = {
                let mut state = self.lock();
                loop {
                    if let Some(task) = state.waiting.pop_front() {
                        state.running += 1;
                        break task;
                    }
                    if state.closed {
                        return;
                    }
                    state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
            };
            self.run(task, &mut scratch);
        }
    }
}

/// A pool of threads with a queue of tasks.
#[derive(Debug)]
pub(crate) struct Workers {
    queue: Arc<Queue>,
    threads: Vec<JoinHandle<()>>,
    scratch: Scratch,
}

impl Workers {
    /// A pool of `threads` threads, the calling one counted.
    pub(crate) fn new(shared: Shared, threads: usize) -> Result<Self> {
        if threads == 0 || threads > MAX_THREADS {
            return Err(Error::Threads(threads));
        }
        let queue = Arc::new(Queue {
            shared,
            state: Mutex::new(State::default()),
            work: Condvar::new(),
            result: Condvar::new(),
        });
        let mut workers = Self { queue, threads: Vec::new(), scratch: Scratch::default() };
        for i in 1..threads {
            let queue = Arc::clone(&workers.queue);
            let thread = std::thread::Builder::new()
                .name(format!("jnd-score-{i}"))
                .spawn(move || queue.worker())
                .map_err(Error::Spawn)?;
            workers.threads.push(thread);
        }
        Ok(workers)
    }

    /// What the tasks share.
    pub(crate) fn shared(&self) -> &Shared {
        &self.queue.shared
    }

    /// Adds a task, and computes one here if as many wait as there are threads (always, if there is only this one).
    pub(crate) fn push(&mut self, task: Task) {
        let mut state = self.queue.lock();
        state.waiting.push_back(task);
        let limit = self.threads.len();
        let mine = if state.waiting.len() > limit { state.waiting.pop_front() } else { None };
        if mine.is_some() {
            state.running += 1;
        }
        drop(state);
        if limit > 0 {
            self.queue.work.notify_one();
        }
        if let Some(task) = mine {
            self.queue.run(task, &mut self.scratch);
        }
    }

    /// The outcomes of `frame`, if it has been computed.
    pub(crate) fn take(&mut self, frame: u64) -> Result<Option<Vec<Outcome>>> {
        match self.queue.lock().done.remove(&frame) {
            None => Ok(None),
            Some(Some(outcomes)) => Ok(Some(outcomes)),
            Some(None) => Err(Error::Worker(frame)),
        }
    }

    /// Helps until `frame`, which was pushed, is done.
    pub(crate) fn wait_for(&mut self, frame: u64) {
        loop {
            let mut state = self.queue.lock();
            if state.done.contains_key(&frame) {
                return;
            }
            if let Some(task) = state.waiting.pop_front() {
                state.running += 1;
                drop(state);
                self.queue.run(task, &mut self.scratch);
            } else if state.running == 0 {
                return;
            } else {
                drop(self.queue.result.wait(state).unwrap_or_else(PoisonError::into_inner));
            }
        }
    }

    /// Pairs whose outcomes may be outstanding: what is at work and what waits, twice, so that one slow thread does not
    /// hold up the others at once.
    pub(crate) fn limit(&self) -> u64 {
        4 * (self.threads.len() as u64 + 1)
    }

    /// Helps until every task is done.
    pub(crate) fn finish(&mut self) {
        loop {
            let mut state = self.queue.lock();
            if let Some(task) = state.waiting.pop_front() {
                state.running += 1;
                drop(state);
                self.queue.run(task, &mut self.scratch);
            } else if state.running == 0 {
                return;
            } else {
                drop(self.queue.result.wait(state).unwrap_or_else(PoisonError::into_inner));
            }
        }
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        let mut state = self.queue.lock();
        state.closed = true;
        state.waiting.clear();
        drop(state);
        self.queue.work.notify_all();
        for thread in self.threads.drain(..) {
            // A worker catches the panics of its tasks; nothing else in it can fail.
            let _ = thread.join();
        }
    }
}
