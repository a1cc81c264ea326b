//! A directory to compile in, a compiler, and a runtime to link with.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use tempfile::TempDir;

/// Here, not installed: the programs that are tested.
pub(crate) const RACEHOUND: &str = env!("CARGO_BIN_EXE_racehound");
pub(crate) const RACEHOUND_CC: &str = env!("CARGO_BIN_EXE_racehound-cc");
pub(crate) const RACEHOUND_CXX: &str = env!("CARGO_BIN_EXE_racehound-cxx");

/// Files beside the tests.
pub(crate) fn beside(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/driver")
        .join(name)
}

/// The names of a C and of the C++ compiler that belongs to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Compilers {
    pub(crate) c: String,
    pub(crate) cxx: String,
}

impl Compilers {
    pub(crate) fn gcc() -> Self {
        let (c, cxx) = ("gcc".to_owned(), "g++".to_owned());
        Self { c, cxx }
    }

    /// A clang, if there is one.
    fn clang() -> Option<Self> {
        let versions = (10..40).rev().map(|version| format!("-{version}"));
        let mut suffixes = [String::new()].into_iter().chain(versions);
        let suffix = suffixes.find(|suffix| is_installed(&format!("clang{suffix}")))?;
        let (c, cxx) = (format!("clang{suffix}"), format!("clang++{suffix}"));
        Some(Self { c, cxx })
    }

    pub(crate) fn is_clang(&self) -> bool {
        self.c.starts_with("clang")
    }
}

pub(crate) fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap();
    std::env::split_paths(&path).any(|directory| directory.join(program).is_file())
}

/// Does it with gcc, and with clang if there is one.
pub(crate) fn with_each_compiler(test: impl Fn(&Workshop)) {
    test(&Workshop::new(Compilers::gcc()));
    match Compilers::clang() {
        Some(clang) => test(&Workshop::new(clang)),
        None => eprintln!("skipped for clang: it is not installed"),
    }
}

pub(crate) struct Workshop {
    pub(crate) compilers: Compilers,
    directory: TempDir,
}

