//! A node of the Linux kind: netlink, the packet program, FRR.

use std::collections::BTreeSet;
use std::error::Error;
use std::panic::resume_unwind;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use filter::{Kernel, Settings};
use model::{Dialect, Generation};
use observe::{Found, Place, Spaces, Trouble, Vrfs};
use read::Difference;

use crate::before::{self, Before, Frr};
use crate::change::{Change, vrf_of};
use crate::frr::Telling;
use crate::line::{Extra, Line};
use crate::putting::{Putting, numbers, put};
use crate::state::State;
use crate::{Counted, Node, NodeError, Outcome, Sent, frr, vrf};

/// How often is looked again at what became of a change. Some things take others with them, so
/// that the second look finds something; a third was never needed.
const ROUNDS: usize = 4;

/// So many bytes a node's policy may have at first: every look reads all of them. It gets more room
/// when it needs it.
const BLOCK_BYTES: u32 = 1 << 17;

/// A Linux tunnel endpoint or router: a leaf, a spine, a host, a DPU.
pub struct Linux {
    place: Place,
    spaces: Spaces,
    kernel: Option<Kernel>,
    state: State,
    /// Whether what is being done was begun before, and not finished.
    was_interrupted: bool,
    /// What was seen when the last change was done, until its ports are opened.
    after: Option<Found>,
}

impl Linux {
    /// The node where the calling process is.
    pub fn open(place: Place) -> Result<Self, NodeError> {
        let spaces = Spaces::open(&place).map_err(at("look at the node"))?;
        let state = State::open(&place.state)?;
        Ok(Self { place, spaces, kernel: None, state, was_interrupted: false, after: None })
    }

    fn look(&mut self) -> Result<Found, NodeError> {
        self.spaces.look().map_err(at("look at the node"))
    }

    /// The packet program, loaded and closed if it was not there.
    fn kernel(&mut self) -> Result<&mut Kernel, NodeError> {
        let failed = at("load the packet program");
        if self.kernel.is_none() || !self.place.filter.join("policy").exists() {
            let opened = match Kernel::open(&self.place.filter) {
                Err(filter::Fault::NotLoaded { .. }) => {
                    // What a load that was cut short left behind.
                    let _ = std::fs::remove_dir_all(&self.place.filter);
                    let settings = Settings { block_bytes: BLOCK_BYTES, ..Settings::default() };
                    Kernel::load(&self.place.filter, &settings)
                }
                opened => opened,
            };
            self.kernel = Some(opened.map_err(&failed)?);
        }
        self.kernel.as_mut().ok_or_else(|| NodeError {
            step: "load the packet program".into(),
            said: "it is gone".into(),
        })
    }

    /// The packet program, if it is there.
    fn loaded(&mut self) -> Result<Option<&mut Kernel>, NodeError> {
        if !self.place.filter.join("policy").exists() {
            return Ok(None);
        }
        self.kernel().map(Some)
    }
}

impl Node for Linux {
    fn held(&mut self) -> Result<Vec<(Dialect, String)>, NodeError> {
        let dialects: Vec<Dialect> = match self.state.sent() {
            Some(sent) => sent.texts.iter().map(|(dialect, _)| *dialect).collect(),
            None => vec![Dialect::Frr, Dialect::Linux, Dialect::Table],
        };
        before::held(&self.place, &mut self.spaces, &dialects)
    }

    fn sent(&self) -> Option<&Sent> {
        self.state.sent()
    }

    fn hold(
        &mut self,
        sent: &Sent,
        step: &mut dyn FnMut(&str),
    ) -> Result<Vec<(Dialect, Outcome)>, NodeError> {
        let dialects = || sent.texts.iter().map(|(dialect, _)| *dialect);
        // Whoever is told to hold what it cannot must not say that it does.
        if let Some(dialect) = dialects().find(|dialect| !dialect.is_network()) {
            let said = format!(
                "this agent holds the network alone and was sent `{dialect}`: take that layer out of \
                 the fleet's `layers`, or send this plan to simulated devices"
            );
            return Err(NodeError { step: "read what was sent".into(), said });
        }
        if let Some(theirs) = self.state.sent().map(|before| before.generation)
            && theirs > sent.generation
        {
            return Ok(dialects().map(|dialect| (dialect, Outcome::Stale { theirs })).collect());
        }
        self.after = None;
        self.was_interrupted = self.state.sent().is_some() && !self.state.is_complete();
        let last = self.state.sent().filter(|_| self.state.is_complete()).cloned();
        let writing = if self.state.keeps(sent) { None } else { Some(self.write_down(sent)?) };
        let made = self.make_if_differing(sent, last.as_ref(), step);
        if !matches!(made, Ok(None)) {
            step("wait for the disk");
        }
        if let Some(writing) = writing {
            writing.join().unwrap_or_else(|panic| resume_unwind(panic))?;
            self.state.keep();
        }
        let differing = made?.unwrap_or_default();
        if !self.state.is_complete() {
            self.state.complete()?;
        }
        let outcome = |dialect| match differing.contains(&dialect) {
            true => Outcome::Held,
            false => Outcome::Unchanged,
        };
        Ok(dialects().map(|dialect| (dialect, outcome(dialect))).collect())
    }

