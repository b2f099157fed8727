//! The demo's clip: a patch that pulses and stripes that sway, both far too little to see.

use std::f64::consts::TAU;

use jnd::video::{Frame, Layout, PixelFormat, Rate, Result, StreamInfo};

/// Width in pixels.
pub(crate) const WIDTH: usize = 320;
/// Height in pixels.
pub(crate) const HEIGHT: usize = 192;
/// Frames a second.
pub(crate) const RATE: u64 = 30;
/// Length in frames: whole periods of both signals.
pub(crate) const FRAMES: usize = 300;

/// Frequency of the pulse: 54 beats a minute, inside the `pulse` preset's band.
pub(crate) const PULSE_HZ: f64 = 0.9;
/// The pulse goes up and down by this many of 255 levels.
pub(crate) const PULSE_LEVELS: f64 = 0.5;
/// Frequency of the sway, outside the `pulse` preset's band.
pub(crate) const SWAY_HZ: f64 = 0.6;
/// The stripes go left and right by this many pixels.
pub(crate) const SWAY_PIXELS: f64 = 0.15;
/// Width of a stripe and its gap, in pixels.
pub(crate) const STRIPE: f64 = 16.0;
/// Half the difference between stripe and gap, in levels.
const STRIPE_LEVELS: f64 = 60.0;

/// Part of a picture: left, top, width, height.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    pub(crate) x: usize,
    pub(crate) y: usize,
    pub(crate) width: usize,
    pub(crate) height: usize,
}

/// The middle of the patch, where its edge is too far away to matter.
pub(crate) const PATCH: Window = Window { x: 68, y: 84, width: 24, height: 24 };
/// The middle of the stripes, four of them wide.
pub(crate) const STRIPES: Window = Window { x: 208, y: 64, width: 64, height: 64 };

/// What the clip is.
pub(crate) fn info() -> Result<StreamInfo> {
    let format = PixelFormat::new(Layout::Yuv420, 8)?;
    let mut info = StreamInfo::new(format, WIDTH, HEIGHT, Rate::new(RATE, 1)?)?;
    info.frames = Some(FRAMES as u64);
    Ok(info)
}

/// A number from 0 to below 1 that belongs to a pixel: the grain that lets 8-bit samples hold changes below one level,
/// as the noise of a camera does.
fn grain(x: usize, y: usize) -> f64 {
    let mut h = (x as u32).wrapping_mul(0x9E37_79B1) ^ (y as u32).wrapping_mul(0x85EB_CA77);
    for shift in [15, 13, 16] {
        h = (h ^ (h >> shift)).wrapping_mul(0x2C1B_3C6D);
    }
    f64::from(h >> 8) / f64::from(1u32 << 24)
}

/// 0 below `from`, 1 above `to`, smooth between.
fn smooth(v: f64, from: f64, to: f64) -> f64 {
    let t = ((v - from) / (to - from)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

/// All frames.
pub(crate) fn frames() -> Result<Vec<Frame>> {
    let info = info()?;
    (0..FRAMES)
        .map(|t| {
            let mut frame = Frame::new(info.format, info.width, info.height)?;
            draw(t, &mut frame);
            Ok(frame)
        })
        .collect()
}

/// Draws frame `t`.
fn draw(t: usize, frame: &mut Frame) {
    let seconds = t as f64 / RATE as f64;
    let pulse = PULSE_LEVELS * (TAU * PULSE_HZ * seconds).sin();
    let sway = SWAY_PIXELS * (TAU * SWAY_HZ * seconds).sin();
    let bytes = frame.bytes_mut();
    let (luma, chroma) = bytes.split_at_mut(WIDTH * HEIGHT);
    for (y, row) in luma.chunks_exact_mut(WIDTH).enumerate() {
        for (x, out) in row.iter_mut().enumerate() {
            let (fx, fy) = (x as f64, y as f64);
            // The patch on the left: a disc, brighter towards its middle.
            let r = (fx - 80.0).hypot(fy - 96.0);
            let disc = 1.0 - smooth(r, 70.0, 76.0);
            // The stripes on the right, faded out at their borders.
            let inside = smooth(fx, 168.0, 192.0)
                * (1.0 - smooth(fx, 288.0, 312.0))
                * smooth(fy, 8.0, 32.0)
                * (1.0 - smooth(fy, 160.0, 184.0));
            let stripes = STRIPE_LEVELS * inside * (TAU * (fx + sway) / STRIPE).sin();
            let value = 100.0 + disc * (60.0 - r * 0.3 + pulse) + stripes;
            *out = (value + grain(x, y)).floor().clamp(16.0, 235.0) as u8;
        }
    }
    let (cb, cr) = chroma.split_at_mut(chroma.len() / 2);
    for (i, (b, r)) in cb.iter_mut().zip(cr).enumerate() {
        let (x, y) = ((i % (WIDTH / 2)) as f64 * 2.0, (i / (WIDTH / 2)) as f64 * 2.0);
        let disc = 1.0 - smooth((x - 80.0).hypot(y - 96.0), 70.0, 76.0);
        *b = (128.0 - 18.0 * disc).round() as u8;
        *r = (128.0 + 22.0 * disc).round() as u8;
    }
    frame.timestamp = t as i64;
}

#[cfg(test)]
mod tests {
    use super::super::measure::{Series, amplitude};
    use super::*;

    #[test]
    fn the_clip_holds_what_it_says() {
        let (mut pulse, mut sway) = (Series::default(), Series::default());
        for frame in &frames().unwrap() {
            pulse.push_mean(frame, PATCH);
            sway.push_stripes(frame, STRIPES, STRIPE);
        }
        let levels = amplitude(&pulse.values, PULSE_HZ / RATE as f64);
        assert!((levels / PULSE_LEVELS - 1.0).abs() < 0.03, "{levels}");
        let change = amplitude(&sway.values, SWAY_HZ / RATE as f64);
        let pixels = change / (STRIPE_LEVELS * TAU / STRIPE);
        assert!((pixels / SWAY_PIXELS - 1.0).abs() < 0.03, "{pixels}");
    }
}
