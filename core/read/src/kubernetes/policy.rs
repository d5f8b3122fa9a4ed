//! Who may be reached from a namespace, and from where, in the words of Kubernetes and of Calico.

use model::Name;

use super::{Meta, NO_NAMESPACE, NOT_OF_THE_KIND, Sheet, no_labels};
use crate::yaml::Node;
use crate::{Direction, Hold, Peer};

/// Where names of services are answered.
const RESOLVER: &str = "kube-system";

pub(super) fn kubernetes(child: Node<'_, '_>, meta: &Meta<'_, '_>, sheet: &mut Sheet<'_>) {
    let Some(namespace) = &meta.namespace else { return sheet.unknown(child, NO_NAMESPACE) };
    if child.key() != "spec" {
        return sheet.unknown(child, NOT_OF_THE_KIND);
    }
    no_labels(meta, sheet);
    let (ingress, egress) = (child.get("ingress"), child.get("egress"));
    for key in child.children() {
        match key.key() {
            "podSelector" | "policyTypes" | "ingress" | "egress" => {}
            _ => sheet.unknown(key, NOT_OF_THE_KIND),
        }
    }
    // A policy that selects some pods leaves the others open.
    let is_for_all =
        child.get("podSelector").is_some_and(|selector| selector.children().next().is_none());
    // A policy that names no types is one for ingress, and for egress if it has rules for that.
    match child.get("policyTypes") {
        Some(types) if is_for_all => denials(namespace, types, sheet),
        None if is_for_all => {
            deny(namespace, child, Direction::Ingress, sheet);
            if egress.is_some() {
                deny(namespace, child, Direction::Egress, sheet);
            }
        }
        _ => {}
    }
    for (rules, direction, peers) in
        [(ingress, Direction::Ingress, "from"), (egress, Direction::Egress, "to")]
    {
        for rule in rules.into_iter().flat_map(Node::children) {
            lets(namespace, rule, direction, peers, sheet);
        }
    }
}

/// Every direction that a policy is for is closed for what no policy allows.
fn denials(namespace: &Name, types: Node<'_, '_>, sheet: &mut Sheet<'_>) {
    for kind in types.children() {
        match kind.value() {
            Some("Ingress") => deny(namespace, kind, Direction::Ingress, sheet),
            Some("Egress") => deny(namespace, kind, Direction::Egress, sheet),
            _ => sheet.unknown(kind, "a policy is for Ingress or Egress"),
        }
    }
}

fn deny(namespace: &Name, at: Node<'_, '_>, direction: Direction, sheet: &mut Sheet<'_>) {
    sheet.claim(at, Hold::DeniesByDefault { namespace: namespace.clone(), direction });
}

fn lets(
    namespace: &Name,
    rule: Node<'_, '_>,
    direction: Direction,
    peers: &str,
    sheet: &mut Sheet<'_>,
) {
    for key in rule.children() {
        if key.key() != peers && key.key() != "ports" {
            sheet.unknown(key, NOT_OF_THE_KIND);
        }
    }
    let is_resolving = rule.get("ports").is_some_and(asks_for_names);
    let mut peers = rule.get(peers).into_iter().flat_map(Node::children).peekable();
    if peers.peek().is_none() {
        let namespace = namespace.clone();
        return sheet.claim(rule, Hold::Lets { namespace, direction, peer: Peer::Anyone });
    }
    for item in peers {
        let peer = match peer(namespace, item, sheet) {
            Peer::Namespace(name) if is_resolving && name.as_str() == RESOLVER => Peer::Resolver,
            peer => peer,
        };
        sheet.claim(item, Hold::Lets { namespace: namespace.clone(), direction, peer });
    }
}

