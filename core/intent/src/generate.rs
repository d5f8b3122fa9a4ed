//! Fleets and work to try things with: realistic in shape, and the same for the same wish.

use std::fmt::Write as _;

/// What a made-up cluster shall be like.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Wish {
    /// How many GPUs; rounded up to whole nodes.
    pub gpus: u32,
    /// How many of a hundred of them are in NVL72 racks; the others are in HGX nodes.
    pub nvl72_percent: u32,
    /// How many sites share them.
    pub sites: u32,
    /// How many GPUs a full pod has, rounded up to whole racks; nothing said is what is usual for
    /// the kind of node.
    pub pod_gpus: Option<u32>,
    /// Whether all layers are configured, and not the network alone.
    pub layers: bool,
    /// How many tenants.
    pub tenants: u32,
    /// How many jobs; fewer when there is no GPU left for one.
    pub jobs: u32,
    /// What chance is made of.
    pub seed: u64,
}

impl Default for Wish {
    fn default() -> Self {
        Self {
            gpus: 1024,
            nvl72_percent: 0,
            sites: 1,
            pod_gpus: None,
            layers: false,
            tenants: 10,
            jobs: 100,
            seed: 1,
        }
    }
}

/// A kind of node and how it is racked.
struct Kind {
    name: &'static str,
    /// What its pods are called.
    pod: &'static str,
    product: &'static str,
    board: &'static str,
    gpus: u32,
    nodes_per_rack: u32,
    racks_per_leaf: u32,
    racks_per_pod: u32,
    nvlink: &'static str,
    leaf_dialect: &'static str,
    enforcement: &'static str,
    /// Where its GPUs sit, in the order of module ids, and its interfaces.
    pci: [&'static str; 2],
    versions: &'static str,
}

/// 256 GPUs on a leaf, 2,048 in a pod.
const H100: Kind = Kind {
    name: "hgx-h100",
    pod: "h100",
    product: "H100-80GB",
    board: "HGX-H100/H200-8GPU",
    gpus: 8,
    nodes_per_rack: 4,
    racks_per_leaf: 8,
    racks_per_pod: 64,
    nvlink: "node",
    leaf_dialect: "nxos",
    enforcement: "leaf",
    // One of the two hosts whose addresses NVIDIA published with their module ids.
    pci: [
        "'0000:86:00.0', '0000:b8:00.0', '0000:87:00.0', '0000:bb:00.0', \
         '0000:0f:00.0', '0000:41:00.0', '0000:10:00.0', '0000:44:00.0'",
        "'0000:89:00.0', '0000:b9:00.0', '0000:8a:00.0', '0000:bc:00.0', \
         '0000:12:00.0', '0000:42:00.0', '0000:13:00.0', '0000:45:00.0'",
    ],
    versions: "{driver: 570.133.20, kernel: 6.8.0-60, firmware: 96.00.BC.00.01, \
               toolkit: 1.17.8, secureBoot: true}",
};

const B200: Kind = Kind {
    name: "hgx-b200",
    pod: "b200",
    product: "B200-180GB",
    board: "HGX-B200-8GPU",
    leaf_dialect: "frr",
    versions: "{driver: 580.65.06, kernel: 6.8.0-60, firmware: 97.00.9A.00.06, \
               toolkit: 1.17.8, secureBoot: true}",
    ..H100
};

/// 288 GPUs on a leaf, 2,304 in a pod; each tray has DPUs that judge its packets.
const NVL72: Kind = Kind {
    name: "gb200-nvl72",
    pod: "nvl72",
    product: "GB200-186GB",
    board: "GB200-NVL72",
    gpus: 4,
    nodes_per_rack: 18,
    racks_per_leaf: 4,
    racks_per_pod: 32,
    nvlink: "rack",
    leaf_dialect: "frr",
    enforcement: "dpu",
    pci: [
        "'0008:01:00.0', '0009:01:00.0', '0018:01:00.0', '0019:01:00.0'",
        "'0000:03:00.0', '0002:03:00.0', '0010:03:00.0', '0012:03:00.0'",
    ],
    versions: "{driver: 580.65.06, kernel: 6.14.0-1008, firmware: 97.00.B9.00.76, \
               toolkit: 1.17.8, secureBoot: true}",
};

const ALL_LAYERS: &str = "  layers: [vfio, versions, mig, amd, nvlink, imex, pkey, devices, vm, slurm, \
                          kubernetes]\n  models:\n";

/// Where sites stand, in turn.
const PLACES: [(&str, &str); 6] =
    [("ams", "NL"), ("fra", "DE"), ("par", "FR"), ("sto", "SE"), ("nyc", "US"), ("nrt", "JP")];

/// A fleet document: a few lines, however many nodes.
#[must_use]
pub fn fleet(wish: &Wish) -> String {
    let sites = wish.sites.max(1);
    let mut models = [String::new(), String::new(), String::new()];
    let mut pods = vec![String::new(); sites as usize];
    for (kind, nodes) in kinds(wish).iter().filter(|(_, nodes)| *nodes > 0) {
        kind.write_node(wish.layers, &mut models[0]);
        for (site, pods) in (0..sites).zip(&mut pods) {
            kind.write_pods(part_of(*nodes, site, sites), pods, &mut models);
        }
    }
    let [nodes, racks, pod_models] = models;
    let mut text = format!(
        "apiVersion: bulkhead.dev/v1\nkind: Fleet\nmetadata:\n  name: generated\nspec:\n  models:\n    \
         nodes:\n{nodes}    racks:\n{racks}    pods:\n{pod_models}  sites:\n"
    );
    if wish.layers {
        text = text.replacen("  models:\n", ALL_LAYERS, 1);
    }
    for (place, pods) in pods.iter().enumerate() {
        let (name, jurisdiction) = PLACES[place % PLACES.len()];
        let round = match place / PLACES.len() {
            0 => String::new(),
            round => (round + 1).to_string(),
        };
        let _ = write!(
            text,
            "    - name: {name}{round}\n      jurisdiction: {jurisdiction}\n      kind: core\n      \
             cores: 4\n      pods:"
        );
        text.push_str(if pods.is_empty() { " []\n" } else { "\n" });
        text.push_str(pods);
    }
    text
}

/// How many nodes of each kind: NVL72 in whole racks, the others half and half.
fn kinds(wish: &Wish) -> [(Kind, u32); 3] {
    let nvl72 = share(wish.gpus, wish.nvl72_percent.min(100), 100) / 72 * 72;
    let hgx = (wish.gpus - nvl72).div_ceil(8);
    [(H100, hgx - hgx / 2), (B200, hgx / 2), (NVL72, nvl72 / 4)]
        .map(|(kind, nodes)| (kind.in_pods_of(wish.pod_gpus), nodes))
}

/// Each site has its part of the nodes; the first ones take what does not divide.
const fn part_of(nodes: u32, site: u32, sites: u32) -> u32 {
    nodes / sites + (site < nodes % sites) as u32
}

/// Some equal pods.
struct Pods {
    suffix: &'static str,
    count: u32,
    racks: u32,
    nodes_per_rack: u32,
}

impl Kind {
    fn in_pods_of(self, gpus: Option<u32>) -> Self {
        let racks = |gpus: u32| gpus.div_ceil(self.gpus * self.nodes_per_rack).max(1);
        Self { racks_per_pod: gpus.map_or(self.racks_per_pod, racks), ..self }
    }

