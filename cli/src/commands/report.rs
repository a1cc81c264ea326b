//! `racehound report`: the last hunt, or an earlier report, told again.

use std::path::Path;

use racehound_hunt::findings;
use racehound_report::finding::Report;
use racehound_report::story;
use racehound_store::Store;

use super::run::relative;
use crate::args::ShowReport;
use crate::error::Error;
use crate::known::{self, Known};
use crate::{CLEAN, FINDINGS, formats, pairs, verdict};

/// Tells it.
pub(crate) fn run(args: &ShowReport) -> Result<u8, Error> {
    args.output.check()?;
    let here = known::here()?;
    let mut report = match &args.report {
        Some(file) => pairs::report(file)?,
        None => last(&here)?,
    };
    findings::sort(&mut report.findings);
    let known = Known::with(&here, args.baseline.as_deref(), None)?;
    let gone = known.settle(&mut report);
    let failing = verdict::failing(&report, args.fail_on);
    let code = if failing > 0 { FINDINGS } else { CLEAN };
    let mut text = story::all(&relative(&report));
    text += &verdict::absent(gone);
    text += &verdict::closing("", &report, failing, code);
    let root = formats::root(&here);
    args.output
        .publish(&verdict::edition(&report, args.fail_on, &root), &text)?;
    Ok(code)
}

/// The last hunt in this directory.
fn last(directory: &Path) -> Result<Report, Error> {
    let nothing = || Error::Wish("nothing was hunted here yet; see racehound hunt".to_owned());
    if !Store::exists(directory) {
        return Err(nothing());
    }
    Store::open(directory)?.last()?.ok_or_else(nothing)
}
