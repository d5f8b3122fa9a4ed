//! Tenants, with what they inherit filled in. What a document does not say comes from above:
//! from its parent and from the guardrails; what it says may be stricter, never weaker.

mod apart;
mod attest;
mod quota;

use std::collections::BTreeMap;
use std::fmt::Display;
use std::net::Ipv4Addr;

use ipnet::Ipv4Net;
use model::{Apart, Confidential, Dialect, Fleet, Grade, Rate, Tenant, TenantName, VersionPolicy};
use smol_str::SmolStr;

use crate::Problem;
use crate::document::{Document, Papers, refuse_duplicate};
use crate::form::{self, Form, Shape};
use crate::guardrail::{Guardrail, Guardrails, labels};
use crate::refusal::Refusals;
use crate::tree::{At, Pos};
use attest::Demand;
use quota::{Purchases, Quota};

/// All tenants that have a document, also those whose document is refused.
pub(crate) struct Tenants(BTreeMap<TenantName, Settled>);

/// A tenant with the places that its values come from, its own or those above.
pub(crate) struct Settled {
    pub(crate) pos: Pos,
    grade: At<Grade>,
    pub(crate) pools: Vec<Ipv4Net>,
    /// Whether it or a tenant above said its pools, be they accepted or not.
    pub(crate) pools_said: bool,
    guarantee: Option<Rate>,
    pub(crate) ceiling: Option<At<Rate>>,
    quota: Quota,
    apart: Vec<At<Apart>>,
    versions: BTreeMap<&'static str, At<SmolStr>>,
    secure_boot: Option<At<bool>>,
    jurisdictions: Option<At<Vec<SmolStr>>>,
    groups: Vec<SmolStr>,
    confidential: Option<Confidential>,
    attestation: Option<Demand>,
}

/// What one document says.
#[derive(Default)]
struct Said {
    grade: Option<At<Grade>>,
    pools: Option<Vec<Ipv4Net>>,
    guarantee: Option<At<Rate>>,
    ceiling: Option<At<Rate>>,
    quota: Quota,
    apart: Vec<At<Apart>>,
    versions: BTreeMap<&'static str, At<SmolStr>>,
    secure_boot: Option<At<bool>>,
    jurisdictions: Option<At<Vec<SmolStr>>>,
    groups: Vec<SmolStr>,
    confidential: Option<At<Confidential>>,
    attestation: Option<Demand>,
}

const TENANT: Shape = Shape {
    what: "a tenant",
    needs: &[],
    may: &[
        "grade",
        "pools",
        "guarantee",
        "ceiling",
        "quota",
        "apartFrom",
        "apartLevel",
        "versions",
        "jurisdictions",
        "groups",
        "confidential",
        "attestation",
    ],
};

/// The components whose versions a tenant may demand.
const COMPONENTS: [&str; 4] = ["driver", "kernel", "firmware", "toolkit"];

const VERSIONS: Shape = Shape {
    what: "a version policy",
    needs: &[],
    may: &["driver", "kernel", "firmware", "toolkit", "secureBoot"],
};

/// A longer prefix has no room for network, gateway, broadcast and some endpoints.
const LONGEST_PREFIX: u8 = 29;

pub(crate) fn read(
    papers: &Papers,
    (fleet, fabric): (Option<&Fleet>, &[Ipv4Net]),
    guardrails: &Guardrails,
    out: &mut Refusals,
) -> Tenants {
    let mut said: BTreeMap<TenantName, (Pos, Said)> = BTreeMap::new();
    for document in &papers.tenants {
        let pos = document.name.pos;
        let Some(name) = form::name::<TenantName>(&document.name, out) else {
            read_one(document, papers, fabric, out);
            continue;
        };
        match said.get(&name) {
            Some((first, _)) => refuse_duplicate("tenant", &name, pos, *first, out),
            None => {
                said.insert(name, (pos, read_one(document, papers, fabric, out)));
            }
        }
    }
    // A parent sorts before its children, so it is settled when they need it.
    let mut tenants = Tenants(BTreeMap::new());
    let mut purchases = Purchases::default();
    for (name, (pos, said)) in said {
        if let Some(reserved) = said.quota.reserved {
            purchases.note(&name, reserved, out);
        }
        if let Some(fleet) = fleet {
            refuse_unseen(&said, fleet, out);
        }
        let settled = settle(&At { value: &name, pos }, said, &tenants, guardrails, out);
        tenants.0.insert(name, settled);
    }
    tenants
}

