//! Frames that are on a card already, from whoever put them there (PyTorch, CuPy, ...): read and written in place, on the
//! caller's stream.

use jnd::magnify::cuda::{DeviceFrames, DevicePlane};
use jnd::video::{Layout, PixelFormat};
use jnd_cuda::{Context, Device, DeviceBuffer, Event, Stream};
use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};

use crate::arrays::{Element, Order, Rank};
use crate::card;
use crate::dlpack;
use crate::errors::{array_error, array_type_error, device_error};

/// CUDA's number for the legacy default stream.
const LEGACY: usize = 1;

/// An array on a card.
pub(crate) struct CardArray {
    ptr: u64,
    pub(crate) shape: Vec<usize>,
    /// In bytes.
    strides: Vec<isize>,
    pub(crate) element: Element,
    pub(crate) device: usize,
    /// The stream that its owner works on.
    pub(crate) stream: usize,
    /// Whatever keeps the memory alive during the call.
    _keep: Py<PyAny>,
}

/// Whether an object's memory is on a card, by the protocols that say so.
pub(crate) fn is_on_card(object: &Bound<'_, PyAny>) -> bool {
    object.hasattr("__cuda_array_interface__").unwrap_or(false)
        || dlpack_device(object).is_some_and(|(kind, _)| kind == dlpack::CUDA)
}

fn dlpack_device(object: &Bound<'_, PyAny>) -> Option<(i32, i32)> {
    object.call_method0("__dlpack_device__").ok()?.extract().ok()
}

/// The stream that PyTorch works on now, where the object is its; its arrays do not say.
fn torch_stream(object: &Bound<'_, PyAny>, device: usize) -> Option<usize> {
    let module = object.get_type().getattr("__module__").ok()?.extract::<String>().ok()?;
    if module.split('.').next() != Some("torch") {
        return None;
    }
    let torch = object.py().import("torch").ok()?;
    let stream = torch.getattr("cuda").ok()?.call_method1("current_stream", (device,)).ok()?;
    stream.getattr("cuda_stream").ok()?.extract::<usize>().ok().map(|s| if s == 0 { LEGACY } else { s })
}

fn element_of(py: Python<'_>, what: &str, kind: char, bytes: usize) -> PyResult<Element> {
    match (kind, bytes) {
        ('u', 1) => Ok(Element::U8),
        ('u', 2) => Ok(Element::U16),
        _ => {
            let text = format!(
                "{what}: an array on a card holds samples of kind {kind}{}, which must be uint8 or uint16 (float32 results are computed on the processor)",
                8 * bytes
            );
            Err(array_type_error(py, text))
        }
    }
}

