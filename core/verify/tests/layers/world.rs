//! A small fleet, who has what of it, and the lines that say exactly that in every layer.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::sync::Arc;

use model::admission::{GPU_QUOTAS, GUARDS, MEMBER_ROLES, role_of};
use model::{
    Asn, Component, Confidential, DeviceId, Dialect, Enforcement, Fleet, GpuModel, Grade, Guid,
    Health, JobName, Layers, Manager, ManagerKind, Name, Nic, Node, NodeId, NodeModel, NodeModelId,
    Owners, Part, PciAddress, PciLayout, Pod, PodId, Port, Runtime, Share, Site, SiteId, SiteKind,
    Switch, SwitchDialect, SwitchId, SwitchRole, TenantName, Trust, Uplink, VersionPolicy,
    Versions, Vtep,
};
use read::{
    Claim, ClaimRequest, ClaimedGpu, DeviceFile, Direction, Fact, Function, GpuClass, Hold, Peer,
    Reading, SlurmFact,
};
use verify::{Finding, Said, Verifier};
use wire::Mac;

/// The partitions of an eight-GPU board, by number (facts: nvswitch_partitions.json).
pub(crate) const BOARD: [u64; 15] =
    [0xff, 0x0f, 0xf0, 0b101, 0b1010, 0b101_0000, 0b1010_0000, 1, 2, 4, 8, 16, 32, 64, 128];

/// One part of one artifact, line by line.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Sheet {
    pub(crate) device: DeviceId,
    pub(crate) dialect: Dialect,
    pub(crate) part: Part,
    pub(crate) lines: Vec<Hold>,
}

/// A fleet, its owners, and what all devices hold.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) fleet: Arc<Fleet>,
    pub(crate) owners: Owners,
    /// The number that keeps each job apart on the fabrics of GPUs.
    pub(crate) keys: BTreeMap<JobName, u16>,
    pub(crate) sheets: Vec<Sheet>,
}

impl World {
    /// A world without owners yet: so many boards of eight GPUs and trays of four in one rack.
    pub(crate) fn new(boards: usize, trays: usize) -> Self {
        let fleet = Arc::new(fleet(boards, trays));
        Self { fleet, owners: Owners::default(), keys: BTreeMap::new(), sheets: Vec::new() }
    }

    pub(crate) fn tenant(&mut self, name: &str, grade: Grade, confidential: Option<Confidential>) {
        let in_machines = matches!(grade, Grade::Gpu | Grade::Slice) || confidential.is_some();
        let trust = Trust {
            grade,
            versions: VersionPolicy::default(),
            runtime: if in_machines { Runtime::Vm } else { Runtime::Container },
            confidential,
            attestation: None,
            groups: vec![format!("{name}-people").into()],
        };
        self.owners.trusts.insert(name.parse().unwrap(), trust);
    }

    /// Gives a job these GPUs of a node, and the interfaces beside them.
    pub(crate) fn give(&mut self, job: &str, node: &str, gpus: u64) {
        let job: JobName = job.parse().unwrap();
        let next = 17 + self.keys.len() as u16;
        self.keys.entry(job.clone()).or_insert(next);
        let shares = self.owners.shares.entry(self.node(node)).or_default();
        shares.insert(job, Share { gpus, nics: gpus });
    }

    pub(crate) fn node(&self, name: &str) -> NodeId {
        let place = self.fleet.nodes.iter().position(|node| node.name.as_str() == name);
        NodeId(place.unwrap() as u32)
    }

    pub(crate) fn device(&self, name: &str) -> DeviceId {
        let mut devices = self.fleet.devices();
        devices.find(|device| self.fleet.device_name(*device).as_str() == name).unwrap()
    }

