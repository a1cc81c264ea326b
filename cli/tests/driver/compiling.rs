//! Commands that do not link.

use std::io::Write;
use std::process::Stdio;

use crate::workshop::{RACEHOUND, Workshop, quiet, stderr, stdout, with_each_compiler};

const COUNTER: &str = "int counter;\nvoid count(void) { counter++; }\n";

#[test]
fn objects_are_instrumented() {
    with_each_compiler(|shop| {
        shop.write("a.c", COUNTER);
        shop.write("b.cpp", "int counter; void count() { counter++; }\n");
        shop.make("-c a.c");
        shop.make("-O2 -g -c a.c b.cpp");
        shop.make("-fsanitize=thread -c a.c -o again.o");
        shop.make_cxx("-x c++ -c a.c -o c++.o");
        for object in ["a.o", "b.o", "again.o", "c++.o"] {
            assert!(shop.is_instrumented(object), "{object}");
        }
        shop.assert_lacks_runtime("a.o");
    });
}

#[test]
fn nothing_else_changes_in_them() {
    with_each_compiler(|shop| {
        shop.write("a.c", COUNTER);
        // Debug information has gcc's options in it.
        for options in ["", "-O2 -g -gno-record-gcc-switches", "-fPIC -Os"] {
            assert_eq!(
                shop.make(&format!("{options} -S a.c -o -")),
                stdout(&shop.plain(&format!("{options} -fsanitize=thread -S a.c -o -"))),
                "{options}"
            );
        }
    });
}

#[test]
fn memory_is_copied_and_filled_by_calls() {
    with_each_compiler(|shop| {
        let source = "#include <string.h>\nchar *to, *from;\nvoid copy(void) { memcpy(to, from, 40); }\n\
                      void fill(void) { memset(to, 0, 40); }\n\
                      void text(void) { strcpy(to, \"a text that is copied\"); }\n";
        shop.write("a.c", source);
        for options in ["", "-O1", "-O3"] {
            let assembly = shop.make(&format!("{options} -S a.c -o -"));
            let calls = assembly.lines().filter(|line| line.contains("call"));
            let copies = calls.filter(|line| ["cpy", "memset"].iter().any(|f| line.contains(f)));
            assert_eq!(copies.count(), 3, "{options}: {assembly}");
        }
    });
}

#[test]
fn what_must_not_be_instrumented_is_not() {
    with_each_compiler(|shop| {
        shop.write("a.c", COUNTER);
        for options in [
            "-fno-sanitize=thread",
            "-fsanitize=thread -fno-sanitize=thread",
            "-fno-sanitize=all",
            "-ffreestanding",
        ] {
            shop.make(&format!("{options} -c a.c"));
            assert!(!shop.is_instrumented("a.o"), "{options}");
        }
    });
}

#[test]
fn the_preprocessor_knows_of_the_instrumentation() {
    with_each_compiler(|shop| {
        shop.write(
            "a.c",
            "#if defined(__has_feature)
             #if __has_feature(thread_sanitizer)
             #define __SANITIZE_THREAD__ 1
             #endif
             #endif
             #ifdef __SANITIZE_THREAD__
             watched
             #endif\n",
        );
        assert!(shop.make("-E a.c").contains("watched"));
        assert!(!shop.make("-E -fno-sanitize=thread a.c").contains("watched"));
    });
}

#[test]
fn standard_input_is_read_and_standard_output_written() {
    with_each_compiler(|shop| {
        let assembly = piped(shop, &["-x", "c", "-S", "-", "-o", "-"], COUNTER);
        assert!(assembly.contains("__tsan_write4"), "{assembly}");
        let text = piped(shop, &["-E", "-x", "c", "-"], "#define X y\nX\n");
        assert!(text.contains("\ny\n"), "{text}");
    });
}

fn piped(shop: &Workshop, arguments: &[&str], input: &str) -> String {
    let mut command = shop.command(RACEHOUND);
    command.arg("cc").args(arguments).stdin(Stdio::piped());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    quiet(&child.wait_with_output().unwrap(), &arguments.join(" "))
}

