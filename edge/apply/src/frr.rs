//! FRR, told what to hold over the sockets of its daemons.
//!
//! Only what differs is said: a daemon that holds what it was sent is not touched, and a change of
//! one job is a handful of commands.

mod import;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use model::Dialect;
use observe::{Asked, Place, Vty, VtyRefusal, VtyTrouble};
use read::Difference;

use crate::vrf;

/// What a BGP instance says of EVPN.
const EVPN: &str = "address-family l2vpn evpn";
/// How a statement begins that only zebra knows.
const OF_ZEBRA: &str = "no zebra ";

/// What became of FRR.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct FrrHeld {
    /// Whether anything had to be said.
    pub changed: bool,
    /// Whether a daemon had forgotten all it held, as after a restart. zebra does not read again
    /// the neighbours that the kernel has for good: each must be changed and changed back, or its
    /// route is not told to others.
    pub forgot: bool,
}

/// Makes FRR hold this text and nothing else of what is compared.
pub fn hold(folder: &Path, sent: &str) -> Result<FrrHeld, FrrTrouble> {
    hold_instead(folder, sent, &observe::frr(folder)?, &mut |_| {})
}

/// Makes FRR hold this text instead of what it was seen to hold. `step` is told each statement
/// before it is undone or said.
pub(crate) fn hold_instead(
    folder: &Path,
    sent: &str,
    held: &str,
    step: &mut dyn FnMut(&str),
) -> Result<FrrHeld, FrrTrouble> {
    // FRR takes other statements away with some (a neighbour's with its `remote-as`), so that what
    // it holds after a change is looked at again. More than two rounds were never seen.
    const ROUNDS: usize = 4;
    let mut became = FrrHeld::default();
    let mut left = differences(sent, held);
    for _ in 0..ROUNDS {
        if left.is_empty() {
            return Ok(became);
        }
        became.changed = true;
        became.forgot |= left.iter().any(is_forgotten);
        change(folder, &left, step)?;
        for instance in mixed_up(&left) {
            import::anew(folder, sent, instance, step)?;
        }
        left = differences(sent, &observe::frr(folder)?);
    }
    match left.into_iter().next() {
        None => Ok(became),
        Some(difference) => Err(FrrTrouble::Stays { difference }),
    }
}

/// FRR was told of segments and asked what it holds then. It answers while other things are done.
pub(crate) struct Telling(Asked);

impl Telling {
    /// Tells FRR of segments, if they are all that it lacks, their VNIs have no tunnel yet, and
    /// nothing is too much.
    pub(crate) fn begin(
        folder: &Path,
        left: &[Difference],
        has_tunnel: &dyn Fn(&str) -> bool,
        step: &mut dyn FnMut(&str),
    ) -> Result<Option<Self>, FrrTrouble> {
        if !only_adds_segments(left, has_tunnel) {
            return Ok(None);
        }
        step("tell FRR of segments");
        let mut sessions = Sessions::open(folder)?;
        sessions.0.iter_mut().for_each(|session| session.waits = false);
        for difference in left {
            step(&format!("tell FRR: {}", difference.statement));
            sessions.say(difference)?;
        }
        Ok(Some(Self(Asked::through(sessions.close()?)?)))
    }

    /// Hears what FRR holds now, and tells it what it still lacks.
    pub(crate) fn end(
        self,
        folder: &Path,
        sent: &str,
        step: &mut dyn FnMut(&str),
    ) -> Result<FrrHeld, FrrTrouble> {
        let held = match self.0.heard() {
            // It did not hold what it was presumed to, as after a restart.
            Err(VtyTrouble::Refused(_)) => observe::frr(folder)?,
            held => held?,
        };
        let became = hold_instead(folder, sent, &held, step)?;
        Ok(FrrHeld { changed: true, ..became })
    }
}

/// The segments that a text adds to the one before it, if it does nothing else.
pub(crate) fn more_segments(sent: &str, last: &str) -> Option<Vec<Difference>> {
    let more = differences(sent, last);
    only_adds_segments(&more, &|_| false).then_some(more)
}

