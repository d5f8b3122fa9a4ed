//! From text to bytes, and what is in the bytes.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fmt::Write;
use std::net::Ipv4Addr;

use expect_test::{Expect, expect};
use filter::{Compiled, Limits, TableRefusal, compile, say};
use model::{Generation, Port};
use wire::{PortSeat, TablePermit, Tables, layout};

#[test]
fn a_policy_is_compiled_and_said_again() {
    check(
        "\
vtep 10.255.0.3
default drop
space t18 vni 50018
space t17 vni 50017
rate t17 guarantee 25000000000 ceiling 100000000000
space t17 vni 51001
job t17 1001 class bulk ceiling 40000000000
endpoint t17 10.1.0.2 mac 02:00:00:00:00:05 port swp5 tag 1001
peers t17 10.1.0.3-10.1.0.10 vtep 10.255.0.4 tag 1001
peers t17 10.1.0.11-10.1.0.22 vtep 10.255.0.8 every 4 tag 1001
peers t17 10.1.0.23-10.1.0.26 vtep 10.255.0.11 tag 1002
peers t17 10.9.0.2-10.9.0.2 vtep 10.255.0.9 tag 2001
permit t17 2001 1001 udp 53
permit t17 1001 2001 tcp 2049
space t18 vni 52001
job t18 2001 class latency
job t18 2002 class latency
endpoint t18 10.9.0.2 mac 02:00:00:00:00:06 port rep6 tag 2001
",
        expect![[r#"
            vtep 10.255.0.3
            default drop
            space t17 vni 50017
            space t17 vni 51001
            rate t17 guarantee 25000000000 ceiling 100000000000
            job t17 1001 class bulk ceiling 40000000000
            endpoint t17 10.1.0.2 mac 02:00:00:00:00:05 port swp5 tag 1001
            peers t17 10.1.0.3-10.1.0.10 vtep 10.255.0.4 tag 1001
            peers t17 10.1.0.11-10.1.0.22 vtep 10.255.0.8 every 4 tag 1001
            peers t17 10.1.0.23-10.1.0.26 vtep 10.255.0.11 tag 1002
            peers t17 10.9.0.2-10.9.0.2 vtep 10.255.0.9 tag 2001
            permit t17 1001 2001 tcp 2049
            permit t17 2001 1001 udp 53
            space t18 vni 50018
            space t18 vni 52001
            job t18 2001 class latency
            endpoint t18 10.9.0.2 mac 02:00:00:00:00:06 port rep6 tag 2001
            endpoints 27, peers 25, spaces 2, ports 2, permits 2, bytes 15872
        "#]],
    );
}

#[test]
fn a_device_without_tenants_has_a_policy() {
    check(
        "vtep 10.255.0.3\ndefault drop\n",
        expect![[r#"
            vtep 10.255.0.3
            default drop
            endpoints 0, peers 0, spaces 0, ports 0, permits 0, bytes 128
        "#]],
    );
}

#[test]
fn what_is_said_twice_in_the_same_way_is_said_once() {
    check_tenant(
        "\
default drop
space t17 vni 50017
rate t17 ceiling 5
rate t17 ceiling 5
endpoint t17 10.1.0.2 mac 02:00:00:00:00:05 port swp5 tag 1001
endpoint t17 10.1.0.2 mac 02:00:00:00:00:05 port swp5 tag 1001
peers t17 10.1.0.2-10.1.0.3 vtep 10.255.0.3 every 2 tag 1001
peers t17 10.1.0.4-10.1.0.9 vtep 10.255.0.2 every 1 tag 7
peers t17 10.1.0.6-10.1.0.7 vtep 10.255.0.4 every 1 tag 7
peers t17 10.1.0.8-10.1.0.13 vtep 10.255.0.6 every 1 tag 7
peers t17 10.1.0.5-10.1.0.5 vtep 10.255.0.3 tag 7
permit t17 1001 7 tcp 80
permit t17 1001 7 tcp 80
",
        expect![[r#"
            vtep 10.255.0.3
            default drop
            space t17 vni 50017
            rate t17 ceiling 5
            job t17 1001 class lossless
            endpoint t17 10.1.0.2 mac 02:00:00:00:00:05 port swp5 tag 1001
            peers t17 10.1.0.3-10.1.0.3 vtep 10.255.0.3 tag 1001
            peers t17 10.1.0.4-10.1.0.13 vtep 10.255.0.2 every 1 tag 7
            permit t17 1001 7 tcp 80
            endpoints 12, peers 11, spaces 1, ports 1, permits 1, bytes 576
        "#]],
    );
}

#[test]
fn a_local_endpoint_of_another_job_is_a_peer_behind_the_own_tunnel() {
    check_tenant(
        "peers t17 10.9.0.2-10.9.0.3 vtep 10.255.0.3 tag 2001\n",
        expect![[r#"
            vtep 10.255.0.3
            default drop
            space t17 vni 50017
            peers t17 10.9.0.2-10.9.0.3 vtep 10.255.0.3 tag 2001
            endpoints 2, peers 2, spaces 1, ports 0, permits 0, bytes 320
        "#]],
    );
}

/// As many hosts as `read` takes in one line, and one more.
#[test]
fn a_run_that_is_too_long_for_a_line_is_two() {
    check_tenant(
        "\
peers t17 10.0.0.0-10.0.255.255 vtep 10.128.0.0 every 1 tag 7
peers t17 10.1.0.0-10.1.0.1 vtep 10.129.0.0 every 1 tag 7
",
        expect![[r#"
            vtep 10.255.0.3
            default drop
            space t17 vni 50017
            peers t17 10.0.0.0-10.0.255.255 vtep 10.128.0.0 every 1 tag 7
            peers t17 10.1.0.0-10.1.0.1 vtep 10.129.0.0 every 1 tag 7
            endpoints 65538, peers 65538, spaces 1, ports 0, permits 0, bytes 524608
        "#]],
    );
}

/// As of a tenant with two pools, or of a permit's other side.
#[test]
fn addresses_far_from_one_another_take_little_room() {
    check_tenant(
        "\
peers t17 10.1.0.1-10.1.0.2 vtep 10.255.0.4 tag 7
peers t17 192.168.0.1-192.168.0.2 vtep 10.255.0.5 tag 8
",
        expect![[r#"
            vtep 10.255.0.3
            default drop
            space t17 vni 50017
            peers t17 10.1.0.1-10.1.0.2 vtep 10.255.0.4 tag 7
            peers t17 192.168.0.1-192.168.0.2 vtep 10.255.0.5 tag 8
            endpoints 4, peers 4, spaces 1, ports 0, permits 0, bytes 196544
        "#]],
    );
}

/// A tenant chooses the ports of its services, and can choose such that share a bucket however
/// many buckets there are, but not whatever the seed is.
#[test]
fn permits_that_were_chosen_to_collide_take_no_more_room() {
    check_tenant(
        &colliding().concat(),
        expect![[r#"
        vtep 10.255.0.3
        default drop
        space t17 vni 50017
        permit t17 1001 1 tcp 25387
        permit t17 1001 6 tcp 4022
        permit t17 1001 10 tcp 10194
        permit t17 1001 11 tcp 53531
        permit t17 1001 12 tcp 9658
        endpoints 0, peers 0, spaces 1, ports 0, permits 5, bytes 384
    "#]],
    );
}

/// Five permits with one bucket of a million, as long as nobody changes the seed.
fn colliding() -> Vec<String> {
    let mut buckets = BTreeMap::<u32, Vec<(u16, u16)>>::new();
    let ports_of = |provider| (0..u16::MAX).map(move |port| (provider, port));
    for (provider, port) in (1..100).flat_map(ports_of) {
        let permit = TablePermit { space: 0, client: 1001, provider, protocol: 6, port };
        let bucket = permit.bucket((1 << 20) - 1, 0);
        if bucket >= 1 << 10 {
            continue; // a thousandth of all buckets is enough to find a full one
        }
        let found = buckets.entry(bucket).or_default();
        found.push((provider, port));
        if found.len() == 5 {
            let line = |(provider, port)| format!("permit t17 1001 {provider} tcp {port}\n");
            return found.drain(..).map(line).collect();
        }
    }
    panic!("no five permits share a bucket");
}

/// A job and a port are counted on from policy to policy, and what comes anew does not get the
/// counters of what went at once.
#[test]
fn jobs_and_ports_keep_their_counters() {
    let before = compiled(&endpoints(&[3, 4, 5])).unwrap();
    check_slots(
        &before,
        expect![[r#"
        job 1000 counts at 1, rep3 at 0
        job 1000 counts at 1, rep4 at 1
        job 1000 counts at 1, rep5 at 2
    "#]],
    );
    let after = compiled_after(&before, &endpoints(&[1, 3, 5, 6, 103])).unwrap();
    check_slots(
        &after,
        expect![[r#"
        job 1000 counts at 1, rep1 at 3
        job 1000 counts at 1, rep3 at 0
        job 1000 counts at 1, rep5 at 2
        job 1000 counts at 1, rep6 at 4
        job 1001 counts at 2, rep103 at 5
    "#]],
    );
    let later = compiled_after(&after, &endpoints(&[1, 2, 3, 5, 6, 204])).unwrap();
    check_slots(
        &later,
        expect![[r#"
        job 1000 counts at 1, rep1 at 3
        job 1000 counts at 1, rep2 at 1
        job 1000 counts at 1, rep3 at 0
        job 1000 counts at 1, rep5 at 2
        job 1000 counts at 1, rep6 at 4
        job 1002 counts at 3, rep204 at 6
    "#]],
    );
}

#[test]
fn counters_that_do_not_exist_are_not_kept() {
    let mut before = compiled(&endpoints(&[3])).unwrap();
    let ports = &before.bytes[layout::PORTS..][..4];
    let port = u32::from_le_bytes(ports.try_into().unwrap()) as usize;
    before.bytes[port + 20..port + 24].fill(0xff);
    check_slots(
        &compiled_after(&before, &endpoints(&[3])).unwrap(),
        expect![[r#"
        job 1000 counts at 1, rep3 at 0
    "#]],
    );
}

#[test]
fn a_full_device_takes_the_same_ports_again() {
    let limits = Limits { ports: 16384, ..Limits::default() };
    let after = |text: &str, before| compile(text, Generation(7), &interface, before, &limits);
    let all: Vec<u16> = (1..=16384).collect();
    let full = after(&endpoints(&all), None).unwrap();
    let tables = Some(Tables::new(&full.bytes));
    assert_eq!(after(&endpoints(&all), tables).unwrap(), full);
    let refusal = after(&endpoints(&[20000]), tables).unwrap_err();
    let expected =
        expect!["no burst counters are left for rep20000 of line 4: 16384 ports have them"];
    expected.assert_eq(&refusal.to_string());
}

#[test]
fn a_policy_in_force_that_contradicts_itself_is_replaced_all_the_same() {
    let text = endpoints(&[3, 4, 5]);
    let fresh = compiled(&text).unwrap();
    for broken in [vec![], vec![0xff; 4096], fresh.bytes[..200].to_vec()] {
        let broken = Compiled { bytes: broken, ..fresh.clone() };
        assert_eq!(compiled_after(&broken, &text).unwrap(), fresh);
    }
}

/// Every part begins with a cache line, so that no record, page or bucket lies in two.
#[test]
fn parts_begin_with_cache_lines() {
    let paged = "peers t17 10.2.0.1-10.2.1.0 vtep 10.255.0.4 tag 1\n\
                 peers t17 10.5.0.1-10.5.1.0 vtep 10.255.0.4 tag 1\n\
                 space t18 vni 50018\n\
                 peers t18 10.1.0.1-10.1.1.0 vtep 10.255.0.4 tag 1\n\
                 permit t17 1 2 tcp 80\n";
    let text = format!("{}{paged}", endpoints(&[3, 4, 5]));
    let compiled = compiled(&text).unwrap();
    let word = |at: usize| u32::from_le_bytes(compiled.bytes[at..at + 4].try_into().unwrap());
    let places = [layout::VNIS + 8, layout::INTERFACES + 8, layout::SPACES, layout::PORTS];
    for at in places.into_iter().chain([layout::PERMITS]) {
        assert_eq!((word(at) % 64, word(at) > 0), (0, true), "the offset at {at}");
    }
    let tables = Tables::new(&compiled.bytes);
    let [sparse, dense] = [0, 1].map(|index| tables.space(index).unwrap());
    assert_eq!((sparse.paged, sparse.at % 64), (true, 0));
    assert_eq!((dense.paged, dense.at % 64), (false, 0));
    let pointers = |at: u32, count: u32| {
        let words = (0..count).map(move |place| word((at + place * 4) as usize));
        words.filter(|pointer| *pointer > 0)
    };
    let lists: Vec<u32> = pointers(sparse.at, sparse.len.div_ceil(65536)).collect();
    let pages: Vec<u32> = lists.iter().flat_map(|list| pointers(*list, 1024)).collect();
    assert!(lists.iter().chain(&pages).all(|pointer| pointer % 64 == 0), "{lists:?} {pages:?}");
    assert_eq!((lists.len(), pages.len()), (4, 11), "lists and pages with a record");
    assert_eq!(word(layout::LENGTH) as usize, compiled.bytes.len());
}

/// The issue allows 32 bytes for each endpoint; a dense policy takes little more than a record.
#[test]
fn dense_policies_are_small() {
    for (tenants, each) in [(100, 1000), (1000, 1000)] {
        let compiled = compiled(&dense(tenants, each)).unwrap();
        assert_eq!(compiled.endpoints, tenants * each);
        let bytes_each = compiled.bytes.len() as f64 / f64::from(compiled.endpoints);
        assert!(bytes_each < 9.0, "{bytes_each} bytes for each endpoint");
    }
}

/// Tenants with hosts of eight endpoints each.
fn dense(tenants: u32, each: u32) -> String {
    let mut text = "vtep 10.255.0.3\ndefault drop\n".to_owned();
    for tenant in 1..=tenants {
        writeln!(text, "space t{tenant} vni {}", 50_000 + tenant).unwrap();
        let [first, last] = [2, each + 1].map(|host| Ipv4Addr::from(0x0a01_0000 + host));
        writeln!(text, "peers t{tenant} {first}-{last} vtep 10.254.0.1 every 8 tag {tenant}")
            .unwrap();
    }
    text
}

/// A tenant with an endpoint behind each of these ports, a hundred of them to a job.
fn endpoints(ports: &[u16]) -> String {
    let mut text = "vtep 10.255.0.3\ndefault drop\nspace t17 vni 50017\n".to_owned();
    for port in ports {
        let address = Ipv4Addr::from(0x0a01_0000 + u32::from(*port));
        let tag = 1000 + port / 100;
        writeln!(text, "endpoint t17 {address} mac 02:00:00:00:00:05 port rep{port} tag {tag}")
            .unwrap();
    }
    text
}

fn check_slots(compiled: &Compiled, expected: Expect) {
    let tables = Tables::new(&compiled.bytes);
    let mut told = String::new();
    for port in 0..compiled.ports {
        let PortSeat { interface, tag, slot, burst, .. } = tables.port(port).unwrap();
        let name = name(interface).unwrap();
        writeln!(told, "job {tag} counts at {slot}, {name} at {burst}").unwrap();
    }
    expected.assert_eq(&told);
}

/// What becomes of a tenant's lines; theirs begin with line 4.
fn check_tenant(lines: &str, expected: Expect) {
    check(&format!("vtep 10.255.0.3\ndefault drop\nspace t17 vni 50017\n{lines}"), expected);
}

fn check(text: &str, expected: Expect) {
    expected.assert_eq(&told(&compiled(text).unwrap()));
}

fn told(compiled: &Compiled) -> String {
    let tables = Tables::new(&compiled.bytes);
    let mut told = say(tables, &name).unwrap();
    let Compiled { bytes, endpoints, peers, spaces, ports, permits } = compiled;
    write!(told, "endpoints {endpoints}, peers {peers}, spaces {spaces}, ports {ports}, ").unwrap();
    writeln!(told, "permits {permits}, bytes {}", bytes.len()).unwrap();
    told
}

fn compiled(text: &str) -> Result<Compiled, TableRefusal> {
    compile(text, Generation(7), &interface, None, &Limits::default())
}

fn compiled_after(before: &Compiled, text: &str) -> Result<Compiled, TableRefusal> {
    let before = Some(Tables::new(&before.bytes));
    compile(text, Generation(7), &interface, before, &Limits::default())
}

fn interface(port: &Port) -> Option<u32> {
    match port {
        Port::Swp(number) => Some(u32::from(*number)),
        Port::Rep(number) => Some(u32::from(*number) + 1000),
        Port::Ethernet(_) | Port::Nic(_) => None,
    }
}

fn name(interface: u32) -> Option<String> {
    let number = |least: u32| u16::try_from(interface - least).unwrap();
    let port = if interface < 1000 { Port::Swp(number(0)) } else { Port::Rep(number(1000)) };
    Some(port.to_string())
}
