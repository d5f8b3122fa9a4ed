//! Dialect `pkey`: who is in which InfiniBand partition, by OpenSM's `partitions.conf`.
//!
//! OpenSM reads a line at a time, without what stands behind `#`. A statement is a head and its
//! members, and goes on over lines until `;`. **At the first thing that it does not know it forgets
//! the whole file and makes every port a full member of the default partition**, so a line that is
//! not understood here is never harmless there. Of what is said twice the last counts.

use std::collections::BTreeMap;
use std::fmt;

use model::Guid;

use crate::dialect::{COMMENT, Compared, Description};
use crate::lines::{Line, lines};
use crate::values::Why;
use crate::{Claim, Fact, Hold, Reading, Unknown};

/// What is known of it.
pub(crate) const DESCRIPTION: Description = Description {
    compared: Compared::Members,
    ignored: &[COMMENT],
    otherwise: &[
        "A line that it does not know, a carriage return, or a file without any statement makes \
         every port a full member of the default partition: all can then speak with all.",
        "A comment begins wherever `#` stands, also in a name and in front of the `;` that ends a \
         statement: the statement then goes on in the next line.",
        "A line of more than 4093 bytes is read as several, a comment too.",
        "Of two memberships of one port in one partition the last one counts, and `ALL` takes back \
         what was said before it: without `SELF=full` behind it the subnet manager itself is cut off.",
        "Only the lower 15 bits of a key count: 0x8011 is 0x0011.",
    ],
    ..Description::of_statements("the subnet manager OpenSM, by its partitions.conf", read)
};

/// What is behind the longest line that OpenSM reads at once, it takes for another line.
const LONGEST_LINE: usize = 4093;

/// The key of the partition that every port is in (InfiniBand specification, volume 1, 10.9.1.1).
const DEFAULT: u16 = 0x7fff;

fn read(text: &str) -> Reading {
    let mut reading = Reading::with_room_for(text);
    let mut order = Order::default();
    each(text, |line, said| match said {
        Ok(Said::Nothing) => reading.ignored.push(line.number),
        Ok(Said::Broadcast { .. }) => {}
        Ok(Said::Member { pkey, member }) => {
            order.add(line.number, pkey, member);
            let hold = match member.who {
                Who::Everyone => Hold::EveryMember { pkey, full: member.is_full },
                Who::Port(guid) => Hold::Member { pkey, guid, full: member.is_full },
                // It may speak with everybody: that is what it is for.
                Who::Manager => return,
            };
            reading.claims.push(Claim { line: line.number, fact: Fact::Holds(hold) });
        }
        Err(why) => reading.unknown.push(unknown(line, why)),
    });
    order.refuse(text, &mut reading);
    settle(&mut reading);
    reading
}

/// What stands on a line that is not understood is not claimed either.
fn settle(reading: &mut Reading) {
    if reading.unknown.is_empty() {
        return;
    }
    reading.unknown.sort_by_key(|unknown| unknown.line);
    reading.unknown.dedup_by_key(|unknown| unknown.line);
    let refused = &reading.unknown;
    let is_refused =
        |line: u32| refused.binary_search_by_key(&line, |unknown| unknown.line).is_ok();
    reading.claims.retain(|claim| !is_refused(claim.line));
    reading.ignored.retain(|line| !is_refused(*line));
}

fn unknown(line: &Line<'_>, why: Why) -> Unknown {
    Unknown { line: line.number, text: line.text.into(), why }
}

/// What one piece of a line says.
pub(crate) enum Said {
    /// A comment, or a group of members.
    Nothing,
    /// IP runs in the partition, which joins nobody by itself.
    Broadcast {
        pkey: u16,
    },
    Member {
        pkey: u16,
        member: Member,
    },
}

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => Ok(()),
            Self::Broadcast { pkey } => write!(f, "partition {pkey:#06x}: ipoib"),
            Self::Member { pkey, member } => write!(f, "partition {pkey:#06x}: {member}"),
        }
    }
}

/// The head of a statement that goes on.
#[derive(Clone, Copy)]
struct Head {
    pkey: u16,
    /// Whether members are full that do not say what they are.
    is_full: bool,
}

