//! Pipes, places that cannot be written to, and Ctrl-C.

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::util::{Dir, Y4m, clip, ff, have_ffmpeg, jnd, jnd_alone, run, run_with_stdin};
#[cfg(unix)]
use crate::util::{ends_within_a_second, signal};

#[test]
fn a_stream_gives_what_a_file_gives() {
    let d = Dir::new();
    let bytes = clip(48, 32, 20);
    let input = d.write("in.y4m", &bytes);
    for options in [&[][..], &["--filter", "ideal", "--band", "2-6Hz"], &["--mit-compat"]] {
        let output = d.arg("out.y4m");
        run(&mut jnd_alone(&[&["magnify", &input, &output, "--overwrite"], options].concat())).ok();
        let streamed =
            run_with_stdin(&mut jnd_alone(&[&["magnify", "-", "-"], options].concat()), &bytes).ok();
        assert_eq!(Y4m::parse(&streamed.stdout), Y4m::parse(&d.read("out.y4m")), "{options:?}");
    }
    // A file to standard output, standard input to a file.
    let ran = run(&mut jnd_alone(&["magnify", &input, "-", "--alpha", "0"])).ok();
    assert_eq!(Y4m::parse(&ran.stdout).frames, Y4m::parse(&bytes).frames);
    run_with_stdin(&mut jnd_alone(&["magnify", "-", &d.arg("from-stdin.y4m"), "--alpha", "0"]), &bytes).ok();
    assert_eq!(Y4m::parse(&d.read("from-stdin.y4m")).frames, Y4m::parse(&bytes).frames);
}

#[test]
fn a_pipe_cannot_be_read_twice_without_a_spool() {
    let d = Dir::new();
    let bytes = clip(48, 32, 20);
    let ideal = ["--filter", "ideal", "--band", "2-6Hz"];
    let magnify = |options: &[&str]| {
        let output = d.arg("out.y4m");
        let args = [&["magnify", "-", &output], &ideal[..], options].concat();
        run_with_stdin(&mut jnd_alone(&args), &bytes)
    };
    magnify(&["--spool", "none"]).fails(1, &["standard input", "--spool"]);
    assert!(d.files().is_empty());
    magnify(&["--spool-limit", "10kB"]).fails(1, &["standard input", "10000 bytes"]);
    assert!(d.files().is_empty());
    magnify(&["--spool", &d.arg("missing")]).fails(1, &["missing"]);
    assert!(d.files().is_empty());
    std::fs::create_dir(d.path("spool")).expect("a directory");
    magnify(&["--spool", &d.arg("spool")]).ok();
    assert!(std::fs::read_dir(d.path("spool")).expect("the directory").next().is_none());
    assert_eq!(d.files(), ["out.y4m", "spool"]);
}

#[test]
fn a_writer_killed_half_way_is_a_cut_input() {
    let d = Dir::new();
    let bytes = clip(32, 32, 10);
    for options in [&[][..], &["--filter", "ideal", "--band", "2-9Hz"]] {
        let output = d.arg("out.y4m");
        let args = [&["magnify", "-", &output, "--overwrite"], options].concat();
        let ran = run_with_stdin(&mut jnd_alone(&args), &bytes[..bytes.len() - 100]);
        assert_eq!(ran.code, Some(3), "{}", ran.stderr);
        ran.says("after 9 whole frames");
        assert_eq!(Y4m::parse(&d.read("out.y4m")).frames.len(), 9, "{options:?}");
    }
}

