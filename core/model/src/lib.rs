//! What are things called, and what exists?
//!
//! Takes: nothing. Gives: names, numbers, the fleet, tenants, jobs and artifacts.
//! Never: behaves.

pub mod admission;
mod artifact;
mod attest;
mod board;
mod digest;
mod fleet;
mod job;
mod layers;
mod mig;
mod names;
pub mod numbering;
mod numbers;
mod owners;
mod pci;
mod scrub;
mod tenant;
mod terms;
mod time;
mod version;
mod waiver;
mod words;

pub use artifact::{Artifact, Dialect, Epoch, Generation, Part, PartText};
pub use attest::{Attestation, Measurement, NotAMeasurement};
pub use board::BoardPartition;
pub use digest::{Digest, NotADigest};
pub use fleet::{
    DeviceAt, DeviceId, Enforcement, Fleet, GpuModel, Health, Link, LinkEnd, Nic, Node, NodeId,
    NodeModel, NodeModelId, Pod, PodId, Site, SiteId, SiteKind, Switch, SwitchDialect, SwitchId,
    SwitchRole, Uplink, Versions, Vtep,
};
pub use job::{Job, NicRef, NotATrafficClass, Permit, Protocol, Service, Side, TrafficClass, Want};
pub use layers::{
    API_GROUP, Component, Confidential, Labels, Layers, Manager, ManagerKind, PciLayout, Runtime,
    STORAGE_BYTES_PER_GPU,
};
pub use mig::{MigProfile, mig_profiles};
pub use names::{JobName, Name, NotAName, TenantName, VrfName};
pub use numbers::{
    Asn, NotAPort, NotARate, NotARouteTarget, NotAVlan, NotAnRd, Port, Rate, RouteDistinguisher,
    RouteTarget, Vlan,
};
pub use owners::{Consent, Owners, Promise, Queue, Rates, Share, Treatment, Trust};
pub use pci::{Guid, NotAGuid, NotAPciAddress, PciAddress};
pub use scrub::{Evidence, Memory, Past, Untimely};
pub use tenant::{Apart, ApartLevel, Grade, NotAGrade, Quotas, Tenant, VersionPolicy};
pub use terms::{Capacity, Preempts, Terms, Within};
pub use time::Timestamp;
pub use version::compare_versions;
pub use waiver::{Day, NotADay, Waiver};
pub use words::NotAWord;
