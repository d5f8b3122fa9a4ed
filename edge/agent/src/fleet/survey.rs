//! Probes between the ports of a fleet, through its agents.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read as _};
use std::thread;
use std::time::{Duration, Instant};

use model::Name;

use super::{Agents, understand};
use crate::line::TalkError;
use crate::message::{Answer, Request};
use crate::probe::{Dropped, Heard, ProbeRequest, Sounded, Sounding};

/// One agent sends so many for one word, so that one sees something move.
const AT_ONCE: usize = 512;
/// A probe of which nobody says anything is sent again so often: a device may drop more than it
/// tells, and a frame may be lost while its way is looked for.
const TRIES: usize = 3;
/// For so long a word about what was sent is waited for.
const PATIENCE: Duration = Duration::from_millis(1500);
/// Between two questions what was heard.
const PAUSE: Duration = Duration::from_millis(30);
/// When everything is accounted for: what a flood brought elsewhere comes a moment later.
const SETTLE: Duration = Duration::from_millis(200);

/// What became of a probe.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Fate {
    /// The devices and ports through which it left towards a workload.
    pub arrived: BTreeSet<(Name, String)>,
    /// The devices that dropped it, and why.
    pub dropped: BTreeSet<(Name, Dropped)>,
    /// Why it was not even sent.
    pub unsent: Option<String>,
}

/// Why a fleet cannot be asked.
#[derive(Debug, thiserror::Error)]
pub enum SurveyError {
    /// An agent does not take part, and its ports would look closed.
    #[error("{node} takes no part in the test")]
    Agent {
        /// Whose.
        node: Name,
        /// Why not.
        source: TalkError,
    },
    /// The machine gives us nothing to tell this run from others by.
    #[error("cannot read /dev/urandom")]
    Chance(#[from] io::Error),
}

impl Fate {
    /// Whether somebody said what became of it.
    #[must_use]
    pub fn is_known(&self) -> bool {
        !self.arrived.is_empty() || !self.dropped.is_empty() || self.unsent.is_some()
    }
}

impl Agents {
    /// Has agents send these, each as the workload behind its port, while all `listeners` hear; says
    /// of each what became of it. `progress` is told how many were sent.
    ///
    /// # Errors
    /// If an agent does not take part: nothing could be said about its ports.
    pub fn survey(
        &self,
        listeners: &BTreeSet<Name>,
        asks: &[(Name, ProbeRequest)],
        progress: &mut dyn FnMut(usize),
    ) -> Result<Vec<Fate>, SurveyError> {
        let survey = Survey { fleet: self, run: chance()?, listeners };
        let fates = survey.run(asks, progress);
        // Ears close by themselves as well, a little later.
        let _ = survey.all(|run| Sounding::End { run });
        fates
    }
}

struct Survey<'a> {
    fleet: &'a Agents,
    run: u64,
    listeners: &'a BTreeSet<Name>,
}

impl Survey<'_> {
    fn run(
        &self,
        asks: &[(Name, ProbeRequest)],
        progress: &mut dyn FnMut(usize),
    ) -> Result<Vec<Fate>, SurveyError> {
        // Everybody listens before the first one speaks.
        self.all(|run| Sounding::Listen { run })?;
        let mut fates = vec![Fate::default(); asks.len()];
        for attempt in 0..TRIES {
            let mut open: BTreeMap<&Name, Vec<u32>> = BTreeMap::new();
            for (number, (node, _)) in (0_u32..).zip(asks) {
                if !fates[number as usize].is_known() {
                    open.entry(node).or_default().push(number);
                }
            }
            let mut sent = 0;
            while !open.is_empty() {
                sent += self.send_some(&mut open, asks, &mut fates)?;
                if attempt == 0 {
                    progress(sent);
                }
            }
            if self.hear_all(&mut fates)? {
                break;
            }
        }
        thread::sleep(SETTLE);
        self.hear(&mut fates)?;
        Ok(fates)
    }

    /// Has each agent send a part of what is open; how many that were.
    fn send_some(
        &self,
        open: &mut BTreeMap<&Name, Vec<u32>>,
        asks: &[(Name, ProbeRequest)],
        fates: &mut [Fate],
    ) -> Result<usize, SurveyError> {
        let mut sent = 0;
        let mut words = Vec::new();
        for (node, numbers) in &mut *open {
            let some = numbers.split_off(numbers.len().saturating_sub(AT_ONCE));
            sent += some.len();
            let some = some.into_iter().map(|number| (number, asks[number as usize].1.clone()));
            let sounding = Sounding::Send { run: self.run, asks: some.collect() };
            words.push(((*node).clone(), sounding));
        }
        open.retain(|_, numbers| !numbers.is_empty());
        for (node, sounded) in self.ask(words)? {
            let Sounded::Sent { unsent } = sounded else { return Err(strange(node)) };
            for (number, why) in unsent {
                if let Some(fate) = fates.get_mut(number as usize) {
                    fate.unsent = Some(why);
                }
            }
        }
        self.hear(fates)?;
        Ok(sent)
    }

    /// Hears until everything is accounted for, or nothing more is said; whether everything is.
    fn hear_all(&self, fates: &mut [Fate]) -> Result<bool, SurveyError> {
        let mut until = Instant::now() + PATIENCE;
        loop {
            if self.hear(fates)? {
                until = Instant::now() + PATIENCE;
            }
            if fates.iter().all(Fate::is_known) {
                return Ok(true);
            }
            if Instant::now() >= until {
                return Ok(false);
            }
            thread::sleep(PAUSE);
        }
    }

    /// What all agents heard since; whether that was anything.
    fn hear(&self, fates: &mut [Fate]) -> Result<bool, SurveyError> {
        let mut is_new = false;
        for (node, sounded) in self.all(|run| Sounding::Heard { run })? {
            let Sounded::Heard(Heard { arrived, dropped }) = sounded else {
                return Err(strange(node));
            };
            is_new |= !arrived.is_empty() || !dropped.is_empty();
            for (number, port) in arrived {
                if let Some(fate) = fates.get_mut(number as usize) {
                    fate.arrived.insert((node.clone(), port));
                }
            }
            for (number, drop) in dropped {
                if let Some(fate) = fates.get_mut(number as usize) {
                    fate.dropped.insert((node.clone(), drop));
                }
            }
        }
        Ok(is_new)
    }

    fn all(
        &self,
        sounding: impl Fn(u64) -> Sounding,
    ) -> Result<BTreeMap<Name, Sounded>, SurveyError> {
        let words = self.listeners.iter().map(|node| (node.clone(), sounding(self.run)));
        self.ask(words.collect())
    }

    fn ask(&self, words: Vec<(Name, Sounding)>) -> Result<BTreeMap<Name, Sounded>, SurveyError> {
        let asks = words.into_iter().map(|(node, word)| (node, Request::Probe(word))).collect();
        let answers = understand(self.fleet.answers(asks), |answer| match answer {
            Answer::Probed(sounded) => Some(sounded),
            _ => None,
        });
        let answered = answers.into_iter().map(|(node, answer)| match answer {
            Ok(sounded) => Ok((node, sounded)),
            Err(source) => Err(SurveyError::Agent { node, source }),
        });
        answered.collect()
    }
}

fn strange(node: Name) -> SurveyError {
    SurveyError::Agent { node, source: super::strange() }
}

/// A number that no run before had.
fn chance() -> io::Result<u64> {
    let mut bytes = [0; 8];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(u64::from_ne_bytes(bytes))
}
