//! What is found about one place of a layer, gathered with the lines that say so.

use model::{DeviceId, Dialect, Fleet, NodeId};

use super::{
    Disagree, Lack, LayerBreach, LayerPlace, LayerSevered, LayerWeakness, Member, Named, Owner,
    Strength,
};
use crate::device::At;
use crate::finding::{Diagnosis, Finding, MissingLine, Said, Weak};
use crate::verifier::Verifier;
use crate::weakness::Weakness;

/// What was found about one place.
pub(super) struct Findings<'a> {
    verifier: &'a Verifier,
    pub(super) all: Vec<Finding>,
    /// Whether one of them names somebody who is not in the place.
    pub(super) looked_elsewhere: bool,
}

impl<'a> Findings<'a> {
    pub(super) const fn new(verifier: &'a Verifier) -> Self {
        Self { verifier, all: Vec::new(), looked_elsewhere: false }
    }

    pub(super) fn weak(
        &mut self,
        device: Option<DeviceId>,
        weakness: Weakness,
        ats: impl IntoIterator<Item = At>,
    ) {
        self.push(Diagnosis::Weak(Weak { weakness, device }), ats);
    }

    /// A fence of a layer that is down.
    pub(super) fn open(
        &mut self,
        device: DeviceId,
        weakness: LayerWeakness,
        ats: impl IntoIterator<Item = At>,
    ) {
        self.weak(Some(device), Weakness::Layer(weakness), ats);
    }

    /// A fence that is down because nobody says what would close it.
    pub(super) fn absent(
        &mut self,
        (device, dialect): (DeviceId, Dialect),
        text: impl Into<String>,
        weakness: LayerWeakness,
        ats: impl IntoIterator<Item = At>,
    ) {
        self.open(device, weakness, ats);
        self.lacks(MissingLine { device, dialect: Some(dialect), text: text.into() });
    }

    /// Names a line whose absence is the cause of what was found last.
    pub(super) fn lacks(&mut self, line: MissingLine) {
        if let Some(found) = self.all.last_mut() {
            found.missing.push(line);
        }
    }

    pub(super) fn severed(
        &mut self,
        layer: Dialect,
        owner: Owner,
        node: Option<NodeId>,
        lacks: Lack,
        ats: impl IntoIterator<Item = At>,
    ) {
        let severed = LayerSevered { layer, owner, node, lacks };
        let text = severed.lacking(&self.verifier.world.fleet);
        self.push(Diagnosis::LayerSevered(severed), ats);
        self.lacks_in(layer, node, text);
    }

    /// Two layers name different things; beside it what each of them does not name of the job's own.
    pub(super) fn disagree(
        &mut self,
        disagree: Disagree,
        unnamed: [Option<Named>; 2],
        ats: impl IntoIterator<Item = At>,
    ) {
        let (job, node) = (disagree.job.clone(), disagree.node);
        let layers = [disagree.first.layer, disagree.second.layer];
        self.push(Diagnosis::Disagree(disagree), ats);
        for (layer, named) in layers.into_iter().zip(unnamed) {
            let Some(named) = named else { continue };
            let text = format!("{} of {job}", named.show(&self.verifier.world.fleet));
            self.lacks_in(layer, node, text);
        }
    }

    /// A layer does not say of a node what is planned there.
    pub(super) fn unsaid(&mut self, layer: Dialect, node: NodeId, what: String, planned: &str) {
        let text = format!("{what}: {planned}");
        let weakness =
            LayerWeakness::Drift { what, held: "unknown".into(), planned: planned.into() };
        self.open(self.verifier.world.fleet.node_device(node), weakness, []);
        self.lacks_in(layer, Some(node), text);
    }

    /// Names what whoever speaks for a layer does not say.
    pub(super) fn lacks_in(&mut self, layer: Dialect, node: Option<NodeId>, text: String) {
        if let Some(device) = holder(&self.verifier.world.fleet, layer, node) {
            self.lacks(MissingLine { device, dialect: Some(layer), text });
        }
    }

    pub(super) fn breach(
        &mut self,
        place: LayerPlace,
        pair: (Member, Member),
        strength: Strength,
        ats: impl IntoIterator<Item = At>,
    ) {
        self.push(Diagnosis::LayerBreach(LayerBreach { place, pair, strength }), ats);
    }

    pub(super) fn push(&mut self, diagnosis: Diagnosis, ats: impl IntoIterator<Item = At>) {
        let present = self.said(ats);
        self.all.push(Finding { diagnosis, present, missing: Vec::new() });
    }

    /// Lines in the order of artifacts, each once.
    fn said(&self, ats: impl IntoIterator<Item = At>) -> Vec<Said> {
        let mut said: Vec<_> = ats.into_iter().map(|at| self.verifier.said(at)).collect();
        said.sort();
        said.dedup();
        said
    }
}

/// The device that would say something of a layer: the node itself, or who manages it.
fn holder(fleet: &Fleet, layer: Dialect, node: Option<NodeId>) -> Option<DeviceId> {
    let speaks = |device: &DeviceId| fleet.dialects(*device).any(|dialect| dialect == layer);
    let managers = (0..fleet.managers.len()).map(|manager| fleet.manager_device(manager));
    node.map(|node| fleet.node_device(node)).into_iter().chain(managers).find(speaks)
}
