//! What joins several nodes: NVLink domains, memory channels, InfiniBand partitions; and whether
//! all of a job is joined.

use std::collections::BTreeMap;

use model::{DeviceId, Dialect, Guid, JobName, Name, NodeId, PodId, Share};
use read::Hold;
use smallvec::SmallVec;

use super::finding::bits;
use super::found::Findings;
use super::node::{Seat, add_seats};
use super::{Atom, Lack, LayerPlace, LayerWeakness, Member, Named, Owner, Spot, Strength};
use crate::device::At;
use crate::verifier::{JobId, Verifier};
use crate::weakness::Weakness;

/// The partition that every port of a fabric is in, by which the subnet manager reaches it.
pub(super) const DEFAULT_KEY: u16 = 0x7fff;

/// The memory channel that software takes when nobody chose one.
const DEFAULT_CHANNEL: u16 = 0;

/// The keys of some ports of one node and the lines that say so: nearly always one.
type Joins = (SmallVec<[u16; 1]>, SmallVec<[At; 1]>);

impl Verifier {
    pub(super) fn judge_linked(&self, device: DeviceId, partition: u16, found: &mut Findings<'_>) {
        let mut all: Vec<Seat<'_>> = Vec::new();
        for (hold, at) in self.lines(&Spot::Linked(device, partition)) {
            let Hold::Linked { node, gpus, .. } = hold else { continue };
            let Some(&node) = self.layers.names.get(node) else { continue };
            for gpu in bits(*gpus) {
                add_seats(&Atom::Gpu { node, gpu }, self.owners_on(node, gpu), at, &mut all);
            }
        }
        if !all.is_empty() && all.iter().all(|seat| seat.owner.is_none()) {
            let ats: Vec<At> = all.iter().map(|seat| seat.at).collect();
            found.open(device, LayerWeakness::LeftoverPartition { partition }, ats);
        }
        self.meet(&LayerPlace::Partition { device, partition }, &all, &[], found);
    }

    /// Whoever was given a channel or may open its file can use it.
    pub(super) fn judge_channel(&self, domain: &Name, channel: u16, found: &mut Findings<'_>) {
        let mut holders: BTreeMap<&JobName, (NodeId, At)> = BTreeMap::new();
        for (hold, at) in self.lines(&Spot::Channel(domain.clone(), channel)) {
            let (Hold::Channel { job, .. } | Hold::Opens { job, .. }) = hold else { continue };
            let device = self.sheets[at.sheet as usize].device;
            let Some(node) = self.world.fleet.node_of(device) else { continue };
            holders.entry(job).or_insert((node, at));
        }
        let holders: Vec<(&JobName, (NodeId, At))> = holders.into_iter().collect();
        for (job, (node, at)) in holders.iter().filter(|_| channel == DEFAULT_CHANNEL) {
            let job = JobName::clone(job);
            let device = self.world.fleet.node_device(*node);
            found.open(device, LayerWeakness::DefaultChannel { job }, [*at]);
        }
        // Their grades decide, which change without a word about the channel.
        found.looked_elsewhere = holders.len() > 1;
        for (place, (job, (node, at))) in holders.iter().enumerate() {
            let meets = |(other, _): &&(&JobName, _)| !self.may_join(Some(other), Some(job));
            let Some((other, (other_node, other_at))) = holders[..place].iter().find(meets) else {
                continue;
            };
            let member = |job: &JobName, node| Member {
                atom: Atom::Node(node),
                owner: Owner::Job(job.clone()),
            };
            let pair = (member(other, *other_node), member(job, *node));
            let place = LayerPlace::Channel { domain: domain.clone(), channel };
            found.breach(place, pair, Strength::Data, [*other_at, *at]);
        }
    }

