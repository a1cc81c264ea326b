//! Code of ours that is changed before the program begins.
//!
//! To make memory writable and take that back takes the system far longer than the change
//! itself, and every program waits for it. So functions that lie close together, as entry
//! points do, are changed together.

use crate::memory::PAGE;

/// Functions further apart are changed one after the other.
const CLOSE: usize = 16 * PAGE;

/// What a function begins with from now on.
pub(crate) struct Patch {
    function: usize,
    code: [u8; Self::LONGEST],
    length: usize,
}

impl Patch {
    const LONGEST: usize = 16;

    /// These instructions.
    pub(crate) fn new(function: usize, instructions: &[u8]) -> Self {
        let mut code = [0; Self::LONGEST];
        code[..instructions.len()].copy_from_slice(instructions);
        Self {
            function,
            code,
            length: instructions.len(),
        }
    }

    /// It returns at once.
    pub(crate) fn returns(function: usize) -> Self {
        Self::new(function, &[RETURN])
    }

    /// Another function takes its place.
    pub(crate) fn jumps(function: usize, to: usize) -> Self {
        const JUMP: u8 = 0xe9;
        let mut code = [JUMP, 0, 0, 0, 0];
        // The distance counts from behind the instruction; all of our code is near.
        let distance = to.wrapping_sub(function + code.len()) as i32;
        code[1..].copy_from_slice(&distance.to_le_bytes());
        Self::new(function, &code)
    }

    fn end(&self) -> usize {
        self.function + self.length
    }
}

pub(crate) const RETURN: u8 = 0xc3;

/// Changes functions; false if that is not allowed.
pub(crate) fn apply(patches: impl IntoIterator<Item = Patch>) -> bool {
    let mut patches: Vec<Patch> = patches.into_iter().collect();
    patches.sort_by_key(|patch| patch.function);
    patches
        .chunk_by(|one, next| next.function - one.end() < CLOSE)
        .all(apply_close)
}

/// Changes functions that lie close together, given in their order.
fn apply_close(patches: &[Patch]) -> bool {
    let (Some(first), Some(last)) = (patches.first(), patches.last()) else {
        return true;
    };
    let page = first.function & !(PAGE - 1);
    let protect = |protection| {
        // SAFETY: pages of functions of ours; the program does not run yet.
        unsafe { libc::mprotect(page as *mut _, last.end() - page, protection) == 0 }
    };
    if !protect(libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC) {
        return false;
    }
    for patch in patches {
        for (i, &byte) in patch.code[..patch.length].iter().enumerate() {
            // SAFETY: writable now.
            unsafe { (patch.function as *mut u8).add(i).write_volatile(byte) };
        }
    }
    protect(libc::PROT_READ | libc::PROT_EXEC);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pages of functions that return zero, each at a distance from the one before.
    struct Functions(Vec<usize>);

    impl Functions {
        // xor eax, eax; ret
        const ZERO: [u8; 3] = [0x31, 0xc0, 0xc3];

        fn at(distances: &[usize]) -> Self {
            let size = distances.iter().sum::<usize>() + PAGE;
            // SAFETY: new pages, which nobody else knows.
            let start = unsafe {
                libc::mmap(
                    std::ptr::null_mut(),
                    size,
                    libc::PROT_READ | libc::PROT_WRITE,
                    libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                    -1,
                    0,
                )
            };
            assert_ne!(start, libc::MAP_FAILED);
            let mut at = start as usize;
            let place = |distance: &usize| {
                at += distance;
                // SAFETY: within the pages.
                unsafe { (at as *mut [u8; 3]).write_unaligned(Self::ZERO) };
                at
            };
            let functions = distances.iter().map(place).collect();
            // SAFETY: the pages from above.
            let executable =
                unsafe { libc::mprotect(start, size, libc::PROT_READ | libc::PROT_EXEC) };
            assert_eq!(executable, 0);
            Self(functions)
        }

        fn results(&self) -> Vec<u32> {
            let call = |&function: &usize| {
                // SAFETY: code that returns a number.
                let function: extern "C" fn() -> u32 = unsafe { std::mem::transmute(function) };
                function()
            };
            self.0.iter().map(call).collect()
        }
    }

    /// mov eax, number; ret
    fn returns_number(function: usize, number: u8) -> Patch {
        Patch::new(function, &[0xb8, number, 0, 0, 0, RETURN])
    }

    #[test]
    fn functions_are_changed_wherever_they_lie_and_no_other() {
        let functions = Functions::at(&[0, 64, PAGE - 66, CLOSE - 8, 40 * PAGE, 128]);
        let [a, b, across, close, far, last] = functions.0[..] else {
            unreachable!("so many were made");
        };
        let patches = [
            returns_number(last, 6),
            returns_number(a, 1),
            Patch::jumps(far, b),
            returns_number(across, 3),
            returns_number(close, 4),
        ];
        assert!(apply(patches));
        assert_eq!(functions.results(), [1, 0, 3, 4, 0, 6]);
    }

    #[test]
    fn what_is_not_there_cannot_be_changed() {
        assert!(!apply([Patch::returns(PAGE)]));
        assert!(apply([]));
    }
}
