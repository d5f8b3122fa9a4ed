//! The demonstration's scene in the kernel: real packets, and the packet program that judges them.

use std::error::Error;
use std::io::Write as _;

use filter::DropEvent;
use model::{DeviceId, Dialect};
use plan::{JobNet, Seat};

use super::{NFS, Stage};
use crate::demo::{Host, Peer, Trouble, Workload};
use crate::ending::Stop;
use crate::words::{BAD, DIM, GOOD, NAME, NOTE, Table, cell, painted, wrapped};

/// The device whose table is put in force.
const DEVICE: &str = "leaf-2";

/// What is tried, in words, and how.
struct Attempt {
    from: &'static str,
    to: &'static str,
    what: &'static str,
    note: &'static str,
    by: fn(&Host, &Seat, &Seat, u16) -> Result<bool, Trouble>,
}

const ATTEMPTS: [Attempt; 8] = [
    Attempt {
        from: "n4/0",
        to: "n4/1",
        what: "ping",
        note: "one job, one host",
        by: |host, from, to, _| host.ping(from.port, to.address),
    },
    Attempt {
        from: "n4/0",
        to: "n4/2",
        what: "ping",
        note: "another job of the same tenant",
        by: |host, from, to, _| host.ping(from.port, to.address),
    },
    Attempt {
        from: "n4/0",
        to: "n5/0",
        what: "tcp 2049",
        note: "both sides agreed",
        by: |host, from, to, _| host.connect(from.port, to.port, NFS.port),
    },
    Attempt {
        from: "n4/0",
        to: "n5/0",
        what: "ping",
        note: "nobody agreed to that",
        by: |host, from, to, _| host.ping(from.port, to.address),
    },
    Attempt {
        from: "n1/0",
        to: "n4/0",
        what: "ping",
        note: "one job, through a tunnel",
        by: |host, _, to, tag| host.ping_from_peer(to.address, tag),
    },
    Attempt {
        from: "n1/0",
        to: "n4/0",
        what: "ping",
        note: "forged: without a tag",
        by: |host, _, to, _| host.ping_from_peer(to.address, 0),
    },
    Attempt {
        from: "n1/0",
        to: "n4/0",
        what: "ping",
        note: "forged: with a tag of somebody else",
        by: |host, _, to, tag| host.ping_from_peer(to.address, tag + 1),
    },
    Attempt {
        from: "n4/0",
        to: "n4/1",
        what: "ping",
        note: "one job, but the lease has ended",
        by: |host, from, to, _| {
            host.abandon()?;
            host.ping(from.port, to.address)
        },
    },
];

impl Stage<'_> {
    /// The same table in the kernel of this machine, if it lets us.
    pub(super) fn show_kernel(&mut self) -> Result<(), Stop> {
        self.step(
            "In the kernel",
            "The table of leaf-2 once more, now held by the real packet program in the kernel of \
             this machine, between network namespaces. All its workloads hang on one bridge on \
             purpose: the filter alone keeps them apart.",
        )?;
        let host = self.host(self.device(DEVICE));
        match host.and_then(|mut host| self.try_all(&mut host)) {
            Ok(told) => self.out.write_all(&told)?,
            Err(trouble) => {
                let why = format!("Left out, as it needs root and `ip`: {}.", chain(&trouble));
                for line in wrapped(&why, 2) {
                    writeln!(self.out, "{NOTE}{line}{NOTE:#}")?;
                }
            }
        }
        Ok(())
    }

    /// The device with all of its endpoints as veth interfaces, and the first that asks from
    /// another device.
    fn host(&self, device: DeviceId) -> Result<Host, Trouble> {
        let plan = &self.draft.next.plan;
        let groups = plan.jobs.values().flat_map(|net| &net.groups);
        let seats = groups.filter(|group| group.device == device).flat_map(|group| &group.seats);
        let workloads: Vec<Workload> =
            seats.map(|&Seat { port, address, mac, .. }| Workload { port, address, mac }).collect();
        let (far, net, seat) = self.seat("n1/0");
        let vtep = |device| match plan.fleet.vtep(device) {
            Some(vtep) => vtep.address,
            None => unreachable!("the device is a tunnel endpoint"),
        };
        let peer = Peer { vtep: vtep(far), vni: net.l2vni, address: seat.address, mac: seat.mac };
        let table = render::artifact(plan, device, Dialect::Table).text();
        Host::new(table, plan.generation, vtep(device), &workloads, &peer)
    }

    /// Tries everything, and tells it all at once: half a story would only confuse.
    fn try_all(&self, host: &mut Host) -> Result<Vec<u8>, Trouble> {
        let mut table = Table::new(2);
        let mut drops = Vec::new();
        for Attempt { from, to, what, note, by } in ATTEMPTS {
            let ((_, net, source), (_, _, target)) = (self.seat(from), self.seat(to));
            let arrived = by(host, source, target, net.tag.get())?;
            let dropped = host.dropped()?;
            let reason = dropped.first().map(|(event, _)| event.reason);
            let outcome = match (arrived, reason) {
                (true, _) => painted(GOOD, "arrives"),
                (false, None) => painted(BAD, "is lost"),
                (false, Some(reason)) => painted(BAD, format!("dropped: {reason}")),
            };
            table.push(vec![
                cell(from),
                cell("to"),
                cell(to),
                cell(what),
                outcome,
                painted(DIM, note),
            ]);
            drops.extend(dropped);
        }
        let mut told = Vec::new();
        table.write(&mut told)?;
        writeln!(told, "  In the kernel's own words:")?;
        for (DropEvent { hook, reason, bytes, .. }, interface) in &drops {
            let flow = wire::flow(*hook, bytes);
            writeln!(told, "  {NAME}{interface}{NAME:#} {BAD}{reason}{BAD:#}: {flow}")?;
        }
        Ok(told)
    }

    fn seat(&self, name: &str) -> (DeviceId, &JobNet, &Seat) {
        let actor = self.actor(name);
        let (device, port) = actor.spot;
        let net = self.draft.next.plan.jobs.get(&actor.job);
        let groups = net.into_iter().flat_map(|net| net.groups.iter().map(move |one| (net, one)));
        let mut seats = groups
            .filter(|(_, group)| group.device == device)
            .flat_map(|(net, group)| group.seats.iter().map(move |seat| (net, seat)));
        match seats.find(|(_, seat)| seat.port == port) {
            Some((net, seat)) => (device, net, seat),
            None => unreachable!("the demonstration's own endpoints have seats"),
        }
    }
}

/// Each error says only its own part, so the chain is a sentence.
fn chain(error: &dyn Error) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {}", chain(cause)),
        None => error.to_string(),
    }
}
