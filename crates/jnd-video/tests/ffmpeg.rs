//! Files of every kind through the `ffmpeg` program. Each test makes its own input.

mod common;

use std::path::Path;

use common::{
    copy, decoded, ffmpeg, frames, make, open_file, picture, probe_text, sync_option, write_clip, yuv420,
};
use jnd_video::{
    Codec, ColorRange, CreateOptions, Error, FieldOrder, Frame, Input, Layout, OpenOptions, Output,
    PixelFormat, Rate, Rational, StreamInfo, create, open, probe,
};

fn lossless() -> CreateOptions {
    CreateOptions { lossless: true, ..CreateOptions::default() }
}

fn plain() -> OpenOptions {
    OpenOptions::default()
}

fn times(path: &Path) -> Vec<i64> {
    // Microseconds, so that containers of different clocks compare.
    let text = probe_text("-select_streams v:0 -show_entries packet=pts_time -of csv=p=0", path);
    let mut t: Vec<i64> = text
        .lines()
        .filter_map(|l| l.trim_end_matches(',').parse::<f64>().ok())
        .map(|s| (s * 1e6).round() as i64)
        .collect();
    t.sort_unstable();
    t
}

fn sound(path: &Path) -> String {
    probe_text(
        "-select_streams a:0 -show_packets -show_data_hash md5 -show_entries packet=pts_time,data_hash -of csv=p=0",
        path,
    )
}

#[test]
fn every_format_goes_to_ffv1_and_back_unchanged() {
    if !ffmpeg() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let mut tried = 0;
    for name in PixelFormat::names() {
        let format = PixelFormat::from_name(name).unwrap();
        let mut info = StreamInfo::new(format, 35, 21, Rate::new(30000, 1001).unwrap()).unwrap();
        info.color.range = if format.is_rgb() { ColorRange::Full } else { ColorRange::Limited };
        let path = dir.path().join(format!("{name}.mkv"));
        match write_clip(&path, &info, 3, &lossless()) {
            Ok(()) => {}
            // 14-bit gray has no place in FFV1 of some versions.
            Err(Error::Unsupported { .. }) if format.depth() == 14 || format.depth() == 9 => continue,
            Err(e) => panic!("{name}: {e}: {:?}", std::error::Error::source(&e)),
        }
        let mut source = open_file(&path).unwrap();
        assert_eq!((source.info().width, source.info().height), (35, 21), "{name}");
        assert_eq!(source.info().format.depth(), format.depth(), "{name}");
        let got = frames(&mut *source).unwrap();
        assert_eq!(got.len(), 3, "{name}");
        tried += 1;
        if source.info().format != format {
            // NV12 comes back planar, and interleaved RGB in another order; the samples are looked at below.
            continue;
        }
        let mut want = Frame::new(format, 35, 21).unwrap();
        for (n, f) in got.iter().enumerate() {
            picture(&mut want, n);
            assert_eq!(f.bytes(), want.bytes(), "{name} frame {n}");
        }
    }
    assert!(tried > 25, "{tried}");
}

#[test]
fn rgb_keeps_its_channels() {
    if !ffmpeg() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    for layout in [Layout::Rgb, Layout::Bgr] {
        let format = PixelFormat::new(layout, 8).unwrap();
        let info = StreamInfo::new(format, 8, 8, Rate::new(25, 1).unwrap()).unwrap();
        let path = dir.path().join(format!("{layout:?}.mkv"));
        let mut sink = create(&Output::Path(path.clone()), &info, &lossless()).unwrap();
        let mut f = Frame::new(format, 8, 8).unwrap();
        for p in f.bytes_mut().chunks_exact_mut(3) {
            p.copy_from_slice(if layout == Layout::Rgb { &[250, 100, 7] } else { &[7, 100, 250] });
        }
        sink.write(&f).unwrap();
        sink.finish().unwrap();
        assert_eq!(decoded(&path, "rgb24", dir.path())[..3], [250, 100, 7], "{layout:?}");
    }
}

