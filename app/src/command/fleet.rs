//! `bulkhead fleet`: fleets made up, and fleets shown.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use clap::{Args, Subcommand};
use intent::generate::{self, Wish};
use model::{DeviceAt, Dialect, PodId, SiteId, SwitchRole};
use serde::Serialize;

use super::Output;
use super::render::Unwritable;
use crate::documents::Documents;
use crate::ending::{Ended, Stop};
use crate::words::{
    self, Format, HEAD, NAME, Table, aside, cell, examples, number, painted, plural, some,
};

/// Make a fleet up, or show one
#[derive(Subcommand)]
#[command(after_help = examples!(
    "bulkhead fleet generate --gpus 1024 --workload > cluster.yaml" => "make a cluster up",
    "bulkhead fleet show cluster.yaml" => "see what is in it",
))]
pub(crate) enum Fleet {
    Generate(Generate),
    Show(Show),
}

/// Write a fleet document of realistic shape, the same for the same wish
///
/// HGX nodes behind leaves of both dialects, and NVL72 racks whose DPUs judge their packets.
#[derive(Args)]
#[command(after_help = examples!(
    "bulkhead fleet generate --gpus 102400 > fleet.yaml" => "a large fleet in a few lines",
    "bulkhead fleet generate --gpus 1024 --sites 2 --nvl72 25 --workload > cluster.yaml"
        => "two sites, a quarter of it NVL72, with tenants and jobs",
    "bulkhead fleet generate --gpus 102400 --pod-gpus 16384 > fleet.yaml"
        => "pods in which the largest gangs find room",
))]
pub(crate) struct Generate {
    /// How many GPUs; rounded up to whole nodes
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=4_000_000))]
    gpus: u32,
    /// How many of a hundred GPUs are in NVL72 racks
    #[arg(long, value_name = "PERCENT", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=100))]
    nvl72: u32,
    /// How many sites share them
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    sites: u32,
    /// How many GPUs a full pod has; rounded up to whole racks [default: 2048, NVL72 2304]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pod_gpus: Option<u32>,
    /// Configure all layers, not the network alone
    #[arg(long)]
    layers: bool,
    /// Add tenants and jobs that use most of the fleet
    #[arg(long)]
    workload: bool,
    /// How many tenants the workload has
    #[arg(long, value_name = "COUNT", default_value_t = 10, requires = "workload", value_parser = clap::value_parser!(u32).range(1..=5000))]
    tenants: u32,
    /// How many jobs the workload has, if there are GPUs for them
    #[arg(long, value_name = "COUNT", default_value_t = 100, requires = "workload", value_parser = clap::value_parser!(u32).range(0..=50_000))]
    jobs: u32,
    /// What the workload's chance is made of
    #[arg(long, value_name = "NUMBER", default_value_t = 1, requires = "workload")]
    seed: u64,
    /// Write into this file instead of printing
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Show the sites, pods, nodes, switches and GPUs that the documents describe
#[derive(Args)]
#[command(after_help = examples!(
    "bulkhead fleet show cluster.yaml" => "pods, models and switches as tables",
    "bulkhead fleet show cluster.yaml --devices" => "every device that is configured",
    "bulkhead fleet show cluster.yaml -o json" => "the same for programs",
))]
pub(crate) struct Show {
    #[command(flatten)]
    documents: Documents,
    /// List every device that is configured
    #[arg(long)]
    devices: bool,
    #[command(flatten)]
    output: Output,
}

impl Fleet {
    pub(super) fn run(&self, out: &mut dyn Write) -> Result<Ended, Stop> {
        match self {
            Self::Generate(generate) => generate.run(out),
            Self::Show(show) => show.run(out),
        }
    }

    pub(super) const fn format(&self) -> Format {
        match self {
            Self::Generate(_) => Format::Text,
            Self::Show(show) => show.output.format,
        }
    }
}

impl Generate {
    fn run(&self, out: &mut dyn Write) -> Result<Ended, Stop> {
        let wish = Wish {
            gpus: self.gpus,
            nvl72_percent: self.nvl72,
            sites: self.sites,
            pod_gpus: self.pod_gpus,
            layers: self.layers,
            tenants: self.tenants,
            jobs: self.jobs,
            seed: self.seed,
        };
        let mut text = generate::fleet(&wish);
        if self.workload {
            text.push_str(&generate::workload(&wish));
        }
        match &self.out {
            None => write!(out, "{text}")?,
            Some(path) => {
                fs::write(path, text)
                    .map_err(|source| Unwritable { path: path.clone(), source })?;
                aside(format_args!("Wrote {}.", path.display()));
            }
        }
        Ok(Ended::Done)
    }
}

