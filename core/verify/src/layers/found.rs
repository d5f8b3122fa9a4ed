//! What is found about one place of a layer, gathered with the lines that say so.

use model::{DeviceId, Dialect, Fleet, NodeId};

use super::{Lack, LayerBreach, LayerPlace, LayerSevered, LayerWeakness, Member, Owner, Strength};
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
    fn lacks(&mut self, line: MissingLine) {
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
        let fleet = &self.verifier.world.fleet;
        let missing = holder(fleet, layer, node).map(|device| {
            let text = severed.lacking(fleet);
            MissingLine { device, dialect: Some(layer), text }
        });
        self.push(Diagnosis::LayerSevered(severed), ats);
        missing.into_iter().for_each(|line| self.lacks(line));
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
