//! The functions that compilers call before each access and around each
//! function: the hot path, in assembly.
//!
//! An access was settled before if its shadow word holds a stamp of the current
//! epoch for all of its bytes. The test takes fifteen instructions, two loads
//! from shadow memory's table and shadow memory, two from the thread's block, no
//! atomic operation and no stack. Everything else is a jump: the return address
//! goes along as the place of the access, and the slow path returns to the
//! program directly.
//!
//! # The test
//! With `half = stamp << 4 | absent` (see [`shadow`](crate::shadow)) and
//! `floor = first stamp of the epoch << 4`, the difference `half - floor` is
//! `(stamp - first) << 4 | absent`. Rotated right by four, `absent` gets on top:
//! the result is below the number of stamps that may belong to the epoch if and
//! only if the stamp does and no byte is absent.
//!
//! Addresses that are not a multiple of four go the slow way, so one function
//! serves as the aligned and the unaligned entry point.
//!
//! # Recorded runs
//! Each entry point has twins that note the access first. Where a trace is wanted,
//! the entry points are made jumps to them before the program begins; all other
//! runs have nothing of it. Those of calls have twins that are used where the trace is
//! to have calls.
//!
//! # Controlled runs
//! Others count the access first, see [`pace`](crate::control::pace).
//!
//! # Sampled runs
//! A test of a flag takes the place of an access entry point, before a twin, see
//! [`sampling`](crate::sampling); entry and exit of functions have twins that decide.

use std::arch::naked_asm;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::access;
use crate::rule::Rule;
use crate::usual;

std::arch::global_asm!(
    ".bss",
    ".hidden __racehound_slow",
    ".globl __racehound_slow",
    ".type __racehound_slow, @object",
    ".size __racehound_slow, 80",
    ".p2align 6",
    "__racehound_slow:",
    ".zero 80",
    ".text",
);

/// Takes an address and a place.
pub(crate) type Slow = extern "C" fn(usize, usize);

unsafe extern "C" {
    #[link_name = "__racehound_slow"]
    static SLOW: [AtomicPtr<()>; 10];
}

/// Where accesses go that the fast path cannot settle: reads of 1, 2, 4, 8 and
/// 16 bytes, then writes.
pub(crate) fn set_slow_paths(paths: [Slow; 10]) {
    for (i, path) in paths.into_iter().enumerate() {
        // SAFETY: defined above, of that size.
        unsafe { SLOW[i].store(path as *mut (), Ordering::Relaxed) };
    }
}

/// The slow paths of a detector with shadow words: those of accesses that are looked at
/// thoroughly, and where there are such, those of the usual ones.
pub(crate) fn slow_paths<R: Rule>() -> [Slow; 10] {
    let mut paths: [Slow; 10] = [
        access::small::<R, 1, false>,
        access::small::<R, 2, false>,
        access::small::<R, 4, false>,
        access::small::<R, 8, false>,
        access::small::<R, 16, false>,
        access::small::<R, 1, true>,
        access::small::<R, 2, true>,
        access::small::<R, 4, true>,
        access::small::<R, 8, true>,
        access::small::<R, 16, true>,
    ];
    if !R::FIRST_COUNTS {
        paths[2] = usual::enter::<4, false>;
        paths[3] = usual::enter::<8, false>;
        paths[4] = usual::enter::<16, false>;
        paths[7] = usual::enter::<4, true>;
        paths[8] = usual::enter::<8, true>;
        paths[9] = usual::enter::<16, true>;
    }
    paths
}

/// `rdx` = shadow of the four bytes around `rdi`, `rcx` = the thread's block.
macro_rules! shadow_of_rdi {
    () => {
        "mov rax, rdi
         shr rax, 32
         lea rcx, [rip + __racehound_chunks]
         mov rcx, qword ptr [rcx + rax * 8]
         mov rax, rdi
         and rax, -4
         lea rdx, [rcx + rax * 2]
         mov rcx, qword ptr [rip + __racehound_hot@GOTTPOFF]"
    };
}

