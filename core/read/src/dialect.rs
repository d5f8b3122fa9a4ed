//! Each dialect, described once: who reads it, what passes over, what must be there, how it is
//! compared.
//!
//! What a line says stands in the module that reads it. All else that is known of a dialect stands
//! in its description, which is the only list: what is passed over when a text is read, when two
//! are compared, and what people are shown ([docs/dialects.md](../../../docs/dialects.md)).

use std::borrow::Cow;

use model::{Dialect, Part};

use crate::lines::{Line, lines};
use crate::pattern;
use crate::{Lacking, Reading, Unknown};

/// What is known of a dialect besides what its lines say.
pub struct Description {
    /// Who reads it, so that its rules are those that count.
    pub consumer: &'static str,
    /// What passes over: each a single value by pattern.
    pub ignored: &'static [Ignored],
    /// What must be there.
    pub demanded: &'static [Demanded],
    /// Lines that no two devices need to have in common, besides those among the ignored.
    pub(crate) uncompared: &'static [&'static str],
    /// How two texts are compared.
    pub(crate) compared: Compared,
    /// Where the consumer reads otherwise than it looks. Each is a whole sentence.
    pub otherwise: &'static [&'static str],
    /// Says what each line says.
    pub(crate) read: fn(&str) -> Reading,
}

impl Description {
    /// One with nothing but lines that stand for themselves, and comments.
    pub(crate) const fn of_statements(consumer: &'static str, read: fn(&str) -> Reading) -> Self {
        Self {
            consumer,
            ignored: &[COMMENT],
            demanded: &[],
            uncompared: &[],
            compared: Compared::Lines,
            otherwise: &[],
            read,
        }
    }
}

/// A line that lets nothing through and stops nothing.
#[derive(Debug)]
pub struct Ignored {
    /// The block, file or element that it stands in; nothing for the outermost.
    pub place: &'static str,
    /// The line, with `<class>` or `(one|other)` where a value stands.
    pub line: &'static str,
    /// Why it does not matter.
    pub why: &'static str,
    /// Whether a device that holds another value, or none, holds something else than it was sent.
    pub is_compared: bool,
}

/// A comment of the dialects that have `#` for it.
pub(crate) const COMMENT: Ignored = Ignored::free("", "#<text>", "a comment");

impl Ignored {
    /// A line that each device may have as it likes.
    pub(crate) const fn free(place: &'static str, line: &'static str, why: &'static str) -> Self {
        Self { place, line, why, is_compared: false }
    }

    /// A line that opens nothing and cuts nobody, and is as it was sent all the same.
    pub(crate) const fn fixed(place: &'static str, line: &'static str, why: &'static str) -> Self {
        Self { place, line, why, is_compared: true }
    }

    /// A line as the pattern has it.
    #[must_use]
    pub fn example(&self) -> String {
        pattern::example(self.line)
    }
}

/// A line without which something opens, or somebody is cut off: its absence is a finding.
///
/// It stands in the head of a text, or in a whole one. What must be there for a tenant, a job or a
/// neighbour is known only when lines are joined, and demanded by the verifier.
#[derive(Debug)]
pub struct Demanded {
    /// The file that it stands in; nothing where a text is one.
    pub place: &'static str,
    /// The line, as a pattern.
    pub line: &'static str,
    /// It is demanded only where a line like this stands; always if empty.
    pub beside: &'static str,
    /// What happens without it.
    pub why: &'static str,
}

/// How two texts of a dialect are compared.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Compared {
    /// Line by line, each in the block of the nearest line above that is indented less.
    Blocks,
    /// Line by line.
    Lines,
    /// By what they say: the consumer adds and orders as it likes.
    Claims,
    /// Member by member.
    Members,
}

/// What is known of a dialect.
#[must_use]
pub const fn description(dialect: Dialect) -> &'static Description {
    match dialect {
        Dialect::Frr => &crate::frr::DESCRIPTION,
        Dialect::Nxos => &crate::nxos::DESCRIPTION,
        Dialect::Linux => &crate::linux::DESCRIPTION,
        Dialect::Table => &crate::table::DESCRIPTION,
        Dialect::Vfio => &crate::vfio::DESCRIPTION,
        Dialect::Versions => &crate::versions::DESCRIPTION,
        Dialect::Mig => &crate::mig::DESCRIPTION,
        Dialect::Amd => &crate::amd::DESCRIPTION,
        Dialect::Nvlink => &crate::nvlink::DESCRIPTION,
        Dialect::Imex => &crate::imex::DESCRIPTION,
        Dialect::Pkey => &crate::pkey::DESCRIPTION,
        Dialect::Devices => &crate::devices::DESCRIPTION,
        Dialect::Vm => &crate::vm::DESCRIPTION,
        Dialect::Slurm => &crate::slurm::DESCRIPTION,
        Dialect::Kubernetes => &crate::kubernetes::DESCRIPTION,
        Dialect::Scrub => &crate::scrub::DESCRIPTION,
        Dialect::Attest => &crate::attest::DESCRIPTION,
    }
}

