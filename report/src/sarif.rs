//! SARIF 2.1.0, as code scanning wants it.
//!
//! * A rule for each kind of finding, with its help.
//! * Files are named relative to the project, whose place `SRCROOT` says; those outside
//!   have a whole path.
//! * The interleaving is a code flow with a thread flow for each thread; the execution
//!   order of a step is its place among all of them, and its state says who holds what.
//! * Fingerprints are ours, and stay while lines move; what tells findings of the same
//!   fingerprint apart is their number. GitHub goes by the name that we give it.
//! * What was suppressed is there, as suppressed.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::edition::{Edition, Place, said};
use crate::finding::{Access, Finding, Frame, Novelty, Status, Step};
use crate::rules::Rule;
use crate::{fingerprint, text};

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";
const BASE: &str = "SRCROOT";

/// The report in SARIF.
pub fn render(edition: &Edition<'_>) -> String {
    let report = edition.report;
    let all = || report.findings.iter().chain(&report.suppressed);
    let rules = rules(all());
    let fingerprints = fingerprint::numbered(all());
    let results = all().zip(fingerprints);
    let results: Vec<Value> = results
        .map(|(finding, fingerprint)| result(edition, finding, &rules, fingerprint))
        .collect();
    let program = report.program.first().map(String::as_str);
    let program = Path::new(program.unwrap_or("program")).file_name();
    let program = program.unwrap_or_default().to_string_lossy();
    let log = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "Racehound",
                "version": env!("CARGO_PKG_VERSION"),
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules.iter().map(rule).collect::<Vec<Value>>(),
            } },
            "automationDetails": { "id": format!("racehound/{program}/") },
            "originalUriBaseIds": { BASE: { "uri": directory(edition.root) } },
            "invocations": [{
                "executionSuccessful": true,
                "commandLine": report.program.join(" "),
            }],
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    });
    let mut out = serde_json::to_string_pretty(&log).expect("plain data");
    out.push('\n');
    out
}

/// The rules that the findings break, each once.
fn rules<'a>(findings: impl Iterator<Item = &'a Finding>) -> Vec<Rule> {
    let mut rules: Vec<Rule> = Vec::new();
    for finding in findings {
        let rule = Rule::of(&finding.kind);
        if !rules.contains(&rule) {
            rules.push(rule);
        }
    }
    rules
}

fn rule(rule: &Rule) -> Value {
    json!({
        "id": rule.id,
        "name": rule.name,
        "shortDescription": { "text": rule.summary },
        "fullDescription": { "text": rule.summary },
        "help": {
            "text": format!("{} {}", rule.summary, rule.help),
            "markdown": format!("**{}**\n\n{}", rule.summary, rule.help),
        },
        "defaultConfiguration": { "level": "error" },
        "properties": {
            "precision": "very-high",
            "problem.severity": "error",
            "tags": ["concurrency", "correctness"],
        },
    })
}

fn result(edition: &Edition<'_>, finding: &Finding, rules: &[Rule], fingerprint: String) -> Value {
    let id = Rule::of(&finding.kind).id;
    let mut result = Map::new();
    let mut put = |name: &str, value: Value| result.insert(name.to_owned(), value);
    put("ruleId", json!(id));
    put(
        "ruleIndex",
        json!(rules.iter().position(|rule| rule.id == id)),
    );
    put("level", json!(level(finding.status)));
    put("message", json!({ "text": message(edition, finding) }));
    put("locations", json!([primary(edition, finding)]));
    let related: Vec<Value> = finding
        .accesses
        .iter()
        .enumerate()
        .skip(1)
        .filter_map(|(i, access)| related(edition, i, access))
        .collect();
    if !related.is_empty() {
        put("relatedLocations", json!(related));
    }
    let flows = thread_flows(edition, finding);
    if !flows.is_empty() {
        let how = match finding.interleaving {
            Some(_) => "The interleaving that makes it happen",
            None => "The accesses, in the order of the execution",
        };
        let flow = json!({ "message": { "text": how }, "threadFlows": flows });
        put("codeFlows", json!([flow]));
    }
    let stacks: Vec<Value> = finding
        .accesses
        .iter()
        .filter(|access| !access.stack.is_empty())
        .map(|access| stack(edition, access))
        .collect();
    if !stacks.is_empty() {
        put("stacks", json!(stacks));
    }
    put(
        "partialFingerprints",
        json!({
            "racehound/v1": fingerprint,
            "primaryLocationLineHash": fingerprint,
        }),
    );
    if let Some(novelty) = finding.baseline {
        put(
            "baselineState",
            json!(match novelty {
                Novelty::New => "new",
                Novelty::Unchanged => "unchanged",
            }),
        );
    }
    if let Some(suppression) = &finding.suppression {
        put(
            "suppressions",
            json!([{
                "kind": "external",
                "status": "accepted",
                "justification": suppression.reason,
            }]),
        );
    }
    put(
        "properties",
        json!({
            "id": finding.id,
            "status": finding.status,
            "harm": finding.harm,
            "foundBy": finding.found_by,
            "replay": finding.replay,
        }),
    );
    Value::Object(result)
}

