//! Patterns of two threads on one variable, of which one acts in a region of the other:
//! atomicity violations.
//!
//! # The idea
//! Whoever goes through all accesses of all regions finds the same few places over and
//! over, in thousands of objects. So one location is taken at a time, and what regions do
//! with it, as [courses](super::courses):
//! whatever is the same but for memory, time and thread is one. Two courses, and which of their
//! contexts let each other, say which accesses locks allow to fit the pattern. Once all
//! of these have been settled, two regions with the same courses and the same leave are
//! passed at once, whatever they are about. So the work is in the number of courses, and
//! of places, and hardly in the number of events.
//!
//! # What is left
//! Order in time is not in a course. Where that speaks against accesses that locks
//! allow, every two regions are looked at, by bisection over their moments.

use std::ops::Range;
use std::rc::Rc;

use racehound_trace::SiteId;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::pattern::{Pattern, Step};

use super::courses::{Course, CourseId, Courses, Excerpt, Leave, Share, Shares, Wish};
use super::{Places, Search, Unit, units};

/// Whether a pattern is of two threads on one variable, and one of them acts once, in a
/// region of the other.
pub(super) fn is_single(pattern: &Pattern) -> bool {
    let steps = pattern.steps();
    let one_variable = steps.iter().all(|step| step.variable == 0);
    one_variable
        && matches!(&units(steps)[..], [host, guest]
            if host.thread != guest.thread && host.is_anchor && guest.steps.len() == 1)
}

/// A pattern of two units.
struct Couple {
    pattern: usize,
    steps: Rc<[Step]>,
    units: [Unit; 2],
    /// By unit, the number of what it wants.
    wishes: [usize; 2],
    /// Accesses of one unit that come between two of the other one.
    intrusions: Vec<Intrusion>,
}

/// Steps are numbered within their units.
struct Intrusion {
    /// Whose accesses these are between.
    host: usize,
    /// The first of the two.
    behind: usize,
    /// The other unit's step.
    guest: usize,
}

impl Couple {
    fn new(pattern: usize, steps: &[Step], wishes: &mut Vec<Wish>) -> Option<Self> {
        let units: [Unit; 2] = units(steps).try_into().ok()?;
        let wish = |unit: &Unit| -> Wish {
            let variables: Vec<usize> = unit.steps.iter().map(|s| steps[*s].variable).collect();
            let first = |v: usize| variables.iter().position(|other| *other == v);
            let of_step = |s: &usize| (steps[*s].access, first(steps[*s].variable).unwrap_or(0));
            unit.steps.iter().map(of_step).collect()
        };
        let mut number = |wish: Wish| {
            let known = wishes.iter().position(|known| *known == wish);
            known.unwrap_or_else(|| {
                wishes.push(wish);
                wishes.len() - 1
            })
        };
        let wanted = [0, 1].map(|unit| number(wish(&units[unit])));
        let mut intrusions = Vec::new();
        for host in [0, 1] {
            for (behind, two) in units[host].steps.windows(2).enumerate() {
                let guests = units[1 - host].steps.iter().enumerate();
                let within = guests.filter(|(_, s)| (two[0]..two[1]).contains(s));
                intrusions.extend(within.map(|(guest, _)| Intrusion {
                    host,
                    behind,
                    guest,
                }));
            }
        }
        Some(Self {
            pattern,
            steps: steps.into(),
            units,
            wishes: wanted,
            intrusions,
        })
    }

    /// Whether accesses of two courses are of the same variables where the pattern
    /// has it so.
    fn agrees(&self, courses: [&Course; 2], chosen: Chosen<'_>) -> bool {
        let [ours, theirs] = [0, 1].map(|unit| {
            let steps = self.units[unit].steps.iter().zip(chosen[unit]);
            steps.map(move |(step, stop)| (self.steps[*step].variable, &courses[unit].stops[*stop]))
        });
        { ours }.all(|(variable, stop)| {
            let mut all = theirs.clone();
            all.all(|(other, its)| stop.same_variable(its) == (variable == other))
        })
    }

    /// Whether locks allow it.
    fn is_let(&self, courses: [&Course; 2], chosen: Chosen<'_>, leave: Leave) -> bool {
        self.intrusions.iter().all(|intrusion| {
            let Intrusion {
                host,
                behind,
                guest,
            } = *intrusion;
            let stop = &courses[1 - host].stops[chosen[1 - host][guest]];
            let within = chosen[host][behind]..chosen[host][behind + 1];
            let mut gaps = courses[host].between[within].iter().flatten();
            gaps.any(|gap| match host {
                0 => leave.lets(*gap, stop.context),
                _ => leave.lets(stop.context, *gap),
            })
        })
    }

    /// What is in the pattern's order, from what is by unit.
    fn in_order<T: Copy>(&self, of: impl Fn(usize, usize) -> T, all: &mut [T]) {
        for (number, unit) in self.units.iter().enumerate() {
            for (i, step) in unit.steps.iter().enumerate() {
                all[*step] = of(number, i);
            }
        }
    }
}

