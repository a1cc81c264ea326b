//! `racehound trace stat`.

use std::fmt::Write;

use racehound_report::table::{Table, thousands};
use racehound_trace::event::Kind;
use racehound_trace::stat::Stats;

use crate::CLEAN;
use crate::args::Stat;
use crate::error::Error;
use crate::input::{self, Input};
use crate::output;
use crate::progress::Progress;

pub(crate) fn run(args: &Stat) -> Result<u8, Error> {
    let Input { mut source, size } = input::open(&args.trace)?;
    let mut stats = Stats::default();
    let mut progress = Progress::bytes(size);
    let mut batch = Vec::new();
    loop {
        let read = source.next_batch(&mut batch);
        read.map_err(Error::trace(&args.trace))?;
        if batch.is_empty() {
            break;
        }
        stats.add(&batch);
        progress.at(source.position());
    }
    drop(progress);
    input::warn_if_incomplete(&args.trace, &source);

    let mut table = Table::default();
    let mut row = |name: &str, number: u64| table.row([name.to_owned(), thousands(number)]);
    row("events", stats.events);
    row("threads", stats.threads() as u64);
    row("switches", stats.switches);
    row("locks", stats.locks() as u64);
    row("deepest nesting", u64::from(stats.max_depth));
    row("variables", stats.variables() as u64);
    let (private, read_only, shared) = stats.sharing();
    row("  of one thread", private as u64);
    row("  shared, only read", read_only as u64);
    row("  shared, written", shared as u64);
    row("places", source.tables().sites.len() as u64);
    for &kind in Kind::ALL {
        if stats.kind(kind) > 0 {
            row(kind.name(), stats.kind(kind));
        }
    }
    let mut text = table.render();
    if let Some(size) = size
        && stats.events > 0
    {
        let per_event = size as f64 / stats.events as f64;
        let _ = writeln!(
            text,
            "  {} bytes, {per_event:.1} for each event",
            thousands(size)
        );
    }
    match stats.problem() {
        None => text.push_str("  well-formed: an execution can look like this\n"),
        Some(problem) => {
            let thread = source.tables().thread_name(problem.thread);
            let _ = writeln!(text, "  not well-formed: {problem} (thread {thread})");
        }
    }
    output::show(&text)?;
    Ok(CLEAN)
}
