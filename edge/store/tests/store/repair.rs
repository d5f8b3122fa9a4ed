//! What is wrong with a folder, and what can be done about it.

use std::fs;
use std::path::Path;

use model::{Digest, Epoch};
use store::{
    Folder, Missing, ReadError, Repair, RepairError, Repaired, Revision, Store, check, repair,
};

use super::{batch, bodies, envelope, fresh, line_starts, texts, two_batches};

fn mend(dir: &Path, seen: u64, is_restored: bool) -> Result<Repaired, RepairError> {
    repair(dir, &Repair { envelope: envelope(2000), seen: Epoch(seen), is_restored })
}

fn damage(dir: &Path, line: usize) -> Vec<u8> {
    let mut bytes = fs::read(dir.join("log")).unwrap();
    let at = line_starts(&bytes)[line - 1] + 30;
    bytes[at] ^= 1;
    fs::write(dir.join("log"), &bytes).unwrap();
    bytes
}

/// Digests are spoken of by bodies that are nothing else.
fn speaks_of(body: &[u8]) -> Vec<Digest> {
    serde_json::from_slice(body).into_iter().collect()
}

#[test]
fn a_check_says_what_is_sound_and_what_is_not() {
    let (dir, mut folder) = two_batches("check");
    let kept = [folder.keep(b"first"), folder.keep(b"other")];
    let missing = folder.keep(b"missing").digest;
    let spoken = [kept[0].digest, kept[1].digest, missing].map(|digest| format!("\"{digest}\""));
    let spoken = spoken.each_ref().map(String::as_str);
    folder.append(Revision(5), batch(&spoken, &kept)).unwrap();
    let objects = dir.join("objects");
    let changed = fs::read_to_string(&objects).unwrap().replace("other", "otter");
    fs::write(&objects, changed).unwrap();
    let report = check(&dir, speaks_of).unwrap();
    assert_eq!((report.records, report.batches, report.objects), (8, 4, 2));
    assert_eq!(report.missing, [Missing { revision: Revision(8), digest: missing }]);
    assert_eq!(report.damaged, [kept[1].digest]);
    assert!(report.problem.is_none() && !report.is_sound());
    assert_eq!(report.beginning, folder.began().unwrap());
    damage(&dir, 4);
    let report = check(&dir, speaks_of).unwrap();
    assert_eq!((report.records, report.batches, report.torn_bytes), (2, 2, 0));
    let Some(ReadError::Damaged { line: 4, source, .. }) = report.problem else { panic!() };
    assert_eq!(source.to_string(), "its sum is wrong");
}

#[test]
fn a_check_says_what_a_crash_left_and_that_a_log_is_lost() {
    let (dir, _) = two_batches("check-torn");
    let bytes = fs::read(dir.join("log")).unwrap();
    fs::write(dir.join("log"), &bytes[..bytes.len() - 1]).unwrap();
    let report = check(&dir, speaks_of).unwrap();
    let torn = bytes.len() - 1 - line_starts(&bytes)[2];
    assert_eq!((report.records, report.torn_bytes), (2, torn as u64));
    assert!(report.is_sound());
    fs::remove_file(dir.join("log")).unwrap();
    let report = check(&dir, speaks_of).unwrap();
    assert!(matches!(report.problem, Some(ReadError::Lost { .. })));
    let nothing = check(&fresh("check-nothing"), speaks_of).unwrap();
    assert!(nothing.is_sound() && nothing.records == 0);
}

#[test]
fn a_repair_keeps_what_is_sound_and_begins_the_next_epoch() {
    let (dir, mut folder) = two_batches("repair");
    let installation = folder.began().unwrap().unwrap().installation;
    let damaged = damage(&dir, 4);
    let repaired = mend(&dir, 0, false).unwrap();
    assert_eq!((repaired.after, repaired.left_out), (Revision(2), 3));
    assert_eq!(repaired.beginning.epoch, Epoch(2));
    assert_eq!(repaired.kept_as, Some(dir.join("log.damaged-1")));
    assert_eq!(fs::read(dir.join("log.damaged-1")).unwrap(), damaged);
    let began = format!(
        "{{\"began\":{{\"format\":1,\"installation\":\"{installation}\",\"epoch\":2,\"after\":2}}}}"
    );
    assert_eq!(bodies(&dir), ["1".to_owned(), began]);
    let told = folder.read(Revision(2));
    assert!(matches!(told, Err(ReadError::Rewritten { .. })), "who read more is told: {told:?}");
    let mut next = Folder::open(&dir).unwrap();
    assert_eq!(next.began().unwrap().unwrap(), repaired.beginning);
    assert_eq!(next.append(Revision(3), batch(&["4"], &[])).unwrap(), Revision(4));
    assert!(folder.append(Revision(4), batch(&["5"], &[])).is_err());
    // Another damage never takes the place of the first.
    damage(&dir, 3);
    let repaired = mend(&dir, 0, false).unwrap();
    assert_eq!(repaired.kept_as, Some(dir.join("log.damaged-2")));
    assert_eq!((repaired.after, repaired.beginning.epoch), (Revision(2), Epoch(3)));
    assert_eq!(fs::read(dir.join("log.damaged-1")).unwrap(), damaged);
}

