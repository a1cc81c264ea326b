//! The histories of pairs in a store: one file for each program that was sampled, see
//! `racehound-sample`.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;

use memmap2::MmapRaw;
use racehound_sample::{BYTES, DIRECTORY, Damaged, Function, History, WORDS, is_unfinished};
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;

const WORD: usize = size_of::<AtomicU64>();

/// What a program's executions have seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pairs {
    /// The file.
    pub path: PathBuf,
}

impl Pairs {
    /// Those of all programs in a store.
    pub fn all(store: &Path) -> io::Result<Vec<Self>> {
        let entries = match fs::read_dir(store.join(DIRECTORY)) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut all = Vec::new();
        for entry in entries {
            let path = entry?.path();
            if path
                .extension()
                .is_some_and(|extension| extension == "pairs")
            {
                all.push(Self { path });
            }
        }
        all.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(all)
    }

    /// Those of the program of that name in another store.
    pub fn namesake(&self, store: &Path) -> Self {
        let name = self.path.file_name().unwrap_or_default();
        Self {
            path: store.join(DIRECTORY).join(name),
        }
    }

    /// The program, as seen from the project.
    pub fn program(&self) -> String {
        let name = self.path.file_stem().unwrap_or_default();
        name.to_string_lossy().replace('%', "/")
    }

    fn names_path(&self) -> PathBuf {
        self.path.with_extension("names")
    }

    /// What functions are called.
    pub fn names(&self) -> io::Result<BTreeMap<Function, String>> {
        let text = match fs::read(self.names_path()) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error),
        };
        // A line that a full disk has cut off names nobody.
        let entry = |line: &str| {
            let (function, name) = line.split_once(' ')?;
            let function = u64::from_str_radix(function, 16).ok()?;
            Some((Function(function), name.to_owned()))
        };
        Ok(text.lines().filter_map(entry).collect())
    }

    /// Looks at the history as it is now.
    pub fn read<R>(&self, look: impl FnOnce(History) -> R) -> io::Result<R> {
        let mut bytes = Vec::new();
        File::open(&self.path)?
            .take(BYTES + 1)
            .read_to_end(&mut bytes)?;
        if is_unfinished(bytes.len() as u64, &bytes) {
            bytes.resize(WORDS * WORD, 0);
        }
        if bytes.len() != WORDS * WORD {
            return Err(io::Error::other(Damaged));
        }
        let word = |bytes: &[u8]| u64::from_ne_bytes(bytes.try_into().unwrap_or_default());
        let words: Vec<AtomicU64> = bytes
            .chunks_exact(WORD)
            .map(|bytes| AtomicU64::new(word(bytes)))
            .collect();
        let history = History::over(&words).map_err(io::Error::other)?;
        Ok(look(history))
    }

    /// Adds another history and its names, while programs may run.
    pub fn merge(&self, other: &Self) -> io::Result<()> {
        if let Some(directory) = self.path.parent() {
            fs::create_dir_all(directory)?;
        }
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&self.path)?;
        match file.metadata()?.len() {
            BYTES => {}
            size if is_unfinished(size, &first_bytes(&file)?) => reserve(&file, BYTES)?,
            _ => return Err(io::Error::other(Damaged)),
        }
        let mapped = MmapRaw::map_raw(&file)?;
        let ours = History::over(words(&mapped)).map_err(io::Error::other)?;
        other.read(|theirs| ours.merge(theirs))?;
        let known = self.names()?;
        let mut text = String::new();
        for (function, name) in other.names()? {
            if !known.contains_key(&function) {
                text += &format!("{:016x} {name}\n", function.0);
            }
        }
        OpenOptions::new()
            .append(true)
            .create(true)
            .open(self.names_path())?
            .write_all(text.as_bytes())
    }

    /// Forgets everything. A program that runs now goes on with what it has.
    pub fn remove(&self) -> io::Result<()> {
        fs::remove_file(&self.path)?;
        match fs::remove_file(self.names_path()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

#[allow(unsafe_code)]
fn words(mapped: &MmapRaw) -> &[AtomicU64] {
    // SAFETY: the mapping is aligned to pages, that large and shared; everybody,
    // other processes included, reads and writes it by atomic operations on words.
    // Nobody makes the file smaller.
    unsafe { std::slice::from_raw_parts(mapped.as_ptr().cast(), mapped.len() / WORD) }
}

fn first_bytes(file: &File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(WORD as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Makes a file of that size for which there is room on the disk: who writes to a mapped
/// file finds out too late.
fn reserve(file: &File, size: u64) -> io::Result<()> {
    match fallocate(file, FallocateFlags::empty(), 0, size) {
        // Where files have no room of their own, one has to hope.
        Err(Errno::OPNOTSUPP) => file.set_len(size),
        done => Ok(done?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use racehound_sample::Pair;

    #[test]
    fn stores_of_two_machines_become_one() {
        let directory = tempfile::tempdir().unwrap();
        let [here, there] = ["here", "there"].map(|name| Pairs {
            path: directory.path().join(name).join("pairs/test.pairs"),
        });
        let pair = Pair::new(Function(1), Function(2));
        fs::create_dir_all(there.path.parent().unwrap()).unwrap();
        let words: Vec<AtomicU64> = (0..WORDS).map(|_| AtomicU64::new(0)).collect();
        let history = History::over(&words).unwrap();
        let execution = history.begin(1, 1, |_| true);
        history.note(pair, execution.number, 7);
        history.end(execution.number);
        let bytes: Vec<u8> = words
            .iter()
            .flat_map(|w| w.load(std::sync::atomic::Ordering::Relaxed).to_ne_bytes())
            .collect();
        fs::write(&there.path, bytes).unwrap();
        fs::write(
            there.path.with_extension("names"),
            "0000000000000001 test main\n",
        )
        .unwrap();
        here.merge(&there).unwrap();
        here.merge(&there).unwrap();
        assert_eq!(here.read(|h| h.summary(1).frequent).unwrap(), 1);
        assert_eq!(
            here.read(|h| h.summary(1).ended).unwrap(),
            1,
            "merged twice"
        );
        assert_eq!(here.names().unwrap()[&Function(1)], "test main");
        fs::write(&there.path, "short").unwrap();
        assert!(here.merge(&there).is_err());
        assert_eq!(here.read(|h| h.summary(2).pairs).unwrap(), 1);
        // A disk that was full has left zeroes, and less of them than there should be.
        fs::write(&there.path, [0; 5000]).unwrap();
        assert_eq!(there.read(|h| h.summary(2).pairs).unwrap(), 0);
        there.merge(&here).unwrap();
        assert_eq!(there.read(|h| h.summary(1).frequent).unwrap(), 1);
        here.remove().unwrap();
        assert_eq!(Pairs::all(&directory.path().join("here")).unwrap(), []);
    }
}
