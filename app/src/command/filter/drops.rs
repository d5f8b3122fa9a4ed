//! Who was refused, and why.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use filter::pcap::{self, Captured};
use filter::{DropEvent, Events};
use model::JobName;
use serde::Serialize;
use wire::Reason;

use super::names::{Known, Share};
use super::show::name_of;
use super::time::{Clock, of_day};
use super::{Output, Place};
use crate::command::render::Unwritable;
use crate::ending::{Ended, Stop};
use crate::words::{self, BAD, DIM, Format, NAME, NOTE, examples};

/// List which frames were dropped, and why
///
/// One line a frame: when, at which hook and interface, the reason, the jobs of both ends (or their
/// tags, where this node knows no name), and what the frame said. The kernel keeps a sample of what
/// it drops, and counts the rest: `(+7 more)` are of the same origin. Who reads an event takes it;
/// two readers share them.
#[derive(Args)]
#[command(after_help = examples!(
    "bulkhead filter drops" => "what waits to be read",
    "bulkhead filter drops --follow --reason other-job --reason roce" => "jobs that knock at others",
    "bulkhead filter drops --follow --job red/train" => "what concerns one job",
    "bulkhead filter drops --pcap - | tcpdump -r -" => "the frames themselves",
))]
pub(crate) struct Drops {
    /// Wait for more
    #[arg(short, long)]
    follow: bool,
    /// Write the frames as a capture; `-` is the standard output, without lines then
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,
    /// Only of this reason (again for more)
    #[arg(long, value_name = "REASON", value_parser = reason)]
    reason: Vec<Reason>,
    /// Only from or to this job
    #[arg(long, value_name = "TENANT/JOB", conflicts_with = "tag")]
    job: Option<JobName>,
    /// Only from or to the job with this tag
    #[arg(long, value_name = "TAG")]
    tag: Option<u16>,
    /// Of those that wait, only the last so many
    #[arg(long, value_name = "COUNT")]
    last: Option<usize>,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    share: Share,
    #[command(flatten)]
    pub(super) output: Output,
}

fn reason(name: &str) -> Result<Reason, String> {
    let drops = Reason::ALL.into_iter().filter(|reason| !reason.passes());
    let names = || drops.clone().map(Reason::as_str).collect::<Vec<_>>().join(", ");
    let found = drops.clone().find(|reason| reason.as_str() == name);
    found.ok_or_else(|| format!("the reasons are {}", names()))
}

impl Drops {
    pub(super) const fn is_endless(&self) -> bool {
        self.follow
    }

    pub(super) fn run(&self, out: &mut dyn Write) -> Result<Ended, Stop> {
        let kernel = self.place.open()?;
        let mut events = kernel.events()?;
        let names = self.share.names();
        let tag = self.tag_of(&names)?;
        let mut teller = Teller {
            out,
            names,
            format: self.output.format,
            clock: Clock::new()?,
            capture: self.capture()?,
            only_capture: self.pcap.as_ref().is_some_and(|path| path.as_os_str() == "-"),
        };
        let waiting = self.wanted(tag, &mut events);
        let skipped = waiting.len().saturating_sub(self.last.unwrap_or(usize::MAX));
        teller.tell_all(&waiting[skipped..])?;
        if !self.follow {
            return Ok(Ended::Done);
        }
        loop {
            events.wait(Duration::from_secs(3600))?;
            teller.tell_all(&self.wanted(tag, &mut events))?;
        }
    }

    /// The tag that was asked for, if one was.
    fn tag_of(&self, names: &Known) -> Result<Option<u16>, Stop> {
        let Some(job) = &self.job else { return Ok(self.tag) };
        let tag = names.tag(job).map(Some);
        tag.ok_or_else(|| {
            Stop::argument(
                "job-unknown",
                format!("no job {job} is on this node, as far as its agent knows"),
                "`bulkhead filter show` lists the jobs; `--state DIR` says where the agent keeps \
                 its names, and `--tag TAG` needs none",
            )
        })
    }

    /// All that are there now and were asked for.
    fn wanted(&self, tag: Option<u16>, events: &mut Events) -> Vec<DropEvent> {
        let all = std::iter::from_fn(|| events.take());
        all.filter(|event| {
            let reason = self.reason.is_empty() || self.reason.contains(&event.reason);
            let ends = [event.source, event.destination];
            reason && tag.is_none_or(|tag| ends.contains(&tag))
        })
        .collect()
    }

