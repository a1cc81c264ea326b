//! Damaged files: there may be less to say about them, or something else, but
//! saying it must not panic, hang or run out of memory.

mod support;

use std::fs;
use std::path::Path;

use racehound_symbols::{Symbolizer, build_id};
use support::Workshop;

/// Asks all there is to ask about a file.
fn interrogate(module: &Path, addresses: &[u64]) {
    let mut symbolizer = Symbolizer::new();
    build_id(module);
    for address in addresses {
        symbolizer.frames(module, *address);
        symbolizer.variable(module, *address);
    }
    for offset in [0, 5, 1000] {
        symbolizer.element(module, "table", offset);
    }
}

/// Numbers that look random and are the same in every run.
fn numbers(mut state: u64) -> impl FnMut(usize) -> usize {
    move |below| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) as usize % below
    }
}

/// Damages `victim` in many ways, each time asking about `module`.
fn damage(shop: &Workshop, module: &str, victim: &str) {
    let names = ["outer", "leaf", "main", "counter", "table"];
    let ranges = shop.all_addresses(module, names);
    let mut addresses: Vec<u64> = ranges
        .iter()
        .flat_map(|range| [range.start, range.end - 1])
        .collect();
    addresses.extend(ranges[0].clone().step_by(4));
    let module = shop.path(module);
    let victim = shop.path(victim);
    let intact = fs::read(&victim).unwrap();
    let replace = |bytes: &[u8]| {
        // A new file, as a linker would make: the old one may still be mapped.
        fs::remove_file(&victim).unwrap();
        fs::write(&victim, bytes).unwrap();
        interrogate(&module, &addresses);
    };
    for i in 0..100 {
        replace(&intact[..intact.len() * i / 100]);
    }
    let mut number = numbers(intact.len() as u64);
    for round in 0..1_500 {
        let mut bytes = intact.clone();
        for _ in 0..=round % 8 {
            let at = number(bytes.len());
            bytes[at] = match round % 3 {
                0 => bytes[at] ^ (1 << number(8)),
                1 => number(256) as u8,
                _ => 0xff,
            };
        }
        replace(&bytes);
    }
}

#[test]
fn plain() {
    for options in ["-g -O1 -gdwarf-4", "-g -O1 -gdwarf-5"] {
        damage(&Workshop::with_work(options), "work", "work");
    }
}

#[test]
fn compressed() {
    let shop = Workshop::with_work("-g -gz=zlib");
    damage(&shop, "work", "work");
    let shop = Workshop::with_work("-g");
    if shop.try_run("objcopy --compress-debug-sections=zstd work") {
        damage(&shop, "work", "work");
    }
}

#[test]
fn split() {
    damage(&Workshop::with_work("-g -gsplit-dwarf"), "work", "work.dwo");
    let shop = Workshop::with_work("-g -gsplit-dwarf -gdwarf-4");
    if shop.try_run("dwp -e work -o work.dwp") {
        damage(&shop, "work", "work.dwp");
    }
}
