//! A plan that must be confirmed, and what happens when nobody does.

use std::time::Duration;

use apply::{Admitted, Gate, NodeError};
use model::{Epoch, Generation};

use super::{Keeper, refused};
use crate::message::{Answer, News};
use crate::record::{Before, Span, Trial, now_ms};

impl Keeper {
    /// What one goes back to is what was last confirmed, not what was last tried.
    pub(super) fn trial(&self, generation: Generation, within: Duration) -> Trial {
        let before = match &self.record.trial {
            Some(trial) => trial.before.clone(),
            None => self.node.sent().map(|sent| Before::of(sent, &self.record)),
        };
        Trial { generation, time: Span::new(now_ms(), within), before }
    }

    pub(super) fn confirm(
        &mut self,
        epoch: Epoch,
        generation: Generation,
    ) -> Result<Answer, NodeError> {
        self.insist_on(epoch, generation, "confirm")?;
        if let Some(before) = self.record.went_back_to {
            let said = format!(
                "nobody confirmed generation {generation} in time, and it went back to the texts \
                 of {before}: apply again"
            );
            return Err(refused("confirm", &said));
        }
        self.grant_lease();
        self.record.trial = None;
        self.trial_until = None;
        self.save();
        Ok(Answer::Done)
    }

    /// Holds the texts of before under the number of the plan that nobody confirmed: an agent
    /// never invents a number that its controller does not know, and numbers never go back.
    pub(super) fn go_back(&mut self) {
        self.trial_until = None;
        let Some(Trial { generation: from, before, .. }) = self.record.trial.take() else {
            return;
        };
        let to = before.as_ref().map(|before| before.sent.generation());
        let went = match before {
            Some(before) => self.hold_again(from, before),
            None => {
                self.turn_gate(Gate::Empty);
                Ok(())
            }
        };
        let trouble = went.err().map(|error| {
            self.fault(&error);
            error.to_string()
        });
        self.tell(News::WentBack { from, to, trouble });
    }

    fn hold_again(&mut self, generation: Generation, before: Before) -> Result<(), NodeError> {
        self.record.went_back_to = Some(before.sent.generation());
        self.record.started = before.was_started.then_some(generation);
        // The trial stands on the disk until what it goes back to does.
        let epoch = self.node.sent().map_or(before.sent.epoch(), Admitted::epoch);
        let sent = before.sent.under(epoch, generation);
        let made = self.make(&sent).and_then(|_| self.start_again(&sent));
        self.save();
        made
    }
}