/// What cannot be named exactly is anyone.
fn peer(own: &Name, item: Node<'_, '_>, sheet: &mut Sheet<'_>) -> Peer {
    for key in item.children() {
        if !matches!(key.key(), "podSelector" | "namespaceSelector" | "ipBlock") {
            sheet.unknown(key, NOT_OF_THE_KIND);
        }
    }
    if item.get("ipBlock").is_some() || item.children().next().is_none() {
        return Peer::Anyone;
    }
    let Some(selector) = item.get("namespaceSelector") else {
        return Peer::Namespace(own.clone());
    };
    let labels = selector.get("matchLabels");
    let name = labels.and_then(|labels| labels.text_of("kubernetes.io/metadata.name"));
    name.and_then(|name| name.parse().ok()).map_or(Peer::Anyone, Peer::Namespace)
}

/// Whether all of these ports are the one where names are asked for.
fn asks_for_names(ports: Node<'_, '_>) -> bool {
    let is_it = |port: Node<'_, '_>| {
        port.value() == Some("53")
            || (port.text_of("port") == Some("53") && port.get("endPort").is_none())
    };
    ports.children().next().is_some() && ports.children().all(is_it)
}

pub(super) fn calico(child: Node<'_, '_>, meta: &Meta<'_, '_>, sheet: &mut Sheet<'_>) {
    let Some(namespace) = &meta.namespace else { return sheet.unknown(child, NO_NAMESPACE) };
    if child.key() != "spec" {
        return sheet.unknown(child, NOT_OF_THE_KIND);
    }
    no_labels(meta, sheet);
    let is_for_all = matches!(child.text_of("selector"), None | Some("all()"));
    for key in child.children() {
        match key.key() {
            "order" | "tier" => sheet.ignore(key),
            "selector" | "ingress" | "egress" => {}
            "types" if is_for_all => denials(namespace, key, sheet),
            "types" => {}
            _ => sheet.unknown(key, NOT_OF_THE_KIND),
        }
    }
    for (rules, direction, side) in
        [("ingress", Direction::Ingress, "source"), ("egress", Direction::Egress, "destination")]
    {
        for rule in child.get(rules).into_iter().flat_map(Node::children) {
            allows(namespace, rule, direction, side, sheet);
        }
    }
}

fn allows(
    namespace: &Name,
    rule: Node<'_, '_>,
    direction: Direction,
    side: &str,
    sheet: &mut Sheet<'_>,
) {
    for key in rule.children() {
        match key.key() {
            "source" | "destination" | "protocol" => {}
            // A rule that denies takes nothing away from what is judged here.
            "action" => sheet.must_be(key, &["Allow", "Deny"], "a rule allows or denies"),
            _ => sheet.unknown(key, NOT_OF_THE_KIND),
        }
    }
    if rule.text_of("action") != Some("Allow") {
        return;
    }
    let peer = rule.get(side).map_or(Peer::Anyone, |side| calico_peer(namespace, side, sheet));
    sheet.claim(rule, Hold::Lets { namespace: namespace.clone(), direction, peer });
}

fn calico_peer(own: &Name, side: Node<'_, '_>, sheet: &mut Sheet<'_>) -> Peer {
    for key in side.children() {
        if !matches!(key.key(), "namespaceSelector" | "selector" | "ports" | "nets") {
            sheet.unknown(key, NOT_OF_THE_KIND);
        }
    }
    if side.get("nets").is_some() {
        return Peer::Anyone;
    }
    let named = match (side.text_of("namespaceSelector"), side.get("selector")) {
        // Without a namespace a selector is for pods of the policy's own one.
        (None, Some(_)) => return Peer::Namespace(own.clone()),
        (None, None) => return Peer::Anyone,
        (Some(selector), _) => selector
            .strip_prefix("kubernetes.io/metadata.name == '")
            .and_then(|rest| rest.strip_suffix('\''))
            .and_then(|name| name.parse::<Name>().ok()),
    };
    let is_resolving = side.get("ports").is_some_and(asks_for_names);
    match named {
        Some(name) if is_resolving && name.as_str() == RESOLVER => Peer::Resolver,
        Some(name) => Peer::Namespace(name),
        None => Peer::Anyone,
    }
}
