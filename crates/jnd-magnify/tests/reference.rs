//! Against arrays that the method's reference gave: two made-up clips that are kept here, and crops of real ones
//! where they are at hand.

mod common;

use std::io::Read;
use std::path::{Path, PathBuf};

use common::run;
use jnd_magnify::{Filter, Init, Options, Pipeline, Settings, Source};
use jnd_video::{Layout, PixelFormat, Rational};

/// An array of any numeric type as f64, with its shape.
struct Array {
    shape: Vec<usize>,
    values: Vec<f64>,
}

/// An archive of arrays.
struct Npz(zip::ZipArchive<std::fs::File>);

impl Npz {
    fn open(path: &Path) -> Self {
        Self(zip::ZipArchive::new(std::fs::File::open(path).unwrap()).unwrap())
    }

    /// Header and bytes of an array.
    fn raw(&mut self, key: &str) -> Option<(String, Vec<u8>)> {
        let name = format!("{key}.npy");
        self.0.index_for_name(&name)?;
        let mut raw = Vec::new();
        self.0.by_name(&name).unwrap().read_to_end(&mut raw).unwrap();
        assert!(raw.starts_with(b"\x93NUMPY\x01"), "{key} is not an array of version 1");
        let end = 10 + usize::from(u16::from_le_bytes([raw[8], raw[9]]));
        let header = String::from_utf8(raw[10..end].to_vec()).unwrap();
        assert!(header.contains("'fortran_order': False"), "{key}: {header}");
        Some((header, raw.split_off(end)))
    }

    fn array(&mut self, key: &str) -> Option<Array> {
        let (header, raw) = self.raw(key)?;
        let shape = header.split_once('(').unwrap().1.split_once(')').unwrap().0;
        let shape: Vec<usize> =
            shape.split(',').map(str::trim).filter(|s| !s.is_empty()).map(|s| s.parse().unwrap()).collect();
        fn values<const N: usize>(raw: &[u8], f: impl Fn([u8; N]) -> f64) -> Vec<f64> {
            raw.chunks_exact(N).map(|c| f(c.try_into().unwrap())).collect()
        }
        let values = match header.split('\'').nth(3).unwrap() {
            "|u1" => values(&raw, |[b]| f64::from(b)),
            "<f4" => values(&raw, |b| f64::from(f32::from_le_bytes(b))),
            "<f8" => values(&raw, f64::from_le_bytes),
            "<i8" => values(&raw, |b| i64::from_le_bytes(b) as f64),
            other => panic!("{key} is of type {other}"),
        };
        assert_eq!(values.len(), shape.iter().product::<usize>(), "{key}: {header}");
        Some(Array { shape, values })
    }

    fn params(&mut self) -> serde_json::Value {
        // One element of text, in UTF-32.
        let (_, raw) = self.raw("params").unwrap();
        let text: String = raw
            .chunks_exact(4)
            .filter_map(|c| char::from_u32(u32::from_le_bytes([c[0], c[1], c[2], c[3]])))
            .filter(|c| *c != '\0')
            .collect();
        serde_json::from_str(&text).unwrap()
    }
}

fn settings(pipeline: &str, p: &serde_json::Value) -> Settings {
    let n = |key: &str| p.get(key).and_then(serde_json::Value::as_f64);
    let band = || (n("fl").unwrap(), n("fh").unwrap());
    let (kind, filter, chroma) = match pipeline {
        "motion_iir" => (Pipeline::Motion, Filter::Iir { r1: n("r1").unwrap(), r2: n("r2").unwrap() }, 0.1),
        "motion_butter" => {
            let (low, high) = band();
            (Pipeline::Motion, Filter::Butterworth { low, high }, 0.0)
        }
        "motion_ideal" | "color_ideal" => {
            let (low, high) = band();
            let color = pipeline == "color_ideal";
            let kind = if color { Pipeline::Color } else { Pipeline::Motion };
            (kind, Filter::Ideal { low, high }, if color { 1.0 } else { 0.0 })
        }
        other => panic!("unknown pipeline {other}"),
    };
    let base = Settings::default();
    Settings {
        pipeline: kind,
        filter,
        alpha: n("alpha").unwrap(),
        lambda_c: n("lambda_c").unwrap_or(base.lambda_c),
        level: n("level").map_or(base.level, |v| v as u32),
        chroma: n("chrom_attenuation").unwrap_or(chroma),
        exaggeration: n("exaggeration_factor").unwrap_or(base.exaggeration),
        // The reference's Butterworth filter starts from black; its other causal filter from the first frame.
        init: if pipeline == "motion_butter" { Init::Zero } else { Init::First },
        capture_rate: n("sampling_rate").map(|r| Rational::new((r * 1000.0).round() as u64, 1000).unwrap()),
    }
}

/// Compares one run with its stored arrays; how far off it was, relative to the bound.
fn check(input: &Path, output: &Path) -> f64 {
    let name = output.file_stem().unwrap().to_str().unwrap().to_owned();
    let pipeline = name.rsplitn(2, '_').last().unwrap();
    let pipeline = pipeline.trim_end_matches("_p1").trim_end_matches("_p2");
    let frames = Npz::open(input).array("frames").unwrap();
    let [t, h, w, 3] = frames.shape[..] else { panic!("frames of shape {:?}", frames.shape) };
    let clip: Vec<Vec<u16>> =
        frames.values.chunks_exact(h * w * 3).map(|f| f.iter().map(|&v| v as u16).collect()).collect();
    let mut npz = Npz::open(output);
    let settings = settings(pipeline, &npz.params());
    let format = PixelFormat::new(Layout::Bgr, 8).unwrap();
    let source: Source = common::source(format, w, h, t);
    let got = run::both(&settings, &source, &Options { threads: 2, ..Options::default() }, &clip);

    let mut worst = 0f64;
    let mut compare = |what: &str, got: &dyn Fn(usize) -> f64, want: &Array| {
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
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let mut runs = 0;
    for which in ["even", "odd"] {
        for pipeline in ["motion_iir", "motion_butter", "motion_ideal", "color_ideal"] {
            let input = data.join(format!("input_{which}.npz"));
            let worst = check(&input, &data.join(format!("{pipeline}_{which}.npz")));
            eprintln!("{pipeline} {which}: {worst:.3} of the bound");
            runs += 1;
        }
    }
    assert_eq!(runs, 8);
}

/// The folder of reference data that cannot be part of this project.
fn shared() -> Option<PathBuf> {
    let named = std::env::var_os("JND_SHARED").map(PathBuf::from);
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().map(|p| p.join("shared"));
    named.into_iter().chain(above).map(|p| p.join("reference/magnify")).find(|p| p.is_dir())
}

#[test]
fn crops_of_real_clips() {
    let Some(data) = shared() else {
        eprintln!("skipped: the reference arrays are not here (JND_SHARED names their folder)");
        return;
    };
    let mut runs = 0;
    for input in ["A", "B", "C"] {
        for pipeline in ["motion_iir", "motion_butter", "motion_ideal", "color_ideal"] {
            for set in ["p1", "p2"] {
                let output = data.join(format!("{pipeline}_{set}_{input}.npz"));
                let worst = check(&data.join(format!("input_{input}.npz")), &output);
                eprintln!("{pipeline} {set} {input}: {worst:.3} of the bound");
                runs += 1;
            }
        }
    }
    assert_eq!(runs, 24);
}
