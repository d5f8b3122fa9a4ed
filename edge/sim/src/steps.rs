//! The two steps of a change, as every simulated device takes them.

use std::io;

use apply::{Gate, HoldTerms, OnDrift, Order, Outcome, Standing};
use model::{Dialect, Epoch, Generation};

/// The standing of a device that was never sent anything.
pub(crate) const fn nothing() -> Standing {
    Standing {
        epoch: Epoch(0),
        generation: Generation(0),
        digest: None,
        started: false,
        on_trial: false,
        went_back_to: None,
        gate: Gate::Empty,
        on_drift: OnDrift::Repair,
        lease_until: None,
    }
}

/// How it stands when it holds this. What is the same as before needs no second start.
pub(crate) fn held(before: Option<&Standing>, order: &Order, terms: &HoldTerms) -> Standing {
    let is_started = |before: &Standing| before.started && before.digest == Some(order.digest());
    Standing {
        epoch: order.epoch(),
        generation: order.generation(),
        digest: Some(order.digest()),
        started: before.is_some_and(is_started),
        on_trial: terms.confirm_within.is_some(),
        went_back_to: None,
        gate: Gate::Open,
        on_drift: terms.on_drift,
        lease_until: None,
    }
}

/// How it stands when the ports of what it holds are open.
pub(crate) fn started(before: Option<&Standing>, order: &Order) -> io::Result<Standing> {
    insist(before, order.epoch(), order.generation())?;
    Ok(Standing { started: true, ..before.cloned().unwrap_or(nothing()) })
}

/// Whoever speaks of another number than the device's own is told so.
pub(crate) fn insist(
    own: Option<&Standing>,
    epoch: Epoch,
    generation: Generation,
) -> io::Result<()> {
    match own {
        Some(own) if (own.epoch, own.generation) == (epoch, generation) => Ok(()),
        Some(own) => Err(io::Error::other(format!(
            "it was sent generation {}, not {generation}",
            own.generation
        ))),
        None => Err(io::Error::other("it was never sent anything")),
    }
}

pub(crate) fn outcome(changed: Vec<Dialect>) -> Outcome {
    if changed.is_empty() { Outcome::Unchanged } else { Outcome::Held { changed } }
}
