//! The network namespaces of one node: its own, and, where VRFs are no devices, one for each VRF.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use filter::{Kernel, PinnedLink};
use model::numbering::tenant_of_vrf;
use nix::sys::statfs::{FsType, fstatfs};
use wire::Tables;

use crate::devices::{self, Parts};
use crate::entry::Rule;
use crate::link::{Interface, Kind};
use crate::queues::Queues;
use crate::seen::Seen;
use crate::{Door, Place, Trouble, Vrfs, own_namespace, run_inside, say, watch};

/// What a file of a network namespace is on (linux/magic.h).
const NSFS: FsType = FsType(0x6e73_6673);

/// What was seen is not relied on for longer, whatever the kernel told since.
const FRESH: Duration = Duration::from_secs(5);

/// The namespaces of one node, each with a socket that is kept open.
pub struct Spaces {
    place: Place,
    own: Space,
    /// A VRF that is a device has no namespace but the node's own.
    vrfs: BTreeMap<String, Option<Space>>,
}

/// One of them.
struct Space {
    inode: u64,
    namespace: File,
    door: Door,
    /// What was seen last.
    sight: Option<Sight>,
}

/// What was seen in a namespace.
struct Sight {
    /// Hears what changed since: it listened before anything was looked at.
    ear: Door,
    seen: Arc<Seen>,
    at: Instant,
}

impl Spaces {
    /// Those of the node where the calling thread is.
    pub fn open(place: &Place) -> Result<Self, Trouble> {
        let own = Space::of(own_namespace()?, 0)?;
        let mut spaces = Self { place: place.clone(), own, vrfs: BTreeMap::new() };
        spaces.refresh()?;
        Ok(spaces)
    }

    /// Looks which VRFs there are now, and says whether that changed.
    pub fn refresh(&mut self) -> Result<bool, Trouble> {
        match self.place.vrfs.clone() {
            Vrfs::Namespaces(folder) => self.refresh_namespaces(&folder),
            Vrfs::Devices => self.refresh_devices(),
        }
    }

    fn refresh_namespaces(&mut self, folder: &Path) -> Result<bool, Trouble> {
        let names = names(folder)?;
        let before = self.vrfs.len();
        self.vrfs.retain(|name, _| names.contains(name));
        let mut changed = self.vrfs.len() != before;
        for name in names {
            let Some((inode, namespace)) = namespace(&folder.join(&name))? else {
                changed |= self.vrfs.remove(&name).is_some();
                continue;
            };
            let known = self.vrfs.get(&name).and_then(Option::as_ref);
            if known.is_none_or(|space| space.inode != inode) {
                self.vrfs.insert(name, Some(Space::of(namespace, inode)?));
                changed = true;
            }
        }
        Ok(changed)
    }

    fn refresh_devices(&mut self) -> Result<bool, Trouble> {
        let seen = self.own.look()?;
        let before: Vec<String> = std::mem::take(&mut self.vrfs).into_keys().collect();
        self.vrfs.extend(devices::devices(&seen).map(|(device, _)| (device.name.clone(), None)));
        Ok(!self.vrfs.keys().eq(&before))
    }

    /// Looks at all of it.
    pub fn look(&mut self) -> Result<Found, Trouble> {
        self.refresh()?;
        let own = self.own.look()?;
        let queues = Queues::through(&mut self.own.door)?;
        let (own, vrfs, rules) = match self.place.vrfs {
            Vrfs::Namespaces(_) => (own, self.look_inside()?, Vec::new()),
            Vrfs::Devices => {
                let Parts { own, vrfs, rules } = Parts::of(&own);
                (Arc::new(own), vrfs, rules)
            }
        };
        let links = Kernel::links(&self.place.filter)?;
        let has_lost_links = links.iter().any(|link| !link.stands);
        let standing = BTreeSet::new();
        let mut found = Found { own, queues, vrfs, rules, standing, has_lost_links };
        found
            .vrfs
            .sort_by_key(|vrf| (tenant_of_vrf(&vrf.name).unwrap_or(u16::MAX), vrf.name.clone()));
        found.standing = self.standing(links, &found)?;
        Ok(found)
    }

    /// Looks into the VRFs' namespaces.
    fn look_inside(&mut self) -> Result<Vec<Room>, Trouble> {
        let mut vrfs = Vec::new();
        let mut inodes = BTreeSet::new();
        for (name, space) in &mut self.vrfs {
            let Some(space) = space else { continue };
            // A second name of a namespace is a VRF with nothing of its own.
            let is_first = inodes.insert(space.inode);
            let seen = if is_first { space.look()? } else { Arc::default() };
            vrfs.push(Room { name: name.clone(), oddities: String::new(), seen });
        }
        Ok(vrfs)
    }

