//! Who may be reached from a namespace, and from where, in the words of Kubernetes and of Calico.

use model::admission::JOB_LABEL;
use model::{JobName, Name};

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
    if let Some(job) = meta.job.as_ref().map(|(_, job)| job) {
        return of_job(namespace, job, child, sheet);
    }
    // A policy that selects some pods leaves the others open.
    let selector = child.get("podSelector");
    let is_for_all = selector.is_some_and(|selector| selector.children().next().is_none());
    if let Some(selector) = selector.filter(|selector| selector.value().is_some()) {
        sheet.unknown(selector, "a selector has labels, or none: {}");
    }
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
        count(child.get("policyTypes"), rules, direction, sheet);
        for rule in rules.into_iter().flat_map(Node::children) {
            lets(namespace, rule, direction, peers, sheet);
        }
    }
}

/// Rules for a direction that the policy is not for count for nothing.
fn count(
    types: Option<Node<'_, '_>>,
    rules: Option<Node<'_, '_>>,
    direction: Direction,
    sheet: &mut Sheet<'_>,
) {
    let word = match direction {
        Direction::Ingress => "Ingress",
        Direction::Egress => "Egress",
    };
    let is_for = |types: Node<'_, '_>| types.children().any(|kind| kind.value() == Some(word));
    if let (Some(types), Some(rules)) = (types, rules)
        && !is_for(types)
    {
        sheet.unknown(rules, "the policy is not for this direction, so its rules do not count");
    }
}

/// What lets the pods of one job reach each other, and says nothing else.
fn of_job(namespace: &Name, job: &JobName, spec: Node<'_, '_>, sheet: &mut Sheet<'_>) {
    const WHY: &str = "a policy of a job lets its own pods reach each other, and nobody else";
    if !spec.get("podSelector").is_some_and(|selector| is_of(selector, job)) {
        return sheet.unknown(spec, WHY);
    }
    if let Some(types) = spec.get("policyTypes") {
        for kind in types.children() {
            if !matches!(kind.value(), Some("Ingress" | "Egress")) {
                sheet.unknown(kind, "a policy is for Ingress or Egress");
            }
        }
    }
    for (rules, direction, peers) in
        [("ingress", Direction::Ingress, "from"), ("egress", Direction::Egress, "to")]
    {
        count(spec.get("policyTypes"), spec.get(rules), direction, sheet);
        for rule in spec.get(rules).into_iter().flat_map(Node::children) {
            let mut keys = rule.children();
            let list = keys.next().filter(|key| key.key() == peers && keys.next().is_none());
            let mut items = list.into_iter().flat_map(Node::children).peekable();
            if items.peek().is_none() {
                sheet.unknown(rule, WHY);
            }
            for item in items {
                let mut parts = item.children();
                let selector = parts.next().filter(|part| part.key() == "podSelector");
                if selector.is_some_and(|selector| is_of(selector, job)) && parts.next().is_none() {
                    let (namespace, job) = (namespace.clone(), job.clone());
                    sheet.claim(item, Hold::LetsJob { namespace, job, direction });
                } else {
                    sheet.unknown(item, WHY);
                }
            }
        }
    }
}

