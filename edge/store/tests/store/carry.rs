//! A log of the earlier form.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use model::{Epoch, Timestamp};
use store::{AppendError, Folder, ReadError, Repair, Revision, Store, check, repair};

use super::{batch, bodies, envelope, fresh, line_starts};

/// What the earlier code wrote: a batch of one and a batch of two.
const WRITTEN: &str = r#"{"seq":1,"left":0,"record":{"planned":{"generation":1}},"sum":"1d9536a3021d5777"}
{"seq":2,"left":1,"record":{"planned":{"generation":2}},"sum":"e63e41680471e94c"}
{"seq":3,"left":0,"record":{"seen":{"device":"leaf-1","generation":2}},"sum":"41d0d65e04355c38"}
"#;

/// A folder with a log that the earlier code wrote, last changed at the second 1,000,000.
fn earlier(name: &str) -> (PathBuf, Vec<u8>) {
    let dir = fresh(name);
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join("log"), WRITTEN).unwrap();
    let file = fs::File::options().append(true).open(dir.join("log")).unwrap();
    file.set_modified(UNIX_EPOCH + Duration::from_secs(1_000_000)).unwrap();
    (dir, WRITTEN.into())
}

const CHOICES: [&str; 3] = [
    r#"{"choice":{"planned":{"generation":1}}}"#,
    r#"{"choice":{"planned":{"generation":2}}}"#,
    r#"{"choice":{"seen":{"device":"leaf-1","generation":2}}}"#,
];

#[test]
fn it_is_read_as_it_stands() {
    let (dir, bytes) = earlier("carry-read");
    let folder = Folder::open(&dir).unwrap();
    let entries = folder.read(Revision(0)).unwrap();
    assert_eq!(entries.len(), 4);
    let began = folder.began().unwrap().unwrap();
    assert_eq!((began.epoch, began.installation.len()), (Epoch(1), 32));
    for entry in &entries {
        assert_eq!(entry.envelope.at, Timestamp(1_000_000_000));
        assert_eq!((&*entry.envelope.actor, &*entry.envelope.source), ("unknown", "carried-over"));
    }
    assert_eq!(bodies(&dir), CHOICES);
    assert_eq!(fs::read(dir.join("log")).unwrap(), bytes);
    assert_eq!(fs::read_dir(&dir).unwrap().count(), 1, "who only looks leaves nothing behind");
    assert_eq!(began.installation, "402e6471358390c0460a00aca5212bbb", "it comes from the bytes");
}

#[test]
fn the_first_append_writes_it_over_and_keeps_it() {
    let (dir, bytes) = earlier("carry-append");
    let reader = Folder::open(&dir).unwrap();
    let before = reader.read(Revision(0)).unwrap();
    let mut folder = Folder::open(&dir).unwrap();
    let moved = folder.append(Revision(3), batch(&["5"], &[]));
    assert!(matches!(moved, Err(AppendError::Moved { at: Revision(4) })), "{moved:?}");
    assert_eq!(fs::read(dir.join("log")).unwrap(), bytes, "nothing was to be appended");
    assert_eq!(folder.append(Revision(4), batch(&["5"], &[])).unwrap(), Revision(5));
    assert_eq!(fs::read(dir.join("log.before")).unwrap(), bytes);
    let after = Folder::open(&dir).unwrap().read(Revision(0)).unwrap();
    assert_eq!(after[..4], before);
    assert_eq!(after[4].body, b"5");
    assert_eq!(reader.read(Revision(4)).unwrap(), after[4..], "who read before reads on");
    assert!(check(&dir, |_| Vec::new()).unwrap().is_sound());
    // From now on a loss of the log is noticed.
    fs::remove_file(dir.join("log")).unwrap();
    assert!(matches!(folder.began(), Err(ReadError::Lost { .. })));
}

#[test]
fn a_crash_at_any_step_of_writing_it_over_loses_nothing() {
    let (dir, bytes) = earlier("carry-crash");
    let expected = Folder::open(&dir).unwrap().read(Revision(0)).unwrap();
    // The new file was written in part.
    fs::write(dir.join("log.new"), b"{\"revision\":1,\"left\":0").unwrap();
    assert_eq!(Folder::open(&dir).unwrap().read(Revision(0)).unwrap(), expected);
    // The old one has its other name already.
    fs::hard_link(dir.join("log"), dir.join("log.before")).unwrap();
    assert_eq!(Folder::open(&dir).unwrap().read(Revision(0)).unwrap(), expected);
    let inode = fs::metadata(dir.join("log")).unwrap().ino();
    let mut folder = Folder::open(&dir).unwrap();
    folder.append(Revision(4), batch(&[], &[])).unwrap();
    assert_eq!(fs::metadata(dir.join("log.before")).unwrap().ino(), inode);
    assert!(!dir.join("log.before-2").exists());
    assert_eq!(fs::read(dir.join("log.before")).unwrap(), bytes);
    // The new one is there, and what says so is not: the next append says so.
    fs::remove_file(dir.join("log.installation")).unwrap();
    let mut next = Folder::open(&dir).unwrap();
    assert_eq!(next.read(Revision(0)).unwrap(), expected);
    next.append(Revision(4), batch(&["5"], &[])).unwrap();
    assert!(dir.join("log.installation").exists());
}

