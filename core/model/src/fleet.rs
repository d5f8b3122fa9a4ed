//! What exists: sites, pods, nodes, switches and the cables between them.

use std::fmt;
use std::net::Ipv4Addr;

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;
use wire::Mac;

use crate::words::words;
use crate::{Asn, Dialect, Layers, Manager, Memory, Name, PciLayout, Port, Rate, mig_profiles};

/// Everything that exists, expanded from the models people write: each node, switch and link.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Fleet {
    /// What the document is called.
    pub name: SmolStr,
    /// The AS in front of every route target.
    pub target_asn: u16,
    /// Places, each under one law.
    pub sites: Vec<Site>,
    /// Fabric domains: leaves joined by spines. A job never leaves its pod.
    pub pods: Vec<Pod>,
    /// Kinds of nodes.
    pub node_models: Vec<NodeModel>,
    /// Machines with GPUs, in order of pod, rack and place in the rack.
    pub nodes: Vec<Node>,
    /// Leaves, spines and cores.
    pub switches: Vec<Switch>,
    /// Cables between switches.
    pub links: Vec<Link>,
    /// What a cable to the fabric carries. Where it is said, what is over it waits at Linux tunnel
    /// endpoints in a queue of its tenant.
    pub uplink_rate: Option<Rate>,
    /// The memories that must be scrubbed, with evidence, before anybody else gets a node's GPUs.
    pub scrub: Vec<Memory>,
    /// The layers besides the network.
    pub layers: Layers,
    /// What is configured for those layers beside the nodes themselves.
    pub managers: Vec<Manager>,
}

macro_rules! index {
    ($(#[$doc:meta] $name:ident)*) => {$(
        #[$doc]
        #[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub u32);

        impl $name {
            /// The position in the fleet's list.
            #[must_use]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}

index! {
    /// A site of this fleet.
    SiteId
    /// A pod of this fleet.
    PodId
    /// A kind of node of this fleet.
    NodeModelId
    /// A node of this fleet.
    NodeId
    /// A switch of this fleet.
    SwitchId
    /// Anything that is configured: first all switches, then all nodes, then all managers.
    DeviceId
}

/// What a device is.
#[derive(Clone, Copy, Debug)]
pub enum DeviceAt<'a> {
    /// A switch.
    Switch(&'a Switch),
    /// A node.
    Node(&'a Node),
    /// A manager.
    Manager(&'a Manager),
}

/// A place under one law.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Site {
    /// Its name.
    pub name: Name,
    /// Whose law holds there, such as `NL`.
    pub jurisdiction: SmolStr,
    /// Core or edge.
    pub kind: SiteKind,
}

/// What a site is for.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SiteKind {
    /// A data centre.
    Core,
    /// Near to users.
    Edge,
}

words! {
    SiteKind: "core" Core, "edge" Edge;
}

/// A fabric domain.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Pod {
    /// Its name, with the site in front.
    pub name: Name,
    /// Where it stands.
    pub site: SiteId,
}

/// A kind of node.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct NodeModel {
    /// What it is called in the document.
    pub name: Name,
    /// Its GPUs.
    pub gpu: GpuModel,
    /// How many GPUs it has.
    pub gpus: u16,
    /// The sets of GPUs that the board can join by NVLink, as module ids from 1: the GPU with
    /// number `g` is module `g + 1`. Nothing said is what the board is known for.
    pub partitions: Option<Vec<Vec<u16>>>,
    /// The IOMMU group of each GPU.
    pub gpu_groups: Vec<u16>,
    /// The NUMA node of each GPU.
    pub gpu_numa: Vec<u16>,
    /// Its interfaces in the compute fabric. The GPU with number `g` uses `g * nics / gpus`.
    pub nics: Vec<Nic>,
    /// Where they all sit on the PCI bus.
    pub pci: PciLayout,
    /// What runs on it unless the node says otherwise.
    pub versions: Versions,
}

/// A kind of GPU, such as `H100-80GB`, and its board, such as `HGX-H100/H200-8GPU`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct GpuModel {
    /// The product.
    pub product: SmolStr,
    /// The baseboard, whose table says which NVLink partitions can be.
    pub board: SmolStr,
}

/// A network interface of a kind of node.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Nic {
    /// Its speed in bits a second.
    pub rate_bps: u64,
    /// How many virtual functions it can have.
    pub vfs: u16,
    /// The NUMA node it hangs on.
    pub numa: u16,
    /// Its IOMMU group.
    pub iommu_group: u16,
}