#[test]
fn dependency_files_are_the_compilers() {
    with_each_compiler(|shop| {
        shop.write("a.h", "");
        shop.write("a.c", "#include \"a.h\"\n");
        shop.make("-c a.c -MMD -MF a.d -MT target");
        assert_eq!(shop.read("a.d"), "target: a.c a.h\n");
        assert_eq!(shop.make("-MM a.c"), "a.o: a.c a.h\n");
        assert_eq!(shop.make("-M a.c"), stdout(&shop.plain("-M a.c")));
        shop.make("-fsyntax-only a.c");
    });
}

#[test]
fn assembly_and_headers_pass_without_a_word() {
    with_each_compiler(|shop| {
        shop.write("a.s", ".globl a\na: ret\n.section .note.GNU-stack\n");
        shop.write("b.S", ".globl b\nb: ret\n.section .note.GNU-stack\n");
        shop.write("c.c", "int main(void) { return 0; }\n");
        shop.write("d.h", "int d;\n");
        shop.make("-c a.s");
        shop.make("-c b.S");
        shop.make("-x assembler -c a.s -o c.o");
        shop.make("d.h -o d.pch");
        shop.make("c.c a.s b.S -o c");
        shop.assert_holds_runtime("c");
        shop.run("c");
    });
}

#[test]
fn questions_get_the_compilers_answers() {
    with_each_compiler(|shop| {
        for arguments in [
            "",
            "-v",
            "--version",
            "--help",
            "-dumpversion",
            "-dumpmachine",
            "-print-search-dirs",
            "-print-prog-name=ld",
            "-print-file-name=libc.so",
            "-Wl,--version",
            "-o",
            "-c",
        ] {
            let ours = shop.cc(arguments);
            let theirs = shop.plain(arguments);
            assert_eq!(ours.status, theirs.status, "{arguments}");
            assert_eq!(stdout(&ours), stdout(&theirs), "{arguments}");
            // Temporary files differ, where the compiler shows what it does.
            if arguments != "-Wl,--version" {
                assert_eq!(stderr(&ours), stderr(&theirs), "{arguments}");
            }
        }
    });
}

#[test]
fn a_dry_run_shows_what_would_happen() {
    with_each_compiler(|shop| {
        shop.write("a.c", COUNTER);
        let shown = stderr(&shop.cc("-### -c a.c"));
        assert!(shown.contains("-fsanitize=thread"), "{shown}");
        assert!(!shop.path("a.o").exists());
    });
}

#[test]
fn complaints_and_exit_codes_are_the_compilers() {
    with_each_compiler(|shop| {
        shop.write("a.c", "int main(void) { int unused; return oops; }\n");
        for arguments in [
            "-Wall -c a.c",
            "a.c",
            "-c nowhere.c",
            "-c a.c -fno-such-option",
        ] {
            let ours = shop.cc(arguments);
            let theirs = shop.plain(arguments);
            assert_eq!(ours.status, theirs.status, "{arguments}");
            assert_eq!(stderr(&ours), stderr(&theirs), "{arguments}");
        }
    });
}

#[test]
fn sanitizers_that_conflict_are_the_compilers_business() {
    with_each_compiler(|shop| {
        shop.write("a.c", COUNTER);
        let output = shop.cc("-fsanitize=address -c a.c");
        assert!(!output.status.success());
        let complaint = stderr(&output);
        assert!(complaint.contains("-fsanitize=thread"), "{complaint}");
        assert!(!complaint.contains("racehound"), "{complaint}");
    });
}

#[test]
fn fences_are_nothing_to_be_warned_of() {
    with_each_compiler(|shop| {
        shop.write(
            "a.c",
            "void fence(void) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }\n",
        );
        quiet(&shop.cc("-Wall -O1 -c a.c"), "a fence");
    });
}
