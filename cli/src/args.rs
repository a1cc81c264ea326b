//! The command line, and the help that teaches it.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use racehound_detect::Which;
use racehound_sample::Rate;

use crate::formats::Outputs;

/// Finds the concurrency bugs that an ordinary test run does not hit.
#[derive(Debug, Parser)]
#[command(name = "racehound", version, max_term_width = 100)]
#[command(
    after_help = "Exit codes: 0 nothing found at the --fail-on level, 66 findings, \
                        2 wrong usage or unreadable input, 3 the program or compiler could not be started."
)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Hunt(Hunt),
    Report(ShowReport),
    #[command(subcommand)]
    Store(StoreCommand),
    Suppress(Suppress),
    Analyze(Analyze),
    Predict(Predict),
    #[command(subcommand)]
    Trace(TraceCommand),
    #[command(subcommand)]
    Model(ModelCommand),
    Run(Run),
    Replay(Replay),
    Completions(Completions),
    #[command(name = "man")]
    Manual(Manual),
    /// Compile and link C as the C compiler does, ready for Racehound
    #[command(name = "cc", long_about = DROP_IN)]
    Cc(Compile),
    /// Compile and link C++ as the C++ compiler does, ready for Racehound
    #[command(name = "c++", alias = "cxx", long_about = DROP_IN)]
    Cxx(Compile),
}

/// Print what makes a shell complete command lines of racehound
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  racehound completions bash > ~/.local/share/bash-completion/completions/racehound
  racehound completions zsh > ~/.zfunc/_racehound
  racehound completions fish > ~/.config/fish/completions/racehound.fish")]
pub(crate) struct Completions {
    /// Which shell
    pub(crate) shell: clap_complete::Shell,
}

/// Print the manual page
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  racehound man | man -l -
  racehound man --dir ~/.local/share/man/man1")]
pub(crate) struct Manual {
    /// Write a page for racehound and one for each of its commands to a directory instead
    #[arg(long, value_name = "DIRECTORY")]
    pub(crate) dir: Option<PathBuf>,
}

/// Run a program once under a detector
///
/// The program must be instrumented: built by `racehound cc` or `racehound c++`, or by gcc with
/// -fsanitize=thread, whose runtime library is replaced. It behaves as it does by itself, its
/// exit code included, and races are reported on standard error as they are found; then the exit
/// code is 66.
///
/// With --json, or another --format than tsan, racehound stays behind the program until it ends,
/// passes signals on to it, and ends as it does, by the same signal if it was killed. The findings
/// are complete up to that point, whatever the program died of, and those of its child processes
/// are among them. Standard output is the program's: what has no file goes to standard error.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  racehound cc -g bank.c -o bank && racehound run -- ./bank
  racehound run --detector acculock -- ./bank --accounts 10
  racehound run --json findings.json --format text -- ./bank
  racehound run --schedule random --seed 7 -- ./bank
  racehound run --schedule racefuzzer --pair bank.c:12,bank.c:20 --seed 8 -- ./bank
  racehound run --schedule racefuzzer --pair findings.json --times 10 -- ./bank
  racehound run --schedule drfinder --seed 3 -- ./bank
  racehound run --sample atex -- ./bank
  racehound run --record bank.rht -- ./bank; racehound analyze bank.rht --detector all

Options of the runtime, ThreadSanitizer's among them, are taken from the environment variables
TSAN_OPTIONS and RACEHOUND_OPTIONS, for example TSAN_OPTIONS=suppressions=known.txt.")]
pub(crate) struct Run {
    /// What looks for races; 'none' looks for nothing. Without it that is fasttrack, or
    /// none with --schedule racefuzzer and follow, which make bugs happen instead of looking for
    /// them, and with --schedule collect
    #[arg(long, value_name = "NAME", value_parser = live_detector)]
    pub(crate) detector: Option<String>,

