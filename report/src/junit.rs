//! JUnit XML: a test case for each finding. Those that the command fails for have failed;
//! others were skipped, and it says why. Where nothing was found there is a case that says
//! so, for a suite without any is no success to most readers.

use quick_junit::{NonSuccessKind, Report as Suites, TestCase, TestCaseStatus, TestSuite};

use crate::edition::Edition;
use crate::finding::{Finding, Novelty};
use crate::{story, text};

/// The report as JUnit XML.
pub fn render(edition: &Edition<'_>) -> String {
    let report = edition.report;
    let program = report.program.join(" ");
    let mut suite = TestSuite::new(program.clone());
    let all = report.findings.iter().chain(&report.suppressed);
    suite.add_test_cases(all.map(|finding| case(edition, finding, &program)));
    if suite.test_cases.is_empty() {
        let nothing = TestCase::new("no findings", TestCaseStatus::success());
        suite.add_test_case(classed(nothing, &program));
    }
    let mut suites = Suites::new("racehound");
    suites.add_test_suite(suite);
    suites.to_string().expect("writing to memory")
}

fn classed(mut case: TestCase, program: &str) -> TestCase {
    case.set_classname(program.to_owned());
    case
}

fn case(edition: &Edition<'_>, finding: &Finding, program: &str) -> TestCase {
    let accesses = finding.accesses.iter();
    let places: Vec<String> = accesses.map(|access| edition.position(access)).collect();
    let what = edition.seen(&text::what(finding));
    let name = match places.is_empty() {
        true => what.clone(),
        false => format!("{what} at {}", places.join(", ")),
    };
    let kind = String::from(finding.kind.clone());
    let told = edition.seen(&text::plain(&story::finding(finding)));
    let mut status = match edition.fails(finding) && finding.suppression.is_none() {
        true => TestCaseStatus::non_success(NonSuccessKind::Failure),
        false => TestCaseStatus::skipped(),
    };
    let message = match (
        &finding.suppression,
        finding.baseline,
        edition.fails(finding),
    ) {
        (Some(suppression), _, _) => format!("suppressed: {}", suppression.reason),
        (None, Some(Novelty::Unchanged), _) => "known: the baseline has it".to_owned(),
        (None, _, true) => format!("{} {what}", finding.status.name()),
        (None, _, false) => format!("{}: below the --fail-on level", finding.status.name()),
    };
    status
        .set_type(kind)
        .set_message(message)
        .set_description(told);
    classed(TestCase::new(name, status), program)
}
