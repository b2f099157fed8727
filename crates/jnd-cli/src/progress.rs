//! Progress of a job: a bar on a terminal, lines elsewhere, JSON for programs.

use std::fmt::Write;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::{Verbosity, say};

/// How to show progress. It always goes to standard error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub(crate) enum ProgressMode {
    /// A bar on a terminal, nothing elsewhere.
    #[default]
    Auto,
    /// A line every two seconds.
    Plain,
    /// A line of JSON twice a second.
    Json,
    /// Nothing.
    None,
}

/// How long a pass has to run before its rate means anything: the first frame comes with the work of starting.
const MEANINGFUL: Duration = Duration::from_millis(500);

/// Shows the progress of one job.
pub(crate) struct Progress {
    shown: Shown,
    /// When the first frame of this pass was there.
    started: Instant,
    /// Frames that were there then.
    before: u64,
    last: Option<Instant>,
    pass: u32,
    /// Remarks that wait for the first frame; nothing waits once that is there.
    held: Option<Vec<String>>,
    quiet: bool,
}

enum Shown {
    Bar(ProgressBar),
    Plain,
    Json,
    None,
}

impl Progress {
    /// Starts. Where nothing but errors is to be printed, `auto` is nothing; what was asked for by name stays.
    pub(crate) fn new(mode: ProgressMode, verbosity: Verbosity) -> Self {
        let quiet = verbosity.quiet;
        let shown = match mode {
            ProgressMode::Auto if !quiet && std::io::stderr().is_terminal() => {
                Shown::Bar(ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(10)))
            }
            ProgressMode::Auto | ProgressMode::None => Shown::None,
            ProgressMode::Plain => Shown::Plain,
            ProgressMode::Json => Shown::Json,
        };
        Self {
            shown,
            started: Instant::now(),
            before: 0,
            last: None,
            pass: 0,
            held: (verbosity.verbose == 0).then(Vec::new),
            quiet,
        }
    }

    /// Shows that `done` of `total` frames of pass `pass` of `passes` are done.
    pub(crate) fn update(&mut self, p: &jnd::Progress) {
        self.release();
        if self.pass != p.pass {
            self.pass = p.pass;
            (self.started, self.before) = (Instant::now(), p.done);
            self.last = None;
            if let Shown::Bar(bar) = &self.shown {
                bar.reset();
                bar.set_style(style(p.total.is_some(), p.done));
                match p.total {
                    Some(total) => bar.set_length(total),
                    None => bar.unset_length(),
                }
                bar.set_prefix(pass_name(p));
            }
        }
        let due = |gap: u64| self.last.is_none_or(|t| t.elapsed() >= Duration::from_millis(gap));
        match &self.shown {
            // The bar limits its own rate.
            Shown::Bar(bar) => bar.set_position(p.done),
            Shown::Plain if due(2000) => {
                let total = p.total.map_or_else(String::new, |t| format!(" of {t}"));
                let rate = self.rate(p).map_or_else(String::new, |r| format!(", {r:.1} frames/s"));
                say::line(format_args!("{}{}{total} frames{rate}", pass_name(p), p.done));
                self.last = Some(Instant::now());
            }
            Shown::Json if due(500) => {
                let line = serde_json::json!({
                    "pass": p.pass, "passes": p.passes, "done": p.done, "total": p.total,
                    "frames_per_second": self.rate(p),
                });
                say::line(line);
                self.last = Some(Instant::now());
            }
            _ => {}
        }
    }

    fn rate(&self, p: &jnd::Progress) -> Option<f64> {
        rate(p.done.saturating_sub(self.before), self.started.elapsed())
    }

    /// Says what a job is going to do, once its first frame is done: of a job that fails before that, which has done
    /// nothing, the error is all there is to say. With `-v` at once.
    pub(crate) fn remark(&mut self, line: String) {
        match &mut self.held {
            _ if self.quiet => {}
            Some(held) => held.push(line),
            None => self.say(&line),
        }
    }

    fn release(&mut self) {
        for line in self.held.take().unwrap_or_default() {
            self.say(&line);
        }
    }

    /// Prints a line without breaking the bar.
    pub(crate) fn say(&self, line: &str) {
        match &self.shown {
            // Before the first frame there is no bar.
            Shown::Bar(bar) if self.pass > 0 => bar.suspend(|| say::line(line)),
            _ => say::line(line),
        }
    }

    /// The job is done: takes the bar away.
    pub(crate) fn finish(mut self) {
        self.release();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Shown::Bar(bar) = &self.shown {
            bar.finish_and_clear();
        }
    }
}

/// Frames a second, as soon as that means anything.
fn rate(frames: u64, time: Duration) -> Option<f64> {
    (frames > 0 && time >= MEANINGFUL).then(|| frames as f64 / time.as_secs_f64())
}

fn pass_name(p: &jnd::Progress) -> String {
    if p.passes > 1 { format!("pass {} of {}: ", p.pass, p.passes) } else { String::new() }
}

/// The bar, of a pass whose first `before` frames were there when its clock started.
fn style(bounded: bool, before: u64) -> ProgressStyle {
    let template = if bounded {
        "{prefix}[{bar:30}] {pos}/{len} frames{rate}{left}"
    } else {
        "{prefix}{spinner} {pos} frames{rate}"
    };
    let rate_of = move |state: &ProgressState| rate(state.pos().saturating_sub(before), state.elapsed());
    let shown_rate = move |state: &ProgressState, out: &mut dyn Write| {
        if let Some(rate) = rate_of(state) {
            let _ = write!(out, ", {rate:.1} frames/s");
        }
    };
    let left = move |state: &ProgressState, out: &mut dyn Write| {
        if let (Some(rate), Some(total)) = (rate_of(state), state.len()) {
            let seconds = total.saturating_sub(state.pos()) as f64 / rate;
            let _ = write!(out, ", {:#} left", HumanDuration(Duration::from_secs(seconds.ceil() as u64)));
        }
    };
    // The templates are constants; one that does not parse would show as the default bar.
    ProgressStyle::with_template(template)
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .with_key("rate", shown_rate)
        .with_key("left", left)
        .progress_chars("=> ")
}
