//! A fleet is asked through its agents who reaches whom: nobody enters a workload, and none of
//! them answers.

use std::collections::BTreeSet;
use std::fs;

use agent::{Family, ProbeRequest, ProbeWay};
use lab::Fault;
use model::Name;
use serde_json::Value;

use crate::standing::{Standing, agents};

const DEVICE: &str = "leaf-1";
/// Sent with the policy to leave a drift alone, so that it can be looked at.
const JOB: &str = "apiVersion: bulkhead.dev/v1\nkind: Job\nmetadata: {name: extra}\nspec: {tenant: \
                   vault, endpoints: [vault-1/2]}\n";

#[test]
fn agents_say_who_reaches_whom_and_who_dropped_the_rest_and_why() {
    let lab = Standing::up("probe", 2);
    let (code, answer) = lab.data(&["test", "connectivity"]);
    assert_eq!(answer["differing"], Value::Array(Vec::new()));
    assert_eq!(code, Some(0));
    check_all_drops_are_explained(&lab, &answer);
    check_nobody_answered(&lab);
    check_what_is_not_sent(&lab);

    fs::write(lab.documents().join("extra.yaml"), JOB).unwrap();
    let (code, said) =
        lab.ask(&["apply", "--to", "agents", "--on-drift", "alarm", "--prune", "--yes"]);
    assert_eq!(code, Some(0), "{said}");
    lab.break_(Fault::Tag, Some(DEVICE)).unwrap();
    check_the_moved_endpoint_is_found(&lab);
}

/// Between every two that are of different jobs something is dropped, by a device that is named,
/// with a reason that is known.
fn check_all_drops_are_explained(lab: &Standing, answer: &Value) {
    let drops = answer["drops"].as_array().unwrap();
    let text = |drop: &Value, key: &str| drop[key].as_str().unwrap().to_owned();
    let explained: BTreeSet<(String, String)> =
        drops.iter().map(|drop| (text(drop, "from"), text(drop, "to"))).collect();
    for from in lab.workloads() {
        for to in lab.workloads().iter().filter(|to| to.job != from.job) {
            // Who has the address that is meant in its own job is told that instead.
            let is_doubled = lab
                .workloads()
                .iter()
                .any(|one| one.job == from.job && one.name != to.name && one.address == to.address);
            let pair = (from.name.clone(), to.name.clone());
            assert!(is_doubled || explained.contains(&pair), "{pair:?} is not explained");
        }
    }
    let probes = answer["probes"].as_u64().unwrap();
    let refused = answer["refused"].as_u64().unwrap();
    assert_eq!(answer["passed"].as_u64().unwrap() + refused, probes);
    let reasons: BTreeSet<String> = drops.iter().map(|drop| text(drop, "reason")).collect();
    for reason in ["other-job", "roce", "destination"] {
        assert!(reasons.contains(reason), "{reason} is not among {reasons:?}");
    }
    let devices: BTreeSet<String> = drops.iter().map(|drop| text(drop, "device")).collect();
    assert_eq!(devices, BTreeSet::from(["leaf-1".to_owned(), "leaf-2".to_owned()]));
}

/// Probes reach workloads, whose kernels let them fall: no echo is answered, no port refused.
fn check_nobody_answered(lab: &Standing) {
    let mut fallen = 0;
    for workload in lab.workloads() {
        let counters = lab.run_in(&workload.name, || {
            let read = |file: &str| fs::read_to_string(format!("/proc/thread-self/net/{file}"));
            (read("snmp").unwrap(), read("snmp6").unwrap())
        });
        let (four, six) = counters.unwrap();
        for (group, counter) in [
            ("Icmp", "OutEchoReps"),
            ("Icmp", "OutDestUnreachs"),
            ("Tcp", "OutRsts"),
            ("Tcp", "PassiveOpens"),
            ("Udp", "InDatagrams"),
        ] {
            let name = &workload.name;
            assert_eq!(counted(&four, group, counter), 0, "{name} {group} {counter}\n{four}");
        }
        for counter in ["Icmp6OutEchoReplies", "Icmp6OutDestUnreachs", "Udp6InDatagrams"] {
            assert_eq!(counted6(&six, counter), 0, "{} {counter}\n{six}", workload.name);
        }
        fallen += counted(&four, "Icmp", "InCsumErrors") + counted(&four, "Udp", "InCsumErrors");
    }
    assert!(fallen > 0, "no probe came as far as a workload's kernel");
}

