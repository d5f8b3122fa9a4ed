//! What the node holds otherwise than it was sent, and what is done about it.

use std::time::{Duration, Instant};

use apply::{Admitted, Gate, NodeError, OnDrift};
use model::Dialect;

use super::{GATHER, Keeper};
use crate::message::{Differing, Holding, News, Texts, differing};
use crate::record::now_ms;

/// A drift that stays is tried to be repaired again after so long, each time twice as long.
const FIRST_RETRY: Duration = Duration::from_secs(1);
const LAST_RETRY: Duration = Duration::from_secs(30);

/// What was seen last.
#[derive(Default)]
pub(super) struct Drift {
    pub(super) seen: Vec<Differing>,
    pub(super) trouble: Option<String>,
    /// The same drift is not tried again before.
    retry_at: Option<Instant>,
    retries: u32,
    is_blind: bool,
    told: Option<Holding>,
}

impl Keeper {
    /// Compares what the node holds with what it was sent, and acts as the policy says.
    pub(super) fn look(&mut self) {
        self.look_at = Instant::now() + self.terms.look_every;
        let held = match self.node.held() {
            Ok(held) => held,
            Err(error) => return self.blind(&error),
        };
        if std::mem::take(&mut self.drift.is_blind) {
            self.drift.trouble = None;
        }
        let Some(sent) = self.node.sent().cloned() else {
            return;
        };
        self.tell_held(&sent, &held);
        if self.gate == Gate::Fault {
            return self.finish(&sent);
        }
        let differences = self.differing(&sent, &held);
        if differences.is_empty() {
            return self.sound();
        }
        if differences != self.drift.seen {
            self.tell_drift(&sent, differences);
        } else if !self.is_time_to_retry() {
            return;
        }
        match self.record.on_drift {
            OnDrift::Alarm => {}
            OnDrift::Repair => self.repair(&sent),
            OnDrift::Quarantine => self.turn_gate(Gate::Quarantine),
        }
    }

    /// The node does not say what it holds: that is told once, and looked at again soon.
    pub(super) fn blind(&mut self, error: &NodeError) {
        let said = error.to_string();
        if !self.drift.is_blind {
            self.tell(News::ObservationFailed { at_ms: now_ms(), said: said.clone() });
        }
        self.drift.is_blind = true;
        self.drift.trouble = Some(said);
        self.look_at = Instant::now() + FIRST_RETRY / 2;
    }

    /// Tries again to hold what could not be held.
    fn finish(&mut self, sent: &Admitted) {
        match self.make(sent).and_then(|_| self.start_again(sent)) {
            Ok(()) => {
                self.drift = Drift::default();
                let is_over = self.lease_until <= Instant::now();
                self.turn_gate(if is_over { Gate::LeaseOver } else { Gate::Open });
                self.look_at = Instant::now() + GATHER;
            }
            Err(error) => self.fault(&error),
        }
    }

    /// Ports that wait for their start are down, and so are those that were just opened: that is as
    /// it should be. Whether the latter carry is looked at again.
    fn differing(&mut self, sent: &Admitted, held: &Texts) -> Vec<Differing> {
        let mut differences = differing(sent, held);
        let is_started = self.record.started == Some(sent.generation());
        if !is_started || Instant::now() < self.settle_until {
            let before = differences.len();
            forgive_waiting(&mut differences);
            if is_started && differences.len() < before {
                self.look_at = self.look_at.min(self.settle_until);
            }
        }
        differences
    }

    fn sound(&mut self) {
        if !self.drift.seen.is_empty() {
            self.tell(News::Repaired {
                at_ms: now_ms(),
                by_agent: false,
                left: Vec::new(),
                trouble: None,
            });
        }
        self.forget_drift();
    }

    fn tell_drift(&mut self, sent: &Admitted, differences: Vec<Differing>) {
        self.tell(News::Drift {
            generation: sent.generation(),
            at_ms: now_ms(),
            differences: differences.clone(),
            on_drift: self.record.on_drift,
        });
        self.drift.seen = differences;
        self.drift.retry_at = None;
        self.drift.retries = 0;
    }

    fn is_time_to_retry(&self) -> bool {
        self.drift.retry_at.is_some_and(|at| at <= Instant::now())
    }

    /// Holds again what was sent, and looks whether that helped. Ports that are down are only opened.
    fn repair(&mut self, sent: &Admitted) {
        let mut others = self.drift.seen.clone();
        forgive_waiting(&mut others);
        let made = if others.is_empty() { Ok(()) } else { self.make(sent).map(drop) };
        let mended = made.and_then(|()| self.start_again(sent));
        let held = mended.and_then(|()| self.node.held());
        let (left, trouble) = match held {
            Ok(held) => {
                self.tell_held(sent, &held);
                (self.differing(sent, &held), None)
            }
            Err(error) => (self.drift.seen.clone(), Some(error.to_string())),
        };
        self.tell(News::Repaired {
            at_ms: now_ms(),
            by_agent: true,
            left: left.clone(),
            trouble: trouble.clone(),
        });
        if left.is_empty() {
            self.forget_drift();
            return;
        }
        let wait = FIRST_RETRY * 2_u32.saturating_pow(self.drift.retries.min(5));
        let wait = wait.min(LAST_RETRY);
        self.drift.seen = left;
        self.drift.trouble = trouble;
        self.drift.retries += 1;
        self.drift.retry_at = Some(Instant::now() + wait);
        self.look_at = Instant::now() + wait;
    }

    fn forget_drift(&mut self) {
        self.drift.seen.clear();
        self.drift.trouble = None;
        self.drift.retry_at = None;
        self.drift.retries = 0;
    }

    fn tell_held(&mut self, sent: &Admitted, held: &Texts) {
        let holding = Holding { generation: Some(sent.generation()), texts: held.clone() };
        if self.drift.told.as_ref() != Some(&holding) {
            self.tell(News::Held(holding.clone()));
            self.drift.told = Some(holding);
        }
    }
}

/// Strikes out what is only a port that waits: `link …` is missing, and `link … down` is there. One
/// that nobody planned does not wait, though it is down.
fn forgive_waiting(differences: &mut Vec<Differing>) {
    let is_missed = |statement: &str| {
        differences.iter().any(|one| one.is_missing && one.statement == statement)
    };
    let waiting: Vec<String> = differences
        .iter()
        .filter(|one| one.dialect == Dialect::Linux && !one.is_missing)
        .filter(|one| one.statement.starts_with("link "))
        .filter_map(|one| one.statement.strip_suffix(" down"))
        .filter(|port| is_missed(port))
        .map(str::to_owned)
        .collect();
    differences.retain(|one| {
        let statement = one.statement.strip_suffix(" down").unwrap_or(&one.statement);
        one.dialect != Dialect::Linux || !waiting.iter().any(|port| port == statement)
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn differing(is_missing: bool, statement: &str) -> Differing {
        let (dialect, blocks, statement) = (Dialect::Linux, Vec::new(), statement.to_owned());
        Differing { dialect, is_missing, blocks, statement, line: 1 }
    }

    #[test]
    fn a_port_that_waits_is_forgiven_and_nothing_else_is() {
        let other = differing(false, "link swp6 master br2 mtu 9216 judged");
        let stray = differing(false, "link tun0 vrf t17 mtu 1500 down");
        let mut differences = vec![
            stray.clone(),
            differing(false, "link swp5 master br1 mtu 9216 judged down"),
            other.clone(),
            differing(true, "link swp5 master br1 mtu 9216 judged"),
        ];
        forgive_waiting(&mut differences);
        assert_eq!(differences, [stray, other]);
    }
}
