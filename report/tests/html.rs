//! The page, in a real browser: what it shows, what the keyboard does, and that no text
//! becomes part of it.
//!
//! Where there is no browser the page is only looked at as a text; with
//! `RACEHOUND_BROWSER=required` that is a failure.
#![cfg(feature = "formats")]

use std::path::Path;
use std::process::{Command, Stdio};

use racehound_report::edition::Edition;
use racehound_report::finding::{
    Access, Cost, Excerpt, Finding, Harm, Interleaving, Location, Moment, Report, Status, Step,
    Suppression,
};
use racehound_report::html;
use serde_json::Value;

/// What would break a page that is not careful.
const NASTY: &str = "</script><script>document.title='broken'</script><!--<img src=x onerror=alert(1)>&lt;'\"`\u{2028}";

fn access(op: &str, thread: &str, line: u32) -> Access {
    Access {
        op: op.into(),
        thread: thread.into(),
        file: Some("/p/bank.c".into()),
        line: Some(line),
        function: Some("audit".into()),
        source: Some(Excerpt {
            first: line - 1,
            lines: vec!["before".into(), NASTY.into(), "after".into()],
        }),
        ..Access::default()
    }
}

fn step(thread: &str, op: &str, line: u32, locks: &[&str], access: Option<usize>) -> Step {
    Step {
        thread: thread.into(),
        op: op.into(),
        object: "accounts".into(),
        file: Some("/p/bank.c".into()),
        line: Some(line),
        text: Some(NASTY.into()),
        locks: locks.iter().map(|lock| (*lock).to_owned()).collect(),
        access,
        ..Step::default()
    }
}

fn report() -> Report {
    let race = |id: &str, name: &str, status| Finding {
        id: id.into(),
        status,
        location: Location {
            name: name.into(),
            ..Location::default()
        },
        accesses: vec![access("write", "0.1", 12), access("read", "0.2", 30)],
        first_run: 2,
        ..Finding::default()
    };
    let first = Finding {
        harm: Some(Harm {
            kind: "crash".into(),
            detail: NASTY.into(),
            ..Harm::default()
        }),
        interleaving: Some(Interleaving {
            skipped: 5,
            steps: vec![
                step("0.1", "acquire", 11, &["accounts"], None),
                step("0.1", "write", 12, &["accounts"], Some(1)),
                step("0.2", "read", 30, &[], Some(2)),
                step("0.1", "release", 13, &[], None),
            ],
        }),
        ..race("R1", NASTY, Status::Confirmed)
    };
    Report {
        program: vec!["./bank".into(), NASTY.into()],
        directory: Some("/p".into()),
        runs: 40,
        findings: vec![first, race("R2", "served", Status::Predicted)],
        suppressed: vec![Finding {
            suppression: Some(Suppression {
                reason: NASTY.into(),
                date: None,
            }),
            ..race("R3", "hidden", Status::Observed)
        }],
        history: [(0, 0, 0), (10, 1, 0), (40, 2, 1)]
            .map(|(runs, found, confirmed)| Moment {
                runs,
                milliseconds: runs,
                found,
                confirmed,
            })
            .to_vec(),
        costs: [("none", 100), ("fasttrack", 250)]
            .map(|(technique, microseconds)| Cost {
                run: 1,
                technique: technique.into(),
                microseconds,
            })
            .to_vec(),
        ..Report::default()
    }
}

fn page(report: &Report) -> String {
    html::render(&Edition {
        report,
        fail_on: Some(Status::Observed),
        root: Path::new("/p"),
    })
}

#[test]
fn the_report_is_in_the_page_and_nothing_else() {
    let page = page(&report());
    // Two scripts, of which one is data; neither ends early.
    assert_eq!(page.matches("<script").count(), 2);
    assert_eq!(page.matches("</script").count(), 2);
    assert!(!page.contains("<img"));
    let (_, data) = page.split_once("id=\"report\">").unwrap();
    let (data, _) = data.split_once("</script>").unwrap();
    let data: Value = serde_json::from_str(data).unwrap();
    assert_eq!(data["findings"][0]["location"]["name"], NASTY);
    // No network.
    for address in ["http:", "https:", "src=", "@import", "url("] {
        let page = page.replace("http://www.w3.org/2000/svg", "");
        assert!(
            !page.replace("img src=x", "").contains(address),
            "{address}"
        );
    }
}

