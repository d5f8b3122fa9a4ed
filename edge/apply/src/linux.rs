//! A node of the Linux kind: netlink, the packet program, FRR.

mod link;

use std::collections::BTreeSet;
use std::error::Error;
use std::panic::resume_unwind;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use filter::{Kernel, Settings};
use model::{Dialect, Generation};
use observe::{Found, Place, Spaces, Trouble};

use crate::before::{self, Before};
use crate::change::Change;
use crate::line::{Extra, Line};
use crate::node::at;
use crate::putting::{Putting, put};
use crate::state::State;
use crate::texts::{segments, wanted};
use crate::{Admitted, Counted, ManagedNode, NodeError, frr, vrf};
use link::{Routing, Way};

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
        self.load()?;
        self.kernel.as_mut().ok_or_else(is_gone)
    }

    /// The same, for who gives it back.
    fn take_kernel(&mut self) -> Result<Kernel, NodeError> {
        self.load()?;
        self.kernel.take().ok_or_else(is_gone)
    }

    fn load(&mut self) -> Result<(), NodeError> {
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
            self.kernel = Some(opened.map_err(at("load the packet program"))?);
        }
        Ok(())
    }

    /// The packet program, if it is there.
    fn loaded(&mut self) -> Result<Option<&mut Kernel>, NodeError> {
        if !self.place.filter.join("policy").exists() {
            return Ok(None);
        }
        self.kernel().map(Some)
    }
}

impl ManagedNode for Linux {
    fn held(&mut self) -> Result<Vec<(Dialect, String)>, NodeError> {
        let dialects: Vec<Dialect> = match self.state.sent() {
            Some(sent) => sent.texts().map(|(dialect, _)| dialect).collect(),
            None => vec![Dialect::Frr, Dialect::Linux, Dialect::Table],
        };
        before::held(&self.place, &mut self.spaces, &dialects)
    }

    fn sent(&self) -> Option<&Admitted> {
        self.state.sent()
    }