    /// A full member speaks with everybody in the partition, a limited one only with full ones.
    pub(super) fn judge_key(&self, device: DeviceId, pkey: u16, found: &mut Findings<'_>) {
        let mut members: Vec<(Seat<'_>, bool)> = Vec::new();
        let mut seats = Vec::new();
        let mut everybody: Vec<(bool, At)> = Vec::new();
        let mut limited: Vec<(Guid, At)> = Vec::new();
        for (hold, at) in self.lines(&Spot::Key(device, pkey)) {
            match hold {
                Hold::Member { guid, full, .. } => {
                    limited.extend((!full).then_some((*guid, at)));
                    self.add_port_seats(*guid, at, &mut seats);
                    members.extend(seats.drain(..).map(|seat| (seat, *full)));
                }
                Hold::EveryMember { full, .. } => everybody.push((*full, at)),
                _ => {}
            }
        }
        self.judge_twice(device, pkey, &limited, found);
        if pkey == DEFAULT_KEY && everybody.is_empty() && self.is_heard(device, Dialect::Pkey) {
            let what = format!("InfiniBand partition {pkey:#06x}");
            let (held, planned) = ("unknown".into(), "that every port is in it".into());
            let text = format!("{what} with every port");
            let weakness = LayerWeakness::Drift { what, held, planned };
            found.absent((device, Dialect::Pkey), text, weakness, []);
        }
        let full = members.iter().filter(|(_, full)| *full).map(|(seat, _)| seat.at);
        let open: Vec<At> = everybody.iter().filter(|(full, _)| *full).map(|(_, at)| *at).collect();
        let with_full: Vec<At> = full.collect();
        if !everybody.is_empty()
            && (pkey != DEFAULT_KEY || !open.is_empty() || !with_full.is_empty())
        {
            let ats = everybody.iter().map(|(_, at)| *at).chain(with_full.iter().copied().take(1));
            found.open(device, LayerWeakness::OpenKey { pkey }, ats);
        }
        if !members.is_empty() && members.iter().all(|(seat, _)| seat.owner.is_none()) {
            let ats = members.iter().map(|(seat, _)| seat.at);
            found.open(device, LayerWeakness::LeftoverKey { pkey }, ats);
        }
        if with_full.is_empty() {
            return;
        }
        // Full members first: two limited ones do not meet.
        members.sort_by_key(|(_, full)| !full);
        let count = with_full.len();
        let place = LayerPlace::Key { device, pkey };
        let seats: Vec<Seat<'_>> = members.into_iter().map(|(seat, _)| seat).collect();
        let (full, limited) = seats.split_at(count);
        let full_owner = full[0].owner;
        if full.iter().any(|seat| seat.owner != full_owner) {
            self.meet(&place, full, &[], found);
        }
        for seat in limited {
            let Some(other) = full.iter().find(|other| !self.are_one(other, seat)) else {
                continue;
            };
            let pair = (other.member(), seat.member());
            found.breach(place.clone(), pair, Strength::Data, [other.at, seat.at]);
            break;
        }
    }

    /// Of two memberships of one port the subnet manager believes the last, wherever it stands.
    fn judge_twice(
        &self,
        device: DeviceId,
        pkey: u16,
        limited: &[(Guid, At)],
        found: &mut Findings<'_>,
    ) {
        if limited.is_empty() {
            return;
        }
        let spot = Spot::Key(device, pkey);
        for (hold, at) in self.lines(&spot) {
            let Hold::Member { guid, full: true, .. } = hold else { continue };
            let Some((_, other)) = limited.iter().find(|(limited, _)| limited == guid) else {
                continue;
            };
            let weakness = Weakness::Contradiction {
                what: "how a port is a member of a partition",
                first: hold.to_string(),
                second: Hold::Member { pkey, guid: *guid, full: false }.to_string(),
            };
            found.weak(Some(device), weakness, [at, *other]);
        }
    }

    fn are_one(&self, a: &Seat<'_>, b: &Seat<'_>) -> bool {
        a.owner == b.owner || self.may_join(a.owner, b.owner)
    }

    fn add_port_seats<'a>(&'a self, guid: Guid, at: At, seats: &mut Vec<Seat<'a>>) {
        match self.layers.nic_of(guid) {
            Some((node, nic)) => {
                let owners = self.owners_of_port(node, nic);
                add_seats(&Atom::Nic { node, nic }, owners, at, seats);
            }
            None => add_seats(&Atom::Port(guid), std::iter::empty(), at, seats),
        }
    }
}

/// What is judged over all nodes of a job.
impl Verifier {
    pub(super) fn judge_job_layers(&self, job: JobId, found: &mut Findings<'_>) {
        let none = BTreeMap::new();
        let nodes = self.layers.job_nodes.get(&job).unwrap_or(&none);
        self.judge_job_keys(job, nodes, found);
        self.judge_job_links(job, nodes, found);
        self.judge_job_channels(job, nodes, found);
        self.judge_reservation(job, nodes, found);
        self.judge_cluster_guest(job, nodes, found);
        self.judge_pods_of(job, nodes, found);
        self.judge_pods(job, nodes, found);
    }

