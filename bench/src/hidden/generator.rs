//! Programs with races that lock orders hide.
//!
//! A program has some rounds, one after the other, each with a race of its own
//! between two threads, which meet at `edges` locks on the way. At every lock one
//! of them is *early*: it comes straight to it. The other one is *late*: it takes
//! locks of its own before, works a little, in a ladder also sleeps, and comes to the
//! lock by way of `depth` calls. A race shows if the late one comes first, every time.
//!
//! * In a *chain* the same thread is early at all locks. It accesses the variable
//!   before, the other one afterwards: whatever lock it gets first orders the two.
//! * In a *ladder* they take turns in being late, with a barrier between the locks,
//!   and whoever was first left a note under the lock. Only if all notes are right
//!   both get to their accesses, and nothing orders these. No order of priorities
//!   that lasts leads there.
//!
//! Locks are in one of `instances` objects that are allocated at one place. Further
//! threads up to `threads` mind their own business, one of them with other objects
//! of the same classes. A race that is not `reachable` is guarded by a note that
//! nobody writes, in a ladder, or by a common lock, in a chain.

use std::fmt::Write;

/// How the two threads meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    Chain,
    Ladder,
}

/// What a program is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) family: Family,
    pub(super) depth: usize,
    pub(super) edges: usize,
    pub(super) instances: usize,
    pub(super) threads: usize,
    pub(super) reachable: bool,
}

/// Races in each program.
pub(super) const ROUNDS: usize = 3;
/// Locks of its own that a late thread takes, before it works and afterwards.
const PADS: usize = 6;

impl Shape {
    pub(super) fn name(&self) -> String {
        let family = match self.family {
            Family::Chain => "chain",
            Family::Ladder => "ladder",
        };
        let unreachable = if self.reachable { "" } else { "-safe" };
        format!(
            "{family}-d{}-e{}-i{}-t{}{unreachable}",
            self.depth, self.edges, self.instances, self.threads
        )
    }

    /// The program, and the lines of its races.
    pub(super) fn program(&self) -> (String, Vec<(u32, u32)>) {
        let mut text = String::from(PREAMBLE);
        for edge in 0..self.edges {
            self.write_edge(&mut text, edge);
        }
        let mut races = Vec::new();
        for round in 0..ROUNDS {
            races.push(self.write_round(&mut text, round));
        }
        self.write_main(&mut text);
        (text, races)
    }

    fn write_edge(&self, text: &mut String, edge: usize) {
        let Self {
            depth, instances, ..
        } = self;
        let _ = write!(
            text,
            "
static pthread_mutex_t pads{edge}[{PADS}] = {{[0 ... {last}] = PTHREAD_MUTEX_INITIALIZER}};
static struct node *nodes{edge}[{instances}];
static NOINLINE void make{edge}(int i) {{
    nodes{edge}[i] = calloc(1, sizeof(struct node));
    pthread_mutex_init(&nodes{edge}[i]->lock, NULL);
}}
static NOINLINE void take{edge}(struct node *node, int who) {{
    pthread_mutex_lock(&node->lock);
    if (!node->first) node->first = who;
    pthread_mutex_unlock(&node->lock);
}}
static NOINLINE void early{edge}(struct node *node) {{ take{edge}(node, EARLY); use(node); }}
static NOINLINE void down{edge}_0(struct node *node) {{ take{edge}(node, LATE); use(node); }}
",
            last = PADS - 1,
        );
        for level in 1..*depth {
            let below = level - 1;
            let _ = writeln!(
                text,
                "static NOINLINE void down{edge}_{level}(struct node *node) \
                 {{ down{edge}_{below}(node); use(node); }}"
            );
        }
        let _ = writeln!(
            text,
            "static NOINLINE void late{edge}(struct node *node) {{"
        );
        for pad in 0..PADS {
            if pad == PADS / 2 {
                let nap = match self.family {
                    Family::Chain => "",
                    Family::Ladder => " usleep(5000);",
                };
                let _ = writeln!(text, "    work();{nap}");
            }
            let _ = writeln!(
                text,
                "    pthread_mutex_lock(&pads{edge}[{pad}]);\n    \
                 pthread_mutex_unlock(&pads{edge}[{pad}]);"
            );
        }
        let _ = writeln!(text, "    down{edge}_{}(node);\n}}", depth - 1);
    }

