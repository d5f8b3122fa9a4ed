//! Forged VXLAN: from a workload, and from a stranger in the underlay that is no tunnel endpoint.

use std::net::Ipv4Addr;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::Duration;

use agent::{Agents, Counters, Event, News};
use lab::Workload;
use wire::Mac;
use wire::forge::ForgedPacket;

use crate::attack::{Attack, at};
use crate::socket::{Mouth, mark};
use crate::standing::{Standing, agents, until};

/// From each of the two places.
const FRAMES: usize = 60_000;
/// In all, at least so many are met and refused.
const REFUSED: u64 = 100_000;
const AT_ONCE: usize = 64;
const PAUSE: Duration = Duration::from_millis(1);
const GATEWAY: Mac = Mac([2, 0, 0, 0, 0, 1]);
/// The spine's interface towards the stranger, and the stranger's own.
const SPINE: Mac = Mac([2, 0xee, 0, 0, 0, 1]);
const STRANGER: Mac = Mac([2, 0xee, 0, 0, 0, 2]);

/// The tunnel endpoints of the two leaves.
const NEAR: Ipv4Addr = Ipv4Addr::new(10, 255, 0, 2);
const FAR: Ipv4Addr = Ipv4Addr::new(10, 255, 0, 3);

/// What a forged frame says.
#[derive(Clone, Copy)]
struct Claim {
    outer: Ipv4Addr,
    vni: u32,
    tag: u16,
    source: Ipv4Addr,
}

/// The one whom all are sent to, and the one of the same job who might have sent them.
struct Target<'a> {
    victim: &'a Workload,
    peer: &'a Workload,
    segment: u32,
    vrf: u32,
    number: u16,
    tag: u16,
}

#[test]
fn nothing_that_was_forged_is_delivered() {
    let lab = Standing::up("forge", 2);
    let target = Target::of(&lab);
    let agents = agents(&lab);
    let refused = refused(&agents);
    let ears = Attack::listen(&lab);
    let workload = lab.workload("blue-1/0");
    let mouth = at(&lab, &workload.name, || Mouth::open("eth0"));
    target.shower(&mouth, workload.address, (workload.mac, GATEWAY));
    let stranger = stranger(&lab);
    target.shower(&stranger, Ipv4Addr::new(172, 30, 0, 2), (STRANGER, SPINE));
    until("all were met and refused", || *refused.lock().unwrap() >= REFUSED);
    assert_eq!(ears.arrived(), 0);
    println!(
        "{} forged frames were sent, {} counted as refused by then, none delivered",
        2 * FRAMES,
        refused.lock().unwrap()
    );
    // The limit: whoever is inside the underlay and says all of it right, with another's outer
    // source, is that other one. It also shows that a frame of ours would be heard.
    until("what nobody can tell from the real thing arrives", || {
        stranger.say(&target.frame(target.truth(), (STRANGER, SPINE)));
        ears.arrived() > 0
    });
}

impl<'a> Target<'a> {
    fn of(lab: &'a Standing) -> Self {
        let (victim, peer) = (lab.workload("red-2/0"), lab.workload("red-1/0"));
        let (tenant, job) =
            (&lab.plan().tenants[&victim.job.tenant], &lab.plan().jobs[&victim.job]);
        let (segment, vrf) = (job.l2vni.get(), tenant.l3vni.get());
        Self { victim, peer, segment, vrf, number: tenant.number, tag: job.tag.get() }
    }

    fn truth(&self) -> Claim {
        Claim { outer: NEAR, vni: self.segment, tag: self.tag, source: self.peer.address }
    }

    /// Every mixture of what is right and what is wrong, but the one that is right throughout.
    fn lies(&self, own: Ipv4Addr) -> Vec<Claim> {
        let outers = [NEAR, FAR, own, Ipv4Addr::new(10, 255, 0, 99)];
        let vnis = [self.segment, self.vrf, self.segment + 1, self.vrf - 1, 7_000_000];
        let tags = [self.tag, 0, self.tag + 1, self.tag - 2, 999, u16::MAX];
        let sources = [self.peer.address, self.victim.address, own, Ipv4Addr::new(10, 1, 0, 77)];
        let mut lies = Vec::new();
        for outer in outers {
            for vni in vnis {
                for tag in tags {
                    lies.extend(sources.map(|source| Claim { outer, vni, tag, source }));
                }
            }
        }
        lies.retain(|claim| !self.is_true(claim));
        lies
    }

    fn is_true(&self, claim: &Claim) -> bool {
        let is_own = claim.vni == self.segment || claim.vni == self.vrf;
        claim.outer == NEAR && is_own && claim.tag == self.tag && claim.source == self.peer.address
    }

    fn frame(&self, claim: Claim, (from, next): (Mac, Mac)) -> Vec<u8> {
        const PORT: u16 = 4000;
        let inner = ForgedPacket::udp(claim.source, self.victim.address, PORT, PORT, 32);
        let to = match claim.vni == self.segment {
            true => self.victim.mac,
            false => wire::router_mac(self.number, FAR),
        };
        let frame = inner.ethernet(self.peer.mac, to).vxlan(claim.outer, FAR, claim.vni, claim.tag);
        let mut bytes = frame.into_bytes();
        bytes[..6].copy_from_slice(&next.0);
        bytes[6..12].copy_from_slice(&from.0);
        mark(bytes, 0)
    }

    fn shower(&self, mouth: &Mouth, own: Ipv4Addr, way: (Mac, Mac)) {
        let frames: Vec<Vec<u8>> =
            self.lies(own).into_iter().map(|claim| self.frame(claim, way)).collect();
        let mut sent = 0;
        for few in frames.chunks(AT_ONCE).cycle() {
            sent += few.iter().filter(|frame| mouth.say(frame)).count();
            if sent >= FRAMES {
                return;
            }
            sleep(PAUSE);
        }
    }
}

/// A namespace that is cabled to the spine and is no tunnel endpoint; it goes with the lab.
fn stranger(lab: &Standing) -> Mouth {
    let (own, spine) =
        (format!("bh-{}-stranger", lab.name()), format!("bh-{}-spine-1", lab.name()));
    for line in [
        format!("netns add {own}"),
        format!("-n {spine} link add st0 address {SPINE} type veth peer name eth0 netns {own}"),
        format!("-n {own} link set eth0 address {STRANGER} up"),
        format!("-n {spine} address add 172.30.0.1/30 dev st0"),
        format!("-n {spine} link set st0 up"),
    ] {
        assert!(Command::new("ip").args(line.split(' ')).status().unwrap().success(), "{line}");
    }
    at(lab, "stranger", || Mouth::open("eth0"))
}

/// How many frames the two leaves refused, as long as somebody asks.
fn refused(agents: &Agents) -> Arc<Mutex<u64>> {
    let leaves = ["leaf-1", "leaf-2"];
    let counted: Mutex<[Counters; 2]> = Mutex::default();
    let sum = Arc::new(Mutex::new(0));
    let told = sum.clone();
    agents.listen(move |name, event| {
        let place = leaves.iter().position(|leaf| *leaf == name.as_str());
        if let (Some(place), Event::News(News::Counted(counters))) = (place, event) {
            let mut counted = counted.lock().unwrap();
            counted[place] = counters;
            let drops = counted.iter().flat_map(|leaf| &leaf.drops);
            *told.lock().unwrap() = drops.map(|(.., frames)| frames).sum();
        }
    });
    sum
}
