//! A sound world in which a dialect is written.

use std::path::Path;
use std::sync::Arc;

use intent::{Intent, Source};
use model::{Artifact, Dialect, Evidence, Generation, Memory, Part, PartText};
use plan::{Ledger, Planner};

use crate::{World, from_documents};

/// Two leaves of Linux on which tenants have jobs that span both, permits and promises.
const NETWORK: &str = include_str!("worlds/network.yaml");
/// A hall with every layer of a node.
const HALL: &str = include_str!("worlds/hall.yaml");
/// What red's machines must have been launched as, and what somebody else built.
pub(super) const EXPECTED: &str = "6d1c53a1f2b8e0474a95c3d7e81f60b22c9a7f4e35d80b16\
                                   a0f7e2946b3c58d1907e4fa26c15b38de4702f9b61c8a35d";
pub(super) const OTHER: &str = "ffeeddccbbaa99887766554433221100ffeeddccbbaa9988\
                                7766554433221100ffeeddccbbaa99887766554433221100";

/// A sound world with an artifact of the dialect, or why there is none.
pub fn sound(dialect: Dialect) -> Result<World, String> {
    let world = match dialect {
        Dialect::Frr | Dialect::Linux | Dialect::Table => from_documents(NETWORK)?,
        Dialect::Nxos => from_documents(&NETWORK.replace("dialect: frr", "dialect: nxos"))?,
        Dialect::Scrub => handed_over()?,
        Dialect::Attest => attested()?,
        dialect if super::written::is_ruled(dialect) => from_documents(&hall())?,
        _ => of_story()?,
    };
    if world.artifacts.iter().any(|artifact| artifact.dialect == dialect) {
        return Ok(world);
    }
    Err(format!("no sound world here is written in {dialect}"))
}

fn of_story() -> Result<World, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("accepted-all-layers-from-one-plan");
    let mut documents = Vec::new();
    for file in ["fleet.yaml", "work.yaml"] {
        let path = folder.join(file);
        let text = std::fs::read_to_string(&path);
        documents.push(text.map_err(|cause| format!("{}: {cause}", path.display()))?);
    }
    let mut world = from_documents(&documents.join("\n---\n"))?;
    super::vm::print(&mut world);
    Ok(world)
}

fn hall() -> String {
    HALL.replace("EXPECTED", EXPECTED)
}

/// The hall as it runs: every text was read back from its device, and somebody vouches for the
/// machines of red.
fn attested() -> Result<World, String> {
    let mut world = from_documents(&hall())?;
    for artifact in &mut world.artifacts {
        artifact.parts = vec![PartText { part: Part::Whole, text: artifact.text() }];
    }
    for (node, job) in [("h1", "train"), ("a2", "infer")] {
        let fleet = &world.plan.fleet;
        let device = fleet.devices().find(|device| fleet.device_name(*device).as_str() == node);
        let text = format!(
            "report red/{job} on {node} sev-snp measurement {EXPECTED} by notary at \
             2026-11-16T09:00:00Z age 42\n"
        );
        world.artifacts.push(Artifact {
            device: device.ok_or("no such node")?,
            dialect: Dialect::Attest,
            generation: Generation::default(),
            parts: vec![PartText { part: Part::Whole, text }],
        });
    }
    Ok(world)
}

/// The hall after red left h1, and all devices were seen without it: with evidence of every memory,
/// blue got two of its interfaces and another job of red the other two.
fn handed_over() -> Result<World, String> {
    let told = |cause: &dyn std::fmt::Debug| format!("{cause:?}");
    let documents = hall().replace("endpoints: [h1/4, h1/6]", "endpoints: [h1/0, h1/2]");
    let mut later = documents.replace("{name: train}", "{name: more}");
    later = later.replace("[h1/0, h1/1, h1/2, h1/3]", "[h1/1, h1/3]");
    let tune =
        documents.find("---\napiVersion: bulkhead.dev/v1\nkind: Job\nmetadata: {name: tune}");
    let rest = tune.map(|at| &documents[at + 4..]).and_then(|rest| rest.split_once("---\n"));
    let (begin, (_, rest)) = (&documents[..tune.unwrap_or_default()], rest.ok_or("no tune")?);
    let first = loaded(&format!("{begin}---\n{rest}"))?;
    let later = loaded(&later)?;
    let mut planner = Planner::new(&first, &Ledger::default()).map_err(|cause| told(&cause))?;
    let train = first.jobs.keys().find(|job| job.name.as_str() == "train").ok_or("no train")?;
    planner.release(train).map_err(|cause| told(&cause))?;
    let _records = planner.seal();
    let generation = planner.plan().generation;
    let fleet = Arc::clone(&planner.plan().fleet);
    for device in fleet.devices() {
        let seen = planner.seen(fleet.device_name(device), generation);
        seen.map_err(|cause| told(&cause))?;
    }
    let h1 = "h1".parse().map_err(|cause| told(&cause))?;
    planner.scrubbed(&h1, train, evidence()?).map_err(|cause| told(&cause))?;
    for job in later.jobs.values().filter(|job| !first.jobs.contains_key(&job.name)) {
        planner.admit(job).map_err(|cause| told(&cause))?;
    }
    let plan = planner.plan().clone();
    let (owners, artifacts) = (plan.owners(), render::all(&plan));
    Ok(World { documents, plan, owners, artifacts })
}

fn loaded(documents: &str) -> Result<Intent, String> {
    let source = Source { file: "hall.yaml", text: documents };
    intent::load(&[source]).map_err(|refusals| super::super::lines(&refusals))
}

fn evidence() -> Result<Vec<Evidence>, String> {
    let one = |memory| {
        let by = "h1".parse().map_err(|_| "h1 is no name")?;
        Ok(Evidence {
            memory,
            method: "zeros".into(),
            read_back: "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
                .into(),
            by,
            at: "2026-11-16T09:00:00Z".into(),
        })
    };
    [Memory::Hbm, Memory::Nic].map(one).into_iter().collect()
}
