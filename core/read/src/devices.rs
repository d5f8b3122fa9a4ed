//! Dialect `devices`: which device files a job may open, and what each of them gives.

use smol_str::SmolStr;

use crate::dialect::Description;
use crate::lines::Line;
use crate::statement;
use crate::values::{Why, job, number, slot};
use crate::{DeviceFile, Hold, Reading};

/// What is known of it.
pub(crate) const DESCRIPTION: Description =
    Description::of_statements("the node's agent, for the control groups of jobs", read);

fn read(text: &str) -> Reading {
    statement::read(text, |line| hold(line).map(Some))
}

fn hold(line: &Line<'_>) -> Result<Hold, Why> {
    match line.words().as_slice() {
        ["open", of, path] => Ok(Hold::Opens { job: job(of)?, file: file(path)? }),
        // The number of a capability says nothing; what it is for stands behind it.
        ["open", of, path, "minor", minor, "start", first] if path.starts_with(CAPABILITIES) => {
            let file = DeviceFile::Instance { minor: number(minor)?, start: slot(first)? };
            Ok(Hold::Opens { job: job(of)?, file })
        }
        ["open", ..] => Err("a job opens one device file, named by its path without spaces"),
        _ => Err("no line of this dialect is written so"),
    }
}

/// Files that give nothing by themselves: the drivers' own, and what every process has.
const CONTROL: [&str; 14] = [
    "/dev/nvidiactl",
    "/dev/nvidia-uvm",
    "/dev/nvidia-uvm-tools",
    "/dev/nvidia-modeset",
    "/dev/kfd",
    "/dev/vfio/vfio",
    "/dev/infiniband/rdma_cm",
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
];

/// Directories, which are handed over with all that is in them.
const DIRECTORIES: [&str; 7] = [
    "/dev",
    "/dev/infiniband",
    "/dev/vfio",
    "/dev/dri",
    "/dev/nvidia-caps",
    "/dev/nvidia-caps-imex-channels",
    "/dev/shm",
];

/// Capabilities of GPUs' instances.
const CAPABILITIES: &str = "/dev/nvidia-caps/nvidia-cap";

/// The number of the first GPU's render device (Linux, Documentation/gpu/drm-uapi.rst).
const FIRST_RENDER_DEVICE: u16 = 128;

/// GPUs and interfaces of a node are told apart in masks of 64 bits.
const MOST: u16 = 64;

const CHANNELS: u16 = 2048;

/// What a path leads to. Whatever is not known for sure is strange.
fn file(path: &str) -> Result<DeviceFile, Why> {
    if path != "/dev" && !path.starts_with("/dev/") {
        return Err("a device file is named by its whole path below /dev");
    }
    let whole = SmolStr::new(path);
    Ok(if CONTROL.contains(&path) {
        DeviceFile::Control(whole)
    } else if path.ends_with('/') || path.contains(['*', '?', '[']) || DIRECTORIES.contains(&path) {
        DeviceFile::Many(whole)
    } else if path.starts_with("/dev/infiniband/umad") || path.starts_with("/dev/infiniband/issm") {
        DeviceFile::Management(whole)
    } else {
        numbered(path).unwrap_or(DeviceFile::Strange(whole))
    })
}

fn numbered(path: &str) -> Option<DeviceFile> {
    let below = |limit: u16, number: u16| (number < limit).then_some(number);
    if let Some(minor) = after("/dev/nvidia", path) {
        below(MOST, minor).map(DeviceFile::Gpu)
    } else if let Some(render) = after("/dev/dri/renderD", path) {
        below(MOST, render.checked_sub(FIRST_RENDER_DEVICE)?).map(DeviceFile::Gpu)
    } else if let Some(nic) = after("/dev/infiniband/uverbs", path) {
        below(MOST, nic).map(DeviceFile::Verbs)
    } else if let Some(channel) = after("/dev/nvidia-caps-imex-channels/channel", path) {
        below(CHANNELS, channel).map(DeviceFile::Channel)
    } else {
        after("/dev/vfio/", path).map(DeviceFile::Group)
    }
}

/// The number at the end of a path. Zeros in front of it would make it another file.
fn after(beginning: &str, path: &str) -> Option<u16> {
    let digits = path.strip_prefix(beginning)?;
    let is_plain = digits.bytes().all(|digit| digit.is_ascii_digit())
        && (digits == "0" || !digits.starts_with('0'));
    digits.parse().ok().filter(|_| is_plain)
}
