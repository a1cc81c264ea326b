//! `racehound trace gen`.

use racehound_trace::Source;
use racehound_trace::generate::{Generator, PRESETS, Preset};

use crate::CLEAN;
use crate::args::Gen;
use crate::error::Error;
use crate::output::TraceOutput;
use crate::progress::Progress;

pub(crate) fn run(args: &Gen) -> Result<u8, Error> {
    let preset = Preset::find(&args.preset).ok_or_else(|| {
        let names: Vec<_> = PRESETS.iter().map(|preset| preset.name).collect();
        Error::Wish(format!(
            "no preset is called {:?}; there are {}",
            args.preset,
            names.join(", ")
        ))
    })?;
    let mut workload = preset.workload();
    macro_rules! take {
        ($($field:ident)*) => { $(if let Some(value) = args.$field { workload.$field = value; })* };
    }
    take!(seed events threads locks read_ratio sharing read_only section depth burst races hidden_races);
    if let Some(variables) = args.variables {
        workload.variables = u32::try_from(variables)
            .map_err(|_| Error::Wish("at most 4G variables can be generated".to_owned()))?;
    }

    let mut progress = Progress::events(workload.events);
    let mut generator =
        Generator::new(workload).map_err(|e| Error::Wish(format!("cannot generate that: {e}")))?;
    let mut output = TraceOutput::create(&args.output, args.to, generator.space())?;
    let (mut batch, mut count) = (Vec::new(), 0);
    loop {
        generator
            .next_batch(&mut batch)
            .map_err(Error::trace(&args.output))?;
        if batch.is_empty() {
            break;
        }
        let written = output.write(generator.tables(), &batch);
        written.map_err(Error::trace(&args.output))?;
        count += batch.len() as u64;
        progress.at(count);
    }
    output.finish().map_err(Error::trace(&args.output))?;
    Ok(CLEAN)
}
