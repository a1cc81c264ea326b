//! What a command line of gcc or clang asks for.
//!
//! Both have hundreds of options; here only those matter that decide what is
//! made, and those whose value is a word of its own, lest the value be taken for
//! an option or a file.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::{fs, mem};

use super::words::{self, Quoting};

/// What is to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Goal {
    /// Nothing (`--version`), or nothing that we understand.
    Unknown,
    /// Anything short of linking.
    Compile,
    Link(Output),
}

/// What a linker makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Output {
    Executable,
    Library,
    /// An object, or an executable that brings its own libc or has none: the
    /// runtime has no place in it.
    Bare,
}

/// A command line and what it asks for.
#[derive(Debug)]
pub(super) struct CommandLine {
    given: Vec<OsString>,
    /// With the contents of response files in their places.
    expanded: Vec<OsString>,
    request: Request,
}

impl CommandLine {
    pub(super) fn new(given: Vec<OsString>) -> Self {
        let expanded = expand(&given);
        let request = Request::read(&expanded);
        Self {
            given,
            expanded,
            request,
        }
    }

    /// As the user wrote it.
    pub(super) fn given(&self) -> &[OsString] {
        &self.given
    }

    /// As the user wrote it, but for a program that is linked with shared
    /// libraries.
    pub(super) fn dynamic(&self) -> Vec<OsString> {
        if !self.request.is_static {
            return self.given.clone();
        }
        let replaced = self
            .expanded
            .iter()
            .filter_map(|argument| match argument.to_str() {
                Some("-static" | "--static") => None,
                Some("-static-pie" | "--static-pie") => Some("-pie".into()),
                _ => Some(argument.clone()),
            });
        replaced.collect()
    }

    pub(super) fn goal(&self) -> Goal {
        let request = &self.request;
        let files = request.sources || request.headers || request.others;
        match () {
            () if request.prints || !files => Goal::Unknown,
            () if request.stops_early => Goal::Compile,
            // A header alone is precompiled.
            () if request.headers && !request.sources && !request.others => Goal::Compile,
            () if request.partial => Goal::Link(Output::Bare),
            () if request.shared => Goal::Link(Output::Library),
            () if request.is_bare() => Goal::Link(Output::Bare),
            () => Goal::Link(Output::Executable),
        }
    }

    /// Whether something is compiled that can be instrumented.
    pub(super) fn has_sources(&self) -> bool {
        self.request.sources || self.request.headers
    }

    /// Whether it should be: the user may not want it, and what has no libc has
    /// no room for the runtime.
    pub(super) fn instruments(&self) -> bool {
        match self.request.sanitize {
            Some(wanted) => wanted,
            None => !self.request.is_bare(),
        }
    }

    /// Whether other sanitizers are wanted that go together with this one, such as that
    /// of undefined behaviour.
    pub(super) fn has_other_sanitizers(&self) -> bool {
        self.request.compatible_sanitizers && !self.request.exclusive_sanitizers
    }

    /// Whether the linker is to complain about undefined symbols in a library.
    pub(super) fn forbids_undefined(&self) -> bool {
        self.request.forbids_undefined
    }

    /// The options that decide which linker is run.
    pub(super) fn linker_choice(&self) -> &[OsString] {
        &self.request.linker_choice
    }
}

/// The facts, one by one.
#[derive(Debug, Default)]
struct Request {
    /// Only answers a question.
    prints: bool,
    stops_early: bool,
    sources: bool,
    headers: bool,
    /// Inputs for the linker or the assembler.
    others: bool,
    shared: bool,
    partial: bool,
    is_static: bool,
    freestanding: bool,
    /// The C library is not linked as a matter of course.
    without_libc: bool,
    /// The C library is asked for by name.
    names_libc: bool,
    /// The last word about the thread sanitizer.
    sanitize: Option<bool>,
    /// Other sanitizers that go together with it.
    compatible_sanitizers: bool,
    /// Others that do not, as the compiler will say.
    exclusive_sanitizers: bool,
    forbids_undefined: bool,
    linker_choice: Vec<OsString>,
    /// What `-x` says; by name otherwise.
    language: Option<Input>,
    /// The linker's last word was `-z`, which needs another.
    after_z: bool,
}

/// What an input is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Input {
    Source,
    Header,
    Other,
}

