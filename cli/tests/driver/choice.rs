//! Which compiler is run, and what becomes of its end.

use std::os::unix::fs::symlink;
use std::os::unix::process::ExitStatusExt;
use std::process::Output;

use crate::workshop::{
    Compilers, RACEHOUND, RACEHOUND_CC, RACEHOUND_CXX, Workshop, quiet, stderr, stdout,
    with_each_compiler,
};

const NOT_STARTED: i32 = 3;

fn shop() -> Workshop {
    let shop = Workshop::new(Compilers::gcc());
    shop.write(
        "a.c",
        "int counter;\nint main(void) { return counter++; }\n",
    );
    shop
}

/// With these words as the compiler.
fn run(shop: &Workshop, compiler: &str, arguments: &[&str]) -> Output {
    let mut command = shop.command(RACEHOUND);
    command
        .env("RACEHOUND_CC", compiler)
        .arg("cc")
        .args(arguments);
    command.output().unwrap()
}

fn refused(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(NOT_STARTED), "{output:?}");
    assert_eq!(stdout(output), "");
    stderr(output)
}

#[test]
fn the_choice_may_have_a_launcher_and_options() {
    with_each_compiler(|shop| {
        shop.write(
            "a.c",
            "#ifdef WORDS\nint main(void) { return 0; }\n#endif\n",
        );
        shop.script("my launcher", "echo launched >> log\nexec \"$@\"");
        let choice = format!("'./my launcher' {} -DWORDS='two words'", shop.compilers.c);
        quiet(&run(shop, &choice, &["a.c", "-o", "a"]), &choice);
        assert_eq!(shop.read("log"), "launched\n");
        shop.assert_holds_runtime("a");
        shop.run("a");
    });
}

#[test]
fn a_compiler_under_another_name_is_asked_what_it_is() {
    with_each_compiler(|shop| {
        shop.write("a.c", "int main(void) { return 0; }\n");
        let wrapper = shop.script("mycc", &format!("exec {} \"$@\"", shop.compilers.c));
        let wrapper = format!("'{}'", wrapper.display());
        quiet(&run(shop, &wrapper, &["a.c", "-o", "a"]), &wrapper);
        shop.assert_holds_runtime("a");
    });
}

#[test]
fn without_a_choice_the_best_there_is_is_taken() {
    let shop = shop();
    let directory = shop.path("bin");
    std::fs::create_dir(&directory).unwrap();
    let compiler = |name: &str| {
        let path = shop.script(&format!("bin/{name}"), "echo \"${0##*/}\"");
        assert!(path.exists());
    };
    let chosen = |driver: &str| {
        let mut command = shop.command(RACEHOUND);
        command
            .env("PATH", &directory)
            .env_remove("RACEHOUND_CC")
            .env("RACEHOUND_CXX", " ");
        command.args([driver, "-c", "a.c"]).output().unwrap()
    };
    let complaint = refused(&chosen("cc"));
    assert_eq!(
        complaint,
        "racehound: no compiler found: none of clang, gcc, cc is on the PATH; install one \
         (on Debian and Ubuntu: apt-get install gcc), or name one in RACEHOUND_CC\n"
    );
    assert!(refused(&chosen("c++")).contains("RACEHOUND_CXX"));
    for (added, expected) in [
        ("gcc-9", "gcc-9"),
        ("gcc-13", "gcc-13"),
        ("gcc-ar-14", "gcc-13"),
        ("clang-8", "clang-8"),
        ("cc", "cc"),
        ("gcc", "gcc"),
        ("clang", "clang"),
    ] {
        compiler(added);
        assert_eq!(quiet(&chosen("cc"), added), format!("{expected}\n"));
    }
    compiler("g++");
    assert_eq!(quiet(&chosen("c++"), "g++"), "g++\n");
}

