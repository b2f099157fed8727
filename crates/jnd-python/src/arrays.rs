//! Arrays that NumPy owns, read and written where they lie.
//!
//! An array is taken as `(T, H, W, 3)`, `(T, H, W)`, `(H, W, 3)` or `(H, W)` with any strides. A picture whose rows
//! are dense is handed to the engine as it is. One that is not (a flipped or stepped view, a channel-first array,
//! samples at an odd address) is copied, one picture at a time, to a scratch frame and back; a clip never is.

use std::ops::Range;

use jnd::video::{
    Buffer, Frame, FrameMut, FrameRef, Layout, PixelFormat, Plane, PlaneMut, Planes, PlanesMut,
};
use numpy::{PyArrayDyn, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::errors::{array_error, array_type_error};

/// What an element of an array is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Element {
    U8,
    U16,
    F32,
}

impl Element {
    pub(crate) fn bytes(self) -> usize {
        match self {
            Self::U8 => 1,
            Self::U16 => 2,
            Self::F32 => 4,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::U8 => "uint8",
            Self::U16 => "uint16",
            Self::F32 => "float32",
        }
    }
}

/// Whether an argument is a whole clip or one frame of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rank {
    Clip,
    Frame,
}

/// What channel comes first in an array of colour frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    Rgb,
    Bgr,
}

/// One picture in memory that NumPy owns. Strides are in bytes, as NumPy counts them, and may be negative.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Picture {
    base: *mut u8,
    element: Element,
    height: usize,
    width: usize,
    /// 3, or 1 for gray.
    channels: usize,
    step_y: isize,
    step_x: isize,
    step_c: isize,
}

/// A clip in memory that NumPy owns: pictures at equal distances. A single frame is a clip of one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clip {
    first: Picture,
    frames: usize,
    step_t: isize,
}

// SAFETY: a clip is an address and numbers. The array behind it outlives every use: each entry point holds a
// reference to it until the call returns, and NumPy neither moves nor frees (`resize` refuses) an array that is
// referenced. That no other Python thread writes to it meanwhile is the caller's part, as for any NumPy function.
unsafe impl Send for Clip {}
// SAFETY: as above; reading through `&Clip` is what several threads may do at once.
unsafe impl Sync for Clip {}
// SAFETY: as above.
unsafe impl Send for Picture {}
// SAFETY: as above.
unsafe impl Sync for Picture {}

fn shape_text(shape: &[usize]) -> String {
    let inner: Vec<String> = shape.iter().map(usize::to_string).collect();
    if shape.len() == 1 { format!("({},)", inner[0]) } else { format!("({})", inner.join(", ")) }
}

/// `object` as a NumPy array, without a copy where it is one or offers its memory.
pub(crate) fn as_array<'py>(object: &Bound<'py, PyAny>, what: &str) -> PyResult<Bound<'py, PyUntypedArray>> {
    if let Ok(array) = object.cast::<PyUntypedArray>() {
        return Ok(array.clone());
    }
    let py = object.py();
    if object.is_instance_of::<PyString>() || object.hasattr("__fspath__")? {
        let text = format!("{what}: a path is not an array; jnd.magnify_file reads and writes files");
        return Err(array_type_error(py, text));
    }
    let made = py.import("numpy")?.call_method1("asarray", (object,)).map_err(|e| {
        let err = array_type_error(py, format!("{what}: a {} cannot be read as an array", object.get_type()));
        err.set_cause(py, Some(e));
        err
    })?;
    Ok(made.cast_into::<PyUntypedArray>()?)
}

