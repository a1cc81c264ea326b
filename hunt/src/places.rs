//! Where the accesses of a finding are, as RaceFuzzer is told.

use std::path::Path;

use racehound_report::finding::{Access, Finding};
use racehound_schedule::Places;

/// The two places of a race.
pub fn of(finding: &Finding) -> Option<Places> {
    match &finding.accesses[..] {
        [first, second] => Some(Places {
            first: vec![place(first)?],
            second: vec![place(second)?],
        }),
        _ => None,
    }
}

/// An access by its line, which outlives the build; else by where its code is.
fn place(access: &Access) -> Option<String> {
    if let (Some(file), Some(line)) = (&access.file, access.line) {
        return Some(format!("{file}:{line}"));
    }
    let frame = access.stack.first()?;
    let module = Path::new(frame.module.as_ref()?).file_name()?.to_str()?;
    Some(format!("{module}+{:#x}", frame.offset?))
}
