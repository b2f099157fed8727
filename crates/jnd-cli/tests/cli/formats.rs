//! YUV4MPEG2 in all its shapes, with nothing installed.

use crate::util::{Dir, Y4m, clip, clip_tagged, jnd_alone, run};

/// Magnifies `bytes` with `options` and returns the result.
#[track_caller]
fn magnified(bytes: &[u8], options: &[&str]) -> Y4m {
    let d = Dir::new();
    let input = d.write("in.y4m", bytes);
    let output = d.arg("out.y4m");
    let mut args = vec!["magnify", &input, &output];
    args.extend(options);
    run(&mut jnd_alone(&args)).ok();
    assert_eq!(d.files(), ["in.y4m", "out.y4m"]);
    Y4m::parse(&d.read("out.y4m"))
}

/// A clip in any format: `tags` and the bytes of a frame; the bytes change a little from frame to frame.
fn noisy(tags: &str, bytes: usize, deep: Option<u16>, frames: usize) -> Vec<u8> {
    let mut out = format!("YUV4MPEG2 {tags}\n").into_bytes();
    let mut state = 1u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state >> 16
    };
    for _ in 0..frames {
        out.extend_from_slice(b"FRAME\n");
        match deep {
            None => out.extend((0..bytes).map(|_| next() as u8)),
            Some(max) => {
                for _ in 0..bytes / 2 {
                    out.extend_from_slice(&(next() as u16 & max).to_le_bytes());
                }
            }
        }
    }
    out
}

#[test]
fn t03_odd_sizes_keep_their_size_and_every_byte_is_read_at_its_place() {
    for (w, h) in [(19usize, 19usize), (321, 241)] {
        let chroma = w.div_ceil(2) * h.div_ceil(2);
        let input = noisy(&format!("W{w} H{h} F25:1 C420jpeg"), w * h + 2 * chroma, None, 4);
        let before = Y4m::parse(&input);
        let after = magnified(&input, &["--alpha", "0"]);
        assert_eq!(after.frames, before.frames, "{w}x{h}");
        assert!(after.header.contains(&format!("W{w} H{h} ")), "{}", after.header);
        // And with a gain: all frames, of the same size, the first as it was.
        let after = magnified(&input, &[]);
        assert_eq!(after.frames.len(), 4);
        assert_eq!(after.frames[0], before.frames[0]);
        assert_ne!(after.frames[3], before.frames[3]);
    }
}

#[test]
fn every_sampling_and_depth_goes_through_untouched_at_alpha_0() {
    let (w, h) = (34, 21);
    let (cw, ch) = (17, 11);
    let cases = [
        ("C420jpeg", w * h + 2 * cw * ch, None),
        ("C420mpeg2", w * h + 2 * cw * ch, None),
        ("C420paldv", w * h + 2 * cw * ch, None),
        ("", w * h + 2 * cw * ch, None),
        ("C422", w * h + 2 * cw * h, None),
        ("C444", 3 * w * h, None),
        ("Cmono", w * h, None),
        ("C420p10", 2 * (w * h + 2 * cw * ch), Some(1023)),
        ("C422p10", 2 * (w * h + 2 * cw * h), Some(1023)),
        ("C444p12", 2 * 3 * w * h, Some(4095)),
        ("C420p16", 2 * (w * h + 2 * cw * ch), Some(65535)),
        ("Cmono10", 2 * w * h, Some(1023)),
    ];
    for (tag, bytes, deep) in cases {
        let input = noisy(&format!("W{w} H{h} F30000:1001 Ip A1:1 {tag}"), bytes, deep, 3);
        let before = Y4m::parse(&input);
        for options in [
            &["--alpha", "0"][..],
            &["--alpha", "0", "--filter", "butterworth", "--band", "1-3Hz", "--init", "zero"],
            &["--alpha", "0", "--filter", "ideal", "--band", "1-13Hz"],
            &["--alpha", "0", "--preset", "pulse", "--level", "2", "--band", "1-13Hz"],
        ] {
            let after = magnified(&input, options);
            assert_eq!(after.frames, before.frames, "{tag} {options:?}");
            assert!(after.header.contains("F30000:1001"), "{}", after.header);
        }
        // With a gain, the same number of frames in the same format.
        let after = magnified(&input, &["--chroma", "1", "--alpha", "20"]);
        assert_eq!(after.frames.len(), before.frames.len(), "{tag}");
        assert_ne!(after.frames, before.frames, "{tag}");
        let c = |y: &Y4m| y.header.split(' ').find(|t| t.starts_with('C')).map(str::to_owned);
        if !tag.is_empty() {
            assert_eq!(c(&after).as_deref(), Some(tag), "{}", after.header);
        }
    }
}

