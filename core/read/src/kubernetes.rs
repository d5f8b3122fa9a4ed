//! Kubernetes objects, as they are sent and as `kubectl get -o yaml` prints them.

mod devices;
mod mesh;
mod policy;
mod tenancy;

use model::{API_GROUP, JobName, Name, TenantName};

use crate::dialect::{COMMENT, Compared, Description, Ignored};
use crate::values::Why;
use crate::yaml::{Broken, Document, Node};
use crate::{Claim, Fact, Hold, Reading, Unknown};

/// What is known of it. An ignored line is a key with all that stands below it.
pub(crate) const DESCRIPTION: Description = Description {
    consumer: "the API server of Kubernetes 1.34 and later, by `kubectl apply` and `kubectl get -o yaml`",
    ignored: &[
        COMMENT,
        Ignored::free(
            "metadata.annotations",
            "kubectl.kubernetes.io/last-applied-configuration",
            "what the API writes beside what it was sent",
        ),
        Ignored::free(
            "metadata",
            "creationTimestamp",
            "what the API writes beside what it was sent",
        ),
        Ignored::free("metadata", "finalizers", "what the API writes beside what it was sent"),
        Ignored::free("metadata", "generation", "what the API writes beside what it was sent"),
        Ignored::free("metadata", "managedFields", "what the API writes beside what it was sent"),
        Ignored::free("metadata", "ownerReferences", "what the API writes beside what it was sent"),
        Ignored::free("metadata", "resourceVersion", "what the API writes beside what it was sent"),
        Ignored::free("metadata", "selfLink", "what the API writes beside what it was sent"),
        Ignored::free("metadata", "uid", "what the API writes beside what it was sent"),
        Ignored::free("", "status", "what the API writes beside what it was sent"),
    ],
    demanded: &[],
    uncompared: &[],
    compared: Compared::Claims,
    otherwise: &[],
    read,
};

/// Of so much text most objects make one claim.
const USUAL_CLAIM_BYTES: usize = 256;

const NOT_OF_THE_KIND: Why = "no object of this kind that keeps tenants apart says this";
const NO_NAMESPACE: Why = "the object must say its namespace";

fn read(text: &str) -> Reading {
    let room = text.len() / USUAL_CLAIM_BYTES;
    let mut reading = Reading { claims: Vec::with_capacity(room), ..Reading::default() };
    let mut document = Document::new();
    let mut lines = (1_u32..).zip(text.lines()).peekable();
    while lines.peek().is_some() {
        let mut comments = Vec::new();
        let mut next = std::iter::from_fn(|| lines.next_if(|(_, line)| !is_rule(line)));
        let read = document.read(next.by_ref().inspect(|(line, text)| {
            if text.trim_ascii_start().starts_with('#') {
                comments.push(*line);
            }
        }));
        let mut sheet = Sheet::new(&mut reading);
        match read {
            Ok(()) => object(document.root(), &mut sheet),
            Err(Broken { line, text, why }) => sheet.refuse(line, text, why),
        }
        sheet.reading.ignored.append(&mut comments);
        sheet.settle();
        next.for_each(drop); // The rest of a document that is not read at all.
        lines.next(); // The rule.
    }
    reading
}

/// The line between two documents.
fn is_rule(line: &str) -> bool {
    line.strip_prefix("---").is_some_and(|rest| rest.trim_ascii_end().is_empty())
}

/// Where what one document says is written down.
struct Sheet<'r> {
    reading: &'r mut Reading,
    claims: usize,
    unknown: usize,
    ignored: usize,
}

impl<'r> Sheet<'r> {
    fn new(reading: &'r mut Reading) -> Self {
        let Reading { claims, unknown, ignored, .. } = &*reading;
        let (claims, unknown, ignored) = (claims.len(), unknown.len(), ignored.len());
        Self { reading, claims, unknown, ignored }
    }

    fn claim(&mut self, at: Node<'_, '_>, hold: Hold) {
        self.reading.claims.push(Claim { line: at.line(), fact: Fact::Holds(hold) });
    }

    fn unknown(&mut self, at: Node<'_, '_>, why: Why) {
        self.refuse(at.line(), at.text(), why);
    }

    fn refuse(&mut self, line: u32, text: &str, why: Why) {
        self.reading.unknown.push(Unknown { line, text: text.into(), why });
    }

