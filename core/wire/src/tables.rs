//! One policy, as the packet program holds it: a block of bytes, laid out as the README says.
//!
//! Reading is total: whatever points outside of the block is no answer.

use core::net::Ipv4Addr;

use crate::Mac;

/// The number every block begins with.
pub const MAGIC: u32 = 0x3154_4c42;

/// Sizes and offsets of the layout, shared by whoever writes a block.
pub mod layout {
    #![allow(missing_docs, reason = "each is a row of the README's tables")]
    pub const HEADER: usize = 128;
    pub const LENGTH: usize = 4;
    pub const GENERATION: usize = 8;
    pub const VTEP: usize = 16;
    pub const VNIS: usize = 20;
    pub const INTERFACES: usize = 32;
    pub const SPACES: usize = 44;
    pub const PORTS: usize = 52;
    pub const PERMITS: usize = 60;
    pub const SPACE: usize = 64;
    pub const PORT: usize = 64;
    pub const RECORD: usize = 8;
    pub const PAGE: usize = 64;
    pub const LIST: usize = 1024;
    pub const PERMIT: usize = 16;
    pub const BUCKET: usize = 4;
}

/// A view of one policy's bytes.
#[derive(Clone, Copy)]
pub struct Tables<'a>(&'a [u8]);

/// A tenant's addresses on this device.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Space {
    /// The lowest address that may have a record.
    pub first: u32,
    /// How many addresses may have one.
    pub len: u32,
    /// Where the records, or the list of pages, begin.
    pub at: u32,
    /// Whether the records are in pages.
    pub paged: bool,
    /// The tenant's number.
    pub number: u32,
    /// What the tenant is guaranteed, in bits a second; 0 if nothing.
    pub guarantee_bps: u64,
    /// What the tenant is limited to, in bits a second; 0 if it is not.
    pub ceiling_bps: u64,
}

/// Who has an address.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct AddressRecord {
    /// Its job's tag, never 0.
    pub tag: u16,
    /// Where its job is counted; 0 if it is not behind a port of this device.
    pub slot: u16,
    /// The tunnel endpoint it is behind.
    pub vtep: Ipv4Addr,
}

/// A port of this device, and the one endpoint behind it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct PortSeat {
    /// The kernel's number of the interface.
    pub interface: u32,
    /// Which space it is in.
    pub space: u32,
    /// Its address.
    pub address: Ipv4Addr,
    /// Its job's tag.
    pub tag: u16,
    /// Its Ethernet address.
    pub mac: Mac,
    /// Where its job is counted.
    pub slot: u16,
    /// Where its own bursts are counted.
    pub burst: u16,
    /// What its job is limited to, in bits a second; 0 if it is not.
    pub ceiling_bps: u64,
    /// The traffic class of its job: 0 lossless, 1 latency, 2 bulk.
    pub class: u32,
}

/// A service that one job offers another in a space.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct TablePermit {
    /// Index of the space.
    pub space: u32,
    /// The tag of the job that asks.
    pub client: u16,
    /// The tag of the job that answers.
    pub provider: u16,
    /// The number of the transport protocol: 6 or 17.
    pub protocol: u8,
    /// The port where the service answers.
    pub port: u16,
}

impl TablePermit {
    /// The bucket the permit stands in.
    #[must_use]
    pub const fn bucket(self, mask: u32, seed: u32) -> u32 {
        let key =
            (self.space as u64 + 1) | (self.client as u64) << 32 | (self.provider as u64) << 48;
        let service =
            ((self.protocol as u64) << 16 | self.port as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let hash = (key ^ service).wrapping_mul(0xd6e8_feb8_6659_fd93 + 2 * seed as u64);
        (hash >> 32) as u32 & mask
    }
}

impl<'a> Tables<'a> {
    /// The block as it was given. Whether it is a policy at all is [`Self::is_policy`].
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Whether the block begins as a policy does.
    #[must_use]
    pub fn is_policy(self) -> bool {
        self.0.len() >= layout::HEADER && self.u32(0) == Some(MAGIC)
    }

    /// How many bytes of the block are in use.
    #[must_use]
    pub fn used(self) -> Option<u32> {
        self.u32(layout::LENGTH)
    }

    /// The plan the policy came from.
    #[must_use]
    pub fn generation(self) -> Option<u64> {
        self.u64(layout::GENERATION)
    }

    /// The own tunnel address.
    #[must_use]
    pub fn vtep(self) -> Option<Ipv4Addr> {
        self.u32(layout::VTEP).map(Ipv4Addr::from)
    }

