#![allow(missing_docs, clippy::unwrap_used, reason = "a test fails by panicking")]

//! What libvirt, Slurm and Kubernetes are told is read back as exactly what was planned: no claim
//! is missing, none is added, no line is unknown.

mod random;

use std::collections::{BTreeMap, BTreeSet};

use model::admission::{GUARDS, MEMBER_ROLES};
use model::{
    DeviceAt, DeviceId, Dialect, Fleet, Grade, JobName, ManagerKind, Name, Node, NodeId, Runtime,
    Share, SwitchId, TenantName,
};
use plan::Plan;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use read::{ClaimRequest, ClaimedGpu, Direction, Fact, GpuClass, Hold, Peer, SlurmFact};

const DIALECTS: [Dialect; 3] = [Dialect::Vm, Dialect::Slurm, Dialect::Kubernetes];

const WORLDS: usize = 120;

#[test]
fn what_was_planned_is_read_back() {
    let mut runner = TestRunner::deterministic();
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for _ in 0..WORLDS {
        let (documents, wishes) = random::world(&DIALECTS).new_tree(&mut runner).unwrap().current();
        let plan = random::planned(&documents, &wishes);
        let said = said(&plan);
        for (_, _, hold) in &said {
            let shown = format!("{hold:?}");
            let kind = shown.split([' ', '(']).next().unwrap().to_owned();
            *kinds.entry(kind).or_default() += 1;
        }
        assert_eq!(said, meant(&plan), "{documents}\n{wishes:?}");
    }
    let rarest = kinds.values().min();
    assert!(kinds.len() == 38 && rarest > Some(&30), "{} kinds were said: {kinds:?}", kinds.len());
}

/// Every claim of every device: who says it, in which dialect.
type Claims = Vec<(DeviceId, Dialect, Hold)>;

/// What the texts say, read part by part and as a whole.
fn said(plan: &Plan) -> Claims {
    let (mut parts, mut wholes) = (Claims::new(), Claims::new());
    let artifacts = render::all(plan).into_iter();
    for artifact in artifacts.filter(|artifact| DIALECTS.contains(&artifact.dialect)) {
        let (device, dialect) = (artifact.device, artifact.dialect);
        let take = |text: &str, claims: &mut Claims| {
            let reading = read::claims(dialect, text);
            assert_eq!(reading.unknown, [], "{text}");
            assert!(reading.claims.is_sorted_by_key(|claim| claim.line));
            for claim in reading.claims {
                let Fact::Holds(hold) = claim.fact else { panic!("{:?}", claim.fact) };
                claims.push((device, dialect, hold));
            }
        };
        artifact.parts.iter().for_each(|part| take(&part.text, &mut parts));
        take(&artifact.text(), &mut wholes);
        assert_eq!(read::differences(dialect, &artifact.text(), &artifact.text()), []);
    }
    parts.sort();
    wholes.sort();
    assert_eq!(parts, wholes);
    parts
}

/// What the plan means, by the words of the contract.
fn meant(plan: &Plan) -> Claims {
    let mut claims = Claims::new();
    for device in plan.fleet.devices() {
        for dialect in plan.fleet.dialects(device).filter(|dialect| DIALECTS.contains(dialect)) {
            let holds = match plan.fleet.at(device) {
                DeviceAt::Switch(_) => vec![],
                DeviceAt::Node(_) => machines(plan, plan.fleet.node_of(device).unwrap()),
                DeviceAt::Manager(manager) => match manager.kind {
                    ManagerKind::Slurm => slurm(plan),
                    _ => kubernetes(plan),
                },
            };
            claims.extend(holds.into_iter().map(|hold| (device, dialect, hold)));
        }
    }
    claims.sort();
    claims
}

