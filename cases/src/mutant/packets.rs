//! What an edit of a network's text does: the simulated fabric reads it by parsers of its own, and
//! packets are sent between all ports before and after.
//!
//! Takes: a sound world, a dialect and a device. Gives: whether anything passes that did not, or
//! does not pass any more. What packets alone do not show is said by a written rule beside it.

use std::collections::BTreeSet;

use filter::{Limits, compile};
use model::{DeviceId, Dialect, Generation, Owners};
use observe::Held;
use sim::{Fabric, Pair, Passing};

use super::{Classified, Consumer, Effect, Mutant, kernel, switch};
use crate::World;
use crate::truth::{Walked, crosses};

const BY: &str = "packets in the simulated fabric, by its own parsers";
const BY_LOADER: &str = "the packet program's loader";
const BY_PROMISES: &str = "rule: what a table promises of rates and classes";

/// The simulated fabric, in which one device holds an edited text of one dialect.
pub struct Packets {
    fabric: Fabric,
    owners: Owners,
    dialect: Dialect,
    device: DeviceId,
    /// The sound text that the device holds, and what passes then.
    sound: Option<(String, Walked)>,
}

impl Packets {
    /// The fabric of a sound world. The texts to be edited are of this dialect on this device;
    /// [`Consumer::at`] goes on to another one.
    #[must_use]
    pub fn new(world: &World, dialect: Dialect, device: DeviceId) -> Self {
        let mut fabric = Fabric::new(world.plan.fleet.clone());
        fabric.load(&world.artifacts);
        Self { fabric, owners: world.owners.clone(), dialect, device, sound: None }
    }

    /// What passes while the device holds a text.
    fn walk(&mut self, text: &str) -> Walked {
        let held = Held { generation: Generation::default(), text: text.to_owned() };
        self.fabric.load_text(self.device, self.dialect, held);
        Walked::of(&self.fabric, &self.owners)
    }
}

impl Consumer for Packets {
    fn at(&mut self, device: DeviceId) {
        self.device = device;
        self.sound = None;
    }

    fn classify(&mut self, sound: &str, mutant: &Mutant) -> Classified {
        let before = match self.sound.take() {
            Some((text, walked)) if text == sound => walked,
            _ => self.walk(sound),
        };
        let after = self.walk(&mutant.text);
        // The device goes back, so that the next one who is edited has sound neighbours.
        let held = Held { generation: Generation::default(), text: sound.to_owned() };
        self.fabric.load_text(self.device, self.dialect, held);
        let effect = effect(&self.owners, &before, &after);
        self.sound = Some((sound.to_owned(), before));
        if effect == Effect::Harmless {
            beside(self.dialect, sound, &mutant.text)
        } else {
            Classified { effect, by: BY }
        }
    }
}

/// What is let through more or less.
fn effect(owners: &Owners, before: &Walked, after: &Walked) -> Effect {
    let nothing = Passing::default();
    let is_new = |(pair, passing): (&Pair, &Passing)| {
        exceeds(passing, before.meetings.get(pair).unwrap_or(&nothing))
            && crosses(owners, pair, passing)
    };
    let is_lost = |(pair, passing): (&Pair, &Passing)| {
        exceeds(passing, after.conversations.get(pair).unwrap_or(&nothing))
    };
    if after.meetings.iter().any(is_new) {
        Effect::Opens
    } else if before.conversations.iter().any(is_lost) {
        Effect::Cuts
    } else {
        Effect::Harmless
    }
}

/// Whether more passes than otherwise. Where anything does, so does every service by its name.
fn exceeds(one: &Passing, other: &Passing) -> bool {
    let services = !one.asks.is_subset(&other.asks) || !one.answers.is_subset(&other.answers);
    (one.flood && !other.flood) || (!other.any && (one.any || services))
}

/// What is no matter of who meets whom: whether a text is taken at all, and what it promises.
fn beside(dialect: Dialect, sound: &str, edited: &str) -> Classified {
    match dialect {
        Dialect::Linux => return kernel::classify(sound, edited),
        Dialect::Nxos => return switch::classify(sound, edited),
        _ => {}
    }
    // An interface for each port: its number is of no matter as long as each has another one.
    let interface = |port: &model::Port| Some(number(&port.to_string()));
    if compile(edited, Generation::default(), &interface, None, &Limits::default()).is_err() {
        return Classified { effect: Effect::Refused, by: BY_LOADER };
    }
    let here = tenants_and_jobs(sound);
    if promises(sound, &here) == promises(edited, &here) {
        return Classified { effect: Effect::Harmless, by: BY };
    }
    // Whoever was promised a rate, a ceiling or a class has another one, or a neighbour has.
    Classified { effect: Effect::Cuts, by: BY_PROMISES }
}

fn number(name: &str) -> u32 {
    name.bytes().fold(7, |number: u32, byte| number.wrapping_mul(131).wrapping_add(byte.into()))
}

/// What a table says of rates and of jobs, of tenants and jobs that have an endpoint on the device.
fn promises<'a>(text: &'a str, here: &BTreeSet<(&str, &str)>) -> BTreeSet<Vec<&'a str>> {
    let is_promise = |words: &Vec<&str>| match words.as_slice() {
        ["rate", space, ..] => here.contains(&(*space, "")),
        ["job", space, tag, ..] => here.contains(&(*space, *tag)),
        _ => false,
    };
    statements(text).filter(is_promise).collect()
}

/// Tenants and jobs with an endpoint on the device. Of others it has no packets to treat.
fn tenants_and_jobs(text: &str) -> BTreeSet<(&str, &str)> {
    let mut all = BTreeSet::new();
    for words in statements(text) {
        if let ["endpoint", space, .., tag] = words.as_slice() {
            all.extend([(*space, ""), (*space, *tag)]);
        }
    }
    all
}

fn statements(text: &str) -> impl Iterator<Item = Vec<&str>> {
    text.lines().map(|line| line.split_ascii_whitespace().collect())
}
