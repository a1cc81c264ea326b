//! Address space for the runtime's own tables: reserved at once, backed by
//! memory only where it is touched.

use std::marker::PhantomData;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// Where the next table goes: far from where the system puts what the program asks for, so
/// that the addresses of its stacks and large blocks do not depend on how much we need.
static NEXT: AtomicUsize = AtomicUsize::new(0x2000_0000_0000);
/// What tables begin at a multiple of: a huge page.
const GAP: usize = 2 << 20;

/// Reserves zeroed address space that costs nothing until it is used.
///
/// Ends the process if there is none: nothing works without, and the message
/// says what to look at.
pub(crate) fn reserve(bytes: usize) -> *mut u8 {
    match try_reserve(bytes) {
        Some(at) => at,
        None => crate::fatal(&format!(
            "cannot reserve {bytes} bytes of address space; is it limited (ulimit -v)?"
        )),
    }
}

/// The same, for reading only.
pub(crate) fn reserve_zeroes(bytes: usize) -> *mut u8 {
    match try_map(bytes, libc::PROT_READ) {
        Some(at) => at,
        None => crate::fatal(&format!(
            "cannot reserve {bytes} bytes of address space; is it limited (ulimit -v)?"
        )),
    }
}

/// The same as [`reserve`], if there is any.
pub(crate) fn try_reserve(bytes: usize) -> Option<*mut u8> {
    try_map(bytes, libc::PROT_READ | libc::PROT_WRITE)
}

fn try_map(bytes: usize, protection: i32) -> Option<*mut u8> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let wish = NEXT.fetch_add(bytes.next_multiple_of(GAP), Ordering::Relaxed);
    // SAFETY: a new mapping, at an address that is free: that one if it is.
    let at = unsafe {
        libc::mmap(
            ptr::without_provenance_mut(wish),
            bytes,
            protection,
            flags,
            -1,
            0,
        )
    };
    if at == libc::MAP_FAILED {
        return None;
    }
    // Core dumps of the program should be of the program.
    // SAFETY: advice about the mapping just made.
    unsafe { libc::madvise(at, bytes, libc::MADV_DONTDUMP) };
    Some(at.cast())
}

/// A table of as many entries as there may ever be, all zeroes at first.
pub(crate) struct Table<T, const LEN: usize> {
    base: AtomicPtr<u8>,
    entries: PhantomData<T>,
}

impl<T: Zeroed, const LEN: usize> Table<T, LEN> {
    pub(crate) const fn new() -> Self {
        Self {
            base: AtomicPtr::new(ptr::null_mut()),
            entries: PhantomData,
        }
    }

    /// The entry of that number, which must be below `LEN`.
    #[inline]
    pub(crate) fn get(&'static self, number: usize) -> &'static T {
        assert!(number < LEN, "a table of the runtime is full");
        let mut base = self.base.load(Ordering::Acquire);
        if base.is_null() {
            base = self.make();
        }
        // SAFETY: within the mapping, which stays, and zeroes are a valid entry.
        unsafe { &*base.cast::<T>().add(number) }
    }

    #[cold]
    fn make(&self) -> *mut u8 {
        let bytes = LEN * size_of::<T>();
        let new = reserve(bytes);
        let (success, failure) = (Ordering::AcqRel, Ordering::Acquire);
        match self
            .base
            .compare_exchange(ptr::null_mut(), new, success, failure)
        {
            Ok(_) => new,
            Err(first) => {
                // SAFETY: nobody else knows of it.
                unsafe { release(new, bytes) };
                first
            }
        }
    }
}

/// Types that zeroes are a value of, and that can be shared.
///
/// # Safety
/// They are.
pub(crate) unsafe trait Zeroed: Sync {}
// SAFETY: it is 0 then.
unsafe impl Zeroed for std::sync::atomic::AtomicU64 {}

/// Gives the memory behind whole pages back; they read as zeroes again.
///
/// # Safety
/// The range is part of a mapping made by [`reserve`], and nobody relies on what
/// is in it.
pub(crate) unsafe fn forget(from: *mut u8, bytes: usize) {
    // SAFETY: the caller's promise.
    unsafe { libc::madvise(from.cast(), bytes, libc::MADV_DONTNEED) };
}

/// Gives address space back.
///
/// # Safety
/// The range was made by [`reserve`], and nobody uses it any more.
pub(crate) unsafe fn release(from: *mut u8, bytes: usize) {
    // SAFETY: the caller's promise.
    unsafe { libc::munmap(from.cast(), bytes) };
}

/// The size of a page.
pub(crate) const PAGE: usize = 4096;

/// Replaces sixteen aligned bytes if they are what is expected; what they were.
///
/// # Safety
/// The address is valid, aligned to sixteen, and everybody accesses it
/// atomically. Every x86-64 processor of the last fifteen years has the
/// instruction.
#[inline(always)]
pub(crate) unsafe fn compare_exchange_16(at: *mut u128, old: u128, new: u128) -> u128 {
    let (mut low, mut high) = (old as u64, (old >> 64) as u64);
    // The compiler's own would be a call into a library unless everything is
    // compiled for processors that have the instruction.
    // SAFETY: the caller's promise; rbx, which the compiler keeps to itself, is
    // put back. The others are named so that none of them is rbx.
    unsafe {
        std::arch::asm!(
            "xchg rbx, rsi",
            "lock cmpxchg16b xmmword ptr [rdi]",
            "mov rbx, rsi",
            in("rdi") at,
            inout("rsi") new as u64 => _,
            in("rcx") (new >> 64) as u64,
            inout("rax") low,
            inout("rdx") high,
            options(nostack),
        );
    }
    u128::from(low) | u128::from(high) << 64
}

/// The same where it is enough to know whether there was what is expected.
///
/// # Safety
/// As above.
#[inline(always)]
pub(crate) unsafe fn exchange_16(at: *mut u128, old: u128, new: u128) -> bool {
    let done: u64;
    // SAFETY: as above.
    unsafe {
        std::arch::asm!(
            "xchg rbx, rsi",
            "lock cmpxchg16b xmmword ptr [rdi]",
            "sete al",
            "mov rbx, rsi",
            in("rdi") at,
            inout("rsi") new as u64 => _,
            in("rcx") (new >> 64) as u64,
            inout("rax") old as u64 => done,
            inout("rdx") (old >> 64) as u64 => _,
            options(nostack),
        );
    }
    done as u8 != 0
}

/// An array on the heap, and never on the stack: the threads of libraries have small ones.
pub(crate) fn boxed<T: Clone, const N: usize>(value: T) -> Box<[T; N]> {
    let array = vec![value; N].try_into();
    array.unwrap_or_else(|_| unreachable!("it has that many"))
}
