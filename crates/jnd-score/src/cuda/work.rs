//! What the card does for one job of a batch: its buffers and its launches.

use jnd_cuda::{Arena, Kernel, MemoryPlan, Module, Part, Stream, arg};

use super::params::{self, Frames};
use super::places::Places;
use crate::Result;
use crate::float_motion;
use crate::job::{Job, Outcome};
use crate::speed::Analyser;
use crate::speed::covariance::{BLOCK, LANES, WINDOWS};
use crate::speed::prescale::{Method, Scaler, Tap, scaled_side};

/// Numbers of a stored matrix.
const MATRIX: usize = WINDOWS * LANES;

/// Frames of a batch that a job computes: `count` of them from `start`, each `step` after the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Items {
    pub(super) start: usize,
    pub(super) step: usize,
    pub(super) count: usize,
}

impl Items {
    /// Of `frames` frames from `start`.
    fn new(start: usize, step: usize, frames: usize) -> Self {
        Self { start, step, count: frames.saturating_sub(start).div_ceil(step) }
    }

    /// The item of a frame, if it has one.
    fn of(&self, frame: usize) -> Option<usize> {
        let after = frame.checked_sub(self.start)?;
        let item = after / self.step;
        (after.is_multiple_of(self.step) && item < self.count).then_some(item)
    }
}

/// Device buffers of a job, and the place of its results.
#[derive(Debug)]
enum Buffers {
    Sad,
    FloatMotion { sums: Vec<Part>, half: Vec<Option<HalfBuffers>> },
    Speed(Box<SpeedBuffers>),
}

#[derive(Debug, Clone)]
struct HalfBuffers {
    sums: Part,
    columns: Part,
    rows: Part,
    scaler: Scaler,
}

#[derive(Debug)]
struct SpeedBuffers {
    antialias: Part,
    lowpass: Part,
    columns: Option<Part>,
    rows: Option<Part>,
    decimated: Part,
    centred: Part,
    means: Part,
    covariance: Part,
    eigen: Part,
    q: Part,
    r: Part,
    vanishes: Part,
    variance: Part,
    entropy: Part,
    singular: Part,
}

/// A job on the card.
#[derive(Debug)]
pub(super) struct Work {
    job: Job,
    buffers: Buffers,
    /// Bytes from the start of a batch's results.
    results: usize,
    batch: usize,
    /// Frames from one that is reported to the next.
    subsample: usize,
}

/// The kernels of the crate.
#[derive(Debug)]
pub(super) struct Kernels {
    motion: Kernel,
    float_motion: Kernel,
    float_motion_half: Kernel,
    float_motion_total: Kernel,
    decimate: Kernel,
    decimate_difference: Kernel,
    decimate_scaled: Kernel,
    centre: Kernel,
    means: Kernel,
    covariance: Kernel,
    decompose: Kernel,
    entropy: Kernel,
    pair: Kernel,
    pub(super) place: Kernel,
    /// Bytes of shared memory that a block may have.
    shared: u32,
    multiprocessors: u32,
}

impl Kernels {
    /// For samples of one or two bytes.
    pub(super) fn new(module: &Module, sample: usize) -> Result<Self> {
        let typed = |narrow, wide| module.kernel(if sample == 1 { narrow } else { wide });
        let kernels = Self {
            motion: typed("score_motion_u8", "score_motion_u16")?,
            float_motion: typed("score_float_motion_u8", "score_float_motion_u16")?,
            float_motion_half: typed("score_float_motion_half_u8", "score_float_motion_half_u16")?,
            float_motion_total: module.kernel("score_float_motion_total")?,
            decimate: typed("score_decimate_u8", "score_decimate_u16")?,
            decimate_difference: typed("score_decimate_difference_u8", "score_decimate_difference_u16")?,
            decimate_scaled: typed("score_decimate_scaled_u8", "score_decimate_scaled_u16")?,
            centre: module.kernel("score_centre")?,
            means: module.kernel("score_means")?,
            covariance: module.kernel("score_covariance")?,
            decompose: module.kernel("score_decompose")?,
            entropy: module.kernel("score_entropy")?,
            pair: module.kernel("score_pair")?,
            place: module.kernel("score_place")?,
            shared: module.context().info().shared_bytes,
            multiprocessors: module.context().info().multiprocessors,
        };
        Ok(kernels)
    }

