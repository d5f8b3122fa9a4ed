//! `bulkhead completions`: what a shell needs to complete commands.

use std::io::{self, Write};

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::Arguments;
use crate::ending::{Ended, Stop};
use crate::words::examples;

/// Print the completions for a shell
#[derive(Args)]
#[command(after_help = examples!(
    "bulkhead completions bash > ~/.local/share/bash-completion/completions/bulkhead"
        => "for bash, from the next shell on",
    "bulkhead completions zsh > ~/.zfunc/_bulkhead"
        => "for zsh, if ~/.zfunc is in its fpath",
))]
pub(crate) struct Completions {
    /// Which shell
    shell: Shell,
}

impl Completions {
    pub(super) fn run(&self, out: &mut dyn Write) -> Result<Ended, Stop> {
        // The generator panics when it cannot write, so it writes to memory first.
        let mut text = Vec::new();
        clap_complete::generate(self.shell, &mut Arguments::command(), "bulkhead", &mut text);
        io::copy(&mut text.as_slice(), out)?;
        Ok(Ended::Done)
    }
}