/// What runs on a node.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Versions {
    /// The GPU driver.
    pub driver: SmolStr,
    /// The kernel.
    pub kernel: SmolStr,
    /// The board's firmware.
    pub firmware: SmolStr,
    /// The container toolkit.
    pub toolkit: SmolStr,
    /// Whether it booted securely.
    pub secure_boot: bool,
}

/// A machine with GPUs.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Node {
    /// Its name, unique in the fleet.
    pub name: Name,
    /// Its fabric domain.
    pub pod: PodId,
    /// Its rack.
    pub rack: Name,
    /// Its kind.
    pub model: NodeModelId,
    /// Which nodes its GPUs reach by NVLink: its own name for HGX, its rack's for NVL72.
    pub nvlink_domain: Name,
    /// What runs on it.
    pub versions: Versions,
    /// Whether work may be put on it.
    pub health: Health,
    /// Where its packets are judged.
    pub enforcement: Enforcement,
    /// Its own tunnel endpoint; present exactly when it is enforced on the host or DPU.
    pub vtep: Option<Vtep>,
    /// Where each of its interfaces is plugged in, in order.
    pub uplinks: Vec<Uplink>,
}

/// Whether work may be put on a node.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Health {
    /// It may.
    #[default]
    Good,
    /// What runs may go on; nothing new.
    Draining,
    /// Nothing.
    Failed,
}

/// Where an endpoint's packets are judged.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Enforcement {
    /// On the leaf switch it is plugged into.
    Leaf,
    /// By the packet program in the host's kernel.
    Host,
    /// By the packet program on the host's DPU.
    Dpu,
}

/// A tunnel endpoint and BGP speaker.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Vtep {
    /// Its loopback: tunnel source, router id and the first half of its route distinguishers.
    pub address: Ipv4Addr,
    /// Its autonomous system.
    pub asn: Asn,
}

/// Where one interface of a node is plugged in.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Uplink {
    /// The leaf.
    pub leaf: SwitchId,
    /// The leaf's port.
    pub port: Port,
    /// The interface's Ethernet address.
    pub mac: Mac,
    /// The leaf's address on this cable; the node has the next one (a /31, RFC 3021).
    /// Present exactly when the node is a tunnel endpoint itself.
    pub leaf_address: Option<Ipv4Addr>,
}

/// A switch.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Switch {
    /// Its name, unique in the fleet.
    pub name: Name,
    /// Where it stands.
    pub site: SiteId,
    /// Its pod; a core switch joins pods and has none.
    pub pod: Option<PodId>,
    /// What it does.
    pub role: SwitchRole,
    /// How it is configured.
    pub dialect: SwitchDialect,
    /// Its loopback and AS.
    pub vtep: Vtep,
}

/// What a switch does.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SwitchRole {
    /// Nodes are plugged into it.
    Leaf,
    /// Joins the leaves of a pod.
    Spine,
    /// Joins the pods of a site.
    Core,
}

/// How a switch is configured.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SwitchDialect {
    /// Linux with FRR, and the packet program where it is a tunnel endpoint.
    Frr,
    /// Cisco NX-OS.
    Nxos,
}

/// A cable between two switches.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Link {
    /// The lower end: the leaf, or the spine below a core.
    pub a: LinkEnd,
    /// The upper end.
    pub b: LinkEnd,
}

/// One end of a cable.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct LinkEnd {
    /// The switch.
    pub switch: SwitchId,
    /// Its port.
    pub port: Port,
    /// Its address; the two ends share a /31 (RFC 3021).
    pub address: Ipv4Addr,
}

impl NodeModel {
    /// The GPUs that use an interface: bit `g` for the GPU with number `g`.
    #[must_use]
    pub fn gpus_behind(&self, nic: u16) -> u64 {
        let nics = self.nics.len() as u64;
        let uses = |gpu: &u16| u64::from(*gpu) * nics / u64::from(self.gpus) == u64::from(nic);
        (0..self.gpus).filter(uses).fold(0, |set, gpu| set | 1 << gpu)
    }
}

