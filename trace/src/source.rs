//! Where events come from.

use crate::error::{Result, Truncation};
use crate::event::Event;
use crate::table::{Space, Tables};

/// How many events a batch aims at: enough to amortise a call, few enough to
/// stay in the second-level cache (24 bytes each).
pub const BATCH: usize = 4096;

/// A stream of events in global order, with the tables known so far.
///
/// Invariant: every id in a returned batch is within [`tables`](Self::tables).
/// Consumers index without checking again.
pub trait Source {
    /// What locations are.
    fn space(&self) -> Space;

    /// The tables behind the ids of all batches so far.
    fn tables(&self) -> &Tables;

    /// Replaces the contents of `batch` by the next events. An empty batch
    /// means the end.
    fn next_batch(&mut self, batch: &mut Vec<Event>) -> Result<()>;

    /// Calls `each` with every batch up to the end, and the tables behind it.
    fn for_each_batch(
        &mut self,
        each: &mut dyn FnMut(&Tables, &[Event]) -> Result<()>,
    ) -> Result<()> {
        let mut batch = Vec::new();
        loop {
            self.next_batch(&mut batch)?;
            if batch.is_empty() {
                return Ok(());
            }
            each(self.tables(), &batch)?;
        }
    }

    /// Set once the end was reached before the writer's own end.
    fn truncation(&self) -> Option<&Truncation> {
        None
    }

    /// Bytes consumed so far, for progress.
    fn position(&self) -> u64 {
        0
    }
}

impl<S: Source + ?Sized> Source for Box<S> {
    fn space(&self) -> Space {
        (**self).space()
    }
    fn tables(&self) -> &Tables {
        (**self).tables()
    }
    fn next_batch(&mut self, batch: &mut Vec<Event>) -> Result<()> {
        (**self).next_batch(batch)
    }
    fn truncation(&self) -> Option<&Truncation> {
        (**self).truncation()
    }
    fn position(&self) -> u64 {
        (**self).position()
    }
}
