//! A large fleet with many tenants who want everything kept apart, and what they ask for.

use std::collections::BTreeMap;
use std::sync::Arc;

use intent::Source;
use intent::generate::{self, Wish};
use model::{
    Apart, ApartLevel, Capacity, Fleet, Grade, Job, Node, Quotas, Tenant, TenantName, Terms,
    TrafficClass, VersionPolicy, Want,
};
use smol_str::SmolStr;

/// Where gangs are placed.
pub(crate) struct Town {
    pub(crate) fleet: Arc<Fleet>,
    pub(crate) tenants: BTreeMap<TenantName, Tenant>,
    pub(crate) gpus: u32,
    names: Vec<TenantName>,
}

/// Every root has this many tenants below it.
const TEAMS: usize = 4;

const GPUS: u32 = 102_400;
const TENANTS: usize = 500;

/// Drivers that a third of the nodes have each, oldest first.
const DRIVERS: [&str; 3] = ["570.133.20", "575.57.08", "580.65.06"];

/// The product of NVL72 trays.
pub(crate) const TRAY: &str = "GB200-186GB";

impl Town {
    pub(crate) fn new(nvl72_percent: u32) -> Self {
        let wish =
            Wish { gpus: GPUS, nvl72_percent, sites: 2, pod_gpus: Some(25_600), ..Wish::default() };
        let text = generate::fleet(&wish);
        let intent = intent::load(&[Source { file: "generated.yaml", text: &text }]);
        let intent =
            intent.unwrap_or_else(|refusals| panic!("the generator is wrong: {}", refusals[0]));
        let mut fleet = Arc::unwrap_or_clone(intent.fleet);
        for (place, node) in fleet.nodes.iter_mut().enumerate() {
            // Racks are upgraded as a whole.
            node.versions.driver = DRIVERS[place / 4 % DRIVERS.len()].into();
            node.versions.secure_boot = place / 4 % 10 != 0;
        }
        let tenants: Vec<Tenant> = (0..TENANTS).map(tenant).collect();
        let names = tenants.iter().map(|tenant| tenant.name.clone()).collect();
        let tenants = tenants.into_iter().map(|tenant| (tenant.name.clone(), tenant)).collect();
        let each = |node: &Node| u32::from(fleet.node_models[node.model.index()].gpus);
        let gpus = fleet.nodes.iter().map(each).sum();
        Self { fleet: Arc::new(fleet), tenants, gpus, names }
    }

    /// Half of all name what they need, each product as often as there is of it.
    fn product(&self, gpus: u32, chance: &mut Chance) -> Option<&'static str> {
        let has_racks = self.fleet.node_models.iter().any(|model| model.gpu.product == TRAY);
        match chance.below(20) {
            0..=2 if has_racks && gpus >= 8 => Some(TRAY),
            0..=5 => Some("H100-80GB"),
            6..=9 => Some("B200-180GB"),
            _ => None,
        }
    }

    /// The next thing that somebody asks for.
    pub(crate) fn job(&self, number: u64, chance: &mut Chance) -> Job {
        let gpus = chance.pick(&SIZES);
        let tenant = loop {
            let name = &self.names[chance.below(self.names.len())];
            let tenant = &self.tenants[name];
            // Who wants a leaf alone has work for it, and who shares no host wants whole ones.
            let least = match tenant.grade {
                Grade::Domain => 256,
                Grade::Node => 8,
                _ => 1,
            };
            if gpus >= least {
                break tenant;
            }
        };
        let capacity = match chance.below(10) {
            0 => Capacity::Preemptible,
            1..=3 if tenant.quotas.reserved.is_some() => Capacity::Reserved,
            _ => Capacity::OnDemand,
        };
        let product = self.product(gpus, chance);
        let terms = Terms {
            // 16 of the 18 trays of a rack, so that two may fail.
            segment: (product == Some(TRAY) && gpus.is_multiple_of(64)).then_some(16),
            product: product.map(SmolStr::new_static),
            capacity,
            ..Terms::default()
        };
        Job {
            name: model::JobName { tenant: tenant.name.clone(), name: job_name(number) },
            want: Want::Gpus(gpus),
            class: TrafficClass::default(),
            ceiling: None,
            pod: None,
            terms,
        }
    }
}

/// How many GPUs a gang has, and how often that is asked for.
const SIZES: [(u32, usize); 9] = [
    (1, 126),
    (2, 100),
    (4, 120),
    (8, 300),
    (16, 150),
    (64, 120),
    (256, 60),
    (1_024, 20),
    (4_096, 4),
];

fn job_name(number: u64) -> model::Name {
    match format!("j{number}").parse() {
        Ok(name) => name,
        Err(cause) => panic!("a letter and a number are a name: {cause}"),
    }
}

/// Roots first among their teams. Every constraint there is concerns some of them.
fn tenant(place: usize) -> Tenant {
    let (root, team) = (place / (TEAMS + 1), place % (TEAMS + 1));
    let text = match team {
        0 => format!("t{root}"),
        team => format!("t{root}/team{team}"),
    };
    let name: TenantName = match text.parse() {
        Ok(name) => name,
        Err(cause) => panic!("a letter and a number are a name: {cause}"),
    };
    let grade = match root % 20 {
        0 => Grade::Domain,
        1..=8 => Grade::Node,
        9..=16 => Grade::Gpu,
        17..=18 => Grade::Slice,
        _ => Grade::Shared,
    };
    Tenant {
        name,
        grade,
        pools: Vec::new(),
        guarantee: None,
        ceiling: None,
        quota_gpus: Some(if team == 0 { 16_384 } else { 8_192 }),
        quotas: Quotas {
            reserved: (root % 5 == 0).then_some(if team == 0 { 256 } else { 64 }),
            on_demand: Some(if team == 0 { 16_384 } else { 8_192 }),
            preemptible: Some(4_096),
        },
        apart: apart(root),
        versions: versions(root),
        jurisdictions: match root % 8 {
            0 => vec!["NL".into()],
            1 => vec!["DE".into()],
            _ => Vec::new(),
        },
        groups: Vec::new(),
        confidential: None,
        attestation: None,
    }
}

/// Every tenth root stays away from the next one.
fn apart(root: usize) -> Vec<Apart> {
    let level = match root % 30 {
        2 => ApartLevel::Node,
        12 => ApartLevel::Leaf,
        22 => ApartLevel::Pod,
        _ => return Vec::new(),
    };
    let from = format!("t{}", root + 1).parse();
    from.into_iter().map(|from| Apart { from, level }).collect()
}

/// A third of the roots do not take the oldest driver, a tenth only the newest, booted securely.
fn versions(root: usize) -> VersionPolicy {
    let least = match root % 10 {
        3..=5 => DRIVERS[1],
        6 => DRIVERS[2],
        _ => return VersionPolicy::default(),
    };
    VersionPolicy {
        at_least: BTreeMap::from([("driver".into(), least.into())]),
        secure_boot: root % 10 == 6,
    }
}

/// The same numbers in every run.
#[derive(Clone, Debug)]
pub(crate) struct Chance(pub(crate) u64);

impl Chance {
    /// A number below this one.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        // SplitMix64: any seed is as good as any other.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ mixed >> 31) % end as u64) as usize
    }

    /// One of these, by weight.
    fn pick(&mut self, choices: &[(u32, usize)]) -> u32 {
        let all = choices.iter().map(|(_, weight)| weight).sum();
        let mut left = self.below(all);
        for &(choice, weight) in choices {
            match left.checked_sub(weight) {
                Some(less) => left = less,
                None => return choice,
            }
        }
        unreachable!("a number below the sum of all weights is in one of them")
    }
}
