//! What the processes of a program under test note in a file, a line of JSON each:
//! findings as they are found, and how a scheduled execution went when it ends.
//!
//! A process can die at any moment, so a line may be cut off. The next one begins
//! on a line of its own; empty lines mean nothing.

use serde::{Deserialize, Serialize};

use crate::finding::Finding;

/// One line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Note {
    /// A process that was scheduled has ended.
    Scheduled {
        /// How it went.
        scheduled: Scheduled,
    },
    /// Something was found.
    Finding(Box<Finding>),
}

/// How a scheduled execution went.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scheduled {
    /// The process.
    pub process: u32,
    /// The plan it followed.
    pub plan: String,
    /// How many scheduling points there were.
    pub steps: u64,
    /// What identifies the sequence of events.
    pub hash: String,
    /// Places of the plan where no access was made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unvisited: Vec<String>,
    /// Where the execution left the schedule that it should have followed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub divergence: Option<String>,
    /// What became of the anomaly that it was to make happen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fate: Option<String>,
    /// Why the plan alone may not repeat the execution.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<String>,
}

/// The fate of an anomaly that happened.
pub const CONFIRMED: &str = "confirmed";

impl Note {
    /// The notes of a file, and how many lines make no sense.
    pub fn read_all(text: &[u8]) -> (Vec<Self>, usize) {
        let lines = text.split(|&byte| byte == b'\n');
        let (mut notes, mut damaged) = (Vec::new(), 0);
        for line in lines.filter(|line| !line.is_empty()) {
            match serde_json::from_slice(line) {
                Ok(note) => notes.push(note),
                Err(_) => damaged += 1,
            }
        }
        (notes, damaged)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(note: &Note) -> String {
        format!("\n{}\n", serde_json::to_string(note).unwrap())
    }

    #[test]
    fn a_line_that_was_cut_off_costs_only_itself() {
        let finding = |id: &str| {
            Note::Finding(Box::new(Finding {
                id: id.into(),
                ..Finding::default()
            }))
        };
        let scheduled = Note::Scheduled {
            scheduled: Scheduled {
                steps: 7,
                ..Scheduled::default()
            },
        };
        let text = [
            line(&finding("R1")),
            "\n{\"id\":\"\",\"kind\":\"ra".to_owned(),
            line(&finding("R2")),
            line(&scheduled),
        ];
        let (notes, damaged) = Note::read_all(text.concat().as_bytes());
        assert_eq!(notes, [finding("R1"), finding("R2"), scheduled]);
        assert_eq!(damaged, 1);
    }
}
