//! Dialect `frr`: sessions, VRFs and route targets, as FRRouting's `show running-config` has them.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::ops::RangeInclusive;

use model::{Port, VrfName};
use smol_str::SmolStr;
use wire::Vni;

use crate::dialect::{self, Compared, Demanded, Description, Ignored};
use crate::lines::{Line, lines};
use crate::values::{Why, address, asn, distinguisher, port, prefixed, seconds, target, vni, vrf};
use crate::{Claim, Fact, Lacking, Reading, Scope, Stray, Unknown};

/// What is known of it.
pub(crate) const DESCRIPTION: Description = Description {
    consumer: "FRRouting, by vtysh and `show running-config`",
    ignored: &[
        Ignored::free("", "!<text>", "a comment"),
        Ignored::free("", "#<text>", "a comment"),
        Ignored::free("", "Building configuration...", "what is printed above it"),
        Ignored::free("", "Current configuration:", "what is printed above it"),
        Ignored::free("", "frr version <version>", "which program printed it"),
        Ignored::fixed("", "frr defaults datacenter", "what the other lines are read by"),
        Ignored::free("", "hostname <name>", "a name for people"),
        Ignored::free("", "log file <path>", "what the daemons write of themselves"),
        Ignored::free("", "log file <path> <name>", "what the daemons write of themselves"),
        Ignored::free("", "log (syslog|stdout)", "what the daemons write of themselves"),
        Ignored::free("", "log (syslog|stdout) <name>", "what the daemons write of themselves"),
        Ignored::free("", "log timestamp precision <number>", "how they write it"),
        Ignored::free("", "service integrated-vtysh-config", "where the text is kept"),
        Ignored::free("", "line vty", "how people log in, by a socket of the machine"),
        Ignored::free("", "end", "the end of the text"),
        Ignored::free("", "no ipv6 forwarding", "what the kernel does outside of VRFs"),
        Ignored::fixed("", "no zebra nexthop kernel enable", "how routes are written"),
        Ignored::fixed("interface", "description <text>", "a name for people"),
        Ignored::fixed("router bgp", "bgp router-id <address>", "what the speaker calls itself"),
        Ignored::fixed("router bgp", "bgp log-neighbor-changes", "what the daemon writes"),
        Ignored::fixed(
            "router bgp",
            "bgp bestpath as-path multipath-relax",
            "paths of equal length are used at once",
        ),
        Ignored::free(
            "router bgp",
            "no bgp ebgp-requires-policy",
            "so it is by `frr defaults datacenter`, said or not",
        ),
        Ignored::fixed(
            "router bgp",
            "no bgp default ipv4-unicast",
            "which sessions speak IPv4 is said of each",
        ),
        Ignored::fixed(
            "router bgp",
            "timers bgp (1|3|10|60) (3|9|30|180)",
            "how soon loss is noticed",
        ),
        Ignored::fixed("unicast", "maximum-paths (2|4|8|16|32|64|128)", PATHS),
        Ignored::fixed(
            "vrf unicast",
            "redistribute connected",
            "the VRF's own addresses, to the VRF's own table",
        ),
        Ignored::fixed("vrf unicast", "maximum-paths (2|4|8|16|32|64|128)", PATHS),
        Ignored::fixed("vrf evpn", "advertise (ipv4|ipv6) unicast", "the VRF's own addresses"),
    ],
    demanded: &[
        Demanded {
            place: "",
            line: "frr defaults datacenter",
            beside: "",
            why: "sessions without a filter of their own then carry nothing",
        },
        Demanded {
            place: "",
            line: "no zebra nexthop kernel enable",
            beside: "",
            why: "routes are refused once a link was taken away and made again",
        },
        Demanded {
            place: "",
            line: "bgp bestpath as-path multipath-relax",
            beside: "router bgp <number>",
            why: "one uplink carries everything",
        },
    ],
    uncompared: &[
        "exit",
        "exit-vrf",
        "exit-address-family",
        "exit-vni",
        // What the kernel does, as FRR sees it: nothing that FRR was told.
        "no ip forwarding",
        // FRR says by itself which namespace a VRF is.
        "netns <path>",
    ],
    compared: Compared::Blocks,
    otherwise: &[
        "`vrf t17` is printed for every VRF that zebra sees, whether it was told about it or not.",
        "Route targets that nobody named are made from the AS and the VNI, and imported from any AS.",
        "A segment's routes carry the targets of its VRF besides their own.",
        "What `network` names is announced, whether the device has it or not.",
        "Only what stands behind `frr defaults` and `frr version` is read by them, and a VRF's speaker \
         has EVPN only behind the device's own.",
        "A device announces its own `interface lo`, and each VRF its own networks: what is missing of \
         that is told where it belongs.",
    ],
    read,
};

