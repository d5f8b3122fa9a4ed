//! What somebody changes behind an agent's back.

use std::time::{Duration, SystemTime};

use agent::{Event, News};
use apply::{Gate, HoldTerms, OnDrift};
use model::Dialect;

use crate::stage::{Ear, Plans, Stage, TRAIN};

/// A stage where everything is in force, and an ear that heard what leaf-1 holds.
fn begin(on_drift: OnDrift) -> (Stage, Plans, agent::Agents, Ear) {
    let stage = Stage::new();
    let plans = Plans::of(&[&[TRAIN]]);
    let fleet = stage.fleet();
    let terms = HoldTerms { on_drift, confirm_within: None };
    assert!(plans.push_on(&fleet, 0, &terms).is_started);
    let ear = Ear::to(&fleet);
    ear.first("leaf-1");
    (stage, plans, fleet, ear)
}

/// Takes the cables of leaf-1's ports out.
fn unplug(stage: &Stage) {
    stage.node("leaf-1").edit(Dialect::Linux, |text| {
        let is_port = |line: &&str| line.starts_with("link ");
        let lines = text.lines().map(|line| match is_port(&line) {
            true => format!("{line} down\n"),
            false => format!("{line}\n"),
        });
        *text = lines.collect();
    });
}

/// Opens leaf-1 to another tenant's routes.
fn import(stage: &Stage) {
    stage.node("leaf-1").edit(Dialect::Frr, |text| {
        text.push_str("router bgp 4200000001 vrf t1\n address-family l2vpn evpn\n");
        text.push_str("  route-target import 65000:50009\n exit-address-family\nexit\n");
    });
}

fn drift(news: News) -> Option<Vec<agent::Differing>> {
    match news {
        News::Drift { differences, .. } => Some(differences),
        _ => None,
    }
}

#[test]
fn a_drift_is_named_with_its_line_and_repaired() {
    let (stage, plans, _fleet, ear) = begin(OnDrift::Repair);
    import(&stage);
    let differences = ear.news("leaf-1", drift);
    assert!(
        differences.iter().any(|one| !one.is_missing
            && one.dialect == Dialect::Frr
            && one.statement == "route-target import 65000:50009"),
        "{differences:#?}"
    );
    let (by_agent, left) = ear.news("leaf-1", |news| match news {
        News::Repaired { by_agent, left, .. } => Some((by_agent, left)),
        _ => None,
    });
    assert!(by_agent && left.is_empty(), "{left:#?}");
    let held = stage.node("leaf-1").text(Dialect::Frr).unwrap();
    assert_eq!(held, plans.text(0, "leaf-1", Dialect::Frr));
    assert!(stage.node("leaf-1").is_open());
}

#[test]
fn under_alarm_a_drift_is_told_and_stays() {
    let (stage, plans, _fleet, ear) = begin(OnDrift::Alarm);
    import(&stage);
    assert!(!ear.news("leaf-1", drift).is_empty());
    let held = stage.node("leaf-1").text(Dialect::Frr).unwrap();
    assert_ne!(held, plans.text(0, "leaf-1", Dialect::Frr));
    let status = stage.status("leaf-1");
    assert_eq!((status.gate, status.drift.is_empty()), (Gate::Open, false));
    // Whoever listens later hears of it, too.
    let late = stage.fleet();
    assert!(!Ear::to(&late).news("leaf-1", drift).is_empty());
}

#[test]
fn under_quarantine_the_gate_stays_closed_until_the_next_plan() {
    let (mut stage, plans, fleet, ear) = begin(OnDrift::Quarantine);
    import(&stage);
    ear.news("leaf-1", |news| (news == News::Gate(Gate::Quarantine)).then_some(()));
    assert!(!stage.node("leaf-1").is_open());
    assert!(stage.node("leaf-2").is_open());
    // Also if the agent is killed meanwhile.
    stage.kill("leaf-1");
    stage.start("leaf-1");
    assert_eq!(stage.status("leaf-1").gate, Gate::Quarantine);
    assert!(!stage.node("leaf-1").is_open());
    let terms = HoldTerms { on_drift: OnDrift::Quarantine, confirm_within: None };
    assert!(plans.push_on(&fleet, 0, &terms).is_started);
    assert!(stage.node("leaf-1").is_open());
}

#[test]
fn a_drift_that_cannot_be_repaired_says_why_and_is_tried_again() {
    let (stage, plans, _fleet, ear) = begin(OnDrift::Repair);
    stage.node("leaf-1").fail(Some("bgpd does not answer"));
    import(&stage);
    let mended = |news: News| match news {
        News::Repaired { left, trouble, .. } => Some((left.is_empty(), trouble)),
        _ => None,
    };
    let (is_sound, trouble) = ear.news("leaf-1", mended);
    assert!(!is_sound);
    assert_eq!(trouble.as_deref(), Some("hold: bgpd does not answer"));
    stage.node("leaf-1").fail(None);
    ear.news("leaf-1", |news| mended(news).filter(|(is_sound, _)| *is_sound));
    let held = stage.node("leaf-1").text(Dialect::Frr).unwrap();
    assert_eq!(held, plans.text(0, "leaf-1", Dialect::Frr));
}

#[test]
fn a_port_that_is_down_is_told_when_it_had_time_to_come_up_and_nothing_is_held_anew() {
    let began = SystemTime::now();
    let (stage, _plans, _fleet, ear) = begin(OnDrift::Repair);
    let writes = stage.node("leaf-1").writes();
    unplug(&stage);
    let at_ms = ear.news("leaf-1", |news| match news {
        News::Drift { at_ms, .. } => Some(at_ms),
        _ => None,
    });
    let time_to_settle = Duration::from_millis(500);
    let told = SystemTime::UNIX_EPOCH + Duration::from_millis(at_ms + 1);
    assert!(told >= began + time_to_settle, "{:?}", told.duration_since(began));
    let left = ear.news("leaf-1", |news| match news {
        News::Repaired { left, .. } => Some(left),
        _ => None,
    });
    assert!(left.iter().all(|one| one.statement.starts_with("link ")), "{left:#?}");
    assert_eq!((left.is_empty(), stage.node("leaf-1").writes()), (false, writes));
}

#[test]
fn an_agent_that_goes_away_and_comes_back_is_told() {
    let (mut stage, _plans, _fleet, ear) = begin(OnDrift::Repair);
    stage.kill("leaf-1");
    ear.hear("leaf-1", |event| matches!(event, Event::Gone(_)).then_some(()));
    stage.start("leaf-1");
    ear.hear("leaf-1", |event| matches!(event, Event::Back).then_some(()));
}
