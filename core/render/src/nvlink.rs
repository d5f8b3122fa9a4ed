//! Dialect `nvlink`: what a board can join, and what is joined for each job.

use std::collections::BTreeSet;

use model::{JobName, Manager, ManagerKind, Name, NodeId, Part, Share};
use plan::{JobNet, Plan};

use crate::node::{model, node, say_gpus};
use crate::say::say;

/// All that the node's board can join.
pub(crate) fn head(plan: &Plan, node: NodeId, out: &mut String) {
    for partition in model(plan, node).board_partitions().into_iter().flatten() {
        say!(out, "partition ", partition.number);
        say_gpus(partition.gpus, out);
        out.push('\n');
    }
}

/// The partition that is exactly the job's GPUs. A board whose table nobody has seen is given
/// whole, and its switches join it by themselves.
pub(crate) fn job(plan: &Plan, node: NodeId, share: Share, out: &mut String) {
    let partitions = model(plan, node).board_partitions().into_iter().flatten();
    if let Some(partition) = partitions.into_iter().find(|one| one.gpus == share.gpus) {
        say!(out, "active ", partition.number, "\n");
    }
}

/// What the manager of an NVLink domain is told of a job: its GPUs on each node of the domain.
pub(crate) fn domain(plan: &Plan, manager: &Manager, part: &Part, out: &mut String) {
    let (ManagerKind::Nvlink(domain), Part::Job(name)) = (&manager.kind, part) else {
        return;
    };
    let Some(job) = plan.jobs.get(name) else {
        return;
    };
    let Some(channel) = job.keys.channel else {
        return;
    };
    for id in nodes_in(plan, job, domain) {
        if let Some(share) = share(plan, id, name) {
            say!(out, "partition ", channel, " node ", node(plan, id).name);
            say_gpus(share.gpus, out);
            out.push('\n');
        }
    }
}

fn nodes_in(plan: &Plan, job: &JobNet, domain: &Name) -> BTreeSet<NodeId> {
    let seats = job.groups.iter().flat_map(|group| &group.seats);
    let nodes = seats.map(|seat| seat.nic.node);
    nodes.filter(|&id| node(plan, id).nvlink_domain == *domain).collect()
}

fn share(plan: &Plan, node: NodeId, job: &JobName) -> Option<Share> {
    plan.nodes.get(&node)?.get(job).copied().filter(|share| share.gpus != 0)
}
