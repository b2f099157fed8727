//! Options that could do nothing: refused where something else would come out than was asked for, told of where not.

use crate::util::{Dir, Ran, clip, clip_tagged, jnd, jnd_alone, run};

#[test]
fn what_only_an_encoder_does_is_refused_without_one() {
    let d = Dir::new();
    let input = d.write("in.y4m", &clip(16, 16, 3));
    for output in ["out.y4m", "out.yuv"] {
        let magnify =
            |options: &[&str]| run(&mut jnd_alone(&[&["magnify", &input, &d.arg(output)], options].concat()));
        magnify(&["--crf", "20"]).fails(2, &["--crf 20", "not compressed", ".mkv"]).alone();
        magnify(&["--codec", "hevc"]).fails(2, &["--codec hevc", "not compressed"]).alone();
        magnify(&["--pix-fmt", "yuv444p"]).fails(1, &[output, "4:4:4", "--pix-fmt"]).alone();
        assert_eq!(d.files(), ["in.y4m"]);
        // The format that the clip has anyway is no conversion.
        let ran = magnify(&["--pix-fmt", "yuv420p", "--lossless", "--pad-even", "--no-audio"]).ok();
        assert!(!ran.stderr.contains("warning"), "{}", ran.stderr);
        std::fs::remove_file(d.path(output)).expect("an output");
    }
    run(&mut jnd_alone(&["magnify", &input, "-", "--crf", "20"])).fails(2, &["--crf 20"]).alone();
}

#[test]
fn what_changes_no_byte_is_told_of() {
    let d = Dir::new();
    let input = d.write("in.y4m", &clip(16, 16, 12));
    let output = d.arg("out.y4m");
    let magnify = |input: &str, options: &[&str]| {
        run(&mut jnd(&[&["magnify", input, &output, "-y", "--device", "cpu"], options].concat())).ok()
    };
    let warned = |ran: Ran, option: &str| ran.says(&format!("jnd: warning: {option} has no effect: "));
    let want = {
        let ran = magnify(&input, &[]);
        assert!(!ran.stderr.contains("warning"), "{}", ran.stderr);
        d.read("out.y4m")
    };
    for option in [
        ["--decoder", "ffmpeg"],
        ["--encoder", "ffmpeg"],
        ["--memory", "1GB"],
        ["--spool", "none"],
        ["--spool-limit", "1GB"],
    ] {
        warned(magnify(&input, &option), option[0]);
        assert_eq!(d.read("out.y4m"), want, "{option:?}");
        assert_eq!(magnify(&input, &[&option[..], &["-q"]].concat()).stderr, "");
    }
    // With the ideal filter the last three mean something.
    let ideal = ["--filter", "ideal", "--band", "3-8Hz", "--memory", "1GB", "--spool-limit", "1GB"];
    let ran = magnify(&input, &ideal);
    assert!(!ran.stderr.contains("warning"), "{}", ran.stderr);
    run(&mut jnd(&["magnify", &input, &output, "-y", "--spool", "none", "--spool-limit", "1GB"]))
        .fails(2, &["--spool-limit", "--spool none"])
        .alone();
    let luma: Vec<u8> = [b"FRAME\n".to_vec(), vec![90; 256]].concat().repeat(3);
    let gray = [b"YUV4MPEG2 W16 H16 F25:1 Ip Cmono\n".to_vec(), luma].concat();
    warned(magnify(&d.write("gray.y4m", &gray), &["--chroma", "0.5"]), "--chroma");
}

#[test]
fn a_report_without_a_file_is_told_of() {
    let d = Dir::new();
    let a = d.write("a.y4m", &clip(32, 32, 4));
    let score = |options: &[&str]| {
        run(&mut jnd(&[&["score", "-r", &a, "-d", &a, "--feature", "motion"], options].concat()))
    };
    for format in ["--xml", "--json", "--csv", "--sub"] {
        score(&[format]).ok().says(&format!("jnd: warning: {format} has no effect")).says("-o");
        let ran = score(&[format, "-o", "-"]).ok();
        assert!(!ran.stderr.contains("no effect"), "{}", ran.stderr);
    }
    score(&["--decoder", "ffmpeg"]).ok().says("jnd: warning: --decoder has no effect");
    score(&["--chroma_rounding", "ceil"]).fails(1, &["--chroma_rounding", "not raw"]).alone();
    // Digits mean something without a report, too.
    let digits = |precision: &str| {
        let text = String::from_utf8(score(&["--precision", precision, "-q"]).ok().stdout).expect("text");
        let value =
            text.lines().nth(1).and_then(|l| l.split_whitespace().nth(2)).expect("a value").to_owned();
        value.split_once('.').map_or(0, |(_, decimals)| decimals.len())
    };
    assert_eq!((digits("legacy"), digits("2"), digits("9")), (6, 2, 9));
}

#[test]
fn values_of_the_environment_that_mean_nothing_are_refused() {
    let d = Dir::new();
    let input = d.write("in.y4m", &clip_tagged("W16 H16 F25:1 Ip C420jpeg", 16, 16, 3));
    let with = |level: &str, args: &[&str]| run(jnd(args).env("JND_SIMD", level));
    let output = d.arg("out.y4m");
    let magnify = ["magnify", &input, &output, "-y"];
    let score = ["score", "-r", &input, "-d", &input, "--feature", "motion"];
    with("avx3", &magnify).fails(2, &["JND_SIMD is \"avx3\"", "scalar, neon, avx2 or avx512"]).alone();
    with("avx3", &score).fails(1, &["JND_SIMD"]).alone();
    with("avx3", &["demo", &d.arg("demo")]).fails(2, &["JND_SIMD"]).alone();
    assert_eq!(d.files(), ["in.y4m"]);
    let doctor = with("avx3", &["doctor"]).ok();
    assert!(String::from_utf8_lossy(&doctor.stdout).contains("JND_SIMD is \"avx3\""));
    for level in ["", "scalar", "AVX2"] {
        with(level, &magnify).ok();
        with(level, &score).ok();
    }
    let check = |value: &str| run(jnd(&magnify).env("JND_CHECK", value));
    check("yes").fails(2, &["JND_CHECK is \"yes\""]).alone();
    check("1").ok();
}
