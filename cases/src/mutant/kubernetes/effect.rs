//! The table: what it does when an object says something else than was planned, by kind and path.
//! It was written without a look at what `read` passes over. What stands in no row opens: nobody
//! wrote down that it does not.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::objects::{Called, Difference, Objects, differences};
use crate::mutant::Effect;

/// When a row counts.
enum When {
    /// Whatever stands there.
    Any,
    /// It was there, and nothing is now.
    Gone,
    /// Nothing was there.
    Come,
    /// What stands there now is one of these, or what stood there if it is gone.
    Is(&'static [&'static str]),
}

use Effect::{Cuts, Harmless, Opens};
use When::{Any, Come, Gone, Is};

/// What kinds begin with, what paths begin with, when, and what it does. The first that fits counts.
type Row = (&'static str, &'static str, When, Effect);

/// What servers say by themselves of every object, and drop where it is sent.
const OWN: &[Row] = &[
    ("", "metadata.creationTimestamp", Any, Harmless),
    ("", "metadata.uid", Any, Harmless),
    ("", "metadata.resourceVersion", Any, Harmless),
    ("", "metadata.generation", Any, Harmless),
    ("", "metadata.managedFields", Any, Harmless),
    ("", "metadata.selfLink", Any, Harmless),
    ("", "metadata.annotations.kubectl.kubernetes.io/last-applied-configuration", Any, Harmless),
    ("", "status", Any, Harmless),
];

const AUTHORIZATION: &str = "rbac.authorization.k8s.io";

