//! The machine of `cargo xtask hardware-test`, as it was last recorded: a real kernel put two
//! devices into one IOMMU group. Two tenants on them meet; no plan puts them there.

use std::path::Path;
use std::sync::Arc;

use expect_test::expect;
use intent::Source;
use model::{Artifact, Dialect, Generation, Grade, Owners, Part, PartText, Runtime, Share, Trust};
use plan::Ledger;

/// The machine's model: two devices that stand for GPUs, near each other, and an interface each.
const FLEET: &str = "
apiVersion: bulkhead.dev/v1
kind: Fleet
metadata: {name: machine}
spec:
  layers: [vfio]
  models:
    nodes:
      machine:
        gpu: {product: edu, board: PCIe}
        gpus: 2
        gpuIommuGroups: [7, 7]
        nics: {count: 2, rate: 1Gbps, numaNodes: 1, firstIommuGroup: 8}
        gpuPci: ['0000:22:01.0', '0000:22:02.0']
        nicPci: ['0000:41:10.0', '0000:41:10.2']
  sites:
    - name: lab
      jurisdiction: NL
      pods: [{name: lab, leaves: [{name: leaf-1}], nodes: [{name: node, model: machine, leaf: leaf-1}]}]
";

#[test]
fn two_tenants_in_the_group_that_a_real_kernel_made_are_a_breach() {
    let intent = intent::load(&[Source { file: "fleet.yaml", text: FLEET }]).unwrap();
    let fleet = Arc::clone(&intent.fleet);
    let node = model::NodeId(0);
    let mut owners = Owners::default();
    for (gpu, tenant) in ["red", "blue"].into_iter().enumerate() {
        let job = format!("{tenant}/train").parse().unwrap();
        let share = Share { gpus: 1 << gpu, nics: 0 };
        owners.shares.entry(node).or_default().insert(job, share);
        let trust = Trust { grade: Grade::Gpu, runtime: Runtime::Vm, ..Trust::default() };
        owners.trusts.insert(tenant.parse().unwrap(), trust);
    }
    let artifact = Artifact {
        device: fleet.node_device(node),
        dialect: Dialect::Vfio,
        generation: Generation(1),
        parts: vec![PartText { part: Part::Whole, text: recorded() }],
    };
    let artifacts = [artifact];
    let findings = verify::findings(&fleet, &owners, &artifacts);
    let breaches = findings.iter().filter(|finding| finding.code() == verify::Code::Breach);
    let told: String = breaches.map(|breach| format!("{}\n", breach.sentence(&fleet))).collect();
    expect![[r#"
        node GPU 2 (blue/train) meets node GPU 1 (red/train) in IOMMU group 7 of node: data can cross
    "#]].assert_eq(&told);
}

#[test]
fn no_plan_puts_two_tenants_into_that_group() {
    let work = "
apiVersion: bulkhead.dev/v1
kind: Tenant
metadata: {name: red}
spec: {grade: gpu, pools: [10.0.0.0/24]}
---
apiVersion: bulkhead.dev/v1
kind: Tenant
metadata: {name: blue}
spec: {grade: gpu, pools: [10.0.0.0/24]}
---
apiVersion: bulkhead.dev/v1
kind: Job
metadata: {name: train}
spec: {tenant: red, gpus: 1}
---
apiVersion: bulkhead.dev/v1
kind: Job
metadata: {name: train}
spec: {tenant: blue, gpus: 1}
";
    let sources =
        [Source { file: "fleet.yaml", text: FLEET }, Source { file: "work.yaml", text: work }];
    let intent = intent::load(&sources).unwrap();
    let refusals = plan::next(&intent, &Ledger::default()).unwrap_err();
    let told: String =
        refusals.iter().map(|refusal| format!("{}: {refusal}\n", refusal.code())).collect();
    expect![[r#"
        unsplittable: job blue/train wants 1 GPUs, but boards can only be divided into sets of 2
        unsplittable: job red/train wants 1 GPUs, but boards can only be divided into sets of 2
    "#]]
    .assert_eq(&told);
}

/// What `discover` said in that machine, from the page that keeps the last result.
fn recorded() -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/hardware.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (_, text) = page.rsplit_once("```text\n").unwrap();
    text.split("```").next().unwrap().to_owned()
}