    /// Who decides which thread runs: free (the system), contest (the system, with delays that a
    /// seed decides), random, restless, overtake, pct, sequential, racefuzzer, drfinder,
    /// replay:file=FILE, or follow:file=FILE for a schedule of
    /// 'racehound predict'; with settings after a colon, as in pct:depth=3. overtake holds a thread
    /// that comes back to a lock, an atomic or a condition until others have changed it. drfinder
    /// reverses the orders in which threads come to locks, by what earlier runs have told of who
    /// takes which; that is kept in .racehound. collect lets the system decide, and only adds to it
    #[arg(long, value_name = "PLAN")]
    pub(crate) schedule: Option<String>,

    /// What random decisions depend on: the same seed gives the same execution, as far as the
    /// program depends on its threads, and unless the system decides which thread runs, as with
    /// contest
    #[arg(long, value_name = "NUMBER", requires = "schedule")]
    pub(crate) seed: Option<u64>,

    /// Two places that may race, for --schedule racefuzzer: a thread that is about to execute one
    /// waits there until another is about to execute the other. Of a line that reads and writes
    /// FILE:LINE:read or FILE:LINE:write means the one. Or the file of a report written by --json:
    /// the races in it, or with FILE#R2 that one
    #[arg(long, value_name = "FILE:LINE,FILE:LINE")]
    pub(crate) pair: Vec<String>,

    /// Put each pair to the test with up to this many seeds, out of sight: until the two accesses
    /// meet and do so again, then both orders of them for the harm they do
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) times: Option<u64>,

    /// Most seconds for one execution, with --times or where the program is run again
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) timeout: u64,

    /// How many functions of a stack count, for --schedule drfinder and collect (12 unless given);
    /// for pct, the depth of the bugs looked for
    #[arg(long, value_name = "NUMBER", requires = "schedule")]
    pub(crate) depth: Option<u32>,

    /// Say in the end why --schedule drfinder has held threads back, and for whom
    #[arg(long, requires = "schedule")]
    pub(crate) explain: bool,

    /// Write the schedule of the execution, for --schedule replay:file=FILE
    #[arg(long, value_name = "FILE", requires = "schedule")]
    pub(crate) schedule_out: Option<PathBuf>,

    /// Look at some calls only, and leave it to later runs to look at others: literace looks at
    /// functions that a thread has rarely called; atex at functions that have rarely run at the
    /// same time, in this run and in those before it. All that is found was there; what is missed
    /// now may turn up in a later run
    #[arg(long, value_enum, default_value_t = Sample::None, conflicts_with_all = ["schedule", "record"])]
    pub(crate) sample: Sample,

    /// How much of what is known is looked at again: for atex the first calls out of so many of
    /// two functions beside each other (10/100 unless given); for literace the least, 1/1000
    #[arg(long, value_name = "TAKE/OF")]
    pub(crate) sample_rate: Option<Rate>,

    /// In how many of the last runs two functions have met if they count as known to --sample atex
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=16))]
    pub(crate) sample_frequency: u64,

    /// Write a trace of the execution, for 'racehound analyze'. Processes that the program
    /// starts write theirs to FILE.PID
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,

    /// Write the calls of functions to the trace, too, for 'racehound predict --atomic-functions'
    #[arg(long, requires = "record")]
    pub(crate) record_calls: bool,

    #[command(flatten)]
    pub(crate) output: Outputs,

    /// How certain a finding must be for exit code 66
    #[arg(long, value_enum, default_value_t = FailOn::Predicted)]
    pub(crate) fail_on: FailOn,

    /// The program and its arguments
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "PROGRAM"
    )]
    pub(crate) program: Vec<OsString>,
}

/// Which calls are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Sample {
    /// All
    None,
    /// Those of functions that the thread has rarely called
    Literace,
    /// Those of functions that have rarely run at the same time
    Atex,
}

/// What the project remembers
///
/// Hunts, findings, schedules and relations between functions and locks are kept in .racehound of
/// the directory in which racehound is run. What sampled runs have seen is kept in the nearest
/// .racehound around the program or the current directory; if there is none, in that of the
/// project's root as version control knows it, or of the current directory.
#[derive(Debug, Subcommand)]
pub(crate) enum StoreCommand {
    Stat(StoreStat),
    Reset(StoreReset),
    Merge(StoreMerge),
}

