//! What must not change a bit: threads, strips, instruction sets, resets; and what must come out untouched.

mod common;

use common::run;
use jnd_magnify::{Error, Filter, Init, Magnifier, Options, Pipeline, Plan, Settings, magnify_clip};
use jnd_video::{Frame, FrameRef, Layout, PixelFormat, simd};

const IDEAL: Filter = Filter::Ideal { low: 0.5, high: 6.0 };
const FILTERS: [Filter; 3] =
    [Filter::Iir { r1: 0.4, r2: 0.05 }, Filter::Butterworth { low: 0.5, high: 4.0 }, IDEAL];

fn settings(pipeline: Pipeline, filter: Filter) -> Settings {
    Settings { pipeline, filter, level: 2, ..Settings::default() }
}

#[test]
fn threads_and_instruction_sets_change_nothing() {
    for format in common::formats() {
        // Smaller pictures are magnified on one thread.
        for (w, h) in [(131, 127), (16, 9)] {
            for pipeline in [Pipeline::Motion, Pipeline::Color] {
                for filter in FILTERS {
                    let s = Settings { chroma: 0.3, ..settings(pipeline, filter) };
                    // 40 frames: the states are flushed in between.
                    let frames = if w > 16 { 6 } else { 40 };
                    let source = common::source(format, w, h, frames);
                    let clip = common::clip(format, w, h, frames, 11);
                    let base = Options { threads: 1, simd: simd::Level::SCALAR, ..Options::default() };
                    let want = run::integers(&s, &source, &base, &clip);
                    let levels = simd::Level::available();
                    let best = levels[levels.len() - 1];
                    let runs = levels.iter().map(|&l| (1, l)).chain([(2, best), (5, levels[0])]).skip(1);
                    for (threads, simd) in runs {
                        let options = Options { threads, simd, ..base };
                        let got = run::integers(&s, &source, &options, &clip);
                        assert!(got == want, "{format} {pipeline:?} {filter:?} {threads} {simd}");
                    }
                }
            }
        }
    }
}

