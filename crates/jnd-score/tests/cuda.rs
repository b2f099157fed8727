//! The card's scores against the processor's, with `==`: in the emulation of the kernels always, and on the first card
//! where there is one.

mod common;

use std::collections::BTreeMap;

use jnd_cuda::{Context, DeviceBuffer, Priority, Stream};
use jnd_score::cuda::{CudaOptions, CudaScorer, DevicePlane};
use jnd_score::{Engine, Error, Feature, Geometry, Scorer, ScorerOptions};
use jnd_video::{ChromaRounding, Frame, Layout, Packing, PixelFormat};

/// Scores by metric and frame, as bits.
type Scores = BTreeMap<(usize, u64), u64>;

fn on_processor(features: &[Feature], geometry: Geometry, clip: &[(Frame, Frame)], subsample: u64) -> Scores {
    let options = ScorerOptions { subsample, ..Default::default() };
    let mut scorer = Scorer::new(features, geometry, options).unwrap();
    for (r, d) in clip {
        scorer.push(r.view(), d.view()).unwrap();
    }
    scorer.finish().unwrap();
    std::iter::from_fn(|| scorer.next_score()).map(|s| ((s.metric, s.frame), s.value.to_bits())).collect()
}

fn drain(scorer: &mut CudaScorer, scores: &mut Scores) {
    while let Some(s) = scorer.next_score() {
        assert!(scores.insert((s.metric, s.frame), s.value.to_bits()).is_none(), "a score came twice");
    }
}

fn on_card(
    context: &Context,
    features: &[Feature],
    geometry: Geometry,
    clip: &[(Frame, Frame)],
    options: &CudaOptions,
) -> Scores {
    let mut scorer = CudaScorer::new(context, features, geometry, options).unwrap();
    let mut scores = Scores::new();
    for (r, d) in clip {
        scorer.push(r.view(), d.view()).unwrap();
        drain(&mut scorer, &mut scores);
    }
    scorer.finish().unwrap();
    drain(&mut scorer, &mut scores);
    scores
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }
}

/// Kinds of content.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Content {
    /// Moving texture, the distorted clip coarser.
    Texture,
    /// The distorted clip is the reference.
    Same,
    /// One value everywhere in the distorted clip.
    FlatDistorted,
    /// The largest differences there are, beyond the depth's range above 8 bits.
    Extreme,
}

fn clip(geometry: Geometry, frames: usize, content: Content, random: &mut Random) -> Vec<(Frame, Frame)> {
    let Geometry { format, width, height } = geometry;
    let top = u32::from(format.max_value());
    let shift = if format.packing() == Packing::High { format.shift() } else { 0 };
    (0..frames)
        .map(|t| {
            let mut r = Frame::new(format, width, height).unwrap();
            let mut d = Frame::new(format, width, height).unwrap();
            let samples = format.frame_samples(width, height, ChromaRounding::Ceil);
            let mut values = Vec::with_capacity(samples);
            for i in 0..samples {
                let (x, y) = (i % width, i / width);
                let wave = ((x + 3 * t) * 37 % 101 + (y * 53 + t * 7) % 89) as u32 * top / 260;
                let noise = random.next() as u32 % (top / 4 + 1);
                let v = (wave + noise).min(top);
                let w = match content {
                    Content::Texture => (v + top / 32) / 5 * 5 + random.next() as u32 % (top / 64 + 1),
                    Content::Same => v,
                    Content::FlatDistorted => top / 2,
                    Content::Extreme => top * u32::from((x / 3 + y / 2 + t).is_multiple_of(2)),
                };
                let v = if content == Content::Extreme { top * ((x / 7 + y / 9 + t) % 2) as u32 } else { v };
                values.push((v, w.min(top)));
            }
            let wide = format.bytes_per_sample() == 2;
            let put = |frame: &mut Frame, value: &dyn Fn(usize) -> u32| {
                if wide {
                    for (i, b) in frame.bytes_mut().chunks_exact_mut(2).enumerate() {
                        b.copy_from_slice(&((value(i) << shift) as u16).to_ne_bytes());
                    }
                } else {
                    for (i, b) in frame.bytes_mut().iter_mut().enumerate() {
                        *b = value(i) as u8;
                    }
                }
            };
            put(&mut r, &|i| values[i].0);
            put(&mut d, &|i| values[i].1);
            (r, d)
        })
        .collect()
}

