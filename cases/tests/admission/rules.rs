//! Roles and policies as a server would go by them, from the rendered text.

use std::collections::HashMap;
use std::sync::Arc;

use cel::objects::{Key, Map};
use cel::{Context, Program};
use serde_json::{Value, json};

use crate::spec::{Cluster, Try};

pub(crate) struct Rules {
    objects: Vec<Value>,
}

impl Rules {
    pub(crate) fn of(cluster: &Cluster) -> Self {
        Self { objects: cluster.objects.clone() }
    }

    fn of_kind<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Value> {
        self.objects.iter().filter(move |object| object["kind"] == kind)
    }

    /// Whether a group's role in a namespace allows this; in its own namespace if none is named.
    pub(crate) fn may(&self, group: &str, words: &[String]) -> bool {
        let [verb, api, resource, elsewhere @ ..] = words else { panic!("{words:?}") };
        let is_bound = |binding: &&Value| {
            let mut subjects = binding["subjects"].as_array().into_iter().flatten();
            let here =
                elsewhere.first().is_none_or(|name| binding["metadata"]["namespace"] == **name);
            here && subjects.any(|subject| subject["name"] == group)
        };
        let roles =
            self.of_kind("RoleBinding").filter(is_bound).map(|binding| &binding["roleRef"]["name"]);
        let roles: Vec<&Value> = roles.collect();
        let rules =
            self.of_kind("ClusterRole").filter(|role| roles.contains(&&role["metadata"]["name"]));
        let mut rules = rules.flat_map(|role| role["rules"].as_array().unwrap());
        rules.any(|rule| {
            has(&rule["apiGroups"], api)
                && has(&rule["resources"], resource)
                && has(&rule["verbs"], verb)
        })
    }

    /// Every refusal of a request to make or change an object.
    pub(crate) fn judge(&self, asked: &Try) -> Vec<String> {
        let object = &asked.object;
        let space = &object["metadata"]["namespace"];
        let namespace = self.of_kind("Namespace").find(|own| own["metadata"]["name"] == *space);
        let namespace = namespace.unwrap();
        let version = object["apiVersion"].as_str().unwrap();
        let group = version.split_once('/').map_or("", |(group, _)| group);
        let resource = plural(object["kind"].as_str().unwrap());
        let mut refusals = Vec::new();
        if asked.user == "ann" {
            let words = ["create".to_owned(), group.to_owned(), resource.clone()];
            if !self.may("acme-people", &words) {
                refusals.push(format!("role: no {}", words.join(" ")));
            }
        }
        let request = json!({
            "operation": asked.operation, "userInfo": {"username": asked.user}, "subResource": "",
            "resource": {"group": group, "version": "v1", "resource": resource},
        });
        for policy in self.of_kind("ValidatingAdmissionPolicy") {
            if self.holds(policy, namespace) && matches(policy, group, &resource, asked.operation) {
                refusals.extend(refused(policy, &request, asked, namespace));
            }
        }
        refusals
    }

    fn holds(&self, policy: &Value, namespace: &Value) -> bool {
        let mut bindings = self.of_kind("ValidatingAdmissionPolicyBinding");
        bindings.any(|binding| {
            let spec = &binding["spec"];
            let terms = spec["matchResources"]["namespaceSelector"]["matchExpressions"].as_array();
            spec["policyName"] == policy["metadata"]["name"]
                && has(&spec["validationActions"], "Deny")
                && terms.unwrap().iter().all(|term| {
                    let label = &namespace["metadata"]["labels"][term["key"].as_str().unwrap()];
                    term["operator"] == "In"
                        && label.as_str().is_some_and(|label| has(&term["values"], label))
                })
        })
    }
}

fn has(list: &Value, word: &str) -> bool {
    list.as_array().is_some_and(|list| list.iter().any(|item| item == word))
}

fn plural(kind: &str) -> String {
    format!("{}s", kind.to_lowercase())
}

fn matches(policy: &Value, group: &str, resource: &str, operation: &str) -> bool {
    let rules = policy["spec"]["matchConstraints"]["resourceRules"].as_array().unwrap();
    rules.iter().any(|rule| {
        has(&rule["apiGroups"], group)
            && has(&rule["resources"], resource)
            && has(&rule["operations"], operation)
    })
}

/// What a policy says against it. Whatever fails is refused.
fn refused(policy: &Value, request: &Value, asked: &Try, namespace: &Value) -> Vec<String> {
    let mut context = Context::default();
    for (name, value) in [
        ("object", &asked.object),
        ("oldObject", &asked.old),
        ("request", request),
        ("namespaceObject", namespace),
    ] {
        context.add_variable_from_value(name, in_cel(value));
    }
    let mut variables = HashMap::new();
    let named =
        |all: &HashMap<Key, cel::Value>| cel::Value::Map(Map { map: Arc::new(all.clone()) });
    for variable in policy["spec"]["variables"].as_array().into_iter().flatten() {
        context.add_variable_from_value("variables", named(&variables));
        let program = Program::compile(variable["expression"].as_str().unwrap()).unwrap();
        // A name without a value fails whoever uses it.
        if let Ok(value) = program.execute(&context) {
            let name = variable["name"].as_str().unwrap().to_owned();
            variables.insert(Key::String(Arc::new(name)), value);
        }
    }
    context.add_variable_from_value("variables", named(&variables));
    let checks = policy["spec"]["validations"].as_array().unwrap().iter();
    checks
        .filter_map(|check| {
            let program = Program::compile(check["expression"].as_str().unwrap()).unwrap();
            match program.execute(&context) {
                Ok(cel::Value::Bool(true)) => None,
                Ok(_) => Some(check["message"].as_str().unwrap().to_owned()),
                Err(why) => Some(format!("{}: {why}", check["message"].as_str().unwrap())),
            }
        })
        .collect()
}

fn in_cel(value: &Value) -> cel::Value {
    match value {
        Value::Null => cel::Value::Null,
        Value::Bool(is) => cel::Value::Bool(*is),
        Value::Number(number) => number
            .as_i64()
            .map_or_else(|| cel::Value::Float(number.as_f64().unwrap()), cel::Value::Int),
        Value::String(text) => cel::Value::String(Arc::new(text.clone())),
        Value::Array(items) => cel::Value::List(Arc::new(items.iter().map(in_cel).collect())),
        Value::Object(map) => {
            let keys =
                map.iter().map(|(key, value)| (Key::String(Arc::new(key.clone())), in_cel(value)));
            cel::Value::Map(Map { map: Arc::new(keys.collect()) })
        }
    }
}