#[test]
fn a_choice_that_cannot_be_run_is_named() {
    let shop = shop();
    let say = |choice: &str| refused(&run(&shop, choice, &["-c", "a.c"]));
    assert_eq!(
        say("nocc -m64"),
        "racehound: RACEHOUND_CC names nocc, which is not on the PATH\n"
    );
    assert_eq!(
        say("gcc 'x"),
        "racehound: RACEHOUND_CC has a quote that is not closed: gcc 'x\n"
    );
    shop.script("broken", "");
    shop.write("broken", "#!/no/such/interpreter\n");
    assert!(say("./broken").contains("broken cannot be run"));
}

#[test]
fn the_driver_does_not_run_itself() {
    let shop = shop();
    symlink(RACEHOUND_CC, shop.path("gcc")).unwrap();
    for choice in [
        format!("{RACEHOUND} cc"),
        RACEHOUND_CC.to_owned(),
        "./gcc".to_owned(),
    ] {
        for arguments in [&["-c", "a.c"][..], &["a.c", "-o", "a"], &["--version"]] {
            let complaint = refused(&run(&shop, &choice, arguments));
            assert!(
                complaint.contains("runs racehound again instead of a compiler"),
                "{complaint}"
            );
        }
    }
}

#[test]
fn a_missing_runtime_is_missed_only_when_linking() {
    let shop = shop();
    let run = |arguments: &[&str]| {
        let mut command = shop.command(RACEHOUND);
        command.env("RACEHOUND_RUNTIME_DIR", shop.path("nowhere"));
        command.arg("cc").args(arguments).output().unwrap()
    };
    quiet(&run(&["-c", "a.c"]), "compiling");
    let complaint = refused(&run(&["a.o", "-o", "a"]));
    assert!(complaint.contains("racehound_rt.o"), "{complaint}");
}

#[test]
fn the_end_of_the_compiler_is_ours() {
    let shop = shop();
    shop.script("fails", "echo out; echo err >&2; exit 42");
    let output = run(&shop, "./fails", &["-c", "a.c"]);
    assert_eq!(output.status.code(), Some(42));
    assert_eq!((&*stdout(&output), &*stderr(&output)), ("out\n", "err\n"));
    shop.script("dies", "kill -TERM $$");
    let output = run(&shop, "./dies", &["-c", "a.c"]);
    assert_eq!(output.status.signal(), Some(15));
}

#[test]
fn the_one_word_commands_are_the_same() {
    with_each_compiler(|shop| {
        shop.write("a.c", "int main(void) { return 0; }\n");
        shop.write(
            "a.cpp",
            "#include <string>\nint main() { return std::string().size(); }\n",
        );
        for (driver, source) in [(RACEHOUND_CC, "a.c"), (RACEHOUND_CXX, "a.cpp")] {
            let mut command = shop.command(driver);
            let output = command.args([source, "-o", "a"]).output().unwrap();
            quiet(&output, driver);
            shop.assert_holds_runtime("a");
            shop.run("a");
        }
    });
}

#[test]
fn help_is_the_compilers_unless_asked_for_otherwise() {
    let shop = shop();
    let help = |arguments: &[&str]| {
        let mut command = shop.command(RACEHOUND);
        stdout(&command.args(arguments).output().unwrap())
    };
    assert!(help(&["cc", "--help"]).starts_with("Usage: gcc"));
    assert!(help(&["c++", "--help"]).starts_with("Usage: g++"));
    for ours in [["help", "cc"], ["help", "c++"]] {
        let text = help(&ours);
        assert!(
            text.contains("A drop-in compiler") && text.contains("RACEHOUND_CC"),
            "{text}"
        );
    }
}

#[test]
fn without_a_path_the_systems_own_directories_are_searched() {
    with_each_compiler(|shop| {
        let mut command = shop.command(RACEHOUND);
        command.env_clear().env("RACEHOUND_CC", &shop.compilers.c);
        let output = command.args(["cc", "-dumpversion"]).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        assert_ne!(stdout(&output), "");
    });
}
