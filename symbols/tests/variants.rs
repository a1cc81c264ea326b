//! Every way in which debug information comes with a module.

mod support;

use std::fs;

use racehound_symbols::{Symbolizer, Variable, build_id};
use support::{WORK, Workshop, assert_frames, stack};

const CHAIN: [(&str, &str); 3] = [
    ("innermost", "innermost"),
    ("middle", "middle"),
    ("outer", "outer"),
];

const FUNCTIONS: [&str; 3] = ["outer", "leaf", "main"];
const VARIABLES: [&str; 3] = ["counter", "table", "hidden"];

/// Asserts that all is known about `module`, a copy of the workshop's program
/// `original` that may have been stripped.
#[track_caller]
fn assert_all_known(shop: &Workshop, symbolizer: &mut Symbolizer, original: &str, module: &str) {
    let source = (&*shop.path("work.c"), WORK);
    let [outer, leaf, _] = shop.all_addresses(original, FUNCTIONS);
    assert_frames(symbolizer, &shop.path(module), outer, source, &CHAIN);
    let leaf_frame = [("leaf", "leaf")];
    assert_frames(symbolizer, &shop.path(module), leaf, source, &leaf_frame);
    assert_variables_known(shop, symbolizer, original, module);
}

#[track_caller]
fn assert_variables_known(
    shop: &Workshop,
    symbolizer: &mut Symbolizer,
    original: &str,
    module: &str,
) {
    let all = shop.all_addresses(original, VARIABLES);
    for (name, addresses) in VARIABLES.into_iter().zip(all) {
        let expected = Variable {
            name: name.to_owned(),
            start: addresses.start,
            size: addresses.end - addresses.start,
        };
        for address in [addresses.start, addresses.end - 1] {
            let found = symbolizer.variable(&shop.path(module), address);
            assert_eq!(found.as_ref(), Some(&expected));
        }
    }
}

/// Asserts that of the code in `module` only the symbols are known.
#[track_caller]
fn assert_only_symbols_known(
    shop: &Workshop,
    symbolizer: &mut Symbolizer,
    original: &str,
    module: &str,
) {
    let all = shop.all_addresses(original, FUNCTIONS);
    for (name, addresses) in FUNCTIONS.into_iter().zip(all) {
        for address in addresses {
            let found = stack(&symbolizer.frames(&shop.path(module), address));
            assert_eq!(found, [(name.to_owned(), String::new(), 0)]);
        }
    }
}

#[track_caller]
fn assert_nothing_known(
    shop: &Workshop,
    symbolizer: &mut Symbolizer,
    original: &str,
    module: &str,
) {
    let module = shop.path(module);
    for addresses in shop.all_addresses(original, FUNCTIONS) {
        for address in addresses {
            assert_eq!(symbolizer.frames(&module, address), []);
        }
    }
    for addresses in shop.all_addresses(original, VARIABLES) {
        assert_eq!(symbolizer.variable(&module, addresses.start), None);
    }
}

#[track_caller]
fn assert_built_with(options: &str) {
    let shop = Workshop::with_work(options);
    assert_all_known(&shop, &mut Symbolizer::new(), "work", "work");
}

#[test]
fn plain() {
    assert_built_with("-g");
    assert_built_with("-g -O2");
}

#[test]
fn dwarf_versions() {
    for version in ["3", "4", "5"] {
        assert_built_with(&format!("-O1 -gdwarf-{version}"));
    }
}

#[test]
fn fixed_addresses_and_shared_libraries() {
    assert_built_with("-g -no-pie");
    assert_built_with("-g -O2 -shared -fPIC");
}

#[test]
fn functions_in_sections_of_their_own() {
    assert_built_with("-g -ffunction-sections -fdata-sections -Wl,--gc-sections");
}

#[test]
fn compressed() {
    assert_built_with("-g -gz=zlib");
    let shop = Workshop::with_work("-g");
    for format in ["zlib-gnu", "zstd"] {
        if shop.try_run(&format!(
            "objcopy --compress-debug-sections={format} work {format}"
        )) {
            assert_all_known(&shop, &mut Symbolizer::new(), "work", format);
        }
    }
}

#[test]
fn split() {
    for version in ["4", "5"] {
        assert_built_with(&format!("-g -gsplit-dwarf -gdwarf-{version}"));
        assert_built_with(&format!(
            "-g -gsplit-dwarf -gdwarf-{version} -O2 -fdebug-types-section"
        ));
        assert_built_with(&format!("-g -gsplit-dwarf -gdwarf-{version} -gz=zlib"));
    }
}

