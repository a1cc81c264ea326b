//! What is said beside the results, on standard error.

use std::fmt::Display;
use std::io::Write;

/// Says it. Where nobody can be told, work goes on.
pub fn say(what: impl Display) {
    let _ = writeln!(anstream::stderr(), "racehound: {what}");
}
