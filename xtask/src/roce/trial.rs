//! Who calls whom, with what, what should happen, and what did.

use super::host::Drops;
use super::seat::Seat;
use crate::Failure;
use crate::guest::{Answer, Machine};

/// Two endpoints, and whether RDMA may pass between them.
pub(super) struct Trial {
    pub(super) what: &'static str,
    /// The workloads whose places the two machines take.
    pub(super) ends: [&'static str; 2],
    pub(super) expected: Expected,
}

/// What should happen.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Expected {
    /// The tool ends well on both sides.
    Passes,
    /// Not one packet arrives, because the sender's leaf drops all of them for this reason.
    Dropped(&'static str),
}

/// The endpoints are those of a lab with two leaves and three tenants. In each tenant `train` has
/// interface 0 of its nodes, `pair` 1 and 2, `tune` 3.
pub(super) const TRIALS: [Trial; 5] = [
    Trial { what: "one job", ends: ["red-1/0", "red-2/0"], expected: Expected::Passes },
    Trial {
        what: "two jobs of a tenant",
        ends: ["red-1/0", "red-2/3"],
        expected: Expected::Dropped("roce"),
    },
    Trial {
        what: "two jobs that agreed on udp 9125",
        ends: ["red-1/1", "red-2/0"],
        expected: Expected::Dropped("roce"),
    },
    Trial {
        what: "two tenants",
        ends: ["red-1/0", "green-2/0"],
        expected: Expected::Dropped("destination"),
    },
    Trial {
        what: "two tenants that agreed on tcp 2049",
        ends: ["red-1/0", "vault-2/1"],
        expected: Expected::Dropped("roce"),
    },
];

impl Trial {
    /// Every way to try it: both directions, over IPv4 and IPv6; and once, where it should work,
    /// writing into the other's memory.
    pub(super) fn rounds(&self) -> Vec<Round> {
        let all = [(0, 1), (1, 0)].into_iter().flat_map(|(client, server)| {
            let over = |family| Round { tool: Tool::Pingpong, client, server, family };
            Family::ALL.map(over)
        });
        let mut rounds: Vec<Round> = all.collect();
        if self.expected == Expected::Passes {
            rounds.push(Round { tool: Tool::Write, ..rounds[0] });
        }
        rounds
    }
}

/// How long a tool may take where it should work: an emulated processor is slow.
const PATIENCE_S: u32 = 120;
/// How long a machine knocks where nobody should hear it. Soft RoCE sends again for ever, so that
/// the tool does not end by itself; whether it was heard is counted, not timed.
const KNOCKING_S: u32 = 4;
/// How a shell calls the end of a tool that was told to end.
const TERMINATED: i32 = 128 + 15;

/// One call of one machine to the other.
#[derive(Clone, Copy)]
pub(super) struct Round {
    pub(super) tool: Tool,
    /// Which of the two machines calls, and which is called.
    pub(super) client: usize,
    pub(super) server: usize,
    pub(super) family: Family,
}

/// What a machine does with the other.
#[derive(Clone, Copy)]
pub(super) enum Tool {
    /// `ibv_rc_pingpong`: messages there and back.
    Pingpong,
    /// `ib_write_bw`: writes into the other's memory.
    Write,
}

/// What carries RoCEv2.
#[derive(Clone, Copy)]
pub(super) enum Family {
    Four,
    Six,
}

impl Round {
    /// Has both machines learn the way to the other, before anything is counted.
    pub(super) fn prepare(
        &self,
        machines: &mut [Machine; 2],
        seats: [&Seat; 2],
    ) -> Result<(), Failure> {
        for (own, other) in [(self.client, self.server), (self.server, self.client)] {
            machines[own].tell(&format!("meet {}", seats[other].address(self.family)))?;
        }
        Ok(())
    }

    /// Has one machine serve and the other call, and tells what came of it.
    pub(super) fn play(
        &self,
        machines: &mut [Machine; 2],
        seats: [&Seat; 2],
        expected: Expected,
    ) -> Result<Seen, Failure> {
        let gid = |place: usize| seats[place].gid(self.family);
        let before = counts(machines)?;
        let tool = self.tool.wish();
        let server = format!("serve {tool} {}", gid(self.server));
        machines[self.server].tell(&server)?;
        let patience_s = if expected == Expected::Passes { PATIENCE_S } else { KNOCKING_S };
        let (own, other) = (gid(self.client), beside(self.server));
        let call = format!("call {patience_s} {tool} {own} {other}");
        let called = machines[self.client].ask(&call)?;
        // A server whose client failed would wait for ever.
        let end = if called.code == 0 { "served" } else { "served now" };
        let served = machines[self.server].ask(end)?;
        let after = counts(machines)?;
        Ok(Seen {
            ended_well: called.code == 0 && served.code == 0,
            complaint: complaint(&called),
            sent: after[self.client].sent.saturating_sub(before[self.client].sent),
            arrived: after[self.server].arrived.saturating_sub(before[self.server].arrived),
            drops: Drops::new(),
        })
    }
}

impl Tool {
    pub(super) const fn program(self) -> &'static str {
        match self {
            Self::Pingpong => "ibv_rc_pingpong",
            Self::Write => "ib_write_bw",
        }
    }

    const fn wish(self) -> &'static str {
        match self {
            Self::Pingpong => "pingpong",
            Self::Write => "write",
        }
    }
}

impl Family {
    const ALL: [Self; 2] = [Self::Four, Self::Six];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Four => "IPv4",
            Self::Six => "IPv6",
        }
    }
}

