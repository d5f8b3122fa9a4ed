//! The fleet in which frames are judged: as the packet program's bench makes them.

use std::fmt::Write as _;
use std::net::Ipv4Addr;

use model::Port;

/// Endpoints of one job. The first is here, the others behind tunnel endpoints of eight each.
const JOB: u32 = 64;
/// Jobs of one tenant.
const TENANT: u32 = 16;
/// Where numbers begin, as in the program.
const FIRST_VNI: u32 = 50_001;
const FIRST_TAG: u32 = 16;
const FIRST_ADDRESS: u32 = 0x0a00_0000;
const FIRST_VTEP: u32 = 0xac10_0001;
/// The own tunnel address.
pub(super) const VTEP: Ipv4Addr = Ipv4Addr::new(10, 255, 0, 3);

/// Some of a fleet's jobs, evenly spread, each with one endpoint on this host.
#[derive(Clone, Copy, Debug)]
pub(super) struct World {
    /// How many jobs this host knows.
    pub(super) jobs: u32,
    /// How far apart they are among the fleet's.
    pub(super) stride: u32,
}

/// An endpoint, as every contender needs to know it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Endpoint {
    pub(super) vni: u32,
    pub(super) tag: u16,
    pub(super) address: u32,
    /// The tunnel endpoint it is behind.
    pub(super) vtep: u32,
}

impl World {
    /// A host with one endpoint of every job of so many endpoints.
    pub(super) fn whole(endpoints: u32) -> Self {
        Self { jobs: endpoints.div_ceil(JOB), stride: 1 }
    }

    /// A host with a few jobs out of a fleet of so many endpoints.
    pub(super) fn host(jobs: u32, endpoints: u32) -> Self {
        Self { jobs, stride: endpoints / JOB / jobs }
    }

    /// How many endpoints this host knows.
    pub(super) fn endpoints(self) -> u32 {
        self.jobs * JOB
    }

    /// The policy of this host as a table.
    pub(super) fn text(self) -> String {
        let mut text = format!("vtep {VTEP}\ndefault drop\n");
        let mut last = None;
        for (place, job) in (0_u32..).zip(self.numbers()) {
            let tenant = job / TENANT;
            if last.replace(tenant) != Some(tenant) {
                let _ = writeln!(text, "space t{} vni {}", tenant + 1, FIRST_VNI + tenant);
            }
            text.push_str(&job_text(job, place));
        }
        text
    }

    /// The same, after the job in this place moved to other hosts.
    pub(super) fn moved(self, place: u32) -> String {
        let old = job_text(place * self.stride, place);
        self.text().replace(&old, &old.replace("vtep 172.16.", "vtep 172.31."))
    }

    /// The endpoints this host knows, its own first in every job.
    pub(super) fn all(self) -> impl Iterator<Item = Endpoint> {
        self.numbers().flat_map(|job| (0..JOB).map(move |member| Endpoint::of(job, member)))
    }

    /// Those of its own.
    pub(super) fn own(self) -> impl Iterator<Item = Endpoint> {
        self.numbers().map(|job| Endpoint::of(job, 0))
    }

    /// The VNIs of its tenants.
    pub(super) fn vnis(self) -> impl Iterator<Item = u32> {
        let tenants = self.numbers().map(|job| job / TENANT);
        let mut last = None;
        tenants.filter(move |tenant| last.replace(*tenant) != Some(*tenant)).map(|t| FIRST_VNI + t)
    }

    fn numbers(self) -> impl Iterator<Item = u32> {
        (0..self.jobs).map(move |place| place * self.stride)
    }
}

impl Endpoint {
    fn of(job: u32, member: u32) -> Self {
        let vtep = match member {
            0 => VTEP.into(),
            _ => FIRST_VTEP + (job * JOB + member) / 8,
        };
        // No world has as many jobs as there are tags.
        let tag = (FIRST_TAG + job) as u16;
        let address = FIRST_ADDRESS + job % TENANT * JOB + member;
        Self { vni: FIRST_VNI + job / TENANT, tag, address, vtep }
    }
}

