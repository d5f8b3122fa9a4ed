//! What is due at this moment, by what the records say.

use model::{Name, Timestamp};

use crate::state::State;

/// Something that must happen next.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Action {
    /// Take back what nobody confirmed in time.
    GoBack,
    /// Send these devices what they shall hold: nobody heard that they do, or that all others did.
    Send(Vec<Name>),
    /// Write down what follows from what is known already.
    Note(Vec<plan::Choice>),
}

/// Everything that is due at this moment. While a plan has to go back, nothing else is.
#[must_use]
pub fn due(state: &State, now: Timestamp) -> Vec<Action> {
    if state.trial().is_some_and(|trial| trial.until <= now) {
        return vec![Action::GoBack];
    }
    let unsent = state.desired().keys().filter(|device| !state.is_in_force(device));
    let unsent: Vec<Name> = unsent.cloned().collect();
    let seen = state.seen_unchanged();
    let send = (!unsent.is_empty()).then_some(Action::Send(unsent));
    let note = (!seen.is_empty()).then_some(Action::Note(seen));
    send.into_iter().chain(note).collect()
}
