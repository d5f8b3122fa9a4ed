//! What the kernel holds is said as it is, or not at all.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test fails by panicking")]

use expect_test::{Expect, expect};
use filter::{Limits, compile, say};
use model::{Dialect, Generation, Port};
use wire::{Broken, Tables, layout};

const TEXT: &str = "\
vtep 10.255.0.3
default drop
space t17 vni 50017
job t17 1001 class bulk
job t17 1002 class lossless ceiling 9
endpoint t17 10.1.0.2 mac 02:00:00:00:00:05 port swp5 tag 1001
endpoint t17 10.1.0.3 mac 02:00:00:00:00:06 port swp6 tag 1002
endpoint t17 10.1.0.9 mac 02:00:00:00:00:07 port swp7 tag 1002
peers t17 10.1.0.4-10.1.0.7 vtep 10.255.0.4 every 2 tag 1001
permit t17 1001 1002 tcp 80
permit t17 1001 1002 tcp 81
permit t17 1001 1002 tcp 82
permit t17 1001 1002 tcp 83
permit t17 1001 1002 udp 80
space t18 vni 50018
";

#[test]
fn an_interface_without_a_name_is_a_line_that_nobody_planned() {
    let said = say(Tables::new(&compiled()), &|_| None).unwrap();
    let unknown = read::claims(Dialect::Table, &said).unknown;
    let lines: String = unknown.iter().map(|line| format!("{}\n", line.text)).collect();
    expect![[r#"
        endpoint t17 10.1.0.2 mac 02:00:00:00:00:05 port interface-5 tag 1001
        endpoint t17 10.1.0.3 mac 02:00:00:00:00:06 port interface-6 tag 1002
        endpoint t17 10.1.0.9 mac 02:00:00:00:00:07 port interface-7 tag 1002
    "#]]
    .assert_eq(&lines);
}

#[test]
fn a_block_that_is_no_policy_is_not_said() {
    check_silent(|block| block.0.clear());
    check_silent(|block| block.0[0] ^= 1);
    check_silent(|block| block.0.truncate(block.0.len() - 64));
}

#[test]
fn an_entry_that_was_changed_is_said_as_it_is() {
    check(
        |block| block.put(block.record(3), &1002_u16.to_le_bytes()),
        expect![[r#"
        - peers t17 10.1.0.4-10.1.0.7 vtep 10.255.0.4 every 2 tag 1001
        + peers t17 10.1.0.4-10.1.0.4 vtep 10.255.0.4 tag 1001
        + peers t17 10.1.0.5-10.1.0.5 vtep 10.255.0.4 tag 1002
        + peers t17 10.1.0.6-10.1.0.7 vtep 10.255.0.5 tag 1001
    "#]],
    );
    check(
        |block| block.put(block.record(3) + 4, &[9]),
        expect![[r#"
        - peers t17 10.1.0.4-10.1.0.7 vtep 10.255.0.4 every 2 tag 1001
        + peers t17 10.1.0.4-10.1.0.4 vtep 10.255.0.4 tag 1001
        + peers t17 10.1.0.5-10.1.0.5 vtep 10.255.0.9 tag 1001
        + peers t17 10.1.0.6-10.1.0.7 vtep 10.255.0.5 tag 1001
    "#]],
    );
    check(
        |block| block.put(block.record(3), &[0, 0]),
        expect![[r#"
        - peers t17 10.1.0.4-10.1.0.7 vtep 10.255.0.4 every 2 tag 1001
        + peers t17 10.1.0.4-10.1.0.4 vtep 10.255.0.4 tag 1001
        + peers t17 10.1.0.6-10.1.0.7 vtep 10.255.0.5 tag 1001
    "#]],
    );
    check(
        |block| block.put(block.port(0) + 24, &[8]),
        expect![[r#"
        - job t17 1001 class bulk
        + job t17 1001 class bulk ceiling 8
    "#]],
    );
    check(
        |block| block.put(block.port(0) + 14, &[6]),
        expect![[r#"
        - endpoint t17 10.1.0.2 mac 02:00:00:00:00:05 port swp5 tag 1001
        + endpoint t17 10.1.0.2 mac 06:00:00:00:00:05 port swp5 tag 1001
    "#]],
    );
    check(
        |block| block.put(block.word(layout::VNIS + 8) + 2, &[1, 0]),
        expect![[r#"
        - space t18 vni 50018
        + space t17 vni 50018
    "#]],
    );
    check(
        |block| block.put(block.word(layout::SPACES) + 24, &[7]),
        expect![[r#"
        + rate t17 guarantee 7
    "#]],
    );
}

/// A permit is looked for in its bucket only, and found once is enough.
#[test]
fn permits_are_said_as_packets_find_them() {
    check(
        |block| block.put(block.permit() + 4, &[0xea]),
        expect![[r#"
        - permit t17 1001 1002 tcp 80
    "#]],
    );
    check(|block| block.copy_permit(0), expect![[r#""#]]);
    check(
        |block| {
            block.copy_permit(1);
            block.put(block.permit(), &[0; layout::PERMIT]);
        },
        expect![[r#"
            - permit t17 1001 1002 tcp 80
        "#]],
    );
}

/// A record and a port tell of the same endpoint, and both are asked by packets.
#[test]
fn an_endpoint_that_contradicts_itself_is_not_said() {
    check_silent(|block| block.put(layout::VTEP, &[9]));
    check_silent(|block| block.put(block.record(0), &1002_u16.to_le_bytes()));
    check_silent(|block| block.put(block.record(0) + 2, &[9, 0]));
    check_silent(|block| block.put(block.record(0) + 2, &[0, 0]));
    check_silent(|block| block.put(block.record(0) + 4, &[9]));
    check_silent(|block| block.put(block.port(0), &[6]));
    check_silent(|block| block.put(block.port(0) + 4, &[1]));
    check_silent(|block| block.put(block.port(0) + 8, &[3]));
    check_silent(|block| block.put(block.port(0) + 12, &1002_u16.to_le_bytes()));
    // Two ports treat one job in two ways, and one in a way that nobody knows.
    check_silent(|block| block.put(block.port(1) + 24, &[8]));
    check_silent(|block| block.put(block.port(1) + 32, &[1]));
    check_silent(|block| block.put(block.port(0) + 32, &[3]));
    // The interfaces of the two ports change places, and one of them has none any more.
    check_silent(|block| block.put(block.word(layout::INTERFACES + 8), &[2, 0, 1, 0]));
    check_silent(|block| block.put(block.word(layout::INTERFACES + 8), &[0, 0, 2, 0]));
}

#[test]
fn what_no_line_can_say_is_not_said() {
    // Two spaces of one tenant.
    check_silent(|block| block.put(block.word(layout::SPACES) + layout::SPACE + 16, &[17]));
    // A permit for ICMP, and one of no space, in a table of one bucket: it is theirs.
    check_silent(|block| {
        block.put(layout::PERMITS + 4, &[0]);
        block.put(block.permit() + 10, &[1]);
    });
    check_silent(|block| {
        block.put(layout::PERMITS + 4, &[0]);
        block.put(block.permit(), &[3]);
    });
    // A VNI of no space.
    check_silent(|block| block.put(block.word(layout::VNIS + 8), &[3]));
}

/// What is said of a block after some damage: the lines that came and went.
fn check(damage: impl Fn(&mut Block), expected: Expect) {
    let said = say(Tables::new(&damaged(damage)), &name).unwrap();
    let times = |text: &str, line: &str| text.lines().filter(|other| *other == line).count();
    let gone = TEXT.lines().filter(|line| times(TEXT, line) > times(&said, line));
    let new = said.lines().filter(|line| times(TEXT, line) < times(&said, line));
    let gone = gone.map(|line| format!("- {line}\n"));
    let told: String = gone.chain(new.map(|line| format!("+ {line}\n"))).collect();
    expected.assert_eq(&told);
}

fn check_silent(damage: impl Fn(&mut Block)) {
    assert_eq!(say(Tables::new(&damaged(damage)), &name), Err(Broken));
}

fn damaged(damage: impl Fn(&mut Block)) -> Vec<u8> {
    let mut block = Block(compiled());
    damage(&mut block);
    assert_ne!(block.0, compiled(), "there is no damage");
    block.0
}

/// A block, and where things stand in it.
struct Block(Vec<u8>);

impl Block {
    fn put(&mut self, at: usize, bytes: &[u8]) {
        self.0[at..at + bytes.len()].copy_from_slice(bytes);
    }

    fn word(&self, at: usize) -> usize {
        u32::from_le_bytes(self.0[at..at + 4].try_into().unwrap()) as usize
    }

    fn port(&self, index: usize) -> usize {
        self.word(layout::PORTS) + index * layout::PORT
    }

    /// The record of the first tenant at this place: 10.1.0.2 is at the first.
    fn record(&self, place: usize) -> usize {
        self.word(self.word(layout::SPACES) + 8) + place * layout::RECORD
    }
}

impl Block {
    /// The first permit.
    fn permit(&self) -> usize {
        let first = self.word(layout::PERMITS);
        (first..).step_by(layout::PERMIT).find(|at| self.word(*at) != 0).unwrap()
    }

    /// Copies the first permit to a free place so many buckets further on.
    fn copy_permit(&mut self, buckets: usize) {
        let (first, size) = (self.permit(), layout::BUCKET * layout::PERMIT);
        let bucket = first - first % size + buckets * size;
        let mut places = (bucket..bucket + size).step_by(layout::PERMIT);
        let free = places.find(|at| self.word(*at) == 0).unwrap();
        self.0.copy_within(first..first + layout::PERMIT, free);
    }
}

fn compiled() -> Vec<u8> {
    compile(TEXT, Generation(7), &interface, None, &Limits::default()).unwrap().bytes
}

fn interface(port: &Port) -> Option<u32> {
    let Port::Swp(number) = port else { return None };
    Some((*number).into())
}

fn name(interface: u32) -> Option<String> {
    Some(format!("swp{interface}"))
}
