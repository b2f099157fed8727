//! The ideal filter on files and pipes: the clip is read twice, or more often where memory is short.
//!
//! It must know the number of frames. Where that is certain (YUV4MPEG2, raw files, a spool) it is taken; where a container
//! only claims it, it is taken too, and checked while the first pass reads every frame anyway; where nothing is known a
//! pass counts. A wrong claim costs a restart, never a wrong result.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use jnd_magnify::{Magnifier, Plan, Source};
use jnd_video::{Error as VideoError, Frame, FrameSink, FrameSource, ReadAhead, StreamInfo, pump};

use super::engine::Engine;
use super::{Applied, Event, MagnifyFile, Notes, Progress, Report, SPOOL_LIMIT, Spool, flow};
use crate::spool::{SpoolFile, Spooled};
use crate::{Error, Result};

/// Something whose frames can be read as often as needed.
enum Clip<'a> {
    /// A file, opened anew each time.
    File(&'a MagnifyFile),
    /// A pipe's frames.
    Spool { spool: Arc<Mutex<SpoolFile>>, info: StreamInfo, decoder: String },
}

impl Clip<'_> {
    fn open(&self) -> Result<Box<dyn FrameSource>> {
        match self {
            Self::File(job) => job.source(),
            Self::Spool { spool, info, decoder } => {
                Ok(Box::new(Spooled::new(spool.clone(), info, decoder.clone())))
            }
        }
    }
}

/// How a pass over a clip went.
struct Pass {
    frames: u64,
    /// The error that says that the input was cut off.
    truncated: Option<VideoError>,
}

/// What is known of a clip before it is projected.
struct Known<'a> {
    clip: Clip<'a>,
    frames: u64,
    /// Whether the number was counted, or follows from a file's size.
    certain: bool,
    /// A source that is open already.
    source: Option<Box<dyn FrameSource>>,
    /// The cut, where the input was cut off and is not read to its end again.
    cut: Option<VideoError>,
    /// Times of the frames, where a card keeps the frames themselves.
    times: Vec<i64>,
}

impl Known<'_> {
    fn source(&mut self) -> Result<Box<dyn FrameSource>> {
        self.source.take().map_or_else(|| self.clip.open(), Ok)
    }
}

/// Runs the job.
pub(super) fn run(job: &MagnifyFile, on_event: &mut dyn FnMut(Event<'_>)) -> Result<Report> {
    let started = Instant::now();
    let source = job.source()?;
    let info = source.info().clone();
    // What can be refused is refused before anything is read.
    check_band(job, &info)?;
    if job.spool == Spool::Refuse && !job.input.is_rereadable() {
        return Err(Error::CannotReread { path: job.input.to_string() });
    }
    let sink = job.sink(&info)?;
    let progress = Progress { pass: 0, passes: 2, done: 0, total: None };
    let mut run = Run { job, info, on_event, progress, notes: Notes::default() };
    run.tell(job.notes(&run.info).into_iter().chain(source.notes()).chain(sink.notes()));
    let mut known = run.measure(source)?;
    let (engine, applied) = run.project(&mut known, sink.as_ref())?;
    let pass = match engine {
        Engine::Processor { mut magnifier, .. } if magnifier.strips() > 1 => {
            run.render_strips(&mut known, &mut magnifier, sink)?
        }
        engine => run.render(&mut known, engine, sink)?,
    };
    run.same_length(known.frames, pass.frames)?;
    Ok(Report {
        applied,
        frames_in: pass.frames,
        frames_out: pass.frames,
        truncated: pass.truncated.or(known.cut).map(|e| e.to_string()),
        warnings: run.notes.warnings,
        elapsed: started.elapsed(),
    })
}

/// Checks what can be checked of a band without knowing the length of the clip.
fn check_band(job: &MagnifyFile, info: &StreamInfo) -> Result<()> {
    let mut source = Source::from(info);
    source.frames = None;
    match Plan::new(&job.settings, &source) {
        Err(jnd_magnify::Error::FramesUnknown) | Ok(_) => Ok(()),
        Err(source) => Err(Error::Clip { path: job.input.to_string(), source }),
    }
}

/// A job under way.
struct Run<'a, 'e> {
    job: &'a MagnifyFile,
    info: StreamInfo,
    on_event: &'e mut dyn FnMut(Event<'_>),
    progress: Progress,
    notes: Notes,
}

