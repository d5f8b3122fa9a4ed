//! What a crash leaves behind.

use std::fs;
use std::path::Path;

use store::{Folder, ReadError, Revision, Store, Torn};

use super::{batch, bodies, fresh, line_starts, passing, texts, two_batches};

/// Looks at a log that a crash left so, appends behind what is sound, and looks again.
fn goes_on(dir: &Path, bytes: &[u8], left: &[&str], torn_bytes: u64) {
    fs::write(dir.join("log"), bytes).unwrap();
    let reader = Folder::open(dir).unwrap();
    let end = Revision(1 + left.len() as u64);
    let torn = Torn { after: end, bytes: torn_bytes };
    let torn = Some(torn).filter(|torn| torn.bytes > 0);
    assert_eq!(texts(&reader.read(Revision(1)).unwrap()), left, "{torn_bytes} bytes are torn");
    assert_eq!(reader.torn().unwrap(), torn, "{torn_bytes} bytes are torn");
    assert_eq!(fs::read(dir.join("log")).unwrap(), bytes, "looking cuts nothing");
    let mut folder = Folder::open(dir).unwrap();
    folder.append(end, batch(&["9"], &[])).unwrap();
    assert_eq!(folder.cut(), torn, "{torn_bytes} bytes are torn");
    assert_eq!(folder.torn().unwrap(), None, "{torn_bytes} bytes are torn");
    assert_eq!(bodies(dir).len(), left.len() + 1, "{torn_bytes} bytes are torn");
    assert_eq!(reader.read(end).unwrap().len(), 1, "who read before reads on");
}

#[test]
fn cut_at_any_byte_of_the_last_batch_whole_batches_remain() {
    let (dir, _) = two_batches("cut");
    fs::remove_file(dir.join("objects")).unwrap();
    let bytes = fs::read(dir.join("log")).unwrap();
    let last = line_starts(&bytes)[2];
    for at in last..bytes.len() {
        goes_on(&dir, &bytes[..at], &["1"], (at - last) as u64);
    }
    goes_on(&dir, &bytes, &["1", "2", "{\"three\":3}", "\"four\""], 0);
}

#[test]
fn cut_at_any_byte_of_its_first_line_a_log_has_not_begun() {
    let (dir, _) = two_batches("cut-first");
    let bytes = fs::read(dir.join("log")).unwrap();
    for at in 0..line_starts(&bytes)[1] {
        let dir = fresh("cut-first-at");
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("log"), &bytes[..at]).unwrap();
        let mut folder = Folder::open(&dir).unwrap();
        assert_eq!(folder.began().unwrap(), None);
        folder.append(Revision(0), batch(&["1"], &[])).unwrap();
        assert_eq!(bodies(&dir), ["1"]);
    }
}

#[test]
fn holes_of_zeros_in_the_last_batch_are_what_a_crash_leaves() {
    let (dir, _) = two_batches("hole");
    let bytes = fs::read(dir.join("log")).unwrap();
    let last = line_starts(&bytes)[2];
    for from in (last..bytes.len()).step_by(7) {
        let mut holed = bytes.clone();
        let end = (from + 90).min(holed.len());
        holed[from..end].fill(0);
        goes_on(&dir, &holed, &["1"], (bytes.len() - last) as u64);
    }
}

#[test]
fn a_hole_before_something_that_came_after_an_fsync_is_damage() {
    let (dir, _) = two_batches("hole-before");
    let log = dir.join("log");
    let bytes = fs::read(&log).unwrap();
    let starts = line_starts(&bytes);
    for line in 0..2 {
        let mut holed = bytes.clone();
        holed[starts[line] + 20..starts[line] + 40].fill(0);
        fs::write(&log, &holed).unwrap();
        let named = Folder::open(&dir).unwrap().read(Revision(0)).unwrap_err();
        let expected = line as u64 + 1;
        assert!(matches!(named, ReadError::Damaged { line, .. } if line == expected), "{named}");
    }
}

#[test]
fn of_batches_that_were_not_durable_a_crash_may_take_any() {
    let (dir, mut folder) = two_batches("passing");
    folder.append(Revision(5), passing(&["5"], &[])).unwrap();
    folder.append(Revision(6), passing(&["6", "7"], &[])).unwrap();
    folder.append(Revision(8), batch(&["8"], &[])).unwrap();
    let log = dir.join("log");
    let bytes = fs::read(&log).unwrap();
    let starts = line_starts(&bytes);
    let mut holed = bytes.clone();
    holed[starts[5] + 20..starts[5] + 40].fill(0);
    let left = ["1", "2", "{\"three\":3}", "\"four\""];
    goes_on(&dir, &holed, &left, (bytes.len() - starts[5]) as u64);
    // The last of them was durable when this one was written, so nothing of them can be missing.
    fs::write(&log, &bytes).unwrap();
    folder.append(Revision(9), batch(&["9"], &[])).unwrap();
    let rest = fs::read(&log).unwrap()[bytes.len()..].to_vec();
    fs::write(&log, [holed, rest].concat()).unwrap();
    let named = Folder::open(&dir).unwrap().read(Revision(0)).unwrap_err();
    assert!(matches!(named, ReadError::Damaged { line: 6, .. }), "{named}");
}
