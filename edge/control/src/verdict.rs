//! What a verdict says: what was judged, with which result, and what it rests on.
//!
//! It is made when somebody asks, from the plan and what was found. Neither what was not judged nor
//! what is taken for granted is a finding, so that one job's change costs nothing for it.

use std::collections::{BTreeMap, BTreeSet};

use model::{DeviceAt, Dialect, Name, NodeId, TenantName, Timestamp, Waiver};
use plan::{Coverage, Point};
use serde::Serialize;
use verify::Finding;

use crate::draft::Draft;

/// What was judged, with which result, and what it rests on.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProofVerdict {
    /// Whether two owners can meet by what was judged.
    pub result: ProofResult,
    /// What was judged.
    pub scope: ProofScope,
    /// Where they may meet all the same, because nothing that was judged keeps them apart there.
    pub except: Vec<Assumption>,
    /// What is taken for granted.
    pub rests_on: Vec<Assumption>,
}

/// Whether two owners can meet.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProofResult {
    /// Nobody can meet who must not.
    Proved,
    /// The same, but where it is said.
    ProvedExcept,
    /// There are findings.
    NotProved,
}

/// What was judged.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProofScope {
    /// The layers besides the network.
    pub layers: Vec<Dialect>,
    /// On how many devices.
    pub devices: usize,
    /// When the devices said what they hold; nothing for what is planned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_at: Option<Timestamp>,
}

/// Something that is taken for granted, or that nothing judged keeps closed.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Assumption {
    /// A short word for programs.
    pub code: &'static str,
    /// What it is.
    pub sentence: String,
}

impl ProofVerdict {
    /// Of this plan, on so many devices, with what was found and what is vouched for.
    #[must_use]
    pub fn of(
        draft: &Draft,
        devices: usize,
        findings: &[Finding],
        waived: &[(Waiver, Finding)],
        observed_at: Option<Timestamp>,
    ) -> Self {
        let layers = draft.intent.fleet.layers.dialects.to_vec();
        let mut except = exceptions(draft);
        except.extend(waived.iter().map(|(waiver, finding)| vouched(draft, waiver, finding)));
        let result = match (findings.is_empty(), except.is_empty()) {
            (false, _) => ProofResult::NotProved,
            (true, false) => ProofResult::ProvedExcept,
            (true, true) => ProofResult::Proved,
        };
        let scope = ProofScope { layers, devices, observed_at };
        Self { result, scope, except, rests_on: rests_on(draft) }
    }

    /// The same with one more place where nobody who judged says that it is as it was planned.
    #[must_use]
    pub fn but_for(mut self, exception: Assumption) -> Self {
        self.except.push(exception);
        if self.result == ProofResult::Proved {
            self.result = ProofResult::ProvedExcept;
        }
        self
    }

    /// What was judged, in a few words: `network`, `network and 9 layers`.
    #[must_use]
    pub fn judged(&self) -> String {
        const MOST: usize = 3;
        let layers = &self.scope.layers;
        match layers.len() {
            0 => "network".into(),
            some if some > MOST => format!("network and {some} layers"),
            _ => {
                let words: Vec<&str> = layers.iter().map(|layer| layer.as_str()).collect();
                format!("network, {}", words.join(", "))
            }
        }
    }
}

/// Where nothing that was judged keeps owners apart.
fn exceptions(draft: &Draft) -> Vec<Assumption> {
    let fleet = &draft.intent.fleet;
    let layers = &fleet.layers.dialects;
    let has = |dialect| layers.contains(&dialect);
    let are_kept = has(Dialect::Vfio) && (has(Dialect::Vm) || has(Dialect::Kubernetes));
    let shared = shared_hosts(draft);
    let mut except = Vec::new();
    let (amd, others): (Vec<NodeId>, Vec<NodeId>) = shared.into_iter().partition(|node| {
        let model = fleet.nodes[node.index()].model;
        fleet.node_models[model.index()].gpu.is_amd()
    });
    let names = |nodes: &[NodeId]| {
        let names = nodes.iter().map(|node| &fleet.nodes[node.index()].name);
        some(names, "host")
    };
    let open: Vec<NodeId> = others.iter().chain(&amd).copied().filter(|_| !are_kept).collect();
    if !open.is_empty() {
        let sentence = format!(
            "tenants share {}, and no layer of the fleet keeps them apart there (`vfio`, and `vm` \
             or `kubernetes`)",
            names(&open)
        );
        except.push(Assumption { code: "shared-host", sentence });
    }
    if !amd.is_empty() && are_kept {
        let sentence = format!(
            "tenants share {} whose GPUs xGMI joins, and no layer describes that",
            names(&amd)
        );
        except.push(Assumption { code: "unmodelled-link", sentence });
    }
    let hosts = draft.next.report.coverage.iter().find(|one| one.point == Point::Host);
    if let Some(Coverage { endpoints, nodes, .. }) = hosts {
        let sentence = format!(
            "RDMA of {endpoints} endpoints on {} goes past the kernel that filters their packets",
            some(nodes.keys(), "host")
        );
        except.push(Assumption { code: "bypassed-filter", sentence });
    }
    except
}

