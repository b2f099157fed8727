//! The card against the processor: every byte equal. Each test runs on the host-compiled kernels and, where there is one, on a card.

use std::time::Duration;

use jnd_cuda::{Context, DeviceBuffer, Priority, Stream};
use jnd_magnify::cuda::{ClipRunner, DeviceFrames, DeviceMagnifier, Options, Session};
use jnd_magnify::{Filter, Init, Pipeline, Plan, Settings, Source};
use jnd_video::{Frame, Layout, Packing, PixelFormat, Rate, Sample};

/// A small generator of numbers, the same everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

/// Frames whose samples move smoothly in time, with noise, reaching both ends of the range.
fn clip(source: &Source, frames: usize, seed: u64) -> Vec<u16> {
    let f = source.format;
    let n = f.frame_samples(source.width, source.height, jnd_video::ChromaRounding::Ceil);
    let max = f64::from(f.max_value());
    let mut r = Random(seed | 1);
    let base: Vec<(f64, f64)> = (0..n)
        .map(|i| (((i as f64 * 0.07).sin() * 0.7 + 0.5) * max, (r.next() % 1000) as f64 * 6.283e-3))
        .collect();
    let mut out = Vec::with_capacity(n * frames);
    for t in 0..frames {
        for (b, phase) in &base {
            let wave = (t as f64 * 0.9 + phase).sin() * max * 0.02;
            let noise = (r.next() % 5) as f64 - 2.0;
            let v = (b + wave + noise).clamp(0.0, max) as u16;
            out.push(v << f.shift());
        }
    }
    out
}

fn source(layout: Layout, depth: u8, packing: Packing, width: usize, height: usize, frames: usize) -> Source {
    let format = PixelFormat::with_packing(layout, depth, packing).unwrap();
    Source { format, width, height, rate: Rate::new(30, 1).unwrap(), frames: Some(frames as u64) }
}

fn narrow(v: &[u16]) -> Vec<u8> {
    v.iter().map(|&x| x as u8).collect()
}

fn expected<T: Sample>(plan: &Plan, input: &[T]) -> Vec<T> {
    let mut out = vec![T::default(); input.len()];
    let options = jnd_magnify::Options { threads: 1, ..Default::default() };
    jnd_magnify::magnify_clip(plan.clone(), &options, input, &mut out).unwrap();
    out
}

fn first_difference<T: Sample + std::fmt::Debug>(plan: &Plan, a: &[T], b: &[T]) -> String {
    let s = plan.source();
    let n = s.format.frame_samples(s.width, s.height, jnd_video::ChromaRounding::Ceil);
    let count = a.iter().zip(b).filter(|(a, b)| a != b).count();
    match a.iter().zip(b).position(|(a, b)| a != b) {
        None => "none".into(),
        Some(i) => format!(
            "{count} of {}; first in frame {}, sample {} ({:?} for {:?})",
            a.len(),
            i / n,
            i % n,
            b[i],
            a[i]
        ),
    }
}

/// One configuration, as an array, through a session of the given chunk length.
fn same<T: Sample + std::fmt::Debug>(
    context: &Context,
    plan: &Plan,
    input: &[T],
    want: &[T],
    chunk: usize,
    keep: bool,
    label: &str,
) {
    let mut out = vec![T::default(); input.len()];
    let options = Options { chunk, keep, threads: 1, ..Default::default() };
    let mut runner = ClipRunner::new(plan, context, &options).unwrap();
    runner.run(input, &mut out).unwrap();
    assert!(
        out == want,
        "{context:?}, {label}, chunk {chunk}: differences: {}",
        first_difference(plan, want, &out)
    );
    if chunk % 2 == 1 {
        // A second run of the same session starts from the first frame again.
        out.fill(T::default());
        runner.run(input, &mut out).unwrap();
        assert!(out == want, "{context:?}, {label}, chunk {chunk}, again");
    }
}

/// Compares, and says whether anything was magnified at all.
fn check(
    context: &Context,
    settings: &Settings,
    source: &Source,
    frames: usize,
    chunk: usize,
    keep: bool,
    seed: u64,
) -> bool {
    let label = format!("{} {}x{} x{frames}, {settings:?}", source.format, source.width, source.height);
    let plan = match Plan::new(settings, source) {
        Ok(p) => p,
        Err(e) => panic!("{label}: {e}"),
    };
    let wide = clip(source, frames, seed);
    if source.format.bytes_per_sample() == 1 {
        let input = narrow(&wide);
        let want = expected(&plan, &input);
        same(context, &plan, &input, &want, chunk, keep, &label);
        want != input
    } else {
        let want = expected(&plan, &wide);
        same(context, &plan, &wide, &want, chunk, keep, &label);
        want != wide
    }
}