fn machines(plan: &Plan, node: NodeId) -> Vec<Hold> {
    let model = &plan.fleet.node_models[plan.fleet.nodes[node.index()].model.index()];
    let mut holds = vec![];
    for (job, share) in plan.nodes.get(&node).into_iter().flatten() {
        let trust = &plan.tenants[&job.tenant].trust;
        if trust.runtime == Runtime::Container {
            continue;
        }
        let job = || job.clone();
        holds.push(Hold::Guest { job: job(), confidential: trust.confidential });
        let gpus = bits(share.gpus).map(|gpu| model.pci.gpus[gpu]);
        let nics = bits(share.nics).map(|nic| model.pci.nics[nic]);
        holds.extend(gpus.chain(nics).map(|pci| Hold::GuestHas { job: job(), pci }));
        let numa: BTreeSet<u16> = bits(share.gpus).map(|gpu| model.gpu_numa[gpu]).collect();
        holds.extend(numa.into_iter().map(|numa| Hold::GuestNear { job: job(), numa }));
    }
    holds
}

fn slurm(plan: &Plan) -> Vec<Hold> {
    let fleet = &plan.fleet;
    let says = |fact, value: &str| Hold::SlurmSays { fact, value: value.into() };
    let mut holds = vec![
        Hold::ConstrainsDevices(true),
        Hold::KeepsLabelsApart(true),
        says(SlurmFact::Controller, "slurm"),
        says(SlurmFact::Cluster, fleet.name.as_str()),
    ];
    let switch = |id: SwitchId| fleet.switches[id.index()].name.clone();
    let leaves: BTreeSet<SwitchId> = fleet.nodes.iter().map(|node| node.uplinks[0].leaf).collect();
    for link in fleet.links.iter().filter(|link| leaves.contains(&link.a.switch)) {
        let spine = switch(link.b.switch);
        holds.push(says(SlurmFact::Above(switch(link.a.switch)), spine.as_str()));
    }
    for node in &fleet.nodes {
        let model = &fleet.node_models[node.model.index()];
        let (gpus, product) = (model.gpus, model.gpu.product.to_ascii_lowercase());
        holds.push(says(SlurmFact::Product(node.name.clone()), &product));
        holds.push(says(SlurmFact::Gpus(node.name.clone()), &format!("{product}:{gpus}")));
        let minors = (1_u64 << gpus) - 1;
        holds.push(Hold::Schedulable { node: node.name.clone(), minors });
    }
    let leaf = |node: &Node| fleet.switches[node.uplinks[0].leaf.index()].name.clone();
    holds.extend(together(fleet, leaf));
    let joined = |node: &Node| node.nvlink_domain.clone();
    holds.extend(together(fleet, joined).filter(
        |hold| !matches!(hold, Hold::Together { place, nodes } if nodes[0].as_str() == place),
    ));
    for (tenant, net) in &plan.tenants {
        let mut nodes = BTreeSet::new();
        for job in plan.jobs.keys().filter(|job| job.tenant == *tenant) {
            nodes.extend(nodes_of(plan, job));
        }
        let account = tenant.as_str().replace('/', ".");
        holds.push(Hold::Partition {
            partition: account.as_str().into(),
            nodes: nodes.into_iter().collect(),
            accounts: vec![account.into()],
            exclusive: matches!(net.trust.grade, Grade::Domain | Grade::Node),
        });
    }
    for job in plan.jobs.keys() {
        let account = job.tenant.as_str().replace('/', ".").into();
        let nodes = nodes_of(plan, job).into_iter().collect();
        holds.push(Hold::Reserved { job: job.clone(), account, nodes });
    }
    holds
}

/// The nodes with the same place, by place.
fn together(fleet: &Fleet, place: impl Fn(&Node) -> Name) -> impl Iterator<Item = Hold> {
    let mut places: BTreeMap<Name, BTreeSet<Name>> = BTreeMap::new();
    for node in &fleet.nodes {
        places.entry(place(node)).or_default().insert(node.name.clone());
    }
    places.into_iter().map(|(place, nodes)| Hold::Together {
        place: place.as_str().into(),
        nodes: nodes.into_iter().collect(),
    })
}

