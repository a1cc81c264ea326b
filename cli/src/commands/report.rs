//! `racehound report`: the last hunt, told again.

use racehound_report::story;
use racehound_store::Store;

use super::run::relative;
use crate::args::ShowReport;
use crate::error::Error;
use crate::known::{self, Known};
use crate::{CLEAN, FINDINGS, formats, verdict};

/// Tells it.
pub(crate) fn run(args: &ShowReport) -> Result<u8, Error> {
    args.output.here()?;
    let here = known::here()?;
    let nothing = || Error::Wish("nothing was hunted here yet; see racehound hunt".to_owned());
    if !Store::exists(&here) {
        return Err(nothing());
    }
    let mut report = Store::open(&here)?.last()?.ok_or_else(nothing)?;
    let known = Known::with(&here, args.baseline.as_deref(), None)?;
    let gone = known.settle(&mut report);
    let failing = verdict::failing(&report, args.fail_on);
    let code = if failing > 0 { FINDINGS } else { CLEAN };
    let mut text = story::all(&relative(&report));
    text += &verdict::absent(gone);
    text += &verdict::closing(&report, failing, code);
    let root = formats::root(&here);
    args.output
        .publish(&verdict::edition(&report, args.fail_on, &root), &text)?;
    Ok(code)
}
