//! `jnd demo`: what it makes, what it replaces, and what it leaves behind.

use crate::util::{Dir, jnd_alone, run};

const FILES: [&str; 8] = [
    "original.mp4",
    "original.y4m",
    "pulse.mp4",
    "pulse.png",
    "pulse.y4m",
    "sway.mp4",
    "sway.png",
    "sway.y4m",
];

fn demo(d: &Dir, options: &[&str]) -> crate::util::Ran {
    run(&mut jnd_alone(&[&["demo", &d.arg("")], options].concat()))
}

#[test]
fn a_demo_run_twice_replaces_its_own_files() {
    let d = Dir::new();
    d.write("mine.txt", b"mine");
    let first = demo(&d, &[]).ok();
    assert!(String::from_utf8_lossy(&first.stdout).contains("predicted"));
    assert_eq!(d.files(), [&["mine.txt"], &FILES[..]].concat());
    d.write("sway.y4m", b"spoiled");
    demo(&d, &["-q"]).ok();
    assert!(d.read("sway.y4m").starts_with(b"YUV4MPEG2"));
    assert_eq!(d.read("mine.txt"), b"mine");
}

#[test]
fn files_that_no_demo_has_made_are_not_replaced_unasked() {
    let d = Dir::new();
    for name in ["pulse.mp4", "original.y4m"] {
        d.write(name, b"mine");
        demo(&d, &[]).fails(1, &[name, "--overwrite"]).alone();
        assert_eq!(d.files(), [name]);
        assert_eq!(d.read(name), b"mine");
        std::fs::remove_file(d.path(name)).expect("removed");
    }
    d.write("pulse.mp4", b"mine");
    demo(&d, &["--overwrite", "-q"]).ok();
    assert_eq!(d.files(), FILES);
    assert_ne!(d.read("pulse.mp4"), b"mine");
}

#[cfg(unix)]
#[test]
fn an_interrupted_demo_leaves_nothing_of_its_own() {
    use std::process::Stdio;
    use std::time::{Duration, Instant};

    let d = Dir::new();
    std::fs::create_dir(d.path("old")).expect("a directory");
    d.write("old/sway.png", b"old");
    // Into a directory that was there, with a file of the same name, and into one that the demo makes.
    for (into, first) in [("old", "original.y4m"), ("old", "pulse.y4m"), ("new/inner", "original.y4m")] {
        let mut command = jnd_alone(&["demo", &d.arg(into), "--overwrite"]);
        let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the command starts");
        let start = Instant::now();
        while !d.path(into).join(first).exists() {
            assert!(start.elapsed() < Duration::from_secs(60), "the demo made no {first}");
            std::thread::sleep(Duration::from_millis(1));
        }
        crate::util::signal(&child, "-INT");
        let (code, stderr) = crate::util::ends_within_a_second(child);
        assert_eq!(code, Some(130), "{stderr}");
        assert_eq!(d.files(), ["old"], "{into}");
        let left: Vec<_> = std::fs::read_dir(d.path("old")).expect("the directory").collect();
        assert_eq!(left.len(), 1, "{left:?}");
        assert_eq!(d.read("old/sway.png"), b"old");
    }
}

#[cfg(unix)]
#[test]
fn a_failed_demo_leaves_nothing_of_its_own() {
    let d = Dir::new();
    // Blocks are of 512 or 1024 bytes; the first clip takes 28 MB.
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", "ulimit -f 10000; exec \"$0\" demo \"$1\"", env!("CARGO_BIN_EXE_jnd")]);
    run(shell.arg(d.arg("new/inner"))).fails(1, &["original.y4m", "File too large"]).alone();
    assert!(d.files().is_empty(), "{:?}", d.files());
}
