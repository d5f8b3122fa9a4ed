use std::io::Write;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use model::{Artifact, Fleet, Part, PartText};
use observe::{Holds, Unreachable};
use serde::Serialize;
use verify::Finding;

use super::Output;
use super::ca::CaFolder;
use crate::documents::Documents;
use crate::draft::Draft;
use crate::ending::{Ended, Stop};
use crate::evidence::{Extent, Found, Texts};
use crate::state::State;
use crate::words::{self, Format, examples};

/// Prove that nobody can meet who must not, and that all can who must
///
/// The texts are read back line by line and joined into what packets could do. What is not as it
/// must be is told with one pair of endpoints and the lines that say so; the exit code is then 1.
#[derive(Args)]
#[command(after_help = examples!(
    "bulkhead verify cluster.yaml" => "judge the texts that `apply` would send",
    "bulkhead verify cluster.yaml --held" => "judge what the simulated devices hold now",
    "bulkhead verify cluster.yaml --held -o json" => "the same for programs",
    "bulkhead verify cluster.yaml --held --from agents" => "judge what the real devices hold now",
))]
pub(crate) struct Verify {
    #[command(flatten)]
    documents: Documents,
    /// Judge what devices hold now, not what is planned
    #[arg(long)]
    held: bool,
    /// Which devices to ask what they hold
    #[arg(long, value_name = "DEVICES", value_enum, alias = "to", default_value = "sim")]
    from: From,
    #[command(flatten)]
    ca: CaFolder,
    #[command(flatten)]
    state: State,
    #[command(flatten)]
    pub(super) output: Output,
}

/// Whom to ask.
#[derive(Clone, Copy, ValueEnum)]
enum From {
    /// The simulated devices below the state folder
    Sim,
    /// Real devices, each through its agent
    Agents,
}

#[derive(Serialize)]
struct Answer {
    proved: bool,
    extent: Extent,
    findings: Vec<Found>,
}

impl Verify {
    pub(super) fn run(&self, out: &mut dyn Write) -> Result<Ended, Stop> {
        let draft = Draft::new(&self.documents, &self.state)?;
        let fleet = &draft.intent.fleet;
        let artifacts = match (self.held, self.from) {
            (false, _) => render::all(&draft.next.plan),
            (true, From::Sim) => held(fleet, &self.state.devices(fleet))?,
            (true, From::Agents) => held(fleet, &self.ca.agents()?.look(fleet))?,
        };
        let owners = draft.next.plan.owners();
        let findings = verify::findings(fleet, &owners, &artifacts);
        let extent = Extent::of(&owners, &artifacts);
        answer(fleet, &artifacts, &extent, &findings, self.output.format, out)
    }
}

/// Tells what was found, and the verdict.
pub(super) fn answer(
    fleet: &Fleet,
    artifacts: &[Artifact],
    extent: &Extent,
    findings: &[Finding],
    format: Format,
    out: &mut dyn Write,
) -> Result<Ended, Stop> {
    let texts = Texts::of(fleet, artifacts);
    if format == Format::Text {
        texts.write_findings(out, findings)?;
        extent.write_verdict(out, findings)?;
    } else {
        let answer = Answer {
            proved: findings.is_empty(),
            extent: *extent,
            findings: texts.found(findings),
        };
        words::data(out, format, &answer)?;
    }
    Ok(if findings.is_empty() { Ended::Done } else { Ended::Found })
}

/// What all devices hold now, as far as they hold anything.
pub(super) fn held(fleet: &Arc<Fleet>, devices: &dyn Holds) -> Result<Vec<Artifact>, Unreachable> {
    let mut artifacts = Vec::new();
    for device in fleet.devices() {
        for dialect in fleet.read_dialects(device) {
            let Some(held) = devices.held(device, dialect)? else {
                continue;
            };
            artifacts.push(Artifact {
                device,
                dialect,
                generation: held.generation,
                parts: vec![PartText { part: Part::Whole, text: held.text }],
            });
        }
    }
    Ok(artifacts)
}
