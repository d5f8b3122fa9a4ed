//! The layers besides the network: who writes which part of what.

use model::{DeviceAt, DeviceId, Dialect, JobName, Part};
use plan::Plan;

use crate::{amd, devices, imex, kubernetes, nvlink, pkey, scrub, slurm, versions, vfio, vm};

/// Writes one part of an artifact of these layers. What nobody has to say is no part.
pub(crate) fn part(
    plan: &Plan,
    device: DeviceId,
    dialect: Dialect,
    part: &Part,
    out: &mut String,
) -> Option<()> {
    match (plan.fleet.at(device), part) {
        (DeviceAt::Switch(_), _) | (_, Part::Whole) => return None,
        (DeviceAt::Node(_), Part::Head) => of_node(plan, device, dialect, out)?,
        (DeviceAt::Node(_), Part::Node(_) | Part::Tenant(_) | Part::Holdings(_)) => {}
        (DeviceAt::Node(_), Part::Job(job)) => of_job(plan, device, dialect, job, out)?,
        (DeviceAt::Manager(manager), part) => match dialect {
            Dialect::Nvlink => nvlink::domain(plan, manager, part, out),
            Dialect::Pkey => pkey::subnet(plan, manager, part, out),
            Dialect::Slurm => slurm::cluster(plan, part, out),
            Dialect::Kubernetes => kubernetes::cluster(plan, part, out),
            _ => return None,
        },
    }
    (!out.is_empty() || *part == Part::Head).then_some(())
}

fn of_node(plan: &Plan, device: DeviceId, dialect: Dialect, out: &mut String) -> Option<()> {
    let node = plan.fleet.node_of(device)?;
    match dialect {
        Dialect::Vfio => vfio::head(plan, node, out),
        Dialect::Versions => versions::head(plan, node, out),
        Dialect::Nvlink => nvlink::head(plan, node, out),
        Dialect::Amd => amd::head(plan, node, out),
        Dialect::Mig | Dialect::Imex | Dialect::Devices | Dialect::Vm | Dialect::Scrub => {}
        _ => return None,
    }
    Some(())
}

fn of_job(
    plan: &Plan,
    device: DeviceId,
    dialect: Dialect,
    name: &JobName,
    out: &mut String,
) -> Option<()> {
    let node = plan.fleet.node_of(device)?;
    let (job, share) = (plan.jobs.get(name)?, *plan.nodes.get(&node)?.get(name)?);
    match dialect {
        Dialect::Vfio => vfio::job(plan, node, name, share, out),
        Dialect::Nvlink => nvlink::job(plan, node, share, out),
        // The plan cuts no GPU yet.
        Dialect::Mig => {}
        Dialect::Imex => imex::job(name, job, out),
        Dialect::Devices => devices::job(plan, node, name, job, share, out),
        Dialect::Vm => vm::job(plan, node, name, share, out),
        Dialect::Scrub => scrub::job(plan, node, name, share, out),
        _ => return None,
    }
    Some(())
}
