//! Maps of a document, read key by key. What is wrong is refused, and reading goes on.

use std::str::FromStr;

use ipnet::{IpNet, Ipv4Net};
use model::{
    ApartLevel, Capacity, Confidential, Enforcement, Grade, Health, Memory, Name, Preempts,
    Protocol, Rate, Side, SiteKind, SwitchDialect, TrafficClass, Within,
};
use smol_str::SmolStr;

use crate::Problem;
use crate::refusal::Refusals;
use crate::tree::{At, Pos, Tree, Value};

/// The keys of a kind of map.
pub(crate) struct Shape {
    /// What the map is, with its article.
    pub(crate) what: &'static str,
    pub(crate) needs: &'static [&'static str],
    pub(crate) may: &'static [&'static str],
}

/// A map whose keys are all known.
#[derive(Clone, Copy)]
pub(crate) struct Form<'t> {
    pub(crate) pos: Pos,
    entries: &'t [(At<SmolStr>, Tree)],
}

impl<'t> Form<'t> {
    /// Opens a map: unknown and missing keys are refused here, once.
    pub(crate) fn open(tree: &'t Tree, shape: &Shape, out: &mut Refusals) -> Option<Self> {
        let Value::Map(entries) = &tree.value else {
            let problem = Problem::NotAMap { what: shape.what, found: found(tree) };
            out.refuse(tree.pos, problem);
            return None;
        };
        for (key, _) in entries {
            let known = || shape.needs.iter().chain(shape.may).copied();
            if !known().any(|known| known == key.value) {
                let problem = Problem::UnknownKey {
                    key: key.value.to_string(),
                    within: shape.what,
                    near: out.near(&key.value, known()),
                    known: known().collect(),
                };
                out.refuse(key.pos, problem);
            }
        }
        let form = Self { pos: tree.pos, entries };
        for key in shape.needs {
            if form.get(key).is_none() {
                let within = shape.what;
                out.refuse(tree.pos, Problem::MissingKey { key, within });
            }
        }
        Some(form)
    }

    pub(crate) fn get(&self, key: &str) -> Option<&'t Tree> {
        let entry = self.entries.iter().find(|(name, _)| name.value == key);
        entry.map(|(_, tree)| tree)
    }

    /// Where the value of a key stands, or the map if the key is not there.
    pub(crate) fn pos_of(&self, key: &str) -> Pos {
        self.get(key).map_or(self.pos, |tree| tree.pos)
    }

    pub(crate) fn text(&self, key: &'static str, out: &mut Refusals) -> Option<At<SmolStr>> {
        text(self.get(key)?, key, out)
    }

    pub(crate) fn truth(&self, key: &'static str, out: &mut Refusals) -> Option<At<bool>> {
        let tree = self.get(key)?;
        let value = match &tree.value {
            Value::Scalar { text, plain: true } if text == "true" => true,
            Value::Scalar { text, plain: true } if text == "false" => false,
            _ => {
                refuse_type(tree, key, "true or false", out);
                return None;
            }
        };
        Some(At { value, pos: tree.pos })
    }

    /// A whole number within both bounds. The bounds must fit into the type.
    pub(crate) fn number<T: TryFrom<u64>>(
        &self,
        key: &'static str,
        least: u64,
        most: u64,
        out: &mut Refusals,
    ) -> Option<At<T>> {
        number(self.get(key)?, key, least, most, out)
    }

    /// One of a few words.
    pub(crate) fn word<T: Word>(&self, key: &'static str, out: &mut Refusals) -> Option<At<T>> {
        one_word(self.get(key)?, key, out)
    }

    /// Text with a grammar of its own; the grammar's error says what is expected.
    pub(crate) fn parsed<T>(&self, key: &'static str, out: &mut Refusals) -> Option<At<T>>
    where
        T: FromStr<Err: std::fmt::Display>,
    {
        parsed(self.get(key)?, key, out)
    }

    /// A name or a path of names; its error says what a name is.
    pub(crate) fn name<T: FromStr>(&self, key: &'static str, out: &mut Refusals) -> Option<At<T>> {
        let found = self.text(key, out)?;
        name(&found, out).map(|value| At { value, pos: found.pos })
    }

    /// A bandwidth above zero.
    pub(crate) fn rate(&self, key: &'static str, out: &mut Refusals) -> Option<At<Rate>> {
        let rate = self.parsed::<Rate>(key, out)?;
        if rate.value.bps == 0 {
            let problem = Problem::BadValue {
                key,
                found: rate.value.to_string(),
                expected: "a bandwidth above zero".into(),
            };
            out.refuse(rate.pos, problem);
            return None;
        }
        Some(rate)
    }

    pub(crate) fn net(&self, key: &'static str, out: &mut Refusals) -> Option<At<Ipv4Net>> {
        net(self.get(key)?, key, out)
    }

    pub(crate) fn list(&self, key: &'static str, out: &mut Refusals) -> &'t [Tree] {
        self.get(key).and_then(|tree| list(tree, key, out)).unwrap_or_default()
    }

    /// The map under a key, whose own keys are names that people chose.
    pub(crate) fn named(&self, key: &'static str, out: &mut Refusals) -> &'t [(At<SmolStr>, Tree)] {
        match self.get(key) {
            None => &[],
            Some(Tree { value: Value::Map(entries), .. }) => entries,
            Some(tree) => {
                refuse_type(tree, key, "a map", out);
                &[]
            }
        }
    }

    pub(crate) fn form(
        &self,
        key: &'static str,
        shape: &Shape,
        out: &mut Refusals,
    ) -> Option<Form<'t>> {
        Form::open(self.get(key)?, shape, out)
    }
}

pub(crate) fn list<'t>(
    tree: &'t Tree,
    key: &'static str,
    out: &mut Refusals,
) -> Option<&'t [Tree]> {
    if let Value::List(items) = &tree.value {
        return Some(items);
    }
    refuse_type(tree, key, "a list", out);
    None
}

