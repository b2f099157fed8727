use std::time::Duration;

use super::*;
use crate::{Layout, PixelFormat, Rate};

pub(crate) fn info() -> StreamInfo {
    let format = PixelFormat::new(Layout::Gray, 8).unwrap();
    StreamInfo::new(format, 4, 2, Rate::new(25, 1).unwrap()).unwrap()
}

pub(crate) struct Counted {
    info: StreamInfo,
    next: i64,
    end: i64,
    cut: bool,
    pause: Duration,
}

impl FrameSource for Counted {
    fn info(&self) -> &StreamInfo {
        &self.info
    }
    fn read(&mut self, frame: &mut Frame) -> Result<bool> {
        std::thread::sleep(self.pause);
        if self.next == self.end {
            let frames = self.end as u64;
            return match self.cut {
                true => Err(Error::Truncated { path: "t".into(), frames, detail: "cut".into() }),
                false => Ok(false),
            };
        }
        frame.bytes_mut().fill(self.next as u8);
        frame.timestamp = self.next;
        self.next += 1;
        Ok(true)
    }
    fn decoder(&self) -> String {
        "counted".into()
    }
    fn notes(&self) -> Vec<String> {
        vec![format!("{} frames read", self.next)]
    }
    fn warnings(&self) -> Vec<String> {
        vec!["this is a test".into()]
    }
}

#[derive(Default)]
struct Kept {
    seen: Arc<Mutex<Vec<(i64, u8)>>>,
    finished: Arc<AtomicBool>,
    dropped: Arc<AtomicBool>,
    fail_at: Option<i64>,
    pause: Duration,
}

impl FrameSink for Kept {
    fn write(&mut self, frame: &Frame) -> Result<()> {
        std::thread::sleep(self.pause);
        if self.fail_at == Some(frame.timestamp) {
            return Err(Error::io("kept", std::io::Error::from(std::io::ErrorKind::StorageFull)));
        }
        self.seen.lock().unwrap().push((frame.timestamp, frame.bytes()[7]));
        Ok(())
    }
    fn finish(self: Box<Self>) -> Result<()> {
        self.finished.store(true, Ordering::SeqCst);
        Ok(())
    }
    fn encoder(&self) -> String {
        "kept".into()
    }
    fn notes(&self) -> Vec<String> {
        vec![format!("{} frames written", self.seen.lock().unwrap().len())]
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.dropped.store(true, Ordering::SeqCst);
    }
}

pub(crate) fn counted(end: i64, cut: bool) -> Box<Counted> {
    Box::new(Counted { info: info(), next: 0, end, cut, pause: Duration::ZERO })
}

fn double(a: &Frame, b: &mut Frame) -> Result<()> {
    for (x, y) in a.bytes().iter().zip(b.bytes_mut()) {
        *y = x.wrapping_mul(2);
    }
    Ok(())
}

/// With a thread for the step, and without.
const BOTH: [Option<bool>; 2] = [Some(true), Some(false)];

#[test]
fn frames_keep_their_order_and_times() {
    for step_thread in BOTH {
        for depth in [None, Some(0), Some(1), Some(2), Some(5)] {
            let sink = Kept::default();
            let (seen, finished) = (sink.seen.clone(), sink.finished.clone());
            let options = PumpOptions { depth, step_thread, stop: None };
            let mut ticks = 0;
            let r = pump(counted(100, false), Box::new(sink), &info(), &options, double, &mut || ticks += 1);
            let r = r.unwrap();
            assert_eq!((r.frames, ticks), (100, 100));
            assert!(r.truncated.is_none() && finished.load(Ordering::SeqCst));
            assert_eq!(r.notes, ["100 frames read", "100 frames written"]);
            assert_eq!(r.warnings, ["this is a test"]);
            let want: Vec<_> = (0..100).map(|i| (i, (2 * i) as u8)).collect();
            assert_eq!(*seen.lock().unwrap(), want);
        }
    }
}

