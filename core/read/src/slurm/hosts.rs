//! Lists of nodes as Slurm writes them: `gpu[1-4,07],login`.

use model::Name;

/// More nodes are in no list that is read: a hostile line must not make work without end.
const MOST_NODES: usize = 1 << 17;

/// Every node of a list, in order and once.
pub(super) fn hosts(list: &str) -> Option<Vec<Name>> {
    // Behind a comma stands a name, or Slurm takes the list for another one.
    if list.ends_with(',') {
        return None;
    }
    let mut names = Vec::new();
    let mut rest = list;
    while !rest.is_empty() {
        let (piece, after) = split(rest)?;
        expand(piece, &mut names)?;
        rest = after;
    }
    names.sort_unstable();
    names.dedup();
    Some(names)
}

/// The first piece, up to a comma that is in no brackets.
fn split(list: &str) -> Option<(&str, &str)> {
    let mut is_inside = false;
    for (at, byte) in list.bytes().enumerate() {
        match byte {
            b'[' if is_inside => return None,
            b'[' => is_inside = true,
            b']' => is_inside = false,
            b',' if !is_inside => return Some((&list[..at], &list[at + 1..])),
            _ => {}
        }
    }
    (!is_inside).then_some((list, ""))
}

/// One name, or those that its brackets stand for.
fn expand(piece: &str, names: &mut Vec<Name>) -> Option<()> {
    let Some((before, rest)) = piece.split_once('[') else {
        names.push(piece.parse().ok()?);
        return Some(());
    };
    let (ranges, after) = rest.split_once(']')?;
    for range in ranges.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let width = first.len();
        let (first, last) = (number(first)?, number(last)?);
        let is_name = width <= 63; // A longer one would be refused below, after much work.
        if !is_name || first > last || last - first >= MOST_NODES as u64 {
            return None;
        }
        for number in first..=last {
            if names.len() >= MOST_NODES {
                return None;
            }
            names.push(format!("{before}{number:0width$}{after}").parse().ok()?);
        }
    }
    Some(())
}

/// Digits only.
pub(super) fn number(text: &str) -> Option<u64> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}
