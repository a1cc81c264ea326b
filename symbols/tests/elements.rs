//! What the source calls a part of a variable. The compiler knows: programs print it.

mod support;

use racehound_symbols::Symbolizer;
use support::Workshop;

const ELEMENTS: &str = include_str!("programs/elements.cpp");

/// What the program prints: variables, offsets, and the parts there.
fn parts(printed: &str) -> impl Iterator<Item = (&str, u64, &str)> {
    printed.lines().map(|line| {
        let mut words = line.splitn(3, ' ');
        let mut word = || words.next().unwrap();
        (word(), word().parse().unwrap(), word())
    })
}

#[test]
fn parts_have_the_names_of_the_source() {
    let builds = [
        "c++ -g",
        "c++ -g -O2",
        "c++ -g -gdwarf-4",
        "c++ -g -gz",
        "c++ -g -flto",
        "clang++ -g",
        "clang++-19 -g",
    ];
    for build in builds {
        let shop = Workshop::new();
        shop.write("elements.cpp", ELEMENTS);
        if !shop.try_run(&format!("{build} elements.cpp -o elements")) {
            continue;
        }
        let printed = shop.run("./elements");
        assert!(parts(&printed).count() > 15);
        let symbolizer = &mut Symbolizer::new();
        let program = shop.path("elements");
        for (variable, offset, part) in parts(&printed) {
            let element = symbolizer.element(&program, variable, offset);
            let path = element.map(|element| element.path);
            assert_eq!(path.as_deref(), Some(part), "{build}: {variable}+{offset}");
        }
        // Half a number has no name, and what is behind the end or unknown has none either.
        for (variable, offset) in [("plain", 2), ("plain", 8), ("nobody", 0)] {
            assert_eq!(symbolizer.element(&program, variable, offset), None);
        }
        let whole = symbolizer.element(&program, "plain", 0).unwrap();
        assert_eq!((whole.path.as_str(), whole.size), ("", 4));
    }
}

#[test]
fn without_debug_information_nothing_is_known() {
    let shop = Workshop::new();
    shop.write("elements.cpp", ELEMENTS);
    shop.run("c++ elements.cpp -o elements");
    let element = Symbolizer::new().element(&shop.path("elements"), "forks", 40);
    assert_eq!(element, None);
}

#[test]
fn namesakes_are_told_apart_or_not_at_all() {
    let shop = Workshop::new();
    let main = "static struct { int a, b; char c; } it;\nstatic int other[4];\n\
                extern int more(void);\n\
                int main(void) { it.c = 1; other[2] = 3; return it.b + other[1] + more(); }\n";
    let more = "static struct { int a, x; char c; } it;\nstatic int other[4];\n\
                int more(void) { it.c = 2; other[1] = 4; return it.x + other[2]; }\n";
    shop.write("main.c", main);
    shop.write("more.c", more);
    shop.run("cc -g main.c more.c -o program");
    let symbolizer = &mut Symbolizer::new();
    let mut path = |variable, offset| {
        let element = symbolizer.element(&shop.path("program"), variable, offset);
        element.map(|element| element.path)
    };
    assert_eq!(path("it", 0).as_deref(), Some(".a"));
    assert_eq!(path("it", 4), None);
    assert_eq!(path("it", 8).as_deref(), Some(".c"));
    assert_eq!(path("other", 8).as_deref(), Some("[2]"));
}

#[test]
fn what_rusts_library_keeps_to_itself_is_left_to_it() {
    let shop = Workshop::new();
    shop.write(
        "tally.rs",
        "use std::sync::Mutex;\nuse std::sync::atomic::{AtomicU32, Ordering};\n\
         pub struct Till { pub open: AtomicU32, pub sum: Mutex<u64> }\n\
         const NEW: Till = Till { open: AtomicU32::new(0), sum: Mutex::new(0) };\n\
         #[unsafe(no_mangle)] pub static TILLS: [Till; 3] = [NEW; 3];\n\
         fn main() {\n\
             let base = &raw const TILLS as usize;\n\
             println!(\"TILLS {} [2].open\", &raw const TILLS[2].open as usize - base);\n\
             println!(\"TILLS {} [1].sum\", &raw const TILLS[1].sum as usize - base);\n\
             println!(\"TILLS {} [1].sum\", &raw const TILLS[1].sum as usize - base + 8);\n\
             *TILLS[1].sum.lock().unwrap() += u64::from(TILLS[2].open.load(Ordering::Relaxed));\n\
         }\n",
    );
    if !shop.try_run("rustc -g tally.rs -o tally") {
        return;
    }
    let printed = shop.run("./tally");
    let symbolizer = &mut Symbolizer::new();
    for (variable, offset, part) in parts(&printed) {
        let element = symbolizer.element(&shop.path("tally"), variable, offset);
        let path = element.map(|element| element.path);
        assert_eq!(path.as_deref(), Some(part), "{variable}+{offset}");
    }
}
