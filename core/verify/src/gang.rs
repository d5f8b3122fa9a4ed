//! Whether all members of a job can meet, answered in one pass over them when all is well.

use std::net::Ipv4Addr;

use model::{DeviceId, RouteTarget};
use read::Scope;
use wire::{Tag, Vni};

use crate::device::Device;
use crate::index::{Domain, DomainKey};
use crate::verifier::{JobId, Verifier};

/// Consecutive addresses of a job behind one tunnel endpoint.
struct Run {
    device: DeviceId,
    first: Ipv4Addr,
    last: Ipv4Addr,
    vtep: Ipv4Addr,
}

impl Verifier {
    /// Says yes when every two members of the job can plainly exchange unicast: all have one
    /// tag, their segments share one target, tunnels stand between them and every packet
    /// program knows every peer. Anything less plain needs a look at every pair.
    pub(crate) fn joined_at_once(&self, job: JobId) -> Option<()> {
        let ports = self.job_ports.get(&job).map_or(0, |ports| ports.len());
        if ports == 0 {
            return Some(());
        }
        let keys = self.index.jobs.get(&job)?;
        let mut members: Vec<(&DomainKey, &Domain)> = Vec::with_capacity(keys.len());
        for key in keys {
            let alone = members.last().is_none_or(|(last, _)| last.0 != key.0);
            members.push((key, self.index.domain(key).filter(|_| alone)?));
        }
        // A port that is down, or without its packet program, is looked at by itself.
        let are_sound = members.iter().all(|(key, _)| self.facts(key.0).states.is_empty());
        are_sound.then_some(())?;
        let tag = self.common_tag(job, ports, &members)?;
        if let [(key, _)] = members[..] {
            return self.is_in_one_space(key, job).then_some(());
        }
        self.common_target(&members)?;
        let runs = self.runs(job, &members)?;
        members.iter().all(|(key, _)| self.knows_peers(key, job, tag, &runs)).then_some(())
    }

    /// The one tag that every port of the job has under its one address.
    fn common_tag(
        &self,
        job: JobId,
        ports: usize,
        members: &[(&DomainKey, &Domain)],
    ) -> Option<Tag> {
        let mut tag = None;
        let mut count = 0;
        for (_, domain) in members {
            for seat in domain.seats.iter().filter(|seat| seat.owner == Some(job)) {
                seat.address?;
                let held = seat.tag.filter(|_| seat.is_heard)?;
                if *tag.get_or_insert(held) != held {
                    return None;
                }
                count += 1;
            }
        }
        tag.filter(|_| count == ports)
    }

    /// A target that the segment of every member imports and exports.
    fn common_target(&self, members: &[(&DomainKey, &Domain)]) -> Option<RouteTarget> {
        let targets = |key: &DomainKey| {
            let facts = self.facts(key.0);
            let vni = segment(facts, key)?;
            facts.scopes.get(&Scope::Segment(vni))
        };
        let first = targets(members.first()?.0)?;
        first.exports.values().copied().find(|target| {
            members.iter().all(|(key, _)| {
                targets(key).is_some_and(|targets| {
                    targets.imports.values().any(|held| held == target)
                        && targets.exports.values().any(|held| held == target)
                })
            })
        })
    }

    /// The job's addresses as runs, if tunnels stand between all its devices.
    fn runs(&self, job: JobId, members: &[(&DomainKey, &Domain)]) -> Option<Vec<Run>> {
        let island = self.world.evpn[members.first()?.0.0.index()];
        let mut runs: Vec<Run> = Vec::with_capacity(members.len());
        for (key, domain) in members {
            let facts = self.facts(key.0);
            let vni = segment(facts, key)?;
            let vtep = facts.tunnel_from(vni)?;
            let stands = facts.ends(vni)
                && facts.tagged(vni)
                && facts.announced(vtep)
                && !facts.has_strange_tunnels()
                && self.world.evpn[key.0.index()] == island;
            if !stands {
                return None;
            }
            let own = domain.seats.iter().filter(|seat| seat.owner == Some(job));
            let mut addresses: Vec<Ipv4Addr> = own.filter_map(|seat| seat.address).collect();
            addresses.sort_unstable();
            for address in addresses {
                match runs.last_mut() {
                    Some(run) if run.device == key.0 && follows(run.last, address) => {
                        run.last = address;
                    }
                    _ => runs.push(Run { device: key.0, first: address, last: address, vtep }),
                }
            }
        }
        runs.sort_unstable_by_key(|run| run.first);
        Some(runs)
    }

    /// Whether all ports of a job in a bridge domain speak in the same space of the packet program.
    fn is_in_one_space(&self, key: &DomainKey, job: JobId) -> bool {
        let facts = self.facts(key.0);
        if self.world.is_switch(key.0) || !facts.program_denies() {
            return true;
        }
        let own = self.seats(key).filter(|seat| seat.owner == Some(job));
        let ports = own.filter_map(|seat| facts.ports.get(&seat.port));
        let mut spaces = ports.flat_map(|lines| lines.entries.values().map(|entry| &entry.space));
        let first = spaces.next();
        spaces.all(|space| Some(space) == first)
    }

    /// Whether the packet program of a device knows exactly what of the job is elsewhere. A switch
    /// with groups needs to know nothing.
    fn knows_peers(&self, key: &DomainKey, job: JobId, tag: Tag, runs: &[Run]) -> bool {
        let facts = self.facts(key.0);
        if self.world.is_switch(key.0) || !facts.program_denies() {
            return true;
        }
        let spaces = segment(facts, key).and_then(|vni| facts.table.spaces.get(&vni));
        let Some(space) = spaces.and_then(|lines| lines.first()) else {
            return false;
        };
        let own = self.seats(key).filter(|seat| seat.owner == Some(job));
        let in_space = |port| {
            let lines = facts.ports.get(port);
            lines.is_some_and(|lines| lines.entries.values().all(|entry| entry.space == *space))
        };
        if !own.map(|seat| &seat.port).all(in_space) {
            return false;
        }
        let elsewhere = runs.iter().filter(|run| run.device != key.0);
        let known = facts.runs_of(space, tag).flat_map(|(first, (peers, _))| peers.blocks(first));
        elsewhere.map(|run| (run.first, run.last, run.vtep)).eq(known)
    }
}

fn segment(facts: &Device, key: &DomainKey) -> Option<Vni> {
    facts.bridges.get(&key.1)?.vni.first().copied()
}

fn follows(last: Ipv4Addr, next: Ipv4Addr) -> bool {
    u32::from(last).checked_add(1) == Some(u32::from(next))
}
