//! Which queue of an uplink a frame waits in: the one of its tenant.
//!
//! The queues themselves are the kernel's (a queue discipline of kind `htb`) and made by whoever
//! applies a plan. The program only names a class for each frame that leaves.

use aya::programs::TcAttachType;

use crate::kernel::{BURST_NS, Kernel, attach_tc, interface_index, map};
use crate::{Fault, standing};

/// The handle of an uplink's queues. A tenant's class in it has the tenant's number.
pub const QUEUES: u16 = 0xb001;
/// The class of tunnelled frames that no tenant of this device owns: those that a consent takes
/// into the network of another tenant.
pub const REST: u16 = 0xfffe;

/// What passes a rate at once where there are queues: longer than they are, so that what is over a
/// rate for a moment waits there and is not dropped at the workload's port.
const PATIENT_BURST_NS: u64 = 64_000_000;

impl Kernel {
    /// Names the queue of everything that leaves through this uplink. Rates are patient from then
    /// on, at every port.
    pub fn attach_queue(&mut self, interface: &str) -> Result<(), Fault> {
        let _lock = self.begin_writing()?;
        let index = interface_index(interface)?;
        if !standing::clear(self.place(), "queue", index)? {
            let path = self.link_path("queue", index);
            attach_tc(&mut self.queue, interface, TcAttachType::Egress, "queue", &path)?;
        }
        self.let_burst(PATIENT_BURST_NS)
    }

    /// Names no queue at this uplink any more. Where none is left, rates are strict again.
    pub fn release_queue(&mut self, interface: u32) -> Result<(), Fault> {
        standing::take_off(self.place(), "queue", interface)?;
        if standing::named(self.place())?.iter().any(|(hook, _)| hook == "queue") {
            return Ok(());
        }
        self.let_burst(BURST_NS)
    }

    /// The timer's own words of the gate stay as the kernel has them, whatever is written there.
    fn let_burst(&mut self, nanoseconds: u64) -> Result<(), Fault> {
        let mut gate = self.gate.get(&0, 0).map_err(map("gate"))?;
        gate[3] = nanoseconds;
        self.gate.set(0, gate, 0).map_err(map("gate"))
    }
}
