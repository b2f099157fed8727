//! Mistakes that the command line alone shows: one line each, in plain words, with the way out.

use std::process::Stdio;

use crate::util::{Dir, clip, clip_tagged, have_ffmpeg, jnd, jnd_alone, run};

#[test]
fn a_mistake_is_one_line_that_says_what_is_possible() {
    let cases: [(&[&str], &[&str]); 21] = [
        (&["magnify"], &["<INPUT> <OUTPUT>", "see `jnd magnify --help`"]),
        (&["magnify", "a", "b", "c"], &["unexpected argument 'c'"]),
        (&["magnify", "a", "b", "--bogus"], &["unexpected argument '--bogus'", "see `jnd magnify --help`"]),
        (&["magnify", "a", "b", "--lamda-c", "3"], &["'--lamda-c'", "did you mean --lambda-c?"]),
        (
            &["magnify", "a", "b", "--filter", "fir"],
            &["possible values: iir, butterworth, ideal", "mean iir?"],
        ),
        (&["magnify", "a", "b", "--preset"], &["a value is required for '--preset"]),
        (&["magnify", "a", "b", "-q", "-v"], &["'--quiet' cannot be used with"]),
        (&["magnify", "a", "b", "--crf", "300"], &["300 is not from 0 to 255"]),
        (&["magnify", "a", "b", "--alpha", "x"], &["'--alpha <GAIN>': not a number"]),
        (&["magnify", "a", "b", "--level", "x"], &["'--level <N>': not a whole number"]),
        (&["magnify", "a", "b", "--threads", "-1"], &["not a whole number from 0 to 256"]),
        (&["magnify", "a", "b", "--threads", "100000"], &["not a whole number from 0 to 256"]),
        (&["magnify", "a", "b", "--start", "1:60"], &["[HH:]MM:SS, such as 1:23.5"]),
        (&["magnify", "a", "b", "--band", "-1-2Hz"], &["not a number from 0 up", "like 0.8-1Hz"]),
        (&["magnify", "a", "b", "--band=-1-2Hz"], &["not a number from 0 up"]),
        (&["magnify", "a", "b", "--band", "nan-2Hz"], &["not a number from 0 up"]),
        (&["magnify", "a", "b", "--band", "1-2kHz"], &["the unit is neither Hz nor bpm"]),
        (&["magnify", "-", "-o", "-"], &["the output is the second argument", "jnd magnify INPUT OUTPUT"]),
        (&["magnif"], &["'magnif'", "did you mean magnify?", "see `jnd --help`"]),
        (&["bench", "score", "--threads", "x"], &["'x'", "see `jnd bench score --help`"]),
        (&["presets", "x"], &["'x'", "see `jnd presets --help`"]),
    ];
    for (args, texts) in cases {
        let ran = run(&mut jnd(args)).fails(2, texts).alone();
        assert!(ran.stdout.is_empty() && !ran.stderr.contains("tip:"), "{args:?}: {}", ran.stderr);
        assert!(!ran.stderr.contains("-- --bogus"), "{}", ran.stderr);
    }
    // `score` has the exit code, and the usage below the message, of the command whose arguments it takes.
    let ran = run(&mut jnd(&["score", "--bogus"])).fails(1, &["'--bogus'", "see `jnd score --help`"]);
    assert!(ran.stderr.lines().nth(1).is_some_and(|l| l.starts_with("Usage: jnd score ")), "{}", ran.stderr);
    // Without a command there is the help.
    let ran = run(&mut jnd(&[]));
    assert_eq!(ran.code, Some(2));
    ran.says("Commands:");
}

#[test]
fn times_are_seconds_or_minutes_and_seconds() {
    let d = Dir::new();
    let input = d.write("in.y4m", &clip(16, 16, 60));
    let cut = |name: &str, start: &str, end: &str| {
        run(&mut jnd(&["magnify", &input, &d.arg(name), "--start", start, "--end", end])).ok();
        d.read(name)
    };
    let want = cut("a.y4m", "1", "1.6");
    assert_eq!(cut("b.y4m", "00:00:01", "0:01.6"), want);
    assert_eq!(want.windows(6).filter(|w| w == b"FRAME\n").count(), 15);
}

#[test]
fn bands_beyond_a_clip_say_what_helps() {
    let d = Dir::new();
    let input = d.write("in.y4m", &clip(16, 16, 30));
    let output = d.arg("out.y4m");
    let magnify = |options: &[&str]| {
        run(&mut jnd(&[&["magnify", &input, &output, "--filter", "ideal"], options].concat()))
    };
    magnify(&["--band", "10-13Hz"]).fails(1, &["--capture-fps"]).alone();
    let ran = magnify(&["--band", "10-13Hz", "--capture-fps", "24"]).fails(1, &["13 Hz", "lower the band"]);
    assert!(!ran.stderr.contains("captured"), "{}", ran.stderr);
    magnify(&["--band", "0.9-1Hz"]).fails(1, &["frames would do, and ", " or more always do"]);
    // Where the next length that would do is the one from which on all do, it is said once.
    let ran = magnify(&["--band", "0-0.5Hz"]).fails(1, &["use a longer clip: 51 or more always do"]);
    assert!(!ran.stderr.contains("would do"), "{}", ran.stderr);
}

