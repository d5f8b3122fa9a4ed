//! A real fabric whose devices are changed behind everyone's back, whose agents and controller
//! die, and in which somebody forges frames. Needs root, FRR and tcpdump.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a lab that does not stand ends the test"
)]

#[path = "../desk/answers.rs"]
mod answers;
mod attack;
mod flow;
mod forged;
mod killed;
mod outage;
mod probes;
#[path = "../desk/schema.rs"]
mod schema;
mod socket;
mod standing;
mod steps;
mod told;
mod unit;
mod watching;

use std::time::{Duration, Instant};

use lab::Fault;
use serde_json::Value;

use attack::{Arrived, Attack};
use flow::Flow;
use standing::{Standing, until};
use watching::Watching;

/// Where everything is broken.
const DEVICE: &str = "leaf-1";

/// Where `train` may be asked by the jobs that it consented to.
const METRICS: u16 = 9125;

/// A fault, a piece of the statement that names it, and whom it concerns.
struct Case(Fault, &'static str, &'static [&'static str]);

const EVERYBODY: &[&str] = &["blue", "red", "vault"];
const VICTIM: &[&str] = &["blue/train"];
const TWO_JOBS: &[&str] = &["blue/train", "blue/tune"];

const CASES: &[Case] = &[
    Case(Fault::RouteTarget, "route-target import 65000:50002", &["blue", "red"]),
    Case(Fault::Rd, "rd 10.255.0.2:1", VICTIM),
    Case(Fault::Vni, "vxlan vx100017", VICTIM),
    Case(Fault::Tag, "endpoint t1 10.1.0.10 mac 02:01:00:00:00:04 port swp5 tag 18", TWO_JOBS),
    Case(Fault::BridgePort, "link swp5 master br18", TWO_JOBS),
    Case(Fault::SecondVtep, "vxlan vx-second", &["blue"]),
    Case(Fault::Fdb, "fdb 02:66:00:00:00:01 dst 10.255.255.9", VICTIM),
    Case(Fault::StaticRoute, "route 10.66.0.0/16 via 10.1.0.10", VICTIM),
    Case(Fault::FilterDetached, "link swp5 master br17 mtu 9216 judged", VICTIM),
    Case(Fault::MapEdited, "permit t1 17 18 tcp 22", TWO_JOBS),
    Case(Fault::FrrRestarted, "router bgp 4200000002", EVERYBODY),
    Case(Fault::AgentKilled, "", &[]),
    Case(Fault::LinkDown, "uplink swp13 mtu 9216 judged down", EVERYBODY),
    Case(Fault::WrongHost, "", VICTIM),
    Case(Fault::AddressMoved, "neigh 10.1.0.10 lladdr 02:66:00:00:00:02", VICTIM),
    Case(Fault::VrfMerged, "link leak0", &["blue", "red"]),
    Case(Fault::DefaultRoute, "route default via 10.1.0.10", VICTIM),
    Case(Fault::Mtu, "link swp5 master br17 mtu 1400", VICTIM),
    Case(Fault::Tos, "dstport 4789 nolearning gbp master br17", VICTIM),
    Case(Fault::SecondNeighbor, "neighbor 172.31.255.1 remote-as 65999", EVERYBODY),
];

/// What became of a fault.
struct Fate {
    fault: Fault,
    found: Duration,
    repaired: Option<Duration>,
    /// Frames that arrived where they must not, from the fault on.
    leaked: u64,
    note: String,
}

#[test]
fn every_drift_is_found_and_named_and_repaired_and_nobody_gains_by_it() {
    let lab = Standing::up("drift", 2);
    let watch = Watching::begin(&lab);
    let flows = [
        Flow::begin(&lab, "blue-1/0", "blue-2/0"),
        Flow::begin(&lab, "red-1/3", "red-2/3"),
        // Routed between two jobs, out of the device that is broken.
        Flow::answers(&lab, ("blue-1/0", METRICS), "blue-2/1"),
    ];
    let attack = Attack::begin(&lab);
    flows.iter().for_each(Flow::passes);
    let mut fates = Vec::new();
    let mut before = attack.forbidden();
    assert_eq!(before, Arrived::new(), "before anything is broken");
    for case in CASES {
        watch.forget();
        let mut fate = suffer(case, &lab, &watch, &flows[0]);
        settle(&lab, &flows);
        let after = attack.forbidden();
        fate.leaked = leaked(case, &before, &after);
        before = after;
        fates.push(fate);
    }
    assert!(attack.allowed() > 0, "the attackers' frames reach nobody, not even their own job");
    println!("{} forbidden frames were tried all the while", attack.sent());
    tell(&fates);
}

fn suffer(case: &Case, lab: &Standing, watch: &Watching, flow: &Flow) -> Fate {
    let Case(fault, statement, whom) = *case;
    let begin = Instant::now();
    let broken = lab.break_(fault, Some(DEVICE));
    let fate = |found: Instant, repaired: Option<Instant>, note: &str| Fate {
        fault,
        found: found - begin,
        repaired: repaired.map(|at| at - begin),
        leaked: 0,
        note: note.to_owned(),
    };
    match fault {
        Fault::AgentKilled => {
            broken.unwrap();
            let (found, ()) = watch.until("that the agent is gone", |event| is(event, "gone"));
            flow.stops();
            let closed = begin.elapsed();
            lab.start_agent(DEVICE).unwrap();
            watch.until("that the agent is back", |event| is(event, "back"));
            flow.passes();
            let note = format!("the gate closes by itself: nothing passed {closed:.1?} later");
            fate(found, None, &note)
        }
        Fault::WrongHost => {
            broken.unwrap();
            let (found, ()) = watch.until("that a spoofed source is refused", |event| {
                is(event, "spoofedSource").filter(|()| event["reason"] == "source-mac")?;
                names_all(&event["jobs"], whom).then_some(())
            });
            lab.dress().unwrap();
            fate(found, None, "no agent can unplug a host: it is refused")
        }
        _ => {
            // The agent may undo a step before the next one is taken, which then fails.
            let note = broken.err().map_or("", |_| "undone while it was being done");
            let what = format!("`{statement}`, and that it concerns {whom:?}");
            let (found, ()) = watch.until(&what, |event| is_named(event, statement, whom));
            let (repaired, ()) = watch.until("that it is repaired", |event| {
                is(event, "repaired").filter(|()| event["left"] == 0 && event["trouble"].is_null())
            });
            fate(found, Some(repaired), note)
        }
    }
}

/// Waits until all is as before.
fn settle(lab: &Standing, flows: &[Flow]) {
    until("the agent finds nothing more", || {
        lab.status(DEVICE).is_some_and(|status| {
            status.gate == apply::Gate::Open && status.drift.is_empty() && status.trouble.is_none()
        })
    });
    flows.iter().for_each(Flow::passes);
}

/// What arrived where it must not since then. Whoever may write into the packet program's own
/// table decides what it lets pass, until the agent sees it: there, and only between the two jobs
/// that the edit joined, the honest count is told. Everywhere else it must be none.
fn leaked(case: &Case, before: &Arrived, after: &Arrived) -> u64 {
    let Case(fault, _, whom) = case;
    let new = after.iter().filter_map(|(pair, count)| {
        let more = count - before.get(pair).copied().unwrap_or(0);
        (more > 0).then_some((pair, more))
    });
    let is_edit = matches!(fault, Fault::Tag | Fault::MapEdited);
    new.map(|((from, to), more)| {
        let is_joined = |job: &model::JobName| whom.contains(&job.to_string().as_str());
        let is_known = is_edit && is_joined(from) && is_joined(to);
        assert!(is_known, "{fault}: {more} frames from {from} arrived at {to}");
        more
    })
    .sum()
}

fn is(event: &Value, kind: &str) -> Option<()> {
    (event["kind"] == kind && event["device"] == DEVICE).then_some(())
}

/// Whether this is a drift with that statement that concerns all of them.
fn is_named(event: &Value, statement: &str, whom: &[&str]) -> Option<()> {
    is(event, "drift")?;
    let lines = event["lines"].as_array()?;
    let says = |line: &&Value| line["statement"].as_str().is_some_and(|it| it.contains(statement));
    lines.iter().find(says)?;
    let concerns = |one: &str| {
        let mut lists = lines.iter().flat_map(|line| [&line["tenants"], &line["jobs"]]);
        lists.any(|list| names_all(list, &[one]))
    };
    whom.iter().all(|one| concerns(one)).then_some(())
}

fn names_all(list: &Value, whom: &[&str]) -> bool {
    let names: Vec<&Value> = list.as_array().into_iter().flatten().collect();
    whom.iter().all(|one| names.iter().any(|name| *name == one))
}

fn tell(fates: &[Fate]) {
    println!("{:<16} {:>9} {:>9} {:>7}", "drift", "found", "repaired", "leaked");
    let ms = |time: Duration| format!("{} ms", time.as_millis());
    for fate in fates {
        let repaired = fate.repaired.map_or("-".to_owned(), ms);
        let (found, leaked) = (ms(fate.found), fate.leaked);
        println!("{:<16} {found:>9} {repaired:>9} {leaked:>7}  {}", fate.fault, fate.note);
    }
    let column = |name: &str, mut times: Vec<Duration>| {
        times.sort();
        let at = |percent: usize| ms(times[(times.len() * percent).div_ceil(100).max(1) - 1]);
        println!("{name:<9} p50 {}, p99 {}, max {}", at(50), at(99), at(100));
    };
    column("found", fates.iter().map(|fate| fate.found).collect());
    column("repaired", fates.iter().filter_map(|fate| fate.repaired).collect());
}