fn only_adds_segments(left: &[Difference], has_tunnel: &dyn Fn(&str) -> bool) -> bool {
    let is_of_segment = |difference: &Difference| {
        let path = path(difference);
        let vni = path.get(2).and_then(|statement| statement.strip_prefix("vni "));
        let in_evpn = path.get(1) == Some(&EVPN);
        difference.is_missing && in_evpn && vni.is_some_and(|vni| !has_tunnel(vni))
    };
    !left.is_empty() && left.iter().all(is_of_segment)
}

/// Tells zebra how to write routes, and the VNIs of VRFs whose tunnels are still to come. A tunnel
/// with a VNI that is nobody's is taken for a segment's, and what was learnt by it as such is never
/// quite forgotten.
pub(crate) fn tell_of_vrfs(
    folder: &Path,
    sent: &str,
    vrfs: &[&str],
    step: &mut dyn FnMut(&str),
) -> Result<(), FrrTrouble> {
    let mut first = differences(sent, &observe::frr(folder)?);
    first.retain(|difference| match path(difference)[..] {
        [statement] => difference.is_missing && statement.starts_with(OF_ZEBRA),
        [block, statement] if difference.is_missing && statement.starts_with("vni ") => {
            block.strip_prefix("vrf ").is_some_and(|vrf| vrfs.contains(&vrf))
        }
        _ => false,
    });
    if first.is_empty() { Ok(()) } else { change(folder, &first, step) }
}

/// The BGP instances of VRFs that took in routes that they should not.
fn mixed_up(differences: &[Difference]) -> BTreeSet<&str> {
    let extras = differences.iter().filter(|difference| !difference.is_missing);
    let instances = extras.filter_map(|extra| match path(extra)[..] {
        [instance, EVPN, statement] if statement.starts_with(import::WORDS) => Some(instance),
        _ => None,
    });
    instances.filter(|instance| instance.contains(" vrf ")).collect()
}

/// Undoes what is too much and says what is missing, in an order that FRR accepts.
fn change(
    folder: &Path,
    differences: &[Difference],
    step: &mut dyn FnMut(&str),
) -> Result<(), FrrTrouble> {
    let mut sessions = Sessions::open(folder)?;
    for difference in undoings(differences) {
        step(&format!("tell FRR no more: {}", difference.statement));
        sessions.undo(difference)?;
    }
    for difference in differences.iter().filter(|difference| difference.is_missing) {
        step(&format!("tell FRR: {}", difference.statement));
        sessions.say(difference)?;
    }
    sessions.close().map(drop)
}

/// Waits until zebra knows all these VRFs: links that come into a namespace before are understood
/// by half, and stay so. One that it has overlooked gets its name again.
pub fn await_vrfs(place: &Place, names: &[&str]) -> Result<(), FrrTrouble> {
    for _ in names {
        match await_all(&place.frr, names, SOON) {
            Err(FrrTrouble::UnknownVrf { name }) => vrf::name_again(place, &name)?,
            known => return known,
        }
    }
    await_all(&place.frr, names, PATIENCE)
}

fn await_all(folder: &Path, names: &[&str], patience: Duration) -> Result<(), FrrTrouble> {
    let deadline = Instant::now() + patience;
    loop {
        let known = observe::known_vrfs(folder)?;
        let Some(name) = names.iter().find(|name| !known.contains(**name)) else {
            return Ok(());
        };
        if Instant::now() > deadline {
            return Err(FrrTrouble::UnknownVrf { name: (*name).into() });
        }
        sleep(PAUSE);
    }
}

/// Waits until zebra knows all these segments, each in its VRF: what it hears of neighbours before
/// it forgets. A zebra that was restarted while something happened in a VRF may have misunderstood
/// it. Then the VRF gets its name again, and FRR is told again what it forgets with it.
pub fn await_segments(
    place: &Place,
    sent: &str,
    segments: &BTreeMap<u32, &str>,
) -> Result<(), FrrTrouble> {
    if segments.is_empty() {
        return Ok(());
    }
    await_evpn(&place.frr)?;
    let unknown = await_known(&place.frr, segments)?;
    let misunderstood: BTreeSet<&str> = unknown.into_values().collect();
    if misunderstood.is_empty() {
        return Ok(());
    }
    for vrf in &misunderstood {
        vrf::name_again(place, vrf)?;
    }
    await_vrfs(place, &misunderstood.into_iter().collect::<Vec<_>>())?;
    hold(&place.frr, sent)?;
    match await_known(&place.frr, segments)?.pop_first() {
        None => Ok(()),
        Some((vni, vrf)) => Err(FrrTrouble::UnknownSegment { vni, vrf: vrf.into() }),
    }
}

