//! The layout: what stands where, and then the bytes.

use model::Generation;
use wire::{MAGIC, PortSeat, layout};

use super::TableRefusal;
use super::permits::Buckets;
use super::policy::Policy;
use super::runs::{Records, Same};

/// A policy of which all is decided but where it stands.
pub(super) struct Block<'a> {
    pub(super) policy: &'a Policy,
    pub(super) generation: Generation,
    /// One for each space.
    pub(super) records: Vec<Records>,
    pub(super) seats: Vec<PortSeat>,
    pub(super) buckets: Buckets,
}

/// Where the parts of a block stand.
struct Places {
    vnis: Index,
    interfaces: Index,
    spaces: u32,
    ports: u32,
    permits: u32,
    records: Vec<RecordsAt>,
    end: u32,
}

/// A list of indexes by number.
#[derive(Clone, Copy, Default)]
struct Index {
    first: u32,
    len: u32,
    at: u32,
}

/// Where the records of a space stand.
#[derive(Clone, Copy)]
struct RecordsAt {
    first: u32,
    /// The records, or the list of lists.
    at: u32,
    /// The first list and the first page, if there are pages.
    pages: Option<Pages>,
}

/// Where the next list of pages and the next page begin.
#[derive(Clone, Copy)]
struct Pages {
    list: u32,
    page: u32,
}

/// Addresses of a page, and of a list of pages.
const PAGE: u32 = layout::PAGE as u32;
const LIST: u32 = PAGE * layout::LIST as u32;

impl Block<'_> {
    /// The whole block.
    pub(super) fn bytes(&self, allowed: u32) -> Result<Vec<u8>, TableRefusal> {
        let places = self.places(allowed)?;
        let mut bytes = Bytes(vec![0; places.end as usize]);
        self.header(&places, &mut bytes);
        self.vnis(&places, &mut bytes);
        self.spaces(&places, &mut bytes);
        for (records, at) in self.records.iter().zip(&places.records) {
            write_records(records, *at, &mut bytes);
        }
        self.ports(&places, &mut bytes);
        self.permits(&places, &mut bytes);
        Ok(bytes.0)
    }

    fn places(&self, allowed: u32) -> Result<Places, TableRefusal> {
        let mut room = Room::new(allowed);
        room.take(layout::HEADER as u64, || "the header".into());
        let spaces = room.take(size(self.records.len(), layout::SPACE), || "the spaces".into());
        let ports = room.take(size(self.seats.len(), layout::PORT), || "the ports".into());
        let vnis = self.policy.spaces.iter().flat_map(|space| &space.vnis).map(|vni| vni.get());
        let vnis = index(vnis, "VNIs", &mut room);
        let interfaces = self.seats.iter().map(|seat| seat.interface);
        let interfaces = index(interfaces, "interfaces", &mut room);
        let buckets = self.buckets.count() as usize;
        let permits =
            room.take(size(buckets, layout::BUCKET * layout::PERMIT), || "the permits".into());
        let records = self.records.iter().zip(&self.policy.spaces).map(|(records, space)| {
            place(records, || format!("the addresses of {}", space.name), &mut room)
        });
        let records = records.collect();
        let permits = if buckets == 0 { 0 } else { permits };
        let end = room.end()?;
        Ok(Places { vnis, interfaces, spaces, ports, permits, records, end })
    }

    fn header(&self, places: &Places, bytes: &mut Bytes) {
        bytes.u32(0, MAGIC);
        bytes.u32(layout::LENGTH, places.end);
        bytes.u64(layout::GENERATION, self.generation.0);
        bytes.u32(layout::VTEP, self.policy.vtep.into());
        bytes.u32s(layout::VNIS, &places.vnis.words());
        bytes.u32s(layout::INTERFACES, &places.interfaces.words());
        bytes.u32s(layout::SPACES, &[places.spaces, self.records.len() as u32]);
        bytes.u32s(layout::PORTS, &[places.ports, self.seats.len() as u32]);
        bytes.u32s(layout::PERMITS, &[places.permits, self.buckets.mask, self.buckets.seed]);
    }

    fn vnis(&self, places: &Places, bytes: &mut Bytes) {
        for (index, space) in (1..).zip(&self.policy.spaces) {
            for vni in &space.vnis {
                bytes.u16(places.vnis.place(vni.get()), index);
            }
        }
    }

    fn spaces(&self, places: &Places, bytes: &mut Bytes) {
        let mut at = places.spaces as usize;
        for ((space, records), place) in
            self.policy.spaces.iter().zip(&self.records).zip(&places.records)
        {
            let paged = u32::from(place.pages.is_some());
            let number = u32::from(space.number);
            bytes.u32s(at, &[place.first, records.span, place.at, paged, number]);
            bytes.u64(at + 24, space.rate.guarantee_bps);
            bytes.u64(at + 32, space.rate.ceiling_bps);
            at += layout::SPACE;
        }
    }

    /// The ports, and who is behind them: the records of the endpoints stand already.
    fn ports(&self, places: &Places, bytes: &mut Bytes) {
        let mut at = places.ports as usize;
        for (index, seat) in (1..).zip(&self.seats) {
            bytes.u32s(at, &[seat.interface, seat.space, seat.address.into()]);
            bytes.u16(at + 12, seat.tag);
            bytes.put(at + 14, &seat.mac.0);
            bytes.u16(at + 20, seat.slot);
            bytes.u16(at + 22, seat.burst);
            bytes.u64(at + 24, seat.ceiling_bps);
            bytes.u32(at + 32, seat.class);
            at += layout::PORT;
            bytes.u16(places.interfaces.place(seat.interface), index);
            let record = places.records[seat.space as usize].record(seat.address.into(), bytes);
            bytes.u16(record + 2, seat.slot);
        }
    }

    fn permits(&self, places: &Places, bytes: &mut Bytes) {
        let mut full = vec![0; self.buckets.count() as usize];
        for permit in &self.buckets.permits {
            let bucket = permit.bucket(self.buckets.mask, self.buckets.seed) as usize;
            let place = bucket * layout::BUCKET + full[bucket];
            full[bucket] += 1;
            let at = places.permits as usize + place * layout::PERMIT;
            bytes.u32(at, permit.space + 1);
            bytes.u16(at + 4, permit.client);
            bytes.u16(at + 6, permit.provider);
            bytes.u16(at + 8, permit.port);
            bytes.put(at + 10, &[permit.protocol]);
        }
    }
}