/// Ways to choose accesses from a course.
type Choices = Rc<[Box<[usize]>]>;

/// What is chosen from two courses.
type Chosen<'c> = [&'c [usize]; 2];

/// Who is shown what is left to be tried; whether there may be more.
type Show<'s, S> = dyn FnMut(&mut S, &Couple, Chosen<'_>, &Places) -> bool + 's;

/// What is known while the search goes on.
struct Couples {
    couples: Vec<Couple>,
    wishes: Vec<Wish>,
    courses: Courses,
    /// By course and wish.
    choices: FxHashMap<(CourseId, usize), Choices>,
    /// Courses of which nothing is left to be tried.
    over: FxHashSet<(CourseId, CourseId, Leave)>,
}

impl Couples {
    /// For these of all patterns.
    fn new(patterns: &[Pattern], numbers: &[usize]) -> Self {
        let mut wishes = Vec::new();
        let couple = |number: &usize| {
            let steps = patterns[*number].steps();
            Couple::new(*number, steps, &mut wishes)
        };
        Self {
            couples: numbers.iter().filter_map(couple).collect(),
            wishes,
            courses: Courses::default(),
            choices: FxHashMap::default(),
            over: FxHashSet::default(),
        }
    }

    fn choices(&mut self, course: CourseId, wish: usize) -> Choices {
        let found = self.choices.entry((course, wish)).or_insert_with(|| {
            let course = self.courses.get(course);
            course.choices(&self.wishes[wish]).into()
        });
        found.clone()
    }

    /// By couple, the ways to choose its accesses from two courses.
    fn all_choices(&mut self, courses: [CourseId; 2]) -> Vec<[Choices; 2]> {
        let wishes: Vec<[usize; 2]> = self.couples.iter().map(|c| c.wishes).collect();
        let of = |wishes: [usize; 2]| [0, 1].map(|u| self.choices(courses[u], wishes[u]));
        wishes.into_iter().map(of).collect()
    }
}

impl Search<'_, '_> {
    /// Finds what fits these patterns, in each of which a single access acts in a region.
    pub(super) fn find_single(&mut self, patterns: &[usize]) {
        if patterns.is_empty() {
            return;
        }
        let survey = self.survey();
        let mut couples = Couples::new(self.patterns, patterns);
        let repeats = |accesses: &[Share]| accesses.len() > 1;
        let shares = Shares::new(self.index, &survey.repeated, repeats);
        for slot in shares.slots() {
            if self.is_over() {
                return;
            }
            let regions = shares.regions(slot);
            let courses = &mut couples.courses;
            let excerpts = courses.excerpts(self.index, &shares, (slot, slot), regions);
            let singles = courses.singles(self.index, slot);
            self.couple(&mut couples, &excerpts, &singles);
        }
    }

    /// Tries what can be of the first unit with what can be of the second one, course by
    /// course.
    fn couple(&mut self, couples: &mut Couples, first: &[Excerpt], second: &[Excerpt]) {
        let is_alike = |a: &Excerpt, b: &Excerpt| a.course == b.course;
        for ours in first.chunk_by(is_alike) {
            for theirs in second.chunk_by(is_alike) {
                let courses = [ours[0].course, theirs[0].course];
                let key = |leave: Leave| (courses[0], courses[1], leave);
                if couples.over.contains(&key(Leave::ALL)) {
                    continue;
                }
                let mut choices = None;
                for a in ours {
                    for b in theirs.iter().filter(|b| b.thread != a.thread) {
                        if self.is_over() {
                            return;
                        }
                        if !a.can_meet(&self.index.order, b) {
                            continue;
                        }
                        let leave = Leave::new(self.index, a, b);
                        if leave.is_some_and(|leave| couples.over.contains(&key(leave))) {
                            continue;
                        }
                        let choices = choices.get_or_insert_with(|| couples.all_choices(courses));
                        if self.try_two(couples, choices, [a, b], leave)
                            && let Some(leave) = leave
                        {
                            couples.over.insert(key(leave));
                        }
                    }
                }
                if let Some(choices) = choices
                    && self.is_all_settled(couples, &choices, courses)
                {
                    couples.over.insert(key(Leave::ALL));
                }
            }
        }
    }

    /// Whether nothing is left to be tried of two courses, whatever locks allow.
    fn is_all_settled(
        &mut self,
        couples: &Couples,
        choices: &[[Choices; 2]],
        courses: [CourseId; 2],
    ) -> bool {
        let mut is_over = true;
        let courses = courses.map(|id| couples.courses.get(id));
        self.each_unsettled(
            couples,
            choices,
            courses,
            Some(Leave::ALL),
            &mut |_, _, _, _| {
                is_over = false;
                false
            },
        );
        is_over
    }