const ROWS: &[Row] = &[
    ("", "metadata.annotations.bulkhead.dev/", Gone, Cuts),
    // Whose a namespace is.
    ("Namespace.", "metadata.labels.kubernetes.io/metadata.name", Come, Harmless),
    ("Namespace.", "metadata.labels.pod-security.kubernetes.io/enforce-", Any, Opens),
    // It keeps pods from the host just as well; what more is refused, is inside of the pod.
    (
        "Namespace.",
        "metadata.labels.pod-security.kubernetes.io/enforce",
        Is(&["baseline"]),
        Harmless,
    ),
    ("Namespace.", "metadata.labels.pod-security.kubernetes.io/audit", Any, Harmless),
    ("Namespace.", "metadata.labels.pod-security.kubernetes.io/warn", Any, Harmless),
    ("Namespace.", "spec.finalizers[]", Is(&["kubernetes"]), Harmless),
    // Nodes.
    ("Node.", "metadata.labels.tenant.node-restriction.kubernetes.io/", Gone, Cuts),
    ("Node.", "metadata.labels.tenant.node-restriction.kubernetes.io/", Any, Opens),
    ("Node.", "metadata.labels.kubernetes.io/hostname", Gone, Cuts),
    ("Node.", "metadata.labels.kubernetes.io/hostname", Any, Opens),
    ("Node.", "metadata.labels.", Come, Harmless),
    ("Node.", "metadata.labels.", Any, Cuts),
    ("Node.", "metadata.annotations.", Any, Harmless),
    ("Node.", "spec.taints[]", Come, Cuts),
    ("Node.", "spec.taints[].timeAdded", Any, Harmless),
    ("Node.", "spec.unschedulable", Is(&["false"]), Harmless),
    ("Node.", "spec.unschedulable", Any, Cuts),
    ("Node.", "spec.podCIDR", Any, Harmless),
    ("Node.", "spec.providerID", Any, Harmless),
    // GPUs.
    ("ResourceSlice.", "spec.pool.generation", Any, Harmless),
    ("ResourceSlice.", "spec.pool.resourceSliceCount", Any, Cuts),
    ("ResourceSlice.", "spec.devices[].attributes.pci", Any, Opens),
    ("ResourceSlice.", "spec.devices[].attributes.resource.kubernetes.io/pciBusID", Any, Opens),
    ("ResourceSlice.", "spec.devices[].attributes.type", Any, Opens),
    ("ResourceSlice.", "spec.devices[].attributes.", Any, Harmless),
    ("ResourceSlice.", "spec.devices[].capacity.", Any, Harmless),
    // The driver counts by them how a GPU is cut.
    ("ResourceSlice.", "spec.devices[].consumesCounters", Any, Harmless),
    ("ResourceSlice.", "spec.devices[].taints", Any, Cuts),
    ("ResourceSlice.", "spec.devices[]", Gone, Cuts),
    (
        "ResourceClaim.",
        "spec.devices.requests[].exactly.allocationMode",
        Is(&["ExactCount"]),
        Harmless,
    ),
    ("ResourceClaim.", "spec.devices.requests[].exactly.count", Is(&["1"]), Harmless),
    ("ResourceClaim.", "spec.devices.requests[].name", Any, Cuts),
    ("ResourceClaim.", "spec.devices.requests[]", Gone, Cuts),
    ("ResourceClaim.", "spec.devices.constraints", Any, Cuts),
    // A pod that has it keeps it from being deleted.
    (
        "ResourceClaim.",
        "metadata.finalizers",
        Is(&["resource.kubernetes.io/delete-protection"]),
        Harmless,
    ),
    ("DeviceClass.", "spec.selectors[]", Come, Cuts),
    // Who may do what.
    ("ClusterRole.", "rules", Gone, Cuts),
    // The group of roles, groups and users is what it is by itself.
    ("RoleBinding.", "roleRef.apiGroup", Is(&[AUTHORIZATION]), Harmless),
    ("RoleBinding.", "subjects[].apiGroup", Is(&[AUTHORIZATION]), Harmless),
    ("RoleBinding.", "subjects[]", Gone, Cuts),
    ("ClusterRoleBinding.", "subjects[]", Gone, Cuts),
    // What is refused.
    ("ValidatingAdmissionPolicy.", "spec.failurePolicy", Is(&["Fail"]), Harmless),
    (
        "ValidatingAdmissionPolicy.",
        "spec.matchConstraints.matchPolicy",
        Is(&["Equivalent"]),
        Harmless,
    ),
    (
        "ValidatingAdmissionPolicy.",
        "spec.matchConstraints.namespaceSelector",
        Is(&["{}"]),
        Harmless,
    ),
    ("ValidatingAdmissionPolicy.", "spec.matchConstraints.objectSelector", Is(&["{}"]), Harmless),
    (
        "ValidatingAdmissionPolicy.",
        "spec.matchConstraints.resourceRules[].scope",
        Is(&["*"]),
        Harmless,
    ),
    // By which words and which number a refusal is told.
    ("ValidatingAdmissionPolicy.", "spec.validations[].message", Any, Harmless),
    ("ValidatingAdmissionPolicy.", "spec.validations[].reason", Any, Harmless),
    ("ValidatingAdmissionPolicy.", "spec.auditAnnotations", Any, Harmless),
    ("ValidatingAdmissionPolicyBinding.", "spec.validationActions[]", Is(&["Audit"]), Harmless),
    (
        "ValidatingAdmissionPolicyBinding.",
        "spec.matchResources.matchPolicy",
        Is(&["Equivalent"]),
        Harmless,
    ),
    (
        "ValidatingAdmissionPolicyBinding.",
        "spec.matchResources.objectSelector",
        Is(&["{}"]),
        Harmless,
    ),
    // How much.
    ("ResourceQuota.", "spec.scope", Any, Opens),
    ("ResourceQuota.", "spec.hard.", Come, Cuts),
    // How large a container is unless it says so; nobody planned it.
    ("LimitRange.", "spec.limits[].default.", Any, Harmless),
    ("LimitRange.", "spec.limits[].defaultRequest", Any, Harmless),
    ("LimitRange.", "spec.limits[]", Any, Cuts),
    // Volumes: who makes them and when is up to whoever runs the cluster.
    ("StorageClass.", "provisioner", Any, Harmless),
    ("StorageClass.", "reclaimPolicy", Any, Harmless),
    ("StorageClass.", "volumeBindingMode", Any, Harmless),
    ("StorageClass.", "allowVolumeExpansion", Any, Harmless),
    // Who reaches whom.
    ("NetworkPolicy.networking", "spec.podSelector", Is(&["{}"]), Harmless),
    // Both directions are closed by another policy already.
    ("NetworkPolicy.networking", "spec.policyTypes[]", Come, Harmless),
    // The way out of a namespace is closed by two policies, and either is enough.
    ("NetworkPolicy.networking", "spec.policyTypes[]", Is(&["Egress"]), Harmless),
    ("NetworkPolicy.networking", "spec.egress[].ports[].protocol", Is(&["TCP"]), Harmless),
    // Nobody of the cluster's own namespace is asked for anything but names.
    ("NetworkPolicy.networking", "spec.egress[].to[].podSelector", Is(&["{}"]), Harmless),
    ("NetworkPolicy.networking", "spec.egress[].to[].podSelector", Gone, Harmless),
    ("NetworkPolicy.projectcalico", "spec.egress[].destination.selector", Gone, Harmless),
    ("NetworkPolicy.networking", "spec.ingress[]", Gone, Cuts),
    ("NetworkPolicy.networking", "spec.egress[]", Gone, Cuts),
    // Without one it selects all.
    ("NetworkPolicy.projectcalico", "spec.selector", Is(&["all()"]), Harmless),
    ("NetworkPolicy.projectcalico", "spec.tier", Is(&["default"]), Harmless),
    ("NetworkPolicy.projectcalico", "spec.types[]", Come, Cuts),
    ("AuthorizationPolicy.", "spec.action", Is(&["ALLOW"]), Harmless),
    ("AuthorizationPolicy.", "spec.rules[].from[].source.namespaces[]", Gone, Cuts),
    // Machines.
    ("VirtualMachine.", "spec.runStrategy", Any, Harmless),
    ("VirtualMachine.", "spec.running", Any, Harmless),
    ("VirtualMachine.", "spec.template.metadata.creationTimestamp", Any, Harmless),
    ("VirtualMachine.", "spec.template.spec.architecture", Any, Harmless),
    (
        "VirtualMachine.",
        "spec.template.spec.evictionStrategy",
        Is(&["None", "LiveMigrateIfPossible"]),
        Harmless,
    ),
    ("VirtualMachine.", "spec.template.spec.terminationGracePeriodSeconds", Any, Harmless),
    ("VirtualMachine.", "spec.template.spec.domain.cpu.cores", Any, Harmless),
    ("VirtualMachine.", "spec.template.spec.domain.cpu.sockets", Any, Harmless),
    ("VirtualMachine.", "spec.template.spec.domain.cpu.threads", Any, Harmless),
    ("VirtualMachine.", "spec.template.spec.domain.memory.guest", Any, Harmless),
    ("VirtualMachine.", "spec.template.spec.domain.machine.type", Is(&["q35", "virt"]), Harmless),
    ("VirtualMachine.", "spec.template.spec.tolerations[].operator", Is(&["Equal"]), Harmless),
    ("VirtualMachine.", "spec.template.spec.tolerations[].value", Is(&["shared"]), Cuts),
    ("VirtualMachine.", "spec.template.spec.tolerations[].effect", Gone, Harmless),
    ("VirtualMachine.", "spec.template.spec.tolerations[]", Gone, Cuts),
    ("VirtualMachine.", "spec.template.spec.resourceClaims[]", Gone, Cuts),
    ("VirtualMachine.", "spec.template.spec.resourceClaims[].name", Any, Cuts),
    ("VirtualMachine.", "spec.template.spec.domain.devices.gpus[]", Gone, Cuts),
    // The name of a device is the guest's own.
    ("VirtualMachine.", "spec.template.spec.domain.devices.gpus[].name", Any, Harmless),
    ("VirtualMachine.", "spec.template.spec.domain.devices.gpus[].", Any, Cuts),
    // Control planes of tenants' own clusters.
    ("TenantControlPlane.", "spec.dataStore", Gone, Harmless),
    (
        "TenantControlPlane.",
        "spec.controlPlane.deployment.replicas",
        Is(&["1", "2", "3", "5"]),
        Harmless,
    ),
    ("TenantControlPlane.", "spec.controlPlane.deployment.replicas", Any, Cuts),
    (
        "TenantControlPlane.",
        "spec.controlPlane.deployment.tolerations[].operator",
        Is(&["Equal"]),
        Harmless,
    ),
    (
        "TenantControlPlane.",
        "spec.controlPlane.deployment.tolerations[].value",
        Is(&["shared"]),
        Cuts,
    ),
    ("TenantControlPlane.", "spec.controlPlane.deployment.tolerations[].effect", Gone, Harmless),
    ("TenantControlPlane.", "spec.controlPlane.deployment.tolerations[]", Gone, Cuts),
    // What it is called by itself.
    ("TenantControlPlane.", "spec.dataStoreSchema", Is(&["green_t2_control_plane"]), Harmless),
    ("TenantControlPlane.", "spec.kubernetes.version", Any, Harmless),
    ("TenantControlPlane.", "spec.kubernetes.kubelet.cgroupfs", Any, Harmless),
    // What the tenant's own cluster refuses by itself is up to the tenant.
    ("TenantControlPlane.", "spec.kubernetes.admissionControllers[]", Any, Harmless),
    // What Kamaji prints by itself.
    ("TenantControlPlane.", "spec.kubernetes.kubelet.preferredAddressTypes", Any, Harmless),
    ("TenantControlPlane.", "spec.controlPlane.deployment.strategy", Any, Harmless),
    ("TenantControlPlane.", "spec.networkProfile.port", Any, Cuts),
    ("TenantControlPlane.", "spec.addons.coreDNS", Is(&["{}"]), Harmless),
    ("TenantControlPlane.", "spec.addons.kubeProxy", Is(&["{}"]), Harmless),
];

