//! `jnd demo DIR`: makes a clip with a known pulse and a known sway, magnifies both, and measures by how much each grew.

mod clip;
mod measure;
mod picture;

use std::f64::consts::TAU;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use jnd::magnify::{Filter, Settings};
use jnd::video::{CreateOptions, EncoderChoice, Frame, Input, OpenOptions, Output};
use jnd::{MagnifyFile, Report};

use self::clip::{FRAMES, HEIGHT, PULSE_HZ, RATE, STRIPE, SWAY_HZ, SWAY_PIXELS, WIDTH};
use self::measure::Series;
use self::picture::Picture;
use crate::exit::{DONE, Failure};
use crate::{Verbosity, interrupt};

/// How far the measured growth may be from the predicted one. 8-bit rounding of the clip's own half a level is most of it.
const TOLERANCE: f64 = 0.05;

/// What every demo makes.
const FILES: [&str; 5] = ["original.y4m", "pulse.y4m", "sway.y4m", "pulse.png", "sway.png"];

/// The clips once more, as files that every player shows; made where H.264 is built in.
const PLAYABLE: [&str; 3] = ["original.mp4", "pulse.mp4", "sway.mp4"];

/// Arguments of `jnd demo`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Directory for the demo's files; made where it is not there. An earlier demo's files in it are replaced.
    directory: PathBuf,
    /// Replace files of the same names that no demo has made, too.
    #[arg(short = 'y', long)]
    overwrite: bool,
    #[command(flatten)]
    pub(crate) verbosity: Verbosity,
}

/// What a signal did.
struct Growth {
    name: &'static str,
    hertz: f64,
    unit: &'static str,
    before: f64,
    after: f64,
    predicted: f64,
}

impl Growth {
    fn measured(&self) -> f64 {
        self.after / self.before
    }

