//! The card: frames in host memory that are computed there.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use jnd::magnify::cuda::{ClipRunner, Options, Session};
use jnd::magnify::{Error, Plan};
use jnd::video::{Buffer, PixelFormat, Sample};
use jnd_cuda::{Context, Device};
use pyo3::prelude::*;

use crate::arrays::{Clip, Element, Picture};
use crate::magnify::{Scratch, Stop};
use crate::watch::{Progress, Watch};

/// Bytes of a clip from which on `device="auto"` looks for a card: a smaller one is done before a card is ready.
pub(crate) const WORTH: usize = 64 << 20;

/// Opens a card, once for each and process: opening takes a good part of a second where nobody else uses it.
pub(crate) fn context(device: Device) -> jnd_cuda::Result<Context> {
    #[cfg(feature = "emulate")]
    if device == Device(0) {
        return Ok(jnd_cuda_shim::context());
    }
    static OPEN: Mutex<BTreeMap<(u32, Device), Context>> = Mutex::new(BTreeMap::new());
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    // A context does not survive a fork; the driver says so when another is asked for.
    let key = (std::process::id(), device);
    if let Some(context) = open.get(&key) {
        return Ok(context.clone());
    }
    let context = Context::open(device)?;
    open.insert(key, context.clone());
    Ok(context)
}

/// A session for frames one by one.
pub(crate) fn session(plan: &Plan, device: Device) -> Result<Session, Error> {
    let options = Options { device, chunk: 1, ..Options::default() };
    Session::with_context(plan, &context(device)?, &options)
}

/// Says in the log of Python's `logging`, under the name `jnd`, why `device="auto"` is the processor. Nobody sees it who
/// has not asked for it.
pub(crate) fn tell(py: Python<'_>, why: &str) -> PyResult<()> {
    let log = py.import("logging")?.call_method1("getLogger", ("jnd",))?;
    log.call_method1("info", ("on the processor: %s", why))?;
    Ok(())
}

/// Takes the next finished frame.
///
/// # Safety
/// The output is writable and nobody else uses it meanwhile.
unsafe fn take(
    session: &mut Session,
    format: PixelFormat,
    output: &Picture,
    scratch: &mut Scratch,
) -> Result<bool, Error> {
    // SAFETY: the caller's promise.
    match unsafe { output.view_mut(format) } {
        Some(view) => session.take(&mut view?),
        None => {
            let made = output.scratch(format, &mut scratch.output)?;
            let taken = session.take(&mut made.view_mut())?;
            if taken {
                match made.buffer() {
                    // SAFETY: the caller's promise.
                    Buffer::U8(v) => unsafe { output.scatter(v, 0..output.height()) },
                    // SAFETY: the caller's promise.
                    Buffer::U16(v) => unsafe { output.scatter(v, 0..output.height()) },
                }
            }
            Ok(taken)
        }
    }
}

/// What magnifies a whole clip on a card.
pub(crate) enum Runner {
    /// Arrays without gaps, chunk by chunk.
    Whole(Box<ClipRunner>),
    /// Arrays of any strides, picture by picture.
    Pictures(Box<Session>),
}

impl Runner {
    pub(crate) fn new(
        plan: &Plan,
        device: Device,
        memory: Option<u64>,
        clip: &Clip,
        out: &Clip,
    ) -> Result<Self, Error> {
        let options = Options { device, memory, ..Options::default() };
        let context = context(device)?;
        Ok(if clip.is_dense() && out.is_dense() {
            Self::Whole(Box::new(ClipRunner::new(plan, &context, &options)?))
        } else {
            Self::Pictures(Box::new(Session::with_context(plan, &context, &options)?))
        })
    }

