//! What the kernel holds, as the text of a table artifact: the inverse of `compile`.

use std::collections::BTreeMap;
use std::fmt;
use std::net::Ipv4Addr;

use model::TrafficClass;
use wire::{AddressRecord, Broken, PortSeat, Space, TablePermit, Tables};

/// Says a policy. `name` tells what the kernel calls an interface.
///
/// What cannot be said without a lie is an error: a table whose parts contradict one another.
pub fn say(tables: Tables<'_>, name: &dyn Fn(u32) -> Option<String>) -> Result<String, Broken> {
    if !tables.is_policy() {
        return Err(Broken);
    }
    let vtep = tables.vtep().ok_or(Broken)?;
    let seats = seats(tables)?;
    let mut told: Vec<Told> = spaces(tables)?;
    let by_address: BTreeMap<_, _> =
        seats.iter().map(|seat| ((seat.space, u32::from(seat.address)), seat)).collect();
    for (index, of_space) in (0..).zip(&mut told) {
        records(tables, vtep, index, &by_address, of_space)?;
    }
    if told.iter().map(|of_space| of_space.endpoints.len()).sum::<usize>() != seats.len() {
        return Err(Broken); // somebody is behind a port and has no record
    }
    for of_space in &mut told {
        of_space.jobs = jobs(&of_space.endpoints)?;
    }
    permits(tables, &mut told)?;
    told.sort_by_key(|of_space| of_space.space.number);
    if told.iter().zip(told.iter().skip(1)).any(|(a, b)| a.space.number == b.space.number) {
        return Err(Broken); // two spaces would be said as one
    }
    Ok(Text { vtep, told, name }.to_string())
}

/// What a table holds of one tenant.
struct Told {
    space: Space,
    vnis: Vec<u32>,
    jobs: BTreeMap<u16, Job>,
    endpoints: Vec<PortSeat>,
    peers: Vec<Run>,
    permits: Vec<TablePermit>,
}

/// How the packets of a job are treated.
#[derive(Clone, Copy, Eq, PartialEq)]
struct Job {
    class: TrafficClass,
    ceiling_bps: u64,
}

/// Consecutive addresses in blocks of one size, each behind the tunnel endpoint after the one
/// before, as the renderer writes them.
#[derive(Clone, Copy)]
struct Run {
    first: u32,
    last: u32,
    vtep: u32,
    every: u32,
    tag: u16,
}

/// Every port, if each is reached by its own interface and by no other.
fn seats(tables: Tables<'_>) -> Result<Vec<PortSeat>, Broken> {
    let count = tables.ports().ok_or(Broken)?;
    let seats = (0..count).map(|port| tables.port(port)).collect::<Result<Vec<_>, _>>()?;
    let mut reached = 0;
    for (interface, port) in tables.ports_by_interface()? {
        let seat = seats.get(port as usize).ok_or(Broken)?;
        if seat.interface != interface {
            return Err(Broken);
        }
        reached += 1;
    }
    // Two interfaces cannot have reached the same port, so this many have reached all.
    if reached == seats.len() { Ok(seats) } else { Err(Broken) }
}

/// Every space with its VNIs.
fn spaces(tables: Tables<'_>) -> Result<Vec<Told>, Broken> {
    let count = tables.spaces().ok_or(Broken)?;
    let mut told = Vec::new();
    for index in 0..count {
        let space = tables.space(index)?;
        told.push(Told {
            space,
            vnis: Vec::new(),
            jobs: BTreeMap::new(),
            endpoints: Vec::new(),
            peers: Vec::new(),
            permits: Vec::new(),
        });
    }
    for (vni, space) in tables.spaces_by_vni()? {
        told.get_mut(space as usize).ok_or(Broken)?.vnis.push(vni);
    }
    Ok(told)
}

/// Every address of a space, in order.
fn records(
    tables: Tables<'_>,
    own: Ipv4Addr,
    index: u32,
    by_address: &BTreeMap<(u32, u32), &PortSeat>,
    told: &mut Told,
) -> Result<(), Broken> {
    let space = told.space;
    let mut blocks = Blocks::default();
    for found in tables.records(space) {
        let (address, record) = found?;
        let address = u32::from(address);
        if record.slot == 0 {
            blocks.take(address, record);
            continue;
        }
        let seat = by_address.get(&(index, address)).ok_or(Broken)?;
        if (seat.tag, seat.slot, own) != (record.tag, record.slot, record.vtep) {
            return Err(Broken); // the port and the record tell of two endpoints
        }
        told.endpoints.push(**seat);
    }
    told.peers = blocks.runs();
    Ok(())
}

/// The jobs behind ports by their tags, if all ports of each treat it alike.
fn jobs(endpoints: &[PortSeat]) -> Result<BTreeMap<u16, Job>, Broken> {
    let mut jobs = BTreeMap::new();
    for &PortSeat { tag, class, ceiling_bps, .. } in endpoints {
        let job = Job { class: traffic_class(class).ok_or(Broken)?, ceiling_bps };
        if *jobs.entry(tag).or_insert(job) != job {
            return Err(Broken);
        }
    }
    Ok(jobs)
}

/// Records become blocks, and blocks become runs.
#[derive(Default)]
struct Blocks {
    open: Option<Run>,
    runs: Vec<Run>,
}

