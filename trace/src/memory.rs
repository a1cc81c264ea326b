//! A whole trace in memory, for tests, tools and small things.

use crate::error::Result;
use crate::event::{Event, Op};
use crate::id::{Loc, SiteId, SyncId, ThreadId};
use crate::source::{BATCH, Source};
use crate::table::{Site, Space, Tables, Thread};

/// Events and their tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// What locations are.
    pub space: Space,
    /// The tables behind the ids.
    pub tables: Tables,
    /// The events in global order.
    pub events: Vec<Event>,
}

impl Trace {
    /// Reads a source to its end.
    pub fn collect(mut source: impl Source) -> Result<Self> {
        let mut events = Vec::new();
        source.for_each_batch(&mut |_, batch| {
            events.extend_from_slice(batch);
            Ok(())
        })?;
        Ok(Self {
            space: source.space(),
            tables: source.tables().clone(),
            events,
        })
    }

    /// The trace as a source.
    pub fn source(&self) -> impl Source + '_ {
        Cursor {
            trace: self,
            next: 0,
        }
    }
}

struct Cursor<'a> {
    trace: &'a Trace,
    next: usize,
}

impl Source for Cursor<'_> {
    fn space(&self) -> Space {
        self.trace.space
    }

    fn tables(&self) -> &Tables {
        &self.trace.tables
    }

    fn next_batch(&mut self, batch: &mut Vec<Event>) -> Result<()> {
        let rest = &self.trace.events[self.next..];
        let taken = &rest[..rest.len().min(BATCH)];
        batch.clear();
        batch.extend_from_slice(taken);
        self.next += taken.len();
        Ok(())
    }
}

/// Puts a trace together event by event; names are looked up or added.
///
/// ```
/// use racehound_trace::{Builder, Op};
/// let mut b = Builder::new();
/// let (t0, t1) = (b.thread("T0"), b.thread("T1"));
/// let x = b.variable("x");
/// b.push(t0, "A", Op::Write { loc: x, size: 1 });
/// b.push(t1, "B", Op::Read { loc: x, size: 1 });
/// assert_eq!(b.finish().events.len(), 2);
/// ```
#[derive(Debug)]
pub struct Builder {
    trace: Trace,
}

impl Default for Builder {
    fn default() -> Self {
        Self::new()
    }
}

impl Builder {
    /// An empty trace over named variables.
    pub fn new() -> Self {
        Self::over(Space::Names)
    }

    /// An empty trace over the given space.
    pub fn over(space: Space) -> Self {
        Self {
            trace: Trace {
                space,
                tables: Tables::default(),
                events: Vec::new(),
            },
        }
    }

    fn find<T>(
        items: &[T],
        name: impl Fn(&T) -> Option<crate::NameId>,
        tables: &Tables,
        wanted: &str,
    ) -> Option<usize> {
        items
            .iter()
            .position(|item| name(item).and_then(|n| tables.names.get(n)) == Some(wanted))
    }

    /// The thread of this name.
    pub fn thread(&mut self, name: &str) -> ThreadId {
        let tables = &mut self.trace.tables;
        match Self::find(&tables.threads, |t| t.name, tables, name) {
            Some(i) => ThreadId::from_index(i),
            None => {
                let name = Some(tables.names.add(name));
                tables.add_thread(Thread {
                    name,
                    ..Thread::default()
                })
            }
        }
    }

    /// The lock or other synchronisation object of this name.
    pub fn sync(&mut self, name: &str) -> SyncId {
        let tables = &mut self.trace.tables;
        match Self::find(&tables.syncs, |s| s.name, tables, name) {
            Some(i) => SyncId::from_index(i),
            None => tables.add_sync(name),
        }
    }

    /// The variable of this name.
    pub fn variable(&mut self, name: &str) -> Loc {
        let tables = &mut self.trace.tables;
        match Self::find(&tables.variables, |v| v.name, tables, name) {
            Some(i) => Loc(i as u64),
            None => tables.add_variable(name),
        }
    }

    /// The site with this label.
    pub fn site(&mut self, label: &str) -> SiteId {
        let tables = &mut self.trace.tables;
        match Self::find(&tables.sites, |s| s.text, tables, label) {
            Some(i) => SiteId::from_index(i),
            None => {
                let text = Some(tables.names.add(label));
                tables.add_site(Site {
                    text,
                    ..Site::default()
                })
            }
        }
    }

    /// Appends an event at the site with the given label.
    pub fn push(&mut self, thread: ThreadId, site: &str, op: Op) {
        let site = self.site(site);
        self.trace.events.push(Event { thread, site, op });
    }

    /// The tables, to add what the other methods do not cover.
    pub fn tables(&mut self) -> &mut Tables {
        &mut self.trace.tables
    }

    /// The finished trace.
    pub fn finish(self) -> Trace {
        self.trace
    }
}
