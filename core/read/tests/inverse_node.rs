#![allow(missing_docs, clippy::unwrap_used, reason = "a test fails by panicking")]

//! What nodes, NVLink domains and subnets are told is read back as exactly what was planned: no
//! claim is missing, none is added, no line is unknown.

mod random;

use std::collections::{BTreeMap, BTreeSet};

use model::{
    Component, DeviceAt, DeviceId, Dialect, Guid, JobName, ManagerKind, Node, NodeModel, PodId,
    Runtime, Share,
};
use plan::{Plan, Seat};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use read::{DeviceFile, Fact, Function, Hold};

const DIALECTS: [Dialect; 8] = [
    Dialect::Vfio,
    Dialect::Versions,
    Dialect::Mig,
    Dialect::Amd,
    Dialect::Nvlink,
    Dialect::Imex,
    Dialect::Pkey,
    Dialect::Devices,
];

const WORLDS: usize = 150;

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
    assert!(kinds.len() == 12 && rarest > Some(&30), "every kind was said: {kinds:?}");
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
            assert_eq!((reading.unknown, reading.ignored), (vec![], vec![]), "{text}");
            for claim in reading.claims {
                let Fact::Holds(hold) = claim.fact else { panic!("{:?}", claim.fact) };
                claims.push((device, dialect, hold));
            }
        };
        artifact.parts.iter().for_each(|part| take(&part.text, &mut parts));
        take(&artifact.text(), &mut wholes);
        assert!(read::differences(dialect, &artifact.text(), &artifact.text()).is_empty());
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
                DeviceAt::Manager(manager) => match &manager.kind {
                    ManagerKind::Subnet(pod) => subnet(plan, *pod),
                    _ => domain(plan, &manager.kind),
                },
                DeviceAt::Node(node) => on_node(plan, device, node, dialect),
            };
            claims.extend(holds.into_iter().map(|hold| (device, dialect, hold)));
        }
    }
    claims.sort();
    claims
}

fn subnet(plan: &Plan, pod: PodId) -> Vec<Hold> {
    let mut holds = vec![Hold::EveryMember { pkey: 0x7fff, full: false }];
    for job in plan.jobs.values() {
        let seats = job.groups.iter().flat_map(|group| &group.seats);
        let here = seats.filter(|seat| plan.fleet.nodes[seat.nic.node.index()].pod == pod);
        let member = |seat: &Seat| Hold::Member {
            pkey: job.keys.pkey.unwrap(),
            guid: Guid::of(seat.mac),
            full: true,
        };
        holds.extend(here.map(member));
    }
    holds
}

fn domain(plan: &Plan, kind: &ManagerKind) -> Vec<Hold> {
    let mut holds = vec![];
    for (node, shares) in &plan.nodes {
        let node = &plan.fleet.nodes[node.index()];
        let here = *kind == ManagerKind::Nvlink(node.nvlink_domain.clone());
        for (job, share) in shares.iter().filter(|_| here) {
            let partition = plan.jobs[job].keys.channel.unwrap();
            holds.push(Hold::Linked { partition, node: node.name.clone(), gpus: share.gpus });
        }
    }
    holds
}

fn on_node(plan: &Plan, device: DeviceId, node: &Node, dialect: Dialect) -> Vec<Hold> {
    let model = &plan.fleet.node_models[node.model.index()];
    let mut holds = match dialect {
        Dialect::Vfio => functions(model),
        Dialect::Versions => versions(node),
        Dialect::Amd => (0..model.gpus)
            .map(|gpu| Hold::Divided { gpu, compute: "SPX".into(), memory: "NPS1".into() })
            .collect(),
        Dialect::Nvlink => {
            let partitions = model.board_partitions().unwrap_or_default().into_iter();
            partitions.map(|one| Hold::Joinable { partition: one.number, gpus: one.gpus }).collect()
        }
        _ => vec![],
    };
    let shares = plan.nodes.get(&plan.fleet.node_of(device).unwrap());
    for (job, share) in shares.into_iter().flatten() {
        holds.extend(of_job(plan, model, job, *share, dialect));
    }
    holds
}

