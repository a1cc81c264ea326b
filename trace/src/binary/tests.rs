//! What is written comes back; what is cut or damaged is noticed; nothing
//! panics, whatever the bytes.

use proptest::prelude::*;

use super::*;
use crate::Loc;
use crate::error::Error;
use crate::generate::{Chaos, Generator, Workload, chaos};
use crate::memory::Trace;
use crate::source::Source;
use crate::table::Space;

fn write(trace: &Trace) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), trace.space).unwrap();
    for events in trace.events.chunks(7) {
        writer.write(&trace.tables, events).unwrap();
    }
    writer.finish().unwrap()
}

/// Many small blocks, so that cuts and damage hit all of their parts.
fn write_small_blocks(trace: &Trace) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), trace.space).unwrap();
    for events in trace.events.chunks(5) {
        writer.write(&trace.tables, events).unwrap();
        writer.flush().unwrap();
    }
    writer.finish().unwrap()
}

fn sample(seed: u64, space: Space) -> Trace {
    chaos(&Chaos {
        seed,
        space,
        events: 80,
        ..Chaos::default()
    })
}

/// Reads until the end or an error; returns how many events came.
fn read(bytes: &[u8]) -> (usize, Result<Option<crate::Truncation>, Error>) {
    let mut reader = match Reader::new(bytes) {
        Ok(reader) => reader,
        Err(e) => return (0, Err(e)),
    };
    let (mut batch, mut count) = (Vec::new(), 0);
    loop {
        match reader.next_batch(&mut batch) {
            Ok(()) if batch.is_empty() => return (count, Ok(reader.truncation().cloned())),
            Ok(()) => count += batch.len(),
            Err(e) => return (count, Err(e)),
        }
    }
}

#[test]
fn every_operation_comes_back() {
    for seed in 0..200 {
        for space in [Space::Names, Space::Addresses] {
            let trace = sample(seed, space);
            let bytes = write(&trace);
            let back = Trace::collect(Reader::new(&bytes[..]).unwrap()).unwrap();
            assert_eq!(back, trace, "seed {seed}");
        }
    }
}

#[test]
fn what_is_at_an_address_keeps_its_name() {
    let mut trace = sample(1, Space::Addresses);
    trace.tables.add_variable_at("sum", Loc(0x1000), 8);
    trace.tables.add_variable_at("plugin", Loc(0x2000), 4);
    trace.tables.add_variable_at("reloaded", Loc(0x2000), 4);
    let bytes = write(&trace);
    let back = Trace::collect(Reader::new(&bytes[..]).unwrap()).unwrap();
    assert_eq!(back, trace);
    let shown = |address| back.tables.shown_loc(back.space, Loc(address));
    assert_eq!(shown(0x1000), "sum");
    assert_eq!(shown(0x1007), "sum+7");
    assert_eq!(shown(0x1008), "0x1008");
    assert_eq!(shown(0x2000), "reloaded");
}

#[test]
fn a_file_of_version_1_is_read() {
    let bytes = include_bytes!("samples/version-1.rht");
    assert_eq!(bytes[8], 1);
    let back = Trace::collect(Reader::new(&bytes[..]).unwrap()).unwrap();
    assert_eq!(back, sample(3, Space::Addresses));
}

#[test]
fn strands_of_threads_come_back_in_the_order_they_were_appended_in() {
    let trace = sample(4, Space::Addresses);
    let mut writer = Writer::new(Vec::new(), trace.space).unwrap();
    let threads = trace.tables.threads.len();
    let mut strands: Vec<_> = (0..threads)
        .map(|i| Strand::new(crate::ThreadId::from_index(i)))
        .collect();
    let mut expected = Vec::new();
    for events in trace.events.chunks(9) {
        for event in events {
            strands[event.thread.index()].put(event.site, &event.op);
        }
        for (i, strand) in strands.iter_mut().enumerate() {
            writer.append(&trace.tables, strand).unwrap();
            assert_eq!(strand.count(), 0);
            expected.extend(events.iter().filter(|e| e.thread.index() == i));
        }
    }
    let bytes = writer.finish().unwrap();
    let back = Trace::collect(Reader::new(&bytes[..]).unwrap()).unwrap();
    assert_eq!(back.events, expected);
}

#[test]
fn a_loop_costs_nothing() {
    let mut trace = sample(1, Space::Addresses);
    let (thread, site) = (trace.events[0].thread, trace.events[0].site);
    let accesses = (0..100_000u64).map(|i| crate::Event {
        thread,
        site,
        op: crate::Op::Write {
            loc: crate::Loc(0x1000 + 8 * i),
            size: 8,
        },
    });
    trace.events = accesses.collect();
    let bytes = write(&trace);
    let back = Trace::collect(Reader::new(&bytes[..]).unwrap()).unwrap();
    assert_eq!(back.events, trace.events);
    trace.events.truncate(10);
    let longer = bytes.len() - write(&trace).len();
    assert!(longer < 100, "{longer} bytes for a loop");
}

#[test]
fn a_memory_event_takes_at_most_six_bytes() {
    let trace = Trace::collect(Generator::new(Workload::default()).unwrap()).unwrap();
    let empty = Trace {
        events: Vec::new(),
        ..trace.clone()
    };
    let events = write(&trace).len() - write(&empty).len();
    let accesses = trace.events.iter().filter(|e| e.op.access().is_some());
    let per_access = events as f64 / accesses.count() as f64;
    assert!(per_access <= 6.0, "{per_access} bytes per memory event");
}