    /// Writes everything down as it must be.
    pub(crate) fn settle(&mut self) {
        let devices: Vec<DeviceId> = self.fleet.devices().collect();
        let mut sheets = Vec::new();
        for device in devices {
            let dialects: Vec<Dialect> = self.fleet.dialects(device).collect();
            for dialect in dialects.into_iter().filter(|dialect| !dialect.is_network()) {
                for part in self.parts() {
                    let lines = match self.fleet.node_of(device) {
                        Some(node) => self.of_node(node, dialect, &part),
                        None => self.of_manager(dialect, &part),
                    };
                    if !lines.is_empty() || part == Part::Head {
                        sheets.push(Sheet { device, dialect, part, lines });
                    }
                }
            }
        }
        self.sheets = sheets;
    }

    fn parts(&self) -> Vec<Part> {
        let tenants: BTreeSet<&TenantName> = self.jobs().map(|job| &job.tenant).collect();
        let jobs: BTreeSet<&JobName> = self.jobs().collect();
        let tenants = tenants.into_iter().cloned().map(Part::Tenant);
        let jobs = jobs.into_iter().cloned().map(Part::Job);
        std::iter::once(Part::Head).chain(tenants).chain(jobs).collect()
    }

    pub(crate) fn jobs(&self) -> impl Iterator<Item = &JobName> {
        self.owners.shares.values().flat_map(BTreeMap::keys)
    }

    fn model(&self, node: NodeId) -> &NodeModel {
        &self.fleet.node_models[self.fleet.nodes[node.index()].model.index()]
    }

    fn of_node(&self, node: NodeId, dialect: Dialect, part: &Part) -> Vec<Hold> {
        let model = self.model(node);
        match (part, dialect) {
            (Part::Head, Dialect::Vfio) => functions(model),
            (Part::Head, Dialect::Versions) => vec![
                Hold::Runs { component: Component::Driver, version: "550.90.07".into() },
                Hold::Runs { component: Component::Kernel, version: "6.8.0".into() },
                Hold::BootedSecurely(true),
            ],
            (Part::Head, Dialect::Nvlink) => (0..)
                .zip(BOARD)
                .map(|(partition, gpus)| Hold::Joinable { partition, gpus })
                .collect(),
            (Part::Job(job), _) => {
                let shares = self.owners.shares.get(&node).and_then(|shares| shares.get(job));
                shares.map_or_else(Vec::new, |share| self.of_job(node, dialect, job, *share))
            }
            _ => Vec::new(),
        }
    }

    fn of_job(&self, node: NodeId, dialect: Dialect, job: &JobName, share: Share) -> Vec<Hold> {
        let pci = &self.model(node).pci;
        let trust = &self.owners.trusts[&job.tenant];
        let in_machine = trust.runtime == Runtime::Vm;
        let gpus = || bits(share.gpus).map(|gpu| pci.gpus[usize::from(gpu)]);
        let nics = || bits(share.nics).map(|nic| pci.nics[usize::from(nic)]);
        let opens = |file| Hold::Opens { job: job.clone(), file };
        let (job_name, channel) = (job.clone(), self.keys[job]);
        match dialect {
            Dialect::Vfio if in_machine => gpus()
                .chain(nics())
                .map(|pci| Hold::Driven { pci, driver: "vfio-pci".into() })
                .collect(),
            Dialect::Vfio => {
                gpus().map(|pci| Hold::Driven { pci, driver: "nvidia".into() }).collect()
            }
            Dialect::Nvlink => {
                let place = BOARD.iter().position(|gpus| *gpus == share.gpus);
                vec![Hold::Active { partition: place.unwrap() as u16 }]
            }
            Dialect::Imex => vec![Hold::Channel { job: job_name, channel }],
            Dialect::Devices if in_machine => {
                let gpus = bits(share.gpus).map(|gpu| 10 + gpu);
                let nics = bits(share.nics).map(|nic| 100 + nic);
                let groups = gpus.chain(nics).map(DeviceFile::Group);
                groups.chain(control(&["/dev/vfio/vfio"])).map(opens).collect()
            }
            Dialect::Devices => {
                let gpus = bits(share.gpus).map(|gpu| DeviceFile::Gpu(pci.minor(gpu).unwrap()));
                let nics = bits(share.nics).map(DeviceFile::Verbs);
                let at = &self.fleet.nodes[node.index()];
                let channel = (at.nvlink_domain != at.name).then_some(DeviceFile::Channel(channel));
                let control = control(&["/dev/nvidiactl", "/dev/nvidia-uvm"]);
                gpus.chain(nics).chain(channel).chain(control).map(opens).collect()
            }
            Dialect::Vm if in_machine => {
                let numa: BTreeSet<u16> = bits(share.gpus).map(|gpu| gpu / 4).collect();
                let near = numa.into_iter().map(|numa| Hold::GuestNear { job: job.clone(), numa });
                let has = |pci| Hold::GuestHas { job: job.clone(), pci };
                let guest = Hold::Guest { job: job.clone(), confidential: trust.confidential };
                let has = gpus().chain(nics()).map(has);
                std::iter::once(guest).chain(near).chain(has).collect()
            }
            _ => Vec::new(),
        }
    }

