//! The findings contract: what `--json` writes. Fields, and words in them, are
//! only ever added; what is absent has no bearing or is not known.
//!
//! | kind | detail | what is in `accesses` | what `location` is |
//! |---|---|---|---|
//! | `race` | none, `use-after-free`, `vptr`, `vptr-use-after-free`, `external` | the two accesses: `read`, `write` | the memory |
//! | `atomicity`, `atomic-set`, `pattern:NAME` | | the accesses of the pattern | the memory |
//! | `deadlock` | `lock-order-inversion` | each `lock` of the circle, with the lock held meanwhile | the locks |
//! | `deadlock` | | each `wait`; then what has brought it about: a lock taken by who `ended` with it, is `not-copied` to the child of a `fork`, or was `interrupted` by a handler | the locks, or what else is waited for |
//! | `mutex-misuse` | `double-lock`, `unlock-unlocked`, `invalid-mutex`, `destroy-locked`, `read-lock-of-write-locked`, `read-unlock-of-write-locked`, `held` | the wrong operation first: `lock`, `unlock`, `destroy`, `use` | the lock |
//! | `thread-leak` | | the `create` | the thread |
//! | `failure` | the sort of harm | none | what is said of it |
//! | `signal-unsafe` | none, `errno` | the `call` in the handler | the function |

use std::fmt;

use serde::{Deserialize, Serialize};

/// The contract's version.
pub const VERSION: u32 = 1;

/// Everything one command found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// [`VERSION`].
    pub version: u32,
    /// The program and its arguments, or the trace.
    pub program: Vec<String>,
    /// The seed of the hunt or run; none where nothing is random.
    pub seed: Option<u64>,
    /// How many executions were looked at.
    pub runs: u64,
    /// Where the program was run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// What tells the program's file from another build of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<String>,
    /// What went on around each execution; absent where nothing did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub surroundings: Option<Surroundings>,
    /// The tests that were hunted in, each alone; none if the program was run as it is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tests: Vec<Tested>,
    /// What was found, most important first.
    pub findings: Vec<Finding>,
    /// What was found, looked at by somebody, and accepted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suppressed: Vec<Finding>,
    /// How far a hunt had come, from time to time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<Moment>,
    /// What executions took in which nobody but the system decided who runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub costs: Vec<Cost>,
}

/// What goes on around an execution, as the command line has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Surroundings {
    /// The file that the program reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdin: Option<String>,
    /// Done before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup: Option<String>,
    /// Done after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub teardown: Option<String>,
    /// Who drives it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// What it prints when it is ready; absent where it listens then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<String>,
}

/// A test of a test program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Test {
    /// What it is called.
    pub name: String,
    /// With which arguments, after its own, the program runs it alone.
    pub arguments: Vec<String>,
}

/// What became of a test.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tested {
    /// What it is called.
    pub name: String,
    /// In how many executions it was hunted in.
    pub runs: u64,
}

impl Default for Report {
    fn default() -> Self {
        Self {
            version: VERSION,
            program: Vec::new(),
            seed: None,
            runs: 0,
            directory: None,
            build: None,
            surroundings: None,
            tests: Vec::new(),
            findings: Vec::new(),
            suppressed: Vec::new(),
            history: Vec::new(),
            costs: Vec::new(),
        }
    }
}

/// How far a hunt had come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moment {
    /// Executions until then.
    pub runs: u64,
    /// Time until then.
    pub milliseconds: u64,
    /// How much was found until then, however certain.
    pub found: usize,
    /// How much of that was confirmed.
    pub confirmed: usize,
}

/// What an execution took.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cost {
    /// Which execution, from 1.
    pub run: u64,
    /// What looked on; `none` if nobody did.
    pub technique: String,
    /// How long it took.
    pub microseconds: u64,
}

