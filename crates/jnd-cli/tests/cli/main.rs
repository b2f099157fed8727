//! The command, run as its users run it. Every test makes its own input; those that need `ffmpeg` say so and pass
//! where it is not there.

mod arguments;
mod bench;
mod demo;
mod foreign;
mod formats;
mod ideal;
mod known;
mod messages;
mod options;
mod score;
mod streams;
mod usage;
mod util;
