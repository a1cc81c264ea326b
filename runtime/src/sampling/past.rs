//! The file that executions of a program share.
//!
//! It is mapped, so what is written there stays however the process ends. Its blocks
//! are allocated before it is used: a full disk is noticed here and not in the middle
//! of the program. Without a file the history is this execution's own.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::AtomicU64;

use racehound_sample::{Execution, Function, History, Pair, Past, WORDS};

use crate::interpose::Errno;
use crate::{memory, options, output};

/// The history, and the execution that this process is.
pub(super) struct Shared {
    history: History<'static>,
    /// From the first time on that two functions meet: a program that only prints its
    /// version is not an execution in which nothing met.
    execution: OnceLock<(Execution, Process)>,
    /// Where names of functions go, if anywhere.
    names: Option<PathBuf>,
}

/// Whose execution it is: copies of the process take part, but do not end it.
type Process = u32;

static SHARED: OnceLock<Shared> = OnceLock::new();

/// Finds the history of the program.
pub(super) fn open() {
    let _errno = Errno::keep();
    SHARED.get_or_init(|| {
        let path = file();
        let (history, names) = match map(&path) {
            Ok(history) => (history, Some(path.with_extension("names"))),
            Err(error) => {
                output::write(&format!(
                    "racehound: {}: {error}; what is sampled now is not remembered\n",
                    path.display()
                ));
                (anonymous(), None)
            }
        };
        Shared {
            history,
            execution: OnceLock::new(),
            names,
        }
    });
}

/// The history; a program that is being sampled has one.
pub(super) fn shared() -> &'static Shared {
    open();
    SHARED.get().expect("set above")
}

/// The execution is over.
pub(super) fn close() {
    if let Some(shared) = SHARED.get()
        && let Some((execution, process)) = shared.execution.get()
        && *process == std::process::id()
    {
        shared.history.end(execution.number);
    }
}

/// The function with a key that stands for its place in a build; `find` finds out,
/// and says what it is called.
pub(super) fn function(key: u64, find: impl FnOnce() -> (Function, String)) -> Function {
    let Some(shared) = SHARED.get() else {
        return Function(key);
    };
    if let Some(known) = shared.history.function(key) {
        return known;
    }
    let (function, name) = find();
    shared.history.set_function(key, function);
    if let Some(path) = &shared.names {
        let _errno = Errno::keep();
        // In one piece, at the end, whoever else does that. A name that is missing
        // is missed by nobody but a curious reader.
        let file = OpenOptions::new().append(true).create(true).open(path);
        let line = format!("{:016x} {name}\n", function.0);
        let _ = file.and_then(|mut file| file.write_all(line.as_bytes()));
    }
    function
}

impl Shared {
    fn execution(&self) -> &Execution {
        let begin = || {
            let _errno = Errno::keep();
            let process = std::process::id();
            let frequency = options::get().sample_frequency.clamp(1, 16) as u32;
            (self.history.begin(process, frequency, is_alive), process)
        };
        &self.execution.get_or_init(begin).0
    }
}

impl Past for &'static Shared {
    fn recall(&self, pair: Pair) -> Option<u32> {
        let last = self.execution().last.as_deref()?;
        self.history.recall(pair, last)
    }

    fn note(&self, pair: Pair, calls: u32) {
        self.history.note(pair, self.execution().number, calls);
    }
}

fn is_alive(process: u32) -> bool {
    // SAFETY: no signal is sent.
    let found = unsafe { libc::kill(process as i32, 0) } == 0;
    found || Errno::now() == libc::EPERM
}

fn file() -> PathBuf {
    let store = match options::get().store.as_str() {
        "" => project().join(".racehound"),
        named => PathBuf::from(named),
    };
    let program = std::env::current_exe().unwrap_or_default();
    racehound_sample::file(&store, &program)
}

/// The nearest directory around the program, or else around the current one, that
/// has a store; else one that is under version control; else the current one.
fn project() -> PathBuf {
    let program = std::env::current_exe().unwrap_or_default();
    let here = std::env::current_dir().unwrap_or_default();
    let around = [program.as_path(), here.as_path()];
    let with = |sign: &str| {
        let mut all = around.iter().flat_map(|path| path.ancestors());
        all.find(|path| path.join(sign).exists())
            .map(Path::to_path_buf)
    };
    [".racehound", ".git", ".hg", ".jj", ".svn"]
        .into_iter()
        .find_map(with)
        .unwrap_or(here)
}

fn map(path: &Path) -> io::Result<History<'static>> {
    if let Some(directory) = path.parent() {
        std::fs::create_dir_all(directory)?;
    }
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)?;
    let size = WORDS * size_of::<AtomicU64>();
    let has = file.metadata()?.len();
    if has != 0 && has != size as u64 {
        return Err(io::Error::other(racehound_sample::Damaged));
    }
    allocate(&file, size)?;
    // SAFETY: a file of that size; it is ours, and never made smaller.
    let at = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            size,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED,
            file.as_raw_fd(),
            0,
        )
    };
    if at == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    History::over(words(at.cast())).map_err(io::Error::other)
}

fn allocate(file: &File, size: usize) -> io::Result<()> {
    // SAFETY: an open file.
    match unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, size as i64) } {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

fn anonymous() -> History<'static> {
    let at = memory::reserve(WORDS * size_of::<AtomicU64>());
    History::over(words(at.cast())).expect("zeroes are an empty history")
}

fn words(at: *const AtomicU64) -> &'static [AtomicU64] {
    // SAFETY: mapped with that size, for good.
    unsafe { std::slice::from_raw_parts(at, WORDS) }
}