/// A counter of `/proc/net/snmp`: a line of names, and a line of numbers below it.
fn counted(text: &str, group: &str, counter: &str) -> u64 {
    let mut lines = text.lines().filter(|line| line.starts_with(&format!("{group}:")));
    let (names, numbers) = (lines.next().unwrap(), lines.next().unwrap());
    let place = names.split(' ').position(|name| name == counter).unwrap();
    numbers.split(' ').nth(place).unwrap().parse().unwrap()
}

fn counted6(text: &str, counter: &str) -> u64 {
    let line = text.lines().find(|line| line.split_whitespace().next() == Some(counter)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// An agent sends for the endpoints behind its ports, to single endpoints, and for nobody else.
fn check_what_is_not_sent(lab: &Standing) {
    let endpoint = lab.workloads().iter().find(|one| one.device == DEVICE).unwrap();
    let whole = ProbeRequest {
        port: endpoint.port.clone(),
        to: endpoint.address,
        tenant: 1,
        via: [2, 0, 0, 0, 0, 1],
        way: ProbeWay::Icmp,
        family: Family::V4,
        answers: false,
        asker: 61_000,
    };
    let asks = [
        (ProbeRequest { port: "swp99".into(), ..whole.clone() }, "there is no port swp99 here"),
        // Towards the spine.
        (ProbeRequest { port: "swp13".into(), ..whole.clone() }, "does not stand at swp13"),
        (ProbeRequest { to: [224, 0, 0, 1].into(), ..whole.clone() }, "224.0.0.1 is no endpoint's"),
        (ProbeRequest { via: [0xff; 6], ..whole }, "is a group's address"),
    ];
    let device: Name = DEVICE.parse().unwrap();
    let sent: Vec<(Name, ProbeRequest)> =
        asks.iter().map(|(ask, _)| (device.clone(), ask.clone())).collect();
    let fleet = agents(lab);
    let fates = fleet.survey(&BTreeSet::from([device]), &sent, &mut |_| {}).unwrap();
    for ((_, why), fate) in asks.iter().zip(fates) {
        assert!(fate.unsent.as_ref().is_some_and(|said| said.contains(why)), "{why}: {fate:?}");
        assert!(fate.arrived.is_empty() && fate.dropped.is_empty(), "{fate:?}");
    }
}

/// The packet program takes one endpoint for another job's: both what passes and what does not any
/// more are found.
fn check_the_moved_endpoint_is_found(lab: &Standing) {
    let (code, answer) = lab.data(&["test", "connectivity"]);
    assert_eq!(code, Some(1));
    let differing = answer["differing"].as_array().unwrap();
    let leaked =
        differing.iter().find(|seen| seen["probe"]["expected"] == false && seen["arrived"] == true);
    assert!(leaked.is_some(), "nothing crosses from one job to another: {differing:#?}");
    let severed = differing.iter().find(|seen| {
        let drops = seen["drops"].as_array().into_iter().flatten();
        let is_told = |drop: &Value| drop["reason"].is_string() && drop["device"].is_string();
        seen["probe"]["expected"] == true && drops.into_iter().any(is_told)
    });
    assert!(severed.is_some(), "nothing of a job is dropped: {differing:#?}");
    let (code, said) = lab.ask(&["test", "connectivity", "--only", "icmp", "--drops"]);
    assert_eq!(code, Some(1), "{said}");
    for word in ["must not pass", "should pass", "as planned", "other-job", "dropped by"] {
        assert!(said.contains(word), "`{word}` is not said:\n{said}");
    }
}
