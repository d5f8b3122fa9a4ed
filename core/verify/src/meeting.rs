//! Every place where endpoints touch, by the lines of all devices, and who is in it.

use std::collections::BTreeMap;

use model::{DeviceId, JobName, Service};
use wire::{Tag, Vni};

use crate::device::Rule;
use crate::finding::Endpoint;
use crate::verifier::Verifier;

/// A place where endpoints can touch.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Meeting {
    /// Where.
    pub ground: MeetingKind,
    /// Who.
    pub members: Vec<Endpoint>,
}

/// What kind of place it is.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum MeetingKind {
    /// A segment, and one of the tags in it. Untagged members have none.
    Segment {
        /// The segment.
        vni: Vni,
        /// The tag.
        tag: Option<Tag>,
    },
    /// A rule that lets two groups speak.
    Rule {
        /// Who asks.
        client: Tag,
        /// Who answers.
        provider: Tag,
        /// At which service.
        service: Service,
    },
}

impl Meeting {
    /// The jobs that take part.
    #[must_use]
    pub fn jobs(&self) -> Vec<&JobName> {
        let mut jobs: Vec<&JobName> =
            self.members.iter().filter_map(|member| member.owner.as_ref()).collect();
        jobs.sort();
        jobs.dedup();
        jobs
    }
}

impl Verifier {
    /// Every place where endpoints can touch, from the lines of all devices.
    #[must_use]
    pub fn meetings(&self) -> Vec<Meeting> {
        let mut meetings: BTreeMap<MeetingKind, Vec<Endpoint>> = BTreeMap::new();
        for (position, domains) in self.index.domains.iter().enumerate() {
            let facts = &self.world.devices[position];
            let device = DeviceId(u32::try_from(position).unwrap_or(u32::MAX));
            for (bridge, domain) in domains {
                let lines = facts.bridges.get(bridge);
                let Some(vni) = lines.and_then(|lines| lines.vni.first()) else { continue };
                for seat in &domain.seats {
                    let ground = MeetingKind::Segment { vni: *vni, tag: seat.tag };
                    let members = meetings.entry(ground).or_default();
                    members.push(self.endpoint(device, seat.port));
                }
            }
        }
        for rule in self.rules() {
            let Rule { client, provider, service } = rule;
            let members =
                meetings.entry(MeetingKind::Rule { client, provider, service }).or_default();
            for tag in [client, provider] {
                for key in self.index.tags.get(&tag).into_iter().flatten() {
                    let tagged = self.seats(key).filter(|seat| seat.tag == Some(tag));
                    members.extend(tagged.map(|seat| self.endpoint(key.0, seat.port)));
                }
            }
        }
        meetings
            .into_iter()
            .map(|(ground, mut members)| {
                members.sort();
                members.dedup();
                Meeting { ground, members }
            })
            .collect()
    }

    /// Every rule on any device.
    fn rules(&self) -> impl Iterator<Item = Rule> {
        self.world.devices.iter().flat_map(|facts| {
            let contracts = facts.vrfs.values().flat_map(|vrf| vrf.contracts.values());
            contracts.chain(facts.table.permits.values().flat_map(|lines| lines.values())).copied()
        })
    }
}
