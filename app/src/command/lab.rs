//! A fabric on this machine, to rehearse on.

mod bench;
mod status;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::{self, Stdio};
use std::time::Instant;

use ::lab::{Fault, Spec};
use clap::{Args, Subcommand};
use observe::{Backing, Trouble};

use crate::ending::{Ended, Stop};
use crate::words::{BAD, DIM, Format, GOOD, NAME, Table, aside, cell, examples, painted, plural};

/// Build a fabric of real parts on this machine, look at it, and break it on purpose
///
/// Spines, leaves and workloads are network namespaces; FRR, the kernel's tunnels, the packet
/// filter and the agents in them are the real ones. It needs root, and leaves nothing behind.
#[derive(Subcommand)]
#[command(after_help = examples!(
    "bulkhead lab up --leaves 4 --spines 2 --tenants 3" => "build it, in seconds",
    "bulkhead test connectivity" => "try who reaches whom",
    "bulkhead lab break route-target --at leaf-1" => "change something behind its back",
    "bulkhead lab down" => "take it away",
))]
pub(crate) enum Lab {
    Up(Up),
    Status(status::Status),
    Exec(Exec),
    Break(Break),
    StartAgent(StartAgent),
    Bench(bench::Bench),
    Down(Down),
}

/// Which lab.
#[derive(Args)]
pub(super) struct Which {
    /// What the lab is called
    #[arg(long, value_name = "NAME", default_value = "lab")]
    pub(super) name: String,
}

/// Build a lab: namespaces, cables, FRR, agents, workloads
///
/// Each tenant has three jobs and a node at every leaf, and there is a tenant that serves files to
/// two of the others. Tenants have the same addresses on purpose.
#[derive(Args)]
#[command(after_help = examples!(
    "bulkhead lab up" => "four leaves, two spines, three tenants",
    "bulkhead lab up --name small --leaves 2 --spines 1 --tenants 2" => "a second one beside it",
))]
pub(crate) struct Up {
    #[command(flatten)]
    which: Which,
    /// How many leaves
    #[arg(long, value_name = "COUNT", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=32))]
    leaves: u16,
    /// How many spines
    #[arg(long, value_name = "COUNT", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=8))]
    spines: u16,
    /// How many tenants, beside the one that serves files
    #[arg(long, value_name = "COUNT", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=24))]
    tenants: u16,
    /// What VRFs are made of: `devices` or `namespaces` [default: devices where the kernel makes
    /// them]
    #[arg(long, value_name = "KIND")]
    vrfs: Option<Backing>,
}

/// Run a command inside a device or a workload
#[derive(Args)]
#[command(after_help = examples!(
    "bulkhead lab exec leaf-1 -- ip -br link" => "what a leaf has outside of its VRFs",
    "bulkhead lab exec leaf-1 -- ip -n t1 route" => "what it has in one of them, if they are namespaces",
    "bulkhead lab exec leaf-1 -- ip route show vrf t1" => "the same, if they are devices",
    "bulkhead lab exec leaf-1 -- vtysh --vty_socket /run/bulkhead/lab/devices/leaf-1/frr"
        => "talk to its routing daemons",
    "bulkhead lab exec red-1/0 -- ping -c 1 10.1.0.11" => "be a workload",
))]
pub(crate) struct Exec {
    #[command(flatten)]
    which: Which,
    /// A switch, or a workload such as red-1/0
    #[arg(value_name = "DEVICE")]
    device: String,
    /// What to run
    #[arg(value_name = "COMMAND", required = true, last = true)]
    command: Vec<String>,
}

/// Break something behind Bulkhead's back, and say how it is found
#[derive(Args)]
#[command(after_help = examples!(
    "bulkhead lab break --list" => "what can be broken",
    "bulkhead lab break second-vtep --at leaf-2" => "add a tunnel nobody planned",
    "bulkhead lab break agent-killed" => "on the first leaf",
))]
pub(crate) struct Break {
    #[command(flatten)]
    which: Which,
    /// What to break
    #[arg(value_name = "FAULT", required_unless_present = "list")]
    fault: Option<Fault>,
    /// On which switch [default: the first leaf]
    #[arg(long, value_name = "DEVICE")]
    at: Option<String>,
    /// List what can be broken
    #[arg(long)]
    list: bool,
}

/// Start the agent of a switch again, after `lab break agent-killed`
#[derive(Args)]
#[command(after_help = examples!(
    "bulkhead lab start-agent leaf-1" => "it goes on where the one before it ended",
    "bulkhead lab start-agent leaf-1 --name small" => "in another lab",
))]
pub(crate) struct StartAgent {
    #[command(flatten)]
    which: Which,
    /// On which switch
    #[arg(value_name = "DEVICE")]
    device: String,
}

/// Take a lab away, also what a crash left of it
#[derive(Args)]
#[command(after_help = examples!(
    "bulkhead lab down" => "processes, namespaces and folder are gone after that",
    "bulkhead lab down --name small" => "another one",
))]
pub(crate) struct Down {
    #[command(flatten)]
    which: Which,
}

