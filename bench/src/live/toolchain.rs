//! Compilers and tools that happen to be installed.

use std::env;

use super::program::Language;

/// A compiler for both languages.
#[derive(Clone, Debug)]
pub(crate) struct Compiler {
    c: String,
    cxx: String,
}

impl Compiler {
    /// The newest clang.
    pub(crate) fn clang() -> Option<Self> {
        let versions = (14..40).rev().map(|version| format!("-{version}"));
        [String::new()]
            .into_iter()
            .chain(versions)
            .find_map(|version| Self::of(format!("clang{version}"), format!("clang++{version}")))
    }

    pub(crate) fn gcc() -> Option<Self> {
        Self::of("gcc".to_owned(), "g++".to_owned())
    }

    fn of(c: String, cxx: String) -> Option<Self> {
        (is_installed(&c) && is_installed(&cxx)).then_some(Self { c, cxx })
    }

    pub(crate) fn name(&self, language: Language) -> &str {
        match language {
            Language::C => &self.c,
            Language::Cxx => &self.cxx,
        }
    }
}

/// Whether a program is on the PATH.
pub(super) fn is_installed(name: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|directory| directory.join(name).is_file())
}
