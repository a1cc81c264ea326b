//! The native host: the functions behind `-fsanitize=thread`.
//!
//! A program that was compiled with `-fsanitize=thread` calls a function before
//! each access to memory, and `NAME` of the C library where it wants to
//! synchronise. Both lead here.
//!
//! | | |
//! |---|---|
//! | [`entry`], [`abi`] | the functions that compilers and programs call by name |
//! | [`interpose`], [`real`] | the C library's functions that we stand in for |
//! | [`access`], [`rule`], [`bulk`], [`shadow_range`] | what becomes of an access |
//! | [`shadow`], [`cell`], [`readers`], [`constants`], [`objects`], [`messages`], [`blocks`], [`graves`], [`quarantine`] | what is remembered, and where |
//! | [`stamp`], [`hearsay`], [`context`], [`frames`], [`locks`], [`sweep`] | how an access fits 28 bits |
//! | [`sync`], [`deadlock`] | synchronisation: what threads know, which locks they hold |
//! | [`thread`], [`registry`], [`signals`], [`tls`], [`stack`] | threads |
//! | [`control`] | who runs when, if that is not left to the system |
//! | [`general`], [`record`] | events for other detectors and for traces |
//! | [`report`], [`output`], [`hooks`], [`options`] | what is told, and how |
//! | [`start`], `preinit`, [`patch`], [`finish`], [`fork`], [`memory`], [`memory_limit`], [`spin`] | beginning, end, copies and ground |
//!
//! # Invariants
//! * Nothing here allocates through the program's `malloc`: Rust's allocator is
//!   our own, and every reference to a C function that we stand in for leads to
//!   the real one (see the crate `racehound-bundle`).
//! * While a thread is inside, signals of the program wait, and who holds a lock
//!   of ours waits for nothing else; so nobody waits for himself.
//! * The program's `errno` is what it was.

// A runtime is made of raw memory; each use says why it is sound.
#![allow(unsafe_code)]
// What is exported is exported by name, for compilers and the C library's users;
// no Rust program links with this crate.
#![allow(unreachable_pub, non_snake_case, private_interfaces)]

mod abi;
mod access;
#[cfg(test)]
mod agreement;
mod benign;
mod blocks;
mod bulk;
mod cell;
mod constants;
mod context;
mod control;
mod deadlock;
mod detector;
mod entry;
mod finish;
mod fork;
mod frames;
mod general;
mod graves;
mod hearsay;
mod hooks;
mod interpose;
mod locks;
mod log;
mod memory;
mod memory_limit;
mod merge;
mod messages;
mod objects;
mod old_news;
mod options;
mod output;
#[cfg(not(test))]
mod own_heap;
mod patch;
// Tests set up what they need themselves.
#[cfg(not(test))]
mod preinit;
mod quarantine;
mod range;
mod readers;
mod real;
mod record;
mod registry;
mod report;
mod resident;
mod rule;
mod sampling;
mod shadow;
mod shadow_range;
mod shared_memory;
mod signals;
mod spin;
mod spool;
mod stack;
mod stamp;
mod start;
mod sweep;
mod sync;
mod tape;
mod thread;
mod tls;
mod triggers;
mod usual;
mod value;

pub(crate) use start::{fatal, init, is_ready};

#[cfg(not(test))]
#[global_allocator]
static HEAP: own_heap::Heap = own_heap::Heap::new();
