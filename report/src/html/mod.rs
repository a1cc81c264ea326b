//! One page with everything in it: no network, light and dark, a list to filter and sort,
//! each finding with its source and an interleaving to step through, and plots of the hunt.
//!
//! The report goes into the page as JSON in an element that browsers do not execute; the
//! page's script makes text of it and never markup. So whatever programs, variables and
//! lines of source are called, they cannot become part of the page.

use serde_json::{Value, json};

use crate::edition::Edition;
use crate::finding::{Finding, Report};
use crate::rules::Rule;
use crate::text;

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("style.css");
const SCRIPT: [&str; 4] = [
    include_str!("elements.js"),
    include_str!("timeline.js"),
    include_str!("plots.js"),
    include_str!("main.js"),
];

/// The page.
pub fn render(edition: &Edition<'_>) -> String {
    let report = edition.report;
    let title = format!("Racehound: {}", report.program.join(" "));
    let parts = [
        ("{{title}}", escaped(&title)),
        ("{{style}}", STYLE.to_owned()),
        ("{{report}}", embedded(&data(edition))),
        ("{{script}}", SCRIPT.join("\n")),
    ];
    // From the end: what was filled in is not looked at again.
    let mut page = PAGE.to_owned();
    for (mark, part) in parts.into_iter().rev() {
        let at = page.rfind(mark).expect("the page has it");
        page.replace_range(at..at + mark.len(), &part);
    }
    page
}

/// The report as it is, and what the page would have to work out.
fn data(edition: &Edition<'_>) -> Value {
    let finding = |finding: &Finding| {
        let mut value = json!(finding);
        value["what"] = json!(edition.seen(&text::what(finding)));
        value["why"] = json!(text::folded(finding));
        value["fails"] = json!(edition.fails(finding) && finding.suppression.is_none());
        let rule = Rule::of(&finding.kind);
        value["rule"] = json!({ "summary": rule.summary, "help": rule.help });
        for (access, told) in finding.accesses.iter().zip(list(&mut value["accesses"])) {
            told["deed"] = json!(edition.seen(&text::deed(access)));
            told["callers"] = json!(text::callers(access));
            told["position"] = json!(edition.position(access));
            told["line"] = json!(access.spot().line);
            told["function"] = json!(access.spot().function);
        }
        let steps = finding.interleaving.iter().flat_map(|i| &i.steps);
        for (step, told) in steps.zip(list(&mut value["interleaving"]["steps"])) {
            told["deed"] = json!(edition.seen(&text::step(step)));
        }
        value
    };
    let all = |findings: &[Finding]| findings.iter().map(finding).collect::<Vec<Value>>();
    let Report {
        findings,
        suppressed,
        ..
    } = edition.report;
    let mut value = json!(edition.report);
    value["findings"] = json!(all(findings));
    value["suppressed"] = json!(all(suppressed));
    value["racehound"] = json!(env!("CARGO_PKG_VERSION"));
    value
}

/// The elements of a list; none if it is no list.
fn list(value: &mut Value) -> impl Iterator<Item = &mut Value> {
    value.as_array_mut().into_iter().flatten()
}

/// JSON that cannot end the element it is in, nor begin a comment.
fn embedded(value: &Value) -> String {
    let json = serde_json::to_string(value).expect("plain data");
    json.replace('<', "\\u003c")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