#[test]
fn rotation_is_kept_as_a_tag_or_turned_never_both() {
    if !ffmpeg() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    for degrees in [0, 90, 180, 270] {
        let base = dir.path().join(format!("base{degrees}.mp4"));
        let mut info = yuv420(64, 48, 25);
        info.rotation = degrees;
        write_clip(&base, &info, 3, &CreateOptions::default()).unwrap();
        let upright = if degrees % 180 == 90 { (48, 64) } else { (64, 48) };
        // What ffmpeg shows is what must be seen.
        let want = decoded(&base, "yuv420p", dir.path());
        assert_eq!(open_file(&base).unwrap().info().rotation, degrees);

        let y4m = dir.path().join(format!("{degrees}.y4m"));
        copy(&base, &y4m, &plain(), &CreateOptions::default()).unwrap();
        let mut turned = open_file(&y4m).unwrap();
        assert_eq!((turned.info().width, turned.info().height), upright);
        let got: Vec<u8> = frames(&mut *turned).unwrap().iter().flat_map(|f| f.bytes().to_vec()).collect();
        assert!(got == want, "{degrees} degrees to y4m");

        let mkv = dir.path().join(format!("{degrees}.mkv"));
        copy(&base, &mkv, &plain(), &lossless()).unwrap();
        assert!(decoded(&mkv, "yuv420p", dir.path()) == want, "{degrees} degrees to mkv");

        let mp4 = dir.path().join(format!("{degrees}.mp4"));
        copy(&base, &mp4, &plain(), &CreateOptions::default()).unwrap();
        let again = open_file(&mp4).unwrap();
        assert_eq!((again.info().rotation, again.info().width), (degrees, 64));
        assert_eq!(decoded(&mp4, "yuv420p", dir.path()).len(), want.len());
    }
}

#[test]
fn variable_rate_keeps_its_times() {
    if !ffmpeg() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let base = dir.path().join("vfr.mp4");
    make(
        &format!(
            "-f lavfi -i testsrc2=size=64x48:rate=30:duration=2 -vf setpts='if(lt(N,30),N/30,1+(N-30)/10)/TB' {} vfr -c:v libx264 -pix_fmt yuv420p",
            sync_option()
        ),
        &base,
    );
    let info = probe(&Input::Path(base.clone()), &plain()).unwrap();
    assert!(info.video.variable_rate);
    assert_eq!(info.frames_hint, Some(60));
    // Mean of 59 steps over 3.9 seconds.
    assert!((info.video.rate.as_f64() - 59.0 / 3.9).abs() < 1e-9, "{}", info.video.rate);
    for name in ["out.mp4", "out.mkv"] {
        let out = dir.path().join(name);
        copy(&base, &out, &plain(), &CreateOptions::default()).unwrap();
        // Matroska counts milliseconds.
        let (a, b) = (times(&base), times(&out));
        assert_eq!(a.len(), b.len());
        assert!(
            a.iter().zip(&b).all(|(a, b)| (a - b).abs() <= if name == "out.mkv" { 500 } else { 0 }),
            "{name}"
        );
    }
    let y4m = dir.path().join("out.y4m");
    let done = copy(&base, &y4m, &plain(), &CreateOptions::default()).unwrap();
    assert!(done.notes.iter().any(|n| n.contains("cannot hold")), "{:?}", done.notes);
}

