//! What the node holds, in the words of the dialects.

use std::fmt::Write as _;
use std::path::Path;

use model::PciAddress;

use super::Hardware;
use super::boards::Silence;
use super::files::{Files, Unread};
use super::function::{Kind, PciFunction};

/// The driver through which a function is given to a virtual machine.
const VFIO: &str = "vfio-pci";

impl Hardware {
    /// Its functions, what joins them, and their drivers, in the dialect `vfio`.
    #[must_use]
    pub fn vfio(&self) -> String {
        let mut text = String::new();
        // Writing into a String cannot fail.
        for (address, function) in self.in_order() {
            let PciFunction { group, numa, .. } = function;
            let what = what(function.kind);
            let _ = writeln!(text, "function {address} {what} group {group} numa {numa}");
        }
        for (bridge, below) in &self.beneath {
            for address in below {
                let _ = writeln!(text, "beneath {bridge} {address}");
            }
        }
        for (address, function) in self.in_order() {
            let is_gpu = matches!(function.kind, Some(Kind::Gpu(_)));
            let driver = function.driver.as_deref().filter(|driver| is_gpu || *driver == VFIO);
            if let Some(driver) = driver {
                let _ = writeln!(text, "bind {address} {driver}");
            }
        }
        text
    }

    /// What runs on it, in the dialect `versions`.
    #[must_use]
    pub fn versions_text(&self) -> String {
        let versions = &self.versions;
        let lines = [
            ("driver", versions.driver.as_str()),
            ("kernel", &versions.kernel),
            ("firmware", &versions.firmware),
            ("toolkit", &versions.toolkit),
            ("secure-boot", self.secure_boot()),
        ];
        let said = lines.into_iter().filter(|(_, value)| !value.is_empty());
        said.map(|(key, value)| format!("{key} {value}\n")).collect()
    }

    const fn secure_boot(&self) -> &'static str {
        match (self.secure_boot_is_known, self.versions.secure_boot) {
            (false, _) => "",
            (true, true) => "yes",
            (true, false) => "no",
        }
    }

    /// How its AMD GPUs are divided, in the dialect `amd`. A GPU that its own driver does not
    /// drive says nothing.
    pub fn amd(&self, root: &Path) -> Result<String, Unread> {
        let files = Files { root };
        let mut text = String::new();
        for (address, function) in self.in_order() {
            let Some(Kind::Gpu(gpu)) = function.kind else { continue };
            let mode = |what| {
                files.text(&format!("sys/bus/pci/devices/{address}/current_{what}_partition"))
            };
            if let (Some(compute), Some(memory)) = (mode("compute")?, mode("memory")?) {
                let _ = writeln!(text, "gpu {} compute {compute} memory {memory}", gpu + 1);
            }
        }
        Ok(text)
    }

    /// How its NVIDIA GPUs are cut, in the dialect `mig`. A GPU that its own driver does not drive
    /// says nothing; one of which nobody knows it has a line that no reader takes for an answer.
    ///
    /// # Errors
    /// If nobody says anything of any GPU, or it is not known which is which.
    pub fn mig(&self) -> Result<String, Silence> {
        self.account.as_ref().map_err(Silence::clone)?;
        if !self.order_is_known {
            return Err(Silence::Failed(
                "it is not known which GPU has which module id".to_owned(),
            ));
        }
        Ok((0..self.layout.gpus.len() as u16).map(|gpu| self.cut(gpu)).collect())
    }

    fn cut(&self, gpu: u16) -> String {
        let number = gpu + 1;
        let cut = match self.card(gpu).map(|card| &card.cut) {
            Some(Some(cut)) => cut,
            None if !self.is_driven(gpu) => return String::new(),
            Some(None) | None => return format!("gpu {number} mig unknown\n"),
        };
        let mut text = String::new();
        if cut.is_on {
            let _ = writeln!(text, "gpu {number} mig on");
        }
        for instance in &cut.instances {
            let profile = self.profile(gpu, instance);
            let _ = writeln!(text, "instance {number} {profile} start {}", instance.start);
        }
        text
    }

    /// GPUs first, then interfaces, then their virtual functions, then all else.
    fn in_order(&self) -> Vec<(&PciAddress, &PciFunction)> {
        let mut functions: Vec<_> = self.functions.iter().collect();
        functions.sort_by_key(|(address, function)| (function.kind, **address));
        functions
    }
}

fn what(kind: Option<Kind>) -> String {
    match kind {
        Some(Kind::Gpu(gpu)) => format!("gpu {}", gpu + 1),
        Some(Kind::Nic(nic)) => format!("nic {nic}"),
        Some(Kind::Vf(nic, vf)) => format!("vf {nic} {vf}"),
        Some(Kind::Other) | None => "other".to_owned(),
    }
}