impl Clip {
    /// Reads the geometry of an array; `what` is its name in messages. `floats` is whether float32 is accepted
    /// (results) or not (frames).
    pub(crate) fn new(
        array: &Bound<'_, PyUntypedArray>,
        what: &str,
        rank: Rank,
        floats: bool,
    ) -> PyResult<Self> {
        let py = array.py();
        let (element, base) = element_of(array, what, floats)?;
        let (shape, strides) = (array.shape(), array.strides());
        let (lead, wanted) = match rank {
            Rank::Clip => (1, "(T, H, W, 3) for colour or (T, H, W) for gray"),
            Rank::Frame => (0, "(H, W, 3) for colour or (H, W) for gray"),
        };
        let fail = |why: &str| {
            array_error(py, format!("{what} has shape {}: {why}; it must be {wanted}", shape_text(shape)))
        };
        let (channels, step_c) = match shape.len().checked_sub(lead) {
            Some(2) => (1, element.bytes() as isize),
            Some(3) => match shape[lead + 2] {
                3 => (3, strides[lead + 2]),
                1 => (1, element.bytes() as isize),
                4 => {
                    return Err(fail("a fourth channel (alpha) is not magnified, pass frames[..., :3]"));
                }
                n => return Err(fail(&format!("the last axis holds {n} channels"))),
            },
            _ => return Err(fail(&format!("{} axes", shape.len()))),
        };
        let (height, width) = (shape[lead], shape[lead + 1]);
        if height == 0 || width == 0 {
            return Err(fail("a frame without pixels"));
        }
        let (frames, step_t) = match rank {
            Rank::Clip => (shape[0], strides[0]),
            Rank::Frame => (1, 0),
        };
        if frames == 0 {
            return Err(fail("a clip without frames"));
        }
        jnd::video::check_size(width, height).map_err(|e| array_error(py, format!("{what}: {e}")))?;
        let (step_y, step_x) = (strides[lead], strides[lead + 1]);
        let first = Picture { base, element, height, width, channels, step_y, step_x, step_c };
        Ok(Self { first, frames, step_t })
    }

    pub(crate) fn frames(&self) -> usize {
        self.frames
    }

    /// Bytes of all samples.
    pub(crate) fn bytes(&self) -> usize {
        self.frames * self.first.height * self.first.row() * self.first.element.bytes()
    }

    pub(crate) fn height(&self) -> usize {
        self.first.height
    }

    pub(crate) fn width(&self) -> usize {
        self.first.width
    }

    pub(crate) fn channels(&self) -> usize {
        self.first.channels
    }

    pub(crate) fn element(&self) -> Element {
        self.first.element
    }

    /// Picture `t`.
    pub(crate) fn picture(&self, t: usize) -> Picture {
        debug_assert!(t < self.frames);
        Picture { base: self.first.base.wrapping_offset(t as isize * self.step_t), ..self.first }
    }

    /// Whether the samples follow each other without gaps, aligned.
    pub(crate) fn is_dense(&self) -> bool {
        let p = &self.first;
        let frame = (p.row() * p.height * p.element.bytes()) as isize;
        p.dense_stride() == Some(p.row()) && (self.frames == 1 || self.step_t == frame)
    }

    /// All samples of a dense clip.
    ///
    /// # Safety
    /// The clip is dense, `T` is the element's type, the array lives for `'a` and nobody writes to it meanwhile.
    pub(crate) unsafe fn samples<'a, T>(&self) -> &'a [T] {
        debug_assert!(self.is_dense() && size_of::<T>() == self.first.element.bytes());
        // SAFETY: the geometry is NumPy's own; the rest is the caller's promise.
        unsafe { std::slice::from_raw_parts(self.first.base.cast::<T>(), self.bytes() / size_of::<T>()) }
    }

    /// As [`Self::samples`], to write to.
    ///
    /// # Safety
    /// As there, and nobody reads either.
    pub(crate) unsafe fn samples_mut<'a, T>(&self) -> &'a mut [T] {
        debug_assert!(self.is_dense() && size_of::<T>() == self.first.element.bytes());
        // SAFETY: as in `samples`.
        unsafe { std::slice::from_raw_parts_mut(self.first.base.cast::<T>(), self.bytes() / size_of::<T>()) }
    }

