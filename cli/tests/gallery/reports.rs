//! Reports in ThreadSanitizer's layout, read back.

/// One report.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Report {
    pub(crate) kind: String,
    /// For each stack the line of its innermost frame in the program's files.
    pub(crate) lines: Vec<u32>,
    /// How many of them are of accesses.
    pub(crate) accesses: usize,
}

const KINDS: [(&str, &str); 12] = [
    ("data race on vptr", "vptr"),
    ("heap-use-after-free", "heap-use-after-free"),
    ("data race", "race"),
    ("lock-order-inversion", "lock-order-inversion"),
    ("double lock", "double-lock"),
    ("unlock of an unlocked", "unlock-unlocked"),
    ("read lock of", "read-lock-misuse"),
    ("read unlock of", "read-lock-misuse"),
    ("use of an invalid mutex", "destroyed-mutex"),
    ("destroy of a locked", "destroy-locked"),
    ("thread leak", "thread-leak"),
    ("signal-unsafe", "signal-unsafe"),
];

/// All reports in a program's standard error.
pub(crate) fn parse(text: &str, files: &[String]) -> Vec<Report> {
    let mut reports: Vec<Report> = Vec::new();
    let mut found = true;
    for line in text.lines() {
        if let Some(title) = line.strip_prefix("WARNING: ThreadSanitizer: ") {
            let kind = KINDS.iter().find(|(begin, _)| title.starts_with(begin));
            let kind = match kind {
                Some((_, kind)) => (*kind).to_owned(),
                None if title.starts_with("signal handler spoils errno") => {
                    "errno-in-handler".into()
                }
                None => title.to_owned(),
            };
            reports.push(Report {
                kind,
                lines: Vec::new(),
                accesses: 0,
            });
            continue;
        }
        let Some(report) = reports.last_mut() else {
            continue;
        };
        let text = line.trim_start();
        if text.starts_with("#0 ") {
            found = false;
        }
        if text.starts_with('#')
            && !found
            && let Some(number) = files.iter().find_map(|file| line_in(text, file))
        {
            found = true;
            report.lines.push(number);
        }
        if text.contains(" of size ") && text.ends_with(':') && !text.starts_with("Location") {
            report.accesses += 1;
        }
    }
    reports
}

/// The line number in `…/FILE:LINE:COLUMN (…`.
fn line_in(frame: &str, file: &str) -> Option<u32> {
    let at = frame.find(&format!("/{file}:"))?;
    let rest = &frame[at + file.len() + 2..];
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}
