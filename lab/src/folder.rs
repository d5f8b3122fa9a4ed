//! Where the things of a lab are, and what they are called.

use std::path::{Path, PathBuf};
use std::{fs, io};

use observe::Backing;

use crate::LabTrouble;

/// Where all labs are.
const LABS: &str = "/run/bulkhead";
/// Where named network namespaces are.
const NAMESPACES: &str = "/run/netns";
/// The file that says what VRFs are made of.
const BACKING: &str = "vrfs";

/// The folder of one lab.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Folder {
    name: String,
}

impl Folder {
    pub(crate) fn of(name: &str) -> Result<Self, LabTrouble> {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let begins = name.bytes().next().is_some_and(|first| first.is_ascii_lowercase());
        if begins && name.len() <= 20 && name.bytes().all(plain) {
            Ok(Self { name: name.to_owned() })
        } else {
            Err(LabTrouble::Name(name.to_owned()))
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn path(&self) -> PathBuf {
        Path::new(LABS).join(&self.name)
    }

    /// The documents, so that every command of the product works on them.
    pub(crate) fn documents(&self) -> PathBuf {
        self.path().join("documents")
    }

    /// The log.
    pub(crate) fn state(&self) -> PathBuf {
        self.path().join("state")
    }

    /// The authority and everyone's certificates.
    pub(crate) fn authority(&self) -> PathBuf {
        self.path().join("ca")
    }

    /// The processes that were started.
    pub(crate) fn processes(&self) -> PathBuf {
        self.path().join("processes")
    }

    /// What one device keeps.
    pub(crate) fn device(&self, device: &str) -> PathBuf {
        self.path().join("devices").join(device)
    }

    /// Where a device's routing daemons listen.
    pub(crate) fn frr(&self, device: &str) -> PathBuf {
        self.device(device).join("frr")
    }

    /// Where a device's agent listens.
    pub(crate) fn socket(&self, device: &str) -> PathBuf {
        self.device(device).join("agent.sock")
    }

    /// What VRFs are made of on its devices.
    pub(crate) fn backing(&self) -> Result<Backing, LabTrouble> {
        let path = self.path().join(BACKING);
        let word = fs::read_to_string(&path).map_err(LabTrouble::file(&path))?;
        let strange = |error| LabTrouble::file(&path)(io::Error::other(error));
        word.parse::<Backing>().map_err(strange)
    }

    /// Writes down what VRFs are made of, for whoever starts a daemon later.
    pub(crate) fn write_backing(&self, backing: Backing) -> Result<(), LabTrouble> {
        Self::write(&self.path().join(BACKING), backing.as_str())
    }

    /// What the network namespace of a device or workload is called.
    pub(crate) fn namespace(&self, inhabitant: &str) -> String {
        format!("{}{}", self.prefix(), inhabitant.replace('/', "."))
    }

    /// Its file.
    pub(crate) fn namespace_path(&self, inhabitant: &str) -> PathBuf {
        Path::new(NAMESPACES).join(self.namespace(inhabitant))
    }

    /// The files of all namespaces of this lab that are there, whoever is inside.
    pub(crate) fn namespaces(&self) -> Vec<PathBuf> {
        let prefix = self.prefix();
        let entries = fs::read_dir(NAMESPACES).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        names
            .filter(|name| name.starts_with(&prefix))
            .map(|name| Path::new(NAMESPACES).join(name))
            .collect()
    }

    /// No name of a lab holds a dash, so that none begins like another one's prefix.
    fn prefix(&self) -> String {
        format!("bh-{}-", self.name)
    }

    pub(crate) fn make(path: &Path) -> Result<(), LabTrouble> {
        fs::create_dir_all(path).map_err(LabTrouble::file(path))
    }

    pub(crate) fn write(path: &Path, text: &str) -> Result<(), LabTrouble> {
        fs::write(path, text).map_err(LabTrouble::file(path))
    }
}
