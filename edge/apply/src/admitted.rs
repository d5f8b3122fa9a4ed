//! What a node may hold: texts that came in a message, or that it wrote down itself, and that were
//! checked before anything was done about them.

use std::collections::BTreeMap;
use std::ops::Range;

use model::{Dialect, Digest, Epoch, Generation, Name, Part};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Order;

/// Everything one node shall hold, of one plan. It is made of an [`Offer`] or of what such a one was
/// written down as, and of nothing else.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Admitted {
    epoch: Epoch,
    generation: Generation,
    digest: Digest,
    texts: Vec<Text>,
}

/// One text, and where its parts stand in it.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Text {
    dialect: Dialect,
    whole: String,
    parts: Vec<(Part, Digest, Range<usize>)>,
}

/// What a controller wants a device to hold. Parts that the device has already need not come again.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Offer {
    /// Whose it is.
    pub device: Name,
    /// The life of the log that it comes from.
    pub epoch: Epoch,
    /// The plan that last changed this device.
    pub generation: Generation,
    /// What all parts come down to.
    pub digest: Digest,
    /// All parts of all texts, in their order.
    pub parts: Vec<OfferedPart>,
}

/// One part of what is offered.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct OfferedPart {
    /// The language of its text.
    pub dialect: Dialect,
    /// What it is about.
    pub part: Part,
    /// What its text comes down to.
    pub digest: Digest,
    /// The text; none if the device should have it.
    pub text: Option<String>,
}

/// Why a node does not take what it was offered. Nothing was done then.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum NotAdmitted {
    /// It is another device's.
    #[error("this is for {theirs}, and the node is {own}: correct the agent's address")]
    Foreign {
        /// Whom it is for.
        theirs: Name,
        /// Who got it.
        own: Name,
    },
    /// The node was sent something later.
    #[error("it comes late: the node was sent generation {generation} of epoch {epoch}")]
    Late {
        /// The epoch of what it was sent.
        epoch: Epoch,
        /// The generation of what it was sent.
        generation: Generation,
    },
    /// One number means one text.
    #[error("it knows another text as generation {0}: send this as a later one")]
    Taken(Generation),
    /// These parts did not come along, and the node does not have them.
    #[error("{} parts are missing: send them along", .0.len())]
    Lacks(Vec<Digest>),
    /// It is not what was proved.
    #[error("{0} is not what was proved: its digest is another one, so send it again")]
    Damaged(String),
    /// It has a line that nobody understands here.
    #[error(
        "line {line} of {dialect} {part} is not understood here ({why}): `{text}`; bring the agent \
         to the controller's release"
    )]
    Unknown {
        /// The language of the text.
        dialect: Dialect,
        /// The part with the line.
        part: Part,
        /// The line in its part, counted from 1.
        line: u32,
        /// What stands there.
        text: String,
        /// What is wrong with it.
        why: &'static str,
    },
}

impl Offer {
    /// All that was cleared for a device, with the texts of these parts.
    pub fn of(order: &Order, comes_along: impl Fn(Digest) -> bool) -> Self {
        let mut parts = Vec::new();
        for (dialect, texts) in order.parts() {
            parts.extend(texts.iter().map(|part| {
                let digest = Digest::of(part.text.as_bytes());
                let text = comes_along(digest).then(|| part.text.clone());
                OfferedPart { dialect: *dialect, part: part.part.clone(), digest, text }
            }));
        }
        Self {
            device: order.name().clone(),
            epoch: order.epoch(),
            generation: order.generation(),
            digest: order.digest(),
            parts,
        }
    }

