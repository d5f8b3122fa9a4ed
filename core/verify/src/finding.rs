//! What was found: a diagnosis, the lines that say so, and the lines that are not there.

use std::fmt;

use model::{Artifact, DeviceId, Dialect, Digest, Fleet, JobName, Part, Port, Service};
use read::Scope;

use crate::code::{Code, Severity};
use crate::layers::{Disagree, LayerBreach, LayerSevered, Owner};
use crate::weakness::Weakness;

/// Something that is not as it must be. Any of them keeps artifacts from being cleared.
///
/// Code, severity, layer, place, members, sentence and remedy all follow from the diagnosis:
/// whoever prints one asks for them, and nobody looks for words in a sentence.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Finding {
    /// What is not as it must be.
    pub diagnosis: Diagnosis,
    /// The lines that say so.
    pub present: Vec<Said>,
    /// The lines whose absence is the cause, as far as they can be known.
    pub missing: Vec<MissingLine>,
}

/// What is not as it must be.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Diagnosis {
    /// Packets can cross between two owners who did not both agree to it.
    Breach(Breach),
    /// Two owners share a place of another layer, or one was given what is not its own.
    LayerBreach(LayerBreach),
    /// Two endpoints that must be able to meet cannot.
    Severed(Severed),
    /// A layer does not name somebody whom it must name.
    LayerSevered(LayerSevered),
    /// Two layers name different things for the same job.
    Disagree(Disagree),
    /// A fence is down. Others may still hold, so perhaps no packet crosses yet.
    Weak(Weak),
}

/// Packets can cross from the first endpoint to the second.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Breach {
    /// Who sends.
    pub from: Endpoint,
    /// Who receives.
    pub to: Endpoint,
    /// Which way the packet takes.
    pub way: Way,
    /// What it carries.
    pub talk: Talk,
}

/// Unicast does not pass from the first endpoint to the second. An endpoint that is severed from
/// itself is attached to nothing.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Severed {
    /// Who sends.
    pub from: Endpoint,
    /// Who should receive.
    pub to: Endpoint,
    /// What it carries.
    pub talk: Talk,
}

/// A fence that is down.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Weak {
    /// Which fence.
    pub weakness: Weakness,
    /// The device where it is down, if it is one.
    pub device: Option<DeviceId>,
}

/// Something that takes part in a finding, and whose it is.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Party {
    /// What it is, with the fleet's names.
    pub name: String,
    /// Whose it is.
    pub owner: Owner,
}

/// A line that is not there.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct MissingLine {
    /// The device that lacks it.
    pub device: DeviceId,
    /// The text that it would stand in; none for what no text says, such as a cable.
    pub dialect: Option<Dialect>,
    /// The line as it would stand there; what it would say, where a word of it cannot be known.
    pub text: String,
}

/// One end of a packet's way.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Endpoint {
    /// The device that judges it.
    pub device: DeviceId,
    /// The port it is behind.
    pub port: Port,
    /// The job it belongs to; none for a port that nobody owns.
    pub owner: Option<JobName>,
}

/// How a packet gets from one endpoint to another.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Way {
    /// Inside one bridge domain of one device.
    BridgedLocal,
    /// Between bridge domains of one device.
    RoutedLocal,
    /// Through a tunnel between segments.
    BridgedRemote,
    /// Through a tunnel between VRFs.
    RoutedRemote,
}

/// What a packet carries, as far as policy can tell.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Talk {
    /// Flooded: broadcast, unknown or multicast.
    Flood,
    /// Unicast of a service that no rule names.
    Any,
    /// Unicast from a client to a provider of this service.
    Ask(Service),
    /// Unicast from a provider of this service to a client.
    Answer(Service),
}

/// The line that says something.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Said {
    /// The device that holds it.
    pub device: DeviceId,
    /// The artifact.
    pub dialect: Dialect,
    /// The part of the artifact.
    pub part: Part,
    /// The line within that part, from 1.
    pub line: u32,
}

/// A scope of one device.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct ScopeAt {
    /// The device.
    pub device: DeviceId,
    /// The segment or VRF.
    pub scope: Scope,
}

impl Finding {
    /// Takes over the lines of another one with the same diagnosis.
    pub(crate) fn add(&mut self, other: &mut Self) {
        self.present.append(&mut other.present);
        self.missing.append(&mut other.missing);
        self.present.sort();
        self.present.dedup();
        self.missing.sort();
        self.missing.dedup();
    }

