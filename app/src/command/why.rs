//! `bulkhead why`: what lets two meet or keeps them apart, layer by layer.

use std::io::{self, Write};

use clap::Args;
use control::{Draft, Passage, Silent};
use model::{DeviceId, Fleet, Name, Port};
use serde::Serialize;
use verify::{Endpoint, LayerStep, Verifier};

use super::Output;
use super::observing::{Answered, Observing};
use crate::documents::Documents;
use crate::ending::{Ended, Stop};
use crate::evidence::{Line, Texts};
use crate::passage;
use crate::state::{State, now};
use crate::words::{self, BAD, DIM, Format, GOOD, HEAD, NOTE, examples, grouped};

/// Tell why two can or cannot meet, layer by layer, with the lines that say so
#[derive(Args)]
#[command(after_help = examples!(
    "bulkhead why n1/0 n2/0 cluster.yaml" => "two endpoints: a node and the number of its interface",
    "bulkhead why acme/train globex/train cluster.yaml" => "two jobs: the pair that comes closest",
    "bulkhead why n1/0 n2/0 --held" => "by what the devices hold now",
))]
pub(crate) struct Why {
    /// The one: an endpoint (`node/interface`) or a job (`tenant/job`)
    #[arg(value_name = "A")]
    one: String,
    /// The other
    #[arg(value_name = "B")]
    other: String,
    #[command(flatten)]
    documents: Documents,
    /// By what devices hold now, not by what is planned
    #[arg(long)]
    held: bool,
    #[command(flatten)]
    observing: Observing,
    #[command(flatten)]
    state: State,
    #[command(flatten)]
    pub(super) output: Output,
}

/// A port of the device that judges an endpoint.
type Spot = (DeviceId, Port);

/// Two endpoints, and why frames pass between them or do not: there and back.
pub(super) struct Pair {
    there: verify::Why,
    back: verify::Why,
    /// What each layer besides the network says of the two jobs.
    layers: Vec<LayerStep>,
}

/// More pairs of two jobs than this are not tried one by one.
const MOST_PAIRS: usize = 4096;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    can_meet: bool,
    pairs: usize,
    tried: usize,
    directions: [Direction; 2],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    layers: Vec<StepView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    passage: Option<Passage>,
}

/// What somebody holds is not known.
#[derive(Debug, thiserror::Error)]
#[error("what {device} holds is not known, and one of the two is there: {why}")]
struct NotKnown {
    device: Name,
    why: String,
}

#[derive(Serialize)]
struct Direction {
    from: String,
    to: String,
    steps: Vec<StepView>,
    passes: Vec<Passing>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct StepView {
    layer: &'static str,
    answer: String,
    apart: bool,
    said_by: Vec<Line>,
}

#[derive(Serialize)]
struct Passing {
    talk: String,
    way: String,
}

impl Why {
    pub(super) fn run(&self, out: &mut dyn Write) -> Result<Ended, Stop> {
        let draft = self.documents.draft(&self.state)?;
        let fleet = &draft.intent.fleet;
        let (ones, others) = (spots(&draft, &self.one)?, spots(&draft, &self.other)?);
        let pairs = pairs(&ones, &others);
        if pairs.is_empty() {
            let problem =
                format!("`{}` and `{}` are one and the same endpoint", self.one, self.other);
            return Err(Stop::argument("same-endpoint", problem, "Name two endpoints"));
        }
        let (artifacts, passage) = if self.held {
            let Answered { artifacts, passage, .. } = self.observing.ask(&draft, &self.state)?;
            insist_on(&passage, fleet, ones.iter().chain(&others))?;
            (artifacts, Some(passage))
        } else {
            (render::all(&draft.next.plan), None)
        };
        let mut verifier = verify::reading(fleet, &draft.owners(), &artifacts);
        // The verifier joins what it read when it judges.
        verifier.judge();
        let tried = pairs.len().min(MOST_PAIRS);
        let closest = closest(&verifier, &pairs[..tried]).with_layers(&verifier);
        let texts = Texts::of(fleet, &artifacts);
        if self.output.format != Format::Text {
            let answer = Answer { passage, ..closest.answer(&draft, &texts, pairs.len(), tried) };
            words::data(out, self.output.format, &answer)?;
            return Ok(Ended::Done);
        }
        if pairs.len() > 1 {
            write_choice(pairs.len(), tried, out)?;
        }
        closest.write(&draft, &texts, out)?;
        if let Some(passage) = &passage {
            passage::write_closed(passage, now(), out)?;
        }
        Ok(Ended::Done)
    }
}

/// That every device answered where one of these is.
fn insist_on<'a>(
    passage: &Passage,
    fleet: &Fleet,
    mut spots: impl Iterator<Item = &'a Spot>,
) -> Result<(), NotKnown> {
    let silent = spots.find_map(|(device, _)| {
        let name = fleet.device_name(*device);
        passage.silent.iter().find(|silent| silent.device == *name)
    });
    match silent.cloned() {
        Some(Silent { device, why }) => Err(NotKnown { device, why }),
        None => Ok(()),
    }
}

