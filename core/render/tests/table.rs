#![allow(missing_docs, clippy::unwrap_used, reason = "a test fails by panicking")]

mod world;

use expect_test::{Expect, expect};
use model::Dialect;

#[test]
fn a_table_drops_by_default() {
    check(
        "leaf-1",
        "head",
        expect![[r#"
        vtep 10.255.0.1
        default drop
    "#]],
    );
}

#[test]
fn a_tenant_with_rates_has_a_rate_line() {
    check(
        "leaf-1",
        "tenant acme/research",
        expect![[r#"
        space t17 vni 50017
        rate t17 guarantee 25000000000 ceiling 100000000000
    "#]],
    );
}

#[test]
fn a_tenant_without_rates_has_none() {
    check(
        "leaf-1",
        "tenant blue",
        expect![[r#"
        space t18 vni 50018
    "#]],
    );
}

#[test]
fn peers_are_runs_and_a_foreign_local_endpoint_is_a_peer_of_the_own_vtep() {
    check(
        "leaf-1",
        "job acme/research/train",
        expect![[r#"
            space t17 vni 101001
            job t17 1001 class lossless
            endpoint t17 10.1.0.2 mac 02:00:00:00:00:02 port swp1 tag 1001
            endpoint t17 10.1.0.3 mac 02:00:00:00:00:03 port swp2 tag 1001
            peers t17 10.1.0.4-10.1.0.5 vtep 10.255.0.2 tag 1001
            peers t17 10.1.0.7-10.1.0.7 vtep 10.255.0.2 tag 1001
            peers t17 10.1.0.6-10.1.0.6 vtep 10.255.1.1 tag 1001
            peers t17 10.1.0.18-10.1.0.18 vtep 10.255.0.1 tag 1002
            permit t17 1002 1001 tcp 22
            peers t17 10.9.0.2-10.9.0.2 vtep 10.255.0.1 tag 2001
            peers t17 10.9.0.3-10.9.0.3 vtep 10.255.1.1 tag 2001
            permit t17 1001 2001 tcp 2049
            permit t17 1001 2001 udp 111
        "#]],
    );
}

#[test]
fn a_gap_ends_a_run() {
    check(
        "h1",
        "job acme/research/train",
        expect![[r#"
            space t17 vni 101001
            job t17 1001 class lossless
            endpoint t17 10.1.0.6 mac 02:00:00:00:00:06 port rep0 tag 1001
            peers t17 10.1.0.2-10.1.0.5 vtep 10.255.0.1 every 2 tag 1001
            peers t17 10.1.0.7-10.1.0.7 vtep 10.255.0.2 tag 1001
            peers t17 10.1.0.18-10.1.0.18 vtep 10.255.0.1 tag 1002
            permit t17 1002 1001 tcp 22
            peers t17 10.9.0.2-10.9.0.2 vtep 10.255.0.1 tag 2001
            peers t17 10.9.0.3-10.9.0.3 vtep 10.255.1.1 tag 2001
            permit t17 1001 2001 tcp 2049
            permit t17 1001 2001 udp 111
        "#]],
    );
}

#[test]
fn a_job_on_one_device_has_only_the_peers_it_agreed_to() {
    check(
        "leaf-1",
        "job acme/research/eval",
        expect![[r#"
            space t17 vni 101002
            job t17 1002 class lossless
            endpoint t17 10.1.0.18 mac 02:00:00:00:00:12 port swp3 tag 1002
            peers t17 10.1.0.2-10.1.0.5 vtep 10.255.0.1 every 2 tag 1001
            peers t17 10.1.0.7-10.1.0.7 vtep 10.255.0.2 tag 1001
            peers t17 10.1.0.6-10.1.0.6 vtep 10.255.1.1 tag 1001
            permit t17 1002 1001 tcp 22
        "#]],
    );
}

#[test]
fn the_provider_sees_the_client_in_its_own_space_and_has_a_ceiling() {
    check(
        "h1",
        "job blue/store",
        expect![[r#"
            space t18 vni 102001
            job t18 2001 class bulk ceiling 10000000000
            endpoint t18 10.9.0.3 mac 02:00:00:00:00:03 port rep1 tag 2001
            peers t18 10.9.0.2-10.9.0.2 vtep 10.255.0.1 tag 2001
            peers t18 10.1.0.2-10.1.0.5 vtep 10.255.0.1 every 2 tag 1001
            peers t18 10.1.0.7-10.1.0.7 vtep 10.255.0.2 tag 1001
            peers t18 10.1.0.6-10.1.0.6 vtep 10.255.1.1 tag 1001
            permit t18 1001 2001 tcp 2049
            permit t18 1001 2001 udp 111
        "#]],
    );
}

fn check(device: &str, part: &str, expected: Expect) {
    expected.assert_eq(&world::text(device, Dialect::Table, part));
}
