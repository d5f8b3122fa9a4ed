//! What does not depend on tenants: classes of devices, what members may do, what is refused in
//! their namespaces, and which GPUs the drivers of nodes publish.

use model::{Fleet, Node, NodeModel, Runtime};

use super::{Device, Driver, Text, guards};
use crate::say::say;

pub(super) fn write(fleet: &Fleet, out: &mut String) {
    classes(fleet, out);
    guards::write(out);
    for node in &fleet.nodes {
        slice(node, &fleet.node_models[node.model.index()], out);
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
