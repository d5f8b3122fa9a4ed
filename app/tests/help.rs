//! Every help teaches.

mod desk;

use desk::Desk;

const COMMANDS: [&str; 26] = [
    "fleet",
    "plan",
    "place",
    "capacity",
    "defrag",
    "discover",
    "render",
    "read",
    "verify",
    "apply",
    "delete",
    "get",
    "history",
    "rollback",
    "log",
    "scrub",
    "watch",
    "why",
    "filter",
    "agent",
    "ca",
    "lab",
    "test",
    "demo",
    "completions",
    "schema",
];
const OF_FILTER: [&str; 10] =
    ["attach", "load", "renew", "detach", "show", "dump", "drops", "stats", "judge", "bench"];

/// The other subcommands that have subcommands of their own.
const OF_OTHERS: [(&str, &[&str]); 6] = [
    ("fleet", &["generate", "show"]),
    ("agent", &["status"]),
    ("log", &["check", "repair"]),
    ("ca", &["init", "enroll", "list", "rotate"]),
    ("lab", &["up", "status", "exec", "break", "start-agent", "bench", "down"]),
    ("test", &["connectivity"]),
];

#[track_caller]
fn check(command: &[&str]) {
    let desk = Desk::new(&format!("help-{}", command.join("-")));
    for flag in ["--help", "-h"] {
        let arguments = [command, &[flag]].concat();
        let answer = desk.run(&arguments).ends(0).says("Usage: bulkhead");
        let answer = answer.says("Examples:").says("\n  bulkhead ");
        assert_eq!(answer.err, "");
    }
}

#[test]
fn the_whole_has_examples() {
    check(&[]);
}

#[test]
fn every_subcommand_has_examples() {
    for command in COMMANDS {
        check(&[command]);
    }
}

#[test]
fn every_subcommand_of_a_subcommand_has_examples() {
    for (command, parts) in OF_OTHERS {
        parts.iter().for_each(|part| check(&[command, part]));
    }
}

#[test]
fn everything_one_does_with_a_filter_has_examples() {
    OF_FILTER.into_iter().for_each(|command| check(&["filter", command]));
}

#[test]
fn no_subcommand_is_missing_from_this_test() {
    assert_eq!(listed(&["--help"]), COMMANDS);
    assert_eq!(listed(&["filter", "--help"]), OF_FILTER);
    for (command, parts) in OF_OTHERS {
        assert_eq!(listed(&[command, "--help"]), parts);
    }
}

/// The subcommands that a help lists.
fn listed(arguments: &[&str]) -> Vec<String> {
    let help = Desk::new("help-list").run(arguments).ends(0).out;
    let commands = help.split("Commands:").nth(1);
    let commands = commands.and_then(|commands| commands.split("\n\n").next());
    commands
        .into_iter()
        .flat_map(str::lines)
        .filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next())
        .filter(|word| word.starts_with(|letter: char| letter.is_lowercase()))
        .map(str::to_owned)
        .collect()
}