/// The same for an address that is a multiple of four.
macro_rules! shadow_of_aligned_rdi {
    () => {
        "mov rax, rdi
         shr rax, 32
         lea rdx, [rip + __racehound_chunks]
         mov rdx, qword ptr [rdx + rax * 8]
         mov rcx, qword ptr [rip + __racehound_hot@GOTTPOFF]
         lea rdx, [rdx + rdi * 2]"
    };
}

/// Jumps to `$else` unless the halves at `$half` and at the next word are the
/// same, of this epoch, and about all four bytes.
macro_rules! unless_both_now {
    ($half:literal, $next:literal, $else:literal) => {
        concat!(
            "mov eax, dword ptr [rdx + ",
            $half,
            "]
             cmp eax, dword ptr [rdx + ",
            $next,
            "]
             jne ",
            $else,
            "
             sub eax, dword ptr fs:[rcx]
             ror eax, 4
             cmp eax, dword ptr fs:[rcx + 4]
             jae ",
            $else,
            "\n"
        )
    };
}

/// Jumps to `$else` unless the half at `$half` is of this epoch and about all
/// four bytes.
macro_rules! unless_now {
    ($half:literal, $else:literal) => {
        concat!(
            "mov eax, dword ptr [rdx + ",
            $half,
            "]
             sub eax, dword ptr fs:[rcx]
             ror eax, 4
             cmp eax, dword ptr fs:[rcx + 4]
             jae ",
            $else,
            "\n"
        )
    };
}

/// The same for the bytes in `r8d`.
macro_rules! unless_part_now {
    ($half:literal, $else:literal) => {
        concat!(
            "mov eax, dword ptr [rdx + ",
            $half,
            "]
             sub eax, dword ptr fs:[rcx]
             test eax, r8d
             jnz ",
            $else,
            "
             shr eax, 4
             cmp eax, dword ptr fs:[rcx + 4]
             jae ",
            $else,
            "\n"
        )
    };
}

/// Jumps to `$then` if a word refers to a cell, where its write half was just found not
/// to be of this epoch: in `eax`, `absent` is still on top.
macro_rules! if_in_cell {
    ($then:literal) => {
        concat!(
            "cmp eax, 0xf0000000
             jae ",
            $then,
            "\n"
        )
    };
}

/// Returns if the read half is a set with a read of this epoch.
macro_rules! return_if_in_set {
    () => {
        "mov eax, dword ptr [rdx + 4]
         mov r8d, eax
         and r8d, 63 * 16
         inc eax
         cmp eax, dword ptr fs:[rcx + r8 + 128]
         jne 96f
         ret
         96:\n"
    };
}

/// Leaves `rdx` at what this thread has read of the word around `rdi`, among the
/// readers of the cell that the word at `rdx` refers to; jumps to `$else` if
/// there are none.
macro_rules! reader_or {
    ($else:literal) => {
        concat!(
            "mov eax, dword ptr [rdx]
             shr eax, 4
             shl rax, 6
             add rax, qword ptr [rip + __racehound_cells]
             mov r8d, dword ptr [rax + 12]
             test r8d, r8d
             jz ",
            $else,
            "
             and r8d, dword ptr fs:[rcx + 48]
             lea rdx, [rax + r8 + 16]
             mov eax, edi
             and eax, 4
             add rdx, rax\n"
        )
    };
}

/// `r8d` = a bit for each of the `$ones` bytes at `rdi` within their word.
macro_rules! bytes_of_rdi {
    ($ones:literal) => {
        concat!(
            "mov r9, rcx
             mov ecx, edi
             and ecx, 3
             mov r8d, ",
            $ones,
            "
             shl r8d, cl
             mov rcx, r9\n"
        )
    };
}

/// Jumps to `$known` if a read of words that are all like `rax` need not be looked
/// at, and to `$cell` if they refer to a cell.
macro_rules! read_alike {
    ($known:literal, $cell:literal) => {
        concat!(
            "mov r8, rax
             shr r8, 32
             mov r9d, r8d
             sub r8d, dword ptr fs:[rcx]
             ror r8d, 4
             cmp r8d, dword ptr fs:[rcx + 4]
             jb ",
            $known,
            "
             sub eax, dword ptr fs:[rcx]
             ror eax, 4
             cmp eax, dword ptr fs:[rcx + 4]
             jb ",
            $known,
            "\n",
            if_in_cell!($cell),
            "lea eax, [r9 + 1]
             and r9d, 63 * 16
             cmp eax, dword ptr fs:[rcx + r9 + 128]
             je ",
            $known,
            "\n"
        )
    };
}

/// Goes on if a read of eight bytes, which is part of a larger one, need not be
/// looked at; to the slow path otherwise. Given are the halves of the two words.
macro_rules! read_of_eight {
    ($write:literal, $read:literal, $next_write:literal, $next_read:literal) => {
        concat!(
            unless_both_now!($read, $next_read, "2f"),
            "jmp 5f
             2:\n",
            unless_both_now!($write, $next_write, "3f"),
            "jmp 5f
             3:
             mov eax, dword ptr [rdx + ",
            $read,
            "]
             cmp eax, dword ptr [rdx + ",
            $next_read,
            "]
             jne 99f
             mov r8d, eax
             and r8d, 63 * 16
             inc eax
             cmp eax, dword ptr fs:[rcx + r8 + 128]
             jne 99f
             5:\n"
        )
    };
}

/// Returns if a read of `$ones` bytes of a word need not be looked at: they were, or more
/// of the word, or the thread is one of several readers. Both halves are taken at one
/// moment; that they are the same tells a cell from a set.
macro_rules! read_of_part {
    ($ones:literal) => {
        concat!(
            "mov r8, qword ptr [rdx]
             mov rax, r8
             shr rax, 32
             sub eax, dword ptr fs:[rcx]
             ror eax, 4
             cmp eax, dword ptr fs:[rcx + 4]
             jae 2f
             ret
             2:
             cmp eax, 0xf0000000
             jae 5f\n",
            unless_now!("0", "3f"),
            "ret
             3:\n",
            bytes_of_rdi!($ones),
            unless_part_now!("4", "4f"),
            "ret
             4:\n",
            unless_part_now!("0", "99f"),
            "ret
             5:
             mov rax, r8
             shr rax, 32
             cmp eax, r8d
             je 6f
             mov r8d, eax
             and r8d, 63 * 16
             inc eax
             cmp eax, dword ptr fs:[rcx + r8 + 128]
             jne 3b
             ret
             6:
             shr r8d, 4
             shl r8, 6
             add r8, qword ptr [rip + __racehound_cells]
             mov eax, dword ptr [r8 + 12]
             test eax, eax
             jz 8f
             and eax, dword ptr fs:[rcx + 48]
             lea rdx, [r8 + rax + 16]
             mov eax, edi
             and eax, 4
             add rdx, rax\n",
            bytes_of_rdi!($ones),
            unless_part_now!("0", "99f"),
            "ret
             8:\n",
            return_if_done!()
        )
    };
}

/// Returns if nothing is said any more of the group at `rdx`: one that refers to the cell
/// with number 0.
macro_rules! return_if_done {
    () => {
        "cmp dword ptr [rdx], 15
         jne 99f
         ret\n"
    };
}

macro_rules! slowly {
    ($path:literal) => {
        concat!(
            "99: mov rsi, qword ptr [rsp]
             jmp qword ptr [rip + __racehound_slow + 8 * ",
            $path,
            "]"
        )
    };
}

/// Where a call is looked at briefly, the thread looks away when a place accesses memory for
/// the second time in it, and returns. Somebody who wants it to look closely meanwhile gets
/// his way. See [`calls`](crate::sampling::calls).
macro_rules! unless_repeated {
    () => {
        "mov rcx, qword ptr [rip + __racehound_hot@GOTTPOFF]
         mov eax, dword ptr fs:[rcx + 88]
         test al, {brief}
         jz 72f
         mov rdx, qword ptr [rsp]
         mov r8, qword ptr fs:[rcx + 112]
         mov r9d, edx
         and r9d, 4092
         xor edx, dword ptr fs:[rcx + 108]
         cmp dword ptr [r8 + r9 + 16384], edx
         je 71f
         mov dword ptr [r8 + r9 + 16384], edx
         jmp 72f
         71: mov edx, eax
         or edx, {away}
         lock cmpxchg dword ptr fs:[rcx + 88], edx
         ret
         72:"
    };
}

/// Notes the access for the trace that is being recorded, see
/// [`log`](crate::log), and goes on.
macro_rules! noted {
    ($kind:literal) => {
        concat!(
            "70: mov rcx, qword ptr [rip + __racehound_hot@GOTTPOFF]
             mov rax, qword ptr fs:[rcx + 64]
             test eax, 4095
             jz 71f
             mov rdx, qword ptr [rsp]
             mov qword ptr [rax], rdi
             mov qword ptr [rax + 8], rdx
             mov byte ptr [rax + 15], ",
            $kind,
            "
             add rax, 16
             mov qword ptr fs:[rcx + 64], rax
             jmp 72f
             71: push rdi
             call {room}
             pop rdi
             test al, al
             jnz 70b
             72:\n"
        )
    };
}

/// Counts an access, and lets others go first when it is one too many. Sorts below
/// 5 are reads.
macro_rules! counted {
    ($kind:literal) => {
        concat!(
            "mov rcx, qword ptr [rip + __racehound_hot@GOTTPOFF]
             .if ",
            $kind,
            " >= 5
             mov dword ptr fs:[rcx + 76], {reads}
             sub dword ptr fs:[rcx + 80], 1
             .else
             sub dword ptr fs:[rcx + 76], 1
             .endif
             jns 91f
             push rdi
             mov rdi, qword ptr [rsp + 8]
             call {is_over}
             pop rdi
             91:\n"
        )
    };
}

/// Returns if nobody watches the place of the access; lets it be announced
/// otherwise, see [`watch`](crate::control::watch).
macro_rules! watched {
    ($kind:literal) => {
        concat!(
            "mov rsi, qword ptr [rsp]
             mov rax, rsi
             shr rax, 14
             xor eax, esi
             and eax, 16383
             lea rdx, [rip + __racehound_unwatched]
             cmp qword ptr [rdx + rax * 8], rsi
             jne 80f
             ret
             80: mov edx, ",
            $kind,
            "
             jmp {access}"
        )
    };
}
const _: () = assert!(crate::control::watch::PLACES == 16384);

/// Lets an access be announced if its place is watched, and goes on.
macro_rules! announced {
    ($kind:literal) => {
        concat!(
            "mov rsi, qword ptr [rsp]
             mov rax, rsi
             shr rax, 14
             xor eax, esi
             and eax, 16383
             lea rdx, [rip + __racehound_unwatched]
             cmp qword ptr [rdx + rax * 8], rsi
             je 81f
             push rdi
             mov edx, ",
            $kind,
            "
             call {access}
             pop rdi
             81:\n"
        )
    };
}

/// An access entry point, and what takes its place in a run that is recorded.
pub(crate) struct Twins {
    pub(crate) usual: usize,
    /// Notes the access, and does what the other does.
    pub(crate) recorded: usize,
    /// Only notes it.
    pub(crate) unchecked: usize,
    /// Counts it, and announces it if that is wanted there.
    pub(crate) watched: usize,
    /// Counts it, announces it if that is wanted there, and notes it.
    pub(crate) announced: usize,
    /// Counts it, and does what the usual one does.
    pub(crate) counted: usize,
    /// Only counts it.
    pub(crate) only_counted: usize,
    /// Does what the usual one does, whose place is taken by a test whether the thread
    /// looks.
    pub(crate) sampled: usize,
}

/// The entry point of a function, or its exit.
pub(crate) struct CallTwins {
    pub(crate) usual: usize,
    /// Decides whether the call is looked at.
    pub(crate) sampled: usize,
    /// Notes the call, and does what the usual one does.
    pub(crate) recorded: usize,
}

/// Entry and exit.
pub(crate) fn calls() -> [CallTwins; 2] {
    [
        CallTwins {
            usual: __tsan_func_entry as *const () as usize,
            sampled: sampled_entry as *const () as usize,
            recorded: recorded_entry as *const () as usize,
        },
        CallTwins {
            usual: __tsan_func_exit as *const () as usize,
            sampled: sampled_exit as *const () as usize,
            recorded: recorded_exit as *const () as usize,
        },
    ]
}

/// A function is entered about which is decided: its frame is pushed, others see it. See
/// [`calls`](crate::sampling::calls) for what everything is, and for the other functions.
#[unsafe(naked)]
extern "C" fn sampled_entry() {
    naked_asm!(
        ".p2align 6",
        "mov rsi, qword ptr [rsp]",
        "mov rcx, qword ptr [rip + __racehound_hot@GOTTPOFF]",
        "mov rdx, qword ptr fs:[rcx + 112]",
        "test rdx, rdx",
        "jz 99f",
        // Where it rests, if it does.
        "mov eax, esi",
        "shr eax, 10",
        "xor eax, esi",
        "and eax, 4092",
        "lea rdx, [rdx + rax * 4]",
        "cmp qword ptr [rdx], rsi",
        "jne 99f",
        // Nobody is new, and nobody wants it to look.
        "mov eax, dword ptr [rdx + 8]",
        "mov r8d, dword ptr [rip + {generation}]",
        "xor r8d, eax",
        "test r8d, {kept}",
        "jnz 99f",
        "mov r8, qword ptr fs:[rcx + 120]",
        "cmp dword ptr [r8 + 4], 0",
        "jne 99f",
        "sub dword ptr [rdx + 12], 1",
        "jb 98f",
        "mov r9, qword ptr fs:[rcx + 8]",
        "mov qword ptr [r9], rdi",
        "mov dword ptr [r9 + 8], 0",
        "mov dword ptr [r9 + 12], eax",
        "add r9, 16",
        "mov qword ptr fs:[rcx + 8], r9",
        "mov dword ptr fs:[rcx + 88], eax",
        "mov dword ptr [r8], eax",
        // What it repeats is counted from here, if it looks.
        "test al, {away}",
        "jnz 97f",
        "add dword ptr fs:[rcx + 108], {serial}",
        "97: ret",
        "98: mov dword ptr [rdx + 12], 0",
        "99: jmp {enter}",
        generation = sym crate::sampling::calls::GENERATION,
        kept = const crate::sampling::calls::CallWord::GENERATION,
        away = const crate::sampling::calls::CallWord::AWAY,
        serial = const crate::sampling::calls::SERIAL as i32,
        enter = sym crate::sampling::calls::enter,
    )
}

/// A function is left for one about which nobody has to think again.
#[unsafe(naked)]
extern "C" fn sampled_exit() {
    naked_asm!(
        ".p2align 6",
        "mov rcx, qword ptr [rip + __racehound_hot@GOTTPOFF]",
        "mov r8, qword ptr fs:[rcx + 120]",
        "test r8, r8",
        "jz 99f",
        "mov rax, qword ptr fs:[rcx + 8]",
        "mov edx, dword ptr [rax - 20]",
        "mov esi, dword ptr [rip + {generation}]",
        "xor esi, edx",
        "test esi, {kept}",
        "jnz 99f",
        "sub rax, 16",
        "mov qword ptr fs:[rcx + 8], rax",
        "mov dword ptr fs:[rcx + 88], edx",
        "mov dword ptr [r8], edx",
        "ret",
        "99: jmp {leave}",
        generation = sym crate::sampling::calls::GENERATION,
        kept = const crate::sampling::calls::CallWord::GENERATION,
        leave = sym crate::sampling::calls::leave,
    )
}

macro_rules! accesses {
    ($($name:ident $(, $more:ident)* => $kind:literal $code:tt;)*) => {
        $(
            accesses!(@one $name $kind $code);
            $(accesses!(@one $more $kind $code);)*
        )*

        /// All entry points of accesses.
        pub(crate) fn accesses() -> Vec<Twins> {
            vec![$(twins!($name) $(, twins!($more))*),*]
        }
    };
    (@one $name:ident $kind:literal ($($code:tt)*)) => {
        entry!($name ($($code)*));

        mod $name {
            use std::arch::naked_asm;

            #[unsafe(naked)]
            pub(super) extern "C" fn recorded() {
                naked_asm!(noted!($kind), $($code)*, room = sym crate::log::make_room)
            }

            #[unsafe(naked)]
            pub(super) extern "C" fn unchecked() {
                naked_asm!(noted!($kind), "ret", room = sym crate::log::make_room)
            }

            #[unsafe(naked)]
            pub(super) extern "C" fn sampled() {
                naked_asm!(
                    ".p2align 5",
                    unless_repeated!(),
                    $($code)*,
                    away = const crate::sampling::calls::CallWord::AWAY,
                    brief = const crate::sampling::calls::CallWord::BRIEF,
                )
            }

            #[unsafe(naked)]
            pub(super) extern "C" fn watched() {
                naked_asm!(
                    ".p2align 5",
                    counted!($kind),
                    watched!($kind),
                    access = sym crate::control::watch::access,
                    is_over = sym crate::control::pace::is_over,
                    reads = const crate::control::pace::READS,
                )
            }

            #[unsafe(naked)]
            pub(super) extern "C" fn announced() {
                naked_asm!(
                    ".p2align 5",
                    counted!($kind),
                    announced!($kind),
                    noted!($kind),
                    "ret",
                    access = sym crate::control::watch::access,
                    is_over = sym crate::control::pace::is_over,
                    reads = const crate::control::pace::READS,
                    room = sym crate::log::make_room,
                )
            }

            #[unsafe(naked)]
            pub(super) extern "C" fn counted() {
                naked_asm!(
                    ".p2align 5",
                    counted!($kind),
                    $($code)*,
                    is_over = sym crate::control::pace::is_over,
                    reads = const crate::control::pace::READS,
                )
            }

            #[unsafe(naked)]
            pub(super) extern "C" fn only_counted() {
                naked_asm!(
                    ".p2align 5",
                    counted!($kind),
                    "ret",
                    is_over = sym crate::control::pace::is_over,
                    reads = const crate::control::pace::READS,
                )
            }
        }
    };
}

macro_rules! twins {
    ($name:ident) => {
        Twins {
            usual: $name as *const () as usize,
            recorded: $name::recorded as *const () as usize,
            unchecked: $name::unchecked as *const () as usize,
            watched: $name::watched as *const () as usize,
            announced: $name::announced as *const () as usize,
            counted: $name::counted as *const () as usize,
            only_counted: $name::only_counted as *const () as usize,
            sampled: $name::sampled as *const () as usize,
        }
    };
}

macro_rules! entry {
    ($name:ident ($($code:tt)*)) => {
        #[doc = concat!("`", stringify!($name), "` of the ABI.")]
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub extern "C" fn $name() {
            // What is inside says how the section that it has to itself is aligned.
            naked_asm!(".p2align 6", $($code)*)
        }
    };
}

/// Entry points of accesses and calls: what `none` turns off.
pub(crate) fn all() -> Vec<usize> {
    let calls = calls().map(|call| call.usual);
    let accesses = accesses().into_iter().map(|access| access.usual);
    accesses.chain(calls).collect()
}

accesses! {
    __tsan_read1, __tsan_volatile_read1 => "0" (
        shadow_of_rdi!(),
        read_of_part!("1"),
        slowly!("0")
    );
    __tsan_read2, __tsan_unaligned_read2, __tsan_volatile_read2, __tsan_unaligned_volatile_read2 => "1" (
        "test dil, 1",
        "jnz 99f",
        shadow_of_rdi!(),
        read_of_part!("3"),
        slowly!("1")
    );
    __tsan_read4, __tsan_unaligned_read4, __tsan_volatile_read4, __tsan_unaligned_volatile_read4 => "2" (
        "test dil, 3",
        "jnz 99f",
        shadow_of_aligned_rdi!(),
        unless_now!("4", "2f"),
        "ret",
        "2:",
        return_if_in_set!(),
        unless_now!("0", "3f"),
        "ret",
        "3:",
        if_in_cell!("6f"),
        "jmp 99f",
        "6:",
        reader_or!("8f"),
        unless_now!("0", "99f"),
        "ret",
        "8:",
        return_if_done!(),
        slowly!("2")
    );
    __tsan_read8, __tsan_unaligned_read8, __tsan_volatile_read8, __tsan_unaligned_volatile_read8 => "3" (
        "test dil, 3",
        "jnz 99f",
        shadow_of_aligned_rdi!(),
        "mov rax, qword ptr [rdx]",
        "cmp rax, qword ptr [rdx + 8]",
        "jne 3f",
        read_alike!("98f", "7f"),
        "jmp 99f",
        "98: ret",
        "3:",
        unless_both_now!("4", "12", "2f"),
        "ret",
        "2:",
        unless_both_now!("0", "8", "9f"),
        "ret",
        "9:",
        "mov eax, dword ptr [rdx + 4]",
        "cmp eax, dword ptr [rdx + 12]",
        "jne 4f",
        return_if_in_set!(),
        "4:",
        unless_now!("4", "5f"),
        "jmp 6f",
        "5:",
        unless_now!("0", "99f"),
        "6:",
        unless_now!("12", "8f"),
        "ret",
        "8:",
        unless_now!("8", "99f"),
        "ret",
        "7:",
        "test dil, 4",
        "jnz 99f",
        reader_or!("9f"),
        unless_now!("0", "99f"),
        unless_now!("4", "99f"),
        "ret",
        "9:",
        return_if_done!(),
        slowly!("3")
    );
    __tsan_vptr_read => "3" (
        "test dil, 3",
        "jnz 99f",
        shadow_of_aligned_rdi!(),
        unless_both_now!("4", "12", "7f"),
        "ret",
        "7:",
        unless_both_now!("0", "8", "99f"),
        "ret",
        "99: mov rsi, qword ptr [rsp]",
        "bts rsi, 63",
        "jmp qword ptr [rip + __racehound_slow + 24]"
    );
    __tsan_read16, __tsan_unaligned_read16, __tsan_volatile_read16, __tsan_unaligned_volatile_read16 => "4" (
        "test dil, 3",
        "jnz 99f",
        shadow_of_aligned_rdi!(),
        "mov rax, qword ptr [rdx]",
        "cmp rax, qword ptr [rdx + 8]",
        "jne 8f",
        "cmp rax, qword ptr [rdx + 16]",
        "jne 8f",
        "cmp rax, qword ptr [rdx + 24]",
        "jne 8f",
        read_alike!("98f", "9f"),
        "jmp 99f",
        "9:",
        "test dil, 4",
        "jnz 99f",
        return_if_done!(),
        "8:",
        read_of_eight!("0", "4", "8", "12"),
        read_of_eight!("16", "20", "24", "28"),
        "98: ret",
        slowly!("4")
    );
    __tsan_write1, __tsan_volatile_write1, __tsan_read_write1, __tsan_unaligned_read_write1 => "5" (
        shadow_of_rdi!(),
        unless_now!("0", "2f"),
        "ret",
        "2:",
        bytes_of_rdi!("1"),
        unless_part_now!("0", "8f"),
        "ret",
        "8:",
        return_if_done!(),
        slowly!("5")
    );
    __tsan_write2, __tsan_unaligned_write2, __tsan_volatile_write2, __tsan_unaligned_volatile_write2, __tsan_read_write2, __tsan_unaligned_read_write2 => "6" (
        "test dil, 1",
        "jnz 99f",
        shadow_of_rdi!(),
        unless_now!("0", "2f"),
        "ret",
        "2:",
        bytes_of_rdi!("3"),
        unless_part_now!("0", "8f"),
        "ret",
        "8:",
        return_if_done!(),
        slowly!("6")
    );
    __tsan_write4, __tsan_unaligned_write4, __tsan_volatile_write4, __tsan_unaligned_volatile_write4, __tsan_read_write4, __tsan_unaligned_read_write4 => "7" (
        "test dil, 3",
        "jnz 99f",
        shadow_of_aligned_rdi!(),
        unless_now!("0", "8f"),
        "ret",
        "8:",
        return_if_done!(),
        slowly!("7")
    );
    __tsan_write8, __tsan_unaligned_write8, __tsan_volatile_write8, __tsan_unaligned_volatile_write8, __tsan_read_write8, __tsan_unaligned_read_write8 => "8" (
        "test dil, 3",
        "jnz 99f",
        shadow_of_aligned_rdi!(),
        unless_both_now!("0", "8", "2f"),
        "ret",
        "2:",
        unless_now!("0", "8f"),
        unless_now!("8", "99f"),
        "ret",
        "8:",
        "test dil, 4",
        "jnz 99f",
        return_if_done!(),
        slowly!("8")
    );
    __tsan_write16, __tsan_unaligned_write16, __tsan_volatile_write16, __tsan_unaligned_volatile_write16, __tsan_read_write16, __tsan_unaligned_read_write16 => "9" (
        "test dil, 3",
        "jnz 99f",
        shadow_of_aligned_rdi!(),
        unless_both_now!("0", "8", "8f"),
        unless_both_now!("16", "24", "99f"),
        "ret",
        "8:",
        "test dil, 4",
        "jnz 99f",
        "cmp dword ptr [rdx + 16], 15",
        "jne 99f",
        return_if_done!(),
        slowly!("9")
    );
}

/// Pushes a frame for the call from `rdi`.
macro_rules! pushed {
    () => {
        "mov rcx, qword ptr [rip + __racehound_hot@GOTTPOFF]
         mov rax, qword ptr fs:[rcx + 8]
         test rax, rax
         jz 99f
         mov qword ptr [rax], rdi
         mov qword ptr [rax + 8], 0
         add rax, 16
         mov qword ptr fs:[rcx + 8], rax
         ret
         99: jmp {enter}"
    };
}

/// Removes it.
macro_rules! popped {
    () => {
        "mov rcx, qword ptr [rip + __racehound_hot@GOTTPOFF]
         sub qword ptr fs:[rcx + 8], 16
         ret"
    };
}

entry!(__tsan_func_entry (pushed!(), enter = sym first_call));
entry!(__tsan_func_exit(popped!()));

// The kinds are those of `log`.
#[unsafe(naked)]
extern "C" fn recorded_entry() {
    naked_asm!(
        noted!("10"),
        pushed!(),
        room = sym crate::log::make_room,
        enter = sym first_call,
    )
}

#[unsafe(naked)]
extern "C" fn recorded_exit() {
    naked_asm!(noted!("11"), popped!(), room = sym crate::log::make_room)
}

/// A function is entered by a thread that we have not met.
extern "C" fn first_call(caller: usize) {
    drop(crate::thread::Visit::begin());
    crate::thread::push_call(caller);
}
