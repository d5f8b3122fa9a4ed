//! Where the parts of a node are found, and what its VRFs are made of.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::{Trouble, devices, is_on_namespaces};

/// Where the parts of one node are found. The process is inside the node's network and mount
/// namespaces.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Place {
    /// The folder of the routing daemons' sockets.
    pub frr: PathBuf,
    /// The folder of the BPF file system where the packet program is.
    pub filter: PathBuf,
    /// What VRFs are.
    pub vrfs: Vrfs,
    /// The folder where it is written down what was sent.
    pub state: PathBuf,
}

/// What VRFs are on a node, and where. The words that it is sent, and says, are the same.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Vrfs {
    /// Network namespaces with their names in this folder, where `zebra -n` looks for them.
    Namespaces(PathBuf),
    /// VRF devices of the node's own namespace.
    Devices,
}

/// What VRFs are made of.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Backing {
    /// VRF devices, where the kernel has them.
    Devices,
    /// Network namespaces.
    Namespaces,
}

impl Backing {
    /// What VRFs are made of where nobody says: devices if the kernel makes them and zebra does not
    /// take namespaces for VRFs. A zebra that does not answer leaves it open, and that is told:
    /// VRFs must not be of one kind before a restart and of another after it.
    pub fn of_node(frr: &Path) -> Result<Self, Trouble> {
        Self::chosen(devices::are_made_here()?, || Ok(is_on_namespaces(frr)?))
    }

    /// What VRFs are made of where zebra is still to be started.
    pub fn of_kernel() -> Result<Self, Trouble> {
        Self::chosen(devices::are_made_here()?, || Ok(false))
    }

    fn chosen(
        has_devices: bool,
        is_on_namespaces: impl FnOnce() -> Result<bool, Trouble>,
    ) -> Result<Self, Trouble> {
        match has_devices && !is_on_namespaces()? {
            true => Ok(Self::Devices),
            false => Ok(Self::Namespaces),
        }
    }

    /// Refuses what the kernel does not make.
    pub fn made_here(self) -> Result<Self, Trouble> {
        self.made_by(devices::are_made_here)
    }

    fn made_by(self, has_devices: impl FnOnce() -> Result<bool, Trouble>) -> Result<Self, Trouble> {
        match self {
            Self::Devices if !has_devices()? => Err(Trouble::NoDevices),
            other => Ok(other),
        }
    }

    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Devices => "devices",
            Self::Namespaces => "namespaces",
        }
    }
}

/// The word is no kind of VRF.
#[derive(Clone, Debug, thiserror::Error)]
#[error("`{0}` is nothing that VRFs are made of: `devices` or `namespaces`")]
pub struct NotABacking(String);

impl FromStr for Backing {
    type Err = NotABacking;

    fn from_str(word: &str) -> Result<Self, NotABacking> {
        let known = [Self::Devices, Self::Namespaces].into_iter();
        known.into_iter().find(|one| one.as_str() == word).ok_or_else(|| NotABacking(word.into()))
    }
}

impl fmt::Display for Backing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vrfs_are_devices_only_where_the_kernel_has_them_and_zebra_wants_them() {
        for (kernel, zebra, wanted) in [
            (true, Ok(false), Some(Backing::Devices)),
            (true, Ok(true), Some(Backing::Namespaces)),
            (false, Ok(false), Some(Backing::Namespaces)),
            (true, Err(Trouble::Table), None),
            // Nobody asks a daemon what cannot matter.
            (false, Err(Trouble::Table), Some(Backing::Namespaces)),
        ] {
            assert_eq!(Backing::chosen(kernel, || zebra).ok(), wanted);
        }
    }

    #[test]
    fn devices_are_refused_where_the_kernel_makes_none() {
        let refused = Backing::Devices.made_by(|| Ok(false)).unwrap_err().to_string();
        assert!(refused.contains("--vrfs namespaces"), "{refused}");
        assert_eq!(Backing::Devices.made_by(|| Ok(true)).ok(), Some(Backing::Devices));
        assert_eq!(Backing::Namespaces.made_by(|| Ok(false)).ok(), Some(Backing::Namespaces));
    }

    #[test]
    fn each_word_is_its_own() {
        for backing in [Backing::Devices, Backing::Namespaces] {
            assert_eq!(backing.to_string().parse::<Backing>().ok(), Some(backing));
        }
        assert!("netns".parse::<Backing>().is_err());
    }

    #[test]
    fn the_kernel_is_asked_where_nobody_sees_it() {
        let before = crate::own_namespace().unwrap();
        // A user who may make no namespace cannot ask; one who may gets an answer.
        if let Ok(are_made) = devices::are_made_here() {
            assert_eq!(Backing::Devices.made_here().is_ok(), are_made);
        }
        let inode =
            |file: &std::fs::File| std::os::unix::fs::MetadataExt::ino(&file.metadata().unwrap());
        assert_eq!(inode(&before), inode(&crate::own_namespace().unwrap()));
    }
}
