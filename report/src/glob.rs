//! Patterns as ThreadSanitizer's suppression files have them.

/// Whether a pattern with `*`, `^` at its beginning and `$` at its end matches
/// somewhere in a text.
pub fn glob(pattern: &str, text: &str) -> bool {
    if text.is_empty() {
        return false;
    }
    let (pattern, from_start) = match pattern.strip_prefix('^') {
        Some(rest) => (rest, true),
        None => (pattern, false),
    };
    let (pattern, to_end) = match pattern.strip_suffix('$') {
        Some(rest) => (rest, true),
        None => (pattern, false),
    };
    let mut rest = text;
    let parts: Vec<&str> = pattern.split('*').collect();
    for (i, part) in parts.iter().enumerate() {
        if part.is_empty() {
            continue;
        }
        let last = i + 1 == parts.len();
        if i == 0 && from_start {
            match rest.strip_prefix(part) {
                Some(after) => rest = after,
                None => return false,
            }
            if last && to_end {
                return rest.is_empty();
            }
        } else if last && to_end {
            return rest.ends_with(part);
        } else {
            match rest.find(part) {
                Some(at) => rest = &rest[at + part.len()..],
                None => return false,
            }
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::glob;

    #[test]
    fn patterns_match_like_tsans() {
        assert!(glob("foo", "a_foo_b"));
        assert!(!glob("^foo", "a_foo_b"));
        assert!(glob("^foo", "foobar"));
        assert!(glob("bar$", "foobar"));
        assert!(!glob("foo$", "foobar"));
        assert!(glob("f*r", "foobar"));
        assert!(glob("^f*r$", "foobar"));
        assert!(!glob("^f*x", "foobar"));
        assert!(glob("*", "anything"));
        assert!(!glob("foo", ""));
    }
}
