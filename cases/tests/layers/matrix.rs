//! The weakest-layer matrix. A gang is planned twice, on different GPUs. One layer says the first
//! plan, another the second: each is right alone, whichever plan one believes, and together they
//! are wrong. For every pair of layers that is found, and a finding explains it by lines of both
//! or names the one that is not as planned.

use std::collections::BTreeSet;
use std::sync::Arc;

use expect_test::expect;
use model::{Artifact, Dialect};
use plan::{Ledger, Plan};
use verify::{Code, Diagnosis, Disagree, Finding};

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

/// Whether a finding quotes a line of the layer, or names it. That a device says nothing at all
/// explains nothing.
fn is_about(finding: &Finding, layer: &[Dialect]) -> bool {
    let quotes = finding.present.iter().any(|said| layer.contains(&said.dialect));
    let names = |dialect: &Dialect| match &finding.diagnosis {
        Diagnosis::Disagree(Disagree { first, second, .. }) => {
            [first.layer, second.layer].contains(dialect)
        }
        _ => finding.layer() == dialect.as_str(),
    };
    finding.code() != Code::Silent && (quotes || layer.iter().any(names))
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
            for (plan, wrong) in [(&first, *other), (&second, *one)] {
                let artifacts = mixed(plan, [(&first, *one), (&second, *other)]);
                let found = findings(plan, &artifacts);
                let is_told = found.iter().any(|finding| is_about(finding, wrong));
                assert!(is_told, "{both:?}: nobody says that {wrong:?} is not as planned");
                let codes: BTreeSet<&str> =
                    found.iter().map(|finding| finding.code().as_str()).collect();
                let codes: Vec<&str> = codes.into_iter().collect();
                told += &format!("{} and {}: {}\n", one[0], other[0], codes.join(" "));
            }
        }
    }
    expect![[r#"
        frr and vfio: nobodys-driver severed
        frr and vfio: breach severed shared-bridge unowned unowned-entry
        frr and nvlink: leftover-partition severed
        frr and nvlink: breach severed shared-bridge unowned unowned-entry
        frr and imex: leftover severed
        frr and imex: breach severed shared-bridge unowned unowned-entry
        frr and pkey: leftover-key severed
        frr and pkey: breach severed shared-bridge unowned unowned-entry
        frr and devices: breach leftover severed
        frr and devices: breach severed shared-bridge unowned unowned-entry
        frr and vm: breach far-memory loose-memory severed
        frr and vm: breach severed shared-bridge unowned unowned-entry
        frr and slurm: breach severed
        frr and slurm: breach severed shared-bridge unowned unowned-entry
        frr and kubernetes: breach leftover severed wrong-fence
        frr and kubernetes: breach severed shared-bridge unowned unowned-entry
        vfio and nvlink: leftover-partition severed
        vfio and nvlink: nobodys-driver severed
        vfio and imex: leftover severed
        vfio and imex: nobodys-driver severed
        vfio and pkey: leftover-key severed
        vfio and pkey: nobodys-driver severed
        vfio and devices: breach disagree leftover severed
        vfio and devices: nobodys-driver severed
        vfio and vm: breach disagree far-memory loose-memory
        vfio and vm: nobodys-driver severed
        vfio and slurm: breach severed
        vfio and slurm: nobodys-driver severed
        vfio and kubernetes: breach disagree leftover severed wrong-fence
        vfio and kubernetes: nobodys-driver severed
        nvlink and imex: leftover severed
        nvlink and imex: leftover-partition severed
        nvlink and pkey: leftover-key severed
        nvlink and pkey: leftover-partition severed
        nvlink and devices: breach disagree leftover severed
        nvlink and devices: leftover-partition severed
        nvlink and vm: breach disagree far-memory loose-memory severed
        nvlink and vm: leftover-partition severed
        nvlink and slurm: breach severed
        nvlink and slurm: leftover-partition severed
        nvlink and kubernetes: breach disagree leftover severed wrong-fence
        nvlink and kubernetes: leftover-partition severed
        imex and pkey: leftover-key severed
        imex and pkey: leftover severed
        imex and devices: breach leftover severed
        imex and devices: leftover severed
        imex and vm: breach far-memory loose-memory severed
        imex and vm: leftover severed
        imex and slurm: breach severed
        imex and slurm: leftover severed
        imex and kubernetes: breach leftover severed wrong-fence
        imex and kubernetes: leftover severed
        pkey and devices: breach leftover severed
        pkey and devices: leftover-key severed
        pkey and vm: breach far-memory loose-memory severed
        pkey and vm: leftover-key severed
        pkey and slurm: breach severed
        pkey and slurm: leftover-key severed
        pkey and kubernetes: breach leftover severed wrong-fence
        pkey and kubernetes: leftover-key severed
        devices and vm: breach disagree far-memory loose-memory
        devices and vm: breach disagree leftover severed
        devices and slurm: breach severed
        devices and slurm: breach leftover severed
        devices and kubernetes: breach disagree leftover severed wrong-fence
        devices and kubernetes: breach disagree leftover severed
        vm and slurm: breach severed
        vm and slurm: breach far-memory loose-memory severed
        vm and kubernetes: breach disagree leftover severed wrong-fence
        vm and kubernetes: breach disagree far-memory loose-memory severed
        slurm and kubernetes: breach leftover severed wrong-fence
        slurm and kubernetes: breach severed
    "#]]
    .assert_eq(&told);
}
