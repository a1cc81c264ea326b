//! Commands that link.

use crate::workshop::{Workshop, runtime, stderr, with_each_compiler};

const MAIN: &str = "int counter;\nint main(void) { counter++; return counter - 1; }\n";
const LIBRARY: &str = "int number;\nint next(void) { return ++number; }\n";

fn with_sources(test: impl Fn(&Workshop)) {
    with_each_compiler(|shop| {
        shop.write("main.c", MAIN);
        shop.write("library.c", LIBRARY);
        test(shop);
    });
}

/// Links in one step and in two; both must give a program with the runtime.
fn assert_links(shop: &Workshop, options: &str) {
    shop.make(&format!("{options} main.c -o one"));
    shop.make(&format!("{options} -c main.c -o main.o"));
    shop.make(&format!("{options} main.o -o two"));
    for program in ["one", "two"] {
        shop.assert_holds_runtime(program);
        shop.run(program);
    }
}

#[test]
fn executables_hold_the_runtime() {
    with_sources(|shop| assert_links(shop, ""));
}

#[test]
fn options_of_a_link_keep_their_meaning() {
    with_sources(|shop| {
        for options in [
            "-no-pie -fno-pie",
            "-pie -fPIE",
            "-s",
            "-O2",
            "-rdynamic",
            "-ffunction-sections -Wl,--gc-sections",
            "-Wl,--as-needed,-z,now,--no-undefined",
            "-Wl,-z,defs",
            "-Xlinker --as-needed",
            "-Wl,--exclude-libs,ALL",
            "-fsanitize=thread",
            "-static-libgcc",
        ] {
            // clang remarks on options for the linker when it only compiles.
            let remarks = match shop.compilers.is_clang() {
                true => "-Wno-unused-command-line-argument",
                false => "",
            };
            assert_links(shop, &format!("{options} {remarks}"));
        }
        shop.make("main.c -rdynamic -o exporting");
        assert!(
            shop.symbols("-D --defined-only", "exporting")
                .contains("counter")
        );
        shop.make("main.c -o modest");
        assert!(
            !shop
                .symbols("-D --defined-only", "modest")
                .contains("counter")
        );
    });
}

#[test]
fn the_compilers_own_runtime_is_not_even_looked_at() {
    with_sources(|shop| {
        let mut variants = vec!["", "-fsanitize=thread", "-fsanitize=thread -shared -fPIC"];
        if !shop.compilers.is_clang() {
            variants.push("-static-libtsan");
            variants.push("-fsanitize=thread -static-libtsan");
        }
        for options in variants {
            shop.make("-c -fPIC main.c");
            for input in ["main.c", "main.o"] {
                let files = shop.make(&format!("{options} {input} -Wl,--trace -o a"));
                let ours = runtime().join("no-libtsan").display().to_string();
                let tsan = files.lines().filter(|file| file.contains("tsan"));
                let foreign: Vec<_> = tsan.filter(|file| !file.contains(&ours)).collect();
                assert!(foreign.is_empty(), "{options} {input}: {foreign:?}");
            }
        }
    });
}

#[test]
fn the_runtime_takes_precedence_over_archives() {
    with_sources(|shop| {
        shop.write(
            "tsan.c",
            "void __tsan_init(void) {}\nvoid __tsan_func_exit(void) {}\n",
        );
        shop.make("-fno-sanitize=thread -c tsan.c");
        let archived = shop
            .command("ar")
            .args(["rcs", "libother.a", "tsan.o"])
            .output();
        assert!(archived.unwrap().status.success());
        shop.make("main.c -L. -lother -o a");
        shop.assert_holds_runtime("a");
    });
}

#[test]
fn shared_libraries_leave_the_runtime_to_the_program() {
    with_sources(|shop| {
        for strictness in [
            "",
            "-Wl,-z,defs",
            "-Wl,-zdefs",
            "-Wl,--no-undefined",
            "-Xlinker -z -Xlinker defs",
        ] {
            shop.make(&format!(
                "-fPIC -shared library.c {strictness} -o libone.so"
            ));
            shop.make("-fPIC -c library.c");
            shop.make(&format!("-shared {strictness} library.o -o libtwo.so"));
            for library in ["libone.so", "libtwo.so"] {
                shop.assert_leaves_runtime_undefined(library);
            }
        }
        shop.write(
            "user.c",
            "int next(void);\nint main(void) { return next() - 1; }\n",
        );
        shop.make("user.c ./libone.so -o user");
        shop.assert_holds_runtime("user");
        shop.run("user");
    });
}

#[test]
fn undefined_symbols_of_the_users_are_still_found() {
    with_sources(|shop| {
        shop.write(
            "hole.c",
            "int hole(void);\nint next(void) { return hole(); }\n",
        );
        let output = shop.cc("-fPIC -shared -Wl,-z,defs hole.c -o libhole.so");
        let complaint = stderr(&output);
        assert!(!output.status.success());
        assert!(complaint.contains("`hole'"), "{complaint}");
        assert!(!complaint.contains("__tsan"), "{complaint}");
    });
}

