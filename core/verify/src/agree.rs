//! Whether the layers of a device agree with each other, and devices with one another.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use ipnet::Ipv4Net;
use model::{DeviceId, Dialect, Port, TenantName, VrfName};
use read::{Bridge, Scope};
use wire::{Tag, Vni};

use crate::device::{At, BridgeLines, PortState, Reach, Vrf};
use crate::index::VniUser;
use crate::islands::mate;
use crate::judge::Judgement;
use crate::layers::Owner;
use crate::verifier::Verifier;
use crate::weakness::Weakness;

impl Verifier {
    /// A tunnel comes from the device's own address, carries tags, learns nothing by itself, and
    /// what arrives by it is judged in the space of the VRF where it is routed.
    pub(crate) fn judge_tunnel(
        &self,
        device: DeviceId,
        vni: Vni,
        vrf: Option<&VrfName>,
        judgement: &mut Judgement,
    ) {
        let facts = self.facts(device);
        let tunnel = facts.tunnels.get(&vni).filter(|tunnel| !tunnel.ends.is_empty());
        let Some(tunnel) = tunnel else { return };
        if !tunnel.learns.is_empty() {
            self.weak(judgement, Some(device), Weakness::Learns(vni), tunnel.learns.ats());
        }
        if tunnel.tagged.is_empty() {
            self.weak(judgement, Some(device), Weakness::Untagged(vni), tunnel.ends.ats());
        }
        if let Some((from, at)) =
            tunnel.from.iter().find(|(from, _)| Some(from) != facts.vtep.first())
        {
            let weakness = Weakness::StrangeSource { vni, from: *from };
            self.weak(judgement, Some(device), weakness, [*at]);
        }
        let judges = self.world.fleet.network_dialects(device).contains(&Dialect::Table);
        if let Some(vrf) = vrf
            && judges
        {
            let spaces = facts.table.spaces.get(&vni);
            let agreed = spaces.is_some_and(|lines| lines.values().all(|space| space == vrf));
            if !agreed {
                let weakness = Weakness::StrangeSpace { vni, vrf: vrf.clone() };
                let ats = spaces.into_iter().flat_map(|lines| lines.ats());
                self.weak(judgement, Some(device), weakness, ats);
                if spaces.is_none() {
                    judgement.lacks(device, Dialect::Table, format!("space {vrf} vni {vni}"));
                }
            }
        }
    }

    /// A network is that of one cable, and a packet program judges what comes by it.
    pub(crate) fn judge_cables(&self, device: DeviceId, judgement: &mut Judgement) {
        let facts = self.facts(device);
        for (address, lines) in &facts.cables {
            self.contradiction(judgement, device, "the cable of an address", lines);
            for (port, at) in lines.iter() {
                if !self.world.cables[device.index()].contains_key(port) {
                    self.weak(judgement, Some(device), Weakness::StrangeCable(*port), [*at]);
                }
            }
            let theirs = facts.cables.get(&mate(*address)).filter(|_| *address < mate(*address));
            if let (Some((first, at)), Some((second, other))) =
                (lines.iter().next(), theirs.and_then(|lines| lines.iter().next()))
            {
                let weakness = Weakness::Contradiction {
                    what: "the cable of a network",
                    first: first.to_string(),
                    second: second.to_string(),
                };
                self.weak(judgement, Some(device), weakness, [*at, *other]);
            }
            let told = |port: &Port| facts.uplinks.contains_key(port) || facts.is_unfiltered(*port);
            let open = lines.iter().find(|(port, _)| !told(port));
            if let Some((port, at)) = open.filter(|_| self.world.judges_cables[device.index()]) {
                self.weak(judgement, Some(device), Weakness::OpenCable(*port), [*at]);
                judgement.lacks(device, Dialect::Linux, format!("uplink {port} mtu 9216 judged"));
            }
        }
    }

    /// A network of a VRF is that of one bridge domain: of two, either may get its packets. A switch
    /// would not take a second one.
    pub(crate) fn judge_networks(
        &self,
        device: DeviceId,
        bridges: &BTreeSet<Bridge>,
        judgement: &mut Judgement,
    ) {
        let mut seen: BTreeMap<Ipv4Net, &Bridge> = BTreeMap::new();
        let facts = self.facts(device);
        let lines = |bridge: &Bridge| facts.bridges.get(bridge);
        for bridge in bridges {
            for net in lines(bridge).into_iter().flat_map(BridgeLines::nets) {
                let first = *seen.entry(net).or_insert(bridge);
                if first == bridge {
                    continue;
                }
                let weakness = Weakness::Contradiction {
                    what: "the bridge domain of a network",
                    first: first.to_string(),
                    second: bridge.to_string(),
                };
                let both = [first, bridge].into_iter().filter_map(lines);
                let ats = both.flat_map(|lines| lines.gateway.ats());
                self.weak(judgement, Some(device), weakness, ats);
            }
        }
    }

