//! A node: where it stands, and whose it is.

use std::collections::BTreeSet;

use model::admission::{
    NOBODYS_NODE, SHARED_NODE, TAINT_EFFECT, TENANT_LABEL, TENANT_LABEL_VALUE, TENANT_TAINT,
};
use model::{Fleet, Node, NodeId, TenantName};
use plan::Plan;

use super::{Namespace, Text};
use crate::node;
use crate::say::say;

pub(super) fn write(plan: &Plan, id: NodeId, out: &mut String) {
    let jobs = plan.nodes.get(&id).into_iter().flatten();
    let tenants: BTreeSet<&TenantName> = jobs.map(|(job, _)| &job.tenant).collect();
    labels(&plan.fleet, node::node(plan, id), out);
    let spaces = tenants.into_iter().filter_map(|name| Some((name, plan.tenants.get(name)?)));
    let spaces: Vec<_> = spaces.collect();
    for (name, net) in &spaces {
        let space = Namespace(name, net);
        say!(out, "    ", TENANT_LABEL, space, ": ", TENANT_LABEL_VALUE, "\n");
    }
    say!(out, "spec:\n  taints:\n  - effect: ", TAINT_EFFECT, "\n    key: ", TENANT_TAINT);
    say!(out, "\n    value: ");
    match spaces.as_slice() {
        [] => say!(out, NOBODYS_NODE, "\n"),
        [(name, net)] => say!(out, Namespace(name, net), "\n"),
        _ => say!(out, SHARED_NODE, "\n"),
    }
}

fn labels(fleet: &Fleet, node: &Node, out: &mut String) {
    let keys = &fleet.layers.labels;
    let name = Text(node.name.as_str());
    say!(out, "---\napiVersion: v1\nkind: Node\nmetadata:\n  name: ", name, "\n  labels:\n");
    say!(out, "    ", keys.pod.as_str(), ": ");
    say!(out, Text(fleet.pods[node.pod.index()].name.as_str()), "\n");
    // The leaf of the first interface, as in Slurm's tree.
    if let Some(uplink) = node.uplinks.first() {
        let leaf = &fleet.switches[uplink.leaf.index()].name;
        say!(out, "    ", keys.leaf.as_str(), ": ", Text(leaf.as_str()), "\n");
    }
    say!(out, "    ", keys.rack.as_str(), ": ", Text(node.rack.as_str()), "\n");
    let domain = Text(node.nvlink_domain.as_str());
    say!(out, "    ", keys.nvlink_domain.as_str(), ": ", domain, "\n");
    say!(out, "    kubernetes.io/hostname: ", name, "\n");
}
