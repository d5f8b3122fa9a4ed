//! Frames a second between two network namespaces, judged and dropped.

use aya::programs::XdpMode;

use super::bed::{Bed, Setup, cpu_ns};
use super::lab::{Cable, Receiver, send, stay_near};
use super::nft;
use super::world::{World, frame};
use super::{BenchPart, BenchReport, BenchRow, Bound, Sample, Unit};
use crate::kernel::program;
use crate::{Fault, PutError, interface_index};

/// How many frames are sent at once, and how often to each contender. They take turns, so that noise
/// hits all alike. Each call rests for about 16 ms, and whoever runs meanwhile takes the caches: a few
/// thousand frames would show mostly how tables come back from memory.
const FRAMES: u32 = 1 << 19;
const ROUNDS: usize = 15;

pub(super) fn measure(
    full: bool,
    report: &mut BenchReport,
    progress: &mut dyn FnMut(&str),
) -> Result<(), PutError> {
    let sizes: &[u32] = if full { &[1_000, 100_000, 1_000_000] } else { &[1_000, 100_000] };
    for &size in sizes {
        let world = World::whole(size);
        progress(&format!("live frames among {} endpoints", world.endpoints()));
        let (mut bed, places) = set_up(world, progress)?;
        let together = rounds(&mut bed, &places)?;
        tell(size, &places, &together, "made, sent and judged on one CPU", report);
        let places = places.into_iter().map(Place::apart).collect::<Result<Vec<_>, _>>()?;
        let apart = rounds(&mut bed, &places)?;
        let note = "the judging CPU alone; the frame comes from another CPU's cache";
        tell(size, &places, &apart, note, report);
    }
    Ok(())
}

/// Who takes in frames at the far end of a cable.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Contender {
    Empty,
    LookedAt,
    Filter,
    Nftables,
    Vxlan,
}

impl Contender {
    const ALL: [Self; 5] = [Self::Empty, Self::LookedAt, Self::Filter, Self::Nftables, Self::Vxlan];

    fn name(self) -> &'static str {
        match self {
            Self::Empty => "an empty program",
            Self::LookedAt => "a program that reads the headers",
            Self::Filter => "the filter",
            Self::Nftables => "nftables on the uplink",
            Self::Vxlan => "VXLAN device, nftables behind it",
        }
    }

    /// The program that stands at the far end for it.
    fn program(self) -> &'static str {
        match self {
            Self::Empty => "counted",
            Self::LookedAt => "looked_at",
            Self::Filter => "fabric",
            Self::Nftables | Self::Vxlan => "passed",
        }
    }
}

/// A contender at the far end of its own cable.
struct Place {
    contender: Contender,
    cable: Cable,
    /// Who takes in frames there, when it is not the CPU that makes them.
    receiver: Option<Receiver>,
    /// Helps out the CPU that makes them.
    helper: Receiver,
}

fn set_up(world: World, progress: &mut dyn FnMut(&str)) -> Result<(Bed, Vec<Place>), PutError> {
    let cables = Contender::ALL.map(|contender| Ok((contender, Cable::new()?)));
    let cables = cables.into_iter().collect::<Result<Vec<_>, Fault>>()?;
    // Every namespace is made in the same way, so the near end has the same number in each.
    let out = match cables.first() {
        Some((_, cable)) => cable.near.inside(|| interface_index("near"))?,
        None => 0,
    };
    let mut bed = Bed::of(world, Setup { out, drop_all: true, ..Setup::default() })?;
    let mut places = Vec::new();
    for (contender, cable) in cables {
        let name = contender.name();
        match Place::new(contender, cable, world, &mut bed) {
            Ok(place) => places.push(place),
            // The filter is measured also where there is nothing to compare it with.
            Err(fault) if matches!(contender, Contender::Nftables | Contender::Vxlan) => {
                progress(&format!("  without {name}: {fault}"));
            }
            Err(fault) => return Err(fault.into()),
        }
    }
    Ok((bed, places))
}

/// Frames that passed, a second, by the rounds of each place.
fn rounds(bed: &mut Bed, places: &[Place]) -> Result<Vec<Vec<f64>>, Fault> {
    let before = places.iter().map(|place| place.so_far(bed)).collect::<Result<Vec<_>, _>>()?;
    let mut rates = vec![Vec::new(); places.len()];
    for round in 0..=ROUNDS {
        for (place, rates) in places.iter().zip(&mut rates) {
            let rate = place.round(bed)?;
            // The first round warms caches and is not kept.
            if round > 0 {
                rates.push(rate);
            }
        }
    }
    // Frames that came but did not pass do not count.
    for ((place, rates), (passed, came)) in places.iter().zip(&mut rates).zip(before) {
        let (passed_now, came_now) = place.so_far(bed)?;
        let share = (passed_now - passed) as f64 / (came_now - came) as f64;
        rates.iter_mut().for_each(|rate| *rate *= share);
    }
    Ok(rates)
}

