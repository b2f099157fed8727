//! One chunk of frames on the card: which kernels run, in which order.

use std::collections::HashMap;
use std::ffi::c_void;

use jnd_cuda::{Arena, Context, Event, Kernel, MemoryPlan, Module, Part, Stream};

use super::args::*;
use super::memory::{ChainMemory, Kind, Layout, Store, luma_level};
use super::{DeviceFrames, KERNELS, Stage};
use crate::enlarge;
use crate::plan::{Chain, Enlarge, Level, Mix, Plan, Precision, Step, Temporal};
use crate::preset::Init;
use crate::{Error, Result};

mod fused;
mod ideal;

/// A level's values as a kernel reads them: some planes of it, the first of which is `first`.
struct Input {
    planes: Planes,
    kind: Kind,
    count: usize,
    first: usize,
    shift: i32,
    /// It is a level, and not the frame's own samples.
    level: bool,
}

/// Everything that is fixed once the memory is there.
pub(crate) struct Compute {
    plan: Plan,
    context: Context,
    kernels: HashMap<&'static str, Kernel>,
    layout: Layout,
    arena: Arena,
    chunk: usize,
    /// Index of the next frame since the start, the last reset or the beginning of the pass.
    index: u64,
    /// Chunks worked on since the start: states that are there twice change places with each.
    chunks: u64,
    timing: Option<Timing>,
    /// A stream for each chain but the first: chains share nothing, and small kernels leave room for each other.
    sides: Vec<(Stream, Event)>,
    fork: Event,
}

/// Device time of each stage.
struct Timing {
    events: Vec<Event>,
    used: usize,
    marks: Vec<(Stage, usize, usize)>,
}

fn ceil(a: usize, b: usize) -> u32 {
    a.div_ceil(b) as u32
}

impl Compute {
    /// Bytes on the card for chunks of `chunk` frames, the frames themselves not counted.
    pub(crate) fn plan_memory(plan: &Plan, chunk: usize) -> (MemoryPlan, Layout) {
        let mut memory = MemoryPlan::new();
        let layout = Layout::new(plan, chunk, &mut memory);
        (memory, layout)
    }

    pub(crate) fn new(plan: &Plan, context: &Context, chunk: usize, limit: Option<u64>) -> Result<Self> {
        let (memory, layout) = Self::plan_memory(plan, chunk);
        let arena = memory.allocate(context, limit)?;
        let module = Module::load(context, "jnd-magnify", KERNELS)?;
        let kernels = NAMES.iter().map(|n| Ok((*n, module.kernel(n)?))).collect::<jnd_cuda::Result<_>>()?;
        let sides = (1..layout.work.len())
            .map(|_| Ok((Stream::new(context, jnd_cuda::Priority::High)?, Event::new(context)?)))
            .collect::<jnd_cuda::Result<_>>()?;
        let mut compute = Self {
            plan: plan.clone(),
            context: context.clone(),
            kernels,
            layout,
            arena,
            chunk,
            index: 0,
            chunks: 0,
            timing: None,
            sides,
            fork: Event::new(context)?,
        };
        compute.fill()?;
        Ok(compute)
    }

    pub(crate) fn plan(&self) -> &Plan {
        &self.plan
    }

    fn chains(&self) -> &[Chain] {
        &self.layout.work
    }

    pub(crate) fn chunk(&self) -> usize {
        self.chunk
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.arena.bytes()
    }

    pub(crate) fn seen(&self) -> u64 {
        self.index
    }

    pub(crate) fn rewind(&mut self) {
        self.index = 0;
    }

