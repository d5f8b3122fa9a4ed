//! Which records cannot have happened after those before them.

use ipnet::Ipv4Net;
use model::{Consent, Generation, JobName, Name, TenantName};

/// A record that cannot have happened after those before it: the log is not ours, or damaged.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[allow(missing_docs, reason = "each variant's sentence names its fields")]
pub enum Contradiction {
    #[error("something changed although no generation was open")]
    NotPlanned,
    #[error("generation {generation} was planned after generation {last}")]
    GenerationNotAfter { generation: Generation, last: Generation },
    #[error(
        "{device} was seen at generation {generation}, but the last that was planned is {last}"
    )]
    SeenBeforePlanned { device: Name, generation: Generation, last: Generation },
    #[error("tenant {0} got a number and had one")]
    TenantTwice(TenantName),
    #[error("tenant {tenant} got number {number}, which is leased or rests")]
    NumberTaken { tenant: TenantName, number: u16 },
    #[error("tenant {tenant} got number {number}, which is no tenant's number")]
    NotATenantNumber { tenant: TenantName, number: u16 },
    #[error("tenant {0} has no number")]
    TenantUnknown(TenantName),
    #[error("the tenant of job {0} was freed before the job")]
    TenantHasJobs(JobName),
    #[error("tenant {tenant} got number {number} back, which does not rest")]
    TenantNotResting { tenant: TenantName, number: u16 },
    #[error("job {job} got back what it had with tag {tag}, which does not rest")]
    JobNotResting { job: JobName, tag: u16 },
    #[error("job {0} was leased and is leased")]
    JobTwice(JobName),
    #[error("job {0} was leased without any interface or device")]
    NothingLeased(JobName),
    #[error("job {0} is not leased")]
    JobUnknown(JobName),
    #[error("job {0} was freed before its consents ended")]
    JobConsents(JobName),
    #[error("job {job} got tag {tag}, which is leased or rests")]
    TagTaken { job: JobName, tag: u16 },
    #[error("job {job} got partition key {pkey}, which is leased or rests")]
    PkeyTaken { job: JobName, pkey: u16 },
    #[error("job {job} got tag {tag}, which is no job's tag")]
    NotAJobTag { job: JobName, tag: u16 },
    #[error("job {job} got subnet {subnet}, which has no room for {endpoints} endpoints")]
    SubnetTooSmall { job: JobName, subnet: Ipv4Net, endpoints: usize },
    #[error("job {job} got subnet {subnet}, but {held} of the same tenant is leased or rests")]
    SubnetTaken { job: JobName, subnet: Ipv4Net, held: Ipv4Net },
    #[error("job {job} got VLAN {vlan} on {device}, which is leased or rests")]
    VlanTaken { job: JobName, device: Name, vlan: u16 },
    #[error("job {job} got interface {nic} of node {node}, which is leased or rests")]
    SeatTaken { job: JobName, node: Name, nic: u16 },
    #[error("{node} was scrubbed after job {job}, of which nothing waits for that")]
    ScrubUnasked { node: Name, job: JobName },
    #[error(
        "{node} was scrubbed after job {job} before every device was seen without the job: \
         whoever still holds it can write again"
    )]
    ScrubTooEarly { node: Name, job: JobName },
    #[error("{} and {} consented to {} a second time", .0.client, .0.provider, .0.service)]
    ConsentTwice(Consent),
    #[error("{} and {} had not consented to {}", .0.client, .0.provider, .0.service)]
    ConsentUnknown(Consent),
}