/// A whole number within both bounds. The bounds must fit into the type.
pub(crate) fn number<T: TryFrom<u64>>(
    tree: &Tree,
    key: &'static str,
    least: u64,
    most: u64,
    out: &mut Refusals,
) -> Option<At<T>> {
    let pos = tree.pos;
    let digits = match &tree.value {
        Value::Scalar { text, plain: true } if is_whole(text) => text,
        _ => {
            refuse_type(tree, key, "a whole number", out);
            return None;
        }
    };
    match digits.parse::<u64>().map(|number| (number, T::try_from(number))) {
        Ok((number, Ok(value))) if (least..=most).contains(&number) => Some(At { value, pos }),
        _ => {
            let found = digits.to_string();
            let problem = Problem::OutOfRange { key, found, least, most };
            out.refuse(pos, problem);
            None
        }
    }
}

/// One of a few words.
pub(crate) fn one_word<T: Word>(
    tree: &Tree,
    key: &'static str,
    out: &mut Refusals,
) -> Option<At<T>> {
    let found = text(tree, key, out)?;
    let entry = T::WORDS.iter().find(|(word, _)| *word == found.value);
    let Some((_, value)) = entry else {
        let words = || T::WORDS.iter().map(|(word, _)| *word);
        let problem = Problem::WrongWord {
            key,
            near: out.near(&found.value, words()),
            found: found.value.to_string(),
            words: words().collect(),
        };
        out.refuse(found.pos, problem);
        return None;
    };
    Some(At { value: *value, pos: found.pos })
}

pub(crate) fn text(tree: &Tree, key: &'static str, out: &mut Refusals) -> Option<At<SmolStr>> {
    match &tree.value {
        Value::Scalar { text, .. } if !tree.value.is_nothing() => {
            Some(At { value: text.clone(), pos: tree.pos })
        }
        _ => {
            refuse_type(tree, key, "text", out);
            None
        }
    }
}

/// A short text without blanks: a group, a jurisdiction, a version, a product.
pub(crate) fn label(tree: &Tree, key: &'static str, out: &mut Refusals) -> Option<At<SmolStr>> {
    let found = text(tree, key, out)?;
    let is_label = (1..=128).contains(&found.value.len())
        && found.value.chars().all(|letter| letter.is_ascii_graphic());
    if !is_label {
        let problem = Problem::BadValue {
            key,
            found: shown(&found.value),
            expected: "1 to 128 visible ASCII characters without blanks".into(),
        };
        out.refuse(found.pos, problem);
        return None;
    }
    Some(found)
}