/// Tells what each line says, in the order in which OpenSM reads it.
pub(crate) fn each<'a>(text: &'a str, mut told: impl FnMut(&Line<'a>, Result<Said, Why>)) {
    let mut open: Option<(Line<'a>, Head)> = None;
    for line in lines(text) {
        if line.indent + line.text.len() > LONGEST_LINE {
            told(&line, Err("the subnet manager reads lines of at most 4093 bytes"));
            open = None;
            continue;
        }
        let code = line.text.split_once('#').map_or(line.text, |(code, _)| trim(code));
        if code.is_empty() {
            if !line.text.is_empty() {
                told(&line, Ok(Said::Nothing));
            }
            continue;
        }
        let mut head = open.map(|(_, head)| head);
        let said = one_line(code, &mut head, &mut |said| told(&line, Ok(said)));
        if let Err(why) = said {
            told(&line, Err(why));
            head = None;
        }
        let first = open.map_or(line, |(first, _)| first);
        open = head.map(|head| (first, head));
    }
    if let Some((first, _)) = open {
        told(&first, Err("a statement ends with `;`, or goes on in what follows"));
    }
}

/// Reads what one line says, of which nothing counts if it says something unknown.
fn one_line(code: &str, open: &mut Option<Head>, told: &mut impl FnMut(Said)) -> Result<(), Why> {
    let (whole, last) = match code.rsplit_once(';') {
        Some((whole, last)) => (Some(whole), trim(last)),
        None => (None, code),
    };
    for piece in whole.into_iter().flat_map(|whole| whole.split(';')) {
        // In front of a `;` alone OpenSM goes on with what is left of the line before.
        if trim(piece).is_empty() {
            return Err("in front of `;` stands a statement or the end of one");
        }
        statement(trim(piece), open, told)?;
        *open = None;
    }
    if last.is_empty() {
        return Ok(());
    }
    match last.strip_prefix("mgid").map(trim) {
        Some(group) if open.is_some() && whole.is_none() => {
            is_group(group)?;
            told(Said::Nothing);
            Ok(())
        }
        _ => statement(last, open, told),
    }
}

/// A head with members, or members of the head that is open.
fn statement(piece: &str, open: &mut Option<Head>, told: &mut impl FnMut(Said)) -> Result<(), Why> {
    let (head, members) = match open {
        Some(head) => (*head, piece),
        None => {
            let (head, members) =
                piece.split_once(':').ok_or("a partition's ports stand after `:`")?;
            let (head, has_ipoib) = Head::read(head)?;
            if has_ipoib {
                told(Said::Broadcast { pkey: head.pkey });
            }
            (head, members)
        }
    };
    *open = Some(head);
    // A comma at the end says that more follow, and nothing if none do.
    for member in members.split(',').map(trim).filter(|member| !member.is_empty()) {
        told(Said::Member { pkey: head.pkey, member: Member::read(member, head)? });
    }
    Ok(())
}

impl Head {
    /// Reads `name=0x0011, ipoib`, and whether IP runs in the partition.
    ///
    /// Only what is written out is read. OpenSM also takes `i` for `ipoib`, and ignores flags that
    /// it does not know.
    fn read(text: &str) -> Result<(Self, bool), Why> {
        let mut flags = text.split(',').map(trim);
        let named = flags.next().and_then(|named| named.split_once('='));
        let (name, key) = named.ok_or("a partition is written `name=0x0011`")?;
        is_name(trim(name))?;
        let mut head = Self { pkey: key_of(trim(key))?, is_full: false };
        let mut has_ipoib = false;
        for flag in flags {
            match flag.split_once('=').map(|(flag, value)| (trim(flag), trim(value))) {
                None if flag == "ipoib" => has_ipoib = true,
                Some(("defmember", membership)) => head.is_full = is_full_member(membership)?,
                Some((flag, value)) => is_broadcast(flag, value)?,
                None => return Err("a partition has no flags but ipoib and defmember"),
            }
        }
        Ok((head, has_ipoib))
    }
}

/// How fast and how long packets to everybody may be: joins nobody. A service level is not among
/// them, for that decides over lanes.
fn is_broadcast(flag: &str, value: &str) -> Result<(), Why> {
    let most = match flag {
        "mtu" => 5,
        "rate" => 22,
        "scope" => 14,
        _ => return Err("a partition has no flags but ipoib and defmember"),
    };
    let value = value.parse::<u8>().ok().filter(|_| !value.starts_with(['0', '+']));
    match value {
        Some(value) if value <= most => Ok(()),
        _ => Err("mtu, rate and scope are small numbers of the InfiniBand specification"),
    }
}

/// `=ff12:401b::16, rate=3`: a group to which members of the partition may send.
fn is_group(text: &str) -> Result<(), Why> {
    const WHY: Why = "a group is written `mgid=ff12::1`, on a line of its own";
    let mut words = text.strip_prefix('=').ok_or(WHY)?.split(',').map(trim);
    let group: std::net::Ipv6Addr = words.next().and_then(|at| at.parse().ok()).ok_or(WHY)?;
    for flag in words {
        let (flag, value) = flag.split_once('=').ok_or(WHY)?;
        is_broadcast(trim(flag), trim(value))?;
    }
    if group.is_multicast() { Ok(()) } else { Err(WHY) }
}

/// Who is in a partition, and whether it speaks with all others or only with full members.
#[derive(Clone, Copy)]
pub(crate) struct Member {
    who: Who,
    is_full: bool,
}

#[derive(Clone, Copy, Eq, PartialEq)]
enum Who {
    Everyone,
    /// The subnet manager's own port.
    Manager,
    Port(Guid),
}

impl Member {
    /// OpenSM also takes `A` for `ALL`, `f` or nothing for `full`, and any other word for limited.
    fn read(text: &str, head: Head) -> Result<Self, Why> {
        let (who, is_full) = match text.split_once('=') {
            Some((who, membership)) => (trim(who), is_full_member(trim(membership))?),
            None => (text, head.is_full),
        };
        let who = match who {
            // Only channel adapters have anything to say.
            "ALL" | "ALL_CAS" => Who::Everyone,
            "SELF" if head.pkey != DEFAULT => {
                return Err("the subnet manager is in the default partition and in no other");
            }
            "SELF" if !is_full => {
                return Err("a limited subnet manager is reached by no port that is limited too");
            }
            "SELF" => Who::Manager,
            port => Who::Port(port_of(port)?),
        };
        Ok(Self { who, is_full })
    }
}

impl fmt::Display for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.who {
            Who::Everyone => f.write_str("ALL")?,
            Who::Manager => f.write_str("SELF")?,
            Who::Port(guid) => write!(f, "{guid}")?,
        }
        f.write_str(if self.is_full { "=full" } else { "=limited" })
    }
}

