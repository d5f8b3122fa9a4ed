//! What a text says, as far as each line can be judged beside the others of its kind.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use model::numbering::tenant_of_vrf;
use model::{Dialect, Port, Service, TrafficClass, VrfName};
use read::{Claim, Fact};
use wire::{Mac, Tag, Vni};

use super::TableRefusal;
use super::runs::Run;

/// What a device shall let pass.
pub(super) struct Policy {
    /// The own tunnel address.
    pub(super) vtep: Ipv4Addr,
    /// In the order of their numbers.
    pub(super) spaces: Vec<Space>,
}

/// What a device shall let pass of one tenant.
pub(super) struct Space {
    pub(super) name: VrfName,
    pub(super) number: u16,
    pub(super) vnis: Vec<Vni>,
    pub(super) rate: Rate,
    pub(super) jobs: BTreeMap<Tag, Job>,
    /// The addresses of all endpoints, local ones too, in the order of their lines.
    pub(super) runs: Vec<Run>,
    pub(super) endpoints: Vec<Endpoint>,
    pub(super) permits: Vec<Permit>,
}

/// In bits a second; 0 is none.
#[derive(Clone, Copy, Default, Eq, PartialEq)]
pub(super) struct Rate {
    pub(super) guarantee_bps: u64,
    pub(super) ceiling_bps: u64,
}

/// How the packets of a job are treated. One that no line tells of is lossless and not limited;
/// one without an endpoint here has no packets to treat.
#[derive(Clone, Copy, Default)]
pub(super) struct Job {
    pub(super) class: TrafficClass,
    /// In bits a second; 0 is none.
    pub(super) ceiling_bps: u64,
    line: u32,
}

/// An endpoint of this device.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Endpoint {
    pub(super) address: Ipv4Addr,
    pub(super) mac: Mac,
    pub(super) port: Port,
    pub(super) tag: Tag,
    pub(super) line: u32,
}

/// A service that one job offers another.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Permit {
    pub(super) client: Tag,
    pub(super) provider: Tag,
    pub(super) service: Service,
    pub(super) line: u32,
}

impl Policy {
    pub(super) fn read(text: &str) -> Result<Self, TableRefusal> {
        let reading = read::claims(Dialect::Table, text);
        if let Some(unknown) = reading.unknown.into_iter().next() {
            let read::Unknown { line, text, why } = unknown;
            return Err(TableRefusal::Unknown { line, text, why });
        }
        let vtep = head(&reading.claims)?;
        let mut spaces = spaces(&reading.claims)?;
        rates(&reading.claims, &mut spaces)?;
        for claim in &reading.claims {
            fill(&mut spaces, vtep, claim)?;
        }
        Ok(Self { vtep, spaces: spaces.into_values().collect() })
    }
}

/// The own tunnel address, of a head that drops by default.
fn head(claims: &[Claim]) -> Result<Ipv4Addr, TableRefusal> {
    let mut own: Option<(Ipv4Addr, u32)> = None;
    let mut drops = false;
    for &Claim { line, ref fact } in claims {
        match (fact, own) {
            (Fact::TablePassesByDefault, _) => return Err(TableRefusal::PassesByDefault { line }),
            (Fact::TableDeniesByDefault, _) => drops = true,
            (Fact::Vtep(_), Some((_, first_line))) => {
                return Err(TableRefusal::VtepTwice { first_line, line });
            }
            (Fact::Vtep(address), None) => own = Some((*address, line)),
            _ => {}
        }
    }
    if !drops {
        return Err(TableRefusal::NoDefault);
    }
    own.map(|(address, _)| address).ok_or(TableRefusal::NoVtep)
}

/// The spaces by their numbers, each with its VNIs and nothing else.
fn spaces(claims: &[Claim]) -> Result<BTreeMap<u16, Space>, TableRefusal> {
    let mut spaces = BTreeMap::new();
    let mut vnis: BTreeMap<Vni, (&VrfName, u32)> = BTreeMap::new();
    for &Claim { line, ref fact } in claims {
        let Fact::TableSpace { space, vni } = fact else { continue };
        let number = number(space, line)?;
        let (first, first_line) = *vnis.entry(*vni).or_insert((space, line));
        if first != space {
            let (first, other) = (first.clone(), space.clone());
            return Err(TableRefusal::VniTwice { vni: *vni, first, first_line, other, line });
        }
        spaces.entry(number).or_insert_with(|| Space::new(space, number)).vnis.push(*vni);
    }
    Ok(spaces)
}

