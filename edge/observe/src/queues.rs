//! The queues of an uplink: a queue discipline of kind `htb`, with a class for each tenant.

use std::fmt::Write as _;

use filter::{QUEUES, REST};
use netlink_packet_core::{Nla as _, NlasIterator};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage, TcOption};

use crate::door::Told;
use crate::{Door, Trouble};

/// The class of the whole link, above those of tenants.
pub const LINK_CLASS: u16 = 0xffff;
/// The kinds of queue disciplines there are: classes, and what waits in one of them.
pub const CLASSES: &str = "htb";
/// See [`CLASSES`].
pub const WAITING: &str = "bfifo";
/// Attributes of `htb` (linux/pkt_sched.h): a class, the discipline, and rates of more than 32 bits.
pub const HTB_CLASS: u16 = 1;
/// See [`HTB_CLASS`].
pub const HTB_INIT: u16 = 2;
/// See [`HTB_CLASS`].
pub const HTB_RATE64: u16 = 6;
/// See [`HTB_CLASS`].
pub const HTB_CEIL64: u16 = 7;

/// The words of `struct tc_htb_opt` for a class with these rates: the rate and the ceiling (three
/// words each), how long either may be exceeded, how many bytes have a turn when classes share what
/// is left, the level, which is the kernel's to say, and the priority.
#[must_use]
pub fn class_words(rate_bps: u64, ceil_bps: u64) -> [u32; 11] {
    /// Bytes are counted as they are (`TC_LINKLAYER_ETHERNET`), not in cells.
    const ETHERNET: u32 = 1 << 8;
    /// As much as the largest packet that the kernel sends at once.
    const TURN_BYTES: u32 = 1 << 16;
    let [rate, ceil] = [rate_bps, ceil_bps].map(|bps| u32::try_from(bps / 8).unwrap_or(u32::MAX));
    let [burst, ceil_burst] = [rate_bps, ceil_bps].map(burst_ticks);
    [ETHERNET, 0, rate, ETHERNET, 0, ceil, burst, ceil_burst, TURN_BYTES, 0, 0]
}

/// A millisecond and the time that one turn takes, in the kernel's ticks of 64 ns.
fn burst_ticks(bps: u64) -> u32 {
    let turn_ns = (u64::from(u16::MAX) + 1) * 8_000_000_000 / bps.max(1);
    u32::try_from((1_000_000 + turn_ns) >> 6).unwrap_or(u32::MAX)
}

/// How many bytes may wait in a class: 32 milliseconds of its ceiling, and not too many to keep.
#[must_use]
pub fn waiting_bytes(ceil_bps: u64) -> u32 {
    let bytes = ceil_bps / 8 * 32 / 1000;
    bytes.clamp(128 << 10, 16 << 20) as u32
}

/// What tunnelled frames of nobody here are guaranteed of a link: a hundredth.
#[must_use]
pub const fn rest_bps(link_bps: u64) -> u64 {
    if link_bps < 800 { 8 } else { link_bps / 800 * 8 }
}

/// The queues of one interface.
#[derive(Clone, Debug)]
pub(crate) struct Queues {
    pub(crate) interface: u32,
    /// Whether what has no class of its own waits in the class for it.
    rests: bool,
    classes: Vec<Class>,
    /// What waits in a class: the class, the kind of discipline, and how many bytes.
    waiting: Vec<(TcHandle, String, u32)>,
}

#[derive(Clone, Copy, Debug)]
struct Class {
    handle: TcHandle,
    parent: TcHandle,
    words: [u32; 11],
    rate_bps: u64,
    ceil_bps: u64,
}

impl Queues {
    /// Asks the kernel.
    pub(crate) fn through(door: &mut Door) -> Result<Vec<Self>, Trouble> {
        let question = RouteNetlinkMessage::GetQueueDiscipline(TcMessage::default());
        let disciplines: Vec<TcMessage> =
            door.dump(question)?.into_iter().filter_map(discipline).collect();
        let mut found = Vec::new();
        for root in disciplines.iter().filter(|message| is_root(message)) {
            let on_it = |message: &&TcMessage| message.header.index == root.header.index;
            let question = TcMessage::with_index(root.header.index);
            let classes = door.dump(RouteNetlinkMessage::GetTrafficClass(question))?;
            found.push(Self {
                interface: root.header.index.cast_unsigned(),
                rests: words(&options(root, HTB_INIT)).get(2) == Some(&u32::from(REST)),
                classes: classes.into_iter().filter_map(class).collect(),
                waiting: disciplines.iter().filter(on_it).map(waiting).collect(),
            });
        }
        Ok(found)
    }

    /// A line for the link and one for each tenant. What is not as it was made has a word more,
    /// which no plan says.
    pub(crate) fn say(&self, port: &str, is_named: bool, out: &mut String) {
        let link = self.classes.iter().find(|class| class.handle.minor == LINK_CLASS);
        let link_bps = link.map_or(0, |class| class.rate_bps);
        let _ = write!(out, "queue {port} rate {link_bps}");
        for (is_so, word) in [
            (!is_named, " unnamed"),
            (!self.rests || !self.has_rest(link_bps), " norest"),
            (link.is_none_or(|class| !class.is_whole_link()), " tuned"),
        ] {
            if is_so {
                out.push_str(word);
            }
        }
        out.push('\n');
        for class in &self.classes {
            if !matches!(class.handle.minor, LINK_CLASS | REST) {
                self.say_class(port, class, out);
            }
        }
    }

