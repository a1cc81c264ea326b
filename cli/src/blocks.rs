//! The blocks of a trace's heap: where memory came from that has no name of its own.

use racehound_report::finding::{BLOCK, Location};
use racehound_trace::{Event, Loc, Op, SiteId, Trace};

/// The blocks that were allocated, in the order of the trace.
pub(crate) struct Blocks<'a> {
    trace: &'a Trace,
    all: Vec<Block>,
}

struct Block {
    /// The allocation.
    event: usize,
    start: Loc,
    size: u32,
    site: SiteId,
}

impl<'a> Blocks<'a> {
    pub(crate) fn of(trace: &'a Trace) -> Self {
        let block = |(number, event): (usize, &Event)| match event.op {
            Op::Alloc { loc, size } => Some(Block {
                event: number,
                start: loc,
                size,
                site: event.site,
            }),
            _ => None,
        };
        let all = trace.events.iter().enumerate().filter_map(block).collect();
        Self { trace, all }
    }

    /// What memory is called at the time of an event, if it is part of a block.
    pub(crate) fn describe(&self, loc: Loc, event: usize) -> Option<Location> {
        let until = self.all.partition_point(|block| block.event < event);
        let mut before = self.all[..until].iter().rev();
        let is_within = |block: &&Block| {
            let behind = loc.0.checked_sub(block.start.0);
            behind.is_some_and(|behind| behind < u64::from(block.size))
        };
        let block = before.find(is_within)?;
        Some(Location {
            what: "heap".to_owned(),
            name: format!("{BLOCK}{}", self.trace.tables.site_name(block.site)),
            size: block.size,
            offset: Some(loc.0 - block.start.0),
            ..Location::default()
        })
    }
}
