//! `jnd score`: the arguments of the `vmaf` command that concern features, and what is printed.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use jnd::DeviceChoice;
use jnd::score::clip::{self, ClipPair, ClipRange, Ending, Side};
use jnd::score::engine::engine;
use jnd::score::report::{Precision, Report, ReportFormat, ReportInfo};
use jnd::score::{Feature, Geometry, MAX_THREADS, ScorerOptions};
use jnd::video::simd::{Isa, Level};
use jnd::video::{
    ChromaRounding, DecoderChoice, FrameSource, Input, Layout, OpenOptions, Output, OutputFile, PixelFormat,
    Rate, RawGeometry, ReadAhead, same_file,
};

use crate::exit::{DONE, Failure, INTERRUPTED, TRUNCATED};
use crate::progress::{Progress, ProgressMode};
use crate::{Verbosity, interrupt, pooled, say, stdout, units};

/// The command line makes no sense. Scripts written for the `vmaf` command know these three codes.
pub(crate) const USAGE: u8 = 1;
/// The clips or features could not be set up, or scoring failed.
const SETUP: u8 = 255;
/// There was no pair of frames.
const NO_FRAMES: u8 = 234;

/// Arguments of `jnd score`. `-h` is the height of raw frames, as in the `vmaf` command; `--help` prints this text.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Args {
    /// Reference clip; `-` is standard input.
    #[arg(short, long, value_name = "FILE", help_heading = "Clips")]
    reference: PathBuf,
    /// Distorted clip; `-` is standard input.
    #[arg(short, long, value_name = "FILE", help_heading = "Clips")]
    distorted: PathBuf,
    /// Leave out this many frames at the start of the reference.
    #[arg(
        long = "frame_skip_ref",
        alias = "frame-skip-ref",
        value_name = "N",
        allow_negative_numbers = true,
        default_value_t = 0,
        help_heading = "Clips"
    )]
    frame_skip_ref: u64,
    /// Leave out this many frames at the start of the distorted clip.
    #[arg(
        long = "frame_skip_dist",
        alias = "frame-skip-dist",
        value_name = "N",
        allow_negative_numbers = true,
        default_value_t = 0,
        help_heading = "Clips"
    )]
    frame_skip_dist: u64,
    /// Score so many pairs of frames at most; 0 is all.
    #[arg(
        long = "frame_cnt",
        alias = "frame-cnt",
        value_name = "N",
        allow_negative_numbers = true,
        default_value_t = 0,
        help_heading = "Clips"
    )]
    frame_cnt: u64,
    /// What decodes clips that are neither YUV4MPEG2 nor raw.
    #[arg(long, value_enum, default_value = "auto", help_heading = "Clips")]
    decoder: Decoder,

    /// Width of raw frames. Any of -w -h -p -b says that the clips are raw; all four are needed then.
    #[arg(short, long, value_name = "PIXELS", allow_negative_numbers = true, help_heading = "Raw clips")]
    width: Option<usize>,
    /// Height of raw frames.
    #[arg(
        short = 'h',
        long,
        value_name = "PIXELS",
        allow_negative_numbers = true,
        help_heading = "Raw clips"
    )]
    height: Option<usize>,
    /// Chroma format of raw frames: 420, 422, 444, or 400 for luma alone.
    #[arg(
        short,
        long = "pixel_format",
        alias = "pixel-format",
        value_enum,
        value_name = "FORMAT",
        help_heading = "Raw clips"
    )]
    pixel_format: Option<RawFormat>,
    /// Bits of a raw sample: 8, 10, 12 or 16; above 8 in two bytes, the low one first.
    #[arg(short, long, value_name = "BITS", allow_negative_numbers = true, value_parser = depth, help_heading = "Raw clips")]
    bitdepth: Option<u8>,
    /// How raw files halve odd sides for chroma. [default: floor]
    #[arg(long = "chroma_rounding", alias = "chroma-rounding", value_enum, help_heading = "Raw clips")]
    chroma_rounding: Option<Rounding>,

    /// Feature to compute, may be repeated: motion, float_motion, speed_chroma, speed_temporal, each with options as
    /// NAME=option=value:option=value.
    #[arg(long = "feature", value_name = "NAME[=OPTIONS]", required = true, help_heading = "Scores")]
    features: Vec<String>,
    /// Print and pool only frames whose index is a multiple of this.
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..), help_heading = "Scores")]
    subsample: u64,
    /// Features only, no prediction model: always so, accepted for scripts.
    #[arg(short, long = "no_prediction", alias = "no-prediction", help_heading = "Scores")]
    no_prediction: bool,
    /// Preset of prediction models: not available, see the message.
    #[arg(long = "aom_ctc", alias = "aom-ctc", value_name = "VERSION", hide = true)]
    aom_ctc: Option<String>,
    /// Preset of prediction models: not available, see the message.
    #[arg(long = "nflx_ctc", alias = "nflx-ctc", value_name = "VERSION", hide = true)]
    nflx_ctc: Option<String>,
    /// Prediction model: not available, see the message.
    #[arg(short, long, value_name = "MODEL", hide = true)]
    model: Vec<String>,

    /// File for the report; without it the pooled scores are printed.
    #[arg(short, long, value_name = "FILE", help_heading = "Report")]
    output: Option<PathBuf>,
    /// Report as XML, the default.
    #[arg(long, group = "format", help_heading = "Report")]
    xml: bool,
    /// Report as JSON.
    #[arg(long, group = "format", help_heading = "Report")]
    json: bool,
    /// Report as comma-separated values.
    #[arg(long, group = "format", help_heading = "Report")]
    csv: bool,
    /// Report as MicroDVD subtitles.
    #[arg(long, group = "format", help_heading = "Report")]
    sub: bool,
    /// Digits of the scores: `legacy` as the vmaf command prints them, `max` the shortest decimal that gives the same
    /// number again, or a number of decimals.
    #[arg(long, value_name = "legacy|max|N", default_value = "legacy", value_parser = precision, help_heading = "Report")]
    precision: Precision,

    /// Where to compute: `auto` (a card if one can be used, else the processor), `cpu`, `cuda` or `cuda:N`. No score
    /// depends on it.
    #[arg(long, value_name = "DEVICE", default_value = "auto", value_parser = units::device, help_heading = "Work")]
    device: DeviceChoice,
    /// Threads that compute on the processor. 0 and 1 are one thread. No score depends on it.
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = 0, value_parser = threads, help_heading = "Work")]
    threads: usize,
    /// Instructions not to use, as a sum: 8 is AVX2 and above, 16 is AVX-512. No score depends on it.
    #[arg(long, value_name = "MASK", default_value = "0", value_parser = mask, help_heading = "Work")]
    cpumask: u64,
    /// Anything but 0 leaves cards alone, as in the vmaf command. No score depends on it.
    #[arg(long, value_name = "MASK", default_value = "0", value_parser = mask, conflicts_with = "device", help_heading = "Work")]
    gpumask: u64,

    /// How to show progress.
    #[arg(long, value_enum, default_value = "auto", help_heading = "Messages")]
    progress: ProgressMode,
    #[command(flatten, next_help_heading = "Messages")]
    pub(crate) verbosity: Verbosity,
    /// Print help.
    #[arg(long, action = clap::ArgAction::Help, help_heading = "Messages")]
    help: Option<bool>,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Decoder {
    /// ffmpeg where it is there, else what is built in.
    Auto,
    /// The built-in H.264 decoder.
    BuiltIn,
    /// ffmpeg.
    Ffmpeg,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum RawFormat {
    #[value(name = "420")]
    Yuv420,
    #[value(name = "422")]
    Yuv422,
    #[value(name = "444")]
    Yuv444,
    #[value(name = "400")]
    Gray,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Rounding {
    /// Down, the vmaf command's habit.
    Floor,
    /// Up, as every other program writes them.
    Ceil,
}

fn depth(text: &str) -> Result<u8, String> {
    match text.parse() {
        Ok(d @ (8 | 10 | 12 | 16)) => Ok(d),
        _ => Err("8, 10, 12 or 16".into()),
    }
}

fn threads(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n) if n <= MAX_THREADS => Ok(n),
        _ => Err(format!("a number from 0 to {MAX_THREADS}")),
    }
}

