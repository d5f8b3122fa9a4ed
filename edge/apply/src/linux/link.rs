//! What differs on a node is undone and done, round by round.

use std::collections::BTreeSet;

use model::Dialect;
use model::numbering::tunnel_name;
use observe::Found;
use read::Difference;

use super::Linux;
use crate::before::Frr;
use crate::change::vrf_of;
use crate::frr::{self, Telling};
use crate::line::{Extra, Line};
use crate::node::at;
use crate::putting::{Putting, numbers, put};
use crate::texts::{differences, extra, line};
use crate::{Admitted, NodeError};

/// How often is looked again at what became of a change. Some things take others with them, so
/// that the second look finds something; a third was never needed.
const ROUNDS: usize = 4;

/// What a change has to go by, and how far it is.
pub(super) struct Way<'a, 'scope> {
    pub(super) sent: &'a Admitted,
    pub(super) wanted: &'a [Line<'a>],
    pub(super) putting: Putting<'scope>,
    pub(super) routing: Routing,
}

/// What matters for the routing daemons.
pub(super) struct Routing {
    /// What FRR held before.
    pub(super) held: Frr,
    /// What became of FRR, if it was told already.
    pub(super) told: Option<frr::FrrHeld>,
    /// The bridges that have new neighbours.
    pub(super) fresh: BTreeSet<String>,
}

impl Routing {
    pub(super) fn after(held: Frr) -> Self {
        Self { held, told: None, fresh: BTreeSet::new() }
    }
}

impl Linux {
    /// Undoes and does what differs, and looks again until nothing does. Gives what was seen last, or
    /// none if nothing had to be done.
    pub(super) fn link(
        &mut self,
        way: &mut Way<'_, '_>,
        before: &Found,
        mut left: Vec<Difference>,
        step: &mut dyn FnMut(&str),
    ) -> Result<Option<Found>, NodeError> {
        let text = way.sent.text(Dialect::Linux);
        let mut looked = None;
        for round in 0.. {
            let found = looked.as_ref().unwrap_or(before);
            if left.iter().all(is_later) {
                // A port that got another number in its new namespace has to be known by it.
                if numbers(way.wanted, found) != numbers(way.wanted, before) {
                    step("put the table again");
                    way.putting.end(&mut self.kernel)?;
                    self.kernel = Some(put(self.take_kernel()?, way.sent, found)?);
                }
                return Ok(looked);
            }
            if round == ROUNDS {
                break;
            }
            self.round(&left, way, found, step)?;
            let found = looked.insert(self.look()?);
            left = differences(Dialect::Linux, text, &found.linux());
        }
        left.retain(|difference| !is_later(difference));
        let first = left.first().map(|difference| {
            let word = if difference.is_missing { "lacks" } else { "holds" };
            format!("the kernel took every change and still {word} `{}`", difference.statement)
        });
        Err(NodeError { step: "look again".into(), said: first.unwrap_or_default() })
    }

    /// Undoes what is too much, and does what is missing then: a bridge that goes leaves its ports
    /// and their neighbours behind.
    fn round(
        &mut self,
        left: &[Difference],
        way: &mut Way<'_, '_>,
        found: &Found,
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
            if extras.iter().any(|extra| matches!(extra, Extra::Queues { .. })) {
                way.putting.end(&mut self.kernel)?;
                self.judge(found, wanted, "end queues", |change, kernel| {
                    change.end_queues(&extras, kernel)
                })?;
            }
            self.change(found, wanted, "undo what is too much", |change| change.undo(&extras))?;
        }
        let undone;
        let (found, left) = if extras.is_empty() {
            (found, left)
        } else {
            let found = self.look()?;
            let text = way.sent.text(Dialect::Linux);
            undone = (differences(Dialect::Linux, text, &found.linux()), found);
            (&undone.1, undone.0.as_slice())
        };
        way.routing.fresh.extend(new_neighbours(left).map(str::to_owned));
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
            let became = telling.end(&self.place.frr, way.sent.text(Dialect::Frr), step);
            way.routing.told = Some(became.map_err(at("tell FRR of segments"))?);
        }
        // From here on something is let through.
        way.putting.end(&mut self.kernel)?;
        step("bring ports");
        let mut has_moved = false;
        self.judge(found, wanted, "bring ports", |change, kernel| {
            has_moved = change.bring_ports(&missing, kernel)?;
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
            self.judge(after, wanted, "make queues", |change, kernel| {
                change.make_queues(&missing, kernel)
            })?;
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
        if way.routing.told.is_some() {
            return Ok(None);
        }
        let Some(left) = way.routing.held.left(way.sent.text(Dialect::Frr))? else {
            return Ok(None);
        };
        let has_tunnel =
            |vni: &str| vni.parse().is_ok_and(|vni| found.interface(&tunnel_name(vni)).is_some());
        Telling::begin(&self.place.frr, &left, &has_tunnel, step)
            .map_err(at("tell FRR of segments"))
    }

    /// Links that come into a VRF before FRR knows it, and its VNI, are understood by half.
    fn introduce_vrfs(
        &self,
        names: &[String],
        step: &mut dyn FnMut(&str),
    ) -> Result<(), NodeError> {
        let text = self.state.sent().map_or("", |sent| sent.text(Dialect::Frr));
        if text.is_empty() || names.is_empty() {
            return Ok(());
        }
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        step("let FRR see the VRFs");
        frr::await_vrfs(&self.place, &names).map_err(at("let FRR see the VRFs"))?;
        frr::tell_of_vrfs(&self.place.frr, text, &names, step).map_err(at("tell FRR of VRFs"))
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

/// Whether a tunnel is in the VRF where it shall be.
fn is_at_home(tunnel: &str, wanted: &[Line<'_>], found: &Found) -> bool {
    let planned = wanted.iter().find_map(|line| match *line {
        Line::Router { name, vrf, .. } if name == tunnel => Some(vrf),
        Line::Tunnel { name, master, .. } if name == tunnel => vrf_of(master, wanted),
        _ => None,
    });
    planned.is_some() && found.interface(tunnel).map(|(vrf, _)| vrf) == Some(planned)
}
