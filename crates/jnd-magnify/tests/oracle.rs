//! The magnifier against the Laplacian form in f64, over formats, sizes, pipelines and parameters.

mod common;

use common::run;
use jnd_magnify::{Filter, Init, Options, Pipeline, Settings};
use proptest::prelude::*;
use proptest::test_runner::{Config, FileFailurePersistence};

fn filters() -> impl Strategy<Value = Filter> {
    prop_oneof![
        (0.1..1.0f64, 0.05..0.95f64).prop_map(|(r1, k)| Filter::Iir { r1, r2: r1 * k }),
        (0.2..3.0f64, 1.0..8.0f64).prop_map(|(low, w)| Filter::Butterworth { low, high: low + w }),
        (0.0..3.0f64, 4.0..8.0f64).prop_map(|(low, w)| Filter::Ideal { low, high: low + w }),
    ]
}

prop_compose! {
    fn settings()(
        motion in any::<bool>(),
        filter in filters(),
        alpha in 0.5..40.0f64,
        lambda_c in 4.0..100.0f64,
        level in 0..6u32,
        chroma in prop_oneof![Just(0.0), Just(1.0), Just(0.1), 0.0..1.0f64],
        exaggeration in 0.5..3.0f64,
        zero in any::<bool>(),
    ) -> Settings {
        Settings {
            pipeline: if motion { Pipeline::Motion } else { Pipeline::Color },
            filter, alpha, lambda_c, level, chroma, exaggeration,
            init: if zero { Init::Zero } else { Init::First },
            capture_rate: None,
        }
    }
}

proptest! {
    #![proptest_config(Config {
        cases: 160,
        failure_persistence: Some(Box::new(FileFailurePersistence::Off)),
        ..Config::default()
    })]

    #[test]
    fn any_clip_any_settings(
        s in settings(),
        format in proptest::sample::select(common::formats()),
        w in 1..70usize,
        h in 1..50usize,
        frames in 8..20usize,
        seed in any::<u64>(),
        threads in 1..4usize,
    ) {
        let source = common::source(format, w, h, frames);
        let clip = common::clip(format, w, h, frames, seed);
        let options = Options { threads, ..Options::default() };
        let out = run::both(&s, &source, &options, &clip);
        let want = common::oracle(&s, &source, &clip);
        if let Err(e) = run::compare(&source, &out, &want) {
            prop_assert!(false, "{format} {w}x{h} {s:?}: {e}");
        }
    }
}

/// Every format, odd size, every pairing of pipeline and filter: no luck needed to meet them.
#[test]
fn every_format_and_pairing() {
    let filters = [
        Filter::Iir { r1: 0.4, r2: 0.05 },
        Filter::Butterworth { low: 0.5, high: 4.0 },
        Filter::Ideal { low: 0.5, high: 6.0 },
    ];
    for format in common::formats() {
        for pipeline in [Pipeline::Motion, Pipeline::Color] {
            for filter in filters {
                for chroma in [0.0, 0.1, 1.0] {
                    let s = Settings { pipeline, filter, chroma, level: 2, ..Settings::default() };
                    let source = common::source(format, 45, 37, 9);
                    let clip = common::clip(format, 45, 37, 9, 7);
                    let out = run::both(&s, &source, &Options { threads: 2, ..Options::default() }, &clip);
                    let want = common::oracle(&s, &source, &clip);
                    if let Err(e) = run::compare(&source, &out, &want) {
                        panic!("{format} {pipeline:?} {filter:?} chroma {chroma}: {e}");
                    }
                }
            }
        }
    }
}
