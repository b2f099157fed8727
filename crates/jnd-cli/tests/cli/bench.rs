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
