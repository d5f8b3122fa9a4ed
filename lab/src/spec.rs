//! What a lab shall be like, and the documents that say so.

use std::fmt::Write as _;
use std::path::PathBuf;

use observe::Backing;

/// What a lab shall be like.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Spec {
    /// What it is called; two labs of different names stand side by side.
    pub name: String,
    /// How many leaves.
    pub leaves: u16,
    /// How many spines.
    pub spines: u16,
    /// How many tenants, beside the one that serves files.
    pub tenants: u16,
    /// What VRFs are made of.
    pub vrfs: Backing,
    /// The built `bulkhead`, which the agents are.
    pub program: PathBuf,
}

/// The tenant that serves files, and its only job.
const FILES: (&str, &str) = ("vault", "files");
/// What the file server serves.
const NFS: &str = "{protocol: tcp, port: 2049}";
/// What jobs of one tenant may ask each other for.
const METRICS: &str = "{protocol: udp, port: 9125}";
const COLOURS: [&str; 6] = ["red", "blue", "green", "amber", "violet", "teal"];

impl Spec {
    /// The documents: a fleet of which every switch speaks FRR, and who works on it.
    ///
    /// Each tenant has a node at every leaf and three jobs: `train` on all leaves, `pair` on one
    /// leaf, `tune` on two. So packets are bridged and routed, on one leaf and across.
    #[must_use]
    pub fn documents(&self) -> Vec<(&'static str, String)> {
        vec![
            ("fleet.yaml", self.fleet()),
            ("work.yaml", self.work()),
            ("permits.yaml", self.permits()),
        ]
    }

    fn fleet(&self) -> String {
        let switches = |kind: &str, count: u16| -> String {
            let names = (1..=count).map(|place| format!("{{name: {kind}-{place}}}"));
            names.collect::<Vec<_>>().join(", ")
        };
        let mut text = format!(
            "apiVersion: bulkhead.dev/v1\nkind: Fleet\nmetadata: {{name: {}}}\nspec:\n  models:\n    \
             nodes:\n      host:\n        gpu: {{product: H100-80GB, board: HGX-H100/H200-8GPU}}\n        \
             gpus: 8\n        nics: {{count: 4, rate: 400Gbps, vfs: 16, numaNodes: 2, \
             firstIommuGroup: 16}}\n        versions: {{driver: 570.133.20, kernel: 6.8.0-60, \
             secureBoot: true}}\n  sites:\n    - name: lab\n      jurisdiction: NL\n      pods:\n        \
             - name: pod\n          dialect: frr\n          spines: [{}]\n          leaves: [{}]\n          \
             nodes:\n",
            self.name,
            switches("spine", self.spines),
            switches("leaf", self.leaves),
        );
        for leaf in 1..=self.leaves {
            for owner in self.colours().chain([FILES.0.to_owned()]) {
                let _ = writeln!(
                    text,
                    "            - {{name: {owner}-{leaf}, model: host, leaf: leaf-{leaf}}}"
                );
            }
        }
        text
    }

    fn work(&self) -> String {
        let mut text = String::from(
            "# Tenants with the same pool have the very same addresses, on purpose.\n",
        );
        for (place, tenant) in (0..).zip(self.colours()) {
            let _ = write!(
                text,
                "apiVersion: bulkhead.dev/v1\nkind: Tenant\nmetadata: {{name: {tenant}}}\nspec: \
                 {{grade: node, pools: [{}]}}\n---\n",
                pool(place)
            );
            for (job, endpoints) in self.jobs(place, &tenant) {
                text += &job_document(&tenant, job, &endpoints);
            }
        }
        let (tenant, job) = FILES;
        let _ = write!(
            text,
            "apiVersion: bulkhead.dev/v1\nkind: Tenant\nmetadata: {{name: {tenant}}}\nspec: \
             {{grade: node, pools: [10.9.0.0/16]}}\n---\n"
        );
        let ends = [format!("{tenant}-1/0"), format!("{tenant}-{}/1", self.leaves)];
        text + &job_document(tenant, job, &ends)
    }

