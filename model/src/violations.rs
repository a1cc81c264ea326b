//! Patterns in a partial order.
//!
//! A tuple of accesses that fits a pattern violates it in some execution of
//! the same dependence order iff the order can be extended so that they happen
//! in pattern order. It can unless a later one of the tuple happens before an
//! earlier one: the edges that put the tuple in order only ever lead forward,
//! so a cycle would need a path of the order that leads back.

use std::collections::BTreeSet;

use racehound_predict::pattern::{Pattern, Step};
use racehound_predict::regions::{RegionId, Regions};
use racehound_trace::{Event, Loc, SiteId};

use crate::order::Clock;

/// An event and its place in the dependence order.
#[derive(Clone, Debug)]
pub(crate) struct Placed {
    pub(crate) event: Event,
    pub(crate) clock: Clock,
}

/// An access with what a pattern asks for.
struct Access<'e> {
    placed: &'e Placed,
    loc: Loc,
    region: Option<RegionId>,
}

impl Access<'_> {
    fn happens_before(&self, other: &Self) -> bool {
        let thread = self.placed.event.thread.index();
        self.placed.clock[thread] <= other.placed.clock[thread]
    }
}

/// The accesses of one complete execution.
pub(crate) struct Accesses<'e> {
    all: Vec<Access<'e>>,
}

impl<'e> Accesses<'e> {
    /// `events` in some order in which they can happen.
    pub(crate) fn of(events: &'e [Placed]) -> Self {
        let mut regions = Regions::default();
        let mut all = Vec::new();
        for placed in events {
            let region = regions.step(&placed.event);
            if let Some(access) = placed.event.op.access() {
                all.push(Access {
                    placed,
                    loc: access.loc,
                    region,
                });
            }
        }
        Self { all }
    }

    /// Adds the sites of every match of `pattern` to `found`.
    pub(crate) fn matches(&self, pattern: &Pattern, found: &mut BTreeSet<Vec<SiteId>>) {
        let mut chosen = Vec::with_capacity(pattern.steps().len());
        self.extend(pattern.steps(), &mut chosen, found);
    }

    fn extend(
        &'e self,
        steps: &[Step],
        chosen: &mut Vec<&'e Access<'e>>,
        found: &mut BTreeSet<Vec<SiteId>>,
    ) {
        let Some(step) = steps.get(chosen.len()) else {
            found.insert(chosen.iter().map(|a| a.placed.event.site).collect());
            return;
        };
        // Saves most of the work where there are no regions.
        let shares_region = steps.iter().filter(|s| s.region == step.region).count() > 1;
        for access in &self.all {
            if shares_region && access.region.is_none() {
                continue;
            }
            let fits = step.access.matches(&access.placed.event.op)
                && chosen
                    .iter()
                    .zip(steps)
                    .all(|(earlier, at)| fits_after(earlier, at, access, step));
            if fits {
                chosen.push(access);
                self.extend(steps, chosen, found);
                chosen.pop();
            }
        }
    }
}

/// Whether two accesses are alike and different where the pattern says so, and
/// can happen in this order.
fn fits_after(earlier: &Access<'_>, at: &Step, access: &Access<'_>, step: &Step) -> bool {
    let same_thread = earlier.placed.event.thread == access.placed.event.thread;
    // Outside all regions an event is a region of its own.
    let same_region = earlier.region.is_some() && earlier.region == access.region;
    same_thread == (at.thread == step.thread)
        && (earlier.loc == access.loc) == (at.variable == step.variable)
        && same_region == (at.region == step.region)
        && !access.happens_before(earlier)
}
