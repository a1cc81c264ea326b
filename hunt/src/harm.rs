//! What an execution did that the program never does by itself.

use std::time::Duration;

use racehound_report::finding::{Harm, Kind};
use racehound_schedule::Plan;

use crate::execution::{Assignment, Ending, Error, Execution, Executor, Text};

/// What the program does if nobody interferes.
#[derive(Clone, Debug, Default)]
pub struct Usual {
    endings: Vec<Ending>,
    outputs: Vec<Text>,
    longest: Duration,
    /// The same of executions that have come to an end.
    longest_to_the_end: Duration,
    /// Some order of its threads lets it end well, whatever it does by itself.
    can_end_well: bool,
}

/// How a program ends with which nothing is wrong.
pub(crate) const WELL: Ending = Ending::Code(0);

/// How much longer than usual an execution may take before it is a hang. The first
/// is for executions under control whose usual time is not known yet.
const UNKNOWN_TIMES: u32 = 100;
const TIMES: u32 = 20;
/// Nothing is a hang sooner: machines are slow at times.
const SOONEST: Duration = Duration::from_secs(3);

/// How much more time an execution gets that seems to hang, before it is said to.
pub const DOUBT: u32 = 3;

impl Usual {
    /// Whether anything is known.
    pub fn is_known(&self) -> bool {
        !self.endings.is_empty()
    }

    /// Learns it from free executions, each of at most `limit`.
    pub fn learn(executor: &mut dyn Executor, runs: u32, limit: Duration) -> Result<Self, Error> {
        let mut usual = Self::default();
        for _ in 0..runs {
            usual.add(&executor.execute(&Assignment {
                detector: "none".to_owned(),
                schedule: Plan::Free,
                record: None,
                schedule_out: None,
                sample: None,
                limit,
            })?);
        }
        Ok(usual)
    }

    /// Adds what a free execution did.
    pub fn add(&mut self, execution: &Execution) {
        self.endings.push(execution.ending);
        self.outputs.push(execution.output.clone());
        self.longest = self.longest.max(execution.elapsed);
        if !matches!(execution.ending, Ending::Limit | Ending::Unready) {
            self.longest_to_the_end = self.longest_to_the_end.max(execution.elapsed);
        }
    }

    /// Adds what an execution under control did.
    pub fn add_controlled(&mut self, execution: &Execution) {
        self.can_end_well |= execution.ending == WELL;
    }

    /// Whether the program always ends badly, whoever decides about its threads.
    pub fn always_ails(&self) -> bool {
        !self.can_end_well && !self.knows(WELL)
    }

    /// How long an execution under control may take; `slowest` is the slowest so
    /// far that was not too slow.
    pub fn limit(&self, slowest: Option<Duration>, most: Duration) -> Duration {
        let limit = match slowest {
            Some(slowest) => slowest.max(self.longest) * TIMES,
            None => self.longest * UNKNOWN_TIMES,
        };
        limit.max(SOONEST).min(most)
    }

    /// Whether an execution that was ended, for its time was up, had so much more of it than
    /// the program takes by itself that it hangs. Else it may only be slow: who looks on or
    /// decides about threads takes time, and there may have been no more.
    pub fn hangs_in(&self, execution: &Execution) -> bool {
        execution.ending == Ending::Limit && execution.elapsed >= self.longest_to_the_end * TIMES
    }

    /// Whether the program ends so by itself.
    pub fn knows(&self, ending: Ending) -> bool {
        self.endings.contains(&ending)
    }

    /// What the execution did that the program never does by itself.
    pub fn judge(&self, execution: &Execution) -> Option<Harm> {
        let harm = self.judge_even_if_flaky(execution)?;
        let is_known = self.knows(execution.ending) && harm.kind != DEADLOCK;
        (!is_known).then_some(harm)
    }

    /// How often an execution has to end so again, each time by the same schedule, before
    /// it is not by chance: the program may end so by itself at times, and who decides
    /// about its threads may not have had it under control.
    pub fn times_to_be_sure(&self, execution: &Execution) -> u32 {
        /// How likely it may be that it was chance.
        const DOUBTFUL: f64 = 0.001;
        let is_so = |known: &&Ending| **known == execution.ending;
        let so = self.endings.iter().filter(is_so).count();
        match so {
            // That has waited long enough to be no chance.
            0 if execution.ending == Ending::Limit => 1,
            0 if execution.is_doubtful() => 5,
            0 => 2,
            // Who has seen it in all of three executions has not seen that it is certain.
            _ => {
                let likely = (so + 1) as f64 / (self.endings.len() + 2) as f64;
                (DOUBTFUL.ln() / likely.ln()).ceil() as u32
            }
        }
    }

