//! Whether an answer for programs is written as its schema says.

use serde_json::Value;

/// Insists that an answer is written as its schema has it, with what that refers to inside.
#[track_caller]
pub(crate) fn insist(schema: &Value, answer: &Value) {
    let wrong = Bundle(schema).compare(schema, schema, answer, "answer");
    assert!(wrong.is_empty(), "{}\n{answer:#}", wrong.join("\n"));
    insist_on_keys(answer);
}

/// Insists that keys are written in `camelCase`.
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

/// A schema, and those beside it that it refers to by their names.
struct Bundle<'s>(&'s Value);

impl<'s> Bundle<'s> {
    /// What is wrong with a value. The words of JSON Schema are those that ours use; any other one
    /// is told, so that none is passed over.
    fn compare(&self, root: &'s Value, schema: &'s Value, value: &Value, at: &str) -> Vec<String> {
        let mut wrong = Vec::new();
        for (word, wanted) in schema.as_object().unwrap() {
            let is_kept = match word.as_str() {
                "$schema" | "$id" | "$defs" | "title" | "description" => true,
                "$ref" => {
                    let (root, schema) = self.named(root, wanted.as_str().unwrap());
                    wrong.extend(self.compare(root, schema, value, at));
                    true
                }
                "oneOf" => {
                    let ways = wanted.as_array().unwrap().iter();
                    let ways: Vec<_> = ways.map(|way| self.compare(root, way, value, at)).collect();
                    let kept = ways.iter().filter(|wrong| wrong.is_empty()).count();
                    if kept == 0 {
                        // The way that was meant is the one of which least is wrong.
                        wrong.extend(ways.into_iter().min_by_key(Vec::len).unwrap_or_default());
                    }
                    kept == 1
                }
                "items" => {
                    for (place, item) in value.as_array().into_iter().flatten().enumerate() {
                        wrong.extend(self.compare(root, wanted, item, &format!("{at}[{place}]")));
                    }
                    true
                }
                "properties" | "additionalProperties" => {
                    wrong.extend(self.members(root, (schema, word), value, at));
                    true
                }
                _ => is_simply_kept(word, wanted, value),
            };
            if !is_kept {
                wrong.push(format!("{at} is not as `{word}` says: {wanted}"));
            }
        }
        wrong
    }

    /// The members that a schema knows by name, or all others.
    fn members(
        &self,
        root: &'s Value,
        (schema, word): (&'s Value, &str),
        value: &Value,
        at: &str,
    ) -> Vec<String> {
        let known = schema.get("properties");
        let mut wrong = Vec::new();
        for (key, value) in value.as_object().into_iter().flatten() {
            let named = known.and_then(|known| known.get(key));
            let (at, other) = (format!("{at}.{key}"), &schema["additionalProperties"]);
            match (word, named, other) {
                ("properties", Some(schema), _) => {
                    wrong.extend(self.compare(root, schema, value, &at));
                }
                ("additionalProperties", None, Value::Bool(false)) => {
                    wrong.push(format!("{at} is unknown"));
                }
                ("additionalProperties", None, schema) => {
                    wrong.extend(self.compare(root, schema, value, &at));
                }
                _ => {}
            }
        }
        wrong
    }

    /// `#/$defs/line` of this schema, or `findings-1.json#/$defs/line` of another one.
    fn named(&self, root: &'s Value, name: &str) -> (&'s Value, &'s Value) {
        let (file, path) = name.split_once('#').unwrap_or((name, ""));
        let root = match file {
            "" => root,
            file => self.0["$defs"].get(file).unwrap(),
        };
        (root, root.pointer(path).unwrap())
    }
}

fn is_simply_kept(word: &str, wanted: &Value, value: &Value) -> bool {
    let count = |wanted: &Value| wanted.as_u64().unwrap() as usize;
    match word {
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
        "minItems" => value.as_array().is_none_or(|items| items.len() >= count(wanted)),
        "maxItems" => value.as_array().is_none_or(|items| items.len() <= count(wanted)),
        _ => false,
    }
}

fn is(value: &Value, wanted: &Value) -> bool {
    match wanted.as_str().unwrap() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        _ => false,
    }
}
