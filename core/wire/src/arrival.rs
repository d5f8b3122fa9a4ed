//! What a verdict is about: a frame, the hook where it was met, and what the kernel knows of it.

use core::fmt;

/// Where a frame was met.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[repr(u8)]
pub enum Hook {
    /// The ingress of an uplink: from other tunnel endpoints.
    Fabric = 0,
    /// The ingress of a workload's port: what a workload sends.
    Workload = 1,
    /// The egress of a workload's port: what is about to reach a workload.
    Local = 2,
}

impl Hook {
    /// Every hook, in the order of its code.
    pub const ALL: [Self; 3] = [Self::Fabric, Self::Workload, Self::Local];

    /// The number that events carry.
    #[must_use]
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The hook of a number, if it is one.
    #[must_use]
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }

    /// The name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Fabric => "fabric",
            Self::Workload => "workload",
            Self::Local => "local",
        }
    }
}

impl fmt::Display for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A frame, and what the kernel knows beside it.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a> {
    /// Where it was met.
    pub hook: Hook,
    /// The kernel's number of the interface it was met on.
    pub interface: u32,
    /// The tag beside the frame, of use at [`Hook::Local`]; 0 if there is none.
    pub mark: u16,
    /// Whether the kernel took a VLAN tag off the frame and keeps it beside.
    pub vlan_beside: bool,
    /// The bytes, from the Ethernet header on.
    pub frame: &'a [u8],
}
