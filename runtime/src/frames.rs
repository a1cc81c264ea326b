//! The calls a thread is in.
//!
//! Function entry pushes the caller's address and nothing else: most calls make
//! no access that anybody wants to remember. Where one does, the calls are
//! turned into a [`Context`], from the outermost one on whose context is not
//! known yet; each frame keeps its own.

use crate::context::Context;
use crate::memory;
use crate::sampling::calls::CallWord;

/// A call.
#[repr(C)]
pub(crate) struct Frame {
    /// Where it came from: the return address.
    pub(crate) caller: usize,
    /// The context inside the call, or [`Context::UNKNOWN`] until somebody asks.
    pub(crate) context: u32,
    /// What was decided about it where not all calls are looked at.
    pub(crate) call: CallWord,
}

const _: () = assert!(size_of::<Frame>() == 16);

/// Frames at the bottom that stand for "no call": more than one, so that a
/// program that leaves more functions than it entered (by way of a context
/// switch that we do not know of) finds firm ground for a while.
const GROUND: usize = 256;

/// The memory of a thread's frames.
pub(crate) struct Frames {
    base: *mut Frame,
    bytes: usize,
}

/// Room for at least this many bytes of stack, whatever the thread says.
const SMALLEST: usize = 1 << 20;
/// The main thread's stack may be unlimited.
const LARGEST: usize = 1 << 30;

impl Frames {
    /// Room for the calls of a thread with that much stack. A call takes at
    /// least sixteen bytes of stack on every system we know, as a frame does
    /// here, so there is no need to look for overflow: the stack overflows first.
    pub(crate) fn new(stack: usize) -> Self {
        let bytes = stack.clamp(SMALLEST, LARGEST) + memory::PAGE;
        let base = memory::reserve(bytes).cast();
        let frames = Self { base, bytes };
        for i in 0..GROUND {
            // SAFETY: the mapping begins with a page for them.
            unsafe {
                frames.base.add(i).write(Frame {
                    caller: 0,
                    context: Context::ROOT.0,
                    call: CallWord::OUTSIDE,
                });
            }
        }
        frames
    }

    /// No calls.
    pub(crate) fn bottom(&self) -> *mut Frame {
        // SAFETY: within the mapping.
        unsafe { self.base.add(GROUND) }
    }
}

impl Drop for Frames {
    fn drop(&mut self) {
        // SAFETY: the thread is gone.
        unsafe { memory::release(self.base.cast(), self.bytes) };
    }
}

/// The context of the calls below `top`; `inside` finds that of a call in a known
/// one.
///
/// # Safety
/// `top` is behind a frame of the current thread.
#[inline(always)]
pub(crate) unsafe fn context(
    top: *mut Frame,
    mut inside: impl FnMut(Context, usize) -> Context,
) -> Context {
    // SAFETY: there is at least the sentinel, and below another frame is one.
    unsafe {
        let frame = top.sub(1);
        let known = Context((*frame).context);
        if known != Context::UNKNOWN {
            return known;
        }
        let around = Context((*frame.sub(1)).context);
        if around == Context::UNKNOWN {
            return find(top, inside);
        }
        let context = inside(around, (*frame).caller);
        (*frame).context = context.0;
        context
    }
}

#[inline(never)]
unsafe fn find(top: *mut Frame, mut inside: impl FnMut(Context, usize) -> Context) -> Context {
    // SAFETY: the sentinel has a context, so this ends there at the latest.
    unsafe {
        let mut at = top.sub(1);
        while (*at).context == 0 {
            at = at.sub(1);
        }
        let mut context = Context((*at).context);
        while at.add(1) < top {
            at = at.add(1);
            context = inside(context, (*at).caller);
            (*at).context = context.0;
        }
        context
    }
}