impl Request {
    fn read(arguments: &[OsString]) -> Self {
        let mut request = Self::default();
        // Not the driver but the compiler proper, with options of its own.
        if arguments
            .first()
            .is_some_and(|first| first.as_bytes().starts_with(b"-cc1"))
        {
            request.prints = true;
        }
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            // What is not UTF-8 is no option that matters here.
            let text = argument.to_string_lossy();
            if text == "--" {
                rest.by_ref()
                    .for_each(|file| request.input(&file.to_string_lossy()));
            } else if text == "-" || !text.starts_with('-') {
                request.input(&text);
            } else if takes_next(&text) {
                match rest.next() {
                    Some(value) => request.option_with(&text, &value.to_string_lossy()),
                    // The compiler has a message for that: nothing may follow.
                    None => request.prints = true,
                }
            } else {
                request.option(&text);
            }
            if chooses_linker(&text) {
                request.linker_choice.push(argument.clone());
            }
        }
        request
    }

    fn input(&mut self, name: &str) {
        match self.language.unwrap_or_else(|| kind_of(name)) {
            Input::Source => self.sources = true,
            Input::Header => self.headers = true,
            Input::Other => self.others = true,
        }
    }

    /// An option whose value is the next word.
    fn option_with(&mut self, option: &str, value: &str) {
        match option {
            "-x" | "--language" => self.language(value),
            "-l" => self.others = true,
            "-Xlinker" | "--for-linker" => self.linker_word(value),
            "-z" => {
                self.linker_word("-z");
                self.linker_word(value);
            }
            _ => {}
        }
    }

    fn option(&mut self, option: &str) {
        match option {
            "-c"
            | "-S"
            | "-E"
            | "-M"
            | "-MM"
            | "-fsyntax-only"
            | "--compile"
            | "--assemble"
            | "--preprocess"
            | "--dependencies"
            | "--user-dependencies"
            | "--precompile"
            | "--analyze"
            | "-emit-ast"
            | "-verify-pch"
            | "-module-file-info" => {
                self.stops_early = true;
            }
            "--version" | "--help" | "-help" | "--help-hidden" | "--target-help"
            | "-dumpversion" | "-dumpfullversion" | "-dumpmachine" | "-dumpspecs"
            | "--dump-version" | "--dump-machine" | "--dump-specs" => self.prints = true,
            "-shared" | "--shared" => self.shared = true,
            "-r" => self.partial = true,
            "-static" | "--static" | "-static-pie" | "--static-pie" => self.is_static = true,
            "-nostdlib" | "--no-standard-libraries" | "-nostartfiles" | "-ffreestanding" => {
                self.freestanding = true;
            }
            "-fhosted" | "-fno-freestanding" => self.freestanding = false,
            "-nodefaultlibs" | "-nolibc" => self.without_libc = true,
            "-lc" => {
                self.names_libc = true;
                self.others = true;
            }
            _ => self.joined_option(option),
        }
    }

    /// Whether there is no C library. Rust's compiler leaves out what it does not
    /// ask for by name.
    fn is_bare(&self) -> bool {
        self.freestanding || self.without_libc && !self.names_libc
    }

    /// An option with its value in the same word.
    fn joined_option(&mut self, option: &str) {
        let value = |name| option.strip_prefix(name);
        if let Some(words) = value("-Wl,") {
            words.split(',').for_each(|word| self.linker_word(word));
        } else if let Some(which) = value("-fsanitize=") {
            which.split(',').for_each(|which| self.sanitizer(which));
        } else if let Some(which) = value("-fno-sanitize=") {
            if which
                .split(',')
                .any(|which| which == "thread" || which == "all")
            {
                self.sanitize = Some(false);
            }
        } else if let Some(language) = value("--language=").or_else(|| value("-x")) {
            self.language(language);
        } else if let Some(keyword) = value("-z") {
            self.linker_word("-z");
            self.linker_word(keyword);
        } else if asks(option) {
            self.prints = true;
        } else if option.starts_with("-l") {
            self.others = true;
        }
    }

    fn sanitizer(&mut self, name: &str) {
        match name {
            "thread" => self.sanitize = Some(true),
            _ if is_exclusive(name) => self.exclusive_sanitizers = true,
            _ => self.compatible_sanitizers = true,
        }
    }

    /// A word that the compiler hands on to the linker.
    fn linker_word(&mut self, word: &str) {
        let keyword = match mem::take(&mut self.after_z) {
            true => Some(word),
            false => word.strip_prefix("-z"),
        };
        match (keyword, word) {
            (Some(""), _) => self.after_z = true,
            (Some("defs"), _) => self.forbids_undefined = true,
            (Some("undefs"), _) => self.forbids_undefined = false,
            (Some(_), _) => {}
            (_, "--no-undefined" | "-no-undefined") => self.forbids_undefined = true,
            (_, "-shared" | "--shared" | "-Bshareable") => self.shared = true,
            (_, "-r" | "-i" | "--relocatable" | "-relocatable") => self.partial = true,
            _ => {}
        }
    }

    fn language(&mut self, name: &str) {
        self.language = match name {
            "none" => None,
            "assembler" => Some(Input::Other),
            header if header.ends_with("-header") || header.ends_with("-header-unit") => {
                Some(Input::Header)
            }
            _ => Some(Input::Source),
        };
    }
}