    fn of_manager(&self, dialect: Dialect, part: &Part) -> Vec<Hold> {
        let shares = |job: &JobName| -> Vec<(NodeId, Share)> {
            let nodes = self.owners.shares.iter();
            nodes.filter_map(|(node, jobs)| Some((*node, *jobs.get(job)?))).collect()
        };
        let name = |node: NodeId| self.fleet.nodes[node.index()].name.clone();
        match (dialect, part) {
            (Dialect::Nvlink, Part::Job(job)) => shares(job)
                .into_iter()
                .filter(|(node, _)| self.fleet.nodes[node.index()].nvlink_domain != name(*node))
                .map(|(node, share)| Hold::Linked {
                    partition: self.keys[job],
                    node: name(node),
                    gpus: share.gpus,
                })
                .collect(),
            (Dialect::Pkey, Part::Head) => vec![Hold::EveryMember { pkey: 0x7fff, full: false }],
            (Dialect::Pkey, Part::Job(job)) => shares(job)
                .into_iter()
                .flat_map(|(node, share)| bits(share.nics).map(move |nic| (node, nic)))
                .map(|(node, nic)| Hold::Member {
                    pkey: self.keys[job],
                    guid: self.guid(node, nic),
                    full: true,
                })
                .collect(),
            (Dialect::Slurm, part) => self.of_slurm(part, &shares),
            (Dialect::Kubernetes, part) => self.of_kubernetes(part, &shares),
            _ => Vec::new(),
        }
    }

    pub(crate) fn guid(&self, node: NodeId, nic: u16) -> Guid {
        Guid::of(self.fleet.nodes[node.index()].uplinks[usize::from(nic)].mac)
    }

