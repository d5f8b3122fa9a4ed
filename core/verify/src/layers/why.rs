//! Where two jobs could meet on the layers besides the network, and what keeps them apart there.

use std::collections::{BTreeMap, BTreeSet};

use model::{Dialect, JobName, NodeId, Runtime, Share};
use read::Hold;

use super::LayerPlace;
use super::finding::bits;
use super::hardware::Merged;
use super::node::{NodeView, Who};
use crate::device::At;
use crate::finding::Said;
use crate::verifier::Verifier;
use crate::why::LayerStep;

/// The places that a job is in by one layer, and the lines that say so.
type Places = BTreeMap<LayerPlace, Vec<At>>;

/// More places than this are counted and not named.
const MOST_NAMED: usize = 4;

impl Verifier {
    /// For each layer of the fleet besides the network: in which places each of the two jobs is
    /// there, and whether they are in one together. Empty where a fleet is a network alone.
    #[must_use]
    pub fn why_layers(&self, one: &JobName, other: &JobName) -> Vec<LayerStep> {
        let mut steps = Vec::new();
        let layers = &self.world.fleet.layers.dialects;
        if !layers.is_empty() {
            steps.push(self.why_host(one, other));
        }
        for &layer in layers {
            if matches!(
                layer,
                Dialect::Versions | Dialect::Mig | Dialect::Amd | Dialect::Scrub | Dialect::Attest
            ) {
                // What these say is of a host, a GPU or a machine as a whole, and joins nobody.
                continue;
            }
            let (ours, theirs) = (self.places(layer, one), self.places(layer, other));
            if !ours.is_empty() || !theirs.is_empty() {
                steps.push(self.why_places(layer, (one, &ours), (other, &theirs)));
            }
        }
        steps
    }

    fn why_host(&self, one: &JobName, other: &JobName) -> LayerStep {
        let (ours, theirs) = (self.nodes_of(one), self.nodes_of(other));
        let common = ours.keys().find(|node| theirs.contains_key(node));
        let [a, b] = [one, other].map(|job| self.trust_of(&job.tenant));
        let (answer, fence) = match common {
            None => (format!("{one} and {other} are on no node together"), true),
            Some(node) => {
                let node = &self.world.fleet.nodes[node.index()].name;
                let grades = format!("grades {} and {}", a.grade, b.grade);
                if a.runtime == Runtime::Vm && b.runtime == Runtime::Vm {
                    (format!("both are on {node}, each in a machine of its own ({grades})"), true)
                } else {
                    (format!("both are on {node} and share its kernel ({grades})"), false)
                }
            }
        };
        let node = common.copied();
        let said_by = node.map_or_else(Vec::new, |node| self.both_on(node, one, other));
        LayerStep { layer: "host", answer, fence, said_by }
    }

    /// The lines that show two jobs on a node.
    fn both_on(&self, node: NodeId, one: &JobName, other: &JobName) -> Vec<Said> {
        let view = NodeView::of(self, node);
        let here = view.owners().filter(|(_, job)| [one, other].contains(&job.name));
        let here: Vec<Who> = here.map(|(who, _)| who).collect();
        self.said_in_order(here.into_iter().flat_map(|who| view.presence(who)))
    }

    fn why_places(
        &self,
        layer: Dialect,
        (one, ours): (&JobName, &Places),
        (other, theirs): (&JobName, &Places),
    ) -> LayerStep {
        let fleet = &self.world.fleet;
        let common: Vec<&LayerPlace> = ours.keys().filter(|at| theirs.contains_key(at)).collect();
        let shown = |places: Vec<&LayerPlace>| {
            let names: Vec<String> =
                places.iter().take(MOST_NAMED).map(|place| place.show(fleet)).collect();
            match places.len().checked_sub(MOST_NAMED).filter(|more| *more > 0) {
                None if names.is_empty() => "nothing".to_owned(),
                None => names.join(", "),
                Some(more) => format!("{} and {more} more", names.join(", ")),
            }
        };
        let (answer, ats): (String, Vec<At>) = if common.is_empty() {
            let (own, foreign) = (shown(ours.keys().collect()), shown(theirs.keys().collect()));
            let lines =
                [ours, theirs].into_iter().flat_map(|places| places.values().take(MOST_NAMED));
            let ats = lines.filter_map(|ats| ats.first().copied());
            (format!("{one} is in {own}; {other} in {foreign}"), ats.collect())
        } else {
            let lines = common.iter().take(MOST_NAMED).flat_map(|place| {
                [ours, theirs].into_iter().filter_map(|places| places.get(place)).flatten()
            });
            let ats = lines.copied().collect();
            (format!("both are in {}", shown(common.clone())), ats)
        };
        let said_by = self.said_in_order(ats);
        LayerStep { layer: layer.as_str(), answer, fence: common.is_empty(), said_by }
    }