#[test]
fn headers_of_any_length_and_frame_parameters_are_taken() {
    let long = format!("W16 H16 F25:1 Ip A0:0 C420jpeg X{}", "Y".repeat(5000));
    let mut input = clip_tagged(&long, 16, 16, 2);
    let before = Y4m::parse(&input);
    assert_eq!(magnified(&input, &["--alpha", "0"]).frames, before.frames);
    // The same with a parameter on the second frame.
    let second = input.len() - (16 * 16 * 3 / 2) - 1;
    assert_eq!(&input[second - 5..second + 1], b"FRAME\n");
    input.splice(second..second, b" Ip Xfoo".iter().copied());
    assert_eq!(magnified(&input, &["--alpha", "0"]).frames, before.frames);
}

#[test]
fn chroma_that_cannot_be_magnified_is_refused_by_name() {
    let d = Dir::new();
    for tag in ["411", "444alpha", "420p9", "420p14", "foo"] {
        let input = d.write("in.y4m", &clip_tagged(&format!("W16 H16 F25:1 C{tag}"), 16, 16, 2));
        run(&mut jnd_alone(&["magnify", &input, &d.arg("out.y4m")])).fails(1, &["in.y4m", tag]);
        assert_eq!(d.files(), ["in.y4m"]);
    }
}

#[test]
fn t06_mono_is_magnified() {
    let input = noisy("W40 H30 F25:1 Cmono", 1200, None, 5);
    let after = magnified(&input, &[]);
    assert!(after.header.contains("Cmono"));
    assert_eq!(after.frames.len(), 5);
    assert_ne!(after.frames, Y4m::parse(&input).frames);
}

#[test]
fn t09_a_cut_file_keeps_its_whole_frames() {
    let d = Dir::new();
    let whole = clip(32, 32, 10);
    let frame = 32 * 32 * 3 / 2 + 6;
    for cut in [1, frame - 1, frame + 3, 3 * frame - 2] {
        let input = d.write("cut.y4m", &whole[..whole.len() - cut]);
        let output = d.arg("out.y4m");
        let ran = run(&mut jnd_alone(&["magnify", &input, &output, "--overwrite"]));
        assert_eq!(ran.code, Some(3), "{cut}: {}", ran.stderr);
        let want = 10 - cut.div_ceil(frame);
        let ran = ran.says("cut.y4m").says(&format!("after {want} whole frames"));
        assert!(ran.stderr.contains(&format!("{want} frames in, {want} out")), "{}", ran.stderr);
        assert_eq!(Y4m::parse(&d.read("out.y4m")).frames.len(), want, "{cut}");
    }
    // With the filter that reads twice as well.
    let input = d.write("cut.y4m", &whole[..whole.len() - 1]);
    let options = ["--overwrite", "--filter", "ideal", "--band", "2-9Hz"];
    let mut args = vec!["magnify", &input];
    let output = d.arg("out.y4m");
    args.push(&output);
    args.extend(options);
    assert_eq!(run(&mut jnd_alone(&args)).code, Some(3));
    assert_eq!(Y4m::parse(&d.read("out.y4m")).frames.len(), 9);
}