fn job_text(job: u32, place: u32) -> String {
    let space = job / TENANT + 1;
    let [own, next, eighth, last] = [0, 1, 8, JOB - 1].map(|member| Endpoint::of(job, member));
    let address = |endpoint: &Endpoint| Ipv4Addr::from(endpoint.address);
    let [high, low] = [place >> 8, place & 255];
    let tag = own.tag;
    format!(
        "endpoint t{space} {own} mac 02:00:00:00:{high:02x}:{low:02x} port swp{place} tag {tag}\n\
         peers t{space} {next}-{seventh} vtep {near} tag {tag}\n\
         peers t{space} {eighth}-{last} vtep {far} every 8 tag {tag}\n",
        own = address(&own),
        next = address(&next),
        seventh = Ipv4Addr::from(eighth.address - 1),
        near = Ipv4Addr::from(next.vtep),
        eighth = address(&eighth),
        last = address(&last),
        far = Ipv4Addr::from(eighth.vtep),
    )
}

/// The number of a port's interface. There is none: nobody sends through the ports of this world.
pub(super) fn interface(port: &Port) -> Option<u32> {
    match port {
        Port::Swp(number) => Some(u32::from(*number) + 1),
        _ => None,
    }
}

/// A complete frame of RoCEv2 inside VXLAN. The program writes into it whose it is.
pub(super) fn frame() -> [u8; 128] {
    let mut frame = [0; 128];
    let [outer, inner] = [0, 50];
    frame[outer..50].copy_from_slice(&[
        2, 0, 0, 0, 1, 2, 2, 0, 0, 0, 1, 1, 8, 0, // Ethernet
        0x45, 0x68, 0, 114, 0, 0, 0, 0, 64, 17, 0, 0, 0, 0, 0, 0, 10, 255, 0, 3, // IPv4
        0xc0, 0, 0x12, 0xb5, 0, 94, 0, 0, // UDP to 4789
        0x88, 0, 0, 0, 0, 0, 0, 0, // VXLAN with a group
    ]);
    frame[inner..104].copy_from_slice(&[
        2, 0, 0, 0, 2, 2, 2, 0, 0, 0, 2, 1, 8, 0, // Ethernet
        0x45, 0x68, 0, 64, 0, 0, 0, 0, 64, 17, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, // IPv4
        0xc0, 1, 0x12, 0xb7, 0, 44, 0, 0, // UDP to 4791
        0x04, 0, 0xff, 0xff, 0, 0, 0, 17, 0, 0, 0, 1, // RoCEv2: a send
    ]);
    frame
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may fail")]
mod tests {
    use model::Generation;
    use wire::{Arrival, Hook, Reason, Tables, judge};

    use super::*;
    use crate::{Limits, compile};

    /// The reference's verdict about a frame between two endpoints of a world.
    fn verdict(world: World, from: Endpoint, to: Endpoint) -> Reason {
        let limits = Limits { ports: 20_000, jobs: 20_000, ..Limits::default() };
        let compiled = compile(&world.text(), Generation(1), &interface, None, &limits).unwrap();
        assert_eq!(compiled.endpoints, world.endpoints());
        let mut frame = frame();
        frame[26..30].copy_from_slice(&from.vtep.to_be_bytes());
        frame[44..46].copy_from_slice(&from.tag.to_be_bytes());
        frame[46..50].copy_from_slice(&(from.vni << 8).to_be_bytes());
        frame[76..80].copy_from_slice(&from.address.to_be_bytes());
        frame[80..84].copy_from_slice(&to.address.to_be_bytes());
        let hook = Hook::Fabric;
        let arrival = Arrival { hook, interface: 0, mark: 0, vlan_beside: false, frame: &frame };
        judge(Some(Tables::new(&compiled.bytes)), &arrival).reason
    }

    #[test]
    fn every_endpoint_of_a_job_reaches_the_one_that_is_here() {
        for world in [World::whole(1_000), World::host(16, 1_000_000)] {
            let last = (world.jobs - 1) * world.stride;
            for member in [1, 7, 8, 63] {
                let [from, to] = [member, 0].map(|member| Endpoint::of(last, member));
                assert_eq!(verdict(world, from, to), Reason::Job, "{from:?}");
            }
        }
    }

    #[test]
    fn an_endpoint_behind_another_host_is_judged_and_refused() {
        let [from, to] = [9, 0].map(|member| Endpoint::of(3, member));
        let moved = Endpoint { vtep: from.vtep + 1, ..from };
        assert_eq!(verdict(World::whole(1_000), moved, to), Reason::OuterSource);
    }

    #[test]
    fn a_moved_job_changes_its_own_lines_only() {
        let world = World::whole(1_000);
        let (before, after) = (world.text(), world.moved(7));
        let changed = before.lines().zip(after.lines()).filter(|(old, new)| old != new);
        assert!(changed.clone().all(|(old, _)| old.ends_with(" tag 23")));
        assert_eq!(changed.count(), 2);
    }
}
