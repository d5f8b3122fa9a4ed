#![allow(missing_docs, clippy::unwrap_used, reason = "a test fails by panicking")]

//! What libvirt, Slurm and Kubernetes are told.
//!
//! | node | what it is | whose |
//! |---|---|---|
//! | hgx-1 | two H100 | the first of acme/research/train (grade gpu, kept from the host) |
//! | tray-1, tray-2 | GB200 in one NVLink domain | all of red/wide (grade node) |
//! | mi-1 | one MI300X | red/other (grade node) |

use expect_test::{Expect, expect};
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

#[test]
fn a_machine_has_the_functions_of_its_job_and_memory_near_them() {
    check(
        "hgx-1",
        Dialect::Vm,
        "job acme/research/train",
        expect![[r#"
        <domain type='kvm'>
          <name>acme.research.train</name>
          <metadata>
            <tenancy:job xmlns:tenancy='https://bulkhead.dev/v1'>acme/research/train</tenancy:job>
          </metadata>
          <memory unit='GiB'>64</memory>
          <vcpu>8</vcpu>
          <numatune>
            <memory mode='strict' nodeset='0'/>
          </numatune>
          <os firmware='efi'>
            <type arch='x86_64' machine='q35'>hvm</type>
          </os>
          <devices>
            <hostdev mode='subsystem' type='pci' managed='no'>
              <source>
                <address domain='0x0000' bus='0x86' slot='0x00' function='0x0'/>
              </source>
            </hostdev>
            <hostdev mode='subsystem' type='pci' managed='no'>
              <source>
                <address domain='0x0000' bus='0x84' slot='0x00' function='0x0'/>
              </source>
            </hostdev>
          </devices>
          <launchSecurity type='sev-snp'>
            <policy>0x00030000</policy>
          </launchSecurity>
        </domain>
    "#]],
    );
}

#[test]
fn a_container_is_no_machine() {
    let plan = plan();
    let tray = device(&plan, "tray-1");
    let part = Part::Job("red/wide".parse().unwrap());
    assert_eq!(render::part(&plan, tray, Dialect::Vm, &part), None);
}

#[test]
fn slurm_has_a_file_for_nodes_gpus_topology_and_cgroups() {
    check(
        "slurm",
        Dialect::Slurm,
        "head",
        expect![[r#"
        # slurm.conf
        SlurmctldHost=slurm
        ClusterName=small
        AccountingStorageType=accounting_storage/slurmdbd
        AccountingStorageEnforce=associations,limits
        GresTypes=gpu
        MCSPlugin=mcs/account
        MCSParameters=enforced,select,privatedata
        ProctrackType=proctrack/cgroup
        PrologFlags=Alloc,Contain
        SelectType=select/cons_tres
        TaskPlugin=task/affinity,task/cgroup
        TopologyPlugin=topology/tree
        NodeName=mi-1 Gres=gpu:mi300x-192gb:1
        NodeName=hgx-1 Gres=gpu:h100-80gb:2
        NodeName=tray-1 Gres=gpu:gb200-186gb:1
        NodeName=tray-2 Gres=gpu:gb200-186gb:1
        # gres.conf
        AutoDetect=off
        NodeName=mi-1 Name=gpu Type=mi300x-192gb File=/dev/dri/renderD128
        NodeName=hgx-1 Name=gpu Type=h100-80gb File=/dev/nvidia[0-1]
        NodeName=tray-1 Name=gpu Type=gb200-186gb File=/dev/nvidia0
        NodeName=tray-2 Name=gpu Type=gb200-186gb File=/dev/nvidia0
        # topology.conf
        SwitchName=leaf-1 Nodes=hgx-1
        SwitchName=leaf-2 Nodes=mi-1,tray-1,tray-2
        SwitchName=spine-1 Switches=leaf-1,leaf-2
        # topology-block.conf
        BlockName=ams-pod-r1 Nodes=tray-1,tray-2
        # cgroup.conf
        ConstrainCores=yes
        ConstrainDevices=yes
        ConstrainRAMSpace=yes
    "#]],
    );
}

#[test]
fn a_tenant_has_a_partition_for_its_account() {
    check(
        "slurm",
        Dialect::Slurm,
        "tenant red",
        expect![[r#"
        # slurm.conf
        PartitionName=red Nodes=mi-1,tray-1,tray-2 AllowAccounts=red ExclusiveUser=YES OverSubscribe=NO State=UP
    "#]],
    );
    check(
        "slurm",
        Dialect::Slurm,
        "tenant acme/research",
        expect![[r#"
        # slurm.conf
        PartitionName=acme.research Nodes=hgx-1 AllowAccounts=acme.research ExclusiveUser=NO OverSubscribe=NO State=UP
    "#]],
    );
}

#[test]
fn a_job_has_a_reservation_that_overlaps_where_it_has_half_a_node() {
    check(
        "slurm",
        Dialect::Slurm,
        "job red/wide",
        expect![[r#"
        # reservations
        ReservationName=red.wide Nodes=tray-1,tray-2 NodeCnt=2 Flags=IGNORE_JOBS,SPEC_NODES Users=(null) Accounts=red
    "#]],
    );
    check(
        "slurm",
        Dialect::Slurm,
        "job acme/research/train",
        expect![[r#"
        # reservations
        ReservationName=acme.research.train Nodes=hgx-1 NodeCnt=1 Flags=OVERLAP,IGNORE_JOBS,SPEC_NODES Users=(null) Accounts=acme.research
    "#]],
    );
}

#[test]
fn kubernetes_is_told_where_nodes_stand_and_what_they_have() {
    check(
        "kubernetes",
        Dialect::Kubernetes,
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
        "kubernetes",
        Dialect::Kubernetes,
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
fn who_shares_no_host_has_a_control_plane_of_its_own() {
    let whole = text("kubernetes", Dialect::Kubernetes, "tenant red");
    let kinds: Vec<&str> = whole.lines().filter(|line| line.starts_with("kind: ")).collect();
    expect![[r#"
        kind: Namespace
        kind: StorageClass
        kind: ResourceQuota
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
        "kubernetes",
        Dialect::Kubernetes,
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
        "kubernetes",
        Dialect::Kubernetes,
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
        "kubernetes",
        Dialect::Kubernetes,
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

fn check(device: &str, dialect: Dialect, part: &str, expected: Expect) {
    expected.assert_eq(&text(device, dialect, part));
}

fn text(name: &str, dialect: Dialect, part: &str) -> String {
    let plan = plan();
    let part = match part.split_once(' ') {
        Some(("tenant", name)) => Part::Tenant(name.parse().unwrap()),
        Some(("job", name)) => Part::Job(name.parse().unwrap()),
        _ => Part::Head,
    };
    render::part(&plan, device(&plan, name), dialect, &part).unwrap()
}

fn device(plan: &Plan, name: &str) -> model::DeviceId {
    let fleet = &plan.fleet;
    fleet.devices().find(|&id| fleet.device_name(id).as_str() == name).unwrap()
}

fn plan() -> Plan {
    let documents = DOCUMENTS.replace("GROUP", model::API_GROUP);
    let intent = intent::load(&[Source { file: "small.yaml", text: &documents }]).unwrap();
    plan::next(&intent, &plan::Ledger::default()).unwrap().plan
}