/// What it does that an object is not there. What is in no row was a fence.
const ABSENT: &[(&str, Effect)] = &[
    ("ClusterRole.", Cuts),
    ("RoleBinding.", Cuts),
    // Its driver brings it, too.
    ("DeviceClass.", Harmless),
    ("ResourceSlice.", Cuts),
    ("ResourceClaim.", Cuts),
    ("VirtualMachine.", Cuts),
    // It may be a vCluster instead, which is no object.
    ("TenantControlPlane.", Harmless),
    ("StorageClass.", Cuts),
    ("Namespace.", Cuts),
    ("LimitRange.", Cuts),
];

/// The namespaces that an API server makes by itself.
const BORN: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

/// The worst that any difference means.
pub(super) fn of(was: &Objects, is: &Objects) -> Effect {
    let (was, is) = renamed(was, is);
    let gone = was.keys().filter(|called| !is.contains_key(*called)).map(|called| absent(called));
    let there = is.iter().map(|(called, object)| match was.get(called) {
        None => new(called, object),
        Some(was) => changed(&called.0, was, object),
    });
    // The worse of two is the smaller.
    gone.chain(there).min().unwrap_or(Harmless)
}

/// Without those that only go by another name, where nobody asks for them by it.
fn renamed<'a>(
    was: &'a Objects,
    is: &'a Objects,
) -> (BTreeMap<&'a Called, &'a Value>, BTreeMap<&'a Called, &'a Value>) {
    const NAMELESS: [&str; 8] = [
        "TenantControlPlane.",
        "ResourceSlice.",
        "NetworkPolicy.",
        "PeerAuthentication.",
        "AuthorizationPolicy.",
        "RoleBinding.",
        "ResourceQuota.",
        "LimitRange.",
    ];
    let (mut was, mut is): (BTreeMap<_, _>, BTreeMap<_, _>) =
        (was.iter().collect(), is.iter().collect());
    let nameless = |object: &Value| {
        let mut object = object.clone();
        object["metadata"]["name"] = Value::Null;
        object
    };
    let gone: Vec<&Called> =
        was.keys().filter(|called| !is.contains_key(*called)).copied().collect();
    for old in gone.into_iter().filter(|old| NAMELESS.iter().any(|kind| old.0.starts_with(kind))) {
        let is_it = |(new, object): &(&&Called, &&Value)| {
            !was.contains_key(**new)
                && (&new.0, &new.1) == (&old.0, &old.1)
                && nameless(object) == nameless(was[old])
        };
        let new = is.iter().find(is_it).map(|(new, _)| *new);
        if let Some(new) = new {
            is.remove(new);
            was.remove(old);
        }
    }
    (was, is)
}

