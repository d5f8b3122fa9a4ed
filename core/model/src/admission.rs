//! By which rules a Kubernetes cluster holds each tenant to its own nodes, claims and names.
//!
//! They are facts that whoever writes them and whoever reads them back share: a cluster in which
//! one letter of them differs is not known to hold anybody. Expressions are in the part of CEL
//! that an API server and the interpreters beside it understand alike: no optional values, no
//! functions of Kubernetes' own.

mod pods;

use crate::Runtime;

/// The taint of every node with GPUs: its value is whose it is.
pub const TENANT_TAINT: &str = "bulkhead.dev/tenant";

/// What the taint does to pods that do not bear it, also to those that run already.
pub const TAINT_EFFECT: &str = "NoExecute";

/// The value of the taint where several tenants have something of a node. No namespace is called
/// so: theirs end in a number.
pub const SHARED_NODE: &str = "shared";

/// The value of the taint where nobody has anything of a node. No pod bears it.
pub const NOBODYS_NODE: &str = "nobody";

/// What the label of a node begins with that lets in the pods of the namespace whose name follows.
/// A node cannot give itself a label under this name (`NodeRestriction`).
pub const TENANT_LABEL: &str = "tenant.node-restriction.kubernetes.io/";

/// The value of that label.
pub const TENANT_LABEL_VALUE: &str = "here";

/// The label of a namespace that is a tenant's: what its jobs run in. The rules go by it.
pub const RUNTIME_LABEL: &str = "bulkhead.dev/runtime";

/// The label of a pod: for which job it works.
pub const JOB_LABEL: &str = "bulkhead.dev/job";

/// Everything whose number a tenant's quota says, also where that is zero.
pub const GPU_QUOTAS: [&str; 5] = [
    "gpu.nvidia.com.deviceclass.resource.k8s.io/devices",
    "vfio.gpu.nvidia.com.deviceclass.resource.k8s.io/devices",
    "gpu.amd.com.deviceclass.resource.k8s.io/devices",
    "requests.amd.com/gpu",
    "requests.nvidia.com/gpu",
];

/// A policy and its binding: what is refused in namespaces of tenants.
#[derive(Debug)]
pub struct Guard {
    /// What both are called.
    pub name: &'static str,
    /// In the namespaces of tenants whose jobs run so.
    pub runtimes: &'static [Runtime],
    /// Which requests it judges.
    pub rules: &'static [Requests],
    /// Names for parts of an object, each with its expression, in order.
    pub variables: &'static [&'static [(&'static str, &'static str)]],
    /// What must be true of each object: an expression, and what is told where it is not.
    pub checks: &'static [&'static [(&'static str, &'static str)]],
}

/// Requests to an API.
#[derive(Debug)]
pub struct Requests {
    /// Its group.
    pub group: &'static str,
    /// What is done.
    pub operations: &'static [&'static str],
    /// To what.
    pub resources: &'static [&'static str],
}

/// A role that members of tenants have in their namespace.
#[derive(Debug)]
pub struct MemberRole {
    /// What it is called.
    pub name: &'static str,
    /// For tenants whose jobs run so.
    pub runtime: Runtime,
    /// All that it allows: groups, resources and verbs.
    pub grants: &'static [(&'static str, &'static [&'static str], &'static [&'static str])],
}

/// The word for how jobs run, as the label of a namespace has it.
#[must_use]
pub const fn runtime_word(runtime: Runtime) -> &'static str {
    match runtime {
        Runtime::Container => "container",
        Runtime::Vm => "vm",
    }
}

/// The role of members of a tenant whose jobs run so.
#[must_use]
pub const fn role_of(runtime: Runtime) -> &'static MemberRole {
    match runtime {
        Runtime::Container => &MEMBER_ROLES[0],
        Runtime::Vm => &MEMBER_ROLES[1],
    }
}

const ALL_VERBS: &[&str] = &["create", "delete", "get", "list", "patch", "update", "watch"];
const LOOK: &[&str] = &["get", "list", "watch"];

