//! The order of a frame's work. Every band of every chain shrinks; whoever ends a chain's last band computes its coarse
//! levels; every band renders. Threads take these jobs in order, so that one chain's coarse levels are made beside the
//! next one's bands, and wait only for a chain's coarse levels and for the frame's end. Nothing is allocated.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Instant;

use arrayvec::ArrayVec;
use jnd_video::{FrameRef, Plane, simd};

use crate::band::{ChainBand, Clip, Coarse, Target};
use crate::bench::Times;
use crate::layout;
use crate::pixel::Pixel;
use crate::plan::{Chain, Plan, Temporal};
use crate::pool::{Bell, Pool};
use crate::preset::Init;
use crate::state::{Moment, Tables};
use crate::temporal::Ideal;
use crate::{Error, Result};

/// Pictures whose frames have fewer samples than this are magnified on the calling thread alone: waking another one
/// and waiting for it costs as much as it would save.
const SMALL: usize = 16_384;

/// Most frames that are worked on at a time.
pub(crate) const MAX_BATCH: usize = 4;

/// Threads that a plan's frames are worth, of `threads` that may be used.
pub(crate) fn useful_threads(plan: &Plan, threads: usize) -> usize {
    let s = plan.source();
    let samples = s.format.frame_samples(s.width, s.height, jnd_video::ChromaRounding::Ceil);
    if samples < SMALL { 1 } else { threads }
}

/// What the engine keeps of a chain between frames.
struct ChainState<S: Pixel, P> {
    bands: Vec<Mutex<ChainBand<S, P>>>,
    /// Output rows of each band.
    rows: Vec<usize>,
    coarse: RwLock<Coarse<S, P>>,
    /// Bands that have not shrunk the current frames yet.
    left: AtomicUsize,
    /// The coarse levels of the current frames are there.
    ready: AtomicBool,
}

impl<S: Pixel, P> ChainState<S, P> {
    fn band(&self, b: usize) -> MutexGuard<'_, ChainBand<S, P>> {
        self.bands[b].lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn coarse(&self) -> RwLockReadGuard<'_, Coarse<S, P>> {
        self.coarse.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn coarse_mut(&self) -> RwLockWriteGuard<'_, Coarse<S, P>> {
        self.coarse.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Everything a magnifier keeps between frames.
pub(crate) struct Engine<S: Pixel, P> {
    plan: Plan,
    simd: simd::Level,
    pool: Pool,
    threads: usize,
    /// Most frames at a time.
    batch: usize,
    chains: Vec<ChainState<S, P>>,
    /// Rung when a chain's coarse levels are there.
    bell: Bell,
    tables: Tables<P>,
    /// Index of the next frame.
    index: u64,
    /// Rows above the first band of each plane.
    above: [usize; 3],
    spent: Spent,
}

/// Nanoseconds that the threads have spent on each kind of job, all together.
#[derive(Default)]
struct Spent {
    shrink: AtomicU64,
    coarse: AtomicU64,
    render: AtomicU64,
    wait: AtomicU64,
}

/// Adds the time since `*from` to a counter, and moves `*from` to now.
fn note(counter: &AtomicU64, from: &mut Instant) {
    let now = Instant::now();
    counter.fetch_add((now - *from).as_nanos() as u64, Ordering::Relaxed);
    *from = now;
}

/// Bytes an engine needs for a strip.
pub(crate) fn need<S: Pixel>(plan: &Plan, strip: &Range<usize>, bands: usize, batch: usize) -> u64 {
    let layouts = layout::divide(plan, strip, useful_threads(plan, bands));
    plan.chains()
        .iter()
        .zip(&layouts)
        .map(|(chain, l)| {
            // The size of the states does not depend on this type parameter but on the plan.
            let bands: u64 = l.bands.iter().map(|b| ChainBand::<S, f32>::bytes(plan, chain, b, batch)).sum();
            bands + Coarse::<S, f32>::bytes(plan, chain, l, batch)
        })
        .sum::<u64>()
        + match plan.temporal() {
            Temporal::Causal { .. } => 0,
            Temporal::Projection { frames, bins, .. } => 16 * (*frames as u64 + 8 * bins.len() as u64),
        }
}

/// What the public type asks of an engine of any sample and state type.
pub(crate) trait Work: Send {
    /// Takes a frame into the ideal filter's projections.
    fn observe(&mut self, frame: &FrameRef<'_>, last: bool) -> Result<()>;
    /// Magnifies some frames, at most as many as the engine was made for.
    fn push(&mut self, frames: &[FrameRef<'_>], target: Out<'_, '_>) -> Result<()>;
    /// Starts from the first frame again; `forget` clears all memory of the frames before.
    fn rewind(&mut self, forget: bool);
    /// Time spent so far.
    fn times(&self) -> Times;
    /// Works on another strip from now on.
    fn restrict(&mut self, strip: &Range<usize>);
}

/// Where the caller wants the rows.
pub(crate) enum Out<'a, 'b> {
    /// As many frames as there are.
    Integer(&'a mut [jnd_video::FrameMut<'b>]),
    /// Of a single frame.
    Float(&'a mut [jnd_video::PlaneMut<'b, f32>; 3]),
}

/// The targets of a batch.
type Targets<'t, S> = ArrayVec<Target<'t, S>, MAX_BATCH>;

/// What the frames of a batch go through.
struct Frames<'f, 'p, S> {
    planes: &'f [[Plane<'p, S>; 3]],
    /// Whether levels are made from them; the ideal filter's second pass needs none.
    shrink: bool,
    /// Pass one of the ideal filter, which takes single frames, and whether the frame is its last.
    observed: Option<bool>,
}

