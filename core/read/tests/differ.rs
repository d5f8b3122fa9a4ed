#![allow(missing_docs, clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use expect_test::{Expect, expect};
use model::Dialect;
use proptest::prelude::*;

const FRR: &str = "\
hostname leaf-3
no zebra nexthop kernel enable
interface swp33
 ip address 172.16.0.4/31
exit
router bgp 4200000003
 bgp router-id 10.255.0.3
 address-family l2vpn evpn
  advertise-all-vni
 exit-address-family
exit
router bgp 4200000003
 address-family l2vpn evpn
  vni 101001
   rd 10.255.0.3:1001
   route-target import 65000:101001
  exit-vni
 exit-address-family
exit
";

#[test]
fn what_frr_prints_in_another_order_and_in_one_block_is_no_difference() {
    check(
        Dialect::Frr,
        FRR,
        "\
frr version 8.4.4
no ipv6 forwarding
no zebra nexthop kernel enable
!
vrf t9
 netns /run/netns/t9
exit-vrf
!
router bgp 4200000003
 bgp router-id 10.255.0.3
 !
 address-family l2vpn evpn
  advertise-all-vni
  vni 101001
   route-target import 65000:101001
   rd 10.255.0.3:1001
  exit-vni
 exit-address-family
exit
!
interface swp33
 ip  address 172.16.0.4/31
exit
!
line vty
!
end
",
        expect![[""]],
    );
}

