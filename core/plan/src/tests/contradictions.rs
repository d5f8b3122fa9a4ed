//! Records that cannot have happened: each is refused and changes nothing.

use expect_test::{Expect, expect};

use crate::{Choice, Ledger};

/// Two jobs of two tenants that meet, and one that rests.
const SOUND: &str = r#"
{"planned":{"generation":1}}
{"tenant-leased":{"tenant":"acme","number":1}}
{"tenant-leased":{"tenant":"blue","number":2}}
{"job-leased":{"job":{"tenant":"acme","name":"a"},"lease":{"tag":16,"subnet":"10.0.0.0/30","class":"lossless","grade":"node","gpus":1,"seats":[{"node":"n1","nic":0}],"vlans":[{"device":"leaf-1","vlan":2}]}}}
{"job-leased":{"job":{"tenant":"blue","name":"b"},"lease":{"tag":17,"subnet":"10.0.0.0/30","class":"lossless","grade":"node","gpus":1,"seats":[{"node":"n2","nic":0}],"vlans":[{"device":"leaf-1","vlan":3}]}}}
{"job-leased":{"job":{"tenant":"acme","name":"r"},"lease":{"tag":18,"subnet":"10.0.0.4/30","class":"lossless","grade":"node","gpus":1,"seats":[{"node":"n1","nic":1}],"vlans":[{"device":"leaf-1","vlan":4}]}}}
{"consent-opened":{"client":{"tenant":"acme","name":"a"},"provider":{"tenant":"blue","name":"b"},"service":{"protocol":"tcp","port":2049}}}
{"planned":{"generation":2}}
{"job-freed":{"job":{"tenant":"acme","name":"r"}}}
"#;

fn record(line: &str) -> Choice {
    serde_json::from_str(line).unwrap()
}

/// Adds each line to a ledger that holds the sound records, and tells why it is refused.
fn check(lines: &[&str], told: Expect) {
    let sound: Vec<Choice> = SOUND.trim().lines().map(record).collect();
    let ledger = Ledger::replay(&sound).unwrap();
    let refused = lines.iter().map(|line| {
        let mut after = ledger.clone();
        let contradiction = after.apply(&record(line)).unwrap_err();
        assert_eq!(after, ledger, "a refused record changed the ledger");
        format!("{contradiction}\n")
    });
    told.assert_eq(&refused.collect::<String>());
}

/// A lease for a third job of acme, with one thing changed.
fn lease_with(what: &str, instead: &str) -> String {
    let lease = r#"{"job-leased":{"job":{"tenant":"acme","name":"z"},"lease":{"tag":19,"subnet":"10.0.0.8/30","class":"lossless","grade":"node","gpus":1,"seats":[{"node":"n3","nic":0}],"vlans":[{"device":"leaf-1","vlan":5}]}}}"#;
    let changed = lease.replace(what, instead);
    assert_ne!(changed, lease, "nothing was changed");
    changed
}

