//! Magnifying a video file or stream: reader, engine and writer, all at the same time.

mod drop_last;
mod engine;
mod flow;
mod ideal;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use drop_last::DropLast;
pub use drop_last::MIT_DROPS;
use engine::Engine;
use jnd_cuda::{Context, DeviceChoice};
use jnd_magnify::{Options, Plan, Settings, Source};
use jnd_video::{CreateOptions, FrameSink, FrameSource, Input, OpenOptions, Output, PumpOptions, StreamInfo};

use crate::{Error, Result};

/// What happens to a pipe whose frames are needed twice (ideal filter).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Spool {
    /// Its frames are kept in a file.
    Directory {
        /// Directory of the file; the system's temporary one where `None`.
        path: Option<PathBuf>,
        /// Most bytes that it may take.
        limit: u64,
    },
    /// It is refused.
    Refuse,
}

/// Most bytes of a spool unless told otherwise: 64 GiB.
pub const SPOOL_LIMIT: u64 = 64 << 30;

/// Most bytes of memory for the ideal filter unless told otherwise: 2 GiB.
pub const MEMORY_LIMIT: u64 = 2 << 30;

impl Default for Spool {
    fn default() -> Self {
        Self::Directory { path: None, limit: SPOOL_LIMIT }
    }
}

/// A video to magnify: everything that [`magnify_file`] needs.
#[derive(Debug, Clone)]
pub struct MagnifyFile {
    /// Where frames come from.
    pub input: Input,
    /// Where they go.
    pub output: Output,
    /// What is magnified, and by how much.
    pub settings: Settings,
    /// How to open the input; `start` and `end` cut it.
    pub open: OpenOptions,
    /// How to write the output. Where sound and tags come from (`copy_from`, `start`, `end`) is filled in.
    pub create: CreateOptions,
    /// Leave out this many frames at the end of a clip that has more, as the published implementation does
    /// ([`MIT_DROPS`]).
    pub drop_last: usize,
    /// Where to compute.
    pub device: DeviceChoice,
    /// A card that is open already: it is used where `device` stands for it, instead of being opened anew.
    pub context: Option<Context>,
    /// Threads that compute; 0 for one a processor core, or fewer beside a codec that uses them. The result is the same
    /// for any number.
    pub threads: usize,
    /// What happens to a pipe that must be read twice.
    pub spool: Spool,
    /// Most bytes of memory for the ideal filter; above it the picture is worked on in strips. On a card, unless it is the
    /// default, most bytes of the card's memory for any filter; above it the job is refused.
    pub memory: u64,
    /// Set it to end the job with [`Error::is_interrupted`]; what was written is removed then.
    pub stop: Option<Arc<AtomicBool>>,
}

impl MagnifyFile {
    /// A job with everything at its default.
    pub fn new(input: Input, output: Output, settings: Settings) -> Self {
        Self {
            input,
            output,
            settings,
            open: OpenOptions::default(),
            create: CreateOptions::default(),
            drop_last: 0,
            device: DeviceChoice::Auto,
            context: None,
            threads: 0,
            spool: Spool::default(),
            memory: MEMORY_LIMIT,
            stop: None,
        }
    }
}

/// How far a job is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Which pass over the clip, from 1.
    pub pass: u32,
    /// How many there will be.
    pub passes: u32,
    /// Frames done in this pass.
    pub done: u64,
    /// Frames to expect, where known. It may be off.
    pub total: Option<u64>,
}

