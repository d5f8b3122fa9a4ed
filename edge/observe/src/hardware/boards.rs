//! What sysfs does not tell of GPUs, and who may know it.

use std::collections::BTreeMap;

use model::PciAddress;

/// Who knows what sysfs does not tell.
pub trait Boards {
    /// What there is to know of the node's GPUs, or why nobody says it.
    ///
    /// # Errors
    /// If there is nobody to ask, or whoever is there does not answer.
    fn ask(&self) -> Result<Account, Silence>;
}

/// For whoever needs nothing but what sysfs tells.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nobody;

impl Boards for Nobody {
    fn ask(&self) -> Result<Account, Silence> {
        Err(Silence::Absent("nobody was asked".to_owned()))
    }
}

/// Why nothing is known of boards.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Silence {
    /// There is nobody to ask.
    #[error("{0}")]
    Absent(String),
    /// There is somebody to ask, who does not answer: why, and what to do.
    #[error("{0}")]
    Failed(String),
}

/// What a driver's library says of a node.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Account {
    /// The version of the driver that it speaks to.
    pub driver: Option<String>,
    /// The GPUs that the driver has.
    pub gpus: BTreeMap<PciAddress, Card>,
    /// What it was asked and did not say.
    pub unsaid: Vec<Unsaid>,
}

/// What a driver's library says of a GPU. What is not there it does not say.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Card {
    /// Its own name, which it keeps wherever it is.
    pub uuid: Option<String>,
    /// Its place on its board, from 1.
    pub module: Option<u16>,
    /// How it is cut.
    pub cut: Option<MigCut>,
    /// Its NVLinks.
    pub nvlinks: Option<Nvlinks>,
    /// Where it stands in its NVLink fabric, if it is made for one.
    pub fabric: Option<NvlinkFabric>,
}

/// How a GPU is cut into instances.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct MigCut {
    /// Whether it can be cut as it is now.
    pub is_on: bool,
    /// The instances, by where they begin.
    pub instances: Vec<Instance>,
}

/// An instance of a GPU.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Instance {
    /// The driver's number for it.
    pub id: u32,
    /// The driver's number for its profile, which is what the profile is known by.
    pub profile_id: u32,
    /// What the driver calls the profile; drivers round the memory in it differently.
    pub profile: String,
    /// The first of its memory slots.
    pub start: u32,
    /// How many of them it has.
    pub size: u32,
}

/// NVLinks of a GPU.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Nvlinks {
    /// How many carry something.
    pub active: u16,
    /// How many there are.
    pub all: u16,
}

/// Where a GPU stands in its NVLink fabric.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum NvlinkFabric {
    /// Nobody told it to join one.
    NotStarted,
    /// It is about to.
    Joining,
    /// It is in one.
    Joined {
        /// Which fabric; zeros where NVLink ends at the board.
        cluster: String,
        /// Which part of the fabric: GPUs of different parts do not reach each other.
        clique: u32,
    },
    /// It tried, and the library's number and word for what went wrong.
    Failed(u32, String),
}

/// Something that was asked and not said.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Unsaid {
    /// What.
    pub what: &'static str,
    /// Why, and what to do.
    pub why: String,
    /// Of which GPUs; of the node if none are named.
    pub gpus: Vec<PciAddress>,
}
