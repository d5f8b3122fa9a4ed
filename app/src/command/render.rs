//! `bulkhead render`: the plan as the configuration of each device.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use control::Draft;
use model::{Artifact, Dialect};

use crate::documents::Documents;
use crate::ending::{Ended, Stop};
use crate::state::State;
use crate::words::{HEAD, examples, plural};

/// Say the plan to each device in its own dialect
///
/// Nothing is sent and nothing is judged; `verify` and `apply` do that.
#[derive(Args)]
#[command(after_help = examples!(
    "bulkhead render cluster.yaml --device leaf-1" => "the text that leaf-1 would hold",
    "bulkhead render cluster.yaml --dialect table" => "all tables of the packet program",
    "bulkhead render cluster.yaml --vcluster acme" => "values for a vCluster of tenant acme",
    "bulkhead render cluster.yaml --out configs" => "every text as a file: configs/leaf-1/nxos",
))]
pub(crate) struct Render {
    #[command(flatten)]
    documents: Documents,
    /// Only this device
    #[arg(long, value_name = "NAME")]
    device: Option<String>,
    /// Only this dialect, such as frr, table, vfio or slurm
    #[arg(long, value_name = "DIALECT")]
    dialect: Option<Dialect>,
    /// Print the values with which this tenant's control plane is a vCluster, and nothing else
    #[arg(long, value_name = "TENANT", conflicts_with_all = ["device", "dialect", "out"])]
    vcluster: Option<String>,
    /// Write files into this folder instead of printing
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    state: State,
}

/// A file that could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}", path.display())]
pub(super) struct Unwritable {
    pub(super) path: PathBuf,
    pub(super) source: io::Error,
}

impl Render {
    pub(super) fn run(&self, out: &mut dyn Write) -> Result<Ended, Stop> {
        let draft = self.documents.draft(&self.state)?;
        if let Some(tenant) = &self.vcluster {
            write!(out, "{}", vcluster(&draft, tenant)?)?;
            return Ok(Ended::Done);
        }
        let artifacts = self.chosen(&draft)?;
        let Some(folder) = &self.out else {
            return self.print(&draft, &artifacts, out);
        };
        for artifact in &artifacts {
            let name = draft.intent.fleet.device_name(artifact.device).as_str();
            write_file(&folder.join(name), artifact)?;
        }
        let count = plural(artifacts.len(), "file");
        writeln!(out, "Wrote {count} into {}.", folder.display())?;
        Ok(Ended::Done)
    }

    fn chosen(&self, draft: &Draft) -> Result<Vec<Artifact>, Stop> {
        let wanted = match &self.device {
            Some(name) => Some(draft.device(name).ok_or_else(|| no_device(name))?),
            None => None,
        };
        let (fleet, plan) = (&draft.intent.fleet, &draft.next.plan);
        let devices =
            fleet.devices().filter(|device| wanted.is_none_or(|wanted| wanted == *device));
        let artifacts = devices.flat_map(|device| {
            let dialects = fleet.dialects(device);
            dialects
                .filter(|dialect| self.dialect.is_none_or(|wanted| wanted == *dialect))
                .map(move |dialect| render::artifact(plan, device, dialect))
        });
        Ok(artifacts.collect())
    }

    /// One text alone is printed as it is, so that it can be read back.
    fn print(
        &self,
        draft: &Draft,
        artifacts: &[Artifact],
        out: &mut dyn Write,
    ) -> Result<Ended, Stop> {
        if let [only] = artifacts {
            write!(out, "{}", only.text())?;
            return Ok(Ended::Done);
        }
        for artifact in artifacts {
            let name = draft.intent.fleet.device_name(artifact.device);
            writeln!(out, "{HEAD}==> {name} {} <=={HEAD:#}", artifact.dialect)?;
            writeln!(out, "{}", artifact.text())?;
        }
        Ok(Ended::Done)
    }
}

/// A device that nobody configures.
pub(super) fn no_device(name: &str) -> Stop {
    Stop::argument(
        "device-unknown",
        format!("no device that is configured is called `{name}`"),
        "`bulkhead fleet show FILES --devices` lists them",
    )
}

/// Only a tenant with jobs has a namespace.
fn vcluster(draft: &Draft, tenant: &str) -> Result<String, Stop> {
    let name = tenant.parse().ok();
    let values = name.and_then(|name| render::vcluster_values(&draft.next.plan, &name));
    values.ok_or_else(|| {
        Stop::argument(
            "name-unknown",
            format!("`{tenant}` is no tenant with jobs"),
            "`bulkhead plan` names them",
        )
    })
}

fn write_file(folder: &Path, artifact: &Artifact) -> Result<(), Unwritable> {
    let path = folder.join(artifact.dialect.as_str());
    let written = fs::create_dir_all(folder).and_then(|()| fs::write(&path, artifact.text()));
    written.map_err(|source| Unwritable { path, source })
}
