//! What the tests of the command share: running it, small clips, and `ffmpeg` where it is there.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
#[cfg(unix)]
use std::{
    process::Child,
    time::{Duration, Instant},
};

/// A directory of a test's own, removed at its end.
pub(crate) struct Dir(tempfile::TempDir);

impl Dir {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary directory"))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn arg(&self, name: &str) -> String {
        self.path(name).to_str().expect("UTF-8").to_owned()
    }

    /// Writes a file and returns its path as an argument.
    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> String {
        std::fs::write(self.path(name), bytes).expect("a written file");
        self.arg(name)
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    /// Names of the files in it, hidden ones included, sorted.
    pub(crate) fn files(&self) -> Vec<String> {
        let list = std::fs::read_dir(self.0.path()).expect("the directory");
        let mut names: Vec<String> =
            list.map(|e| e.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

/// The command, ready for more arguments.
pub(crate) fn jnd(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_jnd"));
    command.args(args).stdin(Stdio::null());
    command
}

/// The command on a machine without `ffmpeg`.
pub(crate) fn jnd_alone(args: &[&str]) -> Command {
    let mut command = jnd(args);
    command.env("JND_FFMPEG", "/nonexistent/ffmpeg").env("JND_FFPROBE", "/nonexistent/ffprobe");
    command
}

/// How a run ended.
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

pub(crate) fn run(command: &mut Command) -> Ran {
    let output = command.output().expect("the command starts");
    ran(output)
}

pub(crate) fn run_with_stdin(command: &mut Command, bytes: &[u8]) -> Ran {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut stdin = child.stdin.take().expect("its input");
    let bytes = bytes.to_vec();
    let feeder = std::thread::spawn(move || {
        // The command may end before it has read everything.
        let _ = stdin.write_all(&bytes);
    });
    let output = child.wait_with_output().expect("the command ends");
    feeder.join().expect("the feeder");
    ran(output)
}

fn ran(output: Output) -> Ran {
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!stderr.contains("panicked"), "{stderr}");
    Ran { code: output.status.code(), stdout: output.stdout, stderr }
}

impl Ran {
    /// The run went well.
    #[track_caller]
    pub(crate) fn ok(self) -> Self {
        assert_eq!(self.code, Some(0), "{}", self.stderr);
        self
    }

    /// The run failed with `code` and one line on standard error that has all of `texts` in it.
    #[track_caller]
    pub(crate) fn fails(self, code: i32, texts: &[&str]) -> Self {
        assert_eq!(self.code, Some(code), "{}", self.stderr);
        let errors: Vec<&str> = self.stderr.lines().filter(|l| l.starts_with("jnd: error: ")).collect();
        assert_eq!(errors.len(), 1, "{}", self.stderr);
        for text in texts {
            assert!(errors[0].contains(text), "`{text}` is missing in: {}", self.stderr);
        }
        self
    }

    /// The failure is all there is on standard error: one line.
    #[track_caller]
    pub(crate) fn alone(self) -> Self {
        assert_eq!(self.stderr.lines().count(), 1, "{}", self.stderr);
        self
    }

    /// Standard error has `text` in it.
    #[track_caller]
    pub(crate) fn says(self, text: &str) -> Self {
        assert!(self.stderr.contains(text), "`{text}` is missing in: {}", self.stderr);
        self
    }
}

/// A YUV4MPEG2 file, taken apart.
#[derive(Debug, PartialEq)]
pub(crate) struct Y4m {
    pub(crate) header: String,
    pub(crate) frames: Vec<Vec<u8>>,
}

impl Y4m {
    #[track_caller]
    pub(crate) fn parse(bytes: &[u8]) -> Self {
        let end = bytes.iter().position(|&b| b == b'\n').expect("a header");
        let header = String::from_utf8(bytes[..end].to_vec()).expect("a header in ASCII");
        let tag = |c: char| {
            header.split(' ').skip(1).find_map(|t| t.strip_prefix(c)).map(str::to_owned).unwrap_or_default()
        };
        let (w, h): (usize, usize) = (tag('W').parse().expect("W"), tag('H').parse().expect("H"));
        let c = tag('C');
        let samples = match c.split('p').next().unwrap_or_default() {
            "mono" | "mono10" | "mono12" | "mono16" => w * h,
            "422" => w * h + 2 * w.div_ceil(2) * h,
            "444" => 3 * w * h,
            _ => w * h + 2 * w.div_ceil(2) * h.div_ceil(2),
        };
        let deep = ["p10", "p12", "p14", "p16", "mono10", "mono12", "mono16"].iter().any(|d| c.ends_with(d));
        let size = samples * if deep { 2 } else { 1 };
        let mut frames = Vec::new();
        let mut rest = &bytes[end + 1..];
        while !rest.is_empty() {
            let line = rest.iter().position(|&b| b == b'\n').expect("a frame header");
            assert!(rest.starts_with(b"FRAME"), "frame {} starts elsewhere", frames.len());
            frames.push(rest[line + 1..line + 1 + size].to_vec());
            rest = &rest[line + 1 + size..];
        }
        Self { header, frames }
    }
}

/// A clip of `frames` frames at 25 a second in which a soft blob moves a little and everything flickers a little.
pub(crate) fn clip(width: usize, height: usize, frames: usize) -> Vec<u8> {
    clip_tagged(&format!("W{width} H{height} F25:1 Ip A1:1 C420jpeg"), width, height, frames)
}

/// The same with a header of one's own (4:2:0, 8 bits).
pub(crate) fn clip_tagged(tags: &str, width: usize, height: usize, frames: usize) -> Vec<u8> {
    let mut out = format!("YUV4MPEG2 {tags}\n").into_bytes();
    for t in 0..frames {
        out.extend_from_slice(b"FRAME\n");
        let sway = (t as f64 * 0.7).sin();
        for y in 0..height {
            for x in 0..width {
                let (dx, dy) = (x as f64 - width as f64 / 2.0 - sway, y as f64 - height as f64 / 2.0);
                let blob = 80.0 * (-(dx * dx + dy * dy) / (width * height) as f64 * 12.0).exp();
                out.push((90.0 + blob + 2.0 * sway) as u8);
            }
        }
        for plane in 0..2 {
            for i in 0..width.div_ceil(2) * height.div_ceil(2) {
                out.push(((i + plane * 40) % 64) as u8 + 96 + (t % 3) as u8);
            }
        }
    }
    out
}
/// Whether `ffmpeg` is there; says so where not, so that a skipped test shows.
pub(crate) fn have_ffmpeg(test: &str) -> bool {
    let there = |p: &str| Command::new(p).arg("-version").output().is_ok_and(|o| o.status.success());
    let both = there("ffmpeg") && there("ffprobe");
    if !both {
        eprintln!("{test}: skipped, there is no ffmpeg here");
    }
    both
}

/// Sends a running command a signal.
#[cfg(unix)]
pub(crate) fn signal(child: &Child, name: &str) {
    let status = Command::new("kill").args([name, &child.id().to_string()]).status().expect("kill");
    assert!(status.success());
}

/// The end of a command that was told to stop: its exit code and standard error.
#[cfg(unix)]
pub(crate) fn ends_within_a_second(mut child: Child) -> (Option<i32>, String) {
    let start = Instant::now();
    while child.try_wait().expect("its state").is_none() {
        // A loaded machine may take longer to get round to it; a job that does not listen takes for ever.
        assert!(start.elapsed() < Duration::from_secs(5), "still running");
        std::thread::sleep(Duration::from_millis(10));
    }
    let output = child.wait_with_output().expect("its output");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Runs `ffmpeg` with arguments separated by spaces; `{}` stands for the next of `paths`.
#[track_caller]
pub(crate) fn ff(arguments: &str, paths: &[&str]) {
    let mut paths = paths.iter();
    let args = arguments.split_whitespace().map(|a| {
        if a == "{}" { (*paths.next().expect("a path for each {}")).to_owned() } else { a.to_owned() }
    });
    let output = Command::new("ffmpeg")
        .args(["-hide_banner", "-nostdin", "-loglevel", "error", "-y"])
        .args(args)
        .output()
        .expect("ffmpeg starts");
    assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
}

/// What `ffprobe` prints for `-show_entries ENTRIES` of the picture stream, one value a line.
#[track_caller]
pub(crate) fn probe(path: &Path, entries: &str) -> Vec<String> {
    let output = Command::new("ffprobe")
        .args(["-v", "error", "-select_streams", "v:0", "-show_entries", entries, "-of", "csv=p=0"])
        .arg(path)
        .output()
        .expect("ffprobe starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .map(|l| l.trim().trim_end_matches(',').to_owned())
        .filter(|l| !l.is_empty())
        .collect()
}

/// The frames of any video as `ffmpeg` shows them (turned upright), in their own pixel format.
#[track_caller]
pub(crate) fn shown(dir: &Dir, path: &str) -> Y4m {
    let out = dir.arg("shown-by-ffmpeg.y4m");
    ff("-i {} -strict -1 -vsync passthrough -f yuv4mpegpipe {}", &[path, &out]);
    Y4m::parse(&dir.read("shown-by-ffmpeg.y4m"))
}
