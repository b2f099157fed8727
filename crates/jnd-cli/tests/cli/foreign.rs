//! Containers and codecs that need `ffmpeg`, and MP4 with what is built in.

use std::process::Command;

use crate::util::{Dir, Y4m, clip, ff, have_ffmpeg, jnd, jnd_alone, probe, run, shown};

const SOURCE: &str = "-f lavfi -i testsrc2=size=320x240:rate=30:duration=2";

/// Mean difference of two clips' luma, and that they are of one size and length.
#[track_caller]
fn luma_difference(a: &Y4m, b: &Y4m, luma: usize) -> f64 {
    assert_eq!(a.frames.len(), b.frames.len());
    assert_eq!(a.frames[0].len(), b.frames[0].len(), "{} against {}", a.header, b.header);
    let sum: u64 = a
        .frames
        .iter()
        .zip(&b.frames)
        .flat_map(|(a, b)| a[..luma].iter().zip(&b[..luma]))
        .map(|(a, b)| u64::from(a.abs_diff(*b)))
        .sum();
    sum as f64 / (luma * a.frames.len()) as f64
}

/// Times at which the frames of a file are shown, in seconds.
fn times(path: &str) -> Vec<f64> {
    let list = probe(path.as_ref(), "frame=pts_time");
    list.iter().map(|t| t.trim_matches(',').parse().expect("a time")).collect()
}