#[test]
fn odd_sizes_are_kept_padded_or_refused() {
    if !ffmpeg() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let base = dir.path().join("odd.y4m");
    write_clip(&base, &yuv420(19, 17, 25), 3, &CreateOptions::default()).unwrap();
    let want = std::fs::read(&base).unwrap();
    let mkv = dir.path().join("odd.mkv");
    copy(&base, &mkv, &plain(), &lossless()).unwrap();
    let back = dir.path().join("back.y4m");
    copy(&mkv, &back, &plain(), &CreateOptions::default()).unwrap();
    let tail = |b: &[u8]| b[b.windows(6).position(|w| w == b"FRAME\n").unwrap()..].to_vec();
    assert_eq!(tail(&std::fs::read(&back).unwrap()), tail(&want));

    let mp4 = dir.path().join("odd.mp4");
    let e = copy(&base, &mp4, &plain(), &CreateOptions::default()).unwrap_err().to_string();
    assert!(e.contains(".mkv --lossless") && e.contains("--pad-even"), "{e}");
    assert!(!mp4.exists());
    let pad = CreateOptions { pad_even: true, ..CreateOptions::default() };
    copy(&base, &mp4, &plain(), &pad).unwrap();
    let padded = open_file(&mp4).unwrap();
    assert_eq!((padded.info().width, padded.info().height), (20, 18));
}

#[test]
fn sound_subtitles_and_tags_are_carried_over() {
    if !ffmpeg() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let srt = dir.path().join("s.srt");
    std::fs::write(&srt, "1\n00:00:00,200 --> 00:00:01,000\nhello\n").unwrap();
    let base = dir.path().join("base.mp4");
    make(
        &format!(
            "-f lavfi -i testsrc2=size=64x48:rate=30:duration=2 -f lavfi -i sine=frequency=440:duration=2 -i {} -map 0 -map 1 -map 2 \
             -c:v libx264 -pix_fmt yuv420p -c:a aac -c:s mov_text -metadata title=thetitle",
            srt.display()
        ),
        &base,
    );
    let out = dir.path().join("out.mp4");
    copy(&base, &out, &plain(), &CreateOptions::default()).unwrap();
    assert!(sound(&base).lines().count() > 80);
    assert_eq!(sound(&base), sound(&out));
    assert_eq!(times(&base), times(&out));
    let streams = probe_text("-show_entries stream=codec_name:format_tags=title -of csv=p=0", &out);
    assert!(streams.contains("mov_text") && streams.contains("thetitle"), "{streams}");

    let mkv = dir.path().join("out.mkv");
    copy(&base, &mkv, &plain(), &lossless()).unwrap();
    let streams = probe_text("-show_entries stream=codec_name -of csv=p=0", &mkv);
    assert!(streams.contains("subrip") && streams.contains("aac"), "{streams}");

    let silent = dir.path().join("silent.mp4");
    let options = CreateOptions { no_audio: true, ..CreateOptions::default() };
    copy(&base, &silent, &plain(), &options).unwrap();
    assert!(!probe(&Input::Path(silent), &plain()).unwrap().has_audio());

    let webm = dir.path().join("out.webm");
    let e = copy(&base, &webm, &plain(), &CreateOptions::default()).unwrap_err().to_string();
    assert!(e.contains("aac") && e.contains("--no-audio"), "{e}");
    assert_eq!(
        std::fs::read_dir(dir.path()).unwrap().filter(|f| f.as_ref().unwrap().path() == webm).count(),
        0
    );

    // A part: pictures and sound from the same moment on.
    let part = dir.path().join("part.mp4");
    let opening = OpenOptions { start: Some(0.5), end: Some(1.5), ..plain() };
    let creating = CreateOptions { start: opening.start, end: opening.end, ..CreateOptions::default() };
    let done = copy(&base, &part, &opening, &creating).unwrap();
    assert_eq!(done.frames, 30);
    assert_eq!(times(&part)[0], 0);
    let seconds: f64 = probe_text("-select_streams a:0 -show_entries stream=duration -of csv=p=0", &part)
        .trim()
        .parse()
        .unwrap();
    assert!((seconds - 1.0).abs() < 0.05, "{seconds}");
}

#[test]
fn interlaced_sources_stay_whole_and_are_noted() {
    if !ffmpeg() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let base = dir.path().join("i.mp4");
    make(
        "-f lavfi -i testsrc2=size=64x64:rate=50:duration=1 -vf tinterlace=interleave_top,fieldorder=tff -c:v libx264 -flags +ilme+ildct -pix_fmt yuv420p",
        &base,
    );
    let out = dir.path().join("o.mp4");
    let done = copy(&base, &out, &plain(), &CreateOptions::default()).unwrap();
    assert_eq!(done.frames, 25);
    assert!(done.notes.iter().any(|n| n.contains("interlaced")));
    assert_eq!(open_file(&out).unwrap().info().fields, FieldOrder::TopFirst);
}

