//! What goes on around executions: from the command line to those who execute, and to
//! the report, from which a replay has it.

use std::path::PathBuf;

use racehound_hunt::surroundings::{Client, Ready, Surroundings, Troubles};
use racehound_report::finding;

use crate::args::Around;

/// As the command line says.
pub(crate) fn of(args: &Around) -> Surroundings {
    let client = args.client.as_ref().map(|command| Client {
        command: command.into(),
        ready: ready(args.ready.as_deref()),
    });
    Surroundings {
        setup: args.setup.as_ref().map(Into::into),
        teardown: args.teardown.as_ref().map(Into::into),
        client,
        troubles: Troubles::default(),
    }
}

fn ready(said: Option<&str>) -> Ready {
    match said {
        Some(words) => Ready::Said(words.to_owned()),
        None => Ready::Listening,
    }
}

/// As the report has it; nothing if there is nothing around.
pub(crate) fn told(args: &Around, input: Option<&PathBuf>) -> Option<finding::Surroundings> {
    let told = finding::Surroundings {
        stdin: input.map(|file| file.display().to_string()),
        setup: args.setup.clone(),
        teardown: args.teardown.clone(),
        client: args.client.clone(),
        ready: args.ready.clone(),
    };
    (told != finding::Surroundings::default()).then_some(told)
}

/// As the report had it.
pub(crate) fn retold(told: &finding::Surroundings) -> Surroundings {
    of(&Around {
        setup: told.setup.clone(),
        teardown: told.teardown.clone(),
        client: told.client.clone(),
        ready: told.ready.clone(),
    })
}
