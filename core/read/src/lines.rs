//! A text as lines and words, with their numbers and indents.

/// One line of an indented text. Nothing is copied.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<'a> {
    /// Counted from 1.
    pub(crate) number: u32,
    /// How many spaces and tabs stand in front.
    pub(crate) indent: usize,
    /// What stands there, without space around it.
    pub(crate) text: &'a str,
}

/// Every line of a text, also the empty ones.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    (1..).zip(text.lines()).map(|(number, whole)| {
        let text = whole.trim_start_matches(SPACE);
        Line { number, indent: whole.len() - text.len(), text: text.trim_end_matches(SPACE) }
    })
}

/// The words of a text, however many.
pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(SPACE).filter(|word| !word.is_empty())
}

/// What stands between words. No device takes anything else for it, so that a word with a form feed
/// is one that nobody knows.
const SPACE: [char; 2] = [' ', '\t'];

impl<'a> Line<'a> {
    /// Its words.
    pub(crate) fn words(&self) -> Words<'a> {
        let mut first = Words { list: [""; Words::MOST], count: 0 };
        for (place, word) in first.list.iter_mut().zip(words(self.text)) {
            *place = word;
            first.count += 1;
        }
        first
    }
}

/// The words of a line. Of a longer line than any grammar has, only the first ones: a pattern
/// for such a line must be shorter than [`Words::MOST`], so that it cannot match a cut line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Words<'a> {
    list: [&'a str; Words::MOST],
    count: usize,
}

impl<'a> Words<'a> {
    const MOST: usize = 18;

    /// The words, to be matched with a pattern.
    pub(crate) fn as_slice(&self) -> &[&'a str] {
        &self.list[..self.count]
    }
}
