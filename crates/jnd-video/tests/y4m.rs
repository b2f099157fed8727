//! YUV4MPEG2 through the public functions: every tag, cuts, odd sizes, round trips.

use std::path::{Path, PathBuf};

use jnd_video::{
    ChromaSiting, ColorRange, CreateOptions, Error, FieldOrder, Frame, FrameSource, Input, Layout,
    OpenOptions, Output, PixelFormat, Rate, Rational, StreamInfo, create, open, parse_header,
};
use proptest::prelude::*;

fn file(dir: &Path, name: &str, bytes: &[u8]) -> Input {
    let path = dir.join(name);
    std::fs::write(&path, bytes).unwrap();
    Input::Path(path)
}

fn open_bytes(bytes: &[u8]) -> Result<Box<dyn FrameSource>, Error> {
    let dir = tempfile::tempdir().unwrap();
    // The open file outlives its directory entry.
    open(&file(dir.path(), "t.y4m", bytes), &OpenOptions::default())
}

fn header(line: &str) -> Result<StreamInfo, Error> {
    parse_header(line.as_bytes(), "t").map(|h| h.info)
}

#[test]
fn every_tag_is_read_or_refused_by_name() {
    let cases = [
        ("C420", Layout::Yuv420, 8, ChromaSiting::Unspecified),
        ("C420jpeg", Layout::Yuv420, 8, ChromaSiting::Center),
        ("C420mpeg2", Layout::Yuv420, 8, ChromaSiting::Left),
        ("C420paldv", Layout::Yuv420, 8, ChromaSiting::TopLeft),
        ("", Layout::Yuv420, 8, ChromaSiting::Center),
        ("XYSCSS=444", Layout::Yuv444, 8, ChromaSiting::Unspecified),
        ("C422 XYSCSS=444", Layout::Yuv422, 8, ChromaSiting::Unspecified),
        ("C422", Layout::Yuv422, 8, ChromaSiting::Unspecified),
        ("C444", Layout::Yuv444, 8, ChromaSiting::Unspecified),
        ("Cmono", Layout::Gray, 8, ChromaSiting::Unspecified),
    ];
    for (tag, layout, depth, siting) in cases {
        let i = header(&format!("YUV4MPEG2 W6 H4 F25:1 {tag}")).unwrap();
        assert_eq!((i.format.layout(), i.format.depth(), i.siting), (layout, depth, siting), "{tag}");
    }
    for depth in [10, 12, 16] {
        for (tag, layout) in [
            (format!("C420p{depth}"), Layout::Yuv420),
            (format!("C422p{depth}"), Layout::Yuv422),
            (format!("C444p{depth}"), Layout::Yuv444),
            (format!("Cmono{depth}"), Layout::Gray),
        ] {
            let i = header(&format!("YUV4MPEG2 W6 H4 F25:1 {tag}")).unwrap();
            assert_eq!((i.format.layout(), i.format.depth()), (layout, depth), "{tag}");
        }
    }
    for (tag, name) in [
        ("C411", "4:1:1"),
        ("C444alpha", "alpha"),
        ("C420p9", "9-bit"),
        ("Cmono9", "9-bit"),
        ("C422p14", "14-bit"),
        ("Cnonsense", "unknown chroma format"),
    ] {
        let e = header(&format!("YUV4MPEG2 W6 H4 F25:1 {tag}")).unwrap_err();
        assert!(matches!(e, Error::Unsupported { .. }), "{e}");
        assert!(e.to_string().contains(name), "{e}");
    }
}

#[test]
fn tags_may_come_in_any_order_and_number() {
    let long = "X".repeat(70_000);
    let i = header(&format!("YUV4MPEG2 C420jpeg XCOLORRANGE=FULL A4:3 X{long} It F30000:1001  H4 W6 Zed"))
        .unwrap();
    assert_eq!((i.width, i.height), (6, 4));
    assert_eq!(i.rate, Rate::new(30000, 1001).unwrap());
    assert_eq!(i.color.range, ColorRange::Full);
    assert_eq!(i.fields, FieldOrder::TopFirst);
    assert_eq!(i.pixel_aspect, Some(Rational::new(4, 3).unwrap()));
    // Zero by zero means unknown.
    let i = header("YUV4MPEG2 W6 H4 F0:0 A0:0 I?").unwrap();
    assert_eq!((i.rate, i.pixel_aspect), (Rate::new(25, 1).unwrap(), None));
}

