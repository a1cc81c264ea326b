//! The paper's Table 1 (pecan.txt §8.2) over programs like its subjects, and the success
//! ratio of Table 2: how many of the predictions that were put to the test happened.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use racehound_report::finding::{Finding, Kind, Report, Status};
use racehound_report::table::{Table, thousands};

/// A program, what it is called in the paper, which of its functions are meant to be
/// atomic, and what the paper has: REAL and F.
type Subject = (&'static str, &'static str, &'static str, (u32, u32));

const SUBJECTS: [Subject; 14] = [
    ("pecan/account.c", "Account", "", (15, 0)),
    ("pecan/buggy_program.c", "BuggyPrg", "work", (10, 0)),
    ("pecan/critical.c", "Critical", "", (28, 0)),
    ("pecan/loader.c", "Loader", "", (5, 0)),
    ("pecan/manager.c", "Manager", "", (14, 1)),
    ("pecan/merge_sort.c", "MergeSort", "sort_beside", (8, 10)),
    ("pecan/shop.c", "Shop", "buy", (4, 0)),
    ("figures/pecan_stringbuffer.cpp", "StringBuf", "", (1, 0)),
    ("racefuzzer/array_list.cpp", "ArrayList", "", (11, 0)),
    ("racefuzzer/linked_list.cpp", "LinkedList", "", (13, 0)),
    ("racefuzzer/hash_set.cpp", "HashSet", "", (10, 0)),
    ("racefuzzer/tree_set.cpp", "TreeSet", "", (10, 0)),
    ("figures/pecan_6.cpp", "OpenJMS", "", (34, 66)),
    ("figures/pecan_7.cpp", "Jigsaw", "getNextEvent*", (36, 57)),
];

/// How often a program is recorded until a run has nothing wrong. Chance decides who goes,
/// by a seed: how busy the machine is must not.
const RECORDINGS: u32 = 10;

/// The command, and a directory to work in.
struct Bench {
    racehound: PathBuf,
    directory: tempfile::TempDir,
}

impl Bench {
    fn racehound(&self, arguments: &[&str]) -> io::Result<std::process::Output> {
        Command::new(&self.racehound)
            .args(arguments)
            .current_dir(self.directory.path())
            .stdin(Stdio::null())
            .output()
    }

    /// Builds a program and records a run of it that ends well.
    fn record(&self, source: &str) -> io::Result<()> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../programs")
            .join(source);
        let path = path.display().to_string();
        let driver = if source.ends_with(".c") { "cc" } else { "c++" };
        let built = self.racehound(&[driver, "-g", "-O0", "-w", &path, "-o", "program"])?;
        if !built.status.success() {
            let said = String::from_utf8_lossy(&built.stderr);
            return Err(io::Error::other(format!("{source}: {said}")));
        }
        let run = [
            "run",
            "--detector",
            "none",
            "--record",
            "run.rht",
            "--record-calls",
        ];
        for seed in 1..=RECORDINGS {
            let plan = format!("random:seed={seed}");
            if self
                .racehound(&[&run[..], &["--schedule", &plan, "--", "./program"]].concat())?
                .status
                .success()
            {
                return Ok(());
            }
        }
        Err(io::Error::other(format!("{source}: no run ends well")))
    }

    /// Puts all predictions to the test.
    fn confirm(&self, functions: &str) -> io::Result<(Report, Duration)> {
        let mut arguments = vec!["predict", "run.rht", "--json", "found.json"];
        if !functions.is_empty() {
            arguments.extend(["--atomic-functions", functions]);
        }
        let start = Instant::now();
        let searched = self.racehound(&arguments)?;
        let time = start.elapsed();
        arguments.extend(["--confirm", "--", "./program"]);
        self.racehound(&arguments)?;
        let said = |e| io::Error::other(format!("{e}: {searched:?}"));
        let text = std::fs::read_to_string(self.directory.path().join("found.json"));
        let report = serde_json::from_str(&text.map_err(said)?)?;
        Ok((report, time))
    }

    /// How many threads and events the trace has.
    fn size(&self) -> io::Result<(usize, u64)> {
        let file = std::fs::File::open(self.directory.path().join("run.rht"))?;
        let read = || {
            let reader = racehound_trace::binary::Reader::new(io::BufReader::new(file))?;
            racehound_trace::Trace::collect(reader)
        };
        let trace = read().map_err(io::Error::other)?;
        Ok((trace.tables.threads.len(), trace.events.len() as u64))
    }
}

pub(super) fn print(racehound: Option<&Path>) -> io::Result<()> {
    let racehound = match racehound {
        Some(path) => path.to_owned(),
        None => std::env::current_exe()?.with_file_name("racehound"),
    };
    let bench = Bench {
        racehound: std::fs::canonicalize(racehound)?,
        directory: tempfile::tempdir()?,
    };
    let mut table = Table::new([
        "program", "like", "Thread", "Event", "time", "Race", "AV", "ASV", "REAL", "EXP", "F",
        "ratio", "paper",
    ]);
    for (source, like, functions, (real, failed)) in SUBJECTS {
        bench.record(source)?;
        let (threads, events) = bench.size()?;
        let (report, time) = bench.confirm(functions)?;
        eprintln!("{source}: {} predictions", report.findings.len());
        let count = |wanted: &dyn Fn(&Finding) -> bool| {
            report.findings.iter().filter(|f| wanted(f)).count()
        };
        let happened = count(&|f| f.status == Status::Confirmed);
        let not = count(&|f| f.status == Status::Unreproduced);
        table.row([
            Path::new(source)
                .file_stem()
                .unwrap_or_default()
                .display()
                .to_string(),
            like.to_owned(),
            threads.to_string(),
            thousands(events),
            format!("{} ms", time.as_millis()),
            count(&|f| f.kind == Kind::Race).to_string(),
            count(&|f| f.kind == Kind::Atomicity).to_string(),
            count(&|f| f.kind == Kind::AtomicSet).to_string(),
            happened.to_string(),
            count(&|f| f.harm.is_some()).to_string(),
            not.to_string(),
            ratio(happened, not),
            ratio(real as usize, failed as usize),
        ]);
    }
    println!("Table 1: predicted from one run, then executed by every schedule:");
    print!("{}", table.render());
    println!(
        "  ratio: of what was tried, how much happened; paper: the same there, over the Java \
         programs.\n  time: of the whole command."
    );
    Ok(())
}

fn ratio(happened: usize, not: usize) -> String {
    match happened + not {
        0 => "–".to_owned(),
        all => format!("{:.2}", happened as f64 / all as f64),
    }
}
