//! The documents in force, from the log alone.

use std::io::{self, Write};

use clap::Args;
use control::StandingDocument;
use intent::Key;
use serde::Serialize;
use serde_json::Value;

use super::Output;
use crate::ending::{Ended, Stop};
use crate::state::State;
use crate::words::{self, DIM, Format, NAME, Table, cell, examples, painted};

/// Show the documents in force: what is asked for, who asked for it, and when
///
/// They are read from the log alone, as they were accepted. What `-o yaml` or `-o json` prints is
/// documents again, which `plan` and `apply` take.
#[derive(Args)]
#[command(after_help = examples!(
    "bulkhead get" => "all documents, with the file they came from",
    "bulkhead get jobs" => "those of one kind: fleet, tenants, guardrails, jobs, permits",
    "bulkhead get job red/train -o yaml" => "one of them as it was written",
    "bulkhead get -o yaml > all.yaml" => "everything that is asked for, to edit and apply",
    "bulkhead get --state BACKUP" => "what a copy of the log asks for",
))]
pub(crate) struct Get {
    /// Only this kind: fleet, tenants, guardrails, jobs or permits
    #[arg(value_name = "KIND")]
    kind: Option<String>,
    /// Only this one: `red` of the tenants, `red/train` of the jobs
    #[arg(value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    state: State,
    #[command(flatten)]
    pub(super) output: Output,
}

/// Documents for programs, as kubectl writes lists.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct List {
    api_version: &'static str,
    kind: &'static str,
    items: Vec<Value>,
}

impl Get {
    pub(super) fn run(&self, out: &mut dyn Write) -> Result<Ended, Stop> {
        let kind = self.kind.as_deref().map(kind_of).transpose()?;
        let mut documents = self.state.look()?.documents()?;
        documents.retain(|document| kind.is_none_or(|kind| document.key.kind == kind));
        if let Some(name) = &self.name {
            let wanted = kind.and_then(|kind| Key::from_words(kind, name));
            documents.retain(|document| wanted.as_ref() == Some(&document.key));
            if documents.is_empty() {
                let kind = kind.unwrap_or_default().to_lowercase();
                return Err(Stop::argument(
                    "not-there",
                    format!("{kind} {name} is not among the documents"),
                    &format!("`bulkhead get {kind}` lists those that are"),
                ));
            }
        }
        match self.output.format {
            Format::Text if documents.is_empty() => writeln!(out, "Nobody asked for anything.")?,
            Format::Text => write(&documents, out)?,
            Format::Yaml => write_yaml(&documents, out)?,
            Format::Json => {
                let texts = documents.iter().filter_map(|document| document.written.json());
                let items = texts.map(|text| serde_json::from_str(&text));
                let items = items.collect::<Result<_, _>>()?;
                let list = List { api_version: "v1", kind: "List", items };
                words::data(out, Format::Json, &list)?;
            }
        }
        Ok(Ended::Done)
    }
}

fn kind_of(word: &str) -> Result<&'static str, Stop> {
    Key::kind_of(word).ok_or_else(|| {
        Stop::argument(
            "kind-unknown",
            format!("`{word}` is no kind of document"),
            "documents are: fleet, tenants, guardrails, jobs, permits",
        )
    })
}

fn write(documents: &[StandingDocument], out: &mut dyn Write) -> io::Result<()> {
    let mut table = Table::with_head(0, &["kind", "name", "from", "who", "when"]);
    for StandingDocument { key, written, actor, at, .. } in documents {
        let said = key.to_string();
        let (kind, name) = said.split_once(' ').unwrap_or((&said, ""));
        let place = written.place();
        table.push(vec![
            cell(kind),
            painted(NAME, name),
            cell(format_args!("{}:{}", place.file, place.line)),
            cell(actor),
            painted(DIM, at),
        ]);
    }
    table.write(out)
}

/// As they were written, with every remark.
fn write_yaml(documents: &[StandingDocument], out: &mut dyn Write) -> io::Result<()> {
    for document in documents {
        let text = document.written.text.trim();
        if !text.starts_with("---") {
            writeln!(out, "---")?;
        }
        writeln!(out, "{text}")?;
    }
    Ok(())
}
