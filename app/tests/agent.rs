//! Agents from the command line, with nodes made of memory.

#![allow(clippy::unwrap_used, reason = "an agent that does not start ends the test")]

mod desk;

use std::io::{BufRead, BufReader};
use std::process::Child;
use std::time::{Duration, Instant};

use desk::Desk;
use serde_json::Value;

const NODES: [&str; 3] = ["leaf-1", "leaf-2", "spine-1"];

const CLUSTER: &str = "\
apiVersion: bulkhead.dev/v1
kind: Fleet
metadata: {name: harbour}
spec:
  models:
    nodes:
      host:
        gpu: {product: H100-80GB, board: HGX-H100/H200-8GPU}
        gpus: 8
        nics: {count: 8, rate: 400Gbps, vfs: 16, numaNodes: 2, firstIommuGroup: 16}
        versions: {driver: 570.133.20, kernel: 6.8.0-60, secureBoot: true}
  sites:
    - name: ams
      kind: core
      jurisdiction: NL
      pods:
        - name: pod
          spines: [{name: spine-1, dialect: frr}]
          leaves: [{name: leaf-1, dialect: frr}, {name: leaf-2, dialect: frr}]
          nodes: [{name: n1, model: host, leaf: leaf-1}, {name: n2, model: host, leaf: leaf-2}]
---
apiVersion: bulkhead.dev/v1
kind: Tenant
metadata: {name: red}
spec: {grade: node, pools: [10.1.0.0/16]}
---
apiVersion: bulkhead.dev/v1
kind: Job
metadata: {name: train}
spec: {tenant: red, endpoints: [n1/0, n2/0]}
";

/// A desk with a cluster, an authority and an agent for each device.
struct Site {
    desk: Desk,
    agents: Vec<Child>,
    lease: &'static str,
}

impl Site {
    fn new(name: &str) -> Self {
        Self::with_lease(name, "15m")
    }

    fn with_lease(name: &str, lease: &'static str) -> Self {
        let desk = Desk::new(name);
        desk.write("cluster.yaml", CLUSTER);
        desk.run(&["ca", "init"]).ends(0).says("Made");
        let mut site = Self { desk, agents: Vec::new(), lease };
        for node in NODES {
            let address = site.address(node);
            site.desk.run(&["ca", "enroll", node, "--address", &address]).ends(0).says("Enrolled");
            site.start(node);
        }
        site
    }

    fn address(&self, node: &str) -> String {
        format!("unix:{}", self.desk.path(&format!("{node}.sock")).display())
    }

    /// Starts an agent and waits until it says that it is ready.
    fn start(&mut self, node: &str) {
        let (address, identity) = (self.address(node), format!("bulkhead-ca/nodes/{node}"));
        let arguments = ["agent", "--listen", &address, "--identity", &identity, "--rehearse"];
        let arguments = [&arguments[..], &["--lease", self.lease]].concat();
        let mut agent = self.desk.command(&arguments).spawn().unwrap();
        let ready = format!("Ready: {node} listens at");
        let mut said = BufReader::new(agent.stdout.take().unwrap()).lines();
        assert!(said.any(|line| line.unwrap().starts_with(&ready)), "{node} is not ready");
        self.agents.push(agent);
    }

    fn end_all(&mut self) {
        for mut agent in self.agents.drain(..) {
            agent.kill().unwrap();
            agent.wait().unwrap();
        }
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.end_all();
    }
}

#[test]
fn a_plan_goes_to_all_agents_is_judged_there_and_is_not_sent_twice() {
    let site = Site::new("agents-apply");
    let desk = &site.desk;
    desk.run(&["agent", "status"]).ends(1).says("nothing was sent");
    let apply = ["apply", "cluster.yaml", "--to", "agents"];
    desk.run(&apply).ends(0).says("In force: 3 devices hold generation 1.");
    desk.run(&["agent", "status"]).ends(0).says("open");
    desk.run(&["verify", "cluster.yaml", "--held", "--from", "agents"]).ends(0).says("Proved");
    desk.run(&apply).ends(0).says("Nothing to do: 3 devices hold generation 1.");
    let watch = desk.run(&["watch", "cluster.yaml", "--once"]).ends(0);
    watch.says("All was as it must be.");
}

#[test]
fn an_agent_that_does_not_answer_keeps_everything_from_starting() {
    let mut site = Site::new("agents-silent");
    site.end_all();
    site.start("leaf-1");
    let desk = &site.desk;
    let answer = desk.run(&["apply", "cluster.yaml", "--to", "agents"]).ends(2);
    answer.says("nobody answers at").says("Nothing new starts anywhere");
    let answer = desk.run(&["apply", "--to", "agents", "-o", "json"]).ends(2);
    assert_eq!(answer.err, "", "programs are told once");
    answer.says("\"problem\": \"leaf-2 does not answer: nobody answers at");
    desk.run(&["verify", "--held", "--diff"]).ends(2).complains("silent  leaf-2: nobody");
    desk.run(&["verify", "--held", "--diff", "-o", "json"]).ends(2).says("\"silent\": [");
    desk.run(&["agent", "status", "leaf-1"]).ends(0).says("not started");
    desk.run(&["agent", "status", "leaf-2"]).ends(1).says("silent");
    desk.run(&["watch", "cluster.yaml", "--once"]).ends(1).says("gone  leaf-2");
    // Nobody can say what is not known.
    let held = desk.run(&["verify", "--held"]).ends(2).says("silent  leaf-2: nobody answers at");
    held.says("Not known: 2 devices may hold anything.");
    desk.run(&["why", "n1/0", "n2/0", "--held"])
        .ends(2)
        .complains("what leaf-2 holds is not known");
    desk.run(&["plan"]).ends(0).says("silent  spine-1");
}

