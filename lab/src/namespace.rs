//! Network namespaces with a name, and work done inside of them.

use std::fs::{self, File};
use std::path::Path;
use std::thread;

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, setns, unshare};

use crate::LabTrouble;

const NOTHING: Option<&Path> = None;

/// Makes namespaces with these files; in each, `inside` is called once.
///
/// One thread makes all of them: it walks from one new namespace into the next and ends there.
pub(crate) fn make(files: &[&Path], inside: impl Fn() + Sync) -> Result<(), LabTrouble> {
    in_thread(|| {
        for file in files {
            if let Some(folder) = file.parent() {
                fs::create_dir_all(folder).map_err(LabTrouble::file(folder))?;
                set_apart(folder)?;
            }
            File::create_new(file).map_err(LabTrouble::file(*file))?;
            let doing = || format!("make the network namespace {}", file.display());
            unshare(CloneFlags::CLONE_NEWNET).map_err(LabTrouble::kernel(doing()))?;
            mount(Some("/proc/thread-self/ns/net"), *file, NOTHING, MsFlags::MS_BIND, NOTHING)
                .map_err(LabTrouble::kernel(doing()))?;
            inside();
        }
        Ok(())
    })
}

/// Makes the folder of names a mount of its own, as `ip netns` does with it. If that came later, it
/// would lay the folder over itself, and nobody could take away what was there before.
fn set_apart(folder: &Path) -> Result<(), LabTrouble> {
    let failed = || LabTrouble::kernel(format!("make {} a mount of its own", folder.display()));
    let open = File::open(folder).map_err(LabTrouble::file(folder))?;
    // The lock that `ip netns` takes.
    let _lock = Flock::lock(open, FlockArg::LockExclusive).map_err(|(_, errno)| failed()(errno))?;
    let share = || mount(NOTHING, folder, NOTHING, MsFlags::MS_SHARED | MsFlags::MS_REC, NOTHING);
    let shared = match share() {
        Err(Errno::EINVAL) => {
            let onto_itself = MsFlags::MS_BIND | MsFlags::MS_REC;
            mount(Some(folder), folder, NOTHING, onto_itself, NOTHING).and_then(|()| share())
        }
        shared => shared,
    };
    shared.map_err(failed())
}

/// Takes a namespace's name away; it ends when nobody is inside any more.
pub(crate) fn remove(file: &Path) -> Result<(), LabTrouble> {
    // A file that is no mount is left of a crash while the namespace was made.
    let _ = umount2(file, MntFlags::MNT_DETACH);
    fs::remove_file(file).map_err(LabTrouble::file(file))
}

/// Does this inside a network namespace.
pub(crate) fn within<T: Send>(
    net: &Path,
    work: impl FnOnce() -> Result<T, LabTrouble> + Send,
) -> Result<T, LabTrouble> {
    let net = File::open(net).map_err(LabTrouble::file(net))?;
    in_thread(move || {
        enter(&net, CloneFlags::CLONE_NEWNET)?;
        work()
    })
}

/// Does this inside the network and mount namespaces of a process.
pub(crate) fn beside<T: Send>(
    process: i32,
    work: impl FnOnce() -> Result<T, LabTrouble> + Send,
) -> Result<T, LabTrouble> {
    let open = |kind: &str| {
        let path = format!("/proc/{process}/ns/{kind}");
        File::open(&path).map_err(LabTrouble::file(path))
    };
    let (net, mounts) = (open("net")?, open("mnt")?);
    in_thread(move || {
        enter(&net, CloneFlags::CLONE_NEWNET)?;
        // Threads share their working directory, and no such thread may enter another tree.
        unshare(CloneFlags::CLONE_FS).map_err(LabTrouble::kernel("leave the shared tree"))?;
        enter(&mounts, CloneFlags::CLONE_NEWNS)?;
        work()
    })
}

/// Does this inside a network namespace and a new mount namespace, with a `/run/netns` and a BPF
/// file system of its own: for `zebra -n` every name in that folder is a VRF.
pub(crate) fn apart<T: Send>(
    net: &Path,
    work: impl FnOnce() -> Result<T, LabTrouble> + Send,
) -> Result<T, LabTrouble> {
    let net = File::open(net).map_err(LabTrouble::file(net))?;
    in_thread(move || {
        enter(&net, CloneFlags::CLONE_NEWNET)?;
        let doing = "give a device mounts of its own";
        unshare(CloneFlags::CLONE_NEWNS).map_err(LabTrouble::kernel(doing))?;
        let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
        mount(NOTHING, "/", NOTHING, private, NOTHING).map_err(LabTrouble::kernel(doing))?;
        for (kind, place) in [("sysfs", "/sys"), ("bpf", "/sys/fs/bpf"), ("tmpfs", "/run/netns")] {
            mount(Some(kind), place, Some(kind), MsFlags::empty(), NOTHING)
                .map_err(LabTrouble::kernel(format!("mount {place} for a device")))?;
        }
        work()
    })
}

fn enter(namespace: &File, kind: CloneFlags) -> Result<(), LabTrouble> {
    setns(namespace, kind).map_err(LabTrouble::kernel("enter a namespace"))
}

/// Namespaces belong to threads here: only one that ends afterwards may change its own.
fn in_thread<T: Send>(
    work: impl FnOnce() -> Result<T, LabTrouble> + Send,
) -> Result<T, LabTrouble> {
    thread::scope(|scope| scope.spawn(work).join().unwrap_or(Err(LabTrouble::Gone)))
}
