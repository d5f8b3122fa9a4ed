//! All devices of a fleet in their order, each with its turns in the pools.

use std::collections::BTreeMap;

use model::{
    Enforcement, Health, Name, NodeModelId, Pod, PodId, Site, SiteId, SwitchDialect, SwitchId,
    SwitchRole, Versions,
};
use smol_str::{SmolStr, format_smolstr};

use super::models::{NvlinkDomain, PodModel};
use super::spec::{self, NodeSpec, Own, PodContent, PodSpec, Spec, SwitchSpec};
use crate::Problem;
use crate::document::refuse_duplicate;
use crate::form;
use crate::refusal::Refusals;
use crate::tree::{At, Pos};

#[derive(Default)]
pub(super) struct Draft {
    pub(super) sites: Vec<Site>,
    pub(super) pods: Vec<Pod>,
    pub(super) switches: Vec<DraftSwitch>,
    pub(super) nodes: Vec<DraftNode>,
    pub(super) links: Vec<DraftLink>,
    pub(super) turns: Turns,
    places: BTreeMap<Name, Device>,
}

pub(super) struct DraftSwitch {
    pub(super) name: Name,
    pub(super) pos: Pos,
    pub(super) site: SiteId,
    pub(super) pod: Option<PodId>,
    pub(super) role: SwitchRole,
    pub(super) dialect: SwitchDialect,
    pub(super) own: Own,
    pub(super) loopback_turn: u32,
    pub(super) asn_turn: u32,
}

pub(super) struct DraftNode {
    pub(super) name: Name,
    pub(super) pod: PodId,
    pub(super) rack: Name,
    pub(super) model: NodeModelId,
    pub(super) nvlink_domain: Name,
    pub(super) versions: Versions,
    pub(super) health: Health,
    pub(super) enforcement: Enforcement,
    pub(super) leaf: SwitchId,
    pub(super) own: Own,
    pub(super) loopback_turn: u32,
    pub(super) asn_turn: u32,
    /// The turns of its interfaces follow each other.
    pub(super) cable_turn: u32,
    pub(super) nic_turn: u32,
}

/// A cable between two switches, the lower one first.
pub(super) struct DraftLink {
    pub(super) lower: SwitchId,
    pub(super) upper: SwitchId,
    pub(super) cable_turn: u32,
}

/// How many turns of each pool were given.
#[derive(Clone, Copy, Default)]
pub(super) struct Turns {
    pub(super) loopbacks: u32,
    pub(super) asns: u32,
    pub(super) cables: u32,
    pub(super) nics: u32,
}

#[derive(Clone, Copy)]
struct Device {
    pos: Pos,
    kind: DeviceKind,
}

#[derive(Clone, Copy)]
enum DeviceKind {
    Switch(usize),
    Node(usize),
    Pod,
}

/// The largest fleet that is expanded: about twenty times what one controller should hold.
const MOST_NODES: u64 = 1 << 18;
const MOST_SWITCHES: u64 = 1 << 17;
const MOST_CABLES: u64 = 1 << 22;

/// None when the fleet is too large to be expanded, which is refused with the figure.
pub(super) fn draft(spec: &Spec, out: &mut Refusals) -> Option<Draft> {
    Size::of(spec).check(spec.pos(), out)?;
    let mut draft = Draft::default();
    let mut names: BTreeMap<&Name, Pos> = BTreeMap::new();
    for site in &spec.sites {
        let (name, pos) = (&site.name.value, site.name.pos);
        match names.insert(name, pos) {
            Some(first) => refuse_duplicate("site", name, pos, first, out),
            None => draft.add_site(site, spec, out),
        }
    }
    Some(draft)
}

/// How much a fleet will be, before any of it is made.
#[derive(Default)]
struct Size {
    nodes: u64,
    switches: u64,
    cables: u64,
}

impl Size {
    fn of(spec: &Spec) -> Self {
        let mut size = Self::default();
        for site in &spec.sites {
            let cores = u64::from(site.cores);
            size.add(1, 0, cores, 0);
            for pod in &site.pods {
                size.add_pod(pod, cores, spec);
            }
        }
        size
    }

