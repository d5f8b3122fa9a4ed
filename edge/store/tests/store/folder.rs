use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use model::{Digest, Epoch};
use store::{AppendError, Folder, ReadError, Revision, Store, Unfit, WrittenBytes, check};

use super::{batch, bodies, envelope, fresh, line_starts, passing, texts, two_batches};

#[test]
fn what_was_appended_is_there_in_order_after_opening_again() {
    let (dir, mut folder) = two_batches("again");
    let all = ["1", "2", "{\"three\":3}", "\"four\""];
    assert_eq!(bodies(&dir), all);
    assert_eq!(texts(&folder.read(Revision(3)).unwrap()), all[2..]);
    assert_eq!(folder.append(Revision(5), batch(&["5"], &[])).unwrap(), Revision(6));
    let entries = Folder::open(&dir).unwrap().read(Revision(5)).unwrap();
    assert_eq!(entries[0].revision, Revision(6));
    assert_eq!(entries[0].envelope, envelope(1000));
    assert_eq!(folder.read(Revision(6)).unwrap(), []);
}

#[test]
fn the_first_record_says_which_log_this_is() {
    let dir = fresh("first");
    let mut folder = Folder::open(&dir).unwrap();
    assert_eq!(folder.began().unwrap(), None);
    assert_eq!(folder.read(Revision(0)).unwrap(), []);
    assert!(!dir.exists(), "who only looks makes no folder");
    // A batch of nothing begins the log, too.
    assert_eq!(folder.append(Revision(0), batch(&[], &[])).unwrap(), Revision(1));
    let began = Folder::open(&dir).unwrap().began().unwrap().unwrap();
    assert_eq!((began.format, began.epoch), (1, Epoch(1)));
    assert_eq!(began.installation.len(), 32);
    let first = &texts(&folder.read(Revision(0)).unwrap())[0];
    let installation = &began.installation;
    let expected =
        format!("{{\"began\":{{\"format\":1,\"installation\":\"{installation}\",\"epoch\":1}}}}");
    assert_eq!(*first, expected);
    let (_, other) = two_batches("first-of-another");
    assert_ne!(other.began().unwrap().unwrap().installation, began.installation);
}

#[test]
fn a_line_is_json_whose_sum_is_over_the_sum_before_and_itself() {
    let dir = fresh("format");
    let mut folder = Folder::open(&dir).unwrap();
    let mut asked = batch(&["1", "{\"a\": [1, 2]}"], &[]);
    asked.envelope.request = Some("r-1".into());
    asked.envelope.cause = Some(Revision(1));
    folder.append(Revision(0), asked).unwrap();
    let text = fs::read_to_string(dir.join("log")).unwrap();
    let mut before = Digest::of(b"").as_bytes().to_vec();
    for line in text.lines() {
        let (open, sum) = line.rsplit_once(",\"sum\":\"").unwrap();
        let digest = Digest::of(&[before, open.as_bytes().to_vec()].concat());
        assert_eq!(sum, format!("{digest}\"}}"));
        before = digest.as_bytes().to_vec();
    }
    let (open, _) = text.lines().nth(2).unwrap().rsplit_once(",\"sum\"").unwrap();
    assert_eq!(
        open,
        "{\"revision\":3,\"left\":0,\"synced\":1,\"at\":1000,\"actor\":\"ann\",\"source\":\"test\",\
         \"request\":\"r-1\",\"cause\":1,\"body\":{\"a\": [1, 2]}"
    );
    let keys: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert_eq!(keys["body"]["began"]["epoch"], 1);
}

#[test]
fn a_body_that_can_be_no_record_is_refused_and_nothing_is_written() {
    let dir = fresh("unfit");
    let mut folder = Folder::open(&dir).unwrap();
    let mut refusal = |body: &str| match folder.append(Revision(0), batch(&["1", body], &[])) {
        Err(AppendError::Unfit { position: 2, source }) => source,
        other => panic!("{other:?}"),
    };
    assert!(matches!(refusal("{\n}"), Unfit::LineBreak));
    assert!(matches!(refusal("{}{}"), Unfit::NotJson(_)));
    assert!(matches!(refusal(""), Unfit::NotJson(_)));
    assert!(matches!(refusal("{\"began\":{}}"), Unfit::Reserved));
    assert!(matches!(refusal(&format!("\"{}\"", "x".repeat(5000))), Unfit::TooLong { .. }));
    let bytes = b"\"\xff\"".to_vec();
    let not_text = store::Batch { bodies: vec![bytes], ..batch(&[], &[]) };
    let refused = folder.append(Revision(0), not_text);
    assert!(matches!(refused, Err(AppendError::Unfit { source: Unfit::NotText(_), .. })));
    assert!(!dir.join("log").exists());
    assert_eq!(folder.append(Revision(0), batch(&["1"], &[])).unwrap(), Revision(2));
}

