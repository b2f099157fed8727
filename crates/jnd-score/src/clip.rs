//! Scoring two streams of frames against each other.

use jnd_video::{Frame, FrameSource, StreamInfo};

use crate::engine::Engine;
use crate::{Error, Feature, Geometry, Result, Scorer, ScorerOptions};

/// Which of the two clips.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The reference.
    Reference,
    /// The distorted one.
    Distorted,
}

impl std::fmt::Display for Side {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Reference => "reference",
            Self::Distorted => "distorted",
        })
    }
}

/// Which part of two clips to score.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ClipRange {
    /// Frames left out at the start of the reference.
    pub skip_reference: u64,
    /// Frames left out at the start of the distorted clip.
    pub skip_distorted: u64,
    /// Most pairs to score.
    pub limit: Option<u64>,
}

/// Why scoring ended.
#[derive(Debug)]
pub enum Ending {
    /// Both clips ended.
    Together,
    /// The limit was reached.
    Limit,
    /// One clip ended while the other one went on.
    Shorter(Side),
    /// A clip is cut off inside a frame.
    Cut(Side, jnd_video::Error),
}

/// Two open clips that fit each other, on their way to the end.
pub struct ClipPair<'a> {
    reference: &'a mut dyn FrameSource,
    distorted: &'a mut dyn FrameSource,
    range: ClipRange,
    scorer: Box<dyn Engine>,
    /// Where frames have to be copied: ones to read into and copy from.
    buffers: Option<(Frame, Frame)>,
}

impl<'a> ClipPair<'a> {
    /// Checks that the clips can be compared, and leaves out the frames to skip. The processor scores.
    ///
    /// # Errors
    /// Clips of different size, chroma format or depth; whatever [`Scorer::new`] and reading refuse.
    pub fn new(
        reference: &'a mut dyn FrameSource,
        distorted: &'a mut dyn FrameSource,
        features: &[Feature],
        range: ClipRange,
        options: ScorerOptions,
    ) -> Result<Self> {
        check_comparable(reference.info(), distorted.info())?;
        let geometry = Geometry::of_stream(reference.info());
        let scorer = Box::new(Scorer::new(features, geometry, options)?);
        Self::with_engine(reference, distorted, range, scorer)
    }

    /// The same with an engine of the reference's geometry.
    ///
    /// # Errors
    /// As [`ClipPair::new`].
    pub fn with_engine(
        reference: &'a mut dyn FrameSource,
        distorted: &'a mut dyn FrameSource,
        range: ClipRange,
        mut scorer: Box<dyn Engine>,
    ) -> Result<Self> {
        check_comparable(reference.info(), distorted.info())?;
        let held = scorer.held_format();
        let as_held = reference.info().format == held
            && distorted.info().format == held
            && scorer.take_frames()?.is_some();
        let buffers = if as_held { None } else { Some((reference.new_frame()?, distorted.new_frame()?)) };
        let mut pair = Self { reference, distorted, range, scorer, buffers };
        skip(pair.reference, range.skip_reference)?;
        skip(pair.distorted, range.skip_distorted)?;
        // A clip that ends inside the skipped part ends the pairs at once, below.
        pair.range.limit = range.limit.filter(|&n| n > 0);
        Ok(pair)
    }

    /// The scorer, for its metrics and to take scores out.
    pub fn scorer(&mut self) -> &mut dyn Engine {
        &mut *self.scorer
    }

    /// Pairs to expect, for a progress bar.
    pub fn expected(&self) -> Option<u64> {
        let left = |s: &dyn FrameSource, skip: u64| s.frames_hint().map(|n| n.saturating_sub(skip));
        let r = left(&*self.reference, self.range.skip_reference);
        let d = left(&*self.distorted, self.range.skip_distorted);
        [r, d, self.range.limit].into_iter().flatten().min()
    }

    /// Reads and pushes the next pair; says why there is none. After an ending the scorer is finished, with the scores
    /// of all whole pairs.
    ///
    /// # Errors
    /// Reading, or a failed computation.
    pub fn step(&mut self) -> Result<Option<Ending>> {
        if self.range.limit.is_some_and(|n| self.scorer.frames() >= n) {
            return self.end(Ending::Limit);
        }
        let mut owned = match self.buffers {
            Some(_) => None,
            None => self.scorer.take_frames()?,
        };
        let Some((r, d)) = owned.as_mut().or(self.buffers.as_mut()) else { return Ok(None) };
        let got_r = self.reference.read(r);
        // A cut clip is reported at once; an ended one only after looking whether the other ends too.
        let got_d = match &got_r {
            Ok(_) => self.distorted.read(d),
            Err(_) => Ok(false),
        };
        match (got_r, got_d) {
            (Ok(true), Ok(true)) => {
                match (owned, &self.buffers) {
                    (Some((r, d)), _) => self.scorer.push_owned(r, d)?,
                    (None, Some((r, d))) => self.scorer.push(r.view(), d.view())?,
                    (None, None) => {}
                }
                Ok(None)
            }
            (Ok(false), Ok(false)) => self.end(Ending::Together),
            (Ok(true), Ok(false)) => self.end(Ending::Shorter(Side::Distorted)),
            (Ok(false), Ok(true)) => self.end(Ending::Shorter(Side::Reference)),
            (Err(e), _) => self.cut(Side::Reference, e),
            (_, Err(e)) => self.cut(Side::Distorted, e),
        }
    }

