//! What makes that the seed alone does not repeat an execution: said once for each
//! reason, never passed over in silence.

use crate::output;
use crate::spin::Locked;
use crate::thread::Visit;

static TOLD: Locked<Vec<&'static str>> = Locked::new(Vec::new());

/// The reasons there have been.
pub(super) fn told() -> Vec<String> {
    TOLD.lock()
        .iter()
        .map(|&reason| reason.to_owned())
        .collect()
}

/// Tells of a reason, as of somebody or something. Not with the roster held.
pub(crate) fn tell(who: &str, reason: &'static str) {
    // The monitor is no thread of the program.
    let _visit = Visit::of_known();
    {
        let mut told = TOLD.lock();
        if told.contains(&reason) {
            return;
        }
        told.push(reason);
    }
    output::write(&format!(
        "racehound: {who} {reason}, so the seed alone does not repeat this execution\n"
    ));
}
