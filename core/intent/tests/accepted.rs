//! What sound documents become.

use std::fmt::Write as _;

use expect_test::{Expect, expect};
use intent::generate::{self, Wish};
use intent::{Intent, Source, load};
use model::{DeviceId, Fleet, Want};

fn check(text: &str, expected: Expect) {
    let intent = loaded(&[text]);
    expected.assert_eq(&summary(&intent));
}

fn loaded(texts: &[&str]) -> Intent {
    let sources: Vec<Source<'_>> =
        texts.iter().map(|text| Source { file: "a.yaml", text }).collect();
    load(&sources).unwrap_or_else(|refusals| {
        let said: Vec<String> = refusals.iter().map(ToString::to_string).collect();
        panic!("{}", said.join("\n"))
    })
}

fn summary(intent: &Intent) -> String {
    let mut text = fleet_summary(&intent.fleet);
    for tenant in intent.tenants.values() {
        let _ = write!(text, "tenant {} {} {:?}", tenant.name, tenant.grade, tenant.pools);
        if let Some(rate) = tenant.guarantee {
            let _ = write!(text, " from {rate}");
        }
        if let Some(rate) = tenant.ceiling {
            let _ = write!(text, " to {rate}");
        }
        if let Some(gpus) = tenant.quota_gpus {
            let _ = write!(text, " {gpus} GPUs");
        }
        for (component, version) in &tenant.versions.at_least {
            let _ = write!(text, " {component}>={version}");
        }
        if tenant.versions.secure_boot {
            text.push_str(" secure boot");
        }
        let _ = writeln!(text, " {:?} {:?}", tenant.jurisdictions, tenant.groups);
    }
    for job in intent.jobs.values() {
        let want = match &job.want {
            Want::Gpus(gpus) => format!("{gpus} GPUs"),
            Want::Slices { profile, count } => format!("{count} slices {profile}"),
            Want::Endpoints(nics) => {
                let node = |nic: &model::NicRef| &intent.fleet.nodes[nic.node.index()].name;
                let nics = nics.iter().map(|nic| format!("{}/{}", node(nic), nic.nic));
                nics.collect::<Vec<_>>().join(" ")
            }
        };
        let pod = job.pod.as_ref().map_or("any pod", |pod| pod.as_str());
        let _ = write!(text, "job {} {want} {}", job.name, job.class);
        if let Some(rate) = job.ceiling {
            let _ = write!(text, " to {rate}");
        }
        let _ = writeln!(text, " {pod}");
    }
    for consent in &intent.consents {
        let (client, provider) = (&consent.client, &consent.provider);
        let _ = writeln!(text, "consent {client} -> {provider} {}", consent.service);
    }
    for permit in &intent.pending {
        let _ = writeln!(text, "pending {}/{} {}", permit.tenant, permit.job, permit.peer);
    }
    text
}

fn fleet_summary(fleet: &Fleet) -> String {
    let mut text = format!("fleet {} target {}\n", fleet.name, fleet.target_asn);
    if let Some(rate) = fleet.uplink_rate {
        text += &format!("what is over {rate} waits at uplinks\n");
    }
    for switch in &fleet.switches {
        let _ = writeln!(
            text,
            "{:?} {} {:?} {} AS {}",
            switch.role, switch.name, switch.dialect, switch.vtep.address, switch.vtep.asn
        );
    }
    for link in &fleet.links {
        let name = |end: &model::LinkEnd| fleet.device_name(DeviceId(end.switch.0));
        let _ = writeln!(
            text,
            "link {} {} {} - {} {} {}",
            name(&link.a),
            link.a.port,
            link.a.address,
            name(&link.b),
            link.b.port,
            link.b.address
        );
    }
    for node in &fleet.nodes {
        let vtep =
            node.vtep.map_or(String::new(), |vtep| format!(" {} AS {}", vtep.address, vtep.asn));
        let _ = writeln!(
            text,
            "node {} {} nvlink {} {:?} {}{vtep} driver {:?}",
            node.name,
            node.rack,
            node.nvlink_domain,
            node.health,
            node.enforcement,
            node.versions.driver
        );
        for uplink in &node.uplinks {
            let leaf = &fleet.switches[uplink.leaf.index()].name;
            let address =
                uplink.leaf_address.map_or(String::new(), |address| format!(" {address}"));
            let _ = writeln!(text, "  {leaf} {} {}{address}", uplink.port, uplink.mac);
        }
    }
    text
}

