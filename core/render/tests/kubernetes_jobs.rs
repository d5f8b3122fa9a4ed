#![allow(missing_docs, clippy::unwrap_used, reason = "a test fails by panicking")]

//! What Kubernetes is told of jobs.

#[allow(dead_code, reason = "every other cluster is found by its device")]
mod cluster;

use cluster::text;
use expect_test::{Expect, expect};
use model::Dialect;

#[test]
fn a_job_claims_its_gpus_by_name_node_by_node() {
    check(
        "job red/wide",
        expect![[r#"
            ---
            apiVersion: networking.k8s.io/v1
            kind: NetworkPolicy
            metadata:
              name: job.wide
              namespace: red-t2
              annotations:
                bulkhead.dev/job: red/wide
            spec:
              podSelector:
                matchLabels:
                  bulkhead.dev/job: wide
              policyTypes:
              - Ingress
              - Egress
              ingress:
              - from:
                - podSelector:
                    matchLabels:
                      bulkhead.dev/job: wide
              egress:
              - to:
                - podSelector:
                    matchLabels:
                      bulkhead.dev/job: wide
            ---
            apiVersion: projectcalico.org/v3
            kind: NetworkPolicy
            metadata:
              name: job.wide
              namespace: red-t2
              annotations:
                bulkhead.dev/job: red/wide
            spec:
              order: 90
              selector: bulkhead.dev/job == 'wide'
              types:
              - Ingress
              - Egress
              ingress:
              - action: Allow
                source:
                  selector: bulkhead.dev/job == 'wide'
              egress:
              - action: Allow
                destination:
                  selector: bulkhead.dev/job == 'wide'
            ---
            apiVersion: resource.k8s.io/v1
            kind: ResourceClaim
            metadata:
              name: wide.tray-1
              namespace: red-t2
              annotations:
                bulkhead.dev/job: red/wide
            spec:
              devices:
                requests:
                - name: gpu-0
                  exactly:
                    deviceClassName: gpu.nvidia.com
                    selectors:
                    - cel:
                        expression: device.attributes['gpu.nvidia.com'].pciBusID == '0008:01:00.0'
            ---
            apiVersion: resource.k8s.io/v1
            kind: ResourceClaim
            metadata:
              name: wide.tray-2
              namespace: red-t2
              annotations:
                bulkhead.dev/job: red/wide
            spec:
              devices:
                requests:
                - name: gpu-0
                  exactly:
                    deviceClassName: gpu.nvidia.com
                    selectors:
                    - cel:
                        expression: device.attributes['gpu.nvidia.com'].pciBusID == '0008:01:00.0'
        "#]],
    );
    check(
        "job red/other",
        expect![[r#"
            ---
            apiVersion: networking.k8s.io/v1
            kind: NetworkPolicy
            metadata:
              name: job.other
              namespace: red-t2
              annotations:
                bulkhead.dev/job: red/other
            spec:
              podSelector:
                matchLabels:
                  bulkhead.dev/job: other
              policyTypes:
              - Ingress
              - Egress
              ingress:
              - from:
                - podSelector:
                    matchLabels:
                      bulkhead.dev/job: other
              egress:
              - to:
                - podSelector:
                    matchLabels:
                      bulkhead.dev/job: other
            ---
            apiVersion: projectcalico.org/v3
            kind: NetworkPolicy
            metadata:
              name: job.other
              namespace: red-t2
              annotations:
                bulkhead.dev/job: red/other
            spec:
              order: 90
              selector: bulkhead.dev/job == 'other'
              types:
              - Ingress
              - Egress
              ingress:
              - action: Allow
                source:
                  selector: bulkhead.dev/job == 'other'
              egress:
              - action: Allow
                destination:
                  selector: bulkhead.dev/job == 'other'
            ---
            apiVersion: resource.k8s.io/v1
            kind: ResourceClaim
            metadata:
              name: other.mi-1
              namespace: red-t2
              annotations:
                bulkhead.dev/job: red/other
            spec:
              devices:
                requests:
                - name: gpu-0
                  exactly:
                    deviceClassName: gpu.amd.com
                    selectors:
                    - cel:
                        expression: device.attributes['gpu.amd.com'].pciAddr == '0001:02:1f.7'
        "#]],
    );
}

#[test]
fn a_machine_in_kubernetes_has_its_gpus_by_claim() {
    check(
        "job acme/research/train",
        expect![[r#"
            ---
            apiVersion: networking.k8s.io/v1
            kind: NetworkPolicy
            metadata:
              name: job.train
              namespace: acme-research-t1
              annotations:
                bulkhead.dev/job: acme/research/train
            spec:
              podSelector:
                matchLabels:
                  bulkhead.dev/job: train
              policyTypes:
              - Ingress
              - Egress
              ingress:
              - from:
                - podSelector:
                    matchLabels:
                      bulkhead.dev/job: train
              egress:
              - to:
                - podSelector:
                    matchLabels:
                      bulkhead.dev/job: train
            ---
            apiVersion: projectcalico.org/v3
            kind: NetworkPolicy
            metadata:
              name: job.train
              namespace: acme-research-t1
              annotations:
                bulkhead.dev/job: acme/research/train
            spec:
              order: 90
              selector: bulkhead.dev/job == 'train'
              types:
              - Ingress
              - Egress
              ingress:
              - action: Allow
                source:
                  selector: bulkhead.dev/job == 'train'
              egress:
              - action: Allow
                destination:
                  selector: bulkhead.dev/job == 'train'
            ---
            apiVersion: resource.k8s.io/v1
            kind: ResourceClaim
            metadata:
              name: train.hgx-1
              namespace: acme-research-t1
              annotations:
                bulkhead.dev/job: acme/research/train
            spec:
              devices:
                requests:
                - name: gpu-1
                  exactly:
                    deviceClassName: vfio.gpu.nvidia.com
                    selectors:
                    - cel:
                        expression: device.attributes['gpu.nvidia.com'].pciBusID == '0000:86:00.0'
            ---
            apiVersion: kubevirt.io/v1
            kind: VirtualMachine
            metadata:
              name: train.hgx-1
              namespace: acme-research-t1
              annotations:
                bulkhead.dev/job: acme/research/train
            spec:
              runStrategy: Manual
              template:
                metadata:
                  labels:
                    bulkhead.dev/job: train
                spec:
                  nodeSelector:
                    kubernetes.io/hostname: hgx-1
                    tenant.node-restriction.kubernetes.io/acme-research-t1: here
                  tolerations:
                  - effect: NoExecute
                    key: bulkhead.dev/tenant
                    operator: Equal
                    value: acme-research-t1
                  - effect: NoExecute
                    key: bulkhead.dev/tenant
                    operator: Equal
                    value: shared
                  resourceClaims:
                  - name: gpus-0
                    resourceClaimName: train.hgx-1
                  domain:
                    cpu:
                      cores: 8
                    memory:
                      guest: 64Gi
                    launchSecurity:
                      snp: {}
                    devices:
                      gpus:
                      - name: gpu-1
                        claimName: gpus-0
                        requestName: gpu-1
        "#]],
    );
}

fn check(part: &str, expected: Expect) {
    expected.assert_eq(&text("kubernetes", Dialect::Kubernetes, part));
}