/// The address of a machine on the network beside the fabric (RFC 5737).
pub(super) fn beside(place: usize) -> String {
    format!("192.0.2.{}", place + 1)
}

/// What a round showed.
pub(super) struct Seen {
    /// Whether the tool did, on both sides.
    ended_well: bool,
    /// What the caller said, if it failed.
    complaint: String,
    /// RDMA packets that left the caller, and that reached the called.
    sent: u64,
    arrived: u64,
    /// What the leaves dropped meanwhile.
    drops: Drops,
}

impl Seen {
    /// Remembers what was dropped between two looks.
    pub(super) fn dropped(&mut self, before: &Drops, after: &Drops) {
        for (cause, packets) in after {
            let more = packets.saturating_sub(before.get(cause).copied().unwrap_or(0));
            if more > 0 {
                self.drops.insert(cause.clone(), more);
            }
        }
    }

    /// Whether it is what was expected.
    pub(super) fn is(&self, expected: Expected) -> bool {
        match expected {
            Expected::Passes => self.ended_well && self.arrived > 0,
            Expected::Dropped(reason) => {
                let dropped = self
                    .drops
                    .iter()
                    .filter(|((_, hook, why), _)| hook == "workload" && why == reason);
                let dropped: u64 = dropped.map(|(_, packets)| packets).sum();
                // All that was sent was dropped, so that nothing else can have stopped it.
                !self.ended_well && self.arrived == 0 && self.sent > 0 && dropped == self.sent
            }
        }
    }

    /// What was seen, in words.
    pub(super) fn in_words(&self) -> String {
        let Self { sent, arrived, .. } = self;
        if self.ended_well {
            return format!("passes ({sent} packets sent, {arrived} arrived)");
        }
        let drops = self.drops.iter().map(|((leaf, hook, reason), packets)| {
            format!("; {leaf} dropped {packets} at `{hook}`: `{reason}`")
        });
        let drops: String = drops.collect();
        format!("fails: {} ({sent} packets sent, {arrived} arrived{drops})", self.complaint)
    }
}

/// What a machine's RDMA device has sent and received so far.
struct Count {
    sent: u64,
    arrived: u64,
}

fn counts(machines: &mut [Machine; 2]) -> Result<[Count; 2], Failure> {
    let [a, b] = machines;
    Ok([count(a)?, count(b)?])
}

fn count(machine: &mut Machine) -> Result<Count, Failure> {
    let said = machine.tell("count")?;
    let mut numbers = said.lines().filter_map(|line| line.trim().parse().ok());
    match (numbers.next(), numbers.next()) {
        (Some(sent), Some(arrived)) => Ok(Count { sent, arrived }),
        _ => Err(Failure::Broken(format!("a machine counts `{said}`"))),
    }
}

/// The line in which a tool says what failed; its last one if it does not.
fn complaint(answer: &Answer) -> String {
    if answer.code == TERMINATED {
        return "no answer".to_owned();
    }
    let mut lines = answer.text.lines().map(str::trim).filter(|line| !line.is_empty());
    let failed = lines.clone().find(|line| line.starts_with("Failed"));
    failed.or_else(|| lines.next_back()).unwrap_or("nothing said").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(ended_well: bool, sent: u64, arrived: u64, drops: &[(&str, &str, u64)]) -> Seen {
        let drops = drops.iter().map(|(hook, reason, packets)| {
            (("leaf-1".to_owned(), (*hook).to_owned(), (*reason).to_owned()), *packets)
        });
        Seen { ended_well, complaint: "gone".to_owned(), sent, arrived, drops: drops.collect() }
    }

    #[test]
    fn a_failure_counts_only_with_the_reason_that_was_expected() {
        let roce = Expected::Dropped("roce");
        assert!(seen(false, 8, 0, &[("workload", "roce", 8)]).is(roce));
        assert!(!seen(true, 8, 0, &[("workload", "roce", 8)]).is(roce));
        assert!(!seen(false, 8, 1, &[("workload", "roce", 8)]).is(roce));
        assert!(!seen(false, 8, 0, &[("workload", "roce", 7)]).is(roce));
        assert!(!seen(false, 8, 0, &[("workload", "destination", 8)]).is(roce));
        assert!(!seen(false, 0, 0, &[]).is(roce));
    }

    #[test]
    fn a_pass_needs_packets_that_arrived() {
        assert!(seen(true, 8, 8, &[]).is(Expected::Passes));
        assert!(!seen(true, 8, 0, &[]).is(Expected::Passes));
        assert!(!seen(false, 8, 8, &[]).is(Expected::Passes));
    }

    #[test]
    fn what_a_tool_says_of_its_failure_is_found_between_its_other_words() {
        let complaint =
            |code, text: &str| super::complaint(&Answer { code, text: text.to_owned() });
        let status = "Failed status transport retry counter exceeded (12) for wr_id 2";
        assert_eq!(complaint(1, &format!("{status}\n  local address:  LID 0\n")), status);
        assert_eq!(complaint(1, "Couldn't connect\n\n"), "Couldn't connect");
        assert_eq!(complaint(1, ""), "nothing said");
        assert_eq!(complaint(143, "  local address:  LID 0\nTerminated"), "no answer");
    }

    #[test]
    fn only_what_was_dropped_meanwhile_is_told() {
        let drops = |packets| seen(false, 0, 0, &[("workload", "roce", packets)]).drops;
        let mut later = seen(false, 8, 0, &[]);
        later.dropped(&drops(2), &drops(10));
        assert_eq!(
            later.in_words(),
            "fails: gone (8 packets sent, 0 arrived; leaf-1 dropped 8 at `workload`: `roce`)"
        );
    }
}
