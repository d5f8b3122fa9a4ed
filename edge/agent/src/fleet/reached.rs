//! The devices of a fleet, as far as their agents reach.

use std::collections::BTreeSet;

use apply::{Devices, HoldTerms, Numbered, Offer, Order, Outcome, Receipt, Standing};
use model::{DeviceId, Dialect, Digest, Timestamp};
use observe::{Held, Holds, Unreachable};

use super::{Agents, done, holding, status, strange, unreachable};
use crate::line::TalkError;
use crate::message::{Answer, Request, Status};

/// What is not longer than this is sent as a whole: to ask first would take longer.
const AT_ONCE_BYTES: usize = 64 << 10;

/// A fleet whose devices are told and asked through their agents.
pub struct Reached<'a> {
    /// Who is who.
    pub fleet: &'a model::Fleet,
    /// Their agents.
    pub agents: &'a Agents,
}

impl Reached<'_> {
    /// What every device says of itself.
    #[must_use]
    pub fn standings(&self) -> Vec<(DeviceId, Result<Option<Standing>, Unreachable>)> {
        let asks = self.fleet.devices().map(|device| (device, Request::Status)).collect();
        let said = |(device, answer): (DeviceId, Result<Answer, TalkError>)| {
            let said = answer.and_then(|answer| status(answer).ok_or_else(strange));
            let said = said.map(|status| standing(&status));
            (device, said.map_err(|error| self.unreachable(device, error)))
        };
        self.ask(asks).into_iter().map(said).collect()
    }

    /// Asks each device its own question, many at once; the answers in the order of the questions.
    fn ask(&self, asks: Vec<(DeviceId, Request)>) -> Vec<(DeviceId, Result<Answer, TalkError>)> {
        let devices: Vec<DeviceId> = asks.iter().map(|(device, _)| *device).collect();
        let name = |device| self.fleet.device_name(device).clone();
        let asks = asks.into_iter().map(|(device, request)| (name(device), request)).collect();
        let mut answers = self.agents.answers(asks);
        let answer = |device| {
            let name = name(device);
            let answer = answers.remove(&name);
            (device, answer.unwrap_or(Err(TalkError::NotEnrolled(name))))
        };
        devices.into_iter().map(answer).collect()
    }

    fn receipts(&self, answers: Vec<(DeviceId, Result<Answer, TalkError>)>) -> Vec<Receipt> {
        let receipt = |(device, answer)| Receipt {
            device,
            outcome: outcome(answer).map_err(|error| self.unreachable(device, error)),
        };
        answers.into_iter().map(receipt).collect()
    }

    fn agree(
        &self,
        devices: &[Numbered],
        request: impl Fn(&Numbered) -> Request,
    ) -> Vec<(DeviceId, Result<(), Unreachable>)> {
        let asks = devices.iter().map(|numbered| (numbered.0, request(numbered))).collect();
        let agreed = |(device, answer): (DeviceId, Result<Answer, TalkError>)| {
            let agreed = answer.and_then(|answer| done(answer).ok_or_else(strange));
            (device, agreed.map_err(|error| self.unreachable(device, error)))
        };
        self.ask(asks).into_iter().map(agreed).collect()
    }

    fn unreachable(&self, device: DeviceId, error: TalkError) -> Unreachable {
        unreachable(self.fleet.device_name(device), error)
    }
}

impl Holds for Reached<'_> {
    fn held(&self, device: DeviceId, dialect: Dialect) -> Result<Option<Held>, Unreachable> {
        let name = self.fleet.device_name(device);
        let held = self.agents.ask_one(name, Request::Held, holding);
        Ok(held.map_err(|error| self.unreachable(device, error))?.in_dialect(dialect))
    }
}

impl Devices for Reached<'_> {
    /// What is large is named first, and only what a device lacks of it is sent.
    fn hold(&mut self, orders: &[Order], terms: &HoldTerms) -> Vec<Receipt> {
        let offer = |order: &Order| {
            let is_small = order.bytes() <= AT_ONCE_BYTES;
            (order.device(), hold(Offer::of(order, |_| is_small), terms))
        };
        let mut answers = self.ask(orders.iter().map(offer).collect());
        let lacking = answers.iter().zip(orders).filter_map(|((_, answer), order)| match answer {
            Ok(Answer::Lacks { parts }) => {
                let parts: BTreeSet<Digest> = parts.iter().copied().collect();
                Some((order.device(), hold(Offer::of(order, |part| parts.contains(&part)), terms)))
            }
            _ => None,
        });
        for (device, answer) in self.ask(lacking.collect()) {
            if let Some(first) = answers.iter_mut().find(|(asked, _)| *asked == device) {
                first.1 = answer;
            }
        }
        self.receipts(answers)
    }

    fn start(&mut self, orders: &[Order]) -> Vec<Receipt> {
        let start = |order: &Order| {
            let (epoch, generation) = (order.epoch(), order.generation());
            (order.device(), Request::Start { epoch, generation })
        };
        self.receipts(self.ask(orders.iter().map(start).collect()))
    }

    fn confirm(&mut self, devices: &[Numbered]) -> Vec<(DeviceId, Result<(), Unreachable>)> {
        self.agree(devices, |&(_, epoch, generation)| Request::Confirm { epoch, generation })
    }

    fn renew(&mut self, devices: &[Numbered]) -> Vec<(DeviceId, Result<(), Unreachable>)> {
        self.agree(devices, |&(_, epoch, generation)| Request::Renew { epoch, generation })
    }

    fn standing(&self, device: DeviceId) -> Result<Option<Standing>, Unreachable> {
        let name = self.fleet.device_name(device);
        let status = self.agents.ask_one(name, Request::Status, status);
        Ok(standing(&status.map_err(|error| self.unreachable(device, error))?))
    }
}

fn hold(offer: Offer, terms: &HoldTerms) -> Request {
    let within = terms.confirm_within.map(|within| within.as_millis());
    Request::Hold {
        offer,
        on_drift: terms.on_drift,
        confirm_within_ms: within.map(|ms| u64::try_from(ms).unwrap_or(u64::MAX)),
    }
}

/// A device that answers and does not do it refuses; only one that does not answer is not there.
fn outcome(answer: Result<Answer, TalkError>) -> Result<Outcome, TalkError> {
    match answer {
        Ok(Answer::Kept { changed }) if changed.is_empty() => Ok(Outcome::Unchanged),
        Ok(Answer::Kept { changed }) => Ok(Outcome::Held { changed }),
        Ok(Answer::Done) => Ok(Outcome::Held { changed: Vec::new() }),
        Ok(Answer::Stale { epoch, generation }) => Ok(Outcome::Stale { epoch, generation }),
        Ok(_) => Err(strange()),
        Err(TalkError::Failed { step, said }) => {
            Ok(Outcome::Refused { why: format!("{step} failed: {said}") })
        }
        Err(error) => Err(error),
    }
}

fn standing(status: &Status) -> Option<Standing> {
    let generation = status.generation?;
    Some(Standing {
        epoch: status.epoch,
        generation,
        digest: status.digest,
        started: status.started,
        on_trial: status.confirm_until_ms.is_some(),
        went_back_to: status.went_back_to,
        gate: status.gate,
        on_drift: status.on_drift,
        lease_until: Some(Timestamp(status.lease_until_ms)),
    })
}
