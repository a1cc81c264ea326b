//! The patterns everyone wants.
//!
//! # Data races
//! Two neighbouring accesses of one variable, at least one of them a write.
//!
//! # Atomicity violations
//! The four unserialisable ways in which an access of one thread can come
//! between two accesses of a region, all of one variable (AVIO, ASPLOS 2006;
//! pecan.txt §3).
//!
//! # Atomic-set violations
//! Vaziri, Tip and Dolby (POPL 2006) give the problematic interleavings of two
//! units of work `u` and `u'` on an atomic set; pecan.txt §3 cites them as a
//! complete set of eleven and shows one. Their table was not at hand: the list
//! here is derived, not copied, and a test compares it with conflict
//! serialisability for all pairs of units of up to three accesses each, and of
//! four and two, on two locations. An interleaving is
//! problematic if it is not conflict serialisable: some access of `u` conflicts
//! with a later one of `u'` *and* some access of `u'` with a later one of `u`.
//!
//! *Both conflicts on one location.* The access of `u'` in the middle conflicts
//! with an earlier and with a later one of `u`: five triples. Four are the
//! atomicity violations above; the fifth, w-w-w, is serialisable on its own
//! (the write of `u'` is simply lost), so AVIO leaves it out.
//!
//! *On two locations.* The conflict from `u` to `u'` is on `l1` (`e` before
//! `e'`), the one back is on `l2` (`f'` before `f`). We assume that a unit which
//! writes one location of a set writes all of it. Then the two
//! conflicts need only be write-write and write-write, or those of a writer and
//! a reader; any other mixture contains one of the interleavings named here.
//! Four accesses with `e < e'` and `f' < f` have six orders. For two writers
//! they are three up to renaming; for a writer and a reader all six differ:
//!
//! | | two writers | reader in the middle of a writer | writer in the middle of a reader |
//! |---|---|---|---|
//! | nested | `W(l1) W'(l1) W'(l2) W(l2)` | `W(l1) R'(l1) R'(l2) W(l2)` | `R(l1) W'(l1) W'(l2) R(l2)` |
//! | swapped | `W(l1) W'(l2) W'(l1) W(l2)` | `W(l1) R'(l2) R'(l1) W(l2)` | `R(l1) W'(l2) W'(l1) R(l2)` |
//! | crossed | `W(l1) W'(l2) W(l2) W'(l1)` | `W(l1) R'(l2) W(l2) R'(l1)` | `R(l1) W'(l2) R(l2) W'(l1)` |
//!
//! The first two rows differ only in the order of the two accesses in the
//! middle, which changes nothing for anybody. Counted as one they give, with
//! the five triples, eleven scenarios, presumably those of the paper; as
//! sequences, which is what a pattern is, they are fourteen.
//!
//! Without the assumption on writers there are more, for example write skew
//! (`R(l1) R'(l2) W(l2) W'(l1)`): a pattern a user can add.

use super::{AccessType, Kind, Pattern, Step};

use AccessType::{Read as R, Write as W};

/// The three data races.
pub fn races() -> Vec<Pattern> {
    [[R, W], [W, R], [W, W]]
        .iter()
        .map(|access| single(&spelled("race", access), Kind::Race, access))
        .collect()
}

/// The four unserialisable interleavings on one variable.
pub fn atomicity() -> Vec<Pattern> {
    [[R, W, R], [W, W, R], [W, R, W], [R, W, W]]
        .iter()
        .map(|access| single(&spelled("atomicity", access), Kind::Atomicity, access))
        .collect()
}

/// All problematic interleavings of an atomic set. Those on a single location
/// that are atomicity violations keep that name and kind, so that nothing is
/// reported twice.
pub fn atomic_set() -> Vec<Pattern> {
    let lost = [W, W, W];
    let mut patterns = atomicity();
    patterns.push(single(
        &spelled("atomic-set", &lost),
        Kind::AtomicSet,
        &lost,
    ));
    for (name, u, v) in [
        ("mixed-writes", W, W),
        ("torn-read", W, R),
        ("changed-between-reads", R, W),
    ] {
        // (thread, variable) of each step.
        for (order, at) in [
            ("nested", [(0, 0), (1, 0), (1, 1), (0, 1)]),
            ("swapped", [(0, 0), (1, 1), (1, 0), (0, 1)]),
            ("crossed", [(0, 0), (1, 1), (0, 1), (1, 0)]),
        ] {
            let step = |(thread, variable)| Step {
                thread,
                variable,
                region: thread,
                access: if thread == 0 { u } else { v },
            };
            let name = format!("atomic-set-{name}-{order}");
            patterns.push(valid(&name, Kind::AtomicSet, &at.map(step)));
        }
    }
    patterns
}

/// Every pattern above, each once.
pub fn builtin() -> Vec<Pattern> {
    let mut patterns = races();
    patterns.extend(atomic_set());
    patterns
}

