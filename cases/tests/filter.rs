//! Every table that is rendered for a device becomes its policy, and what the policy says is what
//! was rendered.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::num::NonZeroU32;

use filter::{Limits, compile, say};
use model::{Dialect, Generation, Port};
use read::Fact;
use wire::Tables;

#[test]
fn what_devices_are_sent_is_what_their_filters_hold() {
    let mut tables = 0;
    for seed in 0..100 {
        for artifact in cases::world(seed).artifacts {
            if artifact.dialect == Dialect::Table {
                check(&artifact.text(), artifact.generation);
                tables += 1;
            }
        }
    }
    assert!(tables > 100, "only {tables} tables were rendered");
}

fn check(text: &str, generation: Generation) {
    let again = |text: &str| {
        compile(text, generation, &|port| Some(interface(port)), None, &Limits::default()).unwrap()
    };
    let compiled = again(text);
    let said = say(Tables::new(&compiled.bytes), &name).unwrap();
    assert_eq!(entries(&said), entries(text), "{text}");
    assert_eq!(again(&said), compiled, "{text}");
}

/// What a table says, one address at a time. A local endpoint is also an address behind the own
/// tunnel endpoint, as a job that consented says it.
fn entries(text: &str) -> BTreeSet<Fact> {
    let reading = read::claims(Dialect::Table, text);
    assert_eq!(reading.unknown, []);
    let facts: Vec<Fact> = reading.claims.into_iter().map(|claim| claim.fact).collect();
    let own = facts.iter().find_map(|fact| match fact {
        Fact::Vtep(address) => Some(*address),
        _ => None,
    });
    facts.into_iter().flat_map(|fact| expanded(fact, own.unwrap())).collect()
}

fn expanded(fact: Fact, own: Ipv4Addr) -> Vec<Fact> {
    match &fact {
        Fact::TablePeers { space, first, last, vtep, every, tag } => {
            let [first, last, vtep] = [first, last, vtep].map(|address| u32::from(*address));
            let every = every.map_or(u32::MAX, NonZeroU32::get);
            let one = |at: u32| {
                let address = Ipv4Addr::from(at);
                let vtep = Ipv4Addr::from(vtep + (at - first) / every);
                let (space, tag) = (space.clone(), *tag);
                Fact::TablePeers { space, first: address, last: address, vtep, every: None, tag }
            };
            (first..=last).map(one).collect()
        }
        Fact::TableEndpoint { space, address, tag, .. } => {
            let (space, first, last, tag) = (space.clone(), *address, *address, *tag);
            let peer = Fact::TablePeers { space, first, last, vtep: own, every: None, tag };
            vec![fact, peer]
        }
        _ => vec![fact],
    }
}

fn interface(port: &Port) -> u32 {
    match port {
        Port::Swp(number) => u32::from(*number) + 10,
        Port::Rep(number) => u32::from(*number) + 1000,
        Port::Nic(number) => u32::from(*number) + 2000,
        Port::Ethernet(number) => u32::from(*number) + 3000,
    }
}

fn name(number: u32) -> Option<String> {
    let kinds = [Port::Swp, Port::Rep, Port::Nic, Port::Ethernet];
    let mut ports = kinds.into_iter().flat_map(|kind| (0..900).map(kind));
    ports.find(|port| interface(port) == number).map(|port| port.to_string())
}
