//! The table of functions that we stand in for, and where the real ones are.

use std::ffi::{CStr, c_char, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

/// One of them. The table is written by the build of `racehound-bundle`.
#[repr(C)]
struct Function {
    name: *const c_char,
    /// The version to ask for, if any.
    version: *const c_char,
    /// The place in stacks that stands for the function.
    place: usize,
    real: AtomicUsize,
    stand_in: AtomicUsize,
}

#[cfg(not(test))]
unsafe extern "C" {
    static __racehound_functions: Function;
}

/// Tests stand in for nothing.
#[cfg(test)]
#[allow(non_upper_case_globals)]
static __racehound_functions: Function = Function {
    name: std::ptr::null(),
    version: std::ptr::null(),
    place: 0,
    real: AtomicUsize::new(0),
    stand_in: AtomicUsize::new(0),
};

// SAFETY: the names are never written.
#[cfg(test)]
unsafe impl Sync for Function {}

fn functions() -> impl Iterator<Item = &'static Function> {
    let mut at = &raw const __racehound_functions;
    std::iter::from_fn(move || {
        // SAFETY: the table ends with an entry without a name.
        let function = unsafe { &*at };
        // SAFETY: as above.
        at = unsafe { at.add(1) };
        (!function.name.is_null()).then_some(function)
    })
}

/// Finds the real function with that number, if it is called before all were
/// found.
#[unsafe(no_mangle)]
extern "C" fn __racehound_resolve(number: usize) -> usize {
    // SAFETY: called with numbers of the table.
    let function = unsafe { &*(&raw const __racehound_functions).add(number) };
    let mut real = find(function);
    if real.is_null() {
        real = own_operator(function);
    }
    if real.is_null() {
        // SAFETY: names are C strings.
        let name = unsafe { CStr::from_ptr(function.name) };
        crate::fatal(&format!("the C library has no {}", name.to_string_lossy()));
    }
    function.real.store(real as usize, Ordering::Relaxed);
    real as usize
}

/// C++'s operators for a program that has its library linked in: there our
/// stand-ins are the only ones.
fn own_operator(function: &Function) -> *mut c_void {
    // SAFETY: names are C strings.
    let name = unsafe { CStr::from_ptr(function.name) }.to_bytes();
    let aligned = name.windows(9).any(|part| part == b"align_val");
    match (name, aligned) {
        ([b'_', b'Z', b'n', ..], false) => allocate as *mut c_void,
        ([b'_', b'Z', b'n', ..], true) => allocate_aligned as *mut c_void,
        ([b'_', b'Z', b'd', ..], _) => give_back as *mut c_void,
        _ => std::ptr::null_mut(),
    }
}

unsafe extern "C" {
    fn __libc_malloc(size: usize) -> *mut c_void;
    fn __libc_memalign(align: usize, size: usize) -> *mut c_void;
    fn __libc_free(block: *mut c_void);
}

extern "C" fn allocate(size: usize) -> *mut c_void {
    // SAFETY: any size will do.
    let block = unsafe { __libc_malloc(size.max(1)) };
    if block.is_null() {
        crate::fatal("out of memory in operator new");
    }
    block
}

extern "C" fn allocate_aligned(size: usize, align: usize) -> *mut c_void {
    // SAFETY: the compiler gives a power of two.
    let block = unsafe { __libc_memalign(align, size.max(1)) };
    if block.is_null() {
        crate::fatal("out of memory in operator new");
    }
    block
}

extern "C" fn give_back(block: *mut c_void) {
    // SAFETY: allocated as above.
    unsafe { __libc_free(block) };
}

/// Calls nothing that may need to be found itself.
fn find(function: &Function) -> *mut c_void {
    // SAFETY: both are C strings.
    unsafe {
        match function.version.is_null() {
            true => libc::dlsym(libc::RTLD_NEXT, function.name),
            false => libc::dlvsym(libc::RTLD_NEXT, function.name, function.version),
        }
    }
}

/// Finds all real functions that there are: the program may hold a lock of the
/// loader's when it calls one for the first time.
pub(crate) fn find_all() {
    for function in functions() {
        let real = find(function);
        if !real.is_null() {
            function.real.store(real as usize, Ordering::Relaxed);
        }
    }
}

/// Steps aside: the program calls the real functions from now on, where there are any: some
/// that programs are linked with have no other than ours.
pub(crate) fn step_aside() {
    functions().for_each(step_aside_for_one);
}

fn step_aside_for_one(function: &Function) {
    let real = find(function);
    if !real.is_null() {
        function.stand_in.store(real as usize, Ordering::Relaxed);
    }
}

/// The same for functions of these names only.
pub(crate) fn step_aside_for(names: &[&str]) {
    for function in functions() {
        // SAFETY: names are C strings.
        let name = unsafe { CStr::from_ptr(function.name) }.to_bytes();
        if names.iter().any(|other| other.as_bytes() == name) {
            step_aside_for_one(function);
        }
    }
}

/// The name of the function at a place of ours.
pub(crate) fn name_at(place: usize) -> Option<&'static str> {
    let Some(function) = functions().find(|f| f.place == place) else {
        return crate::abi::memory::name_at(place);
    };
    // SAFETY: names are C strings that stay.
    unsafe { CStr::from_ptr(function.name) }.to_str().ok()
}
