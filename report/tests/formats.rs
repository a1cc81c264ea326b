//! One report in every form, held against what reads it.
#![cfg(feature = "formats")]

use std::path::Path;

use jsonschema::validator_for;
use racehound_report::edition::Edition;
use racehound_report::finding::{
    Access, Excerpt, Explanation, Finding, Frame, Harm, Interleaving, Kind, Location, Novelty,
    Report, Status, Step, Suppression, Thread,
};
use racehound_report::{github, junit, sarif, tsan};
use serde_json::Value;

fn access(op: &str, thread: &str, line: u32, function: &str, locks: &[&str]) -> Access {
    let file = "/home/you/bank/src/bank account.c".to_owned();
    Access {
        op: op.into(),
        size: 4,
        thread: thread.into(),
        line: Some(line),
        column: Some(9),
        function: Some(function.into()),
        site: format!("{file}:{line}:9"),
        locks: locks.iter().map(|lock| (*lock).to_owned()).collect(),
        stack: vec![Frame {
            function: function.into(),
            file: Some(file.clone()),
            line: Some(line),
            column: Some(9),
            module: Some("bank".into()),
            offset: Some(0x11d0),
        }],
        source: Some(Excerpt {
            first: line,
            lines: vec!["    balance += amount[0]; // <&> ]]>".into()],
        }),
        file: Some(file),
        ..Access::default()
    }
}

fn step(thread: &str, op: &str, line: u32, access: Option<usize>) -> Step {
    Step {
        thread: thread.into(),
        op: op.into(),
        object: "accounts".into(),
        file: Some("/home/you/bank/src/bank account.c".into()),
        line: Some(line),
        locks: vec!["accounts".into()],
        access,
        ..Step::default()
    }
}

fn race() -> Finding {
    Finding {
        id: "R1".into(),
        status: Status::Confirmed,
        harm: Some(Harm {
            kind: "crash".into(),
            detail: "SIGSEGV [core]".into(),
            run: 7,
            ..Harm::default()
        }),
        location: Location {
            what: "global".into(),
            name: "balance".into(),
            size: 4,
            ..Location::default()
        },
        locations: 1,
        accesses: vec![
            access("write", "0.1", 12, "deposit", &["accounts"]),
            access("read", "0.2", 30, "audit", &[]),
        ],
        threads: vec![Thread {
            thread: "0.1".into(),
            name: Some("teller".into()),
            stack: vec![Frame {
                function: "main".into(),
                file: None,
                line: None,
                column: None,
                module: None,
                offset: None,
            }],
        }],
        found_by: vec!["fasttrack".into()],
        reasons: vec![Explanation {
            by: "fasttrack".into(),
            because: "nothing orders them".into(),
        }],
        interleaving: Some(Interleaving {
            skipped: 3,
            steps: vec![
                step("0.1", "acquire", 11, None),
                step("0.1", "write", 12, Some(1)),
                step("0.2", "read", 30, Some(2)),
            ],
        }),
        baseline: Some(Novelty::New),
        replay: Some("racehound replay R1".into()),
        ..Finding::default()
    }
}

/// One finding of every kind and status, with and without what may be absent.
fn report() -> Report {
    let failure = Finding {
        id: "R2".into(),
        kind: Kind::Failure,
        detail: Some("assertion".into()),
        status: Status::Confirmed,
        location: Location {
            name: "bank: src/bank.c:36: main: Assertion `x' failed.".into(),
            ..Location::default()
        },
        ..Finding::default()
    };
    let bare = |kind: Kind, status| Finding {
        id: "R3".into(),
        kind,
        status,
        accesses: vec![Access {
            op: "lock".into(),
            site: "bank+0x11d0".into(),
            thread: "0".into(),
            ..Access::default()
        }],
        baseline: Some(Novelty::Unchanged),
        ..Finding::default()
    };
    let mut findings = vec![race(), race(), failure];
    findings.extend([
        bare(Kind::Atomicity, Status::Predicted),
        bare(Kind::AtomicSet, Status::Unreproduced),
        bare(Kind::Deadlock, Status::Observed),
        bare(Kind::MutexMisuse, Status::Observed),
        bare(Kind::ThreadLeak, Status::Observed),
        bare(Kind::SignalUnsafe, Status::Observed),
        bare(Kind::Pattern("lost-pair".into()), Status::Predicted),
    ]);
    Report {
        program: vec!["./bank".into(), "--fast".into()],
        directory: Some("/home/you/bank".into()),
        runs: 42,
        findings,
        suppressed: vec![Finding {
            suppression: Some(Suppression {
                reason: "an estimate".into(),
                date: None,
            }),
            ..race()
        }],
        ..Report::default()
    }
}

fn edition(report: &Report) -> Edition<'_> {
    Edition {
        report,
        fail_on: Some(Status::Observed),
        root: Path::new("/home/you/bank"),
    }
}

