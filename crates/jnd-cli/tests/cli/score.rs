//! `jnd score`: every case in which the command it takes after crashes or misleads, and its reports.

use std::path::{Path, PathBuf};

use crate::util::{Dir, Ran, jnd, run, run_with_stdin};

/// A clip of noise that changes from frame to frame and with the seed.
fn noise(tags: &str, bytes_per_frame: usize, frames: usize, seed: u32) -> Vec<u8> {
    let mut out = format!("YUV4MPEG2 {tags}\n").into_bytes();
    let mut s = seed | 1;
    for _ in 0..frames {
        out.extend_from_slice(b"FRAME\n");
        for _ in 0..bytes_per_frame {
            s = s.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            out.push((s >> 24) as u8);
        }
    }
    out
}

/// 8-bit 4:2:0.
fn noise420(w: usize, h: usize, frames: usize, seed: u32) -> Vec<u8> {
    let tags = format!("W{w} H{h} F25:1 Ip A1:1 C420jpeg");
    noise(&tags, w * h + 2 * w.div_ceil(2) * h.div_ceil(2), frames, seed)
}

fn constant420(w: usize, h: usize, frames: usize) -> Vec<u8> {
    let mut out = format!("YUV4MPEG2 W{w} H{h} F25:1 Ip A1:1 C420jpeg\n").into_bytes();
    for _ in 0..frames {
        out.extend_from_slice(b"FRAME\n");
        out.extend(std::iter::repeat_n(100u8, w * h + 2 * w.div_ceil(2) * h.div_ceil(2)));
    }
    out
}

fn score(reference: &str, distorted: &str, rest: &[&str]) -> Ran {
    run(jnd(&["score", "-r", reference, "-d", distorted]).args(rest))
}

/// Values of a metric, from a JSON report.
fn values(report: &[u8], metric: &str) -> Vec<f64> {
    let json: serde_json::Value = serde_json::from_slice(report).expect("JSON");
    let frames = json["frames"].as_array().expect("frames");
    frames.iter().map(|f| f["metrics"][metric].as_f64().unwrap_or_else(|| panic!("{metric}"))).collect()
}

/// Scores a pair of files and returns the JSON report.
fn report(dir: &Dir, reference: &str, distorted: &str, rest: &[&str]) -> Vec<u8> {
    let out = dir.arg("report.json");
    score(reference, distorted, &[&["--json", "-q", "-o", &out], rest].concat()).ok();
    dir.read("report.json")
}

const SPEED: [&str; 4] = ["--feature", "speed_chroma", "--feature", "speed_temporal"];
const ALL: [&str; 8] = [
    "--feature",
    "motion",
    "--feature",
    "float_motion",
    "--feature",
    "speed_chroma",
    "--feature",
    "speed_temporal",
];

#[test]
fn identical_pair_has_no_speed_difference() {
    let dir = Dir::new();
    let a = dir.write("a.y4m", &noise420(352, 352, 3, 1));
    let json = report(&dir, &a, &a, &ALL);
    for metric in ["speed_chroma_u", "speed_chroma_v", "speed_chroma_uv", "speed_temporal"] {
        assert_eq!(values(&json, metric), [0.0, 0.0, 0.0], "{metric}");
    }
    assert!(values(&json, "integer_motion2")[1] > 0.0);
}

#[test]
fn constant_frames_score_zero_on_either_side() {
    let dir = Dir::new();
    let flat = dir.write("flat.y4m", &constant420(352, 352, 2));
    let a = dir.write("a.y4m", &noise420(352, 352, 2, 1));
    for (r, d) in [(&flat, &flat), (&flat, &a), (&a, &flat)] {
        let json = report(&dir, r, d, &SPEED);
        assert_eq!(values(&json, "speed_chroma_uv"), [0.0, 0.0]);
        assert_eq!(values(&json, "speed_temporal"), [0.0, 0.0]);
    }
    let json = report(&dir, &flat, &a, &["--feature", "motion"]);
    assert_eq!(values(&json, "integer_motion3"), [0.0, 0.0]);
}