    fn of_slurm(
        &self,
        part: &Part,
        shares: &dyn Fn(&JobName) -> Vec<(NodeId, Share)>,
    ) -> Vec<Hold> {
        let name = |node: NodeId| self.fleet.nodes[node.index()].name.clone();
        match part {
            Part::Head => [
                Hold::Together {
                    place: "leaf-1".into(),
                    nodes: self.fleet.nodes.iter().map(|node| node.name.clone()).collect(),
                },
                Hold::Together { place: "rack-1".into(), nodes: self.trays() },
                Hold::ConstrainsDevices(true),
                Hold::KeepsLabelsApart(true),
            ]
            .into_iter()
            .chain(self.fleet.nodes.iter().flat_map(|node| {
                let model = &self.fleet.node_models[node.model.index()];
                let product = model.gpu.product.to_ascii_lowercase();
                let says = |fact, value| Hold::SlurmSays { fact, value };
                let gpus = format!("{product}:{}", model.gpus);
                [
                    says(SlurmFact::Gpus(node.name.clone()), gpus.into()),
                    says(SlurmFact::Product(node.name.clone()), product.into()),
                    Hold::Schedulable { node: node.name.clone(), minors: (1 << model.gpus) - 1 },
                ]
            }))
            .collect(),
            Part::Tenant(tenant) => {
                let is_theirs =
                    |jobs: &BTreeMap<JobName, Share>| jobs.keys().any(|job| job.tenant == *tenant);
                let nodes = self.owners.shares.iter().filter(|(_, jobs)| is_theirs(jobs));
                vec![Hold::Partition {
                    partition: tenant.as_str().into(),
                    nodes: nodes.map(|(node, _)| name(*node)).collect(),
                    accounts: vec![tenant.as_str().into()],
                    exclusive: true,
                }]
            }
            Part::Job(job) => {
                let nodes = shares(job);
                let account = job.tenant.as_str().into();
                let mut lines = vec![Hold::Reserved {
                    job: job.clone(),
                    account,
                    nodes: nodes.iter().map(|(node, _)| name(*node)).collect(),
                }];
                lines.extend(nodes.iter().map(|(node, share)| Hold::Allocated {
                    job: job.clone(),
                    node: name(*node),
                    minors:
                        bits(share.gpus).fold(0, |all, gpu| {
                            all | 1 << self.model(*node).pci.minor(gpu).unwrap()
                        }),
                }));
                lines
            }
            Part::Node(_) | Part::Holdings(_) | Part::Whole => Vec::new(),
        }
    }

    fn trays(&self) -> Vec<Name> {
        let trays = self.fleet.nodes.iter().filter(|node| node.nvlink_domain != node.name);
        trays.map(|node| node.name.clone()).collect()
    }

    fn of_kubernetes(
        &self,
        part: &Part,
        shares: &dyn Fn(&JobName) -> Vec<(NodeId, Share)>,
    ) -> Vec<Hold> {
        match part {
            Part::Head => {
                let whose = self.fleet.nodes.iter().flat_map(|node| self.whose(&node.name));
                let all = self.labels().into_iter().chain(self.published());
                all.chain(whose).chain(guards()).collect()
            }
            Part::Tenant(tenant) => {
                let shares = self.owners.shares.values().flatten();
                let shares = shares.filter(|(job, _)| job.tenant == *tenant);
                let runtime = self.owners.trusts[tenant].runtime;
                tenancy(tenant, runtime, shares.map(|(_, share)| share.gpus.count_ones()).sum())
            }
            Part::Job(job) => {
                let trust = &self.owners.trusts[&job.tenant];
                let namespace: Name = job.tenant.as_str().parse().unwrap();
                let mut lines = Vec::new();
                for (node, share) in shares(job) {
                    let name = &self.fleet.nodes[node.index()].name;
                    if trust.runtime == Runtime::Vm {
                        lines.push(Hold::ClusterGuest {
                            namespace: namespace.clone(),
                            job: job.clone(),
                            node: name.clone(),
                            confidential: trust.confidential,
                        });
                    }
                    let model = self.model(node);
                    for gpu in bits(share.gpus) {
                        let minor = model.pci.minor(gpu).unwrap();
                        let request = ClaimRequest { claim: 0, minor };
                        let pci = model.pci.gpus[usize::from(gpu)];
                        let class = class_of(model, trust.runtime);
                        let (job, node) = (job.clone(), name.clone());
                        if trust.runtime == Runtime::Vm {
                            let (job, node) = (job.clone(), node.clone());
                            lines.push(Hold::GuestTakes { job, node, request });
                        }
                        let (gpu, namespace) =
                            (ClaimedGpu::At { pci, class, request }, namespace.clone());
                        lines.push(Hold::Claimed { namespace, job, node, gpu });
                    }
                }
                lines.extend([Direction::Ingress, Direction::Egress].map(|direction| {
                    Hold::LetsJob { namespace: namespace.clone(), job: job.clone(), direction }
                }));
                lines
            }
            Part::Node(_) | Part::Holdings(_) | Part::Whole => Vec::new(),
        }
    }

