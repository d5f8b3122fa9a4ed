//! Whose a namespace is, what it may use, and who may act in it.

use model::Name;
use smol_str::SmolStr;

use super::{Meta, NO_NAMESPACE, NOT_OF_THE_KIND, Sheet, no_labels};
use crate::Hold;
use crate::values::Why;
use crate::yaml::Node;

pub(super) fn namespace_section(child: Node<'_, '_>, _: &Meta<'_, '_>, sheet: &mut Sheet<'_>) {
    match child.key() {
        "spec" => {
            for key in child.children() {
                match key.key() {
                    "finalizers" => sheet.ignore(key),
                    _ => sheet.unknown(key, NOT_OF_THE_KIND),
                }
            }
        }
        _ => sheet.unknown(child, NOT_OF_THE_KIND),
    }
}

/// The name of a namespace is its own: no `namespace` stands in its metadata.
pub(super) fn namespace(
    _: Node<'_, '_>,
    metadata: Node<'_, '_>,
    meta: &Meta<'_, '_>,
    sheet: &mut Sheet<'_>,
) {
    let Ok(namespace) = meta.name.parse::<Name>() else {
        return sheet.unknown(metadata, "this is no name of a namespace");
    };
    let Some((note, tenant)) = &meta.tenant else {
        return sheet.unknown(metadata, "the namespace must say whose it is in an annotation");
    };
    let tenant = tenant.clone();
    sheet.claim(*note, Hold::Namespace { namespace: namespace.clone(), tenant });
    let mut enforced = None;
    for label in meta.labels.into_iter().flat_map(Node::children) {
        match (label.key(), label.value().unwrap_or_default()) {
            ("kubernetes.io/metadata.name", name) if name == meta.name => {}
            ("istio-injection", "enabled") => {}
            ("istio-injection", _) => {
                sheet.unknown(label, "without its proxies the mesh keeps nobody out");
            }
            ("pod-security.kubernetes.io/enforce", level) => {
                enforced = Some((label, matches!(level, "restricted" | "baseline")));
            }
            (
                "pod-security.kubernetes.io/audit" | "pod-security.kubernetes.io/warn",
                "privileged" | "baseline" | "restricted",
            ) => sheet.ignore(label),
            _ => sheet.unknown(label, "nobody knows whom this label selects"),
        }
    }
    let (at, restricted) = enforced.unwrap_or((*note, false));
    sheet.claim(at, Hold::Restricted { namespace, restricted });
}

pub(super) fn quota(child: Node<'_, '_>, meta: &Meta<'_, '_>, sheet: &mut Sheet<'_>) {
    let Some(namespace) = &meta.namespace else { return sheet.unknown(child, NO_NAMESPACE) };
    if child.key() != "spec" {
        return sheet.unknown(child, NOT_OF_THE_KIND);
    }
    no_labels(meta, sheet);
    let mut gpus: Option<(Node<'_, '_>, u32)> = None;
    for key in child.children() {
        if key.key() != "hard" {
            sheet.unknown(key, "a quota for some objects only is no quota");
            continue;
        }
        for limit in key.children() {
            match Limit::of(limit) {
                Ok(Limit::Gpus(count)) => {
                    let (at, before) = gpus.unwrap_or((limit, 0));
                    gpus = Some((at, before.saturating_add(count)));
                }
                Ok(Limit::Storage(class, bytes)) => {
                    let namespace = namespace.clone();
                    sheet.claim(limit, Hold::StorageQuota { namespace, class, bytes });
                }
                Ok(Limit::Other) => sheet.ignore(limit),
                Err(why) => sheet.unknown(limit, why),
            }
        }
    }
    if let Some((at, gpus)) = gpus {
        sheet.claim(at, Hold::GpuQuota { namespace: namespace.clone(), gpus });
    }
}

enum Limit {
    Gpus(u32),
    Storage(SmolStr, u64),
    Other,
}

