//! What a fuzz target begins with: samples that stand in the repository anyway.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::files;

/// The engine's dictionary takes no longer words.
const LONGEST_WORD_BYTES: usize = 64;

/// Fills the folder with the target's samples, and gives the file with their words: the
/// engine puts words together much faster than letters.
pub(super) fn gather(root: &Path, target: &str, folder: &Path) -> io::Result<PathBuf> {
    let mut samples = committed(root, target)?;
    samples.extend(of_the_document(root, target)?);
    samples.extend(of_the_stories(&root.join("cases"), target)?);

    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder)?;
    for (position, sample) in samples.iter().enumerate() {
        fs::write(folder.join(format!("{position:04}")), sample)?;
    }
    let dictionary = folder.with_extension("dict");
    fs::write(&dictionary, words(&samples))?;
    Ok(dictionary)
}

/// Inputs that are kept because they once broke something, or because nothing else has them.
fn committed(root: &Path, target: &str) -> io::Result<Vec<Vec<u8>>> {
    let folder = root.join("fuzz/seeds").join(target);
    files(&folder).iter().map(fs::read).collect()
}

/// The network document shows each dialect below a heading with the dialect's name.
fn of_the_document(root: &Path, target: &str) -> io::Result<Vec<Vec<u8>>> {
    let document = fs::read_to_string(root.join("docs/network.md"))?;
    let samples = fenced_below(&document, target);
    Ok(samples.into_iter().map(String::into_bytes).collect())
}

fn fenced_below(document: &str, heading: &str) -> Vec<String> {
    let mut samples = Vec::new();
    let mut below = false;
    let mut sample: Option<String> = None;
    for line in document.lines() {
        match &mut sample {
            Some(text) if line.starts_with("```") => {
                samples.push(std::mem::take(text));
                sample = None;
            }
            Some(text) => {
                text.push_str(line);
                text.push('\n');
            }
            None if line.starts_with('#') => {
                let title = line.trim_start_matches(['#', ' ']);
                below = title.split(':').next() == Some(heading);
            }
            None if below && line.starts_with("```") => sample = Some(String::new()),
            None => {}
        }
    }
    samples
}

/// Stories hold documents, and artifacts whose names end with their dialect.
fn of_the_stories(folder: &Path, target: &str) -> io::Result<Vec<Vec<u8>>> {
    let mut samples = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            samples.extend(of_the_stories(&path, target)?);
        } else if is_sample(&path, target) {
            samples.push(fs::read(&path)?);
        }
    }
    Ok(samples)
}

fn is_sample(path: &Path, target: &str) -> bool {
    let ending = path.extension().or(path.file_name());
    match ending.and_then(|ending| ending.to_str()) {
        Some("yaml" | "yml" | "json") => target == "documents",
        ending => ending == Some(target),
    }
}

/// A dictionary as the engine wants it: one quoted word a line.
fn words(samples: &[Vec<u8>]) -> String {
    let mut words = BTreeSet::new();
    for sample in samples {
        let text = String::from_utf8_lossy(sample);
        words.extend(text.split_whitespace().map(str::to_owned));
    }
    words.retain(|word| {
        word.len() <= LONGEST_WORD_BYTES && word.bytes().all(|byte| byte.is_ascii_graphic())
    });
    // The engine refuses an empty file; a comment is enough for it.
    let mut dictionary = "# The words of the samples.\n".to_owned();
    for word in words {
        let escaped = word.replace('\\', "\\\\").replace('"', "\\\"");
        dictionary.push_str(&format!("\"{escaped}\"\n"));
    }
    dictionary
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_fences_below_the_heading_are_samples() {
        let document = "### frr: a leaf\n```text\nvrf t1\n# no heading\n```\ntext\n```text\nexit\n```\n\
                        ### linux: more\n```text\nbridge\n```\n";
        assert_eq!(fenced_below(document, "frr"), ["vrf t1\n# no heading\n", "exit\n"]);
        assert_eq!(fenced_below(document, "nxos"), [""; 0]);
    }

    #[test]
    fn words_are_quoted_once_and_what_is_no_word_is_left_out() {
        let samples = ["vrf \"a\\b\"\nvrf".as_bytes().to_vec(), "ü".as_bytes().to_vec()];
        assert_eq!(words(&samples), "# The words of the samples.\n\"\\\"a\\\\b\\\"\"\n\"vrf\"\n");
    }

    #[test]
    fn stories_give_documents_and_artifacts_to_the_right_target() {
        assert!(is_sample(Path::new("a/fleet.yaml"), "documents"));
        assert!(is_sample(Path::new("a/leaf-1.frr"), "frr"));
        assert!(is_sample(Path::new("a/leaf-1/frr"), "frr"));
        assert!(!is_sample(Path::new("a/leaf-1.frr"), "nxos"));
        assert!(!is_sample(Path::new("a/fleet.yaml"), "frr"));
    }
}