/// The endpoints that a name stands for.
fn spots(draft: &Draft, name: &str) -> Result<Vec<Spot>, Stop> {
    if let Some(spot) = draft.endpoint(name) {
        return Ok(vec![spot]);
    }
    let job = name.parse().ok().and_then(|job| draft.next.plan.jobs.get(&job));
    let Some(job) = job else {
        return Err(Stop::argument(
            "name-unknown",
            format!("`{name}` is neither an endpoint nor a job"),
            "An endpoint is a node and the number of its interface, such as n1/0; a job is a \
             tenant and a name, such as acme/train",
        ));
    };
    let groups = job.groups.iter();
    Ok(groups.flat_map(|group| group.seats.iter().map(|seat| (group.device, seat.port))).collect())
}

fn pairs(ones: &[Spot], others: &[Spot]) -> Vec<(Spot, Spot)> {
    let all = ones.iter().flat_map(|&one| others.iter().map(move |&other| (one, other)));
    all.filter(|(one, other)| one != other).collect()
}

/// The pair between which most passes; the first of those where it is the same.
fn closest(verifier: &Verifier, pairs: &[(Spot, Spot)]) -> Pair {
    let mut closest: Option<Pair> = None;
    for &(one, other) in pairs {
        let pair = Pair::of(verifier, one, other);
        if closest.as_ref().is_none_or(|best| pair.passing() > best.passing()) {
            closest = Some(pair);
        }
    }
    match closest {
        Some(pair) => pair,
        None => unreachable!("there is at least one pair to choose from"),
    }
}

fn write_choice(pairs: usize, tried: usize, out: &mut dyn Write) -> io::Result<()> {
    let (all, tried_of_them) = (grouped(pairs), grouped(tried));
    if tried == pairs {
        writeln!(out, "{DIM}Of {all} pairs, the first between which most passes:{DIM:#}")
    } else {
        writeln!(
            out,
            "{NOTE}Only the first {tried_of_them} of {all} pairs were tried; `verify` judges all.{NOTE:#}"
        )
    }
}

impl Pair {
    pub(super) fn of(verifier: &Verifier, one: Spot, other: Spot) -> Self {
        let (there, back) = (verifier.why(one, other), verifier.why(other, one));
        Self { there, back, layers: Vec::new() }
    }

    /// Asks the other layers too, if the endpoints are of two jobs.
    fn with_layers(mut self, verifier: &Verifier) -> Self {
        if let (Some(one), Some(other)) = (&self.there.from.owner, &self.there.to.owner)
            && one != other
        {
            self.layers = verifier.why_layers(one, other);
        }
        self
    }

    /// Whether anything but packets lets the two meet.
    fn is_shared(&self) -> bool {
        self.layers.iter().any(|step| !step.fence)
    }

