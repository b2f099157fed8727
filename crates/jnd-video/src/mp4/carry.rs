//! Tracks that are carried over from the source: sound and text, byte for byte, cut to the part that is kept.

use super::demux::{Mp4, Track, TrackKind};
use super::mux::{OutSample, OutTrack};
use crate::boxes::{boxes, find};
use crate::{Error, Result};

/// A track of `mp4` as it is written to a new file, under the number `id`, cut to `start..end` in seconds of the file's
/// time line. `None` when nothing of it lies in that part.
pub(crate) fn carry(
    mp4: &Mp4,
    track: &Track,
    id: u32,
    span: (f64, Option<f64>),
    name: &str,
) -> Result<Option<OutTrack>> {
    let moov = &mp4.moov;
    let need = |path: &[&[u8; 4]]| {
        find(moov, track.span, path).ok_or_else(|| Error::broken(name, "MP4 header: a track misses a box"))
    };
    let whole = |path: &[&[u8; 4]]| need(path).map(|s| moov[s.start..s.end].to_vec());
    let mut tkhd = whole(&[b"tkhd"])?;
    let at = if tkhd.get(8) == Some(&1) { 8 + 20 } else { 8 + 12 };
    if let Some(slot) = tkhd.get_mut(at..at + 4) {
        slot.copy_from_slice(&id.to_be_bytes());
    }
    let minf = need(&[b"mdia", b"minf"])?;
    let stbl = need(&[b"mdia", b"minf", b"stbl"])?;
    let keep = |(from, to): (usize, usize), wanted: &dyn Fn(&[u8; 4]) -> bool| {
        let mut out = Vec::new();
        for b in boxes(moov, from, to).filter(|b| wanted(&b.kind)) {
            out.extend_from_slice(&moov[b.start..b.end]);
        }
        out
    };
    let uncut = span.0 <= 0.0 && span.1.is_none();
    let mut out = OutTrack {
        tkhd,
        extra: keep(track.span, &|k| k == b"udta"),
        mdhd: whole(&[b"mdia", b"mdhd"])?,
        hdlr: whole(&[b"mdia", b"hdlr"])?,
        media: keep((minf.body, minf.end), &|k| k != b"stbl"),
        stsd: whole(&[b"mdia", b"minf", b"stbl", b"stsd"])?,
        // Sample groups count samples, so they hold only for all of them.
        groups: if uncut {
            keep((stbl.body, stbl.end), &|k| matches!(k, b"sgpd" | b"sbgp"))
        } else {
            Vec::new()
        },
        timescale: track.timescale,
        samples: Vec::new(),
        delay: track.delay,
        media_start: track.media_start,
        presented: track.presented,
    };
    let samples = cut(track, span, &mut out);
    out.samples = samples;
    Ok((!out.samples.is_empty()).then_some(out))
}

/// Which tracks are carried over beside the picture.
pub(crate) fn wanted(track: &Track, no_audio: bool) -> bool {
    match track.kind {
        TrackKind::Audio => !no_audio,
        TrackKind::Text => true,
        TrackKind::Video | TrackKind::Other => false,
    }
}

/// The samples of the part, and the edit list that makes it exact.
fn cut(track: &Track, (start, end): (f64, Option<f64>), out: &mut OutTrack) -> Vec<OutSample> {
    let ticks = |s: f64| (s * f64::from(track.timescale)).round() as i64;
    // From the file's time line to the track's own.
    let to_media = |s: f64| ticks(s) - track.delay + track.media_start;
    let last = track.samples.iter().map(|s| s.pts + i64::from(s.duration)).max().unwrap_or(0);
    let shown_to = track.presented.map_or(last, |n| track.media_start + n);
    let (from, to) = (to_media(start).max(track.media_start), end.map_or(i64::MAX, to_media).min(shown_to));
    let uncut = start <= 0.0 && end.is_none();
    let inside = |s: &&super::Sample| uncut || (s.pts + i64::from(s.duration) > from && s.pts < to);
    let kept: Vec<&super::Sample> = track.samples.iter().filter(inside).collect();
    let base = kept.first().map_or(0, |s| if uncut { 0 } else { s.dts });
    if !uncut {
        out.delay = (track.delay - ticks(start)).max(0);
        out.media_start = from - base;
        out.presented = Some((to - from).max(0));
    }
    kept.iter()
        .map(|s| OutSample {
            offset: s.offset,
            size: s.size,
            dts: s.dts - base,
            duration: s.duration,
            shift: s.pts - s.dts,
            sync: s.sync,
            description: s.description,
        })
        .collect()
}
