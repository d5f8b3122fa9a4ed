//! Why there is no such plan.

use std::fmt;

use intent::Key;
use ipnet::Ipv4Net;
use model::{Capacity, Grade, Health, JobName, Memory, Name, SiteKind, TenantName, Within};
use smol_str::SmolStr;

use crate::promise::Overpromise;

/// Why there is no such plan: the constraint, the offenders and the figure.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[allow(missing_docs, reason = "each variant's sentence names its fields")]
pub enum PlanRefusal {
    // Who asks.
    #[error("job {job} is of tenant {}, which nobody described", job.tenant)]
    TenantUnknown { job: JobName },
    #[error("job {job} is in the plan already")]
    JobKnown { job: JobName },
    #[error("job {job} is not in the plan")]
    JobUnknown { job: JobName },
    #[error("job {job} asks for slices, whose network is not served yet")]
    SlicesUnserved { job: JobName },
    #[error("job {job} asks for nothing")]
    NothingAsked { job: JobName },
    #[error("job {job} asks for {asked} GPUs, but the quota of tenant {tenant} has {left} left")]
    OverQuota { job: JobName, tenant: TenantName, asked: u32, left: u32 },
    #[error("tenant {tenant} holds {held} GPUs, more than its quota of {quota}")]
    QuotaBelowUse { tenant: TenantName, quota: u32, held: u32 },

