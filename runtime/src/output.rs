//! Where reports go: standard error, or the file that the options name.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::sync::Mutex;

use crate::options;

/// A path that the program has set, in place of the options'.
static PATH: Mutex<Option<String>> = Mutex::new(None);
static DESCRIPTOR: std::sync::atomic::AtomicI32 = std::sync::atomic::AtomicI32::new(2);

/// Sends reports to another file.
pub(crate) fn set_path(path: &str) {
    *PATH
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner) = Some(path.to_owned());
}

/// Sends reports to another descriptor.
pub(crate) fn set_descriptor(descriptor: i32) {
    DESCRIPTOR.store(descriptor, std::sync::atomic::Ordering::Relaxed);
}

/// Where reports go, without the process id.
pub(crate) fn path() -> String {
    PATH.lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
        .clone()
        .unwrap_or_else(|| options::get().log_path.clone())
}

/// The file of this process.
fn file_name(path: &str) -> String {
    let process = std::process::id();
    let program = std::env::current_exe()
        .ok()
        .filter(|_| options::get().log_exe_name);
    match program.as_deref().and_then(Path::file_name) {
        Some(program) => format!("{path}.{}.{process}", program.display()),
        None => format!("{path}.{process}"),
    }
}

/// Writes some text, in one piece.
pub(crate) fn write(text: &str) {
    match path().as_str() {
        "" | "stderr" => to_descriptor(DESCRIPTOR.load(std::sync::atomic::Ordering::Relaxed), text),
        "stdout" => to_descriptor(1, text),
        path => {
            let file = OpenOptions::new()
                .append(true)
                .create(true)
                .open(file_name(path));
            match file.and_then(|mut file| file.write_all(text.as_bytes())) {
                Ok(()) => {}
                Err(_) => to_descriptor(2, text),
            }
        }
    }
}

fn to_descriptor(descriptor: i32, text: &str) {
    let mut rest = text.as_bytes();
    while !rest.is_empty() {
        // SAFETY: a buffer of that length.
        let written = unsafe { libc::write(descriptor, rest.as_ptr().cast(), rest.len()) };
        match usize::try_from(written) {
            Ok(0) => return,
            Ok(written) => rest = &rest[written..],
            Err(_) if std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted => {
            }
            Err(_) => return,
        }
    }
}
