//! `bulkhead demo`: from documents to a proof, a breach and its repair, on simulated devices.

mod layers;
mod live;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::net::Ipv4Addr;

use apply::OnDrift;
use clap::Args;
use control::{Control, Draft, Hurry, ProofVerdict, Request, Stopped, observed};
use model::{Artifact, DeviceId, Dialect, JobName, Part, Port, Protocol, Service};
use observe::{Held, Holds};
use sim::{Fabric, SentFrame, SentPacket, To};
use store::MemoryStore;
use verify::Finding;

use super::fleet::FleetView;
use super::plan::write as write_plan;
use super::sending::write_receipts;
use super::why::Pair;
use crate::demo::DOCUMENTS;
use crate::ending::{Ended, Stop};
use crate::evidence::{Extent, Texts};
use crate::state::{now, who};
use crate::words::{
    BAD, Cell, DIM, GOOD, HEAD, NAME, Table, cell, examples, painted, plural, wrapped,
};

/// See everything at work, in a few seconds
///
/// Two sites, four tenants, five jobs: planned, rendered, proved and applied to simulated devices.
/// Then a hand at the console opens a hole; it is found, shown and closed. As root, the real packet
/// program then judges real packets between network namespaces. Nothing is left behind.
#[derive(Args)]
#[command(after_help = examples!(
    "bulkhead demo" => "from documents to a proof, a breach and its repair",
    "bulkhead demo --color always | less -R" => "page by page",
))]
pub(crate) struct Demo {}

impl Demo {
    pub(super) fn run(&self, out: &mut dyn Write) -> Result<Ended, Stop> {
        let mut stage = Stage::set(out)?;
        stage.show_fleet()?;
        stage.show_plan()?;
        stage.show_texts()?;
        stage.show_proof()?;
        stage.show_why()?;
        stage.show_apply()?;
        stage.show_packets()?;
        stage.show_breach()?;
        stage.show_repair()?;
        stage.show_layers()?;
        stage.show_kernel()?;
        stage.show_next()
    }
}

/// The one whose text is shown in every dialect.
const SHOWN_JOB: &str = "red/train";
/// The endpoint that the hand at the console moves.
const MOVED: &str = "n2/0";
/// Where its frames come from afterwards.
const NEIGHBOUR: &str = "n1/0";

const NFS: Service = Service { protocol: Protocol::Tcp, port: 2049 };
const SSH: Service = Service { protocol: Protocol::Tcp, port: 22 };

/// Everything the demonstration is played with.
struct Stage<'o> {
    out: &'o mut dyn Write,
    step: u32,
    control: Control<MemoryStore>,
    draft: Draft,
    fabric: Fabric,
}

/// An endpoint of a job.
struct Actor {
    spot: (DeviceId, Port),
    address: Ipv4Addr,
    job: JobName,
}

impl<'o> Stage<'o> {
    fn set(out: &'o mut dyn Write) -> Result<Self, Stop> {
        let control = Control::open(MemoryStore::new(0), who("demo"))?;
        let asked = Request::put(&DOCUMENTS);
        let draft = control.journal().draft(&asked, now()).map_err(Stop::no_draft)?;
        let fabric = Fabric::new(draft.intent.fleet.clone());
        Ok(Self { out, step: 0, control, draft, fabric })
    }

    fn show_fleet(&mut self) -> Result<(), Stop> {
        self.step(
            "A fleet",
            "Two sites: a data centre with leaves of two makers, and an edge where every host \
             judges its own packets.",
        )?;
        FleetView::of(&self.draft.intent.fleet).write(self.out)?;
        Ok(())
    }

    fn show_plan(&mut self) -> Result<(), Stop> {
        self.step(
            "A plan",
            "Four tenants ask for five jobs. Red, blue and quay have the very same addresses. Red \
             and vault both agreed to meet at storage; blue only asked.",
        )?;
        write_plan(&self.draft, &[], false, self.out)?;
        Ok(())
    }