fn kubernetes(plan: &Plan) -> Vec<Hold> {
    let mut holds = vec![];
    for guard in &GUARDS {
        let policy = || guard.name.into();
        holds.extend([Hold::Refuses { policy: policy() }, Hold::Enforced { policy: policy() }]);
    }
    holds.extend(MEMBER_ROLES.iter().map(|role| Hold::Allows { role: role.name.into() }));
    for (id, node) in (0..).map(NodeId).zip(&plan.fleet.nodes) {
        holds.extend(published(&plan.fleet, node));
        let jobs = plan.nodes.get(&id).into_iter().flatten();
        let tenants: BTreeSet<&TenantName> = jobs.map(|(job, _)| &job.tenant).collect();
        let spaces: Vec<Name> = tenants.iter().map(|tenant| namespace_of(plan, tenant)).collect();
        let value = match spaces.as_slice() {
            [] => "nobody",
            [alone] => alone.as_str(),
            _ => "shared",
        };
        holds.push(Hold::Fenced { node: node.name.clone(), value: value.into() });
        let admits = |namespace| Hold::Admits { node: node.name.clone(), namespace };
        holds.extend(spaces.iter().cloned().map(admits));
    }
    for tenant in plan.tenants.keys() {
        holds.extend(namespace(plan, tenant));
    }
    for job in plan.jobs.keys().filter(|job| shares(plan).any(|(held, ..)| held == *job)) {
        // In Kubernetes' words and in Calico's.
        for direction in [Direction::Ingress, Direction::Egress] {
            let namespace = namespace_of(plan, &job.tenant);
            let (own, of) = (namespace.clone(), job.clone());
            holds.push(Hold::CalicoLetsJob { namespace: own, job: of, direction });
            holds.push(Hold::LetsJob { namespace, job: job.clone(), direction });
        }
    }
    for (job, node, share) in shares(plan) {
        let name = || plan.fleet.nodes[node.index()].name.clone();
        let model = &plan.fleet.node_models[plan.fleet.nodes[node.index()].model.index()];
        let namespace = namespace_of(plan, &job.tenant);
        let trust = &plan.tenants[&job.tenant].trust;
        let class = match trust.runtime {
            _ if model.gpu.is_amd() => GpuClass::Amd,
            Runtime::Container => GpuClass::Nvidia,
            Runtime::Vm => GpuClass::NvidiaVfio,
        };
        for gpu in bits(share.gpus) {
            let minor = model.pci.minor(gpu as u16).unwrap();
            let request = ClaimRequest { claim: 0, minor };
            let gpu = ClaimedGpu::At { pci: model.pci.gpus[gpu], class, request };
            let (namespace, job) = (namespace.clone(), job.clone());
            if trust.runtime == Runtime::Vm {
                holds.push(Hold::GuestTakes { job: job.clone(), node: name(), request });
            }
            holds.push(Hold::Claimed { namespace, job, node: name(), gpu });
        }
        if trust.runtime == Runtime::Vm {
            let (job, confidential) = (job.clone(), trust.confidential);
            holds.push(Hold::ClusterGuest { namespace, job, node: name(), confidential });
        }
    }
    holds
}

fn published(fleet: &Fleet, node: &Node) -> Vec<Hold> {
    let name = || node.name.clone();
    let keys = &fleet.layers.labels;
    let label = |key: &smol_str::SmolStr, value: &Name| Hold::Label {
        node: name(),
        key: key.clone(),
        value: value.as_str().into(),
    };
    let leaf = &fleet.switches[node.uplinks[0].leaf.index()].name;
    let hostname = smol_str::SmolStr::new_static("kubernetes.io/hostname");
    let mut holds = vec![
        label(&hostname, &node.name),
        label(&keys.pod, &fleet.pods[node.pod.index()].name),
        label(&keys.leaf, leaf),
        label(&keys.rack, &node.rack),
        label(&keys.nvlink_domain, &node.nvlink_domain),
    ];
    let pci = &fleet.node_models[node.model.index()].pci;
    for (gpu, address) in (0..).zip(&pci.gpus) {
        let minor = pci.minor(gpu).unwrap();
        holds.push(Hold::Published { node: name(), minor, pci: *address });
    }
    holds
}