fn precision(text: &str) -> Result<Precision, String> {
    match text {
        "legacy" => Ok(Precision::Legacy),
        "max" => Ok(Precision::Max),
        n => match n.parse() {
            Ok(n) if n <= Precision::MAX_DECIMALS => Ok(Precision::Decimals(n)),
            _ => Err(format!("legacy, max, or a number of decimals up to {}", Precision::MAX_DECIMALS)),
        },
    }
}

/// A number, hexadecimal after `0x`, octal after another 0, as C reads them.
fn mask(text: &str) -> Result<u64, String> {
    let parsed = if let Some(hex) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        u64::from_str_radix(hex, 16)
    } else if text.len() > 1 && text.starts_with('0') {
        u64::from_str_radix(&text[1..], 8)
    } else {
        text.parse()
    };
    parsed.map_err(|_| "a number, such as 16 or 0x10".into())
}

/// Bits of `--cpumask`.
const MASK_AVX2: u64 = 8;
const MASK_AVX512: u64 = 16;

impl Args {
    fn level(&self) -> Level {
        let level = Level::get();
        if self.cpumask & MASK_AVX2 != 0 {
            level.lowered_to(Isa::Scalar)
        } else if self.cpumask & MASK_AVX512 != 0 {
            level.lowered_to(Isa::Avx2)
        } else {
            level
        }
    }

