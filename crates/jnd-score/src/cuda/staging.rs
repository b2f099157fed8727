//! Pinned memory in which pairs wait for their copy to the card.

use jnd_cuda::{Context, CopyJob, CopyPool, Event, PinnedBuffer, Transfer};
use jnd_video::{FrameRef, Layout, Packing, Plane, Planes};

use super::places::{PlacedPlane, Places};
use crate::Result;

/// Bytes that one copy to the card should have: much below this its start costs more than its bytes.
const COPY_BYTES: usize = 8 << 20;

/// Groups of pairs: one is filled, one or more are on their way.
const GROUPS: usize = 4;

/// Pairs of frames below this many bytes are copied by the calling thread alone.
const POOL_BYTES: usize = 1 << 20;

/// Threads that fill the staging memory.
const COPY_THREADS: usize = 8;

/// Pairs in a group, for pairs of so many bytes.
pub(super) fn group_pairs(pair_bytes: usize, batch: usize) -> usize {
    (COPY_BYTES / pair_bytes.max(1)).clamp(1, batch)
}

/// Bytes of pinned memory for pairs of so many bytes.
pub(super) fn pinned_bytes(pair_bytes: usize, batch: usize) -> u64 {
    (GROUPS * group_pairs(pair_bytes, batch)) as u64 * pair_bytes as u64
}

/// The ring of groups.
pub(super) struct Staging {
    groups: Vec<(PinnedBuffer, Event)>,
    pool: CopyPool,
    pair_bytes: usize,
    /// Pairs of a group.
    pub(super) pairs: usize,
    /// Index of the group being filled, counted from the start.
    group: usize,
    /// Pairs in it.
    pub(super) filled: usize,
    /// Whether the group's memory is free again.
    ready: bool,
}

impl Staging {
    pub(super) fn new(context: &Context, pair_bytes: usize, batch: usize) -> Result<Self> {
        let pairs = group_pairs(pair_bytes, batch);
        let groups = (0..GROUPS)
            .map(|_| {
                let buffer = PinnedBuffer::new(context, pairs * pair_bytes, Transfer::Upload)?;
                Ok((buffer, Event::new(context)?))
            })
            .collect::<Result<Vec<_>>>()?;
        let pool = CopyPool::new(CopyPool::default_threads().min(COPY_THREADS));
        Ok(Self { groups, pool, pair_bytes, pairs, group: 0, filled: 0, ready: true })
    }

    /// Memory of the next pair; waits until an earlier copy out of it is done.
    pub(super) fn next(&mut self) -> Result<&mut [u8]> {
        let (buffer, copied) = &mut self.groups[self.group % GROUPS];
        if !self.ready {
            copied.synchronize()?;
            self.ready = true;
        }
        let at = self.filled * self.pair_bytes;
        Ok(&mut buffer.as_mut_slice()[at..at + self.pair_bytes])
    }

    /// The group being filled and the event to record after the copy out of it.
    pub(super) fn current(&self) -> (&PinnedBuffer, &Event) {
        let (buffer, event) = &self.groups[self.group % GROUPS];
        (buffer, event)
    }

    /// Goes on to the next group, after the event was recorded.
    pub(super) fn advance(&mut self) {
        self.group += 1;
        self.filled = 0;
        self.ready = self.group < GROUPS;
    }

    /// Fills the next pair's memory with the planes that are needed.
    pub(super) fn fill(&mut self, places: &Places, frames: [&FrameRef<'_>; 2]) -> Result<()> {
        let pooled = self.pair_bytes >= POOL_BYTES;
        let to = self.next()?.as_mut_ptr();
        let mut jobs = Vec::new();
        for (planes, frame) in places.planes.iter().zip(frames) {
            for (i, plane) in planes.iter().enumerate() {
                let Some(plane) = plane else { continue };
                let format = frame.format();
                let interleaved = format.layout() == Layout::Nv12 && i > 0;
                let shift = if format.packing() == Packing::High { format.shift() } else { 0 };
                match frame.planes() {
                    Planes::U8(p) if interleaved => {
                        // SAFETY: `to` has room for the whole pair.
                        unsafe { convert_rows(&p[1], to, plane, 2, i - 1, |v| v) };
                    }
                    Planes::U16(p) if interleaved => {
                        // SAFETY: as above.
                        unsafe { convert_rows(&p[1], to, plane, 2, i - 1, |v| v >> shift) };
                    }
                    Planes::U16(p) if shift > 0 => {
                        // SAFETY: as above.
                        unsafe { convert_rows(&p[i], to, plane, 1, 0, |v| v >> shift) };
                    }
                    Planes::U8(p) => jobs.push(copy_job(&p[i], to, plane)),
                    Planes::U16(p) => jobs.push(copy_job(&p[i], to, plane)),
                }
            }
        }
        if pooled {
            // SAFETY: every job stays inside its plane and inside the pair's memory, which nobody else touches.
            unsafe { self.pool.run(&jobs) };
        } else {
            for j in &jobs {
                for y in 0..j.rows {
                    // SAFETY: as above, row by row.
                    unsafe {
                        std::ptr::copy_nonoverlapping(
                            j.src.add(y * j.src_pitch),
                            j.dst.add(y * j.dst_pitch),
                            j.row_bytes,
                        );
                    }
                }
            }
        }
        Ok(())
    }
}

/// The copy of the scored part of a plane.
fn copy_job<T>(from: &Plane<'_, T>, to: *mut u8, plane: &PlacedPlane) -> CopyJob {
    CopyJob {
        dst: to.wrapping_add(plane.offset),
        dst_pitch: plane.pitch,
        src: from.samples().as_ptr().cast(),
        src_pitch: from.stride() * size_of::<T>(),
        row_bytes: plane.width * size_of::<T>(),
        rows: plane.height,
    }
}

/// Converts the scored part of a plane, of which every `step`th sample from `first` counts.
///
/// # Safety
/// `to` is the memory of a pair, aligned for `T`, in which `plane` lies.
unsafe fn convert_rows<T: Copy>(
    from: &Plane<'_, T>,
    to: *mut u8,
    plane: &PlacedPlane,
    step: usize,
    first: usize,
    convert: impl Fn(T) -> T,
) {
    for y in 0..plane.height {
        // SAFETY: the caller's promise; pitches and offsets are multiples of 16.
        let row = unsafe {
            std::slice::from_raw_parts_mut(to.add(plane.offset + y * plane.pitch).cast::<T>(), plane.width)
        };
        for (t, f) in row.iter_mut().zip(from.row(y).iter().skip(first).step_by(step)) {
            *t = convert(*f);
        }
    }
}

/// Pinned memory for a pair of frames.
#[derive(Debug)]
pub struct Slot<'a> {
    pub(super) bytes: &'a mut [u8],
    pub(super) places: &'a Places,
}

impl Slot<'_> {
    /// Bytes of row `y` of a plane (side 0 is the reference), samples in the low bits; nothing where no feature reads
    /// the plane or there is no such row.
    pub fn row_mut(&mut self, side: usize, plane: usize, y: usize) -> Option<&mut [u8]> {
        let p = (*self.places.planes.get(side)?.get(plane)?)?;
        if y >= p.height {
            return None;
        }
        let at = p.offset + y * p.pitch;
        self.bytes.get_mut(at..at + p.width * self.places.sample)
    }

    /// Columns and rows of a plane, chroma rounded down; nothing where no feature reads it.
    pub fn size(&self, side: usize, plane: usize) -> Option<(usize, usize)> {
        let p = (*self.places.planes.get(side)?.get(plane)?)?;
        Some((p.width, p.height))
    }
}
