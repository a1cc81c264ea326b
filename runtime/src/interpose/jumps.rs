//! Jumps out of functions: the calls that are left without returning end.
//!
//! `setjmp` returns twice to its caller, so it cannot be called from a function
//! of ours; a few instructions note where it was called and go on to the real
//! one.

use std::ffi::{c_int, c_void};

use super::interpose;
use crate::frames::Frame;
use crate::thread;
use crate::tls::hot;
use crate::{record, signals};

/// A place to jump to.
pub(crate) struct Target {
    buffer: usize,
    stack: usize,
    top: *mut Frame,
    handling: u32,
    /// Recorded calls around it.
    calls: usize,
}

/// The places a thread may jump to.
#[derive(Default)]
pub(crate) struct Targets(Vec<Target>);

impl Targets {
    fn set(&mut self, target: Target) {
        // Who was further down the stack has returned since.
        self.0
            .retain(|t| t.stack >= target.stack && t.buffer != target.buffer);
        self.0.push(target);
    }

    fn find(&self, buffer: usize) -> Option<&Target> {
        self.0.iter().find(|t| t.buffer == buffer)
    }
}

#[cfg(not(test))]
macro_rules! set_jump {
    ($($name:literal),*) => {
        $(
            std::arch::global_asm!(
                ".text",
                concat!(".globl __interceptor_", $name),
                concat!(".type __interceptor_", $name, ", @function"),
                concat!("__interceptor_", $name, ":"),
                "push rdi",
                "push rsi",
                "lea rsi, [rsp + 16]",
                "sub rsp, 8",
                "call __racehound_note_jump",
                "add rsp, 8",
                "pop rsi",
                "pop rdi",
                concat!("jmp ", $name),
            );
        )*
    };
}

#[cfg(not(test))]
set_jump!("setjmp", "_setjmp", "sigsetjmp", "__sigsetjmp");

#[unsafe(no_mangle)]
extern "C" fn __racehound_note_jump(buffer: usize, stack: usize) {
    let handling = signals::depth();
    // SAFETY: our own block.
    let top = unsafe { (*hot()).top };
    if let Some(thread) = thread::current() {
        let busy = thread::Visit::begin();
        thread.settle_log();
        let calls = thread.recorder.depth();
        thread.targets.set(Target {
            buffer,
            stack,
            top,
            handling,
            calls,
        });
        drop(busy);
    }
}

fn leave_calls(buffer: usize) {
    if let Some(thread) = thread::current()
        && let Some(target) = thread.targets.find(buffer)
    {
        let calls = target.calls;
        thread.signals.handling = target.handling;
        // SAFETY: our own block; the calls below the target are still there.
        unsafe { (*hot()).top = target.top };
        crate::sampling::calls::resume(hot());
        record::left_calls(&thread::Visit::begin(), calls);
    }
}

unsafe extern "C" {
    #[link_name = "longjmp"]
    fn real_longjmp(buffer: *mut c_void, value: c_int) -> !;
    #[link_name = "_longjmp"]
    fn real_underscore_longjmp(buffer: *mut c_void, value: c_int) -> !;
    #[link_name = "siglongjmp"]
    fn real_siglongjmp(buffer: *mut c_void, value: c_int) -> !;
    #[link_name = "__longjmp_chk"]
    fn real_longjmp_chk(buffer: *mut c_void, value: c_int) -> !;
}

interpose! {
    fn longjmp(buffer: *mut c_void, value: c_int) -> ! {
        leave_calls(buffer as usize);
        real_longjmp(buffer, value)
    }

    fn _longjmp(buffer: *mut c_void, value: c_int) -> ! {
        leave_calls(buffer as usize);
        real_underscore_longjmp(buffer, value)
    }

    fn siglongjmp(buffer: *mut c_void, value: c_int) -> ! {
        leave_calls(buffer as usize);
        real_siglongjmp(buffer, value)
    }

    fn __longjmp_chk(buffer: *mut c_void, value: c_int) -> ! {
        leave_calls(buffer as usize);
        real_longjmp_chk(buffer, value)
    }
}
