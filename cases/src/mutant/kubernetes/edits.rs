//! Edits that people and programs make in YAML: elements, documents, and how they are written.

use crate::Chance;
use crate::mutant::MutantKind;
use crate::mutant::edit::{Edit, edited, with};

/// One edit near a line; none where chance came upon a line that cannot be edited so.
pub(in crate::mutant) fn edit(lines: &[&str], at: usize, chance: &mut Chance) -> Option<Edit> {
    match chance.below(100) {
        0..12 => element_gone(lines, at),
        12..16 => document_gone(lines, at),
        16..24 => document_elsewhere(lines, at, chance),
        24..36 => element_of_another(lines, at, chance),
        36..46 => value_of_another(lines, at, chance),
        46..52 => key_changed(lines, at, chance),
        52..58 => key_twice(lines, at, chance),
        58..66 => neighbours_swapped(lines, at),
        66..70 => documents_swapped(lines, at),
        70..76 => printed(lines, at, chance),
        _ => written_otherwise(lines, at, chance),
    }
}

/// How far a line is indented; an item's dash is in front of what it holds.
fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// Where the element ends that begins at a line: before the next line that is not below it.
fn end(lines: &[&str], at: usize) -> usize {
    let own = indent(lines[at]);
    let is_item = lines[at].trim_start().starts_with("- ");
    let below = |line: &&&str| {
        let (far, item) = (indent(line), line.trim_start().starts_with("- "));
        **line != "---" && (far > own || (far == own && item && !is_item))
    };
    at + 1 + lines[at + 1..].iter().take_while(below).count()
}

fn key(line: &str) -> Option<&str> {
    let text = line.trim_start_matches([' ', '-']);
    let colon = text.find(": ").or_else(|| text.strip_suffix(':').map(str::len))?;
    Some(&text[..colon])
}

/// Where the document of a line begins and ends, without the lines that part it from others.
fn document(lines: &[&str], at: usize) -> (usize, usize) {
    let from = lines[..=at].iter().rposition(|line| *line == "---").map_or(0, |at| at + 1);
    let to = lines[at..].iter().skip(1).position(|line| *line == "---");
    (from.min(at), to.map_or(lines.len(), |more| at + 1 + more))
}

fn joined<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
    parts.into_iter().map(|line| format!("{line}\n")).collect()
}

fn is_rule(lines: &[&str], at: usize) -> bool {
    lines[at] == "---"
}

fn element_gone(lines: &[&str], at: usize) -> Option<Edit> {
    if is_rule(lines, at) {
        return None;
    }
    let kept = lines[..at].iter().chain(&lines[end(lines, at)..]).copied();
    Some((MutantKind::Delete, format!("element gone: {}", lines[at].trim()), joined(kept)))
}

fn document_gone(lines: &[&str], at: usize) -> Option<Edit> {
    let (from, to) = document(lines, at);
    let what = format!("document gone: {}", lines[from..to].get(1)?);
    let kept = lines[..from].iter().chain(lines.get(to + 1..).unwrap_or_default()).copied();
    Some((MutantKind::Delete, what, joined(kept)))
}

/// The same object under another name, or in another namespace, whose it is not.
fn document_elsewhere(lines: &[&str], at: usize, chance: &mut Chance) -> Option<Edit> {
    const SPACES: [&str; 6] =
        ["kube-system", "istio-system", "default", "calico-system", "red-t4", "green-t2"];
    let (from, to) = document(lines, at);
    let own = &lines[from..to];
    let space = *chance.pick(&SPACES)?;
    let is_copy = chance.percent(50);
    // Of two that only go by another name there is nothing more to say.
    let word = if is_copy || chance.percent(70) { "  namespace: " } else { "  name: " };
    let place = own.iter().position(|line| line.starts_with(word))?;
    let line = format!("{word}{space}");
    if own[place] == line {
        return None;
    }
    let mut copy = own.to_vec();
    copy[place] = &line;
    let what = format!("{} {} -> {}", own.get(1)?, own[place].trim(), line.trim());
    if is_copy {
        let text = joined(lines.iter().copied().chain(["---"]).chain(copy));
        return Some((MutantKind::Insert, format!("copied: {what}"), text));
    }
    let text = joined(lines[..from].iter().copied().chain(copy).chain(lines[to..].iter().copied()));
    Some((MutantKind::Change, format!("moved: {what}"), text))
}

