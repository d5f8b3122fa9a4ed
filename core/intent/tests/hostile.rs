//! No text makes the reader panic, and no order of files changes what it says.

use intent::generate::{self, Wish};
use intent::{Source, load};
use proptest::prelude::*;

fn check(text: &str) {
    let file = "a.yaml";
    let once = load(&[Source { file, text }]);
    let again = load(&[Source { file, text }]);
    assert_eq!(said(once), said(again));
}

fn said<T>(result: Result<T, Vec<intent::Refusal>>) -> Vec<String> {
    let refusals = result.err().unwrap_or_default();
    refusals.iter().map(|refusal| refusal.to_string()).collect()
}

proptest! {
    #[test]
    fn any_text_is_answered(text in any::<String>()) {
        check(&text);
    }

    #[test]
    fn any_bytes_are_answered(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        check(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn text_made_of_yaml_is_answered(parts in proptest::collection::vec(part(), 0..60)) {
        check(&parts.concat());
    }

    /// A sound document in which one piece is replaced.
    #[test]
    fn a_sound_document_with_one_wound_is_answered(
        from in 0.0..1.0,
        length in 0_usize..30,
        wound in part(),
    ) {
        let wish = Wish { gpus: 64, tenants: 4, jobs: 4, nvl72_percent: 50, ..Wish::default() };
        let sound = generate::fleet(&wish) + &generate::workload(&wish);
        let from = (sound.len() as f64 * from) as usize;
        let to = (from + length).min(sound.len());
        check(&[&sound[..from], &wound, &sound[to..]].concat());
    }

    #[test]
    fn numbers_of_any_size_are_answered(count in any::<u64>(), key in 0_usize..8) {
        let wish = Wish { gpus: 4096, nvl72_percent: 50, ..Wish::default() };
        let fleet = generate::fleet(&wish);
        let keys = ["count: ", "gpus: ", "spines: ", "cores: ", "racksPerLeaf: ", "vfs: ",
            "numaNodes: ", "firstIommuGroup: "];
        let digits = count.to_string();
        let parts: Vec<&str> = fleet.split(keys[key]).collect();
        let with = [keys[key], &digits, " #"].concat();
        for text in [parts.join(&with), parts.join(&with).replace(" #", "")] {
            check(&text);
        }
    }
}

fn part() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("---\n".to_owned()),
        Just("...\n".to_owned()),
        Just("%YAML 1.2\n".to_owned()),
        Just("apiVersion: bulkhead.dev/v1\n".to_owned()),
        Just("kind: Fleet\n".to_owned()),
        Just("kind: List\nitems:\n".to_owned()),
        Just("metadata: {name: a}\nspec:\n".to_owned()),
        Just("  models: {nodes: {}}\n  sites: []\n".to_owned()),
        Just("\"".to_owned()),
        Just("'".to_owned()),
        Just("- ".to_owned()),
        Just("? ".to_owned()),
        Just(": ".to_owned()),
        Just("|\n".to_owned()),
        Just("&a ".to_owned()),
        Just("*a ".to_owned()),
        Just("<<: ".to_owned()),
        Just("!!int ".to_owned()),
        Just("{[".to_owned()),
        Just("]}".to_owned()),
        Just("\t".to_owned()),
        Just("\r".to_owned()),
        Just("\n".to_owned()),
        Just("\u{feff}".to_owned()),
        Just("\u{2028}".to_owned()),
        "[a-z0-9é ]{0,8}",
    ]
}

#[test]
fn the_order_of_files_changes_nothing() {
    let wish = Wish { nvl72_percent: 20, ..Wish::default() };
    let (fleet, workload) = (generate::fleet(&wish), generate::workload(&wish));
    let a = Source { file: "a", text: &fleet };
    let b = Source { file: "b", text: &workload };
    let (one, other) = (load(&[a, b]).unwrap(), load(&[b, a]).unwrap());
    assert_eq!(one.fleet, other.fleet);
    assert_eq!(one.tenants, other.tenants);
    assert_eq!(one.jobs, other.jobs);
}
