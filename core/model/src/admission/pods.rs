//! What pods and the templates of pods must be.

use super::{Guard, Requests, WRITES};
use crate::Runtime;

const CONTAINERS: &[Runtime] = &[Runtime::Container];

pub(super) const PODS: Guard = Guard {
    name: "pods.bulkhead.dev",
    runtimes: CONTAINERS,
    rules: &[Requests { group: "", operations: WRITES, resources: &["pods"] }],
    variables: &[
        &[
            ("meta", "object.metadata"),
            ("spec", "object.spec"),
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
        ],
        PARTS,
    ],
    checks: &[
        &[(
            "request.operation == 'UPDATE' || has(variables.spec.nodeName) == false",
            "the scheduler chooses the node",
        )],
        CHECKS,
    ],
};

pub(super) const TEMPLATES: Guard = Guard {
    name: "templates.bulkhead.dev",
    runtimes: CONTAINERS,
    rules: &[
        Requests { group: "", operations: WRITES, resources: &["replicationcontrollers"] },
        Requests {
            group: "apps",
            operations: WRITES,
            resources: &["daemonsets", "deployments", "replicasets", "statefulsets"],
        },
        Requests { group: "batch", operations: WRITES, resources: &["jobs"] },
    ],
    variables: &[
        &[
            ("meta", "has(object.spec.template.metadata)?object.spec.template.metadata:{}"),
            ("spec", "object.spec.template.spec"),
        ],
        NOTHING_BEFORE,
        PARTS,
    ],
    checks: &[
        NO_NODE,
        &[(
            "has(object.spec.volumeClaimTemplates) == false || \
             object.spec.volumeClaimTemplates.all(claim, has(claim.spec.storageClassName) && \
             claim.spec.storageClassName == namespaceObject.metadata.name)",
            "a volume is of the tenant's own class, which is called as its namespace",
        )],
        CHECKS,
    ],
};

pub(super) const CRON_JOBS: Guard = Guard {
    name: "cronjobs.bulkhead.dev",
    runtimes: CONTAINERS,
    rules: &[Requests { group: "batch", operations: WRITES, resources: &["cronjobs"] }],
    variables: &[
        &[
            (
                "meta",
                "has(object.spec.jobTemplate.spec.template.metadata)?\
                 object.spec.jobTemplate.spec.template.metadata:{}",
            ),
            ("spec", "object.spec.jobTemplate.spec.template.spec"),
        ],
        NOTHING_BEFORE,
        PARTS,
    ],
    checks: &[NO_NODE, CHECKS],
};

pub(super) const POD_TEMPLATES: Guard = Guard {
    name: "podtemplates.bulkhead.dev",
    runtimes: CONTAINERS,
    rules: &[Requests { group: "", operations: WRITES, resources: &["podtemplates"] }],
    variables: &[
        &[
            ("meta", "has(object.template.metadata)?object.template.metadata:{}"),
            ("spec", "object.template.spec"),
        ],
        NOTHING_BEFORE,
        PARTS,
    ],
    checks: &[NO_NODE, CHECKS],
};

/// Where jobs run in machines, pods are what KubeVirt makes of them, and nobody makes others.
pub(super) const MACHINES: Guard = Guard {
    name: "machines.bulkhead.dev",
    runtimes: &[Runtime::Vm],
    rules: &[
        Requests {
            group: "",
            operations: WRITES,
            resources: &["pods", "podtemplates", "replicationcontrollers"],
        },
        Requests {
            group: "apps",
            operations: WRITES,
            resources: &["daemonsets", "deployments", "replicasets", "statefulsets"],
        },
        Requests { group: "batch", operations: WRITES, resources: &["cronjobs", "jobs"] },
    ],
    variables: &[HOME],
    checks: &[&[
        (
            "request.resource.resource == 'pods' && (request.operation == 'UPDATE' || \
             request.userInfo.username == 'system:serviceaccount:kubevirt:kubevirt-controller')",
            "jobs of this tenant run in machines, and only KubeVirt makes their pods",
        ),
        (
            "has(object.spec.nodeSelector) && variables.home in object.spec.nodeSelector && \
             object.spec.nodeSelector[variables.home] == 'here'",
            "a pod selects the nodes of its tenant",
        ),
        (
            "request.operation == 'UPDATE' || has(object.spec.nodeName) == false",
            "the scheduler chooses the node",
        ),
        (
            "has(object.spec.tolerations) == false || object.spec.tolerations.all(one, \
             has(one.key) && (one.key.startsWith('node.kubernetes.io/') || \
             one.key == 'bulkhead.dev/tenant' && \
             (has(one.operator) == false || one.operator == 'Equal') && has(one.value) && \
             one.value in [namespaceObject.metadata.name, 'shared']))",
            "a pod bears the taint of its tenant's nodes and no other one's",
        ),
    ]],
};