#[test]
fn the_longest_line_has_4096_bytes() {
    let dir = fresh("longest");
    let mut folder = Folder::open(&dir).unwrap();
    folder.append(Revision(0), batch(&[], &[])).unwrap();
    let text = |bytes: usize| format!("\"{}\"", "x".repeat(bytes));
    folder.append(Revision(1), batch(&[&text(0)], &[])).unwrap();
    let starts = line_starts(&fs::read(dir.join("log")).unwrap());
    let around = starts[2] - starts[1];
    let refused = folder.append(Revision(2), batch(&[&text(4097 - around)], &[]));
    let Err(AppendError::Unfit { position: 1, source: Unfit::TooLong { bytes } }) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(bytes, 4097);
    folder.append(Revision(2), batch(&[&text(4096 - around)], &[])).unwrap();
    let starts = line_starts(&fs::read(dir.join("log")).unwrap());
    assert_eq!(starts[3] - starts[2], 4096);
}

/// Everything about a folder that writing would change.
fn state(dir: &Path) -> BTreeMap<String, (u64, u64, i64, i64, Vec<u8>)> {
    let stat = |path: &Path| {
        let data = fs::metadata(path).unwrap();
        let content = if data.is_file() { fs::read(path).unwrap() } else { Vec::new() };
        (data.ino(), data.len(), data.mtime(), data.mtime_nsec(), content)
    };
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let mut found: BTreeMap<_, _> =
        entries.map(|path| (path.display().to_string(), stat(&path))).collect();
    found.insert(".".to_owned(), stat(dir));
    found
}

#[test]
fn looking_writes_nothing_locks_nothing_and_cuts_nothing() {
    let (dir, mut folder) = two_batches("looking");
    let kept = [folder.keep(b"content")];
    folder.append(Revision(5), batch(&["5"], &kept)).unwrap();
    let digest = folder.snapshot(Revision(6), b"sum").unwrap();
    let log = dir.join("log");
    let whole = fs::read(&log).unwrap();
    fs::write(&log, [&whole[..], b"{\"revision\":7,\"le"].concat()).unwrap();
    // A lock that somebody has is no obstacle.
    let lock = fs::File::open(dir.join("log.lock")).unwrap();
    lock.lock().unwrap();
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o555)).unwrap();
    let before = state(&dir);
    let reader = Folder::open(&dir).unwrap();
    assert_eq!(reader.read(Revision(1)).unwrap().len(), 5);
    assert_eq!(reader.torn().unwrap().unwrap().bytes, 17);
    assert_eq!(reader.began().unwrap().unwrap().epoch, Epoch(1));
    assert_eq!(reader.beside(&kept[0].digest).unwrap().unwrap(), b"content");
    assert_eq!(reader.latest_snapshot(|_| Some(digest)).unwrap().unwrap().1, b"sum");
    assert!(check(&dir, |_| Vec::new()).unwrap().is_sound());
    assert_eq!(state(&dir), before);
    assert_eq!(reader.written(), WrittenBytes::default());
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn an_append_waits_for_the_disk_once_and_with_content_twice() {
    let (dir, mut folder) = two_batches("fsyncs");
    let mut cost = |expected, asked| {
        let (before, length) = (folder.written(), fs::metadata(dir.join("log")).unwrap().len());
        folder.append(Revision(expected), asked).unwrap();
        let after = folder.written();
        let grown = fs::metadata(dir.join("log")).unwrap().len() - length;
        assert_eq!(after.log_bytes - before.log_bytes, grown);
        (after.fsyncs - before.fsyncs, after.beside_bytes - before.beside_bytes)
    };
    let other = Folder::open(fresh("fsyncs-other")).unwrap();
    let content = [other.keep(b"part"), other.keep(b"")];
    assert_eq!(cost(5, batch(&["1", "2"], &[])), (1, 0));
    let (fsyncs, beside) = cost(7, batch(&["3"], &content));
    assert_eq!(fsyncs, 2);
    assert_eq!(beside, fs::metadata(dir.join("objects")).unwrap().len());
    assert_eq!(cost(8, passing(&["4"], &[])), (0, 0));
    assert_eq!(cost(9, passing(&["5"], &content[..1])).0, 0);
    // Content that is not durable yet becomes so before the record of something that is.
    assert_eq!(cost(10, batch(&["6"], &[])), (2, 0));
    assert_eq!(cost(11, batch(&["7"], &[])), (1, 0));
}

