//! Where everything lies on the card: levels, changes, states, projections. All of it is known from the plan and the
//! chunk length.

use jnd_cuda::{MemoryPlan, Part};

use super::args::Planes;
use crate::plan::{Chain, Enlarge, Level, Mix, Plan, Precision, Step, Stored, Temporal};

/// Samples of the largest level that one block makes in shared memory, with all coarser ones.
pub(crate) const TAIL: usize = 2048;
/// Frames of a row of (cos, sin) pairs are a multiple of this: no kernel takes more at a time.
pub(crate) const BLOCK: usize = 32;

/// Type of a level's values on the card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    U8,
    U16,
    U32,
    F32,
}

impl Kind {
    pub(crate) fn bytes(self) -> usize {
        match self {
            Self::U8 => 1,
            Self::U16 => 2,
            Self::U32 | Self::F32 => 4,
        }
    }

    pub(crate) fn of(stored: Stored, sample_bytes: usize) -> Self {
        match (stored, sample_bytes) {
            (Stored::Samples, 1) => Self::U8,
            (Stored::Samples, _) | (Stored::Integer { .. }, 1) => Self::U16,
            (Stored::Integer { .. }, _) => Self::U32,
            (Stored::Float, _) => Self::F32,
        }
    }
}

/// Planes of a chunk of frames in the arena.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Store {
    pub(crate) part: Part,
    pub(crate) kind: Kind,
    pub(crate) planes: usize,
    pub(crate) shape: Planes,
}

impl Store {
    fn new(
        memory: &mut MemoryPlan,
        name: &'static str,
        kind: Kind,
        width: usize,
        height: usize,
        planes: usize,
        chunk: usize,
    ) -> Self {
        let pitch = width.next_multiple_of(4);
        let plane = pitch * height;
        let frame = plane * planes;
        let part = memory.add(name, (frame * chunk * kind.bytes()) as u64);
        let shape = Planes {
            ptr: 0,
            frame: frame as i64,
            plane: plane as i64,
            pitch: pitch as i32,
            width: width as i32,
            height: height as i32,
            step: 1,
        };
        Self { part, kind, planes, shape }
    }
}

/// The temporal filter's memory at one level.
#[derive(Debug, Clone, Copy)]
pub(crate) struct State {
    /// The frame before, or the first frame.
    pub(crate) last: Part,
    /// Slow states, or all projections on cosines.
    pub(crate) a: Part,
    /// Fast states, or all projections on sines.
    pub(crate) b: Part,
    /// Values of a row: the level's width, filled up to a multiple of 4 by the ideal filter.
    pub(crate) pitch: usize,
    /// Values of a plane.
    pub(crate) plane: usize,
    /// Planes.
    pub(crate) planes: usize,
    /// All of it is there twice: a kernel reads what others wrote at the end of the chunk before, and writes the other.
    pub(crate) twice: bool,
}

/// How a chain's finest filtered level becomes a frame without its change in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fused {
    /// Level 1, which is enlarged to the frame.
    Level,
    /// The frame itself.
    Frame,
}

/// What the card keeps of one level.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LevelMemory {
    /// The level itself, where it is stored.
    pub(crate) level: Option<Store>,
    /// What the filter gives, where it is kept apart from the change (in the tail).
    pub(crate) filtered: Option<Store>,
    /// The change.
    pub(crate) change: Option<Store>,
    pub(crate) state: Option<State>,
}

/// What the card keeps of a chain.
#[derive(Debug, Clone)]
pub(crate) struct ChainMemory {
    pub(crate) levels: Vec<LevelMemory>,
    /// First level of the tail; the number of levels where there is none.
    pub(crate) tail: usize,
    pub(crate) fused: Option<Fused>,
    /// Three integer planes from which luma is mixed.
    pub(crate) integers: Option<Store>,
    pub(crate) across: Option<Part>,
    pub(crate) down: Option<Part>,
}

/// Tables of the ideal filter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IdealMemory {
    pub(crate) cos: Part,
    pub(crate) sin: Part,
    pub(crate) bins: Part,
    pub(crate) pairs: Part,
    /// Frames of a row of pairs.
    pub(crate) row: usize,
}

/// Everything on the card but the frames.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    /// What is worked on together, see [`worked_on`].
    pub(crate) work: Vec<Chain>,
    pub(crate) chains: Vec<ChainMemory>,
    pub(crate) ideal: Option<IdealMemory>,
}

pub(crate) fn real_bytes(plan: &Plan) -> usize {
    match plan.precision() {
        Precision::F32 => 4,
        Precision::F64 => 8,
    }
}

/// Whether level 1 is mixed to luma (level 0 where it is the only one).
pub(crate) fn luma_level(chain: &Chain) -> Option<usize> {
    matches!(chain.mix, Mix::Luma(_)).then_some(usize::from(chain.levels.len() > 1))
}

fn planes(level: &Level) -> usize {
    level.parts * level.channels
}

/// The plan's chains, of which those that differ in nothing but their plane (Cb and Cr) are one with two parts: half the
/// launches, each of twice the size.
pub(super) fn worked_on(plan: &Plan) -> Vec<Chain> {
    let mut work: Vec<Chain> = Vec::new();
    for chain in plan.chains() {
        match work.last_mut() {
            Some(last)
                if last.mix == Mix::None
                    && last.levels == chain.levels
                    && last.first == chain.first
                    && last.planes[0] > 0
                    && last.levels.iter().all(|l| l.parts == 1) =>
            {
                last.planes.extend(&chain.planes);
            }
            _ => work.push(chain.clone()),
        }
    }
    for chain in work.iter_mut().filter(|c| c.mix == Mix::None && c.planes.len() == 2) {
        chain.levels.iter_mut().for_each(|l| l.parts = 2);
    }
    work
}

