//! The ways in which every program is built and run.

use racehound_detect::Which;

/// What is behind a program's instrumentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Runtime {
    /// Nothing, for there is no instrumentation.
    Absent,
    /// Functions that do nothing.
    Empty,
    Racehound,
    ClangTsan,
    GccTsan,
}

/// A runtime and what it is told to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Native,
    Empty,
    /// Racehound, without a detector.
    Off,
    Detector(Which),
    /// FastTrack, and a trace is written.
    Record,
    ClangTsan,
    GccTsan,
}

impl Way {
    pub(super) const FASTTRACK: Self = Self::Detector(Which::FastTrack);
    pub(super) const ACCULOCK: Self = Self::Detector(Which::AccuLock);

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Empty => "empty",
            Self::Off => "none",
            Self::Detector(which) => which.name(),
            Self::Record => "record",
            Self::ClangTsan => "clang TSan",
            Self::GccTsan => "gcc TSan",
        }
    }

    pub(super) fn runtime(self) -> Runtime {
        match self {
            Self::Native => Runtime::Absent,
            Self::Empty => Runtime::Empty,
            Self::Off | Self::Detector(_) | Self::Record => Runtime::Racehound,
            Self::ClangTsan => Runtime::ClangTsan,
            Self::GccTsan => Runtime::GccTsan,
        }
    }

    /// Whether somebody else's product is measured: no fault of ours if it fails.
    pub(super) fn is_peer(self) -> bool {
        matches!(self, Self::ClangTsan | Self::GccTsan)
    }

    /// The detector that Racehound is told to use.
    pub(super) fn detector(self) -> Option<&'static str> {
        match self {
            Self::Off => Some("none"),
            Self::Detector(which) => Some(which.name()),
            Self::Record => Some(Which::FastTrack.name()),
            _ => None,
        }
    }
}