pub(crate) fn parsed<T>(tree: &Tree, key: &'static str, out: &mut Refusals) -> Option<At<T>>
where
    T: FromStr<Err: std::fmt::Display>,
{
    let found = text(tree, key, out)?;
    match found.value.parse::<T>() {
        Ok(value) => Some(At { value, pos: found.pos }),
        Err(error) => {
            let problem =
                Problem::BadValue { key, found: shown(&found.value), expected: error.to_string() };
            out.refuse(found.pos, problem);
            None
        }
    }
}

pub(crate) fn name<T: FromStr>(found: &At<SmolStr>, out: &mut Refusals) -> Option<T> {
    let name = found.value.parse().ok();
    if name.is_none() {
        let found_text = shown(&found.value);
        out.refuse(found.pos, Problem::BadName { found: found_text });
    }
    name
}

/// An IPv4 range without host bits.
pub(crate) fn net(tree: &Tree, key: &'static str, out: &mut Refusals) -> Option<At<Ipv4Net>> {
    let found = text(tree, key, out)?;
    let pos = found.pos;
    let problem = match found.value.parse::<IpNet>() {
        Ok(IpNet::V4(net)) if net.addr() == net.network() => {
            return Some(At { value: net, pos });
        }
        Ok(IpNet::V4(net)) => {
            Problem::HostBits { key, found: net.to_string(), meant: net.trunc().to_string() }
        }
        Ok(IpNet::V6(net)) => Problem::Ipv6 { key, found: net.to_string() },
        Err(_) => Problem::BadValue {
            key,
            found: shown(&found.value),
            expected: "an IPv4 range such as 10.1.0.0/16".into(),
        },
    };
    out.refuse(pos, problem);
    None
}

pub(crate) fn refuse_type(
    tree: &Tree,
    key: &'static str,
    expected: &'static str,
    out: &mut Refusals,
) {
    let problem = Problem::WrongType { key, expected, found: found(tree) };
    out.refuse(tree.pos, problem);
}

/// What stands where something else is expected.
fn found(tree: &Tree) -> String {
    match &tree.value {
        value if value.is_nothing() => "nothing".to_owned(),
        Value::Scalar { text, plain: true } => format!("`{}`", shown(text)),
        Value::Scalar { text, plain: false } => format!("the quoted text `{}`", shown(text)),
        Value::List(_) => "a list".to_owned(),
        Value::Map(_) => "a map".to_owned(),
    }
}

/// What somebody wrote, fit for one line of a terminal.
pub(crate) fn shown(text: &str) -> String {
    const MOST: usize = 80;
    let mut shown = String::new();
    for letter in text.chars().take(MOST) {
        match letter {
            // Escaped and foreign letters could turn the terminal or the line around.
            ' '..='~' => shown.push(letter),
            _ if letter.is_alphanumeric() => shown.push(letter),
            _ => shown.extend(letter.escape_default()),
        }
    }
    if text.chars().nth(MOST).is_some() {
        shown.push_str("...");
    }
    shown
}

fn is_whole(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Something that is written as one of a few words.
pub(crate) trait Word: Copy + 'static {
    const WORDS: &'static [(&'static str, Self)];
}

macro_rules! words {
    ($($name:ty: $($word:literal $variant:ident),*;)*) => {$(
        impl Word for $name {
            const WORDS: &'static [(&'static str, Self)] = &[$(($word, Self::$variant)),*];
        }
    )*};
}

words! {
    ApartLevel: "node" Node, "leaf" Leaf, "pod" Pod, "site" Site;
    Capacity: "reserved" Reserved, "on-demand" OnDemand, "preemptible" Preemptible;
    Grade: "domain" Domain, "node" Node, "gpu" Gpu, "slice" Slice, "shared" Shared;
    Enforcement: "leaf" Leaf, "host" Host, "dpu" Dpu;
    Health: "good" Good, "draining" Draining, "failed" Failed;
    Confidential: "sev-snp" SevSnp, "tdx" Tdx;
    Memory: "hbm" Hbm, "sram" Sram, "ram" Ram, "nvme" Nvme, "nic" Nic;
    Preempts: "nobody" Nobody, "own" Own, "others" Others;
    Protocol: "tcp" Tcp, "udp" Udp;
    Side: "client" Client, "provider" Provider;
    SiteKind: "core" Core, "edge" Edge;
    SwitchDialect: "frr" Frr, "nxos" Nxos;
    TrafficClass: "lossless" Lossless, "latency" Latency, "bulk" Bulk;
    Within: "node" Node, "nvlink-domain" NvlinkDomain, "leaf" Leaf, "pod" Pod;
}

/// A name of which others are made, so that a part of the program can always say one.
pub(crate) fn joined(parts: &[&str], pos: Pos, out: &mut Refusals) -> Option<Name> {
    let value = SmolStr::from(parts.join("-"));
    name(&At { value, pos }, out)
}