#[test]
fn ranges_and_colour_tags_come_out_as_they_went_in() {
    if !ffmpeg() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    for (name, range) in [("pc", ColorRange::Full), ("tv", ColorRange::Limited)] {
        let base = dir.path().join(format!("{name}.mp4"));
        make(
            &format!(
                "-f lavfi -i testsrc2=size=64x48:rate=25:duration=0.2 -vf scale=out_range={name},format=yuv420p -color_range {name} \
                 -color_primaries bt709 -color_trc smpte170m -colorspace bt470bg -c:v libx264 -qp 0"
            ),
            &base,
        );
        for out in ["o.mp4", "o.mkv", "o.webm"] {
            let out = dir.path().join(format!("{name}{out}"));
            let options =
                if out.extension().unwrap() == "mkv" { lossless() } else { CreateOptions::default() };
            copy(&base, &out, &plain(), &options).unwrap();
            let (a, b) = (open_file(&base).unwrap(), open_file(&out).unwrap());
            assert_eq!(a.info().color.range, range);
            assert_eq!(a.info().color, b.info().color, "{}", out.display());
            let (x, y) = (frames(&mut *{ a }).unwrap(), frames(&mut *{ b }).unwrap());
            // Blacks are not lifted: on average, luma stays where it was.
            let mean = |f: &[Frame]| {
                let luma = f.iter().flat_map(|f| f.bytes()[..64 * 48].iter().map(|&v| f64::from(v)));
                luma.sum::<f64>() / (f.len() * 64 * 48) as f64
            };
            let slack = if options.lossless { 0.0 } else { 0.5 };
            assert!((mean(&x) - mean(&y)).abs() <= slack, "{}: {} {}", out.display(), mean(&x), mean(&y));
        }
        let y4m = dir.path().join(format!("{name}.y4m"));
        copy(&base, &y4m, &plain(), &CreateOptions::default()).unwrap();
        assert_eq!(open_file(&y4m).unwrap().info().color.range, range);
    }
}

#[test]
fn alpha_is_dropped_with_a_note_and_gray_stays_gray() {
    if !ffmpeg() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let base = dir.path().join("a.mkv");
    make(
        "-f lavfi -i testsrc2=size=64x48:rate=25:duration=0.2 -vf format=yuva444p10le,geq=lum='lum(X,Y)':cb='cb(X,Y)':cr='cr(X,Y)':a='16*X' -c:v ffv1",
        &base,
    );
    let mut s = open_file(&base).unwrap();
    assert!(s.notes().iter().any(|n| n.contains("alpha")));
    assert_eq!(s.info().format.name(), Some("yuv444p10le"));
    let got: Vec<u8> = frames(&mut *s).unwrap().iter().flat_map(|f| f.bytes().to_vec()).collect();
    let with_alpha = decoded(&base, "yuva444p10le", dir.path());
    let frame = 64 * 48 * 2;
    for (n, want) in with_alpha.chunks(4 * frame).enumerate() {
        assert!(got[n * 3 * frame..(n + 1) * 3 * frame] == want[..3 * frame], "frame {n}");
    }
    let gray = dir.path().join("g.mkv");
    make("-f lavfi -i testsrc2=size=64x48:rate=25:duration=0.2 -vf format=gray -c:v ffv1", &gray);
    let out = dir.path().join("g2.mkv");
    copy(&gray, &out, &plain(), &lossless()).unwrap();
    assert_eq!(open_file(&out).unwrap().info().format.layout(), Layout::Gray);
}

