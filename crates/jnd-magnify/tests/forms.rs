//! The same clip magnified as RGB and as YUV: where nothing clips, luma comes out alike.
//!
//! The clip is made up; crops of real clips are used as well where they and ffmpeg are at hand.

mod common;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::run;
use jnd_magnify::{Options, Settings};
use jnd_video::{Layout, PixelFormat};

/// Full-range BT.601.
fn luma(p: &[u16]) -> f64 {
    0.299 * f64::from(p[0]) + 0.587 * f64::from(p[1]) + 0.114 * f64::from(p[2])
}

fn to_rgb(y: f64, cb: f64, cr: f64) -> [f64; 3] {
    let (cb, cr) = (cb - 128.0, cr - 128.0);
    [y + 1.402 * cr, y - 0.344_136 * cb - 0.714_136 * cr, y + 1.772 * cb]
}

/// Frames of 4:2:0 as R, G, B: chroma repeated.
fn widen(yuv: &[u16], w: usize, h: usize) -> Vec<u16> {
    let (cw, ch) = (w.div_ceil(2), h.div_ceil(2));
    let mut out = Vec::with_capacity(3 * w * h);
    for y in 0..h {
        for x in 0..w {
            let c = w * h + y / 2 * cw + x / 2;
            let rgb = to_rgb(f64::from(yuv[y * w + x]), f64::from(yuv[c]), f64::from(yuv[c + cw * ch]));
            out.extend(rgb.map(|v| v.round().clamp(0.0, 255.0) as u16));
        }
    }
    out
}

/// Magnifies a 4:2:0 clip as it is and converted to R, G, B. Mean difference of luma in levels, share of samples
/// within 3 levels.
fn compare(yuv: &[Vec<u16>], w: usize, h: usize) -> (f64, f64) {
    let s = Settings::default();
    let rgb: Vec<Vec<u16>> = yuv.iter().map(|f| widen(f, w, h)).collect();
    let source = |layout| common::source(PixelFormat::new(layout, 8).unwrap(), w, h, yuv.len());
    let as_yuv = run::integers(&s, &source(Layout::Yuv420), &Options::default(), yuv);
    let as_rgb = run::integers(&s, &source(Layout::Rgb), &Options::default(), &rgb);
    let (mut sum, mut within, mut count) = (0.0, 0u64, 0u64);
    for t in 0..yuv.len() {
        let shown = widen(&as_yuv[t], w, h);
        for i in 0..w * h {
            let clips = [&rgb[t], &as_rgb[t], &shown]
                .iter()
                .any(|f| f[3 * i..3 * i + 3].iter().any(|&v| v == 0 || v == 255));
            if clips {
                continue;
            }
            let d = (luma(&as_rgb[t][3 * i..3 * i + 3]) - f64::from(as_yuv[t][i])).abs();
            sum += d;
            within += u64::from(d <= 3.0);
            count += 1;
        }
    }
    assert!(count > 1000, "{count} samples do not clip");
    (sum / count as f64, within as f64 / count as f64)
}

fn check(name: &str, yuv: &[Vec<u16>], w: usize, h: usize) {
    let (mean, within) = compare(yuv, w, h);
    eprintln!("{name}: {mean:.3} levels on average, {:.4} % within 3", within * 100.0);
    assert!(mean <= 0.5, "{name}: luma differs by {mean} levels on average");
    assert!(within >= 0.999, "{name}: only {within} within 3 levels");
}

#[test]
fn a_made_up_sway() {
    let (w, h) = (96, 72);
    let frames: Vec<Vec<u16>> = (0..40)
        .map(|t| {
            let shift = 0.15 * (f64::from(t) / 4.0).sin();
            let mut f: Vec<u16> = Vec::new();
            for y in 0..h {
                for x in 0..w {
                    let (x, y) = (x as f64 + shift, y as f64);
                    f.push((128.0 + 50.0 * (x / 6.0).sin() * (y / 9.0).cos()).round() as u16);
                }
            }
            for c in [0.0, 1.0] {
                for y in 0..h / 2 {
                    for x in 0..w / 2 {
                        let (x, y) = (x as f64 + shift / 2.0, y as f64);
                        f.push((128.0 + 12.0 * (x / 7.0 + c).sin() * (y / 5.0).cos()).round() as u16);
                    }
                }
            }
            f
        })
        .collect();
    check("made up", &frames, w, h);
}

#[test]
fn crops_of_real_clips() {
    let named = std::env::var_os("JND_SHARED").map(PathBuf::from);
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().map(|p| p.join("shared"));
    let Some(clips) = named.into_iter().chain(above).map(|p| p.join("clips")).find(|p| p.is_dir()) else {
        eprintln!("skipped: the clips are not here (JND_SHARED names their folder)");
        return;
    };
    for (name, first, w, h, x, y) in [("baby", 60, 96, 72, 468, 216), ("wrist", 100, 76, 54, 280, 120)] {
        let filter = format!("trim=start_frame={first}:end_frame={},crop={w}:{h}:{x}:{y}", first + 48);
        let output = Command::new("ffmpeg")
            .args(["-v", "error", "-i"])
            .arg(clips.join(format!("{name}.mp4")))
            .args(["-vf", &filter, "-pix_fmt", "yuv420p", "-f", "rawvideo", "-"])
            .stdin(Stdio::null())
            .output();
        let Ok(output) = output else {
            eprintln!("skipped: ffmpeg is not here");
            return;
        };
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let frames: Vec<Vec<u16>> = output
            .stdout
            .chunks_exact(w * h * 3 / 2)
            .map(|f| f.iter().map(|&v| u16::from(v)).collect())
            .collect();
        assert_eq!(frames.len(), 48);
        check(name, &frames, w, h);
    }
}
