use std::io::Write;

use clap::{Args, ValueEnum};
use control::{Draft, observed};
use model::{Artifact, Fleet};
use serde::Serialize;
use verify::Finding;

use super::Output;
use super::ca::CaFolder;
use crate::configs::{Side, differences, statements, write_differences};
use crate::documents::Documents;
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
    "bulkhead verify --held" => "judge what the simulated devices hold, by what was applied",
    "bulkhead verify --held -o json" => "the same for programs",
    "bulkhead verify --held --diff" => "which lines they hold otherwise",
    "bulkhead verify --held --from agents" => "judge what the real devices hold now",
))]
pub(crate) struct Verify {
    #[command(flatten)]
    documents: Documents,
    /// Judge what devices hold now, not what is planned
    #[arg(long)]
    held: bool,
    /// Show how what devices hold differs from what is in force, and nothing else
    #[arg(long, requires = "held")]
    diff: bool,
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
        let draft = self.documents.draft(&self.state)?;
        let fleet = &draft.intent.fleet;
        let artifacts = match (self.held, self.from) {
            (false, _) => render::all(&draft.next.plan),
            (true, From::Sim) => observed(fleet, &self.state.devices(fleet))?,
            (true, From::Agents) => observed(fleet, &self.ca.agents()?.look(fleet))?,
        };
        if self.diff {
            return self.differ(&draft, &artifacts, out);
        }
        let owners = draft.next.plan.owners();
        let findings = verify::findings(fleet, &owners, &artifacts);
        let extent = Extent::of(&owners, &artifacts);
        answer(fleet, &artifacts, &extent, &findings, self.output.format, out)
    }
}

impl Verify {
    /// A real device says what it holds in its own order.
    fn differ(&self, draft: &Draft, held: &[Artifact], out: &mut dyn Write) -> Result<Ended, Stop> {
        let (fleet, desired) = (&draft.intent.fleet, render::all(&draft.next.plan));
        let before = Side { what: "in force", fleet, artifacts: &desired };
        let after = Side { what: "held", fleet, artifacts: held };
        let differing = match self.from {
            From::Sim => differences(&before, &after),
            From::Agents => statements(&before, &after),
        };
        write_differences(&differing, self.output.format, out)?;
        Ok(if differing.is_empty() { Ended::Done } else { Ended::Found })
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
