//! Where each permit stands.

use model::Protocol;
use wire::layout;

use super::Refusal;
use super::policy::{Permit, Policy, Space};

/// The permits of all spaces, and the number of buckets in which all of them have room.
pub(super) struct Buckets {
    /// In the order of spaces, tags and services, each once.
    pub(super) permits: Vec<wire::Permit>,
    /// The number of buckets less one.
    pub(super) mask: u32,
}

/// Permits are looked up in the cache line of their bucket or not at all, so the number of
/// buckets grows until none overflows. A set of permits that would need more than this has been
/// chosen to: it is refused before it takes the room of all.
const MOST_BUCKETS: u32 = 1 << 20;

impl Buckets {
    pub(super) fn of(policy: &Policy, allowed: u32) -> Result<Self, Refusal> {
        let (mut permits, mut said) = (Vec::new(), Vec::new());
        for (index, space) in (0..).zip(&policy.spaces) {
            for permit in of_space(space, allowed)? {
                permits.push(on_the_wire(index, &permit));
                said.push((space, permit));
            }
        }
        let mut buckets = (permits.len().div_ceil(layout::BUCKET) as u32).next_power_of_two();
        while let Some(homeless) = crowded(&permits, buckets - 1) {
            if buckets >= MOST_BUCKETS {
                let (space, Permit { client, provider, service, line }) = said[homeless];
                let space = space.name.clone();
                return Err(Refusal::Crowded { space, client, provider, service, line, buckets });
            }
            buckets *= 2;
        }
        Ok(Self { permits, mask: buckets - 1 })
    }

    /// How many buckets there are: none for no permits.
    pub(super) fn count(&self) -> u32 {
        if self.permits.is_empty() { 0 } else { self.mask + 1 }
    }
}

/// The permits of a space, each once: both jobs of a permit say it where both are.
fn of_space(space: &Space, allowed: u32) -> Result<Vec<Permit>, Refusal> {
    let mut permits = space.permits.clone();
    permits.sort_unstable();
    permits.dedup_by_key(|permit| (permit.client, permit.provider, permit.service));
    let has = permits.len() as u64;
    if has > u64::from(allowed) {
        return Err(Refusal::TooManyPermits { space: space.name.clone(), has, allowed });
    }
    Ok(permits)
}

fn on_the_wire(space: u32, permit: &Permit) -> wire::Permit {
    wire::Permit {
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
fn crowded(permits: &[wire::Permit], mask: u32) -> Option<usize> {
    let mut full = vec![0_u8; mask as usize + 1];
    permits.iter().position(|permit| {
        let bucket = &mut full[permit.bucket(mask) as usize];
        *bucket += 1;
        usize::from(*bucket) > layout::BUCKET
    })
}
