//! Compiles the runtime and puts it together.
//!
//! 1. The crate `racehound-runtime` is compiled as a static library, always
//!    optimised, in a target directory of its own.
//! 2. Everything in it becomes one relocatable object.
//! 3. Every function named `__interceptor_NAME` stands in for the C library's
//!    `NAME`. Within the object all references to `NAME` are renamed to
//!    `__racehound_real_NAME`, so that the runtime, Rust's standard library
//!    included, uses the real one.
//! 4. A few lines of assembly for each join the two sides: `NAME`, weak so that
//!    a program may have its own, notes its caller and jumps to the stand-in;
//!    `__racehound_real_NAME` finds the real function at its first call.
//! 5. All names that are not for others become local: a program in Rust has its
//!    own standard library.

use std::collections::BTreeSet;
use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for part in [
        "runtime",
        "detect",
        "sample",
        "schedule",
        "trace",
        // The rest of it is about what people see.
        "report/Cargo.toml",
        "report/src/finding.rs",
        "report/src/glob.rs",
        "report/src/journal.rs",
        "report/src/lib.rs",
        "symbols",
        "Cargo.lock",
    ] {
        println!("cargo::rerun-if-changed={}", workspace.join(part).display());
    }
    println!("cargo::rerun-if-changed=build.rs");

    let archive = compile(&workspace, &out);
    let all = out.join("all.o");
    // Without groups: of two with the same name linkers keep one, and a program in
    // Rust would go without its own.
    run(tool("ld")
        .args(["-r", "--force-group-allocation", "--whole-archive"])
        .arg(&archive)
        .arg("-o")
        .arg(&all));
    // The standard library comes with bitcode, for which linkers and tools look
    // for a plugin.
    run(tool("objcopy")
        .args(["--strip-debug", "--remove-section=.note.gnu.property"])
        .args(["--remove-section=.llvmbc", "--remove-section=.llvmcmd"])
        .arg(&all));
    let symbols = defined(&all);
    let names = interposed(&symbols);
    let exports = exports(&symbols, &names);

    let renames = out.join("renames");
    let rename = |name: &String| format!("{name} __racehound_real_{name}\n");
    write(&renames, &names.iter().map(rename).collect::<String>());
    let renamed = out.join("renamed.o");
    run(tool("objcopy")
        .arg(format!("--redefine-syms={}", renames.display()))
        .args([&all, &renamed]));

    let joints = out.join("joints.s");
    write(&joints, &assembly(&names));
    let joints_object = out.join("joints.o");
    run(Command::new(compiler())
        .args(["-c", "-o"])
        .args([&joints_object, &joints]));

    let object = out.join("racehound_rt.o");
    run(tool("ld")
        .arg("-r")
        .args([&renamed, &joints_object])
        .arg("-o")
        .arg(&object));
    let keep = out.join("keep");
    write(
        &keep,
        &exports
            .iter()
            .map(|name| format!("{name}\n"))
            .collect::<String>(),
    );
    run(tool("objcopy")
        .arg(format!("--keep-global-symbols={}", keep.display()))
        // The runtimes of other sanitizers have these, too.
        .args(["--wildcard", "--weaken-symbol=__sanitizer_*"])
        .arg(&object));

    let list = exports.iter().fold(String::new(), |mut list, name| {
        _ = writeln!(list, "  {name};");
        list
    });
    write(&out.join("racehound_rt.syms"), &format!("{{\n{list}}};\n"));
    let script = out.join("script");
    write(&script, &format!("{{\nglobal:\n{list}local: *;\n}};\n"));
    // Only programs begin before their libraries.
    let library = out.join("library.o");
    run(tool("objcopy")
        .arg("--remove-section=.preinit_array")
        .arg("--remove-section=.rela.preinit_array")
        .args([&object, &library]));
    run(Command::new(compiler())
        .args(["-shared", "-o"])
        .arg(out.join("libracehound_rt.so"))
        .arg(&library)
        .args([
            "-Wl,-soname,libracehound_rt.so",
            "-Wl,-z,now",
            "-Wl,-z,relro",
        ])
        .arg("-Wl,--gc-sections")
        .arg(format!("-Wl,--version-script={}", script.display()))
        .args(["-lgcc_s", "-lpthread", "-ldl", "-lm", "-lc"]));
    let contents = [&object, &out.join("libracehound_rt.so")]
        .map(|path| fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display())));
    println!(
        "cargo::rustc-env=RACEHOUND_FINGERPRINT={:016x}",
        fingerprint(&contents)
    );
}