#[test]
fn one_and_two_frames() {
    let dir = Dir::new();
    let one = dir.write("one.y4m", &noise420(352, 352, 1, 1));
    let json = report(&dir, &one, &one, &ALL);
    for metric in ["integer_motion2", "integer_motion3", "motion", "motion2", "motion3", "speed_temporal"] {
        assert_eq!(values(&json, metric), [0.0], "{metric}");
    }
    let two = dir.write("two.y4m", &noise420(352, 352, 2, 1));
    let json = report(&dir, &two, &two, &ALL);
    let sad = values(&json, "VMAF_integer_feature_motion_sad_score");
    assert_eq!(values(&json, "integer_motion2"), sad);
    assert_eq!(values(&json, "integer_motion3"), [sad[1], sad[1]]);
}

#[test]
fn unequal_lengths_are_counted_and_the_common_frames_scored() {
    let dir = Dir::new();
    let ten = dir.write("ten.y4m", &noise420(64, 64, 10, 1));
    let seven = dir.write("seven.y4m", &noise420(64, 64, 7, 1));
    for (r, d) in [(&ten, &seven), (&seven, &ten)] {
        let out = dir.arg("out.json");
        let ran = score(r, d, &["--feature", "motion", "--json", "-o", &out]).ok();
        ran.says("has 7 frames").says("clip 10").says("7 pairs were scored");
        assert_eq!(values(&dir.read("out.json"), "integer_motion2").len(), 7);
    }
    // A pipe says nothing of its length: it is counted.
    let mut command = jnd(&["score", "-r", &seven, "-d", "-", "--feature", "motion"]);
    run_with_stdin(&mut command, &noise420(64, 64, 10, 1)).ok().says("has 7 frames").says("clip 10");
}

#[test]
fn planes_too_small_for_speed_are_refused() {
    let dir = Dir::new();
    let a = dir.write("a.y4m", &noise420(158, 158, 2, 1));
    score(&a, &a, &["--feature", "speed_chroma"]).fails(255, &["80x80", "79x79"]);
    // The smallest luma that is accepted has a singular covariance.
    let b = dir.write("b.y4m", &noise420(80, 80, 3, 1));
    let c = dir.write("c.y4m", &noise420(80, 80, 3, 2));
    assert_eq!(values(&report(&dir, &b, &c, &["--feature", "speed_temporal"]), "speed_temporal"), [0.0; 3]);
    score(&b, &b, &["--feature", "speed_temporal=speed_prescale=0.9"]).fails(255, &["after scaling by 0.9"]);
}

#[test]
fn options_that_make_no_sense_are_named() {
    let dir = Dir::new();
    let a = dir.write("a.y4m", &noise420(352, 352, 2, 1));
    for (feature, texts) in [
        ("speed_chroma=speed_kernelscale=0.9", vec!["speed_kernelscale=0.9", "0.5"]),
        ("speed_chroma=speed_prescale_method=foo", vec!["foo", "lanczos4"]),
        ("motion=motion_fps_weight=6", vec!["motion_fps_weight=6", "0 to 5"]),
        ("motion=debug=yes", vec!["true or false"]),
        ("motion=mfw=0.5", vec!["did you mean motion_fps_weight?"]),
        ("motion=motion_fps=0.5", vec!["did you mean motion_fps_weight?"]),
        ("speed_croma", vec!["did you mean speed_chroma?"]),
        ("vmaf", vec!["known: motion"]),
    ] {
        score(&a, &a, &["--feature", feature]).fails(255, &texts);
    }
    score(&a, &a, &["--feature", "motion=debug"]).fails(1, &["debug=VALUE"]);
    score(&a, &a, &["--feature", "motion", "--feature", "motion"]).fails(255, &["two features"]);
}

#[test]
fn temporal_prescale_above_one_works() {
    let dir = Dir::new();
    let a = dir.write("a.y4m", &noise420(161, 163, 3, 1));
    let b = dir.write("b.y4m", &noise420(161, 163, 3, 2));
    for method in ["nearest", "bilinear", "bicubic", "lanczos4"] {
        let feature = format!("speed_temporal=speed_prescale=1.5:speed_prescale_method={method}");
        let json = report(&dir, &a, &b, &["--feature", &feature]);
        let name = if method == "nearest" {
            "speed_temporal_ps_1.5".into()
        } else {
            format!("speed_temporal_ps_1.5_psm_{method}")
        };
        assert_eq!(values(&json, &name).len(), 3);
    }
}

