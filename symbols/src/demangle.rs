//! Names as the programmer wrote them.
//!
//! The scheme is known by the name itself, so one function serves the debug
//! information of every language and the symbol tables, which have no language.

use std::fmt::{self, Write};

use cpp_demangle::{DemangleOptions, ParseOptions};

/// A short mangled name can stand for an endless one, since its parts may refer
/// to each other. Nobody reads a name longer than this.
const LONGEST: usize = 1 << 16;

/// Deep enough for any name that a person or a template library makes up, and
/// shallow enough for the small stack of a thread under test.
const DEEPEST: u32 = 96;

/// The name that a C++ or Rust compiler mangled, or `name` itself if none did.
///
/// C++ functions come with their parameters and without their return type, Rust
/// functions without the hash.
pub fn demangle(name: &str) -> String {
    let demangled = match () {
        () if is_rust(name) => rust(name),
        () if name.starts_with("_Z") || name.starts_with("_GLOBAL_") => cpp(name),
        () => None,
    };
    demangled.unwrap_or_else(|| name.to_owned())
}

/// Whether the name was mangled by a compiler.
pub(crate) fn is_mangled(name: &str) -> bool {
    name.starts_with("_Z") || is_rust(name)
}

/// Whether the name is a Rust one: by the prefix in the current scheme, and in
/// the old one, which borrows C++'s, by the hash at its end.
fn is_rust(name: &str) -> bool {
    const HASH: usize = 16;
    if name.starts_with("_R") {
        return true;
    }
    let path = name
        .split('.')
        .next()
        .and_then(|path| path.strip_suffix('E'));
    let Some((path, hash)) =
        path.and_then(|path| path.split_at_checked(path.len().checked_sub(HASH)?))
    else {
        return false;
    };
    path.starts_with("_ZN") && path.ends_with("17h") && hash.bytes().all(|b| b.is_ascii_hexdigit())
}

fn rust(name: &str) -> Option<String> {
    let name = rustc_demangle::try_demangle(name).ok()?;
    let mut out = Limited::default();
    write!(out, "{name:#}").ok()?;
    Some(out.0)
}

fn cpp(name: &str) -> Option<String> {
    let parse = ParseOptions::default().recursion_limit(DEEPEST);
    let Ok(symbol) = cpp_demangle::Symbol::new_with_options(name, &parse) else {
        return cpp_path(name);
    };
    let print = DemangleOptions::new()
        .no_return_type()
        .recursion_limit(DEEPEST);
    let mut out = Limited::default();
    symbol.structured_demangle(&mut out, &print).ok()?;
    Some(without_empty_packs(out.0))
}

/// The function's name alone, for those of the standard library whose types
/// use expressions that the demangler cannot read: `std::swap`.
fn cpp_path(name: &str) -> Option<String> {
    let name = name.strip_prefix("_ZSt")?;
    let digits = name.bytes().take_while(u8::is_ascii_digit).count();
    let (length, rest) = name.split_at(digits);
    let (identifier, arguments) = rest.split_at_checked(length.parse().ok()?)?;
    arguments
        .starts_with('I')
        .then(|| format!("std::{identifier}"))
}

/// Removes what the demangler leaves of empty parameter packs: separators and
/// references around nothing.
fn without_empty_packs(mut name: String) -> String {
    for (remains, meant) in [
        (", &&", ""),
        ("(&&", "("),
        (", >", ">"),
        ("(, ", "("),
        ("<, ", "<"),
    ] {
        // Each removal may bring two others together.
        while name.contains(remains) {
            name = name.replace(remains, meant);
        }
    }
    name
}

/// Text that refuses to grow beyond [`LONGEST`].
#[derive(Default)]
struct Limited(String);

impl Write for Limited {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.0.len() + text.len() > LONGEST {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpp_has_parameters_and_no_return_type() {
        assert_eq!(demangle("_ZN2ns5Class6methodEi"), "ns::Class::method(int)");
        assert_eq!(demangle("_ZNK2ns5Class4sizeEv"), "ns::Class::size() const");
        assert_eq!(demangle("_Z3maxIiET_S0_S0_"), "max<int>(int, int)");
        assert_eq!(
            demangle("_ZN12_GLOBAL__N_15countE"),
            "(anonymous namespace)::count"
        );
        assert_eq!(demangle("_ZZN2ns3runEvE5count"), "ns::run()::count");
    }

    #[test]
    fn what_is_too_hard_to_read_has_a_name_at_least() {
        let swap = "_ZSt4swapIlENSt9enable_ifIXsrSt6__and_IJSt6__not_ISt15__is_tuple_likeIT_EE\
                    St21is_move_constructibleIS4_ESt18is_move_assignableIS4_EEE5valueEvE4typeE\
                    RS4_SE_";
        assert_eq!(demangle(swap), "std::swap");
    }

    #[test]
    fn empty_packs_leave_nothing() {
        assert_eq!(demangle("_Z4makeIiJEEvPT_DpOT0_"), "make<int>(int*)");
        assert_eq!(demangle("_Z4makeIJEEvDpOT_"), "make<>()");
        assert_eq!(demangle("_Z4makeIiJEJEEvv"), "make<int>()");
    }

    #[test]
    fn rust_has_no_hash() {
        assert_eq!(demangle("_ZN4prog4main17h0123456789abcdefE"), "prog::main");
        assert_eq!(
            demangle("_ZN4prog4main17h0123456789abcdefE.llvm.12AB"),
            "prog::main"
        );
        assert_eq!(
            demangle("_RNvCskwGfYPst2Cb_3foo16example_function"),
            "foo::example_function"
        );
    }

    #[test]
    fn other_names_are_themselves() {
        for name in [
            "",
            "main",
            "_start",
            "_Reset",
            "_Z",
            "_ZN",
            "_R",
            "_ZE",
            "17hE",
            "_GLOBAL_x",
            "é_ZN",
        ] {
            assert_eq!(demangle(name), name);
        }
    }

    #[test]
    fn clones_say_so() {
        assert_eq!(demangle("_ZN2ns3runEi.cold"), "ns::run(int) [clone .cold]");
        assert_eq!(
            demangle("_ZN2ns3runEi.part.0"),
            "ns::run(int) [clone .part.0]"
        );
    }

    #[test]
    fn a_name_that_explodes_is_left_alone() {
        let name = format!(
            "_Z1f{}v",
            (0..60).fold("1a".to_owned(), |t, _| format!("St4pairI{t}S_E"))
        );
        demangle(&name);
        demangle(&format!("_Z{}", "N".repeat(100_000)));
        demangle(&format!("_Z1f{}i", "P".repeat(100_000)));
        demangle(&format!("_R{}", "I".repeat(100_000)));
    }
}
