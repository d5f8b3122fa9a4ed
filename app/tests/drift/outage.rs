//! The controller goes away: running jobs do not notice, until its lease ends.

use std::io::Read as _;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use apply::Gate;
use lab::Fault;
use wire::forge::at;

use crate::flow::Flow;
use crate::standing::{APPLY, Standing, until};
use crate::watching::Watching;

const DEVICE: &str = "leaf-1";
const WITH: Duration = Duration::from_secs(10);
const WITHOUT: Duration = Duration::from_secs(60);

#[test]
fn a_job_carries_its_tag_and_runs_on_without_a_controller_until_the_lease_ends() {
    let lab = Standing::up("cut", 1);
    let flow = Flow::begin(&lab, "red-1/0", "red-2/0");
    let mut watch = Watching::begin(&lab);
    flow.passes();
    see_the_tag(&lab);
    let before = flow.during(|| sleep(WITH));
    watch.kill();
    let without = flow.during(|| sleep(WITHOUT));
    println!("with a controller: {} datagrams, {} lost", before.0, before.1);
    println!("without one for {WITHOUT:?}: {} datagrams, {} lost", without.0, without.1);
    let is_no_worse = without.1 * before.0 <= before.1 * without.0;
    assert!(is_no_worse, "lost {} of {} without a controller", without.1, without.0);
    end_the_lease(&lab, &flow);
}

/// Looks at what leaves a leaf, with somebody else's eyes.
fn see_the_tag(lab: &Standing) {
    let (_, job) =
        lab.plan().jobs.iter().find(|(name, _)| name.to_string() == "red/train").unwrap();
    let uplink = "swp9"; // after the ports of two nodes
    let mut tcpdump = lab.run_in(DEVICE, || tcpdump(uplink)).unwrap();
    let mut capture = Vec::new();
    tcpdump.stdout.take().unwrap().read_to_end(&mut capture).unwrap();
    tcpdump.wait().unwrap();
    let [high, low] = job.tag.get().to_be_bytes();
    let [_, a, b, c] = job.l2vni.get().to_be_bytes();
    // Flags G and I, the tag, the VNI (draft-smith-vxlan-group-policy-05).
    let header = [0x88, 0, high, low, a, b, c, 0];
    let frames = frames(&capture);
    let headers: Vec<_> =
        frames.iter().filter_map(|frame| frame.get(at::VXLAN..at::INNER)).collect();
    assert!(headers.contains(&header.as_slice()), "{header:02x?} is not among {headers:02x?}");
}

fn tcpdump(interface: &str) -> Child {
    let mut command = Command::new("tcpdump");
    command.args(["-i", interface, "-Q", "out", "-c", "20", "-U", "--immediate-mode", "-w", "-"]);
    command.arg("udp port 4789 and greater 50").stdout(Stdio::piped()).stderr(Stdio::null());
    command.spawn().expect("tcpdump is installed")
}

/// The frames of a capture: a head of 24 bytes, and one of 16 with its length before each.
fn frames(capture: &[u8]) -> Vec<&[u8]> {
    let mut frames = Vec::new();
    let mut rest = &capture[24..];
    while let Some(head) = rest.first_chunk::<16>() {
        let length = u32::from_ne_bytes([head[8], head[9], head[10], head[11]]) as usize;
        frames.push(&rest[16..16 + length]);
        rest = &rest[16 + length..];
    }
    frames
}

/// An agent that may keep its gate open for five seconds without a controller.
fn end_the_lease(lab: &Standing, flow: &Flow) {
    lab.break_(Fault::AgentKilled, Some(DEVICE)).unwrap();
    let mut agent = Agent(lab.run_in(DEVICE, || impatient(lab)).unwrap());
    flow.passes();
    flow.stops();
    let gate = || lab.status(DEVICE).map(|status| status.gate);
    assert_eq!(gate(), Some(Gate::LeaseOver));
    let closed = "nobody at leaf-1 can meet anybody: leases expired ";
    let (code, said) = lab.ask(&["verify", "--held"]);
    assert!(code == Some(1) && said.contains("Proved apart") && said.contains(closed), "{said}");
    let mut status = Command::new(env!("CARGO_BIN_EXE_bulkhead"));
    let status = status.args(["lab", "status", "--name", lab.name()]).output().unwrap();
    let said = String::from_utf8(status.stdout).unwrap();
    assert!(status.status.code() == Some(1) && said.contains(closed), "{said}");
    let (code, said) = lab.ask(APPLY);
    assert!(code == Some(0) && said.contains("Open again: 1 gate had closed"), "{said}");
    until("the gate opens again", || gate() == Some(Gate::Open));
    flow.passes();
    agent.0.kill().unwrap();
}

struct Agent(Child);

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn impatient(lab: &Standing) -> Child {
    let socket = lab.own(DEVICE).join("agent.sock");
    let _ = std::fs::remove_file(&socket);
    let mut agent = Command::new(env!("CARGO_BIN_EXE_bulkhead"));
    agent.args(["agent", "--lease", "5s", "--filter", "/sys/fs/bpf/bulkhead", "--listen"]);
    agent.arg(format!("unix:{}", socket.display()));
    agent.arg("--identity").arg(lab.authority().join("nodes").join(DEVICE));
    agent.arg("--frr").arg(lab.frr(DEVICE)).arg("--state").arg(lab.own(DEVICE).join("state"));
    agent.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap()
}