impl Workshop {
    pub(crate) fn new(compilers: Compilers) -> Self {
        let directory = tempfile::tempdir().unwrap();
        Self {
            compilers,
            directory,
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Writes a program for the shell.
    pub(crate) fn script(&self, name: &str, text: &str) -> PathBuf {
        self.write(name, &format!("#!/bin/sh\n{text}\n"));
        let path = self.path(name);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// A command that runs here, with our compilers.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.directory.path())
            .stdin(Stdio::null())
            .env("LC_ALL", "C")
            .env("RACEHOUND_RUNTIME_DIR", runtime())
            .env("RACEHOUND_CC", &self.compilers.c)
            .env("RACEHOUND_CXX", &self.compilers.cxx);
        command
    }

    fn driver(&self, driver: &str, arguments: &str) -> Output {
        let mut command = self.command(RACEHOUND);
        command.arg(driver).args(arguments.split_whitespace());
        command.output().unwrap()
    }

    /// What `racehound cc` makes of it.
    pub(crate) fn cc(&self, arguments: &str) -> Output {
        self.driver("cc", arguments)
    }

    /// What the C compiler makes of it.
    pub(crate) fn plain(&self, arguments: &str) -> Output {
        let mut command = self.command(&self.compilers.c);
        command.args(arguments.split_whitespace()).output().unwrap()
    }

    /// `racehound cc` must succeed without a word; returns its output.
    pub(crate) fn make(&self, arguments: &str) -> String {
        quiet(&self.cc(arguments), arguments)
    }

    /// The same for `racehound c++`.
    pub(crate) fn make_cxx(&self, arguments: &str) -> String {
        quiet(&self.driver("c++", arguments), arguments)
    }

    /// The program must succeed.
    pub(crate) fn run(&self, program: &str) {
        let output = self.command(self.path(program)).output().unwrap();
        assert!(output.status.success(), "{program}: {output:?}");
    }

    /// The names of symbols that nm shows with these options.
    pub(crate) fn symbols(&self, options: &str, file: &str) -> BTreeSet<String> {
        let mut command = self.command("nm");
        let command = command.args(options.split_whitespace()).arg(file);
        // It remarks on files that have been stripped.
        let listing = stdout(&command.output().unwrap());
        let names = listing
            .lines()
            .filter_map(|line| line.split_whitespace().last());
        names
            .map(|name| name.split('@').next().unwrap_or(name).to_owned())
            .collect()
    }

    pub(crate) fn needed(&self, file: &str) -> Vec<String> {
        let dynamic = self
            .command("readelf")
            .args(["-dW", file])
            .output()
            .unwrap();
        let dynamic = stdout(&dynamic);
        let needed = dynamic.lines().filter(|line| line.contains("(NEEDED)"));
        needed
            .map(|line| line.split(['[', ']']).nth(1).unwrap().to_owned())
            .collect()
    }

    /// Whether code in it calls the runtime.
    pub(crate) fn is_instrumented(&self, object: &str) -> bool {
        let undefined = self.symbols("--undefined-only", object);
        undefined.iter().any(|symbol| symbol.starts_with("__tsan_"))
    }

    /// An executable with the runtime, all of it, for everyone to see.
    pub(crate) fn assert_holds_runtime(&self, executable: &str) {
        let exported = self.symbols("--dynamic --defined-only", executable);
        for symbol in runtime_symbols() {
            assert!(exported.contains(&symbol), "{executable} hides {symbol}");
        }
        self.assert_not_libtsan(executable);
    }

    /// A library, object or program without the runtime.
    pub(crate) fn assert_lacks_runtime(&self, file: &str) {
        let ours = runtime_symbols();
        let defined = self.symbols("--defined-only", file);
        let found: Vec<_> = defined.intersection(&ours).collect();
        assert!(found.is_empty(), "{file} defines {found:?}");
        self.assert_not_libtsan(file);
    }

    /// A library without the runtime, that calls it.
    pub(crate) fn assert_leaves_runtime_undefined(&self, library: &str) {
        self.assert_lacks_runtime(library);
        let undefined = self.symbols("--dynamic --undefined-only", library);
        assert!(
            undefined.contains("__tsan_func_entry"),
            "{library} calls no runtime"
        );
    }

    fn assert_not_libtsan(&self, file: &str) {
        let defined = self.symbols("--defined-only", file);
        // Functions that every sanitizer has and that ours has not.
        let foreign = defined.iter().find(|name| name.starts_with("__sanitizer_"));
        assert_eq!(foreign, None, "{file} has a sanitizer of the compiler's");
        let needed = self.needed(file);
        let wrong = needed
            .iter()
            .find(|name| name.contains("tsan") || name.contains("racehound"));
        assert_eq!(wrong, None, "{file} needs it");
    }
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Asserts success without complaint; returns the output.
pub(crate) fn quiet(output: &Output, what: &str) -> String {
    assert_eq!(stderr(output), "", "{what}");
    assert!(output.status.success(), "{what}: {}", output.status);
    stdout(output)
}

/// The directory with the runtime, which is made at the first call.
pub(crate) fn runtime() -> &'static Path {
    static RUNTIME: OnceLock<PathBuf> = OnceLock::new();
    RUNTIME.get_or_init(|| {
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("driver runtime, a stub");
        fs::create_dir_all(&directory).unwrap();
        let source = beside("runtime.c");
        let gcc = |options: &[&str], file: &str| {
            let mut command = Command::new("gcc");
            command
                .args(["-O1", "-fPIC", "-w"])
                .args(options)
                .arg(&source)
                .arg("-o");
            quiet(&command.arg(directory.join(file)).output().unwrap(), file);
        };
        gcc(&["-c"], "racehound_rt.o");
        gcc(&["-shared"], "libracehound_rt.so");
        let names = defined(&directory.join("racehound_rt.o"));
        let names: String = names.iter().map(|name| format!("  {name};\n")).collect();
        fs::write(
            directory.join("racehound_rt.syms"),
            format!("{{\n{names}}};\n"),
        )
        .unwrap();
        directory
    })
}

fn runtime_symbols() -> BTreeSet<String> {
    defined(&runtime().join("racehound_rt.o"))
}

fn defined(object: &Path) -> BTreeSet<String> {
    let mut nm = Command::new("nm");
    let nm = nm.args(["--extern-only", "--defined-only"]).arg(object);
    let listing = quiet(&nm.output().unwrap(), "nm");
    let names = listing
        .lines()
        .filter_map(|line| line.split_whitespace().last());
    names.map(str::to_owned).collect()
}
