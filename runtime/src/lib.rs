//! The native host: the functions behind `-fsanitize=thread`.
#![allow(unsafe_code)]
#![allow(missing_docs)]

mod abi;
mod access;
mod blocks;
mod bulk;
mod cell;
mod context;
mod deadlock;
mod detector;
pub mod entry;
mod findings;
mod finish;
mod frames;
mod general;
mod hooks;
mod interpose;
mod locks;
mod memory;
mod objects;
mod options;
mod output;
mod readers;
mod real;
mod record;
mod registry;
mod report;
mod rule;
mod shadow;
mod shadow_range;
mod signals;
mod spin;
mod stack;
mod stamp;
mod start;
mod sweep;
mod sync;
mod thread;
mod tls;

pub(crate) use start::{fatal, init, is_ready};

#[cfg(not(test))]
#[global_allocator]
static HEAP: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;