    /// Allows the kernels of a job the shared memory they need beyond what every kernel may have.
    fn allow(&self, job: &Job) -> Result<()> {
        if let Some(speed) = speed_job(job) {
            let (bytes, staged) = self.means_shared(speed.analyser);
            if staged && bytes > 48 << 10 {
                self.means.allow_shared(bytes)?;
            }
        }
        Ok(())
    }

    /// Shared memory with which the rows pass to the means, and whether there is enough.
    fn means_shared(&self, analyser: &Analyser) -> (u32, bool) {
        let n = analyser.sizes().windows.width + BLOCK - 1;
        let pitch = (n + 26) / 32 * 32 + 5;
        let bytes = (6 * pitch * size_of::<f32>()) as u32;
        (bytes, bytes <= self.shared)
    }
}

/// Called after each launch with the stage's name; timing records an event there.
pub(super) type Mark<'a> = &'a mut dyn FnMut(&'static str, &Stream) -> Result<()>;

/// What a batch's launches have in common.
#[derive(Debug, Clone, Copy)]
pub(super) struct Batch {
    /// Index of the first frame in the clip.
    pub(super) first: u64,
    /// Frames.
    pub(super) frames: usize,
    /// The ring, with the batch's first frame in it.
    pub(super) ring: Frames,
    /// Device address of the results.
    pub(super) results: u64,
}

struct SpeedJob<'a> {
    analyser: &'a Analyser,
    /// Planes of a frame.
    planes: usize,
    mode: i64,
    /// Index of the first frame that can be computed.
    from: u64,
}

fn speed_job(job: &Job) -> Option<SpeedJob<'_>> {
    match job {
        Job::Chroma { analyser, mode } => Some(SpeedJob { analyser, planes: 4, mode: *mode, from: 0 }),
        Job::Temporal { analyser, .. } => Some(SpeedJob { analyser, planes: 2, mode: 0, from: 1 }),
        _ => None,
    }
}

fn float_planes(options: &crate::FloatMotionOptions) -> usize {
    if options.add_uv { 3 } else { 1 }
}

impl Work {
    /// Adds the buffers of a job to the plan, and its results to `results`.
    pub(super) fn new(
        job: Job,
        places: &Places,
        batch: usize,
        subsample: u64,
        plan: &mut MemoryPlan,
        results: &mut usize,
    ) -> Self {
        let at = *results;
        let bytes = |n: usize, size: usize| (n as u64).saturating_mul(size as u64);
        let buffers = match &job {
            Job::Sad { .. } => {
                *results += 8 * batch;
                Buffers::Sad
            }
            Job::FloatMotion { options, .. } => {
                let (mut sums, mut half) = (Vec::new(), Vec::new());
                for i in 0..float_planes(options) {
                    let p = places.plane(0, i);
                    sums.push(plan.add("row sums", bytes(batch * p.height, 4)));
                    half.push(options.add_scale1.then(|| {
                        let to = (scaled_side(p.width, 0.5), scaled_side(p.height, 0.5));
                        let scaler = Scaler::new((p.width, p.height), to, Method::Bilinear);
                        HalfBuffers {
                            sums: plan.add("row sums", bytes(batch * to.1, 4)),
                            columns: plan.add("scaler", bytes(scaler.columns().len(), size_of::<Tap>())),
                            rows: plan.add("scaler", bytes(scaler.rows().len(), size_of::<Tap>())),
                            scaler,
                        }
                    }));
                }
                *results += 4 * batch * float_planes(options);
                Buffers::FloatMotion { sums, half }
            }
            Job::Chroma { analyser, .. } | Job::Temporal { analyser, .. } => {
                let per_frame = speed_job(&job).map_or(0, |s| s.planes);
                let planes = batch * per_frame;
                let s = analyser.sizes();
                let samples = s.decimated.0 * s.decimated.1;
                let blocks = s.blocks.count();
                *results += size_of::<params::PairScore>() * batch * per_frame / 2;
                let scaler = |plan: &mut MemoryPlan, taps: fn(&Scaler) -> &[Tap]| {
                    analyser.scaler().map(|s| plan.add("scaler", bytes(taps(s).len(), size_of::<Tap>())))
                };
                Buffers::Speed(Box::new(SpeedBuffers {
                    antialias: plan.add("taps", bytes(analyser.taps().antialias.len(), 4)),
                    lowpass: plan.add("taps", bytes(analyser.taps().lowpass.len(), 4)),
                    columns: scaler(plan, Scaler::columns),
                    rows: scaler(plan, Scaler::rows),
                    decimated: plan.add("decimated planes", bytes(planes * samples, 4)),
                    centred: plan.add("centred planes", bytes(planes * samples, 4)),
                    means: plan.add("means", bytes(planes * LANES, 4)),
                    covariance: plan.add("matrices", bytes(planes * MATRIX, 4)),
                    eigen: plan.add("matrices", bytes(planes * LANES, 4)),
                    q: plan.add("matrices", bytes(planes * MATRIX, 4)),
                    r: plan.add("matrices", bytes(planes * MATRIX, 4)),
                    vanishes: plan.add("matrices", bytes(planes, 4)),
                    variance: plan.add("block statistics", bytes(planes * blocks, 4)),
                    entropy: plan.add("block statistics", bytes(planes * blocks, 4)),
                    singular: plan.add("matrices", bytes(planes, 4)),
                }))
            }
        };
        *results = results.next_multiple_of(8);
        Self { job, buffers, results: at, batch, subsample: usize::try_from(subsample).unwrap_or(usize::MAX) }
    }