    fn start(&mut self, generation: Generation) -> Result<(), NodeError> {
        let refused = |said: String| NodeError { step: "start".into(), said };
        let Some(sent) = self.state.sent().cloned() else {
            return Err(refused("nothing was sent yet: send a plan first".into()));
        };
        if sent.generation != generation || !self.state.is_complete() {
            return Err(refused(format!(
                "generation {generation} is not held: generation {} is, and it is {}complete",
                sent.generation,
                if self.state.is_complete() { "" } else { "not " },
            )));
        }
        let text = text(&sent, Dialect::Linux);
        let wanted = wanted(text)?;
        if !wanted.iter().any(|line| matches!(line, Line::Link { .. } | Line::Uplink { .. })) {
            return Ok(());
        }
        self.kernel()?;
        // Nobody else should have touched a port since it was brought; if somebody did, it is
        // looked for.
        if let Some(found) = self.after.take()
            && self.open_ports(&found, &wanted).is_ok()
        {
            return Ok(());
        }
        let found = self.look()?;
        self.open_ports(&found, &wanted)
    }

    fn renew(&mut self, lease: Duration) -> Result<(), NodeError> {
        match self.loaded()? {
            Some(kernel) => kernel.renew(lease).map_err(at("renew the lease")),
            None => Ok(()),
        }
    }

    fn close(&mut self) -> Result<(), NodeError> {
        match self.loaded()? {
            Some(kernel) => kernel.close().map_err(at("close the gate")),
            None => Ok(()),
        }
    }

    fn counted(&mut self) -> Result<Counted, NodeError> {
        let failed = at("count");
        let Some(kernel) = self.loaded()? else { return Ok(Counted::default()) };
        let traffic = kernel.traffic().map_err(&failed)?;
        let passed = traffic.values().map(|job| job.sent.packets + job.received.packets).sum();
        let drops = kernel.drops().map_err(&failed)?.into_iter().map(|(cause, tally)| {
            (cause.hook.to_string(), cause.reason.to_string(), cause.tag, tally.packets)
        });
        Ok(Counted { passed, drops: drops.collect() })
    }
}

impl Linux {
    /// Writes down what was sent. The disk takes its time meanwhile: when the power fails, all that
    /// was done goes with what was not written, and nobody was told yet that it is held.
    fn write_down(&mut self, sent: &Sent) -> Result<JoinHandle<Result<(), NodeError>>, NodeError> {
        let written = self.state.begin(sent)?;
        Ok(thread::spawn(move || written.wait()))
    }

    /// Looks how the node is, and touches it only if it holds something else. Gives the dialects in
    /// which it did, or none if it was not touched.
    fn make_if_differing(
        &mut self,
        sent: &Sent,
        last: Option<&Sent>,
        step: &mut dyn FnMut(&str),
    ) -> Result<Option<BTreeSet<Dialect>>, NodeError> {
        let before = Before::of(&self.place, &mut self.spaces, sent, last)?;
        if before.differing.is_empty() && !self.was_interrupted {
            return Ok(None);
        }
        step("mark as incomplete");
        self.state.doubt()?;
        self.make_so(sent, before, step).map(Some)
    }

