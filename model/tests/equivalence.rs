//! The explorer against the naive one: the reductions lose nothing.

use racehound_model::{Limits, Program, Truth, explore_patterns, naive, random};
use racehound_predict::pattern::{Pattern, builtin, parse_all};

/// Interleavings beyond which a program is left to others: the naive explorer
/// is exponential.
const MAX_INTERLEAVINGS: u64 = 1_500;

/// Patterns with more of everything than the built-in ones have.
const UNUSUAL: &str = "
    pattern write-skew
    T  = t1 t2 t1 t2
    SV = x  y  y  x
    AR = u1 u2 u1 u2
    AT = r  r  w  w

    pattern two-regions-of-a-thread
    T  = t1 t2 t1
    SV = x  x  x
    AR = u1 u2 u3
    AT = w  w  r

    pattern only-one-thread-touches-y
    T  = t1 t2 t1
    SV = y  x  y
    AR = u1 u2 u1
    AT = w  w  r
";

/// A word of every kind of statement.
const STATEMENTS: [&str; 31] = [
    "read ",
    "= r",
    "if ",
    "else",
    "repeat ",
    "while ",
    " lock m",
    "unlock m",
    "lock again",
    "rdlock",
    "wrlock",
    "wait c",
    "notify c",
    "notifyall",
    "post",
    "take",
    "barrier b\n",
    "fork",
    "join",
    ".load(",
    ".store(",
    ".add(",
    ".swap(",
    ".cas(",
    "fence(",
    "assert",
    "error",
    "call",
    "atomic",
    "skip",
    "volatile",
];

fn patterns() -> Vec<Pattern> {
    let mut patterns = builtin();
    patterns.extend(parse_all(UNUSUAL).unwrap());
    patterns
}

fn assert_same(program: &Program, truth: &Truth, naive: &Truth) {
    assert!(
        truth.agrees_with(naive),
        "{}\nexplorer: {truth:#?}\nnaive: {naive:#?}",
        program.source()
    );
}

/// What a set of programs had to offer: a property test that only ever sees
/// programs without deadlocks says nothing about deadlocks.
#[derive(Default)]
struct Seen {
    programs: u32,
    races: u32,
    deadlocks: u32,
    failures: u32,
    misuses: u32,
    loop_bounds: u32,
    violations: u32,
    saved: u32,
    sources: Vec<String>,
}

impl Seen {
    fn compare(&mut self, seeds: std::ops::Range<u64>, shape: &random::Shape) {
        let patterns = patterns();
        for seed in seeds {
            let program = random::program(seed, shape);
            // Without patterns it is quick to find out whether it is too many.
            if naive::explore(&program, &[], MAX_INTERLEAVINGS).is_none() {
                continue;
            }
            let naive = naive::explore(&program, &patterns, MAX_INTERLEAVINGS).unwrap();
            let truth = explore_patterns(&program, &patterns, &Limits::default()).unwrap();
            assert_same(&program, &truth, &naive);
            assert!(truth.executions <= naive.executions);
            self.programs += 1;
            self.sources.push(program.source().to_owned());
            self.races += u32::from(!truth.races.is_empty());
            self.deadlocks += u32::from(!truth.deadlocks.is_empty());
            self.failures += u32::from(!truth.failures.is_empty());
            self.misuses += u32::from(!truth.misuses.is_empty());
            self.loop_bounds += u32::from(!truth.loop_bounds.is_empty());
            self.violations += u32::from(!truth.violations.is_empty());
            self.saved += u32::from(truth.executions < naive.executions);
        }
    }
}

#[test]
fn two_threads_with_every_kind_of_statement() {
    let mut seen = Seen::default();
    seen.compare(0..2_200, &random::Shape::default());
    assert!(seen.programs >= 1_000, "{}", seen.programs);
    let kinds = [
        seen.races,
        seen.deadlocks,
        seen.failures,
        seen.misuses,
        seen.loop_bounds,
        seen.violations,
        seen.saved,
    ];
    assert!(kinds.iter().all(|&n| n >= 10), "{kinds:?}");
    for word in STATEMENTS {
        let programs = seen.sources.iter().filter(|s| s.contains(word)).count();
        assert!(programs >= 10, "`{word}` is in {programs} programs");
    }
}

#[test]
fn three_threads_with_every_kind_of_statement() {
    let shape = random::Shape {
        threads: 3,
        statements: 2,
        ..random::Shape::default()
    };
    let mut seen = Seen::default();
    seen.compare(0..1_200, &shape);
    assert!(seen.programs >= 200, "{}", seen.programs);
}

#[test]
fn locks_and_accesses_alone() {
    let shape = random::Shape {
        control: false,
        every_kind: false,
        ..random::Shape::default()
    };
    let mut seen = Seen::default();
    seen.compare(0..600, &shape);
    assert!(seen.programs >= 200, "{}", seen.programs);
    assert!(seen.deadlocks >= 5, "{}", seen.deadlocks);
}
