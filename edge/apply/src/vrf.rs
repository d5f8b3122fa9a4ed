//! A VRF, made and ended: a network namespace with a name, or a device.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::thread;

use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};
use observe::{Door, Place, Spaces, Trouble, Vrfs};

use crate::requests::{self, LOOPBACK};

/// Makes a VRF, or what is missing of its device.
pub(crate) fn make(place: &Place, spaces: &mut Spaces, name: &str) -> Result<(), Trouble> {
    match &place.vrfs {
        Vrfs::Namespaces(folder) => make_namespace(place, folder, name),
        Vrfs::Devices => {
            let failed = Trouble::kernel("let the node route for its VRFs");
            prepare().and_then(|()| keep_to_own_vrf()).map_err(failed)?;
            ask(spaces, &requests::make_vrf(name))
        }
    }
}

/// Ends a VRF. Whatever was made inside of a namespace goes with it; what a device leaves behind is
/// the route that ended its table.
pub(crate) fn end(place: &Place, spaces: &mut Spaces, name: &str) -> Result<(), Trouble> {
    match &place.vrfs {
        Vrfs::Namespaces(folder) => {
            end_namespace(place, folder, name).map_err(Trouble::file(&folder.join(name)))
        }
        Vrfs::Devices => ask(spaces, &requests::end_vrf(name)),
    }
}

fn ask(spaces: &mut Spaces, requests: &[observe::KernelRequest]) -> Result<(), Trouble> {
    spaces.door(None).map_or(Ok(()), |door| door.change(requests))
}

/// Makes a namespace. Its name appears when everything else is done, and nobody touches it before
/// zebra knows it: zebra asks for the numbers that namespaces have in each other by a socket that
/// also hears of addresses and neighbours, takes such a word for its answer, and then never sees a
/// tunnel in that namespace.
fn make_namespace(place: &Place, names: &Path, name: &str) -> Result<(), Trouble> {
    let (named, kept) = (names.join(name), kept(place, name));
    let failed = Trouble::file(&named);
    make_folders(place, names).map_err(&failed)?;
    // What is left of one that did not come to its end.
    end_namespace(place, names, name).map_err(&failed)?;
    File::create(&kept).map_err(&failed)?;
    let inside = || {
        unshare(CloneFlags::CLONE_NEWNET).map_err(|errno| failed(errno.into()))?;
        prepare().map_err(&failed)?;
        Door::here()?.change(&[requests::set_up("lo", LOOPBACK)])?;
        let none: Option<&Path> = None;
        mount(Some("/proc/thread-self/ns/net"), &kept, none, MsFlags::MS_BIND, none)
            .map_err(|errno| failed(errno.into()))
    };
    let made = thread::scope(|scope| scope.spawn(inside).join());
    made.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
    symlink(&kept, &named).map_err(&failed)
}

/// Takes the name of a namespace away and gives it again, for zebra to come once more: it overlooks
/// one if it heard of something else when it asked for its number. Where VRFs are devices there is
/// nothing to overlook.
pub(crate) fn name_again(place: &Place, name: &str) -> Result<(), Trouble> {
    let Vrfs::Namespaces(names) = &place.vrfs else { return Ok(()) };
    let named = names.join(name);
    let failed = Trouble::file(&named);
    gone(fs::remove_file(&named)).map_err(&failed)?;
    symlink(kept(place, name), &named).map_err(&failed)
}

/// Ends a namespace: first its name, then itself.
fn end_namespace(place: &Place, names: &Path, name: &str) -> io::Result<()> {
    let named = names.join(name);
    // A namespace that somebody else put there is mounted at the name itself.
    let _ = umount2(&named, MntFlags::MNT_DETACH | MntFlags::UMOUNT_NOFOLLOW);
    gone(fs::remove_file(&named))?;
    let kept = kept(place, name);
    let _ = umount2(&kept, MntFlags::MNT_DETACH); // it may not be mounted
    gone(fs::remove_file(&kept))
}

/// Where the namespace is kept: in a folder that is this node's alone.
fn kept(place: &Place, name: &str) -> PathBuf {
    folder(place).join(name)
}

fn folder(place: &Place) -> PathBuf {
    place.state.join("vrfs")
}

/// FRR is another user and must come to the namespaces, whatever the agent's file mask is: whoever
/// knows a name may pass, and nobody may look around.
fn make_folders(place: &Place, names: &Path) -> io::Result<()> {
    const PASSAGE: u32 = 0o711;
    const OPEN: u32 = 0o755;
    for folder in [place.state.clone(), folder(place)] {
        fs::create_dir_all(&folder)?;
        fs::set_permissions(&folder, Permissions::from_mode(PASSAGE))?;
    }
    // The folder of names is the system's, if it is there.
    if !names.exists() {
        fs::create_dir_all(names)?;
        fs::set_permissions(names, Permissions::from_mode(OPEN))?;
    }
    Ok(())
}

/// It routes, whatever way an answer takes.
fn prepare() -> io::Result<()> {
    for (name, value) in [
        ("ipv4/ip_forward", "1"),
        ("ipv4/conf/all/rp_filter", "0"),
        ("ipv4/conf/default/rp_filter", "0"),
        ("ipv6/conf/all/forwarding", "1"),
        ("ipv6/conf/default/forwarding", "1"),
        // Nobody is told of better ways: the ways are planned.
        ("ipv4/conf/all/send_redirects", "0"),
        ("ipv4/conf/default/send_redirects", "0"),
    ] {
        set(name, value)?;
    }
    Ok(())
}

/// What the node itself listens to hears nobody in a VRF.
fn keep_to_own_vrf() -> io::Result<()> {
    for kind in ["tcp", "udp", "raw"] {
        set(&format!("ipv4/{kind}_l3mdev_accept"), "0")?;
    }
    Ok(())
}

/// Lets the node itself route between its cables.
pub(crate) fn route_underlay() -> io::Result<()> {
    set("ipv4/ip_forward", "1")?;
    set("ipv4/conf/all/rp_filter", "0")
}

/// Changes a setting of the calling thread's namespace, if it is another.
fn set(name: &str, value: &str) -> io::Result<()> {
    let path = Path::new("/proc/sys/net").join(name);
    if fs::read_to_string(&path)?.trim() == value {
        return Ok(());
    }
    fs::write(path, value)
}

fn gone(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}
