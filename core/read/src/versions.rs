use crate::lines::lines;
use crate::{Reading, Unknown};

/// Lines that are none of our business, by how they begin: comments.
pub(crate) const IGNORED: &[&str] = &["#"];

pub(crate) fn read(text: &str) -> Reading {
    let mut reading = Reading::default();
    for line in lines(text).filter(|line| !line.text.is_empty()) {
        let why = "no line of this dialect is written so";
        reading.unknown.push(Unknown { line: line.number, text: line.text.into(), why });
    }
    reading
}
