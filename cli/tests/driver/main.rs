//! `racehound cc` and `racehound c++`, run as build systems run them.

mod builds;
mod choice;
mod compiling;
mod linking;
mod workshop;
