//! Documents of small random worlds: a few leaves of any dialect, tenants, jobs and permits.

use std::fmt::Write as _;

use crate::Chance;

/// Documents of a small random world: a few leaves of any dialect, a few tenants of whom some
/// have the same addresses, a few jobs, and permits with one side or both.
#[must_use]
pub fn documents(chance: &mut Chance) -> String {
    let mut out = String::new();
    let nodes = fleet(chance, &mut out);
    let tenants = tenants(chance, &mut out);
    let jobs = jobs(chance, nodes, tenants.len(), &mut out);
    permits(chance, &tenants, &jobs, &mut out);
    out
}

const NICS: usize = 2;

fn fleet(chance: &mut Chance, out: &mut String) -> usize {
    let dialect = |chance: &mut Chance| if chance.percent(50) { "nxos" } else { "frr" };
    let leaves = 1 + chance.below(3);
    let spines = 1 + chance.below(2);
    let nodes = 2 + chance.below(3);
    out.push_str(
        "apiVersion: bulkhead.dev/v1\nkind: Fleet\nmetadata: {name: small}\nspec:\n  models:\n    \
         nodes:\n      box: {gpu: {product: H100-80GB, board: HGX-H100/H200-8GPU}, gpus: 2, \
         nics: {count: 2, rate: 400Gbps}}\n  sites:\n  - name: s\n    jurisdiction: NL\n    \
         kind: core\n    pods:\n    - name: p\n      leaves:\n",
    );
    if leaves != 2 {
        *out = out.replace("spec:\n  models:", "spec:\n  uplinkRate: 100Gbps\n  models:");
    }
    for leaf in 0..leaves {
        let _ = writeln!(out, "      - {{name: leaf-{leaf}, dialect: {}}}", dialect(chance));
    }
    out.push_str("      spines:\n");
    for spine in 0..spines {
        let _ = writeln!(out, "      - {{name: spine-{spine}, dialect: {}}}", dialect(chance));
    }
    out.push_str("      nodes:\n");
    for node in 0..nodes {
        let leaf = chance.below(leaves);
        let enforcement = match chance.below(5) {
            0 => "host",
            1 => "dpu",
            _ => "leaf",
        };
        let _ = writeln!(
            out,
            "      - {{name: n{node}, model: box, leaf: leaf-{leaf}, enforcement: {enforcement}}}"
        );
    }
    nodes
}

/// Writes tenants and gives the pool of each.
fn tenants(chance: &mut Chance, out: &mut String) -> Vec<usize> {
    let count = 1 + chance.below(3);
    let mut pools = Vec::new();
    for tenant in 0..count {
        let pool = if chance.percent(50) { 0 } else { tenant + 1 };
        let rates = ["", ", guarantee: 25Gbps", ", guarantee: 1Gbps, ceiling: 50Gbps"][tenant];
        let _ = writeln!(
            out,
            "---\napiVersion: bulkhead.dev/v1\nkind: Tenant\nmetadata: {{name: t{tenant}}}\n\
             spec: {{grade: gpu, pools: [10.{pool}.0.0/24]{rates}}}"
        );
        pools.push(pool);
    }
    pools
}

/// Writes jobs and gives the tenant of each.
fn jobs(chance: &mut Chance, nodes: usize, tenants: usize, out: &mut String) -> Vec<usize> {
    let count = 2 + chance.below(3);
    let mut members: Vec<Vec<String>> = vec![Vec::new(); count];
    for node in 0..nodes {
        for nic in 0..NICS {
            if chance.percent(85) {
                members[chance.below(count)].push(format!("n{node}/{nic}"));
            }
        }
    }
    let mut owners = Vec::new();
    for endpoints in members.iter().filter(|endpoints| !endpoints.is_empty()) {
        let (tenant, job) = (chance.below(tenants), owners.len());
        let class = ["lossless", "latency", "bulk"][job % 3];
        let ceiling = if job % 2 == 0 { "" } else { ", ceiling: 10Gbps" };
        let _ = writeln!(
            out,
            "---\napiVersion: bulkhead.dev/v1\nkind: Job\nmetadata: {{name: j{job}}}\n\
             spec: {{tenant: t{tenant}, endpoints: [{}], class: {class}{ceiling}}}",
            endpoints.join(", ")
        );
        owners.push(tenant);
    }
    owners
}

/// Writes permits that can be had: tenants whose addresses overlap cannot meet, not even through
/// a third one.
fn permits(chance: &mut Chance, pools: &[usize], jobs: &[usize], out: &mut String) {
    let overlap = pools.iter().enumerate().any(|(at, pool)| pools[..at].contains(pool));
    for attempt in 0..chance.below(3) {
        let (client, provider) = (chance.below(jobs.len()), chance.below(jobs.len()));
        let (Some(&asking), Some(&answering)) = (jobs.get(client), jobs.get(provider)) else {
            return;
        };
        if client == provider || (asking != answering && overlap) {
            continue;
        }
        let service = ["{protocol: tcp, port: 2049}", "{protocol: udp, port: 53}"][chance.below(2)];
        let both = chance.percent(80);
        for (side, own, tenant, other, peer) in [
            ("client", client, asking, provider, answering),
            ("provider", provider, answering, client, asking),
        ] {
            if side == "provider" && !both {
                continue;
            }
            let _ = writeln!(
                out,
                "---\napiVersion: bulkhead.dev/v1\nkind: Permit\nmetadata: {{name: p{attempt}-{side}}}\n\
                 spec: {{tenant: t{tenant}, job: j{own}, side: {side}, \
                 peer: {{tenant: t{peer}, job: j{other}}}, service: {service}}}"
            );
        }
    }
}
