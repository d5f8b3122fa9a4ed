//! Claims that take several lines of dialect `nxos`, made when the whole text is read.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use model::{Protocol, Service};
use wire::{Tag, Vni};

use super::Reader;
use super::gateways::Gateways;
use super::ports::Ports;
use super::sessions::{Sessions, Ways};
use super::values::{self, Why};
use crate::Fact;
use crate::lines::Line;

/// What one line says only together with others that may stand anywhere in the text.
#[derive(Default)]
pub(super) struct Late<'a> {
    /// Whether `nv overlay evpn` stands in the text.
    pub(super) evpn: bool,
    /// Whether `feature security-group` stands in the text.
    pub(super) groups: bool,
    /// Where the switch is told to make room for groups; without it none is judged.
    pub(super) template: Option<Line<'a>>,
    /// Whether `feature dhcp` stands in the text.
    pub(super) dhcp: bool,
    /// Whether the switch has room to compare sources.
    pub(super) guard_room: bool,
    /// Where bound sources are kept.
    pub(super) snooping: Option<Line<'a>>,
    /// Where the underlay's address family is opened, and what is announced there.
    pub(super) underlay: Option<Line<'a>>,
    pub(super) announced: BTreeSet<Ipv4Addr>,
    /// VRFs with a VNI, and those that BGP routes in.
    pub(super) vrfs: BTreeMap<&'a str, Line<'a>>,
    pub(super) routed: BTreeSet<&'a str>,
    /// Groups, and whether each is told what it selects by.
    pub(super) groups_of_type: BTreeMap<Tag, (Line<'a>, bool)>,
    /// Whether nve1 is up.
    pub(super) tunnels_up: bool,
    /// Where nve1 is told to advertise what it has.
    pub(super) reachability: Option<Line<'a>>,
    /// Where nve1 is told its source, and the loopback it names.
    source: Option<(Line<'a>, &'a str)>,
    loopbacks: BTreeMap<&'a str, Ipv4Addr>,
    /// The port for people, and whether it is in a VRF of its own.
    pub(super) mgmt: Option<(Line<'a>, bool)>,
    /// Segments whose tunnels end here, and whether nve1 knows where to flood them.
    pub(super) members: BTreeMap<Vni, (Line<'a>, bool)>,
    pub(super) ports: Ports<'a>,
    pub(super) gateways: Gateways<'a>,
    pub(super) sessions: Sessions<'a>,
    pub(super) ways: Ways<'a>,
    pub(super) policies: Policies<'a>,
    contracts: Vec<Contract<'a>>,
}

/// A contract whose policy is not looked up yet.
struct Contract<'a> {
    line: Line<'a>,
    vrf: &'a str,
    client: Tag,
    provider: Tag,
    policy: &'a str,
}

impl<'a> Late<'a> {
    /// A loopback's address. A second one would leave open where tunnels come from.
    pub(super) fn loopback(&mut self, name: &'a str, host: Ipv4Addr) -> Result<(), Why> {
        match *self.loopbacks.entry(name).or_insert(host) {
            first if first == host => Ok(()),
            _ => Err("the loopback has another address already"),
        }
    }

    /// The loopback that nve1 sends from.
    pub(super) fn source(&mut self, line: Line<'a>, name: &'a str) -> Result<(), Why> {
        match self.source.get_or_insert((line, name)) {
            (_, first) if *first == name => Ok(()),
            _ => Err("nve1 has another source interface already"),
        }
    }

    /// The words after `security contract`.
    pub(super) fn contract(
        &mut self,
        line: Line<'a>,
        vrf: &'a str,
        words: &[&'a str],
    ) -> Result<(), Why> {
        // A switch prints it without `bidir`, which is what it means then.
        let words = words.strip_suffix(&["bidir"]).unwrap_or(words);
        let ["source", client, "destination", provider, "policy", policy] = *words else {
            return Err("a contract is `source S destination D policy P`, and answers pass");
        };
        self.contracts.push(Contract {
            line,
            vrf,
            client: values::group(client)?,
            provider: values::group(provider)?,
            policy,
        });
        Ok(())
    }

    /// Says all of it, now that every line was read.
    pub(super) fn say(self, reader: &mut Reader<'a>) {
        if let (true, Some(line)) = (self.evpn, self.reachability) {
            reader.claim(line, Fact::AdvertisesEvpn);
        }
        if let (true, Some(line)) = (self.groups, self.template) {
            reader.claim(line, Fact::JudgesByGroups);
        }
        if let (true, true, Some(line)) = (self.dhcp, self.guard_room, self.snooping) {
            reader.claim(line, Fact::KeepsSources);
        }
        if let Some((line, loopback)) = self.source {
            match self.loopbacks.get(loopback) {
                Some(&address) if self.tunnels_up => {
                    reader.claim(line, Fact::Vtep(address));
                    reader.claim(line, Fact::Has(address));
                }
                Some(_) => {
                    let text = "no shutdown of interface nve1".into();
                    reader.lacks_of(line, text, "no tunnel of the switch is up");
                }
                None => {
                    reader.unknown(line, "this loopback has no address here");
                }
            }
        }
        if let (Some((line, _)), None) = (self.source, self.reachability) {
            let text = "host-reachability protocol bgp of interface nve1".into();
            reader.lacks_of(line, text, "nobody is told what is behind the switch");
        }
        if let (None, Some(line)) = (self.source, self.reachability) {
            let text = "source-interface loopback1 of interface nve1".into();
            reader.lacks_of(line, text, "tunnels come from nowhere");
        }
        let source = self.source.and_then(|(_, name)| self.loopbacks.get(name));
        if let (Some(address), Some(line)) = (source, self.underlay)
            && !self.announced.contains(address)
        {
            let text = format!("network {address}/32 of address-family ipv4 unicast");
            reader.lacks_of(line, text, "nobody knows the way to the switch's tunnels");
        }
        for (vrf, line) in self.vrfs.iter().filter(|(vrf, _)| !self.routed.contains(*vrf)) {
            let text = format!("address-family ipv4 unicast of vrf {vrf} of router bgp");
            reader.lacks_of(*line, text, "the VRF hears of no route of another leaf");
        }
        for (tag, line) in
            self.groups_of_type.iter().filter_map(|(tag, (line, is))| (!is).then_some((tag, line)))
        {
            let text = format!("type layer4-7 of security-group {tag}");
            reader.lacks_of(*line, text, "the group is not told what it selects by");
        }
        if let Some((line, false)) = self.mgmt {
            let why = "the port for people is in the fabric's own routing";
            reader.lacks(line, "vrf member management", why);
        }
        for (line, _) in self.members.values().filter(|(_, floods)| !floods) {
            let why = "nothing that floods leaves the switch, so that nobody finds anybody";
            reader.lacks(*line, "ingress-replication protocol bgp", why);
        }
        for contract in &self.contracts {
            contract.say(&self.policies, reader);
        }
        self.ports.say(reader);
        self.gateways.say(&self.members, reader);
        self.sessions.say(reader);
        self.ways.say(reader);
    }
}

impl Contract<'_> {
    fn say(&self, policies: &Policies<'_>, reader: &mut Reader<'_>) {
        let services = match policies.services(self.policy) {
            Ok(services) => services,
            Err(why) => {
                reader.unknown(self.line, why);
                return;
            }
        };
        let (vrf, client, provider) = (values::vrf(self.vrf), self.client, self.provider);
        for (service, is_stateful) in services {
            let vrf = vrf.clone();
            // UDP knows no state, so whoever consents to a service over it consents to this.
            if !is_stateful && service.protocol == Protocol::Tcp {
                let vrf = vrf.clone();
                reader.claim(self.line, Fact::AnswersOpenly { vrf, client, provider, service });
            }
            reader.claim(self.line, Fact::Contract { vrf, client, provider, service });
        }
    }
}

/// The policies of a text, and the classes they name. Both may be told in several places.
#[derive(Default)]
pub(super) struct Policies<'a> {
    /// The services of each class, and whether all of its lines about one know a connection from
    /// a packet.
    classes: BTreeMap<&'a str, BTreeMap<Service, bool>>,
    /// The classes of each policy, and whether it permits them.
    policies: BTreeMap<&'a str, BTreeMap<&'a str, bool>>,
}