#[test]
fn batches_change_nothing() {
    for format in common::formats() {
        for (w, h) in [(131, 127), (16, 9)] {
            for pipeline in [Pipeline::Motion, Pipeline::Color] {
                for filter in FILTERS {
                    for init in [Init::First, Init::Zero] {
                        let s = Settings { chroma: 0.3, init, ..settings(pipeline, filter) };
                        // 40 frames: the states are flushed in the middle of a batch.
                        let frames = if w > 16 { 7 } else { 40 };
                        let source = common::source(format, w, h, frames);
                        let clip = common::clip(format, w, h, frames, 11);
                        let one = Options { threads: 1, ..Options::default() };
                        let want = run::integers(&s, &source, &one, &clip);
                        let runs = [(1, 2, &[2][..]), (1, 4, &[3, 1, 5, 20]), (2, 3, &[3]), (5, 4, &[4])];
                        for (threads, batch, sizes) in runs {
                            let options = Options { threads, batch, ..one };
                            let plan = Plan::new(&s, &source).unwrap();
                            let mut m = Magnifier::new(plan, &options).unwrap();
                            let got = run::batches(&mut m, &source, &clip, sizes);
                            assert!(
                                got == want,
                                "{format} {pipeline:?} {filter:?} {init:?} {threads} {batch}"
                            );
                            m.reset();
                            let got = run::batches(&mut m, &source, &clip, &[batch]);
                            assert!(got == want, "again: {format} {pipeline:?} {filter:?} {init:?}");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn batches_floats_and_resets_mix() {
    for format in common::formats() {
        for (pipeline, filter) in [(Pipeline::Motion, FILTERS[0]), (Pipeline::Color, FILTERS[1])] {
            let s = Settings { chroma: 0.3, init: Init::Zero, ..settings(pipeline, filter) };
            let source = common::source(format, 131, 127, 9);
            let clip = common::clip(format, 131, 127, 9, 5);
            let want = run::both(&s, &source, &Options { threads: 1, ..Options::default() }, &clip);
            let options = Options { threads: 3, batch: 3, ..Options::default() };
            let mut m = Magnifier::new(Plan::new(&s, &source).unwrap(), &options).unwrap();
            let input = run::frames(&source, &clip);
            let views: Vec<_> = input.iter().map(Frame::view).collect();
            // Broken off behind a batch and behind a single frame, then to the end.
            for parts in [&[2][..], &[3, 0], &[0, 3, 2, 0, 0, 1]] {
                let mut t = 0;
                for &n in parts {
                    if n == 0 {
                        let mut out = vec![0.0; clip[t].len()];
                        run::push_f32(&mut m, &source, &clip[t], &mut out);
                        assert!(out == want.floats[t], "{format} {pipeline:?} {parts:?} {t}");
                        t += 1;
                        continue;
                    }
                    let mut out = input[..n].to_vec();
                    let mut targets: Vec<_> = out.iter_mut().map(Frame::view_mut).collect();
                    m.push_batch(&views[t..t + n], &mut targets).unwrap();
                    for out in &out {
                        assert!(run::samples(out) == want.samples[t], "{format} {pipeline:?} {parts:?} {t}");
                        t += 1;
                    }
                }
                assert!(t == 9 || parts.len() < 3);
                m.reset();
            }
        }
    }
}

#[test]
fn a_batch_gives_way_to_a_memory_limit() {
    let format = PixelFormat::new(Layout::Yuv420, 8).unwrap();
    let source = common::source(format, 131, 127, 5);
    let plan = Plan::new(&settings(Pipeline::Motion, FILTERS[0]), &source).unwrap();
    let need = |batch| plan.memory_need(&Options { batch, threads: 1, ..Options::default() });
    assert!(need(1) == need(0) && need(2) > need(1) && need(4) > need(2));
    let made = |memory| {
        let options = Options { batch: 4, threads: 1, memory: Some(memory), ..Options::default() };
        Magnifier::new(plan.clone(), &options).map(|m| (m.batch(), m.memory()))
    };
    assert_eq!(made(need(4)).unwrap(), (4, need(4)));
    assert_eq!(made(need(4) - 1).unwrap(), (1, need(1)));
    assert!(matches!(made(need(1) - 1), Err(Error::Memory { .. })));
}

#[test]
fn threads_give_way_to_a_memory_limit() {
    let format = PixelFormat::new(Layout::Yuv420, 8).unwrap();
    let source = common::source(format, 131, 127, 5);
    let plan = Plan::new(&settings(Pipeline::Motion, FILTERS[0]), &source).unwrap();
    let need = |threads| plan.memory_need(&Options { threads, ..Options::default() });
    assert!(need(2) > need(1) && need(5) > need(2));
    let made = |memory| {
        let options = Options { threads: 5, batch: 4, memory: Some(memory), ..Options::default() };
        Magnifier::new(plan.clone(), &options).map(|m| (m.threads(), m.batch(), m.memory()))
    };
    assert_eq!(made(need(5)).unwrap(), (5, 1, need(5)));
    assert_eq!(made(need(2)).unwrap(), (2, 1, need(2)));
    assert_eq!(made(need(1)).unwrap(), (1, 1, need(1)));
    assert!(matches!(made(need(1) - 1), Err(Error::Memory { .. })));
}

#[test]
fn a_large_clip_is_the_stream() {
    // So large that its frames are taken in batches.
    let format = PixelFormat::new(Layout::Gray, 8).unwrap();
    let (w, h, frames) = (2300, 1600, 5);
    let source = common::source(format, w, h, frames);
    let clip = common::clip(format, w, h, frames, 1);
    let s = settings(Pipeline::Motion, FILTERS[0]);
    let want = run::integers(&s, &source, &Options::default(), &clip).concat();
    let input: Vec<u8> = clip.concat().iter().map(|&x| x as u8).collect();
    let mut out = vec![0u8; input.len()];
    magnify_clip(Plan::new(&s, &source).unwrap(), &Options::default(), &input, &mut out).unwrap();
    assert!(out.iter().zip(&want).all(|(&o, &w)| u16::from(o) == w));
}

#[test]
fn strips_change_nothing() {
    for layout in [Layout::Bgr, Layout::Gbr, Layout::Yuv420, Layout::Yuv422, Layout::Nv12] {
        for depth in [8, 10] {
            for pipeline in [Pipeline::Motion, Pipeline::Color] {
                let format = PixelFormat::new(layout, depth).unwrap();
                let s = Settings { level: 1, ..settings(pipeline, IDEAL) };
                let source = common::source(format, 51, 75, 21);
                let clip = common::clip(format, 51, 75, 21, 3);
                let whole = Options { threads: 1, ..Options::default() };
                let want = run::integers(&s, &source, &whole, &clip);
                let plan = Plan::new(&s, &source).unwrap();
                let need = plan.memory_need(&whole);
                let mut most = 1;
                let few = (1..20).map(|i| need - need * i / 20);
                for memory in few {
                    let options = Options { memory: Some(memory), ..whole };
                    let m = match Magnifier::new(plan.clone(), &options) {
                        Ok(m) => m,
                        Err(Error::Memory { .. }) => break,
                        Err(e) => panic!("{e}"),
                    };
                    if m.strips() == most {
                        continue;
                    }
                    assert!(m.memory() <= memory);
                    most = m.strips();
                    assert!(run::integers(&s, &source, &options, &clip) == want, "{format} {memory}");
                }
                assert!(most > 1 || pipeline == Pipeline::Color, "{format} {pipeline:?} was never in strips");
            }
        }
    }
}

#[test]
fn alpha_zero_gives_the_input() {
    for format in common::formats() {
        for pipeline in [Pipeline::Motion, Pipeline::Color] {
            for filter in FILTERS {
                let s = Settings { alpha: 0.0, ..settings(pipeline, filter) };
                let source = common::source(format, 33, 21, 8);
                let clip = common::clip(format, 33, 21, 8, 5);
                assert!(run::integers(&s, &source, &Options::default(), &clip) == clip, "{format}");
            }
        }
    }
}

#[test]
fn a_still_scene_and_a_tiny_picture_stay_as_they_are() {
    let format = PixelFormat::new(Layout::Bgr, 8).unwrap();
    for filter in FILTERS {
        let source = common::source(format, 40, 30, 12);
        let still = vec![common::clip(format, 40, 30, 1, 9).remove(0); 12];
        let s = settings(Pipeline::Motion, filter);
        assert!(run::integers(&s, &source, &Options::default(), &still) == still);
        for (w, h) in [(1, 1), (9, 200), (3, 5)] {
            let clip = common::clip(format, w, h, 12, 9);
            let source = common::source(format, w, h, 12);
            assert!(run::integers(&s, &source, &Options::default(), &clip) == clip);
        }
    }
}

#[test]
fn reset_forgets() {
    for filter in FILTERS {
        let format = PixelFormat::new(Layout::Yuv420, 8).unwrap();
        let source = common::source(format, 48, 40, 12);
        let s = settings(Pipeline::Motion, filter);
        let clip = common::clip(format, 48, 40, 12, 1);
        let other = common::clip(format, 48, 40, 12, 2);
        let mut m = Magnifier::new(Plan::new(&s, &source).unwrap(), &Options::default()).unwrap();
        let want = run::integers_with(&mut m, &source, &clip);
        m.reset();
        let _ = run::integers_with(&mut m, &source, &other);
        m.reset();
        assert!(run::integers_with(&mut m, &source, &clip) == want);
    }
}

#[test]
fn a_whole_clip_is_the_stream() {
    for filter in FILTERS {
        let format = PixelFormat::new(Layout::Yuv422, 10).unwrap();
        let source = common::source(format, 37, 29, 10);
        let s = settings(Pipeline::Motion, filter);
        let clip = common::clip(format, 37, 29, 10, 1);
        let want = run::integers(&s, &source, &Options::default(), &clip).concat();
        let input = clip.concat();
        let mut out = vec![0u16; input.len()];
        let plan = Plan::new(&s, &source).unwrap();
        magnify_clip(plan.clone(), &Options::default(), &input, &mut out).unwrap();
        assert!(out == want);
        let short = magnify_clip(plan, &Options::default(), &input[1..], &mut out);
        assert!(matches!(short, Err(Error::WrongLength { .. })));
    }
}

#[test]
fn the_check_mode_agrees() {
    let format = PixelFormat::new(Layout::Nv12, 8).unwrap();
    for filter in FILTERS {
        let s = settings(Pipeline::Motion, filter);
        let source = common::source(format, 64, 48, 10);
        let clip = common::clip(format, 64, 48, 10, 1);
        let options = Options { check: true, ..Options::default() };
        run::integers(&s, &source, &options, &clip);
    }
}

#[test]
fn calls_out_of_order_are_errors() {
    let format = PixelFormat::new(Layout::Gray, 8).unwrap();
    let source = common::source(format, 32, 32, 3);
    let s = Settings { filter: Filter::Ideal { low: 1.0, high: 14.0 }, ..Settings::default() };
    let mut m = Magnifier::new(Plan::new(&s, &source).unwrap(), &Options::default()).unwrap();
    let frame = Frame::new(format, 32, 32).unwrap();
    let mut out = frame.clone();
    assert!(matches!(m.push(&frame.view(), &mut out.view_mut()), Err(Error::NotReady { .. })));
    m.observe(&frame.view()).unwrap();
    assert!(matches!(m.begin_render(), Err(Error::FrameCount { expected: 3, seen: 1 })));
    m.observe(&frame.view()).unwrap();
    m.observe(&frame.view()).unwrap();
    assert!(matches!(m.observe(&frame.view()), Err(Error::FrameCount { expected: 3, seen: 4 })));
    m.begin_render().unwrap();
    assert!(matches!(m.observe(&frame.view()), Err(Error::NotReady { .. })));
    let other = [0u8; 33 * 32];
    let other = FrameRef::from_samples(format, 33, 32, &other).unwrap();
    assert!(matches!(m.push(&other, &mut out.view_mut()), Err(Error::WrongFrame { .. })));
    for _ in 0..3 {
        m.push(&frame.view(), &mut out.view_mut()).unwrap();
    }
    assert!(matches!(m.push(&frame.view(), &mut out.view_mut()), Err(Error::FrameCount { .. })));
}

/// Some hosts, Python programs with certain extensions among them, run with subnormal numbers flushed to zero.
#[cfg(target_arch = "x86_64")]
#[test]
fn a_host_that_flushes_subnormals_changes_nothing() {
    fn control() -> u32 {
        let mut v = 0u32;
        // SAFETY: stores MXCSR into a variable of its size.
        unsafe { std::arch::asm!("stmxcsr [{}]", in(reg) &mut v, options(nostack, preserves_flags)) };
        v
    }
    fn set(v: u32) {
        // SAFETY: the value is the thread's own, apart from the bits that flush subnormals, and is put back below.
        unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &v, options(nostack, preserves_flags, readonly)) };
    }
    // On black samples so small a gain gives changes that are subnormal.
    let settings = Settings { alpha: 1e-40, ..settings(Pipeline::Color, FILTERS[0]) };
    let format = PixelFormat::new(Layout::Gray, 8).unwrap();
    let (w, h) = (131, 127);
    let source = common::source(format, w, h, 3);
    let clip: Vec<Vec<u16>> =
        (0..3).map(|t| (0..w * h).map(|i| u16::from(t == 1 && i % 7 < 3) * 200).collect()).collect();
    for threads in [1, 2] {
        let options = Options { threads, ..Options::default() };
        let want = run::both(&settings, &source, &options, &clip);
        assert!(want.floats.iter().flatten().any(|v| v.is_subnormal()));
        let former = control();
        set(former | 0x8040);
        let got = run::both(&settings, &source, &options, &clip);
        set(former);
        let bits = |o: &[Vec<f32>]| o.iter().flatten().map(|v| v.to_bits()).collect::<Vec<_>>();
        assert!(bits(&got.floats) == bits(&want.floats), "{threads}");
    }
}
