//! Which of two versions is the older.

use std::cmp::Ordering;

/// Compares two versions part by part: parts end at dots and hyphens, numbers count as numbers,
/// and words sort before numbers (`2.0-rc1` is older than `2.0`).
#[must_use]
pub fn compare_versions(a: &str, b: &str) -> Ordering {
    let (mut a, mut b) = (parts(a), parts(b));
    loop {
        let order = match (a.next(), b.next()) {
            (None, None) => return Ordering::Equal,
            (Some(part), None) => against_end(&part),
            (None, Some(part)) => against_end(&part).reverse(),
            (Some(left), Some(right)) => left.cmp(&right),
        };
        if order != Ordering::Equal {
            return order;
        }
    }
}

#[derive(Eq, Ord, PartialEq, PartialOrd)]
enum Part<'a> {
    Word(&'a str),
    Number(u64),
}

/// Where one version ends and the other goes on: `.0` adds nothing, a word makes it older.
fn against_end(part: &Part<'_>) -> Ordering {
    match part {
        Part::Word(_) => Ordering::Less,
        Part::Number(0) => Ordering::Equal,
        Part::Number(_) => Ordering::Greater,
    }
}

fn parts(version: &str) -> impl Iterator<Item = Part<'_>> {
    version
        .split(['.', '-', '_', '+'])
        .map(|part| part.parse().map_or(Part::Word(part), Part::Number))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(older: &str, newer: &str) {
        assert_eq!(compare_versions(older, newer), Ordering::Less);
        assert_eq!(compare_versions(newer, older), Ordering::Greater);
        assert_eq!(compare_versions(newer, newer), Ordering::Equal);
    }

    #[test]
    fn numbers_are_compared_as_numbers_and_not_as_text() {
        check("550.54", "550.100");
        check("6.8", "6.8.0.1");
        check("2.0-rc1", "2.0");
        check("9", "10");
        check("6.8", "6.8.0-45-generic");
        check("", "1");
        check("none", "0.1");
        assert_eq!(compare_versions("6.8", "6.8.0"), Ordering::Equal);
    }
}
