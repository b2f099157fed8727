//! Exit codes, and how a failure is printed.

use std::error::Error;

use crate::{Verbosity, say};

/// The job was done.
pub(crate) const DONE: u8 = 0;
/// The job failed.
pub(crate) const FAILURE: u8 = 1;
/// The command line makes no sense.
pub(crate) const USAGE: u8 = 2;
/// The input was cut off; the output holds all its whole frames.
pub(crate) const TRUNCATED: u8 = 3;
/// The user asked to stop.
pub(crate) const INTERRUPTED: u8 = 130;

/// A failure on its way to the user.
#[derive(Debug)]
pub(crate) struct Failure {
    code: u8,
    /// None where the code says it all: a closed pipe, an interrupt already reported.
    error: Option<Box<dyn Error>>,
}

impl Failure {
    /// A failure with the given exit code.
    pub(crate) fn new(code: u8, error: impl Into<Box<dyn Error>>) -> Self {
        Self { code, error: Some(error.into()) }
    }

    /// An end without a message.
    pub(crate) fn silent(code: u8) -> Self {
        Self { code, error: None }
    }

    /// Prints the failure, one line, or with `-v` the causes below it, and returns the exit code.
    pub(crate) fn report(self, verbosity: Verbosity) -> u8 {
        if let Some(error) = &self.error {
            let mut said = error.to_string();
            say::line(format_args!("jnd: error: {}", one_line(&said)));
            if verbosity.verbose > 0 {
                let mut cause = error.source();
                while let Some(c) = cause {
                    let text = c.to_string();
                    // Many messages carry their cause's text already.
                    if !said.contains(&text) {
                        say::line(format_args!(
                            "jnd:   because: {}",
                            text.trim_end().replace('\n', "\njnd:     ")
                        ));
                        said = text;
                    }
                    cause = c.source();
                }
            }
        }
        self.code
    }
}

impl From<jnd::Error> for Failure {
    fn from(error: jnd::Error) -> Self {
        match &error {
            // Whoever read our output has had enough: that is no failure of ours, and nobody is left to tell.
            e if e.is_broken_pipe() => Self::silent(DONE),
            e if e.is_interrupted() => Self::new(INTERRUPTED, crate::interrupt::MESSAGE),
            e if e.is_usage() => Self::new(USAGE, error),
            _ => Self::new(FAILURE, error),
        }
    }
}

/// Writing the command's own text to standard output failed.
impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            return Self::silent(DONE);
        }
        Self::new(FAILURE, format!("standard output: {error}"))
    }
}

/// Line breaks become semicolons, so that one failure is one line.
fn one_line(text: &str) -> String {
    text.lines().map(str::trim).filter(|l| !l.is_empty()).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_one_line() {
        assert_eq!(one_line("a\n b \n\nc\n"), "a; b; c");
    }
}