    /// Magnifies the clip that the runner was made for: upload, kernels and download overlap.
    ///
    /// # Safety
    /// As `magnify::run`.
    pub(crate) unsafe fn run(self, clip: &Clip, out: &Clip, progress: Option<Progress>) -> Result<(), Stop> {
        match self {
            Self::Whole(runner) => match clip.element() {
                // SAFETY: the caller's promise; both arrays are without gaps and of this element.
                Element::U8 => unsafe { whole::<u8>(*runner, clip, out, progress) },
                // SAFETY: as above: frames are of one of these two.
                _ => unsafe { whole::<u16>(*runner, clip, out, progress) },
            },
            // SAFETY: the caller's promise.
            Self::Pictures(session) => unsafe { pictures(*session, clip, out, progress) },
        }
    }
}

/// # Safety
/// As `magnify::run`; both arrays are without gaps and of samples of `T`.
unsafe fn whole<T: Sample>(
    mut runner: ClipRunner,
    clip: &Clip,
    out: &Clip,
    progress: Option<Progress>,
) -> Result<(), Stop> {
    let passes = if runner.needs_two_passes() { 2 } else { 1 };
    let total = (passes * clip.frames()) as u64;
    let mut watch = Watch::new(progress, Some(total));
    let mut done = 0;
    // SAFETY: the caller's promise.
    let (input, output) = unsafe { (clip.samples::<T>(), out.samples_mut::<T>()) };
    runner.run_watched(input, output, |frames| {
        done += frames as u64;
        Ok(watch.set(done, Some(total))?)
    })
}

/// # Safety
/// As `magnify::run`.
unsafe fn pictures(
    mut session: Session,
    clip: &Clip,
    out: &Clip,
    progress: Option<Progress>,
) -> Result<(), Stop> {
    let format = session.plan().source().format;
    let frames = clip.frames();
    let passes = if session.needs_two_passes() { 2 } else { 1 };
    let mut watch = Watch::new(progress, Some((passes * frames) as u64));
    let mut scratch = Scratch::default();
    if session.needs_two_passes() {
        for t in 0..frames {
            // SAFETY: the caller's promise.
            session.feed(&unsafe { clip.picture(t).view(format, &mut scratch.input, false)? })?;
            watch.step()?;
        }
        session.begin_render()?;
    }
    let mut taken = 0;
    for t in 0..frames {
        while session.is_full() {
            // SAFETY: the caller's promise.
            taken += usize::from(unsafe { take(&mut session, format, &out.picture(taken), &mut scratch)? });
        }
        // SAFETY: the caller's promise.
        session.feed(&unsafe { clip.picture(t).view(format, &mut scratch.input, false)? })?;
        watch.step()?;
    }
    session.flush()?;
    while taken < frames {
        // SAFETY: the caller's promise.
        taken += usize::from(unsafe { take(&mut session, format, &out.picture(taken), &mut scratch)? });
        watch.look()?;
    }
    Ok(())
}

/// Magnifies one picture on a session for single frames.
///
/// # Safety
/// As `magnify::push_picture`.
pub(crate) unsafe fn push_picture(
    session: &mut Session,
    format: PixelFormat,
    input: &Picture,
    output: &Picture,
    scratch: &mut Scratch,
    overlap: bool,
) -> Result<(), Error> {
    let Scratch { input: in_frame, output: out_frame, .. } = scratch;
    // SAFETY: the caller's promise; with `overlap` the view is of the scratch frame.
    let frame = unsafe { input.view(format, in_frame, overlap)? };
    // SAFETY: the caller's promise.
    match unsafe { output.view_mut(format) } {
        Some(view) => session.push(&frame, &mut view?),
        None => {
            let made = output.scratch(format, out_frame)?;
            session.push(&frame, &mut made.view_mut())?;
            match made.buffer() {
                // SAFETY: the caller's promise.
                Buffer::U8(v) => unsafe { output.scatter(v, 0..output.height()) },
                // SAFETY: the caller's promise.
                Buffer::U16(v) => unsafe { output.scatter(v, 0..output.height()) },
            }
            Ok(())
        }
    }
}