/// Why the number of paths passes over, from two on.
const PATHS: &str = "how many paths are used at once";

fn read(text: &str) -> Reading {
    let reading = Reading::with_room_for(text);
    let mut reader = Reader { reading, ..Reader::default() };
    for line in lines(text).filter(|line| !line.text.is_empty()) {
        // A comment stands anywhere, also where nothing else may.
        if line.text.starts_with(['!', '#']) {
            reader.reading.ignored.push(line.number);
            continue;
        }
        match reader.line(&line) {
            Ok(()) => {}
            Err(No::Unheard) if reader.passes(line.text) => {
                reader.reading.ignored.push(line.number)
            }
            Err(no) => reader.reading.unknown.push(Unknown {
                line: line.number,
                text: line.text.into(),
                why: no.why(),
            }),
        }
    }
    reader.finish()
}

/// Lines of a whole text that take effect too late, each with the reason.
pub(crate) fn late(text: &str) -> Vec<(u32, Why)> {
    let mut late = Vec::new();
    let (mut has_begun, mut speaks, mut tenants_came_first) = (false, false, false);
    for line in lines(text).filter(|line| line.indent == 0) {
        match line.words().as_slice() {
            ["frr", "defaults" | "version", _] if has_begun => {
                late.push((line.number, "what stands above was read by other defaults"));
            }
            ["router", "bgp", _] if tenants_came_first && !speaks => {
                late.push((line.number, "the VRFs above are no VRFs of EVPN then"));
            }
            ["router", "bgp", _] => (has_begun, speaks) = (true, true),
            ["router", "bgp", _, "vrf", _] => {
                has_begun = true;
                tenants_came_first |= !speaks;
            }
            ["interface" | "vrf" | "router", ..] => has_begun = true,
            _ => {}
        }
    }
    late
}

/// Why a line says nothing here.
enum No {
    /// No line of this block begins so. It may still be none of our business.
    Unheard,
    /// It matters here, and is not understood.
    Wrong(Why),
}

impl No {
    fn why(&self) -> Why {
        match self {
            Self::Unheard => "no line of this block is written so",
            Self::Wrong(why) => why,
        }
    }
}

impl From<Why> for No {
    fn from(why: Why) -> Self {
        Self::Wrong(why)
    }
}

/// The block a line stands in.
#[derive(Default)]
enum Block {
    /// None.
    #[default]
    Top,
    /// `interface lo`.
    Loopback,
    /// `interface swp33`.
    Cable(Port),
    /// `vrf t17`.
    Vrf(VrfName),
    /// `router bgp 1`, or `router bgp 1 vrf t17`.
    Bgp(Instance),
    /// `address-family ipv4 unicast`, or in a VRF also `address-family ipv6 unicast`.
    Unicast(Instance, Family),
    /// `address-family l2vpn evpn`.
    Evpn(Instance),
    /// `vni 101001` in the EVPN of the default instance.
    Segment(Vni),
    /// Another address family.
    Foreign(Instance),
    /// What comes after `end` is not configured.
    Ended,
}

