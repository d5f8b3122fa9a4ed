//! A hall of machines in which every layer is configured.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use cases::Patch;
use expect_test::Expect;
use intent::{Intent, Source};
use model::{Artifact, Fleet, Owners};
use plan::{Ledger, Next};
use verify::Finding;

/// Changes what devices of the hall hold, and tells what is found.
pub(crate) fn check(patches: &[&str], expected: Expect) {
    let Next { plan, .. } = plan::next(&hall(), &Ledger::default()).unwrap();
    let (owners, mut artifacts) = (plan.owners(), render::all(&plan));
    let sound = verify::findings(&plan.fleet, &owners, &artifacts);
    assert_eq!(told(&plan.fleet, &artifacts, &sound), "", "the hall is sound");
    for patch in patches {
        let patch: Patch = dedented(patch).parse().unwrap();
        patch.apply(&plan.fleet, &mut artifacts);
    }
    expected.assert_eq(&found(&plan.fleet, &owners, &artifacts));
}

/// The text without the indent of its first line, so that patches stand well in a test.
fn dedented(text: &str) -> String {
    let text = text.trim_start_matches('\n');
    let indent = text.len() - text.trim_start().len();
    let lines = text.lines().filter_map(|line| line.get(indent..));
    lines.map(|line| format!("{line}\n")).collect()
}

/// Every finding with the lines that say so.
pub(crate) fn found(fleet: &Arc<Fleet>, owners: &Owners, artifacts: &[Artifact]) -> String {
    told(fleet, artifacts, &verify::findings(fleet, owners, artifacts))
}

fn told(fleet: &Fleet, artifacts: &[Artifact], findings: &[Finding]) -> String {
    let mut out = String::new();
    for finding in findings {
        let _ = writeln!(out, "{}: {}", finding.code(), finding.sentence(fleet));
        for said in &finding.present {
            let of = |a: &&Artifact| (a.device, a.dialect) == (said.device, said.dialect);
            let quoted = artifacts.iter().find(of).and_then(|artifact| said.quote(artifact));
            let (line, text) = quoted.unwrap();
            let name = fleet.device_name(said.device);
            let _ = writeln!(out, "  {name} {}:{line}  {}", said.dialect, text.trim());
        }
    }
    out
}

/// What a plan of other work in the hall is refused for.
pub(crate) fn refused(work: &str) -> String {
    let refusals = plan::next(&load(work), &Ledger::default()).unwrap_err();
    let told = refusals.iter().map(|refusal| format!("{}: {refusal}\n", refusal.code()));
    told.collect()
}

/// The documents of the story that has all layers.
pub(crate) fn hall() -> Intent {
    load(&document("work.yaml"))
}

/// The hall with other tenants and jobs.
pub(crate) fn load(work: &str) -> Intent {
    let fleet = document("fleet.yaml");
    let sources =
        [Source { file: "fleet.yaml", text: &fleet }, Source { file: "work.yaml", text: work }];
    intent::load(&sources).unwrap()
}

pub(crate) fn document(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("accepted-all-layers-from-one-plan");
    std::fs::read_to_string(folder.join(name)).unwrap()
}
