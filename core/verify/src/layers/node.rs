//! What all lines about one node say, and the verdict about it.

use model::{
    Component, Confidential, DeviceId, Dialect, Grade, JobName, Name, NodeId, NodeModel,
    PciAddress, Runtime, Share, Trust,
};
use read::{AttestReport, ClaimRequest, ClaimedGpu, DeviceFile, Fact, Function, Hold};
use smol_str::SmolStr;

use super::found::Findings;
use super::{Atom, LayerPlace, Member, Owner, Strength};
use crate::device::At;
use crate::verifier::Verifier;

/// Everything that lines say of one node, and who has what of it.
pub(super) struct NodeView<'a> {
    pub(super) node: NodeId,
    pub(super) device: DeviceId,
    pub(super) model: &'a NodeModel,
    /// Who has something here, by name; then those whom only lines name.
    pub(super) jobs: Vec<JobHere<'a>>,
    owners: usize,
    /// Whom the last line named.
    last: Who,
    pub(super) functions: Vec<Placed<'a>>,
    pub(super) driven: Vec<(PciAddress, &'a SmolStr, At)>,
    pub(super) beneath: Vec<(PciAddress, PciAddress, At)>,
    pub(super) runs: Vec<(Component, &'a SmolStr, At)>,
    pub(super) boot: Vec<(bool, At)>,
    pub(super) cuttable: Vec<(u16, At)>,
    pub(super) instances: Vec<(u16, &'a SmolStr, u8, At)>,
    pub(super) divided: Vec<(u16, &'a SmolStr, &'a SmolStr, At)>,
    pub(super) joinable: Vec<(u16, u64, At)>,
    pub(super) active: Vec<(u16, At)>,
    /// Partitions of the node's domain that hold GPUs of it.
    pub(super) linked: Vec<(u16, u64, At)>,
    pub(super) channels: Vec<(Who, u16, At)>,
    pub(super) opens: Vec<(Who, &'a DeviceFile, At)>,
    pub(super) guests: Vec<(Who, Option<Confidential>, At)>,
    pub(super) guest_has: Vec<(Who, PciAddress, At)>,
    pub(super) guest_near: Vec<(Who, u16, At)>,
    pub(super) reports: Vec<Vouched<'a>>,
    pub(super) pasts: Vec<(Who, &'a Hold, At)>,
    pub(super) allocated: Vec<(Who, u64, At)>,
    pub(super) claimed: Vec<(Who, ClaimedGpu, At)>,
    /// Jobs whose machines Kubernetes starts here.
    pub(super) started: Vec<(Who, At)>,
    /// What those machines take of their claims.
    pub(super) taken: Vec<(Who, ClaimRequest, At)>,
    /// Namespaces whose pods Kubernetes lets in.
    pub(super) admits: Vec<(&'a Name, At)>,
    /// Values of the taint that keeps off others.
    pub(super) fenced: Vec<(&'a SmolStr, At)>,
}

/// A job on the node, by its place in [`NodeView::jobs`].
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Who(pub(super) usize);

/// A job, and what it has of the node.
pub(super) struct JobHere<'a> {
    pub(super) name: &'a JobName,
    pub(super) share: Share,
    pub(super) trust: &'a Trust,
}

/// What a line vouches for.
pub(super) struct Vouched<'a> {
    pub(super) who: Who,
    pub(super) node: &'a Name,
    pub(super) report: &'a AttestReport,
    pub(super) at: At,
}

/// A function, as a line places it.
pub(super) struct Placed<'a> {
    pub(super) pci: PciAddress,
    pub(super) what: Function,
    pub(super) group: u16,
    pub(super) numa: u16,
    pub(super) hold: &'a Hold,
    pub(super) at: At,
}

impl Verifier {
    pub(super) fn judge_node(&self, node: NodeId, found: &mut Findings<'_>) {
        let view = NodeView::of(self, node);
        self.judge_host(&view, found);
        self.judge_groups(&view, found);
        self.judge_drivers(&view, found);
        self.judge_cuts(&view, found);
        self.judge_board(&view, found);
        self.judge_divisions(&view, found);
        self.judge_jobs_here(&view, found);
        self.judge_reports(&view, found);
        self.judge_pasts(&view, found);
        self.judge_demands(&view, found);
        self.judge_fence(&view, found);
    }

    /// Two tenants on one host: each must allow it, and the other too.
    fn judge_host(&self, view: &NodeView<'_>, found: &mut Findings<'_>) {
        let owners = view.owners();
        for (place, (who, job)) in owners.clone().enumerate() {
            let conflict = owners.clone().take(place).find(|(_, other)| {
                other.name.tenant != job.name.tenant && !may_share_host(other.trust, job.trust)
            });
            let Some((other, neighbour)) = conflict else {
                continue;
            };
            let is_new =
                owners.clone().take(place).all(|(_, seen)| seen.name.tenant != job.name.tenant);
            if !is_new {
                continue;
            }
            let on_host = |job: &JobHere<'_>| Member {
                atom: Atom::Node(view.node),
                owner: Owner::Job(job.name.clone()),
            };
            let strength = host_strength(neighbour.trust, job.trust);
            let ats = view.presence(other).into_iter().chain(view.presence(who));
            let pair = (on_host(neighbour), on_host(job));
            found.breach(LayerPlace::Host(view.node), pair, strength, ats);
        }
    }

    /// Whether a node is configured in this dialect.
    pub(super) fn speaks(&self, device: DeviceId, dialect: Dialect) -> bool {
        self.world.fleet.dialects(device).any(|held| held == dialect)
    }

    /// Whether a node is configured in this dialect and says something in it. What is silent is
    /// told of as such, and not line by line.
    pub(super) fn hears(&self, device: DeviceId, dialect: Dialect) -> bool {
        self.is_heard(device, dialect) && self.speaks(device, dialect)
    }
}

/// Whether the grades of both let two tenants use one host: each in machines of its own, or both
/// as those who share everything.
fn may_share_host(a: &Trust, b: &Trust) -> bool {
    let in_machine = |trust: &Trust| trust.grade >= Grade::Gpu && trust.runtime == Runtime::Vm;
    (in_machine(a) && in_machine(b)) || (a.grade == Grade::Shared && b.grade == Grade::Shared)
}

fn host_strength(a: &Trust, b: &Trust) -> Strength {
    let both_in_machines = [a, b].iter().all(|trust| trust.runtime == Runtime::Vm);
    if both_in_machines { Strength::Timing } else { Strength::Data }
}

impl<'a> NodeView<'a> {
    pub(super) fn of(verifier: &'a Verifier, node: NodeId) -> Self {
        let fleet = &verifier.world.fleet;
        let model = &fleet.node_models[fleet.nodes[node.index()].model.index()];
        let mut view = Self::empty(node, fleet.node_device(node), model);
        let functions = model.pci.gpus.len() + model.pci.nics.len();
        view.functions.reserve_exact(functions);
        view.driven.reserve_exact(functions);
        for (job, share) in &verifier.layers.shares[node.index()] {
            let name = verifier.job_name(*job);
            let trust = verifier.trust_of(&name.tenant);
            view.jobs.push(JobHere { name, share: *share, trust });
        }
        view.owners = view.jobs.len();
        for &id in &verifier.layers.sheets[node.index()] {
            for claim in &verifier.sheets[id as usize].claims {
                if let Fact::Holds(hold) = &claim.fact {
                    view.add(verifier, hold, At { sheet: id, line: claim.line });
                }
            }
        }
        for (hold, at) in verifier.told(node) {
            view.add(verifier, hold, at);
        }
        view
    }

    const fn empty(node: NodeId, device: DeviceId, model: &'a NodeModel) -> Self {
        Self {
            node,
            device,
            model,
            jobs: Vec::new(),
            owners: 0,
            last: Who(0),
            functions: Vec::new(),
            driven: Vec::new(),
            beneath: Vec::new(),
            runs: Vec::new(),
            boot: Vec::new(),
            cuttable: Vec::new(),
            instances: Vec::new(),
            divided: Vec::new(),
            joinable: Vec::new(),
            active: Vec::new(),
            linked: Vec::new(),
            channels: Vec::new(),
            opens: Vec::new(),
            guests: Vec::new(),
            guest_has: Vec::new(),
            guest_near: Vec::new(),
            reports: Vec::new(),
            pasts: Vec::new(),
            allocated: Vec::new(),
            claimed: Vec::new(),
            started: Vec::new(),
            taken: Vec::new(),
            admits: Vec::new(),
            fenced: Vec::new(),
        }
    }

    fn add(&mut self, verifier: &'a Verifier, hold: &'a Hold, at: At) {
        match hold {
            Hold::Function { pci, what, group, numa } => self.functions.push(Placed {
                pci: *pci,
                what: *what,
                group: *group,
                numa: *numa,
                hold,
                at,
            }),
            Hold::Driven { pci, driver } => self.driven.push((*pci, driver, at)),
            Hold::Beneath { bridge, pci } => self.beneath.push((*bridge, *pci, at)),
            Hold::Runs { component, version } => self.runs.push((*component, version, at)),
            Hold::BootedSecurely(securely) => self.boot.push((*securely, at)),
            Hold::Cuttable { gpu } => self.cuttable.push((*gpu, at)),
            Hold::Instance { gpu, profile, start } => {
                self.instances.push((*gpu, profile, *start, at));
            }
            Hold::Divided { gpu, compute, memory } => {
                self.divided.push((*gpu, compute, memory, at));
            }
            Hold::Joinable { partition, gpus } => self.joinable.push((*partition, *gpus, at)),
            Hold::Active { partition } => self.active.push((*partition, at)),
            Hold::Linked { partition, gpus, .. } => self.linked.push((*partition, *gpus, at)),
            Hold::Channel { job, channel } => {
                let who = self.who(verifier, job);
                self.channels.push((who, *channel, at));
            }
            Hold::Opens { job, file } => {
                let who = self.who(verifier, job);
                self.opens.push((who, file, at));
            }
            Hold::Guest { job, confidential } => {
                let who = self.who(verifier, job);
                self.guests.push((who, *confidential, at));
            }
            Hold::GuestHas { job, pci } => {
                let who = self.who(verifier, job);
                self.guest_has.push((who, *pci, at));
            }
            Hold::GuestNear { job, numa } => {
                let who = self.who(verifier, job);
                self.guest_near.push((who, *numa, at));
            }
            Hold::Attested { job, node, report } => {
                let who = self.who(verifier, job);
                self.reports.push(Vouched { who, node, report, at });
            }
            Hold::Clean { job, .. } | Hold::After { job, .. } | Hold::Scrubbed { job, .. } => {
                let who = self.who(verifier, job);
                self.pasts.push((who, hold, at));
            }
            Hold::Allocated { job, minors, .. } => {
                let who = self.who(verifier, job);
                self.allocated.push((who, *minors, at));
            }
            Hold::Claimed { job, gpu, .. } => {
                let who = self.who(verifier, job);
                self.claimed.push((who, *gpu, at));
            }
            Hold::ClusterGuest { job, .. } => {
                let who = self.who(verifier, job);
                self.started.push((who, at));
            }
            Hold::GuestTakes { job, request, .. } => {
                let who = self.who(verifier, job);
                self.taken.push((who, *request, at));
            }
            Hold::Admits { namespace, .. } => self.admits.push((namespace, at)),
            Hold::Fenced { value, .. } => self.fenced.push((value, at)),
            // The rest is about other places than a node, or about what it is.
            _ => {}
        }
    }

    /// A job by its name. Few are on a node, and lines of one follow one another.
    fn who(&mut self, verifier: &'a Verifier, name: &'a JobName) -> Who {
        if self.jobs.get(self.last.0).is_some_and(|job| job.name == name) {
            return self.last;
        }
        let known = self.jobs.iter().position(|job| job.name == name);
        self.last = Who(known.unwrap_or_else(|| {
            let trust = verifier.trust_of(&name.tenant);
            self.jobs.push(JobHere { name, share: Share::default(), trust });
            self.jobs.len() - 1
        }));
        self.last
    }

    pub(super) fn job(&self, who: Who) -> &JobHere<'a> {
        &self.jobs[who.0]
    }

    /// Those who have something of the node.
    pub(super) fn owners(&self) -> impl Iterator<Item = (Who, &JobHere<'a>)> + Clone {
        self.jobs[..self.owners].iter().enumerate().map(|(place, job)| (Who(place), job))
    }

    /// Whether it is one who has something of the node.
    pub(super) const fn is_owner(&self, who: Who) -> bool {
        who.0 < self.owners
    }

    /// Those whom only lines name.
    pub(super) fn strangers(&self) -> impl Iterator<Item = (Who, &JobHere<'a>)> {
        (self.owners..self.jobs.len()).map(|place| (Who(place), &self.jobs[place]))
    }

    /// Whose a GPU is: nobody's, or several jobs' where they take parts or turns.
    pub(super) fn owners_of_gpu(&self, gpu: u16) -> impl Iterator<Item = &JobHere<'a>> + Clone {
        let owners = self.jobs[..self.owners].iter();
        owners.filter(move |job| gpu < 64 && job.share.gpus >> gpu & 1 == 1)
    }

    pub(super) fn owners_of_nic(&self, nic: u16) -> impl Iterator<Item = &JobHere<'a>> + Clone {
        let owners = self.jobs[..self.owners].iter();
        owners.filter(move |job| nic < 64 && job.share.nics >> nic & 1 == 1)
    }

    /// Adds whose a function is, one seat for each owner.
    pub(super) fn add_seats(
        &self,
        what: Function,
        pci: PciAddress,
        at: At,
        seats: &mut Vec<Seat<'a>>,
    ) {
        let node = self.node;
        match what {
            Function::Gpu(gpu) => {
                let owners = self.owners_of_gpu(gpu).map(|job| job.name);
                add_seats(&Atom::Gpu { node, gpu }, owners, at, seats);
            }
            Function::Nic(nic) => {
                let owners = self.owners_of_nic(nic).map(|job| job.name);
                add_seats(&Atom::Nic { node, nic }, owners, at, seats);
            }
            Function::Vf { nic, vf } => {
                let owners = self.owners_of_nic(nic).map(|job| job.name);
                add_seats(&Atom::Vf { node, nic, vf }, owners, at, seats);
            }
            Function::Other => {
                add_seats(&Atom::Function { node, pci }, std::iter::empty(), at, seats);
            }
        }
    }

    /// The seats of these GPUs.
    pub(super) fn seats_of(&self, gpus: u64, at: At) -> Vec<Seat<'a>> {
        let node = self.node;
        let mut seats = Vec::new();
        for gpu in super::finding::bits(gpus) {
            let owners = self.owners_of_gpu(gpu).map(|job| job.name);
            add_seats(&Atom::Gpu { node, gpu }, owners, at, &mut seats);
        }
        seats
    }

    /// The first line of each kind that shows a job on this node.
    pub(super) fn presence(&self, who: Who) -> Vec<At> {
        let guest = self.guests.iter().find(|line| line.0 == who).map(|line| line.2);
        let opens = self.opens.iter().find(|line| line.0 == who).map(|line| line.2);
        let claimed = self.claimed.iter().find(|line| line.0 == who).map(|line| line.2);
        [guest, opens, claimed].into_iter().flatten().collect()
    }
}

