//! A file as Slurm's own parser reads it: what stands behind `#` is gone, a backslash at the end
//! of a line joins it with the next, keys have no letter case, values may be quoted.

use std::borrow::Cow;

use crate::lines::Line;
use crate::values::Why;

/// One line, or several that backslashes join.
pub(super) struct Logical<'a> {
    /// The number of its first line.
    pub(super) number: u32,
    /// How many further lines belong to it.
    pub(super) joined: u32,
    /// What stands on its first line.
    pub(super) shown: &'a str,
    /// What the parser is left with, or why nobody can say.
    pub(super) text: Result<Cow<'a, str>, Why>,
}

impl<'a> Logical<'a> {
    /// A line that stands for itself.
    pub(super) const fn of(line: Line<'a>) -> Self {
        let text = Ok(Cow::Borrowed(line.text));
        Self { number: line.number, joined: 0, shown: line.text, text }
    }

    /// Takes as many lines as belong together.
    pub(super) fn gather(first: Line<'a>, rest: &mut impl Iterator<Item = Line<'a>>) -> Self {
        let mut logical = Self {
            number: first.number,
            joined: 0,
            shown: first.text,
            text: bare(first.text).map(Cow::Borrowed),
        };
        while let Ok(text) = &logical.text
            && let Some(begin) = text.strip_suffix('\\')
        {
            let begin = begin.to_owned();
            let Some(next) = rest.next() else {
                logical.text = Err("the line goes on, and nothing follows");
                break;
            };
            let is_next = next.number == first.number + logical.joined + 1;
            logical.joined = next.number - first.number;
            logical.text = if next.text.starts_with('#') {
                Err("a comment cannot be joined with a line")
            } else if !is_next {
                Err("an empty line stands behind one that goes on")
            } else {
                let gap = if next.indent > 0 { " " } else { "" };
                bare(next.text).map(|next| Cow::Owned(format!("{begin}{gap}{next}")))
            };
        }
        logical
    }
}

/// A line without its comment.
fn bare(text: &str) -> Result<&str, Why> {
    let (said, is_cut) = match text.split_once('#') {
        Some((said, _)) => (said.trim_end_matches([' ', '\t']), true),
        None => (text, false),
    };
    let inner = if is_cut { said } else { said.strip_suffix('\\').unwrap_or(said) };
    if inner.contains('\\') {
        return Err("a backslash makes of the next character something else than it looks");
    }
    Ok(said)
}

/// What a line sets: each key with its value, without quotes.
pub(super) fn settings(text: &str) -> Result<Vec<(&str, &str)>, Why> {
    const NOT_SET: Why = "a line is made of settings such as Key=value";
    let blank = [' ', '\t'];
    let is_key = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '.';
    let mut all = Vec::new();
    let mut rest = text.trim_matches(blank);
    while !rest.is_empty() {
        let end = rest.find(|letter| !is_key(letter)).ok_or(NOT_SET)?;
        let (key, after) = rest.split_at(end);
        let after = after.trim_start_matches(blank).strip_prefix('=').ok_or(NOT_SET)?;
        let after = after.trim_start_matches(blank);
        let (value, behind) = if let Some(quoted) = after.strip_prefix('"') {
            quoted.split_once('"').ok_or(NOT_SET)?
        } else {
            after.split_at(after.find(blank).unwrap_or(after.len()))
        };
        let is_apart = behind.is_empty() || behind.starts_with(blank);
        if key.is_empty() || value.is_empty() || value.contains('"') || !is_apart {
            return Err(NOT_SET);
        }
        all.push((key, value));
        rest = behind.trim_start_matches(blank);
    }
    Ok(all)
}

/// Refuses a line that sets something twice.
pub(super) fn once(settings: &[(&str, &str)]) -> Result<(), Why> {
    for (place, (key, _)) in settings.iter().enumerate() {
        if settings[..place].iter().any(|(other, _)| other.eq_ignore_ascii_case(key)) {
            return Err("the key stands there twice");
        }
    }
    Ok(())
}

/// Yes or no, in the words that Slurm takes for them.
pub(super) fn truth(value: &str) -> Option<bool> {
    let is = |words: [&str; 4]| words.iter().any(|word| value.eq_ignore_ascii_case(word));
    if is(["yes", "up", "true", "1"]) {
        Some(true)
    } else if is(["no", "down", "false", "0"]) {
        Some(false)
    } else {
        None
    }
}
