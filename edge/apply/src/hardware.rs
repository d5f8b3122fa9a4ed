//! Drivers of PCI functions: who may reach a function at all.
//!
//! A function without a driver is nobody's; one at `vfio-pci` is a virtual machine's; one at its
//! own driver is the host's. Deny first: whatever has a driver that it should not have loses it
//! before any function gets one. Functions that the text does not name are not touched.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use model::{Dialect, PciAddress, PciLayout};
use observe::hardware::{Hardware, Known, Nobody, Unread, hardware};

/// A name that no driver has, so that none takes the function until it is told otherwise (as the
/// kernel's documentation of `driver_override` proposes).
const NOBODY: &str = "none";

/// Writes that the kernel acts on.
pub trait Writes {
    /// Writes a value into a file that is there already.
    fn write(&mut self, file: &Path, value: &str) -> io::Result<()>;
}

/// The kernel's own files.
pub struct Sysfs;

impl Writes for Sysfs {
    fn write(&mut self, file: &Path, value: &str) -> io::Result<()> {
        use io::Write as _;
        // One call of write(2) for the whole value, or the kernel takes the first part for all.
        fs::OpenOptions::new().write(true).open(file)?.write_all(value.as_bytes())
    }
}

/// What became of a function's driver.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DriverChange {
    /// Which function.
    pub address: PciAddress,
    /// Its driver before.
    pub from: Option<String>,
    /// Its driver now.
    pub to: Option<String>,
}

/// Why the drivers are not as they should be.
#[derive(Debug, thiserror::Error)]
pub enum Unbound {
    /// The node could not be looked at.
    #[error(transparent)]
    Unread(#[from] Unread),
    /// The text has a line that says nothing about drivers.
    #[error("line {line} says `{text}`, which is no function and no driver")]
    Line {
        /// Its number.
        line: usize,
        /// The line.
        text: String,
    },
    /// The node has other hardware than the text is about. Nothing was touched.
    #[error(
        "the node lacks `{statement}`: its hardware is not as the fleet's document says; discover \
         it again, and plan anew"
    )]
    OtherHardware {
        /// What was said of it.
        statement: String,
    },
    /// The kernel has no such driver.
    #[error(
        "there is no {}: the kernel has no driver {driver}; load it by `modprobe {driver}`, or \
         install a kernel that has it",
        path.display()
    )]
    NoDriver {
        /// Which one.
        driver: String,
        /// Where it would be.
        path: PathBuf,
    },
    /// The kernel refused a change.
    #[error("cannot write `{value}` into {}", path.display())]
    Refused {
        /// The file.
        path: PathBuf,
        /// What was written.
        value: String,
        /// What the kernel says.
        source: io::Error,
    },
    /// The kernel took every change, and the driver did not do what it should.
    #[error("{address} should be driven by {wanted} and is by {found}; the kernel's log says why")]
    Unwilling {
        /// Which function.
        address: PciAddress,
        /// The driver that it should have.
        wanted: String,
        /// The driver that it has.
        found: String,
    },
}

/// Makes every function that the text names have the driver that it says, or none. What is so
/// already is not touched.
pub fn hold(
    root: &Path,
    text: &str,
    kernel: &mut dyn Writes,
) -> Result<Vec<DriverChange>, Unbound> {
    let wanted = Wanted::read(text)?;
    let found = wanted.look(root)?;
    let held = found.vfio();
    let lacks = read::differences(Dialect::Vfio, text, &held)
        .into_iter()
        .find(|difference| difference.is_missing && difference.statement.starts_with("function "));
    let lacks = lacks.map(|difference| difference.statement);
    if let Some(statement) = lacks.or_else(|| wanted.stranger(&found)) {
        return Err(Unbound::OtherHardware { statement });
    }
    let changes = wanted.changes(&found);
    let mut hands = Hands { root, kernel };
    for change in changes.iter().filter(|change| change.from.is_some()) {
        hands.take_away(change.address)?;
    }
    for change in &changes {
        if let Some(driver) = &change.to {
            hands.give(change.address, driver)?;
        }
    }
    Ok(changes)
}

/// What a text says.
struct Wanted {
    layout: PciLayout,
    /// Every function that it names, and its driver.
    drivers: BTreeMap<PciAddress, Option<String>>,
}

