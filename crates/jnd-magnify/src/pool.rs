//! Worker threads that live as long as the magnifier.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long a thread looks for work, or for the others' end, before it sleeps. Longer than the coarse stage of a
/// frame, so that threads sleep between frames at most.
const PATIENCE: Duration = Duration::from_micros(150);

type Task = *const (dyn Fn() + Sync);

struct State {
    /// The task of the current round.
    task: Option<Task>,
    /// Threads asleep.
    sleeping: usize,
    stop: bool,
}

// SAFETY: the pointer is followed only inside `Pool::run`, which keeps what it points to alive, and the task is `Sync`.
unsafe impl Send for State {}

struct Shared {
    state: Mutex<State>,
    wake: Condvar,
    round: AtomicUsize,
    busy: AtomicUsize,
    panicked: AtomicBool,
}

/// Threads that all run the same task, the caller's thread among them.
pub(crate) struct Pool {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
}

fn lock(m: &Mutex<State>) -> MutexGuard<'_, State> {
    m.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Looks at a condition for a while; whether it came true.
fn spin(mut done: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    loop {
        for _ in 0..64 {
            if done() {
                return true;
            }
            std::hint::spin_loop();
        }
        if start.elapsed() > PATIENCE {
            return done();
        }
    }
}

impl Pool {
    /// A pool of `threads` threads, the caller's included.
    pub(crate) fn new(threads: usize) -> std::io::Result<Self> {
        let shared = Arc::new(Shared {
            state: Mutex::new(State { task: None, sleeping: 0, stop: false }),
            wake: Condvar::new(),
            round: AtomicUsize::new(0),
            busy: AtomicUsize::new(0),
            panicked: AtomicBool::new(false),
        });
        let mut pool = Self { shared: Arc::clone(&shared), workers: Vec::new() };
        for i in 1..threads {
            let shared = Arc::clone(&shared);
            let worker =
                std::thread::Builder::new().name(format!("jnd-magnify-{i}")).spawn(move || work(&shared))?;
            pool.workers.push(worker);
        }
        Ok(pool)
    }

    /// Runs `task` once on every thread and returns when all have ended.
    pub(crate) fn run(&self, task: &(dyn Fn() + Sync)) {
        if self.workers.is_empty() {
            return task();
        }
        let s = &*self.shared;
        {
            let mut state = lock(&s.state);
            // SAFETY: only the lifetime changes. `Finish` waits for every worker before this function is left, also by
            // a panic, so that no worker holds the pointer any longer than the borrow.
            let task: Task =
                unsafe { std::mem::transmute::<&(dyn Fn() + Sync), &'static (dyn Fn() + Sync)>(task) };
            state.task = Some(task);
            s.busy.store(self.workers.len(), Ordering::Relaxed);
            s.round.fetch_add(1, Ordering::Release);
            if state.sleeping > 0 {
                s.wake.notify_all();
            }
        }
        struct Finish<'a>(&'a Shared);
        impl Drop for Finish<'_> {
            fn drop(&mut self) {
                while !spin(|| self.0.busy.load(Ordering::Acquire) == 0) {
                    std::thread::yield_now();
                }
            }
        }
        let finish = Finish(s);
        task();
        drop(finish);
        assert!(!s.panicked.load(Ordering::Relaxed), "a worker thread of the magnifier panicked");
    }
}

fn work(s: &Shared) {
    // A thread starts with the state of the one that made it.
    let _ieee = jnd_video::fpu::Ieee::enter();
    let mut seen = 0;
    loop {
        if !spin(|| s.round.load(Ordering::Acquire) != seen) {
            let mut state = lock(&s.state);
            state.sleeping += 1;
            while s.round.load(Ordering::Acquire) == seen && !state.stop {
                state = s.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            state.sleeping -= 1;
        }
        let task = {
            let state = lock(&s.state);
            if state.stop {
                return;
            }
            seen = s.round.load(Ordering::Acquire);
            state.task
        };
        if let Some(task) = task {
            // SAFETY: `run` has stored it and waits until `busy` is 0, which is below, before the borrow ends.
            let task = unsafe { &*task };
            if catch_unwind(AssertUnwindSafe(task)).is_err() {
                s.panicked.store(true, Ordering::Relaxed);
            }
        }
        s.busy.fetch_sub(1, Ordering::Release);
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        {
            let mut state = lock(&self.shared.state);
            state.stop = true;
            state.task = None;
            // The round moves so that spinning threads look.
            self.shared.round.fetch_add(1, Ordering::Release);
            self.shared.wake.notify_all();
        }
        for w in self.workers.drain(..) {
            // A worker's panic has been reported by `run`.
            let _ = w.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_thread_runs_every_round() {
        for threads in [1, 2, 5] {
            let pool = Pool::new(threads).unwrap();
            let count = AtomicUsize::new(0);
            let rounds = if cfg!(miri) { 3 } else { 300 };
            for i in 0..rounds {
                pool.run(&|| {
                    count.fetch_add(1, Ordering::Relaxed);
                });
                assert_eq!(count.load(Ordering::Relaxed), (i + 1) * threads);
                if i % 100 == 50 {
                    std::thread::sleep(2 * PATIENCE);
                }
            }
        }
    }

    #[test]
    fn a_panic_reaches_the_caller_after_all_have_ended() {
        let pool = Pool::new(3).unwrap();
        let caller = std::thread::current().id();
        let result = catch_unwind(AssertUnwindSafe(|| {
            pool.run(&|| assert_eq!(std::thread::current().id(), caller, "on purpose"));
        }));
        assert!(result.is_err());
    }
}