const HOME: &[(&str, &str)] =
    &[("home", "'tenant.node-restriction.kubernetes.io/' + namespaceObject.metadata.name")];

/// Of a template every label and annotation counts, whatever it was before.
const NOTHING_BEFORE: &[(&str, &str)] = &[("oldLabels", "{}"), ("oldNotes", "{}")];

const NO_NODE: &[(&str, &str)] =
    &[("has(variables.spec.nodeName) == false", "the scheduler chooses the node")];

const PARTS: &[(&str, &str)] = &[
    HOME[0],
    ("labels", "has(variables.meta.labels)?variables.meta.labels:{}"),
    ("notes", "has(variables.meta.annotations)?variables.meta.annotations:{}"),
    ("nodes", "has(variables.spec.nodeSelector)?variables.spec.nodeSelector:{}"),
    (
        "host",
        "'kubernetes.io/hostname' in variables.nodes?variables.nodes['kubernetes.io/hostname']:''",
    ),
    ("job", "'bulkhead.dev/job' in variables.labels?variables.labels['bulkhead.dev/job']:''"),
    ("claims", "has(variables.spec.resourceClaims)?variables.spec.resourceClaims:[]"),
    (
        "containers",
        "variables.spec.containers + \
         (has(variables.spec.initContainers)?variables.spec.initContainers:[])",
    ),
    (
        "privileges",
        "variables.containers.filter(one, has(one.securityContext))\
         .map(one, one.securityContext)",
    ),
    (
        "amounts",
        "variables.containers.filter(one, has(one.resources)).map(one, one.resources) + \
         (has(variables.spec.resources)?[variables.spec.resources]:[])",
    ),
    ("hooks", "variables.containers.filter(one, has(one.lifecycle)).map(one, one.lifecycle)"),
    (
        "probes",
        "variables.containers.filter(one, has(one.livenessProbe)).map(one, one.livenessProbe) + \
         variables.containers.filter(one, has(one.readinessProbe)).map(one, one.readinessProbe) + \
         variables.containers.filter(one, has(one.startupProbe)).map(one, one.startupProbe) + \
         variables.hooks.filter(one, has(one.postStart)).map(one, one.postStart) + \
         variables.hooks.filter(one, has(one.preStop)).map(one, one.preStop)",
    ),
    (
        "neighbours",
        "(has(variables.spec.affinity) && has(variables.spec.affinity.podAffinity)?\
         [variables.spec.affinity.podAffinity]:[]) + \
         (has(variables.spec.affinity) && has(variables.spec.affinity.podAntiAffinity)?\
         [variables.spec.affinity.podAntiAffinity]:[])",
    ),
];

