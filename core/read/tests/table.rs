#![allow(missing_docs, clippy::unwrap_used, reason = "a test fails by panicking")]

mod page;

use expect_test::{Expect, expect};
use model::Dialect;
use proptest::prelude::*;

const HEAD: &str = "\
vtep 10.255.0.3
default drop
";

const TENANT: &str = "\
space t17 vni 50017
rate t17 guarantee 25000000000 ceiling 100000000000
";

const JOB: &str = "\
space t17 vni 101001
job t17 1001 class lossless ceiling 10000000000
endpoint t17 10.1.0.2 mac 02:00:00:00:00:05 port swp5 tag 1001
peers t17 10.1.0.3-10.1.0.10 vtep 10.255.0.4 tag 1001
peers t17 10.9.0.2-10.9.0.2 vtep 10.255.0.9 tag 2001
permit t17 1001 2001 tcp 2049
";

#[test]
fn a_head_tells_the_default() {
    check(
        HEAD,
        expect![[r#"
        1: Vtep(10.255.0.3)
        2: TableDeniesByDefault
    "#]],
    );
}

#[test]
fn a_tenant_part_tells_the_space_and_its_rate() {
    check(
        TENANT,
        expect![[r#"
        1: TableSpace { space: VrfName("t17"), vni: Vni(50017) }
        2: TableRate { space: VrfName("t17"), guarantee_bps: Some(25000000000), ceiling_bps: Some(100000000000) }
    "#]],
    );
}

#[test]
fn hosts_that_follow_one_another_are_one_line() {
    check(
        "peers t17 10.1.0.3-10.1.0.10 vtep 10.255.0.4 every 4 tag 1001\n",
        expect![[r#"
        1: TablePeers { space: VrfName("t17"), first: 10.1.0.3, last: 10.1.0.10, vtep: 10.255.0.4, every: Some(4), tag: Tag(1001) }
    "#]],
    );
}

#[test]
fn a_job_part_tells_endpoints_peers_and_permits() {
    check(
        JOB,
        expect![[r#"
            1: TableSpace { space: VrfName("t17"), vni: Vni(101001) }
            2: TableJob { space: VrfName("t17"), tag: Tag(1001), class: Lossless, ceiling_bps: Some(10000000000) }
            3: TableEndpoint { space: VrfName("t17"), address: 10.1.0.2, mac: Mac([2, 0, 0, 0, 0, 5]), port: Swp(5), tag: Tag(1001) }
            4: TablePeers { space: VrfName("t17"), first: 10.1.0.3, last: 10.1.0.10, vtep: 10.255.0.4, every: None, tag: Tag(1001) }
            5: TablePeers { space: VrfName("t17"), first: 10.9.0.2, last: 10.9.0.2, vtep: 10.255.0.9, every: None, tag: Tag(2001) }
            6: TablePermit { space: VrfName("t17"), client: Tag(1001), provider: Tag(2001), service: Service { protocol: Tcp, port: 2049 } }
        "#]],
    );
}

#[test]
fn a_rate_may_be_one_sided() {
    check(
        "rate t17 guarantee 1\nrate t17 ceiling 2\n",
        expect![[r#"
        1: TableRate { space: VrfName("t17"), guarantee_bps: Some(1), ceiling_bps: None }
        2: TableRate { space: VrfName("t17"), guarantee_bps: None, ceiling_bps: Some(2) }
    "#]],
    );
}

#[test]
fn a_ceiling_of_nothing_is_unknown() {
    check(
        "rate t17 ceiling 0\nrate t17 guarantee 1 ceiling 0\njob t17 1001 class bulk ceiling 0\n",
        expect![[r#"
            1? rate t17 ceiling 0
               a ceiling is a whole number of bits a second from 1
            2? rate t17 guarantee 1 ceiling 0
               a ceiling is a whole number of bits a second from 1
            3? job t17 1001 class bulk ceiling 0
               a ceiling is a whole number of bits a second from 1
        "#]],
    );
}

#[test]
fn a_job_has_a_class_and_may_have_a_ceiling() {
    check(
        "job t17 1001 class lossless\njob t17 1002 class latency ceiling 1\njob t17 1003 class bulk\n",
        expect![[r#"
            1: TableJob { space: VrfName("t17"), tag: Tag(1001), class: Lossless, ceiling_bps: None }
            2: TableJob { space: VrfName("t17"), tag: Tag(1002), class: Latency, ceiling_bps: Some(1) }
            3: TableJob { space: VrfName("t17"), tag: Tag(1003), class: Bulk, ceiling_bps: None }
        "#]],
    );
}

#[test]
fn a_job_that_is_told_twice_is_two_claims() {
    check(
        "job t17 1001 class lossless\njob t17 1001 class bulk ceiling 5\n",
        expect![[r#"
            1: TableJob { space: VrfName("t17"), tag: Tag(1001), class: Lossless, ceiling_bps: None }
            2: TableJob { space: VrfName("t17"), tag: Tag(1001), class: Bulk, ceiling_bps: Some(5) }
        "#]],
    );
}

#[test]
fn a_job_in_words() {
    let text = "job t17 1001 class lossless\njob t17 1002 class bulk ceiling 2500000000\n";
    let claims = read::claims(Dialect::Table, text).claims;
    let words: String = claims.iter().map(|claim| format!("{}\n", claim.fact)).collect();
    expect![[r#"
        in t17 group 1001 is lossless and not limited
        in t17 group 1002 is bulk and limited to 2500Mbps
    "#]]
    .assert_eq(&words);
}

#[test]
fn a_table_that_passes_by_default_claims_nothing() {
    check(
        "default pass\n",
        expect![[r#"
        1: TablePassesByDefault
    "#]],
    );
}

#[test]
fn a_default_that_is_said_twice_must_agree() {
    check(
        "default drop\ndefault drop\ndefault pass\n",
        expect![[r#"
            1: TableDeniesByDefault
            2: TableDeniesByDefault
            3: TablePassesByDefault
        "#]],
    );
    check(
        "default pass\ndefault drop\n",
        expect![[r#"
            1: TablePassesByDefault
            2: TableDeniesByDefault
        "#]],
    );
}

#[test]
fn lines_that_are_written_otherwise_are_unknown() {
    check(
        "\
# a comment
default
default accept
default drop now
space t17
space t17 vni 0
rate t17
rate t17 ceiling 25Gbps
rate t17 ceiling 2 guarantee 1
endpoint t17 10.1.0.2 port swp5 tag 1001
endpoint t17 10.1.0.2 mac 02:00:00:00:00:05 port swp5 tag 0
endpoint t17 10.1.0.2 mac 02:00:00:00:00:05 port eth5 tag 1001
peers t17 10.1.0.3 vtep 10.255.0.4 tag 1001
peers t17 10.1.0.10-10.1.0.3 vtep 10.255.0.4 tag 1001
peers t17 10.1.0.3-10.1.0.10 vtep any tag 1001
peers t17 10.1.0.3-10.1.0.10 vtep 10.255.0.4 tag 65536
peers t17 10.1.0.3-10.1.0.10 vtep 10.255.0.4 every 3 tag 1001
peers t17 10.1.0.3-10.1.0.10 vtep 10.255.0.4 every 0 tag 1001
peers t17 10.1.0.3-10.1.0.10 vtep 255.255.255.255 every 4 tag 1001
peers t17 0.0.0.0-255.255.255.255 vtep 0.0.0.0 every 1 tag 1001
permit t17 1001 2001 icmp 1
permit t17 1001 2001 tcp 65536
permit t17 1001 2001
job t17 1001
job t17 1001 class
job t17 1001 class lossles
job t17 1001 class Bulk
job t17 0 class bulk
job t17 1001 class bulk ceiling
job t17 1001 class bulk ceiling 0
job t17 1001 class bulk ceiling 00
job t17 1001 class bulk ceiling +1
job t17 1001 class bulk ceiling 10Gbps
job t17 1001 class bulk ceiling 18446744073709551616
job t17 1001 class bulk guarantee 1
job t17 1001 ceiling 1 class bulk
job t17 1001 class bulk ceiling 1 burst 2
",
        expect![[r#"
            2? default
               the default is drop or pass
            3? default accept
               the default is drop or pass
            4? default drop now
               the default is drop or pass
            5? space t17
               no line of a table is written so
            6? space t17 vni 0
               a VNI is a number from 1 to 16777215
            7? rate t17
               no line of a table is written so
            8? rate t17 ceiling 25Gbps
               a ceiling is a whole number of bits a second from 1
            9? rate t17 ceiling 2 guarantee 1
               no line of a table is written so
            10? endpoint t17 10.1.0.2 port swp5 tag 1001
               no line of a table is written so
            11? endpoint t17 10.1.0.2 mac 02:00:00:00:00:05 port swp5 tag 0
               a group tag is a number from 1 to 65535
            12? endpoint t17 10.1.0.2 mac 02:00:00:00:00:05 port eth5 tag 1001
               a port is written Ethernet1/5, swp5, rep5 or nic5
            13? peers t17 10.1.0.3 vtep 10.255.0.4 tag 1001
               a run of addresses is written `first-last`, the lower first
            14? peers t17 10.1.0.10-10.1.0.3 vtep 10.255.0.4 tag 1001
               a run of addresses is written `first-last`, the lower first
            15? peers t17 10.1.0.3-10.1.0.10 vtep any tag 1001
               an address is four numbers such as 10.1.0.2
            16? peers t17 10.1.0.3-10.1.0.10 vtep 10.255.0.4 tag 65536
               a group tag is a number from 1 to 65535
            17? peers t17 10.1.0.3-10.1.0.10 vtep 10.255.0.4 every 3 tag 1001
               a run is divided into whole blocks, each behind the next tunnel endpoint
            18? peers t17 10.1.0.3-10.1.0.10 vtep 10.255.0.4 every 0 tag 1001
               a count is a whole number from 1
            19? peers t17 10.1.0.3-10.1.0.10 vtep 255.255.255.255 every 4 tag 1001
               a run is divided into whole blocks, each behind the next tunnel endpoint
            20? peers t17 0.0.0.0-255.255.255.255 vtep 0.0.0.0 every 1 tag 1001
               a run is divided into whole blocks, each behind the next tunnel endpoint
            21? permit t17 1001 2001 icmp 1
               a service speaks tcp or udp
            22? permit t17 1001 2001 tcp 65536
               the port of a service is a number up to 65535
            23? permit t17 1001 2001
               no line of a table is written so
            24? job t17 1001
               no line of a table is written so
            25? job t17 1001 class
               no line of a table is written so
            26? job t17 1001 class lossles
               a traffic class is lossless, latency or bulk
            27? job t17 1001 class Bulk
               a traffic class is lossless, latency or bulk
            28? job t17 0 class bulk
               a group tag is a number from 1 to 65535
            29? job t17 1001 class bulk ceiling
               no line of a table is written so
            30? job t17 1001 class bulk ceiling 0
               a ceiling is a whole number of bits a second from 1
            31? job t17 1001 class bulk ceiling 00
               a ceiling is a whole number of bits a second from 1
            32? job t17 1001 class bulk ceiling +1
               a ceiling is a whole number of bits a second from 1
            33? job t17 1001 class bulk ceiling 10Gbps
               a ceiling is a whole number of bits a second from 1
            34? job t17 1001 class bulk ceiling 18446744073709551616
               a ceiling is a whole number of bits a second from 1
            35? job t17 1001 class bulk guarantee 1
               no line of a table is written so
            36? job t17 1001 ceiling 1 class bulk
               no line of a table is written so
            37? job t17 1001 class bulk ceiling 1 burst 2
               no line of a table is written so
            ignored: [1]
        "#]],
    );
}

#[test]
fn what_is_on_the_list_is_ignored() {
    page::the_list_is_ignored(Dialect::Table);
}

fn check(text: &str, expected: Expect) {
    expected.assert_eq(&page::told(Dialect::Table, text));
}

proptest! {
    #[test]
    fn no_text_is_too_strange(text in page::any_text()) {
        page::no_line_is_known_and_unknown(Dialect::Table, &text);
    }

    #[test]
    fn no_cut_is_too_strange(cut in page::cut(&[HEAD, TENANT, JOB])) {
        page::no_line_is_known_and_unknown(Dialect::Table, &cut);
    }

    #[test]
    fn parts_say_together_what_they_say_alone(parts in page::parts(&[HEAD, TENANT, JOB])) {
        page::parts_say_together_what_they_say_alone(Dialect::Table, &parts);
    }
}