impl Wanted {
    fn read(text: &str) -> Result<Self, Unbound> {
        let mut numbered: [BTreeMap<u16, PciAddress>; 2] = Default::default();
        let mut drivers: BTreeMap<PciAddress, Option<String>> = BTreeMap::new();
        for (at, line) in text.lines().enumerate() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let unknown = || Unbound::Line { line: at + 1, text: line.to_owned() };
            let address = |text: &str| text.parse::<PciAddress>().map_err(|_| unknown());
            match words[..] {
                [] => {}
                [word, ..] if word.starts_with('#') => {}
                ["function", pci, kind @ ("gpu" | "nic"), number, ..] => {
                    let number = number.parse().map_err(|_| unknown())?;
                    numbered[usize::from(kind == "nic")].insert(number, address(pci)?);
                    drivers.entry(address(pci)?).or_default();
                }
                ["function", pci, "vf", ..] => drop(drivers.entry(address(pci)?).or_default()),
                ["bind", pci, driver] => {
                    drivers.insert(address(pci)?, Some(driver.to_owned()));
                }
                _ => return Err(unknown()),
            }
        }
        let [gpus, nics] = numbered.map(|numbered| numbered.into_values().collect());
        Ok(Self { layout: PciLayout { gpus, nics }, drivers })
    }

    /// The node, with its functions numbered as the text does. The GPUs' driver is not asked about
    /// them: whoever asks it holds them, and they may be about to lose it.
    fn look(&self, root: &Path) -> Result<Hardware, Unread> {
        let known = Known { layout: self.layout.clone(), ..Known::default() };
        hardware(root, &Nobody, &known)
    }

    /// A function that is to have a driver, and that is not one of the node's.
    fn stranger(&self, found: &Hardware) -> Option<String> {
        let is_strange = |address: &PciAddress| !found.functions.contains_key(address);
        let (address, driver) = self.drivers.iter().find(|(address, _)| is_strange(address))?;
        Some(format!("bind {address} {}", driver.as_deref().unwrap_or_default()))
    }

    /// Functions whose driver is another one. An interface keeps the host's driver if it is to
    /// have none: only what a virtual machine has is taken from it.
    fn changes(&self, found: &Hardware) -> Vec<DriverChange> {
        let change = |(address, wanted): (&PciAddress, &Option<String>)| {
            let has = found.functions.get(address)?.driver.clone();
            let is_gpu = self.layout.gpus.contains(address);
            let is_free = wanted.is_none() && !is_gpu && has.as_deref() != Some("vfio-pci");
            let differs = has != *wanted && !is_free;
            differs.then(|| DriverChange { address: *address, from: has, to: wanted.clone() })
        };
        self.drivers.iter().filter_map(change).collect()
    }
}

/// Who changes drivers.
struct Hands<'a> {
    root: &'a Path,
    kernel: &'a mut dyn Writes,
}

impl Hands<'_> {
    /// The function has no driver, and gets none by itself.
    fn take_away(&mut self, address: PciAddress) -> Result<(), Unbound> {
        let folder = self.folder(address);
        self.write(folder.join("driver_override"), NOBODY)?;
        self.write(folder.join("driver/unbind"), &address.to_string())?;
        self.expect(address, None)
    }

    fn give(&mut self, address: PciAddress, driver: &str) -> Result<(), Unbound> {
        let path = self.root.join("sys/bus/pci/drivers").join(driver);
        if !path.exists() {
            return Err(Unbound::NoDriver { driver: driver.to_owned(), path });
        }
        self.write(self.folder(address).join("driver_override"), driver)?;
        let probe = self.root.join("sys/bus/pci/drivers_probe");
        self.write(probe, &address.to_string())?;
        self.expect(address, Some(driver))
    }

    fn write(&mut self, path: PathBuf, value: &str) -> Result<(), Unbound> {
        self.kernel.write(&path, value).map_err(|source| {
            let value = value.to_owned();
            Unbound::Refused { path, value, source }
        })
    }

    /// Looks whether the kernel did it: a probe that fails is no error of the write.
    fn expect(&self, address: PciAddress, wanted: Option<&str>) -> Result<(), Unbound> {
        let link = fs::read_link(self.folder(address).join("driver")).ok();
        let found = link.as_deref().and_then(Path::file_name).and_then(|name| name.to_str());
        if found == wanted {
            return Ok(());
        }
        let word = |driver: Option<&str>| driver.unwrap_or("nothing").to_owned();
        Err(Unbound::Unwilling { address, wanted: word(wanted), found: word(found) })
    }

    fn folder(&self, address: PciAddress) -> PathBuf {
        self.root.join("sys/bus/pci/devices").join(address.to_string())
    }
}
