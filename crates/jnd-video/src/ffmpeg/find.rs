//! Finding the programs, and what they are asked before the work. Each start of one takes a while, most of it spent on
//! loading its libraries, so one start answers as many questions as it can, and answers are kept while this process runs.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, OnceLock};

use super::media::Media;
use crate::{FfmpegMissing, Result};

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

    pub(super) fn new(command: &OsStr, version: &str) -> Self {
        Self { command: command.to_owned(), version: version.to_owned(), number: number(version) }
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

/// The names of `ffmpeg` and `ffprobe`.
fn names() -> [OsString; 2] {
    let name = |variable, default: &str| std::env::var_os(variable).unwrap_or_else(|| default.into());
    [name("JND_FFMPEG", "ffmpeg"), name("JND_FFPROBE", "ffprobe")]
}

/// What was found under which names.
type Found = HashMap<[OsString; 2], Option<Arc<Ffmpeg>>>;
static FOUND: Mutex<Option<Found>> = Mutex::new(None);

fn known(names: &[OsString; 2]) -> Option<Option<Arc<Ffmpeg>>> {
    let found = FOUND.lock().unwrap_or_else(|e| e.into_inner());
    found.as_ref().and_then(|f| f.get(names)).cloned()
}

fn remember(names: [OsString; 2], programs: Option<Arc<Ffmpeg>>) {
    let mut found = FOUND.lock().unwrap_or_else(|e| e.into_inner());
    found.get_or_insert_default().insert(names, programs);
}

impl Ffmpeg {
    /// Looks for the programs; each is started once and remembered.
    pub fn find() -> Option<Arc<Self>> {
        let names = names();
        if let Some(known) = known(&names) {
            return known;
        }
        // Each takes a while to start, so both are started at once.
        let (ffmpeg, ffprobe) = std::thread::scope(|scope| {
            let probe = scope.spawn(|| version(&names[1]).ok());
            (ffmpeg(&names[0]), probe.join().ok().flatten())
        });
        let found = ffmpeg.zip(ffprobe).map(|(ffmpeg, ffprobe)| Arc::new(Self { ffmpeg, ffprobe }));
        remember(names, found.clone());
        found
    }

    /// Why [`Ffmpeg::find`] finds nothing, and what to do about it. `None` where both programs are there.
    pub fn why_missing() -> Option<String> {
        if Self::find().is_some() {
            return None;
        }
        let (mut whys, mut wrong) = (Vec::new(), Vec::new());
        for (variable, name) in VARIABLES.into_iter().zip(&names()) {
            let Err(why) = version(name) else { continue };
            if name.is_empty() {
                whys.push(format!("{variable} is {why}"));
                wrong.push(variable);
            } else if std::env::var_os(variable).is_some() {
                whys.push(format!("{variable}: {why}"));
                wrong.push(variable);
            } else {
                whys.push(why);
            }
        }
        let what = if wrong.is_empty() {
            "install them (`apt install ffmpeg`, `brew install ffmpeg`, `winget install ffmpeg`, or ffmpeg.org) or set \
             JND_FFMPEG and JND_FFPROBE to their paths"
                .to_owned()
        } else {
            format!(
                "unset {} or set it to the path of the program, and install ffmpeg (`apt install ffmpeg`) where it is not there",
                wrong.join(" and ")
            )
        };
        Some(format!("{}; {what}", whys.join("; ")))
    }

    /// Looks for the programs and asks what a file holds, at once. `None` where there are no programs.
    pub(crate) fn probe(path: &Path) -> Option<Result<Arc<Media>>> {
        let names = names();
        if names.iter().any(|n| n.is_empty()) {
            return None;
        }
        if let Some(known) = known(&names) {
            return known.map(|tools| Media::probe(tools, path));
        }
        let (ffmpeg, said) = std::thread::scope(|scope| {
            let program = scope.spawn(|| ffmpeg(&names[0]));
            let said = super::media::ask(&names[1], path);
            (program.join().ok().flatten(), said)
        });
        // The answer names the program's version, also where the file is not what it should be.
        let ffprobe = match &said {
            Ok(said) => said.version.as_deref().map(|v| Program::new(&names[1], v)),
            Err(_) => None,
        };
        let ffprobe = ffprobe.or_else(|| version(&names[1]).ok());
        let found = ffmpeg.zip(ffprobe).map(|(ffmpeg, ffprobe)| Arc::new(Self { ffmpeg, ffprobe }));
        remember(names, found.clone());
        found.map(|tools| Media::understand(tools, path, said))
    }
}

/// Starts a program to ask for its version, or says why it has none.
fn version(command: &OsStr) -> Result<Program, String> {
    if command.is_empty() {
        return Err("set to nothing".into());
    }
    let out = Command::new(command).arg("-version").stdin(Stdio::null()).stderr(Stdio::null()).output();
    let out = out.map_err(|e| format!("{} cannot be started: {e}", command.display()))?;
    match banner(&String::from_utf8_lossy(&out.stdout)) {
        Some(version) => Ok(Program::new(command, version)),
        None => Err(format!("{} does not say which version it is", command.display())),
    }
}

/// The variables that name the programs.
const VARIABLES: [&str; 2] = ["JND_FFMPEG", "JND_FFPROBE"];

/// Why the programs are not used.
pub(crate) fn missing() -> FfmpegMissing {
    FfmpegMissing(Ffmpeg::why_missing().unwrap_or_else(|| {
        "both are there, but what is built in was asked for; leave out `--decoder built-in` and `--encoder built-in`".into()
    }))
}

/// What is wrong with the variables that name the programs, where one is set to something that does not work.
pub(crate) fn misnamed() -> Option<String> {
    let set = VARIABLES.iter().any(|v| std::env::var_os(v).is_some_and(|name| !name.is_empty()));
    let why = set.then(Ffmpeg::why_missing).flatten()?;
    // Set to nothing, they say on purpose that there is none.
    let off = names().iter().any(|n| n.is_empty());
    (!off && why.contains("JND_")).then(|| format!("what is built in is used in place of ffmpeg: {why}"))
}

/// The version in `ffmpeg version 5.1.9-0+deb12u1 Copyright ...`.
fn banner(text: &str) -> Option<&str> {
    let mut words = text.lines().next()?.split_whitespace();
    words.next().filter(|w| w.starts_with("ff"))?;
    words.next().filter(|&w| w == "version")?;
    words.next()
}

/// What `ffmpeg` says of one of its encoders, and of itself at the same time.
struct Answer {
    program: Option<Program>,
    /// The pixel formats that the encoder takes; `None` where there is no such encoder.
    formats: Option<Vec<String>>,
}

/// One question to `ffmpeg`, asked once; whoever wants the answer meanwhile waits for it.
type Question = Arc<OnceLock<Answer>>;
static ASKED: Mutex<Option<HashMap<(OsString, &'static str), Question>>> = Mutex::new(None);

fn question(command: &OsStr, encoder: &'static str) -> Question {
    let mut asked = ASKED.lock().unwrap_or_else(|e| e.into_inner());
    asked.get_or_insert_default().entry((command.to_owned(), encoder)).or_default().clone()
}

fn answer<'a>(question: &'a Question, command: &OsStr, encoder: &str) -> &'a Answer {
    question.get_or_init(|| {
        let mut ask = Command::new(command);
        let out = ask.args(["-h", &format!("encoder={encoder}")]).stdin(Stdio::null()).output();
        let Ok(out) = out else { return Answer { program: None, formats: None } };
        let (text, said) = (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
        let listed = text.lines().find_map(|l| l.trim().strip_prefix("Supported pixel formats:"));
        Answer {
            program: banner(&said).map(|v| Program::new(command, v)),
            formats: listed.map(|l| l.split_whitespace().map(str::to_owned).collect()),
        }
    })
}

/// The pixel formats that an encoder of this build of `ffmpeg` takes; `None` where it lacks the encoder.
pub(super) fn encoder_formats(command: &OsStr, encoder: &'static str) -> Option<Vec<String>> {
    answer(&question(command, encoder), command, encoder).formats.clone()
}

/// Starts asking what [`encoder_formats`] will be asked. [`Ffmpeg::find`] then needs no start of its own.
pub(super) fn prepare(encoder: &'static str) {
    let [command, _] = names();
    if command.is_empty() {
        return;
    }
    // The question is there before its answer, so that nobody asks another one meanwhile.
    let question = question(&command, encoder);
    // Where no thread can be had, whoever needs the answer asks.
    let _ = std::thread::Builder::new()
        .name("jnd-ask".into())
        .spawn(move || _ = answer(&question, &command, encoder));
}

/// `ffmpeg` under this name, from an answer that is there or on its way, else by asking.
fn ffmpeg(command: &OsStr) -> Option<Program> {
    let pending = {
        let asked = ASKED.lock().unwrap_or_else(|e| e.into_inner());
        asked.as_ref().and_then(|a| {
            a.iter().find(|((c, _), _)| c == command).map(|((_, encoder), q)| (*encoder, q.clone()))
        })
    };
    pending
        .and_then(|(encoder, question)| answer(&question, command, encoder).program.clone())
        .or_else(|| version(command).ok())
}

/// `n9.0.2-17-g2a571b6068` is 9.0; `N-109542-g` and dates are development builds.
fn number(version: &str) -> (u32, u32) {
    let mut parts = version.trim_start_matches('n').split(|c: char| !c.is_ascii_digit());
    let major = parts.next().and_then(|p| p.parse().ok()).filter(|&m| m < 1000);
    let minor = parts.next().and_then(|p| p.parse().ok());
    major.map_or((u32::MAX, 0), |m| (m, minor.unwrap_or(0)))
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
        assert_eq!(banner("ffmpeg version 5.1.9-0 Copyright\nbuilt"), Some("5.1.9-0"));
        assert_eq!(banner("true version 5"), None);
    }

    #[test]
    fn an_empty_or_wrong_name_is_no_program() {
        for (name, why) in
            [("", "nothing"), ("true", "which version"), ("/nonexistent/ffmpeg", "cannot be started")]
        {
            assert!(version(OsStr::new(name)).unwrap_err().contains(why), "{name}");
        }
        assert_eq!(encoder_formats(OsStr::new("true"), "libx264"), None);
        // An answer without a version is not taken for one.
        assert_eq!(ffmpeg(OsStr::new("true")), None);
    }

    #[cfg(unix)]
    #[test]
    fn one_start_answers_for_the_encoder_and_the_program() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let (program, log) = (dir.path().join("ffmpeg"), dir.path().join("log"));
        let text = format!(
            "#!/bin/sh\necho \"$@\" >> {}\necho 'ffmpeg version 7.3-x Copyright' >&2\necho '    Supported pixel formats: gray yuv420p'\n",
            log.display()
        );
        std::fs::write(&program, text).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let formats = encoder_formats(program.as_os_str(), "libx264").unwrap();
        assert_eq!(formats, ["gray", "yuv420p"]);
        assert_eq!(ffmpeg(program.as_os_str()).unwrap().number, (7, 3));
        assert_eq!(encoder_formats(program.as_os_str(), "libx264").unwrap(), formats);
        assert_eq!(std::fs::read_to_string(log).unwrap(), "-h encoder=libx264\n");
    }
}