    /// Whose a node is: tenants and their namespaces are called alike here.
    fn whose(&self, node: &Name) -> Vec<Hold> {
        let shares = self.owners.shares.get(&self.node(node.as_str()));
        let tenants: BTreeSet<Name> = shares
            .into_iter()
            .flat_map(BTreeMap::keys)
            .map(|job| job.tenant.as_str().parse().unwrap())
            .collect();
        let mut all: Vec<Name> = tenants.into_iter().collect();
        let value = match all.as_slice() {
            [] => "nobody".into(),
            [alone] => alone.as_str().into(),
            _ => "shared".into(),
        };
        let admits = |namespace| Hold::Admits { node: node.clone(), namespace };
        let fenced = Hold::Fenced { node: node.clone(), value };
        all.drain(..).map(admits).chain([fenced]).collect()
    }

    fn published(&self) -> Vec<Hold> {
        let of_node = |node: &Node| {
            let (name, pci) = (node.name.clone(), &self.fleet.node_models[node.model.index()].pci);
            let of_gpu = |(gpu, at): (u16, &PciAddress)| Hold::Published {
                node: name.clone(),
                minor: pci.minor(gpu).unwrap(),
                pci: *at,
            };
            (0..).zip(&pci.gpus).map(of_gpu).collect::<Vec<Hold>>()
        };
        self.fleet.nodes.iter().flat_map(of_node).collect()
    }

    fn labels(&self) -> Vec<Hold> {
        let keys = &self.fleet.layers.labels;
        let of_node = |node: &Node| {
            let label = |key: &smol_str::SmolStr, value: &Name| Hold::Label {
                node: node.name.clone(),
                key: key.clone(),
                value: value.as_str().into(),
            };
            [
                label(&"kubernetes.io/hostname".into(), &node.name),
                label(&keys.rack, &node.rack),
                label(&keys.nvlink_domain, &node.nvlink_domain),
                label(&keys.pod, &self.fleet.pods[node.pod.index()].name),
                label(&keys.leaf, &self.fleet.switches[0].name),
            ]
        };
        self.fleet.nodes.iter().flat_map(of_node).collect()
    }

    /// A verifier that has read everything.
    pub(crate) fn verifier(&self) -> Verifier {
        let mut verifier = Verifier::new(Arc::clone(&self.fleet), &self.owners);
        for sheet in &self.sheets {
            self.take(&mut verifier, sheet);
        }
        verifier
    }

    pub(crate) fn take(&self, verifier: &mut Verifier, sheet: &Sheet) {
        let reading = Some(reading(&sheet.lines));
        verifier.take(sheet.device, sheet.dialect, &sheet.part, reading);
    }

    /// Every finding of a layer with the lines that say so.
    pub(crate) fn show(&self, findings: &[Finding]) -> String {
        let mut told = String::new();
        for finding in findings {
            told += &format!("{}: {}\n", finding.code(), finding.sentence(&self.fleet));
            for said in &finding.present {
                told += &format!("  {}\n", self.quote(said));
            }
            for line in &finding.missing {
                told += &format!("  {}\n", line.show(&self.fleet));
            }
        }
        told
    }

    pub(crate) fn quote(&self, said: &Said) -> String {
        let is_it = |sheet: &&Sheet| {
            (sheet.device, sheet.dialect, &sheet.part) == (said.device, said.dialect, &said.part)
        };
        let sheet = self.sheets.iter().find(is_it).unwrap();
        let line = &sheet.lines[said.line as usize - 1];
        let device = self.fleet.device_name(said.device);
        format!("{device} {} ({}:{}): {line}", said.dialect, said.part, said.line)
    }
}

/// What a reader makes of these lines.
pub(crate) fn reading(lines: &[Hold]) -> Reading {
    let claims = (1..).zip(lines.iter().cloned());
    let claims = claims.map(|(line, hold)| Claim { line, fact: Fact::Holds(hold) }).collect();
    Reading { claims, ..Reading::default() }
}

