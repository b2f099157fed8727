//! The ideal filter on the card: projecting every frame in the first pass, synthesising in the second.

use jnd_cuda::Stream;

use super::{Compute, ceil, even, flat};
use crate::Result;
use crate::cuda::args::*;
use crate::cuda::memory::{BLOCK, Kind, Store};
use crate::cuda::{DeviceFrames, Stage};
use crate::plan::{Enlarge, Mix, Precision, Temporal};

/// Threads of a block of both passes.
const THREADS: usize = 64;
/// Neighbouring values that a thread owns, in f32 and f64.
const NEAR: (usize, usize) = (4, 2);
/// Bins that a thread projects on at most, in f32 and f64; half as many (rounded up) in the less usual forms.
const BINS: (usize, usize) = (8, 6);
/// Frames that a thread synthesises.
const SYNTHESISE: usize = 8;
/// Blocks a multiprocessor should have in pass one; where a level is too small for it, its bins are shared out.
const BLOCKS: usize = 16;

impl Compute {
    /// First pass of the ideal filter over some frames.
    pub(crate) fn observe(&mut self, stream: &Stream, f: &DeviceFrames) -> Result<()> {
        self.check(f)?;
        let Temporal::Projection { frames, .. } = self.plan.temporal() else { return Ok(()) };
        let total = *frames as u64;
        let mut from = 0;
        while from < f.count {
            let n = even(f.count - from, self.chunk);
            let mut since = self.mark(stream)?;
            self.tables(stream, n, 1)?;
            self.fork(stream)?;
            for c in 0..self.chains().len() {
                if self.chains()[c].is_copy() {
                    continue;
                }
                self.shrink(self.side(stream, c), c, f, from, n)?;
                self.stage(stream, Stage::Shrink, &mut since)?;
                let last = self.index + n as u64 == total;
                self.project(self.side(stream, c), c, f, from, n, last)?;
                self.stage(stream, Stage::Project, &mut since)?;
            }
            self.join(stream)?;
            self.index += n as u64;
            from += n;
        }
        Ok(())
    }

    /// What both passes know of level `k`, from plane `first` on: all but the values.
    fn ideal_level(&self, c: usize, k: usize, first: usize) -> Option<IdealLevel> {
        let state = self.layout.chains[c].levels[k].state?;
        let real = super::super::memory::real_bytes(&self.plan) as u64;
        let offset = (first * state.plane) as u64;
        Some(IdealLevel {
            first: self.arena.ptr(state.last) + offset * 4,
            c: self.arena.ptr(state.a) + offset * real,
            s: self.arena.ptr(state.b) + offset * real,
            cells: (state.plane * state.planes) as i64,
            h: self.chains()[c].levels[k].h,
            pitch: state.pitch as i32,
            planes: state.planes as i32,
            ..IdealLevel::default()
        })
    }

    fn ideal_args(&self, n: usize) -> IdealArgs {
        let bins = match self.plan.temporal() {
            Temporal::Projection { bins, .. } => bins.len(),
            Temporal::Causal { .. } => 0,
        };
        IdealArgs {
            pairs: self.layout.ideal.map_or(0, |m| self.arena.ptr(m.pairs)),
            row: n.next_multiple_of(BLOCK) as i32,
            bins: bins as i32,
            frames: n as i32,
            ..IdealArgs::default()
        }
    }

    /// Launches `name` over the levels of `args`; `near` values a thread.
    fn launch_ideal(
        &self,
        stream: &Stream,
        name: &'static str,
        mut args: IdealArgs,
        levels: &[IdealLevel],
        near: usize,
    ) -> Result<()> {
        if levels.is_empty() {
            return Ok(());
        }
        assert!(levels.len() <= MAX_IDEAL, "a chain has fewer levels");
        let mut blocks = 0;
        for (to, l) in args.level.iter_mut().zip(levels) {
            *to = IdealLevel { begin: blocks as i32, ..*l };
            blocks += self.ideal_blocks(l, l.planes as usize, near) * l.parts as usize;
        }
        args.levels = levels.len() as i32;
        self.launch(stream, name, (blocks as u32, 1, 1), (THREADS as u32, 1, 1), 0, &mut one(&args))
    }

    fn ideal_blocks(&self, l: &IdealLevel, planes: usize, near: usize) -> usize {
        (planes * l.x.height as usize * (l.pitch as usize / near)).div_ceil(THREADS)
    }