/// Tell what the store holds
#[derive(Debug, ClapArgs)]
pub(crate) struct StoreStat {
    /// The project, or its .racehound; the nearest one unless given
    #[arg(value_name = "DIRECTORY")]
    pub(crate) project: Option<PathBuf>,

    /// In how many of the last runs two functions have met if they count as known
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=16))]
    pub(crate) sample_frequency: u32,

    /// List the functions that were seen beside each other, by program
    #[arg(long)]
    pub(crate) pairs: bool,

    /// Write it as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Forget what sampled runs have seen, of one program or of all
#[derive(Debug, ClapArgs)]
pub(crate) struct StoreReset {
    /// The programs, as 'racehound store stat' lists them; all unless given
    #[arg(value_name = "PROGRAM")]
    pub(crate) programs: Vec<String>,

    /// Forget hunts, findings, schedules and relations as well
    #[arg(long, conflicts_with = "programs")]
    pub(crate) everything: bool,
}

/// Add what sampled runs and DrFinder have learnt on other machines
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  racehound store merge ../other-checkout /mnt/builder/.racehound

Findings stay where they were found: their schedules belong to the program there.")]
pub(crate) struct StoreMerge {
    /// Other projects, or their .racehound
    #[arg(required = true, value_name = "DIRECTORY")]
    pub(crate) others: Vec<PathBuf>,
}

/// Hunt for concurrency bugs in a program, and prove them
///
/// Runs the program many times: by itself under detectors that see and suspect races, under
/// schedules of its own that reach what it seldom does, and with two threads brought together at
/// every suspected pair of accesses. What happened and happens again is confirmed; then both orders
/// of it are tried, for the harm they do. Ends when nothing new turns up or the budget is spent,
/// with a report and how to replay each finding.
///
/// Sources are compiled with 'racehound cc' or 'racehound c++' first. What is found is kept in
/// .racehound, where the next hunt goes on.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  racehound hunt bank.c
  racehound hunt --budget 5m -- ./server-tests --quick
  racehound hunt --json findings.json --fail-on confirmed -- ./bank < input.txt
  racehound hunt --setup 'rm -rf data' --client './ask 8080' -- ./server --port 8080 --dir data
  racehound hunt --each-test --budget 10m -- ./unit-tests
  racehound replay R1

Exit codes: 0 nothing at the --fail-on level, 66 findings, 2 wrong usage, 3 the program could not be
started, is not instrumented or does not compile.")]
pub(crate) struct Hunt {
    /// Sources in C and C++ that make up the program; what follows -- are its arguments then
    #[arg(value_name = "SOURCE")]
    pub(crate) sources: Vec<PathBuf>,

    /// How long to hunt: 60s, 5m, 1h
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration)]
    pub(crate) budget: Duration,

    /// How many executions to make at most, beside one to record each finding that was confirmed
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) runs: Option<u64>,

    /// What random decisions depend on
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) seed: u64,

    /// How many executions go on side by side: without this, as many as there are cores, or one
    /// with --setup, --teardown or --client, or once they turn out to be in each other's way
    #[arg(short, long, value_name = "N", value_parser = jobs)]
    pub(crate) jobs: Option<usize>,

    #[command(flatten)]
    pub(crate) around: Around,

    /// Hunt in each test of a test program alone, the budget divided among them. GoogleTest, Catch2
    /// and Rust's libtest are recognised
    #[arg(long, conflicts_with = "client")]
    pub(crate) each_test: bool,

    /// Most seconds for one execution, which has a quarter of the budget at most
    #[arg(long, value_name = "SECONDS", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) timeout: u64,

    /// What the program reads; else our own standard input, if that is a file or a pipe
    #[arg(long, value_name = "FILE")]
    pub(crate) stdin: Option<PathBuf>,

    /// Forget what earlier hunts in this program have found
    #[arg(long)]
    pub(crate) fresh: bool,

    #[command(flatten)]
    pub(crate) output: Outputs,

    /// Fail only for what this earlier report (--json) does not have; code that has only moved is
    /// recognised
    #[arg(long, value_name = "FILE")]
    pub(crate) baseline: Option<PathBuf>,

    /// A file of ThreadSanitizer's suppressions, with lines such as race:deposit; without it, the
    /// one that TSAN_OPTIONS names
    #[arg(long, value_name = "FILE")]
    pub(crate) suppressions: Option<PathBuf>,

    /// How certain a finding must be for exit code 66
    #[arg(long, value_enum, default_value_t = FailOn::Observed)]
    pub(crate) fail_on: FailOn,

    /// The program and its arguments
    #[arg(last = true, allow_hyphen_values = true, value_name = "PROGRAM")]
    pub(crate) program: Vec<OsString>,
}

