//! Who computes which rows. A picture is cut into bands of output rows, one for each thread; a band computes for itself
//! every finer row it needs, those of its neighbours' edges too, so that bands share nothing but the coarse levels,
//! which are computed once for the whole picture.

use std::ops::Range;

use crate::plan::{Chain, Enlarge, Plan, Stored};

/// Coarse levels begin at this pyramid level: from here on a level has at most a 64th of the picture's samples.
const COARSE: usize = 3;
/// Coarse levels that each band enlarges for itself, where they are not filtered: enlarging needs but a row more at
/// each edge, and of the coarse levels these have the most samples.
const ENLARGED: usize = 2;
/// Bands begin at multiples of this many rows, so that the rows of halved planes begin at whole ones.
const UNIT: usize = 8;
/// Rows kept of a level that only the next one reads: five, and some to spare.
pub(crate) const RING: usize = 8;
/// Rows kept of enlarged changes: three, and one to spare.
pub(crate) const CHANGE_RING: usize = 4;

/// Rows of one level that a band, or the coarse stage, holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Span {
    /// Rows of the level's samples.
    pub(crate) rows: Range<usize>,
    /// How many of them are kept at a time.
    pub(crate) kept: usize,
    /// Rows whose change is computed.
    pub(crate) changes: Range<usize>,
    /// How many of those are kept at a time.
    pub(crate) changes_kept: usize,
}

/// A band's share of a chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BandLayout {
    /// Rows of the frame's planes that it writes.
    pub(crate) out: Range<usize>,
    /// First level of the coarse stage: the band makes the samples of those before.
    pub(crate) coarse: usize,
    /// Rows of the first coarse level that it computes.
    pub(crate) handoff: Range<usize>,
    /// Its rows of the finer levels, and of the coarse ones that it enlarges.
    pub(crate) spans: Vec<Span>,
}

/// A chain, divided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChainLayout {
    /// First level of the coarse stage; the number of levels where there is none.
    pub(crate) coarse: usize,
    /// First level whose changes the coarse stage computes: bands enlarge those before.
    pub(crate) enlarged: usize,
    /// The bands.
    pub(crate) bands: Vec<BandLayout>,
    /// Rows of the coarse levels: all of them.
    pub(crate) spans: Vec<Span>,
}

/// Part `i` of `n` of some rows, at whole units.
fn part(rows: &Range<usize>, i: usize, n: usize) -> Range<usize> {
    let units = (rows.end - rows.start).div_ceil(UNIT);
    let at = |i: usize| (rows.start + i * units / n * UNIT).min(rows.end);
    at(i)..at(i + 1)
}

/// The luma rows of a strip.
pub(crate) fn strip(height: usize, i: usize, n: usize) -> Range<usize> {
    part(&(0..height), i, n)
}

/// The most strips a picture can be cut into.
pub(crate) fn most_strips(height: usize) -> usize {
    height.div_ceil(UNIT)
}

/// Divides every chain of a plan: output rows are those of the strip, cut into `bands`.
pub(crate) fn divide(plan: &Plan, strip: &Range<usize>, bands: usize) -> Vec<ChainLayout> {
    plan.chains().iter().map(|c| divide_chain(plan, c, strip, bands)).collect()
}

fn divide_chain(plan: &Plan, chain: &Chain, strip: &Range<usize>, bands: usize) -> ChainLayout {
    let height = plan.source().height;
    let format = plan.source().format;
    // 4:2:2 chroma is pyramid level 1 only after its vertical step, and has the luma's rows.
    let halved = chain.planes[0] > 0 && format.chroma_shift().1 == 1;
    let plane_height = format
        .plane_size(chain.planes[0], plan.source().width, height, jnd_video::ChromaRounding::Ceil)
        .height;
    let shift = u32::from(halved);
    let rows = |luma: Range<usize>, shift: u32, n: usize| {
        let end = if luma.end >= height { n } else { luma.end >> shift };
        (luma.start >> shift).min(end)..end
    };
    let levels = &chain.levels;
    // The level whose changes are enlarged is coarse, too: it is shared by all bands.
    let coarse = if chain.last() == 0 { levels.len() } else { chain.last().min(COARSE - shift as usize) };
    let mut enlarged = coarse;
    if chain.enlarge == Enlarge::Pyramid {
        let plain = levels[coarse..].iter().take_while(|l| !l.filtered());
        enlarged += plain.take(ENLARGED).count();
    }
    let bands = (0..bands)
        .map(|i| {
            let luma = part(strip, i, bands);
            let out = rows(luma, shift, plane_height);
            let handoff = levels
                .get(coarse)
                .map_or(0..0, |l| rows(part(&(0..height), i, bands), shift + coarse as u32, l.height));
            let spans = band_spans(chain, coarse, enlarged, &out, &handoff);
            BandLayout { out, coarse, handoff, spans }
        })
        .collect();
    let spans = levels[coarse..]
        .iter()
        .enumerate()
        .map(|(i, l)| {
            // Bilinear enlargement needs the changes of the last level only.
            let wanted = l.filtered() || chain.enlarge == Enlarge::Pyramid && coarse + i >= enlarged;
            let changes = if wanted { l.height } else { 0 };
            Span { rows: 0..l.height, kept: l.height, changes: 0..changes, changes_kept: changes }
        })
        .collect();
    ChainLayout { coarse, enlarged, bands, spans }
}