/// One bug, or suspicion of one: one for each distinct set of sites.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// What to call it: R1, R2, …
    pub id: String,
    /// What sort of bug.
    pub kind: Kind,
    /// What sort of that sort.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// How certain it is.
    pub status: Status,
    /// What it led to; absent where no harm was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub harm: Option<Harm>,
    /// Everything that was seen to come of it, if there is more than `harm`: the
    /// worst first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub harms: Vec<Harm>,
    /// The memory it is about.
    pub location: Location,
    /// How many locations show it; `location` is the first.
    pub locations: usize,
    /// The accesses, in the order of the execution.
    pub accesses: Vec<Access>,
    /// Where the threads that have a part in it were created.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub threads: Vec<Thread>,
    /// The test that shows it, if tests were hunted in one by one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test: Option<Test>,
    /// Further tests that show it, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also_in: Vec<String>,
    /// The recording that it was predicted from, as long as that is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
    /// Which techniques found it.
    pub found_by: Vec<String>,
    /// How they came to it.
    pub reasons: Vec<Explanation>,
    /// The first run that showed it, from 1.
    pub first_run: u64,
    /// What happens in an execution that shows it, step by step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interleaving: Option<Interleaving>,
    /// What it has in common with itself in other builds: see
    /// [`fingerprint`](crate::fingerprint).
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub fingerprint: String,
    /// Whether an earlier report, the baseline, has it; absent where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<Novelty>,
    /// Why it is not to be heard of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suppression: Option<Suppression>,
    /// The plan of scheduling that makes it happen, and the harm if there is any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<String>,
    /// The command that makes it happen again; absent where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<String>,
}

impl Finding {
    /// What makes it the same finding: sort and sites, in no order.
    pub fn identity(&self) -> (String, Option<String>, Vec<String>) {
        let accesses = self.accesses.iter().filter(|a| !a.is_cause());
        let mut sites: Vec<String> = accesses.map(|a| a.site.clone()).collect();
        sites.sort_unstable();
        // Nothing is known of a failure but what is said of it.
        if self.kind == Kind::Failure {
            sites.push(self.location.name.clone());
            sites.extend(self.test.iter().map(|test| test.name.clone()));
        }
        (self.kind.clone().into(), self.detail.clone(), sites)
    }
}

/// What sort of bug a finding is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Kind {
    /// Two accesses, at least one a write, with nothing to order them.
    #[default]
    Race,
    /// A region that should be atomic on one location is not.
    Atomicity,
    /// A region that should be atomic on several locations is not.
    AtomicSet,
    /// Threads wait for each other, or could.
    Deadlock,
    /// A lock is used in a way that locks must not be.
    MutexMisuse,
    /// A thread that nobody waits for.
    ThreadLeak,
    /// A signal handler does what signal handlers must not.
    SignalUnsafe,
    /// The program comes to grief under a schedule, for a reason not known.
    Failure,
    /// A pattern of the user's own.
    Pattern(String),
}

const KINDS: [(Kind, &str); 8] = [
    (Kind::Failure, "failure"),
    (Kind::Race, "race"),
    (Kind::Atomicity, "atomicity"),
    (Kind::AtomicSet, "atomic-set"),
    (Kind::Deadlock, "deadlock"),
    (Kind::MutexMisuse, "mutex-misuse"),
    (Kind::ThreadLeak, "thread-leak"),
    (Kind::SignalUnsafe, "signal-unsafe"),
];

/// What a user's own pattern is called by.
const PATTERN: &str = "pattern:";

impl From<Kind> for String {
    fn from(kind: Kind) -> Self {
        match (&kind, KINDS.iter().find(|(known, _)| *known == kind)) {
            (Kind::Pattern(name), _) => format!("{PATTERN}{name}"),
            (_, Some((_, word))) => (*word).to_owned(),
            (_, None) => unreachable!("all kinds but patterns have a word"),
        }
    }
}

impl TryFrom<String> for Kind {
    type Error = String;

    fn try_from(word: String) -> Result<Self, String> {
        if let Some(name) = word.strip_prefix(PATTERN) {
            return Ok(Self::Pattern(name.to_owned()));
        }
        let known = KINDS.iter().find(|(_, known)| *known == word);
        known
            .map(|(kind, _)| kind.clone())
            .ok_or_else(|| format!("there is no kind {word:?} of findings"))
    }
}

