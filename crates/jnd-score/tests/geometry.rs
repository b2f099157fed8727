//! Every size, format and option either scores or is refused in words; nothing panics, and neither threads nor
//! instructions change a bit.

use jnd_score::{Engine, Error, Feature, Geometry, Scorer, ScorerOptions};
use jnd_video::simd::Level;
use jnd_video::{Frame, Layout, Packing, PixelFormat};
use proptest::prelude::*;

fn frames(geometry: Geometry, seed: u32, count: usize) -> Vec<Frame> {
    let mut s = seed | 1;
    (0..count)
        .map(|_| {
            let mut f = Frame::new(geometry.format, geometry.width, geometry.height).unwrap();
            for b in f.bytes_mut() {
                s = s.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                *b = (s >> 24) as u8;
            }
            f
        })
        .collect()
}

/// Scores by metric and frame, as bits.
fn score(
    features: &[Feature],
    geometry: Geometry,
    options: ScorerOptions,
    r: &[Frame],
    d: &[Frame],
) -> Result<Vec<(usize, u64, u64)>, Error> {
    let mut scorer = Scorer::new(features, geometry, options)?;
    let mut out = Vec::new();
    for (r, d) in r.iter().zip(d) {
        scorer.push(r.view(), d.view())?;
        out.extend(std::iter::from_fn(|| scorer.next_score()));
    }
    scorer.finish()?;
    out.extend(std::iter::from_fn(|| scorer.next_score()));
    let mut out: Vec<_> = out.into_iter().map(|s| (s.metric, s.frame, s.value.to_bits())).collect();
    out.sort_unstable();
    Ok(out)
}

fn any_format() -> impl Strategy<Value = PixelFormat> {
    let layouts = vec![
        Layout::Gray,
        Layout::Rgb,
        Layout::Bgr,
        Layout::Gbr,
        Layout::Yuv420,
        Layout::Yuv422,
        Layout::Yuv444,
        Layout::Nv12,
    ];
    (
        prop::sample::select(layouts),
        prop_oneof![4 => prop::sample::select(vec![8u8, 10, 12, 16]), 1 => 8u8..=16],
        any::<bool>(),
    )
        .prop_map(|(layout, depth, high)| {
            let packing = if high { Packing::High } else { Packing::Low };
            PixelFormat::with_packing(layout, depth, packing).unwrap()
        })
}

fn any_feature() -> impl Strategy<Value = String> {
    let motion = prop::sample::select(vec![
        "motion",
        "motion=motion_five_frame_window=true:motion_moving_average=true",
        "motion=motion_force_zero=true:debug=true",
        "float_motion",
        "float_motion=motion_add_uv=true",
        "float_motion=motion_add_scale1=true",
        "float_motion=motion_add_uv=true:motion_add_scale1=true:motion_filter_size=3",
        "float_motion=motion_force_zero=true",
    ])
    .prop_map(str::to_owned);
    let speed = (
        prop::sample::select(vec!["speed_chroma", "speed_temporal"]),
        prop::sample::select(vec!["0.1", "0.25", "0.5", "0.999", "1", "1.0009", "1.5", "4"]),
        prop::sample::select(vec!["nearest", "bilinear", "bicubic", "lanczos4"]),
        prop::sample::select(vec!["1", "0.5", "3.711340206", "2.4"]),
    )
        .prop_map(|(name, ps, psm, ks)| {
            format!("{name}=speed_prescale={ps}:speed_prescale_method={psm}:speed_kernelscale={ks}")
        });
    prop_oneof![motion, speed]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn scores_or_refuses(
        format in any_format(),
        width in prop_oneof![1usize..8, 1usize..200],
        height in prop_oneof![1usize..8, 1usize..200],
        feature in any_feature(),
        count in 0usize..5,
        seed: u32,
    ) {
        let geometry = Geometry { format, width, height };
        let features = [Feature::parse(&feature).unwrap()];
        let (r, d) = (frames(geometry, seed, count), frames(geometry, seed ^ 0x5555, count));
        match score(&features, geometry, ScorerOptions::default(), &r, &d) {
            Err(e) => prop_assert!(!e.to_string().is_empty()),
            Ok(want) => {
                for threads in [2, 5] {
                    let options = ScorerOptions { threads, ..Default::default() };
                    prop_assert_eq!(&score(&features, geometry, options, &r, &d).unwrap(), &want);
                }
                for level in Level::available() {
                    let options = ScorerOptions { level, ..Default::default() };
                    prop_assert_eq!(&score(&features, geometry, options, &r, &d).unwrap(), &want);
                }
            }
        }
    }
}

fn refusal(feature: &str, layout: Layout, depth: u8, width: usize, height: usize) -> String {
    let geometry = Geometry { format: PixelFormat::new(layout, depth).unwrap(), width, height };
    Scorer::new(&[Feature::parse(feature).unwrap()], geometry, ScorerOptions::default())
        .unwrap_err()
        .to_string()
}

#[test]
fn refusals_name_the_limit() {
    let y = Layout::Yuv420;
    assert_eq!(
        refusal("speed_chroma", y, 8, 158, 400),
        "speed_chroma needs a chroma plane of at least 80x80 samples; this one has 79x200"
    );
    assert_eq!(
        refusal("speed_temporal=speed_prescale=0.5", y, 8, 158, 400),
        "speed_temporal needs a luma plane of at least 80x80 samples after scaling by 0.5; this one has 79x200"
    );
}

