//! The filter that needs the whole clip.

use crate::util::{Dir, Y4m, clip, jnd_alone, run, run_with_stdin};

const BAND: [&str; 4] = ["--filter", "ideal", "--band", "1-5Hz"];

#[test]
fn strips_give_the_same_bits() {
    let d = Dir::new();
    let bytes = clip(200, 331, 60);
    let input = d.write("in.y4m", &bytes);
    let magnify = |output: &str, options: &[&str]| {
        let output = d.arg(output);
        run(&mut jnd_alone(&[&["magnify", &input, &output, "-y"], &BAND[..], options].concat()))
    };
    // The threads need memory too.
    for (options, memory) in [
        (&["--chroma", "1", "--threads", "2"][..], "1500kB"),
        (&["--preset", "pulse", "--level", "0", "--threads", "2"], "5MB"),
    ] {
        let whole = magnify("whole.y4m", options).ok();
        assert!(whole.stderr.contains("memory"), "{}", whole.stderr);
        let strips = magnify("strips.y4m", &[options, &["--memory", memory]].concat()).ok();
        let line = strips.stderr.lines().find(|l| l.starts_with("memory")).expect("the need").to_owned();
        assert!(line.contains(" strips"), "{line}");
        // The need comes before the work's last line.
        assert!(strips.stderr.find("memory") < strips.stderr.find("output "), "{}", strips.stderr);
        assert_eq!(Y4m::parse(&d.read("strips.y4m")), Y4m::parse(&d.read("whole.y4m")), "{options:?}");
        // A pipe in strips.
        let args = [&["magnify", "-", "-"], &BAND[..], options, &["--memory", memory]].concat();
        let ran = run_with_stdin(&mut jnd_alone(&args), &bytes).ok();
        assert_eq!(Y4m::parse(&ran.stdout), Y4m::parse(&d.read("whole.y4m")), "{options:?}");
    }
    // Less than any strip needs.
    std::fs::remove_file(d.path("strips.y4m")).expect("removed");
    magnify("strips.y4m", &["--memory", "1kB"]).fails(1, &["only 1000"]);
    assert_eq!(d.files(), ["in.y4m", "whole.y4m"]);
}

#[test]
fn both_passes_show_their_progress() {
    let d = Dir::new();
    let bytes = clip(40, 40, 50);
    let input = d.write("in.y4m", &bytes);
    let passes = |ran: crate::util::Ran| -> Vec<(u64, u64)> {
        let mut list: Vec<(u64, u64)> = ran
            .stderr
            .lines()
            .map(|l| {
                let v: serde_json::Value = serde_json::from_str(l).expect("JSON");
                (v["pass"].as_u64().expect("pass"), v["passes"].as_u64().expect("passes"))
            })
            .collect();
        list.dedup();
        list
    };
    let options = [&BAND[..], &["-q", "--progress", "json"]].concat();
    let output = d.arg("out.y4m");
    let ran = run(&mut jnd_alone(&[&["magnify", &input, &output], &options[..]].concat())).ok();
    assert_eq!(passes(ran), [(1, 2), (2, 2)]);
    // A pipe is kept first.
    let ran = run_with_stdin(&mut jnd_alone(&[&["magnify", "-", "-"], &options[..]].concat()), &bytes).ok();
    assert_eq!(passes(ran), [(1, 3), (2, 3), (3, 3)]);
}