/// What stands below a key is what stands below the same key elsewhere, or stands beside it.
fn element_of_another(lines: &[&str], at: usize, chance: &mut Chance) -> Option<Edit> {
    let own = key(lines[at])?;
    let far = indent(lines[at]);
    let same: Vec<usize> = (0..lines.len())
        .filter(|place| key(lines[*place]) == Some(own) && indent(lines[*place]) == far)
        .collect();
    let other = *chance.pick(&same)?;
    let (from, to) = (end(lines, at), end(lines, other));
    let theirs = &lines[other..to];
    if theirs == &lines[at..from] {
        return None;
    }
    let is_item = lines[at].trim_start().starts_with("- ") && chance.percent(50);
    let rest = if is_item { &lines[at..] } else { &lines[from..] };
    let text = joined(lines[..at].iter().chain(theirs).chain(rest).copied());
    let kind = if is_item { MutantKind::Insert } else { MutantKind::Change };
    Some((kind, format!("{own} as in line {}: {}", other + 1, theirs.join(" ")), text))
}

/// A value is that of the same key elsewhere, or one that people write.
fn value_of_another(lines: &[&str], at: usize, chance: &mut Chance) -> Option<Edit> {
    const WORDS: [&str; 28] = [
        "kube-system",
        "istio-system",
        "red-t4",
        "blue-t1",
        "green-t2",
        "violet-t3",
        "shared",
        "nobody",
        "\"*\"",
        "all()",
        "cluster-admin",
        "tenant-member",
        "system:authenticated",
        "Ignore",
        "Audit",
        "Allow",
        "PERMISSIVE",
        "User",
        "NoSchedule",
        "Exists",
        "\"9\"",
        "\"0\"",
        "~",
        "{}",
        "true",
        "privileged",
        "h2",
        "gpu.amd.com",
    ];
    let line = lines[at];
    let (begin, old) = match line.split_once(": ") {
        Some((begin, old)) => (format!("{begin}: "), old),
        None => {
            let begin = line.find("- ")? + 2;
            (line[..begin].to_owned(), &line[begin..])
        }
    };
    let same = lines.iter().filter(|line| key(line).is_some() && key(line) == key(lines[at]));
    let same: Vec<&str> = same.filter_map(|line| Some(line.split_once(": ")?.1)).collect();
    let new = if chance.percent(50) { chance.pick(&same)? } else { chance.pick(&WORDS)? };
    if *new == old {
        return None;
    }
    edited(MutantKind::Change, lines, at, &format!("{begin}{new}"))
}

fn key_changed(lines: &[&str], at: usize, chance: &mut Chance) -> Option<Edit> {
    let own = key(lines[at])?;
    let other = key(lines[chance.below(lines.len())])?;
    let new = match chance.below(3) {
        0 => other.to_owned(),
        1 => format!("{own}s"),
        _ => own.to_ascii_lowercase(),
    };
    edited(MutantKind::Change, lines, at, &lines[at].replacen(own, &new, 1))
}

/// Of a key that stands twice some take the first, and some the last.
fn key_twice(lines: &[&str], at: usize, chance: &mut Chance) -> Option<Edit> {
    let own = key(lines[at])?;
    let value = lines[at].split_once(": ")?.1;
    let new = *chance.pick(&["other", "{}", "\"0\"", "kube-system"])?;
    let begin = lines[at].replacen("- ", "  ", 1);
    let (begin, _) = begin.split_once(": ")?;
    let second = if chance.percent(50) { value } else { new };
    let line = format!("{}\n{begin}: {second}", lines[at]);
    let text = with(lines, at, &[&line]);
    Some((MutantKind::Between, format!("{own} twice, then {second}"), text))
}

/// Two elements beside each other in the other order.
fn neighbours_swapped(lines: &[&str], at: usize) -> Option<Edit> {
    let first = end(lines, at);
    let next = *lines.get(first)?;
    let is_item = |line: &str| line.trim_start().starts_with("- ");
    let is_beside = indent(next) == indent(lines[at]) && is_item(next) == is_item(lines[at]);
    if !is_beside || next == "---" || is_rule(lines, at) {
        return None;
    }
    let second = end(lines, first);
    let all = [&lines[..at], &lines[first..second], &lines[at..first], &lines[second..]];
    let what = format!("swapped: {} | {}", lines[at].trim(), next.trim());
    Some((MutantKind::Between, what, joined(all.concat())))
}