    #[error(
        "job {job} asks for {asked} {capacity} GPUs, but tenant {tenant} has {left} of that class \
         left"
    )]
    OverClassQuota { job: JobName, tenant: TenantName, capacity: Capacity, asked: u32, left: u32 },
    #[error(
        "job {job} asks for {asked} GPUs on demand, but {left} are left beside the {kept} that \
         others reserved and do not use"
    )]
    KeptForOthers { job: JobName, asked: u32, left: u32, kept: u64 },
    #[error("job {job} asks for {wanted} GPUs, more than the {most} of the largest gang")]
    TooLarge { job: JobName, wanted: u32, most: u32 },

    // Where it would run.
    #[error(
        "job {job} wants {wanted} in one pod, but {best}, the best it may use, has {left}: {by}"
    )]
    Bound { job: JobName, wanted: Amount, best: Name, left: u32, by: Binding },
    #[error(
        "job {job} wants {wanted} in one pod, but {largest}, the largest it may use, has {gpus} GPUs in all"
    )]
    BeyondPods { job: JobName, wanted: Amount, largest: Name, gpus: u64 },
    #[error(
        "job {job} wants {wanted} in one pod, but of the {free} GPUs that are free in {best}, the \
         best it may use, {fitting} are in nodes or sets that fit"
    )]
    Fragmented { job: JobName, wanted: Amount, best: Name, free: u64, fitting: u64 },
    #[error(
        "job {job} wants {wanted} in one {within}, but {best}, the best it may use, has room \
         for {room}"
    )]
    Scattered { job: JobName, wanted: Amount, within: Within, best: Name, room: u32 },
    #[error(
        "job {job} wants {wanted} GPUs, but boards can only be divided into sets of {}",
        list(sizes)
    )]
    Unsplittable { job: JobName, wanted: u32, sizes: Vec<u32> },
    #[error(
        "job {job} wants {wanted} GPUs in segments of {segment} nodes, but segments divide a gang \
         evenly and fit into an NVLink domain, the largest of which has {domain} nodes"
    )]
    SegmentUnfit { job: JobName, wanted: u32, segment: u32, domain: u32 },
    #[error("job {job} wants GPUs of product {product}, but the fleet has {}", list(known))]
    ProductAbsent { job: JobName, product: SmolStr, known: Vec<SmolStr> },
    #[error(
        "job {job} wants slices of profile {profile}, but where it may run GPUs can be cut into {}",
        profiles(known)
    )]
    ProfileAbsent { job: JobName, profile: SmolStr, known: Vec<SmolStr> },
    #[error("job {job} wants to be at a site of kind {site}, but may use none")]
    SiteAbsent { job: JobName, site: SiteKind },
    #[error("job {job} may not be in {place} together with tenant {other}: they stay apart")]
    ApartForbids { job: JobName, place: Name, other: TenantName },
    #[error("job {job} finds no pod: the fleet has none")]
    FleetEmpty { job: JobName },
    #[error("job {job} is pinned to pod {pod}, which the fleet does not have")]
    PodUnknown { job: JobName, pod: Name },
    #[error("job {job} names {node} in pod {pod}, but must stay inside pod {inside}")]
    OutsidePod { job: JobName, node: Name, pod: Name, inside: Name },
    #[error("job {job} names interface {nic} of node {node}, which the fleet does not have")]
    NicUnknown { job: JobName, node: Name, nic: u16 },
    #[error("job {job} names interface {nic} of node {node} twice")]
    NicTwice { job: JobName, node: Name, nic: u16 },
    #[error("job {job} wants interface {nic} of node {node}, which job {holder} holds")]
    NicTaken { job: JobName, node: Name, nic: u16, holder: JobName },
    #[error(
        "job {job} wants interface {nic} of node {node}, which rests: {} may still hold it",
        list(waits)
    )]
    NicResting { job: JobName, node: Name, nic: u16, waits: Vec<Name> },
    #[error(
        "job {job} wants interface {nic} of node {node}, where the traces of {left_by} were not \
         scrubbed: {}",
        list(memories)
    )]
    NicUnscrubbed { job: JobName, node: Name, nic: u16, left_by: JobName, memories: Vec<Memory> },
    #[error(
        "job {job} wants GPUs {} of node {node}, which no partition of its board joins",
        list(modules)
    )]
    NotJoinable { job: JobName, node: Name, modules: Vec<u32> },
    #[error("job {job} wants node {node}, whose health is {}", word_for(*health))]
    NotHealthy { job: JobName, node: Name, health: Health },
    #[error(
        "job {job} holds interface {nic} of node {node}, which the fleet does not have any more"
    )]
    NodeVanished { job: JobName, node: Name, nic: u16 },
    #[error(
        "job {job} (grade {grade}) may not share {place} with tenant {other} (grade {other_grade})"
    )]
    GradeForbids { job: JobName, grade: Grade, place: Name, other: TenantName, other_grade: Grade },
    #[error("job {job} may only be in {}, but site {site} is in {jurisdiction}", list(allowed))]
    JurisdictionForbids { job: JobName, site: Name, jurisdiction: SmolStr, allowed: Vec<SmolStr> },
    #[error("job {job} needs {component} {needs}, but node {node} has {has}")]
    VersionForbids { job: JobName, node: Name, component: SmolStr, needs: SmolStr, has: SmolStr },

    // What it would be called.
    #[error("job {job} finds no tag: all {limit} are leased, and {resting} of them rest")]
    TagsExhausted { job: JobName, limit: u32, resting: u32 },
    #[error("job {job} finds no partition key: all {limit} are held or rest")]
    PkeysExhausted { job: JobName, limit: u32 },
    #[error(
        "job {job} finds no memory channel: all {limit} of its NVLink domains are held or rest"
    )]
    ChannelsExhausted { job: JobName, limit: u32 },
    #[error("tenant {tenant} finds no number: all {limit} are leased, and {resting} of them rest")]
    TenantNumbersExhausted { tenant: TenantName, limit: u32, resting: u32 },
    #[error("job {job} finds no VLAN on {device}: all {limit} are leased or rest")]
    VlansExhausted { job: JobName, device: Name, limit: u32 },
    #[error(
        "job {job} needs a block of {endpoints} endpoints (/{prefix}), but the pools of tenant {} \
         ({}) have none free",
        job.tenant,
        list(pools)
    )]
    PoolExhausted { job: JobName, endpoints: u32, prefix: u8, pools: Vec<Ipv4Net> },
    #[error("job {job} would bring {leaf} to {would_be} selectors, more than its {limit}")]
    SelectorsExceeded { job: JobName, leaf: Name, limit: u32, would_be: u32 },

    // What it would be promised.
    #[error("job {job} would bring the guarantees at each uplink of {} to {by}", by.device)]
    GuaranteesExceeded { job: JobName, by: Overpromise },
    #[error("the guarantees at each uplink of {} are {by}", by.device)]
    GuaranteesAboveLink { by: Overpromise },

    // Whom it would meet.
    #[error(
        "{client} and {provider} consented to meet, but pool {client_pool} of the one tenant \
         overlaps pool {provider_pool} of the other, so routes between them would be ambiguous"
    )]
    PermitOverlap {
        client: JobName,
        provider: JobName,
        client_pool: Ipv4Net,
        provider_pool: Ipv4Net,
    },
    #[error(
        "{client} and {provider} consented to meet, but tenant {between} would import {pool} of \
         tenant {tenant} and {other_pool} of tenant {other}, which overlap"
    )]
    ImportOverlap {
        client: JobName,
        provider: JobName,
        between: TenantName,
        tenant: TenantName,
        pool: Ipv4Net,
        other: TenantName,
        other_pool: Ipv4Net,
    },
}

