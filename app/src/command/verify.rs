//! `bulkhead verify`: a proof about what is planned or held, or what stands against it.

use std::collections::BTreeSet;
use std::io::Write;

use clap::Args;
use control::{Assumption, Draft, Passage, ProofResult, ProofVerdict, Unproved};
use model::{Artifact, DeviceId, Fleet};
use serde::Serialize;
use verify::{Code, Finding};

use super::Output;
use super::observing::{Answered, From, Observing};
use crate::configs::{Differing, Side, differences, statements, write_differences};
use crate::documents::Documents;
use crate::ending::{Ended, Stop};
use crate::evidence::{Extent, Found, SCHEMA_VERSION, Texts, write_assumptions};
use crate::passage;
use crate::state::{State, now};
use crate::words::{self, DIM, Format, examples};

/// Prove that nobody can meet who must not, and that all can who must
///
/// The texts are read back line by line and joined into what packets could do. What is not as it
/// must be is told with one pair of endpoints and the lines that say so; the exit code is then 1.
/// Of what devices hold, it also says whether packets pass there at all: where a gate is closed,
/// nobody can meet anybody (exit code 1), and of a device that does not answer nothing is known (2).
/// `Proved except` names where nothing that was judged keeps owners apart; with `--strict` that is 1,
/// too. What a verdict means and what it rests on stands in docs/verdict.md.
#[derive(Args)]
#[command(after_help = examples!(
    "bulkhead verify cluster.yaml" => "judge the texts that `apply` would send",
    "bulkhead verify --held" => "judge what the devices hold, by what was applied",
    "bulkhead verify --held -o json" => "the same for programs",
    "bulkhead verify cluster.yaml --strict" => "and take no exception",
    "bulkhead verify --held --diff" => "which lines they hold otherwise",
    "bulkhead verify --held --from agents" => "ask real devices, through their agents",
))]
pub(crate) struct Verify {
    #[command(flatten)]
    documents: Documents,
    /// Judge what devices hold now, not what is planned
    #[arg(long)]
    held: bool,
    /// End with 1 also where it is proved with exceptions
    #[arg(long)]
    strict: bool,
    /// Show how what devices hold differs from what is in force, and nothing else
    #[arg(long, requires = "held")]
    diff: bool,
    #[command(flatten)]
    observing: Observing,
    #[command(flatten)]
    state: State,
    #[command(flatten)]
    pub(super) output: Output,
}

#[derive(Serialize)]
struct Answer<'a> {
    version: u32,
    proved: bool,
    verdict: &'a ProofVerdict,
    extent: Extent,
    findings: Vec<Found>,
    #[serde(skip_serializing_if = "Option::is_none")]
    passage: Option<&'a Passage>,
}

impl Verify {
    pub(super) fn run(&self, out: &mut dyn Write) -> Result<Ended, Stop> {
        let draft = self.documents.draft(&self.state)?;
        let (fleet, owners) = (&draft.intent.fleet, draft.owners());
        let (artifacts, passage) = if self.held {
            let answered = self.observing.ask(&draft, &self.state)?;
            if self.diff {
                return self.differ(&draft, &answered, out);
            }
            (answered.artifacts, Some(answered.passage))
        } else {
            (render::all(&draft.next.plan), None)
        };
        let mut verifier = verify::reading(fleet, &owners, &artifacts);
        let mut findings = verifier.judge();
        if passage.as_ref().is_some_and(|passage| !passage.silent.is_empty()) {
            // What is missing may be what the silent ones hold: only what two others share is sure.
            findings.retain(|one| one.code() == Code::Breach);
        }
        let extent = Extent::of(&owners, &artifacts);
        let at = self.held.then(now);
        let mut verdict =
            ProofVerdict::of(&draft, extent.devices(), &findings, verifier.waived(), at);
        if self.held && findings.is_empty() {
            for device in differing_devices(&draft, &artifacts) {
                verdict = verdict.but_for(device);
            }
        }
        let judged = Judged { fleet, artifacts: &artifacts, extent, findings: &findings };
        let (passage, format) = (passage.as_ref(), self.output.format);
        let ended = judged.answer(&verdict, passage, format, out)?;
        let is_excepted = self.strict && verdict.result != ProofResult::Proved;
        Ok(if ended == Ended::Done && is_excepted { Ended::Found } else { ended })
    }
}

