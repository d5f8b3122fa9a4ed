//! Slurm's own files, each line below the name of the file it stands in, and reservations as
//! `scontrol show reservation -o` prints them.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    Fleet, JobName, ManagerKind, NodeId, NodeModel, Part, SwitchId, SwitchRole, TenantName,
};
use plan::{JobNet, Plan, TenantNet};

use crate::cluster::{Path, has_hosts_of_its_own, jobs_of};
use crate::node;
use crate::say::say;

pub(crate) fn cluster(plan: &Plan, part: &Part, out: &mut String) {
    match part {
        Part::Head => head(&plan.fleet, out),
        Part::Holdings(name) => {
            if let Some(tenant) = plan.tenants.get(name) {
                partition(plan, name, tenant, out);
            }
        }
        Part::Job(name) => {
            if let Some(job) = plan.jobs.get(name) {
                reservation(plan, name, job, out);
            }
        }
        Part::Node(_) | Part::Tenant(_) | Part::Whole => {}
    }
}

fn head(fleet: &Fleet, out: &mut String) {
    say!(out, "# slurm.conf\n");
    controller(fleet, out);
    for node in &fleet.nodes {
        let model = &fleet.node_models[node.model.index()];
        say!(out, "NodeName=", node.name, " Gres=gpu:");
        product(model, out);
        say!(out, ":", model.gpus, "\n");
    }
    say!(out, "# gres.conf\nAutoDetect=off\n");
    for node in &fleet.nodes {
        let model = &fleet.node_models[node.model.index()];
        say!(out, "NodeName=", node.name, " Name=gpu Type=");
        product(model, out);
        files(model, out);
    }
    say!(out, "# topology.conf\n");
    tree(fleet, out);
    blocks(fleet, out);
    say!(out, "# cgroup.conf\n");
    say!(out, "ConstrainCores=yes\nConstrainDevices=yes\nConstrainRAMSpace=yes\n");
}

/// What makes Slurm keep tenants apart: only known accounts, their nodes never shared, and fences
/// before the first process.
fn controller(fleet: &Fleet, out: &mut String) {
    let managers = fleet.managers.iter();
    let mut controllers = managers.filter(|manager| manager.kind == ManagerKind::Slurm);
    if let Some(controller) = controllers.next() {
        say!(out, "SlurmctldHost=", controller.name, "\n");
    }
    say!(out, "ClusterName=", fleet.name.as_str(), "\n");
    say!(
        out,
        "AccountingStorageType=accounting_storage/slurmdbd\n\
         AccountingStorageEnforce=associations,limits\n\
         GresTypes=gpu\n\
         MCSPlugin=mcs/account\n\
         MCSParameters=enforced,select,privatedata\n\
         ProctrackType=proctrack/cgroup\n\
         PrologFlags=Alloc,Contain\n\
         SelectType=select/cons_tres\n\
         TaskPlugin=task/affinity,task/cgroup\n\
         TopologyPlugin=topology/tree\n"
    );
}

/// Slurm's types are in lower case.
fn product(model: &NodeModel, out: &mut String) {
    out.extend(model.gpu.product.chars().map(|letter| letter.to_ascii_lowercase()));
}

/// All GPUs of the node by their device files, counted from 0 by the driver.
fn files(model: &NodeModel, out: &mut String) {
    let (file, first) =
        if model.gpu.is_amd() { ("/dev/dri/renderD", 128) } else { ("/dev/nvidia", 0) };
    match model.gpus {
        0 => say!(out, " Count=0\n"),
        1 => say!(out, " File=", file, first, "\n"),
        gpus => say!(out, " File=", file, "[", first, "-", first + gpus - 1, "]\n"),
    }
}

/// A node hangs below one switch of a tree: that of its first interface.
fn tree(fleet: &Fleet, out: &mut String) {
    let mut below: BTreeMap<SwitchId, Vec<NodeId>> = BTreeMap::new();
    for (node, number) in fleet.nodes.iter().zip(0..) {
        if let Some(uplink) = node.uplinks.first() {
            below.entry(uplink.leaf).or_default().push(NodeId(number));
        }
    }
    for (leaf, nodes) in &below {
        say!(out, "SwitchName=", fleet.switches[leaf.index()].name, " Nodes=");
        list(fleet, nodes.iter().copied(), out);
        say!(out, "\n");
    }
    for (upper, lower) in joined(fleet, &below.into_keys().collect()) {
        say!(out, "SwitchName=", fleet.switches[upper.index()].name, " Switches=");
        for (place, switch) in lower.iter().enumerate() {
            let comma = if place > 0 { "," } else { "" };
            say!(out, comma, fleet.switches[switch.index()].name);
        }
        say!(out, "\n");
    }
}

