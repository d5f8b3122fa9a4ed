//! What schedulers hold, one rule at a time, in the same world.

use expect_test::expect;
use model::Dialect;
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
              kubernetes kubernetes (head:10): t1 has label accelerator.topograph.run/domain=rack-2
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
                Hold::Lets { namespace, peer: peer @ Peer::Namespace(_), .. }
                    if namespace.as_str() == "red" =>
                {
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
              kubernetes kubernetes (tenant red:4): pods of namespace blue may reach pods of namespace red
            open-namespace: kubernetes: what no policy allows still leaves namespace gold
              kubernetes kubernetes (tenant gold:1): namespace gold is gold's
              kubernetes kubernetes lacks a policy that denies what leaves namespace gold
            shut-namespace: kubernetes: pods of gold cannot call each other through the mesh
              kubernetes kubernetes (tenant gold:1): namespace gold is gold's
              kubernetes kubernetes lacks what lets pods of gold call each other through the mesh
            shut-namespace: kubernetes: pods of red cannot be reached by each other
              kubernetes kubernetes (tenant red:1): namespace red is red's
              kubernetes kubernetes lacks what lets pods of red be reached by each other
            permissive-tls: kubernetes: pods of gold may speak without mutual TLS
              kubernetes kubernetes (tenant gold:1): namespace gold is gold's
              kubernetes kubernetes lacks strict mutual TLS in namespace gold
            open-mesh: kubernetes: the mesh lets anybody call gold
              kubernetes kubernetes (tenant gold:1): namespace gold is gold's
              kubernetes kubernetes lacks who may call it in namespace gold
            no-quota: kubernetes: namespace gold has no quota of GPUs
              kubernetes kubernetes (tenant gold:1): namespace gold is gold's
              kubernetes kubernetes lacks a quota of GPUs in namespace gold
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
                    role: "edit".into(),
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
              kubernetes kubernetes (head:44): red has a kamaji of its own in namespace blue
              kubernetes kubernetes (tenant blue:1): namespace blue is blue's
            breach: volumes of class red (blue) meets volumes of class red (red) in volume class red: data can cross
              kubernetes kubernetes (head:43): volumes of class red are blue's
              kubernetes kubernetes (tenant red:14): volumes of class red are red's
            breach: group red-people (red) meets namespace blue (blue) in role edit of namespace blue: data can cross
              kubernetes kubernetes (head:41): members of red-people have role edit in namespace blue
              kubernetes kubernetes (tenant blue:1): namespace blue is blue's
            wide-role: kubernetes: group gold-people has role admin in all namespaces
              kubernetes kubernetes (head:42): members of gold-people have role admin everywhere
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
        "#]],
    );
}
