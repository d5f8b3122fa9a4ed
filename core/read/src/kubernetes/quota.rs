//! How much a namespace may use, and how large its containers are.

use model::admission::GPU_QUOTAS;
use smol_str::SmolStr;

use super::{Meta, NO_NAMESPACE, NOT_OF_THE_KIND, Sheet, no_labels};
use crate::Hold;
use crate::values::Why;
use crate::yaml::Node;

pub(super) fn quota(child: Node<'_, '_>, meta: &Meta<'_, '_>, sheet: &mut Sheet<'_>) {
    let Some(namespace) = &meta.namespace else { return sheet.unknown(child, NO_NAMESPACE) };
    if child.key() != "spec" {
        return sheet.unknown(child, NOT_OF_THE_KIND);
    }
    no_labels(meta, sheet);
    for key in child.children() {
        if key.key() != "hard" {
            sheet.unknown(key, "a quota for some objects only is no quota");
            continue;
        }
        for limit in key.children() {
            let namespace = namespace.clone();
            match Limit::of(limit) {
                Ok(Limit::Gpus(gpus)) => {
                    let of = limit.key().into();
                    sheet.claim(limit, Hold::GpuQuota { namespace, of, gpus });
                }
                Ok(Limit::Storage(class, bytes)) => {
                    sheet.claim(limit, Hold::StorageQuota { namespace, class, bytes });
                }
                Err(why) => sheet.unknown(limit, why),
            }
        }
    }
}

enum Limit {
    Gpus(u32),
    Storage(SmolStr, u64),
}

impl Limit {
    fn of(limit: Node<'_, '_>) -> Result<Self, Why> {
        let value = limit.value().unwrap_or_default();
        let key = limit.key();
        if GPU_QUOTAS.contains(&key) {
            let count = whole(value).and_then(|count| u32::try_from(count).ok());
            return count.map(Self::Gpus).ok_or("a number of GPUs is a whole number");
        }
        if let Some(class) = key.strip_suffix(".storageclass.storage.k8s.io/requests.storage") {
            let bytes = bytes(value).ok_or("a size is a whole number with a unit, such as 8Ti")?;
            return Ok(Self::Storage(class.into(), bytes));
        }
        Err("nobody planned to limit this")
    }
}

/// A whole number: YAML takes one that begins with a zero for an octal one.
fn whole(text: &str) -> Option<u64> {
    let is_plain = text == "0" || !text.starts_with(['0', '+', '-']);
    is_plain.then(|| text.parse().ok()).flatten()
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
    whole(&text[..end])?.checked_mul(unit)
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
                "type" => {}
                "default" | "defaultRequest" => sheet.pass("LimitRange.spec.limits", key),
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