fn functions(model: &NodeModel) -> Vec<Hold> {
    let gpus = (0..model.gpus).map(|gpu| Hold::Function {
        pci: model.pci.gpus[usize::from(gpu)],
        what: Function::Gpu(gpu),
        group: model.gpu_groups[usize::from(gpu)],
        numa: model.gpu_numa[usize::from(gpu)],
    });
    let nics = model.nics.iter().zip(0..).map(|(nic, number)| Hold::Function {
        pci: model.pci.nics[usize::from(number)],
        what: Function::Nic(number),
        group: nic.iommu_group,
        numa: nic.numa,
    });
    gpus.chain(nics).collect()
}

fn versions(node: &Node) -> Vec<Hold> {
    let versions = &node.versions;
    let all = [
        (Component::Driver, &versions.driver),
        (Component::Kernel, &versions.kernel),
        (Component::Firmware, &versions.firmware),
        (Component::Toolkit, &versions.toolkit),
    ];
    let known = all.into_iter().filter(|(_, version)| !version.is_empty());
    let runs = known.map(|(component, version)| Hold::Runs { component, version: version.clone() });
    runs.chain([Hold::BootedSecurely(versions.secure_boot)]).collect()
}

fn of_job(
    plan: &Plan,
    model: &NodeModel,
    job: &JobName,
    share: Share,
    dialect: Dialect,
) -> Vec<Hold> {
    let bits = |mask: u64| (0..64_u16).filter(move |bit| mask & 1 << bit != 0);
    let is_machine = plan.tenants[&job.tenant].trust.runtime == Runtime::Vm;
    let channel = plan.jobs[job].keys.channel;
    match dialect {
        Dialect::Vfio => {
            let amd = model.gpu.product.starts_with("MI");
            let driver = if is_machine {
                "vfio-pci"
            } else if amd {
                "amdgpu"
            } else {
                "nvidia"
            };
            let gpus = bits(share.gpus).map(|gpu| model.pci.gpus[usize::from(gpu)]);
            let nics = bits(share.nics).map(|nic| model.pci.nics[usize::from(nic)]);
            let driven = gpus.chain(nics.filter(|_| is_machine));
            driven.map(|pci| Hold::Driven { pci, driver: driver.into() }).collect()
        }
        Dialect::Nvlink => {
            let mut partitions = model.board_partitions().unwrap_or_default().into_iter();
            let active = partitions.find(|one| one.gpus == share.gpus);
            active.map(|one| Hold::Active { partition: one.number }).into_iter().collect()
        }
        Dialect::Imex => {
            vec![Hold::Channel { job: job.clone(), channel: channel.unwrap() }]
        }
        Dialect::Devices => {
            let files = if is_machine {
                let gpus = bits(share.gpus).map(|gpu| model.gpu_groups[usize::from(gpu)]);
                let nics = bits(share.nics).map(|nic| model.nics[usize::from(nic)].iommu_group);
                let groups: BTreeSet<u16> = gpus.chain(nics).collect();
                let control = DeviceFile::Control("/dev/vfio/vfio".into());
                groups.into_iter().map(DeviceFile::Group).chain([control]).collect()
            } else {
                devices(model, share, channel)
            };
            files.into_iter().map(|file| Hold::Opens { job: job.clone(), file }).collect()
        }
        _ => vec![],
    }
}

fn devices(model: &NodeModel, share: Share, channel: Option<u16>) -> Vec<DeviceFile> {
    let bits = |mask: u64| (0..64_u16).filter(move |bit| mask & 1 << bit != 0);
    let mut files: Vec<DeviceFile> =
        bits(share.gpus).map(|gpu| DeviceFile::Gpu(model.pci.minor(gpu).unwrap())).collect();
    let control: &[&str] = match model.gpu.product.starts_with("MI") {
        true => &["/dev/kfd"],
        false => &["/dev/nvidiactl", "/dev/nvidia-uvm"],
    };
    files.extend(control.iter().map(|path| DeviceFile::Control((*path).into())));
    files.extend(bits(share.nics).map(DeviceFile::Verbs));
    files.extend(channel.map(DeviceFile::Channel));
    files
}
