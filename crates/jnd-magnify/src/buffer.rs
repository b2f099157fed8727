//! Buffers whose first element begins a cache line. A register of AVX-512 is a whole line, so that rows that begin
//! anywhere else make every load and store touch two.

use std::ops::{Deref, DerefMut};

/// Bytes of a cache line.
const LINE: usize = 64;

/// Bytes of a page of memory, or a part of it.
const PAGE: usize = 4096;

/// A slice of fixed length at the start of a cache line.
#[derive(Default)]
pub(crate) struct Buffer<T> {
    memory: Vec<T>,
    start: usize,
    len: usize,
}

impl<T: Copy + Default> Buffer<T> {
    /// `len` default values (zeros).
    pub(crate) fn new(len: usize) -> Self {
        if len == 0 {
            return Self::default();
        }
        let mut memory = vec![T::default(); len + Self::SPARE];
        // Zeros come as pages that are made when they are first written to. Where they are read before, the system maps
        // one page of zeros in their place first, and taking that back interrupts all other threads, page by page.
        for first in memory.iter_mut().step_by(PAGE / size_of::<T>()) {
            *first = std::hint::black_box(T::default());
        }
        let start = memory.as_ptr().align_offset(LINE).min(Self::SPARE);
        Self { memory, start, len }
    }
}

impl<T> Buffer<T> {
    /// Elements allocated beyond those asked for.
    const SPARE: usize = LINE / size_of::<T>();
}

impl<T> Deref for Buffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.memory[self.start..self.start + self.len]
    }
}

impl<T> DerefMut for Buffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.memory[self.start..self.start + self.len]
    }
}

impl<T> std::fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} values", self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_begin_lines_and_hold_zeros() {
        for n in [0, 1, 63, 1000, 100_000] {
            let mut b = Buffer::<u16>::new(n);
            assert_eq!((b.len(), b.iter().max()), (n, [0].iter().take(n).max()));
            assert!(n == 0 || cfg!(miri) || (b.as_ptr() as usize).is_multiple_of(LINE));
            b.fill(7);
            assert!(Buffer::<f64>::new(n).iter().all(|v| *v == 0.0));
        }
    }
}