/// A demand that no layer of the fleet could show to be met counts as not met.
fn refuse_unseen(said: &Said, fleet: &Fleet, out: &mut Refusals) {
    let has = |layer| fleet.layers.dialects.contains(&layer);
    if let Some(demand) = &said.attestation
        && !has(Dialect::Attest)
    {
        out.refuse(demand.pos, Problem::Unseen { demand: "attestation", layer: "attest" });
    }
    if let Some(demand) = &said.confidential
        && !has(Dialect::Vm)
        && !has(Dialect::Kubernetes)
    {
        out.refuse(demand.pos, Problem::Unseen { demand: "confidential", layer: "vm" });
    }
}

fn read_one(document: &Document, papers: &Papers, fabric: &[Ipv4Net], out: &mut Refusals) -> Said {
    let Some(form) = Form::open(&document.spec, &TENANT, out) else {
        return Said::default();
    };
    let versions = form.form("versions", &VERSIONS, out);
    Said {
        grade: form.word("grade", out),
        pools: form.get("pools").map(|_| pools(&form, fabric, out)),
        guarantee: form.rate("guarantee", out),
        ceiling: form.rate("ceiling", out),
        quota: quota::read(&form, out),
        apart: apart::read(&form, papers, out),
        versions: versions.map(|form| least(&form, out)).unwrap_or_default(),
        secure_boot: versions.and_then(|form| form.truth("secureBoot", out)),
        jurisdictions: labels(&form, "jurisdictions", out),
        groups: form
            .list("groups", out)
            .iter()
            .filter_map(|item| form::label(item, "groups", out))
            .map(|group| group.value)
            .collect(),
        confidential: form.word("confidential", out),
        attestation: attest::read(&form, out),
    }
}

fn pools(form: &Form<'_>, fabric: &[Ipv4Net], out: &mut Refusals) -> Vec<Ipv4Net> {
    let mut pools: Vec<At<Ipv4Net>> = Vec::new();
    for item in form.list("pools", out) {
        let Some(pool) = form::net(item, "pools", out) else {
            continue;
        };
        if pool.value.prefix_len() > LONGEST_PREFIX {
            let problem =
                Problem::PrefixTooLong { found: pool.value.to_string(), longest: LONGEST_PREFIX };
            out.refuse(pool.pos, problem);
        }
        if let Some(problem) = unusable(pool.value, fabric) {
            out.refuse(pool.pos, problem);
        }
        let overlapped = pools.iter().find(|other| overlap(other.value, pool.value));
        if let Some(other) = overlapped {
            let problem = Problem::RangesOverlap {
                range: pool.value.to_string(),
                other: other.value.to_string(),
                place: out.place(other.pos),
            };
            out.refuse(pool.pos, problem);
        }
        pools.push(pool);
    }
    pools.into_iter().map(|pool| pool.value).collect()
}

/// Ranges of which no endpoint can have an address (RFC 6890, section 2.2.2; RFC 5771).
const RESERVED: [(Ipv4Net, &str); 5] = [
    (Ipv4Net::new_assert(Ipv4Addr::new(0, 0, 0, 0), 8), "no network at all"),
    (Ipv4Net::new_assert(Ipv4Addr::new(127, 0, 0, 0), 8), "each host's own"),
    (Ipv4Net::new_assert(Ipv4Addr::new(169, 254, 0, 0), 16), "of one cable only"),
    (Ipv4Net::new_assert(Ipv4Addr::new(224, 0, 0, 0), 4), "for groups"),
    (Ipv4Net::new_assert(Ipv4Addr::new(240, 0, 0, 0), 4), "reserved"),
];