    /// The first and the last byte's address.
    fn extent(&self) -> (isize, isize) {
        let p = &self.first;
        let axes =
            [(self.frames, self.step_t), (p.height, p.step_y), (p.width, p.step_x), (p.channels, p.step_c)];
        let (mut low, mut high) = (p.base as isize, p.base as isize + p.element.bytes() as isize - 1);
        for (n, step) in axes {
            let reach = (n as isize - 1) * step;
            if reach < 0 { low += reach } else { high += reach }
        }
        (low, high)
    }

    /// Whether each picture's range of addresses ends before the next one's begins.
    pub(crate) fn is_apart(&self) -> bool {
        let (low, high) = Self { frames: 1, ..*self }.extent();
        self.frames == 1 || self.step_t.abs() > high - low
    }

    /// Whether two clips may share bytes: their address ranges meet.
    pub(crate) fn may_overlap(&self, other: &Self) -> bool {
        let ((a, b), (c, d)) = (self.extent(), other.extent());
        a <= d && c <= b
    }

    /// Whether some axis of more than one entry has no step, so that writing one entry would change another.
    pub(crate) fn repeats(&self) -> bool {
        let p = &self.first;
        [(self.frames, self.step_t), (p.height, p.step_y), (p.width, p.step_x), (p.channels, p.step_c)]
            .iter()
            .any(|&(n, step)| n > 1 && step == 0)
    }
}

fn element_of(array: &Bound<'_, PyUntypedArray>, what: &str, floats: bool) -> PyResult<(Element, *mut u8)> {
    if let Ok(a) = array.cast::<PyArrayDyn<u8>>() {
        return Ok((Element::U8, a.data()));
    }
    if let Ok(a) = array.cast::<PyArrayDyn<u16>>() {
        return Ok((Element::U16, a.data().cast()));
    }
    if floats && let Ok(a) = array.cast::<PyArrayDyn<f32>>() {
        return Ok((Element::F32, a.data().cast()));
    }
    let name = array.dtype().str()?.to_string();
    let advice = match name.as_str() {
        "float16" | "float32" | "float64" if !floats => {
            "for values from 0 to 1 pass (frames * 255).round().astype('uint8')"
        }
        "bool" => "pass frames.astype('uint8') * 255",
        _ if name.starts_with(['>', '<']) => "swap the bytes first, with .astype('uint16')",
        _ => "convert it first",
    };
    let wanted = if floats { "uint8, uint16 or float32" } else { "uint8 or uint16" };
    Err(array_type_error(
        array.py(),
        format!("{what} holds {name} samples, which must be {wanted} ({advice})"),
    ))
}

impl Picture {
    /// Samples in a row.
    pub(crate) fn row(&self) -> usize {
        self.width * self.channels
    }

    pub(crate) fn height(&self) -> usize {
        self.height
    }

    pub(crate) fn element(&self) -> Element {
        self.element
    }

    /// The distance of rows in samples, where pixels of a row follow each other and every sample is aligned.
    pub(crate) fn dense_stride(&self) -> Option<usize> {
        let size = self.element.bytes();
        let inner = (self.width == 1 || self.step_x == (self.channels * size) as isize)
            && (self.channels == 1 || self.step_c == size as isize);
        let aligned = (self.base as usize).is_multiple_of(size);
        if !inner || !aligned {
            return None;
        }
        if self.height == 1 {
            return Some(self.row());
        }
        let step = usize::try_from(self.step_y).ok()?;
        (step.is_multiple_of(size) && step / size >= self.row()).then(|| step / size)
    }

    /// Samples from the first to the last of a dense picture, gaps between the rows included.
    fn span(&self, stride: usize) -> usize {
        (self.height - 1) * stride + self.row()
    }

    /// The samples of a dense picture.
    ///
    /// # Safety
    /// `T` is the element's type, `stride` came from [`Self::dense_stride`], the array lives for `'a` and nobody
    /// writes to it meanwhile.
    unsafe fn samples<'a, T>(&self, stride: usize) -> &'a [T] {
        // SAFETY: the geometry is NumPy's own, all of the span lies in its allocation, and the caller promises the
        // rest.
        unsafe { std::slice::from_raw_parts(self.base.cast::<T>(), self.span(stride)) }
    }

