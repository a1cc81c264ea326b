//! What all of LLVM's sanitizers offer: places in words, questions about the
//! heap, hooks.

use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

use racehound_detect::AccessKind;

use super::{caller, debug, external, is_off, shown, with_caller};
use crate::access::Access;
use crate::report::{self, Line, symbols};
use crate::thread::Visit;
use crate::{blocks, detector, finish, hooks, output};

with_caller! {
    fn __sanitizer_print_stack_trace => print_stack_trace;
    fn __sanitizer_unaligned_load16 => load::<u16>;
    fn __sanitizer_unaligned_load32 => load::<u32>;
    fn __sanitizer_unaligned_load64 => load::<u64>;
    fn __sanitizer_unaligned_store16 => store::<u16>;
    fn __sanitizer_unaligned_store32 => store::<u32>;
    fn __sanitizer_unaligned_store64 => store::<u64>;
}

fn access<T>(address: *const T, kind: AccessKind) {
    if is_off() {
        return;
    }
    let access = Access {
        address: address as usize,
        size: size_of::<T>(),
        kind,
        place: caller(),
    };
    detector::range(&Visit::begin(), &access);
}

unsafe extern "C" fn load<T>(address: *const T) -> T {
    access(address, AccessKind::Read);
    // SAFETY: what the program asked for.
    unsafe { address.read_unaligned() }
}

unsafe extern "C" fn store<T>(address: *mut T, value: T) {
    access(address, AccessKind::Write);
    // SAFETY: what the program asked for.
    unsafe { address.write_unaligned(value) };
}

unsafe extern "C" fn print_stack_trace() {
    if is_off() {
        return;
    }
    let context = shown(|visit, place| visit.thread().context(place));
    let _visit = Visit::begin();
    if let Some(mut reporter) = debug::reporter() {
        let stack = reporter.stack(context);
        output::write(&report::render_stack(&stack));
    }
}

/// Writes texts one after the other, each with a zero behind it, and another
/// zero.
///
/// # Safety
/// There is that much room.
unsafe fn put_texts(to: *mut c_char, room: usize, texts: &[String]) {
    let mut bytes: Vec<u8> = Vec::new();
    for text in texts {
        bytes.extend(text.as_bytes());
        bytes.push(0);
    }
    bytes.truncate(room - 1);
    bytes.push(0);
    // SAFETY: the caller's promise.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to.cast(), bytes.len()) };
}

/// A line as a format wants it: `%f` is the function, and so on.
fn render(format: &str, number: usize, place: usize, line: &Line) -> String {
    let file = line.file.as_deref();
    let source = || {
        let mut text = file.unwrap_or_default().to_owned();
        for number in [line.line, line.column] {
            if number == 0 {
                break;
            }
            text.push_str(&format!(":{number}"));
        }
        text
    };
    let in_module = |name: Option<&str>| match name {
        Some(name) => format!("({name}+{:#x})", line.offset),
        None if external::is_external(place) => String::new(),
        None => format!("({place:#x})"),
    };
    let function = line.function.as_deref().unwrap_or_default();
    substitute(format, |letter| {
        Some(match letter {
            'n' => number.to_string(),
            'p' => format!("{place:#x}"),
            'm' => line.module_path.clone().unwrap_or_default(),
            'o' => format!("{:#x}", line.offset),
            'b' if !line.build_id.is_empty() => format!("(BuildId: {})", line.build_id),
            'b' => String::new(),
            'f' => function.to_owned(),
            'q' => "0x0".to_owned(),
            's' => file.unwrap_or_default().to_owned(),
            'l' => line.line.to_string(),
            'c' => line.column.to_string(),
            'F' if function.is_empty() => String::new(),
            'F' => format!("in {function}"),
            'S' => source(),
            'L' if file.is_some() => source(),
            'L' => in_module(line.module_path.as_deref()),
            'M' => in_module(line.module.as_deref()),
            _ => return None,
        })
    })
}

/// Replaces every `%` and letter by what it stands for.
fn substitute(format: &str, meaning: impl Fn(char) -> Option<String>) -> String {
    let mut text = String::new();
    let mut letters = format.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '%' => match letters.next() {
                Some('%') | None => text.push('%'),
                Some(letter) => text.push_str(&meaning(letter).unwrap_or_default()),
            },
            letter => text.push(letter),
        }
    }
    text
}

/// What `DEFAULT` stands for.
const USUAL: &str = "    #%n %p %F %L";

/// `__sanitizer_symbolize_pc`: the functions at a place, each as the format
/// wants it.
///
/// # Safety
/// `format` is a C string, and there is that much room.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __sanitizer_symbolize_pc(
    place: usize,
    format: *const c_char,
    to: *mut c_char,
    room: usize,
) {
    if room == 0 {
        return;
    }
    let _visit = (!is_off()).then(Visit::begin);
    let format = super::text(format);
    let format = match format.as_str() {
        "DEFAULT" => USUAL,
        format => format,
    };
    let lines = symbols::lines(place);
    let known = |line: &Line| line.function.is_some() || line.module.is_some();
    let texts: Vec<String> = match lines.first().is_some_and(known) {
        true => {
            let lines = lines.iter().enumerate();
            lines
                .map(|(i, line)| render(format, i, place, line))
                .collect()
        }
        false => vec!["<can't symbolize>".to_owned()],
    };
    // SAFETY: the caller's promise.
    unsafe { put_texts(to, room, &texts) };
}

