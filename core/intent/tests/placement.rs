//! What jobs, tenants and node models say about placement: what it becomes, and every way to be
//! refused, with the exact words.

use std::fmt::Write as _;

use expect_test::{Expect, expect};
use intent::{Intent, Source, load};

/// Loads documents in short form (`Kind name: {spec in flow style}`, one a line) and says what
/// they became, or why not.
fn check(node: &str, shorts: &str, expected: Expect) {
    let lines: Vec<String> = shorts.trim().lines().map(long).collect();
    let (fleet, text) = (fleet(node), lines.join("\n"));
    let sources =
        [Source { file: "fleet.yaml", text: &fleet }, Source { file: "a.yaml", text: &text }];
    let said = match load(&sources) {
        Ok(intent) => summary(&intent),
        Err(refusals) => {
            refusals.iter().map(|refusal| format!("{}: {refusal}\n", refusal.code())).collect()
        }
    };
    expected.assert_eq(&said);
}

fn long(line: &str) -> String {
    let (head, spec) = line.trim().split_once(": ").unwrap_or_else(|| panic!("{line}"));
    let (kind, name) = head.split_once(' ').unwrap_or_else(|| panic!("{line}"));
    format!(
        "--- {{apiVersion: bulkhead.dev/v1, kind: {kind}, metadata: {{name: {name}}}, spec: {spec}}}"
    )
}

/// An HGX pod and an NVL72 rack; the HGX node's model has what the case adds to it.
fn fleet(node: &str) -> String {
    format!(
        "
apiVersion: bulkhead.dev/v1
kind: Fleet
metadata: {{name: small}}
spec:
  models:
    nodes:
      hgx: {{gpu: {{product: H100-80GB, board: HGX-H100/H200-8GPU}}, gpus: 8, nics: {{count: 4, rate: 400Gbps, numaNodes: 2, firstIommuGroup: 10}}}}
      tray: {{gpu: {{product: GB200-186GB, board: GB200-NVL72}}, gpus: 4, nics: {{count: 4, rate: 400Gbps}}}}
      own: {node}
    racks:
      hgx: {{nodes: {{model: hgx, count: 2}}}}
      nvl: {{nodes: {{model: tray, count: 18}}, nvlinkDomain: rack}}
    pods:
      hgx: {{racks: {{model: hgx, count: 2}}, spines: 1}}
      nvl: {{racks: {{model: nvl, count: 1}}}}
  sites:
    - {{name: ams, jurisdiction: NL, pods: [{{name: hgx, model: hgx}}, {{name: nvl, model: nvl}}]}}
"
    )
}

/// A node model that says nothing of its own.
const PLAIN: &str = "{gpu: {product: L40, board: PCIe}, gpus: 2, nics: {count: 1, rate: 100Gbps}}";

/// A node model with this in its GPU and this beside it.
fn node(in_gpu: &str, beside: &str) -> String {
    format!(
        "{{gpu: {{product: L40, board: PCIe{in_gpu}}}, gpus: 4, nics: {{count: 2, rate: 100Gbps}}{beside}}}"
    )
}

fn summary(intent: &Intent) -> String {
    let mut text = String::new();
    if let Some(model) = intent.fleet.node_models.last().filter(|model| model.gpus == 4) {
        let nics: Vec<_> = model.nics.iter().map(|nic| (nic.iommu_group, nic.numa)).collect();
        let _ = writeln!(
            text,
            "own partitions {:?} groups {:?} numa {:?} nics {nics:?}",
            model.partitions, model.gpu_groups, model.gpu_numa
        );
    }
    for tenant in intent.tenants.values() {
        let apart = tenant.apart.iter().map(|apart| format!(" {} at {}", apart.from, apart.level));
        let apart: String = apart.collect();
        let _ = writeln!(
            text,
            "tenant {} quota {:?} reserved {:?} on-demand {:?} preemptible {:?} apart{apart}",
            tenant.name,
            tenant.quota_gpus,
            tenant.quotas.reserved,
            tenant.quotas.on_demand,
            tenant.quotas.preemptible,
        );
    }
    for job in intent.jobs.values() {
        let terms = &job.terms;
        let _ = writeln!(
            text,
            "job {} {:?} product {:?} within {} segment {:?} site {:?} capacity {} preempts {}",
            job.name,
            job.want,
            terms.product,
            terms.within,
            terms.segment,
            terms.site,
            terms.capacity,
            terms.preempts,
        );
    }
    text
}

