//! Kubernetes objects, as they are sent and as `kubectl get -o yaml` prints them.

mod claim;
mod devices;
mod guard;
mod machine;
mod mesh;
mod node;
mod policy;
mod quota;
mod tenancy;

use model::{API_GROUP, JobName, Name, TenantName};

use crate::dialect::{COMMENT, Compared, Description, Ignored, passes};
use crate::values::Why;
use crate::yaml::{Broken, Document, Node};
use crate::{Claim, Fact, Hold, Reading, Unknown};

/// What is known of it. A place is a path of keys; items of a list stand in the place of the list.
pub(crate) const DESCRIPTION: Description = Description {
    consumer: "the API server of Kubernetes 1.34 and later, by `kubectl apply` and `kubectl get -o yaml`",
    ignored: &[
        COMMENT,
        Ignored::free(
            "metadata.annotations",
            "kubectl.kubernetes.io/last-applied-configuration: <text>",
            "what was sent last",
        ),
        Ignored::free("metadata", "creationTimestamp: <word>", "when it was made"),
        Ignored::free("metadata", "creationTimestamp:", "as kubectl prints what has no time"),
        Ignored::free("metadata", "generation: <number>", "how often it was changed"),
        Ignored::free("metadata", "resourceVersion: <number>", "how often it was written"),
        Ignored::free("metadata", "resourceVersion:", "as kubectl prints it of several objects"),
        Ignored::free("metadata", "selfLink: <path>", "where it is asked for"),
        Ignored::free("metadata", "uid: <name>", "a number of the API's own"),
        Ignored::free(
            "metadata.finalizers",
            "resource.kubernetes.io/delete-protection",
            "a claim that a pod has is not deleted",
        ),
        Ignored::free(
            "metadata.finalizers",
            "(kubevirt.io/virtualMachineControllerFinalize|finalizer.kamaji.clastix.io)",
            "whoever made something of it takes that away first",
        ),
        Ignored::free("metadata.managedFields", "<text>", "who wrote which field"),
        Ignored::free("status", "<text>", "a report: what is sent as one is dropped"),
        Ignored::free(
            "Namespace.metadata.labels",
            "kubernetes.io/metadata.name: <name>",
            "of a namespace that the API server makes by itself",
        ),
        Ignored::free("Namespace.spec.finalizers", "kubernetes", "it is emptied before it goes"),
        Ignored::fixed(
            "Namespace.metadata.labels",
            "(pod-security.kubernetes.io/audit:|pod-security.kubernetes.io/warn:) \
             (privileged|baseline|restricted)",
            "only a word to whoever asks",
        ),
        Ignored::free(
            "Node.metadata.annotations",
            "node.alpha.kubernetes.io/ttl: <number>",
            "how long secrets are kept in memory",
        ),
        Ignored::free(
            "Node.metadata.annotations",
            "volumes.kubernetes.io/controller-managed-attach-detach: (true|false)",
            "who attaches volumes",
        ),
        Ignored::free(
            "Node.metadata.annotations",
            "(kubeadm.alpha.kubernetes.io/cri-socket:|csi.volume.kubernetes.io/nodeid:) <word>",
            "what programs of the node are called",
        ),
        Ignored::free("Node.spec", "podCIDR: <word>", "addresses of its pods"),
        Ignored::free("Node.spec.podCIDRs", "<word>", "addresses of its pods"),
        Ignored::free("Node.spec", "providerID: <word>", "what its owner calls it"),
        Ignored::free("ResourceSlice.spec.pool", "generation: <number>", "how often it changed"),
        Ignored::free("ResourceSlice.spec.pool", "resourceSliceCount: (1)", "the pool is whole"),
        Ignored::free("ResourceSlice.spec.devices.attributes", "<text>", "what a GPU is like"),
        Ignored::free("ResourceSlice.spec.devices.capacity", "<text>", "what a GPU is like"),
        Ignored::free("ResourceSlice.spec.devices.consumesCounters", "<text>", "parts of it"),
        Ignored::free("ResourceClaim.status", "<text>", "who waits for it, and when it was given"),
        Ignored::fixed("LimitRange.spec.limits.default", "(cpu:|memory:) <word>", "its size"),
        Ignored::fixed(
            "LimitRange.spec.limits.defaultRequest",
            "(cpu:|memory:) <word>",
            "its size",
        ),
        Ignored::fixed("StorageClass", "provisioner: <word>", "who makes the volumes"),
        Ignored::fixed("StorageClass", "allowVolumeExpansion: (true|false)", "a quota holds both"),
        Ignored::fixed("StorageClass", "reclaimPolicy: (Delete|Retain)", "what is left of one"),
        Ignored::fixed(
            "StorageClass",
            "volumeBindingMode: (Immediate|WaitForFirstConsumer)",
            "when one is made",
        ),
        Ignored::fixed(
            "VirtualMachine.spec",
            "runStrategy: (Manual|Halted|Always)",
            "when it runs",
        ),
        Ignored::fixed("VirtualMachine.spec", "running: (true|false)", "when it runs"),
        Ignored::free("VirtualMachine.spec.template.metadata", "creationTimestamp:", "no time"),
        Ignored::fixed(
            "VirtualMachine.spec.template.spec",
            "architecture: (amd64|arm64)",
            "its code",
        ),
        Ignored::fixed(
            "VirtualMachine.spec.template.spec",
            "evictionStrategy: (None|LiveMigrateIfPossible)",
            "it goes where its claims are, and nowhere else",
        ),
        Ignored::fixed(
            "VirtualMachine.spec.template.spec",
            "terminationGracePeriodSeconds: <number>",
            "how soon it stops",
        ),
        Ignored::fixed(
            "VirtualMachine.spec.template.spec.domain.cpu",
            "(cores:|sockets:|threads:) <number>",
            "its size",
        ),
        Ignored::fixed(
            "VirtualMachine.spec.template.spec.domain.memory",
            "guest: <word>",
            "its size",
        ),
        Ignored::fixed(
            "VirtualMachine.spec.template.spec.domain.machine",
            "type: (q35|virt)",
            "what the machine is like",
        ),
        Ignored::fixed(
            "TenantControlPlane.spec",
            "dataStore: <name>",
            "where it keeps its objects",
        ),
        Ignored::fixed(
            "TenantControlPlane.spec.controlPlane.deployment",
            "replicas: (1|2|3|5)",
            "how many there are of it",
        ),
        Ignored::fixed(
            "TenantControlPlane.spec.controlPlane.service",
            "serviceType: (ClusterIP)",
            "it is reached from inside alone",
        ),
        Ignored::fixed("TenantControlPlane.spec.kubernetes", "version: <version>", "its release"),
        Ignored::fixed(
            "TenantControlPlane.spec.kubernetes.kubelet",
            "cgroupfs: (systemd|cgroupfs)",
            "how nodes that join it count",
        ),
        Ignored::fixed(
            "TenantControlPlane.spec.kubernetes.admissionControllers",
            "<word>",
            "what it refuses by itself",
        ),
        Ignored::free(
            "TenantControlPlane.spec.kubernetes.kubelet.preferredAddressTypes",
            "(InternalIP|ExternalIP|Hostname)",
            "as Kamaji prints it",
        ),
        Ignored::free(
            "TenantControlPlane.spec.controlPlane.deployment",
            "serviceAccountName: (default)",
            "as Kamaji prints it",
        ),
        Ignored::free(
            "TenantControlPlane.spec.controlPlane.deployment.registrySettings",
            "registry: (registry.k8s.io)",
            "as Kamaji prints it",
        ),
        Ignored::free(
            "TenantControlPlane.spec.controlPlane.deployment.registrySettings",
            "apiServerImage: (kube-apiserver)",
            "as Kamaji prints it",
        ),
        Ignored::free(
            "TenantControlPlane.spec.controlPlane.deployment.registrySettings",
            "controllerManagerImage: (kube-controller-manager)",
            "as Kamaji prints it",
        ),
        Ignored::free(
            "TenantControlPlane.spec.controlPlane.deployment.registrySettings",
            "schedulerImage: (kube-scheduler)",
            "as Kamaji prints it",
        ),
        Ignored::free(
            "TenantControlPlane.spec.controlPlane.deployment.strategy",
            "type: (RollingUpdate|Recreate)",
            "how its pods are exchanged",
        ),
        Ignored::free(
            "TenantControlPlane.spec.controlPlane.deployment.strategy.rollingUpdate",
            "(maxSurge:|maxUnavailable:) <word>",
            "how its pods are exchanged",
        ),
        Ignored::free(
            "TenantControlPlane.spec.networkProfile",
            "clusterDomain: (cluster.local)",
            "as Kamaji prints it",
        ),
        Ignored::free(
            "TenantControlPlane.spec.networkProfile",
            "podCidr: (10.244.0.0/16)",
            "as Kamaji prints it: addresses inside of the tenant's own cluster",
        ),
        Ignored::free(
            "TenantControlPlane.spec.networkProfile",
            "serviceCidr: (10.96.0.0/16)",
            "as Kamaji prints it: addresses inside of the tenant's own cluster",
        ),
        Ignored::fixed("TenantControlPlane.spec.networkProfile", "port: (6443)", "its port"),
        Ignored::fixed("TenantControlPlane.spec.addons", "(coreDNS:|kubeProxy:)", "its own parts"),
    ],
    demanded: &[],
    uncompared: &[],
    compared: Compared::Claims,
    otherwise: &[
        "`status` is dropped when an object is made: a claim is what its spec asks for.",
        "An object with an owner that is not there is deleted: `ownerReferences` are not passed over.",
        "Nothing else may be in the place of a text that is `null`, `Null`, `NULL` or `~`.",
    ],
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

    /// Passes over what the description lists, value by value; all else below it is not known.
    fn pass(&mut self, place: &str, at: Node<'_, '_>) {
        let mut below = at.children().peekable();
        if below.peek().is_none() {
            let line = match (at.key(), at.value()) {
                ("", value) => value.unwrap_or_default().into(),
                (key, None) => format!("{key}:"),
                (key, Some(value)) => format!("{key}: {value}"),
            };
            if passes(&DESCRIPTION, place, &line) {
                self.reading.ignored.push(at.line());
            } else {
                self.unknown(at, "nobody knows what this value does here");
            }
            return;
        }
        let place =
            if at.key().is_empty() { place.into() } else { format!("{place}.{}", at.key()) };
        below.for_each(|child| self.pass(&place, child));
    }

    /// Passes over what the API reports, whatever it is; the description names it as free text.
    fn report(&mut self, at: Node<'_, '_>) {
        self.reading.ignored.extend(at.all().map(Node::line));
    }

    /// Whether something of this document is not known.
    fn is_refused(&self) -> bool {
        self.reading.unknown.len() > self.unknown
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
            "status" => match kind {
                "Namespace" => tenancy::phase(child, sheet),
                "ResourceClaim" => (read.section)(child, &meta, sheet),
                _ => sheet.report(child),
            },
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
    const ADMISSION: &str = "admissionregistration.k8s.io/v1";
    let (section, whole): (Section, Whole) = match (version, kind) {
        ("resource.k8s.io/v1", "ResourceSlice") => (devices::slice_section, devices::slice),
        ("resource.k8s.io/v1", "ResourceClaim") => (claim::section, claim::whole),
        ("resource.k8s.io/v1", "DeviceClass") => (devices::class_section, devices::class),
        ("kubevirt.io/v1", "VirtualMachine") => (machine::section, machine::whole),
        ("v1", "Node") => (node::section, node::whole),
        ("v1", "Namespace") => (tenancy::namespace_section, tenancy::namespace),
        ("v1", "ResourceQuota") => (quota::quota, no_more),
        ("v1", "LimitRange") => (quota::limits, no_more),
        ("storage.k8s.io/v1", "StorageClass") => (tenancy::class_section, tenancy::class),
        ("rbac.authorization.k8s.io/v1", "ClusterRole") => (guard::role_section, guard::role),
        ("rbac.authorization.k8s.io/v1", "RoleBinding" | "ClusterRoleBinding") => {
            (tenancy::binding_section, tenancy::binding)
        }
        (ADMISSION, "ValidatingAdmissionPolicy") => (guard::policy_section, guard::policy),
        (ADMISSION, "ValidatingAdmissionPolicyBinding") => (guard::binding_section, guard::binding),
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
            "metadata" => child.children().for_each(|key| sheet.pass("metadata", key)),
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
            "annotations" if is_node => {
                child.children().for_each(|note| sheet.pass("Node.metadata.annotations", note));
            }
            "annotations" => {
                child.children().for_each(|note| annotation(note, &mut meta, sheet));
            }
            "managedFields" => sheet.report(child),
            "creationTimestamp" | "finalizers" | "generation" | "resourceVersion" | "selfLink"
            | "uid" => sheet.pass("metadata", child),
            "ownerReferences" => {
                sheet.unknown(child, "it would be deleted with its owner, or for lack of one");
            }
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
            sheet.pass("metadata.annotations", note);
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