/// The fleet of most cases: one node, said in five lines.
const ONE_NODE: &str = "
apiVersion: bulkhead.dev/v1
kind: Fleet
metadata: {name: one}
spec:
  models: {nodes: {n: {gpu: {product: p, board: b}, gpus: 2, nics: {count: 2, rate: 400Gbps}}}}
  sites:
    - name: ams
      jurisdiction: NO
      pods: [{name: x, leaves: [{name: leaf-1}], nodes: [{name: n1, model: n, leaf: leaf-1}]}]
";

#[test]
fn two_tenants_may_have_the_same_addresses() {
    check(
        &format!("{ONE_NODE}
---
{{\"apiVersion\": \"bulkhead.dev/v1\", \"kind\": \"Tenant\", \"metadata\": {{\"name\": \"acme\"}}, \"spec\": {{\"pools\": [\"10.0.0.0\\/16\"]}}}}
---
apiVersion: bulkhead.dev/v1
kind: Tenant
metadata: {{name: beta, labels: {{team: red}}}}
spec: {{pools: [10.0.0.0/16]}}
status: {{seen: true}}
---
apiVersion: v1
kind: List
items:
  - {{apiVersion: bulkhead.dev/v1, kind: Job, metadata: {{name: train}}, spec: {{tenant: acme, endpoints: [n1/0]}}}}
  - {{apiVersion: bulkhead.dev/v1, kind: Job, metadata: {{name: train}}, spec: {{tenant: beta, endpoints: [n1/1], class: bulk, ceiling: 2500Mbps, pod: ams-x}}}}
"),
        expect![[r#"
            fleet one target 65000
            Leaf leaf-1 Frr 10.255.0.1 AS 4200000002
            node n1 ams-x-leaf-1 nvlink n1 Good leaf driver ""
              leaf-1 swp1 02:01:00:00:00:00
              leaf-1 swp2 02:01:00:00:00:01
            tenant acme node [10.0.0.0/16] [] []
            tenant beta node [10.0.0.0/16] [] []
            job acme/train n1/0 lossless any pod
            job beta/train n1/1 bulk to 2500Mbps ams-x
        "#]],
    );
}

#[test]
fn json_with_tabs_is_read_too() {
    let json = "{\n\t\"apiVersion\": \"bulkhead.dev/v1\",\n\t\"kind\": \"Tenant\",\n\t\"metadata\": {\n\t\t\"name\": \"acme\"\n\t},\n\t\"spec\": {\n\t\t\"groups\": [\n\t\t\t\"\\u0061b\"\n\t\t],\n\t\t\"quota\": {\"gpus\": 8}\n\t}\n}\n";
    let intent = loaded(&[ONE_NODE, json]);
    let tenants: Vec<_> = intent.tenants.values().collect();
    expect![[r#"["ab"] Some(8)"#]]
        .assert_eq(&format!("{:?} {:?}", tenants[0].groups, tenants[0].quota_gpus));
}

#[test]
fn models_are_expanded_and_an_exception_moves_nobody_else() {
    check(
        "
apiVersion: bulkhead.dev/v1
kind: Fleet
metadata: {name: modelled}
spec:
  loopbacks: 10.0.0.0/24
  cables: 10.1.0.0/24
  firstAsn: 65100
  targetAsn: 64999
  uplinkRate: 400Gbps
  models:
    nodes:
      tray: {gpu: {product: GB200, board: NVL72}, gpus: 4, nics: {count: 1, rate: 400Gbps}, versions: {driver: 570.10}}
    racks:
      nvl: {nodes: {model: tray, count: 2}, nvlinkDomain: rack}
    pods:
      p: {racks: {model: nvl, count: 3}, racksPerLeaf: 2, spines: 2, dialect: nxos, spineDialect: frr}
  sites:
    - {name: ams, jurisdiction: NL, kind: edge, cores: 1, coreDialect: nxos, pods: [{name: p, model: p, count: 1}]}
  exceptions:
    - {node: ams-p-1-r01-n02, enforcement: dpu, versions: {driver: 580.20}}
    - {node: ams-p-1-r02-n01, health: draining}
    - {switch: ams-p-1-leaf-2, dialect: frr, loopback: 192.168.0.1, asn: 7}
",
        expect![[r#"
            fleet modelled target 64999
            what is over 400Gbps waits at uplinks
            Core ams-core-1 Nxos 10.0.0.1 AS 65100
            Spine ams-p-1-spine-1 Frr 10.0.0.2 AS 65101
            Spine ams-p-1-spine-2 Frr 10.0.0.3 AS 65101
            Leaf ams-p-1-leaf-1 Nxos 10.0.0.4 AS 65102
            Leaf ams-p-1-leaf-2 Frr 192.168.0.1 AS 7
            link ams-p-1-leaf-1 Ethernet1/5 10.1.0.0 - ams-p-1-spine-1 swp1 10.1.0.1
            link ams-p-1-leaf-1 Ethernet1/6 10.1.0.2 - ams-p-1-spine-2 swp1 10.1.0.3
            link ams-p-1-leaf-2 swp3 10.1.0.4 - ams-p-1-spine-1 swp2 10.1.0.5
            link ams-p-1-leaf-2 swp4 10.1.0.6 - ams-p-1-spine-2 swp2 10.1.0.7
            link ams-p-1-spine-1 swp3 10.1.0.8 - ams-core-1 Ethernet1/1 10.1.0.9
            link ams-p-1-spine-2 swp3 10.1.0.10 - ams-core-1 Ethernet1/2 10.1.0.11
            node ams-p-1-r01-n01 ams-p-1-r01 nvlink ams-p-1-r01 Good leaf driver "570.10"
              ams-p-1-leaf-1 Ethernet1/1 02:01:00:00:00:00
            node ams-p-1-r01-n02 ams-p-1-r01 nvlink ams-p-1-r01 Good dpu 10.0.0.7 AS 65105 driver "580.20"
              ams-p-1-leaf-1 Ethernet1/2 02:01:00:00:00:01 10.1.0.14
            node ams-p-1-r02-n01 ams-p-1-r02 nvlink ams-p-1-r02 Draining leaf driver "570.10"
              ams-p-1-leaf-1 Ethernet1/3 02:01:00:00:00:02
            node ams-p-1-r02-n02 ams-p-1-r02 nvlink ams-p-1-r02 Good leaf driver "570.10"
              ams-p-1-leaf-1 Ethernet1/4 02:01:00:00:00:03
            node ams-p-1-r03-n01 ams-p-1-r03 nvlink ams-p-1-r03 Good leaf driver "570.10"
              ams-p-1-leaf-2 swp1 02:01:00:00:00:04
            node ams-p-1-r03-n02 ams-p-1-r03 nvlink ams-p-1-r03 Good leaf driver "570.10"
              ams-p-1-leaf-2 swp2 02:01:00:00:00:05
        "#]],
    );
}

#[test]
fn hosts_are_tunnel_endpoints_with_a_cable_each() {
    check(
        &ONE_NODE.replace(
            "leaf: leaf-1}",
            "leaf: leaf-1, enforcement: host, loopback: 10.9.0.1, rack: r7, nvlinkDomain: rack}",
        ),
        expect![[r#"
            fleet one target 65000
            Leaf leaf-1 Frr 10.255.0.1 AS 4200000002
            node n1 ams-x-r7 nvlink ams-x-r7 Good host 10.9.0.1 AS 4200000003 driver ""
              leaf-1 swp1 02:01:00:00:00:00 172.16.0.0
              leaf-1 swp2 02:01:00:00:00:01 172.16.0.2
        "#]],
    );
}

#[test]
fn what_is_not_said_comes_from_above() {
    check(
        &format!("{ONE_NODE}
--- {{apiVersion: bulkhead.dev/v1, kind: Guardrail, metadata: {{name: g}}, spec: {{limits: {{weakestGrade: gpu, maxGpus: 32, maxCeiling: 50Gbps, jurisdictions: [NO, SE]}}}}}}
--- {{apiVersion: bulkhead.dev/v1, kind: Guardrail, metadata: {{name: h}}, spec: {{tenant: a, limits: {{weakestGrade: domain}}}}}}
--- {{apiVersion: bulkhead.dev/v1, kind: Tenant, metadata: {{name: a}}, spec: {{pools: [10.0.0.0/16, 10.2.0.0/16], quota: {{gpus: 16}}, versions: {{driver: 550.90, secureBoot: true}}, groups: [ops]}}}}
--- {{apiVersion: bulkhead.dev/v1, kind: Tenant, metadata: {{name: a/b}}, spec: {{guarantee: 10Gbps, jurisdictions: [NO], versions: {{driver: '>=550.100', kernel: 6.8}}}}}}
--- {{apiVersion: bulkhead.dev/v1, kind: Tenant, metadata: {{name: ab}}, spec: {{grade: gpu}}}}
--- {{apiVersion: bulkhead.dev/v1, kind: Tenant, metadata: {{name: c}}, spec: {{}}}}
"),
        expect![[r#"
            fleet one target 65000
            Leaf leaf-1 Frr 10.255.0.1 AS 4200000002
            node n1 ams-x-leaf-1 nvlink n1 Good leaf driver ""
              leaf-1 swp1 02:01:00:00:00:00
              leaf-1 swp2 02:01:00:00:00:01
            tenant a domain [10.0.0.0/16, 10.2.0.0/16] to 50Gbps 16 GPUs driver>=550.90 secure boot ["NO", "SE"] ["ops"]
            tenant a/b domain [10.0.0.0/16, 10.2.0.0/16] from 10Gbps to 50Gbps 16 GPUs driver>=550.100 kernel>=6.8 secure boot ["NO"] []
            tenant ab gpu [] to 50Gbps 32 GPUs ["NO", "SE"] []
            tenant c node [] to 50Gbps 32 GPUs ["NO", "SE"] []
        "#]],
    );
}

#[test]
fn only_two_permits_that_mirror_each_other_are_a_consent() {
    let permit = |name: &str, own: &str, side: &str, peer: &str, port: u16| {
        let (tenant, job) = own.split_once('/').unwrap();
        let (peer_tenant, peer_job) = peer.split_once('/').unwrap();
        format!(
            "--- {{apiVersion: bulkhead.dev/v1, kind: Permit, metadata: {{name: {name}}}, spec: {{tenant: {tenant}, job: {job}, \
             side: {side}, peer: {{tenant: {peer_tenant}, job: {peer_job}}}, service: {{protocol: tcp, port: {port}}}}}}}\n"
        )
    };
    let permits = [
        permit("p", "b/nfs", "provider", "a/train", 2049),
        permit("p", "a/train", "client", "b/nfs", 2049),
        permit("both-ask", "a/train", "client", "b/nfs", 111),
        permit("both-ask", "b/nfs", "client", "a/train", 111),
        permit("other-port", "b/nfs", "provider", "a/train", 112),
        permit("nobody", "a/train", "client", "z/nfs", 443),
    ]
    .concat();
    check(
        &format!("{ONE_NODE}
--- {{apiVersion: bulkhead.dev/v1, kind: Tenant, metadata: {{name: a}}, spec: {{pools: [10.0.0.0/16]}}}}
--- {{apiVersion: bulkhead.dev/v1, kind: Tenant, metadata: {{name: b}}, spec: {{pools: [10.0.0.0/16]}}}}
--- {{apiVersion: bulkhead.dev/v1, kind: Job, metadata: {{name: train}}, spec: {{tenant: a, gpus: 1}}}}
--- {{apiVersion: bulkhead.dev/v1, kind: Job, metadata: {{name: nfs}}, spec: {{tenant: b, gpus: 1}}}}
{permits}"),
        expect![[r#"
            fleet one target 65000
            Leaf leaf-1 Frr 10.255.0.1 AS 4200000002
            node n1 ams-x-leaf-1 nvlink n1 Good leaf driver ""
              leaf-1 swp1 02:01:00:00:00:00
              leaf-1 swp2 02:01:00:00:00:01
            tenant a node [10.0.0.0/16] [] []
            tenant b node [10.0.0.0/16] [] []
            job a/train 1 GPUs lossless any pod
            job b/nfs 1 GPUs lossless any pod
            consent a/train -> b/nfs tcp 2049
            pending a/train b/nfs
            pending a/train z/nfs
            pending b/nfs a/train
            pending b/nfs a/train
        "#]],
    );
}

#[test]
fn generated_clusters_are_sound_and_nine_tenths_full() {
    let mut text = String::new();
    for (gpus, nvl72_percent, sites, pod_gpus) in [
        (8, 0, 1, None),
        (1000, 50, 3, None),
        (10_240, 25, 8, None),
        (10_240, 0, 1, None),
        (102_400, 10, 2, None),
        (102_400, 10, 1, Some(16_384)),
        (1024, 50, 1, Some(1)),
    ] {
        let (tenants, jobs) = (gpus / 100 + 1, gpus / 10);
        let layers = sites == 2;
        let wish = Wish { gpus, nvl72_percent, sites, pod_gpus, layers, tenants, jobs, seed: 7 };
        let (fleet, workload) = (generate::fleet(&wish), generate::workload(&wish));
        assert_eq!(workload, generate::workload(&wish));
        let intent = loaded(&[&workload, &fleet]);
        let sizes: Vec<u32> = intent
            .jobs
            .values()
            .map(|job| match job.want {
                Want::Gpus(gpus) => gpus,
                Want::Endpoints(_) | Want::Slices { .. } => 0,
            })
            .collect();
        let models = &intent.fleet.node_models;
        let exist: u32 =
            intent.fleet.nodes.iter().map(|node| u32::from(models[node.model.index()].gpus)).sum();
        let _ = writeln!(
            text,
            "{gpus} wished: {exist} GPUs, {} nodes, {} pods, {} lines, {} tenants, {} jobs on {} GPUs, largest {}",
            intent.fleet.nodes.len(),
            intent.fleet.pods.len(),
            fleet.lines().count(),
            intent.tenants.len(),
            sizes.len(),
            sizes.iter().sum::<u32>(),
            sizes.iter().max().unwrap_or(&0),
        );
    }
    expect![[r#"
        8 wished: 8 GPUs, 1 nodes, 1 pods, 23 lines, 1 tenants, 0 jobs on 0 GPUs, largest 0
        1000 wished: 1000 GPUs, 179 nodes, 10 pods, 59 lines, 11 tenants, 100 jobs on 896 GPUs, largest 64
        10240 wished: 10240 GPUs, 1595 nodes, 37 pods, 116 lines, 103 tenants, 1024 jobs on 9211 GPUs, largest 240
        10240 wished: 10240 GPUs, 1280 nodes, 6 pods, 35 lines, 103 tenants, 1024 jobs on 9216 GPUs, largest 1024
        102400 wished: 102400 GPUs, 14078 nodes, 56 pods, 69 lines, 1025 tenants, 10240 jobs on 92160 GPUs, largest 1024
        102400 wished: 102400 GPUs, 14078 nodes, 9 pods, 49 lines, 1025 tenants, 10240 jobs on 92160 GPUs, largest 1024
        1024 wished: 1024 GPUs, 191 nodes, 24 pods, 42 lines, 11 tenants, 102 jobs on 917 GPUs, largest 36
    "#]].assert_eq(&text);
}

#[test]
fn the_readme_shows_documents_that_are_accepted() {
    let readme = include_str!("../README.md");
    let yaml = readme.split("```yaml").nth(1).and_then(|rest| rest.split("```").next());
    let intent = loaded(&[yaml.unwrap()]);
    let fleet = &intent.fleet;
    let figures = (fleet.nodes.len(), fleet.switches.len(), intent.jobs.len());
    assert_eq!(figures, (66, 17, 3));
    assert_eq!((intent.consents.len(), intent.pending.len()), (1, 0));
}
