//! How a command ends.

use std::error::Error;
use std::io::Write;
use std::process::ExitCode;

use bulkhead_agent::chain;
use control::{JournalError, NoDraft, RefusedPlan};
use intent::Key;
use serde::Serialize;
use store::{AppendError, ReadError};

use crate::is_broken_pipe;
use crate::words::{self, BAD, DIM, Format, NAME, plural, wrapped};

/// The end of a command that had its say.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Ended {
    /// All is as it must be.
    Done,
    /// Something is not, and was told.
    Found,
    /// The world failed us, so that there is no whole answer, and that was told.
    Broken,
}

/// Why a command stopped before its end.
pub(crate) enum Stop {
    /// What was asked for cannot be.
    Refused(Vec<Refusal>),
    /// The world failed us.
    Broken(Box<dyn Error>),
}

/// One reason why something cannot be, from whichever room it comes.
#[derive(Debug, Serialize)]
pub(crate) struct Refusal {
    /// A short word for programs.
    code: &'static str,
    /// File, line and column.
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<String>,
    problem: String,
    remedy: String,
}

impl From<plan::PlanRefusal> for Refusal {
    fn from(refusal: plan::PlanRefusal) -> Self {
        Self {
            code: refusal.code(),
            place: None,
            problem: refusal.to_string(),
            remedy: refusal.remedy(),
        }
    }
}

impl<E: Error + 'static> From<E> for Stop {
    fn from(error: E) -> Self {
        Self::Broken(Box::new(error))
    }
}

impl Stop {
    /// There is nothing to plan.
    pub(crate) fn no_draft(none: NoDraft) -> Self {
        match none {
            NoDraft::Documents(refusals) => Self::documents(refusals),
            NoDraft::Plan(refusals) => Self::refused(refusals),
            NoDraft::NotThere(keys) => Self::Refused(keys.iter().map(not_there).collect()),
            NoDraft::Nothing => Self::argument(
                "nothing-asked",
                "nobody asked for anything yet: the log holds no documents".into(),
                "name the files or folders with your documents; `--state DIR` names another log",
            ),
            NoDraft::Stale => Self::argument(
                "plan-stale",
                "the log moved on: the kept plan would come to something else now".into(),
                "plan again with `plan --out FILE`; without FILES `apply` sends what was taken \
                 already",
            ),
            NoDraft::Journal(error) => error.into(),
        }
    }
}

/// What was to be taken away.
fn not_there(key: &Key) -> Refusal {
    Refusal {
        code: "not-there",
        place: None,
        problem: format!("{key} is not among the documents"),
        remedy: "`bulkhead get` lists them".into(),
    }
}

impl Stop {
    /// The documents are not accepted.
    pub(crate) fn documents(refusals: Vec<intent::Refusal>) -> Self {
        let refusals = refusals.into_iter().map(|refusal| Refusal {
            code: refusal.code(),
            place: (refusal.line > 0)
                .then(|| format!("{}:{}:{}", refusal.file, refusal.line, refusal.column)),
            problem: refusal.problem.to_string(),
            remedy: refusal.remedy(),
        });
        Self::Refused(refusals.collect())
    }

    /// There is no such plan. What is about room alone comes last and may follow from the others.
    fn refused(refusals: Vec<RefusedPlan>) -> Self {
        let is_alone = refusals.iter().all(|one| one.refusal.is_of_room());
        let refusals = refusals.into_iter().map(|RefusedPlan { place, refusal }| {
            let is_echo = !is_alone && refusal.is_of_room();
            let place = place.map(|place| place.to_string());
            let mut refusal = Refusal { place, ..Refusal::from(refusal) };
            if is_echo {
                refusal.remedy =
                    format!("see to the others first: this may follow; {}", refusal.remedy);
            }
            refusal
        });
        Self::Refused(refusals.collect())
    }

