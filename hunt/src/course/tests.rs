//! Hunts in which everything happens as the test says.

use racehound_report::finding::{Access, Frame, Harm, Location};
use racehound_report::journal::{CONFIRMED, Scheduled};

use super::rounds::CRAWLING;
use super::*;
use crate::execution::{Ending, Text};
use crate::witness;

fn settings() -> Settings {
    Settings {
        seed: 1,
        limit: Duration::from_secs(10),
        attempts: 5,
        jobs: 2,
        explorers: 4,
        patience: 2,
        relations: "relations".into(),
        schedules: "schedules".into(),
        trace: "trace".into(),
        store: "store".into(),
        is_library_unseen: false,
        test: None,
    }
}

fn race(lines: [u32; 2], status: Status) -> Finding {
    let access = |line: u32| Access {
        file: Some("a.c".into()),
        line: Some(line),
        site: format!("a.c:{line}"),
        ..Access::default()
    };
    Finding {
        status,
        accesses: lines.map(access).to_vec(),
        found_by: vec!["hybrid".into()],
        ..Finding::default()
    }
}

fn executed(ending: Ending, findings: Vec<Finding>) -> Result {
    Result::Executed(Box::new(Execution {
        ending,
        findings,
        scheduled: None,
        output: Text::default(),
        complaints: Text::default(),
        elapsed: Duration::from_millis(1),
    }))
}

fn well() -> Result {
    executed(Ending::Code(0), Vec::new())
}

fn confirmed(suspect: &Suspect, harm: Option<Harm>) -> Result {
    let mut finding = suspect.finding.clone().unwrap();
    finding.status = Status::Confirmed;
    finding.harm = harm;
    Result::Tried(Outcome {
        findings: vec![finding],
        seed: Some(1),
        runs: 4,
        unvisited: Vec::new(),
        varies: false,
    })
}

/// Goes through a hunt; what came of each task is for `act` to say.
fn hunted(act: impl FnMut(&Task) -> Result) -> (Course, Vec<Phase>) {
    hunted_by(settings(), act)
}

fn hunted_by(settings: Settings, mut act: impl FnMut(&Task) -> Result) -> (Course, Vec<Phase>) {
    let mut course = Course::new(settings, Vec::new(), 0);
    let mut phases = Vec::new();
    while let Some((phase, tasks)) = course.round() {
        assert!(phases.len() < 50, "the hunt does not end");
        phases.push(phase);
        for task in &tasks {
            let result = act(task);
            course.learn(task, result);
        }
    }
    (course, phases)
}

/// The rounds in which the program is observed.
fn observe(course: &mut Course, mut act: impl FnMut(&Task) -> Result) {
    while !course.unobserved.is_empty() {
        let (phase, tasks) = course.round().unwrap();
        assert_eq!(phase, Phase::Observing);
        for task in &tasks {
            let result = act(task);
            course.learn(task, result);
        }
    }
}

#[test]
fn what_does_not_end_by_itself_is_looked_at_under_control() {
    let mut free = 0;
    hunted(|task| match task {
        Task::Usual(_) => {
            free += 1;
            executed(Ending::Limit, Vec::new())
        }
        Task::Explore(assignment) => {
            assert_ne!(assignment.schedule, Plan::Free);
            executed(Ending::Limit, Vec::new())
        }
        _ => well(),
    });
    assert_eq!(free, 1);
}

#[test]
fn what_hangs_at_times_is_looked_at_under_control_before_time_is_spent_on_it() {
    let mut tasks = Vec::new();
    hunted(|task| {
        let plan = match task {
            Task::Usual(_) => "usual",
            Task::Explore(Assignment {
                schedule: Plan::Free,
                ..
            }) => "free",
            Task::Explore(_) => "controlled",
            _ => "other",
        };
        tasks.push(plan);
        let hangs = plan == "usual" && tasks.len() == 3;
        let ending = if hangs {
            Ending::Limit
        } else {
            Ending::Code(0)
        };
        executed(ending, Vec::new())
    });
    let first = tasks.iter().position(|task| *task == "controlled").unwrap();
    assert_eq!(tasks[..first], ["usual", "usual", "usual", "free"]);
    assert_eq!(tasks.iter().filter(|task| **task == "free").count(), 5);
}