#[test]
fn t10_no_frames_and_empty_files_are_clean_errors() {
    let d = Dir::new();
    let header = b"YUV4MPEG2 W64 H64 F25:1 Ip A1:1 C420jpeg\n";
    let cut = [&header[..], b"FRAME\n12345"].concat();
    let cases: [(&str, &[u8]); 5] = [
        ("none.y4m", header),
        ("empty.y4m", b""),
        ("empty.mp4", b""),
        ("cut.y4m", &cut),
        ("half.y4m", b"YUV4MPEG2 W64"),
    ];
    for (name, bytes) in cases {
        for options in [&[][..], &["--filter", "ideal", "--band", "1-2Hz"]] {
            let input = d.write(name, bytes);
            let output = d.arg("out.y4m");
            let mut args = vec!["magnify", &input, &output];
            args.extend(options);
            run(&mut jnd_alone(&args)).fails(1, &[name]);
            std::fs::remove_file(&input).expect("removed");
            assert!(d.files().is_empty(), "{name}: {:?}", d.files());
        }
    }
}

#[test]
fn t11_t12_one_and_two_frames() {
    for n in [1, 2] {
        let input = clip(64, 64, n);
        assert_eq!(magnified(&input, &[]).frames.len(), n);
        assert_eq!(magnified(&input, &["--filter", "butterworth", "--band", "1-2Hz"]).frames.len(), n);
        let d = Dir::new();
        let path = d.write("in.y4m", &input);
        let args = ["magnify", &path, &d.arg("out.y4m"), "--filter", "ideal", "--band", "1-2Hz"];
        // 25 frames a second: the first bin inside the band comes with 13 frames (1.92 Hz).
        run(&mut jnd_alone(&args)).fails(1, &["in.y4m", ": 13 frames would do"]);
        assert_eq!(d.files(), ["in.y4m"]);
    }
}

#[test]
fn t13_tiny_pictures() {
    for side in [1, 2, 3, 8, 16, 17, 33] {
        let input = clip(side, side, 5);
        let before = Y4m::parse(&input);
        for options in [
            &[][..],
            &["--filter", "ideal", "--band", "4-12Hz"],
            &["--preset", "pulse", "--band", "4-12Hz"],
            &["--filter", "butterworth", "--band", "1-12Hz", "--init", "zero"],
        ] {
            let after = magnified(&input, options);
            assert_eq!(after.frames.len(), 5, "{side} {options:?}");
            if side < 10 && !options.contains(&"pulse") {
                // Nothing but the finest and the last level: nothing to magnify.
                assert_eq!(after.frames, before.frames, "{side} {options:?}");
            }
        }
    }
}

#[test]
fn t15_range_tags_stay_and_blacks_are_not_lifted() {
    for range in ["FULL", "LIMITED"] {
        let mut input = clip_tagged(&format!("W32 H32 F25:1 C420jpeg XCOLORRANGE={range}"), 32, 32, 3);
        // A black corner.
        let at = input.len() - 32 * 32 * 3 / 2;
        input[at] = 0;
        let after = magnified(&input, &["--alpha", "0"]);
        assert!(after.header.contains(&format!("XCOLORRANGE={range}")), "{}", after.header);
        assert_eq!(after.frames[2][0], 0);
    }
}

#[test]
fn t18_names_with_anything_in_them() {
    let d = Dir::new();
    let sub = "t18 カズサ_ü' dir";
    std::fs::create_dir(d.path(sub)).expect("a directory");
    let input = d.write(&format!("{sub}/クリップ (1) :x.y4m"), &clip(16, 16, 3));
    let output = d.arg(&format!("{sub}/größer \"2\" :y.y4m"));
    run(&mut jnd_alone(&["magnify", &input, &output])).ok().says("größer \"2\" :y.y4m");
    assert_eq!(Y4m::parse(&std::fs::read(&output).expect("the output")).frames.len(), 3);
}

#[test]
fn t21_flat_and_black_come_out_as_they_were() {
    for value in [128u8, 0, 16, 255] {
        let mut input = b"YUV4MPEG2 W160 H120 F25:1 C420jpeg\n".to_vec();
        for _ in 0..10 {
            input.extend_from_slice(b"FRAME\n");
            input.extend(std::iter::repeat_n(value, 160 * 120));
            input.extend(std::iter::repeat_n(128, 160 * 120 / 2));
        }
        let before = Y4m::parse(&input);
        for options in [
            &["--alpha", "100", "--chroma", "1"][..],
            &["--alpha", "100", "--filter", "butterworth", "--band", "1-3Hz"],
            &["--alpha", "100", "--filter", "ideal", "--band", "2-6Hz"],
            &["--preset", "pulse", "--band", "2-6Hz"],
        ] {
            assert_eq!(magnified(&input, options).frames, before.frames, "{value} {options:?}");
        }
    }
}

