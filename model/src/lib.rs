//! Model programs and the exhaustive explorer of Racehound.
