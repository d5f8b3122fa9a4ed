//! Dialect `pkey`: the InfiniBand partitions of a pod's jobs, as OpenSM reads them.

use model::{Guid, JobName, Manager, ManagerKind, Part, PodId};
use plan::{JobNet, Plan};

use crate::cluster::Path;
use crate::node::node;
use crate::say::{say, say_hex};

/// OpenSM reads lines of at most 4,094 bytes and takes what is behind them for another line. So
/// many ports fit into one, whatever the job is called; statements with the same key are one
/// partition to it.
const PORTS_A_LINE: usize = 128;

/// What the subnet manager of a pod is told.
pub(crate) fn subnet(plan: &Plan, manager: &Manager, part: &Part, out: &mut String) {
    let ManagerKind::Subnet(pod) = manager.kind else {
        return;
    };
    match part {
        // Everybody may ask the subnet manager, and nobody anybody else.
        Part::Head => out.push_str("Default=0x7fff, ipoib : ALL=limited, SELF=full ;\n"),
        Part::Job(name) => {
            if let Some(job) = plan.jobs.get(name) {
                partition(plan, pod, name, job, out);
            }
        }
        Part::Node(_) | Part::Tenant(_) | Part::Holdings(_) | Part::Whole => {}
    }
}

/// The ports of a job that are in this pod, every one a full member.
fn partition(plan: &Plan, pod: PodId, name: &JobName, job: &JobNet, out: &mut String) {
    let Some(pkey) = job.keys.pkey else {
        return;
    };
    let seats = job.groups.iter().flat_map(|group| &group.seats);
    let here = seats.filter(|seat| node(plan, seat.nic.node).pod == pod);
    let ports: Vec<Guid> = here.map(|seat| Guid::of(seat.mac)).collect();
    out.reserve(26 * ports.len() + 128); // about as long as it gets
    for ports in ports.chunks(PORTS_A_LINE) {
        // The format's names have no slashes; those of tenants and jobs have no dots.
        say!(out, Path(&name.tenant, "."), ".", name.name, "=0x");
        pkey.to_be_bytes().into_iter().for_each(|byte| say_hex(byte, out));
        for (place, port) in ports.iter().enumerate() {
            say!(out, if place == 0 { " : " } else { ", " }, port, "=full");
        }
        out.push_str(" ;\n");
    }
}
