//! Which objects an edit touches, and how they differ.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// What tells an object from all others: its kind, its namespace and its name.
pub(super) type Called = (String, String, String);

/// Objects by what they are called.
pub(super) type Objects = BTreeMap<Called, Value>;

/// A value that is another one, with the path at which it stands; items of a list are `[]`.
pub(super) struct Difference {
    pub(super) path: String,
    pub(super) was: Option<Value>,
    pub(super) is: Option<Value>,
}

/// The documents of a text, as kubectl parts them: a line of three dashes, and perhaps a comment.
pub(super) fn documents(text: &str) -> Vec<String> {
    let is_rule = |line: &str| {
        let rest = line.strip_prefix("---").map(str::trim);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('#'))
    };
    let mut all = vec![String::new()];
    for line in text.split_inclusive('\n') {
        if is_rule(line) {
            all.push(String::new());
        } else if let Some(last) = all.last_mut() {
            last.push_str(line);
        }
    }
    all.retain(|document| !document.trim().is_empty());
    all
}

/// The objects that differ, as they were and as they are, and nothing else. Whoever reads them is
/// asked for the documents that differ, and says for each what stands in it, or that it takes one
/// of them not.
pub(super) fn changed(
    sound: &str,
    edited: &str,
    mut read: impl FnMut(&[&str]) -> Option<Vec<Vec<Value>>>,
) -> Option<(Objects, Objects)> {
    let (sound, edited) = (documents(sound), documents(edited));
    let had: BTreeSet<&str> = sound.iter().map(String::as_str).collect();
    let has: BTreeSet<&str> = edited.iter().map(String::as_str).collect();
    let fresh: Vec<(usize, &str)> = edited
        .iter()
        .map(String::as_str)
        .enumerate()
        .filter(|(_, one)| !had.contains(one))
        .collect();
    let gone: Vec<&str> = had.difference(&has).copied().collect();
    let texts: Vec<&str> = fresh.iter().map(|(_, text)| *text).collect();
    let mut is = Objects::new();
    let mut places: BTreeMap<Called, usize> = BTreeMap::new();
    for ((place, _), objects) in fresh.iter().zip(read(&texts)?) {
        for object in objects {
            places.insert(called(&object), *place);
            is.insert(called(&object), object);
        }
    }
    let mut was = Objects::new();
    for object in read(&gone)?.into_iter().flatten() {
        was.insert(called(&object), object);
    }
    // Of two objects that are called the same, the later one holds.
    if is.keys().any(|called| !was.contains_key(called)) {
        let kept: Vec<(usize, &str)> = edited
            .iter()
            .map(String::as_str)
            .enumerate()
            .filter(|(_, one)| had.contains(one))
            .collect();
        let texts: Vec<&str> = kept.iter().map(|(_, text)| *text).collect();
        for ((place, _), objects) in kept.iter().zip(read(&texts)?) {
            for object in objects {
                let called = called(&object);
                match places.get(&called) {
                    Some(later) if later > place => drop(was.insert(called, object)),
                    Some(_) => drop(is.remove(&called)),
                    None => {}
                }
            }
        }
    }
    Some((was, is))
}

/// The objects of a document: one, none, or those of a list.
pub(super) fn taken_apart(value: Value) -> Option<Vec<Value>> {
    match value {
        Value::Null => Some(Vec::new()),
        Value::Object(mut object) if object.get("kind").is_some_and(|kind| kind == "List") => {
            match object.remove("items") {
                Some(Value::Array(items)) => {
                    Some(items.into_iter().map(taken_apart).collect::<Option<Vec<_>>>()?.concat())
                }
                _ => None,
            }
        }
        Value::Object(object) => {
            let is_said = |text: Option<&Value>| text.is_some_and(Value::is_string);
            let name = object.get("metadata").and_then(|metadata| metadata.get("name"));
            let is_whole = [object.get("apiVersion"), object.get("kind"), name];
            let is_whole = is_whole.into_iter().all(is_said);
            is_whole.then(|| vec![by_default(Value::Object(object))])
        }
        _ => None,
    }
}