impl Limit {
    fn of(limit: Node<'_, '_>) -> Result<Self, Why> {
        let value = limit.value().unwrap_or_default();
        let count = || value.parse().map_err(|_| "a number of GPUs is a whole number");
        let key = limit.key();
        if let "requests.nvidia.com/gpu" | "requests.amd.com/gpu" = key {
            return count().map(Self::Gpus);
        }
        if let Some(class) = key.strip_suffix(".deviceclass.resource.k8s.io/devices") {
            return match class {
                "gpu.nvidia.com" | "vfio.gpu.nvidia.com" | "gpu.amd.com" => count().map(Self::Gpus),
                _ => Err("nobody knows what devices this class has"),
            };
        }
        if let Some(class) = key.strip_suffix(".storageclass.storage.k8s.io/requests.storage") {
            let bytes = bytes(value).ok_or("a size is a whole number with a unit, such as 8Ti")?;
            return Ok(Self::Storage(class.into(), bytes));
        }
        match key {
            "cpu"
            | "limits.cpu"
            | "limits.memory"
            | "memory"
            | "persistentvolumeclaims"
            | "pods"
            | "requests.cpu"
            | "requests.memory"
            | "requests.storage" => Ok(Self::Other),
            _ => Err("nobody knows what this limits"),
        }
    }
}

/// A size as the API writes it.
fn bytes(text: &str) -> Option<u64> {
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let unit: u64 = match &text[end..] {
        "" => 1,
        "k" => 1_000,
        "M" => 1_000_000,
        "G" => 1_000_000_000,
        "T" => 1_000_000_000_000,
        "P" => 1_000_000_000_000_000,
        "Ki" => 1 << 10,
        "Mi" => 1 << 20,
        "Gi" => 1 << 30,
        "Ti" => 1 << 40,
        "Pi" => 1 << 50,
        _ => return None,
    };
    text[..end].parse::<u64>().ok()?.checked_mul(unit)
}

pub(super) fn limits(child: Node<'_, '_>, meta: &Meta<'_, '_>, sheet: &mut Sheet<'_>) {
    let Some(namespace) = &meta.namespace else { return sheet.unknown(child, NO_NAMESPACE) };
    let Some(limits) = child.get("limits").filter(|_| child.key() == "spec") else {
        return sheet.unknown(child, NOT_OF_THE_KIND);
    };
    no_labels(meta, sheet);
    for other in child.children().filter(|key| key.key() != "limits") {
        sheet.unknown(other, NOT_OF_THE_KIND);
    }
    for item in limits.children() {
        for key in item.children() {
            match key.key() {
                "type" | "default" => {}
                "defaultRequest" | "max" | "min" | "maxLimitRequestRatio" => sheet.ignore(key),
                _ => sheet.unknown(key, NOT_OF_THE_KIND),
            }
        }
        let default = item.get("default");
        let has = |what| default.is_some_and(|default| default.get(what).is_some());
        if item.text_of("type") == Some("Container") && has("cpu") && has("memory") {
            sheet.claim(item, Hold::Bounded { namespace: namespace.clone() });
        }
    }
}

pub(super) fn class_section(child: Node<'_, '_>, _: &Meta<'_, '_>, sheet: &mut Sheet<'_>) {
    match child.key() {
        "allowVolumeExpansion" | "provisioner" | "reclaimPolicy" | "volumeBindingMode" => {
            sheet.ignore(child);
        }
        _ => sheet.unknown(child, "nobody knows whose storage this leads to"),
    }
}

pub(super) fn class(
    _: Node<'_, '_>,
    metadata: Node<'_, '_>,
    meta: &Meta<'_, '_>,
    sheet: &mut Sheet<'_>,
) {
    no_labels(meta, sheet);
    match &meta.tenant {
        Some((note, tenant)) => {
            let (class, tenant) = (meta.name.into(), tenant.clone());
            sheet.claim(*note, Hold::Volumes { class, tenant });
        }
        None => sheet.unknown(metadata, "a class of volumes must say whose it is"),
    }
}

/// What a member of a tenant may work with. Whoever may also change policies, quotas, roles or
/// claims has no fence that holds.
const WORK: &[&str] = &[
    "configmaps",
    "cronjobs",
    "deployments",
    "events",
    "jobs",
    "persistentvolumeclaims",
    "pods",
    "pods/attach",
    "pods/exec",
    "pods/log",
    "pods/portforward",
    "replicasets",
    "secrets",
    "services",
    "statefulsets",
];

