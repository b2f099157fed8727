//! The command line itself.

use crate::util::{Dir, clip, jnd, jnd_alone, run};

#[test]
fn help_and_version_go_to_standard_output() {
    for args in [&["--help"][..], &["magnify", "--help"], &["--version"]] {
        let ran = run(&mut jnd(args)).ok();
        assert!(!ran.stdout.is_empty() && ran.stderr.is_empty(), "{args:?}");
    }
}

#[test]
fn mistakes_are_usage_errors() {
    let d = Dir::new();
    let input = d.write("in.y4m", &clip(16, 16, 3));
    let output = d.arg("out.y4m");
    let cases: [(&[&str], &str); 15] = [
        (&["--alpha", "1e39"], "0 to 1000000"),
        (&["--lambda-c", "1e300"], "at most 1000000"),
        (&["--exaggeration", "1e300"], "at most 1000000"),
        (&["--preset", "motion_phase"], "pulse, motion, vibration"),
        (&["--alpha", "-1"], "alpha is -1"),
        (&["--alpha", "nan"], "alpha is NaN"),
        (&["--r1", "0.1", "--r2", "0.2"], "r2 is 0.2"),
        (&["--lambda-c", "0"], "lambda-c is 0"),
        (&["--chroma", "2"], "chroma is 2"),
        (&["--level", "3"], "level has no meaning"),
        (&["--preset", "pulse", "--level", "17"], "level is 17"),
        (&["--band", "1-2Hz"], "band has no meaning"),
        (&["--filter", "ideal"], "needs a band"),
        (&["--start", "2", "--end", "1"], "--end"),
        (&["--preset", "pulse", "--init", "zero"], "init has no meaning"),
    ];
    for (options, text) in cases {
        let mut args = vec!["magnify", &input, &output];
        args.extend(options);
        run(&mut jnd(&args)).fails(2, &[text]);
        assert_eq!(d.files(), ["in.y4m"], "{options:?}");
    }
    // What the argument parser finds itself.
    for options in [&["--band", "0.8-1"][..], &["--filter", "fir"], &["--capture-fps", "0"], &["--bogus"]] {
        let mut args = vec!["magnify", &input, &output];
        args.extend(options);
        run(&mut jnd(&args)).fails(2, &[]).alone();
        assert_eq!(d.files(), ["in.y4m"], "{options:?}");
    }
}

#[test]
fn what_depends_on_the_clip_is_a_failure() {
    let d = Dir::new();
    let input = d.write("in.y4m", &clip(16, 16, 30));
    let output = d.arg("out.y4m");
    let magnify = |options: &[&str]| {
        let mut args = vec!["magnify", &input, &output];
        args.extend(options);
        run(&mut jnd(&args))
    };
    magnify(&["--preset", "vibration"]).fails(1, &["in.y4m", "92 Hz", "below 12.5 Hz"]);
    magnify(&["--filter", "butterworth", "--band", "1-13Hz"]).fails(1, &["in.y4m", "13 Hz"]);
    // 30 frames at 25 a second resolve 0.833 Hz.
    magnify(&["--filter", "ideal", "--band", "0.9-1Hz"]).fails(1, &["in.y4m", "always do"]);
    assert_eq!(d.files(), ["in.y4m"]);
}

#[test]
fn missing_and_existing_files_are_named() {
    let d = Dir::new();
    let (input, output) = (d.arg("none.y4m"), d.arg("out.y4m"));
    run(&mut jnd(&["magnify", &input, &output])).fails(1, &["none.y4m"]);
    let input = d.write("in.y4m", &clip(16, 16, 3));
    d.write("out.y4m", b"keep me");
    run(&mut jnd(&["magnify", &input, &output])).fails(1, &["out.y4m", "--overwrite"]);
    assert_eq!(d.read("out.y4m"), b"keep me");
    run(&mut jnd(&["magnify", &input, &input, "--overwrite"]))
        .fails(1, &["in.y4m", "both the input and the output"]);
    run(&mut jnd(&["magnify", &input, &output, "--overwrite"])).ok();
    assert!(d.read("out.y4m").starts_with(b"YUV4MPEG2"));
    assert_eq!(d.files(), ["in.y4m", "out.y4m"]);
}

