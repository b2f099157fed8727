//! The order of a frame's work: every band shrinks; the coarse levels are filtered and enlarged once; every band
//! renders. Two waits for the other threads a frame, and nothing is allocated.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use jnd_video::fpu::Ieee;
use jnd_video::{FrameRef, Plane, simd};

use crate::band::{ChainBand, Clip, Coarse, Target};
use crate::bench::Times;
use crate::layout::{self, ChainLayout};
use crate::pixel::Pixel;
use crate::plan::{Plan, Temporal};
use crate::pool::Pool;
use crate::preset::Init;
use crate::state::{LevelState, Moment, Tables, bytes};
use crate::temporal::Ideal;
use crate::{Error, Result};

/// Everything a magnifier keeps between frames.
pub(crate) struct Engine<S: Pixel, P> {
    plan: Plan,
    simd: simd::Level,
    pool: Pool,
    bands: Vec<Mutex<Vec<ChainBand<S, P>>>>,
    coarse: Vec<Coarse<S, P>>,
    tables: Tables<P>,
    /// Index of the next frame.
    index: u64,
    /// Rows above the first band of each plane.
    above: [usize; 3],
    times: Times,
}

/// Bytes an engine needs for a strip.
pub(crate) fn need<S: Pixel>(plan: &Plan, strip: &Range<usize>, bands: usize) -> u64 {
    let layouts = layout::divide(plan, strip, bands);
    plan.chains()
        .iter()
        .zip(&layouts)
        .map(|(chain, l)| {
            // The size of the states does not depend on this type parameter but on the plan.
            let bands: u64 = l.bands.iter().map(|b| ChainBand::<S, f32>::bytes(plan, chain, b)).sum();
            let coarse: u64 =
                chain.levels[l.coarse..].iter().zip(&l.spans).map(|(l, s)| bytes(plan, l, s)).sum();
            bands + coarse
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
    /// Magnifies a frame.
    fn push(&mut self, frame: &FrameRef<'_>, target: Out<'_, '_>) -> Result<()>;
    /// Starts from the first frame again; `forget` clears all memory of the frames before.
    fn rewind(&mut self, forget: bool);
    /// Time spent so far.
    fn times(&self) -> Times;
    /// Works on another strip from now on.
    fn restrict(&mut self, strip: &Range<usize>);
}

/// Where the caller wants the rows.
pub(crate) enum Out<'a, 'b> {
    Integer(&'a mut jnd_video::FrameMut<'b>),
    Float(&'a mut [jnd_video::PlaneMut<'b, f32>; 3]),
}

impl<S: Pixel, P: Ideal> Engine<S, P> {
    pub(crate) fn new(plan: &Plan, simd: simd::Level, threads: usize, strip: &Range<usize>) -> Result<Self> {
        let mut engine = Self {
            plan: plan.clone(),
            simd,
            pool: Pool::new(threads).map_err(Error::Threads)?,
            bands: (0..threads).map(|_| Mutex::new(Vec::new())).collect(),
            coarse: Vec::new(),
            tables: Tables::new(plan),
            index: 0,
            above: [0; 3],
            times: Times::default(),
        };
        engine.build(strip);
        Ok(engine)
    }

    fn build(&mut self, strip: &Range<usize>) {
        // Free the old strip's memory first.
        for b in &self.bands {
            b.lock().unwrap_or_else(PoisonError::into_inner).clear();
        }
        self.coarse.clear();
        let layouts = layout::divide(&self.plan, strip, self.bands.len());
        for (chain, l) in self.plan.chains().iter().zip(&layouts) {
            self.coarse.push(coarse(&self.plan, chain, l));
            for (band, layout) in self.bands.iter().zip(&l.bands) {
                let mut band = band.lock().unwrap_or_else(PoisonError::into_inner);
                band.push(ChainBand::new(&self.plan, chain, layout));
            }
        }
        self.above = [0; 3];
        for (chain, l) in self.plan.chains().iter().zip(&layouts) {
            for &p in &chain.planes {
                self.above[p] = l.bands.first().map_or(0, |b| b.out.start);
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

    /// Every band makes its levels; then the coarse ones are made.
    fn shrink(&mut self, frame: &[Plane<'_, S>; 3], observed: Option<bool>) {
        let Self { plan, simd, pool, bands, coarse, tables, index, times, .. } = self;
        let start = Instant::now();
        let clip = Clip::new(plan);
        let m = Moment { simd: *simd, index: *index, black: plan.settings().init == Init::Zero, tables };
        let next = AtomicUsize::new(0);
        pool.run(&|| {
            while let Some(band) = bands.get(next.fetch_add(1, Ordering::Relaxed)) {
                let mut band = band.lock().unwrap_or_else(PoisonError::into_inner);
                for (chain, band) in plan.chains().iter().zip(band.iter_mut()) {
                    if chain.is_copy() {
                        continue;
                    }
                    band.shrink(&clip, chain, m.simd, frame);
                    if let Some(last) = observed {
                        band.observe(&m, last);
                    }
                }
            }
        });
        let shrunk = Instant::now();
        times.shrink += shrunk - start;
        for (i, coarse) in coarse.iter_mut().enumerate() {
            for band in bands.iter() {
                if let Some(band) = band.lock().unwrap_or_else(PoisonError::into_inner).get(i) {
                    coarse.take(band);
                }
            }
            coarse.shrink(m.simd);
            if let Some(last) = observed {
                coarse.levels.iter_mut().for_each(|l| l.observe(&m, last));
            }
        }
        times.coarse += shrunk.elapsed();
    }

    /// Every band writes its rows.
    fn render(&mut self, frame: &[Plane<'_, S>; 3], target: Target<'_, S>) {
        let Self { plan, simd, pool, bands, coarse, tables, index, above, times } = self;
        let start = Instant::now();
        let clip = Clip::new(plan);
        let m = Moment { simd: *simd, index: *index, black: plan.settings().init == Init::Zero, tables };
        for (chain, coarse) in plan.chains().iter().zip(coarse.iter_mut()) {
            coarse.change(chain, &m);
        }
        let changed = Instant::now();
        times.coarse += changed - start;
        let coarse = &*coarse;
        let (_, target) = target.split(*above);
        // Bands take their rows off the front, in order.
        let queue = Mutex::new((0, Some(target)));
        pool.run(&|| {
            loop {
                let (mut band, mut target) = {
                    let mut queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
                    let Some(band) = bands.get(queue.0) else { return };
                    let band = band.lock().unwrap_or_else(PoisonError::into_inner);
                    let mut rows = [0; 3];
                    for (chain, b) in plan.chains().iter().zip(band.iter()) {
                        for &p in &chain.planes {
                            rows[p] = b.layout.out.len();
                        }
                    }
                    let Some(rest) = queue.1.take() else { return };
                    let (mine, rest) = rest.split(rows);
                    *queue = (queue.0 + 1, Some(rest));
                    (band, mine)
                };
                for ((chain, band), coarse) in plan.chains().iter().zip(band.iter_mut()).zip(coarse) {
                    band.render(&clip, chain, &m, frame, coarse, &mut target);
                }
            }
        });
        times.render += changed.elapsed();
        for c in &mut self.coarse {
            c.levels.iter_mut().for_each(LevelState::advance);
        }
    }

    fn fill_tables(&mut self) {
        let block = crate::temporal::BLOCK as u64;
        if self.index.is_multiple_of(block) {
            self.tables.fill(&self.plan, self.index as usize);
        }
    }
}

fn coarse<S: Pixel, P: Ideal>(plan: &Plan, chain: &crate::plan::Chain, l: &ChainLayout) -> Coarse<S, P> {
    let levels = chain.levels[l.coarse..].iter().zip(&l.spans).map(|(l, s)| LevelState::new(plan, l, s));
    Coarse::new(l.coarse, levels.collect())
}

impl<S: Pixel, P: Ideal> Work for Engine<S, P> {
    fn observe(&mut self, frame: &FrameRef<'_>, last: bool) -> Result<()> {
        let _ieee = Ieee::enter();
        let frame = self.frame(frame)?;
        self.fill_tables();
        self.shrink(&frame, Some(last));
        self.index += 1;
        Ok(())
    }

    fn push(&mut self, frame: &FrameRef<'_>, out: Out<'_, '_>) -> Result<()> {
        let _ieee = Ieee::enter();
        let planes = self.frame(frame)?;
        let target = match out {
            Out::Integer(f) => S::planes_mut(f.planes_mut()).map(Target::Integer),
            Out::Float(p) => Some(Target::Float(p.each_mut().map(jnd_video::PlaneMut::reborrow))),
        };
        let Some(target) = target else {
            return Err(Error::WrongFrame {
                have: "another sample width".into(),
                want: self.plan.source().format.to_string(),
            });
        };
        match self.plan.temporal() {
            Temporal::Causal { .. } => self.shrink(&planes, None),
            Temporal::Projection { .. } => self.fill_tables(),
        }
        self.render(&planes, target);
        self.index += 1;
        Ok(())
    }

    fn rewind(&mut self, forget: bool) {
        self.index = 0;
        if forget {
            for b in &self.bands {
                b.lock().unwrap_or_else(PoisonError::into_inner).iter_mut().for_each(ChainBand::clear);
            }
            for c in &mut self.coarse {
                c.levels.iter_mut().for_each(LevelState::clear);
            }
        }
    }

    fn times(&self) -> Times {
        self.times
    }

    fn restrict(&mut self, strip: &Range<usize>) {
        self.build(strip);
    }
}