#[test]
fn a_detector_that_takes_too_long_is_not_the_programs_fault() {
    let mut explorers = Vec::new();
    let (course, _) = hunted(|task| match task {
        Task::Explore(assignment) => {
            if assignment.schedule != Plan::Free {
                explorers.push(assignment.detector.clone());
            }
            match assignment.detector == "hybrid" {
                true => executed(Ending::Limit, Vec::new()),
                false => well(),
            }
        }
        _ => well(),
    });
    assert_eq!(course.stuck(), 0);
    assert!(explorers.contains(&"acculock".to_owned()), "{explorers:?}");
    assert!(!explorers.contains(&"hybrid".to_owned()), "{explorers:?}");
}

#[test]
fn a_hunt_ends_when_nothing_turns_up() {
    let (course, phases) = hunted(|_| well());
    assert_eq!(
        phases,
        [
            Phase::Observing,
            Phase::Observing,
            Phase::Observing,
            Phase::Exploring,
            Phase::Exploring
        ]
    );
    assert!(course.findings().is_empty());
    assert_eq!(course.runs(), 3 + 5 + 2 * 4);
}

#[test]
fn each_suspect_is_tried_once_and_what_is_new_keeps_the_hunt_going() {
    let mut tried = Vec::new();
    let (course, phases) = hunted(|task| match task {
        Task::Explore(assignment) => match &assignment.schedule {
            Plan::Free => executed(Ending::Code(0), vec![race([1, 2], Status::Predicted)]),
            _ => executed(Ending::Code(0), vec![race([4, 3], Status::Observed)]),
        },
        Task::Confirm(suspect) => {
            tried.push(suspect.pair.to_string());
            confirmed(suspect, None)
        }
        _ => well(),
    });
    assert_eq!(tried, ["a.c:1,a.c:2", "a.c:4,a.c:3"]);
    let statuses: Vec<_> = course.findings().iter().map(|f| f.status).collect();
    assert_eq!(statuses, [Status::Confirmed; 2]);
    use Phase::{Confirming, Exploring, Observing};
    let expected = [
        Observing, Observing, Observing, Confirming, Exploring, Confirming, Exploring, Exploring,
    ];
    assert_eq!(phases, expected);
}

#[test]
fn what_was_seen_stays_seen_though_it_does_not_meet() {
    let (course, _) = hunted(|task| match task {
        Task::Explore(_) => executed(
            Ending::Code(0),
            vec![
                race([1, 2], Status::Observed),
                race([1, 3], Status::Predicted),
            ],
        ),
        Task::Confirm(suspect) => Result::Tried(Outcome {
            findings: vec![Finding {
                status: Status::Unreproduced,
                ..suspect.finding.clone().unwrap()
            }],
            seed: None,
            runs: 8,
            unvisited: Vec::new(),
            varies: false,
        }),
        Task::Witness(finding, _) => {
            assert_eq!(finding.status, Status::Observed);
            Result::Followed(5, Vec::new())
        }
        _ => well(),
    });
    let statuses: Vec<_> = course.findings().iter().map(|f| f.status).collect();
    assert_eq!(statuses, [Status::Observed, Status::Unreproduced]);
}

#[test]
fn what_cannot_meet_is_confirmed_if_a_detector_sees_it_each_time() {
    let plan = Plan::Random { seed: 3 };
    let mut tried = Vec::new();
    let (course, _) = hunted(|task| match task {
        Task::Explore(assignment) => match &assignment.schedule {
            Plan::Free => well(),
            _ => executed(Ending::Code(0), vec![race([1, 2], Status::Observed)]),
        },
        Task::Confirm(suspect) => Result::Tried(Outcome {
            findings: vec![suspect.finding.clone().unwrap()],
            seed: None,
            runs: 8,
            unvisited: Vec::new(),
            varies: false,
        }),
        Task::Witness(_, assignments) => {
            tried.extend(assignments.iter().map(|a| a.schedule.name()));
            assert!(assignments.iter().all(|a| a.detector == witness::PRECISE));
            let Result::Executed(crash) = executed(Ending::Signal(11), Vec::new()) else {
                unreachable!();
            };
            Result::Followed(2, vec![(plan.clone(), *crash)])
        }
        _ => well(),
    });
    // First as it was seen, then by chance.
    assert_eq!(tried[..2], ["replay", "random"]);
    let [finding] = &course.findings()[..] else {
        panic!("{:?}", course.findings());
    };
    assert_eq!(finding.status, Status::Confirmed);
    assert_eq!(finding.schedule, Some(plan.to_string()));
    assert_eq!(finding.harm.as_ref().unwrap().detail, "SIGSEGV");
}

