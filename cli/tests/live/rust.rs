//! Programs in Rust, with our runtime behind rustc's instrumentation.
//!
//! The standard library as it is shipped is not instrumented, so its locks are
//! seen only in part; what a program does itself is. With the sources of the
//! library there (`rustup component add rust-src`) it is built along, and then
//! everything is seen.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::workshop::{RACEHOUND_CC, Workshop, stderr, stdout};

const TARGET: &str = "x86_64-unknown-linux-gnu";

fn program(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../programs/rust")
        .join(name)
}

fn rustc() -> String {
    env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned())
}

/// Rustc, willing to instrument.
fn willing(mut command: Command) -> Command {
    command.env("RUSTC_BOOTSTRAP", "1");
    command
}

/// Whether the toolchain can instrument and leave the runtime to us; says so if
/// not.
pub(crate) fn can_instrument() -> bool {
    let output = willing(Command::new(rustc())).arg("-Zhelp").output();
    let help = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let able = help.is_ok_and(|help| {
        ["sanitizer=val", "external-clangrt=val"]
            .iter()
            .all(|flag| help.contains(flag))
    });
    if !able {
        eprintln!("skipped: this rustc knows no -Zsanitizer=thread -Zexternal-clangrt");
    }
    able
}

/// Compiles a program with the standard library as it is shipped.
fn compile(shop: &Workshop, source: &str, level: &str) {
    compile_as(shop, &program(source), level, &[]);
}

/// Compiles a source with further options.
pub(crate) fn compile_as(shop: &Workshop, source: &Path, level: &str, more: &[&str]) {
    let mut command = willing(shop.command(rustc()));
    command
        .args(["--edition", "2024", "-g", "-Zsanitizer=thread"])
        .args([
            "-Zexternal-clangrt",
            "-Cunsafe-allow-abi-mismatch=sanitizer",
        ])
        .args([
            format!("-Clinker={RACEHOUND_CC}"),
            format!("-Copt-level={level}"),
        ])
        .args(more)
        .arg(source)
        .args(["-o", "program"]);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
}

fn assert_racy(output: &Output) {
    assert_eq!(output.status.code(), Some(66), "{}", stderr(output));
    let source = fs::read_to_string(program("racy.rs")).unwrap();
    let line = source.lines().position(|line| line.ends_with("// RACE"));
    let place = format!("racy.rs:{}:", line.unwrap() + 1);
    let text = stderr(output);
    let reports = text.matches("WARNING: ThreadSanitizer: data race").count();
    assert_eq!(reports, 1, "{text}");
    let tops = text
        .lines()
        .filter(|line| line.trim_start().starts_with("#0 ") && line.contains(&place));
    assert_eq!(tops.count(), 2, "{text}");
}

fn assert_silent(output: &Output) {
    assert_eq!(output.status.code(), Some(0), "{}", stderr(output));
    assert!(!stderr(output).contains("ThreadSanitizer"));
}

#[test]
fn a_race_is_found_with_the_library_as_shipped() {
    if !can_instrument() {
        return;
    }
    let shop = Workshop::new();
    compile(&shop, "racy.rs", "0");
    assert_racy(&shop.racehound(&["run", "--", "./program"]));
}

#[test]
fn reference_counts_and_atomics_order_with_the_library_as_shipped() {
    if !can_instrument() {
        return;
    }
    let shop = Workshop::new();
    for level in ["0", "2"] {
        compile(&shop, "counted.rs", level);
        assert_silent(&shop.racehound(&["run", "--", "./program"]));
    }
}

/// Its locks are taken unseen where two threads want them at once, and what they protect looks
/// like a race then. Nobody stands there beside another.
#[test]
fn what_is_in_order_is_not_confirmed_with_the_library_as_shipped() {
    if !can_instrument() {
        return;
    }
    let shop = Workshop::new();
    compile(&shop, "clean.rs", "1");
    let output = shop.racehound(&[
        "hunt",
        "--json",
        "f.json",
        "--budget",
        "15s",
        "--",
        "./program",
    ]);
    let report = shop.findings("f.json");
    let findings = report["findings"].as_array().unwrap();
    let confirmed: Vec<_> = findings
        .iter()
        .filter(|f| f["status"] == "confirmed")
        .collect();
    assert!(confirmed.is_empty(), "{confirmed:?}");
    let told = "Rust's standard library is not instrumented";
    assert!(stdout(&output).contains(told), "{output:?}");
}

/// What tells the library as it is shipped from one that is built along is whether its first
/// function is instrumented. Here it is written in C, which is, and in assembly.
#[test]
fn whether_the_library_is_instrumented_is_told_by_its_first_function() {
    let name = "_ZN3std2rt19lang_start_internal17h0123456789abcdefE";
    let in_c = format!("int x; int {name}(void) {{ return x++; }}");
    let code =
        ".globl NAME\\n.type NAME, @function\\nNAME: xor %eax, %eax\\nret\\n.size NAME, .-NAME\\n";
    let code = code.replace("NAME", name);
    let in_assembly = format!("int {name}(void);\n__asm__(\"{code}\");");
    for (function, is_seen) in [(in_c, true), (in_assembly, false)] {
        let shop = Workshop::new();
        let main = format!("int main(void) {{ return {name}(); }}");
        shop.write("program.c", &format!("{function}\n{main}\n"));
        let output = shop.racehound(&["hunt", "--runs", "5", "program.c"]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let is_told = stdout(&output).contains("standard library is not instrumented");
        assert_eq!(is_told, !is_seen, "{output:?}");
    }
}

#[test]
fn everything_is_seen_with_the_library_built_along() {
    if !can_instrument() {
        return;
    }
    let sysroot = Command::new(rustc()).args(["--print", "sysroot"]).output();
    let sysroot = String::from_utf8(sysroot.unwrap().stdout).unwrap();
    let sources = Path::new(sysroot.trim()).join("lib/rustlib/src/rust/library/Cargo.lock");
    if !sources.is_file() {
        eprintln!("skipped: the sources of Rust's library are not installed (rust-src)");
        return;
    }
    let shop = Workshop::new();
    fs::create_dir_all(shop.path("src/bin")).unwrap();
    for name in ["racy.rs", "clean.rs"] {
        fs::copy(program(name), shop.path("src/bin").join(name)).unwrap();
    }
    let manifest = "[package]\nname = \"watched\"\nedition = \"2024\"\n[workspace]\n";
    shop.write("Cargo.toml", manifest);
    let flags = format!("-Zsanitizer=thread -Zexternal-clangrt -Clinker={RACEHOUND_CC}");
    let mut cargo = willing(shop.command(env!("CARGO")));
    cargo
        .args(["build", "--quiet", "-Zbuild-std", "--target", TARGET])
        .env("RUSTC", rustc())
        .env("RUSTFLAGS", flags)
        .env("CARGO_TARGET_DIR", shop.path("target"));
    let output = cargo.output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let built = |name: &str| format!("target/{TARGET}/debug/{name}");
    assert_racy(&shop.racehound(&["run", "--", &built("racy")]));
    for detector in ["fasttrack", "acculock"] {
        let arguments = ["run", "--detector", detector, "--", &built("clean")];
        let output = shop.racehound(&arguments);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert!(!stderr(&output).contains("ThreadSanitizer"));
    }
}