#[test]
fn what_others_left_is_made_durable_by_the_first_append_behind_it() {
    let (dir, _) = two_batches("left");
    let mut next = Folder::open(&dir).unwrap();
    next.append(Revision(5), passing(&["1"], &[])).unwrap();
    assert_eq!(next.written().fsyncs, 2, "log and content");
    next.append(Revision(6), passing(&["2"], &[])).unwrap();
    assert_eq!(next.written().fsyncs, 2);
    // The line says which records were durable before it.
    let text = fs::read_to_string(dir.join("log")).unwrap();
    let synced: Vec<_> = text
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["synced"].as_u64())
        .collect();
    assert_eq!(synced, [None, None, None, Some(2), Some(2), Some(2), None]);
}

#[test]
fn after_a_write_that_failed_it_wants_to_be_opened_again() {
    let (dir, mut folder) = two_batches("failed");
    let kept = [folder.keep(b"content")];
    fs::remove_file(dir.join("objects")).unwrap();
    fs::create_dir(dir.join("objects")).unwrap();
    let failed = folder.append(Revision(5), batch(&["5"], &kept));
    assert!(matches!(failed, Err(AppendError::Unwritable { .. })), "{failed:?}");
    let failed = folder.append(Revision(5), batch(&["5"], &[]));
    assert!(matches!(failed, Err(AppendError::FailedBefore { .. })), "{failed:?}");
    fs::remove_dir(dir.join("objects")).unwrap();
    let mut again = Folder::open(&dir).unwrap();
    assert_eq!(again.append(Revision(5), batch(&["5"], &kept)).unwrap(), Revision(6));
}

#[test]
fn a_snapshot_is_believed_only_with_the_digest_that_was_recorded() {
    let (dir, folder) = two_batches("snapshot");
    assert_eq!(folder.latest_snapshot(|_| None).unwrap(), None);
    let two = folder.snapshot(Revision(2), b"two").unwrap();
    let five = folder.snapshot(Revision(5), b"five").unwrap();
    assert_ne!(two, folder.keep(b"two").digest, "it has a salt");
    let recorded = |revision| Some(if revision == Revision(5) { five } else { two });
    let latest = || Folder::open(&dir).unwrap().latest_snapshot(recorded).unwrap();
    assert_eq!(latest(), Some((Revision(5), b"five".to_vec())));
    let path = dir.join("snapshot-5");
    let damaged = fs::read_to_string(&path).unwrap().replace("five", "fife");
    fs::write(&path, damaged).unwrap();
    assert_eq!(latest(), Some((Revision(2), b"two".to_vec())));
    let unnamed = |revision| (revision == Revision(5)).then_some(five);
    assert_eq!(folder.latest_snapshot(unnamed).unwrap(), None);
}

#[test]
fn every_error_of_a_log_names_what_checks_and_what_repairs_it() {
    let (dir, folder) = two_batches("remedy");
    let text = fs::read_to_string(dir.join("log")).unwrap();
    let why = |text: &str| {
        fs::write(dir.join("log"), text).unwrap();
        Folder::open(&dir).unwrap().read(Revision(0)).unwrap_err()
    };
    let damaged = why(&text.replace("three", "seven"));
    let lost = why("");
    let foreign = why(&fs::read_to_string(two_batches("remedy-2").0.join("log")).unwrap());
    let rewritten = {
        fs::write(dir.join("log"), &text[..line_starts(text.as_bytes())[2]]).unwrap();
        folder.read(Revision(5)).unwrap_err()
    };
    assert!(matches!(damaged, ReadError::Damaged { line: 4, .. }));
    assert!(matches!(lost, ReadError::Lost { .. }));
    assert!(matches!(foreign, ReadError::Foreign { .. }));
    assert!(matches!(rewritten, ReadError::Rewritten { at: Revision(2), .. }));
    for why in [damaged, lost, foreign, rewritten] {
        let remedy = why.remedy();
        for word in ["`log check`", "`log repair`", "docs/backup.md"] {
            assert!(remedy.contains(word), "{why}: {remedy}");
        }
    }
}
