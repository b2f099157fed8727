//! Scores a distorted clip against its reference and prints each score when it is final.
//!
//! `cargo run --release -p jnd --example score -- reference.mp4 distorted.mp4 motion speed_temporal`

use std::error::Error;

use jnd::score::clip::{ClipPair, ClipRange};
use jnd::score::{Feature, ScorerOptions};
use jnd::video::{Input, OpenOptions, open};

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let (Some(reference), Some(distorted)) = (args.next(), args.next()) else {
        return Err("usage: score REFERENCE DISTORTED FEATURE...".into());
    };
    let features: Vec<Feature> = args.map(|f| Feature::parse(&f)).collect::<Result<_, _>>()?;
    let options = OpenOptions::default();
    let mut reference = open(&Input::from_arg(reference), &options)?;
    let mut distorted = open(&Input::from_arg(distorted), &options)?;
    let (range, scoring) = (ClipRange::default(), ScorerOptions { threads: 2, ..Default::default() });
    let mut pair = ClipPair::new(&mut *reference, &mut *distorted, &features, range, scoring)?;
    loop {
        let ending = pair.step()?;
        while let Some(s) = pair.scorer().next_score() {
            println!("frame {}: {} = {}", s.frame, pair.scorer().metrics()[s.metric], s.value);
        }
        if let Some(ending) = ending {
            eprintln!("{ending:?}");
            return Ok(());
        }
    }
}
