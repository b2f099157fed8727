//! Reading the header.

use std::io::{Read, Seek, SeekFrom};

use mp4_atom::{Avcc, Colr, Decode, Elst, Mdhd, Pasp};

use super::samples::{self, Sample};
use crate::boxes::{Span, boxes, find, read_moov};
use crate::{Error, Result};

/// What a track carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrackKind {
    /// Pictures.
    Video,
    /// Sound.
    Audio,
    /// Subtitles or text.
    Text,
    /// Anything else.
    Other,
}

/// A track of a file.
#[derive(Debug, Clone)]
pub struct Track {
    /// What it carries.
    pub kind: TrackKind,
    /// Its number in the file.
    pub id: u32,
    /// Kind of its first sample description: `avc1`, `mp4a`.
    pub codec: [u8; 4],
    /// Ticks a second.
    pub timescale: u32,
    /// Ticks before the track starts, from an empty edit.
    pub delay: i64,
    /// Where in the track's own time its presentation starts.
    pub media_start: i64,
    /// Ticks that are presented; `None` for all from the start on.
    pub presented: Option<i64>,
    /// Clockwise rotation in degrees; `None` for a matrix that is no quarter turn.
    pub rotation: Option<u16>,
    /// Its samples, in decoding order.
    pub samples: Vec<Sample>,
    /// Where its trak box lies in the header.
    pub(crate) span: (usize, usize),
}

/// The header of an MP4 or MOV file.
#[derive(Debug)]
pub struct Mp4 {
    /// Its tracks.
    pub tracks: Vec<Track>,
    /// Ticks a second of the movie's own clock.
    pub timescale: u32,
    pub(crate) moov: Vec<u8>,
}

/// What the first picture description says.
pub(crate) struct AvcDescription {
    pub(crate) avcc: Avcc,
    pub(crate) colr: Option<Colr>,
    pub(crate) pasp: Option<(u32, u32)>,
}

/// The contents of a full box after its version and flags, and the version.
fn full(moov: &[u8], span: Span) -> Option<(u8, &[u8])> {
    let body = moov.get(span.body..span.end)?;
    Some((*body.first()?, body.get(4..)?))
}

impl Mp4 {
    /// Reads the header. `name` is for messages.
    ///
    /// # Errors
    /// [`Error::Broken`] where there is no header or it makes no sense; [`Error::Unsupported`] for fragmented files.
    pub fn read(file: &mut (impl Read + Seek), name: &str) -> Result<Self> {
        let io = |e| Error::io(name, e);
        let length = file.seek(SeekFrom::End(0)).map_err(io)?;
        let moov = read_moov(file).map_err(io)?.ok_or_else(|| {
            Error::broken(name, "it has no moov box: the recording was not finished, or the file is cut off")
        })?;
        if moov.fragmented {
            return Err(Error::unsupported(
                name,
                "fragmented MP4",
                "install ffmpeg, or rewrite it with `ffmpeg -i IN -c copy OUT.mp4`",
            ));
        }
        let data = moov.body;
        let wrong = |w: String| Error::broken(name, format!("MP4 header: {w}"));
        let timescale = find(&data, (0, data.len()), &[b"mvhd"])
            .and_then(|s| full(&data, s))
            .and_then(|(version, b)| b.get(if version == 1 { 16 } else { 8 }..)?.first_chunk::<4>())
            .map(|b| u32::from_be_bytes(*b))
            .filter(|&t| t > 0)
            .ok_or_else(|| wrong("it has no clock".into()))?;
        let mut tracks = Vec::new();
        for trak in boxes(&data, 0, data.len()).filter(|b| b.kind == *b"trak") {
            tracks.push(track(&data, (trak.body, trak.end), timescale, length).map_err(wrong)?);
        }
        Ok(Self { tracks, timescale, moov: data })
    }

    /// The first picture track.
    pub fn video(&self) -> Option<&Track> {
        self.tracks.iter().find(|t| t.kind == TrackKind::Video)
    }

