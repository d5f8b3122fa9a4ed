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
        for (line, tells) in self.evpn.values() {
            if let (Some(line), false) = (line, tells) {
                let why = "routes come without targets, so that nobody imports them";
                reader.lacks(*line, "send-community extended", why);
            }
        }
        for &(line, neighbor) in &self.unchanged {
            if self.is_unchanged_defined {
                reader.claim(line, Fact::KeepsNextHop(neighbor));
            } else {
                let why = "tunnels end here instead of where the route came from";
                reader.lacks(line, "set ip next-hop unchanged in route-map UNCHANGED", why);
            }
        }
    }
}

/// Over how many ways each address family spreads what it sends.
#[derive(Default)]
pub(super) struct Ways<'a> {
    /// By VRF and family: where it is opened, and over how many ways.
    families: BTreeMap<(Option<&'a str>, &'static str), (Option<Line<'a>>, Option<u32>)>,
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
        let is_alone =
            |line: &Option<Line<'a>>, ways: &Option<u32>| line.filter(|_| ways.is_none());
        for (line, ways) in self.families.values() {
            if let Some(line) = is_alone(line, ways) {
                let why = "one uplink carries all that is sent";
                reader.lacks(line, "maximum-paths 64", why);
            }
        }
        let head = self.families.iter().find(|((vrf, _), _)| vrf.is_none());
        if let (false, Some((_, (Some(line), _)))) = (self.is_relaxed, head) {
            let why = "ways over spines of different AS are not alike, so that one carries all";
            reader.lacks(*line, "bestpath as-path multipath-relax of router bgp", why);
        }
    }
}
