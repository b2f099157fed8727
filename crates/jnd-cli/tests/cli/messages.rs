//! What is printed, and when.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use std::time::Duration;

use crate::util::{Dir, clip, clip_tagged, have_ffmpeg, jnd, jnd_alone, run, run_with_stdin};

#[test]
fn of_a_job_that_has_done_nothing_only_the_error_is_said() {
    let d = Dir::new();
    let whole = clip(32, 32, 12);
    let none = d.write("none.y4m", &clip(32, 32, 0));
    let cut = d.write("cut.y4m", &whole[..600]);
    let output = d.arg("out.y4m");
    for filter in [&[][..], &["--filter", "ideal", "--band", "3-8Hz"]] {
        for input in [&none, &cut] {
            let args = [&["magnify", input, &output], filter].concat();
            let ran = run(&mut jnd_alone(&args));
            assert_eq!(ran.code, Some(1), "{}", ran.stderr);
            ran.fails(1, &[]).alone();
            // The rest is there for whoever asks.
            let ran = run(jnd_alone(&args).arg("-v")).fails(1, &[]);
            let told = filter.is_empty() && *input == none;
            assert!(!told || ran.stderr.starts_with("input     "), "{}", ran.stderr);
        }
    }
    let args = ["magnify", "-", &output];
    run_with_stdin(&mut jnd_alone(&args), &whole[..600]).fails(1, &["standard input"]).alone();
    assert_eq!(d.files(), ["cut.y4m", "none.y4m"]);
    // What differs between clips matters only where they are scored.
    let a = d.write("a.y4m", &clip(32, 32, 3));
    let b = d.write("b.y4m", &clip_tagged("W32 H48 F30:1 Ip C420jpeg XCOLORRANGE=FULL", 32, 48, 3));
    let empty = d.write("empty.y4m", b"YUV4MPEG2 W32 H32 F30:1 Ip C420jpeg\n");
    let score = |d: &str, rest: &[&str]| {
        run(&mut jnd(&[&["score", "-r", &a, "-d", d, "--feature", "motion"], rest].concat()))
    };
    score(&b, &[]).fails(255, &["32x32 and 32x48"]).alone();
    score(&empty, &["--json"]).fails(234, &["no frames"]).alone();
    score(&a, &["--json", "-o", &d.arg("none/report.json")]).fails(255, &["none/report.json"]).alone();
}

#[test]
fn causes_are_told_to_whoever_asks() {
    let d = Dir::new();
    let input = d.write("in.y4m", &clip(32, 32, 3));
    let causes = |ran: crate::util::Ran| {
        let lines: Vec<String> = ran
            .stderr
            .lines()
            .filter_map(|l| l.strip_prefix("jnd:   because: "))
            .map(str::to_owned)
            .collect();
        lines
    };
    // The system's own words.
    let ran =
        run(&mut jnd(&["magnify", &d.arg("none.y4m"), &d.arg("out.y4m"), "-v"])).fails(1, &["none.y4m"]);
    let said = causes(ran);
    assert!(said.len() == 1 && said[0].contains("os error 2"), "{said:?}");
    // Why a program is not used.
    let output = d.arg("out.mkv");
    let ran = run(&mut jnd_alone(&["magnify", &input, &output, "-v"])).fails(1, &["out.mkv"]);
    ran.says("JND_FFPROBE: /nonexistent/ffprobe cannot be started");
    run(jnd_alone(&["magnify", &input, &output, "-v"]).env("JND_FFMPEG", ""))
        .fails(1, &["JND_FFMPEG is set to nothing"]);
    // Without being asked for they stay away.
    run(&mut jnd_alone(&["magnify", &input, &output])).fails(1, &[]).alone();
    // Why there is no card, where there is no driver.
    let ran = run(&mut jnd(&["magnify", &input, &output, "--device", "cuda", "-v"]));
    if ran.stderr.contains("driver library is not installed") {
        let said = causes(ran);
        assert!(said.len() == 1 && said[0].contains("libcuda.so.1: "), "{said:?}");
    }
}