#[test]
fn another_file_of_that_name_is_never_overwritten() {
    let (dir, bytes) = earlier("carry-name");
    fs::write(dir.join("log.before"), "mine").unwrap();
    Folder::open(&dir).unwrap().append(Revision(4), batch(&["5"], &[])).unwrap();
    assert_eq!(fs::read(dir.join("log.before")).unwrap(), b"mine");
    assert_eq!(fs::read(dir.join("log.before-2")).unwrap(), bytes);
}

#[test]
fn cut_at_any_byte_of_its_last_batch_whole_batches_are_carried_over() {
    let (dir, bytes) = earlier("carry-torn");
    let last = line_starts(&bytes)[1];
    for at in last..bytes.len() {
        drop(fs::remove_dir_all(&dir));
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("log"), &bytes[..at]).unwrap();
        assert_eq!(bodies(&dir), CHOICES[..1]);
        // Writing it over waits for the disk many times.
        if at % 8 != 0 {
            continue;
        }
        let mut folder = Folder::open(&dir).unwrap();
        folder.append(Revision(2), batch(&["3"], &[])).unwrap();
        let torn = folder.cut().map_or(0, |torn| torn.bytes);
        assert_eq!(torn, (at - last) as u64);
        assert_eq!(bodies(&dir), [CHOICES[0], "3"]);
    }
}

#[test]
fn as_long_as_the_earlier_code_has_it_open_nothing_is_appended() {
    let (dir, _) = earlier("carry-busy");
    let log = fs::File::options().append(true).open(dir.join("log")).unwrap();
    log.lock().unwrap();
    let mut folder = Folder::open(&dir).unwrap();
    let busy = folder.append(Revision(4), batch(&["5"], &[]));
    assert!(matches!(busy, Err(AppendError::Busy { .. })), "{busy:?}");
    drop(log);
    folder.append(Revision(4), batch(&["5"], &[])).unwrap();
}

#[test]
fn a_changed_byte_before_the_last_line_is_named() {
    let (dir, bytes) = earlier("carry-changed");
    let last = line_starts(&bytes)[2];
    // What stands before it says which form it is.
    let first = b"{\"seq\":".len();
    for at in (first..last).filter(|at| bytes[*at] != b'\n') {
        let mut changed = bytes.clone();
        changed[at] ^= if changed[at].is_ascii_lowercase() { 0x20 } else { 1 };
        let line = 1 + bytes[..at].iter().filter(|byte| **byte == b'\n').count() as u64;
        is_damaged(&dir, &changed, line);
    }
}

#[test]
fn a_line_taken_out_is_damage() {
    let (dir, bytes) = earlier("carry-gap");
    let starts = line_starts(&bytes);
    let without_second = [&bytes[..starts[1]], &bytes[starts[2]..], b"\n"].concat();
    is_damaged(&dir, &without_second, 2);
}

#[track_caller]
fn is_damaged(dir: &Path, log: &[u8], at: u64) {
    fs::write(dir.join("log"), log).unwrap();
    let named = Folder::open(dir).and_then(|folder| folder.read(Revision(0))).unwrap_err();
    assert!(matches!(named, ReadError::Damaged { line, .. } if line == at), "{at}: {named}");
}

#[test]
fn its_damage_is_named_and_repaired() {
    let (dir, bytes) = earlier("carry-damage");
    let mut damaged = bytes;
    let at = line_starts(&damaged)[1] + 40;
    damaged[at] ^= 1;
    fs::write(dir.join("log"), &damaged).unwrap();
    let named = Folder::open(&dir).unwrap().read(Revision(0)).unwrap_err();
    assert!(matches!(named, ReadError::Damaged { line: 2, .. }), "{named}");
    let wanted = Repair { envelope: envelope(1), seen: Epoch(0), is_restored: false };
    let repaired = repair(&dir, &wanted).unwrap();
    assert_eq!((repaired.after, repaired.left_out), (Revision(2), 2));
    assert_eq!(fs::read(dir.join("log.damaged-1")).unwrap(), damaged);
    assert_eq!(bodies(&dir)[0], CHOICES[0]);
}
