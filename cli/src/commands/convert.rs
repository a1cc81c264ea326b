//! `racehound trace convert`.

use racehound::aside::say;

use crate::CLEAN;
use crate::args::Convert;
use crate::error::Error;
use crate::input::{self, Input};
use crate::output::TraceOutput;
use crate::progress::Progress;

pub(crate) fn run(args: &Convert) -> Result<u8, Error> {
    let Input { mut source, size } = input::open(&args.input)?;
    // Reading comes first: an unreadable input leaves the output alone.
    let mut batch = Vec::new();
    let next = |batch: &mut Vec<_>, source: &mut dyn racehound_trace::Source| {
        source.next_batch(batch).map_err(Error::trace(&args.input))
    };
    next(&mut batch, &mut source)?;
    let mut output = TraceOutput::create(&args.output, args.to, source.space())?;
    let mut progress = Progress::bytes(size);
    while !batch.is_empty() {
        let written = output.write(source.tables(), &batch);
        written.map_err(Error::trace(&args.output))?;
        progress.at(source.position());
        next(&mut batch, &mut source)?;
    }
    let losses = output.finish().map_err(Error::trace(&args.output))?;
    drop(progress);
    input::warn_if_incomplete(&args.input, &source);
    if !losses.is_empty() {
        let losses = losses.join("\n  ");
        say(format_args!(
            "STD text cannot express all of the trace:\n  {losses}"
        ));
    }
    Ok(CLEAN)
}
