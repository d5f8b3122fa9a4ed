//! A log of the earlier form, as it would be in today's.

use model::{Digest, Epoch, Timestamp};

use crate::line::{self, Position};
use crate::{Beginning, Damage, Envelope, FORMAT, before};

/// What it would be.
pub(crate) struct Carried {
    pub(crate) text: Vec<u8>,
    /// How many of the earlier bytes are whole batches.
    pub(crate) sound_bytes: usize,
}

/// The same bytes and the same moment always give the same lines, so nobody sees a difference
/// when they are written. Otherwise the damaged line, counted from 1.
pub(crate) fn carry(bytes: &[u8], modified: Timestamp) -> Result<Carried, (u64, Damage)> {
    let held = before::read(bytes).map_err(|(line, damage)| {
        let line = u64::try_from(line).unwrap_or(u64::MAX);
        (line, Damage::Before(Box::new(damage)))
    })?;
    let sound = &bytes[..held.sound_bytes];
    let mut carried = Carried { text: Vec::new(), sound_bytes: held.sound_bytes };
    if sound.is_empty() {
        return Ok(carried);
    }
    let mut installation = Digest::of(sound).to_string();
    installation.truncate(32);
    let beginning =
        Beginning { format: FORMAT, installation: installation.into(), epoch: Epoch(1) };
    let (actor, source) = ("unknown".into(), "carried-over".into());
    let envelope = Envelope { at: modified, actor, source, request: None, cause: None };
    let mut end = Position::start();
    let mut push = |left: usize, body: &[u8]| {
        let pushed = line::push(&mut carried.text, &envelope, left as u64, body, &mut end);
        // Every earlier batch was durable before the next one.
        if left == 0 {
            end.synced = end.revision;
        }
        pushed.map_err(|why| (end.revision.0, Damage::Before(Box::new(why))))
    };
    push(0, &line::began(&beginning, None))?;
    for (line, left) in sound.split_inclusive(|&byte| byte == b'\n').zip(held.left) {
        let record = before::record_of(line).unwrap_or(b"null");
        push(left, &[b"{\"choice\":", record, b"}"].concat())?;
    }
    Ok(carried)
}
