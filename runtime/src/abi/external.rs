//! Objects that are not memory to us: what a library in another language calls
//! reading and writing one of its own.
//!
//! Such an access goes to the object's first byte. What sort of object it is
//! stands on the stack, as a call from a place that no program has.

use std::collections::BTreeMap;
use std::ffi::c_char;
use std::sync::atomic::{AtomicBool, Ordering};

use racehound_detect::AccessKind;

use super::{caller, is_off, text, with_caller};
use crate::access::Access;
use crate::spin::Locked;
use crate::thread::{self, Visit};
use crate::{blocks, detector};

/// Set in a place that stands for a tag.
const TAG: usize = 1 << 61;

/// The first tag that programs get. The one before it is Swift's, and 0 is none.
const FIRST: usize = 2;
const SWIFT: usize = 1;

/// A sort of objects.
struct Sort {
    object: String,
    heading: String,
}

#[derive(Default)]
struct Tags {
    sorts: Vec<Sort>,
    /// Tags of heap blocks.
    blocks: BTreeMap<usize, usize>,
}

static TAGS: Locked<Tags> = Locked::new(Tags {
    sorts: Vec::new(),
    blocks: BTreeMap::new(),
});
static BLOCKS_TAGGED: AtomicBool = AtomicBool::new(false);

/// The tag in a stack; 0 if there is none.
pub(crate) fn tag(places: &[usize]) -> usize {
    let is_tag = |place: &&usize| is_tag(**place);
    places.iter().find(is_tag).map_or(0, |place| place & !TAG)
}

/// Whether a place stands for a tag.
pub(crate) fn is_tag(place: usize) -> bool {
    place >> 61 == 1
}

/// Whether only the program can put a place into words.
pub(crate) fn is_external(place: usize) -> bool {
    place >> 60 == 1
}

/// The tag of a heap block; 0 if it has none.
pub(crate) fn block_tag(start: usize) -> usize {
    TAGS.lock().blocks.get(&start).copied().unwrap_or(0)
}

/// What objects with that tag are.
pub(crate) fn object(tag: usize) -> Option<String> {
    if tag == SWIFT {
        return Some("Swift variable".to_owned());
    }
    let tags = TAGS.lock();
    let sort = tags.sorts.get(tag.checked_sub(FIRST)?)?;
    Some(sort.object.clone())
}

/// What a race on such objects is called.
pub(crate) fn heading(tag: usize) -> Option<String> {
    if tag == SWIFT {
        return Some("Swift access race".to_owned());
    }
    let tags = TAGS.lock();
    let sort = tags.sorts.get(tag.checked_sub(FIRST)?)?;
    Some(sort.heading.clone())
}

/// A block is freed: the next one there is another.
#[inline]
pub(crate) fn forget(start: usize) {
    if BLOCKS_TAGGED.load(Ordering::Relaxed) {
        let _visit = Visit::begin();
        TAGS.lock().blocks.remove(&start);
    }
}

with_caller! {
    fn __tsan_external_read => read;
    fn __tsan_external_write => write;
}

/// `__tsan_external_register_tag` of the ABI.
///
/// # Safety
/// `object` is a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __tsan_external_register_tag(object: *const c_char) -> usize {
    if is_off() {
        return 0;
    }
    let _visit = Visit::begin();
    let object = text(object);
    let heading = format!("race on {object}");
    let mut tags = TAGS.lock();
    tags.sorts.push(Sort { object, heading });
    tags.sorts.len() - 1 + FIRST
}

/// `__tsan_external_register_header` of the ABI.
///
/// # Safety
/// `heading` is a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __tsan_external_register_header(tag: usize, heading: *const c_char) {
    if is_off() {
        return;
    }
    let _visit = Visit::begin();
    let heading = text(heading);
    let mut tags = TAGS.lock();
    let number = tag.checked_sub(FIRST);
    if let Some(sort) = number.and_then(|number| tags.sorts.get_mut(number)) {
        sort.heading = heading;
    }
}

/// `__tsan_external_assign_tag` of the ABI: says what a heap block is.
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_external_assign_tag(address: usize, tag: usize) {
    if is_off() {
        return;
    }
    let _visit = Visit::begin();
    if let Some(block) = blocks::around(address) {
        TAGS.lock().blocks.insert(block.start, tag);
        BLOCKS_TAGGED.store(true, Ordering::Relaxed);
    }
}

unsafe extern "C" fn read(address: usize, from: usize, tag: usize) {
    access(address, from, tag, AccessKind::Read);
}

unsafe extern "C" fn write(address: usize, from: usize, tag: usize) {
    access(address, from, tag, AccessKind::Write);
}

/// `from` is where the library was called, if it knows.
fn access(address: usize, from: usize, tag: usize, kind: AccessKind) {
    if is_off() {
        return;
    }
    let place = caller();
    let visit = Visit::begin();
    if from != 0 {
        thread::push_call(from);
    }
    if tag != 0 {
        thread::push_call(TAG | tag);
    }
    let access = Access {
        address,
        size: 1,
        kind,
        place,
    };
    detector::range(&visit, &access);
    if tag != 0 {
        thread::pop_call();
    }
    if from != 0 {
        thread::pop_call();
    }
}