const FORMATS: [(Layout, u8, Packing); 15] = [
    (Layout::Gray, 8, Packing::Low),
    (Layout::Rgb, 8, Packing::Low),
    (Layout::Bgr, 8, Packing::Low),
    (Layout::Gbr, 8, Packing::Low),
    (Layout::Yuv420, 8, Packing::Low),
    (Layout::Yuv422, 8, Packing::Low),
    (Layout::Yuv444, 8, Packing::Low),
    (Layout::Nv12, 8, Packing::Low),
    (Layout::Nv12, 10, Packing::High),
    (Layout::Yuv420, 10, Packing::Low),
    (Layout::Yuv422, 12, Packing::Low),
    (Layout::Yuv444, 16, Packing::Low),
    (Layout::Bgr, 16, Packing::Low),
    (Layout::Gbr, 10, Packing::Low),
    (Layout::Gray, 12, Packing::High),
];

fn filters() -> [Filter; 3] {
    [
        Filter::Iir { r1: 0.4, r2: 0.05 },
        Filter::Butterworth { low: 0.5, high: 3.0 },
        Filter::Ideal { low: 0.6, high: 5.0 },
    ]
}

#[test]
fn every_format_filter_and_pipeline_gives_the_same_bytes() {
    for context in jnd_cuda_shim::contexts() {
        let mut seed = 1;
        for (layout, depth, packing) in FORMATS {
            for filter in filters() {
                for (pipeline, chroma) in [
                    (Pipeline::Motion, 0.1),
                    (Pipeline::Motion, 0.0),
                    (Pipeline::Motion, 1.0),
                    (Pipeline::Color, 0.5),
                ] {
                    seed += 1;
                    let settings =
                        Settings { pipeline, filter, chroma, level: 2, lambda_c: 8.0, ..Settings::default() };
                    let s = source(layout, depth, packing, 53, 39, 35);
                    let changed = check(&context, &settings, &s, 35, 10, seed % 2 == 0, seed);
                    assert!(changed, "{settings:?} changes nothing");
                }
            }
        }
    }
}

#[test]
fn colour_at_every_level_with_and_without_chroma() {
    for context in jnd_cuda_shim::contexts() {
        for (layout, depth, packing) in FORMATS {
            for (level, chroma) in [(0, 1.0), (0, 0.0), (0, 0.3), (1, 0.0), (1, 1.0), (3, 0.0), (16, 1.0)] {
                let filter = if level % 2 == 0 { filters()[0] } else { filters()[2] };
                let settings = Settings {
                    pipeline: Pipeline::Color,
                    filter,
                    chroma,
                    level,
                    alpha: 20.0,
                    ..Settings::default()
                };
                let s = source(layout, depth, packing, 21, 18, 12);
                check(&context, &settings, &s, 12, 5, true, 77 + u64::from(level));
            }
        }
    }
}

#[test]
fn random_geometries() {
    for context in jnd_cuda_shim::contexts() {
        // 200 on a card; the emulation takes a share of them, always the same.
        let rounds = if context.is_emulated() { 60 } else { 200 };
        let mut r = Random(20_261_130);
        for round in 0..rounds {
            let (layout, depth, packing) = r.pick(&FORMATS);
            let side = |r: &mut Random| match r.below(4) {
                0 => 1 + r.below(12),
                1 => 1 + r.below(300),
                _ => 10 + r.below(140),
            };
            let (w, h) = (side(&mut r), side(&mut r));
            let frames = 9 + r.below(40);
            let settings = Settings {
                pipeline: r.pick(&[Pipeline::Motion, Pipeline::Motion, Pipeline::Color]),
                filter: r.pick(&filters()),
                chroma: r.pick(&[0.0, 0.1, 1.0]),
                alpha: r.pick(&[0.0, 5.0, 50.0, 1e6]),
                lambda_c: r.pick(&[4.0, 16.0, 160.0]),
                level: r.below(6) as u32,
                init: r.pick(&[Init::First, Init::Zero]),
                ..Settings::default()
            };
            let s = source(layout, depth, packing, w, h, frames);
            let chunk = r.pick(&[1, 3, 16, 64]);
            check(&context, &settings, &s, frames, chunk, round % 2 == 0, r.next());
        }
    }
}

