//! Real packets, to see that the network does what the plan says.

mod matrix;

use std::io::{self, Write};
use std::time::Instant;

use clap::{Args, Subcommand, ValueEnum};
use lab::{Family, Probe, Seen, Way};
use serde::Serialize;

use super::Output;
use crate::ending::{Ended, Stop};
use crate::words::{
    self, BAD, DIM, Format, GOOD, Table, aside, cell, examples, grouped, painted, plural,
};

/// Try with real packets what the plan says
#[derive(Subcommand)]
#[command(after_help = examples!(
    "bulkhead test connectivity" => "who reaches whom in the lab",
))]
pub(crate) enum Test {
    Connectivity(Connectivity),
}

/// Send packets between all workloads: those arrive that should, and no others
///
/// From every workload to every other one: an echo, connections, datagrams and RoCEv2, in IPv4 and
/// IPv6. Each carries a token, so that workloads of the same address are not taken for each other.
/// Exits with 1 if a single one differs from the plan.
#[derive(Args)]
#[command(after_help = examples!(
    "bulkhead test connectivity" => "all of it, in the lab called `lab`",
    "bulkhead test connectivity --lab small --only roce --only ipv6" => "a part of it",
    "bulkhead test connectivity -o json" => "every difference, for programs",
))]
pub(crate) struct Connectivity {
    /// In which lab
    #[arg(long, value_name = "NAME", default_value = "lab")]
    lab: String,
    /// Only these; all if there is none
    #[arg(long, value_name = "KIND", value_enum)]
    only: Vec<Kind>,
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

#[derive(Serialize)]
struct Answer<'a> {
    workloads: usize,
    probes: usize,
    skipped: usize,
    passed: usize,
    refused: usize,
    differing: Vec<&'a Seen>,
}

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
        let lab = lab::Lab::open(&self.lab)?;
        let all = lab.probes();
        let asked = all.len();
        let probes: Vec<Probe> = all.into_iter().filter(|probe| self.wants(probe)).collect();
        let skipped = asked - probes.len();
        let workloads = lab.workloads().len();
        aside(format_args!(
            "{DIM}{} between {}{DIM:#}",
            plural(probes.len(), "probe"),
            plural(workloads, "workload")
        ));
        let mut seen = Vec::with_capacity(probes.len());
        for (family, ways) in matrix::parts(&probes) {
            let part: Vec<Probe> = probes
                .iter()
                .filter(|probe| probe.family == family && ways.contains(&probe.way))
                .cloned()
                .collect();
            let answers = lab.probe(&part)?;
            if self.output.format == Format::Text {
                matrix::tell(family, &ways, &answers);
            }
            seen.extend(answers);
        }
        let differing: Vec<&Seen> = seen.iter().filter(|seen| !seen.is_right()).collect();
        let is_right = differing.is_empty();
        if self.output.format == Format::Text {
            matrix::write(&lab, &seen, out)?;
            write_differing(&differing, out)?;
            write_end(&seen, skipped, begin, out)?;
        } else {
            let passed = seen.iter().filter(|seen| seen.arrived && seen.answered).count();
            let refused = seen.iter().filter(|seen| !seen.arrived).count();
            let probes = seen.len();
            let answer = Answer { workloads, probes, skipped, passed, refused, differing };
            words::data(out, self.output.format, &answer)?;
        }
        Ok(if is_right { Ended::Done } else { Ended::Found })
    }

    /// Kinds of what is sent and kinds of protocols are two questions.
    fn wants(&self, probe: &Probe) -> bool {
        let (families, ways): (Vec<Kind>, Vec<Kind>) =
            self.only.iter().partition(|kind| matches!(kind, Kind::Ipv4 | Kind::Ipv6));
        let way = match probe.way {
            Way::Icmp => Kind::Icmp,
            Way::Tcp(_) => Kind::Tcp,
            Way::Udp(_) => Kind::Udp,
            Way::Roce => Kind::Roce,
        };
        let family = match probe.family {
            Family::V4 => Kind::Ipv4,
            Family::V6 => Kind::Ipv6,
        };
        (ways.is_empty() || ways.contains(&way))
            && (families.is_empty() || families.contains(&family))
    }
}

fn write_differing(differing: &[&Seen], out: &mut dyn Write) -> io::Result<()> {
    /// More than this are for programs.
    const MOST: usize = 40;
    let mut table = Table::new(2);
    for seen in differing.iter().take(MOST) {
        let Probe { from, to, way, family, expected } = &seen.probe;
        let expected = if *expected { "should pass" } else { "must not pass" };
        table.push(vec![
            cell(from),
            cell("to"),
            cell(to),
            cell(way),
            cell(family),
            cell(expected),
            painted(BAD, outcome(seen)),
        ]);
    }
    table.write(out)?;
    if let Some(more) = differing.len().checked_sub(MOST).filter(|&more| more > 0) {
        writeln!(out, "  {DIM}and {} more{DIM:#}", grouped(more))?;
    }
    Ok(())
}

fn outcome(seen: &Seen) -> String {
    match (&seen.astray, seen.arrived, seen.answered) {
        (Some(astray), _, _) => format!("arrived at {astray}"),
        (None, true, true) => "was answered".to_owned(),
        (None, true, false) => "arrived, but the answer did not".to_owned(),
        (None, false, _) => "did not arrive".to_owned(),
    }
}

fn write_end(seen: &[Seen], skipped: usize, begin: Instant, out: &mut dyn Write) -> io::Result<()> {
    let wrong = seen.iter().filter(|seen| !seen.is_right()).count();
    let (must, must_not): (Vec<&Seen>, Vec<&Seen>) =
        seen.iter().partition(|seen| seen.probe.expected);
    let seconds = begin.elapsed().as_secs_f64();
    let skipped = match skipped {
        0 => String::new(),
        skipped => format!(" {} skipped by --only.", grouped(skipped)),
    };
    let (must, must_not) = (grouped(must.len()), grouped(must_not.len()));
    if wrong == 0 {
        writeln!(
            out,
            "{GOOD}As planned{GOOD:#}: {must} that should pass did, {must_not} that must not did \
             not, in {seconds:.1} s.{skipped}"
        )
    } else {
        writeln!(
            out,
            "{BAD}{} as planned{BAD:#}, of {must} that should pass and {must_not} that must not, in \
             {seconds:.1} s.{skipped}",
            if wrong == 1 {
                "One is not".to_owned()
            } else {
                format!("{} are not", grouped(wrong))
            },
        )
    }
}