    /// Writes the two threads of a race; the lines of its accesses.
    fn write_round(&self, text: &mut String, round: usize) -> (u32, u32) {
        let _ = writeln!(text, "\nstatic long x{round};");
        let lines = ["first", "second"].map(|name| {
            let first = name == "first";
            let access = match first {
                true => format!("x{round} = 1;"),
                false => format!("use(x{round});"),
            };
            let _ = writeln!(text, "static NOINLINE void {name}{round}(void) {{");
            let _ = writeln!(text, "    crunch();");
            match self.family {
                Family::Chain => self.write_chain(text, first, round, &access),
                Family::Ladder => self.write_ladder(text, first, round, &access),
            }
        });
        (lines[0], lines[1])
    }

    fn write_chain(&self, text: &mut String, first: bool, round: usize, access: &str) -> u32 {
        let guarded = |access: &str| match self.reachable {
            true => format!("    {access}"),
            false => {
                format!("    pthread_mutex_lock(&guard); {access} pthread_mutex_unlock(&guard);")
            }
        };
        let mut line = 0;
        if first {
            line = push_line(text, &guarded(access));
        }
        let role = if first { "early" } else { "late" };
        for edge in 0..self.edges {
            let node = self.node(edge, round);
            let _ = writeln!(text, "    {role}{edge}({node});");
        }
        if !first {
            line = push_line(text, &guarded(access));
        }
        let _ = writeln!(text, "}}");
        line
    }

    fn write_ladder(&self, text: &mut String, first: bool, round: usize, access: &str) -> u32 {
        for edge in 0..self.edges {
            let is_early = first == (edge % 2 == 0);
            let role = if is_early { "early" } else { "late" };
            let node = self.node(edge, round);
            let _ = writeln!(
                text,
                "    pthread_barrier_wait(&gate);\n    {role}{edge}({node});"
            );
        }
        let note = if self.reachable { "LATE" } else { "NOBODY" };
        let notes: Vec<String> = (0..self.edges)
            .map(|edge| format!("{}->first == {note}", self.node(edge, round)))
            .collect();
        let _ = writeln!(text, "    pthread_barrier_wait(&gate);");
        let _ = writeln!(text, "    if ({})", notes.join(" && "));
        let line = push_line(text, &format!("        {access}"));
        let _ = writeln!(text, "}}");
        line
    }

    fn node(&self, edge: usize, round: usize) -> String {
        format!("nodes{edge}[{}]", round * 37 % self.instances)
    }

    fn write_main(&self, text: &mut String) {
        let _ = writeln!(text, "\nstatic NOINLINE void neighbour(int round) {{");
        for edge in (0..self.edges).filter(|_| self.instances > ROUNDS) {
            let other = self.instances - 1;
            let _ = writeln!(text, "    take{edge}(nodes{edge}[{other}], EARLY);");
        }
        let _ = writeln!(text, "    use(round);\n}}");
        let _ = writeln!(text, "{BYSTANDER}");
        let _ = writeln!(
            text,
            "int main(void) {{\n    pthread_barrier_init(&gate, NULL, 2);"
        );
        for edge in 0..self.edges {
            let instances = self.instances;
            let _ = writeln!(
                text,
                "    for (int i = 0; i < {instances}; i++) make{edge}(i);"
            );
        }
        let bystanders = self.threads.saturating_sub(2);
        for round in 0..ROUNDS {
            let _ = writeln!(
                text,
                "    together(first{round}, second{round}, {bystanders});"
            );
            for edge in 0..self.edges {
                let _ = writeln!(text, "    {}->first = 0;", self.node(edge, round));
            }
        }
        let _ = writeln!(text, "}}");
    }
}

/// Adds a line; its number.
fn push_line(text: &mut String, line: &str) -> u32 {
    text.push_str(line);
    text.push('\n');
    text.lines().count() as u32
}

const PREAMBLE: &str = "#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noipa))
#endif
#define use(value) __asm__ volatile(\"\" : : \"r\"(value) : \"memory\")