#[test]
fn large_frames_reach_every_kernel_and_both_sides_of_the_tail() {
    for context in jnd_cuda_shim::contexts() {
        let frames = if context.is_emulated() { 3 } else { 40 };
        for (layout, w, h) in [(Layout::Bgr, 964, 546), (Layout::Yuv420, 1282, 722), (Layout::Nv12, 640, 352)]
        {
            let s = source(layout, 8, Packing::Low, w, h, frames);
            check(&context, &Settings::default(), &s, frames, 16, true, 5);
        }
    }
}

#[test]
fn double_precision_states_and_long_clips() {
    for context in jnd_cuda_shim::contexts() {
        // A slow pole, a large gain: states in f64. More than 4,096 frames: projections in f64, in
        // the band in which the clip moves.
        let slow =
            Settings { filter: Filter::Iir { r1: 0.3, r2: 1e-6 }, alpha: 100.0, ..Settings::default() };
        for (layout, depth) in [(Layout::Bgr, 8), (Layout::Yuv420, 10), (Layout::Gray, 8)] {
            check(&context, &slow, &source(layout, depth, Packing::Low, 61, 43, 40), 40, 9, true, 3);
        }
        let band =
            Settings { filter: Filter::Ideal { low: 4.29, high: 4.31 }, chroma: 0.5, ..Settings::default() };
        let frames = 4100;
        for (layout, width, height) in [(Layout::Yuv420, 42, 40), (Layout::Bgr, 37, 33)] {
            let source = source(layout, 8, Packing::Low, width, height, frames);
            assert!(check(&context, &band, &source, frames, 100, false, 4));
        }
    }
}

#[test]
fn still_scenes_do_not_change() {
    for context in jnd_cuda_shim::contexts() {
        let s = source(Layout::Bgr, 8, Packing::Low, 64, 48, 70);
        let frame = narrow(&clip(&s, 1, 9));
        let input: Vec<u8> = frame.iter().copied().cycle().take(frame.len() * 70).collect();
        let plan = Plan::new(&Settings::default(), &s).unwrap();
        let mut out = vec![0; input.len()];
        jnd_magnify::cuda::magnify_clip(&plan, &context, &Options::default(), &input, &mut out).unwrap();
        assert!(out == input);
    }
}

fn frames_of(source: &Source, clip: &[u8]) -> Vec<Frame> {
    let n = source.format.frame_bytes(source.width, source.height, jnd_video::ChromaRounding::Ceil);
    clip.chunks_exact(n)
        .map(|c| {
            let mut f = Frame::new(source.format, source.width, source.height).unwrap();
            f.bytes_mut().copy_from_slice(c);
            f
        })
        .collect()
}

#[test]
fn live_frames_streams_and_two_passes_agree_with_whole_clips() {
    for context in jnd_cuda_shim::contexts() {
        for filter in filters() {
            let s = source(Layout::Yuv420, 8, Packing::Low, 70, 50, 33);
            let plan = Plan::new(&Settings { filter, ..Settings::default() }, &s).unwrap();
            let input = narrow(&clip(&s, 33, 8));
            let want = frames_of(&s, &expected(&plan, &input));
            let input = frames_of(&s, &input);
            for (chunk, keep) in [(1, true), (4, false), (4, true), (100, true)] {
                let options = Options { chunk, keep, threads: 1, ..Default::default() };
                let mut session = Session::with_context(&plan, &context, &options).unwrap();
                if session.needs_two_passes() {
                    for f in &input {
                        session.feed(&f.view()).unwrap();
                    }
                    session.begin_render().unwrap();
                }
                let mut got = Vec::new();
                let mut out = input[0].clone();
                for f in &input {
                    while session.is_full() {
                        assert!(session.take(&mut out.view_mut()).unwrap());
                        got.push(out.clone());
                    }
                    session.feed(&f.view()).unwrap();
                }
                session.flush().unwrap();
                while session.take(&mut out.view_mut()).unwrap() {
                    got.push(out.clone());
                }
                assert_eq!(got.len(), want.len());
                assert!(got == want, "{context:?}, {filter:?}, chunk {chunk}");
                if session.needs_two_passes() {
                    assert!(session.push(&input[0].view(), &mut out.view_mut()).is_err());
                    continue;
                }
                session.reset();
                for (f, w) in input.iter().zip(&want) {
                    session.push(&f.view(), &mut out.view_mut()).unwrap();
                    assert!(out == *w, "{context:?}, live, {filter:?}");
                }
            }
        }
    }
}

