//! Whom a tenant keeps away from. Below it, others can only be added.

use model::{Apart, ApartLevel, TenantName};

use super::Above;
use crate::Problem;
use crate::document::Papers;
use crate::form::{self, Form};
use crate::guardrail::{check_tenant, is_within};
use crate::refusal::Refusals;
use crate::tree::At;

/// Racks share a leaf, and a noisy or curious neighbour is nearest there.
const DEFAULT_LEVEL: ApartLevel = ApartLevel::Leaf;

pub(super) fn read(form: &Form<'_>, papers: &Papers, out: &mut Refusals) -> Vec<At<Apart>> {
    let level = form.word::<ApartLevel>("apartLevel", out);
    if let (Some(level), None) = (level, form.get("apartFrom")) {
        let within = "a tenant with an `apartLevel`";
        out.refuse(level.pos, Problem::MissingKey { key: "apartFrom", within });
    }
    let level = level.map_or(DEFAULT_LEVEL, |at| at.value);
    let mut apart: Vec<At<Apart>> = Vec::new();
    for item in form.list("apartFrom", out) {
        let Some(text) = form::text(item, "apartFrom", out) else {
            continue;
        };
        let Some(from) = form::name::<TenantName>(&text, out) else {
            continue;
        };
        if check_tenant(&At { value: from.clone(), pos: text.pos }, papers, out) {
            apart.push(At { value: Apart { from, level }, pos: text.pos });
        }
    }
    apart
}

/// Adds what is inherited to what a tenant says itself.
pub(super) fn settle(
    mut own: Vec<At<Apart>>,
    inherited: &[At<Apart>],
    above: &mut Above<'_>,
) -> Vec<At<Apart>> {
    for apart in &own {
        above.check_stranger(apart);
        let said = inherited.iter().find(|said| said.value.from == apart.value.from);
        if let Some(said) = said.filter(|said| apart.value.level < said.value.level) {
            let (level, wider) = (&apart.value.level, &said.value.level);
            above.refuse_weaker("apartLevel", apart.pos, level, wider, said.pos);
        }
    }
    let named = |from: &TenantName, own: &[At<Apart>]| own.iter().any(|at| at.value.from == *from);
    let missing = inherited.iter().filter(|said| !named(&said.value.from, &own));
    let missing: Vec<At<Apart>> = missing.cloned().collect();
    own.extend(missing);
    own.sort_by(|a, b| a.value.cmp(&b.value));
    own.dedup_by(|a, b| a.value == b.value);
    own
}

impl Above<'_> {
    /// Nobody can keep away from its own kin: it inherits from there, or it is inherited there.
    fn check_stranger(&mut self, apart: &At<Apart>) {
        let (tenant, from) = (self.tenant, &apart.value.from);
        if is_within(tenant, from) || is_within(from, tenant) {
            let problem =
                Problem::ApartFromItself { tenant: tenant.to_string(), from: from.to_string() };
            self.out.refuse(apart.pos, problem);
        }
    }
}
