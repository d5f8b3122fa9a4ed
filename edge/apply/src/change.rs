//! From differences to requests: what is undone, what is done, in which order.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};

use filter::Kernel;
use model::numbering::{bridge_name, l3vni, tenant_of_l3vni, tenant_of_vrf, tunnel_name};
use netlink_packet_route::AddressFamily;
use observe::{Found, KernelRequest, Place, Spaces, Trouble, Vrfs, next_hop, run_inside, table_of};
use wire::{ipv6_of, router_mac};

use crate::line::{Extra, Line};
use crate::requests::LOOPBACK;
use crate::{queues, requests, vrf};

/// Interfaces that are made here have numbers of their own: a port that comes into a namespace
/// finds its number free and keeps it, and the packet program knows ports by their numbers.
const BRIDGES: u32 = 1 << 24;
const TUNNELS: u32 = 2 << 24;
/// The first VNI of VRFs is that of tenant 1, less one.
/// What VXLAN over IPv4 adds to a frame.
const OVERHEAD: u32 = 50;

/// What the differences of a round come to.
pub(crate) struct Change<'a> {
    pub(crate) place: &'a Place,
    pub(crate) spaces: &'a mut Spaces,
    pub(crate) found: &'a Found,
    /// All lines that shall be.
    pub(crate) wanted: &'a [Line<'a>],
}

/// Requests, by the namespace where they are asked.
type Batches<'a> = BTreeMap<Option<&'a str>, Vec<KernelRequest>>;

