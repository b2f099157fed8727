//! The `jnd` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(jnd_cli::run(std::env::args_os()))
}
