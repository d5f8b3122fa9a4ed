//! Claims of GPUs: exact ones, of an exact node.

use model::{Name, PciAddress};

use super::devices::{NOT_A_DRIVER, NOT_A_GPU, minor};
use super::{Meta, NO_NAMESPACE, NOT_OF_THE_KIND, Sheet, no_labels};
use crate::yaml::Node;
use crate::{ClaimRequest, ClaimedGpu, GpuClass, Hold};

const ONE: &str = "a request is for one device, exactly";
const NO_NAME: &str = "a request is called by the device file of its GPU: gpu-3";
const NO_ADDRESS: &str = "a request names the class of the GPU and its address, by exactly one \
                          selector";

pub(super) fn section(child: Node<'_, '_>, _: &Meta<'_, '_>, sheet: &mut Sheet<'_>) {
    match child.key() {
        "spec" => {
            for key in child.children() {
                match key.key() {
                    "devices" => {}
                    _ => sheet.unknown(key, NOT_OF_THE_KIND),
                }
            }
        }
        "status" => {
            for key in child.children() {
                match key.key() {
                    "allocation" => {}
                    "conditions" | "devices" | "reservedFor" => sheet.report(key),
                    _ => sheet.unknown(key, NOT_OF_THE_KIND),
                }
            }
        }
        _ => sheet.unknown(child, NOT_OF_THE_KIND),
    }
}

/// What a job's claim or machine on a node is called: `train.n1`, and `train.n1.2` where one is not
/// enough. Rules go by it, so it is no free text. Gives the node and the number.
pub(super) fn place_of(meta: &Meta<'_, '_>) -> Option<(Name, u16)> {
    let (_, job) = meta.job.as_ref()?;
    let mut names = meta.name.split('.');
    let is_jobs = names.next() == Some(job.name.as_str());
    let node = names.next().filter(|_| is_jobs)?.parse().ok()?;
    let number = names.next().map_or(Some(0), |text| number(text).filter(|number| *number > 0))?;
    names.next().is_none().then_some((node, number))
}

/// A number as it is written: two texts are never the same one.
pub(super) fn number(text: &str) -> Option<u16> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
    let is_plain = is_plain && (text == "0" || !text.starts_with('0'));
    text.parse().ok().filter(|_| is_plain)
}

/// What a claim calls a GPU: by its device file. A machine asks by the very word.
pub(super) fn called(request: &str) -> Option<u16> {
    number(request.strip_prefix("gpu-")?)
}

pub(super) fn whole(
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
    let Some((node, claim)) = place_of(meta) else {
        return sheet.unknown(metadata, "a claim is called by its job and its node: train.n1");
    };
    let claimed = |node: Name, gpu| Hold::Claimed {
        namespace: namespace.clone(),
        job: job.clone(),
        node,
        gpu,
    };
    let devices = root.get("spec").and_then(|spec| spec.get("devices"));
    for key in devices.into_iter().flat_map(Node::children) {
        if key.key() != "requests" {
            sheet.unknown(key, NOT_OF_THE_KIND);
            continue;
        }
        for request in key.children() {
            let Some(minor) = request.text_of("name").and_then(called) else {
                sheet.unknown(request, NO_NAME);
                continue;
            };
            match asked(request, sheet) {
                Some((at, class, pci)) => {
                    let gpu = ClaimedGpu::At { pci, class, request: ClaimRequest { claim, minor } };
                    sheet.claim(at, claimed(node.clone(), gpu));
                }
                None => sheet.unknown(request, NO_ADDRESS),
            }
        }
    }
    let status = root.get("status");
    let Some(allocation) = status.and_then(|status| status.get("allocation")) else { return };
    for key in allocation.children() {
        match key.key() {
            "allocationTimestamp" | "nodeSelector" => sheet.report(key),
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
            sheet.claim(at, claimed(node, ClaimedGpu::Minor(minor)));
        }
    }
}

/// The line that names the GPU a request is for, its class and its address.
fn asked<'d, 'a>(
    request: Node<'d, 'a>,
    sheet: &mut Sheet<'_>,
) -> Option<(Node<'d, 'a>, GpuClass, PciAddress)> {
    for entry in request.children().filter(|entry| !matches!(entry.key(), "name" | "exactly")) {
        sheet.unknown(entry, ONE);
    }
    let exactly = request.get("exactly")?;
    for term in exactly.children() {
        match term.key() {
            "deviceClassName" | "selectors" => {}
            "allocationMode" => sheet.must_be(term, &["ExactCount"], ONE),
            "count" => sheet.must_be(term, &["1"], ONE),
            "adminAccess" => sheet.unknown(term, "this opens devices that others hold"),
            _ => sheet.unknown(term, NOT_OF_THE_KIND),
        }
    }
    let named = exactly.text_of("deviceClassName")?;
    let class = GpuClass::ALL.into_iter().find(|class| class.as_str() == named)?;
    let (driver, attribute) = match class {
        GpuClass::Nvidia | GpuClass::NvidiaVfio => ("gpu.nvidia.com", "pciBusID"),
        GpuClass::Amd => ("gpu.amd.com", "pciAddr"),
    };
    let mut selectors = exactly.get("selectors")?.children();
    let (first, second) = (selectors.next()?, selectors.next());
    let mut parts = first.children();
    let (cel, other) = (parts.next().filter(|part| part.key() == "cel")?, parts.next());
    let mut keys = cel.children();
    let (expression, more) = (keys.next().filter(|key| key.key() == "expression")?, keys.next());
    if second.is_some() || other.is_some() || more.is_some() {
        return None;
    }
    let text = expression.value()?.strip_prefix("device.attributes['")?.strip_prefix(driver)?;
    let text = text.strip_prefix("'].")?.strip_prefix(attribute)?.strip_prefix(" == '")?;
    Some((expression, class, text.strip_suffix('\'')?.parse().ok()?))
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