/// Waits until bgpd has told zebra that there are segments at all.
fn await_evpn(folder: &Path) -> Result<(), FrrTrouble> {
    let deadline = Instant::now() + REUNION;
    let mut zebra = Vty::open(folder, "zebra")?;
    while zebra.say("show evpn")?.trim().is_empty() {
        if Instant::now() > deadline {
            return Err(FrrTrouble::Apart);
        }
        sleep(PAUSE);
    }
    Ok(())
}

/// Waits until zebra knows these segments in their VRFs, and gives those that it does not.
fn await_known<'a>(
    folder: &Path,
    segments: &BTreeMap<u32, &'a str>,
) -> Result<BTreeMap<u32, &'a str>, FrrTrouble> {
    let deadline = Instant::now() + PATIENCE;
    let mut zebra = Vty::open(folder, "zebra")?;
    let mut unknown = segments.clone();
    loop {
        for line in zebra.say("show evpn vni")?.lines() {
            let mut words = line.split_ascii_whitespace();
            let vni = words.next().and_then(|word| word.parse().ok());
            if let (Some(vni), Some(vrf)) = (vni, words.next_back())
                && unknown.get(&vni) == Some(&vrf)
            {
                unknown.remove(&vni);
            }
        }
        if unknown.is_empty() || Instant::now() > deadline {
            return Ok(unknown);
        }
        sleep(PAUSE);
    }
}

/// How long zebra takes to see a namespace at most: it looks again each second.
const SOON: Duration = Duration::from_secs(2);

/// How long bgpd may take to find a zebra that was restarted: it tries each ten seconds.
const REUNION: Duration = Duration::from_secs(15);

/// How long a daemon may take before it is given up.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long to wait before asking again.
const PAUSE: Duration = Duration::from_millis(1);

/// Why FRR does not hold what it should.
#[derive(Debug, thiserror::Error)]
pub enum FrrTrouble {
    /// A daemon does not answer, or refused a command.
    #[error(transparent)]
    Vty(#[from] VtyTrouble),
    /// A VRF could not get its name again.
    #[error(transparent)]
    Node(#[from] observe::Trouble),
    /// It accepted every command, and still differs.
    #[error(
        "FRR took every command and still {} `{}`{}; look at its running configuration",
        if difference.is_missing { "lacks" } else { "holds" },
        difference.statement,
        within(difference),
    )]
    Stays {
        /// The first difference.
        difference: Difference,
    },
    /// bgpd did not hear that the VRF has lost its VNI, because its namespace was away by then.
    #[error(
        "bgpd of FRR keeps {vrf} because of VNI {vni}, which zebra has given up: \
         let the namespace of {vrf} come back and try again, or restart bgpd"
    )]
    Stuck {
        /// The VRF that should go.
        vrf: String,
        /// What bgpd still knows of it.
        vni: String,
    },
    /// Routes that nobody sends any more.
    #[error("FRR keeps routes of VRF {vrf} that it was told to give up: restart zebra and bgpd")]
    RoutesStay {
        /// Whose routes.
        vrf: String,
    },
    /// bgpd does not talk to zebra.
    #[error("zebra of FRR has heard nothing of EVPN from bgpd: is bgpd running, and as what user?")]
    Apart,
    /// A segment that zebra does not see where it is.
    #[error(
        "zebra of FRR does not know VNI {vni} as a segment of VRF {vrf}: something changes there \
         each time zebra looks, or the tunnel or its bridge is not there; restart zebra"
    )]
    UnknownSegment {
        /// Which.
        vni: u32,
        /// Where it is.
        vrf: String,
    },
    /// A VRF that zebra does not see.
    #[error(
        "zebra of FRR does not know the VRF {name}; does it run with -n and see its namespace, or \
         without if VRFs are devices?"
    )]
    UnknownVrf {
        /// The VRF.
        name: String,
    },
}

