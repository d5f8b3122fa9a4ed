//! Real packets, to see that the network does what the plan says.

mod answer;
mod matrix;

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use clap::{Args, Subcommand, ValueEnum};
use lab::{Crowd, Family, Probe, ProbeWay, Seen};

use super::Output;
use super::ca::CaFolder;
use crate::documents::Documents;
use crate::ending::{Ended, Stop};
use crate::state::State;
use crate::words::{DIM, Format, NOTE, aside, examples, grouped, plural};
use answer::Outcome;

/// More questions take hours, and say nothing that a part of them does not.
const MOST: usize = 200_000;

/// Try with real packets what the plan says
#[derive(Subcommand)]
#[command(after_help = examples!(
    "bulkhead test connectivity" => "who reaches whom in the lab",
    "bulkhead test connectivity cluster.yaml" => "who reaches whom in a fleet, through its agents",
))]
pub(crate) enum Test {
    Connectivity(Connectivity),
}

/// Send packets between all workloads: those arrive that should, and no others
///
/// From every workload to every other one: an echo, connections, datagrams and RoCEv2, in IPv4 and
/// IPv6. Each carries a token, so that workloads of the same address are not taken for each other.
/// For what does not arrive, the device that dropped it is named, and why.
/// Exits with 1 if a single one differs from the plan.
///
/// With documents, agents ask in the name of the workloads behind their ports, and nobody enters a
/// workload: the frames are judged as if the workload had sent them, and have a wrong checksum, so
/// that whoever receives one lets it fall without an answer. Without documents, the workloads of a
/// lab ask themselves.
#[derive(Args)]
#[command(after_help = examples!(
    "bulkhead test connectivity" => "all of it, in the lab called `lab`",
    "bulkhead test connectivity --lab small --only roce --only ipv6" => "a part of it",
    "bulkhead test connectivity cluster.yaml" => "a fleet that was applied, through its agents",
    "bulkhead test connectivity cluster.yaml --sample 2" => "at most two endpoints of each job",
    "bulkhead test connectivity --drops" => "for each pair, who dropped its packets and why",
    "bulkhead test connectivity -o json" => "every difference and every drop, for programs",
))]
pub(crate) struct Connectivity {
    /// The documents of a fleet, as they were applied: files, folders, or `-`
    #[arg(value_name = "FILES", conflicts_with = "lab")]
    files: Vec<PathBuf>,
    /// In which lab, if there are no documents
    #[arg(long, value_name = "NAME", default_value = "lab")]
    lab: String,
    /// Only these; all if there is none
    #[arg(long, value_name = "KIND", value_enum)]
    only: Vec<Kind>,
    /// At most so many endpoints of each job, spread over its devices
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..))]
    sample: Option<u16>,
    /// Say for each pair which device dropped its packets, and why
    #[arg(long)]
    drops: bool,
    #[command(flatten)]
    ca: CaFolder,
    #[command(flatten)]
    state: State,
    #[command(flatten)]
    output: Output,
}

/// A part of the probes.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum Kind {
    /// Echo requests
    Icmp,
    /// Connections
    Tcp,
    /// Datagrams
    Udp,
    /// RDMA
    Roce,
    /// In IPv4
    Ipv4,
    /// In IPv6
    Ipv6,
}

/// What became of some probes.
type Answers = Result<Vec<Seen>, Stop>;

impl Test {
    pub(super) fn run(&self, out: &mut dyn Write) -> Result<Ended, Stop> {
        let Self::Connectivity(connectivity) = self;
        connectivity.run(out)
    }

    pub(super) const fn format(&self) -> Format {
        let Self::Connectivity(connectivity) = self;
        connectivity.output.format
    }
}

impl Connectivity {
    fn run(&self, out: &mut dyn Write) -> Result<Ended, Stop> {
        let begin = Instant::now();
        let outcome = if self.files.is_empty() {
            let lab = lab::Lab::open(&self.lab)?;
            self.ask(lab.crowd(), &mut |part| {
                let mut seen = lab.probe(part)?;
                lab.explain(&mut seen)?;
                Ok(seen)
            })?
        } else {
            let crowd = self.fleet()?;
            let agents = self.ca.agents()?;
            self.ask(&crowd, &mut |part| Ok(crowd.survey(&agents, part, &mut |_| {})?))?
        };
        let ended = if outcome.is_right() { Ended::Done } else { Ended::Found };
        outcome.write(self.output.format, self.drops, begin, out)?;
        Ok(ended)
    }

    /// The endpoints of the fleet that these documents lead to.
    fn fleet(&self) -> Result<Crowd, Stop> {
        let draft = Documents::of(self.files.clone()).draft(&self.state)?;
        if !draft.repeats() {
            aside(format_args!(
                "{NOTE}Not applied{NOTE:#}: the documents ask for more than the log says was sent. \
                 What is not in force differs: `bulkhead apply` sends it."
            ));
        }
        Ok(Crowd::of(Arc::new(draft.next.plan)))
    }

    /// Asks everything in a few parts, so that one sees something move.
    fn ask(
        &self,
        crowd: &Crowd,
        ask: &mut dyn FnMut(&[Probe]) -> Answers,
    ) -> Result<Outcome, Stop> {
        let all = crowd.probes(self.sample.map(usize::from));
        let asked = all.len();
        let (probes, unasked) = answer::askable(crowd, all);
        let probes: Vec<Probe> = probes.into_iter().filter(|probe| self.wants(probe)).collect();
        refuse_too_many(probes.len())?;
        aside(format_args!(
            "{DIM}{} between {}{DIM:#}",
            plural(probes.len(), "probe"),
            plural(answer::asking(&probes), "workload")
        ));
        let mut seen = Vec::with_capacity(probes.len());
        for (family, ways) in matrix::parts(&probes) {
            let part: Vec<Probe> = probes
                .iter()
                .filter(|probe| probe.family == family && ways.contains(&probe.way))
                .cloned()
                .collect();
            let answers = ask(&part)?;
            if self.output.format == Format::Text {
                matrix::tell(family, &ways, &answers);
            }
            seen.extend(answers);
        }
        Ok(Outcome { crowd: crowd.clone(), skipped: asked - seen.len(), seen, unasked })
    }

    /// Kinds of what is sent and kinds of protocols are two questions.
    fn wants(&self, probe: &Probe) -> bool {
        let (families, ways): (Vec<Kind>, Vec<Kind>) =
            self.only.iter().partition(|kind| matches!(kind, Kind::Ipv4 | Kind::Ipv6));
        let way = match probe.way {
            ProbeWay::Icmp => Kind::Icmp,
            ProbeWay::Tcp(_) => Kind::Tcp,
            ProbeWay::Udp(_) => Kind::Udp,
            ProbeWay::Roce => Kind::Roce,
        };
        let family = match probe.family {
            Family::V4 => Kind::Ipv4,
            Family::V6 => Kind::Ipv6,
        };
        (ways.is_empty() || ways.contains(&way))
            && (families.is_empty() || families.contains(&family))
    }
}

fn refuse_too_many(probes: usize) -> Result<(), Stop> {
    if probes <= MOST {
        return Ok(());
    }
    Err(Stop::argument(
        "too-many-probes",
        format!("{} probes are more than {}", grouped(probes), grouped(MOST)),
        "`--sample 2` asks two endpoints of each job, `--only icmp` a part of the ways",
    ))
}