/// Room for an index of these numbers, from the lowest to the highest.
fn index(numbers: impl Iterator<Item = u32> + Clone, what: &str, room: &mut Room) -> Index {
    let (Some(first), Some(last)) = (numbers.clone().min(), numbers.max()) else {
        return Index::default();
    };
    let len = u64::from(last - first) + 1;
    let at = room.take(len * 2, || format!("the index of {what}"));
    Index { first, len: len as u32, at } // what does not fit is refused at the end
}

/// Room for the records of a space. Where at least half of the addresses have one, or all would
/// fit into a page, they stand one after the other: an address is found in one step.
fn place(records: &Records, what: impl Fn() -> String, room: &mut Room) -> RecordsAt {
    let (first, span) = (records.first, u64::from(records.span));
    if span <= 2 * u64::from(records.count) || span <= layout::PAGE as u64 {
        let at = room.take(span * layout::RECORD as u64, what);
        return RecordsAt { first, at, pages: None };
    }
    let at = room.take(span.div_ceil(LIST.into()) * 4, &what);
    let list = room.take(touched(records, LIST) * layout::LIST as u64 * 4, &what);
    let page = room.take(touched(records, PAGE) * (layout::PAGE * layout::RECORD) as u64, &what);
    RecordsAt { first, at, pages: Some(Pages { list, page }) }
}

/// How many stretches of so many addresses have a record.
fn touched(records: &Records, addresses: u32) -> u64 {
    let place = |address: u32| u64::from((address - records.first) / addresses);
    let (mut count, mut next) = (0, 0);
    for stretch in &records.stretches {
        let (from, to) = (place(stretch.from).max(next), place(stretch.to) + 1);
        count += to.saturating_sub(from);
        next = to;
    }
    count
}

fn write_records(records: &Records, at: RecordsAt, bytes: &mut Bytes) {
    let mut next = at.pages;
    for same in records.same() {
        match &mut next {
            None => bytes.fill(at.record(same.from, bytes), &same),
            Some(next) => write_paged(same, at, next, bytes),
        }
    }
}