/// The executable does not know where it is.
#[derive(Debug, thiserror::Error)]
#[error("cannot tell where this program is")]
struct Nowhere(#[from] io::Error);

impl Lab {
    pub(super) fn run(&self, out: &mut dyn Write) -> Result<Ended, Stop> {
        match self {
            Self::Up(up) => up.run(out),
            Self::Status(status) => status.run(out),
            Self::Exec(exec) => exec.run(),
            Self::Break(fault) => fault.run(out),
            Self::StartAgent(start) => start.run(out),
            Self::Bench(bench) => bench.run(out),
            Self::Down(down) => down.run(out),
        }
    }

    pub(super) const fn format(&self) -> Format {
        match self {
            Self::Status(status) => status.output.format,
            Self::Bench(bench) => bench.output.format,
            Self::Up(_) | Self::Exec(_) | Self::Break(_) | Self::StartAgent(_) | Self::Down(_) => {
                Format::Text
            }
        }
    }
}

impl Which {
    pub(super) fn open(&self) -> Result<::lab::Lab, Stop> {
        Ok(::lab::Lab::open(&self.name)?)
    }
}

impl Up {
    fn run(&self, out: &mut dyn Write) -> Result<Ended, Stop> {
        let begin = Instant::now();
        let spec = Spec {
            name: self.which.name.clone(),
            leaves: self.leaves,
            spines: self.spines,
            tenants: self.tenants,
            vrfs: self.backing()?,
            program: program()?,
        };
        let lab = ::lab::Lab::up(&spec, &mut |step| {
            aside(format_args!("{DIM}{:5.1} s{DIM:#}  {step}", begin.elapsed().as_secs_f64()));
        })?;
        let (devices, workloads) = (lab.devices().len(), lab.workloads().len());
        writeln!(
            out,
            "{GOOD}Up{GOOD:#}: {} and {} in {:.1} s; documents in {}.",
            plural(devices, "switch"),
            plural(workloads, "workload"),
            begin.elapsed().as_secs_f64(),
            lab.documents().display(),
        )?;
        let name = lab.name();
        writeln!(out, "Try: bulkhead test connectivity --lab {name}")?;
        let (ca, state) = (lab.authority(), lab.state());
        writeln!(
            out,
            "Gates close in 15 min, unless this runs: bulkhead watch --ca {} --state {}",
            ca.display(),
            state.display(),
        )?;
        Ok(Ended::Done)
    }

    fn backing(&self) -> Result<Backing, Trouble> {
        match self.vrfs {
            Some(backing) => backing.made_here(),
            None => Backing::of_kernel(),
        }
    }
}

/// This very program: the agents are it.
fn program() -> Result<PathBuf, Nowhere> {
    Ok(std::env::current_exe()?)
}

impl Exec {
    fn run(&self) -> Result<Ended, Stop> {
        let lab = self.which.open()?;
        let Some((program, arguments)) = self.command.split_first() else {
            return Ok(Ended::Done);
        };
        let status = lab.run_in(&self.device, || {
            process::Command::new(program)
                .args(arguments)
                .stdin(Stdio::inherit())
                .stdout(Stdio::inherit())
                .stderr(Stdio::inherit())
                .status()
        })?;
        let status = status.map_err(|source| NotRun { program: program.clone(), source })?;
        Ok(if status.success() { Ended::Done } else { Ended::Found })
    }
}

/// The command does not run.
#[derive(Debug, thiserror::Error)]
#[error("cannot run `{program}`")]
struct NotRun {
    program: String,
    source: io::Error,
}

impl Break {
    fn run(&self, out: &mut dyn Write) -> Result<Ended, Stop> {
        let Some(fault) = self.fault.filter(|_| !self.list) else {
            return list(out);
        };
        let lab = self.which.open()?;
        let broken = lab.break_(fault, self.at.as_deref())?;
        writeln!(out, "{BAD}{fault}{BAD:#} at {NAME}{}{NAME:#}: {fault:#}", broken.device)?;
        for step in &broken.steps {
            writeln!(out, "  {step}")?;
        }
        let ca = lab.authority();
        let ca = ca.display();
        writeln!(out, "See it found:")?;
        writeln!(out, "  bulkhead watch --ca {ca} --state {}", lab.state().display())?;
        if fault == Fault::AgentKilled {
            let name = lab.name();
            writeln!(out, "Start it again:")?;
            writeln!(out, "  bulkhead lab start-agent {} --name {name}", broken.device)?;
        }
        Ok(Ended::Done)
    }
}

impl StartAgent {
    fn run(&self, out: &mut dyn Write) -> Result<Ended, Stop> {
        let device = &self.device;
        match self.which.open()?.start_agent(device)? {
            true => writeln!(out, "{GOOD}Started{GOOD:#}: the agent of {NAME}{device}{NAME:#}.")?,
            false => writeln!(out, "The agent of {NAME}{device}{NAME:#} is running.")?,
        }
        Ok(Ended::Done)
    }
}

fn list(out: &mut dyn Write) -> Result<Ended, Stop> {
    let mut table = Table::new(0);
    for fault in Fault::ALL {
        table.push(vec![painted(NAME, fault), cell(format_args!("{fault:#}"))]);
    }
    table.write(out)?;
    Ok(Ended::Done)
}

impl Down {
    fn run(&self, out: &mut dyn Write) -> Result<Ended, Stop> {
        let name = &self.which.name;
        match ::lab::Lab::remove(name)? {
            true => writeln!(out, "{GOOD}Down{GOOD:#}: nothing of the lab `{name}` is left.")?,
            false => writeln!(out, "There was no lab `{name}`.")?,
        }
        Ok(Ended::Done)
    }
}