fn absent(called: &Called) -> Effect {
    // Kubernetes' own policies say the same to every program that enforces them, and Calico keeps
    // to them, too.
    if called.0.starts_with("NetworkPolicy.projectcalico") && called.2 == "isolation" {
        return Harmless;
    }
    let row = ABSENT.iter().find(|(kind, _)| called.0.starts_with(kind));
    // A policy of a job, or for asking for names, lets somebody through.
    let lets = called.0.starts_with("NetworkPolicy.") && called.2 != "default-deny";
    row.map_or(if lets { Cuts } else { Opens }, |(_, effect)| *effect)
}

/// What an object does that was not there.
fn new((kind, space, name): &Called, object: &Value) -> Effect {
    let is_plain = object["metadata"].get("labels").is_none_or(|labels| {
        labels
            .as_object()
            .is_some_and(|all| all.keys().all(|key| key == "kubernetes.io/metadata.name"))
    }) && object["metadata"]
        .get("annotations")
        .and_then(Value::as_object)
        .is_none_or(|notes| notes.keys().all(|key| key.ends_with("last-applied-configuration")));
    match kind.as_str() {
        "Namespace." if BORN.contains(&name.as_str()) && is_plain => Harmless,
        // What operators' own namespaces say of each other is none of anybody's business here.
        _ if kind.starts_with("NetworkPolicy.") && !names_a_tenant(space, object) => Harmless,
        // How much others may use than tenants is none of anybody's business here.
        "LimitRange." | "ResourceQuota." if !is_tenants(space) => Harmless,
        // With a policy less is let through, unless it says whom it lets.
        "NetworkPolicy.networking.k8s.io" | "LimitRange." | "ResourceQuota." => {
            let lets =
                object["spec"].get("ingress").is_some() || object["spec"].get("egress").is_some();
            if lets { Opens } else { Cuts }
        }
        _ => Opens,
    }
}