#[test]
fn huge_numbers_are_short() {
    let ran = run(&mut jnd(&["magnify", "a.y4m", "b.y4m", "--alpha", "1e300"]));
    let ran = ran.fails(2, &["alpha is 1e300, but must be a number 0 to 1000000"]).alone();
    assert!(ran.stderr.len() < 150, "{}", ran.stderr);
}

#[test]
fn outputs_that_no_clip_could_have_are_mistakes_of_the_command_line() {
    let d = Dir::new();
    let input = d.write("in.y4m", &clip(16, 16, 3));
    let odd = d.write("odd.y4m", &clip_tagged("W15 H16 F25:1 Ip C420jpeg", 15, 16, 3));
    let magnify = |input: &str, output: &str, options: &[&str]| {
        run(&mut jnd(&[&["magnify", input, &d.arg(output)], options].concat()))
    };
    magnify(&input, "out.avi", &[]).fails(2, &["`.avi`", ".mp4"]).alone();
    magnify(&input, "out", &[]).fails(2, &["without extension"]).alone();
    if have_ffmpeg("outputs that no clip could have") {
        magnify(&input, "out.mp4", &["--codec", "vp9"]).fails(2, &["vp9 in .mp4"]).alone();
        magnify(&input, "out.mp4", &["--lossless"]).fails(2, &["ffv1 in .mp4", ".mkv"]).alone();
        magnify(&input, "out.webm", &["--codec", "h264"]).fails(2, &["h264 in .webm"]).alone();
        magnify(&input, "out.mp4", &["--pix-fmt", "yuv444p12"]).fails(2, &["4:4:4", "h264"]).alone();
        // What depends on the clip stays a failure.
        magnify(&odd, "out.mp4", &[]).fails(1, &["odd size"]).alone();
    }
    assert_eq!(d.files(), ["in.y4m", "odd.y4m"]);
}

#[test]
fn fewer_threads_are_taken_where_memory_is_short() {
    let d = Dir::new();
    let input = d.write("in.y4m", &clip(320, 240, 40));
    let magnify = |output: &str, options: &[&str]| {
        let ideal =
            ["magnify", &input, &d.arg(output), "--device", "cpu", "--filter", "ideal", "--band", "3-8Hz"];
        run(&mut jnd(&[&ideal[..], options].concat()))
    };
    let need = |options: &[&str]| -> u64 {
        let ran =
            magnify("none.y4m", &[options, &["--memory", "1"]].concat()).fails(1, &["--memory"]).alone();
        let (_, rest) = ran.stderr.split_once("needs at least ").expect("a need");
        rest.split_once(" bytes").and_then(|(n, _)| n.parse().ok()).expect("bytes")
    };
    // The least is that of one thread, whatever is asked for.
    let least = need(&["--threads", "1"]);
    assert_eq!(need(&["--threads", "4"]), least);
    let memory = least.to_string();
    let ran = magnify("short.y4m", &["--threads", "4", "--memory", &memory]).ok();
    ran.says("device    processor, 1 thread, ");
    magnify("long.y4m", &["--threads", "4"]).ok().says("device    processor, 4 threads, ");
    assert_eq!(d.read("short.y4m"), d.read("long.y4m"));
}

#[cfg(any(target_os = "linux", target_os = "macos"))]
#[test]
fn a_closed_standard_output_is_an_error() {
    let d = Dir::new();
    let input = d.write("in.y4m", &clip(16, 16, 3));
    let program = jnd_alone(&[]).get_program().to_owned();
    let shell = |line: &str| {
        let mut command = std::process::Command::new("sh");
        run(command.args(["-c", line, "sh"]).arg(&program).arg(&input).stdout(Stdio::null()))
    };
    shell(r#""$1" magnify "$2" - >&-"#).fails(1, &["standard output is closed"]).alone();
    shell(r#""$1" score -r "$2" -d "$2" --feature motion -o - >&-"#)
        .fails(255, &["output is closed"])
        .alone();
    // An output that goes nowhere on purpose, and a file, need none.
    shell(r#""$1" magnify "$2" - >/dev/null"#).ok();
    shell(r#""$1" magnify "$2" - 1<>/dev/null"#).ok();
    shell(r#""$1" magnify "$2" "$2.out.y4m" >&-"#).ok();
    assert_eq!(d.files().len(), 2);
}
