//! The part of YAML that Kubernetes' own tools print: blocks of keys and items, a line each.
//!
//! Anything else (anchors, tags, collections in braces, keys that stand twice) is refused, because
//! two readers could take it for two different things.

use std::borrow::Cow;

use crate::values::Why;

/// A document: every key and item in the order of their lines, each with what stands below it.
pub(crate) struct Document<'a> {
    entries: Vec<Entry<'a>>,
}

struct Entry<'a> {
    line: u32,
    /// The whole line.
    text: &'a str,
    /// Empty for an item of a list.
    key: Cow<'a, str>,
    value: Option<Cow<'a, str>>,
    /// Where the next entry stands that is not below this one.
    end: usize,
}

/// A key or an item, and what stands below it.
#[derive(Clone, Copy)]
pub(crate) struct Node<'d, 'a> {
    document: &'d Document<'a>,
    at: usize,
}

/// A line that is not read, and why.
pub(crate) struct Broken<'a> {
    pub(crate) line: u32,
    pub(crate) text: &'a str,
    pub(crate) why: Why,
}

/// As deep as most objects are.
const USUAL_DEPTH: usize = 16;

/// As long as most objects are.
const USUAL_ENTRIES: usize = 96;

/// More keys are in no object, and a hostile one must not make work without end.
const MOST_KEYS: usize = 512;

const NOT_A_KEY: Why = "a line is a key with a colon, or an item after a dash";
const SEVERAL_LINES: Why = "a text in quotes ends on its line";

impl<'a> Document<'a> {
    pub(crate) fn new() -> Self {
        Self { entries: Vec::with_capacity(USUAL_ENTRIES) }
    }

    /// Takes the lines of the next document in place of the last one's.
    pub(crate) fn read(
        &mut self,
        lines: impl Iterator<Item = (u32, &'a str)>,
    ) -> Result<(), Broken<'a>> {
        self.entries.clear();
        let root = Entry { line: 0, text: "", key: "".into(), value: None, end: 0 };
        self.entries.push(root);
        let mut open = Vec::with_capacity(USUAL_DEPTH);
        open.push(Open::ROOT);
        let mut reader = Reader { document: self, open, block: None, goes_on: false };
        for (line, text) in lines {
            reader.line(line, text).map_err(|why| Broken { line, text: text.trim(), why })?;
        }
        reader.end_block();
        reader.close_to(0);
        let all = self.entries.len();
        self.entries[0].end = all;
        Ok(())
    }

    /// What all the others stand below.
    pub(crate) fn root(&self) -> Node<'_, 'a> {
        Node { document: self, at: 0 }
    }
}

impl<'d, 'a> Node<'d, 'a> {
    fn entry(self) -> &'d Entry<'a> {
        &self.document.entries[self.at]
    }

    pub(crate) fn line(self) -> u32 {
        self.entry().line
    }

    /// The whole line.
    pub(crate) fn text(self) -> &'a str {
        self.entry().text
    }

    /// Its key; nothing for an item.
    pub(crate) fn key(self) -> &'d str {
        &self.entry().key
    }

    /// What stands beside it; nothing if that stands below it.
    pub(crate) fn value(self) -> Option<&'d str> {
        self.entry().value.as_deref()
    }

    /// What stands directly below it.
    pub(crate) fn children(self) -> impl Iterator<Item = Self> {
        let end = self.entry().end;
        let mut next = self.at + 1;
        std::iter::from_fn(move || {
            let at = next;
            let entry = self.document.entries.get(at).filter(|_| at < end)?;
            next = entry.end;
            Some(Self { document: self.document, at })
        })
    }

    /// Everything below it, and itself.
    pub(crate) fn all(self) -> impl Iterator<Item = Self> {
        (self.at..self.entry().end).map(move |at| Self { document: self.document, at })
    }

    /// What stands below it under this key.
    pub(crate) fn get(self, key: &str) -> Option<Self> {
        self.children().find(|child| child.key() == key)
    }

    /// The text under this key.
    pub(crate) fn text_of(self, key: &str) -> Option<&'d str> {
        self.get(key).and_then(Self::value)
    }
}

