//! Time of every stage on one 1080p pair, at every instruction level, beside a copy of the same bytes.
//!
//! `cargo bench -p jnd-score` (or `-- sad` for one stage).

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use jnd_score::plane::Conversion;
use jnd_score::speed::covariance::{self, Matrix, Windows};
use jnd_score::speed::entropy::{Blocks, block_statistics};
use jnd_score::speed::filter::{Source, centre, decimate};
use jnd_score::speed::pair::{self, PlaneStatistics};
use jnd_score::speed::taps::gaussian;
use jnd_score::speed::{eigen, solve};
use jnd_score::{Engine, Feature, FloatMotionOptions, Geometry, Scorer, ScorerOptions, float_motion, motion};
use jnd_video::simd::Level;
use jnd_video::{Frame, Layout, PixelFormat, Plane};

const W: usize = 1920;
const H: usize = 1080;

fn main() {
    divan::main();
}

fn levels() -> Vec<Level> {
    Level::available()
}

/// Smooth content with noise, a little different for every seed.
fn samples(w: usize, h: usize, seed: u32) -> Vec<u8> {
    let mut s = seed.wrapping_mul(2_654_435_761).wrapping_add(1);
    (0..w * h)
        .map(|i| {
            let (x, y) = ((i % w) as u32 + seed, (i / w) as u32);
            s = s.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let wave = (x * x / 97 + y * 3 + x * y / 512) % 160;
            (wave + (s >> 28) + 30) as u8
        })
        .collect()
}

fn plane(v: &[u8]) -> Plane<'_, u8> {
    Plane::new(v, W, H, W).unwrap()
}

#[divan::bench]
fn copy_pair_of_frames(bencher: Bencher<'_, '_>) {
    let from = samples(W, H * 3, 1);
    let mut to = vec![0u8; from.len()];
    bencher.counter(BytesCount::new(from.len())).bench_local(|| to.copy_from_slice(black_box(&from)));
}

#[divan::bench(args = levels())]
fn sad_rows(bencher: Bencher<'_, '_>, level: Level) {
    let (a, b) = (samples(W, H, 1), samples(W, H, 2));
    bencher
        .counter(BytesCount::new(2 * a.len()))
        .bench_local(|| motion::sad_rows(level, black_box(plane(&a)), plane(&b), 8));
}

#[divan::bench(args = levels())]
fn float_motion_score(bencher: Bencher<'_, '_>, level: Level) {
    let (a, b) = (samples(W, H, 1), samples(W, H, 2));
    let options = FloatMotionOptions::default();
    let mut scratch = float_motion::Scratch::default();
    bencher.counter(BytesCount::new(2 * a.len())).bench_local(|| {
        let conversion = Conversion::new(8);
        float_motion::plane_score(level, black_box(plane(&a)), plane(&b), conversion, &options, &mut scratch)
    });
}

#[divan::bench(args = levels())]
fn decimate_difference(bencher: Bencher<'_, '_>, level: Level) {
    let (a, b) = (samples(W, H, 1), samples(W, H, 2));
    let taps = gaussian(9, 3.6);
    let (wo, ho) = (W / 16, H / 16);
    let (mut scratch, mut out) = (Vec::new(), vec![0.0; wo * ho]);
    bencher.counter(BytesCount::new(2 * a.len())).bench_local(|| {
        let source = Source::Difference(black_box(plane(&a)), plane(&b), Conversion::new(8));
        decimate(level, &source, &taps, wo, ho, &mut scratch, &mut out);
    });
}

struct Centred {
    x: Vec<f32>,
    windows: Windows,
    blocks: Blocks,
}

fn centred(seed: u32) -> Centred {
    let (a, b) = (samples(W, H, seed), samples(W, H, seed + 1));
    let (wo, ho) = (W / 16, H / 16);
    let mut x = vec![0.0; wo * ho];
    let source = Source::Difference(plane(&a), plane(&b), Conversion::new(8));
    decimate(Level::get(), &source, &gaussian(9, 3.6), wo, ho, &mut Vec::new(), &mut x);
    centre(&mut x, wo, ho, &gaussian(3, 0.6), &mut Vec::new(), Level::get());
    let (columns, rows) = (wo / 5, ho / 5);
    Centred {
        x,
        windows: Windows { stride: wo, width: 5 * columns - 4, height: 5 * rows - 4 },
        blocks: Blocks { stride: wo, columns, rows },
    }
}

