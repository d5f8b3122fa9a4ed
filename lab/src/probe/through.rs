//! Questions asked through agents: of a fleet whose workloads nobody may enter.

use std::collections::{BTreeMap, BTreeSet};

use agent::{Agents, Family, Fate, ProbeRequest, SurveyError};
use model::Name;

use super::{Crowd, DroppedAt, Probe, Seen};
use crate::workload::Workload;

/// The gateway's Ethernet address, the same on every device.
const GATEWAY: [u8; 6] = [2, 0, 0, 0, 0, 1];
/// Who asks has this port, or the next one that no service has.
const ASKER: u16 = 61_000;

impl Crowd {
    /// Asks these through the agents of the devices that judge both ends: a frame each way for what
    /// must pass, and one for what must not. `progress` is told how many frames were sent.
    ///
    /// # Errors
    /// If an agent takes no part.
    pub fn survey(
        &self,
        agents: &Agents,
        probes: &[Probe],
        progress: &mut dyn FnMut(usize),
    ) -> Result<Vec<Seen>, SurveyError> {
        let asker = self.free_port(ASKER);
        let mut asks = Vec::new();
        let mut places = Vec::with_capacity(probes.len());
        for probe in probes {
            let ends = self.workload(&probe.from).zip(self.workload(&probe.to));
            let first = asks.len();
            if let Some((from, to)) = ends.filter(|(from, to)| !is_own(from, to, probe.family)) {
                asks.extend(self.ask(from, to, probe, asker, false));
                if probe.expected {
                    asks.extend(self.ask(to, from, probe, asker, true));
                }
            }
            places.push(first..asks.len());
        }
        let judged = self.workloads().iter().filter(|one| one.has_filter);
        let listeners: BTreeSet<Name> = judged.filter_map(|one| one.device.parse().ok()).collect();
        let fates = agents.survey(&listeners, &asks, progress)?;
        let behind: BTreeMap<(&str, &str), &Workload> =
            self.workloads().iter().map(|one| ((&*one.device, &*one.port), one)).collect();
        let judge = |(probe, place): (&Probe, std::ops::Range<usize>)| {
            self.judge(probe, &fates[place], &behind)
        };
        Ok(probes.iter().zip(places).map(judge).collect())
    }

    /// The frame from one to the other, and whose agent sends it.
    fn ask(
        &self,
        from: &Workload,
        to: &Workload,
        probe: &Probe,
        asker: u16,
        answers: bool,
    ) -> Option<(Name, ProbeRequest)> {
        let (tenant, _) = wire::ipv4_of(to.twin)?;
        let ask = ProbeRequest {
            port: from.port.clone(),
            to: to.address,
            tenant,
            via: self.next_hop(from, to, probe.family),
            way: probe.way,
            family: probe.family,
            answers,
            asker,
        };
        Some((from.device.parse().ok()?, ask))
    }

    /// Where a workload sends a frame for that address: to whoever of its own segment has it, and
    /// else to its gateway. Another tenant may have the same address in IPv4.
    fn next_hop(&self, from: &Workload, to: &Workload, family: Family) -> [u8; 6] {
        let has_it = |one: &&Workload| match family {
            Family::V4 => one.address == to.address,
            Family::V6 => one.twin == to.twin,
        };
        let own = self.workloads().iter().filter(|one| one.job == from.job);
        let found = own.filter(|one| one.name != from.name).find(has_it);
        found.map_or(GATEWAY, |one| one.mac.0)
    }

    /// What the fate of a question, and of its answer if there is one, mean.
    fn judge(
        &self,
        probe: &Probe,
        fates: &[Fate],
        behind: &BTreeMap<(&str, &str), &Workload>,
    ) -> Seen {
        let mut seen = Seen::nothing(probe);
        let Some((from, to)) = self.workload(&probe.from).zip(self.workload(&probe.to)) else {
            return seen;
        };
        if is_own(from, to, probe.family) {
            seen.instead = Some(from.name.clone());
        }
        for (device, port) in fates.first().into_iter().flat_map(|asked| &asked.arrived) {
            match behind.get(&(device.as_str(), port.as_str())) {
                Some(one) if one.name == to.name => seen.arrived = true,
                Some(one) if one.name == from.name || self.may_meet(from, one, probe.way) => {
                    seen.instead = Some(one.name.clone());
                }
                Some(one) => seen.astray = Some(one.name.clone()),
                None => seen.astray = Some(format!("{port} of {device}")),
            }
        }
        let is_asker =
            |(device, port): &(Name, String)| device.as_str() == from.device && *port == from.port;
        seen.answered = fates.get(1).is_some_and(|answer| answer.arrived.iter().any(is_asker));
        seen.unsent = fates.iter().find_map(|fate| fate.unsent.clone());
        let drops = fates.iter().flat_map(|fate| &fate.dropped);
        seen.drops = drops.map(DroppedAt::of).collect();
        seen
    }
}

/// Whether it is the sender's own address, of another tenant: no workload sends that anywhere.
fn is_own(from: &Workload, to: &Workload, family: Family) -> bool {
    family == Family::V4 && from.address == to.address
}