    /// Deny first, allow last; ports stay down. Gives the dialects in which it held something else.
    fn make_so(
        &mut self,
        sent: &Sent,
        before: Before,
        step: &mut dyn FnMut(&str),
    ) -> Result<BTreeSet<Dialect>, NodeError> {
        let Before { found: before, mut differing, frr } = before;
        let has = |dialect| sent.texts.iter().any(|(spoken, _)| *spoken == dialect);
        let linux = text(sent, Dialect::Linux);
        let wanted = wanted(linux)?;
        if has(Dialect::Linux) {
            step("load the packet program");
            vrf::route_underlay().map_err(at("let the node route"))?;
            self.kernel()?;
            Kernel::sweep(&self.place.filter).map_err(at("sweep the packet program's links"))?;
            step("judge the uplinks");
            self.change(&before, &wanted, "judge the uplinks", |change| change.attach_uplinks())?;
        }
        let place = self.place.clone();
        let linked = thread::scope(|scope| {
            let mut way =
                Way { sent, wanted: &wanted, putting: Putting::default(), frr, told: None };
            if differing.contains(&Dialect::Table) {
                step("put the table");
                self.kernel()?;
                way.putting = Putting::begin(scope, || put(&place, sent, &before));
            }
            let linked = match has(Dialect::Linux) {
                true => self.link(&mut way, &before, step)?,
                false => Linked::default(),
            };
            way.putting.end(&mut self.kernel)?;
            Ok((linked, way.frr, way.told))
        });
        if linked.is_err() {
            self.kernel = None; // the table may have made room by programs that nobody took over
        }
        let (Linked { fresh, found }, mut frr, became) = linked?;
        let found = found.unwrap_or(before);
        if has(Dialect::Frr) && (differing.contains(&Dialect::Frr) || has(Dialect::Linux)) {
            let became = match became {
                Some(became) => became,
                None => {
                    step("tell FRR");
                    let text = text(sent, Dialect::Frr);
                    let became = self.tell_frr(text, frr.held(text)?, step);
                    became.map_err(|error| NodeError::at("tell FRR", &*error))?
                }
            };
            if became.changed {
                differing.insert(Dialect::Frr);
            }
            // The daemons hear of neighbours when those change, and forget what came before they
            // knew its segment. Neighbours that they know are left alone: their routes would flap.
            let forgot = became.forgot || self.was_interrupted;
            let is_unheard = |master: &str| forgot || fresh.contains(master);
            if forgot {
                self.let_write_whole_routes(step)?;
                step("let FRR see the segments");
                let await_segments = frr::await_segments(&self.place.frr, &segments(&wanted));
                await_segments.map_err(at("let FRR see the segments"))?;
            }
            if forgot || !fresh.is_empty() {
                step("announce");
                self.change(&found, &wanted, "announce", |change| change.announce(&is_unheard))?;
            }
        }
        if has(Dialect::Linux) {
            self.end_vrfs(linux, step)?;
        }
        self.after = Some(found);
        Ok(differing)
    }

    /// Makes FRR hold this. A daemon that missed how a VRF lost its VNI, because the namespace was
    /// gone too early, gets it back for a moment.
    fn tell_frr(
        &mut self,
        text: &str,
        held: Option<&str>,
        step: &mut dyn FnMut(&str),
    ) -> Result<frr::Held, Box<dyn Error>> {
        let folder = &self.place.frr;
        let became = match held {
            Some(held) => frr::hold_instead(folder, text, held, step),
            None => frr::hold_instead(folder, text, &observe::frr(folder)?, step),
        };
        match became {
            Err(frr::Trouble::Stuck { vrf, .. }) => {
                vrf::make(&self.place, &mut self.spaces, &vrf)?;
                frr::await_vrfs(&self.place.frr, &[vrf.as_str()])?;
                Ok(frr::hold(&self.place.frr, text)?)
            }
            became => Ok(became?),
        }
    }

    /// Undoes and does what differs, and looks again until nothing does.
    fn link(
        &mut self,
        way: &mut Way<'_, '_>,
        before: &Found,
        step: &mut dyn FnMut(&str),
    ) -> Result<Linked, NodeError> {
        let text = text(way.sent, Dialect::Linux);
        let mut left = Vec::new();
        let mut linked = Linked::default();
        for _ in 0..ROUNDS {
            let found = linked.found.as_ref().unwrap_or(before);
            left = differences(Dialect::Linux, text, &found.linux());
            if left.iter().all(is_later) {
                // A port that got another number in its new namespace has to be known by it.
                if numbers(way.wanted, found) != numbers(way.wanted, before) {
                    step("put the table again");
                    self.kernel = Some(put(&self.place, way.sent, found)?);
                }
                return Ok(linked);
            }
            self.round(&left, way, found, &mut linked.fresh, step)?;
            linked.found = Some(self.look()?);
        }
        left.retain(|difference| !is_later(difference));
        let first = left.first().map(|difference| {
            let word = if difference.is_missing { "lacks" } else { "holds" };
            format!("the kernel took every change and still {word} `{}`", difference.statement)
        });
        Err(NodeError { step: "look again".into(), said: first.unwrap_or_default() })
    }