#[test]
fn partial_links_and_programs_without_a_libc_get_nothing() {
    with_sources(|shop| {
        shop.make("-c main.c");
        shop.make("-c library.c");
        shop.make("-r main.o library.o -o both.o");
        shop.make("-nostdlib -no-pie -Wl,-r main.o library.o -o again.o");
        shop.make("-r main.c library.c -o fresh.o");
        for object in ["both.o", "again.o", "fresh.o"] {
            shop.assert_lacks_runtime(object);
            assert!(shop.is_instrumented(object), "{object}");
            shop.make(&format!("{object} -o both"));
            shop.assert_holds_runtime("both");
            shop.run("both");
        }
        shop.write(
            "start.c",
            "int state;\nvoid _start(void) { for (;;) state++; }\n",
        );
        for options in [
            "-nostdlib",
            "-nostartfiles",
            "-ffreestanding -nostdlib -static",
        ] {
            shop.make(&format!("{options} start.c -o start"));
            shop.assert_lacks_runtime("start");
            assert!(!shop.is_instrumented("start"), "{options}");
        }
    });
}

#[test]
fn static_programs_are_linked_dynamically() {
    with_sources(|shop| {
        shop.write(
            "user.c",
            "int next(void);\nint main(void) { return next() - 1; }\n",
        );
        shop.make("-c library.c");
        let archived = shop
            .command("ar")
            .args(["rcs", "libnext.a", "library.o"])
            .output();
        assert!(archived.unwrap().status.success());
        shop.write("flags", "-static");
        for option in [
            "-static",
            "-static-pie",
            "--static",
            "-static -no-pie",
            "@flags",
        ] {
            shop.make(&format!("{option} user.c libnext.a -lm -o user"));
            shop.assert_holds_runtime("user");
            assert!(shop.needed("user").contains(&"libc.so.6".to_owned()));
            shop.run("user");
        }
    });
}

#[test]
fn what_is_not_to_be_instrumented_gets_no_runtime() {
    with_sources(|shop| {
        shop.make("-fno-sanitize=thread main.c -o a");
        shop.assert_lacks_runtime("a");
        shop.run("a");
        shop.make("-fno-sanitize=thread -static main.c -o a");
        shop.assert_lacks_runtime("a");
        assert!(shop.needed("a").is_empty());
    });
}

#[test]
fn response_files_work_at_any_depth() {
    with_sources(|shop| {
        shop.write("outer", "-shared\n@inner");
        shop.write(
            "inner",
            "-fPIC '-DUNUSED=\"a b\"' -Wl,-z,defs\r\n library.c\n",
        );
        shop.make("@outer -o liball.so");
        shop.assert_leaves_runtime_undefined("liball.so");
        shop.write("objects", "main.c");
        shop.make("@objects -o a");
        shop.assert_holds_runtime("a");
    });
}

#[test]
fn the_language_of_sources_is_not_that_of_the_runtime() {
    with_sources(|shop| {
        shop.write("odd", MAIN);
        shop.make("-x c odd -o a");
        shop.assert_holds_runtime("a");
        shop.make_cxx("-x c++ main.c -o b");
        shop.assert_holds_runtime("b");
    });
}

#[test]
fn optimisation_at_link_time_keeps_the_instrumentation() {
    with_sources(|shop| {
        let linker = match shop.compilers.is_clang() {
            true => "-fuse-ld=lld",
            false => "",
        };
        if !shop
            .plain(&format!("-flto {linker} main.c -o plain"))
            .status
            .success()
        {
            eprintln!("skipped for {}: no linker for -flto", shop.compilers.c);
            return;
        }
        shop.make("-flto -O1 -c main.c");
        shop.make(&format!("-flto -O1 {linker} main.o -o a"));
        shop.assert_holds_runtime("a");
        shop.run("a");
        let code = shop.command("objdump").args(["-d", "a"]).output().unwrap();
        let code = String::from_utf8(code.stdout).unwrap();
        let main = code
            .split("<main>:")
            .nth(1)
            .unwrap()
            .split("\n\n")
            .next()
            .unwrap();
        assert!(main.contains("<__tsan_write4"), "{main}");
    });
}

#[test]
fn every_linker_will_do() {
    with_sources(|shop| {
        for linker in ["bfd", "gold", "lld", "mold"] {
            let choose = format!("-fuse-ld={linker}");
            if !shop
                .plain(&format!("{choose} main.c -o plain"))
                .status
                .success()
            {
                eprintln!("skipped for {}: no {linker}", shop.compilers.c);
                continue;
            }
            shop.make(&format!("{choose} main.c -o a"));
            shop.assert_holds_runtime("a");
            shop.run("a");
            let strict = "-fPIC -shared -Wl,-z,defs library.c -o liball.so";
            shop.make(&format!("{choose} {strict}"));
            shop.assert_leaves_runtime_undefined("liball.so");
        }
    });
}
