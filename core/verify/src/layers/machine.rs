//! What a node is, whoever is on it: its functions, its board, its software, its labels. A job that
//! comes or goes changes nothing of that, so it is a place of its own.

use model::{Component, DeviceId, Dialect, NodeId, NodeModel, PciAddress};
use read::{Function, Hold};
use smol_str::SmolStr;

use super::LayerWeakness;
use super::found::Findings;
use super::node::Placed;
use super::software::drift;
use crate::device::At;
use crate::verifier::Verifier;
use crate::weakness::Weakness;

/// Everything that lines say of what a node is.
pub(super) struct Machine<'a> {
    pub(super) node: NodeId,
    pub(super) device: DeviceId,
    pub(super) model: &'a NodeModel,
    functions: Vec<Placed<'a>>,
    pub(super) runs: Vec<(Component, &'a SmolStr, At)>,
    pub(super) boot: Vec<(bool, At)>,
    pub(super) joinable: Vec<(u16, u64, At)>,
    pub(super) schedulable: Vec<(u64, At)>,
    pub(super) published: Vec<(u16, PciAddress, At)>,
    pub(super) labels: Vec<(&'a SmolStr, &'a SmolStr, At)>,
}

/// The dialects in which a node says what it is.
const DESCRIBING: [Dialect; 3] = [Dialect::Vfio, Dialect::Versions, Dialect::Nvlink];

/// Whether a line of a node says what it is.
pub(super) const fn describes(hold: &Hold) -> bool {
    matches!(
        hold,
        Hold::Function { .. } | Hold::Runs { .. } | Hold::BootedSecurely(_) | Hold::Joinable { .. }
    )
}

impl Verifier {
    pub(super) fn judge_machine(&self, node: NodeId, found: &mut Findings<'_>) {
        let machine = Machine::of(self, node);
        self.judge_functions(&machine, found);
        self.judge_table(&machine, found);
        self.judge_versions(&machine, found);
        self.judge_labels(&machine, found);
        self.judge_schedulable(&machine, found);
    }

    /// Each function is where the fleet says it is.
    fn judge_functions(&self, view: &Machine<'_>, found: &mut Findings<'_>) {
        if !self.hears(view.device, Dialect::Vfio) {
            return;
        }
        let gpus = (0..).zip(&view.model.pci.gpus).map(|(gpu, pci)| (Function::Gpu(gpu), *pci));
        let nics = (0..).zip(&view.model.pci.nics).map(|(nic, pci)| (Function::Nic(nic), *pci));
        for (what, pci) in gpus.chain(nics) {
            let Some(placed) = view.functions.iter().find(|placed| placed.pci == pci) else {
                let weakness = LayerWeakness::MissingFunction { what: named(what), planned: pci };
                let text = format!("function {pci}");
                found.absent((view.device, Dialect::Vfio), text, weakness, []);
                continue;
            };
            judge_function(view, what, placed, found);
        }
        for (place, placed) in view.functions.iter().enumerate() {
            let earlier = &view.functions[..place];
            let other = earlier.iter().find(|other| other.pci == placed.pci);
            if let Some(other) = other.filter(|other| other.hold != placed.hold) {
                let weakness = Weakness::Contradiction {
                    what: "a function",
                    first: other.hold.to_string(),
                    second: placed.hold.to_string(),
                };
                found.weak(Some(view.device), weakness, [other.at, placed.at]);
            }
            let planned = match placed.what {
                Function::Gpu(gpu) => Some(view.model.pci.gpus.get(usize::from(gpu))),
                Function::Nic(nic) => Some(view.model.pci.nics.get(usize::from(nic))),
                Function::Vf { .. } | Function::Other => None,
            };
            if let Some(planned) = planned.filter(|planned| *planned != Some(&placed.pci)) {
                let planned = planned.map_or("that there is none".into(), ToString::to_string);
                let (what, held) = (named(placed.what), placed.pci.to_string());
                drift(view.device, what, &held, &planned, Some(placed.at), found);
            }
        }
    }
}

impl<'a> Machine<'a> {
    fn of(verifier: &'a Verifier, node: NodeId) -> Self {
        let fleet = &verifier.world.fleet;
        let model = &fleet.node_models[fleet.nodes[node.index()].model.index()];
        let mut machine = Self {
            node,
            device: fleet.node_device(node),
            model,
            functions: Vec::with_capacity(model.pci.gpus.len() + model.pci.nics.len()),
            runs: Vec::new(),
            boot: Vec::new(),
            joinable: Vec::new(),
            schedulable: Vec::new(),
            published: Vec::with_capacity(model.pci.gpus.len()),
            labels: Vec::new(),
        };
        for dialect in DESCRIBING {
            for (hold, at) in verifier.own_lines(node, dialect) {
                machine.add(hold, at);
            }
        }
        for (hold, at) in verifier.described(node) {
            machine.add(hold, at);
        }
        machine
    }

    fn add(&mut self, hold: &'a Hold, at: At) {
        match hold {
            Hold::Function { pci, what, group, numa } => {
                let (pci, what, group, numa) = (*pci, *what, *group, *numa);
                self.functions.push(Placed { pci, what, group, numa, hold, at });
            }
            Hold::Runs { component, version } => self.runs.push((*component, version, at)),
            Hold::BootedSecurely(securely) => self.boot.push((*securely, at)),
            Hold::Joinable { partition, gpus } => self.joinable.push((*partition, *gpus, at)),
            Hold::Schedulable { minors, .. } => self.schedulable.push((*minors, at)),
            Hold::Published { minor, pci, .. } => self.published.push((*minor, *pci, at)),
            Hold::Label { key, value, .. } => self.labels.push((key, value, at)),
            _ => {}
        }
    }
}

fn judge_function(
    view: &Machine<'_>,
    what: Function,
    placed: &Placed<'_>,
    found: &mut Findings<'_>,
) {
    let (group, numa) = match what {
        Function::Gpu(gpu) => (
            view.model.gpu_groups.get(usize::from(gpu)).copied(),
            view.model.gpu_numa.get(usize::from(gpu)).copied(),
        ),
        Function::Nic(nic) => {
            let nic = view.model.nics.get(usize::from(nic));
            (nic.map(|nic| nic.iommu_group), nic.map(|nic| nic.numa))
        }
        Function::Vf { .. } | Function::Other => (None, None),
    };
    let at = Some(placed.at);
    if placed.what != what {
        let (held, planned) = (named(placed.what), named(what));
        drift(view.device, format!("function {}", placed.pci), &held, &planned, at, found);
    }
    if let Some(group) = group.filter(|group| *group != placed.group) {
        let what = format!("the IOMMU group of {}", named(what));
        drift(view.device, what, &placed.group.to_string(), &group.to_string(), at, found);
    }
    if let Some(numa) = numa.filter(|numa| *numa != placed.numa) {
        let what = format!("the NUMA node of {}", named(what));
        drift(view.device, what, &placed.numa.to_string(), &numa.to_string(), at, found);
    }
}

fn named(what: Function) -> String {
    match what {
        Function::Gpu(gpu) => format!("GPU {}", gpu + 1),
        Function::Nic(nic) => format!("interface {nic}"),
        Function::Vf { nic, vf } => format!("interface {nic} VF {vf}"),
        Function::Other => "something else".into(),
    }
}