#[test]
fn what_a_detector_sees_is_no_proof_where_a_library_is_unseen() {
    let unseen = Settings {
        is_library_unseen: true,
        ..settings()
    };
    let (course, _) = hunted_by(unseen, |task| match task {
        Task::Explore(_) => executed(Ending::Code(0), vec![race([1, 2], Status::Observed)]),
        Task::Confirm(suspect) => Result::Tried(Outcome {
            findings: vec![suspect.finding.clone().unwrap()],
            seed: None,
            runs: 8,
            unvisited: Vec::new(),
            varies: false,
        }),
        Task::Witness(..) => panic!("a detector is asked again"),
        _ => well(),
    });
    let statuses: Vec<_> = course.findings().iter().map(|f| f.status).collect();
    assert_eq!(statuses, [Status::Predicted]);
}

#[test]
fn a_failure_counts_if_its_schedule_repeats_it() {
    for repeats in [true, false] {
        let (course, _) = hunted(|task| match task {
            Task::Explore(Assignment {
                schedule: Plan::DrFinder { .. },
                ..
            }) => executed(Ending::Signal(11), Vec::new()),
            Task::Repeat(_, assignment) => {
                let plan = assignment.schedule.to_string();
                assert!(plan.starts_with("replay:file=schedules/"), "{plan}");
                match repeats {
                    true => executed(Ending::Signal(11), Vec::new()),
                    false => well(),
                }
            }
            _ => well(),
        });
        let kinds: Vec<_> = course
            .findings()
            .iter()
            .map(|f| (f.kind.clone(), f.status))
            .collect();
        match repeats {
            true => assert_eq!(kinds, [(Kind::Failure, Status::Confirmed)]),
            false => assert!(kinds.is_empty()),
        }
    }
}

#[test]
fn what_fails_by_itself_at_times_has_to_fail_each_time_by_its_schedule() {
    for luck in [9, 10] {
        let (mut free, mut repeats) = (0, 0);
        let (course, _) = hunted(|task| match task {
            Task::Usual(_) => {
                free += 1;
                match free {
                    2 | 4 => executed(Ending::Signal(11), Vec::new()),
                    _ => well(),
                }
            }
            Task::Explore(Assignment {
                schedule: Plan::Random { seed: 2 },
                ..
            }) => executed(Ending::Signal(11), Vec::new()),
            Task::Repeat(..) if repeats < luck => {
                repeats += 1;
                executed(Ending::Signal(11), Vec::new())
            }
            _ => well(),
        });
        assert_eq!((free, repeats), (4, luck));
        let found: Vec<_> = course.findings().iter().map(|f| f.status).collect();
        match luck {
            10 => assert_eq!(found, [Status::Confirmed]),
            _ => assert!(found.is_empty(), "{found:?}"),
        }
    }
}

#[test]
fn a_failure_that_a_race_explains_is_not_told_twice() {
    let crash = Harm {
        kind: "crash".into(),
        detail: "SIGSEGV".into(),
        ..Harm::default()
    };
    let (course, _) = hunted(|task| match task {
        Task::Explore(assignment) if assignment.schedule != Plan::Free => {
            executed(Ending::Signal(11), vec![race([1, 2], Status::Observed)])
        }
        Task::Repeat(..) => executed(Ending::Signal(11), Vec::new()),
        Task::Confirm(suspect) => confirmed(suspect, Some(crash.clone())),
        _ => well(),
    });
    let kinds: Vec<_> = course.findings().iter().map(|f| f.kind.clone()).collect();
    assert_eq!(kinds, [Kind::Race]);
}

#[test]
fn a_prediction_that_cannot_be_tried_otherwise_counts_as_tried_if_it_was_followed() {
    for (runs, status) in [(2, Status::Unreproduced), (0, Status::Predicted)] {
        let mut course = Course::new(settings(), Vec::new(), 0);
        observe(&mut course, |_| well());
        let mut freed_in_a_library = race([1, 2], Status::Predicted);
        freed_in_a_library.accesses[1].file = None;
        freed_in_a_library.accesses[1].line = None;
        course.predict(freed_in_a_library, &["a".into()]);
        let (_, tasks) = course.round().unwrap();
        course.learn(&tasks[0], Result::Followed(runs, Vec::new()));
        assert_eq!(course.findings()[0].status, status);
        assert_eq!(course.open(), 0);
    }
}

