//! Documents one by one: what each is about, and its own text, so that they can be kept and merged.

use std::fmt;

use model::{Name, TenantName};
use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use crate::document::{Papers, kind_of};
use crate::refusal::Refusals;
use crate::tree::{self, Chunk, Tree, Value};
use crate::{Intent, Refusal, Source, SourcePlace};

/// What a document is about. Of two documents with the same key the later one counts.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Key {
    /// Its kind: `Fleet`, `Tenant`, `Guardrail`, `Job`, `Permit` or `Waiver`.
    pub kind: SmolStr,
    /// Whose it is, where tenants name such things by themselves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<TenantName>,
    /// What it is called; nothing for the fleet, of which there is one whatever its name.
    #[serde(default, skip_serializing_if = "SmolStr::is_empty")]
    pub name: SmolStr,
}

/// One document as it was written.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Written {
    /// What it is about; none if that cannot be read, and then it is refused when it is loaded.
    pub key: Option<Key>,
    /// The file it stands in, as the caller named it.
    pub file: SmolStr,
    /// How many lines of the file are before it.
    pub lines_before: u32,
    /// Its text: YAML or JSON.
    pub text: String,
}

/// Takes documents apart, those of a list too. What holds nothing is left out.
#[must_use]
pub fn written(sources: &[Source<'_>]) -> Vec<Written> {
    let mut all = Vec::new();
    for source in sources {
        for chunk in tree::chunks(source.text) {
            take_apart(source.file, chunk, &mut all);
        }
    }
    all
}

/// Reads documents together, as [`crate::load`] does.
///
/// # Errors
/// All refusals that one run can find.
pub fn load_written(documents: &[&Written]) -> Result<Intent, Vec<Refusal>> {
    let mut out = Refusals::new(documents.iter().map(|document| document.file.to_string()));
    let chunks = documents
        .iter()
        .map(|document| Chunk { lines_before: document.lines_before, text: &document.text });
    let papers = Papers::read((0..).zip(chunks), &mut out);
    crate::understand(&papers, out)
}

fn take_apart(file: &str, chunk: Chunk<'_>, all: &mut Vec<Written>) {
    let mut out = Refusals::new([file.to_owned()]);
    let whole = |key| Written {
        key,
        file: file.into(),
        lines_before: chunk.lines_before,
        text: chunk.text.to_owned(),
    };
    match tree::tree(0, chunk, &mut out) {
        Some(tree) if kind_of(&tree).as_deref() == Some("List") => match items(&tree) {
            Some(items) => items.iter().for_each(|item| all.push(item_of(file, item))),
            None => all.push(whole(None)),
        },
        Some(tree) => all.push(whole(key_of(&tree))),
        None if out.is_empty() => {}
        None => all.push(whole(None)),
    }
}

/// An item of a list as a document of its own, said in one line where it began.
fn item_of(file: &str, item: &Tree) -> Written {
    let mut text = String::new();
    say(item, &mut text);
    let lines_before = item.pos.line.saturating_sub(1);
    Written { key: key_of(item), file: file.into(), lines_before, text }
}

fn items(list: &Tree) -> Option<&[Tree]> {
    match &entry(list, "items")?.value {
        Value::List(items) => Some(items),
        _ => None,
    }
}

fn key_of(tree: &Tree) -> Option<Key> {
    let kind = kind_of(tree)?;
    let name = text(entry(entry(tree, "metadata")?, "name")?)?;
    match kind.as_str() {
        "Fleet" => Some(Key { kind, tenant: None, name: SmolStr::default() }),
        "Tenant" | "Guardrail" | "Waiver" => Some(Key { kind, tenant: None, name: name.clone() }),
        "Job" | "Permit" => {
            let tenant = text(entry(entry(tree, "spec")?, "tenant")?)?;
            Some(Key { kind, tenant: Some(tenant.parse().ok()?), name: name.clone() })
        }
        _ => None,
    }
}

fn entry<'t>(tree: &'t Tree, wanted: &str) -> Option<&'t Tree> {
    let Value::Map(entries) = &tree.value else { return None };
    entries.iter().find(|(key, _)| key.value == wanted).map(|(_, tree)| tree)
}

fn text(tree: &Tree) -> Option<&SmolStr> {
    match &tree.value {
        Value::Scalar { text, .. } => Some(text),
        _ => None,
    }
}