#[test]
fn a_file_cut_anywhere_reads_up_to_its_last_whole_block() {
    let trace = sample(3, Space::Addresses);
    let bytes = write_small_blocks(&trace);
    let mut last = 0;
    for end in 1..bytes.len() {
        let (events, outcome) = read(&bytes[..end]);
        let truncation = outcome
            .unwrap_or_else(|e| panic!("cut at {end}: {e}"))
            .unwrap_or_else(|| panic!("cut at {end} went unnoticed"));
        assert_eq!(truncation.events, events as u64);
        assert_eq!(
            truncation.offset + truncation.leftover,
            match truncation.lost {
                Some(_) => end as u64 - block::Header::SIZE as u64,
                None => end as u64,
            }
        );
        assert!(events % 5 == 0 && events >= last, "cut at {end}");
        last = events;
    }
    assert_eq!(last, trace.events.len());
    assert_eq!(read(&bytes).1.unwrap(), None);
}

#[test]
fn a_cut_says_what_is_missing() {
    let bytes = write(&sample(3, Space::Names));
    // The closing block is 28 bytes; take a piece of the events too.
    let (_, outcome) = read(&bytes[..bytes.len() - 28 - 10]);
    let message = outcome.unwrap().unwrap().to_string();
    assert!(message.contains("announces 80 more"), "{message}");
    assert!(message.contains("of which 10 are missing"), "{message}");
    let (_, outcome) = read(&bytes[..bytes.len() - 28]);
    let message = outcome.unwrap().unwrap().to_string();
    assert!(
        message.contains("80 events are whole; the closing block is missing"),
        "{message}"
    );
}

#[test]
fn every_flipped_bit_is_noticed() {
    let bytes = write_small_blocks(&sample(5, Space::Names));
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << bit;
            let (_, outcome) = read(&damaged);
            match outcome {
                Err(Error::Damaged { offset, .. }) => assert!(offset as usize <= at),
                Err(Error::NotATrace { .. } | Error::Version { .. }) => assert!(at < 16),
                other => panic!("bit {bit} of byte {at}: {other:?}"),
            }
        }
    }
}

#[test]
fn foreign_files_are_told_apart() {
    let (_, outcome) = read(b"");
    assert!(
        outcome
            .unwrap_err()
            .to_string()
            .contains("the file is empty")
    );
    let (_, outcome) = read(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\0\0");
    assert!(
        outcome
            .unwrap_err()
            .to_string()
            .contains("not a Racehound trace")
    );
}

#[test]
fn a_newer_version_asks_for_an_update() {
    let mut bytes = write(&sample(1, Space::Names));
    bytes[8] = 99;
    let crc = crc32fast::hash(&bytes[..12]);
    bytes[12..16].copy_from_slice(&crc.to_le_bytes());
    let message = read(&bytes).1.unwrap_err().to_string();
    assert!(message.contains("format version 99"), "{message}");
}

#[test]
fn two_traces_in_one_file_are_refused() {
    let mut bytes = write(&sample(1, Space::Names));
    bytes.extend(write(&sample(2, Space::Names)));
    let message = read(&bytes).1.unwrap_err().to_string();
    assert!(
        message.contains("something follows the closing block"),
        "{message}"
    );
}

/// Blocks with valid checksums around arbitrary contents: what only a hostile
/// or buggy writer produces, and what reaches the decoders.
fn forged(blocks: &[(u8, u32, Vec<u8>)], space: Space) -> Vec<u8> {
    let mut out = block::file_header(space).to_vec();
    for (kind, count, payload) in blocks {
        let header = block::Header {
            kind: match kind % 3 {
                0 => block::Kind::Definitions,
                1 => block::Kind::Events,
                _ => block::Kind::End,
            },
            length: payload.len() as u32,
            count: *count,
            first: 0,
            payload_crc: crc32fast::hash(payload),
        };
        out.extend(header.to_bytes());
        out.extend(payload);
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn arbitrary_bytes_do_not_panic(mut bytes: Vec<u8>, keep_header: bool) {
        if keep_header {
            let mut with = block::file_header(Space::Names).to_vec();
            with.append(&mut bytes);
            bytes = with;
        }
        let _ = read(&bytes);
    }

    #[test]
    fn arbitrary_payloads_do_not_panic(
        blocks: Vec<(u8, u32, Vec<u8>)>,
        addresses: bool,
    ) {
        let space = if addresses { Space::Addresses } else { Space::Names };
        let _ = read(&forged(&blocks, space));
    }

    #[test]
    fn changed_payloads_do_not_panic(
        seed in 0u64..50,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        // Rewrites bytes inside real payloads and makes the checksums fit.
        let bytes = write(&sample(seed, Space::Addresses));
        let mut blocks = Vec::new();
        let mut at = block::FILE_HEADER;
        while at < bytes.len() {
            let header: [u8; block::Header::SIZE] =
                bytes[at..at + block::Header::SIZE].try_into().unwrap();
            let header = block::Header::from_bytes(&header, 0).unwrap();
            at += block::Header::SIZE;
            let payload = bytes[at..at + header.length as usize].to_vec();
            at += header.length as usize;
            let kind = match header.kind {
                block::Kind::Definitions => 0,
                block::Kind::Events => 1,
                block::Kind::End => 2,
            };
            blocks.push((kind, header.count, payload));
        }
        for (index, value) in changes {
            let block = index.index(blocks.len() - 1);
            let payload = &mut blocks[block].2;
            let at = index.index(payload.len());
            payload[at] = value;
        }
        let _ = read(&forged(&blocks, Space::Addresses));
    }
}
