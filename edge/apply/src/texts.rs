//! What was sent to a node and what it holds, taken apart.

use std::collections::BTreeMap;

use model::Dialect;
use read::Difference;

use crate::NodeError;
use crate::change::vrf_of;
use crate::line::{Extra, Line};

/// Every line that shall be held. Runs with `every` are left out: what is missing of them comes
/// divided, out of the comparison.
pub(crate) fn wanted(text: &str) -> Result<Vec<Line<'_>>, NodeError> {
    let said = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    text.lines().filter(said).filter(|line| !line.contains(" every ")).map(line).collect()
}

pub(crate) fn line(text: &str) -> Result<Line<'_>, NodeError> {
    Line::read(text).ok_or_else(|| NodeError {
        step: "read what was sent".into(),
        said: format!("`{text}` is no line that this device can hold"),
    })
}

pub(crate) fn extra(text: &str) -> Result<Extra<'_>, NodeError> {
    Extra::read(text).ok_or_else(|| NodeError {
        step: "undo what is too much".into(),
        said: format!("nobody knows how to undo `{text}`: remove it by hand"),
    })
}

/// What differs and is ours to change: a port that is down waits to be started, or for its cable.
pub(crate) fn differences(dialect: Dialect, sent: &str, held: &str) -> Vec<Difference> {
    if dialect != Dialect::Linux {
        return read::differences(dialect, sent, held);
    }
    let is_port = |line: &str| line.starts_with("link ") || line.starts_with("uplink ");
    let held: Vec<&str> = held
        .lines()
        .map(|line| if is_port(line) { line.strip_suffix(" down").unwrap_or(line) } else { line })
        .collect();
    read::differences(dialect, sent, &held.join("\n"))
}

/// The segments that shall be, each with its VRF.
pub(crate) fn segments<'a>(wanted: &[Line<'a>]) -> BTreeMap<u32, &'a str> {
    let segment = |line: &Line<'a>| match *line {
        Line::Tunnel { vni, master, .. } => Some((vni, vrf_of(master, wanted)?)),
        _ => None,
    };
    wanted.iter().filter_map(segment).collect()
}
