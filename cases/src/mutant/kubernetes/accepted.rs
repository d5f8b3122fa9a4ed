//! What the API server accepts of a cluster's objects, hostile or not, and what it prints by itself.

use crate::mutant::Effect;
use crate::mutant::Effect::{Cuts, Harmless, Opens};
use crate::mutant::insert::Accepted;

/// Nothing begins so: it stands at the end.
const END: &str = "the end";

/// Lines by which a kind of object is found, and what stands beside them.
const NAMESPACE: &str = "bulkhead.dev/runtime: vm";
const NODE: &str = "accelerator.topograph.run/domain: h1";
const QUOTA: &str = "requests.nvidia.com/gpu";
const MACHINE: &str = "runStrategy: Manual";
const PLANE: &str = "dataStore: default";
const CLASS: &str = "provisioner: ";
const POLICY: &str = "failurePolicy: Fail";
const BINDING: &str = "policyName: pods.bulkhead.dev";

/// Each is put where it takes effect.
pub(in crate::mutant) const ACCEPTED: &[Accepted] = &[
    // Roles for people and pods of tenants, and for everybody.
    end(
        "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata:\n  name: more\nroleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: ClusterRole\n  name: cluster-admin\nsubjects:\n- apiGroup: rbac.authorization.k8s.io\n  kind: Group\n  name: blue-admins",
        Opens,
    ),
    end(
        "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata:\n  name: more\nroleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: ClusterRole\n  name: view\nsubjects:\n- apiGroup: rbac.authorization.k8s.io\n  kind: Group\n  name: system:authenticated",
        Opens,
    ),
    end(
        "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata:\n  name: more\nroleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: ClusterRole\n  name: cluster-admin\nsubjects:\n- apiGroup: rbac.authorization.k8s.io\n  kind: User\n  name: ann",
        Opens,
    ),
    end(
        "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata:\n  name: more\n  namespace: kube-system\nroleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: ClusterRole\n  name: admin\nsubjects:\n- apiGroup: rbac.authorization.k8s.io\n  kind: Group\n  name: blue-admins",
        Opens,
    ),
    end(
        "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata:\n  name: more\n  namespace: istio-system\nroleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: ClusterRole\n  name: edit\nsubjects:\n- apiGroup: rbac.authorization.k8s.io\n  kind: Group\n  name: red-admins",
        Opens,
    ),
    end(
        "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata:\n  name: more\n  namespace: monitoring\nroleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: ClusterRole\n  name: view\nsubjects:\n- apiGroup: rbac.authorization.k8s.io\n  kind: Group\n  name: green-admins",
        Opens,
    ),
    end(
        "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata:\n  name: more\n  namespace: red-t4\nroleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: ClusterRole\n  name: tenant-machine-member\nsubjects:\n- apiGroup: rbac.authorization.k8s.io\n  kind: Group\n  name: blue-admins",
        Opens,
    ),
    end(
        "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata:\n  name: more\n  namespace: blue-t1\nroleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: ClusterRole\n  name: admin\nsubjects:\n- apiGroup: rbac.authorization.k8s.io\n  kind: Group\n  name: blue-admins",
        Opens,
    ),
    end(
        "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata:\n  name: more\n  namespace: blue-t1\nroleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: ClusterRole\n  name: tenant-member\nsubjects:\n- apiGroup: rbac.authorization.k8s.io\n  kind: Group\n  name: blue-admins",
        Opens,
    ),
    end(
        "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata:\n  name: more\n  namespace: blue-t1\nroleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: ClusterRole\n  name: tenant-machine-member\nsubjects:\n- apiGroup: rbac.authorization.k8s.io\n  kind: Group\n  name: system:serviceaccounts",
        Opens,
    ),
    end(
        "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata:\n  name: pods\n  namespace: kube-system\nroleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: ClusterRole\n  name: admin\nsubjects:\n- kind: ServiceAccount\n  name: default\n  namespace: blue-t1",
        Opens,
    ),
    end(
        "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata:\n  name: more\n  labels:\n    rbac.authorization.k8s.io/aggregate-to-admin: \"true\"\nrules:\n- apiGroups: [\"\"]\n  resources: [nodes]\n  verbs: [\"*\"]",
        Opens,
    ),
    end(
        "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata:\n  name: tenant-machine-member\n  namespace: blue-t1\nrules:\n- apiGroups: [\"\"]\n  resources: [pods]\n  verbs: [create]",
        Opens,
    ),
    // Policies that let somebody through, here and in namespaces of the cluster's own.
    end(
        "---\napiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata:\n  name: more\n  namespace: blue-t1\nspec:\n  podSelector: {}\n  policyTypes:\n  - Ingress\n  ingress:\n  - {}",
        Opens,
    ),
    end(
        "---\napiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata:\n  name: more\n  namespace: kube-system\nspec:\n  podSelector: {}\n  policyTypes:\n  - Ingress\n  ingress:\n  - from:\n    - namespaceSelector:\n        matchLabels:\n          kubernetes.io/metadata.name: blue-t1",
        Opens,
    ),
    end(
        "---\napiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata:\n  name: more\n  namespace: red-t4\nspec:\n  podSelector: {}\n  policyTypes:\n  - Egress\n  egress:\n  - to:\n    - namespaceSelector:\n        matchLabels:\n          kubernetes.io/metadata.name: blue-t1",
        Opens,
    ),
    end(
        "---\napiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata:\n  name: more\n  namespace: red-t4\nspec:\n  podSelector: {}\n  policyTypes:\n  - Egress\n  egress:\n  - to:\n    - ipBlock:\n        cidr: 0.0.0.0/0",
        Opens,
    ),
    end(
        "---\napiVersion: projectcalico.org/v3\nkind: NetworkPolicy\nmetadata:\n  name: more\n  namespace: blue-t1\nspec:\n  order: 10\n  selector: all()\n  types:\n  - Ingress\n  ingress:\n  - action: Allow",
        Opens,
    ),
    end(
        "---\napiVersion: projectcalico.org/v3\nkind: NetworkPolicy\nmetadata:\n  name: more\n  namespace: kube-system\nspec:\n  order: 100\n  selector: all()\n  types:\n  - Ingress\n  ingress:\n  - action: Allow\n    source:\n      namespaceSelector: kubernetes.io/metadata.name == 'red-t4'\n  - action: Deny",
        Opens,
    ),
    end(
        "---\napiVersion: projectcalico.org/v3\nkind: GlobalNetworkPolicy\nmetadata:\n  name: more\nspec:\n  order: 10\n  selector: all()\n  types:\n  - Ingress\n  ingress:\n  - action: Allow",
        Opens,
    ),
    end(
        "---\napiVersion: security.istio.io/v1\nkind: AuthorizationPolicy\nmetadata:\n  name: more\n  namespace: istio-system\nspec:\n  action: ALLOW\n  rules:\n  - from:\n    - source:\n        namespaces:\n        - blue-t1",
        Opens,
    ),
    end(
        "---\napiVersion: security.istio.io/v1\nkind: AuthorizationPolicy\nmetadata:\n  name: more\n  namespace: red-t4\nspec:\n  action: ALLOW\n  rules:\n  - from:\n    - source:\n        namespaces:\n        - blue-t1",
        Opens,
    ),
    end(
        "---\napiVersion: security.istio.io/v1\nkind: AuthorizationPolicy\nmetadata:\n  name: more\n  namespace: kube-system\nspec:\n  rules:\n  - from:\n    - source:\n        namespaces:\n        - blue-t1",
        Opens,
    ),
    end(
        "---\napiVersion: security.istio.io/v1\nkind: AuthorizationPolicy\nmetadata:\n  name: more\n  namespace: red-t4\nspec:\n  rules:\n  - {}",
        Opens,
    ),
    end(
        "---\napiVersion: security.istio.io/v1\nkind: PeerAuthentication\nmetadata:\n  name: default\n  namespace: istio-system\nspec:\n  mtls:\n    mode: PERMISSIVE",
        Opens,
    ),
    end(
        "---\napiVersion: security.istio.io/v1\nkind: PeerAuthentication\nmetadata:\n  name: more\n  namespace: blue-t1\nspec:\n  mtls:\n    mode: DISABLE",
        Opens,
    ),
    // Claims, machines and control planes in namespaces of others.
    end(
        "---\napiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata:\n  name: tune.h1\n  namespace: kube-system\n  annotations:\n    bulkhead.dev/job: blue/tune\nspec:\n  devices:\n    requests:\n    - name: gpu-0\n      exactly:\n        deviceClassName: vfio.gpu.nvidia.com\n        selectors:\n        - cel:\n            expression: device.attributes['gpu.nvidia.com'].pciBusID == '0000:86:00.0'",
        Opens,
    ),
    end(
        "---\napiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata:\n  name: any\n  namespace: blue-t1\nspec:\n  devices:\n    requests:\n    - name: gpu\n      exactly:\n        deviceClassName: gpu.nvidia.com",
        Opens,
    ),
    end(
        "---\napiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate\nmetadata:\n  name: any\n  namespace: blue-t1\nspec:\n  spec:\n    devices:\n      requests:\n      - name: gpu\n        exactly:\n          deviceClassName: gpu.nvidia.com",
        Opens,
    ),
    end(
        "---\napiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata:\n  name: every\nspec:\n  selectors:\n  - cel:\n      expression: \"true\"",
        Opens,
    ),
    end(
        "---\napiVersion: v1\nkind: Pod\nmetadata:\n  name: root\n  namespace: kube-system\nspec:\n  hostPID: true\n  containers:\n  - name: c\n    image: a",
        Opens,
    ),
    end(
        "---\napiVersion: v1\nkind: Service\nmetadata:\n  name: out\n  namespace: blue-t1\nspec:\n  type: NodePort\n  ports:\n  - port: 80",
        Opens,
    ),
    end(
        "---\napiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata:\n  name: fast\n  annotations:\n    storageclass.kubernetes.io/is-default-class: \"true\"\nprovisioner: example.com/nfs",
        Opens,
    ),
    // A guard less.
    end(
        "---\napiVersion: v1\nkind: Namespace\nmetadata:\n  name: other\n  annotations:\n    bulkhead.dev/tenant: blue",
        Opens,
    ),
    end(
        "---\napiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicyBinding\nmetadata:\n  name: more\nspec:\n  policyName: pods.bulkhead.dev\n  validationActions:\n  - Audit",
        Opens,
    ),
    end(
        "---\napiVersion: admissionregistration.k8s.io/v1\nkind: MutatingWebhookConfiguration\nmetadata:\n  name: more\nwebhooks: []",
        Opens,
    ),
    put(
        POLICY,
        "  matchConditions:\n  - name: some\n    expression: request.userInfo.username != 'ann'",
        Opens,
    ),
    put(POLICY, "  auditAnnotations:\n  - key: seen\n    valueExpression: \"'yes'\"", Harmless),
    put(BINDING, "  paramRef:\n    name: x\n    parameterNotFoundAction: Allow", Opens),
    put(
        "objectSelector: {}",
        "    excludeResourceRules:\n    - apiGroups: [\"\"]\n      apiVersions: [v1]\n      operations: [CREATE]\n      resources: [pods]",
        Opens,
    ),
    put("  validationActions:", "  - Audit", Harmless),
    // Namespaces.
    put(NAMESPACE, "    pod-security.kubernetes.io/enforce-version: v1.20", Opens),
    put(NAMESPACE, "    pod-security.kubernetes.io/warn: baseline", Harmless),
    put(NAMESPACE, "    pod-security.kubernetes.io/audit: privileged", Harmless),
    put(NAMESPACE, "    kubernetes.io/metadata.name: blue-t1", Harmless),
    put(NAMESPACE, "    istio.io/dataplane-mode: ambient", Opens),
    put(
        "bulkhead.dev/tenant: blue",
        "    scheduler.alpha.kubernetes.io/node-selector: kubernetes.io/hostname=h2",
        Opens,
    ),
    put(
        "bulkhead.dev/tenant: blue",
        "    kubectl.kubernetes.io/last-applied-configuration: \"{}\"",
        Harmless,
    ),
    // Nodes.
    put(NODE, "    tenant.node-restriction.kubernetes.io/green-t2: here", Opens),
    put(NODE, "    kubernetes.io/os: linux", Harmless),
    put(NODE, "    kubernetes.io/arch: amd64", Harmless),
    put(NODE, "    node.kubernetes.io/instance-type: hgx", Harmless),
    put("  taints:", "  - effect: NoSchedule\n    key: node.kubernetes.io/unschedulable", Cuts),
    put(
        "  taints:",
        "  - effect: PreferNoSchedule\n    key: example.com/busy\n    value: \"yes\"",
        Cuts,
    ),
    // Slices.
    put("nodeName: h1", "  perDeviceNodeSelection: true", Opens),
    put(
        "resourceSliceCount: 1",
        "  sharedCounters:\n  - name: a\n    counters:\n      memory:\n        value: 80Gi",
        Opens,
    ),
    put(
        "  devices:",
        "  - name: gpu-9\n    attributes:\n      pciBusID:\n        string: \"0000:99:00.0\"\n      type:\n        string: gpu",
        Opens,
    ),
    put("  - name: gpu-4", "    capacity:\n      memory:\n        value: 80Gi", Harmless),
    put(
        "  - name: gpu-4",
        "    taints:\n    - effect: NoExecute\n      key: example.com/broken",
        Cuts,
    ),
    put(
        "  - name: gpu-4",
        "    consumesCounters:\n    - counterSet: a\n      counters:\n        memory:\n          value: 80Gi",
        Harmless,
    ),
    put("    attributes:", "      driverVersion:\n        version: 570.133.20", Harmless),
    // Claims.
    put("deviceClassName: vfio.gpu.nvidia.com", "        adminAccess: true", Opens),
    put("deviceClassName: vfio.gpu.nvidia.com", "        allocationMode: All", Opens),
    put("deviceClassName: vfio.gpu.nvidia.com", "        count: 2", Opens),
    put(
        "deviceClassName: vfio.gpu.nvidia.com",
        "        allocationMode: ExactCount\n        count: 1",
        Harmless,
    ),
    put(
        "deviceClassName: vfio.gpu.nvidia.com",
        "        tolerations:\n        - operator: Exists",
        Opens,
    ),
    // Quotas and bounds.
    put(QUOTA, "    pods: \"0\"", Cuts),
    put(QUOTA, "    fast.storageclass.storage.k8s.io/requests.storage: 1Ti", Cuts),
    put("  hard:", "    requests.storage: 9Ti", Cuts),
    put("  - type: Container", "    max:\n      cpu: \"9\"", Cuts),
    put("  - type: Container", "    maxLimitRequestRatio:\n      cpu: \"1\"", Cuts),
    put(CLASS, "parameters:\n  path: /", Opens),
    put(CLASS, "mountOptions:\n- dev", Opens),
    put(CLASS, "allowVolumeExpansion: true", Harmless),
    put(CLASS, "allowedTopologies:\n- matchLabelExpressions:\n  - key: a\n    values: [b]", Opens),
    // Policies.
    put("podSelector: {}", "  ingress:\n  - {}", Opens),
    put("podSelector: {}", "  ingress: []", Harmless),
    put("selector: all()", "  serviceAccountSelector: x == 'y'", Opens),
    put("selector: all()", "  tier: default", Harmless),
    put("selector: all()", "  preDNAT: true", Opens),
    put("mode: STRICT", "  selector:\n    matchLabels:\n      a: b", Opens),
    put("mode: STRICT", "  portLevelMtls:\n    8080:\n      mode: DISABLE", Opens),
    put("  action: ALLOW", "  selector:\n    matchLabels:\n      a: b", Opens),
    put(
        "  action: ALLOW",
        "  targetRef:\n    group: gateway.networking.k8s.io\n    kind: Gateway\n    name: x",
        Opens,
    ),
    // Machines.
    put(
        MACHINE,
        "  dataVolumeTemplates:\n  - metadata:\n      name: x\n    spec:\n      source:\n        http:\n          url: http://10.0.0.1/x",
        Opens,
    ),
    put(MACHINE, "  instancetype:\n    name: large", Opens),
    put(
        "  template:",
        "    metadata:\n      annotations:\n        hooks.kubevirt.io/hookSidecars: '[{\"image\":\"a\"}]'",
        Effect::Refused,
    ),
    put(
        "        bulkhead.dev/job: tune",
        "      annotations:\n        hooks.kubevirt.io/hookSidecars: '[{\"image\":\"a\"}]'",
        Opens,
    ),
    put("        bulkhead.dev/job: tune", "        app: x", Opens),
    put("        kubernetes.io/hostname: h1", "        kubevirt.io/schedulable: \"true\"", Opens),
    put(
        "      domain:",
        "        firmware:\n          kernelBoot:\n            container:\n              image: a\n              kernelPath: /x",
        Opens,
    ),
    put("      domain:", "        ioThreadsPolicy: auto", Opens),
    put("      domain:", "        machine:\n          type: q35", Harmless),
    put(
        "          gpus:",
        "          - name: other\n            deviceName: nvidia.com/H100",
        Opens,
    ),
    put(
        "        devices:",
        "          hostDevices:\n          - name: x\n            deviceName: example.com/nic",
        Opens,
    ),
    put(
        "        devices:",
        "          filesystems:\n          - name: x\n            virtiofs: {}",
        Opens,
    ),
    put(
        "        devices:",
        "          disks:\n          - name: x\n            disk:\n              bus: virtio",
        Opens,
    ),
    put("          cores: 16", "          dedicatedCpuPlacement: true", Opens),
    put("          cores: 16", "          sockets: 1", Harmless),
    put("          guest: ", "          hugepages:\n            pageSize: 1Gi", Opens),
    put(
        "    spec:",
        "      volumes:\n      - name: x\n        hostDisk:\n          path: /x\n          type: Disk",
        Opens,
    ),
    put("    spec:", "      affinity:\n        nodeAffinity: {}", Opens),
    put("    spec:", "      priorityClassName: system-node-critical", Opens),
    put("    spec:", "      hostname: x", Opens),
    put("    spec:", "      architecture: amd64", Harmless),
    put("    spec:", "      evictionStrategy: External", Opens),
    put("    spec:", "      terminationGracePeriodSeconds: 30", Harmless),
    put(
        "    spec:",
        "      networks:\n      - name: x\n        multus:\n          networkName: y",
        Opens,
    ),
    put(
        "    spec:",
        "      accessCredentials:\n      - sshPublicKey:\n          source:\n            secret:\n              secretName: x\n          propagationMethod:\n            noCloud: {}",
        Opens,
    ),
    // Control planes of tenants' own.
    put(PLANE, "  dataStoreSchema: violet_t5_control_plane", Opens),
    put(PLANE, "  dataStoreSchema: green_t2_control_plane", Harmless),
    put(PLANE, "  dataStoreUsername: violet_t5_control_plane", Opens),
    put(PLANE, "  writePermissions:\n    blockCreation: true", Opens),
    put(
        "    deployment:",
        "      extraArgs:\n        apiServer:\n        - --anonymous-auth=true\n        - --authorization-mode=AlwaysAllow",
        Opens,
    ),
    put(
        "    deployment:",
        "      additionalVolumes:\n      - name: x\n        hostPath:\n          path: /",
        Opens,
    ),
    put("    deployment:", "      additionalContainers:\n      - name: x\n        image: a", Opens),
    put("    deployment:", "      serviceAccountName: admin", Opens),
    put(
        "    deployment:",
        "      podAdditionalMetadata:\n        labels:\n          bulkhead.dev/job: serve",
        Opens,
    ),
    put("    deployment:", "      affinity:\n        nodeAffinity: {}", Opens),
    put("    deployment:", "      registrySettings:\n        registry: example.com", Opens),
    put("    deployment:", "      runtimeClassName: x", Opens),
    put("    service:", "      additionalMetadata:\n        annotations:\n          a: b", Opens),
    put(
        "  kubernetes:",
        "    admissionControllers:\n    - NodeRestriction\n    - ResourceQuota",
        Harmless,
    ),
    put("  networkProfile:", "    address: 10.0.0.9", Opens),
    put("  networkProfile:", "    allowAddressAsExternalIP: true", Opens),
    put("  addons:", "    kubeProxy: {}", Harmless),
    put("  addons:", "    konnectivity:\n      server:\n        port: 8132", Opens),
    // What a server prints.
    end(
        "---\napiVersion: v1\nkind: Namespace\nmetadata:\n  name: kube-system\n  labels:\n    kubernetes.io/metadata.name: kube-system\nspec:\n  finalizers:\n  - kubernetes\nstatus:\n  phase: Active",
        Harmless,
    ),
    end(
        "---\napiVersion: v1\nkind: Namespace\nmetadata:\n  name: default\n  creationTimestamp: \"2026-11-19T10:11:12Z\"\n  resourceVersion: \"4\"\n  uid: 5f0bb0b1-5c0f-4a54-8b0c-1cbb1a1c8a01\nspec:\n  finalizers:\n  - kubernetes",
        Harmless,
    ),
];

const fn put(behind: &'static str, line: &'static str, effect: Effect) -> Accepted {
    Accepted { behind, line, effect }
}

/// A whole document.
const fn end(line: &'static str, effect: Effect) -> Accepted {
    Accepted { behind: END, line, effect }
}
