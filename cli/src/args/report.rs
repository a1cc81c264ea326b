//! `racehound report` and `racehound suppress`: what was found.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use super::values::FailOn;
use crate::formats::Outputs;

/// Show the last hunt again, or an earlier report
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  racehound report
  racehound report --format html=hunt.html
  racehound report findings.json --format sarif=findings.sarif
  racehound report --format sarif --baseline last-week.json")]
pub(crate) struct ShowReport {
    /// An earlier report (--json) to show instead
    #[arg(value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) output: Outputs,

    /// Fail only for what this earlier report (--json) does not have; code that has only moved is
    /// recognised
    #[arg(long, value_name = "FILE")]
    pub(crate) baseline: Option<PathBuf>,

    /// How certain a finding must be for exit code 66
    #[arg(long, value_enum, default_value_t = FailOn::Observed)]
    pub(crate) fail_on: FailOn,
}

/// Accept a finding: it is counted from now on, and no longer shown
///
/// Writes an entry to racehound.suppressions in the current directory, to be reviewed and kept with
/// the sources: what the finding is, where, why it is accepted and since when. hunt, run and report
/// go by it; the exit code does, too. A finding is recognised after its lines have moved, as long
/// as they read the same.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  racehound suppress R1 --reason 'the count is an estimate'
  racehound suppress --list
  racehound suppress --remove R1")]
pub(crate) struct Suppress {
    /// Findings of the last hunt, such as R1
    #[arg(value_name = "ID", required_unless_present_any = ["list", "remove"], requires = "reason")]
    pub(crate) id: Vec<String>,

    /// Why it is accepted
    #[arg(long, value_name = "TEXT", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub(crate) reason: Option<String>,

    /// Take findings from this report (--json) instead of the last hunt
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,

    /// Say what is accepted
    #[arg(long, conflicts_with_all = ["id", "remove"])]
    pub(crate) list: bool,

    /// Accept it no longer: a finding, or its number in the list
    #[arg(long, value_name = "ID")]
    pub(crate) remove: Vec<String>,
}
