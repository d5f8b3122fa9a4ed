//! Whatever happens, in whatever order: what every plan and every ledger keeps.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    Consent, DeviceId, Generation, Grade, Job, JobName, Name, NicRef, NodeId, Part, Rate,
    TenantName, Want,
};
use proptest::prelude::*;

use super::world::{World, job, scrubbed};
use crate::{Choice, Lease, Ledger, Plan, Planner, Resting};

/// One thing that can happen.
#[derive(Clone, Debug)]
enum Step {
    Admit { job: usize, want: Want },
    Release { job: usize },
    Seen { device: usize, generations_ago: u64 },
    SeenByAll,
    Scrub,
    Seal,
}

const JOBS: [&str; 8] =
    ["acme/a", "acme/b", "acme/sub/c", "acme/sub/d", "blue/e", "blue/f", "dom/g", "lime/h"];

const DEVICES: [&str; 6] = ["leaf-1", "leaf-2", "leaf-3", "leaf-4", "n7", "n8"];

/// Few numbers, so that they are soon used again, and consents in all directions.
fn world() -> World {
    let mut world = World::new();
    world.tell(
        "scrub hbm nic
         bound tags 6
         bound numbers 4
         bound vlans 3
         bound selectors 3
         tenant acme grade gpu quota 8 pool 10.0.0.0/27
         tenant acme/sub grade gpu quota 5 pool 10.0.0.0/27
         tenant blue grade node pool 10.1.0.0/28
         tenant dom grade domain pool 10.1.0.0/27
         tenant lime grade slice pool 10.2.0.0/27
         consent acme/a blue/e 2049
         consent acme/b blue/e 2049
         consent blue/f acme/sub/c 443
         consent acme/a acme/b 80
         consent lime/h blue/e 2049",
    );
    world
}

/// Every second job has a ceiling.
fn asked(which: usize, want: &Want) -> Job {
    let bps = 1_000_000_000 * which as u64;
    let ceiling = (which % 2 == 1).then_some(Rate { bps });
    Job { ceiling, ..job(JOBS[which], want.clone()) }
}