#[test]
fn malformed_headers_are_broken() {
    for line in [
        "YUV4MPEG2 W6 F25:1",
        "YUV4MPEG2 W-6 H4 F25:1",
        "YUV4MPEG2 W6 H4 F25:0",
        "YUV4MPEG2 W6 H4 F25",
        "YUV4MPEG2 W6 H4 F25:1 Ix",
        "YUV4MPEG2 W99999999999999999999 H4 F25:1",
        "YUV4MPEG2 \u{fc} W6 H4 \u{fc}\u{fc}",
    ] {
        let e = header(line);
        assert!(matches!(e, Err(Error::Broken { .. })), "{line}: {e:?}");
    }
    assert!(matches!(header("YUV4MPEG2 W70000 H4 F25:1"), Err(Error::BadSize { .. })));
    assert!(matches!(header("YUV4MPEG2 W0 H4 F25:1"), Err(Error::BadSize { .. })));
}

#[test]
fn frame_parameters_are_skipped_and_every_byte_is_in_its_place() {
    // 3x3 4:2:0: 9 + 4 + 4 bytes.
    let mut bytes = b"YUV4MPEG2 W3 H3 F25:1 C420jpeg\nFRAME Ip Xabc\n".to_vec();
    bytes.extend(0..17);
    bytes.extend(b"FRAME\n");
    bytes.extend(100..117);
    let mut s = open_bytes(&bytes).unwrap();
    // A parameter makes the size an uncertain witness.
    assert_eq!(s.info().frames, None);
    let mut f = s.new_frame().unwrap();
    assert!(s.read(&mut f).unwrap());
    assert_eq!(f.bytes(), (0..17).collect::<Vec<u8>>());
    assert!(s.read(&mut f).unwrap());
    assert_eq!(f.bytes(), (100..117).collect::<Vec<u8>>());
    assert_eq!(f.timestamp, 1);
    assert!(!s.read(&mut f).unwrap());
}

#[test]
fn cuts_are_reported_after_the_whole_frames() {
    let mut bytes = b"YUV4MPEG2 W4 H2 F25:1 Cmono\n".to_vec();
    for _ in 0..2 {
        bytes.extend(b"FRAME\n01234567");
    }
    for cut in 1..14 {
        let mut s = open_bytes(&bytes[..bytes.len() - cut]).unwrap();
        let mut f = s.new_frame().unwrap();
        assert!(s.read(&mut f).unwrap());
        let e = s.read(&mut f).unwrap_err();
        assert!(matches!(e, Error::Truncated { frames: 1, .. }), "{cut}: {e}");
    }
    assert!(matches!(open_bytes(b"YUV4MPEG2 W4 H"), Err(Error::Truncated { frames: 0, .. })));
    assert!(matches!(open_bytes(b""), Err(Error::Broken { .. })));
    let mut s = open_bytes(b"YUV4MPEG2 W4 H2 F25:1 Cmono\n").unwrap();
    assert_eq!(s.info().frames, Some(0));
    let mut f = s.new_frame().unwrap();
    assert!(matches!(s.read(&mut f), Err(Error::NoFrames { .. })));
    let mut s = open_bytes(b"YUV4MPEG2 W4 H2 F25:1 Cmono\nFRAMEX\n01234567").unwrap();
    assert!(matches!(s.read(&mut f), Err(Error::Broken { .. })));
}

