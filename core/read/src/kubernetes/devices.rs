//! Which GPUs exist, and what classes of them there are.

use model::{Name, PciAddress};

use super::{Meta, NOT_OF_THE_KIND, Sheet, no_labels};
use crate::Hold;
use crate::yaml::Node;

pub(super) const NOT_A_GPU: &str = "a GPU is called gpu-3 or gpu-vfio-3 by NVIDIA's driver, and gpu-3-131 by \
                         AMD's; slices are not judged yet";
pub(super) const NOT_A_DRIVER: &str = "nobody knows the devices of this driver";

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
                        "generation" | "resourceSliceCount" => {
                            sheet.pass("ResourceSlice.spec.pool", entry);
                        }
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
    if spec.get("pool").is_none_or(|pool| pool.get("resourceSliceCount").is_none()) {
        sheet.unknown(metadata, "a pool that does not say how many slices it has is never whole");
    }
    let name = spec.text_of("nodeName").filter(|name| Some(*name) == pool);
    let Some(node) = name.and_then(|name| name.parse::<Name>().ok()) else {
        return sheet.unknown(metadata, "GPUs are published by one node, in a pool of its name");
    };
    for device in spec.get("devices").into_iter().flat_map(Node::children) {
        publish(&node, spec.text_of("driver"), device, sheet);
    }
}

fn publish(node: &Name, driver: Option<&str>, device: Node<'_, '_>, sheet: &mut Sheet<'_>) {
    let (mut name, mut pci) = (None, None);
    for key in device.children() {
        match key.key() {
            "name" => name = Some(key),
            "attributes" => {
                pci = key.children().find_map(address);
                kinds(key, driver, sheet);
            }
            "capacity" | "consumesCounters" => sheet.report(key),
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

/// What kind of device it is decides which class it is in.
fn kinds(attributes: Node<'_, '_>, driver: Option<&str>, sheet: &mut Sheet<'_>) {
    let known: &[&str] = match driver {
        Some("gpu.nvidia.com") => &["gpu", "vfio"],
        _ => &["amdgpu"],
    };
    if attributes.get("type").is_none() {
        sheet.unknown(attributes, "a device that does not say what it is, is in no class");
    }
    for attribute in attributes.children().filter(|attribute| address(*attribute).is_none()) {
        if attribute.key() != "type" {
            sheet.report(attribute);
        } else if !attribute.text_of("string").is_some_and(|kind| known.contains(&kind)) {
            sheet.unknown(attribute, "a device is a whole GPU: gpu or vfio of NVIDIA's, or amdgpu");
        }
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
pub(super) fn minor(device: &str) -> Option<u16> {
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
    if child.get("selectors").is_none_or(|selectors| selectors.children().next().is_none()) {
        sheet.unknown(child, "a class without selectors has every device of every driver");
    }
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

/// A class that says nothing has every device.
pub(super) fn class(
    root: Node<'_, '_>,
    metadata: Node<'_, '_>,
    meta: &Meta<'_, '_>,
    sheet: &mut Sheet<'_>,
) {
    no_labels(meta, sheet);
    if root.get("spec").is_none() {
        sheet.unknown(metadata, "a class without selectors has every device of every driver");
    }
}
