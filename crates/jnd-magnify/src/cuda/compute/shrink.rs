//! From frames to levels.

use jnd_cuda::Stream;

use super::{Compute, ceil};
use crate::Result;
use crate::cuda::DeviceFrames;
use crate::cuda::args::*;
use crate::cuda::memory::{ChainMemory, Kind, Store, luma_level};
use crate::plan::{Chain, Mix, Step};

impl Compute {
    /// All levels from the frames.
    pub(super) fn shrink(
        &self,
        stream: &Stream,
        c: usize,
        f: &DeviceFrames,
        from: usize,
        n: usize,
    ) -> Result<()> {
        let (chain, m) = (&self.chains()[c], &self.layout.chains[c]);
        let narrow = self.plan.source().format.bytes_per_sample() == 1;
        if luma_level(chain) == Some(0) {
            return self.mix_samples(stream, chain, m, f, from, n);
        }
        if chain.levels.len() > 1 {
            let to = m.integers.as_ref().or(m.levels[1].level.as_ref());
            if let Some(to) = to {
                self.shrink_first(stream, chain, to, f, from, n, narrow)?;
            }
        }
        if let (Some(ints), Some(to), Mix::Luma(y)) =
            (&m.integers, m.levels.get(1).and_then(|l| l.level), chain.mix)
        {
            let x = self.at(ints);
            let at = |i: usize| x.ptr + (chain.order[i] as i64 * x.plane) as u64 * ints.kind.bytes() as u64;
            let args = LumaArgs {
                r: at(0),
                g: at(1),
                b: at(2),
                frame: x.frame,
                pitch: i64::from(x.pitch),
                out: self.at(&to),
                y,
                step: 1,
                shift: 0,
                pad: 0,
            };
            self.luma(stream, ints.kind, &args, n)?;
        }
        for k in 2..m.tail {
            let (Some(src), Some(dst)) = (&m.levels[k - 1].level, &m.levels[k].level) else { continue };
            self.shrink_level(stream, src, dst, chain.levels[k].scale, n)?;
        }
        self.shrink_tail(stream, chain, m, n)
    }

    pub(super) fn mix_samples(
        &self,
        stream: &Stream,
        chain: &Chain,
        m: &ChainMemory,
        f: &DeviceFrames,
        from: usize,
        n: usize,
    ) -> Result<()> {
        let (Some(to), Mix::Luma(y)) = (&m.levels[0].level, chain.mix) else { return Ok(()) };
        let bytes = self.plan.source().format.bytes_per_sample();
        let planar = chain.planes.len() == 3;
        let first = self.frames(f, chain.planes[0], from);
        let at = |i: usize| {
            if planar {
                self.frames(f, chain.planes[chain.order[i]], from).ptr
            } else {
                first.ptr + (chain.order[i] * bytes) as u64
            }
        };
        // The planes of one frame may have pitches of their own, but one luma kernel knows one: checked on entry.
        let args = LumaArgs {
            r: at(0),
            g: at(1),
            b: at(2),
            frame: first.frame / bytes as i64,
            pitch: first.pitch / bytes as i64,
            out: self.at(to),
            y,
            step: if planar { 1 } else { 3 },
            shift: first.shift,
            pad: 0,
        };
        self.luma(stream, if bytes == 1 { Kind::U8 } else { Kind::U16 }, &args, n)
    }

    pub(super) fn luma(&self, stream: &Stream, kind: Kind, args: &LumaArgs, n: usize) -> Result<()> {
        let name = match kind {
            Kind::U8 => "magnify_luma_u8",
            Kind::U16 => "magnify_luma_u16",
            _ => "magnify_luma_u32",
        };
        let grid = (ceil(args.out.width as usize, 64), ceil(args.out.height as usize, 2), n as u32);
        self.launch(stream, name, grid, (64, 2, 1), 0, &mut one(args))
    }

