//! What packets pay: through the tagged overlay with the filter, without it, and with nftables.

mod flow;
mod judge;

use std::thread;
use std::time::Duration;

use ::lab::{Lab, Workload};
use flow::{Ends, Figures};
use judge::{Judge, Judges};

use super::Part;
use super::report::{Report, Unit, median, row};
use crate::ending::Stop;
use crate::words::{DIM, aside};

/// Each judge has so many turns, in which a busy machine is busy for all.
const ROUNDS: usize = 3;
/// What a change of judges sets in motion ends before packets are counted.
const PAUSE: Duration = Duration::from_millis(500);

/// There is nobody to send.
#[derive(Debug, thiserror::Error)]
#[error("the lab has no job with workloads on two leaves")]
struct Nobody;

pub(super) fn measure(lab: &Lab, report: &mut Report) -> Result<(), Stop> {
    let (one, other) = pair(lab).ok_or(Nobody)?;
    let mut judges = Judges::over(lab, [one, other])?;
    let mut rounds = Vec::new();
    for round in 1..=ROUNDS {
        aside(format_args!("{DIM}  round {round} of {ROUNDS}{DIM:#}"));
        let mut figures = Vec::new();
        for judge in Judge::ALL {
            judges.appoint(judge)?;
            thread::sleep(PAUSE);
            figures.push(Ends::open(lab, one, other)?.measure()?);
        }
        rounds.push(figures);
    }
    judges.appoint(Judge::Filter)?;
    write_down(&rounds, report);
    Ok(())
}

/// Two workloads of one job on different leaves.
fn pair(lab: &Lab) -> Option<(&Workload, &Workload)> {
    let all = lab.workloads();
    let partner = |one: &Workload| {
        all.iter().find(|other| other.job == one.job && other.device != one.device)
    };
    all.iter().find_map(|one| Some((one, partner(one)?)))
}

/// What is told: its name, its unit, and where it stands.
type What = (&'static str, Unit, fn(&Figures) -> f64);
const WHATS: [What; 4] = [
    ("TCP", Unit::Gigabits, |figures| figures.tcp_gigabits),
    ("UDP of 64 bytes", Unit::Packets, |figures| figures.udp_packets),
    ("there and back, p50", Unit::Microseconds, |figures| figures.there_and_back_us[0]),
    ("there and back, p99", Unit::Microseconds, |figures| figures.there_and_back_us[1]),
];

/// Figures are the middle of all rounds, and so are ratios of the same round.
fn write_down(rounds: &[Vec<Figures>], report: &mut Report) {
    let figure = |name: String, value, unit| row(Part::Throughput, name, value, unit);
    for (what, unit, of) in WHATS {
        for (place, judge) in Judge::ALL.into_iter().enumerate() {
            let all = rounds.iter().map(|round| of(&round[place])).collect();
            report.push(figure(format!("{what}, {judge}"), median(all), unit));
        }
        for (place, judge) in Judge::ALL.into_iter().enumerate().skip(1) {
            let all = rounds.iter().map(|round| of(&round[0]) / of(&round[place])).collect();
            let name = format!("{what}, {} over {judge}", Judge::Filter);
            report.push(figure(name, median(all), Unit::Times));
        }
    }
}