    /// Brings the tables of the job to the card and waits for it.
    pub(super) fn prepare(&self, kernels: &Kernels, arena: &Arena, stream: &Stream) -> Result<()> {
        kernels.allow(&self.job)?;
        let taps = |part: Part, values: &[Tap]| -> Result<()> {
            // SAFETY: the part has the size of the table, which outlives the wait below; a Tap is plain data.
            Ok(unsafe { stream.upload(arena.ptr(part), values.as_ptr().cast(), size_of_val(values)) }?)
        };
        let floats = |part: Part, values: &[f32]| -> Result<()> {
            // SAFETY: as above.
            Ok(unsafe { stream.upload(arena.ptr(part), values.as_ptr().cast(), size_of_val(values)) }?)
        };
        match &self.buffers {
            Buffers::Sad => {}
            Buffers::FloatMotion { half, .. } => {
                for h in half.iter().flatten() {
                    taps(h.columns, h.scaler.columns())?;
                    taps(h.rows, h.scaler.rows())?;
                }
            }
            Buffers::Speed(b) => {
                if let Some(s) = speed_job(&self.job) {
                    floats(b.antialias, &s.analyser.taps().antialias)?;
                    floats(b.lowpass, &s.analyser.taps().lowpass)?;
                    if let (Some(c), Some(r), Some(scaler)) = (b.columns, b.rows, s.analyser.scaler()) {
                        taps(c, scaler.columns())?;
                        taps(r, scaler.rows())?;
                    }
                }
            }
        }
        Ok(stream.synchronize()?)
    }

    /// The frames of a batch that this job computes.
    fn items(&self, batch: &Batch) -> Items {
        let from = |needed: u64| usize::try_from(needed.saturating_sub(batch.first)).unwrap_or(usize::MAX);
        match &self.job {
            Job::Sad { stride, .. } => Items::new(from(*stride as u64), 1, batch.frames),
            Job::FloatMotion { .. } | Job::Temporal { .. } => Items::new(from(1), 1, batch.frames),
            Job::Chroma { .. } => {
                let into = (batch.first % self.subsample as u64) as usize;
                let start = if into == 0 { 0 } else { self.subsample - into };
                Items::new(start, self.subsample, batch.frames)
            }
        }
    }

