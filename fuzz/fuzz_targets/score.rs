//! Features, their options, and the geometry of a clip: anything either scores or is refused in words.
#![no_main]

use jnd_score::{Engine, Feature, Geometry, Scorer, ScorerOptions};
use jnd_video::{Frame, Layout, PixelFormat};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (&str, u8, u8, u16, u16, u8)| {
    let (text, layout, depth, width, height, fill) = input;
    let Ok(feature) = Feature::parse(text) else { return };
    assert!(feature.validate().is_ok());
    let layouts = [Layout::Gray, Layout::Gbr, Layout::Yuv420, Layout::Yuv422, Layout::Yuv444, Layout::Nv12];
    let layout = layouts[usize::from(layout) % layouts.len()];
    let Ok(format) = PixelFormat::new(layout, depth) else { return };
    // Small enough that a run ends; larger ones differ in nothing but time.
    let (width, height) = (usize::from(width) % 400, usize::from(height) % 400);
    let geometry = Geometry { format, width, height };
    let Ok(mut scorer) = Scorer::new(&[feature], geometry, ScorerOptions::default()) else { return };
    let mut frame = Frame::new(format, width, height).expect("the scorer took this geometry");
    for i in 0..3u8 {
        for (k, b) in frame.bytes_mut().iter_mut().enumerate() {
            *b = (k as u8).wrapping_mul(fill).wrapping_add(i);
        }
        scorer.push(frame.view(), frame.view()).expect("a frame of the clip's geometry");
    }
    scorer.finish().expect("three frames");
    while scorer.next_score().is_some() {}
});
