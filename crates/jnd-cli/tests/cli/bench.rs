//! Measuring.

use crate::util::{Dir, clip, jnd, jnd_alone, run};

#[test]
fn every_pairing_is_measured_or_said_why_not() {
    let d = Dir::new();
    let input = d.write("in.y4m", &clip(48, 40, 12));
    let few = ["--repeats", "1", "--threads", "1,2"];
    let made = ["bench", "--size", "48x40:yuv420p10le:30", "--frames", "12"];
    for args in [&["bench", &input][..], &made] {
        let ran = run(&mut jnd_alone(&[args, &few].concat())).ok();
        let text = String::from_utf8(ran.stdout).expect("text");
        assert!(text.starts_with("12 frames of 48x40"), "{text}");
        for name in
            ["motion, iir, 1 thread:", "motion, iir, 2 threads:", "motion, butterworth", "motion, ideal"]
        {
            assert!(text.contains(name), "{name}: {text}");
        }
        for stage in ["whole", "shrink", "observe", "coarse", "render"] {
            assert!(text.contains(&format!("\n  {stage} ")), "{stage}: {text}");
        }
        // 12 frames at 30 frames/s hold no frequency from 0.83 to 1 Hz.
        assert!(text.contains("not measured: no frequency"), "{text}");
    }
}

#[test]
fn scoring_is_measured_for_every_feature() {
    let args = ["bench", "score", "--size", "160x160:yuv444p:25", "--frames", "2", "--repeats", "1"];
    let ran = run(&mut jnd(&args)).ok();
    let text = String::from_utf8(ran.stdout).expect("text");
    for name in ["motion", "float_motion", "speed_chroma", "speed_temporal", "all together"] {
        let row = text.lines().find(|l| l.trim_start().starts_with(&format!("{name} "))).expect(name);
        let ms: f64 =
            row[name.len() + 2..].split_whitespace().next().and_then(|t| t.parse().ok()).expect(row);
        assert!(ms > 0.0, "{row}");
    }
    // Too small for SpEED; a card that no machine has.
    run(&mut jnd(&["bench", "score", "--size", "64x64:yuv420p:25"])).fails(1, &["32x32"]);
    run(&mut jnd(&["bench", "score", "--device", "cuda:4096"])).fails(1, &[]);
}

#[test]
fn a_card_that_is_not_there_is_said_in_one_line() {
    let few = ["--size", "48x40:yuv420p:30", "--frames", "12", "--repeats", "1", "--threads", "1"];
    let bench = |device| run(&mut jnd(&[&["bench", "--device", device][..], &few].concat()));
    let ran = bench("cuda:4096").fails(1, &[]);
    assert!(ran.stdout.is_empty());
    let ran = bench("gpu").says("auto, cpu, cuda, or cuda:N");
    assert_eq!(ran.code, Some(2));
    // An environment that hides every card, whatever the machine has.
    let hidden = |device| {
        let mut command = jnd(&[&["bench", "--device", device][..], &few].concat());
        run(command.env("CUDA_VISIBLE_DEVICES", ""))
    };
    let ran = hidden("cuda").fails(1, &["no CUDA device can be used: "]);
    assert!(ran.stdout.is_empty());
    // Any device will do, and the processor does, and says why.
    let text = String::from_utf8(hidden("auto").ok().stdout).expect("text");
    let mut lines = text.lines();
    assert!(
        lines.next().is_some_and(|l| l.starts_with("on the processor: no CUDA device can be used: ")),
        "{text}"
    );
    assert!(lines.next().is_some_and(|l| l.starts_with("12 frames of 48x40")), "{text}");
}
