//! The sample tables: size, place, time and kind of every sample of a track.

use mp4_atom::{Co64, Ctts, Decode, Stco, Stsc, Stss, Stsz, StszSamples, Stts};

use crate::boxes::{Span, find};

/// One sample: an access unit of pictures, a packet of sound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// Where in the file it starts.
    pub offset: u64,
    /// Bytes.
    pub size: u32,
    /// When it is decoded, in ticks of its track.
    pub dts: i64,
    /// When it is shown, before any edit list.
    pub pts: i64,
    /// Ticks until the next sample is decoded.
    pub duration: u32,
    /// Whether decoding can start here.
    pub sync: bool,
    /// Index of its description.
    pub description: u32,
}

/// What is wrong with a table, in words.
pub(super) type Wrong = String;

fn table<T: Decode>(moov: &[u8], stbl: (usize, usize), kind: &[u8; 4]) -> Result<Option<T>, Wrong> {
    let Some(Span { start, end, .. }) = find(moov, stbl, &[kind]) else { return Ok(None) };
    T::decode(&mut &moov[start..end])
        .map(Some)
        .map_err(|e| format!("its {} table makes no sense ({e})", String::from_utf8_lossy(kind)))
}

fn needed<T>(found: Option<T>, kind: &str) -> Result<T, Wrong> {
    found.ok_or_else(|| format!("it has no {kind} table"))
}

/// All samples of the track whose stbl box spans `stbl`. `file` is the file's length: no more bytes can be claimed.
pub(super) fn read(moov: &[u8], stbl: (usize, usize), file: u64) -> Result<Vec<Sample>, Wrong> {
    let sizes: Stsz = needed(table(moov, stbl, b"stsz")?, "stsz")?;
    let count = match &sizes.samples {
        StszSamples::Different { sizes } => sizes.len(),
        StszSamples::Identical { count, size } => {
            if u64::from(*count) * u64::from(*size) > file {
                return Err("its samples take more bytes than the file has".into());
            }
            *count as usize
        }
    };
    let mut samples =
        vec![Sample { offset: 0, size: 0, dts: 0, pts: 0, duration: 0, sync: true, description: 0 }; count];
    match &sizes.samples {
        StszSamples::Different { sizes } => samples.iter_mut().zip(sizes).for_each(|(s, &n)| s.size = n),
        StszSamples::Identical { size, .. } => samples.iter_mut().for_each(|s| s.size = *size),
    }
    place(moov, stbl, &mut samples, file)?;
    time(moov, stbl, &mut samples)?;
    if let Some(stss) = table::<Stss>(moov, stbl, b"stss")? {
        samples.iter_mut().for_each(|s| s.sync = false);
        for n in stss.entries {
            if let Some(s) = (n as usize).checked_sub(1).and_then(|i| samples.get_mut(i)) {
                s.sync = true;
            }
        }
    }
    Ok(samples)
}

/// Chunk offsets and samples per chunk give each sample its place.
fn place(moov: &[u8], stbl: (usize, usize), samples: &mut [Sample], file: u64) -> Result<(), Wrong> {
    let runs: Stsc = needed(table(moov, stbl, b"stsc")?, "stsc")?;
    let chunks: Vec<u64> = match table::<Stco>(moov, stbl, b"stco")? {
        Some(t) => t.entries.into_iter().map(u64::from).collect(),
        None => needed(table::<Co64>(moov, stbl, b"co64")?, "stco")?.entries,
    };
    let mut next = samples.iter_mut();
    let mut left = next.len();
    for (i, run) in runs.entries.iter().enumerate() {
        let first = (run.first_chunk as usize).checked_sub(1).ok_or("its stsc table counts from 0")?;
        let last = runs.entries.get(i + 1).map_or(chunks.len(), |r| r.first_chunk.saturating_sub(1) as usize);
        for &chunk in chunks.get(first..last.min(chunks.len())).unwrap_or(&[]) {
            let mut at = chunk;
            for s in next.by_ref().take(run.samples_per_chunk as usize) {
                s.offset = at;
                s.description = run.sample_description_index;
                at = at.checked_add(u64::from(s.size)).filter(|&a| a <= file).ok_or(
                    "a sample lies beyond the end of the file: the file is cut off or its tables are wrong",
                )?;
                left -= 1;
            }
        }
    }
    if left > 0 {
        return Err(format!("its tables place only {} of {} samples", samples.len() - left, samples.len()));
    }
    Ok(())
}

fn time(moov: &[u8], stbl: (usize, usize), samples: &mut [Sample]) -> Result<(), Wrong> {
    let durations: Stts = needed(table(moov, stbl, b"stts")?, "stts")?;
    let mut next = samples.iter_mut();
    let mut now = 0i64;
    for run in durations.entries {
        for s in next.by_ref().take(run.sample_count as usize) {
            (s.dts, s.pts, s.duration) = (now, now, run.sample_delta);
            now += i64::from(run.sample_delta);
        }
    }
    if next.len() > 0 {
        return Err(format!("its stts table leaves {} samples without a time", next.len()));
    }
    if let Some(shifts) = table::<Ctts>(moov, stbl, b"ctts")? {
        let mut next = samples.iter_mut();
        for run in shifts.entries {
            // Some writers store negative shifts in the unsigned form.
            let shift = i64::from(run.sample_offset as i32);
            for s in next.by_ref().take(run.sample_count as usize) {
                s.pts += shift;
            }
        }
    }
    Ok(())
}
