//! H.264 in MP4 with what is built in. Each test makes its own input; some compare with `ffmpeg` where it is there.
#![cfg(feature = "h264")]

mod common;

use std::io::Cursor;
use std::path::Path;

use common::{copy, ffmpeg, frames, make, picture, probe_text, shared, write_clip, yuv420};
use jnd_video::mp4::Mp4;
use jnd_video::{
    Codec, ColorRange, CreateOptions, DecoderChoice, EncoderChoice, Error, Frame, FrameSource, Input,
    OpenOptions, Output, PixelFormat, Rate, Rational, StreamInfo, create, open,
};
use proptest::prelude::*;

fn writing() -> CreateOptions {
    CreateOptions { encoder: EncoderChoice::BuiltIn, ..CreateOptions::default() }
}

fn reading() -> OpenOptions {
    OpenOptions { decoder: DecoderChoice::BuiltIn, ..OpenOptions::default() }
}

fn open_file(path: &Path) -> Result<Box<dyn FrameSource>, Error> {
    open(&Input::Path(path.to_path_buf()), &reading())
}

fn signal_to_noise(a: &[u8], b: &[u8]) -> f64 {
    let error: f64 = a.iter().zip(b).map(|(&a, &b)| f64::from(a.abs_diff(b)).powi(2)).sum();
    10.0 * (255.0 * 255.0 * a.len() as f64 / error.max(1e-9)).log10()
}

#[test]
fn pictures_tags_and_times_survive() {
    let dir = tempfile::tempdir().unwrap();
    for (degrees, range) in [(0, ColorRange::Limited), (90, ColorRange::Full), (270, ColorRange::Unspecified)]
    {
        let path = dir.path().join(format!("{degrees}.mp4"));
        let mut info = yuv420(96, 64, 30);
        info.rate = Rate::new(30000, 1001).unwrap();
        info.time_base = Rational::new(1001, 30000).unwrap();
        info.rotation = degrees;
        if range != ColorRange::Unspecified {
            info.color.range = range;
            (info.color.primaries, info.color.transfer, info.color.matrix) = (9, 16, 9);
        }
        info.pixel_aspect = Some(Rational::new(4, 3).unwrap());
        write_clip(&path, &info, 70, &writing()).unwrap();
        let mut source = open_file(&path).unwrap();
        let got = source.info().clone();
        assert_eq!((got.width, got.height, got.rotation), (96, 64, degrees));
        assert_eq!((got.color, got.rate, got.frames), (info.color, info.rate, Some(70)));
        assert_eq!(got.pixel_aspect, info.pixel_aspect);
        assert!(!got.variable_rate);
        let pictures = frames(&mut *source).unwrap();
        assert_eq!(pictures.len(), 70);
        let mut want = Frame::new(info.format, 96, 64).unwrap();
        for (n, f) in pictures.iter().enumerate() {
            picture(&mut want, n);
            assert!(signal_to_noise(f.bytes(), want.bytes()) > 36.0, "{n}");
            let seconds = f.timestamp as f64 * got.time_base.as_f64();
            assert!((seconds - n as f64 * 1001.0 / 30000.0).abs() < 1e-9);
        }
        // There are no bidirectional pictures in it, so nothing to warn of.
        assert!(source.notes().is_empty(), "{:?}", source.notes());
    }
}

#[test]
fn irregular_times_and_a_late_start_are_kept() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("vfr.mp4");
    let mut info = yuv420(32, 32, 30);
    info.time_base = Rational::new(1, 600).unwrap();
    info.variable_rate = true;
    let times = [100, 120, 140, 200, 260, 261];
    let mut sink = create(&Output::Path(path.clone()), &info, &writing()).unwrap();
    let mut f = Frame::new(info.format, 32, 32).unwrap();
    for (n, &t) in times.iter().enumerate() {
        picture(&mut f, n);
        f.timestamp = t;
        sink.write(&f).unwrap();
    }
    f.timestamp = 261;
    assert!(matches!(sink.write(&f), Err(Error::BadOption { .. })), "time must go on");
    sink.finish().unwrap();
    let mut source = open_file(&path).unwrap();
    assert!(source.info().variable_rate);
    let got: Vec<i64> = frames(&mut *source).unwrap().iter().map(|f| f.timestamp).collect();
    assert_eq!(got, times);
}

#[test]
fn the_quantiser_is_what_was_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let mut last = u64::MAX;
    for crf in [12, 24, 36, 51] {
        let path = dir.path().join(format!("{crf}.mp4"));
        let options = CreateOptions { crf: Some(crf), ..writing() };
        write_clip(&path, &yuv420(96, 96, 25), 10, &options).unwrap();
        let size = std::fs::metadata(&path).unwrap().len();
        assert!(size < last, "crf {crf}: {size} bytes, {last} before");
        last = size;
    }
    let options = CreateOptions { crf: Some(11), ..writing() };
    let e = write_clip(&dir.path().join("x.mp4"), &yuv420(96, 96, 25), 1, &options).unwrap_err();
    assert!(e.to_string().contains("12 (best) to 51"), "{e}");
}