    /// What the track's H.264 description says; an error in words where it makes no sense.
    pub(crate) fn avc(&self, track: &Track) -> std::result::Result<AvcDescription, String> {
        let stsd =
            find(&self.moov, track.span, &[b"mdia", b"minf", b"stbl", b"stsd"]).ok_or("no stsd box")?;
        let entry = boxes(&self.moov, stsd.body + 8, stsd.end).next().ok_or("no description")?;
        // The fixed part of a picture description is 78 bytes.
        let inside = (entry.body + 78, entry.end);
        let slice = |s: Span| &self.moov[s.start..s.end];
        let avcc = find(&self.moov, inside, &[b"avcC"]).ok_or("no avcC box")?;
        let avcc =
            Avcc::decode(&mut slice(avcc)).map_err(|e| format!("its avcC box makes no sense ({e})"))?;
        // A colour description that cannot be read is one that says nothing.
        let colr = find(&self.moov, inside, &[b"colr"]).and_then(|s| Colr::decode(&mut slice(s)).ok());
        let pasp = find(&self.moov, inside, &[b"pasp"]).and_then(|s| Pasp::decode(&mut slice(s)).ok());
        Ok(AvcDescription { avcc, colr, pasp: pasp.map(|p| (p.h_spacing, p.v_spacing)) })
    }
}

fn track(moov: &[u8], trak: (usize, usize), movie: u32, file: u64) -> std::result::Result<Track, String> {
    let need = |path: &[&[u8; 4]]| {
        find(moov, trak, path).ok_or_else(|| {
            let last = path.last().map(|k| String::from_utf8_lossy(*k).into_owned()).unwrap_or_default();
            format!("a track has no {last} box")
        })
    };
    let handler = need(&[b"mdia", b"hdlr"])?;
    let kind = match moov.get(handler.body + 8..handler.body + 12) {
        Some(b"vide") => TrackKind::Video,
        Some(b"soun") => TrackKind::Audio,
        Some(b"sbtl" | b"subt" | b"text" | b"clcp") => TrackKind::Text,
        _ => TrackKind::Other,
    };
    let mdhd = need(&[b"mdia", b"mdhd"])?;
    let mdhd = Mdhd::decode(&mut &moov[mdhd.start..mdhd.end])
        .map_err(|e| format!("a mdhd box makes no sense ({e})"))?;
    if mdhd.timescale == 0 {
        return Err("a track has no clock".into());
    }
    let tkhd = need(&[b"tkhd"])?;
    let (version, head) = full(moov, tkhd).ok_or("a track header is too short")?;
    let word = |at: usize| head.get(at..).and_then(|b| b.first_chunk::<4>()).map(|b| i32::from_be_bytes(*b));
    let long = usize::from(version == 1);
    let id = word(8 + 8 * long).ok_or("a track header is too short")? as u32;
    let at = 36 + 12 * long;
    let mut matrix = [0; 9];
    for (i, m) in matrix.iter_mut().enumerate() {
        *m = word(at + 4 * i).ok_or("a track header is too short")?;
    }
    let stbl = need(&[b"mdia", b"minf", b"stbl"])?;
    let stsd = need(&[b"mdia", b"minf", b"stbl", b"stsd"])?;
    let codec = boxes(moov, stsd.body + 8, stsd.end).next().map_or(*b"none", |e| e.kind);
    let samples = samples::read(moov, (stbl.body, stbl.end), file)?;
    let mut t = Track {
        kind,
        id,
        codec,
        timescale: mdhd.timescale,
        delay: 0,
        media_start: 0,
        presented: None,
        rotation: crate::matrix::quarter_turn(&matrix),
        samples,
        span: trak,
    };
    if let Some(elst) = find(moov, trak, &[b"edts", b"elst"]) {
        let elst = Elst::decode(&mut &moov[elst.start..elst.end])
            .map_err(|e| format!("an edit list makes no sense ({e})"))?;
        edits(&elst, movie, &mut t)?;
    }
    Ok(t)
}

/// Understands an edit list of empty edits and then one piece of the track, which is what cameras and editors write.
fn edits(elst: &Elst, movie: u32, t: &mut Track) -> std::result::Result<(), String> {
    let ticks = |d: u64| {
        let scaled = u128::from(d) * u128::from(t.timescale) + u128::from(movie / 2);
        i64::try_from(scaled / u128::from(movie)).map_err(|_| "an edit is too long".to_owned())
    };
    let mut piece = None;
    let mut delay = 0i64;
    for e in &elst.entries {
        match (e.media_time, piece) {
            (None, None) => delay = delay.saturating_add(ticks(e.segment_duration)?),
            (Some(start), None) => {
                let start = i64::try_from(start).map_err(|_| "an edit starts too late")?;
                piece = Some((start, ticks(e.segment_duration)?));
            }
            // An empty edit at the end shows nothing.
            (None, Some(_)) => {}
            (Some(_), Some(_)) => {
                return Err("an edit list of several pieces is not understood here; install ffmpeg".into());
            }
        }
    }
    t.delay = delay;
    if let Some((start, length)) = piece {
        t.media_start = start;
        t.presented = (length > 0).then_some(length);
    }
    Ok(())
}
