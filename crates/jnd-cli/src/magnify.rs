//! `jnd magnify`: arguments, and what is printed.

use std::io::IsTerminal;
use std::path::PathBuf;

use jnd::magnify::{Filter, Init, Pipeline};
use jnd::video::{
    Codec, CreateOptions, DecoderChoice, EncoderChoice, Input, Layout, OpenOptions, Output, PixelFormat,
    Rate, RawGeometry,
};
use jnd::{
    Applied, Band, DeviceChoice, Event, FilterName, MEMORY_LIMIT, MIT_DROPS, MagnifyFile, Overrides, Report,
    SPOOL_LIMIT, Spool,
};

use crate::exit::{DONE, FAILURE, Failure, TRUNCATED, USAGE};
use crate::progress::{Progress, ProgressMode};
use crate::{Verbosity, interrupt, say, stdout, units};

/// Arguments of `jnd magnify`.
#[derive(Debug, clap::Args)]
#[command(next_line_help = false)]
pub(crate) struct Args {
    /// Video to read; `-` is YUV4MPEG2 (or raw frames, with --raw) on standard input.
    input: PathBuf,
    /// Video to write; the extension says the format, `-` is YUV4MPEG2 on standard output.
    output: PathBuf,

    /// Settings to start from; `jnd presets` lists them.
    #[arg(short, long, default_value = "motion", help_heading = "What to magnify")]
    preset: String,
    /// Temporal filter.
    #[arg(short, long, value_enum, help_heading = "What to magnify")]
    filter: Option<FilterArg>,
    /// Band of frequencies, for the butterworth and ideal filters: `0.8-1Hz` or `50-60bpm`.
    #[arg(
        short,
        long,
        value_name = "LOW-HIGH",
        allow_hyphen_values = true,
        help_heading = "What to magnify"
    )]
    band: Option<Band>,
    /// Weight of a new frame in the fast mean of the iir filter.
    #[arg(long, value_name = "0..1", allow_negative_numbers = true, help_heading = "What to magnify")]
    r1: Option<f64>,
    /// Weight of a new frame in the slow mean of the iir filter, below r1.
    #[arg(long, value_name = "0..1", allow_negative_numbers = true, help_heading = "What to magnify")]
    r2: Option<f64>,
    /// What the iir and butterworth filters take as the past of the first frame: that frame, or black.
    #[arg(long, value_enum, help_heading = "What to magnify")]
    init: Option<InitArg>,
    /// Frames a second at which slow-motion footage was captured, where the file has the rate at which it plays.
    #[arg(long, value_name = "RATE", value_parser = units::rate, allow_negative_numbers = true, help_heading = "What to magnify")]
    capture_fps: Option<Rate>,

    /// Largest gain; 0 leaves the picture as it is.
    #[arg(short, long, value_name = "GAIN", allow_negative_numbers = true, help_heading = "By how much")]
    alpha: Option<f64>,
    /// Wavelength in pixels below which movement is magnified less (motion).
    #[arg(short, long, value_name = "PIXELS", allow_negative_numbers = true, help_heading = "By how much")]
    lambda_c: Option<f64>,
    /// Factor on the gain of what --lambda-c reduces (motion).
    #[arg(long, value_name = "FACTOR", allow_negative_numbers = true, help_heading = "By how much")]
    exaggeration: Option<f64>,
    /// How often the picture is halved before filtering (pulse).
    #[arg(long, value_name = "N", allow_negative_numbers = true, help_heading = "By how much")]
    level: Option<u32>,
    /// Share of the gain that colour gets, 0 to 1.
    #[arg(short, long, value_name = "SHARE", allow_negative_numbers = true, help_heading = "By how much")]
    chroma: Option<f64>,

    /// Where to start, in seconds or as `[HH:]MM:SS`; the filter starts there too.
    #[arg(long, value_name = "TIME", value_parser = units::seconds, allow_negative_numbers = true, help_heading = "Input")]
    start: Option<f64>,
    /// Where to end, in seconds or as `[HH:]MM:SS`; a frame at exactly this time is left out.
    #[arg(long, value_name = "TIME", value_parser = units::seconds, allow_negative_numbers = true, help_heading = "Input")]
    end: Option<f64>,
    /// Leave out the last ten frames of the clip, as the published implementation of the method does.
    #[arg(long, help_heading = "Input")]
    mit_compat: bool,
    /// Take the input as raw frames: `640x480:yuv420p:25`.
    #[arg(long, value_name = "SIZE:FORMAT:RATE", value_parser = units::raw, help_heading = "Input")]
    raw: Option<RawGeometry>,
    /// What decodes: ffmpeg where it is there, else what is built in (H.264 in MP4).
    #[arg(long, value_enum, default_value = "auto", help_heading = "Input")]
    decoder: CodecSource,

    /// Replace the output if it exists.
    #[arg(short = 'y', long, help_heading = "Output")]
    overwrite: bool,
    /// Codec, where the extension's own (h264; ffv1 with --lossless; vp9 for .webm) is not wanted.
    #[arg(long, value_enum, help_heading = "Output")]
    codec: Option<CodecArg>,
    /// Quality on the encoder's own scale, lower is better. The built-in H.264 encoder takes it as a fixed quantiser,
    /// 12 to 51. [default: 18 for H.264]
    #[arg(long, value_name = "N", allow_negative_numbers = true, help_heading = "Output")]
    crf: Option<u8>,
    /// Keep every sample as it is: FFV1, for .mkv.
    #[arg(long, conflicts_with = "crf", help_heading = "Output")]
    lossless: bool,
    /// Pixel format of the output, such as yuv420p. By default the input's.
    #[arg(long, value_name = "FORMAT", value_parser = units::pixel_format, help_heading = "Output")]
    pix_fmt: Option<PixelFormat>,
    /// Repeat the last column or row where the codec needs even sides.
    #[arg(long, help_heading = "Output")]
    pad_even: bool,
    /// Leave out the sound.
    #[arg(long, help_heading = "Output")]
    no_audio: bool,
    /// What encodes: ffmpeg where it is there, else what is built in (H.264 in MP4).
    #[arg(long, value_enum, default_value = "auto", help_heading = "Output")]
    encoder: CodecSource,

    /// Where to compute: `auto` (a card if one can be used, else the processor), `cpu`, `cuda` or `cuda:N`. The result
    /// does not depend on it.
    #[arg(long, value_name = "DEVICE", default_value = "auto", value_parser = units::device, help_heading = "Work")]
    device: DeviceChoice,
    /// Threads that compute, up to 256; 0 is one a processor core, or fewer beside a codec that uses them. Each takes
    /// memory of its own: where --memory has no room for so many, there are fewer. The result does not depend on it.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = units::threads, allow_negative_numbers = true, help_heading = "Work")]
    threads: usize,
    /// Most memory that the ideal filter may take; above it the picture is worked on in strips, and by fewer threads where
    /// they alone would take more, with the same result. On a card, where given: most of its memory that any filter may take; above it the job is refused. [default: 2GiB]
    #[arg(long, value_name = "SIZE", value_parser = units::bytes, allow_negative_numbers = true, help_heading = "Work")]
    memory: Option<u64>,
    /// Directory in which the frames of a pipe are kept while the ideal filter needs them twice, and results while it
    /// works in strips; `none` refuses. [default: the temporary directory]
    #[arg(long, value_name = "DIR", help_heading = "Work")]
    spool: Option<PathBuf>,
    /// Most bytes that such files may take. [default: 64GiB]
    #[arg(long, value_name = "SIZE", value_parser = units::bytes, allow_negative_numbers = true, help_heading = "Work")]
    spool_limit: Option<u64>,

    /// How to show progress.
    #[arg(long, value_enum, default_value = "auto", help_heading = "Messages")]
    progress: ProgressMode,
    #[command(flatten, next_help_heading = "Messages")]
    pub(crate) verbosity: Verbosity,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum FilterArg {
    /// Difference of two running means; no rate involved.
    Iir,
    /// Difference of two low-passes of order 1.
    Butterworth,
    /// The frequencies strictly inside the band, over the whole clip (two passes).
    Ideal,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum InitArg {
    /// The first frame, for ever.
    First,
    /// Black.
    Zero,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum CodecSource {
    Auto,
    BuiltIn,
    Ffmpeg,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum CodecArg {
    H264,
    Hevc,
    Ffv1,
    Vp9,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<u8, Failure> {
    let job = job(args)?;
    if job.output == Output::Stdout && std::io::stdout().is_terminal() {
        return Err(Failure::new(
            USAGE,
            "a terminal cannot show a video; send standard output to a file or a pipe",
        ));
    }
    if job.output == Output::Stdout {
        if stdout::is_closed() {
            return Err(Failure::new(FAILURE, stdout::CLOSED_MESSAGE));
        }
        interrupt::streaming();
    }
    let verbosity = args.verbosity;
    let mut progress = Progress::new(args.progress, verbosity);
    let report = jnd::magnify_file(&job, &mut |event| match event {
        Event::Applied(applied) => {
            describe(applied, &job).into_iter().for_each(|line| progress.remark(line));
            if let (Some(why), 1..) = (&applied.no_card, verbosity.verbose) {
                progress.remark(format!("card      not used: {why}"));
            }
            for line in without_effect(args, applied) {
                progress.remark(format!("jnd: warning: {line}"));
            }
        }
        Event::Note(note) => progress.remark(format!("note      {note}")),
        Event::Warning(warning) => progress.say(&format!("jnd: warning: {warning}")),
        Event::Progress(p) => {
            if p.pass == p.passes {
                interrupt::written(p.done);
            }
            progress.update(&p);
        }
        _ => {}
    })
    .map_err(|e| match e {
        // A name, a codec or a pixel format that cannot be, whatever the clip is.
        jnd::Error::Video(jnd::video::Error::Unsupported { by_request: true, .. }) => Failure::new(USAGE, e),
        e => e.into(),
    })?;
    progress.finish();
    if !verbosity.quiet {
        say::line(summary(&report, &job));
    }
    if let Some(cut) = &report.truncated {
        say::line(format_args!("jnd: warning: {cut}; the output holds all of them"));
        return Ok(TRUNCATED);
    }
    Ok(DONE)
}

/// Options that were given and do nothing here, though nothing comes out wrong without them.
fn without_effect(args: &Args, applied: &Applied) -> Vec<String> {
    let own = |name: &str| matches!(name, "yuv4mpeg2" | "raw");
    let causal = applied.plan.settings().filter.is_causal();
    let on_processor = args.device == DeviceChoice::Cpu || applied.no_card.is_some();
    let ideal = "only the ideal filter needs it";
    [
        (
            args.decoder == CodecSource::Ffmpeg && own(&applied.decoder),
            "--decoder",
            "jnd itself reads YUV4MPEG2 and raw frames",
        ),
        (
            args.encoder == CodecSource::Ffmpeg && own(&applied.encoder),
            "--encoder",
            "jnd itself writes YUV4MPEG2 and raw frames",
        ),
        (
            args.chroma.is_some() && applied.input.format.layout() == Layout::Gray,
            "--chroma",
            "the clip has no colour",
        ),
        (args.memory.is_some() && causal && on_processor, "--memory", ideal),
        (args.spool.is_some() && causal, "--spool", ideal),
        (args.spool_limit.is_some() && causal, "--spool-limit", ideal),
    ]
    .into_iter()
    .filter(|(given, ..)| *given)
    .map(|(_, option, why)| format!("{option} has no effect: {why}"))
    .collect()
}

fn job(args: &Args) -> Result<MagnifyFile, Failure> {
    let overrides = Overrides {
        pipeline: None,
        filter: args.filter.map(|f| match f {
            FilterArg::Iir => FilterName::Iir,
            FilterArg::Butterworth => FilterName::Butterworth,
            FilterArg::Ideal => FilterName::Ideal,
        }),
        alpha: args.alpha,
        lambda_c: args.lambda_c,
        r1: args.r1,
        r2: args.r2,
        band: args.band,
        level: args.level,
        chroma: args.chroma,
        exaggeration: args.exaggeration,
        init: args.init.map(|i| match i {
            InitArg::First => Init::First,
            InitArg::Zero => Init::Zero,
        }),
    };
    let mut settings = overrides.apply(&args.preset)?;
    settings.capture_rate = args.capture_fps;
    let mut job = MagnifyFile::new(Input::from_arg(&args.input), Output::from_arg(&args.output), settings);
    job.open = OpenOptions {
        raw: args.raw.clone(),
        decoder: match args.decoder {
            CodecSource::Auto => DecoderChoice::Auto,
            CodecSource::BuiltIn => DecoderChoice::BuiltIn,
            CodecSource::Ffmpeg => DecoderChoice::Ffmpeg,
        },
        start: args.start,
        end: args.end,
    };
    job.create = CreateOptions {
        codec: args.codec.map(|c| match c {
            CodecArg::H264 => Codec::H264,
            CodecArg::Hevc => Codec::Hevc,
            CodecArg::Ffv1 => Codec::Ffv1,
            CodecArg::Vp9 => Codec::Vp9,
        }),
        crf: args.crf,
        lossless: args.lossless,
        pix_fmt: args.pix_fmt,
        pad_even: args.pad_even,
        overwrite: args.overwrite,
        no_audio: args.no_audio,
        encoder: match args.encoder {
            CodecSource::Auto => EncoderChoice::Auto,
            CodecSource::BuiltIn => EncoderChoice::BuiltIn,
            CodecSource::Ffmpeg => EncoderChoice::Ffmpeg,
        },
        ..CreateOptions::default()
    };
    job.drop_last = if args.mit_compat { MIT_DROPS } else { 0 };
    job.device = args.device;
    job.threads = args.threads;
    job.memory = args.memory.unwrap_or(MEMORY_LIMIT);
    job.spool = match &args.spool {
        Some(dir) if dir.as_os_str() == "none" && args.spool_limit.is_some() => {
            return Err(Failure::new(
                USAGE,
                "--spool-limit has no meaning with --spool none; leave one of them out",
            ));
        }
        Some(dir) if dir.as_os_str() == "none" => Spool::Refuse,
        dir => Spool::Directory { path: dir.clone(), limit: args.spool_limit.unwrap_or(SPOOL_LIMIT) },
    };
    job.stop = Some(interrupt::flag());
    Ok(job)
}

/// What is going to be done, in lines.
fn describe(applied: &Applied, job: &MagnifyFile) -> Vec<String> {
    let (input, plan) = (&applied.input, &applied.plan);
    let settings = plan.settings();
    let mut lines = vec![format!(
        "input     {}: {}x{} {}, {} frames/s, decoded by {}",
        job.input, input.width, input.height, input.format, input.rate, applied.decoder
    )];
    let filter = match settings.filter {
        Filter::Iir { r1, r2 } => format!("iir (r1 {r1}, r2 {r2})"),
        other => format!("{} filter", other.name()),
    };
    lines.push(match settings.pipeline {
        Pipeline::Motion => format!(
            "pipeline  motion, {filter}, alpha {}, lambda_c {}, chroma {}",
            settings.alpha, settings.lambda_c, settings.chroma
        ),
        Pipeline::Color => format!(
            "pipeline  colour at level {}, {filter}, alpha {}, chroma {}",
            settings.level, settings.alpha, settings.chroma
        ),
    });
    let (low, high) = plan.band_hz();
    let at = match settings.capture_rate {
        Some(rate) => format!(", at the capture rate of {rate} frames/s"),
        None => String::new(),
    };
    lines.push(format!("band      {}{at}{}", Band { low, high }, bins(&plan.bins_hz())));
    let gains: Vec<String> = plan.gains().iter().map(|g| short(*g)).collect();
    lines.push(format!("gains     {} (finest level first)", gains.join(" ")));
    lines.push(format!("device    {}", applied.device));
    if !settings.filter.is_causal() {
        let strips = match applied.strips {
            1 => String::new(),
            n => format!(" in {n} strips, to stay below {}", units::show_bytes(job.memory)),
        };
        lines.push(format!("memory    {}{strips}", units::show_bytes(applied.memory)));
    }
    lines
}

/// The frequencies that an ideal filter keeps.
fn bins(list: &[f64]) -> String {
    match list {
        [] => String::new(),
        [one] => format!(", which holds {} Hz", short(*one)),
        [first, .., last] => {
            format!(", which holds {} frequencies from {} to {} Hz", list.len(), short(*first), short(*last))
        }
    }
}

/// At most three digits after the point.
fn short(v: f64) -> String {
    let text = format!("{v:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// What was done, in a line.
fn summary(report: &Report, job: &MagnifyFile) -> String {
    let seconds = report.elapsed.as_secs_f64();
    format!(
        "output    {}: {} in, {} out, {} frames/s, encoded by {}; {:.2} s, {:.1} frames/s",
        job.output,
        units::frames(report.frames_in),
        report.frames_out,
        report.applied.input.rate,
        report.applied.encoder,
        seconds,
        report.frames_out as f64 / seconds.max(1e-9)
    )
}
