//! What Racehound tells people and programs.
//!
//! [`finding`] is the contract: the findings as `--json` writes them. [`journal`] is what
//! programs under test note meanwhile. With the feature `formats`, which the runtime goes
//! without: `text` shows the findings on a terminal in short, `story` with their sources
//! and the interleaving (`timeline`); `sarif`, `junit`, `github`, `tsan` and `html` are
//! for others. `source` puts lines of source into findings, [`fingerprint`] recognises
//! them in another build, `baseline`, `suppressions` and `tsan_suppressions` say which are not
//! to be heard of. [`table`] lines up columns, [`glob`] matches patterns.
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
pub mod fingerprint;
pub mod glob;
pub mod innocent;
pub mod journal;
pub mod table;

#[cfg(feature = "formats")]
pub mod baseline;
#[cfg(feature = "formats")]
pub mod edition;
#[cfg(feature = "formats")]
pub mod github;
#[cfg(feature = "formats")]
pub mod html;
#[cfg(feature = "formats")]
pub mod junit;
#[cfg(feature = "formats")]
pub mod rules;
#[cfg(feature = "formats")]
pub mod sarif;
#[cfg(feature = "formats")]
pub mod source;
#[cfg(feature = "formats")]
pub mod story;
#[cfg(feature = "formats")]
pub mod suppressions;
#[cfg(feature = "formats")]
pub mod text;
#[cfg(feature = "formats")]
pub mod timeline;
#[cfg(feature = "formats")]
pub mod tsan;
#[cfg(feature = "formats")]
pub mod tsan_suppressions;
