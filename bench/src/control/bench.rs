//! Builds programs with our runtime in them and runs them by a plan.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use racehound_report::finding::Finding;

use crate::live::{Error, build_with_racehound};

/// How long a run may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// A directory to build and run in.
pub(super) struct Bench {
    directory: PathBuf,
}

/// A program that was built.
pub(super) struct Built {
    executable: PathBuf,
    source: PathBuf,
}

/// What became of a run.
pub(super) struct Run {
    pub(super) stdout: String,
    pub(super) stderr: String,
    /// None if it had to be ended.
    pub(super) status: Option<ExitStatus>,
    pub(super) wall: Duration,
    pub(super) cpu: Duration,
    pub(super) findings: Vec<Finding>,
}

impl Run {
    /// Whether the pair was brought together.
    pub(super) fn is_confirmed(&self) -> bool {
        let met = |finding: &Finding| finding.found_by.iter().any(|by| by == "racefuzzer");
        self.findings.iter().any(met)
    }

    pub(super) fn says(&self, word: &str) -> bool {
        self.stdout.lines().any(|line| line == word)
    }

    /// Whether it came to harm: a signal, an abort, a deadlock, no end.
    pub(super) fn is_harmed(&self) -> bool {
        let ended = self.status.is_some_and(|status| status.code().is_some());
        !ended || self.stderr.contains("ThreadSanitizer: deadlock")
    }
}

impl Built {
    /// What somebody else has built from a source.
    pub(super) fn at(executable: PathBuf, source: PathBuf) -> Self {
        Self { executable, source }
    }

    /// The place of a line of the source that ends with this comment.
    pub(super) fn place(&self, mark: &str) -> Result<String, Error> {
        let text = fs::read_to_string(&self.source).map_err(Error::file(&self.source))?;
        let line = text.lines().position(|line| line.ends_with(mark));
        let name = self.source.file_name().unwrap_or_default().display();
        match line {
            Some(line) => Ok(format!("{name}:{}", line + 1)),
            None => Err(Error::File {
                path: self.source.clone(),
                source: io::Error::other(format!("no line ends with {mark}")),
            }),
        }
    }

    pub(super) fn name(&self) -> String {
        let name = self.source.file_stem().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }
}

impl Bench {
    pub(super) fn open(directory: &Path) -> Result<Self, Error> {
        fs::create_dir_all(directory).map_err(Error::file(directory))?;
        let directory = fs::canonicalize(directory).map_err(Error::file(directory))?;
        Ok(Self { directory })
    }

    /// Builds a program of this repository.
    pub(super) fn build(&self, source: &str, level: &str) -> Result<Built, Error> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let source = root.join(source);
        let name = source.file_name().unwrap_or_default();
        let executable = self.directory.join(name).with_extension("");
        build_with_racehound(&source, level, &executable)?;
        Ok(Built { executable, source })
    }

    /// Runs a program by a plan, under a detector, without any where they are empty.
    pub(super) fn run<A: AsRef<OsStr>>(
        &self,
        program: &Built,
        arguments: &[A],
        (detector, plan): (&str, &str),
    ) -> Result<Run, Error> {
        let file = |name: &str| {
            let path = self.directory.join(name);
            File::create(&path).map_err(Error::file(&path))
        };
        let read = |name: &str| {
            let path = self.directory.join(name);
            fs::read(&path).map_err(Error::file(&path))
        };
        file("findings")?;
        let findings = self.directory.join("findings");
        let options = format!(
            "detector={detector}:schedule='{plan}':findings='{}':exitcode=0:print_reports=0:\
             suppress_equal_addresses=0",
            findings.display()
        );
        let directory = program.executable.parent().unwrap_or(Path::new("."));
        let before = spent();
        let began = Instant::now();
        let mut child = Command::new(&program.executable)
            .args(arguments)
            .current_dir(directory)
            .env("RACEHOUND_OPTIONS", options)
            .stdin(File::open("/dev/null")?)
            .stdout(file("stdout")?)
            .stderr(file("stderr")?)
            .spawn()?;
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break Some(status);
            }
            if began.elapsed() > PATIENCE {
                child.kill()?;
                child.wait()?;
                break None;
            }
            std::thread::sleep(Duration::from_micros(200));
        };
        let wall = began.elapsed();
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        let lines = text(read("findings")?);
        let lines = lines.lines().filter(|line| !line.is_empty());
        Ok(Run {
            stdout: text(read("stdout")?),
            stderr: text(read("stderr")?),
            status,
            wall,
            cpu: spent() - before,
            findings: lines
                .filter_map(|line| serde_json::from_str(line).ok())
                .collect(),
        })
    }
}

/// What children have computed that were waited for.
#[allow(unsafe_code)]
fn spent() -> Duration {
    // SAFETY: zeroes are a result, which the call fills in.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage);
        usage
    };
    let time = |time: libc::timeval| {
        Duration::from_secs(time.tv_sec as u64) + Duration::from_micros(time.tv_usec as u64)
    };
    time(usage.ru_utime) + time(usage.ru_stime)
}
