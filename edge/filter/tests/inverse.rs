//! What is compiled is what the text says, however it says it.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test fails by panicking")]

mod table;

use std::net::Ipv4Addr;

use filter::{Compiled, Limits, TableRefusal, compile, say};
use model::{Dialect, Generation, Port, Protocol, TrafficClass};
use proptest::prelude::*;
use proptest::sample::Index;
use table::{Facts, any_table, facts, sound_table};
use wire::{AddressRecord, TablePermit, Tables};

proptest! {
    #[test]
    fn what_is_said_is_what_was_compiled(text in sound_table()) {
        let compiled = compiled(&text, None).unwrap();
        let said = said(&compiled);
        prop_assert_eq!(facts(&said), facts(&text));
        prop_assert_eq!(compile_again(&said, None), compiled.bytes);
    }

    #[test]
    fn burst_counters_are_kept_by_what_is_said_too(
        before in sound_table(),
        text in sound_table(),
    ) {
        let before = compiled(&before, None).unwrap();
        let compiled = compiled(&text, Some(&before)).unwrap();
        prop_assert_eq!(compile_again(&said(&compiled), Some(&before)), compiled.bytes);
    }

    #[test]
    fn the_order_of_lines_means_nothing(text in sound_table()) {
        let (head, lines) = text.split_at(table::HEAD.len());
        let turned: String = lines.lines().rev().map(|line| format!("{line}\n")).collect();
        prop_assert_eq!(compile_again(&format!("{head}{turned}"), None), compile_again(&text, None));
    }

    #[test]
    fn the_tables_answer_like_a_search_through_the_lines(
        text in sound_table(),
        strangers in proptest::collection::vec(any::<u32>(), 32),
    ) {
        let compiled = compiled(&text, None).unwrap();
        answers_alike(Tables::new(&compiled.bytes), &facts(&text), &strangers);
    }

    /// Whatever is in the kernel, what is said of it is no other policy than the one in force.
    #[test]
    fn damage_is_seen_or_does_no_harm(
        text in sound_table(),
        (place, bit, early) in (any::<Index>(), 0..8, any::<bool>()),
        strangers in proptest::collection::vec(any::<u32>(), 32),
    ) {
        let mut block = compiled(&text, None).unwrap().bytes;
        let most = if early { 512.min(block.len()) } else { block.len() };
        block[place.index(most)] ^= 1_u8 << bit;
        let tables = Tables::new(&block);
        let said = say(tables, &name).unwrap_or_default();
        let readable = read::claims(Dialect::Table, &said).unknown.is_empty();
        if readable && !said.is_empty() && facts(&said) == facts(&text) {
            answers_alike(tables, &facts(&text), &strangers);
        }
    }

    #[test]
    fn only_a_contradiction_is_refused_and_it_is_one(text in any_table(5)) {
        let contradictions = facts(&text).contradictions;
        match compiled(&text, None) {
            Ok(_) => prop_assert!(contradictions.is_empty()),
            Err(TableRefusal::AddressTwice { space, address, first_line, line }) => {
                let space = space.0[1..].parse().unwrap();
                let lines = &contradictions[&(space, address)];
                prop_assert!(first_line < line);
                prop_assert_ne!(lines[&first_line], lines[&line]);
            }
            Err(other) => prop_assert!(false, "{other}"),
        }
    }
}

/// Asks for everything that the facts know, for its neighbours, and for strangers.
fn answers_alike(tables: Tables<'_>, facts: &Facts, strangers: &[u32]) {
    let around = |number: u32| [number.wrapping_sub(1), number, number.wrapping_add(1)];
    for number in facts.vnis.keys().chain(strangers).flat_map(|vni| around(*vni)) {
        let found = tables.space_of(number).unwrap().map(|index| tables.space(index).unwrap());
        assert_eq!(found.map(|space| space.number), facts.vnis.get(&number).copied());
    }
    for index in 0..tables.spaces().unwrap() {
        let space = tables.space(index).unwrap();
        let rate = (space.guarantee_bps, space.ceiling_bps);
        assert_eq!(rate, facts.rates.get(&space.number).copied().unwrap_or_default());
        let known = facts.records.keys().map(|(_, address)| u32::from(*address));
        let known = known.flat_map(|address| [address, address ^ 1, address ^ 64, address ^ 4096]);
        for address in known.chain(strangers.iter().copied()).map(Ipv4Addr::from) {
            let found = tables.record(space, address).unwrap();
            let expected = expected_record(tables, facts, space.number, address);
            assert_eq!(found, expected, "{address} of t{}", space.number);
        }
        permits_alike(tables, facts, index, space.number);
    }
    for interface in strangers.iter().copied().chain(0..100) {
        let expected = name(interface).and_then(|name| facts.ports.get(&name.parse().unwrap()));
        let seat = tables.port_of(interface).unwrap().map(|port| tables.port(port).unwrap());
        let found = seat.map(|seat| {
            assert_eq!(seat.interface, interface);
            let space = tables.space(seat.space).unwrap();
            let (class, ceiling_bps) =
                facts.jobs.get(&(space.number, seat.tag)).copied().unwrap_or_default();
            let classes = [TrafficClass::Lossless, TrafficClass::Latency, TrafficClass::Bulk];
            assert_eq!((classes[seat.class as usize], seat.ceiling_bps), (class, ceiling_bps));
            (space.number, seat.address, seat.mac, seat.tag)
        });
        assert_eq!(found.as_ref(), expected);
    }
}

fn expected_record(
    tables: Tables<'_>,
    facts: &Facts,
    space: u32,
    address: Ipv4Addr,
) -> Option<AddressRecord> {
    let (tag, vtep) = *facts.records.get(&(space, address))?;
    let behind = facts.ports.iter().find(|(_, seat)| (seat.0, seat.1) == (space, address));
    let slot = behind.map_or(0, |(port, _)| {
        let port = tables.port_of(interface(port).unwrap()).unwrap().unwrap();
        tables.port(port).unwrap().slot
    });
    Some(AddressRecord { tag, slot, vtep })
}

/// Every permit of every space is asked for in this one, and turned around.
fn permits_alike(tables: Tables<'_>, facts: &Facts, index: u32, number: u32) {
    for (_, client, provider, service) in &facts.permits {
        for (client, provider) in [(*client, *provider), (*provider, *client)] {
            let protocol = match service.protocol {
                Protocol::Tcp => 6,
                Protocol::Udp => 17,
            };
            let asked =
                TablePermit { space: index, client, provider, protocol, port: service.port };
            let expected = facts.permits.contains(&(number, client, provider, *service));
            assert_eq!(tables.permits(asked).unwrap(), expected);
        }
    }
}

fn compiled(text: &str, before: Option<&Compiled>) -> Result<Compiled, TableRefusal> {
    let before = before.map(|before| Tables::new(&before.bytes));
    compile(text, Generation(7), &interface, before, &Limits::default())
}

fn compile_again(said: &str, before: Option<&Compiled>) -> Vec<u8> {
    compiled(said, before).unwrap().bytes
}

fn said(compiled: &Compiled) -> String {
    say(Tables::new(&compiled.bytes), &name).unwrap()
}

/// Interfaces are numbered in another order than ports are.
fn interface(port: &Port) -> Option<u32> {
    let Port::Swp(number) = port else { return None };
    Some(90 - u32::from(*number) * 7 % 64)
}

fn name(number: u32) -> Option<String> {
    let port = (0..64).map(Port::Swp).find(|port| interface(port) == Some(number))?;
    Some(port.to_string())
}
