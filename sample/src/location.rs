//! Where histories are.

use std::path::{Component, Path, PathBuf};

/// The directory of histories in a project's store.
pub const DIRECTORY: &str = "pairs";

/// The file of a program's history. It is called by the program's place in the
/// project, so it is the same on other machines, and for all builds.
pub fn file(store: &Path, program: &Path) -> PathBuf {
    let project = store.parent().unwrap_or(store);
    let inside = program.strip_prefix(project).ok();
    let path = inside.or(program.file_name().map(Path::new));
    let parts = path.unwrap_or(program).components();
    let names: Vec<_> = parts
        .filter_map(|part| match part {
            Component::Normal(name) => Some(name.to_string_lossy()),
            _ => None,
        })
        .collect();
    store.join(DIRECTORY).join(names.join("%") + ".pairs")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_told_apart_by_their_place_in_the_project() {
        let file = |program| file(Path::new("/p/.racehound"), Path::new(program));
        let pairs = Path::new("/p/.racehound/pairs");
        assert_eq!(file("/p/build/a/test"), pairs.join("build%a%test.pairs"));
        assert_eq!(file("/p/build/b/test"), pairs.join("build%b%test.pairs"));
        assert_eq!(file("/usr/bin/server"), pairs.join("server.pairs"));
        assert_eq!(file("/p/test.sh"), pairs.join("test.sh.pairs"));
    }
}