    fn said_in_order(&self, ats: impl IntoIterator<Item = At>) -> Vec<Said> {
        let said: BTreeSet<Said> = ats.into_iter().map(|at| self.said(at)).collect();
        said.into_iter().collect()
    }

    fn nodes_of(&self, job: &JobName) -> BTreeMap<NodeId, Share> {
        let known = self.known_job(job).and_then(|job| self.layers.job_nodes.get(&job));
        known.cloned().unwrap_or_default()
    }

    /// Every place that a job is in by the lines of one layer.
    fn places(&self, layer: Dialect, job: &JobName) -> Places {
        let mut places = Places::new();
        if layer == Dialect::Kubernetes {
            self.add_namespaces(job, &mut places);
            return places;
        }
        if layer == Dialect::Slurm {
            self.add_queues(job, &mut places);
            return places;
        }
        for (node, share) in self.nodes_of(job) {
            if layer == Dialect::Pkey {
                self.add_keys(node, share, &mut places);
                continue;
            }
            let view = NodeView::of(self, node);
            let who = view.owners().find(|(_, here)| here.name == job).map(|(who, _)| who);
            if let Some(who) = who {
                self.add_places(layer, &view, who, &mut places);
            }
        }
        places
    }

    fn add_places(&self, layer: Dialect, view: &NodeView<'_>, who: Who, places: &mut Places) {
        let (node, share) = (view.node, view.job(who).share);
        let mut add = |place, at| places.entry(place).or_default().push(at);
        match layer {
            Dialect::Vfio => {
                let merged = Merged::of(view);
                for placed in &view.functions {
                    let mut seats = Vec::new();
                    view.add_seats(placed.what, placed.pci, placed.at, &mut seats);
                    if seats.iter().any(|seat| seat.owner == Some(view.job(who).name)) {
                        let group = merged.group(placed.group);
                        add(LayerPlace::IommuGroup { node, group }, placed.at);
                    }
                }
            }
            Dialect::Nvlink => {
                let device = view.device;
                for (partition, at) in &view.active {
                    let joins = view.joinable.iter().find(|(number, ..)| number == partition);
                    if joins.is_some_and(|(_, gpus, _)| gpus & share.gpus != 0) {
                        add(LayerPlace::Partition { device, partition: *partition }, *at);
                    }
                }
                for (partition, gpus, at) in &view.linked {
                    let device = self.sheets[at.sheet as usize].device;
                    if gpus & share.gpus != 0 {
                        add(LayerPlace::Partition { device, partition: *partition }, *at);
                    }
                }
            }
            Dialect::Imex => {
                let domain = &self.world.fleet.nodes[node.index()].nvlink_domain;
                for (_, channel, at) in view.channels.iter().filter(|line| line.0 == who) {
                    add(LayerPlace::Channel { domain: domain.clone(), channel: *channel }, *at);
                }
            }
            Dialect::Devices | Dialect::Vm => {
                let told = self.told_of(view, who);
                let told = told.iter().filter(|told| told.layer == layer);
                for gpus in told.filter_map(|told| told.gpus.as_ref()) {
                    for gpu in bits(gpus.set) {
                        let lines = gpus.ats.iter().copied();
                        lines.for_each(|at| add(LayerPlace::Gpu { node, gpu }, at));
                    }
                }
            }
            _ => {}
        }
    }

    fn add_keys(&self, node: NodeId, share: Share, places: &mut Places) {
        for nic in bits(share.nics) {
            for (hold, at) in self.keyed(node, nic) {
                if let Hold::Member { pkey, .. } = hold {
                    let device = self.sheets[at.sheet as usize].device;
                    places.entry(LayerPlace::Key { device, pkey: *pkey }).or_default().push(at);
                }
            }
        }
    }

    fn add_queues(&self, job: &JobName, places: &mut Places) {
        for (hold, at) in self.lines(&super::Spot::Tenant(job.tenant.clone())) {
            if let Hold::Partition { partition, .. } = hold {
                places.entry(LayerPlace::Queue(partition.clone())).or_default().push(at);
            }
        }
    }

    fn add_namespaces(&self, job: &JobName, places: &mut Places) {
        for (hold, at) in self.lines(&super::Spot::Tenant(job.tenant.clone())) {
            if let Hold::Namespace { namespace, .. } = hold {
                places.entry(LayerPlace::Namespace(namespace.clone())).or_default().push(at);
            }
        }
    }
}
