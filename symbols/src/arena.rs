//! Bytes that stay where they are for as long as a module is known.
//!
//! What is parsed borrows from the files it was parsed from, and parsing one
//! file makes others needed. So the arena grows through a shared reference, and
//! nothing in it moves or goes away before the arena does.

use std::path::Path;
use std::sync::OnceLock;

use crate::mapping::{self, Mapping};

/// An append-only list of byte strings.
#[derive(Default)]
pub(crate) struct Arena {
    first: Link,
}

type Link = OnceLock<Box<Node>>;

struct Node {
    bytes: Bytes,
    next: Link,
}

pub(crate) enum Bytes {
    Mapped(Mapping),
    Owned(Vec<u8>),
}

impl Bytes {
    pub(crate) fn as_slice(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Owned(bytes) => bytes,
        }
    }
}

impl Arena {
    /// Maps the file at `path` and keeps it.
    pub(crate) fn map(&self, path: &Path) -> Option<&[u8]> {
        Some(self.keep(Bytes::Mapped(mapping::map(path)?)))
    }

    /// Keeps `bytes`.
    pub(crate) fn keep(&self, bytes: Bytes) -> &[u8] {
        let next = Link::new();
        let mut node = Box::new(Node { bytes, next });
        let mut link = &self.first;
        loop {
            match link.set(node) {
                Ok(()) => break,
                Err(refused) => node = refused,
            }
            // A link that refuses a node has one.
            match link.get() {
                Some(taken) => link = &taken.next,
                None => return &[],
            }
        }
        link.get().map_or(&[], |kept| kept.bytes.as_slice())
    }
}

impl Drop for Arena {
    /// Unlinks node by node: the list may be longer than the stack is deep.
    fn drop(&mut self) {
        let mut next = self.first.take();
        while let Some(mut node) = next {
            next = node.next.take();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_stays() {
        let arena = Arena::default();
        let kept: Vec<&[u8]> = (0..100)
            .map(|i| arena.keep(Bytes::Owned(vec![i; 3])))
            .collect();
        for (i, bytes) in kept.into_iter().enumerate() {
            assert_eq!(bytes, [i as u8; 3]);
        }
    }

    #[test]
    fn a_file_that_cannot_be_mapped_is_no_file() {
        let arena = Arena::default();
        assert!(arena.map(Path::new("/nowhere/at all")).is_none());
        assert!(arena.map(Path::new("/")).is_none());
        assert!(arena.map(Path::new("/dev/zero")).is_none());
    }
}
