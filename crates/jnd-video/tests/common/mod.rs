//! What the tests share: inputs made on the spot, and a way to say that something is missing.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::path::{Path, PathBuf};
use std::process::Command;

use jnd_video::{
    CreateOptions, Error, Ffmpeg, Frame, FrameSource, Input, Layout, OpenOptions, Output, PixelFormat,
    PumpOptions, Pumped, Rate, StreamInfo, create, open, pump,
};

/// Whether `ffmpeg` is there; says so where it is not.
pub(crate) fn ffmpeg() -> bool {
    let found = Ffmpeg::find().is_some();
    if !found {
        eprintln!("skipped: ffmpeg and ffprobe are not there");
    }
    found
}

/// Runs `ffmpeg` with arguments, of which the words are split at spaces, and then the output.
pub(crate) fn make(words: &str, out: &Path) {
    let status = Command::new(std::env::var_os("JND_FFMPEG").unwrap_or("ffmpeg".into()))
        .args(["-hide_banner", "-nostdin", "-v", "error", "-y"])
        .args(words.split(' ').filter(|w| !w.is_empty()))
        .arg(out)
        .status()
        .unwrap();
    assert!(status.success(), "ffmpeg {words}");
}

/// What `ffprobe` says, with arguments split at spaces.
pub(crate) fn probe_text(words: &str, path: &Path) -> String {
    let out = Command::new(std::env::var_os("JND_FFPROBE").unwrap_or("ffprobe".into()))
        .args(["-v", "error"])
        .args(words.split(' '))
        .arg(path)
        .output()
        .unwrap();
    String::from_utf8(out.stdout).unwrap()
}

/// All samples of a file's pictures as `ffmpeg` decodes them, turned upright.
pub(crate) fn decoded(path: &Path, pix_fmt: &str, scratch: &Path) -> Vec<u8> {
    let out = scratch.join("decoded.raw");
    let words = format!(
        "-i {} -map 0:v:0 {} passthrough -f rawvideo -pix_fmt {pix_fmt}",
        path.display().to_string().replace(' ', "\u{a0}"),
        sync_option()
    );
    assert!(!words.contains('\u{a0}'), "scratch paths have no spaces");
    make(&words, &out);
    std::fs::read(out).unwrap()
}

/// The option that says how timestamps become frames, by whatever name this version knows it.
pub(crate) fn sync_option() -> &'static str {
    if Ffmpeg::find().is_some_and(|f| f.ffmpeg.number >= (5, 1)) { "-fps_mode" } else { "-vsync" }
}

/// Every frame of a source.
pub(crate) fn frames(source: &mut dyn FrameSource) -> Result<Vec<Frame>, Error> {
    let mut all = Vec::new();
    let mut frame = source.new_frame()?;
    while source.read(&mut frame)? {
        all.push(frame.clone());
    }
    Ok(all)
}

/// Opens a file with default options.
pub(crate) fn open_file(path: &Path) -> Result<Box<dyn FrameSource>, Error> {
    open(&Input::Path(path.to_path_buf()), &OpenOptions::default())
}

/// Copies a file through reader, queues and writer, carrying everything over.
pub(crate) fn copy(
    from: &Path,
    to: &Path,
    opening: &OpenOptions,
    creating: &CreateOptions,
) -> Result<Pumped, Error> {
    let source = open(&Input::Path(from.to_path_buf()), opening)?;
    let info = source.info().clone();
    let creating = CreateOptions { copy_from: Some(from.to_path_buf()), ..creating.clone() };
    let sink = create(&Output::Path(to.to_path_buf()), &info, &creating)?;
    let copy = |a: &Frame, b: &mut Frame| -> Result<(), Error> {
        b.bytes_mut().copy_from_slice(a.bytes());
        Ok(())
    };
    pump(source, sink, &info, &PumpOptions::default(), copy, &mut || {})
}

/// Pictures with motion and detail, the same on every machine.
pub(crate) fn picture(frame: &mut Frame, n: usize) {
    let (w, max) = (frame.width(), u32::from(frame.format().max_value()));
    let value = |i: usize| {
        let (x, y) = (i % w, i / w);
        let v =
            (x * 3 + y * 2 + n * 5) as u32 + if (x / 8 + y / 8 + n / 4).is_multiple_of(2) { 40 } else { 0 };
        v * (max / 255) % (max + 1)
    };
    match frame.buffer_mut() {
        jnd_video::Buffer::U8(b) => b.iter_mut().enumerate().for_each(|(i, s)| *s = value(i) as u8),
        jnd_video::Buffer::U16(b) => b.iter_mut().enumerate().for_each(|(i, s)| *s = value(i) as u16),
    }
}

/// A description of 8-bit 4:2:0 pictures.
pub(crate) fn yuv420(width: usize, height: usize, rate: u64) -> StreamInfo {
    let format = PixelFormat::new(Layout::Yuv420, 8).unwrap();
    StreamInfo::new(format, width, height, Rate::new(rate, 1).unwrap()).unwrap()
}

/// Writes `count` pictures of `info` to a file.
pub(crate) fn write_clip(
    path: &Path,
    info: &StreamInfo,
    count: usize,
    options: &CreateOptions,
) -> Result<(), Error> {
    let mut sink = create(&Output::Path(path.to_path_buf()), info, options)?;
    let mut frame = Frame::new(info.format, info.width, info.height)?;
    for n in 0..count {
        picture(&mut frame, n);
        frame.timestamp = n as i64;
        sink.write(&frame)?;
    }
    sink.finish()
}

/// The folder of reference data beside the checkout, where it is there.
pub(crate) fn shared() -> Option<PathBuf> {
    let found = std::env::var_os("JND_SHARED").map(PathBuf::from).or_else(|| {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        here.ancestors().map(|a| a.join("shared")).find(|p| p.join("clips").is_dir())
    });
    let found = found.filter(|p| p.is_dir());
    if found.is_none() {
        eprintln!("skipped: the folder `shared` is not there (set JND_SHARED)");
    }
    found
}