#[test]
fn planes_below_the_minimum_are_refused() {
    for (feature, layout, depth, w, h, part) in [
        ("motion", Layout::Gray, 8, 2, 3, "at least 3x3"),
        ("float_motion", Layout::Gray, 8, 3, 2, "at least 3x3"),
        ("float_motion=motion_add_uv=true", Layout::Yuv420, 8, 5, 6, "chroma plane of at least 3x3"),
        ("float_motion=motion_add_uv=true", Layout::Gray, 8, 64, 64, "needs chroma"),
        ("speed_chroma", Layout::Gray, 8, 640, 480, "needs chroma"),
        ("speed_chroma", Layout::Yuv420, 8, 159, 159, "at least 80x80"),
        ("speed_temporal", Layout::Yuv420, 8, 79, 80, "at least 80x80"),
        ("speed_temporal=speed_prescale=0.1", Layout::Yuv420, 8, 300, 300, "after scaling by 0.1"),
        ("speed_temporal=speed_prescale=4", Layout::Yuv420, 8, 65000, 80, "65536"),
        ("speed_temporal=speed_prescale=1.0009", Layout::Yuv420, 8, 1920, 1080, "use 1"),
        ("motion", Layout::Yuv420, 9, 64, 64, "9-bit"),
        ("motion", Layout::Gbr, 8, 64, 64, "convert it to YUV"),
    ] {
        let text = refusal(feature, layout, depth, w, h);
        assert!(text.contains(part), "{feature} {w}x{h}: {text}");
    }
}

#[test]
fn repeated_metrics_and_bad_frames_are_refused() {
    let geometry = Geometry { format: PixelFormat::new(Layout::Yuv420, 8).unwrap(), width: 16, height: 16 };
    let f = |t: &str| Feature::parse(t).unwrap();
    let new = |features: &[Feature], threads| {
        Scorer::new(features, geometry, ScorerOptions { threads, ..Default::default() })
    };
    let twice = new(&[f("motion"), f("motion=debug=true")], 1).unwrap_err().to_string();
    assert!(twice.contains("VMAF_integer_feature_motion_sad_score"), "{twice}");
    assert!(matches!(new(&[], 1), Err(Error::NoFeatures)));
    assert!(matches!(new(&[f("motion")], 0), Err(Error::Threads(0))));
    let mut scorer = new(&[f("motion")], 1).unwrap();
    let good = Frame::new(geometry.format, 16, 16).unwrap();
    let bad = Frame::new(geometry.format, 16, 18).unwrap();
    assert!(matches!(
        scorer.push(good.view(), bad.view()),
        Err(Error::FrameMismatch { side: "distorted", .. })
    ));
    scorer.push(good.view(), good.view()).unwrap();
    scorer.finish().unwrap();
    assert!(matches!(scorer.push(good.view(), good.view()), Err(Error::Finished)));
}

/// The same pictures as planar and as interleaved chroma, in low and in high bits.
#[test]
fn storage_does_not_matter() {
    let (w, h) = (161usize, 163usize);
    let planar = Geometry { format: PixelFormat::new(Layout::Yuv420, 10).unwrap(), width: w, height: h };
    let nv = Geometry {
        format: PixelFormat::with_packing(Layout::Nv12, 10, Packing::High).unwrap(),
        width: w,
        height: h,
    };
    let source: Vec<Frame> = frames(planar, 3, 6);
    let samples = |f: &Frame| match f.buffer() {
        jnd_video::Buffer::U16(v) => v.iter().map(|v| v & 1023).collect::<Vec<u16>>(),
        jnd_video::Buffer::U8(_) => unreachable!("10-bit"),
    };
    let fill = |f: &mut Frame, v: &[u16]| {
        if let jnd_video::Buffer::U16(to) = f.buffer_mut() {
            to.copy_from_slice(v);
        }
    };
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for f in &source {
        let v = samples(f);
        let mut p = Frame::new(planar.format, w, h).unwrap();
        fill(&mut p, &v);
        a.push(p);
        let chroma = (v.len() - w * h) / 2;
        let mut mixed: Vec<u16> = v[..w * h].to_vec();
        for i in 0..chroma {
            mixed.extend([v[w * h + i], v[w * h + chroma + i]]);
        }
        mixed.iter_mut().for_each(|v| *v <<= 6);
        let mut n = Frame::new(nv.format, w, h).unwrap();
        fill(&mut n, &mixed);
        b.push(n);
    }
    let features: Vec<Feature> =
        ["motion", "float_motion=motion_add_uv=true", "speed_chroma", "speed_temporal"]
            .map(|f| Feature::parse(f).unwrap())
            .to_vec();
    let run =
        |g: Geometry, v: &[Frame]| score(&features, g, ScorerOptions::default(), &v[..3], &v[3..]).unwrap();
    assert_eq!(run(planar, &a), run(nv, &b));
}

/// Samples above 2^depth - 1 are scored as they are.
#[test]
fn stray_high_bits_do_not_overflow() {
    let g = Geometry { format: PixelFormat::new(Layout::Yuv444, 10).unwrap(), width: 96, height: 90 };
    let features: Vec<Feature> = ["motion", "float_motion", "speed_chroma", "speed_temporal"]
        .map(|f| Feature::parse(f).unwrap())
        .to_vec();
    let (r, d) = (frames(g, 1, 3), frames(g, 2, 3));
    let want =
        score(&features, g, ScorerOptions { level: Level::SCALAR, ..Default::default() }, &r, &d).unwrap();
    assert_eq!(score(&features, g, ScorerOptions::default(), &r, &d).unwrap(), want);
}