#[test]
fn tiny_and_odd_sizes() {
    let dir = Dir::new();
    for (w, h) in [(1, 5), (2, 2), (5, 2)] {
        let a = dir.write("a.y4m", &noise420(w, h, 3, 1));
        score(&a, &a, &["--feature", "motion"]).fails(255, &["at least 3x3"]);
        score(&a, &a, &["--feature", "float_motion"]).fails(255, &["at least 3x3"]);
    }
    for (w, h) in [(3, 3), (7, 5), (17, 33), (321, 241)] {
        let a = dir.write("a.y4m", &noise420(w, h, 3, 1));
        let json = report(&dir, &a, &a, &["--feature", "motion", "--feature", "float_motion"]);
        assert!(values(&json, "integer_motion2")[1] > 0.0);
    }
}

/// An odd picture as YUV4MPEG2 with chroma rounded up, and as a raw file with chroma rounded down.
#[test]
fn odd_chroma_is_cropped_the_same_from_both_kinds_of_file() {
    let dir = Dir::new();
    let (w, h) = (323, 325);
    let (cw, ch) = (w / 2, h / 2);
    let mut names = Vec::new();
    for seed in [1, 2] {
        let y4m = noise420(w, h, 2, seed);
        let header = y4m.iter().position(|&b| b == b'\n').expect("a header") + 1;
        let mut raw = Vec::new();
        for frame in y4m[header..].chunks(6 + w * h + 2 * (cw + 1) * (ch + 1)) {
            let (luma, chroma) = frame[6..].split_at(w * h);
            raw.extend_from_slice(luma);
            for plane in chroma.chunks((cw + 1) * (ch + 1)) {
                for row in plane.chunks(cw + 1).take(ch) {
                    raw.extend_from_slice(&row[..cw]);
                }
            }
        }
        names.push((dir.write(&format!("{seed}.y4m"), &y4m), dir.write(&format!("{seed}.yuv"), &raw)));
    }
    let a = report(&dir, &names[0].0, &names[1].0, &ALL);
    let (ws, hs) = (w.to_string(), h.to_string());
    let raw = ["-w", &ws, "-h", &hs, "-p", "420", "-b", "8"];
    let b = report(&dir, &names[0].1, &names[1].1, &[&raw[..], &ALL].concat());
    for metric in ["integer_motion2", "motion3", "speed_chroma_u", "speed_chroma_v", "speed_temporal"] {
        assert_eq!(values(&a, metric), values(&b, metric), "{metric}");
    }
    // The size fits only chroma rounded down.
    score(
        &names[0].1,
        &names[1].1,
        &[&raw[..], &["--chroma_rounding", "ceil", "--feature", "motion"]].concat(),
    )
    .fails(255, &["floor"]);
}

#[test]
fn formats_the_other_command_cannot_read() {
    let dir = Dir::new();
    let n = 352 * 352;
    for (chroma, bytes) in [("422", 2 * n), ("420paldv", n * 3 / 2), ("420mpeg2", n * 3 / 2), ("444", 3 * n)]
    {
        let a = dir.write("a.y4m", &noise(&format!("W352 H352 F25:1 Ip A1:1 C{chroma}"), bytes, 2, 1));
        let b = dir.write("b.y4m", &noise(&format!("W352 H352 F25:1 Ip A1:1 C{chroma}"), bytes, 2, 2));
        assert_eq!(values(&report(&dir, &a, &b, &ALL), "speed_temporal").len(), 2, "{chroma}");
    }
    let mono = dir.write("mono.y4m", &noise("W352 H352 F25:1 Ip A1:1 Cmono", n, 2, 1));
    let json = report(&dir, &mono, &mono, &["--feature", "motion", "--feature", "speed_temporal"]);
    assert!(values(&json, "integer_motion2")[1] > 0.0);
    score(&mono, &mono, &["--feature", "speed_chroma"]).fails(255, &["needs chroma"]);
    score(&mono, &mono, &["--feature", "float_motion=motion_add_uv=true"]).fails(255, &["needs chroma"]);
}

#[test]
fn interlaced_y4m_is_refused() {
    let dir = Dir::new();
    let a = dir.write("a.y4m", &noise("W64 H64 F25:1 It A1:1 C420jpeg", 64 * 96, 2, 1));
    score(&a, &a, &["--feature", "motion"]).fails(255, &["interlaced", "deinterlace"]);
}