/// A number that changes with the contents: FNV-1a.
fn fingerprint(contents: &[Vec<u8>]) -> u64 {
    let bytes = contents.iter().flatten();
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// Compiles the runtime; where the archive is.
fn compile(workspace: &Path, out: &Path) -> PathBuf {
    // Once for all profiles: OUT_DIR is `target/PROFILE/build/NAME/out`.
    let target = match out.ancestors().nth(4) {
        Some(target) => target.join("racehound-runtime"),
        None => out.join("target"),
    };
    let cargo = env::var_os("CARGO").expect("cargo sets it");
    let flags = "-Cforce-unwind-tables=yes";
    run(Command::new(cargo)
        .current_dir(workspace)
        .args(["build", "--quiet", "--profile", "runtime", "--lib"])
        .args(["--package", "racehound-runtime", "--target-dir"])
        .arg(&target)
        .env("CARGO_ENCODED_RUSTFLAGS", flags)
        .env_remove("RUSTFLAGS")
        // Clippy is for the crate itself, not for this use of it.
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .env_remove("CLIPPY_ARGS")
        .env_remove("CARGO_BUILD_TARGET"));
    target.join("runtime/libracehound_runtime.a")
}

/// Names defined in an object, for others to use.
fn defined(object: &Path) -> BTreeSet<String> {
    let output = tool("nm")
        .args(["--defined-only", "--extern-only", "--format=posix"])
        .arg(object)
        .output()
        .unwrap_or_else(|error| panic!("cannot run nm: {error}"));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let name = |line: &str| line.split(' ').next().map(str::to_owned);
    text.lines().filter_map(name).collect()
}

const PREFIX: &str = "__interceptor_";

fn interposed(symbols: &BTreeSet<String>) -> Vec<String> {
    let name = |symbol: &String| symbol.strip_prefix(PREFIX).map(str::to_owned);
    symbols.iter().filter_map(name).collect()
}

/// The names that programs use.
fn exports(symbols: &BTreeSet<String>, names: &[String]) -> BTreeSet<String> {
    let public = [
        "__tsan_",
        "__sanitizer_",
        "Annotate",
        "WTFAnnotate",
        "__racehound_deadlock",
        "__racehound_meeting",
        "__racehound_region_",
        "__racehound_runtime",
    ];
    let is_public = |symbol: &&String| {
        symbol.starts_with(PREFIX)
            || public.iter().any(|prefix| symbol.starts_with(prefix))
            || ["RunningOnValgrind", "ValgrindSlowdown"].contains(&symbol.as_str())
    };
    let own = symbols.iter().filter(is_public).cloned();
    own.chain(names.iter().cloned()).collect()
}

/// The code between the program, the stand-ins and the real functions.
fn assembly(names: &[String]) -> String {
    let mut text = String::from(
        ".intel_syntax noprefix
         .text
         # rax = number of the function to find; all arguments stay as they are.
         __racehound_find:
         push rdi\n push rsi\n push rdx\n push rcx\n push r8\n push r9\n push rax\n push rbp
         mov rbp, rsp
         sub rsp, 128
         and rsp, -16
         movups [rsp], xmm0\n movups [rsp+16], xmm1\n movups [rsp+32], xmm2\n movups [rsp+48], xmm3
         movups [rsp+64], xmm4\n movups [rsp+80], xmm5\n movups [rsp+96], xmm6\n movups [rsp+112], xmm7
         mov rdi, rax
         call __racehound_resolve
         movups xmm0, [rsp]\n movups xmm1, [rsp+16]\n movups xmm2, [rsp+32]\n movups xmm3, [rsp+48]
         movups xmm4, [rsp+64]\n movups xmm5, [rsp+80]\n movups xmm6, [rsp+96]\n movups xmm7, [rsp+112]
         mov rsp, rbp
         mov r11, rax
         pop rbp\n pop rax\n pop r9\n pop r8\n pop rcx\n pop rdx\n pop rsi\n pop rdi
         mov rax, [rsp]
         add rsp, 8
         jmp r11\n",
    );
    for (number, name) in names.iter().enumerate() {
        _ = write!(
            text,
            ".p2align 4
             .weak {name}\n .globl {name}\n .type {name}, @function
             {name}:
             mov r11, qword ptr [rip + __racehound_hot@GOTTPOFF]
             mov r10, qword ptr [rsp]
             mov qword ptr fs:[r11 + 32], r10
             lea r10, [rip + .Lname_{number}]
             mov qword ptr fs:[r11 + 40], r10
             .Lname_{number}:
             jmp qword ptr [rip + .Lstand_in_{number}]
             .size {name}, . - {name}
             .hidden __racehound_real_{name}\n .globl __racehound_real_{name}
             .type __racehound_real_{name}, @function
             __racehound_real_{name}:
             jmp qword ptr [rip + .Lreal_{number}]
             .Lfind_{number}:
             push rax
             mov eax, {number}
             jmp __racehound_find\n"
        );
    }
    text.push_str(".section .data.racehound, \"aw\"\n.p2align 3\n");
    text.push_str(".hidden __racehound_functions\n.globl __racehound_functions\n");
    text.push_str("__racehound_functions:\n");
    for (number, name) in names.iter().enumerate() {
        // The C library has these in two versions, and gives out the older one
        // when not asked for another.
        let version = match name.starts_with("pthread_cond_") && name != "pthread_cond_clockwait" {
            true => ".Lversion",
            false => "0",
        };
        _ = write!(
            text,
            ".quad .Ltext_{number}, {version}, .Lname_{number}
             .Lreal_{number}: .quad .Lfind_{number}
             .Lstand_in_{number}: .quad __interceptor_{name}\n"
        );
    }
    text.push_str(".quad 0, 0, 0, 0, 0\n.section .rodata.racehound, \"a\"\n");
    text.push_str(".Lversion: .asciz \"GLIBC_2.3.2\"\n");
    for (number, name) in names.iter().enumerate() {
        _ = writeln!(text, ".Ltext_{number}: .asciz \"{name}\"");
    }
    text.push_str(".section .note.GNU-stack, \"\", @progbits\n");
    text
}

fn compiler() -> String {
    env::var("CC").unwrap_or_else(|_| "cc".to_owned())
}

fn tool(name: &str) -> Command {
    Command::new(name)
}

fn run(command: &mut Command) {
    let status = command.status();
    match status {
        Ok(status) if status.success() => {}
        Ok(status) => panic!("{command:?} failed: {status}"),
        Err(error) => panic!("cannot run {command:?}: {error}"),
    }
}

fn write(path: &Path, text: &str) {
    fs::write(path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}
