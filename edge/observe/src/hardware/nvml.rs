//! NVIDIA's management library, which comes with the driver and is loaded when it is asked.
//!
//! It knows what sysfs does not: module ids, instances of GPUs and where they lie, NVLinks and the
//! fabric that they join. It changes nothing here, and it has no call that clears a memory.

mod sys;

use std::fs;
use std::path::{Path, PathBuf};

use model::PciAddress;

use super::boards::{
    Account, Boards, Card, Instance, MigCut, NvlinkFabric, Nvlinks, Silence, Unsaid,
};
use sys::{Device, Failure, Joining, Profile, Session};

/// What it is called. The number is that of its interface, which never changed.
const NAME: &str = "libnvidia-ml.so.1";

/// Where drivers install it: distributions, driver containers, and hosts whose system is read-only.
const FOLDERS: [&str; 9] = [
    "usr/lib/x86_64-linux-gnu",
    "usr/lib/aarch64-linux-gnu",
    "usr/lib64",
    "usr/lib",
    "run/nvidia/driver/usr/lib/x86_64-linux-gnu",
    "run/nvidia/driver/usr/lib/aarch64-linux-gnu",
    "run/nvidia/driver/usr/lib64",
    "home/kubernetes/bin/nvidia/lib64",
    "run/opengl-driver/lib",
];

/// Which boot of which machine this is.
const BOOT: &str = "proc/sys/kernel/random/boot_id";

/// Codes of its calls that mean more here than that something failed (nvml.h, `nvmlReturn_t`).
mod code {
    pub(super) const INVALID_ARGUMENT: u32 = 2;
    pub(super) const NOT_SUPPORTED: u32 = 3;
    pub(super) const NO_PERMISSION: u32 = 4;
    pub(super) const DRIVER_NOT_LOADED: u32 = 9;
    pub(super) const FUNCTION_NOT_FOUND: u32 = 13;
    pub(super) const GPU_IS_LOST: u32 = 15;
    pub(super) const RESET_REQUIRED: u32 = 16;
    pub(super) const VERSION_MISMATCH: u32 = 18;
    pub(super) const STRUCT_MISMATCH: u32 = 25;
}

/// Profiles are numbered from 0 in the header. It had 17 when this was written; what a library
/// does not know, it says.
const PROFILES: u32 = 32;
/// More NVLinks than any GPU has; those that it has not, the library refuses.
const LINKS: u32 = 36;

/// The library of the node whose files are below a root.
pub struct Nvml<'a> {
    /// Where the node's files are.
    pub root: &'a Path,
}

impl Boards for Nvml<'_> {
    fn ask(&self) -> Result<Account, Silence> {
        let Some(path) = self.path() else {
            return Err(Silence::Absent(format!("there is no {NAME} to ask")));
        };
        if !self.is_this_machine() {
            return Err(Silence::Absent(format!(
                "these are not the files of the machine that this runs on, and their {NAME} would \
                 tell of this one"
            )));
        }
        account(&path).map_err(|failure| Silence::Failed(sentence(&failure)))
    }
}

impl Nvml<'_> {
    /// A link that leads nowhere counts: then a driver is installed, and badly.
    fn path(&self) -> Option<PathBuf> {
        let mut paths = FOLDERS.iter().map(|folder| self.root.join(folder).join(NAME));
        paths.find(|path| path.symlink_metadata().is_ok())
    }

    /// The library asks the kernel that it runs on, whatever folder it was loaded from. So another
    /// machine's files tell nothing by it, and nothing of theirs should be run.
    fn is_this_machine(&self) -> bool {
        let boot = |root: &Path| fs::read(root.join(BOOT)).ok();
        let own = Path::new("/");
        fs::canonicalize(self.root).is_ok_and(|root| root == own)
            || boot(self.root).is_some_and(|theirs| Some(theirs) == boot(own))
    }
}

fn account(path: &Path) -> Result<Account, Failure> {
    let session = Session::open(path)?;
    let mut account = Account::default();
    account.driver = account.heard("the driver's version", None, session.driver());
    for index in 0..session.count()? {
        let found = session.device(index).and_then(|device| Ok((device.bus_id()?, device)));
        let Some((bus_id, device)) = account.heard("where one of the GPUs is", None, found) else {
            continue;
        };
        let Some(address) = address(&bus_id).filter(|at| !account.gpus.contains_key(at)) else {
            let why = format!("it says {bus_id}, which is no common address, or says it twice");
            account.unsaid.push(Unsaid { what: "where one of the GPUs is", why, gpus: Vec::new() });
            continue;
        };
        let card = card(&session, &device, address, &mut account);
        account.gpus.insert(address, card);
    }
    Ok(account)
}

/// Linux writes four digits of the domain, and all of them small.
fn address(bus_id: &str) -> Option<PciAddress> {
    bus_id.strip_prefix("0000").unwrap_or(bus_id).to_ascii_lowercase().parse().ok()
}

fn card(session: &Session, device: &Device<'_>, at: PciAddress, account: &mut Account) -> Card {
    let module = account.heard("the module id", Some(at), supported(device.module()));
    let fabric = account.heard("the NVLink fabric", Some(at), supported(device.fabric()));
    Card {
        uuid: account.heard("the UUID", Some(at), device.uuid()),
        module: module.flatten().and_then(|module| u16::try_from(module).ok()),
        cut: account.heard("instances", Some(at), cut(device)),
        nvlinks: account.heard("NVLinks", Some(at), nvlinks(device)).flatten(),
        fabric: fabric.flatten().and_then(|joining| joined(session, &joining)),
    }
}

