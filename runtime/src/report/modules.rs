//! The program's modules as they are loaded now.

use std::ffi::{CStr, OsStr, c_int, c_void};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use racehound_symbols::build_id_in_notes;

use crate::memory::PAGE;

/// The program or a shared library.
#[derive(Clone, Debug)]
pub(crate) struct Module {
    pub(crate) path: PathBuf,
    /// What to subtract from an address to get the file's own.
    pub(crate) bias: usize,
    segments: Vec<(usize, usize)>,
    constants: Vec<(usize, usize)>,
    pub(crate) build_id: Vec<u8>,
    /// The names that it defines and uses, one after the other.
    names: (usize, usize),
}

impl Module {
    pub(crate) fn holds(&self, address: usize) -> bool {
        self.segments
            .iter()
            .any(|&(start, end)| (start..end).contains(&address))
    }

    /// Where it is in memory.
    pub(crate) fn segments(&self) -> impl Iterator<Item = Range<usize>> {
        self.segments.iter().map(|&(start, end)| start..end)
    }

    /// Which parts cannot be written.
    pub(crate) fn constants(&self) -> impl Iterator<Item = Range<usize>> {
        self.constants.iter().map(|&(start, end)| start..end)
    }

    /// Whether the compiler has put calls of ours into it. The module must not
    /// have been unloaded.
    pub(crate) fn is_instrumented(&self) -> bool {
        const ENTRY: &[u8] = b"\0__tsan_init\0";
        let (start, size) = self.names;
        // SAFETY: part of the module, of that size.
        let names = unsafe { std::slice::from_raw_parts(start as *const u8, size) };
        names.windows(ENTRY.len()).any(|part| part == ENTRY)
    }

    /// The file's name without directories.
    pub(crate) fn name(&self) -> String {
        let name = self.path.file_name().unwrap_or(OsStr::new("?"));
        name.to_string_lossy().into_owned()
    }
}

/// All modules, the program first.
pub(crate) fn loaded() -> Vec<Module> {
    let mut modules: Vec<Module> = Vec::new();
    // SAFETY: the callback gets what it was given here, while this call lasts.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut modules).cast()) };
    modules
}

unsafe extern "C" fn visit(
    info: *mut libc::dl_phdr_info,
    _size: usize,
    data: *mut c_void,
) -> c_int {
    // SAFETY: as promised by `loaded` and the C library.
    let (info, modules) = unsafe { (&*info, &mut *data.cast::<Vec<Module>>()) };
    // SAFETY: a C string.
    let name = unsafe { CStr::from_ptr(info.dlpi_name) };
    let path = match name.to_bytes() {
        b"" if modules.is_empty() => std::env::current_exe().unwrap_or_default(),
        bytes => PathBuf::from(OsStr::from_bytes(bytes)),
    };
    let bias = info.dlpi_addr as usize;
    // SAFETY: the module's own headers.
    let headers =
        unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    let mut module = Module {
        path,
        bias,
        segments: Vec::new(),
        constants: Vec::new(),
        build_id: Vec::new(),
        names: (std::ptr::dangling::<u8>() as usize, 0),
    };
    for header in headers {
        let start = bias.wrapping_add(header.p_vaddr as usize);
        let size = header.p_memsz as usize;
        match header.p_type {
            libc::PT_LOAD => {
                module.segments.push((start, start.wrapping_add(size)));
                if header.p_flags & libc::PF_W == 0 {
                    module.constants.push((start, start.wrapping_add(size)));
                }
            }
            // The loader has written there, and made the whole pages read-only.
            libc::PT_GNU_RELRO => {
                let page = |address: usize| address & !(PAGE - 1);
                module.constants.push((page(start), page(start + size)));
            }
            libc::PT_NOTE if module.build_id.is_empty() => {
                // SAFETY: loaded with the module.
                let notes = unsafe { std::slice::from_raw_parts(start as *const u8, size) };
                if let Some(id) = build_id_in_notes(notes, header.p_align) {
                    module.build_id = id.to_vec();
                }
            }
            // SAFETY: loaded with the module, and relocated.
            libc::PT_DYNAMIC => module.names = unsafe { names(start as *const Dynamic, bias) },
            _ => {}
        }
    }
    modules.push(module);
    0
}

/// An entry of a module's dynamic section.
#[repr(C)]
struct Dynamic {
    tag: i64,
    value: usize,
}

/// Where the names of a module with that dynamic section are, and their size.
///
/// # Safety
/// The section ends with an entry that says so.
unsafe fn names(mut at: *const Dynamic, bias: usize) -> (usize, usize) {
    const END: i64 = 0;
    const NAMES: i64 = 5;
    const NAMES_SIZE: i64 = 10;
    let (mut start, mut size) = (std::ptr::dangling::<u8>() as usize, 0);
    // SAFETY: the caller's promise.
    unsafe {
        while (*at).tag != END {
            match (*at).tag {
                NAMES => start = (*at).value,
                NAMES_SIZE => size = (*at).value,
                _ => {}
            }
            at = at.add(1);
        }
    }
    // The kernel's own module is not relocated: its entries are offsets.
    match start < bias {
        true => (bias + start, size),
        false => (start, size),
    }
}