impl CardArray {
    pub(crate) fn new(object: &Bound<'_, PyAny>, what: &str) -> PyResult<Self> {
        let py = object.py();
        let device = usize::try_from(dlpack_device(object).map_or(0, |d| d.1)).unwrap_or(0);
        let stream = torch_stream(object, device);
        if let Ok(interface) = object.getattr("__cuda_array_interface__") {
            let interface = interface.cast_into::<PyDict>()?;
            let item = |name: &str| -> PyResult<Bound<'_, PyAny>> {
                interface.get_item(name)?.ok_or_else(|| {
                    array_error(py, format!("{what}: its __cuda_array_interface__ has no {name}"))
                })
            };
            let shape = item("shape")?.extract::<Vec<usize>>()?;
            let typestr = item("typestr")?.extract::<String>()?;
            let (ptr, _read_only) = item("data")?.extract::<(u64, bool)>()?;
            let mut chars = typestr.chars();
            let (order, kind) = (chars.next().unwrap_or(' '), chars.next().unwrap_or(' '));
            let bytes: usize = chars.as_str().parse().unwrap_or(0);
            let element = element_of(py, what, kind, bytes)?;
            if order == '>' {
                let text = format!("{what} holds {typestr} samples; swap the bytes first");
                return Err(array_type_error(py, text));
            }
            if interface.get_item("mask")?.is_some_and(|m| !m.is_none()) {
                return Err(array_error(py, format!("{what} has a mask; frames have none")));
            }
            let given = interface.get_item("strides")?.filter(|s| !s.is_none());
            let strides = match given {
                Some(s) => s.extract::<Vec<isize>>()?,
                None => dense_strides(&shape, element),
            };
            let said = interface.get_item("stream")?.filter(|s| !s.is_none());
            let said = said.map(|s| s.extract::<usize>()).transpose()?;
            return Ok(Self {
                ptr,
                shape,
                strides,
                element,
                device,
                stream: said.or(stream).unwrap_or(LEGACY),
                _keep: object.clone().unbind(),
            });
        }
        let stream = stream.unwrap_or(LEGACY);
        let keywords = PyDict::new(py);
        keywords.set_item("stream", stream)?;
        let capsule = object.call_method("__dlpack__", (), Some(&keywords))?;
        let tensor = dlpack::read(&capsule)
            .ok_or_else(|| array_error(py, format!("{what}: its DLPack capsule cannot be read")))?;
        let kind = if tensor.code == dlpack::UINT && tensor.lanes == 1 { 'u' } else { '?' };
        let element = element_of(py, what, kind, usize::from(tensor.bits) / 8)?;
        let strides = match tensor.strides {
            Some(s) => s.iter().map(|&s| s as isize * element.bytes() as isize).collect(),
            None => dense_strides(&tensor.shape, element),
        };
        Ok(Self {
            ptr: tensor.ptr,
            shape: tensor.shape,
            strides,
            element,
            device: tensor.device,
            stream,
            // The tensor goes back to its owner with the capsule.
            _keep: capsule.unbind(),
        })
    }

    /// What the array is as frames: layout, height, width, planes.
    pub(crate) fn frames(
        &self,
        py: Python<'_>,
        what: &str,
        rank: Rank,
        order: Order,
        depth: u8,
    ) -> PyResult<(PixelFormat, usize, usize, DeviceFrames)> {
        let e = self.element.bytes();
        let lead = usize::from(rank == Rank::Clip);
        let fail = |why: &str| {
            array_error(
                py,
                format!("{what} of shape {:?} and strides {:?} on a card: {why}", self.shape, self.strides),
            )
        };
        let channels = match self.shape.len().checked_sub(lead) {
            Some(2) => 1,
            Some(3) if matches!(self.shape[lead + 2], 1 | 3) => self.shape[lead + 2],
            _ => return Err(fail("it must be frames of (H, W, 3) or (H, W), with T before them for a clip")),
        };
        let (count, frame) = if lead == 1 { (self.shape[0], self.strides[0]) } else { (1, 0) };
        let (height, width) = (self.shape[lead], self.shape[lead + 1]);
        if count == 0 || height == 0 || width == 0 || self.strides.len() != self.shape.len() {
            return Err(fail("it is empty"));
        }
        let (step_y, step_x) = (self.strides[lead], self.strides[lead + 1]);
        let step_c = if channels == 3 { self.strides[lead + 2] } else { e as isize };
        let apart = |step: usize| width == 1 || step_x == step as isize;
        let planar = channels == 3 && step_c != e as isize;
        let row = if planar { width * e } else { width * channels * e };
        if !apart(if planar { e } else { channels * e }) {
            return Err(fail("pixels of a row must follow each other; make it contiguous first"));
        }
        let positive = |step: isize, n: usize| if n == 1 { Some(0) } else { usize::try_from(step).ok() };
        let (Some(pitch), Some(frame)) = (positive(step_y, height), positive(frame, count)) else {
            return Err(fail("strides must not be negative; make it contiguous first"));
        };
        let pitch = if height == 1 { row } else { pitch };
        let plane =
            |c: isize| DevicePlane { ptr: self.ptr.wrapping_add_signed((c * step_c) as i64), pitch, frame };
        let (layout, planes) = if channels == 1 {
            (Layout::Gray, [plane(0), DevicePlane::default(), DevicePlane::default()])
        } else if planar {
            // Planes in the order G, B, R.
            let (r, b) = if order == Order::Rgb { (0, 2) } else { (2, 0) };
            (Layout::Gbr, [plane(1), plane(b), plane(r)])
        } else {
            let layout = if order == Order::Rgb { Layout::Rgb } else { Layout::Bgr };
            (layout, [plane(0), DevicePlane::default(), DevicePlane::default()])
        };
        let format = PixelFormat::new(layout, depth).map_err(|e| array_error(py, e.to_string()))?;
        Ok((format, height, width, DeviceFrames { planes, count }))
    }

    /// First and last byte.
    fn extent(&self) -> (i64, i64) {
        let (mut low, mut high) = (self.ptr as i64, self.ptr as i64 + self.element.bytes() as i64 - 1);
        for (&n, &step) in self.shape.iter().zip(&self.strides) {
            let reach = (n as i64 - 1) * step as i64;
            if reach < 0 { low += reach } else { high += reach }
        }
        (low, high)
    }

    /// Checks that an array can take this one's result.
    pub(crate) fn check_out(&self, py: Python<'_>, out: &Self) -> PyResult<()> {
        if out.shape != self.shape || out.element != self.element || out.device != self.device {
            let of = |a: &Self| format!("{:?} {} on cuda:{}", a.shape, a.element.name(), a.device);
            let text = format!("out is {}, but must be {} as the frames are", of(out), of(self));
            return Err(array_error(py, text));
        }
        let same = out.ptr == self.ptr && out.strides == self.strides;
        let ((a, b), (c, d)) = (self.extent(), out.extent());
        if a <= d && c <= b && !same {
            let text = "out and frames overlap in the card's memory; pass the frames themselves, or an array of its own";
            return Err(array_error(py, text.into()));
        }
        Ok(())
    }

    /// A new array of the same shape and layout.
    pub(crate) fn like(&self, py: Python<'_>, context: &Context) -> PyResult<DeviceArray> {
        let bytes: usize = self.shape.iter().product::<usize>() * self.element.bytes();
        let buffer = DeviceBuffer::new(context, bytes).map_err(|e| device_error(py, e.to_string()))?;
        // Dense, with the axes in the order in which they lie here.
        let mut axes: Vec<usize> = (0..self.shape.len()).collect();
        axes.sort_by_key(|&a| {
            std::cmp::Reverse(self.strides[a].unsigned_abs().max(1) * usize::from(self.shape[a] > 1))
        });
        let mut strides = vec![0isize; axes.len()];
        let mut step = self.element.bytes() as isize;
        for &a in axes.iter().rev() {
            strides[a] = step;
            step *= self.shape[a] as isize;
        }
        Ok(DeviceArray {
            buffer,
            shape: self.shape.clone(),
            strides,
            element: self.element,
            device: self.device,
            stream: self.stream,
        })
    }
}

