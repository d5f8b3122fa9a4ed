//! The node as a model of a Fleet document.

use std::fmt::{Display, Write as _};

use model::{Name, PciAddress};

use super::function::PciFunction;
use super::number::in_words;
use super::products::named;
use super::{Caution, Hardware, Note};

/// What stands where nothing is known. It is no number, no rate, and for its blanks no name: no
/// document with it is accepted.
const UNKNOWN: &str = "fill this in";

/// A node model, and what a reader of it must know.
#[derive(Clone, Debug)]
pub struct Document {
    /// Lines of `spec` of a Fleet document, from `models` on.
    pub text: String,
    /// What in it is not simply read from the node.
    pub notes: Vec<Note>,
}

impl Document {
    /// Whether it can be used as it is: nothing in it has to be filled in by somebody, and nobody
    /// contradicted it.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        let is_contradicted = |note: &Note| note.caution == Caution::Contradiction;
        !self.text.contains(UNKNOWN) && !self.notes.iter().any(is_contradicted)
    }
}

impl Hardware {
    /// The node as a model with this name.
    #[must_use]
    pub fn document(&self, name: &Name) -> Document {
        let mut notes = self.notes.clone();
        let gpu = self.gpu(&mut notes);
        let nics = self.nics(&mut notes);
        let text = self.write(name, &gpu, &nics);
        Document { text, notes }
    }

    // Writing into a String cannot fail.
    fn write(&self, name: &Name, gpu: &str, nics: &str) -> String {
        let mut text = format!("  models:\n    nodes:\n      {name}:\n");
        let mut line = |key: &str, value: &str| {
            let _ = writeln!(text, "        {key}: {value}");
        };
        let (gpus, interfaces) = (&self.layout.gpus, &self.layout.nics);
        line("gpu", gpu);
        line("gpus", &gpus.len().to_string());
        let in_order = |said: String| match self.order_is_known {
            true => said,
            false => format!("{UNKNOWN:?}"),
        };
        line("gpuPci", &in_order(quoted(gpus)));
        line("gpuIommuGroups", &in_order(self.each(gpus, |found| found.group)));
        line("gpuNumaNodes", &in_order(self.each(gpus, |found| found.numa)));
        line("nics", nics);
        line("nicPci", &quoted(interfaces));
        line("nicIommuGroups", &self.each(interfaces, |found| found.group));
        line("nicNumaNodes", &self.each(interfaces, |found| found.numa));
        line("versions", &self.versions_in_document());
        text
    }

    fn gpu(&self, notes: &mut Vec<Note>) -> String {
        let count = self.layout.gpus.len();
        let mut gpus = self.layout.gpus.iter().filter_map(|gpu| self.functions.get(gpu));
        let Some(first) = gpus.next() else {
            notes.push(Caution::Unknown.note("there is no GPU that anybody knows"));
            return format!("{{product: {UNKNOWN:?}, board: {UNKNOWN:?}}}");
        };
        let id = |gpu: &PciFunction| format!("{:04x}:{:04x}", gpu.vendor, gpu.device);
        if let Some(other) = gpus.find(|gpu| id(gpu) != id(first)) {
            let said = format!("GPUs {} and {} are in one node", id(first), id(other));
            notes.push(Caution::LeftOut.note(said));
        }
        let id = id(first);
        let Some((product, board)) = named(first, count) else {
            notes.push(Caution::Unknown.note(format!("nobody listed what GPU {id} is called")));
            return format!("{{product: {id:?}, board: {UNKNOWN:?}}}");
        };
        notes.push(
            Caution::Inferred.note(format!(
                "{count} GPUs with id {id} are called {product}, on the board {board}"
            )),
        );
        format!("{{product: {product}, board: {board}}}")
    }

    fn nics(&self, notes: &mut Vec<Note>) -> String {
        let addresses = &self.layout.nics;
        let found: Vec<&PciFunction> =
            addresses.iter().filter_map(|nic| self.functions.get(nic)).collect();
        let rate = found.iter().filter_map(|nic| nic.rate_bps).min();
        let rate = rate.map_or(format!("{UNKNOWN:?}"), in_words);
        let vfs = found.iter().map(|nic| nic.vfs).min().unwrap_or_default();
        if found.iter().any(|nic| nic.vfs != vfs) {
            let said = format!("some interfaces can have more than {vfs} virtual functions");
            notes.push(Caution::LeftOut.note(said));
        }
        format!("{{count: {}, rate: {rate}, vfs: {vfs}}}", addresses.len())
    }

    fn each<T: Display>(
        &self,
        addresses: &[PciAddress],
        value: impl Fn(&PciFunction) -> T,
    ) -> String {
        let value = |address| match self.functions.get(address) {
            Some(found) => value(found).to_string(),
            None => format!("{UNKNOWN:?}"),
        };
        listed(addresses.iter().map(value))
    }

    fn versions_in_document(&self) -> String {
        let versions = &self.versions;
        let said = [
            ("driver", &versions.driver),
            ("kernel", &versions.kernel),
            ("firmware", &versions.firmware),
            ("toolkit", &versions.toolkit),
        ];
        let said = said.into_iter().filter(|(_, version)| !version.is_empty());
        // Some versions look like numbers.
        let mut pairs: Vec<String> =
            said.map(|(key, version)| format!("{key}: {version:?}")).collect();
        if self.secure_boot_is_known {
            pairs.push(format!("secureBoot: {}", versions.secure_boot));
        }
        format!("{{{}}}", pairs.join(", "))
    }
}

/// Addresses have colons, which mean something in YAML.
fn quoted(addresses: &[PciAddress]) -> String {
    listed(addresses.iter().map(|address| format!("\"{address}\"")))
}

fn listed(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(", "))
}
