//! Scheduling strategies of Racehound.