impl<'a> Policies<'a> {
    /// There is a class of this name.
    pub(super) fn class(&mut self, name: &'a str) {
        self.classes.entry(name).or_default();
    }

    /// The class holds this service.
    pub(super) fn matches(&mut self, class: &'a str, service: Service, is_stateful: bool) {
        let services = self.classes.entry(class).or_default();
        *services.entry(service).or_insert(true) &= is_stateful;
    }

    /// There is a policy of this name.
    pub(super) fn policy(&mut self, name: &'a str) {
        self.policies.entry(name).or_default();
    }

    /// The policy names the class.
    pub(super) fn names(&mut self, policy: &'a str, class: &'a str) {
        let classes = self.policies.entry(policy).or_default();
        classes.entry(class).or_insert(false);
    }

    /// The policy permits the class.
    pub(super) fn permits(&mut self, policy: &'a str, class: &'a str) {
        let classes = self.policies.entry(policy).or_default();
        classes.insert(class, true);
    }

    /// The services a policy permits, or why that cannot be said.
    fn services(&self, policy: &str) -> Result<BTreeMap<Service, bool>, Why> {
        let classes = self.policies.get(policy).ok_or("its policy is not defined here")?;
        if classes.is_empty() {
            return Err("its policy has no class");
        }
        let mut services = BTreeMap::new();
        for (class, permitted) in classes {
            if !permitted {
                return Err("its policy has a class without `permit`");
            }
            match self.classes.get(class) {
                None => return Err("its policy has a class that is not defined here"),
                Some(matches) if matches.is_empty() => {
                    return Err("its policy has a class that matches nothing");
                }
                Some(matches) => {
                    for (service, is_stateful) in matches {
                        *services.entry(*service).or_insert(true) &= is_stateful;
                    }
                }
            }
        }
        Ok(services)
    }
}
