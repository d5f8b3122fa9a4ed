//! What is tried, from the files beside this one.

use std::path::Path;

use cases::{World, from_documents};
use model::Dialect;
use serde_json::{Value, json};

/// A cluster as it is rendered, and what its namespaces are called.
pub(crate) struct Cluster {
    pub(crate) text: String,
    pub(crate) objects: Vec<Value>,
}

impl Cluster {
    pub(crate) fn namespace(&self, tenant: &str) -> String {
        let is_theirs = |object: &&Value| {
            object["kind"] == "Namespace"
                && object["metadata"]["annotations"]["bulkhead.dev/tenant"] == tenant
        };
        let found = self.objects.iter().find(is_theirs).unwrap();
        found["metadata"]["name"].as_str().unwrap().to_owned()
    }
}

/// Something that a member tries.
#[derive(Clone, Debug)]
pub(crate) struct Spec {
    pub(crate) name: String,
    /// A part of the refusal.
    pub(crate) by: Option<String>,
    /// The nodes where it may run.
    pub(crate) nodes: Vec<String>,
    /// A pod, which is also tried in every kind of template.
    pub(crate) template: Option<Value>,
    pub(crate) object: Option<Value>,
    pub(crate) may: Option<Vec<String>>,
}

/// A request to the API.
pub(crate) struct Try {
    pub(crate) operation: &'static str,
    pub(crate) user: String,
    pub(crate) object: Value,
    pub(crate) old: Value,
}

impl Try {
    pub(crate) fn create(object: Value) -> Self {
        Self { operation: "CREATE", user: "ann".into(), object, old: Value::Null }
    }

    pub(crate) fn update(object: Value, old: Value) -> Self {
        Self { operation: "UPDATE", user: "ann".into(), object, old }
    }
}

/// Every kind that holds the template of a pod: its group, and the path to the template.
pub(crate) const TEMPLATES: [(&str, &str, &[&str]); 8] = [
    ("apps/v1", "Deployment", &["spec", "template"]),
    ("apps/v1", "StatefulSet", &["spec", "template"]),
    ("batch/v1", "Job", &["spec", "template"]),
    ("apps/v1", "DaemonSet", &["spec", "template"]),
    ("apps/v1", "ReplicaSet", &["spec", "template"]),
    ("v1", "ReplicationController", &["spec", "template"]),
    ("batch/v1", "CronJob", &["spec", "jobTemplate", "spec", "template"]),
    ("v1", "PodTemplate", &["template"]),
];

impl Spec {
    /// The thing itself, and where it is a pod, every template of it.
    pub(crate) fn objects(&self) -> Vec<Value> {
        let Some(pod) = &self.template else { return self.object.iter().cloned().collect() };
        let templates =
            TEMPLATES.iter().map(|(version, kind, path)| self.through(pod, version, kind, path));
        std::iter::once(pod.clone()).chain(templates).collect()
    }

    fn through(&self, pod: &Value, version: &str, kind: &str, path: &[&str]) -> Value {
        let mut object = json!({"apiVersion": version, "kind": kind, "metadata": {
            "name": self.name, "namespace": pod["metadata"]["namespace"]}});
        let mut metadata = pod["metadata"].clone();
        metadata.as_object_mut().unwrap().retain(|key, _| key == "labels" || key == "annotations");
        let mut template = json!({"metadata": metadata, "spec": pod["spec"]});
        let wanted = json!({"app": "work", "of": self.name, "through": kind.to_lowercase()});
        for (key, value) in wanted.as_object().unwrap() {
            template["metadata"]["labels"][key] = value.clone();
        }
        let mut at = &mut object;
        for key in path {
            at = &mut at[*key];
        }
        *at = template;
        match kind {
            "Job" => object["spec"]["template"]["spec"]["restartPolicy"] = json!("Never"),
            "CronJob" => {
                object["spec"]["schedule"] = json!("0 0 1 1 *");
                object["spec"]["jobTemplate"]["spec"]["template"]["spec"]["restartPolicy"] =
                    json!("Never");
            }
            "PodTemplate" => {}
            "ReplicationController" => object["spec"]["selector"] = wanted,
            _ => object["spec"]["selector"]["matchLabels"] = wanted,
        }
        if kind == "StatefulSet" {
            object["spec"]["serviceName"] = json!("work");
        }
        object
    }
}

pub(crate) fn world() -> Cluster {
    let documents = [file("fleet.yaml"), file("work.yaml")].join("---\n");
    let World { artifacts, .. } = from_documents(&documents).unwrap();
    let texts = artifacts.iter().filter(|artifact| artifact.dialect == Dialect::Kubernetes);
    let text: String = texts.map(model::Artifact::text).collect();
    let objects = serde_saphyr::from_multiple(&text).unwrap();
    Cluster { text, objects }
}

pub(crate) fn hostile(world: &Cluster) -> Vec<Spec> {
    specs("hostile.yaml", world)
}

pub(crate) fn honest(world: &Cluster) -> Vec<Spec> {
    specs("honest.yaml", world)
}

fn specs(name: &str, world: &Cluster) -> Vec<Spec> {
    let read = |name: &str| -> Value {
        let (acme, rival) = (world.namespace("acme"), world.namespace("rival"));
        let text = file(name).replace("$acme", &acme).replace("$rival", &rival);
        serde_saphyr::from_str(&text).unwrap()
    };
    let (base, list) = (read("base.yaml"), read(name));
    list.as_array().unwrap().iter().map(|said| spec(said, &base)).collect()
}

fn spec(said: &Value, base: &Value) -> Spec {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let texts = |value: &Value| value.as_array().map(|all| all.iter().filter_map(text).collect());
    let name = text(&said["name"]).unwrap();
    let mut spec = Spec {
        by: text(&said["by"]),
        nodes: texts(&said["nodes"]).unwrap_or_default(),
        template: None,
        object: said.get("object").cloned(),
        may: texts(&said["may"]),
        name,
    };
    if let Some(object) = &mut spec.object {
        object["metadata"]["name"] = json!(spec.name);
        object["metadata"]["namespace"] = base["metadata"]["namespace"].clone();
    } else if spec.may.is_none() {
        let mut pod = base.clone();
        pod["metadata"]["name"] = json!(spec.name);
        for path in said["drop"].as_array().into_iter().flatten() {
            let path = path.as_array().unwrap();
            let (last, way) = path.split_last().unwrap();
            at(&mut pod, way).as_object_mut().unwrap().remove(last.as_str().unwrap());
        }
        for path in said["set"].as_array().into_iter().flatten() {
            let (value, way) = path.as_array().unwrap().split_last().unwrap();
            *at(&mut pod, way) = value.clone();
        }
        spec.template = Some(pod);
    }
    spec
}

/// What stands at a path: keys, and places in lists. What is not there comes to be.
fn at<'v>(value: &'v mut Value, path: &[Value]) -> &'v mut Value {
    path.iter().fold(value, |value, key| match key.as_u64() {
        None => &mut value[key.as_str().unwrap()],
        Some(place) => {
            let list = value.as_array_mut().unwrap();
            let place = usize::try_from(place).unwrap();
            if place == list.len() {
                list.push(Value::Null);
            }
            &mut list[place]
        }
    })
}

fn file(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/admission");
    std::fs::read_to_string(folder.join(name)).unwrap()
}
