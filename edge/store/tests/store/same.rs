//! A log in memory answers as one in a folder.

use std::fs;

use proptest::prelude::*;
use store::{AppendError, AppendFault, Batch, Folder, MemoryStore, ReadError, Revision, Store};

use super::{batch, fresh, passing, texts};

#[derive(Clone, Debug)]
enum Step {
    /// Appends bodies with contents, this far from the end that is expected.
    Append { off: i8, bodies: Vec<String>, contents: Vec<Vec<u8>>, is_durable: bool },
    /// Reads after a revision.
    Read(u64),
    /// Another process goes on.
    Again,
}

fn body() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => (0_u32..100).prop_map(|number| format!("{{\"n\":{number}}}")),
        1 => Just("{\"began\":1}".to_owned()),
        1 => Just("1\n2".to_owned()),
        1 => Just("x".to_owned()),
        1 => Just(format!("\"{}\"", "y".repeat(4500))),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let off = prop_oneof![6 => Just(0_i8), 1 => -2_i8..3];
    let bodies = prop::collection::vec(body(), 0..4);
    let contents = prop::collection::vec(prop::collection::vec(any::<u8>(), 0..50), 0..3);
    let append = (off, bodies, contents, any::<bool>());
    prop_oneof![
        6 => append.prop_map(|(off, bodies, contents, is_durable)| Step::Append {
            off, bodies, contents, is_durable
        }),
        2 => (0_u64..20).prop_map(Step::Read),
        1 => Just(Step::Again),
    ]
}

/// What a store answers, without what may differ: salts, installation and paths.
fn answer(store: &mut dyn Store, step: &Step) -> String {
    match step {
        Step::Append { off, bodies, contents, is_durable } => {
            let end = store.read(Revision(0)).map_or(0, |entries| entries.len() as u64);
            let expected = Revision(end.saturating_add_signed(i64::from(*off)));
            let kept: Vec<_> = contents.iter().map(|content| store.keep(content)).collect();
            let bodies: Vec<&str> = bodies.iter().map(String::as_str).collect();
            let asked = Batch { is_durable: *is_durable, ..batch(&bodies, &kept) };
            let appended = match store.append(expected, asked) {
                Ok(revision) => format!("at {revision}"),
                Err(AppendError::Moved { at }) => format!("moved to {at}"),
                Err(why @ AppendError::Unfit { .. }) => format!("{why:?}"),
                Err(why) => panic!("{why:?}"),
            };
            let beside = kept.iter().map(|kept| store.beside(&kept.digest).unwrap());
            format!("{appended}, {:?}", beside.collect::<Vec<_>>())
        }
        Step::Read(after) => match store.read(Revision(*after)) {
            Ok(entries) => {
                let numbers: Vec<_> = entries.iter().map(|entry| entry.revision).collect();
                // The first record names the installation.
                format!(
                    "{numbers:?} {:?}",
                    texts(&entries[usize::from(*after == 0 && !entries.is_empty())..])
                )
            }
            Err(ReadError::Rewritten { at, known, .. }) => format!("{known} after {at}"),
            Err(why) => panic!("{why:?}"),
        },
        Step::Again => format!("{:?}", store.began().unwrap().map(|began| began.epoch)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn memory_and_folder_answer_the_same(steps in prop::collection::vec(step(), 1..16)) {
        let dir = fresh("same");
        let (mut memory, mut folder) = (MemoryStore::new(7), Folder::open(&dir).unwrap());
        for step in steps {
            if matches!(step, Step::Again) {
                (memory, folder) = (memory.again(), Folder::open(&dir).unwrap());
            }
            prop_assert_eq!(answer(&mut memory, &step), answer(&mut folder, &step), "{:?}", step);
        }
        let (read, held) = (folder.read(Revision(0)).unwrap(), memory.read(Revision(0)).unwrap());
        for (read, held) in read.iter().zip(&held).skip(1) {
            prop_assert_eq!(read, held);
        }
        drop(fs::remove_dir_all(dir));
    }
}

#[test]
fn the_same_seed_gives_the_same_salts_and_installation() {
    let digests = |seed| {
        let mut memory = MemoryStore::new(seed);
        memory.append(Revision(0), batch(&["1"], &[])).unwrap();
        let twice = [memory.keep(b"x").digest, memory.again().keep(b"x").digest];
        assert_ne!(twice[0], twice[1]);
        (twice, memory.began().unwrap())
    };
    assert_eq!(digests(1), digests(1));
    assert_ne!(digests(1), digests(2));
}

fn with(fault: AppendFault) -> (Vec<String>, MemoryStore) {
    let mut memory = MemoryStore::new(1);
    memory.append(Revision(0), batch(&["1"], &[])).unwrap();
    memory.append(Revision(2), passing(&["2"], &[])).unwrap();
    let kept = [memory.keep(b"content")];
    memory.fail_at(3, fault);
    let failed = memory.append(Revision(3), batch(&["3", "4"], &kept));
    assert!(matches!(failed, Err(AppendError::Unwritable { .. })), "{failed:?}");
    let failed = memory.append(Revision(3), batch(&["3"], &[]));
    assert!(matches!(failed, Err(AppendError::FailedBefore { .. })), "{failed:?}");
    let again = memory.again();
    let is_there = again.beside(&kept[0].digest).unwrap().is_some();
    assert_eq!(is_there, fault == AppendFault::After);
    assert_eq!(again.appends(), 3);
    (texts(&again.read(Revision(1)).unwrap()), again)
}

#[test]
fn an_append_fails_as_it_was_told_to() {
    assert_eq!(with(AppendFault::Before).0, ["1", "2"]);
    assert_eq!(with(AppendFault::After).0, ["1", "2", "3", "4"]);
    assert_eq!(with(AppendFault::PowerLoss).0, ["1"]);
    let (_, mut again) = with(AppendFault::PowerLoss);
    assert_eq!(again.append(Revision(2), batch(&["5"], &[])).unwrap(), Revision(3));
}

#[test]
fn a_loss_of_power_takes_what_is_not_durable_and_no_more() {
    let mut memory = MemoryStore::new(1);
    memory.append(Revision(0), passing(&["1"], &[])).unwrap();
    let kept = [memory.keep(b"content")];
    memory.append(Revision(2), passing(&["2"], &kept)).unwrap();
    memory.append(Revision(3), batch(&["3"], &[])).unwrap();
    memory.append(Revision(4), passing(&["4"], &[])).unwrap();
    memory.lose_power();
    assert_eq!(texts(&memory.read(Revision(1)).unwrap()), ["1", "2", "3"]);
    assert_eq!(memory.beside(&kept[0].digest).unwrap().unwrap(), b"content");
    // Who goes on after a crash makes durable what it found.
    memory.append(Revision(4), passing(&["5"], &[])).unwrap();
    let mut next = memory.again();
    next.append(Revision(5), passing(&["6"], &[])).unwrap();
    memory.lose_power();
    assert_eq!(texts(&memory.read(Revision(4)).unwrap()), ["5", "6"]);
}
