//! Classes of locks: the papers' "type of the lock object".
//!
//! A lock is one of those that are at the same place of the same thing: a global
//! variable, or the blocks allocated at one place of the program. The place within
//! is where it was made, if that was told (`pthread_mutex_init`), as in the Linux
//! kernel's lockdep, so that all locks of an array are one class and two locks of
//! a structure are two. Else it is the offset; but in things larger than
//! [`ONE_THING`], which are arrays as a rule, all locks are one class. Locks
//! elsewhere, on stacks above all, are told apart by where they were made or first
//! taken.

use racehound_schedule::ClassId;
use rustc_hash::FxHashMap;

use super::is_of_program;
use crate::blocks;
use crate::context::Context;
use crate::objects;
use crate::report::symbols;
use crate::spin::Locked;
use crate::thread::Thread;

/// Bytes of what may be a single thing with locks in it.
const ONE_THING: usize = 512;

static CLASSES: Locked<Option<Classes>> = Locked::new(None);

#[derive(Default)]
struct Classes {
    by_name: FxHashMap<String, ClassId>,
    /// Places in words, and the places of contexts: thousands of locks may come from one.
    words: FxHashMap<usize, String>,
    sites: FxHashMap<Context, Option<usize>>,
    new: Vec<(ClassId, String)>,
}

fn with<R>(use_them: impl FnOnce(&mut Classes) -> R) -> R {
    use_them(CLASSES.lock().get_or_insert_default())
}

/// The class of a lock. It is remembered as long as the lock lives.
pub(super) fn of(thread: &mut Thread, lock: usize, place: usize) -> ClassId {
    let object = objects::at(thread, lock, place);
    if let Some(class) = object.mutex.class.checked_sub(1) {
        return ClassId(class);
    }
    let (was_made, made) = (object.mutex.was_made, object.made);
    drop(object);
    let name = name(lock, was_made, made);
    let class = with(|classes| {
        let next = ClassId(classes.by_name.len() as u32);
        match classes.by_name.get(&name) {
            Some(&known) => known,
            None => {
                classes.by_name.insert(name.clone(), next);
                classes.new.push((next, name));
                next
            }
        }
    });
    objects::at(thread, lock, place).mutex.class = class.0 + 1;
    class
}

fn name(lock: usize, was_made: bool, made: Context) -> String {
    let maker = site(made).map_or_else(|| "?".to_owned(), in_words);
    let (thing, offset, size) = if let Some(block) = blocks::around(lock) {
        let from = site(block.context).map_or_else(|| "?".to_owned(), in_words);
        (format!("block from {from}"), lock - block.start, block.size)
    } else if let Some((variable, module)) = symbols::variable(lock) {
        let offset = lock - module.bias - variable.start as usize;
        (variable.name, offset, variable.size as usize)
    } else {
        return match was_made {
            true => format!("lock made in {maker}"),
            false => format!("lock first taken in {maker}"),
        };
    };
    match (was_made, offset) {
        (true, 0) if size <= ONE_THING => thing,
        (true, _) => format!("{thing}, made in {maker}"),
        (false, 1..) if size <= ONE_THING => format!("{thing} + {offset}"),
        (false, _) => thing,
    }
}

/// The place in the program at the end of a context: the innermost that is not one of the
/// functions that we stand in for.
fn site(context: Context) -> Option<usize> {
    if let Some(known) = with(|classes| classes.sites.get(&context).copied()) {
        return known;
    }
    let site = context.places().find(|&place| is_of_program(place));
    with(|classes| classes.sites.insert(context, site));
    site
}

/// A place of the program, which has its function's name beside it.
fn in_words(place: usize) -> String {
    debug_assert!(is_of_program(place));
    if let Some(known) = with(|classes| classes.words.get(&place).cloned()) {
        return known;
    }
    // Not with the lock held: it takes a look at the program's files.
    let words = match symbols::function(place) {
        Some((Some(function), module, offset)) => format!("{function} ({module}+{offset:#x})"),
        Some((None, module, offset)) => format!("{module}+{offset:#x}"),
        None => "?".to_owned(),
    };
    with(|classes| classes.words.insert(place, words.clone()));
    words
}

pub(super) fn new_names() -> Vec<(ClassId, String)> {
    with(|classes| std::mem::take(&mut classes.new))
}
