//! May this packet pass? The three hooks of the README.

use core::net::{IpAddr, Ipv4Addr};

use crate::headers::Vxlan;
use crate::inner::{self, Asks, Inner, Saying};
use crate::ip::Ip;
use crate::numbering::{UNDERLAY, plain, plain_of_any};
use crate::outer::{self, Outer};
use crate::{AddressRecord, Arrival, Hook, Mac, PortSeat, Reason, Space, TablePermit, Tables};

/// The one answer a frame gets.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Verdict {
    /// Why it passes or does not.
    pub reason: Reason,
    /// The source's tag; 0 if it was not known when the verdict was reached.
    pub source: u16,
    /// The destination's tag; 0 if it was not known when the verdict was reached.
    pub destination: u16,
}

/// Judges one frame by one policy; without a policy all but the underlay is closed.
#[must_use]
pub fn judge(tables: Option<Tables<'_>>, arrival: &Arrival<'_>) -> Verdict {
    let mut tags = Tags { source: 0, destination: 0 };
    let (Ok(reason) | Err(reason)) = match arrival.hook {
        Hook::Fabric => fabric(tables, arrival, &mut tags),
        Hook::Workload => workload(tables, arrival, &mut tags),
        Hook::Local => local(tables, arrival, &mut tags),
    };
    Verdict { reason, source: tags.source, destination: tags.destination }
}

/// The gateway's Ethernet address, the same on every device.
pub const GATEWAY: Mac = Mac([2, 0, 0, 0, 0, 1]);

/// What is known of the two ends so far: a verdict names it also when it is a refusal.
struct Tags {
    source: u16,
    destination: u16,
}

/// A reason that passes, or one that does not.
type Answer = Result<Reason, Reason>;