fn random_format(random: &mut Random) -> PixelFormat {
    let depth = *random.pick(&[8u8, 8, 8, 10, 12, 16]);
    let layout = *random.pick(&[
        Layout::Yuv420,
        Layout::Yuv420,
        Layout::Yuv422,
        Layout::Yuv444,
        Layout::Nv12,
        Layout::Gray,
    ]);
    if layout == Layout::Nv12 && depth > 8 {
        return PixelFormat::with_packing(Layout::Nv12, 10, Packing::High).unwrap();
    }
    PixelFormat::new(layout, depth).unwrap()
}

fn random_motion(random: &mut Random) -> String {
    let mut s = "motion=debug=true".to_owned();
    for option in [
        "motion_five_frame_window=true",
        "motion_moving_average=true",
        "motion_fps_weight=0.7",
        "motion_force_zero=true",
    ] {
        if random.below(4) == 0 {
            s.push_str(&format!(":{option}"));
        }
    }
    s
}

fn random_float_motion(random: &mut Random, chroma: bool) -> String {
    let mut s = format!("float_motion=motion_filter_size={}", random.pick(&[1, 3, 5]));
    if random.below(3) == 0 {
        s.push_str(":motion_add_scale1=true");
    }
    if chroma && random.below(3) == 0 {
        s.push_str(":motion_add_uv=true");
    }
    s
}

fn random_speed(random: &mut Random) -> String {
    let mut s = String::new();
    if random.below(2) == 0 {
        let ks = random.pick(&["0.5", "1.5", "2", "2.4", "3.711340206", "3", "1.6", "0.711111", "1.111111"]);
        s.push_str(&format!(":speed_kernelscale={ks}"));
    }
    if random.below(3) == 0 {
        let method = random.pick(&["nearest", "bilinear", "bicubic", "lanczos4"]);
        let scale = random.pick(&["0.75", "1.3", "0.9", "1.0004"]);
        if *scale != "1.0004" {
            s.push_str(&format!(":speed_prescale={scale}:speed_prescale_method={method}"));
        }
    }
    if random.below(3) == 0 {
        s.push_str(":speed_sigma_nn=0.19:speed_nn_floor=0.1");
    }
    s
}

/// Everything a device may differ in: sizes, depths, layouts, options, clip lengths, batch sizes.
fn random_case(context: &Context, random: &mut Random, largest: usize) -> String {
    let format = random_format(random);
    let chroma = format.has_chroma();
    let side = |random: &mut Random, least: usize| least + random.below(largest - least);
    let speed = random.below(3) > 0;
    // Chroma planes of 4:2:0 need twice the least side, scaled by 0.75 at least.
    let least = if speed { 216 } else { 3 };
    let (width, height) = (side(random, least), side(random, least));
    let geometry = Geometry { format, width, height };
    let mut texts = Vec::new();
    if !speed || random.below(2) == 0 {
        texts.push(random_motion(random));
        if !chroma || width.min(height) >= 6 {
            texts.push(random_float_motion(random, chroma));
        }
    }
    if speed {
        texts.push(format!(
            "speed_temporal=speed_use_ref_diff={}{}",
            random.below(3) == 0,
            random_speed(random)
        ));
        if chroma {
            texts.push(format!(
                "speed_chroma=speed_weight_var_mode={}{}",
                random.below(7),
                random_speed(random)
            ));
        }
    }
    let features: Vec<Feature> = texts.iter().map(|t| Feature::parse(t).unwrap()).collect();
    let frames = 1 + random.below(7);
    let content = *random.pick(&[
        Content::Texture,
        Content::Texture,
        Content::Texture,
        Content::Same,
        Content::FlatDistorted,
        Content::Extreme,
    ]);
    let subsample = *random.pick(&[1u64, 1, 1, 2, 3]);
    let batch = Some(1 + random.below(5));
    let name =
        format!("{geometry}, {frames} frames {content:?}, batch {batch:?}, subsample {subsample}, {texts:?}");
    let clip = clip(geometry, frames, content, random);
    let want = on_processor(&features, geometry, &clip, subsample);
    let options = CudaOptions { batch, subsample, memory: None };
    let got = on_card(context, &features, geometry, &clip, &options);
    assert_eq!(got, want, "{name}");
    name
}

#[test]
fn random_pairs_equal_the_processor() {
    for context in jnd_cuda_shim::contexts() {
        let (cases, largest) = if context.is_emulated() { (24, 300) } else { (500, 700) };
        let mut random = Random(7);
        for _ in 0..cases {
            random_case(&context, &mut random, largest);
        }
        eprintln!("{context:?}: {cases} random clips");
    }
}

