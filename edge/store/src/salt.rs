//! Content with a salt, so that its digest does not give it away.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use model::Digest;

use crate::ReadError;

/// Content with its salt. Who knows the digest and guesses the content cannot see whether it was
/// guessed, so a digest may be shown to people who may not see the content.
#[derive(Clone, Eq, PartialEq)]
pub struct Kept {
    /// SHA-256 over salt and content.
    pub digest: Digest,
    pub(crate) salt: Digest,
    pub(crate) content: Vec<u8>,
}

/// Makes salts: each is the digest of its number behind a secret.
#[derive(Debug)]
pub(crate) struct Salts {
    secret: Digest,
    next: AtomicU64,
}

impl Salts {
    /// From chance.
    pub(crate) fn random() -> Result<Self, ReadError> {
        Ok(Self::from_secret(Digest::of(&chance::<{ Digest::BYTES }>()?)))
    }

    /// The same for the same secret.
    pub(crate) const fn from_secret(secret: Digest) -> Self {
        Self { secret, next: AtomicU64::new(0) }
    }

    pub(crate) fn keep(&self, content: &[u8]) -> Kept {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let salt = Digest::of_behind(self.secret.as_bytes(), &number.to_be_bytes());
        let digest = Digest::of_behind(salt.as_bytes(), content);
        Kept { digest, salt, content: content.to_vec() }
    }
}

/// 128 random bits, as an installation is called.
pub(crate) fn installation() -> Result<smol_str::SmolStr, ReadError> {
    Ok(format!("{:032x}", u128::from_be_bytes(chance()?)).into())
}

fn chance<const BYTES: usize>() -> Result<[u8; BYTES], ReadError> {
    let path = PathBuf::from("/dev/urandom");
    let mut bytes = [0; BYTES];
    match File::open(&path).and_then(|mut file| file.read_exact(&mut bytes)) {
        Ok(()) => Ok(bytes),
        Err(source) => Err(ReadError::Unreadable { path, source }),
    }
}

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} bytes)", self.digest, self.content.len())
    }
}