#[test]
fn hdr_metadata_that_is_lost_is_noted_wherever_it_lies() {
    if !ffmpeg() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let master = "master-display=G(13250,34500)B(7500,3000)R(34000,16000)WP(15635,16450)L(10000000,1):max-cll=1000,400";
    for (name, more, want) in [("with", master, true), ("without", "annexb=1", false)] {
        // libx265 puts it into the first picture alone.
        let path = dir.path().join(format!("{name}.mp4"));
        make(
            &format!(
                "-f lavfi -i testsrc2=size=128x96:rate=25:duration=0.2 -pix_fmt yuv420p10le -c:v libx265 -x265-params \
                 log-level=error:colorprim=bt2020:transfer=smpte2084:colormatrix=bt2020nc:{more}"
            ),
            &path,
        );
        let source = open_file(&path).unwrap();
        assert_eq!(source.info().color.transfer, 16);
        let noted = source.notes().iter().any(|n| n.contains("mastering display"));
        assert_eq!(noted, want, "{name}: {:?}", source.notes());
    }
}

#[test]
fn cut_and_empty_files_are_told_apart() {
    if !ffmpeg() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let whole = dir.path().join("whole.mkv");
    make("-f lavfi -i testsrc2=size=320x240:rate=30:duration=1 -c:v libx264 -pix_fmt yuv420p", &whole);
    let bytes = std::fs::read(&whole).unwrap();
    let cut = dir.path().join("cut.mkv");
    std::fs::write(&cut, &bytes[..bytes.len() / 2]).unwrap();
    let out = dir.path().join("out.mkv");
    let done = copy(&cut, &out, &plain(), &CreateOptions::default()).unwrap();
    assert!(matches!(done.truncated, Some(Error::Truncated { frames: 1.., .. })), "{done:?}");
    assert_eq!(times(&out).len() as u64, done.frames);

    let mp4 = dir.path().join("whole.mp4");
    make("-f lavfi -i testsrc2=size=64x48:rate=30:duration=2 -c:v libx264 -pix_fmt yuv420p", &mp4);
    let cut = dir.path().join("cut.mp4");
    let bytes = std::fs::read(&mp4).unwrap();
    std::fs::write(&cut, &bytes[..bytes.len() / 2]).unwrap();
    let e = open_file(&cut).err().unwrap();
    assert!(matches!(&e, Error::Broken { .. }) && e.to_string().contains("moov"), "{e}");

    let sound = dir.path().join("sound.mp4");
    make("-f lavfi -i sine=frequency=440:duration=1 -c:a aac", &sound);
    let e = open_file(&sound).err().unwrap();
    assert!(matches!(&e, Error::NoVideo { .. }) && e.to_string().contains("aac"), "{e}");

    let text = dir.path().join("text.mp4");
    std::fs::write(&text, "this is no video at all, whatever its name says").unwrap();
    assert!(open_file(&text).is_err());
}

#[test]
fn any_name_works() {
    if !ffmpeg() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let inside = dir.path().join("t18 カズサ_ü' dir");
    std::fs::create_dir(&inside).unwrap();
    for name in ["クリップ (1) :x.mp4", "-y.mp4", "a%03d.mp4", "\"q\".mp4", "http:x.mkv", "concat:a|b.mkv"]
    {
        let path = inside.join(name);
        write_clip(&path, &yuv420(32, 32, 25), 2, &CreateOptions::default()).unwrap();
        let out = inside.join(format!("out {name}"));
        assert_eq!(copy(&path, &out, &plain(), &CreateOptions::default()).unwrap().frames, 2, "{name}");
    }
    assert_eq!(std::fs::read_dir(&inside).unwrap().count(), 12);
}