#[test]
fn what_it_cannot_do_is_refused_before_the_work() {
    let dir = tempfile::tempdir().unwrap();
    let refused = |name: &str, format: &str, size: (usize, usize), options: &CreateOptions| {
        let format = PixelFormat::from_name(format).unwrap();
        let info = StreamInfo::new(format, size.0, size.1, Rate::new(25, 1).unwrap()).unwrap();
        create(&Output::Path(dir.path().join(name)), &info, options).err().unwrap()
    };
    let e = refused("a.mp4", "yuv420p", (19, 20), &writing()).to_string();
    assert!(e.contains(".mkv --lossless") && e.contains("--pad-even"), "{e}");
    let size = (32, 32);
    for (name, format, size, options) in [
        ("a.mp4", "yuv420p10le", size, writing()),
        ("a.mp4", "yuv444p", size, writing()),
        ("a.mp4", "gray", size, writing()),
        ("a.mp4", "yuv420p", (8, 8), writing()),
        ("a.mp4", "yuv420p", (4096, 4096), writing()),
        ("a.mkv", "yuv420p", size, writing()),
        ("a.webm", "yuv420p", size, writing()),
        ("a.mp4", "yuv420p", size, CreateOptions { codec: Some(Codec::Hevc), ..writing() }),
        ("a.mp4", "yuv420p", size, CreateOptions { lossless: true, ..writing() }),
    ] {
        let e = refused(name, format, size, &options);
        assert!(matches!(e, Error::NeedsFfmpeg { .. }), "{name} {format}: {e}");
    }
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    // Padding makes the odd one possible.
    let path = dir.path().join("p.mp4");
    write_clip(&path, &yuv420(19, 21, 25), 2, &CreateOptions { pad_even: true, ..writing() }).unwrap();
    let source = open_file(&path).unwrap();
    assert_eq!((source.info().width, source.info().height), (20, 22));
}

#[test]
fn given_up_outputs_leave_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let info = yuv420(32, 32, 25);
    let mut sink = create(&Output::Path(dir.path().join("a.mp4")), &info, &writing()).unwrap();
    sink.write(&Frame::new(info.format, 32, 32).unwrap()).unwrap();
    drop(sink);
    let sink = create(&Output::Path(dir.path().join("b.mp4")), &info, &writing()).unwrap();
    assert!(matches!(sink.finish(), Err(Error::NoFrames { .. })));
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn cut_files_are_broken_not_wrong() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.mp4");
    write_clip(&path, &yuv420(64, 64, 25), 20, &writing()).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    for keep in [20, 200, bytes.len() / 2, bytes.len() - 1] {
        std::fs::write(&path, &bytes[..keep]).unwrap();
        let e = open_file(&path).err();
        assert!(matches!(e, Some(Error::Broken { .. })), "{keep}: {e:?}");
    }
    let path = dir.path().join("b.mkv");
    std::fs::write(&path, [0x1A, 0x45, 0xDF, 0xA3, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]).unwrap();
    let e = open_file(&path).err().unwrap();
    assert!(matches!(&e, Error::NeedsFfmpeg { .. }) && e.to_string().contains("Matroska"), "{e}");
}

#[test]
fn sound_is_copied_byte_for_byte_and_cut_to_match() {
    if !ffmpeg() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let base = dir.path().join("base.mp4");
    make(
        "-f lavfi -i testsrc2=size=64x48:rate=30:duration=2 -f lavfi -i sine=frequency=440:duration=2 -c:v libx264 -pix_fmt yuv420p -c:a aac",
        &base,
    );
    let sound = |path: &Path| {
        probe_text(
            "-select_streams a:0 -show_packets -show_data_hash md5 -show_entries packet=pts_time,data_hash -of csv=p=0",
            path,
        )
    };
    let out = dir.path().join("out.mp4");
    assert_eq!(copy(&base, &out, &reading(), &writing()).unwrap().frames, 60);
    assert!(sound(&base).lines().count() > 80);
    assert_eq!(sound(&base), sound(&out));
    let silent = dir.path().join("silent.mp4");
    copy(&base, &silent, &reading(), &CreateOptions { no_audio: true, ..writing() }).unwrap();
    assert_eq!(sound(&silent), "");

    let part = dir.path().join("part.mov");
    let opening = OpenOptions { start: Some(0.5), end: Some(1.5), ..reading() };
    let creating = CreateOptions { start: opening.start, end: opening.end, ..writing() };
    assert_eq!(copy(&base, &part, &opening, &creating).unwrap().frames, 30);
    for kind in ["a", "v"] {
        let words = format!("-select_streams {kind}:0 -show_entries stream=start_time,duration -of csv=p=0");
        let text = probe_text(&words, &part);
        let numbers: Vec<f64> = text.trim().split(',').map(|n| n.parse().unwrap()).collect();
        assert!(numbers[0].abs() < 1e-3 && (numbers[1] - 1.0).abs() < 1e-3, "{kind}: {text}");
    }
}