/// One thing in a place, one of its owners, and the line that puts it there.
pub(super) struct Seat<'a> {
    pub(super) atom: Atom,
    pub(super) owner: Option<&'a JobName>,
    pub(super) at: At,
}

/// Adds a seat for each owner, or one that is nobody's.
pub(super) fn add_seats<'a>(
    atom: &Atom,
    owners: impl Iterator<Item = &'a JobName>,
    at: At,
    seats: &mut Vec<Seat<'a>>,
) {
    let before = seats.len();
    seats.extend(owners.map(|owner| Seat { atom: atom.clone(), owner: Some(owner), at }));
    if seats.len() == before {
        seats.push(Seat { atom: atom.clone(), owner: None, at });
    }
}

impl Verifier {
    /// Judges a place that lets everything in it reach everything else: one breach for each owner
    /// who meets somebody there. Two who take parts of the same thing are judged where it is cut.
    pub(super) fn meet(
        &self,
        place: &LayerPlace,
        seats: &[Seat<'_>],
        joined_by: &[At],
        found: &mut Findings<'_>,
    ) {
        let Some(first) = seats.first() else {
            return;
        };
        if seats.iter().all(|seat| seat.owner == first.owner) {
            return;
        }
        let mut known: Vec<&Seat<'_>> = Vec::new();
        for seat in seats {
            let same = known.iter().filter(|other| other.owner == seat.owner);
            // Two things of each owner are enough to find one that differs from another's.
            if same.clone().count() < 2 && same.clone().all(|other| other.atom != seat.atom) {
                known.push(seat);
            }
        }
        known.sort_by(|a, b| (a.owner.is_none(), a.owner).cmp(&(b.owner.is_none(), b.owner)));
        for (position, seat) in known.iter().enumerate() {
            let told = known[..position].iter().any(|other| other.owner == seat.owner);
            let meets = |other: &&&Seat<'_>| {
                other.owner != seat.owner
                    && other.atom != seat.atom
                    && !self.may_join(other.owner, seat.owner)
            };
            if let (false, Some(other)) = (told, known[..position].iter().find(meets)) {
                let ats = joined_by.iter().copied().chain([other.at, seat.at]);
                let pair = (other.member(), seat.member());
                found.breach(place.clone(), pair, Strength::Data, ats);
            }
        }
    }

