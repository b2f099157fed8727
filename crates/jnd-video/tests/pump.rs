//! `pump` in random combinations of lengths, depths, threads, pauses, failures and interruptions: it always ends, in the
//! right way, and leaves nobody behind. `JND_STRESS` says how many runs, `JND_SEED` which.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use jnd_video::{
    Error, Frame, FrameSink, FrameSource, Layout, PixelFormat, PumpOptions, Pumped, Rate, Result, StreamInfo,
    pump,
};

/// Where something is meant to happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Nowhere,
    Source(i64),
    SourceNotes,
    Step(i64),
    Sink(i64),
    Finish,
    Tick(i64),
}

/// What is meant to go wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Error,
    Panic,
    Cut,
}

#[derive(Debug, Clone, Copy)]
struct Case {
    frames: i64,
    depth: Option<usize>,
    step_thread: Option<bool>,
    pauses: [u64; 3],
    fail: (Place, Kind),
    /// Where the run is interrupted.
    stop: Place,
}

#[derive(Debug)]
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % n
    }

    fn place(&mut self, frames: i64) -> Place {
        let at = self.below(frames as u64 + 1) as i64;
        match self.below(6) {
            0 => Place::Source(at),
            1 => Place::Step(at),
            2 => Place::Sink(at),
            3 => Place::Finish,
            4 => Place::SourceNotes,
            _ => Place::Nowhere,
        }
    }

    fn case(&mut self) -> Case {
        let frames = [0, 1, 2, 3, 4, 7, 13, 40][self.below(8) as usize];
        let depth = [None, Some(2), Some(2), Some(3), Some(5)][self.below(5) as usize];
        let step_thread = [None, Some(true), Some(false), Some(false)][self.below(4) as usize];
        let pauses = std::array::from_fn(|_| [0, 0, 1, 30, 120][self.below(5) as usize]);
        let fail = match self.below(3) {
            0 => (Place::Nowhere, Kind::Error),
            _ => {
                let place = self.place(frames);
                let kind = match (place, self.below(3)) {
                    (Place::SourceNotes, _) => Kind::Panic,
                    (Place::Source(_), 0) => Kind::Cut,
                    (_, 1) => Kind::Panic,
                    _ => Kind::Error,
                };
                (place, kind)
            }
        };
        let stop = match self.below(4) {
            0 if self.below(4) == 0 => Place::Tick(self.below(frames as u64 + 1) as i64),
            0 => self.place(frames),
            _ => Place::Nowhere,
        };
        Case { frames, depth, step_thread, pauses, fail, stop }
    }
}

#[derive(Debug, Default)]
struct Seen {
    written: Mutex<Vec<(i64, u8)>>,
    finished: AtomicBool,
    removed: AtomicBool,
    source_gone: AtomicBool,
    step_gone: AtomicBool,
    made: AtomicU64,
    stop: Arc<AtomicBool>,
}

struct Part {
    case: Case,
    seen: Arc<Seen>,
    random: Random,
}

impl Part {
    fn pause(&mut self, which: usize) {
        match self.case.pauses[which] {
            0 => {}
            1 => std::thread::yield_now(),
            us => std::thread::sleep(Duration::from_micros(self.random.below(us))),
        }
    }

    /// Does what is meant to happen here.
    fn at(&self, place: Place) -> Result<()> {
        if self.case.stop == place {
            self.seen.stop.store(true, SeqCst);
        }
        if self.case.fail.0 == place {
            match self.case.fail.1 {
                Kind::Error => {
                    return Err(Error::Io {
                        path: "meant".into(),
                        source: std::io::Error::other("to happen"),
                    });
                }
                Kind::Panic => panic!("meant to happen"),
                Kind::Cut => {
                    let Place::Source(at) = place else { return Ok(()) };
                    return Err(Error::Truncated {
                        path: "t".into(),
                        frames: at as u64,
                        detail: "cut".into(),
                    });
                }
            }
        }
        Ok(())
    }
}

fn info() -> StreamInfo {
    let format = PixelFormat::new(Layout::Gray, 8).unwrap();
    StreamInfo::new(format, 4, 2, Rate::new(25, 1).unwrap()).unwrap()
}

struct Source(Part, StreamInfo, i64);

impl FrameSource for Source {
    fn info(&self) -> &StreamInfo {
        &self.1
    }
    fn read(&mut self, frame: &mut Frame) -> Result<bool> {
        self.0.pause(0);
        self.0.at(Place::Source(self.2))?;
        if self.2 == self.0.case.frames {
            return Ok(false);
        }
        frame.bytes_mut().fill(self.2 as u8);
        frame.timestamp = self.2;
        self.2 += 1;
        Ok(true)
    }
    fn decoder(&self) -> String {
        "random".into()
    }
    fn notes(&self) -> Vec<String> {
        let _ = self.0.at(Place::SourceNotes);
        vec![format!("{} read", self.2)]
    }
    fn warnings(&self) -> Vec<String> {
        vec!["warning".into()]
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        self.0.seen.source_gone.store(true, SeqCst);
    }
}

struct Sink(Part, bool);

