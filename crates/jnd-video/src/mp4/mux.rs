//! Writing an MP4 or MOV file: header first, then the samples of all tracks, interleaved.

use std::io::{Read, Seek, SeekFrom, Write};

use mp4_atom::{
    Co64, Ctts, CttsEntry, Encode, Stco, Stsc, StscEntry, Stss, Stsz, StszSamples, Stts, SttsEntry,
};

use crate::boxes::put_box;
use crate::{Error, Result};

/// Seconds of each track that lie together in the file.
const INTERLEAVE: f64 = 0.5;

/// A sample to be written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OutSample {
    /// Where its bytes are in their source.
    pub(crate) offset: u64,
    pub(crate) size: u32,
    /// When it is decoded, from 0.
    pub(crate) dts: i64,
    pub(crate) duration: u32,
    /// When it is shown, counted from `dts`.
    pub(crate) shift: i64,
    pub(crate) sync: bool,
    pub(crate) description: u32,
}

/// A track to be written. Boxes whose contents need no change are given as they are.
pub(crate) struct OutTrack {
    /// Whole boxes of the trak box before its media: the track header, whose duration is set here.
    pub(crate) tkhd: Vec<u8>,
    /// Whole boxes of the trak box to be kept: user data.
    pub(crate) extra: Vec<u8>,
    pub(crate) mdhd: Vec<u8>,
    pub(crate) hdlr: Vec<u8>,
    /// Whole boxes of the minf box other than the sample tables.
    pub(crate) media: Vec<u8>,
    /// The whole stsd box.
    pub(crate) stsd: Vec<u8>,
    /// Whole boxes of the sample tables to be kept: sample groups.
    pub(crate) groups: Vec<u8>,
    pub(crate) timescale: u32,
    pub(crate) samples: Vec<OutSample>,
    /// Ticks before the track starts.
    pub(crate) delay: i64,
    /// Where in the track's own time its presentation starts.
    pub(crate) media_start: i64,
    /// Ticks presented; `None` for all.
    pub(crate) presented: Option<i64>,
}

/// Samples that lie together.
struct Chunk {
    track: usize,
    first: usize,
    count: usize,
    offset: u64,
}

impl OutTrack {
    fn media_ticks(&self) -> i64 {
        self.samples.last().map_or(0, |s| s.dts + i64::from(s.duration))
    }

    /// Ticks on the track's clock that are presented, without the delay.
    fn presented_ticks(&self) -> i64 {
        let end = self.samples.iter().map(|s| s.dts + s.shift + i64::from(s.duration)).max().unwrap_or(0);
        self.presented.unwrap_or(end - self.media_start).max(0)
    }

    /// Cuts the samples into chunks and appends them, with the time at which each starts.
    fn chunks(&self, track: usize, out: &mut Vec<(i64, Chunk)>) {
        let slot = |s: &OutSample| {
            let ticks = (s.dts - self.media_start + self.delay) as f64;
            (ticks / f64::from(self.timescale) / INTERLEAVE).floor() as i64
        };
        let mut first = 0;
        while let Some(s) = self.samples.get(first) {
            let (time, description) = (slot(s), s.description);
            let same = |t: &&OutSample| slot(t) == time && t.description == description;
            let count = self.samples[first..].iter().take_while(same).count();
            out.push((time, Chunk { track, first, count, offset: 0 }));
            first += count;
        }
    }

