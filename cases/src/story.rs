//! A folder that tells what happens to some documents, all the way down to the devices.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use apply::OnDrift;
use control::{Committed, Control, Draft, Hurry, NoDraft, Proof, Request, Who, observed};
use intent::Source;
use model::{Artifact, DeviceId, Fleet, Owners, Timestamp};
use sim::Fabric;
use store::MemoryStore;
use verify::{Finding, Meeting, MeetingKind, Said};

use crate::Patch;

/// What a folder says shall happen.
#[derive(Clone, Debug, Default)]
pub struct Story {
    /// Documents that stand in every step, by file name.
    documents: BTreeMap<String, String>,
    /// The steps in their order, by name; one without a name when no document is numbered.
    steps: BTreeMap<String, Step>,
    /// What a broken renderer does to the texts before they are judged.
    renderer_bug: Option<Patch>,
    /// What a hand does to the devices after the last step.
    tamper: Option<Patch>,
}

/// What is asked for next.
#[derive(Clone, Debug, Default)]
struct Step {
    documents: String,
    /// Devices that do not answer when the plan of this step is applied.
    unreachable: Vec<String>,
}

/// How a story went.
#[derive(Debug, Default)]
pub struct Telling {
    /// Every output, by its file's name inside the folder.
    pub outputs: BTreeMap<String, String>,
    /// Whether any step was refused, be it by documents, plan or proof.
    pub refused: bool,
    /// Whether something was found on the devices.
    pub found: bool,
    /// Whether any device holds any text in the end.
    pub held: bool,
}

impl Story {
    /// Whether a file of a folder is input. All others are outputs.
    #[must_use]
    pub fn is_input(file: &str) -> bool {
        matches!(file, "tamper" | "renderer-bug")
            || file.ends_with(".yaml")
            || file.ends_with(".unreachable")
            || times(file).is_some()
    }

    /// Reads the inputs of a folder.
    ///
    /// # Errors
    /// When a file cannot be read or a patch is not written as one.
    pub fn read(folder: &Path) -> Result<Self, String> {
        let mut inputs: BTreeMap<String, String> = BTreeMap::new();
        for entry in fs::read_dir(folder).map_err(|error| error.to_string())? {
            let path = entry.map_err(|error| error.to_string())?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if Self::is_input(&name) {
                let text = fs::read_to_string(&path).map_err(|error| error.to_string())?;
                inputs.insert(name, text);
            }
        }
        Self::from_inputs(inputs)
    }

    fn from_inputs(inputs: BTreeMap<String, String>) -> Result<Self, String> {
        let mut story = Self::default();
        for (file, text) in inputs {
            let numbered = file.starts_with(|letter: char| letter.is_ascii_digit());
            match file.rsplit_once('.') {
                Some((step, "yaml")) if numbered => {
                    story.steps.entry(step.into()).or_default().documents = text;
                }
                Some((step, "unreachable")) => {
                    let silent = text.lines().map(Into::into).collect();
                    story.steps.entry(step.into()).or_default().unreachable = silent;
                }
                Some(_) => {
                    let text = match times(&file) {
                        Some(times) => many(&text, times),
                        None => text,
                    };
                    story.documents.insert(file, text);
                }
                None if file == "tamper" => story.tamper = Some(text.parse()?),
                None => story.renderer_bug = Some(text.parse()?),
            }
        }
        if story.steps.is_empty() {
            story.steps.insert(String::new(), Step::default());
        }
        Ok(story)
    }

    /// Lets it happen.
    ///
    /// # Panics
    /// When the story itself is wrong: a patch does not fit, or a step follows a refused one.
    #[must_use]
    pub fn tell(&self) -> Telling {
        let who = Who { actor: "story".into(), source: "cases".into(), request: None };
        let mut control = match Control::open(MemoryStore::new(0), who) {
            Ok(control) => control,
            Err(error) => panic!("a log that has not begun is sound: {error}"),
        };
        let mut stage = Stage::default();
        for (name, step) in &self.steps {
            assert!(!stage.telling.refused, "nothing can follow a refusal");
            self.play(name, step, &mut control, &mut stage);
        }
        if let (Some(patch), Some(act)) = (&self.tamper, &mut stage.last) {
            act.tamper(patch, &mut control, &mut stage.telling);
        }
        let held = |act: &Act| !act.held().is_empty();
        stage.telling.held = stage.last.as_ref().is_some_and(held);
        stage.telling
    }

