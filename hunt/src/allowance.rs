//! How many executions there may be.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How many executions may still begin, for all who execute a program; any number by
/// default.
#[derive(Clone, Debug, Default)]
pub struct Allowance(Option<Arc<AtomicU64>>);

impl Allowance {
    /// So many at most.
    pub fn of(most: Option<u64>) -> Self {
        Self(most.map(|most| Arc::new(AtomicU64::new(most))))
    }

    /// How many are left.
    pub fn left(&self) -> Option<u64> {
        Some(self.0.as_ref()?.load(Ordering::Relaxed))
    }

    /// Whether there are none.
    pub fn is_used_up(&self) -> bool {
        self.left() == Some(0)
    }

    /// Takes one; false if there are none.
    pub(crate) fn take(&self) -> bool {
        let Some(left) = &self.0 else {
            return true;
        };
        let fewer = |left: u64| left.checked_sub(1);
        left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fewer)
            .is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_together_take_no_more_than_there_are() {
        let allowance = Allowance::of(Some(100));
        let takes_many = |allowance: Allowance| (0..80).filter(|_| allowance.take()).count();
        let taken: usize = std::thread::scope(|scope| {
            let takers: Vec<_> = (0..4)
                .map(|_| scope.spawn(|| takes_many(allowance.clone())))
                .collect();
            takers.into_iter().map(|taker| taker.join().unwrap()).sum()
        });
        assert_eq!((taken, allowance.left()), (100, Some(0)));
        assert!(allowance.is_used_up());
        assert!(!Allowance::default().is_used_up() && Allowance::default().take());
    }
}
