//! Executions that are in each other's way.
//!
//! Executions go side by side, and a program may keep files or listen at ports that others
//! of its executions want as well. Then it fails in company and never alone, which says
//! nothing of its threads. So a failure is tried again alone; and where failures turn out
//! to happen in company only, executions go one after the other from then on.

use crate::execution::Ending;
use crate::harm::WELL;

/// What is known of executions in company and alone.
#[derive(Debug, Default)]
pub(super) struct Company {
    /// How executions have ended that were alone, whose course the system decides.
    alone: Vec<Ending>,
    /// How many others there were, and how many of them failed.
    others: (usize, usize),
    /// Failures in company that did not happen again alone.
    refuted: u32,
}

/// How likely it may be that executions end well alone by chance.
const DOUBTFUL: f64 = 0.05;

/// So many failures have to be refuted: one may be chance.
const REFUTED: u32 = 2;

impl Company {
    /// An execution has ended whose course the system decides.
    pub(super) fn ended(&mut self, ending: Ending, is_alone: bool) {
        if is_alone {
            self.alone.push(ending);
            return;
        }
        let fails = ending != WELL && ending != Ending::Limit;
        self.others.0 += 1;
        self.others.1 += usize::from(fails);
    }

    /// What failed in company did not fail alone.
    pub(super) fn refute(&mut self) {
        self.refuted += 1;
    }

    /// Whether it takes another execution alone to tell whether what was seen in company
    /// comes of that.
    pub(super) fn is_in_doubt(&self) -> bool {
        self.differs() && !self.is_crowd()
    }

    /// Whether an execution that was not alone ended as those do that are.
    pub(super) fn is_as_alone(&self, ending: Ending) -> bool {
        self.alone.is_empty() || self.alone.contains(&ending)
    }

    /// Whether executions are in each other's way.
    pub(super) fn is_crowd(&self) -> bool {
        let (others, failed) = self.others;
        let likely = (failed + 1) as f64 / (others + 2) as f64;
        let chance = (1.0 - likely).powi(self.alone.len() as i32);
        self.refuted >= REFUTED && self.is_well_alone() || self.differs() && chance < DOUBTFUL
    }

    /// Whether executions fail in company, and have not failed alone.
    fn differs(&self) -> bool {
        self.others.1 > 0 && !self.alone.is_empty() && self.is_well_alone()
    }

    /// Whether none has failed alone.
    fn is_well_alone(&self) -> bool {
        self.alone.iter().all(|ending| *ending == WELL)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAILED: Ending = Ending::Code(1);

    #[test]
    fn who_fails_in_company_and_never_alone_is_in_somebodys_way() {
        let mut company = Company::default();
        company.ended(WELL, true);
        company.ended(WELL, false);
        assert!(!company.is_in_doubt() && !company.is_crowd());
        company.ended(FAILED, false);
        for _ in 0..4 {
            assert!(company.is_in_doubt() && !company.is_crowd());
            company.ended(WELL, true);
        }
        assert!(company.is_crowd() && !company.is_in_doubt());
    }

    #[test]
    fn who_fails_alone_as_well_is_in_nobodys_way() {
        let mut company = Company::default();
        company.ended(WELL, true);
        company.ended(FAILED, false);
        company.ended(FAILED, true);
        for _ in 0..10 {
            company.ended(WELL, true);
            assert!(!company.is_in_doubt() && !company.is_crowd());
        }
    }

    #[test]
    fn a_failure_that_does_not_happen_again_may_be_chance() {
        let mut company = Company::default();
        company.refute();
        assert!(!company.is_crowd());
        company.refute();
        assert!(company.is_crowd());
        company.ended(FAILED, true);
        assert!(!company.is_crowd(), "it fails alone as well");
    }
}
