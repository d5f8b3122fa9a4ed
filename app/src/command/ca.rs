//! `bulkhead ca`: certificates by which agents and their controller know each other.

use std::io::Write;
use std::path::PathBuf;

use agent::{Address, Agents, Authority, AuthorityError, FleetError, GOOD_FOR, Turn};
use clap::{Args, Subcommand};
use model::Name;

use crate::ending::{Ended, Stop};
use crate::runtime;
use crate::words::{DIM, GOOD, NAME, NOTE, Table, cell, examples, painted, plural};

/// Say who is who: the local authority of agents and their controller
///
/// Agents and whoever commands them prove their names to each other, with certificates of this
/// authority. It is a folder: the part of a node goes to that node, the rest stays here.
#[derive(Subcommand)]
#[command(after_help = examples!(
    "bulkhead ca init" => "make an authority and the controller's identity, in ./bulkhead-ca",
    "bulkhead ca enroll leaf-1 --address 10.0.0.1:4647" => "make an identity for a node",
    "scp -r bulkhead-ca/nodes/leaf-1 leaf-1:/etc/bulkhead/identity" => "bring it there",
    "bulkhead ca rotate" => "make new certificates for everybody, before 90 days are over",
))]
pub(crate) enum Ca {
    Init(Init),
    Enroll(Enroll),
    List(List),
    Rotate(Rotate),
}

/// Make an authority, and the identity of the controller
#[derive(Args)]
#[command(after_help = examples!(
    "bulkhead ca init" => "in ./bulkhead-ca, for its owner alone",
    "bulkhead ca init --ca /etc/bulkhead/ca" => "elsewhere",
))]
pub(crate) struct Init {
    #[command(flatten)]
    ca: CaFolder,
}

/// Make the identity of a node, and note where its agent listens
#[derive(Args)]
#[command(after_help = examples!(
    "bulkhead ca enroll leaf-1 --address 10.0.0.1:4647" => "an agent that listens on the network",
    "bulkhead ca enroll leaf-1 --address unix:/run/leaf-1.sock" => "one on this machine",
))]
pub(crate) struct Enroll {
    /// The device, as the fleet document calls it
    #[arg(value_name = "NAME")]
    node: Name,
    /// Where its agent listens: unix:/path/to/socket, or HOST:PORT
    #[arg(long, value_name = "ADDRESS")]
    address: Address,
    #[command(flatten)]
    ca: CaFolder,
}

/// List the nodes that have an identity
#[derive(Args)]
#[command(after_help = examples!("bulkhead ca list" => "who they are and where their agents listen"))]
pub(crate) struct List {
    #[command(flatten)]
    ca: CaFolder,
}

/// Make new keys and certificates for every node and the controller
///
/// Certificates are good for 90 days. Agents take a new one at the next connection, without a
/// restart, once their folder was brought to them. A new authority and the one before are both
/// trusted until the next `rotate`, so that there is time to bring the folders.
#[derive(Args)]
#[command(after_help = examples!(
    "bulkhead ca rotate" => "new certificates of the same authority",
    "bulkhead ca rotate --authority" => "and a new authority; the one before is trusted, too",
    "bulkhead ca rotate" => "afterwards: from now on it is not",
))]
pub(crate) struct Rotate {
    /// Make a new authority, too
    #[arg(long)]
    authority: bool,
    #[command(flatten)]
    ca: CaFolder,
}

/// Which authority.
#[derive(Args)]
pub(crate) struct CaFolder {
    /// The folder of the authority that knows the agents
    #[arg(id = "ca", long = "ca", value_name = "DIR", default_value = "bulkhead-ca")]
    folder: PathBuf,
}

impl Ca {
    pub(super) fn run(&self, out: &mut dyn Write) -> Result<Ended, Stop> {
        match self {
            Self::Init(init) => init.run(out),
            Self::Enroll(enroll) => enroll.run(out),
            Self::List(list) => list.run(out),
            Self::Rotate(rotate) => rotate.run(out),
        }
    }
}