    /// Checks everything that can be checked on the node itself: whose it is, that it does not come
    /// late, that it is what was proved to the byte, and that every line is understood.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn admit(self, own: &Name, before: Option<&Admitted>) -> Result<Admitted, NotAdmitted> {
        let Self { device, epoch, generation, digest, parts } = self;
        if device != *own {
            return Err(NotAdmitted::Foreign { theirs: device, own: own.clone() });
        }
        if let Some(before) = before {
            let last = (before.epoch, before.generation, Some(before.digest));
            in_turn(last, (epoch, generation, digest))?;
        }
        let kept = before.map(Admitted::kept).unwrap_or_default();
        let has = |part: &OfferedPart| kept.contains_key(&(part.dialect, part.digest));
        let lacks = parts.iter().filter(|part| part.text.is_none() && !has(part));
        let lacks: Vec<Digest> = lacks.map(|part| part.digest).collect();
        if !lacks.is_empty() {
            return Err(NotAdmitted::Lacks(lacks));
        }
        let mut texts = Texts::default();
        for OfferedPart { dialect, part, digest, text } in parts {
            match (kept.get(&(dialect, digest)), text) {
                // What was understood once under this digest need not be read again.
                (Some(known), _) => texts.push(dialect, part, digest, known),
                (None, Some(text)) => {
                    if Digest::of(text.as_bytes()) != digest {
                        return Err(NotAdmitted::Damaged(format!("{dialect} {part}")));
                    }
                    understand(dialect, &part, &text)?;
                    texts.push(dialect, part, digest, &text);
                }
                (None, None) => unreachable!("whatever lacks was asked for above"),
            }
        }
        texts.admit(epoch, generation, digest)
    }
}

impl Admitted {
    /// The life of the log that it comes from.
    #[must_use]
    pub const fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// The plan that it is of.
    #[must_use]
    pub const fn generation(&self) -> Generation {
        self.generation
    }

    /// What its texts come down to.
    #[must_use]
    pub const fn digest(&self) -> Digest {
        self.digest
    }

    /// One text for each dialect the node speaks.
    pub fn texts(&self) -> impl Iterator<Item = (Dialect, &str)> {
        self.texts.iter().map(|text| (text.dialect, text.whole.as_str()))
    }

    /// The text in this dialect; nothing if there is none.
    #[must_use]
    pub fn text(&self, dialect: Dialect) -> &str {
        self.texts().find(|(spoken, _)| *spoken == dialect).map_or("", |(_, text)| text)
    }

    /// Its parts in one dialect, each with its text.
    pub fn parts(&self, dialect: Dialect) -> impl Iterator<Item = (&Part, &str)> {
        let texts = self.texts.iter().filter(move |text| text.dialect == dialect);
        texts
            .flat_map(|text| text.parts.iter().map(|(part, _, at)| (part, &text.whole[at.clone()])))
    }

    /// The same texts under a later plan's number, to which a node goes back by itself.
    #[must_use]
    pub fn under(self, epoch: Epoch, generation: Generation) -> Self {
        Self { epoch, generation, ..self }
    }

    /// Text that nobody judged, for tests that need it.
    #[cfg(feature = "danger-unproved")]
    #[must_use]
    pub fn danger_unproved(generation: Generation, said: Vec<(Dialect, String)>) -> Self {
        let mut texts = Texts::default();
        for (dialect, text) in said {
            texts.push(dialect, Part::Whole, Digest::of(text.as_bytes()), &text);
        }
        let digest = texts.digest();
        Self { epoch: Epoch::default(), generation, digest, texts: texts.0 }
    }

    /// The parts that are here.
    fn kept(&self) -> BTreeMap<(Dialect, Digest), &str> {
        let mut kept = BTreeMap::new();
        for Text { dialect, whole, parts } in &self.texts {
            kept.extend(
                parts.iter().map(|(_, digest, at)| ((*dialect, *digest), &whole[at.clone()])),
            );
        }
        kept
    }
}

/// Whoever speaks for an earlier epoch or generation comes late, and one number means one text.
pub(crate) fn in_turn(
    last: (Epoch, Generation, Option<Digest>),
    offered: (Epoch, Generation, Digest),
) -> Result<(), NotAdmitted> {
    let ((epoch, generation, known), (.., digest)) = (last, offered);
    if (offered.0, offered.1) < (epoch, generation) {
        return Err(NotAdmitted::Late { epoch, generation });
    }
    let is_known = (offered.0, offered.1) == (epoch, generation);
    if is_known && known.is_some_and(|known| known != digest) {
        return Err(NotAdmitted::Taken(generation));
    }
    Ok(())
}

/// Texts that are put together of their parts.
#[derive(Default)]
struct Texts(Vec<Text>);

