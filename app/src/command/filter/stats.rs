//! How much passed and how much did not.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal as _, Write};
use std::time::{Duration, Instant};

use clap::Args;
use filter::{Bursts, JobTraffic, Kernel, SIZES, Tally, WINDOW_NS, Whose};
use serde::Serialize;

use super::names::{Known, Share};
use super::show::name_of;
use super::{Output, Place};
use crate::ending::{Ended, Stop};
use crate::words::{
    self, BAD, Cell, DIM, Format, HEAD, NAME, Table, cell, examples, number, painted,
};

/// How often `--watch` looks.
const PACE: Duration = Duration::from_secs(1);

/// Count what passed and what did not, by tenant and job
///
/// Bursts are what came within one window of 16.4 microseconds, which no polled counter shows. The
/// bars count windows by their size: below 32 KiB, below 64 KiB, and so on.
#[derive(Args)]
#[command(after_help = examples!(
    "bulkhead filter stats" => "since the filter was loaded",
    "bulkhead filter stats --watch" => "once a second, with rates",
    "bulkhead filter stats -o json" => "the same for programs",
))]
pub(crate) struct Stats {
    /// Look again every second, until interrupted
    #[arg(short, long)]
    watch: bool,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    share: Share,
    #[command(flatten)]
    pub(super) output: Output,
}

#[derive(Serialize)]
struct View {
    jobs: Vec<JobView>,
    drops: Vec<DropView>,
    verdicts: Vec<VerdictView>,
    bursts: Vec<BurstView>,
}

#[derive(Serialize)]
struct JobView {
    tenant: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    job: Option<String>,
    tag: u16,
    sent: TallyView,
    received: TallyView,
}

#[derive(Clone, Copy, Serialize)]
struct TallyView {
    packets: u64,
    bytes: u64,
    /// Bits a second since the last look; none at the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    bps: Option<u64>,
}

#[derive(Serialize)]
struct DropView {
    #[serde(skip_serializing_if = "Option::is_none")]
    job: Option<String>,
    tag: u16,
    hook: &'static str,
    reason: &'static str,
    packets: u64,
    bytes: u64,
}

#[derive(Serialize)]
struct VerdictView {
    hook: &'static str,
    verdict: &'static str,
    packets: u64,
    bytes: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct BurstView {
    whose: String,
    peak_bytes: u64,
    peak_gbps: f64,
    window_ns: u64,
    windows: [u64; SIZES],
}

/// What the last look saw, and when.
type Look = (Instant, BTreeMap<u16, JobTraffic>);

impl Stats {
    pub(super) const fn is_watch(&self) -> bool {
        self.watch
    }

    pub(super) fn run(&self, out: &mut dyn Write) -> Result<Ended, Stop> {
        let kernel = self.place.open()?;
        let mut last: Option<Look> = None;
        loop {
            let look = (Instant::now(), kernel.traffic()?);
            let names = self.share.names();
            let view = View::of(&kernel, &names, &look, last.as_ref())?;
            self.write(&view, &names, out)?;
            if !self.watch {
                return Ok(Ended::Done);
            }
            out.flush()?;
            last = Some(look);
            std::thread::sleep(PACE);
        }
    }

    fn write(&self, view: &View, names: &Known, out: &mut dyn Write) -> Result<(), Stop> {
        match self.output.format {
            Format::Text => {
                if self.watch && io::stdout().is_terminal() {
                    write!(out, "\u{1b}[H\u{1b}[2J")?; // the screen anew
                }
                view.write(names, out)?;
                if self.watch {
                    writeln!(out)?;
                }
            }
            format => words::data(out, format, view)?,
        }
        Ok(())
    }
}

impl View {
    fn of(
        kernel: &Kernel,
        names: &Known,
        (now, traffic): &Look,
        last: Option<&Look>,
    ) -> Result<Self, Stop> {
        let jobs = traffic.iter().map(|(tag, job)| {
            let before = last.and_then(|(then, jobs)| {
                Some((now.duration_since(*then).as_secs_f64(), jobs.get(tag)?))
            });
            JobView {
                tenant: names.tenant(job.tenant),
                job: names.job(*tag).map(ToString::to_string),
                tag: *tag,
                sent: TallyView::of(job.sent, before.map(|(s, job)| (s, job.sent))),
                received: TallyView::of(job.received, before.map(|(s, job)| (s, job.received))),
            }
        });
        let drops = kernel.drops()?.into_iter().map(|(cause, tally)| DropView {
            job: names.job(cause.tag).map(ToString::to_string),
            tag: cause.tag,
            hook: cause.hook.as_str(),
            reason: cause.reason.as_str(),
            packets: tally.packets,
            bytes: tally.bytes,
        });
        let verdicts = kernel.verdicts()?.into_iter().map(|((hook, reason), tally)| VerdictView {
            hook: hook.as_str(),
            verdict: reason.as_str(),
            packets: tally.packets,
            bytes: tally.bytes,
        });
        let bursts = kernel.bursts()?.into_iter();
        let bursts = bursts.map(|(whose, bursts)| BurstView::of(whose, names, bursts));
        Ok(Self {
            jobs: jobs.collect(),
            drops: drops.collect(),
            verdicts: verdicts.collect(),
            bursts: bursts.collect(),
        })
    }

