//! Where the current thread's stack is.

use std::ops::Range;

/// The stack, with what the C library keeps beside it.
pub(crate) fn extent() -> Range<usize> {
    // SAFETY: the attributes are initialised before they are read, and destroyed.
    unsafe {
        let mut attributes = std::mem::zeroed::<libc::pthread_attr_t>();
        if libc::pthread_getattr_np(libc::pthread_self(), &raw mut attributes) != 0 {
            return 0..0;
        }
        let mut start = std::ptr::null_mut();
        let mut size = 0;
        libc::pthread_attr_getstack(&raw const attributes, &raw mut start, &raw mut size);
        libc::pthread_attr_destroy(&raw mut attributes);
        start as usize..start as usize + size
    }
}

/// Bytes of the C library's own description of a thread, which begins at its
/// handle.
pub(crate) const DESCRIPTOR: usize = 0x900;

/// Where the thread-local storage of the current thread begins, roughly: at the
/// lowest of what we know to be in it.
pub(crate) fn tls_start() -> usize {
    let ours = crate::tls::hot() as usize;
    // SAFETY: asks where errno is.
    let errno = unsafe { libc::__errno_location() } as usize;
    ours.min(errno) & !0xfff
}
