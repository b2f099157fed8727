//! Arrays that the method's reference gave, and what they were made from.

use std::io::Read;
use std::path::{Path, PathBuf};

use jnd_magnify::{Filter, Init, Pipeline, Settings, Source};
use jnd_video::{Layout, PixelFormat, Rational};

/// An array of any numeric type as f64, with its shape.
pub(crate) struct Array {
    pub(crate) shape: Vec<usize>,
    pub(crate) values: Vec<f64>,
}

/// An archive of arrays.
pub(crate) struct Npz(zip::ZipArchive<std::fs::File>);

impl Npz {
    pub(crate) fn open(path: &Path) -> Self {
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

    pub(crate) fn array(&mut self, key: &str) -> Option<Array> {
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

    pub(crate) fn params(&mut self) -> serde_json::Value {
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

/// A run of the reference: what went in, and the stored arrays.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) npz: Npz,
    pub(crate) settings: Settings,
    pub(crate) source: Source,
    /// Frames of 8-bit B, G, R.
    pub(crate) clip: Vec<u8>,
}

impl Case {
    pub(crate) fn open(input: &Path, output: &Path) -> Self {
        let name = output.file_stem().unwrap().to_str().unwrap().to_owned();
        let pipeline = name.rsplitn(2, '_').last().unwrap();
        let pipeline = pipeline.trim_end_matches("_p1").trim_end_matches("_p2");
        let frames = Npz::open(input).array("frames").unwrap();
        let [t, h, w, 3] = frames.shape[..] else { panic!("frames of shape {:?}", frames.shape) };
        let mut npz = Npz::open(output);
        let settings = settings(pipeline, &npz.params());
        let source = super::source(PixelFormat::new(Layout::Bgr, 8).unwrap(), w, h, t);
        Self { name, npz, settings, source, clip: frames.values.iter().map(|&v| v as u8).collect() }
    }
}

const PIPELINES: [&str; 4] = ["motion_iir", "motion_butter", "motion_ideal", "color_ideal"];

/// A folder of data that is not part of this project, or is carried to a machine without it.
fn shared(name: &str) -> Option<PathBuf> {
    let named = std::env::var_os("JND_SHARED").map(PathBuf::from);
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().map(|p| p.join("shared"));
    named.into_iter().chain(above).map(|p| p.join("reference").join(name)).find(|p| p.is_dir())
}

/// Inputs and outputs of the made-up clips that are kept here.
pub(crate) fn synthetic() -> Vec<(PathBuf, PathBuf)> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let data = if own.is_dir() { own } else { shared("magnify-synthetic").expect("the synthetic clips") };
    let of = |which: &'static str| {
        let data = data.clone();
        PIPELINES.map(|p| (data.join(format!("input_{which}.npz")), data.join(format!("{p}_{which}.npz"))))
    };
    [of("even"), of("odd")].concat()
}

/// Those of the crops of real clips, where they are at hand.
pub(crate) fn crops() -> Option<Vec<(PathBuf, PathBuf)>> {
    let data = shared("magnify")?;
    let mut all = Vec::new();
    for input in ["A", "B", "C"] {
        for pipeline in PIPELINES {
            for set in ["p1", "p2"] {
                let output = data.join(format!("{pipeline}_{set}_{input}.npz"));
                all.push((data.join(format!("input_{input}.npz")), output));
            }
        }
    }
    Some(all)
}