    /// What kind of finding it is.
    #[must_use]
    pub const fn code(&self) -> Code {
        match &self.diagnosis {
            Diagnosis::Breach(_) | Diagnosis::LayerBreach(_) => Code::Breach,
            Diagnosis::Severed(_) | Diagnosis::LayerSevered(_) => Code::Severed,
            Diagnosis::Disagree(_) => Code::Disagree,
            Diagnosis::Weak(weak) => weak.weakness.code(),
        }
    }

    /// How bad it is.
    #[must_use]
    pub const fn severity(&self) -> Severity {
        self.code().severity()
    }

    /// What to do about it.
    #[must_use]
    pub const fn remedy(&self) -> &'static str {
        match &self.diagnosis {
            Diagnosis::LayerBreach(breach) => breach.place.remedy(),
            _ => self.code().remedy(),
        }
    }

    /// The layer it is about: `network`, or the dialect of another layer.
    #[must_use]
    pub fn layer(&self) -> &'static str {
        let dialect = match &self.diagnosis {
            Diagnosis::Breach(_) | Diagnosis::Severed(_) => None,
            Diagnosis::LayerSevered(severed) => Some(severed.layer),
            Diagnosis::Disagree(disagree) => Some(disagree.first.layer),
            Diagnosis::Weak(Weak { weakness: Weakness::Silent(dialect), .. }) => Some(*dialect),
            Diagnosis::LayerBreach(_) | Diagnosis::Weak(_) => {
                self.present.first().map(|said| said.dialect)
            }
        };
        dialect.filter(|dialect| !dialect.is_network()).map_or("network", Dialect::as_str)
    }

    /// The devices that take part.
    #[must_use]
    pub fn devices(&self) -> Vec<DeviceId> {
        let mut devices: Vec<DeviceId> = self.present.iter().map(|said| said.device).collect();
        devices.extend(self.missing.iter().map(|line| line.device));
        match &self.diagnosis {
            Diagnosis::Breach(Breach { from, to, .. })
            | Diagnosis::Severed(Severed { from, to, .. }) => {
                devices.extend([from.device, to.device]);
            }
            // What joins things and who forgets somebody is in the lines.
            Diagnosis::LayerBreach(_) | Diagnosis::LayerSevered(_) | Diagnosis::Disagree(_) => {}
            Diagnosis::Weak(weak) => {
                devices.extend(weak.device);
                if let Weakness::HalfSession { other, .. } = weak.weakness {
                    devices.extend(other);
                }
            }
        }
        devices.sort_unstable();
        devices.dedup();
        devices
    }

    /// Where it is, with the fleet's names.
    #[must_use]
    pub fn place(&self, fleet: &Fleet) -> String {
        match &self.diagnosis {
            Diagnosis::Breach(Breach { from, to, .. })
            | Diagnosis::Severed(Severed { from, to, .. }) => {
                let (from, to) = (fleet.device_name(from.device), fleet.device_name(to.device));
                if from == to { from.to_string() } else { format!("{from} to {to}") }
            }
            Diagnosis::LayerBreach(breach) => breach.place.show(fleet),
            Diagnosis::LayerSevered(severed) => severed.place(fleet),
            Diagnosis::Disagree(disagree) => disagree.place(fleet),
            Diagnosis::Weak(Weak { weakness, device }) => {
                let thing = weakness.place(fleet);
                match device.map(|device| fleet.device_name(device)) {
                    Some(device) if thing.is_empty() => device.to_string(),
                    Some(device) => format!("{device}: {thing}"),
                    None => thing,
                }
            }
        }
    }

    /// Who takes part, each with its owner.
    #[must_use]
    pub fn members(&self, fleet: &Fleet) -> Vec<Party> {
        match &self.diagnosis {
            Diagnosis::Breach(Breach { from, to, .. })
            | Diagnosis::Severed(Severed { from, to, .. }) => {
                let mut members = vec![from.party(fleet), to.party(fleet)];
                members.dedup();
                members
            }
            Diagnosis::LayerBreach(LayerBreach { pair: (one, other), .. }) => {
                vec![one.party(fleet), other.party(fleet)]
            }
            Diagnosis::LayerSevered(severed) => vec![Party::of(severed.owner.clone())],
            Diagnosis::Disagree(disagree) => vec![Party::of(Owner::Job(disagree.job.clone()))],
            Diagnosis::Weak(weak) => weak.weakness.members(fleet),
        }
    }

    /// The finding as one sentence with the fleet's names.
    #[must_use]
    pub fn sentence(&self, fleet: &Fleet) -> String {
        match &self.diagnosis {
            Diagnosis::Breach(Breach { from, to, way, talk }) => {
                format!("{} meets {}: {talk}, {way}", from.show(fleet), to.show(fleet))
            }
            Diagnosis::Severed(Severed { from, to, talk }) => {
                format!("{} cannot reach {}: {talk}", from.show(fleet), to.show(fleet))
            }
            Diagnosis::LayerBreach(breach) => breach.sentence(fleet),
            Diagnosis::LayerSevered(severed) => severed.sentence(fleet),
            Diagnosis::Disagree(disagree) => disagree.sentence(fleet),
            Diagnosis::Weak(Weak { weakness, device }) => {
                let what = weakness.sentence(fleet);
                match device {
                    Some(device) => format!("{}: {what}", fleet.device_name(*device)),
                    None => what,
                }
            }
        }
    }

    /// A name for it that stays the same as long as the same is wrong at the same place with the
    /// same members, whatever the lines' numbers and the measured values are.
    #[must_use]
    pub fn id(&self, fleet: &Fleet) -> String {
        const LETTERS: usize = 16;
        let mut words = vec![self.code().as_str().to_owned(), self.layer().to_owned()];
        words.push(self.place(fleet));
        if let Diagnosis::Breach(Breach { talk, .. }) | Diagnosis::Severed(Severed { talk, .. }) =
            &self.diagnosis
        {
            words.push(talk.to_string());
        }
        let members = self.members(fleet).into_iter();
        words.extend(members.flat_map(|member| [member.name, member.owner.to_string()]));
        let mut id = Digest::of_all(words.iter().map(String::as_bytes)).to_string();
        id.truncate(LETTERS);
        id
    }
}