#[test]
fn a_prediction_is_followed_and_goes_to_racefuzzer_if_that_fails() {
    for happens in [true, false] {
        let mut course = Course::new(settings(), Vec::new(), 0);
        observe(&mut course, |_| well());
        let lost_update = Finding {
            kind: Kind::Atomicity,
            ..race([1, 1], Status::Predicted)
        };
        course.predict(lost_update, &["a".into()]);
        course.predict(race([2, 3], Status::Predicted), &["b".into(), "c".into()]);
        let (phase, tasks) = course.round().unwrap();
        assert_eq!((phase, tasks.len()), (Phase::Confirming, 2));
        for task in &tasks {
            let Task::Follow(_, assignments) = task else {
                panic!("{task:?}");
            };
            let Result::Executed(crash) = executed(Ending::Signal(11), Vec::new()) else {
                unreachable!();
            };
            let plan = assignments[0].schedule.clone();
            let happened = happens.then_some((plan, *crash)).into_iter().collect();
            course.learn(task, Result::Followed(2, happened));
        }
        let findings = course.findings();
        if happens {
            let statuses: Vec<_> = findings.iter().map(|f| f.status).collect();
            assert_eq!(statuses, [Status::Confirmed; 2]);
            let plan = findings[0].schedule.as_deref();
            assert_eq!(plan, Some("follow:file=a"));
            assert_eq!(findings[0].harm.as_ref().unwrap().detail, "SIGSEGV");
        } else {
            let (_, tasks) = course.round().unwrap();
            assert!(matches!(&tasks[..], [Task::Confirm(_)]), "{tasks:?}");
            let failed = findings.iter().find(|f| f.kind == Kind::Atomicity);
            assert_eq!(failed.unwrap().status, Status::Unreproduced);
        }
    }
}

#[test]
fn a_race_that_racefuzzer_cannot_bring_about_may_have_a_schedule() {
    for happens in [true, false] {
        let mut course = Course::new(settings(), Vec::new(), 0);
        observe(&mut course, |task| match task {
            Task::Explore(_) => executed(Ending::Code(0), vec![race([2, 3], Status::Predicted)]),
            _ => well(),
        });
        course.predict(race([2, 3], Status::Predicted), &["a".into()]);
        let (_, tasks) = course.round().unwrap();
        let [Task::Confirm(suspect)] = &tasks[..] else {
            panic!("{tasks:?}");
        };
        let in_vain = Finding {
            found_by: vec!["hybrid".into(), "racefuzzer".into()],
            status: Status::Unreproduced,
            ..suspect.finding.clone().unwrap()
        };
        let outcome = Outcome {
            findings: vec![in_vain],
            seed: None,
            runs: 5,
            unvisited: Vec::new(),
            varies: false,
        };
        course.learn(&tasks[0], Result::Tried(outcome));
        let (_, tasks) = course.round().unwrap();
        let [Task::Follow(_, assignments)] = &tasks[..] else {
            panic!("{tasks:?}");
        };
        let Result::Executed(ended) = well() else {
            unreachable!();
        };
        let plan = assignments[0].schedule.clone();
        let happened = happens.then_some((plan, *ended)).into_iter().collect();
        course.learn(&tasks[0], Result::Followed(2, happened));
        let [finding] = &course.findings()[..] else {
            panic!("{:?}", course.findings());
        };
        let (status, by) = match happens {
            true => (Status::Confirmed, vec!["hybrid".to_owned()]),
            false => (
                Status::Unreproduced,
                vec!["hybrid".into(), "racefuzzer".into()],
            ),
        };
        assert_eq!((finding.status, finding.found_by.clone()), (status, by));
        // Nothing goes to and fro.
        let (phase, _) = course.round().unwrap();
        assert_eq!(phase, Phase::Exploring);
    }
}

