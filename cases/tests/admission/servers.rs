//! The same against real servers: etcd, the API server, the scheduler and the controllers.
//!
//! `cargo xtask kubernetes-test` runs it; it needs their programs, and the definitions of what
//! others add to Kubernetes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::time::Instant;

use cases::servers::{PATIENCE, Servers};
use serde_json::{Value, json};

use crate::spec::{Cluster, Spec, honest, hostile, world};

/// Kinds of templates that members may make; all others only whoever runs the cluster.
const THEIRS: [&str; 4] = ["Pod", "Deployment", "StatefulSet", "Job"];

#[test]
#[ignore = "needs real servers: cargo xtask kubernetes-test"]
fn real_servers_refuse_what_leads_out_and_place_the_rest() {
    let world = world();
    let servers = Furnished(Servers::all().unwrap());
    servers.furnish(&world);
    let mut report = Report::default();
    let (hostile, honest) = (hostile(&world), honest(&world));
    servers.refuse(&hostile, &world, &mut report);
    servers.patch(&hostile, &honest[0], &world, &mut report);
    servers.machines(&world, &mut report);
    servers.place(&honest, &world, &mut report);
    let told = report.told(&servers);
    println!("{told}");
    if let Some(path) = std::env::var_os("KUBERNETES_RESULT") {
        fs::write(path, &told).unwrap();
    }
    assert!(report.wrong.is_empty(), "{}", report.wrong.join("\n"));
}

/// Servers that hold what is rendered.
struct Furnished(Servers);

impl Furnished {
    fn ask(&self, who: &str, arguments: &[&str], input: Option<&str>) -> (bool, String) {
        self.0.ask(who, arguments, input)
    }

    fn must(&self, arguments: &[&str], input: Option<&str>) -> String {
        self.0.must(arguments, input).unwrap()
    }

    fn until(&self, what: &str, is_so: impl Fn(&Self) -> bool) {
        self.0.until(what, |_| is_so(self)).unwrap();
    }

    /// Everything that is rendered, on nodes that have room.
    fn furnish(&self, world: &Cluster) {
        self.0.define().unwrap();
        self.must(&["create", "-f", "-"], Some(&world.text));
        let nodes = world.objects.iter().filter(|object| object["kind"] == "Node");
        for node in nodes {
            // A new node has a taint until somebody says that it is ready.
            self.must(&["replace", "-f", "-"], Some(&node.to_string()));
            let room = json!({"cpu": "1000", "memory": "100Ti", "pods": "1000", "ephemeral-storage": "100Ti"});
            let status = json!({"status": {"capacity": room, "allocatable": room,
                "conditions": [{"type": "Ready", "status": "True"}]}});
            let name = node["metadata"]["name"].as_str().unwrap();
            let status = status.to_string();
            self.must(
                &["patch", "node", name, "--subresource=status", "--type=merge", "-p", &status],
                None,
            );
        }
        for tenant in ["acme", "rival", "vault", "coop"] {
            let space = world.namespace(tenant);
            self.must(
                &["wait", "--for=create", "serviceaccount/default", "-n", &space, "--timeout=60s"],
                None,
            );
            self.must(
                &[
                    "wait",
                    "--for=create",
                    "configmap/kube-root-ca.crt",
                    "-n",
                    &space,
                    "--timeout=60s",
                ],
                None,
            );
            self.until("the quota is counted", |servers| {
                let quota = [
                    "get",
                    "resourcequota",
                    "limits",
                    "-n",
                    &space,
                    "-o",
                    "jsonpath={.status.hard}",
                ];
                servers.ask("admin", &quota, None).1.contains("requests.nvidia.com/gpu")
            });
        }
        // Rules hold a moment after they were made.
        let space = world.namespace("acme");
        for (kind, rule) in [
            ("pods", "pods.bulkhead.dev"),
            ("deployments", "templates.bulkhead.dev"),
            ("services", "services.bulkhead.dev"),
            ("secrets", "secrets.bulkhead.dev"),
            ("persistentvolumeclaims", "volumes.bulkhead.dev"),
            ("cronjobs", "cronjobs.bulkhead.dev"),
            ("podtemplates", "podtemplates.bulkhead.dev"),
        ] {
            self.until(rule, |servers| servers.is_held(kind, rule, &space));
        }
    }

