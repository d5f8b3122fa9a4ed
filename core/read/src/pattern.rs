//! One value by pattern: what may stand where a line says nothing that matters.
//!
//! A pattern is a line, its words one space apart. `<number>`, or another class, stands for one
//! value of it, also behind a beginning: `SlurmdPort=<number>`. `(yes|no)` stands for one of these
//! words. `<text>` is the rest of a line, for what people write to each other.

use std::net::Ipv4Addr;

use crate::lines::words;

/// Whether a line is as the pattern has it: the whole of it, and nothing behind.
pub(crate) fn matches(pattern: &str, line: &str) -> bool {
    let mut rest = words(line);
    for piece in words(pattern) {
        if let Some(begin) = piece.strip_suffix("<text>") {
            // Everything behind is text, and so may nothing be.
            return begin.is_empty() || rest.next().is_some_and(|word| word.starts_with(begin));
        }
        if !rest.next().is_some_and(|word| is_one(piece, word)) {
            return false;
        }
    }
    rest.next().is_none()
}

/// A line as the pattern has it.
pub(crate) fn example(pattern: &str) -> String {
    let pieces: Vec<String> = words(pattern).map(|piece| one_of(piece).concat()).collect();
    pieces.join(" ")
}

/// Whether a word is as a piece of a pattern has it.
fn is_one(piece: &str, word: &str) -> bool {
    let Some(open) = piece.find(['<', '(']) else { return piece == word };
    let (begin, class) = piece.split_at(open);
    let Some(value) = word.strip_prefix(begin) else { return false };
    if let Some(choices) = class.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
        return choices.split('|').any(|choice| choice == value);
    }
    let class = class.strip_prefix('<').and_then(|rest| rest.strip_suffix('>'));
    CLASSES.iter().any(|(name, _, is)| Some(*name) == class && is(value))
}

/// A piece's beginning and a value of its class.
fn one_of(piece: &str) -> [&str; 2] {
    let Some(open) = piece.find(['<', '(']) else { return [piece, ""] };
    let (begin, class) = piece.split_at(open);
    let choices = class.trim_matches(['<', '>', '(', ')']);
    let known = CLASSES.iter().find(|(name, ..)| *name == choices).map(|(_, example, _)| *example);
    [begin, known.or_else(|| choices.split('|').next()).unwrap_or_default()]
}

/// A class of values: its name, one of them, and whether a word is one.
type Class = (&'static str, &'static str, fn(&str) -> bool);

/// Every class that a pattern can name.
const CLASSES: &[Class] = &[
    ("number", "30", is_number),
    ("port", "6818", |word| is_between(word, 1024, 65_535)),
    ("seconds", "30", |word| is_between(word, 2, 65_533)),
    ("many", "10000", |word| is_between(word, 1000, 1_000_000_000)),
    ("name", "red.train-1", |word| is_of(word, b"._-")),
    ("word", "a%b", |word| word.bytes().all(|byte| byte.is_ascii_graphic())),
    ("hex", "0x1f", |word| {
        let digits = word.strip_prefix("0x").unwrap_or(word);
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
    }),
    ("version", "8.4.4", |word| is_of(word, b".-+~_()")),
    ("path", "/var/log/one-%n.log", |word| {
        word.starts_with('/') && is_of(word, b"/._-+%@") && !word.contains("/../")
    }),
    ("address", "10.255.0.1", |word| word.parse::<Ipv4Addr>().is_ok()),
    ("prefix", "10.255.0.1/24", |word| word.parse::<ipnet::Ipv4Net>().is_ok()),
    ("mac", "02:00:00:00:00:01", |word| word.parse::<wire::Mac>().is_ok()),
    ("terminal", "/dev/pts/3", |word| word.strip_prefix("/dev/pts/").is_some_and(is_number)),
    ("label", "+64055:+108", is_label),
    ("text", "what people write", |_| true),
];