impl Blocks {
    /// Takes the record of an address after all those before.
    fn take(&mut self, address: u32, AddressRecord { tag, vtep, .. }: AddressRecord) {
        let vtep = vtep.into();
        match &mut self.open {
            Some(open)
                if open.last.checked_add(1) == Some(address)
                    && (open.tag, open.vtep) == (tag, vtep) =>
            {
                open.last = address;
                open.every += 1;
            }
            _ => {
                self.close();
                self.open = Some(Run { first: address, last: address, vtep, every: 1, tag });
            }
        }
    }

    fn close(&mut self) {
        let Some(block) = self.open.take() else { return };
        if !self.runs.last_mut().is_some_and(|run| run.takes(&block)) {
            self.runs.push(block);
        }
    }

    fn runs(mut self) -> Vec<Run> {
        self.close();
        self.runs
    }
}

impl Run {
    /// As many blocks as `read` takes in one line.
    const MOST_BLOCKS: u32 = 1 << 16;

    /// Takes the next block in, if it goes on where this run ends.
    fn takes(&mut self, block: &Self) -> bool {
        let blocks = self.blocks();
        let goes_on = Some(block.first) == self.last.checked_add(1)
            && Some(block.vtep) == self.vtep.checked_add(blocks)
            && (block.every, block.tag) == (self.every, self.tag)
            && blocks < Self::MOST_BLOCKS;
        if goes_on {
            self.last = block.last;
        }
        goes_on
    }

    const fn blocks(&self) -> u32 {
        (self.last - self.first) / self.every + 1
    }
}

/// Every permit that a packet can find.
fn permits(tables: Tables<'_>, told: &mut [Told]) -> Result<(), Broken> {
    for permit in tables.all_permits() {
        let permit = permit?;
        if !tables.permits(permit)? {
            continue; // it is not in its bucket, so it does not exist
        }
        if protocol(permit.protocol).is_none() {
            return Err(Broken);
        }
        told.get_mut(permit.space as usize).ok_or(Broken)?.permits.push(permit);
    }
    for Told { permits, .. } in told {
        permits
            .sort_by_key(|permit| (permit.client, permit.provider, permit.protocol, permit.port));
        permits.dedup();
    }
    Ok(())
}

const fn protocol(number: u8) -> Option<&'static str> {
    match number {
        6 => Some("tcp"),
        17 => Some("udp"),
        _ => None,
    }
}

const fn traffic_class(number: u32) -> Option<TrafficClass> {
    match number {
        0 => Some(TrafficClass::Lossless),
        1 => Some(TrafficClass::Latency),
        2 => Some(TrafficClass::Bulk),
        _ => None,
    }
}

/// The artifact.
struct Text<'a> {
    vtep: Ipv4Addr,
    told: Vec<Told>,
    name: &'a dyn Fn(u32) -> Option<String>,
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "vtep {}", self.vtep)?;
        writeln!(f, "default drop")?;
        for told in &self.told {
            let number = told.space.number;
            for vni in &told.vnis {
                writeln!(f, "space t{number} vni {vni}")?;
            }
            write_rate(&told.space, f)?;
            for (tag, job) in &told.jobs {
                write_job(number, *tag, job, f)?;
            }
            for seat in &told.endpoints {
                self.write_endpoint(number, seat, f)?;
            }
            for run in &told.peers {
                write_peers(number, run, f)?;
            }
            for permit in &told.permits {
                write_permit(number, permit, f)?;
            }
        }
        Ok(())
    }
}

impl Text<'_> {
    /// An interface that is gone has no name, and none is made up: a name that `read` takes for
    /// a port could be the name of another one. What is written instead is no port, so that
    /// `read` knows the line as one that nobody planned and `verify` never clears it.
    fn write_endpoint(
        &self,
        space: u32,
        seat: &PortSeat,
        f: &mut fmt::Formatter<'_>,
    ) -> fmt::Result {
        let PortSeat { interface, address, tag, mac, .. } = seat;
        let port = (self.name)(*interface).unwrap_or_else(|| format!("interface-{interface}"));
        writeln!(f, "endpoint t{space} {address} mac {mac} port {port} tag {tag}")
    }
}

fn write_rate(space: &Space, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let &Space { number, guarantee_bps, ceiling_bps, .. } = space;
    if (guarantee_bps, ceiling_bps) == (0, 0) {
        return Ok(());
    }
    write!(f, "rate t{number}")?;
    if guarantee_bps != 0 {
        write!(f, " guarantee {guarantee_bps}")?;
    }
    if ceiling_bps != 0 {
        write!(f, " ceiling {ceiling_bps}")?;
    }
    writeln!(f)
}

fn write_job(space: u32, tag: u16, job: &Job, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "job t{space} {tag} class {}", job.class)?;
    if job.ceiling_bps != 0 {
        write!(f, " ceiling {}", job.ceiling_bps)?;
    }
    writeln!(f)
}

fn write_peers(space: u32, run: &Run, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let [first, last, vtep] = [run.first, run.last, run.vtep].map(Ipv4Addr::from);
    write!(f, "peers t{space} {first}-{last} vtep {vtep}")?;
    if run.blocks() > 1 {
        write!(f, " every {}", run.every)?;
    }
    writeln!(f, " tag {}", run.tag)
}

fn write_permit(space: u32, permit: &TablePermit, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let TablePermit { client, provider, port, .. } = permit;
    let protocol = protocol(permit.protocol).unwrap_or_default();
    writeln!(f, "permit t{space} {client} {provider} {protocol} {port}")
}