    /// Frames in a clip that goes on after the other one's end: what the stream says, or counted by reading on.
    ///
    /// # Errors
    /// Reading.
    pub fn count_longer(
        &mut self,
        shorter: Side,
        interrupted: &mut dyn FnMut() -> bool,
    ) -> Result<Option<u64>> {
        let (source, skip) = match shorter {
            Side::Reference => (&mut *self.distorted, self.range.skip_distorted),
            Side::Distorted => (&mut *self.reference, self.range.skip_reference),
        };
        if let Some(n) = source.info().frames {
            return Ok(Some(n));
        }
        // The frame after the last pair has been read.
        let mut n = skip + self.scorer.frames() + 1;
        let mut frame = source.new_frame()?;
        loop {
            if interrupted() {
                return Ok(None);
            }
            match source.read(&mut frame) {
                Ok(true) => n += 1,
                Ok(false) | Err(jnd_video::Error::Truncated { .. }) => return Ok(Some(n)),
                Err(e) => return Err(e.into()),
            }
        }
    }

    fn end(&mut self, ending: Ending) -> Result<Option<Ending>> {
        self.scorer.finish()?;
        Ok(Some(ending))
    }

    fn cut(&mut self, side: Side, error: jnd_video::Error) -> Result<Option<Ending>> {
        match error {
            jnd_video::Error::Truncated { .. } => self.end(Ending::Cut(side, error)),
            e => Err(e.into()),
        }
    }
}

fn skip(source: &mut dyn FrameSource, frames: u64) -> Result<()> {
    if frames == 0 {
        return Ok(());
    }
    let mut frame = source.new_frame()?;
    for _ in 0..frames {
        if !source.read(&mut frame)? {
            break;
        }
    }
    Ok(())
}

/// Checks that two streams can be compared sample by sample.
///
/// # Errors
/// [`Error::Incomparable`], which names every difference.
pub fn check_comparable(reference: &StreamInfo, distorted: &StreamInfo) -> Result<()> {
    let (r, d) = (reference, distorted);
    let mut differences = Vec::new();
    if (r.width, r.height) != (d.width, d.height) {
        let mut text = format!("sizes {}x{} and {}x{}", r.width, r.height, d.width, d.height);
        if (r.width, r.height) == (d.height, d.width) && r.rotation != d.rotation {
            text.push_str(&format!(" (with rotation tags of {} and {} degrees)", r.rotation, d.rotation));
        }
        differences.push(text);
    }
    let planar = |s: &StreamInfo| Geometry::of_stream(s).planar();
    match (planar(r), planar(d)) {
        (Err(e), _) | (_, Err(e)) => return Err(e),
        (Ok(pr), Ok(pd)) => {
            if pr.depth() != pd.depth() {
                differences.push(format!("depths of {} and {} bits", pr.depth(), pd.depth()));
            }
            if pr.layout() != pd.layout() {
                differences.push(format!("formats {} and {}", r.format, d.format));
            }
        }
    }
    if differences.is_empty() { Ok(()) } else { Err(Error::Incomparable(differences.join(", "))) }
}

/// What differs between two streams without keeping them from being compared, a sentence each.
pub fn differences(reference: &StreamInfo, distorted: &StreamInfo) -> Vec<String> {
    let (r, d) = (reference, distorted);
    let mut notes = Vec::new();
    let mut differ = |what: &str, a: String, b: String| {
        notes.push(format!("{what}: {a} in the reference, {b} in the distorted clip"));
    };
    if r.color.range != d.color.range {
        differ("the colour range differs", r.color.range.to_string(), d.color.range.to_string());
    }
    if r.rate != d.rate {
        differ("the frame rate differs", r.rate.to_string(), d.rate.to_string());
    }
    if r.fields != d.fields {
        differ("the field order differs", r.fields.to_string(), d.fields.to_string());
    }
    let tags = |s: &StreamInfo| (s.color.primaries, s.color.transfer, s.color.matrix);
    if tags(r) != tags(d) {
        differ("the colour tags (primaries/transfer/matrix) differ", r.color.names(), d.color.names());
    }
    if r.rotation != d.rotation {
        differ(
            "the rotation tag differs",
            format!("{} degrees", r.rotation),
            format!("{} degrees", d.rotation),
        );
    }
    for (side, s) in [(Side::Reference, r), (Side::Distorted, d)] {
        if s.fields.is_interlaced() {
            notes.push(format!(
                "the {side} clip is interlaced; frames are scored as they are, both fields at once"
            ));
        }
        if s.variable_rate {
            notes.push(format!("the {side} clip has a variable rate; frames are paired in order"));
        }
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use jnd_video::{ColorRange, Layout, PixelFormat, Rate};

    fn info(layout: Layout, depth: u8, w: usize, h: usize) -> StreamInfo {
        let format = PixelFormat::new(layout, depth).unwrap();
        StreamInfo::new(format, w, h, Rate::new(25, 1).unwrap()).unwrap()
    }

    #[test]
    fn every_mismatch_is_named() {
        let a = info(Layout::Yuv420, 8, 352, 288);
        let b = info(Layout::Yuv444, 10, 352, 290);
        let text = check_comparable(&a, &b).unwrap_err().to_string();
        for part in ["352x288 and 352x290", "8 and 10 bits", "4:2:0", "4:4:4"] {
            assert!(text.contains(part), "{text}");
        }
        assert!(check_comparable(&a, &info(Layout::Nv12, 8, 352, 288)).is_ok());
        assert!(check_comparable(&a, &info(Layout::Rgb, 8, 352, 288)).is_err());
        assert!(check_comparable(&a, &info(Layout::Yuv420, 9, 352, 288)).is_err());
    }

    #[test]
    fn tags_that_differ_are_noted() {
        let a = info(Layout::Yuv420, 8, 352, 288);
        let mut b = a.clone();
        assert!(differences(&a, &b).is_empty());
        b.color.range = ColorRange::Full;
        b.rate = Rate::new(30, 1).unwrap();
        assert_eq!(differences(&a, &b).len(), 2);
    }
}
