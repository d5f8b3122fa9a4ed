//! What must be true of a parser whatever it is fed.

use intent::Source;
use model::Dialect;
use wire::{Arrival, Hook, Tables};

/// No dialect has a line like this one.
const NONSENSE: &str = "~ nobody says this";

/// Any text can be read, every line that is spoken of exists, and a line that nobody can know is
/// reported wherever it stands: no text brings a reader to a state in which it swallows lines.
pub fn read_whatever(dialect: Dialect, bytes: &[u8]) {
    let text = format!("{}\n{NONSENSE}\n", String::from_utf8_lossy(bytes));
    let reading = read::claims(dialect, &text);

    let last = u32::try_from(text.lines().count()).unwrap_or(u32::MAX);
    let claimed = reading.claims.iter().map(|claim| claim.line);
    let unknown = reading.unknown.iter().map(|unknown| unknown.line);
    let ignored = reading.ignored.iter().copied();
    for line in claimed.chain(unknown).chain(ignored) {
        assert!((1..=last).contains(&line), "line {line} of {last}");
    }
    // A document of many lines may be refused as a whole, where it begins.
    let is_whole = matches!(dialect, Dialect::Vm | Dialect::Kubernetes);
    let begins = begin_of_last(dialect, &text);
    assert!(
        reading.unknown.iter().any(|one| is_whole || (begins..=last).contains(&one.line)),
        "the last line is nonsense and was not reported"
    );
}

/// Where the last line begins: Slurm goes on in the next line behind a backslash, and may pass over
/// empty ones.
fn begin_of_last(dialect: Dialect, text: &str) -> u32 {
    let lines: Vec<&str> = text.lines().collect();
    let (_, before) = lines.split_last().unwrap_or((&"", &[]));
    let goes_on = |line: &&&str| line.trim_end().is_empty() || line.trim_end().ends_with('\\');
    let joined = before.iter().rev().take_while(goes_on).count();
    let joined = if dialect == Dialect::Slurm { joined } else { 0 };
    u32::try_from(lines.len() - joined).unwrap_or(u32::MAX)
}

/// Any text is documents or refusals, and every refusal says where and what.
pub fn load_whatever(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let source = Source { file: "whatever", text: &text };
    let Err(refusals) = intent::load(&[source]) else {
        return;
    };
    assert!(!refusals.is_empty(), "refused without a reason");
    // A file that ends with a line break is refused behind its last line at most. To YAML a
    // carriage return alone is a line break too (YAML 1.2, section 5.4).
    let last = u32::try_from(text.split(['\n', '\r']).count()).unwrap_or(u32::MAX);
    for refusal in refusals {
        assert!(refusal.line <= last, "{refusal} is behind line {last}");
        assert!(!refusal.to_string().is_empty(), "a refusal without words");
    }
}

/// Any frame gets a verdict from any policy: the bytes say where it arrives, with which tag, how
/// long the policy is, and then both.
pub fn judge_whatever(bytes: &[u8]) {
    let [hook, interface, first, second, third, fourth, rest @ ..] = bytes else {
        return;
    };
    let held = usize::from(u16::from_be_bytes([*third, *fourth]));
    let (policy, frame) = rest.split_at(held.min(rest.len()));
    let hooks = Hook::ALL.len();
    let arrival = Arrival {
        hook: Hook::ALL[usize::from(*hook) % hooks],
        interface: u32::from(*interface),
        mark: u16::from_be_bytes([*first, *second]),
        vlan_beside: *hook >= 128,
        frame,
    };
    let verdict = wire::judge(Some(Tables::new(policy)), &arrival);
    assert!(!verdict.reason.passes() || !frame.is_empty(), "nothing passed");
}