#[test]
fn streams_without_bidirectional_pictures_are_decoded_exactly() {
    if !ffmpeg() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    for (name, words) in [
        ("baseline", "-c:v libx264 -profile:v baseline"),
        ("high", "-c:v libx264 -bf 0 -refs 4 -x264-params weightp=2:8x8dct=1"),
        ("cropped", "-vf crop=54:38 -c:v libx264 -bf 0"),
    ] {
        let path = dir.path().join(format!("{name}.mp4"));
        make(&format!("-f lavfi -i testsrc2=size=64x48:rate=30:duration=1 {words} -pix_fmt yuv420p"), &path);
        let mut a = open_file(&path).unwrap();
        let mut b = open(&Input::Path(path), &OpenOptions::default()).unwrap();
        assert!(a.notes().is_empty());
        assert_eq!((a.info().width, a.info().height), (b.info().width, b.info().height));
        let (x, y) = (frames(&mut *a).unwrap(), frames(&mut *b).unwrap());
        assert_eq!(x.len(), 30);
        assert!(x.iter().zip(&y).all(|(x, y)| x.bytes() == y.bytes()), "{name}");
    }
}

#[test]
fn profiles_it_cannot_take_are_named() {
    if !ffmpeg() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    for (words, named) in [
        ("-pix_fmt yuv420p10le", "High 10"),
        ("-pix_fmt yuv422p", "High 4:2:2"),
        ("-pix_fmt yuv444p", "High 4:4:4"),
        ("-pix_fmt yuv420p -flags +ilme+ildct", "interlaced"),
    ] {
        let path = dir.path().join("a.mp4");
        make(&format!("-f lavfi -i testsrc2=size=64x64:rate=30:duration=0.2 -c:v libx264 {words}"), &path);
        let e = open_file(&path).err().unwrap();
        assert!(matches!(&e, Error::NeedsFfmpeg { .. }) && e.to_string().contains(named), "{e}");
    }
    let path = dir.path().join("hevc.mp4");
    make(
        "-f lavfi -i testsrc2=size=64x64:rate=30:duration=0.2 -c:v libx265 -x265-params log-level=none",
        &path,
    );
    assert!(open_file(&path).err().unwrap().to_string().contains("HEVC"));
}

/// How far the built-in decoder may be from an exact one: see `docs/video.md`.
const LARGEST_DRIFT: u8 = 2;
const EQUAL_FRAMES: f64 = 0.60;

#[test]
fn real_clips_come_out_whole() {
    let Some(shared) = shared() else { return };
    for (name, count) in [("baby", 301), ("face", 301), ("face2", 300), ("wrist", 894)] {
        let path = shared.join(format!("clips/{name}.mp4"));
        let mut a = open_file(&path).unwrap();
        assert_eq!(a.info().frames, Some(count), "{name}");
        assert!(a.notes().iter().any(|n| n.contains("up to 2 levels")));
        let mut exact = ffmpeg().then(|| open(&Input::Path(path), &OpenOptions::default()).unwrap());
        let (mut x, mut y) = (a.new_frame().unwrap(), a.new_frame().unwrap());
        let (mut frames, mut equal) = (0, 0);
        while a.read(&mut x).unwrap() {
            frames += 1;
            let Some(b) = &mut exact else { continue };
            assert!(b.read(&mut y).unwrap());
            let seconds = |t: i64, s: &dyn FrameSource| t as f64 * s.info().time_base.as_f64();
            assert!((seconds(x.timestamp, &*a) - seconds(y.timestamp, &**b)).abs() < 1e-9);
            equal += usize::from(x.bytes() == y.bytes());
            let far = x.bytes().iter().zip(y.bytes()).any(|(p, q)| p.abs_diff(*q) > LARGEST_DRIFT);
            assert!(!far, "{name} frame {frames}");
        }
        assert_eq!(frames, count as usize, "{name}");
        if exact.is_some() {
            assert!(equal as f64 >= EQUAL_FRAMES * frames as f64, "{name}: {equal} of {frames}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn mutated_headers_never_panic(
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u32>(), any::<bool>()), 1..6),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        thread_local! {
            static GOOD: Vec<u8> = {
                let dir = tempfile::tempdir().unwrap();
                let path = dir.path().join("a.mp4");
                write_clip(&path, &yuv420(32, 32, 25), 5, &writing()).unwrap();
                std::fs::read(path).unwrap()
            };
        }
        let mut bytes = GOOD.with(Clone::clone);
        // The header comes first and takes less than this.
        let header = bytes.len().min(1200);
        for (at, value, whole) in edits {
            let i = at.index(header - 4);
            // Either a whole field, such as a size or a count, or a byte.
            if whole {
                bytes[i..i + 4].copy_from_slice(&value.to_be_bytes());
            } else {
                bytes[i] = value as u8;
            }
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        if let Ok(mp4) = Mp4::read(&mut Cursor::new(&bytes), "t") {
            for s in mp4.tracks.iter().flat_map(|t| &t.samples) {
                prop_assert!(s.offset + u64::from(s.size) <= bytes.len() as u64);
            }
        }
    }
}