    /// Queues everything for a batch; returns the number of launches.
    pub(super) fn launch(
        &self,
        kernels: &Kernels,
        arena: &Arena,
        places: &Places,
        batch: &Batch,
        stream: &Stream,
        mark: Mark<'_>,
    ) -> Result<usize> {
        let items = self.items(batch);
        if items.count == 0 {
            return Ok(0);
        }
        match (&self.job, &self.buffers) {
            (Job::Sad { stride, shift }, _) => {
                let p = places.plane(0, 0);
                let groups = p.height.div_ceil(params::MOTION_ROWS);
                let m = params::Motion {
                    frames: batch.ring,
                    offset: p.offset as i64,
                    pitch: p.pitch as i32,
                    width: p.width as i32,
                    height: p.height as i32,
                    stride: *stride as i32,
                    start: items.start as i32,
                    shift: *shift as i32,
                    rows: p.height.div_ceil(groups) as i32,
                    out: batch.results + self.results as u64,
                };
                let grid = (
                    items.count as u32,
                    p.width.div_ceil(params::MOTION_COLUMNS) as u32,
                    groups.div_ceil(params::MOTION_WARPS) as u32,
                );
                // SAFETY: the parameters are the kernel's; the ring holds the batch's frames and `stride` before them,
                // and the results have a zero for each.
                unsafe { kernels.motion.launch(stream, grid, (128, 1, 1), 0, &mut [arg(&m)]) }?;
                mark("motion", stream)?;
                Ok(1)
            }
            (Job::FloatMotion { options, conversion }, Buffers::FloatMotion { sums, half }) => {
                let taps = float_motion::taps(options.filter_size);
                let mut launches = 0;
                for (i, (sums, half)) in sums.iter().zip(half).enumerate() {
                    let p = places.plane(0, i);
                    let mut m = params::FloatMotion {
                        frames: batch.ring,
                        offset: p.offset as i64,
                        pitch: p.pitch as i32,
                        width: p.width as i32,
                        height: p.height as i32,
                        start: items.start as i32,
                        scale: conversion.scale,
                        taps: [taps[0], taps[1], taps[2]],
                        half_width: 0,
                        half_height: 0,
                        columns: 0,
                        rows: 0,
                        sums: arena.ptr(*sums),
                    };
                    let mut total = params::FloatMotionTotal {
                        sums: m.sums,
                        half_sums: 0,
                        width: m.width,
                        height: m.height,
                        half_width: 0,
                        half_height: 0,
                        out: batch.results + (self.results + 4 * self.batch * i) as u64,
                    };
                    let grid = |h: usize| (items.count as u32, h.div_ceil(params::FLOAT_ROWS) as u32, 1);
                    // SAFETY: the parameters are the kernel's; the ring holds the batch's frames and the one before, the
                    // part a sum for each of their rows.
                    unsafe {
                        kernels.float_motion.launch(stream, grid(p.height), (256, 1, 1), 0, &mut [arg(&m)])
                    }?;
                    mark("row sums", stream)?;
                    if let Some(h) = half {
                        let (w2, h2) = h.scaler.size();
                        (m.half_width, m.half_height) = (w2 as i32, h2 as i32);
                        (m.columns, m.rows) = (arena.ptr(h.columns), arena.ptr(h.rows));
                        m.sums = arena.ptr(h.sums);
                        (total.half_width, total.half_height, total.half_sums) =
                            (m.half_width, m.half_height, m.sums);
                        // SAFETY: as above; the tables have two taps a column and a row.
                        unsafe {
                            kernels.float_motion_half.launch(stream, grid(h2), (256, 1, 1), 0, &mut [arg(&m)])
                        }?;
                        mark("row sums, half size", stream)?;
                        launches += 1;
                    }
                    let grid = (items.count as u32, 1, 1);
                    // SAFETY: the parameters are the kernel's; the results have a number for each pair.
                    unsafe {
                        kernels.float_motion_total.launch(stream, grid, (256, 1, 1), 0, &mut [arg(&total)])
                    }?;
                    mark("totals", stream)?;
                    launches += 2;
                }
                Ok(launches)
            }
            (job, Buffers::Speed(buffers)) => {
                let Some(speed) = speed_job(job) else { return Ok(0) };
                self.launch_speed(&speed, buffers, &items, kernels, arena, places, batch, stream, mark)
            }
            _ => Ok(0),
        }
    }

