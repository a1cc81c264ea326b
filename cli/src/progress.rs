//! A bar for work that takes longer than a blink, and only where somebody
//! watches.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Work that ends sooner shows nothing.
const PATIENCE: Duration = Duration::from_millis(800);

/// Progress through something of known or unknown length.
pub(crate) struct Progress {
    bar: ProgressBar,
    started: Instant,
    shown: bool,
}

impl Progress {
    /// Progress through this many bytes.
    pub(crate) fn bytes(total: Option<u64>) -> Self {
        Self::new(total, "{bytes}/{total_bytes}", "{bytes}")
    }

    /// Progress through this many events.
    pub(crate) fn events(total: u64) -> Self {
        Self::new(Some(total), "{human_pos}/{human_len} events", "{human_pos}")
    }

    /// Progress through this many steps of something.
    pub(crate) fn steps(total: u64, of: String) -> Self {
        let progress = Self::new(Some(total), "{msg}", "{msg}");
        progress.bar.set_message(of);
        progress
    }

    fn new(total: Option<u64>, known: &str, unknown: &str) -> Self {
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::hidden());
        let template = match total {
            Some(_) => format!("{{bar:30}} {{percent:>3}} %  {known}  {{eta}} left"),
            None => format!("{{spinner}} {unknown}  {{elapsed}}"),
        };
        if let Ok(style) = ProgressStyle::with_template(&template) {
            bar.set_style(style);
        }
        Self {
            bar,
            started: Instant::now(),
            shown: false,
        }
    }

    /// Says how far the work is.
    pub(crate) fn at(&mut self, position: u64) {
        if !self.shown && self.started.elapsed() >= PATIENCE {
            // Draws nothing where standard error is no terminal.
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
            self.shown = true;
        }
        self.bar.set_position(position);
    }

    /// Says that one more step is done.
    pub(crate) fn next(&mut self) {
        self.at(self.bar.position() + 1);
    }
}

/// What a long job is doing: a line that changes on a terminal, lines elsewhere, one
/// for each phase.
pub(crate) struct Display {
    bar: ProgressBar,
    phase: &'static str,
}

impl Display {
    pub(crate) fn new() -> Self {
        // Draws nothing where standard error is no terminal.
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{spinner} {prefix}: {msg}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(120));
        Self { bar, phase: "" }
    }

    /// Something else is being done now.
    pub(crate) fn phase(&mut self, doing: &'static str, details: String) {
        if self.bar.is_hidden() && self.phase != doing {
            anstream::eprintln!("racehound: {doing}: {details}");
        }
        self.phase = doing;
        self.bar.set_prefix(doing);
        self.bar.set_message(details);
    }

    /// Some of it is done.
    pub(crate) fn ran(&self) {
        self.bar.inc(1);
    }

    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