#[test]
fn clips_that_do_not_fit_are_refused() {
    let dir = Dir::new();
    let a = dir.write("a.y4m", &noise420(64, 64, 2, 1));
    let b = dir.write("b.y4m", &noise420(64, 66, 2, 1));
    let c = dir.write("c.y4m", &noise("W64 H64 F25:1 Ip A1:1 C444", 64 * 64 * 3, 2, 1));
    let d = dir.write("d.y4m", &noise("W64 H64 F25:1 Ip A1:1 C420p10", 64 * 96 * 2, 2, 1));
    score(&a, &b, &["--feature", "motion"]).fails(255, &["64x64 and 64x66"]);
    score(&a, &c, &["--feature", "motion"]).fails(255, &["4:2:0", "4:4:4"]);
    score(&a, &d, &["--feature", "motion"]).fails(255, &["8 and 10 bits"]);
    let e = dir.write("e.y4m", &noise("W64 H64 F30:1 Ip A1:1 C420jpeg XCOLORRANGE=FULL", 64 * 96, 2, 1));
    let ran = score(&a, &e, &["--feature", "motion"]).ok();
    ran.says("warning: the colour range differs: unspecified in the reference, full in the distorted clip")
        .says("warning: the frame rate differs: 25 in the reference, 30");
}

#[test]
fn cut_input_keeps_the_whole_frames() {
    let dir = Dir::new();
    let whole = noise420(64, 64, 5, 1);
    let a = dir.write("a.y4m", &whole);
    let cut = dir.write("cut.y4m", &whole[..whole.len() - 100]);
    for (r, d) in [(&a, &cut), (&cut, &a), (&cut, &cut)] {
        let out = dir.arg("out.json");
        let ran = score(r, d, &["--feature", "motion", "--json", "-o", &out]);
        assert_eq!(ran.code, Some(3), "{}", ran.stderr);
        ran.says("cut off after 4 whole frames");
        assert_eq!(values(&dir.read("out.json"), "integer_motion2").len(), 4);
    }
    let mut command = jnd(&["score", "-r", "-", "-d", &a, "--feature", "motion"]);
    let ran = run_with_stdin(&mut command, &whole[..whole.len() - 100]);
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
}

#[test]
fn no_frames_is_its_own_exit_code() {
    let dir = Dir::new();
    let a = dir.write("a.y4m", &noise420(64, 64, 3, 1));
    let none = dir.write("none.y4m", &noise420(64, 64, 0, 1));
    let out = dir.arg("out.xml");
    score(&none, &a, &["--feature", "motion", "-o", &out]).fails(234, &[]);
    score(&a, &none, &["--feature", "motion", "-o", &out]).fails(234, &[]);
    score(&a, &a, &["--feature", "motion", "--frame_skip_ref", "3", "-o", &out]).fails(234, &["skipped"]);
    score(&a, &a, &["--feature", "motion", "--frame_skip_dist", "9", "-o", &out]).fails(234, &["skipped"]);
    assert!(!Path::new(&out).exists());
    let empty = dir.write("empty.y4m", b"");
    let ran = score(&empty, &a, &["--feature", "motion"]);
    assert!(matches!(ran.code, Some(234 | 255)), "{}", ran.stderr);
    score(&dir.arg("absent.y4m"), &a, &["--feature", "motion"]).fails(255, &["absent.y4m"]);
}

#[test]
fn skipping_and_limiting_restart_the_numbering() {
    let dir = Dir::new();
    let whole = noise420(64, 64, 6, 1);
    let a = dir.write("a.y4m", &whole);
    let frame = 6 + 64 * 96;
    let header = whole.len() - 6 * frame;
    let tail = [&whole[..header], &whole[header + 2 * frame..header + 5 * frame]].concat();
    let b = dir.write("b.y4m", &tail);
    let skipped = report(
        &dir,
        &a,
        &a,
        &["--feature", "motion", "--frame_skip_ref", "2", "--frame_skip_dist", "2", "--frame_cnt", "3"],
    );
    let direct = report(&dir, &b, &b, &["--feature", "motion"]);
    for metric in ["VMAF_integer_feature_motion_sad_score", "integer_motion2", "integer_motion3"] {
        assert_eq!(values(&skipped, metric), values(&direct, metric));
    }
}

