//! Which GPUs exist, whose claims name them, and in which machines they are.

use model::{Confidential, Name, PciAddress};

use super::{Meta, NO_NAMESPACE, NOT_OF_THE_KIND, Sheet, no_labels};
use crate::Hold;
use crate::yaml::Node;

const NOT_A_GPU: &str = "a GPU is called gpu-3 or gpu-vfio-3 by NVIDIA's driver, and gpu-3-131 by \
                         AMD's; slices are not judged yet";
const NOT_A_DRIVER: &str = "nobody knows the devices of this driver";

pub(super) fn node_section(child: Node<'_, '_>, _: &Meta<'_, '_>, sheet: &mut Sheet<'_>) {
    match child.key() {
        "spec" => sheet.ignore(child),
        _ => sheet.unknown(child, NOT_OF_THE_KIND),
    }
}

pub(super) fn node(
    _: Node<'_, '_>,
    metadata: Node<'_, '_>,
    meta: &Meta<'_, '_>,
    sheet: &mut Sheet<'_>,
) {
    let Ok(node) = meta.name.parse::<Name>() else {
        return sheet.unknown(metadata, "this is no name of a node");
    };
    for label in meta.labels.into_iter().flat_map(Node::children) {
        let (key, value) = (label.key().into(), label.value().unwrap_or_default().into());
        sheet.claim(label, Hold::Label { node: node.clone(), key, value });
    }
}

pub(super) fn slice_section(child: Node<'_, '_>, _: &Meta<'_, '_>, sheet: &mut Sheet<'_>) {
    if child.key() != "spec" {
        return sheet.unknown(child, NOT_OF_THE_KIND);
    }
    for key in child.children() {
        match key.key() {
            "devices" | "nodeName" => {}
            "driver" => sheet.must_be(key, &["gpu.nvidia.com", "gpu.amd.com"], NOT_A_DRIVER),
            "pool" => {
                for entry in key.children() {
                    match entry.key() {
                        "name" => {}
                        "generation" | "resourceSliceCount" => sheet.ignore(entry),
                        _ => sheet.unknown(entry, NOT_OF_THE_KIND),
                    }
                }
            }
            _ => sheet.unknown(key, NOT_OF_THE_KIND),
        }
    }
}

pub(super) fn slice(
    root: Node<'_, '_>,
    metadata: Node<'_, '_>,
    meta: &Meta<'_, '_>,
    sheet: &mut Sheet<'_>,
) {
    no_labels(meta, sheet);
    let Some(spec) = root.get("spec") else { return sheet.unknown(metadata, NOT_OF_THE_KIND) };
    let pool = spec.get("pool").and_then(|pool| pool.text_of("name"));
    let name = spec.text_of("nodeName").filter(|name| Some(*name) == pool);
    let Some(node) = name.and_then(|name| name.parse::<Name>().ok()) else {
        return sheet.unknown(metadata, "GPUs are published by one node, in a pool of its name");
    };
    for device in spec.get("devices").into_iter().flat_map(Node::children) {
        publish(&node, device, sheet);
    }
}

fn publish(node: &Name, device: Node<'_, '_>, sheet: &mut Sheet<'_>) {
    let (mut name, mut pci) = (None, None);
    for key in device.children() {
        match key.key() {
            "name" => name = Some(key),
            "attributes" => pci = key.children().find_map(address),
            "capacity" | "consumesCounters" => sheet.ignore(key),
            _ => sheet.unknown(key, "nobody knows who may use such a device"),
        }
    }
    let minor = name.and_then(Node::value).and_then(minor);
    match (name, minor, pci) {
        (Some(at), Some(minor), Some(pci)) => {
            sheet.claim(at, Hold::Published { node: node.clone(), minor, pci });
        }
        (_, None, _) => sheet.unknown(device, NOT_A_GPU),
        _ => sheet.unknown(device, "a GPU is published with its PCI address"),
    }
}

/// The attributes of a device are for those who choose; only where it sits matters here.
fn address(attribute: Node<'_, '_>) -> Option<PciAddress> {
    match attribute.key() {
        "pciBusID" | "pciAddr" | "resource.kubernetes.io/pciBusID" => {
            attribute.text_of("string")?.parse().ok()
        }
        _ => None,
    }
}

