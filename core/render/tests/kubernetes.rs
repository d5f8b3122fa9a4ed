#![allow(missing_docs, clippy::unwrap_used, reason = "a test fails by panicking")]

//! What Kubernetes is told.

#[allow(dead_code, reason = "every other cluster is found by its device")]
mod cluster;

use cluster::{plan, text};
use expect_test::{Expect, expect};
use model::Dialect;
use model::admission::GUARDS;

#[test]
fn kubernetes_is_told_what_there_is_and_what_members_may_do() {
    let whole = text("kubernetes", Dialect::Kubernetes, "head");
    let (rules, rest): (Vec<&str>, Vec<&str>) =
        whole.split_inclusive("---\n").partition(|object| object.contains("ValidatingAdmission"));
    let is_shown = |object: &&&str| object.contains("name: secrets.bulkhead.dev");
    let shown: String = rest.iter().chain(rules.iter().filter(is_shown)).copied().collect();
    assert_eq!(rules.len(), 2 * GUARDS.len());
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
          - ""
          resources:
          - pods/log
          verbs:
          - get
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
          - apps
          resources:
          - deployments/scale
          - statefulsets/scale
          verbs:
          - get
          - patch
          - update
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
          - resource.k8s.io
          resources:
          - resourceclaims
          verbs:
          - get
          - list
          - watch
        ---
        apiVersion: rbac.authorization.k8s.io/v1
        kind: ClusterRole
        metadata:
          name: tenant-machine-member
        rules:
        - apiGroups:
          - ""
          resources:
          - configmaps
          - persistentvolumeclaims
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
          - ""
          resources:
          - pods
          verbs:
          - get
          - list
          - watch
        - apiGroups:
          - ""
          resources:
          - pods/log
          verbs:
          - get
        - apiGroups:
          - kubevirt.io
          resources:
          - virtualmachineinstances
          - virtualmachines
          verbs:
          - get
          - list
          - watch
        - apiGroups:
          - resource.k8s.io
          resources:
          - resourceclaims
          verbs:
          - get
          - list
          - watch
        - apiGroups:
          - subresources.kubevirt.io
          resources:
          - virtualmachines/restart
          - virtualmachines/start
          - virtualmachines/stop
          verbs:
          - update
        - apiGroups:
          - subresources.kubevirt.io
          resources:
          - virtualmachineinstances/console
          verbs:
          - get
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
        apiVersion: admissionregistration.k8s.io/v1
        kind: ValidatingAdmissionPolicy
        metadata:
          name: secrets.bulkhead.dev
        spec:
          failurePolicy: Fail
          matchConstraints:
            matchPolicy: Equivalent
            namespaceSelector: {}
            objectSelector: {}
            resourceRules:
            - apiGroups:
              - ""
              apiVersions:
              - "*"
              operations:
              - CREATE
              - UPDATE
              resources:
              - secrets
              scope: "*"
          validations:
          - expression: has(object.type) == false || object.type in ['Opaque', 'helm.sh/release.v1', 'kubernetes.io/basic-auth', 'kubernetes.io/dockercfg', 'kubernetes.io/dockerconfigjson', 'kubernetes.io/ssh-auth', 'kubernetes.io/tls']
            message: a secret is no key to the cluster
        ---
        apiVersion: admissionregistration.k8s.io/v1
        kind: ValidatingAdmissionPolicyBinding
        metadata:
          name: secrets.bulkhead.dev
        spec:
          policyName: secrets.bulkhead.dev
          matchResources:
            matchPolicy: Equivalent
            namespaceSelector:
              matchExpressions:
              - key: bulkhead.dev/runtime
                operator: In
                values:
                - container
                - vm
            objectSelector: {}
          validationActions:
          - Deny
        ---
    "#]].assert_eq(&shown);
}

#[test]
fn a_node_is_told_whose_it_is() {
    check(
        "node 1",
        expect![[r#"
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
            kubernetes.io/hostname: hgx-1
            tenant.node-restriction.kubernetes.io/acme-research-t1: here
        spec:
          taints:
          - effect: NoExecute
            key: bulkhead.dev/tenant
            value: acme-research-t1
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
                bulkhead.dev/runtime: vm
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
              - action: Deny
              egress:
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
              - action: Deny
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
              name: tenant-machine-member
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
                gpu.amd.com.deviceclass.resource.k8s.io/devices: "0"
                gpu.nvidia.com.deviceclass.resource.k8s.io/devices: "0"
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

fn check(part: &str, expected: Expect) {
    expected.assert_eq(&text("kubernetes", Dialect::Kubernetes, part));
}
