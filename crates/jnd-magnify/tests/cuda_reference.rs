//! The clips of the method's reference on a card: every byte is the processor's, whose own distance from the reference
//! `reference.rs` bounds. All of them run on a card; the host-compiled kernels run a few.

mod common;

use std::path::PathBuf;

use common::golden;
use jnd_cuda::Context;
use jnd_magnify::cuda::{ClipRunner, Options, Session};
use jnd_magnify::{Plan, Source};
use jnd_video::{Frame, FrameRef, Layout, PixelFormat};

/// The clip as one whole, by chunks of `chunk` frames.
fn whole(context: &Context, plan: &Plan, clip: &[u8], chunk: usize) -> Vec<u8> {
    let mut out = vec![0; clip.len()];
    let options = Options { chunk, threads: 1, ..Options::default() };
    ClipRunner::new(plan, context, &options).unwrap().run(clip, &mut out).unwrap();
    out
}

/// The clip frame by frame.
fn streamed(context: &Context, plan: &Plan, clip: &[u8]) -> Vec<u8> {
    let options = Options { chunk: 5, threads: 1, keep: false, ..Options::default() };
    let mut session = Session::with_context(plan, context, &options).unwrap();
    let s = *plan.source();
    let n = s.width * s.height * 3;
    let views =
        || clip.chunks_exact(n).map(|f| FrameRef::from_samples(s.format, s.width, s.height, f).unwrap());
    if session.needs_two_passes() {
        views().for_each(|f| session.feed(&f).unwrap());
        session.begin_render().unwrap();
    }
    let mut frame = Frame::new(s.format, s.width, s.height).unwrap();
    let mut out = Vec::new();
    let mut take = |session: &mut Session| {
        let taken = session.take(&mut frame.view_mut()).unwrap();
        if taken {
            out.extend_from_slice(frame.bytes());
        }
        taken
    };
    for (i, view) in views().enumerate() {
        while session.is_full() {
            assert!(take(&mut session));
        }
        session.feed(&view).unwrap();
        if i % 11 == 7 {
            // As when no frame is at hand.
            session.flush().unwrap();
        }
    }
    session.flush().unwrap();
    while take(&mut session) {}
    out
}

/// Interleaved samples as the planes of another layout: numbers are numbers.
fn planar(clip: &[u8], frame: usize) -> Vec<u8> {
    let plane = |f: &[u8], c: usize| f.iter().skip(c).step_by(3).copied().collect::<Vec<_>>();
    clip.chunks_exact(frame).flat_map(|f| (0..3).flat_map(move |c| plane(f, c))).collect()
}

fn check(context: &Context, (input, output): &(PathBuf, PathBuf)) {
    let case = golden::Case::open(input, output);
    let planes = PixelFormat::new(Layout::Yuv444, 8).unwrap();
    let frame = case.source.width * case.source.height * 3;
    for (source, clip) in [
        (case.source, case.clip.clone()),
        (Source { format: planes, ..case.source }, planar(&case.clip, frame)),
    ] {
        let plan = Plan::new(&case.settings, &source).unwrap();
        let mut want = vec![0; clip.len()];
        let options = jnd_magnify::Options { threads: 2, ..Default::default() };
        jnd_magnify::magnify_clip(plan.clone(), &options, &clip, &mut want).unwrap();
        assert!(want != clip, "{}: nothing is magnified", case.name);
        for chunk in [0, 7] {
            let got = whole(context, &plan, &clip, chunk);
            assert!(got == want, "{context:?}: {} {}, chunk {chunk}", case.name, source.format);
        }
        let got = streamed(context, &plan, &clip);
        assert!(got == want, "{context:?}: {} {}, streamed", case.name, source.format);
    }
}

/// Runs every case on a card, and every `few`th on the host.
fn each(cases: &[(PathBuf, PathBuf)], few: usize) {
    for context in jnd_cuda_shim::contexts() {
        let every = if context.is_emulated() { few } else { 1 };
        let mut runs = 0;
        for case in cases.iter().step_by(every) {
            check(&context, case);
            runs += 1;
        }
        eprintln!("{runs} of {} clips equal on {context:?}", cases.len());
    }
}

#[test]
fn synthetic_clips() {
    let cases = golden::synthetic();
    assert_eq!(cases.len(), 8);
    each(&cases, 1);
}

#[test]
fn crops_of_real_clips() {
    let Some(cases) = golden::crops() else {
        eprintln!("skipped: the reference arrays are not here (JND_SHARED names their folder)");
        return;
    };
    assert_eq!(cases.len(), 24);
    each(&cases, 5);
}
