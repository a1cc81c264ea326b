//! `racehound report`: the last hunt, told again.

use std::env;
use std::path::Path;

use racehound_store::Store;

use super::hunt::told;
use crate::args::ShowReport;
use crate::error::Error;
use crate::{CLEAN, FINDINGS, output, verdict};

/// Tells it.
pub(crate) fn run(args: &ShowReport) -> Result<u8, Error> {
    let here = env::current_dir().map_err(Error::file(Path::new(".")))?;
    let nothing = || Error::Wish("nothing was hunted here yet; see racehound hunt".to_owned());
    if !Store::exists(&here) {
        return Err(nothing());
    }
    let report = Store::open(&here)?.last()?.ok_or_else(nothing)?;
    let failing = verdict::failing(&report, args.fail_on);
    let code = if failing > 0 { FINDINGS } else { CLEAN };
    match &args.json {
        Some(path) => output::write_report(path, &report)?,
        None => output::show(&(told(&report) + &verdict::closing(&report, failing, code)))?,
    }
    Ok(code)
}