    fn jobs(&self, place: u16, tenant: &str) -> [(&'static str, Vec<String>); 3] {
        let leaf = |step: u16| (place + step) % self.leaves + 1;
        [
            ("train", (1..=self.leaves).map(|leaf| format!("{tenant}-{leaf}/0")).collect()),
            ("pair", vec![format!("{tenant}-{}/1", leaf(0)), format!("{tenant}-{}/2", leaf(0))]),
            ("tune", vec![format!("{tenant}-{}/3", leaf(0)), format!("{tenant}-{}/3", leaf(1))]),
        ]
        .map(|(job, mut endpoints): (_, Vec<String>)| {
            endpoints.dedup();
            (job, endpoints)
        })
    }

    /// The first tenant and the first with other addresses share the file server; one of the
    /// same addresses asks for it in vain, because a route must lead to one place only. In each
    /// tenant `pair` may ask `train`.
    fn permits(&self) -> String {
        let mut text = String::from("# Both sides must agree, or a permit opens nothing.\n");
        let mut clients = Vec::new();
        for (place, tenant) in (0..).zip(self.colours()) {
            text += &consent((&tenant, "pair"), (&tenant, "train"), METRICS);
            if clients.is_empty() || (clients.len() == 1 && pool(place) != pool(0)) {
                text += &consent((&tenant, "train"), FILES, NFS);
                clients.push(tenant);
            } else if place == 1 {
                text += "# The file server never agreed to this one.\n";
                text += &permit("client", (&tenant, "train"), FILES, NFS);
            }
        }
        text
    }

    fn colours(&self) -> impl Iterator<Item = String> {
        (0..usize::from(self.tenants)).map(|place| match COLOURS.get(place) {
            Some(colour) => (*colour).to_owned(),
            None => format!("tenant{}", place + 1),
        })
    }
}

/// Every third tenant has a pool of its own, all others the same.
const fn pool(place: u16) -> &'static str {
    if place % 3 == 2 { "10.2.0.0/16" } else { "10.1.0.0/16" }
}

fn job_document(tenant: &str, job: &str, endpoints: &[String]) -> String {
    format!(
        "apiVersion: bulkhead.dev/v1\nkind: Job\nmetadata: {{name: {job}}}\nspec: {{tenant: \
         {tenant}, endpoints: [{}]}}\n---\n",
        endpoints.join(", ")
    )
}

/// What both sides write.
fn consent(client: (&str, &str), provider: (&str, &str), service: &str) -> String {
    permit("client", client, provider, service) + &permit("provider", provider, client, service)
}

fn permit(side: &str, own: (&str, &str), peer: (&str, &str), service: &str) -> String {
    let ((tenant, job), (other, others)) = (own, peer);
    format!(
        "apiVersion: bulkhead.dev/v1\nkind: Permit\nmetadata: {{name: \
         {tenant}-{job}-{side}-{other}-{others}}}\nspec:\n  tenant: {tenant}\n  job: {job}\n  side: \
         {side}\n  peer: {{tenant: {other}, job: {others}}}\n  service: {service}\n---\n"
    )
}

#[cfg(test)]
pub(crate) mod tests {
    #![allow(clippy::unwrap_used, reason = "a lab that is refused ends the test")]

    use super::*;
    use intent::Source;
    use plan::Ledger;

    pub(crate) fn planned(leaves: u16, spines: u16, tenants: u16) -> plan::Plan {
        let (vrfs, program) = (Backing::Namespaces, PathBuf::new());
        let spec = Spec { name: "lab".into(), leaves, spines, tenants, vrfs, program };
        let documents = spec.documents();
        let sources: Vec<Source<'_>> =
            documents.iter().map(|(file, text)| Source { file, text }).collect();
        let intent = intent::load(&sources).unwrap();
        plan::next(&intent, &Ledger::default()).unwrap().plan
    }

    #[test]
    fn labs_of_every_small_size_can_be_planned() {
        for (leaves, spines) in [(1, 1), (2, 1), (3, 2), (4, 2), (8, 3)] {
            for tenants in 1..=7 {
                let plan = planned(leaves, spines, tenants);
                assert_eq!(plan.tenants.len(), usize::from(tenants) + 1);
                assert_eq!(plan.jobs.len(), usize::from(tenants) * 3 + 1);
            }
        }
    }

    #[test]
    fn two_tenants_have_the_very_same_addresses() {
        let plan = planned(4, 2, 3);
        let subnet = |job: &str| {
            plan.jobs.iter().find(|(name, _)| name.to_string() == job).unwrap().1.subnet
        };
        assert_eq!(subnet("red/train"), subnet("blue/train"));
        assert_ne!(subnet("red/train"), subnet("green/train"));
    }

    #[test]
    fn two_tenants_of_three_share_the_file_server() {
        let owners = planned(4, 2, 3).owners();
        let clients = owners.consents.iter().filter(|consent| consent.service.port == 2049);
        let clients: Vec<String> = clients.map(|consent| consent.client.to_string()).collect();
        assert_eq!(clients, ["green/train", "red/train"]);
    }
}
