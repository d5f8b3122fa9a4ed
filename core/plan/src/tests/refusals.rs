//! Stories that end in a refusal, with its figure and its remedy.

use expect_test::{Expect, expect};

use super::world::{World, job};
use crate::PlanRefusal;

fn check(story: &str, told: Expect) {
    let mut world = World::new();
    world.tell(story);
    told.assert_eq(&world.told);
}

#[test]
fn quota_counts_everything_below() {
    check(
        "tenant acme quota 3
         tenant acme/research quota 8
         job acme/a gpus 2
         job acme/research/b gpus 2
         plan",
        expect![[r#"
            over-quota: job acme/research/b asks for 2 GPUs, but the quota of tenant acme has 1 left
              remedy: ask for less, delete a job, or raise the quota of acme
        "#]],
    );
}

#[test]
fn a_quota_below_use_is_refused() {
    check(
        "tenant acme
         job acme/a gpus 4
         plan
         tenant acme quota 2
         plan",
        expect![[r#"
            generation 1
            + tenant acme  number 1
            + job acme/a  tag 16, 10.0.0.0/29, lossless, 4 endpoints on leaf-1 vlan 2
            quota-below-use: tenant acme holds 4 GPUs, more than its quota of 2
              remedy: delete jobs of acme, or raise its quota
        "#]],
    );
}

#[test]
fn nothing_asked() {
    check(
        "tenant acme
         job acme/a gpus 0
         plan",
        expect![[r#"
            nothing-asked: job acme/a asks for nothing
              remedy: ask for at least one GPU or one endpoint
        "#]],
    );
}

#[test]
fn a_tenant_nobody_described() {
    check(
        "job acme/a gpus 1\nplan",
        expect![[r#"
        tenant-unknown: job acme/a is of tenant acme, which nobody described
          remedy: write a Tenant document for acme
    "#]],
    );
}

#[test]
fn no_pod_has_room() {
    check(
        "tenant acme
         tenant blue
         job acme/a gpus 6
         job blue/b gpus 7
         job blue/c gpus 7
         plan",
        expect![[r#"
            no-room: job blue/c wants 7 GPUs in one pod, but p1, the best it may use, has 2: the others are used, and 0 of them rest
              remedy: ask for less, delete a job in that pod, or add nodes
        "#]],
    );
}

#[test]
fn no_room_while_gpus_rest() {
    check(
        "tenant acme
         tenant blue
         job acme/a gpus 8
         plan
         delete acme/a
         job blue/b gpus 8 pod p1
         plan",
        expect![[r#"
            generation 1
            + tenant acme  number 1
            + job acme/a  tag 16, 10.0.0.0/28, lossless, 8 endpoints on leaf-1 vlan 2, leaf-2 vlan 2
            no-room: job blue/b wants 8 GPUs in one pod, but p1, the best it may use, has 0: the others are used, and 8 of them rest
              remedy: apply the last plan to the devices that the resting GPUs wait for, or ask for less
        "#]],
    );
}

#[test]
fn pods_hold_their_jobs() {
    check(
        "tenant acme
         job acme/a gpus 1 pod p9
         job acme/b on n1/0,n5/0
         job acme/c on n1/0 pod p2
         plan",
        expect![[r#"
            outside-pod: job acme/b names n5 in pod p2, but must stay inside pod p1
              remedy: name only nodes in pod p1
            outside-pod: job acme/c names n1 in pod p1, but must stay inside pod p2
              remedy: name only nodes in pod p2
            pod-unknown: job acme/a is pinned to pod p9, which the fleet does not have
              remedy: name a pod of the fleet, or none
        "#]],
    );
}

#[test]
fn an_interface_has_one_owner() {
    check(
        "tenant acme
         job acme/a on n1/0
         job acme/b on n1/0
         job acme/c on n2/0,n2/0
         job acme/d on n2/7
         plan",
        expect![[r#"
            nic-taken: job acme/b wants interface 0 of node n1, which job acme/a holds
              remedy: name another interface, or delete acme/a
            nic-twice: job acme/c names interface 0 of node n2 twice
              remedy: name every interface once
            nic-unknown: job acme/d names interface 7 of node n2, which the fleet does not have
              remedy: name an interface that the fleet has
        "#]],
    );
}

#[test]
fn an_interface_rests() {
    check(
        "tenant acme
         tenant blue
         job acme/a on n1/0
         plan
         delete acme/a
         job blue/b on n1/0
         plan",
        expect![[r#"
            generation 1
            + tenant acme  number 1
            + job acme/a  tag 16, 10.0.0.0/30, lossless, 1 endpoint on leaf-1 vlan 2
            nic-resting: job blue/b wants interface 0 of node n1, which rests: leaf-1 may still hold it
              remedy: apply the last plan to leaf-1, then plan again
        "#]],
    );
}

#[test]
fn only_healthy_nodes_get_new_work_and_old_work_goes_on() {
    check(
        "tenant acme
         job acme/a on n3/0
         plan
         node n1 failed
         node n2 draining
         node n3 failed
         job acme/b on n1/0
         job acme/c on n2/0
         plan",
        expect![[r#"
            generation 1
            + tenant acme  number 1
            + job acme/a  tag 16, 10.0.0.0/30, lossless, 1 endpoint on leaf-2 vlan 2
            not-healthy: job acme/b wants node n1, whose health is failed
              remedy: name a node whose health is good
            not-healthy: job acme/c wants node n2, whose health is draining
              remedy: name a node whose health is good
        "#]],
    );
}

#[test]
fn a_node_that_vanished_while_leased_is_named() {
    check(
        "tenant acme
         job acme/a on n1/0
         job acme/b gpus 3
         plan
         delete acme/a
         node n1 called other
         plan
         node n2 called another
         plan",
        expect![[r#"
            generation 1
            + tenant acme  number 1
            + job acme/a  tag 16, 10.0.0.0/30, lossless, 1 endpoint on leaf-1 vlan 2
            + job acme/b  tag 17, 10.0.0.8/29, lossless, 3 endpoints on leaf-1 vlan 3
            node-vanished: job acme/b holds interface 1 of node n1, which the fleet does not have any more
              remedy: put n1 back into the fleet as failed, or delete acme/b
            node-vanished: job acme/b holds interface 1 of node n1, which the fleet does not have any more
              remedy: put n1 back into the fleet as failed, or delete acme/b
        "#]],
    );
}

#[test]
fn grades_forbid() {
    check(
        "tenant own grade node
         tenant easy grade gpu
         tenant strict grade domain
         job own/a on n1/0
         job easy/b on n1/1
         job strict/c on n2/0
         plan",
        expect![[r#"
            grade-forbids: job own/a (grade node) may not share n1 with tenant easy (grade gpu)
              remedy: name places that nobody else uses, or loosen the stricter of the two grades
            grade-forbids: job strict/c (grade domain) may not share leaf-1 with tenant easy (grade gpu)
              remedy: name places that nobody else uses, or loosen the stricter of the two grades
        "#]],
    );
}

#[test]
fn a_grade_that_was_tightened_is_judged_anew() {
    check(
        "tenant easy grade gpu
         tenant loose grade gpu
         job easy/a on n1/0
         job loose/b on n1/1
         plan
         tenant easy grade node
         plan",
        expect![[r#"
            generation 1
            + tenant easy  number 1
            + tenant loose  number 2
            + job easy/a  tag 16, 10.0.0.0/30, lossless, 1 endpoint on leaf-1 vlan 2
            + job loose/b  tag 17, 10.0.0.0/30, lossless, 1 endpoint on leaf-1 vlan 3
            grade-forbids: job easy/a (grade node) may not share n1 with tenant loose (grade gpu)
              remedy: name places that nobody else uses, or loosen the stricter of the two grades
            grade-forbids: job loose/b (grade gpu) may not share n1 with tenant easy (grade node)
              remedy: name places that nobody else uses, or loosen the stricter of the two grades
        "#]],
    );
}

#[test]
fn jurisdictions_forbid() {
    check(
        "tenant acme law CH
         tenant blue law DE
         job acme/a on n1/0
         job acme/fits gpus 2
         job blue/b gpus 1
         plan",
        expect![[r#"
            jurisdiction-forbids: job acme/a may only be in CH, but site ams is in NL
              remedy: choose a site in an allowed jurisdiction, or allow this one
            jurisdiction-forbids: job blue/b may only be in DE, but site ams is in NL
              remedy: choose a site in an allowed jurisdiction, or allow this one
        "#]],
    );
}

#[test]
fn versions_forbid() {
    check(
        "tenant acme driver 550.54.14
         tenant blue driver 560
         tenant safe boot secure
         node n1 driver 550.9
         node n2 unsafe
         job acme/a on n1/0
         job blue/b gpus 1
         job safe/c on n2/0
         plan",
        expect![[r#"
            version-forbids: job acme/a needs driver 550.54.14, but node n1 has 550.9
              remedy: bring driver of n1 up to date, or choose another node
            version-forbids: job safe/c needs secure-boot on, but node n2 has off
              remedy: bring secure-boot of n2 up to date, or choose another node
            versions-bind: job blue/b wants 1 GPU in one pod, but p1, the best it may use, has 0: it needs driver 560, but node n1 has 550.9
              remedy: bring driver of n1 and others up to date, or ask for less
        "#]],
    );
}

#[test]
fn tags_run_out() {
    check(
        "bound tags 2
         tenant acme
         job acme/a gpus 1
         job acme/b gpus 1
         plan
         delete acme/a
         job acme/c gpus 1
         plan",
        expect![[r#"
            generation 1
            + tenant acme  number 1
            + job acme/a  tag 16, 10.0.0.0/30, lossless, 1 endpoint on leaf-1 vlan 2
            + job acme/b  tag 17, 10.0.0.4/30, lossless, 1 endpoint on leaf-1 vlan 3
            tags-exhausted: job acme/c finds no tag: all 2 are leased, and 1 of them rest
              remedy: apply the last plan, so that resting numbers become free, or delete a job
        "#]],
    );
}

#[test]
fn tenant_numbers_run_out() {
    check(
        "bound numbers 1
         tenant acme
         tenant blue
         job acme/a gpus 1
         job blue/b gpus 1
         plan",
        expect![[r#"
            tenant-numbers-exhausted: tenant blue finds no number: all 1 are leased, and 0 of them rest
              remedy: apply the last plan, so that resting numbers become free, or delete a job
        "#]],
    );
}

#[test]
fn vlans_run_out() {
    check(
        "bound vlans 1
         tenant acme
         job acme/a on n1/0
         job acme/b on n1/1
         plan",
        expect![[r#"
            vlans-exhausted: job acme/b finds no VLAN on leaf-1: all 1 are leased or rest
              remedy: apply the last plan to leaf-1, or delete a job there
        "#]],
    );
}

#[test]
fn pools_run_out() {
    check(
        "tenant acme pool 10.0.0.0/29
         job acme/a gpus 1
         job acme/b gpus 2
         job acme/c gpus 1
         plan",
        expect![[r#"
            pool-exhausted: job acme/b needs a block of 2 endpoints (/29), but the pools of tenant acme (10.0.0.0/29) have none free
              remedy: give tenant acme another pool
        "#]],
    );
}

#[test]
fn selectors_run_out_on_nxos_only() {
    check(
        "bound selectors 2
         tenant acme
         job acme/a on n1/0,n1/1
         job acme/b on n2/0
         job acme/c on n3/0,n3/1,n4/0
         plan",
        expect![[r#"
            selectors-exceeded: job acme/b would bring leaf-1 to 3 selectors, more than its 2
              remedy: move endpoints to another leaf than leaf-1
        "#]],
    );
}

#[test]
fn consents_need_plain_routes() {
    check(
        "tenant acme pool 10.1.0.0/16
         tenant blue pool 10.1.9.0/24
         tenant lime pool 10.9.0.0/16
         job acme/a on n1/0
         job blue/b on n2/0
         job lime/c on n3/0
         plan
         consent acme/a blue/b 2049
         plan
         consent acme/a blue/b 2049
         consent acme/a lime/c 2049
         consent blue/b lime/c 2049
         plan",
        expect![[r#"
            generation 1
            + tenant acme  number 1
            + tenant blue  number 2
            + tenant lime  number 3
            + job acme/a  tag 16, 10.1.0.0/30, lossless, 1 endpoint on leaf-1 vlan 2
            + job blue/b  tag 17, 10.1.9.0/30, lossless, 1 endpoint on leaf-1 vlan 3
            + job lime/c  tag 18, 10.9.0.0/30, lossless, 1 endpoint on leaf-2 vlan 2
            permit-overlap: acme/a and blue/b consented to meet, but pool 10.1.0.0/16 of the one tenant overlaps pool 10.1.9.0/24 of the other, so routes between them would be ambiguous
              remedy: give tenant acme a pool that does not overlap, or withdraw the permit
            import-overlap: blue/b and lime/c consented to meet, but tenant lime would import 10.1.9.0/24 of tenant blue and 10.1.0.0/16 of tenant acme, which overlap
              remedy: give tenant blue a pool that does not overlap, or withdraw a permit
        "#]],
    );
}

#[test]
fn pools_that_grew_into_each_other_end_no_consent_but_are_refused() {
    check(
        "tenant acme pool 10.1.0.0/24
         tenant blue pool 10.1.9.0/24
         job acme/a on n1/0
         job blue/b on n2/0
         consent acme/a blue/b 2049
         plan
         tenant acme pool 10.1.0.0/16
         plan",
        expect![[r#"
            generation 1
            + tenant acme  number 1
            + tenant blue  number 2
            + job acme/a  tag 16, 10.1.0.0/30, lossless, 1 endpoint on leaf-1 vlan 2
            + job blue/b  tag 17, 10.1.9.0/30, lossless, 1 endpoint on leaf-1 vlan 3
            + consent acme/a -> blue/b  tcp 2049
            permit-overlap: acme/a and blue/b consented to meet, but pool 10.1.0.0/16 of the one tenant overlaps pool 10.1.9.0/24 of the other, so routes between them would be ambiguous
              remedy: give tenant acme a pool that does not overlap, or withdraw the permit
        "#]],
    );
}

#[test]
fn a_fleet_without_pods_has_no_place() {
    let mut world = World::new();
    world.tell("tenant acme\njob acme/a gpus 1");
    world.intent.fleet = std::sync::Arc::default();
    world.tell("plan");
    expect![[r#"
        fleet-empty: job acme/a finds no pod: the fleet has none
          remedy: describe pods and nodes in the Fleet document
    "#]]
    .assert_eq(&world.told);
}

#[test]
fn a_job_is_admitted_once_and_released_once() {
    let mut world = World::new();
    world.tell("tenant acme\njob acme/a gpus 1");
    let mut planner = world.planner().unwrap();
    let again = planner.admit(&job("acme/a", model::Want::Gpus(1)));
    planner.release(&"acme/a".parse().unwrap()).unwrap();
    let gone = planner.release(&"acme/a".parse().unwrap());
    let told = [again, gone].map(|refused| match refused {
        Ok(touched) => format!("{touched:?}"),
        Err(refusal) => told(&refusal),
    });
    expect![[r#"
        job-known: job acme/a is in the plan already
          remedy: give the job another name, or release the old one
        job-unknown: job acme/a is not in the plan
          remedy: look at the names of the jobs in the plan
    "#]]
    .assert_eq(&told.concat());
}

fn told(refusal: &PlanRefusal) -> String {
    let (code, remedy) = (refusal.code(), refusal.remedy());
    format!("{code}: {refusal}\n  remedy: {remedy}\n")
}