    fn tables(&self, chunks: &[&Chunk], wide: bool) -> Result<Vec<u8>, mp4_atom::Error> {
        let mut out = self.stsd.clone();
        let mut stts: Vec<SttsEntry> = Vec::new();
        let mut ctts: Vec<CttsEntry> = Vec::new();
        for s in &self.samples {
            match stts.last_mut() {
                Some(e) if e.sample_delta == s.duration => e.sample_count += 1,
                _ => stts.push(SttsEntry { sample_count: 1, sample_delta: s.duration }),
            }
            match ctts.last_mut() {
                Some(e) if e.sample_offset == s.shift => e.sample_count += 1,
                _ => ctts.push(CttsEntry { sample_count: 1, sample_offset: s.shift }),
            }
        }
        Stts { entries: stts }.encode(&mut out)?;
        if ctts.iter().any(|e| e.sample_offset != 0) {
            Ctts { entries: ctts }.encode(&mut out)?;
        }
        if self.samples.iter().any(|s| !s.sync) {
            let numbers = (1..).zip(&self.samples).filter(|(_, s)| s.sync).map(|(i, _)| i);
            Stss { entries: numbers.collect() }.encode(&mut out)?;
        }
        let mut stsc: Vec<StscEntry> = Vec::new();
        for (number, c) in (1..).zip(chunks) {
            let entry = StscEntry {
                first_chunk: number,
                samples_per_chunk: c.count as u32,
                sample_description_index: self.samples[c.first].description,
            };
            let same = |l: &StscEntry| {
                (l.samples_per_chunk, l.sample_description_index)
                    == (entry.samples_per_chunk, entry.sample_description_index)
            };
            if !stsc.last().is_some_and(same) {
                stsc.push(entry);
            }
        }
        Stsc { entries: stsc }.encode(&mut out)?;
        let sizes = self.samples.iter().map(|s| s.size).collect();
        Stsz { samples: StszSamples::Different { sizes } }.encode(&mut out)?;
        if wide {
            Co64 { entries: chunks.iter().map(|c| c.offset).collect() }.encode(&mut out)?;
        } else {
            Stco { entries: chunks.iter().map(|c| c.offset as u32).collect() }.encode(&mut out)?;
        }
        out.extend_from_slice(&self.groups);
        Ok(out)
    }

    fn trak(&self, chunks: &[&Chunk], movie: u32, wide: bool) -> Result<Vec<u8>, mp4_atom::Error> {
        let tables = self.tables(chunks, wide)?;
        let to_movie = |ticks: i64| {
            let scaled = i128::from(ticks) * i128::from(movie) + i128::from(self.timescale / 2);
            u64::try_from(scaled / i128::from(self.timescale)).unwrap_or(0)
        };
        let (delay, length) = (to_movie(self.delay), to_movie(self.presented_ticks()));
        let mut tkhd = self.tkhd.clone();
        set_duration(&mut tkhd, 20, 28, delay + length);
        let mut mdhd = self.mdhd.clone();
        set_duration(&mut mdhd, 16, 24, u64::try_from(self.media_ticks()).unwrap_or(0));
        let edited = self.delay > 0 || self.media_start != 0 || self.presented.is_some();
        let mut out = Vec::new();
        put_box(&mut out, b"trak", |out| {
            out.extend_from_slice(&tkhd);
            if edited {
                put_box(out, b"edts", |out| edit_list(out, delay, length, self.media_start));
            }
            put_box(out, b"mdia", |out| {
                out.extend_from_slice(&mdhd);
                out.extend_from_slice(&self.hdlr);
                put_box(out, b"minf", |out| {
                    out.extend_from_slice(&self.media);
                    put_box(out, b"stbl", |out| out.extend_from_slice(&tables));
                });
            });
            out.extend_from_slice(&self.extra);
        });
        Ok(out)
    }
}

fn edit_list(out: &mut Vec<u8>, delay: u64, length: u64, media_start: i64) {
    put_box(out, b"elst", |out| {
        // Version 1: 64-bit numbers.
        out.extend([1, 0, 0, 0]);
        let edits: &[(u64, i64)] =
            if delay > 0 { &[(delay, -1), (length, media_start)] } else { &[(length, media_start)] };
        out.extend((edits.len() as u32).to_be_bytes());
        for (duration, start) in edits {
            out.extend(duration.to_be_bytes());
            out.extend(start.to_be_bytes());
            out.extend([0, 1, 0, 0]);
        }
    });
}

/// Sets the duration in a track or media header box, which for version 0 lies at `short`, for version 1 at `long`,
/// counted from the start of the contents.
fn set_duration(whole: &mut [u8], short: usize, long: usize, duration: u64) {
    let wide = whole.get(8) == Some(&1);
    let at = 8 + if wide { long } else { short };
    if wide {
        if let Some(slot) = whole.get_mut(at..at + 8) {
            slot.copy_from_slice(&duration.to_be_bytes());
        }
    } else if let Some(slot) = whole.get_mut(at..at + 4) {
        slot.copy_from_slice(&u32::try_from(duration).unwrap_or(u32::MAX).to_be_bytes());
    }
}

fn mvhd(out: &mut Vec<u8>, timescale: u32, duration: u64, next_track: u32) {
    put_box(out, b"mvhd", |out| {
        out.extend([1, 0, 0, 0]);
        out.extend([0; 16]);
        out.extend(timescale.to_be_bytes());
        out.extend(duration.to_be_bytes());
        // Normal speed, full volume.
        out.extend([0, 1, 0, 0, 1, 0, 0, 0]);
        out.extend([0; 8]);
        for v in crate::matrix::rotation_matrix(0, 0, 0) {
            out.extend(v.to_be_bytes());
        }
        out.extend([0; 24]);
        out.extend(next_track.to_be_bytes());
    });
}

