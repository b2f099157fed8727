//! Everything that the built-in readers and writers do not do, through the `ffmpeg` and `ffprobe` programs.
//!
//! The programs are started with argument lists, never through a shell; file names are given as `file:NAME`, so that no
//! name can be taken for an option or a protocol. `JND_FFMPEG` and `JND_FFPROBE` name other programs to use; set to
//! nothing, they say that there is none.

mod child;
mod decode;
mod encode;
mod formats;
mod media;
mod plan;

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

pub(crate) use decode::FfmpegReader;
pub(crate) use encode::FfmpegWriter;
pub(crate) use media::Media;
pub(crate) use plan::Container;
#[cfg(feature = "h264")]
pub(crate) use plan::check_even;

/// A program that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// What it is started by.
    pub command: OsString,
    /// Its version as it says it: `5.1.9-0+deb12u1`.
    pub version: String,
    /// Major and minor version. Builds from the development branch carry no number and count as newest.
    pub number: (u32, u32),
}

impl Program {
    /// The version, short: `5.1`.
    pub fn short(&self) -> String {
        match self.number.0 {
            u32::MAX => self.version.chars().take(24).collect(),
            major => format!("{major}.{}", self.number.1),
        }
    }
}

/// Both programs, where both are there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ffmpeg {
    /// `ffmpeg`.
    pub ffmpeg: Program,
    /// `ffprobe`.
    pub ffprobe: Program,
}

impl Ffmpeg {
    /// Looks for the programs; each is started once and remembered.
    pub fn find() -> Option<Arc<Self>> {
        type Known = HashMap<[OsString; 2], Option<Arc<Ffmpeg>>>;
        static FOUND: Mutex<Option<Known>> = Mutex::new(None);
        let name = |variable, default: &str| std::env::var_os(variable).unwrap_or_else(|| default.into());
        let key = [name("JND_FFMPEG", "ffmpeg"), name("JND_FFPROBE", "ffprobe")];
        let mut found = FOUND.lock().unwrap_or_else(|e| e.into_inner());
        found
            .get_or_insert_default()
            .entry(key.clone())
            .or_insert_with(|| {
                let [ffmpeg, ffprobe] = key;
                // Each takes a while to start, so both are started at once.
                let (ffmpeg, ffprobe) = std::thread::scope(|scope| {
                    let probe = scope.spawn(|| version(ffprobe));
                    (version(ffmpeg), probe.join().ok().flatten())
                });
                Some(Arc::new(Self { ffmpeg: ffmpeg?, ffprobe: ffprobe? }))
            })
            .clone()
    }
}

/// Starts a program to ask for its version.
fn version(command: OsString) -> Option<Program> {
    if command.is_empty() {
        return None;
    }
    let out =
        Command::new(&command).arg("-version").stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&out.stdout);
    // `ffmpeg version 5.1.9-0+deb12u1 Copyright ...`
    let mut words = text.lines().next()?.split_whitespace();
    words.next().filter(|w| w.starts_with("ff"))?;
    words.next().filter(|&w| w == "version")?;
    let version = words.next()?.to_owned();
    let number = number(&version);
    Some(Program { command, version, number })
}

/// `n9.0.2-17-g2a571b6068` is 9.0; `N-109542-g` and dates are development builds.
fn number(version: &str) -> (u32, u32) {
    let mut parts = version.trim_start_matches('n').split(|c: char| !c.is_ascii_digit());
    let major = parts.next().and_then(|p| p.parse().ok()).filter(|&m| m < 1000);
    let minor = parts.next().and_then(|p| p.parse().ok());
    major.map_or((u32::MAX, 0), |m| (m, minor.unwrap_or(0)))
}

/// A path as the programs take it.
pub(crate) fn file_argument(path: &Path) -> OsString {
    let mut s = OsString::from("file:");
    s.push(path);
    s
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_understood() {
        assert_eq!(number("5.1.9-0+deb12u1"), (5, 1));
        assert_eq!(number("n9.0.2-17-g2a571b6068-20260930"), (9, 0));
        assert_eq!(number("8.0"), (8, 0));
        assert_eq!(number("N-109542-gabc"), (u32::MAX, 0));
        assert_eq!(number("2024-01-01-git-abc"), (u32::MAX, 0));
    }

    #[test]
    fn an_empty_or_wrong_name_is_no_program() {
        assert_eq!(version(OsString::new()), None);
        assert_eq!(version("true".into()), None);
        assert_eq!(version("/nonexistent/ffmpeg".into()), None);
    }
}
