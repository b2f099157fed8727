//! `magnify`: arrays in, arrays out.

use jnd::DeviceChoice;
use jnd::cuda::Placed;
use jnd::magnify::cuda::DeviceMagnifier;
use jnd::magnify::{Magnifier, Plan, Settings, Source};
use jnd::video::{Buffer, Frame, PixelFormat, PlaneMut, Rate};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arguments;
use crate::arrays::{Clip, Element, Order, Picture, Rank, as_array};
use crate::card;
use crate::errors::{array_error, array_type_error, device_error, from_magnify};
use crate::resident::{self, CardArray, DeviceArray};
use crate::settings::{rate_of, resolve};
use crate::watch::{Progress, Watch};

/// Frames of our own for pictures whose layout the engine cannot take.
#[derive(Default)]
pub(crate) struct Scratch {
    pub(crate) input: Option<Frame>,
    pub(crate) output: Option<Frame>,
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

/// Magnifies some pictures from picture `t` on, and says how many.
///
/// # Safety
/// As for [`run`].
unsafe fn push_batch(
    m: &mut Magnifier,
    format: PixelFormat,
    clip: &Clip,
    out: &Clip,
    t: usize,
    scratch: &mut Scratch,
) -> Result<usize, jnd::magnify::Error> {
    let these = t..clip.frames().min(t + m.batch());
    if these.len() > 1 && out.element() != Element::F32 && out.is_apart() {
        // SAFETY: the caller's promise.
        let frames = these.clone().map(|t| unsafe { clip.picture(t).dense_view(format) });
        let frames: Option<jnd::video::Result<Vec<_>>> = frames.collect();
        // SAFETY: the caller's promise; the ranges of these pictures do not meet.
        let targets = these.clone().map(|t| unsafe { out.picture(t).view_mut(format) });
        let targets: Option<jnd::video::Result<Vec<_>>> = targets.collect();
        if let (Some(frames), Some(targets)) = (frames, targets) {
            m.push_batch(&frames?, &mut targets?)?;
            return Ok(these.len());
        }
    }
    // SAFETY: the caller's promise.
    unsafe { push_picture(m, format, &clip.picture(t), &out.picture(t), scratch, false)? };
    Ok(1)
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
    let mut m = Magnifier::for_clip(plan, options)?;
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
        let mut t = 0;
        while t < clip.frames() {
            // SAFETY: the caller's promise.
            let n = unsafe { push_batch(&mut m, format, clip, out, t, &mut scratch)? };
            for _ in 0..n {
                watch.step()?;
            }
            t += n;
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
///     copied one at a time. An array on a card (PyTorch, CuPy, anything with ``__cuda_array_interface__`` or DLPack)
///     stays there: the work is done in its stream, and the result is on the card, too.
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
///     Where to compute. The result is the same. ``"auto"`` takes a card for clips of 64 MiB and more if one can be
///     used, else the processor (the logger ``jnd`` says why at level ``INFO``); a named device is used or is an error
///     that says why not. float32 results are the processor's.
/// threads : int, optional
///     Threads that compute; all processors by default. The result does not depend on it.
/// channels : {"rgb", "bgr"}
///     Order of the channels, in and out.
/// depth : int, optional
///     Bits of a sample of a uint16 clip, 9 to 16 (16 by default).
/// memory : int, optional
///     Most bytes to allocate for the ideal filter, which then works on strips of the picture, in more passes. On a
///     card: most bytes of its memory, for any filter; too little is an error.
/// progress : bool or callable, optional
///     ``True`` for a bar (needs tqdm), or a function that is called with the frames done and the frames in all, each
///     pass counted.
/// **settings
///     Changes to the preset; see ``Settings``.
///
/// Returns
/// -------
/// array
///     The magnified clip, of the frames' shape; a ``DeviceArray`` for frames on a card.
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
) -> PyResult<Bound<'py, PyAny>> {
    let settings = resolve(py, preset, settings)?;
    let device = arguments::device(py, device)?;
    let order = arguments::order(py, channels)?;
    let options = arguments::options(arguments::threads(threads)?, memory);
    if resident::is_on_card(frames) {
        let rate = rate_of(fps, "fps")?;
        let dtype = arguments::dtype(py, dtype)?;
        return magnify_resident(py, frames, &settings, rate, out, dtype, device, order, depth, memory);
    }
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
    let worth = clip.bytes() >= card::WORTH;
    let device = match device {
        DeviceChoice::Cuda(_) if target.element() == Element::F32 => return Err(no_floats(py)),
        DeviceChoice::Auto if !worth => DeviceChoice::Cpu,
        DeviceChoice::Auto if target.element() == Element::F32 => {
            card::tell(py, NO_FLOATS)?;
            DeviceChoice::Cpu
        }
        asked => asked,
    };
    let placed = py.detach(|| device.place(|card| card::Runner::new(&plan, card, memory, &clip, &target)));
    let placed = placed.map_err(|e| from_magnify(py, e))?;
    let progress = Progress::new(py, progress)?;
    match placed {
        Placed::Card(runner) => {
            // SAFETY: as below.
            py.detach(|| unsafe { runner.run(&clip, &target, progress) })
                .map_err(|stop| stop.into_err(py))?;
            return Ok(result.into_any());
        }
        // No error where any device would do: the processor gives the same.
        Placed::Processor(Some(why)) => card::tell(py, &why.to_string())?,
        Placed::Processor(None) => {}
    }
    // SAFETY: `array` and `result` are held until the call returns; the output was checked to be writable and apart
    // from the frames; that other threads keep off is documented as the caller's part.
    py.detach(|| unsafe { run(plan, &options, &clip, &target, progress) })
        .map_err(|stop| stop.into_err(py))?;
    Ok(result.into_any())
}

/// Why a card is not used for results in floats.
const NO_FLOATS: &str = "float32 results are computed on the processor alone";

pub(crate) fn no_floats(py: Python<'_>) -> PyErr {
    device_error(py, format!("{NO_FLOATS}; use device=\"cpu\" or \"auto\""))
}

/// Frames on a card, checked and ready.
pub(crate) struct Resident<'py> {
    pub(crate) input: CardArray,
    pub(crate) frames: jnd::magnify::cuda::DeviceFrames,
    pub(crate) source: Source,
    pub(crate) context: jnd_cuda::Context,
    pub(crate) result: Bound<'py, PyAny>,
    pub(crate) target: jnd::magnify::cuda::DeviceFrames,
}

