//! Random tables, and what they say read in the slowest way: address by address.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::net::Ipv4Addr;

use model::{Dialect, Port, Service, TrafficClass};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use read::{Claim, Fact};
use wire::Mac;

/// What a text says, without lines and runs.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Facts {
    pub(crate) vtep: Option<Ipv4Addr>,
    pub(crate) vnis: BTreeMap<u32, u32>,
    /// Guarantee and ceiling.
    pub(crate) rates: BTreeMap<u32, (u64, u64)>,
    /// How jobs are treated that are not treated as usual: the class and the ceiling.
    pub(crate) jobs: BTreeMap<(u32, u16), (TrafficClass, u64)>,
    /// The tag and the tunnel endpoint of each address.
    pub(crate) records: BTreeMap<(u32, Ipv4Addr), (u16, Ipv4Addr)>,
    /// Who is behind a port.
    pub(crate) ports: BTreeMap<Port, (u32, Ipv4Addr, Mac, u16)>,
    /// Client, provider and service.
    pub(crate) permits: BTreeSet<(u32, u16, u16, Service)>,
    /// The addresses of which lines contradict one another, and what each line says of them.
    pub(crate) contradictions: BTreeMap<(u32, Ipv4Addr), BTreeMap<u32, (u16, Ipv4Addr)>>,
}

/// Reads a text, address by address.
pub(crate) fn facts(text: &str) -> Facts {
    let reading = read::claims(Dialect::Table, text);
    assert_eq!(reading.unknown, []);
    let mut facts = Facts::default();
    let mut lines: BTreeMap<_, BTreeMap<_, _>> = BTreeMap::new();
    for Claim { line, fact } in reading.claims {
        for (space, address, tag, vtep) in facts.take(&fact) {
            let at = (space, address);
            lines.entry(at).or_default().insert(line, (tag, vtep));
            if *facts.records.entry(at).or_insert((tag, vtep)) != (tag, vtep) {
                facts.contradictions.insert(at, BTreeMap::new());
            }
        }
    }
    // A job without an endpoint here has no packets to treat.
    let here: BTreeSet<_> = facts.ports.values().map(|seat| (seat.0, seat.3)).collect();
    facts.jobs.retain(|job, treated| here.contains(job) && *treated != Default::default());
    for (at, spoken) in &mut facts.contradictions {
        spoken.clone_from(&lines[at]);
    }
    facts
}

impl Facts {
    /// Takes in all but the records, and gives those.
    fn take(&mut self, fact: &Fact) -> Vec<(u32, Ipv4Addr, u16, Ipv4Addr)> {
        let number = |space: &model::VrfName| space.0[1..].parse::<u32>().unwrap();
        match fact {
            Fact::Vtep(address) => self.vtep = Some(*address),
            Fact::TableSpace { space, vni } => {
                self.vnis.insert(vni.get(), number(space));
            }
            Fact::TableRate { space, guarantee_bps, ceiling_bps } => {
                let rate = (guarantee_bps.unwrap_or(0), ceiling_bps.unwrap_or(0));
                self.rates.insert(number(space), rate);
            }
            Fact::TableJob { space, tag, class, ceiling_bps } => {
                let treated = (*class, ceiling_bps.unwrap_or(0));
                self.jobs.insert((number(space), tag.get()), treated);
            }
            Fact::TableEndpoint { space, address, mac, port, tag } => {
                self.ports.insert(*port, (number(space), *address, *mac, tag.get()));
                return vec![(number(space), *address, tag.get(), self.vtep.unwrap())];
            }
            Fact::TablePeers { space, first, last, vtep, every, tag } => {
                let (first, last) = (u32::from(*first), u32::from(*last));
                let vtep = |address: u32| match every {
                    Some(every) => Ipv4Addr::from(u32::from(*vtep) + (address - first) / *every),
                    None => *vtep,
                };
                let all = (first..=last)
                    .map(|at| (number(space), Ipv4Addr::from(at), tag.get(), vtep(at)));
                return all.collect();
            }
            Fact::TablePermit { space, client, provider, service } => {
                let permit = (number(space), client.get(), provider.get(), *service);
                self.permits.insert(permit);
            }
            _ => {}
        }
        Vec::new()
    }
}

pub(crate) const HEAD: &str = "vtep 10.255.0.3\ndefault drop\n";

/// A table in which no two lines contradict one another. Most of its peers overlap others.
pub(crate) fn sound_table() -> impl Strategy<Value = String> {
    any_table(24).prop_map(|text| {
        let mut kept = String::new();
        for line in text.lines() {
            let with_it = format!("{kept}{line}\n");
            if facts(&with_it).contradictions.is_empty() {
                kept = with_it;
            }
        }
        kept
    })
}

