//! What the user asked for: `TSAN_OPTIONS` and `RACEHOUND_OPTIONS`.
//!
//! Both have the same form, `name=value` separated by colons, commas or spaces,
//! and the same names. The program's own defaults come first, then TSan's
//! variable, then ours. A name that nobody knows is named in a warning; those
//! of TSan's that make no sense here are accepted in silence.

use std::path::PathBuf;
use std::sync::OnceLock;

use racehound_detect::order::Order;
use racehound_report::finding::Status;
use racehound_sample::Rate;
use racehound_schedule::Plan;

use crate::detector::Engine;
use crate::hooks;
use crate::sampling::Sample;

macro_rules! options {
    ($($(#[$note:meta])* $name:ident: $type:ty = $default:expr;)*) => {
        /// The options.
        #[derive(Clone, Debug)]
        pub(crate) struct Options {
            $($(#[$note])* pub(crate) $name: $type,)*
        }

        impl Default for Options {
            fn default() -> Self {
                Self { $($name: $default,)* }
            }
        }

        impl Options {
            fn set(&mut self, name: &str, value: &str) -> Result<(), Problem> {
                match name {
                    $(stringify!($name) => {
                        self.$name = <$type as Value>::read(value).ok_or(Problem::Value)?;
                        Ok(())
                    })*
                    _ => Err(Problem::Name),
                }
            }

            fn help() -> Vec<(&'static str, String)> {
                let defaults = Self::default();
                vec![$((stringify!($name), format!("{:?}", defaults.$name)),)*]
            }
        }
    };
}

enum Problem {
    Name,
    Value,
}

/// What an option's value can be.
trait Value: Sized {
    fn read(text: &str) -> Option<Self>;
}

impl Value for bool {
    fn read(text: &str) -> Option<Self> {
        match text {
            "0" | "no" | "false" => Some(false),
            "1" | "yes" | "true" => Some(true),
            _ => None,
        }
    }
}

impl Value for i32 {
    fn read(text: &str) -> Option<Self> {
        text.parse().ok()
    }
}

impl Value for u64 {
    fn read(text: &str) -> Option<Self> {
        text.parse().ok()
    }
}

impl Value for String {
    fn read(text: &str) -> Option<Self> {
        Some(text.to_owned())
    }
}

impl Value for Sample {
    fn read(text: &str) -> Option<Self> {
        match text {
            "none" => Some(Self::None),
            "literace" => Some(Self::LiteRace),
            "atex" => Some(Self::Atex),
            _ => None,
        }
    }
}

impl Value for Rate {
    fn read(text: &str) -> Option<Self> {
        text.parse().ok()
    }
}

/// Which reports make the process fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FailOn {
    /// Any.
    Predicted,
    /// What happened.
    Observed,
    /// What was made to happen again: nothing, in the first run.
    Confirmed,
    /// None.
    Never,
}

impl FailOn {
    /// Whether reports of that certainty do.
    pub(crate) fn includes(self, status: Status) -> bool {
        match self {
            Self::Predicted => status >= Status::Predicted,
            Self::Observed => status >= Status::Observed,
            Self::Confirmed => status >= Status::Confirmed,
            Self::Never => false,
        }
    }
}

impl Value for FailOn {
    fn read(text: &str) -> Option<Self> {
        match text {
            "predicted" => Some(Self::Predicted),
            "observed" => Some(Self::Observed),
            "confirmed" => Some(Self::Confirmed),
            "never" => Some(Self::Never),
            _ => None,
        }
    }
}

options! {
    /// Which detector looks on.
    detector: String = "fasttrack".to_owned();
    /// Who decides which thread runs: a plan such as `random:seed=7`, to be quoted if
    /// it has settings.
    schedule: String = String::new();
    /// Where to write the schedule.
    schedule_file: String = String::new();
    /// Say in the end why threads were suspended, and for whom.
    explain_schedule: bool = false;
    /// Which calls are looked at: `none` is all of them, `literace`, `atex`.
    sample: Sample = Sample::None;
    /// How much of what is known is looked at again by `atex`.
    sample_rate: Rate = Rate::default();
    /// In how many of the last executions two functions have met if they are known.
    sample_frequency: u64 = 2;
    /// At least one call in so many is looked at by `literace`.
    sample_least: u64 = 1000;
    /// The project's `.racehound`, if it is not to be looked for.
    store: String = String::new();
    /// Where to write a trace.
    record: String = String::new();
    /// The trace has the calls of functions, too.
    record_calls: bool = false;
    /// File to append findings to, one line of JSON each; it must be there.
    findings: String = String::new();
    /// Print reports, in TSan's layout.
    print_reports: bool = true;
    /// How certain a report must be for the process to fail.
    fail_on: FailOn = FailOn::Predicted;
    /// Exit code of a process that fails; 0 leaves it the program's own.
    exitcode: i32 = 66;
    /// Stop at the first report.
    halt_on_error: bool = false;
    /// File of suppressions.
    suppressions: String = String::new();
    /// Say which suppressions were used.
    print_suppressions: bool = true;
    /// Where reports go, with the process id appended.
    log_path: String = String::new();
    /// That file has the program's name in its own, too.
    log_exe_name: bool = false;
    /// Report at all.
    report_bugs: bool = true;
    /// Report two accesses only once for each pair of stacks.
    suppress_equal_stacks: bool = true;
    /// Report each address only once.
    suppress_equal_addresses: bool = true;
    /// Report wrong use of locks.
    report_mutex_bugs: bool = true;
    /// Report the destruction of a locked mutex.
    report_destroy_locked: bool = true;
    /// Report threads that are neither joined nor detached.
    report_thread_leaks: bool = true;
    /// Report calls in signal handlers that are not safe there.
    report_signal_unsafe: bool = true;
    /// Report races between atomic and plain accesses.
    report_atomic_races: bool = true;
    /// Look for circles in the order of locks.
    detect_deadlocks: bool = true;
    /// Tell where the first of two locks was taken as well.
    second_deadlock_stack: bool = false;
    /// Take every atomic operation for the strongest.
    force_seq_cst_atomics: bool = false;
    /// Ignore what interposed functions do to memory.
    ignore_interceptors_accesses: bool = false;
    /// Ignore what libraries that are not instrumented have them do.
    ignore_noninstrumented_modules: bool = false;
    /// Wait that long before the process ends, in milliseconds.
    atexit_sleep_ms: i32 = 1000;
    /// Abort instead of exiting.
    abort_on_error: bool = false;
    /// Begin of paths that is not shown.
    strip_path_prefix: String = String::new();
    /// Print the line that sums a report up.
    print_summary: bool = true;
    /// Tell where the makers of threads were made, too.
    print_full_thread_history: bool = false;
    /// List the options.
    help: bool = false;
    /// How large the process may become before all accesses are forgotten, in
    /// megabytes; 0 does not limit it.
    memory_limit_mb: u64 = 0;
    /// Watch the limit also while the program has only one thread.
    force_background_thread: bool = false;
    /// Say more about what is going on.
    verbosity: i32 = 0;
    /// Report signal handlers that change errno.
    check_errno: bool = true;
}

/// TSan's options that have no meaning here: there is no history to be sized, no
/// symbolizer to be found; or that have none in TSan either, being those of other sanitizers
/// of its family. Those by which a program would behave in another way are not among them.
const MEANINGLESS: [&str; 71] = [
    "allocator_may_return_null",
    "allocator_release_to_os_interval_ms",
    "allow_addr2line",
    "allow_user_segv_handler",
    "can_use_proc_maps_statm",
    "clear_shadow_mmap_threshold",
    "color",
    "compress_stack_depot",
    "coverage",
    "coverage_dir",
    "decorate_proc_maps",
    "demangle",
    "detect_leaks",
    "die_after_fork",
    "disable_coredump",
    "dump_instruction_bytes",
    "dump_registers",
    "enable_symbolizer_markup",
    "external_symbolizer_path",
    "fast_unwind_on_check",
    "fast_unwind_on_fatal",
    "fast_unwind_on_malloc",
    "flush_memory_ms",
    "flush_symbolizer_ms",
    "full_address_space",
    "handle_abort",
    "handle_ioctl",
    "handle_segv",
    "handle_sigbus",
    "handle_sigfpe",
    "handle_sigill",
    "handle_sigtrap",
    "heap_profile",
    "history_size",
    "html_cov_report",
    "intercept_intrin",
    "intercept_memcmp",
    "intercept_memmem",
    "intercept_send",
    "intercept_stat",
    "intercept_strchr",
    "intercept_strcmp",
    "intercept_strlen",
    "intercept_strndup",
    "intercept_strpbrk",
    "intercept_strspn",
    "intercept_strstr",
    "intercept_strtok",
    "intercept_tls_get_addr",
    "io_sync",
    "leak_check_at_exit",
    "legacy_pthread_cond",
    "malloc_context_size",
    "no_huge_pages_for_shadow",
    "print_benign",
    "print_cmdline",
    "print_module_map",
    "profile_memory",
    "running_on_valgrind",
    "shared_ptr_interceptor",
    "stack_trace_format",
    "stop_on_start",
    "strip_env",
    "symbolize",
    "symbolize_inline_frames",
    "symbolize_vs_style",
    "test_only_emulate_no_memorymap",
    "test_only_replace_dlopen_main_program",
    "use_madv_dontdump",
    "use_sigaltstack",
    "verify_interceptors",
];

static OPTIONS: OnceLock<Parsed> = OnceLock::new();

/// The options, and what follows from them.
#[derive(Debug)]
pub(crate) struct Parsed {
    options: Options,
    pub(crate) engine: Engine,
    /// How the execution is scheduled, if we have a say.
    pub(crate) plan: Option<Plan>,
    /// Report every pair of places, not only the first for each location.
    pub(crate) all_pairs: bool,
}

impl std::ops::Deref for Parsed {
    type Target = Options;
    fn deref(&self) -> &Options {
        &self.options
    }
}

/// The options.
#[inline]
pub(crate) fn get() -> &'static Parsed {
    OPTIONS.get_or_init(read)
}

impl Parsed {
    /// Whether the user wants to hear of bugs; else a trace is all there is to be.
    pub(crate) fn reports(&self) -> bool {
        self.detector != "none"
    }

    /// Which operations order threads for the detector.
    pub(crate) fn order(&self) -> Order {
        match self.engine {
            Engine::Off | Engine::FastTrack => Order::HappensBefore,
            Engine::AccuLock => Order::WithoutLocks,
            Engine::General => Order::Nothing,
        }
    }
}

fn read() -> Parsed {
    let mut options = Options::default();
    let mut problems = Vec::new();
    if let Some(text) = hooks::default_options() {
        parse(&mut options, &text, "__tsan_default_options", &mut problems);
    }
    for variable in ["TSAN_OPTIONS", "RACEHOUND_OPTIONS"] {
        if let Ok(text) = std::env::var(variable) {
            parse(&mut options, &text, variable, &mut problems);
        }
    }
    let plan = match options.schedule.as_str() {
        "" => None,
        text => match text.parse() {
            Ok(Plan::Free) => None,
            Ok(plan) => Some(plan),
            Err(error) => crate::fatal(&format!("schedule={text}: {error}")),
        },
    };
    let engine = match options.detector.as_str() {
        "none" if options.record.is_empty() && plan.is_none() => Engine::Off,
        "fasttrack" => Engine::FastTrack,
        "acculock" => Engine::AccuLock,
        _ => Engine::General,
    };
    if options.sample != Sample::None && (plan.is_some() || !options.record.is_empty()) {
        problems.push(
            "racehound: sample: a run that is scheduled or recorded is looked at as a whole\n"
                .to_owned(),
        );
        options.sample = Sample::None;
    }
    let all_pairs = !options.suppress_equal_addresses;
    let help = options.help;
    let parsed = Parsed {
        options,
        engine,
        plan,
        all_pairs,
    };
    if help {
        let mut text = String::from("Available flags for Racehound:\n");
        for (name, default) in Options::help() {
            text.push_str(&format!("  {name} (default: {default})\n"));
        }
        to_stderr(&text);
    }
    for problem in problems {
        to_stderr(&problem);
    }
    parsed
}

/// Before the options are known, reports have no other place.
fn to_stderr(text: &str) {
    // SAFETY: a buffer of that length.
    unsafe { libc::write(2, text.as_ptr().cast(), text.len()) };
}

fn parse(options: &mut Options, text: &str, from: &str, problems: &mut Vec<String>) {
    for (name, value) in settings(text) {
        match options.set(name, value) {
            Ok(()) => {}
            Err(Problem::Name) if MEANINGLESS.contains(&name) => {}
            Err(Problem::Name) => {
                problems.push(format!("racehound: {from}: there is no option '{name}'\n"));
            }
            Err(Problem::Value) => problems.push(format!(
                "racehound: {from}: '{value}' is no value for the option '{name}'\n"
            )),
        }
    }
}

/// `name=value` for each setting of a text. Values may be quoted.
fn settings(text: &str) -> Vec<(&str, &str)> {
    let is_separator = |c: char| matches!(c, ':' | ',' | ' ' | '\n' | '\t' | '\r');
    let mut settings = Vec::new();
    let mut rest = text.trim_start_matches(is_separator);
    while !rest.is_empty() {
        let Some(equals) = rest.find('=') else {
            let end = rest.find(is_separator).unwrap_or(rest.len());
            settings.push((&rest[..end], ""));
            rest = rest[end..].trim_start_matches(is_separator);
            continue;
        };
        let (name, after) = (&rest[..equals], &rest[equals + 1..]);
        let (value, left) = match after.chars().next() {
            Some(quote @ ('"' | '\'')) => match after[1..].find(quote) {
                Some(end) => (&after[1..=end], &after[end + 2..]),
                None => (&after[1..], ""),
            },
            _ => {
                let end = after.find(is_separator).unwrap_or(after.len());
                (&after[..end], &after[end..])
            }
        };
        settings.push((name, value));
        rest = left.trim_start_matches(is_separator);
    }
    settings
}

/// A file that may be named relative to the program's.
pub(crate) fn relative_to_program(path: &str) -> PathBuf {
    let as_given = PathBuf::from(path);
    if as_given.exists() || as_given.is_absolute() {
        return as_given;
    }
    match std::env::current_exe() {
        Ok(program) => program.with_file_name(path),
        Err(_) => as_given,
    }
}

#[cfg(test)]
mod tests {
    use super::{MEANINGLESS, Options, settings};

    #[test]
    fn what_is_an_option_has_a_meaning() {
        for (name, _) in Options::help() {
            assert!(!MEANINGLESS.contains(&name), "{name}");
        }
    }

    #[test]
    fn settings_are_told_apart() {
        assert_eq!(
            settings("a=1:b=x,c='p q':d=\"/a:b\" e=5"),
            [
                ("a", "1"),
                ("b", "x"),
                ("c", "p q"),
                ("d", "/a:b"),
                ("e", "5")
            ]
        );
        assert_eq!(settings(""), []);
        assert_eq!(settings("::a=1::"), [("a", "1")]);
    }
}
