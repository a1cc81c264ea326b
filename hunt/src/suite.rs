//! Test programs: which tests are in them, and how to run one alone.
//!
//! A program is asked in the words of one framework after the other, in an order in
//! which none of those before takes the question for a wish to run everything: Rust's
//! libtest and Catch2 refuse options that they do not know, GoogleTest does not.

use std::ffi::OsString;
use std::time::{Duration, Instant};

use racehound_report::finding::Test;

use crate::execution::Error;
use crate::options;
use crate::process::{LONGEST_NAP, Patience, Process, watch};
use crate::program::Program;

/// The tests in a program; none if it knows none of our questions.
pub fn tests(program: &Program, limit: Duration) -> Result<Vec<Test>, Error> {
    let google = asked(program, &["--gtest_list_tests"], limit)?;
    if let Some(names) = google.and_then(|answer| in_google_test(&answer)) {
        return Ok(each(names, |name| vec![format!("--gtest_filter={name}")]));
    }
    let rust = asked(program, &["--list", "--format", "terse"], limit)?;
    if let Some(names) = rust.and_then(|answer| in_libtest(&answer)) {
        // What a panic says is to be seen at once.
        return Ok(each(names, |name| {
            let alone = ["--exact", name, "--nocapture"];
            alone.map(str::to_owned).to_vec()
        }));
    }
    let catch = asked(program, &["--list-tests"], limit)?;
    if let Some(count) = catch.and_then(|answer| in_catch2(&answer)) {
        // Version 2, and from version 3 on.
        for question in [
            &["--list-test-names-only"][..],
            &["--list-tests", "--verbosity", "quiet"],
        ] {
            let answer = asked(program, question, limit)?.unwrap_or_default();
            let names: Vec<String> = answer.lines().map(|line| line.trim().to_owned()).collect();
            if names.len() == count {
                return Ok(each(names, |name| vec![for_catch2(name)]));
            }
        }
    }
    Ok(Vec::new())
}

fn each(names: Vec<String>, arguments: impl Fn(&str) -> Vec<String>) -> Vec<Test> {
    let test = |name: String| Test {
        arguments: arguments(&name),
        name,
    };
    names.into_iter().map(test).collect()
}

/// What the program answers; nothing if it does not come to an end.
fn asked(program: &Program, question: &[&str], limit: Duration) -> Result<Option<String>, Error> {
    let failed = |source| Error::System {
        program: program.path.clone(),
        source,
    };
    let mut asked = program.clone();
    asked.words.extend(question.iter().map(OsString::from));
    let mut command = asked.background()?;
    let mut options = program.options.clone();
    options.add("detector", "none")?;
    command.env(options::VARIABLE, options);
    let mut process = Process::start(&mut command).map_err(failed)?;
    let patience = Patience {
        until: Instant::now() + limit,
        is_stopped: &|| program.is_stopped(),
        nap: LONGEST_NAP,
    };
    let in_time = watch([&mut process], &patience, |[process]| process.has_ended());
    let in_time = in_time.map_err(failed)?;
    let remains = process.end().map_err(failed)?;
    Ok(in_time.then(|| remains.output.excerpt()))
}

/// Suites at the margin, their tests indented; what follows a `#` describes parameters.
fn in_google_test(answer: &str) -> Option<Vec<String>> {
    let mut suite = None;
    let mut names = Vec::new();
    for line in answer.lines() {
        let word = line.split('#').next().unwrap_or_default().trim_end();
        match (word.strip_prefix("  "), &suite) {
            (Some(test), Some(suite)) => names.push(format!("{suite}{test}")),
            (None, _) if word.ends_with('.') && !word.contains(' ') => {
                suite = Some(word.to_owned());
            }
            // A main function may say something of its own.
            _ => {}
        }
    }
    let is_enabled = |name: &String| {
        let mut parts = name.split(['.', '/']);
        !parts.any(|part| part.starts_with("DISABLED_"))
    };
    suite.map(|_| names.into_iter().filter(is_enabled).collect())
}

/// A test in each line; benchmarks are left out.
fn in_libtest(answer: &str) -> Option<Vec<String>> {
    let mut names = Vec::new();
    for line in answer.lines().filter(|line| !line.is_empty()) {
        match line.rsplit_once(": ")? {
            (name, "test") => names.push(name.to_owned()),
            (_, "benchmark") => {}
            _ => return None,
        }
    }
    (!names.is_empty()).then_some(names)
}

/// How many there are, if it is Catch2 that answers; long names are broken into lines.
fn in_catch2(answer: &str) -> Option<usize> {
    answer
        .starts_with("All available test cases:")
        .then_some(())?;
    let last = answer.trim_end().lines().last()?;
    let (count, _) = last.trim().split_once(" test case")?;
    count.parse().ok()
}

/// A name as Catch2 takes it literally.
fn for_catch2(name: &str) -> String {
    let mut escaped = String::new();
    for letter in name.chars() {
        if r#"\,[]"*~"#.contains(letter) {
            escaped.push('\\');
        }
        escaped.push(letter);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn google_test_lists_suites_and_tests() {
        let answer = "Running main() from gtest_main.cc\nBank.\n  Transfer\n  DISABLED_Audit\n\
                      Sizes/Queue.\n  Fits/0  # GetParam() = 5\n  Fits/1  # GetParam() = 6\n\
                      Typed/0.  # TypeParam = int\n  Works\n";
        let names = in_google_test(answer).unwrap();
        let expected = [
            "Bank.Transfer",
            "Sizes/Queue.Fits/0",
            "Sizes/Queue.Fits/1",
            "Typed/0.Works",
        ];
        assert_eq!(names, expected);
        assert_eq!(in_google_test("All is well.\n"), None);
    }

    #[test]
    fn libtest_lists_tests_and_nothing_else() {
        let answer = "bank::transfer: test\nbank::speed: benchmark\naudit: test\n";
        assert_eq!(in_libtest(answer).unwrap(), ["bank::transfer", "audit"]);
        assert_eq!(in_libtest("usage: bank FILE\n"), None);
        assert_eq!(in_libtest(""), None);
    }

    #[test]
    fn catch2_says_how_many_there_are() {
        let answer =
            "All available test cases:\n  transfer\n      [bank]\n  audit\n2 test cases\n\n";
        assert_eq!(in_catch2(answer), Some(2));
        assert_eq!(in_catch2("  2 test cases\n"), None);
        assert_eq!(for_catch2("a, b [c]"), r"a\, b \[c\]");
    }
}
