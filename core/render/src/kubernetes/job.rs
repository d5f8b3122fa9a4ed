//! A job's exact GPUs, claimed node by node, and its virtual machines where it runs in such.

use model::admission::{JOB_LABEL, TENANT_LABEL, TENANT_LABEL_VALUE};
use model::{API_GROUP, JobName, Node, NodeModel, Runtime};
use plan::{JobNet, Plan, TenantNet};

use super::{Bears, Driver, Namespace, Text, launch_security};
use crate::node::{self, bits};
use crate::say::{Say, say};

/// More requests are in no claim (`AllocationResultsMaxSize` of resource.k8s.io/v1).
const MOST_REQUESTS: usize = 32;

/// Nobody says yet how large a machine shall be.
const MEMORY_GIB_PER_GPU: u64 = 64;
const CPUS_PER_GPU: u64 = 8;

pub(super) fn write(plan: &Plan, name: &JobName, job: &JobNet, net: &TenantNet, out: &mut String) {
    policies(name, net, out);
    for (at, share) in plan.shares(name, job) {
        let model = node::model(plan, at);
        let place = Place { name, net, model, node: node::node(plan, at) };
        let mut gpus: Vec<u16> = bits(share.gpus).collect();
        gpus.sort_by_key(|gpu| model.pci.minor(*gpu));
        let claims = gpus.chunks(MOST_REQUESTS);
        claims.enumerate().for_each(|(number, gpus)| place.claim(number, gpus, out));
        if net.trust.runtime == Runtime::Vm {
            place.machine(&gpus, out);
        }
    }
}

/// Pods of a job reach each other, in Kubernetes' words and in Calico's; those of no other job of
/// the tenant reach them, as on the network of its interfaces.
fn policies(name: &JobName, net: &TenantNet, out: &mut String) {
    let head = |version: &str, out: &mut String| {
        say!(out, "---\napiVersion: ", version, "\nkind: NetworkPolicy\nmetadata:\n  name: job.");
        say!(out, name.name, "\n");
        annotated(name, net, out);
    };
    let label = Text(name.name.as_str());
    head("networking.k8s.io/v1", out);
    say!(out, "spec:\n  podSelector:\n    matchLabels:\n      ", JOB_LABEL, ": ", label, "\n");
    say!(out, "  policyTypes:\n  - Ingress\n  - Egress\n");
    for (rules, peers) in [("ingress", "from"), ("egress", "to")] {
        say!(out, "  ", rules, ":\n  - ", peers, ":\n    - podSelector:\n        matchLabels:\n");
        say!(out, "          ", JOB_LABEL, ": ", label, "\n");
    }
    head("projectcalico.org/v3", out);
    say!(out, "spec:\n  order: 90\n  selector: ", JOB_LABEL, " == '", name.name, "'\n");
    say!(out, "  types:\n  - Ingress\n  - Egress\n");
    for (rules, side) in [("ingress", "source"), ("egress", "destination")] {
        say!(out, "  ", rules, ":\n  - action: Allow\n    ", side, ":\n");
        say!(out, "      selector: ", JOB_LABEL, " == '", name.name, "'\n");
    }
}

/// The namespace of an object, and whose job it is for.
fn annotated(name: &JobName, net: &TenantNet, out: &mut String) {
    say!(out, "  namespace: ", Namespace(&name.tenant, net), "\n  annotations:\n    ", API_GROUP);
    let mut path = String::with_capacity(64);
    say!(&mut path, name);
    say!(out, "/job: ", Text(&path), "\n");
}

/// One job on one node.
struct Place<'a> {
    name: &'a JobName,
    net: &'a TenantNet,
    model: &'a NodeModel,
    node: &'a Node,
}

/// What a job's things on a node are called. A dot is in no name, so no two are called the same.
struct Called<'a>(&'a Place<'a>, usize);

impl Say for Called<'_> {
    fn say(&self, out: &mut String) {
        let mut text = String::with_capacity(64);
        say!(&mut text, self.0.name.name, ".", self.0.node.name);
        if self.1 > 0 {
            say!(&mut text, ".", self.1 as u64);
        }
        say!(out, Text(&text));
    }
}

impl Place<'_> {
    fn metadata(&self, number: usize, out: &mut String) {
        say!(out, "metadata:\n  name: ", Called(self, number), "\n");
        annotated(self.name, self.net, out);
    }

    /// A selector names a GPU by its address and cannot name a node, so the claim's name does: no
    /// pod has it that does not select that node, by the rules of `model::admission`. What is
    /// allocated is for the scheduler to say, and a status that is sent is dropped.
    fn claim(&self, number: usize, gpus: &[u16], out: &mut String) {
        let (driver, runtime) = (Driver::of(self.model), self.net.trust.runtime);
        let pci = &self.model.pci;
        let known = gpus.iter().filter_map(|gpu| Some((*gpu, pci.minor(*gpu)?)));
        say!(out, "---\napiVersion: resource.k8s.io/v1\nkind: ResourceClaim\n");
        self.metadata(number, out);
        say!(out, "spec:\n  devices:\n    requests:\n");
        for (gpu, minor) in known {
            say!(out, "    - name: gpu-", minor, "\n      exactly:\n        deviceClassName: ");
            say!(out, driver.class(runtime), "\n        selectors:\n        - cel:\n");
            say!(out, "            expression: device.attributes['", driver.as_str(), "'].");
            say!(out, driver.address(), " == '", pci.gpus[usize::from(gpu)], "'\n");
        }
    }

    fn machine(&self, gpus: &[u16], out: &mut String) {
        let count = gpus.len() as u64;
        say!(out, "---\napiVersion: kubevirt.io/v1\nkind: VirtualMachine\n");
        self.metadata(0, out);
        let (tenant, net) = (&self.name.tenant, self.net);
        say!(out, "spec:\n  runStrategy: Manual\n  template:\n    metadata:\n      labels:\n");
        say!(out, "        ", JOB_LABEL, ": ", Text(self.name.name.as_str()), "\n");
        say!(out, "    spec:\n      nodeSelector:\n");
        say!(out, "        kubernetes.io/hostname: ", Text(self.node.name.as_str()), "\n");
        say!(out, "        ", TENANT_LABEL, Namespace(tenant, net), ": ", TENANT_LABEL_VALUE, "\n");
        say!(out, Bears { indent: "      ", name: tenant, net });
        say!(out, "      resourceClaims:\n");
        for (number, _) in gpus.chunks(MOST_REQUESTS).enumerate() {
            say!(out, "      - name: gpus-", number as u64, "\n        resourceClaimName: ");
            say!(out, Called(self, number), "\n");
        }
        say!(out, "      domain:\n        cpu:\n          cores: ", count * CPUS_PER_GPU, "\n");
        say!(out, "        memory:\n          guest: ", count * MEMORY_GIB_PER_GPU, "Gi\n");
        if let Some(confidential) = self.net.trust.confidential {
            say!(out, "        launchSecurity:\n          ", launch_security(confidential));
            say!(out, ": {}\n");
        }
        say!(out, "        devices:\n          gpus:\n");
        for (place, gpu) in gpus.iter().enumerate() {
            let Some(minor) = self.model.pci.minor(*gpu) else { continue };
            let claim = (place / MOST_REQUESTS) as u64;
            say!(out, "          - name: gpu-", minor, "\n            claimName: gpus-", claim);
            say!(out, "\n            requestName: gpu-", minor, "\n");
        }
    }
}
