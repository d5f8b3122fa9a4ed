//! `bulkhead capacity`: which GPUs are free, used, fragmented or stranded.

use std::collections::BTreeMap;
use std::io::{self, Write};

use clap::Args;
use control::Placed;
use plan::place::{Capacities, PodLine, Split, TenantLine};
use serde::Serialize;

use super::Output;
use crate::documents::Documents;
use crate::ending::{Ended, Stop};
use crate::state::State;
use crate::words::{
    self, Cell, DIM, Format, HEAD, NAME, Table, cell, examples, grouped, number, painted, plural,
};

/// Show which GPUs are free, used, fragmented or stranded, by pod and by tenant
///
/// Every GPU counts once. Used: by jobs. Resting: of jobs that ended and that somebody may still
/// hold. Unusable: on nodes that take no work. Stranded: free, but on a node or below a leaf that
/// one tenant has for itself. Fragmented: free, on nodes that are partly used. Free: on empty
/// nodes.
#[derive(Args)]
#[command(after_help = examples!(
    "bulkhead capacity cluster.yaml" => "the fleet, its pods and the tenants that hold most",
    "bulkhead capacity cluster.yaml -o json" => "all of them, for programs",
))]
pub(crate) struct Capacity {
    #[command(flatten)]
    documents: Documents,
    #[command(flatten)]
    state: State,
    #[command(flatten)]
    pub(super) output: Output,
}

#[derive(Serialize)]
struct Answer {
    #[serde(flatten)]
    capacities: Capacities,
    /// Jobs of the documents that found no place.
    waiting: Vec<Waiting>,
}

#[derive(Serialize)]
struct Waiting {
    job: String,
    code: &'static str,
    why: String,
}

/// More pods or tenants than this are for programs.
const MOST: usize = 24;

const SPLIT: [&str; 7] = ["gpus", "used", "resting", "unusable", "stranded", "fragmented", "free"];

impl Capacity {
    pub(super) fn run(&self, out: &mut dyn Write) -> Result<Ended, Stop> {
        let (intent, ledger) = self.documents.asked(&self.state)?;
        let placed = Placed::new(intent, &ledger).map_err(Stop::plan)?;
        let waiting = placed.waiting.iter().map(|(job, refusal)| Waiting {
            job: job.to_string(),
            code: refusal.code(),
            why: refusal.to_string(),
        });
        let answer =
            Answer { capacities: placed.ground().capacities(), waiting: waiting.collect() };
        match self.output.format {
            Format::Text => answer.write(out)?,
            format => words::data(out, format, &answer)?,
        }
        Ok(Ended::Done)
    }
}

impl Answer {
    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let Capacities { fleet, pods, tenants } = &self.capacities;
        let percent = (fleet.used * 100).checked_div(fleet.gpus).unwrap_or(0);
        let gpus = plural(fleet.gpus as usize, "GPU");
        writeln!(out, "{HEAD}{gpus}{HEAD:#}, {percent} % used.\n")?;
        write_pods(fleet, pods, out)?;
        write_tenants(tenants, out)?;
        self.write_waiting(out)
    }

    fn write_waiting(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        writeln!(out, "\n{HEAD}{} without a place{HEAD:#}", plural(self.waiting.len(), "job"))?;
        let mut table = Table::new(2);
        for one in self.waiting.iter().take(MOST) {
            table.push(vec![painted(NAME, &one.job), cell(one.code)]);
        }
        table.write(out)?;
        more(self.waiting.len(), out)
    }
}

/// The fleet, then each site with its pods.
fn write_pods(fleet: &Split, pods: &[PodLine], out: &mut dyn Write) -> io::Result<()> {
    let mut sites: BTreeMap<&str, Vec<&PodLine>> = BTreeMap::new();
    for pod in pods {
        sites.entry(pod.site.as_str()).or_default().push(pod);
    }
    let head = [&["place"][..], &SPLIT, &["in one leaf"]].concat();
    let mut table = Table::with_head(2, &head);
    table.push(row(painted(HEAD, "fleet"), fleet, None));
    let mut left = MOST;
    for (site, pods) in sites {
        let all = pods.iter().fold(Split::default(), |all, pod| all.with(pod.split));
        table.push(row(painted(HEAD, site), &all, None));
        for pod in pods.into_iter().take(left) {
            left -= 1;
            let largest = pod.largest_in_a_leaf;
            table.push(row(painted(NAME, format!("  {}", pod.pod)), &pod.split, Some(largest)));
        }
    }
    table.write(out)?;
    more(pods.len(), out)
}

fn row(name: Cell, split: &Split, largest: Option<u64>) -> Vec<Cell> {
    let Split { gpus, used, resting, unusable, stranded, fragmented, free } = *split;
    let numbers = [gpus, used, resting, unusable, stranded, fragmented, free];
    let numbers = numbers.into_iter().chain(largest).map(|gpus| number(gpus as usize));
    [name].into_iter().chain(numbers).collect()
}

/// Those that hold or strand most.
fn write_tenants(tenants: &[TenantLine], out: &mut dyn Write) -> io::Result<()> {
    let held = |line: &TenantLine| line.reserved + line.on_demand + line.preemptible;
    let mut tenants: Vec<&TenantLine> = tenants.iter().collect();
    tenants.sort_by_key(|line| std::cmp::Reverse((held(line), line.stranded)));
    let head =
        ["tenant", "grade", "quota", "bought", "reserved", "on demand", "preemptible", "stranded"];
    let mut table = Table::with_head(2, &head);
    let cap = |cap: Option<u32>| cap.map_or("-".to_owned(), |cap| grouped(cap as usize));
    for line in tenants.iter().take(MOST) {
        table.push(vec![
            painted(NAME, &line.tenant),
            cell(line.grade),
            cell(cap(line.quota)),
            cell(cap(line.reservation)),
            number(line.reserved as usize),
            number(line.on_demand as usize),
            number(line.preemptible as usize),
            number(line.stranded as usize),
        ]);
    }
    writeln!(out)?;
    table.write(out)?;
    more(tenants.len(), out)
}

fn more(all: usize, out: &mut dyn Write) -> io::Result<()> {
    match all.saturating_sub(MOST) {
        0 => Ok(()),
        more => {
            let more = grouped(more);
            writeln!(out, "  {DIM}and {more} more (`-o json` has them all){DIM:#}")
        }
    }
}