struct Reader<'d, 'a> {
    document: &'d mut Document<'a>,
    /// The entries around the next line, outermost first.
    open: Vec<Open>,
    /// The text over several lines that is being read.
    block: Option<Block>,
    /// Whether the next line may go on with the text of the last one.
    goes_on: bool,
}

/// A text over several lines, as it stands there.
struct Block {
    /// How far its key is indented: the text ends before a line that is not indented more.
    key: usize,
    /// How far its first line is; that is no part of the text.
    indent: Option<usize>,
    /// Whether the break after its last line is part of it.
    is_ended: bool,
    /// Lines without anything, which count only if another one follows.
    empty: usize,
}

struct Open {
    at: usize,
    indent: usize,
    is_item: bool,
    /// How what stands below it is written: its indent, whether it is items, and how much it is.
    below: Option<(usize, bool, usize)>,
}

impl Open {
    const ROOT: Self = Self { at: 0, indent: 0, is_item: false, below: None };
}

impl<'a> Reader<'_, 'a> {
    fn line(&mut self, line: u32, whole: &'a str) -> Result<(), Why> {
        let text = whole.trim_start_matches(' ');
        let indent = whole.len() - text.len();
        if let Some(block) = &mut self.block {
            if text.is_empty() {
                block.empty += 1;
                return Ok(());
            }
            if indent > block.key {
                return self.go_on(indent, whole);
            }
            self.end_block();
        }
        let text = text.trim_ascii_end();
        if text.is_empty() || text.starts_with('#') {
            self.goes_on = false;
            return Ok(());
        }
        if text.contains('\t') {
            return Err("lines are indented, and words parted, by spaces");
        }
        // The start of a document with something beside it, and the end of one.
        if indent == 0 && (text.starts_with("---") || text.starts_with("...")) {
            return Err("documents are parted by a line with three dashes alone");
        }
        let before = std::mem::replace(&mut self.goes_on, true);
        self.entry(line, whole.trim(), indent, text, before)
    }

    fn entry(
        &mut self,
        line: u32,
        whole: &'a str,
        mut indent: usize,
        mut text: &'a str,
        goes_on: bool,
    ) -> Result<(), Why> {
        let mut is_item = false;
        while let Some(rest) = text.strip_prefix('-').filter(|rest| is_blank(rest)) {
            self.add(indent, true, line, whole, "".into())?;
            is_item = true;
            let after = rest.trim_start_matches(' ');
            indent += 1 + rest.len() - after.len();
            text = after;
        }
        // After a dash may stand nothing but a comment.
        if text.is_empty() || text.starts_with('#') {
            return Ok(());
        }
        let Some((key, rest)) = split(text)? else {
            return match (is_item, goes_on) {
                (true, _) => self.say(indent, text),
                (false, true) => self.carry_on(indent, text),
                (false, false) => Err(NOT_A_KEY),
            };
        };
        self.add(indent, false, line, whole, key)?;
        self.say(indent, rest)
    }

    /// A new entry below the nearest open one that is indented less.
    fn add(
        &mut self,
        indent: usize,
        is_item: bool,
        line: u32,
        text: &'a str,
        key: Cow<'a, str>,
    ) -> Result<(), Why> {
        // Items may stand right below their key, as far to the left as it.
        let ends = |open: &Open| {
            open.indent > indent || (open.indent == indent && (open.is_item || !is_item))
        };
        let kept = self.open[1..].iter().position(ends).map_or(self.open.len(), |at| at + 1);
        self.close_to(kept);
        let at = self.document.entries.len();
        let Some(parent) = self.open.last_mut() else { return Err(NOT_A_KEY) };
        if self.document.entries[parent.at].value.is_some() {
            return Err("below a text stands nothing");
        }
        let (column, are_items, count) = parent.below.unwrap_or((indent, is_item, 0));
        if (column, are_items) != (indent, is_item) {
            return Err("what stands below one key begins at one column, all keys or all items");
        }
        parent.below = Some((column, are_items, count + 1));
        let parent = parent.at;
        if !is_item {
            if count >= MOST_KEYS {
                return Err("no object has so many keys");
            }
            self.is_new(parent, &key)?;
        }
        self.document.entries.push(Entry { line, text, key, value: None, end: at + 1 });
        self.open.push(Open { at, indent, is_item, below: None });
        Ok(())
    }

    /// Everything before it is closed by now, so the siblings know where they end.
    fn is_new(&self, parent: usize, key: &str) -> Result<(), Why> {
        let mut at = parent + 1;
        while let Some(entry) = self.document.entries.get(at) {
            if entry.key == key {
                return Err("the key stands there twice");
            }
            at = entry.end;
        }
        Ok(())
    }

    /// What stands beside the last entry.
    fn say(&mut self, indent: usize, text: &'a str) -> Result<(), Why> {
        let value = match text.as_bytes() {
            [] | b"{}" | b"[]" | b"~" | b"null" | b"Null" | b"NULL" => None,
            b"|" | b"|-" => {
                let is_ended = text == "|";
                self.block = Some(Block { key: indent, indent: None, is_ended, empty: 0 });
                Some("".into())
            }
            [b'"', ..] => Some(double_quoted(uncommented(text))?),
            [b'\'', ..] => Some(single_quoted(uncommented(text))?),
            [b'[' | b'{' | b'&' | b'*' | b'!' | b'|' | b'>' | b'%' | b'@' | b'`', ..] => {
                return Err("write it in lines, as kubectl prints it");
            }
            [b'#', ..] => None,
            [b',' | b']' | b'}' | b'-' | b'?', b' ', ..] | b"-" | b"?" => return Err(NOT_A_KEY),
            _ => Some(plain(text)?.into()),
        };
        if let Some(entry) = self.document.entries.last_mut() {
            entry.value = value;
        }
        Ok(())
    }

    /// A plain text goes on in the next line if that is indented more.
    fn carry_on(&mut self, indent: usize, text: &str) -> Result<(), Why> {
        let is_below = self.open.last().is_some_and(|open| indent > open.indent);
        let last = self.document.entries.last_mut();
        let Some(entry) = last.filter(|entry| is_below && entry.value.is_some()) else {
            return Err(NOT_A_KEY);
        };
        if entry.text.ends_with(['"', '\'']) {
            return Err(SEVERAL_LINES);
        }
        if let Some(value) = &mut entry.value {
            let value = value.to_mut();
            value.push(' ');
            value.push_str(plain(text)?);
        }
        Ok(())
    }

    /// The next line of a text over several lines.
    fn go_on(&mut self, indent: usize, whole: &str) -> Result<(), Why> {
        let Some(block) = &mut self.block else { return Err(NOT_A_KEY) };
        let is_first = block.indent.is_none();
        let start = *block.indent.get_or_insert(indent);
        if indent < start || (is_first && block.empty > 0) {
            return Err("a text over several lines begins at one column, with its first line");
        }
        let breaks = std::mem::take(&mut block.empty) + usize::from(!is_first);
        if let Some(value) = self.document.entries.last_mut().and_then(|last| last.value.as_mut()) {
            let value = value.to_mut();
            value.extend(std::iter::repeat_n('\n', breaks));
            value.push_str(&whole[start..]);
        }
        Ok(())
    }

    fn end_block(&mut self) {
        let Some(block) = self.block.take() else { return };
        self.goes_on = false;
        let value = self.document.entries.last_mut().and_then(|last| last.value.as_mut());
        if let Some(value) = value.filter(|_| block.is_ended && block.indent.is_some()) {
            value.to_mut().push('\n');
        }
    }

    fn close_to(&mut self, kept: usize) {
        let end = self.document.entries.len();
        for open in self.open.drain(kept..) {
            self.document.entries[open.at].end = end;
        }
    }
}