/// Writes a complete file. `extra` are whole boxes for the movie header (user data); `bytes[i]` is where the samples of
/// track `i` are read from.
pub(crate) fn write(
    out: &mut impl Write,
    name: &str,
    brand: &[u8; 4],
    movie: u32,
    tracks: &[OutTrack],
    extra: &[u8],
    bytes: &mut [&mut dyn ReadSeek],
) -> Result<()> {
    let atom = |e: mp4_atom::Error| Error::broken(name, format!("its MP4 header cannot be written ({e})"));
    let mut timed = Vec::new();
    for (i, t) in tracks.iter().enumerate() {
        t.chunks(i, &mut timed);
    }
    // A stable sort: within a slot of time, tracks follow each other in their order.
    timed.sort_by_key(|(time, c)| (*time, c.track));
    let mut chunks: Vec<Chunk> = timed.into_iter().map(|(_, c)| c).collect();
    let size = |c: &Chunk| -> u64 {
        tracks[c.track].samples[c.first..c.first + c.count].iter().map(|s| u64::from(s.size)).sum()
    };
    let payload: u64 = chunks.iter().map(size).sum();
    let wide = payload > u64::from(u32::MAX) - (256 << 20);
    let mut ftyp = Vec::new();
    put_box(&mut ftyp, b"ftyp", |o| {
        o.extend(brand);
        o.extend(512u32.to_be_bytes());
        o.extend(brand);
        if brand != b"qt  " {
            o.extend(b"iso2avc1mp41");
        }
    });
    let duration = |t: &OutTrack| {
        let ticks = i128::from(t.delay + t.presented_ticks()) * i128::from(movie);
        u64::try_from(ticks / i128::from(t.timescale)).unwrap_or(0)
    };
    let header = |chunks: &[Chunk]| -> Result<Vec<u8>> {
        let mut traks = Vec::new();
        for (i, t) in tracks.iter().enumerate() {
            let own: Vec<&Chunk> = chunks.iter().filter(|c| c.track == i).collect();
            traks.extend(t.trak(&own, movie, wide).map_err(atom)?);
        }
        let mut moov = Vec::new();
        put_box(&mut moov, b"moov", |o| {
            let longest = tracks.iter().map(duration).max().unwrap_or(0);
            mvhd(o, movie, longest, tracks.len() as u32 + 1);
            o.extend(traks);
            o.extend_from_slice(extra);
        });
        Ok(moov)
    };
    // The header's size does not depend on the offsets in it.
    let long_mdat = payload + 8 > u64::from(u32::MAX);
    let mut at = (ftyp.len() + header(&chunks)?.len()) as u64 + if long_mdat { 16 } else { 8 };
    for c in &mut chunks {
        c.offset = at;
        at += size(c);
    }
    let io = |e| Error::io(name, e);
    out.write_all(&ftyp).map_err(io)?;
    out.write_all(&header(&chunks)?).map_err(io)?;
    if long_mdat {
        out.write_all(&[0, 0, 0, 1]).map_err(io)?;
        out.write_all(b"mdat").map_err(io)?;
        out.write_all(&(payload + 16).to_be_bytes()).map_err(io)?;
    } else {
        out.write_all(&(payload as u32 + 8).to_be_bytes()).map_err(io)?;
        out.write_all(b"mdat").map_err(io)?;
    }
    for c in &chunks {
        copy_chunk(out, &tracks[c.track].samples[c.first..c.first + c.count], bytes[c.track]).map_err(io)?;
    }
    Ok(())
}

/// Something to read samples from.
pub(crate) trait ReadSeek: Read + Seek {}

impl<T: Read + Seek> ReadSeek for T {}

fn copy_chunk(out: &mut impl Write, samples: &[OutSample], from: &mut dyn ReadSeek) -> std::io::Result<()> {
    let mut at = None;
    for s in samples {
        if at != Some(s.offset) {
            from.seek(SeekFrom::Start(s.offset))?;
        }
        let copied = std::io::copy(&mut Read::take(&mut *from, u64::from(s.size)), out)?;
        if copied < u64::from(s.size) {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        at = Some(s.offset + copied);
    }
    Ok(())
}
