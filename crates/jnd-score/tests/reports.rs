//! Reports, byte for byte against the reference command's.

mod common;

use std::io::Cursor;

use jnd_score::report::{Precision, Report, ReportFormat, ReportInfo};
use jnd_score::{Feature, Scorer, ScorerOptions};

const FEATURES: [&str; 5] = [
    "motion",
    "float_motion",
    "speed_chroma",
    "speed_temporal",
    "motion=motion_five_frame_window=true:motion_fps_weight=0.5",
];

fn report(
    format: ReportFormat,
    precision: Precision,
    options: ScorerOptions,
    frames: usize,
) -> Option<String> {
    let folder = common::reference_folder()?;
    let case: serde_json::Value =
        serde_json::from_slice(&std::fs::read(folder.join("n01_x264.json")).unwrap()).unwrap();
    let clip = |key: &str| common::read_clip(&folder.join(case[key].as_str().unwrap()), &case);
    let (reference, distorted) = (clip("ref"), clip("dis"));
    let features: Vec<Feature> = FEATURES.iter().map(|f| Feature::parse(f).unwrap()).collect();
    let mut scorer = Scorer::new(&features, reference.geometry, options).unwrap();
    let mut report = Report::new(format, precision, &scorer, Cursor::new(Vec::new()));
    for (r, d) in reference.frames.iter().zip(&distorted.frames).take(frames) {
        scorer.push(r.view(), d.view()).unwrap();
        report.take(&mut scorer).unwrap();
    }
    scorer.finish().unwrap();
    report.take(&mut scorer).unwrap();
    let info = ReportInfo { version: "3.2.0", width: 576, height: 324, fps: Some(1.0) };
    let mut out = Vec::new();
    report.finish(&info, &mut out).unwrap();
    Some(String::from_utf8(out).unwrap())
}

/// Replaces the value after `key` up to `end`.
fn blank(text: &str, key: &str, end: char) -> String {
    let Some(at) = text.find(key) else { return text.to_owned() };
    let from = at + key.len();
    let to = from + text[from..].find(end).unwrap();
    format!("{}{}", &text[..from], &text[to..])
}

fn blanked(text: &str) -> String {
    let text = blank(text, "\"fps\": ", ',');
    let text = blank(&text, "\"version\": \"", '"');
    let text = blank(&text, "fps=\"", '"');
    blank(&text, "version=\"", '"')
}

fn check(format: ReportFormat, options: ScorerOptions, file: &str) {
    let Some(got) = report(format, Precision::Legacy, options, usize::MAX) else { return };
    let Some(folder) = common::reference_folder() else { return };
    let want = std::fs::read_to_string(folder.join(file)).unwrap();
    assert_eq!(blanked(&got), blanked(&want), "{file}");
}

#[test]
fn json_equals_the_reference() {
    check(ReportFormat::Json, ScorerOptions::default(), "cli_n01_stock.json");
}

#[test]
fn xml_equals_the_reference() {
    check(ReportFormat::Xml, ScorerOptions::default(), "cli_n01_stock.xml");
}

#[test]
fn csv_equals_the_reference() {
    check(ReportFormat::Csv, ScorerOptions::default(), "cli_n01_stock.csv");
}

#[test]
fn sub_equals_the_reference() {
    check(ReportFormat::Sub, ScorerOptions::default(), "cli_n01_stock.sub");
}

#[test]
fn subsampled_json_equals_the_reference() {
    let options = ScorerOptions { subsample: 2, ..Default::default() };
    check(ReportFormat::Json, options, "cli_n01_stock_subsample2.json");
}

#[test]
fn threads_do_not_change_the_order_of_metrics() {
    for threads in [2, 5] {
        let options = ScorerOptions { threads, ..Default::default() };
        check(ReportFormat::Json, options, "cli_n01_stock.json");
    }
}

#[test]
fn full_precision_round_trips() {
    let Some(text) = report(ReportFormat::Json, Precision::Max, ScorerOptions::default(), usize::MAX) else {
        return;
    };
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let metric = &value["frames"][1]["metrics"]["VMAF_integer_feature_motion_sad_score"];
    assert_eq!(metric.as_f64().unwrap(), 0.11536395958585177);
}

#[test]
fn short_clips_give_valid_json() {
    for frames in 0..3 {
        let Some(text) = report(ReportFormat::Json, Precision::Legacy, ScorerOptions::default(), frames)
        else {
            return;
        };
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["frames"].as_array().unwrap().len(), frames);
        if frames == 1 {
            let names: Vec<&String> = value["frames"][0]["metrics"].as_object().unwrap().keys().collect();
            assert_eq!(names.len(), 13);
            // Written when the clip ends, in the order of the features.
            let at = |n: &str| text.find(&format!("\"{n}\"")).unwrap();
            assert!(at("integer_motion3") < at("motion3"));
        }
    }
}
