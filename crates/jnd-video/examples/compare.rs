//! Decodes a video with the built-in decoder and with ffmpeg and counts where they differ: `compare FILE [list]`.

use jnd_video::{DecoderChoice, Input, OpenOptions, open};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [path, words @ ..] = &args[..] else { return Err("usage: compare FILE [list]".into()) };
    let input = Input::from_arg(path);
    let with = |decoder| open(&input, &OpenOptions { decoder, ..OpenOptions::default() });
    let mut a = with(DecoderChoice::BuiltIn)?;
    let mut b = with(DecoderChoice::Ffmpeg)?;
    if words.iter().any(|w| w == "list") {
        println!("{:?}\n{:?}", a.info(), b.info());
    }
    let (mut x, mut y) = (a.new_frame()?, b.new_frame()?);
    let (mut frames, mut equal, mut samples, mut differing, mut largest) = (0u64, 0u64, 0u64, 0u64, 0u8);
    loop {
        let more = (a.read(&mut x)?, b.read(&mut y)?);
        if more != (true, true) {
            if more.0 != more.1 {
                println!("one of the two has more frames: {more:?} after {frames}");
            }
            break;
        }
        let differ = x.bytes().iter().zip(y.bytes()).filter(|(p, q)| p != q).count() as u64;
        let max = x.bytes().iter().zip(y.bytes()).map(|(p, q)| p.abs_diff(*q)).max().unwrap_or(0);
        let times = |t: i64, tb: jnd_video::Rational| t as f64 * tb.as_f64();
        let (ta, tb) = (times(x.timestamp, a.info().time_base), times(y.timestamp, b.info().time_base));
        if (ta - tb).abs() > 1e-9 {
            println!("frame {frames}: times differ, {ta} and {tb}");
        }
        if differ > 0 && words.iter().any(|w| w == "list") {
            println!("frame {frames}: {differ} samples differ, by up to {max}");
        }
        frames += 1;
        equal += u64::from(differ == 0);
        samples += x.bytes().len() as u64;
        differing += differ;
        largest = largest.max(max);
    }
    println!(
        "{path}: {frames} frames, {equal} equal ({:.1} %), {differing} of {samples} samples differ, by up to {largest}",
        100.0 * equal as f64 / frames.max(1) as f64
    );
    Ok(())
}
