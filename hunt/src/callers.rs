//! How threads got to what they do, in an execution whose calls were recorded.
//!
//! A trace says of a function that is entered where it was called. What was inlined there is
//! known from the program's debug information; the sites of other modules have one line.

use std::collections::BTreeMap;

use racehound_report::finding::Frame;
use racehound_trace::{Event, Op, SiteId, Tables, ThreadId};

/// What the debug information of the program says.
pub trait Lines {
    /// The functions that an instruction belongs to, innermost first; none for other
    /// modules than the program.
    fn frames(&self, module: &str, offset: u64) -> Vec<Frame>;
}

/// The functions that each thread is in: where they were called, outermost first.
#[derive(Debug, Default)]
pub(crate) struct Callers(BTreeMap<ThreadId, Vec<SiteId>>);

impl Callers {
    pub(crate) fn follow(&mut self, event: &Event) {
        let called = self.0.entry(event.thread).or_default();
        match event.op {
            Op::Call { .. } => called.push(event.site),
            Op::Return => _ = called.pop(),
            _ => {}
        }
    }

    /// The stack of a thread that is somewhere, innermost first, without what has no name.
    pub(crate) fn stack<'a>(
        &'a self,
        event: &Event,
        tables: &'a Tables,
        lines: &'a (impl Lines + ?Sized),
    ) -> impl Iterator<Item = Frame> + 'a {
        let called = self.0.get(&event.thread).into_iter().flatten();
        let sites = std::iter::once(event.site).chain(called.rev().copied());
        sites
            .flat_map(move |site| frames(site, tables, lines))
            .filter(|frame| frame.file.is_some())
    }
}

fn frames(site: SiteId, tables: &Tables, lines: &(impl Lines + ?Sized)) -> Vec<Frame> {
    let Some(known) = tables.sites.get(site.index()) else {
        return Vec::new();
    };
    let module = known.module.and_then(|module| tables.names.get(module));
    let inlined = module.map(|module| lines.frames(module, known.offset));
    if let Some(frames) = inlined.filter(|frames| !frames.is_empty()) {
        return frames;
    }
    let function = known
        .function
        .map(|function| tables.function_name(function));
    vec![Frame {
        function: function.unwrap_or_default(),
        file: tables.site_file(site).map(str::to_owned),
        line: Some(known.line).filter(|line| *line > 0),
        column: Some(known.column).filter(|column| *column > 0),
        ..Frame::default()
    }]
}
