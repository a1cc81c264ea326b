//! Small projects, built by the tools that people use: a program in C and C++
//! with a shared library and a plugin.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::workshop::{
    RACEHOUND, RACEHOUND_CC, Workshop, beside, is_installed, with_each_compiler,
};

/// Runs a build for each compiler in a copy of the project, if these tools are
/// there, and looks at what came out.
fn build(tools: &[&str], work: Option<&str>, steps: impl Fn(&Workshop)) {
    if let Some(missing) = tools.iter().find(|tool| !is_installed(tool)) {
        eprintln!("skipped: {missing} is not installed");
        return;
    }
    with_each_compiler(|shop| {
        for entry in fs::read_dir(beside("project")).unwrap() {
            let entry = entry.unwrap();
            fs::copy(entry.path(), shop.path(entry.file_name().to_str().unwrap())).unwrap();
        }
        steps(shop);
        let built = |name: &str| match work {
            Some(directory) => format!("{directory}/{name}"),
            None => name.to_owned(),
        };
        check(shop, &built);
    });
}

fn check(shop: &Workshop, built: &dyn Fn(&str) -> String) {
    let find = |names: &[&str]| -> String {
        let mut paths = names.iter().map(|name| built(name));
        let found = paths.find(|path| shop.path(path).is_file());
        found.unwrap_or_else(|| panic!("none of {names:?} was built"))
    };
    // Where libtool is at work, what it made is in .libs.
    let app = find(&[".libs/app", "app"]);
    let library = find(&[".libs/libwork.so", "libwork.so"]);
    let plugin = find(&[".libs/plugin.so", "plugin.so"]);
    shop.assert_holds_runtime(&app);
    shop.assert_leaves_runtime_undefined(&library);
    shop.assert_leaves_runtime_undefined(&plugin);
    let mut command = shop.command(shop.path(&app));
    let directory = shop.path(&library);
    command.env("LD_LIBRARY_PATH", directory.parent().unwrap());
    let output = command.arg(shop.path(&plugin)).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

/// A step of a build, with the drivers as `CC` and `CXX`.
fn step(shop: &Workshop, program: &str, arguments: &[&str]) {
    let mut command = shop.command(program);
    command
        .env("CC", format!("{RACEHOUND} cc"))
        .env("CXX", format!("{RACEHOUND} c++"));
    succeed(command.args(arguments));
}

fn succeed(command: &mut Command) {
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}{}",
        output.status,
        text(&output.stdout),
        text(&output.stderr)
    );
}

#[test]
fn make() {
    build(&["make"], None, |shop| step(shop, "make", &["-e"]));
}

#[test]
fn autoconf_automake_and_libtool() {
    build(
        &["autoreconf", "automake", "libtoolize", "make"],
        None,
        |shop| {
            fs::remove_file(shop.path("Makefile")).unwrap();
            step(shop, "autoreconf", &["--install"]);
            step(shop, "./configure", &["--quiet"]);
            let log = shop.read("config.log");
            assert!(log.contains("ac_cv_prog_cc_g=yes") && log.contains("ac_cv_func_strdup=yes"));
            step(shop, "make", &["--no-print-directory"]);
        },
    );
}

#[test]
fn cmake() {
    build(&["cmake", "make"], Some("build"), |shop| {
        step(shop, "cmake", &["-B", "build"]);
        step(shop, "cmake", &["--build", "build"]);
    });
}

#[test]
fn cmake_with_one_word_compilers() {
    build(&["cmake", "make"], Some("build"), |shop| {
        let mut command = shop.command("cmake");
        command.args(["-B", "build", "-DCMAKE_BUILD_TYPE=Release"]);
        command.arg(format!("-DCMAKE_C_COMPILER={RACEHOUND_CC}"));
        // A name that the first run of any of the programs makes.
        succeed(shop.command(RACEHOUND).arg("--version"));
        let cxx = Path::new(RACEHOUND).with_file_name("racehound-c++");
        command.arg(format!("-DCMAKE_CXX_COMPILER={}", cxx.display()));
        succeed(&mut command);
        step(shop, "cmake", &["--build", "build"]);
        let cache = shop.read("build/CMakeCache.txt");
        assert!(cache.contains(&cxx.display().to_string()));
    });
}

#[test]
fn meson() {
    build(&["meson", "ninja"], Some("build"), |shop| {
        step(shop, "meson", &["setup", "build"]);
        step(shop, "ninja", &["-C", "build"]);
    });
}
