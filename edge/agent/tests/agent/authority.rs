//! The authority's folder.

use std::fs;
use std::os::unix::fs::MetadataExt;

use agent::{Authority, AuthorityError, Turn};

use crate::stage::{NODES, Stage, name};

#[test]
fn nothing_is_made_twice_and_nothing_is_made_without_an_authority() {
    let stage = Stage::new();
    let again = Authority::init(&stage.ca());
    assert!(matches!(again.err().unwrap(), AuthorityError::IsThere(_)));
    let leaf = name("leaf-1");
    let again = stage.authority.enroll(&leaf, &stage.address("leaf-1"));
    assert!(matches!(again.unwrap_err(), AuthorityError::Enrolled(node) if node == leaf));
    let nowhere = Authority::open(&stage.folder.join("nowhere"));
    assert!(matches!(nowhere.err().unwrap(), AuthorityError::IsNotThere(_)));
}

#[test]
fn secrets_are_for_their_owner_alone() {
    let stage = Stage::new();
    let mut folders = vec![stage.ca()];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o777, 0o700, "{}", folder.display());
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600, "{}", path.display());
            files += 1;
        }
    }
    assert_eq!(files, 2 + 4 + NODES.len() * 5);
}

#[test]
fn running_agents_take_their_new_certificates_without_a_restart() {
    let stage = Stage::new();
    let fleet = stage.fleet();
    assert!(fleet.statuses().values().all(Result::is_ok));
    let rotated = stage.authority.rotate(false).unwrap();
    assert_eq!(rotated.authority, Turn::Kept);
    assert_eq!(rotated.nodes.len(), NODES.len());
    assert!(stage.fleet().statuses().values().all(Result::is_ok));
}

#[test]
fn a_new_authority_overlaps_with_the_old_one_until_the_next_rotation() {
    let mut stage = Stage::new();
    // This node does not get its new folder in time: it still believes the old authority only.
    let kept = stage.folder.join("kept");
    copy(&stage.identity_folder("leaf-1"), &kept);
    stage.kill("leaf-1");
    stage.start_as("leaf-1", &kept);
    assert_eq!(stage.authority.rotate(true).unwrap().authority, Turn::Overlaps);
    assert!(stage.fleet().statuses().values().all(Result::is_ok));
    // After the second rotation nobody who stayed behind is believed, nor believes.
    assert_eq!(stage.authority.rotate(false).unwrap().authority, Turn::Ended);
    let mut statuses = stage.fleet().statuses();
    let behind = statuses.remove(&name("leaf-1")).unwrap().unwrap_err();
    assert!(behind.to_string().contains("not of our authority"), "{behind}");
    assert!(statuses.values().all(Result::is_ok));
}

fn copy(from: &std::path::Path, to: &std::path::Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let file = entry.unwrap();
        fs::copy(file.path(), to.join(file.file_name())).unwrap();
    }
}
