//! One chunk of frames on the card: which kernels run, in which order.

use std::collections::HashMap;
use std::ffi::c_void;

use jnd_cuda::{Arena, Context, Event, Kernel, MemoryPlan, Module, Part, Stream};

use super::args::*;
use super::memory::{ChainMemory, Kind, Layout, Store};
use super::{DeviceFrames, KERNELS, Stage};
use crate::enlarge;
use crate::plan::{Chain, Level, Plan, Temporal};
use crate::preset::Init;
use crate::{Error, Result};

mod change;
mod fused;
mod ideal;
mod render;
mod shrink;
mod timing;

use timing::Timing;

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

    /// How the filters' states begin: as the kernels' `start`.
    fn start(&self) -> i32 {
        match (self.index, self.plan.settings().init) {
            (0, Init::First) => 1,
            (0, Init::Zero) => 2,
            _ => 0,
        }
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
        let causal = !self.plan.needs_two_passes();
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
}

/// Frames of the next chunk, so that no chunk is longer than `chunk` and all are alike.
pub(super) fn even(left: usize, chunk: usize) -> usize {
    left.div_ceil(left.div_ceil(chunk))
}

fn flat(a: [[f32; 3]; 3]) -> [f32; 9] {
    std::array::from_fn(|i| a[i / 3][i % 3])
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