/// The nodes that have jobs of more than one tenant.
fn shared_hosts(draft: &Draft) -> Vec<NodeId> {
    let mut tenants: BTreeMap<NodeId, BTreeSet<&TenantName>> = BTreeMap::new();
    for (job, net) in &draft.next.plan.jobs {
        for seat in net.groups.iter().flat_map(|group| &group.seats) {
            tenants.entry(seat.nic.node).or_default().insert(&job.tenant);
        }
    }
    let shared = tenants.into_iter().filter(|(_, tenants)| tenants.len() > 1);
    shared.map(|(node, _)| node).collect()
}

/// A finding that somebody vouches for.
fn vouched(draft: &Draft, waiver: &Waiver, finding: &Finding) -> Assumption {
    let Waiver { name, reason, by, until, .. } = waiver;
    let said = finding.sentence(&draft.intent.fleet);
    let until = until.as_str();
    let sentence = format!("{said} (waiver {name}: {reason}; {by} vouches until {until})");
    Assumption { code: "waived-line", sentence }
}

/// What is taken for granted: what enforcement points do not cover, layers that are absent, and
/// people who vouch.
fn rests_on(draft: &Draft) -> Vec<Assumption> {
    let fleet = &draft.intent.fleet;
    let mut rests_on = Vec::new();
    for coverage in &draft.next.report.coverage {
        let devices: BTreeSet<&Name> = coverage.nodes.values().flatten().collect();
        let what = match devices.first().and_then(|name| draft.device(name.as_str())) {
            Some(device) if matches!(fleet.at(device), DeviceAt::Node(_)) => "node",
            _ => "switch",
        };
        let devices = some(devices.into_iter(), what);
        let sentences = coverage.not_covered.iter().map(|sentence| Assumption {
            code: "not-covered",
            sentence: format!("{devices}: {}", sentence.trim_end_matches('.')),
        });
        rests_on.extend(sentences);
    }
    let is_absent =
        |dialect: &Dialect| !dialect.is_network() && !fleet.layers.dialects.contains(dialect);
    let absent: Vec<&str> =
        Dialect::ALL.iter().filter(|one| is_absent(one)).map(|one| one.as_str()).collect();
    if !absent.is_empty() {
        let sentence = format!("nothing is said or judged of {}", absent.join(", "));
        rests_on.push(Assumption { code: "absent-layers", sentence });
    }
    rests_on.push(Assumption {
        code: "unmodelled-layers",
        sentence: "nothing is judged of storage and identity but what a layer above names".into(),
    });
    for Waiver { name, device, line, by, until, .. } in &draft.intent.waivers {
        let until = until.as_str();
        let sentence = format!("{device}: {by} vouches for `{line}` until {until} (waiver {name})");
        rests_on.push(Assumption { code: "waiver", sentence });
    }
    rests_on
}

/// `host n1`, `hosts n1, n2`, `3,000 hosts (n1, n2, n3 …)`
fn some<'a>(names: impl ExactSizeIterator<Item = &'a Name>, what: &str) -> String {
    const MOST: usize = 3;
    let count = names.len();
    let first: Vec<&str> = names.take(MOST).map(|name| name.as_str()).collect();
    let first = first.join(", ");
    let plural = if what.ends_with("ch") { "es" } else { "s" };
    match count {
        1 => format!("{what} {first}"),
        some if some <= MOST => format!("{what}{plural} {first}"),
        some => format!("{some} {what}{plural} ({first} …)"),
    }
}
