//! The endpoints of a plan: who may reach whom, and every question there is about that.

use std::collections::BTreeMap;
use std::sync::Arc;

use agent::{Family, ProbeWay};
use model::{JobName, Service};
use plan::Plan;

use super::Probe;
use crate::workload::Workload;

/// All endpoints of a plan.
#[derive(Clone, Debug)]
pub struct Crowd {
    plan: Arc<Plan>,
    workloads: Vec<Workload>,
}

impl Crowd {
    /// Those of this plan.
    #[must_use]
    pub fn of(plan: Arc<Plan>) -> Self {
        let workloads = Workload::all(&plan);
        Self { plan, workloads }
    }

    /// The plan they are of.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Each of them, in the order of their names.
    #[must_use]
    pub fn workloads(&self) -> &[Workload] {
        &self.workloads
    }

    /// The one of this name.
    #[must_use]
    pub fn workload(&self, name: &str) -> Option<&Workload> {
        let at = self.workloads.binary_search_by(|one| one.name.as_str().cmp(name)).ok()?;
        self.workloads.get(at)
    }

    /// Every service that two jobs agreed on.
    #[must_use]
    pub fn services(&self) -> Vec<Service> {
        let owners = self.plan.owners();
        let mut services: Vec<Service> =
            owners.consents.iter().map(|consent| consent.service).collect();
        services.sort_by_key(|service| (service.protocol, service.port));
        services.dedup();
        services
    }

    /// A port that no service has, from this one on.
    pub(super) fn free_port(&self, from: u16) -> u16 {
        let services = self.services();
        let is_free = |port: &u16| services.iter().all(|service| service.port != *port);
        (from..=u16::MAX).find(is_free).unwrap_or(from)
    }

    /// Every question there is: from each endpoint to each other one, in every way, in both
    /// protocols. With a number, at most so many endpoints of each job ask and are asked, spread
    /// over its devices.
    #[must_use]
    pub fn probes(&self, of_a_job: Option<usize>) -> Vec<Probe> {
        /// Nobody agreed on this one.
        const CONTROL: u16 = 4000;
        let control = self.free_port(CONTROL);
        let mut ways =
            vec![ProbeWay::Icmp, ProbeWay::Tcp(control), ProbeWay::Udp(control), ProbeWay::Roce];
        ways.extend(self.services().into_iter().map(ProbeWay::of));
        let some = self.some(of_a_job.unwrap_or(usize::MAX));
        let mut probes = Vec::new();
        for from in &some {
            for to in some.iter().filter(|to| to.name != from.name) {
                for &way in &ways {
                    probes.extend([Family::V4, Family::V6].map(|family| Probe {
                        from: from.name.clone(),
                        to: to.name.clone(),
                        way,
                        family,
                        expected: self.may_meet(from, to, way),
                    }));
                }
            }
        }
        probes
    }

    /// At most so many of each job, in even steps from device to device.
    fn some(&self, of_a_job: usize) -> Vec<&Workload> {
        let mut jobs: BTreeMap<&JobName, Vec<&Workload>> = BTreeMap::new();
        for workload in &self.workloads {
            jobs.entry(&workload.job).or_default().push(workload);
        }
        let mut some = Vec::new();
        for mut all in jobs.into_values() {
            all.sort_by_key(|one| (&one.device, &one.name));
            let count = all.len().min(of_a_job.max(1));
            some.extend((0..count).map(|place| all[place * all.len() / count]));
        }
        some.sort_by_key(|one| &one.name);
        some
    }

    /// Whether one may ask another this way: all of one job may, and those whose jobs both agreed
    /// on the service.
    pub(crate) fn may_meet(&self, from: &Workload, to: &Workload, way: ProbeWay) -> bool {
        let mut consents = self.plan.consents.get(&from.job).into_iter().flatten();
        from.job == to.job
            || way.service().is_some_and(|service| {
                consents.any(|consent| {
                    consent.client == from.job
                        && consent.provider == to.job
                        && consent.service == service
                })
            })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "an endpoint that is not there ends the test")]

    use expect_test::{Expect, expect};

    use super::*;

    fn crowd() -> Crowd {
        Crowd::of(Arc::new(crate::spec::tests::planned(3, 1, 2)))
    }

    fn check(of_a_job: Option<usize>, said: Expect) {
        let crowd = crowd();
        let probes = crowd.probes(of_a_job);
        let mut asking: Vec<&str> = probes.iter().map(|probe| &*probe.from).collect();
        asking.dedup();
        let names = asking.iter().map(|name| {
            let one = crowd.workload(name).unwrap();
            format!("{name} {} {}\n", one.job, one.device)
        });
        said.assert_eq(&names.collect::<String>());
    }

    #[test]
    fn a_few_of_each_job_are_spread_over_its_devices() {
        check(
            Some(2),
            expect![[r#"
            blue-1/0 blue/train leaf-1
            blue-2/0 blue/train leaf-2
            blue-2/1 blue/pair leaf-2
            blue-2/2 blue/pair leaf-2
            blue-2/3 blue/tune leaf-2
            blue-3/3 blue/tune leaf-3
            red-1/0 red/train leaf-1
            red-1/1 red/pair leaf-1
            red-1/2 red/pair leaf-1
            red-1/3 red/tune leaf-1
            red-2/0 red/train leaf-2
            red-2/3 red/tune leaf-2
            vault-1/0 vault/files leaf-1
            vault-3/1 vault/files leaf-3
        "#]],
        );
    }

    #[test]
    fn everybody_asks_everybody_else_in_every_way() {
        let crowd = crowd();
        let (count, ways) = (crowd.workloads().len(), 4 + crowd.services().len());
        assert_eq!(crowd.probes(None).len(), count * (count - 1) * ways * 2);
    }

    #[test]
    fn a_free_port_is_nobodys_service() {
        let crowd = crowd();
        assert_eq!(crowd.free_port(2048), 2048);
        assert_eq!(crowd.free_port(2049), 2050);
    }
}
