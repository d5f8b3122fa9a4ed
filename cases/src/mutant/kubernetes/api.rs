//! The real API server: for each document that differs it prints what it would hold.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{effect, objects};
use crate::mutant::{Classified, Consumer, Effect, Mutant};
use crate::servers::Servers;

const BY: &str = "the API server by kubectl -o json, and the table of kinds and paths";

/// An API server of its own, with the namespaces of the sound text and the definitions of what
/// others add to Kubernetes. It holds nothing else: every edit is asked about, and none is kept.
#[derive(Debug)]
pub struct ApiServer {
    servers: Servers,
    /// What it prints of a document; nothing where it does not take it.
    printed: BTreeMap<String, Option<Vec<Value>>>,
    is_furnished: bool,
    /// Why nobody can be asked any more.
    broken: Option<String>,
}

/// Namespaces of people who run a cluster, into which edits put things.
const OTHERS: [&str; 5] =
    ["istio-system", "calico-system", "kubevirt", "kamaji-system", "monitoring"];

impl ApiServer {
    /// One that runs; or why there is none.
    pub fn start() -> Result<Self, String> {
        let servers = Servers::api()?;
        servers.define()?;
        Ok(Self { servers, printed: BTreeMap::new(), is_furnished: false, broken: None })
    }

    /// What it prints of a whole text, as `kubectl apply` understands it.
    fn furnish(&mut self, sound: &str) -> Result<(), String> {
        let documents = objects::documents(sound);
        let is_namespace = |text: &&String| text.lines().any(|line| line == "kind: Namespace");
        let name = |text: &String| {
            let line = text.lines().find_map(|line| line.strip_prefix("  name: "));
            line.unwrap_or_default().to_owned()
        };
        let own = documents.iter().filter(is_namespace).map(name);
        for space in own.chain(OTHERS.map(str::to_owned)) {
            self.servers.must(&["create", "namespace", &space], None)?;
        }
        let texts: Vec<&str> = documents.iter().map(String::as_str).collect();
        let Some(all) = self.ask(&texts)? else {
            return Err("the API server does not take the sound text".into());
        };
        // Its answer has as many objects as the sound text has documents, in their order.
        for (text, object) in documents.iter().zip(all) {
            self.printed.insert(text.clone(), Some(vec![object]));
        }
        Ok(())
    }

    /// What it would hold of these documents; nothing where it refuses one.
    fn ask(&self, documents: &[&str]) -> Result<Option<Vec<Value>>, String> {
        let text = documents.join("---\n");
        let words = ["apply", "--dry-run=server", "-o", "json", "-f", "-"];
        let (is_done, out, err) = self.servers.said("admin", &words, Some(&text))?;
        if err.contains("connection refused") {
            return Err(err);
        }
        if !is_done {
            return Ok(if err.contains("no objects passed to apply") {
                Some(Vec::new())
            } else {
                None
            });
        }
        let value: Value = serde_json::from_str(&out).map_err(|cause| cause.to_string())?;
        Ok(objects::taken_apart(value).map(|mut all| {
            all.iter_mut().for_each(without_own);
            all
        }))
    }

    fn print(&mut self, documents: &[&str]) -> Option<Vec<Vec<Value>>> {
        let mut all = Vec::with_capacity(documents.len());
        for document in documents {
            if !self.printed.contains_key(*document) {
                let said = self.ask(&[document]).unwrap_or_else(|why| {
                    self.broken.get_or_insert(why);
                    None
                });
                self.printed.insert((*document).to_owned(), said);
            }
            all.push(self.printed[*document].clone()?);
        }
        Some(all)
    }
}

/// What differs from one moment to the next, whoever asks for what.
fn without_own(object: &mut Value) {
    let Some(metadata) = object["metadata"].as_object_mut() else { return };
    for key in ["creationTimestamp", "uid", "resourceVersion", "generation", "managedFields"] {
        metadata.remove(key);
    }
    if let Some(notes) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
        notes.remove("kubectl.kubernetes.io/last-applied-configuration");
    }
}

impl Consumer for ApiServer {
    fn classify(&mut self, sound: &str, mutant: &Mutant) -> Classified {
        if !std::mem::replace(&mut self.is_furnished, true)
            && let Err(why) = self.furnish(sound)
        {
            self.broken = Some(why);
        }
        let changed = objects::changed(sound, &mutant.text, |documents| self.print(documents));
        if let Some(why) = &self.broken {
            eprintln!("{why}");
            return Classified { effect: Effect::Refused, by: "rule: nobody was asked" };
        }
        let effect = changed.map_or(Effect::Refused, |(was, is)| effect::of(&was, &is));
        Classified { effect, by: BY }
    }
}