pub(crate) fn bits(mask: u64) -> impl Iterator<Item = u16> {
    (0..64).filter(move |bit| mask >> bit & 1 == 1)
}

fn class_of(model: &NodeModel, runtime: Runtime) -> GpuClass {
    match runtime {
        _ if model.gpu.is_amd() => GpuClass::Amd,
        Runtime::Container => GpuClass::Nvidia,
        Runtime::Vm => GpuClass::NvidiaVfio,
    }
}

fn control(files: &'static [&str]) -> impl Iterator<Item = DeviceFile> {
    files.iter().map(|file| DeviceFile::Control((*file).into()))
}

fn functions(model: &NodeModel) -> Vec<Hold> {
    let gpus = (0..).zip(&model.pci.gpus).map(|(gpu, pci)| Hold::Function {
        pci: *pci,
        what: Function::Gpu(gpu),
        group: model.gpu_groups[usize::from(gpu)],
        numa: model.gpu_numa[usize::from(gpu)],
    });
    let nics = (0..).zip(&model.pci.nics).map(|(nic, pci)| Hold::Function {
        pci: *pci,
        what: Function::Nic(nic),
        group: model.nics[usize::from(nic)].iommu_group,
        numa: model.nics[usize::from(nic)].numa,
    });
    gpus.chain(nics).collect()
}

fn guards() -> impl Iterator<Item = Hold> {
    let guards = GUARDS.iter().flat_map(|guard| {
        let policy = || guard.name.into();
        [Hold::Refuses { policy: policy() }, Hold::Enforced { policy: policy() }]
    });
    guards.chain(MEMBER_ROLES.iter().map(|role| Hold::Allows { role: role.name.into() }))
}

fn tenancy(tenant: &TenantName, runtime: Runtime, gpus: u32) -> Vec<Hold> {
    let namespace: Name = tenant.as_str().parse().unwrap();
    let ns = || namespace.clone();
    let quota = |of: &str, gpus| Hold::GpuQuota { namespace: ns(), of: of.into(), gpus };
    vec![
        Hold::Namespace { namespace: ns(), tenant: tenant.clone() },
        Hold::DeniesByDefault { namespace: ns(), direction: Direction::Ingress },
        Hold::DeniesByDefault { namespace: ns(), direction: Direction::Egress },
        Hold::Governed { namespace: ns(), runtime },
        Hold::Meshed { namespace: ns() },
        Hold::Lets { namespace: ns(), direction: Direction::Egress, peer: Peer::Resolver },
        Hold::StrictTls { namespace: ns(), strict: true },
        Hold::MeshLets { namespace: ns(), callers: vec![ns()] },
        quota(GPU_QUOTAS[0], if runtime == Runtime::Container { gpus } else { 0 }),
        quota(GPU_QUOTAS[1], if runtime == Runtime::Vm { gpus } else { 0 }),
        quota(GPU_QUOTAS[2], 0),
        quota(GPU_QUOTAS[3], 0),
        quota(GPU_QUOTAS[4], 0),
        Hold::StorageQuota {
            namespace: ns(),
            class: tenant.as_str().into(),
            bytes: u64::from(gpus) << 40,
        },
        Hold::Bounded { namespace: ns() },
        Hold::Restricted { namespace: ns(), restricted: true },
        Hold::Role {
            namespace: Some(ns()),
            group: format!("{tenant}-people").into(),
            role: role_of(runtime).name.into(),
        },
        Hold::Volumes { class: tenant.as_str().into(), tenant: tenant.clone() },
        Hold::ControlPlane { tenant: tenant.clone(), namespace: ns(), kind: "kamaji".into() },
    ]
}