/// `race-r-w` and the like.
fn spelled(kind: &str, access: &[AccessType]) -> String {
    access.iter().fold(kind.to_owned(), |mut name, access| {
        name.push('-');
        name.push(access.letter());
        name
    })
}

/// Two threads in turn, a region each, on one variable.
fn single(name: &str, kind: Kind, access: &[AccessType]) -> Pattern {
    let step = |(i, &access)| Step {
        thread: i % 2,
        variable: 0,
        region: i % 2,
        access,
    };
    let steps: Vec<_> = access.iter().enumerate().map(step).collect();
    valid(name, kind, &steps)
}

fn valid(name: &str, kind: Kind, steps: &[Step]) -> Pattern {
    Pattern::new(name, kind, steps).expect("built-in patterns are patterns")
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// An access of one of two units to one of two locations.
    #[derive(Clone, Copy)]
    struct Access {
        unit: usize,
        location: usize,
        access: AccessType,
    }

    /// All sequences of up to `longest` accesses of a unit that writes both
    /// locations or none.
    fn units(unit: usize, longest: usize) -> Vec<Vec<Access>> {
        let mut all = vec![Vec::new()];
        let mut from = 0;
        for _ in 0..longest {
            let to = all.len();
            for i in from..to {
                for (location, access) in [(0, R), (0, W), (1, R), (1, W)] {
                    let mut longer: Vec<Access> = all[i].clone();
                    longer.push(Access {
                        unit,
                        location,
                        access,
                    });
                    all.push(longer);
                }
            }
            from = to;
        }
        all.retain(|unit| {
            let writes = |l| unit.iter().any(|a| a.location == l && a.access == W);
            writes(0) == writes(1)
        });
        all
    }

    fn interleavings(a: &[Access], b: &[Access]) -> Vec<Vec<Access>> {
        match (a, b) {
            ([], rest) | (rest, []) => vec![rest.to_vec()],
            ([x, xs @ ..], [y, ys @ ..]) => {
                let with = |first: &Access, rest: Vec<Vec<Access>>| {
                    let first = *first;
                    rest.into_iter().map(move |mut i| {
                        i.insert(0, first);
                        i
                    })
                };
                with(x, interleavings(xs, b))
                    .chain(with(y, interleavings(a, ys)))
                    .collect()
            }
        }
    }

    fn is_serialisable(interleaving: &[Access]) -> bool {
        let mut before = [false; 2];
        for (j, b) in interleaving.iter().enumerate() {
            for a in &interleaving[..j] {
                if a.unit != b.unit && a.location == b.location && (a.access == W || b.access == W)
                {
                    before[a.unit] = true;
                }
            }
        }
        before != [true, true]
    }

    /// Whether the pattern is a subsequence, units and locations renamed.
    fn contains(interleaving: &[Access], pattern: &Pattern) -> bool {
        (0..4).any(|renaming| {
            let (units, locations) = (renaming & 1, renaming >> 1);
            let mut rest = interleaving.iter();
            pattern.steps().iter().all(|step| {
                rest.any(|a| {
                    a.unit ^ units == step.region
                        && a.location ^ locations == step.variable
                        && a.access == step.access
                })
            })
        })
    }

    #[test]
    fn the_atomic_set_patterns_are_exactly_the_unserialisable_interleavings() {
        let patterns = atomic_set();
        let mut seen = [0; 2];
        for (longest_u, longest_v) in [(3, 3), (4, 2)] {
            for u in units(0, longest_u) {
                for v in units(1, longest_v) {
                    for interleaving in interleavings(&u, &v) {
                        let serialisable = is_serialisable(&interleaving);
                        let matches = patterns.iter().any(|p| contains(&interleaving, p));
                        assert_eq!(serialisable, !matches);
                        seen[usize::from(serialisable)] += 1;
                    }
                }
            }
        }
        assert!(seen.iter().all(|&n| n > 1_000), "{seen:?}");
    }

    #[test]
    fn no_atomic_set_pattern_is_superfluous() {
        for pattern in atomic_set() {
            let access = |step: &Step| Access {
                unit: step.region,
                location: step.variable,
                access: step.access,
            };
            let interleaving: Vec<_> = pattern.steps().iter().map(access).collect();
            let all = atomic_set();
            let matching: Vec<_> = all.iter().filter(|p| contains(&interleaving, p)).collect();
            assert_eq!(matching, [&pattern]);
        }
    }

    #[test]
    fn there_are_eleven_scenarios_in_fourteen_sequences() {
        let patterns = atomic_set();
        assert_eq!(patterns.len(), 14);
        let swapped = patterns.iter().filter(|p| p.name().ends_with("swapped"));
        assert_eq!(patterns.len() - swapped.count(), 11);
    }

    #[test]
    fn nothing_is_listed_twice() {
        let all = builtin();
        let names: HashSet<_> = all.iter().map(Pattern::name).collect();
        let steps: HashSet<_> = all.iter().map(Pattern::steps).collect();
        assert_eq!((all.len(), names.len(), steps.len()), (17, 17, 17));
    }
}