impl MissingLine {
    /// `leaf-1 table lacks permit t1 17 18 tcp 2049`.
    #[must_use]
    pub fn show(&self, fleet: &Fleet) -> String {
        let device = fleet.device_name(self.device);
        match self.dialect {
            Some(dialect) => format!("{device} {dialect} lacks {}", self.text),
            None => format!("{device} lacks {}", self.text),
        }
    }
}

impl Party {
    /// An owner, with nothing in particular.
    pub(crate) fn of(owner: Owner) -> Self {
        Self { name: owner.to_string(), owner }
    }
}

impl Endpoint {
    /// `leaf-1 Ethernet1/5 (red/train)`.
    #[must_use]
    pub fn show(&self, fleet: &Fleet) -> String {
        let device = fleet.device_name(self.device);
        match &self.owner {
            Some(job) => format!("{device} {} ({job})", self.port),
            None => format!("{device} {} (nobody's)", self.port),
        }
    }

    pub(crate) fn party(&self, fleet: &Fleet) -> Party {
        Party {
            name: format!("{} {}", fleet.device_name(self.device), self.port),
            owner: self.owner.clone().map_or(Owner::Nobody, Owner::Job),
        }
    }
}

impl ScopeAt {
    pub(crate) fn show(&self, fleet: &Fleet) -> String {
        format!("{} on {}", self.scope, fleet.device_name(self.device))
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BridgedLocal => "bridged on the device",
            Self::RoutedLocal => "routed on the device",
            Self::BridgedRemote => "bridged through a tunnel",
            Self::RoutedRemote => "routed through a tunnel",
        })
    }
}

impl fmt::Display for Talk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flood => f.write_str("flooded frames"),
            Self::Any => f.write_str("unicast"),
            Self::Ask(service) => write!(f, "unicast to {service}"),
            Self::Answer(service) => write!(f, "unicast from {service}"),
        }
    }
}

impl Said {
    /// The line's number in the whole artifact and its text.
    #[must_use]
    pub fn quote<'a>(&self, artifact: &'a Artifact) -> Option<(u32, &'a str)> {
        let mut before = 0;
        for part in &artifact.parts {
            if part.part == self.part {
                let text = part.text.lines().nth(self.line.checked_sub(1)? as usize)?;
                return Some((before + self.line, text));
            }
            before += u32::try_from(part.text.lines().count()).unwrap_or(u32::MAX);
        }
        None
    }
}
