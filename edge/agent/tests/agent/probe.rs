//! Who takes no part in a test of connectivity is named: its ports would look closed.

use std::collections::BTreeSet;

use agent::SurveyError;

use crate::stage::{Stage, name};

fn check_named(stage: &Stage, listeners: &[&str], whom: &str, why: &str) {
    let listeners: BTreeSet<_> = listeners.iter().map(|node| name(node)).collect();
    let refused = stage.fleet().survey(&listeners, &[], &mut |_| {}).unwrap_err();
    let SurveyError::Agent { node, source } = refused else { panic!("{refused}") };
    assert_eq!(node, name(whom));
    assert!(source.to_string().contains(why), "{source}");
}

#[test]
fn a_node_made_of_memory_has_no_ports_to_probe() {
    check_named(&Stage::new(), &["leaf-1"], "leaf-1", "made of memory");
}

#[test]
fn an_agent_that_is_not_there_is_named() {
    let mut stage = Stage::new();
    stage.kill("leaf-2");
    check_named(&stage, &["leaf-2"], "leaf-2", "nobody answers");
}