#[test]
fn mistakes_in_the_command_line() {
    let dir = Dir::new();
    let a = dir.write("a.y4m", &noise420(64, 64, 2, 1));
    score(&a, &a, &["--feature", "motion", "-m", "version=vmaf_v0.6.1"]).fails(1, &["no prediction models"]);
    score(&a, &a, &["--feature", "motion", "-w", "64"]).fails(1, &["all four"]);
    for rest in [
        vec![],
        vec!["--feature", "motion", "--threads", "x"],
        vec!["--feature", "motion", "--subsample", "0"],
        vec!["--feature", "motion", "--json", "--csv"],
        vec!["--feature", "motion", "--frobnicate"],
        vec!["--feature", "motion", "-w", "64", "-h", "64", "-p", "420", "-b", "9"],
    ] {
        assert_eq!(score(&a, &a, &rest).code, Some(1), "{rest:?}");
    }
    run(&mut jnd(&["score", "--help"])).ok();
    score("-", "-", &["--feature", "motion"]).fails(1, &["standard input"]);
    let out = dir.arg("missing/out.json");
    score(&a, &a, &["--feature", "motion", "-o", &out]).fails(255, &["missing/out.json"]);
    score(&a, &a, &["--feature", "motion", "-n", "-q", "--cpumask", "0x3f"]).ok();
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_a_failure() {
    let dir = Dir::new();
    let a = dir.write("a.y4m", &noise420(64, 64, 2, 1));
    score(&a, &a, &["--feature", "motion", "-o", "/dev/full"]).fails(255, &[]);
}

#[test]
fn reports_go_to_names_of_any_kind() {
    let dir = Dir::new();
    let a = dir.write("クリップ (1) ü' \"x\".y4m", &noise420(64, 64, 2, 1));
    let out = dir.arg("レポート:ü'.json");
    score(&a, &a, &["--feature", "motion", "--json", "-o", &out]).ok();
    assert_eq!(values(&dir.read("レポート:ü'.json"), "integer_motion2").len(), 2);
    // Nothing else is left behind, and a report replaces an older one.
    score(&a, &a, &["--feature", "motion", "--json", "-o", &out]).ok();
    assert_eq!(dir.files().len(), 2);
}

#[test]
fn threads_and_instructions_change_nothing() {
    let dir = Dir::new();
    let a = dir.write("a.y4m", &noise420(352, 352, 7, 1));
    let b = dir.write("b.y4m", &noise420(352, 352, 7, 2));
    let blank = |json: Vec<u8>| {
        let text = String::from_utf8(json).expect("UTF-8");
        text.lines().filter(|l| !l.contains("\"fps\"")).map(str::to_owned).collect::<Vec<_>>()
    };
    let with =
        |rest: &[&str]| blank(report(&dir, &a, &b, &[&ALL[..], &["--precision", "max"], rest].concat()));
    let want = with(&[]);
    for rest in [["--threads", "2"], ["--threads", "5"], ["--cpumask", "63"], ["--cpumask", "16"]] {
        assert_eq!(with(&rest), want, "{rest:?}");
    }
    for level in ["scalar", "avx2", "avx512"] {
        let out = dir.arg("level.json");
        let mut command =
            jnd(&["score", "-r", &a, "-d", &b, "--json", "-q", "--precision", "max", "-o", &out]);
        run(command.args(ALL).env("JND_SIMD", level)).ok();
        assert_eq!(blank(dir.read("level.json")), want, "{level}");
    }
}

#[test]
fn pooled_scores_are_printed_without_a_report() {
    let dir = Dir::new();
    let a = dir.write("a.y4m", &noise420(64, 64, 4, 1));
    let ran = score(&a, &a, &["--feature", "motion"]).ok();
    let text = String::from_utf8(ran.stdout).expect("UTF-8");
    assert!(text.contains("harmonic mean") && text.contains("integer_motion2"), "{text}");
}

#[test]
fn a_card_that_is_not_there_is_named() {
    let dir = Dir::new();
    let a = dir.write("a.y4m", &noise420(64, 64, 2, 1));
    score(&a, &a, &["--feature", "motion", "--device", "cuda:4096"]).fails(255, &["CUDA"]);
    assert_eq!(score(&a, &a, &["--feature", "motion", "--device", "gpu"]).code, Some(1));
    score(&a, &a, &["--feature", "motion", "--device", "cpu"]).ok().says("(processor)");
    let mut command = jnd(&["score", "-r", &a, "-d", &a, "--feature", "motion"]);
    run(command.env("CUDA_VISIBLE_DEVICES", "")).ok().says("(processor)");
}

/// The folder with the reference command's own reports, where there is one.
fn reference_folder() -> Option<PathBuf> {
    let named = std::env::var_os("JND_SHARED").map(PathBuf::from);
    let beside =
        || Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().map(|a| a.join("shared")).find(|p| p.is_dir());
    let folder = named.or_else(beside).map(|p| p.join("reference/score")).filter(|p| p.is_dir());
    if folder.is_none() {
        eprintln!("skipped: no reference data (set JND_SHARED to the folder that has it)");
    }
    folder
}

/// Leaves out what differs from run to run: the line with the frame rate, and the version.
fn without_fps_and_version(text: &str) -> Vec<String> {
    let blank = |line: &str, key: &str| match line.split_once(key) {
        Some((head, tail)) => {
            let rest = tail.find('"').map_or("", |at| &tail[at..]);
            format!("{head}{key}{rest}")
        }
        None => line.to_owned(),
    };
    text.split('\n')
        .filter(|l| !l.contains("\"fps\""))
        .map(|l| blank(&blank(&blank(l, "\"version\": \""), "VMAF version=\""), "fyi fps=\""))
        .collect()
}

#[test]
fn stock_reports_are_byte_equal() {
    let Some(folder) = reference_folder() else { return };
    let dir = Dir::new();
    let unpack = |name: &str| {
        let mut data = Vec::new();
        let file = std::fs::File::open(folder.join(name)).expect("the clip");
        std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(file), &mut data).expect("gzip");
        dir.write(name.trim_end_matches(".gz"), &data)
    };
    let (r, d) = (unpack("n01_x264_ref.y4m.gz"), unpack("n01_x264_dis.y4m.gz"));
    let five = ["--feature", "motion=motion_five_frame_window=true:motion_fps_weight=0.5"];
    for (file, rest) in [
        ("cli_n01_stock.json", vec!["--json"]),
        ("cli_n01_stock.xml", vec!["--xml"]),
        ("cli_n01_stock.xml", vec![]),
        ("cli_n01_stock.csv", vec!["--csv"]),
        ("cli_n01_stock.sub", vec!["--sub"]),
        ("cli_n01_stock_subsample2.json", vec!["--json", "--subsample", "2"]),
        ("cli_n01_stock.json", vec!["--json", "--threads", "2"]),
    ] {
        let out = dir.arg("report");
        score(&r, &d, &[&["-n", "-q", "-o", &out], &ALL[..], &five, &rest].concat()).ok();
        let got = String::from_utf8(dir.read("report")).expect("UTF-8");
        let want = std::fs::read_to_string(folder.join(file)).expect("the report");
        assert_eq!(without_fps_and_version(&got), without_fps_and_version(&want), "{file} {rest:?}");
    }
}