    /// Writes the tables, once.
    fn fill(&mut self) -> Result<()> {
        let stream = Stream::new(&self.context, jnd_cuda::Priority::Normal)?;
        // Padding of rows is read along with them and never used; it must not stay undefined all the same.
        // SAFETY: the arena has that many bytes.
        unsafe { stream.fill(self.arena.buffer().ptr(), 0, self.arena.bytes() as usize) }?;
        let mut held: Vec<Vec<u8>> = Vec::new();
        let mut upload = |part: Part, bytes: Vec<u8>| -> Result<()> {
            debug_assert!(bytes.len() as u64 <= self.arena.part_bytes(part));
            // SAFETY: the part holds the table, which is kept until the stream is done.
            unsafe { stream.upload(self.arena.ptr(part), bytes.as_ptr(), bytes.len()) }?;
            held.push(bytes);
            Ok(())
        };
        if let (Some(m), Temporal::Projection { bins, cos, sin, .. }) =
            (self.layout.ideal, self.plan.temporal())
        {
            upload(m.cos, cos.iter().flat_map(|v| v.to_ne_bytes()).collect())?;
            upload(m.sin, sin.iter().flat_map(|v| v.to_ne_bytes()).collect())?;
            upload(m.bins, bins.iter().flat_map(|&v| (v as i64).to_ne_bytes()).collect())?;
        }
        for (chain, m) in self.chains().iter().zip(&self.layout.chains) {
            let (Some(to), Some(from)) = (chain.levels.first(), chain.levels.last()) else { continue };
            for (part, n, size) in [(m.across, from.width, to.width), (m.down, from.height, to.height)] {
                let Some(part) = part else { continue };
                let taps = enlarge::taps(n, size);
                let bytes = taps.iter().flat_map(|t| {
                    let t = BilinearTap { i: t.i as i32, j: t.j as i32, a: t.a, b: t.b };
                    let [i, j, a, b] =
                        [t.i.to_ne_bytes(), t.j.to_ne_bytes(), t.a.to_ne_bytes(), t.b.to_ne_bytes()];
                    [i, j, a, b].concat()
                });
                upload(part, bytes.collect())?;
            }
        }
        stream.synchronize()?;
        Ok(())
    }

    /// Measures the stages of the chunks to come.
    pub(crate) fn time_stages(&mut self, on: bool) {
        self.timing = on.then(|| Timing { events: Vec::new(), used: 0, marks: Vec::new() });
    }

    /// Milliseconds of each stage since the last call; the streams used are done.
    pub(crate) fn stage_times(&mut self) -> Result<Vec<(Stage, f64)>> {
        let Some(t) = &mut self.timing else { return Ok(Vec::new()) };
        let mut sums: Vec<(Stage, f64)> = Vec::new();
        for &(stage, a, b) in &t.marks {
            let ms = t.events[b].elapsed_ms(&t.events[a])?;
            match sums.iter_mut().find(|s| s.0 == stage) {
                Some(s) => s.1 += ms,
                None => sums.push((stage, ms)),
            }
        }
        t.marks.clear();
        t.used = 0;
        Ok(sums)
    }

    fn mark(&mut self, stream: &Stream) -> Result<usize> {
        let Some(t) = &mut self.timing else { return Ok(0) };
        if t.used == t.events.len() {
            t.events.push(Event::timed(&self.context)?);
        }
        stream.record(&t.events[t.used])?;
        t.used += 1;
        Ok(t.used - 1)
    }

    fn stage(&mut self, stream: &Stream, stage: Stage, since: &mut usize) -> Result<()> {
        if self.timing.is_some() {
            let now = self.mark(stream)?;
            if let Some(t) = &mut self.timing {
                t.marks.push((stage, *since, now));
            }
            *since = now;
        }
        Ok(())
    }

    /// Begins a chunk's work on all chains: the side streams wait for the caller's.
    fn fork(&self, stream: &Stream) -> Result<()> {
        if self.timing.is_none() && !self.sides.is_empty() {
            stream.record(&self.fork)?;
            self.sides.iter().try_for_each(|s| s.0.wait(&self.fork))?;
        }
        Ok(())
    }

    /// The stream of a chain: the caller's where stages are timed one by one.
    fn side<'a>(&'a self, stream: &'a Stream, c: usize) -> &'a Stream {
        if c == 0 || self.timing.is_some() { stream } else { &self.sides[c - 1].0 }
    }

    /// Ends a chunk's work: the caller's stream waits for the others.
    fn join(&self, stream: &Stream) -> Result<()> {
        if self.timing.is_none() {
            for (side, done) in &self.sides {
                side.record(done)?;
                stream.wait(done)?;
            }
        }
        Ok(())
    }

