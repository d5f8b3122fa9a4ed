//! A story's change of a configuration, written as in a diff.

use std::str::FromStr;

use model::{Artifact, Fleet};

/// A change of some lines of one text, written as in a diff: first the device and the dialect,
/// then the lines that stay (` `), go (`-`) and come (`+`).
#[derive(Clone, Debug)]
pub struct Patch {
    device: String,
    dialect: String,
    before: String,
    after: String,
}

impl FromStr for Patch {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (head, body) = text.split_once('\n').ok_or("a patch begins with `leaf-1 nxos`")?;
        let (device, dialect) = head.split_once(' ').ok_or("a patch begins with `leaf-1 nxos`")?;
        let (mut before, mut after) = (String::new(), String::new());
        for line in body.lines() {
            let (sign, rest) = line.split_at_checked(1).ok_or("a line of a patch has a sign")?;
            let rest = format!("{rest}\n");
            match sign {
                " " => {
                    before += &rest;
                    after += &rest;
                }
                "-" => before += &rest,
                "+" => after += &rest,
                _ => return Err(format!("`{sign}` is no sign of a patch: ` `, `-` or `+`")),
            }
        }
        Ok(Self { device: device.into(), dialect: dialect.into(), before, after })
    }
}

impl Patch {
    /// Changes the lines in the only place where they stand.
    ///
    /// # Panics
    /// When they stand nowhere or in several places: the story is wrong then.
    pub fn apply(&self, fleet: &Fleet, artifacts: &mut [Artifact]) {
        let own = artifacts.iter_mut().filter(|artifact| {
            fleet.device_name(artifact.device).as_str() == self.device
                && artifact.dialect.as_str() == self.dialect
        });
        let mut places = 0;
        for part in own.flat_map(|artifact| &mut artifact.parts) {
            // Whole lines only: a line begins the text or follows another.
            let text = format!("\n{}", part.text);
            let before = format!("\n{}", self.before);
            let found = text.matches(&before).count();
            if found > 0 {
                let after = format!("\n{}", self.after);
                part.text = text.replacen(&before, &after, 1).split_off(1);
            }
            places += found;
        }
        assert_eq!(
            places, 1,
            "these lines stand in one place of {}:\n{}",
            self.device, self.before
        );
    }
}