/// Writes equal records page by page; `next` is where new lists and pages begin.
fn write_paged(mut same: Same, at: RecordsAt, next: &mut Pages, bytes: &mut Bytes) {
    let last = same.to;
    loop {
        let place = same.from - at.first;
        same.to = last.min(same.from.saturating_add(PAGE - 1 - place % PAGE));
        let list = at.at as usize + (place / LIST) as usize * 4;
        let list = bytes.made(list, &mut next.list, layout::LIST * 4);
        let page = list + (place / PAGE) as usize % layout::LIST * 4;
        bytes.made(page, &mut next.page, layout::PAGE * layout::RECORD);
        bytes.fill(at.record(same.from, bytes), &same);
        if same.to == last {
            return;
        }
        same.from = same.to + 1;
    }
}

impl RecordsAt {
    /// Where the record of an address stands. If it is in a page, that page exists.
    fn record(&self, address: u32, bytes: &Bytes) -> usize {
        let (place, at) = ((address - self.first) as usize, self.at as usize);
        if self.pages.is_none() {
            return at + place * layout::RECORD;
        }
        let list = bytes.u32_at(at + place / LIST as usize * 4) as usize;
        let page = bytes.u32_at(list + place / layout::PAGE % layout::LIST * 4) as usize;
        page + place % layout::PAGE * layout::RECORD
    }
}

impl Index {
    const fn words(self) -> [u32; 3] {
        [self.first, self.len, self.at]
    }

    const fn place(self, number: u32) -> usize {
        self.at as usize + (number - self.first) as usize * 2
    }
}

const fn size(count: usize, each: usize) -> u64 {
    count as u64 * each as u64
}

/// Hands out room, each part from a new cache line on. Nothing is refused before all is known:
/// then the part that takes the most is named.
struct Room {
    next: u64,
    allowed: u32,
    most: (u64, String),
}

impl Room {
    const fn new(allowed: u32) -> Self {
        Self { next: 0, allowed, most: (0, String::new()) }
    }

    fn take(&mut self, bytes: u64, what: impl Fn() -> String) -> u32 {
        const CACHE_LINE: u64 = 64;
        let at = self.next;
        self.next = at + bytes.next_multiple_of(CACHE_LINE);
        if bytes > self.most.0 {
            self.most = (bytes, what());
        }
        at as u32 // of a block that fits; another is not written
    }

    fn end(self) -> Result<u32, TableRefusal> {
        let Self { next: has, allowed, most: (most, what) } = self;
        match u32::try_from(has) {
            Ok(end) if end <= allowed => Ok(end),
            _ => Err(TableRefusal::TooLarge { has, what, most, allowed }),
        }
    }
}

/// Bytes that are written at known places, little-endian.
struct Bytes(Vec<u8>);

impl Bytes {
    fn put(&mut self, at: usize, bytes: &[u8]) {
        self.0[at..at + bytes.len()].copy_from_slice(bytes);
    }

    fn u16(&mut self, at: usize, word: u16) {
        self.put(at, &word.to_le_bytes());
    }

    fn u32(&mut self, at: usize, word: u32) {
        self.put(at, &word.to_le_bytes());
    }

    fn u64(&mut self, at: usize, word: u64) {
        self.put(at, &word.to_le_bytes());
    }

    fn u32s(&mut self, at: usize, words: &[u32]) {
        for (place, word) in words.iter().enumerate() {
            self.u32(at + place * 4, *word);
        }
    }

    fn u32_at(&self, at: usize) -> u32 {
        let mut word = [0; 4];
        word.copy_from_slice(&self.0[at..at + 4]);
        u32::from_le_bytes(word)
    }

    /// What the word at this place points to; made at `next` if it points to nothing.
    fn made(&mut self, at: usize, next: &mut u32, size: usize) -> usize {
        if self.u32_at(at) == 0 {
            self.u32(at, *next);
            *next += size as u32;
        }
        self.u32_at(at) as usize
    }

    /// One record for each of the addresses.
    fn fill(&mut self, at: usize, same: &Same) {
        let record = u64::from(same.tag) | u64::from(same.vtep) << 32;
        let len = ((same.to - same.from) as usize + 1) * layout::RECORD;
        for place in self.0[at..at + len].chunks_exact_mut(layout::RECORD) {
            place.copy_from_slice(&record.to_le_bytes());
        }
    }
}
