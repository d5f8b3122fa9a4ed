//! What the lines of one device say, sorted by what they are about.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::num::NonZeroU32;

use ipnet::Ipv4Net;
use model::{Asn, Port, Rate, Rates, RouteDistinguisher, RouteTarget, Service, Treatment, VrfName};
use read::{Bridge, Fact, Scope, Stray};
use smallvec::SmallVec;
use smol_str::SmolStr;
use wire::{Mac, Tag, Vni};

/// A line: the sheet it stands on and its number there.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct At {
    pub(crate) sheet: u32,
    pub(crate) line: u32,
}

/// What one line says.
pub(crate) type Line<T> = (T, At);

/// What lines say about one thing: usually one line, and more when they repeat or contradict.
#[derive(Clone, Debug)]
pub(crate) struct Lines<T>(SmallVec<[Line<T>; 1]>);

impl<T> Default for Lines<T> {
    fn default() -> Self {
        Self(SmallVec::new())
    }
}

impl<T: PartialEq> Lines<T> {
    /// Lines are kept in their order, so that it does not matter when they came.
    fn add(&mut self, value: T, at: At) {
        let place = self.0.partition_point(|(_, held)| *held <= at);
        self.0.insert(place, (value, at));
    }

    fn remove(&mut self, value: &T, at: At) {
        self.0.retain(|(held, held_at)| *held_at != at || held != value);
    }

