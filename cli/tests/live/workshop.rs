//! A directory to build programs in and to run them.

use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::{fs, io};

use serde_json::Value;
use tempfile::TempDir;

pub(crate) const RACEHOUND: &str = env!("CARGO_BIN_EXE_racehound");
pub(crate) const RACEHOUND_CC: &str = env!("CARGO_BIN_EXE_racehound-cc");

pub(crate) struct Workshop(TempDir);

impl Workshop {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    /// A command that runs here.
    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        // Whoever runs the tests in the background may ignore what asks a program to end.
        let mut command = Command::new("env");
        command
            .arg("--default-signal=HUP,INT,QUIT")
            .arg(program)
            .current_dir(self.0.path())
            .stdin(Stdio::null())
            .env_remove("TSAN_OPTIONS")
            .env_remove("RACEHOUND_OPTIONS");
        command
    }

    /// Compiles; it must succeed.
    pub(crate) fn cc(&self, arguments: &[&str]) {
        let output = self.command(RACEHOUND_CC).args(arguments).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }

    pub(crate) fn racehound(&self, arguments: &[&str]) -> Output {
        self.command(RACEHOUND).args(arguments).output().unwrap()
    }

    pub(crate) fn findings(&self, name: &str) -> Value {
        serde_json::from_str(&fs::read_to_string(self.path(name)).unwrap()).unwrap()
    }

    /// Racehound and the program, which has said that it is ready.
    pub(crate) fn started(&self, what: &str) -> Child {
        let arguments = ["run", "--json", "findings.json", "--", "./program", what];
        let mut command = self.command(RACEHOUND);
        let mut child = command
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut ready = [0; 6];
        child
            .stdout
            .as_mut()
            .unwrap()
            .read_exact(&mut ready)
            .unwrap();
        assert_eq!(&ready, b"ready\n");
        child
    }

    /// Sends racehound a signal when the program is ready.
    pub(crate) fn interrupted(&self, what: &str, signal: i32) -> Output {
        let mut child = self.started(what);
        let sent = Command::new("kill")
            .args([format!("-{signal}"), child.id().to_string()])
            .status();
        assert!(sent.unwrap().success());
        let mut stdout = b"ready\n".to_vec();
        let rest: io::Result<usize> = child.stdout.as_mut().unwrap().read_to_end(&mut stdout);
        rest.unwrap();
        let status: ExitStatus = child.wait().unwrap();
        Output {
            status,
            stdout,
            stderr: Vec::new(),
        }
    }

    pub(crate) fn only_child_of(&self, parent: u32) -> u32 {
        let path = format!("/proc/{parent}/task/{parent}/children");
        let children = fs::read_to_string(path).unwrap();
        children.trim().parse().unwrap()
    }

    /// Whether a process is there and not only waiting to be reaped.
    pub(crate) fn is_running(&self, process: u32) -> bool {
        let status = fs::read_to_string(format!("/proc/{process}/stat"));
        status.is_ok_and(|text| !text.contains(") Z "))
    }

    pub(crate) fn assert_nothing_left_over(&self) {
        for entry in fs::read_dir(self.0.path()).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let ours = ["program", "program.c", "findings.json"];
            assert!(ours.contains(&name.as_str()), "{name}");
        }
    }
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}
