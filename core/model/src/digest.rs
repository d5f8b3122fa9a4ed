//! What content comes down to: SHA-256, alone, salted, or over several texts.

use std::fmt;
use std::str::FromStr;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};

/// What some bytes come down to: SHA-256 (FIPS 180-4). Two that are equal have equal bytes.
#[derive(Clone, Copy, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Digest([u8; Self::BYTES]);

/// Text that is no digest.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct NotADigest;

impl Digest {
    /// How long it is.
    pub const BYTES: usize = 32;

    /// Of these bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Of several texts, each with its length before it, so that `ab c` and `a bc` differ.
    pub fn of_all<'a>(texts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut hash = Sha256::new();
        for text in texts {
            hash.update((text.len() as u64).to_be_bytes());
            hash.update(text);
        }
        Self(hash.finalize().into())
    }

    /// Of these bytes behind 32 others: a salt, or the digest of what came before. The first
    /// have a fixed length, so the two cannot run together.
    #[must_use]
    pub fn of_behind(first: &[u8; Self::BYTES], bytes: &[u8]) -> Self {
        let mut hash = Sha256::new();
        hash.update(first);
        hash.update(bytes);
        Self(hash.finalize().into())
    }

    /// Its bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; Self::BYTES] {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Digest {
    type Err = NotADigest;

    /// Small letters only: one digest is written in one way.
    fn from_str(text: &str) -> Result<Self, NotADigest> {
        let digit = |letter: u8| match letter {
            b'0'..=b'9' => Ok(letter - b'0'),
            b'a'..=b'f' => Ok(letter - b'a' + 10),
            _ => Err(NotADigest),
        };
        if text.len() != 2 * Self::BYTES {
            return Err(NotADigest);
        }
        let mut bytes = [0; Self::BYTES];
        for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
            *byte = digit(pair[0])? << 4 | digit(pair[1])?;
        }
        Ok(Self(bytes))
    }
}

impl fmt::Display for NotADigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a digest is 64 hexadecimal digits in small letters")
    }
}

impl std::error::Error for NotADigest {}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = smol_str::SmolStr::deserialize(from)?;
        text.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a digest that is none ends the test")]

    use proptest::prelude::*;

    use super::*;

    /// FIPS 180-4's own example.
    const OF_ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[test]
    fn it_is_the_one_of_the_standard() {
        assert_eq!(Digest::of(b"abc").to_string(), OF_ABC);
    }

    #[test]
    fn texts_do_not_run_together() {
        let (one, other) = ([b"ab".as_slice(), b"c"], [b"a".as_slice(), b"bc"]);
        assert_ne!(Digest::of_all(one), Digest::of_all(other));
    }

    #[test]
    fn behind_a_salt_it_is_the_one_of_both() {
        let salt = *Digest::of(b"salt").as_bytes();
        let both = [salt.as_slice(), b"abc"].concat();
        assert_eq!(Digest::of_behind(&salt, b"abc"), Digest::of(&both));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_and_nothing_else_is(
            bytes in prop::collection::vec(any::<u8>(), 0..64),
            cut in 0_usize..64,
        ) {
            let digest = Digest::of(&bytes);
            let text = digest.to_string();
            prop_assert_eq!(text.parse(), Ok(digest));
            prop_assert_eq!(text[..cut].parse::<Digest>(), Err(NotADigest));
            let capitals = text.to_uppercase();
            prop_assert!(capitals == text || capitals.parse::<Digest>().is_err());
        }
    }
}
