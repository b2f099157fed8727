//! `jnd doctor`: what works on this machine, what is missing, and what that costs.

use std::io::Write;

use jnd::DeviceChoice;

use crate::exit::{DONE, Failure};

/// Prints the report.
pub(crate) fn run() -> Result<u8, Failure> {
    let text: String = facts().iter().map(|(what, how)| format!("{what:<12} {how}\n")).collect();
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(DONE)
}

/// The report: what, and how it stands.
pub(crate) fn facts() -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    let mut fact = |what: &'static str, how: String| facts.push((what, how));
    fact("jnd", env!("CARGO_PKG_VERSION").to_owned());
    fact("system", format!("{} {}", std::env::consts::OS, std::env::consts::ARCH));
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    fact("processor", format!("{threads} threads, {}", vector_instructions()));
    for (i, card) in cards().into_iter().enumerate() {
        fact(if i == 0 { "card" } else { "" }, card);
    }
    fact("built in", built_in());
    fact("ffmpeg", ffmpeg());
    facts
}

/// Every card that can be used, or why there is none.
fn cards() -> Vec<String> {
    match jnd::cuda::devices() {
        Ok(all) => all
            .iter()
            .map(|d| {
                // A card that is there may still refuse: another program may hold it alone, or it may be broken.
                let able = match DeviceChoice::Cuda(d.device.0).open() {
                    Ok(_) => "magnify and score".to_owned(),
                    Err(e) => format!("cannot be used: {e}"),
                };
                format!(
                    "{} {}, compute capability {}.{}, {:.0} GiB, driver for CUDA {}.{}: {able}",
                    d.device,
                    d.name,
                    d.capability.0,
                    d.capability.1,
                    d.memory as f64 / f64::from(1u32 << 30),
                    d.driver.0,
                    d.driver.1
                )
            })
            .collect(),
        Err(e) => vec![format!("none, the processor does everything: {e}")],
    }
}

/// What can be read and written with nothing else installed.
fn built_in() -> String {
    let mut list = "YUV4MPEG2, raw frames".to_owned();
    if jnd::H264_BUILT_IN {
        list.push_str(", H.264 in MP4 (OpenH264)");
    }
    list
}

/// Whether `ffmpeg` is there, and what its absence costs.
fn ffmpeg() -> String {
    match jnd::video::Ffmpeg::find() {
        Some(found) => format!(
            "{} ({}), ffprobe {} ({}): every other container and codec",
            found.ffmpeg.short(),
            found.ffmpeg.command.display(),
            found.ffprobe.short(),
            found.ffprobe.command.display()
        ),
        None => format!(
            "not usable, so that only what is built in can be read and written: no MKV, WebM, HEVC, AV1, 10-bit or lossless \
             files: {}",
            jnd::video::Ffmpeg::why_missing().unwrap_or_default()
        ),
    }
}

/// Vector instructions in use, and why not the best.
fn vector_instructions() -> String {
    use jnd::video::simd::Level;
    let (used, best) = (Level::get(), Level::detected());
    let name = |level: Level| match level.to_string().as_str() {
        "scalar" => "the target's base".to_owned(),
        other => other.to_owned(),
    };
    if let Err(unknown) = Level::asked() {
        format!("vector instructions: {} ({unknown})", name(used))
    } else if used == best {
        format!("vector instructions: {}", name(used))
    } else {
        format!("vector instructions: {} (JND_SIMD holds them below {})", name(used), name(best))
    }
}
