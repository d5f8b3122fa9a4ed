//! What the kernel counted, by tenant, job, hook and reason.

use std::collections::BTreeMap;

use aya::maps::{Array, MapData, PerCpuArray, PerCpuHashMap};
use wire::{Hook, Reason, Tables};

use crate::Fault;
use crate::kernel::{Kernel, TENANTS, map};

/// Windows of the program, in nanoseconds.
pub const WINDOW_NS: u64 = 1 << 14;
/// Kinds of windows, by the logarithm of their bytes.
pub const SIZES: usize = 14;

/// Packets and bytes.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Tally {
    /// How many packets.
    pub packets: u64,
    /// How many bytes they had.
    pub bytes: u64,
}

/// What one job's endpoints on this device sent and received.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct JobTraffic {
    /// The tenant's number.
    pub tenant: u32,
    /// What they sent and was let through.
    pub sent: Tally,
    /// What they received from the fabric.
    pub received: Tally,
}

/// What was dropped, or passed beside the jobs.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Cause {
    /// Where.
    pub hook: Hook,
    /// Why.
    pub reason: Reason,
    /// The source's tag, or else the destination's; 0 if neither was known.
    pub tag: u16,
}

/// Who sent in bursts.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Whose {
    /// All that came from the fabric for a tenant.
    Tenant(u32),
    /// What the workload behind an interface sent.
    Interface(u32),
}

/// How many bytes came within one window of [`WINDOW_NS`].
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Bursts {
    /// The most in one window.
    pub peak_bytes: u64,
    /// Windows by the logarithm of their bytes: below 2^15, below 2^16 and so on.
    pub windows: [u64; SIZES],
}

impl Kernel {
    /// What each job on this device sent and received, by its tag.
    pub fn traffic(&self) -> Result<BTreeMap<u16, JobTraffic>, Fault> {
        let mut found = BTreeMap::new();
        let Some(held) = self.held()? else { return Ok(found) };
        let tables = Tables::new(&held);
        for index in 0..tables.ports().unwrap_or(0) {
            let Ok(seat) = tables.port(index) else { continue };
            if found.contains_key(&seat.tag) {
                continue;
            }
            let tenant = tables.space(seat.space).map_or(0, |space| space.number);
            found.insert(seat.tag, self.traffic_of(seat.slot, tenant)?);
        }
        Ok(found)
    }

    fn traffic_of(&self, slot: u16, tenant: u32) -> Result<JobTraffic, Fault> {
        let mut traffic = JobTraffic { tenant, ..JobTraffic::default() };
        for numbers in self.counts(slot)? {
            let [sent_packets, sent_bytes, received_packets, received_bytes, ..] = numbers;
            traffic.sent.packets += sent_packets;
            traffic.sent.bytes += sent_bytes;
            traffic.received.packets += received_packets;
            traffic.received.bytes += received_bytes;
        }
        Ok(traffic)
    }

    /// What was dropped and why, by whose it was.
    pub fn drops(&self) -> Result<BTreeMap<Cause, Tally>, Fault> {
        let tallies: PerCpuHashMap<MapData, u32, [u64; 2]> =
            self.map("tallies")?.try_into().map_err(map("tallies"))?;
        let mut found = BTreeMap::new();
        for entry in tallies.iter() {
            let (key, values) = entry.map_err(map("tallies"))?;
            let [low, high, reason, hook] = key.to_le_bytes();
            let (Some(reason), Some(hook)) = (Reason::from_code(reason), Hook::from_code(hook))
            else {
                continue;
            };
            let cause = Cause { hook, reason, tag: u16::from_le_bytes([low, high]) };
            found.insert(cause, sum(values.iter()));
        }
        Ok(found)
    }

    /// What got each verdict that is not a job's traffic, at each hook.
    pub fn verdicts(&self) -> Result<BTreeMap<(Hook, Reason), Tally>, Fault> {
        let reasons: PerCpuArray<MapData, [u64; 2]> =
            self.map("reasons")?.try_into().map_err(map("reasons"))?;
        let mut found = BTreeMap::new();
        for (hook, reason) in Hook::ALL
            .into_iter()
            .flat_map(|hook| Reason::ALL.into_iter().map(move |reason| (hook, reason)))
        {
            let index = u32::from(hook.code()) * 64 + u32::from(reason.code());
            let tally = sum(reasons.get(&index, 0).map_err(map("reasons"))?.iter());
            if tally.packets > 0 {
                found.insert((hook, reason), tally);
            }
        }
        Ok(found)
    }

    /// Who sent in bursts, and how large they were.
    pub fn bursts(&self) -> Result<BTreeMap<Whose, Bursts>, Fault> {
        let bursts: Array<MapData, [u64; 2 + SIZES]> = self.array("bursts")?;
        let mut found = BTreeMap::new();
        let Some(held) = self.held()? else { return Ok(found) };
        let tables = Tables::new(&held);
        let tenants = (0..tables.spaces().unwrap_or(0)).filter_map(|index| {
            let number = tables.space(index).ok()?.number;
            Some((Whose::Tenant(number), number))
        });
        let ports = (0..tables.ports().unwrap_or(0)).filter_map(|index| {
            let seat = tables.port(index).ok()?;
            Some((Whose::Interface(seat.interface), TENANTS + u32::from(seat.burst)))
        });
        for (whose, index) in tenants.chain(ports) {
            let [window, peak, windows @ ..] = bursts.get(&index, 0).map_err(map("bursts"))?;
            // The last window is closed by the next packet, which may be long in coming.
            let peak_bytes = peak.max((window & 0xff_ffff) << 6);
            if peak_bytes > 0 {
                found.insert(whose, Bursts { peak_bytes, windows });
            }
        }
        Ok(found)
    }
}

fn sum<'a>(values: impl Iterator<Item = &'a [u64; 2]>) -> Tally {
    values.fold(Tally::default(), |sum, [packets, bytes]| Tally {
        packets: sum.packets + packets,
        bytes: sum.bytes + bytes,
    })
}