#[test]
fn what_was_applied_is_printed() {
    let d = Dir::new();
    let input = d.write("in.y4m", &clip(64, 48, 12));
    let ran = run(&mut jnd(&["magnify", &input, &d.arg("out.y4m"), "--threads", "1"])).ok();
    for text in [
        "64x48 YUV 4:2:0 8-bit, 25 frames/s",
        "iir (r1 0.4, r2 0.05), alpha 10, lambda_c 16, chroma 0.1",
        "bpm)",
        "12 frames in, 12 out, 25 frames/s",
        "gains     0 ",
    ] {
        assert!(ran.stderr.contains(text), "`{text}` is missing in: {}", ran.stderr);
    }
    assert!(ran.stdout.is_empty());
    let ran = run(&mut jnd(&["magnify", &input, &d.arg("quiet.y4m"), "-q"])).ok();
    assert_eq!(ran.stderr, "");
    assert_eq!(d.read("quiet.y4m"), d.read("out.y4m"));
}

#[test]
fn progress_is_for_people_or_programs() {
    let d = Dir::new();
    let input = d.write("in.y4m", &clip(32, 32, 5));
    let mut n = 0;
    let mut with = |mode: &str| {
        n += 1;
        run(&mut jnd(&["magnify", &input, &d.arg(&format!("{n}.y4m")), "-q", "--progress", mode])).ok().stderr
    };
    assert_eq!(with("none"), "");
    assert_eq!(with("auto"), "");
    assert!(with("plain").contains("of 5 frames"));
    let json = with("json");
    let first: serde_json::Value = serde_json::from_str(json.lines().next().expect("a line")).expect("JSON");
    assert_eq!((&first["pass"], &first["passes"], &first["total"]), (&1.into(), &1.into(), &5.into()));
}

#[test]
fn doctor_and_presets_print_something() {
    let ran = run(&mut jnd(&["doctor"])).ok();
    let text = String::from_utf8(ran.stdout).expect("text");
    for word in ["processor", "ffmpeg", "built in"] {
        assert!(text.contains(word), "{word}: {text}");
    }
    let ran = run(&mut jnd_alone(&["doctor"])).ok();
    assert!(String::from_utf8_lossy(&ran.stdout).contains("apt install ffmpeg"));
    let ran = run(&mut jnd(&["presets"])).ok();
    let text = String::from_utf8(ran.stdout).expect("text");
    for word in ["pulse", "motion", "vibration", "50-60bpm", "72-92Hz"] {
        assert!(text.contains(word), "{word}: {text}");
    }
    for shell in ["bash", "zsh", "fish"] {
        assert!(run(&mut jnd(&["completions", shell])).ok().stdout.len() > 1000);
    }
    assert!(run(&mut jnd(&["man"])).ok().stdout.len() > 1000);
}

#[test]
fn negative_numbers_are_judged_by_their_option() {
    let magnify = ["--threads", "--level", "--crf", "--memory", "--spool-limit", "--capture-fps"];
    let score = [
        "--threads",
        "--subsample",
        "--frame_cnt",
        "--frame_skip_ref",
        "--frame_skip_dist",
        "-w",
        "-h",
        "-b",
    ];
    let judged = |args: &[&str], option: &str, code: i32| {
        let ran = run(jnd(args).args([option, "-1"]));
        assert_eq!(ran.code, Some(code), "{option}: {}", ran.stderr);
        assert!(ran.stderr.contains("invalid value '-1' for"), "{option}: {}", ran.stderr);
    };
    magnify.iter().for_each(|o| judged(&["magnify", "a.y4m", "b.y4m"], o, 2));
    score.iter().for_each(|o| judged(&["score", "-r", "a.y4m", "-d", "b.y4m", "--feature", "motion"], o, 1));
}

#[test]
fn raw_frames_of_no_size_are_a_usage_error() {
    let ran = run(&mut jnd(&["magnify", "in.yuv", "out.y4m", "--raw", "0x0:yuv420p:25"]));
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    ran.says("the size is 0");
}

#[test]
fn what_is_assumed_or_left_out_is_said() {
    let d = Dir::new();
    let input = d.write("in.y4m", &crate::util::clip_tagged("W32 H32 Ip C420jpeg", 32, 32, 14));
    let short = d.write("short.y4m", &clip(32, 32, 10));
    let output = d.arg("out.y4m");
    run(&mut jnd(&["magnify", &input, &output, "-y", "--mit-compat"]))
        .ok()
        .says("25 frames a second are assumed")
        .says("the last 10 frames of the clip were left out");
    let ran = run(&mut jnd(&["magnify", &short, &output, "-y", "--mit-compat"])).ok();
    assert!(!ran.stderr.contains("assumed"), "{}", ran.stderr);
    ran.says("no frame was left out").says("10 frames in, 10 out");
}
