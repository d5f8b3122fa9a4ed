//! A tenant's namespace and all that keeps others out of it.

use std::collections::BTreeMap;

use model::admission::{RUNTIME_LABEL, TENANT_LABEL, TENANT_LABEL_VALUE, role_of, runtime_word};
use model::{API_GROUP, Runtime, STORAGE_BYTES_PER_GPU, TenantName};
use plan::{Plan, TenantNet};

use super::{Bears, CLASSES, Driver, Namespace, Text};
use crate::cluster::{has_hosts_of_its_own, jobs_of};
use crate::node;
use crate::say::say;

/// Quotas of storage are written in these.
const BYTES_PER_TIB: u64 = 1 << 40;

/// The release of the tenants' own control planes.
const CONTROL_PLANE: &str = "v1.34.0";

pub(super) fn write(name: &TenantName, net: &TenantNet, out: &mut String) {
    let tenant = Tenant { name, net, space: Namespace(name, net) };
    tenant.namespace(out);
    tenant.volumes(out);
    tenant.bounds(out);
    tenant.policies(out);
    tenant.calico(out);
    tenant.mesh(out);
    tenant.members(out);
    if has_hosts_of_its_own(net.trust.grade) && net.trust.runtime == Runtime::Container {
        tenant.control_plane(out);
    }
}

/// How much all jobs of a tenant may use together: what they have.
pub(super) fn write_quota(plan: &Plan, name: &TenantName, net: &TenantNet, out: &mut String) {
    // What is not named is without bounds.
    let mut gpus: BTreeMap<&str, u64> = CLASSES.into_iter().map(|class| (class, 0)).collect();
    for (at, share) in jobs_of(plan, name).flat_map(|(name, job)| plan.shares(name, job)) {
        let class = Driver::of(node::model(plan, at)).class(net.trust.runtime);
        *gpus.entry(class).or_default() += u64::from(share.gpus.count_ones());
    }
    Tenant { name, net, space: Namespace(name, net) }.quota(&gpus, out);
}

/// The values with which a tenant's control plane is a vCluster instead: a file of its own and no
/// object, so no part of what is sent.
#[must_use]
pub fn vcluster_values(plan: &Plan, name: &TenantName) -> Option<String> {
    let net = plan.tenants.get(name)?;
    let mut out = String::new();
    say!(&mut out, "# Values of the vCluster in the namespace ", Namespace(name, net), ".\n");
    say!(&mut out, "controlPlane:\n  distro:\n    k8s:\n      enabled: true\n      version: ");
    say!(&mut out, CONTROL_PLANE, "\nsync:\n  toHost:\n    pods:\n      enabled: true\n");
    say!(&mut out, "    networkPolicies:\n      enabled: false\n");
    say!(&mut out, "policies:\n  podSecurityStandard: restricted\n");
    say!(&mut out, "  networkPolicy:\n    enabled: true\n");
    Some(out)
}

struct Tenant<'a> {
    name: &'a TenantName,
    net: &'a TenantNet,
    space: Namespace<'a>,
}