/// Says a tree as JSON in one line, which is YAML too. Depth is limited where trees are made.
fn say(tree: &Tree, out: &mut String) {
    match &tree.value {
        value if value.is_nothing() => out.push_str("null"),
        Value::Scalar { text, plain } if *plain && is_json(text) => out.push_str(text),
        Value::Scalar { text, .. } => quote(text, out),
        Value::List(items) => {
            out.push('[');
            for (place, item) in items.iter().enumerate() {
                out.push_str(if place > 0 { ", " } else { "" });
                say(item, out);
            }
            out.push(']');
        }
        Value::Map(entries) => {
            out.push('{');
            for (place, (key, value)) in entries.iter().enumerate() {
                out.push_str(if place > 0 { ", " } else { "" });
                quote(&key.value, out);
                out.push_str(": ");
                say(value, out);
            }
            out.push('}');
        }
    }
}

/// Whether a text without quotes means the same in JSON: whole numbers and truths do. All else that
/// has no quotes is text.
fn is_json(text: &str) -> bool {
    let is_whole = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    matches!(text, "true" | "false") || is_whole && (text == "0" || !text.starts_with('0'))
}

/// In double quotes, as JSON and YAML both read it.
fn quote(text: &str, out: &mut String) {
    use fmt::Write as _;
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            '\n' => out.push_str("\\n"),
            // A String takes everything.
            other if other.is_control() => drop(write!(out, "\\u{:04x}", other as u32)),
            other => out.push(other),
        }
    }
    out.push('"');
}

impl Written {
    /// The document as JSON; none if it cannot be read.
    #[must_use]
    pub fn json(&self) -> Option<String> {
        let mut text = String::new();
        say(&self.tree()?, &mut text);
        Some(text)
    }

    /// Where its name stands in the file, or where it begins.
    #[must_use]
    pub fn place(&self) -> SourcePlace {
        let name = self.tree().and_then(|tree| {
            let pos = entry(entry(&tree, "metadata")?, "name")?.pos;
            Some((pos.line, pos.column))
        });
        let (line, column) = name.unwrap_or((self.lines_before.saturating_add(1), 1));
        SourcePlace { file: self.file.to_string(), line, column }
    }

    fn tree(&self) -> Option<Tree> {
        let mut out = Refusals::new([self.file.to_string()]);
        let chunk = Chunk { lines_before: self.lines_before, text: &self.text };
        tree::tree(0, chunk, &mut out)
    }
}

impl Key {
    /// The key of a job's document.
    #[must_use]
    pub fn job(job: &model::JobName) -> Self {
        let tenant = Some(job.tenant.clone());
        Self { kind: "Job".into(), tenant, name: job.name.as_str().into() }
    }

    /// The key of a tenant's document.
    #[must_use]
    pub fn tenant(tenant: &TenantName) -> Self {
        Self { kind: "Tenant".into(), tenant: None, name: SmolStr::new(tenant.to_string()) }
    }

    /// The kind that a word on a command line means, one of it or several: `job`, `jobs`.
    #[must_use]
    pub fn kind_of(word: &str) -> Option<&'static str> {
        let kinds = ["Fleet", "Tenant", "Guardrail", "Job", "Permit", "Waiver"];
        let one = word.strip_suffix(['s', 'S']).unwrap_or(word);
        kinds.into_iter().find(|known| known.eq_ignore_ascii_case(one))
    }

    /// The key that words on a command line mean: `job red/train`, `tenant red`, `fleet`.
    #[must_use]
    pub fn from_words(kind: &str, name: &str) -> Option<Self> {
        let kind = Self::kind_of(kind)?;
        let (tenant, name) = match kind {
            "Fleet" => (None, ""),
            "Job" | "Permit" => {
                let (tenant, name) = name.rsplit_once('/')?;
                (Some(tenant.parse().ok()?), name.parse::<Name>().ok().map(|_| name)?)
            }
            _ => (None, name),
        };
        Some(Self { kind: kind.into(), tenant, name: name.into() })
    }
}

/// `job red/train`, `fleet`.
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.kind.to_lowercase())?;
        match &self.tenant {
            Some(tenant) => write!(f, " {tenant}/{}", self.name),
            None if self.name.is_empty() => Ok(()),
            None => write!(f, " {}", self.name),
        }
    }
}
