//! Worker threads that live as long as the magnifier, and how they wait.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long a thread looks for what it waits for before it sleeps. About what it costs to be woken, so that waiting
/// never takes more than twice the processor time it has to, and a thread that others need gets the processor soon.
const PATIENCE: Duration = Duration::from_micros(50);

/// Where threads wait for each other: they look for a while, then sleep.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    asleep: AtomicUsize,
    lock: Mutex<()>,
    wake: Condvar,
}

impl Bell {
    /// Waits until `done`, which must become true by a store before a [`ring`](Self::ring).
    pub(crate) fn wait(&self, done: impl Fn() -> bool) {
        let start = Instant::now();
        loop {
            for _ in 0..32 {
                if done() {
                    return;
                }
                std::hint::spin_loop();
            }
            if start.elapsed() > PATIENCE {
                break;
            }
        }
        let mut guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        self.asleep.fetch_add(1, Ordering::SeqCst);
        // Either this fence comes before the ringer's, which then sees a sleeper, or `done` sees what it stored.
        fence(Ordering::SeqCst);
        while !done() {
            guard = self.wake.wait(guard).unwrap_or_else(PoisonError::into_inner);
        }
        self.asleep.fetch_sub(1, Ordering::SeqCst);
    }

    /// Wakes those who sleep; they look again.
    pub(crate) fn ring(&self) {
        fence(Ordering::SeqCst);
        if self.asleep.load(Ordering::SeqCst) > 0 {
            // Whoever has counted himself asleep holds the lock until he really is.
            drop(self.lock.lock().unwrap_or_else(PoisonError::into_inner));
            self.wake.notify_all();
        }
    }
}

type Task = *const (dyn Fn(usize) + Sync);

/// The task of the current round; `None` ends the threads.
struct Current(Option<Task>);

// SAFETY: the pointer is followed only inside `Pool::run`, which keeps what it points to alive, and the task is `Sync`.
unsafe impl Send for Current {}

struct Shared {
    current: Mutex<Current>,
    round: AtomicUsize,
    started: Bell,
    busy: AtomicUsize,
    ended: Bell,
    panicked: AtomicBool,
}

/// Threads that all run the same task, the caller's thread among them.
pub(crate) struct Pool {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
}

impl Shared {
    fn start(&self, task: Option<Task>) {
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = Current(task);
        self.round.fetch_add(1, Ordering::Release);
        self.started.ring();
    }
}

impl Pool {
    /// A pool of `threads` threads, the caller's included.
    pub(crate) fn new(threads: usize) -> std::io::Result<Self> {
        let shared = Arc::new(Shared {
            current: Mutex::new(Current(None)),
            round: AtomicUsize::new(0),
            started: Bell::default(),
            busy: AtomicUsize::new(0),
            ended: Bell::default(),
            panicked: AtomicBool::new(false),
        });
        let mut pool = Self { shared: Arc::clone(&shared), workers: Vec::new() };
        for i in 1..threads {
            let shared = Arc::clone(&shared);
            let worker = std::thread::Builder::new()
                .name(format!("jnd-magnify-{i}"))
                .spawn(move || work(&shared, i))?;
            pool.workers.push(worker);
        }
        Ok(pool)
    }

    /// Runs `task` once on every thread, with the thread's number, and returns when all have ended.
    pub(crate) fn run(&self, task: &(dyn Fn(usize) + Sync)) {
        if self.workers.is_empty() {
            return task(0);
        }
        struct Finish<'a>(&'a Shared);
        impl Drop for Finish<'_> {
            fn drop(&mut self) {
                self.0.ended.wait(|| self.0.busy.load(Ordering::Acquire) == 0);
            }
        }
        let s = &*self.shared;
        // SAFETY: only the lifetime changes. `Finish` waits for every worker before this function is left, also by
        // a panic, so that no worker holds the pointer any longer than the borrow.
        let erased: Task =
            unsafe { std::mem::transmute::<&(dyn Fn(usize) + Sync), &'static (dyn Fn(usize) + Sync)>(task) };
        s.busy.store(self.workers.len(), Ordering::Relaxed);
        s.start(Some(erased));
        let finish = Finish(s);
        task(0);
        drop(finish);
        assert!(!s.panicked.load(Ordering::Relaxed), "a worker thread of the magnifier panicked");
    }
}

fn work(s: &Shared, thread: usize) {
    // A thread starts with the state of the one that made it.
    let _ieee = jnd_video::fpu::Ieee::enter();
    let mut seen = 0;
    loop {
        s.started.wait(|| s.round.load(Ordering::Acquire) != seen);
        seen = s.round.load(Ordering::Acquire);
        let task = s.current.lock().unwrap_or_else(PoisonError::into_inner).0;
        let Some(task) = task else { return };
        // SAFETY: `run` has stored it and waits until `busy` is 0, which is below, before the borrow ends.
        let task = unsafe { &*task };
        if catch_unwind(AssertUnwindSafe(|| task(thread))).is_err() {
            s.panicked.store(true, Ordering::Relaxed);
        }
        if s.busy.fetch_sub(1, Ordering::AcqRel) == 1 {
            s.ended.ring();
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.start(None);
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
                pool.run(&|_| {
                    count.fetch_add(1, Ordering::Relaxed);
                    if i % 100 == 30 {
                        // The caller, or a worker, falls asleep waiting for the others.
                        std::thread::sleep(PATIENCE * (count.load(Ordering::Relaxed) % threads) as u32 * 3);
                    }
                });
                assert_eq!(count.load(Ordering::Relaxed), (i + 1) * threads);
                if i % 100 == 50 {
                    std::thread::sleep(3 * PATIENCE);
                }
            }
        }
    }

    #[test]
    fn a_panic_reaches_the_caller_after_all_have_ended() {
        let pool = Pool::new(3).unwrap();
        let caller = std::thread::current().id();
        let result = catch_unwind(AssertUnwindSafe(|| {
            pool.run(&|_| assert_eq!(std::thread::current().id(), caller, "on purpose"));
        }));
        assert!(result.is_err());
    }
}