/// What goes on around each execution. Commands are run by sh; RACEHOUND_JOB in the
/// environment tells executions that go on side by side from each other.
#[derive(Clone, Debug, Default, ClapArgs)]
pub(crate) struct Around {
    /// Run this before each execution, by sh; if it fails the hunt ends. The environment variable
    /// RACEHOUND_JOB, which the program has as well, tells executions side by side apart: 0, 1, …
    #[arg(long, value_name = "COMMAND")]
    pub(crate) setup: Option<String>,

    /// Run this after each execution, however that ended, by sh
    #[arg(long, value_name = "COMMAND")]
    pub(crate) teardown: Option<String>,

    /// For a program that does not end by itself: run this by sh when the program is ready, then
    /// send the program SIGTERM, and SIGKILL if it has not ended after 5 seconds. If the client
    /// fails, and does not when the program runs by itself, that is harm
    #[arg(long, value_name = "COMMAND")]
    pub(crate) client: Option<String>,

    /// The program is ready when it has printed this; without it, when it listens at a socket
    #[arg(long, value_name = "TEXT", requires = "client")]
    pub(crate) ready: Option<String>,
}

/// Show the last hunt again, or an earlier report
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  racehound report
  racehound report --format html=hunt.html
  racehound report findings.json --format sarif=findings.sarif
  racehound report --format sarif --baseline last-week.json")]
pub(crate) struct ShowReport {
    /// An earlier report (--json) to show instead
    #[arg(value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) output: Outputs,

    /// Fail only for what this earlier report (--json) does not have; code that has only moved is
    /// recognised
    #[arg(long, value_name = "FILE")]
    pub(crate) baseline: Option<PathBuf>,

    /// How certain a finding must be for exit code 66
    #[arg(long, value_enum, default_value_t = FailOn::Observed)]
    pub(crate) fail_on: FailOn,
}

/// Accept a finding: it is counted from now on, and no longer shown
///
/// Writes an entry to racehound.suppressions in the current directory, to be reviewed and kept with
/// the sources: what the finding is, where, why it is accepted and since when. hunt, run and report
/// go by it; the exit code does, too. A finding is recognised after its lines have moved, as long
/// as they read the same.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  racehound suppress R1 --reason 'the count is an estimate'
  racehound suppress --list
  racehound suppress --remove R1")]
pub(crate) struct Suppress {
    /// Findings of the last hunt, such as R1
    #[arg(value_name = "ID", required_unless_present_any = ["list", "remove"], requires = "reason")]
    pub(crate) id: Vec<String>,

    /// Why it is accepted
    #[arg(long, value_name = "TEXT", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub(crate) reason: Option<String>,

    /// Take findings from this report (--json) instead of the last hunt
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,

    /// Say what is accepted
    #[arg(long, conflicts_with_all = ["id", "remove"])]
    pub(crate) list: bool,

    /// Accept it no longer: a finding, or its number in the list
    #[arg(long, value_name = "ID")]
    pub(crate) remove: Vec<String>,
}

/// How many executions can go on at once.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism()
        .map_or(1, usize::from)
        .min(256)
}

/// A time such as 90s, 5m or 1h; seconds if it has no unit.
fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is not a time like 90s, 5m or 1h");
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let seconds = match &text[digits.len()..] {
        "" | "s" => 1.0,
        "ms" => 0.001,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(wrong()),
    };
    let number: f64 = digits.parse().map_err(|_| wrong())?;
    match Duration::try_from_secs_f64(number * seconds) {
        Ok(Duration::ZERO) => Err("there is nothing to be found in no time".to_owned()),
        duration => duration.map_err(|_| wrong()),
    }
}

