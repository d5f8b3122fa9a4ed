//! Virtual machines that KubeVirt starts: on the node of their claims, with nothing of the host.

use model::Confidential;
use model::admission::JOB_LABEL;

use super::{Meta, NOT_OF_THE_KIND, Sheet, claim, no_labels, node};
use crate::yaml::Node;
use crate::{ClaimRequest, Hold};

const SPEC: &str = "VirtualMachine.spec.template.spec";
const HOST: &str = "nobody knows what of the host or of others this gives to the machine";

pub(super) fn section(child: Node<'_, '_>, meta: &Meta<'_, '_>, sheet: &mut Sheet<'_>) {
    if child.key() != "spec" {
        return sheet.unknown(child, NOT_OF_THE_KIND);
    }
    for key in child.children().filter(|key| key.key() != "template") {
        sheet.pass("VirtualMachine.spec", key);
    }
    for key in child.get("template").into_iter().flat_map(Node::children) {
        match key.key() {
            "metadata" => template(key, meta, sheet),
            "spec" => spec(key, meta, sheet),
            _ => sheet.unknown(key, NOT_OF_THE_KIND),
        }
    }
}

/// Labels and annotations of the machine's pod: which job it is, and nothing more.
fn template(metadata: Node<'_, '_>, meta: &Meta<'_, '_>, sheet: &mut Sheet<'_>) {
    let job = meta.job.as_ref().map_or("", |(_, job)| job.name.as_str());
    for key in metadata.children() {
        if key.key() != "labels" {
            sheet.pass("VirtualMachine.spec.template.metadata", key);
            continue;
        }
        for label in key.children() {
            if (label.key(), label.value()) != (JOB_LABEL, Some(job)) {
                sheet.unknown(label, "nobody knows whom this label selects");
            }
        }
    }
}

fn spec(spec: Node<'_, '_>, meta: &Meta<'_, '_>, sheet: &mut Sheet<'_>) {
    let own = meta.namespace.as_ref().map_or("", model::Name::as_str);
    for key in spec.children() {
        match key.key() {
            "architecture" | "evictionStrategy" | "terminationGracePeriodSeconds" => {
                sheet.pass(SPEC, key);
            }
            "nodeSelector" => {}
            "tolerations" => key.children().for_each(|one| node::bears(one, own, sheet)),
            "resourceClaims" => {
                key.children().flat_map(Node::children).for_each(|entry| match entry.key() {
                    "name" => {}
                    "resourceClaimName" if number_of(entry.value(), meta.name).is_some() => {}
                    _ => sheet.unknown(entry, "a machine has the claims of its job and node"),
                });
            }
            "domain" => domain(key, sheet),
            _ => sheet.unknown(key, HOST),
        }
    }
}

/// Which claim it is of those with this name: the first, or one with a number behind it.
fn number_of(claim: Option<&str>, name: &str) -> Option<u16> {
    match claim?.strip_prefix(name)? {
        "" => Some(0),
        rest => claim::number(rest.strip_prefix('.')?).filter(|number| *number > 0),
    }
}

fn domain(domain: Node<'_, '_>, sheet: &mut Sheet<'_>) {
    for key in domain.children() {
        match key.key() {
            "cpu" | "machine" | "memory" => {
                sheet.pass("VirtualMachine.spec.template.spec.domain", key);
            }
            "launchSecurity" => {}
            "devices" => {
                for device in key.children() {
                    match device.key() {
                        "gpus" => device.children().for_each(|gpu| by_claim(gpu, sheet)),
                        _ => sheet.unknown(device, HOST),
                    }
                }
            }
            _ => sheet.unknown(key, HOST),
        }
    }
}

/// The claim says which GPU it is.
fn by_claim(gpu: Node<'_, '_>, sheet: &mut Sheet<'_>) {
    if gpu.get("claimName").is_none() || gpu.get("requestName").is_none() {
        sheet.unknown(gpu, "a GPU names its claim, and what it is called in there");
    }
    for key in gpu.children() {
        match key.key() {
            "claimName" | "name" => {}
            "requestName" if key.value().and_then(claim::called).is_some() => {}
            _ => sheet.unknown(key, "a GPU comes to a machine by a claim, which names it"),
        }
    }
}

