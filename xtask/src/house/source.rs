//! Just enough of Rust's grammar to see which paths a file speaks of.

/// The code alone: comments and the insides of literals become blanks, lines stay where they
/// are.
pub(super) fn code(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let after_word = code.ends_with(|letter: char| letter.is_alphanumeric() || letter == '_');
        let skipped = hidden_bytes(rest, after_word);
        let taken = if skipped == 0 { first.len_utf8() } else { skipped };
        let (piece, tail) = rest.split_at(taken);
        if skipped == 0 {
            code.push(first);
        } else {
            code.extend(piece.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
        }
        rest = tail;
    }
    code
}

/// How many bytes at the beginning are a comment or a literal.
fn hidden_bytes(rest: &str, after_word: bool) -> usize {
    if rest.starts_with("//") {
        return rest.find('\n').unwrap_or(rest.len());
    }
    if rest.starts_with("/*") {
        return block_comment_bytes(rest);
    }
    if rest.starts_with('"') {
        return quoted_bytes(rest, '"');
    }
    if rest.starts_with('\'') {
        return char_bytes(rest);
    }
    if rest.starts_with('r') && !after_word {
        return raw_string_bytes(rest);
    }
    0
}

fn block_comment_bytes(rest: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < rest.len() {
        if rest[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += rest[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

fn quoted_bytes(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, letter) in rest.char_indices().skip(1) {
        if letter == quote && !escaped {
            return at + 1;
        }
        escaped = letter == '\\' && !escaped;
    }
    rest.len()
}

/// A quote begins a character if it ends after one letter or an escape, and a lifetime
/// otherwise.
fn char_bytes(rest: &str) -> usize {
    let mut letters = rest.chars().skip(1);
    match (letters.next(), letters.next()) {
        (Some('\\'), _) | (Some(_), Some('\'')) => quoted_bytes(rest, '\''),
        _ => 0,
    }
}

fn raw_string_bytes(rest: &str) -> usize {
    let hashes = rest[1..].bytes().take_while(|byte| *byte == b'#').count();
    if !rest[1 + hashes..].starts_with('"') {
        return 0;
    }
    let end = format!("\"{}", "#".repeat(hashes));
    let inside = 2 + hashes;
    rest[inside..].find(&end).map_or(rest.len(), |at| inside + at + end.len())
}

/// A path that a file speaks of, and the line where it does.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct Spoken {
    pub(super) line: usize,
    pub(super) path: String,
}

/// Every path with each of its beginnings: `std::fs::File` gives `std`, `std::fs` and
/// `std::fs::File`, also when it is written as `std::{fs::{File}}`.
pub(super) fn paths(code: &str) -> Vec<Spoken> {
    let mut found = Vec::new();
    // What a name stands behind, for each open brace.
    let mut prefixes: Vec<String> = vec![String::new()];
    let mut current = String::new();
    let mut joined = false;
    for (line, token) in tokens(code) {
        let prefix = prefixes.last().cloned().unwrap_or_default();
        match token {
            "::" => joined = true,
            "{" => {
                let opened = if joined { current.clone() } else { String::new() };
                prefixes.push(opened);
                joined = false;
            }
            "}" => {
                prefixes.pop();
                joined = false;
            }
            word if word.starts_with(|letter: char| letter.is_alphabetic() || letter == '_') => {
                let behind = if joined { &current } else { &prefix };
                current =
                    if behind.is_empty() { word.to_owned() } else { format!("{behind}::{word}") };
                joined = false;
                let path = current.clone();
                found.push(Spoken { line, path });
            }
            _ => joined = false,
        }
    }
    found
}

/// Code of which what stands behind `#[test]` and `#[cfg(test)]` is blank, as comments are.
pub(super) fn without_tests(code: &str) -> String {
    let mut left = String::with_capacity(code.len());
    let mut rest = code;
    while let Some(at) = ["#[test]", "#[cfg(test)]"].iter().filter_map(|of| rest.find(of)).min() {
        let (before, tested) = rest.split_at(at);
        let (item, after) = tested.split_at(item_bytes(tested));
        left.push_str(before);
        left.extend(item.chars().map(|letter| if letter == '\n' { '\n' } else { ' ' }));
        rest = after;
    }
    left + rest
}

/// How long an item with its attributes is: it ends with its block, or with `;` where it has none.
fn item_bytes(item: &str) -> usize {
    let mut depth = 0_usize;
    for (at, letter) in item.char_indices() {
        match letter {
            '{' | '(' | '[' => depth += 1,
            '}' | ')' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && matches!(letter, '}' | ';') {
            return at + 1;
        }
    }
    item.len()
}

/// Words, `::` and single signs, each with its line.
pub(super) fn tokens(code: &str) -> impl Iterator<Item = (usize, &str)> {
    code.lines().enumerate().flat_map(|(position, line)| {
        let mut rest = line;
        std::iter::from_fn(move || {
            rest = rest.trim_start();
            let first = rest.chars().next()?;
            let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
            let bytes = if is_word(first) {
                rest.find(|letter| !is_word(letter)).unwrap_or(rest.len())
            } else if rest.starts_with("::") {
                2
            } else {
                first.len_utf8()
            };
            let (token, tail) = rest.split_at(bytes);
            rest = tail;
            Some((position + 1, token))
        })
    })
}

#[test]
fn comments_and_literals_are_blank_and_code_stays() {
    let text = "a /* b /* c */ d */ e // f\n\"g\\\"h\" r#\"i\"j\"# 'k' '\\'' &'l m for r in n";
    let code = code(text);
    let words: Vec<&str> = code.split_whitespace().collect();
    assert_eq!(words, ["a", "e", "&'l", "m", "for", "r", "in", "n"]);
    assert_eq!(code.lines().count(), 2);
}

#[test]
fn tests_are_blank_and_what_follows_them_stays() {
    let text = "a;\n#[cfg(test)]\nmod b;\nc {}\n#[test]\nfn d(e: [u8; 2]) { f { g; } }\nh";
    let left = without_tests(text);
    let words: Vec<&str> = left.split_whitespace().collect();
    assert_eq!(words, ["a;", "c", "{}", "h"]);
    assert_eq!(left.lines().count(), text.lines().count());
}

#[test]
fn grouped_paths_are_spelled_out() {
    let found = paths("use std::{fmt,\n fs::{self, File}};\nfn f() { x::y(); z }");
    let found: Vec<String> =
        found.iter().map(|spoken| format!("{} {}", spoken.line, spoken.path)).collect();
    assert_eq!(
        found,
        [
            "1 use",
            "1 std",
            "1 std::fmt",
            "2 std::fs",
            "2 std::fs::self",
            "2 std::fs::File",
            "3 fn",
            "3 f",
            "3 x",
            "3 x::y",
            "3 z",
        ]
    );
}
