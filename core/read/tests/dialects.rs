//! The page about dialects says what their descriptions say.

#![allow(clippy::unwrap_used, reason = "a text takes whatever is written into it")]

use std::fmt::Write;

use expect_test::expect_file;
use model::Dialect;

const BEGIN: &str = "\
# What is known of each dialect?
Who reads it, so that its rules count; what must be there; what passes over, and why; where it is \
read otherwise than it looks. A line that is neither understood nor listed here is an unknown line: \
a configuration with one is never cleared. This page is written from the descriptions in \
[core/read](../core/read/src/dialect.rs), and a test compares them.

A place is the block, file or element that a line stands in. `<class>` and `(one|other)` stand for \
one value.
";

#[test]
fn every_description_is_in_the_documents() {
    let mut page = BEGIN.to_owned();
    for dialect in Dialect::ALL {
        describe(dialect, &mut page);
    }
    expect_file!["../../../docs/dialects.md"].assert_eq(&page);
}

fn describe(dialect: Dialect, page: &mut String) {
    let read::Description { consumer, ignored, demanded, otherwise, .. } =
        read::description(dialect);
    write!(page, "\n## {dialect}\nRead by {consumer}.\n").unwrap();
    for sentence in *otherwise {
        writeln!(page, "- {sentence}").unwrap();
    }
    if !demanded.is_empty() {
        page.push_str("\n| must be there | where | or else |\n|---|---|---|\n");
    }
    for one in *demanded {
        let beside = match one.beside {
            "" => String::new(),
            line => format!(", where `{}` stands", cell(line)),
        };
        writeln!(page, "| `{}` | {}{beside} | {} |", cell(one.line), place(one.place), one.why)
            .unwrap();
    }
    page.push_str("\n| passes over | where | why |\n|---|---|---|\n");
    for one in *ignored {
        writeln!(page, "| `{}` | {} | {} |", cell(one.line), place(one.place), one.why).unwrap();
    }
}

fn place(place: &str) -> String {
    if place.is_empty() { "anywhere".into() } else { format!("`{}`", cell(place)) }
}

/// A bar would part the cells of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
