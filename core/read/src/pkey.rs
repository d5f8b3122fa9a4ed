//! Dialect `pkey`: who is in which InfiniBand partition, by OpenSM's `partitions.conf`.

use std::fmt;

use model::Guid;

use crate::dialect::{Compared, Description};
use crate::lines::Line;
use crate::statement;
use crate::values::Why;
use crate::{Hold, Reading};

/// What is known of it.
pub(crate) const DESCRIPTION: Description = Description {
    compared: Compared::Members,
    otherwise: &[
        "A carriage return at the end of a line, or a comment behind a statement, ends its parsing: \
         every port is then a full member of the default partition.",
        "A line of more than 4093 bytes is read as several.",
    ],
    ..Description::of_statements("the subnet manager OpenSM, by its partitions.conf", read)
};

fn read(text: &str) -> Reading {
    statement::read(text, |line| Partition::read(line).map(Partition::holds))
}

/// What is behind the longest line that OpenSM reads at once, it takes for another line.
const LONGEST_LINE: usize = 4093;

/// The key of the partition that every port is in (InfiniBand specification, volume 1, 10.9.1.1).
const DEFAULT: u16 = 0x7fff;

/// One statement of OpenSM's partitions.conf: `name=0x0011, ipoib : 0x…=full, 0x…=limited ;`.
///
/// Only what is written out is read. OpenSM also takes `A` for `ALL` and `f` for `full`, keys and
/// GUIDs in decimal and, with a zero in front, in octal digits, and statements over many lines.
pub(crate) struct Partition<'a> {
    name: &'a str,
    pkey: u16,
    /// Whether IP runs in it, which joins nobody by itself.
    has_ipoib: bool,
    members: Vec<Member>,
}

/// Who is in a partition, and whether it speaks with all others or only with full members.
#[derive(Clone, Copy)]
pub(crate) struct Member {
    who: Who,
    is_full: bool,
}

#[derive(Clone, Copy)]
enum Who {
    Everyone,
    /// The subnet manager's own port.
    Manager,
    Port(Guid),
}

impl<'a> Partition<'a> {
    pub(crate) fn read(line: &Line<'a>) -> Result<Self, Why> {
        if line.indent + line.text.len() > LONGEST_LINE {
            return Err("the subnet manager reads lines of at most 4093 bytes");
        }
        let whole = line.text.strip_suffix(';').filter(|rest| !rest.contains(';'));
        let whole = whole.ok_or("a partition is one line and ends with its only `;`")?;
        let (head, members) = whole.split_once(':').ok_or("a partition's ports stand after `:`")?;
        let mut head = head.split(',').map(trim);
        let named = head.next().and_then(|named| named.split_once('='));
        let (name, key) = named.ok_or("a partition is written `name=0x0011`")?;
        let mut partition =
            Self { name: called(name)?, pkey: key_of(key)?, has_ipoib: false, members: Vec::new() };
        let mut is_full = false;
        for flag in head {
            match flag.split_once('=').map(|(flag, value)| (trim(flag), trim(value))) {
                None if flag == "ipoib" => partition.has_ipoib = true,
                Some(("defmember", membership)) => is_full = is_full_member(membership)?,
                _ => return Err("a partition has no flags but ipoib and defmember"),
            }
        }
        for member in members.split(',') {
            partition.members.push(Member::read(trim(member), is_full)?);
        }
        let has_manager = partition.members.iter().any(|one| matches!(one.who, Who::Manager));
        if has_manager && partition.pkey != DEFAULT {
            return Err("the subnet manager is in the default partition and in no other");
        }
        Ok(partition)
    }

    fn holds(self) -> impl Iterator<Item = Hold> + use<> {
        let pkey = self.pkey;
        self.members.into_iter().filter_map(move |Member { who, is_full }| match who {
            Who::Everyone => Some(Hold::EveryMember { pkey, full: is_full }),
            Who::Port(guid) => Some(Hold::Member { pkey, guid, full: is_full }),
            // It may speak with everybody: that is what it is for.
            Who::Manager => None,
        })
    }

    /// The same partition with one member a statement, written in one way.
    pub(crate) fn statements(&self) -> impl Iterator<Item = String> + '_ {
        let Self { name, pkey, has_ipoib, members } = self;
        let ipoib = if *has_ipoib { ", ipoib" } else { "" };
        members.iter().map(move |member| format!("{name}={pkey:#06x}{ipoib} : {member} ;"))
    }
}

const WHO: Why = "a member is ALL, SELF or a port GUID, which is 0x and sixteen digits";

impl Member {
    fn read(text: &str, is_full: bool) -> Result<Self, Why> {
        let (who, is_full) = match text.split_once('=') {
            Some((who, membership)) => (trim(who), is_full_member(trim(membership))?),
            None => (text, is_full),
        };
        let who = match who {
            // Only channel adapters have anything to say.
            "ALL" | "ALL_CAS" => Who::Everyone,
            "SELF" => Who::Manager,
            port => Who::Port(port.parse().map_err(|_| WHO)?),
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

fn called(name: &str) -> Result<&str, Why> {
    let name = trim(name);
    let is_word = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_graphic());
    if is_word { Ok(name) } else { Err("a partition's name is one word") }
}

fn key_of(text: &str) -> Result<u16, Why> {
    const WHY: Why = "a partition key is written 0x0011 and is from 0x0001 to 0x7fff";
    let digits = trim(text).strip_prefix("0x").filter(|digits| digits.len() == 4).ok_or(WHY)?;
    let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    let key = u16::from_str_radix(digits, 16).map_err(|_| WHY)?;
    if is_hex && (1..=DEFAULT).contains(&key) { Ok(key) } else { Err(WHY) }
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
