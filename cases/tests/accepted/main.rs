//! What is written in the words of others is taken by them: Kubernetes' own schemas, a real Slurm
//! controller with its nodes, libvirt's schema.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on may stop")]

mod kubernetes;
mod libvirt;
mod room;
mod slurm;

use cases::{World, from_documents};
use model::{Artifact, Dialect};

/// Two HGX nodes of which one is shared by two tenants in virtual machines, and two trays of one
/// NVLink domain.
const DOCUMENTS: &str = r#"
apiVersion: bulkhead.dev/v1
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
  sites:
    - name: ams
      jurisdiction: NL
      kind: core
      pods:
        - name: pod
          leaves: [{name: leaf-1}, {name: leaf-2}]
          spines: [{name: spine-1}]
          nodes:
            - {name: hgx-1, model: hgx, leaf: leaf-1, rack: "7"}
            - {name: hgx-2, model: hgx, leaf: leaf-1, rack: "7"}
            - {name: tray-1, model: tray, leaf: leaf-2, rack: r1, nvlinkDomain: rack}
            - {name: tray-2, model: tray, leaf: leaf-2, rack: r1, nvlinkDomain: rack}
--- {apiVersion: bulkhead.dev/v1, kind: Tenant, metadata: {name: acme}, spec: {grade: gpu, pools: [10.1.0.0/16]}}
--- {apiVersion: bulkhead.dev/v1, kind: Tenant, metadata: {name: acme/research}, spec: {groups: ["oidc:acme", "yes"]}}
--- {apiVersion: bulkhead.dev/v1, kind: Tenant, metadata: {name: blue}, spec: {grade: gpu, pools: [10.2.0.0/16]}}
--- {apiVersion: bulkhead.dev/v1, kind: Tenant, metadata: {name: red}, spec: {grade: node, pools: [10.3.0.0/16]}}
--- {apiVersion: bulkhead.dev/v1, kind: Job, metadata: {name: train}, spec: {tenant: acme/research, endpoints: [hgx-1/0]}}
--- {apiVersion: bulkhead.dev/v1, kind: Job, metadata: {name: serve}, spec: {tenant: blue, endpoints: [hgx-1/1]}}
--- {apiVersion: bulkhead.dev/v1, kind: Job, metadata: {name: wide}, spec: {tenant: red, endpoints: [tray-1/0, tray-2/0]}}
"#;

/// The artifacts of one dialect.
fn artifacts(dialect: Dialect) -> Vec<Artifact> {
    let World { artifacts, .. } = from_documents(DOCUMENTS).unwrap();
    artifacts.into_iter().filter(|artifact| artifact.dialect == dialect).collect()
}
