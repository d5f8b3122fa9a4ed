#![allow(missing_docs, clippy::unwrap_used, reason = "a test fails by panicking")]

//! What Kubernetes is told.

#[allow(dead_code, reason = "every other cluster is found by its device")]
mod cluster;

use cluster::{plan, text};
use expect_test::{Expect, expect};
use model::Dialect;

#[test]
fn kubernetes_is_told_where_nodes_stand_and_what_they_have() {
    check(
        "head",
        expect![[r#"
            ---
            apiVersion: resource.k8s.io/v1
            kind: DeviceClass
            metadata:
              name: gpu.nvidia.com
            spec:
              selectors:
              - cel:
                  expression: device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == 'gpu'
            ---
            apiVersion: resource.k8s.io/v1
            kind: DeviceClass
            metadata:
              name: vfio.gpu.nvidia.com
            spec:
              selectors:
              - cel:
                  expression: device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == 'vfio'
            ---
            apiVersion: resource.k8s.io/v1
            kind: DeviceClass
            metadata:
              name: gpu.amd.com
            spec:
              selectors:
              - cel:
                  expression: device.driver == 'gpu.amd.com' && device.attributes['gpu.amd.com'].type == 'amdgpu'
            ---
            apiVersion: rbac.authorization.k8s.io/v1
            kind: ClusterRole
            metadata:
              name: tenant-member
            rules:
            - apiGroups:
              - ""
              resources:
              - configmaps
              - persistentvolumeclaims
              - pods
              - secrets
              - services
              verbs:
              - create
              - delete
              - get
              - list
              - patch
              - update
              - watch
            - apiGroups:
              - ""
              resources:
              - pods/log
              verbs:
              - get
            - apiGroups:
              - apps
              resources:
              - deployments
              - statefulsets
              verbs:
              - create
              - delete
              - get
              - list
              - patch
              - update
              - watch
            - apiGroups:
              - apps
              resources:
              - deployments/scale
              - statefulsets/scale
              verbs:
              - get
              - patch
              - update
            - apiGroups:
              - batch
              resources:
              - jobs
              verbs:
              - create
              - delete
              - get
              - list
              - patch
              - update
              - watch
            - apiGroups:
              - resource.k8s.io
              resources:
              - resourceclaims
              verbs:
              - get
              - list
              - watch
            ---
            apiVersion: rbac.authorization.k8s.io/v1
            kind: ClusterRole
            metadata:
              name: tenant-machine-member
            rules:
            - apiGroups:
              - ""
              resources:
              - configmaps
              - persistentvolumeclaims
              - secrets
              - services
              verbs:
              - create
              - delete
              - get
              - list
              - patch
              - update
              - watch
            - apiGroups:
              - ""
              resources:
              - pods
              verbs:
              - get
              - list
              - watch
            - apiGroups:
              - ""
              resources:
              - pods/log
              verbs:
              - get
            - apiGroups:
              - kubevirt.io
              resources:
              - virtualmachineinstances
              - virtualmachines
              verbs:
              - get
              - list
              - watch
            - apiGroups:
              - resource.k8s.io
              resources:
              - resourceclaims
              verbs:
              - get
              - list
              - watch
            - apiGroups:
              - subresources.kubevirt.io
              resources:
              - virtualmachines/restart
              - virtualmachines/start
              - virtualmachines/stop
              verbs:
              - update
            - apiGroups:
              - subresources.kubevirt.io
              resources:
              - virtualmachineinstances/console
              verbs:
              - get
            ---
            apiVersion: admissionregistration.k8s.io/v1
            kind: ValidatingAdmissionPolicy
            metadata:
              name: pods.bulkhead.dev
            spec:
              failurePolicy: Fail
              matchConstraints:
                matchPolicy: Equivalent
                namespaceSelector: {}
                objectSelector: {}
                resourceRules:
                - apiGroups:
                  - ""
                  apiVersions:
                  - "*"
                  operations:
                  - CREATE
                  - UPDATE
                  resources:
                  - pods
                  scope: "*"
              variables:
              - name: meta
                expression: object.metadata
              - name: spec
                expression: object.spec
              - name: oldLabels
                expression: request.operation == 'UPDATE' && has(oldObject.metadata.labels)?oldObject.metadata.labels:{}
              - name: oldNotes
                expression: request.operation == 'UPDATE' && has(oldObject.metadata.annotations)?oldObject.metadata.annotations:{}
              - name: home
                expression: "'tenant.node-restriction.kubernetes.io/' + namespaceObject.metadata.name"
              - name: labels
                expression: has(variables.meta.labels)?variables.meta.labels:{}
              - name: notes
                expression: has(variables.meta.annotations)?variables.meta.annotations:{}
              - name: nodes
                expression: has(variables.spec.nodeSelector)?variables.spec.nodeSelector:{}
              - name: host
                expression: "'kubernetes.io/hostname' in variables.nodes?variables.nodes['kubernetes.io/hostname']:''"
              - name: job
                expression: "'bulkhead.dev/job' in variables.labels?variables.labels['bulkhead.dev/job']:''"
              - name: claims
                expression: has(variables.spec.resourceClaims)?variables.spec.resourceClaims:[]
              - name: containers
                expression: variables.spec.containers + (has(variables.spec.initContainers)?variables.spec.initContainers:[])
              - name: privileges
                expression: variables.containers.filter(one, has(one.securityContext)).map(one, one.securityContext)
              - name: amounts
                expression: variables.containers.filter(one, has(one.resources)).map(one, one.resources) + (has(variables.spec.resources)?[variables.spec.resources]:[])
              - name: hooks
                expression: variables.containers.filter(one, has(one.lifecycle)).map(one, one.lifecycle)
              - name: probes
                expression: variables.containers.filter(one, has(one.livenessProbe)).map(one, one.livenessProbe) + variables.containers.filter(one, has(one.readinessProbe)).map(one, one.readinessProbe) + variables.containers.filter(one, has(one.startupProbe)).map(one, one.startupProbe) + variables.hooks.filter(one, has(one.postStart)).map(one, one.postStart) + variables.hooks.filter(one, has(one.preStop)).map(one, one.preStop)
              - name: neighbours
                expression: (has(variables.spec.affinity) && has(variables.spec.affinity.podAffinity)?[variables.spec.affinity.podAffinity]:[]) + (has(variables.spec.affinity) && has(variables.spec.affinity.podAntiAffinity)?[variables.spec.affinity.podAntiAffinity]:[])
              validations:
              - expression: request.operation == 'UPDATE' || has(variables.spec.nodeName) == false
                message: the scheduler chooses the node
              - expression: variables.spec.all(field, field in ['activeDeadlineSeconds', 'affinity', 'automountServiceAccountToken', 'containers', 'dnsConfig', 'dnsPolicy', 'enableServiceLinks', 'hostAliases', 'hostIPC', 'hostNetwork', 'hostPID', 'hostUsers', 'hostname', 'imagePullSecrets', 'initContainers', 'nodeName', 'nodeSelector', 'os', 'preemptionPolicy', 'priority', 'readinessGates', 'resourceClaims', 'resources', 'restartPolicy', 'schedulerName', 'schedulingGates', 'securityContext', 'serviceAccount', 'serviceAccountName', 'setHostnameAsFQDN', 'shareProcessNamespace', 'subdomain', 'terminationGracePeriodSeconds', 'tolerations', 'topologySpreadConstraints', 'volumes'])
                message: the pod says something that no pod of a tenant may say, such as a class of priority, a runtime or a container that is added later
              - expression: variables.home in variables.nodes && variables.nodes[variables.home] == 'here'
                message: a pod selects the nodes of its tenant, by the label of its namespace
              - expression: variables.claims.all(claim, claim.all(field, field in ['name', 'resourceClaimName']) && has(claim.resourceClaimName) && (claim.resourceClaimName + '.').startsWith(variables.job + '.' + variables.host + '.'))
                message: a pod has only planned claims of its own job, and selects their node by its hostname
              - expression: size(variables.claims) == 0 || variables.job != '' && variables.host != '' && variables.job.contains('.') == false
                message: a pod with claims says its job in a label, and selects their node by its hostname
              - expression: (has(variables.spec.hostNetwork) == false || variables.spec.hostNetwork == false) && (has(variables.spec.hostPID) == false || variables.spec.hostPID == false) && (has(variables.spec.hostIPC) == false || variables.spec.hostIPC == false)
                message: a pod has nothing of the host
              - expression: has(variables.spec.volumes) == false || variables.spec.volumes.all(volume, volume.all(field, field in ['configMap', 'downwardAPI', 'emptyDir', 'name', 'persistentVolumeClaim', 'projected', 'secret']))
                message: a pod has only volumes of its own namespace
              - expression: variables.containers.all(one, one.all(field, field in ['args', 'command', 'env', 'envFrom', 'image', 'imagePullPolicy', 'lifecycle', 'livenessProbe', 'name', 'ports', 'readinessProbe', 'resizePolicy', 'resources', 'restartPolicy', 'restartPolicyRules', 'securityContext', 'startupProbe', 'stdin', 'stdinOnce', 'terminationMessagePath', 'terminationMessagePolicy', 'tty', 'volumeMounts', 'workingDir']))
                message: a container says something that no container of a tenant may say, such as a raw device
              - expression: variables.containers.all(one, has(one.ports) == false || one.ports.all(port, (has(port.hostPort) == false || port.hostPort == 0) && has(port.hostIP) == false))
                message: a container has no port on the host
              - expression: variables.privileges.all(one, one.all(field, field in ['allowPrivilegeEscalation', 'appArmorProfile', 'capabilities', 'privileged', 'readOnlyRootFilesystem', 'runAsGroup', 'runAsNonRoot', 'runAsUser', 'seccompProfile']) && (has(one.privileged) == false || one.privileged == false) && (has(one.capabilities) == false || has(one.capabilities.add) == false || one.capabilities.add.all(name, name == 'NET_BIND_SERVICE')))
                message: a container has no privileges
              - expression: has(variables.spec.securityContext) == false || variables.spec.securityContext.all(field, field in ['appArmorProfile', 'fsGroup', 'fsGroupChangePolicy', 'runAsGroup', 'runAsNonRoot', 'runAsUser', 'seccompProfile', 'supplementalGroups', 'supplementalGroupsPolicy'])
                message: a pod changes nothing of the host's kernel
              - expression: variables.amounts.all(one, (has(one.limits) == false || one.limits.all(name, name in ['cpu', 'ephemeral-storage', 'memory'] || name.startsWith('hugepages-'))) && (has(one.requests) == false || one.requests.all(name, name in ['cpu', 'ephemeral-storage', 'memory'] || name.startsWith('hugepages-'))))
                message: a container gets devices by claims alone
              - expression: variables.probes.all(one, (has(one.httpGet) == false || has(one.httpGet.host) == false) && (has(one.tcpSocket) == false || has(one.tcpSocket.host) == false))
                message: a probe asks its own container and nobody else in the host's name
              - expression: (has(variables.spec.serviceAccountName) == false || variables.spec.serviceAccountName in ['', 'default']) && (has(variables.spec.serviceAccount) == false || variables.spec.serviceAccount in ['', 'default'])
                message: a pod has the namespace's default service account
              - expression: (has(variables.spec.schedulerName) == false || variables.spec.schedulerName == 'default-scheduler') && (has(variables.spec.priority) == false || variables.spec.priority == 0)
                message: a pod has the cluster's scheduler, and no priority
              - expression: has(variables.spec.tolerations) == false || variables.spec.tolerations.all(one, has(one.key) && (one.key in ['node.kubernetes.io/disk-pressure', 'node.kubernetes.io/memory-pressure', 'node.kubernetes.io/network-unavailable', 'node.kubernetes.io/not-ready', 'node.kubernetes.io/pid-pressure', 'node.kubernetes.io/unreachable', 'node.kubernetes.io/unschedulable'] || one.key == 'bulkhead.dev/tenant' && (has(one.operator) == false || one.operator == 'Equal') && has(one.value) && one.value == namespaceObject.metadata.name))
                message: a pod bears the taint of its tenant's nodes and no other one's
              - expression: variables.neighbours.all(one, (has(one.requiredDuringSchedulingIgnoredDuringExecution) == false || one.requiredDuringSchedulingIgnoredDuringExecution.all(term, has(term.namespaces) == false && has(term.namespaceSelector) == false)) && (has(one.preferredDuringSchedulingIgnoredDuringExecution) == false || one.preferredDuringSchedulingIgnoredDuringExecution.all(term, has(term.podAffinityTerm.namespaces) == false && has(term.podAffinityTerm.namespaceSelector) == false)))
                message: a pod keeps close to, or away from, pods of its own namespace alone
              - expression: variables.labels.all(key, key.contains('/') == false && key.contains('.') == false || key in ['bulkhead.dev/job', 'security.istio.io/tlsMode', 'service.istio.io/canonical-name', 'service.istio.io/canonical-revision'] || key.startsWith('app.kubernetes.io/') || key.startsWith('apps.kubernetes.io/') || key.startsWith('batch.kubernetes.io/') || key.startsWith('kamaji.clastix.io/') || key.startsWith('component.kamaji.clastix.io/') || key.startsWith('statefulset.kubernetes.io/') || key.startsWith('topology.kubernetes.io/') || key in variables.oldLabels && variables.oldLabels[key] == variables.labels[key])
                message: a label with a prefix may be an order to somebody, such as to leave out the mesh's proxy; leave it out
              - expression: variables.notes.all(key, key.contains('/') == false && key.contains('.') == false || key in ['istio.io/rev', 'kubernetes.io/limit-ranger', 'sidecar.istio.io/status'] || key.startsWith('batch.kubernetes.io/') || key.startsWith('kubectl.kubernetes.io/') || key.startsWith('prometheus.io/') || key in variables.oldNotes && variables.oldNotes[key] == variables.notes[key])
                message: an annotation with a prefix may be an order to somebody, such as to join another network or to open a device; leave it out
            ---
            apiVersion: admissionregistration.k8s.io/v1
            kind: ValidatingAdmissionPolicyBinding
            metadata:
              name: pods.bulkhead.dev
            spec:
              policyName: pods.bulkhead.dev
              matchResources:
                matchPolicy: Equivalent
                namespaceSelector:
                  matchExpressions:
                  - key: bulkhead.dev/runtime
                    operator: In
                    values:
                    - container
                objectSelector: {}
              validationActions:
              - Deny
            ---
            apiVersion: admissionregistration.k8s.io/v1
            kind: ValidatingAdmissionPolicy
            metadata:
              name: templates.bulkhead.dev
            spec:
              failurePolicy: Fail
              matchConstraints:
                matchPolicy: Equivalent
                namespaceSelector: {}
                objectSelector: {}
                resourceRules:
                - apiGroups:
                  - ""
                  apiVersions:
                  - "*"
                  operations:
                  - CREATE
                  - UPDATE
                  resources:
                  - replicationcontrollers
                  scope: "*"
                - apiGroups:
                  - apps
                  apiVersions:
                  - "*"
                  operations:
                  - CREATE
                  - UPDATE
                  resources:
                  - daemonsets
                  - deployments
                  - replicasets
                  - statefulsets
                  scope: "*"
                - apiGroups:
                  - batch
                  apiVersions:
                  - "*"
                  operations:
                  - CREATE
                  - UPDATE
                  resources:
                  - jobs
                  scope: "*"
              variables:
              - name: meta
                expression: has(object.spec.template.metadata)?object.spec.template.metadata:{}
              - name: spec
                expression: object.spec.template.spec
              - name: oldLabels
                expression: "{}"
              - name: oldNotes
                expression: "{}"
              - name: home
                expression: "'tenant.node-restriction.kubernetes.io/' + namespaceObject.metadata.name"
              - name: labels
                expression: has(variables.meta.labels)?variables.meta.labels:{}
              - name: notes
                expression: has(variables.meta.annotations)?variables.meta.annotations:{}
              - name: nodes
                expression: has(variables.spec.nodeSelector)?variables.spec.nodeSelector:{}
              - name: host
                expression: "'kubernetes.io/hostname' in variables.nodes?variables.nodes['kubernetes.io/hostname']:''"
              - name: job
                expression: "'bulkhead.dev/job' in variables.labels?variables.labels['bulkhead.dev/job']:''"
              - name: claims
                expression: has(variables.spec.resourceClaims)?variables.spec.resourceClaims:[]
              - name: containers
                expression: variables.spec.containers + (has(variables.spec.initContainers)?variables.spec.initContainers:[])
              - name: privileges
                expression: variables.containers.filter(one, has(one.securityContext)).map(one, one.securityContext)
              - name: amounts
                expression: variables.containers.filter(one, has(one.resources)).map(one, one.resources) + (has(variables.spec.resources)?[variables.spec.resources]:[])
              - name: hooks
                expression: variables.containers.filter(one, has(one.lifecycle)).map(one, one.lifecycle)
              - name: probes
                expression: variables.containers.filter(one, has(one.livenessProbe)).map(one, one.livenessProbe) + variables.containers.filter(one, has(one.readinessProbe)).map(one, one.readinessProbe) + variables.containers.filter(one, has(one.startupProbe)).map(one, one.startupProbe) + variables.hooks.filter(one, has(one.postStart)).map(one, one.postStart) + variables.hooks.filter(one, has(one.preStop)).map(one, one.preStop)
              - name: neighbours
                expression: (has(variables.spec.affinity) && has(variables.spec.affinity.podAffinity)?[variables.spec.affinity.podAffinity]:[]) + (has(variables.spec.affinity) && has(variables.spec.affinity.podAntiAffinity)?[variables.spec.affinity.podAntiAffinity]:[])
              validations:
              - expression: has(variables.spec.nodeName) == false
                message: the scheduler chooses the node
              - expression: has(object.spec.volumeClaimTemplates) == false || object.spec.volumeClaimTemplates.all(claim, has(claim.spec.storageClassName) && claim.spec.storageClassName == namespaceObject.metadata.name)
                message: a volume is of the tenant's own class, which is called as its namespace
              - expression: variables.spec.all(field, field in ['activeDeadlineSeconds', 'affinity', 'automountServiceAccountToken', 'containers', 'dnsConfig', 'dnsPolicy', 'enableServiceLinks', 'hostAliases', 'hostIPC', 'hostNetwork', 'hostPID', 'hostUsers', 'hostname', 'imagePullSecrets', 'initContainers', 'nodeName', 'nodeSelector', 'os', 'preemptionPolicy', 'priority', 'readinessGates', 'resourceClaims', 'resources', 'restartPolicy', 'schedulerName', 'schedulingGates', 'securityContext', 'serviceAccount', 'serviceAccountName', 'setHostnameAsFQDN', 'shareProcessNamespace', 'subdomain', 'terminationGracePeriodSeconds', 'tolerations', 'topologySpreadConstraints', 'volumes'])
                message: the pod says something that no pod of a tenant may say, such as a class of priority, a runtime or a container that is added later
              - expression: variables.home in variables.nodes && variables.nodes[variables.home] == 'here'
                message: a pod selects the nodes of its tenant, by the label of its namespace
              - expression: variables.claims.all(claim, claim.all(field, field in ['name', 'resourceClaimName']) && has(claim.resourceClaimName) && (claim.resourceClaimName + '.').startsWith(variables.job + '.' + variables.host + '.'))
                message: a pod has only planned claims of its own job, and selects their node by its hostname
              - expression: size(variables.claims) == 0 || variables.job != '' && variables.host != '' && variables.job.contains('.') == false
                message: a pod with claims says its job in a label, and selects their node by its hostname
              - expression: (has(variables.spec.hostNetwork) == false || variables.spec.hostNetwork == false) && (has(variables.spec.hostPID) == false || variables.spec.hostPID == false) && (has(variables.spec.hostIPC) == false || variables.spec.hostIPC == false)
                message: a pod has nothing of the host
              - expression: has(variables.spec.volumes) == false || variables.spec.volumes.all(volume, volume.all(field, field in ['configMap', 'downwardAPI', 'emptyDir', 'name', 'persistentVolumeClaim', 'projected', 'secret']))
                message: a pod has only volumes of its own namespace
              - expression: variables.containers.all(one, one.all(field, field in ['args', 'command', 'env', 'envFrom', 'image', 'imagePullPolicy', 'lifecycle', 'livenessProbe', 'name', 'ports', 'readinessProbe', 'resizePolicy', 'resources', 'restartPolicy', 'restartPolicyRules', 'securityContext', 'startupProbe', 'stdin', 'stdinOnce', 'terminationMessagePath', 'terminationMessagePolicy', 'tty', 'volumeMounts', 'workingDir']))
                message: a container says something that no container of a tenant may say, such as a raw device
              - expression: variables.containers.all(one, has(one.ports) == false || one.ports.all(port, (has(port.hostPort) == false || port.hostPort == 0) && has(port.hostIP) == false))
                message: a container has no port on the host
              - expression: variables.privileges.all(one, one.all(field, field in ['allowPrivilegeEscalation', 'appArmorProfile', 'capabilities', 'privileged', 'readOnlyRootFilesystem', 'runAsGroup', 'runAsNonRoot', 'runAsUser', 'seccompProfile']) && (has(one.privileged) == false || one.privileged == false) && (has(one.capabilities) == false || has(one.capabilities.add) == false || one.capabilities.add.all(name, name == 'NET_BIND_SERVICE')))
                message: a container has no privileges
              - expression: has(variables.spec.securityContext) == false || variables.spec.securityContext.all(field, field in ['appArmorProfile', 'fsGroup', 'fsGroupChangePolicy', 'runAsGroup', 'runAsNonRoot', 'runAsUser', 'seccompProfile', 'supplementalGroups', 'supplementalGroupsPolicy'])
                message: a pod changes nothing of the host's kernel
              - expression: variables.amounts.all(one, (has(one.limits) == false || one.limits.all(name, name in ['cpu', 'ephemeral-storage', 'memory'] || name.startsWith('hugepages-'))) && (has(one.requests) == false || one.requests.all(name, name in ['cpu', 'ephemeral-storage', 'memory'] || name.startsWith('hugepages-'))))
                message: a container gets devices by claims alone
              - expression: variables.probes.all(one, (has(one.httpGet) == false || has(one.httpGet.host) == false) && (has(one.tcpSocket) == false || has(one.tcpSocket.host) == false))
                message: a probe asks its own container and nobody else in the host's name
              - expression: (has(variables.spec.serviceAccountName) == false || variables.spec.serviceAccountName in ['', 'default']) && (has(variables.spec.serviceAccount) == false || variables.spec.serviceAccount in ['', 'default'])
                message: a pod has the namespace's default service account
              - expression: (has(variables.spec.schedulerName) == false || variables.spec.schedulerName == 'default-scheduler') && (has(variables.spec.priority) == false || variables.spec.priority == 0)
                message: a pod has the cluster's scheduler, and no priority
              - expression: has(variables.spec.tolerations) == false || variables.spec.tolerations.all(one, has(one.key) && (one.key in ['node.kubernetes.io/disk-pressure', 'node.kubernetes.io/memory-pressure', 'node.kubernetes.io/network-unavailable', 'node.kubernetes.io/not-ready', 'node.kubernetes.io/pid-pressure', 'node.kubernetes.io/unreachable', 'node.kubernetes.io/unschedulable'] || one.key == 'bulkhead.dev/tenant' && (has(one.operator) == false || one.operator == 'Equal') && has(one.value) && one.value == namespaceObject.metadata.name))
                message: a pod bears the taint of its tenant's nodes and no other one's
              - expression: variables.neighbours.all(one, (has(one.requiredDuringSchedulingIgnoredDuringExecution) == false || one.requiredDuringSchedulingIgnoredDuringExecution.all(term, has(term.namespaces) == false && has(term.namespaceSelector) == false)) && (has(one.preferredDuringSchedulingIgnoredDuringExecution) == false || one.preferredDuringSchedulingIgnoredDuringExecution.all(term, has(term.podAffinityTerm.namespaces) == false && has(term.podAffinityTerm.namespaceSelector) == false)))
                message: a pod keeps close to, or away from, pods of its own namespace alone
              - expression: variables.labels.all(key, key.contains('/') == false && key.contains('.') == false || key in ['bulkhead.dev/job', 'security.istio.io/tlsMode', 'service.istio.io/canonical-name', 'service.istio.io/canonical-revision'] || key.startsWith('app.kubernetes.io/') || key.startsWith('apps.kubernetes.io/') || key.startsWith('batch.kubernetes.io/') || key.startsWith('kamaji.clastix.io/') || key.startsWith('component.kamaji.clastix.io/') || key.startsWith('statefulset.kubernetes.io/') || key.startsWith('topology.kubernetes.io/') || key in variables.oldLabels && variables.oldLabels[key] == variables.labels[key])
                message: a label with a prefix may be an order to somebody, such as to leave out the mesh's proxy; leave it out
              - expression: variables.notes.all(key, key.contains('/') == false && key.contains('.') == false || key in ['istio.io/rev', 'kubernetes.io/limit-ranger', 'sidecar.istio.io/status'] || key.startsWith('batch.kubernetes.io/') || key.startsWith('kubectl.kubernetes.io/') || key.startsWith('prometheus.io/') || key in variables.oldNotes && variables.oldNotes[key] == variables.notes[key])
                message: an annotation with a prefix may be an order to somebody, such as to join another network or to open a device; leave it out
            ---
            apiVersion: admissionregistration.k8s.io/v1
            kind: ValidatingAdmissionPolicyBinding
            metadata:
              name: templates.bulkhead.dev
            spec:
              policyName: templates.bulkhead.dev
              matchResources:
                matchPolicy: Equivalent
                namespaceSelector:
                  matchExpressions:
                  - key: bulkhead.dev/runtime
                    operator: In
                    values:
                    - container
                objectSelector: {}
              validationActions:
              - Deny
            ---
            apiVersion: admissionregistration.k8s.io/v1
            kind: ValidatingAdmissionPolicy
            metadata:
              name: cronjobs.bulkhead.dev
            spec:
              failurePolicy: Fail
              matchConstraints:
                matchPolicy: Equivalent
                namespaceSelector: {}
                objectSelector: {}
                resourceRules:
                - apiGroups:
                  - batch
                  apiVersions:
                  - "*"
                  operations:
                  - CREATE
                  - UPDATE
                  resources:
                  - cronjobs
                  scope: "*"
              variables:
              - name: meta
                expression: has(object.spec.jobTemplate.spec.template.metadata)?object.spec.jobTemplate.spec.template.metadata:{}
              - name: spec
                expression: object.spec.jobTemplate.spec.template.spec
              - name: oldLabels
                expression: "{}"
              - name: oldNotes
                expression: "{}"
              - name: home
                expression: "'tenant.node-restriction.kubernetes.io/' + namespaceObject.metadata.name"
              - name: labels
                expression: has(variables.meta.labels)?variables.meta.labels:{}
              - name: notes
                expression: has(variables.meta.annotations)?variables.meta.annotations:{}
              - name: nodes
                expression: has(variables.spec.nodeSelector)?variables.spec.nodeSelector:{}
              - name: host
                expression: "'kubernetes.io/hostname' in variables.nodes?variables.nodes['kubernetes.io/hostname']:''"
              - name: job
                expression: "'bulkhead.dev/job' in variables.labels?variables.labels['bulkhead.dev/job']:''"
              - name: claims
                expression: has(variables.spec.resourceClaims)?variables.spec.resourceClaims:[]
              - name: containers
                expression: variables.spec.containers + (has(variables.spec.initContainers)?variables.spec.initContainers:[])
              - name: privileges
                expression: variables.containers.filter(one, has(one.securityContext)).map(one, one.securityContext)
              - name: amounts
                expression: variables.containers.filter(one, has(one.resources)).map(one, one.resources) + (has(variables.spec.resources)?[variables.spec.resources]:[])
              - name: hooks
                expression: variables.containers.filter(one, has(one.lifecycle)).map(one, one.lifecycle)
              - name: probes
                expression: variables.containers.filter(one, has(one.livenessProbe)).map(one, one.livenessProbe) + variables.containers.filter(one, has(one.readinessProbe)).map(one, one.readinessProbe) + variables.containers.filter(one, has(one.startupProbe)).map(one, one.startupProbe) + variables.hooks.filter(one, has(one.postStart)).map(one, one.postStart) + variables.hooks.filter(one, has(one.preStop)).map(one, one.preStop)
              - name: neighbours
                expression: (has(variables.spec.affinity) && has(variables.spec.affinity.podAffinity)?[variables.spec.affinity.podAffinity]:[]) + (has(variables.spec.affinity) && has(variables.spec.affinity.podAntiAffinity)?[variables.spec.affinity.podAntiAffinity]:[])
              validations:
              - expression: has(variables.spec.nodeName) == false
                message: the scheduler chooses the node
              - expression: variables.spec.all(field, field in ['activeDeadlineSeconds', 'affinity', 'automountServiceAccountToken', 'containers', 'dnsConfig', 'dnsPolicy', 'enableServiceLinks', 'hostAliases', 'hostIPC', 'hostNetwork', 'hostPID', 'hostUsers', 'hostname', 'imagePullSecrets', 'initContainers', 'nodeName', 'nodeSelector', 'os', 'preemptionPolicy', 'priority', 'readinessGates', 'resourceClaims', 'resources', 'restartPolicy', 'schedulerName', 'schedulingGates', 'securityContext', 'serviceAccount', 'serviceAccountName', 'setHostnameAsFQDN', 'shareProcessNamespace', 'subdomain', 'terminationGracePeriodSeconds', 'tolerations', 'topologySpreadConstraints', 'volumes'])
                message: the pod says something that no pod of a tenant may say, such as a class of priority, a runtime or a container that is added later
              - expression: variables.home in variables.nodes && variables.nodes[variables.home] == 'here'
                message: a pod selects the nodes of its tenant, by the label of its namespace
              - expression: variables.claims.all(claim, claim.all(field, field in ['name', 'resourceClaimName']) && has(claim.resourceClaimName) && (claim.resourceClaimName + '.').startsWith(variables.job + '.' + variables.host + '.'))
                message: a pod has only planned claims of its own job, and selects their node by its hostname
              - expression: size(variables.claims) == 0 || variables.job != '' && variables.host != '' && variables.job.contains('.') == false
                message: a pod with claims says its job in a label, and selects their node by its hostname
              - expression: (has(variables.spec.hostNetwork) == false || variables.spec.hostNetwork == false) && (has(variables.spec.hostPID) == false || variables.spec.hostPID == false) && (has(variables.spec.hostIPC) == false || variables.spec.hostIPC == false)
                message: a pod has nothing of the host
              - expression: has(variables.spec.volumes) == false || variables.spec.volumes.all(volume, volume.all(field, field in ['configMap', 'downwardAPI', 'emptyDir', 'name', 'persistentVolumeClaim', 'projected', 'secret']))
                message: a pod has only volumes of its own namespace
              - expression: variables.containers.all(one, one.all(field, field in ['args', 'command', 'env', 'envFrom', 'image', 'imagePullPolicy', 'lifecycle', 'livenessProbe', 'name', 'ports', 'readinessProbe', 'resizePolicy', 'resources', 'restartPolicy', 'restartPolicyRules', 'securityContext', 'startupProbe', 'stdin', 'stdinOnce', 'terminationMessagePath', 'terminationMessagePolicy', 'tty', 'volumeMounts', 'workingDir']))
                message: a container says something that no container of a tenant may say, such as a raw device
              - expression: variables.containers.all(one, has(one.ports) == false || one.ports.all(port, (has(port.hostPort) == false || port.hostPort == 0) && has(port.hostIP) == false))
                message: a container has no port on the host
              - expression: variables.privileges.all(one, one.all(field, field in ['allowPrivilegeEscalation', 'appArmorProfile', 'capabilities', 'privileged', 'readOnlyRootFilesystem', 'runAsGroup', 'runAsNonRoot', 'runAsUser', 'seccompProfile']) && (has(one.privileged) == false || one.privileged == false) && (has(one.capabilities) == false || has(one.capabilities.add) == false || one.capabilities.add.all(name, name == 'NET_BIND_SERVICE')))
                message: a container has no privileges
              - expression: has(variables.spec.securityContext) == false || variables.spec.securityContext.all(field, field in ['appArmorProfile', 'fsGroup', 'fsGroupChangePolicy', 'runAsGroup', 'runAsNonRoot', 'runAsUser', 'seccompProfile', 'supplementalGroups', 'supplementalGroupsPolicy'])
                message: a pod changes nothing of the host's kernel
              - expression: variables.amounts.all(one, (has(one.limits) == false || one.limits.all(name, name in ['cpu', 'ephemeral-storage', 'memory'] || name.startsWith('hugepages-'))) && (has(one.requests) == false || one.requests.all(name, name in ['cpu', 'ephemeral-storage', 'memory'] || name.startsWith('hugepages-'))))
                message: a container gets devices by claims alone
              - expression: variables.probes.all(one, (has(one.httpGet) == false || has(one.httpGet.host) == false) && (has(one.tcpSocket) == false || has(one.tcpSocket.host) == false))
                message: a probe asks its own container and nobody else in the host's name
              - expression: (has(variables.spec.serviceAccountName) == false || variables.spec.serviceAccountName in ['', 'default']) && (has(variables.spec.serviceAccount) == false || variables.spec.serviceAccount in ['', 'default'])
                message: a pod has the namespace's default service account
              - expression: (has(variables.spec.schedulerName) == false || variables.spec.schedulerName == 'default-scheduler') && (has(variables.spec.priority) == false || variables.spec.priority == 0)
                message: a pod has the cluster's scheduler, and no priority
              - expression: has(variables.spec.tolerations) == false || variables.spec.tolerations.all(one, has(one.key) && (one.key in ['node.kubernetes.io/disk-pressure', 'node.kubernetes.io/memory-pressure', 'node.kubernetes.io/network-unavailable', 'node.kubernetes.io/not-ready', 'node.kubernetes.io/pid-pressure', 'node.kubernetes.io/unreachable', 'node.kubernetes.io/unschedulable'] || one.key == 'bulkhead.dev/tenant' && (has(one.operator) == false || one.operator == 'Equal') && has(one.value) && one.value == namespaceObject.metadata.name))
                message: a pod bears the taint of its tenant's nodes and no other one's
              - expression: variables.neighbours.all(one, (has(one.requiredDuringSchedulingIgnoredDuringExecution) == false || one.requiredDuringSchedulingIgnoredDuringExecution.all(term, has(term.namespaces) == false && has(term.namespaceSelector) == false)) && (has(one.preferredDuringSchedulingIgnoredDuringExecution) == false || one.preferredDuringSchedulingIgnoredDuringExecution.all(term, has(term.podAffinityTerm.namespaces) == false && has(term.podAffinityTerm.namespaceSelector) == false)))
                message: a pod keeps close to, or away from, pods of its own namespace alone
              - expression: variables.labels.all(key, key.contains('/') == false && key.contains('.') == false || key in ['bulkhead.dev/job', 'security.istio.io/tlsMode', 'service.istio.io/canonical-name', 'service.istio.io/canonical-revision'] || key.startsWith('app.kubernetes.io/') || key.startsWith('apps.kubernetes.io/') || key.startsWith('batch.kubernetes.io/') || key.startsWith('kamaji.clastix.io/') || key.startsWith('component.kamaji.clastix.io/') || key.startsWith('statefulset.kubernetes.io/') || key.startsWith('topology.kubernetes.io/') || key in variables.oldLabels && variables.oldLabels[key] == variables.labels[key])
                message: a label with a prefix may be an order to somebody, such as to leave out the mesh's proxy; leave it out
              - expression: variables.notes.all(key, key.contains('/') == false && key.contains('.') == false || key in ['istio.io/rev', 'kubernetes.io/limit-ranger', 'sidecar.istio.io/status'] || key.startsWith('batch.kubernetes.io/') || key.startsWith('kubectl.kubernetes.io/') || key.startsWith('prometheus.io/') || key in variables.oldNotes && variables.oldNotes[key] == variables.notes[key])
                message: an annotation with a prefix may be an order to somebody, such as to join another network or to open a device; leave it out
            ---
            apiVersion: admissionregistration.k8s.io/v1
            kind: ValidatingAdmissionPolicyBinding
            metadata:
              name: cronjobs.bulkhead.dev
            spec:
              policyName: cronjobs.bulkhead.dev
              matchResources:
                matchPolicy: Equivalent
                namespaceSelector:
                  matchExpressions:
                  - key: bulkhead.dev/runtime
                    operator: In
                    values:
                    - container
                objectSelector: {}
              validationActions:
              - Deny
            ---
            apiVersion: admissionregistration.k8s.io/v1
            kind: ValidatingAdmissionPolicy
            metadata:
              name: podtemplates.bulkhead.dev
            spec:
              failurePolicy: Fail
              matchConstraints:
                matchPolicy: Equivalent
                namespaceSelector: {}
                objectSelector: {}
                resourceRules:
                - apiGroups:
                  - ""
                  apiVersions:
                  - "*"
                  operations:
                  - CREATE
                  - UPDATE
                  resources:
                  - podtemplates
                  scope: "*"
              variables:
              - name: meta
                expression: has(object.template.metadata)?object.template.metadata:{}
              - name: spec
                expression: object.template.spec
              - name: oldLabels
                expression: "{}"
              - name: oldNotes
                expression: "{}"
              - name: home
                expression: "'tenant.node-restriction.kubernetes.io/' + namespaceObject.metadata.name"
              - name: labels
                expression: has(variables.meta.labels)?variables.meta.labels:{}
              - name: notes
                expression: has(variables.meta.annotations)?variables.meta.annotations:{}
              - name: nodes
                expression: has(variables.spec.nodeSelector)?variables.spec.nodeSelector:{}
              - name: host
                expression: "'kubernetes.io/hostname' in variables.nodes?variables.nodes['kubernetes.io/hostname']:''"
              - name: job
                expression: "'bulkhead.dev/job' in variables.labels?variables.labels['bulkhead.dev/job']:''"
              - name: claims
                expression: has(variables.spec.resourceClaims)?variables.spec.resourceClaims:[]
              - name: containers
                expression: variables.spec.containers + (has(variables.spec.initContainers)?variables.spec.initContainers:[])
              - name: privileges
                expression: variables.containers.filter(one, has(one.securityContext)).map(one, one.securityContext)
              - name: amounts
                expression: variables.containers.filter(one, has(one.resources)).map(one, one.resources) + (has(variables.spec.resources)?[variables.spec.resources]:[])
              - name: hooks
                expression: variables.containers.filter(one, has(one.lifecycle)).map(one, one.lifecycle)
              - name: probes
                expression: variables.containers.filter(one, has(one.livenessProbe)).map(one, one.livenessProbe) + variables.containers.filter(one, has(one.readinessProbe)).map(one, one.readinessProbe) + variables.containers.filter(one, has(one.startupProbe)).map(one, one.startupProbe) + variables.hooks.filter(one, has(one.postStart)).map(one, one.postStart) + variables.hooks.filter(one, has(one.preStop)).map(one, one.preStop)
              - name: neighbours
                expression: (has(variables.spec.affinity) && has(variables.spec.affinity.podAffinity)?[variables.spec.affinity.podAffinity]:[]) + (has(variables.spec.affinity) && has(variables.spec.affinity.podAntiAffinity)?[variables.spec.affinity.podAntiAffinity]:[])
              validations:
              - expression: has(variables.spec.nodeName) == false
                message: the scheduler chooses the node
              - expression: variables.spec.all(field, field in ['activeDeadlineSeconds', 'affinity', 'automountServiceAccountToken', 'containers', 'dnsConfig', 'dnsPolicy', 'enableServiceLinks', 'hostAliases', 'hostIPC', 'hostNetwork', 'hostPID', 'hostUsers', 'hostname', 'imagePullSecrets', 'initContainers', 'nodeName', 'nodeSelector', 'os', 'preemptionPolicy', 'priority', 'readinessGates', 'resourceClaims', 'resources', 'restartPolicy', 'schedulerName', 'schedulingGates', 'securityContext', 'serviceAccount', 'serviceAccountName', 'setHostnameAsFQDN', 'shareProcessNamespace', 'subdomain', 'terminationGracePeriodSeconds', 'tolerations', 'topologySpreadConstraints', 'volumes'])
                message: the pod says something that no pod of a tenant may say, such as a class of priority, a runtime or a container that is added later
              - expression: variables.home in variables.nodes && variables.nodes[variables.home] == 'here'
                message: a pod selects the nodes of its tenant, by the label of its namespace
              - expression: variables.claims.all(claim, claim.all(field, field in ['name', 'resourceClaimName']) && has(claim.resourceClaimName) && (claim.resourceClaimName + '.').startsWith(variables.job + '.' + variables.host + '.'))
                message: a pod has only planned claims of its own job, and selects their node by its hostname
              - expression: size(variables.claims) == 0 || variables.job != '' && variables.host != '' && variables.job.contains('.') == false
                message: a pod with claims says its job in a label, and selects their node by its hostname
              - expression: (has(variables.spec.hostNetwork) == false || variables.spec.hostNetwork == false) && (has(variables.spec.hostPID) == false || variables.spec.hostPID == false) && (has(variables.spec.hostIPC) == false || variables.spec.hostIPC == false)
                message: a pod has nothing of the host
              - expression: has(variables.spec.volumes) == false || variables.spec.volumes.all(volume, volume.all(field, field in ['configMap', 'downwardAPI', 'emptyDir', 'name', 'persistentVolumeClaim', 'projected', 'secret']))
                message: a pod has only volumes of its own namespace
              - expression: variables.containers.all(one, one.all(field, field in ['args', 'command', 'env', 'envFrom', 'image', 'imagePullPolicy', 'lifecycle', 'livenessProbe', 'name', 'ports', 'readinessProbe', 'resizePolicy', 'resources', 'restartPolicy', 'restartPolicyRules', 'securityContext', 'startupProbe', 'stdin', 'stdinOnce', 'terminationMessagePath', 'terminationMessagePolicy', 'tty', 'volumeMounts', 'workingDir']))
                message: a container says something that no container of a tenant may say, such as a raw device
              - expression: variables.containers.all(one, has(one.ports) == false || one.ports.all(port, (has(port.hostPort) == false || port.hostPort == 0) && has(port.hostIP) == false))
                message: a container has no port on the host
              - expression: variables.privileges.all(one, one.all(field, field in ['allowPrivilegeEscalation', 'appArmorProfile', 'capabilities', 'privileged', 'readOnlyRootFilesystem', 'runAsGroup', 'runAsNonRoot', 'runAsUser', 'seccompProfile']) && (has(one.privileged) == false || one.privileged == false) && (has(one.capabilities) == false || has(one.capabilities.add) == false || one.capabilities.add.all(name, name == 'NET_BIND_SERVICE')))
                message: a container has no privileges
              - expression: has(variables.spec.securityContext) == false || variables.spec.securityContext.all(field, field in ['appArmorProfile', 'fsGroup', 'fsGroupChangePolicy', 'runAsGroup', 'runAsNonRoot', 'runAsUser', 'seccompProfile', 'supplementalGroups', 'supplementalGroupsPolicy'])
                message: a pod changes nothing of the host's kernel
              - expression: variables.amounts.all(one, (has(one.limits) == false || one.limits.all(name, name in ['cpu', 'ephemeral-storage', 'memory'] || name.startsWith('hugepages-'))) && (has(one.requests) == false || one.requests.all(name, name in ['cpu', 'ephemeral-storage', 'memory'] || name.startsWith('hugepages-'))))
                message: a container gets devices by claims alone
              - expression: variables.probes.all(one, (has(one.httpGet) == false || has(one.httpGet.host) == false) && (has(one.tcpSocket) == false || has(one.tcpSocket.host) == false))
                message: a probe asks its own container and nobody else in the host's name
              - expression: (has(variables.spec.serviceAccountName) == false || variables.spec.serviceAccountName in ['', 'default']) && (has(variables.spec.serviceAccount) == false || variables.spec.serviceAccount in ['', 'default'])
                message: a pod has the namespace's default service account
              - expression: (has(variables.spec.schedulerName) == false || variables.spec.schedulerName == 'default-scheduler') && (has(variables.spec.priority) == false || variables.spec.priority == 0)
                message: a pod has the cluster's scheduler, and no priority
              - expression: has(variables.spec.tolerations) == false || variables.spec.tolerations.all(one, has(one.key) && (one.key in ['node.kubernetes.io/disk-pressure', 'node.kubernetes.io/memory-pressure', 'node.kubernetes.io/network-unavailable', 'node.kubernetes.io/not-ready', 'node.kubernetes.io/pid-pressure', 'node.kubernetes.io/unreachable', 'node.kubernetes.io/unschedulable'] || one.key == 'bulkhead.dev/tenant' && (has(one.operator) == false || one.operator == 'Equal') && has(one.value) && one.value == namespaceObject.metadata.name))
                message: a pod bears the taint of its tenant's nodes and no other one's
              - expression: variables.neighbours.all(one, (has(one.requiredDuringSchedulingIgnoredDuringExecution) == false || one.requiredDuringSchedulingIgnoredDuringExecution.all(term, has(term.namespaces) == false && has(term.namespaceSelector) == false)) && (has(one.preferredDuringSchedulingIgnoredDuringExecution) == false || one.preferredDuringSchedulingIgnoredDuringExecution.all(term, has(term.podAffinityTerm.namespaces) == false && has(term.podAffinityTerm.namespaceSelector) == false)))
                message: a pod keeps close to, or away from, pods of its own namespace alone
              - expression: variables.labels.all(key, key.contains('/') == false && key.contains('.') == false || key in ['bulkhead.dev/job', 'security.istio.io/tlsMode', 'service.istio.io/canonical-name', 'service.istio.io/canonical-revision'] || key.startsWith('app.kubernetes.io/') || key.startsWith('apps.kubernetes.io/') || key.startsWith('batch.kubernetes.io/') || key.startsWith('kamaji.clastix.io/') || key.startsWith('component.kamaji.clastix.io/') || key.startsWith('statefulset.kubernetes.io/') || key.startsWith('topology.kubernetes.io/') || key in variables.oldLabels && variables.oldLabels[key] == variables.labels[key])
                message: a label with a prefix may be an order to somebody, such as to leave out the mesh's proxy; leave it out
              - expression: variables.notes.all(key, key.contains('/') == false && key.contains('.') == false || key in ['istio.io/rev', 'kubernetes.io/limit-ranger', 'sidecar.istio.io/status'] || key.startsWith('batch.kubernetes.io/') || key.startsWith('kubectl.kubernetes.io/') || key.startsWith('prometheus.io/') || key in variables.oldNotes && variables.oldNotes[key] == variables.notes[key])
                message: an annotation with a prefix may be an order to somebody, such as to join another network or to open a device; leave it out
            ---
            apiVersion: admissionregistration.k8s.io/v1
            kind: ValidatingAdmissionPolicyBinding
            metadata:
              name: podtemplates.bulkhead.dev
            spec:
              policyName: podtemplates.bulkhead.dev
              matchResources:
                matchPolicy: Equivalent
                namespaceSelector:
                  matchExpressions:
                  - key: bulkhead.dev/runtime
                    operator: In
                    values:
                    - container
                objectSelector: {}
              validationActions:
              - Deny
            ---
            apiVersion: admissionregistration.k8s.io/v1
            kind: ValidatingAdmissionPolicy
            metadata:
              name: machines.bulkhead.dev
            spec:
              failurePolicy: Fail
              matchConstraints:
                matchPolicy: Equivalent
                namespaceSelector: {}
                objectSelector: {}
                resourceRules:
                - apiGroups:
                  - ""
                  apiVersions:
                  - "*"
                  operations:
                  - CREATE
                  - UPDATE
                  resources:
                  - pods
                  - podtemplates
                  - replicationcontrollers
                  scope: "*"
                - apiGroups:
                  - apps
                  apiVersions:
                  - "*"
                  operations:
                  - CREATE
                  - UPDATE
                  resources:
                  - daemonsets
                  - deployments
                  - replicasets
                  - statefulsets
                  scope: "*"
                - apiGroups:
                  - batch
                  apiVersions:
                  - "*"
                  operations:
                  - CREATE
                  - UPDATE
                  resources:
                  - cronjobs
                  - jobs
                  scope: "*"
              variables:
              - name: home
                expression: "'tenant.node-restriction.kubernetes.io/' + namespaceObject.metadata.name"
              validations:
              - expression: request.resource.resource == 'pods' && (request.operation == 'UPDATE' || request.userInfo.username == 'system:serviceaccount:kubevirt:kubevirt-controller')
                message: jobs of this tenant run in machines, and only KubeVirt makes their pods
              - expression: has(object.spec.nodeSelector) && variables.home in object.spec.nodeSelector && object.spec.nodeSelector[variables.home] == 'here'
                message: a pod selects the nodes of its tenant
              - expression: request.operation == 'UPDATE' || has(object.spec.nodeName) == false
                message: the scheduler chooses the node
              - expression: has(object.spec.tolerations) == false || object.spec.tolerations.all(one, has(one.key) && (one.key.startsWith('node.kubernetes.io/') || one.key == 'bulkhead.dev/tenant' && (has(one.operator) == false || one.operator == 'Equal') && has(one.value) && one.value in [namespaceObject.metadata.name, 'shared']))
                message: a pod bears the taint of its tenant's nodes and no other one's
            ---
            apiVersion: admissionregistration.k8s.io/v1
            kind: ValidatingAdmissionPolicyBinding
            metadata:
              name: machines.bulkhead.dev
            spec:
              policyName: machines.bulkhead.dev
              matchResources:
                matchPolicy: Equivalent
                namespaceSelector:
                  matchExpressions:
                  - key: bulkhead.dev/runtime
                    operator: In
                    values:
                    - vm
                objectSelector: {}
              validationActions:
              - Deny
            ---
            apiVersion: admissionregistration.k8s.io/v1
            kind: ValidatingAdmissionPolicy
            metadata:
              name: services.bulkhead.dev
            spec:
              failurePolicy: Fail
              matchConstraints:
                matchPolicy: Equivalent
                namespaceSelector: {}
                objectSelector: {}
                resourceRules:
                - apiGroups:
                  - ""
                  apiVersions:
                  - "*"
                  operations:
                  - CREATE
                  - UPDATE
                  resources:
                  - services
                  scope: "*"
              variables:
              - name: labels
                expression: has(object.metadata.labels)?object.metadata.labels:{}
              - name: notes
                expression: has(object.metadata.annotations)?object.metadata.annotations:{}
              - name: oldLabels
                expression: request.operation == 'UPDATE' && has(oldObject.metadata.labels)?oldObject.metadata.labels:{}
              - name: oldNotes
                expression: request.operation == 'UPDATE' && has(oldObject.metadata.annotations)?oldObject.metadata.annotations:{}
              validations:
              - expression: object.spec.all(field, field in ['clusterIP', 'clusterIPs', 'internalTrafficPolicy', 'ipFamilies', 'ipFamilyPolicy', 'ports', 'publishNotReadyAddresses', 'selector', 'sessionAffinity', 'sessionAffinityConfig', 'trafficDistribution', 'type'])
                message: a service has no address, name or port outside of the cluster
              - expression: has(object.spec.type) == false || object.spec.type == 'ClusterIP'
                message: a service is of type ClusterIP
              - expression: has(object.spec.ports) == false || object.spec.ports.all(port, has(port.nodePort) == false || port.nodePort == 0)
                message: a service has no port on nodes
              - expression: request.operation == 'UPDATE' || (has(object.spec.clusterIP) == false || object.spec.clusterIP in ['', 'None']) && (has(object.spec.clusterIPs) == false || object.spec.clusterIPs.all(address, address == 'None'))
                message: the cluster chooses the address of a service
              - expression: variables.labels.all(key, key.contains('/') == false && key.contains('.') == false || key.startsWith('app.kubernetes.io/') || key.startsWith('kamaji.clastix.io/') || key.startsWith('component.kamaji.clastix.io/') || key in variables.oldLabels && variables.oldLabels[key] == variables.labels[key])
                message: a label with a prefix may be an order to somebody; leave it out
              - expression: variables.notes.all(key, key.contains('/') == false && key.contains('.') == false || key.startsWith('kubectl.kubernetes.io/') || key.startsWith('prometheus.io/') || key in variables.oldNotes && variables.oldNotes[key] == variables.notes[key])
                message: an annotation with a prefix may be an order to somebody; leave it out
            ---
            apiVersion: admissionregistration.k8s.io/v1
            kind: ValidatingAdmissionPolicyBinding
            metadata:
              name: services.bulkhead.dev
            spec:
              policyName: services.bulkhead.dev
              matchResources:
                matchPolicy: Equivalent
                namespaceSelector:
                  matchExpressions:
                  - key: bulkhead.dev/runtime
                    operator: In
                    values:
                    - container
                    - vm
                objectSelector: {}
              validationActions:
              - Deny
            ---
            apiVersion: admissionregistration.k8s.io/v1
            kind: ValidatingAdmissionPolicy
            metadata:
              name: volumes.bulkhead.dev
            spec:
              failurePolicy: Fail
              matchConstraints:
                matchPolicy: Equivalent
                namespaceSelector: {}
                objectSelector: {}
                resourceRules:
                - apiGroups:
                  - ""
                  apiVersions:
                  - "*"
                  operations:
                  - CREATE
                  - UPDATE
                  resources:
                  - persistentvolumeclaims
                  scope: "*"
              variables:
              - name: labels
                expression: has(object.metadata.labels)?object.metadata.labels:{}
              - name: notes
                expression: has(object.metadata.annotations)?object.metadata.annotations:{}
              - name: oldLabels
                expression: request.operation == 'UPDATE' && has(oldObject.metadata.labels)?oldObject.metadata.labels:{}
              - name: oldNotes
                expression: request.operation == 'UPDATE' && has(oldObject.metadata.annotations)?oldObject.metadata.annotations:{}
              - name: system
                expression: request.userInfo.username in ['system:kube-controller-manager', 'system:kube-scheduler'] || request.userInfo.username.startsWith('system:serviceaccount:kube-system:')
              validations:
              - expression: object.spec.all(field, field in ['accessModes', 'resources', 'storageClassName', 'volumeMode', 'volumeName'])
                message: a volume is new and empty
              - expression: has(object.spec.storageClassName) && object.spec.storageClassName == namespaceObject.metadata.name
                message: a volume is of the tenant's own class, which is called as its namespace
              - expression: request.operation == 'UPDATE' || has(object.spec.volumeName) == false
                message: the cluster chooses the volume
              - expression: variables.labels.all(key, key.contains('/') == false && key.contains('.') == false || key.startsWith('app.kubernetes.io/') || variables.system || key in variables.oldLabels && variables.oldLabels[key] == variables.labels[key])
                message: a label with a prefix may be an order to somebody; leave it out
              - expression: variables.notes.all(key, key.contains('/') == false && key.contains('.') == false || key.startsWith('kubectl.kubernetes.io/') || variables.system && request.operation == 'UPDATE' || key in variables.oldNotes && variables.oldNotes[key] == variables.notes[key])
                message: an annotation with a prefix may be an order to somebody; leave it out
            ---
            apiVersion: admissionregistration.k8s.io/v1
            kind: ValidatingAdmissionPolicyBinding
            metadata:
              name: volumes.bulkhead.dev
            spec:
              policyName: volumes.bulkhead.dev
              matchResources:
                matchPolicy: Equivalent
                namespaceSelector:
                  matchExpressions:
                  - key: bulkhead.dev/runtime
                    operator: In
                    values:
                    - container
                    - vm
                objectSelector: {}
              validationActions:
              - Deny
            ---
            apiVersion: admissionregistration.k8s.io/v1
            kind: ValidatingAdmissionPolicy
            metadata:
              name: secrets.bulkhead.dev
            spec:
              failurePolicy: Fail
              matchConstraints:
                matchPolicy: Equivalent
                namespaceSelector: {}
                objectSelector: {}
                resourceRules:
                - apiGroups:
                  - ""
                  apiVersions:
                  - "*"
                  operations:
                  - CREATE
                  - UPDATE
                  resources:
                  - secrets
                  scope: "*"
              validations:
              - expression: has(object.type) == false || object.type in ['Opaque', 'helm.sh/release.v1', 'kubernetes.io/basic-auth', 'kubernetes.io/dockercfg', 'kubernetes.io/dockerconfigjson', 'kubernetes.io/ssh-auth', 'kubernetes.io/tls']
                message: a secret is no key to the cluster
            ---
            apiVersion: admissionregistration.k8s.io/v1
            kind: ValidatingAdmissionPolicyBinding
            metadata:
              name: secrets.bulkhead.dev
            spec:
              policyName: secrets.bulkhead.dev
              matchResources:
                matchPolicy: Equivalent
                namespaceSelector:
                  matchExpressions:
                  - key: bulkhead.dev/runtime
                    operator: In
                    values:
                    - container
                    - vm
                objectSelector: {}
              validationActions:
              - Deny
            ---
            apiVersion: admissionregistration.k8s.io/v1
            kind: ValidatingAdmissionPolicy
            metadata:
              name: system.bulkhead.dev
            spec:
              failurePolicy: Fail
              matchConstraints:
                matchPolicy: Equivalent
                namespaceSelector: {}
                objectSelector: {}
                resourceRules:
                - apiGroups:
                  - ""
                  apiVersions:
                  - "*"
                  operations:
                  - CREATE
                  - UPDATE
                  resources:
                  - bindings
                  - endpoints
                  - pods/binding
                  - pods/ephemeralcontainers
                  scope: "*"
                - apiGroups:
                  - discovery.k8s.io
                  apiVersions:
                  - "*"
                  operations:
                  - CREATE
                  - UPDATE
                  resources:
                  - endpointslices
                  scope: "*"
              variables:
              - name: system
                expression: request.userInfo.username in ['system:kube-controller-manager', 'system:kube-scheduler'] || request.userInfo.username.startsWith('system:serviceaccount:kube-system:')
              validations:
              - expression: variables.system && request.subResource != 'ephemeralcontainers'
                message: only the cluster itself says where pods run and where services lead, and nobody adds a container to a pod
            ---
            apiVersion: admissionregistration.k8s.io/v1
            kind: ValidatingAdmissionPolicyBinding
            metadata:
              name: system.bulkhead.dev
            spec:
              policyName: system.bulkhead.dev
              matchResources:
                matchPolicy: Equivalent
                namespaceSelector:
                  matchExpressions:
                  - key: bulkhead.dev/runtime
                    operator: In
                    values:
                    - container
                    - vm
                objectSelector: {}
              validationActions:
              - Deny
            ---
            apiVersion: resource.k8s.io/v1
            kind: ResourceSlice
            metadata:
              name: mi-1-gpu.amd.com
            spec:
              driver: gpu.amd.com
              nodeName: mi-1
              pool:
                generation: 1
                name: mi-1
                resourceSliceCount: 1
              devices:
              - name: gpu-0-128
                attributes:
                  pciAddr:
                    string: "0001:02:1f.7"
                  type:
                    string: amdgpu
            ---
            apiVersion: resource.k8s.io/v1
            kind: ResourceSlice
            metadata:
              name: hgx-1-gpu.nvidia.com
            spec:
              driver: gpu.nvidia.com
              nodeName: hgx-1
              pool:
                generation: 1
                name: hgx-1
                resourceSliceCount: 1
              devices:
              - name: gpu-1
                attributes:
                  pciBusID:
                    string: "0000:86:00.0"
                  type:
                    string: gpu
              - name: gpu-0
                attributes:
                  pciBusID:
                    string: "0000:0f:00.0"
                  type:
                    string: gpu
            ---
            apiVersion: resource.k8s.io/v1
            kind: ResourceSlice
            metadata:
              name: tray-1-gpu.nvidia.com
            spec:
              driver: gpu.nvidia.com
              nodeName: tray-1
              pool:
                generation: 1
                name: tray-1
                resourceSliceCount: 1
              devices:
              - name: gpu-0
                attributes:
                  pciBusID:
                    string: "0008:01:00.0"
                  type:
                    string: gpu
            ---
            apiVersion: resource.k8s.io/v1
            kind: ResourceSlice
            metadata:
              name: tray-2-gpu.nvidia.com
            spec:
              driver: gpu.nvidia.com
              nodeName: tray-2
              pool:
                generation: 1
                name: tray-2
                resourceSliceCount: 1
              devices:
              - name: gpu-0
                attributes:
                  pciBusID:
                    string: "0008:01:00.0"
                  type:
                    string: gpu
        "#]],
    );
}

#[test]
fn a_tenant_is_a_namespace_that_is_closed() {
    check(
        "tenant acme/research",
        expect![[r#"
            ---
            apiVersion: v1
            kind: Namespace
            metadata:
              name: acme-research-t1
              annotations:
                bulkhead.dev/tenant: acme/research
              labels:
                bulkhead.dev/runtime: vm
                istio-injection: enabled
                pod-security.kubernetes.io/enforce: restricted
            ---
            apiVersion: storage.k8s.io/v1
            kind: StorageClass
            metadata:
              name: acme-research-t1
              annotations:
                bulkhead.dev/tenant: acme/research
            provisioner: kubernetes.io/no-provisioner
            reclaimPolicy: Delete
            volumeBindingMode: WaitForFirstConsumer
            ---
            apiVersion: v1
            kind: LimitRange
            metadata:
              name: bounds
              namespace: acme-research-t1
            spec:
              limits:
              - type: Container
                default:
                  cpu: "8"
                  memory: 32Gi
                defaultRequest:
                  cpu: "1"
                  memory: 4Gi
            ---
            apiVersion: networking.k8s.io/v1
            kind: NetworkPolicy
            metadata:
              name: default-deny
              namespace: acme-research-t1
            spec:
              podSelector: {}
              policyTypes:
              - Ingress
              - Egress
            ---
            apiVersion: networking.k8s.io/v1
            kind: NetworkPolicy
            metadata:
              name: resolver
              namespace: acme-research-t1
            spec:
              podSelector: {}
              policyTypes:
              - Egress
              egress:
              - to:
                - namespaceSelector:
                    matchLabels:
                      kubernetes.io/metadata.name: kube-system
                  podSelector:
                    matchLabels:
                      k8s-app: kube-dns
                ports:
                - protocol: UDP
                  port: 53
                - protocol: TCP
                  port: 53
            ---
            apiVersion: projectcalico.org/v3
            kind: NetworkPolicy
            metadata:
              name: isolation
              namespace: acme-research-t1
            spec:
              order: 100
              selector: all()
              types:
              - Ingress
              - Egress
              ingress:
              - action: Deny
              egress:
              - action: Allow
                protocol: UDP
                destination:
                  namespaceSelector: kubernetes.io/metadata.name == 'kube-system'
                  selector: k8s-app == 'kube-dns'
                  ports:
                  - 53
              - action: Allow
                protocol: TCP
                destination:
                  namespaceSelector: kubernetes.io/metadata.name == 'kube-system'
                  selector: k8s-app == 'kube-dns'
                  ports:
                  - 53
              - action: Deny
            ---
            apiVersion: security.istio.io/v1
            kind: PeerAuthentication
            metadata:
              name: strict
              namespace: acme-research-t1
            spec:
              mtls:
                mode: STRICT
            ---
            apiVersion: security.istio.io/v1
            kind: AuthorizationPolicy
            metadata:
              name: same-namespace
              namespace: acme-research-t1
            spec:
              action: ALLOW
              rules:
              - from:
                - source:
                    namespaces:
                    - acme-research-t1
            ---
            apiVersion: rbac.authorization.k8s.io/v1
            kind: RoleBinding
            metadata:
              name: members
              namespace: acme-research-t1
            roleRef:
              apiGroup: rbac.authorization.k8s.io
              kind: ClusterRole
              name: tenant-machine-member
            subjects:
            - apiGroup: rbac.authorization.k8s.io
              kind: Group
              name: "oidc:acme"
            - apiGroup: rbac.authorization.k8s.io
              kind: Group
              name: staff
        "#]],
    );
}

#[test]
fn what_its_jobs_have_together_is_all_that_a_tenant_may_use() {
    check(
        "holdings acme/research",
        expect![[r#"
            ---
            apiVersion: v1
            kind: ResourceQuota
            metadata:
              name: limits
              namespace: acme-research-t1
            spec:
              hard:
                gpu.amd.com.deviceclass.resource.k8s.io/devices: "0"
                gpu.nvidia.com.deviceclass.resource.k8s.io/devices: "0"
                vfio.gpu.nvidia.com.deviceclass.resource.k8s.io/devices: "1"
                requests.amd.com/gpu: "0"
                requests.nvidia.com/gpu: "0"
                acme-research-t1.storageclass.storage.k8s.io/requests.storage: 1Ti
        "#]],
    );
}

#[test]
fn who_shares_no_host_has_a_control_plane_of_its_own() {
    let whole = text("kubernetes", Dialect::Kubernetes, "tenant red");
    let kinds: Vec<&str> = whole.lines().filter(|line| line.starts_with("kind: ")).collect();
    expect![[r#"
        kind: Namespace
        kind: StorageClass
        kind: LimitRange
        kind: NetworkPolicy
        kind: NetworkPolicy
        kind: NetworkPolicy
        kind: PeerAuthentication
        kind: AuthorizationPolicy
        kind: TenantControlPlane"#]]
    .assert_eq(&kinds.join("\n"));
    expect![[r#"
        # Values of the vCluster in the namespace red-t2.
        controlPlane:
          distro:
            k8s:
              enabled: true
              version: v1.34.0
        sync:
          toHost:
            pods:
              enabled: true
            networkPolicies:
              enabled: false
        policies:
          podSecurityStandard: restricted
          networkPolicy:
            enabled: true
    "#]]
    .assert_eq(&render::vcluster_values(&plan(), &"red".parse().unwrap()).unwrap());
}

#[test]
fn a_job_claims_its_gpus_by_name_node_by_node() {
    check(
        "job red/wide",
        expect![[r#"
            ---
            apiVersion: networking.k8s.io/v1
            kind: NetworkPolicy
            metadata:
              name: job.wide
              namespace: red-t2
              annotations:
                bulkhead.dev/job: red/wide
            spec:
              podSelector:
                matchLabels:
                  bulkhead.dev/job: wide
              policyTypes:
              - Ingress
              - Egress
              ingress:
              - from:
                - podSelector:
                    matchLabels:
                      bulkhead.dev/job: wide
              egress:
              - to:
                - podSelector:
                    matchLabels:
                      bulkhead.dev/job: wide
            ---
            apiVersion: projectcalico.org/v3
            kind: NetworkPolicy
            metadata:
              name: job.wide
              namespace: red-t2
              annotations:
                bulkhead.dev/job: red/wide
            spec:
              order: 90
              selector: bulkhead.dev/job == 'wide'
              types:
              - Ingress
              - Egress
              ingress:
              - action: Allow
                source:
                  selector: bulkhead.dev/job == 'wide'
              egress:
              - action: Allow
                destination:
                  selector: bulkhead.dev/job == 'wide'
            ---
            apiVersion: resource.k8s.io/v1
            kind: ResourceClaim
            metadata:
              name: wide.tray-1
              namespace: red-t2
              annotations:
                bulkhead.dev/job: red/wide
            spec:
              devices:
                requests:
                - name: gpu-0
                  exactly:
                    deviceClassName: gpu.nvidia.com
                    selectors:
                    - cel:
                        expression: device.attributes['gpu.nvidia.com'].pciBusID == '0008:01:00.0'
            ---
            apiVersion: resource.k8s.io/v1
            kind: ResourceClaim
            metadata:
              name: wide.tray-2
              namespace: red-t2
              annotations:
                bulkhead.dev/job: red/wide
            spec:
              devices:
                requests:
                - name: gpu-0
                  exactly:
                    deviceClassName: gpu.nvidia.com
                    selectors:
                    - cel:
                        expression: device.attributes['gpu.nvidia.com'].pciBusID == '0008:01:00.0'
        "#]],
    );
    check(
        "job red/other",
        expect![[r#"
            ---
            apiVersion: networking.k8s.io/v1
            kind: NetworkPolicy
            metadata:
              name: job.other
              namespace: red-t2
              annotations:
                bulkhead.dev/job: red/other
            spec:
              podSelector:
                matchLabels:
                  bulkhead.dev/job: other
              policyTypes:
              - Ingress
              - Egress
              ingress:
              - from:
                - podSelector:
                    matchLabels:
                      bulkhead.dev/job: other
              egress:
              - to:
                - podSelector:
                    matchLabels:
                      bulkhead.dev/job: other
            ---
            apiVersion: projectcalico.org/v3
            kind: NetworkPolicy
            metadata:
              name: job.other
              namespace: red-t2
              annotations:
                bulkhead.dev/job: red/other
            spec:
              order: 90
              selector: bulkhead.dev/job == 'other'
              types:
              - Ingress
              - Egress
              ingress:
              - action: Allow
                source:
                  selector: bulkhead.dev/job == 'other'
              egress:
              - action: Allow
                destination:
                  selector: bulkhead.dev/job == 'other'
            ---
            apiVersion: resource.k8s.io/v1
            kind: ResourceClaim
            metadata:
              name: other.mi-1
              namespace: red-t2
              annotations:
                bulkhead.dev/job: red/other
            spec:
              devices:
                requests:
                - name: gpu-0
                  exactly:
                    deviceClassName: gpu.amd.com
                    selectors:
                    - cel:
                        expression: device.attributes['gpu.amd.com'].pciAddr == '0001:02:1f.7'
        "#]],
    );
}

#[test]
fn a_machine_in_kubernetes_has_its_gpus_by_claim() {
    check(
        "job acme/research/train",
        expect![[r#"
            ---
            apiVersion: networking.k8s.io/v1
            kind: NetworkPolicy
            metadata:
              name: job.train
              namespace: acme-research-t1
              annotations:
                bulkhead.dev/job: acme/research/train
            spec:
              podSelector:
                matchLabels:
                  bulkhead.dev/job: train
              policyTypes:
              - Ingress
              - Egress
              ingress:
              - from:
                - podSelector:
                    matchLabels:
                      bulkhead.dev/job: train
              egress:
              - to:
                - podSelector:
                    matchLabels:
                      bulkhead.dev/job: train
            ---
            apiVersion: projectcalico.org/v3
            kind: NetworkPolicy
            metadata:
              name: job.train
              namespace: acme-research-t1
              annotations:
                bulkhead.dev/job: acme/research/train
            spec:
              order: 90
              selector: bulkhead.dev/job == 'train'
              types:
              - Ingress
              - Egress
              ingress:
              - action: Allow
                source:
                  selector: bulkhead.dev/job == 'train'
              egress:
              - action: Allow
                destination:
                  selector: bulkhead.dev/job == 'train'
            ---
            apiVersion: resource.k8s.io/v1
            kind: ResourceClaim
            metadata:
              name: train.hgx-1
              namespace: acme-research-t1
              annotations:
                bulkhead.dev/job: acme/research/train
            spec:
              devices:
                requests:
                - name: gpu-1
                  exactly:
                    deviceClassName: vfio.gpu.nvidia.com
                    selectors:
                    - cel:
                        expression: device.attributes['gpu.nvidia.com'].pciBusID == '0000:86:00.0'
            ---
            apiVersion: kubevirt.io/v1
            kind: VirtualMachine
            metadata:
              name: train.hgx-1
              namespace: acme-research-t1
              annotations:
                bulkhead.dev/job: acme/research/train
            spec:
              runStrategy: Manual
              template:
                metadata:
                  labels:
                    bulkhead.dev/job: train
                spec:
                  nodeSelector:
                    kubernetes.io/hostname: hgx-1
                    tenant.node-restriction.kubernetes.io/acme-research-t1: here
                  tolerations:
                  - effect: NoExecute
                    key: bulkhead.dev/tenant
                    operator: Equal
                    value: acme-research-t1
                  - effect: NoExecute
                    key: bulkhead.dev/tenant
                    operator: Equal
                    value: shared
                  resourceClaims:
                  - name: gpus-0
                    resourceClaimName: train.hgx-1
                  domain:
                    cpu:
                      cores: 8
                    memory:
                      guest: 64Gi
                    launchSecurity:
                      snp: {}
                    devices:
                      gpus:
                      - name: gpu-1
                        claimName: gpus-0
                        requestName: gpu-1
        "#]],
    );
}

fn check(part: &str, expected: Expect) {
    expected.assert_eq(&text("kubernetes", Dialect::Kubernetes, part));
}