    /// Tries all that locks allow for two excerpts; whether nothing of it is left.
    fn try_two(
        &mut self,
        couples: &Couples,
        choices: &[[Choices; 2]],
        excerpts: [&Excerpt; 2],
        leave: Option<Leave>,
    ) -> bool {
        let mut is_over = true;
        let courses = excerpts.map(|excerpt| couples.courses.get(excerpt.course));
        self.each_unsettled(
            couples,
            choices,
            courses,
            leave,
            &mut |search, couple, chosen, places| {
                search.meet_two(couple, excerpts, chosen, places);
                is_over &= search.is_settled(places);
                true
            },
        );
        is_over
    }

    /// Shows all choices for two courses that locks allow and whose places are not
    /// settled, until there is enough of it.
    fn each_unsettled(
        &mut self,
        couples: &Couples,
        choices: &[[Choices; 2]],
        courses: [&Course; 2],
        leave: Option<Leave>,
        show: &mut Show<'_, Self>,
    ) {
        let mut places: Places = (0, Vec::new());
        for (couple, choices) in couples.couples.iter().zip(choices) {
            places.0 = couple.pattern;
            places.1.resize(couple.steps.len(), SiteId(0));
            for ours in choices[0].iter() {
                for theirs in choices[1].iter() {
                    let chosen = [&ours[..], &theirs[..]];
                    if !couple.agrees(courses, chosen) {
                        continue;
                    }
                    let site = |unit: usize, i: usize| courses[unit].stops[chosen[unit][i]].site;
                    couple.in_order(site, &mut places.1);
                    if !self.is_settled(&places)
                        && leave.is_none_or(|leave| couple.is_let(courses, chosen, leave))
                        && !show(self, couple, chosen, &places)
                    {
                        return;
                    }
                }
            }
        }
    }

    /// Finds times at which chosen accesses of two excerpts come together.
    fn meet_two(
        &mut self,
        couple: &Couple,
        excerpts: [&Excerpt; 2],
        chosen: Chosen<'_>,
        places: &Places,
    ) {
        let length = couple.steps.len();
        let (mut groups, mut events) = (vec![0; length], vec![0; length]);
        let group = |unit: usize, i: usize| excerpts[unit].groups[chosen[unit][i]];
        couple.in_order(group, &mut groups);
        let ends = chosen.map(|stops| [stops[0], stops[stops.len() - 1]]);
        let mut close: Vec<(u32, usize, usize)> = Vec::new();
        let mut ranges = Vec::with_capacity(excerpts[0].times.len());
        for (number, ours) in excerpts[0].times.iter().enumerate() {
            let range = self.concurrent(excerpts, ends, ours);
            let times = &excerpts[1].times[range.clone()];
            let next = times.partition_point(|time| time[0] < ours[0]);
            let around = times.iter().enumerate();
            let around = around.take(next + 1).skip(next.saturating_sub(1));
            close.extend(around.map(|(at, time)| {
                let distance = time[0].abs_diff(ours[0]);
                (distance, number, range.start + at)
            }));
            ranges.push(range);
        }
        // The closer they are, the less has to be changed for them to meet.
        close.sort_unstable();
        let closest = close.iter().map(|(_, ours, theirs)| [*ours, *theirs]);
        let known: FxHashSet<[usize; 2]> = closest.clone().collect();
        let all = ranges.into_iter().enumerate();
        let all = all.flat_map(|(ours, range)| range.map(move |theirs| [ours, theirs]));
        for times in closest.chain(all.filter(|times| !known.contains(times))) {
            let event = |unit: usize, i: usize| {
                let time: &Vec<u32> = &excerpts[unit].times[times[unit]];
                time[chosen[unit][i]]
            };
            couple.in_order(event, &mut events);
            if self.can_happen(&couple.units, &groups, &events)
                && self.propose(places, couple.pattern, &events)
                || self.is_settled(places)
                || self.is_over()
            {
                return;
            }
        }
    }

    /// The times of the second excerpt that need not come wholly before or after one of the
    /// first. `ends` are the first and last stops that count.
    fn concurrent(
        &self,
        excerpts: [&Excerpt; 2],
        ends: [[usize; 2]; 2],
        ours: &[u32],
    ) -> Range<usize> {
        let order = &self.index.order;
        let moment = |unit: usize, event: u32| {
            let thread = excerpts[unit].thread;
            (thread, order.moment(thread, event))
        };
        let [begin, end] = ends[0].map(|stop| moment(0, ours[stop]));
        let [first, last] = ends[1];
        let is_early = |time: &Vec<u32>| order.before(moment(1, time[last]), begin);
        let is_late = |time: &Vec<u32>| order.before(end, moment(1, time[first]));
        let times = &excerpts[1].times;
        let from = times.partition_point(is_early);
        from..times.partition_point(|time| !is_late(time)).max(from)
    }
}
