//! Which word was meant by a misspelt one.

/// Finds what was probably meant by a misspelt word.
pub(crate) struct Nearest {
    /// Comparisons left. A file with many thousands of wrong names still ends quickly; its later
    /// refusals have no suggestion.
    left: usize,
}

impl Default for Nearest {
    fn default() -> Self {
        Self { left: 2_000_000 }
    }
}

impl Nearest {
    /// The candidate with the fewest edits, if there are few enough; the first of equals.
    pub(crate) fn to<'a>(
        &mut self,
        word: &str,
        candidates: impl Iterator<Item = &'a str>,
    ) -> Option<String> {
        let word: Vec<char> = word.chars().take(LONGEST + 1).collect();
        let most = (word.len() + 1) / 3;
        let mut best: Option<(usize, &str)> = None;
        for candidate in candidates {
            if word.len() > LONGEST || self.left == 0 {
                break;
            }
            self.left -= 1;
            if candidate.len().abs_diff(word.len()) > most {
                continue;
            }
            let edits = edits(&word, candidate);
            if edits <= most && best.is_none_or(|(fewest, _)| edits < fewest) {
                best = Some((edits, candidate));
            }
        }
        best.map(|(_, candidate)| candidate.to_owned())
    }
}

/// Longer words are not compared: no name is longer than a label and a short path.
const LONGEST: usize = 128;

/// How many letters must be added, removed or replaced (Levenshtein's distance).
fn edits(word: &[char], candidate: &str) -> usize {
    let mut row: Vec<usize> = (0..=word.len()).collect();
    for (above, letter) in candidate.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = above + 1;
        for (at, other) in word.iter().enumerate() {
            let replaced = diagonal + usize::from(*other != letter);
            diagonal = row[at + 1];
            row[at + 1] = replaced.min(row[at] + 1).min(diagonal + 1);
        }
    }
    row[word.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(word: &str, candidates: &[&str], expected: Option<&str>) {
        let found = Nearest::default().to(word, candidates.iter().copied());
        assert_eq!(found.as_deref(), expected);
    }

    #[test]
    fn the_closest_word_is_found_and_a_far_one_is_not() {
        check("gpu", &["gpus", "nics"], Some("gpus"));
        check("spnies", &["spines", "racks"], Some("spines"));
        check("leaf-9", &["leaf-1", "leaf-2"], Some("leaf-1"));
        check("colour", &["grade", "pools"], None);
        check("", &["grade"], None);
    }

    #[test]
    fn comparisons_end() {
        let mut nearest = Nearest { left: 1 };
        assert_eq!(nearest.to("gpu", ["nics", "gpus"].into_iter()), None);
    }
}