/// What members may do. Whoever may also change policies, quotas, roles, claims or endpoints has no
/// fence that holds; and where jobs run in machines, a container of a member's own would share the
/// kernel of a host that others are on.
pub static MEMBER_ROLES: [MemberRole; 2] = [
    MemberRole {
        name: "tenant-member",
        runtime: Runtime::Container,
        grants: &[
            (
                "",
                &["configmaps", "persistentvolumeclaims", "pods", "secrets", "services"],
                ALL_VERBS,
            ),
            ("", &["pods/log"], &["get"]),
            ("apps", &["deployments", "statefulsets"], ALL_VERBS),
            ("apps", &["deployments/scale", "statefulsets/scale"], &["get", "patch", "update"]),
            ("batch", &["jobs"], ALL_VERBS),
            ("resource.k8s.io", &["resourceclaims"], LOOK),
        ],
    },
    MemberRole {
        name: "tenant-machine-member",
        runtime: Runtime::Vm,
        grants: &[
            ("", &["configmaps", "persistentvolumeclaims", "secrets", "services"], ALL_VERBS),
            ("", &["pods"], LOOK),
            ("", &["pods/log"], &["get"]),
            ("kubevirt.io", &["virtualmachineinstances", "virtualmachines"], LOOK),
            ("resource.k8s.io", &["resourceclaims"], LOOK),
            (
                "subresources.kubevirt.io",
                &["virtualmachines/restart", "virtualmachines/start", "virtualmachines/stop"],
                &["update"],
            ),
            ("subresources.kubevirt.io", &["virtualmachineinstances/console"], &["get"]),
        ],
    },
];

const BOTH: &[Runtime] = &[Runtime::Container, Runtime::Vm];
const WRITES: &[&str] = &["CREATE", "UPDATE"];

/// Everything that is refused in namespaces of tenants, whoever asks.
pub static GUARDS: [Guard; 9] = [
    pods::PODS,
    pods::TEMPLATES,
    pods::CRON_JOBS,
    pods::POD_TEMPLATES,
    pods::MACHINES,
    Guard {
        name: "services.bulkhead.dev",
        runtimes: BOTH,
        rules: &[Requests { group: "", operations: WRITES, resources: &["services"] }],
        variables: &[OWN_KEYS],
        checks: &[SERVICES, PLAIN_KEYS],
    },
    Guard {
        name: "volumes.bulkhead.dev",
        runtimes: BOTH,
        rules: &[Requests {
            group: "",
            operations: WRITES,
            resources: &["persistentvolumeclaims"],
        }],
        variables: &[OWN_KEYS, SYSTEM],
        checks: &[VOLUMES],
    },
    Guard {
        name: "secrets.bulkhead.dev",
        runtimes: BOTH,
        rules: &[Requests { group: "", operations: WRITES, resources: &["secrets"] }],
        variables: &[],
        checks: &[SECRETS],
    },
    // Where packets of a service go, and on which node a pod runs, only the cluster itself says.
    Guard {
        name: "system.bulkhead.dev",
        runtimes: BOTH,
        rules: &[
            Requests {
                group: "",
                operations: WRITES,
                resources: &["bindings", "endpoints", "pods/binding", "pods/ephemeralcontainers"],
            },
            Requests {
                group: "discovery.k8s.io",
                operations: WRITES,
                resources: &["endpointslices"],
            },
        ],
        variables: &[SYSTEM],
        checks: &[BY_SYSTEM],
    },
];

/// Who asks is a part of the cluster itself.
const SYSTEM: &[(&str, &str)] = &[(
    "system",
    "request.userInfo.username in ['system:kube-controller-manager', 'system:kube-scheduler'] || \
     request.userInfo.username.startsWith('system:serviceaccount:kube-system:')",
)];

const BY_SYSTEM: &[(&str, &str)] = &[(
    "variables.system && request.subResource != 'ephemeralcontainers'",
    "only the cluster itself says where pods run and where services lead, and nobody adds a \
     container to a pod",
)];

