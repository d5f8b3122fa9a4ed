//! The recipes of CONTRIBUTING.md, followed on a copy of this tree, so that they stay true.

use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

use crate::{Failure, shell};

/// Where the patches are.
const FOLDER: &str = "docs/recipes";

/// What is built or kept by a running program is not copied.
const NOT_COPIED: [&str; 3] = ["target", ".git", "bulkhead-state"];

/// Applies a recipe's patch to a copy of the tree and checks that all of it compiles.
pub(crate) fn run(name: &str) -> Result<(), Failure> {
    let root = shell::root()?;
    let patch = root.join(FOLDER).join(format!("{name}.patch"));
    if !patch.is_file() {
        let known = known(&root).join(", ");
        return Err(Failure::Usage(format!("there is no recipe `{name}`; there is: {known}\n")));
    }
    let own = shell::target()?.join("recipe");
    let copy = own.join(name);
    anew(&root, &copy).map_err(|cause| {
        Failure::Broken(format!("cannot copy the tree to {}: {cause}", copy.display()))
    })?;
    ends_well(&mut apply(&copy, &patch))?;
    println!("{FOLDER}/{name}.patch applies.");
    // In a folder of its own: cargo takes what it built of a copy for what it built of this tree.
    let mut check = Command::new("cargo");
    check.args(["check", "--quiet", "--workspace", "--all-targets"]);
    ends_well(check.current_dir(&copy).env("CARGO_TARGET_DIR", own.join("target")))?;
    println!("What it makes of the tree compiles.");
    Ok(())
}

/// A folder below the one of a repository is none of its own: outside of any, paths are as they
/// stand in the patch.
fn apply(tree: &Path, patch: &Path) -> Command {
    let mut git = Command::new("git");
    git.arg("apply").arg(patch).current_dir(tree);
    git.env("GIT_CEILING_DIRECTORIES", tree.parent().unwrap_or(tree));
    git
}

fn ends_well(command: &mut Command) -> Result<(), Failure> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err(Failure::Found),
        Err(cause) => Err(Failure::Broken(format!("cannot run {command:?}: {cause}"))),
    }
}

fn known(root: &Path) -> Vec<String> {
    let entries = fs::read_dir(root.join(FOLDER)).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path()).filter(|path| path.extension().is_some());
    let mut names: Vec<String> =
        paths.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned())).collect();
    names.sort();
    names
}

fn anew(from: &Path, to: &Path) -> io::Result<()> {
    if to.exists() {
        fs::remove_dir_all(to)?;
    }
    copy(from, to)
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (path, name) = (entry.path(), entry.file_name());
        let to = to.join(&name);
        match path.is_dir() {
            _ if NOT_COPIED.iter().any(|not| name == *not) => {}
            true => copy(&path, &to)?,
            false => drop(fs::copy(&path, &to)?),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a patch would apply to this tree.
    fn fits(patch: &Path) -> bool {
        let mut git = apply(&shell::root().ok().unwrap(), patch);
        git.arg("--check").output().unwrap().status.success()
    }

    #[test]
    fn every_recipe_applies_and_its_files_are_named_in_the_text() {
        let root = shell::root().ok().unwrap();
        let contributing = fs::read_to_string(root.join("CONTRIBUTING.md")).unwrap();
        let known = known(&root);
        assert!(!known.is_empty(), "a rule about no recipe cannot fail");
        for name in known {
            let patch = root.join(FOLDER).join(format!("{name}.patch"));
            assert!(fits(&patch), "the recipe `{name}` does not apply to this tree any more");
            for line in fs::read_to_string(&patch).unwrap().lines() {
                let Some(path) = line.strip_prefix("+++ b/") else { continue };
                let is_named = contributing.contains(&format!("`{path}`"));
                assert!(is_named, "CONTRIBUTING.md does not name {path}, which `{name}` changes");
            }
        }
    }

    #[test]
    fn a_recipe_for_another_tree_does_not_apply() {
        let patch = std::env::temp_dir().join(format!("recipe-{}.patch", std::process::id()));
        let text = "--- a/README.md\n+++ b/README.md\n@@ -1 +1 @@\n-no such line\n+another\n";
        fs::write(&patch, text).unwrap();
        assert!(!fits(&patch));
        fs::remove_file(&patch).unwrap();
    }
}
