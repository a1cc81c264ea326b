//! The program's modules as they are loaded now.

use std::ffi::{CStr, OsStr, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use racehound_symbols::build_id_in_notes;

/// The program or a shared library.
#[derive(Clone, Debug)]
pub(crate) struct Module {
    pub(crate) path: PathBuf,
    /// What to subtract from an address to get the file's own.
    pub(crate) bias: usize,
    segments: Vec<(usize, usize)>,
    pub(crate) build_id: Vec<u8>,
}

impl Module {
    pub(crate) fn holds(&self, address: usize) -> bool {
        self.segments
            .iter()
            .any(|&(start, end)| (start..end).contains(&address))
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
        build_id: Vec::new(),
    };
    for header in headers {
        let start = bias.wrapping_add(header.p_vaddr as usize);
        let size = header.p_memsz as usize;
        match header.p_type {
            libc::PT_LOAD => module.segments.push((start, start.wrapping_add(size))),
            libc::PT_NOTE if module.build_id.is_empty() => {
                // SAFETY: loaded with the module.
                let notes = unsafe { std::slice::from_raw_parts(start as *const u8, size) };
                if let Some(id) = build_id_in_notes(notes, header.p_align) {
                    module.build_id = id.to_vec();
                }
            }
            _ => {}
        }
    }
    modules.push(module);
    0
}