/// Whether a selector selects the pods of the job, and no others.
fn is_of(selector: Node<'_, '_>, job: &JobName) -> bool {
    let mut keys = selector.children();
    let labels = keys.next().filter(|key| key.key() == "matchLabels" && keys.next().is_none());
    let mut labels = labels.into_iter().flat_map(Node::children);
    let is_it =
        |label: Node<'_, '_>| (label.key(), label.value()) == (JOB_LABEL, Some(job.name.as_str()));
    labels.next().is_some_and(is_it) && labels.next().is_none()
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

/// The same in Calico's words. Kubernetes' own policies are judged without them: which program
/// enforces which of the two is not known here.
fn calicos_denials(namespace: &Name, types: Node<'_, '_>, sheet: &mut Sheet<'_>) {
    for kind in types.children() {
        let direction = match kind.value() {
            Some("Ingress") => Direction::Ingress,
            Some("Egress") => Direction::Egress,
            _ => {
                sheet.unknown(kind, "a policy is for Ingress or Egress");
                continue;
            }
        };
        sheet.claim(kind, Hold::CalicoDenies { namespace: namespace.clone(), direction });
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
    if let Some(ports) = rule.get("ports").filter(|_| is_resolving) {
        let held = ports.children().map(|port| port.text_of("protocol").unwrap_or("TCP"));
        let held: Vec<&str> = held.collect();
        if held != ["UDP", "TCP"] && held != ["TCP", "UDP"] {
            sheet.unknown(ports, "names are asked for by UDP and by TCP");
        }
    }
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
    if name.is_some() {
        // What is selected besides the name only cuts off whom the policy is meant for.
        let labels = labels.into_iter().flat_map(Node::children);
        let others = labels.filter(|label| label.key() != "kubernetes.io/metadata.name");
        let terms = selector.children().filter(|key| key.key() != "matchLabels");
        others.chain(terms).for_each(|key| sheet.unknown(key, NOT_OF_THE_KIND));
    }
    let pods = item.get("podSelector").into_iter().flat_map(Node::children);
    let (pods, others) = pods.partition::<Vec<_>, _>(|key| key.key() == "matchLabels");
    others.into_iter().for_each(|key| sheet.unknown(key, NOT_OF_THE_KIND));
    let pods = pods.into_iter().flat_map(Node::children);
    for label in pods.filter(|label| (label.key(), label.value()) != ("k8s-app", Some("kube-dns")))
    {
        sheet.unknown(label, "of another namespace the resolver is named, or all pods");
    }
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
    const ORDER: &str = "a job's policy has order 90 and the tenant's has 100: of two that match \
                         the first counts";
    let Some(namespace) = &meta.namespace else { return sheet.unknown(child, NO_NAMESPACE) };
    if child.key() != "spec" {
        return sheet.unknown(child, NOT_OF_THE_KIND);
    }
    no_labels(meta, sheet);
    let job = meta.job.as_ref().map(|(_, job)| job);
    let is_for_all = matches!(child.text_of("selector"), None | Some("all()"));
    for key in child.children() {
        match key.key() {
            "order" => sheet.must_be(key, &[if job.is_some() { "90" } else { "100" }], ORDER),
            "tier" => sheet.must_be(key, &["default"], ORDER),
            "selector" if job.is_none() && !is_for_all => {
                sheet.unknown(key, "a policy that selects some pods leaves the others open");
            }
            "selector" | "ingress" | "egress" => {}
            "types" if job.is_some() => {}
            "types" if is_for_all => calicos_denials(namespace, key, sheet),
            "types" => {}
            _ => sheet.unknown(key, NOT_OF_THE_KIND),
        }
    }
    if child.get("order").is_none() {
        sheet.unknown(child, ORDER);
    }
    for (rules, direction, side) in
        [("ingress", Direction::Ingress, "source"), ("egress", Direction::Egress, "destination")]
    {
        let rules = child.get(rules);
        count(child.get("types"), rules, direction, sheet);
        for rule in rules.into_iter().flat_map(Node::children) {
            match job {
                Some(job) => among_job(namespace, job, (child, rule), (direction, side), sheet),
                None => allows(namespace, rule, direction, side, sheet),
            }
        }
        by_both(rules, direction, sheet);
        // What is not denied at the end is for later policies to say.
        let last = rules.and_then(|rules| rules.children().last());
        let is_last = last.is_some_and(is_denial);
        let denials = rules.into_iter().flat_map(Node::children).filter(|rule| is_denial(*rule));
        if job.is_none() && is_for_all && (!is_last || denials.count() > 1) {
            sheet.unknown(rules.unwrap_or(child), "the last rule, and no other one, denies all");
        }
    }
}

/// Each of Calico's rules is for one protocol, and names are asked for by two.
fn by_both(rules: Option<Node<'_, '_>>, direction: Direction, sheet: &mut Sheet<'_>) {
    let Some(rules) = rules.filter(|_| direction == Direction::Egress) else { return };
    let asks = |rule: &Node<'_, '_>| {
        let ports = rule.get("destination").and_then(|side| side.get("ports"));
        ports.is_some_and(asks_for_names)
    };
    let asking = || rules.children().filter(asks);
    let by = |word| asking().any(|rule| rule.text_of("protocol") == Some(word));
    if asking().next().is_some() && !(by("UDP") && by("TCP")) {
        sheet.unknown(rules, "names are asked for by UDP and by TCP");
    }
    for selector in asking().filter_map(|rule| rule.get("destination")?.get("selector")) {
        sheet.must_be(selector, &["k8s-app == 'kube-dns'"], "the resolver is named, or all pods");
    }
}

fn is_denial(rule: Node<'_, '_>) -> bool {
    rule.text_of("action") == Some("Deny") && rule.children().count() == 1
}

/// A rule that lets pods of a job reach each other, in Calico's words.
fn among_job(
    namespace: &Name,
    job: &JobName,
    (spec, rule): (Node<'_, '_>, Node<'_, '_>),
    (direction, side): (Direction, &str),
    sheet: &mut Sheet<'_>,
) {
    let own = format!("{JOB_LABEL} == '{}'", job.name);
    let is_own = |at: Option<Node<'_, '_>>| {
        at.is_some_and(|at| at.text_of("selector") == Some(own.as_str()))
    };
    let peer = rule.get(side);
    let is_alone = rule.children().count() == 2
        && peer.is_some_and(|peer| peer.children().count() == 1)
        && rule.text_of("action") == Some("Allow");
    if is_alone && is_own(peer) && is_own(Some(spec)) {
        let (namespace, job) = (namespace.clone(), job.clone());
        sheet.claim(rule, Hold::CalicoLetsJob { namespace, job, direction });
    } else {
        sheet.unknown(rule, "a policy of a job lets its own pods reach each other, nobody else");
    }
}

fn allows(
    namespace: &Name,
    rule: Node<'_, '_>,
    direction: Direction,
    side: &str,
    sheet: &mut Sheet<'_>,
) {
    if is_denial(rule) {
        return;
    }
    for key in rule.children() {
        match key.key() {
            "source" | "destination" => {}
            "protocol" => sheet.must_be(key, &["TCP", "UDP"], NOT_OF_THE_KIND),
            "action" => sheet.must_be(key, &["Allow"], "a rule allows, or denies all"),
            _ => sheet.unknown(key, NOT_OF_THE_KIND),
        }
    }
    if rule.text_of("action") != Some("Allow") {
        return;
    }
    let peer = rule.get(side).map_or(Peer::Anyone, |side| calico_peer(namespace, side, sheet));
    let namespace = namespace.clone();
    match (peer, direction) {
        (Peer::Resolver, Direction::Egress) => {
            sheet.claim(rule, Hold::CalicoResolves { namespace });
        }
        (peer, _) => sheet.claim(rule, Hold::Lets { namespace, direction, peer }),
    }
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
