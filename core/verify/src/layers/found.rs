use model::{DeviceId, Dialect, NodeId};

use super::{Lack, LayerBreach, LayerPlace, LayerSevered, LayerWeakness, Member, Owner, Strength};
use crate::device::At;
use crate::finding::{Finding, Said, Weak, Weakness};
use crate::verifier::Verifier;

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
        let said_by = self.said(ats);
        self.all.push(Finding::Weak(Weak { weakness, device, said_by }));
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

    pub(super) fn severed(
        &mut self,
        layer: Dialect,
        owner: Owner,
        node: Option<NodeId>,
        lacks: Lack,
        ats: impl IntoIterator<Item = At>,
    ) {
        let said_by = self.said(ats);
        let severed = LayerSevered { layer, owner, node, lacks, said_by };
        self.all.push(Finding::LayerSevered(severed));
    }

    pub(super) fn breach(
        &mut self,
        place: LayerPlace,
        pair: (Member, Member),
        strength: Strength,
        ats: impl IntoIterator<Item = At>,
    ) {
        let said_by = self.said(ats);
        self.all.push(Finding::LayerBreach(LayerBreach { place, pair, strength, said_by }));
    }

    /// Lines in the order of artifacts, each once.
    pub(super) fn said(&self, ats: impl IntoIterator<Item = At>) -> Vec<Said> {
        let mut said: Vec<_> = ats.into_iter().map(|at| self.verifier.said(at)).collect();
        said.sort();
        said.dedup();
        said
    }
}