#[test]
fn what_is_wrong_with_ffmpeg_is_said_by_name() {
    let d = Dir::new();
    let input = d.write("in.y4m", &clip(64, 48, 5));
    let mp4 = d.arg("in.mp4");
    let bad = "JND_FFMPEG: /nonexistent/ffmpeg cannot be started";
    // What is built in takes its place, and says so.
    run(&mut jnd_alone(&["magnify", &input, &mp4])).ok().says(bad);
    let [out, y4m] = [d.arg("out.mp4"), d.arg("out.y4m")];
    run(&mut jnd_alone(&["magnify", &mp4, &y4m])).ok().says(bad);
    // Never where it was asked for by name.
    run(&mut jnd_alone(&["magnify", &input, &out, "--encoder", "ffmpeg"]))
        .fails(1, &["--encoder ffmpeg", bad]);
    let options = ["--decoder", "ffmpeg", "-y"];
    run(jnd_alone(&["magnify", &mp4, &y4m]).args(options)).fails(1, &["--decoder ffmpeg", bad]);
    let score = ["score", "-r", &mp4, "-d", &mp4, "--feature", "motion", "--decoder", "ffmpeg"];
    let ran = run(&mut jnd_alone(&score));
    assert!(ran.code != Some(0) && ran.stderr.contains(bad), "{}", ran.stderr);
    let doctor = run(&mut jnd_alone(&["doctor"])).ok();
    assert!(String::from_utf8_lossy(&doctor.stdout).contains(bad));
    // Set to nothing on purpose, it needs no word.
    let mut off = jnd(&["magnify", &input, &out]);
    let ran = run(off.env("JND_FFMPEG", "").env("JND_FFPROBE", "")).ok();
    assert!(!ran.stderr.contains("JND_"), "{}", ran.stderr);
    if have_ffmpeg("built-in asked for") {
        let ran = run(&mut jnd(&["magnify", &input, &d.arg("x.mkv"), "--encoder", "built-in"]));
        let ran = ran.fails(1, &["x.mkv", "leave out"]);
        assert!(!ran.stderr.contains("install"), "{}", ran.stderr);
    }
}

#[test]
fn the_way_out_is_one_that_works() {
    let d = Dir::new();
    let input = d.write("in.y4m", &clip(64, 48, 5));
    let raw = d.write("in.yuv", &[0; 6144]);
    run(&mut jnd(&["magnify", &raw, &d.arg("out.y4m")])).fails(1, &["in.yuv", "--raw", "640x480:yuv420p:25"]);
    let large = ["magnify", &raw, &d.arg("out.y4m"), "--raw", "100000x100000:yuv420p:25"];
    let ran = run(&mut jnd(&large));
    assert!(ran.code == Some(2) && ran.stderr.contains("100000x100000 is not possible"), "{}", ran.stderr);
    let rgb = ["--raw", "64x32:rgb24:25"];
    let ran =
        run(jnd(&["magnify", &raw, &d.arg("out.y4m")]).args(rgb)).fails(1, &[".mkv --lossless", "ffmpeg -i"]);
    assert!(!ran.stderr.contains("--pix-fmt"), "{}", ran.stderr);
    let ran = run(jnd(&["magnify", &raw, &d.arg("out.y4m"), "--pix-fmt", "yuv444p"]).args(rgb));
    let ran = ran.fails(1, &[".mkv --lossless", "ffmpeg -i"]);
    assert!(!ran.stderr.contains("leave"), "{}", ran.stderr);
    let ideal = [
        "magnify",
        "-",
        &d.arg("out.y4m"),
        "--filter",
        "ideal",
        "--band",
        "2-6Hz",
        "--spool",
        "/nonexistent",
    ];
    run_with_stdin(&mut jnd(&ideal), &clip(48, 32, 20)).fails(1, &["/nonexistent", "spooled frames"]);
    #[cfg(unix)]
    run(&mut jnd(&["magnify", &input, "/dev/null"])).fails(2, &["`-`", "standard output"]);
    assert_eq!(d.files(), ["in.y4m", "in.yuv"]);
}

#[cfg(unix)]
#[test]
fn all_that_a_failing_program_said_is_told_to_whoever_asks() {
    use std::os::unix::fs::PermissionsExt;
    let d = Dir::new();
    let input = d.write("in.y4m", &clip(32, 32, 3));
    let long = format!("first {} last", "word ".repeat(100));
    let script = |name: &str, text: &str| {
        let path = d.write(name, format!("#!/bin/sh\n{text}\n").as_bytes());
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("a program");
        path
    };
    let ffprobe = script("ffprobe", "echo 'ffprobe version 7.1 x'");
    let banner = "echo 'ffmpeg version 7.1 x' >&2; echo 'Supported pixel formats: yuv420p'";
    let ffmpeg =
        script("ffmpeg", &format!("[ \"$1\" = -h ] && {{ {banner}; exit; }}\necho '{long}' >&2; exit 3"));
    let magnify = |options: &[&str]| {
        let mut command = jnd(&["magnify", &input, &d.arg("out.mkv")]);
        run(command.args(options).env("JND_FFMPEG", &ffmpeg).env("JND_FFPROBE", &ffprobe))
    };
    let ran = magnify(&[]).fails(1, &["ffmpeg failed", "first word", "..."]);
    assert!(!ran.stderr.contains("last"), "{}", ran.stderr);
    let ran = magnify(&["-v"]).fails(1, &["ffmpeg failed"]);
    // What was started, and all that it said.
    ran.says("starting \"").says(&format!("jnd:   because: {long}"));
    assert_eq!(d.files(), ["ffmpeg", "ffprobe", "in.y4m"]);
}