/// The number of a whole GPU's device file, from what its driver calls it.
fn minor(device: &str) -> Option<u16> {
    const FIRST_RENDER_NODE: u16 = 128;
    let number = device.strip_prefix("gpu-")?;
    let number = number.strip_prefix("vfio-").unwrap_or(number);
    match number.split_once('-') {
        None => digits(number),
        Some((card, render)) => {
            digits(card)?;
            digits(render)?.checked_sub(FIRST_RENDER_NODE)
        }
    }
    .filter(|minor| *minor < 64)
}

fn digits(text: &str) -> Option<u16> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

pub(super) fn class_section(child: Node<'_, '_>, meta: &Meta<'_, '_>, sheet: &mut Sheet<'_>) {
    if child.key() != "spec" {
        return sheet.unknown(child, NOT_OF_THE_KIND);
    }
    no_labels(meta, sheet);
    let Some((driver, kind)) = (match meta.name {
        "gpu.nvidia.com" => Some(("gpu.nvidia.com", "gpu")),
        "vfio.gpu.nvidia.com" => Some(("gpu.nvidia.com", "vfio")),
        "gpu.amd.com" => Some(("gpu.amd.com", "amdgpu")),
        _ => None,
    }) else {
        return sheet.unknown(child, "nobody knows what devices this class has");
    };
    let expected =
        format!("device.driver == '{driver}' && device.attributes['{driver}'].type == '{kind}'");
    for key in child.children() {
        match key.key() {
            "selectors" => {
                for item in key.children() {
                    let expression = item.get("cel").and_then(|cel| cel.text_of("expression"));
                    if expression != Some(expected.as_str()) {
                        sheet.unknown(item, "the class must have exactly its driver's whole GPUs");
                    }
                }
            }
            "extendedResourceName" => {
                sheet.unknown(key, "containers would get GPUs by this that no claim names");
            }
            _ => sheet.unknown(key, NOT_OF_THE_KIND),
        }
    }
}

pub(super) fn claim_section(child: Node<'_, '_>, _: &Meta<'_, '_>, sheet: &mut Sheet<'_>) {
    match child.key() {
        "spec" => {
            for key in child.children() {
                match key.key() {
                    "devices" => asked(key, sheet),
                    _ => sheet.unknown(key, NOT_OF_THE_KIND),
                }
            }
        }
        "status" => {
            for key in child.children() {
                match key.key() {
                    "allocation" => {}
                    "conditions" | "devices" | "reservedFor" => sheet.ignore(key),
                    _ => sheet.unknown(key, NOT_OF_THE_KIND),
                }
            }
        }
        _ => sheet.unknown(child, NOT_OF_THE_KIND),
    }
}

/// What is asked for is not what was given; but nothing may be asked for that gives more than the
/// allocation says.
fn asked(devices: Node<'_, '_>, sheet: &mut Sheet<'_>) {
    const ONE: &str = "a request is for one device, exactly";
    for key in devices.children() {
        if key.key() != "requests" {
            sheet.unknown(key, NOT_OF_THE_KIND);
            continue;
        }
        for entry in key.children().flat_map(Node::children) {
            match entry.key() {
                "name" => {}
                "exactly" => {
                    for term in entry.children() {
                        match term.key() {
                            "deviceClassName" | "selectors" => {}
                            "allocationMode" => sheet.must_be(term, &["ExactCount"], ONE),
                            "count" => sheet.must_be(term, &["1"], ONE),
                            "adminAccess" => {
                                sheet.unknown(term, "this opens devices that others hold");
                            }
                            _ => sheet.unknown(term, NOT_OF_THE_KIND),
                        }
                    }
                }
                _ => sheet.unknown(entry, ONE),
            }
        }
    }
}