impl Show {
    fn run(&self, out: &mut dyn Write) -> Result<Ended, Stop> {
        let intent = self.documents.alone()?;
        let view = FleetView::of(&intent.fleet);
        match self.output.format {
            Format::Text if self.devices => view.write_devices(out)?,
            Format::Text => view.write(out)?,
            format => words::data(out, format, &view)?,
        }
        Ok(Ended::Done)
    }
}

/// A fleet as people and programs read it.
#[derive(Serialize)]
pub(super) struct FleetView {
    name: String,
    gpus: usize,
    nodes: usize,
    sites: Vec<SiteView>,
    pods: Vec<PodView>,
    models: Vec<ModelView>,
    devices: Vec<DeviceView>,
}

#[derive(Serialize)]
struct SiteView {
    name: String,
    kind: model::SiteKind,
    jurisdiction: String,
    cores: usize,
}

#[derive(Serialize)]
struct PodView {
    name: String,
    site: String,
    jurisdiction: String,
    nodes: usize,
    gpus: usize,
    leaves: usize,
    spines: usize,
    /// How many nodes are judged where.
    judged: BTreeMap<String, usize>,
}

#[derive(Serialize)]
struct ModelView {
    name: String,
    product: String,
    board: String,
    gpus: u16,
    nics: String,
    nodes: usize,
}

#[derive(Serialize)]
struct DeviceView {
    name: String,
    role: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pod: Option<String>,
    dialects: Vec<Dialect>,
    #[serde(skip_serializing_if = "Option::is_none")]
    loopback: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    asn: Option<u32>,
}

impl FleetView {
    pub(super) fn of(fleet: &model::Fleet) -> Self {
        let sites = (0..).map(SiteId).zip(&fleet.sites);
        let pods = (0..).map(PodId).zip(&fleet.pods);
        Self {
            name: fleet.name.to_string(),
            gpus: fleet.nodes.iter().map(|node| gpus(fleet, node)).sum(),
            nodes: fleet.nodes.len(),
            sites: sites
                .map(|(id, site)| SiteView {
                    name: site.name.to_string(),
                    kind: site.kind,
                    jurisdiction: site.jurisdiction.to_string(),
                    cores: fleet
                        .switches
                        .iter()
                        .filter(|switch| switch.site == id && switch.role == SwitchRole::Core)
                        .count(),
                })
                .collect(),
            pods: pods.map(|(id, _)| PodView::of(fleet, id)).collect(),
            models: models(fleet),
            devices: fleet.devices().map(|id| DeviceView::of(fleet, id)).collect(),
        }
    }

    /// Tables of pods, models and switches.
    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let names = self.sites.iter().map(|site| {
            let kind = match site.kind {
                model::SiteKind::Core => "core",
                model::SiteKind::Edge => "edge",
            };
            format!("{} ({kind}, {})", site.name, site.jurisdiction)
        });
        writeln!(
            out,
            "{HEAD}Fleet {}{HEAD:#}: {} on {} in {}; {} {}.",
            self.name,
            plural(self.gpus, "GPU"),
            plural(self.nodes, "node"),
            plural(self.pods.len(), "pod"),
            if self.sites.len() == 1 { "site" } else { "sites" },
            some(names, 6),
        )?;
        writeln!(out)?;
        self.write_pods(out)?;
        writeln!(out)?;
        self.write_models(out)?;
        writeln!(out)?;
        self.write_switches(out)
    }

    fn write_pods(&self, out: &mut dyn Write) -> io::Result<()> {
        let head = ["pod", "nodes", "gpus", "leaves", "spines", "judged"];
        let mut table = Table::with_head(2, &head);
        for pod in &self.pods {
            let judged = pod.judged.iter();
            let judged = judged.map(|(place, nodes)| format!("{place} {nodes}"));
            table.push(vec![
                painted(NAME, &pod.name),
                number(pod.nodes),
                number(pod.gpus),
                number(pod.leaves),
                number(pod.spines),
                cell(some(judged, 4)),
            ]);
        }
        table.write(out)
    }

    fn write_models(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut table =
            Table::with_head(2, &["node model", "nodes", "gpus each", "product", "nics"]);
        for model in &self.models {
            table.push(vec![
                painted(NAME, &model.name),
                number(model.nodes),
                number(model.gpus.into()),
                cell(&model.product),
                cell(&model.nics),
            ]);
        }
        table.write(out)
    }

    fn write_switches(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut kinds: BTreeMap<(&str, String), usize> = BTreeMap::new();
        for device in &self.devices {
            *kinds.entry((device.role, dialects(device))).or_default() += 1;
        }
        let mut table = Table::with_head(2, &["devices", "count", "dialects"]);
        for ((role, dialects), count) in kinds {
            table.push(vec![painted(NAME, role), number(count), cell(dialects)]);
        }
        table.write(out)
    }

    fn write_devices(&self, out: &mut dyn Write) -> io::Result<()> {
        let head = ["device", "role", "pod", "loopback", "as", "dialects"];
        let mut table = Table::with_head(0, &head);
        for device in &self.devices {
            table.push(vec![
                painted(NAME, &device.name),
                cell(device.role),
                cell(device.pod.as_deref().unwrap_or("-")),
                cell(device.loopback.as_deref().unwrap_or("-")),
                cell(device.asn.map_or("-".into(), |asn| asn.to_string())),
                cell(dialects(device)),
            ]);
        }
        table.write(out)
    }
}