/// How certain a finding is, least first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// Tried, did not happen.
    Unreproduced,
    /// Suspected, not yet tried.
    #[default]
    Predicted,
    /// A precise detector saw it in a real execution.
    Observed,
    /// Made to happen under control, and replayed.
    Confirmed,
}

impl Status {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unreproduced => "unreproduced",
            Self::Predicted => "predicted",
            Self::Observed => "observed",
            Self::Confirmed => "confirmed",
        }
    }
}

/// Whether a finding was known before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Novelty {
    /// It was not.
    New,
    /// It was.
    Unchanged,
}

/// Why a finding is not to be heard of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suppression {
    /// What whoever looked at it says.
    pub reason: String,
    /// When that was: 2026-01-31.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
}

/// What the threads of an execution did, in order: synchronisation, and the accesses
/// that matter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interleaving {
    /// Steps before these that are not told.
    pub skipped: u64,
    /// The steps.
    pub steps: Vec<Step>,
}

/// One step of one thread.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// The thread's path in the creation tree.
    pub thread: String,
    /// What it does: `read`, `write`, or a kind of event of a trace with hyphens, such
    /// as `acquire`.
    pub op: String,
    /// To what: a lock, a variable, a thread; empty where there is nothing to name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub object: String,
    /// Source file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Line in the file, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The function.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// The line of source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The locks that the thread holds after it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub locks: Vec<String>,
    /// Which access of the finding it is, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access: Option<usize>,
    /// How the thread got to that access, innermost first, until the access says so itself.
    #[serde(skip)]
    pub stack: Vec<Frame>,
}

/// Lines of a source file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Excerpt {
    /// The number of the first line, from 1.
    pub first: u32,
    /// The lines.
    pub lines: Vec<String>,
}

impl Excerpt {
    /// The line of this number.
    pub fn line(&self, number: u32) -> Option<&str> {
        let at = number.checked_sub(self.first)?;
        self.lines.get(at as usize).map(String::as_str)
    }
}

/// What a confirmed finding led to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Harm {
    /// `crash`, `assertion`, `exception`, `deadlock`, `hang`, `exit-code` or
    /// `output`.
    pub kind: String,
    /// Which signal, which code, which assertion.
    pub detail: String,
    /// The run that shows it, from 1.
    pub run: u64,
    /// The seed of that run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// The plan of scheduling of that run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<String>,
}

/// What a finding is about: memory, mostly.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Location {
    /// `variable`, `global`, `heap`, `stack`, `tls`, `descriptor` or `address`;
    /// `lock`, `thread` or `function` where it is not about memory.
    pub what: String,
    /// Its name, as far as known.
    pub name: String,
    /// Its size in bytes; 0 where it has none or it is not known.
    pub size: u32,
    /// How far into it the access is, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// Whose it is: who allocated or opened it, or whose stack it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
    /// Where it was allocated or opened, innermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stack: Vec<Frame>,
}

/// One access of a finding, or what else a thread did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Access {
    /// `read` or `write`; else what the thread did, see the table above.
    pub op: String,
    /// Bytes accessed.
    pub size: u32,
    /// The thread's path in the creation tree, or its name in the trace; `?`
    /// where it is not known.
    pub thread: String,
    /// Source file; absent where the trace has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Line in the file, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Column in the line, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// The function, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// The place as the trace names it: a position, statement or label; or
    /// module and offset, where nothing better is known.
    pub site: String,
    /// Locks held that protected it.
    pub locks: Vec<String>,
    /// Those of them that others may hold as well: for reading.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared_locks: Vec<String>,
    /// What a thread waits for that waits: a lock by its name, or in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub awaits: Option<String>,
    /// Whether it was an atomic operation.
    pub atomic: bool,
    /// How the thread got there, innermost first.
    pub stack: Vec<Frame>,
    /// The source around it, or around what calls the library that does it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Excerpt>,
}