impl Texts {
    fn push(&mut self, dialect: Dialect, part: Part, digest: Digest, said: &str) {
        if self.0.last().is_none_or(|last| last.dialect != dialect) {
            self.0.push(Text { dialect, whole: String::new(), parts: Vec::new() });
        }
        let Some(Text { whole, parts, .. }) = self.0.last_mut() else { return };
        let from = whole.len();
        whole.push_str(said);
        parts.push((part, digest, from..whole.len()));
    }

    fn digest(&self) -> Digest {
        let all = self.0.iter().flat_map(|text| {
            text.parts.iter().map(|(part, digest, _)| (text.dialect, part, *digest))
        });
        verify::digest_of_parts(all.collect())
    }

    /// The digest says nothing of the order of parts, so there is only one that is taken.
    fn admit(
        self,
        epoch: Epoch,
        generation: Generation,
        digest: Digest,
    ) -> Result<Admitted, NotAdmitted> {
        let in_order = |text: &Text| text.parts.is_sorted_by(|one, other| one.0 < other.0);
        let mut dialects: Vec<Dialect> = self.0.iter().map(|text| text.dialect).collect();
        dialects.sort_unstable();
        let is_once = dialects.is_sorted_by(|one, other| one < other);
        if !is_once || !self.0.iter().all(in_order) || self.digest() != digest {
            return Err(NotAdmitted::Damaged("all of it together".into()));
        }
        Ok(Admitted { epoch, generation, digest, texts: self.0 })
    }
}

/// A text is held only if every line of it is understood, and is such as a plan has.
fn understand(dialect: Dialect, part: &Part, text: &str) -> Result<(), NotAdmitted> {
    let reading = read::part(dialect, part, text);
    let no = |line, text, why| {
        Err(NotAdmitted::Unknown { dialect, part: part.clone(), line, text, why })
    };
    if let Some(read::Unknown { line, text, why }) = reading.unknown.into_iter().next() {
        return no(line, text, why);
    }
    if let Some(read::Lacking { line, text, why }) = reading.lacking.into_iter().next() {
        return no(line, format!("no line `{text}`"), why);
    }
    match reading.claims.iter().find(|claim| claim.fact.is_of_no_plan()) {
        None => Ok(()),
        Some(claim) => no(claim.line, claim.fact.to_string(), "no plan says so"),
    }
}

/// As a node writes it down.
#[derive(Serialize)]
struct Written<'a> {
    epoch: Epoch,
    generation: Generation,
    digest: Digest,
    parts: Vec<(Dialect, &'a Part, &'a str)>,
}

/// As a node finds it again. Agents before epochs wrote down texts without parts.
#[derive(Deserialize)]
struct Found {
    #[serde(default)]
    epoch: Epoch,
    generation: Generation,
    digest: Option<Digest>,
    #[serde(default)]
    parts: Vec<(Dialect, Part, String)>,
    #[serde(default)]
    texts: Vec<(Dialect, String)>,
}

impl Serialize for Admitted {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let parts = self.texts.iter().flat_map(|Text { dialect, whole, parts }| {
            parts.iter().map(|(part, _, at)| (*dialect, part, &whole[at.clone()]))
        });
        let Self { epoch, generation, digest, .. } = *self;
        Written { epoch, generation, digest, parts: parts.collect() }.serialize(to)
    }
}

impl<'de> Deserialize<'de> for Admitted {
    /// What a node wrote down itself is checked like a message: a disk may be damaged, and an agent
    /// of another release may know other lines.
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let Found { epoch, generation, digest, parts, texts } = Found::deserialize(from)?;
        let whole = texts.into_iter().map(|(dialect, text)| (dialect, Part::Whole, text));
        let mut found = Texts::default();
        for (dialect, part, text) in parts.into_iter().chain(whole) {
            understand(dialect, &part, &text).map_err(D::Error::custom)?;
            found.push(dialect, part, Digest::of(text.as_bytes()), &text);
        }
        let digest = digest.unwrap_or_else(|| found.digest());
        found.admit(epoch, generation, digest).map_err(D::Error::custom)
    }
}
