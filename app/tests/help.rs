//! Every help teaches.

mod desk;

use desk::Desk;

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
    for command in
        ["fleet", "plan", "render", "read", "verify", "apply", "why", "demo", "completions"]
    {
        check(&[command]);
    }
}

#[test]
fn making_and_showing_fleets_have_examples() {
    check(&["fleet", "generate"]);
    check(&["fleet", "show"]);
}

#[test]
fn no_subcommand_is_missing_from_this_test() {
    let help = Desk::new("help-list").run(&["--help"]).ends(0).out;
    let commands = help.split("Commands:").nth(1).unwrap();
    let commands = commands.split("\n\n").next().unwrap();
    let names: Vec<&str> = commands
        .lines()
        .filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next())
        .collect();
    assert_eq!(
        names,
        ["fleet", "plan", "render", "read", "verify", "apply", "why", "demo", "completions"]
    );
}