impl Block {
    /// Where a line of it stands, as the description calls it.
    const fn place(&self) -> &'static str {
        match self {
            Self::Top | Self::Ended => "",
            Self::Loopback | Self::Cable(_) => "interface",
            Self::Vrf(_) => "vrf",
            Self::Bgp(None) => "router bgp",
            Self::Bgp(Some(_)) => "router bgp vrf",
            Self::Unicast(None, _) => "unicast",
            Self::Unicast(Some(_), _) => "vrf unicast",
            Self::Evpn(None) => "evpn",
            Self::Evpn(Some(_)) => "vrf evpn",
            Self::Segment(_) => "evpn vni",
            Self::Foreign(_) => "another address family",
        }
    }
}

/// A BGP instance: the default one, or that of a VRF.
type Instance = Option<VrfName>;

/// A family of addresses.
#[derive(Clone, Copy)]
enum Family {
    V4,
    V6,
}

#[derive(Default)]
struct Reader {
    reading: Reading,
    block: Block,
    targets: BTreeMap<Scope, Targets>,
    own: Own,
    networks: BTreeMap<VrfName, Networks>,
}

/// Which targets of a scope the text names. FRR makes up what nobody named.
struct Targets {
    /// The line that opens the scope.
    opened: u32,
    imports: bool,
    exports: bool,
}

impl Targets {
    fn are_automatic(&self) -> bool {
        !(self.imports && self.exports)
    }
}

impl Reader {
    fn line(&mut self, line: &Line<'_>) -> Result<(), No> {
        let words = line.words();
        let words = words.as_slice();
        if matches!(self.block, Block::Ended) {
            return Err(No::Wrong("it stands after `end`"));
        }
        if let ["end"] = words {
            self.block = Block::Ended;
            return Err(No::Unheard);
        }
        if let [word @ ("exit" | "exit-vrf" | "exit-address-family" | "exit-vni")] = words {
            return self.close(word);
        }
        if line.indent == 0 {
            self.block = Block::Top;
        }
        let number = line.number;
        match &self.block {
            Block::Top | Block::Ended => self.top(number, words),
            Block::Loopback => self.loopback(number, words),
            Block::Cable(port) => self.cable(number, *port, words),
            Block::Vrf(name) => self.vrf(number, name.clone(), words),
            Block::Bgp(None) => self.default_bgp(number, words),
            Block::Bgp(Some(name)) => self.tenant_bgp(number, name.clone(), words),
            Block::Unicast(None, _) => self.underlay(number, words),
            Block::Unicast(Some(name), family) => {
                if let ["redistribute", "connected"] = words {
                    let networks = self.networks.entry(name.clone()).or_default();
                    networks.redistributes[*family as usize] = true;
                }
                Err(No::Unheard)
            }
            Block::Evpn(None) => self.default_evpn(number, words),
            Block::Evpn(Some(name)) => {
                let name = name.clone();
                if let ["advertise", family @ ("ipv4" | "ipv6"), "unicast"] = words {
                    let family = if *family == "ipv4" { Family::V4 } else { Family::V6 };
                    let networks = self.networks.entry(name.clone()).or_default();
                    networks.advertises[family as usize] = true;
                }
                self.routes(number, Scope::Vrf(name), words)
            }
            Block::Segment(vni) => self.routes(number, Scope::Segment(*vni), words),
            Block::Foreign(_) => Err(No::Wrong("it stands in an address family nobody knows")),
        }
    }

    fn top(&mut self, line: u32, words: &[&str]) -> Result<(), No> {
        self.block = match words {
            ["interface", "lo"] => Block::Loopback,
            ["interface", name] => Block::Cable(port(name)?),
            ["vrf", "default"] | ["router", "bgp", _, "vrf", "default"] => {
                return Err(No::Wrong("the default VRF is written without a name"));
            }
            ["vrf", name] => Block::Vrf(vrf(name)),
            ["router", "bgp", number] => {
                self.claim(line, Fact::LocalAs(asn(number)?));
                Block::Bgp(None)
            }
            ["router", "bgp", number, "vrf", name] => {
                asn(number)?;
                Block::Bgp(Some(vrf(name)))
            }
            ["frr", "defaults", "datacenter"] => {
                self.own.is_here = true;
                return Err(No::Unheard);
            }
            ["frr", "version", version] => {
                let major = version.split('.').next().and_then(|major| major.parse().ok());
                return Err(match major {
                    Some(8..=10_u32) => No::Unheard,
                    _ => No::Wrong("the defaults of this version are not known"),
                });
            }
            ["frr", "defaults", profile, ..] if *profile != "datacenter" => {
                return Err(No::Wrong("only with `frr defaults datacenter` do sessions stand"));
            }
            ["ip" | "ipv6", "route", ..] => return self.stray(line, words),
            ["no", "ip", "forwarding"] => {
                return Err(No::Wrong("a device that does not forward carries nobody's packets"));
            }
            _ => return Err(No::Unheard),
        };
        Ok(())
    }

