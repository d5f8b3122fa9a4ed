//! What members of tenants may make in a Kubernetes cluster, as it is rendered: by the rules' own
//! words and an interpreter of them, and by real servers where they are.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may stop")]

mod rules;
mod servers;
mod spec;

use serde_json::{Value, json};

use rules::Rules;
use spec::{Spec, Try, honest, hostile, world};

/// So many of each are tried at least.
const HOSTILE: usize = 60;
const HONEST: usize = 30;

#[test]
fn whatever_leads_out_is_refused_by_the_rule_that_is_meant() {
    let world = world();
    let rules = Rules::of(&world);
    let specs = hostile(&world);
    assert!(specs.len() >= HOSTILE, "only {}", specs.len());
    let mut passed = Vec::new();
    for spec in &specs {
        for (kind, refusals) in judged(&rules, spec) {
            let by = spec.by.as_deref().unwrap_or("");
            if !refusals.iter().any(|told| told.contains(by)) {
                passed.push(format!("{} as {kind}: {refusals:?}", spec.name));
            }
        }
    }
    assert!(passed.is_empty(), "not refused, or by another rule:\n{}", passed.join("\n"));
}

#[test]
fn honest_work_is_not_refused() {
    let world = world();
    let rules = Rules::of(&world);
    let specs = honest(&world);
    assert!(specs.len() >= HONEST, "only {}", specs.len());
    let mut refused = Vec::new();
    for spec in &specs {
        for (kind, refusals) in judged(&rules, spec) {
            // Of these kinds members make none; a rule still must not refuse what they hold.
            let told = refusals.iter().filter(|told| !told.starts_with("role:"));
            let is_theirs = matches!(kind.as_str(), "Pod" | "Deployment" | "StatefulSet" | "Job");
            let all: Vec<&String> = if is_theirs || spec.template.is_none() {
                refusals.iter().collect()
            } else {
                told.collect()
            };
            if !all.is_empty() {
                refused.push(format!("{} as {kind}: {all:?}", spec.name));
            }
        }
    }
    assert!(refused.is_empty(), "refused:\n{}", refused.join("\n"));
}

#[test]
fn a_template_that_changes_is_judged_again() {
    let world = world();
    let rules = Rules::of(&world);
    for spec in hostile(&world).iter().filter(|spec| spec.template.is_some()) {
        let object = &spec.objects().iter().find(|object| object["kind"] == "Deployment").cloned();
        let told = rules.judge(&Try::update(object.clone().unwrap(), json!({"metadata": {}})));
        assert!(!told.is_empty(), "{}", spec.name);
    }
}

#[test]
fn where_jobs_run_in_machines_only_kubevirt_makes_pods() {
    let world = world();
    let rules = Rules::of(&world);
    let space = world.namespace("vault");
    let label = format!("tenant.node-restriction.kubernetes.io/{space}");
    let pod = |selector: Value| {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x", "namespace": space},
               "spec": {"nodeSelector": selector, "containers": [{"name": "compute"}]}})
    };
    let by =
        |user: &str, object: Value| rules.judge(&Try { user: user.into(), ..Try::create(object) });
    let kubevirt = "system:serviceaccount:kubevirt:kubevirt-controller";
    let home = json!({label: "here", "kubevirt.io/schedulable": "true"});
    assert_eq!(by(kubevirt, pod(home.clone())), Vec::<String>::new());
    assert!(by(kubevirt, pod(json!({"kubevirt.io/schedulable": "true"})))[0].contains("selects"));
    assert!(by("ann", pod(home))[0].contains("only KubeVirt makes their pods"));
    let mut through = json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "x", "namespace": space}});
    through["spec"]["template"]["spec"] = json!({"containers": []});
    assert!(by(kubevirt, through)[0].contains("only KubeVirt makes their pods"));
}

/// What the rules say of a thing, in every kind in which it can be made.
fn judged(rules: &Rules, spec: &Spec) -> Vec<(String, Vec<String>)> {
    if let Some(may) = &spec.may {
        let refusal = (!rules.may("acme-people", may)).then(|| "role: no".to_owned());
        return vec![(may.join(" "), refusal.into_iter().collect())];
    }
    let judge = |object: Value| {
        let kind = object["kind"].as_str().unwrap().to_owned();
        (kind, rules.judge(&Try::create(object)))
    };
    spec.objects().into_iter().map(judge).collect()
}