/// How much a job asks for.
#[derive(Clone, Debug, Eq, PartialEq)]
#[allow(missing_docs, reason = "the words are all there is to say")]
pub enum Amount {
    Gpus(u32),
    Slices { profile: SmolStr, count: u32 },
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gpus(1) => f.write_str("1 GPU"),
            Self::Gpus(gpus) => write!(f, "{gpus} GPUs"),
            Self::Slices { profile, count: 1 } => write!(f, "1 slice of {profile}"),
            Self::Slices { profile, count } => write!(f, "{count} slices of {profile}"),
        }
    }
}

/// What leaves too few GPUs, with the first offender.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[allow(missing_docs, reason = "each variant's sentence names its fields")]
pub enum Binding {
    #[error("the others are used, and {resting} of them rest")]
    Free { resting: u32 },
    #[error("node {node} takes no work ({})", word_for(*health))]
    Health { node: Name, health: Health },
    #[error("it needs {component} {needs}, but node {node} has {has}")]
    Versions { node: Name, component: SmolStr, needs: SmolStr, has: SmolStr },
    #[error("it (grade {grade}) may not share {place} with tenant {other} (grade {other_grade})")]
    Grade { grade: Grade, place: Name, other: TenantName, other_grade: Grade },
    #[error("it stays apart from tenant {other}, which is in {place}")]
    Apart { place: Name, other: TenantName },
}

