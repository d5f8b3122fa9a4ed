use std::collections::BTreeSet;
use std::process::Command;

use model::Dialect;

use crate::artifacts;
use crate::room::{Room, ask, at_home};

/// The first with claims of exact devices as they are written here, and the last.
const VERSIONS: [&str; 2] = ["1.34", "1.37"];

/// Kinds that Calico, Istio, Kamaji and KubeVirt add; their schemas are not among the published
/// ones.
const ADDED: [&str; 5] = [
    "AuthorizationPolicy with api version security.istio.io/v1",
    "NetworkPolicy with api version projectcalico.org/v3",
    "PeerAuthentication with api version security.istio.io/v1",
    "TenantControlPlane with api version kamaji.clastix.io/v1alpha1",
    "VirtualMachine with api version kubevirt.io/v1",
];

#[test]
fn every_object_suits_the_published_schema_of_each_version() {
    let text = text();
    let objects = text.lines().filter(|line| line.starts_with("kind: ")).count();
    for version in VERSIONS {
        let said = judged(version, &text);
        let added = |line: &str| {
            let rest = line.split_once("find schema for kind ")?.1;
            Some(rest.split_once(" for kubernetes version")?.0.to_owned())
        };
        let unjudged: Vec<String> = said.lines().filter_map(added).collect();
        let kinds: BTreeSet<&str> = unjudged.iter().map(String::as_str).collect();
        assert_eq!(kinds, BTreeSet::from(ADDED), "{said}");
        let passed = said.lines().filter(|line| line.contains(" passed for resource ")).count();
        assert_eq!(passed + unjudged.len(), objects, "{version}: {said}");
    }
}

#[test]
fn a_word_that_the_schema_does_not_have_is_found() {
    let text = text();
    let passed = |text: &str| judged(VERSIONS[0], text).matches(" passed for resource ").count();
    let wrong = text.replacen("podSelector: {}", "podSelektor: {}", 1);
    assert_eq!(passed(&wrong) + 1, passed(&text));
}

fn text() -> String {
    let texts = artifacts(Dialect::Kubernetes).into_iter();
    texts.map(|artifact| artifact.text()).collect()
}

fn judged(version: &str, text: &str) -> String {
    let room = Room::new("schemas");
    let file = room.write("objects.yaml", text);
    let mut command = Command::new(at_home("target/python/bin/kubernetes-validate"));
    ask(command.args(["--strict", "-k", version]).arg(file)).1
}
