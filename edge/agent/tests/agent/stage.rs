//! Three leaves and a spine, each with its agent, in a folder that is gone afterwards.

use std::collections::BTreeMap;
use std::fs;
use std::future::pending;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use agent::{
    Address, Agent, AgentTerms, Agents, Authority, Event, Identity, MemoryDevice, News, Reached,
    Status, serve,
};
use apply::{Applied, Devices as _, Numbered, Order};
use intent::Source;
use model::{DeviceId, Dialect, Epoch, Generation, Name};
use observe::Unreachable;
use plan::Ledger;
use tokio::runtime::{Handle, Runtime};
use tokio::task::JoinHandle;
use verify::Cleared;

pub(crate) const NODES: [&str; 4] = ["leaf-1", "leaf-2", "leaf-3", "spine-1"];

/// Nothing here takes so long, unless it never comes.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) struct Stage {
    pub(crate) folder: PathBuf,
    pub(crate) authority: Authority,
    pub(crate) terms: AgentTerms,
    nodes: BTreeMap<&'static str, MemoryDevice>,
    agents: BTreeMap<&'static str, JoinHandle<()>>,
    runtime: Runtime,
}

/// The life of the log that all plans here are of.
const EPOCH: Epoch = Epoch(1);

/// What each agent answered, by its name.
pub(crate) type Answers = BTreeMap<String, Result<(), String>>;

/// Plans that follow one another, cleared.
pub(crate) struct Plans {
    pub(crate) fleet: Arc<model::Fleet>,
    pub(crate) cleared: Vec<Cleared>,
}

impl Stage {
    /// All four enrolled, and their agents running.
    pub(crate) fn new() -> Self {
        Self::with(AgentTerms::default())
    }