/// Reads frames on a card, and makes or checks the place of the result.
pub(crate) fn read_resident<'py>(
    py: Python<'py>,
    object: &Bound<'py, PyAny>,
    rank: Rank,
    rate: Rate,
    out: Option<&Bound<'py, PyAny>>,
    dtype: Option<Element>,
    device: DeviceChoice,
    order: Order,
    depth: Option<&Bound<'py, PyAny>>,
) -> PyResult<Resident<'py>> {
    let what = if rank == Rank::Clip { "frames" } else { "frame" };
    let input = CardArray::new(object, what)?;
    match device {
        DeviceChoice::Auto => {}
        DeviceChoice::Cuda(n) if n == input.device => {}
        _ => {
            let text = format!(
                "{what} are on cuda:{0}, so that device must be \"auto\" or \"cuda:{0}\"",
                input.device
            );
            return Err(device_error(py, text));
        }
    }
    match dtype {
        Some(Element::F32) => return Err(no_floats(py)),
        other => arguments::result_element(py, other, input.element)?,
    };
    let depth = arguments::depth(py, depth, input.element)?;
    let (format, height, width, frames) = input.frames(py, what, rank, order, depth)?;
    let context = resident::context(py, input.device)?;
    let count = (rank == Rank::Clip).then_some(frames.count as u64);
    let source = Source { format, width, height, rate, frames: count };
    let (result, output) = match out.filter(|o| !o.is_none()) {
        None => {
            let made = Bound::new(py, input.like(py, &context)?)?;
            let output = DeviceArray::card_array(&made);
            (made.into_any(), output)
        }
        Some(out) if resident::is_on_card(out) => {
            let output = CardArray::new(out, "out")?;
            input.check_out(py, &output)?;
            (out.clone(), output)
        }
        Some(out) => {
            let text = format!(
                "{what} are on cuda:{}, but out is a {}; pass an array there",
                input.device,
                out.get_type()
            );
            return Err(array_type_error(py, text));
        }
    };
    let (out_format, _, _, target) = output.frames(py, "out", rank, order, depth)?;
    if out_format != format {
        let text =
            "out has another layout than the frames (channels last or channels first); make them alike";
        return Err(array_error(py, text.into()));
    }
    Ok(Resident { input, frames, source, context, result, target })
}

/// Frames that are on a card stay there.
fn magnify_resident<'py>(
    py: Python<'py>,
    object: &Bound<'py, PyAny>,
    settings: &Settings,
    rate: Rate,
    out: Option<&Bound<'py, PyAny>>,
    dtype: Option<Element>,
    device: DeviceChoice,
    order: Order,
    depth: Option<&Bound<'py, PyAny>>,
    memory: Option<u64>,
) -> PyResult<Bound<'py, PyAny>> {
    let r = read_resident(py, object, Rank::Clip, rate, out, dtype, device, order, depth)?;
    let plan = Plan::new(settings, &r.source).map_err(|e| from_magnify(py, e))?;
    let (context, frames, target, stream) = (&r.context, r.frames, r.target, r.input.stream);
    py.detach(|| -> Result<(), jnd::magnify::Error> {
        let mut m = DeviceMagnifier::new(&plan, context, 0, memory)?;
        let stream = resident::stream(context, stream);
        // SAFETY: the arrays are held until the call returns, which is after the stream has passed the work; their
        // geometry is what their owner says; in place or apart was checked; the stream is the owner's, so that what it
        // queued before is done first.
        unsafe {
            if m.needs_two_passes() {
                m.observe(&stream, &frames)?;
                m.begin_render()?;
            }
            m.push(&stream, &frames, &target)?;
        }
        // The magnifier's own memory goes away with it.
        stream.synchronize()?;
        Ok(())
    })
    .map_err(|e| from_magnify(py, e))?;
    Ok(r.result)
}