/// Why endpoints cannot have addresses of a range, or the fabric must keep them.
fn unusable(pool: Ipv4Net, fabric: &[Ipv4Net]) -> Option<Problem> {
    let found = pool.to_string();
    if let Some((range, what)) = RESERVED.iter().find(|(range, _)| overlap(*range, pool)) {
        return Some(Problem::PoolReserved { found, range: range.to_string(), what });
    }
    let range = fabric.iter().find(|range| overlap(**range, pool))?.to_string();
    Some(Problem::PoolInFabric { found, range })
}

/// Whether two ranges have an address in common. Ranges are blocks: one holds the other, or not.
pub(crate) fn overlap(a: Ipv4Net, b: Ipv4Net) -> bool {
    a.contains(&b) || b.contains(&a)
}

/// The least versions, written `>=550.90` or `550.90`.
fn least(form: &Form<'_>, out: &mut Refusals) -> BTreeMap<&'static str, At<SmolStr>> {
    let mut versions = BTreeMap::new();
    for key in COMPONENTS {
        let found = form.get(key).and_then(|tree| form::label(tree, key, out));
        let Some(found) = found else {
            continue;
        };
        let version = found.value.strip_prefix(">=").unwrap_or(&found.value);
        if version.starts_with(|first: char| first.is_ascii_digit()) {
            let value = SmolStr::from(version);
            versions.insert(key, At { value, ..found });
        } else {
            let problem = Problem::BadValue {
                key,
                found: found.value.to_string(),
                expected: "the least version, such as `>=550.90` or `550.90`".into(),
            };
            out.refuse(found.pos, problem);
        }
    }
    versions
}

fn settle(
    name: &At<&TenantName>,
    said: Said,
    tenants: &Tenants,
    guardrails: &Guardrails,
    out: &mut Refusals,
) -> Settled {
    let parent_name = name.value.parent();
    let parent = parent_name
        .as_ref()
        .and_then(|parent| tenants.get(parent).map(|settled| (parent, settled)));
    if let (Some(parent), None) = (&parent_name, parent) {
        let problem =
            Problem::NoParent { tenant: name.value.to_string(), parent: parent.to_string() };
        out.refuse(name.pos, problem);
    }
    let rails: Vec<&Guardrail> = guardrails.over(name.value).collect();
    let mut above = Above { tenant: name.value, parent: parent.map(|(parent, _)| parent), out };
    let parent = parent.map(|(_, settled)| settled);

    let default = At { value: Grade::Node, pos: name.pos };
    let inherited = parent.map_or(default, |parent| parent.grade);
    let limits = limits(&rails, |rail| rail.weakest_grade);
    let grade = above.at_most("grade", said.grade, Some(inherited), limits);
    let ceiling = above.at_most(
        "ceiling",
        said.ceiling,
        parent.and_then(|parent| parent.ceiling),
        self::limits(&rails, |rail| rail.max_ceiling),
    );
    let quota =
        said.quota.settle(parent.map(|parent| (parent.quota, parent.pos)), &rails, &mut above);
    above.check_guarantee(said.guarantee, ceiling);
    let (pools, pools_said) = match (said.pools, parent) {
        (Some(pools), _) => (pools, true),
        (None, Some(parent)) => (parent.pools.clone(), parent.pools_said),
        // Without its parent nobody knows what it inherits.
        (None, None) => (Vec::new(), parent_name.is_some()),
    };
    let confidential = said.confidential.map(|at| at.value);
    let confidential = confidential.or_else(|| parent.and_then(|parent| parent.confidential));
    Settled {
        pos: name.pos,
        grade: grade.unwrap_or(inherited),
        pools,
        pools_said,
        guarantee: said.guarantee.map(|rate| rate.value),
        ceiling,
        quota,
        apart: apart::settle(said.apart, parent.map_or(&[], |parent| &parent.apart), &mut above),
        versions: above.versions(said.versions, parent),
        secure_boot: above.secure_boot(said.secure_boot, parent),
        jurisdictions: above.jurisdictions(said.jurisdictions, parent, &rails, name.pos),
        groups: said.groups,
        attestation: above.attestation(said.attestation, parent, confidential),
        confidential,
    }
}

fn limits<T>(
    rails: &[&Guardrail],
    limit: impl Fn(&Guardrail) -> Option<At<T>>,
) -> Vec<(String, At<T>)> {
    rails.iter().filter_map(|rail| Some((rail.name.value.to_string(), limit(rail)?))).collect()
}

/// A tenant seen from above: its own words against its parent's and the guardrails'.
struct Above<'a> {
    tenant: &'a TenantName,
    parent: Option<&'a TenantName>,
    out: &'a mut Refusals,
}