/// What the compilers take a file for that has this name.
fn kind_of(name: &str) -> Input {
    let extension = Path::new(name).extension().unwrap_or_default();
    match extension.to_str().unwrap_or_default() {
        "c" | "i" | "C" | "cc" | "cp" | "cxx" | "cpp" | "CPP" | "c++" | "ii" | "m" | "mi"
        | "mm" | "M" | "mii" | "cppm" | "ccm" | "cxxm" | "c++m" | "ixx" | "S" | "sx" | "ll"
        | "bc" | "f" | "for" | "ftn" | "F" | "FOR" | "fpp" | "FPP" | "FTN" | "f90" | "f95"
        | "f03" | "f08" | "F90" | "F95" | "F03" | "F08" | "go" | "d" | "di" | "adb" | "ads" => {
            Input::Source
        }
        "h" | "H" | "hh" | "hp" | "hxx" | "hpp" | "HPP" | "h++" | "tcc" => Input::Header,
        // The compilers leave what they do not know to the linker.
        _ => Input::Other,
    }
}

/// Whether an option is a question, with its subject in the same word.
fn asks(option: &str) -> bool {
    let questions = ["-print-", "--print-", "--help="];
    questions
        .iter()
        .any(|question| option.starts_with(question))
}

/// Whether a sanitizer wants the memory or the stack to itself, as ThreadSanitizer does.
fn is_exclusive(sanitizer: &str) -> bool {
    let kinds = ["address", "memory", "memtag", "leak", "safe-stack", "scudo"];
    kinds.iter().any(|kind| sanitizer.contains(kind))
}

/// Whether an option's value is the next word.
fn takes_next(option: &str) -> bool {
    matches!(
        option,
        "-o" | "--output"
            | "-x"
            | "--language"
            | "-l"
            | "-L"
            | "-I"
            | "-D"
            | "-U"
            | "-A"
            | "-B"
            | "-T"
            | "-Tbss"
            | "-Tdata"
            | "-Ttext"
            | "-u"
            | "-e"
            | "-z"
            | "-G"
            | "-b"
            | "-V"
            | "-MF"
            | "-MT"
            | "-MQ"
            | "-MJ"
            | "-include"
            | "--include"
            | "-imacros"
            | "--imacros"
            | "-include-pch"
            | "-isystem"
            | "-iquote"
            | "-idirafter"
            | "-isysroot"
            | "-iprefix"
            | "-iwithprefix"
            | "-iwithprefixbefore"
            | "-iwithsysroot"
            | "-imultilib"
            | "-imultiarch"
            | "-iframework"
            | "-ivfsoverlay"
            | "-framework"
            | "-Xlinker"
            | "--for-linker"
            | "-Xassembler"
            | "--for-assembler"
            | "-Xpreprocessor"
            | "-Xclang"
            | "-Xanalyzer"
            | "-Xopenmp-target"
            | "-Xcuda-fatbinary"
            | "-Xcuda-ptxas"
            | "-mllvm"
            | "-target"
            | "-arch"
            | "--param"
            | "-aux-info"
            | "-wrapper"
            | "-dumpbase"
            | "-dumpbase-ext"
            | "-dumpdir"
            | "-specs"
            | "--specs"
            | "--sysroot"
            | "-rpath"
            | "-serialize-diagnostics"
            | "--serialize-diagnostics"
            | "-resource-dir"
            | "-working-directory"
    )
}