#[test]
fn nothing_has_two_owners() {
    let leases = [
        lease_with("\"tag\":19", "\"tag\":17"),
        lease_with("\"tag\":19", "\"tag\":18"),
        lease_with("10.0.0.8/30", "10.0.0.0/28"),
        lease_with("\"vlan\":5", "\"vlan\":4"),
        lease_with("\"n3\"", "\"n2\""),
        lease_with("\"n3\",\"nic\":0", "\"n1\",\"nic\":1"),
        lease_with("\"name\":\"z\"", "\"name\":\"a\""),
    ];
    check(
        &leases.each_ref().map(String::as_str),
        expect![[r#"
        job acme/z got tag 17, which is leased or rests
        job acme/z got tag 18, which is leased or rests
        job acme/z got subnet 10.0.0.0/28, but 10.0.0.4/30 of the same tenant is leased or rests
        job acme/z got VLAN 4 on leaf-1, which is leased or rests
        job acme/z got interface 0 of node n2, which is leased or rests
        job acme/z got interface 1 of node n1, which is leased or rests
        job acme/a was leased and is leased
    "#]],
    );
}

#[test]
fn a_lease_is_whole() {
    let leases = [
        lease_with("\"tag\":19", "\"tag\":999"),
        lease_with("10.0.0.8/30", "10.0.0.8/31"),
        lease_with("[{\"node\":\"n3\",\"nic\":0}]", "[]"),
        lease_with("\"acme\"", "\"lime\""),
    ];
    check(
        &leases.each_ref().map(String::as_str),
        expect![[r#"
        job acme/z got tag 999, which is no job's tag
        job acme/z got subnet 10.0.0.8/31, which has no room for 1 endpoints
        job acme/z was leased without any interface or device
        tenant lime has no number
    "#]],
    );
}

#[test]
fn tenants_have_one_number_and_numbers_one_tenant() {
    check(
        &[
            r#"{"tenant-leased":{"tenant":"acme","number":3}}"#,
            r#"{"tenant-leased":{"tenant":"lime","number":1}}"#,
            r#"{"tenant-leased":{"tenant":"lime","number":5536}}"#,
            r#"{"tenant-freed":{"tenant":"lime"}}"#,
            r#"{"tenant-freed":{"tenant":"acme"}}"#,
        ],
        expect![[r#"
            tenant acme got a number and had one
            tenant lime got number 1, which is leased or rests
            tenant lime got number 5536, which is no tenant's number
            tenant lime has no number
            the tenant of job acme/a was freed before the job
        "#]],
    );
}

#[test]
fn things_end_after_they_began_and_in_their_order() {
    check(
        &[
            r#"{"planned":{"generation":2}}"#,
            r#"{"job-freed":{"job":{"tenant":"acme","name":"z"}}}"#,
            r#"{"job-freed":{"job":{"tenant":"acme","name":"a"}}}"#,
            r#"{"job-classed":{"job":{"tenant":"acme","name":"z"},"class":"bulk"}}"#,
            r#"{"job-classed":{"job":{"tenant":"acme","name":"z"},"class":"bulk","ceiling":"1Gbps"}}"#,
            r#"{"consent-opened":{"client":{"tenant":"acme","name":"a"},"provider":{"tenant":"blue","name":"b"},"service":{"protocol":"tcp","port":2049}}}"#,
            r#"{"consent-ended":{"client":{"tenant":"acme","name":"a"},"provider":{"tenant":"blue","name":"b"},"service":{"protocol":"tcp","port":80}}}"#,
            r#"{"seen":{"device":"leaf-1","generation":3}}"#,
            r#"{"scrubbed":{"node":"n1","job":{"tenant":"acme","name":"a"},"evidence":[]}}"#,
        ],
        expect![[r#"
            generation 2 was planned after generation 2
            job acme/z is not leased
            job acme/a was freed before its consents ended
            job acme/z is not leased
            job acme/z is not leased
            acme/a and blue/b consented to tcp 2049 a second time
            acme/a and blue/b had not consented to tcp 80
            leaf-1 was seen at generation 3, but the last that was planned is 2
            n1 was scrubbed after job acme/a, of which nothing waits for that
        "#]],
    );
}

#[test]
fn what_was_scrubbed_before_everybody_let_go_of_it_was_not() {
    let leased = lease_with("\"gpus\":1", "\"scrub\":[\"hbm\"],\"gpus\":1");
    let records = [
        r#"{"planned":{"generation":1}}"#,
        r#"{"tenant-leased":{"tenant":"acme","number":1}}"#,
        &leased,
        r#"{"job-freed":{"job":{"tenant":"acme","name":"z"}}}"#,
        r#"{"scrubbed":{"node":"n3","job":{"tenant":"acme","name":"z"},"evidence":[]}}"#,
    ];
    let contradiction = Ledger::replay(&records.map(record)).unwrap_err();
    expect![[r#"
        n3 was scrubbed after job acme/z before every device was seen without the job: whoever still holds it can write again"#]]
    .assert_eq(&contradiction.to_string());
}

#[test]
fn a_generation_that_was_seen_is_closed() {
    let records = [
        r#"{"planned":{"generation":1}}"#,
        r#"{"tenant-leased":{"tenant":"acme","number":1}}"#,
        r#"{"seen":{"device":"leaf-1","generation":1}}"#,
        r#"{"tenant-freed":{"tenant":"acme"}}"#,
    ];
    let contradiction = Ledger::replay(&records.map(record)).unwrap_err();
    expect!["something changed although no generation was open"]
        .assert_eq(&contradiction.to_string());
}

#[test]
fn a_record_nobody_knows_is_an_error() {
    let lines = [
        r#"{"forgotten":{"job":"a"}}"#,
        r#"{"seen":{"device":"leaf-1","generation":1,"by":"me"}}"#,
        r#"{"seen":{"device":"Leaf 1","generation":1}}"#,
        r#"{"job-classed":{"job":{"tenant":"acme","name":"a"},"class":"bulk","ceiling":"1Gb"}}"#,
    ];
    let told: String = lines
        .iter()
        .map(|line| format!("{}\n", serde_json::from_str::<Choice>(line).unwrap_err()))
        .collect();
    expect![[r#"
        unknown variant `forgotten`, expected one of `planned`, `tenant-leased`, `tenant-freed`, `job-leased`, `job-classed`, `job-freed`, `tenant-restored`, `job-restored`, `consent-opened`, `consent-ended`, `scrubbed`, `seen` at line 1 column 12
        unknown field `by`, expected `device` or `generation` at line 1 column 46
        `Leaf 1` is no name: use lower-case letters, digits and inner hyphens, at most 63 (a tenant path at most 5 levels deep) at line 1 column 26
        a bandwidth is a whole number with its unit: bps, kbps, Mbps, Gbps or Tbps at line 1 column 82
    "#]].assert_eq(&told);
}