impl FrameSink for Sink {
    fn write(&mut self, frame: &Frame) -> Result<()> {
        self.0.pause(2);
        self.0.at(Place::Sink(frame.timestamp))?;
        self.0.seen.written.lock().unwrap().push((frame.timestamp, frame.bytes()[7]));
        Ok(())
    }
    fn finish(mut self: Box<Self>) -> Result<()> {
        self.0.pause(2);
        self.0.at(Place::Finish)?;
        if self.0.case.stop == Place::Finish {
            std::thread::sleep(Duration::from_micros(self.0.random.below(60_000)));
        }
        self.1 = true;
        self.0.seen.finished.store(true, SeqCst);
        Ok(())
    }
    fn encoder(&self) -> String {
        "random".into()
    }
    fn notes(&self) -> Vec<String> {
        vec![format!("{} written", self.0.seen.written.lock().unwrap().len())]
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        self.0.seen.removed.store(!self.1, SeqCst);
    }
}

struct StepGone(Part);

impl Drop for StepGone {
    fn drop(&mut self) {
        self.0.seen.step_gone.store(true, SeqCst);
    }
}

fn run(case: Case, seed: u64) -> (Result<Pumped>, u64, Arc<Seen>) {
    let seen = Arc::new(Seen::default());
    let part = |n: u64| Part { case, seen: seen.clone(), random: Random(seed.wrapping_mul(2 * n + 3) | 1) };
    let mut step = StepGone(part(0));
    let step = move |a: &Frame, b: &mut Frame| -> Result<()> {
        step.0.pause(1);
        step.0.at(Place::Step(a.timestamp))?;
        b.bytes_mut().fill(a.bytes()[0].wrapping_mul(2));
        step.0.seen.made.fetch_add(1, SeqCst);
        Ok(())
    };
    let options =
        PumpOptions { depth: case.depth, step_thread: case.step_thread, stop: Some(seen.stop.clone()) };
    let mut ticks = 0;
    let source = Box::new(Source(part(1), info(), 0));
    let sink = Box::new(Sink(part(2), false));
    let its = part(3);
    let result = pump(source, sink, &info(), &options, step, &mut || {
        let _ = its.at(Place::Tick(ticks as i64));
        ticks += 1;
    });
    (result, ticks, seen)
}

/// What is wrong with how a run ended.
fn judge(case: Case, result: &Result<Pumped>, ticks: u64, seen: &Seen) -> std::result::Result<(), String> {
    let want = |ok: bool, what: &str| if ok { Ok(()) } else { Err(what.to_owned()) };
    let (finished, removed) = (seen.finished.load(SeqCst), seen.removed.load(SeqCst));
    let written = seen.written.lock().unwrap().clone();
    want(finished != removed, "an output is either complete or removed")?;
    want(written.iter().enumerate().all(|(i, w)| *w == (i as i64, (2 * i) as u8)), "order or content")?;
    let (place, kind) = case.fail;
    let (limit, cut) = match (place, kind) {
        (Place::Source(at), Kind::Cut) if at > 0 => (at, true),
        (Place::Source(at) | Place::Step(at) | Place::Sink(at), _) => (at, false),
        _ => (case.frames, false),
    };
    want(written.len() as i64 <= limit.min(case.frames), "a frame was written behind a failure")?;
    // Nothing happens at a step or a write that never comes.
    let fails = match place {
        Place::Nowhere | Place::Tick(_) => false,
        Place::Step(at) | Place::Sink(at) => at < case.frames,
        Place::SourceNotes => true,
        Place::Source(_) | Place::Finish => !cut,
    };
    match result {
        Ok(p) => {
            want(!fails, "a failure was not reported")?;
            want(finished, "not finished")?;
            let n = limit.min(case.frames) as u64;
            want(p.frames == n && ticks == n && written.len() as u64 == n, "numbers of frames")?;
            want(p.truncated.is_some() == cut, "the cut")?;
            want(p.notes == [format!("{n} read"), format!("{n} written")], "notes")?;
            want(p.warnings == ["warning"], "warnings")
        }
        Err(e) => {
            want(!finished && removed, "the output was left")?;
            want(ticks <= seen.made.load(SeqCst), "ticks without frames")?;
            match e {
                Error::Interrupted => want(case.stop != Place::Nowhere, "interrupted by nobody"),
                Error::Truncated { frames: 0, .. } => want(kind == Kind::Cut, "cut"),
                Error::Io { .. } => want(fails, "an error from nowhere"),
                _ => Err("another error".into()),
            }
        }
    }
}

#[test]
fn every_run_ends_as_it_should() {
    let number = |name: &str, or: u64| std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(or);
    let (runs, seed) = (number("JND_STRESS", 300), number("JND_SEED", 1));
    std::panic::set_hook(Box::new(|p| {
        if p.payload().downcast_ref::<&str>() != Some(&"meant to happen") {
            eprintln!("{p}");
        }
    }));
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut bad = 0;
    for i in 0..runs {
        let (case, seed) = (random.case(), random.below(u64::MAX >> 12));
        let (done, end) = mpsc::channel();
        let start = Instant::now();
        let thread = std::thread::spawn(move || done.send(run(case, seed)).is_ok());
        let Ok((result, ticks, seen)) = end.recv_timeout(Duration::from_secs(20)) else {
            panic!("run {i} does not end: {case:?}");
        };
        let _ = thread.join();
        let took = start.elapsed();
        let judged = judge(case, &result, ticks, &seen);
        let gone = || seen.source_gone.load(SeqCst) && seen.step_gone.load(SeqCst);
        while !gone() && start.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(Duration::from_micros(200));
        }
        if judged.is_err() || !gone() || took > Duration::from_secs(5) {
            bad += 1;
            eprintln!(
                "run {i}: {judged:?}, all gone: {}, {took:?}, {ticks} ticks, {case:?}: {result:?}",
                gone()
            );
        }
    }
    let _ = std::panic::take_hook();
    assert_eq!(bad, 0);
}