#[test]
fn a_guess_is_confirmed_only_if_the_program_fails_of_it() {
    let printed = |text: &str| {
        let Result::Executed(execution) = well() else {
            unreachable!();
        };
        Execution {
            output: Text::of(text.as_bytes()),
            ..*execution
        }
    };
    let Result::Executed(crash) = executed(Ending::Signal(11), Vec::new()) else {
        unreachable!();
    };
    for (comes_of_it, status) in [
        (*crash, Some(Status::Confirmed)),
        (printed("2 1"), Some(Status::Predicted)),
        (printed("1 2"), None),
    ] {
        let mut course = Course::new(settings(), Vec::new(), 0);
        observe(&mut course, |_| Result::Executed(Box::new(printed("1 2"))));
        let torn = Finding {
            kind: Kind::AtomicSet,
            ..race([1, 2], Status::Predicted)
        };
        course.guess(torn, &["a".into()]);
        let (_, tasks) = course.round().unwrap();
        let [Task::Guess(_, assignments)] = &tasks[..] else {
            panic!("{tasks:?}");
        };
        let happened = vec![(assignments[0].schedule.clone(), comes_of_it)];
        course.learn(&tasks[0], Result::Followed(2, happened));
        assert_eq!(course.findings().first().map(|f| f.status), status);
    }
}

#[test]
fn nobody_else_has_a_block_while_it_is_allocated() {
    for (function, status, is_told) in [
        ("calloc", Status::Predicted, false),
        ("operator new(unsigned long)", Status::Predicted, false),
        ("calloc", Status::Observed, true),
        ("fill", Status::Predicted, true),
    ] {
        let mut finding = race([1, 2], status);
        finding.accesses[0].stack = vec![Frame {
            function: function.into(),
            file: None,
            line: None,
            column: None,
            module: None,
            offset: None,
        }];
        let mut course = Course::new(settings(), Vec::new(), 0);
        observe(&mut course, |task| match task {
            Task::Explore(_) => executed(Ending::Code(0), vec![finding.clone()]),
            _ => well(),
        });
        assert_eq!(!course.findings().is_empty(), is_told, "{function}");
    }
}

#[test]
fn a_guess_of_which_the_program_fails_at_times_by_itself_has_to_fail_each_time() {
    let crash = || match executed(Ending::Signal(11), Vec::new()) {
        Result::Executed(execution) => Execution {
            scheduled: Some(Scheduled {
                fate: Some(CONFIRMED.to_owned()),
                ..Scheduled::default()
            }),
            ..*execution
        },
        _ => unreachable!(),
    };
    for fails_each_time in [true, false] {
        let mut course = Course::new(settings(), Vec::new(), 0);
        let mut usual = 0;
        observe(&mut course, |task| {
            usual += u32::from(matches!(task, Task::Usual(_)));
            match usual {
                2 | 4 => executed(Ending::Signal(11), Vec::new()),
                _ => well(),
            }
        });
        let torn = Finding {
            kind: Kind::AtomicSet,
            ..race([1, 2], Status::Predicted)
        };
        course.guess(torn, &["a".into()]);
        let (_, tasks) = course.round().unwrap();
        let [Task::Guess(_, assignments)] = &tasks[..] else {
            panic!("{tasks:?}");
        };
        let happened = vec![(assignments[0].schedule.clone(), crash())];
        course.learn(&tasks[0], Result::Followed(2, happened));
        let mut times = 0;
        while let Some((Phase::Confirming, tasks)) = course.round() {
            assert!(course.findings().is_empty());
            times += 1;
            let result = match fails_each_time || times < 4 {
                true => Result::Executed(Box::new(crash())),
                false => well(),
            };
            course.learn(&tasks[0], result);
        }
        let found: Vec<Status> = course.findings().iter().map(|f| f.status).collect();
        match fails_each_time {
            true => assert_eq!((found, times > 4), (vec![Status::Confirmed], true)),
            false => assert_eq!((found, times), (Vec::new(), 4)),
        }
    }
}

#[test]
fn what_was_found_before_is_tried_again() {
    let earlier = Finding {
        schedule: Some("random:seed=7".into()),
        harm: Some(Harm {
            kind: "crash".into(),
            ..Harm::default()
        }),
        ..race([1, 2], Status::Confirmed)
    };
    for (result, is_of_this_build, status) in [
        (Some(true), false, Some(Status::Confirmed)),
        (Some(false), true, None),
        (None, true, Some(Status::Confirmed)),
        (None, false, None),
    ] {
        let finding = earlier.clone();
        let earlier = Earlier {
            finding,
            is_of_this_build,
        };
        let mut course = Course::new(settings(), vec![earlier], 0);
        observe(&mut course, |task| match (task, result) {
            (Task::Repeat(finding, _), Some(true)) => {
                executed(Ending::Code(0), vec![(**finding).clone()])
            }
            (Task::Repeat(..), None) => Result::Dropped,
            _ => well(),
        });
        assert_eq!(course.findings().first().map(|f| f.status), status);
    }
}

