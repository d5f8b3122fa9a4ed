//! `bulkhead discover`: this node's hardware, as a model for a Fleet document.

mod view;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use model::{Dialect, Name, PciAddress, PciLayout};
use observe::hardware::{Document, Hardware, Known, Nvml};

use super::Output;
use crate::ending::{Ended, Stop};
use crate::words::{self, DIM, Format, examples};
use view::{Answer, FunctionView, NoteView};

/// Look at this node's hardware, and write it down as a model for a Fleet document
///
/// GPUs, interfaces and their virtual functions are read from sysfs, with their IOMMU groups, NUMA
/// nodes, drivers and the bridges above them; so are the versions of what runs here. Module ids,
/// instances and NVLinks of GPUs are asked of NVIDIA's management library, if it is there. Nothing
/// is guessed silently: what was inferred, is unknown, is contradictory or was left out is noted
/// above the model. Exits with 1 if something in it has to be filled in first, or is contradictory.
#[derive(Args)]
#[command(after_help = examples!(
    "bulkhead discover --model hgx-h100" => "this node, as a model of that name",
    "bulkhead discover --dialect vfio" => "what this node holds, as `bulkhead read` takes it",
    "bulkhead discover --root /mnt/node-7 -o json" => "a node whose files are elsewhere, for programs",
    "bulkhead discover --module 0000:1b:00.0=5 --module 0000:43:00.0=7"
        => "with module ids that nobody else says, as `nvidia-smi -q` shows them",
))]
pub(crate) struct Discover {
    /// The folder that the node's `sys` and `proc` are in
    #[arg(long, value_name = "DIR", default_value = "/")]
    root: PathBuf,
    /// What the model is called
    #[arg(long, value_name = "NAME", default_value = "discovered")]
    model: Name,
    /// Say instead what the node holds in this dialect: vfio, versions, mig or amd
    #[arg(long, value_name = "DIALECT", conflicts_with = "format")]
    dialect: Option<Dialect>,
    /// An interface of the compute fabric, in their order; the fastest ones unless told
    #[arg(long, value_name = "ADDRESS")]
    nic: Vec<PciAddress>,
    /// The module id of a GPU, if nobody else can tell
    #[arg(long, value_name = "ADDRESS=ID")]
    module: Vec<Module>,
    /// Functions with this id are GPUs, too
    #[arg(long, value_name = "VENDOR:DEVICE")]
    gpu_id: Vec<Id>,
    #[command(flatten)]
    pub(super) output: Output,
}

/// A GPU's place on its board.
#[derive(Clone, Copy)]
struct Module {
    address: PciAddress,
    number: u16,
}

impl FromStr for Module {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = "write it like 0000:1b:00.0=5";
        let (address, number) = text.split_once('=').ok_or(wrong)?;
        let address = address.parse().map_err(|_| wrong)?;
        Ok(Self { address, number: number.parse().map_err(|_| wrong)? })
    }
}

/// Vendor and device.
#[derive(Clone, Copy)]
struct Id(u16, u16);

impl FromStr for Id {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = "write it like 10de:2330";
        let (vendor, device) = text.split_once(':').ok_or(wrong)?;
        let number = |digits| u16::from_str_radix(digits, 16).map_err(|_| wrong);
        Ok(Self(number(vendor)?, number(device)?))
    }
}

impl Discover {
    pub(super) fn run(&self, out: &mut dyn Write) -> Result<Ended, Stop> {
        let boards = Nvml { root: &self.root };
        let found = observe::hardware::hardware(&self.root, &boards, &self.known())?;
        if let Some(dialect) = self.dialect {
            write!(out, "{}", self.text(&found, dialect)?)?;
            return Ok(Ended::Done);
        }
        let document = found.document(&self.model);
        match self.output.format {
            Format::Text => write_document(&document, out)?,
            format => words::data(out, format, &self.answer(&found, &document)?)?,
        }
        Ok(if document.is_whole() { Ended::Done } else { Ended::Found })
    }

    fn known(&self) -> Known {
        Known {
            layout: PciLayout { gpus: Vec::new(), nics: self.nic.clone() },
            modules: self.module.iter().map(|told| (told.address, told.number)).collect(),
            gpu_ids: self.gpu_id.iter().map(|id| (id.0, id.1)).collect(),
        }
    }

    fn text(&self, found: &Hardware, dialect: Dialect) -> Result<String, Stop> {
        match dialect {
            Dialect::Vfio if found.order_is_known => Ok(found.vfio()),
            Dialect::Vfio => Err(Stop::argument(
                "order-unknown",
                "it is not known which GPU has which module id".to_owned(),
                "see why by `bulkhead discover`, or name them by --module",
            )),
            Dialect::Mig => found.mig().map_err(|silence| {
                Stop::argument(
                    "boards-unknown",
                    format!("how GPUs are cut is not known: {silence}"),
                    "see what is missing by `bulkhead discover`",
                )
            }),
            Dialect::Versions => Ok(found.versions_text()),
            Dialect::Amd => Ok(found.amd(&self.root)?),
            _ => Err(Stop::argument(
                "not-hardware",
                format!("a node's hardware says nothing in {dialect}"),
                "ask for vfio, versions, mig or amd",
            )),
        }
    }

    fn answer<'a>(
        &'a self,
        found: &'a Hardware,
        document: &'a Document,
    ) -> Result<Answer<'a>, Stop> {
        let beneath = found.beneath.iter().map(|(bridge, below)| {
            (bridge.to_string(), below.iter().map(PciAddress::to_string).collect())
        });
        let mut texts = BTreeMap::new();
        for dialect in [Dialect::Versions, Dialect::Amd] {
            texts.insert(dialect, self.text(found, dialect)?);
        }
        // What cannot be said is noted, and is no reason to say nothing.
        for dialect in [Dialect::Vfio, Dialect::Mig] {
            texts.extend(self.text(found, dialect).ok().map(|text| (dialect, text)));
        }
        Ok(Answer {
            model: &self.model,
            document: &document.text,
            functions: FunctionView::all(found),
            beneath: beneath.collect(),
            notes: document.notes.iter().map(NoteView::of).collect(),
            texts,
        })
    }
}

/// Notes stand in the document, where they are seen by whoever gets it.
fn write_document(document: &Document, out: &mut dyn Write) -> io::Result<()> {
    for note in &document.notes {
        for line in words::wrapped(&note.to_string(), 0) {
            writeln!(out, "{DIM}# {line}{DIM:#}")?;
        }
    }
    write!(out, "spec:\n{}", document.text)
}
