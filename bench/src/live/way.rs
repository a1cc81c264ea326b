//! The ways in which every program is built and run.

use std::str::FromStr;

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
    /// Racehound, which collects may-trigger relations and nothing else.
    Collect,
    Detector(Which),
    /// FastTrack, and a trace is written.
    Record,
    /// A trace is written, without a detector.
    RecordOnly,
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
            Self::Collect => "collect",
            Self::Detector(which) => which.name(),
            Self::Record => "record",
            Self::RecordOnly => "record-only",
            Self::ClangTsan => "clang-tsan",
            Self::GccTsan => "gcc-tsan",
        }
    }

    pub(super) fn runtime(self) -> Runtime {
        match self {
            Self::Native => Runtime::Absent,
            Self::Empty => Runtime::Empty,
            Self::Off | Self::Collect | Self::Detector(_) => Runtime::Racehound,
            Self::Record | Self::RecordOnly => Runtime::Racehound,
            Self::ClangTsan => Runtime::ClangTsan,
            Self::GccTsan => Runtime::GccTsan,
        }
    }

    /// All there are, in the order of the tables.
    pub(super) fn all() -> Vec<Self> {
        let fast = [Which::FastTrack, Which::AccuLock];
        let slow = Which::ALL.iter().filter(|which| !fast.contains(which));
        let detectors = fast.iter().chain(slow).copied().map(Self::Detector);
        let before = [Self::Native, Self::Empty, Self::Off, Self::Collect];
        let recording = [Self::Record, Self::RecordOnly];
        let peers = [Self::ClangTsan, Self::GccTsan];
        let after = recording.into_iter().chain(peers);
        before.into_iter().chain(detectors).chain(after).collect()
    }

    /// Whether it is measured unless asked not to be.
    pub(super) fn is_usual(self) -> bool {
        match self {
            Self::Detector(_) => [Self::FASTTRACK, Self::ACCULOCK].contains(&self),
            _ => true,
        }
    }

    /// Whether a trace is written.
    pub(super) fn is_recorded(self) -> bool {
        matches!(self, Self::Record | Self::RecordOnly)
    }

    /// Whether somebody else's product is measured: no fault of ours if it fails.
    pub(super) fn is_peer(self) -> bool {
        matches!(self, Self::ClangTsan | Self::GccTsan)
    }

    /// What Racehound is told to do.
    pub(super) fn options(self) -> Option<String> {
        Some(match self {
            Self::Off | Self::RecordOnly => "detector=none".to_owned(),
            Self::Collect => "detector=none:schedule=collect".to_owned(),
            Self::Detector(which) if which.is_precise() => format!("detector={which}"),
            // Their false alarms are not what is measured.
            Self::Detector(which) => format!("detector={which}:report_bugs=0"),
            Self::Record => format!("detector={}", Which::FastTrack),
            _ => return None,
        })
    }
}

impl FromStr for Way {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let all = Self::all();
        let known = all.iter().find(|way| way.name() == name);
        known.copied().ok_or_else(|| {
            let names: Vec<_> = all.iter().map(|way| way.name()).collect();
            format!("there is no such way; there are {}", names.join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_has_a_name_of_its_own() {
        for way in Way::all() {
            assert_eq!(way.name().parse(), Ok(way));
        }
        assert!("nothing".parse::<Way>().unwrap_err().contains("empty"));
    }

    #[test]
    fn only_detectors_that_guess_are_silenced() {
        let silenced = |way: Way| way.options().is_some_and(|o| o.contains("report_bugs=0"));
        assert!(!silenced(Way::FASTTRACK));
        assert!(silenced(Way::ACCULOCK));
    }
}