fn within(difference: &Difference) -> String {
    difference.blocks.last().map_or_else(String::new, |block| format!(" in `{block}`"))
}

/// What is compared, and what FRR takes its defaults and its name from: they let nothing through,
/// but FRR prints its configuration relative to the former.
pub(crate) fn differences(sent: &str, held: &str) -> Vec<Difference> {
    let mut all: Vec<Difference> = ["frr defaults ", "hostname "]
        .iter()
        .filter_map(|words| named(words, sent, held))
        .collect();
    all.extend(read::differences(Dialect::Frr, sent, held));
    all
}

/// The line that begins so, if not every daemon holds it as it was sent.
fn named(words: &str, sent: &str, held: &str) -> Option<Difference> {
    let (line, statement) = (1..).zip(sent.lines()).find(|(_, line)| line.starts_with(words))?;
    let mut theirs = held.lines().filter(|line| line.starts_with(words)).peekable();
    let is_held = theirs.peek().is_some() && theirs.all(|line| line == statement);
    (!is_held).then(|| Difference {
        is_missing: true,
        blocks: Vec::new(),
        statement: statement.into(),
        line,
    })
}

/// Whether it is missing only when bgpd or zebra hold nothing of what they were sent.
fn is_forgotten(difference: &Difference) -> bool {
    let block = difference.blocks.last().map(String::as_str);
    let of_bgpd = difference.statement == "advertise-all-vni";
    let of_zebra = block == Some("interface lo");
    difference.is_missing && (of_bgpd || of_zebra)
}

/// What has to be undone, in order: VRFs let go of their VNIs before their BGP instances can go,
/// and the rest goes from the last to the first, because later statements rest on earlier ones.
fn undoings(differences: &[Difference]) -> Vec<&Difference> {
    let extra = || differences.iter().filter(|difference| !difference.is_missing);
    let wholes: BTreeSet<Vec<&str>> = extra().filter(|extra| goes_whole(extra)).map(path).collect();
    let goes_with_its_block = |difference: &Difference| {
        let path = path(difference);
        (1..path.len()).any(|length| wholes.contains(&path[..length]))
    };
    let mut undoings: Vec<&Difference> =
        extra().filter(|extra| goes_whole(extra) && !goes_with_its_block(extra)).collect();
    undoings.sort_by_key(|difference| {
        let holds_a_vni = difference.blocks.first().is_some_and(|block| block.starts_with("vrf "));
        (!holds_a_vni, std::cmp::Reverse(difference.line))
    });
    undoings
}

fn path(difference: &Difference) -> Vec<&str> {
    let blocks = difference.blocks.iter().map(String::as_str);
    blocks.chain([difference.statement.as_str()]).collect()
}

/// Whether `no` undoes the statement with all that stands in it. FRR has no word against an address
/// family, of its defaults another takes the place, and interfaces and VRFs are there as long as
/// the kernel has them.
fn goes_whole(difference: &Difference) -> bool {
    let opens = |word: &str| difference.statement.starts_with(word);
    let at_top = difference.blocks.is_empty();
    let stays_at_top = at_top && (opens("interface ") || opens("vrf ") || opens("frr defaults "));
    !(opens("address-family ") || stays_at_top)
}

/// Whether what follows stands inside of the statement.
fn is_block(blocks: &[String], statement: &str) -> bool {
    let opens = |word: &str| statement.starts_with(word);
    match blocks {
        [] => opens("interface ") || opens("vrf ") || opens("router "),
        [_] => opens("address-family "),
        [_, family] => family == EVPN && opens("vni "),
        _ => false,
    }
}

fn opposite(statement: &str) -> String {
    match statement.strip_prefix("no ") {
        Some(rest) => rest.into(),
        None => format!("no {statement}"),
    }
}

/// A conversation with every daemon that runs.
struct Sessions(Vec<Session>);

/// A conversation, and the blocks it is in.
struct Session {
    vty: Vty,
    /// Whether it is in configuration mode: a daemon that has nothing to change is not bothered.
    configures: bool,
    /// Whether it waits for the answer to each command. Otherwise a refusal is heard at the end.
    waits: bool,
    at: Vec<String>,
}

