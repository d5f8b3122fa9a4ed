//! A small fleet with clusters of every kind.
//!
//! | node | what it is | whose |
//! |---|---|---|
//! | hgx-1 | two H100 | the first of acme/research/train (grade gpu, kept from the host) |
//! | tray-1, tray-2 | GB200 in one NVLink domain | all of red/wide (grade node) |
//! | mi-1 | one MI300X | red/other (grade node) |

use intent::Source;
use model::{Dialect, Part};
use plan::Plan;

const DOCUMENTS: &str = r#"
apiVersion: GROUP/v1
kind: Fleet
metadata: {name: small}
spec:
  layers: [vm, slurm, kubernetes]
  models:
    nodes:
      hgx:
        gpu: {product: H100-80GB, board: own, partitions: [[1], [2], [1, 2]]}
        gpus: 2
        gpuPci: ["0000:86:00.0", "0000:0f:00.0"]
        nics: {count: 2, rate: 400Gbps, numaNodes: 2}
        nicPci: ["0000:84:00.0", "0000:0d:00.0"]
      tray:
        gpu: {product: GB200-186GB, board: GB200-NVL72}
        gpus: 1
        gpuPci: ["0008:01:00.0"]
        nics: {count: 1, rate: 400Gbps}
        nicPci: ["0000:03:00.0"]
      mi:
        gpu: {product: MI300X-192GB, board: UBB}
        gpus: 1
        gpuPci: ["0001:02:1f.7"]
        nics: {count: 1, rate: 400Gbps}
        nicPci: ["0000:09:00.0"]
  sites:
    - name: ams
      jurisdiction: NL
      kind: core
      pods:
        - name: pod
          leaves: [{name: leaf-1}, {name: leaf-2}]
          spines: [{name: spine-1}, {name: spine-2}]
          nodes:
            - {name: hgx-1, model: hgx, leaf: leaf-1, rack: "7"}
            - {name: tray-1, model: tray, leaf: leaf-2, rack: r1, nvlinkDomain: rack}
            - {name: tray-2, model: tray, leaf: leaf-2, rack: r1, nvlinkDomain: rack}
            - {name: mi-1, model: mi, leaf: leaf-2}
--- {apiVersion: GROUP/v1, kind: Tenant, metadata: {name: acme}, spec: {grade: gpu, pools: [10.1.0.0/16], confidential: sev-snp}}
--- {apiVersion: GROUP/v1, kind: Tenant, metadata: {name: acme/research}, spec: {groups: ["oidc:acme", staff]}}
--- {apiVersion: GROUP/v1, kind: Tenant, metadata: {name: red}, spec: {grade: node, pools: [10.3.0.0/16]}}
--- {apiVersion: GROUP/v1, kind: Job, metadata: {name: train}, spec: {tenant: acme/research, endpoints: [hgx-1/0]}}
--- {apiVersion: GROUP/v1, kind: Job, metadata: {name: wide}, spec: {tenant: red, endpoints: [tray-1/0, tray-2/0]}}
--- {apiVersion: GROUP/v1, kind: Job, metadata: {name: other}, spec: {tenant: red, endpoints: [mi-1/0]}}
"#;

/// The text of one part; the part is written as it is displayed.
pub(crate) fn text(name: &str, dialect: Dialect, part: &str) -> String {
    let plan = plan();
    let part = match part.split_once(' ') {
        Some(("tenant", name)) => Part::Tenant(name.parse().unwrap()),
        Some(("holdings", name)) => Part::Holdings(name.parse().unwrap()),
        Some(("job", name)) => Part::Job(name.parse().unwrap()),
        Some(("node", number)) => Part::Node(model::NodeId(number.parse().unwrap())),
        _ => Part::Head,
    };
    render::part(&plan, device(&plan, name), dialect, &part).unwrap()
}

pub(crate) fn device(plan: &Plan, name: &str) -> model::DeviceId {
    let fleet = &plan.fleet;
    fleet.devices().find(|&id| fleet.device_name(id).as_str() == name).unwrap()
}

pub(crate) fn plan() -> Plan {
    let documents = DOCUMENTS.replace("GROUP", model::API_GROUP);
    let intent = intent::load(&[Source { file: "small.yaml", text: &documents }]).unwrap();
    plan::next(&intent, &plan::Ledger::default()).unwrap().plan
}
