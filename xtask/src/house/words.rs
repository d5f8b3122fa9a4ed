//! Where the product's name may stand, and how long a file may be.

use expect_test::{Expect, expect};

use super::repository::{SourceFile, Violation, assert_none, files, sentences};

const NAME: &str = "bulkhead";
/// The API group is part of what people write, so every room that speaks of documents has it.
const API_GROUP: &str = "bulkhead.dev";
/// Where the product meets people.
const AT_HOME: [&str; 6] = ["app", "xtask", "cases", "lab", "web", "docs"];

/// A file that does not fit into a head does not fit into a review either.
const LONGEST_FILE_LINES: usize = 700;

fn name_away_from_home(file: &SourceFile) -> Vec<Violation> {
    if AT_HOME.iter().any(|home| file.is_in(home)) {
        return Vec::new();
    }
    let lines = file.text.lines().enumerate();
    lines
        .filter(|(_, line)| line.to_lowercase().replace(API_GROUP, "").contains(NAME))
        .map(|(position, _)| {
            let what = "the product's name belongs to app, documents and the API group";
            file.violation(position + 1, what)
        })
        .collect()
}

fn too_long(file: &SourceFile) -> Option<Violation> {
    let lines = file.text.lines().count();
    (lines > LONGEST_FILE_LINES).then(|| {
        let what = format!("{lines} lines; split it, {LONGEST_FILE_LINES} are the limit");
        file.violation(LONGEST_FILE_LINES + 1, what)
    })
}

#[test]
fn the_product_is_named_only_where_it_meets_people() {
    // The app's package is listed under its name in the root manifest's lock file alone.
    let sources = files(&[".rs", "/Cargo.toml", ".proto", ".c", ".h", ".sh"]);
    assert_none(&sources.iter().flat_map(name_away_from_home).collect::<Vec<_>>());
}

#[test]
fn no_file_is_too_long() {
    let sources = files(&[".rs"]);
    assert_none(&sources.iter().filter_map(too_long).collect::<Vec<_>>());
}

fn check(path: &str, text: &str, expected: Expect) {
    let file = SourceFile { path: path.to_owned(), text: text.to_owned() };
    let mut violations = name_away_from_home(&file);
    violations.extend(too_long(&file));
    expected.assert_eq(&sentences(&violations));
}

#[test]
fn the_name_is_found_in_any_case_and_the_group_is_not() {
    check(
        "core/read/src/lib.rs",
        "const GROUP: &str = \"bulkhead.dev/v1\";\n// As Bulkhead does.\n",
        expect![[r#"
            core/read/src/lib.rs:2: the product's name belongs to app, documents and the API group
        "#]],
    );
    check("app/src/main.rs", "// Bulkhead.\n", expect![""]);
}

#[test]
fn the_line_after_the_last_allowed_one_is_named() {
    check("core/x.rs", &"\n".repeat(700), expect![""]);
    check(
        "core/x.rs",
        &"\n".repeat(701),
        expect![[r#"
            core/x.rs:701: 701 lines; split it, 700 are the limit
        "#]],
    );
}
