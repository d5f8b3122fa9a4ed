//! What can be broken on purpose, and exactly how.

mod steps;
mod table;

use std::fmt;
use std::str::FromStr;

use crate::LabTrouble;
use crate::lab::Lab;

macro_rules! faults {
    ($($(#[doc = $doc:literal])* $name:ident $word:literal,)*) => {
        /// Something that is changed behind the back of whoever keeps the fabric.
        #[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
        pub enum Fault {
            $($(#[doc = $doc])* $name,)*
        }

        impl Fault {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The word for it.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $word,)*
                }
            }

            /// What it is.
            const fn about(self) -> &'static str {
                match self {
                    $(Self::$name => concat!($($doc),*),)*
                }
            }
        }
    };
}

faults! {
    /// A VRF takes in the routes of another tenant.
    RouteTarget "route-target",
    /// A segment's routes are marked with another route distinguisher.
    Rd "rd",
    /// A job's tunnel ends in a segment that nobody planned.
    Vni "vni",
    /// The packet program takes a workload for one of another job.
    Tag "tag",
    /// A second tunnel device hangs on a job's bridge.
    SecondVtep "second-vtep",
    /// A forwarding entry sends a workload's frames to an unknown tunnel endpoint.
    Fdb "fdb",
    /// A route leads a tenant's packets somewhere else.
    StaticRoute "static-route",
    /// A default route leads out of a tenant's VRF.
    DefaultRoute "default-route",
    /// A port is plugged into the bridge of another job.
    BridgePort "bridge-port",
    /// An address is said to be behind another port.
    AddressMoved "address-moved",
    /// A cable joins the VRFs of two tenants.
    VrfMerged "vrf-merged",
    /// A port takes smaller frames only.
    Mtu "mtu",
    /// A tunnel no longer keeps the traffic class.
    Tos "tos",
    /// A BGP neighbour that nobody planned.
    SecondNeighbor "second-neighbor",
    /// The packet program is taken off a port.
    FilterDetached "filter-detached",
    /// A permit that nobody gave is put into the packet program.
    MapEdited "map-edited",
    /// The routing daemons are restarted and know nothing.
    FrrRestarted "frr-restarted",
    /// The agent is killed.
    AgentKilled "agent-killed",
    /// A cable to a spine is pulled.
    LinkDown "link-down",
    /// A cable to a spine is pulled and plugged in again, five times.
    FlappingLink "flapping-link",
    /// Another host is plugged into a port.
    WrongHost "wrong-host",
}

/// What was broken, where, and by which steps.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Breakage {
    /// What.
    pub fault: Fault,
    /// The device.
    pub device: String,
    /// What was done, as one could type it.
    pub steps: Vec<String>,
}

/// The word is no fault.
#[derive(Clone, Debug, thiserror::Error)]
#[error("`{0}` is no fault; `bulkhead lab break --list` names them")]
pub struct NotAFault(String);

impl Lab {
    /// Breaks something on a device, or on the first leaf.
    ///
    /// # Errors
    /// If there is no such device, it has nobody who could be hurt, or a step fails.
    pub fn break_(&self, fault: Fault, device: Option<&str>) -> Result<Breakage, LabTrouble> {
        let scene = steps::Scene::of(self, device)?;
        let steps = scene.steps(fault)?;
        for step in &steps {
            step.take(self)?;
        }
        let steps = steps.iter().map(ToString::to_string).collect();
        Ok(Breakage { fault, device: scene.device().to_owned(), steps })
    }
}

/// The word; with `#`, what it is.
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(if f.alternate() { self.about().trim() } else { self.as_str() })
    }
}

impl FromStr for Fault {
    type Err = NotAFault;

    fn from_str(word: &str) -> Result<Self, NotAFault> {
        let fault = Self::ALL.iter().find(|fault| fault.as_str() == word);
        fault.copied().ok_or_else(|| NotAFault(word.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_has_its_own_word_and_a_sentence() {
        for fault in Fault::ALL {
            assert_eq!(fault.as_str().parse::<Fault>().ok(), Some(*fault));
            assert!(fault.about().ends_with('.'), "{fault}");
        }
        assert!("weather".parse::<Fault>().is_err());
    }
}
