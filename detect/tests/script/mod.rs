//! Traces as short scripts: `T0 write x; T0 unlock m; T1 load f acquire`.

use racehound_detect::Which;
use racehound_detect::offline::{Options, Warning, analyze};
use racehound_trace::{Builder, MemoryOrder, Mode, Op, Trace};

/// The trace of a script. Steps are separated by semicolons or line ends; the
/// site of a step is its number, from 1.
pub(crate) fn script(text: &str) -> Trace {
    let mut b = Builder::new();
    let steps = text.split([';', '\n']).map(str::trim);
    for (i, step) in steps.filter(|s| !s.is_empty()).enumerate() {
        let words: Vec<&str> = step.split_whitespace().collect();
        let thread = b.thread(words[0]);
        let order = || {
            let name = words.last().unwrap();
            let order = MemoryOrder::ALL.into_iter().find(|o| o.name() == *name);
            order.unwrap_or_else(|| panic!("{step}: no memory order"))
        };
        let (shared, exclusive) = (Mode::Shared, Mode::Exclusive);
        let size = 1;
        let name = words.get(2).copied().unwrap_or_default();
        let op = match words[1] {
            "read" => Op::Read {
                loc: b.variable(name),
                size,
            },
            "write" => Op::Write {
                loc: b.variable(name),
                size,
            },
            "load" => Op::AtomicLoad {
                loc: b.variable(name),
                size,
                order: order(),
            },
            "store" => Op::AtomicStore {
                loc: b.variable(name),
                size,
                order: order(),
            },
            "rmw" => Op::AtomicRmw {
                loc: b.variable(name),
                size,
                order: order(),
            },
            "fence" => Op::Fence { order: order() },
            "lock" => Op::Acquire {
                lock: b.sync(name),
                mode: exclusive,
            },
            "unlock" => Op::Release {
                lock: b.sync(name),
                mode: exclusive,
            },
            "rdlock" => Op::Acquire {
                lock: b.sync(name),
                mode: shared,
            },
            "rdunlock" => Op::Release {
                lock: b.sync(name),
                mode: shared,
            },
            "fork" => Op::Fork {
                child: b.thread(name),
            },
            "join" => Op::Join {
                child: b.thread(name),
            },
            "wait" => Op::Wait {
                cond: b.sync(name),
                lock: Some(b.sync(words[3])),
            },
            "wake" => Op::Wake {
                cond: b.sync(name),
                lock: Some(b.sync(words[3])),
                notified: true,
            },
            "timeout" => Op::Wake {
                cond: b.sync(name),
                lock: Some(b.sync(words[3])),
                notified: false,
            },
            "notify" => Op::NotifyOne {
                cond: b.sync(name),
                woken: None,
            },
            "notifyall" => Op::NotifyAll { cond: b.sync(name) },
            "post" => Op::SemPost { sem: b.sync(name) },
            "take" => Op::SemWait { sem: b.sync(name) },
            "arrive" => Op::BarrierArrive {
                barrier: b.sync(name),
            },
            "leave" => Op::BarrierLeave {
                barrier: b.sync(name),
            },
            "alloc" => Op::Alloc {
                loc: b.variable(name),
                size,
            },
            "free" => Op::Free {
                loc: b.variable(name),
                size,
            },
            other => panic!("{step}: no operation is called {other}"),
        };
        b.push(thread, &(i + 1).to_string(), op);
    }
    b.finish()
}

/// What a detector says of a trace.
pub(crate) fn warnings(trace: &Trace, which: Which, options: &Options) -> Vec<Warning> {
    let mut outcomes = analyze(&mut trace.source(), &[which], options, &mut |_| {}).unwrap();
    outcomes.remove(0).warnings
}

/// The pairs of steps that a detector holds against each other, earlier first.
pub(crate) fn pairs(text: &str, which: Which) -> Vec<(u32, u32)> {
    let found = warnings(&script(text), which, &Options::default());
    let steps = |w: &Warning| (w.first.site.0 + 1, w.second.site.0 + 1);
    found.iter().map(steps).collect()
}
