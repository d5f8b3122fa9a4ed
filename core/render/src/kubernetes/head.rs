//! What does not depend on tenants: classes of devices, the role of members, where nodes stand and
//! which GPUs their driver publishes.

use model::{Fleet, Node, NodeModel, Runtime};

use super::{Device, Driver, Text};
use crate::say::say;

pub(super) fn write(fleet: &Fleet, out: &mut String) {
    classes(fleet, out);
    role(out);
    for node in &fleet.nodes {
        let model = &fleet.node_models[node.model.index()];
        labels(fleet, node, out);
        slice(node, model, out);
    }
}

fn classes(fleet: &Fleet, out: &mut String) {
    if fleet.node_models.iter().any(|model| !model.gpu.is_amd()) {
        class("gpu.nvidia.com", Driver::Nvidia, "gpu", out);
        class("vfio.gpu.nvidia.com", Driver::Nvidia, "vfio", out);
    }
    if fleet.node_models.iter().any(|model| model.gpu.is_amd()) {
        class("gpu.amd.com", Driver::Amd, "amdgpu", out);
    }
}

/// No extended resource: a container would get GPUs by it that no claim names.
fn class(name: &str, driver: Driver, kind: &str, out: &mut String) {
    let driver = driver.as_str();
    say!(out, "---\napiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata:\n");
    say!(out, "  name: ", name, "\nspec:\n  selectors:\n  - cel:\n      expression: ");
    say!(out, "device.driver == '", driver, "' && device.attributes['", driver, "'].type == '");
    say!(out, kind, "'\n");
}

/// What members of a tenant may do in their namespace. Kubernetes' own `edit` would let them change
/// the policies that keep others out.
fn role(out: &mut String) {
    say!(out, "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata:\n");
    say!(out, "  name: tenant-member\nrules:\n");
    let rules = [
        ("\"\"", &["configmaps", "persistentvolumeclaims", "pods", "secrets", "services"][..]),
        ("apps", &["deployments", "statefulsets"]),
        ("batch", &["jobs"]),
    ];
    for (group, resources) in rules {
        say!(out, "- apiGroups:\n  - ", group, "\n  resources:\n");
        resources.iter().for_each(|resource| say!(out, "  - ", *resource, "\n"));
        say!(out, "  verbs:\n");
        for verb in ["create", "delete", "get", "list", "patch", "update", "watch"] {
            say!(out, "  - ", verb, "\n");
        }
    }
    say!(out, "- apiGroups:\n  - \"\"\n  resources:\n  - pods/log\n  verbs:\n  - get\n");
}

fn labels(fleet: &Fleet, node: &Node, out: &mut String) {
    let keys = &fleet.layers.labels;
    let name = Text(node.name.as_str());
    say!(out, "---\napiVersion: v1\nkind: Node\nmetadata:\n  name: ", name, "\n  labels:\n");
    say!(out, "    ", keys.pod.as_str(), ": ");
    say!(out, Text(fleet.pods[node.pod.index()].name.as_str()), "\n");
    // The leaf of the first interface, as in Slurm's tree.
    if let Some(uplink) = node.uplinks.first() {
        let leaf = &fleet.switches[uplink.leaf.index()].name;
        say!(out, "    ", keys.leaf.as_str(), ": ", Text(leaf.as_str()), "\n");
    }
    say!(out, "    ", keys.rack.as_str(), ": ", Text(node.rack.as_str()), "\n");
    let domain = Text(node.nvlink_domain.as_str());
    say!(out, "    ", keys.nvlink_domain.as_str(), ": ", domain, "\n");
}

/// A node has 64 GPUs at most, so its devices are one slice: it may hold 128.
fn slice(node: &Node, model: &NodeModel, out: &mut String) {
    let driver = Driver::of(model);
    let kind = if model.gpu.is_amd() { "amdgpu" } else { "gpu" };
    let name = Text(node.name.as_str());
    say!(out, "---\napiVersion: resource.k8s.io/v1\nkind: ResourceSlice\nmetadata:\n");
    say!(out, "  name: ", node.name, "-", driver.as_str(), "\nspec:\n  driver: ");
    say!(out, driver.as_str(), "\n  nodeName: ", name, "\n  pool:\n    generation: 1\n    name: ");
    say!(out, name, "\n    resourceSliceCount: 1\n  devices:\n");
    for (gpu, address) in (0..).zip(&model.pci.gpus) {
        let Some(minor) = model.pci.minor(gpu) else { continue };
        say!(out, "  - name: ", Device(driver, Runtime::Container, minor), "\n    attributes:\n");
        say!(out, "      ", driver.address(), ":\n        string: \"", address, "\"\n");
        say!(out, "      type:\n        string: ", kind, "\n");
    }
}