#[test]
fn start_and_end_cut_by_time() {
    let mut bytes = b"YUV4MPEG2 W1 H1 F10:1 Cmono\n".to_vec();
    for i in 0..20u8 {
        bytes.extend(b"FRAME\n");
        bytes.push(i);
    }
    let dir = tempfile::tempdir().unwrap();
    let input = file(dir.path(), "t.y4m", &bytes);
    let options = OpenOptions { start: Some(0.3), end: Some(0.8), ..OpenOptions::default() };
    let mut s = open(&input, &options).unwrap();
    assert_eq!(s.info().frames, Some(5));
    let mut f = s.new_frame().unwrap();
    let mut got = Vec::new();
    while s.read(&mut f).unwrap() {
        got.push((f.timestamp, f.bytes()[0]));
    }
    assert_eq!(got, [(0, 3), (1, 4), (2, 5), (3, 6), (4, 7)]);
    let options = OpenOptions { start: Some(2.0), ..OpenOptions::default() };
    let mut s = open(&input, &options).unwrap();
    assert!(matches!(s.read(&mut f), Err(Error::NoFrames { .. })));
    let options = OpenOptions { start: Some(2.0), end: Some(1.0), ..OpenOptions::default() };
    assert!(matches!(open(&input, &options), Err(Error::BadOption { .. })));
}

#[test]
fn outputs_appear_whole_or_not_at_all() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("カズサ_ü' (1) :x.y4m");
    let info =
        StreamInfo::new(PixelFormat::new(Layout::Gray, 8).unwrap(), 2, 2, Rate::new(25, 1).unwrap()).unwrap();
    let frame = Frame::new(info.format, 2, 2).unwrap();
    let out = Output::Path(target.clone());
    let listing = || std::fs::read_dir(dir.path()).unwrap().count();

    let mut sink = create(&out, &info, &CreateOptions::default()).unwrap();
    sink.write(&frame).unwrap();
    assert!(!target.exists());
    drop(sink);
    assert_eq!(listing(), 0);

    let mut sink = create(&out, &info, &CreateOptions::default()).unwrap();
    sink.write(&frame).unwrap();
    sink.finish().unwrap();
    assert_eq!(listing(), 1);
    let made = std::fs::read(&target).unwrap();
    assert_eq!(made, b"YUV4MPEG2 W2 H2 F25:1 Ip A0:0 Cmono XYSCSS=MONO\nFRAME\n\0\0\0\0");

    let e = create(&out, &info, &CreateOptions::default()).err().unwrap();
    assert!(matches!(e, Error::Exists { .. }) && e.to_string().contains("--overwrite"));
    let over = CreateOptions { overwrite: true, ..CreateOptions::default() };
    let sink = create(&out, &info, &over).unwrap();
    sink.finish().unwrap();
    assert!(std::fs::read(&target).unwrap().len() < made.len());

    let same = CreateOptions { overwrite: true, copy_from: Some(target), ..CreateOptions::default() };
    assert!(matches!(create(&out, &info, &same), Err(Error::SameFile { .. })));
    let nowhere = Output::Path(PathBuf::from("/nonexistent-directory/x.y4m"));
    assert!(matches!(create(&nowhere, &info, &CreateOptions::default()), Err(Error::Io { .. })));
    let e = create(&Output::Path(dir.path().join("x.gif")), &info, &CreateOptions::default()).err().unwrap();
    assert!(e.to_string().contains(".mkv"), "{e}");
    assert_eq!(listing(), 1);
}

#[test]
fn frames_of_another_stream_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let info =
        StreamInfo::new(PixelFormat::new(Layout::Gray, 8).unwrap(), 2, 2, Rate::new(25, 1).unwrap()).unwrap();
    let mut sink = create(&Output::Path(dir.path().join("a.y4m")), &info, &CreateOptions::default()).unwrap();
    let wrong = Frame::new(info.format, 2, 3).unwrap();
    assert!(matches!(sink.write(&wrong), Err(Error::FrameMismatch { .. })));
}