impl Init {
    fn run(&self, out: &mut dyn Write) -> Result<Ended, Stop> {
        let authority = Authority::init(&self.ca.folder).map_err(stop)?;
        let (folder, controller) = (self.ca.folder.display(), authority.controller());
        writeln!(out, "{GOOD}Made{GOOD:#}: an authority in {folder}.")?;
        writeln!(out, "{DIM}Whoever has {} may command.{DIM:#}", controller.display())?;
        Ok(Ended::Done)
    }
}

impl Enroll {
    fn run(&self, out: &mut dyn Write) -> Result<Ended, Stop> {
        let authority = Authority::open(&self.ca.folder).map_err(stop)?;
        let folder = authority.enroll(&self.node, &self.address).map_err(stop)?;
        let (node, address, folder) = (&self.node, &self.address, folder.display());
        let days = GOOD_FOR.as_secs() / 86_400;
        writeln!(out, "{GOOD}Enrolled{GOOD:#}: {NAME}{node}{NAME:#}, for {days} days.")?;
        writeln!(out, "{DIM}Bring {folder} to it, and start its agent there:")?;
        writeln!(out, "  bulkhead-agent --listen {address} --identity {folder}{DIM:#}")?;
        Ok(Ended::Done)
    }
}

impl List {
    fn run(&self, out: &mut dyn Write) -> Result<Ended, Stop> {
        let nodes = Authority::open(&self.ca.folder).and_then(|ca| ca.nodes()).map_err(stop)?;
        let mut table = Table::new(0);
        for (node, address) in &nodes {
            table.push(vec![painted(NAME, node), cell(address)]);
        }
        table.write(out)?;
        if nodes.is_empty() {
            writeln!(
                out,
                "{NOTE}No node is enrolled{NOTE:#}: `bulkhead ca enroll NAME --address …`"
            )?;
        }
        Ok(Ended::Done)
    }
}

impl Rotate {
    fn run(&self, out: &mut dyn Write) -> Result<Ended, Stop> {
        let authority = Authority::open(&self.ca.folder).map_err(stop)?;
        let rotated = authority.rotate(self.authority).map_err(stop)?;
        let nodes = plural(rotated.nodes.len(), "node");
        writeln!(out, "{GOOD}Rotated{GOOD:#}: {nodes} and the controller have new certificates.")?;
        let folders = self.ca.folder.join("nodes");
        writeln!(out, "{DIM}Bring each folder in {} to its node.{DIM:#}", folders.display())?;
        match rotated.authority {
            Turn::Kept => {}
            Turn::Overlaps => writeln!(
                out,
                "{NOTE}Two authorities are trusted{NOTE:#} until the next `bulkhead ca rotate`: \
                 run it when every node has its new folder."
            )?,
            Turn::Ended => writeln!(out, "The authority before is no longer trusted.")?,
        }
        Ok(Ended::Done)
    }
}

impl CaFolder {
    /// Whether there is an authority.
    pub(super) fn is_there(&self) -> bool {
        self.folder.is_dir()
    }

    /// The agents that this authority knows.
    pub(super) fn agents(&self) -> Result<Agents, Stop> {
        Agents::open(&self.folder, runtime::handle()?).map_err(|error| match error {
            FleetError::Authority(error) => stop(error),
            other => other.into(),
        })
    }
}

/// What is there already, or not yet, is an answer; a disk that fails is not.
fn stop(error: AuthorityError) -> Stop {
    let (code, remedy) = match &error {
        AuthorityError::IsThere(_) => ("authority-exists", "`bulkhead ca rotate` makes it new"),
        AuthorityError::IsNotThere(_) => {
            ("authority-missing", "`bulkhead ca init` makes one; `--ca DIR` names its folder")
        }
        AuthorityError::Enrolled(_) => ("node-enrolled", "`bulkhead ca rotate` makes it new"),
        AuthorityError::Address { .. } => ("address-wrong", "correct that file"),
        _ => return error.into(),
    };
    Stop::argument(code, error.to_string(), remedy)
}