    fn at(&self, s: &Store) -> Planes {
        Planes { ptr: self.arena.ptr(s.part), ..s.shape }
    }

    fn launch(
        &self,
        stream: &Stream,
        name: &'static str,
        grid: (u32, u32, u32),
        block: (u32, u32, u32),
        shared: u32,
        params: &mut [*mut c_void],
    ) -> Result<()> {
        let missing = || jnd_cuda::Error::NoKernel { kernel: name.into(), module: "jnd-magnify" };
        let kernel = self.kernels.get(name).ok_or_else(missing)?;
        // SAFETY: every caller passes the structure that the kernel's file declares, made from this arena's parts and
        // from frames whose extent was checked; the geometry covers those.
        unsafe { kernel.launch(stream, grid, block, shared, params) }?;
        Ok(())
    }

    /// Planes of the frame's plane `p`.
    fn frames(&self, f: &DeviceFrames, p: usize, from: usize) -> Frames {
        let s = self.plan.source();
        let size = s.format.plane_size(p, s.width, s.height, jnd_video::ChromaRounding::Ceil);
        let plane = f.planes[p];
        let aligned = |v: u64| v.is_multiple_of(4);
        Frames {
            ptr: plane.ptr + (from * plane.frame) as u64,
            frame: plane.frame as i64,
            pitch: plane.pitch as i64,
            width: size.width as i32,
            height: size.height as i32,
            shift: s.format.shift() as i32,
            vec: i32::from(aligned(plane.ptr) && aligned(plane.frame as u64) && aligned(plane.pitch as u64)),
        }
    }

    /// The values of level `k`, some planes at a time.
    fn inputs(&self, chain: &Chain, m: &ChainMemory, k: usize, f: &DeviceFrames, from: usize) -> Vec<Input> {
        if let Some(s) = &m.levels[k].level {
            let planes = self.at(s);
            return vec![Input { planes, kind: s.kind, count: s.planes, first: 0, shift: 0, level: true }];
        }
        let bytes = self.plan.source().format.bytes_per_sample();
        let channels = chain.levels[0].channels;
        let kind = if bytes == 1 { Kind::U8 } else { Kind::U16 };
        chain
            .planes
            .iter()
            .enumerate()
            .map(|(i, &p)| {
                let x = self.frames(f, p, from);
                let planes = Planes {
                    ptr: x.ptr,
                    frame: x.frame / bytes as i64,
                    plane: 1,
                    pitch: (x.pitch / bytes as i64) as i32,
                    width: x.width,
                    height: x.height,
                    step: channels as i32,
                };
                Input { planes, kind, count: channels, first: i * channels, shift: x.shift, level: false }
            })
            .collect()
    }

