//! The gallery, hunted: what `racehound hunt` finds in each program of `programs/`, by
//! which technique and how fast, beside plain ThreadSanitizer in ten and in a hundred
//! runs.
//!
//! `subject` builds a program and runs it in either way, `verdict` says what that is
//! worth.

#[path = "../../../cli/tests/gallery/program.rs"]
#[allow(dead_code, reason = "the tests look at marks as well")]
mod program;
mod subject;
mod verdict;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use racehound_report::table::Table;

use crate::live::Error;
use verdict::Verdict;

pub(crate) use program::Program;
pub(crate) use subject::{Subject, Tools};

/// The gallery, hunted, beside plain ThreadSanitizer
#[derive(Args)]
pub(crate) struct Gallery {
    /// Only programs whose name has this in it
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,

    /// Seconds for the hunt in each program
    #[arg(long, value_name = "SECONDS", default_value_t = 20)]
    budget: u64,

    /// What the hunts depend on
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,

    /// Runs under ThreadSanitizer at most; 0 leaves it out
    #[arg(long, value_name = "N", default_value_t = 100)]
    tsan_runs: u32,

    /// The command; without this, the one beside this program
    #[arg(long, value_name = "FILE")]
    racehound: Option<PathBuf>,

    /// Where to build and hunt
    #[arg(long, value_name = "DIRECTORY", default_value = "target/gallery")]
    dir: PathBuf,

    /// Write the table as Markdown
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
}

const DIRECTORIES: [&str; 4] = ["bugs", "deadlocks", "figures", "clean"];

const COLUMNS: [&str; 8] = [
    "program", "bug", "hunt", "by", "runs", "s", "TSan 10", "TSan 100",
];

/// Hunts in all programs; fails if one is not as it should be.
pub(crate) fn run(args: &Gallery) -> Result<ExitCode, Error> {
    let tools = Tools::find(args.racehound.as_deref())?;
    let mut rows = Vec::new();
    let mut wrong = 0;
    for program in programs()? {
        if !program.name().contains(&args.only) {
            continue;
        }
        let directory = args.dir.join(program.name().replace('/', "-"));
        let subject = Subject::build(&tools, program, &directory)?;
        let verdict = Verdict::of(&subject.hunt(args.budget, args.seed)?, &subject.program);
        let tsan = match subject.program.expected.is_empty() {
            true => None,
            false => subject.tsan(args.tsan_runs)?,
        };
        wrong += u32::from(!verdict.is_right());
        let row = row(&subject, &verdict, tsan);
        println!("{}", row.join("  "));
        rows.push(row);
        // Who stops it has the table so far.
        if let Some(file) = &args.markdown {
            let text = markdown(&rows, &tools, wrong);
            fs::write(file, text).map_err(Error::file(file))?;
        }
    }
    println!("\n{} programs, {wrong} not as they should be\n", rows.len());
    print!("{}", table(&rows));
    Ok(match wrong {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    })
}

/// All programs, as their headers describe them.
pub(crate) fn programs() -> Result<Vec<Program>, Error> {
    let gallery = Path::new(env!("CARGO_MANIFEST_DIR")).join("../programs");
    let mut programs = Vec::new();
    for name in DIRECTORIES {
        let directory = gallery.join(name);
        let entries = fs::read_dir(&directory).map_err(Error::file(&directory))?;
        let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        files.retain(|file| file.extension().is_some_and(|e| e == "c" || e == "cpp"));
        files.sort();
        programs.extend(files.iter().filter_map(|file| Program::read(file)));
    }
    Ok(programs)
}

/// How many of so many runs had a report.
type Reports = (u32, u32);

fn row(subject: &Subject<'_>, verdict: &Verdict, tsan: Option<[Reports; 2]>) -> Vec<String> {
    let program = &subject.program;
    let expected = program.expected.iter();
    let mut bugs: Vec<String> = expected.map(|e| e.kinds.join(" or ")).collect();
    bugs.dedup();
    let bug = match bugs.is_empty() {
        true => "none".to_owned(),
        false => bugs.join(", "),
    };
    let [few, many] = match tsan {
        Some(reports) => reports.map(|(with, of)| format!("{with} of {of}")),
        None => [String::new(), String::new()],
    };
    let first = verdict.first.as_ref();
    let runs = first.map_or(String::new(), |moment| moment.runs.to_string());
    let seconds = first.map_or(String::new(), |moment| {
        format!("{:.1}", moment.milliseconds as f64 / 1000.0)
    });
    let by = verdict.by.join(", ");
    vec![
        program.name(),
        bug,
        verdict.word.to_owned(),
        by,
        runs,
        seconds,
        few,
        many,
    ]
}

fn table(rows: &[Vec<String>]) -> String {
    let mut table = Table::new(COLUMNS);
    for row in rows {
        table.row(row.iter().cloned());
    }
    table.render()
}

fn markdown(rows: &[Vec<String>], tools: &Tools, wrong: u32) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let mut text = format!(
        "# The gallery, hunted\n\n\
         Every program of `programs/`, as `racehound-bench gallery --markdown docs/gallery.md` \
         found it on a machine with two cores, beside plain ThreadSanitizer ({}). `hunt` says \
         what the hunt found at best; `by`, which techniques had a part in it; `runs` and `s`, \
         after how many executions and seconds something was confirmed first. The last columns \
         say how many of ten and of a hundred runs under ThreadSanitizer had a report, or how \
         many there was time for.\n\n\
         {} programs, {wrong} not as they should be: bugs are to be confirmed, programs without \
         one (`none`) silent.\n\n",
        tools.tsan_name(),
        rows.len()
    );
    text += &line(&COLUMNS.map(str::to_owned));
    text += &line(&COLUMNS.map(|_| "---".to_owned()));
    for row in rows {
        text += &line(row);
    }
    text
}
