//! The runtime's files, for programs to be linked or run with.
//!
//! The command carries them along. They are unpacked once, into the user's cache
//! directory, under a name that changes whenever they do; so programs built by
//! different versions never get in each other's way.

use std::path::{Path, PathBuf};
use std::{env, fs, io, process};

use racehound_bundle::{FINGERPRINT, OBJECT, SHARED, SYMBOLS};

/// Names a directory that holds the runtime's files, in place of our own.
const DIRECTORY: &str = "RACEHOUND_RUNTIME_DIR";

/// The names under which programs look for their compiler's runtime: those of gcc's
/// releases, and those that clang's `-shared-libsan` has.
const LIBTSAN: [&str; 5] = [
    "libtsan.so.0",
    "libtsan.so.1",
    "libtsan.so.2",
    "libclang_rt.tsan-x86_64.so",
    "libclang_rt.tsan.so",
];

/// Whether that is a name of ThreadSanitizer's own library.
pub fn is_libtsan(name: &[u8]) -> bool {
    LIBTSAN.iter().any(|known| known.as_bytes() == name)
}

/// The runtime's files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Runtime {
    /// All of it as one relocatable object, to be linked into executables.
    pub object: PathBuf,
    /// The same as a shared library, to take libtsan's place at run time.
    pub shared: PathBuf,
    /// A linker's `--dynamic-list` of the symbols that executables export.
    pub symbols: PathBuf,
}

/// Why there is no runtime.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is not where it should be.
    #[error("{}: the runtime to link with is not there; is {DIRECTORY} right?", path.display())]
    Missing {
        /// The file that is missing.
        path: PathBuf,
    },
    /// It cannot be unpacked.
    #[error(
        "{}: {source}; the runtime cannot be unpacked there, set XDG_CACHE_HOME to a directory \
         where it can",
        path.display()
    )]
    Unpacking {
        /// The file that cannot be written.
        path: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
}

/// Finds the runtime, or unpacks it.
///
/// # Errors
///
/// If it is not there, or cannot be unpacked.
pub fn locate() -> Result<Runtime, Error> {
    match env::var_os(DIRECTORY) {
        Some(directory) => in_directory(Path::new(&directory)),
        None => unpack(&cache().join(FINGERPRINT)),
    }
}

fn files(directory: &Path) -> Runtime {
    Runtime {
        object: directory.join("racehound_rt.o"),
        shared: directory.join("libracehound_rt.so"),
        symbols: directory.join("racehound_rt.syms"),
    }
}

fn in_directory(directory: &Path) -> Result<Runtime, Error> {
    let runtime = files(directory);
    match runtime.object.is_file() {
        true => Ok(runtime),
        false => Err(Error::Missing {
            path: runtime.object,
        }),
    }
}

/// The user's cache directory, or a private one among the temporary files.
fn cache() -> PathBuf {
    let set = |name| {
        env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    match set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache"))) {
        Some(cache) => cache.join("racehound"),
        None => env::temp_dir().join(format!(
            "racehound-{}",
            env::var("USER").unwrap_or_else(|_| "user".to_owned())
        )),
    }
}

fn unpack(directory: &Path) -> Result<Runtime, Error> {
    let runtime = files(directory);
    for (path, content) in [
        (&runtime.symbols, SYMBOLS),
        (&runtime.shared, SHARED),
        (&runtime.object, OBJECT),
    ] {
        let complete = |file: fs::Metadata| file.len() == content.len() as u64;
        if !fs::metadata(path).is_ok_and(complete) {
            write(path, content).map_err(|source| Error::Unpacking {
                path: path.clone(),
                source,
            })?;
        }
    }
    Ok(runtime)
}

/// Others may do this at the same time, so the file appears complete.
fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    let partial = path.with_extension(process::id().to_string());
    fs::write(&partial, content)?;
    fs::rename(&partial, path)
}

impl Runtime {
    /// A directory in which the shared library has libtsan's names.
    ///
    /// # Errors
    ///
    /// If it cannot be made.
    pub fn in_place_of_libtsan(&self) -> Result<PathBuf, Error> {
        let directory = self.shared.with_file_name("as-libtsan");
        let fail = |path: &Path| {
            let path = path.to_owned();
            move |source| Error::Unpacking { path, source }
        };
        fs::create_dir_all(&directory).map_err(fail(&directory))?;
        for name in LIBTSAN {
            let link = directory.join(name);
            match std::os::unix::fs::symlink(&self.shared, &link) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(fail(&link)(error)),
            }
        }
        Ok(directory)
    }
}