impl Tenant<'_> {
    /// The first lines of an object in the namespace.
    fn object(&self, version: &str, kind: &str, name: &str, out: &mut String) {
        say!(out, "---\napiVersion: ", version, "\nkind: ", kind, "\nmetadata:\n  name: ", name);
        say!(out, "\n  namespace: ", self.space, "\n");
    }

    fn annotation(&self, out: &mut String) {
        say!(out, "  annotations:\n    ", API_GROUP, "/tenant: ", Text(self.name.as_str()), "\n");
    }

    fn namespace(&self, out: &mut String) {
        say!(out, "---\napiVersion: v1\nkind: Namespace\nmetadata:\n  name: ", self.space, "\n");
        self.annotation(out);
        say!(
            out,
            "  labels:\n    ",
            RUNTIME_LABEL,
            ": ",
            runtime_word(self.net.trust.runtime),
            "\n"
        );
        say!(out, "    istio-injection: enabled\n");
        say!(out, "    pod-security.kubernetes.io/enforce: restricted\n");
    }

    /// Who makes the volumes is for the storage to say; the class says whose they are.
    fn volumes(&self, out: &mut String) {
        say!(out, "---\napiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata:\n  name: ");
        say!(out, self.space, "\n");
        self.annotation(out);
        say!(out, "provisioner: kubernetes.io/no-provisioner\nreclaimPolicy: Delete\n");
        say!(out, "volumeBindingMode: WaitForFirstConsumer\n");
    }

    /// Whole GPUs by their class, and none past the claims.
    fn quota(&self, gpus: &BTreeMap<&str, u64>, out: &mut String) {
        let storage = gpus.values().sum::<u64>() * STORAGE_BYTES_PER_GPU / BYTES_PER_TIB;
        self.object("v1", "ResourceQuota", "limits", out);
        say!(out, "spec:\n  hard:\n");
        for (class, count) in gpus {
            say!(out, "    ", *class, ".deviceclass.resource.k8s.io/devices: \"", count, "\"\n");
        }
        say!(out, "    requests.amd.com/gpu: \"0\"\n    requests.nvidia.com/gpu: \"0\"\n    ");
        say!(out, self.space, ".storageclass.storage.k8s.io/requests.storage: ", storage, "Ti\n");
    }

    fn bounds(&self, out: &mut String) {
        self.object("v1", "LimitRange", "bounds", out);
        say!(out, "spec:\n  limits:\n  - type: Container\n    default:\n      cpu: \"8\"\n");
        say!(out, "      memory: 32Gi\n    defaultRequest:\n      cpu: \"1\"\n      memory: 4Gi\n");
    }

    fn policies(&self, out: &mut String) {
        const VERSION: &str = "networking.k8s.io/v1";
        self.object(VERSION, "NetworkPolicy", "default-deny", out);
        say!(out, "spec:\n  podSelector: {}\n  policyTypes:\n  - Ingress\n  - Egress\n");
        self.object(VERSION, "NetworkPolicy", "resolver", out);
        say!(out, "spec:\n  podSelector: {}\n  policyTypes:\n  - Egress\n  egress:\n  - to:\n");
        say!(out, "    - namespaceSelector:\n        matchLabels:\n");
        say!(out, "          kubernetes.io/metadata.name: kube-system\n");
        say!(out, "      podSelector:\n        matchLabels:\n          k8s-app: kube-dns\n");
        say!(out, "    ports:\n    - protocol: UDP\n      port: 53\n");
        say!(out, "    - protocol: TCP\n      port: 53\n");
    }

    /// The same in Calico's words, which hold also where a later policy of the namespace opens:
    /// what neither a job's own policy nor this one lets pass is denied here, and nobody else is
    /// asked.
    fn calico(&self, out: &mut String) {
        let system = "kube-system";
        self.object("projectcalico.org/v3", "NetworkPolicy", "isolation", out);
        say!(out, "spec:\n  order: 100\n  selector: all()\n  types:\n  - Ingress\n  - Egress\n");
        say!(out, "  ingress:\n  - action: Deny\n  egress:\n");
        for protocol in ["UDP", "TCP"] {
            say!(out, "  - action: Allow\n    protocol: ", protocol, "\n    destination:\n");
            say!(out, "      namespaceSelector: kubernetes.io/metadata.name == '", system, "'\n");
            say!(out, "      selector: k8s-app == 'kube-dns'\n      ports:\n      - 53\n");
        }
        say!(out, "  - action: Deny\n");
    }

    fn mesh(&self, out: &mut String) {
        const VERSION: &str = "security.istio.io/v1";
        self.object(VERSION, "PeerAuthentication", "strict", out);
        say!(out, "spec:\n  mtls:\n    mode: STRICT\n");
        self.object(VERSION, "AuthorizationPolicy", "same-namespace", out);
        say!(out, "spec:\n  action: ALLOW\n  rules:\n  - from:\n    - source:\n");
        say!(out, "        namespaces:\n        - ", self.space, "\n");
    }

    fn members(&self, out: &mut String) {
        if self.net.trust.groups.is_empty() {
            return;
        }
        self.object("rbac.authorization.k8s.io/v1", "RoleBinding", "members", out);
        say!(out, "roleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: ClusterRole\n");
        say!(out, "  name: ", role_of(self.net.trust.runtime).name, "\nsubjects:\n");
        for group in &self.net.trust.groups {
            say!(out, "- apiGroup: rbac.authorization.k8s.io\n  kind: Group\n  name: ");
            say!(out, Text(group), "\n");
        }
    }

    /// Who shares no host has an API of its own, too.
    fn control_plane(&self, out: &mut String) {
        self.object("kamaji.clastix.io/v1alpha1", "TenantControlPlane", "control-plane", out);
        self.annotation(out);
        say!(out, "spec:\n  dataStore: default\n  controlPlane:\n    deployment:\n");
        let bears = Bears { indent: "      ", name: self.name, net: self.net };
        say!(out, "      nodeSelector:\n        ", TENANT_LABEL, self.space, ": ");
        say!(out, TENANT_LABEL_VALUE, "\n      replicas: 2\n", bears);
        say!(out, "    service:\n      serviceType: ClusterIP\n");
        say!(out, "  kubernetes:\n    version: ", CONTROL_PLANE, "\n    kubelet:\n");
        say!(out, "      cgroupfs: systemd\n  networkProfile:\n    port: 6443\n");
        say!(out, "  addons:\n    coreDNS: {}\n");
    }
}
