//! May-trigger relations: which function may acquire a lock of which class,
//! itself or by way of the functions it calls (drfinder.txt §4.3, Algorithm 1).
//!
//! # The idea
//! `mt(f, c)` holds if some acquisition of a lock of class `c` was seen with `f`
//! among the innermost `d` functions of the stack. [`Relations`] is a set of
//! these, by name, so that it means the same in the next run; [`Collector`] is
//! Algorithm 1: a host tells it every acquisition.
//!
//! # Invariants
//! * A relation is kept by the names of its function and its lock class and by
//!   nothing else: no address, no number of this execution.
//! * Merging is the union, so the order in which runs are merged is of no
//!   importance, and merging twice is merging once.
//!
//! # The text
//! ```text
//! racehound may-trigger relations, version 1
//! lock accounts
//!   audit
//!   deposit
//! ```
//! Classes in alphabetical order, below each its functions, as sorted. A `\` in
//! a name is written twice, a line break as `\n`.
//!
//! # Deviations
//! The paper replaces the relations of one run by those of the next (§4.4). What
//! a function was once seen to acquire it may acquire again, so here they add up.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use racehound_trace::FunctionId;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::ClassId;

const HEADER: &str = "racehound may-trigger relations, version ";
const VERSION: u32 = 1;

/// A set of may-trigger relations.
///
/// ```
/// use racehound_schedule::Relations;
///
/// let mut relations = Relations::default();
/// relations.add("deposit", "accounts");
/// assert!(relations.may_trigger("deposit", "accounts"));
/// assert_eq!(relations.to_string().parse(), Ok(relations));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Relations {
    /// Functions by lock class.
    classes: BTreeMap<String, BTreeSet<String>>,
}

/// Why a text is no set of relations.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // The messages say it.
pub enum RelationsError {
    #[error("no may-trigger relations: the first line is not `{HEADER}{VERSION}`")]
    Header,
    #[error("may-trigger relations of version {0}; this Racehound reads version {VERSION}")]
    Version(String),
    #[error("line {line}: expected `lock CLASS` or a function, indented by two spaces, below one")]
    Line { line: usize },
}

impl Relations {
    /// Adds `mt(function, class)`. False if it was known.
    pub fn add(&mut self, function: &str, class: &str) -> bool {
        if !self.classes.contains_key(class) {
            self.classes.insert(class.to_owned(), BTreeSet::new());
        }
        let functions = self.classes.get_mut(class).expect("it was just added");
        !functions.contains(function) && functions.insert(function.to_owned())
    }

    /// Whether `mt(function, class)` is known.
    pub fn may_trigger(&self, function: &str, class: &str) -> bool {
        let functions = self.classes.get(class);
        functions.is_some_and(|functions| functions.contains(function))
    }

    /// Adds all of another set; how many of them are new.
    pub fn merge(&mut self, other: &Self) -> usize {
        let added = other.iter().filter(|(f, c)| self.add(f, c));
        added.count()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.classes.values().map(BTreeSet::len).sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Functions, each with a class that it may acquire a lock of.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.classes.iter().flat_map(|(class, functions)| {
            let of_class = move |function| (String::as_str(function), class.as_str());
            functions.iter().map(of_class)
        })
    }
}

impl fmt::Display for Relations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{HEADER}{VERSION}")?;
        for (class, functions) in &self.classes {
            writeln!(f, "lock {}", escaped(class))?;
            for function in functions {
                writeln!(f, "  {}", escaped(function))?;
            }
        }
        Ok(())
    }
}

impl FromStr for Relations {
    type Err = RelationsError;

    fn from_str(text: &str) -> Result<Self, RelationsError> {
        let mut lines = text.lines().enumerate();
        let header = lines.next().and_then(|(_, line)| line.strip_prefix(HEADER));
        match header.ok_or(RelationsError::Header)?.trim_end() {
            version if version == VERSION.to_string() => {}
            other => return Err(RelationsError::Version(other.to_owned())),
        }
        let mut relations = Self::default();
        let mut class = None;
        for (index, line) in lines.filter(|(_, line)| !line.is_empty()) {
            if let Some(name) = line.strip_prefix("lock ") {
                class = Some(unescaped(name));
            } else if let (Some(function), Some(class)) = (line.strip_prefix("  "), &class) {
                relations.add(&unescaped(function), class);
            } else {
                let line = index + 1;
                return Err(RelationsError::Line { line });
            }
        }
        Ok(relations)
    }
}

