//! Dialect `vfio`: a node's PCI functions, their IOMMU groups and their drivers.

use crate::dialect::Description;
use crate::lines::Line;
use crate::statement;
use crate::values::{Why, module, nic, number, pci};
use crate::{Function, Hold, Reading};

/// What is known of it.
pub(crate) const DESCRIPTION: Description = Description::of_statements(
    "the node's agent, which binds drivers; what is observed comes from sysfs",
    read,
);

fn read(text: &str) -> Reading {
    statement::read(text, |line| hold(line).map(Some))
}

fn hold(line: &Line<'_>) -> Result<Hold, Why> {
    Ok(match line.words().as_slice() {
        ["function", at, "gpu", gpu, place @ ..] => {
            function(at, Function::Gpu(module(gpu)?), place)?
        }
        ["function", at, "nic", number, place @ ..] => {
            function(at, Function::Nic(nic(number)?), place)?
        }
        ["function", at, "vf", of, vf, place @ ..] => {
            function(at, Function::Vf { nic: nic(of)?, vf: number(vf)? }, place)?
        }
        ["function", at, "other", place @ ..] => function(at, Function::Other, place)?,
        ["function", ..] => return Err("a function is a gpu, a nic, a vf or other"),
        ["bind", at, driver] => Hold::Driven { pci: pci(at)?, driver: (*driver).into() },
        ["bind", ..] => return Err("a function is bound to one driver"),
        ["beneath", bridge, at] => Hold::Beneath { bridge: pci(bridge)?, pci: pci(at)? },
        _ => return Err("no line of this dialect is written so"),
    })
}

fn function(at: &str, what: Function, place: &[&str]) -> Result<Hold, Why> {
    let &["group", group, "numa", numa] = place else {
        return Err("after a function stand its IOMMU group and its NUMA node");
    };
    Ok(Hold::Function { pci: pci(at)?, what, group: number(group)?, numa: number(numa)? })
}
