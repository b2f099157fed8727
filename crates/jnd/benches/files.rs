//! What magnifying adds to the codecs' own work, from file to file.
//!
//! `cargo bench -p jnd --bench files -- INPUT OUTPUT [lossless] [builtin] [runs=7] [threads=N] [preset=NAME] [alpha=N]`
//!
//! Three jobs take turns, each in a process of its own that starts cold, with the same reader, the same writer and the same
//! settings:
//!
//! * `copy`: the frames of INPUT go to the writer as they are;
//! * `recode`: they are decoded all the same, but the writer gets the magnified ones, which were made before: the encoder
//!   does exactly the work that it does for `magnify`;
//! * `magnify`: the job itself.
//!
//! With `alpha=0.001` the engine does all of its work, and every frame comes out as it went in: then the encoder's work is
//! that of `copy` as well.
//!
//! Frames are swapped between reader and writer, never copied. Seconds run from before the input is opened to after the
//! output is complete; `start` is the part before the first frame is done. `cpu` counts this process and those it started,
//! `own` this process alone. `peak` is the most memory resident, above what the process had before the job.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use jnd::video::{
    CreateOptions, DecoderChoice, EncoderChoice, Frame, FrameSource, Input, OpenOptions, Output, PumpOptions,
    ReadAhead, WriteBehind, create, open, prepare,
};
use jnd::{DeviceChoice, Event, MagnifyFile, Overrides};

type Failure = Box<dyn std::error::Error>;

/// The jobs, in the order in which they take turns.
const JOBS: [&str; 3] = ["copy", "recode", "magnify"];

fn main() -> Result<(), Failure> {
    // Cargo adds `--bench`.
    let args: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let [input, output, words @ ..] = &args[..] else {
        // `cargo bench` of the whole workspace comes without a clip.
        eprintln!("files: no clip given; see the head of benches/files.rs");
        return Ok(());
    };
    let setup = Setup::new(input, output, words)?;
    match words.iter().find_map(|w| w.strip_prefix("job=")) {
        Some(job) => setup.run(job),
        None => setup.compare(&args),
    }
}

/// What is to be done, by the words on the command line.
struct Setup {
    input: PathBuf,
    output: PathBuf,
    builtin: bool,
    lossless: bool,
    runs: usize,
    threads: usize,
    preset: String,
    alpha: Option<f64>,
    magnified: Option<PathBuf>,
}

impl Setup {
    fn new(input: &str, output: &str, words: &[String]) -> Result<Self, Failure> {
        let has = |w: &str| words.iter().any(|x| x == w);
        let value = |w: &str| words.iter().find_map(|x| x.strip_prefix(w));
        Ok(Self {
            input: input.into(),
            output: output.into(),
            builtin: has("builtin"),
            lossless: has("lossless"),
            runs: value("runs=").map_or(Ok(7), str::parse)?,
            threads: value("threads=").map_or(Ok(0), str::parse)?,
            preset: value("preset=").unwrap_or("motion").to_owned(),
            alpha: value("alpha=").map(str::parse).transpose()?,
            magnified: value("magnified=").map(PathBuf::from),
        })
    }

    fn open(&self) -> OpenOptions {
        let decoder = if self.builtin { DecoderChoice::BuiltIn } else { DecoderChoice::Auto };
        OpenOptions { decoder, ..OpenOptions::default() }
    }

    fn create(&self) -> CreateOptions {
        let encoder = if self.builtin { EncoderChoice::BuiltIn } else { EncoderChoice::Auto };
        let copy_from = Some(self.input.clone());
        CreateOptions { encoder, lossless: self.lossless, copy_from, ..CreateOptions::default() }
    }

    fn magnify(&self, output: &Path) -> Result<MagnifyFile, Failure> {
        let settings = Overrides { alpha: self.alpha, ..Overrides::default() }.apply(&self.preset)?;
        let (input, output) = (Input::Path(self.input.clone()), Output::Path(output.into()));
        let mut job = MagnifyFile::new(input, output, settings);
        (job.open, job.create) = (self.open(), self.create());
        (job.device, job.threads) = (DeviceChoice::Cpu, self.threads);
        Ok(job)
    }

    /// One job in this process; prints what it took.
    fn run(&self, job: &str) -> Result<(), Failure> {
        let ready = match (job, &self.magnified) {
            ("recode", Some(path)) => load(path)?,
            _ => Vec::new(),
        };
        let before = (cpu()?, resident("VmRSS:")?);
        let began = Instant::now();
        let mut first = None;
        let mut stamp = || _ = first.get_or_insert_with(|| began.elapsed().as_secs_f64());
        let frames = if job == "magnify" {
            let report = jnd::magnify_file(&self.magnify(&self.output)?, &mut |event| {
                if let Event::Progress(_) = event {
                    stamp();
                }
            })?;
            report.frames_out
        } else {
            self.copy(ready, stamp)?
        };
        let seconds = began.elapsed().as_secs_f64();
        let after = cpu()?;
        let peak = resident("VmHWM:")?.saturating_sub(before.1);
        let (own, all) = (after.0 - before.0.0, after.1 - before.0.1);
        println!("{frames} {seconds} {} {all} {own} {peak}", first.unwrap_or(0.0));
        Ok(())
    }