fn escaped(name: &str) -> String {
    name.replace('\\', "\\\\")
        .replace('\n', "\\n")
        .replace('\r', "\\r")
}

fn unescaped(text: &str) -> String {
    let mut name = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('n') => name.push('\n'),
                Some('r') => name.push('\r'),
                other => name.extend(other),
            },
            c => name.push(c),
        }
    }
    name
}

/// Names, numbered: what is compared at every acquisition is numbers.
#[derive(Clone, Debug, Default)]
struct Numbered {
    numbers: FxHashMap<String, u32>,
    names: Vec<String>,
    /// The number of what the host calls by its own id.
    by_id: Vec<Option<u32>>,
}

impl Numbered {
    fn number(&mut self, name: &str) -> u32 {
        if let Some(&known) = self.numbers.get(name) {
            return known;
        }
        let number = self.names.len() as u32;
        self.numbers.insert(name.to_owned(), number);
        self.names.push(name.to_owned());
        number
    }

    fn introduce(&mut self, index: usize, name: &str) {
        if self.by_id.len() <= index {
            self.by_id.resize(index + 1, None);
        }
        self.by_id[index] = Some(self.number(name));
    }

    fn get(&self, index: usize) -> Option<u32> {
        self.by_id.get(index).copied().flatten()
    }

    fn name(&self, index: usize) -> &str {
        self.get(index).map_or("?", |n| &self.names[n as usize])
    }
}

/// Algorithm 1: what the acquisitions of one execution tell.
///
/// The host numbers functions and lock classes as it likes, and says what each
/// is called before it uses its number.
#[derive(Clone, Debug)]
pub struct Collector {
    depth: usize,
    functions: Numbered,
    classes: Numbered,
    /// From earlier executions.
    known: FxHashSet<(u32, u32)>,
    /// From this one.
    seen: FxHashSet<(u32, u32)>,
    /// Those of them that are new, and were not taken yet.
    unsaved: Vec<(u32, u32)>,
}

impl Collector {
    /// `d`, unless told otherwise (§6.1).
    pub const DEPTH: usize = 12;

    /// Looks at the innermost `depth` functions, at least one; `known` is what
    /// earlier executions have told.
    pub fn new(known: &Relations, depth: usize) -> Self {
        let mut collector = Self {
            depth: depth.max(1),
            functions: Numbered::default(),
            classes: Numbered::default(),
            known: FxHashSet::default(),
            seen: FxHashSet::default(),
            unsaved: Vec::new(),
        };
        for (function, class) in known.iter() {
            let pair = (
                collector.functions.number(function),
                collector.classes.number(class),
            );
            collector.known.insert(pair);
        }
        collector
    }

    /// How many functions of a stack matter.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// What a function is called beyond this execution.
    pub fn name_function(&mut self, function: FunctionId, name: &str) {
        self.functions.introduce(function.index(), name);
    }

    /// What a lock class is called beyond this execution.
    pub fn name_class(&mut self, class: ClassId, name: &str) {
        self.classes.introduce(class.index(), name);
    }

    /// Lines 12–16: a lock of this class is acquired, with these functions on
    /// the stack, the innermost first.
    pub fn acquires(&mut self, functions: &[FunctionId], class: ClassId) {
        let Some(class) = self.classes.get(class.index()) else {
            return;
        };
        for function in functions.iter().take(self.depth) {
            if let Some(function) = self.functions.get(function.index()) {
                let pair = (function, class);
                if self.seen.insert(pair) && !self.known.contains(&pair) {
                    self.unsaved.push(pair);
                }
            }
        }
    }

    /// Whether earlier executions tell `mt(function, class)`.
    pub fn may_trigger(&self, function: FunctionId, class: ClassId) -> bool {
        let pair = self
            .functions
            .get(function.index())
            .zip(self.classes.get(class.index()));
        pair.is_some_and(|pair| self.known.contains(&pair))
    }

    /// How many relations earlier executions tell.
    pub fn known(&self) -> usize {
        self.known.len()
    }

    /// How many this one has added so far.
    pub fn new_ones(&self) -> usize {
        self.seen.difference(&self.known).count()
    }

    /// What this execution has told so far.
    pub fn relations(&self) -> Relations {
        self.named(self.seen.iter())
    }

    /// What it has added since this was called last.
    pub fn take_unsaved(&mut self) -> Relations {
        let unsaved = std::mem::take(&mut self.unsaved);
        self.named(unsaved.iter())
    }