/// Whether it is in a tenant's namespace, or may name one. Theirs end in a number.
fn names_a_tenant(space: &str, object: &Value) -> bool {
    let text = object["spec"].to_string();
    let words = text.split(|letter: char| !letter.is_alphanumeric() && letter != '-');
    is_tenants(space) || words.into_iter().any(is_tenants)
}

fn is_tenants(name: &str) -> bool {
    let number = name.rsplit_once("-t").map(|(_, number)| number);
    number.is_some_and(|number| number.parse::<u32>().is_ok())
}

fn changed(kind: &str, was: &Value, is: &Value) -> Effect {
    let said = |object: &Value| match kind.starts_with("ClusterRole.") || kind.starts_with("Role.")
    {
        true => granted(object),
        false => object.clone(),
    };
    let all = differences(kind, &said(was), &said(is));
    all.iter().map(|one| effect(kind, one)).min().unwrap_or(Harmless)
}

fn effect(kind: &str, one: &Difference) -> Effect {
    let Difference { path, was, is } = one;
    let now = is.as_ref().or(was.as_ref()).map(word).unwrap_or_default();
    let fits = |(kinds, begin, when, _): &&Row| {
        kind.starts_with(kinds)
            && path.starts_with(begin)
            && match when {
                Any => true,
                Gone => is.is_none(),
                Come => was.is_none(),
                Is(values) => values.contains(&now.as_str()),
            }
    };
    if let Some((.., effect)) = OWN.iter().find(fits) {
        return *effect;
    }
    if let (Some(was), Some(is)) = (was, is) {
        if is_same_size(kind, path, was, is) {
            return Harmless;
        }
        // The API takes no number for a text, and no text for a number.
        let is_number = |value: &Value| value.is_number() || value.is_boolean();
        let takes_both = ["ResourceQuota.", "LimitRange."].contains(&kind)
            || path.ends_with("ports[]")
            || path.ends_with(".guest");
        if !takes_both && is_number(was) != is_number(is) {
            return Effect::Refused;
        }
        if kind == "ResourceQuota." && path.starts_with("spec.hard.") {
            return if size(is) < size(was) { Cuts } else { Opens };
        }
    }
    ROWS.iter().find(fits).map_or(Opens, |(.., effect)| *effect)
}

fn word(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// What a role allows, one by one: how its rules are put together means nothing.
fn granted(object: &Value) -> Value {
    let list = |rule: &Value, key: &str| -> Vec<String> {
        rule[key].as_array().into_iter().flatten().map(word).collect()
    };
    let mut grants = Map::new();
    for rule in object["rules"].as_array().into_iter().flatten() {
        let names = list(rule, "resourceNames").join(",");
        for verb in list(rule, "verbs") {
            for url in list(rule, "nonResourceURLs") {
                grants.insert(format!("{verb} {url}"), Value::Bool(true));
            }
            for group in list(rule, "apiGroups") {
                for resource in list(rule, "resources") {
                    grants.insert(format!("{verb} {group}/{resource} {names}"), Value::Bool(true));
                }
            }
        }
    }
    let mut object = object.clone();
    object["rules"] = Value::Object(grants);
    object
}

/// Whether two values are the same size in other words: `2Ti` and `2048Gi`.
fn is_same_size(kind: &str, path: &str, was: &Value, is: &Value) -> bool {
    let is_sized = ["ResourceQuota.", "LimitRange."].contains(&kind)
        || path.contains("capacity")
        || path == "spec.order";
    is_sized && size(was).is_some() && size(was) == size(is)
}

/// How much a quantity is (Kubernetes, `resource.Quantity`).
fn size(value: &Value) -> Option<f64> {
    const UNITS: [(&str, f64); 13] = [
        ("", 1.0),
        ("m", 1e-3),
        ("k", 1e3),
        ("M", 1e6),
        ("G", 1e9),
        ("T", 1e12),
        ("P", 1e15),
        ("E", 1e18),
        ("Ki", 1024.0),
        ("Mi", 1_048_576.0),
        ("Gi", 1_073_741_824.0),
        ("Ti", 1_099_511_627_776.0),
        ("Pi", 1_125_899_906_842_624.0),
    ];
    let text = word(value);
    let end = text.find(char::is_alphabetic).unwrap_or(text.len());
    let unit = UNITS.iter().find(|(unit, _)| *unit == &text[end..])?;
    Some(text[..end].parse::<f64>().ok()? * unit.1)
}