impl Sessions {
    fn open(folder: &Path) -> Result<Self, FrrTrouble> {
        let session = |vty| Session { vty, configures: false, waits: true, at: Vec::new() };
        Ok(Self(Vty::open_all(folder)?.into_iter().map(session).collect()))
    }

    /// Ends the configuration, and gives the conversations.
    fn close(mut self) -> Result<Vec<Vty>, FrrTrouble> {
        for session in self.0.iter_mut().filter(|session| session.configures) {
            session.tell("end")?;
        }
        Ok(self.0.into_iter().map(|session| session.vty).collect())
    }

    /// Says what is missing to the daemon it belongs to, or to all.
    fn say(&mut self, difference: &Difference) -> Result<(), FrrTrouble> {
        let Difference { blocks, statement, .. } = difference;
        let top = blocks.first().unwrap_or(statement);
        let daemon = match top.split(' ').next() {
            Some("router") => Some("bgpd"),
            Some("interface" | "vrf") => Some("zebra"),
            _ if top.starts_with(OF_ZEBRA) => Some("zebra"),
            _ => None,
        };
        for session in self.only(daemon) {
            session.say(blocks, statement)?;
        }
        Ok(())
    }

    /// Undoes what is too much. Who knows the statement is not known for what nobody sent, so that
    /// all are asked; and after `no`, some words FRR wants to hear without what followed them. What
    /// this takes away too much, or leaves, the next round of [`hold`] sees.
    fn undo(&mut self, difference: &Difference) -> Result<(), FrrTrouble> {
        let Difference { blocks, statement, .. } = difference;
        let mut refused = None;
        let mut command = opposite(statement);
        loop {
            match self.say_to_all(blocks, &command)? {
                None => return self.undone(difference),
                Some(refusal) if refusal.is_unknown_command() => {
                    refused = refused.or(Some(refusal));
                }
                // zebra has no word for an address that the kernel has lost, and gives it up.
                Some(refusal) if refusal.said.is_empty() => return Ok(()),
                Some(refusal) => return Err(VtyTrouble::Refused(refusal).into()),
            }
            match command.rsplit_once(' ') {
                Some((shorter, _)) if shorter.starts_with("no ") => command = shorter.into(),
                _ => break,
            }
        }
        refused.map_or(Ok(()), |refusal| Err(VtyTrouble::Refused(refusal).into()))
    }

    /// A VRF that has lost its VNI and its namespace is forgotten; one with a namespace stays.
    fn undone(&mut self, difference: &Difference) -> Result<(), FrrTrouble> {
        let ([block], true) = (&difference.blocks[..], difference.statement.starts_with("vni "))
        else {
            return Ok(());
        };
        self.say_to_all(&[], &opposite(block)).map(|_refusal| ())
    }

    /// Says a command to all that may hold the statement, as several may. If none took it, gives the
    /// refusal that says most.
    fn say_to_all(
        &mut self,
        blocks: &[String],
        command: &str,
    ) -> Result<Option<VtyRefusal>, FrrTrouble> {
        let of_bgpd = blocks.first().map_or(command, String::as_str).contains("router bgp");
        let mut is_taken = false;
        let mut refusals = Vec::new();
        for place in 0..self.0.len() {
            if of_bgpd && self.0[place].vty.daemon() != "bgpd" {
                continue;
            }
            let answer = match self.0[place].say(blocks, command) {
                Err(VtyTrouble::Refused(refusal)) => self.again_without_vni(place, refusal)?,
                other => other.map(|()| None)?,
            };
            match answer {
                None => is_taken = true,
                Some(refusal) => refusals.push(refusal),
            }
        }
        refusals.sort_by_key(VtyRefusal::is_unknown_command);
        Ok(refusals.into_iter().next().filter(|_| !is_taken))
    }

