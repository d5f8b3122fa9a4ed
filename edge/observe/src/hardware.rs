//! What hardware a node has, as its kernel tells in sysfs and procfs.
//!
//! Nothing is guessed silently: a file that does not answer is an error with its path, and what
//! is only inferred, unknown or left out is a note.

mod acs;
mod document;
mod files;
mod function;
mod number;
mod products;
mod software;
mod text;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

use model::{PciAddress, PciLayout, Versions};

pub use document::Document;
use files::Files;
pub use files::Unread;
pub use function::{Found, Kind};

/// What a node has.
#[derive(Clone, Debug)]
pub struct Hardware {
    /// GPUs, interfaces, their virtual functions, and what else stands in a group with them; by
    /// address.
    pub functions: BTreeMap<PciAddress, Found>,
    /// Bridges that let functions below them reach each other past the IOMMU, and those functions.
    pub beneath: BTreeMap<PciAddress, BTreeSet<PciAddress>>,
    /// Which function has which number: GPUs in the order of module ids, interfaces in theirs.
    pub layout: PciLayout,
    /// What runs on it; empty is unknown.
    pub versions: Versions,
    /// Whether it is known if the node booted securely.
    pub secure_boot_is_known: bool,
    /// What is not simply read from a file.
    pub notes: Vec<Note>,
}

/// What is known before looking.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// Where GPUs and interfaces are, by number, as a fleet's document says. With none, what is
    /// found is numbered.
    pub layout: PciLayout,
    /// Vendor and device of functions that are GPUs too, whatever their class.
    pub gpu_ids: Vec<(u16, u16)>,
}

/// Something that a reader must not take for a plain fact.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Note {
    /// What kind of caution.
    pub caution: Caution,
    /// About what, in a sentence.
    pub said: String,
}

/// Why something is no plain fact.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Caution {
    /// It follows from something else that was read.
    Inferred,
    /// Nothing on the node says it.
    Unknown,
    /// It is there, and was left out.
    LeftOut,
}

impl Caution {
    /// In a word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Inferred => "inferred",
            Self::Unknown => "unknown",
            Self::LeftOut => "left out",
        }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.caution.as_str(), self.said)
    }
}

/// Who knows what sysfs does not tell.
pub trait Boards {
    /// The module id of each GPU, from 1, or why nobody can say.
    fn modules(&self) -> Result<BTreeMap<PciAddress, u16>, NotPresent>;
}

/// There is nobody to ask about boards.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub struct NotPresent(pub String);

/// Modules that somebody told, because there is nobody else to ask.
#[derive(Clone, Debug, Default)]
pub struct Told(pub BTreeMap<PciAddress, u16>);

impl Boards for Told {
    fn modules(&self) -> Result<BTreeMap<PciAddress, u16>, NotPresent> {
        Ok(self.0.clone())
    }
}

/// NVIDIA's management library.
///
/// Its safe Rust binding has no call for module ids, nor for where an instance begins in a GPU's
/// memory, and this workspace has no unsafe code for it. So it is only looked for, and the answer
/// says which of the two reasons holds.
pub struct Nvml<'a> {
    /// Where the node's files are.
    pub root: &'a Path,
}

impl Boards for Nvml<'_> {
    fn modules(&self) -> Result<BTreeMap<PciAddress, u16>, NotPresent> {
        let folders = ["usr/lib/x86_64-linux-gnu", "usr/lib/aarch64-linux-gnu", "usr/lib64"];
        let is_there = |folder| self.root.join(folder).join("libnvidia-ml.so.1").exists();
        Err(NotPresent(
            match folders.into_iter().any(is_there) {
                true => "libnvidia-ml.so.1 is there, and this program cannot ask it for module ids",
                false => "there is no libnvidia-ml.so.1 to ask for module ids",
            }
            .to_owned(),
        ))
    }
}

/// Looks at the node whose files are below this root.
pub fn hardware(root: &Path, boards: &dyn Boards, known: &Known) -> Result<Hardware, Unread> {
    let files = Files { root };
    let mut notes = Vec::new();
    let mut functions = function::all(&files, &mut notes)?;
    let layout = number::layout(&functions, boards, known, &mut notes)?;
    number::sort(&mut functions, &layout, &mut notes);
    function::place(&files, &mut functions, &mut notes)?;
    let beneath = acs::beneath(&files, &functions)?;
    functions.retain(|_, function| function.kind.is_some());
    let (versions, secure_boot_is_known) = software::versions(&files, &functions, &mut notes)?;
    function::note_instances(&files, &layout, &mut notes)?;
    Ok(Hardware { functions, beneath, layout, versions, secure_boot_is_known, notes })
}

impl Caution {
    fn note(self, said: impl Into<String>) -> Note {
        Note { caution: self, said: said.into() }
    }
}