/// A table in which only addresses can contradict one another. Few lines often do not, and what
/// they contradict one another in is not hidden by other contradictions.
pub(crate) fn any_table(most_lines: usize) -> impl Strategy<Value = String> {
    let lines = proptest::collection::vec(any_line(), 0..most_lines);
    let places = proptest::collection::btree_set(place(), 0..12);
    let treated =
        proptest::collection::btree_map((select(&SPACES[..]), select(&TAGS[..])), job(), 0..9);
    let rated = any::<[bool; 3]>();
    (lines, places, rated, treated).prop_map(|(lines, places, rated, treated)| {
        let mut text = HEAD.to_owned();
        for (space, rated) in SPACES.into_iter().zip(rated) {
            writeln!(text, "space t{space} vni {}", 50_000 + space).unwrap();
            if rated {
                writeln!(text, "rate t{space} ceiling {space}000000").unwrap();
            }
        }
        for ((space, tag), how) in treated {
            writeln!(text, "job t{space} {tag} {how}").unwrap();
        }
        for (number, (space, address)) in places.into_iter().enumerate() {
            let address = Ipv4Addr::from(address);
            let tag = TAGS[number % TAGS.len()];
            write!(text, "endpoint t{space} {address} mac 02:00:00:00:01:{number:02x}").unwrap();
            writeln!(text, " port swp{number} tag {tag}").unwrap();
        }
        write_lines(&lines, &mut text);
        text
    })
}

const SPACES: [u32; 3] = [1, 17, 8191];
const TAGS: [u16; 3] = [16, 1001, 65535];

/// Where runs of a space begin: close to one another, far from one another, and at both ends of
/// what an address can be.
const BASES: [(u32, u32); 9] = [
    (1, 0),
    (1, 0x80),
    (17, 0x0a01_0000),
    (17, 0x0a01_0040),
    (17, 0x0a09_0000),
    (17, 0xc0a8_0000),
    (8191, u32::MAX - 95),
    (8191, u32::MAX - 255),
    (8191, u32::MAX - 0x1_0000),
];

#[derive(Clone, Debug)]
enum Line {
    Peers {
        space: u32,
        first: u32,
        vtep: u32,
        every: u32,
        blocks: u32,
        tag: u16,
    },
    /// Some blocks of a line before it, as a line of their own.
    Again {
        line: Index,
        from: u32,
        blocks: u32,
        plain: bool,
    },
    Permit {
        space: u32,
        client: u16,
        provider: u16,
        protocol: &'static str,
        port: u16,
    },
    Vni {
        space: u32,
        vni: u32,
    },
}

fn job() -> impl Strategy<Value = String> {
    let classes = ["class lossless", "class latency", "class bulk"];
    (select(classes.to_vec()), 0..3_u32).prop_map(|(class, ceiling)| match ceiling {
        0 => class.to_owned(),
        _ => format!("{class} ceiling {ceiling}"),
    })
}

fn place() -> impl Strategy<Value = (u32, u32)> {
    (select(&BASES[..]), 0..96_u32).prop_map(|((space, base), offset)| (space, base + offset))
}

fn any_line() -> impl Strategy<Value = Line> {
    let tag = || select(&TAGS[..]);
    prop_oneof![
        6 => (place(), 0..3_u32, 1..5_u32, 1..40_u32, tag()).prop_map(
            |((space, first), vtep, every, blocks, tag)| {
                Line::Peers { space, first, vtep: 0x0aff_0002 + vtep, every, blocks, tag }
            }
        ),
        4 => (any::<Index>(), 0..40_u32, 1..40_u32, any::<bool>())
            .prop_map(|(line, from, blocks, plain)| Line::Again { line, from, blocks, plain }),
        3 => (select(&SPACES[..]), tag(), tag(), select(vec!["tcp", "udp"]), any::<u16>()).prop_map(
            |(space, client, provider, protocol, port)| {
                Line::Permit { space, client, provider, protocol, port }
            }
        ),
        // A VNI has one space: which one, its number tells.
        1 => (0..3_usize, 0..1000_u32).prop_map(|(place, number)| {
            Line::Vni { space: SPACES[place], vni: 100_000 + number * 3 + place as u32 }
        }),
    ]
}

fn write_lines(lines: &[Line], text: &mut String) {
    let mut peers = Vec::new();
    for line in lines {
        match *line {
            Line::Peers { space, first, vtep, every, blocks, tag } => {
                let (every, blocks) = fitting(first, every, blocks);
                peers.push((space, first, vtep, every, blocks, tag));
                write_peers(space, (first, every, blocks), vtep, tag, false, text);
            }
            Line::Again { line, from, blocks, plain } if !peers.is_empty() => {
                let (space, first, vtep, every, all, tag) = *line.get(&peers);
                let from = from % all;
                let blocks = if plain { 1 } else { blocks.min(all - from) };
                let run = (first + from * every, every, blocks);
                write_peers(space, run, vtep + from, tag, plain, text);
            }
            Line::Again { .. } => {}
            Line::Permit { space, client, provider, protocol, port } => {
                writeln!(text, "permit t{space} {client} {provider} {protocol} {port}").unwrap();
            }
            Line::Vni { space, vni } => writeln!(text, "space t{space} vni {vni}").unwrap(),
        }
    }
}

/// As much of the blocks as there are addresses for.
fn fitting(first: u32, every: u32, blocks: u32) -> (u32, u32) {
    let more = u32::MAX - first; // addresses after the first
    if every - 1 > more {
        return (1, 1);
    }
    (every, 1 + (blocks - 1).min((more - (every - 1)) / every))
}

fn write_peers(
    space: u32,
    (first, every, blocks): (u32, u32, u32),
    vtep: u32,
    tag: u16,
    plain: bool,
    text: &mut String,
) {
    let last = first + (every * blocks - 1);
    let [first, last, vtep] = [first, last, vtep].map(Ipv4Addr::from);
    let every = if plain { String::new() } else { format!(" every {every}") };
    writeln!(text, "peers t{space} {first}-{last} vtep {vtep}{every} tag {tag}").unwrap();
}