/// What begins the name of what is handed on to a handler of a signal, in steps.
pub const HANDLER_OF: &str = "the handler of ";
/// And of what is handed on to who waits for one.
pub const SIGNAL: &str = "signal ";
/// What a thread does in the last step of a deadlock.
pub const AWAITS: &str = "awaits";

/// What begins the name of memory from the heap: where it was allocated follows.
pub const BLOCK: &str = "block from ";
/// The block that a finding is about, in steps.
pub const THE_BLOCK: &str = "the block";

/// Who took the lock here has ended without giving it back.
pub const ENDED: &str = "ended";
/// Who took the lock here is a thread that the copied process does not have.
pub const NOT_COPIED: &str = "not-copied";
/// Who took the lock here was interrupted by a signal's handler, which waits for it.
pub const INTERRUPTED: &str = "interrupted";
/// Here the process was copied.
pub const FORK: &str = "fork";

impl Access {
    /// Whether it is what a deadlock was brought about by, and not a part of it.
    pub fn is_cause(&self) -> bool {
        [ENDED, NOT_COPIED, INTERRUPTED, FORK].contains(&self.op.as_str())
    }

    /// Whether the block is given back by that. Which locks were held then is not known, and
    /// would not excuse it.
    pub fn is_free(&self) -> bool {
        let Some(Frame { function, .. }) = self.stack.first() else {
            return false;
        };
        let is_write = self.op == "write" && !self.atomic;
        let is_freed = ["free", "realloc"].contains(&&**function);
        is_write && (is_freed || function.starts_with("operator delete"))
    }

    /// Where to look: the access itself, or where the program's own code calls the library
    /// in whose header it is.
    pub fn spot(&self) -> Spot<'_> {
        let is_librarys = self.file.as_deref().is_some_and(is_librarys);
        match self.stack.iter().find(|frame| frame.is_users()) {
            Some(frame) if is_librarys => Spot {
                file: frame.file.as_deref(),
                line: frame.line,
                column: frame.column,
                function: Some(&frame.function),
            },
            _ => Spot {
                file: self.file.as_deref(),
                line: self.line,
                column: self.column,
                function: self.function.as_deref(),
            },
        }
    }

    /// The line of source where to look, if known.
    pub fn text(&self) -> Option<&str> {
        self.source.as_ref()?.line(self.spot().line?)
    }
}

/// A place in the sources where to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Spot<'a> {
    /// The file.
    pub file: Option<&'a str>,
    /// The line, from 1.
    pub line: Option<u32>,
    /// The column, from 1.
    pub column: Option<u32>,
    /// The function.
    pub function: Option<&'a str>,
}

impl fmt::Display for Spot<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.file.unwrap_or("?"))?;
        let numbers = [self.line, self.column].into_iter().flatten();
        numbers.into_iter().try_for_each(|n| write!(f, ":{n}"))
    }
}

/// One frame of a stack.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frame {
    /// The function; module and offset where it has no name.
    pub function: String,
    /// Its file, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The column, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// The program or library that has the code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
    /// Where the code is in there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
}

/// Whether a source file is a library's that came with the compiler or the system.
pub fn is_librarys(file: &str) -> bool {
    ["/usr/include/", "/usr/lib/", "/rustc/"]
        .iter()
        .any(|place| file.starts_with(place))
}

impl Frame {
    /// Whether the code is the user's, as far as is known.
    pub fn is_users(&self) -> bool {
        self.file.as_deref().is_some_and(|file| !is_librarys(file))
    }
}

/// A thread that has a part in a finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thread {
    /// Its path in the creation tree.
    pub thread: String,
    /// The name that the program gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Where it was created, innermost first.
    pub stack: Vec<Frame>,
}

