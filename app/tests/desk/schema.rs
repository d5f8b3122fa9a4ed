//! Whether an answer for programs is written as its schema says.

use serde_json::Value;

const FINDINGS: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/schema/findings.json"));

/// Insists that this is an answer of `verify`, as its schema has it.
#[track_caller]
pub(crate) fn insist_on_findings(answer: &str) {
    let schema: Value = serde_json::from_str(FINDINGS).unwrap();
    let answer: Value = serde_json::from_str(answer).unwrap();
    let mut wrong = Vec::new();
    compare(&schema, &schema, &answer, "answer", &mut wrong);
    assert!(wrong.is_empty(), "{}\n{answer:#}", wrong.join("\n"));
}

/// Insists that keys are written in `camelCase`, in every value that was printed.
#[track_caller]
pub(crate) fn insist_on_one_style(answer: &str) {
    let values = serde_json::Deserializer::from_str(answer).into_iter::<Value>();
    values.map_while(Result::ok).for_each(|value| insist_on_keys(&value));
}

#[track_caller]
fn insist_on_keys(value: &Value) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                assert!(!key.contains('_'), "the key `{key}` is of another style");
                insist_on_keys(value);
            }
        }
        Value::Array(items) => items.iter().for_each(insist_on_keys),
        _ => {}
    }
}

/// The words of JSON Schema that ours uses; any other one is told, so that none is passed over.
fn compare(root: &Value, schema: &Value, value: &Value, at: &str, wrong: &mut Vec<String>) {
    for (word, wanted) in schema.as_object().unwrap() {
        let is_kept = match word.as_str() {
            "$schema" | "$id" | "$defs" | "title" | "description" => true,
            "$ref" => {
                let path = wanted.as_str().unwrap().strip_prefix('#').unwrap();
                compare(root, root.pointer(path).unwrap(), value, at, wrong);
                true
            }
            "const" => value == wanted,
            "enum" => wanted.as_array().unwrap().contains(value),
            "type" => match wanted {
                Value::Array(types) => types.iter().any(|wanted| is(value, wanted)),
                wanted => is(value, wanted),
            },
            "required" => {
                let mut keys = wanted.as_array().unwrap().iter().map(|key| key.as_str().unwrap());
                keys.all(|key| value.get(key).is_some())
            }
            "additionalProperties" => {
                let known = schema["properties"].as_object().unwrap();
                wanted == false
                    && value.as_object().unwrap().keys().all(|key| known.contains_key(key))
            }
            "properties" => {
                for (key, schema) in wanted.as_object().unwrap() {
                    if let Some(value) = value.get(key) {
                        compare(root, schema, value, &format!("{at}.{key}"), wrong);
                    }
                }
                true
            }
            "items" => {
                for (place, value) in value.as_array().unwrap().iter().enumerate() {
                    compare(root, wanted, value, &format!("{at}[{place}]"), wrong);
                }
                true
            }
            _ => false,
        };
        if !is_kept {
            wrong.push(format!("{at} is not as `{word}` says: {wanted}"));
        }
    }
}

fn is(value: &Value, wanted: &Value) -> bool {
    match wanted.as_str().unwrap() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_u64(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        _ => false,
    }
}
