//! A small world to plan in, and a language to tell stories about it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::Ipv4Addr;
use std::sync::Arc;

use intent::Intent;
use model::{
    Asn, Consent, Enforcement, Evidence, Fleet, Generation, GpuModel, Health, Job, Link, LinkEnd,
    Name, Nic, NicRef, Node, NodeId, NodeModel, NodeModelId, Permit, Pod, PodId, Port, Rate,
    Service, Side, Site, SiteId, SiteKind, Switch, SwitchDialect, SwitchId, SwitchRole, Tenant,
    TrafficClass, Uplink, VersionPolicy, Versions, Vtep, Want,
};
use wire::Mac;

use crate::number::Bounds;
use crate::{Choice, Ledger, PlanRefusal, Planner, diff, view};

/// Everything a story can change.
pub(super) struct World {
    pub(super) intent: Intent,
    pub(super) bounds: Bounds,
    pub(super) ledger: Ledger,
    pub(super) records: Vec<Choice>,
    pub(super) told: String,
}

/// Two pods under two laws. Pod `p1` (NL) has leaf-1 (NX-OS) with n1 and n2, and leaf-2 (Linux)
/// with n3 and n4. Pod `p2` (CH) has leaf-3 (Linux) with n5 and n6, and leaf-4 (Linux) with n7,
/// judged on the host, and n8, judged on its DPU. Every node has two GPUs and two interfaces.
pub(super) fn fleet() -> Fleet {
    let name = |text: &str| text.parse().unwrap();
    let site = |text: &str, law: &str| Site {
        name: name(text),
        jurisdiction: law.into(),
        kind: SiteKind::Core,
    };
    let pod = |text: &str, site| Pod { name: name(text), site: SiteId(site) };
    let switches = (1..=4).map(|number: u32| Switch {
        name: name(&format!("leaf-{number}")),
        site: SiteId((number - 1) / 2),
        pod: Some(PodId((number - 1) / 2)),
        role: SwitchRole::Leaf,
        dialect: if number == 1 { SwitchDialect::Nxos } else { SwitchDialect::Frr },
        vtep: vtep(number),
    });
    Fleet {
        name: "small".into(),
        target_asn: 65_000,
        sites: vec![site("ams", "NL"), site("zrh", "CH")],
        pods: vec![pod("p1", 0), pod("p2", 1)],
        node_models: vec![model()],
        nodes: (1..=8).map(node).collect(),
        switches: switches.collect(),
        links: Vec::new(),
        ..Fleet::default()
    }
}

fn vtep(number: u32) -> Vtep {
    Vtep { address: Ipv4Addr::from_bits(0x0aff_0000 + number), asn: Asn(4_200_000_000 + number) }
}

fn model() -> NodeModel {
    NodeModel {
        name: "two".parse().unwrap(),
        gpu: GpuModel { product: "H100-80GB".into(), board: "none".into() },
        gpus: 2,
        partitions: None,
        gpu_groups: vec![2, 3],
        gpu_numa: vec![0, 1],
        nics: (0..2)
            .map(|nic| Nic { rate_bps: 400_000_000_000, vfs: 8, numa: nic, iommu_group: nic })
            .collect(),
        pci: model::PciLayout::default(),
        versions: Versions::default(),
    }
}

fn node(number: u32) -> Node {
    let leaf = (number - 1) / 2;
    let port = |nic: u32| (number - 1) % 2 * 2 + nic + 1;
    let enforcement = match number {
        7 => Enforcement::Host,
        8 => Enforcement::Dpu,
        _ => Enforcement::Leaf,
    };
    Node {
        name: format!("n{number}").parse().unwrap(),
        pod: PodId(leaf / 2),
        rack: format!("r{leaf}").parse().unwrap(),
        model: NodeModelId(0),
        nvlink_domain: format!("n{number}").parse().unwrap(),
        versions: Versions { driver: "550.54.15".into(), secure_boot: true, ..Versions::default() },
        health: Health::Good,
        enforcement,
        vtep: (enforcement != Enforcement::Leaf).then(|| vtep(100 + number)),
        uplinks: (0..2)
            .map(|nic| Uplink {
                leaf: SwitchId(leaf),
                port: match leaf {
                    0 => Port::Ethernet(port(nic) as u16),
                    _ => Port::Swp(port(nic) as u16),
                },
                mac: Mac([2, 0, 0, 0, number as u8, nic as u8]),
                leaf_address: None,
            })
            .collect(),
    }
}

impl World {
    pub(super) fn new() -> Self {
        Self {
            intent: Intent {
                fleet: Arc::new(fleet()),
                tenants: BTreeMap::new(),
                jobs: BTreeMap::new(),
                consents: Vec::new(),
                pending: Vec::new(),
                waivers: Vec::new(),
            },
            bounds: Bounds::default(),
            ledger: Ledger::default(),
            records: Vec::new(),
            told: String::new(),
        }
    }

