//! Progress of a job: a bar on a terminal, lines elsewhere, JSON for programs.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::say;

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

/// Shows the progress of one job.
pub(crate) struct Progress {
    shown: Shown,
    started: Instant,
    last: Option<Instant>,
    pass: u32,
}

enum Shown {
    Bar(ProgressBar),
    Plain,
    Json,
    None,
}

impl Progress {
    /// Starts. `quiet` turns `auto` into nothing; what was asked for by name stays.
    pub(crate) fn new(mode: ProgressMode, quiet: bool) -> Self {
        let shown = match mode {
            ProgressMode::Auto if !quiet && std::io::stderr().is_terminal() => {
                Shown::Bar(ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(10)))
            }
            ProgressMode::Auto | ProgressMode::None => Shown::None,
            ProgressMode::Plain => Shown::Plain,
            ProgressMode::Json => Shown::Json,
        };
        Self { shown, started: Instant::now(), last: None, pass: 0 }
    }

    /// Shows that `done` of `total` frames of pass `pass` of `passes` are done.
    pub(crate) fn update(&mut self, p: &jnd::Progress) {
        if self.pass != p.pass {
            self.pass = p.pass;
            self.started = Instant::now();
            self.last = None;
            if let Shown::Bar(bar) = &self.shown {
                bar.reset();
                bar.set_style(style(p.total.is_some()));
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
                say::line(format_args!(
                    "{}{}{total} frames, {:.1} frames/s",
                    pass_name(p),
                    p.done,
                    self.rate(p)
                ));
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

    fn rate(&self, p: &jnd::Progress) -> f64 {
        p.done as f64 / self.started.elapsed().as_secs_f64().max(1e-9)
    }

    /// Prints a line without breaking the bar.
    pub(crate) fn say(&self, line: &str) {
        match &self.shown {
            Shown::Bar(bar) => bar.suspend(|| say::line(line)),
            _ => say::line(line),
        }
    }

    /// Takes the bar away.
    pub(crate) fn finish(&self) {
        if let Shown::Bar(bar) = &self.shown {
            bar.finish_and_clear();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.finish();
    }
}

fn pass_name(p: &jnd::Progress) -> String {
    if p.passes > 1 { format!("pass {} of {}: ", p.pass, p.passes) } else { String::new() }
}

fn style(bounded: bool) -> ProgressStyle {
    let template = if bounded {
        "{prefix}[{bar:30}] {pos}/{len} frames, {per_sec}, {eta} left"
    } else {
        "{prefix}{spinner} {pos} frames, {per_sec}"
    };
    // The templates are constants; one that does not parse would show as the default bar.
    ProgressStyle::with_template(template)
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("=> ")
}
