//! A program and its truth, in the words of its labels.

#![allow(dead_code)] // Each test file uses its own part.

use std::collections::BTreeSet;

use racehound_model::{Limits, Outcome, Program, Truth, explore, random};
use racehound_trace::SiteId;

pub(crate) struct Subject {
    pub(crate) program: Program,
    pub(crate) truth: Truth,
}

/// Parses and explores.
pub(crate) fn subject(text: &str) -> Subject {
    let program = Program::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let truth = explore(&program, &Limits::default()).unwrap();
    Subject { program, truth }
}

impl Subject {
    /// A site by its label; `A.2` is the second site of statement A where it
    /// has several, and the statement itself stands for one without a label.
    pub(crate) fn name(&self, site: SiteId) -> String {
        let Some(label) = self.program.label(site) else {
            return self.program.tables().site_text(site).unwrap().to_owned();
        };
        match self.program.sites(label) {
            [_] => label.to_owned(),
            sites => {
                let index = sites.iter().position(|s| *s == site).unwrap();
                format!("{label}.{}", index + 1)
            }
        }
    }

    pub(crate) fn names(&self, sites: &[SiteId]) -> String {
        let names: Vec<_> = sites.iter().map(|s| self.name(*s)).collect();
        names.join(" ")
    }

    /// Pairs such as `A B`.
    pub(crate) fn races(&self) -> BTreeSet<String> {
        let races = self.truth.races.iter();
        races.map(|(a, b)| self.names(&[*a, *b])).collect()
    }

    /// Names of errors, and assertions.
    pub(crate) fn failures(&self) -> BTreeSet<String> {
        let failures = self.truth.failures.iter();
        failures.map(|(_, name)| name.clone()).collect()
    }

    /// Such as `main: join T1, T1: lock m`.
    pub(crate) fn deadlocks(&self) -> BTreeSet<String> {
        let tables = self.program.tables();
        let blocked = |(thread, site): &_| {
            let text = tables.site_text(*site).unwrap();
            format!("{}: {text}", tables.thread_name(*thread))
        };
        let deadlocks = self.truth.deadlocks.iter();
        deadlocks
            .map(|threads| threads.iter().map(blocked).collect::<Vec<_>>().join(", "))
            .collect()
    }

    /// Such as `atomicity-r-w-r: A B C`.
    pub(crate) fn violations(&self) -> BTreeSet<String> {
        let mut all = BTreeSet::new();
        for (pattern, found) in &self.truth.violations {
            for sites in found {
                all.insert(format!("{pattern}: {}", self.names(sites)));
            }
        }
        all
    }

    /// Messages of the misuses.
    pub(crate) fn misuses(&self) -> BTreeSet<String> {
        let misuses = self.truth.misuses.iter();
        misuses.map(|(_, message)| message.clone()).collect()
    }

    /// Nothing can go wrong, and no loop was cut.
    pub(crate) fn assert_clean(&self) {
        let expected = Truth {
            states: self.truth.states,
            executions: self.truth.executions,
            ..Truth::default()
        };
        assert_eq!(self.truth, expected, "{}", self.program.source());
    }
}

/// A set of strings.
pub(crate) fn set<const N: usize>(items: [&str; N]) -> BTreeSet<String> {
    items.iter().map(|s| (*s).to_owned()).collect()
}

/// Random programs of several shapes.
pub(crate) fn programs(count: u64) -> impl Iterator<Item = Program> {
    let shapes = [
        random::Shape::default(),
        random::Shape {
            threads: 3,
            statements: 6,
            ..random::Shape::default()
        },
        random::Shape {
            every_kind: false,
            statements: 8,
            locks: 3,
            ..random::Shape::default()
        },
    ];
    (0..count).map(move |seed| random::program(seed, &shapes[seed as usize % shapes.len()]))
}

/// How an execution ended is one of the ways in which it can.
pub(crate) fn assert_within(outcome: &Outcome, truth: &Truth, source: &str) {
    let known = match outcome.clone() {
        Outcome::Finished => true,
        Outcome::Deadlock { blocked } => truth.deadlocks.contains(&blocked),
        Outcome::Failed { site, name } => truth.failures.contains(&(site, name)),
        Outcome::Misuse { site, message } => truth.misuses.contains(&(site, message)),
        Outcome::LoopBound { site } => truth.loop_bounds.contains(&site),
        Outcome::StepLimit => false,
    };
    assert!(known, "{outcome:?}\n{source}");
}
