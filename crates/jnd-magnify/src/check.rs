//! The test mode: every frame is magnified a second time, by scalar code on one thread, and compared.

use std::ops::Range;

use jnd_video::{Buffer, Frame, FrameMut, FrameRef, PlanesMut, simd};

use crate::engine::{Out, Work};
use crate::magnifier::make_engine;
use crate::plan::Plan;
use crate::{Error, Result};

/// A second engine, and the frame it writes.
pub(crate) struct Check {
    engine: Box<dyn Work>,
    frame: Frame,
}

impl Check {
    pub(crate) fn new(plan: &Plan, strip: &Range<usize>) -> Result<Self> {
        let s = plan.source();
        Ok(Self {
            engine: make_engine(plan, simd::Level::SCALAR, 1, 1, strip)?,
            frame: Frame::new(s.format, s.width, s.height)?,
        })
    }

    pub(crate) fn observe(&mut self, frame: &FrameRef<'_>, last: bool) -> Result<()> {
        self.engine.observe(frame, last)
    }

    pub(crate) fn advance(&mut self, frame: &FrameRef<'_>) -> Result<()> {
        let out = &mut [self.frame.view_mut()];
        self.engine.push(std::slice::from_ref(frame), Out::Integer(out))
    }

    /// Magnifies a frame and compares its rows with `out`.
    pub(crate) fn compare(
        &mut self,
        frame: &FrameRef<'_>,
        out: &mut FrameMut<'_>,
        rows: &[Range<usize>; 3],
        index: u64,
    ) -> Result<()> {
        self.advance(frame)?;
        let sizes: [usize; 3] =
            std::array::from_fn(|p| if rows[p].is_empty() { 0 } else { self.frame.plane_size(p).row() });
        let mut start = 0;
        for p in 0..frame.format().plane_count() {
            let samples = self.frame.plane_size(p).samples();
            for y in rows[p].clone() {
                let at = start + y * sizes[p]..start + (y + 1) * sizes[p];
                let equal = match (self.frame.buffer(), out.planes_mut()) {
                    (Buffer::U8(v), PlanesMut::U8(o)) => v[at] == *o[p].row_mut(y),
                    (Buffer::U16(v), PlanesMut::U16(o)) => v[at] == *o[p].row_mut(y),
                    _ => false,
                };
                if !equal {
                    return Err(Error::Mismatch { frame: index, plane: p, row: y });
                }
            }
            start += samples;
        }
        Ok(())
    }

    pub(crate) fn rewind(&mut self, forget: bool) {
        self.engine.rewind(forget);
    }

    pub(crate) fn restrict(&mut self, strip: &Range<usize>) {
        self.engine.restrict(strip);
    }
}