    /// Whether two owners may be joined: only those who share everything may.
    pub(super) fn may_join(&self, a: Option<&JobName>, b: Option<&JobName>) -> bool {
        let (Some(a), Some(b)) = (a, b) else {
            return false;
        };
        let shares_all = |job: &JobName| self.trust_of(&job.tenant).grade == Grade::Shared;
        shares_all(a) && shares_all(b)
    }

    /// The jobs of a spot's lines are looked for by node.
    pub(super) fn owners_on(&self, node: NodeId, gpu: u16) -> impl Iterator<Item = &JobName> {
        let owners = self.layers.shares[node.index()].iter();
        let owners = owners.filter(move |(_, share)| gpu < 64 && share.gpus >> gpu & 1 == 1);
        owners.map(|(job, _)| self.job_name(*job))
    }

    pub(super) fn owners_of_port(&self, node: NodeId, nic: u16) -> impl Iterator<Item = &JobName> {
        let owners = self.layers.shares[node.index()].iter();
        let owners = owners.filter(move |(_, share)| nic < 64 && share.nics >> nic & 1 == 1);
        owners.map(|(job, _)| self.job_name(*job))
    }
}

impl Seat<'_> {
    pub(super) fn member(&self) -> Member {
        let owner = self.owner.map_or(Owner::Nobody, |job| Owner::Job(job.clone()));
        Member { atom: self.atom.clone(), owner }
    }
}
