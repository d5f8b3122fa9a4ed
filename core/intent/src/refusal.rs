//! Where in which file something is wrong, and all that was found so far.

use std::fmt;

use serde::ser::{Serialize, SerializeStruct, Serializer};

use crate::Problem;
use crate::near::Nearest;
use crate::tree::Pos;

/// One reason why the documents are not accepted, and where.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Refusal {
    /// The file, as the caller named it.
    pub file: String,
    /// The line, from 1; 0 when the offender is what is missing from all files.
    pub line: u32,
    /// The column in characters, from 1; 0 like the line.
    pub column: u32,
    /// What is wrong, with the offenders.
    pub problem: Problem,
}

impl Refusal {
    /// A short word for the kind of problem, for machines.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        self.problem.code()
    }

    /// What to do about it: one sentence.
    #[must_use]
    pub fn remedy(&self) -> String {
        self.problem.remedy()
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(f, "{}:{}:{}: ", self.file, self.line, self.column)?;
        }
        write!(f, "{}. {}", self.problem, self.remedy())
    }
}

impl Serialize for Refusal {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Refusal", 6)?;
        fields.serialize_field("code", self.code())?;
        fields.serialize_field("file", &self.file)?;
        fields.serialize_field("line", &self.line)?;
        fields.serialize_field("column", &self.column)?;
        fields.serialize_field("problem", &self.problem.to_string())?;
        fields.serialize_field("remedy", &self.remedy())?;
        fields.end()
    }
}

/// A place in a file: where the other offender stands.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SourcePlace {
    /// The file, as the caller named it.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
}

impl fmt::Display for SourcePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// The refusals of one run while they are gathered.
pub(crate) struct Refusals {
    files: Vec<String>,
    found: Vec<(Pos, Problem)>,
    nearest: Nearest,
}

impl Refusals {
    /// About these files, in the order of their numbers.
    pub(crate) fn new(files: impl IntoIterator<Item = String>) -> Self {
        let files = files.into_iter().collect();
        Self { files, found: Vec::new(), nearest: Nearest::default() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// How many there are: whoever compares two counts knows whether its part was accepted.
    pub(crate) fn count(&self) -> usize {
        self.found.len()
    }

    pub(crate) fn refuse(&mut self, pos: Pos, problem: Problem) {
        self.found.push((pos, problem));
    }

    /// The place that a problem names as its other offender.
    pub(crate) fn place(&self, pos: Pos) -> SourcePlace {
        SourcePlace { file: self.file(pos), line: pos.line, column: pos.column }
    }

    /// The candidate that was probably meant.
    pub(crate) fn near<'a>(
        &mut self,
        word: &str,
        candidates: impl Iterator<Item = &'a str>,
    ) -> Option<String> {
        self.nearest.to(word, candidates)
    }

    pub(crate) fn sorted(mut self) -> Vec<Refusal> {
        // The sort is stable: two problems of one place stay in the order they were found.
        self.found.sort_by_key(|(pos, _)| *pos);
        let found = std::mem::take(&mut self.found);
        found
            .into_iter()
            .map(|(pos, problem)| Refusal {
                file: self.file(pos),
                line: pos.line,
                column: pos.column,
                problem,
            })
            .collect()
    }

    fn file(&self, pos: Pos) -> String {
        // `Pos::NOWHERE` has no file: what it is about stands in none.
        self.files.get(pos.file as usize).cloned().unwrap_or_default()
    }
}