impl PlanRefusal {
    /// The document that asks for what cannot be; none if it is no single one.
    #[must_use]
    pub fn key(&self) -> Option<Key> {
        match self {
            Self::TenantUnknown { job, .. }
            | Self::JobKnown { job, .. }
            | Self::JobUnknown { job, .. }
            | Self::SlicesUnserved { job, .. }
            | Self::NothingAsked { job, .. }
            | Self::OverQuota { job, .. }
            | Self::OverClassQuota { job, .. }
            | Self::KeptForOthers { job, .. }
            | Self::TooLarge { job, .. }
            | Self::Bound { job, .. }
            | Self::BeyondPods { job, .. }
            | Self::Fragmented { job, .. }
            | Self::Scattered { job, .. }
            | Self::Unsplittable { job, .. }
            | Self::SegmentUnfit { job, .. }
            | Self::ProductAbsent { job, .. }
            | Self::ProfileAbsent { job, .. }
            | Self::SiteAbsent { job, .. }
            | Self::ApartForbids { job, .. }
            | Self::FleetEmpty { job, .. }
            | Self::PodUnknown { job, .. }
            | Self::OutsidePod { job, .. }
            | Self::NicUnknown { job, .. }
            | Self::NicTwice { job, .. }
            | Self::NicTaken { job, .. }
            | Self::NicResting { job, .. }
            | Self::NicUnscrubbed { job, .. }
            | Self::NotJoinable { job, .. }
            | Self::NotHealthy { job, .. }
            | Self::NodeVanished { job, .. }
            | Self::GradeForbids { job, .. }
            | Self::JurisdictionForbids { job, .. }
            | Self::VersionForbids { job, .. }
            | Self::TagsExhausted { job, .. }
            | Self::PkeysExhausted { job, .. }
            | Self::ChannelsExhausted { job, .. }
            | Self::VlansExhausted { job, .. }
            | Self::PoolExhausted { job, .. }
            | Self::SelectorsExceeded { job, .. }
            | Self::GuaranteesExceeded { job, .. } => Some(Key::job(job)),
            Self::PermitOverlap { client, .. } | Self::ImportOverlap { client, .. } => {
                Some(Key::job(client))
            }
            Self::QuotaBelowUse { tenant, .. } | Self::TenantNumbersExhausted { tenant, .. } => {
                Some(Key::tenant(tenant))
            }
            Self::GuaranteesAboveLink { .. } => None,
        }
    }

    /// Whether it is only about what is left: then whatever else is refused may be its cause.
    #[must_use]
    pub const fn is_of_room(&self) -> bool {
        matches!(
            self,
            Self::OverQuota { .. }
                | Self::OverClassQuota { .. }
                | Self::KeptForOthers { .. }
                | Self::Bound { .. }
                | Self::Fragmented { .. }
                | Self::Scattered { .. }
                | Self::TagsExhausted { .. }
                | Self::PkeysExhausted { .. }
                | Self::ChannelsExhausted { .. }
                | Self::VlansExhausted { .. }
                | Self::PoolExhausted { .. }
                | Self::SelectorsExceeded { .. }
        )
    }

