//! Virtual machines that take wishes, made of nothing that is installed here.

mod machine;
mod supplies;

pub(crate) use machine::{Answer, Machine};
pub(crate) use supplies::{Kit, Newer, Supplies};

use crate::{Failure, shell};

/// Runs a command line that no result can be had without.
pub(crate) fn must(line: &[&str]) -> Result<(), Failure> {
    shell::run(line).map_err(|failure| match failure {
        Failure::Found => Failure::Broken(format!("`{}` failed", line.join(" "))),
        other => other,
    })
}

/// The document with another last result; it is the last thing there.
pub(crate) fn with_result(text: &str, result: &str) -> String {
    const HEADING: &str = "## Last result\n";
    let before = text.split(HEADING).next().unwrap_or_default();
    format!("{before}{HEADING}{result}")
}

/// The date, and this machine's kernel without what only its builder understands: `6.18`.
pub(crate) fn here_and_now() -> (String, String) {
    let said = |line: &[&str]| shell::output(line).unwrap_or_default().trim().to_owned();
    let kernel = said(&["uname", "--kernel-release"]);
    let kernel: Vec<&str> = kernel.split('.').take(2).collect();
    (said(&["date", "--utc", "+%F"]), kernel.join("."))
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