impl Layout {
    /// Adds everything a plan needs for chunks of `chunk` frames.
    pub(crate) fn new(plan: &Plan, chunk: usize, memory: &mut MemoryPlan) -> Self {
        // Kernels read one value to either side of a level and do not use it.
        memory.add("margin", 256);
        let work = worked_on(plan);
        let chains = work.iter().map(|c| chain_memory(plan, c, chunk, memory)).collect();
        let ideal = match plan.temporal() {
            Temporal::Causal { .. } => None,
            Temporal::Projection { frames, bins, .. } => {
                let row = chunk.next_multiple_of(BLOCK);
                Some(IdealMemory {
                    cos: memory.add("tables", *frames as u64 * 8),
                    sin: memory.add("tables", *frames as u64 * 8),
                    bins: memory.add("tables", bins.len() as u64 * 8),
                    pairs: memory.add("tables", (bins.len() * row * 2 * real_bytes(plan)) as u64),
                    row,
                })
            }
        };
        memory.add("margin", 256);
        Self { work, chains, ideal }
    }
}

/// Whether one kernel filters, enlarges and renders. The others, for planar RGB, luma of RGB, 4:2:2 chroma and f64 states, do
/// it step by step.
pub(super) fn fused(plan: &Plan, chain: &Chain) -> Option<Fused> {
    if plan.needs_two_passes()
        || plan.precision() == Precision::F64
        || chain.enlarge != Enlarge::Pyramid
        || chain.planes.len() > 2
    {
        return None;
    }
    let (frame, next) = (chain.levels.first()?, chain.levels.get(1));
    let full = next.is_none_or(|l| l.step == Step::Full);
    if frame.filtered() {
        return (full && frame.channels <= 2 && chain.mix == Mix::None).then_some(Fused::Frame);
    }
    let level = next.is_some_and(|l| l.filtered() && l.step == Step::Full && l.stored != Stored::Float);
    let whole = frame.channels == 1 || (frame.channels == 3 && frame.parts == 1);
    (level && whole).then_some(Fused::Level)
}

fn chain_memory(plan: &Plan, chain: &Chain, chunk: usize, memory: &mut MemoryPlan) -> ChainMemory {
    let sample = plan.source().format.bytes_per_sample();
    let last = chain.last();
    // The tail begins at the first level that fits into shared memory and is not made from the frame itself.
    let tail = (2..chain.levels.len())
        .find(|&k| chain.levels[k].width * chain.levels[k].height <= TAIL)
        .unwrap_or(chain.levels.len());
    let fused = fused(plan, chain);
    let finest = usize::from(chain.levels.first().is_some_and(|l| !l.filtered()));
    let mut levels = Vec::new();
    for (k, l) in chain.levels.iter().enumerate() {
        let kind = Kind::of(l.stored, sample);
        let mut store = |name, kind| Store::new(memory, name, kind, l.width, l.height, planes(l), chunk);
        let in_frame = k == 0 && kind != Kind::F32;
        let level = (!in_frame && (k < tail || l.filtered())).then(|| store("levels", kind));
        let has_change = match chain.enlarge {
            // From level 1 on (0 where it is filtered) and up to the first of the tail.
            Enlarge::Pyramid if fused.is_some() && k <= finest => false,
            Enlarge::Pyramid => (k > 0 || l.filtered()) && k <= tail,
            Enlarge::Bilinear => k == last,
        };
        // A level of floats is not needed any more where its change is written.
        let change = match (has_change, level) {
            (false, _) => None,
            (true, Some(s)) if s.kind == Kind::F32 && (k < tail || k == last) => Some(s),
            (true, _) => Some(store("changes", Kind::F32)),
        };
        let apart =
            chain.enlarge == Enlarge::Pyramid && k >= tail && k != tail.min(last) || (k == tail && k < last);
        let filtered = (l.filtered() && apart).then(|| store("changes", Kind::F32));
        let state = l.filtered().then(|| {
            let (pitch, values) = match plan.temporal() {
                Temporal::Causal { .. } => (l.width, 1),
                Temporal::Projection { bins, .. } => (l.width.next_multiple_of(4), bins.len()),
            };
            let (n, each) = (pitch * l.height, real_bytes(plan));
            let twice = fused == Some(Fused::Level) && k == finest;
            let total = (n * planes(l) * if twice { 2 } else { 1 }) as u64;
            State {
                last: memory.add("filter", total * 4),
                a: memory.add("filter", total * (values * each) as u64),
                b: memory.add("filter", total * (values * each) as u64),
                pitch,
                plane: n,
                planes: planes(l),
                twice,
            }
        });
        levels.push(LevelMemory { level, filtered, change, state });
    }
    let integers = (luma_level(chain) == Some(1)).then(|| {
        let l = &chain.levels[1];
        let kind = Kind::of(Stored::Integer { unit: 256 }, sample);
        Store::new(memory, "levels", kind, l.width, l.height, 3, chunk)
    });
    let tap = |n: usize, from: usize, to: usize, memory: &mut MemoryPlan| {
        (chain.enlarge == Enlarge::Bilinear && from != to).then(|| memory.add("tables", n as u64 * 16))
    };
    let (across, down) = match (chain.levels.first(), chain.levels.last()) {
        (Some(a), Some(b)) => {
            (tap(a.width, b.width, a.width, memory), tap(a.height, b.height, a.height, memory))
        }
        _ => (None, None),
    };
    ChainMemory { levels, tail, fused, integers, across, down }
}
