//! Whoever takes something away says so: by `--yes`, or at the keyboard.

use std::io::{self, IsTerminal};

use crate::words::Format;

/// Whether somebody at the keyboard agrees. Where nobody can be asked, nobody does.
pub(crate) fn is_agreed(format: Format) -> io::Result<bool> {
    if format != Format::Text || !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Ok(false);
    }
    anstream::eprint!("Go on? [y/N] ");
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
