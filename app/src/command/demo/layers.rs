//! The demonstration's last simulated scene: two layers of one host that disagree.

use std::collections::BTreeSet;

use control::{Journal, Request};
use model::{Artifact, Dialect};
use store::MemoryStore;

use super::Stage;
use crate::demo::HALL;
use crate::ending::Stop;
use crate::evidence::Texts;
use crate::state::now;
use crate::words::{BAD, DIM, GOOD, NAME, plural, wrapped};

impl Stage<'_> {
    /// All layers of one host from one plan; then the board joins more than blue was given.
    pub(super) fn show_layers(&mut self) -> Result<(), Stop> {
        self.step(
            "Two layers that disagree",
            "Red and blue share a host, each in a virtual machine. From one plan come its PCI \
             drivers, NVLink partitions, device lists, machines, the InfiniBand subnet, Slurm and \
             Kubernetes. Each may be right for itself; they are judged together.",
        )?;
        let journal = Journal::open(MemoryStore::new(0))?;
        let draft = journal.draft(&Request::put(&HALL), now()).map_err(Stop::no_draft)?;
        let plan = &draft.next.plan;
        let mut artifacts = render::all(plan);
        let layers: BTreeSet<Dialect> = artifacts.iter().map(|artifact| artifact.dialect).collect();
        let layers: Vec<&str> = layers.into_iter().map(Dialect::as_str).collect();
        writeln!(self.out, "  {DIM}{}{DIM:#}", layers.join(", "))?;
        let owners = plan.owners();
        let sound = verify::findings(&plan.fleet, &owners, &artifacts);
        writeln!(self.out, "  {}: {GOOD}all agree{GOOD:#}", plural(artifacts.len(), "text"))?;
        if let Some(finding) = sound.first() {
            unreachable!("the plan is sound: {}", finding.sentence(&plan.fleet));
        }

        writeln!(
            self.out,
            "\nAn operator, sure that blue has half of the board, joins the four GPUs of it:"
        )?;
        self.join_half(&mut artifacts)?;
        writeln!(self.out)?;
        let findings = verify::findings(&plan.fleet, &owners, &artifacts);
        let texts = Texts::of(&plan.fleet, &artifacts);
        texts.write_findings(self.out, &findings)?;

        writeln!(self.out, "\nWhat keeps the two apart elsewhere:")?;
        let verifier = verify::reading(&plan.fleet, &owners, &artifacts);
        let jobs: Vec<_> = plan.jobs.keys().collect();
        if let [one, other] = jobs.as_slice() {
            for step in verifier.why_layers(one, other) {
                let answer = wrapped(&step.answer, 13).join("\n");
                writeln!(self.out, "  {NAME}{:<10}{NAME:#} {}", step.layer, answer.trim_start())?;
            }
            writeln!(self.out, "{DIM}`bulkhead why {one} {other} …` shows the lines.{DIM:#}")?;
        }
        Ok(())
    }

    /// Activates a partition of four GPUs where blue has two.
    fn join_half(&mut self, artifacts: &mut [Artifact]) -> Result<(), Stop> {
        const BEFORE: &str = "active 5\n";
        const AFTER: &str = "active 2\n";
        let parts = artifacts
            .iter_mut()
            .filter(|artifact| artifact.dialect == Dialect::Nvlink)
            .flat_map(|artifact| &mut artifact.parts);
        for part in parts.filter(|part| part.text == BEFORE) {
            part.text = AFTER.into();
        }
        writeln!(self.out, "  {DIM}h1 nvlink{DIM:#}")?;
        write!(self.out, "  {BAD}-{BEFORE}{BAD:#}")?;
        write!(self.out, "  {GOOD}+{AFTER}{GOOD:#}")?;
        Ok(())
    }
}
