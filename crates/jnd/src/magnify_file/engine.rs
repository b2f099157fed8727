//! Where the arithmetic runs: on the processor or on a card, with the same result.

use std::ops::Range;

use jnd_cuda::{Context, Device, DeviceChoice, Placed};
use jnd_magnify::cuda::Session;
use jnd_magnify::{Magnifier, Plan};
use jnd_video::{ChromaRounding, FrameMut, FrameRef};

use super::{MEMORY_LIMIT, MagnifyFile};
use crate::Result;

/// A magnifier on some device.
pub(super) enum Engine {
    Processor {
        magnifier: Box<Magnifier>,
        /// Why it is not a card, where that was left to us.
        no_card: Option<String>,
    },
    Card {
        session: Box<Session>,
        /// The device, in words.
        name: String,
    },
}

impl Engine {
    /// The magnifier of a job. `memory` is the processor's limit.
    pub(super) fn new(job: &MagnifyFile, plan: Plan, memory: Option<u64>) -> Result<Self> {
        // Where nothing is magnified there is nothing for a card to do.
        let device = if plan.is_identity() { DeviceChoice::Cpu } else { job.device };
        let no_card = match device.place(|card| Self::card(job, &plan, card))? {
            Placed::Card(engine) => return Ok(engine),
            Placed::Processor(why) => why.map(|e| e.to_string()),
        };
        let magnifier = Magnifier::new(plan, &job.options(memory)).map_err(|e| job.at_input(e))?;
        let magnifier = Box::new(magnifier);
        Ok(Self::Processor { magnifier, no_card })
    }

    fn card(job: &MagnifyFile, plan: &Plan, device: Device) -> Result<Self> {
        let options = jnd_magnify::cuda::Options {
            device,
            // The default limit is meant for the machine's own memory; a card's is its own.
            memory: (job.memory != MEMORY_LIMIT).then_some(job.memory),
            threads: job.threads,
            // Frames come one at a time and are wanted back at once; only the first pass of the ideal filter can gather.
            chunk: usize::from(plan.settings().filter.is_causal()),
            ..Default::default()
        };
        let context = Context::open(device).map_err(jnd_magnify::Error::from)?;
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
                let why = no_card.as_ref().map_or(String::new(), |e| format!(" ({e})"));
                format!("processor, {threads} threads, vector instructions: {simd}{why}")
            }
            Self::Card { name, .. } => name.clone(),
        }
    }

    pub(super) fn memory(&self) -> u64 {
        match self {
            Self::Processor { magnifier, .. } => magnifier.memory(),
            Self::Card { session, .. } => session.memory(),
        }
    }

    pub(super) fn strips(&self) -> usize {
        match self {
            Self::Processor { magnifier, .. } => magnifier.strips(),
            Self::Card { .. } => 1,
        }
    }

    pub(super) fn rows(&self, plane: usize) -> Range<usize> {
        match self {
            Self::Processor { magnifier, .. } => magnifier.rows(plane),
            Self::Card { session, .. } => {
                let s = session.plan().source();
                0..s.format.plane_size(plane, s.width, s.height, ChromaRounding::Ceil).height
            }
        }
    }

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

    pub(super) fn push(&mut self, frame: &FrameRef<'_>, out: &mut FrameMut<'_>) -> Result<()> {
        Ok(match self {
            Self::Processor { magnifier, .. } => magnifier.push(frame, out),
            Self::Card { session, .. } => session.push(frame, out),
        }?)
    }

    pub(super) fn next_strip(&mut self) -> Result<bool> {
        Ok(match self {
            Self::Processor { magnifier, .. } => magnifier.next_strip()?,
            Self::Card { .. } => false,
        })
    }
}