fn band_spans(
    chain: &Chain,
    coarse: usize,
    enlarged: usize,
    out: &Range<usize>,
    handoff: &Range<usize>,
) -> Vec<Span> {
    let levels = &chain.levels;
    let mut changes = out.clone();
    let mut spans: Vec<Span> = Vec::new();
    for (k, l) in levels[..enlarged].iter().enumerate() {
        if k > 0 {
            changes = match chain.enlarge {
                Enlarge::Pyramid => enlarged_from(&changes, l.height),
                Enlarge::Bilinear => 0..0,
            };
        }
        spans.push(Span { rows: 0..0, kept: 0, changes: changes.clone(), changes_kept: CHANGE_RING });
    }
    let mut wanted = handoff.clone();
    for (k, l) in levels[..coarse].iter().enumerate().rev() {
        let filtered = if l.filtered() { spans[k].changes.clone() } else { 0..0 };
        let from = halved_from(&wanted, l.height);
        // The frame's own samples are read where they are; they are kept only to be filtered.
        let rows = if k == 0 { filtered.clone() } else { hull(from, filtered.clone()) };
        let count = rows.end - rows.start;
        spans[k].kept = if l.filtered() { count } else { RING.min(count) };
        spans[k].rows = rows.clone();
        wanted = rows;
    }
    spans
}

/// Rows of the coarser level that `rows` are enlarged from.
fn enlarged_from(rows: &Range<usize>, height: usize) -> Range<usize> {
    if rows.is_empty() {
        return 0..0;
    }
    (rows.start / 2).saturating_sub(1)..((rows.end - 1) / 2 + 2).min(height)
}

/// Rows of the finer level that `rows` are halved from.
fn halved_from(rows: &Range<usize>, height: usize) -> Range<usize> {
    if rows.is_empty() {
        return 0..0;
    }
    // Reflection at the bottom reaches at most as far up as the taps of the last row do.
    (2 * rows.start).saturating_sub(2).min(height)..(2 * rows.end + 1).min(height)
}

fn hull(a: Range<usize>, b: Range<usize>) -> Range<usize> {
    match (a.is_empty(), b.is_empty()) {
        (true, _) => b,
        (_, true) => a,
        _ => a.start.min(b.start)..a.end.max(b.end),
    }
}

/// Bytes of one stored value of a level, for samples of `sample` bytes.
pub(crate) fn value_bytes(stored: Stored, sample: usize) -> usize {
    match stored {
        Stored::Samples => sample,
        Stored::Integer { .. } => 2 * sample,
        Stored::Float => 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Settings, Source};
    use jnd_video::{Layout, PixelFormat, Rate};

    #[test]
    fn bands_cover_every_row_once() {
        for (layout, height) in
            [(Layout::Yuv420, 545), (Layout::Yuv422, 37), (Layout::Bgr, 1), (Layout::Gray, 64)]
        {
            let format = PixelFormat::new(layout, 8).unwrap();
            let source = Source { format, width: 70, height, rate: Rate::new(30, 1).unwrap(), frames: None };
            let plan = Plan::new(&Settings::default(), &source).unwrap();
            for n in [1, 2, 3, 7, 64] {
                for (chain, c) in plan.chains().iter().zip(divide(&plan, &(0..height), n)) {
                    let (mut row, mut hand) = (0, 0);
                    for b in &c.bands {
                        assert_eq!((b.out.start, b.handoff.start.max(hand)), (row, hand));
                        row = b.out.end;
                        hand = hand.max(b.handoff.end);
                    }
                    let plane =
                        format.plane_size(chain.planes[0], 70, height, jnd_video::ChromaRounding::Ceil);
                    assert_eq!(row, plane.height);
                    assert_eq!(hand, chain.levels.get(c.coarse).map_or(0, |l| l.height));
                }
            }
        }
    }
}