    fn add_pod(&mut self, pod: &PodSpec, cores: u64, spec: &Spec) {
        let nics_of = |id: NodeModelId| spec.models.nodes[id.index()].nics.len() as u64;
        match &pod.content {
            PodContent::Modelled { model, count } => {
                let nodes = u64::from(model.racks) * u64::from(model.rack.nodes);
                let (leaves, spines) = (u64::from(model.leaves()), u64::from(model.spines));
                let nics = nodes * nics_of(model.rack.model);
                let cables = nics.saturating_add(spines * (leaves + cores));
                self.add(u64::from(count.unwrap_or(1)), nodes, leaves + spines, cables);
            }
            PodContent::Listed { leaves, spines, nodes } => {
                let nics: u64 = nodes.iter().map(|node| nics_of(node.model)).sum();
                let (leaves, spines) = (leaves.len() as u64, spines.len() as u64);
                let cables = nics + spines * (leaves + cores);
                self.add(1, nodes.len() as u64, leaves + spines, cables);
            }
        }
    }

    fn add(&mut self, times: u64, nodes: u64, switches: u64, cables: u64) {
        let add = |sum: &mut u64, one: u64| *sum = sum.saturating_add(one.saturating_mul(times));
        add(&mut self.nodes, nodes);
        add(&mut self.switches, switches);
        add(&mut self.cables, cables);
    }

    fn check(&self, pos: Pos, out: &mut Refusals) -> Option<()> {
        let figures = [
            ("nodes", self.nodes, MOST_NODES),
            ("switches", self.switches, MOST_SWITCHES),
            ("cables", self.cables, MOST_CABLES),
        ];
        let mut fits = Some(());
        for (what, count, most) in figures {
            if count > most {
                out.refuse(pos, Problem::TooMany { what, count, most });
                fits = None;
            }
        }
        fits
    }
}

impl Draft {
    fn add_site(&mut self, site: &spec::Site, spec: &Spec, out: &mut Refusals) {
        let id = SiteId(self.sites.len() as u32);
        self.sites.push(Site {
            name: site.name.value.clone(),
            jurisdiction: site.jurisdiction.clone(),
            kind: site.kind,
        });
        let asn_turn = take(&mut self.turns.asns, 1);
        let mut cores = Vec::new();
        for number in 1..=site.cores {
            let name = format_smolstr!("{}-core-{number}", site.name.value);
            let core = SwitchPlace {
                site: id,
                pod: None,
                role: SwitchRole::Core,
                asn_turn: Some(asn_turn),
            };
            cores.extend(self.add_generated(name, site.name.pos, site.core_dialect, core, out));
        }
        for pod in &site.pods {
            let numbers = match &pod.content {
                PodContent::Modelled { count: Some(count), .. } => 1..=*count,
                _ => 0..=0,
            };
            let name = format_smolstr!("{}-{}", site.name.value, pod.name.value);
            for number in numbers {
                // Number 0 is a pod without a number.
                let value = match number {
                    0 => name.clone(),
                    _ => format_smolstr!("{name}-{number}"),
                };
                let pos = pod.name.pos;
                self.add_pod(&At { value, pos }, id, &pod.content, &cores, spec, out);
            }
        }
    }

    fn add_pod(
        &mut self,
        name: &At<SmolStr>,
        site: SiteId,
        content: &PodContent,
        cores: &[SwitchId],
        spec: &Spec,
        out: &mut Refusals,
    ) {
        let pos = name.pos;
        let Some(name) = form::name::<Name>(name, out) else {
            return;
        };
        let id = PodId(self.pods.len() as u32);
        if !self.register(&name, pos, DeviceKind::Pod, out) {
            return;
        }
        self.pods.push(Pod { name: name.clone(), site });
        let mut growth = PodGrowth { draft: self, id, site, name, pos, spec, out };
        match content {
            PodContent::Modelled { model, .. } => growth.add_modelled(model, cores),
            PodContent::Listed { leaves, spines, nodes } => {
                growth.add_listed(leaves, spines, nodes, cores)
            }
        }
    }

    fn add_generated(
        &mut self,
        name: SmolStr,
        pos: Pos,
        dialect: SwitchDialect,
        place: SwitchPlace,
        out: &mut Refusals,
    ) -> Option<SwitchId> {
        let value = form::name(&At { value: name, pos }, out)?;
        let switch = SwitchSpec { name: At { value, pos }, dialect, own: Own::default() };
        self.add_switch(&switch, place, out)
    }