    /// A short name that stays the same when the sentence is improved.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::TenantUnknown { .. } => "tenant-unknown",
            Self::JobKnown { .. } => "job-known",
            Self::JobUnknown { .. } => "job-unknown",
            Self::SlicesUnserved { .. } => "slices-unserved",
            Self::NothingAsked { .. } => "nothing-asked",
            Self::OverQuota { .. } => "over-quota",
            Self::QuotaBelowUse { .. } => "quota-below-use",
            Self::OverClassQuota { .. } => "over-class-quota",
            Self::KeptForOthers { .. } => "kept-for-others",
            Self::TooLarge { .. } => "too-large",
            Self::Bound { by: Binding::Free { .. }, .. } => "no-room",
            Self::Bound { by: Binding::Health { .. }, .. } => "health-binds",
            Self::Bound { by: Binding::Versions { .. }, .. } => "versions-bind",
            Self::Bound { by: Binding::Grade { .. }, .. } => "grade-binds",
            Self::Bound { by: Binding::Apart { .. }, .. } => "apart-binds",
            Self::BeyondPods { .. } => "beyond-pods",
            Self::Fragmented { .. } => "fragmented",
            Self::Scattered { .. } => "scattered",
            Self::Unsplittable { .. } => "unsplittable",
            Self::SegmentUnfit { .. } => "segment-unfit",
            Self::ProductAbsent { .. } => "product-absent",
            Self::ProfileAbsent { .. } => "profile-absent",
            Self::SiteAbsent { .. } => "site-absent",
            Self::ApartForbids { .. } => "apart-forbids",
            Self::FleetEmpty { .. } => "fleet-empty",
            Self::PodUnknown { .. } => "pod-unknown",
            Self::OutsidePod { .. } => "outside-pod",
            Self::NicUnknown { .. } => "nic-unknown",
            Self::NicTwice { .. } => "nic-twice",
            Self::NicTaken { .. } => "nic-taken",
            Self::NicResting { .. } => "nic-resting",
            Self::NicUnscrubbed { .. } => "nic-unscrubbed",
            Self::NotJoinable { .. } => "not-joinable",
            Self::NotHealthy { .. } => "not-healthy",
            Self::NodeVanished { .. } => "node-vanished",
            Self::GradeForbids { .. } => "grade-forbids",
            Self::JurisdictionForbids { .. } => "jurisdiction-forbids",
            Self::VersionForbids { .. } => "version-forbids",
            Self::TagsExhausted { .. } => "tags-exhausted",
            Self::PkeysExhausted { .. } => "pkeys-exhausted",
            Self::ChannelsExhausted { .. } => "channels-exhausted",
            Self::TenantNumbersExhausted { .. } => "tenant-numbers-exhausted",
            Self::VlansExhausted { .. } => "vlans-exhausted",
            Self::PoolExhausted { .. } => "pool-exhausted",
            Self::SelectorsExceeded { .. } => "selectors-exceeded",
            Self::GuaranteesExceeded { .. } => "guarantees-exceeded",
            Self::GuaranteesAboveLink { .. } => "guarantees-above-link",
            Self::PermitOverlap { .. } => "permit-overlap",
            Self::ImportOverlap { .. } => "import-overlap",
        }
    }

    /// What would help.
    #[must_use]
    pub fn remedy(&self) -> String {
        match self {
            Self::TenantUnknown { job } => format!("write a Tenant document for {}", job.tenant),
            Self::JobKnown { .. } => "give the job another name, or release the old one".into(),
            Self::JobUnknown { .. } => "look at the names of the jobs in the plan".into(),
            Self::SlicesUnserved { .. } => "ask for whole GPUs".into(),
            Self::NothingAsked { .. } => "ask for at least one GPU or one endpoint".into(),
            Self::OverQuota { tenant, .. } => {
                format!("ask for less, delete a job, or raise the quota of {tenant}")
            }
            Self::QuotaBelowUse { tenant, .. } => {
                format!("delete jobs of {tenant}, or raise its quota")
            }
            Self::OverClassQuota { tenant, capacity, .. } => format!(
                "ask for less or for another class, delete a job, or raise the {capacity} quota of \
                 {tenant}"
            ),
            Self::KeptForOthers { .. } => {
                "ask for less, ask as preemptible, or reserve the GPUs".into()
            }
            Self::TooLarge { most, .. } => format!("divide the job into parts of at most {most}"),
            Self::Bound { by, .. } => by.remedy(),
            Self::BeyondPods { .. } => "divide the job, or build a larger pod".into(),
            Self::Fragmented { .. } | Self::Scattered { within: Within::Pod, .. } => {
                "ask for less, or see what `defrag` would move".into()
            }
            Self::Scattered { .. } => {
                "ask for less, allow a wider level, or see what `defrag` would move".into()
            }
            Self::Unsplittable { .. } => {
                "ask for one of these, or for whole nodes and one of these".into()
            }
            Self::SegmentUnfit { .. } => {
                "choose a segment that an NVLink domain holds and that divides the gang's nodes"
                    .into()
            }
            Self::ProfileAbsent { known, .. } if known.is_empty() => {
                "give the interfaces of these nodes `vfs`, eight for each GPU, or ask for whole GPUs"
                    .into()
            }
            Self::ProductAbsent { .. } | Self::ProfileAbsent { .. } => {
                "name one of these, or none".into()
            }
            Self::SiteAbsent { .. } => "choose the other kind of site, or none".into(),
            Self::ApartForbids { other, .. } => {
                format!("name places that {other} does not use, or let the two come nearer")
            }
            Self::FleetEmpty { .. } => "describe pods and nodes in the Fleet document".into(),
            Self::PodUnknown { .. } => "name a pod of the fleet, or none".into(),
            Self::OutsidePod { inside, .. } => format!("name only nodes in pod {inside}"),
            Self::NicUnknown { .. } => "name an interface that the fleet has".into(),
            Self::NicTwice { .. } => "name every interface once".into(),
            Self::NicTaken { holder, .. } => format!("name another interface, or delete {holder}"),
            Self::NicResting { waits, .. } => {
                format!("apply the last plan to {}, then plan again", list(waits))
            }
            Self::NotJoinable { .. } => {
                "name the interfaces of a set that the board has, or ask for so many GPUs".into()
            }
            Self::NicUnscrubbed { node, .. } => {
                format!("scrub {node} and write the evidence down, or name another interface")
            }
            Self::NotHealthy { .. } => "name a node whose health is good".into(),
            Self::NodeVanished { job, node, .. } => {
                format!("put {node} back into the fleet as failed, or delete {job}")
            }
            Self::GradeForbids { .. } => {
                "name places that nobody else uses, or loosen the stricter of the two grades".into()
            }
            Self::JurisdictionForbids { .. } => {
                "choose a site in an allowed jurisdiction, or allow this one".into()
            }
            Self::VersionForbids { node, component, .. } => {
                format!("bring {component} of {node} up to date, or choose another node")
            }
            Self::TagsExhausted { .. }
            | Self::PkeysExhausted { .. }
            | Self::ChannelsExhausted { .. }
            | Self::TenantNumbersExhausted { .. } => {
                "apply the last plan, so that resting numbers become free, or delete a job".into()
            }
            Self::VlansExhausted { device, .. } => {
                format!("apply the last plan to {device}, or delete a job there")
            }
            Self::PoolExhausted { job, .. } => format!("give tenant {} another pool", job.tenant),
            Self::SelectorsExceeded { leaf, .. } => {
                format!("move endpoints to another leaf than {leaf}")
            }
            Self::GuaranteesExceeded { by, .. } => format!(
                "lower a guarantee, or keep one of these tenants away from {} (`apartFrom`)",
                by.device
            ),
            Self::GuaranteesAboveLink { by } => {
                format!("lower a guarantee, or delete the jobs of one of these tenants on {}", by.device)
            }
            Self::PermitOverlap { client, .. } => format!(
                "give tenant {} a pool that does not overlap, or withdraw the permit",
                client.tenant
            ),
            Self::ImportOverlap { tenant, .. } => {
                format!("give tenant {tenant} a pool that does not overlap, or withdraw a permit")
            }
        }
    }
}

