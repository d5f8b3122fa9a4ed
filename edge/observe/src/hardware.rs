//! What hardware a node has, as its kernel tells in sysfs and procfs, and its driver's library of
//! boards.
//!
//! Nothing is guessed silently: a file that does not answer is an error with its path, and what
//! is only inferred, unknown, contradictory or left out is a note.

mod acs;
mod boards;
mod compare;
mod document;
mod files;
mod function;
mod number;
mod nvml;
mod products;
mod software;
mod text;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

use model::{PciAddress, PciLayout, Versions};

pub use boards::{
    Account, Boards, Card, Instance, MigCut, Nobody, NvlinkFabric, Nvlinks, Silence, Unsaid,
};
pub use document::Document;
use files::Files;
pub use files::Unread;
pub use function::{Kind, PciFunction};
pub use nvml::Nvml;

/// What a node has.
#[derive(Clone, Debug)]
pub struct Hardware {
    /// GPUs, interfaces, their virtual functions, and what else stands in a group with them; by
    /// address.
    pub functions: BTreeMap<PciAddress, PciFunction>,
    /// Bridges that let functions below them reach each other past the IOMMU, and those functions.
    pub beneath: BTreeMap<PciAddress, BTreeSet<PciAddress>>,
    /// Which function has which number: GPUs in the order of module ids, interfaces in theirs.
    pub layout: PciLayout,
    /// Whether the order of GPUs is that of module ids for all that is known. If not, it is that of
    /// addresses, and nothing may depend on it.
    pub order_is_known: bool,
    /// What the driver's library says of its GPUs, or why it does not.
    pub account: Result<Account, Silence>,
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
    /// Module ids that somebody told, of GPUs of which nobody else says them.
    pub modules: BTreeMap<PciAddress, u16>,
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
    /// Two that should know it say different things.
    Contradiction,
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
            Self::Contradiction => "contradiction",
            Self::LeftOut => "left out",
        }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.caution.as_str(), self.said)
    }
}

/// Looks at the node whose files are below this root.
pub fn hardware(root: &Path, boards: &dyn Boards, known: &Known) -> Result<Hardware, Unread> {
    let files = Files { root };
    let mut notes = Vec::new();
    let mut functions = function::all(&files, &mut notes)?;
    let account = account(&functions, boards, known);
    if let Err(Silence::Failed(why)) = &account {
        let said = format!("module ids, instances and NVLinks of GPUs: {why}");
        notes.push(Caution::Unknown.note(said));
    }
    let (layout, order_is_known) = number::layout(&functions, &account, known, &mut notes)?;
    number::sort(&mut functions, &layout, &mut notes);
    function::place(&files, &mut functions, &mut notes)?;
    let beneath = acs::beneath(&files, &functions)?;
    functions.retain(|_, function| function.kind.is_some());
    let driver = account.as_ref().ok().and_then(|account| account.driver.as_deref());
    let (versions, secure_boot_is_known) =
        software::versions(&files, &functions, driver, &mut notes)?;
    let mut found = Hardware {
        functions,
        beneath,
        layout,
        order_is_known,
        account,
        versions,
        secure_boot_is_known,
        notes,
    };
    found.notes.extend(compare::notes(&files, &found)?);
    Ok(found)
}

/// Only NVIDIA's boards have anything to tell.
fn account(
    functions: &BTreeMap<PciAddress, PciFunction>,
    boards: &dyn Boards,
    known: &Known,
) -> Result<Account, Silence> {
    let is_theirs = |function: &PciFunction| function.is_gpu(known) && function.is_of_nvidia();
    match functions.values().any(is_theirs) {
        true => boards.ask(),
        false => Err(Silence::Absent("there is no GPU of NVIDIA".to_owned())),
    }
}

impl Caution {
    fn note(self, said: impl Into<String>) -> Note {
        Note { caution: self, said: said.into() }
    }
}
