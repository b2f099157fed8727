//! Magnifies made-up frames over and over with one thread, for `scripts/count-instructions`:
//!
//! ```text
//! steady WIDTH HEIGHT bgr24|yuv420p FRAMES [stops]
//! ```
//!
//! With `stops` a trap stands before each of the frames and after the last, where a tracer looks.

use jnd_magnify::{Magnifier, Options, Plan, Settings, Source};
use jnd_video::{Frame, FrameRef, Layout, PixelFormat, Rate};

/// Different frames; they come again and again.
const DIFFERENT: usize = 4;

#[inline(never)]
fn stop() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a trap; without a tracer it ends the program.
    unsafe {
        std::arch::asm!("int3");
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [width, height, pixels, frames, rest @ ..] = &args[..] else {
        return Err("WIDTH HEIGHT bgr24|yuv420p FRAMES [stops]".into());
    };
    let (width, height): (usize, usize) = (width.parse()?, height.parse()?);
    let frames: usize = frames.parse()?;
    let layout = if pixels == "bgr24" { Layout::Bgr } else { Layout::Yuv420 };
    let format = PixelFormat::new(layout, 8)?;
    let rate = Rate::new(30, 1)?;
    let plan = Plan::new(&Settings::default(), &Source { format, width, height, rate, frames: None })?;
    let mut m = Magnifier::new(plan, &Options { threads: 1, check: false, ..Options::default() })?;
    let mut out = Frame::new(format, width, height)?;
    let size = format.frame_bytes(width, height, jnd_video::ChromaRounding::Ceil);
    let mut state = 1u32;
    let clip: Vec<u8> = (0..size * DIFFERENT)
        .map(|i| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (i / 7 % 200 + i / size) as u8 + (state >> 27) as u8
        })
        .collect();
    for i in 0..frames {
        if !rest.is_empty() {
            stop();
        }
        let frame = &clip[i % DIFFERENT * size..][..size];
        m.push(&FrameRef::from_samples(format, width, height, frame)?, &mut out.view_mut())?;
    }
    if !rest.is_empty() {
        stop();
    }
    Ok(())
}