#[test]
fn a_reader_that_has_had_enough_ends_the_run_quietly() {
    let d = Dir::new();
    let input = d.write("in.y4m", &clip(64, 64, 400));
    let mut child = jnd_alone(&["magnify", &input, "-", "-q"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut some = [0u8; 1000];
    let mut stdout = child.stdout.take().expect("its output");
    stdout.read_exact(&mut some).expect("the first bytes");
    drop(stdout);
    let output = child.wait_with_output().expect("the command ends");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn text_output_may_be_closed_early_too() {
    let mut child =
        jnd(&["completions", "zsh"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("start");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("the command ends");
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
}

#[test]
fn places_that_cannot_be_written_to_are_found_before_the_work() {
    let d = Dir::new();
    let input = d.write("in.y4m", &clip(16, 16, 3));
    let inside = d.arg("none/out.y4m");
    run(&mut jnd_alone(&["magnify", &input, &inside])).fails(1, &["none/out.y4m"]);
    // A file where a directory should be.
    let inside = format!("{input}/out.y4m");
    run(&mut jnd_alone(&["magnify", &input, &inside])).fails(1, &["in.y4m/out.y4m"]);
    let directory = d.arg("");
    run(&mut jnd_alone(&["magnify", &input, &directory])).fails(1, &[&directory]);
    for name in ["out", "out.txt", "out.avi2"] {
        run(&mut jnd_alone(&["magnify", &input, &d.arg(name)])).fails(2, &[name, ".mkv"]);
    }
    assert_eq!(d.files(), ["in.y4m"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_a_clean_error() {
    let d = Dir::new();
    let input = d.write("in.y4m", &clip(64, 64, 50));
    let full = std::fs::File::options().write(true).open("/dev/full").expect("/dev/full");
    let mut command = jnd_alone(&["magnify", &input, "-"]);
    let ran = run_to(&mut command, full.into());
    assert_eq!(ran.0, Some(1), "{}", ran.1);
    assert!(ran.1.contains("jnd: error: standard output: No space left"), "{}", ran.1);
    // Through a name as well.
    std::os::unix::fs::symlink("/dev/full", d.path("full.y4m")).expect("a link");
    let output = d.arg("full.y4m");
    run(&mut jnd_alone(&["magnify", &input, &output, "--overwrite"]))
        .fails(1, &["full.y4m", "No space left"]);
}

#[cfg(target_os = "linux")]
fn run_to(command: &mut Command, stdout: Stdio) -> (Option<i32>, String) {
    let output = command.stdout(stdout).stderr(Stdio::piped()).spawn().and_then(Child::wait_with_output);
    let output = output.expect("the command ends");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_a_run_and_leaves_nothing() {
    for (name, options) in
        [("-INT", &[][..]), ("-TERM", &[]), ("-INT", &["--filter", "ideal", "--band", "2-6Hz"])]
    {
        let d = Dir::new();
        let output = d.arg("out.y4m");
        let mut child = jnd_alone(&[&["magnify", "-", &output], options].concat())
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command starts");
        // Some frames, and then silence: the reader is stuck in the pipe.
        let mut stdin = child.stdin.take().expect("its input");
        let bytes = clip(64, 64, 12);
        stdin.write_all(&bytes[..bytes.len() - 10]).expect("some frames");
        stdin.flush().expect("some frames");
        let start = Instant::now();
        while d.files().is_empty() {
            assert!(start.elapsed() < Duration::from_secs(20), "the output never started");
            std::thread::sleep(Duration::from_millis(10));
        }
        signal(&child, name);
        let (code, stderr) = ends_within_a_second(child);
        assert_eq!(code, Some(130), "{stderr}");
        assert!(stderr.contains("interrupted; no unfinished file was left"), "{stderr}");
        assert!(d.files().is_empty(), "{:?}", d.files());
        drop(stdin);
    }
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_a_run_whose_reader_sleeps() {
    let d = Dir::new();
    let input = d.write("in.y4m", &clip(128, 128, 200));
    let mut child = jnd_alone(&["magnify", &input, "-"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    // Nobody reads: the writer is stuck in the pipe.
    let mut stdout = child.stdout.take().expect("its output");
    let mut some = [0u8; 10];
    stdout.read_exact(&mut some).expect("the first bytes");
    std::thread::sleep(Duration::from_millis(200));
    signal(&child, "-INT");
    let (code, stderr) = ends_within_a_second(child);
    assert_eq!(code, Some(130));
    // What was written stays with whoever reads.
    assert!(stderr.contains("interrupted; standard output ends after about "), "{stderr}");
    drop(stdout);
}

/// Runs a command whose standard error nobody reads, and one whose standard error is full; returns both exit codes.
#[cfg(target_os = "linux")]
fn unheard(args: &[&str]) -> [Option<i32>; 2] {
    let mut child = jnd_alone(args);
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let closed = child.stdout(Stdio::null()).stderr(writer).status().expect("the command starts").code();
    let full = std::fs::File::options().write(true).open("/dev/full").expect("/dev/full");
    let full =
        jnd_alone(args).stdout(Stdio::null()).stderr(full).status().expect("the command starts").code();
    [closed, full]
}

#[cfg(target_os = "linux")]
#[test]
fn messages_that_nobody_hears_change_nothing() {
    let d = Dir::new();
    let bytes = clip(32, 32, 12);
    let (input, output) = (d.write("in.y4m", &bytes), d.arg("out.y4m"));
    let cut = d.write("cut.y4m", &bytes[..bytes.len() - 100]);
    run(&mut jnd_alone(&["magnify", &input, &d.arg("want.y4m")])).ok();
    for mode in ["auto", "plain", "json"] {
        let args = ["magnify", &input, &output, "-y", "-vv", "--progress", mode];
        assert_eq!(unheard(&args), [Some(0), Some(0)], "{mode}");
        assert_eq!(d.read("out.y4m"), d.read("want.y4m"), "{mode}");
    }
    assert_eq!(unheard(&["magnify", &cut, &output, "-y"]), [Some(3), Some(3)]);
    assert_eq!(unheard(&["magnify", &input, &output]), [Some(1), Some(1)]);
    assert_eq!(unheard(&["magnify", &input, &output, "--bogus"]), [Some(2), Some(2)]);
    let score = ["score", "-r", &input, "-d", &input, "--feature", "motion", "-vv", "--progress", "plain"];
    assert_eq!(unheard(&score), [Some(0), Some(0)]);
    assert_eq!(unheard(&["score", "-r", &input, "-d", &cut, "--feature", "motion"]), [Some(3), Some(3)]);
}

#[cfg(unix)]
#[test]
fn a_limit_on_file_size_is_an_ordinary_error() {
    let d = Dir::new();
    let input = d.write("in.y4m", &clip(64, 64, 50));
    let mut shell = Command::new("sh");
    // Blocks are of 512 or 1024 bytes; the output has 300 kB.
    shell.args(["-c", "ulimit -f 100; exec \"$0\" magnify \"$1\" \"$2\"", env!("CARGO_BIN_EXE_jnd")]);
    shell.args([&input, &d.arg("out.y4m")]).stdin(Stdio::null());
    run(&mut shell).fails(1, &["out.y4m", "File too large"]);
    assert_eq!(d.files(), ["in.y4m"]);
}

/// `ffmpeg` exits with 0 and says nothing where only its last writes fail.
#[cfg(unix)]
#[test]
fn what_ffmpeg_could_not_write_to_the_end_is_no_output() {
    if !have_ffmpeg("last writes") {
        return;
    }
    let d = Dir::new();
    let input = d.arg("in.mkv");
    ff("-f lavfi -i testsrc2=size=320x240:rate=30:duration=1 -c:v ffv1 {}", &[&input]);
    for name in ["out.mp4", "out.mov", "out.mkv", "out.webm"] {
        let output = d.arg(name);
        run(&mut jnd(&["magnify", &input, &output])).ok();
        // Blocks are of 512 or 1024 bytes.
        let blocks = (d.read(name).len() - 1) / 1024;
        d.write(name, b"old");
        for limit in [blocks, blocks - 1, blocks * 19 / 20, blocks * 3 / 4] {
            let mut shell = Command::new("bash");
            let line = format!("ulimit -f {limit}; exec \"$0\" magnify \"$1\" \"$2\" -y");
            shell.args(["-c", &line, env!("CARGO_BIN_EXE_jnd"), &input, &output]).stdin(Stdio::null());
            let ran = run(&mut shell).fails(1, &[name, "File too large"]);
            assert!(!ran.stderr.contains("repeated") && !ran.stderr.contains("trailer"), "{}", ran.stderr);
            assert_eq!(d.read(name), b"old", "{name} {limit}");
        }
    }
    assert_eq!(d.files(), ["in.mkv", "out.mkv", "out.mov", "out.mp4", "out.webm"]);
}

#[test]
fn a_refused_job_leaves_standard_output_untouched() {
    let d = Dir::new();
    let bytes = clip(48, 32, 20);
    let input = d.write("in.y4m", &bytes);
    let refused = |from: &str, options: &[&str], texts: &[&str]| {
        let args =
            [&["magnify", from, "-", "--device", "cpu", "--filter", "ideal", "--band", "2-6Hz"], options];
        let ran = run_with_stdin(&mut jnd_alone(&args.concat()), &bytes).fails(1, texts);
        assert!(ran.stdout.is_empty(), "{options:?}");
    };
    refused("-", &["--spool-limit", "10kB"], &["standard input", "10000 bytes"]);
    refused("-", &["--memory", "1kB"], &["standard input", "1000 are allowed"]);
    refused(&input, &["--memory", "1kB"], &["in.y4m", "1000 are allowed"]);
}

#[test]
fn a_report_to_a_closed_pipe_ends_quietly() {
    let d = Dir::new();
    let input = d.write("in.y4m", &clip(32, 32, 200));
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let mut command = jnd(&["score", "-r", &input, "-d", &input, "--feature", "motion", "-q", "-o", "-"]);
    let output = command.stdout(writer).stderr(Stdio::piped()).spawn().and_then(Child::wait_with_output);
    let output = output.expect("the command ends");
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
}
