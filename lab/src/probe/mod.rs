//! Real packets between workloads: who reaches whom.

mod booth;
mod crowd;
mod packet;
mod pump;
mod through;

use agent::{Dropped, Family, ProbeWay};
use model::Name;
use serde::{Deserialize, Serialize};

use crate::LabTrouble;
use crate::lab::Lab;

pub use crowd::Crowd;

/// One question to the network.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Probe {
    /// Who sends.
    pub from: String,
    /// Who is meant.
    pub to: String,
    /// What is sent.
    pub way: ProbeWay,
    /// In which protocol.
    pub family: Family,
    /// Whether it must arrive and be answered; it must not arrive otherwise.
    pub expected: bool,
}

/// What the network answered.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Seen {
    /// The question.
    pub probe: Probe,
    /// Whether the one that was meant saw it.
    pub arrived: bool,
    /// Whether the one that asked saw the answer.
    pub answered: bool,
    /// Another one that saw it and must not have: some have the same address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub astray: Option<String>,
    /// Another one that got it and may: it has the address that was meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instead: Option<String>,
    /// Where it, or its answer, was dropped, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drops: Vec<DroppedAt>,
    /// Why an agent did not send it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsent: Option<String>,
}

/// A device that dropped a probe.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
pub struct DroppedAt {
    /// Which one.
    pub device: Name,
    /// Where there, and why.
    #[serde(flatten)]
    pub dropped: Dropped,
}

impl DroppedAt {
    fn of((device, dropped): &(Name, Dropped)) -> Self {
        Self { device: device.clone(), dropped: dropped.clone() }
    }
}

impl Seen {
    /// A question of which nothing was seen yet.
    fn nothing(probe: &Probe) -> Self {
        Self {
            probe: probe.clone(),
            arrived: false,
            answered: false,
            astray: None,
            instead: None,
            drops: Vec::new(),
            unsent: None,
        }
    }

    /// Whether the network did what it should. What was not asked was not shown.
    #[must_use]
    pub const fn is_right(&self) -> bool {
        match (&self.unsent, self.probe.expected) {
            (Some(_), _) => false,
            (None, true) => self.arrived && self.answered,
            (None, false) => !self.arrived && self.astray.is_none(),
        }
    }
}

impl Lab {
    /// Every question there is: from each workload to each other one, in every way, in both
    /// protocols.
    #[must_use]
    pub fn probes(&self) -> Vec<Probe> {
        self.crowd().probes(None)
    }

    /// Asks all of these, at once. The forbidden ones are given a second; the others as long as
    /// they need, up to a few.
    ///
    /// # Errors
    /// If a workload is not known or its namespace is gone.
    pub fn probe(&self, probes: &[Probe]) -> Result<Vec<Seen>, LabTrouble> {
        pump::ask(self, probes)
    }

    /// Lets the agents of the lab say where those of these questions were dropped that did not
    /// arrive, and why: the workloads themselves cannot know.
    ///
    /// # Errors
    /// If an agent takes no part.
    pub fn explain(&self, seen: &mut [Seen]) -> Result<(), LabTrouble> {
        let runtime = tokio::runtime::Runtime::new().map_err(failed)?;
        let handle = runtime.handle().clone();
        let agents = agent::Agents::open(&self.authority(), handle).map_err(failed)?;
        let silent: Vec<&mut Seen> = seen.iter_mut().filter(|seen| !seen.arrived).collect();
        let probes: Vec<Probe> = silent.iter().map(|seen| seen.probe.clone()).collect();
        let told = self.crowd().survey(&agents, &probes, &mut |_| {}).map_err(failed)?;
        for (seen, told) in silent.into_iter().zip(told) {
            seen.drops = told.drops;
            seen.instead = seen.instead.take().or(told.instead);
        }
        Ok(())
    }
}

fn failed(error: impl std::error::Error) -> LabTrouble {
    let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
    LabTrouble::Failed { program: "the agents".to_owned(), said: format!("{error}{cause}") }
}
