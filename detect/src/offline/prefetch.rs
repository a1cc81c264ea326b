//! Asking for memory before it is needed. A trace says what the next accesses
//! are, which no processor can guess: most of the time of a detector is
//! otherwise spent waiting for the cell of a variable.

/// Tells the processor that `_target` will be used soon.
#[inline(always)]
pub(super) fn prefetch<T>(_target: *const T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch is a hint that never faults, whatever the address,
        // and SSE, which it needs, is part of x86-64.
        #[allow(unsafe_code)]
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(_target.cast());
        }
    }
}