impl Space {
    fn new(name: &VrfName, number: u16) -> Self {
        Self {
            name: name.clone(),
            number,
            vnis: Vec::new(),
            rate: Rate::default(),
            jobs: BTreeMap::new(),
            runs: Vec::new(),
            endpoints: Vec::new(),
            permits: Vec::new(),
        }
    }
}

fn rates(claims: &[Claim], spaces: &mut BTreeMap<u16, Space>) -> Result<(), TableRefusal> {
    let mut lines = BTreeMap::new();
    for &Claim { line, ref fact } in claims {
        let Fact::TableRate { space: name, guarantee_bps, ceiling_bps } = fact else { continue };
        let space = known(spaces, name, line)?;
        let guarantee_bps = guarantee_bps.unwrap_or_default();
        let rate = Rate { guarantee_bps, ceiling_bps: ceiling_bps.unwrap_or_default() };
        let first_line = *lines.entry(space.number).or_insert(line);
        if first_line != line && space.rate != rate {
            return Err(TableRefusal::RateTwice { space: name.clone(), first_line, line });
        }
        space.rate = rate;
    }
    Ok(())
}

/// Takes in what the claim says of the inside of a space.
fn fill(
    spaces: &mut BTreeMap<u16, Space>,
    own: Ipv4Addr,
    &Claim { line, ref fact }: &Claim,
) -> Result<(), TableRefusal> {
    match fact {
        &Fact::TablePeers { ref space, first, last, vtep, every, tag } => {
            let (first, last, vtep) = (first.into(), last.into(), vtep.into());
            let run = Run { first, last, vtep, every, tag: tag.get(), line };
            known(spaces, space, line)?.runs.push(run);
        }
        &Fact::TableEndpoint { ref space, address, mac, port, tag } => {
            let (first, vtep) = (address.into(), own.into());
            let run = Run { first, last: first, vtep, every: None, tag: tag.get(), line };
            let space = known(spaces, space, line)?;
            space.runs.push(run);
            space.endpoints.push(Endpoint { address, mac, port, tag, line });
        }
        &Fact::TablePermit { ref space, client, provider, service } => {
            let permit = Permit { client, provider, service, line };
            known(spaces, space, line)?.permits.push(permit);
        }
        &Fact::TableJob { space: ref name, tag, class, ceiling_bps } => {
            let job = Job { class, ceiling_bps: ceiling_bps.unwrap_or_default(), line };
            let first = *known(spaces, name, line)?.jobs.entry(tag).or_insert(job);
            if (first.class, first.ceiling_bps) != (job.class, job.ceiling_bps) {
                let (space, first_line) = (name.clone(), first.line);
                return Err(TableRefusal::JobTwice { space, tag, first_line, line });
            }
        }
        Fact::Vtep(_)
        | Fact::TableDeniesByDefault
        | Fact::TablePassesByDefault
        | Fact::TableSpace { .. }
        | Fact::TableRate { .. } => {}
        other => {
            let why = "it is not about the packet program";
            return Err(TableRefusal::Unknown { line, text: other.to_string(), why });
        }
    }
    Ok(())
}

fn known<'a>(
    spaces: &'a mut BTreeMap<u16, Space>,
    space: &VrfName,
    line: u32,
) -> Result<&'a mut Space, TableRefusal> {
    spaces
        .get_mut(&number(space, line)?)
        .ok_or_else(|| TableRefusal::SpaceUnknown { space: space.clone(), line })
}

/// The tenant's number. It stands in IPv6 addresses (13 bits of it), and a space is known by it:
/// a second way to write it would be a second name for one space.
fn number(space: &VrfName, line: u32) -> Result<u16, TableRefusal> {
    const MOST: u16 = 8191;
    tenant_of_vrf(&space.0)
        .filter(|number| *number <= MOST)
        .ok_or_else(|| TableRefusal::SpaceMisnamed { space: space.clone(), line })
}