impl<'a> Run<'a, '_> {
    /// Starts the next pass.
    fn next_pass(&mut self, total: Option<u64>) {
        self.progress.pass += 1;
        self.progress.done = 0;
        self.progress.total = total;
    }

    fn tick(&mut self) {
        self.progress.done += 1;
        (self.on_event)(Event::Progress(self.progress));
    }

    fn tell(&mut self, notes: impl IntoIterator<Item = String>) {
        self.notes.tell(notes, self.on_event);
    }

    /// Two passes that disagree: somebody writes to the file.
    fn same_length(&self, before: u64, now: u64) -> Result<()> {
        if before == now {
            return Ok(());
        }
        Err(Error::Changed { path: self.job.input.to_string(), before, now })
    }

    /// Reads every frame on a thread of its own and gives it to `step`.
    fn pass(
        &mut self,
        source: Box<dyn FrameSource>,
        mut step: impl FnMut(&Frame) -> Result<()>,
    ) -> Result<Pass> {
        let options = self.job.pump_options();
        let mut frame = source.new_frame()?;
        let mut reader = ReadAhead::new(source, options.depth_for(&self.info) - 1, options.stop)?;
        let mut frames = 0;
        let truncated = loop {
            match reader.read(&mut frame) {
                Ok(true) => {}
                Ok(false) => break None,
                Err(e @ VideoError::Truncated { frames: 1.., .. }) => break Some(e),
                Err(e) => return Err(e.into()),
            }
            step(&frame)?;
            frames += 1;
            self.tick();
        };
        self.tell(reader.notes());
        self.notes.warn(reader.warnings(), self.on_event);
        Ok(Pass { frames, truncated })
    }

    /// Finds the number of frames. A pipe is read to its end and kept; a file is only counted where it says nothing, or
    /// something with which the job could not be done.
    fn measure(&mut self, source: Box<dyn FrameSource>) -> Result<Known<'a>> {
        let clip = Clip::File(self.job);
        if !self.job.input.is_rereadable() {
            return self.keep(source);
        }
        if let Some(frames) = self.info.frames {
            return Ok(Known {
                clip,
                frames,
                certain: true,
                source: Some(source),
                cut: None,
                times: Vec::new(),
            });
        }
        if let Some(frames) = source.frames_hint()
            && self.job.plan(&self.info, Some(frames)).is_ok()
        {
            return Ok(Known {
                clip,
                frames,
                certain: false,
                source: Some(source),
                cut: None,
                times: Vec::new(),
            });
        }
        self.progress.passes += 1;
        self.next_pass(None);
        let frames = self.pass(source, |_| Ok(()))?.frames;
        Ok(Known { clip, frames, certain: true, source: None, cut: None, times: Vec::new() })
    }

    /// Reads a pipe to its end.
    fn keep(&mut self, source: Box<dyn FrameSource>) -> Result<Known<'a>> {
        self.progress.passes += 1;
        self.next_pass(source.frames_hint());
        let mut spool = self.new_spool()?;
        let decoder = source.decoder();
        let job = self.job;
        let pass = self.pass(source, |frame| spool.push(frame).map_err(|e| job.at_input(e.into())))?;
        let clip = Clip::Spool { spool: Arc::new(Mutex::new(spool)), info: self.info.clone(), decoder };
        Ok(Known {
            clip,
            frames: pass.frames,
            certain: true,
            source: None,
            cut: pass.truncated,
            times: Vec::new(),
        })
    }

    fn new_spool(&self) -> Result<SpoolFile> {
        let (path, limit) = match &self.job.spool {
            Spool::Directory { path, limit } => (path.as_deref(), *limit),
            // Refusing concerns pipes; results in strips have to be put somewhere.
            Spool::Refuse => (None, SPOOL_LIMIT),
        };
        Ok(SpoolFile::new(&self.info, path, limit)?)
    }

    /// The first pass (of the first strip); again where the number of frames was wrong.
    fn project(&mut self, known: &mut Known<'_>, sink: &dyn FrameSink) -> Result<(Engine, Applied)> {
        loop {
            let frames = known.frames;
            let plan = self.job.plan(&self.info, Some(frames))?;
            let mut magnifier = Engine::new(self.job, plan, Some(self.job.memory), self.job.threads)?;
            let source = known.source()?;
            let applied = self.job.applied(source.as_ref(), sink, &magnifier);
            let strips = applied.strips as u32;
            // Beyond one strip every strip has its two passes, and one more writes the results.
            self.progress.passes = self.progress.pass + if strips > 1 { 2 * strips + 1 } else { 2 };
            (self.on_event)(Event::Applied(&applied));
            self.next_pass(Some(frames));
            let keeps = magnifier.keeps_frames();
            known.times.clear();
            let mut seen = 0;
            let pass = self.pass(source, |frame| {
                seen += 1;
                if keeps {
                    known.times.push(frame.timestamp);
                }
                // Beyond the expected number frames are only counted.
                if seen <= frames { magnifier.observe(&frame.view()) } else { Ok(()) }
            })?;
            if pass.frames == frames {
                magnifier.begin_render()?;
                known.cut = known.cut.take().or(pass.truncated);
                return Ok((magnifier, applied));
            }
            if known.certain {
                self.same_length(frames, pass.frames)?;
            }
            let note = format!(
                "{} holds {} frames and not {frames}, as it claims: starting again",
                self.job.input, pass.frames
            );
            self.tell([note]);
            (known.frames, known.certain) = (pass.frames, true);
        }
    }

    /// The second pass, straight into the output. Frames that a card has kept are not read again.
    fn render(&mut self, known: &mut Known<'_>, engine: Engine, sink: Box<dyn FrameSink>) -> Result<Pass> {
        self.next_pass(Some(known.frames));
        let (job, info) = (self.job, self.info.clone());
        let pumped = match engine {
            Engine::Card { mut session, .. } if session.keeps_frames() => {
                let options = job.pump_options();
                flow::replay(&known.times, sink, &info, &options, &mut session, &mut || self.tick())?
            }
            engine => engine.run(job, &info, known.source()?, sink, &mut || self.tick())?,
        };
        self.tell(pumped.notes);
        self.notes.warn(pumped.warnings, self.on_event);
        Ok(Pass { frames: pumped.frames, truncated: pumped.truncated })
    }

    /// The second pass of every strip, with the first ones between them, into a file from which the output is written.
    fn render_strips(
        &mut self,
        known: &mut Known<'_>,
        magnifier: &mut Magnifier,
        sink: Box<dyn FrameSink>,
    ) -> Result<Pass> {
        let mut spool = self.new_spool()?;
        spool.reserve(known.frames).map_err(|e| self.job.at_input(e.into()))?;
        let mut out = Frame::new(self.info.format, self.info.width, self.info.height)?;
        let planes = self.info.format.plane_count();
        let truncated = loop {
            self.next_pass(Some(known.frames));
            let rows: Vec<_> = (0..planes).map(|p| magnifier.rows(p)).collect();
            let mut i = 0;
            let source = known.source()?;
            let pass = self.pass(source, |frame| {
                magnifier.push(&frame.view(), &mut out.view_mut())?;
                out.timestamp = frame.timestamp;
                spool.write_rows(i, &out, &rows)?;
                i += 1;
                Ok(())
            })?;
            self.same_length(known.frames, pass.frames)?;
            if !magnifier.next_strip()? {
                break pass.truncated;
            }
            self.next_pass(Some(known.frames));
            let source = known.source()?;
            let pass = self.pass(source, |frame| Ok(magnifier.observe(&frame.view())?))?;
            self.same_length(known.frames, pass.frames)?;
            magnifier.begin_render()?;
        };
        self.next_pass(Some(known.frames));
        let (options, info) = (self.job.pump_options(), self.info.clone());
        let source = Spooled::new(Arc::new(Mutex::new(spool)), &info, String::new());
        let copy = |frame: &Frame, out: &mut Frame| -> Result<()> {
            out.bytes_mut().copy_from_slice(frame.bytes());
            Ok(())
        };
        let pumped = pump(Box::new(source), sink, &info, &options, copy, &mut || self.tick())?;
        self.tell(pumped.notes);
        self.notes.warn(pumped.warnings, self.on_event);
        Ok(Pass { frames: pumped.frames, truncated })
    }
}
