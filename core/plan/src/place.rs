use std::collections::BTreeSet;

use model::{
    Fleet, Health, Job, Name, NicRef, NodeId, PodId, SiteId, Tenant, Versions, Want,
    compare_versions,
};
use smol_str::SmolStr;

use crate::ledger::{Holder, Ledger};
use crate::refusal::Refusal;
use crate::rest::Resting;
use crate::room::{Room, Shared, TenantKey};

/// A job that looks for its place.
pub(crate) struct Seeker<'a> {
    pub(crate) fleet: &'a Fleet,
    pub(crate) room: &'a Room,
    pub(crate) ledger: &'a Ledger,
    pub(crate) job: &'a Job,
    pub(crate) tenant: &'a Tenant,
    pub(crate) key: TenantKey,
}

impl Seeker<'_> {
    /// The interfaces the job gets: those it named, or the first that fit inside one pod.
    pub(crate) fn seats(&self) -> Result<Vec<NicRef>, Refusal> {
        match &self.job.want {
            Want::Endpoints(nics) if !nics.is_empty() => self.named(nics),
            &Want::Gpus(gpus) if gpus > 0 => self.first_fit(gpus),
            Want::Endpoints(_) | Want::Gpus(_) => {
                Err(Refusal::NothingAsked { job: self.job.name.clone() })
            }
        }
    }

    /// Judges a node that the job is on or would be on: jurisdiction, versions and neighbours.
    pub(crate) fn judge(&self, node: NodeId) -> Result<(), Refusal> {
        let at = &self.fleet.nodes[node.index()];
        self.lawful(self.fleet.pods[at.pod.index()].site)?;
        self.up_to_date(node)?;
        match self.room.stranger(node, self.key) {
            Some((place, stranger)) => Err(self.grade_forbids(place, stranger)),
            None => Ok(()),
        }
    }

    fn named(&self, nics: &[NicRef]) -> Result<Vec<NicRef>, Refusal> {
        let inside = match &self.job.pod {
            Some(pod) => self.pod_named(pod)?,
            None => self.fleet.nodes[nics[0].node.index()].pod,
        };
        let mut taken = BTreeSet::new();
        for &nic in nics {
            self.free_for_me(nic)?;
            if !taken.insert(nic) {
                let (job, node) = (self.job.name.clone(), self.node_name(nic.node));
                return Err(Refusal::NicTwice { job, node, nic: nic.nic });
            }
        }
        let nodes: BTreeSet<NodeId> = nics.iter().map(|nic| nic.node).collect();
        for node in nodes {
            self.inside(node, inside)?;
            self.healthy(node)?;
            self.judge(node)?;
        }
        Ok(nics.to_vec())
    }

    fn free_for_me(&self, nic: NicRef) -> Result<(), Refusal> {
        let (job, node) = (self.job.name.clone(), self.node_name(nic.node));
        let nic_count = self.fleet.nodes[nic.node.index()].uplinks.len();
        let nic = nic.nic;
        if usize::from(nic) >= nic_count {
            return Err(Refusal::NicUnknown { job, node, nic });
        }
        match self.ledger.holder(&node, nic) {
            Some(Holder::Job(holder)) => {
                Err(Refusal::NicTaken { holder: holder.clone(), job, node, nic })
            }
            Some(holder @ Holder::Rest(id)) if !self.ledger.may_take(&job, holder) => {
                let rest = self.ledger.rest(*id);
                let waits = rest.map(|rest| rest.waits.keys().cloned().collect());
                Err(Refusal::NicResting { job, node, nic, waits: waits.unwrap_or_default() })
            }
            _ => Ok(()),
        }
    }

    fn inside(&self, node: NodeId, inside: PodId) -> Result<(), Refusal> {
        let pod = self.fleet.nodes[node.index()].pod;
        if pod == inside {
            return Ok(());
        }
        Err(Refusal::OutsidePod {
            job: self.job.name.clone(),
            node: self.node_name(node),
            pod: self.fleet.pods[pod.index()].name.clone(),
            inside: self.fleet.pods[inside.index()].name.clone(),
        })
    }

    fn healthy(&self, node: NodeId) -> Result<(), Refusal> {
        match self.fleet.nodes[node.index()].health {
            Health::Good => Ok(()),
            health => Err(Refusal::NotHealthy {
                job: self.job.name.clone(),
                node: self.node_name(node),
                health,
            }),
        }
    }

    fn lawful(&self, site: SiteId) -> Result<(), Refusal> {
        let site = &self.fleet.sites[site.index()];
        let allowed = &self.tenant.jurisdictions;
        if allowed.is_empty() || allowed.contains(&site.jurisdiction) {
            return Ok(());
        }
        Err(Refusal::JurisdictionForbids {
            job: self.job.name.clone(),
            site: site.name.clone(),
            jurisdiction: site.jurisdiction.clone(),
            allowed: allowed.clone(),
        })
    }

    fn up_to_date(&self, node: NodeId) -> Result<(), Refusal> {
        let has = &self.fleet.nodes[node.index()].versions;
        let policy = &self.tenant.versions;
        let old = policy.at_least.iter().find_map(|(component, needs)| {
            let version = version_of(has, component);
            compare_versions(version, needs)
                .is_lt()
                .then(|| (component.clone(), needs.clone(), version.clone()))
        });
        let unsafe_boot = || {
            (policy.secure_boot && !has.secure_boot)
                .then(|| ("secure-boot".into(), "on".into(), "off".into()))
        };
        match old.or_else(unsafe_boot) {
            None => Ok(()),
            Some((component, needs, has)) => Err(Refusal::VersionForbids {
                job: self.job.name.clone(),
                node: self.node_name(node),
                component,
                needs,
                has,
            }),
        }
    }

    fn grade_forbids(&self, place: Shared, stranger: TenantKey) -> Refusal {
        let (other, other_grade) = self.room.tenant(stranger).clone();
        Refusal::GradeForbids {
            job: self.job.name.clone(),
            grade: self.tenant.grade,
            place: match place {
                Shared::Node(node) => self.node_name(node),
                Shared::Leaf(leaf) => self.fleet.switches[leaf.index()].name.clone(),
            },
            other,
            other_grade,
        }
    }

    fn first_fit(&self, wanted: u32) -> Result<Vec<NicRef>, Refusal> {
        let pods = self.pods()?;
        for &pod in &pods {
            if self.room.free_gpus(pod) < wanted {
                continue;
            }
            let (seats, found) = self.fill(pod, wanted, |node| self.up_to_date(node).is_ok());
            if found >= wanted {
                return Ok(seats);
            }
        }
        Err(self.no_room(&pods, wanted))
    }

    /// The first free interfaces of a pod until enough GPUs are behind them, and how many are.
    fn fill(&self, pod: PodId, wanted: u32, suits: impl Fn(NodeId) -> bool) -> (Vec<NicRef>, u32) {
        let mut seats = Vec::new();
        let mut found = 0;
        for node in self.room.candidates(pod, self.key) {
            if self.room.stranger(node, self.key).is_some() || !suits(node) {
                continue;
            }
            for (nic, gpus) in self.room.free_nics(node) {
                if found >= wanted {
                    return (seats, found);
                }
                seats.push(nic);
                found += gpus;
            }
        }
        (seats, found)
    }

    /// The pods that pin and law allow.
    fn pods(&self) -> Result<Vec<PodId>, Refusal> {
        let pods: Vec<PodId> = match &self.job.pod {
            Some(pod) => vec![self.pod_named(pod)?],
            None => (0..self.fleet.pods.len() as u32).map(PodId).collect(),
        };
        let site = |pod: &PodId| self.fleet.pods[pod.index()].site;
        let lawful: Vec<PodId> =
            pods.iter().copied().filter(|pod| self.lawful(site(pod)).is_ok()).collect();
        match (lawful.is_empty(), pods.first()) {
            (false, _) => Ok(lawful),
            (true, Some(pod)) => self.lawful(site(pod)).map(|()| lawful),
            (true, None) => Err(Refusal::FleetEmpty { job: self.job.name.clone() }),
        }
    }

    fn pod_named(&self, name: &Name) -> Result<PodId, Refusal> {
        let pods = self.fleet.pods.iter().zip(0..);
        let mut named = pods.filter(|(pod, _)| pod.name == *name);
        named
            .next()
            .map(|(_, id)| PodId(id))
            .ok_or_else(|| Refusal::PodUnknown { job: self.job.name.clone(), pod: name.clone() })
    }

    /// Says what stood in the way: old software if there would be room without that policy, else
    /// how much the best pod lacks.
    fn no_room(&self, pods: &[PodId], wanted: u32) -> Refusal {
        for &pod in pods {
            let (seats, found) = self.fill(pod, wanted, |_| true);
            let old = seats.iter().find_map(|nic| self.up_to_date(nic.node).err());
            if let (true, Some(old)) = (found >= wanted, old) {
                return old;
            }
        }
        let found = |pod: PodId| self.fill(pod, wanted, |node| self.up_to_date(node).is_ok()).1;
        // The first of equally good pods, so that the answer is always the same one.
        let best = pods
            .iter()
            .map(|&pod| (found(pod), pod))
            .max_by_key(|&(found, pod)| (found, std::cmp::Reverse(pod)));
        match best {
            Some((found, pod)) => Refusal::NoRoom {
                job: self.job.name.clone(),
                wanted,
                best: self.fleet.pods[pod.index()].name.clone(),
                short: wanted - found,
                resting: self.resting_in(pod),
            },
            None => unreachable!("there is no empty list of allowed pods"),
        }
    }

    fn resting_in(&self, pod: PodId) -> u32 {
        let in_pod: BTreeSet<&Name> =
            self.fleet.nodes.iter().filter(|node| node.pod == pod).map(|node| &node.name).collect();
        let rests = self.ledger.rests().filter_map(|rest| match &rest.what {
            Resting::Job { lease, .. } => Some(lease),
            Resting::Tenant { .. } => None,
        });
        rests.filter(|lease| in_pod.contains(&lease.seats[0].node)).map(|lease| lease.gpus).sum()
    }

    fn node_name(&self, node: NodeId) -> Name {
        self.fleet.nodes[node.index()].name.clone()
    }
}

/// A component nobody knows has no version, and none is enough.
fn version_of<'a>(versions: &'a Versions, component: &str) -> &'a SmolStr {
    const NONE: &SmolStr = &SmolStr::new_static("none");
    match component {
        "driver" => &versions.driver,
        "kernel" => &versions.kernel,
        "firmware" => &versions.firmware,
        "toolkit" => &versions.toolkit,
        _ => NONE,
    }
}
