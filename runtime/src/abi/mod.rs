//! The functions that compilers and programs call by name, beside the hot ones
//! in [`entry`](crate::entry).

pub(crate) mod atomic;
pub(crate) mod memory;
pub(crate) mod public;

/// The address behind the call into the function this is inlined into, if that
/// keeps a frame pointer; only a hint otherwise.
macro_rules! with_caller {
    ($($(#[$note:meta])* fn $name:ident => $body:path;)*) => {
        $(
            $(#[$note])*
            #[doc = concat!("`", stringify!($name), "` of the ABI.")]
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            pub extern "C" fn $name() {
                // The caller's address goes along out of band: all argument
                // registers stay as they are.
                std::arch::naked_asm!(
                    "mov r11, qword ptr [rip + __racehound_hot@GOTTPOFF]",
                    "mov r10, qword ptr [rsp]",
                    "mov qword ptr fs:[r11 + 32], r10",
                    "jmp {body}",
                    body = sym $body,
                )
            }
        )*
    };
}
pub(crate) use with_caller;

/// Where the function that was just entered by way of [`with_caller`] was
/// called.
#[inline(always)]
pub(crate) fn caller() -> usize {
    // SAFETY: our own block.
    unsafe { (*crate::tls::hot()).caller }
}