    /// What a VRF sends to other tenants goes one way: of two that hold an address, either may be
    /// taken.
    pub(crate) fn judge_ways_out(&self, device: DeviceId, lines: &Vrf, judgement: &mut Judgement) {
        let mut ways: Vec<&(Reach, At)> = lines.reaches.iter().collect();
        ways.sort_unstable_by_key(|(reach, at)| (reach.first, reach.run.last, *at));
        for pair in ways.windows(2) {
            let [(one, first), (other, second)] = pair else { continue };
            if one == other || other.first > one.run.last {
                continue;
            }
            let weakness = Weakness::Contradiction {
                what: "where a VRF sends packets for an address",
                first: format!("VNI {} by {}", one.vni, one.run.vtep),
                second: format!("VNI {} by {}", other.vni, other.run.vtep),
            };
            self.weak(judgement, Some(device), weakness, [*first, *second]);
        }
    }

    /// A VNI belongs to one job or to one tenant, on every device, and is one segment there.
    pub(crate) fn judge_vni(&self, vni: Vni, judgement: &mut Judgement) {
        let mut owners: BTreeMap<Owner, Vec<At>> = BTreeMap::new();
        let mut before: Option<(DeviceId, &Bridge)> = None;
        for (device, user) in self.index.vnis.get(&vni).into_iter().flatten() {
            let facts = self.facts(*device);
            match user {
                VniUser::Bridge(bridge) => {
                    let first = before.replace((*device, bridge));
                    if let Some((_, first)) = first.filter(|(held, _)| held == device) {
                        let weakness = Weakness::Contradiction {
                            what: "the bridge domain of a VNI",
                            first: first.to_string(),
                            second: bridge.to_string(),
                        };
                        let both =
                            [first, bridge].into_iter().filter_map(|one| facts.bridges.get(one));
                        let ats = both.flat_map(|lines| lines.vni.ats());
                        self.weak(judgement, Some(*device), weakness, ats);
                    }
                    let mut seats = self.index.domains[device.index()]
                        .get(bridge)
                        .into_iter()
                        .flat_map(|domain| &domain.seats);
                    let owner = seats.find_map(|seat| seat.owner);
                    let lines = facts.bridges.get(bridge).map(|lines| &lines.vni);
                    if let (Some(owner), Some(lines)) = (owner, lines) {
                        let name = Owner::Job(self.job_name(owner).clone());
                        owners.entry(name).or_default().extend(lines.ats());
                    }
                }
                VniUser::Vrf(vrf) => {
                    // A VRF that two tenants share is told of where it is.
                    let mut tenants = self.index.tenants_in(*device, vrf);
                    let tenant = tenants.next().filter(|_| tenants.next().is_none());
                    if let (Some(tenant), Some(lines)) = (tenant, facts.vrfs.get(vrf)) {
                        let ats = owners.entry(Owner::Tenant(tenant.clone())).or_default();
                        ats.extend(
                            lines
                                .vni
                                .iter()
                                .chain(lines.tunnels.iter())
                                .filter_map(|(held, at)| (*held == vni).then_some(*at)),
                        );
                    }
                }
            }
        }
        // Enough of each to have the odd one among them.
        const MOST: usize = 8;
        let mut owners = owners.into_iter();
        if let (Some((first, ours)), Some((second, theirs))) = (owners.next(), owners.next()) {
            let ats = ours.into_iter().take(MOST).chain(theirs.into_iter().take(MOST));
            self.weak(judgement, None, Weakness::SharedVni { vni, first, second }, ats);
        }
    }

    /// A VRF may send into the VNI of another tenant only if the two consented to something, and
    /// only into one that somebody has.
    pub(crate) fn judge_reaches(&self, vni: Vni, judgement: &mut Judgement) {
        let Some(reachers) = self.index.reachers.get(&vni) else { return };
        let users = self.index.vnis.get(&vni).into_iter().flatten();
        let tenants: BTreeSet<&TenantName> = users
            .filter_map(|(device, user)| match user {
                VniUser::Vrf(vrf) => self.only_tenant(&(*device, Scope::Vrf(vrf.clone()))),
                VniUser::Bridge(_) => None,
            })
            .collect();
        for (device, vrf) in reachers {
            let Some(ours) = self.only_tenant(&(*device, Scope::Vrf(vrf.clone()))) else {
                continue;
            };
            let strange =
                |theirs: &&&TenantName| **theirs != ours && !self.consents.between(ours, theirs);
            let weakness = match tenants.iter().find(strange) {
                Some(theirs) => Weakness::StrangeReach {
                    vrf: vrf.clone(),
                    ours: ours.clone(),
                    vni,
                    theirs: (*theirs).clone(),
                },
                None if tenants.is_empty() => Weakness::DeadReach { vrf: vrf.clone(), vni },
                None => continue,
            };
            let lines = self.facts(*device).vrfs.get(vrf);
            let lines = lines.into_iter().flat_map(|lines| lines.reaches.iter());
            let ats = lines.filter(|(reach, _)| reach.vni == vni).map(|(_, at)| *at);
            self.weak(judgement, Some(*device), weakness, ats);
        }
    }

