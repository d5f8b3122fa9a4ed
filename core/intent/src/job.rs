//! Jobs: what they ask for, and that nobody else asks for the same interface.

use std::collections::BTreeMap;

use model::{
    Fleet, Job, JobName, Name, NicRef, NodeId, PodId, Rate, TenantName, TrafficClass, Want,
};
use smol_str::SmolStr;

use crate::Problem;
use crate::document::{Document, Papers, refuse_duplicate};
use crate::form::{self, Form, Shape};
use crate::guardrail::check_tenant;
use crate::refusal::Refusals;
use crate::tenant::Tenants;
use crate::terms;
use crate::tree::{At, Pos, Tree};

/// All jobs that have a document with a name and a tenant.
pub(crate) struct Jobs {
    /// Also those whose document is refused.
    named: BTreeMap<JobName, Pos>,
    jobs: BTreeMap<JobName, Job>,
}

const JOB: Shape = Shape {
    what: "a job",
    needs: &["tenant"],
    may: &[
        "gpus",
        "endpoints",
        "slices",
        "class",
        "ceiling",
        "pod",
        "product",
        "within",
        "segment",
        "site",
        "capacity",
        "preempts",
    ],
};

/// What a job may ask for: exactly one of these.
const WANTS: &[&str] = &["gpus", "endpoints", "slices"];

const SLICES: Shape = Shape { what: "slices", needs: &["profile", "count"], may: &[] };

/// No gang is larger, because no gang leaves its pod.
const MOST_GPUS: u64 = 16_384;

pub(crate) fn read(
    papers: &Papers,
    fleet: Option<&Fleet>,
    tenants: &Tenants,
    out: &mut Refusals,
) -> Jobs {
    let mut reading = Reading {
        places: fleet.map(Places::of),
        taken: BTreeMap::new(),
        jobs: Jobs { named: BTreeMap::new(), jobs: BTreeMap::new() },
        out,
    };
    let mut owners: BTreeMap<TenantName, JobName> = BTreeMap::new();
    for document in &papers.jobs {
        let Some(name) = reading.job(document, papers, tenants) else {
            continue;
        };
        owners.entry(name.tenant.clone()).or_insert(name);
    }
    for (owner, job) in owners {
        if let Some(tenant) = tenants.get(&owner)
            && !tenant.pools_said
        {
            let problem = Problem::NoPool { tenant: owner.to_string(), job: job.to_string() };
            reading.out.refuse(tenant.pos, problem);
        }
    }
    reading.jobs
}

struct Reading<'a> {
    places: Option<Places<'a>>,
    /// Who asked first for each interface.
    taken: BTreeMap<NicRef, (JobName, Pos)>,
    jobs: Jobs,
    out: &'a mut Refusals,
}

/// The nodes and pods of a fleet by name.
struct Places<'f> {
    fleet: &'f Fleet,
    nodes: BTreeMap<&'f str, NodeId>,
}