#[test]
fn damage_at_any_line_is_repaired_up_to_the_batch_before_it() {
    for (line, after) in [(1, 0), (2, 1), (3, 2), (4, 2), (5, 2)] {
        let (dir, folder) = two_batches("repair-line");
        let installation = folder.began().unwrap().unwrap().installation;
        damage(&dir, line);
        let repaired = mend(&dir, 0, false).unwrap();
        assert_eq!((repaired.after, repaired.left_out), (Revision(after), 5 - after), "{line}");
        assert_eq!(repaired.beginning.installation, installation);
        assert_eq!(repaired.beginning.epoch, Epoch(2));
        assert!(check(&dir, speaks_of).unwrap().is_sound());
    }
}

#[test]
fn a_lost_log_begins_anew_in_the_next_epoch_of_its_installation() {
    let (dir, folder) = two_batches("repair-lost");
    let installation = folder.began().unwrap().unwrap().installation;
    fs::remove_file(dir.join("log")).unwrap();
    let repaired = mend(&dir, 6, false).unwrap();
    assert_eq!((repaired.after, repaired.left_out, repaired.kept_as), (Revision(0), 0, None));
    let began = Folder::open(&dir).unwrap().began().unwrap().unwrap();
    assert_eq!((began.installation, began.epoch), (installation, Epoch(7)));
}

#[test]
fn a_restored_log_is_sound_and_still_begins_the_next_epoch() {
    let (dir, mut folder) = two_batches("restored");
    let refused = mend(&dir, 0, false);
    assert!(matches!(refused, Err(RepairError::Sound { .. })), "{refused:?}");
    let backup = fs::read(dir.join("log")).unwrap();
    folder.append(Revision(5), batch(&["5"], &[])).unwrap();
    fs::write(dir.join("log"), backup).unwrap();
    let repaired = mend(&dir, 4, true).unwrap();
    assert_eq!((repaired.after, repaired.left_out, repaired.kept_as), (Revision(5), 0, None));
    assert_eq!(repaired.beginning.epoch, Epoch(5));
    assert!(matches!(folder.read(Revision(6)), Err(ReadError::Rewritten { .. })));
    assert_eq!(Folder::open(&dir).unwrap().began().unwrap(), Some(repaired.beginning));
}

#[test]
fn who_read_only_what_was_kept_reads_on() {
    let (dir, mut folder) = two_batches("repair-reads-on");
    let reader = Folder::open(&dir).unwrap();
    assert_eq!(reader.read(Revision(0)).unwrap().len(), 5);
    folder.append(Revision(5), batch(&["6"], &[])).unwrap();
    damage(&dir, 6);
    mend(&dir, 0, false).unwrap();
    let read = texts(&reader.read(Revision(5)).unwrap());
    assert!(read.len() == 1 && read[0].contains("\"epoch\":2"), "{read:?}");
}

#[test]
fn where_nothing_was_nothing_is_repaired_and_a_foreign_log_is_left_alone() {
    let dir = fresh("repair-nothing");
    assert!(matches!(mend(&dir, 0, true), Err(RepairError::Nothing { .. })));
    assert!(!dir.exists());
    let (dir, _) = two_batches("repair-foreign");
    let (other, _) = two_batches("repair-other");
    fs::copy(other.join("log"), dir.join("log")).unwrap();
    let bytes = fs::read(dir.join("log")).unwrap();
    for is_restored in [false, true] {
        assert!(matches!(mend(&dir, 0, is_restored), Err(RepairError::Failed(_))));
    }
    assert_eq!(fs::read(dir.join("log")).unwrap(), bytes);
}
