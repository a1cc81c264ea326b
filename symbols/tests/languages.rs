//! C++ and Rust: names, inlining, and what GCC leaves out.

mod support;

use racehound_symbols::{Symbolizer, Variable};
use support::{SHAPES, TALLY, Workshop, assert_frames, line};

fn shapes(options: &str) -> Option<Workshop> {
    let shop = Workshop::new();
    shop.write("shapes.cpp", SHAPES);
    let built = shop.try_run(&format!("c++ {options} shapes.cpp -o shapes"));
    built.then_some(shop)
}

const FUNCTIONS: [(&str, &str, &str); 6] = [
    (
        "_ZNK8geometry3BoxIlE4areaEl",
        "geometry::Box<long>::area(long) const",
        "area",
    ),
    (
        "_ZN8geometry12_GLOBAL__N_18rememberEi",
        "geometry::(anonymous namespace)::remember(int)",
        "remember",
    ),
    (
        "_ZN8geometry6largerIiEET_S1_S1_",
        "geometry::larger<int>(int, int)",
        "larger",
    ),
    (
        "_ZN8geometry5Shape4drawEi",
        "geometry::Shape::draw(int)",
        "draw",
    ),
    ("_ZL6helperi", "helper(int)", "helper"),
    ("from_c", "from_c", "from_c"),
];

#[test]
fn cpp_functions() {
    for options in ["-g", "-g -O1", "-g -gsplit-dwarf", "-g -gdwarf-4"] {
        let Some(shop) = shapes(options) else {
            return;
        };
        let symbolizer = &mut Symbolizer::new();
        let source = (&*shop.path("shapes.cpp"), SHAPES);
        let all = shop.all_addresses("shapes", FUNCTIONS.map(|(symbol, ..)| symbol));
        for ((_, name, mark), addresses) in FUNCTIONS.into_iter().zip(all) {
            assert_frames(
                symbolizer,
                &shop.path("shapes"),
                addresses,
                source,
                &[(name, mark)],
            );
        }
    }
}

#[test]
fn cpp_functions_without_debug_information() {
    let Some(shop) = shapes("-O1") else {
        return;
    };
    let symbolizer = &mut Symbolizer::new();
    for (symbol, name, _) in FUNCTIONS {
        let address = shop.addresses("shapes", symbol).start;
        let frames = symbolizer.frames(&shop.path("shapes"), address);
        assert_eq!(frames.len(), 1);
        assert_eq!(frames[0].function.as_deref(), Some(name));
    }
}

#[test]
fn cpp_variables() {
    let Some(shop) = shapes("-g") else {
        return;
    };
    let symbolizer = &mut Symbolizer::new();
    let variables = [
        ("_ZN8geometry5drawnE", "geometry::drawn"),
        (
            "_ZN8geometry12_GLOBAL__N_16cachedE",
            "geometry::(anonymous namespace)::cached",
        ),
        (
            "_ZZN8geometry5Shape4drawEiE5calls",
            "geometry::Shape::draw(int)::calls",
        ),
    ];
    for (symbol, name) in variables {
        let addresses = shop.addresses("shapes", symbol);
        let size = addresses.end - addresses.start;
        let expected = Variable {
            name: name.to_owned(),
            start: addresses.start,
            size,
        };
        let found = symbolizer.variable(&shop.path("shapes"), addresses.end - 1);
        assert_eq!(found, Some(expected));
    }
}

#[test]
fn rust() {
    for mangling in ["", "-Csymbol-mangling-version=v0"] {
        let shop = Workshop::new();
        shop.write("tally.rs", TALLY);
        let options = format!("-g -Copt-level=1 {mangling}");
        if !shop.try_run(&format!("rustc {options} tally.rs")) {
            continue;
        }
        let symbols = shop.symbols("tally");
        let addresses_of = |part: &str| {
            let mut found = symbols.iter().filter(|(name, ..)| name.contains(part));
            found.next().unwrap().2.clone()
        };
        let symbolizer = &mut Symbolizer::new();
        let module = shop.path("tally");

        let add = addresses_of("3add");
        let stacks = add.map(|address| symbolizer.frames(&module, address));
        let inlined = |frames: &Vec<_>| frames.len() >= 2;
        let frames = stacks.into_iter().filter(inlined).last().unwrap();
        let [.., bump, add] = &frames[..] else {
            unreachable!();
        };
        assert!(bump.inlined && !add.inlined);
        assert_eq!(bump.function.as_deref(), Some("tally::store::bump"));
        assert_eq!(bump.line, line(TALLY, "bump"));
        let name = add.function.as_deref().unwrap();
        assert!(
            name.contains("tally::store::Tally<") && name.ends_with("::add"),
            "{name}"
        );
        let file = add.file.as_deref().unwrap();
        assert!(file.ends_with("/tally.rs"), "{file}");

        let total = addresses_of("5TOTAL");
        let variable = symbolizer.variable(&module, total.start).unwrap();
        assert_eq!((&*variable.name, variable.size), ("tally::store::TOTAL", 4));
    }
}