fn is_blank(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with(' ')
}

/// The key before the first colon that ends a word, and what stands after it.
fn split(text: &str) -> Result<Option<(Cow<'_, str>, &str)>, Why> {
    if let [quote @ (b'"' | b'\''), ..] = text.as_bytes() {
        let quote = char::from(*quote);
        let Some(end) = text[1..].find(quote) else { return Err(SEVERAL_LINES) };
        let (key, rest) = (&text[1..=end], &text[end + 2..]);
        return match rest.strip_prefix(':').filter(|rest| is_blank(rest)) {
            Some(_) if key.contains('\\') => Err("a key has no backslash"),
            Some(_) if key == "<<" => Err("write it in lines, as kubectl prints it"),
            Some(rest) => Ok(Some((key.into(), rest.trim_ascii_start()))),
            None => Ok(None),
        };
    }
    let bytes = text.as_bytes();
    let ends =
        |at: &usize| bytes[*at] == b':' && bytes.get(at + 1).is_none_or(|next| *next == b' ');
    let Some(colon) = (0..bytes.len()).find(ends) else { return Ok(None) };
    let key = &text[..colon];
    if key.contains(" #") {
        return Err(NOT_A_KEY);
    }
    match key.as_bytes() {
        b"<<" => Err("write it in lines, as kubectl prints it"),
        [] | [b'?' | b'[' | b'{' | b'&' | b'*' | b'!' | b'|' | b'>' | b'%' | b'@' | b'`', ..] => {
            Err(NOT_A_KEY)
        }
        _ => Ok(Some((key.into(), text[colon + 1..].trim_ascii_start()))),
    }
}

