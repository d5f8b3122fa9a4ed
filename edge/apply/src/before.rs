//! How a node is before a change.

use std::collections::BTreeSet;

use model::Dialect;
use observe::{Asked, Found, Place, Spaces};
use read::Difference;

use crate::node::at;
use crate::texts::differences;
use crate::{Admitted, NodeError, frr};

/// How a node was before a change.
pub(crate) struct Before {
    pub(crate) found: Found,
    /// What its links and routes lacked, and had too much.
    pub(crate) links: Vec<Difference>,
    /// The dialects in which it held something else, as far as that is known.
    pub(crate) differing: BTreeSet<Dialect>,
    pub(crate) frr: Frr,
}

/// What FRR holds.
pub(crate) enum Frr {
    /// It was asked, and is heard when it matters: there is enough to do meanwhile.
    Asked(Asked),
    Held(String),
    /// It was not asked: these segments are all that it was sent beside what it was sent before, and
    /// they can be told whatever it holds. It is asked when it has heard of them.
    Presumed(Vec<Difference>),
    /// VRFs come or go, so that it changes by itself; or nobody asked.
    Changing,
}

impl Before {
    /// Compares all that was sent with what the node holds. FRR is waited for only if nothing else
    /// differs; `last` is what was done before this was sent.
    pub(crate) fn of(
        place: &Place,
        spaces: &mut Spaces,
        sent: &Admitted,
        last: Option<&Admitted>,
    ) -> Result<Self, NodeError> {
        let frr = Frr::of(place, sent, last)?;
        let found = spaces.look().map_err(at("look at the node"))?;
        let mut before = Self { found, links: Vec::new(), differing: BTreeSet::new(), frr };
        for (dialect, text) in sent.texts().filter(|(dialect, _)| *dialect != Dialect::Frr) {
            let left = differences(dialect, text, &said(dialect, place, &before.found)?);
            if !left.is_empty() {
                before.differing.insert(dialect);
            }
            if has_vrf(&left) {
                before.frr = Frr::Changing;
            }
            if dialect == Dialect::Linux {
                before.links = left;
            }
        }
        if before.differing.is_empty() && before.frr.differs(sent.text(Dialect::Frr))? {
            before.differing.insert(Dialect::Frr);
        }
        Ok(before)
    }
}

impl Frr {
    fn of(place: &Place, sent: &Admitted, last: Option<&Admitted>) -> Result<Self, NodeError> {
        let last = last.map(|last| last.text(Dialect::Frr));
        let more = last.and_then(|last| frr::more_segments(sent.text(Dialect::Frr), last));
        if let Some(more) = more {
            return Ok(Self::Presumed(more));
        }
        let speaks_frr = sent.texts().any(|(dialect, _)| dialect == Dialect::Frr);
        Ok(ask(place, speaks_frr)?.map_or(Self::Changing, Self::Asked))
    }

    /// What it is still to be told, if that is known well enough for telling it of more segments.
    pub(crate) fn left(&mut self, sent: &str) -> Result<Option<Vec<Difference>>, NodeError> {
        match self {
            Self::Presumed(more) => Ok(Some(more.clone())),
            _ => Ok(self.held(sent)?.map(|held| frr::differences(sent, held))),
        }
    }

    /// What it held, if that can be relied on.
    pub(crate) fn held(&mut self, sent: &str) -> Result<Option<&str>, NodeError> {
        if let Self::Asked(_) = self {
            self.differs(sent)?;
        }
        match self {
            Self::Held(held) => Ok(Some(held)),
            Self::Asked(_) | Self::Presumed(_) | Self::Changing => Ok(None),
        }
    }

    /// Hears what it holds, if it was asked, and says whether that is something else.
    fn differs(&mut self, sent: &str) -> Result<bool, NodeError> {
        let asked = match std::mem::replace(self, Self::Changing) {
            Self::Asked(asked) => asked,
            other => {
                *self = other;
                return Ok(matches!(self, Self::Presumed(_)));
            }
        };
        let held = asked.heard().map_err(at("ask FRR"))?;
        let left = differences(Dialect::Frr, sent, &held);
        if !has_vrf(&left) {
            *self = Self::Held(held);
        }
        Ok(!left.is_empty())
    }
}

fn has_vrf(left: &[Difference]) -> bool {
    left.iter().any(|difference| difference.statement.starts_with("vrf "))
}

/// What a node holds in the words of these dialects. The routing daemons are asked first and heard
/// last: they answer while the kernel is looked at.
pub(crate) fn held(
    place: &Place,
    spaces: &mut Spaces,
    dialects: &[Dialect],
) -> Result<Vec<(Dialect, String)>, NodeError> {
    let asked = ask(place, dialects.contains(&Dialect::Frr))?;
    let found = spaces.look().map_err(at("look at the node"))?;
    let texts = dialects.iter().map(|dialect| Ok((*dialect, said(*dialect, place, &found)?)));
    let mut held: Vec<(Dialect, String)> = texts.collect::<Result<_, NodeError>>()?;
    if let Some(asked) = asked {
        let heard = asked.heard().map_err(at("ask FRR"))?;
        let of_frr = held.iter_mut().filter(|(dialect, _)| *dialect == Dialect::Frr);
        of_frr.for_each(|(_, text)| text.clone_from(&heard));
    }
    Ok(held)
}

fn ask(place: &Place, is_there: bool) -> Result<Option<Asked>, NodeError> {
    is_there.then(|| Asked::of(&place.frr)).transpose().map_err(at("ask FRR"))
}

/// What was found, in the words of this dialect. What FRR holds it says itself.
fn said(dialect: Dialect, place: &Place, found: &Found) -> Result<String, NodeError> {
    match dialect {
        Dialect::Linux => Ok(found.linux()),
        Dialect::Table => Ok(found.table(place).map_err(at("read the table"))?.unwrap_or_default()),
        _ => Ok(String::new()),
    }
}
