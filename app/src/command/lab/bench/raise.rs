//! How long a lab takes to come and to go.

use std::time::Instant;

use super::Part;
use super::report::{Report, Times, Unit, row};
use super::stage::{Stage, build};
use crate::ending::Stop;

const TIMES: usize = 3;

/// Four leaves, two spines and three tenants, from nothing until every route is known.
pub(super) fn measure(stage: &mut Stage, report: &mut Report) -> Result<(), Stop> {
    stage.clear()?;
    let (mut ups, mut downs) = (Vec::new(), Vec::new());
    for _ in 0..TIMES {
        let began = Instant::now();
        let lab = build("up", [4, 2, 3])?;
        ups.push(began.elapsed());
        let began = Instant::now();
        lab.down()?;
        downs.push(began.elapsed());
    }
    let seconds = |name: &str, time| row(Part::Up, name, Unit::Seconds.of(time), Unit::Seconds);
    let note = format!("the longest of {TIMES}");
    let longest = |times| Times::of(times).percent(100);
    report.push(seconds("four leaves, converged", longest(ups)).at_most(15.0).noting(note));
    report.push(seconds("and gone", longest(downs)));
    Ok(())
}