/// `__sanitizer_symbolize_global`: the variable at an address, as the format
/// wants it.
///
/// # Safety
/// As [`__sanitizer_symbolize_pc`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __sanitizer_symbolize_global(
    address: usize,
    format: *const c_char,
    to: *mut c_char,
    room: usize,
) {
    if room == 0 {
        return;
    }
    let _visit = (!is_off()).then(Visit::begin);
    let found = symbols::variable(address);
    let text = match found {
        Some((variable, _)) => substitute(&super::text(format), |letter| match letter {
            'g' => Some(variable.name.clone()),
            'l' => Some("0".to_owned()),
            _ => None,
        }),
        None => String::new(),
    };
    // SAFETY: the caller's promise.
    unsafe { debug::put_text(to, room, &text) };
}

/// `__sanitizer_get_module_and_offset_for_pc`: false if the place is in none.
///
/// # Safety
/// There is that much room for the path, and for the offset.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __sanitizer_get_module_and_offset_for_pc(
    place: usize,
    path: *mut c_char,
    room: usize,
    offset: *mut usize,
) -> c_int {
    let _visit = (!is_off()).then(Visit::begin);
    let found = symbols::module_path(place);
    let Some((name, at)) = found else {
        return 0;
    };
    // SAFETY: the caller's promise.
    unsafe {
        debug::put_text(path, room, &name);
        offset.write(at);
    }
    1
}

/// `__sanitizer_get_ownership`: whether a block of the heap begins there.
#[unsafe(no_mangle)]
pub extern "C" fn __sanitizer_get_ownership(block: usize) -> c_int {
    c_int::from(blocks::size(block).is_some())
}

/// `__sanitizer_get_allocated_size`: what was asked for.
#[unsafe(no_mangle)]
pub extern "C" fn __sanitizer_get_allocated_size(block: usize) -> usize {
    blocks::size(block).unwrap_or(0)
}

/// `__sanitizer_get_allocated_size_fast`.
#[unsafe(no_mangle)]
pub extern "C" fn __sanitizer_get_allocated_size_fast(block: usize) -> usize {
    __sanitizer_get_allocated_size(block)
}

/// `__sanitizer_get_allocated_begin`: where the block around an address begins.
#[unsafe(no_mangle)]
pub extern "C" fn __sanitizer_get_allocated_begin(address: usize) -> usize {
    let block = blocks::around(address);
    let block = block.filter(|block| blocks::size(block.start).is_some());
    block.map_or(0, |block| block.start)
}

/// What the C library says of its heap.
fn heap() -> libc::mallinfo2 {
    let _visit = (!is_off()).then(Visit::begin);
    // SAFETY: asks for numbers.
    unsafe { libc::mallinfo2() }
}

/// `__sanitizer_get_current_allocated_bytes`.
#[unsafe(no_mangle)]
pub extern "C" fn __sanitizer_get_current_allocated_bytes() -> usize {
    let heap = heap();
    heap.uordblks + heap.hblkhd
}

/// `__sanitizer_get_heap_size`.
#[unsafe(no_mangle)]
pub extern "C" fn __sanitizer_get_heap_size() -> usize {
    let heap = heap();
    heap.arena + heap.hblkhd
}

/// `__sanitizer_get_free_bytes`.
#[unsafe(no_mangle)]
pub extern "C" fn __sanitizer_get_free_bytes() -> usize {
    heap().fordblks
}

/// `__sanitizer_get_unmapped_bytes`: what can be given back is what is free at
/// the end.
#[unsafe(no_mangle)]
pub extern "C" fn __sanitizer_get_unmapped_bytes() -> usize {
    heap().keepcost
}

/// `__sanitizer_get_estimated_allocated_size`: nothing is added to it.
#[unsafe(no_mangle)]
pub extern "C" fn __sanitizer_get_estimated_allocated_size(size: usize) -> usize {
    size
}

/// `__sanitizer_purge_allocator`.
#[unsafe(no_mangle)]
pub extern "C" fn __sanitizer_purge_allocator() {
    let _visit = (!is_off()).then(Visit::begin);
    // SAFETY: gives free memory back.
    unsafe { libc::malloc_trim(0) };
}

type OnAlloc = unsafe extern "C" fn(*const c_void, usize);
type OnFree = unsafe extern "C" fn(*const c_void);

