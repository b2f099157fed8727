//! `jnd doctor`: what works on this machine, what is missing, and what that costs.

use std::io::Write;

use crate::exit::{DONE, Failure};

/// Prints the report.
pub(crate) fn run() -> Result<u8, Failure> {
    let mut text = String::new();
    let mut line = |what: &str, how: &str| {
        text.push_str(&format!("{what:<12} {how}\n"));
    };
    line("jnd", env!("CARGO_PKG_VERSION"));
    line("system", &format!("{} {}", std::env::consts::OS, std::env::consts::ARCH));
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    line("processor", &format!("{threads} threads, {}", vector_instructions()));
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(DONE)
}

/// Vector instructions in use, and why not the best.
fn vector_instructions() -> String {
    use jnd::video::simd::Level;
    let (used, best) = (Level::get(), Level::detected());
    let name = |level: Level| match level.to_string().as_str() {
        "scalar" => "the target's base".to_owned(),
        other => other.to_owned(),
    };
    if used == best {
        format!("vector instructions: {}", name(used))
    } else {
        format!("vector instructions: {} (JND_SIMD holds them below {})", name(used), name(best))
    }
}
