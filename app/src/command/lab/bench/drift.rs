//! How long a change behind our back stays unknown, and how long it stays.

use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use ::lab::{Fault, Lab};
use agent::{Agents, Event, News};
use model::Name;

use super::Part;
use super::report::{Report, Times, Unit, row};
use crate::ending::Stop;
use crate::words::{DIM, aside};

/// How many changes are made, in turns on these leaves: there, tenants and jobs are side by side.
const CHANGES: usize = 50;
const LEAVES: [&str; 2] = ["leaf-1", "leaf-2"];
/// What the kernel holds, what the packet program holds, what FRR holds.
const KINDS: [Fault; 14] = [
    Fault::StaticRoute,
    Fault::RouteTarget,
    Fault::SecondVtep,
    Fault::MapEdited,
    Fault::Mtu,
    Fault::Rd,
    Fault::Fdb,
    Fault::FilterDetached,
    Fault::BridgePort,
    Fault::SecondNeighbor,
    Fault::AddressMoved,
    Fault::Tag,
    Fault::DefaultRoute,
    Fault::Tos,
];
/// A change that is not put right by then is counted with this time.
const PATIENCE: Duration = Duration::from_secs(15);
/// When nothing was told for so long, nothing more comes: FRR is asked four times a second.
const QUIET: Duration = Duration::from_millis(700);

/// What an agent told, and when it was heard.
type Heard = (Instant, Name, Event);

/// What became of a change.
struct Fate {
    found: Option<Duration>,
    mended: Option<Duration>,
}

pub(super) fn measure(lab: &Lab, report: &mut Report) -> Result<(), Stop> {
    let agents = Agents::open(&lab.authority(), crate::runtime::handle()?)?;
    let (tell, heard) = mpsc::channel();
    agents.listen(move |node, event| {
        // Nobody listens any more when the bench is over.
        let _ = tell.send((Instant::now(), node.clone(), event));
    });
    settle(&heard);
    let mut fates = Vec::new();
    for change in 0..CHANGES {
        let (fault, leaf) = (KINDS[change % KINDS.len()], LEAVES[change / KINDS.len() % 2]);
        let fate = endure(lab, fault, leaf, &heard);
        if fate.mended.is_none() {
            aside(format_args!("{DIM}  {fault} at {leaf} was not put right{DIM:#}"));
        }
        fates.push((fault, fate));
    }
    write_down(&fates, report);
    Ok(())
}

/// Waits until the agents have told how they are.
fn settle(heard: &Receiver<Heard>) {
    while heard.recv_timeout(QUIET).is_ok() {}
}

/// Makes a change, and listens until the agent has put it right. The clock starts before the first
/// command of the change, so that a command's own time counts as well.
fn endure(lab: &Lab, fault: Fault, leaf: &str, heard: &Receiver<Heard>) -> Fate {
    let began = Instant::now();
    // An agent that is quick undoes the first step before the second, which then fails.
    let _ = lab.break_(fault, Some(leaf));
    let mut fate = Fate { found: None, mended: None };
    let end = began + PATIENCE;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let wait = if fate.mended.is_some() { QUIET.min(left) } else { left };
        let Ok((at, node, event)) = heard.recv_timeout(wait) else { return fate };
        let Event::News(news) = event else { continue };
        if node.as_str() != leaf {
            continue;
        }
        match news {
            News::Drift { .. } => {
                fate.found.get_or_insert(at - began);
                fate.mended = None;
            }
            News::Repaired { left, .. } if left.is_empty() => fate.mended = Some(at - began),
            _ => {}
        }
    }
}

fn write_down(fates: &[(Fault, Fate)], report: &mut Report) {
    let ms = |name: String, time| {
        row(Part::Drift, name, Unit::Milliseconds.of(time), Unit::Milliseconds)
    };
    let never = |time: Option<Duration>| time.unwrap_or(PATIENCE);
    let slowest = |of: fn(&Fate) -> Option<Duration>| {
        let last = fates.iter().max_by_key(|(_, fate)| never(of(fate)));
        last.map_or_else(String::new, |(fault, _)| format!("the slowest: {fault}"))
    };
    type What = (&'static str, f64, fn(&Fate) -> Option<Duration>);
    let whats: [What; 2] = [
        ("until found", 1000.0, |fate| fate.found),
        ("until repaired", 3000.0, |fate| fate.mended),
    ];
    for (what, bound, of) in whats {
        let times = Times::of(fates.iter().map(|(_, fate)| never(of(fate))));
        let count = format!("{} changes of {} kinds", fates.len(), KINDS.len());
        report.push(ms(format!("{what}, p50"), times.percent(50)).noting(count));
        report.push(ms(format!("{what}, p99"), times.percent(99)).at_most(bound));
        report.push(ms(format!("{what}, longest"), times.percent(100)).noting(slowest(of)));
    }
}
