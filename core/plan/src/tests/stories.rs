//! Stories of jobs that come, stay, change and go, and of what each of them gets.

use expect_test::{Expect, expect};

use super::world::World;

fn check(story: &str, told: Expect) {
    let mut world = World::new();
    world.tell(story);
    told.assert_eq(&world.told);
}

#[test]
fn jobs_are_numbered_densely_and_placed_in_one_pod() {
    check(
        "tenant acme pool 10.1.0.0/24
         tenant blue pool 10.1.0.0/24
         job acme/a gpus 3
         job acme/b on n1/1
         job blue/c gpus 2
         plan",
        expect![[r#"
            generation 1
            + tenant acme  number 1
            + tenant blue  number 2
            + job acme/a  tag 17, 10.1.0.8/29, lossless, 3 endpoints on leaf-1 vlan 3
            + job acme/b  tag 16, 10.1.0.0/30, lossless, 1 endpoint on leaf-1 vlan 2
            + job blue/c  tag 18, 10.1.0.0/29, lossless, 2 endpoints on leaf-2 vlan 2
        "#]],
    );
}

#[test]
fn the_view_names_everything() {
    check(
        "tenant acme pool 10.1.0.0/24
         tenant blue pool 10.2.0.0/24
         job acme/a on n1/0 class bulk ceiling 10Gbps
         job blue/b on n3/0
         consent acme/a blue/b 2049
         show",
        expect![[r#"
            {
              "generation": 1,
              "tenants": {
                "acme": {
                  "number": 1,
                  "vrf": "t1",
                  "l3vni": 50001,
                  "rdNumber": 60001,
                  "target": "65000:50001"
                },
                "blue": {
                  "number": 2,
                  "vrf": "t2",
                  "l3vni": 50002,
                  "rdNumber": 60002,
                  "target": "65000:50002"
                }
              },
              "jobs": {
                "acme/a": {
                  "tag": 16,
                  "l2vni": 100016,
                  "target": "65000:100016",
                  "subnet": "10.1.0.0/30",
                  "gateway": "10.1.0.1",
                  "class": "bulk",
                  "ceiling": "10Gbps",
                  "devices": [
                    {
                      "device": "leaf-1",
                      "vlan": 2,
                      "endpoints": [
                        {
                          "node": "n1",
                          "nic": 0,
                          "port": "Ethernet1/1",
                          "address": "10.1.0.2",
                          "mac": "02:00:00:00:01:00"
                        }
                      ]
                    }
                  ]
                },
                "blue/b": {
                  "tag": 17,
                  "l2vni": 100017,
                  "target": "65000:100017",
                  "subnet": "10.2.0.0/30",
                  "gateway": "10.2.0.1",
                  "class": "lossless",
                  "devices": [
                    {
                      "device": "leaf-2",
                      "vlan": 2,
                      "endpoints": [
                        {
                          "node": "n3",
                          "nic": 0,
                          "port": "swp1",
                          "address": "10.2.0.2",
                          "mac": "02:00:00:00:03:00"
                        }
                      ]
                    }
                  ]
                }
              },
              "consents": [
                {
                  "client": "acme/a",
                  "provider": "blue/b",
                  "service": {
                    "protocol": "tcp",
                    "port": 2049
                  }
                }
              ]
            }
        "#]],
    );
}

#[test]
fn records_carry_names() {
    check(
        "tenant acme pool 10.1.0.0/24
         tenant blue pool 10.2.0.0/24
         job acme/a on n1/0
         job blue/b on n3/0
         consent acme/a blue/b 2049
         plan
         job acme/a on n1/0 class bulk
         delete blue/b
         plan
         seen leaf-2 2
         log",
        expect![[r#"
            generation 1
            + tenant acme  number 1
            + tenant blue  number 2
            + job acme/a  tag 16, 10.1.0.0/30, lossless, 1 endpoint on leaf-1 vlan 2
            + job blue/b  tag 17, 10.2.0.0/30, lossless, 1 endpoint on leaf-2 vlan 2
            + consent acme/a -> blue/b  tcp 2049
            generation 2
            - tenant blue  number 2
            ~ job acme/a
                tag 16, 10.1.0.0/30, lossless, 1 endpoint on leaf-1 vlan 2
             -> tag 16, 10.1.0.0/30, bulk, 1 endpoint on leaf-1 vlan 2
            - job blue/b  tag 17, 10.2.0.0/30, lossless, 1 endpoint on leaf-2 vlan 2
            - consent acme/a -> blue/b  tcp 2049
            {"planned":{"generation":1}}
            {"tenant-leased":{"tenant":"acme","number":1}}
            {"job-leased":{"job":{"tenant":"acme","name":"a"},"lease":{"tag":16,"subnet":"10.1.0.0/30","class":"lossless","keys":{"pkey":1},"grade":"node","gpus":1,"seats":[{"node":"n1","nic":0}],"vlans":[{"device":"leaf-1","vlan":2}]}}}
            {"tenant-leased":{"tenant":"blue","number":2}}
            {"job-leased":{"job":{"tenant":"blue","name":"b"},"lease":{"tag":17,"subnet":"10.2.0.0/30","class":"lossless","keys":{"pkey":2},"grade":"node","gpus":1,"seats":[{"node":"n3","nic":0}],"vlans":[{"device":"leaf-2","vlan":2}]}}}
            {"consent-opened":{"client":{"tenant":"acme","name":"a"},"provider":{"tenant":"blue","name":"b"},"service":{"protocol":"tcp","port":2049}}}
            {"planned":{"generation":2}}
            {"consent-ended":{"client":{"tenant":"acme","name":"a"},"provider":{"tenant":"blue","name":"b"},"service":{"protocol":"tcp","port":2049}}}
            {"job-freed":{"job":{"tenant":"blue","name":"b"}}}
            {"job-classed":{"job":{"tenant":"acme","name":"a"},"class":"bulk"}}
            {"tenant-freed":{"tenant":"blue"}}
            {"seen":{"device":"leaf-2","generation":2}}
        "#]],
    );
}

#[test]
fn a_jobs_ceiling_is_leased_changed_and_taken_away_with_its_numbers_kept() {
    check(
        "tenant acme pool 10.1.0.0/24
         job acme/a on n1/0 ceiling 10Gbps
         job acme/b on n1/1
         plan
         job acme/a on n1/0 class bulk ceiling 2500Mbps
         job acme/b on n1/1 ceiling 1Gbps
         plan
         job acme/a on n1/0 class bulk
         plan
         plan
         log",
        expect![[r#"
            generation 1
            + tenant acme  number 1
            + job acme/a  tag 16, 10.1.0.0/30, lossless, at most 10Gbps, 1 endpoint on leaf-1 vlan 2
            + job acme/b  tag 17, 10.1.0.4/30, lossless, 1 endpoint on leaf-1 vlan 3
            generation 2
            ~ job acme/a
                tag 16, 10.1.0.0/30, lossless, at most 10Gbps, 1 endpoint on leaf-1 vlan 2
             -> tag 16, 10.1.0.0/30, bulk, at most 2500Mbps, 1 endpoint on leaf-1 vlan 2
            ~ job acme/b
                tag 17, 10.1.0.4/30, lossless, 1 endpoint on leaf-1 vlan 3
             -> tag 17, 10.1.0.4/30, lossless, at most 1Gbps, 1 endpoint on leaf-1 vlan 3
            generation 3
            ~ job acme/a
                tag 16, 10.1.0.0/30, bulk, at most 2500Mbps, 1 endpoint on leaf-1 vlan 2
             -> tag 16, 10.1.0.0/30, bulk, 1 endpoint on leaf-1 vlan 2
            generation 4
            nothing changes
            {"planned":{"generation":1}}
            {"tenant-leased":{"tenant":"acme","number":1}}
            {"job-leased":{"job":{"tenant":"acme","name":"a"},"lease":{"tag":16,"subnet":"10.1.0.0/30","class":"lossless","ceiling":"10Gbps","keys":{"pkey":1},"grade":"node","gpus":1,"seats":[{"node":"n1","nic":0}],"vlans":[{"device":"leaf-1","vlan":2}]}}}
            {"job-leased":{"job":{"tenant":"acme","name":"b"},"lease":{"tag":17,"subnet":"10.1.0.4/30","class":"lossless","keys":{"pkey":2},"grade":"node","gpus":1,"seats":[{"node":"n1","nic":1}],"vlans":[{"device":"leaf-1","vlan":3}]}}}
            {"planned":{"generation":2}}
            {"job-classed":{"job":{"tenant":"acme","name":"a"},"class":"bulk","ceiling":"2500Mbps"}}
            {"job-classed":{"job":{"tenant":"acme","name":"b"},"class":"lossless","ceiling":"1Gbps"}}
            {"planned":{"generation":3}}
            {"job-classed":{"job":{"tenant":"acme","name":"a"},"class":"bulk"}}
            {"planned":{"generation":4}}
        "#]],
    );
}

#[test]
fn a_job_keeps_its_numbers_while_others_come_and_go() {
    check(
        "tenant acme pool 10.1.0.0/24
         job acme/a gpus 1
         job acme/b gpus 1
         plan
         delete acme/a
         job acme/c gpus 1
         plan
         seen leaf-1 2
         job acme/d gpus 1
         plan",
        expect![[r#"
            generation 1
            + tenant acme  number 1
            + job acme/a  tag 16, 10.1.0.0/30, lossless, 1 endpoint on leaf-1 vlan 2
            + job acme/b  tag 17, 10.1.0.4/30, lossless, 1 endpoint on leaf-1 vlan 3
            generation 2
            - job acme/a  tag 16, 10.1.0.0/30, lossless, 1 endpoint on leaf-1 vlan 2
            + job acme/c  tag 18, 10.1.0.8/30, lossless, 1 endpoint on leaf-1 vlan 4
            generation 3
            + job acme/d  tag 16, 10.1.0.0/30, lossless, 1 endpoint on leaf-1 vlan 2
        "#]],
    );
}

#[test]
fn a_job_that_asks_for_something_else_gets_new_numbers_and_may_keep_its_own_interfaces() {
    check(
        "tenant acme
         job acme/a on n1/0,n1/1
         plan
         job acme/a on n1/1
         plan
         plan",
        expect![[r#"
            generation 1
            + tenant acme  number 1
            + job acme/a  tag 16, 10.0.0.0/29, lossless, 2 endpoints on leaf-1 vlan 2
            generation 2
            -/+ job acme/a
                tag 16, 10.0.0.0/29, lossless, 2 endpoints on leaf-1 vlan 2
             -> tag 17, 10.0.0.8/30, lossless, 1 endpoint on leaf-1 vlan 3
            generation 3
            nothing changes
        "#]],
    );
}

#[test]
fn freed_numbers_rest_until_every_device_was_seen() {
    check(
        "bound tags 1
         tenant acme
         job acme/a on n1/0,n3/0
         plan
         delete acme/a
         plan
         report
         job acme/b on n1/0
         plan
         seen leaf-1 2
         seen leaf-2 1
         plan
         seen leaf-2 2
         plan",
        expect![[r#"
            generation 1
            + tenant acme  number 1
            + job acme/a  tag 16, 10.0.0.0/29, lossless, 2 endpoints on leaf-1 vlan 2, leaf-2 vlan 2
            generation 2
            - tenant acme  number 1
            - job acme/a  tag 16, 10.0.0.0/29, lossless, 2 endpoints on leaf-1 vlan 2, leaf-2 vlan 2
            resting tag 16, 10.0.0.0/29 and 2 GPUs of job acme/a until seen: leaf-1 at generation 2, leaf-2 at generation 2
            resting number 1 of tenant acme until seen: leaf-1 at generation 2, leaf-2 at generation 2
            nic-resting: job acme/b wants interface 0 of node n1, which rests: leaf-1, leaf-2 may still hold it
              remedy: apply the last plan to leaf-1, leaf-2, then plan again
            nic-resting: job acme/b wants interface 0 of node n1, which rests: leaf-2 may still hold it
              remedy: apply the last plan to leaf-2, then plan again
            generation 3
            + tenant acme  number 1
            + job acme/b  tag 16, 10.0.0.0/30, lossless, 1 endpoint on leaf-1 vlan 2
        "#]],
    );
}

#[test]
fn a_tag_rests_until_the_devices_of_those_who_met_it_were_seen() {
    check(
        "bound tags 2
         tenant acme pool 10.1.0.0/24
         tenant blue pool 10.2.0.0/24
         job acme/a on n1/0
         job blue/b on n3/0
         consent acme/a blue/b 2049
         plan
         consent acme/a blue/b 2049
         plan
         delete acme/a
         plan
         seen leaf-1 3
         report
         seen leaf-2 2
         report",
        expect![[r#"
            generation 1
            + tenant acme  number 1
            + tenant blue  number 2
            + job acme/a  tag 16, 10.1.0.0/30, lossless, 1 endpoint on leaf-1 vlan 2
            + job blue/b  tag 17, 10.2.0.0/30, lossless, 1 endpoint on leaf-2 vlan 2
            + consent acme/a -> blue/b  tcp 2049
            generation 2
            - consent acme/a -> blue/b  tcp 2049
            generation 3
            - tenant acme  number 1
            - job acme/a  tag 16, 10.1.0.0/30, lossless, 1 endpoint on leaf-1 vlan 2
            1 endpoint of 1 node judged on the leaf (packet program)
              not covered: What never leaves the host is not seen.
              not covered: Two virtual functions of one interface can talk in its embedded switch unseen; an interface belongs to one job.
            resting tag 16, 10.1.0.0/30 and 1 GPU of job acme/a until seen: leaf-2 at generation 2
            resting number 1 of tenant acme until seen: leaf-2 at generation 2
            1 endpoint of 1 node judged on the leaf (packet program)
              not covered: What never leaves the host is not seen.
              not covered: Two virtual functions of one interface can talk in its embedded switch unseen; an interface belongs to one job.
        "#]],
    );
}

#[test]
fn a_recabled_job_gets_new_numbers() {
    check(
        "tenant acme
         job acme/a on n1/0
         plan
         node n1 behind 2
         plan",
        expect![[r#"
            generation 1
            + tenant acme  number 1
            + job acme/a  tag 16, 10.0.0.0/30, lossless, 1 endpoint on leaf-1 vlan 2
            generation 2
            -/+ job acme/a
                tag 16, 10.0.0.0/30, lossless, 1 endpoint on leaf-1 vlan 2
             -> tag 17, 10.0.0.4/30, lossless, 1 endpoint on leaf-2 vlan 2
        "#]],
    );
}

#[test]
fn the_report_says_what_is_not_covered_and_what_is_waited_for() {
    check(
        "tenant acme grade gpu
         job acme/a on n1/0,n3/0
         job acme/b on n5/0,n7/0,n8/0
         pending acme/a blue/b 2049
         plan
         report",
        expect![[r#"
            generation 1
            + tenant acme  number 1
            + job acme/a  tag 16, 10.0.0.0/29, lossless, 2 endpoints on leaf-1 vlan 2, leaf-2 vlan 2
            + job acme/b  tag 17, 10.0.0.8/29, lossless, 3 endpoints on leaf-3 vlan 2, n7 vlan 2, n8 vlan 2
            1 endpoint of 1 node judged on the leaf (security groups)
              not covered: Flooded frames are not judged by group; they stay inside the job's own segment.
              not covered: Two virtual functions of one interface can talk in its embedded switch unseen; an interface belongs to one job.
              not covered: Bandwidth guarantees and ceilings are not enforced.
              not covered: RoCE is not kept lossless: no class, PFC or ECN is configured.
              not covered: By a permit for a UDP service, the provider may also begin, from that port.
              not covered: Rendered, not proved on the device: groups and source guard are in force only after a reload with the platform's lines, and while DHCP snooping is active.
              not covered: Rendered, not proved on the device: VNIs of tenants are up, and neighbours are capable of group policy.
            2 endpoints of 2 nodes judged on the leaf (packet program)
              not covered: What never leaves the host is not seen.
              not covered: Two virtual functions of one interface can talk in its embedded switch unseen; an interface belongs to one job.
            1 endpoint of 1 node judged in the host's kernel (packet program)
              not covered: RDMA through SR-IOV bypasses the kernel, so RoCE is not judged here.
              not covered: Whoever becomes root on the host can take the program away.
            1 endpoint of 1 node judged on the host's DPU (packet program)
              not covered: What the host moves between its own interfaces without the DPU is not seen.
              not covered: The leaf trusts the DPU: it carries whatever the DPU sends.
            permit lonely of acme/a waits for blue/b (tcp 2049) and opens nothing
        "#]],
    );
}

#[test]
fn grades_decide_who_shares_a_node_and_a_leaf() {
    check(
        "tenant strict grade domain pool 10.1.0.0/24
         tenant own grade node pool 10.2.0.0/24
         tenant easy grade gpu pool 10.3.0.0/24
         tenant loose grade slice pool 10.4.0.0/24
         job easy/a gpus 1
         job loose/b gpus 1
         job own/c gpus 1
         job strict/d gpus 1
         job own/e gpus 2
         plan",
        expect![[r#"
            generation 1
            + tenant easy  number 1
            + tenant loose  number 2
            + tenant own  number 3
            + tenant strict  number 4
            + job easy/a  tag 16, 10.3.0.0/30, lossless, 1 endpoint on leaf-1 vlan 2
            + job loose/b  tag 17, 10.4.0.0/30, lossless, 1 endpoint on leaf-1 vlan 3
            + job own/c  tag 18, 10.2.0.0/30, lossless, 1 endpoint on leaf-1 vlan 4
            + job own/e  tag 19, 10.2.0.8/29, lossless, 2 endpoints on leaf-2 vlan 2
            + job strict/d  tag 20, 10.1.0.0/30, lossless, 1 endpoint on leaf-3 vlan 2
        "#]],
    );
}

#[test]
fn nobody_else_gets_what_was_not_scrubbed_with_evidence() {
    check(
        "scrub hbm nic
         tenant acme pool 10.1.0.0/24
         tenant blue pool 10.2.0.0/24
         job acme/a on n1/0,n1/1
         plan
         delete acme/a
         plan
         seen leaf-1 2
         report
         scrubbed n1 acme/a hbm
         job blue/b on n1/0
         plan
         scrubbed n1 acme/a nic
         plan",
        expect![[r#"
            generation 1
            + tenant acme  number 1
            + job acme/a  tag 16, 10.1.0.0/29, lossless, 2 endpoints on leaf-1 vlan 2
            generation 2
            - tenant acme  number 1
            - job acme/a  tag 16, 10.1.0.0/29, lossless, 2 endpoints on leaf-1 vlan 2
            resting tag 16, 10.1.0.0/29 and 2 GPUs of job acme/a until scrubbed with evidence: hbm nic of n1
            nic-unscrubbed: job blue/b wants interface 0 of node n1, where the traces of acme/a were not scrubbed: nic
              remedy: scrub n1 and write the evidence down, or name another interface
            generation 3
            + tenant blue  number 1
            + job blue/b  tag 16, 10.2.0.0/30, lossless, 1 endpoint on leaf-1 vlan 2
        "#]],
    );
}

#[test]
fn a_job_takes_back_what_it_left_and_then_nothing_waits_for_a_scrub() {
    check(
        "scrub hbm
         tenant acme pool 10.1.0.0/24
         job acme/a on n1/0
         plan
         delete acme/a
         plan
         seen leaf-1 2
         job acme/a on n1/0
         plan
         report",
        expect![[r#"
            generation 1
            + tenant acme  number 1
            + job acme/a  tag 16, 10.1.0.0/30, lossless, 1 endpoint on leaf-1 vlan 2
            generation 2
            - tenant acme  number 1
            - job acme/a  tag 16, 10.1.0.0/30, lossless, 1 endpoint on leaf-1 vlan 2
            generation 3
            + tenant acme  number 1
            + job acme/a  tag 17, 10.1.0.4/30, lossless, 1 endpoint on leaf-1 vlan 3
            1 endpoint of 1 node judged on the leaf (security groups)
              not covered: Flooded frames are not judged by group; they stay inside the job's own segment.
              not covered: Two virtual functions of one interface can talk in its embedded switch unseen; an interface belongs to one job.
              not covered: Bandwidth guarantees and ceilings are not enforced.
              not covered: RoCE is not kept lossless: no class, PFC or ECN is configured.
              not covered: By a permit for a UDP service, the provider may also begin, from that port.
              not covered: Rendered, not proved on the device: groups and source guard are in force only after a reload with the platform's lines, and while DHCP snooping is active.
              not covered: Rendered, not proved on the device: VNIs of tenants are up, and neighbours are capable of group policy.
        "#]],
    );
}
