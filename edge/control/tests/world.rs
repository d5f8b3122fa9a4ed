//! A small cluster, jobs by chance, and who asks.

#![allow(dead_code, reason = "each test file is a program of its own and uses a part")]

use std::sync::LazyLock;

use control::Who;
use intent::Source;

pub(crate) const FLEET: &str = "
apiVersion: bulkhead.dev/v1
kind: Fleet
metadata: {name: town}
spec:
  models:
    nodes:
      box: {gpu: {product: H100-80GB, board: HGX-H100/H200-8GPU}, gpus: 8, nics: {count: 8, rate: 400Gbps}}
  sites:
    - name: ams
      jurisdiction: NL
      kind: core
      pods:
        - name: pod
          leaves:
            - {name: leaf-1, dialect: nxos}
            - {name: leaf-2, dialect: frr}
          spines:
            - {name: spine-1, dialect: frr}
          nodes:
            - {name: n1, model: box, leaf: leaf-1}
            - {name: n2, model: box, leaf: leaf-1}
            - {name: n3, model: box, leaf: leaf-2}
            - {name: n4, model: box, leaf: leaf-2}
---
apiVersion: bulkhead.dev/v1
kind: Tenant
metadata: {name: red}
spec: {pools: [10.0.0.0/16], grade: node}
---
apiVersion: bulkhead.dev/v1
kind: Tenant
metadata: {name: blue}
spec: {pools: [10.0.0.0/16], grade: node}
";

/// How many jobs there are at most.
pub(crate) const JOBS: u32 = 6;

pub(crate) static WHO: LazyLock<Who> =
    LazyLock::new(|| Who { actor: "operator".into(), source: "test".into(), request: None });

/// The fleet and these documents, each a file of its own.
pub(crate) fn sources<'a>(more: &[&'a str]) -> Vec<Source<'a>> {
    let fleet = Source { file: "fleet.yaml", text: FLEET };
    let more = more.iter().map(|text| Source { file: "more.yaml", text });
    std::iter::once(fleet).chain(more).collect()
}

/// A job of that number, which wants something else each time.
pub(crate) fn job(which: u32, chance: &mut Chance) -> String {
    let tenant = if which.is_multiple_of(2) { "red" } else { "blue" };
    let wants = match chance.below(3) {
        0 => format!("gpus: {}", [1, 2, 4, 8, 12, 64][chance.below(6) as usize]),
        _ => {
            let node = chance.below(4) + 1;
            let nic = chance.below(4) * 2;
            format!("endpoints: [n{node}/{nic}, n{node}/{}]", nic + 1)
        }
    };
    format!(
        "apiVersion: bulkhead.dev/v1\nkind: Job\nmetadata: {{name: job-{which}}}\nspec: {{tenant: \
         {tenant}, {wants}}}\n"
    )
}

/// Numbers that look like chance and are the same for the same seed (xorshift).
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below this one; 0 below 0.
    pub(crate) fn below(&mut self, end: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 33) as u32).checked_rem(end).unwrap_or(0)
    }
}
