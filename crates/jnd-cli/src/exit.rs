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
            say::line(format_args!("jnd: error: {}", one_line(&error.to_string())));
            if verbosity.verbose > 0 {
                for cause in causes(&**error) {
                    say::line(format_args!(
                        "jnd:   because: {}",
                        cause.trim_end().replace('\n', "\njnd:     ")
                    ));
                }
            }
        }
        self.code
    }
}

/// What lies behind an error, from the nearest cause to the first. A cause of our own whose words the message before it
/// has in full is left out; what the system said always stands at the end.
fn causes(error: &(dyn Error + 'static)) -> Vec<String> {
    let chain = std::iter::successors(error.source(), |&e| e.source());
    let (mut said, mut causes) = (error.to_string(), Vec::new());
    for cause in chain {
        let text = cause.to_string();
        if cause.is::<std::io::Error>() || !said.contains(&text) {
            causes.push(text.clone());
            said = text;
        }
    }
    causes
}

impl From<jnd::Error> for Failure {
    fn from(error: jnd::Error) -> Self {
        match &error {
            // Whoever read our output has had enough: that is no failure of ours, and nobody is left to tell.
            e if e.is_broken_pipe() => Self::silent(DONE),
            e if e.is_interrupted() => Self::new(INTERRUPTED, crate::interrupt::message()),
            e if e.is_usage() => Self::new(USAGE, error),
            _ => Self::new(FAILURE, error),
        }
    }
}

/// Writing the command's own text to standard output failed.
impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        jnd::Error::from(jnd::video::Error::Io { path: "standard output".into(), source: error }).into()
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

    #[test]
    fn causes_are_not_repeated_and_end_with_the_systems_words() {
        #[derive(Debug, thiserror::Error)]
        enum E {
            #[error("a: {source}")]
            Outer { source: Box<E> },
            #[error("b")]
            Hidden { source: std::io::Error },
        }
        let system = std::io::Error::from(std::io::ErrorKind::NotFound);
        let text = system.to_string();
        let inner = E::Hidden { source: system };
        assert_eq!(causes(&E::Outer { source: Box::new(inner) }), [text]);
        let system = std::io::Error::from(std::io::ErrorKind::NotFound);
        let error = jnd::video::Error::Io { path: "x".into(), source: system };
        assert_eq!(causes(&jnd::Error::from(error)).len(), 1);
    }
}