pub(super) fn whole(
    root: Node<'_, '_>,
    metadata: Node<'_, '_>,
    meta: &Meta<'_, '_>,
    sheet: &mut Sheet<'_>,
) {
    no_labels(meta, sheet);
    let (Some(namespace), Some((note, job))) = (&meta.namespace, &meta.job) else {
        return sheet.unknown(metadata, "a machine says its namespace and whose job it is");
    };
    let Some((node, 0)) = claim::place_of(meta) else {
        return sheet.unknown(metadata, "a machine is called by its job and its node: train.n1");
    };
    let template = root.get("spec").and_then(|spec| spec.get("template"));
    let spec = template.and_then(|template| template.get("spec"));
    let nodes = spec.and_then(|spec| spec.get("nodeSelector"));
    let selects =
        |is: &dyn Fn(Node<'_, '_>) -> bool| nodes.is_some_and(|nodes| nodes.children().any(is));
    let is_home = |label: Node<'_, '_>| node::is_home(label, namespace.as_str());
    let is_here = |label: Node<'_, '_>| {
        (label.key(), label.value()) == ("kubernetes.io/hostname", Some(node.as_str()))
    };
    let strays = nodes.into_iter().flat_map(Node::children);
    for label in strays.filter(|label| !is_home(*label) && !is_here(*label)) {
        sheet.unknown(label, node::NOT_HOME);
    }
    if !selects(&is_home) || !selects(&is_here) {
        sheet.unknown(*note, "a machine selects its node by its hostname, and its tenant's label");
    }
    let labels = template.and_then(|template| template.get("metadata")?.get("labels"));
    if labels.and_then(|labels| labels.text_of(JOB_LABEL)) != Some(job.name.as_str()) {
        sheet.unknown(*note, "the pods of a machine say their job in a label");
    }
    if !node::bears_own(spec, namespace.as_str()) {
        sheet.unknown(*note, node::KEPT_OFF);
    }
    let domain = spec.and_then(|spec| spec.get("domain"));
    for (at, request) in gpus(spec, domain, meta.name, *note, sheet) {
        let (job, node) = (job.clone(), node.clone());
        sheet.claim(at, Hold::GuestTakes { job, node, request });
    }
    let mut confidential = None;
    let security = domain.and_then(|domain| domain.get("launchSecurity"));
    for way in security.into_iter().flat_map(Node::children) {
        match way.key() {
            "snp" => confidential = Some(Confidential::SevSnp),
            "tdx" => confidential = Some(Confidential::Tdx),
            _ => sheet.unknown(way, "what keeps the host out is snp or tdx"),
        }
        // A policy of the launch may let the host debug the machine.
        way.children().for_each(|key| sheet.unknown(key, HOST));
    }
    let (namespace, job) = (namespace.clone(), job.clone());
    sheet.claim(*note, Hold::ClusterGuest { namespace, job, node, confidential });
}

/// A machine has its claims, each by one name, and takes what they are for, each GPU once. Gives
/// what it takes, and where it says so.
fn gpus<'d, 'a>(
    spec: Option<Node<'d, 'a>>,
    domain: Option<Node<'d, 'a>>,
    own: &str,
    note: Node<'_, '_>,
    sheet: &mut Sheet<'_>,
) -> Vec<(Node<'d, 'a>, ClaimRequest)> {
    const WHY: &str = "a machine gets each GPU once, by a claim that it has";
    let claims = spec.and_then(|spec| spec.get("resourceClaims"));
    let mut named: Vec<(&str, u16)> = Vec::new();
    for claim in claims.into_iter().flat_map(Node::children) {
        let number = number_of(claim.text_of("resourceClaimName"), own);
        let is_new = |name: &&str| named.iter().all(|(other, _)| other != name);
        match claim.text_of("name").filter(is_new).zip(number) {
            Some(one) => named.push(one),
            None => sheet.unknown(claim, WHY),
        }
    }
    let gpus = domain.and_then(|domain| domain.get("devices")?.get("gpus"));
    let mut taken: Vec<(Node<'_, '_>, ClaimRequest)> = Vec::new();
    for gpu in gpus.into_iter().flat_map(Node::children) {
        let claim = gpu.text_of("claimName");
        let claim = named.iter().find(|(name, _)| Some(*name) == claim).map(|(_, number)| *number);
        let minor =
            gpu.get("requestName").and_then(|name| Some((name, claim::called(name.value()?)?)));
        let request =
            claim.zip(minor).map(|(claim, (at, minor))| (at, ClaimRequest { claim, minor }));
        match request.filter(|(_, one)| taken.iter().all(|(_, other)| other != one)) {
            Some(request) => taken.push(request),
            None => sheet.unknown(gpu, WHY),
        }
    }
    let is_used = |claim: u16| taken.iter().any(|(_, one)| one.claim == claim);
    if named.is_empty() || !named.iter().all(|(_, claim)| is_used(*claim)) {
        sheet.unknown(note, WHY);
    }
    taken
}
