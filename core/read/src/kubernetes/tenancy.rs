//! Whose a namespace is, what it may use, and who may act in it.

use model::admission::{RUNTIME_LABEL, runtime_word};
use model::{Name, Runtime};
use smol_str::SmolStr;

use super::{Meta, NOT_OF_THE_KIND, Sheet, no_labels, node};
use crate::Hold;
use crate::yaml::Node;

/// The group of the API in which roles, groups and users are.
const AUTHORIZATION: &str = "rbac.authorization.k8s.io";

pub(super) fn namespace_section(child: Node<'_, '_>, _: &Meta<'_, '_>, sheet: &mut Sheet<'_>) {
    match child.key() {
        "spec" => {
            for key in child.children() {
                match key.key() {
                    "finalizers" => sheet.pass("Namespace.spec", key),
                    _ => sheet.unknown(key, NOT_OF_THE_KIND),
                }
            }
        }
        _ => sheet.unknown(child, NOT_OF_THE_KIND),
    }
}

/// The namespaces that every API server makes by itself.
const BORN: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

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
    // The API server makes some by itself, in which nobody of a tenant is.
    let mut labels = meta.labels.into_iter().flat_map(Node::children);
    let is_own = |label: Node<'_, '_>| {
        (label.key(), label.value()) == ("kubernetes.io/metadata.name", Some(meta.name))
    };
    if meta.tenant.is_none() && BORN.contains(&meta.name) && labels.all(is_own) {
        let labels = meta.labels.into_iter().flat_map(Node::children);
        return labels.for_each(|label| sheet.pass("Namespace.metadata.labels", label));
    }
    let Some((note, tenant)) = &meta.tenant else {
        return sheet.unknown(metadata, "the namespace must say whose it is in an annotation");
    };
    let tenant = tenant.clone();
    sheet.claim(*note, Hold::Namespace { namespace: namespace.clone(), tenant });
    let (mut enforced, space) = (None, || namespace.clone());
    for label in meta.labels.into_iter().flat_map(Node::children) {
        match (label.key(), label.value().unwrap_or_default()) {
            ("kubernetes.io/metadata.name", name) if name == meta.name => {}
            ("istio-injection", "enabled") => {
                sheet.claim(label, Hold::Meshed { namespace: space() });
            }
            (RUNTIME_LABEL, word) => {
                let all = [Runtime::Container, Runtime::Vm];
                match all.into_iter().find(|runtime| runtime_word(*runtime) == word) {
                    Some(runtime) => {
                        sheet.claim(label, Hold::Governed { namespace: space(), runtime });
                    }
                    None => sheet.unknown(label, "there are rules for container and vm"),
                }
            }
            ("istio-injection", _) => {
                sheet.unknown(label, "without its proxies the mesh keeps nobody out");
            }
            ("pod-security.kubernetes.io/enforce", level) => {
                enforced = Some((label, matches!(level, "restricted" | "baseline")));
            }
            ("pod-security.kubernetes.io/audit" | "pod-security.kubernetes.io/warn", _) => {
                sheet.pass("Namespace.metadata.labels", label);
            }
            _ => sheet.unknown(label, "nobody knows whom this label selects"),
        }
    }
    let (at, restricted) = enforced.unwrap_or((*note, false));
    sheet.claim(at, Hold::Restricted { namespace, restricted });
}

/// A namespace that goes takes what keeps others out of it away first.
pub(super) fn phase(status: Node<'_, '_>, sheet: &mut Sheet<'_>) {
    for key in status.children() {
        match (key.key(), key.value()) {
            ("phase", Some("Active")) => sheet.report(key),
            ("phase", _) => sheet.unknown(key, "a namespace that is deleted keeps nobody out"),
            _ => sheet.report(key),
        }
    }
}

pub(super) fn class_section(child: Node<'_, '_>, _: &Meta<'_, '_>, sheet: &mut Sheet<'_>) {
    match child.key() {
        "allowVolumeExpansion" | "provisioner" | "reclaimPolicy" | "volumeBindingMode" => {
            sheet.pass("StorageClass", child);
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
                "apiGroup" => sheet.must_be(key, &[AUTHORIZATION], NOT_OF_THE_KIND),
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
            "name" => {}
            "apiGroup" => sheet.must_be(key, &[AUTHORIZATION], NOT_OF_THE_KIND),
            "kind" => sheet.must_be(
                key,
                &["ClusterRole"],
                "whoever may write roles in a namespace would say what this one allows",
            ),
            _ => sheet.unknown(key, NOT_OF_THE_KIND),
        }
    }
    // A name without a kind is refused, and one of another kind is another role.
    reference.get("kind").and_then(|_| reference.text_of("name")).map(SmolStr::from)
}

pub(super) fn plane_section(child: Node<'_, '_>, meta: &Meta<'_, '_>, sheet: &mut Sheet<'_>) {
    const SPEC: &str = "TenantControlPlane.spec";
    if child.key() != "spec" {
        return sheet.unknown(child, NOT_OF_THE_KIND);
    }
    let own = meta.namespace.as_ref().map_or("", Name::as_str);
    for key in child.children() {
        match key.key() {
            "controlPlane" => {}
            // Two with the same schema are one cluster.
            "dataStoreSchema" | "dataStoreUsername" => {
                let schema = format!("{own}_{}", meta.name).replace('-', "_");
                sheet.must_be(key, &[&schema], "the part of the store is called by who has it");
                continue;
            }
            _ => {
                sheet.pass(SPEC, key);
                continue;
            }
        }
        for part in key.children() {
            if part.key() != "deployment" {
                sheet.pass("TenantControlPlane.spec.controlPlane", part);
                continue;
            }
            for entry in part.children() {
                match entry.key() {
                    "nodeSelector" => entry.children().for_each(|label| {
                        if !node::is_home(label, own) {
                            sheet.unknown(label, node::NOT_HOME);
                        }
                    }),
                    "tolerations" => {
                        entry.children().for_each(|one| node::bears(one, own, sheet));
                    }
                    _ => sheet.pass("TenantControlPlane.spec.controlPlane.deployment", entry),
                }
            }
        }
    }
}

pub(super) fn plane(
    root: Node<'_, '_>,
    metadata: Node<'_, '_>,
    meta: &Meta<'_, '_>,
    sheet: &mut Sheet<'_>,
) {
    no_labels(meta, sheet);
    let spec = root.get("spec").and_then(|spec| spec.get("controlPlane"));
    let deployment = spec.and_then(|spec| spec.get("deployment"));
    let own = meta.namespace.as_ref().map_or("", Name::as_str);
    if !node::bears_own(deployment, own) {
        sheet.unknown(metadata, node::KEPT_OFF);
    }
    let nodes = deployment.and_then(|deployment| deployment.get("nodeSelector"));
    if nodes.is_none_or(|nodes| nodes.children().next().is_none()) {
        sheet.unknown(metadata, node::NOT_HOME);
    }
    let service = spec.and_then(|spec| spec.get("service"));
    if service.is_none_or(|service| service.get("serviceType").is_none()) {
        sheet.unknown(metadata, "a control plane that does not say how it is reached is refused");
    }
    match (&meta.namespace, &meta.tenant) {
        (Some(namespace), Some((note, tenant))) => {
            let (tenant, namespace) = (tenant.clone(), namespace.clone());
            let kind = SmolStr::new_static("kamaji");
            sheet.claim(*note, Hold::ControlPlane { tenant, namespace, kind });
        }
        _ => sheet.unknown(metadata, "a control plane says its namespace and whose it is"),
    }
}
