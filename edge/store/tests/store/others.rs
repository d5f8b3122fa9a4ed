//! Who else has the log open.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use store::{AppendError, Folder, Revision, Store};

use super::{batch, bodies, fresh, texts, two_batches};

#[test]
fn who_comes_second_is_told_where_the_log_is_and_reads_on() {
    let (dir, mut first) = two_batches("second");
    let mut second = Folder::open(&dir).unwrap();
    assert_eq!(second.read(Revision(0)).unwrap().len(), 5);
    first.append(Revision(5), batch(&["first"].map(|_| "\"first\""), &[])).unwrap();
    let moved = second.append(Revision(5), batch(&["\"second\""], &[]));
    assert!(matches!(moved, Err(AppendError::Moved { at: Revision(6) })), "{moved:?}");
    assert_eq!(texts(&second.read(Revision(5)).unwrap()), ["\"first\""]);
    assert_eq!(second.append(Revision(6), batch(&["\"second\""], &[])).unwrap(), Revision(7));
    assert_eq!(bodies(&dir)[4..], ["\"first\"", "\"second\""]);
}

#[test]
fn two_that_begin_a_log_begin_one() {
    let dir = fresh("both");
    let (mut one, mut other) = (Folder::open(&dir).unwrap(), Folder::open(&dir).unwrap());
    assert_eq!((one.began().unwrap(), other.began().unwrap()), (None, None));
    one.append(Revision(0), batch(&["1"], &[])).unwrap();
    let moved = other.append(Revision(0), batch(&["2"], &[]));
    assert!(matches!(moved, Err(AppendError::Moved { at: Revision(2) })), "{moved:?}");
    assert_eq!(one.began().unwrap(), other.began().unwrap());
}

#[test]
fn who_does_not_get_the_lock_within_a_second_says_so() {
    let (dir, mut folder) = two_batches("busy");
    let lock = fs::File::open(dir.join("log.lock")).unwrap();
    lock.lock().unwrap();
    let began = Instant::now();
    let busy = folder.append(Revision(5), batch(&["5"], &[]));
    assert!(matches!(busy, Err(AppendError::Busy { .. })), "{busy:?}");
    assert!(began.elapsed() >= Duration::from_millis(900));
    drop(lock);
    assert_eq!(folder.append(Revision(5), batch(&["5"], &[])).unwrap(), Revision(6));
}

/// Appends `rounds` batches of three, each behind whatever is there then.
fn write(dir: &std::path::Path, who: usize, rounds: usize) {
    let mut folder = Folder::open(dir).unwrap();
    let mut end = Revision(1);
    for round in 0..rounds {
        let body = format!("[{who},{round}]");
        loop {
            let mut asked = batch(&[&body, &body, &body], &[]);
            asked.is_durable = round % 2 == 0;
            match folder.append(end, asked) {
                Ok(_) => break,
                Err(AppendError::Moved { at }) => {
                    end = Revision(end.0 + folder.read(end).unwrap().len() as u64);
                    assert!(end >= at);
                }
                Err(why) => panic!("{why:?}"),
            }
        }
        end = Revision(end.0 + 3);
    }
}

#[test]
fn among_writers_every_batch_is_there_once_and_readers_see_whole_ones() {
    const ROUNDS: usize = 40;
    let dir = fresh("among");
    Folder::open(&dir).unwrap().append(Revision(0), batch(&[], &[])).unwrap();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let folder = Folder::open(&dir).unwrap();
            let (mut end, mut looks) = (Revision(1), 0);
            while !done.load(Ordering::Relaxed) || looks == 0 {
                let entries = folder.read(end).unwrap();
                assert_eq!(entries.len() % 3, 0, "a part of a batch");
                for three in entries.chunks(3) {
                    assert!(three.iter().all(|entry| entry.body == three[0].body));
                }
                end = entries.last().map_or(end, |entry| entry.revision);
                looks += 1;
            }
        });
        let writers: Vec<_> = (0..3)
            .map(|who| {
                let dir = &dir;
                scope.spawn(move || write(dir, who, ROUNDS))
            })
            .collect();
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        done.store(true, Ordering::Relaxed);
        reader.join().unwrap();
    });
    let mut all = bodies(&dir);
    assert_eq!(all.len(), 3 * 3 * ROUNDS);
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 3 * ROUNDS);
}
