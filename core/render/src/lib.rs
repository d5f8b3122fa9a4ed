//! How is that said to each device?
//!
//! Takes: a plan. Gives: artifacts, one for each device and dialect, in parts.
//! Never: fails; makes a choice.

mod amd;
mod cables;
mod cluster;
mod devices;
mod frr;
mod imex;
mod kubernetes;
mod layers;
mod linux;
mod mig;
mod node;
mod nvlink;
mod nxos;
mod pkey;
mod runs;
mod say;
mod scrub;
mod slurm;
mod table;
mod versions;
mod vfio;
mod vm;

pub use mig::{MigInstance, mig_parted};

pub use kubernetes::vcluster_values;

use model::{Artifact, DeviceId, Dialect, Part, PartText};
use plan::Plan;

/// Every artifact of every device, in the order of devices and dialects.
#[must_use]
pub fn all(plan: &Plan) -> Vec<Artifact> {
    let fleet = &plan.fleet;
    fleet
        .devices()
        .flat_map(|device| fleet.dialects(device).map(move |dialect| (device, dialect)))
        .map(|(device, dialect)| artifact(plan, device, dialect))
        .collect()
}

/// One artifact.
#[must_use]
pub fn artifact(plan: &Plan, device: DeviceId, dialect: Dialect) -> Artifact {
    let parts = plan
        .parts(device)
        .into_iter()
        .filter_map(|part| {
            let text = self::part(plan, device, dialect, &part)?;
            Some(PartText { part, text })
        })
        .collect();
    Artifact { device, dialect, generation: plan.generation, parts }
}

/// Enough for most parts of the network, so that few grow while they are written.
const USUAL_PART_BYTES: usize = 2048;

/// The text of one part of an artifact, or none if the plan has nothing to say there.
#[must_use]
pub fn part(plan: &Plan, device: DeviceId, dialect: Dialect, part: &Part) -> Option<String> {
    if !dialect.is_network() {
        // Most parts of these are a few lines or none, and there are many.
        let mut text = String::new();
        layers::part(plan, device, dialect, part, &mut text)?;
        return Some(text);
    }
    let mut text = String::with_capacity(USUAL_PART_BYTES);
    match part {
        Part::Head => match dialect {
            Dialect::Frr => frr::head(plan, device, &mut text),
            Dialect::Nxos => nxos::head(plan, device, &mut text),
            Dialect::Linux => linux::head(plan, device, &mut text),
            Dialect::Table => table::head(plan, device, &mut text),
            _ => return None,
        },
        Part::Tenant(name) => {
            let tenant = plan.tenants.get(name)?;
            plan.devices.get(&device)?.has_tenant(name).then_some(())?;
            match dialect {
                Dialect::Frr => frr::tenant(plan, device, name, tenant, &mut text),
                Dialect::Nxos => nxos::tenant(plan, device, name, tenant, &mut text),
                Dialect::Linux => linux::tenant(plan, device, name, tenant, &mut text),
                Dialect::Table => table::tenant(plan, device, name, tenant, &mut text),
                _ => return None,
            }
        }
        Part::Job(name) => {
            let job = plan.jobs.get(name)?;
            let group = &job.groups[*plan.devices.get(&device)?.jobs.get(name)?];
            match dialect {
                Dialect::Frr => frr::job(plan, name, job, group, &mut text),
                Dialect::Nxos => nxos::job(plan, name, job, group, &mut text),
                Dialect::Linux => linux::job(plan, name, job, group, &mut text),
                Dialect::Table => table::job(plan, name, job, group, &mut text),
                _ => return None,
            }
        }
        Part::Node(_) | Part::Holdings(_) | Part::Whole => return None,
    }
    Some(text)
}