    /// Does what a story says, line by line. Only `plan`, `show`, `report` and `log` tell.
    pub(super) fn tell(&mut self, story: &str) {
        for line in story.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let words: Vec<&str> = line.split_whitespace().collect();
            match words.as_slice() {
                ["tenant", name, rest @ ..] => self.tenant(name, rest),
                ["job", name, rest @ ..] => self.job(name, rest),
                ["delete", name] => drop(self.intent.jobs.remove(&name.parse().unwrap())),
                ["consent", client, provider, port] => self.consent(client, provider, port),
                ["pending", job, peer, port] => self.pending(job, peer, port),
                ["node", name, rest @ ..] => self.node(name, rest),
                ["bound", what, number] => self.bound(what, number.parse().unwrap()),
                ["uplinks", rate] => self.uplinks(rate.parse().unwrap()),
                ["scrub", memories @ ..] => {
                    let memories = memories.iter().map(|memory| memory.parse().unwrap());
                    Arc::make_mut(&mut self.intent.fleet).scrub = memories.collect();
                }
                ["scrubbed", node, job, memories @ ..] => {
                    self.write_down(scrubbed(&name(node), &job.parse().unwrap(), memories));
                }
                ["seen", device, generation] => self.seen(device, generation.parse().unwrap()),
                ["plan"] => self.plan(),
                ["show"] => self.show(),
                ["report"] => self.report(),
                ["log"] => self.log(),
                _ => panic!("no such line in a story: {line}"),
            }
        }
    }

    /// Joins the leaves by cables, and the nodes that are tunnel endpoints to theirs.
    fn uplinks(&mut self, rate: Rate) {
        let fleet = Arc::make_mut(&mut self.intent.fleet);
        let end = |switch| LinkEnd {
            switch: SwitchId(switch),
            port: Port::Swp(48),
            address: Ipv4Addr::from_bits(0x0afe_0000 + switch),
        };
        fleet.uplink_rate = Some(rate);
        fleet.links = vec![Link { a: end(0), b: end(1) }, Link { a: end(2), b: end(3) }];
        for node in fleet.nodes.iter_mut().filter(|node| node.vtep.is_some()) {
            for uplink in &mut node.uplinks {
                uplink.leaf_address = Some(Ipv4Addr::from_bits(0x0afd_0000));
            }
        }
    }

    fn tenant(&mut self, name: &str, rest: &[&str]) {
        let mut tenant = tenant(name);
        for pair in rest.chunks(2) {
            match pair {
                ["grade", grade] => tenant.grade = grade.parse().unwrap(),
                ["pool", pool] => tenant.pools = vec![pool.parse().unwrap()],
                ["guarantee", rate] => tenant.guarantee = Some(rate.parse().unwrap()),
                ["quota", quota] => tenant.quota_gpus = Some(quota.parse().unwrap()),
                ["law", law] => tenant.jurisdictions = vec![(*law).into()],
                ["boot", "secure"] => tenant.versions.secure_boot = true,
                ["driver", least] => {
                    let at_least = &mut tenant.versions.at_least;
                    at_least.insert("driver".into(), (*least).into());
                }
                _ => panic!("no such word about a tenant: {pair:?}"),
            }
        }
        self.intent.tenants.insert(tenant.name.clone(), tenant);
    }

    fn job(&mut self, name: &str, rest: &[&str]) {
        let mut job = job(name, Want::Endpoints(Vec::new()));
        for pair in rest.chunks(2) {
            match pair {
                ["gpus", gpus] => job.want = Want::Gpus(gpus.parse().unwrap()),
                ["on", nics] => job.want = Want::Endpoints(self.nics(nics)),
                ["pod", pod] => job.pod = Some(pod.parse().unwrap()),
                ["class", class] => job.class = class.parse().unwrap(),
                ["ceiling", rate] => job.ceiling = Some(rate.parse().unwrap()),
                _ => panic!("no such word about a job: {pair:?}"),
            }
        }
        self.intent.jobs.insert(job.name.clone(), job);
    }

    /// `n1/0,n2/1`
    fn nics(&self, text: &str) -> Vec<NicRef> {
        let nodes = &self.intent.fleet.nodes;
        text.split(',')
            .map(|nic| {
                let (name, nic) = nic.split_once('/').unwrap();
                let node = nodes.iter().position(|node| node.name.as_str() == name);
                NicRef { node: NodeId(node.unwrap() as u32), nic: nic.parse().unwrap() }
            })
            .collect()
    }

    fn consent(&mut self, client: &str, provider: &str, port: &str) {
        let consent = Consent {
            client: client.parse().unwrap(),
            provider: provider.parse().unwrap(),
            service: service(port),
        };
        match self.intent.consents.iter().position(|one| *one == consent) {
            Some(at) => drop(self.intent.consents.remove(at)),
            None => self.intent.consents.push(consent),
        }
    }

    fn pending(&mut self, job: &str, peer: &str, port: &str) {
        let job: model::JobName = job.parse().unwrap();
        self.intent.pending.push(Permit {
            name: "lonely".parse().unwrap(),
            tenant: job.tenant,
            job: job.name,
            side: Side::Client,
            peer: peer.parse().unwrap(),
            service: service(port),
        });
    }

    fn node(&mut self, name: &str, rest: &[&str]) {
        let fleet = Arc::make_mut(&mut self.intent.fleet);
        let at = fleet.nodes.iter().position(|node| node.name.as_str() == name);
        let node = &mut fleet.nodes[at.unwrap()];
        match rest {
            ["failed"] => node.health = Health::Failed,
            ["draining"] => node.health = Health::Draining,
            ["unsafe"] => node.versions.secure_boot = false,
            ["driver", driver] => node.versions.driver = (*driver).into(),
            ["called", name] => node.name = name.parse().unwrap(),
            ["behind", leaf] => {
                let leaf = SwitchId(leaf.parse::<u32>().unwrap() - 1);
                node.uplinks.iter_mut().for_each(|uplink| uplink.leaf = leaf);
            }
            _ => panic!("no such word about a node: {rest:?}"),
        }
    }

    fn bound(&mut self, what: &str, number: u16) {
        match what {
            "tags" => self.bounds.tags = vec![16..=15 + number],
            "numbers" => self.bounds.tenant_numbers = 1..=number,
            "vlans" => self.bounds.vlans = 2..=1 + number,
            "selectors" => self.bounds.selectors = u32::from(number),
            _ => panic!("no such bound: {what}"),
        }
    }

    fn seen(&mut self, device: &str, generation: u64) {
        let record =
            Choice::Seen { device: device.parse().unwrap(), generation: Generation(generation) };
        self.write_down(record);
    }

    pub(super) fn write_down(&mut self, record: Choice) {
        // What is written must be what is read.
        let line = serde_json::to_string(&record).unwrap();
        assert_eq!(serde_json::from_str::<Choice>(&line).unwrap(), record);
        self.ledger.apply(&record).unwrap();
        self.records.push(record);
    }

    pub(super) fn planner(&self) -> Result<Planner, Vec<PlanRefusal>> {
        Planner::within(self.bounds.clone(), &self.intent, &self.ledger)
    }

    fn plan(&mut self) {
        match self.planner() {
            Ok(planner) => {
                let before = self.ledger.clone();
                let next = planner.into_next();
                let generation = next.plan.generation;
                let diff = diff(&before, &next.plan);
                write!(self.told, "generation {generation}\n{diff}").unwrap();
                next.records.into_iter().for_each(|record| self.write_down(record));
                assert_eq!(Ledger::replay(&self.records).unwrap(), self.ledger);
            }
            Err(refusals) => {
                for refusal in refusals {
                    writeln!(self.told, "{}: {refusal}", refusal.code()).unwrap();
                    writeln!(self.told, "  remedy: {}", refusal.remedy()).unwrap();
                }
            }
        }
    }

    fn show(&mut self) {
        let planner = self.planner().unwrap();
        let view = serde_json::to_string_pretty(&view(planner.plan())).unwrap();
        writeln!(self.told, "{view}").unwrap();
    }

    fn report(&mut self) {
        let report = self.planner().unwrap().report();
        write!(self.told, "{report}").unwrap();
    }

    fn log(&mut self) {
        for record in &self.records {
            writeln!(self.told, "{}", serde_json::to_string(record).unwrap()).unwrap();
        }
    }
}