/// Why a technique holds a finding to be one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Explanation {
    /// The technique.
    pub by: String,
    /// Its reason, in a sentence.
    pub because: String,
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::option;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn words_are_those_of_the_contract() {
        let word = |kind: Kind| serde_json::to_value(kind).unwrap();
        assert_eq!(word(Kind::Race), "race");
        assert_eq!(word(Kind::AtomicSet), "atomic-set");
        assert_eq!(word(Kind::MutexMisuse), "mutex-misuse");
        assert_eq!(word(Kind::Pattern("lost-pair".into())), "pattern:lost-pair");
        for status in [Status::Unreproduced, Status::Observed] {
            assert_eq!(serde_json::to_value(status).unwrap(), status.name());
        }
    }

    #[test]
    fn an_unknown_kind_is_named() {
        let error = serde_json::from_str::<Kind>("\"gremlin\"").unwrap_err();
        assert!(error.to_string().contains("gremlin"), "{error}");
    }

    /// What the first release wrote is still read.
    #[test]
    fn fields_that_were_added_may_be_absent() {
        let old = r#"{ "version": 1, "program": ["./bank"], "seed": 7, "runs": 42, "findings": [ {
            "id": "R1", "kind": "race", "status": "observed",
            "location": { "what": "global", "name": "balance", "size": 4 }, "locations": 1,
            "accesses": [ { "op": "write", "size": 4, "thread": "0.1", "site": "bank.c:12",
                "locks": [], "atomic": false, "stack": [ { "function": "deposit" } ] } ],
            "found_by": ["fasttrack"], "reasons": [], "first_run": 3 } ] }"#;
        let report: Report = serde_json::from_str(old).unwrap();
        assert_eq!(report.findings[0].accesses[0].stack[0].function, "deposit");
        assert_eq!(report.findings[0].detail, None);
    }

    fn kind() -> impl Strategy<Value = Kind> {
        let known = prop::sample::select(KINDS.map(|(kind, _)| kind).to_vec());
        prop_oneof![known, any::<String>().prop_map(Kind::Pattern)]
    }

    fn status() -> impl Strategy<Value = Status> {
        prop::sample::select(vec![
            Status::Unreproduced,
            Status::Predicted,
            Status::Observed,
            Status::Confirmed,
        ])
    }

    prop_compose! {
        fn frame()(
            function in any::<String>(),
            file in option::of(any::<String>()),
            line in option::of(any::<u32>()),
            column in option::of(any::<u32>()),
            module in option::of(any::<String>()),
            offset in option::of(any::<u64>()),
        ) -> Frame {
            Frame { function, file, line, column, module, offset }
        }
    }

    prop_compose! {
        fn location()(
            what in any::<String>(),
            name in any::<String>(),
            size in any::<u32>(),
            offset in option::of(any::<u64>()),
            thread in option::of(any::<String>()),
            stack in vec(frame(), 0..3),
        ) -> Location {
            Location { what, name, size, offset, thread, stack }
        }
    }

    prop_compose! {
        fn access()(
            (op, thread, site) in any::<(String, String, String)>(),
            (size, atomic) in any::<(u32, bool)>(),
            (file, function) in any::<(Option<String>, Option<String>)>(),
            (line, column) in any::<(Option<u32>, Option<u32>)>(),
            (locks, shared_locks) in (vec(any::<String>(), 0..3), vec(any::<String>(), 0..3)),
            awaits in option::of(any::<String>()),
            stack in vec(frame(), 0..3),
            source in option::of((any::<u32>(), vec(any::<String>(), 0..3))),
        ) -> Access {
            let source = source.map(|(first, lines)| Excerpt { first, lines });
            Access {
                op, size, thread, file, line, column, function, site, locks, shared_locks,
                awaits, atomic, stack, source,
            }
        }
    }

    prop_compose! {
        fn thread()(
            thread in any::<String>(),
            name in option::of(any::<String>()),
            stack in vec(frame(), 0..3),
        ) -> Thread {
            Thread { thread, name, stack }
        }
    }

    prop_compose! {
        fn harm()(
            (kind, detail, run) in any::<(String, String, u64)>(),
            seed in any::<Option<u64>>(),
            schedule in option::of(any::<String>()),
        ) -> Harm {
            Harm { kind, detail, run, seed, schedule }
        }
    }

    prop_compose! {
        fn test()(
            name in any::<String>(),
            arguments in vec(any::<String>(), 0..3),
        ) -> Test {
            Test { name, arguments }
        }
    }

    prop_compose! {
        fn surroundings()(
            (stdin, setup, teardown) in any::<(Option<String>, Option<String>, Option<String>)>(),
            (client, ready) in any::<(Option<String>, Option<String>)>(),
        ) -> Surroundings {
            Surroundings { stdin, setup, teardown, client, ready }
        }
    }

    prop_compose! {
        fn step()(
            (thread, op, object) in any::<(String, String, String)>(),
            (file, function, text) in any::<(Option<String>, Option<String>, Option<String>)>(),
            (line, access) in any::<(Option<u32>, Option<usize>)>(),
            locks in vec(any::<String>(), 0..3),
        ) -> Step {
            Step { thread, op, object, file, line, function, text, locks, access, stack: Vec::new() }
        }
    }

    prop_compose! {
        /// What is said of a finding later.
        fn verdict()(
            skipped in any::<u64>(),
            steps in option::of(vec(step(), 0..3)),
            fingerprint in any::<String>(),
            baseline in option::of(prop::sample::select(vec![Novelty::New, Novelty::Unchanged])),
            suppression in any::<Option<(String, Option<String>)>>(),
        ) -> Finding {
            Finding {
                interleaving: steps.map(|steps| Interleaving { skipped, steps }),
                fingerprint,
                baseline,
                suppression: suppression.map(|(reason, date)| Suppression { reason, date }),
                ..Finding::default()
            }
        }
    }

    prop_compose! {
        fn finding()(
            verdict in verdict(),
            (id, kind, status) in (any::<String>(), kind(), status()),
            (detail, schedule, replay) in any::<(Option<String>, Option<String>, Option<String>)>(),
            (trace, test) in (any::<Option<String>>(), option::of(test())),
            harm in option::of(harm()),
            harms in vec(harm(), 0..3),
            location in location(),
            (locations, first_run) in any::<(usize, u64)>(),
            accesses in vec(access(), 0..3),
            threads in vec(thread(), 0..3),
            found_by in vec(any::<String>(), 0..3),
            reasons in vec(any::<(String, String)>(), 0..3),
        ) -> Finding {
            let reasons = reasons.into_iter().map(|(by, because)| Explanation { by, because });
            let reasons = reasons.collect();
            Finding {
                id, kind, detail, status, harm, harms, location, locations, accesses, threads,
                test, trace, also_in: found_by.clone(), found_by, reasons, first_run, schedule,
                replay, ..verdict
            }
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            program in vec(any::<String>(), 0..3),
            seed in any::<Option<u64>>(),
            runs in any::<u64>(),
            (directory, build) in any::<(Option<String>, Option<String>)>(),
            surroundings in option::of(surroundings()),
            tests in vec(any::<(String, u64)>(), 0..3),
            findings in vec(finding(), 0..3),
            suppressed in vec(finding(), 0..2),
            history in vec(any::<(u64, u64, usize, usize)>(), 0..3),
            costs in vec(any::<(u64, String, u64)>(), 0..3),
        ) {
            let tests = tests.into_iter().map(|(name, runs)| Tested { name, runs }).collect();
            let moment = |(runs, milliseconds, found, confirmed)| {
                Moment { runs, milliseconds, found, confirmed }
            };
            let cost = |(run, technique, microseconds)| Cost { run, technique, microseconds };
            let report = Report {
                version: VERSION, program, seed, runs, directory, build, surroundings, tests,
                findings, suppressed,
                history: history.into_iter().map(moment).collect(),
                costs: costs.into_iter().map(cost).collect(),
            };
            let json = serde_json::to_string(&report).unwrap();
            prop_assert!(!json.contains('\n'));
            prop_assert_eq!(serde_json::from_str::<Report>(&json).unwrap(), report);
        }
    }
}