/// What a job tells its caller while it runs.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// What is going to be done; work starts now.
    Applied(&'a Applied),
    /// Something the user should know.
    Note(&'a str),
    /// Something that went wrong without ending the job: the result is not what the input was meant to give.
    Warning(&'a str),
    /// How far the job is; comes with every frame.
    Progress(Progress),
}

/// What is going to be done.
#[derive(Debug, Clone)]
pub struct Applied {
    /// The input stream.
    pub input: StreamInfo,
    /// What decodes it.
    pub decoder: String,
    /// What encodes the output.
    pub encoder: String,
    /// What is computed.
    pub plan: Plan,
    /// Where it is computed, in words.
    pub device: String,
    /// Why that is no card, where the choice was left to the job; `device` has the reason in short.
    pub no_card: Option<String>,
    /// Bytes that the magnifier takes.
    pub memory: u64,
    /// Strips in which the picture is worked on, each with its own passes; 1 unless memory is short.
    pub strips: usize,
}

/// How a job ended.
#[derive(Debug)]
pub struct Report {
    /// What was done.
    pub applied: Applied,
    /// Frames read.
    pub frames_in: u64,
    /// Frames written.
    pub frames_out: u64,
    /// Set where the input was cut off: the message. The output holds all its whole frames.
    pub truncated: Option<String>,
    /// What went wrong without ending the job, such as pictures that the decoder had to patch up.
    pub warnings: Vec<String>,
    /// How long it took.
    pub elapsed: Duration,
}

/// Magnifies a video. Reading, computing and writing overlap; memory does not depend on the length of the clip, except
/// with the ideal filter, which keeps its projections.
///
/// # Errors
/// Whatever keeps the job from being done. No output is left then; one that existed before stays as it was.
pub fn magnify_file(job: &MagnifyFile, on_event: &mut dyn FnMut(Event<'_>)) -> Result<Report> {
    job.settings.check()?;
    jnd_video::prepare(&job.output, &job.create);
    if job.settings.filter.is_causal() { stream(job, on_event) } else { ideal::run(job, on_event) }
}

/// One pass: the causal filters.
fn stream(job: &MagnifyFile, on_event: &mut dyn FnMut(Event<'_>)) -> Result<Report> {
    let started = Instant::now();
    let source = job.source()?;
    let info = source.info().clone();
    let plan = job.plan(&info, None)?;
    let sink = job.sink(&info)?;
    let threads = job.threads_beside(source.is_coded(), sink.is_coded());
    let magnifier = Engine::new(job, plan, None, threads)?;
    let applied = job.applied(source.as_ref(), sink.as_ref(), &magnifier);
    let mut notes = Notes::default();
    on_event(Event::Applied(&applied));
    notes.tell(job.notes(&info).into_iter().chain(source.notes()).chain(sink.notes()), on_event);
    let mut progress = Progress { pass: 1, passes: 1, done: 0, total: source.frames_hint() };
    let pumped = magnifier.run(job, &info, source, sink, &mut || {
        progress.done += 1;
        on_event(Event::Progress(progress));
    })?;
    notes.tell(pumped.notes, on_event);
    notes.warn(pumped.warnings, on_event);
    Ok(Report {
        applied,
        frames_in: pumped.frames,
        frames_out: pumped.frames,
        truncated: pumped.truncated.map(|e| e.to_string()),
        warnings: notes.warnings,
        elapsed: started.elapsed(),
    })
}

/// Notes and warnings that have been told already.
#[derive(Default)]
struct Notes {
    told: Vec<String>,
    warnings: Vec<String>,
}

impl Notes {
    /// Tells what has not been told before.
    fn tell(&mut self, notes: impl IntoIterator<Item = String>, on_event: &mut dyn FnMut(Event<'_>)) {
        for note in notes {
            if !self.told.contains(&note) {
                on_event(Event::Note(&note));
                self.told.push(note);
            }
        }
    }

    /// The same for warnings.
    fn warn(&mut self, warnings: impl IntoIterator<Item = String>, on_event: &mut dyn FnMut(Event<'_>)) {
        for warning in warnings {
            if !self.warnings.contains(&warning) {
                on_event(Event::Warning(&warning));
                self.warnings.push(warning);
            }
        }
    }
}

impl MagnifyFile {
    fn source(&self) -> Result<Box<dyn FrameSource>> {
        let source = jnd_video::open(&self.input, &self.open)?;
        Ok(if self.drop_last > 0 { Box::new(DropLast::new(source, self.drop_last)) } else { source })
    }

    fn sink(&self, info: &StreamInfo) -> Result<Box<dyn FrameSink>> {
        let mut create = self.create.clone();
        if self.input.is_rereadable() && self.open.raw.is_none() {
            create.copy_from = self.input.path().map(PathBuf::from);
            (create.start, create.end) = (self.open.start, self.open.end);
        }
        Ok(jnd_video::create(&self.output, info, &create)?)
    }

    /// The plan for a clip of `frames` frames, or of as many as it says itself.
    fn plan(&self, info: &StreamInfo, frames: Option<u64>) -> Result<Plan> {
        let mut source = Source::from(info);
        source.frames = frames.or(source.frames);
        Plan::new(&self.settings, &source)
            .map_err(|source| Error::Clip { path: self.input.to_string(), source })
    }

    /// A refusal for want of room, which depends on the clip, with the clip's name. Any other error as it is.
    fn at_input(&self, error: jnd_magnify::Error) -> Error {
        use jnd_magnify::Error as M;
        match error {
            source @ (M::Memory { .. } | M::Video(jnd_video::Error::SpoolFull { .. })) => {
                Error::Clip { path: self.input.to_string(), source }
            }
            M::Cuda(jnd_cuda::Error::Memory { device, need, have, detail }) => Error::CardMemory {
                path: self.input.to_string(),
                device,
                need,
                have,
                detail,
                remedy: if have == self.memory {
                    "allow more with --memory, or let the processor do it with --device cpu"
                } else {
                    "free some of it, name another card with --device cuda:N, or let the processor do it with --device cpu"
                },
            },
            M::Video(e) => Error::Video(e),
            e => Error::Magnify(e),
        }
    }

    fn pump_options(&self) -> PumpOptions {
        PumpOptions { stop: self.stop.clone(), ..PumpOptions::default() }
    }

    /// Threads for one pass beside codecs. An encoder needs ten times the engine's time and more, a decoder about as much,
    /// and both use every processor: threads of ours that they keep waiting would only make the others wait.
    fn threads_beside(&self, decoder: bool, encoder: bool) -> usize {
        let share = match (decoder, encoder) {
            _ if self.threads > 0 => return self.threads,
            (_, true) => 4,
            (true, false) => 2,
            (false, false) => 1,
        };
        Options::default().thread_count().div_ceil(share)
    }

    fn applied(&self, source: &dyn FrameSource, sink: &dyn FrameSink, magnifier: &Engine) -> Applied {
        Applied {
            input: source.info().clone(),
            decoder: source.decoder(),
            encoder: sink.encoder(),
            plan: magnifier.plan().clone(),
            device: magnifier.device(),
            no_card: magnifier.no_card(),
            memory: magnifier.memory(),
            strips: magnifier.strips(),
        }
    }

    /// What the user should know of the clip, apart from what its reader says.
    fn notes(&self, info: &StreamInfo) -> Vec<String> {
        let mut notes = Vec::new();
        if info.variable_rate {
            notes.push(format!(
                "the frame rate varies: frames keep their times, and the filter works with the mean of {:.4} frames/s",
                self.settings.capture_rate.unwrap_or(info.rate).as_f64()
            ));
        }
        notes
    }
}
