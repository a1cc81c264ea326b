//! The file that executions of a program share.
//!
//! It is mapped, so what is written there stays however the process ends. Its blocks
//! are allocated before it is used: a full disk is noticed here and not in the middle
//! of the program. Without a file the history is this execution's own; from one that may only be
//! read it has a copy.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use racehound_sample::{
    BYTES, Damaged, Execution, Function, History, Pair, Past, WORDS, is_unfinished,
};
use rustc_hash::FxHashSet;

use crate::interpose::Errno;
use crate::spin::Locked;
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
        let (history, names) = match share(&path) {
            Ok(history) => (history, Some(path.with_extension("names"))),
            Err(error) => {
                let copy = copy(&path, &error);
                let earlier = match copy {
                    Some(_) => "what was sampled before counts, but ",
                    None => "",
                };
                output::write(&format!(
                    "racehound: {}: {error}; {earlier}what is sampled now is not remembered\n",
                    path.display()
                ));
                (copy.unwrap_or_else(anonymous), None)
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
        write_name(path, function, &name);
    }
    function
}

/// Functions that the file of names had when it was read, and those that were added since.
static NAMED: Locked<Option<FxHashSet<u64>>> = Locked::new(None);

/// Writes a function's name, unless an earlier build had the function already. A name that is
/// missing is missed by nobody but a curious reader.
fn write_name(path: &Path, function: Function, name: &str) {
    let is_read = NAMED.lock().is_some();
    // Not with the lock held.
    let read = (!is_read).then(|| names_in(path));
    let mut guard = NAMED.lock();
    let named = guard.get_or_insert_with(|| read.unwrap_or_default());
    if !named.insert(function.0) {
        return;
    }
    drop(guard);
    // In one piece, at the end, whoever else does that.
    let file = OpenOptions::new().append(true).create(true).open(path);
    let line = format!("{:016x} {name}\n", function.0);
    let _ = file.and_then(|mut file| file.write_all(line.as_bytes()));
}

/// The functions that have a name in the file.
fn names_in(path: &Path) -> FxHashSet<u64> {
    let text = std::fs::read(path).unwrap_or_default();
    let function = |line: &[u8]| {
        let digits = std::str::from_utf8(line.get(..16)?).ok()?;
        u64::from_str_radix(digits, 16).ok()
    };
    text.split(|&byte| byte == b'\n')
        .filter_map(function)
        .collect()
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

/// Where the file is mapped, if it is.
static MAPPED: AtomicUsize = AtomicUsize::new(0);

/// Whether a file is mapped, of which somebody might cut off something.
pub(super) fn is_file_in_use() -> bool {
    MAPPED.load(Ordering::Relaxed) != 0
}

/// The thread cannot go on because of what is at an address. If somebody has cut the file short,
/// or has no room for it any more, there is memory in its place from now on; else false.
pub(super) fn mends(address: usize) -> bool {
    static TOLD: AtomicBool = AtomicBool::new(false);
    let at = MAPPED.load(Ordering::Relaxed);
    if at == 0 || !(at..at + BYTES as usize).contains(&address) {
        return false;
    }
    let _errno = Errno::keep();
    // SAFETY: words, which may be zero at any time, in the place of ours.
    let now = unsafe {
        libc::mmap(
            at as *mut _,
            BYTES as usize,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED,
            -1,
            0,
        )
    };
    if now == libc::MAP_FAILED {
        return false;
    }
    if !TOLD.swap(true, Ordering::Relaxed) {
        output::write(
            "racehound: somebody has cut the history of pairs short; \
             what is sampled now is not remembered\n",
        );
    }
    true
}

/// The history in a file, which is made if there is none.
fn share(path: &Path) -> io::Result<History<'static>> {
    if let Some(directory) = path.parent() {
        std::fs::create_dir_all(directory)?;
    }
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)?;
    check(&mut file)?;
    allocate(&file, BYTES as usize)?;
    map(&file, libc::MAP_SHARED)
}

/// A copy of the history in a file that may not be written, which is why nobody can share it.
fn copy(path: &Path, error: &io::Error) -> Option<History<'static>> {
    let kinds = [
        io::ErrorKind::PermissionDenied,
        io::ErrorKind::ReadOnlyFilesystem,
    ];
    let mut file = kinds
        .contains(&error.kind())
        .then(|| File::open(path))?
        .ok()?;
    check(&mut file).ok()?;
    (file.metadata().ok()?.len() == BYTES).then(|| map(&file, libc::MAP_PRIVATE).ok())?
}

/// Whether a file is a history, or may become one.
fn check(file: &mut File) -> io::Result<()> {
    let size = file.metadata()?.len();
    let mut first = Vec::new();
    file.take(8).read_to_end(&mut first)?;
    match size == BYTES || is_unfinished(size, &first) {
        true => Ok(()),
        false => Err(io::Error::other(Damaged)),
    }
}

fn map(file: &File, how: libc::c_int) -> io::Result<History<'static>> {
    // SAFETY: a file of that size; should it become smaller, it is mended.
    let at = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            BYTES as usize,
            libc::PROT_READ | libc::PROT_WRITE,
            how,
            file.as_raw_fd(),
            0,
        )
    };
    if at == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    MAPPED.store(at as usize, Ordering::Relaxed);
    History::over(words(at.cast())).map_err(|damaged| {
        MAPPED.store(0, Ordering::Relaxed);
        io::Error::other(damaged)
    })
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