    /// Where the packet program stands. Where interfaces of several namespaces have the number that
    /// a link tells, each is asked.
    fn standing(&self, links: Vec<PinnedLink>, found: &Found) -> Result<BTreeSet<Stand>, Trouble> {
        let mut standing = BTreeSet::new();
        for PinnedLink { hook, interface: index, .. } in
            links.into_iter().filter(|link| link.stands)
        {
            for (vrf, name) in found.numbered(index) {
                let is_alone = !found.is_shared(index);
                if is_alone || self.stands_in(vrf, &hook, name)? {
                    standing.insert((vrf.map(str::to_owned), hook.clone(), index));
                }
            }
        }
        Ok(standing)
    }

    fn stands_in(&self, vrf: Option<&str>, hook: &str, name: &str) -> Result<bool, Trouble> {
        // Cables to the fabric are in the node's own namespace, and nowhere else.
        if matches!(hook, "fabric" | "queue") {
            return Ok(vrf.is_none());
        }
        let Some(namespace) = self.namespace(vrf) else { return Ok(false) };
        Ok(run_inside(namespace, || Kernel::stands_here(&self.place.filter, hook, name))??)
    }

    /// The VRFs there are.
    pub fn vrfs(&self) -> impl Iterator<Item = &str> {
        self.vrfs.keys().map(String::as_str)
    }

    /// The node's own namespace, and those of VRFs that have one.
    pub(crate) fn namespaces(&self) -> impl Iterator<Item = (Option<&str>, &File)> {
        let vrfs = self.vrfs.iter().filter_map(|(name, space)| {
            space.as_ref().map(|space| (Some(name.as_str()), &space.namespace))
        });
        std::iter::once((None, &self.own.namespace)).chain(vrfs)
    }

    /// The namespace of a VRF, or the node's own.
    #[must_use]
    pub fn namespace(&self, vrf: Option<&str>) -> Option<&File> {
        self.space(vrf).map(|space| &space.namespace)
    }

    /// The socket in the namespace of a VRF, or in the node's own.
    pub fn door(&mut self, vrf: Option<&str>) -> Option<&mut Door> {
        match vrf {
            None => Some(&mut self.own.door),
            Some(name) => {
                let space = self.vrfs.get_mut(name)?.as_mut();
                Some(&mut space.unwrap_or(&mut self.own).door)
            }
        }
    }

    fn space(&self, vrf: Option<&str>) -> Option<&Space> {
        match vrf {
            None => Some(&self.own),
            Some(name) => self.vrfs.get(name).map(|space| space.as_ref().unwrap_or(&self.own)),
        }
    }
}

impl Space {
    fn of(namespace: File, inode: u64) -> Result<Self, Trouble> {
        let door = Door::inside(&namespace)?;
        Ok(Self { inode, namespace, door, sight: None })
    }

    /// What the kernel holds here. It is asked only if it told of anything since it was asked last:
    /// asking waits for whoever changes interfaces anywhere on the machine. Every word counts, also
    /// one that no line would say: an entry that was ours may have become the kernel's own.
    fn look(&mut self) -> Result<Arc<Seen>, Trouble> {
        let ear = match self.sight.take() {
            None => watch::ear(&self.namespace)?,
            Some(sight) => {
                if !sight.ear.was_told()? && sight.at.elapsed() < FRESH {
                    return Ok(Arc::clone(&self.sight.insert(sight).seen));
                }
                sight.ear
            }
        };
        let at = Instant::now();
        let seen = Arc::new(Seen::through(&mut self.door)?);
        self.sight = Some(Sight { ear, seen: Arc::clone(&seen), at });
        Ok(seen)
    }
}

/// What was found on a node.
pub struct Found {
    pub(crate) own: Arc<Seen>,
    /// Of the uplinks, which are in the node's own namespace.
    pub(crate) queues: Vec<Queues>,
    pub(crate) vrfs: Vec<Room>,
    /// Rules that nobody planned, where VRFs are devices.
    pub(crate) rules: Vec<Rule>,
    /// Where the packet program stands.
    pub(crate) standing: BTreeSet<Stand>,
    /// Whether names of links are left that lead to no interface any more.
    pub has_lost_links: bool,
}

/// A VRF.
pub(crate) struct Room {
    pub(crate) name: String,
    /// What its device is not supposed to be, in words; nothing if VRFs are namespaces.
    pub(crate) oddities: String,
    pub(crate) seen: Arc<Seen>,
}

/// The VRF, or none for the node's own namespace; the hook; the interface's number there.
type Stand = (Option<String>, String, u32);

impl Found {
    /// What it holds, in the words of dialect `linux`.
    #[must_use]
    pub fn linux(&self) -> String {
        say::linux(self)
    }

    /// Where an interface is, and its number: in a VRF, or in none.
    #[must_use]
    pub fn interface(&self, name: &str) -> Option<(Option<&str>, u32)> {
        self.all().find_map(|(vrf, seen)| {
            let found = seen.interfaces.iter().find(|interface| interface.name == name)?;
            Some((vrf, found.index))
        })
    }

