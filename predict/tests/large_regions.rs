//! Regions with thousands of locations: what is predicted is what is predicted of a few,
//! and does not take for ever.

use std::collections::BTreeSet;

use racehound_predict::{Options, predict};
use racehound_trace::{Builder, Mode, Op, SyncId, ThreadId, Trace};

/// How a thread goes through an array in its region.
#[derive(Clone, Copy, Debug)]
enum Walk {
    Up,
    Down,
    /// Up, with a lock taken for each element.
    Locked,
}

const WALKS: [Walk; 3] = [Walk::Up, Walk::Down, Walk::Locked];

struct Pen {
    builder: Builder,
    count: usize,
}

impl Pen {
    fn lock(
        &mut self,
        thread: ThreadId,
        lock: SyncId,
        site: &str,
        inside: &mut dyn FnMut(&mut Self),
    ) {
        let mode = Mode::Exclusive;
        self.builder.push(
            thread,
            &format!("{site} acquires"),
            Op::Acquire { lock, mode },
        );
        inside(self);
        self.builder.push(
            thread,
            &format!("{site} releases"),
            Op::Release { lock, mode },
        );
    }

    fn access(&mut self, thread: ThreadId, element: usize, write: bool, site: &str) {
        let loc = self.builder.variable(&format!("a{element}"));
        let op = match write {
            true => Op::Write { loc, size: 1 },
            false => Op::Read { loc, size: 1 },
        };
        self.builder.push(thread, site, op);
    }

    /// A region of a lock of its own, in which a thread goes through the array.
    fn walk(&mut self, thread: ThreadId, walk: Walk, write: bool, name: &str) {
        let outer = self.builder.sync(&format!("{name} outer"));
        let inner = self.builder.sync("inner");
        let count = self.count;
        self.lock(thread, outer, name, &mut |pen| {
            for i in 0..count {
                let element = match walk {
                    Walk::Down => count - 1 - i,
                    Walk::Up | Walk::Locked => i,
                };
                // The first half is done at another place than the second.
                let half = if element < count / 2 { "low" } else { "high" };
                let site = format!("{name} {half}");
                let mut access = |pen: &mut Pen| pen.access(thread, element, write, &site);
                match walk {
                    Walk::Locked => pen.lock(thread, inner, &format!("{name} inner"), &mut access),
                    Walk::Up | Walk::Down => access(pen),
                }
            }
        });
    }
}

fn trace(count: usize, walks: [Walk; 2], times: usize) -> Trace {
    let mut pen = Pen {
        builder: Builder::new(),
        count,
    };
    let (writer, reader) = (pen.builder.thread("W"), pen.builder.thread("R"));
    for _ in 0..times {
        pen.walk(writer, walks[0], true, "writer");
        pen.walk(reader, walks[1], false, "reader");
    }
    pen.builder.finish()
}

/// What is predicted: pattern and places.
fn predicted(trace: &Trace) -> BTreeSet<(String, Vec<String>)> {
    let forecast = predict(trace, &Options::default());
    assert!(forecast.is_complete);
    let predictions = forecast.predictions.iter().map(|prediction| {
        let site = |event: &u32| trace.tables.site_name(trace.events[*event as usize].site);
        let sites = prediction.events.iter().map(site).collect();
        (forecast.pattern(prediction).name().to_owned(), sites)
    });
    predictions.collect()
}

#[test]
fn thousands_of_locations_are_as_a_few() {
    for first in WALKS {
        for second in WALKS {
            let few = predicted(&trace(8, [first, second], 1));
            let torn = few
                .iter()
                .filter(|(name, _)| name.starts_with("atomic-set-torn-read"));
            assert!(torn.count() > 1, "{first:?} {second:?}: {few:?}");
            for (count, times) in [(300, 1), (3000, 1), (1000, 3)] {
                let many = predicted(&trace(count, [first, second], times));
                let missing: Vec<_> = few.difference(&many).collect();
                let new: Vec<_> = many.difference(&few).collect();
                assert!(
                    missing.is_empty() && new.is_empty(),
                    "{first:?} {second:?} {count} {times}: {missing:?} {new:?}"
                );
            }
        }
    }
}

/// A large region and many small ones that have two of its locations each.
#[test]
fn small_regions_meet_in_a_large_one() {
    let build = |count: usize| {
        let mut pen = Pen {
            builder: Builder::new(),
            count,
        };
        let (writer, reader) = (pen.builder.thread("W"), pen.builder.thread("R"));
        for i in 0..count / 2 {
            let lock = pen.builder.sync(&format!("pair {i}"));
            pen.lock(writer, lock, "pair", &mut |pen| {
                pen.access(writer, 2 * i, true, "pair first");
                pen.access(writer, 2 * i + 1, true, "pair second");
            });
        }
        pen.walk(reader, Walk::Up, false, "reader");
        predicted(&pen.builder.finish())
    };
    // A half of the large region is read at one place: so there are pairs in either half.
    let few = build(8);
    assert!(
        few.iter()
            .any(|(name, _)| name.starts_with("atomic-set-torn-read"))
    );
    assert_eq!(build(4000), few);
}

/// The writer holds a lock throughout that the reader has at either end of its way, but not
/// in the middle: only two locations of the middle can be read in between two writes. A
/// third thread that reads everything has no region, but it makes all locations open to
/// others.
#[test]
fn a_pair_in_the_middle_is_found_if_only_that_can_happen() {
    let build = |third: usize| {
        let mut pen = Pen {
            builder: Builder::new(),
            count: 3 * third,
        };
        let [writer, reader, other] = ["W", "R", "O"].map(|name| pen.builder.thread(name));
        let [outer, inner, own] = ["outer", "inner", "own"].map(|name| pen.builder.sync(name));
        pen.lock(writer, outer, "writer outer", &mut |pen| {
            pen.lock(writer, inner, "writer inner", &mut |pen| {
                (0..3 * third).for_each(|i| pen.access(writer, i, true, "write"));
            });
        });
        pen.lock(reader, own, "reader own", &mut |pen| {
            let read = |pen: &mut Pen, part: usize| {
                let elements = part * third..(part + 1) * third;
                elements.for_each(|i| pen.access(reader, i, false, "read"));
            };
            pen.lock(reader, inner, "reader first", &mut |pen| read(pen, 0));
            read(pen, 1);
            pen.lock(reader, inner, "reader last", &mut |pen| read(pen, 2));
        });
        (0..3 * third).for_each(|i| pen.access(other, i, false, "other"));
        predicted(&pen.builder.finish())
    };
    let few = build(3);
    let is_torn = |(name, _): &(String, _)| name.starts_with("atomic-set-torn-read");
    assert!(few.iter().any(is_torn), "{few:?}");
    for third in [30, 1000] {
        assert_eq!(build(third), few);
    }
}