#[test]
fn a_report_never_replaces_a_clip() {
    let dir = Dir::new();
    let bytes = noise420(32, 32, 2, 1);
    let a = dir.write("a.y4m", &bytes);
    let b = dir.write("b.y4m", &noise420(32, 32, 2, 2));
    std::fs::create_dir(dir.path("sub")).expect("a directory");
    let mut names = vec![a.clone(), dir.arg("sub/../a.y4m")];
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(&a, dir.path("soft.y4m")).expect("a link");
        std::fs::hard_link(&a, dir.path("hard.y4m")).expect("a link");
        names.extend([dir.arg("soft.y4m"), dir.arg("hard.y4m")]);
    }
    let files = dir.files();
    for name in &names {
        for (r, d) in [(&a, &b), (&b, &a)] {
            score(r, d, &["--feature", "motion", "-o", name])
                .fails(255, &[name, "both the input and the output"]);
        }
        assert_eq!(dir.read("a.y4m"), bytes, "{name}");
    }
    assert_eq!(dir.files(), files);
}

#[test]
fn masks_and_presets_of_the_vmaf_command() {
    let dir = Dir::new();
    let a = dir.write("a.y4m", &noise420(32, 32, 2, 1));
    let motion = ["--feature", "motion"];
    for mask in ["1", "0xff"] {
        let ran = score(&a, &a, &[&motion[..], &["--gpumask", mask]].concat()).ok();
        ran.says("(processor");
    }
    score(&a, &a, &[&motion[..], &["--gpumask", "0"]].concat()).ok();
    for preset in ["--aom_ctc", "--nflx_ctc"] {
        score(&a, &a, &[&motion[..], &[preset, "v1.0"]].concat())
            .fails(1, &[preset, "prediction models", "--feature"]);
    }
}