impl<'a> Change<'a> {
    /// Undoes what nobody planned, ports first. VRFs stay until the routing daemons gave them up.
    pub(crate) fn undo(&mut self, extras: &[Extra<'a>]) -> Result<(), Trouble> {
        for extra in extras {
            match *extra {
                Extra::Link { port } => self.release(port)?,
                Extra::Uplink { port } => self.close_uplink(port)?,
                Extra::Vrf { name } => self.empty(name)?,
                Extra::VrfOfTable { name } => {
                    self.empty(name)?;
                    vrf::end(self.place, self.spaces, name)?;
                }
                _ => {}
            }
        }
        self.remove_made(extras)?;
        let mut batches = Batches::new();
        for extra in extras {
            self.undoing(extra, &mut batches);
        }
        self.send(batches)
    }

    /// Removes bridges and tunnels, all of one VRF together.
    fn remove_made(&mut self, extras: &[Extra<'a>]) -> Result<(), Trouble> {
        let mut made: BTreeMap<Option<&str>, Vec<(&str, u32)>> = BTreeMap::new();
        for extra in extras {
            let Extra::Made { name, vrf } = *extra else { continue };
            let at = match vrf {
                Some(vrf) => self.found.interface_in(vrf, name).map(|index| (Some(vrf), index)),
                None => self.found.interface(name),
            };
            if let Some((vrf, index)) = at {
                made.entry(vrf).or_default().push((name, index));
            }
        }
        made.iter().try_for_each(|(vrf, links)| self.remove(*vrf, links))
    }

    /// Removes links of one VRF at once. The bridge of its own VNI goes down before: zebra lets go
    /// of it only when it sees that while the tunnel is inside, and otherwise follows a pointer into
    /// what it has freed when the VNI goes.
    fn remove(&mut self, vrf: Option<&str>, links: &[(&str, u32)]) -> Result<(), Trouble> {
        let own = vrf.map(|vrf| bridge_name(own_vni(vrf)));
        let is_own = |(name, _): &&(&str, u32)| own.as_deref() == Some(*name);
        let downs =
            links.iter().filter(is_own).map(|(name, index)| requests::set_down(name, *index));
        let all: Vec<KernelRequest> = downs.chain(requests::remove_links(links)).collect();
        self.ask(vrf, &all)
    }

    /// Takes everything out of a VRF that will end. Tunnels are not left to its end, which comes
    /// late: their VNI would be taken until then.
    fn empty(&mut self, vrf: &'a str) -> Result<(), Trouble> {
        let found = self.found;
        for (port, index) in found.ports(vrf) {
            self.release_from(Some(vrf), port, index)?;
        }
        let made: Vec<(&str, u32)> = found.made(vrf).collect();
        self.remove(Some(vrf), &made)
    }

    /// Takes a port out of its bridge, down. It stays in the VRF as long as that stays, because its
    /// next job is most often of the same tenant: the kernel lets nobody else change an interface
    /// for the whole grace period that a move takes.
    fn release(&mut self, port: &str) -> Result<(), Trouble> {
        let Some((vrf, index)) = self.found.interface(port) else { return Ok(()) };
        let stays = |line: &Line<'_>| matches!(line, Line::Vrf { name } if Some(*name) == vrf);
        if self.found.judged(vrf, &["workload", "local"], index) && self.wanted.iter().any(stays) {
            return self.ask(vrf, &[requests::take_out(port, index)]);
        }
        self.release_from(vrf, port, index)
    }

    /// Takes a port out of its bridge, down, and gives it back to the node. It stays judged: what
    /// nobody has a place for is dropped, and to begin anew costs two grace periods.
    fn release_from(&mut self, vrf: Option<&str>, port: &str, index: u32) -> Result<(), Trouble> {
        self.ask(vrf, &[requests::take_out(port, index)])?;
        let (Vrfs::Namespaces(folder), Some(name)) = (&self.place.vrfs, vrf) else { return Ok(()) };
        let Some(home) = self.spaces.namespace(None) else { return Ok(()) };
        let home = home.try_clone().map_err(Trouble::file(folder))?;
        self.ask(Some(name), &[requests::move_to(port, index, &home)])
    }

    fn close_uplink(&mut self, port: &str) -> Result<(), Trouble> {
        if self.wanted.iter().any(|line| matches!(line, Line::Uplink { port: p, .. } if *p == port))
        {
            return Ok(()); // it is only to be mended
        }
        let Some((vrf, index)) = self.found.interface(port) else { return Ok(()) };
        self.ask(vrf, &[requests::take_out(port, index)])?;
        self.stop_judging(index)
    }

    /// Ends all queues of uplinks. The program goes first: queues without it are told as odd, and so
    /// are ended again if this is cut short.
    pub(crate) fn end_queues(
        &mut self,
        extras: &[Extra<'a>],
        kernel: &mut Kernel,
    ) -> Result<(), Trouble> {
        for extra in extras {
            let Extra::Queues { port } = *extra else { continue };
            let Some((vrf, index)) = self.found.interface(port) else { continue };
            kernel.release_queue(index)?;
            self.ask(vrf, &[queues::remove(port, index)])?;
        }
        Ok(())
    }

    /// Takes the program off an interface. Numbers are unique in one namespace only: if a stranger
    /// has the number of another interface, the program stands there, and must stay.
    fn stop_judging(&self, index: u32) -> Result<(), Trouble> {
        if self.found.is_shared(index) {
            return Ok(());
        }
        Ok(Kernel::danger_release(&self.place.filter, index)?)
    }

    fn undoing(&self, extra: &Extra<'a>, batches: &mut Batches<'a>) {
        let found = self.found;
        let index = |name: &str| found.interface(name);
        let mut ask = |vrf, request| batches.entry(vrf).or_default().push(request);
        match *extra {
            Extra::Vtep { address } => {
                ask(None, requests::remove_address(LOOPBACK, address.into(), 32));
            }
            Extra::Neighbour { address, mac, dev, master } => {
                if let Some((vrf, bridge)) = index(master) {
                    let twin = ipv6_of(number(vrf), address);
                    ask(vrf, requests::remove_neighbour(bridge, address.into()));
                    ask(vrf, requests::remove_neighbour(bridge, twin.into()));
                    if let Some((_, port)) = index(dev) {
                        ask(vrf, requests::remove_station(port, mac));
                    }
                }
            }
            Extra::Reach { first, last, vrf, vni } => {
                for address in u32::from(first)..=u32::from(last) {
                    let address = Ipv4Addr::from(address);
                    let twin = ipv6_of(tenant(vni), address).into();
                    let table = self.table(Some(vrf));
                    ask(Some(vrf), requests::remove_route(address.into(), 32, None, table));
                    ask(Some(vrf), requests::remove_route(twin, 128, None, table));
                }
            }
            Extra::LoneNeighbour { address, dev, vrf } => {
                if let Some((_, index)) = index(dev) {
                    ask(Some(vrf), requests::remove_neighbour(index, address));
                }
            }
            Extra::Address { address, prefix, dev, vrf } => {
                if let Some((_, index)) = index(dev) {
                    ask(Some(vrf), requests::remove_address(index, address, prefix));
                }
            }
            Extra::Station { mac, dev, vrf } => {
                if let Some((_, index)) = index(dev) {
                    ask(Some(vrf), requests::remove_station(index, mac));
                }
            }
            Extra::Remote { mac, vtep, vni, dev, vrf } => {
                if let Some((_, index)) = index(dev) {
                    ask(Some(vrf), requests::remove_remote(index, mac, Some(vtep), vni));
                }
            }
            Extra::Route { address, prefix, vrf, metric, table } => {
                let table = table.or_else(|| self.table(vrf));
                ask(vrf, requests::remove_route(address, prefix, metric, table));
            }
            Extra::Rule { is_ipv6, priority, action, table } => {
                let family = if is_ipv6 { AddressFamily::Inet6 } else { AddressFamily::Inet };
                let table = Some(table).filter(|table| *table != 0);
                ask(None, requests::remove_rule(family, priority, action.into(), table));
            }
            Extra::Queue { port, tenant } => {
                if let Some((vrf, index)) = index(port) {
                    ask(vrf, queues::remove_class(port, index, tenant));
                }
            }
            Extra::Uplink { .. }
            | Extra::Vrf { .. }
            | Extra::VrfOfTable { .. }
            | Extra::Made { .. }
            | Extra::Link { .. }
            | Extra::Queues { .. } => {}
        }
    }

    /// Attaches the program to cables to the fabric that lack it.
    pub(crate) fn attach_uplinks(&mut self, kernel: &mut Kernel) -> Result<(), Trouble> {
        for line in self.wanted {
            let Line::Uplink { port, mtu } = *line else { continue };
            let (vrf, index) = self.port(port)?;
            if self.found.judged(vrf, &["fabric"], index) {
                continue;
            }
            // Some drivers take no larger MTU once the program is there.
            self.ask(vrf, &[requests::set_mtu(port, index, mtu)])?;
            kernel.attach_uplink(port)?;
        }
        Ok(())
    }

    /// Makes the VRFs that are missing.
    pub(crate) fn make_vrfs(&mut self, missing: &[Line<'a>]) -> Result<Vec<&'a str>, Trouble> {
        let mut made = Vec::new();
        for line in missing {
            let Line::Vrf { name } = *line else { continue };
            vrf::make(self.place, self.spaces, name)?;
            made.push(name);
        }
        if !made.is_empty() {
            self.spaces.refresh()?;
        }
        Ok(made)
    }

    /// Makes the bridges and tunnels that are missing, and brings those that differ in place.
    pub(crate) fn make_links(&mut self, missing: &[Line<'a>]) -> Result<(), Trouble> {
        let mut bridges = Batches::new();
        for line in missing {
            let (name, vrf, mac) = match *line {
                Line::Bridge { name, vrf, mac, .. } => (name.to_owned(), vrf, mac),
                Line::Router { vni, vrf, mac, .. } => (bridge_name(vni), vrf, mac),
                _ => continue,
            };
            let device = match self.place.vrfs {
                Vrfs::Namespaces(_) => None,
                Vrfs::Devices => Some(self.port(vrf)?.1),
            };
            let (index, made) = match self.found.interface(&name) {
                Some((_, index)) => (index, requests::mend_bridge(&name, index, mac, device)),
                None => {
                    let index = bridge_index(&name);
                    (index, requests::new_bridge(&name, index, mac, device))
                }
            };
            let batch = bridges.entry(Some(vrf)).or_default();
            batch.extend(made);
            batch.push(requests::set_up(&name, index));
        }
        self.send(bridges)?;
        let mtu = self.tunnel_mtu();
        let mut tunnels = Vec::new();
        for line in missing {
            let (name, vni, local, vrf) = match *line {
                Line::Router { name, vni, local, vrf, .. } => (name, vni, local, Some(vrf)),
                Line::Tunnel { name, vni, local, master } => {
                    (name, vni, local, vrf_of(master, self.wanted))
                }
                _ => continue,
            };
            if self.found.interface(name).is_some() {
                continue;
            }
            let namespace = vrf.and_then(|vrf| self.spaces.namespace(Some(vrf)));
            let namespace = namespace.ok_or_else(|| absent(name, "its VRF"))?;
            let is_device = self.place.vrfs == Vrfs::Devices;
            let vrf = requests::Vrf { namespace, is_device };
            tunnels.push(requests::new_tunnel(name, TUNNELS + vni, vni, local, mtu, &vrf));
        }
        self.ask(None, &tunnels)
    }

    /// Moves ports to where they belong and lets the program judge them. They are down. Says whether
    /// any moved.
    pub(crate) fn bring_ports(
        &mut self,
        missing: &[Line<'a>],
        kernel: &mut Kernel,
    ) -> Result<bool, Trouble> {
        let mut has_moved = false;
        let mut arrived: BTreeMap<&'a str, Vec<&'a str>> = BTreeMap::new();
        for line in missing {
            let Line::Link { port, master, mtu } = *line else { continue };
            let to = vrf_of(master, self.wanted).ok_or_else(|| absent(port, "its bridge"))?;
            let (at, index) = self.port(port)?;
            if at != Some(to) {
                let out = [requests::take_out(port, index), requests::set_mtu(port, index, mtu)];
                self.ask(at, &out)?;
                has_moved |= self.move_to(to, at, port, index)?;
            }
            if at != Some(to) || !self.found.judged(at, &["workload", "local"], index) {
                arrived.entry(to).or_default().push(port);
            }
        }
        for (to, ports) in arrived {
            let Some(namespace) = self.spaces.namespace(Some(to)) else { continue };
            run_inside(namespace, || ports.iter().try_for_each(|port| kernel.attach_port(port)))??;
        }
        Ok(has_moved)
    }

    /// Moves a port into the namespace of a VRF, and says whether it has one.
    fn move_to(
        &mut self,
        vrf: &str,
        at: Option<&str>,
        port: &str,
        index: u32,
    ) -> Result<bool, Trouble> {
        let Vrfs::Namespaces(folder) = &self.place.vrfs else { return Ok(false) };
        let namespace = self.spaces.namespace(Some(vrf));
        let namespace = namespace.ok_or_else(|| absent(port, "its VRF"))?;
        let namespace = namespace.try_clone().map_err(Trouble::file(folder))?;
        self.ask(at, &[requests::move_to(port, index, &namespace)])?;
        Ok(true)
    }

    /// Joins everything: addresses, bridge ports, who is where, and what is reached elsewhere.
    pub(crate) fn join(&mut self, missing: &[Line<'a>]) -> Result<(), Trouble> {
        let mut batches = Batches::new();
        let mut ways = BTreeSet::new();
        for line in missing {
            self.joining(line, &mut batches, &mut ways)?;
        }
        self.send(batches)
    }

    fn joining(
        &self,
        line: &Line<'a>,
        batches: &mut Batches<'a>,
        ways: &mut BTreeSet<(&'a str, u32, Ipv4Addr)>,
    ) -> Result<(), Trouble> {
        match *line {
            Line::Vtep { address } => {
                let batch = batches.entry(None).or_default();
                batch.push(requests::set_up("lo", LOOPBACK));
                batch.push(requests::add_address(LOOPBACK, address.into(), 32));
            }
            Line::Uplink { port, mtu } => {
                let (vrf, index) = self.port(port)?;
                let batch = batches.entry(vrf).or_default();
                batch.push(requests::set_mtu(port, index, mtu));
                batch.push(requests::set_up(port, index));
            }
            Line::Vrf { .. } | Line::Queues { .. } | Line::Queue { .. } => {}
            Line::Router { name, vni, .. } => {
                self.bridge_port(name, &bridge_name(vni), None, batches)?;
            }
            Line::Tunnel { name, master, .. } => self.bridge_port(name, master, None, batches)?,
            Line::Bridge { name, vrf, address, prefix, .. } => {
                let (_, index) = self.port(name)?;
                let twin = ipv6_of(number(Some(vrf)), address);
                let batch = batches.entry(Some(vrf)).or_default();
                batch.push(requests::add_address(index, address.into(), prefix));
                batch.push(requests::add_address(index, twin.into(), prefix + 96));
            }
            Line::Link { port, master, mtu } => {
                self.bridge_port(port, master, Some(mtu), batches)?;
            }
            Line::Neighbour { address, mac, dev, master } => {
                let (vrf, bridge) = self.port(master)?;
                let (at, port) = self.port(dev)?;
                if !self.can_meet(at, vrf) {
                    return Ok(()); // as in `bridge_port`
                }
                let batch = batches.entry(vrf).or_default();
                batch.push(requests::add_station(port, mac));
                for address in [IpAddr::V4(address), ipv6_of(number(vrf), address).into()] {
                    batch.extend(requests::add_neighbour(bridge, address, mac, false));
                }
            }
            Line::Reach { first, last, vrf, vtep, vni } => {
                let own = own_vni(vrf);
                let (_, bridge) = self.port(&bridge_name(own))?;
                let (_, tunnel) = self.port(&tunnel_name(own))?;
                let via = next_hop(vni, vtep);
                let batch = batches.entry(Some(vrf)).or_default();
                if ways.insert((vrf, vni, vtep)) {
                    let mac = router_mac(tenant(vni), vtep);
                    batch.extend(requests::add_neighbour(bridge, via.into(), mac, false));
                    batch.push(requests::add_remote(tunnel, mac, vtep, Some(vni)));
                }
                for address in u32::from(first)..=u32::from(last) {
                    let address = Ipv4Addr::from(address);
                    let table = self.table(Some(vrf));
                    batch.push(requests::add_route(address.into(), bridge, via, table));
                    let twin = ipv6_of(tenant(vni), address);
                    batch.push(requests::add_route(twin.into(), bridge, via, table));
                }
            }
        }
        Ok(())
    }

    /// Makes the queues of uplinks that are missing, and then those of tenants. The program that
    /// names them comes last.
    pub(crate) fn make_queues(
        &mut self,
        missing: &[Line<'a>],
        kernel: &mut Kernel,
    ) -> Result<(), Trouble> {
        for line in missing {
            let Line::Queues { port, rate_bps } = *line else { continue };
            let (vrf, index) = self.port(port)?;
            self.ask(vrf, &queues::make(port, index, rate_bps))?;
        }
        for line in missing {
            let Line::Queue { port, tenant, rate_bps, ceil_bps } = *line else { continue };
            let (vrf, index) = self.port(port)?;
            self.ask(vrf, &queues::set(port, index, tenant, rate_bps, ceil_bps))?;
        }
        for line in missing {
            let Line::Queues { port, .. } = *line else { continue };
            kernel.attach_queue(port)?;
        }
        Ok(())
    }

    /// Puts a port with its MTU, or a tunnel without one, into its bridge. A bridge that was made
    /// again in another VRF has left its ports behind: their lines did not change, so that only the
    /// next look finds them where they are.
    fn bridge_port(
        &self,
        name: &str,
        bridge: &str,
        mtu: Option<u32>,
        batches: &mut Batches<'a>,
    ) -> Result<(), Trouble> {
        let (at, index) = self.port(name)?;
        let (vrf, master) = self.port(bridge)?;
        if !self.can_meet(at, vrf) {
            return Ok(());
        }
        let batch = batches.entry(vrf).or_default();
        batch.push(requests::put_into(name, index, master, mtu));
        batch.push(match mtu {
            Some(_) => requests::set_port(name, index),
            None => requests::open_tunnel(name, index),
        });
        Ok(())
    }

    /// Brings up the ports that the plan holds and that are down, and the cables to the fabric if
    /// somebody set one down.
    pub(crate) fn open_ports(&mut self) -> Result<(), Trouble> {
        let mut batches = Batches::new();
        for line in self.wanted {
            if let Line::Link { port, .. } | Line::Uplink { port, .. } = *line {
                let (vrf, index) = self.port(port)?;
                if self.found.is_up(vrf, index) {
                    continue;
                }
                batches.entry(vrf).or_default().push(requests::set_up(port, index));
            }
        }
        self.send(batches)
    }

    /// Tells the routing daemons again who is at these bridges.
    pub(crate) fn announce(&mut self, which: &dyn Fn(&str) -> bool) -> Result<(), Trouble> {
        let mut batches = Batches::new();
        for line in self.wanted {
            let Line::Neighbour { address, mac, master, .. } = *line else { continue };
            if !which(master) {
                continue;
            }
            let (vrf, bridge) = self.port(master)?;
            for address in [IpAddr::V4(address), ipv6_of(number(vrf), address).into()] {
                let again = requests::add_neighbour(bridge, address, mac, true);
                batches.entry(vrf).or_default().extend(again);
            }
        }
        self.send(batches)
    }

    /// Whether what is in one VRF, or in none, can be put into a bridge of another: devices are all in
    /// one namespace, and a port is where its bridge is.
    fn can_meet(&self, at: Option<&str>, vrf: Option<&str>) -> bool {
        at == vrf || self.place.vrfs == Vrfs::Devices
    }

    /// The routing table of a VRF, if it is not the main table of a namespace.
    fn table(&self, vrf: Option<&str>) -> Option<u32> {
        match self.place.vrfs {
            Vrfs::Namespaces(_) => None,
            Vrfs::Devices => vrf.and_then(table_of),
        }
    }

    fn port(&self, name: &str) -> Result<(Option<&'a str>, u32), Trouble> {
        let found = self.found.interface(name).or_else(|| self.planned(name));
        found.ok_or_else(|| absent(name, "this device"))
    }

    /// Where a bridge, a tunnel or a VRF's device is, and its number, if it was made since the node
    /// was looked at.
    fn planned(&self, name: &str) -> Option<(Option<&'a str>, u32)> {
        self.wanted.iter().find_map(|line| match *line {
            Line::Vrf { name: vrf } if vrf == name => Some((Some(vrf), requests::vrf_index(vrf))),
            Line::Bridge { name: bridge, vrf, .. } if bridge == name => {
                Some((Some(vrf), bridge_index(name)))
            }
            Line::Router { name: tunnel, vni, vrf, .. } if tunnel == name => {
                Some((Some(vrf), TUNNELS + vni))
            }
            Line::Router { vni, vrf, .. } if name == bridge_name(vni) => {
                Some((Some(vrf), bridge_index(name)))
            }
            Line::Tunnel { name: tunnel, vni, master, .. } if tunnel == name => {
                Some((vrf_of(master, self.wanted), TUNNELS + vni))
            }
            _ => None,
        })
    }

    /// What fits through the fabric with the outer headers.
    fn tunnel_mtu(&self) -> Option<u32> {
        let mtus = self.wanted.iter().filter_map(|line| match line {
            Line::Uplink { mtu, .. } => Some(*mtu),
            _ => None,
        });
        mtus.min().map(|mtu| mtu.saturating_sub(OVERHEAD))
    }

    fn ask(&mut self, vrf: Option<&str>, requests: &[KernelRequest]) -> Result<(), Trouble> {
        match self.spaces.door(vrf) {
            Some(door) => door.change(requests),
            None => Ok(()), // what is in a VRF that is gone is gone
        }
    }

    fn send(&mut self, batches: Batches<'a>) -> Result<(), Trouble> {
        batches.iter().try_for_each(|(vrf, requests)| self.ask(*vrf, requests))
    }
}

/// The VRF of a bridge that shall be.
pub(crate) fn vrf_of<'a>(bridge: &str, wanted: &[Line<'a>]) -> Option<&'a str> {
    wanted.iter().find_map(|line| match *line {
        Line::Bridge { name, vrf, .. } if name == bridge => Some(vrf),
        _ => None,
    })
}

/// The number of a bridge is in its name.
fn bridge_index(name: &str) -> u32 {
    let digits = name.trim_start_matches(|letter: char| !letter.is_ascii_digit());
    BRIDGES + digits.parse::<u32>().unwrap_or(0) % BRIDGES
}

/// The tenant's number in the name of its VRF; the device's own place is nobody's.
fn number(vrf: Option<&str>) -> u16 {
    vrf.and_then(tenant_of_vrf).unwrap_or(0)
}

/// The tenant's number in the VNI of its VRF.
fn tenant(vni: u32) -> u16 {
    tenant_of_l3vni(vni).unwrap_or(0)
}

/// The VNI of what a VRF routes.
fn own_vni(vrf: &str) -> u32 {
    l3vni(number(Some(vrf))).get()
}

fn absent(name: &str, place: &str) -> Trouble {
    Trouble::Kernel {
        what: format!("have {name} in {place}"),
        source: std::io::Error::from(std::io::ErrorKind::NotFound),
    }
}
