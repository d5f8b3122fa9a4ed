//! What Slurm's files say of the controller, of nodes and of switches by words of their own.

use std::collections::{BTreeMap, BTreeSet};

use model::{DeviceId, Dialect, Fleet, Name, Node, SwitchId};
use read::SlurmFact;

use super::LayerWeakness;
use super::found::Findings;
use crate::device::At;
use crate::verifier::Verifier;

/// All that Slurm says by words of its own, each with its lines.
pub(super) type Said<'a> = BTreeMap<&'a SlurmFact, Vec<(&'a str, At)>>;

impl Verifier {
    /// What Slurm says is as the fleet has it.
    pub(super) fn judge_fact(
        &self,
        device: DeviceId,
        fact: &SlurmFact,
        held: &str,
        at: At,
        found: &mut Findings<'_>,
    ) {
        let fleet = &self.world.fleet;
        let node = |name: &Name| self.layers.names.get(name).map(|id| &fleet.nodes[id.index()]);
        let planned = match fact {
            SlurmFact::Controller => Some(fleet.device_name(device).to_string()),
            SlurmFact::Accounts if held == "localhost" => return,
            SlurmFact::Accounts => Some(fleet.device_name(device).to_string()),
            SlurmFact::Cluster => Some(fleet.name.to_string()),
            SlurmFact::Address(name) => node(name).map(|node| node.name.to_string()),
            SlurmFact::Gpus(name) => node(name).map(|node| gpus(fleet, node)),
            SlurmFact::Product(name) => node(name).map(|node| product(fleet, node)),
            SlurmFact::Above(_) => return,
        };
        match planned {
            Some(planned) if planned == held => {}
            Some(planned) => {
                let (what, held) = (fact.to_string(), held.to_owned());
                found.open(device, LayerWeakness::Drift { what, held, planned }, [at]);
            }
            None => {
                let (SlurmFact::Address(node) | SlurmFact::Gpus(node) | SlurmFact::Product(node)) =
                    fact
                else {
                    return;
                };
                found.open(device, LayerWeakness::StrangeNode { node: node.clone() }, [at]);
            }
        }
    }

    /// Slurm has the GPUs of every node, and every leaf with nodes hangs together with others.
    pub(super) fn judge_unsaid(&self, device: DeviceId, said: &Said<'_>, found: &mut Findings<'_>) {
        let fleet = &self.world.fleet;
        for node in &fleet.nodes {
            let facts = [
                (SlurmFact::Gpus(node.name.clone()), gpus as fn(&Fleet, &Node) -> String),
                (SlurmFact::Product(node.name.clone()), product),
            ];
            for (fact, planned) in facts.iter().filter(|(fact, _)| !said.contains_key(fact)) {
                lacks(device, fact, planned(fleet, node), found);
            }
        }
        self.judge_tree(device, said, found);
    }

    /// Every leaf with nodes hangs below what it is cabled to, and so does what it hangs below.
    fn judge_tree(&self, device: DeviceId, said: &Said<'_>, found: &mut Findings<'_>) {
        let fleet = &self.world.fleet;
        let name = |switch: SwitchId| fleet.switches[switch.index()].name.as_str();
        let mut cabled: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for link in &fleet.links {
            cabled.entry(name(link.a.switch)).or_default().insert(name(link.b.switch));
        }
        for (fact, values) in said {
            let SlurmFact::Above(lower) = fact else { continue };
            let above = cabled.get(lower.as_str());
            let first = values.first().map(|(upper, _)| *upper);
            for (upper, at) in values {
                let is_cabled = above.is_some_and(|above| above.contains(upper));
                if is_cabled && first == Some(*upper) {
                    continue;
                }
                let planned = first.filter(|_| is_cabled).unwrap_or("a switch cabled to it");
                let (what, held) = (fact.to_string(), (*upper).to_owned());
                let planned = planned.to_owned();
                found.open(device, LayerWeakness::Drift { what, held, planned }, [*at]);
            }
        }
        let leaves = fleet.nodes.iter().filter_map(|node| node.uplinks.first());
        let mut open: BTreeSet<&str> = leaves.map(|uplink| name(uplink.leaf)).collect();
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        while let Some(lower) = open.pop_first() {
            let Some(above) = cabled.get(lower).filter(|_| seen.insert(lower)) else { continue };
            let Ok(switch) = lower.parse() else { continue };
            let fact = SlurmFact::Above(switch);
            match (said.get(&fact), above.first()) {
                (Some(uppers), _) => open.extend(uppers.iter().map(|(upper, _)| *upper)),
                (None, Some(planned)) => lacks(device, &fact, (*planned).to_owned(), found),
                (None, None) => {}
            }
        }
    }
}

/// Names what Slurm should say.
fn lacks(device: DeviceId, fact: &SlurmFact, planned: String, found: &mut Findings<'_>) {
    let (what, held) = (fact.to_string(), "unknown".to_owned());
    let text = format!("{what}: {planned}");
    let weakness = LayerWeakness::Drift { what, held, planned };
    found.absent((device, Dialect::Slurm), text, weakness, []);
}

/// Slurm's types are in small letters.
fn product(fleet: &Fleet, node: &Node) -> String {
    fleet.node_models[node.model.index()].gpu.product.to_ascii_lowercase()
}

/// The type, and how many.
fn gpus(fleet: &Fleet, node: &Node) -> String {
    format!("{}:{}", product(fleet, node), fleet.node_models[node.model.index()].gpus)
}