fn level(status: Status) -> &'static str {
    match status {
        Status::Confirmed | Status::Observed => "error",
        Status::Predicted => "warning",
        Status::Unreproduced => "note",
    }
}

/// What it is, who does what, and what came of it.
fn message(edition: &Edition<'_>, finding: &Finding) -> String {
    let mut sentences = vec![format!(
        "{} ({})",
        capitalised(&text::what(finding)),
        finding.status.name()
    )];
    let accesses = finding.accesses.iter().enumerate();
    sentences.extend(accesses.map(|(i, access)| {
        let done = text::deed(access);
        let position = bracketed(&edition.position(access));
        // Links to where it is told in full.
        match i > 0 && access.file.is_some() {
            true => format!("{} at [{position}]({i})", bracketed(&done)),
            false => format!("{} at {position}", bracketed(&done)),
        }
    }));
    if let Some(harm) = &finding.harm {
        sentences.push(bracketed(&format!("Harm: {}, {}", harm.kind, harm.detail)));
    }
    if let Some(replay) = &finding.replay {
        sentences.push(bracketed(&format!("Replay: {replay}")));
    }
    edition.seen(&sentences.join(". ")) + "."
}

/// A text in which brackets are no links.
fn bracketed(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('[', "\\[")
        .replace(']', "\\]")
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(char::to_uppercase);
    first.into_iter().flatten().chain(letters).collect()
}

/// Where to show it: the first access, or what else is known.
fn primary(edition: &Edition<'_>, finding: &Finding) -> Value {
    let of_access = finding
        .accesses
        .iter()
        .find_map(|access| physical(edition, access));
    let of_words = || {
        let (file, line) = said(&finding.location.name)?;
        Some(position(edition, file, line, None, None))
    };
    let of_step = || {
        let steps = &finding.interleaving.as_ref()?.steps;
        steps.iter().rev().find_map(|step| of_step(edition, step))
    };
    let physical = of_access.or_else(of_words).or_else(of_step);
    let physical = physical.unwrap_or_else(|| {
        let program = edition.report.program.first().map(String::as_str);
        json!({ "artifactLocation": artifact(edition, program.unwrap_or("program")) })
    });
    let function = finding.accesses.iter().find_map(|a| a.function.as_deref());
    let mut location = json!({ "physicalLocation": physical });
    if let Some(function) = function {
        location["logicalLocations"] = json!([{ "name": function, "kind": "function" }]);
    }
    location
}

fn related(edition: &Edition<'_>, id: usize, access: &Access) -> Option<Value> {
    Some(json!({
        "id": id,
        "physicalLocation": physical(edition, access)?,
        "message": { "text": text::deed(access) },
    }))
}

fn physical(edition: &Edition<'_>, access: &Access) -> Option<Value> {
    let spot = access.spot();
    let (file, line) = (spot.file?, spot.line?);
    Some(position(edition, file, line, spot.column, access.text()))
}

fn of_step(edition: &Edition<'_>, step: &Step) -> Option<Value> {
    let (file, line) = (step.file.as_deref()?, step.line?);
    Some(position(edition, file, line, None, step.text.as_deref()))
}

