//! The programs in the papers' figures, in the notation. Labels are the
//! papers': line numbers in racefuzzer.txt, circled letters in acculock.txt, events
//! in drfinder.txt, lines and nodes in pecan.txt. What is true of each is stated, and
//! checked against the explorer, in `tests/figures.rs` and `tests/predict.rs`.

/// racefuzzer.txt Figure 1: a program with a real race, on z (5, 7), and one
/// that only looks like it, on x (1, 10). ERROR1 can be reached, ERROR2 not.
pub const RACEFUZZER_1: &str = "
var x = 0, y = 0, z = 0
lock L
thread thread1 {
  1: x = 1
  2: lock L
  3: y = 1
  4: unlock L
  5: if z == 1 {
    6: error ERROR1
  }
}
thread thread2 {
  7: z = 1
  8: lock L
  9: if y == 1 {
    10: if x != 1 {
      11: error ERROR2
    }
  }
  14: unlock L
}
";

/// racefuzzer.txt Figure 2: a real race, (8, 10), that is hard to reproduce;
/// the calls f1 to f6 only take time. ERROR can be reached.
pub const RACEFUZZER_2: &str = "
var x = 0
lock L
thread thread1 {
  1: lock L
  2: skip 10   // f1()
  3: skip 10
  4: skip 10
  5: skip 10
  6: skip 10   // f5()
  7: unlock L
  8: if x == 0 {
    9: error ERROR
  }
}
thread thread2 {
  10: x = 1
  11: lock L
  12: skip 10  // f6()
  13: unlock L
}
";

/// acculock.txt Figure 1(a): the race (A, B), which FastTrack may miss.
pub const ACCULOCK_1A: &str = "
var x
lock l1
thread T1 {
  A: read x
  lock l1
  read x
  unlock l1
}
thread T2 {
  lock l1
  B: x = 1
  unlock l1
}
";

/// acculock.txt Figure 1(b): the race (A, B) among three threads and two
/// locks.
pub const ACCULOCK_1B: &str = "
var x
lock l1, l2
thread T1 {
  lock l2
  A: read x
  unlock l2
}
thread T2 {
  lock l1
  lock l2
  read x
  unlock l2
  unlock l1
}
thread T3 {
  lock l1
  B: x = 1
  unlock l1
}
";

/// acculock.txt Figure 1(c): the race (A, B), with multiple protecting locks.
pub const ACCULOCK_1C: &str = "
var x
lock l1, l2
thread T1 {
  lock l2
  A: read x
  unlock l2
  lock l1
  read x
  unlock l1
}
thread T2 {
  lock l1
  B: x = 1
  unlock l1
}
";

/// acculock.txt Figure 1(d): no race. The list handed over is `nodes`; whoever
/// finds the channel set owns it.
pub const ACCULOCK_1D: &str = "
var nodes, channel
lock l1
thread T1 {
  A: nodes = 1
  lock l1
  channel = 1
  unlock l1
}
thread T2 {
  lock l1
  list2 = channel
  unlock l1
  if list2 == 1 {
    B: nodes = 2
  }
}
";

/// acculock.txt Figure 2(a): one thread, three reads under growing locksets.
pub const ACCULOCK_2A: &str = "
var x
lock l1, l2, l3
thread T {
  lock l1
  A: read x
  lock l2
  B: read x
  unlock l2
  lock l3
  C: read x
  unlock l3
  unlock l1
}
";

/// acculock.txt Figure 2(b): one thread, three writes under growing locksets.
pub const ACCULOCK_2B: &str = "
var x
lock l1, l2, l3
thread T {
  lock l1
  A: x = 1
  lock l2
  B: x = 2
  unlock l2
  lock l3
  C: x = 3
  unlock l3
  unlock l1
}
";

/// acculock.txt Figure 3: no race. AccuLock warns of (A, B), which share l1.
pub const ACCULOCK_3: &str = "
var x
lock l1, l2
thread T1 {
  lock l2
  x = 1
  unlock l2
  lock l1
  A: read x
  unlock l1
}
thread T2 {
  lock l1
  lock l2
  B: x = 2
  unlock l2
  unlock l1
}
";

/// drfinder.txt Figure 2: the races (m1, m4) on x and (m2, m3) on y, hidden if
/// t1 comes first to k and to n. Functions, locks and labels are the paper's.
pub const DRFINDER_2: &str = "
var x, y
lock k of ck
lock n of cn
lock o1 of c1
lock o2 of c2
lock o3 of c3
lock o4 of c4
lock o5 of c5
fn f2 { e2: lock o1; unlock o1; m2: y = 1; e3: lock n; unlock n }
fn f1 { m1: x = 1; e1: lock k; unlock k; call f2 }
fn f5 { e6: lock n; unlock n; m3: read y }
fn f4 { e4: lock o2; unlock o2; e5: lock o3; unlock o3; call f5 }
fn f3 { call f4 }
fn f8 { e9: lock k; unlock k; m4: read x }
fn f7 { e7: lock o4; unlock o4; e8: lock o5; unlock o5; call f8 }
fn f6 { call f7 }
thread t1 { call f1 }
thread t2 { call f3 }
thread t3 { call f6 }
";

