//! In which forms findings are wanted, and where they go.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anstream::adapter::strip_str;
use clap::{Args as ClapArgs, ValueEnum};
use racehound_report::edition::Edition;
use racehound_report::{github, html, junit, sarif, tsan};

use crate::error::Error;
use crate::output;

/// A form of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// For people at a terminal
    Text,
    /// Everything, for programs
    Json,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// One page with everything in it, for browsers
    Html,
    /// JUnit XML, for test reports
    Junit,
    /// Annotations of GitHub's workflows
    Github,
    /// ThreadSanitizer's layout
    Tsan,
}

/// A form, and where it goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wish {
    pub(crate) form: Form,
    pub(crate) file: Option<PathBuf>,
}

impl FromStr for Wish {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let (name, file) = match word.split_once('=') {
            Some((name, file)) => (name, Some(file)),
            None => (word, None),
        };
        let form = Form::from_str(name, false).map_err(|_| {
            let known = Form::value_variants().iter();
            let known =
                known.filter_map(|form| Some(form.to_possible_value()?.get_name().to_owned()));
            format!("it is none of {}", known.collect::<Vec<_>>().join(", "))
        })?;
        match file {
            Some("") => Err(format!("which file? {name}= wants a name behind it")),
            // As everywhere, that is standard output.
            Some("-") | None => Ok(Self { form, file: None }),
            Some(file) => Ok(Self {
                form,
                file: Some(file.into()),
            }),
        }
    }
}

/// What the command line says about it.
#[derive(Clone, Debug, Default, ClapArgs)]
pub(crate) struct Outputs {
    /// In which form findings are told: text, json, sarif, html, junit, github or tsan. With =FILE
    /// they go there, beside what is told here; may be given several times
    #[arg(long, value_name = "FORMAT[=FILE]")]
    format: Vec<Wish>,

    /// The same as --format json=FILE; - is standard output
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

impl Outputs {
    fn wishes(&self) -> impl Iterator<Item = Wish> + '_ {
        let json = self.json.iter().map(|file| Wish {
            form: Form::Json,
            file: (file != Path::new("-")).then(|| file.clone()),
        });
        self.format.iter().cloned().chain(json)
    }

    /// The form that is wanted here and now; none if nothing is said about it.
    pub(crate) fn here(&self) -> Result<Option<Form>, Error> {
        let mut forms: Vec<Form> = self
            .wishes()
            .filter(|wish| wish.file.is_none())
            .map(|wish| wish.form)
            .collect();
        forms.dedup();
        match forms[..] {
            [] => Ok(None),
            [form] => Ok(Some(form)),
            _ => Err(Error::Wish(
                "only one format can go to standard output; name files for the others, as in \
                 --format sarif=findings.sarif"
                    .to_owned(),
            )),
        }
    }

    /// Whether it makes sense and the files can be written, as far as that is to be seen
    /// before.
    pub(crate) fn check(&self) -> Result<(), Error> {
        self.here()?;
        for file in self.wishes().filter_map(|wish| wish.file) {
            let directory = std::path::absolute(&file).map_err(Error::file(&file))?;
            let directory = directory.parent().unwrap_or(Path::new("/"));
            let refused =
                |path: &Path, code| Err(Error::file(path)(io::Error::from_raw_os_error(code)));
            if file.is_dir() {
                return refused(&file, libc::EISDIR);
            }
            if !fs::metadata(directory)
                .map_err(Error::file(directory))?
                .is_dir()
            {
                return refused(directory, libc::ENOTDIR);
            }
        }
        Ok(())
    }

    /// Whether something is to be written to a file.
    pub(crate) fn has_files(&self) -> bool {
        self.wishes().any(|wish| wish.file.is_some())
    }

    /// The file for JSON.
    pub(crate) fn json(&self) -> Option<PathBuf> {
        let mut wishes = self.wishes().filter(|wish| wish.form == Form::Json);
        wishes.find_map(|wish| wish.file)
    }

    /// Writes the files.
    pub(crate) fn write_files(&self, edition: &Edition<'_>, text: &str) -> Result<(), Error> {
        for Wish { form, file } in self.wishes() {
            if let Some(file) = file {
                let rendered = render(form, edition, text);
                output::write(&file, &strip(form, rendered))?;
            }
        }
        Ok(())
    }

    /// Tells what is wanted here, on standard output, and writes the files.
    pub(crate) fn publish(&self, edition: &Edition<'_>, text: &str) -> Result<(), Error> {
        let form = self.here()?.unwrap_or(Form::Text);
        // Findings are findings, also if nobody reads them to the end.
        match show(&render(form, edition, text), form) {
            Err(Error::OutputClosed) => {}
            shown => shown?,
        }
        self.write_files(edition, text)
    }
}

/// A text may have colours; what is for programs goes as it is.
fn show(rendered: &str, form: Form) -> Result<(), Error> {
    match form {
        Form::Text => output::show(rendered),
        _ => {
            let mut out = std::io::stdout().lock();
            let written = out
                .write_all(rendered.as_bytes())
                .and_then(|()| out.flush());
            written.map_err(Error::file(Path::new("standard output")))
        }
    }
}

fn strip(form: Form, rendered: String) -> String {
    match form {
        Form::Text => strip_str(&rendered).to_string(),
        _ => rendered,
    }
}

/// The report in a form; as text it is what the command has to say.
pub(crate) fn render(form: Form, edition: &Edition<'_>, text: &str) -> String {
    match form {
        Form::Text => text.to_owned(),
        Form::Json => output::json(edition.report),
        Form::Sarif => sarif::render(edition),
        Form::Html => html::render(edition),
        Form::Junit => junit::render(edition),
        Form::Github => github::render(edition),
        Form::Tsan => tsan::render(edition),
    }
}

/// The directory that files are named from: where the project is kept, else where the
/// command is run.
pub(crate) fn root(directory: &Path) -> PathBuf {
    let is_kept = |path: &&Path| path.join(".git").exists();
    let kept = directory.ancestors().find(is_kept);
    kept.unwrap_or(directory).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wish_is_a_form_and_perhaps_a_file() {
        let wish: Wish = "sarif=a=b.sarif".parse().unwrap();
        assert_eq!(wish.file, Some("a=b.sarif".into()));
        assert_eq!("github".parse::<Wish>().unwrap().file, None);
        assert_eq!("json=-".parse::<Wish>().unwrap().file, None);
        assert!("pdf".parse::<Wish>().unwrap_err().contains("sarif, html"));
        assert!("html=".parse::<Wish>().unwrap_err().contains("which file"));
    }

    #[test]
    fn standard_output_has_room_for_one() {
        let outputs = |words: &[&str], json: Option<&str>| Outputs {
            format: words.iter().map(|word| word.parse().unwrap()).collect(),
            json: json.map(PathBuf::from),
        };
        assert_eq!(outputs(&[], None).here().unwrap(), None);
        assert_eq!(
            outputs(&["html=x"], Some("-")).here().unwrap(),
            Some(Form::Json)
        );
        assert!(outputs(&["github"], Some("-")).here().is_err());
        assert_eq!(outputs(&["json=x"], None).json(), Some("x".into()));
    }
}