#[test]
fn frames_on_the_card_with_pitches_and_apart_from_the_output() {
    for context in jnd_cuda_shim::contexts() {
        for (layout, depth) in [
            (Layout::Bgr, 8),
            (Layout::Nv12, 8),
            (Layout::Yuv420, 8),
            (Layout::Yuv420, 10),
            (Layout::Yuv444, 8),
            (Layout::Yuv422, 10),
            (Layout::Gbr, 8),
        ] {
            for (pitch_to, apart) in [(64, true), (1, true), (256, false)] {
                let s = source(layout, depth, Packing::Low, 45, 38, 20);
                let plan = Plan::new(&Settings::default(), &s).unwrap();
                let wide = clip(&s, 20, 11);
                let bytes = s.format.bytes_per_sample();
                let (input, want): (Vec<u8>, Vec<u8>) = if bytes == 1 {
                    let i = narrow(&wide);
                    let w = expected(&plan, &i);
                    (i, w)
                } else {
                    let w = expected(&plan, &wide);
                    (bytemuck::cast_slice(&wide).to_vec(), bytemuck::cast_slice(&w).to_vec())
                };
                // Planes one after another, each frame's rows at a pitch, frames interleaved plane by plane.
                let mut frames = DeviceFrames { count: 20, ..Default::default() };
                let mut total = 0;
                let mut shapes = Vec::new();
                for p in 0..s.format.plane_count() {
                    let size = s.format.plane_size(p, s.width, s.height, jnd_video::ChromaRounding::Ceil);
                    let pitch = (size.row() * bytes).next_multiple_of(pitch_to).next_multiple_of(bytes);
                    // Cb and Cr are worked on together where they lie alike, and must not be where they do not.
                    let pitch = pitch + if p == 2 && pitch_to == 1 && !s.format.is_rgb() { bytes } else { 0 };
                    frames.planes[p].pitch = pitch;
                    frames.planes[p].frame = pitch * size.height;
                    frames.planes[p].ptr = total as u64;
                    total += pitch * size.height * 20;
                    shapes.push((size.row() * bytes, size.height));
                }
                let (a, b) = (
                    DeviceBuffer::new(&context, total).unwrap(),
                    DeviceBuffer::new(&context, total).unwrap(),
                );
                let stream = Stream::new(&context, Priority::Normal).unwrap();
                let mut to = frames;
                for p in 0..shapes.len() {
                    frames.planes[p].ptr += a.ptr();
                    to.planes[p].ptr += b.ptr();
                }
                if !apart {
                    to = frames;
                }
                let frame_bytes: usize = shapes.iter().map(|s| s.0 * s.1).sum();
                let copy = |host: *mut u8, f: &DeviceFrames, up: bool| {
                    for t in 0..20 {
                        let mut at = t * frame_bytes;
                        for (p, &(row, rows)) in shapes.iter().enumerate() {
                            let plane = f.planes[p];
                            let device = plane.ptr + (t * plane.frame) as u64;
                            // SAFETY: the host array holds all frames, the device buffer all planes at their pitches.
                            unsafe {
                                if up {
                                    stream
                                        .upload_rows(device, plane.pitch, host.add(at), row, row, rows)
                                        .unwrap();
                                } else {
                                    stream
                                        .download_rows(host.add(at), row, device, plane.pitch, row, rows)
                                        .unwrap();
                                }
                            }
                            at += row * rows;
                        }
                    }
                    stream.synchronize().unwrap();
                };
                copy(input.as_ptr().cast_mut(), &frames, true);
                let mut m = DeviceMagnifier::new(&plan, &context, 6, None).unwrap();
                assert_eq!(m.memory(), DeviceMagnifier::need(&plan, 6));
                let mut out = vec![0u8; input.len()];
                // SAFETY: the planes lie in the two buffers, which outlive the stream's work.
                unsafe { m.push(&stream, &frames, &to) }.unwrap();
                copy(out.as_mut_ptr(), &to, false);
                assert!(out == want, "{context:?}, {layout:?}, pitch multiple of {pitch_to}");
            }
        }
    }
}

