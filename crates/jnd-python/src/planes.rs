//! Clips to score: files, or planes in arrays.

use std::path::PathBuf;
use std::sync::Arc;

use jnd::score::Geometry;
use jnd::video::{
    Frame, FrameSource, Input, Layout, OpenOptions, PixelFormat, PlaneMut, PlanesMut, Rate, ReadAhead,
    StreamInfo,
};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};

use crate::arguments;
use crate::arrays::{Clip, Picture, Rank, as_array};
use crate::errors::{array_error, from_video};
use crate::job::Shared;

/// Planes of a clip or frame in arrays.
pub(crate) struct Planar {
    planes: Vec<Clip>,
    format: PixelFormat,
    width: usize,
    height: usize,
    /// The arrays, kept alive wherever the job goes.
    _arrays: Vec<Py<PyAny>>,
}

impl Planar {
    /// A gray array, or a tuple (y, u, v).
    pub(crate) fn new(
        object: &Bound<'_, PyAny>,
        what: &str,
        rank: Rank,
        depth: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let py = object.py();
        let parts: Vec<Bound<'_, PyAny>> = match object.cast::<PyTuple>() {
            Ok(tuple) => tuple.iter().collect(),
            Err(_) => vec![object.clone()],
        };
        if parts.len() != 1 && parts.len() != 3 {
            let text = format!("{what} has {} planes; give luma alone, or (y, u, v)", parts.len());
            return Err(array_error(py, text));
        }
        let mut planes = Vec::new();
        let mut arrays = Vec::new();
        for (part, name) in parts.iter().zip(["y", "u", "v"]) {
            let name = if parts.len() == 1 { what.to_owned() } else { format!("{what} ({name})") };
            let array = as_array(part, &name)?;
            let plane = Clip::new(&array, &name, rank, false)?;
            if plane.channels() != 1 {
                let text = format!(
                    "{name} is RGB, which cannot be scored; give luma, or a tuple (y, u, v) of planes"
                );
                return Err(array_error(py, text));
            }
            planes.push(plane);
            arrays.push(array.into_any().unbind());
        }
        let y = planes[0];
        let element = y.element();
        let depth = arguments::depth(py, depth, element)?;
        let layout = match planes.get(1) {
            None => Layout::Gray,
            Some(u) => {
                let v = planes[2];
                let alike = (u.width(), u.height(), u.frames(), u.element())
                    == (v.width(), v.height(), v.frames(), v.element())
                    && u.frames() == y.frames()
                    && u.element() == element;
                chroma_layout((y.width(), y.height()), (u.width(), u.height())).filter(|_| alike).ok_or_else(
                    || {
                        let of = |p: &Clip| {
                            format!("{} {}x{} {}", p.frames(), p.width(), p.height(), p.element().name())
                        };
                        let text = format!(
                            "{what}: planes of {}, {} and {} do not go together; chroma is of luma's size, or halved in width, or both ways",
                            of(&y),
                            of(u),
                            of(&v)
                        );
                        array_error(py, text)
                    },
                )?
            }
        };
        let format = PixelFormat::new(layout, depth).map_err(|e| from_video(py, e))?;
        Ok(Self { planes, format, width: y.width(), height: y.height(), _arrays: arrays })
    }

    fn frames(&self) -> usize {
        self.planes[0].frames()
    }

    /// Size and format.
    pub(crate) fn geometry(&self) -> Geometry {
        Geometry { format: self.format, width: self.width, height: self.height }
    }

    /// Copies frame `t`. Chroma that was halved downwards lacks the last column or row, which no score looks at: it is
    /// the one before repeated.
    pub(crate) fn copy(&self, t: usize, to: &mut Frame) {
        match to.view_mut().planes_mut() {
            PlanesMut::U8(to) => self.copy_planes(t, to),
            PlanesMut::U16(to) => self.copy_planes(t, to),
        }
    }

    fn copy_planes<T: Copy>(&self, t: usize, to: &mut [PlaneMut<'_, T>; 3]) {
        for (from, to) in self.planes.iter().zip(to) {
            let picture: Picture = from.picture(t);
            for y in 0..to.height() {
                picture.gather_row(y.min(picture.height() - 1), to.row_mut(y));
            }
        }
    }
}

/// The layout in which chroma of this size goes with luma of that.
fn chroma_layout(luma: (usize, usize), chroma: (usize, usize)) -> Option<Layout> {
    let halved = |n: usize, m: usize| m == n / 2 || m == n.div_ceil(2);
    if chroma == luma {
        Some(Layout::Yuv444)
    } else if halved(luma.0, chroma.0) && halved(luma.1, chroma.1) {
        Some(Layout::Yuv420)
    } else if halved(luma.0, chroma.0) && chroma.1 == luma.1 {
        Some(Layout::Yuv422)
    } else {
        None
    }
}

/// A clip in arrays as a stream.
pub(crate) struct ArraySource {
    planar: Planar,
    info: StreamInfo,
    next: usize,
}

impl FrameSource for ArraySource {
    fn info(&self) -> &StreamInfo {
        &self.info
    }

    fn read(&mut self, frame: &mut Frame) -> jnd::video::Result<bool> {
        if self.next == self.planar.frames() {
            return Ok(false);
        }
        self.planar.copy(self.next, frame);
        self.next += 1;
        Ok(true)
    }

    fn decoder(&self) -> String {
        "array".into()
    }
}

/// Where a clip comes from.
pub(crate) enum Clips {
    Path(PathBuf),
    Array(ArraySource),
}

impl Clips {
    pub(crate) fn new(
        object: &Bound<'_, PyAny>,
        what: &str,
        depth: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let py = object.py();
        if object.is_instance_of::<PyString>() || object.hasattr("__fspath__")? {
            return Ok(Self::Path(object.extract()?));
        }
        let planar = Planar::new(object, what, Rank::Clip, depth)?;
        // No score depends on the rate.
        let info = Rate::new(25, 1)
            .and_then(|rate| StreamInfo::new(planar.format, planar.width, planar.height, rate))
            .map_err(|e| from_video(py, e))?;
        let info = StreamInfo { frames: Some(planar.frames() as u64), ..info };
        Ok(Self::Array(ArraySource { planar, info, next: 0 }))
    }

    pub(crate) fn open(self, shared: &Shared) -> jnd::video::Result<Box<dyn FrameSource>> {
        match self {
            Self::Array(source) => Ok(Box::new(source)),
            Self::Path(path) => {
                let source = jnd::video::open(&Input::Path(path), &OpenOptions::default())?;
                source.notes().iter().for_each(|n| shared.note(n));
                Ok(Box::new(ReadAhead::new(
                    source,
                    jnd::video::DEFAULT_DEPTH,
                    Some(Arc::clone(&shared.stop)),
                )?))
            }
        }
    }
}