/// pecan.txt Figure 1, rebuilt from what §2 says of it: the races (2, 5), (2, 6)
/// and (3, 7). ERROR is reached only if 3 comes after 7, and 2 after 5.
pub const PECAN_1: &str = "
var x = 0, y = 0
thread T1 {
  1: skip
  2: if x > 0 {
    3: if y > 0 {
      4: error ERROR
    }
  }
}
thread T2 {
  5: x = 1
  6: x = 2
  7: y = 1
}
";

/// pecan.txt Figure 3: every access of x is locked, and v8 can come between v2 and
/// v5, which are meant to be one.
pub const PECAN_3: &str = "
var x
lock l
thread T1 {
  atomic {
    v1: lock l
    v2: read x
    v3: unlock l
    v4: lock l
    v5: x = 1
    v6: unlock l
  }
}
thread T2 {
  v7: lock l
  v8: x = 2
  v9: unlock l
}
";

/// pecan.txt Figure 4: for the race (v2, v5), v2 moves behind v4.
pub const PECAN_4: &str = "
var x, a, b, c
thread main {
  v1: fork T2
  v2: x = 1
  v3: a = 1
  join T2
}
thread T2 {
  v4: b = 1
  v5: x = 2
  v6: c = 1
}
";

/// pecan.txt Figure 5: (v3, v8) looks like a race, and is none, because of the order
/// from v2 to v5.
pub const PECAN_5: &str = "
var x, b
lock l
thread main {
  v1: lock l
  v2: fork T2
  v3: x = 1
  v4: unlock l
  join T2
}
thread T2 {
  v5: b = 1
  v6: lock l
  v7: unlock l
  v8: x = 2
}
";

/// The same without that order: now it is a race.
pub const PECAN_5_UNORDERED: &str = "
var x, a, b
lock l
thread T1 {
  v1: lock l
  v2: a = 1
  v3: x = 1
  v4: unlock l
}
thread T2 {
  v5: b = 1
  v6: lock l
  v7: unlock l
  v8: x = 2
}
";

/// pecan.txt Figure 6, OpenJMS: the multiplexer is read under a lock, and set
/// without.
pub const PECAN_OPENJMS: &str = "
var multiplexer = 0
lock this
thread setter {
  1: multiplexer = 1
}
thread invoker {
  lock this
  2: local = multiplexer
  unlock this
  if local == 0 {
    error ResourceException
  }
}
";

/// pecan.txt Figure 7, Jigsaw: looking whether there is an event, getting it and
/// removing it are each synchronized, and not together.
pub const PECAN_JIGSAW: &str = "
var size = 1
lock queue
fn getNextEvent {
  lock queue
  1: n = size
  unlock queue
  if n > 0 {
    lock queue
    2: assert size > 0   // elementAt(0)
    unlock queue
    lock queue
    3: size = size - 1   // removeElementAt(0)
    unlock queue
  }
}
thread A { call getNextEvent }
thread producer {
  lock queue
  size = size + 1
  unlock queue
}
thread B { call getNextEvent }
";

/// The JDK's StringBuffer.append(StringBuffer): the length is asked for first, the
/// characters are fetched then, and the other buffer may be shorter by now.
pub const PECAN_STRINGBUFFER: &str = "
var count = 5
lock this, other
thread appender {
  lock this
  lock other
  1: len = count       // length()
  unlock other
  lock other
  2: assert len <= count   // getChars(0, len)
  unlock other
  unlock this
}
thread deleter {
  lock other
  3: count = 0         // setLength(0)
  unlock other
}
";

/// All of them, by name.
pub const ALL: [(&str, &str); 18] = [
    ("racefuzzer-1", RACEFUZZER_1),
    ("racefuzzer-2", RACEFUZZER_2),
    ("acculock-1a", ACCULOCK_1A),
    ("acculock-1b", ACCULOCK_1B),
    ("acculock-1c", ACCULOCK_1C),
    ("acculock-1d", ACCULOCK_1D),
    ("acculock-2a", ACCULOCK_2A),
    ("acculock-2b", ACCULOCK_2B),
    ("acculock-3", ACCULOCK_3),
    ("drfinder-2", DRFINDER_2),
    ("pecan-1", PECAN_1),
    ("pecan-3", PECAN_3),
    ("pecan-4", PECAN_4),
    ("pecan-5", PECAN_5),
    ("pecan-5-unordered", PECAN_5_UNORDERED),
    ("pecan-openjms", PECAN_OPENJMS),
    ("pecan-jigsaw", PECAN_JIGSAW),
    ("pecan-stringbuffer", PECAN_STRINGBUFFER),
];
