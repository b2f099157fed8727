//! From levels to the change that the last pass enlarges: temporal filters, enlargement, mixing.

use jnd_cuda::Stream;

use super::{Compute, ceil, flat};
use crate::Result;
use crate::cuda::DeviceFrames;
use crate::cuda::args::*;
use crate::cuda::memory::{ChainMemory, Kind, Store};
use crate::plan::{Chain, Enlarge, Mix, Precision, Temporal};

impl Compute {
    /// Whether level `k` of floats is filtered by the kernel that adds the enlarged change as well.
    pub(super) fn enlarges(&self, c: usize, k: usize) -> bool {
        let (chain, m) = (&self.chains()[c], &self.layout.chains[c]);
        self.plan.precision() == Precision::F32 && chain.enlarge == Enlarge::Pyramid && k < m.tail
    }

    /// Runs the temporal filter at level `k`; the result, with the enlarged change `up` if any, goes to `out`.
    pub(super) fn filter(
        &self,
        stream: &Stream,
        c: usize,
        k: usize,
        f: &DeviceFrames,
        from: usize,
        n: usize,
        up: Option<&Store>,
        out: &Store,
    ) -> Result<bool> {
        let (chain, m) = (&self.chains()[c], &self.layout.chains[c]);
        let level = &chain.levels[k];
        let up = up.map_or(Planes::default(), |s| self.at(s));
        let Some(state) = m.levels[k].state else { return Ok(false) };
        let real = crate::cuda::memory::real_bytes(&self.plan) as u64;
        let plane = state.plane as u64;
        match self.plan.temporal() {
            Temporal::Causal { p_slow, p_fast, .. } => {
                let start = self.start();
                let mut mixed = false;
                for input in self.inputs(chain, m, k, f, from) {
                    let offset = input.first as u64 * plane;
                    let mut args = CausalArgs {
                        input: input.planes,
                        up,
                        out: self.at(out),
                        slow: self.arena.ptr(state.a) + offset * real,
                        fast: self.arena.ptr(state.b) + offset * real,
                        last: self.arena.ptr(state.last) + offset * 4,
                        p_slow: *p_slow,
                        p_fast: *p_fast,
                        c_slow: level.c_slow,
                        c_fast: level.c_fast,
                        frames: n as i32,
                        index: (self.index % 32) as i32,
                        start,
                        shift: input.shift,
                        order: chain.order.map(|i| i as i32),
                        mix: [0.0; 9],
                    };
                    args.out.ptr += input.first as u64 * args.out.plane as u64 * 4;
                    if args.up.ptr != 0 {
                        args.up.ptr += input.first as u64 * args.up.plane as u64 * 4;
                    }
                    let single = self.plan.precision() == Precision::F32;
                    let mix = k == 1 && chain.enlarge == Enlarge::Pyramid && single && input.count == 3;
                    let (mut name, mut z) = (causal_name(input.kind, single, input.level), input.count);
                    if let (true, Mix::Matrix(a), Kind::U16 | Kind::U32) = (mix, chain.mix, input.kind) {
                        args.mix = flat(a);
                        name = if input.kind == Kind::U16 {
                            "magnify_causal_mix_u16_f32"
                        } else {
                            "magnify_causal_mix_u32_f32"
                        };
                        (mixed, z) = (true, 1);
                    }
                    // Levels large enough are worked on by a kernel that enlarges as well, as those of integers are.
                    let large = input.kind == Kind::F32 && self.enlarges(c, k);
                    if large {
                        name = "magnify_causal_level";
                    }
                    // The other floats: a value a thread; all else: four, two by two.
                    let (w, h) = match input.kind {
                        Kind::F32 if !large => (level.width, level.height),
                        _ => (level.width.div_ceil(2), level.height.div_ceil(2)),
                    };
                    let (block, grid) = if mixed {
                        ((32, 2, 3), (ceil(w, 32), ceil(h, 2), 1))
                    } else {
                        ((32, 4, 1), (ceil(w, 32), ceil(h, 4), z as u32))
                    };
                    self.launch(stream, name, grid, block, 0, &mut one(&args))?;
                }
                Ok(mixed)
            }
            Temporal::Projection { .. } => Ok(false),
        }
    }

    pub(super) fn matrix(&self, stream: &Stream, chain: &Chain, x: &Store, n: usize) -> Result<()> {
        let Mix::Matrix(a) = chain.mix else { return Ok(()) };
        let args = MatrixArgs { x: self.at(x), order: chain.order.map(|i| i as i32), a: flat(a) };
        let grid = (ceil(x.shape.width as usize, 64), ceil(x.shape.height as usize, 2), n as u32);
        self.launch(stream, "magnify_matrix", grid, (64, 2, 1), 0, &mut one(&args))
    }