#[test]
fn one_frame_has_a_length_and_given_up_outputs_leave_nothing() {
    if !ffmpeg() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let one = dir.path().join("one.mp4");
    write_clip(&one, &yuv420(32, 32, 25), 1, &CreateOptions::default()).unwrap();
    let seconds = probe_text("-select_streams v:0 -show_entries stream=duration -of csv=p=0", &one);
    assert_eq!(seconds.trim(), "0.040000");
    let mut source = open_file(&one).unwrap();
    assert_eq!(frames(&mut *source).unwrap().len(), 1);

    let info = yuv420(32, 32, 25);
    let mut sink =
        create(&Output::Path(dir.path().join("two.mkv")), &info, &CreateOptions::default()).unwrap();
    sink.write(&Frame::new(info.format, 32, 32).unwrap()).unwrap();
    drop(sink);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn what_a_codec_cannot_hold_is_refused_before_the_work() {
    if !ffmpeg() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let refused = |format: &str, name: &str, options: &CreateOptions| {
        let format = PixelFormat::from_name(format).unwrap();
        let info = StreamInfo::new(format, 32, 32, Rate::new(25, 1).unwrap()).unwrap();
        create(&Output::Path(dir.path().join(name)), &info, options).err().map(|e| e.to_string())
    };
    let options = CreateOptions::default();
    let e = refused("yuv420p16le", "a.mp4", &options).unwrap();
    assert!(e.contains("--pix-fmt") && e.contains(".mkv --lossless"), "{e}");
    let e = refused("rgb24", "a.mp4", &options).unwrap();
    assert!(e.contains("--pix-fmt"), "{e}");
    let to_420 = CreateOptions { pix_fmt: PixelFormat::from_name("yuv420p"), ..CreateOptions::default() };
    assert_eq!(refused("rgb24", "b.mp4", &to_420), None);
    assert_eq!(refused("yuv420p10le", "c.mp4", &options), None);
    let e = refused("yuv420p", "a.mp4", &lossless()).unwrap();
    assert!(e.contains(".mkv"), "{e}");
    let vp9 = CreateOptions { codec: Some(Codec::Vp9), ..CreateOptions::default() };
    assert!(refused("yuv420p", "a.mp4", &vp9).unwrap().contains(".webm"));
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn a_conversion_keeps_the_range() {
    if !ffmpeg() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let format = PixelFormat::from_name("yuv420p10le").unwrap();
    for range in [ColorRange::Full, ColorRange::Limited] {
        let mut info = StreamInfo::new(format, 32, 32, Rate::new(25, 1).unwrap()).unwrap();
        info.color.range = range;
        let path = dir.path().join(format!("{range:?}.mkv"));
        let options = CreateOptions { pix_fmt: PixelFormat::from_name("yuv420p"), ..lossless() };
        let mut sink = create(&Output::Path(path.clone()), &info, &options).unwrap();
        let mut f = Frame::new(format, 32, 32).unwrap();
        let jnd_video::Buffer::U16(b) = f.buffer_mut() else { panic!("16-bit") };
        b[..1024].fill(100);
        b[1024..].fill(512);
        sink.write(&f).unwrap();
        sink.finish().unwrap();
        let mut s = open_file(&path).unwrap();
        assert_eq!((s.info().format.depth(), s.info().color.range), (8, range));
        let got = frames(&mut *s).unwrap();
        // 100 of 1023 is 25 of 255, whatever the range means.
        assert!(got[0].bytes()[..1024].iter().all(|&v| v.abs_diff(25) <= 1), "{:?}", &got[0].bytes()[..8]);
    }
}

#[test]
fn a_time_base_survives() {
    if !ffmpeg() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let mut info = yuv420(32, 32, 25);
    info.rate = Rate::new(30000, 1001).unwrap();
    info.time_base = Rational::new(1001, 30000).unwrap();
    let path = dir.path().join("ntsc.mp4");
    write_clip(&path, &info, 31, &CreateOptions::default()).unwrap();
    let s = open_file(&path).unwrap();
    assert_eq!(s.info().rate, info.rate);
    let t = times(&path);
    for (n, t) in t.iter().enumerate() {
        assert_eq!(*t, (n as f64 * 1001.0 / 30000.0 * 1e6).round() as i64);
    }
    let opening = OpenOptions { start: Some(0.5), ..plain() };
    let mut part = open(&Input::Path(path), &opening).unwrap();
    // 0.5 s is between pictures 14 and 15.
    assert_eq!(frames(&mut *part).unwrap().len(), 16);
}
