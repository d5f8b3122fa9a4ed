//! What is found of edited texts, row by row.

use std::fmt::Write as _;

use model::{Artifact, Dialect, Part, PartText};
use verify::{Finding, Verifier};

use super::{Classified, Consumer, Effect, Mutant, MutantKind, mutants};
use crate::{Chance, World};

/// An edited text, who said what the edit does, and what was found.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The device that would hold it.
    pub place: String,
    /// The edit.
    pub mutant: Mutant,
    /// Who said what it does.
    pub classified: Classified,
    /// Whether it differs from the plan, statement by statement.
    pub differs: bool,
    /// What is found in it as if it had been rendered: codes, each once.
    pub codes: Vec<&'static str>,
    /// The lines that findings name.
    pub lines: Vec<u32>,
}

impl Judged {
    /// Whether it lets more or less through and is proved all the same.
    #[must_use]
    pub fn is_missed(&self) -> bool {
        matches!(self.classified.effect, Effect::Opens | Effect::Cuts) && self.codes.is_empty()
    }

    /// Whether it does no harm and is not met with silence. Another value, harmless or not, is not
    /// what was planned, and may be told; what stands between words is nobody's plan.
    #[must_use]
    pub fn is_noise(&self) -> bool {
        let differs = self.differs && self.mutant.kind == MutantKind::Between;
        self.classified.effect == Effect::Harmless && (differs || !self.codes.is_empty())
    }

    /// Whether it has characters that nobody sees. They are refused whatever they do.
    #[must_use]
    pub fn is_unseen(&self) -> bool {
        self.mutant
            .text
            .chars()
            .any(|letter| letter != '\n' && letter != '\t' && !(' '..='~').contains(&letter))
    }

    /// One row of a table of comma-separated values; the first names the columns.
    #[must_use]
    pub fn row(&self) -> String {
        let list = |words: Vec<String>| words.join(" ");
        let verdict = match (self.codes.is_empty(), self.differs) {
            (false, _) => self.codes.join(" "),
            (true, true) => "proved, differs from the plan".into(),
            (true, false) => "proved".into(),
        };
        let cells = [
            format!("{} line {}", self.place, self.mutant.line),
            format!("{:?}", self.mutant.kind).to_lowercase(),
            self.mutant.what.clone(),
            self.classified.by.to_owned(),
            format!("{:?}", self.classified.effect).to_lowercase(),
            verdict,
            list(self.lines.iter().map(u32::to_string).collect()),
        ];
        let mut row = String::new();
        for (place, cell) in cells.iter().enumerate() {
            let comma = if place > 0 { "," } else { "" };
            let _ = write!(
                row,
                "{comma}\"{}\"",
                cell.escape_debug().to_string().replace("\\\"", "\"\"")
            );
        }
        row
    }

    /// The names of the columns.
    pub const COLUMNS: &'static str = "place,kind,mutant,classified by,effect,verdict,lines named";
}

/// So many edits of a world's texts in a dialect, each judged twice: against the plan, and as if it
/// had been rendered.
pub fn run(
    world: &World,
    dialect: Dialect,
    consumer: &mut dyn Consumer,
    chance: &mut Chance,
    count: usize,
) -> Vec<Judged> {
    // Where no GPU is cut a text says nothing, and what may be put into it is what matters.
    let says = |artifact: &&Artifact| {
        artifact.dialect == dialect && (dialect == Dialect::Mig || !artifact.text().is_empty())
    };
    let artifacts: Vec<&Artifact> = world.artifacts.iter().filter(says).collect();
    let mut verifier = verify::reading(&world.plan.fleet, &world.owners, &world.artifacts);
    let share = count.div_ceil(artifacts.len().max(1));
    let mut all = Vec::with_capacity(count);
    let texts: Vec<String> = artifacts.iter().map(|artifact| artifact.text()).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    for artifact in artifacts {
        let sound = artifact.text();
        consumer.at(artifact.device);
        for mutant in mutants(dialect, &sound, &texts, chance, share) {
            let classified = consumer.classify(&sound, &mutant);
            all.push(judge(world, artifact, mutant, classified, &mut verifier));
        }
    }
    all
}

/// What is found of one edited text in place of the sound one.
pub fn judge(
    world: &World,
    artifact: &Artifact,
    mutant: Mutant,
    classified: Classified,
    verifier: &mut Verifier,
) -> Judged {
    let (device, dialect) = (artifact.device, artifact.dialect);
    for PartText { part, .. } in &artifact.parts {
        verifier.take(device, dialect, part, None);
    }
    let reading = read::part(dialect, &Part::Whole, &mutant.text);
    verifier.take(device, dialect, &Part::Whole, Some(reading));
    let found = verifier.judge();
    verifier.take(device, dialect, &Part::Whole, None);
    for PartText { part, text } in &artifact.parts {
        verifier.take(device, dialect, part, Some(read::part(dialect, part, text)));
    }
    let mut codes: Vec<&str> = found.iter().map(|finding| finding.code().as_str()).collect();
    codes.sort_unstable();
    codes.dedup();
    let differs = !read::differences(dialect, &artifact.text(), &mutant.text).is_empty();
    Judged {
        place: format!("{} {dialect}", world.plan.fleet.device_name(device)),
        mutant,
        classified,
        differs,
        codes,
        lines: named(&found, artifact),
    }
}

/// The lines of the edited text that findings name.
fn named(found: &[Finding], artifact: &Artifact) -> Vec<u32> {
    let said = found.iter().flat_map(|finding| &finding.present);
    let here =
        said.filter(|said| (said.device, said.dialect) == (artifact.device, artifact.dialect));
    let mut lines: Vec<u32> = here.map(|said| said.line).collect();
    lines.sort_unstable();
    lines.dedup();
    lines
}