/// Jobs that are still to be done for a batch: stages of chains, band by band.
struct Queue<'t, S> {
    stage: usize,
    /// Bands left of that stage.
    bands: Range<usize>,
    /// Rows still to be given out, of each frame; none when nothing is rendered.
    targets: Targets<'t, S>,
}

impl<S> Queue<'_, S> {
    /// The next band. Every second thread begins at the far end: with two threads each always gets the same bands, which
    /// its cache still holds.
    fn take(&mut self, thread: usize) -> Option<usize> {
        if thread.is_multiple_of(2) { self.bands.next() } else { self.bands.next_back() }
    }
}

/// What is done at a stage: whether a chain is rendered, or its levels are made, and which chain; `None` after the last.
///
/// A thread alone goes through one chain after another, whose levels and samples it then still has in its cache. Where
/// there are more, the next chain's levels are made before a chain is rendered, while one of them makes its coarse levels.
fn stage(n: usize, chains: usize, threads: usize, renders: bool) -> Option<(bool, usize)> {
    let (render, chain) = match n {
        _ if !renders => (false, n),
        _ if threads == 1 => (!n.is_multiple_of(2), n / 2),
        0 => (false, 0),
        // The last one has no levels to be made before it.
        _ if n + 1 >= 2 * chains => (true, n / 2),
        _ if n.is_multiple_of(2) => (true, n / 2 - 1),
        _ => (false, n.div_ceil(2)),
    };
    (chain < chains).then_some((render, chain))
}

/// A job taken from the queue.
struct Job<'t, S> {
    chain: usize,
    band: usize,
    /// The band's rows of each frame, where it is to be rendered; its levels are to be made where there are none.
    targets: Targets<'t, S>,
}

/// Lets waiting threads go when a thread panics in the middle of a frame.
struct Abandon<'a>(&'a AtomicBool, &'a Bell);

impl Drop for Abandon<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(true, Ordering::Release);
            self.1.ring();
        }
    }
}

impl<S: Pixel, P: Ideal> Engine<S, P> {
    pub(crate) fn new(
        plan: &Plan,
        simd: simd::Level,
        threads: usize,
        batch: usize,
        strip: &Range<usize>,
    ) -> Result<Self> {
        let threads = useful_threads(plan, threads);
        let mut engine = Self {
            plan: plan.clone(),
            simd,
            pool: Pool::new(threads).map_err(Error::Threads)?,
            threads,
            batch: batch.clamp(1, MAX_BATCH),
            chains: Vec::new(),
            bell: Bell::default(),
            tables: Tables::new(plan),
            index: 0,
            above: [0; 3],
            spent: Spent::default(),
        };
        engine.build(strip);
        Ok(engine)
    }

    fn build(&mut self, strip: &Range<usize>) {
        // Free the old strip's memory first.
        self.chains.clear();
        let Self { plan, chains, above, threads, batch, .. } = self;
        *above = [0; 3];
        for (chain, l) in plan.chains().iter().zip(&layout::divide(plan, strip, *threads)) {
            let bands = l.bands.iter().map(|b| Mutex::new(ChainBand::new(plan, chain, b, *batch)));
            chains.push(ChainState {
                bands: bands.collect(),
                rows: l.bands.iter().map(|b| b.out.len()).collect(),
                coarse: RwLock::new(Coarse::new(plan, chain, l, *batch)),
                left: AtomicUsize::new(0),
                ready: AtomicBool::new(false),
            });
            for &p in &chain.planes {
                above[p] = l.bands.first().map_or(0, |b| b.out.start);
            }
        }
        self.index = 0;
    }