/// Make a finding happen again, here and now
///
/// Runs the program as it was run when the finding was made: with the schedule that brought it
/// about. Reports are those of --json; a file written by --schedule-out is replayed as well. Says
/// whether it happened again; if so, the exit code is 66, or what the program died of.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  racehound run --schedule racefuzzer --pair bank.c:12,bank.c:30 --times 10 --json f.json -- ./bank
  racehound replay R1
  racehound replay f.json
  racehound replay f.json --id R2 --times 20
  racehound replay f.json --gdb
  racehound replay run.schedule -- ./bank")]
pub(crate) struct Replay {
    /// A finding of the last hunt, or a file: a report or a schedule
    #[arg(value_name = "ID|FILE")]
    pub(crate) finding: PathBuf,

    /// Which finding of a report; without it, the first that can be replayed
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,

    /// Stop in gdb when both threads stand at their accesses, or nobody can go on
    #[arg(long, conflicts_with = "times")]
    pub(crate) gdb: bool,

    /// Replay that often, out of sight, and count
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) times: Option<u64>,

    /// Most seconds for one execution, with --times
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) timeout: u64,

    /// The program and its arguments, if it is another than in the report
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "PROGRAM"
    )]
    pub(crate) program: Vec<OsString>,
}

fn live_detector(name: &str) -> Result<String, String> {
    if name == "none" || Which::ALL.iter().any(|which| which.name() == name) {
        return Ok(name.to_owned());
    }
    let names: Vec<&str> = Which::ALL.iter().map(|which| which.name()).collect();
    Err(format!("it is none of {}, none", names.join(", ")))
}

const DROP_IN: &str = "\
A drop-in compiler: takes any command line of gcc or clang and runs that compiler with it. \
What is compiled is instrumented, executables get Racehound's runtime; everything else, \
output and exit code included, is the compiler's own. So are all options, --help too.

The compiler is what RACEHOUND_CC says (RACEHOUND_CXX for c++), perhaps with a launcher and \
options, as in 'ccache gcc -m64'. Else it is clang, or gcc, whichever is there.

To leave a file alone, say -fno-sanitize=thread. Code without a C library (-ffreestanding, \
-nostdlib and the like) is left alone in any case. What should be linked with -static is \
linked dynamically instead, for the runtime needs that.

Where the compiler must be one word, use racehound-cc and racehound-cxx. The latter is also \
called racehound-c++, from the first time on that one of these commands is run where it is \
installed.";

/// A command line that belongs to a compiler.
#[derive(Debug, ClapArgs)]
#[command(
    disable_help_flag = true,
    after_help = "Examples:
  racehound cc -g -O1 bank.c -o bank
  make CC='racehound cc' CXX='racehound c++'
  ./configure CC='racehound cc' CXX='racehound c++'
  CC='racehound cc' CXX='racehound c++' meson setup build
  cmake -B build -DCMAKE_C_COMPILER=racehound-cc -DCMAKE_CXX_COMPILER=racehound-c++"
)]
pub(crate) struct Compile {
    /// The compiler's options and files
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "ARGUMENTS"
    )]
    pub(crate) arguments: Vec<OsString>,
}

/// Run race detectors over a recorded trace, side by side
///
/// Reads a binary trace or RAPID's STD text, whichever the file is. With one
/// detector you get its warnings; with several also a table of who found what
/// the others missed.
///
/// fasttrack, djit and multirace report what nothing orders in this very
/// execution (observed). acculock, hybrid, racetrack, eraser and lockset also
/// report what another interleaving could bring together (predicted): more
/// bugs, and some false alarms.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  racehound analyze run.rht
  racehound analyze run.std --detector all --stats
  racehound analyze run.rht --detector acculock --all-pairs --json warnings.json
  racehound trace gen --preset racy -o - | racehound analyze - --fail-on predicted")]
pub(crate) struct Analyze {
    /// The trace; - reads from standard input
    pub(crate) trace: PathBuf,

