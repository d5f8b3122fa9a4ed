//! What packets alone do not show of an edit of dialect `nxos`: fences behind others that still
//! hold, what is promised besides, and lines of which a vendor's guide says what they do.

use super::printed::{Printed, Statement};
use super::{Classified, Effect};

mod accepted;

pub(super) use accepted::ACCEPTED;

const BY: &str = "rule: statements by their blocks, and the vendor's guides";

/// What the difference of two texts does, as a whole.
pub(super) fn classify(sound: &str, edited: &str) -> Classified {
    let is_plain = |byte: u8| (b' '..0x7f).contains(&byte) || byte == b'\n';
    if !edited.bytes().all(is_plain) {
        return Classified { effect: Effect::Refused, by: BY };
    }
    let (was, is) = (Printed::of(sound), Printed::of(edited));
    let is_leaf = was.0.iter().any(|one| one.line == "interface nve1");
    let gone = was.0.difference(&is.0).map(|one| gone(one, &is, is_leaf));
    let more = is.0.difference(&was.0).map(|one| more(one, &was));
    Classified { effect: gone.chain(more).min().unwrap_or(Effect::Harmless), by: BY }
}

/// Names for people, and what is said already or does without it.
const SILENT: &[&str] = &["description", "name", "no shutdown", "advertise l2vpn evpn"];

/// What a switch prints of its operator's own, and what is known to do nothing to others.
const OWN: &[&str] = &[
    "boot nxos bootflash:",
    "cli alias name wr",
    "copp profile strict",
    "exec-timeout",
    "feature lldp",
    "hostname",
    "icam monitor scale",
    "interface mgmt0",
    "ip domain-lookup",
    "ip name-server",
    "ip route 0.0.0.0/0 192.168.1.1",
    "limit-resource",
    "line console",
    "line vty",
    "log-neighbor-changes",
    "logging",
    "no password strength-check",
    "password strength-check",
    "ntp server",
    "rmon event",
    "snmp-server user",
    "spanning-tree mode",
    "switchname",
    "username admin password 5",
    "vdc",
    "version",
    "vrf context management",
    "vrf member management",
];

fn is_among(list: &[&str], one: &Statement) -> bool {
    list.iter().any(|begin| {
        let rest = one.line.strip_prefix(begin);
        rest.is_some_and(|rest| rest.is_empty() || begin.ends_with(':') || rest.starts_with(' '))
    })
}

/// What it does that a planned statement is gone.
fn gone(one: &Statement, is: &Printed, is_leaf: bool) -> Effect {
    match one.words()[..] {
        _ if is_among(SILENT, one) || is_among(&["hostname"], one) => Effect::Harmless,
        // The speaker takes its loopback's address.
        ["router-id", _] => Effect::Harmless,
        // ARP is flooded inside the segment.
        ["suppress-arp"] => Effect::Harmless,
        // No tunnel ends at a spine.
        ["network", _] if !is_leaf => Effect::Harmless,
        ["ip", "address", _] if !is_leaf && one.within == ["interface loopback1"] => {
            Effect::Harmless
        }
        // What it is instead is more.
        ["mtu", _] if one.within[0].starts_with("interface Vlan") => {
            let other =
                |two: &&Statement| two.within == one.within && two.line.starts_with("mtu 9");
            if is.0.iter().any(|two| other(&two)) { Effect::Harmless } else { Effect::Cuts }
        }
        // Without the word a port of these models is one of a VLAN.
        ["switchport"] => Effect::Harmless,
        // Blocks without anything in them.
        ["interface" | "vlan" | "router" | "evpn" | "vrf" | "address-family", ..] => {
            Effect::Harmless
        }
        ["maximum-paths", _]
            if is
                .0
                .iter()
                .any(|two| two.within == one.within && two.line.starts_with("maximum-paths ")) =>
        {
            Effect::Harmless
        }
        // What it is instead is more. A contract that is gone is seen by packets.
        ["rd", _]
            if is.0.iter().any(|two| two.within == one.within && two.line.starts_with("rd ")) =>
        {
            Effect::Harmless
        }
        ["security", "contract", ..] => Effect::Harmless,
        ["security", ..] | ["system", "routing", _] | ["feature", "security-group" | "dhcp"] => {
            Effect::Opens
        }
        ["hardware", ..] | ["ip", "dhcp" | "verify", ..] => Effect::Opens,
        _ => Effect::Cuts,
    }
}

