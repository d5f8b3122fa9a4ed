//! Gateways and segments of dialect `nxos`: what several of their lines come to.

use std::collections::{BTreeMap, BTreeSet};

use wire::Vni;

use super::Reader;
use super::values;
use crate::Fact;
use crate::lines::Line;

/// Routed interfaces of VLANs, and the VNIs of VLANs and VRFs.
#[derive(Default)]
pub(super) struct Gateways<'a> {
    gateways: BTreeMap<&'a str, Lines<'a>>,
    /// `vn-segment` lines: the VLAN and its VNI.
    pub(super) segments: Vec<(Line<'a>, &'a str, Vni)>,
    /// `vni` lines without `l3`: the VRF and its VNI.
    pub(super) vnis: Vec<(Line<'a>, &'a str, Vni)>,
}

/// What the lines of one routed interface say together.
#[derive(Default)]
pub(super) struct Lines<'a> {
    /// Where its block is opened first.
    head: Option<Line<'a>>,
    pub(super) vrf: Option<&'a str>,
    /// The lines with its addresses, and what each says if the interface is up.
    pub(super) addresses: Vec<(Line<'a>, Fact)>,
    /// Whether it routes without an address.
    pub(super) forwards: bool,
    pub(super) is_anycast: bool,
    pub(super) is_up: bool,
    pub(super) is_shut: bool,
    pub(super) mtu: Option<u32>,
}

impl<'a> Gateways<'a> {
    pub(super) fn opens(&mut self, vlan: &'a str, line: Line<'a>) {
        self.of(vlan).head.get_or_insert(line);
    }

    pub(super) fn of(&mut self, vlan: &'a str) -> &mut Lines<'a> {
        self.gateways.entry(vlan).or_default()
    }

    /// Says what is up, and what is missing beside the segments whose tunnels end here.
    pub(super) fn say(self, members: &BTreeMap<Vni, (Line<'a>, bool)>, reader: &mut Reader<'a>) {
        let of_vrfs: BTreeSet<Vni> = self.vnis.iter().map(|(_, _, vni)| *vni).collect();
        // A VLAN with the VNI of a VRF is no segment: nothing is bridged in it.
        for &(line, vlan, vni) in self.segments.iter().filter(|(.., vni)| !of_vrfs.contains(vni)) {
            if let Ok(bridge) = values::bridge(vlan) {
                reader.claim(line, Fact::SegmentOf { bridge, vni });
            }
            if !members.contains_key(&vni) {
                let text = format!("member vni {vni} of interface nve1");
                reader.lacks_of(line, text, "the segment has no tunnel to other leaves");
            }
        }
        for &(line, vrf, vni) in &self.vnis {
            if self.carries(vrf, vni) {
                reader.claim(line, Fact::VrfUp { vrf: values::vrf(vrf), vni });
            }
        }
        let has_segment = |vlan: &str| self.segments.iter().any(|(_, held, _)| *held == vlan);
        for (vlan, lines) in self.gateways {
            if let Some(head) = lines.head.filter(|_| !lines.addresses.is_empty())
                && !has_segment(vlan)
            {
                let text = format!("vn-segment of vlan {vlan}");
                reader.lacks_of(head, text, "the VLAN is on this leaf alone");
            }
            let mut own = self.segments.iter().filter(|(_, held, _)| *held == vlan);
            lines.say(own.any(|(.., vni)| of_vrfs.contains(vni)), reader);
        }
    }

    /// Whether a VLAN with this VNI has an interface in the VRF that routes.
    fn carries(&self, vrf: &str, vni: Vni) -> bool {
        let mut vlans = self.segments.iter().filter(|(.., held)| *held == vni);
        vlans.any(|(_, vlan, _)| {
            self.gateways.get(vlan).is_some_and(|lines| {
                lines.vrf == Some(vrf) && lines.forwards && lines.is_up && !lines.is_shut
            })
        })
    }
}

impl<'a> Lines<'a> {
    /// Such an interface is down until it is told, and has no address that others have too.
    fn say(self, is_of_vrf: bool, reader: &mut Reader<'a>) {
        let Some(head) = self.head else { return };
        if self.addresses.is_empty() {
            if self.vrf.is_some() && !self.forwards {
                let text = if is_of_vrf { "ip forward" } else { "ip address" };
                reader.lacks(head, text, "nothing is routed out of the VLAN");
            }
            return;
        }
        if !self.is_up || self.is_shut {
            reader.lacks(head, "no shutdown", "a gateway is down until it is told");
        }
        if !self.is_anycast {
            let text = "fabric forwarding mode anycast-gateway";
            reader.lacks(head, text, "two leaves have one address and two gateways");
        }
        if self.mtu.is_none() {
            reader.lacks(head, "mtu 9166", "frames of more than 1,500 bytes are not routed");
        }
        if self.is_up && !self.is_shut {
            for (line, gateway) in self.addresses {
                reader.claim(line, gateway);
            }
        }
    }
}