    /// Detectors, separated by commas, or all
    #[arg(
        short,
        long,
        value_name = "NAME,…",
        default_value = "fasttrack,acculock",
        value_delimiter = ',',
        value_parser = detectors
    )]
    pub(crate) detector: Vec<Selection>,

    /// Report all distinct pairs of places that a detector comes upon, not at
    /// most one for each location; hybrid comes upon every one there is
    #[arg(long)]
    pub(crate) all_pairs: bool,

    /// Treat volatiles and atomics as happens-before edges, or as locks
    #[arg(long, value_enum, default_value_t = Volatile::Hb)]
    pub(crate) volatile: Volatile,

    /// Also count what each detector did (AccuLock's Tables III and IV); with one
    /// worker, whatever --jobs says
    #[arg(long)]
    pub(crate) stats: bool,

    /// Split the variables over this many workers; the warnings are the same
    #[arg(short, long, value_name = "N", default_value_t = 1, value_parser = jobs)]
    pub(crate) jobs: usize,

    #[command(flatten)]
    pub(crate) output: Outputs,

    /// Show at most this many findings; 0 shows all
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub(crate) limit: usize,

    /// How certain a finding must be for exit code 66
    #[arg(long, value_enum, default_value_t = FailOn::Observed)]
    pub(crate) fail_on: FailOn,
}

/// Predict access anomalies from a recorded trace, and make each one happen
///
/// Looks for accesses that fit a pattern of an anomaly in some other order of the same events:
/// data races, atomicity violations (somebody else acts on a variable in the middle of an atomic
/// region), atomic-set violations (the same on two variables), and your own patterns. Each
/// prediction comes with a schedule in which it happens. So it finds bugs that no race detector
/// sees, in programs in which every access is locked and the combination is wrong.
///
/// Atomic regions are the outermost critical sections, cut where threads are created, joined,
/// notified or waited for; regions annotated in the program; and with --atomic-functions whatever
/// these functions do.
///
/// With --confirm the program is executed once for each schedule (twice for a race, once with
/// either access first), and every thread waits until it is its turn. What happened is confirmed;
/// where the program takes another branch, or cannot go on, the prediction is unreproduced, and
/// the reason is told. The columns are those of the PECAN paper: REAL happened, EXP led to a
/// crash, an assertion or another exit code, F did not happen.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  racehound run --record bank.rht -- ./bank; racehound predict bank.rht
  racehound predict bank.rht --schedules clips
  racehound predict bank.rht --confirm -- ./bank
  racehound run --schedule follow:file=clips/R1.schedule -- ./bank
  racehound run --record bank.rht --record-calls -- ./bank
  racehound predict bank.rht --atomic-functions 'account_*' --pattern mine.txt

A pattern, in a file: who accesses what, in which region, and how
  pattern lost-pair
  T  = t1 t2 t2 t1
  SV = x  x  y  y
  AR = u1 u2 u2 u1
  AT = w  r  r  w")]
pub(crate) struct Predict {
    /// The trace; - reads from standard input
    pub(crate) trace: PathBuf,

    /// Look for the patterns in this file, too
    #[arg(long, value_name = "FILE")]
    pub(crate) pattern: Vec<PathBuf>,

    /// Look only for the patterns of --pattern
    #[arg(long, requires = "pattern")]
    pub(crate) only_patterns: bool,

    /// Functions that are meant to be atomic, such as 'push', 'account_*' or 'Stack<*>::push';
    /// parameters may be left out. The trace must have been recorded with --record-calls
    #[arg(long, value_name = "GLOB")]
    pub(crate) atomic_functions: Vec<String>,

    /// Whether atomics order threads
    #[arg(long, value_enum, default_value_t = PredictAtomics::Order)]
    pub(crate) atomics: PredictAtomics,

    /// Only anomalies whose accesses are at most this many events apart in the trace
    #[arg(long, value_name = "N", value_parser = count)]
    pub(crate) window: Option<u64>,

    /// Write the schedule of each prediction into this directory: R1.schedule, and
    /// R1.reversed.schedule for a race with the other access first
    #[arg(long, value_name = "DIR")]
    pub(crate) schedules: Option<PathBuf>,

    /// Execute the program once for each schedule, and see what happens
    #[arg(long, requires = "program")]
    pub(crate) confirm: bool,