    /// Every VNI that has a space, with that space's index.
    pub fn spaces_by_vni(self) -> Result<impl Iterator<Item = (u32, u32)>, Broken> {
        self.listed(layout::VNIS)
    }

    /// The index of a VNI's space. `Err` is a table that contradicts itself.
    pub fn space_of(self, vni: u32) -> Result<Option<u32>, Broken> {
        self.indexed(layout::VNIS, vni)
    }

    /// Every interface that has a port, with that port's index.
    pub fn ports_by_interface(self) -> Result<impl Iterator<Item = (u32, u32)>, Broken> {
        self.listed(layout::INTERFACES)
    }

    /// The index of an interface's port.
    pub fn port_of(self, interface: u32) -> Result<Option<u32>, Broken> {
        self.indexed(layout::INTERFACES, interface)
    }

    /// How many spaces there are.
    #[must_use]
    pub fn spaces(self) -> Option<u32> {
        self.u32(layout::SPACES + 4)
    }

    /// One space.
    pub fn space(self, index: u32) -> Result<Space, Broken> {
        let at = self.entry(layout::SPACES, index, layout::SPACE)?;
        Ok(Space {
            first: self.u32(at).ok_or(Broken)?,
            len: self.u32(at + 4).ok_or(Broken)?,
            at: self.u32(at + 8).ok_or(Broken)?,
            paged: self.u32(at + 12).ok_or(Broken)? != 0,
            number: self.u32(at + 16).ok_or(Broken)?,
            guarantee_bps: self.u64(at + 24).ok_or(Broken)?,
            ceiling_bps: self.u64(at + 32).ok_or(Broken)?,
        })
    }

    /// How many ports there are.
    #[must_use]
    pub fn ports(self) -> Option<u32> {
        self.u32(layout::PORTS + 4)
    }

    /// One port.
    pub fn port(self, index: u32) -> Result<PortSeat, Broken> {
        let at = self.entry(layout::PORTS, index, layout::PORT)?;
        let mac = self.0.get(at + 14..at + 20).and_then(|bytes| bytes.try_into().ok());
        Ok(PortSeat {
            interface: self.u32(at).ok_or(Broken)?,
            space: self.u32(at + 4).ok_or(Broken)?,
            address: self.u32(at + 8).ok_or(Broken)?.into(),
            tag: self.u16(at + 12).ok_or(Broken)?,
            mac: Mac(mac.ok_or(Broken)?),
            slot: self.u16(at + 20).ok_or(Broken)?,
            burst: self.u16(at + 22).ok_or(Broken)?,
            ceiling_bps: self.u64(at + 24).ok_or(Broken)?,
            class: self.u32(at + 32).ok_or(Broken)?,
        })
    }

    /// Every address of the space that has a record, in order. What has none is skipped in steps
    /// as large as the table allows.
    pub fn records(
        self,
        space: Space,
    ) -> impl Iterator<Item = Result<(Ipv4Addr, AddressRecord), Broken>> + use<'a> {
        let mut place = 0_u64;
        core::iter::from_fn(move || {
            while place < u64::from(space.len) {
                let at = place as u32;
                place += self.step(space, at);
                let address = Ipv4Addr::from(space.first.wrapping_add(at));
                match self.record(space, address) {
                    Ok(None) => {}
                    Ok(Some(record)) => return Some(Ok((address, record))),
                    Err(broken) => return Some(Err(broken)),
                }
            }
            None
        })
    }

    /// How far it is from a place to the next that may have a record.
    fn step(self, space: Space, place: u32) -> u64 {
        const PAGE: u32 = layout::PAGE as u32;
        const LIST: u32 = PAGE * layout::LIST as u32;
        if !space.paged {
            return 1;
        }
        match self.u32(space.at as usize + (place / LIST) as usize * 4) {
            Some(0) => (LIST - place % LIST).into(),
            Some(list) => {
                let entry = (place / PAGE) as usize % layout::LIST * 4;
                match self.u32(list as usize + entry) {
                    Some(0) => (PAGE - place % PAGE).into(),
                    _ => 1,
                }
            }
            None => 1,
        }
    }