    /// What the execution did that the program does not always do by itself: as far as it
    /// may be flaky, [this often](Self::times_to_be_sure).
    pub fn judge_even_if_flaky(&self, execution: &Execution) -> Option<Harm> {
        let harm = |kind: &str, detail: String| {
            Some(Harm {
                kind: kind.to_owned(),
                detail,
                ..Harm::default()
            })
        };
        let stuck = execution.findings.iter().find_map(|finding| {
            let is_harm = finding.kind == Kind::Deadlock;
            finding.harm.as_ref().filter(|_| is_harm)
        });
        if let Some(stuck) = stuck {
            return harm(DEADLOCK, stuck.detail.clone());
        }
        if execution.ending == WELL || self.knows(execution.ending) && self.always_ails() {
            return None;
        }
        let complaints = execution.complaints.excerpt();
        let said = |what: &[&str]| {
            let line = complaints
                .lines()
                .find(|line| what.iter().all(|word| line.contains(word)));
            line.map(|line| shortened(line.trim()))
        };
        match execution.ending {
            Ending::Limit if !self.hangs_in(execution) => None,
            Ending::Limit | Ending::Unready => harm(
                "hang",
                format!(
                    "still running after {:.1} s; by itself it takes {:.1} s",
                    execution.elapsed.as_secs_f64(),
                    self.longest.as_secs_f64()
                ),
            ),
            Ending::Stubborn => harm("hang", "it does not end when it is told to".to_owned()),
            Ending::Client(_) => {
                let last = complaints.trim().lines().last();
                let said = last.map_or(String::new(), |line| format!("{SAYS}{}", shortened(line)));
                let (ends, usual) = (in_words(execution.ending), self.in_words());
                harm("exit-code", format!("{ends}; by itself {usual}{said}"))
            }
            Ending::Signal(libc::SIGABRT) => {
                if let Some(line) = said(&["Assertion ", " failed"]) {
                    return harm("assertion", line);
                }
                match said(&["terminate called"]) {
                    Some(line) => harm("exception", line),
                    None => harm("crash", signal(libc::SIGABRT)),
                }
            }
            Ending::Signal(number) => harm("crash", signal(number)),
            Ending::Code(code) => {
                if let (PANIC, Some(line)) = (code, said(&["panicked at "])) {
                    return harm("exception", without_thread_number(&line));
                }
                match failed_check(&execution.output.excerpt()) {
                    Some(line) => harm("assertion", shortened(&line)),
                    // Who never says that all is well says something else by that.
                    None if self.always_ails() => harm(
                        OUTPUT,
                        format!("exit code {code}; by itself {}", self.in_words()),
                    ),
                    None => harm(
                        "exit-code",
                        format!("{code}; by itself {}", self.in_words()),
                    ),
                }
            }
        }
    }

    /// The same, where other output counts as well: other lines than the program prints
    /// by itself, if by itself it always prints the same.
    pub fn judge_closely(&self, execution: &Execution) -> Option<Harm> {
        let harm = self.judge(execution);
        let (usual, others) = self.outputs.split_first()?;
        let always = others.iter().all(|other| other.has_lines_of(usual));
        let differs = always && !execution.output.has_lines_of(usual);
        harm.or_else(|| {
            differs
                .then(|| difference(&execution.output, usual))
                .flatten()
        })
    }

    fn in_words(&self) -> String {
        let mut endings: Vec<String> = Vec::new();
        for &ending in &self.endings {
            let word = in_words(ending);
            if !endings.contains(&word) {
                endings.push(word);
            }
        }
        endings.join(" or ")
    }

    /// How often the program ended badly by itself, and in how many executions.
    pub fn ailing(&self) -> Vec<(Ending, usize, usize)> {
        let mut ailing: Vec<(Ending, usize, usize)> = Vec::new();
        for &ending in self.endings.iter().filter(|e| **e != WELL) {
            match ailing.iter_mut().find(|(known, ..)| *known == ending) {
                Some((_, times, _)) => *times += 1,
                None => ailing.push((ending, 1, self.endings.len())),
            }
        }
        ailing
    }
}