/// Names of the threads that have done the step.
fn steppers(reading: Duration, writing: Duration, step_thread: Option<bool>) -> Vec<String> {
    let source = Box::new(Counted { pause: reading, ..*counted(40, false) });
    let mut sink = Box::new(Kept::default());
    sink.pause = writing;
    let options = PumpOptions { depth: Some(3), step_thread, stop: None };
    let names = Arc::new(Mutex::new(Vec::new()));
    let its = names.clone();
    let step = move |a: &Frame, b: &mut Frame| {
        its.lock().unwrap().push(std::thread::current().name().unwrap_or_default().to_owned());
        double(a, b)
    };
    pump(source, sink, &info(), &options, step, &mut || {}).unwrap();
    let names = std::mem::take(&mut *names.lock().unwrap());
    assert_eq!(names.len(), 40);
    names
}

#[test]
fn the_faster_side_does_the_step() {
    let (slow, fast) = (Duration::from_millis(2), Duration::ZERO);
    let count = |names: &[String], name: &str| names.iter().filter(|n| *n == name).count();
    // Not all: the first ones, and those that are left when nothing more is read, and a busy machine has its own order.
    assert!(count(&steppers(slow, fast, Some(false)), "jnd-write") > 20);
    assert!(count(&steppers(fast, slow, Some(false)), "jnd-read") > 20);
    assert_eq!(count(&steppers(slow, fast, Some(true)), "jnd-step"), 40);
    assert_eq!(count(&steppers(fast, slow, Some(true)), "jnd-step"), 40);
}

#[test]
fn the_depth_goes_by_the_size_of_frames() {
    let format = PixelFormat::new(Layout::Yuv420, 8).unwrap();
    let info = |w, h| StreamInfo::new(format, w, h, Rate::new(25, 1).unwrap()).unwrap();
    let (own, asked) = (PumpOptions::default(), PumpOptions { depth: Some(5), ..PumpOptions::default() });
    let depths = [(16, 16), (640, 360), (1280, 720), (1920, 1080), (3840, 2160)];
    assert_eq!(depths.map(|(w, h)| own.depth_for(&info(w, h))), [12, 12, 7, 4, 2]);
    assert_eq!(depths.map(|(w, h)| asked.depth_for(&info(w, h))), [5; 5]);
}

#[test]
fn a_cut_keeps_the_output() {
    for step_thread in BOTH {
        let sink = Kept::default();
        let finished = sink.finished.clone();
        let options = PumpOptions { step_thread, ..PumpOptions::default() };
        let r = pump(counted(3, true), Box::new(sink), &info(), &options, double, &mut || {}).unwrap();
        assert!(matches!(r.truncated, Some(Error::Truncated { frames: 3, .. })));
        assert_eq!(r.frames, 3);
        assert!(finished.load(Ordering::SeqCst));
        // Nothing is left to be kept of a cut before the first frame.
        let sink = Kept::default();
        let finished = sink.finished.clone();
        let r = pump(counted(0, true), Box::new(sink), &info(), &options, double, &mut || {});
        assert!(matches!(r, Err(Error::Truncated { frames: 0, .. })));
        assert!(!finished.load(Ordering::SeqCst));
    }
}

#[test]
fn errors_of_any_part_come_through_and_nothing_is_finished() {
    for step_thread in BOTH {
        let options = PumpOptions { step_thread, ..PumpOptions::default() };
        let mut sink = Kept::default();
        sink.fail_at = Some(5);
        let (finished, dropped) = (sink.finished.clone(), sink.dropped.clone());
        let e = pump(counted(1000, false), Box::new(sink), &info(), &options, double, &mut || {});
        assert!(matches!(e, Err(Error::Io { .. })), "{e:?}");
        assert!(!finished.load(Ordering::SeqCst) && dropped.load(Ordering::SeqCst));
        let sink = Kept::default();
        let (finished, dropped, seen) = (sink.finished.clone(), sink.dropped.clone(), sink.seen.clone());
        let step = |a: &Frame, _: &mut Frame| {
            if a.timestamp == 4 { Err(Error::Interrupted) } else { Ok(()) }
        };
        let e = pump(counted(9, false), Box::new(sink), &info(), &options, step, &mut || {});
        assert!(matches!(e, Err(Error::Interrupted)));
        assert!(!finished.load(Ordering::SeqCst) && dropped.load(Ordering::SeqCst));
        assert!(seen.lock().unwrap().iter().all(|f| f.0 < 4), "a frame that failed was written");
    }
}