    fn show_texts(&mut self) -> Result<(), Stop> {
        self.step(
            "The same job in every dialect",
            "Every choice was made by the plan. Rendering only says it, to each device in its own \
             words.",
        )?;
        for (place, dialect) in [
            ("leaf-1", Dialect::Nxos),
            ("leaf-2", Dialect::Frr),
            ("leaf-2", Dialect::Linux),
            ("leaf-2", Dialect::Table),
        ] {
            self.peek(place, dialect)?;
        }
        Ok(())
    }

    fn peek(&mut self, place: &str, dialect: Dialect) -> Result<(), Stop> {
        const MOST: usize = 7;
        let device = self.device(place);
        let Ok(job) = SHOWN_JOB.parse() else {
            unreachable!("the shown job has a name");
        };
        let plan = &self.draft.next.plan;
        let text = render::part(plan, device, dialect, &Part::Job(job)).unwrap_or_default();
        writeln!(self.out, "  {NAME}{place} {dialect}{NAME:#}")?;
        for line in text.lines().take(MOST) {
            writeln!(self.out, "    {DIM}{line}{DIM:#}")?;
        }
        if let Some(more) = text.lines().count().checked_sub(MOST).filter(|&more| more > 0) {
            writeln!(self.out, "    ... {}", plural(more, "more line"))?;
        }
        Ok(())
    }

    fn show_proof(&mut self) -> Result<(), Stop> {
        self.step(
            "The proof",
            "The very bytes that would be sent are read back, line by line, and judged: may any \
             two meet that must not, and can all meet that must?",
        )?;
        let plan = &self.draft.next.plan;
        self.judge(&render::all(plan))
    }

    fn show_why(&mut self) -> Result<(), Stop> {
        self.step(
            "Why",
            "Any two can be asked about. Red's training and vault's storage may meet at one \
             service; red's and blue's training may not, although their addresses are the same.",
        )?;
        let plan = &self.draft.next.plan;
        let artifacts = render::all(plan);
        let mut verifier = verify::reading(&plan.fleet, &plan.owners(), &artifacts);
        // The verifier joins what it read when it judges.
        verifier.judge();
        let texts = Texts::of(&plan.fleet, &artifacts);
        for (one, other, gap) in [("n1/0", "n5/0", "\n"), ("n1/0", "n2/0", "")] {
            let pair = Pair::of(&verifier, self.actor(one).spot, self.actor(other).spot);
            pair.write_there(&self.draft, &texts, self.out)?;
            write!(self.out, "{gap}")?;
        }
        Ok(())
    }

    fn show_apply(&mut self) -> Result<(), Stop> {
        self.step(
            "Apply",
            "Only what was proved can be sent: the type that `apply` takes is one that the \
             verifier alone can make. The devices here are simulated.",
        )?;
        self.apply()
    }

    /// Asks for the documents, and sends them to whoever holds something else.
    fn apply(&mut self) -> Result<(), Stop> {
        let request = Request::put(&DOCUMENTS);
        let committed = match self.control.take(&request, Hurry::default(), now()) {
            Ok(committed) => committed,
            Err(Stopped::NoDraft(none)) => return Err(Stop::no_draft(none)),
            Err(Stopped::Unproved(..) | Stopped::OnTrial(_)) => {
                unreachable!("the demonstration's own plan is sound, and nothing is on trial")
            }
        };
        let is_same = |_, desired: &str, held: &str| desired == held;
        let again = self.control.differing(&committed.cleared, &self.fabric, is_same);
        let without = BTreeSet::new();
        let fabric = &mut self.fabric;
        let applied =
            self.control.send(&committed, &again, OnDrift::Repair, &without, fabric, now())?;
        let generation = self.control.journal().state().ledger().generation();
        write_receipts(&committed, &applied, 0, generation, self.out)?;
        self.draft = self.control.journal().in_force(now()).map_err(Stop::no_draft)?;
        Ok(())
    }