    fn launch_speed(
        &self,
        speed: &SpeedJob<'_>,
        b: &SpeedBuffers,
        items: &Items,
        kernels: &Kernels,
        arena: &Arena,
        places: &Places,
        batch: &Batch,
        stream: &Stream,
        mark: Mark<'_>,
    ) -> Result<usize> {
        let analyser = speed.analyser;
        let s = analyser.sizes();
        let plane = places.plane(0, if speed.planes == 4 { 1 } else { 0 });
        let offset = |side: usize, i: usize| places.plane(side, i).offset as i64;
        let (minuend, subtrahend) = match &self.job {
            Job::Temporal { use_ref_diff, .. } => {
                let minus = if *use_ref_diff { offset(0, 0) } else { offset(1, 0) };
                ([offset(0, 0), offset(1, 0), 0, 0], [offset(0, 0), minus, 0, 0])
            }
            _ => ([offset(0, 1), offset(1, 1), offset(0, 2), offset(1, 2)], [0; 4]),
        };
        let difference = speed.from > 0;
        let scaler = analyser.scaler().filter(|s| s.size() != (plane.width, plane.height));
        let ptr = |part: Option<Part>| part.map_or(0, |p| arena.ptr(p));
        let planes = (items.count * speed.planes) as u32;
        let decimate = params::Decimate {
            frames: batch.ring,
            minuend,
            subtrahend,
            minuend_frame: if difference { -1 } else { 0 },
            difference: i32::from(difference),
            planes: speed.planes as i32,
            start: items.start as i32,
            step: items.step.min(i32::MAX as usize) as i32,
            pitch: plane.pitch as i32,
            width: plane.width as i32,
            height: plane.height as i32,
            scale: analyser.conversion().scale,
            scaled_width: s.scaled.0 as i32,
            scaled_height: s.scaled.1 as i32,
            method_taps: scaler.map_or(0, |s| s.method().taps() as i32),
            normalise: i32::from(scaler.is_some_and(|s| s.method() == Method::Lanczos4)),
            columns: ptr(b.columns),
            rows: ptr(b.rows),
            taps_count: analyser.taps().antialias.len() as i32,
            taps: arena.ptr(b.antialias),
            out_width: s.decimated.0 as i32,
            out_height: s.decimated.1 as i32,
            out: arena.ptr(b.decimated),
        };
        let kernel = match (scaler, difference) {
            (Some(_), _) => &kernels.decimate_scaled,
            (None, true) => &kernels.decimate_difference,
            (None, false) => &kernels.decimate,
        };
        let (wo, ho) = s.decimated;
        let grid = (wo.div_ceil(params::KEPT) as u32, ho as u32, planes);
        // SAFETY: for this launch and those below, the parameters are the kernels'; every part holds what `new` counted for
        // a whole batch of planes, and the ring the batch's frames and the one before.
        unsafe { kernel.launch(stream, grid, (192, 1, 1), 0, &mut [arg(&decimate)]) }?;
        mark("decimate", stream)?;
        let centre = params::Centre {
            width: wo as i32,
            height: ho as i32,
            taps_count: analyser.taps().lowpass.len() as i32,
            taps: arena.ptr(b.lowpass),
            plane: arena.ptr(b.decimated),
            out: arena.ptr(b.centred),
        };
        let grid = ((wo * ho).div_ceil(256) as u32, planes, 1);
        // SAFETY: as above.
        unsafe { kernels.centre.launch(stream, grid, (256, 1, 1), 0, &mut [arg(&centre)]) }?;
        mark("centre", stream)?;
        let (shared, staged) = kernels.means_shared(analyser);
        let covariance = params::Covariance {
            plane: arena.ptr(b.centred),
            stride: wo as i32,
            plane_height: ho as i32,
            width: s.windows.width as i32,
            height: s.windows.height as i32,
            staged: i32::from(staged),
            means: arena.ptr(b.means),
            out: arena.ptr(b.covariance),
        };
        let one = (planes, 1, 1);
        // With too few planes for the multiprocessors, two of them share a plane's sums.
        let parts = (planes, if 2 * planes <= kernels.multiprocessors { 2 } else { 1 }, 1);
        let shared = if staged { shared } else { 0 };
        // SAFETY: as above; the shared memory is what the kernel asks for.
        unsafe { kernels.means.launch(stream, one, (288, 1, 1), shared, &mut [arg(&covariance)]) }?;
        mark("means", stream)?;
        // SAFETY: as above.
        unsafe { kernels.covariance.launch(stream, parts, (512, 1, 1), 0, &mut [arg(&covariance)]) }?;
        mark("covariance", stream)?;
        let eigen = params::Eigen { covariance: covariance.out, out: arena.ptr(b.eigen) };
        let factor = params::Factor {
            covariance: covariance.out,
            q: arena.ptr(b.q),
            r: arena.ptr(b.r),
            vanishes: arena.ptr(b.vanishes),
        };
        let halves = (planes, 2, 1);
        // SAFETY: as above.
        unsafe {
            kernels.decompose.launch(stream, halves, (256, 1, 1), 0, &mut [arg(&eigen), arg(&factor)])
        }?;
        mark("eigenvalues, factors", stream)?;
        let entropy = params::Entropy {
            plane: covariance.plane,
            stride: wo as i32,
            plane_height: ho as i32,
            columns: s.blocks.columns as i32,
            rows: s.blocks.rows as i32,
            sigma: analyser.sigma(),
            q: factor.q,
            r: factor.r,
            vanishes: factor.vanishes,
            eigen: eigen.out,
            variance: arena.ptr(b.variance),
            entropy: arena.ptr(b.entropy),
            singular: arena.ptr(b.singular),
        };
        let grid = (s.blocks.count().div_ceil(128) as u32, planes, 1);
        // SAFETY: as above.
        unsafe { kernels.entropy.launch(stream, grid, (128, 1, 1), 0, &mut [arg(&entropy)]) }?;
        mark("entropy", stream)?;
        let pair = params::Score {
            variance: entropy.variance,
            entropy: entropy.entropy,
            singular: entropy.singular,
            blocks: s.blocks.count() as i32,
            base: analyser.base(),
            mode: speed.mode as i32,
            out: batch.results + self.results as u64,
        };
        // SAFETY: as above; the results have a score for each pair of planes.
        unsafe { kernels.pair.launch(stream, (planes / 2, 1, 1), (256, 1, 1), 0, &mut [arg(&pair)]) }?;
        mark("score", stream)?;
        Ok(7)
    }

