//! What packets alone do not show of an edit of dialect `linux`: whether an agent can take it, what
//! it promises, and fences behind others that still hold.

use std::collections::BTreeSet;

use super::{Classified, Effect};

const BY: &str = "rule: what a line of a Linux device does besides";

/// Lines that somebody puts into a kernel, in the world of `worlds/network.yaml`.
pub(super) const HOSTILE: &[&str] = &[
    "vrf t9",
    "vtep 10.255.0.9",
    "uplink swp6 mtu 9216 judged",
    "uplink swp6 mtu 9216",
    "uplink swp3 mtu 9216 judged",
    "link swp6 master br16 mtu 9216 judged",
    "link swp6 master br16 mtu 9216",
    "link swp1 master br16 mtu 9216 judged",
    "link swp3 master br17 mtu 9216 judged",
    "link swp5 master br17 mtu 9216 judged",
    "bridge br99",
    "bridge br99 vrf t1",
    "bridge br99 vrf t2 address 10.1.0.1/29 mac 02:00:00:00:00:01",
    "bridge br16 vrf t2 address 10.0.0.17/29 mac 02:00:00:00:00:01",
    "vxlan vx9 id 100017 local 10.255.0.2 dstport 4789 nolearning tos inherit gbp master br16",
    "vxlan vx9 id 100099 local 10.255.0.2 dstport 4789 nolearning tos inherit gbp master br16",
    "vxlan vx9 id 100099 local 10.255.0.2 dstport 4789 nolearning tos inherit gbp master br99",
    "vxlan vx9 id 100099 local 10.255.0.2 dstport 4789 tos inherit gbp master br17",
    "vxlan vx9 id 100099 local 10.255.0.2 dstport 4789 nolearning tos inherit master br17",
    "vxlan vx9 id 50001 local 10.255.0.2 dstport 4789 nolearning tos inherit gbp vrf t2",
    "neigh 10.0.0.5 lladdr 02:01:00:00:00:07 dev swp1 master br17",
    "neigh 10.0.0.3 lladdr 02:01:00:00:00:00 dev swp1 master br17",
    "neigh 10.1.0.2 lladdr 02:01:00:00:00:00 dev swp1 master br17",
    "neigh 10.0.0.1 lladdr 02:01:00:00:00:00 dev swp1 master br17",
    "reach 10.1.0.2-10.1.0.3 vrf t2 vtep 10.255.0.2 every 1 vni 50001",
    "reach 10.0.0.2-10.0.0.3 vrf t1 vtep 10.255.0.2 every 1 vni 50002",
    "reach 10.9.0.2-10.9.0.3 vrf t1 vtep 10.255.0.3 vni 50003",
    "reach 10.9.0.2-10.9.0.9 vrf t2 vtep 10.255.0.2 vni 50003",
    "reach 10.200.0.0-10.200.0.255 vrf t2 vtep 10.255.0.9 vni 59999",
    "route 10.0.0.0/8 dev leak0 vrf t1",
    "route 0.0.0.0/0 via 172.16.0.1 vrf t2",
    "route 10.1.0.0/16 dev swp5",
    "fdb 02:01:00:00:00:04 dev vx100017 dst 10.255.0.9",
    "fdb 00:00:00:00:00:00 dev vx100016 dst 10.255.0.9",
    "address 10.1.0.9/24 dev swp5",
    "address 10.255.0.3/32 dev lo",
    "queue swp5 vrf t1 rate 8 ceil 8",
    "queue swp5 rate 8000",
];

/// What the difference of two texts does, as a whole.
pub(super) fn classify(sound: &str, edited: &str) -> Classified {
    let is_plain = |byte: u8| (b' '..0x7f).contains(&byte) || byte == b'\t' || byte == b'\n';
    let is_taken = edited.bytes().all(is_plain);
    let (was, is) = (statements(sound), statements(edited));
    if !is_taken || is.iter().any(|words| !is_shaped(words)) || has_twins(&is) {
        return Classified { effect: Effect::Refused, by: BY };
    }
    let gone = was.difference(&is).map(|words| gone(words, &is));
    let more = is.difference(&was).map(|words| more(words, &was));
    Classified { effect: gone.chain(more).min().unwrap_or(Effect::Harmless), by: BY }
}

/// The lines of a text as words. Options of a tunnel stand in any order.
fn statements(text: &str) -> BTreeSet<Vec<&str>> {
    let words = text.lines().map(|line| line.split_ascii_whitespace().collect::<Vec<_>>());
    let mut all: BTreeSet<Vec<&str>> = BTreeSet::new();
    for mut line in words.filter(|words| words.first().is_some_and(|word| !word.starts_with('#'))) {
        if line[0] == "vxlan" && line.len() > 2 {
            // What it is called is of no matter.
            line[1] = "";
            line[2..].sort_unstable();
        }
        all.insert(line);
    }
    all
}

/// Whether two tunnels of the device have one VNI, which the kernel does not take.
fn has_twins(is: &BTreeSet<Vec<&str>>) -> bool {
    let id = |words: &Vec<&'_ str>| {
        let mut numbers = words.iter().filter(|word| word.parse::<u32>().is_ok());
        numbers.find(|number| **number != "4789").map(|number| (*number).to_owned())
    };
    let tunnels: Vec<_> = is.iter().filter(|words| words[0] == "vxlan").filter_map(id).collect();
    tunnels.iter().collect::<BTreeSet<_>>().len() < tunnels.len()
}