pub(super) fn role_section(child: Node<'_, '_>, _: &Meta<'_, '_>, sheet: &mut Sheet<'_>) {
    if child.key() != "rules" {
        return sheet.unknown(child, "nobody knows what this adds to the role");
    }
    for rule in child.children() {
        for key in rule.children() {
            let values = key.children();
            match key.key() {
                "apiGroups" => values
                    .filter(|group| !matches!(group.value(), Some("" | "apps" | "batch")))
                    .for_each(|group| sheet.unknown(group, "members have no work in this group")),
                "resources" => values
                    .filter(|what| !what.value().is_some_and(|what| WORK.contains(&what)))
                    .for_each(|what| sheet.unknown(what, "members may not touch this")),
                "verbs" => values
                    .filter(|verb| matches!(verb.value(), None | Some("*")))
                    .for_each(|verb| sheet.unknown(verb, "a role names what it allows")),
                _ => sheet.unknown(key, NOT_OF_THE_KIND),
            }
        }
    }
}

pub(super) fn binding_section(child: Node<'_, '_>, _: &Meta<'_, '_>, sheet: &mut Sheet<'_>) {
    if !matches!(child.key(), "roleRef" | "subjects") {
        sheet.unknown(child, NOT_OF_THE_KIND);
    }
}

pub(super) fn binding(
    root: Node<'_, '_>,
    metadata: Node<'_, '_>,
    meta: &Meta<'_, '_>,
    sheet: &mut Sheet<'_>,
) {
    no_labels(meta, sheet);
    let is_everywhere = root.text_of("kind") == Some("ClusterRoleBinding");
    if meta.namespace.is_none() != is_everywhere {
        return sheet.unknown(metadata, "a binding has a namespace, a cluster's binding has none");
    }
    let Some(role) = root.get("roleRef").and_then(|reference| role(reference, sheet)) else {
        return sheet.unknown(metadata, "a binding says its role");
    };
    for subject in root.get("subjects").into_iter().flat_map(Node::children) {
        for key in subject.children() {
            match key.key() {
                "apiGroup" => {}
                "kind" => sheet.must_be(key, &["Group"], "only groups act for a tenant"),
                "name" => {
                    let group = key.value().unwrap_or_default().into();
                    let (namespace, role) = (meta.namespace.clone(), role.clone());
                    sheet.claim(key, Hold::Role { namespace, group, role });
                }
                _ => sheet.unknown(key, NOT_OF_THE_KIND),
            }
        }
    }
}

fn role(reference: Node<'_, '_>, sheet: &mut Sheet<'_>) -> Option<SmolStr> {
    for key in reference.children() {
        match key.key() {
            "apiGroup" | "name" => {}
            "kind" => sheet.must_be(key, &["ClusterRole", "Role"], NOT_OF_THE_KIND),
            _ => sheet.unknown(key, NOT_OF_THE_KIND),
        }
    }
    reference.text_of("name").map(SmolStr::from)
}

pub(super) fn plane_section(child: Node<'_, '_>, _: &Meta<'_, '_>, sheet: &mut Sheet<'_>) {
    if child.key() != "spec" {
        return sheet.unknown(child, NOT_OF_THE_KIND);
    }
    for key in child.children() {
        match key.key() {
            "addons" | "controlPlane" | "dataStore" | "dataStoreSchema" | "dataStoreUsername"
            | "kubernetes" | "networkProfile" => sheet.ignore(key),
            _ => sheet.unknown(key, NOT_OF_THE_KIND),
        }
    }
}

pub(super) fn plane(
    _: Node<'_, '_>,
    metadata: Node<'_, '_>,
    meta: &Meta<'_, '_>,
    sheet: &mut Sheet<'_>,
) {
    no_labels(meta, sheet);
    match (&meta.namespace, &meta.tenant) {
        (Some(namespace), Some((note, tenant))) => {
            let (tenant, namespace) = (tenant.clone(), namespace.clone());
            let kind = SmolStr::new_static("kamaji");
            sheet.claim(*note, Hold::ControlPlane { tenant, namespace, kind });
        }
        _ => sheet.unknown(metadata, "a control plane says its namespace and whose it is"),
    }
}