fn namespace(plan: &Plan, tenant: &TenantName) -> Vec<Hold> {
    let net = &plan.tenants[tenant];
    let namespace = || namespace_of(plan, tenant);
    let (mut gpus, mut amd) = (0, 0);
    for (_, node, share) in shares(plan).filter(|(job, ..)| job.tenant == *tenant) {
        let model = &plan.fleet.node_models[plan.fleet.nodes[node.index()].model.index()];
        gpus += share.gpus.count_ones();
        amd += if model.gpu.is_amd() { share.gpus.count_ones() } else { 0 };
    }
    let class = || namespace().as_str().into();
    let both = [Direction::Ingress, Direction::Egress];
    let mut holds = vec![
        Hold::Namespace { namespace: namespace(), tenant: tenant.clone() },
        Hold::Restricted { namespace: namespace(), restricted: true },
        Hold::Volumes { class: class(), tenant: tenant.clone() },
        Hold::Governed { namespace: namespace(), runtime: net.trust.runtime },
        Hold::Meshed { namespace: namespace() },
        Hold::StorageQuota { namespace: namespace(), class: class(), bytes: u64::from(gpus) << 40 },
        Hold::Bounded { namespace: namespace() },
        Hold::StrictTls { namespace: namespace(), strict: true },
        Hold::MeshLets { namespace: namespace(), callers: vec![namespace()] },
    ];
    let (bare, vfio) = match net.trust.runtime {
        Runtime::Container => (gpus - amd, 0),
        Runtime::Vm => (0, gpus - amd),
    };
    for (of, gpus) in [
        ("gpu.nvidia.com.deviceclass.resource.k8s.io/devices", bare),
        ("vfio.gpu.nvidia.com.deviceclass.resource.k8s.io/devices", vfio),
        ("gpu.amd.com.deviceclass.resource.k8s.io/devices", amd),
        ("requests.nvidia.com/gpu", 0),
        ("requests.amd.com/gpu", 0),
    ] {
        holds.push(Hold::GpuQuota { namespace: namespace(), of: of.into(), gpus });
    }
    // Kubernetes' policies close once for all and once more for egress, Calico's once for all.
    for direction in both.into_iter().chain([Direction::Egress]) {
        holds.push(Hold::DeniesByDefault { namespace: namespace(), direction });
    }
    for direction in both {
        holds.push(Hold::CalicoDenies { namespace: namespace(), direction });
    }
    // Once in Kubernetes' words, twice in Calico's: one for each protocol.
    let (direction, peer) = (Direction::Egress, Peer::Resolver);
    holds.push(Hold::Lets { namespace: namespace(), direction, peer });
    for _ in 0..2 {
        holds.push(Hold::CalicoResolves { namespace: namespace() });
    }
    for group in &net.trust.groups {
        let (namespace, group) = (Some(namespace()), group.clone());
        let role = match net.trust.runtime {
            Runtime::Container => "tenant-member",
            Runtime::Vm => "tenant-machine-member",
        };
        holds.push(Hold::Role { namespace, group, role: role.into() });
    }
    let has_hosts = matches!(net.trust.grade, Grade::Domain | Grade::Node);
    if has_hosts && net.trust.runtime == Runtime::Container {
        let (tenant, kind) = (tenant.clone(), "kamaji".into());
        holds.push(Hold::ControlPlane { tenant, namespace: namespace(), kind });
    }
    holds
}

fn namespace_of(plan: &Plan, tenant: &TenantName) -> Name {
    let number = plan.tenants[tenant].number;
    format!("{}-t{number}", tenant.as_str().replace('/', "-")).parse().unwrap()
}

/// Every job on every node.
fn shares(plan: &Plan) -> impl Iterator<Item = (&JobName, NodeId, Share)> {
    let nodes = plan.nodes.iter();
    nodes.flat_map(|(node, jobs)| jobs.iter().map(|(job, share)| (job, *node, *share)))
}

fn nodes_of(plan: &Plan, job: &JobName) -> BTreeSet<Name> {
    let shares = shares(plan).filter(|(other, ..)| *other == job);
    shares.map(|(_, node, _)| plan.fleet.nodes[node.index()].name.clone()).collect()
}

fn bits(mask: u64) -> impl Iterator<Item = usize> {
    (0..64).filter(move |bit| mask >> bit & 1 == 1)
}