    fn ignore(&mut self, at: Node<'_, '_>) {
        self.reading.ignored.extend(at.all().map(Node::line));
    }

    /// A key that must have one of these values, or nothing is known.
    fn must_be(&mut self, at: Node<'_, '_>, values: &[&str], why: Why) {
        if !at.value().is_some_and(|value| values.contains(&value)) {
            self.unknown(at, why);
        }
    }

    /// Puts the lines of a document in order. What stands on a line that is not known is not
    /// claimed either.
    fn settle(self) {
        let Reading { claims, unknown, ignored, .. } = self.reading;
        if !claims[self.claims..].is_sorted_by_key(|claim| claim.line) {
            claims[self.claims..].sort_by_key(|claim| claim.line);
        }
        if !ignored[self.ignored..].is_sorted_by(|a, b| a < b) {
            let mut kept = ignored.split_off(self.ignored);
            kept.sort_unstable();
            kept.dedup();
            ignored.append(&mut kept);
        }
        if unknown.len() == self.unknown {
            return;
        }
        unknown[self.unknown..].sort_by_key(|unknown| unknown.line);
        let mut last = 0;
        let mut at = 0;
        unknown.retain(|unknown| {
            at += 1;
            at <= self.unknown || std::mem::replace(&mut last, unknown.line) != unknown.line
        });
        let refused: Vec<u32> = unknown[self.unknown..].iter().map(|at| at.line).collect();
        let is_refused = |line: u32| refused.binary_search(&line).is_ok();
        let mut kept = claims.split_off(self.claims);
        kept.retain(|claim| !is_refused(claim.line));
        claims.append(&mut kept);
        let mut kept = ignored.split_off(self.ignored);
        kept.retain(|line| !is_refused(*line));
        ignored.append(&mut kept);
    }
}

/// What an object is called and whose it is.
#[derive(Default)]
struct Meta<'d, 'a> {
    name: &'d str,
    namespace: Option<Name>,
    tenant: Option<(Node<'d, 'a>, TenantName)>,
    job: Option<(Node<'d, 'a>, JobName)>,
    labels: Option<Node<'d, 'a>>,
}

fn object(root: Node<'_, '_>, sheet: &mut Sheet<'_>) {
    let Some(first) = root.children().next() else { return };
    let (Some(version), Some(kind)) = (root.text_of("apiVersion"), root.text_of("kind")) else {
        return sheet.unknown(first, "an object says its apiVersion and kind");
    };
    if (version, kind) == ("v1", "List") {
        return list(root, sheet);
    }
    let Some(read) = reader(version, kind) else {
        let at = root.get("kind").unwrap_or(first);
        return sheet.unknown(at, "objects of this kind are not read; leave them out");
    };
    let Some(metadata) = root.get("metadata") else {
        return sheet.unknown(first, "an object says its metadata");
    };
    let is_node = kind == "Node";
    let meta = self::metadata(metadata, is_node, sheet);
    for child in root.children() {
        match child.key() {
            "apiVersion" | "kind" | "metadata" => {}
            "status" if kind != "ResourceClaim" => sheet.ignore(child),
            _ => (read.section)(child, &meta, sheet),
        }
    }
    (read.whole)(root, metadata, &meta, sheet);
}

/// How objects of a kind are read: section by section, so that none is passed over, and then as a
/// whole.
struct Kind {
    section: Section,
    whole: Whole,
}