    /// How long an execution may take, in seconds
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 60,
        requires = "confirm"
    )]
    pub(crate) timeout: u64,

    #[command(flatten)]
    pub(crate) output: Outputs,

    /// Show at most this many findings; 0 shows all
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub(crate) limit: usize,

    /// How certain a finding must be for exit code 66
    #[arg(long, value_enum, default_value_t = FailOn::Observed)]
    pub(crate) fail_on: FailOn,

    /// The program and its arguments, for --confirm
    #[arg(last = true, value_name = "PROGRAM", requires = "confirm")]
    pub(crate) program: Vec<OsString>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PredictAtomics {
    /// They do, as their memory order says
    Order,
    /// They do not: predicts everything that may happen, and more that may not
    Free,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Volatile {
    /// They order threads as their memory order says
    Hb,
    /// Each access acquires and releases a lock
    Lock,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    /// Any finding
    Predicted,
    /// What happened in a real execution
    Observed,
    /// What was made to happen and replayed
    Confirmed,
    /// No finding
    Never,
}

/// One detector or all of them.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Selection {
    One(Which),
    All,
}

impl Selection {
    /// The detectors selected, each once, in the order asked for.
    pub(crate) fn resolve(selections: &[Self]) -> Vec<Which> {
        let mut chosen: Vec<Which> = Vec::new();
        for selection in selections {
            let named = match selection {
                Self::One(which) => std::slice::from_ref(which),
                Self::All => Which::ALL,
            };
            for which in named {
                if !chosen.contains(which) {
                    chosen.push(*which);
                }
            }
        }
        chosen
    }
}

fn detectors(text: &str) -> Result<Selection, String> {
    match text {
        "all" => Ok(Selection::All),
        name => name.parse().map(Selection::One),
    }
}

fn jobs(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n @ 1..=256) => Ok(n),
        _ => Err("a number from 1 to 256 is needed".to_owned()),
    }
}

/// Look at traces, convert them, make them
#[derive(Debug, Subcommand)]
pub(crate) enum TraceCommand {
    Convert(Convert),
    Stat(Stat),
    Gen(Gen),
}

/// Convert between binary traces and RAPID's STD text
///
/// The format to write follows from the name (.rht or .std) unless --to says
/// it. What the target cannot express is listed, with what became of it.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  racehound trace convert run.rht run.std
  racehound trace convert --to std run.rht - | less")]
pub(crate) struct Convert {
    /// The trace to read; - reads from standard input
    pub(crate) input: PathBuf,

    /// Where to write; - writes to standard output
    pub(crate) output: PathBuf,

    /// The format to write
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) to: Option<Format>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Racehound's own format
    Binary,
    /// RAPID's STD text
    Std,
}

/// Count what is in a trace: events, threads, locks, variables, sharing
#[derive(Debug, ClapArgs)]
pub(crate) struct Stat {
    /// The trace; - reads from standard input
    pub(crate) trace: PathBuf,
}

/// Generate a well-formed trace from a seed
///
/// Imitates a program: threads that work on data of their own, on data guarded
/// by locks, and on read-only data. There are no races but the planted ones.
/// The preset gives the shape; any option changes it.
#[derive(Debug, ClapArgs)]
#[command(after_help = presets())]
pub(crate) struct Gen {
    /// Where to write; - writes to standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,

