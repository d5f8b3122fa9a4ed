//! The ports of this device: who is behind each, and where its job and its bursts are counted.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use model::{Port, TrafficClass};
use wire::{PortSeat, Tables};

use super::policy::{Endpoint, Job, Policy, Space};
use super::{Limits, TableRefusal};

/// How many ports can have burst counters, as in the program.
const BURSTS: u16 = 16384;

/// An endpoint and where it was found.
struct Found {
    space: u32,
    endpoint: Endpoint,
    interface: u32,
}

/// One seat for each endpoint of this device, in the order of spaces and addresses.
pub(super) fn seated(
    policy: &Policy,
    interfaces: &dyn Fn(&Port) -> Option<u32>,
    before: Option<Tables<'_>>,
    limits: &Limits,
) -> Result<Vec<PortSeat>, TableRefusal> {
    let mut found = one_each(policy)?;
    if found.len() as u64 > u64::from(limits.ports) {
        let (has, allowed) = (found.len() as u64, limits.ports);
        return Err(TableRefusal::TooManyPorts { has, allowed });
    }
    for Found { endpoint: Endpoint { port, line, .. }, interface, .. } in &mut found {
        *interface =
            interfaces(port).ok_or(TableRefusal::NoInterface { port: *port, line: *line })?;
    }
    no_interface_twice(&mut found)?;
    found.sort_unstable_by_key(|one| (one.space, one.endpoint.address));
    no_address_twice(policy, &found)?;
    with_slots(policy, &found, before, limits.jobs)
}

/// The endpoints of all spaces, each behind a port of its own. One that is said twice in the
/// same words is one.
fn one_each(policy: &Policy) -> Result<Vec<Found>, TableRefusal> {
    let mut found: Vec<Found> = (0..)
        .zip(&policy.spaces)
        .flat_map(|(space, said)| {
            said.endpoints.iter().map(move |&endpoint| Found { space, endpoint, interface: 0 })
        })
        .collect();
    found.sort_unstable_by_key(|one| (one.endpoint.port, one.endpoint.line));
    found.dedup_by(|next, first| {
        first.space == next.space
            && first.endpoint == Endpoint { line: first.endpoint.line, ..next.endpoint }
    });
    for (first, next) in pairs(&found) {
        if first.endpoint.port == next.endpoint.port {
            return Err(TableRefusal::PortTwice {
                port: next.endpoint.port,
                first_line: first.endpoint.line,
                line: next.endpoint.line,
            });
        }
    }
    Ok(found)
}

fn no_interface_twice(found: &mut [Found]) -> Result<(), TableRefusal> {
    found.sort_unstable_by_key(|one| (one.interface, one.endpoint.line));
    for (first, next) in pairs(found) {
        if first.interface == next.interface {
            return Err(TableRefusal::InterfaceTwice {
                interface: next.interface,
                first: first.endpoint.port,
                first_line: first.endpoint.line,
                port: next.endpoint.port,
                line: next.endpoint.line,
            });
        }
    }
    Ok(())
}

/// An address behind two ports has the same record in both lines, and is two endpoints still.
fn no_address_twice(policy: &Policy, found: &[Found]) -> Result<(), TableRefusal> {
    for (first, next) in pairs(found) {
        if first.space == next.space && first.endpoint.address == next.endpoint.address {
            return Err(TableRefusal::AddressTwice {
                space: policy.spaces[next.space as usize].name.clone(),
                address: next.endpoint.address,
                first_line: first.endpoint.line.min(next.endpoint.line),
                line: first.endpoint.line.max(next.endpoint.line),
            });
        }
    }
    Ok(())
}

fn pairs(found: &[Found]) -> impl Iterator<Item = (&Found, &Found)> {
    found.iter().zip(found.iter().skip(1))
}

/// A job and an interface that have a slot keep it. A new one takes none that the policy in force
/// uses, even if it will not any more: while the policies change, one counter is not two jobs'.
fn with_slots(
    policy: &Policy,
    found: &[Found],
    before: Option<Tables<'_>>,
    allowed_jobs: u32,
) -> Result<Vec<PortSeat>, TableRefusal> {
    let (mut jobs, mut ports) = slots_of(before);
    let last_job = u16::try_from(allowed_jobs).unwrap_or(u16::MAX);
    found
        .iter()
        .map(|&Found { space, interface, endpoint }| {
            let Endpoint { address, mac, port, tag, line } = endpoint;
            let Space { name, number, jobs: treated, .. } = &policy.spaces[space as usize];
            // Slot 0 is of nobody.
            let slot = jobs.slot(((*number).into(), tag.get()), 1..=last_job);
            let slot = slot.ok_or_else(|| TableRefusal::TooManyJobs {
                space: name.clone(),
                tag,
                line,
                allowed: allowed_jobs,
            })?;
            let burst = ports.slot(interface, 0..=BURSTS - 1);
            let burst = burst.ok_or(TableRefusal::NoSlot { port, line, slots: BURSTS.into() })?;
            let Job { class, ceiling_bps, .. } = treated.get(&tag).copied().unwrap_or_default();
            let (class, tag) = (class_number(class), tag.get());
            Ok(PortSeat { interface, space, address, tag, mac, slot, burst, ceiling_bps, class })
        })
        .collect()
}

const fn class_number(class: TrafficClass) -> u32 {
    match class {
        TrafficClass::Lossless => 0,
        TrafficClass::Latency => 1,
        TrafficClass::Bulk => 2,
    }
}

/// Who is counted where.
struct Slots<K> {
    owners: BTreeMap<K, u16>,
    used: BTreeSet<u16>,
    next: u16,
}

impl<K: Ord> Slots<K> {
    const fn new() -> Self {
        Self { owners: BTreeMap::new(), used: BTreeSet::new(), next: 0 }
    }

    /// Keeps a slot that was given before, unless it is another's.
    fn keep(&mut self, owner: K, slot: u16) {
        if !self.owners.contains_key(&owner) && self.used.insert(slot) {
            self.owners.insert(owner, slot);
        }
    }

    /// The owner's slot, or the lowest that is free. One that is not among those that may be
    /// given now is not kept.
    fn slot(&mut self, owner: K, among: RangeInclusive<u16>) -> Option<u16> {
        if let Some(slot) = self.owners.get(&owner).filter(|slot| among.contains(slot)) {
            return Some(*slot);
        }
        let mut free =
            (self.next.max(*among.start())..=*among.end()).filter(|slot| !self.used.contains(slot));
        let slot = free.next()?;
        self.next = slot.saturating_add(1);
        self.used.insert(slot);
        self.owners.insert(owner, slot);
        Some(slot)
    }
}

/// The slots of the policy in force, of its jobs (a tenant's number and a tag) and interfaces. A
/// policy that contradicts itself must not keep the next one away: what cannot be read of it is
/// not kept.
fn slots_of(before: Option<Tables<'_>>) -> (Slots<(u32, u16)>, Slots<u32>) {
    let (mut jobs, mut ports) = (Slots::new(), Slots::new());
    let Some(tables) = before.filter(|tables| tables.is_policy()) else { return (jobs, ports) };
    let seats = (0..tables.ports().unwrap_or_default()).map_while(|port| tables.port(port).ok());
    for seat in seats {
        ports.keep(seat.interface, seat.burst);
        if let Ok(space) = tables.space(seat.space) {
            jobs.keep((space.number, seat.tag), seat.slot);
        }
    }
    (jobs, ports)
}
