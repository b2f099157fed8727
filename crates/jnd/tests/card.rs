//! Whole jobs on a card, which the host-compiled kernels stand for where there is none: every byte of the output is the
//! processor's.

use std::path::{Path, PathBuf};

use jnd::cuda::Context;
use jnd::video::{Frame, Input, Layout, Output, PixelFormat, Rate, StreamInfo};
use jnd::{Band, DeviceChoice, Event, FilterName, MagnifyFile, Overrides, Report};

const FRAMES: usize = 40;

fn clip(dir: &Path, layout: Layout, depth: u8) -> PathBuf {
    let path = dir.join(format!("{layout:?}{depth}.y4m"));
    let format = PixelFormat::new(layout, depth).unwrap();
    let info = StreamInfo::new(format, 38, 27, Rate::new(30, 1).unwrap()).unwrap();
    let mut sink =
        jnd::video::create(&Output::Path(path.clone()), &info, &jnd::video::CreateOptions::default())
            .unwrap();
    let mut frame = Frame::new(format, 38, 27).unwrap();
    for t in 0..FRAMES {
        let sample = |i: usize| {
            let v = 50 + i % 120 + ((t as f64 * 0.6 + i as f64 * 0.02).sin() * 6.0 + 6.0) as usize;
            (v as u32 * u32::from(format.max_value()) / 255) as u16
        };
        match frame.buffer_mut() {
            jnd::video::Buffer::U8(v) => v.iter_mut().enumerate().for_each(|(i, s)| *s = sample(i) as u8),
            jnd::video::Buffer::U16(v) => v.iter_mut().enumerate().for_each(|(i, s)| *s = sample(i)),
        }
        frame.timestamp = t as i64;
        sink.write(&frame).unwrap();
    }
    sink.finish().unwrap();
    path
}

struct Outcome {
    report: jnd::Result<Report>,
    bytes: Option<Vec<u8>>,
    progress: Vec<(u32, u32, u64)>,
}

fn magnify(input: &Path, overrides: &Overrides, change: impl FnOnce(&mut MagnifyFile)) -> Outcome {
    let out = input.with_extension("out.y4m");
    let _ = std::fs::remove_file(&out);
    let settings = overrides.apply("motion").unwrap();
    let mut job = MagnifyFile::new(Input::Path(input.into()), Output::Path(out.clone()), settings);
    change(&mut job);
    let mut progress = Vec::new();
    let report = jnd::magnify_file(&job, &mut |event| {
        if let Event::Progress(p) = event {
            progress.push((p.pass, p.passes, p.done));
        }
    });
    Outcome { report, bytes: std::fs::read(&out).ok(), progress }
}

fn on(context: &Context) -> impl FnOnce(&mut MagnifyFile) + use<> {
    let context = context.clone();
    move |job| {
        job.device = DeviceChoice::Cuda(context.info().device.0);
        job.context = Some(context);
    }
}

fn filters() -> [Overrides; 3] {
    let with = |filter, band| Overrides {
        filter: Some(filter),
        band: Some(band),
        alpha: Some(30.0),
        ..Overrides::default()
    };
    [
        Overrides { alpha: Some(30.0), ..Overrides::default() },
        with(FilterName::Butterworth, Band { low: 0.5, high: 4.0 }),
        with(FilterName::Ideal, Band { low: 1.0, high: 6.0 }),
    ]
}

/// Every filter on every device.
fn everywhere() -> Vec<(Context, Overrides)> {
    let on = |context: Context| filters().map(|overrides| (context.clone(), overrides));
    jnd_cuda_shim::contexts().into_iter().flat_map(on).collect()
}