    fn play(&self, name: &str, step: &Step, control: &mut Control<MemoryStore>, stage: &mut Stage) {
        let prefix = if name.is_empty() { String::new() } else { format!("{name}/") };
        let mut output = |file: &str, text: String| {
            stage.telling.outputs.insert(format!("{prefix}{file}"), text);
        };
        let own = format!("{name}.yaml");
        let documents = self.documents.iter().chain([(&own, &step.documents)]);
        let sources: Vec<Source<'_>> =
            documents.map(|(file, text)| Source { file, text }).collect();
        let draft = match control.journal().draft(&Request::only(&sources), NOW) {
            Ok(draft) => draft,
            Err(none) => {
                output("refusal", refusal(none));
                stage.telling.refused = true;
                return;
            }
        };
        let plan = &draft.next.plan;
        output("plan", format!("{}\n{}", plan::diff(draft.ledger(), plan), draft.next.report));
        let fleet = Arc::clone(&plan.fleet);
        let owners = plan.owners();
        let mut artifacts = render::all(plan);
        if let Some(bug) = &self.renderer_bug {
            bug.apply(&fleet, &mut artifacts);
        }
        for artifact in &artifacts {
            let name = fleet.device_name(artifact.device);
            output(&format!("artifacts/{name}.{}", artifact.dialect), artifact.text());
        }
        let fabric = Fabric::new(Arc::clone(&fleet));
        let last = stage.last.take();
        let fabric = last.map_or(fabric, |act| act.fabric);
        let mut act = Act { fleet, owners, fabric, committed: None };
        match draft.prove_texts(artifacts) {
            Ok(proof) => {
                output("verdict", act.proved(proof.cleared.artifacts()));
                act.apply(draft, proof, step, control);
            }
            Err(unproved) => {
                output("verdict", act.not_proved(&unproved.artifacts, &unproved.findings));
                stage.telling.refused = true;
            }
        }
        stage.last = Some(act);
    }
}

/// Everything that happens in a story happens at once.
const NOW: Timestamp = Timestamp(0);

/// What goes on from step to step.
#[derive(Default)]
struct Stage {
    telling: Telling,
    last: Option<Act>,
}

/// One step's owners, and the devices.
struct Act {
    fleet: Arc<Fleet>,
    owners: Owners,
    fabric: Fabric,
    /// What the devices were sent.
    committed: Option<Committed>,
}

impl Act {
    /// Writes the plan down, makes devices hold it, and writes down which of them do.
    fn apply(
        &mut self,
        draft: Draft,
        proof: Proof,
        step: &Step,
        control: &mut Control<MemoryStore>,
    ) {
        let silent: Vec<DeviceId> = self
            .fleet
            .devices()
            .filter(|device| {
                let name = self.fleet.device_name(*device);
                step.unreachable.iter().any(|silent| silent == name.as_str())
            })
            .collect();
        assert_eq!(silent.len(), step.unreachable.len(), "devices that do not answer exist");
        let committed = match control.commit(draft, proof, Hurry::default(), NOW) {
            Ok(committed) => committed,
            Err(error) => panic!("a log made of memory takes everything: {error}"),
        };
        silent.iter().for_each(|device| self.fabric.cut(*device));
        self.send(&committed, control);
        silent.iter().for_each(|device| self.fabric.mend(*device));
        self.committed = Some(committed);
    }

    /// Whether every device that was sent something holds it.
    fn send(&mut self, committed: &Committed, control: &mut Control<MemoryStore>) -> bool {
        let is_same = |_, desired: &str, held: &str| desired == held;
        let again = control.differing(&committed.cleared, &self.fabric, is_same);
        let nobody = BTreeSet::new();
        match control.send(committed, &again, OnDrift::Repair, &nobody, &mut self.fabric, NOW) {
            Ok(applied) => applied.in_force(),
            Err(error) => panic!("a log made of memory takes everything: {error}"),
        }
    }

    /// A hand changes what a device holds. That is found, and gone when the plan is sent again.
    fn tamper(&mut self, patch: &Patch, control: &mut Control<MemoryStore>, telling: &mut Telling) {
        let mut held = self.held();
        patch.apply(&self.fleet, &mut held);
        self.fabric.load(&held);
        let findings = verify::findings(&self.fleet, &self.owners, &self.held());
        telling.found = !findings.is_empty();
        telling.outputs.insert("found".into(), self.not_proved(&held, &findings));
        let Some(committed) = self.committed.take() else { return };
        let is_sent = self.send(&committed, control);
        let left = verify::findings(&self.fleet, &self.owners, &self.held());
        assert!(is_sent && left.is_empty(), "sending the plan again puts every device right");
    }