fn want() -> impl Strategy<Value = Want> {
    let nic = (0_u32..8, 0_u16..2).prop_map(|(node, nic)| NicRef { node: NodeId(node), nic });
    prop_oneof![
        (1_u32..5).prop_map(Want::Gpus),
        proptest::collection::btree_set(nic, 1..4)
            .prop_map(|nics| Want::Endpoints(nics.into_iter().collect())),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let any_job = 0..JOBS.len();
    prop_oneof![
        4 => (any_job.clone(), want()).prop_map(|(job, want)| Step::Admit { job, want }),
        2 => any_job.prop_map(|job| Step::Release { job }),
        4 => (0..DEVICES.len(), 0_u64..2)
            .prop_map(|(device, generations_ago)| Step::Seen { device, generations_ago }),
        1 => Just(Step::SeenByAll),
        3 => Just(Step::Scrub),
        2 => Just(Step::Seal),
    ]
}

/// A planner that walks a trace, with all it ever wrote.
struct Walk {
    world: World,
    planner: Planner,
    written: Vec<Choice>,
}

impl Walk {
    fn new() -> Self {
        let world = world();
        let planner = world.planner().unwrap();
        Self { world, planner, written: Vec::new() }
    }

    /// Does one step and checks that it touched exactly what it said.
    fn step(&mut self, step: &Step) -> Result<(), TestCaseError> {
        let before = parts(self.planner.plan());
        let said = match step {
            Step::Admit { job: which, want } => {
                let job = asked(*which, want);
                let touched = self.planner.admit(&job);
                if touched.is_ok() {
                    self.world.intent.jobs.insert(job.name.clone(), job);
                }
                touched.ok()
            }
            Step::Release { job } => {
                let job: JobName = JOBS[*job].parse().unwrap();
                self.world.intent.jobs.remove(&job);
                self.planner.release(&job).ok()
            }
            Step::Seen { device, generations_ago } => {
                let last = self.planner.ledger().generation().0;
                let generation = Generation(last.saturating_sub(*generations_ago));
                let device = DEVICES[*device].parse().unwrap();
                self.planner.seen(&device, generation).unwrap();
                None
            }
            Step::SeenByAll => {
                let generation = self.planner.ledger().generation();
                for device in DEVICES {
                    self.planner.seen(&device.parse().unwrap(), generation).unwrap();
                }
                None
            }
            Step::Scrub => {
                for (node, job) in ready_to_scrub(self.planner.ledger()) {
                    let Choice::Scrubbed { evidence, .. } = scrubbed(&node, &job, &["hbm", "nic"])
                    else {
                        unreachable!()
                    };
                    self.planner.scrubbed(&node, &job, evidence).unwrap();
                }
                None
            }
            Step::Seal => {
                self.written.extend(self.planner.seal());
                None
            }
        };
        let after = parts(self.planner.plan());
        let said = said.map(|touched| touched.0).unwrap_or_default();
        prop_assert_eq!(said, changed(&before, &after));
        Ok(())
    }

    /// The plan that is made at once, from nothing but the books and the documents, where this
    /// step admits or releases a job; what is refused changes nothing.
    fn at_once(&self, step: &Step) -> Option<Plan> {
        let mut intent = self.world.intent.clone();
        match step {
            Step::Admit { job: which, want } => {
                let job = asked(*which, want);
                if intent.jobs.contains_key(&job.name) {
                    return None;
                }
                intent.jobs.insert(job.name.clone(), job);
            }
            Step::Release { job } => drop(intent.jobs.remove(&JOBS[*job].parse().unwrap())),
            Step::Seen { .. } | Step::SeenByAll | Step::Scrub | Step::Seal => return None,
        }
        let ledger = self.planner.ledger();
        let planner = Planner::within(self.world.bounds.clone(), &intent, ledger);
        Some(planner.as_ref().map_or(&self.planner.plan, Planner::plan).clone())
    }

    fn all_written(&self) -> Vec<Choice> {
        let open = self.planner.records.iter();
        self.written.iter().chain(open).cloned().collect()
    }
}

/// Where a job's traces are that nobody holds any more.
fn ready_to_scrub(ledger: &Ledger) -> BTreeSet<(Name, JobName)> {
    let fenced = ledger.rests().filter(|rest| rest.waits.is_empty());
    fenced
        .filter_map(|rest| match &rest.what {
            Resting::Job { job, .. } => Some((rest, job)),
            Resting::Tenant { .. } => None,
        })
        .flat_map(|(rest, job)| rest.unscrubbed.keys().map(|node| (node.clone(), job.clone())))
        .collect()
}

/// What every part of every artifact is made of.
fn parts(plan: &Plan) -> BTreeMap<(DeviceId, Part), String> {
    let about = |part: &Part| match part {
        Part::Tenant(tenant) => format!("{:?}", plan.tenants[tenant]),
        Part::Job(job) => {
            let consents = plan.consents.get(job).into_iter().flatten();
            let met: Vec<_> = consents
                .flat_map(|one| [&one.client, &one.provider].map(|side| (one, side)))
                .map(|(one, side)| (one, &plan.jobs[side], &plan.tenants[&side.tenant]))
                .collect();
            format!("{:?} {met:?}", plan.jobs[job])
        }
        Part::Node(node) => format!("{:?}", plan.nodes.get(node)),
        Part::Head | Part::Holdings(_) | Part::Whole => String::new(),
    };
    let devices = plan.devices.keys();
    devices
        .flat_map(|&device| plan.parts(device).into_iter().map(move |part| (device, part)))
        .filter(|(_, part)| *part != Part::Head)
        .map(|(device, part)| {
            let text = about(&part);
            ((device, part), text)
        })
        .collect()
}

fn changed(
    before: &BTreeMap<(DeviceId, Part), String>,
    after: &BTreeMap<(DeviceId, Part), String>,
) -> BTreeSet<(DeviceId, Part)> {
    let all = before.keys().chain(after.keys());
    all.filter(|part| before.get(part) != after.get(part)).cloned().collect()
}

/// A lease in the history, told by nothing but the records.
struct Past {
    job: JobName,
    lease: Lease,
    /// At which record it was leased.
    leased: usize,
    /// When it was freed: at which record, in which generation.
    freed: Option<(usize, Generation)>,
    met: Vec<Met>,
}

/// Whom a job had a consent with: the other's devices, and when it ended.
struct Met {
    consent: Consent,
    devices: Vec<Name>,
    ended: Option<(usize, Generation)>,
}

/// A tenant's number in the history: from which record to which.
struct PastNumber {
    tenant: TenantName,
    number: u16,
    leased: usize,
    freed: Option<usize>,
}

/// Walks the records and holds every lease against every earlier one.
fn nothing_is_reused_before_it_was_seen_gone(records: &[Choice]) -> Result<(), TestCaseError> {
    let mut past: Vec<Past> = Vec::new();
    let mut numbers: Vec<PastNumber> = Vec::new();
    let mut generation = Generation(0);
    for (at, record) in records.iter().enumerate() {
        let seen = |device: &Name, since: (usize, Generation)| {
            records[since.0..at].iter().any(|record| {
                matches!(record, Choice::Seen { device: seen, generation }
                    if seen == device && *generation >= since.1)
            })
        };
        let fenced = |one: &Past| {
            let own = |freed| one.lease.vlans.iter().all(|at| seen(&at.device, freed));
            let met = one.met.iter().all(|met| {
                met.ended.is_some_and(|at| met.devices.iter().all(|device| seen(device, at)))
            });
            one.freed.is_some_and(own) && met
        };
        let gone = |one: &Past| fenced(one) && is_scrubbed(one, &past, &records[..at]);
        match record {
            Choice::Planned { generation: next } => generation = *next,
            Choice::TenantLeased { tenant, number } => {
                for earlier in numbers.iter().filter(|one| one.number == *number) {
                    let freed = earlier.freed;
                    prop_assert!(freed.is_some(), "number {number} is held twice");
                    let held = earlier.leased..freed.unwrap_or_default();
                    let mut jobs = past.iter().filter(|one| {
                        one.job.tenant == earlier.tenant && held.contains(&one.leased)
                    });
                    prop_assert!(jobs.all(fenced), "number {number} came back early");
                }
                numbers.push(PastNumber {
                    tenant: tenant.clone(),
                    number: *number,
                    leased: at,
                    freed: None,
                });
            }
            Choice::TenantFreed { tenant } => {
                let held = numbers.iter_mut().rev().find(|one| one.tenant == *tenant);
                held.unwrap().freed = Some(at);
            }
            Choice::JobLeased { job, lease } => {
                for earlier in past.iter().filter(|earlier| !gone(earlier)) {
                    apart(earlier, job, lease)?;
                }
                past.push(Past {
                    job: job.clone(),
                    lease: lease.clone(),
                    leased: at,
                    freed: None,
                    met: Vec::new(),
                });
            }
            Choice::JobFreed { job } => {
                let live = past.iter_mut().rev().find(|one| one.job == *job).unwrap();
                prop_assert!(live.freed.is_none(), "{job} was freed twice");
                live.freed = Some((at, generation));
            }
            Choice::ConsentOpened { client, provider, service }
            | Choice::ConsentEnded { client, provider, service } => {
                let consent = Consent {
                    client: client.clone(),
                    provider: provider.clone(),
                    service: *service,
                };
                let opens = matches!(record, Choice::ConsentOpened { .. });
                let ended = (!opens).then_some((at, generation));
                note_meeting(&mut past, &consent, opens, ended);
            }
            Choice::TenantRestored { .. } | Choice::JobRestored { .. } => {
                unreachable!("a planner goes on and never back")
            }
            Choice::JobClassed { .. } | Choice::Seen { .. } | Choice::Scrubbed { .. } => {}
        }
    }
    Ok(())
}

/// Whether every node of a lease was scrubbed since it was freed, or the same job took all back
/// that it had there.
fn is_scrubbed(one: &Past, past: &[Past], records: &[Choice]) -> bool {
    let Some((freed, _)) = one.freed else {
        return false;
    };
    one.lease.seats.iter().all(|seat| {
        let scrubbed = records[freed..].iter().any(|record| {
            matches!(record, Choice::Scrubbed { node, job, .. }
                if *node == seat.node && *job == one.job)
        });
        let there = one.lease.seats.iter().filter(|other| other.node == seat.node);
        scrubbed
            || past.iter().any(|later| {
                let after = later.job == one.job && later.leased > freed;
                after && there.clone().all(|seat| later.lease.seats.contains(seat))
            })
    })
}

fn note_meeting(
    past: &mut [Past],
    consent: &Consent,
    opens: bool,
    ended: Option<(usize, Generation)>,
) {
    let sides = [(&consent.client, &consent.provider), (&consent.provider, &consent.client)];
    for (job, other) in sides {
        let other = past.iter().rev().find(|one| one.job == *other).unwrap();
        let vlans = other.lease.vlans.iter();
        let devices = vlans.map(|at| at.device.clone()).collect();
        let one = past.iter_mut().rev().find(|one| one.job == *job).unwrap();
        if opens {
            one.met.push(Met { consent: consent.clone(), devices, ended: None });
        } else {
            let met = one.met.iter_mut().rev().find(|met| met.consent == *consent);
            met.unwrap().ended = ended;
        }
    }
}

/// Two leases of which the earlier may still be held somewhere have nothing in common.
fn apart(earlier: &Past, job: &JobName, lease: &Lease) -> Result<(), TestCaseError> {
    let held = &earlier.lease;
    prop_assert_ne!(held.tag, lease.tag);
    let same_vrf = earlier.job.tenant == job.tenant;
    let overlap = held.subnet.contains(&lease.subnet) || lease.subnet.contains(&held.subnet);
    prop_assert!(!(same_vrf && overlap), "{} overlaps {}", held.subnet, lease.subnet);
    for at in &lease.vlans {
        prop_assert!(!held.vlans.contains(at), "{at:?} is held twice");
    }
    // A job may take back what it held itself.
    let own = earlier.job == *job && earlier.freed.is_some();
    for seat in &lease.seats {
        prop_assert!(own || !held.seats.contains(seat), "{seat:?} is held twice");
    }
    Ok(())
}

fn quotas_hold(world: &World, ledger: &Ledger) -> Result<(), TestCaseError> {
    for tenant in world.intent.tenants.values() {
        let below = ledger
            .jobs()
            .iter()
            .filter(|(job, _)| job.tenant.lineage().any(|above| above == tenant.name));
        let held: usize = below.map(|(_, lease)| lease.seats.len()).sum();
        prop_assert!(tenant.quota_gpus.is_none_or(|quota| held <= quota as usize));
    }
    Ok(())
}

/// Whoever shares a node shares hosts, and nobody is under a leaf with somebody who shares none.
fn grades_hold(world: &World, plan: &Plan) -> Result<(), TestCaseError> {
    let mut places: BTreeMap<&str, BTreeSet<&TenantName>> = BTreeMap::new();
    for (job, net) in &plan.jobs {
        for seat in net.groups.iter().flat_map(|group| &group.seats) {
            let node = &plan.fleet.nodes[seat.nic.node.index()];
            let leaves = node.uplinks.iter().map(|uplink| uplink.leaf.index());
            let leaves = leaves.map(|leaf| plan.fleet.switches[leaf].name.as_str());
            for place in leaves.chain([node.name.as_str()]) {
                places.entry(place).or_default().insert(&job.tenant);
            }
        }
    }
    for (place, tenants) in places.iter().filter(|(_, tenants)| tenants.len() > 1) {
        let strictest = if place.starts_with("leaf") { Grade::Node } else { Grade::Gpu };
        for tenant in tenants {
            prop_assert!(world.intent.tenants[*tenant].grade >= strictest, "{tenant} at {place}");
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn any_trace_keeps_every_promise(steps in proptest::collection::vec(step(), 1..60)) {
        let mut walk = Walk::new();
        for step in &steps {
            walk.step(step)?;
            quotas_hold(&walk.world, walk.planner.ledger())?;
            grades_hold(&walk.world, walk.planner.plan())?;
        }
        let written = walk.all_written();
        nothing_is_reused_before_it_was_seen_gone(&written)?;
        prop_assert_eq!(&Ledger::replay(&written).unwrap(), walk.planner.ledger());
    }

    #[test]
    fn the_plan_grown_step_by_step_is_the_plan_made_at_once(
        steps in proptest::collection::vec(step(), 1..40),
    ) {
        let mut walk = Walk::new();
        for step in &steps {
            let at_once = walk.at_once(step);
            walk.step(step)?;
            if let Some(at_once) = at_once {
                let mut grown = walk.planner.plan().clone();
                grown.generation = at_once.generation;
                prop_assert_eq!(grown, at_once);
            }
        }
    }

    #[test]
    fn the_same_trace_gives_the_same_records(steps in proptest::collection::vec(step(), 1..40)) {
        let walked = || -> Result<Vec<Choice>, TestCaseError> {
            let mut walk = Walk::new();
            for step in &steps {
                walk.step(step)?;
            }
            Ok(walk.all_written())
        };
        prop_assert_eq!(walked()?, walked()?);
    }

    #[test]
    fn a_plan_that_goes_back_gives_everybody_what_they_had(
        steps in proptest::collection::vec(step(), 1..40),
        tried in proptest::collection::vec(step(), 1..20),
        after in proptest::collection::vec(step(), 1..10),
    ) {
        let mut walk = Walk::new();
        for step in steps.iter().chain([&Step::Seal]) {
            walk.step(step)?;
        }
        let before = walk.planner.ledger().clone();
        // Nobody is seen with a plan that is on trial.
        let plans = |step: &&Step| matches!(step, Step::Admit { .. } | Step::Release { .. });
        for step in tried.iter().filter(plans) {
            walk.step(step)?;
        }
        let mut ledger = walk.planner.ledger().clone();
        for record in &crate::go_back(&before, &ledger.clone()) {
            let kept = ledger.apply(record);
            prop_assert!(kept.is_ok(), "{kept:?} after {record:?}");
        }
        prop_assert_eq!(ledger.jobs(), before.jobs());
        prop_assert_eq!(ledger.tenants(), before.tenants());
        prop_assert_eq!(ledger.consents(), before.consents());
        // Life goes on: whoever had a place keeps it, and all that rests ends.
        let mut kept = walk.world.intent.clone();
        kept.jobs.retain(|job, _| before.jobs().contains_key(job));
        if let Ok(planner) = Planner::within(walk.world.bounds.clone(), &kept, &ledger) {
            walk.planner = planner;
            walk.world.intent = kept;
            for step in after.iter().chain([&Step::Seal, &Step::SeenByAll, &Step::Scrub]) {
                walk.step(step)?;
            }
            prop_assert_eq!(walk.planner.ledger().rests().count(), 0);
        }
    }

    #[test]
    fn a_record_out_of_place_is_an_error_and_changes_nothing(
        steps in proptest::collection::vec(step(), 1..30),
        from in 0_usize..100,
    ) {
        let mut walk = Walk::new();
        for step in &steps {
            walk.step(step)?;
        }
        // Everything but a sight and a class happens once: a second time is a contradiction.
        let mut ledger = walk.planner.ledger().clone();
        let written = walk.all_written();
        let twice = &written[from % written.len()];
        if let Choice::Planned { .. } | Choice::JobLeased { .. } | Choice::TenantLeased { .. } = twice
            && is_live(&ledger, twice)
        {
            prop_assert!(ledger.apply(twice).is_err());
            prop_assert_eq!(&ledger, walk.planner.ledger());
        }
    }
}

fn is_live(ledger: &Ledger, record: &Choice) -> bool {
    match record {
        Choice::JobLeased { job, .. } => ledger.jobs().contains_key(job),
        Choice::TenantLeased { tenant, .. } => ledger.tenants().contains_key(tenant),
        _ => true,
    }
}