#[test]
fn files_come_out_as_from_the_processor() {
    for context in jnd_cuda_shim::contexts() {
        let dir = tempfile::tempdir().unwrap();
        for (layout, depth) in [(Layout::Yuv420, 8), (Layout::Yuv444, 10), (Layout::Gray, 8)] {
            let input = clip(dir.path(), layout, depth);
            for overrides in filters() {
                let want = magnify(&input, &overrides, |job| job.device = DeviceChoice::Cpu);
                let got = magnify(&input, &overrides, on(&context));
                let (want_report, report) = (want.report.unwrap(), got.report.unwrap());
                assert!(report.applied.device.starts_with("cuda:0 ("), "{}", report.applied.device);
                assert!(want_report.applied.device.starts_with("processor"));
                assert_eq!(report.frames_out, FRAMES as u64);
                assert!(want.bytes.is_some() && got.bytes == want.bytes, "{layout:?} {depth} {overrides:?}");
                assert!(got.bytes != std::fs::read(&input).ok(), "nothing was magnified");
                assert_eq!(got.progress, want.progress);
            }
        }
    }
}

#[test]
fn a_cut_file_gives_its_whole_frames() {
    let dir = tempfile::tempdir().unwrap();
    let input = clip(dir.path(), Layout::Yuv420, 8);
    let whole = std::fs::read(&input).unwrap();
    std::fs::write(&input, &whole[..whole.len() - 100]).unwrap();
    for (context, overrides) in everywhere() {
        let want = magnify(&input, &overrides, |job| job.device = DeviceChoice::Cpu);
        let got = magnify(&input, &overrides, on(&context));
        let (want_report, report) = (want.report.unwrap(), got.report.unwrap());
        assert_eq!(report.frames_out, FRAMES as u64 - 1);
        assert!(report.truncated.is_some() && report.truncated == want_report.truncated);
        assert!(want.bytes.is_some() && got.bytes == want.bytes);
    }
}

#[test]
fn too_little_memory_names_the_file_and_the_ways_out() {
    let dir = tempfile::tempdir().unwrap();
    let input = clip(dir.path(), Layout::Yuv420, 8);
    for (context, overrides) in everywhere() {
        let got = magnify(&input, &overrides, |job| {
            on(&context)(job);
            job.memory = 10_000;
        });
        let e = got.report.unwrap_err();
        assert!(matches!(e, jnd::Error::CardMemory { have: 10_000, .. }), "{e:?}");
        let text = e.to_string();
        for part in ["Yuv4208.y4m: ", "10000 may be used", "--memory", "--device cpu"] {
            assert!(text.contains(part), "{text}");
        }
        assert!(got.bytes.is_none(), "a file is left");
        if overrides.filter == Some(FilterName::Ideal) {
            continue;
        }
        // Where any device would do the processor does it, and says why. It takes the limit for the ideal filter alone.
        let got = magnify(&input, &overrides, |job| {
            on(&context)(job);
            job.device = DeviceChoice::Auto;
            job.memory = 10_000;
        });
        let applied = got.report.unwrap().applied;
        let (device, why) = (&applied.device, applied.no_card.unwrap_or_default());
        assert!(
            device.starts_with("processor") && device.ends_with("(too little memory on the card)"),
            "{device}"
        );
        assert!(why.contains("bytes of device memory"), "{why}");
    }
}

#[test]
fn frames_that_do_not_fit_on_the_card_are_read_twice() {
    let dir = tempfile::tempdir().unwrap();
    let input = clip(dir.path(), Layout::Yuv420, 8);
    let [.., ideal] = filters();
    let want = magnify(&input, &ideal, |job| job.device = DeviceChoice::Cpu);
    for context in jnd_cuda_shim::contexts() {
        let roomy = magnify(&input, &ideal, on(&context)).report.unwrap().applied.memory;
        let kept = (FRAMES * 38 * 27 * 3 / 2) as u64;
        let got = magnify(&input, &ideal, |job| {
            on(&context)(job);
            job.memory = roomy - kept / 2;
        });
        let report = got.report.unwrap();
        assert!(report.applied.memory < roomy, "{} of {roomy}", report.applied.memory);
        assert!(got.bytes.is_some() && got.bytes == want.bytes);
    }
}
