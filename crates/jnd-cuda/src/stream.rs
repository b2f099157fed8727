//! Order of work on a device.

use crate::context::Kind;
use crate::raw::{Rows, Side};
use crate::{Context, Result, raw};

/// Which stream's work goes first where both could run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Priority {
    /// The usual.
    #[default]
    Normal,
    /// Before the others.
    High,
}

/// A queue of work on a device, done in order. Streams are ordered among each other by [`Event`]s only.
#[derive(Debug)]
pub struct Stream {
    context: Context,
    raw: raw::Handle,
    owned: bool,
}

impl Stream {
    /// A new stream, independent of all others.
    ///
    /// # Errors
    /// The driver refused.
    pub fn new(context: &Context, priority: Priority) -> Result<Self> {
        // SAFETY: the context is current.
        let raw = context.on(|| 0, || unsafe { raw::stream_create(priority == Priority::High) })?;
        Ok(Self { context: context.clone(), raw, owned: true })
    }

    /// A stream made by someone else (a `CUstream` as a number; 0 is the legacy default stream).
    ///
    /// # Safety
    /// The stream belongs to the device's primary context and outlives this value.
    pub unsafe fn borrowed(context: &Context, raw: usize) -> Self {
        Self { context: context.clone(), raw, owned: false }
    }

    /// The context it belongs to.
    pub fn context(&self) -> &Context {
        &self.context
    }

    pub(crate) fn raw(&self) -> raw::Handle {
        self.raw
    }

    /// Waits until everything in the stream is done.
    ///
    /// # Errors
    /// Something in it failed.
    pub fn synchronize(&self) -> Result<()> {
        self.context.on(
            || (),
            // SAFETY: the stream is alive and its context current.
            || unsafe { raw::stream_sync(self.raw) },
        )
    }

    /// Whether everything in the stream is done; does not wait.
    ///
    /// # Errors
    /// Something in it failed.
    pub fn is_done(&self) -> Result<bool> {
        self.context.on(
            || true,
            // SAFETY: the stream is alive and its context current.
            || unsafe { raw::stream_done(self.raw) },
        )
    }

    /// Makes later work of the stream wait for the event; does not wait itself.
    ///
    /// # Errors
    /// The driver refused.
    pub fn wait(&self, event: &Event) -> Result<()> {
        self.context.on(
            || (),
            // SAFETY: both are alive.
            || unsafe { raw::stream_wait(self.raw, event.raw) },
        )
    }

    /// Marks this point of the stream.
    ///
    /// # Errors
    /// The driver refused.
    pub fn record(&self, event: &Event) -> Result<()> {
        self.context.on(
            || event.stamp(),
            // SAFETY: both are alive.
            || unsafe { raw::event_record(event.raw, self.raw) },
        )
    }

