//! What is tried in the machine, and what must come of it.

use std::fmt::Write as _;

use crate::Failure;
use crate::guest::Machine;

/// What `lab break` breaks, and a part of a line that tells of it.
const BROKEN: [(&str, &str); 6] = [
    ("route-target", "route-target import"),
    ("tag", "tag"),
    ("static-route", "route 10.66.0.0/16"),
    ("default-route", "route default"),
    ("bridge-port", "link swp"),
    ("vrf-merged", "link leak"),
];

/// What a hand does on the first leaf to VRFs that are devices, and the line that tells of it. A job
/// of tenant t1 is at br17.
const BY_HAND: [(&str, &str, &str); 11] = [
    (
        "an interface is put into a VRF",
        "leaf 'ip link add tun0 master t1 up type veth peer name tun1'",
        "link tun0 vrf t1",
    ),
    ("a bridge is moved to another VRF", "leaf 'ip link set br17 master t2'", "bridge br17 vrf t2"),
    ("a bridge is taken out of its VRF", "leaf 'ip link set br17 nomaster'", "bridge br17 mac"),
    ("a second VRF device", "leaf 'ip link add t99 up type vrf table 99'", "vrf t99"),
    ("a VRF device is down", "leaf 'ip link set t1 down'", "vrf t1 down"),
    (
        "a VRF device is made again with another table",
        "at_once 'ip link del t1; ip link add t1 type vrf table 99; ip link set t1 up'",
        "vrf t1 table 99",
    ),
    ("a VRF device is taken away", "leaf 'ip link del t1'", "vrf t1"),
    (
        "the end of a table is taken away",
        "leaf 'ip route del unreachable default vrf t1 metric 4278198272'",
        "vrf t1 open",
    ),
    (
        "a rule leads from one VRF to the table of another",
        "leaf 'ip rule add pref 100 iif t1 table 50002'",
        "rule 100 ipv4 action 1 table 50002",
    ),
    ("the rule of VRFs is taken away", "leaf 'ip rule del pref 1000'", "vrf t1 norule"),
    (
        "a route leads from the device's own table into a VRF",
        "leaf 'ip route add 10.66.0.0/16 dev br17'",
        "route 10.66.0.0/16 dev br17",
    ),
];

/// All trials, row by row.
#[derive(Default)]
pub(super) struct Trials {
    rows: String,
    count: usize,
    wrong: usize,
}

impl Trials {
    pub(super) fn play(machine: &mut Machine) -> Result<Self, Failure> {
        let mut trials = Self::default();
        machine.tell("raise")?;
        trials.stands(machine)?;
        for (fault, line) in BROKEN {
            let breaking = format!("bulkhead lab break {fault} --at leaf-1");
            trials.mended(machine, &format!("`lab break {fault}`"), &breaking, line)?;
        }
        for (what, by_hand, line) in BY_HAND {
            trials.mended(machine, what, by_hand, line)?;
        }
        trials.packets(machine, "the same after all that")?;
        machine.tell("bulkhead lab down")?;
        trials.ask(machine, "namespaces and folders after `lab down`", "left", "0")?;
        Ok(trials)
    }

    pub(super) fn verdict(&self) -> String {
        format!("{} of {} as expected.", self.count - self.wrong, self.count)
    }

    pub(super) const fn are_right(&self) -> bool {
        self.wrong == 0
    }

    pub(super) fn table(&self) -> String {
        format!("| what | expected | seen | |\n|---|---|---|---|\n{}", self.rows)
    }

    /// The lab is of VRF devices, carries packets as planned, and is not touched by the same plan.
    fn stands(&mut self, machine: &mut Machine) -> Result<(), Failure> {
        let tables = "t1 50001; t2 50002; t3 50003";
        self.ask(machine, "VRF devices of the first leaf, and their tables", "devices", tables)?;
        self.ask(machine, "its VRFs that are namespaces", "leaf 'ls /run/netns | wc -l'", "0")?;
        let accepts = "leaf 'cat /proc/sys/net/ipv4/*_l3mdev_accept | sort -u'";
        self.ask(machine, "whether its own sockets hear those in VRFs", accepts, "0")?;
        self.ask(machine, "what devices hold is proved", "held | wc -l", "0")?;
        self.packets(machine, "packets between all workloads")?;
        self.ask(machine, "the same plan once more", "again", "Nothing to do: 3 devices hold")
    }

    fn packets(&mut self, machine: &mut Machine, what: &str) -> Result<(), Failure> {
        self.ask(machine, what, "packets", "As planned")
    }

    /// Something is changed behind everyone's back: whoever watches is told the line, the agent undoes
    /// it, and what is held then is proved again.
    fn mended(
        &mut self,
        machine: &mut Machine,
        what: &str,
        change: &str,
        line: &str,
    ) -> Result<(), Failure> {
        machine.tell(": > /tmp/watched")?;
        // The agent may undo one step before the next is taken, which then fails.
        machine.ask(change)?;
        self.ask(machine, what, &format!("told '{line}'"), line)?;
        self.ask(machine, "what is proved and sent after that", "mended", "Nothing to do")
    }

    fn ask(
        &mut self,
        machine: &mut Machine,
        what: &str,
        wish: &str,
        expected: &str,
    ) -> Result<(), Failure> {
        let seen = machine.ask(wish)?.text.replace('\n', "; ");
        self.row(what, expected, &seen);
        Ok(())
    }

    fn row(&mut self, what: &str, expected: &str, seen: &str) {
        let is_right = seen.starts_with(expected);
        let verdict = if is_right { "as expected" } else { "**WRONG**" };
        let seen = seen.replace(['`', '|'], "'");
        let row = format!("| {what} | `{expected}` | `{seen}` | {verdict} |\n");
        print!("{row}");
        // Writing into a String cannot fail.
        let _ = write!(self.rows, "{row}");
        self.count += 1;
        self.wrong += usize::from(!is_right);
    }
}