enum { NOBODY = -1, EARLY = 1, LATE = 2 };
struct node { long first; long more[4]; pthread_mutex_t lock; };
static pthread_barrier_t gate;
static __attribute__((unused)) pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;

// Time that passes without anything that others could see.
static NOINLINE void work(void) {
    for (int i = 0; i < 6000000; i++) use(i);
}

static NOINLINE void fill(long *data, int count, int with) {
    for (int i = 0; i < count; i++) data[i] += with;
}

// Memory that nobody else uses.
static NOINLINE void crunch(void) {
    long data[1024] = {0};
    for (int i = 0; i < 100; i++) fill(data, 1024, i);
    use(data[7]);
}
";

const BYSTANDER: &str = "
static void *run(void *body) { ((void (*)(void))body)(); return NULL; }
struct business { pthread_mutex_t lock; int number; };
static void *bystander(void *argument) {
    struct business *own = argument;
    for (int i = 0; i < 3; i++) {
        pthread_mutex_lock(&own->lock);
        crunch();
        pthread_mutex_unlock(&own->lock);
    }
    if (own->number == 0) neighbour(own->number);
    return NULL;
}
static void together(void (*first)(void), void (*second)(void), int bystanders) {
    pthread_t threads[16];
    struct business *own = calloc(bystanders + 1, sizeof *own);
    pthread_create(&threads[0], NULL, run, first);
    pthread_create(&threads[1], NULL, run, second);
    for (int i = 0; i < bystanders; i++) {
        pthread_mutex_init(&own[i].lock, NULL);
        own[i].number = i;
        pthread_create(&threads[2 + i], NULL, bystander, &own[i]);
    }
    for (int i = 0; i < 2 + bystanders; i++) pthread_join(threads[i], NULL);
    free(own);
}
";

/// The suite.
pub(super) fn suite() -> Vec<Shape> {
    use Family::{Chain, Ladder};
    let shapes = [
        (Ladder, 1, 1, 1, 2, true),
        (Ladder, 2, 2, 10, 4, true),
        (Ladder, 4, 3, 100, 8, true),
        (Ladder, 8, 4, 1_000, 16, true),
        (Ladder, 10, 5, 1, 2, true),
        (Ladder, 6, 5, 100, 4, true),
        (Ladder, 10, 2, 1_000, 2, true),
        (Ladder, 12, 3, 1, 4, true),
        (Ladder, 20, 2, 10, 2, true),
        (Chain, 1, 1, 1, 2, true),
        (Chain, 4, 2, 10, 4, true),
        (Chain, 8, 3, 100, 8, true),
        (Chain, 10, 5, 1_000, 16, true),
        (Chain, 20, 4, 1, 2, true),
        (Ladder, 4, 2, 10, 4, false),
        (Chain, 8, 3, 100, 2, false),
    ];
    let shape = |(family, depth, edges, instances, threads, reachable)| Shape {
        family,
        depth,
        edges,
        instances,
        threads,
        reachable,
    };
    shapes.into_iter().map(shape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_of_a_race_have_its_accesses() {
        for shape in suite() {
            let (text, races) = shape.program();
            let lines: Vec<&str> = text.lines().collect();
            assert_eq!(races.len(), ROUNDS);
            for (round, (write, read)) in races.into_iter().enumerate() {
                let at = |line: u32| lines[line as usize - 1];
                assert!(
                    at(write).contains(&format!("x{round} = 1;")),
                    "{}",
                    shape.name()
                );
                assert!(
                    at(read).contains(&format!("use(x{round})")),
                    "{}",
                    shape.name()
                );
            }
        }
    }

    #[test]
    fn the_suite_covers_what_there_is() {
        let suite = suite();
        let range = |of: fn(&Shape) -> usize| {
            let all = suite.iter().map(of);
            (all.clone().min(), all.max())
        };
        assert_eq!(range(|s| s.depth), (Some(1), Some(20)));
        assert_eq!(range(|s| s.edges), (Some(1), Some(5)));
        assert_eq!(range(|s| s.instances), (Some(1), Some(1_000)));
        assert_eq!(range(|s| s.threads), (Some(2), Some(16)));
        assert!(suite.iter().any(|s| !s.reachable));
    }
}