    /// Undoes what is too much, and does what is missing then: a bridge that goes leaves its ports
    /// and their neighbours behind. The bridges that get new neighbours are added to the `fresh`.
    fn round(
        &mut self,
        left: &[Difference],
        way: &mut Way<'_, '_>,
        found: &Found,
        fresh: &mut BTreeSet<String>,
        step: &mut dyn FnMut(&str),
    ) -> Result<(), NodeError> {
        let wanted = way.wanted;
        let extras = left.iter().filter(|difference| !difference.is_missing);
        let stays = |name: &str| is_at_home(name, wanted, found);
        let extras = extras.filter(|extra| !is_mended(&extra.statement, left, &stays));
        let extras: Vec<Extra<'_>> =
            extras.map(|difference| extra(&difference.statement)).collect::<Result<_, _>>()?;
        if !extras.is_empty() {
            step("undo what is too much");
            self.change(found, wanted, "undo what is too much", |change| change.undo(&extras))?;
        }
        let undone;
        let (found, left) = if extras.is_empty() {
            (found, left)
        } else {
            let found = self.look()?;
            let text = text(way.sent, Dialect::Linux);
            undone = (differences(Dialect::Linux, text, &found.linux()), found);
            (&undone.1, undone.0.as_slice())
        };
        fresh.extend(new_neighbours(left).map(str::to_owned));
        let missing = left.iter().filter(|difference| difference.is_missing);
        let missing: Vec<Line<'_>> =
            missing.map(|difference| line(&difference.statement)).collect::<Result<_, _>>()?;
        if missing.iter().any(|line| matches!(line, Line::Vrf { .. })) {
            step("make VRFs");
            let mut made = Vec::new();
            self.change(found, wanted, "make VRFs", |change| {
                made = change.make_vrfs(&missing)?.into_iter().map(str::to_owned).collect();
                Ok(())
            })?;
            self.introduce_vrfs(&made, step)?;
        }
        if missing.is_empty() {
            return Ok(());
        }
        let telling = self.tell_of_segments(way, found, step)?;
        step("make bridges and tunnels");
        self.change(found, wanted, "make bridges and tunnels", |change| {
            change.make_links(&missing)
        })?;
        if let Some(telling) = telling {
            let became = telling.end(&self.place.frr, text(way.sent, Dialect::Frr), step);
            way.told = Some(became.map_err(at("tell FRR of segments"))?);
        }
        // From here on something is let through.
        way.putting.end(&mut self.kernel)?;
        step("bring ports");
        let mut has_moved = false;
        self.change(found, wanted, "bring ports", |change| {
            has_moved = change.bring_ports(&missing)?;
            Ok(())
        })?;
        step("join");
        let looked;
        let mut after = found;
        // Only a port that moved may have another number than is known; and if somebody made
        // something meanwhile, it is looked for.
        if has_moved || self.join(found, &missing, wanted).is_err() {
            looked = self.look()?;
            after = &looked;
            self.join(after, &missing, wanted)?;
        }
        if missing.iter().any(|line| matches!(line, Line::Queues { .. } | Line::Queue { .. })) {
            step("make queues");
            self.change(after, wanted, "make queues", |change| change.make_queues(&missing))?;
        }
        Ok(())
    }

