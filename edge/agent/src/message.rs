//! What is said between a controller and an agent: JSON, each message behind its length.

use std::io;

use apply::{Admitted, Counted, Gate, Offer, OnDrift};
use model::{Dialect, Digest, Epoch, Generation, Name};
use read::Difference;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::address::Stream;
use crate::probe::{Sounded, Sounding};

/// The version of this language. Both sides must speak the same.
pub(crate) const VERSION: u32 = 3;
/// No message is longer. The texts of a leaf with thousands of endpoints are a few megabytes.
pub(crate) const LONGEST_BYTES: usize = 64 << 20;

/// One text for each dialect.
pub(crate) type Texts = Vec<(Dialect, String)>;

/// The first word, said by the agent.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) enum Greeting {
    Welcome { version: u32, node: Name },
    Refused { why: String },
}

/// What a controller asks for.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) enum Request {
    /// Hold these texts; ports that are new stay down.
    Hold {
        offer: Offer,
        on_drift: OnDrift,
        /// Go back to what was held before unless this is confirmed in time.
        confirm_within_ms: Option<u64>,
    },
    /// Open the ports of this generation.
    Start {
        epoch: Epoch,
        generation: Generation,
    },
    /// Stay with this generation.
    Confirm {
        epoch: Epoch,
        generation: Generation,
    },
    /// The controller lives, and knows that this generation is in force here.
    Renew {
        epoch: Epoch,
        generation: Generation,
    },
    /// Let no packet of a tenant pass.
    Close,
    Held,
    Counted,
    Status,
    /// From now on the agent tells, and is asked nothing more.
    Subscribe,
    /// Send probes, or say what became of some.
    Probe(Sounding),
}

/// What an agent answers.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) enum Answer {
    /// It holds it; in these dialects it held something else.
    Kept {
        changed: Vec<Dialect>,
    },
    /// It was sent something later before.
    Stale {
        epoch: Epoch,
        generation: Generation,
    },
    /// Nothing was done: these parts must come along.
    Lacks {
        parts: Vec<Digest>,
    },
    Done,
    Held(Holding),
    Counted(Counters),
    Status(Box<Status>),
    News(News),
    Probed(Sounded),
    /// It could not do it.
    Failed {
        step: String,
        said: String,
    },
}

/// What a node holds, and the plan that it was sent.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Holding {
    /// None if it was never sent anything.
    pub generation: Option<Generation>,
    /// As the node itself says it, in each dialect.
    pub texts: Vec<(Dialect, String)>,
}

/// What the packet program counted.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Counters {
    /// Frames that passed.
    pub passed: u64,
    /// Frames that were refused: hook, reason, tag of the sender, how many.
    pub drops: Vec<(String, String, u16, u64)>,
}

/// One statement that a node holds and was not sent, or was sent and does not hold.
#[derive(Clone, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Differing {
    /// The language of the statement.
    pub dialect: Dialect,
    /// Whether it is missing, or too much.
    pub is_missing: bool,
    /// The blocks it stands in, outermost first.
    pub blocks: Vec<String>,
    /// The statement.
    pub statement: String,
    /// Its line: of what was sent if it is missing, of what is held otherwise.
    pub line: u32,
}

/// How a node is.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// Who it is.
    pub node: Name,
    /// The life of the log that it was last sent something from.
    pub epoch: Epoch,
    /// The plan that it was last sent.
    pub generation: Option<Generation>,
    /// What the texts come down to that it was sent.
    pub digest: Option<Digest>,
    /// The plan whose texts it holds, if it went back to an earlier one by itself.
    pub went_back_to: Option<Generation>,
    /// Whether the ports of that plan were opened.
    pub started: bool,
    /// Whether packets of tenants pass.
    pub gate: Gate,
    /// What it does when it finds a drift.
    pub on_drift: OnDrift,
    /// What differs right now.
    pub drift: Vec<Differing>,
    /// Why it cannot say what it holds, or cannot hold what it was sent.
    pub trouble: Option<String>,
    /// What it is doing right now.
    pub doing: Option<String>,
    /// When the controller's lease ends, in milliseconds since 1970.
    pub lease_until_ms: u64,
    /// When it goes back unless the plan is confirmed.
    pub confirm_until_ms: Option<u64>,
}