/// Whether an option has a say in which linker is run.
fn chooses_linker(option: &str) -> bool {
    let prefixes = ["-fuse-ld=", "--ld-path=", "-B", "--target=", "-m"];
    prefixes.iter().any(|prefix| option.starts_with(prefix)) && !takes_next(option)
}

/// Response files may name each other, and themselves; the compilers stop, too,
/// after some number of them.
const MOST_FILES: usize = 1000;

/// Replaces `@file` by the words in the file.
fn expand(arguments: &[OsString]) -> Vec<OsString> {
    let mut expanded = Vec::with_capacity(arguments.len());
    let mut files = MOST_FILES;
    for argument in arguments {
        expand_into(argument, &mut files, &mut expanded);
    }
    expanded
}

fn expand_into(argument: &OsString, files: &mut usize, expanded: &mut Vec<OsString>) {
    let words = match files {
        0 => None,
        _ => response_file(argument),
    };
    let Some(words) = words else {
        expanded.push(argument.clone());
        return;
    };
    *files -= 1;
    for word in &words {
        expand_into(word, files, expanded);
    }
}

/// The words of a response file; one that cannot be read is the compiler's
/// business.
fn response_file(argument: &OsString) -> Option<Vec<OsString>> {
    let name = argument.as_bytes().strip_prefix(b"@")?;
    let text = fs::read(OsStr::from_bytes(name)).ok()?;
    words::split(&text, Quoting::ResponseFile)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> CommandLine {
        CommandLine::new(words::split(text.as_bytes(), Quoting::Shell).unwrap())
    }

    fn goal(text: &str) -> Goal {
        line(text).goal()
    }

    fn rewritten(text: &str) -> String {
        let words = line(text).dynamic();
        let words: Vec<_> = words.iter().map(|word| word.to_str().unwrap()).collect();
        words.join(" ")
    }

    const EXECUTABLE: Goal = Goal::Link(Output::Executable);
    const LIBRARY: Goal = Goal::Link(Output::Library);
    const BARE: Goal = Goal::Link(Output::Bare);

    #[test]
    fn questions_are_for_the_compiler() {
        for text in [
            "",
            "-v",
            "-m64 -v",
            "--version",
            "--version a.c",
            "--help=target",
            "-dumpmachine",
            "-print-file-name=libc.a",
            "--print-search-dirs",
            "-Wl,--version",
            "-cc1 -triple x a.c",
            "-o a.out",
            "a.c -o",
        ] {
            assert_eq!(goal(text), Goal::Unknown, "{text}");
        }
    }

    #[test]
    fn some_commands_stop_before_linking() {
        for text in [
            "-c a.c",
            "-S a.c -o -",
            "-E -x c -",
            "-M a.c",
            "-MM a.c",
            "a.c -fsyntax-only",
            "a.hpp",
            "-x c++-header a",
            "-c a.o -shared",
        ] {
            assert_eq!(goal(text), Goal::Compile, "{text}");
        }
    }

    #[test]
    fn the_others_link() {
        for text in [
            "a.c",
            "a.o",
            "-lmain",
            "-l main",
            "-x c -",
            "-MD -MF a.d a.c",
            "-v a.o",
            "-### a.o",
            "-o -c a.o",
            "-include -c a.c",
            "-T script.ld a.o",
            "-Xlinker -z -Xlinker relro a.o",
            "-Wl,-z,shared a.o",
            "-nostdinc -nostdlib++ a.o",
            "-nodefaultlibs a.o -lc",
            "-lgcc_s -lc -nodefaultlibs a.o",
            "liba.so.1 a.h",
        ] {
            assert_eq!(goal(text), EXECUTABLE, "{text}");
        }
    }

    #[test]
    fn libraries_and_objects_are_told_from_executables() {
        for text in [
            "-shared a.o",
            "--shared a.c",
            "-Wl,-shared a.o",
            "-shared -nostdlib a.o",
        ] {
            assert_eq!(goal(text), LIBRARY, "{text}");
        }
        for text in [
            "-r a.o",
            "-Wl,-r a.o",
            "-Xlinker -r a.o",
            "-Wl,-O1,--relocatable a.o",
            "-nostdlib a.o",
            "-nostartfiles a.o",
            "-nodefaultlibs a.o",
            "-nodefaultlibs a.o -lcunit",
            "-ffreestanding a.c",
        ] {
            assert_eq!(goal(text), BARE, "{text}");
        }
    }

    #[test]
    fn sources_are_told_from_what_is_linked() {
        for text in [
            "a.c",
            "-x c - ",
            "a.o b.cpp",
            "-x c a.s",
            "a.S",
            "-xc++ a",
            "a.s -x c b",
        ] {
            assert!(line(text).has_sources(), "{text}");
        }
        for text in [
            "a.o",
            "a.s",
            "a",
            "lib.a",
            "-x assembler a.c",
            "-lc",
            "-x c -x none a.o",
        ] {
            assert!(!line(text).has_sources(), "{text}");
        }
    }

    #[test]
    fn the_last_word_about_instrumentation_counts() {
        for text in [
            "a.c",
            "-fsanitize=undefined a.c",
            "-fno-sanitize=address a.c",
            "-fno-sanitize=thread -fsanitize=thread a.c",
            "-ffreestanding -fsanitize=undefined,thread a.c",
        ] {
            assert!(line(text).instruments(), "{text}");
        }
        for text in [
            "-fsanitize=thread -fno-sanitize=thread a.c",
            "-fno-sanitize=all a.c",
            "-ffreestanding a.c",
        ] {
            assert!(!line(text).instruments(), "{text}");
        }
    }

    #[test]
    fn sanitizers_go_together_or_not() {
        for text in [
            "-fsanitize=undefined a.c",
            "-fsanitize=thread,integer a.c",
            "-fsanitize=bounds -fsanitize=thread a.o",
        ] {
            assert!(line(text).has_other_sanitizers(), "{text}");
        }
        for text in [
            "a.c",
            "-fsanitize=thread a.c",
            "-fsanitize=address a.c",
            "-fsanitize=undefined,hwaddress a.c",
        ] {
            assert!(!line(text).has_other_sanitizers(), "{text}");
        }
    }

    #[test]
    fn the_check_for_undefined_symbols_has_many_names() {
        for text in [
            "-Wl,-z,defs",
            "-Wl,-zdefs",
            "-Wl,--no-undefined",
            "-Wl,-O1,--no-undefined,-z,now",
            "-z defs",
            "-zdefs",
            "-Wl,-z -Wl,defs",
            "-Xlinker -z -Xlinker defs",
        ] {
            assert!(line(text).forbids_undefined(), "{text}");
        }
        for text in [
            "-Wl,-z,now",
            "-Wl,-z,defs -Wl,-z,undefs",
            "-o defs",
            "-Wl,defs",
        ] {
            assert!(!line(text).forbids_undefined(), "{text}");
        }
    }

    #[test]
    fn what_was_static_becomes_dynamic() {
        assert_eq!(rewritten("-static a.o libb.a"), "a.o libb.a");
        assert_eq!(rewritten("-static-pie a.o"), "-pie a.o");
        assert_eq!(rewritten("-static-libgcc a.o"), "-static-libgcc a.o");
        let kept = "-Wl,-Bstatic -lb -Wl,-Bdynamic a.o";
        assert_eq!(rewritten(kept), kept);
    }

    #[test]
    fn response_files_are_read_but_kept() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name).display().to_string();
        fs::write(path("inner"), "-shared \"-DX=a b\"").unwrap();
        fs::write(path("outer"), format!("a.o\n@{}\n-DY", path("inner"))).unwrap();
        let text = format!("@{}", path("outer"));
        assert_eq!(goal(&text), LIBRARY);
        assert_eq!(rewritten(&text), text);
        // What must not reach the compiler is worth opening them.
        let text = format!("{text} -static");
        assert_eq!(rewritten(&text), "a.o -shared -DX=a b -DY");
    }

    #[test]
    fn response_files_may_be_missing_or_name_themselves() {
        assert_eq!(goal("@nowhere"), EXECUTABLE);
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("self");
        let text = format!("@{}", path.display());
        fs::write(&path, format!("{text} {text}")).unwrap();
        assert_eq!(goal(&text), EXECUTABLE);
    }
}
