//! How long scoring takes on the first card, stage by stage, beside what the card and its bus can do. Without a card it
//! says so and ends.
//!
//! Arguments: WIDTH HEIGHT BATCH RUNS [FEATURE ...] for one measurement; without any, the usual ones.

use jnd_cuda::{Context, Device, ceilings};
use jnd_score::cuda::{CudaOptions, measure};
use jnd_score::{Feature, Geometry};
use jnd_video::{Layout, PixelFormat};

const ALL: [&str; 4] = ["motion", "float_motion", "speed_chroma", "speed_temporal"];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Cargo passes --bench.
    let args: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let context = match Context::open(Device(0)) {
        Ok(context) => context,
        Err(e) => {
            eprintln!("skipped: {e}");
            return Ok(());
        }
    };
    if args.is_empty() {
        for (width, height, batch, runs) in
            [(3840, 2160, 32, 10), (3840, 2160, 64, 10), (1920, 1080, 32, 10), (576, 324, 64, 20)]
        {
            report(&context, width, height, batch, runs, &ALL)?;
        }
        return Ok(());
    }
    let number = |i: usize| args.get(i).map_or(Ok(0), |a| a.parse::<usize>());
    let named: Vec<&str> = args.iter().skip(4).map(String::as_str).collect();
    let named = if named.is_empty() { &ALL[..] } else { &named };
    report(&context, number(0)?, number(1)?, number(2)?, number(3)?, named)
}

/// Prints one measurement; a batch of 0 is the usual one.
fn report(
    context: &Context,
    width: usize,
    height: usize,
    batch: usize,
    runs: usize,
    features: &[&str],
) -> Result<(), Box<dyn std::error::Error>> {
    let features = features.iter().map(|f| Feature::parse(f)).collect::<Result<Vec<_>, _>>()?;
    let geometry = Geometry { format: PixelFormat::new(Layout::Yuv420, 8)?, width, height };
    let rates = ceilings(context, 1 << 30)?;
    let options = CudaOptions { batch: (batch > 0).then_some(batch), ..CudaOptions::default() };
    let m = measure(context, &features, geometry, &options, runs)?;
    let n = m.plan.batch as f64;
    println!("{}: {geometry}, batches of {}", context.info().name, m.plan.batch);
    println!("ceilings GB/s: copy {:.0}, read {:.0}, up {:.1}", rates.copy, rates.read, rates.up);
    for s in &m.stages {
        println!(
            "{:15} {:20} {:9.2} us a batch {:8.3} us a pair",
            s.feature,
            s.name,
            s.seconds * 1e6,
            s.seconds * 1e6 / n
        );
    }
    println!("kernels side by side {:.2} us a pair", m.kernels * 1e6 / n);
    let bus = m.plan.pair_bytes as f64 / rates.up / 1e3;
    println!(
        "whole run {:.2} us a pair, bus {bus:.2} us, ratio {:.3}; {} pairs, {:?}; set up in {:.1} ms",
        m.whole * 1e6,
        m.whole * 1e6 / bus,
        m.pairs,
        m.counts,
        m.setup * 1e3
    );
    println!(
        "device {:.1} MB, pinned {:.1} MB, pair {:.2} MB; {:?}",
        m.plan.device_bytes as f64 / 1e6,
        m.plan.pinned_bytes as f64 / 1e6,
        m.plan.pair_bytes as f64 / 1e6,
        m.plan.parts
    );
    Ok(())
}