/// As the API takes it: what is of the whole cluster has no namespace, and a policy that does not
/// say for which directions it is, is one for the way in, and for the way out if it has rules.
fn by_default(mut object: Value) -> Value {
    let kind = object["kind"].as_str().unwrap_or_default().to_owned();
    if OF_THE_CLUSTER.contains(&kind.as_str())
        && let Some(metadata) = object["metadata"].as_object_mut()
    {
        metadata.remove("namespace");
    }
    let is_own = object["apiVersion"] == "networking.k8s.io/v1" && kind == "NetworkPolicy";
    let is_empty = |list: &Value| list.as_array().is_none_or(Vec::is_empty);
    if is_own && object["spec"].is_object() && is_empty(&object["spec"]["policyTypes"]) {
        let has_rules = !is_empty(&object["spec"]["egress"]);
        let types = if has_rules { vec!["Ingress", "Egress"] } else { vec!["Ingress"] };
        object["spec"]["policyTypes"] = types.into();
    }
    object
}

fn called(object: &Value) -> Called {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let metadata = &object["metadata"];
    let (version, kind) = (text(&object["apiVersion"]), text(&object["kind"]));
    // Policies of Kubernetes and of Calico are called alike.
    let group = version.split_once('/').map_or("", |(group, _)| group);
    // What is of the whole cluster has no namespace, whatever is sent.
    let space = if OF_THE_CLUSTER.contains(&kind.as_str()) {
        String::new()
    } else {
        text(&metadata["namespace"])
    };
    (format!("{kind}.{group}"), space, text(&metadata["name"]))
}

const OF_THE_CLUSTER: [&str; 9] = [
    "ClusterRole",
    "ClusterRoleBinding",
    "DeviceClass",
    "Namespace",
    "Node",
    "ResourceSlice",
    "StorageClass",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
];

/// Lists in which the order says something.
const ORDERED: [&str; 3] = [
    "ValidatingAdmissionPolicy.admissionregistration.k8s.io.spec.variables",
    "NetworkPolicy.projectcalico.org.spec.ingress",
    "NetworkPolicy.projectcalico.org.spec.egress",
];

/// How two objects of a kind differ.
pub(super) fn differences(kind: &str, was: &Value, is: &Value) -> Vec<Difference> {
    let mut all = Vec::new();
    let one = |value: &Value| whole(value).unwrap_or(Value::Null);
    differ(kind, "", Some(&one(was)), Some(&one(is)), &mut all);
    all
}

/// Without what is nothing: the API takes `null` and an empty list as if they were not there.
fn whole(value: &Value) -> Option<Value> {
    match value {
        Value::Null => None,
        Value::Array(items) if items.is_empty() => None,
        Value::Array(items) => Some(items.iter().filter_map(whole).collect()),
        Value::Object(members) => Some(Value::Object(
            members.iter().filter_map(|(key, value)| Some((key.clone(), whole(value)?))).collect(),
        )),
        other => Some(other.clone()),
    }
}

fn differ(
    kind: &str,
    path: &str,
    was: Option<&Value>,
    is: Option<&Value>,
    all: &mut Vec<Difference>,
) {
    let empty = serde_json::Map::new();
    let members = |value: Option<&Value>| match value {
        Some(Value::Object(members)) if !members.is_empty() => Some(members.clone()),
        _ => None,
    };
    let items = |value: Option<&Value>| match value {
        Some(Value::Array(items)) => Some(items.clone()),
        _ => None,
    };
    if was == is {
        return;
    }
    let (left, right) = (members(was), members(is));
    let are_members = (left.is_some() || was.is_none()) && (right.is_some() || is.is_none());
    if are_members {
        let (left, right) = (left.unwrap_or(empty.clone()), right.unwrap_or(empty));
        let keys: BTreeSet<&String> = left.keys().chain(right.keys()).collect();
        for key in keys {
            let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            differ(kind, &path, left.get(key), right.get(key), all);
        }
        return;
    }
    let (left, right) = (items(was), items(is));
    if (left.is_some() || was.is_none()) && (right.is_some() || is.is_none()) {
        let (mut left, mut right) = (left.unwrap_or_default(), right.unwrap_or_default());
        if !ORDERED.contains(&format!("{kind}.{path}").as_str()) {
            left.retain(|item| !is.and_then(Value::as_array).is_some_and(|is| is.contains(item)));
            right.retain(|item| {
                !was.and_then(Value::as_array).is_some_and(|was| was.contains(item))
            });
        }
        let path = format!("{path}[]");
        for place in 0..left.len().max(right.len()) {
            match (left.get(place), right.get(place)) {
                (Some(was), Some(is)) => differ(kind, &path, Some(was), Some(is), all),
                (was, is) => {
                    all.push(Difference { path: path.clone(), was: was.cloned(), is: is.cloned() })
                }
            }
        }
        return;
    }
    all.push(Difference { path: path.to_owned(), was: was.cloned(), is: is.cloned() });
}
