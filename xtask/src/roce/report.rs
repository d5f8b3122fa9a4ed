//! What was expected and what was seen, for the terminal and for the record.

use std::fs;

use super::supplies::Supplies;
use super::trial::{Expected, Round, Seen, Trial};
use crate::{Failure, shell};

/// The document that keeps the last result, and where in it.
const RECORD: &str = "docs/roce.md";
const HEADING: &str = "## Last result\n";

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
        let date = shell::output(&["date", "--utc", "+%F"]).unwrap_or_default();
        let host = shell::output(&["uname", "--kernel-release"]).unwrap_or_default();
        let result = format!(
            "{verdict} {}, host kernel {}; machines: {}.\n\n{HEAD}{}",
            date.trim(),
            host.trim(),
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

/// The document with another last result; it is the last thing there.
fn with_result(text: &str, result: &str) -> String {
    let before = text.split(HEADING).next().unwrap_or_default();
    format!("{before}{HEADING}{result}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_result_takes_the_place_of_the_old_one() {
        let first = with_result("# RoCE\n", "first\n");
        assert_eq!(first, "# RoCE\n## Last result\nfirst\n");
        assert_eq!(with_result(&first, "second\n"), "# RoCE\n## Last result\nsecond\n");
    }
}
