//! A thousand agents on one machine, to see how long a job's start takes.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use apply::{Offer, OfferedPart, OnDrift};
use model::{Dialect, Digest, Epoch, Generation, Name, Part};

use crate::address::Address;
use crate::authority::{Authority, AuthorityError};
use crate::fleet::{Agents, FleetError, strange};
use crate::identity::Identity;
use crate::keeper::AgentTerms;
use crate::line::TalkError;
use crate::memory::MemoryDevice;
use crate::message::{Answer, Request};
use crate::serve::{Agent, AgentError, serve};

/// So many jobs are started, one after the other.
const JOBS: u64 = 50;
const EPOCH: Epoch = Epoch(1);
const MAC: &str = "02:01:00:00:00:00";

/// How long it took until a job was in force on all agents, each of which acknowledged both steps.
#[derive(Clone, Debug)]
pub struct Rehearsal {
    /// How many agents there were.
    pub agents: usize,
    /// How many jobs were started on all of them.
    pub jobs: usize,
    /// Half of the starts were at most this long.
    pub p50: Duration,
    /// 99 of 100 were.
    pub p99: Duration,
    /// How long the first lines to all agents took, with all proofs.
    pub connect: Duration,
}

/// Why it could not be rehearsed.
#[derive(Debug, thiserror::Error)]
pub enum RehearseError {
    /// No identities.
    #[error(transparent)]
    Authority(#[from] AuthorityError),
    /// No agent.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// No controller.
    #[error(transparent)]
    Fleet(#[from] FleetError),
    /// No sockets.
    #[error("cannot open so many sockets: `ulimit -n` must be four times the number of agents")]
    Machine(#[from] io::Error),
    /// A job did not start.
    #[error("{node} did not start: {why}")]
    NotStarted {
        /// Where.
        node: Name,
        /// Why not.
        why: String,
    },
}

/// A folder that is gone afterwards.
struct Stage(PathBuf);

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Starts so many agents whose nodes are made of memory, and job after job on all of them: through
/// real sockets and proofs of identity, with everything but devices.
pub fn rehearse(agents: usize) -> Result<Rehearsal, RehearseError> {
    let stage = Stage(env::temp_dir().join(format!("rehearsal-{}", std::process::id())));
    let authority = Authority::init(&stage.0)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let names = enroll(&authority, &stage.0, agents)?;
    for (name, address) in &names {
        let identity = Identity::open(&stage.0.join("nodes").join(name.as_str()));
        let node = Box::new(MemoryDevice::default().node());
        let identity = identity.map_err(AgentError::from)?;
        let agent = Agent::open(identity, node, None, AgentTerms::default())?;
        let listener = runtime.block_on(address.listen())?;
        runtime.spawn(serve(listener, agent, std::future::pending()));
    }
    let fleet = Agents::open(&stage.0, runtime.handle().clone())?;
    let began = Instant::now();
    let answers = fleet.statuses();
    let connect = began.elapsed();
    for (node, answer) in answers {
        answer.map_err(|error| RehearseError::NotStarted { node, why: error.to_string() })?;
    }
    let times = start_jobs(&fleet, names.keys())?;
    runtime.shutdown_background();
    let at = |percent: usize| times[(times.len() * percent / 100).min(times.len() - 1)];
    Ok(Rehearsal { agents, jobs: times.len(), p50: at(50), p99: at(99), connect })
}

fn enroll(
    authority: &Authority,
    stage: &Path,
    agents: usize,
) -> Result<BTreeMap<Name, Address>, RehearseError> {
    let mut names = BTreeMap::new();
    for number in 0..agents {
        let Ok(name) = format!("n{number}").parse::<Name>() else {
            unreachable!("a letter and a number are a name");
        };
        let address = Address::Unix(stage.join(format!("{number}.sock")));
        authority.enroll(&name, &address)?;
        names.insert(name, address);
    }
    Ok(names)
}

/// Times from the first byte to the last acknowledgement, shortest first.
fn start_jobs<'a>(
    fleet: &Agents,
    names: impl Iterator<Item = &'a Name> + Clone,
) -> Result<Vec<Duration>, RehearseError> {
    let mut times = Vec::new();
    for job in 1..=JOBS {
        let generation = Generation(job);
        let holds = names.clone().map(|name| (name.clone(), hold(name, job))).collect();
        let starts =
            names.clone().map(|name| (name.clone(), Request::Start { epoch: EPOCH, generation }));
        let starts = starts.collect();
        let began = Instant::now();
        check(fleet.answers(holds), |answer| matches!(answer, Answer::Kept { .. }))?;
        check(fleet.answers(starts), |answer| matches!(answer, Answer::Done))?;
        times.push(began.elapsed());
    }
    times.sort_unstable();
    Ok(times)
}

fn check(
    answers: BTreeMap<Name, Result<Answer, TalkError>>,
    is_yes: impl Fn(&Answer) -> bool,
) -> Result<(), RehearseError> {
    for (node, answer) in answers {
        let why = match answer {
            Ok(answer) if is_yes(&answer) => continue,
            Ok(_) => strange().to_string(),
            Err(error) => error.to_string(),
        };
        return Err(RehearseError::NotStarted { node, why });
    }
    Ok(())
}

/// What FRR's configuration of any device begins with.
const HEAD: &str = "frr defaults datacenter
no zebra nexthop kernel enable
interface lo
 ip address 10.255.0.3/32
exit
router bgp 4200000003
 bgp bestpath as-path multipath-relax
 address-family ipv4 unicast
  network 10.255.0.3/32
 exit-address-family
exit
";

/// Texts as long as a host's with one job of eight endpoints.
fn hold(device: &Name, job: u64) -> Request {
    const LINES: u64 = 40;
    let text = |line: &dyn Fn(u64) -> String| (0..LINES).map(line).collect::<String>();
    let vrfs = text(&|line| format!("vrf t{line}\nexit-vrf\n"));
    let frr = format!("{HEAD}{vrfs}");
    let linux = text(&|line| format!("neigh 10.{job}.{line}.2 lladdr {MAC} dev swp1 master br1\n"));
    let table = text(&|line| {
        format!("peers t17 10.{job}.{line}.2-10.{job}.{line}.9 vtep 10.255.0.4 tag 1001\n")
    });
    let texts = [(Dialect::Frr, frr), (Dialect::Linux, linux), (Dialect::Table, table)];
    let parts = texts.map(|(dialect, text)| {
        let digest = Digest::of(text.as_bytes());
        OfferedPart { dialect, part: Part::Whole, digest, text: Some(text) }
    });
    let all = parts.iter().map(|part| (part.dialect, &part.part, part.digest)).collect();
    let offer = Offer {
        device: device.clone(),
        epoch: EPOCH,
        generation: Generation(job),
        digest: verify::digest_of_parts(all),
        parts: parts.into(),
    };
    Request::Hold { offer, on_drift: OnDrift::default(), confirm_within_ms: None }
}
