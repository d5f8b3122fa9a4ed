//! A leaf-and-spine fabric of real parts on one machine: namespaces, FRR, the kernel's tunnels.
//!
//! Takes: a [`Spec`]. Gives: a [`Lab`] whose devices hold what a plan says, whose workloads can be
//! asked who reaches whom, and that can be broken on purpose.
//! Never: leaves anything behind when it is taken down; touches what it did not make.

mod cables;
mod converged;
mod fault;
mod folder;
mod force;
mod frr;
mod interrupt;
mod lab;
mod namespace;
mod probe;
mod process;
mod spec;
mod trouble;
mod up;
mod workload;

pub use agent::{Family, ProbeWay};
pub use fault::{Breakage, Fault, NotAFault};
pub use lab::Lab;
pub use probe::{Crowd, DroppedAt, Probe, Seen};
pub use spec::Spec;
pub use trouble::LabTrouble;
pub use workload::Workload;
