//! The content that records speak of.

use std::fs;
use std::io::Write;
use std::slice::from_ref;

use store::{Folder, ReadError, Revision, Store};

use super::{batch, two_batches};

#[test]
fn content_is_found_by_a_digest_that_says_nothing_of_it() {
    let (dir, mut folder) = two_batches("content");
    let kept = [folder.keep(b"same"), folder.keep(b"same"), folder.keep(b"\n{\"x\n\0\xff")];
    assert_ne!(kept[0].digest, kept[1].digest);
    assert_ne!(kept[0].digest, model::Digest::of(b"same"));
    let reader = Folder::open(&dir).unwrap();
    assert_eq!(reader.beside(&kept[0].digest).unwrap(), None, "only an append writes it");
    folder.append(Revision(5), batch(&["5"], &kept[..1])).unwrap();
    assert_eq!(reader.beside(&kept[1].digest).unwrap(), None);
    folder.append(Revision(6), batch(&["6"], &kept[1..])).unwrap();
    for reader in [reader, folder, Folder::open(&dir).unwrap()] {
        assert_eq!(reader.beside(&kept[0].digest).unwrap().unwrap(), b"same");
        assert_eq!(reader.beside(&kept[1].digest).unwrap().unwrap(), b"same");
        assert_eq!(reader.beside(&kept[2].digest).unwrap().unwrap(), b"\n{\"x\n\0\xff");
        assert_eq!(reader.beside(&model::Digest::of(b"other")).unwrap(), None);
    }
}

#[test]
fn what_a_crash_left_of_content_is_passed_over() {
    let (dir, mut folder) = two_batches("content-torn");
    let [first, second, third] = [b"first", b"other", b"third"].map(|text| folder.keep(text));
    folder.append(Revision(5), batch(&["5"], from_ref(&first))).unwrap();
    let objects = dir.join("objects");
    let one = fs::metadata(&objects).unwrap().len() as usize;
    folder.append(Revision(6), batch(&["6"], from_ref(&second))).unwrap();
    let bytes = fs::read(&objects).unwrap();
    for at in one..bytes.len() {
        fs::write(&objects, &bytes[..at]).unwrap();
        let end = Folder::open(&dir).unwrap().read(Revision(0)).unwrap().len() as u64;
        let mut folder = Folder::open(&dir).unwrap();
        assert_eq!(folder.beside(&second.digest).unwrap(), None, "cut at {at}");
        folder.append(Revision(end), batch(&["7"], from_ref(&third))).unwrap();
        for folder in [folder, Folder::open(&dir).unwrap()] {
            assert_eq!(folder.beside(&first.digest).unwrap().unwrap(), b"first");
            assert_eq!(folder.beside(&third.digest).unwrap().unwrap(), b"third", "cut at {at}");
        }
    }
}

#[test]
fn content_that_was_changed_is_named_and_the_rest_is_found() {
    let (dir, mut folder) = two_batches("content-changed");
    let kept = [b"first", b"other", b"third"].map(|text| folder.keep(text));
    folder.append(Revision(5), batch(&["5"], &kept)).unwrap();
    let objects = dir.join("objects");
    let changed = fs::read_to_string(&objects).unwrap().replace("\nother\n", "\notter\n");
    fs::write(&objects, changed).unwrap();
    for folder in [folder, Folder::open(&dir).unwrap()] {
        let named = folder.beside(&kept[1].digest).unwrap_err();
        assert!(
            matches!(named, ReadError::DamagedContent { digest, .. } if digest == kept[1].digest)
        );
        assert_eq!(folder.beside(&kept[2].digest).unwrap().unwrap(), b"third");
    }
}

#[test]
fn content_that_looks_like_a_frame_hides_no_other() {
    let (dir, mut folder) = two_batches("content-frame");
    let kept = folder.keep(b"true");
    let salt = model::Digest::of(b"guess");
    let lie = format!("{{\"digest\":\"{}\",\"salt\":\"{salt}\",\"bytes\":4}}\nlies\n", kept.digest);
    // As a crash would leave it: a head, and less than it says.
    let mut file = fs::File::options().append(true).open(dir.join("objects")).unwrap();
    writeln!(file, "{{\"digest\":\"{salt}\",\"salt\":\"{salt}\",\"bytes\":9999}}\n{lie}").unwrap();
    folder.append(Revision(5), batch(&["5"], from_ref(&kept))).unwrap();
    let found = Folder::open(&dir).unwrap().beside(&kept.digest).unwrap();
    assert_eq!(found.unwrap(), b"true");
}
