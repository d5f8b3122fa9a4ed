//! What a tenant demands of the reports about its confidential machines. Below it, reports can only
//! be asked for younger, and of the same machine.

use model::{Attestation, Confidential, Measurement};

use super::{Above, Settled};
use crate::Problem;
use crate::form::{Form, Shape};
use crate::refusal::Refusals;
use crate::tree::{At, Pos};

const ATTESTATION: Shape = Shape {
    what: "an attestation policy",
    // A demand without an age is met by a report of last year.
    needs: &["maxAgeSeconds"],
    may: &["measurement"],
};

/// A report that may be older than a year proves nothing about today.
const MOST_SECONDS: u64 = 365 * 24 * 60 * 60;

/// A demand, with the places that it comes from.
#[derive(Clone, Copy)]
pub(super) struct Demand {
    pub(super) pos: Pos,
    max_age_s: At<u32>,
    measurement: Option<At<Measurement>>,
}

pub(super) fn read(form: &Form<'_>, out: &mut Refusals) -> Option<Demand> {
    let form = form.form("attestation", &ATTESTATION, out)?;
    let max_age_s = form.number("maxAgeSeconds", 1, MOST_SECONDS, out);
    let measurement = form.parsed("measurement", out);
    Some(Demand { pos: form.pos, max_age_s: max_age_s?, measurement })
}

impl Demand {
    pub(super) fn into_attestation(self) -> Attestation {
        Attestation {
            max_age_s: self.max_age_s.value,
            measurement: self.measurement.map(|at| at.value),
        }
    }
}

impl Above<'_> {
    pub(super) fn attestation(
        &mut self,
        own: Option<Demand>,
        parent: Option<&Settled>,
        confidential: Option<Confidential>,
    ) -> Option<Demand> {
        if let (Some(own), None) = (own, confidential) {
            let within = "a tenant with an `attestation`";
            self.out.refuse(own.pos, Problem::MissingKey { key: "confidential", within });
        }
        let inherited = parent.and_then(|parent| parent.attestation);
        let (Some(own), Some(above)) = (own, inherited) else {
            return own.or(inherited);
        };
        let (age, limit) = (own.max_age_s, above.max_age_s);
        if age.value > limit.value {
            self.refuse_weaker("maxAgeSeconds", age.pos, &age.value, &limit.value, limit.pos);
        }
        if let (Some(own), Some(above)) = (own.measurement, above.measurement)
            && own.value != above.value
        {
            self.refuse_weaker("measurement", own.pos, &own.value, &above.value, above.pos);
        }
        Some(Demand { measurement: own.measurement.or(above.measurement), ..own })
    }
}