    /// Sends the frames of the input, or in their place those of `ready`, to the output.
    fn copy(&self, mut ready: Vec<Frame>, mut stamp: impl FnMut()) -> Result<u64, Failure> {
        let output = Output::Path(self.output.clone());
        prepare(&output, &self.create());
        let source = open(&Input::Path(self.input.clone()), &self.open())?;
        let info = source.info().clone();
        let sink = create(&output, &info, &self.create())?;
        let depth = PumpOptions::default().depth_for(&info);
        let mut frame = source.new_frame()?;
        let mut reader = ReadAhead::new(source, depth - 1, None)?;
        let mut writer = Box::new(WriteBehind::new(sink, &info, depth, None)?);
        let mut frames = 0;
        while reader.read(&mut frame)? {
            let mut out = writer.empty()?;
            let time = frame.timestamp;
            std::mem::swap(&mut out, ready.get_mut(frames as usize).unwrap_or(&mut frame));
            out.timestamp = time;
            writer.push(out)?;
            frames += 1;
            stamp();
        }
        jnd::video::FrameSink::finish(writer)?;
        Ok(frames)
    }

    /// Runs the jobs in turns and prints medians.
    fn compare(&self, args: &[String]) -> Result<(), Failure> {
        let directory = tempfile::tempdir()?;
        let magnified = directory.path().join("magnified.y4m");
        jnd::magnify_file(&self.magnify(&magnified)?, &mut |_| {})?;
        let program = std::env::current_exe()?;
        let mut taken: [Vec<[f64; 6]>; 3] = Default::default();
        for _ in 0..self.runs {
            for (job, taken) in JOBS.iter().zip(&mut taken) {
                // Replacing a file makes some file systems write it out first; a new one costs each job the same.
                _ = std::fs::remove_file(&self.output);
                let mut command = Command::new(&program);
                command.args(args).arg(format!("job={job}"));
                command.arg(format!("magnified={}", magnified.display()));
                let out = command.output()?;
                let text = String::from_utf8_lossy(&out.stdout);
                let numbers: Vec<f64> = text.split_whitespace().filter_map(|n| n.parse().ok()).collect();
                let numbers = numbers.try_into().map_err(|_| String::from_utf8_lossy(&out.stderr))?;
                taken.push(numbers);
            }
        }
        println!("{} to {}", self.input.display(), self.output.display());
        println!("{:8} {:>7}  seconds      range         start    cpu    own  peak MB", "job", "frames");
        for (job, taken) in JOBS.iter().zip(&taken) {
            let of = |i: usize| sorted(taken.iter().map(|t| t[i]));
            let [frames, seconds, start, cpu, own, peak] = [0, 1, 2, 3, 4, 5].map(|i| middle(&of(i)));
            let all = of(1);
            let (least, most) = (all[0], all[all.len() - 1]);
            println!(
                "{job:8} {frames:7}  {seconds:7.3}  {least:6.3} to {most:6.3}  {start:6.3} {cpu:6.2} {own:6.2}  {:7.1}",
                peak / 1e6
            );
        }
        for (i, job) in JOBS.iter().enumerate().take(2) {
            let ratio = |k: usize| middle(&sorted(taken[2].iter().zip(&taken[i]).map(|(m, c)| m[k] / c[k])));
            println!("magnify / {job}: {:.3} in seconds, {:.3} in cpu", ratio(1), ratio(3));
        }
        Ok(())
    }
}

/// All frames of a clip.
fn load(path: &Path) -> Result<Vec<Frame>, Failure> {
    let mut source = open(&Input::Path(path.into()), &OpenOptions::default())?;
    let mut frames = Vec::new();
    loop {
        let mut frame = source.new_frame()?;
        if !source.read(&mut frame)? {
            return Ok(frames);
        }
        frames.push(frame);
    }
}

/// Seconds of processor time: this process, and this process with those it waited for.
fn cpu() -> Result<(f64, f64), Failure> {
    let text = std::fs::read_to_string("/proc/self/stat")?;
    // The name in brackets may hold anything; the numbers come after it.
    let numbers = text.rsplit(')').next().unwrap_or_default();
    let ticks: Vec<f64> =
        numbers.split_whitespace().skip(11).take(4).map(str::parse).collect::<Result<_, _>>()?;
    let [user, system, children_user, children_system] = ticks[..] else {
        return Err("no times in /proc/self/stat".into());
    };
    let own = (user + system) / 100.0;
    Ok((own, own + (children_user + children_system) / 100.0))
}

/// A line of bytes in `/proc/self/status`.
fn resident(line: &str) -> Result<u64, Failure> {
    let text = std::fs::read_to_string("/proc/self/status")?;
    let value = text.lines().find_map(|l| l.strip_prefix(line)).ok_or("no such line in /proc/self/status")?;
    Ok(value.trim().trim_end_matches(" kB").parse::<u64>()? * 1024)
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_unstable_by(f64::total_cmp);
    values
}

fn middle(sorted: &[f64]) -> f64 {
    sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
}