    fn show_packets(&mut self) -> Result<(), Stop> {
        self.step(
            "Packets",
            "The simulator forwards packets by what the devices hold, with a reading of its own. \
             It agrees with the proof.",
        )?;
        let mut table = Table::new(2);
        for (from, to, service, note) in [
            ("n1/0", "n4/0", Service::ROCE, "one job, two leaves"),
            ("n1/0", "n1/1", Service::ROCE, "an address that n2/1 of blue has, too"),
            ("n1/0", "n1/2", Service::ROCE, "another job of the same tenant"),
            ("n1/0", "n5/0", NFS, "both sides agreed"),
            ("n1/0", "n5/0", SSH, "nobody agreed to that"),
            ("n2/0", "n5/0", NFS, "blue asked, vault did not agree"),
            ("e1/0", "e2/0", Service::ROCE, "judged by the hosts"),
        ] {
            let (sender, receiver) = (self.actor(from), self.actor(to));
            let talk = SentPacket {
                protocol: service.protocol,
                source_port: 50_000,
                destination_port: service.port,
                opens: true,
            };
            let arrived = self.send(&sender, To::Unicast(receiver.address, talk));
            table.push(vec![
                cell(format!("{from} {}", sender.job)),
                cell("to"),
                cell(format!("{to} {}", receiver.job)),
                cell(service),
                outcome(&arrived),
                painted(DIM, note),
            ]);
        }
        table.write(self.out)?;
        self.show_flood()
    }

    /// Who hears a frame that is sent to everybody.
    fn show_flood(&mut self) -> Result<(), Stop> {
        let neighbour = self.actor(NEIGHBOUR);
        let mut heard: BTreeMap<JobName, Vec<String>> = BTreeMap::new();
        for (job, name) in self.send(&neighbour, To::Flood) {
            heard.entry(job).or_default().push(name);
        }
        write!(self.out, "  A frame of {NEIGHBOUR} to everybody arrives at")?;
        for (place, (job, names)) in heard.iter().enumerate() {
            let style = if *job == neighbour.job { GOOD } else { BAD };
            let comma = if place > 0 { " and" } else { "" };
            write!(self.out, "{comma} {style}{}{style:#} ({job})", names.join(", "))?;
        }
        writeln!(self.out)?;
        Ok(())
    }

    /// The endpoints where a frame arrives, and whose they are.
    fn send(&self, sender: &Actor, to: To) -> Vec<(JobName, String)> {
        let source = sender.address;
        let deliveries = self.fabric.send(sender.spot, &SentFrame { source, mac: None, to });
        let owners = self.draft.next.plan.owners();
        let receiver = |spot: (DeviceId, Port)| {
            let job = owners.ports.get(&spot)?.clone();
            Some((job, self.draft.endpoint_at(spot)?))
        };
        deliveries
            .iter()
            .filter_map(|delivery| receiver((delivery.device, delivery.port)))
            .collect()
    }

    fn show_breach(&mut self) -> Result<(), Stop> {
        self.step(
            "A hole",
            "Somebody at the console of leaf-1 moves a port of blue into the VLAN of red.",
        )?;
        self.tamper()?;
        writeln!(self.out)?;
        let artifacts = observed(&self.draft.intent.fleet, &self.fabric)?;
        self.judge(&artifacts)?;
        writeln!(self.out)?;
        writeln!(self.out, "The simulator, which knows nothing of the verifier, agrees:")?;
        self.show_flood()
    }

    /// Changes one line of what leaf-1 holds, past every judge.
    fn tamper(&mut self) -> Result<(), Stop> {
        let (device, port) = self.actor(MOVED).spot;
        let Some(held) = self.fabric.held(device, Dialect::Nxos)? else {
            unreachable!("the device holds what was applied");
        };
        let into = self.vlan_of(SHOWN_JOB, device);
        let mut lines: Vec<String> = held.text.lines().map(str::to_owned).collect();
        let block = format!("interface {port}");
        let mut after = lines.iter_mut().skip_while(|line| **line != block);
        let Some(line) = after.find(|line| line.contains("switchport access vlan")) else {
            unreachable!("the port of a job is in a VLAN");
        };
        writeln!(self.out, "  {DIM}leaf-1(config)#{DIM:#} {block}")?;
        writeln!(self.out, "  {BAD}-{line}{BAD:#}")?;
        *line = format!("  switchport access vlan {into}");
        writeln!(self.out, "  {GOOD}+{line}{GOOD:#}")?;
        let changed = Held { text: lines.join("\n") + "\n", ..held };
        self.fabric.load_text(device, Dialect::Nxos, changed);
        Ok(())
    }

