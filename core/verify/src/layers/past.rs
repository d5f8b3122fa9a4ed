//! What others left where a job is now: nothing of it may be there any more, by evidence.

use std::collections::{BTreeMap, BTreeSet};

use model::{Dialect, JobName, Memory, Past};
use read::{Hold, PastOwner};

use super::finding::bits;
use super::found::Findings;
use super::node::{NodeView, Who};
use super::{Atom, LayerPlace, LayerWeakness, Member, Owner, Strength};
use crate::device::At;
use crate::verifier::Verifier;
use crate::weakness::Weakness;

impl Verifier {
    /// Of every interface of every job it is known who had it last, and that nothing was left.
    pub(super) fn judge_pasts(&self, view: &NodeView<'_>, found: &mut Findings<'_>) {
        if !self.hears(view.device, Dialect::Scrub) {
            return;
        }
        for (who, job) in view.owners() {
            let mut unknown = 0;
            let mut traces = Traces::new();
            for nic in bits(job.share.nics) {
                match judge_past(view, who, nic, found) {
                    None => unknown |= 1 << nic,
                    // Its own traces are no secret to it.
                    Some((Some(left), at)) if left.by != *job.name => {
                        add_traces(view, who, nic, left, at, &mut traces);
                    }
                    Some(_) => {}
                }
            }
            if unknown != 0 {
                let weakness = LayerWeakness::UnknownPast { job: job.name.clone(), nics: unknown };
                let lines = view.pasts.iter().filter(|line| line.0 == who);
                found.open(view.device, weakness, lines.map(|line| line.2));
            }
            tell_traces(view, job.name, traces, found);
            self.compare_with_log(view, who, found);
        }
    }

    /// Lines about a job say what the log says, where somebody told what that is.
    fn compare_with_log(&self, view: &NodeView<'_>, who: Who, found: &mut Findings<'_>) {
        let Some(pasts) = &self.layers.pasts else { return };
        let logged = pasts.get(&view.node).map_or(&[][..], Vec::as_slice);
        let lines = view.pasts.iter().filter(|line| line.0 == who);
        let other = lines.map(|(_, hold, at)| (otherwise(hold, logged), *at));
        let other: Vec<(u64, At)> = other.filter(|(nics, _)| *nics != 0).collect();
        if !other.is_empty() {
            let nics = other.iter().fold(0, |all, (nics, _)| all | nics);
            let job = view.jobs[who.0].name.clone();
            let weakness = LayerWeakness::OtherPast { job, nics };
            found.open(view.device, weakness, other.into_iter().map(|(_, at)| at));
        }
    }
}

/// Of which interfaces a line says something else than the log.
fn otherwise(hold: &Hold, logged: &[Past]) -> u64 {
    let of = |is_so: &dyn Fn(&Past) -> bool| {
        logged.iter().filter(|past| is_so(past)).fold(0, |all, past| all | past.nics)
    };
    match hold {
        Hold::Clean { nics, .. } => nics & of(&|_| true),
        Hold::After { nics, left, .. } => {
            let owing = |of: &[Memory]| of.iter().copied().collect::<BTreeSet<Memory>>();
            let said = owing(&left.owing);
            nics & !of(&|past| past.left_by == left.by && owing(&past.owing) == said)
        }
        Hold::Scrubbed { nics, cleaned, .. } => {
            let evidence = &cleaned.evidence;
            nics & !of(&|past| past.left_by == cleaned.after && past.evidence.contains(evidence))
        }
        _ => 0,
    }
}

/// The first interface behind which somebody's traces are in a memory, and the lines that say so.
type Traces<'a> = BTreeMap<(Memory, &'a JobName), (u16, Vec<At>)>;

/// Adds what was left behind an interface of a job and has no evidence.
fn add_traces<'a>(
    view: &NodeView<'a>,
    who: Who,
    nic: u16,
    left: &'a PastOwner,
    at: At,
    traces: &mut Traces<'a>,
) {
    for &memory in left.owing.iter().filter(|memory| !is_scrubbed(view, who, nic, left, **memory)) {
        let (_, ats) = traces.entry((memory, &left.by)).or_insert((nic, Vec::new()));
        ats.push(at);
    }
}

fn tell_traces(view: &NodeView<'_>, job: &JobName, traces: Traces<'_>, found: &mut Findings<'_>) {
    for ((memory, left_by), (nic, ats)) in traces {
        let atom = atom_of(view, nic, memory);
        let member = |job: &JobName| Member { atom: atom.clone(), owner: Owner::Job(job.clone()) };
        let place = LayerPlace::Memory { node: view.node, memory };
        found.breach(place, (member(job), member(left_by)), Strength::Data, ats);
    }
}

/// What lines say was left on an interface of a job, and the first of them; none if no line does.
/// Lines that differ contradict each other.
fn judge_past<'a>(
    view: &NodeView<'a>,
    who: Who,
    nic: u16,
    found: &mut Findings<'_>,
) -> Option<(Option<&'a PastOwner>, At)> {
    let said = |hold: &'a Hold| match hold {
        Hold::Clean { nics, .. } if nics >> nic & 1 == 1 => Some(None),
        Hold::After { nics, left, .. } if nics >> nic & 1 == 1 => Some(Some(&**left)),
        _ => None,
    };
    let lines = view.pasts.iter().filter(|line| line.0 == who);
    let mut lines = lines.filter_map(|(_, hold, at)| Some((said(hold)?, hold, *at)));
    let (left, hold, at) = lines.next()?;
    if let Some((_, other, other_at)) = lines.find(|(other, ..)| *other != left) {
        let weakness = Weakness::Contradiction {
            what: "what was left where a job is",
            first: hold.to_string(),
            second: other.to_string(),
        };
        found.weak(Some(view.device), weakness, [at, other_at]);
    }
    Some((left, at))
}

/// Whether evidence says that a memory behind an interface has nothing left of what was there.
/// Words that say neither when, nor how, nor what was read are no evidence.
fn is_scrubbed(view: &NodeView<'_>, who: Who, nic: u16, left: &PastOwner, memory: Memory) -> bool {
    view.pasts.iter().any(|(of, hold, _)| {
        matches!(hold, Hold::Scrubbed { nics, cleaned, .. }
            if *of == who
                && nics >> nic & 1 == 1
                && cleaned.after == left.by
                && cleaned.evidence.memory == memory
                && cleaned.evidence.flaw().is_none())
    })
}

/// What the memory is of: the first GPU behind an interface, the interface, or the node.
fn atom_of(view: &NodeView<'_>, nic: u16, memory: Memory) -> Atom {
    let node = view.node;
    let gpu = bits(view.model.gpus_behind(nic)).next();
    match (memory, gpu) {
        (Memory::Hbm | Memory::Sram, Some(gpu)) => Atom::Gpu { node, gpu },
        (Memory::Ram | Memory::Nvme, _) => Atom::Node(node),
        (Memory::Nic | Memory::Hbm | Memory::Sram, _) => Atom::Nic { node, nic },
    }
}