    fn frame<'a>(&self, frame: &FrameRef<'a>) -> Result<[Plane<'a, S>; 3]> {
        S::planes(frame.planes()).ok_or_else(|| Error::WrongFrame {
            have: frame.format().to_string(),
            want: self.plan.source().format.to_string(),
        })
    }

    /// Does the jobs of a batch on all threads, and goes on to the next frame.
    fn run(&mut self, frames: &Frames<'_, '_, S>, targets: Targets<'_, S>) {
        let renders = !targets.is_empty();
        for (chain, c) in self.plan.chains().iter().zip(&mut self.chains) {
            *c.left.get_mut() = if frames.shrink { self.threads } else { 1 };
            *c.ready.get_mut() = chain.is_copy();
        }
        let targets = targets.into_iter().map(|t| t.below(self.above)).collect();
        let bands = if frames.shrink { 0..self.threads } else { 0..1 };
        let queue = Mutex::new(Queue { stage: 0, bands, targets });
        let abandoned = AtomicBool::new(false);
        let this = &*self;
        this.pool.run(&|thread| {
            let _abandon = Abandon(&abandoned, &this.bell);
            this.take_jobs(thread, frames, &queue, &abandoned);
        });
        if renders {
            for c in &mut self.chains {
                c.coarse.get_mut().unwrap_or_else(PoisonError::into_inner).advance(frames.planes.len());
            }
        }
        self.index += frames.planes.len() as u64;
    }

    /// The next job for a thread.
    fn next<'t>(&self, thread: usize, shrink: bool, queue: &Mutex<Queue<'t, S>>) -> Option<Job<'t, S>> {
        let mut q = queue.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let renders = !q.targets.is_empty();
            let stage = |n| stage(n, self.chains.len(), self.threads, renders);
            let (rendering, chain) = stage(q.stage)?;
            if let Some(band) = q.take(thread) {
                if !rendering {
                    return Some(Job { chain, band, targets: ArrayVec::new() });
                }
                let rows = &self.chains[chain].rows;
                // Off the front, or off the back, behind what is left.
                let before = if thread.is_multiple_of(2) { 0 } else { rows[q.bands.clone()].iter().sum() };
                let planes = &self.plan.chains()[chain].planes;
                let targets = q.targets.iter_mut().map(|t| t.cut(planes, before, rows[band])).collect();
                return Some(Job { chain, band, targets });
            }
            let (rendering, _) = stage(q.stage + 1)?;
            q.stage += 1;
            q.bands = if rendering || shrink { 0..self.threads } else { 0..1 };
        }
    }

    /// One thread's part of a batch.
    fn take_jobs(
        &self,
        thread: usize,
        frames: &Frames<'_, '_, S>,
        queue: &Mutex<Queue<'_, S>>,
        abandoned: &AtomicBool,
    ) {
        let chains = self.plan.chains();
        let clip = Clip::new(&self.plan);
        let black = self.plan.settings().init == Init::Zero;
        let m = Moment { simd: self.simd, index: self.index, place: 0, black, tables: &self.tables };
        let mut clock = Instant::now();
        while let Some(job) = self.next(thread, frames.shrink, queue) {
            let Job { chain, band, mut targets } = job;
            let (chain, state) = (&chains[chain], &self.chains[chain]);
            if targets.is_empty() {
                if !chain.is_copy() {
                    self.prepare(frames, chain, state, band, &m, &clip, &mut clock);
                }
                continue;
            }
            let over = || state.ready.load(Ordering::Acquire) || abandoned.load(Ordering::Acquire);
            if !over() {
                note(&self.spent.render, &mut clock);
                self.bell.wait(over);
                note(&self.spent.wait, &mut clock);
            }
            if abandoned.load(Ordering::Acquire) {
                return;
            }
            let coarse = state.coarse();
            state.band(band).render(&clip, chain, &m, frames.planes, &coarse, &mut targets);
            note(&self.spent.render, &mut clock);
        }
    }

    /// Shrinks a band of every frame, and computes the coarse levels where it is the chain's last.
    fn prepare(
        &self,
        frames: &Frames<'_, '_, S>,
        chain: &Chain,
        state: &ChainState<S, P>,
        b: usize,
        m: &Moment<'_, P>,
        clip: &Clip,
        clock: &mut Instant,
    ) {
        if frames.shrink {
            let mut band = state.band(b);
            for (place, planes) in frames.planes.iter().enumerate() {
                let m = m.later(place);
                band.shrink(clip, chain, &m, planes, frames.observed.is_some());
                if let Some(last) = frames.observed {
                    band.observe(&m, last);
                }
                note(&self.spent.shrink, clock);
                state.coarse_mut().take(place, &band);
            }
        }
        if state.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            let mut coarse = state.coarse_mut();
            for place in 0..frames.planes.len() {
                let m = m.later(place);
                if frames.shrink {
                    coarse.shrink(&m);
                }
                match frames.observed {
                    Some(last) => coarse.observe(&m, last),
                    None => coarse.change(chain, &m),
                }
            }
            drop(coarse);
            state.ready.store(true, Ordering::Release);
            self.bell.ring();
        }
        note(&self.spent.coarse, clock);
    }

    fn fill_tables(&mut self) {
        let block = crate::temporal::BLOCK as u64;
        if self.index.is_multiple_of(block) {
            self.tables.fill(&self.plan, self.index as usize);
        }
    }
}

