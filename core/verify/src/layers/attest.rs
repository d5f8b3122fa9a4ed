//! Who vouches for confidential machines: somebody does, lately, for what the tenant expects.
//!
//! Whether a report is true is not judged here: no signature is read, and whoever is named in it
//! checked it, or did not.

use model::{Attestation, Dialect, Part};

use super::LayerWeakness;
use super::found::Findings;
use super::node::{NodeView, Vouched, Who};
use crate::device::At;
use crate::verifier::Verifier;
use crate::weakness::Weakness;

impl Verifier {
    /// Every machine of a tenant that wants reports has them, and they say what it expects.
    pub(super) fn judge_reports(&self, view: &NodeView<'_>, found: &mut Findings<'_>) {
        let fleet = &self.world.fleet;
        if !fleet.layers.dialects.contains(&Dialect::Attest) {
            return;
        }
        let here = &fleet.nodes[view.node.index()].name;
        for (who, job) in view.owners() {
            let has_machine = view.guests.iter().any(|line| line.0 == who);
            let of_job = view.reports.iter().filter(|line| line.who == who);
            let (reports, strays): (Vec<_>, Vec<_>) =
                of_job.partition(|line| has_machine && line.node == here);
            for stray in strays {
                let (job, node) = (job.name.clone(), stray.node.clone());
                found.open(view.device, LayerWeakness::StrayReport { job, node }, [stray.at]);
            }
            let Some(demand) = &job.trust.attestation else {
                continue;
            };
            judge_content(view, who, demand, &reports, found);
            judge_contradiction(view, &reports, found);
            match reports.iter().min_by_key(|line| line.report.age_s) {
                Some(youngest) => judge_age(view, demand, youngest, found),
                None => self.judge_absence(view, who, found),
            }
        }
    }

    /// A machine that was read from its node runs, and somebody must vouch for it. One that is only
    /// planned cannot have been attested: to ask for that would keep it from ever being launched.
    fn judge_absence(&self, view: &NodeView<'_>, who: Who, found: &mut Findings<'_>) {
        let runs = |at: &At| self.sheets[at.sheet as usize].part == Part::Whole;
        let machines = view.guests.iter().filter(|line| line.0 == who).map(|line| line.2);
        let machines: Vec<At> = machines.filter(runs).collect();
        if !machines.is_empty() {
            let weakness = LayerWeakness::Unattested { job: view.job(who).name.clone() };
            found.open(view.device, weakness, machines);
        }
    }
}

/// Each report is of the technology and the machine that the tenant asks for.
fn judge_content(
    view: &NodeView<'_>,
    who: Who,
    demand: &Attestation,
    reports: &[&Vouched<'_>],
    found: &mut Findings<'_>,
) {
    let job = view.job(who);
    for &Vouched { report, at, .. } in reports {
        let (held, planned) = (report.technology, job.trust.confidential);
        if Some(held) != planned {
            let weakness = LayerWeakness::WrongTechnology { job: job.name.clone(), held, planned };
            found.open(view.device, weakness, [*at]);
        }
        let held = report.measurement;
        if let Some(planned) = demand.measurement.filter(|planned| *planned != held) {
            let (held, planned) = (Box::new(held), Box::new(planned));
            let weakness = LayerWeakness::WrongMeasurement { job: job.name.clone(), held, planned };
            found.open(view.device, weakness, [*at]);
        }
    }
}

/// Reports about one machine say the same of it, whoever vouches and whenever.
fn judge_contradiction(view: &NodeView<'_>, reports: &[&Vouched<'_>], found: &mut Findings<'_>) {
    let Some((first, others)) = reports.split_first() else {
        return;
    };
    let said = |line: &Vouched<'_>| (line.report.technology, line.report.measurement);
    if let Some(other) = others.iter().find(|other| said(other) != said(first)) {
        let shown = |line: &Vouched<'_>| {
            let (technology, measurement) = said(line);
            format!("{} with {technology} as {measurement}", view.job(line.who).name)
        };
        let weakness = Weakness::Contradiction {
            what: "the machine that reports vouch for",
            first: shown(first),
            second: shown(other),
        };
        found.weak(Some(view.device), weakness, [first.at, other.at]);
    }
}

fn judge_age(
    view: &NodeView<'_>,
    demand: &Attestation,
    youngest: &Vouched<'_>,
    found: &mut Findings<'_>,
) {
    let (age_s, max_age_s) = (youngest.report.age_s, demand.max_age_s);
    if age_s > u64::from(max_age_s) {
        let job = view.job(youngest.who).name.clone();
        let weakness = LayerWeakness::OldReport { job, age_s, max_age_s };
        found.open(view.device, weakness, [youngest.at]);
    }
}
