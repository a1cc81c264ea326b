//! The beginning: once, before anything of the program runs.

use std::ffi::c_char;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::abi::{atomic, caller, is_off, memory, with_caller};
use crate::entry::Twins;
use crate::interpose::libraries;
use crate::interpose::threads::farewell;
use crate::patch::{self, Patch, RETURN};
use crate::sampling::calls::CallWord;
use crate::spin::pause;
use crate::thread::Visit;
use crate::tls::{self, Hot};
use crate::{
    cell, control, detector, entry, finish, fork, hooks, memory_limit, messages, objects, options,
    output, readers, real, record, sampling, shadow, signals, sweep, tape, triggers,
};

const NOT_YET: u8 = 0;
const UNDER_WAY: u8 = 1;
const DONE: u8 = 2;

static STATE: AtomicU8 = AtomicU8::new(NOT_YET);

/// Whether the runtime is up.
#[inline]
pub(crate) fn is_ready() -> bool {
    STATE.load(Ordering::Acquire) == DONE
}

/// Finds the environment where the kernel has put it, if the C library does not know it yet.
/// In a program that gcc has built this comes before the C library's own constructor: gcc's
/// `libtsan_preinit.o` begins as early as we do, and says nothing of it.
fn find_environment() {
    unsafe extern "C" {
        static mut environ: *const *const c_char;
    }
    // SAFETY: nobody else runs yet. The loader keeps where the stack begins: with the number
    // of arguments, they themselves, a null, and the environment.
    unsafe {
        if !environ.is_null() {
            return;
        }
        let kept = libc::dlsym(libc::RTLD_DEFAULT, c"__libc_stack_end".as_ptr());
        if let Some(&start) = kept.cast::<*const usize>().as_ref()
            && let Some(&count) = start.as_ref()
        {
            environ = start.add(count + 2).cast();
        }
    }
}

/// Sets the runtime up, if nobody has yet.
pub(crate) fn init() {
    match STATE.compare_exchange(NOT_YET, UNDER_WAY, Ordering::Acquire, Ordering::Acquire) {
        Ok(_) => {
            find_environment();
            real::find_all();
            shadow::init();
            cell::init();
            objects::init();
            messages::init();
            readers::init();
            detector::set(options::get().engine);
            match options::get().engine {
                detector::Engine::Off => off(),
                _ => sweep::init(),
            }
            record::init();
            if tape::is_recording() {
                note_accesses();
            }
            if record::is_active() {
                signals::mourn();
            }
            STATE.store(DONE, Ordering::Release);
            finish::prepare();
            fork::prepare();
            libraries::refresh();
            control::start();
            if control::is_on() {
                count_accesses();
            } else if detector::is_idle() && !tape::is_recording() {
                replace_by_nothing();
            } else if sampling::start() {
                sample_accesses();
            }
            if options::get().force_background_thread {
                memory_limit::watch();
            }
            if options::get().verbosity > 0 {
                output::write(&format!(
                    "***** Running under ThreadSanitizer (Racehound, pid {}) *****\n",
                    std::process::id()
                ));
            }
            hooks::on_initialize();
        }
        Err(DONE) => {}
        Err(_) => {
            let mut rounds = 0;
            while STATE.load(Ordering::Acquire) != DONE {
                pause(&mut rounds);
            }
        }
    }
}

/// Makes the runtime do nothing: the program calls the real functions, and the
/// hot entry points return at once.
fn off() {
    real::step_aside();
    // Where code must not be changed, the slow paths do nothing instead.
    let hot = entry::all().into_iter().map(Patch::returns);
    patch::apply(hot.chain(only_what_was_asked_for()));
}

/// Makes entry points that have something to do for the program do nothing else.
fn only_what_was_asked_for() -> impl Iterator<Item = Patch> {
    let atomics = atomic::plain::patches();
    atomics.into_iter().chain(memory::plain())
}

