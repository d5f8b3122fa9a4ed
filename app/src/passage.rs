//! Whether packets pass, in words.

use std::io::{self, Write};

use apply::Gate;
use control::{Closed, Passage};
use model::Timestamp;

use crate::words::{BAD, DIM, NAME, NOTE, some};

/// More devices than this are for programs.
const MOST: usize = 6;

/// How a gate is, on a device.
pub(crate) const fn gate(gate: Gate) -> &'static str {
    match gate {
        Gate::Open => "open",
        Gate::Empty => "closed: nothing was sent",
        Gate::Told => "closed by the controller",
        Gate::Quarantine => "closed: in quarantine until something is applied",
        Gate::LeaseOver => "closed: the lease expired",
        Gate::Fault => "closed: it cannot hold what it was sent",
    }
}

/// `nobody can meet anybody: leases expired 3 min ago`; nothing if no gate is closed.
pub(crate) fn closed(passage: &Passage, now: Timestamp) -> Option<String> {
    let closed = &passage.closed;
    if closed.is_empty() {
        return None;
    }
    let is_everywhere = passage.open == 0 && passage.silent.is_empty();
    let names = |closed: &[&Closed]| some(closed.iter().map(|one| &one.device), MOST);
    let gates = [Gate::LeaseOver, Gate::Empty, Gate::Told, Gate::Quarantine, Gate::Fault];
    let why = gates.into_iter().filter_map(|gate| {
        let here: Vec<&Closed> = closed.iter().filter(|one| one.gate == gate).collect();
        let (first, names) = (here.first()?, names(&here));
        Some(match gate {
            Gate::LeaseOver if here.len() == closed.len() => {
                format!("leases expired{}", ago(first.since, now))
            }
            Gate::LeaseOver => format!("the lease of {names} expired{}", ago(first.since, now)),
            Gate::Empty => format!("nothing was sent to {names}"),
            Gate::Told => format!("the controller closed {names}"),
            Gate::Quarantine => format!("{names} in quarantine"),
            Gate::Open | Gate::Fault => format!("{names} cannot hold what was sent"),
        })
    });
    let why: Vec<String> = why.collect();
    let whom = if is_everywhere {
        "nobody can meet anybody".to_owned()
    } else {
        format!("nobody at {} can meet anybody", names(&closed.iter().collect::<Vec<_>>()))
    };
    Some(format!("{whom}: {}", why.join("; ")))
}

/// That gates are closed, if any are, and what opens them.
pub(crate) fn write_closed(
    passage: &Passage,
    now: Timestamp,
    out: &mut dyn Write,
) -> io::Result<()> {
    let Some(closed) = closed(passage, now) else { return Ok(()) };
    writeln!(out, "{NOTE}Closed{NOTE:#}: {closed}.")?;
    write_remedy(out)
}

/// What opens gates, and keeps them open.
pub(crate) fn write_remedy(out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{DIM}`bulkhead apply --to agents` opens them, `bulkhead watch` renews.{DIM:#}")
}

/// Who does not answer, and why.
pub(crate) fn write_silent(passage: &Passage, out: &mut dyn Write) -> io::Result<()> {
    for silent in &passage.silent {
        writeln!(out, "{BAD}silent{BAD:#}  {NAME}{}{NAME:#}: {}", silent.device, silent.why)?;
    }
    Ok(())
}

/// ` 3 min ago`, if it is known when.
fn ago(since: Option<Timestamp>, now: Timestamp) -> String {
    let Some(since) = since else { return String::new() };
    match now.0.saturating_sub(since.0) / 1000 {
        seconds @ 0..120 => format!(" {seconds} s ago"),
        seconds @ 120..7200 => format!(" {} min ago", seconds / 60),
        seconds => format!(" {} h ago", seconds / 3600),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a name that is none ends the test")]

    use super::*;

    #[test]
    fn a_closed_gate_is_told_with_its_reason_and_for_how_long() {
        let now = Timestamp(1_000_000_000);
        let shut = |device: &str, gate, seconds: u64| Closed {
            device: device.parse().unwrap(),
            gate,
            since: (seconds > 0).then(|| Timestamp(now.0 - seconds * 1000)),
        };
        let said = |open, closed| closed_words(open, closed, now);
        assert_eq!(said(2, vec![]), None);
        let leases = vec![shut("a", Gate::LeaseOver, 200), shut("b", Gate::LeaseOver, 190)];
        let told = "nobody can meet anybody: leases expired 3 min ago";
        assert_eq!(said(0, leases).as_deref(), Some(told));
        let two = vec![shut("a", Gate::LeaseOver, 9), shut("b", Gate::Told, 0)];
        let told = "nobody at a, b can meet anybody: the lease of a expired 9 s ago; the \
                    controller closed b";
        assert_eq!(said(1, two).as_deref(), Some(told));
    }

    fn closed_words(open: usize, closed: Vec<Closed>, now: Timestamp) -> Option<String> {
        super::closed(&Passage { open, closed, ..Passage::default() }, now)
    }
}