    fn device(&self) -> DeviceChoice {
        if self.gpumask == 0 { self.device } else { DeviceChoice::Cpu }
    }

    fn format(&self) -> ReportFormat {
        match (self.json, self.csv, self.sub) {
            (true, _, _) => ReportFormat::Json,
            (_, true, _) => ReportFormat::Csv,
            (_, _, true) => ReportFormat::Sub,
            _ => ReportFormat::Xml,
        }
    }

    /// Options that were given and do nothing here, though no score comes out wrong without them. The `vmaf` command says
    /// nothing of a format without a report; scripts that go on there go on here.
    fn without_effect(&self, decoders: [String; 2]) -> Vec<String> {
        let formats = [("--xml", self.xml), ("--json", self.json), ("--csv", self.csv), ("--sub", self.sub)];
        let format = formats.into_iter().find(|(_, given)| *given && self.output.is_none());
        let format = format.map(|(option, _)| {
            format!("{option} has no effect without a report; name its file with -o, or write -o - for standard output")
        });
        let own = |name: &String| matches!(name.as_str(), "yuv4mpeg2" | "raw");
        let decoder = matches!(self.decoder, Decoder::Ffmpeg) && decoders.iter().all(own);
        let decoder =
            decoder.then(|| "--decoder has no effect: jnd itself reads YUV4MPEG2 and raw frames".to_owned());
        format.into_iter().chain(decoder).collect()
    }

    /// Raw geometry, if any part of it was given.
    fn raw(&self) -> Result<Option<RawGeometry>, Failure> {
        let (width, height, layout, depth) = match (self.width, self.height, self.pixel_format, self.bitdepth)
        {
            (None, None, None, None) if self.chroma_rounding.is_some() => {
                let message = "--chroma_rounding has no meaning for clips that are not raw; leave it out, or describe raw \
                               clips with -w, -h, -p and -b";
                return Err(Failure::new(USAGE, message));
            }
            (None, None, None, None) => return Ok(None),
            (Some(w), Some(h), Some(p), Some(b)) => (w, h, p, b),
            _ => {
                let message = "raw clips need all four of -w/--width, -h/--height, -p/--pixel_format and -b/--bitdepth \
                               (help is --help)";
                return Err(Failure::new(USAGE, message));
            }
        };
        let layout = match layout {
            RawFormat::Yuv420 => Layout::Yuv420,
            RawFormat::Yuv422 => Layout::Yuv422,
            RawFormat::Yuv444 => Layout::Yuv444,
            RawFormat::Gray => Layout::Gray,
        };
        // Raw clips have no rate, and no score depends on one.
        let rate = Rate::new(25, 1).map_err(setup)?;
        Ok(Some(RawGeometry {
            width,
            height,
            format: PixelFormat::new(layout, depth).map_err(setup)?,
            rate,
            chroma_rounding: match self.chroma_rounding {
                Some(Rounding::Ceil) => ChromaRounding::Ceil,
                Some(Rounding::Floor) | None => ChromaRounding::Floor,
            },
        }))
    }
}

fn setup(error: impl Into<Box<dyn std::error::Error>>) -> Failure {
    Failure::new(SETUP, error)
}

/// A failure of the library, with the exit code that fits it.
fn failed(error: jnd::score::Error) -> Failure {
    use jnd::score::Error;
    match error {
        Error::NoValue { .. } => Failure::new(USAGE, error),
        Error::Video(e) => video_failed(e),
        e => setup(e),
    }
}

fn video_failed(error: jnd::video::Error) -> Failure {
    match error {
        jnd::video::Error::NoFrames { .. } => Failure::new(NO_FRAMES, error),
        jnd::video::Error::Interrupted => stopped(),
        e => setup(e),
    }
}

