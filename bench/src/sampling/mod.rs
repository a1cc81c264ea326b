//! AtexRace against LiteRace and FastTrack: the experiment of atexrace.txt §5, on
//! programs made for it and on the test suite of a program from outside.
//!
//! `subject` says what is run and how, `campaign` does so execution after execution,
//! `tables` has what the paper prints, `plot` draws its figures.

mod campaign;
mod plot;
mod subject;
mod tables;

use std::path::PathBuf;
use std::process::ExitCode;
use std::{env, fs, io};

use campaign::Campaign;
use clap::Args;
use subject::Subject;

use crate::live;

/// Sampling: AtexRace against LiteRace, FastTrack and looking at nothing
#[derive(Args)]
pub(crate) struct Sampling {
    /// Executions of each program in each way
    #[arg(long, value_name = "N", default_value_t = 100)]
    executions: usize,

    /// Only programs whose names contain this
    #[arg(long, value_name = "TEXT", default_value = "")]
    programs: String,

    /// A test suite from outside, in place of the programs: a command for the shell that
    /// runs one case, which it finds in $CASE. The instrumented program must be built
    #[arg(long, value_name = "COMMAND", requires = "cases")]
    suite: Option<String>,

    /// The cases, one a line
    #[arg(long, value_name = "FILE", requires = "suite")]
    cases: Option<PathBuf>,

    /// Write the plots of Figures 8, 10 and 11 as a page
    #[arg(long, value_name = "FILE.html")]
    plot: Option<PathBuf>,

    /// Where to build the programs and keep their stores
    #[arg(long, default_value_os_t = env::temp_dir().join("racehound-bench-sampling"))]
    dir: PathBuf,
}

/// Why there is nothing to show.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error(transparent)]
    NotBuilt(#[from] live::Error),
    #[error("{program} cannot be run: {source}")]
    NotRun { program: String, source: io::Error },
    #[error("there is no program whose name contains '{0}'")]
    NoProgram(String),
}

impl Error {
    fn file(path: &std::path::Path) -> impl Fn(io::Error) -> Self + '_ {
        move |source| Self::File {
            path: path.to_owned(),
            source,
        }
    }
}

/// Runs everything and prints; fails if a condition of the paper's does not hold.
pub(crate) fn run(args: &Sampling) -> Result<ExitCode, Error> {
    let subjects = match (&args.suite, &args.cases) {
        (Some(command), Some(cases)) => vec![Subject::suite(command, cases, &args.dir)?],
        _ => Subject::programs(&args.programs, &args.dir, args.executions)?,
    };
    let mut campaigns = Vec::new();
    for subject in &subjects {
        let campaign = Campaign::run(subject).map_err(|source| Error::NotRun {
            program: subject.name.clone(),
            source,
        })?;
        campaigns.push(campaign);
    }
    println!("Table 1: CPU time, overhead over the runtime that does nothing, distinct races");
    print!("{}", tables::table_1(&campaigns).render());
    println!("Figure 9: races in all, by execution in which they were reported");
    print!("{}", tables::figure_9(&campaigns).render());
    println!("Figures 8 and 10: overhead of all executions so far (Eq. 1), in percent");
    print!("{}", tables::figure_8(&campaigns).render());
    println!("Figure 11 and §5.3.3: pairs of functions that have met, ever and 2-frequent");
    print!("{}", tables::figure_11(&campaigns).render());
    for campaign in &campaigns {
        for note in campaign.notes() {
            println!("Note: {note}");
        }
    }
    let (text, hold) = tables::conditions(&campaigns);
    print!("{text}");
    if let Some(path) = &args.plot {
        fs::write(path, plot::page(&campaigns)).map_err(Error::file(path))?;
        println!("Plots: {}", path.display());
    }
    Ok(match hold {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}
