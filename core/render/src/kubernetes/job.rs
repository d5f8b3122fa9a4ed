//! A job's exact GPUs, claimed node by node, and its virtual machines where it runs in such.

use model::{API_GROUP, JobName, Node, NodeModel, Runtime};
use plan::{JobNet, Plan, TenantNet};

use super::{Device, Driver, Namespace, Text, launch_security};
use crate::node::{self, bits};
use crate::say::{Say, say};

/// More requests are in no claim (`AllocationResultsMaxSize` of resource.k8s.io/v1).
const MOST_REQUESTS: usize = 32;

/// Nobody says yet how large a machine shall be.
const MEMORY_GIB_PER_GPU: u64 = 64;
const CPUS_PER_GPU: u64 = 8;

pub(super) fn write(plan: &Plan, name: &JobName, job: &JobNet, net: &TenantNet, out: &mut String) {
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
        say!(out, "metadata:\n  name: ", Called(self, number), "\n  namespace: ");
        say!(out, Namespace(&self.name.tenant, self.net), "\n  annotations:\n    ", API_GROUP);
        let mut path = String::with_capacity(64);
        say!(&mut path, self.name);
        say!(out, "/job: ", Text(&path), "\n");
    }

    /// A selector cannot name a node, so the allocation does; and a scheduler that finds a claim
    /// allocated does not choose.
    fn claim(&self, number: usize, gpus: &[u16], out: &mut String) {
        let (driver, runtime) = (Driver::of(self.model), self.net.trust.runtime);
        let node = Text(self.node.name.as_str());
        let pci = &self.model.pci;
        let known = || gpus.iter().filter_map(|gpu| Some((*gpu, pci.minor(*gpu)?)));
        say!(out, "---\napiVersion: resource.k8s.io/v1\nkind: ResourceClaim\n");
        self.metadata(number, out);
        say!(out, "spec:\n  devices:\n    requests:\n");
        for (gpu, minor) in known() {
            say!(out, "    - name: gpu-", minor, "\n      exactly:\n        deviceClassName: ");
            say!(out, driver.class(runtime), "\n        selectors:\n        - cel:\n");
            say!(out, "            expression: device.attributes['", driver.as_str(), "'].");
            say!(out, driver.address(), " == '", pci.gpus[usize::from(gpu)], "'\n");
        }
        say!(out, "status:\n  allocation:\n    devices:\n      results:\n");
        for (_, minor) in known() {
            say!(out, "      - request: gpu-", minor, "\n        driver: ", driver.as_str());
            say!(out, "\n        pool: ", node, "\n        device: ");
            say!(out, Device(driver, runtime, minor), "\n");
        }
        say!(out, "    nodeSelector:\n      nodeSelectorTerms:\n      - matchFields:\n");
        say!(out, "        - key: metadata.name\n          operator: In\n          values:\n");
        say!(out, "          - ", node, "\n");
    }

    fn machine(&self, gpus: &[u16], out: &mut String) {
        let count = gpus.len() as u64;
        say!(out, "---\napiVersion: kubevirt.io/v1\nkind: VirtualMachine\n");
        self.metadata(0, out);
        say!(out, "spec:\n  runStrategy: Manual\n  template:\n    spec:\n      nodeSelector:\n");
        say!(out, "        kubernetes.io/hostname: ", Text(self.node.name.as_str()), "\n");
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