    /// What the devices hold, as texts without parts. One that does not answer ends the story.
    fn held(&self) -> Vec<Artifact> {
        match observed(&self.fleet, &self.fabric) {
            Ok(held) => held,
            Err(error) => panic!("every device answers in the end: {error}"),
        }
    }

    /// That all is well, and every place where endpoints can meet.
    fn proved(&self, artifacts: &[Artifact]) -> String {
        let mut verifier = verify::reading(&self.fleet, &self.owners, artifacts);
        let _ = verifier.judge();
        let meetings = verifier.meetings();
        let endpoints = count(self.owners.ports.len(), "endpoint");
        let places = count(meetings.len(), "place");
        let mut out = format!("Proved: {endpoints} meet in {places} and nowhere else.\n");
        for meeting in &meetings {
            self.write_meeting(meeting, &mut out);
        }
        out
    }

    fn write_meeting(&self, meeting: &Meeting, out: &mut String) {
        let _ = match meeting.ground {
            MeetingKind::Segment { vni, tag: Some(tag) } => {
                writeln!(out, "\nsegment {vni} tag {tag}")
            }
            MeetingKind::Segment { vni, tag: None } => writeln!(out, "\nsegment {vni} without tag"),
            MeetingKind::Rule { client, provider, service } => {
                writeln!(out, "\nrule for tag {client} to ask tag {provider} at {service}")
            }
        };
        for member in &meeting.members {
            let _ = writeln!(out, "  {}", member.show(&self.fleet));
        }
    }

    /// Every finding with the lines that say so.
    fn not_proved(&self, artifacts: &[Artifact], findings: &[Finding]) -> String {
        let mut out = format!("Not proved: {}.\n", count(findings.len(), "finding"));
        for finding in findings {
            let _ = writeln!(out, "\n{}: {}", finding.code(), finding.sentence(&self.fleet));
            for said in &finding.present {
                self.write_line(artifacts, said, &mut out);
            }
            for line in &finding.missing {
                let _ = writeln!(out, "  {}", line.show(&self.fleet));
            }
            let _ = writeln!(out, "  {}: {}", finding.severity(), finding.remedy());
        }
        out
    }

    fn write_line(&self, artifacts: &[Artifact], said: &Said, out: &mut String) {
        let of = |a: &&Artifact| (a.device, a.dialect) == (said.device, said.dialect);
        let quote = artifacts.iter().find(of).and_then(|artifact| said.quote(artifact));
        let name = self.fleet.device_name(said.device);
        let Some((line, text)) = quote else {
            unreachable!("a finding quotes lines that stand in the texts: {said:?}");
        };
        let _ = writeln!(out, "  {name} {}:{line}  {}", said.dialect, text.trim());
    }
}

/// How often the documents of a file stand there: `jobs.2048-times`.
fn times(file: &str) -> Option<u32> {
    file.rsplit_once('.')?.1.strip_suffix("-times")?.parse().ok()
}

/// The same documents so many times; `{n}` in them is which time it is.
fn many(text: &str, times: u32) -> String {
    (1..=times).map(|time| text.replace("{n}", &time.to_string())).collect()
}

fn refusal(none: NoDraft) -> String {
    match none {
        NoDraft::Documents(refusals) => crate::lines(&refusals),
        NoDraft::Plan(refusals) => with_remedies(refusals.iter().map(|one| &one.refusal)),
        NoDraft::NotThere(_) | NoDraft::Nothing | NoDraft::Stale => {
            panic!("a story asks for something")
        }
        NoDraft::Journal(error) => panic!("a log made of memory is sound: {error}"),
    }
}

/// Each refusal with its code, and what would help.
fn with_remedies<'a>(refusals: impl Iterator<Item = &'a plan::PlanRefusal>) -> String {
    let lines = |refusal: &plan::PlanRefusal| {
        format!("{}: {refusal}\n  {}\n", refusal.code(), refusal.remedy())
    };
    refusals.map(lines).collect()
}

/// `1 place`, `2 places`
fn count(number: usize, thing: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {thing}{plural}")
}
