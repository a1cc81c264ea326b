//! Who must look on for a finding to be seen.
//!
//! RaceFuzzer and who follows a schedule say themselves what they made happen, and harm
//! is seen from outside. What was observed otherwise, a precise detector has to see
//! again.

use racehound_report::finding::{Finding, Kind};
use racehound_report::journal::{CONFIRMED, Scheduled};
use racehound_schedule::Plan;

/// The detector that looks on when the plan makes the finding happen again.
pub fn of(finding: &Finding, plan: &Plan) -> &'static str {
    let speaks = matches!(plan, Plan::RaceFuzzer { .. } | Plan::Follow { .. });
    let is_seen_from_outside = match finding.kind {
        Kind::Failure => true,
        Kind::Deadlock => finding.harm.is_some(),
        _ => false,
    };
    match speaks || is_seen_from_outside {
        true => "none",
        false => PRECISE,
    }
}

/// Whether a finding that is seen from inside happened in an execution by that plan. Who
/// follows a schedule says so of the schedule as a whole.
pub fn saw(
    wanted: &Finding,
    plan: &Plan,
    findings: &[Finding],
    scheduled: Option<&Scheduled>,
) -> bool {
    match plan {
        Plan::Follow { .. } => scheduled.and_then(|s| s.fate.as_deref()) == Some(CONFIRMED),
        _ => findings
            .iter()
            .any(|other| other.identity() == wanted.identity()),
    }
}

/// It reports what happened and nothing else.
pub const PRECISE: &str = "fasttrack";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_follows_a_schedule_says_whether_it_happened() {
        let follow = "follow:file=a".parse::<Plan>().unwrap();
        let wanted = Finding {
            kind: Kind::Atomicity,
            ..Finding::default()
        };
        let ended = |fate: &str| Scheduled {
            fate: Some(fate.to_owned()),
            ..Scheduled::default()
        };
        assert!(saw(&wanted, &follow, &[], Some(&ended(CONFIRMED))));
        assert!(!saw(&wanted, &follow, &[], Some(&ended("left"))));
        assert!(!saw(&wanted, &follow, &[], None));
        let random = Plan::Random { seed: 1 };
        assert!(saw(&wanted, &random, std::slice::from_ref(&wanted), None));
        assert!(!saw(&wanted, &random, &[], Some(&ended(CONFIRMED))));
    }

    #[test]
    fn somebody_looks_on_where_nobody_speaks() {
        let random = Plan::Random { seed: 1 };
        let follow = "follow:file=a".parse::<Plan>().unwrap();
        let of_kind = |kind| Finding {
            kind,
            ..Finding::default()
        };
        assert_eq!(of(&of_kind(Kind::Race), &random), PRECISE);
        assert_eq!(of(&of_kind(Kind::Race), &follow), "none");
        assert_eq!(of(&of_kind(Kind::MutexMisuse), &random), PRECISE);
        assert_eq!(of(&of_kind(Kind::Failure), &random), "none");
    }
}
