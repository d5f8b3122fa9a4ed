//! How a node is before a change.

use std::collections::BTreeSet;

use model::Dialect;
use observe::{Asked, Found, Place, Spaces};

use crate::linux::{at, differences};
use crate::{NodeError, Sent};

/// How a node was before a change.
pub(crate) struct Before {
    pub(crate) found: Found,
    /// The dialects in which it held something else.
    pub(crate) differing: BTreeSet<Dialect>,
    /// What FRR held; none if VRFs come or go, because it then changes by itself.
    pub(crate) frr: Option<String>,
}

impl Before {
    /// Compares all that was sent with what the node holds.
    pub(crate) fn of(place: &Place, spaces: &mut Spaces, sent: &Sent) -> Result<Self, NodeError> {
        let dialects: Vec<Dialect> = sent.texts.iter().map(|(dialect, _)| *dialect).collect();
        let (found, held) = look(place, spaces, &dialects)?;
        let mut before = Self { found, differing: BTreeSet::new(), frr: None };
        let mut vrfs_stay = true;
        for ((dialect, text), (_, held)) in sent.texts.iter().zip(held) {
            let left = differences(*dialect, text, &held);
            vrfs_stay &= !left.iter().any(|difference| difference.statement.starts_with("vrf "));
            if !left.is_empty() {
                before.differing.insert(*dialect);
            }
            if *dialect == Dialect::Frr {
                before.frr = Some(held);
            }
        }
        before.frr.take_if(|_| !vrfs_stay);
        Ok(before)
    }
}

/// Looks at a node, and says what it holds in the words of these dialects. The routing daemons are
/// asked first and heard last: they answer while the kernel is looked at.
pub(crate) fn look(
    place: &Place,
    spaces: &mut Spaces,
    dialects: &[Dialect],
) -> Result<(Found, Vec<(Dialect, String)>), NodeError> {
    let asked = dialects.contains(&Dialect::Frr).then(|| Asked::of(&place.frr));
    let mut asked = asked.transpose().map_err(at("ask FRR"))?;
    let found = spaces.look().map_err(at("look at the node"))?;
    let mut held = Vec::new();
    for dialect in dialects {
        let text = match dialect {
            Dialect::Linux => found.linux(),
            Dialect::Table => table(place, &found)?,
            Dialect::Frr => match asked.take() {
                Some(asked) => asked.heard().map_err(at("ask FRR"))?,
                None => String::new(),
            },
            _ => String::new(),
        };
        held.push((*dialect, text));
    }
    Ok((found, held))
}

/// What the packet program holds.
fn table(place: &Place, found: &Found) -> Result<String, NodeError> {
    Ok(found.table(place).map_err(at("read the table"))?.unwrap_or_default())
}