    pub(crate) fn with(terms: AgentTerms) -> Self {
        static STAGES: AtomicU32 = AtomicU32::new(0);
        let number = STAGES.fetch_add(1, Ordering::Relaxed);
        let folder = format!("agents-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        let authority = Authority::init(&folder.join("ca")).unwrap();
        let runtime = Runtime::new().unwrap();
        let (nodes, agents) = (BTreeMap::new(), BTreeMap::new());
        let mut stage = Self { folder, authority, terms, nodes, agents, runtime };
        for node in NODES {
            stage.authority.enroll(&name(node), &stage.address(node)).unwrap();
            stage.nodes.insert(node, MemoryDevice::default());
            stage.start(node);
        }
        stage
    }

    pub(crate) fn address(&self, node: &str) -> Address {
        Address::Unix(self.folder.join(format!("{node}.sock")))
    }

    pub(crate) fn ca(&self) -> PathBuf {
        self.folder.join("ca")
    }

    pub(crate) fn identity_folder(&self, node: &str) -> PathBuf {
        self.ca().join("nodes").join(node)
    }

    pub(crate) fn node(&self, node: &str) -> &MemoryDevice {
        &self.nodes[node]
    }

    /// Starts the agent of a node. It finds what an agent before it left.
    pub(crate) fn start(&mut self, node: &'static str) {
        let identity = self.identity_folder(node);
        self.start_as(node, &identity);
    }

    /// Starts the agent of a node with this identity, whoever's it is.
    pub(crate) fn start_as(&mut self, node: &'static str, identity: &Path) {
        let identity = Identity::open(identity).unwrap();
        let mut terms = self.terms.clone();
        terms.state = Some(self.folder.join("state").join(node));
        let memory = &self.nodes[node];
        let changes = Box::new(memory.changes());
        let agent = Agent::open(identity, Box::new(memory.node()), Some(changes), terms).unwrap();
        let listener = self.runtime.block_on(self.address(node).listen()).unwrap();
        let served = async move { serve(listener, agent, pending()).await.unwrap() };
        self.agents.insert(node, self.runtime.spawn(served));
    }

    /// Ends the agent of a node, in the middle of whatever it does.
    pub(crate) fn kill(&mut self, node: &str) {
        let agent = self.agents.remove(node).unwrap();
        agent.abort();
        assert!(self.runtime.block_on(agent).unwrap_err().is_cancelled());
    }

    pub(crate) fn fleet(&self) -> Agents {
        Agents::open(&self.ca(), self.handle()).unwrap()
    }

    pub(crate) fn handle(&self) -> Handle {
        self.runtime.handle().clone()
    }

    pub(crate) fn status(&self, node: &str) -> Status {
        self.fleet().statuses().remove(&name(node)).unwrap().unwrap()
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// What an agent tells, one after the other.
pub(crate) struct Ear(Receiver<(Name, Event)>);

impl Ear {
    pub(crate) fn to(fleet: &Agents) -> Self {
        let (tell, told) = channel();
        fleet.listen(move |name, event| {
            // The test may be over already.
            let _ = tell.send((name.clone(), event));
        });
        Self(told)
    }

    /// Waits until this node tells something like that.
    #[track_caller]
    pub(crate) fn hear<T>(&self, node: &str, like: impl Fn(Event) -> Option<T>) -> T {
        let node = name(node);
        let mut others = Vec::new();
        loop {
            let Ok((from, event)) = self.0.recv_timeout(PATIENCE) else {
                panic!("{node} never told it, but {others:#?}");
            };
            others.push((from.clone(), event.clone()));
            if let (true, Some(heard)) = (from == node, like(event)) {
                return heard;
            }
        }
    }

    #[track_caller]
    pub(crate) fn news<T>(&self, node: &str, like: impl Fn(News) -> Option<T>) -> T {
        self.hear(node, |event| match event {
            Event::News(news) => like(news),
            _ => None,
        })
    }

    /// Waits until this node said what it holds: from then on it tells every change.
    #[track_caller]
    pub(crate) fn first(&self, node: &str) {
        self.news(node, |news| matches!(news, News::Held(_)).then_some(()));
    }
}

pub(crate) fn name(text: &str) -> Name {
    text.parse().unwrap()
}

pub(crate) const TRAIN: &str = "\
apiVersion: bulkhead.dev/v1
kind: Job
metadata: {name: train}
spec: {tenant: red, endpoints: [n1/0, n2/0, n3/0]}
";

pub(crate) const OTHER: &str = "\
apiVersion: bulkhead.dev/v1
kind: Job
metadata: {name: other}
spec: {tenant: red, endpoints: [n1/1, n2/1]}
";

impl Plans {
    /// One plan for each of these works, each on top of the one before.
    pub(crate) fn of(works: &[&[&str]]) -> Self {
        let (mut records, mut cleared, mut fleet) = (Vec::new(), Vec::new(), None);
        for work in works {
            let text = [&[CLUSTER], *work].concat().join("---\n");
            let intent = intent::load(&[Source { file: "test", text: &text }]).unwrap();
            let ledger = Ledger::replay(&records).unwrap();
            let next = plan::next(&intent, &ledger).unwrap();
            let artifacts = render::all(&next.plan);
            let owners = next.plan.owners();
            let judged = verify::clear(&intent.fleet, &owners, artifacts);
            cleared.push(judged.map_err(|refused| refused.findings).unwrap());
            records.extend(next.records);
            fleet = Some(intent.fleet);
        }
        Self { fleet: fleet.unwrap(), cleared }
    }

    /// What each device shall hold of a plan.
    pub(crate) fn orders(&self, plan: usize) -> Vec<Order> {
        let cleared = &self.cleared[plan];
        Order::all(cleared, EPOCH, cleared.artifacts()[0].generation)
    }

    /// Has the agents hold a plan, and start it.
    pub(crate) fn push(&self, agents: &Agents, plan: usize) -> Applied {
        self.push_on(agents, plan, &apply::HoldTerms::default())
    }

    pub(crate) fn push_on(
        &self,
        agents: &Agents,
        plan: usize,
        terms: &apply::HoldTerms,
    ) -> Applied {
        let mut devices = Reached { fleet: &self.fleet, agents };
        apply::push(&self.orders(plan), terms, &mut devices)
    }

    /// Tells the agents that the controller lives and knows this generation; what each answers.
    pub(crate) fn renew(&self, agents: &Agents, generation: u64) -> Answers {
        let mut devices = Reached { fleet: &self.fleet, agents };
        self.answers(devices.renew(&self.numbered(generation)))
    }

    /// Tells the agents to stay with this generation.
    pub(crate) fn confirm(&self, agents: &Agents, generation: u64) -> Answers {
        let mut devices = Reached { fleet: &self.fleet, agents };
        self.answers(devices.confirm(&self.numbered(generation)))
    }

    fn numbered(&self, generation: u64) -> Vec<Numbered> {
        let cleared = self.cleared[0].devices();
        cleared.map(|(device, _)| (device, EPOCH, Generation(generation))).collect()
    }

    fn answers(&self, answers: Vec<(DeviceId, Result<(), Unreachable>)>) -> Answers {
        let named = |(device, answer): (DeviceId, Result<(), Unreachable>)| {
            let answer = answer.map_err(|error| error.source.to_string());
            (self.fleet.device_name(device).to_string(), answer)
        };
        answers.into_iter().map(named).collect()
    }

    /// The text of a device in a plan.
    pub(crate) fn text(&self, plan: usize, device: &str, dialect: Dialect) -> String {
        let artifacts = self.cleared[plan].artifacts();
        let wanted = |artifact: &&model::Artifact| {
            self.fleet.device_name(artifact.device).as_str() == device
                && artifact.dialect == dialect
        };
        artifacts.iter().find(wanted).unwrap().text()
    }
}

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
          leaves:
            - {name: leaf-1, dialect: frr}
            - {name: leaf-2, dialect: frr}
            - {name: leaf-3, dialect: frr}
          nodes:
            - {name: n1, model: host, leaf: leaf-1}
            - {name: n2, model: host, leaf: leaf-2}
            - {name: n3, model: host, leaf: leaf-3}
---
apiVersion: bulkhead.dev/v1
kind: Tenant
metadata: {name: red}
spec: {grade: node, pools: [10.1.0.0/16]}
";
