#![allow(missing_docs, clippy::unwrap_used, reason = "a test fails by panicking")]

//! What Kubernetes is told.

#[allow(dead_code, reason = "every other cluster is found by its device")]
mod cluster;

use cluster::{plan, text};
use expect_test::{Expect, expect};
use model::Dialect;

#[test]
fn kubernetes_is_told_where_nodes_stand_and_what_they_have() {
    check(
        "head",
        expect![[r#"
        ---
        apiVersion: resource.k8s.io/v1
        kind: DeviceClass
        metadata:
          name: gpu.nvidia.com
        spec:
          selectors:
          - cel:
              expression: device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == 'gpu'
        ---
        apiVersion: resource.k8s.io/v1
        kind: DeviceClass
        metadata:
          name: vfio.gpu.nvidia.com
        spec:
          selectors:
          - cel:
              expression: device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == 'vfio'
        ---
        apiVersion: resource.k8s.io/v1
        kind: DeviceClass
        metadata:
          name: gpu.amd.com
        spec:
          selectors:
          - cel:
              expression: device.driver == 'gpu.amd.com' && device.attributes['gpu.amd.com'].type == 'amdgpu'
        ---
        apiVersion: rbac.authorization.k8s.io/v1
        kind: ClusterRole
        metadata:
          name: tenant-member
        rules:
        - apiGroups:
          - ""
          resources:
          - configmaps
          - persistentvolumeclaims
          - pods
          - secrets
          - services
          verbs:
          - create
          - delete
          - get
          - list
          - patch
          - update
          - watch
        - apiGroups:
          - apps
          resources:
          - deployments
          - statefulsets
          verbs:
          - create
          - delete
          - get
          - list
          - patch
          - update
          - watch
        - apiGroups:
          - batch
          resources:
          - jobs
          verbs:
          - create
          - delete
          - get
          - list
          - patch
          - update
          - watch
        - apiGroups:
          - ""
          resources:
          - pods/log
          verbs:
          - get
        ---
        apiVersion: v1
        kind: Node
        metadata:
          name: mi-1
          labels:
            fabric.topograph.run/tier-1: ams-pod
            fabric.topograph.run/tier-0: leaf-2
            topology.kubernetes.io/rack: ams-pod-leaf-2
            accelerator.topograph.run/domain: mi-1
        ---
        apiVersion: resource.k8s.io/v1
        kind: ResourceSlice
        metadata:
          name: mi-1-gpu.amd.com
        spec:
          driver: gpu.amd.com
          nodeName: mi-1
          pool:
            generation: 1
            name: mi-1
            resourceSliceCount: 1
          devices:
          - name: gpu-0-128
            attributes:
              pciAddr:
                string: "0001:02:1f.7"
              type:
                string: amdgpu
        ---
        apiVersion: v1
        kind: Node
        metadata:
          name: hgx-1
          labels:
            fabric.topograph.run/tier-1: ams-pod
            fabric.topograph.run/tier-0: leaf-1
            topology.kubernetes.io/rack: ams-pod-7
            accelerator.topograph.run/domain: hgx-1
        ---
        apiVersion: resource.k8s.io/v1
        kind: ResourceSlice
        metadata:
          name: hgx-1-gpu.nvidia.com
        spec:
          driver: gpu.nvidia.com
          nodeName: hgx-1
          pool:
            generation: 1
            name: hgx-1
            resourceSliceCount: 1
          devices:
          - name: gpu-1
            attributes:
              pciBusID:
                string: "0000:86:00.0"
              type:
                string: gpu
          - name: gpu-0
            attributes:
              pciBusID:
                string: "0000:0f:00.0"
              type:
                string: gpu
        ---
        apiVersion: v1
        kind: Node
        metadata:
          name: tray-1
          labels:
            fabric.topograph.run/tier-1: ams-pod
            fabric.topograph.run/tier-0: leaf-2
            topology.kubernetes.io/rack: ams-pod-r1
            accelerator.topograph.run/domain: ams-pod-r1
        ---
        apiVersion: resource.k8s.io/v1
        kind: ResourceSlice
        metadata:
          name: tray-1-gpu.nvidia.com
        spec:
          driver: gpu.nvidia.com
          nodeName: tray-1
          pool:
            generation: 1
            name: tray-1
            resourceSliceCount: 1
          devices:
          - name: gpu-0
            attributes:
              pciBusID:
                string: "0008:01:00.0"
              type:
                string: gpu
        ---
        apiVersion: v1
        kind: Node
        metadata:
          name: tray-2
          labels:
            fabric.topograph.run/tier-1: ams-pod
            fabric.topograph.run/tier-0: leaf-2
            topology.kubernetes.io/rack: ams-pod-r1
            accelerator.topograph.run/domain: ams-pod-r1
        ---
        apiVersion: resource.k8s.io/v1
        kind: ResourceSlice
        metadata:
          name: tray-2-gpu.nvidia.com
        spec:
          driver: gpu.nvidia.com
          nodeName: tray-2
          pool:
            generation: 1
            name: tray-2
            resourceSliceCount: 1
          devices:
          - name: gpu-0
            attributes:
              pciBusID:
                string: "0008:01:00.0"
              type:
                string: gpu
    "#]],
    );
}

#[test]
fn a_tenant_is_a_namespace_that_is_closed() {
    check(
        "tenant acme/research",
        expect![[r#"
            ---
            apiVersion: v1
            kind: Namespace
            metadata:
              name: acme-research-t1
              annotations:
                bulkhead.dev/tenant: acme/research
              labels:
                istio-injection: enabled
                pod-security.kubernetes.io/enforce: restricted
            ---
            apiVersion: storage.k8s.io/v1
            kind: StorageClass
            metadata:
              name: acme-research-t1
              annotations:
                bulkhead.dev/tenant: acme/research
            provisioner: kubernetes.io/no-provisioner
            reclaimPolicy: Delete
            volumeBindingMode: WaitForFirstConsumer
            ---
            apiVersion: v1
            kind: LimitRange
            metadata:
              name: bounds
              namespace: acme-research-t1
            spec:
              limits:
              - type: Container
                default:
                  cpu: "8"
                  memory: 32Gi
                defaultRequest:
                  cpu: "1"
                  memory: 4Gi
            ---
            apiVersion: networking.k8s.io/v1
            kind: NetworkPolicy
            metadata:
              name: default-deny
              namespace: acme-research-t1
            spec:
              podSelector: {}
              policyTypes:
              - Ingress
              - Egress
            ---
            apiVersion: networking.k8s.io/v1
            kind: NetworkPolicy
            metadata:
              name: same-namespace
              namespace: acme-research-t1
            spec:
              podSelector: {}
              policyTypes:
              - Ingress
              - Egress
              ingress:
              - from:
                - podSelector: {}
              egress:
              - to:
                - podSelector: {}
            ---
            apiVersion: networking.k8s.io/v1
            kind: NetworkPolicy
            metadata:
              name: resolver
              namespace: acme-research-t1
            spec:
              podSelector: {}
              policyTypes:
              - Egress
              egress:
              - to:
                - namespaceSelector:
                    matchLabels:
                      kubernetes.io/metadata.name: kube-system
                  podSelector:
                    matchLabels:
                      k8s-app: kube-dns
                ports:
                - protocol: UDP
                  port: 53
                - protocol: TCP
                  port: 53
            ---
            apiVersion: projectcalico.org/v3
            kind: NetworkPolicy
            metadata:
              name: isolation
              namespace: acme-research-t1
            spec:
              order: 100
              selector: all()
              types:
              - Ingress
              - Egress
              ingress:
              - action: Allow
                source:
                  namespaceSelector: kubernetes.io/metadata.name == 'acme-research-t1'
              egress:
              - action: Allow
                destination:
                  namespaceSelector: kubernetes.io/metadata.name == 'acme-research-t1'
              - action: Allow
                protocol: UDP
                destination:
                  namespaceSelector: kubernetes.io/metadata.name == 'kube-system'
                  selector: k8s-app == 'kube-dns'
                  ports:
                  - 53
              - action: Allow
                protocol: TCP
                destination:
                  namespaceSelector: kubernetes.io/metadata.name == 'kube-system'
                  selector: k8s-app == 'kube-dns'
                  ports:
                  - 53
            ---
            apiVersion: security.istio.io/v1
            kind: PeerAuthentication
            metadata:
              name: strict
              namespace: acme-research-t1
            spec:
              mtls:
                mode: STRICT
            ---
            apiVersion: security.istio.io/v1
            kind: AuthorizationPolicy
            metadata:
              name: same-namespace
              namespace: acme-research-t1
            spec:
              action: ALLOW
              rules:
              - from:
                - source:
                    namespaces:
                    - acme-research-t1
            ---
            apiVersion: rbac.authorization.k8s.io/v1
            kind: RoleBinding
            metadata:
              name: members
              namespace: acme-research-t1
            roleRef:
              apiGroup: rbac.authorization.k8s.io
              kind: ClusterRole
              name: tenant-member
            subjects:
            - apiGroup: rbac.authorization.k8s.io
              kind: Group
              name: "oidc:acme"
            - apiGroup: rbac.authorization.k8s.io
              kind: Group
              name: staff
        "#]],
    );
}

#[test]
fn what_its_jobs_have_together_is_all_that_a_tenant_may_use() {
    check(
        "holdings acme/research",
        expect![[r#"
            ---
            apiVersion: v1
            kind: ResourceQuota
            metadata:
              name: limits
              namespace: acme-research-t1
            spec:
              hard:
                vfio.gpu.nvidia.com.deviceclass.resource.k8s.io/devices: "1"
                requests.amd.com/gpu: "0"
                requests.nvidia.com/gpu: "0"
                acme-research-t1.storageclass.storage.k8s.io/requests.storage: 1Ti
        "#]],
    );
}

#[test]
fn who_shares_no_host_has_a_control_plane_of_its_own() {
    let whole = text("kubernetes", Dialect::Kubernetes, "tenant red");
    let kinds: Vec<&str> = whole.lines().filter(|line| line.starts_with("kind: ")).collect();
    expect![[r#"
        kind: Namespace
        kind: StorageClass
        kind: LimitRange
        kind: NetworkPolicy
        kind: NetworkPolicy
        kind: NetworkPolicy
        kind: NetworkPolicy
        kind: PeerAuthentication
        kind: AuthorizationPolicy
        kind: TenantControlPlane"#]]
    .assert_eq(&kinds.join("\n"));
    expect![[r#"
        # Values of the vCluster in the namespace red-t2.
        controlPlane:
          distro:
            k8s:
              enabled: true
              version: v1.34.0
        sync:
          toHost:
            pods:
              enabled: true
            networkPolicies:
              enabled: false
        policies:
          podSecurityStandard: restricted
          networkPolicy:
            enabled: true
    "#]]
    .assert_eq(&render::vcluster_values(&plan(), &"red".parse().unwrap()).unwrap());
}

#[test]
fn a_job_claims_its_gpus_by_name_node_by_node() {
    check(
        "job red/wide",
        expect![[r#"
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
        status:
          allocation:
            devices:
              results:
              - request: gpu-0
                driver: gpu.nvidia.com
                pool: tray-1
                device: gpu-0
            nodeSelector:
              nodeSelectorTerms:
              - matchFields:
                - key: metadata.name
                  operator: In
                  values:
                  - tray-1
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
        status:
          allocation:
            devices:
              results:
              - request: gpu-0
                driver: gpu.nvidia.com
                pool: tray-2
                device: gpu-0
            nodeSelector:
              nodeSelectorTerms:
              - matchFields:
                - key: metadata.name
                  operator: In
                  values:
                  - tray-2
    "#]],
    );
    check(
        "job red/other",
        expect![[r#"
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
        status:
          allocation:
            devices:
              results:
              - request: gpu-0
                driver: gpu.amd.com
                pool: mi-1
                device: gpu-0-128
            nodeSelector:
              nodeSelectorTerms:
              - matchFields:
                - key: metadata.name
                  operator: In
                  values:
                  - mi-1
    "#]],
    );
}

#[test]
fn a_machine_in_kubernetes_has_its_gpus_by_claim() {
    check(
        "job acme/research/train",
        expect![[r#"
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
        status:
          allocation:
            devices:
              results:
              - request: gpu-1
                driver: gpu.nvidia.com
                pool: hgx-1
                device: gpu-vfio-1
            nodeSelector:
              nodeSelectorTerms:
              - matchFields:
                - key: metadata.name
                  operator: In
                  values:
                  - hgx-1
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
            spec:
              nodeSelector:
                kubernetes.io/hostname: hgx-1
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