    fn passing(&self) -> usize {
        self.there.passes.len() + self.back.passes.len()
    }

    fn answer(&self, draft: &Draft, texts: &Texts<'_>, pairs: usize, tried: usize) -> Answer {
        let direction = |why: &verify::Why| Direction {
            from: shown(draft, &why.from),
            to: shown(draft, &why.to),
            steps: why.steps.iter().map(|step| view(step, texts)).collect(),
            passes: why
                .passes
                .iter()
                .map(|(talk, way)| Passing { talk: talk.to_string(), way: way.to_string() })
                .collect(),
        };
        Answer {
            can_meet: self.passing() > 0 || self.is_shared(),
            pairs,
            tried,
            directions: [direction(&self.there), direction(&self.back)],
            layers: self.layers.iter().map(|step| view(step, texts)).collect(),
            passage: None,
        }
    }

    /// Both directions, and the verdict.
    fn write(&self, draft: &Draft, texts: &Texts<'_>, out: &mut dyn Write) -> io::Result<()> {
        write_direction(&self.there, draft, texts, out)?;
        write_direction(&self.back, draft, texts, out)?;
        if !self.layers.is_empty() {
            writeln!(out, "{HEAD}Besides the network{HEAD:#}")?;
            write_steps(&self.layers, 10, texts, out)?;
        }
        self.write_verdict(out)
    }

    /// One direction, and the verdict over both.
    pub(super) fn write_there(
        &self,
        draft: &Draft,
        texts: &Texts<'_>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        write_direction(&self.there, draft, texts, out)?;
        self.write_verdict(out)
    }

    fn write_verdict(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.passing() == 0 && self.is_shared() {
            return writeln!(out, "{BAD}They can meet{BAD:#}, though no packet passes.");
        }
        if self.passing() == 0 {
            return writeln!(out, "{GOOD}They cannot meet.{GOOD:#}");
        }
        let mut talks: Vec<String> = Vec::new();
        for (talk, _) in self.there.passes.iter().chain(&self.back.passes) {
            let talk = talk.to_string();
            if !talks.contains(&talk) {
                talks.push(talk);
            }
        }
        writeln!(out, "{HEAD}They can meet{HEAD:#}: {}.", talks.join(", "))
    }
}

/// `n1/0 at leaf-1 Ethernet1/5 (red/train)`.
fn shown(draft: &Draft, endpoint: &Endpoint) -> String {
    let place = endpoint.show(&draft.intent.fleet);
    match draft.endpoint_at((endpoint.device, endpoint.port)) {
        Some(name) => format!("{name} at {place}"),
        None => place,
    }
}

fn view(step: &LayerStep, texts: &Texts<'_>) -> StepView {
    StepView {
        layer: step.layer,
        answer: step.answer.clone(),
        apart: step.fence,
        said_by: texts.lines(&step.said_by),
    }
}

fn write_direction(
    why: &verify::Why,
    draft: &Draft,
    texts: &Texts<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let (from, to) = (shown(draft, &why.from), shown(draft, &why.to));
    writeln!(out, "{HEAD}{from} to {to}{HEAD:#}")?;
    write_steps(&why.steps, 8, texts, out)?;
    if why.passes.is_empty() {
        return writeln!(out, "  nothing passes");
    }
    for (talk, way) in &why.passes {
        writeln!(out, "  {BAD}passes{BAD:#}: {talk}, {way}")?;
    }
    Ok(())
}

fn write_steps(
    steps: &[LayerStep],
    width: usize,
    texts: &Texts<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    for step in steps {
        let (style, mark) = if step.fence { (GOOD, "apart") } else { (NOTE, "open ") };
        writeln!(out, "  {:<width$} {style}{mark}{style:#}  {}", step.layer, step.answer)?;
        texts.write_lines(out, width + 3, &step.said_by)?;
    }
    Ok(())
}