/// Which switch joins which others. Spines of a pod join the same leaves, and a tree has one of
/// them: the first. So it is with the cores above.
fn joined(fleet: &Fleet, leaves: &BTreeSet<SwitchId>) -> BTreeMap<SwitchId, BTreeSet<SwitchId>> {
    let mut above: BTreeMap<SwitchId, SwitchId> = BTreeMap::new();
    for link in &fleet.links {
        let (lower, upper) = (link.a.switch, link.b.switch);
        let first = above.entry(lower).or_insert(upper);
        *first = upper.min(*first);
    }
    let mut joined: BTreeMap<SwitchId, BTreeSet<SwitchId>> = BTreeMap::new();
    let mut open: Vec<SwitchId> = leaves.iter().copied().collect();
    while let Some(lower) = open.pop() {
        let is_core = fleet.switches[lower.index()].role == SwitchRole::Core;
        if let (Some(&upper), false) = (above.get(&lower), is_core)
            && joined.entry(upper).or_default().insert(lower)
        {
            open.push(upper);
        }
    }
    joined
}

/// The NVLink domains of several nodes, for Slurm from 23.11 on: a file that older ones refuse to
/// read as their topology, so it has a name of its own.
fn blocks(fleet: &Fleet, out: &mut String) {
    let mut domains: BTreeMap<_, Vec<NodeId>> = BTreeMap::new();
    for (node, number) in fleet.nodes.iter().zip(0..) {
        if node.nvlink_domain != node.name {
            domains.entry(&node.nvlink_domain).or_default().push(NodeId(number));
        }
    }
    if domains.is_empty() {
        return;
    }
    say!(out, "# topology-block.conf\n");
    for (domain, nodes) in &domains {
        say!(out, "BlockName=", *domain, " Nodes=");
        list(fleet, nodes.iter().copied(), out);
        say!(out, "\n");
    }
}

/// The nodes of all jobs of a tenant, for its account alone.
fn partition(plan: &Plan, name: &TenantName, tenant: &TenantNet, out: &mut String) {
    let shares = jobs_of(plan, name).flat_map(|(name, job)| plan.shares(name, job));
    let nodes: BTreeSet<NodeId> = shares.map(|(node, _)| node).collect();
    if nodes.is_empty() {
        return;
    }
    let is_exclusive = has_hosts_of_its_own(tenant.trust.grade);
    say!(out, "# slurm.conf\nPartitionName=", Path(name, "."), " Nodes=");
    list(&plan.fleet, nodes.into_iter(), out);
    say!(out, " AllowAccounts=", Path(name, "."), " ExclusiveUser=");
    say!(out, if is_exclusive { "YES" } else { "NO" }, " OverSubscribe=NO State=UP\n");
}

/// The nodes of a job, kept for its tenant's account. Two jobs that share a node have reservations
/// that overlap there, because Slurm 22.05 reserves nodes and not GPUs.
fn reservation(plan: &Plan, name: &JobName, job: &JobNet, out: &mut String) {
    let shares: Vec<_> = plan.shares(name, job).collect();
    if shares.is_empty() {
        return;
    }
    let is_whole = |at, gpus: u64| gpus.count_ones() == u32::from(node::model(plan, at).gpus);
    let overlaps = shares.iter().any(|(node, share)| !is_whole(*node, share.gpus));
    say!(out, "# reservations\nReservationName=", Path(&name.tenant, "."), ".", name.name);
    say!(out, " Nodes=");
    list(&plan.fleet, shares.iter().map(|(node, _)| *node), out);
    say!(out, " NodeCnt=", shares.len() as u64, " Flags=");
    say!(out, if overlaps { "OVERLAP,IGNORE_JOBS,SPEC_NODES" } else { "IGNORE_JOBS,SPEC_NODES" });
    say!(out, " Users=(null) Accounts=", Path(&name.tenant, "."), "\n");
}

/// Nodes one after the other. Slurm would also take `n[1-4]`, which few names can be put into.
fn list(fleet: &Fleet, nodes: impl Iterator<Item = NodeId>, out: &mut String) {
    for (place, node) in nodes.enumerate() {
        say!(out, if place > 0 { "," } else { "" }, fleet.nodes[node.index()].name);
    }
}
