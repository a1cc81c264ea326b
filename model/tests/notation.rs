//! The notation: what a text means, and what is said when it means nothing.

use racehound_model::{Builder, Outcome, Program, run};
use racehound_schedule::Sequential;
use racehound_trace::{MemoryOrder, Op, ThreadId};

fn parse(text: &str) -> Program {
    Program::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

#[track_caller]
fn assert_error(text: &str, expected: &str) {
    assert_eq!(Program::parse(text).unwrap_err().to_string(), expected);
}

/// Runs a single thread to its end and says whether its assertions held.
fn holds(statements: &str) -> bool {
    let program = parse(&format!("var x = 5, y\nthread T {{ {statements} }}"));
    match run(&program, &mut Sequential::new()).outcome {
        Outcome::Finished => true,
        Outcome::Failed { .. } => false,
        other => panic!("{other:?}"),
    }
}

#[test]
fn expressions_have_cs_precedences() {
    assert!(holds("assert 1 + 2 * 3 == 7 && (1 + 2) * 3 == 9"));
    assert!(holds("assert 7 - 2 - 1 == 4"));
    assert!(holds("assert -x + 6 == 1"));
    assert!(holds("assert !(x == 4) && !0 == 1"));
    assert!(holds("assert 1 || 0 && 0"));
    assert!(holds(
        "assert x >= 5 && x <= 5 && !(x < 5) && !(x > 5) && x != 4"
    ));
    assert!(!holds("assert x - 5"));
}

#[test]
fn statements_do_what_they_say() {
    assert!(holds(
        "r = x; x = r * 2; y = x + r; assert x == 10 && y == 15 && r == 5"
    ));
    assert!(holds("if x == 5 { r = 1 } else { r = 2 }; assert r == 1"));
    assert!(holds("if x == 4 { r = 1 }\n else { r = 2 }; assert r == 2"));
    assert!(holds("repeat 3 { repeat 2 { r = r + 1 } }; assert r == 6"));
    assert!(holds("while x > 0 max 5 { x = x - 1 }; assert x == 0"));
    assert!(holds("r = x.add(2, relaxed); assert r == 5 && x == 7"));
    assert!(holds("r = x.swap(2, acq_rel); assert r == 5 && x == 2"));
    assert!(holds("r = x.cas(5, 1, seq_cst); assert r == 5 && x == 1"));
    assert!(holds("r = x.cas(4, 1, seq_cst); assert r == 5 && x == 5"));
    assert!(holds(
        "x.store(x + 1, release); r = x.load(acquire); assert r == 6"
    ));
    assert!(holds("y = x.add(1, relaxed); assert y == 5"));
    assert!(holds("atomic { skip 3; fence(seq_cst) }; read x"));
}

#[test]
fn functions_see_their_callers_locals() {
    let program = parse(
        "fn double { r = r * 2 }
         fn quadruple { call double; call double }
         thread T1 { r = 1; call quadruple; assert r == 4 }
         thread T2 { call quadruple; assert r == 0 }",
    );
    let execution = run(&program, &mut Sequential::new());
    assert_eq!(execution.outcome, Outcome::Finished);
    let count = |wanted: fn(&Op) -> bool| {
        let events = execution.trace.events.iter();
        events.filter(|e| wanted(&e.op)).count()
    };
    assert_eq!(count(|op| matches!(op, Op::Call { .. })), 6);
    assert_eq!(count(|op| matches!(op, Op::Return)), 6);
}

#[test]
fn sites_say_where_and_what() {
    let text = "var x, y\nthread T {\n  A: x = x + y * 2\n  B: if x == y { read x }\n}\n";
    let program = Program::parse_file("t.model", text).unwrap();
    let tables = program.tables();
    let places = |label: &str| {
        let sites = program.sites(label).iter();
        sites.map(|s| tables.site_name(*s)).collect::<Vec<_>>()
    };
    assert_eq!(places("A"), ["t.model:3:10", "t.model:3:14", "t.model:3:6"]);
    assert_eq!(tables.site_text(program.site("A")), Some("x = x + y * 2"));
    assert_eq!(program.site("A"), program.sites("A")[2]);
    assert_eq!(places("B"), ["t.model:4:9", "t.model:4:14"]);
    assert_eq!(tables.site_text(program.site("B")), Some("if x == y"));
    assert_eq!(program.label(program.sites("A")[0]), Some("A"));
    assert!(program.sites("C").is_empty());
}

#[test]
fn threads_know_their_parents() {
    let implicit = parse("thread T1 { }\nthread T2 { }");
    let tables = implicit.tables();
    assert_eq!(tables.thread_name(ThreadId(0)), "main");
    assert_eq!(tables.thread_path(implicit.thread("T2")), "0.2");
    let explicit = parse(
        "thread grandchild { }
         thread child { fork grandchild; join grandchild }
         thread main { fork other; fork child; join child; join other }
         thread other { }
         thread idle { }",
    );
    let path = |name| explicit.tables().thread_path(explicit.thread(name));
    assert_eq!(path("main"), "0");
    assert_eq!(path("other"), "0.1");
    assert_eq!(path("child"), "0.2");
    assert_eq!(path("grandchild"), "0.2.1");
    let outcome = run(&explicit, &mut Sequential::new()).outcome;
    assert_eq!(outcome, Outcome::Finished);
}

#[test]
fn a_built_program_is_the_program_written() {
    let written = "\
var x = 0
volatile v = 1
lock m
recursive lock again
rwlock rw
cond c
semaphore s = 1
barrier b = 1
fn f {
  read x
}
thread T {
  A: x = x + 1
  if x == 1 {
    skip 2
  }
  if x == 1 {
    lock m
    unlock m
  }
  else {
    error E
  }
  repeat 2 {
    call f
  }
  while x == 0 max 3 {
    assert x == 0
  }
  atomic {
    rdlock rw
    unlock rw
    wrlock rw
    unlock rw
  }
  wait c m
  notify c
  notifyall c
  post s
  take s
  barrier b
  r = x.load(acquire)
  x.store(1, release)
  r = x.add(1, relaxed)
  r = x.swap(1, acq_rel)
  r = x.cas(0, 1, seq_cst)
  fence(seq_cst)
}
thread main {
  fork T
  join T
}
";
    use MemoryOrder::{AcqRel, Acquire, Relaxed, Release, SeqCst};
    let mut builder = Builder::new();
    builder
        .var("x", 0)
        .volatile("v", 1)
        .lock("m")
        .recursive_lock("again");
    builder
        .rwlock("rw")
        .cond("c")
        .semaphore("s", 1)
        .barrier("b", 1);
    builder.function("f", |f| {
        f.read("x");
    });
    builder.thread("T", |t| {
        t.label("A").assign("x", "x + 1");
        t.if_("x == 1", |t| {
            t.skip(2);
        });
        t.if_else(
            "x == 1",
            |t| {
                t.lock("m").unlock("m");
            },
            |t| {
                t.error("E");
            },
        );
        t.repeat(2, |t| {
            t.call("f");
        });
        t.while_("x == 0", 3, |t| {
            t.assert("x == 0");
        });
        t.atomic(|t| {
            t.rdlock("rw").unlock("rw").wrlock("rw").unlock("rw");
        });
        t.wait("c", "m").notify("c").notify_all("c");
        t.post("s").take("s").barrier("b");
        t.load("r", "x", Acquire).store("x", "1", Release);
        t.add("r", "x", "1", Relaxed).swap("r", "x", "1", AcqRel);
        t.cas("r", "x", "0", "1", SeqCst).fence(SeqCst);
    });
    builder.thread("main", |t| {
        t.fork("T").join("T");
    });
    assert_eq!(builder.text(), written);
    assert_eq!(builder.finish().unwrap().source(), written);
}

#[test]
fn syntax_errors_say_where_and_what() {
    assert_error("var x = 0, 7", "1:12: expected a name, found `7`");
    assert_error(
        "x = 1",
        "1:1: expected a declaration or a thread, found `x`",
    );
    assert_error("var lock", "1:5: `lock` is a keyword and cannot be a name");
    assert_error(
        "barrier b",
        "1:9: barrier `b` needs a number of threads: `barrier b = 2`",
    );
    assert_error(
        "barrier b = 0",
        "1:13: a barrier waits for at least one thread",
    );
    assert_error("lock m = 1", "1:6: a lock has no value");
    assert_error("recursive m", "1:11: expected `lock`, found `m`");
    assert_error("semaphore s = -1", "1:15: -1 is not a semaphore's value");
    assert_error(
        "thread T {\n  x = 1",
        "2:8: expected a new line, `;` or `}`, found the end of the text",
    );
    assert_error("thread T { x = }", "1:16: expected a value, found `}`");
    assert_error(
        "thread T { x = 1 +\n 2 }",
        "1:19: expected a value, found the end of the statement",
    );
    assert_error("thread T { x }", "1:14: expected `=` or `.`, found `}`");
    assert_error(
        "thread T { read x read x }",
        "1:19: expected a new line, `;` or `}`, found `read`",
    );
    assert_error(
        "thread T { else { } }",
        "1:12: `else` does not begin a statement",
    );
    assert_error(
        "thread T { while 1 { } }",
        "1:20: expected `max` and a bound, found `{`",
    );
    assert_error(
        "thread T { x.mul(1, relaxed) }",
        "1:14: there is no `mul`: load, store, add, swap and cas are",
    );
    assert_error("thread T { x.add(1) }", "1:19: expected `,`, found `)`");
    assert_error(
        "thread T { r = x.load(fast) }",
        "1:23: expected relaxed, acquire, release, acq_rel or seq_cst, found `fast`",
    );
    assert_error(
        "thread T { r = x.store(1, relaxed) }",
        "1:17: a store has no result",
    );
    assert_error(
        "thread T { } thread U { }",
        "1:14: expected a new line or `;`, found `thread`",
    );
    let error = Program::parse_file("t.model", "\n?").unwrap_err();
    assert_eq!(error.to_string(), "t.model:2:1: `?` means nothing here");
}

#[test]
fn errors_of_meaning_say_where_and_what() {
    assert_error("var x", "1:1: a program needs a thread");
    assert_error("var x\nlock x", "2:6: `x` is already a variable");
    assert_error(
        "thread T { read q }",
        "1:17: `q` is not declared; a shared variable is wanted here",
    );
    assert_error(
        "lock m\nthread T { m = 1 }",
        "2:12: `m` is a lock; a variable is wanted here",
    );
    assert_error(
        "lock m\nthread T { r = m }",
        "2:16: `m` is a lock; a variable is wanted here",
    );
    assert_error(
        "var x\nthread T { lock x }",
        "2:17: `x` is a variable; a lock is wanted here",
    );
    assert_error(
        "rwlock m\nthread T { lock m }",
        "2:17: `m` is a rwlock; a lock is wanted here",
    );
    assert_error(
        "lock m\nthread T { rdlock m }",
        "2:19: `m` is a lock; a rwlock is wanted here",
    );
    assert_error(
        "lock m\nthread T { wait m m }",
        "2:17: `m` is a lock; a condition is wanted here",
    );
    assert_error(
        "thread T { call f }",
        "1:17: `f` is not declared; a function is wanted here",
    );
    assert_error(
        "fn f { call g }\nfn g { call f }\nthread T { }",
        "2:13: `f` would call itself: recursion is refused",
    );
    assert_error(
        "thread T { A: r = 1; A: r = 2 }",
        "1:22: a second statement labelled `A`",
    );
    assert_error(
        "thread T { }\nthread U { fork T }",
        "2:17: all threads are forked by an implicit main; declare `thread main` to do it yourself",
    );
    assert_error(
        "thread T { }\nthread U { join T }",
        "2:17: all threads are joined by an implicit main; declare `thread main` to do it yourself",
    );
    assert_error(
        "thread main { fork main }",
        "1:20: `main` runs from the start",
    );
    assert_error(
        "thread main { fork T; fork U }\nthread T { fork U }\nthread U { }",
        "2:17: `U` is already forked by `main`",
    );
    assert_error(
        "var x\nthread T { r = x.load(release) }",
        "2:16: a load cannot be release",
    );
    assert_error(
        "var x\nthread T { x.store(1, acquire) }",
        "2:12: a store cannot be acquire",
    );
}

#[test]
fn deep_nesting_is_refused() {
    let deep = |n| format!("thread T {{ r = {}1{} }}", "(".repeat(n), ")".repeat(n));
    parse(&deep(90));
    assert_error(&deep(200), "1:115: nested more than 100 deep");
    assert!(Program::parse(&"thread T { if 1 ".repeat(200)).is_err());
    let sum = format!("thread T {{ r = 1{} }}", " + 1".repeat(1_000));
    assert_error(&sum, "1:4014: an expression of more than 1000 terms");
}

proptest::proptest! {
    /// Whatever the text, there is a program or an error.
    #[test]
    fn no_text_is_too_strange(words in proptest::collection::vec(0..WORDS.len(), 0..60)) {
        let text: Vec<_> = words.iter().map(|word| WORDS[*word]).collect();
        let _ = Program::parse(&format!("var x; lock m\nthread T {{ {} }}", text.join(" ")));
        let _ = Program::parse(&text.join(" "));
    }
}

const WORDS: [&str; 48] = [
    "var",
    "lock",
    "cond",
    "barrier",
    "fn",
    "thread",
    "main",
    "T",
    "x",
    "r",
    "m",
    "1",
    "99999999999",
    "=",
    "==",
    "+",
    "-",
    "!",
    "(",
    ")",
    "{",
    "}",
    ",",
    ".",
    ":",
    ";",
    "\n",
    "//",
    "if",
    "else",
    "repeat",
    "while",
    "max",
    "load",
    "cas",
    "relaxed",
    "wait",
    "fork",
    "join",
    "call",
    "assert",
    "error",
    "atomic",
    "skip",
    "read",
    "unlock",
    "&&",
    "é",
];

#[test]
fn locks_are_instances_of_the_class_they_are_declared_of() {
    let program = Program::parse("lock a, b of node\nrwlock rw\nthread T { lock a; unlock a }");
    let program = program.unwrap();
    let tables = program.tables();
    let class = |sync: &racehound_trace::SyncObject| tables.names.get(sync.class.unwrap());
    let classes: Vec<_> = tables.syncs.iter().filter_map(class).collect();
    assert_eq!(classes, ["node", "node", "rw"]);
    let error = Program::parse("var x of y\nthread T { read x }").unwrap_err();
    assert_eq!(
        error.to_string(),
        "1:7: expected a new line or `;`, found `of`"
    );
}