#[test]
fn what_was_found_before_is_kept_if_the_hunt_ends_before_it_is_certain() {
    for is_of_this_build in [true, false] {
        let crash = Finding {
            kind: Kind::Failure,
            schedule: Some("random:seed=7".into()),
            harm: Some(Harm {
                kind: "crash".into(),
                ..Harm::default()
            }),
            ..race([1, 2], Status::Confirmed)
        };
        let earlier = Earlier {
            finding: crash,
            is_of_this_build,
        };
        let mut course = Course::new(settings(), vec![earlier], 0);
        observe(&mut course, |task| match task {
            Task::Repeat(..) => executed(Ending::Signal(11), Vec::new()),
            _ => well(),
        });
        assert!(course.findings().is_empty());
        course.close();
        assert_eq!(course.findings().len(), usize::from(is_of_this_build));
    }
}

#[test]
fn where_there_is_one_thread_nothing_is_explored() {
    let mut course = Course::new(settings(), Vec::new(), 0);
    observe(&mut course, |_| well());
    course.has_one_thread();
    assert!(course.round().is_none());
}

#[test]
fn a_deadlock_of_more_threads_is_the_same_as_one_of_fewer() {
    let stuck = |lines: &[u32], name: &str| {
        let access = |line: &u32| Access {
            site: format!("a.c:{line}"),
            ..Access::default()
        };
        Finding {
            kind: Kind::Deadlock,
            status: Status::Confirmed,
            accesses: lines.iter().map(access).collect(),
            location: Location {
                name: name.to_owned(),
                ..Location::default()
            },
            harm: Some(Harm::default()),
            ..Finding::default()
        }
    };
    let told = |deadlocks: &[(&[u32], &str)]| -> Vec<String> {
        let mut course = Course::new(settings(), Vec::new(), 0);
        for (lines, name) in deadlocks {
            course.add(stuck(lines, name));
        }
        let all = course.findings();
        all.iter().map(|f| f.accesses[0].site.clone()).collect()
    };
    let threads = "thread 0.1, 0.2";
    let of_threads: [(&[u32], &str); 3] = [
        (&[1, 2, 3], threads),
        (&[1, 2], threads),
        (&[4, 5], threads),
    ];
    assert_eq!(told(&of_threads), ["a.c:1", "a.c:4"]);
    let of_locks: [(&[u32], &str); 3] =
        [(&[9, 2, 3], "a, b"), (&[4, 5], "b, a"), (&[6, 7], "b, c")];
    assert_eq!(told(&of_locks), ["a.c:4", "a.c:6"]);
    // However many wait for the notice.
    let of_a_condition: [(&[u32], &str); 2] = [(&[1, 1, 2], "c"), (&[1, 2], "c")];
    assert_eq!(told(&of_a_condition), ["a.c:1"]);
}

/// Executions that are looked at as a whole and those that are sampled, of a program that
/// takes so long under a detector.
fn watched(elapsed: Duration) -> (usize, usize) {
    let (mut whole, mut sampled) = (0, 0);
    hunted(|task| {
        if let Task::Explore(assignment) = task
            && assignment.schedule == Plan::Free
            && assignment.detector == "fasttrack"
        {
            match assignment.sample {
                Some(_) => sampled += 1,
                None => whole += 1,
            }
        }
        Result::Executed(Box::new(Execution {
            ending: Ending::Code(0),
            findings: Vec::new(),
            scheduled: None,
            output: Text::default(),
            complaints: Text::default(),
            elapsed,
        }))
    });
    (whole, sampled)
}

#[test]
fn what_runs_for_long_is_looked_at_as_a_whole_once() {
    assert_eq!(watched(Duration::from_millis(900)), (2, 0));
    // Once more while observing, and once in each round of exploring.
    assert_eq!(watched(Duration::from_millis(1100)), (1, 3));
}