    fn hold(
        &mut self,
        sent: &Admitted,
        step: &mut dyn FnMut(&str),
    ) -> Result<Vec<Dialect>, NodeError> {
        let dialects = || sent.texts().map(|(dialect, _)| dialect);
        // Whoever is told to hold what it cannot must not say that it does.
        if let Some(dialect) = dialects().find(|dialect| !dialect.is_network()) {
            let said = format!(
                "this agent holds the network alone and was sent `{dialect}`: take that layer out of \
                 the fleet's `layers`, or send this plan to simulated devices"
            );
            return Err(NodeError { step: "read what was sent".into(), said });
        }
        let number = |sent: &Admitted| (sent.epoch(), sent.generation());
        if let Some((epoch, ours)) = self.state.sent().map(number)
            && (epoch, ours) > number(sent)
        {
            let said = format!("generation {} comes late: {ours} is held", sent.generation());
            return Err(NodeError { step: "read what was sent".into(), said });
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
        Ok(dialects().filter(|dialect| differing.contains(dialect)).collect())
    }

    fn start(&mut self, generation: Generation) -> Result<(), NodeError> {
        let refused = |said: String| NodeError { step: "start".into(), said };
        let Some(sent) = self.state.sent().cloned() else {
            return Err(refused("nothing was sent yet: send a plan first".into()));
        };
        if sent.generation() != generation || !self.state.is_complete() {
            return Err(refused(format!(
                "generation {generation} is not held: generation {} is, and it is {}complete",
                sent.generation(),
                if self.state.is_complete() { "" } else { "not " },
            )));
        }
        let text = sent.text(Dialect::Linux);
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
    fn write_down(
        &mut self,
        sent: &Admitted,
    ) -> Result<JoinHandle<Result<(), NodeError>>, NodeError> {
        let written = self.state.begin(sent)?;
        Ok(thread::spawn(move || written.wait()))
    }

    /// Looks how the node is, and touches it only if it holds something else. Gives the dialects in
    /// which it did, or none if it was not touched.
    fn make_if_differing(
        &mut self,
        sent: &Admitted,
        last: Option<&Admitted>,
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
        sent: &Admitted,
        before: Before,
        step: &mut dyn FnMut(&str),
    ) -> Result<BTreeSet<Dialect>, NodeError> {
        let Before { found: before, links, mut differing, frr } = before;
        let has = |dialect| sent.texts().any(|(spoken, _)| spoken == dialect);
        let linux = sent.text(Dialect::Linux);
        let wanted = wanted(linux)?;
        if has(Dialect::Linux) {
            step("load the packet program");
            vrf::route_underlay().map_err(at("let the node route"))?;
            self.kernel()?;
            if before.has_lost_links {
                let swept = Kernel::sweep(&self.place.filter);
                swept.map_err(at("sweep the packet program's links"))?;
            }
            step("judge the uplinks");
            self.judge(&before, &wanted, "judge the uplinks", |change, kernel| {
                change.attach_uplinks(kernel)
            })?;
        }
        let (looked, routing) = thread::scope(|scope| {
            let (putting, routing) = (Putting::default(), Routing::after(frr));
            let mut way = Way { sent, wanted: &wanted, putting, routing };
            if differing.contains(&Dialect::Table) {
                step("put the table");
                let kernel = self.take_kernel()?;
                way.putting = Putting::begin(scope, || put(kernel, sent, &before));
            }
            let looked = match has(Dialect::Linux) {
                true => self.link(&mut way, &before, links, step)?,
                false => None,
            };
            way.putting.end(&mut self.kernel)?;
            Ok((looked, way.routing))
        })?;
        let found = looked.unwrap_or(before);
        if has(Dialect::Frr)
            && (differing.contains(&Dialect::Frr) || has(Dialect::Linux))
            && self.route(sent, &wanted, &found, routing, step)?
        {
            differing.insert(Dialect::Frr);
        }
        if has(Dialect::Linux) {
            self.end_vrfs(linux, step)?;
        }
        self.after = Some(found);
        Ok(differing)
    }

    /// Lets FRR hold what it was sent and know what there is; whether it held something else.
    fn route(
        &mut self,
        sent: &Admitted,
        wanted: &[Line<'_>],
        found: &Found,
        routing: Routing,
        step: &mut dyn FnMut(&str),
    ) -> Result<bool, NodeError> {
        let Routing { mut held, told, fresh } = routing;
        let text = sent.text(Dialect::Frr);
        let became = match told {
            Some(became) => became,
            None => {
                step("tell FRR");
                let became = self.tell_frr(text, held.held(text)?, step);
                became.map_err(|error| NodeError::at("tell FRR", &*error))?
            }
        };
        // The daemons hear of neighbours when those change, and forget what came before they knew
        // its segment. Neighbours that they know are left alone: their routes would flap.
        let forgot = became.forgot || self.was_interrupted;
        let is_unheard = |master: &str| forgot || fresh.contains(master);
        if forgot {
            step("let FRR see the segments");
            let await_segments = frr::await_segments(&self.place, text, &segments(wanted));
            await_segments.map_err(at("let FRR see the segments"))?;
        }
        if forgot || !fresh.is_empty() {
            step("announce");
            self.change(found, wanted, "announce", |change| change.announce(&is_unheard))?;
        }
        Ok(became.changed)
    }

    /// Makes FRR hold this. A daemon that missed how a VRF lost its VNI, because the namespace was
    /// gone too early, gets it back for a moment.
    fn tell_frr(
        &mut self,
        text: &str,
        held: Option<&str>,
        step: &mut dyn FnMut(&str),
    ) -> Result<frr::FrrHeld, Box<dyn Error>> {
        let folder = &self.place.frr;
        let became = match held {
            Some(held) => frr::hold_instead(folder, text, held, step),
            None => frr::hold_instead(folder, text, &observe::frr(folder)?, step),
        };
        match became {
            Err(frr::FrrTrouble::Stuck { vrf, .. }) => {
                vrf::make(&self.place, &mut self.spaces, &vrf)?;
                frr::await_vrfs(&self.place, &[vrf.as_str()])?;
                Ok(frr::hold(&self.place.frr, text)?)
            }
            became => Ok(became?),
        }
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
        let mut change = Change { place: &self.place, spaces: &mut self.spaces, found, wanted };
        what(&mut change).map_err(at(name))
    }

    /// A change in which the packet program has a part.
    fn judge<'a>(
        &'a mut self,
        found: &'a Found,
        wanted: &'a [Line<'a>],
        name: &str,
        what: impl FnOnce(&mut Change<'a>, &mut Kernel) -> Result<(), Trouble>,
    ) -> Result<(), NodeError> {
        let mut kernel = self.take_kernel()?;
        let mut change = Change { place: &self.place, spaces: &mut self.spaces, found, wanted };
        let changed = what(&mut change, &mut kernel).map_err(at(name));
        self.kernel = Some(kernel);
        changed
    }
}

fn is_gone() -> NodeError {
    NodeError { step: "load the packet program".into(), said: "it is gone".into() }
}