const DEADLOCK: &str = "deadlock";

/// The sort of harm that is only other output.
pub(crate) const OUTPUT: &str = "output";

/// Whether the program has failed, and not only said something else.
pub fn is_failure(harm: &Harm) -> bool {
    harm.kind != OUTPUT
}

fn in_words(ending: Ending) -> String {
    match ending {
        Ending::Code(code) => code.to_string(),
        Ending::Signal(number) => signal(number),
        Ending::Limit => "it does not end".to_owned(),
        Ending::Unready => "it is never ready".to_owned(),
        Ending::Client(code) => format!("its client ends with {code}"),
        Ending::Stubborn => "it does not end when it is told to".to_owned(),
    }
}

/// The first line that only one of them has.
fn difference(now: &Text, usual: &Text) -> Option<Harm> {
    let (now, usual) = (now.excerpt(), usual.excerpt());
    let only = |one: &str, other: &str| {
        let line = one
            .lines()
            .find(|line| !other.lines().any(|known| known == *line));
        line.map(|line| format!("{:?}", shortened(line)))
    };
    let detail = match (only(&now, &usual), only(&usual, &now)) {
        (Some(now), Some(usual)) => format!("{now}; by itself {usual}"),
        (Some(now), None) => format!("{now}; not by itself"),
        (None, Some(usual)) => format!("not {usual}, as by itself"),
        (None, None) => return None,
    };
    Some(Harm {
        kind: OUTPUT.to_owned(),
        detail,
        ..Harm::default()
    })
}

/// What comes before words that are not the same each time.
const SAYS: &str = "; it says: ";

/// What tells harm from other harm: all but what may be different the next time.
pub fn lasting(detail: &str) -> &str {
    detail.split(SAYS).next().unwrap_or(detail)
}

/// Whether the same has come of two executions.
pub fn is_same(one: &Harm, other: &Harm) -> bool {
    one.kind == other.kind && lasting(&one.detail) == lasting(&other.detail)
}

/// Rust says `thread 'name' (123) panicked at …`, with another number each time.
fn without_thread_number(line: &str) -> String {
    let number = line.split_once("' (").and_then(|(thread, rest)| {
        let (number, rest) = rest.split_once(')')?;
        let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| format!("{thread}'{rest}"))
    });
    number.unwrap_or_else(|| line.to_owned())
}

/// The check of a test that has failed, as GoogleTest and Catch2 say it.
fn failed_check(output: &str) -> Option<String> {
    let mut lines = output.lines().map(str::trim);
    lines.find_map(|line| {
        let place = line
            .strip_suffix(": Failure")
            .or(line.strip_suffix(": FAILED:"))?;
        place
            .contains(':')
            .then(|| format!("check at {place} failed"))
    })
}

/// What programs in Rust exit with when they panic.
const PANIC: u8 = 101;

/// How bad it is; the least is the worst.
pub fn rank(harm: &Harm) -> usize {
    const WORST_FIRST: [&str; 7] = [
        "crash",
        "assertion",
        "exception",
        DEADLOCK,
        "hang",
        "exit-code",
        OUTPUT,
    ];
    let rank = WORST_FIRST.iter().position(|kind| *kind == harm.kind);
    rank.unwrap_or(WORST_FIRST.len())
}

/// What a signal is called.
pub fn signal(number: i32) -> String {
    let name = match number {
        libc::SIGABRT => "SIGABRT",
        libc::SIGALRM => "SIGALRM",
        libc::SIGBUS => "SIGBUS",
        libc::SIGFPE => "SIGFPE",
        libc::SIGHUP => "SIGHUP",
        libc::SIGILL => "SIGILL",
        libc::SIGINT => "SIGINT",
        libc::SIGKILL => "SIGKILL",
        libc::SIGPIPE => "SIGPIPE",
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGSYS => "SIGSYS",
        libc::SIGTERM => "SIGTERM",
        libc::SIGTRAP => "SIGTRAP",
        number => return format!("signal {number}"),
    };
    name.to_owned()
}

