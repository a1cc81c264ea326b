//! A subject in all ways, execution after execution.

use std::collections::BTreeSet;
use std::io;

use indicatif::{ProgressBar, ProgressStyle};

use super::subject::{Execution, Subject, Tool};
use crate::races::Race;

/// What came out.
pub(super) struct Campaign {
    pub(super) name: String,
    /// By tool, then by execution.
    executions: Vec<Vec<Execution>>,
    /// Pairs after each execution of AtexRace: all that were ever seen, and frequent.
    pub(super) pairs: Vec<(usize, usize)>,
}

impl Campaign {
    /// All executions; each is made in all ways, one after the other, so that a slow
    /// minute of the machine hits them alike.
    pub(super) fn run(subject: &Subject) -> io::Result<Self> {
        subject.forget()?;
        let mut campaign = Self {
            name: subject.name.clone(),
            executions: Tool::ALL.iter().map(|_| Vec::new()).collect(),
            pairs: Vec::new(),
        };
        let progress = ProgressBar::new(subject.cases.len() as u64)
            .with_style(
                ProgressStyle::with_template("{prefix:12} {wide_bar} {pos}/{len} {eta}")
                    .unwrap_or_else(|_| ProgressStyle::default_bar()),
            )
            .with_prefix(subject.name.clone());
        let mut ever = BTreeSet::new();
        for case in progress.wrap_iter(subject.cases.iter()) {
            for (tool, executions) in Tool::ALL.into_iter().zip(&mut campaign.executions) {
                executions.push(subject.execute(tool, case)?);
            }
            let seen = subject.pairs()?;
            ever.extend(seen.pairs);
            campaign.pairs.push((ever.len(), seen.frequent));
        }
        Ok(campaign)
    }

    fn of(&self, tool: Tool) -> &[Execution] {
        let at = Tool::ALL.iter().position(|&other| other == tool);
        &self.executions[at.unwrap_or(0)]
    }

    /// How many executions there were.
    pub(super) fn len(&self) -> usize {
        self.of(Tool::None).len()
    }

    /// CPU time of the first executions.
    pub(super) fn cpu(&self, tool: Tool, executions: usize) -> f64 {
        self.of(tool)[..executions].iter().map(|e| e.cpu).sum()
    }

    /// Overhead of the first executions over looking at nothing: Eq. 1.
    pub(super) fn overhead(&self, tool: Tool, executions: usize) -> f64 {
        self.cpu(tool, executions) / self.cpu(Tool::None, executions) - 1.0
    }

    /// Races, each once.
    pub(super) fn distinct(&self, tool: Tool) -> BTreeSet<&Race> {
        self.of(tool).iter().flat_map(|e| &e.races).collect()
    }

    /// Races, each as often as an execution has reported it.
    pub(super) fn total(&self, tool: Tool) -> usize {
        let each = |execution: &Execution| execution.races.iter().collect::<BTreeSet<_>>().len();
        self.of(tool).iter().map(each).sum()
    }

    /// What the reader must know: executions that failed.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        for tool in Tool::ALL {
            let failures: Vec<&String> = self
                .of(tool)
                .iter()
                .filter_map(|e| e.failure.as_ref())
                .collect();
            if let [first, ..] = failures[..] {
                notes.push(format!(
                    "{} of {} executions of {} under {} failed, the first with {first}",
                    failures.len(),
                    self.len(),
                    self.name,
                    tool.name()
                ));
            }
        }
        notes
    }
}