/// The policy, if there is one and it is one.
fn policy(tables: Option<Tables<'_>>) -> Result<Tables<'_>, Reason> {
    let tables = tables.ok_or(Reason::Closed)?;
    if tables.is_policy() { Ok(tables) } else { Err(Reason::Table) }
}

fn fabric(tables: Option<Tables<'_>>, arrival: &Arrival<'_>, tags: &mut Tags) -> Answer {
    // The underlay comes before the policy: whoever brings a policy must reach a host without one.
    let Outer::Tunnel { ip, vxlan, frame } = outer::open(arrival.frame)? else {
        return Ok(Reason::Underlay);
    };
    let tables = policy(tables)?;
    let own = tables.vtep().ok_or(Reason::Table)?;
    if plain(ip.destination, UNDERLAY) != Some(own) {
        return Err(Reason::NotOurs);
    }
    let here = segment(tables, vxlan)?;
    let Inner { ethernet, saying } = inner::open(frame)?;
    match saying {
        Saying::Neighbour { speaker, .. } => {
            from_tunnel(here.own_record(speaker, Reason::Source)?, &ip, vxlan, tags)?;
            Ok(Reason::Neighbour)
        }
        Saying::Packet { .. } if ethernet.destination.is_group() => Err(Reason::Flood),
        Saying::Packet { source, destination, asks } => {
            from_tunnel(here.record(source, Reason::Source)?, &ip, vxlan, tags)?;
            let record = here.record(destination, Reason::Destination)?;
            tags.destination = record.tag;
            if record.vtep != own {
                return Err(Reason::Elsewhere);
            }
            across(here, [source, destination], tags, &asks)
        }
    }
}

/// The space a tunnel's packet is for; no tag, no entry.
fn segment(tables: Tables<'_>, vxlan: Vxlan) -> Result<Place<'_>, Reason> {
    if !vxlan.is_ours {
        return Err(Reason::Vxlan);
    }
    if vxlan.tag == 0 {
        return Err(Reason::Untagged);
    }
    let index = tables.space_of(vxlan.vni)?.ok_or(Reason::Vni)?;
    Place::find(tables, index)
}

/// The record is the authority: it says behind which tunnel endpoint the source is, and of which
/// job. The tag on the wire is only compared with it.
fn from_tunnel(
    record: AddressRecord,
    outer: &Ip<'_>,
    vxlan: Vxlan,
    tags: &mut Tags,
) -> Result<(), Reason> {
    tags.source = record.tag;
    if plain(outer.source, UNDERLAY) != Some(record.vtep) {
        return Err(Reason::OuterSource);
    }
    if record.tag != vxlan.tag {
        return Err(Reason::Tag);
    }
    Ok(())
}

fn workload(tables: Option<Tables<'_>>, arrival: &Arrival<'_>, tags: &mut Tags) -> Answer {
    let tables = policy(tables)?;
    let seat = seat(tables, arrival)?;
    tags.source = seat.tag;
    let (here, Inner { ethernet, saying }) = at_port(tables, seat, arrival)?;
    if ethernet.source != seat.mac {
        return Err(Reason::SourceMac);
    }
    match saying {
        Saying::Neighbour { speaker, is_arp_request } => {
            // Who asks from 0.0.0.0 whether an address is taken has none yet (RFC 5227).
            let is_probe = is_arp_request && speaker == Ipv4Addr::UNSPECIFIED;
            let is_own = is_probe || here.is(speaker, seat.address);
            if is_own { Ok(Reason::Neighbour) } else { Err(Reason::Source) }
        }
        Saying::Packet { .. } if ethernet.destination.is_group() => Err(Reason::Flood),
        Saying::Packet { source, destination, asks } => {
            if !here.is(source, seat.address) {
                return Err(Reason::Source);
            }
            tags.destination = here.record(destination, Reason::Destination)?.tag;
            across(here, [source, destination], tags, &asks)
        }
    }
}

fn local(tables: Option<Tables<'_>>, arrival: &Arrival<'_>, tags: &mut Tags) -> Answer {
    let tables = policy(tables)?;
    let seat = seat(tables, arrival)?;
    tags.destination = seat.tag;
    let (here, Inner { ethernet, saying }) = at_port(tables, seat, arrival)?;
    match saying {
        // The gateway is this host: what it says itself has no tag.
        Saying::Neighbour { .. } if arrival.mark == 0 && ethernet.source == GATEWAY => {
            Ok(Reason::Neighbour)
        }
        Saying::Neighbour { speaker, .. } => {
            tags.source = here.own_record(speaker, Reason::Source)?.tag;
            if tags.source != seat.tag {
                return Err(Reason::OtherJob);
            }
            if arrival.mark != 0 && arrival.mark != tags.source {
                return Err(Reason::Tag);
            }
            Ok(Reason::Neighbour)
        }
        Saying::Packet { .. } if ethernet.destination.is_group() => Err(Reason::Flood),
        Saying::Packet { source, destination, asks } => {
            if !here.is(destination, seat.address) {
                return Err(Reason::Destination);
            }
            if arrival.mark == 0 {
                return Err(Reason::Untagged);
            }
            tags.source = here.record(source, Reason::Source)?.tag;
            if tags.source != arrival.mark {
                return Err(Reason::Tag);
            }
            across(here, [source, destination], tags, &asks)
        }
    }
}

/// The one endpoint that is behind the interface.
fn seat(tables: Tables<'_>, arrival: &Arrival<'_>) -> Result<PortSeat, Reason> {
    let index = tables.port_of(arrival.interface)?.ok_or(Reason::Port)?;
    Ok(tables.port(index)?)
}

/// What a workload's port sees, in either direction.
fn at_port<'a>(
    tables: Tables<'a>,
    seat: PortSeat,
    arrival: &Arrival<'_>,
) -> Result<(Place<'a>, Inner), Reason> {
    let here = Place::find(tables, seat.space)?;
    if arrival.vlan_beside {
        return Err(Reason::Vlan);
    }
    Ok((here, inner::open(arrival.frame)?))
}

/// Two sound and known ends: may they exchange this?
fn across(here: Place<'_>, ends: [IpAddr; 2], tags: &Tags, asks: &Asks) -> Answer {
    // Who speaks under another tenant's number is not of the job, whatever the tags say.
    let is_of_one_tenant = ends.into_iter().all(|end| here.owns(end));
    if is_of_one_tenant && tags.source == tags.destination {
        return Ok(Reason::Job);
    }
    match *asks {
        Asks::Roce => Err(Reason::Roce),
        Asks::Fragment => Err(Reason::Fragment),
        Asks::Nothing => Err(Reason::OtherJob),
        Asks::Service { protocol, source, destination, opens } => {
            let permits = |client, provider, port| {
                let space = here.index;
                here.tables.permits(TablePermit { space, client, provider, protocol, port })
            };
            // A provider answers from its service's port; it does not open connections from there.
            let is_permitted = permits(tags.source, tags.destination, destination)?
                || (!opens && permits(tags.destination, tags.source, source)?);
            if is_permitted { Ok(Reason::Permit) } else { Err(Reason::OtherJob) }
        }
    }
}

/// The space in which a frame is judged.
#[derive(Clone, Copy)]
struct Place<'a> {
    tables: Tables<'a>,
    index: u32,
    space: Space,
}

impl<'a> Place<'a> {
    fn find(tables: Tables<'a>, index: u32) -> Result<Self, Reason> {
        Ok(Self { tables, index, space: tables.space(index)? })
    }

    /// Who has the address here, under whichever tenant's number: others are here by a permit.
    /// `nobody` is what it is called when nobody does.
    fn record(self, address: IpAddr, nobody: Reason) -> Result<AddressRecord, Reason> {
        let address = plain_of_any(address).ok_or(nobody)?;
        self.tables.record(self.space, address)?.ok_or(nobody)
    }

    /// Who of this tenant has the address here.
    fn own_record(self, address: IpAddr, nobody: Reason) -> Result<AddressRecord, Reason> {
        if self.owns(address) { self.record(address, nobody) } else { Err(nobody) }
    }

    /// Whether the address is one of this tenant.
    fn owns(self, address: IpAddr) -> bool {
        plain(address, self.space.number).is_some()
    }

    /// Whether the address is this one here, in either version.
    fn is(self, address: IpAddr, this: Ipv4Addr) -> bool {
        plain(address, self.space.number) == Some(this)
    }
}
