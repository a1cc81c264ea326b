//! Whether a server is ready: it has a socket to which somebody can connect, or send.
//!
//! The system lists sockets by number, those of a process are among its descriptors.

use std::collections::BTreeSet;
use std::fs;

/// Whether the process, or one that it has started, listens.
pub(crate) fn listens(process: u32) -> bool {
    let open = listening(process);
    family(process).into_iter().any(|member| {
        let descriptors = fs::read_dir(format!("/proc/{member}/fd"));
        descriptors.into_iter().flatten().flatten().any(|entry| {
            let target = fs::read_link(entry.path()).unwrap_or_default();
            let name = target.to_string_lossy();
            let socket = name.strip_prefix("socket:[");
            let number = socket.and_then(|rest| rest.strip_suffix(']'));
            number.is_some_and(|number| open.contains(number))
        })
    })
}

/// The process and its descendants.
fn family(process: u32) -> Vec<u32> {
    let mut members = vec![process];
    let mut next = 0;
    while let Some(&member) = members.get(next) {
        next += 1;
        let threads = fs::read_dir(format!("/proc/{member}/task"));
        for thread in threads.into_iter().flatten().flatten() {
            let children = fs::read_to_string(thread.path().join("children"));
            let children = children.unwrap_or_default();
            members.extend(
                children
                    .split_whitespace()
                    .filter_map(|id| id.parse::<u32>().ok()),
            );
        }
    }
    members
}

/// The numbers of the sockets that take connections or datagrams, as this process
/// sees the network.
fn listening(process: u32) -> BTreeSet<String> {
    let table =
        |name: &str| fs::read_to_string(format!("/proc/{process}/net/{name}")).unwrap_or_default();
    let mut sockets = BTreeSet::new();
    for name in ["tcp", "tcp6", "udp", "udp6"] {
        sockets.extend(internet(&table(name), name.starts_with("tcp")));
    }
    sockets.extend(local(&table("unix")));
    sockets
}

/// Of `/proc/net/tcp` those that listen, of `/proc/net/udp` those that have no peer.
fn internet(table: &str, is_tcp: bool) -> Vec<String> {
    let wanted = if is_tcp { "0A" } else { "07" };
    let socket = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let (state, number) = (fields.get(3)?, fields.get(9)?);
        (*state == wanted).then(|| (*number).to_owned())
    };
    table.lines().skip(1).filter_map(socket).collect()
}

/// Of `/proc/net/unix` those that listen.
fn local(table: &str) -> Vec<String> {
    const ACCEPTS: u32 = 1 << 16;
    let socket = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let flags = u32::from_str_radix(fields.get(3)?, 16).ok()?;
        (flags & ACCEPTS != 0).then(|| fields.get(6).map(|number| (*number).to_owned()))?
    };
    table.lines().skip(1).filter_map(socket).collect()
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream, UdpSocket};
    use std::os::fd::AsRawFd;
    use std::os::unix::net::{UnixListener, UnixStream};

    use super::*;

    fn number(socket: &impl AsRawFd) -> String {
        let link = fs::read_link(format!("/proc/self/fd/{}", socket.as_raw_fd())).unwrap();
        let name = link.to_string_lossy().into_owned();
        name.trim_start_matches("socket:[")
            .trim_end_matches(']')
            .to_owned()
    }

    #[test]
    fn who_waits_for_somebody_listens_and_who_talks_does_not() {
        let directory = tempfile::tempdir().unwrap();
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let talking = TcpStream::connect(tcp.local_addr().unwrap()).unwrap();
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        let local = UnixListener::bind(directory.path().join("socket")).unwrap();
        let (one, _other) = UnixStream::pair().unwrap();
        let open = listening(std::process::id());
        assert!(open.contains(&number(&tcp)));
        assert!(open.contains(&number(&udp)));
        assert!(open.contains(&number(&local)));
        assert!(!open.contains(&number(&talking)));
        assert!(!open.contains(&number(&one)));
        assert!(listens(std::process::id()));
    }
}