impl<S: Pixel, P: Ideal> Work for Engine<S, P> {
    fn observe(&mut self, frame: &FrameRef<'_>, last: bool) -> Result<()> {
        let planes = self.frame(frame)?;
        self.fill_tables();
        self.run(&Frames { planes: &[planes], shrink: true, observed: Some(last) }, ArrayVec::new());
        Ok(())
    }

    fn push(&mut self, frames: &[FrameRef<'_>], out: Out<'_, '_>) -> Result<()> {
        let planes: ArrayVec<_, MAX_BATCH> =
            frames.iter().take(self.batch).map(|f| self.frame(f)).collect::<Result<_>>()?;
        let targets: Option<Targets<'_, S>> = match out {
            Out::Integer(frames) => {
                let frames = frames.iter_mut().take(planes.len());
                frames.map(|f| S::planes_mut(f.planes_mut()).map(Target::Integer)).collect()
            }
            Out::Float(p) => {
                let target = Target::Float(p.each_mut().map(jnd_video::PlaneMut::reborrow));
                Some(std::iter::once(target).collect())
            }
        };
        let Some(targets) = targets else {
            return Err(Error::WrongFrame {
                have: "another sample width".into(),
                want: self.plan.source().format.to_string(),
            });
        };
        let causal = !self.plan.needs_two_passes();
        if !causal {
            self.fill_tables();
        }
        self.run(&Frames { planes: &planes, shrink: causal, observed: None }, targets);
        Ok(())
    }

    fn rewind(&mut self, forget: bool) {
        self.index = 0;
        if forget {
            for c in &mut self.chains {
                let bands = c.bands.iter_mut().map(|b| b.get_mut().unwrap_or_else(PoisonError::into_inner));
                bands.for_each(ChainBand::clear);
                c.coarse.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
            }
        }
    }

    fn times(&self) -> Times {
        let of = |v: &AtomicU64| v.load(Ordering::Relaxed) as f64 * 1e-9 / self.threads as f64;
        let s = &self.spent;
        Times { shrink: of(&s.shrink), coarse: of(&s.coarse), render: of(&s.render), wait: of(&s.wait) }
    }

    fn restrict(&mut self, strip: &Range<usize>) {
        self.build(strip);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_chain_is_made_and_then_rendered_once() {
        for (chains, threads) in [(1, 1), (1, 2), (2, 1), (2, 3), (3, 1), (3, 2)] {
            for renders in [true, false] {
                let stages: Vec<_> = (0..).map_while(|n| stage(n, chains, threads, renders)).collect();
                assert_eq!(stages.len(), if renders { 2 * chains } else { chains });
                let at = |render, chain| stages.iter().position(|&s| s == (render, chain));
                for c in 0..chains {
                    let (made, rendered) = (at(false, c).unwrap(), at(true, c));
                    assert!(rendered.is_some() == renders && rendered.is_none_or(|r| made < r));
                    // With other threads the next chain is made before this one is rendered.
                    if let (Some(r), Some(next)) = (rendered, at(false, c + 1)) {
                        assert_eq!(next < r, threads > 1);
                    }
                }
            }
        }
    }
}
