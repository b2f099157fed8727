//! The last pass: enlarging into the frame, or copying what is not magnified.

use jnd_cuda::Stream;

use super::{Compute, ceil};
use crate::Result;
use crate::cuda::DeviceFrames;
use crate::cuda::args::*;
use crate::plan::{Enlarge, Mix, Step};

impl Compute {
    /// Rows a thread walks: many where there are many frames, few where one frame alone must fill the card.
    pub(super) fn walk(&self, height: usize, columns: usize, planes: usize) -> usize {
        let warps = self.context.info().multiprocessors as usize * 32;
        let mut rows = 16;
        while rows > 2 && columns.max(1) * height.div_ceil(rows) * planes < warps {
            rows /= 2;
        }
        rows
    }

    /// The last pass.
    pub(super) fn render(
        &self,
        stream: &Stream,
        c: usize,
        level: usize,
        f: &DeviceFrames,
        to: &DeviceFrames,
        from: usize,
        n: usize,
    ) -> Result<()> {
        let (chain, m) = (&self.chains()[c], &self.layout.chains[c]);
        let Some(change) = &m.levels[level].change else { return Ok(()) };
        let narrow = self.plan.source().format.bytes_per_sample() == 1;
        let channels = chain.levels[0]
            .channels
            .max(if chain.planes.len() == 1 && matches!(chain.mix, Mix::Luma(_)) { 3 } else { 1 });
        let bilinear = chain.enlarge == Enlarge::Bilinear;
        let mode = match (level, chain.levels.get(1).map(|l| l.step)) {
            (0, _) => 0,
            (_, Some(Step::Vertical)) => 2,
            _ => 1,
        };
        let spread = change.planes == 1 && (channels == 3 || chain.planes.len() == 3);
        for (part, &p) in chain.planes.iter().enumerate() {
            let src = self.frames(f, p, from);
            let mut args = RenderArgs {
                src,
                dst: self.frames(to, p, from),
                change: self.at(change),
                across: m.across.map_or(0, |t| self.arena.ptr(t)),
                down: m.down.map_or(0, |t| self.arena.ptr(t)),
                max: f32::from(self.plan.source().format.max_value()),
                rows: 1,
                mode,
                pad: 0,
            };
            if !spread {
                args.change.ptr += ((part * channels) as i64 * args.change.plane) as u64 * 4;
            }
            let name = render_name(bilinear, narrow, channels, spread && channels == 3);
            let rows =
                if mode == 1 && !bilinear { change.shape.height as usize } else { src.height as usize };
            let columns = (src.width as usize).div_ceil(128);
            // Rows of changes a thread enlarges, as in render.cu.
            let walk = if mode == 1 && !bilinear { 4 } else { self.walk(rows, columns, n) };
            args.rows = walk as i32;
            let grid = (columns as u32, ceil(rows, walk * 4), n as u32);
            self.launch(stream, name, grid, (32, 4, 1), 0, &mut one(&args))?;
        }
        Ok(())
    }

    /// A plane in which nothing is magnified.
    pub(super) fn copy(
        &self,
        stream: &Stream,
        c: usize,
        f: &DeviceFrames,
        to: &DeviceFrames,
        from: usize,
        n: usize,
    ) -> Result<()> {
        let s = self.plan.source();
        for &p in &self.chains()[c].planes {
            let size = s.format.plane_size(p, s.width, s.height, jnd_video::ChromaRounding::Ceil);
            let row = size.row() * s.format.bytes_per_sample();
            for t in from..from + n {
                let (a, b) = (f.planes[p], to.planes[p]);
                let (src, dst) = (a.ptr + (t * a.frame) as u64, b.ptr + (t * b.frame) as u64);
                if src == dst {
                    continue;
                }
                // SAFETY: both are planes of that many rows, checked on entry.
                unsafe { stream.copy_rows_within(dst, b.pitch, src, a.pitch, row, size.height) }?;
            }
        }
        Ok(())
    }
}

fn render_name(bilinear: bool, narrow: bool, channels: usize, spread: bool) -> &'static str {
    match (bilinear, narrow, channels, spread) {
        (false, true, _, true) => "magnify_render_u8_luma",
        (false, true, 1, _) => "magnify_render_u8_c1",
        (false, true, 2, _) => "magnify_render_u8_c2",
        (false, true, _, _) => "magnify_render_u8_c3",
        (false, false, _, true) => "magnify_render_u16_luma",
        (false, false, 1, _) => "magnify_render_u16_c1",
        (false, false, 2, _) => "magnify_render_u16_c2",
        (false, false, _, _) => "magnify_render_u16_c3",
        (true, true, _, true) => "magnify_bilinear_u8_luma",
        (true, true, 1, _) => "magnify_bilinear_u8_c1",
        (true, true, 2, _) => "magnify_bilinear_u8_c2",
        (true, true, _, _) => "magnify_bilinear_u8_c3",
        (true, false, _, true) => "magnify_bilinear_u16_luma",
        (true, false, 1, _) => "magnify_bilinear_u16_c1",
        (true, false, 2, _) => "magnify_bilinear_u16_c2",
        (true, false, _, _) => "magnify_bilinear_u16_c3",
    }
}
