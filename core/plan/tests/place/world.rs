//! Small random fleets, and tenants of all kinds on them.

use std::collections::BTreeMap;
use std::fmt;
use std::net::Ipv4Addr;
use std::sync::Arc;

use model::{
    Apart, ApartLevel, Asn, Enforcement, Fleet, GpuModel, Grade, Health, Nic, Node, NodeModel,
    NodeModelId, Pod, PodId, Port, Quotas, Site, SiteId, SiteKind, Switch, SwitchDialect, SwitchId,
    SwitchRole, Tenant, TenantName, Uplink, VersionPolicy, Versions, Vtep,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use wire::Mac;

/// A fleet and who may use it.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) fleet: Arc<Fleet>,
    pub(crate) tenants: BTreeMap<TenantName, Tenant>,
}

/// A line for each node and each tenant, which is what one wants to see of a failure.
impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f)?;
        for node in &self.fleet.nodes {
            let (pod, leaf) = (&self.fleet.pods[node.pod.index()].name, node.uplinks[0].leaf.0);
            let product = &self.fleet.node_models[node.model.index()].gpu.product;
            let Versions { driver, secure_boot, .. } = &node.versions;
            writeln!(
                f,
                "{} in {pod} below leaf {leaf}, {} of {product}, {driver} {secure_boot}",
                node.name, node.nvlink_domain
            )?;
        }
        for tenant in self.tenants.values() {
            let Tenant { name, grade, quota_gpus, quotas, apart, versions, jurisdictions, .. } =
                tenant;
            writeln!(
                f,
                "{name} {grade}, {quota_gpus:?} {quotas:?}, {apart:?}, {versions:?} {jurisdictions:?}"
            )?;
        }
        Ok(())
    }
}

/// Parents come before their children, as in any sorted list.
pub(crate) const TENANTS: [&str; 9] =
    ["ant", "bee", "bee/one", "bee/two", "cat", "cat/one", "dog", "elk", "fox"];

/// The pods and their sites: two under one law, one at the edge under another.
pub(crate) const PODS: [(&str, u32); 3] = [("near", 0), ("far", 0), ("edge", 1)];

/// What the job of a test may ask for by name.
pub(crate) const PRODUCTS: [&str; 4] = ["H100-80GB", "B200-180GB", "GB200-186GB", "A100-80GB"];

const DRIVERS: [&str; 3] = ["550.54.15", "570.133.20", "580.65.06"];

/// Trays in one NVLink domain.
const TRAYS: usize = 3;

/// Two to six leaves, each with one or two kinds of nodes below it.
pub(crate) fn world() -> impl Strategy<Value = World> {
    let below = vec((0..PRODUCTS.len(), 1_usize..=5), 1..=2);
    let leaves = vec((0..PODS.len(), below), 2..=6);
    let software = vec((0..DRIVERS.len(), any::<bool>()), 1..=3);
    let fleet = (leaves, software).prop_map(|(leaves, software)| fleet(leaves, &software));
    (fleet, vec(wish(), TENANTS.len()))
        .prop_map(|(fleet, wishes)| World { fleet: Arc::new(fleet), tenants: tenants(&wishes) })
}

type Below = Vec<(usize, usize)>;

fn fleet(mut leaves: Vec<(usize, Below)>, software: &[(usize, bool)]) -> Fleet {
    leaves.sort_by_key(|(pod, _)| *pod);
    let site =
        |text: &str, law: &str, kind| Site { name: name(text), jurisdiction: law.into(), kind };
    let mut fleet = Fleet {
        name: "small".into(),
        target_asn: 65_000,
        sites: vec![site("ams", "NL", SiteKind::Core), site("zrh", "CH", SiteKind::Edge)],
        pods: PODS.map(|(pod, site)| Pod { name: name(pod), site: SiteId(site) }).to_vec(),
        node_models: models(),
        ..Fleet::default()
    };
    for (pod, below) in leaves {
        let leaf = SwitchId(fleet.switches.len() as u32);
        fleet.switches.push(switch(leaf, pod as u32));
        for (kind, count) in below {
            let rack = fleet.nodes.len();
            for place in 0..count {
                let (driver, secure_boot) = software[fleet.nodes.len() % software.len()];
                let versions =
                    Versions { driver: DRIVERS[driver].into(), secure_boot, ..Versions::default() };
                let domain = (kind == 2).then(|| format!("rack{}", rack + place / TRAYS));
                let node = node(&fleet, leaf, kind as u32, domain, versions);
                fleet.nodes.push(node);
            }
        }
    }
    fleet
}

/// One kind for each product. The interfaces of the last serve two GPUs each, and two of its
/// GPUs that have different interfaces are in one IOMMU group.
fn models() -> Vec<NodeModel> {
    let model = |product: &str, board: &str, gpus: u16, nics: u16| NodeModel {
        name: name(&format!("m{gpus}-{nics}-{}", product.len())),
        gpu: GpuModel { product: product.into(), board: board.into() },
        gpus,
        partitions: None,
        gpu_groups: (nics..nics + gpus).collect(),
        gpu_numa: vec![0; usize::from(gpus)],
        nics: (0..nics)
            .map(|nic| Nic { rate_bps: 400_000_000_000, vfs: 16, numa: 0, iommu_group: nic })
            .collect(),
        pci: model::PciLayout::default(),
        versions: Versions::default(),
    };
    let mut crowded = model(PRODUCTS[3], "PCIe", 8, 4);
    crowded.gpu_groups[1] = crowded.gpu_groups[2];
    vec![
        model(PRODUCTS[0], "HGX-H100/H200-8GPU", 8, 8),
        model(PRODUCTS[1], "HGX-B200-8GPU", 8, 8),
        model(PRODUCTS[2], "GB200-NVL72", 4, 4),
        crowded,
    ]
}