#[test]
fn interleaved_chroma_is_written_planar_and_raw_frames_are_turned() {
    let dir = tempfile::tempdir().unwrap();
    let format = PixelFormat::new(Layout::Nv12, 8).unwrap();
    let info = StreamInfo::new(format, 2, 2, Rate::new(25, 1).unwrap()).unwrap();
    let mut f = Frame::new(format, 2, 2).unwrap();
    f.bytes_mut().copy_from_slice(&[1, 2, 3, 4, 10, 20]);
    let path = dir.path().join("a.y4m");
    let mut sink = create(&Output::Path(path.clone()), &info, &CreateOptions::default()).unwrap();
    sink.write(&f).unwrap();
    sink.finish().unwrap();
    assert!(std::fs::read(&path).unwrap().ends_with(b"FRAME\n\x01\x02\x03\x04\x0a\x14"));

    let mut info =
        StreamInfo::new(PixelFormat::new(Layout::Gray, 8).unwrap(), 2, 1, Rate::new(25, 1).unwrap()).unwrap();
    info.rotation = 180;
    let mut f = Frame::new(info.format, 2, 1).unwrap();
    f.bytes_mut().copy_from_slice(&[1, 2]);
    let path = dir.path().join("a.yuv");
    let mut sink = create(&Output::Path(path.clone()), &info, &CreateOptions::default()).unwrap();
    assert!(sink.notes().iter().any(|n| n.contains("180")));
    sink.write(&f).unwrap();
    sink.finish().unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), [2, 1]);
}

fn formats() -> impl Strategy<Value = PixelFormat> {
    (
        prop::sample::select(vec![Layout::Gray, Layout::Yuv420, Layout::Yuv422, Layout::Yuv444]),
        prop::sample::select(vec![8u8, 10, 12, 16]),
    )
        .prop_map(|(l, d)| PixelFormat::new(l, d).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn round_trip(
        format in formats(), width in 1usize..40, height in 1usize..40, frames in 1i64..4, seed: u8,
        num in 1u64..100_000, den in 1u64..2000, fields in 1usize..5, range in 0usize..3, siting in 1usize..4,
        aspect in prop::option::of((1u64..100, 1u64..100)),
    ) {
        let mut info = StreamInfo::new(format, width, height, Rate::new(num, den).unwrap()).unwrap();
        info.fields = [FieldOrder::Unspecified, FieldOrder::Progressive, FieldOrder::TopFirst,
            FieldOrder::BottomFirst, FieldOrder::Mixed][fields];
        info.color.range = [ColorRange::Unspecified, ColorRange::Limited, ColorRange::Full][range];
        if format.layout() == Layout::Yuv420 && format.depth() == 8 {
            info.siting = [ChromaSiting::Unspecified, ChromaSiting::Center, ChromaSiting::Left,
                ChromaSiting::TopLeft][siting];
        }
        info.pixel_aspect = aspect.map(|(a, b)| Rational::new(a, b).unwrap());
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.y4m");
        let mut sink = create(&Output::Path(path.clone()), &info, &CreateOptions::default()).unwrap();
        let mut frame = Frame::new(format, width, height).unwrap();
        let fill = |f: &mut Frame, n: i64| {
            for (i, b) in f.bytes_mut().iter_mut().enumerate() {
                *b = (i as u8).wrapping_mul(31) ^ seed ^ n as u8;
            }
        };
        for n in 0..frames {
            fill(&mut frame, n);
            sink.write(&frame).unwrap();
        }
        sink.finish().unwrap();
        let mut source = open(&Input::Path(path), &OpenOptions::default()).unwrap();
        info.frames = Some(frames as u64);
        prop_assert_eq!(source.info(), &info);
        let mut got = source.new_frame().unwrap();
        for n in 0..frames {
            fill(&mut frame, n);
            frame.timestamp = n;
            prop_assert!(source.read(&mut got).unwrap());
            prop_assert_eq!(&got, &frame);
        }
        prop_assert!(!source.read(&mut got).unwrap());
    }

    #[test]
    fn mutated_streams_never_panic(at in 0usize..80, with: u8, cut in 0usize..90, insert: bool) {
        let mut bytes = b"YUV4MPEG2 W4 H2 F25:1 It A1:1 C420mpeg2 XYSCSS=420MPEG2\nFRAME Ip\n012345678901FRAME\n012345678901".to_vec();
        if insert { bytes.insert(at, with) } else { bytes[at] = with }
        bytes.truncate(bytes.len().saturating_sub(cut));
        if let Ok(mut s) = open_bytes(&bytes) {
            // A header that claims a large picture is legal; the frames are then simply not there.
            prop_assume!(s.info().width * s.info().height < 1 << 20);
            let mut f = s.new_frame().unwrap();
            while let Ok(true) = s.read(&mut f) {}
        }
    }
}