/// Labels and annotations, also those that were there before.
const OWN_KEYS: &[(&str, &str)] = &[
    ("labels", "has(object.metadata.labels)?object.metadata.labels:{}"),
    ("notes", "has(object.metadata.annotations)?object.metadata.annotations:{}"),
    (
        "oldLabels",
        "request.operation == 'UPDATE' && has(oldObject.metadata.labels)?\
         oldObject.metadata.labels:{}",
    ),
    (
        "oldNotes",
        "request.operation == 'UPDATE' && has(oldObject.metadata.annotations)?\
         oldObject.metadata.annotations:{}",
    ),
];

/// Names without a prefix are nobody's orders; a name with one may be somebody's.
const PLAIN_KEYS: &[(&str, &str)] = &[
    (
        "variables.labels.all(key, key.contains('/') == false && key.contains('.') == false || \
         key.startsWith('app.kubernetes.io/') || key.startsWith('kamaji.clastix.io/') || \
         key.startsWith('component.kamaji.clastix.io/') || \
         key in variables.oldLabels && variables.oldLabels[key] == variables.labels[key])",
        "a label with a prefix may be an order to somebody; leave it out",
    ),
    (
        "variables.notes.all(key, key.contains('/') == false && key.contains('.') == false || \
         key.startsWith('kubectl.kubernetes.io/') || key.startsWith('prometheus.io/') || \
         key in variables.oldNotes && variables.oldNotes[key] == variables.notes[key])",
        "an annotation with a prefix may be an order to somebody; leave it out",
    ),
];

const SERVICES: &[(&str, &str)] = &[
    (
        "object.spec.all(field, field in ['clusterIP', 'clusterIPs', 'internalTrafficPolicy', \
         'ipFamilies', 'ipFamilyPolicy', 'ports', 'publishNotReadyAddresses', 'selector', \
         'sessionAffinity', 'sessionAffinityConfig', 'trafficDistribution', 'type'])",
        "a service has no address, name or port outside of the cluster",
    ),
    (
        "has(object.spec.type) == false || object.spec.type == 'ClusterIP'",
        "a service is of type ClusterIP",
    ),
    (
        "has(object.spec.ports) == false || object.spec.ports.all(port, \
         has(port.nodePort) == false || port.nodePort == 0)",
        "a service has no port on nodes",
    ),
];

const VOLUMES: &[(&str, &str)] = &[
    (
        "object.spec.all(field, field in ['accessModes', 'resources', 'storageClassName', \
         'volumeMode', 'volumeName'])",
        "a volume is new and empty",
    ),
    (
        "has(object.spec.storageClassName) && \
         object.spec.storageClassName == namespaceObject.metadata.name",
        "a volume is of the tenant's own class, which is called as its namespace",
    ),
    (
        "request.operation == 'UPDATE' || has(object.spec.volumeName) == false",
        "the cluster chooses the volume",
    ),
    (
        "variables.labels.all(key, key.contains('/') == false && key.contains('.') == false || \
         key.startsWith('app.kubernetes.io/') || variables.system || \
         key in variables.oldLabels && variables.oldLabels[key] == variables.labels[key])",
        "a label with a prefix may be an order to somebody; leave it out",
    ),
    (
        "variables.notes.all(key, key.contains('/') == false && key.contains('.') == false || \
         key.startsWith('kubectl.kubernetes.io/') || \
         variables.system && request.operation == 'UPDATE' || \
         key in variables.oldNotes && variables.oldNotes[key] == variables.notes[key])",
        "an annotation with a prefix may be an order to somebody; leave it out",
    ),
];

const SECRETS: &[(&str, &str)] = &[(
    "has(object.type) == false || object.type in ['Opaque', 'helm.sh/release.v1', \
     'kubernetes.io/basic-auth', 'kubernetes.io/dockercfg', 'kubernetes.io/dockerconfigjson', \
     'kubernetes.io/ssh-auth', 'kubernetes.io/tls']",
    "a secret is no key to the cluster",
)];
