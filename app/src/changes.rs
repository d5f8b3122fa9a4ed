//! What a plan changes, in words.

use std::collections::BTreeMap;
use std::io::{self, Write};

use anstyle::Style;
use plan::{Change, Diff, JobLine, Sign};

use crate::words::{BAD, DIM, GOOD, NAME, NOTE, plural, some};

/// So many changes are shown one by one.
const MOST: usize = 40;
/// If there are more, so many of each kind are.
const MOST_OF_A_KIND: usize = 8;

/// Each change, or of many only how many.
pub(crate) fn write_changes(diff: &Diff, all: bool, out: &mut dyn Write) -> io::Result<()> {
    if diff.is_empty() {
        return Ok(());
    }
    let each = if all || diff.len() <= MOST { usize::MAX } else { MOST_OF_A_KIND };
    let mut is_whole = write_kind("tenant", &diff.tenants, each, one_line, out)?;
    is_whole &= write_kind("job", &diff.jobs, each, job_lines, out)?;
    is_whole &= write_kind("consent", &diff.consents, each, one_line, out)?;
    if !is_whole {
        writeln!(out, "  {DIM}`--all` shows each of them{DIM:#}")?;
    }
    writeln!(out)
}

/// Writes every change of a kind, but one line for all of a sign if they are too many; whether each
/// is shown.
fn write_kind<T>(
    kind: &str,
    changes: &[Change<T>],
    each: usize,
    lines: fn(&Change<T>) -> Vec<String>,
    out: &mut dyn Write,
) -> io::Result<bool> {
    let mut by_sign: BTreeMap<Sign, Vec<&Change<T>>> = BTreeMap::new();
    for change in changes {
        by_sign.entry(change.sign).or_default().push(change);
    }
    by_sign.retain(|_, of_sign| of_sign.len() > each);
    for (sign, of_sign) in &by_sign {
        let names = some(of_sign.iter().map(|change| &change.name), 3);
        write_sign(*sign, out)?;
        writeln!(out, "{NAME}{}{NAME:#}  {names}", plural(of_sign.len(), kind))?;
    }
    for change in changes.iter().filter(|change| !by_sign.contains_key(&change.sign)) {
        write_sign(change.sign, out)?;
        let lines = lines(change);
        let is_new = matches!(change.sign, Sign::Added | Sign::Removed);
        let (beside, below) = lines.split_at(usize::from(is_new).min(lines.len()));
        write!(out, "{kind:<7}  {NAME}{}{NAME:#}", change.name)?;
        beside.iter().try_for_each(|line| write!(out, "  {line}"))?;
        writeln!(out)?;
        below.iter().try_for_each(|line| writeln!(out, "{:16}{line}", ""))?;
    }
    Ok(by_sign.is_empty())
}

fn write_sign(sign: Sign, out: &mut dyn Write) -> io::Result<()> {
    let (style, sign) = (colour(sign), sign.to_string());
    write!(out, "  {style}{sign:<3}{style:#}  ")
}

const fn colour(sign: Sign) -> Style {
    match sign {
        Sign::Added => GOOD,
        Sign::Changed => NOTE,
        Sign::Replaced | Sign::Removed => BAD,
    }
}

fn one_line<T: ToString>(change: &Change<T>) -> Vec<String> {
    let line = change.after.as_ref().or(change.before.as_ref());
    line.map(ToString::to_string).into_iter().collect()
}

/// One line for a job that comes or goes; what differs for one that changes.
fn job_lines(change: &Change<JobLine>) -> Vec<String> {
    match (&change.before, &change.after) {
        (Some(before), Some(after)) => {
            let mut lines = Vec::new();
            let mut differs = |what: &str, before: String, after: String| {
                if before != after {
                    lines.push(format!("{what}: {before} -> {after}"));
                }
            };
            differs("tag", before.tag.to_string(), after.tag.to_string());
            differs("subnet", before.subnet.to_string(), after.subnet.to_string());
            differs("class", before.class.to_string(), after.class.to_string());
            differs("ceiling", ceiling(before), ceiling(after));
            differs("endpoints", endpoints(before), endpoints(after));
            differs("devices", devices(before), devices(after));
            lines
        }
        (Some(line), None) | (None, Some(line)) => vec![
            format!(
                "tag {}, {}, {}{}, {}",
                line.tag,
                line.subnet,
                line.class,
                line.ceiling.map(|rate| format!(" at most {rate}")).unwrap_or_default(),
                plural(line.endpoints.len(), "endpoint")
            ),
            format!("on {}", devices(line)),
        ],
        (None, None) => Vec::new(),
    }
}

fn ceiling(line: &JobLine) -> String {
    line.ceiling.map_or_else(|| "none".to_owned(), |rate| rate.to_string())
}

fn endpoints(line: &JobLine) -> String {
    let seats = line.endpoints.iter();
    let names: Vec<String> = seats.map(|seat| format!("{}/{}", seat.node, seat.nic)).collect();
    format!("{} ({})", names.len(), some(names, 4))
}

fn devices(line: &JobLine) -> String {
    let vlans = line.devices.iter();
    some(vlans.map(|(device, vlan)| format!("{device} vlan {vlan}")), 4)
}
