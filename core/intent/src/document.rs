//! Documents by kind, with their names known before anything in them is read: a reference to a
//! document that is itself refused is not one more refusal.

use smol_str::SmolStr;

use crate::Problem;
use crate::form::{Form, Shape};
use crate::refusal::Refusals;
use crate::tree::{self, At, Chunk, Pos, Tree};

/// What a document must call itself.
pub(crate) const API_VERSION: &str = "bulkhead.dev/v1";

/// A document whose frame is sound.
pub(crate) struct Document {
    pub(crate) name: At<SmolStr>,
    pub(crate) spec: Tree,
}

/// All documents, by kind, in the order they were written.
#[derive(Default)]
pub(crate) struct Papers {
    pub(crate) fleets: Vec<Document>,
    pub(crate) tenants: Vec<Document>,
    pub(crate) guardrails: Vec<Document>,
    pub(crate) permits: Vec<Document>,
    pub(crate) jobs: Vec<Document>,
    pub(crate) waivers: Vec<Document>,
    /// Whether there is a fleet, or text that could not be read and may have been one.
    pub(crate) may_have_fleet: bool,
}

const KINDS: [&str; 7] = ["Fleet", "Tenant", "Permit", "Guardrail", "Job", "Waiver", "List"];

const FRAME: Shape = Shape {
    what: "a document",
    needs: &["apiVersion", "kind", "metadata", "spec"],
    // The server adds a status; what it says is not asked for.
    may: &["status"],
};

const LIST: Shape = Shape {
    what: "a list of documents",
    needs: &["apiVersion", "kind", "items"],
    may: &["metadata"],
};

const METADATA: Shape =
    Shape { what: "metadata", needs: &["name"], may: &["labels", "annotations"] };

impl Papers {
    /// Reads documents, each with the number of its file.
    pub(crate) fn read<'a>(
        chunks: impl Iterator<Item = (u32, Chunk<'a>)>,
        out: &mut Refusals,
    ) -> Self {
        let mut papers = Self::default();
        for (file, chunk) in chunks {
            let already = out.count();
            match tree::tree(file, chunk, out) {
                Some(tree) => papers.file(tree, out),
                None => papers.may_have_fleet |= out.count() > already,
            }
        }
        papers
    }

    /// Puts one document, or all of a list, where its kind belongs. Lists inside lists end with
    /// the depth of a tree.
    fn file(&mut self, tree: Tree, out: &mut Refusals) {
        let kind = kind_of(&tree);
        if kind.as_deref() == Some("List") {
            for item in items(tree, out) {
                self.file(item, out);
            }
            return;
        }
        self.may_have_fleet |= kind.as_deref() == Some("Fleet");
        let Some((kind, document)) = framed(tree, out) else {
            return;
        };
        match kind.value.as_str() {
            "Fleet" => self.fleets.push(document),
            "Tenant" => self.tenants.push(document),
            "Permit" => self.permits.push(document),
            "Guardrail" => self.guardrails.push(document),
            "Job" => self.jobs.push(document),
            "Waiver" => self.waivers.push(document),
            _ => {
                let problem = Problem::UnknownKind {
                    near: out.near(&kind.value, KINDS.into_iter()),
                    found: crate::form::shown(&kind.value),
                };
                out.refuse(kind.pos, problem);
            }
        }
    }
}

pub(crate) fn kind_of(tree: &Tree) -> Option<SmolStr> {
    let tree::Value::Map(entries) = &tree.value else {
        return None;
    };
    let (_, kind) = entries.iter().find(|(key, _)| key.value == "kind")?;
    match &kind.value {
        tree::Value::Scalar { text, .. } => Some(text.clone()),
        _ => None,
    }
}

fn items(tree: Tree, out: &mut Refusals) -> Vec<Tree> {
    if let Some(form) = Form::open(&tree, &LIST, out) {
        // kubectl writes lists with the version `v1`.
        if form.get("apiVersion").is_some() {
            check_version(&form, &["v1", API_VERSION], out);
        }
        form.list("items", out);
    }
    match take(tree, "items") {
        Some(Tree { value: tree::Value::List(items), .. }) => items,
        _ => Vec::new(),
    }
}

fn framed(tree: Tree, out: &mut Refusals) -> Option<(At<SmolStr>, Document)> {
    let form = Form::open(&tree, &FRAME, out)?;
    check_version(&form, &[API_VERSION], out);
    let kind = form.text("kind", out);
    let name =
        form.form("metadata", &METADATA, out).and_then(|metadata| metadata.text("name", out));
    let (kind, name) = (kind?, name?);
    let spec = take(tree, "spec")?;
    Some((kind, Document { name, spec }))
}

fn check_version(form: &Form<'_>, accepted: &[&str], out: &mut Refusals) {
    let found = form.text("apiVersion", out);
    if let Some(found) = found.filter(|found| !accepted.contains(&found.value.as_str())) {
        let text = crate::form::shown(&found.value);
        out.refuse(found.pos, Problem::WrongApiVersion { found: text });
    }
}

fn take(tree: Tree, wanted: &str) -> Option<Tree> {
    let tree::Value::Map(entries) = tree.value else {
        return None;
    };
    let entry = entries.into_iter().find(|(key, _)| key.value == wanted);
    entry.map(|(_, tree)| tree)
}

/// The place of the first document with a name, for the refusal of the second.
pub(crate) fn refuse_duplicate(
    kind: &'static str,
    name: &impl ToString,
    pos: Pos,
    first: Pos,
    out: &mut Refusals,
) {
    let problem = Problem::DuplicateName { kind, name: name.to_string(), first: out.place(first) };
    out.refuse(pos, problem);
}