/// A failure to write the report. Where its reader has closed the pipe, that is none.
fn report_failed(error: impl Into<jnd::score::Error>) -> Failure {
    use jnd::score::Error;
    match error.into() {
        Error::Report(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Failure::silent(DONE),
        Error::Video(e) if e.is_broken_pipe() => Failure::silent(DONE),
        e => failed(e),
    }
}

fn stopped() -> Failure {
    Failure::new(INTERRUPTED, "interrupted; nothing was written")
}

/// Opens a clip. What is not simply read from a file is decoded ahead on a thread of its own, which also keeps Ctrl-C
/// working while a pipe is silent.
fn open(
    path: &PathBuf,
    options: &OpenOptions,
    stop: &Arc<AtomicBool>,
) -> Result<Box<dyn FrameSource>, Failure> {
    let input = Input::from_arg(path);
    let source = jnd::video::open(&input, options).map_err(video_failed)?;
    if input.is_rereadable() && matches!(source.decoder().as_str(), "yuv4mpeg2" | "raw") {
        return Ok(source);
    }
    let ahead =
        ReadAhead::new(source, jnd::video::DEFAULT_DEPTH, Some(Arc::clone(stop))).map_err(video_failed)?;
    Ok(Box::new(ahead))
}

/// The `vmaf` command refuses interlaced YUV4MPEG2; elsewhere the tag is often wrong, and a warning has to do.
fn refuse_interlaced(side: Side, source: &dyn FrameSource) -> Result<(), Failure> {
    if source.decoder() == "yuv4mpeg2" && source.info().fields.is_interlaced() {
        let message = format!(
            "the {side} clip is interlaced; deinterlace both clips first, or write them with a progressive tag (Ip)"
        );
        return Err(Failure::new(SETUP, message));
    }
    Ok(())
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<u8, Failure> {
    if !args.model.is_empty() {
        let message = "-m/--model: jnd computes features and has no prediction models; leave it out (or use the vmaf \
                       command for a VMAF score)";
        return Err(Failure::new(USAGE, message));
    }
    for (name, given) in [("--aom_ctc", &args.aom_ctc), ("--nflx_ctc", &args.nflx_ctc)] {
        if given.is_some() {
            let message = format!(
                "{name} is a preset of prediction models, which jnd does not have; name the features with --feature (or use \
                 the vmaf command for a VMAF score)"
            );
            return Err(Failure::new(USAGE, message));
        }
    }
    // Every feature is read first, so that a mistake is found before anything is opened.
    let features: Vec<Feature> =
        args.features.iter().map(|f| Feature::parse(f)).collect::<Result<_, _>>().map_err(failed)?;
    let open_options = OpenOptions {
        raw: args.raw()?,
        decoder: match args.decoder {
            Decoder::Auto => DecoderChoice::Auto,
            Decoder::BuiltIn => DecoderChoice::BuiltIn,
            Decoder::Ffmpeg => DecoderChoice::Ffmpeg,
        },
        ..OpenOptions::default()
    };
    if args.reference.as_os_str() == "-" && args.distorted.as_os_str() == "-" {
        return Err(Failure::new(USAGE, "only one of the clips can come from standard input"));
    }
    if args.output.as_ref().is_some_and(|o| o.as_os_str() == "-") && stdout::is_closed() {
        return Err(Failure::new(SETUP, stdout::CLOSED_MESSAGE));
    }
    if let Some(output) = &args.output
        && [&args.reference, &args.distorted].into_iter().any(|input| same_file(input, output))
    {
        return Err(setup(jnd::video::Error::SameFile { path: output.display().to_string() }));
    }
    let stop = interrupt::flag();
    let mut reference = open(&args.reference, &open_options, &stop)?;
    let mut distorted = open(&args.distorted, &open_options, &stop)?;
    refuse_interlaced(Side::Reference, &*reference)?;
    refuse_interlaced(Side::Distorted, &*distorted)?;
    let range = ClipRange {
        skip_reference: args.frame_skip_ref,
        skip_distorted: args.frame_skip_dist,
        limit: Some(args.frame_cnt).filter(|&n| n > 0),
    };
    let options =
        ScorerOptions { threads: args.threads.max(1), subsample: args.subsample, level: args.level() };
    clip::check_comparable(reference.info(), distorted.info()).map_err(failed)?;
    let geometry = Geometry::of_stream(reference.info());
    let (engine, no_card) = engine(&features, geometry, options, args.device()).map_err(failed)?;
    let device = engine.device();
    // A place that cannot be written to is found before the work.
    let mut output = match &args.output {
        Some(path) => Some(OutputFile::create(&Output::from_arg(path), true).map_err(setup)?),
        None => None,
    };
    let spool = tempfile::tempfile().map_err(|source| {
        let path = format!("temporary directory {}", std::env::temp_dir().display());
        setup(jnd::video::Error::Io { path, source })
    })?;
    let spool = BufferedSpool::new(spool);
    let mut progress = Progress::new(args.progress, args.verbosity);
    let mut remark = |line: &str| progress.remark(format!("jnd: {line}"));
    let decoders = [reference.decoder(), distorted.decoder()];
    args.without_effect(decoders).iter().for_each(|w| remark(&format!("warning: {w}")));
    for (side, source) in [(Side::Reference, &reference), (Side::Distorted, &distorted)] {
        source.notes().iter().for_each(|n| remark(&format!("note: {side}: {n}")));
    }
    clip::differences(reference.info(), distorted.info())
        .iter()
        .for_each(|d| remark(&format!("warning: {d}")));
    if let (Some(why), 1..) = (no_card, args.verbosity.verbose) {
        remark(&format!("note: the processor scores: {why}"));
    }
    let mut pair = ClipPair::with_engine(&mut *reference, &mut *distorted, range, engine).map_err(failed)?;
    let mut report = Report::new(args.format(), args.precision, pair.scorer(), spool);
    let total = pair.expected();
    let started = Instant::now();
    let ending = loop {
        if stop.load(Ordering::Relaxed) {
            return Err(stopped());
        }
        let ending = pair.step().map_err(failed)?;
        report.take(pair.scorer()).map_err(failed)?;
        if let Some(ending) = ending {
            break ending;
        }
        progress.update(&jnd::Progress { pass: 1, passes: 1, done: pair.scorer().frames(), total });
    };
    let frames = pair.scorer().frames();
    let seconds = started.elapsed().as_secs_f64();
    if frames == 0 {
        return Err(match ending {
            Ending::Cut(_, error) => Failure::new(NO_FRAMES, error),
            _ => Failure::new(NO_FRAMES, "no frames to score: a clip is empty, or all of it is skipped"),
        });
    }
    progress.finish();
    let fps = (seconds > 0.0).then(|| frames as f64 / seconds);
    let pooled: Vec<(String, _)> = report.pooled().into_iter().map(|(n, p)| (n.to_owned(), p)).collect();
    match output.take() {
        Some(mut file) => {
            let info = ReportInfo {
                version: env!("CARGO_PKG_VERSION"),
                width: geometry.width,
                height: geometry.height,
                fps,
            };
            let mut result = Ok(());
            file.with(|w| {
                result = report.finish(&info, w);
                Ok(())
            })
            .map_err(report_failed)?;
            result.map_err(report_failed)?;
            file.finish().map_err(report_failed)?;
        }
        None => pooled::print(&pooled, args.precision)?,
    }
    let note = |line: &str| {
        if !args.verbosity.quiet {
            say::line(format_args!("jnd: {line}"));
        }
    };
    let pairs = if frames == 1 { "pair" } else { "pairs" };
    let were = if frames == 1 { "was" } else { "were" };
    note(&format!("{frames} {pairs} of frames, {:.1} a second ({device})", fps.unwrap_or(0.0)));
    let code = match ending {
        Ending::Together | Ending::Limit => DONE,
        Ending::Shorter(shorter) => {
            let longer = pair.count_longer(shorter, &mut || stop.load(Ordering::Relaxed)).map_err(failed)?;
            let (skip_short, skip_long, other) = match shorter {
                Side::Reference => (range.skip_reference, range.skip_distorted, Side::Distorted),
                Side::Distorted => (range.skip_distorted, range.skip_reference, Side::Reference),
            };
            let counted =
                longer.map_or_else(|| format!("more than {}", skip_long + frames), |n| n.to_string());
            note(&format!(
                "warning: the {shorter} clip has {}, the {other} clip {counted}; {frames} {pairs} {were} scored",
                units::frames(skip_short + frames)
            ));
            DONE
        }
        Ending::Cut(side, error) => {
            say::line(format_args!(
                "jnd: warning: {error}; the {frames} whole {pairs} {were} scored ({side} clip)"
            ));
            TRUNCATED
        }
    };
    for warning in reference.warnings().into_iter().chain(distorted.warnings()) {
        say::line(format_args!("jnd: warning: {warning}"));
    }
    Ok(code)
}

/// A temporary file behind a write buffer, since frames of a report are small.
#[derive(Debug)]
struct BufferedSpool(std::io::BufWriter<File>);

impl BufferedSpool {
    fn new(file: File) -> Self {
        Self(std::io::BufWriter::with_capacity(64 << 10, file))
    }
}

impl std::io::Write for BufferedSpool {
    fn write(&mut self, buf: &[u8]) -> std::io::Result<usize> {
        self.0.write(buf)
    }
    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

impl std::io::Seek for BufferedSpool {
    fn seek(&mut self, pos: std::io::SeekFrom) -> std::io::Result<u64> {
        self.0.seek(pos)
    }
}

impl std::io::Read for BufferedSpool {
    fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
        self.0.get_mut().read(buf)
    }
}
