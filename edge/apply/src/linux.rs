//! A node of the Linux kind: netlink, the packet program, FRR.

use std::collections::BTreeSet;
use std::error::Error;
use std::time::Duration;

use filter::{Kernel, Limits, Settings};
use model::{Dialect, Generation, Port};
use observe::{Found, Place, Spaces, Trouble};
use read::Difference;

use crate::change::{Change, vrf_of};
use crate::line::{Extra, Line};
use crate::state::State;
use crate::{Counted, Node, NodeError, Outcome, Sent, frr, vrf};

/// How often is looked again at what became of a change. Some things take others with them, so
/// that the second look finds something; a third was never needed.
const ROUNDS: usize = 4;

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

    /// What it holds in one dialect.
    fn said(&self, dialect: Dialect, found: &Found) -> Result<String, NodeError> {
        match dialect {
            Dialect::Linux => Ok(found.linux()),
            Dialect::Table => {
                let table = found.table(&self.place).map_err(at("read the table"))?;
                Ok(table.unwrap_or_default())
            }
            Dialect::Frr => observe::frr(&self.place.frr).map_err(at("ask FRR")),
            _ => Ok(String::new()),
        }
    }

    /// The packet program, loaded and closed if it was not there.
    fn kernel(&mut self) -> Result<&mut Kernel, NodeError> {
        let failed = at("load the packet program");
        if self.kernel.is_none() || !self.place.filter.join("policy").exists() {
            let opened = match Kernel::open(&self.place.filter) {
                Err(filter::Fault::NotLoaded { .. }) => {
                    // What a load that was cut short left behind.
                    let _ = std::fs::remove_dir_all(&self.place.filter);
                    Kernel::load(&self.place.filter, &Settings::default())
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
        let found = self.look()?;
        let dialects: Vec<Dialect> = match self.state.sent() {
            Some(sent) => sent.texts.iter().map(|(dialect, _)| *dialect).collect(),
            None => vec![Dialect::Frr, Dialect::Linux, Dialect::Table],
        };
        dialects.into_iter().map(|dialect| Ok((dialect, self.said(dialect, &found)?))).collect()
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
        let before = self.before(sent)?;
        let outcome = |dialect| match before.differing.contains(&dialect) {
            true => Outcome::Held,
            false => Outcome::Unchanged,
        };
        let outcomes = dialects().map(|dialect| (dialect, outcome(dialect))).collect();
        self.was_interrupted = self.state.sent().is_some() && !self.state.is_complete();
        if before.differing.is_empty() && !self.was_interrupted {
            if self.state.sent() != Some(sent) {
                self.state.begin(sent)?;
                self.state.complete()?;
            }
            return Ok(outcomes);
        }
        step("write down what was sent");
        self.state.begin(sent)?;
        self.make_so(sent, before, step)?;
        step("mark as complete");
        self.state.complete()?;
        Ok(outcomes)
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

/// How a node was before a change.
struct Before {
    found: Found,
    /// The dialects in which it held something else.
    differing: BTreeSet<Dialect>,
    /// What FRR held; none if VRFs come or go, because it then changes by itself.
    frr: Option<String>,
}

impl Linux {
    fn before(&mut self, sent: &Sent) -> Result<Before, NodeError> {
        let found = self.look()?;
        let mut before = Before { found, differing: BTreeSet::new(), frr: None };
        let mut vrfs_stay = true;
        for (dialect, text) in &sent.texts {
            let held = self.said(*dialect, &before.found)?;
            let left = differences(*dialect, text, &held);
            vrfs_stay &= !left.iter().any(|difference| difference.statement.starts_with("vrf "));
            if !left.is_empty() {
                before.differing.insert(*dialect);
            }
            if *dialect == Dialect::Frr {
                before.frr = Some(held);
            }
        }
        before.frr.take_if(|_| !vrfs_stay);
        Ok(before)
    }

    /// Deny first, allow last; ports stay down.
    fn make_so(
        &mut self,
        sent: &Sent,
        before: Before,
        step: &mut dyn FnMut(&str),
    ) -> Result<(), NodeError> {
        let Before { mut found, differing, frr } = before;
        let has = |dialect| sent.texts.iter().any(|(spoken, _)| *spoken == dialect);
        let linux = text(sent, Dialect::Linux);
        let wanted = wanted(linux)?;
        if has(Dialect::Linux) {
            step("load the packet program");
            vrf::route_underlay().map_err(at("let the node route"))?;
            self.kernel()?;
            Kernel::sweep(&self.place.filter).map_err(at("sweep the packet program's links"))?;
            step("judge the uplinks");
            self.change(&found, &wanted, "judge the uplinks", |change| change.attach_uplinks())?;
        }
        if has(Dialect::Table) {
            self.put(sent, &found, step)?;
        }
        let mut fresh = BTreeSet::new();
        if has(Dialect::Linux) {
            (fresh, found) = self.link(sent, &wanted, found, step)?;
        }
        if has(Dialect::Frr) && (differing.contains(&Dialect::Frr) || has(Dialect::Linux)) {
            step("tell FRR");
            let became = self.tell_frr(text(sent, Dialect::Frr), frr.as_deref(), step);
            let failed = |error: Box<dyn Error>| told("tell FRR", &*error);
            // The daemons hear of neighbours when those change, and forget what came before they
            // knew its segment. Neighbours that they know are left alone: their routes would flap.
            let forgot = became.map_err(failed)?.forgot || self.was_interrupted;
            let is_unheard = |master: &str| forgot || fresh.contains(master);
            if forgot || !fresh.is_empty() {
                step("announce");
                self.change(&found, &wanted, "announce", |change| change.announce(&is_unheard))?;
            }
        }
        if has(Dialect::Linux) {
            self.end_vrfs(linux, step)?;
        }
        self.after = Some(found);
        Ok(())
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
                vrf::make(&self.place, &vrf)?;
                frr::await_vrfs(&self.place.frr, &[vrf.as_str()])?;
                Ok(frr::hold(&self.place.frr, text)?)
            }
            became => Ok(became?),
        }
    }

    /// Puts the table in force. A port is found wherever it is.
    fn put(
        &mut self,
        sent: &Sent,
        found: &Found,
        step: &mut dyn FnMut(&str),
    ) -> Result<(), NodeError> {
        let table = text(sent, Dialect::Table);
        let held = self.said(Dialect::Table, found)?;
        if differences(Dialect::Table, table, &held).is_empty() {
            return Ok(());
        }
        step("put the table");
        let generation = sent.generation;
        let number = |port: &Port| found.interface(&port.to_string()).map(|(_, index)| index);
        let put = self.kernel()?.put(table, generation, &number, &Limits::default());
        put.map(drop).map_err(at("put the table"))
    }

    /// Undoes and does what differs, and looks again until nothing does. Gives the bridges that
    /// have new neighbours, and what was seen last.
    fn link(
        &mut self,
        sent: &Sent,
        wanted: &[Line<'_>],
        mut found: Found,
        step: &mut dyn FnMut(&str),
    ) -> Result<(BTreeSet<String>, Found), NodeError> {
        let text = text(sent, Dialect::Linux);
        let mut left = Vec::new();
        let mut fresh = BTreeSet::new();
        for _ in 0..ROUNDS {
            let held = found.linux();
            left = differences(Dialect::Linux, text, &held);
            if left.iter().all(is_later) {
                // A port that got another number in its new namespace has to be known by it.
                self.put(sent, &found, step)?;
                return Ok((fresh, found));
            }
            fresh.extend(new_neighbours(&left).map(str::to_owned));
            self.round(&left, wanted, &found, step)?;
            found = self.look()?;
        }
        left.retain(|difference| !is_later(difference));
        let first = left.first().map(|difference| {
            let word = if difference.is_missing { "lacks" } else { "holds" };
            format!("the kernel took every change and still {word} `{}`", difference.statement)
        });
        Err(NodeError { step: "look again".into(), said: first.unwrap_or_default() })
    }

    fn round(
        &mut self,
        left: &[Difference],
        wanted: &[Line<'_>],
        found: &Found,
        step: &mut dyn FnMut(&str),
    ) -> Result<(), NodeError> {
        let missing = left.iter().filter(|difference| difference.is_missing);
        let missing: Vec<Line<'_>> =
            missing.map(|difference| line(&difference.statement)).collect::<Result<_, _>>()?;
        let extras = left.iter().filter(|difference| !difference.is_missing);
        let stays = |name: &str| is_at_home(name, wanted, found);
        let extras = extras.filter(|extra| !is_mended(&extra.statement, left, &stays));
        let extras: Vec<Extra<'_>> =
            extras.map(|difference| extra(&difference.statement)).collect::<Result<_, _>>()?;
        if !extras.is_empty() {
            step("undo what is too much");
            self.change(found, wanted, "undo what is too much", |change| change.undo(&extras))?;
        }
        let gone;
        let found = if extras.is_empty() {
            found
        } else {
            gone = self.look()?;
            &gone
        };
        if missing.iter().any(|line| matches!(line, Line::Vrf { .. })) {
            step("make VRFs");
            let mut made = Vec::new();
            self.change(found, wanted, "make VRFs", |change| {
                made = change.make_vrfs(&missing)?.into_iter().map(str::to_owned).collect();
                Ok(())
            })?;
            step("let FRR see the VRFs");
            self.await_vrfs(&made)?;
        }
        if missing.is_empty() {
            return Ok(());
        }
        step("make bridges and tunnels");
        self.change(found, wanted, "make bridges and tunnels", |change| {
            change.make_links(&missing)
        })?;
        step("bring ports");
        self.change(found, wanted, "bring ports", |change| change.bring_ports(&missing))?;
        step("join");
        let after = self.look()?;
        self.change(&after, wanted, "join", |change| change.join(&missing, &after))?;
        if missing.iter().any(|line| matches!(line, Line::Queues { .. } | Line::Queue { .. })) {
            step("make queues");
            self.change(&after, wanted, "make queues", |change| change.make_queues(&missing))?;
        }
        Ok(())
    }

    /// Links that come into a VRF before FRR knows it are understood by half.
    fn await_vrfs(&self, names: &[String]) -> Result<(), NodeError> {
        let speaks_frr = self
            .state
            .sent()
            .is_some_and(|sent| sent.texts.iter().any(|(dialect, _)| *dialect == Dialect::Frr));
        if !speaks_frr || names.is_empty() {
            return Ok(());
        }
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        frr::await_vrfs(&self.place.frr, &names).map_err(at("let FRR see the VRFs"))
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
            vrf::end(&self.place, &name).map_err(at("end a VRF"))?;
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
fn differences(dialect: Dialect, sent: &str, held: &str) -> Vec<Difference> {
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

/// Whether a tunnel is in the VRF where it shall be.
fn is_at_home(tunnel: &str, wanted: &[Line<'_>], found: &Found) -> bool {
    let planned = wanted.iter().find_map(|line| match *line {
        Line::Router { name, vrf, .. } if name == tunnel => Some(vrf),
        Line::Tunnel { name, master, .. } if name == tunnel => vrf_of(master, wanted),
        _ => None,
    });
    planned.is_some() && found.interface(tunnel).map(|(vrf, _)| vrf) == Some(planned)
}

fn text(sent: &Sent, dialect: Dialect) -> &str {
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

fn at<E: Error>(step: &str) -> impl Fn(E) -> NodeError {
    move |error| told(step, &error)
}

/// The sentence of an error with all its causes.
fn told(step: &str, error: &dyn Error) -> NodeError {
    let mut said = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let next = error.to_string();
        if !said.ends_with(&next) {
            said.push_str(": ");
            said.push_str(&next);
        }
        cause = error.source();
    }
    NodeError { step: step.into(), said }
}
