//! Whom Istio's proxies let in.

use model::Name;

use super::{Meta, NO_NAMESPACE, NOT_OF_THE_KIND, Sheet, no_labels};
use crate::Hold;
use crate::yaml::Node;

const FOR_SOME: &str = "a policy for some pods leaves the others open";

pub(super) fn tls_section(child: Node<'_, '_>, _: &Meta<'_, '_>, sheet: &mut Sheet<'_>) {
    if child.key() != "spec" {
        return sheet.unknown(child, NOT_OF_THE_KIND);
    }
    for key in child.children() {
        match key.key() {
            "mtls" => {
                for mode in key.children().filter(|mode| mode.key() != "mode") {
                    sheet.unknown(mode, NOT_OF_THE_KIND);
                }
            }
            "selector" => sheet.unknown(key, FOR_SOME),
            _ => sheet.unknown(key, NOT_OF_THE_KIND),
        }
    }
}

pub(super) fn tls(
    root: Node<'_, '_>,
    metadata: Node<'_, '_>,
    meta: &Meta<'_, '_>,
    sheet: &mut Sheet<'_>,
) {
    no_labels(meta, sheet);
    let Some(namespace) = meta.namespace.clone() else {
        return sheet.unknown(metadata, NO_NAMESPACE);
    };
    let mtls = root.get("spec").and_then(|spec| spec.get("mtls"));
    let mode = mtls.and_then(|mtls| mtls.get("mode"));
    let strict = mode.and_then(Node::value) == Some("STRICT");
    sheet.claim(mode.unwrap_or(metadata), Hold::StrictTls { namespace, strict });
}

pub(super) fn callers_section(child: Node<'_, '_>, _: &Meta<'_, '_>, sheet: &mut Sheet<'_>) {
    if child.key() != "spec" {
        return sheet.unknown(child, NOT_OF_THE_KIND);
    }
    for key in child.children() {
        match key.key() {
            "action" => sheet.must_be(key, &["ALLOW"], "a policy lists whom it allows"),
            "rules" => key.children().for_each(|rule| rule_keys(rule, sheet)),
            "selector" => sheet.unknown(key, FOR_SOME),
            _ => sheet.unknown(key, NOT_OF_THE_KIND),
        }
    }
}

fn rule_keys(rule: Node<'_, '_>, sheet: &mut Sheet<'_>) {
    const ANYBODY: &str = "this lets callers of every namespace in; name their namespaces";
    let mut sources = rule.get("from").into_iter().flat_map(Node::children).peekable();
    if sources.peek().is_none() {
        sheet.unknown(rule, ANYBODY);
    }
    // What a rule asks for besides the caller cuts others off that are planned.
    for key in rule.children().filter(|key| key.key() != "from") {
        sheet.unknown(key, NOT_OF_THE_KIND);
    }
    for item in sources {
        for source in item.children() {
            if source.key() != "source" || source.get("namespaces").is_none() {
                sheet.unknown(source, ANYBODY);
            }
            for key in source.children().filter(|key| key.key() != "namespaces") {
                sheet.unknown(key, "callers are named by their namespaces alone");
            }
        }
    }
}

pub(super) fn callers(
    root: Node<'_, '_>,
    metadata: Node<'_, '_>,
    meta: &Meta<'_, '_>,
    sheet: &mut Sheet<'_>,
) {
    no_labels(meta, sheet);
    let Some(namespace) = meta.namespace.clone() else {
        return sheet.unknown(metadata, NO_NAMESPACE);
    };
    let Some(spec) = root.get("spec") else {
        return sheet.claim(metadata, Hold::MeshLets { namespace, callers: Vec::new() });
    };
    let rules = spec.get("rules").into_iter().flat_map(Node::children);
    let items = rules.filter_map(|rule| rule.get("from")).flat_map(Node::children);
    let sources = items.filter_map(|item| item.get("source"));
    let names = sources.filter_map(|source| source.get("namespaces")).flat_map(Node::children);
    let mut callers: Vec<Name> = Vec::new();
    for name in names {
        match name.value().and_then(|name| name.parse().ok()) {
            Some(name) => callers.push(name),
            None => sheet.unknown(name, "a caller's namespace is named, without a wildcard"),
        }
    }
    callers.sort();
    callers.dedup();
    sheet.claim(spec, Hold::MeshLets { namespace, callers });
}