type Section = fn(Node<'_, '_>, &Meta<'_, '_>, &mut Sheet<'_>);
type Whole = fn(Node<'_, '_>, Node<'_, '_>, &Meta<'_, '_>, &mut Sheet<'_>);

fn reader(version: &str, kind: &str) -> Option<Kind> {
    let (section, whole): (Section, Whole) = match (version, kind) {
        ("resource.k8s.io/v1", "ResourceSlice") => (devices::slice_section, devices::slice),
        ("resource.k8s.io/v1", "ResourceClaim") => (devices::claim_section, devices::claim),
        ("resource.k8s.io/v1", "DeviceClass") => (devices::class_section, no_more),
        ("kubevirt.io/v1", "VirtualMachine") => (devices::machine_section, devices::machine),
        ("v1", "Node") => (devices::node_section, devices::node),
        ("v1", "Namespace") => (tenancy::namespace_section, tenancy::namespace),
        ("v1", "ResourceQuota") => (tenancy::quota, no_more),
        ("v1", "LimitRange") => (tenancy::limits, no_more),
        ("storage.k8s.io/v1", "StorageClass") => (tenancy::class_section, tenancy::class),
        ("rbac.authorization.k8s.io/v1", "ClusterRole") => (tenancy::role_section, no_more),
        ("rbac.authorization.k8s.io/v1", "RoleBinding" | "ClusterRoleBinding") => {
            (tenancy::binding_section, tenancy::binding)
        }
        ("kamaji.clastix.io/v1alpha1", "TenantControlPlane") => {
            (tenancy::plane_section, tenancy::plane)
        }
        ("networking.k8s.io/v1", "NetworkPolicy") => (policy::kubernetes, no_more),
        ("projectcalico.org/v3", "NetworkPolicy") => (policy::calico, no_more),
        ("security.istio.io/v1", "PeerAuthentication") => (mesh::tls_section, mesh::tls),
        ("security.istio.io/v1", "AuthorizationPolicy") => (mesh::callers_section, mesh::callers),
        _ => return None,
    };
    Some(Kind { section, whole })
}

fn no_more(_: Node<'_, '_>, _: Node<'_, '_>, _: &Meta<'_, '_>, _: &mut Sheet<'_>) {}

/// Several objects in one, as `kubectl get` prints them.
fn list(root: Node<'_, '_>, sheet: &mut Sheet<'_>) {
    for child in root.children() {
        match child.key() {
            "apiVersion" | "kind" => {}
            "metadata" => sheet.ignore(child),
            "items" => child.children().for_each(|item| match item.text_of("kind") {
                Some("List") => sheet.unknown(item, "a list stands in no list"),
                _ => object(item, sheet),
            }),
            _ => sheet.unknown(child, NOT_OF_THE_KIND),
        }
    }
}

fn metadata<'d, 'a>(metadata: Node<'d, 'a>, is_node: bool, sheet: &mut Sheet<'_>) -> Meta<'d, 'a> {
    let mut meta = Meta::default();
    for child in metadata.children() {
        match child.key() {
            "name" => meta.name = child.value().unwrap_or_default(),
            "namespace" => match child.value().and_then(|name| name.parse().ok()) {
                Some(name) => meta.namespace = Some(name),
                None => sheet.unknown(child, "this is no name of a namespace"),
            },
            "labels" => meta.labels = Some(child),
            "annotations" if is_node => sheet.ignore(child),
            "annotations" => {
                child.children().for_each(|note| annotation(note, &mut meta, sheet));
            }
            "creationTimestamp" | "finalizers" | "generation" | "managedFields"
            | "ownerReferences" | "resourceVersion" | "selfLink" | "uid" => sheet.ignore(child),
            _ => sheet.unknown(child, NOT_OF_THE_KIND),
        }
    }
    if meta.name.is_empty() {
        sheet.unknown(metadata, "an object says its name");
    }
    meta
}

fn annotation<'d, 'a>(note: Node<'d, 'a>, meta: &mut Meta<'d, 'a>, sheet: &mut Sheet<'_>) {
    let text = note.value().unwrap_or_default();
    match note.key().strip_prefix(API_GROUP) {
        Some("/tenant") => match text.parse() {
            Ok(tenant) => meta.tenant = Some((note, tenant)),
            Err(_) => sheet.unknown(note, "a tenant is named by its path, such as acme/research"),
        },
        Some("/job") => match text.parse() {
            Ok(job) => meta.job = Some((note, job)),
            Err(_) => sheet.unknown(note, "a job is named by its path, such as acme/train"),
        },
        None if note.key() == "kubectl.kubernetes.io/last-applied-configuration" => {
            sheet.ignore(note);
        }
        _ => sheet.unknown(note, "nobody knows what this annotation does"),
    }
}

/// The labels of an object that may have none.
fn no_labels(meta: &Meta<'_, '_>, sheet: &mut Sheet<'_>) {
    for label in meta.labels.into_iter().flat_map(Node::children) {
        sheet.unknown(label, "nobody knows whom this label selects");
    }
}