    fn write(&self, names: &Known, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{HEAD}Jobs{HEAD:#}")?;
        self.jobs_table(names).write(out)?;
        writeln!(out, "\n{HEAD}Dropped{HEAD:#}")?;
        let mut table = Table::with_head(2, &["job or tag", "hook", "reason", "packets", "bytes"]);
        for drop in &self.drops {
            let whose = names.job_or_tag(drop.tag);
            let [packets, bytes] = [drop.packets, drop.bytes].map(count);
            table.push(vec![
                cell(whose),
                cell(drop.hook),
                painted(BAD, drop.reason),
                packets,
                bytes,
            ]);
        }
        table.write(out)?;
        writeln!(out, "\n{HEAD}Verdicts at each hook, beside the traffic of one job{HEAD:#}")?;
        let mut table = Table::with_head(2, &["hook", "verdict", "packets", "bytes"]);
        for verdict in &self.verdicts {
            let [packets, bytes] = [verdict.packets, verdict.bytes].map(count);
            table.push(vec![cell(verdict.hook), cell(verdict.verdict), packets, bytes]);
        }
        table.write(out)?;
        writeln!(out, "\n{HEAD}Bursts{HEAD:#}")?;
        let mut table = Table::with_head(2, &["whose", "peak bytes", "Gbit/s", "windows by size"]);
        for burst in &self.bursts {
            table.push(vec![
                painted(NAME, &burst.whose),
                count(burst.peak_bytes),
                cell(format!("{:.2}", burst.peak_gbps)),
                painted(DIM, bars(&burst.windows)),
            ]);
        }
        table.write(out)
    }

    fn jobs_table(&self, names: &Known) -> Table {
        let rates = self.jobs.iter().any(|job| job.sent.bps.is_some());
        let head = ["tenant", "job or tag", "sent", "bytes", "received", "bytes"];
        let more = ["sent Gbit/s", "received Gbit/s"];
        let head: Vec<&str> = head.into_iter().chain(more.into_iter().filter(|_| rates)).collect();
        let mut table = Table::with_head(2, &head);
        for JobView { tenant, tag, sent, received, .. } in &self.jobs {
            let mut row = vec![
                painted(NAME, tenant),
                cell(names.job_or_tag(*tag)),
                count(sent.packets),
                count(sent.bytes),
                count(received.packets),
                count(received.bytes),
            ];
            for bps in [sent.bps, received.bps].into_iter().flatten() {
                row.push(cell(format!("{:.3}", bps as f64 / 1e9)));
            }
            table.push(row);
        }
        table
    }
}

fn count(count: u64) -> Cell {
    number(count as usize)
}

/// One bar a size of window, as high as the logarithm of how many there were.
fn bars(windows: &[u64; SIZES]) -> String {
    const BARS: [char; 9] = ['·', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = windows.iter().copied().max().unwrap_or(0);
    let height = |count: u64| match (count, most) {
        (0, _) => 0,
        (_, 1) => 1,
        _ => 1 + (7.0 * (count as f64).ln() / (most as f64).ln()).round() as usize,
    };
    windows.iter().map(|&count| BARS[height(count).min(8)]).collect()
}

impl TallyView {
    fn of(tally: Tally, before: Option<(f64, Tally)>) -> Self {
        let bps = before.map(|(seconds, before)| {
            let bytes = tally.bytes.saturating_sub(before.bytes);
            (bytes as f64 * 8.0 / seconds.max(1e-9)) as u64
        });
        Self { packets: tally.packets, bytes: tally.bytes, bps }
    }
}

impl BurstView {
    fn of(whose: Whose, names: &Known, bursts: Bursts) -> Self {
        let whose = match whose {
            Whose::Tenant(number) => format!("{} from the fabric", names.tenant(number)),
            Whose::Interface(index) => format!("{} sent", name_of(index)),
        };
        Self {
            whose,
            peak_bytes: bursts.peak_bytes,
            peak_gbps: bursts.peak_bytes as f64 * 8.0 / WINDOW_NS as f64,
            window_ns: WINDOW_NS,
            windows: bursts.windows,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::schema;

    #[test]
    fn counts_of_known_jobs_and_bursts_are_written_as_their_schema_has_them() {
        let job = || Some("red/train".to_owned());
        let tally = TallyView { packets: 2, bytes: 196, bps: Some(1568) };
        let (tenant, tag) = ("red".to_owned(), 17);
        let (hook, reason, verdict) = ("local", "rate", "job");
        let (packets, bytes) = (1, 98);
        let bursts = Bursts { peak_bytes: 40_960, ..Bursts::default() };
        let view = View {
            jobs: vec![JobView { tenant, job: job(), tag, sent: tally, received: tally }],
            drops: vec![DropView { job: job(), tag, hook, reason, packets, bytes }],
            verdicts: vec![VerdictView { hook, verdict, packets, bytes }],
            bursts: vec![BurstView::of(Whose::Tenant(17), &Known::default(), bursts)],
        };
        schema::insist("filter stats", &view);
    }

    #[test]
    fn bars_are_as_high_as_the_logarithm_of_the_count() {
        let mut windows = [0; SIZES];
        assert_eq!(bars(&windows), "··············");
        windows[..4].copy_from_slice(&[1, 10, 100, 10_000]);
        assert_eq!(bars(&windows), "▁▃▅█··········");
    }
}
