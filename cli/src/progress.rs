//! How far work is: a bar for what takes longer than a blink, and only where somebody
//! watches; the state of a hunt, for those who watch and for those who read it later.

use std::env;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use racehound::aside::say;
use racehound_report::table::counted;

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

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// How a hunt goes: a line that changes on a terminal; elsewhere, and in CI, a line for
/// each phase, and now and then one if nothing else happens.
pub(crate) struct Display {
    bar: ProgressBar,
    board: Arc<Mutex<Board>>,
    told: Option<(&'static str, Instant)>,
}

/// A hunt that ends sooner has no line at all.
const FIRST: Duration = Duration::from_secs(2);
/// Lines do not follow upon each other faster, and not slower.
const SOONEST: Duration = Duration::from_secs(1);
const LATEST: Duration = Duration::from_secs(10);

/// What is known of a hunt.
struct Board {
    phase: &'static str,
    test: Option<String>,
    runs: Arc<AtomicU64>,
    open: usize,
    confirmed: usize,
    begun: Instant,
    until: Instant,
}

impl Board {
    fn line(&self) -> String {
        let runs = self.runs.load(Ordering::Relaxed);
        let rate = runs as f64 / self.begun.elapsed().as_secs_f64().max(0.1);
        let left = self.until.saturating_duration_since(Instant::now());
        let test = self
            .test
            .as_ref()
            .map_or(String::new(), |test| format!(" {test}"));
        format!(
            "{}{test}: {}, {rate:.0}/s, {} open, {} confirmed, {} s left",
            self.phase,
            counted(runs as usize, "run"),
            counted(self.open, "suspect"),
            self.confirmed,
            left.as_secs()
        )
    }
}

fn read(board: &Mutex<Board>) -> MutexGuard<'_, Board> {
    board.lock().unwrap_or_else(|e| e.into_inner())
}

/// How much of a test's name is shown.
const LONGEST_NAME: usize = 24;

impl Display {
    /// Of a hunt that counts its executions and ends at some moment.
    pub(crate) fn new(runs: Arc<AtomicU64>, until: Instant) -> Self {
        let board = Arc::new(Mutex::new(Board {
            phase: "beginning",
            test: None,
            runs,
            open: 0,
            confirmed: 0,
            begun: Instant::now(),
            until,
        }));
        // Draws nothing where standard error is no terminal.
        let bar = ProgressBar::new_spinner();
        if env::var_os("CI").is_some() {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        let shown = Arc::clone(&board);
        let line = move |_: &ProgressState, out: &mut dyn Write| {
            // Where there is nothing to write to, nothing is lost.
            let _ = write!(out, "{}", read(&shown).line());
        };
        if let Ok(style) = ProgressStyle::with_template("{spinner} {line}") {
            bar.set_style(style.with_key("line", line));
        }
        bar.enable_steady_tick(Duration::from_millis(120));
        Self {
            bar,
            board,
            told: None,
        }
    }

    /// Something else is being done now.
    pub(crate) fn phase(&mut self, doing: &'static str) {
        read(&self.board).phase = doing;
        self.tell();
    }

    /// It is done in this test now.
    pub(crate) fn in_test(&mut self, name: &str) {
        let short = name.chars().take(LONGEST_NAME).collect();
        read(&self.board).test = Some(short);
    }

    /// So much is open, and so much is confirmed.
    pub(crate) fn found(&mut self, open: usize, confirmed: usize) {
        {
            let mut board = read(&self.board);
            (board.open, board.confirmed) = (open, confirmed);
        }
        self.tell();
    }

    fn tell(&mut self) {
        if !self.bar.is_hidden() {
            return;
        }
        let board = read(&self.board);
        let (since, patience) = match self.told {
            None => (board.begun, FIRST),
            Some((phase, when)) if phase == board.phase => (when, LATEST),
            Some((_, when)) => (when, SOONEST),
        };
        if since.elapsed() >= patience {
            say(format_args!("{}", board.line()));
            self.told = Some((board.phase, Instant::now()));
        }
    }

    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}