    fn join(
        &mut self,
        found: &Found,
        missing: &[Line<'_>],
        wanted: &[Line<'_>],
    ) -> Result<(), NodeError> {
        self.change(found, wanted, "join", |change| change.join(missing))
    }

    /// Tells FRR of segments before their tunnels are up, if nothing else is to be told: it would
    /// announce them with targets of its own making first. A segment without a tunnel lets nothing
    /// through, so that this need not wait for the table.
    fn tell_of_segments(
        &self,
        way: &mut Way<'_, '_>,
        found: &Found,
        step: &mut dyn FnMut(&str),
    ) -> Result<Option<Telling>, NodeError> {
        let text = text(way.sent, Dialect::Frr);
        if way.told.is_some() {
            return Ok(None);
        }
        let Some(held) = way.frr.presumed(text)? else { return Ok(None) };
        let has_tunnel = |vni: &str| found.interface(&format!("vx{vni}")).is_some();
        Telling::begin(&self.place.frr, text, held, &has_tunnel, step)
            .map_err(at("tell FRR of segments"))
    }

    /// Where VRFs are devices, next hops have no numbers.
    fn let_write_whole_routes(&self, step: &mut dyn FnMut(&str)) -> Result<(), NodeError> {
        if self.place.vrfs != Vrfs::Devices {
            return Ok(());
        }
        step("let FRR write whole routes");
        frr::write_whole_routes(&self.place.frr).map_err(at("let FRR write whole routes"))
    }

    /// Links that come into a VRF before FRR knows it, and its VNI, are understood by half.
    fn introduce_vrfs(
        &self,
        names: &[String],
        step: &mut dyn FnMut(&str),
    ) -> Result<(), NodeError> {
        let text = self.state.sent().map_or("", |sent| text(sent, Dialect::Frr));
        if text.is_empty() || names.is_empty() {
            return Ok(());
        }
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        self.let_write_whole_routes(step)?;
        step("let FRR see the VRFs");
        frr::await_vrfs(&self.place.frr, &names).map_err(at("let FRR see the VRFs"))?;
        frr::tell_vnis(&self.place.frr, text, &names, step).map_err(at("tell FRR of VRFs"))
    }

    /// Ends the VRFs that nobody planned; FRR has given them up by now.
    fn end_vrfs(&mut self, text: &str, step: &mut dyn FnMut(&str)) -> Result<(), NodeError> {
        let planned = |name: &str| text.lines().any(|line| line.strip_prefix("vrf ") == Some(name));
        self.spaces.refresh().map_err(at("look at the node"))?;
        let extra: Vec<String> =
            self.spaces.vrfs().filter(|name| !planned(name)).map(str::to_owned).collect();
        for name in extra {
            step("end a VRF");
            self.bring_home(&name)?;
            vrf::end(&self.place, &mut self.spaces, &name).map_err(at("end a VRF"))?;
        }
        self.spaces.refresh().map(drop).map_err(at("look at the node"))
    }

    fn open_ports(&mut self, found: &Found, wanted: &[Line<'_>]) -> Result<(), NodeError> {
        self.change(found, wanted, "open the ports", |change| change.open_ports())
    }

    /// Takes the ports out of a VRF that is about to end: what is still inside ends with it.
    fn bring_home(&mut self, vrf: &str) -> Result<(), NodeError> {
        let found = self.look()?;
        let extra = [Extra::Vrf { name: vrf }];
        self.change(&found, &[], "bring ports home", |change| change.undo(&extra))?;
        match self.look()?.ports(vrf).next() {
            None => Ok(()),
            Some((port, _)) => Err(NodeError {
                step: "end a VRF".into(),
                said: format!("{port} stays in VRF {vrf}, and would be lost with it"),
            }),
        }
    }

    fn change<'a>(
        &'a mut self,
        found: &'a Found,
        wanted: &'a [Line<'a>],
        name: &str,
        what: impl FnOnce(&mut Change<'a>) -> Result<(), Trouble>,
    ) -> Result<(), NodeError> {
        let Some(kernel) = self.kernel.as_mut() else { return Ok(()) };
        let mut change =
            Change { place: &self.place, spaces: &mut self.spaces, kernel, found, wanted };
        what(&mut change).map_err(at(name))
    }
}

/// What a change has to go by, and how far it is.
struct Way<'a, 'scope> {
    sent: &'a Sent,
    wanted: &'a [Line<'a>],
    putting: Putting<'scope>,
    /// What FRR held before.
    frr: Frr,
    /// What became of FRR, if it was told already.
    told: Option<frr::Held>,
}

/// What linking came to.
#[derive(Default)]
struct Linked {
    /// The bridges that have new neighbours.
    fresh: BTreeSet<String>,
    /// What was seen last; none if nothing had to be done.
    found: Option<Found>,
}

/// The bridges of neighbours that are missing.
fn new_neighbours(left: &[Difference]) -> impl Iterator<Item = &str> {
    let missing = left.iter().filter(|difference| difference.is_missing);
    let missing = missing.filter(|difference| difference.statement.starts_with("neigh "));
    missing.filter_map(|difference| Some(difference.statement.rsplit_once(" master ")?.1))
}

/// A VRF that nobody planned ends when FRR has given it up.
fn is_later(difference: &Difference) -> bool {
    !difference.is_missing && difference.statement.starts_with("vrf ")
}

/// What differs and is ours to change: a port that is down waits to be started, or for its cable.
pub(crate) fn differences(dialect: Dialect, sent: &str, held: &str) -> Vec<Difference> {
    if dialect != Dialect::Linux {
        return read::differences(dialect, sent, held);
    }
    let is_port = |line: &str| line.starts_with("link ") || line.starts_with("uplink ");
    let held: Vec<&str> = held
        .lines()
        .map(|line| if is_port(line) { line.strip_suffix(" down").unwrap_or(line) } else { line })
        .collect();
    read::differences(dialect, sent, &held.join("\n"))
}

/// Whether a thing that is held otherwise than planned is changed in place by doing the line that
/// is missing.
fn is_mended(statement: &str, left: &[Difference], stays: &dyn Fn(&str) -> bool) -> bool {
    let words: Vec<&str> = statement.split_ascii_whitespace().collect();
    let same = match *words.as_slice() {
        // A VRF device that is not as it should be, but for its table.
        ["vrf", name, odd, ..] if odd != "table" => {
            let whole = format!("vrf {name}");
            return left.iter().any(|other| other.is_missing && other.statement == whole);
        }
        // Only what can be changed later: the rest of a tunnel is chosen when it is made, and so is
        // its VRF.
        ["vxlan", name, ..] if !stays(name) => return false,
        ["vxlan", ..] => match statement.split_once(" gbp ") {
            Some((made, _)) => format!("{made} gbp "),
            None => return false,
        },
        ["bridge", name, "vrf", vrf, "address", address, ..] => {
            format!("bridge {name} vrf {vrf} address {address} ")
        }
        ["link", port, "master", master, ..] => format!("link {port} master {master} "),
        ["uplink", port, ..] => format!("uplink {port} "),
        ["queue", port, "vrf", vrf, ..] => format!("queue {port} vrf {vrf} "),
        _ => return false,
    };
    left.iter().any(|other| other.is_missing && other.statement.starts_with(&same))
}

/// The VNIs of the segments that shall be.
fn segments(wanted: &[Line<'_>]) -> Vec<u32> {
    let vni = |line: &Line<'_>| match *line {
        Line::Tunnel { vni, .. } => Some(vni),
        _ => None,
    };
    wanted.iter().filter_map(vni).collect()
}

/// Whether a tunnel is in the VRF where it shall be.
fn is_at_home(tunnel: &str, wanted: &[Line<'_>], found: &Found) -> bool {
    let planned = wanted.iter().find_map(|line| match *line {
        Line::Router { name, vrf, .. } if name == tunnel => Some(vrf),
        Line::Tunnel { name, master, .. } if name == tunnel => vrf_of(master, wanted),
        _ => None,
    });
    planned.is_some() && found.interface(tunnel).map(|(vrf, _)| vrf) == Some(planned)
}

pub(crate) fn text(sent: &Sent, dialect: Dialect) -> &str {
    let found = sent.texts.iter().find(|(spoken, _)| *spoken == dialect);
    found.map_or("", |(_, text)| text)
}

/// Every line that shall be held. Runs with `every` are left out: what is missing of them comes
/// divided, out of the comparison.
fn wanted(text: &str) -> Result<Vec<Line<'_>>, NodeError> {
    let said = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    text.lines().filter(said).filter(|line| !line.contains(" every ")).map(line).collect()
}

fn line(text: &str) -> Result<Line<'_>, NodeError> {
    Line::read(text).ok_or_else(|| NodeError {
        step: "read what was sent".into(),
        said: format!("`{text}` is no line that this device can hold"),
    })
}

fn extra(text: &str) -> Result<Extra<'_>, NodeError> {
    Extra::read(text).ok_or_else(|| NodeError {
        step: "undo what is too much".into(),
        said: format!("nobody knows how to undo `{text}`: remove it by hand"),
    })
}

pub(crate) fn at<E: Error>(step: &str) -> impl Fn(E) -> NodeError {
    move |error| NodeError::at(step, &error)
}