    /// From the coarsest level's filter to the change that the last pass enlarges; says which level's that is.
    pub(super) fn change(
        &self,
        stream: &Stream,
        c: usize,
        f: &DeviceFrames,
        from: usize,
        n: usize,
    ) -> Result<usize> {
        let (chain, m) = (&self.chains()[c], &self.layout.chains[c]);
        let last = chain.last();
        if chain.enlarge == Enlarge::Bilinear {
            if let Some(out) = &m.levels[last].change {
                self.filter(stream, c, last, f, from, n, None, out)?;
                self.matrix(stream, chain, out, n)?;
            }
            return Ok(last);
        }
        let finest = usize::from(!chain.levels[0].filtered());
        let causal = !self.plan.needs_two_passes();
        if m.tail < last {
            for k in m.tail..=last {
                if let Some(out) = &m.levels[k].filtered {
                    self.filter(stream, c, k, f, from, n, None, out)?;
                }
            }
            self.enlarge_tail(stream, chain, m, n)?;
        }
        let begin = if m.tail < last { m.tail } else { last + 1 };
        // The last pass filters the finest level itself.
        let end = finest + usize::from(m.fused.is_some());
        for k in (end..begin).rev() {
            let Some(out) = &m.levels[k].change else { continue };
            let up = m.levels.get(k + 1).and_then(|l| l.change.as_ref());
            let mut mixed = false;
            if chain.levels[k].filtered() {
                // The other filters of floats leave the enlarging to a kernel that does all frames at once.
                let float = m.levels[k].level.is_some_and(|l| l.kind == Kind::F32);
                let apart = causal && float && !self.enlarges(c, k);
                mixed = self.filter(stream, c, k, f, from, n, if apart { None } else { up }, out)?;
                if let (true, Some(up)) = (apart, up) {
                    self.enlarge(stream, up, out, n, true)?;
                }
            } else if let Some(up) = up {
                self.enlarge(stream, up, out, n, false)?;
            }
            if k == 1 && !mixed {
                self.matrix(stream, chain, out, n)?;
            }
        }
        Ok(finest)
    }

    pub(super) fn enlarge(
        &self,
        stream: &Stream,
        up: &Store,
        out: &Store,
        n: usize,
        add: bool,
    ) -> Result<()> {
        let args =
            EnlargeArgs { up: self.at(up), out: self.at(out), count: out.planes as i32, add: i32::from(add) };
        let (w, h) = (out.shape.width as usize, out.shape.height as usize);
        let grid = (ceil(w.div_ceil(2), 32), ceil(h.div_ceil(2), 4), (n * out.planes) as u32);
        self.launch(stream, "magnify_enlarge", grid, (32, 4, 1), 0, &mut one(&args))
    }

    pub(super) fn enlarge_tail(
        &self,
        stream: &Stream,
        chain: &Chain,
        m: &ChainMemory,
        n: usize,
    ) -> Result<()> {
        let Some(out) = &m.levels[m.tail].change else { return Ok(()) };
        let levels = &chain.levels[m.tail..];
        let mut level = [TailLevel::default(); MAX_TAIL];
        for (i, to) in level.iter_mut().take(levels.len()).enumerate() {
            let k = levels.len() - 1 - i;
            *to = self.tail_level(&levels[k], m.levels[m.tail + k].filtered.as_ref());
        }
        // The first of the tail goes to global memory; the two buffers hold the next two.
        let size = |i: usize| levels.get(i).map_or(0, |l| l.width * l.height);
        let args = TailArgs {
            end: self.at(out),
            levels: levels.len() as i32,
            count: out.planes as i32,
            even: size(2) as i32,
            pad: 0,
            level,
        };
        let shared = ((size(1) + size(2)) * 4) as u32;
        let grid = ((n * out.planes) as u32, 1, 1);
        self.launch(stream, "magnify_enlarge_tail", grid, (512, 1, 1), shared, &mut one(&args))
    }
}

fn causal_name(kind: Kind, single: bool, level: bool) -> &'static str {
    match (kind, single, level) {
        (Kind::U8, true, _) => "magnify_causal_s8_f32",
        (Kind::U8, false, _) => "magnify_causal_s8_f64",
        (Kind::U16, true, false) => "magnify_causal_s16_f32",
        (Kind::U16, false, false) => "magnify_causal_s16_f64",
        (Kind::U16, true, true) => "magnify_causal_u16_f32",
        (Kind::U16, false, true) => "magnify_causal_u16_f64",
        (Kind::U32, true, _) => "magnify_causal_u32_f32",
        (Kind::U32, false, _) => "magnify_causal_u32_f64",
        (Kind::F32, true, _) => "magnify_causal_f32_f32",
        (Kind::F32, false, _) => "magnify_causal_f32_f64",
    }
}
