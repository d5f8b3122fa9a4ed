#![allow(missing_docs, clippy::unwrap_used, reason = "a test fails by panicking")]

#[allow(dead_code, reason = "a list of paths is not a list of lines")]
mod page;

use expect_test::{Expect, expect};
use model::Dialect;
use page::{any_text, cut, no_line_is_known_and_unknown, parts};
use proptest::prelude::*;

/// As `kubectl get namespace -o yaml` prints it.
const NAMESPACE: &str = "\
apiVersion: v1
kind: Namespace
metadata:
  annotations:
    bulkhead.dev/tenant: acme/research
    kubectl.kubernetes.io/last-applied-configuration: |
      {\"apiVersion\":\"v1\",\"kind\":\"Namespace\"}
  creationTimestamp: \"2026-11-16T09:00:00Z\"
  labels:
    bulkhead.dev/runtime: container
    istio-injection: enabled
    kubernetes.io/metadata.name: acme-research-t17
    pod-security.kubernetes.io/enforce: restricted
  managedFields:
  - apiVersion: v1
    fieldsType: FieldsV1
    fieldsV1:
      f:metadata:
        f:annotations:
          .: {}
          k:{\"type\":\"Ready\"}:
            .: {}
    manager: kubectl
  name: acme-research-t17
  resourceVersion: \"412\"
  uid: 1b4e28ba-2fa1-11d2-883f-0016d3cca427
spec:
  finalizers:
  - kubernetes
status:
  phase: Active
";

const POLICY: &str = "\
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: resolver
  namespace: acme-research-t17
spec:
  podSelector: {}
  policyTypes:
  - Egress
  egress:
  - to:
    - namespaceSelector:
        matchLabels:
          kubernetes.io/metadata.name: kube-system
    ports:
    - protocol: UDP
      port: 53
    - protocol: TCP
      port: 53
";

const CLAIM: &str = "\
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata:
  name: train.hgx-1
  namespace: acme-research-t17
  annotations:
    bulkhead.dev/job: acme/research/train
spec:
  devices:
    requests:
    - name: gpu-3
      exactly:
        allocationMode: ExactCount
        count: 1
        deviceClassName: gpu.nvidia.com
        selectors:
        - cel:
            expression: device.attributes['gpu.nvidia.com'].pciBusID
              == '0000:1b:00.0'
status:
  allocation:
    devices:
      results:
      - device: gpu-3
        driver: gpu.nvidia.com
        pool: hgx-1
        request: gpu-3
    nodeSelector:
      nodeSelectorTerms:
      - matchFields:
        - key: metadata.name
          operator: In
          values:
          - hgx-1
  reservedFor:
  - name: train-0
    resource: pods
";

#[test]
fn a_namespace_as_the_api_prints_it() {
    check(
        NAMESPACE,
        expect![[r#"
            5: Holds(Namespace { namespace: Name("acme-research-t17"), tenant: TenantName("acme/research") })
            10: Holds(Governed { namespace: Name("acme-research-t17"), runtime: Container })
            11: Holds(Meshed { namespace: Name("acme-research-t17") })
            13: Holds(Restricted { namespace: Name("acme-research-t17"), restricted: true })
            ignored: [6, 8, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 25, 26, 29, 31]
        "#]],
    );
}

#[test]
fn a_namespace_without_level_lets_pods_reach_the_host() {
    let line = "    pod-security.kubernetes.io/enforce: restricted\n";
    for instead in ["", "    pod-security.kubernetes.io/enforce: privileged\n"] {
        let told = told(&NAMESPACE.replace(line, instead));
        assert!(told.contains("restricted: false"), "{told}");
    }
}

#[test]
fn a_claim_is_what_it_asks_for_and_what_it_was_given() {
    check(
        CLAIM,
        expect![[r#"
            19: Holds(Claimed { namespace: Name("acme-research-t17"), job: JobName { tenant: TenantName("acme/research"), name: Name("train") }, node: Name("hgx-1"), gpu: At { pci: PciAddress { domain: 0, bus: 27, devfn: 0 }, class: Nvidia, request: ClaimRequest { claim: 0, minor: 3 } } })
            25: Holds(Claimed { namespace: Name("acme-research-t17"), job: JobName { tenant: TenantName("acme/research"), name: Name("train") }, node: Name("hgx-1"), gpu: Minor(3) })
            ignored: [29, 30, 31, 32, 33, 34, 35, 36, 37, 38]
        "#]],
    );
}

#[test]
fn what_opens_devices_of_others_is_refused() {
    for (line, instead, why) in [
        ("count: 1", "adminAccess: true", "this opens devices that others hold"),
        ("ExactCount", "All", "a request is for one device, exactly"),
        ("driver: gpu.nvidia.com", "driver: dra.net", "nobody knows the devices of this driver"),
        ("device: gpu-3", "device: gpu-3-mig-1g10gb-19-0", "a GPU is called gpu-3"),
        ("bulkhead.dev/job", "other/job", "nobody knows what this annotation does"),
        ("name: train.hgx-1", "name: tune.hgx-1", "a claim is called by its job and its node"),
        ("name: train.hgx-1", "name: train", "a claim is called by its job and its node"),
        ("name: train.hgx-1", "name: train.hgx-1.01", "a claim is called by its job and its node"),
        (" == '0000:1b:00.0'", " != '0000:1b:00.0'", "a request names the class of the GPU"),
        ("== '0000:1b:00.0'", "== '0000:1b:00.0' || true", "a request names the class of the GPU"),
        ("].pciBusID", "].uuid", "a request names the class of the GPU"),
    ] {
        let told = told(&CLAIM.replace(line, instead));
        assert!(told.contains(why), "{told}");
        assert!(!told.contains("Minor(") || instead != "device: gpu-3-mig-1g10gb-19-0", "{told}");
    }
}

#[test]
fn a_policy_says_whom_it_lets() {
    check(
        POLICY,
        expect![[r#"
        10: Holds(DeniesByDefault { namespace: Name("acme-research-t17"), direction: Egress })
        13: Holds(Lets { namespace: Name("acme-research-t17"), direction: Egress, peer: Resolver })
    "#]],
    );
}

#[test]
fn a_rule_that_names_nobody_lets_everybody() {
    for (line, instead) in [
        ("          kubernetes.io/metadata.name: kube-system\n", "          team: blue\n"),
        (
            "    - namespaceSelector:\n        matchLabels:\n          \
             kubernetes.io/metadata.name: kube-system\n",
            "    - ipBlock:\n        cidr: 0.0.0.0/0\n",
        ),
        (
            "  - to:\n    - namespaceSelector:\n        matchLabels:\n          \
             kubernetes.io/metadata.name: kube-system\n    ports:",
            "  - ports:",
        ),
    ] {
        let cut = POLICY.replace(line, instead);
        assert_ne!(cut, POLICY);
        assert!(told(&cut).contains("peer: Anyone"), "{}", told(&cut));
    }
}

#[test]
fn the_whole_of_a_namespace_is_more_than_its_names() {
    let wide = POLICY.replace("UDP\n      port: 53", "UDP\n      port: 443");
    assert!(told(&wide).contains("peer: Namespace(Name(\"kube-system\"))"), "{}", told(&wide));
    let wide = POLICY.replace("UDP\n      port: 53", "UDP\n      port: 53\n      endPort: 65535");
    assert!(told(&wide).contains("peer: Namespace(Name(\"kube-system\"))"), "{}", told(&wide));
}

#[test]
fn what_a_policy_does_not_do_is_not_taken_for_done() {
    for (line, instead, why) in [
        ("    - protocol: UDP\n      port: 53\n", "", "names are asked for by UDP and by TCP"),
        ("protocol: UDP", "protocol: SCTP", "names are asked for by UDP and by TCP"),
        ("  - Egress\n", "  - Ingress\n", "the policy is not for this direction"),
        ("          kubernetes.io/met", "          a: b\n          kubernetes.io/met", "no object"),
    ] {
        let cut = POLICY.replace(line, instead);
        assert!(told(&cut).contains(why), "{}", told(&cut));
    }
}

#[test]
fn a_policy_for_some_pods_closes_nothing() {
    let some = POLICY.replace("podSelector: {}", "podSelector:\n    matchLabels:\n      app: web");
    assert!(!told(&some).contains("DeniesByDefault"), "{}", told(&some));
}

#[test]
fn open_doors_of_the_mesh_and_of_roles() {
    check(
        "\
apiVersion: security.istio.io/v1
kind: PeerAuthentication
metadata:
  name: open
  namespace: a-t1
spec:
  mtls:
    mode: PERMISSIVE
---
apiVersion: security.istio.io/v1
kind: AuthorizationPolicy
metadata:
  name: open
  namespace: a-t1
spec:
  action: ALLOW
  rules:
  - {}
---
apiVersion: security.istio.io/v1
kind: AuthorizationPolicy
metadata:
  name: nobody
  namespace: a-t1
spec:
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: everywhere
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: cluster-admin
subjects:
- apiGroup: rbac.authorization.k8s.io
  kind: Group
  name: \"oidc:\\\"x\\\"\"
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: tenant-member
rules:
- apiGroups:
  - networking.k8s.io
  resources:
  - networkpolicies
  verbs:
  - '*'
",
        expect![[r#"
            8: Holds(StrictTls { namespace: Name("a-t1"), strict: false })
            15: Holds(MeshLets { namespace: Name("a-t1"), callers: [] })
            25: Holds(MeshLets { namespace: Name("a-t1"), callers: [] })
            38: Holds(Role { namespace: None, group: "oidc:\"x\"", role: "cluster-admin" })
            18? - {}
               this lets callers of every namespace in; name their namespaces
            48? - networkpolicies
               members may not do this
            50? - '*'
               members may not do this
        "#]],
    );
}

#[test]
fn calico_says_the_same_in_its_words() {
    check(
        "\
apiVersion: projectcalico.org/v3
kind: NetworkPolicy
metadata:
  name: isolation
  namespace: a-t1
spec:
  order: 100
  selector: all()
  types:
  - Ingress
  ingress:
  - action: Allow
    source:
      namespaceSelector: kubernetes.io/metadata.name == 'a-t1'
  - action: Allow
    source:
      namespaceSelector: has(team)
  - action: Allow
    source:
      selector: app == 'web'
  - action: Pass
  - action: Deny
",
        expect![[r#"
            10: Holds(CalicoDenies { namespace: Name("a-t1"), direction: Ingress })
            12: Holds(Lets { namespace: Name("a-t1"), direction: Ingress, peer: Namespace(Name("a-t1")) })
            15: Holds(Lets { namespace: Name("a-t1"), direction: Ingress, peer: Anyone })
            18: Holds(Lets { namespace: Name("a-t1"), direction: Ingress, peer: Namespace(Name("a-t1")) })
            6? spec:
               the last rule, and no other one, denies all
            21? - action: Pass
               a rule allows, or denies all
        "#]],
    );
}

#[test]
fn a_machine_has_gpus_by_claim_and_nothing_of_the_host() {
    check(
        "\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata:
  name: train.hgx-1
  namespace: a-t1
  annotations:
    bulkhead.dev/job: a/train
spec:
  runStrategy: Manual
  template:
    metadata:
      creationTimestamp: null
    spec:
      architecture: amd64
      nodeSelector:
        kubernetes.io/hostname: hgx-2
        gpu: any
      resourceClaims:
      - name: gpus-0
        resourceClaimName: tune.hgx-1
      domain:
        launchSecurity:
          snp: {}
        devices:
          gpus:
          - name: gpu-1
            claimName: gpus-0
            requestName: gpu-1
          - name: gpu-2
            deviceName: nvidia.com/H100
          hostDevices:
          - name: nic
      volumes:
      - name: host
",
        expect![[r#"
            7? bulkhead.dev/job: a/train
               a machine selects its node by its hostname, and its tenant's label
            16? kubernetes.io/hostname: hgx-2
               what is a tenant's runs on nodes of that tenant, which it selects by the label of its namespace, and on no others
            17? gpu: any
               what is a tenant's runs on nodes of that tenant, which it selects by the label of its namespace, and on no others
            19? - name: gpus-0
               a machine gets each GPU once, by a claim that it has
            20? resourceClaimName: tune.hgx-1
               a machine has the claims of its job and node
            26? - name: gpu-1
               a machine gets each GPU once, by a claim that it has
            29? - name: gpu-2
               a GPU names its claim, and what it is called in there
            30? deviceName: nvidia.com/H100
               a GPU comes to a machine by a claim, which names it
            31? hostDevices:
               nobody knows what of the host or of others this gives to the machine
            33? volumes:
               nobody knows what of the host or of others this gives to the machine
            ignored: [9, 12, 14]
        "#]],
    );
}

#[test]
fn several_objects_in_one_list() {
    let indented: String = POLICY.lines().skip(1).map(|line| format!("  {line}\n")).collect();
    let list = format!("apiVersion: v1\nkind: List\nitems:\n-{}", &indented[1..]);
    assert!(told(&list).contains("peer: Resolver"), "{}", told(&list));
}

#[test]
fn what_opens_or_cuts_stands_in_no_list_of_ignored_values() {
    for (kind, line, instead) in [
        ("Namespace", "phase: Active", "phase: Terminating"),
        (
            "Namespace",
            "  name: acme-research-t17\n  r",
            "  ownerReferences:\n  - name: a\n  name: acme-research-t17\n  r",
        ),
        ("Namespace", "  - kubernetes\n", "  - other\n"),
    ] {
        let cut = NAMESPACE.replace(line, instead);
        assert_ne!(cut, NAMESPACE, "{kind} {line}");
        assert!(told(&cut).contains('?'), "{}", told(&cut));
    }
}

#[test]
fn yaml_that_could_be_read_in_two_ways_is_refused() {
    check(
        "\
kind: Node
kind: Namespace
---
apiVersion: v1
kind: {a: b}
---
apiVersion: v1
kind: &anchor Node
---
apiVersion: v1
metadata:
    name: a
  labels:
---
apiVersion: \"v1
---
apiVersion: v1
kind: Pod
metadata:
  name: a
---
\tapiVersion: v1
---
just words
---
apiVersion: 'v1': x
",
        expect![[r#"
            2? kind: Namespace
               the key stands there twice
            5? kind: {a: b}
               write it in lines, as kubectl prints it
            8? kind: &anchor Node
               write it in lines, as kubectl prints it
            13? labels:
               what stands below one key begins at one column, all keys or all items
            15? apiVersion: "v1
               a text in quotes ends on its line
            18? kind: Pod
               objects of this kind are not read; leave them out
            22? apiVersion: v1
               lines are indented, and words parted, by spaces
            24? just words
               a line is a key with a colon, or an item after a dash
            26? apiVersion: 'v1': x
               a text in quotes ends on its line
        "#]],
    );
}

const PARTS: &[&str] = &[POLICY, CLAIM];

proptest! {
    #[test]
    fn parts_say_together_what_they_say_alone(parts in parts(PARTS)) {
        page::parts_say_together_what_they_say_alone(Dialect::Kubernetes, &parts);
    }

    #[test]
    fn any_text_is_read(text in any_text()) {
        no_line_is_known_and_unknown(Dialect::Kubernetes, &text);
    }

    #[test]
    fn cut_text_is_read(text in cut(&[NAMESPACE, POLICY, CLAIM])) {
        no_line_is_known_and_unknown(Dialect::Kubernetes, &text);
    }
}

fn check(text: &str, expected: Expect) {
    expected.assert_eq(&told(text));
}

fn told(text: &str) -> String {
    page::told(Dialect::Kubernetes, text)
}