fn fleet(boards: usize, trays: usize) -> Fleet {
    use Dialect::{
        Devices, Imex, Kubernetes, Mig, Nvlink, Pkey, Slurm, Versions as Runs, Vfio, Vm,
    };
    let name = |text: &str| -> Name { text.parse().unwrap() };
    let mut nodes = Vec::new();
    for (count, model, prefix) in [(boards, 0, "n"), (trays, 1, "t")] {
        for number in 1..=count {
            let own = name(&format!("{prefix}{number}"));
            let nics: u8 = if model == 0 { 8 } else { 4 };
            let place = nodes.len() as u8;
            nodes.push(Node {
                nvlink_domain: if model == 0 { own.clone() } else { name("rack-1") },
                name: own,
                pod: PodId(0),
                rack: name("rack-1"),
                model: NodeModelId(model),
                versions: versions(),
                health: Health::Good,
                enforcement: Enforcement::Leaf,
                vtep: None,
                uplinks: (0..nics).map(|nic| uplink(place, nic)).collect(),
            });
        }
    }
    let manager = |text: &str, kind| Manager { name: name(text), kind };
    Fleet {
        name: "boards".into(),
        target_asn: 65000,
        sites: vec![Site { name: name("s"), jurisdiction: "NL".into(), kind: SiteKind::Core }],
        pods: vec![Pod { name: name("p"), site: SiteId(0) }],
        node_models: vec![node_model("board", 8), node_model("tray", 4)],
        nodes,
        switches: vec![Switch {
            name: name("leaf-1"),
            site: SiteId(0),
            pod: Some(PodId(0)),
            role: SwitchRole::Leaf,
            dialect: SwitchDialect::Nxos,
            vtep: Vtep { address: Ipv4Addr::new(10, 255, 0, 1), asn: Asn(65001) },
        }],
        layers: Layers {
            dialects: vec![Vfio, Runs, Mig, Nvlink, Imex, Pkey, Devices, Vm, Slurm, Kubernetes],
            ..Layers::default()
        },
        managers: vec![
            manager("nvlink-rack-1", ManagerKind::Nvlink(name("rack-1"))),
            manager("subnet-p", ManagerKind::Subnet(PodId(0))),
            manager("slurm", ManagerKind::Slurm),
            manager("kubernetes", ManagerKind::Kubernetes),
        ],
        ..Fleet::default()
    }
}

fn versions() -> Versions {
    Versions {
        driver: "550.90.07".into(),
        kernel: "6.8.0".into(),
        secure_boot: true,
        ..Versions::default()
    }
}

fn uplink(node: u8, nic: u8) -> Uplink {
    let number = u16::from(node) * 8 + u16::from(nic) + 1;
    Uplink {
        leaf: SwitchId(0),
        port: Port::Ethernet(number),
        mac: Mac([2, 0, 0, 0, node, nic]),
        leaf_address: None,
    }
}

fn node_model(text: &str, gpus: u16) -> NodeModel {
    // The modules of a published board are not in the order of their addresses.
    let buses: [u8; 8] = [0x86, 0xb8, 0x87, 0xbb, 0x0f, 0x41, 0x10, 0x44];
    let at = |bus: u8| PciAddress { domain: 0, bus, devfn: 0 };
    let count = usize::from(gpus);
    NodeModel {
        name: text.parse().unwrap(),
        gpu: GpuModel { product: "H100-80GB".into(), board: "HGX-H100/H200-8GPU".into() },
        gpus,
        partitions: None,
        gpu_groups: (0..gpus).map(|gpu| 10 + gpu).collect(),
        gpu_numa: (0..gpus).map(|gpu| gpu / 4).collect(),
        nics: (0..gpus)
            .map(|nic| Nic { rate_bps: 1, vfs: 0, numa: nic / 4, iommu_group: 100 + nic })
            .collect(),
        pci: PciLayout {
            gpus: buses[..count].iter().map(|bus| at(*bus)).collect(),
            nics: (0..gpus as u8).map(|nic| at(0x20 + nic)).collect(),
        },
        versions: versions(),
    }
}
