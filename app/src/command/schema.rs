//! `bulkhead schema`: how answers for programs are written.

use std::io::{self, Write};

use clap::Args;
use serde_json::Value;

use crate::ending::{Ended, Stop};
use crate::words::{self, Format, examples};

/// Print the JSON Schema of what a command answers with `-o json`
///
/// A new member does not change the version in a schema's name; one that goes, or means something
/// else, does. What `-o yaml` writes are the same values, except for `get`, which prints documents
/// as they were written.
#[derive(Args)]
#[command(after_help = examples!(
    "bulkhead schema" => "which commands answer programs",
    "bulkhead schema verify > verify.json" => "one answer, with everything that its schema refers to",
    "bulkhead schema filter show" => "that of a part of a command",
))]
pub(crate) struct Schema {
    /// The command; without one, all that have a schema are listed
    #[arg(value_name = "COMMAND")]
    command: Vec<String>,
}

macro_rules! schemas {
    ($($name:literal $file:literal)+) => {
        &[$((
            $name,
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/schema/", $file, ".json")),
        )),+]
    };
}

/// Every command that answers programs, with its schema.
const ANSWERS: &[(&str, &str)] = schemas! {
    "fleet show" "fleet-show"
    "plan" "plan"
    "place" "place"
    "capacity" "capacity"
    "defrag" "defrag"
    "discover" "discover"
    "read" "read"
    "verify" "verify"
    "apply" "sending"
    "delete" "sending"
    "get" "get"
    "history" "history"
    "rollback" "sending"
    "log check" "log-check"
    "log repair" "log-repair"
    "scrub" "scrub"
    "watch" "watch"
    "why" "why"
    "filter attach" "filter-attach"
    "filter load" "filter-load"
    "filter show" "filter-show"
    "filter drops" "filter-drops"
    "filter stats" "filter-stats"
    "filter judge" "filter-judge"
    "filter bench" "filter-bench"
    "agent status" "agent-status"
    "lab status" "lab-status"
    "lab bench" "lab-bench"
    "test connectivity" "test-connectivity"
};

/// What others refer to by this name; the first may refer to the second.
const SHARED: &[(&str, &str)] = schemas! {
    "common-1.json" "common"
    "findings-1.json" "findings"
};

impl Schema {
    pub(super) fn run(&self, out: &mut dyn Write) -> Result<Ended, Stop> {
        if self.command.is_empty() {
            for (command, _) in ANSWERS {
                writeln!(out, "{command}")?;
            }
            return Ok(Ended::Done);
        }
        let command = self.command.join(" ");
        let schema = schema(&command)?.ok_or_else(|| no_schema(&command))?;
        words::data(out, Format::Json, &schema)?;
        Ok(Ended::Done)
    }
}

/// A schema in which every other one that it refers to stands by its own name (JSON Schema 2020-12,
/// section 9.3).
fn schema(command: &str) -> io::Result<Option<Value>> {
    let Some((_, text)) = ANSWERS.iter().find(|(name, _)| *name == command) else {
        return Ok(None);
    };
    let mut schema: Value = serde_json::from_str(text)?;
    for (name, text) in SHARED {
        if schema.to_string().contains(name) {
            schema["$defs"][name] = serde_json::from_str(text)?;
        }
    }
    Ok(Some(schema))
}

fn no_schema(command: &str) -> Stop {
    Stop::argument(
        "no-schema",
        format!("`{command}` answers no programs"),
        "`bulkhead schema` lists the commands that do",
    )
}

#[cfg(test)]
#[path = "../../tests/desk/schema.rs"]
mod comparison;