impl Verify {
    /// A real device says what it holds in its own order.
    fn differ(
        &self,
        draft: &Draft,
        answered: &Answered,
        out: &mut dyn Write,
    ) -> Result<Ended, Stop> {
        let (fleet, silent) = (&draft.intent.fleet, &answered.passage.silent);
        let mut desired = render::all(&draft.next.plan);
        desired.retain(|one| silent.iter().all(|it| it.device != *fleet.device_name(one.device)));
        let before = Side { what: "in force", fleet, artifacts: &desired };
        let after = Side { what: "held", fleet, artifacts: &answered.artifacts };
        let differing = match answered.from {
            From::Sim => differences(&before, &after),
            From::Agents => statements(&before, &after),
        };
        write_differences(&differing, silent, self.output.format, out)?;
        if self.output.format == Format::Text {
            passage::write_silent(&answered.passage, &mut anstream::stderr())?;
        }
        Ok(match differing.is_empty() {
            false => Ended::Found,
            true if !silent.is_empty() => Ended::Broken,
            true => Ended::Done,
        })
    }
}

/// Devices that hold something else than what is in force, though nothing in it was found. `apply`
/// would send them their configuration again.
fn differing_devices(draft: &Draft, held: &[Artifact]) -> Vec<Assumption> {
    let fleet = &draft.intent.fleet;
    let mut desired = render::all(&draft.next.plan);
    // Whoever does not answer is told of as such.
    let answers: BTreeSet<DeviceId> = held.iter().map(|one| one.device).collect();
    desired.retain(|one| answers.contains(&one.device));
    let before = Side { what: "in force", fleet, artifacts: &desired };
    let after = Side { what: "held", fleet, artifacts: held };
    let differing = statements(&before, &after);
    let devices: BTreeSet<&str> = differing.iter().map(|one| one.device.as_str()).collect();
    let sentence = |device| {
        let lines: usize =
            differing.iter().filter(|one| one.device == device).map(Differing::lines).sum();
        let differ = if lines == 1 { "1 line differs" } else { &format!("{lines} lines differ") };
        format!("{device}: {differ} from what was applied (`verify --held --diff` shows it)")
    };
    let of = |device| Assumption { code: "manual-change", sentence: sentence(device) };
    devices.into_iter().map(of).collect()
}

/// Texts that were judged, and what was found.
pub(super) struct Judged<'a> {
    fleet: &'a Fleet,
    artifacts: &'a [Artifact],
    extent: Extent,
    findings: &'a [Finding],
}

impl<'a> Judged<'a> {
    /// What was planned and not found without fault.
    pub(super) fn unproved(draft: &'a Draft, unproved: &'a Unproved) -> Self {
        let Unproved { owners, artifacts, findings } = unproved;
        let extent = Extent::of(owners, artifacts);
        Self { fleet: &draft.intent.fleet, artifacts, extent, findings }
    }

    /// Tells what was found in what was planned, and that nothing is proved.
    pub(super) fn refuse(
        &self,
        draft: &Draft,
        format: Format,
        out: &mut dyn Write,
    ) -> Result<Ended, Stop> {
        let verdict = ProofVerdict::of(draft, self.extent.devices(), self.findings, &[], None);
        self.answer(&verdict, None, format, out)
    }

    /// Tells what was found, and the verdict; for what devices hold, also whether packets pass there.
    fn answer(
        &self,
        verdict: &ProofVerdict,
        passage: Option<&Passage>,
        format: Format,
        out: &mut dyn Write,
    ) -> Result<Ended, Stop> {
        let Self { fleet, artifacts, extent, findings } = self;
        let texts = Texts::of(fleet, artifacts);
        let is_silent = passage.is_some_and(|passage| !passage.silent.is_empty());
        if format == Format::Text {
            texts.write_findings(out, findings)?;
            match passage {
                Some(passage) => {
                    extent.write_verdict_held(out, findings, verdict, passage, now())?;
                }
                None => extent.write_verdict(out, findings, verdict)?,
            }
            if findings.is_empty() {
                writeln!(out, "{DIM}It rests on:{DIM:#}")?;
                write_assumptions(&verdict.rests_on, out)?;
            }
        } else {
            let answer = Answer {
                version: SCHEMA_VERSION,
                proved: findings.is_empty() && !is_silent,
                verdict,
                extent: *extent,
                findings: texts.found(findings),
                passage,
            };
            words::data(out, format, &answer)?;
        }
        Ok(match passage {
            _ if !findings.is_empty() => Ended::Found,
            Some(_) if is_silent => Ended::Broken,
            Some(passage) if !passage.is_whole() => Ended::Found,
            _ => Ended::Done,
        })
    }
}
