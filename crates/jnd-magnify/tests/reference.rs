//! Against arrays that the method's reference gave: two made-up clips that are kept here, and crops of real ones
//! where they are at hand.

mod common;

use std::path::Path;

use common::{golden, run};
use jnd_magnify::Options;

/// Compares one run with its stored arrays; how far off it was, relative to the bound.
fn check(input: &Path, output: &Path) -> f64 {
    let case = golden::Case::open(input, output);
    let (name, mut npz, settings, source) = (case.name, case.npz, case.settings, case.source);
    let (w, h) = (source.width, source.height);
    let wide = |f: &[u8]| f.iter().map(|&v| u16::from(v)).collect();
    let clip: Vec<Vec<u16>> = case.clip.chunks_exact(h * w * 3).map(wide).collect();
    let got = run::both(&settings, &source, &Options { threads: 2, ..Options::default() }, &clip);

    let mut worst = 0f64;
    let mut compare = |what: &str, got: &dyn Fn(usize) -> f64, want: &golden::Array| {
        let peak = want.values.iter().fold(1f64, |m, v| m.max(v.abs()));
        for (i, w) in want.values.iter().enumerate() {
            let off = (got(i) - w).abs() / (common::BOUND * peak);
            assert!(off <= 1.0, "{name} {what} at {i}: {} instead of {w}", got(i));
            worst = worst.max(off);
        }
    };
    let index = npz.array("frame_index").unwrap();
    let frame = h * w * 3;
    let stored = npz.array("out_f32").unwrap();
    assert_eq!(stored.values.len(), index.values.len() * frame);
    compare("frame", &|i| f64::from(got.floats[index.values[i / frame] as usize][i % frame]), &stored);
    if let Some(trace) = npz.array("trace_f32") {
        let (th, tw) = (h.div_ceil(8), w.div_ceil(8));
        compare(
            "trace",
            &|i| {
                let (t, y, x, c) = (i / (th * tw * 3), i / (tw * 3) % th, i / 3 % tw, i % 3);
                f64::from(got.floats[t][(y * 8 * w + x * 8) * 3 + c])
            },
            &trace,
        );
    }
    if let Some(bytes) = npz.array("out_u8") {
        for (i, &want) in bytes.values.iter().enumerate() {
            let off = (f64::from(got.samples[i / frame][i % frame]) - want).abs();
            assert!(off <= 1.0, "{name} byte {i}: off by {off} levels");
        }
    }
    worst
}

#[test]
fn synthetic_clips() {
    let mut runs = 0;
    for (input, output) in golden::synthetic() {
        let worst = check(&input, &output);
        eprintln!("{}: {worst:.3} of the bound", output.display());
        runs += 1;
    }
    assert_eq!(runs, 8);
}

#[test]
fn crops_of_real_clips() {
    let Some(crops) = golden::crops() else {
        eprintln!("skipped: the reference arrays are not here (JND_SHARED names their folder)");
        return;
    };
    let mut runs = 0;
    for (input, output) in crops {
        let worst = check(&input, &output);
        eprintln!("{}: {worst:.3} of the bound", output.display());
        runs += 1;
    }
    assert_eq!(runs, 24);
}
