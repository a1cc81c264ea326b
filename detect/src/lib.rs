//! Race detectors of Racehound.