    /// As [`Self::samples`], to write to.
    ///
    /// # Safety
    /// As there, and nobody reads either.
    pub(crate) unsafe fn samples_mut<'a, T>(&self, stride: usize) -> &'a mut [T] {
        // SAFETY: as in `samples`.
        unsafe { std::slice::from_raw_parts_mut(self.base.cast::<T>(), self.span(stride)) }
    }

    /// Copies the picture to dense rows.
    pub(crate) fn gather<T: Copy>(&self, to: &mut [T]) {
        for (y, row) in to.chunks_exact_mut(self.row()).take(self.height).enumerate() {
            self.gather_row(y, row);
        }
    }

    /// Copies row `y` to `row`; where that is longer, the last pixel is repeated.
    pub(crate) fn gather_row<T: Copy>(&self, y: usize, row: &mut [T]) {
        debug_assert!(size_of::<T>() == self.element.bytes() && y < self.height && row.len() >= self.row());
        let line = self.base.wrapping_offset(y as isize * self.step_y);
        let (row, rest) = row.split_at_mut(self.row());
        if self.dense_rows() {
            // SAFETY: the row's bytes lie in the array; `row` is memory of ours. Bytes need no alignment.
            unsafe {
                std::ptr::copy_nonoverlapping(line, row.as_mut_ptr().cast::<u8>(), size_of_val(row));
            }
        } else {
            for (x, pixel) in row.chunks_exact_mut(self.channels).enumerate() {
                let at = line.wrapping_offset(x as isize * self.step_x);
                for (c, sample) in pixel.iter_mut().enumerate() {
                    // SAFETY: indices below NumPy's shape with NumPy's strides stay in the array; the read makes no
                    // claim of alignment.
                    *sample =
                        unsafe { at.wrapping_offset(c as isize * self.step_c).cast::<T>().read_unaligned() };
                }
            }
        }
        let last = &row[self.row() - self.channels..];
        for pixel in rest.chunks_mut(self.channels) {
            pixel.copy_from_slice(&last[..pixel.len()]);
        }
    }

    /// Copies some of the dense rows of a whole picture to it.
    ///
    /// # Safety
    /// The array is writable and nobody else uses it meanwhile.
    pub(crate) unsafe fn scatter<T: Copy>(&self, from: &[T], rows: Range<usize>) {
        debug_assert_eq!(size_of::<T>(), self.element.bytes());
        let rows = rows.start..rows.end.min(self.height);
        for (y, row) in from.chunks_exact(self.row()).enumerate().take(rows.end).skip(rows.start) {
            let line = self.base.wrapping_offset(y as isize * self.step_y);
            if self.dense_rows() {
                // SAFETY: as in `gather`; the caller gives the right to write.
                unsafe { std::ptr::copy_nonoverlapping(row.as_ptr().cast::<u8>(), line, size_of_val(row)) };
                continue;
            }
            for (x, pixel) in row.chunks_exact(self.channels).enumerate() {
                let at = line.wrapping_offset(x as isize * self.step_x);
                for (c, sample) in pixel.iter().enumerate() {
                    // SAFETY: as above.
                    unsafe {
                        at.wrapping_offset(c as isize * self.step_c).cast::<T>().write_unaligned(*sample);
                    }
                }
            }
        }
    }

    fn dense_rows(&self) -> bool {
        let size = self.element.bytes();
        (self.width == 1 || self.step_x == (self.channels * size) as isize)
            && (self.channels == 1 || self.step_c == size as isize)
    }

