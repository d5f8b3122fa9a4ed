use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use model::{Dialect, Name, PciAddress, PciLayout};
use observe::hardware::{
    Boards, Caution, Document, Found, Hardware, Kind, Known, Note, Nvml, Told,
};
use serde::Serialize;

use super::Output;
use crate::ending::{Ended, Stop};
use crate::words::{self, DIM, Format, examples};

/// Look at this node's hardware, and write it down as a model for a Fleet document
///
/// GPUs, interfaces and their virtual functions are read from sysfs, with their IOMMU groups, NUMA
/// nodes, drivers and the bridges above them; so are the versions of what runs here. Nothing is
/// guessed silently: what was inferred, is unknown or was left out is noted above the model. Exits
/// with 1 if something in it has to be filled in first.
#[derive(Args)]
#[command(after_help = examples!(
    "bulkhead discover --model hgx-h100" => "this node, as a model of that name",
    "bulkhead discover --dialect vfio" => "what this node holds, as `bulkhead read` takes it",
    "bulkhead discover --root /mnt/node-7 -o json" => "a node whose files are elsewhere, for programs",
    "bulkhead discover --module 0000:1b:00.0=5 --module 0000:43:00.0=7"
        => "with module ids as `nvidia-smi -q` shows them",
))]
pub(crate) struct Discover {
    /// The folder that the node's `sys` and `proc` are in
    #[arg(long, value_name = "DIR", default_value = "/")]
    root: PathBuf,
    /// What the model is called
    #[arg(long, value_name = "NAME", default_value = "discovered")]
    model: Name,
    /// Say instead what the node holds in this dialect: vfio, versions or amd
    #[arg(long, value_name = "DIALECT")]
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

#[derive(Serialize)]
struct Answer<'a> {
    model: &'a Name,
    /// Lines for `spec` of a Fleet document.
    document: &'a str,
    functions: Vec<FunctionView<'a>>,
    beneath: BTreeMap<String, Vec<String>>,
    notes: Vec<NoteView<'a>>,
    texts: BTreeMap<Dialect, String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FunctionView<'a> {
    address: String,
    is: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    number: Option<u16>,
    id: String,
    iommu_group: u16,
    numa_node: u16,
    driver: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mac: Option<&'a str>,
}

#[derive(Serialize)]
struct NoteView<'a> {
    caution: &'static str,
    said: &'a str,
}

impl Discover {
    pub(super) fn run(&self, out: &mut dyn Write) -> Result<Ended, Stop> {
        let nvml = Nvml { root: &self.root };
        let told = Told(self.module.iter().map(|told| (told.address, told.number)).collect());
        let boards: &dyn Boards = if self.module.is_empty() { &nvml } else { &told };
        let found = observe::hardware::hardware(&self.root, boards, &self.known())?;
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
            gpu_ids: self.gpu_id.iter().map(|id| (id.0, id.1)).collect(),
        }
    }

    fn text(&self, found: &Hardware, dialect: Dialect) -> Result<String, Stop> {
        match dialect {
            Dialect::Vfio => Ok(found.vfio()),
            Dialect::Versions => Ok(found.versions_text()),
            Dialect::Amd => Ok(found.amd(&self.root)?),
            _ => Err(Stop::argument(
                "not-hardware",
                format!("a node's hardware says nothing in {dialect}"),
                "ask for vfio, versions or amd",
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
        for dialect in [Dialect::Vfio, Dialect::Versions, Dialect::Amd] {
            texts.insert(dialect, self.text(found, dialect)?);
        }
        Ok(Answer {
            model: &self.model,
            document: &document.text,
            functions: found.functions.iter().map(FunctionView::of).collect(),
            beneath: beneath.collect(),
            notes: document.notes.iter().map(NoteView::of).collect(),
            texts,
        })
    }
}

impl<'a> FunctionView<'a> {
    fn of((address, function): (&PciAddress, &'a Found)) -> Self {
        let (is, number) = match function.kind {
            Some(Kind::Gpu(gpu)) => ("gpu", Some(gpu + 1)),
            Some(Kind::Nic(nic)) => ("nic", Some(nic)),
            Some(Kind::Vf(_, vf)) => ("vf", Some(vf)),
            Some(Kind::Other) | None => ("other", None),
        };
        Self {
            address: address.to_string(),
            is,
            number,
            id: format!("{:04x}:{:04x}", function.vendor, function.device),
            iommu_group: function.group,
            numa_node: function.numa,
            driver: function.driver.as_deref(),
            mac: function.mac.as_deref(),
        }
    }
}

impl<'a> NoteView<'a> {
    fn of(note: &'a Note) -> Self {
        Self { caution: Caution::as_str(note.caution), said: &note.said }
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