    /// Copies host memory to the device. Pinned memory is copied behind the caller's back; with pageable memory the
    /// driver holds the caller up.
    ///
    /// # Safety
    /// `dst` is device memory of this context with room for `bytes`; `src` stays valid and unchanged until the stream
    /// has passed the copy.
    ///
    /// # Errors
    /// The driver refused.
    pub unsafe fn upload(&self, dst: u64, src: *const u8, bytes: usize) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        self.context.on(
            || {
                // SAFETY: the caller's promise; device memory is host memory here.
                unsafe { std::ptr::copy(src, dst as *mut u8, bytes) };
            },
            // SAFETY: the caller's promise.
            || unsafe { raw::copy_up(dst, src, bytes, self.raw) },
        )
    }

    /// Copies device memory to the host; see [`Stream::upload`].
    ///
    /// # Safety
    /// `src` is device memory of this context of at least `bytes`; `dst` stays valid and is not looked at until the
    /// stream has passed the copy.
    ///
    /// # Errors
    /// The driver refused.
    pub unsafe fn download(&self, dst: *mut u8, src: u64, bytes: usize) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        self.context.on(
            || {
                // SAFETY: the caller's promise; device memory is host memory here.
                unsafe { std::ptr::copy(src as *const u8, dst, bytes) };
            },
            // SAFETY: the caller's promise.
            || unsafe { raw::copy_down(dst, src, bytes, self.raw) },
        )
    }

    /// Copies from device to device.
    ///
    /// # Safety
    /// Both are device memory of this context with room for `bytes`, and do not overlap.
    ///
    /// # Errors
    /// The driver refused.
    pub unsafe fn copy(&self, dst: u64, src: u64, bytes: usize) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        self.context.on(
            || {
                // SAFETY: the caller's promise; device memory is host memory here.
                unsafe { std::ptr::copy(src as *const u8, dst as *mut u8, bytes) };
            },
            // SAFETY: the caller's promise.
            || unsafe { raw::copy_within(dst, src, bytes, self.raw) },
        )
    }

    /// Copies `rows` rows of `row_bytes` from the host to the device, each side with its own pitch in bytes.
    ///
    /// # Safety
    /// As [`Stream::upload`], for every row.
    ///
    /// # Errors
    /// The driver refused.
    pub unsafe fn upload_rows(
        &self,
        dst: u64,
        dst_pitch: usize,
        src: *const u8,
        src_pitch: usize,
        row_bytes: usize,
        rows: usize,
    ) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe {
            self.copy_rows(&Rows {
                dst: Side::Device { ptr: dst, pitch: dst_pitch },
                src: Side::Host { ptr: src.cast_mut(), pitch: src_pitch },
                row_bytes,
                rows,
            })
        }
    }

    /// Copies rows from the device to the host; see [`Stream::upload_rows`].
    ///
    /// # Safety
    /// As [`Stream::download`], for every row.
    ///
    /// # Errors
    /// The driver refused.
    pub unsafe fn download_rows(
        &self,
        dst: *mut u8,
        dst_pitch: usize,
        src: u64,
        src_pitch: usize,
        row_bytes: usize,
        rows: usize,
    ) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe {
            self.copy_rows(&Rows {
                dst: Side::Host { ptr: dst, pitch: dst_pitch },
                src: Side::Device { ptr: src, pitch: src_pitch },
                row_bytes,
                rows,
            })
        }
    }

    /// Copies rows from device to device.
    ///
    /// # Safety
    /// As [`Stream::copy`], for every row.
    ///
    /// # Errors
    /// The driver refused.
    pub unsafe fn copy_rows_within(
        &self,
        dst: u64,
        dst_pitch: usize,
        src: u64,
        src_pitch: usize,
        row_bytes: usize,
        rows: usize,
    ) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe {
            self.copy_rows(&Rows {
                dst: Side::Device { ptr: dst, pitch: dst_pitch },
                src: Side::Device { ptr: src, pitch: src_pitch },
                row_bytes,
                rows,
            })
        }
    }

    unsafe fn copy_rows(&self, c: &Rows) -> Result<()> {
        if c.row_bytes == 0 || c.rows == 0 {
            return Ok(());
        }
        if let Kind::Host(_) = self.context.kind() {
            let at = |side: &Side, y: usize| match *side {
                Side::Device { ptr, pitch } => (ptr as usize + y * pitch) as *mut u8,
                Side::Host { ptr, pitch } => ptr.wrapping_add(y * pitch),
            };
            for y in 0..c.rows {
                // SAFETY: the caller's promise, row by row; device memory is host memory here.
                unsafe { std::ptr::copy(at(&c.src, y).cast_const(), at(&c.dst, y), c.row_bytes) };
            }
            return Ok(());
        }
        let _entered = self.context.enter()?;
        // SAFETY: the caller's promise.
        unsafe { raw::copy_rows(c, self.raw) }
    }

    /// Fills device memory with a byte.
    ///
    /// # Safety
    /// `dst` is device memory of this context with room for `bytes`.
    ///
    /// # Errors
    /// The driver refused.
    pub unsafe fn fill(&self, dst: u64, value: u8, bytes: usize) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        self.context.on(
            || {
                // SAFETY: the caller's promise; device memory is host memory here.
                unsafe { std::ptr::write_bytes(dst as *mut u8, value, bytes) };
            },
            // SAFETY: the caller's promise.
            || unsafe { raw::set_bytes(dst, value, bytes, self.raw) },
        )
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if self.owned {
            // SAFETY: made by `new` and not used again. The driver finishes the queued work first.
            let _ = self.context.on(|| (), || unsafe { raw::stream_destroy(self.raw) });
        }
    }
}

/// A point in a stream.
#[derive(Debug)]
pub struct Event {
    context: Context,
    raw: raw::Handle,
    at: std::sync::Mutex<std::time::Instant>,
}

impl Event {
    /// An event for order alone, the cheapest.
    ///
    /// # Errors
    /// The driver refused.
    pub fn new(context: &Context) -> Result<Self> {
        Self::make(context, false)
    }

    /// An event that also keeps the time at which it was passed.
    ///
    /// # Errors
    /// The driver refused.
    pub fn timed(context: &Context) -> Result<Self> {
        Self::make(context, true)
    }

    fn make(context: &Context, timed: bool) -> Result<Self> {
        // SAFETY: the context is current.
        let raw = context.on(|| 0, || unsafe { raw::event_create(timed) })?;
        Ok(Self { context: context.clone(), raw, at: std::time::Instant::now().into() })
    }

    fn stamp(&self) {
        if let Ok(mut at) = self.at.lock() {
            *at = std::time::Instant::now();
        }
    }

    /// Waits until the stream it was recorded in has passed it; at once when it was never recorded.
    ///
    /// # Errors
    /// Work before it failed.
    pub fn synchronize(&self) -> Result<()> {
        self.context.on(
            || (),
            // SAFETY: the event is alive.
            || unsafe { raw::event_sync(self.raw) },
        )
    }

    /// Whether it has been passed; does not wait.
    ///
    /// # Errors
    /// Work before it failed.
    pub fn is_done(&self) -> Result<bool> {
        self.context.on(
            || true,
            // SAFETY: the event is alive.
            || unsafe { raw::event_done(self.raw) },
        )
    }

    /// Milliseconds on the device from `start` to this one; both timed, recorded and passed.
    ///
    /// # Errors
    /// One of them is not.
    pub fn elapsed_ms(&self, start: &Self) -> Result<f64> {
        self.context.on(
            || {
                let (Ok(a), Ok(b)) = (start.at.lock(), self.at.lock()) else { return 0.0 };
                b.saturating_duration_since(*a).as_secs_f64() * 1e3
            },
            // SAFETY: both are alive.
            || unsafe { raw::event_elapsed(start.raw, self.raw) }.map(f64::from),
        )
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: made by `make` and not used again.
        let _ = self.context.on(|| (), || unsafe { raw::event_destroy(self.raw) });
    }
}
