//! Schedules there and back, and texts that are none.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

const WHOLE: &str = "\
racehound schedule 2
plan racefuzzer:seed=7,pair=bank.c:12,bank.c:30
fingerprint 9c52ab31f00d7e44
anomaly atomicity atomicity-r-w-r
watch bank+0x11d0

0 x3
  fork bank.c:40
  fork bank.c:41
  notify-one bank.c:42
notifies 0.2
0.2 x13
  acquire bank.c:29
  x10 write bank+0x11d0
  e2(s1) write bank+0x11d0
  step if z == 1
0.1 x1
end
";

fn error(moves: &str) -> String {
    let text = format!("racehound schedule 1\n{moves}");
    text.parse::<Schedule>().unwrap_err().to_string()
}

#[test]
fn the_text_reads_like_the_run() {
    let schedule: Schedule = WHOLE.parse().unwrap();
    assert_eq!(schedule.to_string(), WHOLE);
    assert_eq!(schedule.moves().len(), 4);
    let lines = [(0, 0), (0, 2), (0, 3), (1, 0), (2, 1), (3, 0)];
    let lines = lines.map(|(r#move, points)| schedule.line(r#move, points));
    assert_eq!(lines, [8, 10, 7, 11, 14, 17].map(Some));
    assert_eq!(Schedule::new(schedule.moves().to_vec()).line(0, 0), None);
    assert_eq!(schedule.watched, ["bank+0x11d0"]);
    let brief = "0 x3\nnotifies 0.2\n0.2 x13\n0.1 x1\nend\n";
    assert!(schedule.in_brief().to_string().ends_with(brief));
}

#[test]
fn comments_blanks_and_indentation_say_nothing() {
    let text = "\r\n# by hand\n\tracehound schedule 1\n\n  0.1\n#x\n  x2 read a b\n";
    let expected = "racehound schedule 1\n0.1 x2\nx2 read a b";
    assert!(text.parse::<Schedule>().is_err(), "two of one");
    let text = text.replace("0.1", "0.1   x2");
    assert_eq!(text.parse::<Schedule>(), expected.parse());
}

#[test]
fn whatever_is_cut_off_is_missed() {
    for end in 0..WHOLE.len() - 1 {
        assert!(WHOLE[..end].parse::<Schedule>().is_err(), "{end}");
    }
    let cut = WHOLE.strip_suffix("\nend\n").unwrap();
    assert_eq!(
        cut.parse::<Schedule>().unwrap_err().to_string(),
        "line 17: the schedule is cut short: its last line must be `end`"
    );
    let old = cut.replacen('2', "1", 1);
    assert_eq!(old.parse::<Schedule>(), WHOLE.parse());
}

#[test]
fn errors_say_where_and_what() {
    let none = |text: &str| text.parse::<Schedule>().unwrap_err().to_string();
    assert_eq!(
        none(""),
        "line 1: no schedule: expected `racehound schedule 2`, found \"\""
    );
    assert_eq!(
        none("# hello\nracehound schedule 3\n"),
        "line 2: a schedule of version \"3\"; this racehound knows versions 1 and 2"
    );
    for (moves, message) in [
        (
            "0 x3\n\n0.x1",
            "line 4: expected a thread by its place among its creator's children, such as `0` \
             for main or `0.2`, found \"0.x1\"",
        ),
        (
            "0 3",
            "line 2: expected how often thread 0 goes, such as `x3`, found \"3\"",
        ),
        (
            "0 x0",
            "line 2: `x0`: nothing is done no times; remove the line",
        ),
        (
            "0 x99999999999999999999",
            "line 2: `x99999999999999999999` is more often than anything can happen",
        ),
        (
            "write bank.c:1",
            "line 2: `write` of whom? A line such as `0.1 x3` must come first",
        ),
        (
            "0 x2\nx3 write a",
            "line 3: thread 0 goes only 2 times here: raise its `x2` or remove a line",
        ),
        (
            "0 x2\nread a\\b",
            "line 3: `\\b`: a backslash is written `\\\\`, others `\\u{41}`",
        ),
        ("watch", "line 2: watch what? A site is missing"),
        (
            "plan rndom",
            "line 2: no strategy is called \"rndom\"; there are free, sequential, random, restless, \
             overtake, embrace, pct, \
             contest, racefuzzer, drfinder, collect, replay, follow",
        ),
        (
            "anomaly race",
            "line 2: expected a kind and a name, such as `anomaly race race-w-r`, found \"race\"",
        ),
        (
            "fingerprint xyz",
            "line 2: expected a fingerprint of up to 16 hexadecimal digits, found \"xyz\"",
        ),
    ] {
        assert_eq!(error(moves), message, "{moves}");
    }
    assert!(error("0\nwrte a").starts_with("line 3: `wrte` means nothing here: expected a thread"));
}

fn threads() -> impl Strategy<Value = String> {
    vec(0..30u32, 1..4).prop_map(|path| {
        let ordinals: Vec<_> = path.iter().map(u32::to_string).collect();
        ordinals.join(".")
    })
}

fn points() -> impl Strategy<Value = Points> {
    let kind = prop::option::of(prop::sample::select(Kind::ALL));
    let name = prop_oneof!["[ -~]{0,12}", any::<String>(), "[\\\\ \t\n\ru{}#x3]{0,6}"];
    let mark = (0..9usize, 0..9usize).prop_map(|(event, variable)| Mark { event, variable });
    let mark = prop::option::of(mark);
    (1..5u64, kind, name, mark).prop_map(|(times, kind, site, mark)| Points {
        times: if mark.is_some() { 1 } else { times },
        point: Point { kind, site },
        mark,
    })
}

fn moves() -> impl Strategy<Value = Move> {
    let run = (threads(), 0..3u64, vec(points(), 0..4)).prop_map(|(thread, more, points)| {
        let said: u64 = points.iter().map(|p| p.times).sum();
        Move::Run {
            thread,
            times: (said + more).max(1),
            points,
        }
    });
    prop_oneof![
        4 => run,
        1 => threads().prop_map(|thread| Move::Notify { thread }),
        1 => Just(Move::Time),
    ]
}

fn schedules() -> impl Strategy<Value = Schedule> {
    let plan = prop::option::of(any::<u64>().prop_map(|seed| Plan::Random { seed }));
    let fingerprint = prop::option::of(any::<u64>().prop_map(|word| {
        let mut fingerprint = Fingerprint::new();
        fingerprint.add(word);
        fingerprint
    }));
    let watched = vec("[ -~]{0,9}[^ ]", 0..3);
    let anomaly = ("[a-z-]{1,8}", "[ -~]{0,9}[^ ]").prop_map(|(kind, name)| Anomaly { kind, name });
    let anomaly = prop::option::of(anomaly);
    (plan, fingerprint, watched, anomaly, vec(moves(), 0..8)).prop_map(
        |(plan, fingerprint, watched, anomaly, moves)| Schedule {
            plan,
            fingerprint,
            watched,
            anomaly,
            ..Schedule::new(moves)
        },
    )
}

proptest! {
    #[test]
    fn a_schedule_survives_its_text(schedule in schedules()) {
        let text = schedule.to_string();
        prop_assert_eq!(text.parse::<Schedule>(), Ok(schedule), "{}", text);
    }

    #[test]
    fn arbitrary_text_is_refused(text in any::<String>()) {
        prop_assert!(text.parse::<Schedule>().is_err());
    }

    /// Damage may leave a schedule, but then one that survives its own text;
    /// else the error is about a line there is.
    #[test]
    fn damage_is_an_error_or_another_schedule(
        schedule in schedules(),
        damage in vec((any::<prop::sample::Index>(), "[ -~\n]{0,3}", 0..4usize), 1..4),
    ) {
        let mut text: Vec<char> = schedule.to_string().chars().collect();
        for (at, insert, remove) in damage {
            let at = at.index(text.len() + 1);
            let end = (at + remove).min(text.len());
            text.splice(at..end, insert.chars());
        }
        let text: String = text.into_iter().collect();
        match text.parse::<Schedule>() {
            Ok(schedule) => prop_assert_eq!(schedule.to_string().parse(), Ok(schedule)),
            Err(error) => {
                prop_assert!((1..=text.lines().count().max(1)).contains(&error.line));
                prop_assert!(!error.what.is_empty());
            }
        }
    }
}