const CHECKS: &[(&str, &str)] = &[
    (
        "variables.spec.all(field, field in ['activeDeadlineSeconds', 'affinity', \
         'automountServiceAccountToken', 'containers', 'dnsConfig', 'dnsPolicy', \
         'enableServiceLinks', 'hostAliases', 'hostIPC', 'hostNetwork', 'hostPID', 'hostUsers', \
         'hostname', 'imagePullSecrets', 'initContainers', 'nodeName', 'nodeSelector', 'os', \
         'preemptionPolicy', 'priority', 'readinessGates', 'resourceClaims', 'resources', \
         'restartPolicy', 'schedulerName', 'schedulingGates', 'securityContext', \
         'serviceAccount', 'serviceAccountName', 'setHostnameAsFQDN', 'shareProcessNamespace', \
         'subdomain', 'terminationGracePeriodSeconds', 'tolerations', \
         'topologySpreadConstraints', 'volumes'])",
        "the pod says something that no pod of a tenant may say, such as a class of priority, a \
         runtime or a container that is added later",
    ),
    (
        "variables.home in variables.nodes && variables.nodes[variables.home] == 'here'",
        "a pod selects the nodes of its tenant, by the label of its namespace",
    ),
    (
        "variables.claims.all(claim, claim.all(field, field in ['name', 'resourceClaimName']) && \
         has(claim.resourceClaimName) && (claim.resourceClaimName + '.')\
         .startsWith(variables.job + '.' + variables.host + '.'))",
        "a pod has only planned claims of its own job, and selects their node by its hostname",
    ),
    (
        "size(variables.claims) == 0 || variables.job != '' && variables.host != '' && \
         variables.job.contains('.') == false",
        "a pod with claims says its job in a label, and selects their node by its hostname",
    ),
    (
        "(has(variables.spec.hostNetwork) == false || variables.spec.hostNetwork == false) && \
         (has(variables.spec.hostPID) == false || variables.spec.hostPID == false) && \
         (has(variables.spec.hostIPC) == false || variables.spec.hostIPC == false)",
        "a pod has nothing of the host",
    ),
    (
        "has(variables.spec.volumes) == false || variables.spec.volumes.all(volume, \
         volume.all(field, field in ['configMap', 'downwardAPI', 'emptyDir', 'name', \
         'persistentVolumeClaim', 'projected', 'secret']))",
        "a pod has only volumes of its own namespace",
    ),
    (
        "variables.containers.all(one, one.all(field, field in ['args', 'command', 'env', \
         'envFrom', 'image', 'imagePullPolicy', 'lifecycle', 'livenessProbe', 'name', 'ports', \
         'readinessProbe', 'resizePolicy', 'resources', 'restartPolicy', 'restartPolicyRules', \
         'securityContext', 'startupProbe', 'stdin', 'stdinOnce', 'terminationMessagePath', \
         'terminationMessagePolicy', 'tty', 'volumeMounts', 'workingDir']))",
        "a container says something that no container of a tenant may say, such as a raw device",
    ),
    (
        "variables.containers.all(one, has(one.ports) == false || one.ports.all(port, \
         (has(port.hostPort) == false || port.hostPort == 0) && has(port.hostIP) == false))",
        "a container has no port on the host",
    ),
    (
        "variables.privileges.all(one, one.all(field, field in ['allowPrivilegeEscalation', \
         'appArmorProfile', 'capabilities', 'privileged', 'readOnlyRootFilesystem', \
         'runAsGroup', 'runAsNonRoot', 'runAsUser', 'seccompProfile']) && \
         (has(one.privileged) == false || one.privileged == false) && \
         (has(one.capabilities) == false || has(one.capabilities.add) == false || \
         one.capabilities.add.all(name, name == 'NET_BIND_SERVICE')))",
        "a container has no privileges",
    ),
    (
        "has(variables.spec.securityContext) == false || variables.spec.securityContext\
         .all(field, field in ['appArmorProfile', 'fsGroup', 'fsGroupChangePolicy', 'runAsGroup', \
         'runAsNonRoot', 'runAsUser', 'seccompProfile', 'supplementalGroups', \
         'supplementalGroupsPolicy'])",
        "a pod changes nothing of the host's kernel",
    ),
    (
        "variables.amounts.all(one, (has(one.limits) == false || one.limits.all(name, \
         name in ['cpu', 'ephemeral-storage', 'memory'] || name.startsWith('hugepages-'))) && \
         (has(one.requests) == false || one.requests.all(name, \
         name in ['cpu', 'ephemeral-storage', 'memory'] || name.startsWith('hugepages-'))))",
        "a container gets devices by claims alone",
    ),
    (
        "variables.probes.all(one, (has(one.httpGet) == false || has(one.httpGet.host) == false) \
         && (has(one.tcpSocket) == false || has(one.tcpSocket.host) == false))",
        "a probe asks its own container and nobody else in the host's name",
    ),
    (
        "(has(variables.spec.serviceAccountName) == false || \
         variables.spec.serviceAccountName in ['', 'default']) && \
         (has(variables.spec.serviceAccount) == false || \
         variables.spec.serviceAccount in ['', 'default'])",
        "a pod has the namespace's default service account",
    ),
    (
        "(has(variables.spec.schedulerName) == false || \
         variables.spec.schedulerName == 'default-scheduler') && \
         (has(variables.spec.priority) == false || variables.spec.priority == 0)",
        "a pod has the cluster's scheduler, and no priority",
    ),
    (
        "has(variables.spec.tolerations) == false || variables.spec.tolerations.all(one, \
         has(one.key) && (one.key in ['node.kubernetes.io/disk-pressure', \
         'node.kubernetes.io/memory-pressure', 'node.kubernetes.io/network-unavailable', \
         'node.kubernetes.io/not-ready', 'node.kubernetes.io/pid-pressure', \
         'node.kubernetes.io/unreachable', 'node.kubernetes.io/unschedulable'] || \
         one.key == 'bulkhead.dev/tenant' && \
         (has(one.operator) == false || one.operator == 'Equal') && has(one.value) && \
         one.value == namespaceObject.metadata.name))",
        "a pod bears the taint of its tenant's nodes and no other one's",
    ),
    (
        "variables.neighbours.all(one, \
         (has(one.requiredDuringSchedulingIgnoredDuringExecution) == false || \
         one.requiredDuringSchedulingIgnoredDuringExecution.all(term, \
         has(term.namespaces) == false && has(term.namespaceSelector) == false)) && \
         (has(one.preferredDuringSchedulingIgnoredDuringExecution) == false || \
         one.preferredDuringSchedulingIgnoredDuringExecution.all(term, \
         has(term.podAffinityTerm.namespaces) == false && \
         has(term.podAffinityTerm.namespaceSelector) == false)))",
        "a pod keeps close to, or away from, pods of its own namespace alone",
    ),
    (
        "variables.labels.all(key, key.contains('/') == false && key.contains('.') == false || \
         key in ['bulkhead.dev/job', 'security.istio.io/tlsMode', \
         'service.istio.io/canonical-name', 'service.istio.io/canonical-revision'] || \
         key.startsWith('app.kubernetes.io/') || key.startsWith('apps.kubernetes.io/') || \
         key.startsWith('batch.kubernetes.io/') || key.startsWith('kamaji.clastix.io/') || \
         key.startsWith('component.kamaji.clastix.io/') || \
         key.startsWith('statefulset.kubernetes.io/') || \
         key.startsWith('topology.kubernetes.io/') || \
         key in variables.oldLabels && variables.oldLabels[key] == variables.labels[key])",
        "a label with a prefix may be an order to somebody, such as to leave out the mesh's \
         proxy; leave it out",
    ),
    (
        "variables.notes.all(key, key.contains('/') == false && key.contains('.') == false || \
         key in ['istio.io/rev', 'kubernetes.io/limit-ranger', 'sidecar.istio.io/status'] || \
         key.startsWith('batch.kubernetes.io/') || key.startsWith('kubectl.kubernetes.io/') || \
         key.startsWith('prometheus.io/') || \
         key in variables.oldNotes && variables.oldNotes[key] == variables.notes[key])",
        "an annotation with a prefix may be an order to somebody, such as to join another \
         network or to open a device; leave it out",
    ),
];