#[test]
fn where_leases_expired_everybody_says_that_nobody_can_meet_anybody() {
    let site = Site::with_lease("agents-leases", "2s");
    let desk = &site.desk;
    desk.run(&["apply", "cluster.yaml", "--to", "agents"]).ends(0);
    let end = Instant::now() + Duration::from_secs(60);
    let held = ["verify", "--held", "-o", "json"];
    let passage = loop {
        let answer: Value = serde_json::from_str(&desk.run(&held).out).unwrap();
        assert_eq!(answer["proved"], true, "{answer}");
        if answer["passage"]["open"] == 0 {
            break answer["passage"].clone();
        }
        assert!(Instant::now() < end, "the leases do not end: {answer}");
    };
    let closed = passage["closed"].as_array().unwrap().iter();
    let closed: Vec<&Value> = closed.filter(|one| one["gate"] == "leaseOver").collect();
    assert_eq!(closed.len(), 2, "{passage}");
    desk.run(&held).ends(1);
    let nobody = "nobody can meet anybody: leases expired ";
    desk.run(&["verify", "--held"]).ends(1).says("Proved apart: ").says(nobody);
    desk.run(&["why", "n1/0", "n2/0", "--held"]).ends(0).says(nobody);
    desk.run(&["plan"]).ends(0).says("No changes").says(nobody);
    let watch =
        desk.run(&["watch", "--once"]).ends(1).says("gate  leaf-1: closed: the lease expired");
    watch.says("nobody can meet anybody");
    let apply = desk.run(&["apply", "--to", "agents"]).ends(0);
    apply.says("Open again: 3 gates had closed; 3 devices hold generation 1.");
}

#[test]
fn a_watch_follows_the_log_and_finds_nothing_wrong_with_what_was_applied_meanwhile() {
    let site = Site::new("agents-follow");
    let desk = &site.desk;
    let apply = ["apply", "cluster.yaml", "--to", "agents"];
    desk.run(&apply).ends(0);
    let (mut watch, mut told) = desk.listen(&["watch", "-o", "json"]);
    let mut until_generation = |wanted: u64| {
        for event in &mut told {
            assert_eq!(event["kind"], "heartbeat", "{event}");
            assert_eq!(event["findings"], 0, "{event}");
            if event["generation"] == wanted {
                return;
            }
        }
        panic!("the watch ended");
    };
    until_generation(1);
    desk.edit("cluster.yaml", |before| before.replace("[n1/0, n2/0]", "[n1/0, n2/0, n2/1]"));
    desk.run(&apply).ends(0).says("generation 2");
    until_generation(2);
    watch.kill().unwrap();
    watch.wait().unwrap();
    desk.run(&["watch", "--once"]).ends(0).says("All was as it must be.");
}

#[test]
fn a_trial_is_confirmed_or_goes_back() {
    let site = Site::new("agents-trial");
    let desk = &site.desk;
    let apply = ["apply", "cluster.yaml", "--to", "agents"];
    let trial = [&apply[..], &["--confirm-within", "1h"]].concat();
    desk.run(&trial).ends(0).says("On trial: the devices go back in 1h");
    desk.run(&["agent", "status"]).ends(0).says("unless confirmed");
    desk.run(&apply).ends(1).complains("--confirm").complains("goes back in 3");
    let confirm = [&apply[..], &["--confirm"]].concat();
    desk.run(&confirm).ends(0).says("Confirmed: 3 agents stay with generation 1.");
    desk.edit("cluster.yaml", |before| before.replace("[n1/0, n2/0]", "[n1/0, n2/0, n2/1]"));
    desk.run(&trial).ends(0);
    let confirmed = desk.run(&[&confirm[..], &["-o", "json"]].concat()).ends(0);
    confirmed.says("\"confirmed\": true").says("\"device\": \"leaf-1\"");
    desk.run(&confirm).ends(1).complains("No plan is on trial");
    desk.run(&apply).ends(0).says("Nothing to do");
    let answer = desk.run(&["agent", "status", "-o", "json"]).ends(0);
    assert!(!answer.out.contains("\"confirmUntilMs\": 1"), "{}", answer.out);
}

#[test]
fn what_is_there_already_or_not_yet_is_refused_with_a_remedy() {
    let desk = Desk::new("agents-refused");
    desk.write("cluster.yaml", CLUSTER);
    let nobody = desk.run(&["verify", "cluster.yaml", "--held"]).ends(1);
    nobody.complains("There are no simulated devices in bulkhead-state/sim");
    desk.run(&["why", "n1/0", "n2/0", "cluster.yaml", "--held"]).ends(1).complains("--from agents");
    desk.run(&["agent", "status"]).ends(1).complains("`bulkhead ca init` makes one");
    desk.run(&["ca", "init"]).ends(0);
    desk.run(&["ca", "init"]).ends(1).complains("There is an authority");
    let address = ["--address", "10.0.0.1:4647"];
    desk.run(&[&["ca", "enroll", "leaf-1"], &address[..]].concat()).ends(0);
    desk.run(&[&["ca", "enroll", "leaf-1"], &address[..]].concat()).ends(1);
    desk.run(&["ca", "enroll", "leaf-2", "--address", "nowhere"]).ends(64).complains("HOST:PORT");
    desk.run(&["ca", "list"]).ends(0).says("10.0.0.1:4647");
    desk.run(&["ca", "rotate", "--authority"]).ends(0).says("Two authorities are trusted");
    desk.run(&["ca", "rotate"]).ends(0).says("no longer trusted");
    desk.run(&["agent"]).ends(64).complains("--listen <ADDRESS>");
    let sim = ["apply", "cluster.yaml", "--to", "sim", "--confirm-within", "5m"];
    desk.run(&sim).ends(1).complains("cannot go back by themselves");
}
