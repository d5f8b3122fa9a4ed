//! Many addresses on one line: runs, and the tunnel endpoints they are behind.

use std::net::Ipv4Addr;
use std::num::NonZeroU32;

use crate::values::{Why, address, count};

/// Consecutive addresses behind one tunnel endpoint, or each block of so many behind the next one.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Run {
    pub(crate) first: Ipv4Addr,
    pub(crate) last: Ipv4Addr,
    pub(crate) vtep: Ipv4Addr,
    pub(crate) every: Option<NonZeroU32>,
}

impl Run {
    /// From `10.1.0.2-10.1.0.9`, the tunnel endpoint, and the word after `every` if there is one.
    pub(crate) fn read(addresses: &str, vtep: &str, every: Option<&str>) -> Result<Self, Why> {
        const RUN: Why = "a run of addresses is written `first-last`, the lower first";
        let (first, last) = addresses.split_once('-').ok_or(RUN)?;
        let (first, last) = (address(first)?, address(last)?);
        if first > last {
            return Err(RUN);
        }
        let vtep = address(vtep)?;
        let every = every.map(|block| blocks(block, first, last, vtep)).transpose()?;
        Ok(Self { first, last, vtep, every })
    }

    /// Its blocks: first and last address, and the tunnel endpoint they are behind.
    pub(crate) fn blocks(self) -> impl Iterator<Item = (u32, u32, Ipv4Addr)> {
        let [first, last, vtep] = [self.first, self.last, self.vtep].map(u32::from);
        let length = self.every.map_or(last - first, |every| every.get() - 1);
        let mut next = Some((first, vtep));
        std::iter::from_fn(move || {
            let (from, behind) = next?;
            let to = from.saturating_add(length).min(last);
            next = to.checked_add(1).filter(|&after| after <= last).map(|at| (at, behind + 1));
            Some((from, to, Ipv4Addr::from(behind)))
        })
    }
}

/// How many addresses are behind each of the tunnel endpoints that follow one another.
fn blocks(word: &str, first: Ipv4Addr, last: Ipv4Addr, vtep: Ipv4Addr) -> Result<NonZeroU32, Why> {
    const BLOCKS: Why = "a run is divided into whole blocks, each behind the next tunnel endpoint";
    /// More hosts than any pod has; a hostile line must not make work without end.
    const MOST: u64 = 1 << 16;
    let every = count(word)?;
    let addresses = u64::from(u32::from(last) - u32::from(first)) + 1;
    let blocks = addresses / u64::from(every.get());
    let whole = addresses.is_multiple_of(every.get().into());
    let fits = blocks <= MOST && u64::from(u32::from(vtep)) + blocks <= 1 << 32;
    if whole && fits { Ok(every) } else { Err(BLOCKS) }
}
