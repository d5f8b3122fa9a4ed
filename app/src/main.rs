//! One subcommand for each room.
//!
//! Takes: arguments. Gives: words, and an exit code: 0 done, 1 refused or found, 2 broken, 64 wrong
//! usage. Never: thinks.

mod asking;
mod changes;
mod command;
mod configs;
mod demo;
mod documents;
mod ending;
mod evidence;
mod outlet;
mod passage;
mod runtime;
mod state;
mod words;

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use clap::{ColorChoice, Parser};

use command::Command;
use ending::{Ended, Stop};
use outlet::Outlet;

/// Keeps the tenants and jobs of a shared GPU cluster apart, and proves it.
///
/// Documents say what exists and what is wanted. From them Bulkhead plans the network of every
/// tenant and job, says it to each device in its own dialect, reads those very texts back and
/// proves that nobody can meet who must not. Only then does anything leave the house.
#[derive(Parser)]
#[command(
    name = "bulkhead",
    version,
    styles = words::HELP,
    max_term_width = 100,
    disable_help_subcommand = true,
    after_help = words::examples!(
        "bulkhead demo" => "see everything at work, in a few seconds",
        "bulkhead fleet generate --gpus 1024 --workload > cluster.yaml" => "make a cluster up",
        "bulkhead plan cluster.yaml" => "see what would change",
        "bulkhead apply cluster.yaml --to sim" => "prove it, then let simulated devices hold it",
        "bulkhead verify cluster.yaml --held" => "prove what the devices hold now";
        "Exit codes: 0 done, 1 refused or found, 2 broken, 64 wrong usage."
    ),
)]
struct Arguments {
    /// When to use colours
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value_t = ColorChoice::Auto,
        display_order = 900
    )]
    color: ColorChoice,

    #[command(subcommand)]
    command: Command,
}

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(usage) => return explain(&usage),
    };
    choose_colours(arguments.color);
    let format = arguments.command.format();
    words::answer_as(format, arguments.command.is_stream());
    let stdout = Outlet::new(anstream::stdout().lock(), arguments.command.is_endless());
    let mut out = BufWriter::new(stdout);
    let ended = arguments.command.run(&mut out);
    let ended = ended.and_then(|ended| out.flush().map(|()| ended).map_err(Stop::from));
    match ended {
        Ok(Ended::Done) => ExitCode::SUCCESS,
        Ok(Ended::Found) => ExitCode::from(1),
        Ok(Ended::Broken) => ExitCode::from(2),
        Err(stop) => stop.tell(format, &mut out),
    }
}

/// Help and version are answers; all else that clap says is about wrong usage.
fn explain(usage: &clap::Error) -> ExitCode {
    // Nobody is left to be told when this cannot be printed.
    let _ = usage.print();
    if usage.use_stderr() { ExitCode::from(64) } else { ExitCode::SUCCESS }
}

fn choose_colours(color: ColorChoice) {
    let choice = match color {
        ColorChoice::Auto => anstream::ColorChoice::Auto,
        ColorChoice::Always => anstream::ColorChoice::Always,
        ColorChoice::Never => anstream::ColorChoice::Never,
    };
    choice.write_global();
}

/// Whether the reader of our output went away, which is a normal end.
fn is_broken_pipe(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(io) = error.downcast_ref::<io::Error>() {
            return io.kind() == io::ErrorKind::BrokenPipe;
        }
        next = error.source();
    }
    false
}