/// What a statement that nobody planned does.
fn more(one: &Statement, was: &Printed) -> Effect {
    let has = |line: &str| was.0.iter().any(|two| two.line == line);
    if !stands(one) {
        return Effect::Refused;
    }
    match one.words()[..] {
        _ if is_among(SILENT, one) || is_among(OWN, one) => Effect::Harmless,
        ["interface" | "vlan" | "evpn" | "address-family", ..] => Effect::Harmless,
        // For VLANs that the switch does not have, and for policies that no contract names.
        ["ip", "source", "binding", _, _, "vlan", vlan, ..] if !has(&format!("vlan {vlan}")) => {
            Effect::Harmless
        }
        ["policy-map" | "class-map" | "class", ..] if !has(&one.line) => Effect::Harmless,
        _ if one.within.iter().any(|block| block.starts_with("policy-map") && !has(block)) => {
            Effect::Harmless
        }
        _ if one.within.iter().any(|block| block.starts_with("class-map") && !has(block)) => {
            Effect::Harmless
        }
        // Where nothing has the VNI, nothing arrives; below it only its own.
        ["member", "vni", vni, ..] if !was.0.iter().any(|two| two.line.ends_with(vni)) => {
            Effect::Harmless
        }
        ["ingress-replication", "protocol", "bgp"] => Effect::Harmless,
        // It is where it is connected; and an address has one owner on a switch.
        ["match", "connected-endpoints", "vrf", _, "ipv4", host]
            if host.ends_with("/32")
                && !was.0.iter().any(|two| {
                    two.line.starts_with("ip source binding")
                        && two.words().contains(&host.trim_end_matches("/32"))
                }) =>
        {
            Effect::Harmless
        }
        ["ip", "address", _] if has(&one.line) => Effect::Refused,
        ["route-reflector-client"] => Effect::Refused,
        ["shutdown"] if one.within == ["interface Ethernet1/40"] => Effect::Harmless,
        ["ip", "address", _] if one.within == ["interface mgmt0"] => Effect::Harmless,
        ["shutdown"] | ["password", ..] => Effect::Cuts,
        ["switchport"] => Effect::Cuts,
        ["mtu", _]
            if one.within.first().is_some_and(|block| block.starts_with("interface Vlan")) =>
        {
            Effect::Harmless
        }
        ["mtu", _] | ["system", "jumbomtu", _] => Effect::Cuts,
        ["maximum-paths", ways]
            if ways.parse::<u32>().is_ok_and(|ways| (2..=64).contains(&ways)) =>
        {
            Effect::Harmless
        }
        ["send-community", ..]
            if one.within.last().is_some_and(|block| block.ends_with("unicast")) =>
        {
            Effect::Harmless
        }
        // To VRFs of the same switch alone, and nobody takes it.
        ["route-target", "export", target]
            if one.within[0].starts_with("vrf context")
                && !was
                    .0
                    .iter()
                    .any(|two| two.vrf_takes(target) && two.within[0] != one.within[0]) =>
        {
            Effect::Harmless
        }
        // From VRFs of the same switch alone, and none gives it.
        ["route-target", "import", target]
            if one.within[0].starts_with("vrf context")
                && !was.0.iter().any(|two| two.vrf_gives(target)) =>
        {
            Effect::Harmless
        }
        ["rd", rd] => distinguisher(rd, was),
        ["security", "contract", "source", client, "destination", provider, "policy", policy]
            if was.0.iter().any(|two| is_contract(two, client, provider, policy)) =>
        {
            Effect::Harmless
        }
        ["maximum-paths", ..] | ["router-id", _] => Effect::Cuts,
        ["router", "bgp", _] if has(&one.line) => Effect::Harmless,
        // A contract as it may be written.
        ["security", "contract", .., "bidir"] if has(one.line.trim_end_matches(" bidir")) => {
            Effect::Harmless
        }
        _ => Effect::Opens,
    }
}

/// Whether a planned contract says the same, by another name of its policy or in another VRF.
fn is_contract(one: &Statement, client: &str, provider: &str, policy: &str) -> bool {
    let service = |policy: &str| policy.splitn(3, '-').nth(2).map(str::to_owned);
    match one.words()[..] {
        ["security", "contract", "source", a, "destination", b, "policy", held] => {
            (a, b) == (client, provider) && service(held) == service(policy)
        }
        _ => false,
    }
}

/// Routes of two scopes with one distinguisher are taken for each other.
fn distinguisher(rd: &str, was: &Printed) -> Effect {
    let own = was.0.iter().find_map(|two| two.line.strip_prefix("router-id "));
    let is_own = own.is_some_and(|own| rd.split_once(':').is_some_and(|(at, _)| at == own));
    let is_used = was.0.iter().any(|two| two.line.strip_prefix("rd ") == Some(rd));
    if is_own && !is_used { Effect::Harmless } else { Effect::Cuts }
}

/// Whether a switch takes the line where it stands, for lines of which that is in doubt.
fn stands(one: &Statement) -> bool {
    let block = one.within.last().map_or("", String::as_str);
    let is_in = |list: &[&str]| list.iter().any(|begin| block.starts_with(begin));
    if one.line.contains(" !") {
        return false;
    }
    match one.words()[0] {
        "description" => is_in(&["interface", "vrf context", "neighbor"]),
        "name" => is_in(&["vlan"]),
        "shutdown" => is_in(&["interface", "neighbor", "router bgp"]),
        "switchport" => is_in(&["interface Ethernet", "interface port-channel"]),
        "maximum-paths" => is_in(&["address-family"]),
        "address-family" => is_in(&["router bgp", "vrf", "neighbor"]),
        "hostname" | "vlan" | "interface" | "evpn" => block.is_empty(),
        "no" if one.line == "no shutdown" => is_in(&["interface"]),
        _ => true,
    }
}
