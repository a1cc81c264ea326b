//! Processes: forked, replaced.

use std::ffi::{c_int, c_void};

use super::{Call, interpose};
use crate::sweep::Pause;
use crate::thread::Visit;
use crate::{record, registry, report};

interpose! {
    fn fork() -> libc::pid_t {
        let Some(_call) = Call::begin() else {
            return libc::fork();
        };
        let visit = Visit::begin();
        record::before_fork(visit.thread());
        // Nobody is in the runtime, so nobody holds anything of ours that the
        // child would wait for.
        let reporting = report::Reporting::begin();
        let pause = Pause::begin();
        let child = libc::fork();
        drop(pause);
        drop(reporting);
        if child == 0 {
            registry::only_me(visit.thread());
            report::reset_count();
            record::in_child();
        }
        child
    }

    /// The child of `vfork` runs on the parent's stack and memory, which our
    /// bookkeeping cannot follow. A true fork does all that the standard promises.
    fn vfork() -> libc::pid_t {
        fork()
    }


    fn dlclose(handle: *mut c_void) -> c_int {
        let result = libc::dlclose(handle);
        if Call::begin().is_some() {
            report::modules_changed();
        }
        result
    }
}
