//! Model programs: tiny concurrent programs whose truth is known.
//!
//! A model program is a few threads, variables and locks in a notation short
//! enough for a test. It can be [run](run()) under any
//! [`Strategy`](racehound_schedule::Strategy), which gives a
//! [`Trace`](racehound_trace::Trace) as real as any, and it can be
//! [explored](explore()): all its interleavings are visited, and what can happen
//! at all is the [`Truth`] against which detectors, predictors and strategies
//! are tested.
//!
//! ```
//! use racehound_model::{Limits, Outcome, Program, explore, run};
//! use racehound_schedule::Random;
//!
//! let program = Program::parse("
//!     var x = 0, y
//!     lock l1, l2
//!     thread T1 { lock l1; lock l2; unlock l2; unlock l1; A: x = 1 }
//!     thread T2 { lock l2; lock l1; unlock l1; unlock l2; B: read x }
//! ")?;
//!
//! let truth = explore(&program, &Limits::default()).unwrap();
//! assert!(truth.has_race(program.site("A"), program.site("B")));
//! assert_eq!(truth.deadlocks.len(), 1);
//!
//! let execution = run(&program, &mut Random::new(1));
//! assert!(matches!(execution.outcome, Outcome::Finished | Outcome::Deadlock { .. }));
//! # Ok::<(), racehound_model::NotationError>(())
//! ```
//!
//! # The notation
//! Declarations, each of one or more names separated by commas:
//!
//! | | |
//! |---|---|
//! | `var x = 1, y` | shared 64-bit integers, 0 unless said otherwise |
//! | `volatile v` | a variable all of whose accesses are `seq_cst` atomics |
//! | `lock m`, `recursive lock m`, `rwlock rw` | taking a plain lock twice blocks for ever |
//! | `lock a, b of node` | instances of one lock class |
//! | `cond c`, `semaphore s = 1`, `barrier b = 2` | |
//! | `fn f { … }` | a function; it sees its caller's locals; no recursion |
//! | `thread T { … }` | a thread |
//!
//! If there is a thread `main`, it runs from the start and forks the others.
//! Otherwise an implicit `main` forks all threads in order and joins them.
//!
//! Statements end with the line or with `;`. Any may have a label: `A: x = 1`,
//! or `5: x = 1` as in the papers' figures. `//` begins a comment.
//!
//! | | |
//! |---|---|
//! | `read x` | one read |
//! | `x = a + y * 2` | reads each shared variable of the expression, left to right, one step each; then writes `x` |
//! | `r = x` | the same; a name that is not declared is a local of the thread, initially 0 |
//! | `if e { … } else { … }`, `repeat 3 { … }` | |
//! | `while e max 5 { … }` | an execution that would go round a sixth time is cut there |
//! | `lock m`, `rdlock rw`, `wrlock rw`, `unlock m` | |
//! | `wait c m`, `notify c`, `notifyall c` | any one waiter may be the one notified |
//! | `post s`, `take s`, `barrier b`, `fork T`, `join T` | |
//! | `r = x.load(acquire)`, `x.store(e, release)` | the orders are C11's |
//! | `r = x.add(1, relaxed)`, `r = x.swap(e, acq_rel)` | give the old value; `r =` may be left out |
//! | `r = x.cas(old, new, acq_rel)` | so does this; a failed one is a load |
//! | `fence(seq_cst)` | |
//! | `call f`, `atomic { … }` | an annotated atomic region |
//! | `assert e`, `error NAME` | end the whole execution, at once |
//! | `skip`, `skip 100` | steps that touch nothing |
//!
//! Expressions have integers, names, `+ - * == != < <= > >= && || !` and
//! parentheses, with C's precedences. `&&` and `||` evaluate both sides: every
//! shared variable is read before anything is computed. Arithmetic wraps.
//!
//! # Semantics
//! Executions are sequentially consistent interleavings of *visible* steps:
//! accesses, synchronisation, forks and joins, calls and returns, beginnings
//! and ends of regions, fences. Local computation takes no time, so an
//! assertion is checked together with the step before it. There are no spurious
//! wake-ups and no time-outs. Unlocking what is not held, waiting without the
//! lock, forking or joining twice, joining what was not forked and ending while
//! holding a lock are misuses, and end the execution, too.

pub mod builder;
mod compile;
mod explore;
pub mod figures;
mod host;
mod machine;
pub mod naive;
mod notation;
mod order;
mod program;
pub mod random;
mod stacks;
mod sync;
mod truth;
mod violations;

pub use builder::Builder;
pub use explore::{Limits, TooLarge, explore, explore_patterns};
pub use host::{Execution, MAX_STEPS, Outcome, run, run_at_most};
pub use notation::{NotationError, Position};
pub use program::Program;
pub use truth::Truth;
