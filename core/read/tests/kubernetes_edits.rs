#![allow(missing_docs, clippy::unwrap_used, reason = "a test fails by panicking")]

//! Kinds of edits that were proved once though they open or cut: each with the line that says so,
//! beside a sound twin that stays silent.

#[allow(dead_code, reason = "the edits are of texts of one kind")]
mod page;

use model::Dialect;

const PLANE: &str = "\
apiVersion: kamaji.clastix.io/v1alpha1
kind: TenantControlPlane
metadata:
  name: control-plane
  namespace: acme-t2
  annotations:
    bulkhead.dev/tenant: acme
spec:
  dataStore: default
  dataStoreSchema: acme_t2_control_plane
  controlPlane:
    deployment:
      nodeSelector:
        tenant.node-restriction.kubernetes.io/acme-t2: here
      tolerations:
      - effect: NoExecute
        key: bulkhead.dev/tenant
        operator: Equal
        value: acme-t2
    service:
      serviceType: ClusterIP
";

const MACHINE: &str = "\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata:
  name: tune.h1
  namespace: blue-t1
  annotations:
    bulkhead.dev/job: blue/tune
spec:
  runStrategy: Manual
  template:
    metadata:
      labels:
        bulkhead.dev/job: tune
    spec:
      nodeSelector:
        kubernetes.io/hostname: h1
        tenant.node-restriction.kubernetes.io/blue-t1: here
      tolerations:
      - effect: NoExecute
        key: bulkhead.dev/tenant
        value: blue-t1
      - effect: NoExecute
        key: bulkhead.dev/tenant
        value: shared
      resourceClaims:
      - name: gpus-0
        resourceClaimName: tune.h1
      domain:
        devices:
          gpus:
          - name: gpu-0
            claimName: gpus-0
            requestName: gpu-0
          - name: gpu-1
            claimName: gpus-0
            requestName: gpu-1
";

const CLAIM: &str = "\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata:
  name: tune.h1
  namespace: blue-t1
  annotations:
    bulkhead.dev/job: blue/tune
spec:
  devices:
    requests:
    - name: gpu-4
      exactly:
        deviceClassName: vfio.gpu.nvidia.com
        selectors:
        - cel:
            expression: device.attributes['gpu.nvidia.com'].pciBusID == '0000:86:00.0'
";

const BINDING: &str = "\
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: members
  namespace: blue-t1
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: tenant-machine-member
subjects:
- apiGroup: rbac.authorization.k8s.io
  kind: Group
  name: blue-admins
";

const SLICE: &str = "\
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata:
  name: h1-gpu.nvidia.com
spec:
  driver: gpu.nvidia.com
  nodeName: h1
  pool:
    generation: 1
    name: h1
    resourceSliceCount: 1
  devices:
  - name: gpu-4
    attributes:
      pciBusID:
        string: \"0000:86:00.0\"
      type:
        string: gpu
";

#[test]
fn control_planes_have_no_part_of_a_store_in_common() {
    check(PLANE, "acme_t2", "other_t3", "the part of the store is called by who has it");
}

#[test]
fn what_bears_no_taint_of_its_own_nodes_runs_nowhere() {
    const WHY: &str = "what does not bear the taint of its tenant's nodes is kept off them";
    check(PLANE, "value: acme-t2", "value: shared", WHY);
    check(MACHINE, "value: blue-t1", "value: shared", WHY);
}

#[test]
fn a_machine_gets_each_gpu_of_its_claims_once() {
    const WHY: &str = "a machine gets each GPU once, by a claim that it has";
    check(MACHINE, "            requestName: gpu-1\n", "", "a GPU names its claim");
    check(MACHINE, "requestName: gpu-1", "requestName: gpu-0", WHY);
    let second = "claimName: gpus-0\n            requestName: gpu-1";
    check(MACHINE, second, "claimName: x\n            requestName: gpu-1", WHY);
    check(MACHINE, "      - name: gpus-0\n        resourceClaimName: tune.h1\n", "", WHY);
    let (without, _) = MACHINE.split_once("        devices:").unwrap_or_default();
    assert!(told(without).contains(WHY), "{}", told(without));
}

#[test]
fn what_the_api_demands_is_there() {
    let service = "    service:\n      serviceType: ClusterIP\n";
    check(PLANE, service, "", "a control plane that does not say how it is reached");
    let count = "    resourceSliceCount: 1\n";
    check(SLICE, count, "", "a pool that does not say how many slices it has");
}

