//! Guarantees that meet at one uplink, and where they cannot.

use expect_test::{Expect, expect};

use super::world::World;

#[test]
fn guarantees_of_more_than_an_uplink_carries_are_refused_with_all_who_have_them() {
    check(
        "uplinks 100Gbps
         tenant acme guarantee 30Gbps grade gpu
         tenant blue guarantee 50Gbps grade gpu
         tenant lime guarantee 30Gbps grade gpu
         tenant mint grade gpu
         job acme/a on n3/0
         job blue/b on n3/1
         job lime/c on n4/0
         job mint/d on n4/1
         plan",
        expect![[r#"
            guarantees-exceeded: job lime/c would bring the guarantees at each uplink of leaf-2 to 110Gbps (blue 50Gbps, acme 30Gbps, lime 30Gbps), more than the 100Gbps it carries
              remedy: lower a guarantee, or keep one of these tenants away from leaf-2 (`apartFrom`)
        "#]],
    );
}

#[test]
fn guarantees_that_fill_an_uplink_are_kept_however_many_jobs_there_are() {
    check(
        "uplinks 100Gbps
         tenant acme guarantee 50Gbps
         tenant blue guarantee 50Gbps
         job acme/a on n3/0
         job acme/b on n3/1
         job blue/c on n4/0
         job blue/d on n4/1
         plan",
        expect![[r#"
            generation 1
            + tenant acme  number 1
            + tenant blue  number 2
            + job acme/a  tag 16, 10.0.0.0/30, lossless, 1 endpoint on leaf-2 vlan 2
            + job acme/b  tag 17, 10.0.0.4/30, lossless, 1 endpoint on leaf-2 vlan 3
            + job blue/c  tag 18, 10.0.0.0/30, lossless, 1 endpoint on leaf-2 vlan 4
            + job blue/d  tag 19, 10.0.0.4/30, lossless, 1 endpoint on leaf-2 vlan 5
        "#]],
    );
}

#[test]
fn guarantees_on_different_devices_do_not_meet() {
    check(
        "uplinks 100Gbps
         tenant acme guarantee 60Gbps
         tenant blue guarantee 60Gbps
         job acme/a on n5/0
         job blue/b on n7/0
         plan",
        expect![[r#"
            generation 1
            + tenant acme  number 1
            + tenant blue  number 2
            + job acme/a  tag 16, 10.0.0.0/30, lossless, 1 endpoint on leaf-3 vlan 2
            + job blue/b  tag 17, 10.0.0.0/30, lossless, 1 endpoint on n7 vlan 2
        "#]],
    );
}

#[test]
fn a_host_that_is_a_tunnel_endpoint_has_uplinks_of_its_own() {
    check(
        "uplinks 100Gbps
         tenant acme guarantee 60Gbps grade gpu
         tenant blue guarantee 60Gbps grade gpu
         job acme/a on n7/0
         job blue/b on n7/1
         plan",
        expect![[r#"
            guarantees-exceeded: job blue/b would bring the guarantees at each uplink of n7 to 120Gbps (acme 60Gbps, blue 60Gbps), more than the 100Gbps it carries
              remedy: lower a guarantee, or keep one of these tenants away from n7 (`apartFrom`)
        "#]],
    );
}

#[test]
fn where_nothing_waits_in_queues_nothing_is_refused() {
    // An NX-OS leaf has no queues of ours.
    check(
        "uplinks 100Gbps
         tenant acme guarantee 60Gbps
         tenant blue guarantee 60Gbps
         job acme/a on n1/0
         job blue/b on n2/0
         plan",
        expect![[r#"
            generation 1
            + tenant acme  number 1
            + tenant blue  number 2
            + job acme/a  tag 16, 10.0.0.0/30, lossless, 1 endpoint on leaf-1 vlan 2
            + job blue/b  tag 17, 10.0.0.0/30, lossless, 1 endpoint on leaf-1 vlan 3
        "#]],
    );
    // Nobody said what an uplink carries.
    check(
        "tenant acme guarantee 60Gbps
         tenant blue guarantee 60Gbps
         job acme/a on n3/0
         job blue/b on n4/0
         plan",
        expect![[r#"
            generation 1
            + tenant acme  number 1
            + tenant blue  number 2
            + job acme/a  tag 16, 10.0.0.0/30, lossless, 1 endpoint on leaf-2 vlan 2
            + job blue/b  tag 17, 10.0.0.0/30, lossless, 1 endpoint on leaf-2 vlan 3
        "#]],
    );
}

#[test]
fn a_guarantee_that_grows_and_an_uplink_that_shrinks_are_refused_where_they_meet_others() {
    check(
        "uplinks 100Gbps
         tenant acme guarantee 40Gbps
         tenant blue guarantee 40Gbps
         job acme/a on n3/0
         job blue/b on n4/0
         plan
         tenant acme guarantee 70Gbps
         plan
         tenant acme guarantee 40Gbps
         uplinks 70Gbps
         plan",
        expect![[r#"
            generation 1
            + tenant acme  number 1
            + tenant blue  number 2
            + job acme/a  tag 16, 10.0.0.0/30, lossless, 1 endpoint on leaf-2 vlan 2
            + job blue/b  tag 17, 10.0.0.0/30, lossless, 1 endpoint on leaf-2 vlan 3
            guarantees-above-link: the guarantees at each uplink of leaf-2 are 110Gbps (acme 70Gbps, blue 40Gbps), more than the 100Gbps it carries
              remedy: lower a guarantee, or delete the jobs of one of these tenants on leaf-2
            guarantees-above-link: the guarantees at each uplink of leaf-2 are 80Gbps (acme 40Gbps, blue 40Gbps), more than the 70Gbps it carries
              remedy: lower a guarantee, or delete the jobs of one of these tenants on leaf-2
        "#]],
    );
}

fn check(story: &str, expected: Expect) {
    let mut world = World::new();
    world.tell(story);
    expected.assert_eq(&world.told);
}
