//! Every way to be refused, with the exact words.

use expect_test::{Expect, expect};
use intent::{Source, load};

/// A sound fleet that the other documents stand on; cases that are about a fleet bring their own.
const FLEET: &str = "
apiVersion: bulkhead.dev/v1
kind: Fleet
metadata: {name: small}
spec:
  models:
    nodes:
      hgx: {gpu: {product: H100, board: HGX-8}, gpus: 8, nics: {count: 8, rate: 400Gbps}}
    racks:
      rack: {nodes: {model: hgx, count: 2}}
    pods:
      pod: {racks: {model: rack, count: 2}, spines: 1}
  sites:
    - {name: ams, jurisdiction: NL, pods: [{name: p, model: pod, count: 2}]}
";

/// Loads a document in short form, one after the other, beside the fleet:
/// `Kind name: {spec in flow style}` becomes one line of a file.
fn check(shorts: &str, expected: Expect) {
    let lines: Vec<String> = shorts.trim().lines().map(long).collect();
    let text = lines.join("\n");
    let fleet = Source { file: "fleet.yaml", text: FLEET };
    let own = Source { file: "a.yaml", text: &text };
    let brings_fleet = shorts.contains("Fleet ");
    let sources = if brings_fleet { &[own][..] } else { &[fleet, own][..] };
    expected.assert_eq(&said(sources));
}

/// A line that is no short form stands as it is.
fn long(line: &str) -> String {
    let line = line.trim();
    let parts = line.split_once(": {").and_then(|(head, spec)| {
        let (kind, name) = head.split_once(' ')?;
        Some((kind, name, spec))
    });
    match parts {
        Some((kind, name, spec)) if kind != "---" => format!(
            "--- {{apiVersion: bulkhead.dev/v1, kind: {kind}, metadata: {{name: {name}}}, \
             spec: {{{spec}}}"
        ),
        _ => line.to_owned(),
    }
}