#[test]
fn raw_frames_with_their_geometry() {
    let d = Dir::new();
    let bytes = clip(32, 20, 4);
    let frames = Y4m::parse(&bytes).frames;
    let input = d.write("in.yuv", &frames.concat());
    let output = d.arg("out.yuv");
    let args = ["magnify", &input, &output, "--raw", "32x20:yuv420p:25", "--alpha", "0"];
    run(&mut jnd_alone(&args)).ok();
    assert_eq!(d.read("out.yuv"), frames.concat());
    let args = ["magnify", &input, &d.arg("cut.yuv"), "--raw", "33x20:yuv420p:25"];
    // 1000 bytes a frame in a file of 3840.
    assert_eq!(run(&mut jnd_alone(&args)).says("after 3 whole frames").code, Some(3));
}

#[test]
fn mit_compat_drops_the_last_ten() {
    let input = clip(16, 16, 15);
    let before = Y4m::parse(&input);
    let after = magnified(&input, &["--alpha", "0", "--mit-compat"]);
    assert_eq!(after.frames, before.frames[..5]);
    // Ten or fewer frames all stay.
    let input = clip(16, 16, 10);
    assert_eq!(magnified(&input, &["--mit-compat"]).frames.len(), 10);
    // The causal filters give the frames they would have given anyway; the ideal one those of the shorter clip.
    let input = clip(24, 24, 40);
    let whole = magnified(&input, &[]);
    assert_eq!(magnified(&input, &["--mit-compat"]).frames, whole.frames[..30]);
    let frame = 24 * 24 * 3 / 2 + 6;
    let short = &input[..input.len() - 10 * frame];
    let ideal = ["--filter", "ideal", "--band", "2-6Hz"];
    let compat = [&ideal[..], &["--mit-compat"]].concat();
    assert_eq!(magnified(&input, &compat).frames, magnified(short, &ideal).frames);
}

#[test]
fn a_part_of_a_clip_is_like_a_clip_of_its_own() {
    let input = clip(24, 24, 50);
    let frame = 24 * 24 * 3 / 2 + 6;
    let header = input.len() - 50 * frame;
    // 0.4 s to before 1.2 s at 25 frames a second: frames 10 to 29.
    let part = [&input[..header], &input[header + 10 * frame..header + 30 * frame]].concat();
    for options in [&[][..], &["--filter", "ideal", "--band", "2-6Hz"]] {
        let cut = [options, &["--start", "0.4", "--end", "1.2"]].concat();
        assert_eq!(magnified(&input, &cut).frames, magnified(&part, options).frames, "{options:?}");
    }
    let d = Dir::new();
    let path = d.write("in.y4m", &input);
    run(&mut jnd_alone(&["magnify", &path, &d.arg("o.y4m"), "--start", "5"])).fails(1, &["in.y4m"]);
    assert_eq!(d.files(), ["in.y4m"]);
}

#[test]
fn the_capture_rate_moves_the_band() {
    // 10 Hz at 25 frames a second is 100 Hz at a capture rate of 250.
    let input = clip(24, 24, 50);
    let played = magnified(&input, &["--filter", "ideal", "--band", "8-11Hz"]);
    let captured = magnified(&input, &["--filter", "ideal", "--band", "80-110Hz", "--capture-fps", "250"]);
    assert_eq!(captured, played);
}

#[test]
fn threads_do_not_change_a_byte() {
    let input = clip(131, 77, 20);
    for options in [
        &[][..],
        &["--filter", "butterworth", "--band", "1-3Hz"],
        &["--filter", "ideal", "--band", "1-6Hz"],
        &["--preset", "pulse", "--band", "1-6Hz", "--level", "3"],
    ] {
        let one = magnified(&input, &[options, &["--threads", "1"]].concat());
        for n in ["2", "5"] {
            assert_eq!(magnified(&input, &[options, &["--threads", n]].concat()), one, "{options:?} {n}");
        }
    }
}