/// A plain text ends where a comment begins, and is no key of anything.
fn plain(text: &str) -> Result<&str, Why> {
    let text = text.find(" #").map_or(text, |comment| text[..comment].trim_ascii_end());
    if text.contains(": ") || text.ends_with(':') {
        return Err("a text with a colon before a space stands in quotes");
    }
    Ok(text)
}

/// A text in quotes without the comment behind it. Quotes inside stand twice, or behind a
/// backslash, so that the first that does not is the last.
fn uncommented(text: &str) -> &str {
    let bytes = text.as_bytes();
    let quote = bytes[0];
    let mut at = 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if quote == b'"' => at += 1,
            byte if byte == quote && quote == b'\'' && bytes.get(at + 1) == Some(&quote) => at += 1,
            byte if byte == quote => {
                let rest = &text[at + 1..];
                let is_comment = rest.starts_with(' ') && rest.trim_start().starts_with('#');
                return if is_comment { &text[..=at] } else { text };
            }
            _ => {}
        }
        at += 1;
    }
    text
}

fn single_quoted(text: &str) -> Result<Cow<'_, str>, Why> {
    let inner = text[1..].strip_suffix('\'').ok_or(SEVERAL_LINES)?;
    if !inner.contains('\'') {
        return Ok(inner.into());
    }
    let pairs = inner.replace("''", "");
    if pairs.contains('\'') {
        return Err("inside of single quotes a quote stands twice");
    }
    Ok(inner.replace("''", "'").into())
}

fn double_quoted(text: &str) -> Result<Cow<'_, str>, Why> {
    let inner = text[1..].strip_suffix('"').ok_or(SEVERAL_LINES)?;
    if !inner.contains(['"', '\\']) {
        return Ok(inner.into());
    }
    const ESCAPE: Why = "after a backslash stands a quote, a backslash, n, t or x and two digits";
    let mut value = String::with_capacity(inner.len());
    let mut letters = inner.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => return Err(SEVERAL_LINES),
            '\\' => value.push(match letters.next() {
                Some(same @ ('"' | '\\' | '/')) => same,
                Some('n') => '\n',
                Some('t') => '\t',
                Some('x') => {
                    let digits = letters.as_str().get(..2).ok_or(ESCAPE)?;
                    letters.nth(1);
                    char::from(u8::from_str_radix(digits, 16).map_err(|_| ESCAPE)?)
                }
                _ => return Err(ESCAPE),
            }),
            other => value.push(other),
        }
    }
    Ok(value.into())
}