    /// Who has this address in the space.
    pub fn record(self, space: Space, address: Ipv4Addr) -> Result<Option<AddressRecord>, Broken> {
        let place = u32::from(address).wrapping_sub(space.first);
        if place >= space.len {
            return Ok(None);
        }
        let (place, mut at) = (place as usize, space.at as usize);
        if space.paged {
            let list = self.u32(at + place / (layout::PAGE * layout::LIST) * 4).ok_or(Broken)?;
            if list == 0 {
                return Ok(None);
            }
            let entry = place / layout::PAGE % layout::LIST * 4;
            let page = self.u32(list as usize + entry).ok_or(Broken)?;
            if page == 0 {
                return Ok(None);
            }
            at = page as usize + place % layout::PAGE * layout::RECORD;
        } else {
            at += place * layout::RECORD;
        }
        let record = AddressRecord {
            tag: self.u16(at).ok_or(Broken)?,
            slot: self.u16(at + 2).ok_or(Broken)?,
            vtep: self.u32(at + 4).ok_or(Broken)?.into(),
        };
        Ok((record.tag != 0).then_some(record))
    }

    /// Whether the permit stands in its bucket.
    pub fn permits(self, permit: TablePermit) -> Result<bool, Broken> {
        let [at, mask, seed] = self.permit_buckets().ok_or(Broken)?;
        if at == 0 {
            return Ok(false);
        }
        let size = layout::BUCKET * layout::PERMIT;
        let bucket = at as usize + permit.bucket(mask, seed) as usize * size;
        let bytes = self.0.get(bucket..bucket + size).ok_or(Broken)?;
        let mut places = (0..size).step_by(layout::PERMIT);
        Ok(places.any(|at| Self(bytes).permit_at(at) == Ok(Some(permit))))
    }

    /// Every permit, in no order that means anything.
    pub fn all_permits(self) -> impl Iterator<Item = Result<TablePermit, Broken>> + use<'a> {
        let [at, mask, _] = self.permit_buckets().unwrap_or_default();
        let most = self.0.len() / layout::PERMIT;
        let places = if at == 0 { 0 } else { (mask as usize + 1) * layout::BUCKET };
        (0..places.min(most)).filter_map(move |place| {
            self.permit_at(at as usize + place * layout::PERMIT).transpose()
        })
    }

    fn permit_buckets(self) -> Option<[u32; 3]> {
        let at = layout::PERMITS;
        Some([self.u32(at)?, self.u32(at + 4)?, self.u32(at + 8)?])
    }

    fn permit_at(self, at: usize) -> Result<Option<TablePermit>, Broken> {
        let Some(space) = self.u32(at).ok_or(Broken)?.checked_sub(1) else {
            return Ok(None);
        };
        Ok(Some(TablePermit {
            space,
            client: self.u16(at + 4).ok_or(Broken)?,
            provider: self.u16(at + 6).ok_or(Broken)?,
            port: self.u16(at + 8).ok_or(Broken)?,
            protocol: self.0.get(at + 10).copied().ok_or(Broken)?,
        }))
    }

    /// What a list of indexes, described at `header`, says of a number.
    fn indexed(self, header: usize, number: u32) -> Result<Option<u32>, Broken> {
        let word = |at| self.u32(header + at).ok_or(Broken);
        let place = number.wrapping_sub(word(0)?);
        if place >= word(4)? {
            return Ok(None);
        }
        let index = self.u16(word(8)? as usize + place as usize * 2).ok_or(Broken)?;
        Ok(u32::from(index).checked_sub(1))
    }

    /// The numbers that have an index in a list described at `header`, each with its index.
    fn listed(self, header: usize) -> Result<impl Iterator<Item = (u32, u32)>, Broken> {
        let word = |at| self.u32(header + at).ok_or(Broken);
        let (first, at, len) = (word(0)?, word(8)? as usize, word(4)? as usize);
        let list = self.0.get(at..at + len * 2).ok_or(Broken)?;
        let indexes = list.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
        Ok((0..).zip(indexes).filter_map(move |(place, index)| {
            Some((first.wrapping_add(place), u32::from(index).checked_sub(1)?))
        }))
    }

    fn entry(self, header: usize, index: u32, size: usize) -> Result<usize, Broken> {
        let word = |at| self.u32(header + at).ok_or(Broken);
        if index >= word(4)? {
            return Err(Broken);
        }
        let at = word(0)? as usize + index as usize * size;
        self.0.get(at..at + size).map(|_| at).ok_or(Broken)
    }

    fn u16(self, at: usize) -> Option<u16> {
        self.0.get(at..at + 2)?.try_into().ok().map(u16::from_le_bytes)
    }

    fn u32(self, at: usize) -> Option<u32> {
        self.0.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes)
    }

    fn u64(self, at: usize) -> Option<u64> {
        self.0.get(at..at + 8)?.try_into().ok().map(u64::from_le_bytes)
    }
}

/// The table points outside of itself.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Broken;
