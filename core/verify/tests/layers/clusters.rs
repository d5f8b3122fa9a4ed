//! What schedulers hold, one rule at a time, in the same world.

use expect_test::expect;
use model::{Dialect, Name, Runtime};
use read::{Direction, Hold, Peer};

use crate::rules::check;

#[test]
fn a_label_that_contradicts_the_fleet_is_told() {
    check(
        |world| {
            world.change("kubernetes", Dialect::Kubernetes, |line| match line {
                Hold::Label { node, key, value }
                    if node.as_str() == "t1" && key.ends_with("domain") =>
                {
                    *value = "rack-2".into();
                    true
                }
                _ => false,
            });
        },
        expect![[r#"
            drift: t1: the label accelerator.topograph.run/domain is rack-2; the fleet says rack-1
              kubernetes kubernetes (head:13): t1 has label accelerator.topograph.run/domain=rack-2
        "#]],
    );
}

#[test]
fn a_scheduler_that_does_not_fence_is_told() {
    // Incident 6: limits by environment variable only.
    check(
        |world| {
            world.cut("slurm", Dialect::Slurm, |line| matches!(line, Hold::KeepsLabelsApart(_)));
            world.change("slurm", Dialect::Slurm, |line| match line {
                Hold::ConstrainsDevices(does) => {
                    *does = false;
                    true
                }
                _ => false,
            });
        },
        expect![[r#"
            unconstrained: slurm: Slurm does not keep jobs from devices that it did not give them
              slurm slurm (head:3): Slurm does not keep jobs from others' devices
              slurm slurm lacks ConstrainDevices=yes
            unlabelled: slurm: Slurm does not keep jobs of different accounts off each other's nodes
              slurm slurm lacks MCSPlugin=mcs/account
        "#]],
    );
}

#[test]
fn a_queue_with_another_tenants_node_is_a_breach() {
    check(
        |world| {
            world.change("slurm", Dialect::Slurm, |line| match line {
                Hold::Partition { partition, nodes, .. } if partition == "red" => {
                    nodes.push("t1".parse().unwrap());
                    true
                }
                _ => false,
            });
        },
        expect![[r#"
            breach: account red (red) meets t1 (gold/big) in Slurm partition red: data can cross
              slurm slurm (tenant red:1): in Slurm partition red red may use n1, t1, one user to a node
        "#]],
    );
}

#[test]
fn a_reservation_of_other_nodes_is_found() {
    check(
        |world| {
            world.change("slurm", Dialect::Slurm, |line| match line {
                Hold::Reserved { job, nodes, .. } if job.name.as_str() == "big" => {
                    nodes[1] = "n2".parse().unwrap();
                    true
                }
                _ => false,
            });
        },
        expect![[r#"
            breach: account gold (gold/big) was given n2 (green/sweep) by slurm: data can cross
              slurm slurm (job gold/big:1): Slurm keeps t1, n2 for gold/big of account gold
            severed: slurm does not give gold/big its node t2
              slurm slurm (job gold/big:1): Slurm keeps t1, n2 for gold/big of account gold
              slurm slurm lacks node t2 of gold/big
        "#]],
    );
}

#[test]
fn a_namespace_that_lets_others_in_is_found() {
    check(
        |world| {
            world.change("kubernetes", Dialect::Kubernetes, |line| match line {
                Hold::Lets { namespace, peer, .. } if namespace.as_str() == "red" => {
                    *peer = Peer::Namespace("blue".parse().unwrap());
                    true
                }
                _ => false,
            });
            world.cut("kubernetes", Dialect::Kubernetes, |line| match line {
                Hold::DeniesByDefault { namespace, direction: Direction::Egress }
                | Hold::StrictTls { namespace, .. }
                | Hold::MeshLets { namespace, .. }
                | Hold::GpuQuota { namespace, .. }
                | Hold::Bounded { namespace }
                | Hold::Restricted { namespace, .. } => namespace.as_str() == "gold",
                _ => false,
            });
        },
        expect![[r#"
            breach: namespace red (red) meets namespace blue (blue) in namespace red: data can cross
              kubernetes kubernetes (tenant blue:1): namespace blue is blue's
              kubernetes kubernetes (tenant red:1): namespace red is red's
              kubernetes kubernetes (tenant red:6): pods of namespace red may reach pods of namespace blue
            open-namespace: kubernetes: what no policy allows still leaves namespace gold
              kubernetes kubernetes (tenant gold:1): namespace gold is gold's
              kubernetes kubernetes lacks a policy that denies what leaves namespace gold
            shut-namespace: kubernetes: pods of gold cannot call each other through the mesh
              kubernetes kubernetes (tenant gold:1): namespace gold is gold's
              kubernetes kubernetes lacks what lets pods of gold call each other through the mesh
            shut-namespace: kubernetes: pods of red cannot ask for names
              kubernetes kubernetes (tenant red:1): namespace red is red's
              kubernetes kubernetes lacks what lets pods of red ask for names
            permissive-tls: kubernetes: pods of gold may speak without mutual TLS
              kubernetes kubernetes (tenant gold:1): namespace gold is gold's
              kubernetes kubernetes lacks strict mutual TLS in namespace gold
            open-mesh: kubernetes: the mesh lets anybody call gold
              kubernetes kubernetes (tenant gold:1): namespace gold is gold's
              kubernetes kubernetes lacks who may call it in namespace gold
            no-quota: kubernetes: namespace gold has no quota of GPUs by amd.com/gpu
              kubernetes kubernetes (tenant gold:1): namespace gold is gold's
              kubernetes kubernetes lacks a quota of GPUs by amd.com/gpu in namespace gold
            no-quota: kubernetes: namespace gold has no quota of GPUs by nvidia.com/gpu
              kubernetes kubernetes (tenant gold:1): namespace gold is gold's
              kubernetes kubernetes lacks a quota of GPUs by nvidia.com/gpu in namespace gold
            no-quota: kubernetes: namespace gold has no quota of GPUs of gpu.amd.com
              kubernetes kubernetes (tenant gold:1): namespace gold is gold's
              kubernetes kubernetes lacks a quota of GPUs of gpu.amd.com in namespace gold
            no-quota: kubernetes: namespace gold has no quota of GPUs of gpu.nvidia.com
              kubernetes kubernetes (tenant gold:1): namespace gold is gold's
              kubernetes kubernetes lacks a quota of GPUs of gpu.nvidia.com in namespace gold
            no-quota: kubernetes: namespace gold has no quota of GPUs of vfio.gpu.nvidia.com
              kubernetes kubernetes (tenant gold:1): namespace gold is gold's
              kubernetes kubernetes lacks a quota of GPUs of vfio.gpu.nvidia.com in namespace gold
            unbounded: kubernetes: containers of gold have no bounds by default
              kubernetes kubernetes (tenant gold:1): namespace gold is gold's
              kubernetes kubernetes lacks bounds of containers in namespace gold
            unrestricted: kubernetes: pods of gold may reach the host
              kubernetes kubernetes (tenant gold:1): namespace gold is gold's
              kubernetes kubernetes lacks what keeps pods from the host in namespace gold
        "#]],
    );
}

#[test]
fn roles_volumes_and_control_planes_are_one_tenants() {
    check(
        |world| {
            let blue = || "blue".parse().unwrap();
            let lines = [
                Hold::Role {
                    namespace: Some(blue()),
                    group: "red-people".into(),
                    role: "tenant-member".into(),
                },
                Hold::Role {
                    namespace: Some("kube-system".parse().unwrap()),
                    group: "red-people".into(),
                    role: "edit".into(),
                },
                Hold::Role {
                    namespace: Some("red".parse().unwrap()),
                    group: "red-people".into(),
                    role: "edit".into(),
                },
                Hold::Role {
                    namespace: Some("default".parse().unwrap()),
                    group: "system:authenticated".into(),
                    role: "view".into(),
                },
                Hold::Role {
                    namespace: Some("default".parse().unwrap()),
                    group: "operators".into(),
                    role: "view".into(),
                },
                Hold::Role { namespace: None, group: "gold-people".into(), role: "admin".into() },
                Hold::Volumes { class: "red".into(), tenant: "blue".parse().unwrap() },
                Hold::ControlPlane {
                    tenant: "red".parse().unwrap(),
                    namespace: blue(),
                    kind: "kamaji".into(),
                },
            ];
            for line in lines {
                world.add("kubernetes", Dialect::Kubernetes, line);
            }
        },
        expect![[r#"
            breach: namespace blue (blue) meets control plane kamaji (red) in namespace blue: data can cross
              kubernetes kubernetes (head:81): red has a kamaji of its own in namespace blue
              kubernetes kubernetes (tenant blue:1): namespace blue is blue's
            breach: volumes of class red (blue) meets volumes of class red (red) in volume class red: data can cross
              kubernetes kubernetes (head:80): volumes of class red are blue's
              kubernetes kubernetes (tenant red:18): volumes of class red are red's
            breach: group red-people (red) meets namespace blue (blue) in role tenant-member of namespace blue: data can cross
              kubernetes kubernetes (head:74): members of red-people have role tenant-member in namespace blue
              kubernetes kubernetes (tenant blue:1): namespace blue is blue's
            wrong-role: kubernetes: group system:authenticated of a tenant has role view in default, which is none of the roles planned there
              kubernetes kubernetes (head:77): members of system:authenticated have role view in namespace default
            wrong-role: kubernetes: group red-people of a tenant has role edit in kube-system, which is none of the roles planned there
              kubernetes kubernetes (head:75): members of red-people have role edit in namespace kube-system
            wrong-role: kubernetes: group red-people of a tenant has role edit in red, which is none of the roles planned there
              kubernetes kubernetes (head:76): members of red-people have role edit in namespace red
            wide-role: kubernetes: group gold-people has role admin in all namespaces
              kubernetes kubernetes (head:79): members of gold-people have role admin everywhere
        "#]],
    );
}

#[test]
fn a_tenant_or_a_job_that_a_cluster_forgets_is_severed() {
    check(
        |world| {
            world.cut(
                "kubernetes",
                Dialect::Kubernetes,
                |line| matches!(line, Hold::Namespace { tenant, .. } if tenant.as_str() == "green"),
            );
            world.cut(
                "slurm",
                Dialect::Slurm,
                |line| matches!(line, Hold::Reserved { job, .. } if job.name.as_str() == "tune"),
            );
            world.cut(
                "slurm",
                Dialect::Slurm,
                |line| matches!(line, Hold::Partition { partition, .. } if partition == "red"),
            );
        },
        expect![[r#"
            severed: slurm does not name green/tune
              slurm slurm lacks green/tune
            severed: slurm does not name red
              slurm slurm lacks red
            severed: kubernetes does not name green
              kubernetes kubernetes lacks green
            nobodys-namespace: kubernetes: namespace green is no tenant's and has something of one
              kubernetes kubernetes (tenant green:1): what no policy allows does not enter namespace green
            wrong-role: kubernetes: group green-people of a tenant has role tenant-member in green, which is none of the roles planned there
              kubernetes kubernetes (tenant green:16): members of green-people have role tenant-member in namespace green
        "#]],
    );
}

#[test]
fn a_node_that_lets_others_in_or_keeps_its_own_off_is_found() {
    check(
        |world| {
            let of = |name: &str, node: &Name| node.as_str() == name;
            world.change("kubernetes", Dialect::Kubernetes, |line| match line {
                Hold::Fenced { node, value } if of("n1", node) => {
                    *value = "nobody".into();
                    true
                }
                Hold::Admits { node, namespace } if of("t1", node) => {
                    *namespace = "red".parse().unwrap();
                    true
                }
                _ => false,
            });
            world.cut(
                "kubernetes",
                Dialect::Kubernetes,
                |line| matches!(line, Hold::Fenced { node, .. } if of("t2", node)),
            );
        },
        expect![[r#"
            wrong-fence: kubernetes: the taint by which n1 tells pods apart is nobody; what its owners have makes it shared
              kubernetes kubernetes (head:47): n1 keeps off pods that do not bear its taint nobody
            wrong-fence: kubernetes: the taint by which t2 tells pods apart is none; what its owners have makes it gold
              kubernetes kubernetes (tenant gold:1): namespace gold is gold's
              kubernetes kubernetes lacks the taint bulkhead.dev/tenant=gold of t2
        "#]],
    );
}

#[test]
fn rules_that_are_not_there_hold_nobody() {
    check(
        |world| {
            world.cut("kubernetes", Dialect::Kubernetes, |line| match line {
                Hold::Refuses { policy } => policy == "services.bulkhead.dev",
                Hold::Enforced { policy } => policy == "pods.bulkhead.dev",
                Hold::Allows { role } => role == "tenant-member",
                Hold::Meshed { namespace } => namespace.as_str() == "red",
                Hold::Governed { namespace, .. } => namespace.as_str() == "blue",
                Hold::LetsJob { job, direction: Direction::Egress, .. } => {
                    job.tenant.as_str() == "red"
                }
                _ => false,
            });
            world.change("kubernetes", Dialect::Kubernetes, |line| match line {
                Hold::Governed { namespace, runtime } if namespace.as_str() == "gold" => {
                    *runtime = match runtime {
                        Runtime::Container => Runtime::Vm,
                        Runtime::Vm => Runtime::Container,
                    };
                    true
                }
                _ => false,
            });
            let (namespace, direction) = ("gold".parse().unwrap(), Direction::Ingress);
            let peer = Peer::Namespace("gold".parse().unwrap());
            let line = Hold::Lets { namespace, direction, peer };
            world.add("kubernetes", Dialect::Kubernetes, line);
            for line in [
                Hold::Lets {
                    namespace: "kube-system".parse().unwrap(),
                    direction,
                    peer: Peer::Namespace("blue".parse().unwrap()),
                },
                Hold::MeshLets {
                    namespace: "istio-system".parse().unwrap(),
                    callers: vec!["gold".parse().unwrap()],
                },
            ] {
                world.add("kubernetes", Dialect::Kubernetes, line);
            }
        },
        expect![[r#"
            breach: namespace gold (gold) meets namespace istio-system (nobody's) in namespace istio-system: data can cross
              kubernetes kubernetes (head:73): the mesh lets callers of gold into namespace istio-system
              kubernetes kubernetes (tenant gold:1): namespace gold is gold's
            breach: namespace blue (blue) meets namespace kube-system (nobody's) in namespace kube-system: data can cross
              kubernetes kubernetes (head:72): pods of namespace blue may reach pods of namespace kube-system
              kubernetes kubernetes (tenant blue:1): namespace blue is blue's
            open-mesh: kubernetes: the mesh lets anybody call istio-system
              kubernetes kubernetes (head:73): the mesh lets callers of gold into namespace istio-system
            unruled: kubernetes: policy services.bulkhead.dev is not there as it is planned, so nobody knows what it refuses
              kubernetes kubernetes lacks policy services.bulkhead.dev
            unruled: kubernetes: role tenant-member is not there as it is planned, so nobody knows what it refuses
              kubernetes kubernetes lacks role tenant-member
            unruled: kubernetes: the binding of policy pods.bulkhead.dev is not there as it is planned, so nobody knows what it refuses
              kubernetes kubernetes lacks the binding of policy pods.bulkhead.dev
            ungoverned: kubernetes: namespace blue is not under the rules for jobs that run in virtual machines
              kubernetes kubernetes (tenant blue:1): namespace blue is blue's
              kubernetes kubernetes lacks the label bulkhead.dev/runtime=vm in namespace blue
            ungoverned: kubernetes: namespace gold is not under the rules for jobs that run in containers
              kubernetes kubernetes (tenant gold:4): namespace gold is under the rules for virtual machines
            unmeshed: kubernetes: pods of red get no proxy of the mesh
              kubernetes kubernetes (tenant red:1): namespace red is red's
              kubernetes kubernetes lacks the mesh's label in namespace red
            jobs-meet: kubernetes: a policy lets what enters pods of one job of gold pass to others
              kubernetes kubernetes (head:71): pods of namespace gold may reach pods of namespace gold
            shut-job: kubernetes: pods of red/train cannot reach each other
              kubernetes kubernetes (job red/train:6): pods of red/train in namespace red may be reached by each other
              kubernetes kubernetes lacks what lets pods of red/train reach each other
        "#]],
    );
}
