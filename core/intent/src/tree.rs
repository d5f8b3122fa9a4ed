//! YAML or JSON as a tree in which everything knows its place.
//!
//! Anchors, aliases and tags are refused: models say equal things once, and without aliases a
//! document is never larger than its text. Nothing here recurses over what people wrote, and the
//! depth is limited, so no text can exhaust the stack.

use std::collections::BTreeMap;

use granit_parser::{Event, Marker, Parser, ScalarStyle, options};
use smol_str::SmolStr;

use crate::Problem;
use crate::form::shown;
use crate::refusal::Refusals;

/// A place in the texts.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct Pos {
    pub(crate) file: u32,
    pub(crate) line: u32,
    pub(crate) column: u32,
}

impl Pos {
    /// Sorts behind everything that stands somewhere.
    pub(crate) const NOWHERE: Self = Self { file: u32::MAX, line: 0, column: 0 };
}

/// Something and where it stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct At<T> {
    pub(crate) value: T,
    pub(crate) pos: Pos,
}

/// A value and where it stands.
#[derive(Debug)]
pub(crate) struct Tree {
    pub(crate) pos: Pos,
    pub(crate) value: Value,
}

#[derive(Debug)]
pub(crate) enum Value {
    /// Text as it was written; `plain` when it had no quotes and may be a number or a truth.
    Scalar {
        text: SmolStr,
        plain: bool,
    },
    List(Vec<Tree>),
    Map(Vec<(At<SmolStr>, Tree)>),
}

impl Value {
    /// Whether nothing was written where a value could be.
    pub(crate) fn is_nothing(&self) -> bool {
        match self {
            Self::Scalar { text, plain: true } => {
                matches!(text.as_str(), "" | "~" | "null" | "Null" | "NULL")
            }
            _ => false,
        }
    }
}

/// How deep values may be nested; our deepest document needs a dozen levels.
const DEEPEST: usize = 64;

/// The part of a file that is one document.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Chunk<'a> {
    /// How many lines of the file are before it.
    pub(crate) lines_before: u32,
    pub(crate) text: &'a str,
}

/// Splits a file at its document marks. YAML allows neither mark at the beginning of a line
/// anywhere else (YAML 1.2.2, rule 206, c-forbidden), so a broken document cannot hide the next.
pub(crate) fn chunks(text: &str) -> Vec<Chunk<'_>> {
    let mut chunks = Vec::new();
    let (mut start, mut first_line, mut has_content) = (0, 0, false);
    let (mut offset, mut line_number) = (0, 0);
    for line in text.split_inclusive('\n') {
        let ends = is_mark(line, "...");
        // Directives stand before the mark that begins their own document.
        if ends || (is_mark(line, "---") && has_content) {
            let end = if ends { offset + line.len() } else { offset };
            chunks.push(Chunk { lines_before: first_line, text: &text[start..end] });
            start = end;
            first_line = line_number + u32::from(ends);
            has_content = false;
        }
        if !ends {
            has_content |= !matches!(line.trim_start().bytes().next(), None | Some(b'#' | b'%'));
        }
        offset += line.len();
        line_number = line_number.saturating_add(1);
    }
    chunks.push(Chunk { lines_before: first_line, text: &text[start..] });
    chunks
}

fn is_mark(line: &str, mark: &str) -> bool {
    line.strip_prefix(mark)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']))
}

/// The value of one chunk; none when it is empty or was refused.
pub(crate) fn tree(file: u32, chunk: Chunk<'_>, out: &mut Refusals) -> Option<Tree> {
    let place = |marker: &Marker| Pos {
        file,
        line: chunk.lines_before.saturating_add(as_u32(marker.line())),
        column: as_u32(marker.col()).saturating_add(1),
    };
    let already = out.count();
    let mut growth = Growth::default();
    let parser = Parser::new_from_str_with_options(chunk.text, options! { emit_comments: false });
    for step in parser {
        let (event, span) = match step {
            Ok(step) => step,
            Err(error) => {
                let said = shown(&error.info());
                out.refuse(place(error.marker()), Problem::NotYaml { said });
                return None;
            }
        };
        let pos = place(&span.start);
        if growth.open.len() > DEEPEST {
            out.refuse(pos, Problem::TooDeep { most: DEEPEST });
            return None;
        }
        growth.take(event, pos, out);
    }
    growth.root.filter(|tree| out.count() == already && !tree.value.is_nothing())
}

