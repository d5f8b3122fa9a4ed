//! Who had each interface last, what it owed when it left, and what was scrubbed since.
//!
//! The ledger lets nobody have what still owes something. This is kept beside that, from the same
//! records and for as long as the next one has it, so that somebody else can judge whether the
//! ledger did.

use std::collections::BTreeMap;

use model::{Evidence, Fleet, JobName, Memory, Name, NodeId, Past};

use crate::record::Lease;

/// What was left, by node and interface. What owed nothing is not here.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Pasts(BTreeMap<Name, BTreeMap<u16, Left>>);

#[derive(Clone, Debug, Eq, PartialEq)]
struct Left {
    by: JobName,
    owing: Vec<Memory>,
    evidence: Vec<Evidence>,
}

impl Pasts {
    /// A job leaves what it had.
    pub(crate) fn leave(&mut self, job: &JobName, lease: &Lease) {
        for seat in &lease.seats {
            if lease.scrub.is_empty() {
                self.forget(&seat.node, seat.nic);
                continue;
            }
            let (by, owing) = (job.clone(), lease.scrub.clone());
            let left = Left { by, owing, evidence: Vec::new() };
            self.0.entry(seat.node.clone()).or_default().insert(seat.nic, left);
        }
    }

    fn forget(&mut self, node: &Name, nic: u16) {
        if let Some(nics) = self.0.get_mut(node) {
            nics.remove(&nic);
            if nics.is_empty() {
                self.0.remove(node);
            }
        }
    }

    /// What a job left on these interfaces of a node was scrubbed.
    pub(crate) fn scrub(&mut self, node: &Name, nics: &[u16], job: &JobName, by: &[Evidence]) {
        let Some(left) = self.0.get_mut(node) else { return };
        for nic in nics {
            if let Some(left) = left.get_mut(nic).filter(|left| left.by == *job) {
                left.evidence.extend(by.iter().cloned());
            }
        }
    }

    /// What others left on each node of a fleet.
    pub(crate) fn all(&self, fleet: &Fleet) -> BTreeMap<NodeId, Vec<Past>> {
        let nodes = (0..).map(NodeId).zip(&fleet.nodes);
        let known = nodes.filter(|(_, node)| self.0.contains_key(&node.name));
        known.map(|(id, node)| (id, self.of(&node.name, id, u64::MAX))).collect()
    }

    /// What others left on these interfaces of a node, those together that were left alike.
    pub(crate) fn of(&self, name: &Name, node: NodeId, nics: u64) -> Vec<Past> {
        let mut pasts: Vec<Past> = Vec::new();
        let all = self.0.get(name).into_iter().flatten();
        for (nic, left) in all.filter(|(nic, _)| **nic < 64 && nics >> **nic & 1 == 1) {
            let is_alike = |past: &&mut Past| {
                past.left_by == left.by
                    && past.owing == left.owing
                    && past.evidence == left.evidence
            };
            match pasts.iter_mut().find(is_alike) {
                Some(past) => past.nics |= 1 << nic,
                None => pasts.push(Past {
                    node,
                    nics: 1 << nic,
                    left_by: left.by.clone(),
                    owing: left.owing.clone(),
                    evidence: left.evidence.clone(),
                }),
            }
        }
        pasts
    }
}
