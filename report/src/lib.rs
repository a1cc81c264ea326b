//! Findings of Racehound and how they are shown.
