//! `magnify`: arrays in, arrays out.

use jnd::magnify::{Magnifier, Plan};
use jnd::video::{Buffer, Frame, PixelFormat, PlaneMut};
use numpy::PyUntypedArray;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arguments;
use crate::arrays::{Clip, Element, Picture, Rank, as_array};
use crate::errors::{array_error, from_magnify};
use crate::settings::{rate_of, resolve};
use crate::watch::{Progress, Watch};

/// Frames of our own for pictures whose layout the engine cannot take.
#[derive(Default)]
pub(crate) struct Scratch {
    input: Option<Frame>,
    output: Option<Frame>,
    floats: Vec<f32>,
}

/// What ends a run early.
pub(crate) enum Stop {
    Magnify(jnd::magnify::Error),
    Python(PyErr),
}

impl From<jnd::magnify::Error> for Stop {
    fn from(e: jnd::magnify::Error) -> Self {
        Self::Magnify(e)
    }
}

impl From<jnd::video::Error> for Stop {
    fn from(e: jnd::video::Error) -> Self {
        Self::Magnify(e.into())
    }
}

impl From<PyErr> for Stop {
    fn from(e: PyErr) -> Self {
        Self::Python(e)
    }
}

impl Stop {
    pub(crate) fn into_err(self, py: Python<'_>) -> PyErr {
        match self {
            Self::Magnify(e) => from_magnify(py, e),
            Self::Python(e) => e,
        }
    }
}

/// Magnifies one picture.
///
/// # Safety
/// Both arrays live, the output is writable, and nobody else uses them meanwhile. They share no bytes, unless
/// `overlap` says that they may: the input is copied first then.
pub(crate) unsafe fn push_picture(
    m: &mut Magnifier,
    format: PixelFormat,
    input: &Picture,
    output: &Picture,
    scratch: &mut Scratch,
    overlap: bool,
) -> Result<(), jnd::magnify::Error> {
    let Scratch { input: in_frame, output: out_frame, floats } = scratch;
    // SAFETY: the caller's promise; with `overlap` the view is of the scratch frame.
    let frame = unsafe { input.view(format, in_frame, overlap)? };
    // Under a memory limit only the rows of the current strip are written.
    let rows = m.rows(0);
    if output.element() == Element::F32 {
        let (row, height) = (output.row(), output.height());
        match output.dense_stride() {
            Some(stride) => {
                // SAFETY: the caller's promise, and the elements are f32.
                let plane = PlaneMut::new(unsafe { output.samples_mut::<f32>(stride) }, row, height, stride)?;
                m.push_f32(&frame, &mut [plane, PlaneMut::empty(), PlaneMut::empty()])?;
            }
            None => {
                floats.resize(row * height, 0.0);
                let plane = PlaneMut::new(floats, row, height, row)?;
                m.push_f32(&frame, &mut [plane, PlaneMut::empty(), PlaneMut::empty()])?;
                // SAFETY: the caller's promise.
                unsafe { output.scatter(floats, rows) };
            }
        }
        return Ok(());
    }
    // SAFETY: the caller's promise.
    match unsafe { output.view_mut(format) } {
        Some(view) => m.push(&frame, &mut view?)?,
        None => {
            let made = output.scratch(format, out_frame)?;
            m.push(&frame, &mut made.view_mut())?;
            match made.buffer() {
                // SAFETY: the caller's promise.
                Buffer::U8(v) => unsafe { output.scatter(v, rows) },
                // SAFETY: the caller's promise.
                Buffer::U16(v) => unsafe { output.scatter(v, rows) },
            }
        }
    }
    Ok(())
}

/// Magnifies a whole clip: a loop over its frames, once for a causal filter, twice (or, under a memory limit, twice for
/// each strip) for the ideal one.
///
/// # Safety
/// Both arrays live, the output is writable, they share no bytes, and nobody else uses them meanwhile.
unsafe fn run(
    plan: Plan,
    options: &jnd::magnify::Options,
    clip: &Clip,
    out: &Clip,
    progress: Option<Progress>,
) -> Result<(), Stop> {
    let format = plan.source().format;
    let mut m = Magnifier::new(plan, options)?;
    let passes = if m.needs_two_passes() { 2 * m.strips() } else { 1 };
    let mut watch = Watch::new(progress, Some((passes * clip.frames()) as u64));
    let mut scratch = Scratch::default();
    loop {
        if m.needs_two_passes() {
            for t in 0..clip.frames() {
                // SAFETY: the caller's promise.
                m.observe(&unsafe { clip.picture(t).view(format, &mut scratch.input, false)? })?;
                watch.step()?;
            }
            m.begin_render()?;
        }
        for t in 0..clip.frames() {
            // SAFETY: the caller's promise.
            unsafe { push_picture(&mut m, format, &clip.picture(t), &out.picture(t), &mut scratch, false)? };
            watch.step()?;
        }
        if !m.next_strip()? {
            return Ok(());
        }
    }
}