#[test]
fn a_selector_of_pods_has_labels_or_none() {
    let policy = "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata:\n  name: \
                  resolver\n  namespace: blue-t1\nspec:\n  podSelector: {}\n  policyTypes:\n  - \
                  Egress\n  egress:\n  - to:\n    - namespaceSelector:\n        matchLabels:\n          \
                  kubernetes.io/metadata.name: kube-system\n      podSelector:\n        \
                  matchLabels:\n          k8s-app: kube-dns\n";
    check(policy, "podSelector: {}", "podSelector: all", "a selector has labels, or none");
    let labels = "        matchLabels:\n          k8s-app";
    check(policy, labels, "        k8s-app", "no object of this kind");
    check(policy, labels, "        other:\n          k8s-app", "no object of this kind");
}

#[test]
fn a_claim_calls_a_gpu_by_its_device_file() {
    const WHY: &str = "a request is called by the device file of its GPU";
    check(CLAIM, "- name: gpu-4", "- name: other", WHY);
    check(CLAIM, "- name: gpu-4", "- name: gpu-04", WHY);
    check(CLAIM, "- name: gpu-4\n      exactly", "- exactly", WHY);
    // Its class is said, for whoever knows where it stands.
    assert!(told(CLAIM).contains("class: NvidiaVfio"), "{}", told(CLAIM));
}

#[test]
fn a_policy_of_calico_for_some_pods_is_none_for_the_others() {
    let policy = "apiVersion: projectcalico.org/v3\nkind: NetworkPolicy\nmetadata:\n  name: \
                  isolation\n  namespace: blue-t1\nspec:\n  order: 100\n  selector: all()\n  \
                  types:\n  - Ingress\n  ingress:\n  - action: Deny\n  egress:\n  - action: Deny\n";
    let policy = policy.replace("  - Ingress\n", "  - Ingress\n  - Egress\n");
    let why = "a policy that selects some pods leaves the others open";
    check(&policy, "all()", "a == 'b'", why);
    check(&policy, "all()", "\u{a0}all()", "a character that is not seen");
}

#[test]
fn a_role_is_one_of_kubernetes_own() {
    const WHY: &str = "no object of this kind that keeps tenants apart says this";
    check(BINDING, "- apiGroup: rbac.authorization.k8s.io", "- apiGroup: example.com", WHY);
    check(BINDING, "\n  apiGroup: rbac.authorization.k8s.io", "\n  apiGroup: a.com", WHY);
    check(BINDING, "  kind: ClusterRole\n", "", "a binding says its role");
}

#[test]
fn a_device_that_does_not_say_what_it_is_is_in_no_class() {
    check(SLICE, "      type:\n        string: gpu\n", "", "is in no class");
    check(SLICE, "string: gpu\n", "string: amdgpu\n", "a device is a whole GPU");
    check(SLICE, "driver: gpu.nvidia.com", "driver: gpu.amd.com", "a device is a whole GPU");
}

#[test]
fn what_says_nothing_keeps_nothing() {
    let policy = "apiVersion: admissionregistration.k8s.io/v1\nkind: KIND\nmetadata:\n  name: \
                  pods.bulkhead.dev\n";
    for kind in ["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"] {
        let told = told(&policy.replace("KIND", kind));
        assert!(told.contains("put back what is planned"), "{told}");
    }
    let class = "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata:\n  name: \
                 gpu.nvidia.com\n";
    for more in ["", "spec: {}\n", "spec:\n  selectors: []\n"] {
        let told = told(&format!("{class}{more}"));
        assert!(told.contains("a class without selectors has every device"), "{more}: {told}");
    }
}

#[test]
fn namespaces_that_every_cluster_has_are_nobodys_and_say_nothing() {
    let space = "apiVersion: v1\nkind: Namespace\nmetadata:\n  labels:\n    \
                 kubernetes.io/metadata.name: kube-system\n  name: kube-system\n";
    check(space, "    kubernetes.io/metadata.name: kube-system", "    a: b", "whose it is");
    check(space, "  name: kube-system", "  name: other", "whose it is");
}

/// The sound text says nothing that is not known, and with this instead says why.
fn check(sound: &str, line: &str, instead: &str, why: &str) {
    assert!(!told(sound).contains('?'), "{}", told(sound));
    let edited = sound.replacen(line, instead, 1);
    assert_ne!(edited, sound);
    assert!(told(&edited).contains(why), "{}", told(&edited));
}

fn told(text: &str) -> String {
    page::told(Dialect::Kubernetes, text)
}
