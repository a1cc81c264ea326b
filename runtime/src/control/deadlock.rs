//! Nobody can go on, and nothing outside can help: a deadlock.

use super::roster;
use super::roster::{Standing, Want};
use crate::{finish, output};

/// Says who waits for what, and ends the process: it would hang for ever.
pub(super) fn report() -> ! {
    let text = describe();
    output::write(&text);
    finish::die();
}

fn describe() -> String {
    let roster = roster();
    let mut text = String::from("racehound: deadlock: no thread can go on\n");
    for (number, member) in roster.members.iter().enumerate() {
        let Some(member) = member else { continue };
        if member.standing == Standing::Ended {
            continue;
        }
        let what = match member.want {
            Want::Lock { address, .. } => {
                let owner = roster.holders(address).and_then(|holders| holders.owner);
                match owner {
                    Some(owner) => format!("a lock ({address:#x}) that T{owner} holds"),
                    None => format!("a lock ({address:#x})"),
                }
            }
            Want::Notice { condition, .. } => format!("a condition ({condition:#x})"),
            Want::Semaphore(address) => format!("a semaphore ({address:#x})"),
            Want::End(other) => format!("the end of T{other}"),
            Want::Wake { futex, .. } => format!("a futex ({futex:#x})"),
            Want::Round { barrier, .. } => format!("a barrier ({barrier:#x})"),
            Want::Once(address) => format!("what is done once ({address:#x})"),
            Want::Nothing | Want::Time | Want::Change { .. } => "its turn".to_owned(),
        };
        text += &format!("  T{number} waits for {what}\n");
    }
    text
}
