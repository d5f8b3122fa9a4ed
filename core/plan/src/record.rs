//! Everything that can happen to the ledger, in names that outlive any list they stood in.

use ipnet::Ipv4Net;
use model::{
    Capacity, Consent, Evidence, Generation, Grade, JobName, Memory, Name, Rate, Service,
    TenantName, TrafficClass, Vlan,
};
use serde::{Deserialize, Serialize};
use wire::Tag;

use crate::place::FabricKeys;

/// One thing that happened, in names that outlive any list they stood in. What follows a
/// [`Choice::Planned`] belongs to its generation.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Choice {
    /// A new generation began.
    Planned {
        /// Which one.
        generation: Generation,
    },
    /// A tenant got its number.
    TenantLeased {
        /// The tenant.
        tenant: TenantName,
        /// Its number.
        number: u16,
    },
    /// A tenant gave its number up. The number rests.
    TenantFreed {
        /// The tenant.
        tenant: TenantName,
    },
    /// A job got everything it needs.
    JobLeased {
        /// The job.
        job: JobName,
        /// What it got.
        lease: Lease,
    },
    /// A job is treated in another way from now on, where it is.
    JobClassed {
        /// The job.
        job: JobName,
        /// How its packets are treated.
        class: TrafficClass,
        /// The bandwidth they never exceed; without it there is none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ceiling: Option<Rate>,
        /// Which part of its tenant's quota it uses.
        #[serde(default, skip_serializing_if = "is_on_demand")]
        capacity: Capacity,
    },
    /// A job gave everything up. All of it rests.
    JobFreed {
        /// The job.
        job: JobName,
    },
    /// A tenant that gave its number up has it again: what took it away was never confirmed.
    TenantRestored {
        /// The tenant.
        tenant: TenantName,
        /// The number it had then.
        number: u16,
    },
    /// A job has again what it gave up last: what took it away was never confirmed.
    JobRestored {
        /// The job.
        job: JobName,
        /// The tag it had then.
        #[serde(with = "as_number::tag")]
        tag: Tag,
    },
    /// Two jobs may meet at a service from now on.
    ConsentOpened {
        /// Who asks.
        client: JobName,
        /// Who answers.
        provider: JobName,
        /// At which service.
        service: Service,
    },
    /// Two jobs may no longer meet at a service.
    ConsentEnded {
        /// Who asked.
        client: JobName,
        /// Who answered.
        provider: JobName,
        /// At which service.
        service: Service,
    },
    /// The traces of a job were scrubbed on one of its nodes, after everybody was seen without it.
    Scrubbed {
        /// The node.
        node: Name,
        /// Whose traces.
        job: JobName,
        /// What was done and how anybody knows.
        evidence: Vec<Evidence>,
    },
    /// A device was seen to hold exactly what this generation gave it.
    Seen {
        /// The device.
        device: Name,
        /// The generation it holds.
        generation: Generation,
    },
}

/// What a job holds: one owner for each of these, until it is freed and seen gone.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lease {
    /// Its group tag, which its VNI, distinguishers and target are made of.
    #[serde(with = "as_number::tag")]
    pub tag: Tag,
    /// Its addresses.
    pub subnet: Ipv4Net,
    /// How its packets are treated.
    pub class: TrafficClass,
    /// The bandwidth it never exceeds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceiling: Option<Rate>,
    /// Which part of its tenant's quota it uses.
    #[serde(default, skip_serializing_if = "is_on_demand")]
    pub capacity: Capacity,
    /// The numbers that keep it apart on the fabrics of GPUs.
    #[serde(default, skip_serializing_if = "FabricKeys::is_none")]
    pub keys: FabricKeys,
    /// What its tenant shared with others when it was leased: this holds on while it rests.
    pub grade: Grade,
    /// How many GPUs are behind its interfaces. These count against the quota.
    pub gpus: u32,
    /// Its interfaces in the order of their addresses.
    pub seats: Vec<SeatAt>,
    /// The VLAN of its segment on each device that judges it, in the order of names.
    pub vlans: Vec<VlanAt>,
    /// The devices of other layers that hold something of it, in the order of names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub layers: Vec<Name>,
    /// What must be scrubbed on each of its nodes before anybody else gets them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scrub: Vec<Memory>,
}

/// One interface of one node, by name.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeatAt {
    /// The node.
    pub node: Name,
    /// Which of its interfaces, from 0.
    pub nic: u16,
}

/// The VLAN of a job's segment on one device.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VlanAt {
    /// The device.
    pub device: Name,
    /// The VLAN there.
    #[serde(with = "as_number::vlan")]
    pub vlan: Vlan,
}

impl Choice {
    pub(crate) fn opened(consent: &Consent) -> Self {
        Self::ConsentOpened {
            client: consent.client.clone(),
            provider: consent.provider.clone(),
            service: consent.service,
        }
    }

    pub(crate) fn ended(consent: &Consent) -> Self {
        Self::ConsentEnded {
            client: consent.client.clone(),
            provider: consent.provider.clone(),
            service: consent.service,
        }
    }
}

fn is_on_demand(capacity: &Capacity) -> bool {
    *capacity == Capacity::OnDemand
}

/// Numbers that cannot be wrong are written as plain numbers and checked when read.
mod as_number {
    macro_rules! as_number {
        ($name:ident, $number:ty) => {
            pub(crate) mod $name {
                use serde::de::Error;
                use serde::{Deserialize, Deserializer, Serializer};

                pub(crate) fn serialize<S: Serializer>(
                    number: &$number,
                    to: S,
                ) -> Result<S::Ok, S::Error> {
                    to.serialize_u16(number.get())
                }

                pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
                    from: D,
                ) -> Result<$number, D::Error> {
                    u16::deserialize(from)?.try_into().map_err(D::Error::custom)
                }
            }
        };
    }

    as_number!(tag, wire::Tag);
    as_number!(vlan, model::Vlan);
}
