//! The labs that are measured: built when the first part asks for them, and gone in the end.

use ::lab::{Lab, Spec};
use observe::Backing;

use crate::command::lab::program;
use crate::ending::Stop;
use crate::words::{DIM, aside};

/// The labs that stand.
#[derive(Default)]
pub(super) struct Stage {
    large: Option<Lab>,
    small: Option<Lab>,
}

impl Stage {
    /// Six leaves and two spines: eight agents.
    pub(super) fn large(&mut self) -> Result<&Lab, Stop> {
        self.small.take().map_or(Ok(()), Lab::down)?;
        get(&mut self.large, "large", [6, 2, 2])
    }

    /// Two leaves and a spine, so that the machine has time for packets.
    pub(super) fn small(&mut self) -> Result<&Lab, Stop> {
        self.large.take().map_or(Ok(()), Lab::down)?;
        get(&mut self.small, "small", [2, 1, 1])
    }

    /// Takes down what stands.
    pub(super) fn clear(&mut self) -> Result<(), Stop> {
        for lab in [self.large.take(), self.small.take()].into_iter().flatten() {
            lab.down()?;
        }
        Ok(())
    }
}

/// Also when a part fails nothing stays.
impl Drop for Stage {
    fn drop(&mut self) {
        // The part's own trouble is the one to tell.
        let _ = self.clear();
    }
}

fn get<'a>(lab: &'a mut Option<Lab>, name: &str, size: [u16; 3]) -> Result<&'a Lab, Stop> {
    Ok(match lab {
        Some(lab) => lab,
        None => lab.insert(build(name, size)?),
    })
}

/// Builds a lab of so many leaves, spines and tenants.
pub(super) fn build(name: &str, [leaves, spines, tenants]: [u16; 3]) -> Result<Lab, Stop> {
    aside(format_args!("{DIM}  a lab of {leaves} leaves and {spines} spines{DIM:#}"));
    let name = format!("{name}{}", std::process::id());
    let (vrfs, program) = (Backing::of_kernel()?, program()?);
    let spec = Spec { name, leaves, spines, tenants, vrfs, program };
    Ok(Lab::up(&spec, &mut |_| {})?)
}
