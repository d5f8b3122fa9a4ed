//! Exceptions: one line for one device that differs from its model.

use std::collections::BTreeMap;

use model::{Enforcement, Health, Name, SwitchDialect, Versions};

use super::draft::Draft;
use super::models;
use super::spec::{self, Own};
use crate::Problem;
use crate::document::refuse_duplicate;
use crate::form::{Form, Shape};
use crate::refusal::Refusals;
use crate::tree::{At, Pos, Tree, Value};

pub(super) struct Exception {
    name: At<Name>,
    own: Own,
    change: Change,
}

enum Change {
    Switch {
        dialect: Option<SwitchDialect>,
    },
    Node {
        health: Option<Health>,
        enforcement: Option<Enforcement>,
        /// What is empty is not changed.
        versions: Versions,
        secure_boot: Option<bool>,
    },
}

const OF_NODE: Shape = Shape {
    what: "an exception of a node",
    needs: &["node"],
    may: &["health", "versions", "enforcement", "loopback", "asn"],
};

const OF_SWITCH: Shape = Shape {
    what: "an exception of a switch",
    needs: &["switch"],
    may: &["dialect", "loopback", "asn"],
};

pub(super) fn read(trees: &[Tree], out: &mut Refusals) -> Vec<Exception> {
    trees.iter().filter_map(|tree| read_one(tree, out)).collect()
}

fn read_one(tree: &Tree, out: &mut Refusals) -> Option<Exception> {
    let of_switch = match &tree.value {
        Value::Map(entries) => entries.iter().any(|(key, _)| key.value == "switch"),
        _ => false,
    };
    if of_switch {
        let form = Form::open(tree, &OF_SWITCH, out)?;
        let dialect = form.word::<SwitchDialect>("dialect", out);
        let own = spec::own(&form, out);
        return Some(Exception {
            name: form.name("switch", out)?,
            own,
            change: Change::Switch { dialect: dialect.map(|at| at.value) },
        });
    }
    let form = Form::open(tree, &OF_NODE, out)?;
    let own = spec::own(&form, out);
    let health = form.word::<Health>("health", out);
    let enforcement = form.word::<Enforcement>("enforcement", out);
    let mut versions = Versions::default();
    let said = form.form("versions", &models::VERSIONS, out);
    if let Some(said) = &said {
        models::change(&mut versions, said, out);
    }
    let says_boot = said.is_some_and(|said| said.get("secureBoot").is_some());
    Some(Exception {
        name: form.name("node", out)?,
        own,
        change: Change::Node {
            health: health.map(|at| at.value),
            enforcement: enforcement.map(|at| at.value),
            secure_boot: says_boot.then_some(versions.secure_boot),
            versions,
        },
    })
}

pub(super) fn apply(exceptions: &[Exception], draft: &mut Draft, out: &mut Refusals) {
    let mut seen: BTreeMap<&Name, Pos> = BTreeMap::new();
    for exception in exceptions {
        let (name, pos) = (&exception.name.value, exception.name.pos);
        match seen.get(name) {
            Some(first) => refuse_duplicate("exception", name, pos, *first, out),
            None => {
                seen.insert(name, pos);
                exception.apply(draft, out);
            }
        }
    }
}

impl Exception {
    fn apply(&self, draft: &mut Draft, out: &mut Refusals) {
        let found = match &self.change {
            Change::Switch { dialect } => self.change_switch(*dialect, draft),
            Change::Node { .. } => self.change_node(draft),
        };
        if found.is_none() {
            self.refuse_dangling(draft, out);
        }
    }

    fn change_switch(&self, dialect: Option<SwitchDialect>, draft: &mut Draft) -> Option<()> {
        let switch = draft.switch_named(&self.name.value)?;
        switch.dialect = dialect.unwrap_or(switch.dialect);
        self.own.replace(&mut switch.own);
        Some(())
    }

    fn change_node(&self, draft: &mut Draft) -> Option<()> {
        let Change::Node { health, enforcement, versions, secure_boot } = &self.change else {
            return None;
        };
        let node = draft.node_named(&self.name.value)?;
        node.health = health.unwrap_or(node.health);
        node.enforcement = enforcement.unwrap_or(node.enforcement);
        self.own.replace(&mut node.own);
        let components = [
            (&versions.driver, &mut node.versions.driver),
            (&versions.kernel, &mut node.versions.kernel),
            (&versions.firmware, &mut node.versions.firmware),
            (&versions.toolkit, &mut node.versions.toolkit),
        ];
        for (said, version) in components {
            if !said.is_empty() {
                version.clone_from(said);
            }
        }
        node.versions.secure_boot = secure_boot.unwrap_or(node.versions.secure_boot);
        Some(())
    }

    fn refuse_dangling(&self, draft: &Draft, out: &mut Refusals) {
        let name = self.name.value.as_str();
        let (kind, near) = match self.change {
            Change::Switch { .. } => ("switch", out.near(name, draft.switch_names())),
            Change::Node { .. } => ("node", out.near(name, draft.node_names())),
        };
        let problem = Problem::Dangling { kind, name: name.to_owned(), near };
        out.refuse(self.name.pos, problem);
    }
}

impl Own {
    fn replace(self, other: &mut Self) {
        other.loopback = self.loopback.or(other.loopback);
        other.asn = self.asn.or(other.asn);
    }
}
