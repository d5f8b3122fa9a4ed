//! Guardrails: what no document below may weaken.

use std::collections::BTreeMap;

use model::{Grade, Name, Rate, TenantName};
use smol_str::SmolStr;

use crate::Problem;
use crate::document::{Document, Papers, refuse_duplicate};
use crate::form::{self, Form, Shape};
use crate::refusal::Refusals;
use crate::tree::At;

/// All guardrails, in the order of their names.
pub(crate) struct Guardrails(BTreeMap<Name, Guardrail>);

/// A guardrail with the place of each limit, so that a refusal can show it.
pub(crate) struct Guardrail {
    pub(crate) name: At<Name>,
    pub(crate) tenant: Option<TenantName>,
    pub(crate) weakest_grade: Option<At<Grade>>,
    pub(crate) max_gpus: Option<At<u32>>,
    pub(crate) max_ceiling: Option<At<Rate>>,
    pub(crate) jurisdictions: Option<At<Vec<SmolStr>>>,
    pub(crate) no_foreign_permits: Option<At<bool>>,
}

const GUARDRAIL: Shape = Shape { what: "a guardrail", needs: &["limits"], may: &["tenant"] };

const LIMITS: Shape = Shape {
    what: "limits",
    needs: &[],
    may: &["weakestGrade", "maxGpus", "maxCeiling", "jurisdictions", "noForeignPermits"],
};

pub(crate) fn read(papers: &Papers, out: &mut Refusals) -> Guardrails {
    let mut guardrails: BTreeMap<Name, Guardrail> = BTreeMap::new();
    for document in &papers.guardrails {
        let Some(guardrail) = read_one(document, papers, out) else {
            continue;
        };
        match guardrails.get(&guardrail.name.value) {
            Some(first) => {
                let (name, first) = (&guardrail.name, first.name.pos);
                refuse_duplicate("guardrail", &name.value, name.pos, first, out);
            }
            None => {
                guardrails.insert(guardrail.name.value.clone(), guardrail);
            }
        }
    }
    Guardrails(guardrails)
}

fn read_one(document: &Document, papers: &Papers, out: &mut Refusals) -> Option<Guardrail> {
    let name = form::name(&document.name, out);
    let form = Form::open(&document.spec, &GUARDRAIL, out)?;
    let tenant = form.name::<TenantName>("tenant", out);
    if let Some(tenant) = &tenant {
        check_tenant(tenant, papers, out);
    }
    let limits = form.form("limits", &LIMITS, out)?;
    let guardrail = Guardrail {
        name: At { value: name?, pos: document.name.pos },
        tenant: tenant.map(|tenant| tenant.value),
        weakest_grade: limits.word("weakestGrade", out),
        max_gpus: limits.number("maxGpus", 0, u64::from(u32::MAX), out),
        max_ceiling: limits.rate("maxCeiling", out),
        jurisdictions: labels(&limits, "jurisdictions", out),
        no_foreign_permits: limits.truth("noForeignPermits", out),
    };
    if let Some(foreign) = guardrail.no_foreign_permits.filter(|at| at.value)
        && form.get("tenant").is_none()
    {
        out.refuse(foreign.pos, Problem::NobodyIsForeign);
    }
    Some(guardrail)
}

/// A list of labels that is not empty: an empty one would read as "nowhere" to some and as
/// "anywhere" to others.
pub(crate) fn labels(
    form: &Form<'_>,
    key: &'static str,
    out: &mut Refusals,
) -> Option<At<Vec<SmolStr>>> {
    form.get(key)?;
    let already = out.count();
    let mut value: Vec<SmolStr> = form
        .list(key, out)
        .iter()
        .filter_map(|item| form::label(item, key, out))
        .map(|label| label.value)
        .collect();
    value.sort();
    value.dedup();
    let pos = form.pos_of(key);
    if value.is_empty() {
        if out.count() == already {
            out.refuse(pos, Problem::EmptyList { key });
        }
        return None;
    }
    Some(At { value, pos })
}

/// Refuses a reference to a tenant that no document describes.
pub(crate) fn check_tenant(tenant: &At<TenantName>, papers: &Papers, out: &mut Refusals) -> bool {
    let names = || papers.tenants.iter().map(|tenant| tenant.name.value.as_str());
    let known = names().any(|name| name == tenant.value.as_str());
    if !known {
        let problem = Problem::Dangling {
            kind: "tenant",
            name: tenant.value.to_string(),
            near: out.near(tenant.value.as_str(), names()),
        };
        out.refuse(tenant.pos, problem);
    }
    known
}

impl Guardrails {
    /// The guardrails that hold for a tenant.
    pub(crate) fn over(&self, tenant: &TenantName) -> impl Iterator<Item = &Guardrail> {
        self.0.values().filter(move |rail| match &rail.tenant {
            None => true,
            Some(root) => is_within(tenant, root),
        })
    }
}

/// Whether a tenant is another one or below it.
pub(crate) fn is_within(tenant: &TenantName, root: &TenantName) -> bool {
    tenant
        .as_str()
        .strip_prefix(root.as_str())
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
