//! The detectors by name.

use std::fmt;
use std::str::FromStr;

use crate::detector::Detector;
use crate::{acculock, djit, eraser, fasttrack, hybrid, lockset_only, multirace, racetrack};

/// Calls `$visitor.visit::<D>()` with the type behind a [`Which`]: the one
/// place that maps names to types.
macro_rules! which {
    ($($variant:ident, $name:literal, $title:literal, $type:ty;)*) => {
        /// A detector, by name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[allow(missing_docs)]
        pub enum Which { $($variant,)* }

        impl Which {
            /// Every detector, in the order of acculock.txt Table I.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Its name on the command line and in findings.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// Its name as its authors write it.
            pub fn title(self) -> &'static str {
                match self { $(Self::$variant => $title,)* }
            }

            /// Whether its warnings are observed facts of the execution.
            pub fn is_precise(self) -> bool {
                match self { $(Self::$variant => <$type>::PRECISE,)* }
            }

            /// Calls the visitor with the detector's type.
            pub(crate) fn visit<V: Visitor>(self, visitor: V) -> V::Output {
                match self { $(Self::$variant => visitor.visit::<$type>(),)* }
            }
        }
    };
}

which! {
    LockSet, "lockset", "LockSet", lockset_only::LockSet;
    Eraser, "eraser", "Eraser", eraser::Eraser;
    RaceTrack, "racetrack", "RaceTrack", racetrack::RaceTrack;
    Hybrid, "hybrid", "Hybrid", hybrid::Hybrid;
    Djit, "djit", "Djit+", djit::Djit;
    MultiRace, "multirace", "MultiRace", multirace::MultiRace;
    FastTrack, "fasttrack", "FastTrack", fasttrack::FastTrack;
    AccuLock, "acculock", "AccuLock", acculock::AccuLock;
}

/// Something to do with a detector's type.
pub(crate) trait Visitor {
    type Output;
    fn visit<D: Detector>(self) -> Self::Output;
}

impl fmt::Display for Which {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Which {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let known = Self::ALL.iter().find(|which| which.name() == name);
        known.copied().ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|which| which.name()).collect();
            format!(
                "no detector is called {name:?}; there are {}",
                names.join(", ")
            )
        })
    }
}
