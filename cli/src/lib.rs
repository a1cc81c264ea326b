//! The parts of the command that its one-word companions `racehound-cc` and
//! `racehound-c++` share with it.

pub mod aside;
pub mod driver;
pub mod plus_plus;
pub mod runtime;
pub mod search_path;
