//! The ideal filter on the card: projecting every frame in the first pass, synthesising in the second.

use jnd_cuda::Stream;

use super::{Compute, ceil};
use crate::Result;
use crate::cuda::args::*;
use crate::cuda::memory::{BLOCK, Kind, Store};
use crate::cuda::{DeviceFrames, Stage};
use crate::plan::{Precision, Temporal};

/// Frames that the synthesising kernel makes at a time.
const SYNTHESISE: usize = 16;

impl Compute {
    /// First pass of the ideal filter over some frames.
    pub(crate) fn observe(&mut self, stream: &Stream, f: &DeviceFrames) -> Result<()> {
        self.check(f)?;
        let Temporal::Projection { frames, bins, .. } = self.plan.temporal() else { return Ok(()) };
        let (total, bin_count) = (*frames as u64, bins.len());
        let mut from = 0;
        while from < f.count {
            let n = self.chunk.min(f.count - from);
            let mut since = self.mark(stream)?;
            self.tables(stream, n)?;
            self.fork(stream)?;
            for c in 0..self.plan.chains().len() {
                if self.plan.chains()[c].is_copy() {
                    continue;
                }
                self.shrink(self.side(stream, c), c, f, from, n)?;
                self.stage(stream, Stage::Shrink, &mut since)?;
                for k in 0..self.plan.chains()[c].levels.len() {
                    let last = self.index + n as u64 == total;
                    self.project(self.side(stream, c), c, k, f, from, n, bin_count, last)?;
                }
                self.stage(stream, Stage::Project, &mut since)?;
            }
            self.join(stream)?;
            self.index += n as u64;
            from += n;
        }
        Ok(())
    }

    fn project(
        &self,
        stream: &Stream,
        c: usize,
        k: usize,
        f: &DeviceFrames,
        from: usize,
        n: usize,
        bins: usize,
        last: bool,
    ) -> Result<()> {
        let (chain, m) = (&self.plan.chains()[c], &self.layout.chains[c]);
        let (Some(state), Some(ideal)) = (m.levels[k].state, self.layout.ideal) else { return Ok(()) };
        let single = self.plan.precision() == Precision::F32;
        let real = if single { 4u64 } else { 8 };
        let cells = state.plane * state.planes;
        for input in self.inputs(chain, m, k, f, from) {
            let offset = (input.first * state.plane) as u64;
            let args = ProjectArgs {
                input: input.planes,
                first: self.arena.ptr(state.last) + offset * 4,
                c: self.arena.ptr(state.a) + offset * real,
                s: self.arena.ptr(state.b) + offset * real,
                pairs: self.arena.ptr(ideal.pairs),
                cells: cells as i64,
                bins: bins as i32,
                frames: n as i32,
                shift: input.shift,
                start: i32::from(self.index == 0),
            };
            let name = project_name(input.kind, single);
            let l = &chain.levels[k];
            // Values a thread, as in ideal.cu.
            let each = if single { 2 } else { 1 };
            let grid = (ceil(l.width.div_ceil(each), 32), ceil(l.height, 4), input.count as u32);
            self.launch(stream, name, grid, (32, 4, 1), 0, &mut one(&args))?;
        }
        if last {
            let name = if single { "magnify_multiply_f32" } else { "magnify_multiply_f64" };
            for part in [state.a, state.b] {
                let (ptr, count, by) = (self.arena.ptr(part), (cells * bins) as i64, chain.levels[k].h);
                let params = &mut [jnd_cuda::arg(&ptr), jnd_cuda::arg(&count), jnd_cuda::arg(&by)];
                self.launch(stream, name, (ceil(cells * bins, 256), 1, 1), (256, 1, 1), 0, params)?;
            }
        }
        Ok(())
    }

    /// The pairs (cos, sin) of the next `n` frames.
    pub(super) fn tables(&self, stream: &Stream, n: usize) -> Result<()> {
        let (Some(m), Temporal::Projection { frames, bins, .. }) = (self.layout.ideal, self.plan.temporal())
        else {
            return Ok(());
        };
        let row = n.next_multiple_of(BLOCK);
        let args = TableArgs {
            cos: self.arena.ptr(m.cos),
            sin: self.arena.ptr(m.sin),
            bins: self.arena.ptr(m.bins),
            out: self.arena.ptr(m.pairs),
            length: *frames as i64,
            first: self.index as i64,
            bin_count: bins.len() as i32,
            frames: n as i32,
            row: row as i32,
            pad: 0,
        };
        debug_assert!(row <= m.row);
        let name = match self.plan.precision() {
            Precision::F32 => "magnify_tables_f32",
            Precision::F64 => "magnify_tables_f64",
        };
        self.launch(stream, name, (ceil(bins.len() * row, 128), 1, 1), (128, 1, 1), 0, &mut one(&args))
    }

    /// Second pass at level `k`: the filtered values, with the enlarged change `up` if any, go to `out`.
    pub(super) fn synthesise(
        &self,
        stream: &Stream,
        c: usize,
        k: usize,
        n: usize,
        up: Planes,
        out: &Store,
    ) -> Result<()> {
        let (chain, m) = (&self.plan.chains()[c], &self.layout.chains[c]);
        let level = &chain.levels[k];
        let (Some(state), Some(ideal), Temporal::Projection { bins, .. }) =
            (m.levels[k].state, self.layout.ideal, self.plan.temporal())
        else {
            return Ok(());
        };
        let count = state.planes;
        let args = SynthesiseArgs {
            up,
            out: self.at(out),
            c: self.arena.ptr(state.a),
            s: self.arena.ptr(state.b),
            pairs: self.arena.ptr(ideal.pairs),
            cells: (state.plane * count) as i64,
            bins: bins.len() as i32,
            frames: n as i32,
            row: n.next_multiple_of(BLOCK) as i32,
            count: count as i32,
        };
        let name = match self.plan.precision() {
            Precision::F32 => "magnify_synthesise_f32",
            Precision::F64 => "magnify_synthesise_f64",
        };
        let z = (count * n.div_ceil(SYNTHESISE)) as u32;
        let grid = (ceil(level.width.div_ceil(2), 32), ceil(level.height, 4), z);
        self.launch(stream, name, grid, (32, 4, 1), 0, &mut one(&args))
    }
}

fn project_name(kind: Kind, single: bool) -> &'static str {
    match (kind, single) {
        (Kind::U8, true) => "magnify_project_u8_f32",
        (Kind::U8, false) => "magnify_project_u8_f64",
        (Kind::U16, true) => "magnify_project_u16_f32",
        (Kind::U16, false) => "magnify_project_u16_f64",
        (Kind::U32, true) => "magnify_project_u32_f32",
        (Kind::U32, false) => "magnify_project_u32_f64",
        (Kind::F32, true) => "magnify_project_f32_f32",
        (Kind::F32, false) => "magnify_project_f32_f64",
    }
}