#[test]
fn every_reference_value() {
    let Some(folder) = common::reference_folder() else { return };
    for context in jnd_cuda_shim::contexts() {
        let mut files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|e| e.unwrap().path()).collect();
        files.sort();
        let mut values = 0;
        for path in files {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if !name.ends_with(".json") || name.starts_with("cli_") {
                continue;
            }
            let case: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
            let clip = |key: &str| common::read_clip(&folder.join(case[key].as_str().unwrap()), &case);
            let (reference, distorted) = (clip("ref"), clip("dis"));
            // The emulation takes the clips that are small.
            if context.is_emulated() && reference.geometry.width * reference.geometry.height > 180 * 180 {
                continue;
            }
            for run in case["runs"].as_array().unwrap() {
                let text = run["feature"].as_str().unwrap();
                let options = CudaOptions { batch: Some(4), subsample: 1, memory: None };
                let feature = [Feature::parse(text).unwrap()];
                let mut scorer = CudaScorer::new(&context, &feature, reference.geometry, &options).unwrap();
                for (r, d) in reference.frames.iter().zip(&distorted.frames) {
                    scorer.push(r.view(), d.view()).unwrap();
                }
                scorer.finish().unwrap();
                while let Some(s) = scorer.next_score() {
                    let want = run["metrics"][&scorer.metrics()[s.metric]][s.frame as usize].as_f64();
                    assert_eq!(Some(s.value), want, "{name} {text} frame {}", s.frame);
                    values += 1;
                }
            }
        }
        assert!(values > 100 && (context.is_emulated() || values == 3298), "{values} values");
        eprintln!("{context:?}: {values} reference values");
    }
}

fn usual() -> Vec<Feature> {
    ["motion", "float_motion", "speed_chroma", "speed_temporal"].map(|f| Feature::parse(f).unwrap()).to_vec()
}

fn small() -> Geometry {
    Geometry { format: PixelFormat::new(Layout::Yuv420, 8).unwrap(), width: 176, height: 160 }
}

#[test]
fn quick_clips_of_every_length_and_batch() {
    let features = [
        Feature::parse("motion=motion_five_frame_window=true").unwrap(),
        Feature::parse("float_motion").unwrap(),
    ];
    let geometry = Geometry { width: 37, height: 21, ..small() };
    for context in jnd_cuda_shim::contexts() {
        let all = clip(geometry, 11, Content::Texture, &mut Random(3));
        for frames in 0..=11 {
            let want = on_processor(&features, geometry, &all[..frames], 1);
            for batch in [1, 2, 3, 4, 32] {
                let options = CudaOptions { batch: Some(batch), subsample: 1, memory: None };
                let got = on_card(&context, &features, geometry, &all[..frames], &options);
                assert_eq!(got, want, "{frames} frames in batches of {batch}");
            }
        }
    }
}

#[test]
fn quick_two_scorers_share_a_card() {
    for context in jnd_cuda_shim::contexts() {
        let (features, geometry) = (usual(), small());
        let a = clip(geometry, 5, Content::Texture, &mut Random(1));
        let b = clip(geometry, 5, Content::Texture, &mut Random(2));
        let options = CudaOptions { batch: Some(2), subsample: 1, memory: None };
        let mut x = CudaScorer::new(&context, &features, geometry, &options).unwrap();
        let mut y = CudaScorer::new(&context, &features, geometry, &options).unwrap();
        for (p, q) in a.iter().zip(&b) {
            x.push(p.0.view(), p.1.view()).unwrap();
            y.push(q.0.view(), q.1.view()).unwrap();
        }
        let (mut sx, mut sy) = (Scores::new(), Scores::new());
        x.finish().unwrap();
        y.finish().unwrap();
        drain(&mut x, &mut sx);
        drain(&mut y, &mut sy);
        assert_eq!(sx, on_processor(&features, geometry, &a, 1));
        assert_eq!(sy, on_processor(&features, geometry, &b, 1));
        assert!(x.counts().launches > 0 && x.counts().batches == 3);
    }
}