pub(super) fn claim(
    root: Node<'_, '_>,
    metadata: Node<'_, '_>,
    meta: &Meta<'_, '_>,
    sheet: &mut Sheet<'_>,
) {
    no_labels(meta, sheet);
    let Some(namespace) = &meta.namespace else { return sheet.unknown(metadata, NO_NAMESPACE) };
    let Some((_, job)) = &meta.job else {
        return sheet.unknown(metadata, "a claim must say whose job it is for");
    };
    let status = root.get("status");
    let Some(allocation) = status.and_then(|status| status.get("allocation")) else { return };
    for key in allocation.children() {
        match key.key() {
            "allocationTimestamp" | "nodeSelector" => sheet.ignore(key),
            "devices" => {}
            _ => sheet.unknown(key, NOT_OF_THE_KIND),
        }
    }
    for key in allocation.get("devices").into_iter().flat_map(Node::children) {
        if key.key() != "results" {
            sheet.unknown(key, NOT_OF_THE_KIND);
            continue;
        }
        for result in key.children() {
            let Some((at, node, minor)) = given(result, sheet) else { continue };
            let (namespace, job) = (namespace.clone(), job.clone());
            sheet.claim(at, Hold::Claimed { namespace, job, node, minor });
        }
    }
}

/// The line, the node and the GPU of one result of an allocation.
fn given<'d, 'a>(result: Node<'d, 'a>, sheet: &mut Sheet<'_>) -> Option<(Node<'d, 'a>, Name, u16)> {
    for key in result.children() {
        match key.key() {
            "device" | "pool" | "request" => {}
            "driver" => sheet.must_be(key, &["gpu.nvidia.com", "gpu.amd.com"], NOT_A_DRIVER),
            _ => sheet.unknown(key, NOT_OF_THE_KIND),
        }
    }
    let device = result.get("device").filter(|_| result.get("driver").is_some());
    let minor = device.and_then(Node::value).and_then(minor);
    let node = result.text_of("pool").and_then(|pool| pool.parse().ok());
    let (Some(device), Some(minor), Some(node)) = (device, minor, node) else {
        sheet.unknown(result, NOT_A_GPU);
        return None;
    };
    Some((device, node, minor))
}

pub(super) fn machine_section(child: Node<'_, '_>, _: &Meta<'_, '_>, sheet: &mut Sheet<'_>) {
    const HOST: &str = "nobody knows what of the host or of others this gives to the machine";
    if child.key() != "spec" {
        return sheet.unknown(child, NOT_OF_THE_KIND);
    }
    for key in child.children() {
        match key.key() {
            "runStrategy" | "running" => sheet.ignore(key),
            "template" => {}
            _ => sheet.unknown(key, NOT_OF_THE_KIND),
        }
    }
    for key in child.get("template").into_iter().flat_map(Node::children) {
        match key.key() {
            "metadata" => sheet.ignore(key),
            "spec" => {}
            _ => sheet.unknown(key, NOT_OF_THE_KIND),
        }
    }
    let Some(spec) = child.get("template").and_then(|template| template.get("spec")) else {
        return;
    };
    for key in spec.children() {
        match key.key() {
            "architecture"
            | "evictionStrategy"
            | "nodeSelector"
            | "resourceClaims"
            | "terminationGracePeriodSeconds" => sheet.ignore(key),
            "domain" => {}
            _ => sheet.unknown(key, HOST),
        }
    }
    for key in spec.get("domain").into_iter().flat_map(Node::children) {
        match key.key() {
            "cpu" | "firmware" | "machine" | "memory" | "resources" => sheet.ignore(key),
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
    for key in gpu.children() {
        match key.key() {
            "claimName" | "name" | "requestName" => {}
            _ => sheet.unknown(key, "a GPU comes to a machine by a claim, which names it"),
        }
    }
}

pub(super) fn machine(
    root: Node<'_, '_>,
    metadata: Node<'_, '_>,
    meta: &Meta<'_, '_>,
    sheet: &mut Sheet<'_>,
) {
    no_labels(meta, sheet);
    let (Some(namespace), Some((note, job))) = (&meta.namespace, &meta.job) else {
        return sheet.unknown(metadata, "a machine says its namespace and whose job it is");
    };
    let template = root.get("spec").and_then(|spec| spec.get("template"));
    let domain = template.and_then(|template| template.get("spec")?.get("domain"));
    let mut confidential = None;
    let security = domain.and_then(|domain| domain.get("launchSecurity"));
    for way in security.into_iter().flat_map(Node::children) {
        match way.key() {
            "snp" => confidential = Some(Confidential::SevSnp),
            "tdx" => confidential = Some(Confidential::Tdx),
            _ => sheet.unknown(way, "what keeps the host out is snp or tdx"),
        }
    }
    let (namespace, job) = (namespace.clone(), job.clone());
    sheet.claim(*note, Hold::ClusterGuest { namespace, job, confidential });
}