    /// Whether somebody is cut off where this port is down: a switch's port that is nobody's should
    /// be.
    fn is_needed(&self, device: DeviceId, port: Port) -> bool {
        !self.world.is_switch(device)
            || self.owners[device.index()].contains_key(&port)
            || self.world.cables[device.index()].contains_key(&port)
    }

    /// A port is up, takes the fabric's frames, and has its packet program. A program lets only
    /// ports speak that somebody owns, and every line about an endpoint names the Ethernet address
    /// of the interface that is there.
    pub(crate) fn judge_port(&self, device: DeviceId, port: Port, judgement: &mut Judgement) {
        let state = self.facts(device).states.get(&port);
        if let Some(PortState { down, unfiltered, mtu, long }) = state {
            if !down.is_empty() && self.is_needed(device, port) {
                self.weak(judgement, Some(device), Weakness::Down(port), down.ats());
            }
            if !unfiltered.is_empty() {
                self.weak(judgement, Some(device), Weakness::Unfiltered(port), unfiltered.ats());
                self.walk_around(device, port, judgement);
            }
            for (mtu, at) in mtu.iter() {
                let weakness = Weakness::ShortFrames { port, mtu: *mtu };
                self.weak(judgement, Some(device), weakness, [*at]);
            }
            for (mtu, at) in long.iter() {
                let weakness = Weakness::LongFrames { port, mtu: *mtu };
                self.weak(judgement, Some(device), weakness, [*at]);
            }
        }
        let Some(lines) = self.facts(device).ports.get(&port) else { return };
        let owned = self.owners[device.index()].contains_key(&port);
        if !owned && !lines.entries.is_empty() {
            let weakness = Weakness::UnownedEntry(port);
            self.weak(judgement, Some(device), weakness, lines.entries.ats());
        }
        if let Some((mac, at)) = self.world.strange_interface(device, port) {
            self.weak(judgement, Some(device), Weakness::StrangeInterface { port, mac }, [at]);
        }
    }

    /// Every packet program expects the addresses of a tag where they are bound.
    pub(crate) fn judge_peers(&self, tag: Tag, judgement: &mut Judgement) {
        let Some(places) = self.index.peers.get(&tag) else { return };
        let runs = self.runs_tagged(tag);
        for (device, space) in places {
            for (first, (peers, at)) in self.facts(*device).runs_of(space, tag) {
                let mut from = runs.partition_point(|run| run.1 < first);
                let holds = peers.blocks(first).all(|(first, last, vtep)| {
                    while runs.get(from).is_some_and(|run| run.1 < first) {
                        from += 1;
                    }
                    let run = runs.get(from);
                    run.is_some_and(|run| run.0 <= first && last <= run.1 && run.2 == vtep)
                });
                if !holds {
                    let (last, vtep) = (peers.last, peers.vtep);
                    let weakness = Weakness::StrangePeers { first, last, vtep, tag };
                    self.weak(judgement, Some(*device), weakness, [*at]);
                }
            }
        }
    }

    /// Where the addresses of a tag are bound: runs behind one tunnel endpoint, in order.
    fn runs_tagged(&self, tag: Tag) -> Vec<(Ipv4Addr, Ipv4Addr, Ipv4Addr)> {
        let mut bound: Vec<(Ipv4Addr, Ipv4Addr)> = Vec::new();
        for key in self.index.tags.get(&tag).into_iter().flatten() {
            let facts = self.facts(key.0);
            let vni = facts.bridges.get(&key.1).and_then(|lines| lines.vni.first());
            let Some(vtep) = vni.and_then(|vni| facts.tunnel_from(*vni)) else { continue };
            let tagged = self.seats(key).filter(|seat| seat.tag == Some(tag));
            bound.extend(tagged.filter_map(|seat| Some((seat.address?, vtep))));
        }
        bound.sort_unstable();
        bound.dedup();
        let mut runs: Vec<(Ipv4Addr, Ipv4Addr, Ipv4Addr)> = Vec::new();
        for (address, vtep) in bound {
            match runs.last_mut() {
                Some((_, last, held))
                    if *held == vtep && u32::from(*last).checked_add(1) == Some(address.into()) =>
                {
                    *last = address;
                }
                _ => runs.push((address, address, vtep)),
            }
        }
        runs
    }
}
