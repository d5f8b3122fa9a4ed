//! What no crash explains.

use std::fs;
use std::path::Path;

use model::Epoch;
use proptest::prelude::*;
use store::{Folder, Foreign, ReadError, Revision, Store};

use super::{batch, fresh, line_starts, two_batches};

fn named(dir: &Path, bytes: &[u8]) -> Option<u64> {
    fs::write(dir.join("log"), bytes).unwrap();
    let mut folder = Folder::open(dir).unwrap();
    let line = match folder.read(Revision(0)) {
        Err(ReadError::Damaged { line, .. }) => line,
        _ => return None,
    };
    let appended = folder.append(Revision(5), batch(&["5"], &[]));
    assert!(appended.is_err(), "nothing is written behind damage");
    assert_eq!(fs::read(dir.join("log")).unwrap(), bytes, "and nothing is cut off");
    Some(line)
}

#[test]
fn a_changed_byte_of_any_line_is_named_also_of_the_last() {
    let (dir, _) = two_batches("changed");
    let bytes = fs::read(dir.join("log")).unwrap();
    let starts = line_starts(&bytes);
    for (at, byte) in bytes.iter().enumerate().filter(|(_, byte)| **byte != b'\n') {
        let mut changed = bytes.clone();
        changed[at] = byte ^ 1;
        let line = starts.iter().filter(|start| **start <= at).count() as u64;
        assert_eq!(named(&dir, &changed), Some(line), "byte {at}");
    }
}

#[test]
fn lines_taken_out_doubled_or_moved_are_named() {
    let (dir, _) = two_batches("moved");
    let text = fs::read_to_string(dir.join("log")).unwrap();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let of = |order: &[usize]| order.iter().map(|at| lines[*at]).collect::<String>();
    for (order, expected) in [
        (vec![1, 2, 3, 4], 1),
        (vec![0, 2, 3, 4], 2),
        (vec![0, 1, 2, 4], 4),
        (vec![0, 1, 1, 2, 3, 4], 3),
        (vec![0, 1, 3, 2, 4], 3),
        (vec![0, 1, 2, 3, 4, 4], 6),
    ] {
        assert_eq!(named(&dir, of(&order).as_bytes()), Some(expected), "{order:?}");
    }
    // A last batch whose end is missing is what a crash leaves.
    assert_eq!(named(&dir, of(&[0, 1, 2, 3]).as_bytes()), None);
}

#[test]
fn a_line_that_was_made_up_and_has_a_sum_is_named() {
    let (dir, _) = two_batches("made-up");
    let bytes = fs::read(dir.join("log")).unwrap();
    let end = bytes.len() - b"\"}\n".len();
    let last = std::str::from_utf8(&bytes[end - 64..end]).unwrap();
    let before: model::Digest = last.parse().unwrap();
    for open in [
        "{\"revision\":7,\"left\":0,\"at\":1,\"actor\":\"a\",\"source\":\"s\",\"body\":1",
        "{\"revision\":6,\"left\":0,\"at\":1,\"actor\":\"a\",\"source\":\"s\",\"body\":",
        "{\"revision\":6,\"left\":0,\"at\":1,\"actor\":\"a\",\"source\":\"s\",\"b\":1,\"body\":1",
        "{\"revision\":6,\"left\":0",
        "",
    ] {
        let sum = model::Digest::of_behind(before.as_bytes(), open.as_bytes());
        let line = format!("{open},\"sum\":\"{sum}\"}}\n");
        assert_eq!(named(&dir, &[&bytes, line.as_bytes()].concat()), Some(6), "{open}");
    }
}