    /// The picture as the engine reads it: where it lies, or gathered into `scratch`.
    ///
    /// # Safety
    /// The array lives for `'a` and nobody writes to it meanwhile.
    pub(crate) unsafe fn view<'a>(
        &self,
        format: PixelFormat,
        scratch: &'a mut Option<Frame>,
        force_copy: bool,
    ) -> jnd::video::Result<FrameRef<'a>> {
        // SAFETY: the caller's promise.
        if let (false, Some(view)) = (force_copy, unsafe { self.dense_view(format) }) {
            return view;
        }
        let frame = self.scratch(format, scratch)?;
        match frame.buffer_mut() {
            Buffer::U8(v) => self.gather(v),
            Buffer::U16(v) => self.gather(v),
        }
        Ok(frame.view())
    }

    /// The picture as a frame, where its rows are dense.
    ///
    /// # Safety
    /// The array lives for `'a` and nobody writes to it meanwhile.
    pub(crate) unsafe fn dense_view<'a>(
        &self,
        format: PixelFormat,
    ) -> Option<jnd::video::Result<FrameRef<'a>>> {
        let stride = self.dense_stride()?;
        let planes = match self.element {
            // SAFETY: the type is the element's, the stride is its own, the rest is the caller's promise.
            Element::U8 => self.planes(unsafe { self.samples(stride) }, stride).map(Planes::U8),
            // SAFETY: as above.
            _ => self.planes(unsafe { self.samples(stride) }, stride).map(Planes::U16),
        };
        Some(planes.and_then(|p| FrameRef::new(format, self.width, self.height, p)))
    }

    fn planes<'a, T>(&self, samples: &'a [T], stride: usize) -> jnd::video::Result<[Plane<'a, T>; 3]> {
        Ok([Plane::new(samples, self.row(), self.height, stride)?, Plane::empty(), Plane::empty()])
    }

    /// A frame of the picture's size, kept in `scratch` from call to call.
    pub(crate) fn scratch<'a>(
        &self,
        format: PixelFormat,
        scratch: &'a mut Option<Frame>,
    ) -> jnd::video::Result<&'a mut Frame> {
        let fits = scratch
            .as_ref()
            .is_some_and(|f| f.format() == format && (f.width(), f.height()) == (self.width, self.height));
        if !fits {
            *scratch = None;
        }
        match scratch {
            Some(frame) => Ok(frame),
            empty => Ok(empty.insert(Frame::new(format, self.width, self.height)?)),
        }
    }

    /// The picture as the engine writes it, where it lies; `None` where its rows are not dense.
    ///
    /// # Safety
    /// The array lives for `'a`, is writable, and nobody else uses it meanwhile.
    pub(crate) unsafe fn view_mut<'a>(
        &self,
        format: PixelFormat,
    ) -> Option<jnd::video::Result<FrameMut<'a>>> {
        fn planes<'a, T>(
            p: &Picture,
            samples: &'a mut [T],
            stride: usize,
        ) -> jnd::video::Result<[PlaneMut<'a, T>; 3]> {
            Ok([PlaneMut::new(samples, p.row(), p.height, stride)?, PlaneMut::empty(), PlaneMut::empty()])
        }
        let stride = self.dense_stride()?;
        let planes = match self.element {
            // SAFETY: the type is the element's, the stride is its own, the rest is the caller's promise.
            Element::U8 => planes(self, unsafe { self.samples_mut::<u8>(stride) }, stride).map(PlanesMut::U8),
            // SAFETY: as above.
            _ => planes(self, unsafe { self.samples_mut::<u16>(stride) }, stride).map(PlanesMut::U16),
        };
        Some(planes.and_then(|p| FrameMut::new(format, self.width, self.height, p)))
    }
}

/// The pixel format of frames of one or three channels.
pub(crate) fn format_of(channels: usize, order: Order, depth: u8) -> jnd::video::Result<PixelFormat> {
    let layout = match (channels, order) {
        (1, _) => Layout::Gray,
        (_, Order::Rgb) => Layout::Rgb,
        (_, Order::Bgr) => Layout::Bgr,
    };
    PixelFormat::new(layout, depth)
}