impl Binding {
    fn remedy(&self) -> String {
        match self {
            Self::Free { resting: 0 } => {
                "ask for less, delete a job in that pod, or add nodes".into()
            }
            Self::Free { .. } => {
                "apply the last plan to the devices that the resting GPUs wait for, or ask for less"
                    .into()
            }
            Self::Health { node, .. } => format!("repair {node} and others, or ask for less"),
            Self::Versions { node, component, .. } => {
                format!("bring {component} of {node} and others up to date, or ask for less")
            }
            Self::Grade { .. } => {
                "wait until they are gone, ask for less, or loosen the stricter of the two grades"
                    .into()
            }
            Self::Apart { other, .. } => {
                format!("wait until {other} is gone, ask for less, or let the two come nearer")
            }
        }
    }
}

fn list<T: ToString>(items: &[T]) -> String {
    let items: Vec<String> = items.iter().map(T::to_string).collect();
    items.join(", ")
}

/// A slice needs a virtual function, and a GPU that can be cut.
fn profiles(known: &[SmolStr]) -> String {
    if known.is_empty() { "none that an interface has functions for".into() } else { list(known) }
}

pub(crate) const fn word_for(health: Health) -> &'static str {
    match health {
        Health::Good => "good",
        Health::Draining => "draining",
        Health::Failed => "failed",
    }
}