fn foreign(dir: &Path) -> Foreign {
    match Folder::open(dir).unwrap().read(Revision(0)) {
        Err(ReadError::Foreign { source, .. }) => source,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_log_that_is_gone_is_not_begun_anew() {
    let (dir, mut folder) = two_batches("gone");
    fs::write(dir.join("objects"), "something").unwrap();
    for trace in ["log.installation", "objects"] {
        for what in ["removed", "emptied", "cut"] {
            let log = dir.join("log");
            match what {
                "removed" => drop(fs::remove_file(&log)),
                "emptied" => fs::write(&log, "").unwrap(),
                _ => fs::write(&log, "{\"revision\":1,\"lef").unwrap(),
            }
            let mut fresh = Folder::open(&dir).unwrap();
            for read in [fresh.read(Revision(0)), folder.read(Revision(5))] {
                let Err(ReadError::Lost { witness, .. }) = read else { panic!("{what}: {read:?}") };
                assert_eq!(witness, dir.join(trace));
            }
            assert!(fresh.append(Revision(0), batch(&["1"], &[])).is_err());
            assert!(folder.append(Revision(5), batch(&["1"], &[])).is_err());
        }
        drop(fs::remove_file(dir.join(trace)));
    }
    // Nothing says that there was one, but who has read it knows.
    drop(fs::remove_file(dir.join("log")));
    assert!(matches!(folder.began(), Err(ReadError::Lost { .. })));
    assert_eq!(Folder::open(&dir).unwrap().began().unwrap(), None);
}

#[test]
fn what_is_not_the_log_of_the_folder_is_foreign() {
    let dir = fresh("text");
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join("log"), "Nov 18 22:15:27 leaf-1 kernel: link is up\n").unwrap();
    assert_eq!(foreign(&dir), Foreign::NotALog);
    let (dir, folder) = two_batches("foreign");
    let expected = folder.began().unwrap().unwrap().installation;
    let (other, folder) = two_batches("foreign-other");
    let found = folder.began().unwrap().unwrap().installation;
    fs::copy(other.join("log"), dir.join("log")).unwrap();
    assert_eq!(foreign(&dir), Foreign::OtherInstallation { found, expected });
    fs::remove_file(dir.join("log.installation")).unwrap();
    assert_eq!(Folder::open(&dir).unwrap().read(Revision(0)).unwrap().len(), 5);
}

#[test]
fn a_log_of_a_later_version_is_not_read_as_damage() {
    let dir = fresh("later");
    fs::create_dir_all(&dir).unwrap();
    let open = "{\"revision\":1,\"new\":true,\"body\":{\"began\":{\"format\":2,\"installation\":\
                \"f\",\"epoch\":1,\"more\":[]}}";
    let sum = model::Digest::of_behind(model::Digest::of(b"").as_bytes(), open.as_bytes());
    fs::write(dir.join("log"), format!("{open},\"sum\":\"{sum}\"}}\n")).unwrap();
    assert_eq!(foreign(&dir), Foreign::Newer { format: 2 });
}

#[test]
fn an_older_log_beside_a_later_epoch_is_foreign() {
    let (dir, folder) = two_batches("epoch");
    let installation = folder.began().unwrap().unwrap().installation;
    let witness = format!("{{\"installation\":\"{installation}\",\"epoch\":3}}\n");
    fs::write(dir.join("log.installation"), witness).unwrap();
    assert_eq!(foreign(&dir), Foreign::EarlierEpoch { found: Epoch(1), expected: Epoch(3) });
}

#[test]
fn who_read_a_log_that_went_back_is_told() {
    let (dir, mut folder) = two_batches("back");
    let bytes = fs::read(dir.join("log")).unwrap();
    fs::write(dir.join("log"), &bytes[..line_starts(&bytes)[2]]).unwrap();
    let mut other = Folder::open(&dir).unwrap();
    let told = |folder: &Folder| match folder.read(Revision(5)) {
        Err(ReadError::Rewritten { at, known, .. }) => (at.0, known.0),
        read => panic!("{read:?}"),
    };
    assert_eq!(told(&folder), (2, 5));
    assert_eq!(told(&other), (2, 5), "who says that it knew more is told, too");
    // Other records in the same places are others still.
    other.append(Revision(2), batch(&["20", "30", "40", "50"], &[])).unwrap();
    assert_eq!(told(&folder), (6, 5));
    assert!(folder.append(Revision(5), batch(&["6"], &[])).is_err());
    assert!(folder.append(Revision(6), batch(&["6"], &[])).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_is_written_over_a_log_it_is_never_misread(
        at in 0_usize..2000,
        with in prop::collection::vec(any::<u8>(), 1..100),
    ) {
        let (dir, folder) = two_batches("written-over");
        let all = folder.read(Revision(0)).unwrap();
        let mut bytes = fs::read(dir.join("log")).unwrap();
        let at = at % bytes.len();
        let end = (at + with.len()).min(bytes.len());
        bytes.splice(at..end, with);
        fs::write(dir.join("log"), &bytes).unwrap();
        if let Ok(read) = Folder::open(&dir).unwrap().read(Revision(0)) {
            prop_assert!([&all[..], &all[..2], &all[..1]].contains(&&read[..]));
        }
    }
}
