//! How things are printed: colours, tables, lists, data for programs.

use std::fmt;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use anstyle::{AnsiColor, Style};
use clap::builder::Styles;
use serde::Serialize;

/// What is as it must be.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default().bold();
/// What is not.
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
/// What changes or waits.
pub(crate) const NOTE: Style = AnsiColor::Yellow.on_default();
/// What something is called.
pub(crate) const NAME: Style = AnsiColor::Cyan.on_default();
/// What one reads first.
pub(crate) const HEAD: Style = Style::new().bold();
/// What one reads last.
pub(crate) const DIM: Style = Style::new().dimmed();
/// No colour.
pub(crate) const PLAIN: Style = Style::new();

/// The colours of the help.
pub(crate) const HELP: Styles =
    Styles::styled().header(HEAD).usage(HEAD).literal(NAME).placeholder(Style::new());

/// No line of prose is longer than this.
const WIDTH: usize = 96;

/// How an answer is written.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, clap::ValueEnum)]
pub(crate) enum Format {
    /// For people
    #[default]
    Text,
    /// For programs
    Json,
    /// For programs and people
    Yaml,
}

/// The examples under a command's help.
macro_rules! examples {
    ($($command:literal => $why:literal),+ $(,)? $(; $more:literal)?) => {
        concat!(
            "\u{1b}[1mExamples:\u{1b}[0m",
            $("\n  ", $command, "\n      ", $why),+
            $(, "\n\n", $more)?
        )
    };
}
pub(crate) use examples;

/// Writes an answer for programs.
pub(crate) fn data(out: &mut dyn Write, format: Format, value: &impl Serialize) -> io::Result<()> {
    let text = match format {
        Format::Yaml => serde_saphyr::to_string(value).map_err(io::Error::other)?,
        Format::Json | Format::Text => {
            serde_json::to_string_pretty(value).map_err(io::Error::other)?
        }
    };
    writeln!(out, "{}", text.trim_end())
}

/// Whether the answer is for programs, which are told nothing beside it.
static FOR_PROGRAMS: AtomicBool = AtomicBool::new(false);

/// Says once how the answer is written.
pub(crate) fn answer_as(format: Format) {
    FOR_PROGRAMS.store(format != Format::Text, Ordering::Relaxed);
}

/// Says something to people that programs need not know.
pub(crate) fn note(line: impl fmt::Display) {
    if !FOR_PROGRAMS.load(Ordering::Relaxed) {
        aside(line);
    }
}

/// Says something beside the answer, on the standard error.
pub(crate) fn aside(line: impl fmt::Display) {
    // Nobody is left to be told when this cannot be printed.
    let _ = writeln!(anstream::stderr(), "{line}");
}

/// `1 job`, `12,000 jobs`.
pub(crate) fn plural(count: usize, thing: &str) -> String {
    let number = grouped(count);
    match (count, thing.strip_suffix('y'), thing.ends_with("ch")) {
        (1, _, _) => format!("{number} {thing}"),
        (_, Some(stem), _) if !stem.ends_with(['a', 'e', 'o', 'u']) => {
            format!("{number} {stem}ies")
        }
        (_, _, true) => format!("{number} {thing}es"),
        _ => format!("{number} {thing}s"),
    }
}

/// `102,400`.
pub(crate) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The first few of many, and how many more there are.
pub(crate) fn some<T: fmt::Display>(items: impl IntoIterator<Item = T>, most: usize) -> String {
    let items: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    let shown = items[..items.len().min(most)].join(", ");
    match items.len().saturating_sub(most) {
        0 => shown,
        more => format!("{shown} and {} more", grouped(more)),
    }
}

/// Prose in lines that begin with so many blanks.
pub(crate) fn wrapped(text: &str, indent: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() && indent + line.chars().count() + 1 + word.chars().count() > WIDTH {
            lines.push(format!("{:indent$}{line}", ""));
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if !line.is_empty() {
        lines.push(format!("{:indent$}{line}", ""));
    }
    lines
}

/// Rows whose columns stand below each other.
pub(crate) struct Table {
    indent: usize,
    rows: Vec<Vec<Cell>>,
}

/// One cell of a table.
pub(crate) struct Cell {
    style: Style,
    text: String,
    is_number: bool,
}

/// A cell of some text.
pub(crate) fn cell(text: impl fmt::Display) -> Cell {
    painted(PLAIN, text)
}

/// A cell of some text in a colour.
pub(crate) fn painted(style: Style, text: impl fmt::Display) -> Cell {
    Cell { style, text: text.to_string(), is_number: false }
}

/// A cell with a number, which stands on the right.
pub(crate) fn number(number: usize) -> Cell {
    Cell { style: PLAIN, text: grouped(number), is_number: true }
}

impl Table {
    /// A table without a head.
    pub(crate) const fn new(indent: usize) -> Self {
        Self { indent, rows: Vec::new() }
    }

    /// A table whose columns have these names.
    pub(crate) fn with_head(indent: usize, head: &[&str]) -> Self {
        let mut table = Self::new(indent);
        table.push(head.iter().map(|name| painted(DIM, name)).collect());
        table
    }

    /// Adds a row.
    pub(crate) fn push(&mut self, row: Vec<Cell>) {
        self.rows.push(row);
    }

    /// Writes all rows.
    pub(crate) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(Cell::width).max().unwrap_or(0)
        };
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let numbers: Vec<bool> = (0..columns)
            .map(|column| {
                let mut cells = self.rows.iter().filter_map(|row| row.get(column));
                cells.any(|cell| cell.is_number)
            })
            .collect();
        for row in &self.rows {
            write!(out, "{:1$}", "", self.indent)?;
            for (column, cell) in row.iter().enumerate() {
                let is_last = column + 1 == row.len();
                cell.write(out, widths[column], numbers[column], is_last)?;
            }
            writeln!(out)?;
        }
        Ok(())
    }
}

impl Cell {
    fn width(&self) -> usize {
        self.text.chars().count()
    }

    /// Blanks stand outside of the colour, and none at the end of a line.
    fn write(
        &self,
        out: &mut dyn Write,
        width: usize,
        to_the_right: bool,
        is_last: bool,
    ) -> io::Result<()> {
        let blanks = width - self.width();
        let (style, text) = (self.style, &self.text);
        if to_the_right {
            write!(out, "{:blanks$}", "")?;
        }
        write!(out, "{style}{text}{style:#}")?;
        if !to_the_right && !is_last {
            write!(out, "{:blanks$}", "")?;
        }
        if !is_last {
            write!(out, "  ")?;
        }
        Ok(())
    }
}