    /// Begins the capture. The standard output is taken as it is: nothing may strip its bytes.
    fn capture(&self) -> Result<Option<BufWriter<Box<dyn Write>>>, Stop> {
        let Some(path) = &self.pcap else { return Ok(None) };
        let to: Box<dyn Write> = if path.as_os_str() == "-" {
            Box::new(io::stdout())
        } else {
            let file = File::create(path);
            Box::new(file.map_err(|source| Unwritable { path: path.clone(), source })?)
        };
        let mut to = BufWriter::new(to);
        pcap::begin(&mut to)?;
        Ok(Some(to))
    }
}

/// Writes events.
struct Teller<'o> {
    out: &'o mut dyn Write,
    names: Known,
    format: Format,
    clock: Clock,
    capture: Option<BufWriter<Box<dyn Write>>>,
    only_capture: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DropView {
    time: String,
    unix_ns: u64,
    hook: &'static str,
    interface: String,
    reason: &'static str,
    meaning: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    source_tag: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    destination: Option<String>,
    destination_tag: u16,
    len: u32,
    flow: String,
    more: u32,
}

impl Teller<'_> {
    fn tell(&mut self, event: &DropEvent) -> io::Result<()> {
        let unix_ns = self.clock.unix_ns(event.time_ns);
        if let Some(capture) = &mut self.capture {
            let (len, bytes) = (event.len, event.bytes.clone());
            pcap::write(capture, &Captured { time_ns: unix_ns, len, bytes })?;
        }
        if self.only_capture {
            return Ok(());
        }
        match self.format {
            Format::Text => write_line(self.out, &self.names, event, unix_ns),
            format => words::data(self.out, format, &DropView::of(event, &self.names, unix_ns)),
        }
    }

    /// Whoever follows sees each at once.
    fn tell_all(&mut self, events: &[DropEvent]) -> io::Result<()> {
        events.iter().try_for_each(|event| self.tell(event))?;
        if let Some(capture) = &mut self.capture {
            capture.flush()?;
        }
        self.out.flush()
    }
}

/// `13:04:05.123456  workload swp1  other-job  red/train > 18  10.1.0.4 > 10.1.0.11 icmp type 8`.
fn write_line(
    out: &mut dyn Write,
    names: &Known,
    event: &DropEvent,
    unix_ns: u64,
) -> io::Result<()> {
    let time = of_day(unix_ns);
    let (hook, reason, interface) = (event.hook, event.reason, name_of(event.interface));
    let [source, destination] = [event.source, event.destination].map(|tag| names.job_or_tag(tag));
    let flow = wire::flow(hook, &event.bytes);
    write!(
        out,
        "{DIM}{time}{DIM:#}  {hook:8} {NAME}{interface:10}{NAME:#} {BAD}{reason:12}{BAD:#} \
         {source:>5} > {destination:<5}  {flow}"
    )?;
    if event.missed > 0 {
        write!(out, "  {NOTE}(+{} more){NOTE:#}", event.missed)?;
    }
    writeln!(out)
}

impl DropView {
    fn of(event: &DropEvent, names: &Known, unix_ns: u64) -> Self {
        Self {
            time: of_day(unix_ns),
            unix_ns,
            hook: event.hook.as_str(),
            interface: name_of(event.interface),
            reason: event.reason.as_str(),
            meaning: event.reason.meaning(),
            tenant: (event.tenant > 0).then(|| names.tenant(event.tenant)),
            source: names.job(event.source).map(ToString::to_string),
            source_tag: event.source,
            destination: names.job(event.destination).map(ToString::to_string),
            destination_tag: event.destination,
            len: event.len,
            flow: wire::flow(event.hook, &event.bytes).to_string(),
            more: event.missed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::schema;

    #[test]
    fn a_drop_of_a_known_job_is_written_as_its_schema_has_it() {
        let view = DropView {
            time: "22:13:20.123456".to_owned(),
            unix_ns: 1_700_000_000_123_456_789,
            hook: "workload",
            interface: "swp1".to_owned(),
            reason: Reason::OtherJob.as_str(),
            meaning: Reason::OtherJob.meaning(),
            tenant: Some("red".to_owned()),
            source: Some("red/train".to_owned()),
            source_tag: 17,
            destination: Some("red/tune".to_owned()),
            destination_tag: 18,
            len: 98,
            flow: "10.1.0.2 > 10.1.0.10 icmp type 8".to_owned(),
            more: 7,
        };
        schema::insist("filter drops", &view);
    }
}