fn said(sources: &[Source<'_>]) -> String {
    match load(sources) {
        Ok(_) => "accepted\n".to_owned(),
        Err(refusals) => {
            refusals.iter().map(|refusal| format!("{}: {refusal}\n", refusal.code())).collect()
        }
    }
}

fn raw(text: &str, expected: Expect) {
    let file = "raw.yaml";
    expected.assert_eq(&said(&[Source { file, text }]));
}

#[test]
fn text_that_is_no_document() {
    raw(
        "a: [1, 2\n",
        expect![[r#"
            not-yaml: raw.yaml:1:4: this is no YAML: unclosed bracket '['. Correct the YAML or JSON at this place.
        "#]],
    );
    raw(
        "- 1\n",
        expect![[r#"
            wrong-type: raw.yaml:1:1: a document is a map, found a list. Write keys and values.
            no-fleet: no document describes the fleet. Add a document of kind Fleet.
        "#]],
    );
    raw(
        "just words\n",
        expect![[r#"
            wrong-type: raw.yaml:1:1: a document is a map, found `just words`. Write keys and values.
            no-fleet: no document describes the fleet. Add a document of kind Fleet.
        "#]],
    );
    raw(
        "{a: 1} {b: 2}\n",
        expect![[r#"
            not-yaml: raw.yaml:1:8: this is no YAML: did not find expected <document start>. Correct the YAML or JSON at this place.
        "#]],
    );
    raw(
        "? [a]\n: 1\n",
        expect![[r#"
            key-is-no-text: raw.yaml:1:3: a list or a map is no key. Make the key a word.
        "#]],
    );
    raw(
        "a: 1\r---\rb: 2\r",
        expect![[r#"
        two-values: raw.yaml:3:1: a second value stands in this document. Put `---` between two documents.
    "#]],
    );
    raw(
        "a: !!str 1\n",
        expect![[r#"
            yaml-tag: raw.yaml:1:10: YAML tags are not read. Remove the tag.
        "#]],
    );
    raw(
        "",
        expect![[r#"
        no-fleet: no document describes the fleet. Add a document of kind Fleet.
    "#]],
    );
}

#[test]
fn hostile_text() {
    raw(
        "a: &a [x, x]\nb: [*a, *a]\n",
        expect![[r#"
            alias: raw.yaml:1:7: anchors and aliases are not read. Write the value out, or say it once in a model.
            alias: raw.yaml:2:5: anchors and aliases are not read. Write the value out, or say it once in a model.
            alias: raw.yaml:2:9: anchors and aliases are not read. Write the value out, or say it once in a model.
        "#]],
    );
    raw(
        "a: &a [*a]\n",
        expect![[r#"
            alias: raw.yaml:1:7: anchors and aliases are not read. Write the value out, or say it once in a model.
            alias: raw.yaml:1:8: anchors and aliases are not read. Write the value out, or say it once in a model.
        "#]],
    );
    raw(
        &"[".repeat(100),
        expect![[r#"
            not-yaml: raw.yaml:1:100: this is no YAML: unclosed bracket '['. Correct the YAML or JSON at this place.
        "#]],
    );
    raw(
        &"- ".repeat(100_000),
        expect![[r#"
            too-deep: raw.yaml:1:131: values are nested more than 64 deep. Write flatter documents.
        "#]],
    );
    raw(
        &format!("{}1", "{a: ".repeat(200)),
        expect![[r#"
            not-yaml: raw.yaml:1:797: this is no YAML: unclosed bracket '{'. Correct the YAML or JSON at this place.
        "#]],
    );
}

#[test]
fn a_broken_document_does_not_hide_the_next() {
    check(
        "
        Tenant acme: {grade: nod, quota: {gpu: 8}, pools: []}
        --- {apiVersion: bulkhead.dev/v1, kind: [
        Tenant beta: {colour: red}
        ",
        expect![[r#"
            wrong-word: a.yaml:1:87: `nod` is no `grade`. Did you mean `node`?
            unknown-key: a.yaml:1:100: unknown key `gpu` in a quota. Did you mean `gpus`?
            not-yaml: a.yaml:2:41: this is no YAML: unclosed bracket '['. Correct the YAML or JSON at this place.
            unknown-key: a.yaml:3:80: unknown key `colour` in a tenant. Known keys are `grade`, `pools`, `guarantee`, `ceiling`, `quota`, `apartFrom`, `apartLevel`, `versions`, `jurisdictions`, `groups`, `confidential`, `attestation`.
        "#]],
    );
}

#[test]
fn frames() {
    check(
        "
        --- {apiVersion: v2, kind: Tenat, metadata: {name: acme}, spec: {}, extra: 1}
        --- {kind: Job, metadata: {title: x}}
        --- {apiVersion: bulkhead.dev/v1, kind: Planet, metadata: {name: earth}, spec: {}}
        --- {apiVersion: v1, kind: List, items: [{kind: Tenant}, 5]}
        --- {apiVersion: v3, kind: List, items: 5}
        --- {apiVersion: bulkhead.dev/v1, kind: Tenant, kind: Job, metadata: {name: a}, spec: {}}
        ",
        expect![[r#"
            wrong-api-version: a.yaml:1:18: API version `v2` is not known. Write `bulkhead.dev/v1`.
            unknown-kind: a.yaml:1:28: kind `Tenat` is not known. Did you mean `Tenant`?
            unknown-key: a.yaml:1:69: unknown key `extra` in a document. Known keys are `apiVersion`, `kind`, `metadata`, `spec`, `status`.
            missing-key: a.yaml:2:5: key `apiVersion` is missing in a document. Add `apiVersion`.
            missing-key: a.yaml:2:5: key `spec` is missing in a document. Add `spec`.
            missing-key: a.yaml:2:27: key `name` is missing in metadata. Add `name`.
            unknown-key: a.yaml:2:28: unknown key `title` in metadata. Known keys are `name`, `labels`, `annotations`.
            unknown-kind: a.yaml:3:41: kind `Planet` is not known. Kinds are Fleet, Tenant, Permit, Guardrail, Job, Waiver and List.
            missing-key: a.yaml:4:42: key `apiVersion` is missing in a document. Add `apiVersion`.
            missing-key: a.yaml:4:42: key `metadata` is missing in a document. Add `metadata`.
            missing-key: a.yaml:4:42: key `spec` is missing in a document. Add `spec`.
            wrong-type: a.yaml:4:58: a document is a map, found `5`. Write keys and values.
            wrong-api-version: a.yaml:5:18: API version `v3` is not known. Write `bulkhead.dev/v1`.
            wrong-type: a.yaml:5:41: `items` takes a list, found `5`. Write a list.
            duplicate-key: a.yaml:6:49: key `kind` is already at a.yaml:6:35. Keep one of the two.
        "#]],
    );
}

#[test]
fn names() {
    check(
        "
        Tenant Acme: {}
        Tenant acme/a/b/c/d/e: {}
        Tenant acme: {}
        Tenant acme: {}
        Guardrail g: {limits: {}}
        Guardrail g: {limits: {}}
        Guardrail h: {tenant: acne, limits: {}}
        Tenant beta/x: {}
        ",
        expect![[r#"
            bad-name: a.yaml:1:66: `Acme` is no name. Use lower-case letters, digits and inner hyphens, at most 63 a name; a tenant's path has at most 5 names joined by slashes.
            bad-name: a.yaml:2:66: `acme/a/b/c/d/e` is no name. Use lower-case letters, digits and inner hyphens, at most 63 a name; a tenant's path has at most 5 names joined by slashes.
            duplicate-name: a.yaml:4:66: tenant `acme` is already at a.yaml:3:66. Rename or remove one of the two.
            duplicate-name: a.yaml:6:69: guardrail `g` is already at a.yaml:5:69. Rename or remove one of the two.
            dangling: a.yaml:7:88: there is no tenant `acne`. Did you mean `acme`?
            no-parent: a.yaml:8:66: tenant `beta/x` is below `beta`, which does not exist. Add a tenant `beta`.
        "#]],
    );
}

#[test]
fn types_and_numbers_of_tenants() {
    check(
        "
        Tenant a: {grade: [node], pools: 10.0.0.0/9, guarantee: 25, ceiling: 0Gbps, quota: {gpus: many}}
        Tenant b: {quota: {gpus: -1}, versions: {driver: newest, secureBoot: yes}, jurisdictions: []}
        Tenant c: {quota: {gpus: '8'}, groups: ['two words'], versions: {bios: 1}}
        Tenant d: {quota: {gpus: 99999999999}, grade: , guarantee: 50Gbps, ceiling: 25Gbps}
        ",
        expect![[r#"
            wrong-type: a.yaml:1:84: `grade` takes text, found a list. Write text.
            wrong-type: a.yaml:1:99: `pools` takes a list, found `10.0.0.0/9`. Write a list.
            bad-value: a.yaml:1:122: `25` cannot be read as `guarantee`. Expected: a bandwidth is a whole number with its unit: bps, kbps, Mbps, Gbps or Tbps.
            bad-value: a.yaml:1:135: `0bps` cannot be read as `ceiling`. Expected: a bandwidth above zero.
            wrong-type: a.yaml:1:156: `gpus` takes a whole number, found `many`. Write a whole number.
            wrong-type: a.yaml:2:91: `gpus` takes a whole number, found `-1`. Write a whole number.
            bad-value: a.yaml:2:115: `newest` cannot be read as `driver`. Expected: the least version, such as `>=550.90` or `550.90`.
            wrong-type: a.yaml:2:135: `secureBoot` takes true or false, found `yes`. Write true or false.
            empty-list: a.yaml:2:156: `jurisdictions` is empty. Write at least one.
            wrong-type: a.yaml:3:91: `gpus` takes a whole number, found the quoted text `8`. Write a whole number.
            bad-value: a.yaml:3:106: `two words` cannot be read as `groups`. Expected: 1 to 128 visible ASCII characters without blanks.
            unknown-key: a.yaml:3:131: unknown key `bios` in a version policy. Known keys are `driver`, `kernel`, `firmware`, `toolkit`, `secureBoot`.
            out-of-range: a.yaml:4:91: `gpus` cannot be 99999999999. Write a number from 0 to 4294967295.
            wrong-type: a.yaml:4:110: `grade` takes text, found nothing. Write text.
            guarantee-above-ceiling: a.yaml:4:125: guarantee 50Gbps of tenant `d` is above its ceiling 25Gbps (a.yaml:4:142). Lower the guarantee or raise the ceiling.
        "#]],
    );
}

#[test]
fn pools() {
    check(
        "
        Tenant a: {pools: [fd00::/64, 10.1.2.3/16, 10.0.0.0/30, 10, 10.9.0.0/16, 10.9.8.0/24]}
        Tenant b: {}
        Job train: {tenant: b, gpus: 8}
        ",
        expect![[r#"
            ipv6: a.yaml:1:85: `pools` cannot be IPv6: fd00::/64. Write an IPv4 range; IPv6 is not supported yet.
            host-bits: a.yaml:1:96: `pools` has an address inside of its range: 10.1.2.3/16. Write `10.1.0.0/16`.
            prefix-too-long: a.yaml:1:109: pool 10.0.0.0/30 has no room for a gateway and endpoints. Write a range of at most /29.
            bad-value: a.yaml:1:122: `10` cannot be read as `pools`. Expected: an IPv4 range such as 10.1.0.0/16.
            ranges-overlap: a.yaml:1:139: range 10.9.8.0/24 overlaps 10.9.0.0/16 at a.yaml:1:126. Choose ranges without common addresses.
            no-pool: a.yaml:2:66: tenant `b` has no addresses for its job `b/train`. Add `pools` to it or to a tenant above it.
        "#]],
    );
}

#[test]
fn pools_that_no_endpoint_can_have() {
    check(
        "
        Tenant a: {pools: [127.0.0.0/16, 224.1.0.0/16, 0.0.0.0/0]}
        Tenant b: {pools: [169.254.7.0/24, 128.0.0.0/1, 240.0.0.0/8, 0.1.0.0/16]}
        Tenant c: {pools: [10.255.3.0/24, 172.16.0.0/16, 10.0.0.0/8, 10.254.0.0/16, 172.32.0.0/16]}
        ",
        expect![[r#"
            pool-reserved: a.yaml:1:85: pool 127.0.0.0/16 overlaps 127.0.0.0/8, which is each host's own. Choose a private range, such as 10.1.0.0/16.
            pool-reserved: a.yaml:1:99: pool 224.1.0.0/16 overlaps 224.0.0.0/4, which is for groups. Choose a private range, such as 10.1.0.0/16.
            pool-reserved: a.yaml:1:113: pool 0.0.0.0/0 overlaps 0.0.0.0/8, which is no network at all. Choose a private range, such as 10.1.0.0/16.
            ranges-overlap: a.yaml:1:113: range 0.0.0.0/0 overlaps 127.0.0.0/16 at a.yaml:1:85. Choose ranges without common addresses.
            pool-reserved: a.yaml:2:85: pool 169.254.7.0/24 overlaps 169.254.0.0/16, which is of one cable only. Choose a private range, such as 10.1.0.0/16.
            pool-reserved: a.yaml:2:101: pool 128.0.0.0/1 overlaps 169.254.0.0/16, which is of one cable only. Choose a private range, such as 10.1.0.0/16.
            ranges-overlap: a.yaml:2:101: range 128.0.0.0/1 overlaps 169.254.7.0/24 at a.yaml:2:85. Choose ranges without common addresses.
            pool-reserved: a.yaml:2:114: pool 240.0.0.0/8 overlaps 240.0.0.0/4, which is reserved. Choose a private range, such as 10.1.0.0/16.
            ranges-overlap: a.yaml:2:114: range 240.0.0.0/8 overlaps 128.0.0.0/1 at a.yaml:2:101. Choose ranges without common addresses.
            pool-reserved: a.yaml:2:127: pool 0.1.0.0/16 overlaps 0.0.0.0/8, which is no network at all. Choose a private range, such as 10.1.0.0/16.
            pool-in-fabric: a.yaml:3:85: pool 10.255.3.0/24 overlaps 10.255.0.0/16, which has the fabric's own addresses. Choose ranges without common addresses.
            pool-in-fabric: a.yaml:3:100: pool 172.16.0.0/16 overlaps 172.16.0.0/12, which has the fabric's own addresses. Choose ranges without common addresses.
            pool-in-fabric: a.yaml:3:115: pool 10.0.0.0/8 overlaps 10.255.0.0/16, which has the fabric's own addresses. Choose ranges without common addresses.
            ranges-overlap: a.yaml:3:115: range 10.0.0.0/8 overlaps 10.255.3.0/24 at a.yaml:3:85. Choose ranges without common addresses.
            ranges-overlap: a.yaml:3:127: range 10.254.0.0/16 overlaps 10.0.0.0/8 at a.yaml:3:115. Choose ranges without common addresses.
        "#]],
    );
}

#[test]
fn what_is_inherited_cannot_be_weakened() {
    check(
        "
        Tenant a: {grade: node, ceiling: 100Gbps, quota: {gpus: 64}, jurisdictions: [NL, DE], versions: {driver: '>=550.90', secureBoot: true}}
        Tenant a/b: {grade: gpu, ceiling: 200Gbps, quota: {gpus: 65}, jurisdictions: [NL, US], versions: {driver: '>=550.9', secureBoot: false}}
        Tenant a/b/c: {guarantee: 300Gbps}
        Tenant a/d: {grade: domain, ceiling: 50Gbps, quota: {gpus: 8}, jurisdictions: [DE], versions: {driver: 570}}
        ",
        expect![[r#"
            weaker: a.yaml:2:86: grade gpu of tenant `a/b` is weaker than node, which it inherits from `a` (a.yaml:1:84). Write `node` or a stricter grade, or leave it out.
            weaker: a.yaml:2:100: ceiling 200Gbps of tenant `a/b` is weaker than 100Gbps, which it inherits from `a` (a.yaml:1:99). Write at most 100Gbps, or leave it out.
            weaker: a.yaml:2:123: quota 65 of tenant `a/b` is weaker than 64, which it inherits from `a` (a.yaml:1:122). Write at most 64, or leave it out.
            weaker: a.yaml:2:143: jurisdictions US of tenant `a/b` is weaker than DE, NL, which it inherits from `a` (a.yaml:1:142). Choose among DE, NL, or leave it out.
            weaker: a.yaml:2:172: driver 550.9 of tenant `a/b` is weaker than 550.90, which it inherits from `a` (a.yaml:1:171). Write at least 550.90, or leave it out.
            weaker: a.yaml:2:195: secureBoot false of tenant `a/b` is weaker than true, which it inherits from `a` (a.yaml:1:195). Write `true`, or leave it out.
            guarantee-above-ceiling: a.yaml:3:92: guarantee 300Gbps of tenant `a/b/c` is above its ceiling 200Gbps (a.yaml:2:100). Lower the guarantee or raise the ceiling.
        "#]],
    );
}

#[test]
fn guardrails() {
    check(
        "
        Guardrail all: {limits: {weakestGrade: node, maxGpus: 100, maxCeiling: 100Gbps, jurisdictions: [NL]}}
        Guardrail acme: {tenant: acme, limits: {jurisdictions: [DE], noForeignPermits: true}}
        Guardrail vague: {limits: {noForeignPermits: true, maxGPUs: 1}}
        Tenant beta: {grade: gpu, quota: {gpus: 101}, ceiling: 101Gbps, jurisdictions: [NL, DE], pools: [10.0.0.0/9]}
        Tenant acme: {pools: [10.0.0.0/9]}
        Tenant acme/x: {}
        Job train: {tenant: acme/x, gpus: 8}
        Permit p: {tenant: acme/x, job: train, side: client, peer: {tenant: beta, job: nfs}, service: {protocol: tcp, port: 2049}}
        Permit q: {tenant: acme/x, job: train, side: client, peer: {tenant: acme, job: nfs}, service: {protocol: tcp, port: 2049}}
        ",
        expect![[r#"
            nobody-is-foreign: a.yaml:3:111: `noForeignPermits` for every tenant: nobody is foreign to all. Name the tenant whose subtree stays closed.
            unknown-key: a.yaml:3:117: unknown key `maxGPUs` in limits. Did you mean `maxGpus`?
            breaks-guardrail: a.yaml:4:87: grade gpu of tenant `beta` breaks guardrail `all`, which demands node (a.yaml:1:105). Write `node` or a stricter grade, or leave it out.
            breaks-guardrail: a.yaml:4:106: quota 101 of tenant `beta` breaks guardrail `all`, which demands 100 (a.yaml:1:120). Write at most 100, or leave it out.
            breaks-guardrail: a.yaml:4:121: ceiling 101Gbps of tenant `beta` breaks guardrail `all`, which demands 100Gbps (a.yaml:1:137). Write at most 100Gbps, or leave it out.
            breaks-guardrail: a.yaml:4:145: jurisdictions DE of tenant `beta` breaks guardrail `all`, which demands NL (a.yaml:1:161). Choose among NL, or leave it out.
            no-jurisdiction-left: a.yaml:5:66: all above tenant `acme` together leave it no jurisdiction. Let the jurisdictions above it overlap.
            foreign-permit: a.yaml:8:125: peer `beta/nfs` is outside of `acme`, which guardrail `acme` closes (a.yaml:2:145). Remove the permit, or ask the owner of the guardrail.
        "#]],
    );
}

#[test]
fn permits() {
    check(
        "
        Tenant a: {pools: [10.0.0.0/9]}
        Job train: {tenant: a, gpus: 8}
        Permit p: {tenant: a, job: train, side: client, peer: {tenant: b, job: nfs}, service: {protocol: udp, port: 4791}}
        Permit p: {tenant: a, job: train, side: client, peer: {tenant: b, job: nfs}, service: {protocol: tcp, port: 2049}}
        Permit q: {tenant: a, job: train, side: server, peer: {tenant: a, job: train}, service: {protocol: tpc, port: 0}}
        Permit r: {tenant: a, job: trian, side: client, peer: {tenant: b}, service: {protocol: tcp, port: 70000}}
        Permit s: {tenant: z, job: train, side: client, peer: {tenant: b, job: nfs}, service: nfs}
        Permit p: {tenant: a, job: train, side: client, peer: {tenant: b, job: nfs}, service: {protocol: tcp, port: 111}}
        ",
        expect![[r#"
            roce-permit: a.yaml:3:174: UDP 4791 is RoCE, which is kept strictly to one job. Put what must speak RoCE into one job.
            duplicate-name: a.yaml:4:66: permit `p` is already at a.yaml:3:66. Rename or remove one of the two.
            wrong-word: a.yaml:5:106: `server` is no `side`. Write one of `client`, `provider`.
            permit-with-itself: a.yaml:5:120: job `a/train` is its own peer. Remove it: the endpoints of one job meet anyway.
            wrong-word: a.yaml:5:165: `tpc` is no `protocol`. Write one of `tcp`, `udp`.
            out-of-range: a.yaml:5:176: `port` cannot be 0. Write a number from 1 to 65535.
            dangling: a.yaml:6:93: there is no job `a/trian`. Did you mean `a/train`?
            missing-key: a.yaml:6:120: key `job` is missing in a peer. Add `job`.
            out-of-range: a.yaml:6:164: `port` cannot be 70000. Write a number from 1 to 65535.
            dangling: a.yaml:7:85: there is no tenant `z`. Name a tenant that exists, or describe this one.
            wrong-type: a.yaml:7:152: a service is a map, found `nfs`. Write keys and values.
            duplicate-name: a.yaml:8:66: permit `p` is already at a.yaml:3:66. Rename or remove one of the two.
        "#]],
    );
}

#[test]
fn jobs() {
    check(
        "
        Tenant a: {pools: [10.0.0.0/9]}
        Tenant a/train: {}
        Job train: {tenant: a, gpus: 0}
        Job both: {tenant: a, gpus: 8, endpoints: [ams-p-1-r01-n01/0]}
        Job none: {tenant: a, class: lossles, pod: ams-p-3}
        Job e: {tenant: a, endpoints: [ams-p-1-r01-n01/0, ams-p-1-r01-n01/8, ams-p-1-r01-n03/0, n1, ams-p-1-r01-n01/0]}
        Job f: {tenant: a, endpoints: [ams-p-1-r01-n01/0, ams-p-2-r01-n01/0], pod: ams-p-2}
        Job e: {tenant: a, gpus: 8}
        Job g: {tenant: b, endpoints: []}
        ",
        expect![[r#"
            job-is-tenant: a.yaml:3:63: job `a/train` has the path of a tenant (a.yaml:2:66). Rename the job.
            out-of-range: a.yaml:3:95: `gpus` cannot be 0. Write a number from 1 to 16384.
            either-or: a.yaml:4:76: `gpus`, `endpoints` are given together. Keep one of them.
            either-or: a.yaml:5:76: none of `gpus`, `endpoints`, `slices` is given. Add one of `gpus`, `endpoints`, `slices`.
            wrong-word: a.yaml:5:95: `lossles` is no `class`. Did you mean `lossless`?
            dangling: a.yaml:5:109: there is no pod `ams-p-3`. Did you mean `ams-p-1`?
            no-such-nic: a.yaml:6:116: node `ams-p-1-r01-n01` has no interface 8, it has 8. Write a number from 0 to 7.
            dangling: a.yaml:6:135: there is no node `ams-p-1-r01-n03`. Did you mean `ams-p-1-r01-n01`?
            bad-value: a.yaml:6:154: `n1` cannot be read as `endpoints`. Expected: a node and the number of its interface from 0, such as n1/0.
            endpoint-taken: a.yaml:6:158: endpoint `ams-p-1-r01-n01/0` is already that of job `a/e` (a.yaml:6:97). Give it to one of the two.
            endpoint-taken: a.yaml:7:97: endpoint `ams-p-1-r01-n01/0` is already that of job `a/e` (a.yaml:6:97). Give it to one of the two.
            leaves-pod: a.yaml:7:97: endpoint `ams-p-1-r01-n01/0` is in pod `ams-p-1`, its job in `ams-p-2`. Choose endpoints of one pod.
            duplicate-name: a.yaml:8:63: job `a/e` is already at a.yaml:6:63. Rename or remove one of the two.
            dangling: a.yaml:9:82: there is no tenant `b`. Name a tenant that exists, or describe this one.
            empty-list: a.yaml:9:96: `endpoints` is empty. Write at least one.
        "#]],
    );
}

#[test]
fn a_jobs_ceiling_is_at_most_that_of_its_tenant() {
    check(
        "
        Guardrail g: {tenant: railed, limits: {maxCeiling: 50Gbps}}
        Tenant a: {pools: [10.0.0.0/9], ceiling: 100Gbps}
        Tenant a/b: {}
        Tenant railed: {pools: [10.0.0.0/9]}
        Tenant open: {pools: [10.0.0.0/9]}
        Job own: {tenant: a, gpus: 1, ceiling: 101Gbps}
        Job inherited: {tenant: a/b, gpus: 1, ceiling: 1Tbps}
        Job railed: {tenant: railed, gpus: 1, ceiling: 51Gbps}
        Job nothing: {tenant: a, gpus: 1, ceiling: 0Gbps}
        Job unit: {tenant: a, gpus: 1, ceiling: 10}
        Job equal: {tenant: a, gpus: 1, ceiling: 100Gbps}
        Job below: {tenant: a/b, gpus: 1, ceiling: 1bps}
        Job unlimited: {tenant: open, gpus: 1, ceiling: 9Tbps}
        Job near: {tenant: open, gpus: 1, celing: 9Tbps}
        ",
        expect![[r#"
            ceiling-above-tenant: a.yaml:6:105: ceiling 101Gbps of job `a/own` is above 100Gbps, that of its tenant (a.yaml:2:107). Write at most 100Gbps, or leave it out.
            ceiling-above-tenant: a.yaml:7:113: ceiling 1Tbps of job `a/b/inherited` is above 100Gbps, that of its tenant (a.yaml:2:107). Write at most 100Gbps, or leave it out.
            ceiling-above-tenant: a.yaml:8:113: ceiling 51Gbps of job `railed/railed` is above 50Gbps, that of its tenant (a.yaml:1:117). Write at most 50Gbps, or leave it out.
            bad-value: a.yaml:9:109: `0bps` cannot be read as `ceiling`. Expected: a bandwidth above zero.
            bad-value: a.yaml:10:106: `10` cannot be read as `ceiling`. Expected: a bandwidth is a whole number with its unit: bps, kbps, Mbps, Gbps or Tbps.
            unknown-key: a.yaml:14:100: unknown key `celing` in a job. Did you mean `ceiling`?
        "#]],
    );
}

#[test]
fn no_fleet_and_two() {
    raw(
        "",
        expect![[r#"
        no-fleet: no document describes the fleet. Add a document of kind Fleet.
    "#]],
    );
    check(
        "
        Fleet a: {models: {nodes: {}}, sites: []}
        Fleet b: {}
        ",
        expect![[r#"
            empty-list: a.yaml:1:104: `sites` is empty. Write at least one.
            two-fleets: a.yaml:2:65: fleet `b` is the second, the first is at a.yaml:1:65. Merge the two into one document.
        "#]],
    );
}

#[test]
fn models() {
    check(
        "
        Fleet a: {models: {nodes: {hgx: {gpu: {product: H100}, gpus: 0, nics: {count: 8, rate: fast}}, ok: {gpu: {product: p, board: b}, gpus: 8, nics: {count: 8, rate: 1Gbps, vf: 3}}}, racks: {r: {nodes: {model: hgy, count: 0}, nvlinkDomain: row}, Big: {nodes: {model: hgx, count: 1}}}, pods: {p: {racks: {model: s, count: 4}, spines: 0}}}, sites: [{name: ams, pods: [{name: x, model: q, count: 0}]}]}
        ",
        expect![[r#"
            missing-key: a.yaml:1:104: key `board` is missing in a GPU model. Add `board`.
            out-of-range: a.yaml:1:127: `gpus` cannot be 0. Write a number from 1 to 64.
            bad-value: a.yaml:1:153: `fast` cannot be read as `rate`. Expected: a bandwidth is a whole number with its unit: bps, kbps, Mbps, Gbps or Tbps.
            unknown-key: a.yaml:1:234: unknown key `vf` in interfaces. Did you mean `vfs`?
            dangling: a.yaml:1:271: there is no node model `hgy`. Did you mean `hgx`?
            out-of-range: a.yaml:1:283: `count` cannot be 0. Write a number from 1 to 100000.
            wrong-word: a.yaml:1:301: `row` is no `nvlinkDomain`. Write one of `node`, `rack`.
            bad-name: a.yaml:1:307: `Big` is no name. Use lower-case letters, digits and inner hyphens, at most 63 a name; a tenant's path has at most 5 names joined by slashes.
            dangling: a.yaml:1:372: there is no rack model `s`. Name a rack model that exists, or describe this one.
            missing-key: a.yaml:1:408: key `jurisdiction` is missing in a site. Add `jurisdiction`.
            dangling: a.yaml:1:444: there is no pod model `q`. Name a pod model that exists, or describe this one.
            out-of-range: a.yaml:1:454: `count` cannot be 0. Write a number from 1 to 100000.
        "#]],
    );
}

#[test]
fn ranges() {
    let models = "models: {nodes: {n: {gpu: {product: p, board: b}, gpus: 8, nics: {count: 8, rate: 1Gbps}}}, \
                  racks: {r: {nodes: {model: n, count: 4}}}, pods: {p: {racks: {model: r, count: 4}, spines: 1}}}, \
                  sites: [{name: ams, jurisdiction: NL, pods: [{name: p, model: p}]}]";
    check(
        &format!(
            "Fleet a: {{loopbacks: 10.0.0.0/28, cables: 10.1.0.0/26, firstAsn: 4294967290, {models}}}"
        ),
        expect![[r#"
            range-too-small: a.yaml:1:87: `loopbacks` 10.0.0.0/28 has room for 14, the fleet needs 21. Choose a larger range.
            range-too-small: a.yaml:1:108: `cables` 10.1.0.0/26 has room for 32, the fleet needs 132. Choose a larger range.
            range-too-small: a.yaml:1:131: `firstAsn` 4294967290-4294967294 has room for 5, the fleet needs 22. Begin with a smaller number.
        "#]],
    );
    check(
        &format!(
            "Fleet a: {{loopbacks: 'fd00::/64', cables: 10.1.0.1/26, targetAsn: 65536, {models}}}"
        ),
        expect![[r#"
            ipv6: a.yaml:1:87: `loopbacks` cannot be IPv6: fd00::/64. Write an IPv4 range; IPv6 is not supported yet.
            host-bits: a.yaml:1:108: `cables` has an address inside of its range: 10.1.0.1/26. Write `10.1.0.0/26`.
            out-of-range: a.yaml:1:132: `targetAsn` cannot be 65536. Write a number from 1 to 65534.
        "#]],
    );
    check(
        &format!("Fleet a: {{loopbacks: 10.0.0.0/9, cables: 10.1.0.0/16, {models}}}"),
        expect![[r#"
            ranges-overlap: a.yaml:1:107: range 10.1.0.0/16 overlaps 10.0.0.0/9 at a.yaml:1:87. Choose ranges without common addresses.
        "#]],
    );
    check(
        &format!("Fleet a: {{{}}}", models.replace("count: 4", "count: 100000")),
        expect![[r#"
            too-many: a.yaml:1:65: the fleet has 10000000000 nodes, at most 262144 are possible. Divide the fleet into several.
            too-many: a.yaml:1:65: the fleet has 80000100000 cables, at most 4194304 are possible. Divide the fleet into several.
        "#]],
    );
    check(
        &format!(
            "Fleet a: {{cables: 64.0.0.0/4, {}}}",
            models
                .replace("count: 4}, spines", "count: 4}, racksPerLeaf: 4, spines")
                .replace("model: n, count: 4", "model: n, count: 3000")
        ),
        expect![[r#"
            too-many-ports: a.yaml:1:357: switch `ams-p-leaf-1` needs 96001 ports, 65535 can be numbered. Put fewer racks on a leaf.
        "#]],
    );
}

#[test]
fn listed_pods_and_exceptions() {
    let fleet = "Fleet a: {models: {nodes: {n: {gpu: {product: p, board: b}, gpus: 8, nics: {count: 8, rate: 1Gbps}}}}, ";
    let pod =
        "leaves: [{name: l1}, {name: l2, loopback: 172.16.0.9}], spines: [{name: s1, asn: 7}]";
    check(
        &format!(
            "{fleet}sites: [{{name: ams, jurisdiction: NL, pods: [{{name: x, {pod}, nodes: [{{name: n1, model: m, leaf: l3}}, {{name: l1, model: n, leaf: l1}}]}}]}}]}}"
        ),
        expect![[r#"
            dangling: a.yaml:1:336: there is no node model `m`. Name a node model that exists, or describe this one.
            dangling: a.yaml:1:345: there is no leaf `l3`. Did you mean `l1`?
        "#]],
    );
    check(
        &format!(
            "{fleet}sites: [{{name: ams, jurisdiction: NL, pods: [{{name: x, {pod}, nodes: [{{name: l1, model: n, leaf: l1}}, {{name: n2, model: n, leaf: l1, rack: s1}}]}}, {{name: x, leaves: [{{name: ams-x}}], nodes: []}}, {{name: y, leaves: [{{name: l2}}], nodes: []}}]}}, {{name: ams, jurisdiction: NL, pods: []}}]}}"
        ),
        expect![[r#"
            duplicate-name: a.yaml:1:325: node `l1` is already at a.yaml:1:240. Rename or remove one of the two.
            duplicate-name: a.yaml:1:401: pod `ams-x` is already at a.yaml:1:221. Rename or remove one of the two.
            duplicate-name: a.yaml:1:467: switch `l2` is already at a.yaml:1:252. Rename or remove one of the two.
            duplicate-name: a.yaml:1:494: site `ams` is already at a.yaml:1:184. Rename or remove one of the two.
        "#]],
    );
    check(
        &format!(
            "{fleet}sites: [{{name: ams, jurisdiction: NL, pods: [{{name: x, {pod}, nodes: [{{name: n1, model: n, leaf: l1, loopback: 224.0.0.1}}]}}, {{name: y, leaves: [{{name: l3}}, {{name: l4}}], nodes: []}}]}}]}}"
        ),
        expect![[r#"
            bad-value: a.yaml:1:359: `224.0.0.1` cannot be read as `loopback`. Expected: a unicast address that a packet can be sent to.
            no-spine: a.yaml:1:373: 2 leaves have no spine to join them. Add at least one spine.
        "#]],
    );
    check(
        &format!(
            "{fleet}sites: [{{name: ams, jurisdiction: NL, pods: [{{name: x, {pod}, nodes: [{{name: n1, model: n, leaf: l1, asn: 9}}]}}]}}]}}"
        ),
        expect![[r#"
            loopback-in-cables: a.yaml:1:266: loopback 172.16.0.9 is inside of the cables' 172.16.0.0/12. Choose an address outside of that range.
            not-a-tunnel-endpoint: a.yaml:1:354: node `n1` is enforced on its leaf and has neither loopback nor AS. Remove it, or enforce the node on `host` or `dpu`.
        "#]],
    );
    check(
        &format!(
            "{fleet}exceptions: [{{node: n3, health: good}}, {{switch: l9}}, {{node: n1, dialect: frr}}, {{node: n1, health: bad}}, {{switch: l1, asn: 0}}, {{health: good}}], sites: [{{name: ams, jurisdiction: NL, pods: [{{name: x, leaves: [{{name: l1}}], nodes: [{{name: n1, model: n, leaf: l1}}]}}]}}]}}"
        ),
        expect![[r#"
            unknown-key: a.yaml:1:233: unknown key `dialect` in an exception of a node. Known keys are `node`, `health`, `versions`, `enforcement`, `loopback`, `asn`.
            wrong-word: a.yaml:1:267: `bad` is no `health`. Write one of `good`, `draining`, `failed`.
            out-of-range: a.yaml:1:291: `asn` cannot be 0. Write a number from 1 to 4294967294.
            missing-key: a.yaml:1:295: key `node` is missing in an exception of a node. Add `node`.
        "#]],
    );
    check(
        &format!(
            "{fleet}exceptions: [{{node: n3, health: good}}, {{switch: l9}}, {{node: n1, health: good}}, {{node: n1, enforcement: host}}], sites: [{{name: ams, jurisdiction: NL, pods: [{{name: x, leaves: [{{name: l1}}], nodes: [{{name: n1, model: n, leaf: l1}}]}}]}}]}}"
        ),
        expect![[r#"
            dangling: a.yaml:1:189: there is no node `n3`. Did you mean `n1`?
            dangling: a.yaml:1:217: there is no switch `l9`. Did you mean `l1`?
            duplicate-name: a.yaml:1:255: exception `n1` is already at a.yaml:1:229. Rename or remove one of the two.
        "#]],
    );
    check(
        &format!(
            "{fleet}exceptions: [{{switch: l1, loopback: 10.255.0.1, asn: 4200000001}}, {{switch: l2, asn: 4200000001}}], sites: [{{name: ams, jurisdiction: NL, pods: [{{name: x, leaves: [{{name: l1}}, {{name: l2}}], spines: [{{name: s1}}], nodes: []}}]}}]}}"
        ),
        expect![[r#"
            shared: a.yaml:1:205: loopback 10.255.0.1 of `l1` is also that of `s1`. Choose an address that nobody has.
            shared: a.yaml:1:222: asn 4200000001 of `l1` is also that of `s1`. Choose a number that nobody has.
            shared: a.yaml:1:253: asn 4200000001 of `l2` is also that of `l1`. Choose a number that nobody has.
        "#]],
    );
}

#[test]
fn a_refusal_is_json_for_machines() {
    let refusals = load(&[Source { file: "a.json", text: "{\"kind\": \"Jab\"" }]).unwrap_err();
    let json = serde_json::to_string_pretty(&refusals).unwrap();
    expect![[r#"
        [
          {
            "code": "not-yaml",
            "file": "a.json",
            "line": 1,
            "column": 1,
            "problem": "this is no YAML: unclosed bracket '{'",
            "remedy": "Correct the YAML or JSON at this place."
          }
        ]"#]]
    .assert_eq(&json);
}
