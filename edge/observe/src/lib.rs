//! What do devices hold?
//!
//! Takes: devices. Gives: the text they hold. Never: changes anything; understands it.

mod bytes;
mod devices;
mod door;
mod entry;
mod frr;
pub mod hardware;
mod link;
mod place;
mod queues;
mod reaches;
mod say;
mod seen;
mod spaces;
mod trouble;
mod watch;

pub use devices::{FIRST_RULE, LAST_METRIC, PlainRule, RULES, new_device, table_of};
pub use door::{Door, KernelRequest, own_namespace, run_inside};
pub use frr::{Asked, DAEMONS, Vty, VtyRefusal, VtyTrouble, frr, is_on_namespaces, known_vrfs};
pub use place::{Backing, NotABacking, Place, Vrfs};
pub use queues::{
    CLASSES, HTB_CEIL64, HTB_CLASS, HTB_INIT, HTB_RATE64, LINK_CLASS, WAITING, class_words,
    rest_bps, waiting_bytes,
};
pub use reaches::next_hop;
pub use spaces::{Found, Spaces};
pub use trouble::Trouble;
pub use watch::Watch;

use model::{DeviceId, Dialect, Generation};

/// What a device holds in one dialect.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Held {
    /// The plan it was sent with.
    pub generation: Generation,
    /// Every line of it.
    pub text: String,
}

/// Devices that can be asked what they hold.
pub trait Holds {
    /// What the device holds in this dialect; none if it was never sent anything.
    fn held(&self, device: DeviceId, dialect: Dialect) -> Result<Option<Held>, Unreachable>;
}

/// The device did not answer.
#[derive(Debug, thiserror::Error)]
#[error("{device} does not answer")]
pub struct Unreachable {
    /// What it is called.
    pub device: model::Name,
    /// What failed.
    pub source: std::io::Error,
}
