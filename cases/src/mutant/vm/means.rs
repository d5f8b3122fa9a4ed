//! What it means that libvirt prints something else: a table by path, written without a look at
//! what `read` passes over. What is not in it opens.

use super::{Effect, Statements};

/// Paths that begin so, of which nothing reaches the host or others whatever they say.
const HARMLESS: &[&str] = &[
    "/domain/name",
    "/domain/uuid",
    "/domain/title",
    "/domain/description",
    "/domain/genid",
    // Nobody planned how large a machine is.
    "/domain/memory=",
    "/domain/memory@unit",
    "/domain/currentMemory",
    "/domain/vcpu=",
    "/domain/vcpu@current",
    "/domain/iothreads",
    "/domain/memoryBacking/nosharepages",
    "/domain/memoryBacking/locked",
    "/domain/features",
    "/domain/cpu@",
    "/domain/cpu/model",
    "/domain/cpu/topology",
    "/domain/cpu/feature",
    "/domain/cpu/cache",
    "/domain/cpu/vendor",
    "/domain/clock",
    "/domain/pm",
    "/domain/on_reboot",
    "/domain/on_poweroff",
    "/domain/os/type@machine",
    "/domain/os/firmware",
    "/domain/os/bootmenu",
    "/domain/devices/controller",
    "/domain/devices/memballoon",
    "/domain/devices/iommu",
    "/domain/devices/audio:none",
    "/domain/devices/serial:pty",
    "/domain/devices/console:pty",
    "/domain/devices/input:mouse",
    "/domain/devices/input:keyboard",
    "/domain/devices/input:tablet",
    "/domain/devices/video",
    "/domain/devices/panic",
    "/domain/devices/rng/rate",
    "/domain/devices/rng/alias",
    "/domain/devices/rng/address",
    "/domain/devices/hostdev:pci/address",
    "/domain/devices/hostdev:pci/alias",
    "/domain/devices/hostdev:pci/boot",
    "/domain/devices/hostdev:pci/driver",
    "/domain/devices/watchdog/",
];

/// Single values of which the same holds.
const VALUES: &[(&str, &[&str])] = &[
    ("/domain/devices/rng", &[""]),
    ("/domain/devices/rng@model", &["virtio", "virtio-transitional", "virtio-non-transitional"]),
    ("/domain/devices/rng/backend", &[""]),
    ("/domain/devices/rng/backend@model", &["random"]),
    ("/domain/devices/rng/backend=", &["/dev/urandom"]),
    ("/domain/devices/emulator=", &["/usr/bin/qemu-system-x86_64", "/usr/bin/kvm"]),
    ("/domain/devices/watchdog", &[""]),
    ("/domain/devices/watchdog@model", &["itco", "i6300esb"]),
    ("/domain/devices/watchdog@action", &["reset", "poweroff", "none", "shutdown", "pause"]),
    ("/domain/on_crash=", &["destroy", "restart"]),
    ("/domain/seclabel", &[""]),
    ("/domain/seclabel@type", &["dynamic"]),
    ("/domain/seclabel@model", &["dac", "apparmor", "selinux"]),
    ("/domain/seclabel@relabel", &["yes"]),
    ("/domain/memory@dumpCore", &["off"]),
    ("/domain/memoryBacking", &[""]),
    ("/domain/memoryBacking/source@type", &["memfd", "anonymous"]),
    ("/domain/memoryBacking/source", &[""]),
    ("/domain/memoryBacking/access", &[""]),
    ("/domain/memoryBacking/access@mode", &["private"]),
    ("/domain/vcpu@placement", &["static"]),
    ("/domain/os/boot", &[""]),
    ("/domain/os/boot@dev", &["hd"]),
    ("/domain/resource", &[""]),
    ("/domain/resource/partition", &[""]),
    ("/domain/resource/partition=", &["/machine"]),
    ("/domain/devices/hostdev:pci/rom", &[""]),
    ("/domain/devices/hostdev:pci/rom@bar", &["on", "off"]),
];

/// What is planned: without it, or with another one, somebody does not get it.
const PLANNED: &[&str] = &[
    "/domain/numatune",
    "/domain/devices/hostdev:pci",
    "/domain/launchSecurity",
    "/domain/metadata",
    "/domain@type",
    "/domain/os",
    "/domain/devices/emulator",
];

/// The worst that any difference means. What is both gone and come was changed.
pub(super) fn effect(was: &Statements, is: &Statements) -> Effect {
    let come = is.difference(was).map(|(path, value)| of_new(path, value));
    let gone = was.difference(is).map(|(path, value)| of_old(path, value));
    come.chain(gone).min().unwrap_or(Effect::Harmless)
}

fn of_new(path: &str, value: &str) -> Effect {
    let is_known = |(known, values): &(&str, &[&str])| *known == path && values.contains(&value);
    if HARMLESS.iter().any(|known| path.starts_with(known)) || VALUES.iter().any(is_known) {
        Effect::Harmless
    } else {
        Effect::Opens
    }
}

/// What is gone opens only where it was a fence, and cuts where it was planned.
fn of_old(path: &str, value: &str) -> Effect {
    const FENCES: [&str; 2] = ["/domain/launchSecurity", "/domain/numatune"];
    if FENCES.iter().any(|fence| path.starts_with(fence)) {
        Effect::Opens
    } else if of_new(path, value) == Effect::Harmless {
        Effect::Harmless
    } else if PLANNED.iter().any(|planned| path.starts_with(planned)) {
        Effect::Cuts
    } else {
        Effect::Harmless
    }
}
