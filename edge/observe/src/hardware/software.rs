//! What runs on the node.

use std::collections::BTreeMap;

use model::{PciAddress, Versions};

use super::files::{Files, Unread};
use super::function::{Kind, PciFunction};
use super::{Caution, Note};

const SECURE_BOOT: &str =
    "sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c";
const PACKAGES: &str = "var/lib/dpkg/status";

/// The versions of everything, and whether it is known if the node booted securely. The driver's
/// library may tell the driver's version where the kernel does not.
pub(super) fn versions(
    files: &Files<'_>,
    functions: &BTreeMap<PciAddress, PciFunction>,
    told: Option<&str>,
    notes: &mut Vec<Note>,
) -> Result<(Versions, bool), Unread> {
    let mut gpus =
        functions.values().filter(|function| matches!(function.kind, Some(Kind::Gpu(_))));
    let vendor = if gpus.any(PciFunction::is_of_amd) { Vendor::Amd } else { Vendor::Nvidia };
    let secure_boot = secure_boot(files)?;
    let found = [
        ("the GPU driver's version", driver(files, vendor)?.or(told.map(str::to_owned))),
        ("the firmware's version", files.text("sys/class/dmi/id/bios_version")?),
        ("the container toolkit's version", toolkit(files, vendor)?),
        ("whether it booted securely", secure_boot.map(|_| String::new())),
    ];
    for (what, _) in found.iter().filter(|(_, found)| found.is_none()) {
        notes.push(Caution::Unknown.note(format!("nothing here says {what}")));
    }
    let [driver, firmware, toolkit, _] = found.map(|(what, found)| {
        let found = found.unwrap_or_default();
        let word = found.split_whitespace().collect::<Vec<_>>().join("_");
        if word != found {
            notes.push(Caution::Inferred.note(format!("{what} is `{found}`, written {word}")));
        }
        word.into()
    });
    let kernel = files.must("proc/sys/kernel/osrelease")?.into();
    let versions =
        Versions { driver, kernel, firmware, toolkit, secure_boot: secure_boot == Some(true) };
    Ok((versions, secure_boot.is_some()))
}

#[derive(Clone, Copy)]
enum Vendor {
    Nvidia,
    Amd,
}

fn driver(files: &Files<'_>, vendor: Vendor) -> Result<Option<String>, Unread> {
    let module = match vendor {
        Vendor::Nvidia => "nvidia",
        Vendor::Amd => "amdgpu",
    };
    if let Some(version) = files.text(&format!("sys/module/{module}/version"))? {
        return Ok(Some(version));
    }
    let file = format!("proc/driver/{module}/version");
    let Some(said) = files.text(&file)? else {
        return Ok(None);
    };
    // `NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.90.07  Fri May 31 …`
    let is_version = |word: &&str| {
        word.contains('.') && word.chars().all(|letter| letter.is_ascii_digit() || letter == '.')
    };
    match said.split_whitespace().find(is_version) {
        Some(version) => Ok(Some(version.to_owned())),
        None => {
            let why = "a version of digits and dots was expected";
            Err(Unread::Strange { path: files.path(&file), said, why })
        }
    }
}

/// The version of the installed package.
fn toolkit(files: &Files<'_>, vendor: Vendor) -> Result<Option<String>, Unread> {
    let package = match vendor {
        Vendor::Nvidia => "nvidia-container-toolkit",
        Vendor::Amd => "amd-container-toolkit",
    };
    let Some(said) = files.text(PACKAGES)? else {
        return Ok(None);
    };
    let mut entries = said.split("\n\n").filter(|entry| {
        let mut lines = entry.lines();
        lines.clone().any(|line| line.strip_prefix("Package: ") == Some(package))
            && lines.any(|line| line == "Status: install ok installed")
    });
    let entry = entries.next();
    let version =
        entry.and_then(|entry| entry.lines().find_map(|line| line.strip_prefix("Version: ")));
    Ok(version.map(str::to_owned))
}

/// Whether the firmware checked what it started; none if it does not say. One that is not EFI
/// cannot have.
fn secure_boot(files: &Files<'_>) -> Result<Option<bool>, Unread> {
    if files.names("sys/firmware/efi")?.is_empty() {
        return Ok(Some(false));
    }
    let Some(bytes) = files.bytes(SECURE_BOOT)? else {
        return Ok(None);
    };
    // Four bytes of attributes come before the value.
    match bytes[..] {
        [_, _, _, _, 0] => Ok(Some(false)),
        [_, _, _, _, 1] => Ok(Some(true)),
        _ => Err(Unread::Strange {
            path: files.path(SECURE_BOOT),
            said: format!("{bytes:02x?}"),
            why: "four bytes of attributes and a 0 or 1 were expected",
        }),
    }
}
