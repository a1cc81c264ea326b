//! Which pages of a mapping have memory behind them.
//!
//! Shadow memory is reserved by the gigabyte and touched here and there. New
//! kernels list the pages that are there; older ones say of each page whether it
//! is, which takes longer the more there are that are not.

use std::mem::size_of;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicI32, Ordering};

use crate::memory::PAGE;

/// The kernel's view of our memory, or -1.
static MAP: AtomicI32 = AtomicI32::new(-1);

/// Opens the kernel's view of this process's memory: at its beginning, when nobody
/// else opens files. The descriptor is out of the way of the program's.
pub(crate) fn open() {
    const OUT_OF_THE_WAY: i32 = 700;
    // SAFETY: a constant path, and descriptors of our own.
    unsafe {
        let flags = libc::O_RDONLY | libc::O_CLOEXEC;
        let low = libc::open(c"/proc/self/pagemap".as_ptr(), flags);
        let high = libc::fcntl(low, libc::F_DUPFD_CLOEXEC, OUT_OF_THE_WAY);
        libc::close(low);
        MAP.store(high, Ordering::Relaxed);
    }
}

/// The same in a forked child: what it has got is its parent's.
pub(crate) fn open_again() {
    let parents = MAP.load(Ordering::Relaxed);
    if is_pagemap(parents) {
        // SAFETY: our own descriptor.
        unsafe { libc::close(parents) };
        open();
    }
}

/// Whether a descriptor still is what we opened, and not the program's.
fn is_pagemap(descriptor: RawFd) -> bool {
    let link = std::fs::read_link(format!("/proc/self/fd/{descriptor}"));
    link.is_ok_and(|target| target.ends_with("pagemap"))
}

/// Calls `each` with the pages of a mapping that have memory of their own.
///
/// # Safety
/// The mapping is readable, and nobody changes it meanwhile.
pub(crate) unsafe fn each_page(base: *mut u8, length: usize, mut each: impl FnMut(&[u64])) {
    let mut pages = |from: usize, to: usize| {
        for at in (from..to).step_by(PAGE) {
            // SAFETY: a page of the mapping.
            each(unsafe { std::slice::from_raw_parts(at as *const u64, PAGE / 8) });
        }
    };
    if !listed(base as usize, length, &mut pages) {
        asked(base, length, &mut pages);
    }
}

/// What is asked of the kernel: `struct pm_scan_arg`.
#[repr(C)]
#[derive(Default)]
struct Scan {
    size: u64,
    flags: u64,
    start: u64,
    end: u64,
    walk_end: u64,
    regions: u64,
    regions_len: u64,
    max_pages: u64,
    inverted: u64,
    all_of: u64,
    any_of: u64,
    returned: u64,
}

/// What it answers: `struct page_region`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Region {
    start: u64,
    end: u64,
    categories: u64,
}

const PAGEMAP_SCAN: libc::c_ulong = 0xc060_6610;
const PRESENT: u64 = 1 << 3;
const SWAPPED: u64 = 1 << 4;
/// The page of zeroes that everybody shares: read and never written.
const ZERO: u64 = 1 << 5;

/// By a list; false if the kernel does not make any.
fn listed(base: usize, length: usize, each: &mut impl FnMut(usize, usize)) -> bool {
    let map = MAP.load(Ordering::Relaxed);
    let mut regions = [Region::default(); 256];
    let end = (base + length) as u64;
    let mut start = base as u64;
    while start < end {
        let mut scan = Scan {
            size: size_of::<Scan>() as u64,
            start,
            end,
            regions: regions.as_mut_ptr() as u64,
            regions_len: regions.len() as u64,
            inverted: ZERO,
            all_of: ZERO,
            any_of: PRESENT | SWAPPED,
            returned: PRESENT,
            ..Scan::default()
        };
        // SAFETY: the kernel writes no more regions than there are.
        let found = unsafe { libc::ioctl(map, PAGEMAP_SCAN, &raw mut scan) };
        let Ok(found) = usize::try_from(found) else {
            // Only the first one can fail for want of support, or because the
            // program has closed the descriptor.
            return start != base as u64;
        };
        for region in &regions[..found] {
            each(region.start as usize, region.end as usize);
        }
        if scan.walk_end <= start {
            break;
        }
        start = scan.walk_end;
    }
    true
}

/// Page by page.
fn asked(base: *mut u8, length: usize, each: &mut impl FnMut(usize, usize)) {
    /// Asks about this much at a time.
    const STRIDE: usize = 1 << 30;
    let mut resident = vec![0u8; STRIDE / PAGE];
    for start in (0..length).step_by(STRIDE) {
        let from = base as usize + start;
        let size = STRIDE.min(length - start);
        // SAFETY: the vector has a byte for each page.
        if unsafe { libc::mincore(from as *mut _, size, resident.as_mut_ptr()) } != 0 {
            continue;
        }
        for (i, _) in resident[..size / PAGE]
            .iter()
            .enumerate()
            .filter(|(_, r)| *r & 1 == 1)
        {
            each(from + i * PAGE, from + (i + 1) * PAGE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_find_the_pages_that_were_written() {
        let length = 64 * PAGE;
        let base = crate::memory::reserve(length);
        let written = [0, 1, 7, 30, 31, 32, 63];
        for page in written {
            // SAFETY: within the mapping.
            unsafe { base.add(page * PAGE).write(1) };
        }
        let number = |at: usize| (at - base as usize) / PAGE;
        let collect = |found: &mut Vec<usize>, from, to| found.extend(number(from)..number(to));
        let mut by_asking = Vec::new();
        asked(base, length, &mut |from, to| {
            collect(&mut by_asking, from, to);
        });
        assert_eq!(by_asking, written);
        open();
        let mut by_list = Vec::new();
        if listed(base as usize, length, &mut |from, to| {
            collect(&mut by_list, from, to);
        }) {
            assert_eq!(by_list, written);
        }
    }
}
