//! What was expected and what was seen, for the terminal and for the record.

use std::fs;

use super::trial::{Expected, Round, Seen, Trial};
use crate::guest::{Supplies, here_and_now, with_result};
use crate::{Failure, shell};

/// The document that keeps the last result.
const RECORD: &str = "docs/roce.md";

const HEAD: &str = "| between | from | to | tool | over | expected | seen | |\n\
                    |---|---|---|---|---|---|---|---|\n";

/// The table, row by row.
pub(super) struct Report {
    versions: Vec<String>,
    rows: String,
    count: usize,
    wrong: usize,
}

impl Report {
    pub(super) fn new(supplies: &Supplies) -> Self {
        print!("{HEAD}");
        Self { versions: supplies.versions(), rows: String::new(), count: 0, wrong: 0 }
    }

    /// Prints a row, and remembers it.
    pub(super) fn add(&mut self, trial: &Trial, round: &Round, seen: &Seen) {
        let is_right = seen.is(trial.expected);
        let row = format!(
            "| {} | {} | {} | `{}` | {} | {} | {} | {} |\n",
            trial.what,
            trial.ends[round.client],
            trial.ends[round.server],
            round.tool.program(),
            round.family.name(),
            in_words(trial.expected),
            seen.in_words(),
            if is_right { "as expected" } else { "**WRONG**" },
        );
        print!("{row}");
        self.rows += &row;
        self.count += 1;
        self.wrong += usize::from(!is_right);
    }

    /// Says what came of it, and writes it down if somebody wants that.
    pub(super) fn end(self, record: bool) -> Result<(), Failure> {
        let verdict = format!("{} of {} as expected.", self.count - self.wrong, self.count);
        println!("{verdict}");
        if record {
            self.record(&verdict)?;
        }
        if self.wrong == 0 { Ok(()) } else { Err(Failure::Found) }
    }

    fn record(&self, verdict: &str) -> Result<(), Failure> {
        let path = shell::root()?.join(RECORD);
        let broken = |cause| Failure::Broken(format!("cannot write {RECORD}: {cause}"));
        let text = fs::read_to_string(&path).map_err(broken)?;
        let (date, host) = here_and_now();
        let result = format!(
            "{verdict} {date}, host kernel {host}; machines: {}.\n\n{HEAD}{}",
            self.versions.join(", "),
            self.rows
        );
        fs::write(&path, with_result(&text, &result)).map_err(broken)
    }
}

fn in_words(expected: Expected) -> String {
    match expected {
        Expected::Passes => "passes".to_owned(),
        Expected::Dropped(reason) => format!("fails: `{reason}`"),
    }
}
