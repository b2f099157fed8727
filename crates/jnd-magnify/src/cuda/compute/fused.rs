//! The last pass with the finest level's filter inside.

use jnd_cuda::Stream;

use super::{Compute, ceil, flat};
use crate::Result;
use crate::cuda::DeviceFrames;
use crate::cuda::args::*;
use crate::cuda::memory::Fused;
use crate::plan::{Mix, Temporal};

/// Quads of a block, and its threads, as in `temporal_render.cu`.
const QUADS: (usize, usize) = (16, 8);
const LEVEL_THREADS: u32 = 192;
const FRAME_THREADS: u32 = 128;

impl Compute {
    /// Filters the finest level `k`, adds the enlarged change of the next one, and renders.
    pub(super) fn fused(
        &self,
        stream: &Stream,
        c: usize,
        kind: Fused,
        f: &DeviceFrames,
        to: &DeviceFrames,
        from: usize,
        n: usize,
    ) -> Result<()> {
        let (chain, m) = (&self.chains()[c], &self.layout.chains[c]);
        let k = usize::from(kind == Fused::Level);
        let (Some(state), Temporal::Causal { p_slow, p_fast, .. }) =
            (m.levels[k].state, self.plan.temporal())
        else {
            return Ok(());
        };
        let level = &chain.levels[k];
        let up = m.levels.get(k + 1).and_then(|l| l.change.as_ref());
        let state_plane = state.plane;
        let half = (state_plane * state.planes * 4) as u64;
        let (read, write) = match (state.twice, self.chunks % 2) {
            (false, _) => (0, 0),
            (true, 0) => (0, half),
            (true, _) => (half, 0),
        };
        let channels = chain.levels[0].channels;
        // One plane, or two, which are one launch where they differ in nothing but where they begin.
        let parts = chain.planes.len();
        let ends = |f: &DeviceFrames| [0, parts - 1].map(|i| self.frames(f, chain.planes[i], from));
        let (src, dst) = (ends(f), ends(to));
        let alike = |[a, b]: [Frames; 2]| Frames { ptr: a.ptr, ..b } == a;
        let together = if alike(src) && alike(dst) { parts } else { 1 };
        let at = |part| self.arena.ptr(part);
        let mut args = FusedArgs {
            input: m.levels[k].level.as_ref().map_or(Planes::default(), |s| self.at(s)),
            up: up.map_or(Planes::default(), |s| self.at(s)),
            src,
            dst,
            slow: at(state.a) + read,
            fast: at(state.b) + read,
            last: at(state.last) + read,
            slow_out: at(state.a) + write,
            fast_out: at(state.b) + write,
            last_out: at(state.last) + write,
            p_slow: *p_slow as f32,
            p_fast: *p_fast as f32,
            c_slow: level.c_slow as f32,
            c_fast: level.c_fast as f32,
            max: f32::from(self.plan.source().format.max_value()),
            frames: n as i32,
            index: (self.index % 32) as i32,
            start: self.start(),
            order: chain.order.map(|i| i as i32),
            mixes: i32::from(matches!(chain.mix, Mix::Matrix(_))),
            mix: if let Mix::Matrix(a) = chain.mix { flat(a) } else { [0.0; 9] },
        };
        let narrow = self.plan.source().format.bytes_per_sample() == 1;
        let (name, grid, threads) = match kind {
            Fused::Frame => {
                let name = match (narrow, channels) {
                    (true, 1) => "magnify_direct_u8_c1",
                    (true, _) => "magnify_direct_u8_c2",
                    (false, 1) => "magnify_direct_u16_c1",
                    (false, _) => "magnify_direct_u16_c2",
                };
                // Four samples of two rows a thread.
                let grid = (ceil(level.width, 4 / channels * 16), ceil(level.height, 2 * 8));
                (name, grid, FRAME_THREADS)
            }
            Fused::Level => {
                let name = match (narrow, channels) {
                    (true, 1) => "magnify_fused_u8_c1",
                    (true, _) => "magnify_fused_u8_c3",
                    (false, 1) => "magnify_fused_u16_c1",
                    (false, _) => "magnify_fused_u16_c3",
                };
                let grid = (ceil(level.width.div_ceil(2), QUADS.0), ceil(level.height.div_ceil(2), QUADS.1));
                (name, grid, LEVEL_THREADS)
            }
        };
        let value = m.levels[k].level.as_ref().map_or(0, |s| s.kind.bytes() as u64);
        for part in (0..parts).step_by(together) {
            if part > 0 {
                args.input.ptr += args.input.plane as u64 * value;
                args.up.ptr += if up.is_some() { channels as u64 * args.up.plane as u64 * 4 } else { 0 };
                for state in [
                    &mut args.slow,
                    &mut args.fast,
                    &mut args.last,
                    &mut args.slow_out,
                    &mut args.fast_out,
                    &mut args.last_out,
                ] {
                    *state += (channels * state_plane * 4) as u64;
                }
            }
            args.src = [src[part], src[part + together - 1]];
            args.dst = [dst[part], dst[part + together - 1]];
            let grid = (grid.0, grid.1, together as u32);
            self.launch(stream, name, grid, (threads, 1, 1), 0, &mut one(&args))?;
        }
        Ok(())
    }
}