    fn named<'p>(&self, pairs: impl Iterator<Item = &'p (u32, u32)>) -> Relations {
        let mut relations = Relations::default();
        for &(function, class) in pairs {
            let function = &self.functions.names[function as usize];
            relations.add(function, &self.classes.names[class as usize]);
        }
        relations
    }

    pub(crate) fn function_name(&self, function: FunctionId) -> &str {
        self.functions.name(function.index())
    }

    pub(crate) fn class_name(&self, class: ClassId) -> &str {
        self.classes.name(class.index())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop_assert, prop_assert_eq, proptest};
    use proptest::strategy::Strategy as Generator;

    use super::*;

    fn relations() -> impl Generator<Value = Relations> {
        let pairs = proptest::collection::vec(("[ -~é\\n\\r]{1,4}", "[a-c \\\\\\n]{1,2}"), 0..20);
        pairs.prop_map(|pairs| {
            let mut relations = Relations::default();
            for (function, class) in &pairs {
                relations.add(function, class);
            }
            relations
        })
    }

    proptest! {
        #[test]
        fn relations_survive_their_text(relations in relations()) {
            prop_assert_eq!(relations.to_string().parse(), Ok(relations));
        }

        #[test]
        fn merging_is_the_union(a in relations(), b in relations()) {
            let (mut ab, mut ba) = (a.clone(), b.clone());
            let new = ab.merge(&b);
            ba.merge(&a);
            prop_assert_eq!(&ab, &ba);
            prop_assert_eq!(ab.len(), a.len() + new);
            prop_assert!(a.iter().chain(b.iter()).all(|(f, c)| ab.may_trigger(f, c)));
            let either = |(f, c): (&str, &str)| a.may_trigger(f, c) || b.may_trigger(f, c);
            prop_assert!(ab.iter().all(either));
            prop_assert_eq!(ab.merge(&b), 0);
        }
    }

    #[test]
    fn the_text_is_to_be_read() {
        let mut relations = Relations::default();
        for (function, class) in [("main", "b"), ("main", "a"), ("f(int, char)", "b")] {
            assert!(relations.add(function, class));
            assert!(!relations.add(function, class));
        }
        assert_eq!(
            relations.to_string(),
            "racehound may-trigger relations, version 1\n\
             lock a\n  main\nlock b\n  f(int, char)\n  main\n"
        );
    }

    #[test]
    fn errors_teach() {
        for (text, message) in [
            (
                "",
                "no may-trigger relations: the first line is not \
                 `racehound may-trigger relations, version 1`",
            ),
            (
                "racehound may-trigger relations, version 2\n",
                "may-trigger relations of version 2; this Racehound reads version 1",
            ),
            (
                "racehound may-trigger relations, version 1\n  main\n",
                "line 2: expected `lock CLASS` or a function, indented by two spaces, below one",
            ),
        ] {
            let error = text.parse::<Relations>().unwrap_err();
            assert_eq!(error.to_string(), message);
        }
    }

    /// A stack of four functions, the innermost first.
    fn collect(depth: usize) -> Relations {
        let mut collector = Collector::new(&Relations::default(), depth);
        let stack = [3, 2, 1, 0].map(FunctionId);
        for function in stack {
            collector.name_function(function, &format!("f{}", function.0));
        }
        collector.name_class(ClassId(0), "k");
        collector.acquires(&stack, ClassId(0));
        collector.relations()
    }

    #[test]
    fn the_innermost_functions_are_related_and_no_others() {
        let names = |depth| -> Vec<String> {
            let relations = collect(depth);
            relations.iter().map(|(f, _)| f.to_owned()).collect()
        };
        assert_eq!(names(1), ["f3"]);
        assert_eq!(names(2), ["f2", "f3"]);
        assert_eq!(names(12), ["f0", "f1", "f2", "f3"]);
    }

    #[test]
    fn numbers_may_change_from_one_execution_to_the_next() {
        let mut collector = Collector::new(&collect(12), 12);
        collector.name_function(FunctionId(9), "f1");
        collector.name_function(FunctionId(1), "g");
        collector.name_class(ClassId(4), "k");
        assert!(collector.may_trigger(FunctionId(9), ClassId(4)));
        assert!(!collector.may_trigger(FunctionId(1), ClassId(4)));
        assert!(
            !collector.may_trigger(FunctionId(3), ClassId(4)),
            "it has no name yet"
        );
        collector.acquires(&[FunctionId(9), FunctionId(1)], ClassId(4));
        assert_eq!((collector.known(), collector.new_ones()), (4, 1));
        assert!(
            !collector.may_trigger(FunctionId(1), ClassId(4)),
            "it is for the next run"
        );
    }
}