    /// Whether a rule refuses what is refused in any case.
    fn is_held(&self, kind: &str, rule: &str, space: &str) -> bool {
        // Pod Security is asked before the rules.
        let container = json!([{"name": "c", "image": "a", "securityContext": {
            "allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}, "runAsNonRoot": true,
            "runAsUser": 1000, "seccompProfile": {"type": "RuntimeDefault"}}}]);
        let template = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": container, "nodeName": "n2", "restartPolicy": "Never"}});
        let metadata = json!({"name": "x", "namespace": space});
        let object = match kind {
            "pods" => json!({"apiVersion": "v1", "kind": "Pod", "spec": template["spec"]}),
            "deployments" => json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {
                "selector": {"matchLabels": {"a": "b"}},
                "template": {"metadata": template["metadata"], "spec": {"containers": container, "nodeName": "n2"}}}}),
            "cronjobs" => json!({"apiVersion": "batch/v1", "kind": "CronJob", "spec": {
                "schedule": "0 0 1 1 *", "jobTemplate": {"spec": {"template": template}}}}),
            "podtemplates" => {
                json!({"apiVersion": "v1", "kind": "PodTemplate", "template": template})
            }
            "services" => {
                json!({"apiVersion": "v1", "kind": "Service", "spec": {"type": "NodePort", "ports": [{"port": 80}]}})
            }
            "secrets" => json!({"apiVersion": "v1", "kind": "Secret", "type": "other"}),
            _ => {
                json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "spec": {"storageClassName": "x",
                "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}})
            }
        };
        let mut object = object;
        object["metadata"] = metadata;
        let (is_made, said) = self.ask(
            "admin",
            &["create", "--dry-run=server", "-f", "-"],
            Some(&object.to_string()),
        );
        !is_made && said.contains(rule)
    }

    /// Tries everything hostile, and looks at what is there afterwards.
    fn refuse(&self, specs: &[Spec], world: &Cluster, report: &mut Report) {
        let space = world.namespace("acme");
        let mut by_kind: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for object in specs.iter().flat_map(Spec::objects) {
            by_kind.entry(object["kind"].as_str().unwrap().to_owned()).or_default().push(object);
        }
        for (kind, objects) in &by_kind {
            let has_template =
                objects.iter().any(|object| object["spec"].get("template").is_some());
            let is_theirs = THEIRS.contains(&kind.as_str()) || !has_template;
            let others = ["CronJob", "PodTemplate"].contains(&kind.as_str());
            let who = if is_theirs && !others { "ann" } else { "admin" };
            let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
            let (_, said) = self.ask(who, &["create", "-f", "-"], Some(&list.to_string()));
            let there = self.must(&["get", kind, "-n", &space, "-o", "name"], None);
            let there: BTreeSet<&str> = there
                .lines()
                .filter_map(|line| line.split_once('/'))
                .map(|(_, name)| name)
                .collect();
            let tried: Vec<&str> =
                objects.iter().map(|object| object["metadata"]["name"].as_str().unwrap()).collect();
            let made: Vec<&str> =
                tried.iter().copied().filter(|name| there.contains(name)).collect();
            for name in &made {
                report.wrong.push(format!("{kind} {name} was made: {said}"));
            }
            let by_rules = said.matches("ValidatingAdmissionPolicy '").count();
            report.rows.push(format!(
                "| hostile {kind}, by {} | {} | {} refused, {by_rules} by the rules |",
                if who == "ann" { "a member" } else { "whoever runs the cluster" },
                tried.len(),
                tried.len() - made.len(),
            ));
        }
        self.may(specs, world, false, report);
    }

    fn may(&self, specs: &[Spec], world: &Cluster, expected: bool, report: &mut Report) {
        let own = world.namespace("acme");
        let all: Vec<(&Spec, &Vec<String>)> =
            specs.iter().filter_map(|spec| Some((spec, spec.may.as_ref()?))).collect();
        for (spec, words) in &all {
            let [verb, group, resource, elsewhere @ ..] = words.as_slice() else { continue };
            let (resource, part) = resource.split_once('/').unwrap_or((resource, ""));
            let what =
                if group.is_empty() { resource.to_owned() } else { format!("{resource}.{group}") };
            let part = format!("--subresource={part}");
            let space = elsewhere.first().unwrap_or(&own);
            let (may, said) =
                self.ask("ann", &["auth", "can-i", verb, &what, &part, "-n", space], None);
            if may != expected {
                report.wrong.push(format!("{}: {said}", spec.name));
            }
        }
        let word = if expected { "that are given" } else { "that nobody gave" };
        report.rows.push(format!(
            "| verbs {word} | {} | {} |",
            all.len(),
            if expected { "allowed" } else { "refused" }
        ));
    }

    /// Changes an honest Deployment and StatefulSet into each hostile one, and scales what is left.
    fn patch(&self, specs: &[Spec], honest: &Spec, world: &Cluster, report: &mut Report) {
        let space = world.namespace("acme");
        for kind in ["Deployment", "StatefulSet"] {
            let find =
                |spec: &Spec| spec.objects().into_iter().find(|object| object["kind"] == kind);
            let mut own = find(honest).unwrap();
            own["metadata"]["name"] = json!("scaled");
            own["spec"]["replicas"] = json!(0);
            let (is_made, said) = self.ask("ann", &["create", "-f", "-"], Some(&own.to_string()));
            assert!(is_made, "{said}");
            let hostile: Vec<&Spec> = specs.iter().filter(|spec| spec.template.is_some()).collect();
            let mut refused = 0;
            for spec in &hostile {
                let mut object = own.clone();
                let theirs = find(spec).unwrap();
                object["spec"]["template"]["spec"] = theirs["spec"]["template"]["spec"].clone();
                let metadata = &theirs["spec"]["template"]["metadata"];
                object["spec"]["template"]["metadata"]["annotations"] =
                    metadata["annotations"].clone();
                let labels = metadata["labels"].as_object().unwrap().iter();
                for (key, value) in labels.filter(|(key, _)| *key != "of") {
                    object["spec"]["template"]["metadata"]["labels"][key] = value.clone();
                }
                if metadata["labels"].get("bulkhead.dev/job").is_none() {
                    object["spec"]["template"]["metadata"]["labels"]
                        .as_object_mut()
                        .unwrap()
                        .remove("bulkhead.dev/job");
                }
                let (is_changed, said) =
                    self.ask("ann", &["replace", "-f", "-"], Some(&object.to_string()));
                refused += usize::from(!is_changed);
                if is_changed {
                    report.wrong.push(format!("{kind} became {}: {said}", spec.name));
                }
            }
            report.rows.push(format!(
                "| hostile changes of a {kind} | {} | {refused} refused |",
                hostile.len()
            ));
            let (is_scaled, said) =
                self.ask("ann", &["scale", kind, "scaled", "--replicas=2", "-n", &space], None);
            assert!(is_scaled, "{said}");
        }
    }

    /// Where jobs run in machines, nobody but KubeVirt makes pods, and those go where they may.
    fn machines(&self, world: &Cluster, report: &mut Report) {
        let space = world.namespace("vault");
        let pod = |name: &str, selector: Value| {
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": space, "labels": {"bulkhead.dev/job": "keep"}},
                "spec": {"nodeSelector": selector,
                    "securityContext": {"runAsNonRoot": true, "runAsUser": 107, "seccompProfile": {"type": "RuntimeDefault"}},
                    "tolerations": [{"key": "bulkhead.dev/tenant", "operator": "Equal", "value": "shared", "effect": "NoExecute"}],
                    "containers": [{"name": "compute", "image": "a", "securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}}}]}}).to_string()
        };
        let home = json!({format!("tenant.node-restriction.kubernetes.io/{space}"): "here"});
        for (who, name, selector, expected) in [
            ("eve", "of-a-member", home.clone(), false),
            ("admin", "of-the-cluster", home.clone(), false),
            ("kubevirt", "anywhere", json!({}), false),
            ("kubevirt", "launcher", home, true),
        ] {
            let (is_made, said) = self.ask(who, &["create", "-f", "-"], Some(&pod(name, selector)));
            if is_made != expected {
                report.wrong.push(format!("machine {name}: {said}"));
            }
        }
        report.rows.push(
            "| pods where jobs run in machines | 4 | 3 refused, KubeVirt's own made |".into(),
        );
        let wait =
            ["wait", "--for=condition=PodScheduled", "pod/launcher", "-n", &space, "--timeout=60s"];
        self.must(&wait, None);
        let node = self.must(
            &["get", "pod", "launcher", "-n", &space, "-o", "jsonpath={.spec.nodeName}"],
            None,
        );
        if node != "n5" {
            report.wrong.push(format!("the launcher is on {node}"));
        }
    }

    /// Makes everything honest, and looks where the scheduler put it.
    fn place(&self, specs: &[Spec], world: &Cluster, report: &mut Report) {
        let space = world.namespace("acme");
        let mut made = BTreeMap::new();
        for object in specs.iter().flat_map(Spec::objects) {
            let kind = object["kind"].as_str().unwrap().to_owned();
            let is_pod = object["kind"] == "Pod"
                || object["spec"].get("template").is_some()
                || object["spec"].get("jobTemplate").is_some()
                || object.get("template").is_some();
            if !is_pod || THEIRS.contains(&kind.as_str()) {
                made.entry(kind).or_insert_with(Vec::new).push(object);
            }
        }
        for (kind, objects) in &made {
            let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
            let (is_done, said) = self.ask("ann", &["create", "-f", "-"], Some(&list.to_string()));
            if !is_done {
                report.wrong.push(format!("honest {kind}: {said}"));
            }
            report.rows.push(format!("| honest {kind} | {} | made |", objects.len()));
        }
        self.may(specs, world, true, report);
        let templates = specs.iter().filter(|spec| spec.template.is_some()).count();
        // A pod of each, and of each Deployment, StatefulSet and Job; two of the scaled Deployment,
        // and one of the StatefulSet, which waits for its first to be ready.
        let expected = templates * 4 + 3;
        let pods = |servers: &Self| -> Vec<Value> {
            let said = servers.must(&["get", "pods", "-n", &space, "-o", "json"], None);
            serde_json::from_str::<Value>(&said).unwrap()["items"].as_array().unwrap().clone()
        };
        let bound = |pods: &[Value]| {
            pods.iter().filter(|pod| pod["spec"].get("nodeName").is_some()).count()
        };
        let started = Instant::now();
        while bound(&pods(self)) < expected && started.elapsed() < PATIENCE {}
        let all = pods(self);
        let mut placed = 0;
        for pod in &all {
            let labels = &pod["metadata"]["labels"];
            let name = labels["of"].as_str().or_else(|| pod["metadata"]["name"].as_str()).unwrap();
            let Some(spec) = specs.iter().find(|spec| spec.name == name) else {
                report.wrong.push(format!("nobody asked for pod {name}"));
                continue;
            };
            match pod["spec"]["nodeName"].as_str() {
                Some(node) if spec.nodes.iter().any(|own| own == node) => placed += 1,
                other => report.wrong.push(format!(
                    "{} is on {other:?}: {}",
                    pod["metadata"]["name"], pod["status"]
                )),
            }
        }
        if all.len() != expected {
            report.wrong.push(format!("{} pods are there, not {expected}", all.len()));
        }
        report.rows.push(format!("| honest pods, also of templates and scaled | {expected} | {placed} where the plan says |"));
        // What was given is what was planned.
        let claims = self.must(&["get", "resourceclaims", "-n", &space, "-o", "json"], None);
        let claims: Value = serde_json::from_str(&claims).unwrap();
        let mut given = 0;
        for claim in claims["items"].as_array().unwrap() {
            let results = claim["status"]["allocation"]["devices"]["results"].as_array();
            let asked = claim["spec"]["devices"]["requests"].as_array().unwrap().len();
            let name = claim["metadata"]["name"].as_str().unwrap();
            let node = name.split('.').nth(1).unwrap();
            let own = results
                .into_iter()
                .flatten()
                .filter(|result| result["pool"] == node && result["device"] == result["request"]);
            let count = own.count();
            given += count;
            if count != asked {
                report.wrong.push(format!("claim {name} was given {results:?}"));
            }
        }
        report.rows.push(format!("| GPUs of claims | {given} | each on the node of its claim, and the one that is planned |"));
    }
}

#[derive(Default)]
struct Report {
    rows: Vec<String>,
    wrong: Vec<String>,
}

impl Report {
    fn told(&self, servers: &Furnished) -> String {
        let mut out =
            format!("{}.\n\n| what | tried | seen |\n|---|---|---|\n", servers.0.versions());
        for row in &self.rows {
            let _ = writeln!(out, "{row}");
        }
        for wrong in &self.wrong {
            let _ = writeln!(out, "\nWRONG: {wrong}");
        }
        out
    }
}
