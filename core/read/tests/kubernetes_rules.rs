#![allow(missing_docs, clippy::unwrap_used, reason = "a test fails by panicking")]

//! What holds members of tenants, as a cluster prints it: it counts only as it is planned.

#[allow(dead_code, reason = "the rules are texts of one kind")]
mod page;

use expect_test::{Expect, expect};
use model::Dialect;

/// The rules for members of tenants, as `kubectl get` prints what was rendered.
const GUARD: &str = "\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  generation: 1
  name: secrets.bulkhead.dev
  resourceVersion: \"411\"
  uid: 1b4e28ba-2fa1-11d2-883f-0016d3cca427
spec:
  failurePolicy: Fail
  matchConstraints:
    matchPolicy: Equivalent
    namespaceSelector: {}
    objectSelector: {}
    resourceRules:
    - apiGroups:
      - \"\"
      apiVersions:
      - '*'
      operations:
      - CREATE
      - UPDATE
      resources:
      - secrets
      scope: '*'
  validations:
  - expression: has(object.type) == false || object.type in ['Opaque', 'helm.sh/release.v1',
      'kubernetes.io/basic-auth', 'kubernetes.io/dockercfg', 'kubernetes.io/dockerconfigjson',
      'kubernetes.io/ssh-auth', 'kubernetes.io/tls']
    message: a secret is no key to the cluster
status:
  observedGeneration: 1
  typeChecking: {}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: secrets.bulkhead.dev
spec:
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
  policyName: secrets.bulkhead.dev
  validationActions:
  - Deny
";

#[test]
fn the_rules_for_members_count_only_as_they_are_planned() {
    let whole = told(GUARD);
    let says = |told: &str, of: &str| told.contains(&format!("Holds({of} {{ policy"));
    assert!(says(&whole, "Refuses") && says(&whole, "Enforced") && !whole.contains('?'), "{whole}");
    for (line, instead) in [
        ("failurePolicy: Fail", "failurePolicy: Ignore"),
        ("  failurePolicy: Fail\n", ""),
        ("matchPolicy: Equivalent\n    namespaceSelector: {}", "matchPolicy: Exact"),
        (
            "objectSelector: {}\n    res",
            "objectSelector:\n      matchLabels:\n        a: b\n    res",
        ),
        (
            "  matchConstraints:",
            "  matchConditions:\n  - name: a\n    expression: 'false'\n  matchConstraints:",
        ),
        ("      - '*'", "      - v1beta1"),
        ("      - UPDATE\n", ""),
        ("      - secrets\n      scope", "      - configmaps\n      scope"),
        ("scope: '*'", "resourceNames:\n      - a\n      scope: '*'"),
        ("scope: '*'", "scope: Cluster"),
        ("'Opaque', ", "'Opaque', 'bootstrap.kubernetes.io/token', "),
        ("has(object.type) == false || ", "true || has(object.type) == false || "),
        ("    message: a secret is no key to the cluster", "    message: other"),
        ("  validations:", "  paramKind:\n    apiVersion: v1\n    kind: ConfigMap\n  validations:"),
        ("secrets.bulkhead.dev\n  resource", "other.bulkhead.dev\n  resource"),
        (
            "kind: ValidatingAdmissionPolicy\nmetadata:",
            "kind: ValidatingAdmissionPolicy\nmetadata:\n  ownerReferences:\n  - name: a",
        ),
    ] {
        let cut = GUARD.replacen(line, instead, 1);
        assert_ne!(cut, GUARD, "{line}");
        let told = told(&cut);
        assert!(
            !says(&told, "Refuses") && says(&told, "Enforced") && told.contains('?'),
            "{cut}{told}"
        );
    }
    for (line, instead) in [
        ("        - vm\n", ""),
        ("operator: In", "operator: NotIn"),
        ("key: bulkhead.dev/runtime", "key: team"),
        ("      matchExpressions:", "      matchLabels:\n        a: b\n      matchExpressions:"),
        (
            "    objectSelector: {}\n  policyName",
            "    objectSelector:\n      matchLabels:\n        a: b\n  policyName",
        ),
        (
            "    objectSelector: {}\n  policyName",
            "    excludeResourceRules:\n    - resourceNames:\n      - a\n  policyName",
        ),
        ("policyName: secrets", "policyName: services"),
        ("  - Deny", "  - Audit"),
        ("  - Deny", "  - Warn\n  - Deny"),
        ("  - Deny", "  - Deny\n  paramRef:\n    name: a"),
    ] {
        let cut = GUARD.replacen(line, instead, 1);
        assert_ne!(cut, GUARD, "{line}");
        let told = told(&cut);
        assert!(
            says(&told, "Refuses") && !says(&told, "Enforced") && told.contains('?'),
            "{cut}{told}"
        );
    }
}