#[test]
fn too_little_memory_is_an_error_with_both_figures() {
    for context in jnd_cuda_shim::contexts() {
        let plan =
            CudaScorer::plan(&usual(), small(), &CudaOptions { batch: Some(32), ..Default::default() })
                .unwrap();
        assert!(plan.device_bytes > 0 && plan.parts.iter().map(|p| p.1).sum::<u64>() <= plan.device_bytes);
        let options =
            CudaOptions { batch: Some(32), memory: Some(plan.device_bytes - 1), ..Default::default() };
        let error = CudaScorer::new(&context, &usual(), small(), &options).unwrap_err().to_string();
        assert!(error.contains(&plan.device_bytes.to_string()), "{error}");
        assert!(error.contains(&(plan.device_bytes - 1).to_string()), "{error}");
        // Without a stated batch a smaller one is taken.
        let options = CudaOptions { memory: Some(plan.device_bytes / 3), ..Default::default() };
        let scorer = CudaScorer::new(&context, &usual(), small(), &options).unwrap();
        assert!(scorer.taken().batch < 32 && scorer.taken().device_bytes <= plan.device_bytes / 3);
        let none = CudaOptions { batch: Some(0), ..Default::default() };
        assert!(matches!(CudaScorer::new(&context, &usual(), small(), &none), Err(Error::Batch(0))));
    }
}

#[test]
fn frames_of_another_size_and_frames_after_the_end_are_refused() {
    let context = jnd_cuda_shim::context();
    let geometry = small();
    let mut scorer = CudaScorer::new(&context, &usual(), geometry, &CudaOptions::default()).unwrap();
    let frame = Frame::new(geometry.format, geometry.width, geometry.height).unwrap();
    let other = Frame::new(geometry.format, geometry.width, geometry.height + 2).unwrap();
    let error = scorer.push(frame.view(), other.view()).unwrap_err();
    assert!(matches!(error, Error::FrameMismatch { side: "distorted", .. }), "{error}");
    scorer.finish().unwrap();
    assert!(matches!(scorer.push(frame.view(), frame.view()), Err(Error::Finished)));
    assert!(scorer.slot().is_err() && scorer.commit().is_err());
}

#[test]
fn quick_slots_and_planes_on_the_card_give_the_same_scores() {
    let (features, geometry) = (usual(), Geometry { width: 177, height: 163, ..small() });
    let pairs = clip(geometry, 5, Content::Texture, &mut Random(9));
    let want = on_processor(&features, geometry, &pairs, 1);
    for context in jnd_cuda_shim::contexts() {
        let options = CudaOptions { batch: Some(2), subsample: 1, memory: None };
        let mut slots = CudaScorer::new(&context, &features, geometry, &options).unwrap();
        let mut device = CudaScorer::new(&context, &features, geometry, &options).unwrap();
        let stream = Stream::new(&context, Priority::Normal).unwrap();
        let mut kept = Vec::new();
        for (t, pair) in pairs.iter().enumerate() {
            let mut planes = [[DevicePlane { ptr: 0, pitch: 0 }; 3]; 2];
            let mut slot = slots.slot().unwrap();
            for (side, frame) in [&pair.0, &pair.1].into_iter().enumerate() {
                let mut at = 0;
                for (plane, on_card) in planes[side].iter_mut().enumerate() {
                    let size = frame.plane_size(plane);
                    let bytes = &frame.bytes()[at..at + size.width * size.height];
                    at += bytes.len();
                    if let Some((w, h)) = slot.size(side, plane) {
                        for y in 0..h {
                            let row = slot.row_mut(side, plane, y).unwrap();
                            row.copy_from_slice(&bytes[y * size.width..][..w]);
                        }
                        assert!(slot.row_mut(side, plane, h).is_none());
                    }
                    let buffer = DeviceBuffer::new(&context, bytes.len()).unwrap();
                    // SAFETY: the buffer has the plane's size, and the stream is waited for before the bytes go.
                    unsafe { stream.upload(buffer.ptr(), bytes.as_ptr(), bytes.len()) }.unwrap();
                    *on_card = DevicePlane { ptr: buffer.ptr(), pitch: size.width };
                    kept.push(buffer);
                }
            }
            stream.synchronize().unwrap();
            slots.commit().unwrap();
            if t == 2 {
                // A pair from the host between pairs from the card.
                device.push(pair.0.view(), pair.1.view()).unwrap();
            } else {
                // SAFETY: the planes are complete, and kept until the end.
                unsafe { device.push_device(&planes, None) }.unwrap();
            }
        }
        device.synchronize_copies().unwrap();
        for scorer in [&mut slots, &mut device] {
            let mut got = Scores::new();
            scorer.finish().unwrap();
            drain(scorer, &mut got);
            assert_eq!(got, want);
        }
    }
}