    /// The feature that the job computes.
    pub(super) fn feature(&self) -> &'static str {
        match self.job {
            Job::Sad { .. } => "motion",
            Job::FloatMotion { .. } => "float_motion",
            Job::Chroma { .. } => "speed_chroma",
            Job::Temporal { .. } => "speed_temporal",
        }
    }

    /// What the job gave for frame `frame` of a batch, from the batch's results.
    pub(super) fn outcome(&self, batch: &Batch, frame: usize, results: &[u8]) -> Outcome {
        let items = self.items(batch);
        let Some(item) = items.of(frame) else { return Outcome::Nothing };
        let word = |at: usize| u32::from_ne_bytes(std::array::from_fn(|k| results[self.results + at + k]));
        let single = |at: usize| f32::from_bits(word(at));
        match &self.job {
            Job::Sad { .. } => Outcome::Sad(u64::from_ne_bytes(std::array::from_fn(|k| {
                results[self.results + 8 * item + k]
            }))),
            Job::FloatMotion { options, .. } => {
                let plane = |i: usize| f64::from(single(4 * (self.batch * i + item)));
                let mut score = plane(0);
                if options.add_uv {
                    score += plane(1);
                    score += plane(2);
                }
                Outcome::Float(score)
            }
            Job::Chroma { .. } => Outcome::Chroma {
                u: single(16 * item),
                v: single(16 * item + 8),
                u_failed: word(16 * item + 4) != 0,
                v_failed: word(16 * item + 12) != 0,
            },
            Job::Temporal { .. } => Outcome::Float(f64::from(single(8 * item))),
        }
    }
}
