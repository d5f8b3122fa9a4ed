//! Findings that somebody vouches for, and those who no longer do.
//!
//! A waiver is about a line that nobody understands, or about one that the device has of its own.
//! What lets two owners meet is a breach, and nobody can vouch for that.

use model::{Fleet, Owners, Waiver};

use crate::finding::{Diagnosis, Finding, Weak};
use crate::weakness::Weakness;

/// Who vouches for what, and what was found of it.
#[derive(Debug, Default)]
pub(crate) struct Vouched {
    waivers: Vec<Waiver>,
    expired: Vec<Waiver>,
    waived: Vec<(Waiver, Finding)>,
}

impl Vouched {
    pub(crate) fn of(owners: &Owners) -> Self {
        let (waivers, expired) = (owners.waivers.clone(), owners.expired.clone());
        Self { waivers, expired, waived: Vec::new() }
    }

    pub(crate) fn waived(&self) -> &[(Waiver, Finding)] {
        &self.waived
    }

    /// Takes out what somebody vouches for, and adds who no longer does.
    pub(crate) fn judge(&mut self, fleet: &Fleet, mut all: Vec<Finding>) -> Vec<Finding> {
        self.waived.clear();
        if !self.waivers.is_empty() {
            all.retain(|finding| {
                let waiver = self.waivers.iter().find(|waiver| is_about(waiver, fleet, finding));
                self.waived.extend(waiver.map(|waiver| (waiver.clone(), finding.clone())));
                waiver.is_none()
            });
        }
        if !self.expired.is_empty() {
            all.extend(self.expired.iter().map(|waiver| expired(waiver, fleet)));
            all.sort();
        }
        all
    }
}

fn is_about(waiver: &Waiver, fleet: &Fleet, finding: &Finding) -> bool {
    let Diagnosis::Weak(Weak { weakness, device: Some(device) }) = &finding.diagnosis else {
        return false;
    };
    let line = match weakness {
        Weakness::UnknownLine { text, .. } => text.as_str(),
        Weakness::Stray { line, .. } => line.as_str(),
        _ => return false,
    };
    *fleet.device_name(*device) == waiver.device && waiver.is_about(line)
}

fn expired(waiver: &Waiver, fleet: &Fleet) -> Finding {
    let device = fleet.devices().find(|device| *fleet.device_name(*device) == waiver.device);
    let weakness =
        Weakness::ExpiredWaiver { waiver: waiver.name.clone(), line: waiver.line.clone() };
    let diagnosis = Diagnosis::Weak(Weak { weakness, device });
    Finding { diagnosis, present: Vec::new(), missing: Vec::new() }
}
