//! Whether tenants and jobs get what they were promised: rates, ceilings and traffic classes.
//!
//! Only a packet program and the queues of a Linux tunnel endpoint hold such. Whoever was promised
//! nothing that is known here is not judged.

use std::collections::{BTreeMap, BTreeSet};

use model::{DeviceId, Dialect, Port, Queue, Rate, Rates, TenantName, Treatment, VrfName};
use wire::Tag;

use crate::device::{At, Lines};
use crate::judge::Judgement;
use crate::verifier::{JobId, Verifier};
use crate::weakness::Weakness;

impl Verifier {
    /// What a device holds for the tenant of a VRF and its jobs there. A VRF with two tenants is
    /// told of elsewhere.
    pub(crate) fn judge_promises(
        &self,
        device: DeviceId,
        vrf: &VrfName,
        judgement: &mut Judgement,
    ) {
        let mut tenants = self.index.tenants_in(device, vrf);
        let tenant = tenants.next().filter(|_| tenants.next().is_none());
        if let Some(tenant) = tenant
            && let Some(promised) = self.promises.get(tenant)
        {
            self.judge_rates(device, vrf, tenant, promised.rates, judgement);
            self.judge_queues(device, vrf, tenant, promised.queue, judgement);
        }
        for ((job, tag), promised) in self.treated_in(device, vrf) {
            let lines = self.facts(device).table.jobs.get(&(vrf.clone(), tag));
            if let Some(held) = broken(lines, Some(promised)) {
                let held = held.map_or_else(|| "if nothing were said of it".into(), treatment);
                let (job, planned) = (self.job_name(job).clone(), treatment(promised));
                let weakness = Weakness::BrokenTreatment { job, held, planned };
                self.weak(judgement, Some(device), weakness, ats(lines));
                if lines.is_none() {
                    let text = format!("job {vrf} {tag} class {}", promised.class);
                    let text = text + &limited("ceiling", promised.ceiling);
                    judgement.lacks(device, Dialect::Table, text);
                }
            }
        }
    }

    fn judge_rates(
        &self,
        device: DeviceId,
        vrf: &VrfName,
        tenant: &TenantName,
        promised: Rates,
        judgement: &mut Judgement,
    ) {
        let lines = self.facts(device).table.rates.get(vrf);
        // Who was promised nothing has no line.
        let planned = (promised != Rates::default()).then_some(promised);
        if let Some(held) = broken(lines, planned) {
            let (held, planned) = (rates(held.unwrap_or_default()), rates(promised));
            let weakness = Weakness::BrokenRates { tenant: tenant.clone(), held, planned };
            self.weak(judgement, Some(device), weakness, ats(lines));
            if lines.is_none() {
                let text = format!("rate {vrf}") + &limited("guarantee", promised.guarantee);
                let text = text + &limited("ceiling", promised.ceiling);
                judgement.lacks(device, Dialect::Table, text);
            }
        }
    }

    /// The jobs with their tags in a VRF of a device, and what they were promised.
    fn treated_in(&self, device: DeviceId, vrf: &VrfName) -> BTreeMap<(JobId, Tag), Treatment> {
        let lines = self.facts(device).vrfs.get(vrf);
        let bridges = lines.into_iter().flat_map(|lines| &lines.bridges);
        let domains = bridges.filter_map(|bridge| self.index.domains[device.index()].get(bridge));
        let seats = domains.flat_map(|domain| &domain.seats);
        let treated = seats.filter_map(|seat| {
            let (job, tag) = (seat.owner?, seat.tag?);
            Some(((job, tag), *self.treatments.get(&job)?))
        });
        treated.collect()
    }

    /// The tenant's queue at every uplink, where the fleet has queues at all.
    fn judge_queues(
        &self,
        device: DeviceId,
        vrf: &VrfName,
        tenant: &TenantName,
        promised: Option<Queue>,
        judgement: &mut Judgement,
    ) {
        let facts = self.facts(device);
        let planned = promised.map(|queue| (queue.rate.bps, queue.ceiling.bps));
        let own = facts.queues.keys().filter(|(of, _)| of == vrf).map(|(_, port)| port);
        let ports: BTreeSet<Port> = facts.uplinks.keys().chain(own).copied().collect();
        for port in ports {
            let lines = facts.queues.get(&(vrf.clone(), port));
            if let Some(held) = broken(lines, planned) {
                let (tenant, held, named) = (tenant.clone(), queue(held), queue(planned));
                let weakness = Weakness::BrokenQueue { tenant, port, held, planned: named };
                self.weak(judgement, Some(device), weakness, ats(lines));
                if let (None, Some((rate, ceil))) = (lines, planned) {
                    let text = format!("queue {port} vrf {vrf} rate {rate} ceil {ceil}");
                    judgement.lacks(device, Dialect::Linux, text);
                }
            }
        }
    }

    /// At every uplink waits what is over the fleet's rate; where the fleet has none, nothing does.
    pub(crate) fn judge_queued_links(&self, device: DeviceId, judgement: &mut Judgement) {
        let facts = self.facts(device);
        let planned = self.world.fleet.uplink_rate.map(|link| link.queued().bps);
        let ports: BTreeSet<Port> =
            facts.uplinks.keys().chain(facts.queued_links.keys()).copied().collect();
        for port in ports {
            let planned = planned.filter(|_| facts.uplinks.contains_key(&port));
            let lines = facts.queued_links.get(&port);
            if let Some(held) = broken(lines, planned) {
                let (held, named) = (link(held), link(planned));
                let weakness = Weakness::BrokenLink { port, held, planned: named };
                self.weak(judgement, Some(device), weakness, ats(lines));
                if let (None, Some(rate)) = (lines, planned) {
                    judgement.lacks(device, Dialect::Linux, format!("queue {port} rate {rate}"));
                }
            }
        }
    }
}

/// What lines say instead of what is planned, none if they say nothing; none at all if they agree.
fn broken<T: Copy + PartialEq>(lines: Option<&Lines<T>>, planned: Option<T>) -> Option<Option<T>> {
    match lines {
        Some(lines) => lines.values().find(|held| Some(**held) != planned).copied().map(Some),
        None => planned.map(|_| None),
    }
}

/// A promise as a table writes it, behind other words.
fn limited(word: &str, rate: Option<Rate>) -> String {
    rate.map_or_else(String::new, |rate| format!(" {word} {}", rate.bps))
}

fn ats<T: PartialEq>(lines: Option<&Lines<T>>) -> impl Iterator<Item = At> {
    lines.into_iter().flat_map(Lines::ats)
}

fn rates(rates: Rates) -> String {
    let guarantee =
        rates.guarantee.map_or_else(|| "no guarantee".into(), |rate| format!("{rate} guaranteed"));
    format!("{guarantee} and {}", ceiling(rates.ceiling))
}

fn treatment(treatment: Treatment) -> String {
    format!("{} with {}", treatment.class, ceiling(treatment.ceiling))
}

fn ceiling(rate: Option<Rate>) -> String {
    rate.map_or_else(|| "no ceiling".into(), |rate| format!("a ceiling of {rate}"))
}

fn queue(rates: Option<(u64, u64)>) -> String {
    let Some((rate, ceil)) = rates else { return "no queue".into() };
    format!("a queue of {} up to {}", Rate { bps: rate }, Rate { bps: ceil })
}

fn link(rate: Option<u64>) -> String {
    let Some(bps) = rate else { return "nothing waits".into() };
    format!("what is over {} waits", Rate { bps })
}
