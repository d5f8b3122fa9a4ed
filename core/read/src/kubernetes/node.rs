//! Nodes: where they stand, whose pods they let in and whose they keep off.

use model::Name;
use model::admission::{SHARED_NODE, TAINT_EFFECT, TENANT_LABEL, TENANT_LABEL_VALUE, TENANT_TAINT};

use super::{Meta, NOT_OF_THE_KIND, Sheet};
use crate::Hold;
use crate::yaml::Node;

pub(super) const NOT_HOME: &str = "what is a tenant's runs on nodes of that tenant, which it \
                                   selects by the label of its namespace, and on no others";

pub(super) fn section(child: Node<'_, '_>, _: &Meta<'_, '_>, sheet: &mut Sheet<'_>) {
    if child.key() != "spec" {
        return sheet.unknown(child, NOT_OF_THE_KIND);
    }
    for key in child.children().filter(|key| key.key() != "taints") {
        sheet.pass("Node.spec", key);
    }
}

pub(super) fn whole(
    root: Node<'_, '_>,
    metadata: Node<'_, '_>,
    meta: &Meta<'_, '_>,
    sheet: &mut Sheet<'_>,
) {
    let Ok(node) = meta.name.parse::<Name>() else {
        return sheet.unknown(metadata, "this is no name of a node");
    };
    for label in meta.labels.into_iter().flat_map(Node::children) {
        let (key, value) = (label.key(), label.value().unwrap_or_default());
        if let Some(namespace) = key.strip_prefix(TENANT_LABEL) {
            match namespace.parse() {
                Ok(namespace) if value == TENANT_LABEL_VALUE => {
                    sheet.claim(label, Hold::Admits { node: node.clone(), namespace });
                }
                _ => sheet.unknown(label, "nobody knows whom this label lets in"),
            }
        } else if key == "kubernetes.io/hostname" && value != meta.name {
            sheet.unknown(label, "pods that are meant for another node would come here");
        } else {
            let (key, value) = (key.into(), value.into());
            sheet.claim(label, Hold::Label { node: node.clone(), key, value });
        }
    }
    let taints = root.get("spec").and_then(|spec| spec.get("taints"));
    for taint in taints.into_iter().flat_map(Node::children) {
        fence(&node, taint, sheet);
    }
}

fn fence(node: &Name, taint: Node<'_, '_>, sheet: &mut Sheet<'_>) {
    for key in taint.children() {
        match key.key() {
            "key" => sheet.must_be(key, &[TENANT_TAINT], "pods of tenants do not bear this taint"),
            "effect" => sheet.must_be(
                key,
                &[TAINT_EFFECT],
                "with this effect pods that are there already stay",
            ),
            "value" => {
                let value = key.value().unwrap_or_default().into();
                sheet.claim(key, Hold::Fenced { node: node.clone(), value });
            }
            _ => sheet.unknown(key, NOT_OF_THE_KIND),
        }
    }
    let has = |key| taint.get(key).is_some();
    if !has("key") || !has("effect") || !has("value") {
        sheet.unknown(taint, "a taint says its key, its value and its effect");
    }
}

/// Whether a line of a node selector selects the nodes of the tenant with this namespace.
pub(super) fn is_home(label: Node<'_, '_>, namespace: &str) -> bool {
    label.key().strip_prefix(TENANT_LABEL) == Some(namespace)
        && label.value() == Some(TENANT_LABEL_VALUE)
}

pub(super) const KEPT_OFF: &str = "what does not bear the taint of its tenant's nodes is kept off \
                                   them";

/// Whether one of the tolerations below this bears the taint of the tenant's own nodes.
pub(super) fn bears_own(at: Option<Node<'_, '_>>, namespace: &str) -> bool {
    let tolerations = at.and_then(|at| at.get("tolerations"));
    let is_own = |one: Node<'_, '_>| {
        one.text_of("key") == Some(TENANT_TAINT) && one.text_of("value") == Some(namespace)
    };
    tolerations.into_iter().flat_map(Node::children).any(is_own)
}

/// A toleration: of the taint of the own nodes, or of those that several tenants share.
pub(super) fn bears(one: Node<'_, '_>, namespace: &str, sheet: &mut Sheet<'_>) {
    const WHY: &str = "only the taint of the tenant's own nodes is borne";
    for key in one.children() {
        match key.key() {
            "key" => sheet.must_be(key, &[TENANT_TAINT], WHY),
            "effect" => sheet.must_be(key, &[TAINT_EFFECT], WHY),
            "operator" => sheet.must_be(key, &["Equal"], WHY),
            "value" => sheet.must_be(key, &[namespace, SHARED_NODE], WHY),
            _ => sheet.unknown(key, WHY),
        }
    }
    if one.get("key").is_none() || one.get("value").is_none() {
        sheet.unknown(one, WHY);
    }
}