/// That these memories of a node were scrubbed after a job.
pub(super) fn scrubbed(node: &Name, job: &model::JobName, memories: &[&str]) -> Choice {
    let evidence = memories.iter().map(|memory| Evidence {
        memory: memory.parse().unwrap(),
        method: "overwritten".into(),
        read_back: "all of it".into(),
        by: node.clone(),
        at: "2026-11-16T09:00:00Z".into(),
    });
    Choice::Scrubbed { node: node.clone(), job: job.clone(), evidence: evidence.collect() }
}

fn name(text: &str) -> Name {
    text.parse().unwrap()
}

pub(super) fn tenant(name: &str) -> Tenant {
    Tenant {
        name: name.parse().unwrap(),
        grade: model::Grade::Node,
        pools: vec!["10.0.0.0/24".parse().unwrap()],
        guarantee: None,
        ceiling: None,
        quota_gpus: None,
        quotas: model::Quotas::default(),
        apart: Vec::new(),
        versions: VersionPolicy::default(),
        jurisdictions: Vec::new(),
        groups: Vec::new(),
        confidential: None,
        attestation: None,
    }
}

pub(super) fn job(name: &str, want: Want) -> Job {
    Job {
        name: name.parse().unwrap(),
        want,
        class: TrafficClass::default(),
        ceiling: None,
        pod: None,
        terms: model::Terms::default(),
    }
}

fn service(port: &str) -> Service {
    Service { protocol: model::Protocol::Tcp, port: port.parse().unwrap() }
}