    pub(super) fn shrink_first(
        &self,
        stream: &Stream,
        chain: &Chain,
        to: &Store,
        f: &DeviceFrames,
        from: usize,
        n: usize,
        narrow: bool,
    ) -> Result<()> {
        let l = &chain.levels[0];
        // Level 0 of a luma chain still has its three channels.
        let channels = l.channels;
        for (part, &p) in chain.planes.iter().enumerate() {
            let src = self.frames(f, p, from);
            let mut dst = self.at(to);
            dst.ptr += ((part * channels) as i64 * dst.plane) as u64 * to.kind.bytes() as u64;
            if chain.levels[1].step == Step::Vertical {
                let name = if narrow { "magnify_shrink_rows_u8" } else { "magnify_shrink_rows_u16" };
                let args = ShrinkArgs { src, dst };
                let grid = (ceil(dst.width as usize, 256), dst.height as u32, n as u32);
                self.launch(stream, name, grid, (256, 1, 1), 0, &mut one(&args))?;
                continue;
            }
            // Rows a thread makes, as in shrink.cu.
            let (name, rows) = match (narrow, channels) {
                (true, 1) => ("magnify_shrink_u8_c1", 8),
                (true, 2) => ("magnify_shrink_u8_c2", 4),
                (true, _) => ("magnify_shrink_u8_c3", 4),
                (false, 1) => ("magnify_shrink_u16_c1", 4),
                (false, 2) => ("magnify_shrink_u16_c2", 2),
                (false, _) => ("magnify_shrink_u16_c3", 2),
            };
            let columns = (src.width as usize).div_ceil(4).div_ceil(30);
            let args = ShrinkArgs { src, dst };
            let grid = (columns as u32, ceil(dst.height as usize, rows * 4), n as u32);
            self.launch(stream, name, grid, (32, 4, 1), 0, &mut one(&args))?;
        }
        Ok(())
    }

    pub(super) fn shrink_level(
        &self,
        stream: &Stream,
        src: &Store,
        dst: &Store,
        scale: f32,
        n: usize,
    ) -> Result<()> {
        let name = match src.kind {
            Kind::U16 => "magnify_shrink_level_u16",
            Kind::U32 => "magnify_shrink_level_u32",
            _ => "magnify_shrink_level_f32",
        };
        let planes = n * src.planes;
        let columns = (src.shape.width as usize).div_ceil(4).div_ceil(30);
        // As in shrink.cu.
        let rows = 4;
        let args = ShrinkLevelArgs { src: self.at(src), dst: self.at(dst), scale, count: src.planes as i32 };
        let grid = (columns as u32, ceil(dst.shape.height as usize, rows * 4), planes as u32);
        self.launch(stream, name, grid, (32, 4, 1), 0, &mut one(&args))
    }

    pub(super) fn shrink_tail(
        &self,
        stream: &Stream,
        chain: &Chain,
        m: &ChainMemory,
        n: usize,
    ) -> Result<()> {
        if m.tail >= chain.levels.len() {
            return Ok(());
        }
        let Some(src) = &m.levels[m.tail - 1].level else { return Ok(()) };
        let name = match src.kind {
            Kind::U16 => "magnify_shrink_tail_u16",
            Kind::U32 => "magnify_shrink_tail_u32",
            _ => "magnify_shrink_tail_f32",
        };
        let levels = &chain.levels[m.tail..];
        let mut level = [TailLevel::default(); MAX_TAIL];
        for (i, (to, l)) in level.iter_mut().zip(levels).enumerate() {
            *to = self.tail_level(l, m.levels[m.tail + i].level.as_ref());
            to.scale = l.scale;
        }
        let size = |i: usize| levels.get(i).map_or(0, |l| l.width * l.height);
        let args = TailArgs {
            end: self.at(src),
            levels: levels.len() as i32,
            count: src.planes as i32,
            even: size(0) as i32,
            pad: 0,
            level,
        };
        let shared = ((size(0) + size(1)) * 4) as u32;
        self.launch(stream, name, ((n * src.planes) as u32, 1, 1), (512, 1, 1), shared, &mut one(&args))
    }
}
