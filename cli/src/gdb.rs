//! A debugger that stops where a race is about to happen, or where nobody can go on.

use std::os::unix::process::CommandExt;
use std::process::Command;

use racehound_hunt::Program;
use racehound_hunt::options::{Options, VARIABLE};

use crate::error::Error;

/// What gdb is told first. The program must find the environment it was recorded
/// in, so neither a shell nor gdb's own variables come between.
const BEFORE: [&str; 8] = [
    "set startup-with-shell off",
    "set disable-randomization on",
    "unset environment LINES",
    "unset environment COLUMNS",
    "set breakpoint pending on",
    "set print thread-events off",
    "break __racehound_meeting",
    "break __racehound_deadlock",
];

/// What it does when the threads have met, or wait for each other: shows each thread at the line of the
/// program where it is, not inside the runtime, and selects that frame.
const AFTERWARDS: &str = r#"python
def racehound():
    inferior = gdb.selected_inferior()
    chosen = gdb.selected_thread()
    if chosen is None or not chosen.is_valid():
        print("racehound: it did not happen again")
        return
    def stand(thread):
        thread.switch()
        frame = gdb.newest_frame()
        inside = False
        while frame is not None:
            name = frame.name() or ""
            if name.startswith("__tsan_") or name.startswith("__racehound_") or "racehound" in name:
                inside = True
            elif name in ("start_thread", "clone", "clone3", "__clone3"):
                return None
            elif inside and frame.find_sal().symtab is not None:
                return frame
            frame = frame.older()
        return None
    for thread in sorted(inferior.threads(), key=lambda thread: thread.num):
        frame = stand(thread)
        if frame is not None:
            sal = frame.find_sal()
            mark = "*" if thread.num == chosen.num else " "
            print("racehound: %s thread %d stands at %s:%d in %s" % (mark, thread.num, sal.symtab.filename, sal.line, frame.name()))
    chosen.switch()
    frame = stand(chosen)
    if frame is not None:
        frame.select()
racehound()
end
"#;

/// Takes this process's place. Returns only if there is no gdb.
pub(crate) fn run(program: &Program, options: &Options) -> Result<u8, Error> {
    let script = tempfile::Builder::new()
        .prefix("racehound-")
        .suffix(".gdb")
        .tempfile()
        .and_then(|file| {
            std::fs::write(file.path(), AFTERWARDS)?;
            file.keep().map_err(|error| error.error)
        });
    let (_, script) = script.map_err(Error::file(&std::env::temp_dir()))?;
    let mut gdb = Command::new("gdb");
    gdb.arg("-q");
    for command in BEFORE {
        gdb.args(["-ex", command]);
    }
    gdb.args(["-ex", "run"]);
    gdb.arg("-ex").arg(format!("source {}", script.display()));
    gdb.arg("-ex")
        .arg(format!("shell rm -f {}", script.display()));
    gdb.arg("--args").arg(&program.path);
    gdb.args(program.words.iter().skip(1));
    gdb.envs(
        program
            .environment
            .iter()
            .map(|(name, value)| (name, value)),
    );
    gdb.env(VARIABLE, options);
    let error = gdb.exec();
    let _ = std::fs::remove_file(script);
    Err(Error::NotStarted(format!(
        "gdb: {error}; --gdb needs the debugger of that name on the PATH"
    )))
}