fn as_u32(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// A tree while it grows.
#[derive(Default)]
struct Growth {
    open: Vec<Open>,
    root: Option<Tree>,
}

enum Open {
    List(Pos, Vec<Tree>),
    Map {
        pos: Pos,
        entries: Vec<(At<SmolStr>, Tree)>,
        seen: BTreeMap<SmolStr, Pos>,
        key: Option<At<SmolStr>>,
    },
}

impl Growth {
    fn take(&mut self, event: Event<'_>, pos: Pos, out: &mut Refusals) {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                refuse_extras(anchor != 0, tag.is_some(), pos, out);
                let value = Value::Scalar {
                    text: SmolStr::from(&*text),
                    plain: style == ScalarStyle::Plain,
                };
                self.grow(Tree { pos, value }, out);
            }
            Event::SequenceStart(_, anchor, tag) => {
                refuse_extras(anchor != 0, tag.is_some(), pos, out);
                self.open.push(Open::List(pos, Vec::new()));
            }
            Event::MappingStart(_, anchor, tag) => {
                refuse_extras(anchor != 0, tag.is_some(), pos, out);
                self.open.push(Open::Map {
                    pos,
                    entries: Vec::new(),
                    seen: BTreeMap::new(),
                    key: None,
                });
            }
            Event::SequenceEnd | Event::MappingEnd => {
                if let Some(closed) = self.open.pop() {
                    self.grow(closed.into_tree(), out);
                }
            }
            Event::Alias(_) => {
                out.refuse(pos, Problem::Alias);
                let value = Value::List(Vec::new());
                self.grow(Tree { pos, value }, out);
            }
            _ => {}
        }
    }

    /// Puts a whole value where it belongs: into the innermost open list or map.
    fn grow(&mut self, tree: Tree, out: &mut Refusals) {
        match self.open.last_mut() {
            None if self.root.is_none() => self.root = Some(tree),
            None => out.refuse(tree.pos, Problem::TwoValues),
            Some(Open::List(_, items)) => items.push(tree),
            Some(Open::Map { entries, seen, key, .. }) => match key.take() {
                None => *key = Some(as_key(tree, out)),
                Some(name) => match seen.get(&name.value) {
                    None => {
                        seen.insert(name.value.clone(), name.pos);
                        entries.push((name, tree));
                    }
                    Some(first) => {
                        let first = out.place(*first);
                        let key = name.value.to_string();
                        out.refuse(name.pos, Problem::DuplicateKey { key, first });
                    }
                },
            },
        }
    }
}

impl Open {
    fn into_tree(self) -> Tree {
        match self {
            Self::List(pos, items) => Tree { pos, value: Value::List(items) },
            Self::Map { pos, entries, .. } => Tree { pos, value: Value::Map(entries) },
        }
    }
}

fn as_key(tree: Tree, out: &mut Refusals) -> At<SmolStr> {
    let pos = tree.pos;
    match tree.value {
        Value::Scalar { text, .. } => At { value: text, pos },
        Value::List(_) | Value::Map(_) => {
            out.refuse(pos, Problem::KeyIsNoText);
            let value = SmolStr::default();
            At { value, pos }
        }
    }
}

fn refuse_extras(has_anchor: bool, has_tag: bool, pos: Pos, out: &mut Refusals) {
    if has_anchor {
        out.refuse(pos, Problem::Alias);
    }
    if has_tag {
        out.refuse(pos, Problem::YamlTag);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[(u32, &str)]) {
        let found: Vec<(u32, &str)> =
            chunks(text).into_iter().map(|chunk| (chunk.lines_before, chunk.text)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_file_is_split_at_its_marks_and_lines_are_counted() {
        check("a: 1\n---\nb: 2\n", &[(0, "a: 1\n"), (1, "---\nb: 2\n")]);
        check("# why\n---\na: 1\n", &[(0, "# why\n---\na: 1\n")]);
        check("%YAML 1.2\n--- a\n...\nb\n", &[(0, "%YAML 1.2\n--- a\n...\n"), (3, "b\n")]);
        check("a: ---\n----\n", &[(0, "a: ---\n----\n")]);
        check("", &[(0, "")]);
    }
}
