//! Other sanitizers in the same program, and runtimes that compilers bring along.

use std::process::Command;

use crate::FINDINGS;
use crate::workshop::{RACEHOUND_CC, Workshop, stderr};

/// A race, and behaviour that is undefined without it.
const OVERFLOW: &str = r"
#include <limits.h>
#include <pthread.h>
static int top = INT_MAX, counter;
static void *count(void *unused) {
    counter++;
    return unused;
}
int main(void) {
    pthread_t thread;
    top++;
    pthread_create(&thread, 0, count, 0);
    count(0);
    return pthread_join(thread, 0);
}
";

/// gcc, and a clang if there is one.
fn compilers(shop: &Workshop) -> Vec<&'static str> {
    let runs = |name: &&str| {
        let mut command = shop.command(name);
        command.arg("--version");
        command.output().is_ok_and(|output| output.status.success())
    };
    let clang = ["clang", "clang-20", "clang-19", "clang-18"]
        .into_iter()
        .find(runs);
    clang.into_iter().chain(["gcc"]).collect()
}

/// Whether a compiler has what such a program needs.
fn works(command: &mut Command) -> bool {
    let works = command.output().is_ok_and(|output| output.status.success());
    if !works {
        eprintln!("{command:?} does not work here, so this cannot be tried");
    }
    works
}

#[test]
fn undefined_behaviour_is_looked_for_as_well() {
    let shop = Workshop::new();
    shop.write("program.c", OVERFLOW);
    for compiler in compilers(&shop) {
        let mut plain = shop.command(compiler);
        plain.args(["-fsanitize=undefined", "program.c", "-o", "plain"]);
        if !works(&mut plain) {
            continue;
        }
        let cc = |arguments: &str| {
            let mut command = shop.command(RACEHOUND_CC);
            command.env("RACEHOUND_CC", compiler).arg("-g");
            let output = command.args(arguments.split(' ')).output().unwrap();
            assert!(output.status.success(), "{compiler}: {output:?}");
        };
        let both_are_seen = || {
            let output = shop.command("./program").output().unwrap();
            assert_eq!(output.status.code(), Some(FINDINGS), "{output:?}");
            let text = stderr(&output);
            let place = |part: &str| {
                let place = text.find(part);
                place.unwrap_or_else(|| panic!("{compiler}: no {part}: {text}"))
            };
            place("signed integer overflow");
            // The other runtime may print it for us, but where it belongs.
            let summary = place("SUMMARY: ThreadSanitizer");
            assert!(place("WARNING: ThreadSanitizer") < summary, "{text}");
            assert!(text[summary..].contains("\n====="), "{text}");
        };
        cc("-fsanitize=undefined program.c -o program");
        both_are_seen();
        cc("-fsanitize=undefined -c program.c -o program.o");
        cc("-fsanitize=undefined program.o -o program");
        both_are_seen();
    }
}

/// Who does not want this sanitizer has the others as ever.
#[test]
fn other_sanitizers_are_left_alone_without_this_one() {
    let shop = Workshop::new();
    shop.write("program.c", "int main(void) { return 0; }");
    for compiler in compilers(&shop) {
        let mut plain = shop.command(compiler);
        plain.args(["-fsanitize=address", "program.c", "-o", "plain"]);
        if !works(&mut plain) {
            continue;
        }
        let mut ours = shop.command(RACEHOUND_CC);
        ours.env("RACEHOUND_CC", compiler);
        ours.args(["-fno-sanitize=thread", "-fsanitize=address"]);
        let output = ours.args(["program.c", "-o", "program"]).output().unwrap();
        assert!(output.status.success(), "{compiler}: {output:?}");
    }
}

/// The place of ThreadSanitizer's shared library is taken, whoever's it is.
#[test]
fn the_place_of_a_compilers_shared_runtime_is_taken() {
    let shop = Workshop::new();
    shop.write("program.c", OVERFLOW);
    for compiler in compilers(&shop) {
        let shared = compiler.starts_with("clang").then_some("-shared-libsan");
        let mut plain = shop.command(compiler);
        plain.args(["-fsanitize=thread", "program.c", "-o", "program"]);
        if !works(plain.args(shared)) {
            continue;
        }
        let output = shop.racehound(&["run", "./program"]);
        assert_eq!(output.status.code(), Some(FINDINGS), "{output:?}");
        assert!(stderr(&output).contains("count"), "{output:?}");
    }
}

/// Options for the whole family of sanitizers are no reason to complain; what is not
/// understood is named.
#[test]
fn options_are_understood_or_named() {
    let shop = Workshop::new();
    shop.write("program.c", OVERFLOW);
    shop.cc(&["-g", "program.c", "-o", "program"]);
    let mut command = shop.command("./program");
    command.env(
        "TSAN_OPTIONS",
        "detect_leaks=0:disable_coredump=1,handle_segv=1 log_path=log:log_exe_name=1:\
         no_such=1:verbosity=high",
    );
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(FINDINGS), "{output:?}");
    let complaints = stderr(&output);
    assert_eq!(complaints.lines().count(), 2, "{complaints}");
    assert!(complaints.contains("'no_such'"), "{complaints}");
    assert!(complaints.contains("'high'"), "{complaints}");
    let files = shop.path(".").read_dir().unwrap();
    let names = files.map(|file| file.unwrap().file_name());
    let mut names = names.map(|name| name.to_string_lossy().into_owned());
    assert!(names.any(|name| name.starts_with("log.program.")));
}
