//! How long scoring takes on a card: each stage, each feature, and the whole run.

use std::time::Instant;

use jnd_cuda::{Context, Event};

use super::{CudaCounts, CudaOptions, CudaPlan, CudaScorer};
use crate::options::Feature;
use crate::scorer::Geometry;
use crate::{Error, Result};

/// Time of a stage.
#[derive(Debug, Clone, PartialEq)]
pub struct Stage {
    /// The feature it belongs to.
    pub feature: &'static str,
    /// The stage; "all" for the feature's kernels one after another without a stop.
    pub name: &'static str,
    /// Median seconds a batch.
    pub seconds: f64,
}

/// Times on a card.
#[derive(Debug, Clone)]
pub struct Measured {
    /// What the run took.
    pub plan: CudaPlan,
    /// Each stage alone and each feature's kernels as a whole.
    pub stages: Vec<Stage>,
    /// Seconds a batch of all features' kernels, side by side as in a run.
    pub kernels: f64,
    /// Seconds a pair of a whole run from pinned memory: copies, kernels, results.
    pub whole: f64,
    /// Pairs of the whole run.
    pub pairs: u64,
    /// Launches, copies and waits of the whole run.
    pub counts: CudaCounts,
    /// Seconds from asking for the scorer until it is ready.
    pub setup: f64,
}

/// Fills every slot that a batch may use with noise, so that nothing is timed on zeros.
fn fill(scorer: &mut CudaScorer, seed: &mut u64) -> Result<()> {
    let mut slot = scorer.slot()?;
    for side in 0..2 {
        for plane in 0..3 {
            let Some((_, rows)) = slot.size(side, plane) else { continue };
            for y in 0..rows {
                let Some(row) = slot.row_mut(side, plane, y) else { continue };
                for (x, b) in row.chunks_mut(8).enumerate() {
                    *seed =
                        seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    let base = (64 + (x + y) % 96) as u8;
                    for (b, n) in b.iter_mut().zip((*seed >> 8).to_ne_bytes()) {
                        *b = base + (n & 31);
                    }
                }
            }
        }
    }
    Ok(())
}

fn median(mut v: Vec<f64>) -> f64 {
    v.sort_by(f64::total_cmp);
    v.get(v.len() / 2).copied().unwrap_or(0.0)
}

/// Measures `runs` batches of noise. 8-bit noise is low in contrast; deeper samples are noise in every bit.
///
/// # Errors
/// As [`CudaScorer::new`] and [`CudaScorer::commit`].
pub fn measure(
    context: &Context,
    features: &[Feature],
    geometry: Geometry,
    options: &CudaOptions,
    runs: usize,
) -> Result<Measured> {
    let runs = runs.max(1);
    let start = Instant::now();
    let mut scorer = CudaScorer::new(context, features, geometry, options)?;
    let setup = start.elapsed().as_secs_f64();
    let batch = scorer.layout.batch;
    let mut seed = 1;
    // Every place of the staging memory, then two batches to warm up.
    for i in 0..2 * batch.max(4) {
        if i < 4 * scorer.staging.pairs {
            fill(&mut scorer, &mut seed)?;
        }
        scorer.commit()?;
    }
    while scorer.board.frames() % batch as u64 != 0 {
        scorer.commit()?;
    }
    while !scorer.pending.is_empty() {
        scorer.collect_one()?;
    }
    let mut stages = Vec::new();
    let batch_of = scorer.batch(batch, 0);
    for work in &scorer.layout.works {
        let stream = &scorer.compute[0];
        let launch = |mark: super::super::work::Mark<'_>| {
            work.launch(&scorer.kernels, &scorer.arena, &scorer.layout.places, &batch_of, stream, mark)
        };
        let mut times: Vec<(&'static str, Vec<f64>)> = Vec::new();
        for _ in 0..runs {
            let start = Event::timed(context)?;
            let mut marks: Vec<(&'static str, Event)> = Vec::new();
            stream.record(&start)?;
            launch(&mut |name, stream| {
                let event = Event::timed(context)?;
                stream.record(&event)?;
                marks.push((name, event));
                Ok(())
            })?;
            stream.synchronize()?;
            let mut before = &start;
            for (i, (name, event)) in marks.iter().enumerate() {
                let t = event.elapsed_ms(before)? / 1e3;
                match times.get_mut(i) {
                    Some(v) => v.1.push(t),
                    None => times.push((name, vec![t])),
                }
                before = event;
            }
        }
        let feature = work.feature();
        stages.extend(times.into_iter().map(|(name, t)| Stage { feature, name, seconds: median(t) }));
        let (start, end) = (Event::timed(context)?, Event::timed(context)?);
        stream.record(&start)?;
        for _ in 0..runs {
            launch(&mut |_, _| Ok(()))?;
        }
        stream.record(&end)?;
        stream.synchronize()?;
        stages.push(Stage { feature, name: "all", seconds: end.elapsed_ms(&start)? / 1e3 / runs as f64 });
    }
    let wait = |s: &CudaScorer| -> Result<()> {
        for stream in &s.compute {
            stream.synchronize()?;
        }
        Ok(())
    };
    wait(&scorer)?;
    let start = Instant::now();
    for _ in 0..runs {
        scorer.launch(batch)?;
    }
    while !scorer.pending.is_empty() {
        scorer.collect_one()?;
    }
    let kernels = start.elapsed().as_secs_f64() / runs as f64;
    while scorer.board.next_score().is_some() {}
    let plan = scorer.taken();
    drop(scorer);

    let mut scorer = CudaScorer::new(context, features, geometry, options)?;
    for i in 0..4 * scorer.staging.pairs.max(batch) {
        if i < 4 * scorer.staging.pairs {
            fill(&mut scorer, &mut seed)?;
        }
        scorer.commit()?;
    }
    scorer.synchronize_copies()?;
    wait(&scorer)?;
    let (before, counts) = (scorer.board.frames(), scorer.counts);
    let start = Instant::now();
    for _ in 0..runs * batch {
        scorer.commit()?;
        while scorer.board.next_score().is_some() {}
    }
    scorer.finish()?;
    let seconds = start.elapsed().as_secs_f64();
    let pairs = scorer.board.frames() - before;
    if scorer.scored != scorer.board.frames() {
        return Err(Error::Worker(scorer.scored));
    }
    let after = scorer.counts;
    let counts = CudaCounts {
        batches: after.batches - counts.batches,
        launches: after.launches - counts.launches,
        copies: after.copies - counts.copies,
        waits: after.waits - counts.waits,
    };
    Ok(Measured { plan, stages, kernels, whole: seconds / pairs as f64, pairs, counts, setup })
}