/// Makes the hot entry points note all accesses for the trace.
fn note_accesses() {
    let checked = options::get().reports();
    let noted = |twins: &Twins| match checked {
        true => twins.recorded,
        false => twins.unchecked,
    };
    let mut patches = in_place_of_accesses(noted);
    if options::get().record_calls {
        let recorded = entry::calls().map(|call| Patch::jumps(call.usual, call.recorded));
        patches.extend(recorded);
    }
    if !patch::apply(patches) {
        fatal("the system does not allow to change code, so no trace can be recorded");
    }
}

/// Makes the hot entry points count accesses, and announce those that are watched,
/// if no detector wants them. Where a detector and a trace do, they are not counted.
fn count_accesses() {
    let (idle, recording) = (detector::is_idle(), tape::is_recording());
    if recording && !idle {
        return;
    }
    let counted = |twins: &Twins| match (idle, control::is_watching()) {
        (true, _) if recording => twins.announced,
        (true, true) => twins.watched,
        (true, false) => twins.only_counted,
        (false, _) => twins.counted,
    };
    if !patch::apply(in_place_of_accesses(counted)) {
        fatal("the system does not allow to change code, so the program cannot be controlled");
    }
}

/// Makes the hot entry points ask first whether they are wanted.
fn sample_accesses() {
    let accesses = entry::accesses();
    let calls = entry::calls().map(|call| Patch::jumps(call.usual, call.sampled));
    if !patch::apply(accesses.iter().map(look_if_wanted).chain(calls)) {
        fatal("the system does not allow to change code, so there is no sampling");
    }
}

/// Makes an access entry point return if the thread looks away: the test that nearly
/// all accesses of a sampled run end with.
fn look_if_wanted(twins: &Twins) -> Patch {
    let word = tls::offset() as i32 + std::mem::offset_of!(Hot, call) as i32;
    let mut code = [0; 16];
    // test byte ptr fs:[word], AWAY
    code[..4].copy_from_slice(&[0x64, 0xf6, 0x04, 0x25]);
    code[4..8].copy_from_slice(&word.to_le_bytes());
    code[8] = CallWord::AWAY as u8;
    // jz sampled
    code[9..11].copy_from_slice(&[0x0f, 0x84]);
    let behind = twins.usual + 15;
    let distance = twins.sampled.wrapping_sub(behind) as i32;
    code[11..15].copy_from_slice(&distance.to_le_bytes());
    code[15] = RETURN;
    Patch::new(twins.usual, &code)
}

/// Makes the hot entry points do nothing: no detector wants accesses.
fn replace_by_nothing() {
    let accesses = entry::accesses();
    let hot = accesses.iter().map(|twins| Patch::returns(twins.usual));
    let others = triggers::is_all().then(only_what_was_asked_for);
    patch::apply(hot.chain(others.into_iter().flatten()));
}

/// Puts others in the place of the hot entry points.
fn in_place_of_accesses(by: impl Fn(&Twins) -> usize) -> Vec<Patch> {
    entry::accesses()
        .iter()
        .map(|twins| Patch::jumps(twins.usual, by(twins)))
        .collect()
}

with_caller! {
    fn __tsan_init => module_begins;
}

/// Every instrumented module calls it first, for each of its sources.
unsafe extern "C" fn module_begins() {
    let visit = Visit::begin();
    // The main thread may end by itself, too.
    farewell::prepare();
    if !is_off() {
        libraries::begins(&visit, caller());
    }
}

/// Ends the process for want of something without which nothing works.
pub(crate) fn fatal(why: &str) -> ! {
    use std::io::Write;
    _ = writeln!(std::io::stderr(), "racehound: {why}");
    // SAFETY: ends the process.
    unsafe { libc::_exit(3) }
}

/// What tells a program with this runtime from others.
#[unsafe(no_mangle)]
pub static __racehound_runtime: u32 = 1;