fn switch(leaf: SwitchId, pod: u32) -> Switch {
    Switch {
        name: name(&format!("leaf{}", leaf.0)),
        site: SiteId(PODS[pod as usize].1),
        pod: Some(PodId(pod)),
        role: SwitchRole::Leaf,
        dialect: SwitchDialect::Frr,
        vtep: Vtep { address: Ipv4Addr::from_bits(0x0aff_0000 + leaf.0), asn: Asn(65_100) },
    }
}

fn node(
    fleet: &Fleet,
    leaf: SwitchId,
    kind: u32,
    domain: Option<String>,
    versions: Versions,
) -> Node {
    let number = fleet.nodes.len();
    let own = format!("n{number}");
    let uplink = |nic: usize| Uplink {
        leaf,
        port: Port::Swp((number * 8 + nic) as u16),
        mac: Mac([2, 0, 0, 0, number as u8, nic as u8]),
        leaf_address: None,
    };
    Node {
        name: name(&own),
        pod: fleet.switches[leaf.index()].pod.unwrap(),
        rack: name("rack"),
        model: NodeModelId(kind),
        nvlink_domain: name(domain.as_deref().unwrap_or(&own)),
        versions,
        health: Health::Good,
        enforcement: Enforcement::Leaf,
        vtep: None,
        uplinks: (0..fleet.node_models[kind as usize].nics.len()).map(uplink).collect(),
    }
}

/// What is random about a tenant.
#[derive(Clone, Debug)]
struct Wish {
    grade: Grade,
    quota: Option<u32>,
    quotas: Quotas,
    apart: Option<(usize, ApartLevel)>,
    driver: Option<usize>,
    secure_boot: bool,
    law: Option<&'static str>,
}

fn wish() -> impl Strategy<Value = Wish> {
    let few = || option::weighted(0.15, 0_u32..64);
    let quotas = (option::weighted(0.3, 0_u32..24), few(), few());
    let level = proptest::sample::select(ApartLevel::ALL.to_vec());
    let apart = option::weighted(0.2, (0..TENANTS.len(), level));
    let driver = option::weighted(0.3, 0..DRIVERS.len());
    let law = option::weighted(0.1, proptest::sample::select(vec!["NL", "CH"]));
    let grade = proptest::sample::select(Grade::ALL.to_vec());
    let boot = proptest::bool::weighted(0.2);
    (grade, few(), quotas, apart, driver, boot, law).prop_map(
        |(grade, quota, (reserved, on_demand, preemptible), apart, driver, secure_boot, law)| {
            Wish {
                grade,
                quota,
                quotas: Quotas { reserved, on_demand, preemptible },
                apart,
                driver,
                secure_boot,
                law,
            }
        },
    )
}

/// Tenants as documents make them: what is said above holds below and is only made stricter.
fn tenants(wishes: &[Wish]) -> BTreeMap<TenantName, Tenant> {
    let mut tenants: BTreeMap<TenantName, Tenant> = BTreeMap::new();
    for (text, wish) in TENANTS.iter().zip(wishes) {
        let name: TenantName = text.parse().unwrap();
        let above = name.parent().map(|parent| tenants[&parent].clone());
        tenants.insert(name.clone(), tenant(name, wish, above.as_ref()));
    }
    tenants
}

fn tenant(name: TenantName, wish: &Wish, above: Option<&Tenant>) -> Tenant {
    let cap = |own: Option<u32>, of: fn(&Tenant) -> Option<u32>| {
        let above = above.and_then(of);
        own.map(|own| own.min(above.unwrap_or(own))).or(above)
    };
    // Below a tenant without a reservation nobody has one.
    let buys = above.is_none_or(|above| above.quotas.reserved.is_some());
    let mut apart = above.map_or(Vec::new(), |above| above.apart.clone());
    apart.extend(wish.apart.map(|(other, level)| {
        let from = TENANTS[other].parse().unwrap();
        Apart { from, level }
    }));
    // Nobody keeps away from itself or from those above it.
    apart.retain(|apart| !name.lineage().any(|own| own == apart.from));
    let mut versions = above.map_or(VersionPolicy::default(), |above| above.versions.clone());
    versions.secure_boot |= wish.secure_boot;
    if let Some(driver) = wish.driver {
        versions.at_least.insert("driver".into(), DRIVERS[driver].into());
    }
    let law = above.map_or(Vec::new(), |above| above.jurisdictions.clone());
    Tenant {
        grade: above.map_or(wish.grade, |above| above.grade.min(wish.grade)),
        pools: Vec::new(),
        guarantee: None,
        ceiling: None,
        quota_gpus: cap(wish.quota, |above| above.quota_gpus),
        quotas: Quotas {
            reserved: cap(wish.quotas.reserved.filter(|_| buys), |above| above.quotas.reserved),
            on_demand: cap(wish.quotas.on_demand, |above| above.quotas.on_demand),
            preemptible: cap(wish.quotas.preemptible, |above| above.quotas.preemptible),
        },
        apart,
        versions,
        jurisdictions: if law.is_empty() {
            wish.law.iter().map(|&law| law.into()).collect()
        } else {
            law
        },
        groups: Vec::new(),
        confidential: None,
        attestation: None,
        name,
    }
}

pub(crate) fn name(text: &str) -> model::Name {
    text.parse().unwrap()
}
