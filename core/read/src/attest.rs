//! Dialect `attest`: reports that confidential machines are what they should be, one a line.

use crate::dialect::Description;
use crate::hold::AttestReport;
use crate::lines::Line;
use crate::statement;
use crate::values::{Why, age_s, job, measurement, name, technology};
use crate::{Hold, Reading};

/// What is known of it.
pub(crate) const DESCRIPTION: Description =
    Description::of_statements("nobody: it is observed from the node", read);

fn read(text: &str) -> Reading {
    statement::read(text, |line| hold(line).map(Some))
}

fn hold(line: &Line<'_>) -> Result<Hold, Why> {
    match line.words().as_slice() {
        [
            "report",
            of,
            "on",
            node,
            kind,
            "measurement",
            measured,
            "by",
            by,
            "at",
            at,
            "age",
            age,
        ] => {
            let report = Box::new(AttestReport {
                technology: technology(kind)?,
                measurement: measurement(measured)?,
                by: name(by)?,
                at: (*at).into(),
                age_s: age_s(age)?,
            });
            Ok(Hold::Attested { job: job(of)?, node: name(node)?, report })
        }
        ["report", ..] => Err(
            "a report says which machine was measured how, who vouches, since when, and its age",
        ),
        _ => Err("no line of this dialect is written so"),
    }
}
