#![allow(missing_docs, clippy::unwrap_used, reason = "a test fails by panicking")]

//! What a cluster's managers and virtual machines say, in words. What nodes say is read in
//! `layers_node.rs`.

use expect_test::{Expect, expect};
use model::{Confidential, JobName, Name, Runtime, TenantName};
use read::{ClaimRequest, ClaimedGpu, Direction, GpuClass, Hold, Peer, SlurmFact};

#[test]
fn a_virtual_machine_is_told_of() {
    check(
        vec![
            Hold::Guest { job: job(), confidential: None },
            Hold::Guest { job: job(), confidential: Some(Confidential::SevSnp) },
            Hold::GuestHas { job: job(), pci: "0000:1b:00.0".parse().unwrap() },
            Hold::GuestNear { job: job(), numa: 1 },
        ],
        expect![[r#"
            acme/research/train runs in a virtual machine
            acme/research/train runs in a virtual machine with sev-snp
            the virtual machine of acme/research/train has 0000:1b:00.0
            the memory of acme/research/train's virtual machine is on NUMA node 1
        "#]],
    );
}

#[test]
fn slurm_is_told_of() {
    let partition = |nodes: &[&str], accounts: &[&str], exclusive| Hold::Partition {
        partition: "blue".into(),
        nodes: names(nodes),
        accounts: accounts.iter().map(|account| (*account).into()).collect(),
        exclusive,
    };
    check(
        vec![
            Hold::Schedulable { node: name("n1"), minors: 0b1001 },
            Hold::Schedulable { node: name("n1"), minors: 0 },
            partition(&["n1", "n2"], &["acme.research", "blue"], true),
            partition(&[], &[], false),
            Hold::Together { place: "leaf-1".into(), nodes: names(&["n1", "n2"]) },
            Hold::ConstrainsDevices(true),
            Hold::ConstrainsDevices(false),
            Hold::KeepsLabelsApart(true),
            Hold::KeepsLabelsApart(false),
            Hold::SlurmSays { fact: SlurmFact::Controller, value: "slurm".into() },
            Hold::SlurmSays { fact: SlurmFact::Accounts, value: "db".into() },
            Hold::SlurmSays { fact: SlurmFact::Cluster, value: "hall".into() },
            Hold::SlurmSays { fact: SlurmFact::Address(name("n1")), value: "10.0.0.1".into() },
            Hold::SlurmSays { fact: SlurmFact::Gpus(name("n1")), value: "h100:8".into() },
            Hold::SlurmSays { fact: SlurmFact::Product(name("n1")), value: "h100".into() },
            Hold::SlurmSays { fact: SlurmFact::Above(name("leaf-1")), value: "spine-1".into() },
            Hold::Reserved { job: job(), account: "acme.research".into(), nodes: names(&["n1"]) },
            Hold::Allocated { job: job(), node: name("n1"), minors: 0b100 },
        ],
        expect![[r#"
            Slurm gives out GPU devices 0, 3 of n1
            Slurm gives out no GPU device of n1
            in Slurm partition blue acme.research, blue may use n1, n2, one user to a node
            in Slurm partition blue every account may use no node
            n1, n2 hang together at leaf-1
            Slurm keeps jobs from others' devices
            Slurm does not keep jobs from others' devices
            Slurm keeps jobs of different labels on different nodes
            Slurm does not keep jobs of different labels apart
            Slurm has slurm for the host of its controller
            Slurm has db for the host of its accounts
            Slurm has hall for the name of the cluster
            Slurm has 10.0.0.1 for the address of n1
            Slurm has h100:8 for the GPUs of n1
            Slurm has h100 for the type of GPUs of n1
            Slurm has spine-1 for the switch above leaf-1
            Slurm keeps n1 for acme/research/train of account acme.research
            Slurm gave acme/research/train GPU device 2 of n1
        "#]],
    );
}

#[test]
fn kubernetes_is_told_of() {
    let namespace = || name("acme-research-t17");
    let denies = |direction| Hold::DeniesByDefault { namespace: namespace(), direction };
    let lets = |direction, peer| Hold::Lets { namespace: namespace(), direction, peer };
    let role = |namespace| Hold::Role { namespace, group: "ops".into(), role: "admin".into() };
    check(
        vec![
            Hold::Namespace { namespace: namespace(), tenant: tenant() },
            denies(Direction::Ingress),
            denies(Direction::Egress),
            lets(Direction::Ingress, Peer::Namespace(namespace())),
            lets(Direction::Egress, Peer::Resolver),
            lets(Direction::Egress, Peer::Anyone),
            Hold::StrictTls { namespace: namespace(), strict: true },
            Hold::StrictTls { namespace: namespace(), strict: false },
            Hold::MeshLets { namespace: namespace(), callers: vec![namespace()] },
            Hold::MeshLets { namespace: namespace(), callers: vec![] },
            Hold::GpuQuota {
                namespace: namespace(),
                of: "requests.nvidia.com/gpu".into(),
                gpus: 0,
            },
            Hold::Governed { namespace: namespace(), runtime: Runtime::Container },
            Hold::Governed { namespace: namespace(), runtime: Runtime::Vm },
            Hold::Meshed { namespace: namespace() },
            Hold::Refuses { policy: "pods.bulkhead.dev".into() },
            Hold::Enforced { policy: "pods.bulkhead.dev".into() },
            Hold::Allows { role: "tenant-member".into() },
            Hold::Admits { node: name("n1"), namespace: namespace() },
            Hold::Fenced { node: name("n1"), value: "nobody".into() },
            Hold::LetsJob { namespace: namespace(), job: job(), direction: Direction::Ingress },
            Hold::LetsJob { namespace: namespace(), job: job(), direction: Direction::Egress },
            Hold::CalicoDenies { namespace: namespace(), direction: Direction::Ingress },
            Hold::CalicoDenies { namespace: namespace(), direction: Direction::Egress },
            Hold::CalicoResolves { namespace: namespace() },
            Hold::CalicoLetsJob {
                namespace: namespace(),
                job: job(),
                direction: Direction::Ingress,
            },
            Hold::CalicoLetsJob {
                namespace: namespace(),
                job: job(),
                direction: Direction::Egress,
            },
            Hold::StorageQuota { namespace: namespace(), class: "t17".into(), bytes: 1 << 40 },
            Hold::Bounded { namespace: namespace() },
            Hold::Restricted { namespace: namespace(), restricted: true },
            Hold::Restricted { namespace: namespace(), restricted: false },
            role(Some(namespace())),
            role(None),
            Hold::Volumes { class: "t17".into(), tenant: tenant() },
            Hold::Claimed {
                namespace: namespace(),
                job: job(),
                node: name("n1"),
                gpu: ClaimedGpu::Minor(3),
            },
            Hold::Claimed {
                namespace: namespace(),
                job: job(),
                node: name("n1"),
                gpu: ClaimedGpu::At {
                    pci: "0000:1b:00.0".parse().unwrap(),
                    class: GpuClass::NvidiaVfio,
                    request: ClaimRequest { claim: 0, minor: 3 },
                },
            },
            Hold::GuestTakes {
                job: job(),
                node: name("n1"),
                request: ClaimRequest { claim: 1, minor: 3 },
            },
            Hold::Published { node: name("n1"), minor: 3, pci: "0000:1b:00.0".parse().unwrap() },
            Hold::Label { node: name("n1"), key: "rack".into(), value: "r1".into() },
            Hold::ControlPlane {
                tenant: tenant(),
                namespace: namespace(),
                kind: "TenantControlPlane".into(),
            },
            Hold::ClusterGuest {
                namespace: namespace(),
                job: job(),
                node: name("n1"),
                confidential: Some(Confidential::Tdx),
            },
        ],
        expect![[r#"
            namespace acme-research-t17 is acme/research's
            what no policy allows does not enter namespace acme-research-t17
            what no policy allows does not leave namespace acme-research-t17
            pods of namespace acme-research-t17 may reach pods of namespace acme-research-t17
            pods of namespace acme-research-t17 may reach the resolver
            pods of namespace acme-research-t17 may reach anybody
            pods of namespace acme-research-t17 speak only mutual TLS
            pods of namespace acme-research-t17 speak also without TLS
            the mesh lets callers of acme-research-t17 into namespace acme-research-t17
            the mesh lets callers of no namespace into namespace acme-research-t17
            namespace acme-research-t17 may use 0 of requests.nvidia.com/gpu
            namespace acme-research-t17 is under the rules for containers
            namespace acme-research-t17 is under the rules for virtual machines
            pods of namespace acme-research-t17 get the mesh's proxy
            policy pods.bulkhead.dev is as planned
            policy pods.bulkhead.dev holds where it is planned
            role tenant-member is as planned
            n1 lets in pods of namespace acme-research-t17
            n1 keeps off pods that do not bear its taint nobody
            pods of acme/research/train in namespace acme-research-t17 may be reached by each other
            pods of acme/research/train in namespace acme-research-t17 may reach each other
            Calico lets nothing into namespace acme-research-t17 that its policies do not allow
            Calico lets nothing out of namespace acme-research-t17 that its policies do not allow
            Calico lets pods of namespace acme-research-t17 ask for names
            Calico lets pods of acme/research/train in namespace acme-research-t17 be reached by each other
            Calico lets pods of acme/research/train in namespace acme-research-t17 reach each other
            namespace acme-research-t17 may store 1099511627776 bytes in class t17
            containers of namespace acme-research-t17 have bounds
            pods that could reach the host are refused in namespace acme-research-t17
            pods that can reach the host may run in namespace acme-research-t17
            members of ops have role admin in namespace acme-research-t17
            members of ops have role admin everywhere
            volumes of class t17 are acme/research's
            a claim of acme/research/train was given GPU device 3 of n1 in namespace acme-research-t17
            acme/research/train claims 0000:1b:00.0 of n1 by vfio.gpu.nvidia.com as gpu-3 in namespace acme-research-t17
            the virtual machine of acme/research/train on n1 takes gpu-3 of claim 1
            n1 publishes 0000:1b:00.0 as GPU device 3
            n1 has label rack=r1
            acme/research has a TenantControlPlane of its own in namespace acme-research-t17
            acme/research/train runs in a virtual machine with tdx on n1 in namespace acme-research-t17
        "#]],
    );
}

fn check(holds: Vec<Hold>, expected: Expect) {
    expected.assert_eq(&holds.iter().map(|hold| format!("{hold}\n")).collect::<String>());
}

fn job() -> JobName {
    "acme/research/train".parse().unwrap()
}

fn tenant() -> TenantName {
    "acme/research".parse().unwrap()
}

fn name(text: &str) -> Name {
    text.parse().unwrap()
}

fn names(texts: &[&str]) -> Vec<Name> {
    texts.iter().map(|text| name(text)).collect()
}