    fn cable(&mut self, line: u32, port: Port, words: &[&str]) -> Result<(), No> {
        let fact = match words {
            ["ip", "address", at] => {
                let (address, prefix) = prefixed(at)?;
                self.own.cables.push((line, address, prefix, words.join(" ").into()));
                Fact::CableAddress { port, address }
            }
            ["shutdown"] => Fact::Down(port),
            _ => return Err(No::Unheard),
        };
        self.claim(line, fact);
        Ok(())
    }

    fn vrf(&mut self, line: u32, vrf: VrfName, words: &[&str]) -> Result<(), No> {
        let number = match words {
            ["vni", number] => number,
            // FRR says which namespace the VRF is: on Linux without VRF devices, one of its name.
            ["netns", path] if path.rsplit('/').next() == Some(&vrf.0) => return Ok(()),
            ["netns", ..] => return Err(No::Wrong("a VRF is the namespace of its own name")),
            ["ip" | "ipv6", "route", ..] => return self.stray(line, words),
            _ => return Err(No::Unheard),
        };
        let vni = vni(number)?;
        self.scope(line, Scope::Vrf(vrf.clone()));
        self.claim(line, Fact::VrfVni { vrf, vni });
        Ok(())
    }

    fn default_bgp(&mut self, line: u32, words: &[&str]) -> Result<(), No> {
        match words {
            ["neighbor", at, "remote-as", number] => {
                let (address, remote) = (address(at)?, asn(number)?);
                self.own.neighbors.insert(address);
                self.claim(line, Fact::Neighbor { address, remote });
                Ok(())
            }
            ["neighbor", at, "timers", "connect", seconds] => {
                address(at)?;
                timer(seconds, 1..=120)
            }
            ["neighbor", at, "timers", keepalive, hold] => {
                address(at)?;
                timer(keepalive, 1..=60).and(timer(hold, 3..=180))
            }
            _ => self.address_family(None, words),
        }
    }

    fn tenant_bgp(&mut self, line: u32, name: VrfName, words: &[&str]) -> Result<(), No> {
        if let ["address-family", "l2vpn", "evpn"] = words {
            self.scope(line, Scope::Vrf(name.clone()));
        }
        self.address_family(Some(name), words)
    }

    fn address_family(&mut self, instance: Instance, words: &[&str]) -> Result<(), No> {
        self.block = match words {
            ["address-family", "ipv4", "unicast"] => Block::Unicast(instance, Family::V4),
            ["address-family", "ipv6", "unicast"] if instance.is_some() => {
                Block::Unicast(instance, Family::V6)
            }
            ["address-family", "l2vpn", "evpn"] => Block::Evpn(instance),
            ["address-family", ..] => {
                self.block = Block::Foreign(instance);
                return Err(No::Wrong(
                    "only ipv4 unicast, l2vpn evpn, and in a VRF ipv6 unicast are known",
                ));
            }
            _ => return Err(No::Unheard),
        };
        Ok(())
    }

    fn underlay(&mut self, line: u32, words: &[&str]) -> Result<(), No> {
        let fact = match words {
            ["network", prefix] => match prefixed(prefix)? {
                (address, 32) => {
                    self.own.announced.push((line, address, words.join(" ").into()));
                    Fact::Announces(address)
                }
                _ => return Err(No::Wrong("only single addresses are announced: /32")),
            },
            ["neighbor", at, "activate"] => Fact::UnderlayWith(address(at)?),
            ["redistribute", ..] => {
                return Err(No::Wrong("the underlay is told nothing but what `network` names"));
            }
            _ => return Err(No::Unheard),
        };
        self.claim(line, fact);
        Ok(())
    }

