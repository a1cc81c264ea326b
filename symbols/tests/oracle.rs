//! The same answers as `addr2line` of the GNU binutils, which shares no code
//! with this crate, over the whole code of a program.

mod support;

use racehound_symbols::{Frame, Symbolizer};
use support::{WORDS, Workshop, stack};

type Stack = Vec<(String, String, u32)>;

/// What `addr2line` says about each address.
fn oracle(shop: &Workshop, module: &str, addresses: &[u64]) -> Vec<Stack> {
    let addresses: Vec<String> = addresses
        .iter()
        .map(|address| format!("{address:#x}"))
        .collect();
    shop.write("addresses", &addresses.join("\n"));
    let answers = shop.run(&format!("addr2line -Cfia -e {module} @addresses"));
    let mut stacks: Vec<Stack> = Vec::new();
    let mut lines = answers.lines();
    while let Some(line) = lines.next() {
        if line.starts_with("0x") {
            stacks.push(Stack::new());
            continue;
        }
        let place = lines
            .next()
            .unwrap()
            .split(" (discriminator")
            .next()
            .unwrap();
        let (file, number) = place.rsplit_once(':').unwrap();
        let known = |text: &str| text.replace("??", "");
        let frame = (known(line), known(file), number.parse().unwrap_or(0));
        stacks.last_mut().unwrap().push(frame);
    }
    stacks
}

/// The code addresses of the module's own functions, `step` bytes apart.
fn sample(shop: &Workshop, module: &str, step: usize) -> Vec<u64> {
    let symbols = shop.symbols(module).into_iter();
    let functions = symbols.filter(|(_, kind, _)| "tTW".contains(*kind));
    functions
        .flat_map(|(_, _, addresses)| addresses.step_by(step))
        .collect()
}

/// What this crate says about each address.
fn answers(shop: &Workshop, module: &str, addresses: &[u64]) -> Vec<Vec<Frame>> {
    let mut symbolizer = Symbolizer::new();
    let module = shop.path(module);
    addresses
        .iter()
        .map(|address| {
            let frames = symbolizer.frames(&module, *address);
            let place = |frame: &Frame| (frame.file.clone(), frame.line, frame.column);
            let innermost = frames.first().map(place).unwrap_or_default();
            let line = symbolizer.line(&module, *address);
            let line = line.as_ref().map(place).unwrap_or_default();
            assert_eq!(line, innermost, "at {address:#x}");
            frames
        })
        .collect()
}

/// Asserts that the oracle agrees, and returns the answers.
fn assert_agreed(shop: &Workshop, module: &str, addresses: &[u64]) -> Vec<Vec<Frame>> {
    let answers = answers(shop, module, addresses);
    let expected = oracle(shop, module, addresses);
    assert_eq!(expected.len(), addresses.len());
    for ((address, found), expected) in addresses.iter().zip(&answers).zip(&expected) {
        let comparable = |stack: &Stack| -> Stack {
            let frames = stack.iter().cloned();
            frames
                .map(|(function, file, line)| (plain(&function), file, line))
                .collect()
        };
        assert_eq!(
            comparable(&stack(found)),
            comparable(expected),
            "at {address:#x}"
        );
    }
    answers
}

/// A name without what demanglers write differently: return type, template
/// arguments and parameters.
fn plain(name: &str) -> String {
    let mut name = name.replace(" const", "");
    let not_brackets = [
        ("(anonymous namespace)", "anonymous"),
        ("operator()", "operator_call"),
        ("operator<", "operator_less"),
        ("operator->", "operator_arrow"),
        ("operator>", "operator_greater"),
    ];
    for (text, word) in not_brackets {
        name = name.replace(text, word);
    }
    let mut depth = 0;
    let mut plain = String::new();
    for c in name.chars() {
        match c {
            '<' | '(' | '{' => depth += 1,
            '>' | ')' | '}' => depth -= 1,
            _ if depth == 0 => plain.push(c),
            _ => {}
        }
    }
    plain.split(' ').next_back().unwrap_or_default().to_owned()
}

#[test]
fn c() {
    for options in ["-g", "-g -O2"] {
        let shop = Workshop::with_work(options);
        let addresses = sample(&shop, "work", 1);
        let answers = assert_agreed(&shop, "work", &addresses);
        let (module, mut symbolizer) = (shop.path("work"), Symbolizer::new());
        for (address, frames) in addresses.iter().zip(answers) {
            let outermost = frames.last().and_then(|frame| frame.function.clone());
            if let (Some(function), Some(outermost)) =
                (symbolizer.function(&module, *address), outermost)
            {
                // The compiler may have made a variant of it.
                assert_eq!(function.split('.').next(), Some(outermost.as_str()));
            }
        }
    }
}

#[test]
fn cpp_with_the_standard_library() {
    let shop = Workshop::new();
    shop.write("words.cpp", WORDS);
    // The oracle confuses files of version 5. So it judges version 4, which
    // then judges version 5: the code is the same.
    for version in ["4", "5"] {
        let options = format!("-g -O2 -gdwarf-{version}");
        if !shop.try_run(&format!("c++ {options} words.cpp -o words{version}")) {
            return;
        }
    }
    let addresses = sample(&shop, "words4", 7);
    assert!(addresses.len() > 1_000);
    let answers4 = assert_agreed(&shop, "words4", &addresses);
    let answers5 = answers(&shop, "words5", &addresses);
    assert!(answers4 == answers5);
    assert!(answers4.iter().any(|frames| frames.len() > 5));
}
