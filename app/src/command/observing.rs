//! What commands share that judge what devices hold.

use agent::Reached;
use apply::{Devices, Standing};
use clap::{Args, ValueEnum};
use control::{Draft, Passage, answered};
use model::{Artifact, DeviceId, Dialect};
use observe::{Holds, Unreachable};

use super::ca::CaFolder;
use crate::ending::Stop;
use crate::state::State;

/// Whom to ask what is held.
#[derive(Args)]
pub(super) struct Observing {
    /// Which devices to ask what they hold [default: the simulated ones, if there are any below
    /// the state folder; otherwise agents, if there is an authority that knows them]
    #[arg(long, value_name = "DEVICES", value_enum)]
    from: Option<From>,
    #[command(flatten)]
    ca: CaFolder,
}

/// Which devices.
#[derive(Clone, Copy, Eq, PartialEq, ValueEnum)]
pub(super) enum From {
    /// The simulated devices below the state folder
    Sim,
    /// Real devices, each through its agent
    Agents,
}

/// What devices said.
pub(super) struct Answered {
    /// What those hold that answered.
    pub(super) artifacts: Vec<Artifact>,
    /// Who does not answer, and whether packets pass where the others are.
    pub(super) passage: Passage,
    /// Who was asked.
    pub(super) from: From,
}

impl From {
    /// Whether such a device that shall hold this text does hold it, by what it says.
    pub(super) fn is_same(self, dialect: Dialect, desired: &str, held: &str) -> bool {
        match self {
            Self::Sim => desired == held,
            Self::Agents => says_the_same(dialect, desired, held),
        }
    }
}

impl Observing {
    /// Whom, if there is anybody.
    pub(super) fn whom(&self, state: &State) -> Option<From> {
        match self.from {
            Some(From::Agents) => Some(From::Agents),
            _ if state.has_devices() => Some(From::Sim),
            None if self.ca.is_there() => Some(From::Agents),
            _ => None,
        }
    }

    /// Asks all devices what they hold, and whether packets pass.
    pub(super) fn ask(&self, draft: &Draft, state: &State) -> Result<Answered, Stop> {
        let fleet = &draft.intent.fleet;
        match self.whom(state) {
            Some(From::Sim) => {
                let devices = state.devices(fleet);
                let standings = fleet.devices().map(|device| (device, devices.standing(device)));
                Ok(Answered::of(draft, &devices, standings, From::Sim))
            }
            Some(From::Agents) => {
                let agents = self.ca.agents()?;
                let standings = Reached { fleet, agents: &agents }.standings();
                Ok(Answered::of(draft, &agents.look(fleet), standings, From::Agents))
            }
            None => Err(Stop::argument(
                "no-devices",
                format!("there are no simulated devices in {}", state.simulated().display()),
                "`--from agents` asks real devices, by the authority in `--ca DIR`; `bulkhead apply \
                 --to sim` has simulated ones hold something",
            )),
        }
    }

    /// The same, if anything was ever sent to anybody who can be asked.
    pub(super) fn ask_those_there(
        &self,
        draft: &Draft,
        state: &State,
    ) -> Result<Option<Answered>, Stop> {
        let is_there = self.whom(state).is_some() && !draft.state().desired().is_empty();
        is_there.then(|| self.ask(draft, state)).transpose()
    }
}

/// A real device says what it holds in its own order.
pub(super) fn says_the_same(dialect: Dialect, desired: &str, held: &str) -> bool {
    read::differences(dialect, desired, held).is_empty()
}

impl Answered {
    fn of(
        draft: &Draft,
        devices: &dyn Holds,
        standings: impl IntoIterator<Item = (DeviceId, Result<Option<Standing>, Unreachable>)>,
        from: From,
    ) -> Self {
        let (fleet, owners) = (&draft.intent.fleet, draft.owners());
        let (artifacts, _) = answered(fleet, devices);
        let passage = Passage::standing(fleet, &owners, draft.state(), standings);
        Self { artifacts, passage, from }
    }
}