#[test]
fn a_statement_that_is_missing_deep_inside_names_its_blocks() {
    check(
        Dialect::Frr,
        FRR,
        &FRR.replace("   route-target import 65000:101001\n", ""),
        expect![[r#"
            - 16: router bgp 4200000003 / address-family l2vpn evpn / vni 101001 / route-target import 65000:101001
        "#]],
    );
}

#[test]
fn a_whole_block_is_its_opening_line_and_each_of_its_statements() {
    let vni =
        "  vni 101001\n   rd 10.255.0.3:1001\n   route-target import 65000:101001\n  exit-vni\n";
    check(
        Dialect::Frr,
        FRR,
        &FRR.replace(vni, "  vni 7\n   rd 10.255.0.3:7\n  exit-vni\n"),
        expect![[r#"
            + 14: router bgp 4200000003 / address-family l2vpn evpn / vni 7
            + 15: router bgp 4200000003 / address-family l2vpn evpn / vni 7 / rd 10.255.0.3:7
            - 14: router bgp 4200000003 / address-family l2vpn evpn / vni 101001
            - 15: router bgp 4200000003 / address-family l2vpn evpn / vni 101001 / rd 10.255.0.3:1001
            - 16: router bgp 4200000003 / address-family l2vpn evpn / vni 101001 / route-target import 65000:101001
        "#]],
    );
}

#[test]
fn an_empty_block_on_one_side_only_is_a_difference() {
    let held = format!("{FRR}interface swp9\nexit\n");
    check(
        Dialect::Frr,
        FRR,
        &held,
        expect![[r#"
            + 20: interface swp9
        "#]],
    );
}

#[test]
fn a_block_that_lost_all_its_statements_is_no_difference_itself() {
    check(
        Dialect::Frr,
        FRR,
        &FRR.replace(" ip address 172.16.0.4/31\n", ""),
        expect![[r#"
            - 4: interface swp33 / ip address 172.16.0.4/31
        "#]],
    );
}

#[test]
fn lines_of_a_linux_device_are_a_set() {
    check(
        Dialect::Linux,
        "vrf t17\nlink swp5 master br1001 mtu 9216 judged\n",
        "# held\nlink  swp5 master br1001 mtu 9216\nvrf t17\nvrf t17\n",
        expect![[r#"
            + 2: link swp5 master br1001 mtu 9216
            - 2: link swp5 master br1001 mtu 9216 judged
        "#]],
    );
}

#[test]
fn a_reach_is_compared_by_its_addresses() {
    check(
        Dialect::Linux,
        "\
reach 10.9.0.2-10.9.0.5 vrf t17 vtep 10.255.0.9 every 2 vni 50018
reach 10.9.0.2-10.9.0.3 vrf t17 vtep 10.255.0.9 vni 50018
",
        "\
reach 10.9.0.4-10.9.0.5 vrf t17 vtep 10.255.0.10 vni 50018
reach 10.9.0.2-10.9.0.2 vrf t17 vtep 10.255.0.9 vni 50018
reach 10.9.0.3-10.9.0.3 vrf t17 vtep 10.255.0.9 vni 50019
",
        expect![[r#"
            + 3: reach 10.9.0.3-10.9.0.3 vrf t17 vtep 10.255.0.9 vni 50019
            - 1: reach 10.9.0.3-10.9.0.3 vrf t17 vtep 10.255.0.9 vni 50018
        "#]],
    );
}

#[test]
fn peers_of_a_table_are_compared_however_they_are_divided() {
    check(
        Dialect::Table,
        "peers t17 10.1.0.11-10.1.0.22 vtep 10.255.0.8 every 4 tag 1001\n",
        "\
peers t17 10.1.0.11-10.1.0.14 vtep 10.255.0.8 tag 1001
peers t17 10.1.0.15-10.1.0.16 vtep 10.255.0.9 tag 1001
peers t17 10.1.0.17-10.1.0.18 vtep 10.255.0.9 tag 1001
peers t17 10.1.0.19-10.1.0.22 vtep 10.255.0.10 tag 1001
",
        expect![[""]],
    );
}

#[test]
fn peers_that_moved_are_missing_there_and_too_much_here() {
    check(
        Dialect::Table,
        "default drop\npeers t17 10.1.0.2-10.1.0.9 vtep 10.255.0.4 tag 1001\n",
        "\
peers t17 10.1.0.2-10.1.0.4 vtep 10.255.0.4 tag 1001
peers t17 10.1.0.5-10.1.0.5 vtep 10.255.0.7 tag 1001
peers t17 10.1.0.6-10.1.0.9 vtep 10.255.0.4 tag 1001
default pass
",
        expect![[r#"
            + 2: peers t17 10.1.0.5-10.1.0.5 vtep 10.255.0.7 tag 1001
            + 4: default pass
            - 1: default drop
            - 2: peers t17 10.1.0.5-10.1.0.5 vtep 10.255.0.4 tag 1001
        "#]],
    );
}

#[test]
fn an_endpoint_of_the_device_need_not_be_its_peer_too() {
    let endpoint = "endpoint t2 10.1.0.10 mac 02:00:00:00:00:05 port swp5 tag 20";
    check(
        Dialect::Table,
        &format!(
            "vtep 10.255.0.2\n{endpoint}\npeers t2 10.1.0.9-10.1.0.10 vtep 10.255.0.2 tag 20\n"
        ),
        &format!(
            "vtep 10.255.0.2\n{endpoint}\npeers t2 10.1.0.9-10.1.0.9 vtep 10.255.0.2 tag 20\n"
        ),
        expect![[""]],
    );
    check(
        Dialect::Table,
        &format!(
            "vtep 10.255.0.2\n{endpoint}\npeers t2 10.1.0.10-10.1.0.10 vtep 10.255.0.3 tag 20\n"
        ),
        &format!(
            "vtep 10.255.0.2\n{endpoint}\npeers t2 10.1.0.10-10.1.0.10 vtep 10.255.0.2 tag 21\n"
        ),
        expect![[r#"
            + 3: peers t2 10.1.0.10-10.1.0.10 vtep 10.255.0.2 tag 21
            - 3: peers t2 10.1.0.10-10.1.0.10 vtep 10.255.0.3 tag 20
        "#]],
    );
}

#[test]
fn a_run_that_is_not_written_well_is_compared_as_it_stands() {
    check(
        Dialect::Table,
        "peers t17 10.1.0.9-10.1.0.2 vtep 10.255.0.4 tag 1001\n",
        "peers t17 10.1.0.2-10.1.0.9 vtep 10.255.0.4 every 3 tag 1001\n",
        expect![[r#"
            + 1: peers t17 10.1.0.2-10.1.0.9 vtep 10.255.0.4 every 3 tag 1001
            - 1: peers t17 10.1.0.9-10.1.0.2 vtep 10.255.0.4 tag 1001
        "#]],
    );
}

#[test]
fn the_last_of_all_addresses_is_an_address() {
    check(
        Dialect::Table,
        "peers t17 255.255.255.254-255.255.255.255 vtep 10.255.0.4 tag 1001\n",
        "peers t17 255.255.255.255-255.255.255.255 vtep 10.255.0.4 tag 1001\n",
        expect![[r#"
            - 1: peers t17 255.255.255.254-255.255.255.254 vtep 10.255.0.4 tag 1001
        "#]],
    );
}

proptest! {
    #[test]
    fn runs_differ_in_exactly_the_addresses_that_differ(sent in runs(), held in runs()) {
        let (ours, theirs) = (addresses(&sent), addresses(&held));
        let (mut missing, mut extra) = (String::new(), String::new());
        for difference in read::differences(Dialect::Table, &sent, &held) {
            let side = if difference.is_missing { &mut missing } else { &mut extra };
            side.push_str(&difference.statement);
            side.push('\n');
        }
        prop_assert_eq!(addresses(&missing), ours.difference(&theirs).copied().collect());
        prop_assert_eq!(addresses(&extra), theirs.difference(&ours).copied().collect());
    }
}

/// Lines about runs of few addresses, so that they touch and overlap.
fn runs() -> impl Strategy<Value = String> {
    let line = (0..12_u8, 1..4_u8, 1..4_u8, 1..4_u8).prop_map(|(first, blocks, every, vtep)| {
        let last = first + blocks * every - 1;
        format!("peers t1 10.0.0.{first}-10.0.0.{last} vtep 10.9.0.{vtep} every {every} tag 16\n")
    });
    prop::collection::vec(line, 0..5).prop_map(|lines| lines.concat())
}

/// Every address of the runs with the tunnel endpoint it is behind, taken one by one.
fn addresses(text: &str) -> BTreeSet<(u32, u32)> {
    let mut all = BTreeSet::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |word: &str| u32::from(word.parse::<Ipv4Addr>().unwrap());
        let (first, last) = words[2].split_once('-').unwrap();
        let (first, last, vtep) = (number(first), number(last), number(words[4]));
        let every = if words[5] == "every" { words[6].parse().unwrap() } else { u32::MAX };
        all.extend((first..=last).map(|at| (at, vtep + (at - first) / every)));
    }
    all
}

fn check(dialect: Dialect, sent: &str, held: &str, expected: Expect) {
    let mut told = String::new();
    for difference in read::differences(dialect, sent, held) {
        let sign = if difference.is_missing { '-' } else { '+' };
        let mut path = difference.blocks;
        path.push(difference.statement);
        told.push_str(&format!("{sign} {}: {}\n", difference.line, path.join(" / ")));
    }
    expected.assert_eq(&told);
    assert!(read::differences(dialect, sent, sent).is_empty());
    assert!(read::differences(dialect, held, held).is_empty());
}
