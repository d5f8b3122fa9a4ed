//! An agent is killed in the middle of its work, again and again.

use std::fs;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Instant;

use lab::Fault;

use crate::attack::at;
use crate::standing::{APPLY, Standing, until};

const DEVICE: &str = "leaf-1";
const KILLS: u32 = 20;

/// Where the job is that comes and goes.
const HOSTS: [&str; 2] = ["vault-1/2", "vault-2/2"];
/// It needs a bridge, a tunnel, ports, routes and a table.
const JOB: &str = "apiVersion: bulkhead.dev/v1\nkind: Job\nmetadata: {name: extra}\nspec: {tenant: \
                   vault, endpoints: [vault-1/2, vault-2/2]}\n";

#[test]
fn an_agent_killed_anywhere_in_an_apply_leaves_no_breach_and_the_next_one_completes() {
    let lab = Standing::up("kill", 1);
    plug(&lab);
    let begin = Instant::now();
    change(&lab, true);
    complete(&lab);
    let whole = begin.elapsed();
    for turn in 0..KILLS {
        change(&lab, turn % 2 == 1);
        let mut apply = lab.bulkhead(APPLY);
        let mut apply = apply.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        sleep(whole * turn / KILLS);
        lab.break_(Fault::AgentKilled, Some(DEVICE)).unwrap();
        let code = apply.wait().unwrap().code();
        lab.start_agent(DEVICE).unwrap();
        until("the agent answers again", || lab.status(DEVICE).is_some());
        let breaches = breaches(&lab);
        assert_eq!(breaches, Vec::<String>::new(), "turn {turn}; that apply ended with {code:?}");
        complete(&lab);
    }
    // A port that was just set up is down for a moment.
    until("all is proved", || lab.ask(&["verify", "--held", "--from", "agents"]).0 == Some(0));
}

/// Brings up the job's own interfaces.
pub(crate) fn plug(lab: &Standing) {
    for host in HOSTS {
        let up = at(lab, host, || Command::new("ip").args(["link", "set", "eth0", "up"]).status());
        assert!(up.unwrap().success());
    }
}

pub(crate) fn change(lab: &Standing, is_there: bool) {
    let file = lab.documents().join("extra.yaml");
    match is_there {
        true => fs::write(file, JOB).unwrap(),
        false => fs::remove_file(file).unwrap(),
    }
}

fn complete(lab: &Standing) {
    let (code, said) = lab.ask(APPLY);
    assert_eq!(code, Some(0), "{said}");
}

/// What could be reached of another, by what the devices hold now.
fn breaches(lab: &Standing) -> Vec<String> {
    let (_, answer) = lab.data(&["verify", "--held", "--from", "agents"]);
    let findings = answer["findings"].as_array().unwrap().iter();
    let breaches = findings.filter(|finding| finding["code"] == "breach");
    breaches.map(ToString::to_string).collect()
}
