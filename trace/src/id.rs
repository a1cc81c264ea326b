//! Small ids. Each is an index into the table of the same name in
//! [`Tables`](crate::Tables), and means nothing outside its trace.

use std::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            /// The id as an index into its table.
            #[inline]
            pub fn index(self) -> usize {
                self.0 as usize
            }

            /// The id of the entry at `index`; tables are capped far below
            /// `u32::MAX` entries by the memory they would take.
            pub fn from_index(index: usize) -> Self {
                Self(u32::try_from(index).expect("tables hold fewer than 2^32 entries"))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }
    };
}

id! {
    /// A thread of the program.
    ThreadId, "t"
}
id! {
    /// A place in the program: one instruction, bytecode or statement.
    SiteId, "s"
}
id! {
    /// A synchronisation object: mutex, rwlock, monitor, condition variable,
    /// semaphore or barrier. One id space, because on the JVM one object is
    /// lock and condition at once.
    SyncId, "m"
}
id! {
    /// A function or method.
    FunctionId, "f"
}
id! {
    /// A string in the name table.
    NameId, "n"
}

/// A location in memory: an address, or an index into the variable table.
/// [`Space`](crate::Space) says which of the two a trace uses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Loc(pub u64);

impl fmt::Debug for Loc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "x{:x}", self.0)
    }
}