/// Hash of the sound's packets.
fn sound(path: &str) -> String {
    let output = Command::new("ffmpeg")
        .args(["-v", "error", "-nostdin", "-i", path, "-map", "0:a", "-c", "copy", "-f", "streamhash", "-"])
        .output()
        .expect("ffmpeg starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn t01_rotated_clips_are_shown_upright() {
    if !have_ffmpeg("t01") {
        return;
    }
    let d = Dir::new();
    let base = d.arg("base.mp4");
    ff(&format!("{SOURCE} -frames:v 5 -c:v libx264 -qp 0 -pix_fmt yuv420p {{}}"), &[&base]);
    for angle in [0, 90, 180, 270] {
        let input = d.arg("rotated.mp4");
        ff(&format!("-i {{}} -c copy -metadata:s:v rotate={angle} {{}}"), &[&base, &input]);
        let want = shown(&d, &input);
        // Pixels turned.
        let y4m = d.arg("out.y4m");
        run(&mut jnd(&["magnify", &input, &y4m, "--alpha", "0", "-y"])).ok();
        assert_eq!(Y4m::parse(&d.read("out.y4m")).frames, want.frames, "{angle}: y4m");
        // The tag carried over.
        for output in ["out.mp4", "out.mov"] {
            let path = d.arg(output);
            run(&mut jnd(&["magnify", &input, &path, "--alpha", "0", "-y", "--crf", "8"])).ok();
            let off = luma_difference(&shown(&d, &path), &want, 320 * 240);
            assert!(off < 2.0, "{angle}: {output} differs by {off}");
        }
    }
}

#[test]
fn t02_a_variable_rate_keeps_its_times() {
    if !have_ffmpeg("t02") {
        return;
    }
    let d = Dir::new();
    let input = d.arg("in.mp4");
    ff(
        &format!(
            "{SOURCE} -vf setpts='if(lt(N\\,30)\\,N/30\\,1+(N-30)/10)/TB' -vsync vfr -c:v libx264 -pix_fmt yuv420p {{}}"
        ),
        &[&input],
    );
    assert_eq!(times(&input).len(), 60);
    for output in ["out.mp4", "out.mkv"] {
        let path = d.arg(output);
        let ran = run(&mut jnd(&["magnify", &input, &path])).ok();
        assert!(ran.stderr.contains("60 frames in, 60 out"), "{}", ran.stderr);
        // 59 intervals in 1 + 29/10 seconds.
        assert!(ran.stderr.contains("varies") && ran.stderr.contains("15.1"), "{}", ran.stderr);
        let (before, after) = (times(&input), times(&path));
        assert_eq!(after.len(), 60);
        for (a, b) in before.iter().zip(&after) {
            assert!((a - b).abs() < 0.002, "{output}: {a} became {b}");
        }
    }
}

#[test]
fn t03_odd_sizes_as_ffv1_and_padded() {
    if !have_ffmpeg("t03") {
        return;
    }
    let d = Dir::new();
    let input = d.arg("odd.mkv");
    ff(
        "-f lavfi -i testsrc2=size=640x480:rate=25:duration=0.4 -vf crop=321:241:0:0:exact=1,format=yuv420p -c:v ffv1 {}",
        &[&input],
    );
    let want = shown(&d, &input);
    let output = d.arg("out.mkv");
    run(&mut jnd(&["magnify", &input, &output, "--lossless", "--alpha", "0"])).ok();
    assert_eq!(probe(output.as_ref(), "stream=codec_name,width,height"), ["ffv1,321,241"]);
    assert_eq!(shown(&d, &output).frames, want.frames);
    run(&mut jnd(&["magnify", &input, &d.arg("no.mp4")])).fails(1, &["321x241", "--lossless", "--pad-even"]);
    let padded = d.arg("padded.mp4");
    run(&mut jnd(&["magnify", &input, &padded, "--pad-even"])).ok();
    assert_eq!(probe(padded.as_ref(), "stream=codec_name,width,height"), ["h264,322,242"]);
    assert_eq!(d.files(), ["odd.mkv", "out.mkv", "padded.mp4", "shown-by-ffmpeg.y4m"]);
}

#[test]
fn t04_ten_bits_stay_ten_bits() {
    if !have_ffmpeg("t04") {
        return;
    }
    let d = Dir::new();
    let input = d.arg("in.mkv");
    ff("-f lavfi -i testsrc2=size=642x362:rate=24:duration=0.3 -pix_fmt yuv420p10le -c:v ffv1 {}", &[&input]);
    let want = shown(&d, &input);
    run(&mut jnd(&["magnify", &input, &d.arg("out.y4m"), "--alpha", "0"])).ok();
    assert_eq!(Y4m::parse(&d.read("out.y4m")).frames, want.frames);
    run(&mut jnd(&["magnify", &input, &d.arg("lossless.mkv"), "--alpha", "0", "--lossless"])).ok();
    assert_eq!(shown(&d, &d.arg("lossless.mkv")).frames, want.frames);
    run(&mut jnd(&["magnify", &input, &d.arg("out.mp4")])).ok();
    assert_eq!(probe(&d.path("out.mp4"), "stream=pix_fmt"), ["yuv420p10le"]);
}

#[test]
fn t05_alpha_is_dropped_with_a_note_and_colours_stay() {
    if !have_ffmpeg("t05") {
        return;
    }
    let d = Dir::new();
    let input = d.arg("alpha.mov");
    ff(
        "-f lavfi -i testsrc2=size=160x120:rate=25:duration=0.4 -vf format=yuva444p10le,geq=lum='lum(X\\,Y)':cb='cb(X\\,Y)':cr='cr(X\\,Y)':a='1023*X/W' -c:v prores_ks -profile:v 4444 {}",
        &[&input],
    );
    let output = d.arg("out.mkv");
    run(&mut jnd(&["magnify", &input, &output, "--alpha", "0", "--lossless"])).ok().says("alpha");
    // ffmpeg 5.1 decodes this ProRes to 12 bits; whatever it is, planes 0 to 2 must be the same.
    let plain = d.arg("plain.mkv");
    let format = &probe(output.as_ref(), "stream=pix_fmt")[0];
    let decoded = &probe(input.as_ref(), "stream=pix_fmt")[0];
    assert_eq!(&decoded.replace("yuva", "yuv"), format);
    ff("-i {} -vf extractplanes=y,format=gray12le -c:v ffv1 {}", &[&input, &plain]);
    let luma = shown(&d, &plain);
    ff("-i {} -vf extractplanes=y,format=gray12le -c:v ffv1 {}", &[&output, &plain]);
    assert_eq!(shown(&d, &plain).frames, luma.frames);
}

#[test]
fn t06_gray_video() {
    if !have_ffmpeg("t06") {
        return;
    }
    let d = Dir::new();
    let input = d.arg("gray.mkv");
    ff(&format!("{SOURCE} -frames:v 12 -vf format=gray -c:v ffv1 {{}}"), &[&input]);
    run(&mut jnd(&["magnify", &input, &d.arg("out.mkv"), "--lossless"])).ok();
    assert_eq!(probe(&d.path("out.mkv"), "stream=pix_fmt"), ["gray"]);
    run(&mut jnd(&["magnify", &input, &d.arg("same.mkv"), "--lossless", "--alpha", "0"])).ok();
    assert_eq!(shown(&d, &d.arg("same.mkv")).frames, shown(&d, &input).frames);
}

#[test]
fn t07_sound_is_carried_over() {
    if !have_ffmpeg("t07") {
        return;
    }
    let d = Dir::new();
    let input = d.arg("in.mp4");
    ff(
        &format!(
            "{SOURCE} -f lavfi -i sine=frequency=440:duration=2 -c:v libx264 -pix_fmt yuv420p -c:a aac -shortest {{}}"
        ),
        &[&input],
    );
    let want = sound(&input);
    assert!(want.contains("SHA256="), "{want}");
    for output in ["out.mp4", "out.mkv", "out.mov"] {
        let path = d.arg(output);
        run(&mut jnd(&["magnify", &input, &path])).ok();
        assert_eq!(sound(&path), want, "{output}");
        // Matroska has no times before 0, where AAC starts: picture and sound move on together, by less than a frame.
        let (before, after) = (times(&input), times(&path));
        let shift = after[0];
        assert!((0.0..0.033).contains(&shift), "{output}: {shift}");
        let moved = before.iter().zip(&after).all(|(a, b)| (b - a - shift).abs() < 0.0011);
        assert!(before.len() == after.len() && moved, "{output}: {before:?} became {after:?}");
    }
    // And with nothing installed.
    let alone = d.arg("alone.mp4");
    run(&mut jnd_alone(&["magnify", &input, &alone])).ok();
    assert_eq!(sound(&alone), want);
    assert_eq!(times(&alone).len(), times(&input).len());
    // Where it cannot be kept it is said.
    for output in ["out.y4m", "out.yuv"] {
        for command in [jnd, jnd_alone] {
            let path = d.arg(output);
            run(&mut command(&["magnify", &input, &path, "-y"]))
                .ok()
                .says("the sound of ")
                .says("--no-audio");
            let ran = run(&mut command(&["magnify", &input, &path, "-y", "--no-audio"])).ok();
            assert!(!ran.stderr.contains("sound"), "{}", ran.stderr);
        }
    }
    let silent = d.arg("silent.mp4");
    run(&mut jnd(&["magnify", &input, &silent, "--no-audio"])).ok();
    let streams = Command::new("ffprobe")
        .args(["-v", "error", "-show_entries", "stream=codec_type", "-of", "csv=p=0", &silent])
        .output()
        .expect("ffprobe");
    assert_eq!(String::from_utf8_lossy(&streams.stdout).trim(), "video");
}

#[test]
fn t08_interlaced_video_is_warned_about() {
    if !have_ffmpeg("t08") {
        return;
    }
    let d = Dir::new();
    let input = d.arg("in.mp4");
    ff(
        "-f lavfi -i testsrc2=size=320x240:rate=50:duration=1 -vf tinterlace=interleave_top,fieldorder=tff -c:v libx264 -flags +ilme+ildct -pix_fmt yuv420p {}",
        &[&input],
    );
    let ran = run(&mut jnd(&["magnify", &input, &d.arg("out.mp4")])).ok();
    assert!(ran.stderr.contains("nterlaced"), "{}", ran.stderr);
    assert!(ran.stderr.contains("25 frames in, 25 out"), "{}", ran.stderr);
}

#[test]
fn t09_cut_containers() {
    if !have_ffmpeg("t09") {
        return;
    }
    let d = Dir::new();
    ff(&format!("{SOURCE} -c:v libx264 -pix_fmt yuv420p {{}}"), &[&d.arg("full.mp4")]);
    ff(&format!("{SOURCE} -c:v libx264 -pix_fmt yuv420p {{}}"), &[&d.arg("full.mkv")]);
    let (mp4, mkv) = (d.read("full.mp4"), d.read("full.mkv"));
    let input = d.write("cut.mp4", &mp4[..20000]);
    for command in [jnd, jnd_alone] {
        run(&mut command(&["magnify", &input, &d.arg("out.mp4")])).fails(1, &["cut.mp4"]);
    }
    let input = d.write("cut.mkv", &mkv[..mkv.len() / 2]);
    for options in [&[][..], &["--filter", "ideal", "--band", "2-6Hz"]] {
        let output = d.arg("out.mkv");
        let ran = run(&mut jnd(&[&["magnify", &input, &output, "-y"], options].concat()));
        assert_eq!(ran.code, Some(3), "{}", ran.stderr);
        let ran = ran.says("cut.mkv");
        let n = times(&output).len();
        assert!(n > 5 && ran.stderr.contains(&format!("{n} frames in, {n} out")), "{n}: {}", ran.stderr);
    }
}

#[test]
fn t10_t25_no_picture() {
    if !have_ffmpeg("t25") {
        return;
    }
    let d = Dir::new();
    let input = d.arg("sound.mp4");
    ff("-f lavfi -i sine=frequency=440:duration=1 -c:a aac {}", &[&input]);
    for command in [jnd, jnd_alone] {
        run(&mut command(&["magnify", &input, &d.arg("out.mp4")])).fails(1, &["sound.mp4", "no video"]);
    }
    let noise: Vec<u8> = (0..5000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let input = d.write("noise.mp4", &noise);
    run(&mut jnd(&["magnify", &input, &d.arg("out.mp4")])).fails(1, &["noise.mp4"]);
    let input = d.write("empty.mkv", b"");
    run(&mut jnd(&["magnify", &input, &d.arg("out.mp4")])).fails(1, &["empty.mkv"]);
    assert_eq!(d.files(), ["empty.mkv", "noise.mp4", "sound.mp4"]);
}

#[test]
fn t11_one_frame_mp4() {
    if !have_ffmpeg("t11") {
        return;
    }
    let d = Dir::new();
    let input = d.arg("one.mp4");
    ff(&format!("{SOURCE} -frames:v 1 -c:v libx264 -pix_fmt yuv420p {{}}"), &[&input]);
    for (command, output) in
        [(jnd as fn(&[&str]) -> Command, "out.mp4"), (jnd_alone as fn(&[&str]) -> Command, "alone.mp4")]
    {
        let path = d.arg(output);
        run(&mut command(&["magnify", &input, &path])).ok();
        assert_eq!(times(&path).len(), 1);
    }
}

#[test]
fn t15_range_tags_are_carried_over() {
    if !have_ffmpeg("t15") {
        return;
    }
    let d = Dir::new();
    for (range, tag) in [("full", "pc"), ("limited", "tv")] {
        let input = d.arg(&format!("{range}.mp4"));
        ff(
            &format!(
                "-f lavfi -i testsrc2=size=320x240:rate=25:duration=0.4 -vf scale=out_range={range},format=yuv420p -color_range {tag} -c:v libx264 -crf 2 {{}}"
            ),
            &[&input],
        );
        let want = shown(&d, &input);
        // Not every encoder says what the default is, limited.
        let is_right =
            |path: &str| (probe(path.as_ref(), "stream=color_range")[0] == "pc") == (range == "full");
        assert!(is_right(&input));
        for (output, options) in
            [("out.mp4", &["--crf", "5"][..]), ("out.mkv", &["--lossless"]), ("out.webm", &["--crf", "5"])]
        {
            let path = d.arg(&format!("{range}-{output}"));
            run(&mut jnd(&[&["magnify", &input, &path, "--alpha", "0"], options].concat())).ok();
            assert!(is_right(&path), "{range} {output}");
            let off = luma_difference(&shown(&d, &path), &want, 320 * 240);
            assert!(off < 1.0, "{range} {output}: {off}");
        }
        let alone = d.arg(&format!("{range}-alone.mp4"));
        run(&mut jnd_alone(&["magnify", &input, &alone, "--alpha", "0", "--crf", "12"])).ok();
        assert!(is_right(&alone), "{range} alone");
        assert!(luma_difference(&shown(&d, &alone), &want, 320 * 240) < 2.0);
    }
}

#[test]
fn t18_names_with_anything_in_them() {
    if !have_ffmpeg("t18") {
        return;
    }
    let d = Dir::new();
    let sub = "t18 カズサ_ü' dir";
    std::fs::create_dir(d.path(sub)).expect("a directory");
    let input = d.arg(&format!("{sub}/クリップ (1) :x.mp4"));
    ff(&format!("{SOURCE} -frames:v 4 -c:v libx264 -pix_fmt yuv420p {{}}"), &[&input]);
    let output = d.arg(&format!("{sub}/größer %d \"2\" :y.mkv"));
    run(&mut jnd(&["magnify", &input, &output])).ok();
    assert_eq!(times(&output).len(), 4);
    // A name that looks like an option or a protocol.
    let mut command = jnd(&["magnify", "--", "-in:put.mp4", "-out:put.mkv"]);
    std::fs::copy(&input, d.path("-in:put.mp4")).expect("a copy");
    run(command.current_dir(d.path(""))).ok();
    assert_eq!(times(&d.arg("-out:put.mkv")).len(), 4);
}

#[test]
fn mp4_works_with_nothing_installed() {
    let d = Dir::new();
    let input = d.write("in.y4m", &clip(64, 48, 30));
    let mp4 = d.arg("coded.mp4");
    run(&mut jnd_alone(&["magnify", &input, &mp4, "--alpha", "0", "--crf", "12"])).ok().says("OpenH264");
    let back = d.arg("back.y4m");
    run(&mut jnd_alone(&["magnify", &mp4, &back, "--alpha", "0"])).ok().says("OpenH264");
    let (before, after) = (Y4m::parse(&d.read("in.y4m")), Y4m::parse(&d.read("back.y4m")));
    let off = luma_difference(&before, &after, 64 * 48);
    assert!(off < 1.5, "{off}");
    assert!(after.header.contains("F25:1"));
    // Two passes over an MP4.
    let ideal = d.arg("ideal.mp4");
    let args = ["magnify", &mp4, &ideal, "--filter", "ideal", "--band", "2-6Hz"];
    run(&mut jnd_alone(&args)).ok().says("30 frames in, 30 out");
}

#[test]
fn what_needs_ffmpeg_says_so() {
    let d = Dir::new();
    let input = d.write("in.y4m", &clip(64, 48, 5));
    for name in ["out.mkv", "out.webm"] {
        run(&mut jnd_alone(&["magnify", &input, &d.arg(name)])).fails(1, &[name, "ffmpeg", "install"]);
    }
    run(&mut jnd_alone(&["magnify", &input, &d.arg("out.mp4"), "--codec", "hevc"])).fails(1, &["ffmpeg"]);
    let mkv = d.write("in.mkv", b"\x1a\x45\xdf\xa3 and so on, at least as long as a header");
    run(&mut jnd_alone(&["magnify", &mkv, &d.arg("out.y4m")])).fails(1, &["in.mkv", "ffmpeg", "install"]);
    assert_eq!(d.files(), ["in.mkv", "in.y4m"]);
}

#[test]
fn a_part_of_a_clip_has_its_part_of_the_sound() {
    if !have_ffmpeg("part") {
        return;
    }
    let d = Dir::new();
    let input = d.arg("in.mp4");
    ff(
        "-f lavfi -i testsrc2=size=320x240:rate=30:duration=4 -f lavfi -i sine=frequency=440:duration=4 -c:v libx264 -g 10 -pix_fmt yuv420p -c:a aac {}",
        &[&input],
    );
    let output = d.arg("part.mkv");
    run(&mut jnd(&[
        "magnify",
        &input,
        &output,
        "--start",
        "1",
        "--end",
        "2.5",
        "--alpha",
        "0",
        "--lossless",
    ]))
    .ok();
    let t = times(&output);
    assert_eq!(t.len(), 45);
    assert!(t[0].abs() < 0.03, "{}", t[0]);
    let whole = shown(&d, &input);
    assert_eq!(shown(&d, &output).frames, whole.frames[30..75]);
    let duration = Command::new("ffprobe")
        .args([
            "-v",
            "error",
            "-select_streams",
            "a",
            "-show_entries",
            "packet=pts_time",
            "-of",
            "csv=p=0",
            &output,
        ])
        .output()
        .expect("ffprobe");
    let text = String::from_utf8_lossy(&duration.stdout).into_owned();
    let audio: Vec<f64> = text.lines().filter_map(|l| l.trim_matches(',').parse().ok()).collect();
    let (first, last) = (audio[0], audio[audio.len() - 1]);
    assert!(first.abs() < 0.05 && (1.4..1.6).contains(&last), "sound from {first} to {last}");
}

#[test]
fn t03_odd_h264_is_refused_before_the_work() {
    let d = Dir::new();
    let input = d.write("in.y4m", &clip(19, 19, 3));
    for extension in ["mp4", "mov", "m4v"] {
        let output = d.arg(&format!("out.{extension}"));
        run(&mut jnd_alone(&["magnify", &input, &output])).fails(1, &["19x19", "--pad-even", ".mkv"]);
        assert_eq!(d.files(), ["in.y4m"]);
    }
}

#[test]
fn damage_is_told_in_a_sentence() {
    let d = Dir::new();
    let input = d.write("in.y4m", &clip(160, 120, 12));
    let (good, out) = (d.arg("good.mp4"), d.arg("out.y4m"));
    run(&mut jnd_alone(&["magnify", &input, &good])).ok();
    let mut bytes = d.read("good.mp4");
    let start = bytes.windows(4).position(|w| w == b"mdat").expect("the pictures") + 4;
    let end =
        start - 8 + u32::from_be_bytes(bytes[start - 8..start - 4].try_into().expect("4 bytes")) as usize;
    // All but the first few NAL units keep their first bytes and get noise for the rest.
    let (mut at, mut seed, mut unit) = (start, 1u32, 0);
    while at + 4 < end {
        let length = u32::from_be_bytes(bytes[at..at + 4].try_into().expect("4 bytes")) as usize;
        for b in bytes[at + 4..at + 4 + length].iter_mut().skip(6).filter(|_| unit > 5) {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            *b = (seed >> 24) as u8;
        }
        (at, unit) = (at + 4 + length, unit + 1);
    }
    let bad = d.write("bad.mp4", &bytes);
    run(&mut jnd_alone(&["magnify", &bad, &out])).fails(1, &["bad.mp4", "frame ", "is damaged; ffmpeg can"]);
    assert!(!d.path("out.y4m").exists());
    if !have_ffmpeg("damage") {
        return;
    }
    // A warning, once, however many passes there are and however quiet the run.
    let ideal = ["--filter", "ideal", "--band", "1-5Hz"];
    for more in [&["-y"][..], &["-y", "-q"], &["-y", ideal[0], ideal[1], ideal[2], ideal[3]]] {
        let ran = run(jnd(&["magnify", &bad, &out]).args(more)).ok();
        let lines: Vec<&str> = ran.stderr.lines().filter(|l| l.contains("while decoding")).collect();
        assert_eq!(lines.len(), 1, "{}", ran.stderr);
        assert!(lines[0].starts_with("jnd: warning: ") && lines[0].contains("bad.mp4"), "{}", lines[0]);
        assert!(lines[0].contains("messages)") && !lines[0].contains("; "), "{}", lines[0]);
    }
    let ran = run(&mut jnd(&["score", "-r", &good, "-d", &bad, "--feature", "motion", "-q"])).ok();
    assert!(ran.stderr.contains("jnd: warning: ") && ran.stderr.contains("while decoding"), "{}", ran.stderr);
}