    fn vlan_of(&self, job: &str, device: DeviceId) -> u16 {
        let mut jobs = self.draft.next.plan.jobs.iter();
        let net = jobs.find(|(name, _)| name.to_string() == job);
        let groups = net.into_iter().flat_map(|(_, net)| &net.groups);
        let group = groups.into_iter().find(|group| group.device == device);
        match group {
            Some(group) => group.vlan.get(),
            None => unreachable!("the job has endpoints on that device"),
        }
    }

    /// Judges, and tells the first finding with its lines and the verdict.
    fn judge(&mut self, artifacts: &[Artifact]) -> Result<(), Stop> {
        let plan = &self.draft.next.plan;
        let owners = plan.owners();
        let findings: Vec<Finding> = verify::findings(&plan.fleet, &owners, artifacts);
        if let [first, others @ ..] = findings.as_slice() {
            Texts::of(&plan.fleet, artifacts).write_finding(self.out, first)?;
            let others = plural(others.len(), "other finding");
            writeln!(self.out, "{DIM}... and {others}{DIM:#}")?;
        }
        let extent = Extent::of(&owners, artifacts);
        let verdict = ProofVerdict::of(&self.draft, extent.devices(), &findings, &[], None);
        extent.write_verdict(self.out, &findings, &verdict)?;
        Ok(())
    }

    fn show_repair(&mut self) -> Result<(), Stop> {
        self.step(
            "The repair",
            "Applying the same documents again puts right what is not as it should be, and what \
             the devices hold now is proved once more.",
        )?;
        self.apply()?;
        let artifacts = observed(&self.draft.intent.fleet, &self.fabric)?;
        self.judge(&artifacts)?;
        self.show_flood()
    }

    fn show_next(self) -> Result<Ended, Stop> {
        writeln!(
            self.out,
            "\n{HEAD}Try next{HEAD:#} {DIM}(`cargo run --release --` stands for `bulkhead`){DIM:#}"
        )?;
        let mut table = Table::new(2);
        for (command, what) in [
            ("bulkhead fleet generate --gpus 1024 --workload > cluster.yaml", "a larger cluster"),
            ("bulkhead plan cluster.yaml", "what would change"),
            ("bulkhead apply cluster.yaml --to sim", "devices as files"),
            ("bulkhead verify cluster.yaml --held", "prove them; then edit one"),
            ("bulkhead filter --help", "judge real packets"),
        ] {
            table.push(vec![painted(NAME, command), painted(DIM, what)]);
        }
        table.write(self.out)?;
        Ok(Ended::Done)
    }

    fn step(&mut self, title: &str, text: &str) -> io::Result<()> {
        self.step += 1;
        let gap = if self.step == 1 { "" } else { "\n" };
        writeln!(self.out, "{gap}{HEAD}{}. {title}{HEAD:#}", self.step)?;
        for line in wrapped(text, 0) {
            writeln!(self.out, "{line}")?;
        }
        writeln!(self.out)?;
        self.out.flush()
    }

    fn device(&self, name: &str) -> DeviceId {
        match self.draft.device(name) {
            Some(device) => device,
            None => unreachable!("the demonstration's own devices exist"),
        }
    }

    fn actor(&self, name: &str) -> Actor {
        let Some(spot) = self.draft.endpoint(name) else {
            unreachable!("the demonstration's own endpoints exist");
        };
        for (job, net) in &self.draft.next.plan.jobs {
            for group in net.groups.iter().filter(|group| group.device == spot.0) {
                if let Some(seat) = group.seats.iter().find(|seat| seat.port == spot.1) {
                    return Actor { spot, address: seat.address, job: job.clone() };
                }
            }
        }
        unreachable!("the demonstration's own endpoints have jobs");
    }
}

fn outcome(arrived: &[(JobName, String)]) -> Cell {
    if arrived.is_empty() { painted(BAD, "dropped") } else { painted(GOOD, "arrives") }
}