    /// All levels from the frames.
    fn shrink(&self, stream: &Stream, c: usize, f: &DeviceFrames, from: usize, n: usize) -> Result<()> {
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

    fn mix_samples(
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

    fn luma(&self, stream: &Stream, kind: Kind, args: &LumaArgs, n: usize) -> Result<()> {
        let name = match kind {
            Kind::U8 => "magnify_luma_u8",
            Kind::U16 => "magnify_luma_u16",
            _ => "magnify_luma_u32",
        };
        let grid = (ceil(args.out.width as usize, 64), ceil(args.out.height as usize, 2), n as u32);
        self.launch(stream, name, grid, (64, 2, 1), 0, &mut one(args))
    }

    /// Rows a thread walks: many where there are many frames, few where one frame alone must fill the card.
    fn walk(&self, height: usize, columns: usize, planes: usize) -> usize {
        let warps = self.context.info().multiprocessors as usize * 32;
        let mut rows = 16;
        while rows > 2 && columns.max(1) * height.div_ceil(rows) * planes < warps {
            rows /= 2;
        }
        rows
    }

    fn shrink_first(
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

    fn shrink_level(&self, stream: &Stream, src: &Store, dst: &Store, scale: f32, n: usize) -> Result<()> {
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

    fn shrink_tail(&self, stream: &Stream, chain: &Chain, m: &ChainMemory, n: usize) -> Result<()> {
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

    fn tail_level(&self, l: &Level, store: Option<&Store>) -> TailLevel {
        let p = store.map_or(Planes::default(), |s| self.at(s));
        TailLevel {
            ptr: p.ptr,
            frame: p.frame,
            plane: p.plane,
            pitch: p.pitch,
            width: l.width as i32,
            height: l.height as i32,
            scale: 0.0,
        }
    }

    /// Whether level `k` of floats is filtered by the kernel that adds the enlarged change as well.
    fn enlarges(&self, c: usize, k: usize) -> bool {
        let (chain, m) = (&self.chains()[c], &self.layout.chains[c]);
        self.plan.precision() == Precision::F32 && chain.enlarge == Enlarge::Pyramid && k < m.tail
    }

    /// How the filters' states begin: as the kernels' `start`.
    fn start(&self) -> i32 {
        match (self.index, self.plan.settings().init) {
            (0, Init::First) => 1,
            (0, Init::Zero) => 2,
            _ => 0,
        }
    }

    /// Runs the temporal filter at level `k`; the result, with the enlarged change `up` if any, goes to `out`.
    fn filter(
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
        let real = super::memory::real_bytes(&self.plan) as u64;
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

    fn matrix(&self, stream: &Stream, chain: &Chain, x: &Store, n: usize) -> Result<()> {
        let Mix::Matrix(a) = chain.mix else { return Ok(()) };
        let args = MatrixArgs { x: self.at(x), order: chain.order.map(|i| i as i32), a: flat(a) };
        let grid = (ceil(x.shape.width as usize, 64), ceil(x.shape.height as usize, 2), n as u32);
        self.launch(stream, "magnify_matrix", grid, (64, 2, 1), 0, &mut one(&args))
    }

    /// From the coarsest level's filter to the change that the last pass enlarges; says which level's that is.
    fn change(&self, stream: &Stream, c: usize, f: &DeviceFrames, from: usize, n: usize) -> Result<usize> {
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
        let causal = matches!(self.plan.temporal(), Temporal::Causal { .. });
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

    fn enlarge(&self, stream: &Stream, up: &Store, out: &Store, n: usize, add: bool) -> Result<()> {
        let args =
            EnlargeArgs { up: self.at(up), out: self.at(out), count: out.planes as i32, add: i32::from(add) };
        let (w, h) = (out.shape.width as usize, out.shape.height as usize);
        let grid = (ceil(w.div_ceil(2), 32), ceil(h.div_ceil(2), 4), (n * out.planes) as u32);
        self.launch(stream, "magnify_enlarge", grid, (32, 4, 1), 0, &mut one(&args))
    }

    fn enlarge_tail(&self, stream: &Stream, chain: &Chain, m: &ChainMemory, n: usize) -> Result<()> {
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

    /// The last pass.
    fn render(
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

    fn check(&self, f: &DeviceFrames) -> Result<()> {
        f.check(self.plan.source())?;
        if let Temporal::Projection { frames, .. } = self.plan.temporal() {
            let (expected, seen) = (*frames as u64, self.index + f.count as u64);
            if seen > expected {
                return Err(Error::FrameCount { expected, seen });
            }
        }
        Ok(())
    }

    /// Magnifies some frames. `to` may be `f` itself.
    pub(crate) fn push(&mut self, stream: &Stream, f: &DeviceFrames, to: &DeviceFrames) -> Result<()> {
        self.check(f)?;
        to.check(self.plan.source())?;
        if to.count < f.count {
            return Err(Error::WrongLength { name: "output on the card", have: to.count, want: f.count });
        }
        let causal = matches!(self.plan.temporal(), Temporal::Causal { .. });
        let mut from = 0;
        while from < f.count {
            let n = even(f.count - from, self.chunk);
            let mut since = self.mark(stream)?;
            self.tables(stream, n, 2)?;
            self.fork(stream)?;
            for c in 0..self.chains().len() {
                if self.chains()[c].is_copy() {
                    self.copy(self.side(stream, c), c, f, to, from, n)?;
                    self.stage(stream, Stage::Copy, &mut since)?;
                    continue;
                }
                if causal {
                    self.shrink(self.side(stream, c), c, f, from, n)?;
                    self.stage(stream, Stage::Shrink, &mut since)?;
                }
                let level = if causal {
                    self.change(self.side(stream, c), c, f, from, n)?
                } else {
                    self.ideal_change(self.side(stream, c), c, n)?
                };
                self.stage(stream, Stage::Filter, &mut since)?;
                match self.layout.chains[c].fused {
                    Some(kind) => self.fused(self.side(stream, c), c, kind, f, to, from, n)?,
                    None => self.render(self.side(stream, c), c, level, f, to, from, n)?,
                }
                self.stage(stream, Stage::Render, &mut since)?;
            }
            self.join(stream)?;
            self.index += n as u64;
            self.chunks += 1;
            from += n;
        }
        Ok(())
    }

    /// A plane in which nothing is magnified.
    fn copy(
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

/// Frames of the next chunk, so that no chunk is longer than `chunk` and all are alike.
fn even(left: usize, chunk: usize) -> usize {
    left.div_ceil(left.div_ceil(chunk))
}

fn flat(a: [[f32; 3]; 3]) -> [f32; 9] {
    std::array::from_fn(|i| a[i / 3][i % 3])
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

/// Every kernel that is launched here.
const NAMES: &[&str] = &[
    "magnify_bilinear_u16_c1",
    "magnify_bilinear_u16_c2",
    "magnify_bilinear_u16_c3",
    "magnify_bilinear_u16_luma",
    "magnify_bilinear_u8_c1",
    "magnify_bilinear_u8_c2",
    "magnify_bilinear_u8_c3",
    "magnify_bilinear_u8_luma",
    "magnify_causal_f32_f32",
    "magnify_causal_f32_f64",
    "magnify_causal_level",
    "magnify_causal_mix_u16_f32",
    "magnify_causal_mix_u32_f32",
    "magnify_causal_u16_f32",
    "magnify_causal_u16_f64",
    "magnify_causal_u32_f32",
    "magnify_causal_u32_f64",
    "magnify_causal_s16_f32",
    "magnify_causal_s16_f64",
    "magnify_causal_s8_f32",
    "magnify_causal_s8_f64",
    "magnify_direct_u16_c1",
    "magnify_direct_u16_c2",
    "magnify_direct_u8_c1",
    "magnify_direct_u8_c2",
    "magnify_enlarge",
    "magnify_enlarge_tail",
    "magnify_fused_u16_c1",
    "magnify_fused_u16_c3",
    "magnify_fused_u8_c1",
    "magnify_fused_u8_c3",
    "magnify_luma_u16",
    "magnify_luma_u32",
    "magnify_luma_u8",
    "magnify_matrix",
    "magnify_render_u16_c1",
    "magnify_render_u16_c2",
    "magnify_render_u16_c3",
    "magnify_render_u16_luma",
    "magnify_render_u8_c1",
    "magnify_render_u8_c2",
    "magnify_render_u8_c3",
    "magnify_render_u8_luma",
    "magnify_shrink_level_f32",
    "magnify_shrink_level_u16",
    "magnify_shrink_level_u32",
    "magnify_shrink_rows_u16",
    "magnify_shrink_rows_u8",
    "magnify_shrink_tail_f32",
    "magnify_shrink_tail_u16",
    "magnify_shrink_tail_u32",
    "magnify_shrink_u16_c1",
    "magnify_shrink_u16_c2",
    "magnify_shrink_u16_c3",
    "magnify_shrink_u8_c1",
    "magnify_shrink_u8_c2",
    "magnify_shrink_u8_c3",
    "magnify_project_f32",
    "magnify_project_f64",
    "magnify_synthesise_f32",
    "magnify_synthesise_f64",
    "magnify_synthesise_mix_f32",
    "magnify_tables_f32",
    "magnify_tables_f64",
];