    fn default_evpn(&mut self, line: u32, words: &[&str]) -> Result<(), No> {
        let fact = match words {
            ["vni", number] => {
                let vni = vni(number)?;
                self.scope(line, Scope::Segment(vni));
                self.block = Block::Segment(vni);
                return Ok(());
            }
            ["neighbor", at, "activate"] => Fact::EvpnWith(address(at)?),
            ["advertise-all-vni"] => Fact::AdvertisesEvpn,
            ["advertise", ..] => {
                return Err(No::Wrong("the underlay's routes do not belong into EVPN"));
            }
            _ => return Err(No::Unheard),
        };
        self.claim(line, fact);
        Ok(())
    }

    /// The distinguisher and the targets of a segment or a VRF.
    fn routes(&mut self, line: u32, scope: Scope, words: &[&str]) -> Result<(), No> {
        match words {
            ["rd", word] => {
                let rd = distinguisher(word)?;
                self.scope(line, scope.clone());
                self.claim(line, Fact::Distinguisher { scope, rd });
            }
            ["route-target", way @ ("import" | "export" | "both"), word] => {
                self.target(line, scope, way, word)?;
            }
            _ => return Err(No::Unheard),
        }
        Ok(())
    }

    fn target(&mut self, line: u32, scope: Scope, way: &str, word: &str) -> Result<(), No> {
        let (imports, exports) = (way != "export", way != "import");
        let target = match word {
            "auto" => None,
            _ => Some(target(word)?),
        };
        let targets = self.scope(line, scope.clone());
        targets.imports |= imports;
        targets.exports |= exports;
        let Some(target) = target else {
            self.claim(line, Fact::AutomaticTarget(scope));
            return Ok(());
        };
        if imports {
            let scope = scope.clone();
            self.claim(line, Fact::Imports { scope, target });
        }
        if exports {
            self.claim(line, Fact::Exports { scope, target });
        }
        Ok(())
    }

    /// Leaves the block that the word closes.
    fn close(&mut self, word: &str) -> Result<(), No> {
        self.block = match (word, std::mem::take(&mut self.block)) {
            ("exit", Block::Loopback | Block::Cable(_) | Block::Vrf(_) | Block::Bgp(_)) => {
                Block::Top
            }
            ("exit-vrf", Block::Vrf(_)) => Block::Top,
            (
                "exit" | "exit-address-family",
                Block::Unicast(instance, _) | Block::Evpn(instance) | Block::Foreign(instance),
            ) => Block::Bgp(instance),
            ("exit-address-family", Block::Segment(_)) => Block::Bgp(None),
            ("exit" | "exit-vni", Block::Segment(_)) => Block::Evpn(None),
            (_, block) => {
                self.block = block;
                return Err(No::Wrong("it closes a block that is not open"));
            }
        };
        Ok(())
    }

    fn scope(&mut self, line: u32, scope: Scope) -> &mut Targets {
        self.targets.entry(scope).or_insert(Targets {
            opened: line,
            imports: false,
            exports: false,
        })
    }

    /// The loopback's address: what others are told of it, `network` says.
    fn loopback(&mut self, line: u32, words: &[&str]) -> Result<(), No> {
        let ["ip", "address", at] = words else {
            return Err(No::Unheard);
        };
        let (address, 32) = prefixed(at)? else {
            return Err(No::Wrong("a loopback has a single address: /32"));
        };
        self.own.loopbacks.push(address);
        self.claim(line, Fact::Loopback(address));
        Ok(())
    }

    /// A route that somebody set by hand.
    fn stray(&mut self, line: u32, words: &[&str]) -> Result<(), No> {
        self.claim(line, Fact::Stray { what: Stray::Route, line: words.join(" ").into() });
        Ok(())
    }

