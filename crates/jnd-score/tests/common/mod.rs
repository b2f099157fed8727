//! Reference clips and their expected scores, found in a folder `shared` beside the checkout or named by `JND_SHARED`.
#![allow(dead_code, reason = "each test binary uses a part")]

use std::io::Read;
use std::path::{Path, PathBuf};

use jnd_score::Geometry;
use jnd_video::{Frame, Layout, PixelFormat};

/// The folder with reference scores, or nothing (and a line on stderr) where it is absent.
pub(crate) fn reference_folder() -> Option<PathBuf> {
    let named = std::env::var_os("JND_SHARED").map(PathBuf::from);
    let beside =
        || Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().map(|a| a.join("shared")).find(|p| p.is_dir());
    let folder = named.or_else(beside).map(|p| p.join("reference/score")).filter(|p| p.is_dir());
    if folder.is_none() {
        eprintln!("skipped: no reference data (set JND_SHARED to the folder that has it)");
    }
    folder
}

/// A decoded clip.
pub(crate) struct Clip {
    pub(crate) geometry: Geometry,
    pub(crate) frames: Vec<Frame>,
}

fn layout(name: &str) -> Layout {
    match name {
        "420" => Layout::Yuv420,
        "422" => Layout::Yuv422,
        "444" => Layout::Yuv444,
        _ => panic!("layout {name}"),
    }
}

/// Reads a gzipped y4m or raw file; the geometry of raw ones comes from the case.
pub(crate) fn read_clip(path: &Path, case: &serde_json::Value) -> Clip {
    let mut data = Vec::new();
    flate2::read::GzDecoder::new(std::fs::File::open(path).unwrap()).read_to_end(&mut data).unwrap();
    let y4m = path.to_string_lossy().ends_with(".y4m.gz");
    let number = |key: &str| case[key].as_u64().unwrap() as usize;
    let depth = number("bitdepth") as u8;
    let format = PixelFormat::new(layout(case["pixel_format"].as_str().unwrap()), depth).unwrap();
    let (width, height) = (number("width"), number("height"));
    let geometry = Geometry { format, width, height };
    let mut rest = &data[..];
    if y4m {
        let end = rest.iter().position(|&b| b == b'\n').unwrap();
        let header = std::str::from_utf8(&rest[..end]).unwrap();
        assert!(header.starts_with("YUV4MPEG2"), "{header}");
        assert!(
            header.contains(&format!(" W{width} ")) && header.contains(&format!(" H{height} ")),
            "{header}"
        );
        rest = &rest[end + 1..];
    }
    let mut frames = Vec::new();
    while !rest.is_empty() {
        if y4m {
            assert!(rest.starts_with(b"FRAME"));
            let end = rest.iter().position(|&b| b == b'\n').unwrap();
            rest = &rest[end + 1..];
        }
        let mut frame = Frame::new(format, width, height).unwrap();
        if y4m {
            let n = frame.bytes().len();
            frame.bytes_mut().copy_from_slice(&rest[..n]);
            rest = &rest[n..];
        } else {
            rest = read_floor(rest, &mut frame);
        }
        frames.push(frame);
    }
    Clip { geometry, frames }
}

/// Raw frames whose odd chroma sides are rounded down; the missing last column and row stay 0 and are never scored.
fn read_floor<'a>(mut rest: &'a [u8], frame: &mut Frame) -> &'a [u8] {
    let format = frame.format();
    let (width, height) = (frame.width(), frame.height());
    let bytes = format.bytes_per_sample();
    let mut at = 0;
    let mut out = vec![0u8; frame.bytes().len()];
    for plane in 0..3 {
        let full = frame.plane_size(plane);
        let kept = format.plane_size(plane, width, height, jnd_video::ChromaRounding::Floor);
        for _ in 0..kept.height {
            let n = kept.width * bytes;
            out[at..at + n].copy_from_slice(&rest[..n]);
            rest = &rest[n..];
            at += full.width * bytes;
        }
        at += (full.height - kept.height) * full.width * bytes;
    }
    frame.bytes_mut().copy_from_slice(&out);
    rest
}