    /// Projects a chunk of frames at all filtered levels.
    fn project(
        &self,
        stream: &Stream,
        c: usize,
        f: &DeviceFrames,
        from: usize,
        n: usize,
        last: bool,
    ) -> Result<()> {
        let (chain, m) = (&self.chains()[c], &self.layout.chains[c]);
        let single = self.plan.precision() == Precision::F32;
        let (name, near) =
            if single { ("magnify_project_f32", NEAR.0) } else { ("magnify_project_f64", NEAR.1) };
        let mut args = self.ideal_args(n);
        args.start = i32::from(self.index == 0);
        args.end = i32::from(last);
        let enough = self.context.info().multiprocessors as usize * BLOCKS;
        let mut levels = Vec::new();
        for k in 0..chain.levels.len() {
            if m.levels[k].state.is_none() {
                continue;
            }
            for input in self.inputs(chain, m, k, f, from) {
                let Some(mut l) = self.ideal_level(c, k, input.first) else { continue };
                l.x = input.planes;
                l.planes = input.count as i32;
                l.shift = input.shift;
                l.form = match (input.kind, input.level) {
                    (Kind::U8, _) => Form::SamplesU8,
                    (Kind::U16, false) => Form::SamplesU16,
                    (Kind::U16, true) => Form::LevelU16,
                    (Kind::U32, _) => Form::LevelU32,
                    (Kind::F32, _) => Form::LevelF32,
                } as i32;
                let usual = l.form == Form::LevelU16 as i32 || l.form == Form::LevelF32 as i32;
                let at_once = if single { BINS.0 } else { BINS.1 };
                let at_once = if usual { at_once } else { at_once.div_ceil(2) };
                let (bins, blocks) = (args.bins as usize, self.ideal_blocks(&l, input.count, near));
                let parts = enough.div_ceil(blocks).min(bins).max(bins.div_ceil(at_once));
                // As many as have work when all get the same share.
                l.parts = bins.div_ceil(bins.div_ceil(parts)) as i32;
                levels.push(l);
            }
        }
        self.launch_ideal(stream, name, args, &levels, near)
    }

    /// The pairs (cos, sin) of the next `n` frames, as that pass reads them.
    pub(super) fn tables(&self, stream: &Stream, n: usize, pass: i32) -> Result<()> {
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
            pass,
        };
        debug_assert!(row <= m.row);
        let name = match self.plan.precision() {
            Precision::F32 => "magnify_tables_f32",
            Precision::F64 => "magnify_tables_f64",
        };
        self.launch(stream, name, (ceil(bins.len() * row, 128), 1, 1), (128, 1, 1), 0, &mut one(&args))
    }

    /// Makes the filtered values of some levels, each with the change to be enlarged and added, in one launch. Where
    /// `mix`, the three planes are mixed; says whether they were.
    fn synthesise(
        &self,
        stream: &Stream,
        c: usize,
        n: usize,
        levels: &[(usize, &Store, Option<&Store>)],
        mix: bool,
    ) -> Result<bool> {
        let chain = &self.chains()[c];
        let single = self.plan.precision() == Precision::F32;
        let mut args = self.ideal_args(n);
        let mut entries = Vec::new();
        for (k, out, up) in levels {
            let Some(mut l) = self.ideal_level(c, *k, 0) else { continue };
            l.x = self.at(out);
            l.up = up.map_or(Planes::default(), |s| self.at(s));
            l.parts = n.div_ceil(SYNTHESISE) as i32;
            entries.push(l);
        }
        if let (Mix::Matrix(a), true, true, [l]) = (chain.mix, mix, single, &mut entries[..])
            && l.planes == 3
        {
            args.order = chain.order.map(|i| i as i32);
            args.mix = flat(a);
            // A thread has all three.
            l.planes = 1;
            self.launch_ideal(stream, "magnify_synthesise_mix_f32", args, &entries, NEAR.0)?;
            return Ok(true);
        }
        let (name, near) =
            if single { ("magnify_synthesise_f32", NEAR.0) } else { ("magnify_synthesise_f64", NEAR.1) };
        self.launch_ideal(stream, name, args, &entries, near)?;
        Ok(false)
    }

    /// Second pass: from the projections to the change that the last pass enlarges; says which level's that is.
    pub(super) fn ideal_change(&self, stream: &Stream, c: usize, n: usize) -> Result<usize> {
        let (chain, m) = (&self.chains()[c], &self.layout.chains[c]);
        let last = chain.last();
        if chain.enlarge == Enlarge::Bilinear {
            if let Some(out) = &m.levels[last].change
                && !self.synthesise(stream, c, n, &[(last, out, None)], true)?
            {
                self.matrix(stream, chain, out, n)?;
            }
            return Ok(last);
        }
        let finest = usize::from(!chain.levels[0].filtered());
        // The coarse levels together; they are enlarged and added up afterwards.
        let coarse: Vec<_> = (2..=last)
            .rev()
            .filter(|&k| chain.levels[k].filtered())
            .filter_map(|k| {
                m.levels[k].filtered.as_ref().or(m.levels[k].change.as_ref()).map(|s| (k, s, None))
            })
            .collect();
        self.synthesise(stream, c, n, &coarse, false)?;
        if m.tail < last {
            self.enlarge_tail(stream, chain, m, n)?;
        }
        let begin = if m.tail < last { m.tail } else { last + 1 };
        for k in (finest..begin).rev() {
            let Some(out) = &m.levels[k].change else { continue };
            let up = m.levels.get(k + 1).and_then(|l| l.change.as_ref());
            let mut mixed = false;
            if k <= 1 && chain.levels[k].filtered() {
                mixed = self.synthesise(stream, c, n, &[(k, out, up)], k == 1)?;
            } else if let Some(up) = up {
                self.enlarge(stream, up, out, n, chain.levels[k].filtered())?;
            }
            if k == 1 && !mixed {
                self.matrix(stream, chain, out, n)?;
            }
        }
        Ok(finest)
    }
}
