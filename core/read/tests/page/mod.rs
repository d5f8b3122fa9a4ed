//! Texts, what is read in them, and what holds for every one of them.

use std::fmt::Write;

use model::Dialect;
use proptest::prelude::*;

/// What a text says, one fact a line, and what it does not.
pub(crate) fn told(dialect: Dialect, text: &str) -> String {
    let reading = read::claims(dialect, text);
    let mut told = String::new();
    for claim in &reading.claims {
        writeln!(told, "{}: {:?}", claim.line, claim.fact).unwrap();
    }
    for unknown in &reading.unknown {
        let read::Unknown { line, text, why } = unknown;
        writeln!(told, "{line}? {text}\n   {why}").unwrap();
    }
    if !reading.ignored.is_empty() {
        writeln!(told, "ignored: {:?}", reading.ignored).unwrap();
    }
    told
}

/// What is on the dialect's list is passed over, and nothing else is said about it.
pub(crate) fn the_list_is_ignored(dialect: Dialect) {
    let here = read::description(dialect).ignored.iter().filter(|one| one.place.is_empty());
    for line in here.map(read::Ignored::example) {
        assert_eq!(told(dialect, &line), "ignored: [1]\n", "{line}");
    }
}

/// Nothing is both known and unknown, lines are in order, and an unknown line is quoted.
pub(crate) fn no_line_is_known_and_unknown(dialect: Dialect, text: &str) {
    let reading = read::claims(dialect, text);
    let lines: Vec<&str> = text.lines().collect();
    let at = |line: u32| lines[line as usize - 1];
    assert!(reading.claims.is_sorted_by_key(|claim| claim.line));
    assert!(reading.ignored.is_sorted());
    for unknown in &reading.unknown {
        assert!(at(unknown.line).contains(&unknown.text));
        assert!(!reading.ignored.contains(&unknown.line));
        let claimed = reading.claims.iter().any(|claim| claim.line == unknown.line);
        assert!(!claimed, "{} is claimed and unknown", at(unknown.line));
    }
}

/// Each part is read by itself, and lines are counted on.
pub(crate) fn parts_say_together_what_they_say_alone(dialect: Dialect, parts: &[&str]) {
    let mut alone = read::Reading::default();
    let mut before = 0;
    for part in parts {
        let mut reading = read::claims(dialect, part);
        reading.claims.iter_mut().for_each(|claim| claim.line += before);
        reading.unknown.iter_mut().for_each(|unknown| unknown.line += before);
        reading.ignored.iter_mut().for_each(|line| *line += before);
        alone.claims.append(&mut reading.claims);
        alone.unknown.append(&mut reading.unknown);
        alone.ignored.append(&mut reading.ignored);
        before += part.lines().count() as u32;
    }
    assert_eq!(read::claims(dialect, &parts.concat()), alone);
}

/// Some of the parts, in any order, some of them several times.
pub(crate) fn parts(all: &'static [&'static str]) -> impl Strategy<Value = Vec<&'static str>> {
    prop::collection::vec(prop::sample::select(all), 0..8)
}

/// Characters of any kind, in lines.
pub(crate) fn any_text() -> impl Strategy<Value = String> {
    prop::collection::vec(".{0,40}", 0..20).prop_map(|lines| lines.join("\n"))
}

/// The parts with some words dropped, doubled, or put where others were.
pub(crate) fn cut(all: &'static [&'static str]) -> impl Strategy<Value = String> {
    let pieces: Vec<&str> = all.iter().flat_map(|part| part.split_inclusive([' ', '\n'])).collect();
    let places = 0..pieces.len();
    let cuts = prop::collection::vec((places.clone(), places, 0..3), 1..6);
    cuts.prop_map(move |cuts| {
        let mut pieces = pieces.clone();
        for (place, other, kind) in cuts {
            match kind {
                0 => pieces[place] = "",
                1 => pieces[place] = pieces[other],
                _ => pieces.insert(place, pieces[other]),
            }
        }
        pieces.concat()
    })
}
