//! Copies between a caller's pageable memory and pinned memory, by several threads.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

/// Bytes that one thread copies before it looks for more: large enough to stream, small enough to share out evenly.
const PIECE: usize = 1 << 20;

/// One copy of rows.
#[derive(Debug, Clone, Copy)]
pub struct CopyJob {
    /// First byte to write.
    pub dst: *mut u8,
    /// Bytes from one written row to the next.
    pub dst_pitch: usize,
    /// First byte to read.
    pub src: *const u8,
    /// Bytes from one read row to the next.
    pub src_pitch: usize,
    /// Bytes of a row.
    pub row_bytes: usize,
    /// Rows.
    pub rows: usize,
}

// SAFETY: the promise of `CopyPool::run` makes the memory valid on any thread until the copy is done.
unsafe impl Send for CopyJob {}

impl CopyJob {
    fn run(&self) {
        if self.row_bytes == self.dst_pitch && self.row_bytes == self.src_pitch {
            // SAFETY: the promise of `CopyPool::run`: both sides are valid and apart; the rows follow each other.
            unsafe { std::ptr::copy_nonoverlapping(self.src, self.dst, self.row_bytes * self.rows) };
            return;
        }
        for y in 0..self.rows {
            // SAFETY: the same promise, row by row.
            unsafe {
                std::ptr::copy_nonoverlapping(
                    self.src.add(y * self.src_pitch),
                    self.dst.add(y * self.dst_pitch),
                    self.row_bytes,
                );
            }
        }
    }

    /// Cuts the copy into pieces of whole rows; one long row is cut as well.
    fn split(mut self, pieces: &mut Vec<Self>) {
        if self.row_bytes == self.dst_pitch && self.row_bytes == self.src_pitch {
            let bytes = self.row_bytes * self.rows;
            (self.row_bytes, self.rows) = (1, bytes);
            (self.src_pitch, self.dst_pitch) = (1, 1);
        }
        let step = (PIECE / self.row_bytes.max(1)).max(1);
        let mut y = 0;
        while y < self.rows {
            let rows = step.min(self.rows - y);
            pieces.push(Self {
                dst: self.dst.wrapping_add(y * self.dst_pitch),
                src: self.src.wrapping_add(y * self.src_pitch),
                rows,
                ..self
            });
            y += rows;
        }
    }
}

type Batch = Arc<Mutex<Vec<CopyJob>>>;

/// Threads that copy. They end when the pool is dropped.
#[derive(Debug)]
pub struct CopyPool {
    work: Vec<Sender<Batch>>,
    done: Receiver<()>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

fn drain(batch: &Batch) {
    loop {
        let job = batch.lock().map_or_else(|e| e.into_inner().pop(), |mut v| v.pop());
        let Some(job) = job else { return };
        job.run();
    }
}

impl CopyPool {
    /// A pool of `threads` threads, the calling one counted.
    pub fn new(threads: usize) -> Self {
        let (finished, done) = channel();
        let (mut work, mut handles) = (Vec::new(), Vec::new());
        for _ in 1..threads.max(1) {
            let (sender, receiver) = channel::<Batch>();
            let finished = finished.clone();
            let spawned = std::thread::Builder::new().name("jnd-copy".into()).spawn(move || {
                while let Ok(batch) = receiver.recv() {
                    drain(&batch);
                    if finished.send(()).is_err() {
                        return;
                    }
                }
            });
            // With fewer threads than asked for, the copies are slower and the same.
            let Ok(handle) = spawned else { break };
            work.push(sender);
            handles.push(handle);
        }
        Self { work, done, threads: handles }
    }

    /// Threads that the machine has to spare for copies: more than this no longer adds bandwidth.
    pub fn default_threads() -> usize {
        std::thread::available_parallelism().map_or(1, usize::from).min(12)
    }

    /// Does all copies on the calling thread alone.
    ///
    /// # Safety
    /// As [`CopyPool::run`].
    pub unsafe fn run_here(jobs: &[CopyJob]) {
        jobs.iter().for_each(CopyJob::run);
    }

    /// Does all copies and returns when they are done.
    ///
    /// # Safety
    /// Every job's memory is valid for its rows, its two sides do not overlap, and no job writes what another touches.
    pub unsafe fn run(&self, jobs: &[CopyJob]) {
        let mut pieces = Vec::new();
        for job in jobs {
            job.split(&mut pieces);
        }
        pieces.reverse();
        let helpers = self.work.len().min(pieces.len().saturating_sub(1));
        let batch = Arc::new(Mutex::new(pieces));
        let sent = self.work[..helpers].iter().filter(|w| w.send(batch.clone()).is_ok()).count();
        drain(&batch);
        for _ in 0..sent {
            let _ = self.done.recv();
        }
    }
}

impl Drop for CopyPool {
    fn drop(&mut self) {
        self.work.clear();
        for t in self.threads.drain(..) {
            let _ = t.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_rows_and_blocks_exactly() {
        let pool = CopyPool::new(3);
        let src: Vec<u8> = (0..5_000_011u32).map(|i| (i * 7 + i / 251) as u8).collect();
        for (row, rows, sp, dp) in
            [(5_000_011, 1, 5_000_011, 5_000_011), (100, 999, 123, 140), (1, 1, 1, 1), (7, 0, 7, 7)]
        {
            let mut dst = vec![0u8; dp * rows + 64];
            let job = CopyJob {
                dst: dst.as_mut_ptr(),
                dst_pitch: dp,
                src: src.as_ptr(),
                src_pitch: sp,
                row_bytes: row,
                rows,
            };
            // SAFETY: both vectors hold all rows at these pitches.
            unsafe { pool.run(&[job]) };
            for y in 0..rows {
                assert_eq!(dst[y * dp..y * dp + row], src[y * sp..y * sp + row]);
                assert!(dst[y * dp + row..(y + 1) * dp].iter().all(|&b| b == 0), "written between rows");
            }
        }
    }
}