#[test]
fn sarif_is_valid() {
    let mut schema: Value = serde_json::from_str(include_str!("sarif-schema-2.1.0.json")).unwrap();
    // Their patterns are no regular expressions: a bracket is closed that was not opened.
    for owner in ["run", "toolComponent"] {
        let language = &mut schema["definitions"][owner]["properties"]["language"];
        language.as_object_mut().unwrap().remove("pattern").unwrap();
    }
    let validator = validator_for(&schema).unwrap();
    for report in [report(), Report::default()] {
        let log: Value = serde_json::from_str(&sarif::render(&edition(&report))).unwrap();
        let errors: Vec<String> = validator
            .iter_errors(&log)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{errors:#?}");
    }
    // The schema is one: it finds fault with what is wrong.
    let wrong = serde_json::json!({ "version": "2.1.0", "runs": [{ "results": [] }] });
    assert!(!validator.is_valid(&wrong));
}

#[test]
fn sarif_has_what_code_scanning_wants() {
    let report = report();
    let log: Value = serde_json::from_str(&sarif::render(&edition(&report))).unwrap();
    let run = &log["runs"][0];
    let results = run["results"].as_array().unwrap();
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    assert_eq!(results.len(), report.findings.len() + 1);
    for result in results {
        let rule = &rules[result["ruleIndex"].as_u64().unwrap() as usize];
        assert_eq!(rule["id"], result["ruleId"]);
        assert!(rule["help"]["markdown"].as_str().unwrap().len() > 40);
        let location = &result["locations"][0]["physicalLocation"]["artifactLocation"];
        assert_eq!(location["uriBaseId"], "SRCROOT", "{result:#}");
        assert!(!location["uri"].as_str().unwrap().starts_with('/'));
    }
    let first = &results[0];
    let place = &first["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "src/bank%20account.c");
    assert_eq!(place["region"]["startLine"], 12);
    assert_eq!(first["level"], "error");
    assert_eq!(first["baselineState"], "new");
    assert_eq!(results[3]["level"], "warning");
    assert_eq!(results[3]["baselineState"], "unchanged");
    // Findings of the same place are told apart.
    let print = |result: &Value| result["partialFingerprints"]["racehound/v1"].clone();
    assert_ne!(print(&results[0]), print(&results[1]));
    // A failure is where the program says it is.
    let place = &results[2]["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "src/bank.c");
    assert_eq!(place["region"]["startLine"], 36);
    // The interleaving: two threads, and one order over both.
    let flows = first["codeFlows"][0]["threadFlows"].as_array().unwrap();
    let order = |flow: &Value| -> Vec<u64> {
        let locations = flow["locations"].as_array().unwrap();
        let order = locations.iter().map(|l| l["executionOrder"].as_u64());
        order.map(Option::unwrap).collect()
    };
    assert_eq!(order(&flows[0]), [1, 2]);
    assert_eq!(order(&flows[1]), [3]);
    assert_eq!(
        results.last().unwrap()["suppressions"][0]["justification"],
        "an estimate"
    );
}

#[test]
fn junit_counts_what_fails() {
    let report = report();
    let xml = junit::render(&edition(&report));
    let read = quick_junit::Report::deserialize_from_str(&xml).unwrap();
    let suite = &read.test_suites[0];
    assert_eq!(
        (suite.tests, suite.failures, suite.skipped),
        (11, 3, 8),
        "{xml}"
    );
    assert!(xml.contains("suppressed: an estimate"));
    let nothing = junit::render(&edition(&Report::default()));
    let read = quick_junit::Report::deserialize_from_str(&nothing).unwrap();
    assert_eq!((read.tests, read.failures), (1, 0));
}

#[test]
fn annotations_are_a_line_each() {
    let report = report();
    let text = github::render(&edition(&report));
    assert_eq!(text.lines().count(), report.findings.len());
    assert!(text.lines().all(|line| line.starts_with("::")), "{text}");
    let first =
        "::error file=src/bank account.c,line=12,col=9,title=R1 race on balance (confirmed)::";
    assert!(text.starts_with(first), "{text}");
    // What is known, or not certain, is no error.
    assert_eq!(text.matches("::error ").count(), 3);
    assert_eq!(text.matches("::notice ").count(), 1);
}

#[test]
fn tsan_s_readers_find_their_way() {
    let report = Report {
        findings: vec![race()],
        ..report()
    };
    insta::assert_snapshot!(tsan::render(&edition(&report)), @r"
    ==================
    WARNING: ThreadSanitizer: data race (pid=0)
      Read of size 4 at 0x000000000000 by thread T2:
        #0 audit src/bank account.c:30:9 (bank+0x11d0)

      Previous write of size 4 at 0x000000000000 by thread T1 (mutexes: write M0):
        #0 deposit src/bank account.c:12:9 (bank+0x11d0)

      Location is global 'balance' of size 4 at 0x000000000000

      Mutex M0 (0x000000000000) created at:
        #0 accounts <null>

      Thread T1 'teller' (tid=0, running) created by main thread at:
        #0 main <null>

    SUMMARY: ThreadSanitizer: data race src/bank account.c:30:9 in audit
    ==================
    ThreadSanitizer: reported 1 warnings
    ");
}