/// Pairs of functions that want to know of blocks.
const PAIRS: usize = 5;
static ON_ALLOC: [AtomicUsize; PAIRS] = [const { AtomicUsize::new(0) }; PAIRS];
static ON_FREE: [AtomicUsize; PAIRS] = [const { AtomicUsize::new(0) }; PAIRS];
static INSTALLED: AtomicUsize = AtomicUsize::new(0);

/// `__sanitizer_install_malloc_and_free_hooks`: the number of the pair, or 0 if
/// there are too many.
#[unsafe(no_mangle)]
pub extern "C" fn __sanitizer_install_malloc_and_free_hooks(
    on_alloc: Option<OnAlloc>,
    on_free: Option<OnFree>,
) -> c_int {
    let (Some(on_alloc), Some(on_free)) = (on_alloc, on_free) else {
        return 0;
    };
    let number = INSTALLED.fetch_add(1, Ordering::AcqRel);
    if number >= PAIRS {
        INSTALLED.store(PAIRS, Ordering::Release);
        return 0;
    }
    ON_FREE[number].store(on_free as usize, Ordering::Release);
    ON_ALLOC[number].store(on_alloc as usize, Ordering::Release);
    number as c_int + 1
}

/// The program has a new block; the runtime must not be busy.
#[inline]
pub(crate) fn allocated(block: *const c_void, size: usize) {
    hooks::on_alloc(block, size);
    for hook in installed(&ON_ALLOC) {
        // SAFETY: installed as a function of that type.
        unsafe { std::mem::transmute::<usize, OnAlloc>(hook)(block, size) };
    }
}

/// The program is about to free a block; the runtime must not be busy.
#[inline]
pub(crate) fn freeing(block: *const c_void) {
    external::forget(block as usize);
    hooks::on_free(block);
    for hook in installed(&ON_FREE) {
        // SAFETY: installed as a function of that type.
        unsafe { std::mem::transmute::<usize, OnFree>(hook)(block) };
    }
}

#[inline]
fn installed(all: &'static [AtomicUsize; PAIRS]) -> impl Iterator<Item = usize> {
    let count = INSTALLED.load(Ordering::Acquire).min(PAIRS);
    let hooks = all[..count].iter().map(|hook| hook.load(Ordering::Acquire));
    hooks.filter(|&hook| hook != 0)
}

/// `__sanitizer_set_death_callback`.
#[unsafe(no_mangle)]
pub extern "C" fn __sanitizer_set_death_callback(callback: Option<extern "C" fn()>) {
    finish::set_last_words(callback);
}

/// `__sanitizer_get_report_path`: null if reports go to standard error.
#[unsafe(no_mangle)]
pub extern "C" fn __sanitizer_get_report_path() -> *const c_char {
    let path = output::path();
    let file = match path.as_str() {
        "" | "stderr" | "stdout" => path,
        path => format!("{path}.{}", std::process::id()),
    };
    debug::lasting(&file)
}

/// `__sanitizer_sandbox_on_notify`: there is nothing to be opened beforehand.
#[unsafe(no_mangle)]
pub extern "C" fn __sanitizer_sandbox_on_notify(_arguments: *const c_void) {}

/// `__sanitizer_acquire_crash_state`: true for the first who asks.
#[unsafe(no_mangle)]
pub extern "C" fn __sanitizer_acquire_crash_state() -> c_int {
    static ASKED: AtomicUsize = AtomicUsize::new(0);
    c_int::from(ASKED.swap(1, Ordering::Relaxed) == 0)
}

/// `__sanitizer_internal_memcpy`.
///
/// # Safety
/// As `memcpy`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __sanitizer_internal_memcpy(
    to: *mut c_void,
    from: *const c_void,
    size: usize,
) -> *mut c_void {
    // SAFETY: the caller's promise.
    unsafe { libc::memcpy(to, from, size) }
}

/// `__sanitizer_internal_memmove`.
///
/// # Safety
/// As `memmove`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __sanitizer_internal_memmove(
    to: *mut c_void,
    from: *const c_void,
    size: usize,
) -> *mut c_void {
    // SAFETY: the caller's promise.
    unsafe { libc::memmove(to, from, size) }
}

/// `__sanitizer_internal_memset`.
///
/// # Safety
/// As `memset`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __sanitizer_internal_memset(
    to: *mut c_void,
    byte: c_int,
    size: usize,
) -> *mut c_void {
    // SAFETY: the caller's promise.
    unsafe { libc::memset(to, byte, size) }
}

#[cfg(test)]
mod tests {
    use super::{Line, render};

    #[test]
    fn formats_are_tsans() {
        let line = Line {
            function: Some("f".to_owned()),
            file: Some("a.c".to_owned()),
            line: 3,
            module: Some("m".to_owned()),
            offset: 16,
            ..Line::default()
        };
        assert_eq!(render("#%n %p %F %L", 1, 32, &line), "#1 0x20 in f a.c:3");
        assert_eq!(
            render("%f %S %M 100%%", 0, 32, &line),
            "f a.c:3 (m+0x10) 100%"
        );
    }
}
