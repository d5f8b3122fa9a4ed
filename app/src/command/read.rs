//! `bulkhead read`: what a device's configuration lets through, line by line.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use model::{Dialect, Part};
use read::{Ignored, Lacking, Reading};
use serde::Serialize;

use super::Output;
use crate::documents::text_of;
use crate::ending::{Ended, Stop};
use crate::words::{
    self, BAD, DIM, Format, GOOD, HEAD, Table, cell, examples, number, painted, plural,
};

/// Tell what a device's text lets through, line by line
///
/// A line that is neither understood nor on the explicit list of lines that are none of our
/// business is unknown; the exit code is then 1, because nothing can be proved about such a text.
#[derive(Args)]
#[command(after_help = examples!(
    "bulkhead read --dialect nxos leaf-1.conf" => "what the configuration of leaf-1 says",
    "bulkhead render cluster.yaml --device leaf-3 --dialect table | bulkhead read --dialect table -"
        => "the packet program's policy, read back",
    "bulkhead read --dialect nxos --ignored leaf-1.conf" => "which lines are left out, and why",
))]
pub(crate) struct Read {
    /// The language of the text: frr, nxos, linux or table
    #[arg(long, value_name = "DIALECT")]
    dialect: Dialect,
    /// The text, or `-` for the standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Show the lines that are none of our business, and the dialect's list of them
    #[arg(long)]
    ignored: bool,
    #[command(flatten)]
    pub(super) output: Output,
}

#[derive(Serialize)]
struct Answer<'a> {
    dialect: Dialect,
    claims: Vec<ClaimView>,
    unknown: Vec<UnknownView<'a>>,
    ignored: Vec<LineView<'a>>,
    lacking: Vec<LackingView<'a>>,
    ignores: Vec<IgnoredView>,
}

/// A line that must be there and is not.
#[derive(Serialize)]
struct LackingView<'a> {
    text: &'a str,
    why: &'static str,
}

impl<'a> LackingView<'a> {
    fn of(lacking: &'a Lacking) -> Self {
        Self { text: &lacking.text, why: lacking.why }
    }
}

/// A line that is none of our business, as a pattern.
#[derive(Serialize)]
struct IgnoredView {
    place: &'static str,
    line: &'static str,
    why: &'static str,
}

impl IgnoredView {
    const fn of(ignored: &Ignored) -> Self {
        let Ignored { place, line, why, .. } = ignored;
        Self { place, line, why }
    }
}

#[derive(Serialize)]
struct ClaimView {
    line: u32,
    says: String,
}

#[derive(Serialize)]
struct UnknownView<'a> {
    line: u32,
    text: &'a str,
    why: &'static str,
}

#[derive(Serialize)]
struct LineView<'a> {
    line: u32,
    text: &'a str,
}

impl Read {
    pub(super) fn run(&self, out: &mut dyn Write) -> Result<Ended, Stop> {
        let text = text_of(&self.file)?;
        let reading = read::part(self.dialect, &Part::Whole, &text);
        if self.output.format != Format::Text {
            words::data(out, self.output.format, &self.answer(&reading, &text))?;
        } else if self.ignored {
            self.write_ignored(&reading, &text, out)?;
        } else {
            write_claims(&reading, out)?;
        }
        let is_whole = reading.unknown.is_empty() && reading.lacking.is_empty();
        Ok(if is_whole { Ended::Done } else { Ended::Found })
    }

    fn answer<'a>(&self, reading: &'a Reading, text: &'a str) -> Answer<'a> {
        let claims = reading
            .claims
            .iter()
            .map(|claim| ClaimView { line: claim.line, says: claim.fact.to_string() });
        let unknown = reading.unknown.iter().map(|unknown| UnknownView {
            line: unknown.line,
            text: unknown.text.trim(),
            why: unknown.why,
        });
        Answer {
            dialect: self.dialect,
            claims: claims.collect(),
            unknown: unknown.collect(),
            ignored: lines_of(text, &reading.ignored),
            lacking: reading.lacking.iter().map(LackingView::of).collect(),
            ignores: read::description(self.dialect).ignored.iter().map(IgnoredView::of).collect(),
        }
    }

    fn write_ignored(
        &self,
        reading: &Reading,
        text: &str,
        out: &mut dyn Write,
    ) -> Result<(), Stop> {
        let dialect = self.dialect;
        writeln!(out, "{HEAD}Lines of this text that are none of our business{HEAD:#}")?;
        let mut table = Table::new(2);
        for line in lines_of(text, &reading.ignored) {
            table.push(vec![number(line.line as usize), cell(line.text)]);
        }
        table.write(out)?;
        writeln!(out, "{HEAD}All such lines of {dialect}{HEAD:#}")?;
        let ignores = read::description(dialect).ignored;
        let mut table = Table::new(2);
        for ignored in ignores {
            let Ignored { place, line, why, .. } = ignored;
            table.push(vec![cell(*place), cell(*line), painted(DIM, *why)]);
        }
        table.write(out)?;
        let here = plural(reading.ignored.len(), "line");
        let kinds = plural(ignores.len(), "kind");
        writeln!(out, "Ignored {here} of {kinds} that {dialect} may have.")?;
        Ok(())
    }
}

fn lines_of<'a>(text: &'a str, numbers: &[u32]) -> Vec<LineView<'a>> {
    let lines: Vec<&str> = text.lines().collect();
    let line = |&line: &u32| {
        let text = lines.get((line as usize).checked_sub(1)?)?.trim();
        Some(LineView { line, text })
    };
    numbers.iter().filter_map(line).collect()
}

fn write_claims(reading: &Reading, out: &mut dyn Write) -> Result<(), Stop> {
    let mut table = Table::new(0);
    for claim in &reading.claims {
        table.push(vec![number(claim.line as usize), cell(claim.fact.to_string())]);
    }
    for unknown in &reading.unknown {
        let text = format!("unknown `{}`: {}", unknown.text.trim(), unknown.why);
        table.push(vec![number(unknown.line as usize), painted(BAD, text)]);
    }
    for lacking in &reading.lacking {
        let text = format!("no line `{}`: {}", lacking.text, lacking.why);
        table.push(vec![cell(""), painted(BAD, text)]);
    }
    table.write(out)?;
    let claims = plural(reading.claims.len(), "claim");
    let ignored = plural(reading.ignored.len(), "line");
    let ignored = format!("{DIM}; {ignored} ignored, see --ignored{DIM:#}");
    let unknown = plural(reading.unknown.len(), "unknown line");
    match (reading.unknown.len(), reading.lacking.len()) {
        (0, 0) => writeln!(out, "{GOOD}Read{GOOD:#}: {claims}, no unknown line{ignored}")?,
        (_, 0) => writeln!(out, "{BAD}Not read{BAD:#}: {unknown}, {claims}{ignored}")?,
        (_, some) => {
            let missing = plural(some, "missing line");
            writeln!(out, "{BAD}Not read{BAD:#}: {unknown}, {missing}, {claims}{ignored}")?;
        }
    }
    Ok(())
}