impl PodView {
    fn of(fleet: &model::Fleet, id: PodId) -> Self {
        let pod = &fleet.pods[id.index()];
        let site = &fleet.sites[pod.site.index()];
        let mut view = Self {
            name: pod.name.to_string(),
            site: site.name.to_string(),
            jurisdiction: site.jurisdiction.to_string(),
            nodes: 0,
            gpus: 0,
            leaves: 0,
            spines: 0,
            judged: BTreeMap::new(),
        };
        for node in fleet.nodes.iter().filter(|node| node.pod == id) {
            view.nodes += 1;
            view.gpus += gpus(fleet, node);
            *view.judged.entry(node.enforcement.to_string()).or_default() += 1;
        }
        for switch in fleet.switches.iter().filter(|switch| switch.pod == Some(id)) {
            match switch.role {
                SwitchRole::Leaf => view.leaves += 1,
                SwitchRole::Spine => view.spines += 1,
                SwitchRole::Core => {}
            }
        }
        view
    }
}

impl DeviceView {
    fn of(fleet: &model::Fleet, device: model::DeviceId) -> Self {
        let vtep = fleet.vtep(device);
        let (role, pod) = match fleet.at(device) {
            DeviceAt::Switch(switch) => {
                let role = match switch.role {
                    SwitchRole::Leaf => "leaf",
                    SwitchRole::Spine => "spine",
                    SwitchRole::Core => "core",
                };
                (role, switch.pod)
            }
            DeviceAt::Node(node) => ("node", Some(node.pod)),
            DeviceAt::Manager(_) => ("manager", None),
        };
        Self {
            name: fleet.device_name(device).to_string(),
            role,
            pod: pod.map(|pod| fleet.pods[pod.index()].name.to_string()),
            dialects: fleet.dialects(device).collect(),
            loopback: vtep.map(|vtep| vtep.address.to_string()),
            asn: vtep.map(|vtep| vtep.asn.0),
        }
    }
}

fn gpus(fleet: &model::Fleet, node: &model::Node) -> usize {
    fleet.node_models[node.model.index()].gpus.into()
}

fn models(fleet: &model::Fleet) -> Vec<ModelView> {
    let mut nodes = vec![0; fleet.node_models.len()];
    for node in &fleet.nodes {
        nodes[node.model.index()] += 1;
    }
    let models = fleet.node_models.iter().zip(nodes);
    models
        .map(|(model, nodes)| ModelView {
            name: model.name.to_string(),
            product: model.gpu.product.to_string(),
            board: model.gpu.board.to_string(),
            gpus: model.gpus,
            nics: nics(model),
            nodes,
        })
        .collect()
}

/// `8 x 400Gbps`.
fn nics(model: &model::NodeModel) -> String {
    let mut rates: BTreeMap<u64, usize> = BTreeMap::new();
    for nic in &model.nics {
        *rates.entry(nic.rate_bps).or_default() += 1;
    }
    let rates = rates.iter();
    some(rates.map(|(&bps, count)| format!("{count} x {}", model::Rate { bps })), 4)
}

fn dialects(device: &DeviceView) -> String {
    some(&device.dialects, 4)
}
