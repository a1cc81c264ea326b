//! What Racehound tells people and programs.
//!
//! [`finding`] is the contract: the findings as `--json` writes them. [`text`]
//! shows the same findings on a terminal in short, [`story`] with their sources, [`table`] lines up columns. [`journal`]
//! is what programs under test note meanwhile.
//!
//! ```
//! use racehound_report::finding::{Report, VERSION};
//!
//! let report = Report {
//!     program: vec!["./bank".into()],
//!     ..Report::default()
//! };
//! let json = serde_json::to_value(&report)?;
//! assert_eq!(json["version"], VERSION);
//! assert_eq!(json["findings"], serde_json::json!([]));
//! # Ok::<(), serde_json::Error>(())
//! ```

pub mod finding;
pub mod journal;
pub mod story;
pub mod table;
pub mod text;