    fn write_node(&self, layers: bool, models: &mut String) {
        let _ = writeln!(
            models,
            "      {}:\n        gpu: {{product: {}, board: {}}}\n        gpus: {}\n        \
             nics: {{count: {}, rate: 400Gbps, vfs: 16, numaNodes: 2, firstIommuGroup: 16}}\n        \
             versions: {}",
            self.name, self.product, self.board, self.gpus, self.gpus, self.versions
        );
        if layers {
            let [gpus, nics] = self.pci;
            let _ = writeln!(models, "        gpuPci: [{gpus}]\n        nicPci: [{nics}]");
        }
    }

    /// Full pods, a pod of the full racks that are left, and a pod with a rack that is not full.
    fn pods(&self, nodes: u32) -> impl Iterator<Item = Pods> {
        let per_pod = self.racks_per_pod * self.nodes_per_rack;
        let (full, left) = (nodes / per_pod, nodes % per_pod);
        let (racks, rest) = (left / self.nodes_per_rack, left % self.nodes_per_rack);
        let pods =
            |suffix, count, racks, nodes_per_rack| Pods { suffix, count, racks, nodes_per_rack };
        [
            pods("", full, self.racks_per_pod, self.nodes_per_rack),
            pods("-part", 1, racks, self.nodes_per_rack),
            pods("-rest", 1, 1, rest),
        ]
        .into_iter()
        .filter(|pods| pods.count * pods.racks * pods.nodes_per_rack > 0)
    }

