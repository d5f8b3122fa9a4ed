//! Where each permit stands.

use model::Protocol;
use wire::layout;

use super::TableRefusal;
use super::policy::{Permit, Policy, Space};

/// The permits of all spaces, and the buckets in which all of them have room.
pub(super) struct Buckets {
    /// In the order of spaces, tags and services, each once.
    pub(super) permits: Vec<wire::TablePermit>,
    /// The number of buckets less one.
    pub(super) mask: u32,
    /// The seed with which none of them overflows.
    pub(super) seed: u32,
}

/// Permits are looked up in the cache line of their bucket or not at all: seeds are tried, and then
/// more buckets, until none overflows. Tenants choose services, and could choose such as share a
/// bucket; but not with every seed.
const SEEDS: u32 = 16;
const MOST_BUCKETS: u32 = 1 << 18;

impl Buckets {
    pub(super) fn of(policy: &Policy, allowed: u32) -> Result<Self, TableRefusal> {
        let (mut permits, mut said) = (Vec::new(), Vec::new());
        for (index, space) in (0..).zip(&policy.spaces) {
            for permit in of_space(space, allowed)? {
                permits.push(on_the_wire(index, &permit));
                said.push((space, permit));
            }
        }
        let mut buckets = (permits.len().div_ceil(layout::BUCKET) as u32).next_power_of_two();
        loop {
            let mask = buckets - 1;
            let mut homeless = 0;
            for seed in 0..SEEDS {
                match crowded(&permits, mask, seed) {
                    None => return Ok(Self { permits, mask, seed }),
                    Some(permit) => homeless = permit,
                }
            }
            if buckets >= MOST_BUCKETS {
                let (space, Permit { client, provider, service, line }) = said[homeless];
                let space = space.name.clone();
                return Err(TableRefusal::Crowded {
                    space,
                    client,
                    provider,
                    service,
                    line,
                    buckets,
                });
            }
            buckets *= 2;
        }
    }

    /// How many buckets there are: none for no permits.
    pub(super) fn count(&self) -> u32 {
        if self.permits.is_empty() { 0 } else { self.mask + 1 }
    }
}

/// The permits of a space, each once: both jobs of a permit say it where both are.
fn of_space(space: &Space, allowed: u32) -> Result<Vec<Permit>, TableRefusal> {
    let mut permits = space.permits.clone();
    permits.sort_unstable();
    permits.dedup_by_key(|permit| (permit.client, permit.provider, permit.service));
    let has = permits.len() as u64;
    if has > u64::from(allowed) {
        return Err(TableRefusal::TooManyPermits { space: space.name.clone(), has, allowed });
    }
    Ok(permits)
}

fn on_the_wire(space: u32, permit: &Permit) -> wire::TablePermit {
    wire::TablePermit {
        space,
        client: permit.client.get(),
        provider: permit.provider.get(),
        port: permit.service.port,
        protocol: match permit.service.protocol {
            Protocol::Tcp => 6,
            Protocol::Udp => 17,
        },
    }
}

/// The first permit that finds its bucket full.
fn crowded(permits: &[wire::TablePermit], mask: u32, seed: u32) -> Option<usize> {
    let mut full = vec![0_u8; mask as usize + 1];
    permits.iter().position(|permit| {
        let bucket = &mut full[permit.bucket(mask, seed) as usize];
        *bucket += 1;
        usize::from(*bucket) > layout::BUCKET
    })
}
