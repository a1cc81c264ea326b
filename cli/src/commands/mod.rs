//! One file for each command.

pub(crate) mod analyze;
pub(crate) mod completions;
pub(crate) mod convert;
pub(crate) mod fuzz;
pub(crate) mod generate;
pub(crate) mod hunt;
pub(crate) mod manual;
pub(crate) mod model;
pub(crate) mod predict;
pub(crate) mod replay;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod stat;
pub(crate) mod store;
pub(crate) mod suppress;