    /// All interfaces of a job in a pod are full members of one partition.
    fn judge_job_keys(
        &self,
        job: JobId,
        nodes: &BTreeMap<NodeId, Share>,
        found: &mut Findings<'_>,
    ) {
        let mut pods: BTreeMap<PodId, Vec<(NodeId, Joins)>> = BTreeMap::new();
        for (node, share) in nodes {
            let at = &self.world.fleet.nodes[node.index()];
            let Some(manager) = self.layers.managers.subnets.get(&at.pod) else { continue };
            let mut missing = 0;
            for nic in bits(share.nics) {
                if usize::from(nic) >= at.uplinks.len() {
                    continue;
                }
                let joins = self.keys_of(*manager, *node, nic);
                if joins.0.is_empty() {
                    missing |= 1 << nic;
                } else {
                    pods.entry(at.pod).or_default().push((*node, joins));
                }
            }
            if missing != 0 {
                let owner = Owner::Job(self.job_name(job).clone());
                let lacks = Lack::Some(Named::Nics(missing));
                found.severed(Dialect::Pkey, owner, Some(*node), lacks, []);
            }
        }
        for ports in pods.into_values() {
            self.judge_joint(Dialect::Pkey, job, ports, found);
        }
    }

    /// The partitions besides the default one that a port is a full member of.
    fn keys_of(&self, manager: DeviceId, node: NodeId, nic: u16) -> Joins {
        let mut joins = Joins::default();
        for (hold, at) in self.keyed(node, nic) {
            let by = self.sheets[at.sheet as usize].device;
            if let Hold::Member { pkey, full: true, .. } = hold
                && *pkey != DEFAULT_KEY
                && by == manager
            {
                joins.0.push(*pkey);
                joins.1.push(at);
            }
        }
        joins
    }

    /// All GPUs of a job in an NVLink domain of several nodes are in one partition.
    fn judge_job_links(
        &self,
        job: JobId,
        nodes: &BTreeMap<NodeId, Share>,
        found: &mut Findings<'_>,
    ) {
        let mut domains: BTreeMap<&Name, Vec<(NodeId, Joins)>> = BTreeMap::new();
        for (node, share) in nodes {
            let domain = &self.world.fleet.nodes[node.index()].nvlink_domain;
            if !self.layers.managers.nvlink.contains_key(domain) {
                continue;
            }
            let mut joins = Joins::default();
            for (hold, at) in self.told(*node) {
                if let Hold::Linked { partition, gpus, .. } = hold
                    && gpus & share.gpus != 0
                {
                    joins.0.push(*partition);
                    joins.1.push(at);
                }
            }
            if !joins.0.is_empty() {
                domains.entry(domain).or_default().push((*node, joins));
            }
        }
        for nodes in domains.into_values() {
            self.judge_joint(Dialect::Nvlink, job, nodes, found);
        }
    }

    /// A job has one memory channel in an NVLink domain.
    fn judge_job_channels(
        &self,
        job: JobId,
        nodes: &BTreeMap<NodeId, Share>,
        found: &mut Findings<'_>,
    ) {
        let name = self.job_name(job);
        let mut domains: BTreeMap<&Name, Vec<(NodeId, Joins)>> = BTreeMap::new();
        for node in nodes.keys() {
            let at = &self.world.fleet.nodes[node.index()];
            if at.nvlink_domain == at.name {
                continue;
            }
            let mut joins = Joins::default();
            for (hold, line) in self.own_lines(*node, Dialect::Imex) {
                if let Hold::Channel { job, channel } = hold
                    && job == name
                {
                    joins.0.push(*channel);
                    joins.1.push(line);
                }
            }
            if !joins.0.is_empty() {
                domains.entry(&at.nvlink_domain).or_default().push((*node, joins));
            }
        }
        for nodes in domains.into_values() {
            self.judge_joint(Dialect::Imex, job, nodes, found);
        }
    }

    /// Finds the first node that is in nothing that all before it are in.
    fn judge_joint(
        &self,
        layer: Dialect,
        job: JobId,
        nodes: Vec<(NodeId, Joins)>,
        found: &mut Findings<'_>,
    ) {
        let mut nodes = nodes.into_iter();
        let Some((first, (mut common, first_ats))) = nodes.next() else {
            return;
        };
        for (node, (keys, ats)) in nodes {
            common.retain(|key| keys.contains(key));
            if common.is_empty() {
                let mut parted = vec![first, node];
                parted.dedup();
                let lacks = Lack::Joint(Named::Nodes(parted));
                let owner = Owner::Job(self.job_name(job).clone());
                found.severed(layer, owner, None, lacks, first_ats.into_iter().chain(ats));
                return;
            }
        }
    }

    /// A node's own lines of one dialect.
    pub(super) fn own_lines(
        &self,
        node: NodeId,
        dialect: Dialect,
    ) -> impl Iterator<Item = (&Hold, At)> {
        let sheets = self.layers.sheets[node.index()].iter();
        let sheets = sheets.filter(move |id| self.sheets[**id as usize].dialect == dialect);
        sheets.flat_map(|id| {
            self.sheets[*id as usize].claims.iter().filter_map(|claim| match &claim.fact {
                read::Fact::Holds(hold) => Some((hold, At { sheet: *id, line: claim.line })),
                _ => None,
            })
        })
    }
}
