//! Running a program: its messages kept, its end waited for, never left behind.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;

use crate::error::ChildMessage;
use crate::{Error, Result};

/// Lines kept from the start and from the end of what a program says.
const KEEP: usize = 12;

/// A program at work.
pub(super) struct Running {
    child: Child,
    listener: Option<JoinHandle<(Vec<String>, u64)>>,
    program: &'static str,
    name: String,
}

/// How a program ended.
pub(super) struct Ended {
    pub(super) status: ExitStatus,
    /// What it said, without the address that it puts before each line.
    pub(super) lines: Vec<String>,
    /// How many lines that were, with those that are left out above because they repeat others.
    pub(super) said: u64,
}

impl Running {
    /// Starts a program. `name` is the file that the work is about.
    pub(super) fn start(mut command: Command, program: &'static str, name: &str) -> Result<Self> {
        // Ctrl-C is for this process, which then decides what becomes of its children.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        tracing::info!("starting {command:?}");
        let mut child = command
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|e| Error::io(format!("{program} for {name}"), e))?;
        let listener = child
            .stderr
            .take()
            .map(|pipe| std::thread::Builder::new().name("jnd-stderr".into()).spawn(move || listen(pipe)))
            .transpose()
            .map_err(|e| Error::io(format!("{program} for {name}"), e))?;
        Ok(Self { child, listener, program, name: name.to_owned() })
    }

    pub(super) fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// Waits for the program's end.
    pub(super) fn wait(&mut self) -> Result<Ended> {
        let status =
            self.child.wait().map_err(|e| Error::io(format!("{} for {}", self.program, self.name), e))?;
        let (lines, said) = self.listener.take().and_then(|l| l.join().ok()).unwrap_or_default();
        Ok(Ended { status, lines, said })
    }

    /// The error of a program that has ended badly.
    pub(super) fn failure(&self, ended: &Ended) -> Error {
        let said = ended.lines.join("; ");
        Error::Child {
            path: self.name.clone(),
            program: self.program,
            status: ended.status.to_string(),
            source: ChildMessage(if said.is_empty() { "it gave no reason".into() } else { said }),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Nothing is done where it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Different lines, and how many there were in all.
fn listen(pipe: ChildStderr) -> (Vec<String>, u64) {
    let (mut lines, mut said) = (Vec::new(), 0);
    let mut reader = BufReader::new(pipe);
    let mut raw = Vec::new();
    while let Ok(1..) = std::io::Read::take(&mut reader, 4096).read_until(b'\n', &mut raw) {
        let text = String::from_utf8_lossy(&raw);
        let line = strip_address(text.trim()).to_owned();
        said += u64::from(!line.is_empty());
        // A decoder may repeat itself for every frame.
        if !line.is_empty() && !lines.contains(&line) {
            if lines.len() >= 2 * KEEP {
                lines.remove(KEEP);
            }
            lines.push(line);
        }
        raw.clear();
    }
    (lines, said)
}

/// `[mov,mp4 @ 0x55d7] moov atom not found` without the bracket, which means nothing to a reader.
fn strip_address(line: &str) -> &str {
    match line.strip_prefix('[').and_then(|l| l.split_once("] ")) {
        Some((head, rest)) if head.contains(" @ 0x") => strip_address(rest),
        _ => line,
    }
}

/// Makes a pipe larger, so that a frame takes few switches between the processes. A wish, not a need.
#[cfg(target_os = "linux")]
pub(super) fn enlarge_pipe(pipe: &impl std::os::fd::AsFd) {
    // The largest size that needs no privilege.
    let _ = rustix::pipe::fcntl_setpipe_size(pipe, 1 << 20);
}

#[cfg(not(target_os = "linux"))]
pub(super) fn enlarge_pipe<T>(_: &T) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_taken_off() {
        assert_eq!(strip_address("[mov,mp4 @ 0x55d7] moov atom not found"), "moov atom not found");
        assert_eq!(strip_address("[a @ 0x1] [b @ 0x2] c"), "c");
        assert_eq!(strip_address("[not] an address"), "[not] an address");
    }

    #[cfg(unix)]
    #[test]
    fn what_a_failing_program_says_is_in_the_error() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo one >&2; echo one >&2; echo two >&2; exit 3"]);
        let mut r = Running::start(command, "ffmpeg", "x.mp4").unwrap();
        let ended = r.wait().unwrap();
        assert_eq!(ended.lines, ["one", "two"]);
        assert_eq!(ended.said, 3);
        let e = r.failure(&ended);
        assert!(e.to_string().contains("x.mp4") && e.to_string().contains("one; two"), "{e}");
        assert_eq!(std::error::Error::source(&e).unwrap().to_string(), "one; two");
    }
}
