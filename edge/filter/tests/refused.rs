//! Every reason not to make a policy of a text, with what is wrong and where.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write;

use expect_test::{Expect, expect};
use filter::{Limits, compile};
use model::{Generation, Port};

#[test]
fn the_head_must_be_whole() {
    check(
        "vtep 10.255.0.3\n",
        expect![[r#"
        no line says `default drop`
    "#]],
    );
    check(
        "default drop\n",
        expect![[r#"
        no line tells the own tunnel address
    "#]],
    );
    check(
        "vtep 10.255.0.3\ndefault drop\ndefault pass\n",
        expect![[r#"
            line 3 says `default pass`, but the packet program only drops by default
        "#]],
    );
    check(
        "vtep 10.255.0.3\ndefault drop\nvtep 10.255.0.3\n",
        expect![[r#"
            the own tunnel address is told twice, in lines 1 and 3
        "#]],
    );
}

#[test]
fn a_line_that_nobody_knows_is_refused() {
    check_tenant(
        "# a comment\nallow all\n",
        expect![[r#"
            line 5, `allow all`, is not understood: no line of a table is written so
        "#]],
    );
}

#[test]
fn a_space_is_named_by_a_number_and_has_a_vni() {
    check_tenant(
        "space blue vni 7\n",
        expect![[r#"
            line 4 names space blue, but a space is named t1 to t8191
        "#]],
    );
    check_tenant(
        "space t0 vni 7\n",
        expect![[r#"
            line 4 names space t0, but a space is named t1 to t8191
        "#]],
    );
    check_tenant(
        "space t017 vni 7\n",
        expect![[r#"
            line 4 names space t017, but a space is named t1 to t8191
        "#]],
    );
    check_tenant(
        "space t+17 vni 7\n",
        expect![[r#"
            line 4 names space t+17, but a space is named t1 to t8191
        "#]],
    );
    check_tenant(
        "space t8192 vni 7\n",
        expect![[r#"
            line 4 names space t8192, but a space is named t1 to t8191
        "#]],
    );
    check_tenant(
        "rate t18 ceiling 5\n",
        expect![[r#"
            line 4 is about space t18, but no line gives it a VNI
        "#]],
    );
    check_tenant(
        "endpoint t18 10.1.0.2 mac 02:00:00:00:00:05 port swp5 tag 1001\n",
        expect![[r#"
            line 4 is about space t18, but no line gives it a VNI
        "#]],
    );
    check_tenant(
        "peers t18 10.1.0.3-10.1.0.10 vtep 10.255.0.4 tag 1001\n",
        expect![[r#"
            line 4 is about space t18, but no line gives it a VNI
        "#]],
    );
    check_tenant(
        "permit t18 1001 2001 tcp 2049\n",
        expect![[r#"
            line 4 is about space t18, but no line gives it a VNI
        "#]],
    );
    check_tenant(
        "permit blue 1001 2001 tcp 2049\n",
        expect![[r#"
            line 4 names space blue, but a space is named t1 to t8191
        "#]],
    );
}

#[test]
fn a_vni_has_one_space() {
    check_tenant(
        "space t18 vni 50017\n",
        expect![[r#"
            VNI 50017 is of space t17 in line 3, but of space t18 in line 4
        "#]],
    );
}

#[test]
fn a_space_has_one_rate() {
    check_tenant(
        "rate t17 ceiling 5\nrate t17 guarantee 5\n",
        expect![[r#"
            the rate of t17 is told in two ways, in lines 4 and 5
        "#]],
    );
    check_tenant(
        "rate t17 guarantee 5 ceiling 0\n",
        expect![[r#"
            line 4, `rate t17 guarantee 5 ceiling 0`, is not understood: a ceiling is a whole number of bits a second from 1
        "#]],
    );
}

#[test]
fn a_job_is_treated_in_one_way() {
    check_tenant(
        "job t17 7 class bulk\njob t17 7 class bulk\n",
        expect![[r#"
        accepted
    "#]],
    );
    check_tenant(
        "job t17 7 class bulk\njob t17 7 class latency\n",
        expect![[r#"
        tag 7 of t17 is treated in two ways, in lines 4 and 5
    "#]],
    );
    check_tenant(
        "job t17 7 class bulk\njob t17 7 class bulk ceiling 5\n",
        expect![[r#"
        tag 7 of t17 is treated in two ways, in lines 4 and 5
    "#]],
    );
    check_tenant(
        "job t18 7 class bulk\n",
        expect![[r#"
        line 4 is about space t18, but no line gives it a VNI
    "#]],
    );
}

#[test]
fn an_address_has_one_record() {
    check_tenant(
        "\
peers t17 10.1.0.1-10.1.0.9 vtep 10.255.0.4 tag 1001
peers t17 10.1.0.3-10.1.0.3 vtep 10.255.0.4 tag 1001
peers t17 10.1.0.7-10.1.0.20 vtep 10.255.0.4 tag 1002
",
        expect![[r#"
            10.1.0.7 of t17 is told in two ways, in lines 4 and 6
        "#]],
    );
    check_tenant(
        "\
peers t17 10.1.0.3-10.1.0.10 vtep 10.255.0.5 tag 1001
peers t17 10.1.0.1-10.1.0.9 vtep 10.255.0.4 every 3 tag 1001
",
        expect![[r#"
            10.1.0.3 of t17 is told in two ways, in lines 4 and 5
        "#]],
    );
    check_tenant(
        "\
endpoint t17 10.1.0.2 mac 02:00:00:00:00:05 port swp5 tag 1001
peers t17 10.1.0.1-10.1.0.9 vtep 10.255.0.4 tag 1001
",
        expect![[r#"
            10.1.0.2 of t17 is told in two ways, in lines 4 and 5
        "#]],
    );
}

/// Blocks of one size with other borders: they part where the first of them ends.
#[test]
fn hosts_have_the_same_borders_in_all_lines() {
    check_tenant(
        "\
peers t17 10.1.0.0-10.1.0.7 vtep 10.255.0.4 every 4 tag 1001
peers t17 10.1.0.1-10.1.0.8 vtep 10.255.0.4 every 4 tag 1001
",
        expect![[r#"
            10.1.0.4 of t17 is told in two ways, in lines 4 and 5
        "#]],
    );
    check_tenant(
        "\
peers t17 10.1.0.0-10.1.0.7 vtep 10.255.0.4 every 4 tag 1001
peers t17 10.1.0.4-10.1.0.11 vtep 10.255.0.5 every 4 tag 1001
",
        expect![[r#"
            accepted
        "#]],
    );
}

#[test]
fn a_port_has_one_endpoint_and_an_endpoint_one_port() {
    check_tenant(
        "\
endpoint t17 10.1.0.2 mac 02:00:00:00:00:05 port swp5 tag 1001
endpoint t17 10.1.0.3 mac 02:00:00:00:00:05 port swp5 tag 1001
",
        expect![[r#"
            two endpoints are behind swp5, in lines 4 and 5
        "#]],
    );
    check_tenant(
        "\
endpoint t17 10.1.0.2 mac 02:00:00:00:00:05 port swp5 tag 1001
endpoint t17 10.1.0.2 mac 02:00:00:00:00:06 port swp5 tag 1001
",
        expect![[r#"
            two endpoints are behind swp5, in lines 4 and 5
        "#]],
    );
    check_tenant(
        "\
endpoint t17 10.1.0.2 mac 02:00:00:00:00:05 port swp5 tag 1001
endpoint t17 10.1.0.2 mac 02:00:00:00:00:05 port swp4 tag 1001
",
        expect![[r#"
            10.1.0.2 of t17 is told in two ways, in lines 4 and 5
        "#]],
    );
}

#[test]
fn a_port_is_an_interface_of_its_own() {
    check_tenant(
        "endpoint t17 10.1.0.2 mac 02:00:00:00:00:05 port nic5 tag 1001\n",
        expect![[r#"
            there is no interface for nic5 of line 4
        "#]],
    );
    check_tenant(
        "\
endpoint t17 10.1.0.2 mac 02:00:00:00:00:05 port swp1100 tag 1001
endpoint t17 10.1.0.3 mac 02:00:00:00:00:06 port rep100 tag 1001
",
        expect![[r#"
            swp1100 of line 4 and rep100 of line 5 are the same interface, 1100
        "#]],
    );
}

#[test]
fn a_tenant_cannot_take_the_room_of_others() {
    let small =
        Limits { records_per_space: 8, permits_per_space: 1, ports: 2, jobs: 1, bytes: 4096 };
    let check = |lines: &str, expected| {
        let head = "vtep 10.255.0.3\ndefault drop\nspace t17 vni 50017\nspace t18 vni 50018\n";
        check_within(&small, &format!("{head}{lines}"), expected);
    };
    check(
        "\
peers t17 10.1.0.1-10.1.0.8 vtep 10.255.0.4 tag 1001
peers t18 10.1.0.1-10.1.0.8 vtep 10.255.0.4 tag 1001
peers t18 10.1.0.8-10.1.0.9 vtep 10.255.0.4 tag 1001
",
        expect![[r#"
            t18 has 9 addresses, more than the 8 it may have
        "#]],
    );
    check(
        "peers t17 0.0.0.0-255.255.255.255 vtep 10.255.0.4 tag 1001\n",
        expect![[r#"
            t17 has 4294967296 addresses, more than the 8 it may have
        "#]],
    );
    check(
        "permit t17 1 2 tcp 80\npermit t18 1 2 tcp 80\npermit t18 1 2 udp 80\n",
        expect![[r#"
            t18 has 2 permits, more than the 1 it may have
        "#]],
    );
    check(
        "\
endpoint t17 10.1.0.2 mac 02:00:00:00:00:05 port swp5 tag 1001
endpoint t17 10.1.0.3 mac 02:00:00:00:00:06 port swp6 tag 1001
endpoint t17 10.1.0.4 mac 02:00:00:00:00:07 port swp7 tag 1001
",
        expect![[r#"
            3 ports have an endpoint, more than the 2 that may
        "#]],
    );
    check(
        "\
endpoint t17 10.1.0.2 mac 02:00:00:00:00:05 port swp5 tag 1001
endpoint t17 10.1.0.3 mac 02:00:00:00:00:06 port swp6 tag 1001
",
        expect![[r#"
            accepted
        "#]],
    );
    check(
        "\
endpoint t17 10.1.0.2 mac 02:00:00:00:00:05 port swp5 tag 1001
endpoint t18 10.1.0.2 mac 02:00:00:00:00:06 port swp6 tag 1001
",
        expect![[r#"
            no counters are left for t18 tag 1001 of line 6: 1 jobs may have them
        "#]],
    );
    check(
        "\
peers t17 10.1.0.1-10.1.0.1 vtep 10.255.0.4 tag 1001
peers t17 10.2.0.1-10.2.0.1 vtep 10.255.0.4 tag 1001
",
        expect![[r#"
            the tables need 9600 bytes, 8192 of them for the addresses of t17, but may take 4096
        "#]],
    );
    check(
        "space t17 vni 54017\n",
        expect![[r#"
            the tables need 8320 bytes, 8002 of them for the index of VNIs, but may take 4096
        "#]],
    );
    check(
        "\
peers t17 0.0.0.0-0.0.0.0 vtep 10.255.0.4 tag 1001
peers t17 255.255.255.255-255.255.255.255 vtep 10.255.0.4 tag 1001
",
        expect![[r#"
            the addresses of t17 reach from 0.0.0.0 to 255.255.255.255, more than can be counted
        "#]],
    );
}

/// A permit stands in its bucket or nowhere, and there are only so many buckets.
#[test]
fn more_permits_than_any_seed_can_place_are_refused() {
    let mut text = "vtep 10.255.0.3\ndefault drop\nspace t17 vni 50017\n".to_owned();
    for number in 1..=300_000_u64 {
        let scattered = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let scattered = (scattered ^ scattered >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let [client, provider, port] = [0, 16, 32].map(|bits| (scattered >> bits) as u16 | 1);
        writeln!(text, "permit t17 {client} {provider} udp {port}").unwrap();
    }
    let many = Limits { permits_per_space: u32::MAX, ..Limits::default() };
    check_within(
        &many,
        &text,
        expect![[r#"
            in t17 the permit of line 169447, 13575 to 22389 at udp 15907, finds its bucket full, even with 262144 of them
        "#]],
    );
}

/// What becomes of a tenant's lines; theirs begin with line 4.
fn check_tenant(lines: &str, expected: Expect) {
    check(&format!("vtep 10.255.0.3\ndefault drop\nspace t17 vni 50017\n{lines}"), expected);
}

fn check(text: &str, expected: Expect) {
    check_within(&Limits::default(), text, expected);
}

fn check_within(limits: &Limits, text: &str, expected: Expect) {
    let told = match compile(text, Generation(7), &interface, None, limits) {
        Ok(_) => "accepted\n".to_owned(),
        Err(refusal) => format!("{refusal}\n"),
    };
    expected.assert_eq(&told);
}

/// A device on which `swp1100` and `rep100` are two names of one interface.
fn interface(port: &Port) -> Option<u32> {
    match port {
        Port::Swp(number) => Some(u32::from(*number)),
        Port::Rep(number) => Some(u32::from(*number) + 1000),
        Port::Ethernet(_) | Port::Nic(_) => None,
    }
}