#[test]
fn a_node_says_whose_it_is() {
    check(
        "\
apiVersion: v1
kind: Node
metadata:
  annotations:
    node.alpha.kubernetes.io/ttl: \"0\"
    example.com/other: x
  labels:
    kubernetes.io/hostname: n2
    tenant.node-restriction.kubernetes.io/a-t1: here
    tenant.node-restriction.kubernetes.io/b-t2: there
  name: n1
spec:
  podCIDR: 10.244.0.0/24
  podCIDRs:
  - 10.244.0.0/24
  taints:
  - effect: NoExecute
    key: bulkhead.dev/tenant
    value: a-t1
  - effect: NoSchedule
    key: other
  unschedulable: true
status:
  capacity:
    cpu: 8
",
        expect![[r#"
            9: Holds(Admits { node: Name("n1"), namespace: Name("a-t1") })
            19: Holds(Fenced { node: Name("n1"), value: "a-t1" })
            6? example.com/other: x
               nobody knows what this value does here
            8? kubernetes.io/hostname: n2
               pods that are meant for another node would come here
            10? tenant.node-restriction.kubernetes.io/b-t2: there
               nobody knows whom this label lets in
            20? - effect: NoSchedule
               with this effect pods that are there already stay
            21? key: other
               pods of tenants do not bear this taint
            22? unschedulable: true
               nobody knows what this value does here
            ignored: [5, 13, 15, 23, 24, 25]
        "#]],
    );
}

#[test]
fn a_control_plane_has_known_values_and_no_others() {
    let plane = "\
apiVersion: kamaji.clastix.io/v1alpha1
kind: TenantControlPlane
metadata:
  name: control-plane
  namespace: a-t1
  annotations:
    bulkhead.dev/tenant: a
spec:
  dataStore: default
  controlPlane:
    deployment:
      nodeSelector:
        tenant.node-restriction.kubernetes.io/a-t1: here
      replicas: 2
      tolerations:
      - effect: NoExecute
        key: bulkhead.dev/tenant
        operator: Equal
        value: a-t1
    service:
      serviceType: ClusterIP
  kubernetes:
    version: v1.34.0
    kubelet:
      cgroupfs: systemd
  networkProfile:
    port: 6443
  addons:
    coreDNS: {}
";
    assert!(!told(plane).contains('?'), "{}", told(plane));
    for (line, instead) in [
        (
            "replicas: 2",
            "replicas: 2\n      extraArgs:\n        apiServer:\n        - --anonymous-auth=true",
        ),
        ("replicas: 2", "replicas: 2\n      additionalVolumes:\n      - name: host"),
        ("replicas: 2", "replicas: 2\n      additionalContainers:\n      - name: a"),
        ("replicas: 2", "replicas: 2\n      runtimeClassName: other"),
        ("replicas: 2", "replicas: 0"),
        ("serviceType: ClusterIP", "serviceType: LoadBalancer"),
        ("port: 6443", "port: 6443\n    address: 192.0.2.1"),
        ("port: 6443", "port: 6443\n    allowAddressAsExternalIP: true"),
        ("coreDNS: {}", "konnectivity:\n      server:\n        port: 8132"),
        ("coreDNS: {}", "coreDNS:\n      imageRepository: example.com"),
        ("a-t1: here", "b-t2: here"),
        ("value: a-t1", "value: b-t2"),
        ("operator: Equal", "operator: Exists"),
        ("      nodeSelector:\n        tenant.node-restriction.kubernetes.io/a-t1: here\n", ""),
    ] {
        let cut = plane.replace(line, instead);
        assert_ne!(cut, plane, "{line}");
        assert!(told(&cut).contains('?'), "{cut}{}", told(&cut));
    }
}

#[test]
fn a_block_of_text_is_read_as_it_stands() {
    let note = |text: &str| GUARD.replace("    message: a secret is no key to the cluster", text);
    for text in [
        "    message: |-\n      a secret is no key to the cluster",
        "    message: \"a secret is no key to the cluster\" # or so",
        "    message: 'a secret is no key to the cluster'   # \"or\" 'so'",
    ] {
        assert!(!told(&note(text)).contains('?'), "{}", told(&note(text)));
    }
    for text in [
        "    message: |\n      a secret is no key to the cluster",
        "    message: >-\n      a secret is no key\n      to the cluster",
        "    message: |-\n      a secret is no key\n      to the cluster",
        "    message: |-\n       a secret is no key to the cluster\n      ",
        "    message: a secret is no key\n\n      to the cluster",
        "    message: #a secret is no key to the cluster",
        "    message: a secret is no key to the cluster\n    <<:\n      expression: a",
        "    message: a secret is no key to the\tcluster",
        "    message: \"a secret is no key to the cluster\"# or so",
        "    message: \"a secret is no key to the cluster\" or so",
        "    message: 'a secret is no key to the cluster'' # or so'",
    ] {
        let told = told(&note(text));
        assert!(told.contains('?') || text.contains("|-\n       a"), "{text}: {told}");
    }
}

fn check(text: &str, expected: Expect) {
    expected.assert_eq(&told(text));
}

fn told(text: &str) -> String {
    page::told(Dialect::Kubernetes, text)
}