#[test]
fn the_device_is_one_short_line() {
    let d = Dir::new();
    let input = d.write("in.y4m", &clip(32, 32, 3));
    let output = d.arg("out.y4m");
    // Hidden where there is a card, and without a driver where there is none.
    let with = |options: &[&str]| {
        let mut command = jnd(&[&["magnify", &input, &output, "-y"], options].concat());
        run(command.env("CUDA_VISIBLE_DEVICES", "")).ok().stderr
    };
    let line = |text: &str, label: &str| text.lines().find(|l| l.starts_with(label)).map(str::to_owned);
    let plain = with(&[]);
    let device = line(&plain, "device    ").expect("a device");
    assert!(device.starts_with("device    processor, "), "{device}");
    assert!(device.ends_with(')') && device.len() <= 110, "{device}");
    assert_eq!(line(&plain, "card "), None);
    let more = with(&["-v"]);
    assert_eq!(line(&more, "device    "), Some(device));
    let card = line(&more, "card      not used: ").expect("the whole reason");
    assert!(card.contains("no CUDA device can be used"), "{card}");
    assert_eq!(line(&with(&["-v", "--device", "cpu"]), "card "), None);
}

#[test]
fn colour_differences_are_told_in_the_fields_words() {
    if !have_ffmpeg("colour differences") {
        return;
    }
    let d = Dir::new();
    let made = |name: &str, options: &str| {
        let path = d.arg(name);
        let source = "-f lavfi -i testsrc2=size=64x64:rate=25 -frames:v 3 -pix_fmt yuv420p";
        crate::util::ff(&format!("{source} {options} -c:v libx264 {{}}"), &[&path]);
        path
    };
    let tags = |n: &str| format!("-color_primaries {n} -color_trc {n} -colorspace {n}");
    let a = made("a.mkv", &format!("-color_range tv {}", tags("bt709")));
    let b = made("b.mkv", &format!("-color_range pc {} -flags +ilme+ildct -top 1", tags("smpte170m")));
    run(&mut jnd(&["score", "-r", &a, "-d", &b, "--feature", "motion"]))
        .ok()
        .says("warning: the colour range differs: limited in the reference, full in the distorted clip")
        .says(
            "differ: bt709/bt709/bt709 in the reference, smpte170m/smpte170m/smpte170m in the distorted clip",
        )
        .says("warning: the field order differs: progressive in the reference, top field first in the");
}

#[test]
fn the_rate_is_shown_when_there_is_one() {
    let d = Dir::new();
    let bytes = clip(32, 32, 40);
    let input = d.write("in.y4m", &bytes);
    let ran = run(&mut jnd(&["magnify", &input, &d.arg("out.y4m"), "-q", "--progress", "plain"])).ok();
    assert_eq!(ran.stderr, "1 of 40 frames\n");
    // Frames that come slowly: the first line has no rate, a later one has the true one.
    let mut command = jnd(&["magnify", "-", &d.arg("slow.y4m"), "-q", "--progress", "json"]);
    let mut child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command starts");
    let mut stdin = child.stdin.take().expect("its input");
    let feeder = std::thread::spawn(move || {
        let header = bytes.iter().position(|&b| b == b'\n').expect("a header") + 1;
        stdin.write_all(&bytes[..header]).expect("the header");
        for frame in bytes[header..].chunks(6 + 32 * 32 * 3 / 2) {
            stdin.write_all(frame).and_then(|()| stdin.flush()).expect("a frame");
            std::thread::sleep(Duration::from_millis(50));
        }
    });
    let lines: Vec<serde_json::Value> = BufReader::new(child.stderr.take().expect("its messages"))
        .lines()
        .map(|l| serde_json::from_str(&l.expect("a line")).expect("JSON"))
        .collect();
    assert!(child.wait().expect("the command ends").success());
    feeder.join().expect("the feeder");
    assert!(lines.len() >= 2, "{lines:?}");
    assert!(lines[0]["done"] == 1 && lines[0]["frames_per_second"].is_null(), "{}", lines[0]);
    let rate = lines[1]["frames_per_second"].as_f64().expect("a rate");
    // 20 a second, fewer where the machine is busy.
    assert!((0.5..=25.0).contains(&rate), "{}", lines[1]);
}