#[test]
fn split_and_moved_together() {
    let shop = Workshop::with_work("-g -gsplit-dwarf");
    shop.rename("work", "moved/work");
    shop.rename("work.dwo", "moved/work.dwo");
    assert_all_known(&shop, &mut Symbolizer::new(), "moved/work", "moved/work");
}

#[test]
fn split_and_packed() {
    // Each packer with the compiler and the version that it gets along with.
    let trios = [
        ("cc", "4", "dwp"),
        ("clang-19", "4", "llvm-dwp-19"),
        ("clang-19", "5", "llvm-dwp-19"),
    ];
    for (compiler, version, packer) in trios {
        let tools = [compiler, packer].map(|tool| format!("{tool} --version"));
        if !tools.iter().all(|tool| Workshop::new().try_run(tool)) {
            continue;
        }
        let options = format!("-g -gsplit-dwarf -gdwarf-{version}");
        let shop = Workshop::with_source(compiler, &options, WORK);
        shop.run(&format!("{packer} -e work -o work.dwp"));
        fs::remove_file(shop.path("work.dwo")).unwrap();
        assert_all_known(&shop, &mut Symbolizer::new(), "work", "work");
    }
}

#[test]
fn split_and_lost() {
    let shop = Workshop::with_work("-g -gsplit-dwarf");
    fs::remove_file(shop.path("work.dwo")).unwrap();
    let source = (&*shop.path("work.c"), WORK);
    let leaf = shop.addresses("work", "leaf");
    let symbolizer = &mut Symbolizer::new();
    assert_frames(
        symbolizer,
        &shop.path("work"),
        leaf,
        source,
        &[("leaf", "leaf")],
    );
}

#[test]
fn split_and_replaced_by_another_build() {
    let shop = Workshop::with_work("-g -gsplit-dwarf");
    let other = Workshop::with_source("cc", "-g -gsplit-dwarf", &WORK.replace("leaf", "reed"));
    fs::copy(other.path("work.dwo"), shop.path("work.dwo")).unwrap();
    let source = (&*shop.path("work.c"), WORK);
    let leaf = shop.addresses("work", "leaf");
    let symbolizer = &mut Symbolizer::new();
    assert_frames(
        symbolizer,
        &shop.path("work"),
        leaf,
        source,
        &[("leaf", "leaf")],
    );
}

#[test]
fn without_debug_information() {
    let shop = Workshop::with_work("-O1");
    let symbolizer = &mut Symbolizer::new();
    assert_only_symbols_known(&shop, symbolizer, "work", "work");
    assert_variables_known(&shop, symbolizer, "work", "work");
}

#[test]
fn stripped_with_dynamic_symbols() {
    let shop = Workshop::with_work("-g -shared -fPIC");
    shop.run("strip work -o stripped");
    let symbolizer = &mut Symbolizer::with_debug_root(shop.root());
    let module = shop.path("stripped");
    let address = shop.addresses("work", "outer").start;
    let found = stack(&symbolizer.frames(&module, address));
    assert_eq!(found, [("outer".to_owned(), String::new(), 0)]);
    let counter = shop.addresses("work", "counter").start;
    assert_eq!(
        symbolizer.variable(&module, counter).unwrap().name,
        "counter"
    );
    let hidden = shop.addresses("work", "hidden").start;
    assert_eq!(symbolizer.variable(&module, hidden), None);
}

#[test]
fn stripped_of_everything() {
    let shop = Workshop::with_work("-g");
    shop.run("strip work -o stripped");
    let symbolizer = &mut Symbolizer::with_debug_root(shop.root());
    assert_nothing_known(&shop, symbolizer, "work", "stripped");
}

/// Strips the workshop's program and leaves a link to the debug file.
fn strip_with_link(shop: &Workshop) {
    shop.run("objcopy --only-keep-debug work stripped.debug");
    shop.run("objcopy --strip-all --add-gnu-debuglink=stripped.debug work stripped");
}

#[test]
fn linked_debug_file() {
    for options in [
        "-g",
        "-g -Wl,--build-id=none",
        "-g -gz=zlib",
        "-g -gsplit-dwarf",
    ] {
        let shop = Workshop::with_work(options);
        strip_with_link(&shop);
        let root = shop.root();
        let under_root = root.strip_prefix("/").unwrap().to_str().unwrap().to_owned();
        let mut at = "stripped.debug".to_owned();
        for place in [
            at.clone(),
            ".debug/stripped.debug".to_owned(),
            format!("root/{under_root}/stripped.debug"),
        ] {
            shop.rename(&at, &place);
            let symbolizer = &mut Symbolizer::with_debug_root(shop.path("root"));
            assert_all_known(&shop, symbolizer, "work", "stripped");
            at = place;
        }
    }
}