/// Magnify changes in a clip that are too small to see.
///
/// Parameters
/// ----------
/// frames : array of uint8 or uint16, (T, H, W, 3) or (T, H, W)
///     The clip, colour or gray, with any strides. It is read where it lies; frames whose rows are not dense are
///     copied one at a time.
/// fps : float, int, Fraction or "num/den"
///     Frames a second.
/// preset : str or Settings, optional
///     What to start from: one of ``presets()``, or settings. ``"motion"`` by default.
/// out : array, optional
///     Filled with the result, which is then also returned. Of the frames' shape and type, or float32. It may have
///     any strides, but must not overlap the frames.
/// dtype : dtype, optional
///     ``"float32"`` gives the exact result, neither clamped nor rounded, where 1.0 is the largest sample.
/// device : {"auto", "cpu", "cuda", "cuda:N"}
///     Where to compute. The result is the same. ``"auto"`` falls back to the processor, a named device never does.
/// threads : int, optional
///     Threads that compute; all processors by default. The result does not depend on it.
/// channels : {"rgb", "bgr"}
///     Order of the channels, in and out.
/// depth : int, optional
///     Bits of a sample of a uint16 clip, 9 to 16 (16 by default).
/// memory : int, optional
///     Most bytes to allocate for the ideal filter, which then works on strips of the picture, in more passes.
/// progress : bool or callable, optional
///     ``True`` for a bar (needs tqdm), or a function that is called with the frames done and the frames in all, each
///     pass counted.
/// **settings
///     Changes to the preset; see ``Settings``.
///
/// Returns
/// -------
/// array
///     The magnified clip, of the frames' shape.
///
/// Raises
/// ------
/// SettingsError, ArrayError, ArrayTypeError, DeviceError, MemoryLimitError
///     Each names the value, what is legal, and what to do.
/// KeyboardInterrupt
///     Within a second of Ctrl-C; ``out`` is then partly written.
///
/// Notes
/// -----
/// Other Python threads run meanwhile. They must not write to ``frames`` or touch ``out``.
#[pyfunction]
#[pyo3(signature = (frames, *, fps, preset=None, out=None, dtype=None, device="auto", threads=None, channels="rgb", depth=None, memory=None, progress=None, **settings))]
pub(crate) fn magnify<'py>(
    py: Python<'py>,
    frames: &Bound<'py, PyAny>,
    fps: &Bound<'py, PyAny>,
    preset: Option<&Bound<'py, PyAny>>,
    out: Option<&Bound<'py, PyAny>>,
    dtype: Option<&Bound<'py, PyAny>>,
    device: &str,
    threads: Option<&Bound<'py, PyAny>>,
    channels: &str,
    depth: Option<&Bound<'py, PyAny>>,
    memory: Option<u64>,
    progress: Option<&Bound<'py, PyAny>>,
    settings: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyUntypedArray>> {
    let settings = resolve(py, preset, settings)?;
    arguments::device(py, device)?;
    let order = arguments::order(py, channels)?;
    let options = arguments::options(arguments::threads(threads)?, memory);
    let array = as_array(frames, "frames")?;
    let clip = Clip::new(&array, "frames", Rank::Clip, false)?;
    let depth = arguments::depth(py, depth, clip.element())?;
    let rate = rate_of(fps, "fps")?;
    let (source, _) = arguments::source(py, &clip, order, depth, rate, Some(clip.frames() as u64))?;
    let plan = Plan::new(&settings, &source).map_err(|e| from_magnify(py, e))?;
    let dtype = arguments::dtype(py, dtype)?;
    let (result, target) = arguments::output(py, out, dtype, &array, &clip, Rank::Clip)?;
    if clip.may_overlap(&target) {
        let text =
            "out and frames overlap in memory; pass an array of its own (Magnifier.push works in place)";
        return Err(array_error(py, text.into()));
    }
    let progress = Progress::new(py, progress)?;
    // SAFETY: `array` and `result` are held until the call returns; the output was checked to be writable and apart
    // from the frames; that other threads keep off is documented as the caller's part.
    py.detach(|| unsafe { run(plan, &options, &clip, &target, progress) })
        .map_err(|stop| stop.into_err(py))?;
    Ok(result)
}