#[test]
fn sampled_executions_have_a_cost_of_their_own() {
    let mut course = Course::new(settings(), Vec::new(), 0);
    let task = Task::Explore(course.sampled());
    course.learn(&task, well());
    assert_eq!(course.costs()[0].technique, "fasttrack, sampled");
}

#[test]
fn many_suspects_do_not_keep_from_exploring() {
    let mut is_first = true;
    let (course, phases) = hunted(|task| match task {
        Task::Explore(assignment) if assignment.detector == "acculock" && is_first => {
            is_first = false;
            let suspects = (1..=10).map(|line| race([line, 20], Status::Predicted));
            executed(Ending::Code(0), suspects.collect())
        }
        Task::Confirm(suspect) => Result::Tried(Outcome {
            findings: suspect.finding.clone().into_iter().collect(),
            seed: None,
            runs: 5,
            unvisited: Vec::new(),
            varies: false,
        }),
        _ => well(),
    });
    let after = &phases[3..];
    let (confirming, exploring) = (Phase::Confirming, Phase::Exploring);
    let begin = [confirming, exploring, confirming, exploring, confirming];
    assert!(after.starts_with(&begin), "{after:?}");
    assert_eq!(course.open(), 0);
    assert_eq!(course.findings().len(), 10);
}

/// How an execution ends whose time is up, and when.
fn ended_after(seconds: u64) -> Result {
    Result::Executed(Box::new(Execution {
        ending: Ending::Limit,
        findings: Vec::new(),
        scheduled: None,
        output: Text::default(),
        complaints: Text::default(),
        elapsed: Duration::from_secs(seconds),
    }))
}

#[test]
fn who_is_slow_does_not_hang() {
    let takes_a_second = || {
        let Result::Executed(mut execution) = well() else {
            unreachable!()
        };
        execution.elapsed = Duration::from_secs(1);
        Result::Executed(execution)
    };
    let mut controlled = 0;
    let (course, _) = hunted(|task| match task {
        Task::Usual(_) => takes_a_second(),
        Task::Explore(Assignment { schedule, .. }) => {
            controlled += u32::from(*schedule != Plan::Free);
            ended_after(10)
        }
        _ => ended_after(30),
    });
    assert_eq!(course.findings(), []);
    assert_eq!((course.stuck(), course.unfinished() > 0), (0, true));
    // From some time on nobody tries in vain.
    assert_eq!(controlled, CRAWLING);
    let (course, _) = hunted(|task| match task {
        Task::Usual(_) => takes_a_second(),
        Task::Explore(Assignment { schedule, .. }) if *schedule == Plan::Free => takes_a_second(),
        _ => ended_after(60),
    });
    assert_eq!(course.findings()[0].status, Status::Confirmed);
    assert_eq!(course.unfinished(), 0);
}

#[test]
fn what_fails_in_company_only_is_refuted_alone_and_makes_room() {
    // Two executions at a time: who is not the only one of its round fails.
    let mut course = Course::new(settings(), Vec::new(), 0);
    let mut recordings = Vec::new();
    for _ in 0..50 {
        let Some((_, tasks)) = course.round() else {
            break;
        };
        let ending = match tasks.len() > 1 && !course.is_crowded() {
            true => Ending::Code(1),
            false => Ending::Code(0),
        };
        for task in &tasks {
            let result = match task {
                Task::Usual(_) | Task::Explore(_) | Task::Repeat(..) => {
                    executed(ending, Vec::new())
                }
                _ => Result::Followed(1, Vec::new()),
            };
            course.learn(task, result);
            if matches!(task, Task::Explore(assignment) if assignment.record.is_some()) {
                recordings.push((tasks.len() > 1, course.is_recorded()));
            }
        }
    }
    assert!(course.is_crowded());
    assert_eq!(course.findings(), []);
    assert_eq!(
        recordings,
        [(true, true)],
        "in a round of its own if crowded"
    );
}

#[test]
fn what_was_recorded_in_company_is_recorded_again_alone_if_it_failed() {
    let mut recordings = Vec::new();
    hunted(|task| {
        let recorded = matches!(task, Task::Explore(assignment) if assignment.record.is_some());
        let ending = match recorded && recordings.is_empty() {
            true => Ending::Code(1),
            false => Ending::Code(0),
        };
        if recorded {
            recordings.push(ending);
        }
        executed(ending, Vec::new())
    });
    assert_eq!(recordings, [Ending::Code(1), Ending::Code(0)]);
}