#[test]
fn linked_debug_file_of_another_build() {
    for options in ["-g", "-g -Wl,--build-id=none"] {
        let shop = Workshop::with_work(options);
        strip_with_link(&shop);
        let other = Workshop::with_source("cc", options, &WORK.replace("leaf", "reed"));
        fs::copy(other.path("work"), shop.path("stripped.debug")).unwrap();
        let symbolizer = &mut Symbolizer::with_debug_root(shop.root());
        assert_nothing_known(&shop, symbolizer, "work", "stripped");
    }
}

#[test]
fn debug_file_by_build_id() {
    let shop = Workshop::with_work("-g -Wl,--build-id=sha1");
    shop.run("objcopy --only-keep-debug work work.debug");
    shop.run("objcopy --strip-all work stripped");
    let id = build_id(&shop.path("work")).unwrap();
    assert_eq!(id.len(), 20);
    assert_eq!(build_id(&shop.path("stripped")), Some(id.clone()));
    let id: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
    let (first, rest) = id.split_at(2);
    shop.rename(
        "work.debug",
        &format!("debug/.build-id/{first}/{rest}.debug"),
    );
    let symbolizer = &mut Symbolizer::with_debug_root(shop.path("debug"));
    assert_all_known(&shop, symbolizer, "work", "stripped");
}

#[test]
fn debug_files_with_common_parts() {
    let shop = Workshop::with_work("-g");
    fs::copy(shop.path("work"), shop.path("twin")).unwrap();
    if shop.try_run("dwz -m common.debug work twin") {
        assert_all_known(&shop, &mut Symbolizer::new(), "work", "work");
    }
}

#[test]
fn replaced_since_it_was_loaded() {
    let shop = Workshop::with_work("-g -Wl,--build-id=0x1122334455");
    let loaded = build_id(&shop.path("work")).unwrap();
    assert_eq!(loaded, [0x11, 0x22, 0x33, 0x44, 0x55]);
    let module = &*shop.path("work");
    let symbolizer = &mut Symbolizer::new();
    assert!(symbolizer.open(module, Some(&loaded)));
    assert_all_known(&shop, symbolizer, "work", "work");

    shop.run("cc -g -Wl,--build-id=0x99 work.c -o rebuilt");
    let leaf = shop.addresses("work", "leaf").start;
    shop.rename("rebuilt", "work");
    assert!(
        !symbolizer.frames(module, leaf).is_empty(),
        "the mapped file is the old one"
    );
    let symbolizer = &mut Symbolizer::new();
    assert!(!symbolizer.open(module, Some(&loaded)));
    assert_nothing_known(&shop, symbolizer, "work", "work");
    assert!(
        symbolizer.open(module, Some(&[0x99])),
        "it was loaded again"
    );
    assert_all_known(&shop, symbolizer, "work", "work");
    assert!(!symbolizer.open(module, Some(&loaded)));
    assert_nothing_known(&shop, symbolizer, "work", "work");
}

#[test]
fn not_a_module() {
    let shop = Workshop::new();
    shop.write("text", "no program");
    shop.write("empty", "");
    let symbolizer = &mut Symbolizer::new();
    for name in ["text", "empty", "missing", "."] {
        let path = shop.path(name);
        assert!(!symbolizer.open(&path, None));
        assert_eq!(symbolizer.frames(&path, 0x1000), []);
        assert_eq!(symbolizer.variable(&path, 0x1000), None);
        assert_eq!(build_id(&path), None);
    }
}

#[test]
fn addresses_outside() {
    let shop = Workshop::with_work("-g");
    let symbolizer = &mut Symbolizer::new();
    for address in [0, 1, u64::MAX / 2, u64::MAX - 1, u64::MAX] {
        assert_eq!(symbolizer.frames(&shop.path("work"), address), []);
        assert_eq!(symbolizer.variable(&shop.path("work"), address), None);
    }
}

#[test]
fn built_by_clang() {
    for compiler in ["clang", "clang-19"] {
        if !Workshop::new().try_run(&format!("{compiler} --version")) {
            continue;
        }
        for options in [
            "-g",
            "-g -O2",
            "-g -gdwarf-4",
            "-g -gsplit-dwarf",
            "-g -gsplit-dwarf -O1 -gdwarf-4",
            "-g -gz",
        ] {
            let shop = Workshop::with_source(compiler, options, WORK);
            assert_all_known(&shop, &mut Symbolizer::new(), "work", "work");
        }
    }
}

#[test]
fn a_symbolizer_goes_where_it_is_needed() {
    fn assert_send<T: Send>(_: &T) {}
    assert_send(&Symbolizer::new());
}