impl Place {
    fn new(contender: Contender, cable: Cable, world: World, bed: &mut Bed) -> Result<Self, Fault> {
        let name = contender.program();
        let xdp = bed.program(name)?;
        cable.far.inside(|| {
            let index = interface_index("far")?;
            xdp.attach_to_if_index(index, XdpMode::Driver).map(drop).map_err(program(name))
        })?;
        cable.far.inside(|| match contender {
            Contender::Empty | Contender::LookedAt | Contender::Filter => Ok(()),
            Contender::Nftables => nft::load(&nft::on_uplink(world)),
            Contender::Vxlan => {
                nft::add_vxlan_devices(world)?;
                nft::load(&nft::behind_vxlan(world))
            }
        })?;
        Ok(Self { contender, cable, receiver: None, helper: Receiver::near()? })
    }

    /// From now on another CPU takes in the frames.
    fn apart(self) -> Result<Self, Fault> {
        Ok(Self { receiver: Some(self.cable.receiver()?), ..self })
    }

    /// Sends once; gives how many frames came for each second of CPU time.
    fn round(&self, bed: &mut Bed) -> Result<f64, Fault> {
        let receiver = self.receiver.as_ref().unwrap_or(&self.helper);
        let (came, cpu) = (self.cable.far.received("far")?, receiver.cpu_ns()?);
        let sender = bed.program("send")?;
        let sending = self.cable.near.inside(|| {
            stay_near()?;
            let before = cpu_ns();
            send(sender, &frame(), FRAMES)?;
            Ok(cpu_ns() - before)
        })?;
        let mut cpu = receiver.cpu_ns()? - cpu;
        if self.receiver.is_none() {
            cpu += sending;
        }
        let came = self.cable.far.received("far")? - came;
        Ok(came as f64 / cpu * 1e9)
    }

    /// How many frames passed until now, as the contender counts them, and how many came.
    fn so_far(&self, bed: &Bed) -> Result<(u64, u64), Fault> {
        let came = self.cable.far.received("far")?;
        let passed = match self.contender {
            Contender::Empty | Contender::LookedAt => came,
            Contender::Filter => bed.received(1..bed.slots())?,
            Contender::Nftables | Contender::Vxlan => self.cable.far.inside(nft::passed)?,
        };
        Ok((passed, came))
    }
}

fn tell(
    size: u32,
    places: &[Place],
    rates: &[Vec<f64>],
    note: &'static str,
    report: &mut BenchReport,
) {
    let mut row = |name: String, best, median, unit, bound| {
        let endpoints = Some(World::whole(size).endpoints());
        report.rows.push(BenchRow {
            part: BenchPart::Live,
            name,
            endpoints,
            best,
            median,
            unit,
            bound,
            note,
        });
    };
    let most = |of: &[f64]| of.iter().copied().fold(f64::NAN, f64::max);
    let all = || places.iter().map(|place| place.contender).zip(rates);
    for (contender, rates) in all() {
        let median = Sample::of(rates.iter().copied()).median;
        row(contender.name().to_owned(), most(rates), median, Unit::FramesPerSecond, None);
    }
    let Some((_, ours)) = all().find(|(contender, _)| *contender == Contender::Filter) else {
        return;
    };
    let together = places.iter().all(|place| place.receiver.is_none());
    for (contender, theirs) in all() {
        let (unit, least, scale) = match contender {
            Contender::Filter => continue,
            Contender::Empty if size == 100_000 => (Unit::Percent, Some(85.0), 100.0),
            Contender::Empty | Contender::LookedAt => (Unit::Percent, None, 100.0),
            Contender::Nftables => (Unit::Times, Some(5.0), 1.0),
            Contender::Vxlan => (Unit::Times, Some(7.0), 1.0),
        };
        let each = ours.iter().zip(theirs).map(|(ours, theirs)| scale * ours / theirs);
        let name = format!("the filter, beside {}", contender.name());
        let bound = least.filter(|_| together).map(Bound::AtLeast);
        row(name, scale * most(ours) / most(theirs), Sample::of(each).median, unit, bound);
    }
}
