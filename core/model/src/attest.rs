//! What a confidential machine must have been launched with, and how old a report of it may be.

use std::fmt;
use std::str::FromStr;

/// What a tenant demands of the reports about its confidential machines.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Attestation {
    /// How old the youngest report about a machine may be.
    pub max_age_s: u32,
    /// What the machine must have been launched with, if the tenant says so.
    pub measurement: Option<Measurement>,
}

/// What a confidential machine was launched with, as its processor measured it. SEV-SNP's launch
/// measurement and TDX's MRTD are both a SHA-384.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Measurement([u8; 48]);

impl FromStr for Measurement {
    type Err = NotAMeasurement;

    /// Lower-case digits only, so that equal measurements are equal texts.
    fn from_str(text: &str) -> Result<Self, NotAMeasurement> {
        let (pairs, odd) = text.as_bytes().as_chunks::<2>();
        let mut bytes = [0; 48];
        if pairs.len() != bytes.len() || !odd.is_empty() {
            return Err(NotAMeasurement);
        }
        for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
            *byte = digit(*high)? << 4 | digit(*low)?;
        }
        Ok(Self(bytes))
    }
}

const fn digit(letter: u8) -> Result<u8, NotAMeasurement> {
    match letter {
        b'0'..=b'9' => Ok(letter - b'0'),
        b'a'..=b'f' => Ok(letter - b'a' + 10),
        _ => Err(NotAMeasurement),
    }
}

impl fmt::Display for Measurement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The text is no measurement.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct NotAMeasurement;

impl fmt::Display for NotAMeasurement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a measurement is a SHA-384 in 96 lower-case hexadecimal digits")
    }
}

impl std::error::Error for NotAMeasurement {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_no_sha_384_is_no_measurement() {
        let right = "0f".repeat(48);
        assert_eq!(right.parse::<Measurement>().unwrap().to_string(), right);
        for wrong in ["", &right[1..], &right[2..], &format!("{right}0"), &right.to_uppercase()] {
            assert_eq!(wrong.parse::<Measurement>(), Err(NotAMeasurement), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(bytes in prop::collection::vec(any::<u8>(), 48)) {
            let measurement = Measurement(bytes.try_into().unwrap());
            prop_assert_eq!(measurement.to_string().parse(), Ok(measurement));
        }

        #[test]
        fn another_letter_makes_another_measurement_or_none(at in 0_usize..96, letter in "[ -~]") {
            let right = "0f".repeat(48);
            let mut other = right.clone();
            other.replace_range(at..=at, &letter);
            prop_assert_eq!(other.parse::<Measurement>() == right.parse(), other == right);
        }
    }
}