fn matrix(c: &Centred) -> Matrix {
    covariance::covariance(Level::get(), &c.x, c.windows, &mut covariance::Scratch::default()).1
}

#[divan::bench(args = levels())]
fn covariance_of_plane(bencher: Bencher<'_, '_>, level: Level) {
    let c = centred(1);
    let mut scratch = covariance::Scratch::default();
    bencher.bench_local(|| covariance::covariance(level, black_box(&c.x), c.windows, &mut scratch));
}

#[divan::bench(args = levels())]
fn tridiagonalise(bencher: Bencher<'_, '_>, level: Level) {
    let m = matrix(&centred(1));
    bencher.bench_local(|| {
        let mut a = black_box(m);
        let (mut d, mut u) = ([0.0; 25], [0.0; 24]);
        eigen::tridiagonalise(level, &mut a, &mut d, &mut u);
        (d, u)
    });
}

#[divan::bench(args = levels())]
fn eigenvalues(bencher: Bencher<'_, '_>, level: Level) {
    let m = matrix(&centred(1));
    bencher.bench_local(|| eigen::eigenvalues(level, black_box(&m)));
}

#[divan::bench(args = levels())]
fn factor(bencher: Bencher<'_, '_>, level: Level) {
    let m = matrix(&centred(1));
    bencher.bench_local(|| solve::factor(level, black_box(&m)));
}

fn statistics(c: &Centred, level: Level) -> PlaneStatistics {
    let m = matrix(c);
    let lambda = eigen::eigenvalues(level, &m);
    let f = solve::factor(level, &m).unwrap();
    let n = c.blocks.count();
    let mut s = PlaneStatistics { singular: false, variance: vec![0.0; n], entropy: vec![0.0; n] };
    block_statistics(level, &c.x, c.blocks, &f, &lambda, 0.29, &mut s.variance, &mut s.entropy);
    s
}

#[divan::bench(args = levels())]
fn statistics_of_blocks(bencher: Bencher<'_, '_>, level: Level) {
    let c = centred(1);
    let m = matrix(&c);
    let lambda = eigen::eigenvalues(level, &m);
    let f = solve::factor(level, &m).unwrap();
    let n = c.blocks.count();
    let (mut s, mut e) = (vec![0.0; n], vec![0.0; n]);
    bencher.bench_local(|| {
        block_statistics(level, black_box(&c.x), c.blocks, &f, &lambda, 0.29, &mut s, &mut e)
    });
}

#[divan::bench(args = levels())]
fn score_of_blocks(bencher: Bencher<'_, '_>, level: Level) {
    let (a, b) = (statistics(&centred(1), level), statistics(&centred(5), level));
    let mut scratch = Vec::new();
    bencher.bench_local(|| pair::score(level, black_box(&a), &b, 57.7, 0, &mut scratch));
}

/// A whole pair through the scorer, frames in memory, one thread.
#[divan::bench(args = ["motion", "float_motion", "speed_chroma", "speed_temporal", "all"])]
fn pair_of_frames(bencher: Bencher<'_, '_>, name: &str) {
    let names = if name == "all" { Feature::NAMES.to_vec() } else { vec![name] };
    let features: Vec<Feature> = names.iter().map(|n| Feature::parse(n).unwrap()).collect();
    let format = PixelFormat::new(Layout::Yuv420, 8).unwrap();
    let frame = |seed| {
        let mut f = Frame::new(format, W, H).unwrap();
        let n = f.bytes().len();
        f.bytes_mut().copy_from_slice(&samples(W, H * 3 / 2, seed)[..n]);
        f
    };
    let (r, d) = ([frame(1), frame(2)], [frame(9), frame(10)]);
    let mut i = 0;
    let geometry = Geometry { format, width: W, height: H };
    let mut scorer = Scorer::new(&features, geometry, ScorerOptions::default()).unwrap();
    bencher.bench_local(|| {
        scorer.push(black_box(r[i % 2].view()), d[i % 2].view()).unwrap();
        i += 1;
        while scorer.next_score().is_some() {}
    });
}
