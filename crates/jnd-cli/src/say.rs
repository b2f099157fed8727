//! Standard error. Everything that the program says there passes through here: whoever listens may be gone or have no
//! room left, and neither is a reason to stop a job or to change its exit code.

use std::fmt;
use std::io::{self, Write};

/// Writes a line to standard error, if it can be written.
pub(crate) fn line(text: impl fmt::Display) {
    // One write a line, so that lines of several threads do not mix.
    let _ = Errors.write_all(format!("{text}\n").as_bytes());
}

/// Standard error as a writer that never fails.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Errors;

impl Write for Errors {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _ = io::stderr().lock().write_all(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let _ = io::stderr().lock().flush();
        Ok(())
    }
}
