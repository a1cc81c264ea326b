//! A server and its client: the server is started, the client when it is ready; when
//! the client has ended the server is asked to end, and made to if it does not.
//!
//! What counts is the worst of it, in this order: the server came to grief while it
//! served; neither came to an end; the client was not content; the server came to grief
//! when it was asked to end, or did not end.

use std::io;
use std::time::{Duration, Instant};

use crate::execution::Ending;
use crate::listening::listens;
use crate::process::{Patience, Process, Remains, watch};
use crate::surroundings::{Client, Ready, SERVER, shell};

/// How long a server may take to end when it is asked to.
const GRACE: Duration = Duration::from_secs(5);
/// How long the client of a server that has ended may take to notice.
const NOTICING: Duration = Duration::from_secs(2);
/// How often it is looked whether a server listens.
const NAP: Duration = Duration::from_millis(5);

/// Has the client drive the server.
pub(crate) fn serve(
    mut server: Process,
    client: &Client,
    job: usize,
    patience: &Patience<'_>,
) -> io::Result<(Ending, Remains)> {
    let is_ready = |server: &Process| match &client.ready {
        Ready::Listening => listens(server.id()),
        Ready::Said(words) => server.has_said(words),
    };
    let waiting = Patience {
        nap: NAP,
        ..*patience
    };
    let started = watch([&mut server], &waiting, |[server]| {
        server.has_ended() || is_ready(server)
    })?;
    if !started {
        return Ok((Ending::Unready, server.end()?));
    }
    if server.has_ended() {
        return ended(server);
    }
    let mut command = shell(&client.command, job);
    command.env(SERVER, server.id().to_string());
    let mut driver = Process::start(&mut command)?;
    let in_time = watch([&mut server, &mut driver], patience, |[server, driver]| {
        server.has_ended() || driver.has_ended()
    })?;
    let left_alone = server.has_ended();
    if left_alone && !driver.has_ended() {
        let noticing = until(patience, NOTICING);
        watch([&mut driver], &noticing, |[driver]| driver.has_ended())?;
    }
    let is_served = driver.has_ended();
    let driver = driver.end()?;
    if left_alone {
        let (ending, mut remains) = ended(server)?;
        let ending = match ending {
            Ending::Code(0) => outcome(&driver, is_served),
            ending => ending,
        };
        append(&mut remains, &driver);
        return Ok((ending, remains));
    }
    server.ask_to_end();
    let grace = until(patience, GRACE);
    let obeyed = watch([&mut server], &grace, |[server]| server.has_ended())?;
    let mut remains = server.end()?;
    let last = match Ending::of(remains.status) {
        _ if !obeyed => Ending::Stubborn,
        Ending::Signal(libc::SIGTERM) => Ending::Code(0),
        ending => ending,
    };
    let ending = match outcome(&driver, in_time) {
        Ending::Code(0) => last,
        ending => ending,
    };
    append(&mut remains, &driver);
    Ok((ending, remains))
}

fn until<'a>(patience: &Patience<'a>, more: Duration) -> Patience<'a> {
    Patience {
        until: Instant::now() + more,
        ..*patience
    }
}

fn ended(server: Process) -> io::Result<(Ending, Remains)> {
    let remains = server.end()?;
    Ok((Ending::of(remains.status), remains))
}

/// What the client has to say; 0 if it is content.
fn outcome(client: &Remains, in_time: bool) -> Ending {
    match Ending::of(client.status) {
        _ if !in_time => Ending::Limit,
        Ending::Code(0) => Ending::Code(0),
        Ending::Code(code) => Ending::Client(code),
        // As shells count it.
        Ending::Signal(signal) => Ending::Client(128 + signal as u8),
        ending => ending,
    }
}

/// What the client printed comes after what the server did.
fn append(server: &mut Remains, client: &Remains) {
    server.output.append(&client.output);
    server.complaints.append(&client.complaints);
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::process::LONGEST_NAP;
    use crate::program::out_of_the_way;

    /// A server that says when it is ready, and its client.
    fn served(server: &str, client: &str, limit: Duration) -> (Ending, Remains) {
        let mut command = Command::new("sh");
        command.args(["-c", server]);
        out_of_the_way(&mut command);
        let client = Client {
            command: client.into(),
            ready: Ready::Said("ready".to_owned()),
        };
        let patience = Patience {
            until: Instant::now() + limit,
            is_stopped: &|| false,
            nap: LONGEST_NAP,
        };
        serve(Process::start(&mut command).unwrap(), &client, 0, &patience).unwrap()
    }

    const LONG: Duration = Duration::from_secs(60);
    const WAITS: &str = "echo ready; while :; do sleep 0.01; done";

    #[test]
    fn the_outcome_is_the_worst_that_happened() {
        let obeys = format!("trap 'exit 0' TERM; {WAITS}");
        let limps = format!("trap 'exit 7' TERM; {WAITS}");
        let kill = "kill -SEGV $RACEHOUND_SERVER; sleep 60";
        for (server, client, ending) in [
            (&*obeys, "exit 0", Ending::Code(0)),
            (WAITS, "exit 0", Ending::Code(0)),
            (&limps, "exit 0", Ending::Code(7)),
            (&limps, "exit 3", Ending::Client(3)),
            (WAITS, "kill -PIPE $$", Ending::Client(128 + 13)),
            (&obeys, kill, Ending::Signal(11)),
            ("echo ready; sleep 0.1; exit 5", "sleep 60", Ending::Code(5)),
            (
                "echo ready; sleep 1",
                "sleep 1.2; exit 2",
                Ending::Client(2),
            ),
            ("exit 4", "exit 0", Ending::Code(4)),
        ] {
            let (seen, _) = served(server, client, LONG);
            assert_eq!(seen, ending, "{server:?} {client:?}");
        }
    }

    #[test]
    fn nobody_waits_for_ever() {
        let short = Duration::from_millis(300);
        for (server, client, ending) in [
            ("sleep 60", "exit 0", Ending::Unready),
            (WAITS, "sleep 60", Ending::Limit),
        ] {
            assert_eq!(served(server, client, short).0, ending, "{server:?}");
        }
        let deaf = format!("trap '' TERM; {WAITS}");
        assert_eq!(served(&deaf, "exit 0", LONG).0, Ending::Stubborn);
    }

    #[test]
    fn what_both_print_is_kept() {
        let (_, remains) = served(WAITS, "echo hello; echo hm >&2", LONG);
        assert_eq!(remains.output.excerpt(), "ready\nhello\n");
        assert_eq!(remains.complaints.excerpt(), "hm\n");
    }
}