fn dense_strides(shape: &[usize], element: Element) -> Vec<isize> {
    let mut strides = vec![element.bytes() as isize; shape.len()];
    for a in (0..shape.len().saturating_sub(1)).rev() {
        strides[a] = strides[a + 1] * shape[a + 1] as isize;
    }
    strides
}

/// The context of an array's device.
pub(crate) fn context(py: Python<'_>, device: usize) -> PyResult<Context> {
    card::context(Device(device)).map_err(|e| device_error(py, e.to_string()))
}

/// The caller's stream.
pub(crate) fn stream(context: &Context, raw: usize) -> Stream {
    // SAFETY: the array's owner works on that stream of the device's primary context, which PyTorch, CuPy and the
    // CUDA runtime use; it outlives the call, and results name it as theirs.
    unsafe { Stream::borrowed(context, raw) }
}

/// An array on a card. Made by ``magnify`` and ``Magnifier.push`` from frames on a card.
///
/// It offers its memory by ``__cuda_array_interface__`` and DLPack: ``torch.as_tensor(a)``, ``cupy.asarray(a)``,
/// ``torch.from_dlpack(a)``; nothing is copied. Work that fills it is in the stream of the frames it came from.
#[pyclass(frozen, weakref, module = "jnd", name = "DeviceArray")]
pub(crate) struct DeviceArray {
    buffer: DeviceBuffer,
    shape: Vec<usize>,
    strides: Vec<isize>,
    element: Element,
    device: usize,
    stream: usize,
}