#[test]
fn a_job_says_what_it_demands_of_its_place() {
    check(
        PLAIN,
        "
        Tenant acme: {pools: [10.0.0.0/16]}
        Job plain: {tenant: acme, gpus: 1}
        Job demanding: {tenant: acme, gpus: 128, product: GB200-186GB, within: leaf, segment: 16, site: edge, capacity: reserved, preempts: others}
        Job sliced: {tenant: acme, slices: {profile: 1g.10gb, count: 4}, product: H100-80GB, within: node, site: core, capacity: preemptible}
        Job named: {tenant: acme, endpoints: [ams-hgx-r01-n01/0], capacity: preemptible}
        ",
        expect![[r#"
            tenant acme quota None reserved None on-demand None preemptible None apart
            job acme/demanding Gpus(128) product Some("GB200-186GB") within leaf segment Some(16) site Some(Edge) capacity reserved preempts others
            job acme/named Endpoints([NicRef { node: NodeId(0), nic: 0 }]) product None within pod segment None site None capacity preemptible preempts nobody
            job acme/plain Gpus(1) product None within pod segment None site None capacity on-demand preempts nobody
            job acme/sliced Slices { profile: "1g.10gb", count: 4 } product Some("H100-80GB") within node segment None site Some(Core) capacity preemptible preempts nobody
        "#]],
    );
}

#[test]
fn a_job_cannot_demand_what_makes_no_sense() {
    check(
        PLAIN,
        "
        Tenant acme: {pools: [10.0.0.0/16]}
        Job none: {tenant: acme}
        Job two: {tenant: acme, gpus: 1, slices: {profile: 1g.10gb, count: 1}}
        Job large: {tenant: acme, gpus: 16385}
        Job empty: {tenant: acme, slices: {profile: 1g.10gb, count: 0}}
        Job half: {tenant: acme, slices: {count: 1}}
        Job words: {tenant: acme, gpus: 8, within: rack, site: cloud, capacity: reservd, preempts: all}
        Job product: {tenant: acme, gpus: 8, product: H100-80G}
        Job named: {tenant: acme, endpoints: [ams-hgx-r01-n01/0], product: H100-80GB, within: leaf, segment: 1, site: core, preempts: own}
        Job mixed: {tenant: acme, slices: {profile: 1g.10gb, count: 1}, segment: 1}
        Job uneven: {tenant: acme, gpus: 72, product: GB200-186GB, segment: 16}
        Job odd: {tenant: acme, gpus: 34, segment: 2}
        Job wide: {tenant: acme, gpus: 36, segment: 65}
        Job bully: {tenant: acme, gpus: 1, capacity: preemptible, preempts: own}
        ",
        expect![[r#"
            either-or: a.yaml:2:76: none of `gpus`, `endpoints`, `slices` is given. Add one of `gpus`, `endpoints`, `slices`.
            either-or: a.yaml:3:75: `gpus`, `slices` are given together. Keep one of them.
            out-of-range: a.yaml:4:98: `gpus` cannot be 16385. Write a number from 1 to 16384.
            out-of-range: a.yaml:5:126: `count` cannot be 0. Write a number from 1 to 16384.
            missing-key: a.yaml:6:99: key `profile` is missing in slices. Add `profile`.
            wrong-word: a.yaml:7:109: `rack` is no `within`. Write one of `node`, `nvlink-domain`, `leaf`, `pod`.
            wrong-word: a.yaml:7:121: `cloud` is no `site`. Write one of `core`, `edge`.
            wrong-word: a.yaml:7:138: `reservd` is no `capacity`. Did you mean `reserved`?
            wrong-word: a.yaml:7:157: `all` is no `preempts`. Write one of `nobody`, `own`, `others`.
            dangling: a.yaml:8:112: there is no product `H100-80G`. Did you mean `H100-80GB`?
            pointless: a.yaml:9:133: `product` means nothing beside `endpoints`. Remove `product`.
            pointless: a.yaml:9:152: `within` means nothing beside `endpoints`. Remove `within`.
            pointless: a.yaml:9:167: `segment` means nothing beside `endpoints`. Remove `segment`.
            pointless: a.yaml:9:176: `site` means nothing beside `endpoints`. Remove `site`.
            pointless: a.yaml:9:192: `preempts` means nothing beside `endpoints`. Remove `preempts`.
            pointless: a.yaml:10:139: `segment` means nothing beside `slices`. Remove `segment`.
            not-whole-segments: a.yaml:11:134: 72 GPUs are no whole number of segments of 16 nodes on any node model that suits the job. Ask for a multiple of 64, or for another segment.
            not-whole-segments: a.yaml:12:109: 34 GPUs are no whole number of segments of 2 nodes on any node model that suits the job. Ask for a multiple of 4 or 8 or 16, or for another segment.
            out-of-range: a.yaml:13:110: `segment` cannot be 65. Write a number from 1 to 64.
            preemptible-preempts: a.yaml:14:134: a preemptible job may not stop others, but this one has `preempts: own`. Remove `preempts`, or ask for another capacity.
        "#]],
    );
}

#[test]
fn below_a_tenant_capacity_is_shared_and_enemies_are_added() {
    check(
        PLAIN,
        "
        Tenant a: {quota: {gpus: 64, reserved: 32, onDemand: 16, preemptible: 128}, apartFrom: [rival, b/x], apartLevel: pod}
        Tenant a/1: {}
        Tenant a/2: {quota: {reserved: 24, onDemand: 8}, apartFrom: [other]}
        Tenant a/2/x: {quota: {gpus: 8, reserved: 8, preemptible: 0}, apartFrom: [rival, other, other], apartLevel: site}
        Tenant a/3: {quota: {reserved: 8}}
        Tenant a/4: {apartFrom: [a/3]}
        Tenant b: {quota: {reserved: 8}}
        Tenant b/x: {}
        Tenant rival: {}
        Tenant other: {}
        ",
        expect![[r#"
            tenant a quota Some(64) reserved Some(32) on-demand Some(16) preemptible Some(128) apart b/x at pod rival at pod
            tenant a/1 quota Some(64) reserved Some(32) on-demand Some(16) preemptible Some(128) apart b/x at pod rival at pod
            tenant a/2 quota Some(64) reserved Some(24) on-demand Some(8) preemptible Some(128) apart b/x at pod other at leaf rival at pod
            tenant a/2/x quota Some(8) reserved Some(8) on-demand Some(8) preemptible Some(0) apart b/x at pod other at site rival at site
            tenant a/3 quota Some(64) reserved Some(8) on-demand Some(16) preemptible Some(128) apart b/x at pod rival at pod
            tenant a/4 quota Some(64) reserved Some(32) on-demand Some(16) preemptible Some(128) apart a/3 at leaf b/x at pod rival at pod
            tenant b quota None reserved Some(8) on-demand None preemptible None apart
            tenant b/x quota None reserved Some(8) on-demand None preemptible None apart
            tenant other quota None reserved None on-demand None preemptible None apart
            tenant rival quota None reserved None on-demand None preemptible None apart
        "#]],
    );
}

#[test]
fn a_tenant_cannot_have_more_than_there_is_above() {
    check(
        PLAIN,
        "
        Guardrail few: {tenant: d, limits: {maxGpus: 8}}
        Tenant a: {quota: {gpus: 64, reserved: 32, onDemand: 16, preemptible: 128}}
        Tenant a/1: {quota: {reserved: 33, onDemand: 17, preemptible: 129}}
        Tenant a/2: {}
        Tenant a/2/x: {quota: {reserved: 20}}
        Tenant a/3: {quota: {reserved: 13}}
        Tenant b: {}
        Tenant b/x: {quota: {reserved: 1}}
        Tenant c: {quota: {gpus: 8, reserved: 9}}
        Tenant d: {quota: {reserved: 9}}
        Tenant e: {quota: {}}
        Tenant f: {quota: {reservd: 8}}
        Tenant g: {quota: 64}
        ",
        expect![[r#"
            weaker: a.yaml:3:97: reserved 33 of tenant `a/1` is weaker than 32, which it inherits from `a` (a.yaml:2:105). Write at most 32, or leave it out.
            weaker: a.yaml:3:111: onDemand 17 of tenant `a/1` is weaker than 16, which it inherits from `a` (a.yaml:2:119). Write at most 16, or leave it out.
            weaker: a.yaml:3:128: preemptible 129 of tenant `a/1` is weaker than 128, which it inherits from `a` (a.yaml:2:136). Write at most 128, or leave it out.
            reserved-twice: a.yaml:6:97: reservation 13 of tenant `a/3` brings those below `a` to 33, more than its 32 (a.yaml:2:105). Reserve less below `a`, or more for it.
            weaker: a.yaml:8:97: reserved 1 of tenant `b/x` is weaker than 0, which it inherits from `b` (a.yaml:7:66). Write at most 0, or leave it out.
            reserved-above-quota: a.yaml:9:104: reservation 9 of tenant `c` is above its quota 8 (a.yaml:9:91). Reserve at most 8, or raise the quota.
            reserved-above-quota: a.yaml:10:95: reservation 9 of tenant `d` is above its quota 8 (a.yaml:1:111). Reserve at most 8, or raise the quota.
            either-or: a.yaml:11:84: none of `gpus`, `reserved`, `onDemand`, `preemptible` is given. Add one of `gpus`, `reserved`, `onDemand`, `preemptible`.
            unknown-key: a.yaml:12:85: unknown key `reservd` in a quota. Did you mean `reserved`?
            wrong-type: a.yaml:13:84: a quota is a map, found `64`. Write keys and values.
        "#]],
    );
}

#[test]
fn a_tenant_keeps_away_from_strangers_that_exist() {
    check(
        PLAIN,
        "
        Tenant a: {apartFrom: [rivl, A, a, a/b, [rival]]}
        Tenant a/b: {apartFrom: [a]}
        Tenant b: {apartLevel: pod}
        Tenant c: {apartFrom: rival, apartLevel: rack}
        Tenant d: {apartFrom: [rival], apartLevel: pod}
        Tenant d/x: {apartFrom: [rival], apartLevel: node}
        Tenant rival: {}
        ",
        expect![[r#"
            dangling: a.yaml:1:89: there is no tenant `rivl`. Did you mean `rival`?
            bad-name: a.yaml:1:95: `A` is no name. Use lower-case letters, digits and inner hyphens, at most 63 a name; a tenant's path has at most 5 names joined by slashes.
            apart-from-itself: a.yaml:1:98: tenant `a` cannot keep away from `a`, its own kin. Name tenants that are neither above nor below it.
            apart-from-itself: a.yaml:1:101: tenant `a` cannot keep away from `a/b`, its own kin. Name tenants that are neither above nor below it.
            wrong-type: a.yaml:1:106: `apartFrom` takes text, found a list. Write text.
            apart-from-itself: a.yaml:2:91: tenant `a/b` cannot keep away from `a`, its own kin. Name tenants that are neither above nor below it.
            missing-key: a.yaml:3:89: key `apartFrom` is missing in a tenant with an `apartLevel`. Add `apartFrom`.
            wrong-type: a.yaml:4:88: `apartFrom` takes a list, found `rival`. Write a list.
            wrong-word: a.yaml:4:107: `rack` is no `apartLevel`. Write one of `node`, `leaf`, `pod`, `site`.
            weaker: a.yaml:6:91: apartLevel node of tenant `d/x` is weaker than pod, which it inherits from `d` (a.yaml:5:89). Write `pod` or a wider level, or leave it out.
        "#]],
    );
}

#[test]
fn a_node_model_says_what_can_be_joined_and_what_stands_together() {
    check(
        &node("", ""),
        "Tenant a: {}",
        expect![[r#"
            own partitions None groups [2, 3, 4, 5] numa [0, 0, 0, 0] nics [(0, 0), (1, 0)]
            tenant a quota None reserved None on-demand None preemptible None apart
        "#]],
    );
    check(
        &node(", partitions: [[2, 1], [1, 2, 3, 4], [3], [4]]", ", gpuIommuGroups: [7, 7, 8, 9]"),
        "Tenant a: {}",
        expect![[r#"
            own partitions Some([[1, 2], [1, 2, 3, 4], [3], [4]]) groups [7, 7, 8, 9] numa [0, 0, 0, 0] nics [(0, 0), (1, 0)]
            tenant a quota None reserved None on-demand None preemptible None apart
        "#]],
    );
}

#[test]
fn a_node_model_says_where_each_device_stands_if_that_is_not_as_usual() {
    check(
        &node("", ", gpuNumaNodes: [1, 0, 3, 0], nicNumaNodes: [3, 1], nicIommuGroups: [40, 7]"),
        "Tenant a: {}",
        expect![[r#"
            own partitions None groups [41, 42, 43, 44] numa [1, 0, 3, 0] nics [(40, 3), (7, 1)]
            tenant a quota None reserved None on-demand None preemptible None apart
        "#]],
    );
    check(
        &node("", ", gpuNumaNodes: [1, 0], nicNumaNodes: [3], nicIommuGroups: [40, 7, 8]"),
        "Tenant a: {}",
        expect![[r#"
            one-for-each: fleet.yaml:10:103: `gpuNumaNodes` has 2 numbers for 4 GPUs. Write 4 numbers, or leave it out.
            one-for-each: fleet.yaml:10:125: `nicNumaNodes` has 1 numbers for 2 interfaces. Write 2 numbers, or leave it out.
            one-for-each: fleet.yaml:10:146: `nicIommuGroups` has 3 numbers for 2 interfaces. Write 2 numbers, or leave it out.
        "#]],
    );
    check(
        &node("", ", gpuNumaNodes: [0, 0, 0, 1024], nicNumaNodes: 1, nicIommuGroups: [40, x]"),
        "Tenant a: {}",
        expect![[r#"
            out-of-range: fleet.yaml:10:113: `gpuNumaNodes` cannot be 1024. Write a number from 0 to 1023.
            wrong-type: fleet.yaml:10:134: `nicNumaNodes` takes a list, found `1`. Write a list.
            wrong-type: fleet.yaml:10:158: `nicIommuGroups` takes a whole number, found `x`. Write a whole number.
        "#]],
    );
}

#[test]
fn a_node_model_cannot_join_what_it_does_not_have() {
    check(
        &node(
            ", partitions: [[1, 5], [0], [2, 2], [], 3, [1, 2], [2, 1], [x]]",
            ", gpuIommuGroups: [7, 7]",
        ),
        "Tenant a: {}",
        expect![[r#"
            out-of-range: fleet.yaml:10:63: `partitions` cannot be 5. Write a number from 1 to 4.
            out-of-range: fleet.yaml:10:68: `partitions` cannot be 0. Write a number from 1 to 4.
            module-twice: fleet.yaml:10:76: module 2 is twice in one partition. Name it once.
            empty-list: fleet.yaml:10:80: `partitions` is empty. Write at least one.
            wrong-type: fleet.yaml:10:84: `partitions` takes a list, found `3`. Write a list.
            partition-twice: fleet.yaml:10:95: partition [1, 2] is there already. Name it once.
            wrong-type: fleet.yaml:10:104: `partitions` takes a whole number, found `x`. Write a whole number.
            one-for-each: fleet.yaml:10:168: `gpuIommuGroups` has 2 numbers for 4 GPUs. Write 4 numbers, or leave it out.
        "#]],
    );
    check(
        &node(", partitions: []", ", gpuIommuGroups: [7, 7, 8, -1]"),
        "Tenant a: {}",
        expect![[r#"
            empty-list: fleet.yaml:10:58: `partitions` is empty. Write at least one.
            wrong-type: fleet.yaml:10:131: `gpuIommuGroups` takes a whole number, found `-1`. Write a whole number.
        "#]],
    );
    check(
        &node(", partitions: all", ", gpuIommuGroups: 7"),
        "Tenant a: {}",
        expect![[r#"
        wrong-type: fleet.yaml:10:58: `partitions` takes a list, found `all`. Write a list.
        wrong-type: fleet.yaml:10:122: `gpuIommuGroups` takes a list, found `7`. Write a list.
    "#]],
    );
    check(
        &PLAIN.replace("gpus: 2", "gpus: 65"),
        "Tenant a: {}",
        expect![[r#"
        out-of-range: fleet.yaml:10:53: `gpus` cannot be 65. Write a number from 1 to 64.
    "#]],
    );
}