impl Above<'_> {
    /// Grades, quotas and ceilings alike: the greater is the weaker.
    fn at_most<T: Copy + Display + PartialOrd>(
        &mut self,
        what: &'static str,
        own: Option<At<T>>,
        inherited: Option<At<T>>,
        limits: Vec<(String, At<T>)>,
    ) -> Option<At<T>> {
        let already = self.out.count();
        let mut least = inherited;
        for (guardrail, limit) in limits {
            if let Some(own) = own.filter(|own| own.value > limit.value) {
                self.refuse_by_guardrail(what, own, guardrail, &limit);
            }
            if least.is_none_or(|least| limit.value < least.value) {
                least = Some(limit);
            }
        }
        let own = own.or(least)?;
        // A root's own default is nothing it inherits.
        let inherited = inherited.filter(|_| self.parent.is_some());
        if let Some(inherited) = inherited.filter(|inherited| own.value > inherited.value)
            && self.out.count() == already
        {
            self.refuse_weaker(what, own.pos, &own.value, &inherited.value, inherited.pos);
        }
        Some(own)
    }

    fn check_guarantee(&mut self, guarantee: Option<At<Rate>>, ceiling: Option<At<Rate>>) {
        if let (Some(guarantee), Some(ceiling)) = (guarantee, ceiling)
            && guarantee.value > ceiling.value
        {
            let problem = Problem::GuaranteeAboveCeiling {
                tenant: self.tenant.to_string(),
                guarantee: guarantee.value.to_string(),
                ceiling: ceiling.value.to_string(),
                place: self.out.place(ceiling.pos),
            };
            self.out.refuse(guarantee.pos, problem);
        }
    }

    fn versions(
        &mut self,
        mut own: BTreeMap<&'static str, At<SmolStr>>,
        parent: Option<&Settled>,
    ) -> BTreeMap<&'static str, At<SmolStr>> {
        let inherited = parent.into_iter().flat_map(|parent| &parent.versions);
        for (component, above) in inherited {
            let said = own.entry(component).or_insert_with(|| above.clone());
            if model::compare_versions(&said.value, &above.value).is_lt() {
                let said = said.clone();
                self.refuse_weaker(component, said.pos, &said.value, &above.value, above.pos);
            }
        }
        own
    }

    fn secure_boot(&mut self, own: Option<At<bool>>, parent: Option<&Settled>) -> Option<At<bool>> {
        let inherited = parent.and_then(|parent| parent.secure_boot);
        if let (Some(own), Some(above)) = (own, inherited)
            && above.value
            && !own.value
        {
            self.refuse_weaker("secureBoot", own.pos, &own.value, &above.value, above.pos);
        }
        own.or(inherited)
    }

    fn jurisdictions(
        &mut self,
        own: Option<At<Vec<SmolStr>>>,
        parent: Option<&Settled>,
        rails: &[&Guardrail],
        pos: Pos,
    ) -> Option<At<Vec<SmolStr>>> {
        let already = self.out.count();
        let limits = limits(rails, |rail| rail.jurisdictions.clone());
        let inherited = parent.and_then(|parent| parent.jurisdictions.as_ref());
        if let Some(own) = own {
            for (guardrail, limit) in limits {
                if let Some(place) = first_outside(&own.value, &limit.value) {
                    let own = At { value: place, pos: own.pos };
                    let limit = At { value: limit.value.join(", "), pos: limit.pos };
                    self.refuse_by_guardrail("jurisdictions", own, guardrail, &limit);
                }
            }
            if let Some(above) = inherited
                && let Some(place) = first_outside(&own.value, &above.value)
                && self.out.count() == already
            {
                let allowed = above.value.join(", ");
                self.refuse_weaker("jurisdictions", own.pos, &place, &allowed, above.pos);
            }
            return Some(own);
        }
        // What is empty above was refused there.
        if let Some(above) = inherited.filter(|above| above.value.is_empty()) {
            return Some(above.clone());
        }
        let all = inherited.into_iter().cloned().chain(limits.into_iter().map(|(_, limit)| limit));
        let both = all.reduce(|mut both, limit| {
            both.value.retain(|place| limit.value.contains(place));
            both
        });
        if both.as_ref().is_some_and(|both| both.value.is_empty()) {
            let tenant = self.tenant.to_string();
            self.out.refuse(pos, Problem::NoJurisdictionLeft { tenant });
        }
        both
    }

    fn refuse_by_guardrail<T: Display>(
        &mut self,
        what: &'static str,
        own: At<T>,
        guardrail: String,
        limit: &At<T>,
    ) {
        let problem = Problem::BreaksGuardrail {
            what,
            tenant: self.tenant.to_string(),
            own: own.value.to_string(),
            guardrail,
            limit: limit.value.to_string(),
            place: self.out.place(limit.pos),
        };
        self.out.refuse(own.pos, problem);
    }

    fn refuse_weaker(
        &mut self,
        what: &'static str,
        pos: Pos,
        own: &dyn Display,
        above: &dyn Display,
        above_pos: Pos,
    ) {
        let problem = Problem::Weaker {
            what,
            tenant: self.tenant.to_string(),
            own: own.to_string(),
            parent: self.parent.map(ToString::to_string).unwrap_or_default(),
            above: above.to_string(),
            place: self.out.place(above_pos),
        };
        self.out.refuse(pos, problem);
    }
}

