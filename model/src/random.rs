//! Programs from a seed.
//!
//! They are small enough to explore and odd enough to be worth it: locks that
//! nest and locks that do not, branches on shared values, loops, and, if asked
//! for, every kind of synchronisation, right and wrong. Many deadlock, some
//! fail, a few misuse a primitive.

use racehound_trace::{MemoryOrder, Rng};

use crate::builder::{Body, Builder};
use crate::program::Program;

/// What a random program may look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Threads beside main.
    pub threads: usize,
    /// About how many statements each has.
    pub statements: usize,
    /// Shared variables, at least one.
    pub variables: usize,
    /// Mutexes; with none, only accesses are left unless `every_kind`.
    pub locks: usize,
    /// Branches and loops.
    pub control: bool,
    /// Every kind of statement there is.
    pub every_kind: bool,
}

impl Default for Shape {
    fn default() -> Self {
        Self {
            threads: 2,
            statements: 4,
            variables: 2,
            locks: 2,
            control: true,
            every_kind: true,
        }
    }
}

/// The program of this seed. A seed means the same program as long as this
/// module does not change.
pub fn program(seed: u64, shape: &Shape) -> Program {
    let mut writer = Writer {
        rng: Rng::new(seed),
        shape: *shape,
        held: Vec::new(),
        in_function: false,
    };
    let text = writer.program();
    Program::parse(&text).unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"))
}

struct Writer {
    rng: Rng,
    shape: Shape,
    /// Mutexes the thread being written holds at this point.
    held: Vec<String>,
    in_function: bool,
}

impl Writer {
    fn program(&mut self) -> String {
        let mut builder = Builder::new();
        for i in 0..self.shape.variables.max(1) {
            let name = format!("x{i}");
            match self.shape.every_kind && self.rng.chance(0.2) {
                true => builder.volatile(&name, 0),
                false => builder.var(&name, 0),
            };
        }
        for i in 0..self.shape.locks {
            builder.lock(&format!("m{i}"));
        }
        if self.shape.every_kind {
            let initial = self.rng.index(2) as u32;
            builder
                .recursive_lock("again")
                .rwlock("rw")
                .cond("c")
                .lock("cm");
            builder.semaphore("s", initial).barrier("b", 2);
            builder.function("f", |body| {
                self.in_function = true;
                self.block(body, 1);
                self.in_function = false;
            });
        }
        for i in 0..self.shape.threads {
            let statements = self.shape.statements;
            builder.thread(&format!("T{i}"), |body| self.block(body, statements));
        }
        if self.shape.every_kind && self.rng.chance(0.3) {
            builder.thread("main", |body| self.main(body));
        }
        builder.text().to_owned()
    }

    /// Forks all threads, and joins some, with something to do in between.
    fn main(&mut self, body: &mut Body) {
        for i in 0..self.shape.threads {
            body.fork(&format!("T{i}"));
            if self.rng.chance(0.3) {
                self.block(body, 1);
            }
            if self.rng.chance(0.2) {
                body.join(&format!("T{i}"));
            }
        }
        if self.rng.chance(0.05) {
            body.join("T0");
        }
    }

    /// About `statements` statements that leave the locks as they were.
    fn block(&mut self, body: &mut Body, statements: usize) {
        let mut left = statements;
        while left > 0 {
            let used = self.statement(body, left);
            left -= used.min(left);
        }
    }

    /// One statement, maybe with others inside: says how many it counts for.
    fn statement(&mut self, body: &mut Body, left: usize) -> usize {
        match self.rng.below(10) {
            0..=3 => self.access(body),
            4 | 5 if self.shape.locks > 0 => self.section(body, left),
            6 if self.shape.control => self.branch(body, left),
            7 if self.shape.control && self.rng.chance(0.4) => self.repetition(body),
            7..=9 if self.shape.every_kind => self.special(body, left),
            _ => self.access(body),
        }
    }

    fn variable(&mut self) -> String {
        format!("x{}", self.rng.index(self.shape.variables.max(1)))
    }

    fn access(&mut self, body: &mut Body) -> usize {
        let x = self.variable();
        match self.rng.below(6) {
            0 | 1 => body.read(&x),
            2 => body.assign("r", &x),
            3 => body.assign(&x, "r + 1"),
            4 => {
                let y = self.variable();
                body.assign(&x, &format!("{y} + 1"))
            }
            _ => {
                let value = self.rng.below(3).to_string();
                body.assign(&x, &value)
            }
        };
        1
    }

