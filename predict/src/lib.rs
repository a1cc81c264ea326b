//! Access-anomaly patterns of Racehound.