/// The page after these commands, as the browser has it.
fn shown(report: &Report, commands: &str) -> Option<String> {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let is_there = |name: &&&str| {
        let mut command = Command::new(name);
        command.arg("--version").stdout(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    let Some(browser) = names.iter().find(is_there) else {
        let required = std::env::var("RACEHOUND_BROWSER").is_ok_and(|word| word == "required");
        assert!(!required, "there is none of {names:?}");
        return None;
    };
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("report.html");
    let script = format!("<script>\n{commands}\n</script></body>");
    let page = page(report).replace("</body>", &script);
    std::fs::write(&file, page).unwrap();
    let output = Command::new(browser)
        .args([
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--dump-dom",
        ])
        .arg(format!(
            "--user-data-dir={}",
            directory.path().join("profile").display()
        ))
        .arg(format!("file://{}", file.display()))
        .output()
        .unwrap();
    let dom = String::from_utf8(output.stdout).unwrap();
    // What comes after the page's own data and scripts is not what is shown.
    let (shown, _) = dom
        .split_once("<script type=\"application/json\"")
        .unwrap_or_else(|| {
            panic!("{}", String::from_utf8_lossy(&output.stderr));
        });
    Some(shown.to_owned())
}

const READY: &str = "data-state=\"ready\"";

#[test]
fn the_page_shows_the_report() {
    let Some(shown) = shown(&report(), "") else {
        return;
    };
    assert!(shown.contains(READY), "{shown}");
    assert!(!shown.contains("<title>broken"), "{shown}");
    for text in [
        "id=\"R1\"",
        "id=\"R2\"",
        "step 2 of 4",
        "5 earlier steps not shown",
        "of them confirmed",
        "fasttrack",
        "2.5×",
        "&lt;/script&gt;&lt;script&gt;",
    ] {
        assert!(shown.contains(text), "{text} in {shown}");
    }
    assert!(!shown.contains("id=\"R3\""), "suppressed");
}

#[test]
fn the_keyboard_steps_through_the_schedule() {
    let keys = |keys: &[&str]| {
        let press = |key: &&str| {
            format!(
                "list.dispatchEvent(new KeyboardEvent('keydown', {{ key: '{key}', bubbles: true }}));"
            )
        };
        let presses: String = keys.iter().map(press).collect();
        format!("const list = document.querySelector('.steps'); {presses}")
    };
    let holds = |shown: &str| shown.contains("class=\"lock\"");
    let Some(on) = shown(&report(), &keys(&["ArrowRight"])) else {
        return;
    };
    assert!(on.contains("step 3 of 4") && holds(&on), "{on}");
    let end = shown(&report(), &keys(&["End"])).unwrap();
    assert!(end.contains("step 4 of 4") && !holds(&end), "{end}");
    let back = shown(&report(), &keys(&["ArrowLeft", "ArrowLeft", "ArrowLeft"])).unwrap();
    assert!(back.contains("step 1 of 4") && holds(&back), "{back}");
    let mark = shown(&report(), &keys(&["Home", "Enter", "Enter"])).unwrap();
    assert!(mark.contains("step 3 of 4"), "{mark}");
}

#[test]
fn the_list_is_filtered_and_sorted() {
    let search = |text: &str| {
        format!(
            "const input = document.querySelector('.filters input'); input.value = '{text}';
             input.dispatchEvent(new Event('input'));"
        )
    };
    let Some(served) = shown(&report(), &search("served")) else {
        return;
    };
    assert!(served.contains("id=\"R2\"") && !served.contains("id=\"R1\""));
    let nothing = shown(&report(), &search("no such thing")).unwrap();
    assert!(nothing.contains("Nothing fits the filter"), "{nothing}");
    let all = "const box = document.querySelector('.check input'); box.checked = true;
        box.dispatchEvent(new Event('change'));
        const order = document.querySelector('select[aria-label=Order]'); order.value = 'status';
        order.dispatchEvent(new Event('change'));";
    let all = shown(&report(), all).unwrap();
    let at = |id: &str| all.find(&format!("id=\"{id}\"")).unwrap();
    assert!(at("R1") < at("R3") && at("R3") < at("R2"), "by certainty");
}

#[test]
fn a_page_without_findings_says_so() {
    if let Some(shown) = shown(&Report::default(), "") {
        assert!(shown.contains(READY) && shown.contains("Nothing was found."));
    }
}

/// The test would notice: a script that fails is told, and not ready.
#[test]
fn a_script_that_fails_is_seen() {
    if let Some(shown) = shown(&report(), "setTimeout(() => { throw new Error('oh') }); ") {
        assert!(
            shown.contains("This page has failed") && !shown.contains(READY),
            "{shown}"
        );
    }
}