/// Insists that a command that answers this keeps to its schema.
#[cfg(test)]
#[track_caller]
pub(crate) fn insist(command: &str, answer: &impl serde::Serialize) {
    let schema = schema(command).ok().flatten();
    let (Some(schema), Ok(answer)) = (schema, serde_json::to_value(answer)) else {
        panic!("`{command}` has no schema, or its answer is no JSON");
    };
    comparison::insist(&schema, &answer);
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;
    use serde_json::json;

    use super::*;

    /// The commands that offer `-o`, in the order of the help.
    fn offered(command: &clap::Command, path: &str, all: &mut Vec<String>) {
        if command.get_arguments().any(|one| one.get_long() == Some("output")) {
            all.push(path.trim_start().to_owned());
        }
        for part in command.get_subcommands() {
            offered(part, &format!("{path} {}", part.get_name()), all);
        }
    }

    #[test]
    fn every_command_that_answers_programs_has_a_schema_and_no_other_one() {
        let mut all = Vec::new();
        offered(&crate::Arguments::command(), "", &mut all);
        let listed: Vec<&str> = ANSWERS.iter().map(|(command, _)| *command).collect();
        assert_eq!(listed, all);
    }

    /// Every schema in a schema, with where it stands.
    fn walk(schema: &Value, at: &str, see: &mut dyn FnMut(&Value, &str)) {
        see(schema, at);
        let within = schema.as_object().into_iter().flatten();
        let within = within.map(|(key, value)| (key.clone(), value));
        let items = schema.as_array().into_iter().flatten().enumerate();
        let items = items.map(|(place, value)| (place.to_string(), value));
        within.chain(items).for_each(|(key, value)| walk(value, &format!("{at}/{key}"), see));
    }

    #[test]
    fn a_schema_names_every_member_and_says_which_may_be_absent() {
        for (name, text) in ANSWERS.iter().chain(SHARED) {
            let schema: Value = serde_json::from_str(text).unwrap();
            walk(&schema, name, &mut |schema, at| {
                let Some(members) = schema.get("properties").and_then(Value::as_object) else {
                    return;
                };
                if !schema["type"].is_string() {
                    // A member that is called so.
                    return;
                }
                assert_eq!(schema["additionalProperties"], false, "{at} is open");
                let required = schema["required"].as_array().unwrap().iter();
                let unknown = required.filter(|key| !members.contains_key(key.as_str().unwrap()));
                assert_eq!(unknown.collect::<Vec<_>>(), Vec::<&Value>::new(), "{at}");
            });
        }
    }

    #[test]
    fn a_schema_brings_along_what_it_refers_to() {
        for (command, _) in ANSWERS {
            let whole = schema(command).unwrap().unwrap();
            let mut count = 0;
            walk(&whole, command, &mut |schema, at| {
                let Some(name) = schema.get("$ref").and_then(Value::as_str) else { return };
                let (file, path) = name.split_once('#').unwrap_or((name, ""));
                let own = SHARED.iter().find(|(file, _)| at.contains(&format!("$defs/{file}")));
                let file = if file.is_empty() { own.map_or("", |(file, _)| file) } else { file };
                let root = if file.is_empty() { &whole } else { &whole["$defs"][file] };
                assert!(root.pointer(path).is_some_and(Value::is_object), "{at}: {name}");
                count += 1;
            });
            assert!(count > 1, "{command} refers to nothing");
        }
    }

    #[track_caller]
    fn check_refused(answer: &Value, why: &str) {
        let schema = schema("log check").unwrap().unwrap();
        let found = std::panic::catch_unwind(|| comparison::insist(&schema, answer));
        let said = found.map_err(|panic| panic.downcast_ref::<String>().cloned());
        let Err(Some(said)) = said else { panic!("{answer} is taken for an answer") };
        assert!(said.contains(why), "{said}");
    }

    #[test]
    fn an_answer_that_is_not_as_its_schema_says_is_named_with_its_place() {
        let sound = json!({
            "sound": false, "records": 1, "batches": 1, "contents": 0, "tornBytes": 0,
            "problems": [{"code": "log-lost", "problem": "it is lost", "remedy": "find it"}],
        });
        insist("log check", &sound);
        let changed = |path: &str, value: Value| {
            let mut answer = sound.clone();
            *answer.pointer_mut(path).unwrap() = value;
            answer
        };
        check_refused(&changed("/records", json!(-1)), "answer.records is not as `type` says");
        check_refused(&changed("/problems/0/code", json!(7)), "answer.problems[0].code is not as");
        check_refused(
            &changed("/problems/0", json!({})),
            "answer.problems[0] is not as `required`",
        );
        let mut more = sound.clone();
        more["more"] = json!(1);
        check_refused(&more, "answer.more is unknown");
        check_refused(&json!([]), "answer is not as `oneOf` says");
        insist("log check", &json!({"broken": "the disk failed"}));
        check_refused(&json!({"broken": "the disk failed", "when": 1}), "answer.when is unknown");
    }
}