fn cut(device: &Device<'_>) -> Result<MigCut, Failure> {
    // A GPU that cannot be cut at all is whole, and that is known.
    if supported(device.mig_is_on())? != Some(true) {
        return Ok(MigCut::default());
    }
    let mut instances = Vec::new();
    for profile in profiles(device)? {
        let placed = device.instances(&profile)?.into_iter().map(|placed| Instance {
            id: placed.id,
            profile_id: profile.id,
            profile: profile.name.trim_start_matches("MIG ").to_owned(),
            start: placed.start,
            size: placed.size,
        });
        instances.extend(placed);
    }
    instances.sort_by_key(|instance| (instance.start, instance.id));
    Ok(MigCut { is_on: true, instances })
}

/// The ways to cut it. A GPU that can be cut has some: none would hide every instance.
fn profiles(device: &Device<'_>) -> Result<Vec<Profile>, Failure> {
    let mut profiles = Vec::new();
    for number in 0..PROFILES {
        profiles.extend(existing(device.profile(number))?);
    }
    if profiles.is_empty() {
        profiles.push(device.profile(0)?);
    }
    Ok(profiles)
}

/// None if it has none.
fn nvlinks(device: &Device<'_>) -> Result<Option<Nvlinks>, Failure> {
    let mut links = Nvlinks { active: 0, all: 0 };
    for link in 0..LINKS {
        if let Some(is_active) = existing(device.link_is_active(link))? {
            links.all += 1;
            links.active += u16::from(is_active);
        }
    }
    Ok((links.all > 0).then_some(links))
}

/// Where it stands; none if it is not made for a fabric (nvml.h, `NVML_GPU_FABRIC_STATE`).
fn joined(session: &Session, joining: &Joining) -> Option<NvlinkFabric> {
    match (joining.state, joining.status) {
        (0, _) => None,
        (1, _) => Some(NvlinkFabric::NotStarted),
        (2, _) => Some(NvlinkFabric::Joining),
        (3, 0) => {
            Some(NvlinkFabric::Joined { cluster: uuid(joining.cluster), clique: joining.clique })
        }
        (_, status) => Some(NvlinkFabric::Failed(status, session.words(status))),
    }
}

/// As such ids are written (RFC 9562, section 4).
fn uuid(bytes: [u8; 16]) -> String {
    let mut text = String::new();
    for (place, byte) in bytes.iter().enumerate() {
        if [4, 6, 8, 10].contains(&place) {
            text.push('-');
        }
        text.push_str(&format!("{byte:02x}"));
    }
    text
}

/// None if that GPU has no such thing, which is no failure.
fn supported<T>(answer: Result<T, Failure>) -> Result<Option<T>, Failure> {
    match answer {
        Ok(value) => Ok(Some(value)),
        Err(Failure::Refused(_, code::NOT_SUPPORTED, _)) => Ok(None),
        Err(failure) => Err(failure),
    }
}

/// None if there is nothing with that number, either.
fn existing<T>(answer: Result<T, Failure>) -> Result<Option<T>, Failure> {
    match supported(answer) {
        Err(Failure::Refused(_, code::INVALID_ARGUMENT, _)) => Ok(None),
        answer => answer,
    }
}

impl Account {
    /// What was said, or else a line for what was not; one for all GPUs of which the same is true.
    fn heard<T>(
        &mut self,
        what: &'static str,
        gpu: Option<PciAddress>,
        answer: Result<T, Failure>,
    ) -> Option<T> {
        let why = match answer {
            Ok(value) => return Some(value),
            Err(failure) => sentence(&failure),
        };
        let same = self.unsaid.iter_mut().find(|unsaid| unsaid.what == what && unsaid.why == why);
        match same {
            Some(unsaid) => unsaid.gpus.extend(gpu),
            None => self.unsaid.push(Unsaid { what, why, gpus: gpu.into_iter().collect() }),
        }
        None
    }
}

/// What went wrong, and what to do.
fn sentence(failure: &Failure) -> String {
    match failure {
        Failure::Unloadable(why) => format!("cannot load {why}; install the GPU driver again"),
        Failure::Lacks(call) => format!("{NAME} has no {call}; update the GPU driver"),
        Failure::Refused(call, code, words) => {
            format!("{call} ends with {code} ({words}); {}", remedy(*code))
        }
    }
}

const fn remedy(refused: u32) -> &'static str {
    match refused {
        code::NO_PERMISSION => "run it as root",
        code::DRIVER_NOT_LOADED => {
            "load the driver by `modprobe nvidia`; the kernel's log says why it is not loaded"
        }
        code::VERSION_MISMATCH => {
            "library and loaded driver are of different versions: restart the node, or load the \
             driver anew"
        }
        code::GPU_IS_LOST => "the GPU fell off the bus: drain the node, and restart it",
        code::RESET_REQUIRED => "drain the node, and reset the GPU",
        code::FUNCTION_NOT_FOUND | code::STRUCT_MISMATCH => "update the GPU driver",
        _ => "the kernel's log may say why",
    }
}