#[test]
fn a_panic_of_the_step_is_an_error() {
    for step_thread in BOTH {
        let options = PumpOptions { step_thread, ..PumpOptions::default() };
        let sink = Kept::default();
        let dropped = sink.dropped.clone();
        let step = |a: &Frame, _: &mut Frame| -> Result<()> {
            assert!(a.timestamp < 3, "meant to happen");
            Ok(())
        };
        let e = pump(counted(9, false), Box::new(sink), &info(), &options, step, &mut || {});
        assert!(matches!(e, Err(Error::Io { .. })), "{e:?}");
        assert!(dropped.load(Ordering::SeqCst));
    }
}

#[test]
fn a_silent_input_can_be_interrupted() {
    struct Silent(StreamInfo);
    impl FrameSource for Silent {
        fn info(&self) -> &StreamInfo {
            &self.0
        }
        fn read(&mut self, _: &mut Frame) -> Result<bool> {
            std::thread::sleep(Duration::from_secs(30));
            Ok(false)
        }
        fn decoder(&self) -> String {
            "silent".into()
        }
    }
    for step_thread in BOTH {
        let stop = Arc::new(AtomicBool::new(false));
        let options = PumpOptions { depth: Some(2), step_thread, stop: Some(stop.clone()) };
        let start = Instant::now();
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(100));
            stop.store(true, Ordering::SeqCst);
        });
        let sink = Kept::default();
        let dropped = sink.dropped.clone();
        let e = pump(Box::new(Silent(info())), Box::new(sink), &info(), &options, double, &mut || {});
        assert!(matches!(e, Err(Error::Interrupted)));
        assert!(start.elapsed() < Duration::from_secs(2));
        assert!(dropped.load(Ordering::SeqCst), "the output was not removed");
    }
}

#[test]
fn a_panic_of_the_caller_removes_the_output() {
    for step_thread in BOTH {
        let options = PumpOptions { step_thread, ..PumpOptions::default() };
        let mut sink = Kept::default();
        sink.pause = Duration::from_millis(2);
        let (finished, dropped) = (sink.finished.clone(), sink.dropped.clone());
        let run =
            || pump(counted(100, false), Box::new(sink), &info(), &options, double, &mut || panic!("meant"));
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_err());
        assert!(!finished.load(Ordering::SeqCst) && dropped.load(Ordering::SeqCst));
    }
}

#[test]
fn a_panic_at_the_end_of_the_input_is_an_error() {
    struct Bad(Counted);
    impl FrameSource for Bad {
        fn info(&self) -> &StreamInfo {
            self.0.info()
        }
        fn read(&mut self, frame: &mut Frame) -> Result<bool> {
            self.0.read(frame)
        }
        fn decoder(&self) -> String {
            self.0.decoder()
        }
        fn notes(&self) -> Vec<String> {
            panic!("meant")
        }
    }
    for step_thread in BOTH {
        for _ in 0..50 {
            let options = PumpOptions { step_thread, ..PumpOptions::default() };
            let sink = Kept::default();
            let finished = sink.finished.clone();
            let source = Box::new(Bad(*counted(1, false)));
            let e = pump(source, Box::new(sink), &info(), &options, double, &mut || {});
            assert!(matches!(e, Err(Error::Io { .. })), "{e:?}");
            assert!(!finished.load(Ordering::SeqCst));
        }
    }
}
