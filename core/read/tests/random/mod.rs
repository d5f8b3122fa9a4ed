//! Random fleets with layers, tenants and jobs, planned as far as there is room.

use std::fmt::Write as _;

use intent::Source;
use model::Dialect;
use plan::{Ledger, Plan, Planner};
use proptest::collection::vec;
use proptest::prelude::*;

/// The plan of some documents with as many of the jobs as there is room for.
pub(crate) fn planned(documents: &str, wishes: &[Wish]) -> Plan {
    let mut text = documents.to_owned();
    for (place, wish) in wishes.iter().enumerate() {
        let Wish { tenant, gpus, product } = wish;
        let (tenant, product) = (TENANTS[*tenant], PRODUCTS[*product]);
        let spec = format!("{{tenant: {tenant}, gpus: {gpus}, product: {product}}}");
        document(&mut text, "Job", &format!("job-{place}"), &spec);
    }
    let mut intent = intent::load(&[Source { file: "random.yaml", text: &text }]).unwrap();
    let jobs = std::mem::take(&mut intent.jobs);
    let mut planner = Planner::new(&intent, &Ledger::default()).unwrap();
    for job in jobs.values() {
        // One that finds no room is left out.
        drop(planner.admit(job));
    }
    planner.plan().clone()
}

/// A job that somebody wants.
#[derive(Clone, Debug)]
pub(crate) struct Wish {
    tenant: usize,
    gpus: u32,
    product: usize,
}

const TENANTS: [&str; 4] = ["ant", "bee", "bee/one", "cat"];
const GRADES: [&str; 4] = ["domain", "node", "gpu", "shared"];
const PRODUCTS: [&str; 5] = ["H100-80GB", "B200-180GB", "GB200-186GB", "MI300X-192GB", "A100-80GB"];

/// Documents of a fleet with every kind of node and four tenants, and the jobs they want.
pub(crate) fn world(layers: &'static [Dialect]) -> impl Strategy<Value = (String, Vec<Wish>)> {
    let buses: Vec<u8> = (1..=16).collect();
    let models = vec((Just(buses).prop_shuffle(), any::<bool>()), PRODUCTS.len());
    let counts = vec(1_usize..4, PRODUCTS.len());
    let grades = vec((0..GRADES.len(), any::<bool>()), TENANTS.len());
    let gpus = prop_oneof![Just(1_u32), Just(2), Just(4), Just(8), Just(12), Just(16)];
    let wish = (0..TENANTS.len(), gpus, 0..PRODUCTS.len())
        .prop_map(|(tenant, gpus, product)| Wish { tenant, gpus, product });
    (models, counts, grades, vec(wish, 0..16)).prop_map(|(models, counts, grades, wishes)| {
        // What no layer could show may not be demanded.
        let shows_machines = layers.contains(&Dialect::Vm) || layers.contains(&Dialect::Kubernetes);
        let mut text = fleet(layers, &models, &counts);
        for (place, (grade, confidential)) in grades.into_iter().enumerate() {
            let mut spec = format!("{{grade: {}, pools: [10.0.0.0/16]", GRADES[grade]);
            spec += if confidential && shows_machines { ", confidential: tdx" } else { "" };
            // What is inherited cannot be weakened, so a child says nothing of it.
            let spec = if TENANTS[place].contains('/') { "{" } else { &format!("{spec}, ") };
            let spec = format!("{spec}groups: [staff, 'yes', 'oidc:\"{place}\"']}}");
            document(&mut text, "Tenant", TENANTS[place], &spec);
        }
        (text, wishes)
    })
}

fn document(text: &mut String, kind: &str, name: &str, spec: &str) {
    let group = model::API_GROUP;
    writeln!(
        text,
        "--- {{apiVersion: {group}/v1, kind: {kind}, metadata: {{name: {name}}}, spec: {spec}}}"
    )
    .unwrap();
}

/// One pod for each kind of node, so that its subnet has a manager of its own. What a model is
/// told of the PCI bus is the first of the given buses for GPUs and the rest for interfaces.
fn fleet(layers: &[Dialect], models: &[(Vec<u8>, bool)], counts: &[usize]) -> String {
    let boards = [
        ("HGX-H100/H200-8GPU", 8, 8, ""),
        ("HGX-B200-8GPU", 8, 4, ""),
        ("GB200-NVL72", 4, 4, ""),
        ("UBB", 8, 8, ""),
        ("HGX-own", 8, 8, ", partitions: [[1, 2, 5, 6], [3, 4, 7, 8], [1], [3, 7], [2]]"),
    ];
    let mut text = format!("apiVersion: {}/v1\nkind: Fleet\n", model::API_GROUP);
    let layers: Vec<&str> = layers.iter().map(|layer| layer.as_str()).collect();
    let layers = layers.join(", ");
    write!(text, "metadata: {{name: random}}\nspec:\n  layers: [{layers}]\n").unwrap();
    text += "  models:\n    nodes:\n";
    for (kind, (buses, said)) in models.iter().enumerate() {
        let (board, gpus, nics, partitions) = boards[kind];
        let product = PRODUCTS[kind];
        let addresses = |buses: &[u8]| {
            let all: Vec<String> =
                buses.iter().map(|bus| format!("\"0000:{bus:02x}:00.0\"")).collect();
            all.join(", ")
        };
        writeln!(text, "      m{kind}:").unwrap();
        writeln!(text, "        gpu: {{product: {product}, board: {board}{partitions}}}").unwrap();
        writeln!(text, "        gpus: {gpus}").unwrap();
        writeln!(text, "        gpuPci: [{}]", addresses(&buses[..gpus])).unwrap();
        writeln!(text, "        nicPci: [{}]", addresses(&buses[gpus..gpus + nics])).unwrap();
        writeln!(text, "        nics: {{count: {nics}, rate: 400Gbps, numaNodes: 2}}").unwrap();
        if *said {
            text += "        versions: {driver: 570.133.20, toolkit: 1.17.8, secureBoot: true}\n";
        }
    }
    text += "  sites:\n    - name: ams\n      jurisdiction: NL\n      kind: core\n      pods:\n";
    for (kind, count) in counts.iter().enumerate() {
        writeln!(text, "        - name: p{kind}\n          leaves: [{{name: leaf-{kind}}}]")
            .unwrap();
        writeln!(text, "          nodes:").unwrap();
        for place in 0..2 * count {
            // Trays are joined in pairs.
            let rack = if kind == 2 {
                format!(", rack: r{}, nvlinkDomain: rack", place / 2)
            } else {
                String::new()
            };
            writeln!(
                text,
                "            - {{name: n{kind}-{place}, model: m{kind}, leaf: leaf-{kind}{rack}}}"
            )
            .unwrap();
        }
    }
    text
}
