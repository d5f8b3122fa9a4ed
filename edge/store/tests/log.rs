//! The log, its crashes and its damages.
#![allow(clippy::unwrap_used, reason = "what a test makes is there")]

use std::fs;
use std::path::PathBuf;

use model::Generation;
use plan::Record;
use proptest::prelude::*;
use store::{Cut, Log, OpenError};

/// A file of this test's own, which does not exist.
fn fresh(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    drop(fs::remove_file(&path));
    path
}

fn planned(generation: u64) -> Record {
    Record::Planned { generation: Generation(generation) }
}

fn seen(device: &str, generation: u64) -> Record {
    Record::Seen { device: device.parse().unwrap(), generation: Generation(generation) }
}

/// Two batches, of one and of three records.
fn two_batches(name: &str) -> (PathBuf, Vec<Record>) {
    let path = fresh(name);
    let records = vec![planned(1), planned(2), seen("leaf-1", 2), seen("leaf-2", 2)];
    let mut log = Log::open(&path).unwrap();
    log.append(&records[..1]).unwrap();
    log.append(&records[1..]).unwrap();
    (path, records)
}

#[test]
fn what_was_appended_is_there_in_order_after_opening_again() {
    let (path, records) = two_batches("again");
    let mut log = Log::open(&path).unwrap();
    assert_eq!(log.records(), records);
    assert_eq!(log.cut(), None);
    log.append(&[planned(3)]).unwrap();
    assert_eq!(log.records().len(), 5);
    drop(log);
    assert_eq!(Log::open(&path).unwrap().records()[4], planned(3));
}

#[test]
fn lines_are_json_with_number_rest_of_batch_and_checksum() {
    let (path, _) = two_batches("format");
    let text = fs::read_to_string(path).unwrap();
    let third = text.lines().nth(2).unwrap();
    let value: serde_json::Value = serde_json::from_str(third).unwrap();
    assert_eq!(value["seq"], 3);
    assert_eq!(value["left"], 1);
    assert_eq!(value["record"]["seen"]["device"], "leaf-1");
    assert_eq!(value["sum"].as_str().unwrap().len(), 16);
}

#[test]
fn only_one_process_has_it() {
    let (path, _) = two_batches("lock");
    let log = Log::open(&path).unwrap();
    assert!(matches!(Log::open(&path), Err(OpenError::Busy { .. })));
    drop(log);
    Log::open(&path).unwrap();
}

#[test]
fn a_torn_last_line_takes_its_batch_with_it() {
    let (path, records) = two_batches("torn");
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() - 5]).unwrap();
    let mut log = Log::open(&path).unwrap();
    assert_eq!(log.records(), &records[..1]);
    let first_line = bytes.iter().position(|&byte| byte == b'\n').unwrap() + 1;
    let cut = Cut { line: 2, bytes: bytes.len() - 5 - first_line };
    assert_eq!(log.cut(), Some(cut));
    log.append(&[planned(9)]).unwrap();
    drop(log);
    let log = Log::open(&path).unwrap();
    assert_eq!(log.records(), [planned(1), planned(9)]);
    assert_eq!(log.cut(), None);
}

#[test]
fn a_line_taken_out_is_damage() {
    let (path, _) = two_batches("gap");
    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    fs::write(&path, format!("{}\n{}\n{}\n", lines[0], lines[2], lines[3])).unwrap();
    assert!(matches!(Log::open(&path), Err(OpenError::Damaged { line: 2, .. })));
}

#[test]
fn a_checksum_in_capitals_is_damage() {
    let (path, _) = two_batches("capitals");
    let text = fs::read_to_string(&path).unwrap();
    let sum = text.find("\"sum\":\"").unwrap() + "\"sum\":\"".len();
    let capitals = text[sum..sum + 16].to_uppercase();
    assert_ne!(capitals, text[sum..sum + 16], "the first checksum has a letter");
    fs::write(&path, format!("{}{capitals}{}", &text[..sum], &text[sum + 16..])).unwrap();
    assert!(matches!(Log::open(&path), Err(OpenError::Damaged { line: 1, .. })));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_a_crash_leaves_whole_batches_remain(at in 0_usize..1000) {
        let (path, records) = two_batches("crash");
        let bytes = fs::read(&path).unwrap();
        let first_batch = bytes.iter().position(|&byte| byte == b'\n').unwrap() + 1;
        let at = at % (bytes.len() + 1);
        fs::write(&path, &bytes[..at]).unwrap();
        let left = match at {
            _ if at == bytes.len() => &records[..],
            _ if at >= first_batch => &records[..1],
            _ => &[],
        };
        let log = Log::open(&path).unwrap();
        prop_assert_eq!(log.records(), left);
    }

    #[test]
    fn a_changed_byte_before_the_last_line_is_named(at in 0_usize..1000, bit in 0_u8..7) {
        let (path, _) = two_batches("changed");
        let mut bytes = fs::read(&path).unwrap();
        let text = String::from_utf8(bytes.clone()).unwrap();
        let last_line = text.trim_end().rfind('\n').unwrap() + 1;
        let at = at % last_line;
        prop_assume!(bytes[at] != b'\n' && bytes[at] ^ (1 << bit) != b'\n');
        bytes[at] ^= 1 << bit;
        fs::write(&path, &bytes).unwrap();
        let named = bytes[..at].iter().filter(|&&byte| byte == b'\n').count() + 1;
        match Log::open(&path) {
            Err(OpenError::Damaged { line, .. }) => prop_assert_eq!(line, named),
            other => prop_assert!(false, "opened: {:?}", other),
        }
    }
}