fn documents_swapped(lines: &[&str], at: usize) -> Option<Edit> {
    let (from, to) = document(lines, at);
    let (next, last) = (to + 1 < lines.len()).then(|| document(lines, to + 1))?;
    let all = [&lines[..from], &lines[next..last], &["---"], &lines[from..to], &lines[last..]];
    Some((MutantKind::Between, "swapped with the next document".into(), joined(all.concat())))
}

/// What a server prints of every object.
fn printed(lines: &[&str], at: usize, chance: &mut Chance) -> Option<Edit> {
    const PRINTED: [&str; 6] = [
        "  creationTimestamp: \"2026-11-19T10:11:12Z\"",
        "  uid: 0b6cfd4a-6f4b-4b02-9d2c-6c1a3c1fa0d1",
        "  resourceVersion: \"8152\"",
        "  generation: 1",
        "  managedFields:\n  - apiVersion: v1\n    fieldsType: FieldsV1\n    fieldsV1:\n      f:spec: {}\n    manager: kubectl\n    operation: Apply\n    time: \"2026-11-19T10:11:12Z\"",
        "  selfLink: /api/v1/x",
    ];
    let (from, to) = document(lines, at);
    let metadata = from + lines[from..to].iter().position(|line| *line == "metadata:")?;
    let new = *chance.pick(&PRINTED)?;
    let text = with(lines, metadata, &[lines[metadata], new]);
    Some((MutantKind::Insert, format!("{} is printed with {}", lines[from + 1], new.trim()), text))
}

/// The same in other words, or what looks so.
fn written_otherwise(lines: &[&str], at: usize, chance: &mut Chance) -> Option<Edit> {
    const KIND: MutantKind = MutantKind::Between;
    let line = lines[at];
    if is_rule(lines, at) {
        const RULES: [&str; 8] =
            ["---  ", "--- # next", "---\r", "...\n---", "---\n---", "--- \u{a0}", "----", "--- x"];
        return edited(KIND, lines, at, chance.pick(&RULES)?);
    }
    let value = line.find(": ").map(|at| at + 2).or_else(|| Some(line.find("- ")? + 2))?;
    let (begin, text) = line.split_at(value);
    let bare = text.trim_matches(['"', '\'']);
    let far = " ".repeat(indent(line) + 4);
    let new = match chance.below(22) {
        0 => format!("{begin}'{}'", bare.replace('\'', "''")),
        1 => format!("{begin}\"{}\"", bare.replace('\\', "\\\\").replace('"', "\\\"")),
        2 => format!("{begin}{bare}"),
        3 => format!("{begin}|-\n{far}{bare}"),
        4 => format!("{begin}>-\n{far}{bare}"),
        5 => format!("{begin}&a {text}"),
        6 => format!("{begin}!!str {text}"),
        7 => format!("{begin}\n{far}{text}").replace(": \n", ":\n"),
        8 => format!("{begin}{text} # as planned"),
        9 => format!("{begin}{text}#x"),
        10 => format!("{}# {begin}{text}\n{line}", " ".repeat(indent(line))),
        11 => format!("{begin}{text}\u{2028}{}{}", " ".repeat(indent(line)), "other: x"),
        12 => format!("{begin}{text} #\u{85}{}other: x", " ".repeat(indent(line))),
        13 => format!("{begin}{text} #\r{}other: x", " ".repeat(indent(line))),
        14 => format!("{begin}{text}\r"),
        15 => format!("{begin}\t{text}"),
        16 => format!("\t{line}"),
        17 => line.replacen(key(line)?, &format!("\"{}\"", key(line)?), 1),
        18 => line.replacen(": ", " : ", 1),
        19 => format!("{}<<: {{x: y}}\n{line}", " ".repeat(indent(line))),
        20 => format!(
            "{begin}\"{}\"",
            bare.chars().map(|c| format!("\\x{:02x}", c as u32)).collect::<String>()
        ),
        _ => return in_braces(lines, at),
    };
    edited(KIND, lines, at, &new)
}

/// A list in brackets on one line.
fn in_braces(lines: &[&str], at: usize) -> Option<Edit> {
    let own = lines[at].strip_suffix(':')?;
    let end = end(lines, at);
    let items: Option<Vec<&str>> = lines[at + 1..end]
        .iter()
        .map(|line| line.trim_start().strip_prefix("- ").filter(|item| !item.contains(": ")))
        .collect();
    let line = format!("{own}: [{}]", items.filter(|items| !items.is_empty())?.join(", "));
    let text = joined(
        lines[..at].iter().copied().chain([line.as_str()]).chain(lines[end..].iter().copied()),
    );
    Some((MutantKind::Between, format!("in brackets: {line}"), text))
}
