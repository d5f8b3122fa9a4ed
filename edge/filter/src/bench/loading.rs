//! How long a policy takes until it is in force, and how much memory it takes.

use std::time::Instant;

use model::Generation;

use super::bed::{own_place, put, settings};
use super::lab::{Namespace, run};
use super::nft;
use super::world::World;
use super::{BenchPart, BenchReport, BenchRow, Bound, Sample, Unit};
use crate::{Fault, Kernel, PutError, Settings};

const ROUNDS: u64 = 5;
/// One tenant's change is small and needs more rounds to be seen.
const CHANGES: u64 = 20;

pub(super) fn measure(
    full: bool,
    report: &mut BenchReport,
    progress: &mut dyn FnMut(&str),
) -> Result<(), PutError> {
    for (endpoints, most_ms) in [(100_000, 1_000.0), (1_000_000, 5_000.0)] {
        let world = World::whole(endpoints);
        progress(&format!("a policy of {} endpoints is put in force", world.endpoints()));
        let mut row = |name: &str, sample: Sample, unit, bound: Option<f64>, note| {
            report.rows.push(BenchRow {
                part: BenchPart::Loading,
                name: name.to_owned(),
                endpoints: Some(world.endpoints()),
                best: sample.least,
                median: sample.median,
                unit,
                bound: bound.map(Bound::AtMost),
                note,
            });
        };
        let mut loaded = Loaded::new(world)?;
        let text = world.text();
        let first = Sample::of([loaded.put(&text)?].into_iter());
        row(
            "the first policy",
            first,
            Unit::Milliseconds,
            Some(most_ms),
            "compiled, loaded, swapped",
        );
        let again = loaded.puts(&[&text], ROUNDS)?;
        row(
            "a policy after another",
            again,
            Unit::Milliseconds,
            Some(most_ms),
            "compiled, loaded, swapped",
        );
        if endpoints == 100_000 {
            let changes = loaded.puts(&[&world.moved(7), &text], CHANGES)?;
            row(
                "one job of it moved",
                changes,
                Unit::Milliseconds,
                Some(50.0),
                "compiled, loaded, swapped",
            );
        }
        let each = |bytes: u32| f64::from(bytes) / f64::from(world.endpoints());
        let size = Sample::of([each(loaded.policy_bytes)].into_iter());
        row("memory for each endpoint", size, Unit::Bytes, None, "the policy alone");
        let room = Sample::of([each(loaded.kernel.block_bytes())].into_iter());
        row(
            "memory for each endpoint",
            room,
            Unit::Bytes,
            Some(32.0),
            "its block, room to grow included",
        );
        if full || endpoints == 100_000 {
            progress("  the same in nftables");
            match by_nftables(world) {
                Ok(took) => row("nftables, the same sets", took, Unit::Milliseconds, None, ""),
                Err(fault) => progress(&format!("  without nftables: {fault}")),
            }
        }
    }
    Ok(())
}

/// A filter of its own, gone with this value.
struct Loaded {
    kernel: Kernel,
    generation: u64,
    policy_bytes: u32,
}

impl Loaded {
    fn new(world: World) -> Result<Self, Fault> {
        let settings = Settings { slots: settings(world).slots, ..Settings::default() };
        let kernel = Kernel::load(&own_place(), &settings)?;
        Ok(Self { kernel, generation: 0, policy_bytes: 0 })
    }

    /// Puts a policy in force; gives the milliseconds it took.
    fn put(&mut self, text: &str) -> Result<f64, PutError> {
        self.generation += 1;
        let begun = Instant::now();
        self.policy_bytes = put(&mut self.kernel, text, Generation(self.generation))?;
        Ok(begun.elapsed().as_secs_f64() * 1e3)
    }

    /// Puts these in force by turns.
    fn puts(&mut self, texts: &[&str], count: u64) -> Result<Sample, PutError> {
        let turns = (0..count).zip(texts.iter().cycle());
        let took = turns.map(|(_, text)| self.put(text)).collect::<Result<Vec<_>, _>>()?;
        Ok(Sample::of(took.into_iter()))
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        // Attached to nothing: nothing opens.
        let _ = Kernel::danger_detach(self.kernel.place());
    }
}

fn by_nftables(world: World) -> Result<Sample, Fault> {
    let namespace = Namespace::new()?;
    let rules = nft::on_uplink(world);
    namespace.inside(|| {
        run("ip", &["link", "add", "far", "type", "veth", "peer", "name", "near"])?;
        let begun = Instant::now();
        nft::load(&rules)?;
        Ok(Sample::of([begun.elapsed().as_secs_f64() * 1e3].into_iter()))
    })
}