fn shortened(line: &str) -> String {
    const LONGEST: usize = 160;
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use racehound_report::finding::Finding;
    use racehound_report::journal::Scheduled;

    use super::*;

    fn ended(ending: Ending, complaints: &str) -> Execution {
        Execution {
            ending,
            findings: Vec::new(),
            scheduled: None,
            output: Text::default(),
            complaints: Text::of(complaints.as_bytes()),
            elapsed: match ending {
                Ending::Limit => Duration::from_secs(3),
                _ => Duration::from_millis(10),
            },
        }
    }

    fn harm(usual: &[Ending], execution: &Execution) -> Option<(String, String)> {
        let mut known = Usual::default();
        for &ending in usual {
            known.add(&ended(ending, ""));
        }
        known.judge(execution).map(|harm| (harm.kind, harm.detail))
    }

    #[test]
    fn an_exit_code_is_no_failure_where_none_says_that_all_is_well() {
        let kind = |usual: &[u8], code| {
            let usual: Vec<_> = usual.iter().map(|code| Ending::Code(*code)).collect();
            harm(&usual, &ended(Ending::Code(code), "")).map(|(kind, _)| kind)
        };
        assert_eq!(kind(&[0, 0], 2).as_deref(), Some("exit-code"));
        assert_eq!(kind(&[0, 1], 2).as_deref(), Some("exit-code"));
        assert_eq!(kind(&[1, 1], 2).as_deref(), Some(OUTPUT));
        assert_eq!(kind(&[1, 1], 1), None);
        assert_eq!(kind(&[1, 1], 0), None);
    }

    #[test]
    fn what_the_program_does_at_times_counts_if_a_schedule_does_it_each_time() {
        let (well, crash, other) = (Ending::Code(0), Ending::Signal(11), Ending::Signal(6));
        let mut flaky = Usual::default();
        for ending in [well, crash, well] {
            flaky.add(&ended(ending, ""));
        }
        let crashed = ended(crash, "");
        assert!(flaky.judge(&crashed).is_none());
        assert_eq!(flaky.judge_even_if_flaky(&crashed).unwrap().kind, "crash");
        assert!(flaky.judge_even_if_flaky(&ended(well, "")).is_none());
        // 0.4 to the power of 8 is the first that is less than a thousandth.
        assert_eq!(flaky.times_to_be_sure(&crashed), 8);
        let mut new = ended(other, "");
        assert_eq!(flaky.times_to_be_sure(&new), 2);
        new.scheduled = Some(Scheduled {
            doubts: vec!["computes for long".to_owned()],
            ..Scheduled::default()
        });
        assert_eq!(flaky.times_to_be_sure(&new), 5);
        let mut ill = Usual::default();
        ill.add(&crashed);
        assert!(ill.judge_even_if_flaky(&crashed).is_none());
        assert!(ill.judge_even_if_flaky(&ended(well, "")).is_none());
        // It is up to the order of its threads after all.
        ill.add_controlled(&ended(well, ""));
        assert_eq!(ill.judge_even_if_flaky(&crashed).unwrap().kind, "crash");
        assert_eq!(ill.times_to_be_sure(&crashed), 18);
    }

    #[test]
    fn each_sort_of_harm_is_called_by_its_name() {
        let well = [Ending::Code(0)];
        let abort = Ending::Signal(libc::SIGABRT);
        let cases = [
            (Ending::Signal(11), "", "crash", "SIGSEGV"),
            (abort, "", "crash", "SIGABRT"),
            (
                abort,
                "hm\nbank: bank.c:9: audit: Assertion `sum == 0' failed.\n",
                "assertion",
                "bank: bank.c:9: audit: Assertion `sum == 0' failed.",
            ),
            (
                abort,
                "terminate called after throwing an instance of 'int'\n",
                "exception",
                "terminate called after throwing an instance of 'int'",
            ),
            (
                Ending::Code(101),
                "thread 'main' (4711) panicked at src/main.rs:3:5:\nno",
                "exception",
                "thread 'main' panicked at src/main.rs:3:5:",
            ),
            (Ending::Code(1), "", "exit-code", "1; by itself 0"),
            (
                Ending::Limit,
                "",
                "hang",
                "still running after 3.0 s; by itself it takes 0.0 s",
            ),
        ];
        for (ending, complaints, kind, detail) in cases {
            let seen = harm(&well, &ended(ending, complaints));
            assert_eq!(seen, Some((kind.to_owned(), detail.to_owned())));
        }
    }

    #[test]
    fn who_has_had_little_more_time_than_usual_may_be_slow() {
        let slow = |factor: u32| {
            let mut usual = Usual::default();
            let well = ended(Ending::Code(0), "");
            usual.add(&well);
            let mut unended = ended(Ending::Limit, "");
            unended.elapsed = well.elapsed * factor;
            usual.judge(&unended).is_none()
        };
        assert!(slow(19));
        assert!(!slow(20));
    }

    #[test]
    fn what_the_program_does_by_itself_is_no_harm() {
        assert_eq!(harm(&[Ending::Code(0)], &ended(Ending::Code(0), "")), None);
        let often = [Ending::Code(0), Ending::Signal(11)];
        assert_eq!(harm(&often, &ended(Ending::Signal(11), "")), None);
    }

    #[test]
    fn a_deadlock_counts_more_than_how_it_ended() {
        let mut execution = ended(Ending::Code(66), "");
        execution.findings.push(Finding {
            kind: Kind::Deadlock,
            harm: Some(Harm {
                kind: "deadlock".into(),
                detail: "2 threads wait for ever".into(),
                ..Harm::default()
            }),
            ..Finding::default()
        });
        let seen = harm(&[Ending::Code(0)], &execution);
        let expected = ("deadlock".to_owned(), "2 threads wait for ever".to_owned());
        assert_eq!(seen, Some(expected));
    }

    #[test]
    fn a_client_that_is_not_content_says_why() {
        let execution = ended(Ending::Client(1), "ready\nexpected 2, got 1\n");
        let detail = "its client ends with 1; by itself 0; it says: expected 2, got 1";
        let expected = ("exit-code".to_owned(), detail.to_owned());
        assert_eq!(harm(&[Ending::Code(0)], &execution), Some(expected));
        assert_eq!(lasting(detail), "its client ends with 1; by itself 0");
    }

    #[test]
    fn other_output_counts_where_it_is_always_the_same() {
        let printed = |output: &str| Execution {
            output: Text::of(output.as_bytes()),
            ..ended(Ending::Code(0), "")
        };
        let mut usual = Usual::default();
        usual.add(&printed("a\n4\n"));
        usual.add(&printed("4\na\n"));
        assert!(usual.judge_closely(&printed("4\na\n")).is_none());
        let harm = usual.judge_closely(&printed("a\n2\n")).unwrap();
        assert_eq!(
            (&*harm.kind, &*harm.detail),
            ("output", r#""2"; by itself "4""#)
        );
        usual.add(&printed("a\n3\n"));
        assert!(usual.judge_closely(&printed("a\n2\n")).is_none());
    }

    #[test]
    fn a_failed_check_of_a_test_is_told() {
        for said in ["bank.cpp:12: Failure", "  bank.cpp:12: FAILED:"] {
            let execution = Execution {
                output: Text::of(format!("[ RUN ] Bank\n{said}\n2 == 1\n").as_bytes()),
                ..ended(Ending::Code(1), "")
            };
            let expected = (
                "assertion".to_owned(),
                "check at bank.cpp:12 failed".to_owned(),
            );
            assert_eq!(
                harm(&[Ending::Code(0)], &execution),
                Some(expected),
                "{said}"
            );
        }
    }

    #[test]
    fn what_fails_by_itself_is_counted() {
        let mut usual = Usual::default();
        for ending in [Ending::Code(1), Ending::Code(0), Ending::Code(1)] {
            usual.add(&ended(ending, ""));
        }
        assert_eq!(usual.ailing(), [(Ending::Code(1), 2, 3)]);
    }

    #[test]
    fn the_limit_adapts_to_what_is_usual() {
        let usual = Usual {
            endings: Vec::new(),
            outputs: Vec::new(),
            longest: Duration::from_secs(1),
            ..Usual::default()
        };
        let hour = Duration::from_secs(3600);
        assert_eq!(usual.limit(None, hour), Duration::from_secs(100));
        let slow = Some(Duration::from_secs(2));
        assert_eq!(usual.limit(slow, hour), Duration::from_secs(40));
        assert_eq!(Usual::default().limit(None, hour), SOONEST);
        assert_eq!(usual.limit(slow, SOONEST), SOONEST);
    }
}
