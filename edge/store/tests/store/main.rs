//! The log in a folder and in memory: its crashes, its damages, and who else has it open.
#![allow(clippy::unwrap_used, reason = "what a test makes is there")]

mod beside;
mod carry;
mod damage;
mod folder;
mod others;
mod repair;
mod same;
mod torn;

use std::fs;
use std::path::{Path, PathBuf};

use model::Timestamp;
use store::{Batch, Envelope, Folder, Kept, LogEntry, Revision, Store};

/// A folder of this test's own, which does not exist.
fn fresh(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("store").join(name);
    drop(fs::remove_dir_all(&path));
    path
}

fn envelope(at: u64) -> Envelope {
    let (actor, source) = ("ann".into(), "test".into());
    Envelope { at: Timestamp(at), actor, source, request: None, cause: None }
}

fn batch<'a>(bodies: &[&str], beside: &'a [Kept]) -> Batch<'a> {
    let bodies = bodies.iter().map(|body| body.as_bytes().to_vec()).collect();
    Batch { envelope: envelope(1000), bodies, beside, is_durable: true }
}

fn passing<'a>(bodies: &[&str], beside: &'a [Kept]) -> Batch<'a> {
    Batch { is_durable: false, ..batch(bodies, beside) }
}

/// A batch of one record and one of three, behind the one that begins the log.
fn two_batches(name: &str) -> (PathBuf, Folder) {
    let dir = fresh(name);
    let mut folder = Folder::open(&dir).unwrap();
    folder.append(Revision(0), batch(&["1"], &[])).unwrap();
    folder.append(Revision(2), batch(&["2", "{\"three\":3}", "\"four\""], &[])).unwrap();
    (dir, folder)
}

/// What a new reader finds, as text, without the record that begins the log.
fn bodies(dir: &Path) -> Vec<String> {
    texts(&Folder::open(dir).unwrap().read(Revision(1)).unwrap())
}

fn texts(entries: &[LogEntry]) -> Vec<String> {
    entries.iter().map(|entry| String::from_utf8(entry.body.clone()).unwrap()).collect()
}

/// Where each line begins, and the end.
fn line_starts(bytes: &[u8]) -> Vec<usize> {
    let ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    std::iter::once(0).chain(ends.map(|(at, _)| at + 1)).collect()
}