    fn write_pods(&self, nodes: u32, text: &mut String, models: &mut [String; 3]) {
        for pods in self.pods(nodes) {
            let (racks, nodes) = (pods.racks, pods.nodes_per_rack);
            let rack = format!("{}-{nodes}", self.name);
            let pod = format!("{rack}-{racks}");
            let [_, rack_models, pod_models] = models;
            write_once(
                rack_models,
                &format!(
                    "      {rack}: {{nodes: {{model: {}, count: {nodes}}}, nvlinkDomain: {}}}\n",
                    self.name, self.nvlink
                ),
            );
            write_once(
                pod_models,
                &format!(
                    "      {pod}: {{racks: {{model: {rack}, count: {racks}}}, racksPerLeaf: {}, \
                     spines: 4, leafDialect: {}, enforcement: {}}}\n",
                    self.racks_per_leaf, self.leaf_dialect, self.enforcement
                ),
            );
            let count = match pods.suffix {
                "" => format!(", count: {}", pods.count),
                _ => String::new(),
            };
            let _ = writeln!(
                text,
                "        - {{name: {}{}, model: {pod}{count}}}",
                self.pod, pods.suffix
            );
        }
    }
}

fn write_once(text: &mut String, line: &str) {
    if !text.contains(line) {
        text.push_str(line);
    }
}

/// Tenants and jobs for that fleet: most jobs are small, a few are large, and together they use
/// at most nine tenths of it. All tenants have the same addresses.
#[must_use]
pub fn workload(wish: &Wish) -> String {
    let mut text = String::new();
    let tenants: Vec<String> = (0..wish.tenants.max(1)).map(tenant_name).collect();
    for (place, tenant) in tenants.iter().enumerate() {
        write_tenant(&mut text, place, tenant);
    }
    let mut chance = Chance(wish.seed);
    for (number, gpus) in (1..).zip(sizes(wish, &mut chance)) {
        let tenant = &tenants[chance.below(tenants.len() as u64) as usize];
        let class = match chance.below(10) {
            0 => "latency",
            1 => "bulk",
            _ => "lossless",
        };
        let _ = write!(
            text,
            "---\napiVersion: bulkhead.dev/v1\nkind: Job\nmetadata:\n  name: job-{number}\nspec:\n  \
             tenant: {tenant}\n  gpus: {gpus}\n  class: {class}\n"
        );
    }
    text
}

/// Every fourth tenant is a team of the one before it.
fn tenant_name(place: u32) -> String {
    match place % 4 {
        3 => format!("tenant-{}/research", place),
        _ => format!("tenant-{}", place + 1),
    }
}

fn write_tenant(text: &mut String, place: usize, tenant: &str) {
    let _ = write!(
        text,
        "---\napiVersion: bulkhead.dev/v1\nkind: Tenant\nmetadata:\n  name: {tenant}\nspec:\n"
    );
    if tenant.contains('/') {
        let _ = writeln!(text, "  groups: [{}]", tenant.replace('/', "-"));
        return;
    }
    // Few tenants insist on whole nodes: they would leave the rest of each node idle.
    let grade = if place.is_multiple_of(20) { "node" } else { "gpu" };
    let _ = write!(
        text,
        "  grade: {grade}\n  pools: [10.0.0.0/10]\n  guarantee: 25Gbps\n  ceiling: 400Gbps\n  \
         versions: {{driver: \">=550.90\", secureBoot: true}}\n  groups: [{tenant}]\n"
    );
}

/// The jobs' sizes. What chance wants beyond nine tenths of the fleet is halved, job by job.
fn sizes(wish: &Wish, chance: &mut Chance) -> Vec<u32> {
    let target = u64::from(share(wish.gpus, 9, 10));
    let jobs = u64::from(wish.jobs).min(target);
    // Two of the largest fit into the largest pod, so that pods fill up well.
    let largest = (largest_pod(wish) / 2).clamp(1, 1024);
    let mut sizes: Vec<u32> = (0..jobs).map(|_| size(chance).min(largest)).collect();
    let mut sum: u64 = sizes.iter().map(|&size| u64::from(size)).sum();
    // Those in the middle give way first, then the small: the few large ones make the difference.
    for most in [64, 64, 1024, 1024, 1024, 1024, 1024, 1024, 1024, 1024, 1024] {
        for size in sizes.iter_mut().filter(|size| **size <= most && **size > 1) {
            if sum <= target {
                return sizes;
            }
            sum -= u64::from(*size - *size / 2);
            *size /= 2;
        }
    }
    sizes
}

/// The GPUs of the largest pod. No job leaves its pod.
fn largest_pod(wish: &Wish) -> u32 {
    let of_kind = |(kind, nodes): (Kind, u32)| {
        let pods = kind.pods(part_of(nodes, 0, wish.sites.max(1)));
        let gpus = pods.map(|pods| pods.racks * pods.nodes_per_rack * kind.gpus);
        gpus.max().unwrap_or(0)
    };
    kinds(wish).into_iter().map(of_kind).max().unwrap_or(0)
}

/// Of a thousand jobs: 820 with 1 to 8 GPUs, 172 with 16 to 64, 8 with 256 to 1,024.
fn size(chance: &mut Chance) -> u32 {
    match chance.below(1000) {
        0..820 => 1 << chance.below(4),
        820..992 => 16 << chance.below(3),
        _ => 256 << chance.below(3),
    }
}

fn share(of: u32, part: u32, whole: u32) -> u32 {
    // A share of a u32 is a u32 as long as the part is not above the whole.
    (u64::from(of) * u64::from(part) / u64::from(whole)) as u32
}

/// A small generator of numbers that look like chance (SplitMix64).
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }
}
