use ipnet::Ipv4Net;
use model::{Grade, Health, JobName, Name, TenantName};
use smol_str::SmolStr;

/// Why there is no such plan: the constraint, the offenders and the figure.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[allow(missing_docs, reason = "each variant's sentence names its fields")]
pub enum Refusal {
    // Who asks.
    #[error("job {job} is of tenant {}, which nobody described", job.tenant)]
    TenantUnknown { job: JobName },
    #[error("job {job} is in the plan already")]
    JobKnown { job: JobName },
    #[error("job {job} is not in the plan")]
    JobUnknown { job: JobName },
    #[error("job {job} asks for nothing")]
    NothingAsked { job: JobName },
    #[error("job {job} asks for {asked} GPUs, but the quota of tenant {tenant} has {left} left")]
    OverQuota { job: JobName, tenant: TenantName, asked: u32, left: u32 },
    #[error("tenant {tenant} holds {held} GPUs, more than its quota of {quota}")]
    QuotaBelowUse { tenant: TenantName, quota: u32, held: u32 },

    // Where it would run.
    #[error(
        "job {job} wants {wanted} GPUs in one pod, but {best}, the best it may use, lacks {short} \
         ({resting} rest there)"
    )]
    NoRoom { job: JobName, wanted: u32, best: Name, short: u32, resting: u32 },
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

impl Refusal {
    /// A short name that stays the same when the sentence is improved.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::TenantUnknown { .. } => "tenant-unknown",
            Self::JobKnown { .. } => "job-known",
            Self::JobUnknown { .. } => "job-unknown",
            Self::NothingAsked { .. } => "nothing-asked",
            Self::OverQuota { .. } => "over-quota",
            Self::QuotaBelowUse { .. } => "quota-below-use",
            Self::NoRoom { .. } => "no-room",
            Self::FleetEmpty { .. } => "fleet-empty",
            Self::PodUnknown { .. } => "pod-unknown",
            Self::OutsidePod { .. } => "outside-pod",
            Self::NicUnknown { .. } => "nic-unknown",
            Self::NicTwice { .. } => "nic-twice",
            Self::NicTaken { .. } => "nic-taken",
            Self::NicResting { .. } => "nic-resting",
            Self::NotHealthy { .. } => "not-healthy",
            Self::NodeVanished { .. } => "node-vanished",
            Self::GradeForbids { .. } => "grade-forbids",
            Self::JurisdictionForbids { .. } => "jurisdiction-forbids",
            Self::VersionForbids { .. } => "version-forbids",
            Self::TagsExhausted { .. } => "tags-exhausted",
            Self::TenantNumbersExhausted { .. } => "tenant-numbers-exhausted",
            Self::VlansExhausted { .. } => "vlans-exhausted",
            Self::PoolExhausted { .. } => "pool-exhausted",
            Self::SelectorsExceeded { .. } => "selectors-exceeded",
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
            Self::NothingAsked { .. } => "ask for at least one GPU or one endpoint".into(),
            Self::OverQuota { tenant, .. } => {
                format!("ask for less, delete a job, or raise the quota of {tenant}")
            }
            Self::QuotaBelowUse { tenant, .. } => {
                format!("delete jobs of {tenant}, or raise its quota")
            }
            Self::NoRoom { resting: 0, .. } => {
                "ask for less, delete a job in that pod, or add nodes".into()
            }
            Self::NoRoom { .. } => {
                "apply the last plan to the devices that the resting GPUs wait for, or ask for less"
                    .into()
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
            Self::TagsExhausted { .. } | Self::TenantNumbersExhausted { .. } => {
                "apply the last plan, so that resting numbers become free, or delete a job".into()
            }
            Self::VlansExhausted { device, .. } => {
                format!("apply the last plan to {device}, or delete a job there")
            }
            Self::PoolExhausted { job, .. } => format!("give tenant {} another pool", job.tenant),
            Self::SelectorsExceeded { leaf, .. } => {
                format!("move endpoints to another leaf than {leaf}")
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

fn list<T: ToString>(items: &[T]) -> String {
    let items: Vec<String> = items.iter().map(T::to_string).collect();
    items.join(", ")
}

const fn word_for(health: Health) -> &'static str {
    match health {
        Health::Good => "good",
        Health::Draining => "draining",
        Health::Failed => "failed",
    }
}