    /// Accesses under one lock, or under two that need not nest.
    fn section(&mut self, body: &mut Body, left: usize) -> usize {
        let free: Vec<_> = (0..self.shape.locks)
            .map(|i| format!("m{i}"))
            .filter(|m| !self.held.contains(m))
            .collect();
        // Now and then a lock that is already held: a self-deadlock.
        let free = match self.rng.chance(0.03) {
            true => vec!["m0".to_owned()],
            false => free,
        };
        let Some(first) = self.rng.pick(&free).cloned() else {
            return self.access(body);
        };
        let others: Vec<_> = free.iter().filter(|m| **m != first).cloned().collect();
        body.lock(&first);
        self.held.push(first.clone());
        let second = self.rng.pick(&others).cloned();
        let used = match second {
            Some(second) if self.rng.chance(0.4) => {
                self.block(body, 1);
                body.lock(&second);
                self.held.push(second.clone());
                self.block(body, 1);
                let (last, next) = match self.rng.chance(0.5) {
                    true => (&first, &second),
                    false => (&second, &first),
                };
                body.unlock(next);
                self.held.retain(|m| m != next);
                if self.rng.chance(0.5) {
                    self.access(body);
                }
                body.unlock(last);
                self.held.retain(|m| m != last);
                return 4;
            }
            _ => {
                let inside = 1 + self.rng.index(left.min(2));
                self.block(body, inside);
                inside
            }
        };
        if !self.rng.chance(0.02) {
            body.unlock(&first);
        }
        self.held.retain(|m| *m != first);
        used + 1
    }

    fn branch(&mut self, body: &mut Body, left: usize) -> usize {
        let x = self.variable();
        let conditions = [
            format!("{x} == 1"),
            format!("{x} != 0"),
            "r == 0".to_owned(),
            format!("{x} == 0 || r > 0"),
        ];
        let condition = &conditions[self.rng.index(conditions.len())];
        let inside = 1 + self.rng.index(left.min(2));
        body.statement(format_args!("if {condition} {{"));
        self.block(body, inside);
        if self.rng.chance(0.4) {
            body.statement("} else {");
            self.block(body, 1);
        }
        body.statement("}");
        inside + 1
    }

    fn repetition(&mut self, body: &mut Body) -> usize {
        if self.rng.chance(0.5) {
            body.repeat(2, |body| {
                self.access(body);
            });
        } else {
            let x = self.variable();
            let max = self.rng.below(3) as u32;
            body.while_(&format!("{x} == 0"), max, |body| {
                if self.rng.chance(0.5) {
                    self.access(body);
                }
            });
        }
        3
    }

    /// Everything beyond accesses, mutexes and control flow.
    fn special(&mut self, body: &mut Body, left: usize) -> usize {
        let x = self.variable();
        match self.rng.below(18) {
            0..=2 => self.atomic_operation(body, &x),
            3 => {
                body.fence(MemoryOrder::SeqCst);
                1
            }
            4 => {
                body.rdlock("rw").read(&x).unlock("rw");
                2
            }
            5 => {
                body.wrlock("rw").assign(&x, "1").unlock("rw");
                2
            }
            6 => {
                body.lock("again").lock("again");
                self.access(body);
                body.unlock("again").unlock("again");
                3
            }
            7 => {
                body.lock("cm");
                let condition = format!("{x} == 0");
                match self.rng.chance(0.5) {
                    true => body.if_(&condition, |body| {
                        body.wait("c", "cm");
                    }),
                    false => body.wait("c", "cm"),
                };
                body.unlock("cm");
                3
            }
            8 => {
                match self.rng.chance(0.5) {
                    true => body.notify("c"),
                    false => body.assign(&x, "1").notify_all("c"),
                };
                1
            }
            9 => {
                body.post("s");
                1
            }
            10 => {
                body.take("s");
                1
            }
            11 => {
                body.barrier("b");
                1
            }
            12 if !self.in_function => {
                body.call("f");
                2
            }
            13 => {
                body.statement("atomic {");
                self.block(body, left.min(2));
                body.statement("}");
                left.min(2) + 1
            }
            14 => {
                body.skip(1 + self.rng.below(2) as u32);
                1
            }
            _ => {
                match self.rng.below(3) {
                    0 => body.assert(&format!("{x} != 2")),
                    1 => body.if_(&format!("{x} == 1"), |body| {
                        body.error("SEEN");
                    }),
                    _ => body.unlock("again"),
                };
                1
            }
        }
    }

    fn atomic_operation(&mut self, body: &mut Body, x: &str) -> usize {
        use MemoryOrder::{AcqRel, Acquire, Relaxed, Release, SeqCst};
        let order = [Relaxed, AcqRel, SeqCst][self.rng.index(3)];
        match self.rng.below(5) {
            0 => body.load("r", x, Acquire),
            1 => body.store(x, "r + 1", Release),
            2 => body.add("r", x, "1", order),
            3 => body.swap("r", x, "2", order),
            _ => body.cas("r", x, "0", "1", order),
        };
        1
    }
}
