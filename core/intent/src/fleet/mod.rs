//! The fleet: models and sites as people write them, expanded into every node, switch and cable.
//!
//! Reading ends with a [`spec::Spec`] in which every reference is resolved; [`draft`] lays out the
//! devices and gives each its turn in the pools, [`exception`] changes single devices, and
//! [`wiring`] turns turns into addresses, numbers and ports.
//!
//! **Turns.** Loopbacks, AS numbers and /31 cables are handed out site by site: first the cores,
//! then pod by pod the spines, the leaves and the nodes; cables of a pod in the order leaf to
//! spine, spine to core, node to leaf. Every device and interface has its turn whether it uses it
//! or not, so an exception never renumbers anything else, and a pod that is added at the end of
//! the last site leaves everything before it as it was.

mod draft;
mod exception;
mod gpus;
mod layers;
mod models;
mod spec;
mod wiring;

use ipnet::Ipv4Net;
use model::Fleet;

use crate::Problem;
use crate::document::Papers;
use crate::refusal::Refusals;
use crate::tree::Pos;

/// The one fleet and the ranges of its own addresses, unless anything about it is refused.
pub(crate) fn read(papers: &Papers, out: &mut Refusals) -> Option<(Fleet, Vec<Ipv4Net>)> {
    let already = out.count();
    let Some((first, others)) = papers.fleets.split_first() else {
        if !papers.may_have_fleet {
            out.refuse(Pos::NOWHERE, Problem::NoFleet);
        }
        return None;
    };
    for other in others {
        let problem = Problem::TwoFleets {
            name: other.name.value.to_string(),
            first: out.place(first.name.pos),
        };
        out.refuse(other.name.pos, problem);
    }
    let spec = spec::read(first, out);
    let spec = spec.filter(|_| out.count() == already)?;
    let mut draft = draft::draft(&spec, out)?;
    exception::apply(&spec.exceptions, &mut draft, out);
    if out.count() > already {
        return None;
    }
    let ranges = wiring::ranges(&spec, &draft);
    let mut fleet = wiring::wire(&spec, draft, out);
    layers::lay(&mut fleet, &spec, out);
    (out.count() == already).then_some((fleet, ranges))
}