    /// There is no such plan.
    pub(crate) fn plan(refusals: Vec<plan::PlanRefusal>) -> Self {
        Self::Refused(refusals.into_iter().map(Refusal::from).collect())
    }

    /// The command line names something that does not exist, or that makes no sense.
    pub(crate) fn argument(code: &'static str, problem: String, remedy: &str) -> Self {
        Self::Refused(vec![Refusal { code, place: None, problem, remedy: remedy.to_owned() }])
    }

    /// Tells why, to people on the standard error and to programs on the standard output.
    pub(crate) fn tell(self, format: Format, out: &mut dyn Write) -> ExitCode {
        match self {
            Self::Refused(refusals) => {
                if format == Format::Text {
                    tell_refusals(&refusals);
                } else {
                    // Nobody is left to be told when this cannot be printed.
                    let _ = words::data(out, format, &Refused { refused: &refusals });
                    let _ = out.flush();
                }
                ExitCode::from(1)
            }
            Self::Broken(error) if is_broken_pipe(&*error) => ExitCode::SUCCESS,
            Self::Broken(error) => {
                let remedy = remedy(&*error);
                if format != Format::Text {
                    let broken = Broken { broken: chain(&*error), remedy: remedy.clone() };
                    // Nobody is left to be told when this cannot be printed.
                    let _ = words::data(out, format, &broken);
                    let _ = out.flush();
                }
                words::aside(format_args!("{BAD}Broken{BAD:#}: {}", chain(&*error)));
                for line in remedy.iter().flat_map(|remedy| wrapped(&sentence(remedy), 2)) {
                    words::aside(format_args!("{DIM}{line}{DIM:#}"));
                }
                ExitCode::from(2)
            }
        }
    }
}

#[derive(Serialize)]
struct Broken {
    broken: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
}

#[derive(Serialize)]
struct Refused<'a> {
    refused: &'a [Refusal],
}

/// Each begins with its place as compilers write it, so that editors can go there.
fn tell_refusals(refusals: &[Refusal]) {
    for refusal in refusals {
        let place = refusal.place.as_ref().map(|place| format!("{place}: "));
        let place = place.unwrap_or_default();
        let problem = wrapped(&format!("{place}{}", sentence(&refusal.problem)), 2).join("\n");
        let problem = problem.trim_start();
        let problem = problem.strip_prefix(&place).unwrap_or(problem);
        words::aside(format_args!("{NAME}{place}{NAME:#}{problem}"));
        for line in wrapped(&sentence(&refusal.remedy), 2) {
            words::aside(format_args!("{DIM}{line}{DIM:#}"));
        }
    }
    let count = plural(refusals.len(), "refusal");
    words::aside(format_args!("{BAD}Refused{BAD:#}: {count}, and nothing was done."));
}

/// A whole sentence, wherever it comes from. A name at its beginning keeps its letters, so that one
/// can search for it.
fn sentence(text: &str) -> String {
    let first = text.split_whitespace().next().unwrap_or_default();
    let is_word = first.bytes().all(|byte| byte.is_ascii_lowercase() || b",':".contains(&byte));
    let end = if text.ends_with(['.', '!', '?']) { "" } else { "." };
    if !is_word {
        return format!("{text}{end}");
    }
    let mut letters = text.chars();
    let first = letters.next().map(char::to_uppercase);
    first.into_iter().flatten().chain(letters).chain(end.chars()).collect()
}

/// What to do about it, where that is known: of the log alone.
fn remedy(error: &(dyn Error + 'static)) -> Option<String> {
    let mut next = Some(error);
    while let Some(error) = next {
        let journal = error.downcast_ref::<JournalError>().map(JournalError::remedy);
        let remedy = journal
            .or_else(|| error.downcast_ref::<ReadError>().map(ReadError::remedy))
            .or_else(|| error.downcast_ref::<AppendError>().map(AppendError::remedy));
        if remedy.is_some() {
            return remedy;
        }
        next = error.source();
    }
    None
}