    /// The format to write; follows from the name if not given
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) to: Option<Format>,

    /// The shape to start from, see below
    #[arg(short, long, value_name = "NAME", default_value = "default")]
    pub(crate) preset: String,

    /// Determines everything that is random
    #[arg(short, long, value_name = "N")]
    pub(crate) seed: Option<u64>,

    /// About how many events; 50M and 200k are understood
    #[arg(short, long, value_name = "N", value_parser = count)]
    pub(crate) events: Option<u64>,

    /// Worker threads
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<u32>,

    /// Locks
    #[arg(long, value_name = "N")]
    pub(crate) locks: Option<u32>,

    /// Variables
    #[arg(long, value_name = "N", value_parser = count)]
    pub(crate) variables: Option<u64>,

    /// Share of reads among the accesses, 0 to 1
    #[arg(long, value_name = "RATIO")]
    pub(crate) read_ratio: Option<f64>,

    /// Share of accesses that go to data of several threads, 0 to 1
    #[arg(long, value_name = "RATIO")]
    pub(crate) sharing: Option<f64>,

    /// Share of those that go to read-only data, 0 to 1
    #[arg(long, value_name = "RATIO")]
    pub(crate) read_only: Option<f64>,

    /// Accesses in a critical section, on average
    #[arg(long, value_name = "N")]
    pub(crate) section: Option<u32>,

    /// Deepest nesting of locks
    #[arg(long, value_name = "N")]
    pub(crate) depth: Option<u32>,

    /// Events a thread runs before another one does, on average
    #[arg(long, value_name = "N")]
    pub(crate) burst: Option<u32>,

    /// Races to plant that every happens-before detector sees
    #[arg(long, value_name = "N")]
    pub(crate) races: Option<u32>,

    /// Races to plant that this interleaving hides from them
    #[arg(long, value_name = "N")]
    pub(crate) hidden_races: Option<u32>,
}

/// Run tiny concurrent programs, or learn all that can happen in them
#[derive(Debug, Subcommand)]
pub(crate) enum ModelCommand {
    Explore(Explore),
    Run(ModelRun),
}

/// Visit all interleavings of a model program and tell what can happen
///
/// Reports every pair of places that can race, every deadlock, every assertion
/// that can fail and every access anomaly. A program with more states than
/// --max-states is refused: there is no partial truth.
#[derive(Debug, ClapArgs)]
#[command(after_help = "A program:
  var balance = 10
  lock m
  thread T1 { lock m; A: balance = balance + 1; unlock m }
  thread T2 { B: if balance > 5 { lock m; balance = balance - 5; unlock m } }

Example:
  racehound model explore examples/bank.model")]
pub(crate) struct Explore {
    /// The program; - reads from standard input
    pub(crate) program: PathBuf,

    /// Most states to visit
    #[arg(long, value_name = "N", value_parser = count, default_value = "1M")]
    pub(crate) max_states: u64,
}

/// Run a model program once, under a strategy, and record a trace
#[derive(Debug, ClapArgs)]
#[command(after_help = "Example:
  racehound model run examples/bank.model --seed 3 --record bank.rht
  racehound analyze bank.rht --detector all")]
pub(crate) struct ModelRun {
    /// The program; - reads from standard input
    pub(crate) program: PathBuf,

    /// Who runs next
    #[arg(long, value_enum, default_value_t = StrategyName::Random)]
    pub(crate) schedule: StrategyName,

    /// Determines the random choices
    #[arg(short, long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,

    /// Where to write the trace
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum StrategyName {
    /// Any thread that can go, at every step
    Random,
    /// The same thread until it blocks or ends
    Sequential,
}

fn presets() -> String {
    let mut out = "Presets:\n".to_owned();
    for preset in racehound_trace::generate::PRESETS {
        out.push_str(&format!("  {:<13} {}\n", preset.name, preset.about));
    }
    out.push_str(
        "\nExamples:
  racehound trace gen -o small.std --events 1k --races 1
  racehound trace gen -o big.rht --preset lock-heavy --events 50M --seed 7",
    );
    out
}

/// A number, perhaps with k, M or G behind it and underscores inside.
fn count(text: &str) -> Result<u64, String> {
    let wrong = || format!("{text:?} is not a number like 5000, 200k or 50M");
    let (digits, unit) = match text.strip_suffix(['k', 'K', 'M', 'G']) {
        Some(digits) => match text.as_bytes()[text.len() - 1] {
            b'k' | b'K' => (digits, 1_000),
            b'M' => (digits, 1_000_000),
            _ => (digits, 1_000_000_000),
        },
        None => (text, 1),
    };
    let number: u64 = digits.replace('_', "").parse().map_err(|_| wrong())?;
    number.checked_mul(unit).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn counts_are_read_as_people_write_them() {
        assert_eq!(count("50M"), Ok(50_000_000));
        assert_eq!(count("5_000"), Ok(5_000));
        assert!(count("5X").is_err());
        assert!(count("99999999999G").is_err());
    }
}
