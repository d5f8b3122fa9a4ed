//! Whether packets of tenants pass at all, whatever the plan lets through.

use std::collections::BTreeSet;

use apply::{Gate, Standing, with_causes};
use model::{DeviceId, Fleet, Name, Owners, Timestamp};
use next::State;
use observe::Unreachable;
use serde::Serialize;

/// The gates of the devices that judge packets, and the devices that nothing is known of.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize)]
pub struct Passage {
    /// How many gates are open.
    pub open: usize,
    /// The gates that are closed: nobody there can meet anybody.
    pub closed: Vec<Closed>,
    /// The devices that do not answer.
    pub silent: Vec<Silent>,
    /// When the first lease ends of the gates that are open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

/// A gate that lets no packet of a tenant pass.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Closed {
    /// Whose.
    pub device: Name,
    /// Why.
    pub gate: Gate,
    /// When its lease ended, if that is why and it said so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
}

/// A device that does not answer.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Silent {
    /// Who.
    pub device: Name,
    /// What failed.
    pub why: String,
}

impl Passage {
    /// By what each device said of its gate and when its lease ends, or why it did not say anything.
    /// Where no endpoint is, no gate matters.
    pub fn of(
        fleet: &Fleet,
        owners: &Owners,
        said: impl IntoIterator<Item = (Name, Result<(Gate, Option<Timestamp>), String>)>,
    ) -> Self {
        let judging: BTreeSet<DeviceId> = owners.ports.keys().map(|(device, _)| *device).collect();
        let judging: BTreeSet<&Name> =
            judging.into_iter().map(|device| fleet.device_name(device)).collect();
        let mut passage = Self::default();
        for (device, said) in said {
            match said {
                Err(why) => passage.silent.push(Silent { device, why }),
                Ok(_) if !judging.contains(&device) => {}
                Ok((Gate::Open, until)) => {
                    passage.open += 1;
                    passage.until = passage.until.into_iter().chain(until).min();
                }
                Ok((gate, ended)) => {
                    let since = ended.filter(|_| gate == Gate::LeaseOver);
                    passage.closed.push(Closed { device, gate, since });
                }
            }
        }
        passage
    }

    /// By how the devices stand that the log says were sent something.
    pub fn standing(
        fleet: &Fleet,
        owners: &Owners,
        state: &State,
        standings: impl IntoIterator<Item = (DeviceId, Result<Option<Standing>, Unreachable>)>,
    ) -> Self {
        let said = standings.into_iter().filter_map(|(device, standing)| {
            let name = fleet.device_name(device);
            let said = |standing: Option<Standing>| {
                standing.map_or((Gate::Empty, None), |one| (one.gate, one.lease_until))
            };
            let said = standing.map(said).map_err(|error| with_causes(&error.source));
            state.desired().contains_key(name).then(|| (name.clone(), said))
        });
        Self::of(fleet, owners, said)
    }

    /// Whether everybody passes as the plan lets them, as far as all devices say.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.closed.is_empty() && self.silent.is_empty()
    }
}
