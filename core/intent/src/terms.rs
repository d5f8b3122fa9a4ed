//! What a job demands of its place, as far as the fleet can tell whether it makes sense.

use model::{Capacity, Fleet, Preempts, Terms, Want};
use smol_str::SmolStr;

use crate::Problem;
use crate::form::{self, Form};
use crate::refusal::Refusals;
use crate::tree::At;

/// The keys that say where a job may go. A job that names its endpoints has said it.
const WHERE: [&str; 5] = ["product", "within", "segment", "site", "preempts"];

/// No NVLink domain has more nodes.
const MOST_SEGMENT: u64 = 64;

pub(crate) fn read(
    form: &Form<'_>,
    want: Option<&Want>,
    fleet: Option<&Fleet>,
    out: &mut Refusals,
) -> Terms {
    check_sense(form, out);
    let product = product(form, fleet, out);
    let segment = form.number::<u16>("segment", 1, MOST_SEGMENT, out);
    if let (Some(segment), Some(&Want::Gpus(gpus)), Some(fleet)) = (segment, want, fleet) {
        check_segments(gpus, segment, product.as_ref(), fleet, out);
    }
    let terms = Terms {
        product,
        within: form.word("within", out).map(|at| at.value).unwrap_or_default(),
        segment: segment.map(|at| at.value),
        site: form.word("site", out).map(|at| at.value),
        capacity: form.word("capacity", out).map(|at| at.value).unwrap_or_default(),
        preempts: form.word("preempts", out).map(|at| at.value).unwrap_or_default(),
    };
    if terms.capacity == Capacity::Preemptible && terms.preempts != Preempts::Nobody {
        let preempts = terms.preempts.as_str();
        out.refuse(form.pos_of("preempts"), Problem::PreemptiblePreempts { preempts });
    }
    terms
}

/// A key that nobody would heed is a mistake of its writer, who must hear of it.
fn check_sense(form: &Form<'_>, out: &mut Refusals) {
    let beside_endpoints = WHERE.iter().map(|&key| (key, "endpoints"));
    for (key, beside) in beside_endpoints.chain([("segment", "slices")]) {
        if let (Some(tree), Some(_)) = (form.get(key), form.get(beside)) {
            out.refuse(tree.pos, Problem::Pointless { key, beside });
        }
    }
}

fn product(form: &Form<'_>, fleet: Option<&Fleet>, out: &mut Refusals) -> Option<SmolStr> {
    let product = form::label(form.get("product")?, "product", out)?;
    if let Some(fleet) = fleet {
        let known = || fleet.node_models.iter().map(|model| model.gpu.product.as_str());
        if !known().any(|known| known == product.value) {
            let problem = Problem::Dangling {
                kind: "product",
                name: product.value.to_string(),
                near: out.near(&product.value, known()),
            };
            out.refuse(product.pos, problem);
        }
    }
    Some(product.value)
}

/// A segment is so many whole nodes of one NVLink domain, and a gang is made of equal ones.
fn check_segments(
    gpus: u32,
    segment: At<u16>,
    product: Option<&SmolStr>,
    fleet: &Fleet,
    out: &mut Refusals,
) {
    let mut sizes: Vec<u32> = fleet
        .node_models
        .iter()
        .filter(|model| product.is_none_or(|product| *product == model.gpu.product))
        .map(|model| u32::from(segment.value) * u32::from(model.gpus))
        .collect();
    sizes.sort_unstable();
    sizes.dedup();
    // Without a model that suits, the product was refused already.
    if !sizes.is_empty() && !sizes.iter().any(|&size| gpus.is_multiple_of(size)) {
        let problem = Problem::NotWholeSegments { gpus, segment: segment.value, sizes };
        out.refuse(segment.pos, problem);
    }
}