    /// bgpd keeps the instance of a VRF as long as it knows a VNI of it. It hears from zebra that
    /// there is none a moment after zebra was told; but what it hears while the VRF's namespace is
    /// away it forgets, and must be told again.
    fn again_without_vni(
        &mut self,
        place: usize,
        refusal: VtyRefusal,
    ) -> Result<Option<VtyRefusal>, FrrTrouble> {
        const TIMES: usize = 5;
        const MOMENTS: usize = 50;
        let Some(vni) = refusal.said.strip_prefix("Please unconfigure l3vni ") else {
            return Ok(Some(refusal));
        };
        let vrf = refusal.command.rsplit(' ').next().unwrap_or_default();
        for time in 0..TIMES {
            if time > 0 {
                self.tell_zebra(vrf, &format!("vni {vni}"))?;
            }
            self.tell_zebra(vrf, &format!("no vni {vni}"))?;
            for _ in 0..MOMENTS {
                match self.0[place].say(&[], &refusal.command) {
                    Ok(()) => return Ok(None),
                    Err(VtyTrouble::Refused(again)) if again == refusal => sleep(PAUSE),
                    Err(VtyTrouble::Refused(again)) => return Ok(Some(again)),
                    Err(trouble) => return Err(trouble.into()),
                }
            }
        }
        Err(FrrTrouble::Stuck { vrf: vrf.into(), vni: vni.into() })
    }

    /// Tells zebra something about a VRF that may be so already.
    fn tell_zebra(&mut self, vrf: &str, statement: &str) -> Result<(), FrrTrouble> {
        let block = [format!("vrf {vrf}")];
        for zebra in self.only(Some("zebra")) {
            match zebra.say(&block, statement) {
                Ok(()) | Err(VtyTrouble::Refused(_)) => {}
                Err(trouble) => return Err(trouble.into()),
            }
        }
        Ok(())
    }

    fn only(&mut self, daemon: Option<&str>) -> impl Iterator<Item = &mut Session> {
        let is_meant = move |vty: &Vty| daemon.is_none_or(|daemon| daemon == vty.daemon());
        self.0.iter_mut().filter(move |session| is_meant(&session.vty))
    }
}

impl Session {
    fn say(&mut self, blocks: &[String], statement: &str) -> Result<(), VtyTrouble> {
        if !self.configures {
            self.tell("configure terminal")?;
            self.configures = true;
        }
        self.go(blocks)?;
        self.tell(statement)?;
        if is_block(blocks, statement) {
            self.at.push(statement.into());
        }
        Ok(())
    }

    /// Leaves and enters blocks until it is in these.
    fn go(&mut self, blocks: &[String]) -> Result<(), VtyTrouble> {
        let shared = self.at.iter().zip(blocks).take_while(|(here, there)| here == there).count();
        while self.at.len() > shared {
            self.tell("exit")?;
            self.at.pop();
        }
        for block in &blocks[shared..] {
            self.tell(block)?;
            self.at.push(block.clone());
        }
        Ok(())
    }

    fn tell(&mut self, command: &str) -> Result<(), VtyTrouble> {
        if self.waits { self.vty.say(command).map(drop) } else { self.vty.send(command) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HELD: &str = "\
router bgp 65001
 neighbor 10.0.0.1 remote-as 65100
 address-family l2vpn evpn
  advertise-all-vni
  vni 100017
   rd 10.255.0.1:17
  exit-vni
 exit-address-family
exit
";

    fn check(sent: &str, only_adds: bool) {
        let has_tunnel = |vni: &str| vni == "100017";
        let left = differences(sent, HELD);
        assert_eq!(only_adds_segments(&left, &has_tunnel), only_adds, "{sent}");
    }

    #[test]
    fn only_segments_that_have_no_tunnel_are_told_before_the_table_is_in_force() {
        let segment = "  exit-vni\n  vni 100018\n   rd 10.255.0.1:18\n  exit-vni\n";
        let with_segment = HELD.replace("  exit-vni\n", segment);
        check(&with_segment, true);
        check(HELD, false);
        check(&HELD.replace("100017", "100018"), false);
        check(
            &HELD.replace("rd 10.255.0.1:17\n", "rd 10.255.0.1:17\n   route-target import 1:2\n"),
            false,
        );
        check(&with_segment.replace("neighbor 10.0.0.1", "neighbor 10.0.0.2"), false);
        check(&format!("{with_segment}vrf t1\n vni 50001\nexit-vrf\n"), false);
    }
}
