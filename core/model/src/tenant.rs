//! What a tenant may hold, from whom it keeps apart, and what it is promised.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use ipnet::Ipv4Net;
use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use crate::words::words;
use crate::{Attestation, Confidential, Rate, TenantName};

/// Somebody whose things are kept apart from everybody else's.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Tenant {
    /// Its place in the tree.
    pub name: TenantName,
    /// What it may share with others.
    pub grade: Grade,
    /// Addresses its endpoints are numbered from; they may overlap other tenants'. A tenant with
    /// jobs has some, its own or those of the tenant above.
    pub pools: Vec<Ipv4Net>,
    /// The bandwidth it always has.
    pub guarantee: Option<Rate>,
    /// The bandwidth it never exceeds.
    pub ceiling: Option<Rate>,
    /// How many GPUs it and all below it may hold.
    pub quota_gpus: Option<u32>,
    /// How many of them in each class of capacity.
    pub quotas: Quotas,
    /// Whom its jobs keep away from.
    pub apart: Vec<Apart>,
    /// What it demands of a node's software.
    pub versions: VersionPolicy,
    /// Where its data may be; empty means anywhere.
    pub jurisdictions: Vec<SmolStr>,
    /// Groups of the identity provider whose members act for it.
    pub groups: Vec<SmolStr>,
    /// What keeps the host out of its jobs' memory, if it asks for that.
    pub confidential: Option<Confidential>,
    /// What it demands of the reports about its confidential machines, if it wants any.
    pub attestation: Option<Attestation>,
}

/// How many GPUs a tenant and all below it may hold in each class of capacity.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Quotas {
    /// What it bought. Nothing said is nothing bought.
    pub reserved: Option<u32>,
    /// What it may hold on demand; nothing said is no limit of its own.
    pub on_demand: Option<u32>,
    /// What it may hold as long as nobody else needs it; nothing said is no limit of its own.
    pub preemptible: Option<u32>,
}

/// A tenant that another one keeps away from.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Apart {
    /// Whom; also all below it.
    pub from: TenantName,
    /// What the two never share.
    pub level: ApartLevel,
}

/// What two tenants that keep away from each other never share, narrowest first.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ApartLevel {
    /// A machine.
    Node,
    /// The machines below a leaf switch.
    Leaf,
    /// A fabric domain.
    Pod,
    /// A site.
    Site,
}

words! {
    ApartLevel: "node" Node, "leaf" Leaf, "pod" Pod, "site" Site;
}

/// What a tenant may share with others, strictest first.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Grade {
    /// Nothing inside the fabric domain.
    Domain,
    /// The fabric; not the host.
    Node,
    /// The host through a VM; not the GPU.
    Gpu,
    /// The GPU through MIG or SR-IOV; timing can leak.
    Slice,
    /// Time slices, only with others who consented.
    Shared,
}

impl Grade {
    /// All grades, strictest first.
    pub const ALL: [Self; 5] = [Self::Domain, Self::Node, Self::Gpu, Self::Slice, Self::Shared];

    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Domain => "domain",
            Self::Node => "node",
            Self::Gpu => "gpu",
            Self::Slice => "slice",
            Self::Shared => "shared",
        }
    }
}

impl fmt::Display for Grade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Grade {
    type Err = NotAGrade;

    fn from_str(text: &str) -> Result<Self, NotAGrade> {
        Self::ALL.into_iter().find(|grade| grade.as_str() == text).ok_or(NotAGrade)
    }
}

/// The word is no grade.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct NotAGrade;

impl fmt::Display for NotAGrade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a grade is domain, node, gpu, slice or shared")
    }
}

impl std::error::Error for NotAGrade {}

/// The least versions a tenant accepts, by component (`driver`, `kernel`, `firmware`, `toolkit`),
/// and whether secure boot must be on.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct VersionPolicy {
    /// Component and the least version of it.
    pub at_least: BTreeMap<SmolStr, SmolStr>,
    /// Whether the node must have booted securely.
    pub secure_boot: bool,
}
