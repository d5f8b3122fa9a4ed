#![allow(missing_docs, clippy::unwrap_used, reason = "a test fails by panicking")]

//! What subnet managers say, in the words of OpenSM.

mod page;

use expect_test::{Expect, expect};
use model::Dialect;
use proptest::prelude::*;

const PKEY: &str = "\
Default=0x7fff, ipoib : ALL=limited, SELF=full ;
acme.research.train=0x0011 : 0x0201000000ff0001=full, 0x0201000000ff0002=full ;
blue.serve=0x0012,defmember=full:ALL_CAS=limited,0x0201000000FF0003;
";

#[test]
fn ports_are_members_of_partitions() {
    check(
        PKEY,
        expect![[r#"
            1: Holds(EveryMember { pkey: 32767, full: false })
            2: Holds(Member { pkey: 17, guid: Guid(144396663069278209), full: true })
            2: Holds(Member { pkey: 17, guid: Guid(144396663069278210), full: true })
            3: Holds(EveryMember { pkey: 18, full: false })
            3: Holds(Member { pkey: 18, guid: Guid(144396663069278211), full: true })
        "#]],
    );
}

#[test]
fn statements_are_read_as_the_subnet_manager_reads_them() {
    check(
        "\
Default=0X7fff,ipoib,mtu=4 , rate=7: # as a site writes it
  mgid=ff12:401b::0707,scope=2 # a group
  ALL=limited,
  SELF=full;
two=17 : 0xFF0001=full ; three=0x8012, defmember=full : 0x1, 0x2=limited ; # behind it
four=0x0013 :
\t0x3=full # no comma
\t0x4=full ;
none=0x0014 : ;
",
        expect![[r#"
            3: Holds(EveryMember { pkey: 32767, full: false })
            5: Holds(Member { pkey: 17, guid: Guid(16711681), full: true })
            5: Holds(Member { pkey: 18, guid: Guid(1), full: true })
            5: Holds(Member { pkey: 18, guid: Guid(2), full: false })
            7: Holds(Member { pkey: 19, guid: Guid(3), full: true })
            8: Holds(Member { pkey: 19, guid: Guid(4), full: true })
            ignored: [2]
        "#]],
    );
}

#[test]
fn partitions_that_the_subnet_manager_would_take_otherwise_are_unknown() {
    check(
        "\
x=0x0011 0x0201000000ff0001=full ;
0x0011 : 0x0201000000ff0001=full ;
=0x0011 : 0x0201000000ff0001=full ;
x y=0x0011 : 0x0201000000ff0001=full ;
x#y=0x0011 : 0x0201000000ff0001=full ;
x=021 : 0x0201000000ff0001=full ;
x=0x0000 : 0x0201000000ff0001=full ;
x=0x8000 : 0x0201000000ff0001=full ;
x=0x+011 : 0x0201000000ff0001=full ;
x=0x0011, indx0 : 0x0201000000ff0001=full ;
x=0x0011, sl=3 : 0x0201000000ff0001=full ;
x=0x0011, mtu=04 : 0x0201000000ff0001=full ;
x=0x0011, defmember=both : 0x0201000000ff0001 ;
x=0x0011 : 0x0201000000ff0001=both ;
x=0x0011 : 0x0201000000ff0001=f ;
x=0x0011 : 0x0201000000ff0001= ;
x=0x0011 : 0x0201000000ff0001=Full ;
x=0x0011 : AL=full ;
x=0x0011 : ALL_SWITCHES=full ;
x=0x0011 : SELF=full ;
x=0x7fff : SELF=limited ;
x=0x0011 : 0x0000000000000000=full ;
x=0x0011 : 0x10201000000ff0001=full ;
x=0x0011 : 144396663069278209=full ;
x=0x0011 : =full ;
x=0x0011 : mgid=ff12::1 ;
x=0x0011 : 0x0201000000ff0001=full ;;
;
",
        expect![[r#"
            1? x=0x0011 0x0201000000ff0001=full ;
               a partition's ports stand after `:`
            2? 0x0011 : 0x0201000000ff0001=full ;
               a partition is written `name=0x0011`
            3? =0x0011 : 0x0201000000ff0001=full ;
               a partition's name is letters, digits, `.`, `_` and `-`
            4? x y=0x0011 : 0x0201000000ff0001=full ;
               a partition's name is letters, digits, `.`, `_` and `-`
            5? x#y=0x0011 : 0x0201000000ff0001=full ;
               a partition's ports stand after `:`
            6? x=021 : 0x0201000000ff0001=full ;
               a partition key is written 0x0011 and is from 0x0001 to 0x7fff
            7? x=0x0000 : 0x0201000000ff0001=full ;
               a partition key is written 0x0011 and is from 0x0001 to 0x7fff
            8? x=0x8000 : 0x0201000000ff0001=full ;
               a partition key is written 0x0011 and is from 0x0001 to 0x7fff
            9? x=0x+011 : 0x0201000000ff0001=full ;
               a partition key is written 0x0011 and is from 0x0001 to 0x7fff
            10? x=0x0011, indx0 : 0x0201000000ff0001=full ;
               a partition has no flags but ipoib and defmember
            11? x=0x0011, sl=3 : 0x0201000000ff0001=full ;
               a partition has no flags but ipoib and defmember
            12? x=0x0011, mtu=04 : 0x0201000000ff0001=full ;
               mtu, rate and scope are small numbers of the InfiniBand specification
            13? x=0x0011, defmember=both : 0x0201000000ff0001 ;
               a member is full or limited
            14? x=0x0011 : 0x0201000000ff0001=both ;
               a member is full or limited
            15? x=0x0011 : 0x0201000000ff0001=f ;
               a member is full or limited
            16? x=0x0011 : 0x0201000000ff0001= ;
               a member is full or limited
            17? x=0x0011 : 0x0201000000ff0001=Full ;
               a member is full or limited
            18? x=0x0011 : AL=full ;
               a member is ALL, SELF or a port GUID, which is 0x and up to sixteen digits
            19? x=0x0011 : ALL_SWITCHES=full ;
               a member is ALL, SELF or a port GUID, which is 0x and up to sixteen digits
            20? x=0x0011 : SELF=full ;
               the subnet manager is in the default partition and in no other
            21? x=0x7fff : SELF=limited ;
               a limited subnet manager is reached by no port that is limited too
            22? x=0x0011 : 0x0000000000000000=full ;
               a member is ALL, SELF or a port GUID, which is 0x and up to sixteen digits
            23? x=0x0011 : 0x10201000000ff0001=full ;
               a member is ALL, SELF or a port GUID, which is 0x and up to sixteen digits
            24? x=0x0011 : 144396663069278209=full ;
               a member is ALL, SELF or a port GUID, which is 0x and up to sixteen digits
            25? x=0x0011 : =full ;
               a member is ALL, SELF or a port GUID, which is 0x and up to sixteen digits
            26? x=0x0011 : mgid=ff12::1 ;
               a member is full or limited
            27? x=0x0011 : 0x0201000000ff0001=full ;;
               in front of `;` stands a statement or the end of one
            28? ;
               in front of `;` stands a statement or the end of one
        "#]],
    );
}

#[test]
fn a_statement_that_goes_on_takes_the_next_line_with_it() {
    for end in ["", " # ;", " # why\n# ;"] {
        let text = format!("a=0x0011 : 0x1=full{end}\nb=0x0012 : 0x2=full ;\n");
        let told = page::told(Dialect::Pkey, &text);
        assert!(told.contains("? b=0x0012 : 0x2=full ;"), "{told}");
    }
    let told = page::told(Dialect::Pkey, "a=0x0011 : 0x1=full\n");
    assert!(told.contains("a statement ends with `;`"), "{told}");
}

#[test]
fn of_two_memberships_the_last_counts_and_so_neither_is_believed() {
    check(
        "\
Default=0x7fff : SELF=full, ALL=limited ;
a=0x0011 : 0x1=full ;
b=0x0011 : 0x1=limited ;
c=0x0011 : ALL_CAS=full ;
d=0x0012 : 0x1=limited ;
",
        expect![[r#"
            2: Holds(Member { pkey: 17, guid: Guid(1), full: true })
            5: Holds(Member { pkey: 18, guid: Guid(1), full: false })
            1? Default=0x7fff : SELF=full, ALL=limited ;
               without SELF=full behind it the subnet manager is out of reach
            3? b=0x0011 : 0x1=limited ;
               a port is a member in two ways, of which the last one counts
            4? c=0x0011 : ALL_CAS=full ;
               everybody comes first: what was said before it is taken back
        "#]],
    );
}

#[test]
fn a_comment_that_is_too_long_for_one_line_is_a_statement_in_the_next() {
    let text = format!("# {}\n", "x".repeat(5000));
    let reading = read::claims(Dialect::Pkey, &text);
    assert_eq!((reading.unknown.len(), reading.ignored), (1, vec![]));
}

#[test]
fn a_line_that_is_too_long_for_the_subnet_manager_is_unknown() {
    let ports = |count| vec!["0x0201000000ff0001=full"; count].join(", ");
    for (count, expected) in [(163, 0), (164, 1)] {
        let text = format!("x=0x0011 : {} ;", ports(count));
        let reading = read::claims(Dialect::Pkey, &text);
        assert_eq!(reading.unknown.len(), expected, "{} bytes", text.len());
        assert_eq!(reading.claims.len(), count * (1 - expected));
    }
}

#[test]
fn members_of_a_partition_are_compared_one_by_one() {
    differ(
        "\
a.b=0x0011 : 0x0201000000ff0001=full, 0x0201000000ff0002=full ;
a.b=0x0011 : 0x0201000000ff0003=full ;
",
        "\
# written by hand
a.b=0x0011:0x0201000000FF0003=full,0x0201000000ff0004=full ,0x0201000000ff0001=limited ;
a.b=0x0011, defmember=full : 0x0201000000ff0002 ;
a.b=0x0011 : 0x ;
",
        expect![[r#"
            + 2: partition 0x0011: 0x0201000000ff0001=limited
            + 2: partition 0x0011: 0x0201000000ff0004=full
            + 4: a.b=0x0011 : 0x ;
            - 1: partition 0x0011: 0x0201000000ff0001=full
        "#]],
    );
}

#[test]
fn every_claim_is_a_sentence() {
    let claims = read::claims(Dialect::Pkey, PKEY).claims;
    let told: String = claims.iter().map(|claim| format!("{}\n", claim.fact)).collect();
    expect![[r#"
        every port is a limited member of partition 0x7fff
        port 0x0201000000ff0001 is a full member of partition 0x0011
        port 0x0201000000ff0002 is a full member of partition 0x0011
        every port is a limited member of partition 0x0012
        port 0x0201000000ff0003 is a full member of partition 0x0012
    "#]]
    .assert_eq(&told);
}

#[test]
fn what_is_on_the_list_is_ignored() {
    page::the_list_is_ignored(Dialect::Pkey);
}

fn check(text: &str, expected: Expect) {
    expected.assert_eq(&page::told(Dialect::Pkey, text));
}

fn differ(sent: &str, held: &str, expected: Expect) {
    let mut told = String::new();
    for difference in read::differences(Dialect::Pkey, sent, held) {
        let sign = if difference.is_missing { '-' } else { '+' };
        told += &format!("{sign} {}: {}\n", difference.line, difference.statement);
    }
    expected.assert_eq(&told);
}

proptest! {
    #[test]
    fn no_text_is_too_strange(text in page::any_text()) {
        page::no_line_is_known_and_unknown(Dialect::Pkey, &text);
        prop_assert!(read::differences(Dialect::Pkey, &text, &text).is_empty());
    }

    #[test]
    fn no_cut_is_too_strange(cut in page::cut(&[PKEY])) {
        page::no_line_is_known_and_unknown(Dialect::Pkey, &cut);
    }

    #[test]
    fn parts_say_together_what_they_say_alone(parts in page::parts(&[
        "Default=0x7fff, ipoib : ALL=limited, SELF=full ;\n",
        "a.b=0x0011 : 0x0201000000ff0001=full,\n0x0201000000ff0002=full ;\n",
        "c=0x0012 : 0x0201000000ff0003=limited ;\n# a comment\n",
    ])) {
        page::parts_say_together_what_they_say_alone(Dialect::Pkey, &parts);
    }

    #[test]
    fn neither_the_order_of_members_nor_of_lines_matters(
        shuffled in Just((1..=9_u64).collect::<Vec<_>>()).prop_shuffle(),
        a_line in 1_usize..9,
    ) {
        let said = |ports: &[u64], a_line: usize| -> String {
            let lines = ports.chunks(a_line).map(|ports| {
                let ports: Vec<_> = ports.iter().map(|port| format!("{port:#018x}=full")).collect();
                format!("a.b=0x0011 : {} ;\n", ports.join(", "))
            });
            lines.collect()
        };
        let sent: Vec<u64> = (1..=9).collect();
        let sent = said(&sent, 9);
        prop_assert!(read::differences(Dialect::Pkey, &sent, &said(&shuffled, a_line)).is_empty());
        let less = said(&shuffled[1..], a_line);
        prop_assert_eq!(read::differences(Dialect::Pkey, &sent, &less).len(), 1);
    }
}
