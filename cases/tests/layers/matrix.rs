//! The weakest-layer matrix. A gang is planned twice, on different GPUs. One layer says the first
//! plan, another the second: each is right alone, whichever plan one believes, and together they
//! are wrong. For every pair of layers that is found, and a finding explains it by lines of both
//! or names the one that is not as planned.

use std::collections::BTreeSet;
use std::sync::Arc;

use expect_test::expect;
use model::{Artifact, Dialect};
use plan::{Ledger, Plan};

use crate::hall::{document, load};

/// Two gangs: one on a board that is shared, one on trays that NVLink joins.
fn planned(board: &str, tray: &str) -> Plan {
    let tenants = document("work.yaml");
    let tenants: Vec<&str> =
        tenants.split("---\n").filter(|text| text.contains("kind: Tenant")).collect();
    let work = format!(
        "{}---
apiVersion: bulkhead.dev/v1
kind: Job
metadata: {{name: train}}
spec: {{tenant: red, endpoints: [{board}]}}
---
apiVersion: bulkhead.dev/v1
kind: Job
metadata: {{name: pre}}
spec: {{tenant: violet, endpoints: [{tray}]}}
---
apiVersion: bulkhead.dev/v1
kind: Job
metadata: {{name: serve}}
spec: {{tenant: green, endpoints: [h2/0, h2/1, h2/2, h2/3, h2/4, h2/5, h2/6, h2/7]}}
",
        tenants.join("---\n")
    );
    plan::next(&load(&work), &Ledger::default()).unwrap().plan
}

/// The layers that name what a gang has. Switches, kernels and packet programs are one of them.
const LAYERS: [&[Dialect]; 9] = [
    &[Dialect::Frr, Dialect::Linux, Dialect::Table],
    &[Dialect::Vfio],
    &[Dialect::Nvlink],
    &[Dialect::Imex],
    &[Dialect::Pkey],
    &[Dialect::Devices],
    &[Dialect::Vm],
    &[Dialect::Slurm],
    &[Dialect::Kubernetes],
];

/// One layer by the first plan and another by the second. The network is always there: where it is
/// none of the two, it is as the believed plan says.
fn mixed(believed: &Plan, layers: [(&Plan, &[Dialect]); 2]) -> Vec<Artifact> {
    let of = |plan: &Plan, layer: &[Dialect]| -> Vec<Artifact> {
        let all = render::all(plan).into_iter();
        all.filter(|artifact| layer.contains(&artifact.dialect)).collect()
    };
    let network = (believed, LAYERS[0]);
    let in_question = layers.iter().any(|(_, layer)| *layer == LAYERS[0]);
    let network = (!in_question).then_some(network);
    layers.into_iter().chain(network).flat_map(|(plan, layer)| of(plan, layer)).collect()
}

/// A fleet that has these layers and no others. The network is always there.
fn with_layers(plan: &Plan, layers: &[&[Dialect]]) -> Plan {
    let mut fleet = (*plan.fleet).clone();
    fleet.layers.dialects.retain(|dialect| layers.iter().any(|layer| layer.contains(dialect)));
    let layers = fleet.layers.dialects.clone();
    fleet.managers.retain(|manager| layers.contains(&manager.kind.dialect()));
    Plan { fleet: Arc::new(fleet), ..plan.clone() }
}

#[test]
fn two_layers_that_are_right_alone_are_found_wrong_together() {
    let first = planned("h1/0, h1/1, h1/2, h1/3", "t1/0, t1/1, t1/2, t1/3");
    let second = planned("h1/4, h1/5, h1/6, h1/7", "t2/0, t2/1, t2/2, t2/3");
    let mut told = String::new();
    for (place, one) in LAYERS.iter().enumerate() {
        for other in &LAYERS[place + 1..] {
            let both = [*one, *other];
            let (first, second) = (with_layers(&first, &both), with_layers(&second, &both));
            let findings = |owners: &Plan, artifacts: &[Artifact]| {
                verify::findings(&owners.fleet, &owners.owners(), artifacts)
            };
            // Each is right beside the other one of its own plan.
            for plan in [&first, &second] {
                let own = mixed(plan, [(plan, one), (plan, other)]);
                assert_eq!(findings(plan, &own), [], "{both:?}");
            }
            for plan in [&first, &second] {
                let artifacts = mixed(plan, [(&first, *one), (&second, *other)]);
                let found = findings(plan, &artifacts);
                assert!(!found.is_empty(), "{both:?}");
                let codes: BTreeSet<&str> = found.iter().map(verify::Finding::code).collect();
                let codes: Vec<&str> = codes.into_iter().collect();
                told += &format!("{} and {}: {}\n", one[0], other[0], codes.join(" "));
            }
        }
    }
    expect![[r#""#]].assert_eq(&told);
}