/// What libvirt's drivers of security write for a machine that they keep from others: a profile of
/// its own, a context of the domain for machines, or a user who is not root.
fn is_label(word: &str) -> bool {
    const CONTEXT: &str = "system_u:system_r:svirt_t:s0:c";
    const IMAGE: &str = "system_u:object_r:svirt_image_t:s0:c";
    let is_user = |id: &str| id.strip_prefix('+').is_some_and(|id| is_number(id) && id != "0");
    let context = word.strip_prefix(CONTEXT).or_else(|| word.strip_prefix(IMAGE));
    word.strip_prefix("libvirt-").is_some_and(|rest| is_of(rest, b"-"))
        || context.is_some_and(|rest| is_of(rest, b",c") && rest.contains(",c"))
        || word.split_once(':').is_some_and(|(user, group)| is_user(user) && is_user(group))
}

/// Digits, few enough to be a number.
fn is_number(word: &str) -> bool {
    (1..=10).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_digit())
}

/// A number from one to another.
fn is_between(word: &str, least: u64, most: u64) -> bool {
    is_number(word) && word.parse().is_ok_and(|number| (least..=most).contains(&number))
}

/// Letters, digits and these, and at least one of them.
fn is_of(word: &str, also: &[u8]) -> bool {
    let is_one = |byte: u8| byte.is_ascii_alphanumeric() || also.contains(&byte);
    !word.is_empty() && word.bytes().all(is_one)
}

/// What people do not see, or see otherwise than programs read it, and the sentence for it.
///
/// Lines end with a line feed and with nothing else: a carriage return ends one for some consumers
/// and for others it does not, and so do three characters of Unicode. Marks of direction and
/// characters without width show another text than the one that stands there.
pub(crate) fn unseen(line: &str) -> Option<&'static str> {
    const WHY: &str = "a character that is not seen, or that ends a line for some readers only";
    let is_plain = |byte: u8| (b' '..0x7f).contains(&byte) || byte == b'\t';
    if line.bytes().all(is_plain) {
        return None;
    }
    let is_unseen = |letter: char| {
        (letter.is_control() && letter != '\t')
            || (letter.is_whitespace() && letter != ' ' && letter != '\t')
            || matches!(letter, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}')
            || matches!(letter, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff0}'..='\u{ffff}')
    };
    line.chars().any(is_unseen).then_some(WHY)
}

#[cfg(test)]
mod tests {
    use super::{CLASSES, example, is_one, matches, unseen};

    #[test]
    fn a_pattern_is_a_whole_line_and_nothing_behind() {
        for (pattern, line, is) in [
            ("hostname <name>", "hostname leaf-1", true),
            ("hostname <name>", "hostname  leaf-1", true),
            ("hostname <name>", "hostname leaf-1 and more", false),
            ("hostname <name>", "hostname", false),
            ("SlurmdPort=<number>", "SlurmdPort=6818", true),
            ("SlurmdPort=<number>", "SlurmdPort=6818,6819", false),
            ("SlurmdPort=<number>", "SlurmdPort=", false),
            ("KillWait=(30|60)", "KillWait=60", true),
            ("KillWait=(30|60)", "KillWait=61", false),
            ("log (file|syslog) <path>", "log file /var/log/frr.log", true),
            ("log (file|syslog) <path>", "log file /var/../etc/passwd", false),
            ("description <text>", "description whatever it is", true),
            ("description <text>", "description", true),
            ("#<text>", "# a comment", true),
            ("#<text>", "no comment", false),
        ] {
            assert_eq!(matches(pattern, line), is, "{pattern}: {line}");
        }
    }

    #[test]
    fn every_class_has_a_value_of_its_own() {
        for (name, value, _) in CLASSES {
            let pattern = format!("key=<{name}>");
            assert!(matches(&pattern, &example(&pattern)), "{pattern}: {value}");
        }
        assert!(!is_one("<nothing>", "nothing"), "a class that is not there has no values");
    }

    #[test]
    fn what_is_not_seen_is_told() {
        for line in ["a\u{a0}b", "a \u{3000}", "a\u{2009}b", "a\u{202f}b"] {
            assert!(unseen(line).is_some(), "{line:?}");
        }
        for line in ["a\rb", "a\u{85}b", "a\u{2028}b", "\u{feff}a", "a\u{202e}b", "a\0", "a\u{c}b"]
        {
            assert!(unseen(line).is_some(), "{line:?}");
        }
        for line in ["a b\tc", "Zürich", "東京", "a – b"] {
            assert_eq!(unseen(line), None, "{line:?}");
        }
    }
}
