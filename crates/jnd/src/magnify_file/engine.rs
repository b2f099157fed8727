//! Where the arithmetic runs: on the processor or on a card, with the same result.

use jnd_cuda::{Context, Device, DeviceChoice, Placed};
use jnd_magnify::cuda::Session;
use jnd_magnify::{Magnifier, Options, Plan};
use jnd_video::{Frame, FrameRef, FrameSink, FrameSource, Pumped, StreamInfo, pump};

use super::{MEMORY_LIMIT, MagnifyFile, flow};
use crate::Result;

/// A magnifier on some device.
pub(super) enum Engine {
    Processor {
        magnifier: Box<Magnifier>,
        /// Why it is not a card, where that was left to us.
        no_card: Option<jnd_magnify::Error>,
    },
    Card {
        session: Box<Session>,
        /// The device, in words.
        name: String,
    },
}

impl Engine {
    /// The magnifier of a job. `memory` and `threads` (0 for one on each) are the processor's.
    pub(super) fn new(job: &MagnifyFile, plan: Plan, memory: Option<u64>, threads: usize) -> Result<Self> {
        // Where nothing is magnified there is nothing for a card to do.
        let device = if plan.is_identity() { DeviceChoice::Cpu } else { job.device };
        let placed = device.place(|card| Self::card(job, &plan, card));
        let no_card = match placed.map_err(|e| job.at_input(e))? {
            Placed::Card(engine) => return Ok(engine),
            Placed::Processor(why) => why,
        };
        let magnifier = Magnifier::new(plan, &Options { threads, memory, ..Options::default() })
            .map_err(|e| job.at_input(e))?;
        let magnifier = Box::new(magnifier);
        Ok(Self::Processor { magnifier, no_card })
    }

    fn card(job: &MagnifyFile, plan: &Plan, device: Device) -> jnd_magnify::Result<Self> {
        let options = jnd_magnify::cuda::Options {
            device,
            // The default limit is meant for the machine's own memory; a card's is its own.
            memory: (job.memory != MEMORY_LIMIT).then_some(job.memory),
            threads: job.threads,
            ..Default::default()
        };
        let context = match &job.context {
            Some(open) if open.info().device == device => open.clone(),
            _ => Context::open(device)?,
        };
        let session = Box::new(Session::with_context(plan, &context, &options)?);
        Ok(Self::Card { session, name: format!("{device} ({})", context.info().name) })
    }

    pub(super) fn plan(&self) -> &Plan {
        match self {
            Self::Processor { magnifier, .. } => magnifier.plan(),
            Self::Card { session, .. } => session.plan(),
        }
    }

    /// The device, in words.
    pub(super) fn device(&self) -> String {
        match self {
            Self::Processor { magnifier, no_card } => {
                let (threads, simd) = (magnifier.threads(), jnd_video::simd::Level::get());
                let s = if threads == 1 { "" } else { "s" };
                let why = match no_card {
                    Some(jnd_magnify::Error::Cuda(e)) => format!(" ({})", e.short()),
                    Some(_) => " (the card does not take this job)".to_owned(),
                    None => String::new(),
                };
                format!("processor, {threads} thread{s}, vector instructions: {simd}{why}")
            }
            Self::Card { name, .. } => name.clone(),
        }
    }

    /// Why it is not a card, where that was left to us.
    pub(super) fn no_card(&self) -> Option<String> {
        match self {
            Self::Processor { no_card, .. } => no_card.as_ref().map(ToString::to_string),
            Self::Card { .. } => None,
        }
    }

    pub(super) fn memory(&self) -> u64 {
        match self {
            Self::Processor { magnifier, .. } => magnifier.memory(),
            Self::Card { session, .. } => session.memory(),
        }
    }

    /// In how many strips the picture is worked on.
    pub(super) fn strips(&self) -> usize {
        match self {
            Self::Processor { magnifier, .. } => magnifier.strips(),
            Self::Card { .. } => 1,
        }
    }

    /// Whether a second pass needs no frames but their times.
    pub(super) fn keeps_frames(&self) -> bool {
        matches!(self, Self::Card { session, .. } if session.keeps_frames())
    }

    /// A frame of the first pass.
    pub(super) fn observe(&mut self, frame: &FrameRef<'_>) -> Result<()> {
        Ok(match self {
            Self::Processor { magnifier, .. } => magnifier.observe(frame),
            Self::Card { session, .. } => session.feed(frame),
        }?)
    }

    pub(super) fn begin_render(&mut self) -> Result<()> {
        Ok(match self {
            Self::Processor { magnifier, .. } => magnifier.begin_render(),
            Self::Card { session, .. } => session.begin_render(),
        }?)
    }

    /// Magnifies every frame of `source` into `sink`; calls `tick` with every frame.
    pub(super) fn run(
        self,
        job: &MagnifyFile,
        info: &StreamInfo,
        source: Box<dyn FrameSource>,
        sink: Box<dyn FrameSink>,
        tick: &mut dyn FnMut(),
    ) -> Result<Pumped> {
        let options = job.pump_options();
        match self {
            Self::Processor { mut magnifier, .. } => {
                let step = move |frame: &Frame, out: &mut Frame| -> Result<()> {
                    Ok(magnifier.push(&frame.view(), &mut out.view_mut())?)
                };
                pump(source, sink, info, &options, step, tick)
            }
            Self::Card { mut session, .. } => flow::stream(source, sink, info, &options, &mut session, tick),
        }
    }
}