    fn say_class(&self, port: &str, class: &Class, out: &mut String) {
        let _ = write!(out, "queue {port} vrf t{}", class.handle.minor);
        let _ = write!(out, " rate {} ceil {}", class.rate_bps, class.ceil_bps);
        if !class.is_as_made() {
            out.push_str(" tuned");
        }
        if !self.waits(class) {
            out.push_str(" unqueued");
        }
        out.push('\n');
    }

    fn has_rest(&self, link_bps: u64) -> bool {
        let rest = self.classes.iter().find(|class| class.handle.minor == REST);
        rest.is_some_and(|class| {
            (class.rate_bps, class.ceil_bps) == (rest_bps(link_bps), link_bps)
                && class.is_as_made()
                && self.waits(class)
        })
    }

    /// Whether what waits in a class waits as it was made.
    fn waits(&self, class: &Class) -> bool {
        self.waiting.iter().any(|(parent, kind, bytes)| {
            *parent == class.handle && kind == WAITING && *bytes == waiting_bytes(class.ceil_bps)
        })
    }
}

impl Class {
    fn is_whole_link(&self) -> bool {
        let [made, held] = self.made_and_held();
        self.parent == TcHandle::ROOT && self.rate_bps == self.ceil_bps && made[..8] == held[..8]
    }

    fn is_as_made(&self) -> bool {
        let [made, held] = self.made_and_held();
        let link = TcHandle { major: QUEUES, minor: LINK_CLASS };
        self.parent == link && made == held
    }

    fn made_and_held(&self) -> [[u32; 11]; 2] {
        let mut held = self.words;
        held[9] = 0; // its level, which the kernel says
        [class_words(self.rate_bps, self.ceil_bps), held]
    }
}

fn discipline(told: Told) -> Option<TcMessage> {
    match told {
        Told::Other(RouteNetlinkMessage::NewQueueDiscipline(message)) => Some(message),
        _ => None,
    }
}

fn is_root(message: &TcMessage) -> bool {
    let ours = TcHandle { major: QUEUES, minor: 0 };
    let header = &message.header;
    header.parent == TcHandle::ROOT && header.handle == ours && kind(message) == CLASSES
}

fn waiting(message: &TcMessage) -> (TcHandle, String, u32) {
    let bytes = words(&raw_options(message)).first().copied().unwrap_or(0);
    (message.header.parent, kind(message).into(), bytes)
}

fn class(told: Told) -> Option<Class> {
    let Told::Other(RouteNetlinkMessage::NewTrafficClass(message)) = told else { return None };
    let words: [u32; 11] = words(&options(&message, HTB_CLASS)).try_into().ok()?;
    let bps = |wide, narrow: u32| {
        let wide = <[u8; 8]>::try_from(options(&message, wide)).map(u64::from_ne_bytes);
        8 * wide.unwrap_or_else(|_| narrow.into())
    };
    let (rate_bps, ceil_bps) = (bps(HTB_RATE64, words[2]), bps(HTB_CEIL64, words[5]));
    let (handle, parent) = (message.header.handle, message.header.parent);
    Some(Class { handle, parent, words, rate_bps, ceil_bps })
}

fn kind(message: &TcMessage) -> &str {
    let name = message.attributes.iter().find_map(|attribute| match attribute {
        TcAttribute::Kind(name) => Some(name.as_str()),
        _ => None,
    });
    name.unwrap_or_default()
}

/// The bytes of one option; none if it is not there.
fn options(message: &TcMessage, which: u16) -> Vec<u8> {
    let all = raw_options(message);
    let mut nested = NlasIterator::new(all.as_slice()).flatten();
    nested
        .find(|option| option.kind() == which)
        .map(|option| option.value().to_vec())
        .unwrap_or_default()
}

/// All options as they came: the library leaves those of disciplines that it does not know alone.
fn raw_options(message: &TcMessage) -> Vec<u8> {
    let found = message.attributes.iter().find_map(|attribute| match attribute {
        TcAttribute::Options(options) => match options.as_slice() {
            [TcOption::Other(whole)] => Some(whole),
            _ => None,
        },
        _ => None,
    });
    let Some(whole) = found else { return Vec::new() };
    let mut bytes = vec![0; whole.value_len()];
    whole.emit_value(&mut bytes);
    bytes
}

fn words(bytes: &[u8]) -> Vec<u32> {
    let word = |bytes: &[u8]| bytes.try_into().map(u32::from_ne_bytes).unwrap_or(0);
    bytes.chunks_exact(4).map(word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_may_exceed_its_rate_for_a_turn_and_a_millisecond() {
        let words = class_words(8_000_000, 100_000_000_000);
        assert_eq!(words[2], 1_000_000);
        assert_eq!(words[5], u32::MAX, "the whole rate stands in an option of its own");
        assert_eq!(u64::from(words[6]) * 64, 66_536_000);
        assert_eq!(u64::from(words[7]) * 64, 1_005_184);
    }

    #[test]
    fn what_may_wait_grows_with_the_ceiling_within_bounds() {
        let bytes = [1_000_000, 100_000_000, 400_000_000_000].map(waiting_bytes);
        assert_eq!(bytes, [131_072, 400_000, 16_777_216]);
    }
}