/// Reads a text in its dialect: what its lines say, whatever is missing.
#[must_use]
pub fn claims(dialect: Dialect, text: &str) -> Reading {
    let mut reading = (description(dialect).read)(text);
    refuse_unseen(text, &mut reading);
    reading
}

/// Reads a part of an artifact: what its lines say, and what must be there and is not.
#[must_use]
pub fn part(dialect: Dialect, part: &Part, text: &str) -> Reading {
    let mut reading = claims(dialect, text);
    if matches!(part, Part::Head | Part::Whole) {
        lack(description(dialect), &as_read(dialect, text), &mut reading);
    }
    if dialect == Dialect::Frr && matches!(part, Part::Whole) {
        let lines: Vec<&str> = text.split('\n').collect();
        let refused = crate::frr::late(text).into_iter().map(|(line, why)| Unknown {
            line,
            text: lines[line as usize - 1].trim().into(),
            why,
        });
        refuse(refused.collect(), &mut reading);
    }
    reading
}

/// The text as its consumer reads it, where that is otherwise than it looks.
fn as_read(dialect: Dialect, text: &str) -> Cow<'_, str> {
    match dialect {
        Dialect::Slurm => Cow::Owned(crate::slurm::as_read(text)),
        _ => Cow::Borrowed(text),
    }
}

/// Whether a line of this place passes over.
pub(crate) fn passes(description: &Description, place: &str, text: &str) -> bool {
    let mut here = description.ignored.iter().filter(|ignored| ignored.place == place);
    here.any(|ignored| pattern::matches(ignored.line, text))
}

/// A line with characters that nobody sees is not what it looks like, whatever else it says.
fn refuse_unseen(text: &str, reading: &mut Reading) {
    let is_plain = |byte: u8| (b' '..0x7f).contains(&byte) || byte == b'\n' || byte == b'\t';
    if text.bytes().all(is_plain) {
        return;
    }
    let mut refused = Vec::new();
    // Not by `lines`, which takes a carriage return away.
    for (line, whole) in (1..).zip(text.split('\n')) {
        if let Some(why) = pattern::unseen(whole) {
            refused.push(Unknown { line, text: whole.trim_end_matches('\r').into(), why });
        }
    }
    refuse(refused, reading);
}

/// Takes lines for unknown, whatever was understood of them.
fn refuse(mut refused: Vec<Unknown>, reading: &mut Reading) {
    if refused.is_empty() {
        return;
    }
    let is_refused =
        |line: u32| refused.binary_search_by_key(&line, |unknown| unknown.line).is_ok();
    reading.claims.retain(|claim| !is_refused(claim.line));
    reading.ignored.retain(|line| !is_refused(*line));
    reading.unknown.retain(|unknown| !is_refused(unknown.line));
    reading.unknown.append(&mut refused);
    reading.unknown.sort_by_key(|unknown| unknown.line);
}

/// Adds what must be there and is not.
fn lack(description: &Description, text: &str, reading: &mut Reading) {
    if description.demanded.is_empty() {
        return;
    }
    let stands = |place: &str, pattern: &str| {
        let mut file = "";
        lines(text).any(|line| {
            if let Some(named) = heading(&line) {
                file = named;
            }
            (place.is_empty() || file == place) && pattern::matches(pattern, line.text)
        })
    };
    for Demanded { place, line, beside, why } in description.demanded {
        let is_due = beside.is_empty() || stands(place, beside);
        if is_due && !stands(place, line) {
            reading.lacking.push(Lacking { line: 0, text: pattern::example(line).into(), why });
        }
    }
}

/// The file that a comment names, where a text is several.
fn heading<'a>(line: &Line<'a>) -> Option<&'a str> {
    let named = line.text.strip_prefix('#')?.trim_ascii();
    named.ends_with(".conf").then_some(named)
}
