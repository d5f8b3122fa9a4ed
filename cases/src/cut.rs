//! One line of a configuration changed at random, whatever that comes to.

use model::{Artifact, PartText};

use crate::Chance;

/// A change of one line of one artifact.
#[derive(Clone, Debug)]
pub struct Cut {
    /// Which artifact, by its position.
    pub artifact: usize,
    /// Which part of it.
    pub part: usize,
    /// Which line of the part, from 0.
    pub line: usize,
    /// What stood there.
    pub before: String,
    /// What stands there now; none when the line is gone.
    pub after: Option<String>,
}

/// Changes a line at random: takes it away, or gives it a word that stands at the same place of
/// a line of the same shape somewhere else. That moves tags, swaps VNIs, joins VRFs, forges
/// tunnel endpoints, and does whatever else one wrong word can do.
pub fn at_random(artifacts: &mut [Artifact], chance: &mut Chance) -> Option<Cut> {
    let artifact = chance.below(artifacts.len());
    let part = chance.below(artifacts[artifact].parts.len());
    let text = artifacts[artifact].parts[part].text.clone();
    let lines: Vec<&str> = text.lines().collect();
    let line = chance.below(lines.len());
    let before = (*lines.get(line)?).to_string();
    let after = if chance.percent(25) {
        None
    } else if let Some(state) = port_state(&before, chance) {
        Some(state)
    } else {
        Some(with_a_word_of_another(&before, artifact, artifacts, chance)?)
    };
    put(&mut artifacts[artifact].parts[part], line, after.as_deref());
    Some(Cut { artifact, part, line, before, after })
}

/// Another state of a port of Linux: without its packet program, or down.
fn port_state(line: &str, chance: &mut Chance) -> Option<String> {
    let unjudged = line.strip_suffix(" judged")?;
    if !chance.percent(30) {
        return None;
    }
    Some(if chance.percent(50) { unjudged.into() } else { format!("{line} down") })
}

fn with_a_word_of_another(
    line: &str,
    artifact: usize,
    artifacts: &[Artifact],
    chance: &mut Chance,
) -> Option<String> {
    let dialect = artifacts[artifact].dialect;
    let shape = shape(line);
    let others: Vec<&str> = artifacts
        .iter()
        .filter(|other| other.dialect == dialect)
        .flat_map(|other| &other.parts)
        .flat_map(|part| part.text.lines())
        .filter(|other| *other != line && self::shape(other) == shape)
        .collect();
    let other: Vec<&str> = chance.pick(&others)?.split(' ').collect();
    let words: Vec<&str> = line.split(' ').collect();
    let differing: Vec<usize> =
        (0..words.len()).filter(|&place| words.get(place) != other.get(place)).collect();
    let place = *chance.pick(&differing)?;
    let mut words = words;
    words[place] = other[place];
    Some(words.join(" "))
}

/// A line with every word that holds a digit blanked out.
fn shape(line: &str) -> Vec<&str> {
    let blank = |word: &str| word.contains(|letter: char| letter.is_ascii_digit());
    line.split(' ').map(|word| if blank(word) { "#" } else { word }).collect()
}

/// Puts another line in place of one, or takes it away.
pub(crate) fn put(part: &mut PartText, line: usize, after: Option<&str>) {
    let lines = part.text.lines().enumerate();
    let lines = lines.filter_map(|(at, held)| if at == line { after } else { Some(held) });
    part.text = lines.map(|held| format!("{held}\n")).collect();
}
