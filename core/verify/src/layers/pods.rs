//! Whether schedulers keep a job in the pods where it is: no fabric joins it with others.

use std::collections::{BTreeMap, BTreeSet};

use model::{Name, NodeId, Share};
use read::Hold;
use smol_str::SmolStr;

use super::found::Findings;
use super::{LayerWeakness, Spot};
use crate::device::At;
use crate::verifier::{JobId, Verifier};

impl Verifier {
    /// Where reservations, allocations and claims place a job is in the pods of its own nodes,
    /// both by the fleet and by the labels that a scheduler goes by.
    pub(super) fn judge_pods(
        &self,
        job: JobId,
        nodes: &BTreeMap<NodeId, Share>,
        found: &mut Findings<'_>,
    ) {
        let fleet = &self.world.fleet;
        let pod = |node: NodeId| &fleet.pods[fleet.nodes[node.index()].pod.index()].name;
        let own: BTreeSet<&Name> = nodes.keys().map(|node| pod(*node)).collect();
        if own.is_empty() {
            return;
        }
        let mut strays: BTreeMap<SmolStr, Vec<At>> = BTreeMap::new();
        let mut add = |pod: &str, ats: &[At]| {
            if own.iter().all(|own| own.as_str() != pod) {
                strays.entry(pod.into()).or_default().extend(ats);
            }
        };
        for (node, at) in self.placed(job) {
            add(pod(node).as_str(), &[at]);
            // Labels of nodes where it has nothing change without a word about the job.
            found.looked_elsewhere |= !nodes.contains_key(&node);
            for (label, label_at) in self.pod_labels(node) {
                add(label, &[at, label_at]);
            }
        }
        if strays.is_empty() {
            return;
        }
        let ats: Vec<At> = strays.values().flatten().copied().collect();
        let weakness = LayerWeakness::AcrossPods {
            job: self.job_name(job).clone(),
            strays: strays.into_keys().collect(),
            own: own.into_iter().cloned().collect(),
        };
        let device = self.sheets[ats[0].sheet as usize].device;
        found.open(device, weakness, ats);
    }

    /// The nodes where schedulers place a job, each with the first line that does.
    fn placed(&self, job: JobId) -> BTreeMap<NodeId, At> {
        let mut placed = BTreeMap::new();
        for (hold, at) in self.lines(&Spot::Job(job)) {
            let nodes = match hold {
                Hold::Reserved { nodes, .. } => nodes.as_slice(),
                Hold::Allocated { node, .. }
                | Hold::Claimed { node, .. }
                | Hold::ClusterGuest { node, .. } => std::slice::from_ref(node),
                _ => continue,
            };
            for node in nodes.iter().filter_map(|node| self.layers.names.get(node)) {
                placed.entry(*node).or_insert(at);
            }
        }
        placed
    }

    fn pod_labels(&self, node: NodeId) -> impl Iterator<Item = (&str, At)> {
        let pod = &self.world.fleet.layers.labels.pod;
        self.described(node).filter_map(move |(hold, at)| match hold {
            Hold::Label { key, value, .. } if key == pod => Some((value.as_str(), at)),
            _ => None,
        })
    }
}
