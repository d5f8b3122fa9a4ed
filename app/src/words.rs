//! How things are printed: colours, tables, lists, data for programs.

use std::fmt;
use std::io::{self, IsTerminal as _, Write};
use std::sync::OnceLock;
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

/// No line of prose is longer than this: longer ones are hard to read.
const WIDTH: usize = 96;
/// What a terminal has that does not say.
const USUAL_COLUMNS: usize = 80;
/// Words do not fit into less.
const FEWEST_COLUMNS: usize = 40;

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

/// Writes an answer for programs, or one value of a stream: a line of JSON, a document of YAML.
pub(crate) fn data(out: &mut dyn Write, format: Format, value: &impl Serialize) -> io::Result<()> {
    let is_stream = IS_STREAM.load(Ordering::Relaxed);
    let text = match format {
        Format::Yaml => serde_saphyr::to_string(value).map_err(io::Error::other)?,
        Format::Json | Format::Text if is_stream => serde_json::to_string(value)?,
        Format::Json | Format::Text => serde_json::to_string_pretty(value)?,
    };
    if is_stream && format == Format::Yaml {
        writeln!(out, "---")?;
    }
    writeln!(out, "{}", text.trim_end())
}

/// Whether the answer is for programs, which are told nothing beside it.
static FOR_PROGRAMS: AtomicBool = AtomicBool::new(false);
/// Whether it is one value after the other, as they come.
static IS_STREAM: AtomicBool = AtomicBool::new(false);

/// Says once how the answer is written.
pub(crate) fn answer_as(format: Format, is_stream: bool) {
    FOR_PROGRAMS.store(format != Format::Text, Ordering::Relaxed);
    IS_STREAM.store(is_stream, Ordering::Relaxed);
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
    match (count, thing.strip_suffix('y'), thing.ends_with("ch") || thing.ends_with("ss")) {
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

/// How many columns the terminal has; none where the answer goes into a pipe or a file, in which
/// nothing depends on who looks.
fn columns() -> Option<usize> {
    static COLUMNS: OnceLock<Option<usize>> = OnceLock::new();
    *COLUMNS.get_or_init(|| {
        let stdout = io::stdout();
        let size = terminal_size::terminal_size_of(&stdout);
        stdout.is_terminal().then(|| columns_of(size.map(|(width, _)| width.0.into())))
    })
}

/// A terminal that says nothing, or 0, has the usual width.
fn columns_of(said: Option<usize>) -> usize {
    said.filter(|said| *said > 0).unwrap_or(USUAL_COLUMNS).max(FEWEST_COLUMNS)
}

/// Prose in lines that begin with so many blanks.
pub(crate) fn wrapped(text: &str, indent: usize) -> Vec<String> {
    wrapped_to(text, indent, columns().unwrap_or(WIDTH).min(WIDTH))
}

fn wrapped_to(text: &str, indent: usize, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() && indent + line.chars().count() + 1 + word.chars().count() > width {
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
        self.write_to(columns(), out)
    }

    /// Where a row is wider than this, its last cell goes on in lines of its own.
    fn write_to(&self, room: Option<usize>, out: &mut dyn Write) -> io::Result<()> {
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
            let Some((last, before)) = row.split_last() else { continue };
            write!(out, "{:1$}", "", self.indent)?;
            for (column, cell) in before.iter().enumerate() {
                cell.write(out, widths[column], numbers[column])?;
                write!(out, "  ")?;
            }
            let start =
                self.indent + widths.iter().take(before.len()).map(|it| it + 2).sum::<usize>();
            let room = room.map(|room| room.saturating_sub(start)).filter(|_| !last.is_number);
            match room.filter(|room| (FEWEST_TO_WRAP..last.width()).contains(room)) {
                Some(room) => last.write_wrapped(out, start, room)?,
                None => last.write_last(out, widths[before.len()], numbers[before.len()])?,
            }
            writeln!(out)?;
        }
        Ok(())
    }
}

/// A column that has less is not made narrower: its words would stand below each other.
const FEWEST_TO_WRAP: usize = 16;

impl Cell {
    fn width(&self) -> usize {
        self.text.chars().count()
    }

    /// Blanks stand outside of the colour.
    fn write(&self, out: &mut dyn Write, width: usize, to_the_right: bool) -> io::Result<()> {
        let blanks = width - self.width();
        if to_the_right {
            return self.write_last(out, width, true);
        }
        let (style, text) = (self.style, &self.text);
        write!(out, "{style}{text}{style:#}{:blanks$}", "")
    }

    /// No blanks stand at the end of a line.
    fn write_last(&self, out: &mut dyn Write, width: usize, to_the_right: bool) -> io::Result<()> {
        let blanks = if to_the_right { width - self.width() } else { 0 };
        let (style, text) = (self.style, &self.text);
        write!(out, "{:blanks$}{style}{text}{style:#}", "")
    }

    /// In so much room, from this column on.
    fn write_wrapped(&self, out: &mut dyn Write, start: usize, room: usize) -> io::Result<()> {
        let style = self.style;
        for (place, line) in wrapped_to(&self.text, 0, room).iter().enumerate() {
            if place > 0 {
                write!(out, "\n{:start$}", "")?;
            }
            write!(out, "{style}{line}{style:#}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(room: Option<usize>) -> String {
        let mut table = Table::with_head(2, &["device", "count", "says"]);
        let says = "this is more than fits into a narrow terminal, so it goes on below";
        table.push(vec![cell("leaf-1"), number(12), cell(says)]);
        table.push(vec![cell("a"), number(1), cell("little")]);
        let mut out = Vec::new();
        table.write_to(room, &mut out).unwrap();
        String::from_utf8(out).unwrap().replace("\u{1b}[2m", "").replace("\u{1b}[0m", "")
    }

    #[test]
    fn a_table_suits_its_terminal_and_a_pipe_gets_whole_lines() {
        let expected = "  \
  device  count  says
  leaf-1     12  this is more than
                 fits into a narrow
                 terminal, so it
                 goes on below
  a           1  little
";
        assert_eq!(written(Some(36)), expected);
        assert_eq!(written(None), written(Some(100)));
        assert_eq!(written(None).lines().count(), 3);
        assert_eq!(written(Some(20)), written(None), "too narrow to be of any use");
    }

    #[test]
    fn prose_is_as_wide_as_the_terminal_and_never_too_wide() {
        assert_eq!(wrapped_to("one two three", 2, 9), ["  one two", "  three"]);
        assert_eq!([None, Some(0), Some(12), Some(132)].map(columns_of), [80, 80, 40, 132]);
    }
}
