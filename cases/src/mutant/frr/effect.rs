//! The table: what it does when FRR takes a statement more, or one less.

use crate::mutant::Effect::{self, Cuts, Harmless, Opens};
use crate::mutant::printed::{Printed, Statement};

/// What the difference of two printings does: the worst of all that differs.
pub(super) fn of(sound: &Printed, edited: &Printed) -> Effect {
    let gone = sound.0.difference(&edited.0).map(|one| gone(one, edited));
    let more = edited.0.difference(&sound.0).map(|one| more(one, sound));
    gone.chain(more).min().unwrap_or(Harmless)
}

/// What people write to each other and programs of themselves, and what says the default.
const SILENT: &[&str] = &[
    "Building configuration...",
    "Current configuration:",
    "agentx",
    "bgp deterministic-med",
    "bgp graceful-restart",
    "bgp log-neighbor-changes",
    "bgp suppress-duplicates",
    "description",
    "end",
    "frr version",
    "hostname",
    "ip forwarding",
    "line vty",
    "log",
    "no bgp ebgp-requires-policy",
    "no bgp default ipv4-unicast",
    "no bgp network import-check",
    "no ipv6 forwarding",
    "password",
    "service",
];

fn is_silent(one: &Statement) -> bool {
    let mut silent = SILENT.iter();
    silent.any(|begin| {
        one.line.strip_prefix(begin).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    })
}

/// What it does that a planned statement is gone.
fn gone(one: &Statement, edited: &Printed) -> Effect {
    match one.words()[..] {
        _ if is_silent(one) => Harmless,
        // A target that nobody names is made up, and imported from any AS.
        ["route-target", ..] | ["rd", ..] if !edited.0.iter().any(|two| is_block_of(two, one)) => {
            Cuts
        }
        ["route-target", way, _] if !edited.has(&one.scope(), &format!("route-target {way}")) => {
            Opens
        }
        // The daemon then takes the loopback's address, which is the same.
        ["bgp", "router-id", _] => Harmless,
        // Loss is noticed by the defaults of a data centre: after nine seconds, tried again in ten.
        ["neighbor", _, "timers", ..] | ["timers", ..] => Harmless,
        // An interface, VRF, session or family without anything in it is nothing.
        ["interface", _] | ["vrf", _] | ["address-family", ..] => Harmless,
        // Then every session speaks IPv4 without a word.
        ["neighbor", _, "activate"]
            if one.family() == "ipv4 unicast"
                && !edited.0.iter().any(|two| two.line == "no bgp default ipv4-unicast") =>
        {
            Harmless
        }
        _ => Cuts,
    }
}

fn is_block_of(block: &Statement, one: &Statement) -> bool {
    one.within.last() == Some(&block.line) && block.within == one.within[..one.within.len() - 1]
}

/// What a statement that nobody planned does.
fn more(one: &Statement, sound: &Printed) -> Effect {
    match one.words()[..] {
        _ if is_silent(one) => Harmless,
        ["interface", _] | ["vrf", _] | ["address-family", ..] | ["netns", _] => Harmless,
        // Without anything in it, and for a VRF that is not here, it says nothing.
        ["router", "bgp", _, "vrf", _] => Harmless,
        ["bgp", "router-id", _] => router_id(one, sound),
        ["rd", rd] => distinguisher(rd, one, sound),
        ["maximum-paths", number] => match number.parse() {
            Ok(2..=u32::MAX) => Harmless,
            _ => Cuts,
        },
        ["neighbor", _, "timers", "connect", seconds] => hold(seconds, 120),
        ["neighbor", _, "timers", _, seconds] | ["timers", "bgp", _, seconds] => hold(seconds, 180),
        ["frr", "defaults", ..]
        | ["no", "ip", "forwarding"]
        | ["shutdown"]
        | ["bgp", "shutdown"]
        | ["neighbor", _, "shutdown", ..]
        | ["neighbor", _, "password", _]
        | ["neighbor", _, "passive"] => Cuts,
        // The underlay's own addresses, to whom they are told already.
        ["redistribute", "connected"] | ["advertise", "ipv4" | "ipv6", "unicast"]
            if sound.has(&one.scope(), &one.line) && one.vrf().is_some() =>
        {
            Harmless
        }
        _ => Opens,
    }
}

/// Loss must be noticed, and soon.
fn hold(seconds: &str, most: u32) -> Effect {
    match seconds.parse() {
        Ok(seconds) if (1..=most).contains(&seconds) => Harmless,
        _ => Cuts,
    }
}

/// Two speakers that call themselves the same are one to those who choose between their routes.
fn router_id(one: &Statement, sound: &Printed) -> Effect {
    let own = sound.0.iter().find(|two| two.line.starts_with("bgp router-id "));
    if one.vrf().is_some() || own.is_none_or(|own| own.line == one.line) { Harmless } else { Cuts }
}

/// Routes of two scopes with one distinguisher are taken for each other.
fn distinguisher(rd: &str, one: &Statement, sound: &Printed) -> Effect {
    let own = sound.0.iter().find_map(|two| two.line.strip_prefix("bgp router-id "));
    let is_own = own.is_some_and(|own| rd.split_once(':').is_some_and(|(at, _)| at == own));
    let is_used = sound.0.iter().any(|two| {
        two.scope() != one.scope() && two.line.strip_prefix("rd ").is_some_and(|used| used == rd)
    });
    if is_own && !is_used { Harmless } else { Cuts }
}
