//! BGP of dialect `nxos`: what a session needs besides its neighbour, and over how many ways is sent.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use super::Reader;
use crate::Fact;
use crate::lines::Line;

/// EVPN with each neighbour.
#[derive(Default)]
pub(super) struct Sessions<'a> {
    /// Where it is opened, and whether targets go with routes.
    evpn: BTreeMap<Ipv4Addr, (Option<Line<'a>>, bool)>,
    /// The lines by which routes keep their next hop.
    pub(super) unchanged: Vec<(Line<'a>, Ipv4Addr)>,
    /// Whether the map that these lines name does so.
    pub(super) is_unchanged_defined: bool,
}

impl<'a> Sessions<'a> {
    pub(super) fn opens(&mut self, neighbor: Ipv4Addr, line: Line<'a>) {
        self.evpn.entry(neighbor).or_default().0.get_or_insert(line);
    }

    pub(super) fn tells(&mut self, neighbor: Ipv4Addr) {
        self.evpn.entry(neighbor).or_default().1 = true;
    }

    pub(super) fn say(&self, reader: &mut Reader<'a>) {
        for (neighbor, (line, tells)) in &self.evpn {
            if let (Some(line), false) = (line, tells) {
                let why = "routes come without targets, so that nobody imports them";
                reader.lacks_of(*line, format!("send-community extended of {neighbor}"), why);
            }
        }
        for &(line, neighbor) in &self.unchanged {
            if self.is_unchanged_defined {
                reader.claim(line, Fact::KeepsNextHop(neighbor));
            } else {
                let why = "tunnels end here instead of where the route came from";
                let text =
                    format!("set ip next-hop unchanged of route-map UNCHANGED to {neighbor}");
                reader.lacks_of(line, text, why);
            }
        }
    }
}

/// Where an address family is opened, and over how many ways it spreads what it sends.
type Family<'a> = (Option<Line<'a>>, Option<u32>);

/// Over how many ways each address family spreads what it sends.
#[derive(Default)]
pub(super) struct Ways<'a> {
    /// By VRF and family: where it is opened, and over how many ways.
    families: BTreeMap<(Option<&'a str>, &'static str), Family<'a>>,
    /// Whether ways through different neighbours are alike.
    pub(super) is_relaxed: bool,
}

impl<'a> Ways<'a> {
    pub(super) fn family(&mut self, vrf: Option<&'a str>, family: &'static str, line: Line<'a>) {
        self.families.entry((vrf, family)).or_default().0.get_or_insert(line);
    }

    pub(super) fn spread(&mut self, vrf: Option<&'a str>, family: &'static str, ways: u32) {
        self.families.entry((vrf, family)).or_default().1 = Some(ways);
    }

    pub(super) fn say(&self, reader: &mut Reader<'a>) {
        for ((vrf, family), (line, ways)) in &self.families {
            if let (Some(line), None) = (line, ways) {
                let why = "one uplink carries all that is sent";
                let of_vrf = vrf.map(|vrf| format!(" of vrf {vrf}")).unwrap_or_default();
                let text = format!("maximum-paths 64 of address-family {family}{of_vrf}");
                reader.lacks_of(*line, text, why);
            }
        }
        let head = self.families.iter().find(|((vrf, _), _)| vrf.is_none());
        if let Some((_, (Some(line), _))) = head
            && !self.families.contains_key(&(None, "l2vpn evpn"))
        {
            let text = "address-family l2vpn evpn of router bgp".into();
            reader.lacks_of(*line, text, "one uplink carries all that is sent");
        }
        if let (false, Some((_, (Some(line), _)))) = (self.is_relaxed, head) {
            let why = "ways over spines of different AS are not alike, so that one carries all";
            reader.lacks_of(*line, "bestpath as-path multipath-relax of router bgp".into(), why);
        }
    }
}
