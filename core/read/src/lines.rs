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
        let text = whole.trim_start_matches([' ', '\t']);
        Line { number, indent: whole.len() - text.len(), text: text.trim_ascii_end() }
    })
}

impl<'a> Line<'a> {
    /// Its words.
    pub(crate) fn words(&self) -> Words<'a> {
        let mut words = Words { list: [""; Words::MOST], count: 0 };
        let places = words.list.iter_mut();
        for (place, word) in places.zip(self.text.split_ascii_whitespace()) {
            *place = word;
            words.count += 1;
        }
        words
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
