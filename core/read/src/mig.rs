//! Dialect `mig`: which GPUs can be cut, and which instances there are on each.

use crate::dialect::Description;
use crate::lines::Line;
use crate::statement;
use crate::values::{Why, module, slot};
use crate::{Hold, Reading};

/// What is known of it.
pub(crate) const DESCRIPTION: Description = Description::of_statements(
    "NVIDIA's MIG manager; what is observed comes from its management library",
    read,
);

fn read(text: &str) -> Reading {
    statement::read(text, |line| hold(line).map(Some))
}

fn hold(line: &Line<'_>) -> Result<Hold, Why> {
    match line.words().as_slice() {
        ["gpu", gpu, "mig", "on"] => Ok(Hold::Cuttable { gpu: module(gpu)? }),
        ["gpu", ..] => Err("a GPU that can be cut is said to have `mig on`, others are not named"),
        ["instance", gpu, profile, "start", first] => {
            let (gpu, start) = (module(gpu)?, slot(first)?);
            if !is_profile(profile) {
                return Err("a profile is written such as 1g.10gb or 1g.10gb+me");
            }
            Ok(Hold::Instance { gpu, profile: (*profile).into(), start })
        }
        _ => Err("no line of this dialect is written so"),
    }
}

/// Whether it is compute slices, memory and perhaps what it has besides. Which of them a product
/// has is not for a text to know.
fn is_profile(word: &str) -> bool {
    let is_number = |digits: &str| {
        (1..=3).contains(&digits.len()) && digits.bytes().all(|digit| digit.is_ascii_digit())
    };
    let (shape, besides) = word.split_once('+').unwrap_or((word, "me"));
    let sizes = shape.split_once("g.").and_then(|(slices, rest)| {
        let gigabytes = rest.strip_suffix("gb")?;
        Some(is_number(slices) && is_number(gigabytes))
    });
    let is_word = |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_alphanumeric());
    sizes == Some(true) && besides.split(['.', '+']).all(is_word)
}