/// Whether an agent can take a line: by its words alone.
fn is_shaped(words: &[&str]) -> bool {
    let is_number = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    let is_vni = |word: &str| matches!(word.parse::<u32>(), Ok(1..=0xff_ffff));
    let is_address = |word: &str| word.parse::<std::net::Ipv4Addr>().is_ok();
    let is_ethernet = |word: &str| word.split(':').filter(|part| part.len() == 2).count() == 6;
    let is_port = |word: &str| word.starts_with("swp");
    let is_state = |state: &[&str]| match state {
        ["mtu", mtu, rest @ ..] => {
            is_number(mtu) && matches!(rest, [] | ["judged"] | ["down"] | ["judged", "down"])
        }
        _ => false,
    };
    match words {
        ["vtep", at] => is_address(at),
        ["vrf", _] | ["route" | "fdb" | "address", ..] => true,
        ["uplink", port, state @ ..] => is_port(port) && is_state(state),
        ["link", port, "master", _, state @ ..] => is_port(port) && is_state(state),
        ["neigh", at, "lladdr", ethernet, "dev", port, "master", _] => {
            is_address(at) && is_ethernet(ethernet) && is_port(port)
        }
        ["bridge", _, rest @ ..] => rest.len() % 2 == 0,
        ["vxlan", _, rest @ ..] => rest.contains(&"local") && rest.contains(&"id"),
        ["reach", _, "vrf", _, "vtep", at, "vni", vni] => is_address(at) && is_vni(vni),
        ["reach", _, "vrf", _, "vtep", at, "every", block, "vni", vni] => {
            is_address(at) && is_number(block) && is_vni(vni)
        }
        ["queue", _, "rate", rate] => is_number(rate),
        ["queue", _, "vrf", _, "rate", rate, "ceil", ceil] => is_number(rate) && is_number(ceil),
        _ => false,
    }
}

/// What it does that a planned line is gone.
fn gone(words: &[&str], is: &BTreeSet<Vec<&str>>) -> Effect {
    match words {
        // What is in it makes it.
        ["vrf", name] if is.iter().any(|two| two.contains(name)) => Effect::Harmless,
        _ => Effect::Cuts,
    }
}

/// The first and the last address of a run.
fn ends(range: &str) -> Option<(std::net::Ipv4Addr, std::net::Ipv4Addr)> {
    let (first, last) = range.split_once('-')?;
    Some((first.parse().ok()?, last.parse().ok()?))
}

/// Whether a planned way out of the VRF holds one of the addresses.
fn overlaps(range: &str, vrf: &str, was: &BTreeSet<Vec<&str>>) -> bool {
    let Some((first, last)) = ends(range) else { return true };
    was.iter().any(|two| match two.as_slice() {
        ["reach", held, "vrf", name, ..] => {
            *name == vrf && ends(held).is_none_or(|(from, to)| from <= last && first <= to)
        }
        _ => false,
    })
}

/// Whether the VRF is planned to send with this VNI.
fn leads_to_planned(words: &[&str], was: &BTreeSet<Vec<&str>>) -> bool {
    let vni = words.last();
    was.iter().any(|two| match two.first() {
        Some(&"reach") => two[3] == words[3] && two.last() == vni,
        // Its own tunnel, which nobody is behind but itself.
        Some(&"vxlan") => {
            two.contains(&"vrf")
                && two.contains(&words[3])
                && two.contains(words.last().unwrap_or(&""))
        }
        _ => false,
    })
}

/// What a line that nobody planned does. Packets have shown what passes by it at once.
fn more(words: &[&str], was: &BTreeSet<Vec<&str>>) -> Effect {
    let is_planned = |begin: &[&str]| was.iter().any(|two| two.starts_with(begin));
    match words {
        ["vrf", _] => Effect::Harmless,
        // Nothing is in it.
        ["bridge", name, ..] if !is_planned(&["bridge", name]) => Effect::Harmless,
        ["bridge" | "queue", ..] => Effect::Cuts,
        // Addresses of a tenant that it may reach, where nobody else is said to have them.
        ["reach", range, "vrf", vrf, ..]
            if !overlaps(range, vrf, was) && leads_to_planned(words, was) =>
        {
            Effect::Harmless
        }
        ["link" | "uplink", port, .., "judged"]
        | ["link" | "uplink", port, .., "judged", "down"]
            if is_planned(&[words[0], port]) =>
        {
            Effect::Cuts
        }
        // An address that nobody has there, told to all others.
        // Its own interface with an address of its own network that nobody has: the packet program
        // lets nobody speak with it.
        ["neigh", _, "lladdr", ethernet, "dev", port, "master", bridge]
            if was.iter().any(|two| {
                matches!(two.as_slice(), ["neigh", _, "lladdr", held, "dev", on, "master", at]
                    if (held, on, at) == (ethernet, port, bridge))
            }) =>
        {
            Effect::Harmless
        }
        _ => Effect::Opens,
    }
}