/// Who was said to be what, in order, where order can matter: it does not as long as all are full.
#[derive(Default)]
struct Order {
    said: Vec<(u32, u16, Member)>,
    /// Whether somebody is limited, or everybody is named.
    matters: bool,
}

impl Order {
    fn add(&mut self, line: u32, pkey: u16, member: Member) {
        self.matters |= !member.is_full || member.who == Who::Everyone;
        self.said.push((line, pkey, member));
    }

    /// Refuses what takes back what stands before it.
    fn refuse(&self, text: &str, reading: &mut Reading) {
        const TWICE: Why = "a port is a member in two ways, of which the last one counts";
        const TAKEN: Why = "everybody comes first: what was said before it is taken back";
        const ALONE: Why = "without SELF=full behind it the subnet manager is out of reach";
        if !self.matters {
            return;
        }
        let mut refused = BTreeMap::new();
        let mut ports: BTreeMap<(u16, Guid), bool> = BTreeMap::new();
        let mut alone = None;
        for (line, pkey, Member { who, is_full }) in &self.said {
            match who {
                Who::Manager => alone = None,
                Who::Port(guid) => {
                    if *ports.entry((*pkey, *guid)).or_insert(*is_full) != *is_full {
                        refused.insert(*line, TWICE);
                    }
                }
                Who::Everyone => {
                    if ports.range((*pkey, Guid(0))..=(*pkey, Guid(u64::MAX))).next().is_some() {
                        refused.insert(*line, TAKEN);
                    }
                    if *pkey == DEFAULT && !is_full {
                        alone = Some(*line);
                    }
                }
            }
        }
        refused.extend(alone.map(|line| (line, ALONE)));
        for line in lines(text) {
            if let Some(why) = refused.get(&line.number) {
                reading.unknown.push(unknown(&line, why));
            }
        }
    }
}

fn is_name(name: &str) -> Result<(), Why> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let is_word = !name.is_empty() && name.bytes().all(is_plain);
    if is_word { Ok(()) } else { Err("a partition's name is letters, digits, `.`, `_` and `-`") }
}

/// A key, of which only the lower 15 bits count. With a zero in front it would be octal.
fn key_of(text: &str) -> Result<u16, Why> {
    const WHY: Why = "a partition key is written 0x0011 and is from 0x0001 to 0x7fff";
    let number = match hex(text) {
        Some(digits) => u16::from_str_radix(digits, 16),
        None if text.starts_with(['0', '+']) => return Err(WHY),
        None => text.parse(),
    };
    match number.map_err(|_| WHY)? & DEFAULT {
        0 => Err(WHY),
        key => Ok(key),
    }
}

/// A port, of which there is none without a number: OpenSM gives up there.
fn port_of(text: &str) -> Result<Guid, Why> {
    const WHY: Why = "a member is ALL, SELF or a port GUID, which is 0x and up to sixteen digits";
    let digits = hex(text).filter(|digits| digits.len() <= 16).ok_or(WHY)?;
    match u64::from_str_radix(digits, 16) {
        Ok(guid) if guid > 0 => Ok(Guid(guid)),
        _ => Err(WHY),
    }
}

fn hex(text: &str) -> Option<&str> {
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"))?;
    let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    (is_hex && !digits.is_empty()).then_some(digits)
}

fn is_full_member(word: &str) -> Result<bool, Why> {
    match word {
        "full" => Ok(true),
        "limited" => Ok(false),
        _ => Err("a member is full or limited"),
    }
}

fn trim(text: &str) -> &str {
    text.trim_matches([' ', '\t'])
}
