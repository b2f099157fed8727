//! Runs a magnifier over a clip held in memory.

use jnd_magnify::{Magnifier, Options, Plan, Settings, Source};
use jnd_video::{Buffer, Frame, FrameMut, FrameRef, PlaneMut};

use super::plane_shapes;

/// Both forms of the output.
pub(crate) struct Output {
    pub(crate) samples: Vec<Vec<u16>>,
    pub(crate) floats: Vec<Vec<f32>>,
}

fn narrow(v: &[u16]) -> Vec<u8> {
    v.iter().map(|&x| x as u8).collect()
}

fn with_frame<R>(s: &Source, samples: &[u16], f: impl FnOnce(&FrameRef<'_>) -> R) -> R {
    if s.format.bytes_per_sample() == 1 {
        f(&FrameRef::from_samples(s.format, s.width, s.height, &narrow(samples)).unwrap())
    } else {
        f(&FrameRef::from_samples(s.format, s.width, s.height, samples).unwrap())
    }
}

fn push(m: &mut Magnifier, s: &Source, frame: &[u16], out: &mut [u16]) {
    with_frame(s, frame, |f| {
        if s.format.bytes_per_sample() == 1 {
            let mut bytes = narrow(out);
            m.push(f, &mut FrameMut::from_samples(s.format, s.width, s.height, &mut bytes).unwrap()).unwrap();
            for (o, b) in out.iter_mut().zip(&bytes) {
                *o = u16::from(*b);
            }
        } else {
            m.push(f, &mut FrameMut::from_samples(s.format, s.width, s.height, out).unwrap()).unwrap();
        }
    });
}

pub(crate) fn push_f32(m: &mut Magnifier, s: &Source, frame: &[u16], out: &mut [f32]) {
    let mut rest = out;
    let shapes = plane_shapes(s.format, s.width, s.height);
    let mut planes = std::array::from_fn(|p| match shapes.get(p) {
        None => PlaneMut::empty(),
        Some(&(w, h, c)) => {
            let (head, tail) = std::mem::take(&mut rest).split_at_mut(w * h * c);
            rest = tail;
            PlaneMut::new(head, w * c, h, w * c).unwrap()
        }
    });
    with_frame(s, frame, |f| m.push_f32(f, &mut planes).unwrap());
}

/// Integer output of a clip, strip by strip where the options ask for it.
pub(crate) fn integers(
    settings: &Settings,
    s: &Source,
    options: &Options,
    clip: &[Vec<u16>],
) -> Vec<Vec<u16>> {
    let mut m = Magnifier::new(Plan::new(settings, s).unwrap(), options).unwrap();
    integers_with(&mut m, s, clip)
}

/// The same with a magnifier that exists.
pub(crate) fn integers_with(m: &mut Magnifier, s: &Source, clip: &[Vec<u16>]) -> Vec<Vec<u16>> {
    let mut out: Vec<Vec<u16>> = clip.iter().map(|f| vec![0; f.len()]).collect();
    loop {
        if m.needs_two_passes() {
            for f in clip {
                with_frame(s, f, |f| m.observe(f).unwrap());
            }
            m.begin_render().unwrap();
        }
        for (f, o) in clip.iter().zip(&mut out) {
            push(m, s, f, o);
        }
        if !m.next_strip().unwrap() {
            return out;
        }
    }
}

/// Both outputs of a clip.
pub(crate) fn both(settings: &Settings, s: &Source, options: &Options, clip: &[Vec<u16>]) -> Output {
    let samples = integers(settings, s, options, clip);
    let mut m = Magnifier::new(Plan::new(settings, s).unwrap(), options).unwrap();
    if m.needs_two_passes() {
        for f in clip {
            with_frame(s, f, |f| m.observe(f).unwrap());
        }
        m.begin_render().unwrap();
    }
    let mut floats: Vec<Vec<f32>> = clip.iter().map(|f| vec![0.0; f.len()]).collect();
    for (f, o) in clip.iter().zip(&mut floats) {
        push_f32(&mut m, s, f, o);
    }
    Output { samples, floats }
}

/// Compares with the oracle's unclipped values: floats within the bound, integers equal to the rounded value, but
/// for one level where it lies within the bound of a tie.
pub(crate) fn compare(s: &Source, out: &Output, want: &[Vec<f64>]) -> Result<(), String> {
    let peak = want.iter().flatten().fold(1f64, |m, v| m.max(v.abs()));
    let bound = super::BOUND * peak;
    let max = f64::from(s.format.max_value());
    for (t, ((ints, floats), want)) in out.samples.iter().zip(&out.floats).zip(want).enumerate() {
        for (i, ((&n, &x), &w)) in ints.iter().zip(floats).zip(want).enumerate() {
            if (f64::from(x) - w).abs() > bound {
                return Err(format!("frame {t} sample {i}: {x} instead of {w} (bound {bound})"));
            }
            let exact = (w * max).clamp(0.0, max);
            let n = f64::from(n >> s.format.shift());
            let rounded = exact.round_ties_even();
            let from_tie = (exact - exact.floor() - 0.5).abs();
            let near = from_tie <= bound * max && (n - exact).abs() <= 0.5 + bound * max;
            if n != rounded && !near {
                return Err(format!("frame {t} sample {i}: {n} instead of {rounded} ({exact})"));
            }
        }
    }
    Ok(())
}

/// A clip's frames.
pub(crate) fn frames(s: &Source, clip: &[Vec<u16>]) -> Vec<Frame> {
    let frame = |samples: &Vec<u16>| {
        let mut frame = Frame::new(s.format, s.width, s.height).unwrap();
        match frame.buffer_mut() {
            Buffer::U8(v) => v.copy_from_slice(&narrow(samples)),
            Buffer::U16(v) => v.copy_from_slice(samples),
        }
        frame
    };
    clip.iter().map(frame).collect()
}

/// The samples of a frame.
pub(crate) fn samples(f: &Frame) -> Vec<u16> {
    match f.buffer() {
        Buffer::U8(v) => v.iter().map(|&x| u16::from(x)).collect(),
        Buffer::U16(v) => v.clone(),
    }
}

/// The same in batches of the sizes given, over and over.
pub(crate) fn batches(m: &mut Magnifier, s: &Source, clip: &[Vec<u16>], sizes: &[usize]) -> Vec<Vec<u16>> {
    let input = frames(s, clip);
    let mut output: Vec<Frame> =
        clip.iter().map(|_| Frame::new(s.format, s.width, s.height).unwrap()).collect();
    let views: Vec<_> = input.iter().map(Frame::view).collect();
    if m.needs_two_passes() {
        views.iter().for_each(|f| m.observe(f).unwrap());
        m.begin_render().unwrap();
    }
    let (mut views, mut rest) = (&views[..], &mut output[..]);
    for &n in sizes.iter().cycle() {
        let n = n.min(views.len());
        let (now, later) = std::mem::take(&mut rest).split_at_mut(n);
        let mut targets: Vec<_> = now.iter_mut().map(Frame::view_mut).collect();
        m.push_batch(&views[..n], &mut targets).unwrap();
        (views, rest) = (&views[n..], later);
        if rest.is_empty() {
            break;
        }
    }
    output.iter().map(samples).collect()
}