    fn add_switch(
        &mut self,
        switch: &SwitchSpec,
        place: SwitchPlace,
        out: &mut Refusals,
    ) -> Option<SwitchId> {
        let (name, pos) = (&switch.name.value, switch.name.pos);
        let kind = DeviceKind::Switch(self.switches.len());
        let id = SwitchId(self.switches.len() as u32);
        let loopback_turn = take(&mut self.turns.loopbacks, 1);
        let asn_turn = match place.asn_turn {
            Some(turn) => turn,
            None => take(&mut self.turns.asns, 1),
        };
        if !self.register(name, pos, kind, out) {
            return None;
        }
        self.switches.push(DraftSwitch {
            name: name.clone(),
            pos,
            site: place.site,
            pod: place.pod,
            role: place.role,
            dialect: switch.dialect,
            own: switch.own,
            loopback_turn,
            asn_turn,
        });
        Some(id)
    }

    /// Names are unique over all devices and pods: commands and findings take any of them.
    fn register(&mut self, name: &Name, pos: Pos, kind: DeviceKind, out: &mut Refusals) -> bool {
        if let Some(first) = self.places.get(name) {
            let word = match kind {
                DeviceKind::Switch(_) => "switch",
                DeviceKind::Node(_) => "node",
                DeviceKind::Pod => "pod",
            };
            refuse_duplicate(word, name, pos, first.pos, out);
            return false;
        }
        self.places.insert(name.clone(), Device { pos, kind });
        true
    }

    pub(super) fn switch_named(&mut self, name: &Name) -> Option<&mut DraftSwitch> {
        match self.places.get(name)?.kind {
            DeviceKind::Switch(place) => self.switches.get_mut(place),
            DeviceKind::Node(_) | DeviceKind::Pod => None,
        }
    }

    pub(super) fn node_named(&mut self, name: &Name) -> Option<&mut DraftNode> {
        match self.places.get(name)?.kind {
            DeviceKind::Node(place) => self.nodes.get_mut(place),
            DeviceKind::Switch(_) | DeviceKind::Pod => None,
        }
    }

    pub(super) fn switch_names(&self) -> impl Iterator<Item = &str> {
        self.switches.iter().map(|switch| switch.name.as_str())
    }

    pub(super) fn node_names(&self) -> impl Iterator<Item = &str> {
        self.nodes.iter().map(|node| node.name.as_str())
    }
}

/// Where a switch stands. The switches of a layer share an AS when they share its turn.
#[derive(Clone, Copy)]
struct SwitchPlace {
    site: SiteId,
    pod: Option<PodId>,
    role: SwitchRole,
    asn_turn: Option<u32>,
}

fn take(turns: &mut u32, count: u32) -> u32 {
    let first = *turns;
    *turns += count;
    first
}

/// One pod while its devices are added.
struct PodGrowth<'a> {
    draft: &'a mut Draft,
    id: PodId,
    site: SiteId,
    name: Name,
    pos: Pos,
    spec: &'a Spec,
    out: &'a mut Refusals,
}