    fn as_predicted(&self) -> bool {
        (self.measured() / self.predicted - 1.0).abs() <= TOLERANCE
    }
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<u8, Failure> {
    let dir = args.directory.as_path();
    let at = |e: std::io::Error| {
        Failure::from(jnd::Error::from(jnd::video::Error::Io { path: dir.display().to_string(), source: e }))
    };
    let before = clip::frames().map_err(video)?;
    let (original, pulse, sway) = (dir.join("original.y4m"), dir.join("pulse.y4m"), dir.join("sway.y4m"));
    let files: Vec<&str> = if jnd::H264_BUILT_IN { [&FILES[..], &PLAYABLE].concat() } else { FILES.to_vec() };
    if !args.overwrite && !is_clip(&original, &before) {
        refuse_existing(dir, &files)?;
    }
    let made = interrupt::Made::new();
    made.directory(dir).map_err(at)?;
    made.file(&original, |path| write(&before, path))?;
    let pulsed = made.file(&pulse, |path| magnify(&original, path, "pulse"))?;
    let swayed = made.file(&sway, |path| magnify(&original, path, "motion"))?;

    let (pulse_frames, sway_frames) = (read(&pulse)?, read(&sway)?);
    let growth =
        [measure_pulse(&before, &pulse_frames, &pulsed), measure_sway(&before, &sway_frames, &swayed)];
    made.file(&dir.join("pulse.png"), |path| pulse_picture(&before, &pulse_frames).save(path))
        .map_err(video)?;
    made.file(&dir.join("sway.png"), |path| sway_picture(&before, &sway_frames).save(path)).map_err(video)?;
    if jnd::H264_BUILT_IN {
        for (name, frames) in PLAYABLE.iter().zip([&before, &pulse_frames, &sway_frames]) {
            made.file(&dir.join(name), |path| write(frames, path))?;
        }
    }
    made.keep();
    if !args.verbosity.quiet {
        std::io::stdout().write_all(text(&growth, dir, &files).as_bytes())?;
    }
    match growth.iter().find(|g| !g.as_predicted()) {
        None => Ok(DONE),
        Some(g) => Err(Failure::new(
            crate::exit::FAILURE,
            format!(
                "the {} grew {:.2} times, but {:.2} times was predicted",
                g.name,
                g.measured(),
                g.predicted
            ),
        )),
    }
}

/// The report.
fn text(growth: &[Growth], dir: &Path, files: &[&str]) -> String {
    let mut text = format!(
        "A clip of {FRAMES} frames, {WIDTH}x{HEIGHT}, {RATE} frames/s: a patch that pulses and stripes that sway.\n\n\
         {:<8}{:>10}{:>16}{:>16}{:>12}{:>12}\n",
        "", "", "before", "after", "grew", "predicted"
    );
    for g in growth {
        text.push_str(&format!(
            "{:<8}{:>7} Hz{:>16}{:>16}{:>11.2}x{:>11.2}x\n",
            g.name,
            g.hertz,
            format!("+-{:.2} {}", g.before, g.unit),
            format!("+-{:.2} {}", g.after, g.unit),
            g.measured(),
            g.predicted
        ));
    }
    text.push_str(&format!(
        "\nIn {}: {}\npulse.png: dimmest and brightest moment, before above after. \
         sway.png: one row of pixels over time, before left of after.\n",
        dir.display(),
        files.join(", ")
    ));
    text
}

fn video(e: jnd::video::Error) -> Failure {
    Failure::from(jnd::Error::from(e))
}

/// Whether a file is the demo's own clip, so that an earlier demo has filled its directory.
fn is_clip(path: &Path, clip: &[Frame]) -> bool {
    let same = || -> jnd::video::Result<bool> {
        let mut source = jnd::video::open(&Input::Path(path.to_path_buf()), &OpenOptions::default())?;
        let mut frame = source.new_frame()?;
        for want in clip {
            if !source.read(&mut frame)? || frame != *want {
                return Ok(false);
            }
        }
        Ok(!source.read(&mut frame)?)
    };
    path.is_file() && same().unwrap_or(false)
}

/// Refuses to replace what is there.
fn refuse_existing(dir: &Path, files: &[&str]) -> Result<(), Failure> {
    match files.iter().map(|name| dir.join(name)).find(|path| path.exists()) {
        Some(path) => Err(video(jnd::video::Error::Exists { path: path.display().to_string() })),
        None => Ok(()),
    }
}

/// Writes frames of the clip, or of what became of it, with what is built in.
fn write(frames: &[Frame], path: &Path) -> Result<(), Failure> {
    let info = clip::info().map_err(video)?;
    let options =
        CreateOptions { overwrite: true, encoder: EncoderChoice::BuiltIn, ..CreateOptions::default() };
    let mut sink = jnd::video::create(&Output::Path(path.to_path_buf()), &info, &options).map_err(video)?;
    for frame in frames {
        if interrupt::flag().load(Ordering::Relaxed) {
            return Err(video(jnd::video::Error::Interrupted));
        }
        sink.write(frame).map_err(video)?;
    }
    sink.finish().map_err(video)
}

fn magnify(from: &Path, to: &Path, preset: &str) -> Result<Report, Failure> {
    let settings = Settings::preset(preset).map_err(jnd::Error::from)?;
    let mut job = MagnifyFile::new(Input::Path(from.to_path_buf()), Output::Path(to.to_path_buf()), settings);
    job.create.overwrite = true;
    job.stop = Some(interrupt::flag());
    Ok(jnd::magnify_file(&job, &mut |_| {})?)
}

fn read(path: &Path) -> Result<Vec<Frame>, Failure> {
    let mut source =
        jnd::video::open(&Input::Path(path.to_path_buf()), &OpenOptions::default()).map_err(video)?;
    let mut frames = Vec::new();
    loop {
        let mut frame = source.new_frame().map_err(video)?;
        if !source.read(&mut frame).map_err(video)? {
            return Ok(frames);
        }
        frames.push(frame);
    }
}

fn measure_pulse(before: &[Frame], after: &[Frame], report: &Report) -> Growth {
    let levels = |frames: &[Frame]| {
        let mut series = Series::default();
        frames.iter().for_each(|f| series.push_mean(f, clip::PATCH));
        measure::amplitude(&series.values, PULSE_HZ / RATE as f64)
    };
    // The patch is larger than the blur, so that the whole gain arrives; of a frequency inside its band the ideal filter
    // passes half, and nothing of one outside.
    let plan = &report.applied.plan;
    let inside = plan.bins_hz().iter().any(|f| (f - PULSE_HZ).abs() < 1e-9);
    let predicted = if inside { 1.0 + 0.5 * plan.settings().alpha } else { 1.0 };
    Growth {
        name: "pulse",
        hertz: PULSE_HZ,
        unit: "levels",
        before: levels(before),
        after: levels(after),
        predicted,
    }
}

fn measure_sway(before: &[Frame], after: &[Frame], report: &Report) -> Growth {
    // The filter needs some time to forget that the clip has a start.
    const SETTLED: usize = 100;
    let change = |frames: &[Frame]| {
        let mut series = Series::default();
        frames[SETTLED..].iter().for_each(|f| series.push_stripes(f, clip::STRIPES, STRIPE));
        measure::amplitude(&series.values, SWAY_HZ / RATE as f64)
    };
    let plan = &report.applied.plan;
    let space = measure::pyramid_gain(plan.gains(), TAU / STRIPE);
    let predicted = match plan.settings().filter {
        Filter::Iir { r1, r2 } => measure::growth_iir(space, r1, r2, TAU * SWAY_HZ / RATE as f64),
        _ => 1.0,
    };
    let (one, more) = (change(before), change(after));
    // In pixels, by what the clip is known to do.
    let pixels = SWAY_PIXELS / one;
    Growth { name: "sway", hertz: SWAY_HZ, unit: "px", before: one * pixels, after: more * pixels, predicted }
}

/// The frame of the last second in which the pulse is at `phase` of its period.
fn moment(frames: &[Frame], phase: f64) -> &Frame {
    let period = RATE as f64 / PULSE_HZ;
    let start = (frames.len() as f64 / period).floor() - 2.0;
    let t = ((start + phase) * period).round() as usize;
    &frames[t.min(frames.len() - 1)]
}

/// Dimmest and brightest moment, before above after.
fn pulse_picture(before: &[Frame], after: &[Frame]) -> Picture {
    const GAP: usize = 8;
    let mut picture = Picture::new(2 * WIDTH + GAP, 2 * HEIGHT + GAP);
    for (row, frames) in [before, after].into_iter().enumerate() {
        for (column, phase) in [0.75, 0.25].into_iter().enumerate() {
            picture.draw(moment(frames, phase), column * (WIDTH + GAP), row * (HEIGHT + GAP));
        }
    }
    picture
}

/// One row of pixels over time, before left of after.
fn sway_picture(before: &[Frame], after: &[Frame]) -> Picture {
    const GAP: usize = 8;
    const THICK: usize = 2;
    let columns = WIDTH / 2..WIDTH;
    let mut picture = Picture::new(2 * columns.len() + GAP, before.len() * THICK);
    for (side, frames) in [before, after].into_iter().enumerate() {
        for (t, frame) in frames.iter().enumerate() {
            let x = side * (columns.len() + GAP);
            picture.draw_row(frame, HEIGHT / 2, columns.clone(), x, t * THICK, THICK);
        }
    }
    picture
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_is_judged() {
        let mut g = Growth { name: "", hertz: 1.0, unit: "", before: 0.5, after: 13.0, predicted: 26.0 };
        assert!(g.as_predicted());
        g.after = 14.0;
        assert!(!g.as_predicted());
        g.after = f64::NAN;
        assert!(!g.as_predicted());
    }
}
