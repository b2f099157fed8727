//! Copies a video frame by frame: `copy IN OUT [builtin] [lossless] [pad] [no-audio] [overwrite] [start=S] [end=S] [crf=N] [pix=NAME]`.
//!
//! Shows how a reader and a writer fit together, and measures what they cost.

use std::time::Instant;

use jnd_video::{
    CreateOptions, DecoderChoice, EncoderChoice, Error, Frame, Input, OpenOptions, Output, PixelFormat,
    PumpOptions, create, open, pump,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [input, output, words @ ..] = &args[..] else { return Err("usage: copy IN OUT [OPTION...]".into()) };
    let has = |w: &str| words.iter().any(|x| x == w);
    let value = |w: &str| words.iter().find_map(|x| x.strip_prefix(w));
    let number = |w: &str| value(w).map(str::parse::<f64>).transpose();
    let input = Input::from_arg(input);
    let builtin = has("builtin");
    let opening = OpenOptions {
        decoder: if builtin { DecoderChoice::BuiltIn } else { DecoderChoice::Auto },
        start: number("start=")?,
        end: number("end=")?,
        ..OpenOptions::default()
    };
    let source = open(&input, &opening)?;
    let info = source.info().clone();
    eprintln!(
        "{} {}x{} {} {}/s, rotation {}, {:?}",
        source.decoder(),
        info.width,
        info.height,
        info.format,
        info.rate,
        info.rotation,
        info.color
    );
    let creating = CreateOptions {
        lossless: has("lossless"),
        pad_even: has("pad"),
        no_audio: has("no-audio"),
        overwrite: has("overwrite"),
        copy_from: input.path().map(Into::into),
        start: opening.start,
        end: opening.end,
        crf: value("crf=").map(str::parse).transpose()?,
        pix_fmt: value("pix=").and_then(PixelFormat::from_name),
        encoder: if builtin { EncoderChoice::BuiltIn } else { EncoderChoice::Auto },
        ..CreateOptions::default()
    };
    let sink = create(&Output::from_arg(output), &info, &creating)?;
    eprintln!("encoder: {}", sink.encoder());
    let start = Instant::now();
    let copy = |from: &Frame, to: &mut Frame| -> Result<(), Error> {
        to.bytes_mut().copy_from_slice(from.bytes());
        Ok(())
    };
    let done = pump(source, sink, &info, &PumpOptions::default(), copy, &mut || {})?;
    eprintln!("{} frames in {:.3} s", done.frames, start.elapsed().as_secs_f64());
    for n in done.notes {
        eprintln!("note: {n}");
    }
    match done.truncated {
        Some(cut) => Err(cut.into()),
        None => Ok(()),
    }
}