    /// The number of an interface in a VRF.
    #[must_use]
    pub fn interface_in(&self, vrf: &str, name: &str) -> Option<u32> {
        let interface = self.inside(vrf).find(|interface| interface.name == name)?;
        Some(interface.index)
    }

    /// What an interface is called: a port, and one that is judged before one that only has the same
    /// number in another namespace.
    #[must_use]
    pub fn name(&self, index: u32) -> Option<String> {
        let mut named: Vec<(bool, &str)> = self
            .all()
            .filter_map(|(vrf, seen)| Some((vrf, seen.interface(index)?)))
            .filter(|(_, interface)| matches!(interface.kind, Kind::Other))
            .map(|(vrf, port)| (self.judged(vrf, &["workload"], index), port.name.as_str()))
            .collect();
        named.sort_by_key(|(is_judged, _)| !is_judged);
        named.first().map(|(_, name)| (*name).to_owned())
    }

    /// The ports in a VRF: what was not made there and has to leave before it ends.
    pub fn ports(&self, vrf: &str) -> impl Iterator<Item = (&str, u32)> {
        self.inside(vrf)
            .filter(|interface| matches!(interface.kind, Kind::Other))
            .map(|interface| (interface.name.as_str(), interface.index))
    }

    /// The bridges and tunnels in a VRF, tunnels first.
    pub fn made(&self, vrf: &str) -> impl Iterator<Item = (&str, u32)> {
        let tunnels =
            self.inside(vrf).filter(|interface| matches!(interface.kind, Kind::Tunnel(_)));
        let bridges =
            self.inside(vrf).filter(|interface| matches!(interface.kind, Kind::Bridge(_)));
        tunnels.chain(bridges).map(|interface| (interface.name.as_str(), interface.index))
    }

    fn inside(&self, vrf: &str) -> impl Iterator<Item = &Interface> {
        let rooms = self.vrfs.iter().filter(move |room| room.name == vrf);
        rooms.flat_map(|room| &room.seen.interfaces)
    }

    /// Whether an interface in a VRF, or in none, is up.
    #[must_use]
    pub fn is_up(&self, vrf: Option<&str>, index: u32) -> bool {
        let here = self.all().filter(|(at, _)| *at == vrf);
        here.filter_map(|(_, seen)| seen.interface(index)).any(|interface| interface.is_up)
    }

    /// Whether interfaces of several namespaces have this number.
    #[must_use]
    pub fn is_shared(&self, index: u32) -> bool {
        self.numbered(index).count() > 1
    }

    /// What an interface is called that is named in a VRF, or in none. Where VRFs are devices it may
    /// be in another.
    pub(crate) fn name_in(&self, vrf: Option<&str>, index: u32) -> &str {
        let here = self.numbered(index).find(|(at, _)| *at == vrf);
        here.or_else(|| self.numbered(index).next()).map_or("gone", |(_, name)| name)
    }

    /// The interfaces with this number: where they are and what they are called.
    fn numbered(&self, index: u32) -> impl Iterator<Item = (Option<&str>, &str)> {
        self.all().filter_map(move |(vrf, seen)| Some((vrf, seen.interface(index)?.name.as_str())))
    }

    /// Whether the packet program stands at all these hooks of an interface in a VRF, or in none.
    #[must_use]
    pub fn judged(&self, vrf: Option<&str>, hooks: &[&str], index: u32) -> bool {
        let stand = |hook: &str| (vrf.map(str::to_owned), hook.to_owned(), index);
        hooks.iter().all(|hook| self.standing.contains(&stand(hook)))
    }

    /// What the packet program holds, in the words of dialect `table`; none if it has no policy.
    pub fn table(&self, place: &Place) -> Result<Option<String>, Trouble> {
        let Some(bytes) = Kernel::held_at(&place.filter)? else { return Ok(None) };
        let name = |index| self.name(index);
        filter::say(Tables::new(&bytes), &name).map(Some).map_err(|_| Trouble::Table)
    }

    fn all(&self) -> impl Iterator<Item = (Option<&str>, &Seen)> {
        let vrfs = self.vrfs.iter().map(|room| (Some(room.name.as_str()), &*room.seen));
        std::iter::once((None, &*self.own)).chain(vrfs)
    }
}

fn names(folder: &Path) -> Result<BTreeSet<String>, Trouble> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
        entries => entries.map_err(Trouble::file(folder))?,
    };
    let mut names = BTreeSet::new();
    for entry in entries {
        let name = entry.map_err(Trouble::file(folder))?.file_name();
        names.extend(name.into_string());
    }
    Ok(names)
}

/// The namespace with this name; none if nothing is mounted there (any more).
fn namespace(path: &Path) -> Result<Option<(u64, File)>, Trouble> {
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file.map_err(Trouble::file(path))?,
    };
    let about = fstatfs(&file).map_err(|errno| Trouble::file(path)(errno.into()))?;
    if about.filesystem_type() != NSFS {
        return Ok(None);
    }
    let inode = file.metadata().map_err(Trouble::file(path))?.ino();
    Ok(Some((inode, file)))
}