fn position(
    edition: &Edition<'_>,
    file: &str,
    line: u32,
    column: Option<u32>,
    snippet: Option<&str>,
) -> Value {
    let mut region = json!({ "startLine": line.max(1) });
    if let Some(column) = column.filter(|column| *column > 0) {
        region["startColumn"] = json!(column);
    }
    if let Some(snippet) = snippet {
        region["snippet"] = json!({ "text": snippet });
    }
    json!({ "artifactLocation": artifact(edition, file), "region": region })
}

fn artifact(edition: &Edition<'_>, file: &str) -> Value {
    match edition.place(file) {
        Place::Inside(name) => json!({ "uri": encoded(&name), "uriBaseId": BASE }),
        Place::Outside(name) => json!({ "uri": format!("file://{}", encoded(&name)) }),
    }
}

fn directory(path: &Path) -> String {
    let path = encoded(&path.to_string_lossy());
    format!("file://{}/", path.trim_end_matches('/'))
}

/// A path as part of an address: RFC 3986, section 2.3.
fn encoded(path: &str) -> String {
    let encode = |byte: &u8| match byte {
        b'/' | b'-' | b'.' | b'_' | b'~' => char::from(*byte).to_string(),
        byte if byte.is_ascii_alphanumeric() => char::from(*byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    path.as_bytes().iter().map(encode).collect()
}

/// One flow for each thread, of the interleaving or else of the accesses alone.
fn thread_flows(edition: &Edition<'_>, finding: &Finding) -> Vec<Value> {
    let steps: Vec<(String, Value)> = match &finding.interleaving {
        Some(interleaving) => {
            let steps = interleaving.steps.iter();
            steps
                .filter_map(|step| Some((step.thread.clone(), flow_step(edition, step)?)))
                .collect()
        }
        None => {
            let accesses = finding.accesses.iter();
            accesses
                .filter_map(|a| Some((a.thread.clone(), flow_access(edition, a)?)))
                .collect()
        }
    };
    let threads: BTreeSet<&String> = steps.iter().map(|(thread, _)| thread).collect();
    let flow = |thread: &String| {
        let locations = (1..).zip(&steps).filter(|(_, (of, _))| of == thread);
        let locations = locations.map(|(order, (_, location))| {
            let mut location = location.clone();
            location["executionOrder"] = json!(order);
            location
        });
        json!({
            "id": format!("thread {thread}"),
            "message": { "text": format!("Thread {thread}") },
            "locations": locations.collect::<Vec<Value>>(),
        })
    };
    threads.into_iter().map(flow).collect()
}

fn flow_step(edition: &Edition<'_>, step: &Step) -> Option<Value> {
    Some(json!({
        "location": {
            "physicalLocation": of_step(edition, step)?,
            "message": { "text": format!("thread {} {}", step.thread, text::step(step)) },
        },
        "importance": match step.access {
            Some(_) => "essential",
            None => "important",
        },
        "state": { "locks held": { "text": listed(&step.locks) } },
    }))
}

fn flow_access(edition: &Edition<'_>, access: &Access) -> Option<Value> {
    Some(json!({
        "location": {
            "physicalLocation": physical(edition, access)?,
            "message": { "text": text::deed(access) },
        },
        "importance": "essential",
        "state": { "locks held": { "text": listed(&access.locks) } },
    }))
}

fn listed(locks: &[String]) -> String {
    match locks {
        [] => "none".to_owned(),
        locks => locks.join(", "),
    }
}

fn stack(edition: &Edition<'_>, access: &Access) -> Value {
    let frame = |frame: &Frame| {
        let mut location = json!({
            "logicalLocations": [{ "name": frame.function, "kind": "function" }],
        });
        if let (Some(file), Some(line)) = (&frame.file, frame.line) {
            location["physicalLocation"] = position(edition, file, line, frame.column, None);
        }
        let mut frame_out = json!({ "location": location });
        if let Some(module) = &frame.module {
            frame_out["module"] = json!(module);
        }
        frame_out
    };
    json!({
        "message": { "text": text::deed(access) },
        "frames": access.stack.iter().map(frame).collect::<Vec<Value>>(),
    })
}