    pub(crate) fn first(&self) -> Option<&T> {
        self.0.first().map(|(value, _)| value)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Line<T>> {
        self.0.iter()
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &T> + Clone {
        self.0.iter().map(|(value, _)| value)
    }

    pub(crate) fn ats(&self) -> impl Iterator<Item = At> {
        self.0.iter().map(|(_, at)| *at)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Two lines that say different things, if there are any.
    pub(crate) fn contradiction(&self) -> Option<(&Line<T>, &Line<T>)> {
        let first = self.0.first()?;
        let second = self.0.iter().find(|(value, _)| *value != first.0)?;
        Some((first, second))
    }
}

/// All lines of one device.
#[derive(Clone, Debug, Default)]
pub(crate) struct Device {
    pub(crate) local_as: Lines<Asn>,
    pub(crate) cables: BTreeMap<Ipv4Addr, Lines<Port>>,
    pub(crate) neighbors: BTreeMap<Ipv4Addr, Neighbor>,
    pub(crate) announces: BTreeMap<Ipv4Addr, Lines<()>>,
    pub(crate) advertises: Lines<()>,
    /// Routes that nothing here imports are kept; only a switch says so.
    pub(crate) retains: Lines<()>,
    pub(crate) vtep: Lines<Ipv4Addr>,
    /// The addresses of the device itself.
    own: BTreeMap<Ipv4Addr, Lines<()>>,
    /// The addresses that its routing says it has.
    loopbacks: BTreeMap<Ipv4Addr, Lines<()>>,
    pub(crate) judges: Lines<()>,
    keeps: Lines<()>,
    pub(crate) bridges: BTreeMap<Bridge, BridgeLines>,
    pub(crate) tunnels: BTreeMap<Vni, Tunnel>,
    /// The addresses that its tunnels come from; only Linux says it of each.
    sources: BTreeMap<Ipv4Addr, Lines<()>>,
    pub(crate) scopes: BTreeMap<Scope, Targets>,
    pub(crate) vrfs: BTreeMap<VrfName, Vrf>,
    pub(crate) ports: BTreeMap<Port, Box<PortLines>>,
    pub(crate) addresses: BTreeMap<Ipv4Addr, SmallVec<[Port; 1]>>,
    pub(crate) table: Table,
    /// What no plan says of ports, by port; mostly of none.
    pub(crate) states: BTreeMap<Port, PortState>,
    /// What the device does of its own.
    pub(crate) strays: BTreeMap<(Stray, SmolStr), Lines<()>>,
    /// The cables to the fabric; only Linux tells of them.
    pub(crate) uplinks: BTreeMap<Port, Lines<()>>,
    /// The rates over which frames wait at an uplink.
    pub(crate) queued_links: BTreeMap<Port, Lines<u64>>,
    /// By VRF and uplink: the rate and the ceiling of a tenant's queue.
    pub(crate) queues: BTreeMap<(VrfName, Port), Lines<(u64, u64)>>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Neighbor {
    pub(crate) remote: Lines<Asn>,
    pub(crate) underlay: Lines<()>,
    pub(crate) evpn: Lines<()>,
    /// Sessions with it stand only with the same secret at both ends.
    pub(crate) secret: Lines<()>,
    /// Routes go there with their targets; only a switch says so, FRR does it by itself.
    pub(crate) targets: Lines<()>,
    /// Routes go there with the next hop that they came with; likewise.
    pub(crate) next_hops: Lines<()>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct BridgeLines {
    pub(crate) vni: Lines<Vni>,
    pub(crate) vrf: Lines<VrfName>,
    pub(crate) gateway: Lines<(Ipv4Addr, u8)>,
    keeps: Lines<()>,
    /// In their order.
    pub(crate) ports: SmallVec<[Port; 8]>,
}

impl BridgeLines {
    /// The networks that the bridge domain is the gateway of.
    pub(crate) fn nets(&self) -> impl Iterator<Item = Ipv4Net> {
        self.gateway
            .values()
            .filter_map(|(at, prefix)| Some(Ipv4Net::new(*at, *prefix).ok()?.trunc()))
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Tunnel {
    pub(crate) ends: Lines<()>,
    pub(crate) tagged: Lines<()>,
    pub(crate) from: Lines<Ipv4Addr>,
    pub(crate) learns: Lines<()>,
    pub(crate) bridges: BTreeSet<Bridge>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Targets {
    pub(crate) rds: Lines<RouteDistinguisher>,
    pub(crate) imports: Lines<RouteTarget>,
    pub(crate) exports: Lines<RouteTarget>,
    pub(crate) automatic: Lines<()>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Vrf {
    pub(crate) vni: Lines<Vni>,
    /// The VNI that is up; only a switch says so.
    pub(crate) up: Lines<Vni>,
    /// What it takes from other VRFs of a switch, and what it gives to them.
    pub(crate) leaks_in: Lines<RouteTarget>,
    pub(crate) leaks_out: Lines<RouteTarget>,
    /// The tunnel devices in it; only Linux has such.
    pub(crate) tunnels: Lines<Vni>,
    /// Where it sends packets for addresses of other tenants; only Linux has such.
    pub(crate) reaches: Lines<Reach>,
    pub(crate) denies: Lines<()>,
    pub(crate) contracts: Lines<Rule>,
    /// Contracts by which who answers may also begin to speak.
    pub(crate) open_answers: Lines<Rule>,
    pub(crate) groups: BTreeMap<Ipv4Net, Lines<Tag>>,
    pub(crate) bridges: BTreeSet<Bridge>,
}

/// Addresses from `first` on whose packets go to a tunnel endpoint with another tenant's VNI.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Reach {
    pub(crate) first: Ipv4Addr,
    pub(crate) run: Peers,
    pub(crate) vni: Vni,
}

impl Reach {
    /// The tunnel endpoint that packets for this address go to, if the run holds it.
    pub(crate) fn vtep(&self, address: Ipv4Addr) -> Option<Ipv4Addr> {
        let held = self.first <= address && address <= self.run.last;
        let place = u32::from(address).checked_sub(self.first.into()).filter(|_| held)?;
        let block = self.run.every.map_or(0, |every| place / every.get());
        u32::from(self.run.vtep).checked_add(block).map(Ipv4Addr::from)
    }
}

/// Two groups that may speak at a service.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Rule {
    pub(crate) client: Tag,
    pub(crate) provider: Tag,
    pub(crate) service: Service,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct PortLines {
    pub(crate) attached: Lines<Bridge>,
    guarded: Lines<()>,
    pub(crate) bound: Lines<(Bridge, Ipv4Addr, Mac)>,
    pub(crate) entries: Lines<Entry>,
}

/// What is wrong with a port itself.
#[derive(Clone, Debug, Default)]
pub(crate) struct PortState {
    pub(crate) down: Lines<()>,
    pub(crate) unfiltered: Lines<()>,
    pub(crate) mtu: Lines<u32>,
    /// Frames of so many bytes are too long for the fabric's tunnels.
    pub(crate) long: Lines<u32>,
}

/// An endpoint line of the packet program.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Entry {
    pub(crate) space: VrfName,
    pub(crate) address: Ipv4Addr,
    pub(crate) mac: Mac,
    pub(crate) tag: Tag,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    denies: Lines<()>,
    pub(crate) passes: Lines<()>,
    pub(crate) spaces: BTreeMap<Vni, Lines<VrfName>>,
    /// By space: runs by their tag and first address.
    pub(crate) peers: BTreeMap<VrfName, BTreeMap<(Tag, Ipv4Addr), Lines<Peers>>>,
    pub(crate) permits: BTreeMap<VrfName, Lines<Rule>>,
    pub(crate) rates: BTreeMap<VrfName, Lines<Rates>>,
    pub(crate) jobs: BTreeMap<(VrfName, Tag), Lines<Treatment>>,
}

/// Endpoints elsewhere, up to and with `last`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Peers {
    pub(crate) last: Ipv4Addr,
    pub(crate) vtep: Ipv4Addr,
    /// How many addresses are behind each tunnel endpoint from the first on; all if it is none.
    every: Option<NonZeroU32>,
}

impl Peers {
    /// The addresses behind each tunnel endpoint, of a run that begins with `first`.
    pub(crate) fn blocks(
        &self,
        first: Ipv4Addr,
    ) -> impl Iterator<Item = (Ipv4Addr, Ipv4Addr, Ipv4Addr)> {
        let (start, end, vtep) = (u32::from(first), u32::from(self.last), u32::from(self.vtep));
        let every = self.every.map_or(u64::MAX, |every| every.get().into());
        let blocks = u64::from(end - start) / every;
        (0..=blocks).map(move |block| {
            let from = u64::from(start) + block.saturating_mul(every);
            let to = from.saturating_add(every - 1).min(end.into());
            // A run lies inside the address space, and the reader knows that its tunnel
            // endpoints do.
            let address = |number: u64| Ipv4Addr::from(number as u32);
            (address(from), address(to), address(u64::from(vtep) + block))
        })
    }
}

/// What the switch needs before it keeps bound sources at all.
const KEEPS: &str =
    "ip dhcp snooping, with feature dhcp and hardware access-list tcam region ipsg 512";

/// Whether a line comes or goes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Turn {
    Comes,
    Goes,
}

/// Puts a value into a map of lines, or takes it out and leaves no empty entry behind.
fn turn_in<K: Ord, T: PartialEq>(
    map: &mut BTreeMap<K, Lines<T>>,
    key: K,
    value: T,
    at: At,
    turn: Turn,
) {
    match turn {
        Turn::Comes => map.entry(key).or_default().add(value, at),
        Turn::Goes => {
            if let Some(lines) = map.get_mut(&key) {
                lines.remove(&value, at);
                if lines.is_empty() {
                    map.remove(&key);
                }
            }
        }
    }
}

fn rate(bps: Option<u64>) -> Option<Rate> {
    bps.map(|bps| Rate { bps })
}

impl<T: PartialEq> Lines<T> {
    fn turn(&mut self, value: T, at: At, turn: Turn) {
        match turn {
            Turn::Comes => self.add(value, at),
            Turn::Goes => self.remove(&value, at),
        }
    }
}

impl Device {
    fn neighbor(&mut self, address: Ipv4Addr) -> &mut Neighbor {
        self.neighbors.entry(address).or_default()
    }

    /// Takes one claim in, or out again.
    pub(crate) fn turn(&mut self, fact: &Fact, at: At, turn: Turn) {
        match fact {
            Fact::Holds(_) => {}
            Fact::LocalAs(asn) => self.local_as.turn(*asn, at, turn),
            Fact::CableAddress { port, address } => {
                turn_in(&mut self.cables, *address, *port, at, turn);
            }
            Fact::Neighbor { address, remote } => {
                self.neighbor(*address).remote.turn(*remote, at, turn)
            }
            Fact::UnderlayWith(address) => self.neighbor(*address).underlay.turn((), at, turn),
            Fact::EvpnWith(address) => self.neighbor(*address).evpn.turn((), at, turn),
            Fact::Announces(address) => turn_in(&mut self.announces, *address, (), at, turn),
            Fact::AdvertisesEvpn => self.advertises.turn((), at, turn),
            Fact::RetainsRoutes => self.retains.turn((), at, turn),
            Fact::TellsTargets(address) => self.neighbor(*address).targets.turn((), at, turn),
            Fact::Secret(address) => self.neighbor(*address).secret.turn((), at, turn),
            Fact::KeepsNextHop(address) => self.neighbor(*address).next_hops.turn((), at, turn),
            Fact::Vtep(address) => self.vtep.turn(*address, at, turn),
            Fact::Has(address) => turn_in(&mut self.own, *address, (), at, turn),
            Fact::Loopback(address) => turn_in(&mut self.loopbacks, *address, (), at, turn),
            Fact::SegmentOf { bridge, vni } => self.turn_segment(bridge, *vni, at, turn),
            Fact::RoutedIn { bridge, vrf } => self.turn_routed(bridge, vrf, at, turn),
            Fact::Gateway { bridge, address, prefix } => {
                self.bridge(bridge).gateway.turn((*address, *prefix), at, turn);
            }
            Fact::TunnelEnds(vni) => self.tunnel(*vni).ends.turn((), at, turn),
            Fact::Tagged(vni) => self.tunnel(*vni).tagged.turn((), at, turn),
            Fact::TunnelFrom { vni, address } => {
                self.tunnel(*vni).from.turn(*address, at, turn);
                turn_in(&mut self.sources, *address, (), at, turn);
            }
            Fact::Learns(vni) => self.tunnel(*vni).learns.turn((), at, turn),
            Fact::Reaches { vrf, first, last, vtep, every, vni } => {
                let run = Peers { last: *last, vtep: *vtep, every: *every };
                let reach = Reach { first: *first, run, vni: *vni };
                self.vrf(vrf).reaches.turn(reach, at, turn);
            }
            Fact::RoutedTunnel { vrf, vni } => self.vrf(vrf).tunnels.turn(*vni, at, turn),
            Fact::VrfVni { vrf, vni } => self.vrf(vrf).vni.turn(*vni, at, turn),
            Fact::VrfUp { vrf, vni } => self.vrf(vrf).up.turn(*vni, at, turn),
            Fact::LeaksIn { vrf, target } => self.vrf(vrf).leaks_in.turn(*target, at, turn),
            Fact::LeaksOut { vrf, target } => self.vrf(vrf).leaks_out.turn(*target, at, turn),
            Fact::Distinguisher { scope, rd } => self.targets(scope).rds.turn(*rd, at, turn),
            Fact::Imports { scope, target } => self.targets(scope).imports.turn(*target, at, turn),
            Fact::Exports { scope, target } => self.targets(scope).exports.turn(*target, at, turn),
            Fact::AutomaticTarget(scope) => self.targets(scope).automatic.turn((), at, turn),
            Fact::Attached { port, bridge } => self.turn_attached(*port, bridge, at, turn),
            Fact::Guarded(port) => {
                self.port(*port).guarded.turn((), at, turn);
            }
            Fact::Bound { port, bridge, address, mac } => {
                self.turn_bound(*port, (bridge.clone(), *address, *mac), at, turn);
            }
            Fact::KeepsSources => self.keeps.turn((), at, turn),
            Fact::KeepsSourcesOf(bridge) => self.bridge(bridge).keeps.turn((), at, turn),
            Fact::JudgesByGroups => self.judges.turn((), at, turn),
            Fact::InGroup { vrf, addresses, tag } => {
                turn_in(&mut self.vrf(vrf).groups, *addresses, *tag, at, turn);
            }
            Fact::DeniesByDefault(vrf) => self.vrf(vrf).denies.turn((), at, turn),
            Fact::Contract { vrf, client, provider, service } => {
                let rule = Rule { client: *client, provider: *provider, service: *service };
                self.vrf(vrf).contracts.turn(rule, at, turn);
            }
            Fact::AnswersOpenly { vrf, client, provider, service } => {
                let rule = Rule { client: *client, provider: *provider, service: *service };
                self.vrf(vrf).open_answers.turn(rule, at, turn);
            }
            Fact::TableDeniesByDefault => self.table.denies.turn((), at, turn),
            Fact::TablePassesByDefault => self.table.passes.turn((), at, turn),
            Fact::TableSpace { space, vni } => {
                turn_in(&mut self.table.spaces, *vni, space.clone(), at, turn);
            }
            Fact::TableEndpoint { space, address, mac, port, tag } => {
                let space = space.clone();
                let entry = Entry { space, address: *address, mac: *mac, tag: *tag };
                self.port(*port).entries.turn(entry, at, turn);
            }
            Fact::TablePeers { space, first, last, vtep, every, tag } => {
                if !self.table.peers.contains_key(space) {
                    self.table.peers.insert(space.clone(), BTreeMap::new());
                }
                if let Some(peers) = self.table.peers.get_mut(space) {
                    let run = Peers { last: *last, vtep: *vtep, every: *every };
                    turn_in(peers, (*tag, *first), run, at, turn);
                }
            }
            Fact::TablePermit { space, client, provider, service } => {
                let rule = Rule { client: *client, provider: *provider, service: *service };
                turn_in(&mut self.table.permits, space.clone(), rule, at, turn);
            }
            Fact::TableRate { space, guarantee_bps, ceiling_bps } => {
                let [guarantee, ceiling] = [*guarantee_bps, *ceiling_bps].map(rate);
                let rates = Rates { guarantee, ceiling };
                turn_in(&mut self.table.rates, space.clone(), rates, at, turn);
            }
            Fact::TableJob { space, tag, class, ceiling_bps } => {
                let treatment = Treatment { class: *class, ceiling: rate(*ceiling_bps) };
                turn_in(&mut self.table.jobs, (space.clone(), *tag), treatment, at, turn);
            }
            Fact::Down(port) => self.turn_state(*port, |state| state.down.turn((), at, turn)),
            Fact::Unfiltered(port) => {
                self.turn_state(*port, |state| state.unfiltered.turn((), at, turn));
            }
            Fact::ShortFrames { port, mtu } => {
                self.turn_state(*port, |state| state.mtu.turn(*mtu, at, turn));
            }
            Fact::LongFrames { port, mtu } => {
                self.turn_state(*port, |state| state.long.turn(*mtu, at, turn));
            }
            Fact::Stray { what, line } => {
                turn_in(&mut self.strays, (*what, line.clone()), (), at, turn);
            }
            Fact::Uplink(port) => turn_in(&mut self.uplinks, *port, (), at, turn),
            Fact::QueuedLink { port, rate_bps } => {
                turn_in(&mut self.queued_links, *port, *rate_bps, at, turn);
            }
            Fact::Queue { port, vrf, rate_bps, ceil_bps } => {
                let rates = (*rate_bps, *ceil_bps);
                turn_in(&mut self.queues, (vrf.clone(), *port), rates, at, turn);
            }
        }
    }

    fn turn_state(&mut self, port: Port, turn: impl FnOnce(&mut PortState)) {
        let state = self.states.entry(port).or_default();
        turn(state);
        let PortState { down, unfiltered, mtu, long } = state;
        if down.is_empty() && unfiltered.is_empty() && mtu.is_empty() && long.is_empty() {
            self.states.remove(&port);
        }
    }

    /// Whether nothing passes a port.
    pub(crate) fn is_down(&self, port: Port) -> bool {
        self.states.get(&port).is_some_and(|state| !state.down.is_empty())
    }

    /// Whether no packet program stands at a port.
    pub(crate) fn is_unfiltered(&self, port: Port) -> bool {
        self.states.get(&port).is_some_and(|state| !state.unfiltered.is_empty())
    }

    fn tunnel(&mut self, vni: Vni) -> &mut Tunnel {
        self.tunnels.entry(vni).or_default()
    }

    fn port(&mut self, port: Port) -> &mut PortLines {
        self.ports.entry(port).or_default()
    }

    fn bridge(&mut self, bridge: &Bridge) -> &mut BridgeLines {
        self.bridges.entry(bridge.clone()).or_default()
    }

    fn vrf(&mut self, vrf: &VrfName) -> &mut Vrf {
        self.vrfs.entry(vrf.clone()).or_default()
    }

    fn targets(&mut self, scope: &Scope) -> &mut Targets {
        self.scopes.entry(scope.clone()).or_default()
    }

    fn turn_segment(&mut self, bridge: &Bridge, vni: Vni, at: At, turn: Turn) {
        let lines = &mut self.bridge(bridge).vni;
        lines.turn(vni, at, turn);
        let still = lines.values().any(|held| *held == vni);
        let bridges = &mut self.tunnel(vni).bridges;
        if still {
            bridges.insert(bridge.clone())
        } else {
            bridges.remove(bridge)
        };
    }

    fn turn_routed(&mut self, bridge: &Bridge, vrf: &VrfName, at: At, turn: Turn) {
        let lines = &mut self.bridge(bridge).vrf;
        lines.turn(vrf.clone(), at, turn);
        let still = lines.values().any(|held| held == vrf);
        let bridges = &mut self.vrf(vrf).bridges;
        if still {
            bridges.insert(bridge.clone())
        } else {
            bridges.remove(bridge)
        };
    }

    fn turn_attached(&mut self, port: Port, bridge: &Bridge, at: At, turn: Turn) {
        let lines = &mut self.port(port).attached;
        lines.turn(bridge.clone(), at, turn);
        let still = lines.values().any(|held| held == bridge);
        let ports = &mut self.bridge(bridge).ports;
        match (ports.binary_search(&port), still) {
            (Err(place), true) => ports.insert(place, port),
            (Ok(place), false) => drop(ports.remove(place)),
            _ => {}
        }
    }

    fn turn_bound(&mut self, port: Port, bound: (Bridge, Ipv4Addr, Mac), at: At, turn: Turn) {
        let address = bound.1;
        let lines = &mut self.port(port).bound;
        lines.turn(bound, at, turn);
        let still = lines.values().any(|(_, held, _)| *held == address);
        let ports = self.addresses.entry(address).or_default();
        ports.retain(|held| *held != port);
        if still {
            ports.push(port);
        } else if ports.is_empty() {
            self.addresses.remove(&address);
        }
    }

    /// Whether one of these addresses is bound in a bridge domain.
    pub(crate) fn binds_one_of(&self, bridge: &Bridge, addresses: Ipv4Net) -> bool {
        let ports = self.bridges.get(bridge).into_iter().flat_map(|lines| &lines.ports);
        let lines = ports.filter_map(|port| self.ports.get(port));
        let mut bound = lines.flat_map(|port| port.bound.values());
        bound.any(|(held, address, _)| held == bridge && addresses.contains(address))
    }

    /// The groups of an address in a VRF, by the longest prefix that holds it; more than one
    /// when lines contradict each other.
    pub(crate) fn groups(
        &self,
        vrf: &VrfName,
        address: Ipv4Addr,
    ) -> impl Iterator<Item = &Line<Tag>> {
        let groups = self.vrfs.get(vrf).map(|lines| &lines.groups);
        let lines = groups.and_then(|groups| {
            groups.get(&Ipv4Net::from(address)).or_else(|| {
                let holding = groups.iter().filter(|(net, _)| net.contains(&address));
                holding.max_by_key(|(net, _)| net.prefix_len()).map(|(_, lines)| lines)
            })
        });
        lines.into_iter().flat_map(Lines::iter)
    }

    /// The address that tunnels of this VNI come from: the tunnel device's own, or the device's.
    pub(crate) fn tunnel_from(&self, vni: Vni) -> Option<Ipv4Addr> {
        let own = self.tunnels.get(&vni).and_then(|tunnel| tunnel.from.first());
        own.or_else(|| self.vtep.first()).copied()
    }

    /// The lines that say that it has this address itself.
    pub(crate) fn has(&self, address: Ipv4Addr) -> impl Iterator<Item = At> {
        let lines = [self.own.get(&address), self.loopbacks.get(&address)];
        lines.into_iter().flatten().flat_map(Lines::ats)
    }

    /// Whether a tunnel comes from another address than the device's own.
    pub(crate) fn has_strange_tunnels(&self) -> bool {
        self.sources.keys().any(|source| Some(source) != self.vtep.first())
    }

    /// Whether FRR takes this address for the device's own, and hears no route from there: it is, or
    /// a segment's tunnel comes from it.
    pub(crate) fn is_deaf_to(&self, address: Ipv4Addr) -> bool {
        let is_from = |tunnel: &Tunnel| {
            !tunnel.bridges.is_empty() && tunnel.from.values().any(|from| *from == address)
        };
        let is_source = || self.tunnels.values().any(is_from);
        self.own.contains_key(&address) || (self.sources.contains_key(&address) && is_source())
    }

    /// Whether tunnels with this VNI end here.
    pub(crate) fn ends(&self, vni: Vni) -> bool {
        self.tunnels.get(&vni).is_some_and(|tunnel| !tunnel.ends.is_empty())
    }

    /// Whether tunnels with this VNI carry tags.
    pub(crate) fn tagged(&self, vni: Vni) -> bool {
        self.tunnels.get(&vni).is_some_and(|tunnel| !tunnel.tagged.is_empty())
    }

    /// The runs of a tag in a space, in the order of their addresses.
    pub(crate) fn runs_of(
        &self,
        space: &VrfName,
        tag: Tag,
    ) -> impl Iterator<Item = (Ipv4Addr, &Line<Peers>)> {
        let of_tag = (tag, Ipv4Addr::UNSPECIFIED)..=(tag, Ipv4Addr::BROADCAST);
        let peers = self.table.peers.get(space);
        let runs = peers.into_iter().flat_map(move |peers| peers.range(of_tag.clone()));
        runs.flat_map(|((_, first), lines)| lines.iter().map(move |line| (*first, line)))
    }

    /// Where a VRF sends packets for this address of another tenant, and the line that says so.
    pub(crate) fn reaches(
        &self,
        vrf: &VrfName,
        address: Ipv4Addr,
    ) -> impl Iterator<Item = (Ipv4Addr, Vni, At)> {
        let lines = self.vrfs.get(vrf).into_iter().flat_map(|lines| lines.reaches.iter());
        lines.filter_map(move |(reach, at)| Some((reach.vtep(address)?, reach.vni, *at)))
    }

    /// The bridge domains of this VRF that are the gateway of the smallest network with this
    /// address.
    pub(crate) fn connected(&self, vrf: &VrfName, address: Ipv4Addr) -> SmallVec<[&Bridge; 1]> {
        let bridges = self.vrfs.get(vrf).into_iter().flat_map(|lines| &lines.bridges);
        let mut longest = 0;
        let mut found = SmallVec::new();
        for bridge in bridges {
            let lines = self.bridges.get(bridge).into_iter();
            let nets = lines.flat_map(BridgeLines::nets).filter(|net| net.contains(&address));
            let Some(len) = nets.map(|net| net.prefix_len()).max() else { continue };
            if len > longest {
                found.clear();
                longest = len;
            }
            if len == longest {
                found.push(bridge);
            }
        }
        found
    }

    /// Whether a port of a bridge domain lets only bound sources pass.
    pub(crate) fn guards(&self, port: &PortLines, bridge: &Bridge) -> bool {
        let kept = self.bridges.get(bridge).is_some_and(|lines| !lines.keeps.is_empty());
        kept && !port.guarded.is_empty() && !self.keeps.is_empty()
    }

    /// The lines that are missing for that.
    pub(crate) fn lacking_guard(&self, port: &PortLines, bridge: &Bridge) -> Vec<String> {
        let kept = self.bridges.get(bridge).is_some_and(|lines| !lines.keeps.is_empty());
        let all = [
            (self.keeps.is_empty(), KEEPS.into()),
            (!kept, format!("ip dhcp snooping vlan {bridge}")),
            (port.guarded.is_empty(), "ip verify source dhcp-snooping-vlan".into()),
        ];
        all.into_iter().filter(|(is_missing, _)| *is_missing).map(|(_, text)| text).collect()
    }

    /// Whether the packet program drops what no entry allows.
    pub(crate) fn program_denies(&self) -> bool {
        !self.table.denies.is_empty() && self.table.passes.is_empty()
    }

    /// Whether the switch drops in this VRF what no rule allows.
    pub(crate) fn vrf_denies(&self, vrf: &VrfName) -> bool {
        let denies = self.vrfs.get(vrf).is_some_and(|lines| !lines.denies.is_empty());
        denies && !self.judges.is_empty()
    }

    /// The line by which a VRF of a switch takes routes of another one of it, and that by which the
    /// other one gives them.
    pub(crate) fn leaks(&self, ours: &VrfName, theirs: &VrfName) -> Option<(At, At)> {
        let taken = &self.vrfs.get(ours)?.leaks_in;
        let given = &self.vrfs.get(theirs)?.leaks_out;
        let matching = |target: &RouteTarget| given.iter().find(|(held, _)| held == target);
        taken.iter().find_map(|(target, at)| Some((*at, matching(target)?.1)))
    }

    /// Whether EVPN routes are advertised, and the address is announced.
    pub(crate) fn announced(&self, address: Ipv4Addr) -> bool {
        !self.advertises.is_empty() && self.is_known(address)
    }

    /// Whether the underlay is told of this address. Nobody announces one that the device does not
    /// have.
    pub(crate) fn is_known(&self, address: Ipv4Addr) -> bool {
        self.announces.contains_key(&address) && self.own.contains_key(&address)
    }

    /// Whether tunnels with this VNI can send: from an address that the device has.
    pub(crate) fn sends(&self, vni: Vni) -> bool {
        self.ends(vni) && self.tunnel_from(vni).is_some_and(|from| self.own.contains_key(&from))
    }
}