/// What an agent tells whoever listens.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum News {
    /// What it holds now: first when one begins to listen, and then when it changed.
    Held(Holding),
    /// It holds something else than it was sent.
    Drift {
        /// The plan that it was sent.
        generation: Generation,
        /// When it was seen, in milliseconds since 1970.
        at_ms: u64,
        /// What differs.
        differences: Vec<Differing>,
        /// What it does about it.
        on_drift: OnDrift,
    },
    /// It cannot say what it holds.
    ObservationFailed {
        /// When.
        at_ms: u64,
        /// Why not.
        said: String,
    },
    /// What became of a drift.
    Repaired {
        /// When.
        at_ms: u64,
        /// Whether the agent did it, or whoever changed it changed it back.
        by_agent: bool,
        /// What differs still.
        left: Vec<Differing>,
        /// Why it could not be put right.
        trouble: Option<String>,
    },
    /// The gate opened or closed.
    Gate(Gate),
    /// It went back to an earlier plan, because nobody confirmed the later one.
    WentBack {
        /// The plan that was not confirmed; its number stays.
        from: Generation,
        /// The plan whose texts it holds again; none if it held nothing before.
        to: Option<Generation>,
        /// Why it could not.
        trouble: Option<String>,
    },
    /// What the packet program counted, when that changed.
    Counted(Counters),
}

impl From<Counted> for Counters {
    fn from(counted: Counted) -> Self {
        Self { passed: counted.passed, drops: counted.drops }
    }
}

impl Differing {
    pub(crate) fn of(dialect: Dialect, difference: Difference) -> Self {
        let Difference { is_missing, blocks, statement, line } = difference;
        Self { dialect, is_missing, blocks, statement, line }
    }
}

/// What a node holds otherwise than it was sent.
pub(crate) fn differing(sent: &Admitted, held: &Texts) -> Vec<Differing> {
    let mut all = Vec::new();
    for (dialect, text) in sent.texts() {
        let held = held.iter().find(|(held, _)| *held == dialect);
        let held = held.map_or("", |(_, text)| text.as_str());
        // Most of the time there is nothing to compare.
        if held == text {
            continue;
        }
        let differences = read::differences(dialect, text, held);
        all.extend(differences.into_iter().map(|one| Differing::of(dialect, one)));
    }
    all
}

/// Says one message.
pub(crate) async fn say(stream: &mut dyn Stream, message: &impl Serialize) -> io::Result<()> {
    let mut frame = vec![0; 4];
    serde_json::to_writer(&mut frame, message)?;
    let length = frame.len() - 4;
    if length > LONGEST_BYTES {
        return Err(too_long(length));
    }
    frame[..4].copy_from_slice(&(length as u32).to_be_bytes());
    stream.write_all(&frame).await?;
    stream.flush().await
}

/// Hears one message; none when the other side is done. A message that is too long is refused
/// before any room is made for it.
pub(crate) async fn hear<T: DeserializeOwned>(stream: &mut dyn Stream) -> io::Result<Option<T>> {
    let mut length = [0; 4];
    match stream.read_exact(&mut length).await {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        other => other?,
    };
    let length = u32::from_be_bytes(length) as usize;
    if length > LONGEST_BYTES {
        return Err(too_long(length));
    }
    let mut bytes = Vec::new();
    let read = stream.take(length as u64).read_to_end(&mut bytes).await?;
    if read < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    serde_json::from_slice(&bytes).map(Some).map_err(io::Error::from)
}

fn too_long(length: usize) -> io::Error {
    let said =
        format!("a message of {length} bytes is refused: at most {LONGEST_BYTES} are allowed");
    io::Error::new(io::ErrorKind::InvalidData, said)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
    }

    #[test]
    fn a_message_is_heard_as_it_was_said() {
        let (mut one, mut other) = tokio::io::duplex(64);
        let request = Request::Start { epoch: Epoch(1), generation: Generation(7) };
        let heard = run(async {
            let (said, heard) = tokio::join!(say(&mut one, &request), hear::<Request>(&mut other));
            said.unwrap();
            heard.unwrap().unwrap()
        });
        assert!(matches!(heard, Request::Start { epoch: Epoch(1), generation: Generation(7) }));
    }

    #[test]
    fn a_message_beyond_the_bound_is_refused_by_its_length_alone() {
        let (mut one, mut other) = tokio::io::duplex(64);
        let heard = run(async {
            let length = (LONGEST_BYTES as u32 + 1).to_be_bytes();
            one.write_all(&length).await.unwrap();
            hear::<Request>(&mut other).await
        });
        assert_eq!(heard.unwrap_err().kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn half_a_message_is_an_error_and_none_is_an_end() {
        let heard = |bytes: &'static [u8]| {
            let (mut one, mut other) = tokio::io::duplex(64);
            run(async {
                one.write_all(bytes).await.unwrap();
                drop(one);
                hear::<Request>(&mut other).await
            })
        };
        assert!(heard(b"").unwrap().is_none());
        let cut = heard(&[0, 0, 0, 9, b'"']).unwrap_err();
        assert_eq!(cut.kind(), io::ErrorKind::UnexpectedEof);
    }
}
