//! Every reference value, with `==`.

mod common;

use std::collections::BTreeMap;

use jnd_score::{Engine, Feature, Pool, Scorer, ScorerOptions};
use jnd_video::simd::Level;

/// Scores of a clip by metric name, in the order of the reference's reports.
fn score(
    features: &[Feature],
    reference: &common::Clip,
    distorted: &common::Clip,
    options: ScorerOptions,
) -> Vec<(String, Vec<f64>)> {
    let mut scorer = Scorer::new(features, reference.geometry, options).unwrap();
    let mut scores: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    let mut take = |scorer: &mut Scorer| {
        while let Some(s) = scorer.next_score() {
            let values = scores.entry(s.metric).or_default();
            assert_eq!(values.len() as u64, s.frame, "scores of a metric come in the order of frames");
            values.push(s.value);
        }
    };
    for (r, d) in reference.frames.iter().zip(&distorted.frames) {
        scorer.push(r.view(), d.view()).unwrap();
        take(&mut scorer);
    }
    scorer.finish().unwrap();
    take(&mut scorer);
    let order = scorer.report_order();
    order.into_iter().map(|m| (scorer.metrics()[m].clone(), scores.remove(&m).unwrap_or_default())).collect()
}

fn run_all(options: ScorerOptions) {
    let Some(folder) = common::reference_folder() else { return };
    let mut files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    let (mut values, mut cases) = (0, 0);
    let mut wrong = Vec::new();
    for path in files {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if !name.ends_with(".json") || name.starts_with("cli_") {
            continue;
        }
        let case: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let clip = |key: &str| common::read_clip(&folder.join(case[key].as_str().unwrap()), &case);
        let (reference, distorted) = (clip("ref"), clip("dis"));
        cases += 1;
        for run in case["runs"].as_array().unwrap() {
            let text = run["feature"].as_str().unwrap();
            let got = score(&[Feature::parse(text).unwrap()], &reference, &distorted, options);
            let metrics = run["metrics"].as_object().unwrap();
            let mut names: Vec<&str> = got.iter().map(|(n, _)| n.as_str()).collect();
            let mut wanted: Vec<&str> = metrics.keys().map(String::as_str).collect();
            names.sort_unstable();
            wanted.sort_unstable();
            assert_eq!(names, wanted, "{name} {text}");
            for (metric, got) in &got {
                let want: Vec<f64> =
                    metrics[metric].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect();
                assert_eq!(got.len(), want.len(), "{name} {text} {metric}");
                for (i, (g, w)) in got.iter().zip(&want).enumerate() {
                    values += 1;
                    if g != w {
                        wrong.push(format!("{name} {text} {metric} frame {i}: {g} instead of {w}"));
                    }
                }
                let mut pool = Pool::default();
                got.iter().for_each(|&v| pool.push(v));
                let pooled = pool.get().unwrap();
                for (key, g) in [
                    ("min", pooled.min),
                    ("max", pooled.max),
                    ("mean", pooled.mean),
                    ("harmonic_mean", pooled.harmonic_mean),
                ] {
                    let w = run["pooled"][metric][key].as_f64().unwrap();
                    if g != w {
                        wrong.push(format!("{name} {text} {metric} {key}: {g} instead of {w}"));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {values} values differ:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!((cases, values), (32, 3298), "every case was read");
}

#[test]
fn every_value_at_every_level() {
    for level in Level::available() {
        run_all(ScorerOptions { level, ..Default::default() });
    }
}

#[test]
fn every_value_with_two_threads() {
    run_all(ScorerOptions { threads: 2, ..Default::default() });
}

#[test]
fn every_value_with_five_threads() {
    run_all(ScorerOptions { threads: 5, ..Default::default() });
}

#[test]
fn all_features_at_once_equal_each_alone() {
    let Some(folder) = common::reference_folder() else { return };
    let read = |name: &str| -> serde_json::Value {
        serde_json::from_slice(&std::fs::read(folder.join(name)).unwrap()).unwrap()
    };
    let case = read("n05_444.json");
    let clip = |key: &str| common::read_clip(&folder.join(case[key].as_str().unwrap()), &case);
    let (reference, distorted) = (clip("ref"), clip("dis"));
    let runs = case["runs"].as_array().unwrap();
    let mut features: Vec<Feature> = Vec::new();
    for run in runs {
        features.push(Feature::parse(run["feature"].as_str().unwrap()).unwrap());
    }
    let options = ScorerOptions { threads: 3, ..Default::default() };
    let got: BTreeMap<String, Vec<f64>> =
        score(&features, &reference, &distorted, options).into_iter().collect();
    let mut values = 0;
    for run in runs {
        for (metric, want) in run["metrics"].as_object().unwrap() {
            let want: Vec<f64> = want.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect();
            assert_eq!(got[metric], want, "{metric}");
            values += want.len();
        }
    }
    assert_eq!(values, 195);
}