impl DeviceArray {
    /// The array as a place for results.
    pub(crate) fn card_array(slf: &Bound<'_, Self>) -> CardArray {
        let a = slf.get();
        CardArray {
            ptr: a.buffer.ptr(),
            shape: a.shape.clone(),
            strides: a.strides.clone(),
            element: a.element,
            device: a.device,
            stream: a.stream,
            _keep: slf.clone().into_any().unbind(),
        }
    }
}

#[pymethods]
impl DeviceArray {
    /// Shape.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.shape)
    }

    /// Type of the samples, ``"uint8"`` or ``"uint16"``.
    #[getter]
    fn dtype(&self) -> &'static str {
        self.element.name()
    }

    /// The card, ``"cuda:0"``.
    #[getter]
    fn device(&self) -> String {
        format!("cuda:{}", self.device)
    }

    /// Bytes.
    #[getter]
    fn nbytes(&self) -> usize {
        self.buffer.bytes()
    }

    /// A copy in host memory; waits for the work that fills the array.
    fn numpy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let context = context(py, self.device)?;
        let bytes = py
            .detach(|| -> jnd_cuda::Result<Vec<u8>> {
                let mut bytes = vec![0u8; self.buffer.bytes()];
                let stream = stream(&context, self.stream);
                // SAFETY: both have that many bytes, and the wait below comes before anyone looks.
                unsafe { stream.download(bytes.as_mut_ptr(), self.buffer.ptr(), bytes.len())? };
                stream.synchronize()?;
                Ok(bytes)
            })
            .map_err(|e| device_error(py, e.to_string()))?;
        let keywords = PyDict::new(py);
        keywords.set_item("dtype", self.element.name())?;
        keywords.set_item("buffer", pyo3::types::PyByteArray::new(py, &bytes))?;
        keywords.set_item("strides", PyTuple::new(py, &self.strides)?)?;
        let shape = PyTuple::new(py, &self.shape)?;
        py.import("numpy")?.getattr("ndarray")?.call((shape,), Some(&keywords))
    }

    #[getter]
    fn __cuda_array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let d = PyDict::new(py);
        d.set_item("shape", PyTuple::new(py, &self.shape)?)?;
        let typestr = if self.element == Element::U8 { "|u1" } else { "<u2" };
        d.set_item("typestr", PyString::new(py, typestr))?;
        d.set_item("data", (self.buffer.ptr(), false))?;
        d.set_item("strides", PyTuple::new(py, &self.strides)?)?;
        d.set_item("version", 3)?;
        d.set_item("stream", self.stream)?;
        Ok(d)
    }

    fn __dlpack_device__(&self) -> (i32, i32) {
        (dlpack::CUDA, i32::try_from(self.device).unwrap_or(0))
    }

    /// The array as a DLPack capsule, ordered for the consumer's stream.
    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        slf: &Bound<'py, Self>,
        stream: Option<isize>,
        max_version: Option<Bound<'py, PyAny>>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let me = slf.get();
        // Only the first version of the protocol is spoken, which every consumer takes.
        let _ = max_version;
        if dl_device.is_some_and(|d| d != me.__dlpack_device__()) || copy == Some(true) {
            return Err(PyBufferError::new_err("the array is offered where it is, without a copy"));
        }
        let theirs = stream.unwrap_or(LEGACY as isize);
        // -1 asks for no ordering.
        if theirs >= 0 && theirs as usize != me.stream {
            let context = context(py, me.device)?;
            let order = || -> jnd_cuda::Result<()> {
                let done = Event::new(&context)?;
                self::stream(&context, me.stream).record(&done)?;
                self::stream(&context, theirs as usize).wait(&done)
            };
            order().map_err(|e| device_error(py, e.to_string()))?;
        }
        let e = me.element.bytes() as isize;
        dlpack::offer(
            py,
            dlpack::Tensor {
                ptr: me.buffer.ptr(),
                device: me.device,
                code: dlpack::UINT,
                bits: (8 * e) as u8,
                lanes: 1,
                shape: me.shape.clone(),
                strides: Some(me.strides.iter().map(|&s| (s / e) as i64).collect()),
            },
            slf.clone().into_any().unbind(),
        )
    }

    fn __repr__(&self) -> String {
        format!(
            "DeviceArray(shape={:?}, dtype={}, device=cuda:{})",
            self.shape,
            self.element.name(),
            self.device
        )
    }
}
