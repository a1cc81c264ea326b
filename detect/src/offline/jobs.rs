//! Several detectors over one source, on one thread or several.
//!
//! Every worker sees all events: synchronisation concerns all variables, and
//! an access to a variable of another share costs one comparison. Warnings
//! depend on the events and on their own variable only, so the union over
//! workers, put in order, is what one worker finds.

use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

use racehound_trace::{Event, Result, Source, Space};
use rustc_hash::FxHashSet;

use super::analysis::{Analysis, Analyze, Share};
use super::{Options, Outcome, Warning};
use crate::Which;
use crate::detector::Detector;
use crate::stats::Stats;
use crate::which::Visitor;

/// Batches that may wait for a slow worker.
const QUEUE: usize = 8;

/// Runs detectors over all of `source`. `progress` is called now and then with
/// the source's position.
pub fn analyze(
    source: &mut dyn Source,
    detectors: &[Which],
    options: &Options,
    progress: &mut dyn FnMut(u64),
) -> Result<Vec<Outcome>> {
    let space = source.space();
    let jobs = options.jobs.max(1);
    let mut teams: Vec<Team> = (0..jobs)
        .map(|index| Team::new(detectors, options, index, jobs))
        .collect();
    match &mut teams[..] {
        [alone] => {
            let mut batch = Vec::new();
            while fill(source, &mut batch)? {
                alone.events(space, &batch);
                progress(source.position());
            }
        }
        several => thread::scope(|scope| -> Result<()> {
            let workers: Vec<SyncSender<Arc<Vec<Event>>>> = several
                .iter_mut()
                .map(|team| {
                    let (sender, receiver) = sync_channel::<Arc<Vec<Event>>>(QUEUE);
                    scope.spawn(move || {
                        for batch in receiver {
                            team.events(space, &batch);
                        }
                    });
                    sender
                })
                .collect();
            loop {
                let mut batch = Vec::new();
                if !fill(source, &mut batch)? {
                    return Ok(());
                }
                let batch = Arc::new(batch);
                for worker in &workers {
                    // A worker that is gone has panicked; the scope says so.
                    let _ = worker.send(Arc::clone(&batch));
                }
                progress(source.position());
            }
        })?,
    }
    let mut found: Vec<_> = teams.into_iter().map(Team::finish).collect();
    let outcomes = detectors.iter().enumerate().map(|(i, &detector)| {
        let shares = found.iter_mut().map(|share| std::mem::take(&mut share[i]));
        merge(detector, options, shares.collect())
    });
    Ok(outcomes.collect())
}

fn fill(source: &mut dyn Source, batch: &mut Vec<Event>) -> Result<bool> {
    source.next_batch(batch)?;
    Ok(!batch.is_empty())
}

/// All detectors, for one share of the variables.
struct Team {
    analyses: Vec<Box<dyn Analyze>>,
}

impl Team {
    fn new(detectors: &[Which], options: &Options, index: usize, of: usize) -> Self {
        let share = Share {
            index: index as u64,
            of: of as u64,
        };
        let start = |which: &Which| start(*which, options, share);
        Self {
            analyses: detectors.iter().map(start).collect(),
        }
    }

    fn events(&mut self, space: Space, events: &[Event]) {
        for analysis in &mut self.analyses {
            analysis.events(space, events);
        }
    }

    fn finish(self) -> Vec<(Vec<Warning>, Stats)> {
        self.analyses.into_iter().map(Analyze::finish).collect()
    }
}

/// A detector over a share of the variables, before the first event.
pub(super) fn start(which: Which, options: &Options, share: Share) -> Box<dyn Analyze> {
    which.visit(Start { options, share })
}

struct Start<'a> {
    options: &'a Options,
    share: Share,
}

impl Visitor for Start<'_> {
    type Output = Box<dyn Analyze>;

    fn visit<D: Detector>(self) -> Self::Output {
        Box::new(Analysis::<D>::new(self.options, self.share))
    }
}

/// Puts the shares together: in trace order, an access of many bytes folded
/// into one warning, and every pair of sites once if pairs were asked for.
fn merge(detector: Which, options: &Options, shares: Vec<(Vec<Warning>, Stats)>) -> Outcome {
    let stats = shares.first().map(|share| share.1).unwrap_or_default();
    let mut warnings: Vec<Warning> = shares.into_iter().flat_map(|share| share.0).collect();
    warnings.sort_by_key(|warning| (warning.event, warning.loc));
    let mut pairs = FxHashSet::default();
    warnings.retain(|warning| {
        let event = match options.all_pairs {
            true => 0,
            false => warning.event,
        };
        pairs.insert((event, warning.pair()))
    });
    Outcome {
        detector,
        warnings,
        stats,
    }
}