impl PodGrowth<'_> {
    fn add_modelled(&mut self, model: &PodModel, cores: &[SwitchId]) {
        let spines = self.generated("spine", model.spines, model.ways.spine);
        let leaves = self.generated("leaf", model.leaves(), model.ways.leaf);
        let leaves = self.add_switches(&leaves, &spines, cores);
        // A missing leaf was refused: there is nothing to plug nodes into.
        if leaves.len() == model.leaves() as usize {
            for rack in 0..model.racks {
                let leaf = leaves[(rack / model.racks_per_leaf) as usize];
                self.add_rack(rack + 1, model, leaf);
            }
        }
    }

    fn generated(&mut self, word: &str, count: u32, dialect: SwitchDialect) -> Vec<SwitchSpec> {
        let pos = self.pos;
        let one = |number| {
            let value = format_smolstr!("{}-{word}-{number}", self.name);
            let value = form::name(&At { value, pos }, self.out)?;
            Some(SwitchSpec { name: At { value, pos }, dialect, own: Own::default() })
        };
        (1..=count).filter_map(one).collect()
    }

    fn add_rack(&mut self, number: u32, model: &PodModel, leaf: SwitchId) {
        let pos = self.pos;
        let value = format_smolstr!("{}-r{number:02}", self.name);
        let Some(rack) = form::name::<Name>(&At { value, pos }, self.out) else {
            return;
        };
        let versions = &self.spec.models.nodes[model.rack.model.index()].versions;
        for place in 1..=model.rack.nodes {
            let value = format_smolstr!("{rack}-n{place:02}");
            let Some(name) = form::name::<Name>(&At { value, pos }, self.out) else {
                return;
            };
            let node = NodeSpec {
                name: At { value: name, pos },
                model: model.rack.model,
                leaf: 0,
                rack: None,
                nvlink: model.rack.nvlink,
                enforcement: model.ways.enforcement,
                health: Health::Good,
                versions: versions.clone(),
                own: Own::default(),
            };
            self.add_node(&node, &rack, leaf);
        }
    }

    fn add_listed(
        &mut self,
        leaves: &[SwitchSpec],
        spines: &[SwitchSpec],
        nodes: &[NodeSpec],
        cores: &[SwitchId],
    ) {
        let ids = self.add_switches(leaves, spines, cores);
        if ids.len() < leaves.len() {
            return;
        }
        for node in nodes {
            // A rack is named inside its pod; a node that names none stands in its leaf's.
            let word = match &node.rack {
                Some(rack) => rack.as_str(),
                None => leaves[node.leaf as usize].name.value.as_str(),
            };
            let rack = form::joined(&[self.name.as_str(), word], node.name.pos, self.out);
            if let Some(rack) = rack {
                self.add_node(node, &rack, ids[node.leaf as usize]);
            }
        }
    }

    /// Adds the switches of a pod and joins every spine with all leaves and cores; gives the
    /// leaves.
    fn add_switches(
        &mut self,
        leaves: &[SwitchSpec],
        spines: &[SwitchSpec],
        cores: &[SwitchId],
    ) -> Vec<SwitchId> {
        let place = SwitchPlace {
            site: self.site,
            pod: Some(self.id),
            role: SwitchRole::Spine,
            asn_turn: Some(take(&mut self.draft.turns.asns, 1)),
        };
        let spines = self.add_layer(spines, place);
        let place = SwitchPlace { role: SwitchRole::Leaf, asn_turn: None, ..place };
        let leaves = self.add_layer(leaves, place);
        self.join(&leaves, &spines);
        self.join(&spines, cores);
        leaves
    }

    fn add_layer(&mut self, switches: &[SwitchSpec], place: SwitchPlace) -> Vec<SwitchId> {
        switches
            .iter()
            .filter_map(|switch| self.draft.add_switch(switch, place, self.out))
            .collect()
    }

    fn join(&mut self, lowers: &[SwitchId], uppers: &[SwitchId]) {
        for &lower in lowers {
            for &upper in uppers {
                let cable_turn = take(&mut self.draft.turns.cables, 1);
                self.draft.links.push(DraftLink { lower, upper, cable_turn });
            }
        }
    }

    fn add_node(&mut self, node: &NodeSpec, rack: &Name, leaf: SwitchId) {
        let name = &node.name.value;
        let kind = DeviceKind::Node(self.draft.nodes.len());
        if !self.draft.register(name, node.name.pos, kind, self.out) {
            return;
        }
        let nics = self.spec.models.nodes[node.model.index()].nics.len() as u32;
        let turns = &mut self.draft.turns;
        self.draft.nodes.push(DraftNode {
            name: name.clone(),
            pod: self.id,
            rack: rack.clone(),
            model: node.model,
            nvlink_domain: match node.nvlink {
                NvlinkDomain::Node => name.clone(),
                NvlinkDomain::Rack => rack.clone(),
            },
            versions: node.versions.clone(),
            health: node.health,
            enforcement: node.enforcement,
            leaf,
            own: node.own,
            loopback_turn: take(&mut turns.loopbacks, 1),
            asn_turn: take(&mut turns.asns, 1),
            cable_turn: take(&mut turns.cables, nics),
            nic_turn: take(&mut turns.nics, nics),
        });
    }
}