fn first_outside(places: &[SmolStr], allowed: &[SmolStr]) -> Option<String> {
    let outside = places.iter().find(|place| !allowed.contains(place));
    outside.map(ToString::to_string)
}

impl Tenants {
    pub(crate) fn get(&self, name: &TenantName) -> Option<&Settled> {
        self.0.get(name)
    }

    pub(crate) fn accepted(self) -> BTreeMap<TenantName, Tenant> {
        self.0
            .into_iter()
            .map(|(name, settled)| (name.clone(), settled.into_tenant(name)))
            .collect()
    }
}

impl Settled {
    fn into_tenant(self, name: TenantName) -> Tenant {
        Tenant {
            name,
            grade: self.grade.value,
            pools: self.pools,
            guarantee: self.guarantee,
            ceiling: self.ceiling.map(|rate| rate.value),
            quota_gpus: self.quota.gpus.map(|gpus| gpus.value),
            quotas: self.quota.by_class(),
            apart: self.apart.into_iter().map(|apart| apart.value).collect(),
            versions: VersionPolicy {
                at_least: self
                    .versions
                    .into_iter()
                    .map(|(component, version)| (component.into(), version.value))
                    .collect(),
                secure_boot: self.secure_boot.is_some_and(|at| at.value),
            },
            jurisdictions: self.jurisdictions.map(|at| at.value).unwrap_or_default(),
            groups: self.groups,
            confidential: self.confidential,
            attestation: self.attestation.map(Demand::into_attestation),
        }
    }
}
