//! What scores: the processor or a card, behind one set of calls.

use jnd_cuda::{Context, DeviceChoice, Placed};
use jnd_video::{Frame, FrameRef, PixelFormat};

use crate::cuda::{CudaOptions, CudaScorer};
use crate::{Board, Feature, Geometry, Result, Score, Scorer, ScorerOptions};

/// A streaming scorer on some device. Scores do not depend on which.
pub trait Engine {
    /// What is known of the clip so far.
    fn board(&self) -> &Board;
    /// The same, to take scores from.
    fn board_mut(&mut self) -> &mut Board;
    /// Scores a pair; the frames are copied.
    ///
    /// # Errors
    /// A frame of another size or format; a scorer that is finished; errors of the card.
    fn push(&mut self, reference: FrameRef<'_>, distorted: FrameRef<'_>) -> Result<()>;
    /// Frames that [`Engine::push_owned`] takes without a copy, to be filled; nothing where every frame is copied.
    ///
    /// # Errors
    /// See [`Scorer::take_frames`].
    fn take_frames(&mut self) -> Result<Option<(Frame, Frame)>> {
        Ok(None)
    }
    /// Scores a pair, without copying it where that is possible.
    ///
    /// # Errors
    /// See [`Engine::push`].
    fn push_owned(&mut self, reference: Frame, distorted: Frame) -> Result<()> {
        self.push(reference.view(), distorted.view())
    }
    /// Ends the clip: after this [`Engine::next_score`] gives everything left.
    ///
    /// # Errors
    /// A thread that was lost; errors of the card.
    fn finish(&mut self) -> Result<()>;
    /// What it runs on, for people.
    fn device(&self) -> String;

    /// See [`Board::metrics`].
    fn metrics(&self) -> &[String] {
        self.board().metrics()
    }
    /// See [`Board::report_order`].
    fn report_order(&self) -> Vec<usize> {
        self.board().report_order()
    }
    /// See [`Board::is_reported`].
    fn is_reported(&self, frame: u64) -> bool {
        self.board().is_reported(frame)
    }
    /// See [`Board::frames`].
    fn frames(&self) -> u64 {
        self.board().frames()
    }
    /// See [`Board::geometry`].
    fn geometry(&self) -> Geometry {
        self.board().geometry()
    }
    /// See [`Board::held_format`].
    fn held_format(&self) -> PixelFormat {
        self.board().held_format()
    }
    /// See [`Board::next_score`].
    fn next_score(&mut self) -> Option<Score> {
        self.board_mut().next_score()
    }
}

impl Engine for Scorer {
    fn board(&self) -> &Board {
        &self.board
    }

    fn board_mut(&mut self) -> &mut Board {
        &mut self.board
    }

    fn push(&mut self, reference: FrameRef<'_>, distorted: FrameRef<'_>) -> Result<()> {
        self.push(reference, distorted)
    }

    fn take_frames(&mut self) -> Result<Option<(Frame, Frame)>> {
        self.take_frames().map(Some)
    }

    fn push_owned(&mut self, reference: Frame, distorted: Frame) -> Result<()> {
        self.push_owned(reference, distorted)
    }

    fn finish(&mut self) -> Result<()> {
        self.finish()
    }

    fn device(&self) -> String {
        "processor".into()
    }
}

impl Engine for CudaScorer {
    fn board(&self) -> &Board {
        &self.board
    }

    fn board_mut(&mut self) -> &mut Board {
        &mut self.board
    }

    fn push(&mut self, reference: FrameRef<'_>, distorted: FrameRef<'_>) -> Result<()> {
        self.push(reference, distorted)
    }

    fn finish(&mut self) -> Result<()> {
        self.finish()
    }

    fn device(&self) -> String {
        "card".into()
    }
}

/// An engine, and why it is not on a card where [`DeviceChoice::Auto`] looked for one.
pub type Chosen = (Box<dyn Engine>, Option<String>);

/// Makes an engine on the device asked for.
///
/// # Errors
/// What [`Scorer::new`] refuses; a card that was asked for and cannot be used.
pub fn engine(
    features: &[Feature],
    geometry: Geometry,
    options: ScorerOptions,
    device: DeviceChoice,
) -> Result<Chosen> {
    let card = device.place(|card| {
        let card_options = CudaOptions { subsample: options.subsample.max(1), ..CudaOptions::default() };
        CudaScorer::new(&Context::open(card)?, features, geometry, &card_options)
    })?;
    match card {
        Placed::Card(scorer) => Ok((Box::new(scorer), None)),
        // What no device takes is the processor's error too.
        Placed::Processor(why) => {
            Ok((Box::new(Scorer::new(features, geometry, options)?), why.map(|e| e.to_string())))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;
    use jnd_video::Layout;

    fn geometry() -> Geometry {
        Geometry { format: PixelFormat::new(Layout::Yuv420, 8).unwrap(), width: 32, height: 32 }
    }

    #[test]
    fn a_device_that_is_not_there_is_an_error() {
        let features = [Feature::parse("motion").unwrap()];
        let made = engine(&features, geometry(), ScorerOptions::default(), DeviceChoice::Cuda(4096));
        assert!(matches!(made, Err(Error::Cuda(_))));
    }

    #[test]
    fn the_processor_is_always_there() {
        let features = [Feature::parse("motion").unwrap()];
        for device in [DeviceChoice::Cpu, DeviceChoice::Auto] {
            let (mut engine, _) = engine(&features, geometry(), ScorerOptions::default(), device).unwrap();
            let frame = Frame::new(geometry().format, 32, 32).unwrap();
            engine.push(frame.view(), frame.view()).unwrap();
            engine.finish().unwrap();
            assert_eq!(std::iter::from_fn(|| engine.next_score()).count(), 3);
        }
    }
}