#[test]
fn mistakes_are_typed_errors() {
    for context in jnd_cuda_shim::contexts() {
        let s = source(Layout::Yuv420, 8, Packing::Low, 64, 48, 20);
        let plan = Plan::new(&Settings::default(), &s).unwrap();
        let small = Options { memory: Some(10_000), ..Default::default() };
        let e = Session::with_context(&plan, &context, &small).unwrap_err().to_string();
        assert!(e.contains("10000") && e.contains("are needed"), "{e}");
        let mut session =
            Session::with_context(&plan, &context, &Options { threads: 1, ..Default::default() }).unwrap();
        assert!(session.memory() >= Session::need(&plan, &Options::default()));
        let other = Frame::new(s.format, 32, 48).unwrap();
        assert!(session.feed(&other.view()).is_err());
        let mut m = DeviceMagnifier::new(&plan, &context, 2, None).unwrap();
        let stream = Stream::new(&context, Priority::Normal).unwrap();
        let frames = DeviceFrames::packed(&s, 0, 1);
        // SAFETY: refused before anything is touched.
        let e = unsafe { m.push(&stream, &frames, &frames) }.unwrap_err().to_string();
        assert!(e.contains("plane 0: the address"), "{e}");
        let ideal = Settings { filter: filters()[2], ..Settings::default() };
        let plan = Plan::new(&ideal, &s).unwrap();
        let mut runner =
            ClipRunner::new(&plan, &context, &Options { threads: 1, ..Default::default() }).unwrap();
        let n = s.format.frame_bytes(64, 48, jnd_video::ChromaRounding::Ceil);
        assert!(runner.run(&vec![0u8; n * 19], &mut vec![0u8; n * 19]).is_err());
        assert!(runner.run(&vec![0u8; n * 20 - 1], &mut vec![0u8; n * 20 - 1]).is_err());
    }
}

#[test]
fn sessions_come_and_go_with_flat_memory() {
    for context in jnd_cuda_shim::contexts() {
        let s = source(Layout::Yuv420, 8, Packing::Low, 64, 48, 20);
        let plan = Plan::new(&Settings::default(), &s).unwrap();
        let frame = Frame::new(s.format, 64, 48).unwrap();
        let rounds = if context.is_emulated() { 20 } else { 1000 };
        let mut free = 0;
        for round in 0..rounds {
            let mut session = Session::with_context(
                &plan,
                &context,
                &Options { chunk: 2, threads: 1, ..Default::default() },
            )
            .unwrap();
            // Dropped with work under way.
            for _ in 0..3 {
                session.feed(&frame.view()).unwrap();
            }
            drop(session);
            if round == 10 {
                free = context.memory().unwrap().0;
            }
        }
        // Other tests of this program take and give back memory meanwhile: what is lost stays lost, the rest comes back.
        let enough = || context.memory().unwrap().0 + (32 << 20) >= free;
        let back = (0..200).any(|_| enough() || (std::thread::sleep(Duration::from_millis(100)), false).1);
        let now = context.memory().unwrap().0;
        assert!(back, "{context:?}: {free} bytes free after 10 sessions, {now} at the end");
    }
}

#[test]
fn sessions_share_a_device_from_several_threads() {
    for context in jnd_cuda_shim::contexts() {
        let s = source(Layout::Bgr, 8, Packing::Low, 90, 60, 24);
        let plan = Plan::new(&Settings::default(), &s).unwrap();
        let input = narrow(&clip(&s, 24, 6));
        let want = expected(&plan, &input);
        std::thread::scope(|scope| {
            for chunk in [2, 5, 7] {
                let (plan, input, want, context) = (&plan, &input, &want, context.clone());
                scope.spawn(move || same(&context, plan, input, want, chunk, true, "shared"));
            }
        });
    }
}

/// Small, and with every kernel: what compute-sanitizer runs.
#[test]
fn quick_tour_of_every_kernel() {
    for context in jnd_cuda_shim::contexts() {
        for (i, (layout, depth, packing)) in FORMATS.into_iter().enumerate() {
            let filter = filters()[i % 3];
            for (pipeline, chroma) in
                [(Pipeline::Motion, 0.1), (Pipeline::Motion, 0.0), (Pipeline::Color, 0.5)]
            {
                let settings =
                    Settings { pipeline, filter, chroma, level: 2, lambda_c: 8.0, ..Settings::default() };
                let s = source(layout, depth, packing, 42, 30, 13);
                check(&context, &settings, &s, 13, 6, true, 21 + i as u64);
            }
        }
        // Levels beyond those that one block makes alone, and the wide paths.
        for (layout, depth) in [(Layout::Bgr, 8), (Layout::Yuv420, 10), (Layout::Nv12, 8)] {
            for filter in filters() {
                let settings = Settings { filter, ..Settings::default() };
                check(&context, &settings, &source(layout, depth, Packing::Low, 260, 228, 9), 9, 4, true, 31);
            }
        }
        let slow =
            Settings { filter: Filter::Iir { r1: 0.3, r2: 1e-6 }, alpha: 100.0, ..Settings::default() };
        check(&context, &slow, &source(Layout::Bgr, 8, Packing::Low, 61, 43, 8), 8, 3, true, 3);
    }
}