impl Reading<'_> {
    /// Reads one job and gives its name, if it has one.
    fn job(&mut self, document: &Document, papers: &Papers, tenants: &Tenants) -> Option<JobName> {
        let name = form::name::<Name>(&document.name, self.out);
        let form = Form::open(&document.spec, &JOB, self.out)?;
        let tenant = form.name::<TenantName>("tenant", self.out);
        let known = tenant.as_ref().is_none_or(|tenant| {
            tenants.get(&tenant.value).is_some() || check_tenant(tenant, papers, self.out)
        });
        let full = name.zip(tenant).map(|(name, tenant)| JobName { tenant: tenant.value, name });
        let class = form.word::<TrafficClass>("class", self.out);
        let ceiling = form.rate("ceiling", self.out);
        let pod = self.pod(&form);
        let want = self.want(&form, full.as_ref(), pod.as_ref());
        let fleet = self.places.as_ref().map(|places| places.fleet);
        let terms = terms::read(&form, want.as_ref(), fleet, self.out);
        let full = full.filter(|_| known)?;
        let pos = document.name.pos;
        self.check_name(&full, pos, tenants);
        self.check_ceiling(&full, ceiling, tenants);
        if let Some(first) = self.jobs.named.get(&full) {
            refuse_duplicate("job", &full, pos, *first, self.out);
            return Some(full);
        }
        self.jobs.named.insert(full.clone(), pos);
        if let Some(want) = want {
            let job = Job {
                name: full.clone(),
                want,
                class: class.map(|class| class.value).unwrap_or_default(),
                ceiling: ceiling.map(|ceiling| ceiling.value),
                pod: pod.map(|(pod, _)| pod.value),
                terms,
            };
            self.jobs.jobs.insert(full.clone(), job);
        }
        Some(full)
    }

    /// A job and a tenant of one path would be one word for two owners.
    fn check_name(&mut self, job: &JobName, pos: Pos, tenants: &Tenants) {
        let path = job.to_string();
        let tenant = path.parse().ok().and_then(|path| tenants.get(&path));
        if let Some(tenant) = tenant {
            let place = self.out.place(tenant.pos);
            self.out.refuse(pos, Problem::JobIsTenant { path, place });
        }
    }

    /// A ceiling that the tenant's cuts off would promise what nobody gets.
    fn check_ceiling(&mut self, job: &JobName, ceiling: Option<At<Rate>>, tenants: &Tenants) {
        let above = tenants.get(&job.tenant).and_then(|tenant| tenant.ceiling);
        if let (Some(ceiling), Some(above)) = (ceiling, above)
            && ceiling.value > above.value
        {
            let problem = Problem::CeilingAboveTenant {
                job: job.to_string(),
                ceiling: ceiling.value.to_string(),
                above: above.value.to_string(),
                place: self.out.place(above.pos),
            };
            self.out.refuse(ceiling.pos, problem);
        }
    }

    fn pod(&mut self, form: &Form<'_>) -> Option<(At<Name>, Option<PodId>)> {
        let pod = form.name::<Name>("pod", self.out)?;
        let Some(places) = &self.places else {
            return Some((pod, None));
        };
        let pods = || places.fleet.pods.iter().map(|pod| pod.name.as_str());
        let id = (0..).zip(pods()).find(|(_, name)| *name == pod.value.as_str());
        if id.is_none() {
            let problem = Problem::Dangling {
                kind: "pod",
                name: pod.value.to_string(),
                near: self.out.near(pod.value.as_str(), pods()),
            };
            self.out.refuse(pod.pos, problem);
        }
        Some((pod, id.map(|(id, _)| PodId(id))))
    }

    fn want(
        &mut self,
        form: &Form<'_>,
        job: Option<&JobName>,
        pod: Option<&(At<Name>, Option<PodId>)>,
    ) -> Option<Want> {
        let given = || WANTS.iter().copied().filter(|key| form.get(key).is_some());
        match given().collect::<Vec<_>>()[..] {
            ["gpus"] => {
                form.number("gpus", 1, MOST_GPUS, self.out).map(|gpus| Want::Gpus(gpus.value))
            }
            ["endpoints"] => {
                let items = form.list("endpoints", self.out);
                let tree = form.get("endpoints")?;
                if items.is_empty() && matches!(tree.value, crate::tree::Value::List(_)) {
                    let key = "endpoints";
                    self.out.refuse(tree.pos, Problem::EmptyList { key });
                }
                self.endpoints(items, job, pod.and_then(|(_, id)| *id))
            }
            ["slices"] => self.slices(form),
            _ => {
                let problem = Problem::EitherOr { keys: WANTS, given: given().collect() };
                self.out.refuse(form.pos, problem);
                None
            }
        }
    }

    fn slices(&mut self, form: &Form<'_>) -> Option<Want> {
        let slices = form.form("slices", &SLICES, self.out)?;
        let profile = slices.get("profile").and_then(|tree| form::label(tree, "profile", self.out));
        let count = slices.number("count", 1, MOST_GPUS, self.out);
        Some(Want::Slices { profile: profile?.value, count: count?.value })
    }

    fn endpoints(
        &mut self,
        items: &[Tree],
        job: Option<&JobName>,
        pod: Option<PodId>,
    ) -> Option<Want> {
        let mut endpoints = Vec::with_capacity(items.len());
        let mut home = pod;
        for item in items {
            let Some(text) = form::text(item, "endpoints", self.out) else {
                continue;
            };
            let Some(endpoint) = self.endpoint(&text) else {
                continue;
            };
            self.take(&text, endpoint, job);
            self.stay_home(&text, endpoint, &mut home);
            endpoints.push(endpoint);
        }
        (endpoints.len() == items.len()).then_some(Want::Endpoints(endpoints))
    }

    fn endpoint(&mut self, text: &At<SmolStr>) -> Option<NicRef> {
        let parts = text.value.rsplit_once('/');
        let Some((node, nic)) = parts.and_then(|(node, nic)| Some((node, nic.parse().ok()?)))
        else {
            let problem = Problem::BadValue {
                key: "endpoints",
                found: form::shown(&text.value),
                expected: "a node and the number of its interface from 0, such as n1/0".into(),
            };
            self.out.refuse(text.pos, problem);
            return None;
        };
        let places = self.places.as_ref()?;
        let Some(&id) = places.nodes.get(node) else {
            let problem = Problem::Dangling {
                kind: "node",
                name: form::shown(node),
                near: self.out.near(node, places.nodes.keys().copied()),
            };
            self.out.refuse(text.pos, problem);
            return None;
        };
        let count = places.fleet.nodes[id.index()].uplinks.len();
        if usize::from(nic) >= count {
            let problem = Problem::NoSuchNic { node: node.to_owned(), nic, count };
            self.out.refuse(text.pos, problem);
            return None;
        }
        Some(NicRef { node: id, nic })
    }

    /// One owner for each interface.
    fn take(&mut self, text: &At<SmolStr>, endpoint: NicRef, job: Option<&JobName>) {
        match (self.taken.get(&endpoint), job) {
            (Some((other, place)), _) => {
                let problem = Problem::EndpointTaken {
                    endpoint: text.value.to_string(),
                    job: other.to_string(),
                    place: self.out.place(*place),
                };
                self.out.refuse(text.pos, problem);
            }
            (None, Some(job)) => {
                self.taken.insert(endpoint, (job.clone(), text.pos));
            }
            (None, None) => {}
        }
    }

    /// A job never leaves its pod: the one it names, or that of its first endpoint.
    fn stay_home(&mut self, text: &At<SmolStr>, endpoint: NicRef, home: &mut Option<PodId>) {
        let Some(places) = &self.places else {
            return;
        };
        let pod = places.fleet.nodes[endpoint.node.index()].pod;
        let home = *home.get_or_insert(pod);
        if pod != home {
            let name = |pod: PodId| places.fleet.pods[pod.index()].name.to_string();
            let problem = Problem::LeavesPod {
                endpoint: text.value.to_string(),
                pod: name(pod),
                home: name(home),
            };
            self.out.refuse(text.pos, problem);
        }
    }
}

impl<'f> Places<'f> {
    fn of(fleet: &'f Fleet) -> Self {
        let nodes = (0..).zip(&fleet.nodes);
        Self { fleet, nodes: nodes.map(|(id, node)| (node.name.as_str(), NodeId(id))).collect() }
    }
}

impl Jobs {
    pub(crate) fn has(&self, job: &JobName) -> bool {
        self.named.contains_key(job)
    }

    /// The names of a tenant's jobs.
    pub(crate) fn of(&self, tenant: &TenantName) -> impl Iterator<Item = &str> {
        self.named.keys().filter(move |job| job.tenant == *tenant).map(|job| job.name.as_str())
    }

    pub(crate) fn accepted(self) -> BTreeMap<JobName, Job> {
        self.jobs
    }
}
