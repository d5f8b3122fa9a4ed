//! From a policy's text to the block of bytes that the packet program indexes.

mod block;
mod permits;
mod policy;
mod refusal;
mod runs;
mod seats;

use model::{Generation, Port};
use wire::Tables;

use block::Block;
use permits::Buckets;
use policy::Policy;
pub use refusal::TableRefusal;
use runs::Records;

/// What the packet program is given, and how much that is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Compiled {
    /// The block, laid out as the README of `wire` says.
    pub bytes: Vec<u8>,
    /// Addresses that have a record, in all spaces together.
    pub endpoints: u32,
    /// Those of them that are behind no port of this device.
    pub peers: u32,
    /// Tenants.
    pub spaces: u32,
    /// Ports of this device with an endpoint behind them.
    pub ports: u32,
    /// Services that one job offers another.
    pub permits: u32,
}

/// How much room a policy may take. The tables are shared by all tenants of a device, so that
/// each has a quota and none can take the room of the others.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Limits {
    /// Addresses of one tenant.
    pub records_per_space: u32,
    /// Permits of one tenant.
    pub permits_per_space: u32,
    /// The whole block.
    pub bytes: u32,
    /// Ports of this device.
    pub ports: u32,
    /// Jobs with endpoints on this device.
    pub jobs: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            records_per_space: 1 << 20,
            permits_per_space: 4096,
            bytes: 256 << 20,
            ports: 4096,
            jobs: 4095,
        }
    }
}

/// Compiles the text of a table artifact.
///
/// `interfaces` tells the kernel's number of a port, and `before` is the policy in force: what it
/// counts for a job or a port, this one counts on.
pub fn compile(
    text: &str,
    generation: Generation,
    interfaces: &dyn Fn(&Port) -> Option<u32>,
    before: Option<Tables<'_>>,
    limits: &Limits,
) -> Result<Compiled, TableRefusal> {
    let policy = Policy::read(text)?;
    let records = policy
        .spaces
        .iter()
        .map(|space| Records::of(space, limits.records_per_space))
        .collect::<Result<Vec<_>, _>>()?;
    let seats = seats::seated(&policy, interfaces, before, limits)?;
    let buckets = Buckets::of(&policy, limits.permits_per_space)?;

    // Each of these numbers is of things that stand in a block of at most 4 GiB.
    let ports = seats.len() as u32;
    let permits = buckets.permits.len() as u32;
    let block = Block { policy: &policy, generation, records, seats, buckets };
    let bytes = block.bytes(limits.bytes)?;
    let endpoints = block.records.iter().map(|records| records.count).sum();
    let spaces = policy.spaces.len() as u32;
    Ok(Compiled { bytes, endpoints, peers: endpoints - ports, spaces, ports, permits })
}