    fn passes(&self, text: &str) -> bool {
        dialect::passes(&DESCRIPTION, self.block.place(), text)
    }

    fn claim(&mut self, line: u32, fact: Fact) {
        self.reading.claims.push(Claim { line, fact });
    }

    fn finish(mut self) -> Reading {
        let explicit = self.reading.claims.len();
        self.own.say(&mut self.reading);
        for (scope, targets) in &self.targets {
            if let Scope::Vrf(vrf) = scope {
                let networks = self.networks.get(vrf).copied().unwrap_or_default();
                networks.lack(vrf, targets.opened, &mut self.reading);
            }
        }
        let claims = &mut self.reading.claims;
        let automatic = self.targets.into_iter().filter(|(_, targets)| targets.are_automatic());
        claims.extend(automatic.map(|(scope, targets)| Claim {
            line: targets.opened,
            fact: Fact::AutomaticTarget(scope),
        }));
        if claims.len() > explicit {
            claims.sort_by_key(|claim| claim.line);
        }
        self.reading
    }
}

/// Timers decide how soon a lost session is noticed, not who meets. It must be noticed, and soon.
fn timer(word: &str, usual: RangeInclusive<u16>) -> Result<(), No> {
    let seconds = seconds(word)?;
    match usual.contains(&seconds) {
        true => Ok(()),
        false => Err(No::Wrong("a session that is lost would not be noticed soon")),
    }
}

/// The device's own addresses, which are what the underlay carries.
#[derive(Default)]
struct Own {
    /// Whether the text says what a device itself is, and not only what a tenant or a job is.
    is_here: bool,
    loopbacks: Vec<Ipv4Addr>,
    announced: Vec<(u32, Ipv4Addr, SmolStr)>,
    neighbors: BTreeSet<Ipv4Addr>,
    cables: Vec<(u32, Ipv4Addr, u8, SmolStr)>,
}

impl Own {
    /// What is announced is what the device is, and an address leads to a neighbour.
    fn say(&self, reading: &mut Reading) {
        if !self.is_here {
            return;
        }
        for (line, address, text) in &self.announced {
            if !self.loopbacks.contains(address) {
                let fact = Fact::Stray { what: Stray::Route, line: text.clone() };
                reading.claims.push(Claim { line: *line, fact });
            }
        }
        for (line, address, prefix, text) in &self.cables {
            // The other end of a cable (RFC 3021).
            let other = Ipv4Addr::from_bits(address.to_bits() ^ 1);
            if *prefix != 31 || !self.neighbors.contains(&other) {
                let fact = Fact::Stray { what: Stray::Address, line: text.clone() };
                reading.claims.push(Claim { line: *line, fact });
            }
        }
        let mut lack = |text: String, why| {
            reading.lacking.push(Lacking { line: 0, text: text.into(), why });
        };
        if self.loopbacks.is_empty() {
            lack("ip address … of interface lo".into(), "nobody knows where its tunnels end");
        }
        for own in &self.loopbacks {
            if !self.announced.iter().any(|(_, announced, _)| announced == own) {
                let text = format!("network {own}/32 of address-family ipv4 unicast");
                lack(text, "others do not know the way to it");
            }
        }
    }
}

/// What a VRF tells others of its own networks, by family.
#[derive(Clone, Copy, Default)]
struct Networks {
    redistributes: [bool; 2],
    advertises: [bool; 2],
}

impl Networks {
    fn lack(self, vrf: &VrfName, line: u32, reading: &mut Reading) {
        const WHY: &str = "other devices do not know the networks of the VRF here";
        for (family, at) in [("ipv4", Family::V4), ("ipv6", Family::V6)] {
            let mut lack = |text: String| {
                reading.lacking.push(Lacking { line, text: text.into(), why: WHY });
            };
            if !self.redistributes[at as usize] {
                lack(format!("redistribute connected of {family} unicast in VRF {vrf}"));
            }
            if !self.advertises[at as usize] {
                lack(format!("advertise {family} unicast in VRF {vrf}"));
            }
        }
    }
}