impl Fleet {
    /// The device that is this switch.
    #[must_use]
    pub const fn switch_device(&self, switch: SwitchId) -> DeviceId {
        DeviceId(switch.0)
    }

    /// The device that is this node.
    #[must_use]
    pub const fn node_device(&self, node: NodeId) -> DeviceId {
        DeviceId(self.switches.len() as u32 + node.0)
    }

    /// The device that is this manager, by its position.
    #[must_use]
    pub const fn manager_device(&self, manager: usize) -> DeviceId {
        DeviceId((self.switches.len() + self.nodes.len() + manager) as u32)
    }

    /// What this device is.
    #[must_use]
    pub fn at(&self, device: DeviceId) -> DeviceAt<'_> {
        let (switches, nodes) = (self.switches.len(), self.nodes.len());
        match device.index() {
            at if at < switches => DeviceAt::Switch(&self.switches[at]),
            at if at < switches + nodes => DeviceAt::Node(&self.nodes[at - switches]),
            at => DeviceAt::Manager(&self.managers[at - switches - nodes]),
        }
    }

    /// The switch that is this device, if it is one.
    #[must_use]
    pub fn switch_at(&self, device: DeviceId) -> Option<&Switch> {
        self.switches.get(device.index())
    }

    /// The node that is this device, if it is one.
    #[must_use]
    pub fn node_of(&self, device: DeviceId) -> Option<NodeId> {
        let node = device.index().checked_sub(self.switches.len())?;
        (node < self.nodes.len()).then_some(NodeId(node as u32))
    }

    /// What a device is called.
    #[must_use]
    pub fn device_name(&self, device: DeviceId) -> &Name {
        match self.at(device) {
            DeviceAt::Switch(switch) => &switch.name,
            DeviceAt::Node(node) => &node.name,
            DeviceAt::Manager(manager) => &manager.name,
        }
    }

    /// How many devices there are, configured or not.
    #[must_use]
    pub fn device_count(&self) -> usize {
        self.switches.len() + self.nodes.len() + self.managers.len()
    }

    /// A device's loopback and AS, if it has them: a node that is enforced at its leaf has none.
    #[must_use]
    pub fn vtep(&self, device: DeviceId) -> Option<Vtep> {
        match self.at(device) {
            DeviceAt::Switch(switch) => Some(switch.vtep),
            DeviceAt::Node(node) => node.vtep,
            DeviceAt::Manager(_) => None,
        }
    }

    /// Every device that is configured: all switches and managers, and the nodes that are tunnel
    /// endpoints or have a layer of their own.
    pub fn devices(&self) -> impl Iterator<Item = DeviceId> {
        let all = (0..self.device_count() as u32).map(DeviceId);
        all.filter(|device| self.dialects(*device).next().is_some())
    }

    /// The dialects a device is configured in: those of the network, then those of its layers.
    pub fn dialects(&self, device: DeviceId) -> impl Iterator<Item = Dialect> {
        let layers = self.layers.dialects.iter().copied();
        let layers = layers.filter(move |&layer| self.speaks(device, layer));
        self.network_dialects(device).iter().copied().chain(layers)
    }

    /// The dialects a device is read in: those it is configured in, and one in which nodes only
    /// report.
    pub fn read_dialects(&self, device: DeviceId) -> impl Iterator<Item = Dialect> {
        let is_node = matches!(self.at(device), DeviceAt::Node(_));
        let reports = is_node && self.layers.dialects.contains(&Dialect::Attest);
        self.dialects(device).chain(reports.then_some(Dialect::Attest))
    }

    /// The dialects that a device's network is configured in.
    #[must_use]
    pub fn network_dialects(&self, device: DeviceId) -> &'static [Dialect] {
        match self.at(device) {
            DeviceAt::Switch(Switch { dialect: SwitchDialect::Nxos, .. }) => &[Dialect::Nxos],
            DeviceAt::Switch(Switch { role: SwitchRole::Leaf, .. })
            | DeviceAt::Node(Node { vtep: Some(_), .. }) => {
                &[Dialect::Frr, Dialect::Linux, Dialect::Table]
            }
            DeviceAt::Switch(_) => &[Dialect::Frr],
            DeviceAt::Node(_) | DeviceAt::Manager(_) => &[],
        }
    }

    /// Whether a device has something to say in the dialect of this layer.
    fn speaks(&self, device: DeviceId, layer: Dialect) -> bool {
        let node = match self.at(device) {
            DeviceAt::Switch(_) => return false,
            DeviceAt::Manager(manager) => return manager.kind.dialect() == layer,
            DeviceAt::Node(node) => node,
        };
        let gpu = &self.node_models[node.model.index()].gpu;
        match layer {
            Dialect::Vfio | Dialect::Versions | Dialect::Devices | Dialect::Vm | Dialect::Scrub => {
                true
            }
            Dialect::Mig => !mig_profiles(&gpu.product).is_empty(),
            Dialect::Amd => gpu.is_amd(),
            // Where NVLink joins several nodes, its partitions are the domain's and not the node's.
            Dialect::Nvlink => node.nvlink_domain == node.name && !gpu.is_amd(),
            Dialect::Imex => node.nvlink_domain != node.name,
            _ => false,
        }
    }

    /// Whether tunnel endpoints are plugged into this device. It carries their tunnels, so that no
    /// packet program stands at its cables: that would take only what is for the device itself.
    #[must_use]
    pub fn carries_tunnels(&self, device: DeviceId) -> bool {
        let Some(pod) = self.switch_at(device).and_then(|switch| switch.pod) else {
            return false;
        };
        // Nodes are listed by pod.
        let first = self.nodes.partition_point(|node| node.pod < pod);
        let here = self.nodes[first..].iter().take_while(|node| node.pod == pod);
        let mut uplinks = here.filter(|node| node.vtep.is_some()).flat_map(|node| &node.uplinks);
        uplinks.any(|uplink| self.switch_device(uplink.leaf) == device)
    }

    /// Whether tunnels of others depend on the routes that this switch passes on: spines and cores,
    /// and leaves with tunnel endpoints below.
    #[must_use]
    pub fn passes_on(&self, device: DeviceId) -> bool {
        let role = self.switch_at(device).map(|switch| switch.role);
        role.is_some_and(|role| role != SwitchRole::Leaf) || self.carries_tunnels(device)
    }

    /// Whether the packet program judges what comes out of the fabric at this device's cables.
    #[must_use]
    pub fn judges_cables(&self, device: DeviceId) -> bool {
        self.network_dialects(device).contains(&Dialect::Table) && !self.carries_tunnels(device)
    }

    /// All cables that routes are exchanged on: the devices and ports at their two ends.
    pub fn cables(&self) -> impl Iterator<Item = [(DeviceId, Port); 2]> {
        let between = self
            .links
            .iter()
            .map(|link| [link.a, link.b].map(|end| (self.switch_device(end.switch), end.port)));
        let to_hosts = self.nodes.iter().zip(0..).flat_map(move |(node, number)| {
            let uplinks = node.uplinks.iter().zip(0..);
            let routed = uplinks.filter(|(uplink, _)| uplink.leaf_address.is_some());
            routed.map(move |(uplink, nic)| {
                let leaf = (self.switch_device(uplink.leaf), uplink.port);
                [leaf, (self.node_device(NodeId(number)), Port::Nic(nic))]
            })
        });
        between.chain(to_hosts)
    }

    /// All interfaces, by where their packets are judged, with their Ethernet addresses.
    pub fn interfaces(&self) -> impl Iterator<Item = (DeviceId, Port, Mac)> {
        self.nodes.iter().zip(0..).flat_map(move |(node, number)| {
            node.uplinks.iter().zip(0..).map(move |(uplink, nic)| {
                let (device, port) = self.enforcement_point(NodeId(number), nic);
                (device, port, uplink.mac)
            })
        })
    }

    /// Where an interface's packets are judged: the device, and its port towards the interface.
    #[must_use]
    pub fn enforcement_point(&self, node: NodeId, nic: u16) -> (DeviceId, Port) {
        let node_at = &self.nodes[node.index()];
        match node_at.enforcement {
            Enforcement::Leaf => {
                let uplink = &node_at.uplinks[usize::from(nic)];
                (self.switch_device(uplink.leaf), uplink.port)
            }
            Enforcement::Host | Enforcement::Dpu => (self.node_device(node), Port::Rep(nic)),
        }
    }
}

impl fmt::Display for Enforcement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Leaf => "leaf",
            Self::Host => "host",
            Self::Dpu => "dpu",
        })
    }
}
